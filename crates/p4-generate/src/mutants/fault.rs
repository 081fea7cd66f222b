//! A lowering pass with a fault: wherever it makes a statement of one shape, the same thing goes wrong.

use super::made::{Before, each_list, each_transition};
use base_bits::Bits;
use ir::{Block, Const, Expr, ExprKind, Program, StateRef, Stmt, StmtKind, SwitchOn, Transition, Type};
use ir_lower::PASSES;
use std::collections::BTreeSet;
use std::fmt;

/// Kinds of faults in the code that a pass makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The result is lost.
    Lost,
    /// The result comes after the statement that should follow.
    Late,
    /// The other arm is taken; the parser goes on elsewhere.
    Elsewhere,
    /// The value is zero.
    Zero,
}

const FAULTS: [Fault; 4] = [Fault::Lost, Fault::Late, Fault::Elsewhere, Fault::Zero];

/// A pass that makes something wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mutant {
    /// Index in [`PASSES`].
    pass: usize,
    /// Shape of the code that the pass makes.
    shape: &'static str,
    fault: Fault,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.fault {
            Fault::Lost => "is lost",
            Fault::Late => "comes too late",
            Fault::Elsewhere => "goes elsewhere",
            Fault::Zero => "gives zero",
        };
        write!(f, "{}: {} {how}", PASSES[self.pass].name, self.shape)
    }
}

impl Mutant {
    /// All mutants that apply to `program`.
    pub(super) fn all_of(program: &Program) -> BTreeSet<Mutant> {
        let mut all = BTreeSet::new();
        if ir_lower::check_inlining(program).is_err() {
            return all;
        }
        let mut made = program.clone();
        for (pass, known) in PASSES.iter().enumerate() {
            let mut before = Before::of(&made);
            let _ = (known.run)(&mut made);
            each_list(&mut made.clone(), &mut |unit, stmts| {
                for (at, stmt) in stmts.iter().enumerate() {
                    let Some(shape) = shape(stmt).filter(|_| before.makes(unit, stmt)) else { continue };
                    let late = stmts.get(at + 1).is_some_and(|next| depends(stmt, next));
                    let faults =
                        FAULTS.into_iter().filter(|f| applies(*f, shape) && (*f != Fault::Late || late));
                    all.extend(faults.map(|fault| Mutant { pass, shape, fault }));
                }
            });
            each_transition(&mut made.clone(), &mut |unit, transition| {
                if before.makes_transition(unit, transition) {
                    let shape = shape_of_transition(transition);
                    all.extend(applies(Fault::Elsewhere, shape).then_some(Mutant {
                        pass,
                        shape,
                        fault: Fault::Elsewhere,
                    }));
                }
            });
        }
        all
    }

    /// Lowers `program` with the faulty pass; none if it makes nothing that goes wrong.
    pub(super) fn lower(&self, program: &Program) -> Option<Program> {
        ir_lower::check_inlining(program).ok()?;
        let mut program = program.clone();
        for (at, pass) in PASSES.iter().enumerate() {
            let before = (at == self.pass).then(|| Before::of(&program));
            let _ = (pass.run)(&mut program);
            if let Some(mut before) = before
                && !self.apply(&mut before, &mut program)
            {
                return None;
            }
        }
        Some(program)
    }

    fn apply(&self, before: &mut Before, program: &mut Program) -> bool {
        let mut broken = false;
        each_list(program, &mut |unit, stmts| {
            let made: Vec<bool> =
                stmts.iter().map(|s| before.makes(unit, s) && shape(s) == Some(self.shape)).collect();
            broken |= made.contains(&true);
            self.break_list(stmts, &made);
        });
        each_transition(program, &mut |unit, transition| {
            if before.makes_transition(unit, transition) && shape_of_transition(transition) == self.shape {
                broken = true;
                self.break_transition(transition);
            }
        });
        broken
    }

    fn break_list(&self, stmts: &mut Vec<Stmt>, made: &[bool]) {
        match self.fault {
            Fault::Lost => {
                let mut at = made.iter();
                stmts.retain(|_| !at.next().copied().unwrap_or(false));
            }
            Fault::Late => {
                let mut at = 0;
                while at + 1 < stmts.len() {
                    if made[at] && depends(&stmts[at], &stmts[at + 1]) {
                        stmts.swap(at, at + 1);
                        at += 1;
                    }
                    at += 1;
                }
            }
            Fault::Elsewhere => {
                for (stmt, _) in stmts.iter_mut().zip(made).filter(|(_, made)| **made) {
                    match &mut stmt.kind {
                        StmtKind::If(_, yes, no) => std::mem::swap(yes, no),
                        StmtKind::Switch(_, cases) => cases.truncate(1),
                        _ => {}
                    }
                }
            }
            Fault::Zero => {
                for (stmt, _) in stmts.iter_mut().zip(made).filter(|(_, made)| **made) {
                    if let StmtKind::Assign(_, value) | StmtKind::Declare(_, Some(value)) = &mut stmt.kind
                        && let Some(zero) = zero(&value.ty)
                    {
                        value.kind = ExprKind::Const(zero);
                    }
                }
            }
        }
    }

    fn break_transition(&self, transition: &mut Transition) {
        match transition {
            Transition::Goto(next) => *next = StateRef::Accept,
            Transition::Select(select) => {
                let last = select.cases.last().map_or(StateRef::Reject, |case| case.next);
                if let Some(first) = select.cases.first_mut() {
                    first.next = last;
                }
            }
        }
    }
}

/// True if `next` has the place that `stmt` writes, or it is not known what that is.
fn depends(stmt: &Stmt, next: &Stmt) -> bool {
    let place = match &stmt.kind {
        StmtKind::Declare(var, _) => ExprKind::Var(*var),
        StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) | StmtKind::SetValid(place, _) => {
            place.kind.clone()
        }
        StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => place.kind.clone(),
        _ => return true,
    };
    // Values read by keys are not part of the statement.
    let mut found = matches!(next.kind, StmtKind::Apply(_));
    let block = Block { stmts: vec![next.clone()], ..Block::default() };
    ir::visit::all_exprs(&block, &mut |e| found |= e.kind == place);
    found
}

fn zero(ty: &Type) -> Option<Const> {
    match ty {
        Type::Bit(width) | Type::Int(width) => Some(Const::Bits(Bits::zero(*width))),
        Type::Bool => Some(Const::Bool(false)),
        _ => None,
    }
}

/// In a few words what `stmt` is; none for what says nothing by itself.
fn shape(stmt: &Stmt) -> Option<&'static str> {
    Some(match &stmt.kind {
        StmtKind::Declare(_, Some(value)) => shape_of_value(value, true),
        StmtKind::Assign(_, value) => shape_of_value(value, false),
        StmtKind::AssignOp(..) => "an assignment by an operator",
        StmtKind::Call(_) => "a call",
        StmtKind::Apply(_) => "an application",
        StmtKind::SetValid(..) => "a change of validity",
        StmtKind::PushFront(..) | StmtKind::PopFront(..) => "a shift of a stack",
        StmtKind::Extract { .. } => "an extraction",
        StmtKind::Advance(..) => "an advance",
        StmtKind::Emit(..) => "an emit",
        StmtKind::Verify(..) => "a check",
        StmtKind::If(..) => "an if",
        StmtKind::Switch(SwitchOn::ActionRun(_), _) => "a switch on an action",
        StmtKind::Switch(SwitchOn::Value(_), _) => "a switch on a value",
        StmtKind::For { .. } | StmtKind::ForIn { .. } => "a loop",
        _ => return None,
    })
}

fn shape_of_value(value: &Expr, declared: bool) -> &'static str {
    match (&value.kind, declared) {
        (ExprKind::Const(_), true) => "a variable that starts with a constant",
        (ExprKind::Const(_), false) => "an assigned constant",
        (ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_), _) => "a kept result",
        (ExprKind::Lookahead(_), _) => "a kept lookahead",
        (ExprKind::Aggregate(_), _) => "an assigned list",
        (ExprKind::InvalidHeader, _) => "an invalid header",
        (ExprKind::Var(_), true) => "a variable that starts with another",
        (ExprKind::Var(_), false) => "a copy of a variable",
        (ExprKind::Field(..) | ExprKind::Index(..), _) => "a copy of a part",
        (ExprKind::Slice { .. } | ExprKind::SlicePlus { .. } | ExprKind::Cast(_), _) => "a copy of bits",
        (_, true) => "a variable that starts with what is computed",
        (_, false) => "an assigned expression",
    }
}

fn shape_of_transition(transition: &Transition) -> &'static str {
    match transition {
        Transition::Goto(_) => "a transition",
        Transition::Select(_) => "a select",
    }
}

/// True if the fault changes what has this shape.
fn applies(fault: Fault, shape: &str) -> bool {
    let branches = ["an if", "a switch on an action", "a switch on a value", "a transition", "a select"];
    let values = ["copy", "assigned", "starts", "kept"];
    let is_transition = ["a transition", "a select"].contains(&shape);
    match fault {
        Fault::Lost => !is_transition,
        // A statement after a branch or loop is often independent of it.
        Fault::Late => !branches.contains(&shape) && shape != "a loop",
        Fault::Elsewhere => branches.contains(&shape),
        Fault::Zero => {
            values.iter().any(|word| shape.contains(word))
                && !shape.contains("list")
                && !shape.contains("constant")
        }
    }
}
