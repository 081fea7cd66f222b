//! Whether everything that a program calls can be put in the place of its calls.
//!
//! Calls do not recurse, but `f` may call `g` twice, which calls `h` twice, and so on: inlining may double the program
//! with each level. Programs that would exceed the limits are refused.

use crate::check_parser_results::check_parser_results;
use crate::order::callees_first;
use crate::walk;
use base_diag::codes::elaborate as codes;
use base_diag::{Diagnostic, Span};
use ir::{Block, Callee, Const, Control, Expr, Program, Stmt, StmtKind, Transition, visit};
use std::collections::BTreeMap;

/// The most statements and expressions of a program when everything is inlined.
const MAX_SIZE: u64 = 1 << 20;
/// The most levels of nesting.
const MAX_DEPTH: u64 = 400;

/// Refuses programs that grow too much by inlining, blocks that belong to two stages, and results that cannot be handed
/// back.
pub fn check_inlining(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let units = Units::of(program);
    let mut problems = vec![];
    let mut total = 0u64;
    let called: Vec<bool> = units.called();
    let measured = units.measured();
    for (unit, (measure, called)) in units.all.iter().zip(measured.iter().zip(called)) {
        // The innermost one is to blame.
        let deep = |measure: &Measure| measure.depth > MAX_DEPTH;
        let large = |measure: &Measure| measure.size > MAX_SIZE;
        if deep(measure) && !unit.calls.iter().any(|callee| deep(&measured[*callee])) {
            problems.push(too_large(unit.span, format!("with its calls it nests {} deep", measure.depth)));
        }
        if large(measure) && !unit.calls.iter().any(|callee| large(&measured[*callee])) {
            let why = format!("with everything it calls it has {} statements and expressions", measure.size);
            problems.push(too_large(unit.span, why));
        }
        if !called {
            total = total.saturating_add(measure.size);
        }
    }
    if problems.is_empty() && total > MAX_SIZE {
        problems.push(too_large(Span::NONE, format!("it has {total} statements and expressions")));
    }
    problems.extend(units.shared(program));
    problems.extend(check_parser_results(program));
    problems.extend(program.parsers.iter().flat_map(|parser| inner_residuals(program, parser)));
    problems.extend(program.controls.iter().flat_map(|control| chosen_objects(program, control)));
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn too_large(span: Span, why: String) -> Diagnostic {
    Diagnostic::error(codes::INLINED_TOO_LARGE, "too large with all calls inlined")
        .at(span, why)
        .note(format!("at most {MAX_SIZE} statements and expressions, nested at most {MAX_DEPTH} deep"))
        .help("call it from fewer places")
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Function(usize),
    Parser(usize),
    Control(usize),
    Action(usize, usize),
}

/// A unit's name and place, its lists of statements, and the expressions beside them.
type Code<'p> = (Name, Span, Vec<&'p [Stmt]>, Vec<&'p Expr>);

struct Unit {
    name: Name,
    span: Span,
    own: Measure,
    /// Indices of the called units, one for each call.
    calls: Vec<usize>,
}

#[derive(Clone, Copy, Default)]
struct Measure {
    size: u64,
    depth: u64,
}

struct Units {
    all: Vec<Unit>,
}

impl Units {
    fn of(program: &Program) -> Units {
        let mut named: Vec<Code<'_>> = vec![];
        for (at, function) in program.functions.iter().enumerate() {
            named.push((Name::Function(at), function.span, vec![&function.body.stmts], vec![]));
        }
        for (at, parser) in program.parsers.iter().enumerate() {
            let lists = parser.states.iter().map(|s| s.stmts.as_slice()).chain([parser.locals.as_slice()]);
            let selects = parser.states.iter().flat_map(|state| match &state.transition {
                Transition::Select(select) => select.exprs.as_slice(),
                Transition::Goto(_) => &[],
            });
            named.push((Name::Parser(at), parser.span, lists.collect(), selects.collect()));
        }
        for (at, control) in program.controls.iter().enumerate() {
            for (number, action) in control.actions.iter().enumerate() {
                named.push((Name::Action(at, number), action.span, vec![&action.body.stmts], vec![]));
            }
            let keys = control.tables.iter().flat_map(|t| &t.keys).map(|key| &key.expr);
            let args = control.tables.iter().flat_map(|t| &t.actions).flat_map(|run| &run.args);
            let lists = vec![control.body.stmts.as_slice(), control.locals.as_slice()];
            named.push((Name::Control(at), control.span, lists, keys.chain(args).collect()));
        }
        let numbers: BTreeMap<Name, usize> =
            named.iter().enumerate().map(|(at, (name, ..))| (*name, at)).collect();
        let all = named
            .into_iter()
            .map(|(name, span, lists, exprs)| unit(program, name, span, &lists, &exprs, &numbers));
        Units { all: all.collect() }
    }

    /// Controls and parsers that another one applies. Functions and actions count on their own too: they stay beside
    /// their callers until all calls are inlined.
    fn called(&self) -> Vec<bool> {
        let mut called = vec![false; self.all.len()];
        for unit in &self.all {
            for callee in &unit.calls {
                called[*callee] |= matches!(self.all[*callee].name, Name::Parser(_) | Name::Control(_));
            }
        }
        called
    }

    /// Size of each unit with everything it calls.
    fn measured(&self) -> Vec<Measure> {
        let calls: Vec<Vec<usize>> = self.all.iter().map(|unit| unit.calls.clone()).collect();
        let mut found = vec![Measure::default(); self.all.len()];
        for at in callees_first(&calls) {
            let unit = &self.all[at];
            let mut sum = unit.own;
            let mut deepest = 0;
            for callee in &unit.calls {
                sum.size = sum.size.saturating_add(found[*callee].size);
                deepest = deepest.max(found[*callee].depth);
            }
            sum.depth = sum.depth.saturating_add(deepest);
            found[at] = sum;
        }
        found
    }

    /// Controls and parsers that two stages would have to share.
    fn shared(&self, program: &Program) -> Vec<Diagnostic> {
        let mut owner: Vec<Option<usize>> = vec![None; self.all.len()];
        let mut problems = vec![];
        let called = self.called();
        let is_block = |at: usize| matches!(self.all[at].name, Name::Parser(_) | Name::Control(_));
        for root in (0..self.all.len()).filter(|at| is_block(*at) && !called[*at]) {
            let mut open = vec![root];
            let mut seen = vec![false; self.all.len()];
            while let Some(at) = open.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                match owner[at] {
                    Some(other) if other != root && has_state(program, self.all[at].name) => {
                        problems.push(
                            Diagnostic::error(
                                codes::NOT_SUPPORTED,
                                "one instance in two stages is not supported yet",
                            )
                            .at(self.all[at].span, "its tables and objects would be in both")
                            .help("make an instance for each stage"),
                        );
                    }
                    _ => owner[at] = Some(root),
                }
                open.extend(self.all[at].calls.iter().filter(|callee| is_block(**callee)));
            }
        }
        problems
    }
}

/// Controls that `control` applies with one object here and another there, to be used by their actions: these run for
/// both applications.
fn chosen_objects(program: &Program, control: &Control) -> Vec<Diagnostic> {
    let mut objects: BTreeMap<ir::ControlId, Vec<Const>> = BTreeMap::new();
    let mut problems = vec![];
    walk::all_stmts(&control.body.stmts, &mut |stmt| {
        let StmtKind::Call(call) = &stmt.kind else { return };
        let Callee::Control(id) = call.callee else { return };
        let given = call.args.iter().flatten().filter_map(|arg| match &arg.kind {
            ir::ExprKind::Const(object @ Const::Instance(_)) => Some(object.clone()),
            _ => None,
        });
        let given: Vec<Const> = given.collect();
        let first = objects.entry(id).or_insert_with(|| given.clone());
        if *first != given && program.controls.get(id.index()).is_some_and(actions_use_objects) {
            problems.push(
                Diagnostic::error(codes::NOT_SUPPORTED, "an action with two objects is not supported yet")
                    .at(
                        call.span,
                        "the control's actions use another object here than where it is applied first",
                    )
                    .help("make an instance of the control for each object"),
            );
        }
    });
    problems
}

/// Residual checksums of TNA in a parser that another one applies: they are complete at the end of their own parser.
fn inner_residuals(program: &Program, parser: &ir::Parser) -> Vec<Diagnostic> {
    let is_stage = program.stages.iter().any(|stage| match stage.kind {
        ir::StageKind::Parse(id) => std::ptr::eq(program.parser(id), parser),
        _ => false,
    });
    let mut problems = vec![];
    for stmt in parser.states.iter().flat_map(|state| &state.stmts).filter(|_| !is_stage) {
        if let StmtKind::Call(call) = &stmt.kind
            && let Callee::Method(id, method) = call.callee
            && let object = program.extern_object(program.instance(id).object)
            && let Some(method) = object.methods.get(method as usize)
            && method.name == "subtract_all_and_deposit"
        {
            problems.push(
                Diagnostic::error(codes::NOT_SUPPORTED, "a residual checksum of an applied parser")
                    .at(call.span, "it is complete at the end of this parser, not of its caller")
                    .help("call it in the parser of the pipeline"),
            );
        }
    }
    problems
}

fn actions_use_objects(control: &Control) -> bool {
    let mut uses = false;
    for action in &control.actions {
        let is_param = |callee: &Callee| matches!(callee, Callee::ParamMethod(..));
        walk::all_stmts(&action.body.stmts, &mut |stmt| {
            uses |= matches!(&stmt.kind, StmtKind::Call(call) if is_param(&call.callee));
        });
        walk::all_exprs(&action.body.stmts, &mut |e| {
            uses |= matches!(&e.kind, ir::ExprKind::Call(call) if is_param(&call.callee));
        });
    }
    uses
}

/// True for blocks with something that the control plane knows.
fn has_state(program: &Program, name: Name) -> bool {
    match name {
        Name::Parser(at) => {
            let parser = &program.parsers[at];
            !parser.instances.is_empty() || !parser.value_sets.is_empty()
        }
        Name::Control(at) => {
            let control = &program.controls[at];
            !control.instances.is_empty() || !control.tables.is_empty()
        }
        _ => false,
    }
}

fn unit(
    program: &Program,
    name: Name,
    span: Span,
    lists: &[&[Stmt]],
    exprs: &[&Expr],
    numbers: &BTreeMap<Name, usize>,
) -> Unit {
    let mut own = Measure::default();
    let mut calls = vec![];
    let mut call = |callee: &Callee| {
        let callee = match (callee, name) {
            (Callee::Function(id), _) => Name::Function(id.index()),
            (Callee::Parser(id), _) => Name::Parser(id.index()),
            (Callee::Control(id), _) => Name::Control(id.index()),
            (Callee::Action(id), Name::Control(at) | Name::Action(at, _)) => Name::Action(at, id.index()),
            (Callee::Method(id, _), _) => {
                // Register actions become their functions.
                let methods = program.instances.get(id.index()).map_or(&[][..], |instance| &instance.methods);
                let functions = methods.iter().map(|(_, function)| Name::Function(function.index()));
                return calls.extend(functions.filter_map(|function| numbers.get(&function)));
            }
            _ => return,
        };
        calls.extend(numbers.get(&callee));
    };
    for list in lists {
        own.depth = own.depth.max(depth(list));
        walk::all_stmts(list, &mut |stmt| {
            own.size += 1;
            if let StmtKind::Call(c) = &stmt.kind {
                call(&c.callee);
            }
            walk::own_exprs(stmt, &mut |expr| visit::subexprs(expr, &mut |_| own.size += 1));
        });
    }
    let mut in_exprs = vec![];
    for list in lists {
        walk::all_exprs(list, &mut |e| {
            if let ir::ExprKind::Call(c) = &e.kind {
                in_exprs.push(c.callee.clone());
            }
        });
    }
    for expr in exprs {
        own.depth = own.depth.max(expr_depth(expr));
        visit::subexprs(expr, &mut |e| {
            own.size += 1;
            if let ir::ExprKind::Call(c) = &e.kind {
                in_exprs.push(c.callee.clone());
            }
        });
    }
    in_exprs.iter().for_each(&mut call);
    Unit { name, span, own, calls }
}

/// Levels of blocks and expressions.
fn depth(stmts: &[Stmt]) -> u64 {
    let mut deepest = 0;
    for stmt in stmts {
        let mut inner = 0;
        walk::own_exprs(stmt, &mut |expr| inner = inner.max(expr_depth(expr)));
        visit::blocks(stmt, &mut |block: &Block| inner = inner.max(depth(&block.stmts)));
        deepest = deepest.max(inner + 1);
    }
    deepest
}

fn expr_depth(expr: &Expr) -> u64 {
    let mut copy = vec![expr];
    let mut depth = 0;
    while !copy.is_empty() {
        depth += 1;
        copy = copy.into_iter().flat_map(walk::parts).collect();
    }
    depth
}

#[cfg(test)]
mod tests {
    use crate::testing::{control, refusals};
    use expect_test::expect;

    /// `f0` calls nothing, each other one the one before it `calls` times.
    fn functions(levels: usize, calls: usize) -> String {
        let mut text = "function f0(a) -> bit<8> { vars { in bit<8> a; } body { return a; } } ".to_string();
        for level in 1..levels {
            let sum = vec![format!("function f{}(a)", level - 1); calls].join(" + ");
            text += &format!(
                "function f{level}(a) -> bit<8> {{ vars {{ in bit<8> a; }} body {{ return {sum}; }} }} "
            );
        }
        text
    }

    #[test]
    fn what_doubles_with_each_level() {
        let text = functions(30, 2) + &control("", "", "x = function f29(x);");
        expect!["P4R0320 too large with all calls inlined | with everything it calls it has 2097146 statements and expressions"].assert_eq(&refusals(&text));
    }

    #[test]
    fn what_nests_too_deep() {
        let text = functions(300, 1) + &control("", "", "x = function f299(x);");
        expect!["P4R0320 too large with all calls inlined | with its calls it nests 401 deep"]
            .assert_eq(&refusals(&text));
    }

    #[test]
    fn what_is_just_deep_enough() {
        let text = functions(100, 1) + &control("", "", "x = function f99(x);");
        expect![[""]].assert_eq(&refusals(&text));
    }

    #[test]
    fn one_instance_in_two_stages() {
        let inner = "parser I(p) \"I\" { vars { param extern packet_in p; } value_set v: bit<8> \"I.v\" match(exact) size 4;
            state start { goto accept; } } ";
        let outer = |name: &str| {
            format!(
                "parser {name}(p) \"{name}\" {{ vars {{ param extern packet_in p; }} state start {{ parser I(p); goto accept; }} }} "
            )
        };
        expect!["P4R0301 one instance in two stages is not supported yet | its tables and objects would be in both"].assert_eq(&refusals(&(inner.to_string() + &outer("P") + &outer("Q"))));
    }
}
