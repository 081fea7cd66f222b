//! `propagate-values`: reads of a variable with a known value are replaced by the value.
//!
//! Before: `a = 8w5; b = hdr.h.x; t = b + a; hdr.h.y = t;`
//! After:  `a = 8w5; b = hdr.h.x; t = hdr.h.x + 8w5; hdr.h.y = hdr.h.x + 8w5;`
//!
//! Known are constants, copies of places, and values that are computed and read once. Requires `split-structs`,
//! `hoist-locals`. Does not remove stores: `remove-dead-stores` does. Arguments of externs stay as they are: hashes leave
//! fields of invalid headers out, but not variables. In a program with frame externs nothing is known where a region begins and
//! after a call of one: frames may start there.
//! Why: lowering makes many variables that are copies, and a code generator would have to keep each.

use crate::known::Known;
use crate::places::{Place, Signatures, Writes, is_fixed, is_place, read_by};
use crate::units::{Unit, each_unit, targets};
use crate::{Changed, split_structs, walk, zero};
use ir::{
    Action, Block, Call, Callee, Control, Direction, Expr, ExprKind, InstanceId, Parser, ParserState,
    Program, StateId, StateRef, Stmt, StmtKind, SwitchOn, Table, TableId, Transition, Type, Var, VarId,
    VarKind, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most expressions in a value that is moved to where it is read.
const MOST: usize = 24;

/// See the head of this file.
pub fn propagate_values(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        let reads = count_reads(unit);
        match unit {
            Unit::Control(control) => changed |= in_control(program, control, reads, Into::Bodies),
            Unit::Parser(parser) => changed |= in_parser(program, parser, reads),
            Unit::Function(_) => {}
        }
    });
    Changed(changed)
}

/// Code in which values are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Into {
    /// Each body and each action by itself.
    Bodies,
    /// Also keys and actions of tables, where a value is known wherever the table is applied.
    Tables,
}

pub(crate) fn in_control(
    program: &Program,
    control: &mut Control,
    reads: BTreeMap<VarId, usize>,
    into: Into,
) -> bool {
    let Control { actions, body, vars, locals, tables, .. } = control;
    let mut signatures = Signatures::new(program);
    // Methods that write variables of their block are refused.
    signatures.trusts_methods = into == Into::Tables;
    let frame_externs = frame_externs(program);
    let written: Vec<Writes> = actions
        .iter()
        .map(|action| {
            let mut writes = Writes::default();
            writes.places.extend(action.params.iter().map(|var| Place { var: *var, path: vec![] }));
            writes.stmts(&action.body.stmts, &signatures);
            writes
        })
        .collect();
    let actions_of =
        tables.iter().map(|table| table.actions.iter().map(|run| run.action.index()).collect()).collect();
    let mut pass = Propagate {
        signatures: &signatures,
        vars,
        reads,
        written,
        tables: actions_of,
        frame_externs: &frame_externs,
        known: Known::default(),
        into,
        sites: BTreeMap::new(),
        changed: false,
    };
    // Tables run an action wherever they are applied: nothing is known at its start.
    for action in actions.iter_mut() {
        pass.known = Known::default();
        pass.stmts(&mut action.body.stmts);
    }
    pass.known = started(program, locals, vars);
    pass.stmts(&mut body.stmts);
    if into == Into::Tables {
        let sites = std::mem::take(&mut pass.sites);
        pass.in_tables(&sites, actions, tables);
    }
    pass.changed
}

fn frame_externs(program: &Program) -> BTreeSet<InstanceId> {
    let instances = program.instances.iter().enumerate();
    let frames = instances.filter(|(_, i)| program.extern_object(i.object).frame_extern().is_some());
    frames.map(|(at, _)| InstanceId::from(at)).collect()
}

fn in_parser(program: &Program, parser: &mut Parser, reads: BTreeMap<VarId, usize>) -> bool {
    let signatures = Signatures::new(program);
    let started = started(program, &parser.locals, &parser.vars);
    let follows = followed(parser);
    let Parser { states, vars, .. } = parser;
    let (written, tables, known) = (vec![], vec![], Known::default());
    let frame_externs = &BTreeSet::new();
    let mut pass = Propagate {
        signatures: &signatures,
        vars,
        reads,
        written,
        tables,
        frame_externs,
        known,
        into: Into::Bodies,
        sites: BTreeMap::new(),
        changed: false,
    };
    let mut started = Some(started);
    for head in (0..states.len()).filter(|at| !follows[*at]) {
        let first = if head == 0 { started.take() } else { None };
        // A start state that a cycle enters again begins with other values then.
        pass.known = first.filter(|_| is_entered_once(states)).unwrap_or_default();
        let mut at = head;
        for _ in 0..states.len() {
            let state = &mut states[at];
            pass.stmts(&mut state.stmts);
            if let Transition::Select(select) = &mut state.transition {
                select.exprs.iter_mut().for_each(|key| pass.key(key));
            }
            match state.transition {
                Transition::Goto(StateRef::State(next)) if follows[next.index()] => at = next.index(),
                _ => break,
            }
        }
    }
    pass.changed
}

/// For each state, whether it is entered only from the end of one other state, whose known values then hold.
fn followed(parser: &Parser) -> Vec<bool> {
    let mut entered = vec![0; parser.states.len()];
    let mut gone = vec![false; parser.states.len()];
    for state in &parser.states {
        for target in targets(&state.transition) {
            if let StateRef::State(id) = target {
                entered[id.index()] += 1;
                gone[id.index()] |= matches!(state.transition, Transition::Goto(_));
            }
        }
    }
    let follows = entered.iter().zip(&gone).enumerate();
    follows.map(|(at, (entered, gone))| at > 0 && *entered == 1 && *gone).collect()
}

/// True if nothing leads back to the first state.
fn is_entered_once(states: &[ParserState]) -> bool {
    let first = StateRef::State(StateId(0));
    !states.iter().any(|state| targets(&state.transition).contains(&first))
}

/// Variables start with a constant or zero.
fn started(program: &Program, locals: &[Stmt], vars: &[Var]) -> Known {
    let mut known = Known::default();
    for local in locals {
        if let StmtKind::Declare(var, init) = &local.kind
            && let Some(declared) = vars.get(var.index())
        {
            let value = init.clone().or_else(|| zero::zero(program, &declared.ty, declared.span));
            let plain = |value: &Expr| matches!(value.kind, ExprKind::Const(_)) && is_scalar(&value.ty);
            known.set(*var, value.filter(plain));
        }
    }
    known
}

/// Number of reads of each variable; a read in a loop counts as two.
pub(crate) fn count_reads(unit: &mut Unit) -> BTreeMap<VarId, usize> {
    let mut reads = BTreeMap::new();
    split_structs::each_expr(unit, &mut |expr| count(expr, &mut reads));
    for list in unit.lists_mut().1 {
        walk::all_stmts(list, &mut |stmt| match &stmt.kind {
            StmtKind::For { cond, body, .. } => {
                count(cond, &mut reads);
                walk::all_stmts(&body.stmts, &mut |inner| {
                    walk::own_exprs(inner, &mut |expr| count(expr, &mut reads));
                });
            }
            // Assignments are counted too.
            StmtKind::Assign(Expr { kind: ExprKind::Var(var), .. }, _) => {
                if let Some(reads) = reads.get_mut(var) {
                    *reads -= 1;
                }
            }
            _ => {}
        });
    }
    reads
}

fn count(expr: &Expr, reads: &mut BTreeMap<VarId, usize>) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::Var(var) = e.kind {
            *reads.entry(var).or_default() += 1;
        }
    });
}

struct Propagate<'a> {
    signatures: &'a Signatures<'a>,
    vars: &'a [Var],
    reads: BTreeMap<VarId, usize>,
    /// Places that each action writes, by action.
    written: Vec<Writes>,
    /// The actions of each table.
    tables: Vec<Vec<usize>>,
    /// Frames may start after their calls, and in regions.
    frame_externs: &'a BTreeSet<InstanceId>,
    known: Known,
    into: Into,
    /// For each table, the values that are known wherever it is applied.
    sites: BTreeMap<TableId, BTreeMap<VarId, Expr>>,
    changed: bool,
}

impl Propagate<'_> {
    /// Replaces what is known at all `sites` of tables in their keys and actions.
    fn in_tables(
        &mut self,
        sites: &BTreeMap<TableId, BTreeMap<VarId, Expr>>,
        actions: &mut [Action],
        tables: &mut [Table],
    ) {
        let start = |values: BTreeMap<VarId, Expr>| {
            let mut known = Known::default();
            values.into_iter().for_each(|(var, value)| known.set(var, Some(value)));
            known
        };
        for (at, action) in actions.iter_mut().enumerate() {
            let mut agreed: Option<BTreeMap<VarId, Expr>> = None;
            for (_, values) in sites.iter().filter(|(id, _)| self.tables[id.index()].contains(&at)) {
                match &mut agreed {
                    Some(agreed) => agreed.retain(|var, value| values.get(var) == Some(value)),
                    None => agreed = Some(values.clone()),
                }
            }
            self.known = start(agreed.unwrap_or_default());
            self.stmts(&mut action.body.stmts);
        }
        for (id, values) in sites {
            self.known = start(values.clone());
            for key in &mut tables[id.index()].keys {
                if let ExprKind::Var(var) = key.expr.kind
                    && let Some(value) = self.known.get(var)
                {
                    key.expr.kind = value.kind.clone();
                    self.changed = true;
                }
            }
        }
    }

    fn stmts(&mut self, stmts: &mut [Stmt]) {
        stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Assign(place, value) => {
                self.indices(place);
                match &mut value.kind {
                    ExprKind::Call(call) => self.call(call),
                    ExprKind::ApplyHit(table) => self.applied(*table),
                    _ => self.read(value),
                }
                if self.into == Into::Tables && is_fixed(place) && Place::of(place) == whole(value) {
                    stmt.kind = StmtKind::Block(Block::default());
                    self.changed = true;
                    return;
                }
                self.written(stmt);
                self.learn(stmt);
            }
            StmtKind::Apply(table) => self.applied(*table),
            StmtKind::Call(call) => {
                self.call(call);
                let is_start =
                    matches!(call.callee, Callee::Method(id, _) if self.frame_externs.contains(&id));
                self.written(stmt);
                if is_start {
                    self.known.forget_everything();
                }
            }
            StmtKind::SetValid(place, _)
            | StmtKind::PushFront(place, _)
            | StmtKind::PopFront(place, _)
            | StmtKind::Emit(_, place) => {
                self.indices(place);
                self.written(stmt);
            }
            StmtKind::Extract { header, varbit_bits, .. } => {
                self.indices(header);
                varbit_bits.iter_mut().for_each(|bits| self.read(bits));
                self.written(stmt);
            }
            StmtKind::Advance(_, bits) => self.read(bits),
            StmtKind::Verify(cond, error) => {
                self.read(cond);
                self.read(error);
            }
            StmtKind::If(cond, yes, no) => {
                self.read(cond);
                let yes = self.arm(yes);
                let no = self.arm(no);
                self.known.join(&[yes, no]);
            }
            StmtKind::Switch(on, cases) => {
                match on {
                    SwitchOn::ActionRun(table) => self.applied(*table),
                    SwitchOn::Value(value) => self.key(value),
                }
                let mut arms: Vec<_> = cases.iter_mut().map(|case| self.arm(&mut case.body)).collect();
                if !cases.iter().any(ir::SwitchCase::is_default) {
                    arms.push(Default::default());
                }
                self.known.join(&arms);
            }
            StmtKind::For { cond, body, .. } => {
                let mut writes = Writes::default();
                writes.stmts(&body.stmts, self.signatures);
                // Before the condition, which is read again after each round.
                self.known.forget_all(&writes);
                self.read(cond);
                let _ = self.arm(body);
            }
            StmtKind::Block(block) => self.block(block),
            _ => self.written(stmt),
        }
    }

    fn block(&mut self, block: &mut Block) {
        if !self.frame_externs.is_empty() && block.region().is_some() {
            self.known.forget_everything();
        }
        self.stmts(&mut block.stmts);
    }

    fn arm(&mut self, block: &mut Block) -> crate::known::Changes {
        let known = std::mem::take(&mut self.known);
        let mut known = known;
        let changes = known.apart(|known| {
            std::mem::swap(&mut self.known, known);
            self.block(block);
            std::mem::swap(&mut self.known, known);
        });
        self.known = known;
        changes
    }

    /// Forgets values that a statement writes; [`applied`](Propagate::applied) handles the writes of a table's actions.
    fn written(&mut self, stmt: &Stmt) {
        let mut writes = Writes::default();
        writes.stmts(std::slice::from_ref(stmt), self.signatures);
        if let StmtKind::Assign(_, Expr { kind: ExprKind::ApplyHit(_), .. }) = stmt.kind {
            writes.everything = false;
        }
        self.known.forget_all(&writes);
    }

    fn applied(&mut self, table: TableId) {
        if self.into == Into::Tables {
            match self.sites.get_mut(&table) {
                Some(values) => values.retain(|var, value| self.known.get(*var) == Some(value)),
                None => {
                    // Compilers for stages do not replace keys by constants.
                    let is_copy = |value: &Expr| is_free(value) && !matches!(value.kind, ExprKind::Const(_));
                    let values = self.known.values().filter(|(_, value)| is_copy(value)).collect();
                    self.sites.insert(table, values);
                }
            }
        }
        for action in self.tables.get(table.index()).into_iter().flatten() {
            if let Some(writes) = self.written.get(*action) {
                self.known.forget_all(writes);
            }
        }
    }

    /// Records the new value of a variable.
    fn learn(&mut self, stmt: &Stmt) {
        let StmtKind::Assign(Expr { kind: ExprKind::Var(var), ty, .. }, value) = &stmt.kind else { return };
        let local = self.vars.get(var.index()).is_some_and(|var| var.kind == VarKind::Local);
        if !local || value.ty != *ty || !is_scalar(ty) {
            return;
        }
        let cheap = is_simple(value) || self.into == Into::Tables && is_free(value);
        let movable = || self.reads.get(var) == Some(&1) && is_computed(value) && size(value) <= MOST;
        let mut reads_itself = false;
        read_by(value, &mut |read| reads_itself |= read.var == *var);
        if !reads_itself && (cheap || movable()) {
            self.known.set(*var, Some(value.clone()));
        }
    }

    /// Arguments stay, but for the indices in them; those of state objects are read where tables are looked at.
    fn call(&mut self, call: &mut Call) {
        if self.into == Into::Tables && self.signatures.has_state(call) {
            let directions = self.signatures.directions(call);
            for (arg, direction) in call.args.iter_mut().zip(directions) {
                if let Some(arg) = arg
                    && direction == Direction::In
                    && let ExprKind::Var(var) = arg.kind
                    && let Some(value) = self.known.get(var).filter(|value| is_fixed(value))
                {
                    arg.kind = value.kind.clone();
                    self.changed = true;
                }
            }
        }
        let mut args: Vec<&mut Expr> = call.args.iter_mut().flatten().collect();
        while let Some(arg) = args.pop() {
            if matches!(arg.kind, ExprKind::Aggregate(_)) {
                args.extend(walk::children(arg));
            } else {
                self.indices(arg);
            }
        }
    }

    /// Replaces variables in an expression that is read.
    fn read(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Var(var) => {
                if let Some(value) = self.known.get(*var) {
                    expr.kind = value.kind.clone();
                    self.changed = true;
                }
            }
            ExprKind::IsValid(place) | ExprKind::LastIndex(place) => self.indices(place),
            ExprKind::Field(..) | ExprKind::Index(..) => self.indices(expr),
            _ => walk::children(expr).into_iter().for_each(|part| self.read(part)),
        }
    }

    /// Replaces the key of a `select` or `switch` only by a place or a constant.
    fn key(&mut self, key: &mut Expr) {
        if let ExprKind::Var(var) = key.kind
            && let Some(value) = self.known.get(var).filter(|value| is_simple(value))
        {
            key.kind = value.kind.clone();
            self.changed = true;
        }
    }

    /// Replaces the variables in the indices of a place: an index is a constant or a variable.
    fn indices(&mut self, place: &mut Expr) {
        match &mut place.kind {
            ExprKind::Field(base, _) | ExprKind::Next(base) | ExprKind::Slice { base, .. } => {
                self.indices(base)
            }
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.indices(base);
                if let ExprKind::Var(var) = index.kind
                    && let Some(value) = self.known.get(var)
                    && matches!(value.kind, ExprKind::Const(_) | ExprKind::Var(_))
                {
                    index.kind = value.kind.clone();
                    self.changed = true;
                }
            }
            _ => {}
        }
    }
}

/// The place that a value is.
fn whole(value: &Expr) -> Option<Place> {
    Place::of(value).filter(|_| is_fixed(value))
}

/// True for a constant or a place.
fn is_simple(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(_)) || is_fixed(value)
}

/// True for a value that costs a pipeline nothing: a constant, a place, some of its bits, a validity, and casts of these.
fn is_free(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Slice { base, .. } | ExprKind::Cast(base) => is_free(base),
        ExprKind::IsValid(header) => is_fixed(header),
        _ => is_simple(value),
    }
}

fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Bool)
}

/// True for operators on scalars: they only read.
fn is_computed(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const(_) | ExprKind::IsValid(_) | ExprKind::LastIndex(_) => true,
        ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Ternary(..)
        | ExprKind::Cast(_)
        | ExprKind::Slice { .. }
        | ExprKind::SlicePlus { .. } => walk::parts(value).into_iter().all(is_computed),
        _ => is_place(value),
    }
}

fn size(value: &Expr) -> usize {
    let mut size = 0;
    visit::subexprs(value, &mut |_| size += 1);
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const VARS: &str = "local bit<8> a; local bit<8> b; local bit<8> c; local bool more;";
    const LOCALS: &str = "locals { var a; var b = 8w4; var c; var more; }";

    #[test]
    fn constants_copies_and_values_read_once() {
        let body = "x = a + b; a = hdr.h.a; c = a + 8w1; x = c; hdr.h.a = 8w2; x = a; b = hdr.h.b;
            hdr.h.$setValid(); x = b; extern log<bit<8>>(b);";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> a;
                local bit<8> b;
                local bit<8> c;
                local bool more;
              }
              locals {
                var a;
                var b = 8w0x4;
                var c;
                var more;
              }
              apply {
                x = 8w0x0 + 8w0x4;
                a = hdr.h.a;
                c = hdr.h.a + 8w0x1;
                x = hdr.h.a + 8w0x1;
                hdr.h.a = 8w0x2;
                x = a;
                b = hdr.h.b;
                hdr.h.$setValid();
                x = b;
                extern log<bit<8>>(b);
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, LOCALS, body), propagate_values));
    }

    #[test]
    fn branches_and_loops() {
        let body = "a = 8w1; b = 8w1; if (x == 8w0) { a = 8w2; b = a; } else { b = 8w2; } x = a; x = b;
            more = x == 8w3; for { } while (more) step { } do { x = b; b = x; more = false; } x = b;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> a;
                local bit<8> b;
                local bit<8> c;
                local bool more;
              }
              locals {
                var a;
                var b = 8w0x4;
                var c;
                var more;
              }
              apply {
                a = 8w0x1;
                b = 8w0x1;
                if (x == 8w0x0) {
                  a = 8w0x2;
                  b = 8w0x2;
                } else {
                  b = 8w0x2;
                }
                x = a;
                x = 8w0x2;
                more = x == 8w0x3;
                for {
                } while (more) step {
                } do {
                  x = b;
                  b = x;
                  more = false;
                }
                x = b;
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, LOCALS, body), propagate_values));
    }

    #[test]
    fn tables() {
        let beside = format!(
            "{LOCALS} action n() \"n\" {{ a = 8w3; }} table t \"t\" {{ actions {{ n(); }} default n(); }}"
        );
        let body = "a = 8w1; b = 8w2; apply t; x = a; x = b;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> a;
                local bit<8> b;
                local bit<8> c;
                local bool more;
              }
              locals {
                var a;
                var b = 8w0x4;
                var c;
                var more;
              }
              action n() "n" {
                a = 8w0x3;
              }
              table t "t" {
                actions {
                  n();
                }
                default n();
              }
              apply {
                a = 8w0x1;
                b = 8w0x2;
                apply t;
                x = a;
                x = 8w0x2;
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, &beside, body), propagate_values));
    }

    #[test]
    fn states() {
        let before =
            "parser P(p, x) \"P\" { vars { param extern packet_in p; inout bit<8> x; local bit<8> a; }
            locals { var a; }
            state start { x = a; a = 8w1; goto next; }
            state next { x = a; select (a) { (8w1): last; (_): last; } }
            state last { x = a; goto accept; } }";
        expect![[r#"
            parser P(p, x) "P" {
              vars {
                param extern packet_in p;
                inout bit<8> x;
                local bit<8> a;
              }
              locals {
                var a;
              }
              state start {
                x = 8w0x0;
                a = 8w0x1;
                goto next;
              }
              state next {
                x = 8w0x1;
                select (8w0x1) {
                  (8w0x1): last;
                  (_): last;
                }
              }
              state last {
                x = a;
                goto accept;
              }
            }
        "#]]
        .assert_eq(&after(before, propagate_values));
    }
}
