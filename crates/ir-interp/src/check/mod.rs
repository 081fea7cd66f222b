//! Limits for running a program: sizes, nesting, and known externs. Checked when the device is made, so that nothing is
//! refused at packet time.

mod depth;
mod externs;
mod frame_calls;
mod size;

pub(crate) use externs::{CheckCall, refused};
pub(crate) use frame_calls::check_frame_calls;

use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{Call, Expr, Program, Stmt, visit};

/// Refuses programs that cannot be run. Nesting comes first: the other checks walk the tree with the machine's stack.
pub(crate) fn check(program: &Program, check_call: CheckCall) -> Result<(), Vec<Diagnostic>> {
    depth::check(program)?;
    well_formed(program)?;
    size::check(program)?;
    externs::check(program, check_call)
}

fn well_formed(program: &Program) -> Result<(), Vec<Diagnostic>> {
    ir::verify::verify(program).map_err(|errors| {
        let problem = |e: ir::verify::VerifyError| {
            Diagnostic::error(codes::MALFORMED, "this program is not well formed")
                .at(e.span, e.message)
                .note(format!("in {}", e.place))
        };
        errors.into_iter().map(problem).collect()
    })
}

/// A piece of code with the block it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Unit {
    Function(usize),
    Parser(usize),
    /// A control: locals, tables and body.
    Control(usize),
    /// An action, by control and position.
    Action(usize, usize),
}

/// All units of a program.
pub(crate) fn units(program: &Program) -> Vec<Unit> {
    let mut all: Vec<Unit> = (0..program.functions.len()).map(Unit::Function).collect();
    all.extend((0..program.parsers.len()).map(Unit::Parser));
    for (at, control) in program.controls.iter().enumerate() {
        all.push(Unit::Control(at));
        all.extend((0..control.actions.len()).map(|action| Unit::Action(at, action)));
    }
    all
}

/// The statements of a unit, as lists, and its expressions that stand in no statement.
pub(crate) fn parts(program: &Program, unit: Unit) -> (Vec<&[Stmt]>, Vec<&Expr>) {
    match unit {
        Unit::Function(at) => (vec![&program.functions[at].body.stmts], vec![]),
        Unit::Action(at, action) => (vec![&program.controls[at].actions[action].body.stmts], vec![]),
        Unit::Parser(at) => {
            let parser = &program.parsers[at];
            let mut lists = vec![parser.locals.as_slice()];
            let mut exprs = vec![];
            for state in &parser.states {
                lists.push(&state.stmts);
                if let ir::Transition::Select(select) = &state.transition {
                    exprs.extend(&select.exprs);
                    exprs.extend(select.cases.iter().flat_map(|c| &c.keys).flat_map(keyset_exprs));
                }
            }
            (lists, exprs)
        }
        Unit::Control(at) => {
            let control = &program.controls[at];
            let mut exprs = vec![];
            for table in &control.tables {
                exprs.extend(table.keys.iter().map(|k| &k.expr));
                exprs.extend(table.actions.iter().flat_map(|a| &a.args));
                exprs.extend(&table.default_action.args);
                for entry in &table.entries {
                    exprs.extend(&entry.args);
                    exprs.extend(entry.keys.iter().flat_map(keyset_exprs));
                }
            }
            (vec![&control.locals, &control.body.stmts], exprs)
        }
    }
}

fn keyset_exprs(keyset: &ir::Keyset) -> Vec<&Expr> {
    match keyset {
        ir::Keyset::DontCare | ir::Keyset::ValueSet(_) => vec![],
        ir::Keyset::Value(value) => vec![value],
        ir::Keyset::Mask(a, b) | ir::Keyset::Range(a, b) => vec![a, b],
    }
}

/// Calls `f` with every call of a unit.
pub(crate) fn calls(program: &Program, unit: Unit, f: &mut dyn FnMut(&Call)) {
    let (lists, exprs) = parts(program, unit);
    for list in lists {
        visit::calls(list, f);
    }
    for expr in exprs {
        visit::calls_in(expr, f);
    }
}
