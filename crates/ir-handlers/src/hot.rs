//! Tables of which the switch has the busy entries: `@mirror("HANDLER") @hot(top = 1024, period = "1s", sketch = "count_min(2, 65536)") table t { ... }`.
//!
//! ```p4
//! if (!t.apply().hit) { handler(q, r); }      // a miss: the handler looks `t` up where all entries are
//! ```
//!
//! A rack keeps all entries of such a table where the handler runs, and those that most packets hit at the switch (CLIP, section V-A). A packet that misses
//! there may have an entry, so a miss leads to the handler. Entries are exact: a miss at the switch never hides that another entry fits.

use crate::mirror;
use crate::remote::Tokens;
use base_diag::Diagnostic;
use base_diag::codes::handler as codes;
use base_time::Duration;
use ir::{
    Action, Annotation, AnnotationBody, BinaryOp, Block, Call, Callee, ControlId, Expr, ExprKind, MatchKind,
    Name, Program, Stmt, StmtKind, Table, TableId, UnaryOp, visit,
};

/// The annotation's name.
const NAME: &str = "hot";

/// Entries at the switch, rows and cells of a sketch, at most.
const MOST_TOP: u64 = 1 << 20;
const MOST_ROWS: u64 = 8;
const MOST_COLUMNS: u64 = 1 << 20;

/// A table of which the switch has the busy entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hot {
    /// The control, which is ingress.
    pub control: ControlId,
    /// The table.
    pub table: TableId,
    /// The handler that looks it up.
    pub handler: String,
    /// Entries at the switch, at most.
    pub top: u64,
    /// Interval at which packets are compared.
    pub period: Duration,
    /// Rows of the sketch that counts packets, and cells of a row.
    pub sketch: (usize, usize),
}

impl Hot {
    /// Control-plane name of the table.
    pub fn name<'p>(&self, program: &'p Program) -> &'p Name {
        &program.control(self.control).tables[self.table.index()].control_plane_name
    }
}

/// Content of the annotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Text {
    top: u64,
    period: Duration,
    sketch: (usize, usize),
}

/// The table with `@hot` of an expanded program; all mistakes at once.
pub fn hot(program: &Program) -> Result<Option<Hot>, Vec<Diagnostic>> {
    let mut found = vec![];
    let mut wrong = vec![];
    for (at, control) in program.controls.iter().enumerate() {
        for (number, table) in control.tables.iter().enumerate() {
            let Some(annotation) = table.annotations.iter().find(|annotation| annotation.name == NAME) else {
                continue;
            };
            match of_table(program, (ControlId::from(at), TableId::from(number)), table, annotation) {
                Ok(hot) => found.push((hot, table)),
                Err((why, help)) => {
                    let title = format!("`{}` cannot be `@hot`", table.control_plane_name);
                    wrong.push(Diagnostic::error(codes::REMOTE, title).at(table.span, why).help(help));
                }
            }
        }
    }
    if let [(_, first), (_, second), ..] = found.as_slice() {
        let title = format!("`{}` cannot be `@hot`, too", second.control_plane_name);
        let problem = Diagnostic::error(codes::REMOTE, title).at(second.span, "a second table");
        wrong.push(problem.at(first.span, "this one is").note("a program has at most one such table"));
    }
    if wrong.is_empty() { Ok(found.pop().map(|(hot, _)| hot)) } else { Err(wrong) }
}

/// A reason, and what to type.
type Problem = (String, String);

fn of_table(
    program: &Program,
    (control, id): (ControlId, TableId),
    table: &Table,
    annotation: &Annotation,
) -> Result<Hot, Problem> {
    let refuse = |why: &str, help: &str| Err((why.to_string(), help.to_string()));
    let text = Text::read(annotation).map_err(|why| {
        (why, "write `@hot(top = 1024, period = \"1s\", sketch = \"count_min(2, 65536)\")`".to_string())
    })?;
    let handlers: Vec<&str> = mirror::names(table).collect();
    let [handler] = handlers.as_slice() else {
        return refuse(
            "a miss leads to one handler, which looks it up",
            "write `@mirror(\"NAME\")` with the name of one handler",
        );
    };
    if table.keys.iter().any(|key| key.match_kind != MatchKind::Exact) {
        return refuse(
            "a key is not `exact`",
            "an entry at the switch could hide one of higher rank that is elsewhere: use `exact` keys",
        );
    }
    if table.const_entries {
        return refuse("its entries are `const`", "entries come to the switch and go: write `entries`");
    }
    if table.counters.is_some() || table.meters.is_some() {
        return refuse(
            "its entries have counters or meters",
            "counts of an entry at the switch would be lost with it: use an indirect counter",
        );
    }
    if program.stage_control("ingress") != Some(control) {
        return refuse("it is not a table of ingress", "declare it in ingress");
    }
    let actions = &program.control(control).actions;
    let led = Led { program, handler, exits: actions.iter().any(exits) };
    let mut applied = 0;
    let mut leads = 0;
    let body = &program.control(control).body;
    visit::stmts(body, &mut |stmt| {
        applied += usize::from(matches!(stmt.kind, StmtKind::Apply(known) if known == id));
        if let StmtKind::Switch(ir::SwitchOn::ActionRun(known), _) = &stmt.kind {
            applied += usize::from(*known == id);
        }
        if let StmtKind::If(cond, yes, no) = &stmt.kind {
            let missed = match &cond.kind {
                ExprKind::ApplyMiss(known) if *known == id => Some(yes),
                ExprKind::ApplyHit(known) if *known == id => Some(no),
                ExprKind::Unary(UnaryOp::Not, hit) => match hit.kind {
                    ExprKind::ApplyHit(known) if known == id => Some(yes),
                    ExprKind::ApplyMiss(known) if known == id => Some(no),
                    _ => None,
                },
                _ => None,
            };
            leads += usize::from(missed.is_some_and(|missed| led.by(missed)));
        }
    });
    visit::all_exprs(body, &mut |expr| {
        let is_it =
            matches!(&expr.kind, ExprKind::ApplyHit(known) | ExprKind::ApplyMiss(known) if *known == id);
        applied += usize::from(is_it);
    });
    // A miss runs the default action first.
    let default = table.actions.get(table.default_action.action as usize);
    let stays = !default.and_then(|run| actions.get(run.action.index())).is_some_and(exits);
    if (applied, leads, stays) != (1, 1, true) {
        let name = &table.name;
        return Err((
            format!("a miss at the switch does not always lead to `{handler}`"),
            format!("apply it once: `if (!{name}.apply().hit) {{ ... {handler}(q, r); ... }}`"),
        ));
    }
    let Text { top, period, sketch } = text;
    Ok(Hot { control, table: id, handler: handler.to_string(), top, period, sketch })
}

/// A handler whose call a block leads to.
struct Led<'p> {
    program: &'p Program,
    handler: &'p str,
    /// Actions of the control may end it.
    exits: bool,
}

impl Led<'_> {
    /// Each packet that runs the block calls the handler.
    fn by(&self, block: &Block) -> bool {
        for stmt in &block.stmts {
            let mut leads = false;
            match &stmt.kind {
                StmtKind::Call(call) => leads = self.is_it(call),
                StmtKind::Block(inner) => leads = self.by(inner),
                StmtKind::If(cond, yes, no) => leads = self.within(cond) || self.by(yes) && self.by(no),
                StmtKind::Declare(..) | StmtKind::Assign(..) | StmtKind::AssignOp(..) => {
                    visit::exprs(stmt, &mut |expr| leads |= self.within(expr));
                }
                _ => {}
            }
            if leads {
                return true;
            }
            let is_plain = matches!(stmt.kind, StmtKind::Declare(..) | StmtKind::Assign(..));
            if ends(stmt) || self.exits && !is_plain {
                return false;
            }
        }
        false
    }

    /// The value cannot be computed without the call.
    fn within(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Call(call) if self.is_it(call) => true,
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, first, _) | ExprKind::Ternary(first, ..) => {
                self.within(first)
            }
            _ => {
                let mut found = false;
                visit::parts(expr, &mut |part| found |= self.within(part));
                found
            }
        }
    }

    fn is_it(&self, call: &Call) -> bool {
        match call.callee {
            Callee::Method(id, _) => {
                self.program.value_extern(self.program.instance(id)) == Some(self.handler)
            }
            _ => false,
        }
    }
}

/// The statement may end the block.
fn ends(stmt: &Stmt) -> bool {
    let is_end = |stmt: &Stmt| {
        matches!(stmt.kind, StmtKind::Exit | StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue)
    };
    let mut found = is_end(stmt);
    visit::blocks(stmt, &mut |block| visit::stmts(block, &mut |stmt| found |= is_end(stmt)));
    found
}

/// The action may end its control.
fn exits(action: &Action) -> bool {
    let mut found = false;
    visit::stmts(&action.body, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Exit));
    found
}

impl Text {
    fn read(annotation: &Annotation) -> Result<Text, String> {
        let AnnotationBody::Tokens(text) = &annotation.body else {
            return Err("`@hot` takes `top`, `period` and `sketch`".to_string());
        };
        let mut tokens = Tokens::new(text);
        let (mut top, mut period, mut sketch) = (None, None, None);
        loop {
            let name = tokens.word()?;
            tokens.symbol('=')?;
            let is_again = match name.as_str() {
                "top" => top.replace(tokens.number(MOST_TOP)?).is_some(),
                "period" => {
                    let text = tokens.string()?;
                    let why = |why| format!("`period = \"{text}\"` is no duration: {why}");
                    let read: Duration = text.parse().map_err(why)?;
                    if read == Duration::ZERO {
                        return Err("`period` is zero".to_string());
                    }
                    period.replace(read).is_some()
                }
                "sketch" => sketch.replace(count_min(&tokens.string()?)?).is_some(),
                _ => return Err(format!("`@hot` has no `{name}`, but `top`, `period` and `sketch`")),
            };
            if is_again {
                return Err(format!("`{name}` is given twice"));
            }
            if tokens.at_end() {
                break;
            }
            tokens.symbol(',')?;
        }
        Ok(Text {
            top: top.ok_or("`top` is missing")?,
            period: period.unwrap_or(Duration::from_s(1)),
            sketch: sketch.unwrap_or((2, 1 << 16)),
        })
    }
}

/// `count_min(ROWS, COLUMNS)`
fn count_min(text: &str) -> Result<(usize, usize), String> {
    let mut tokens = Tokens::new(text);
    let mut read = || {
        if tokens.word()? != "count_min" {
            return Err("the sketch is no `count_min`".to_string());
        }
        tokens.symbol('(')?;
        let rows = tokens.number(MOST_ROWS)?;
        tokens.symbol(',')?;
        let columns = tokens.number(MOST_COLUMNS)?;
        tokens.symbol(')')?;
        match tokens.at_end() {
            true => Ok((rows as usize, columns as usize)),
            false => Err("something follows the sketch".to_string()),
        }
    };
    read().map_err(|why: String| format!("`sketch = \"{text}\"`: {why}"))
}
