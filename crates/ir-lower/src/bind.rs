//! Parameters where a call is replaced by the callee's code: each stands for its argument where that is exact, and is a
//! copy where not (P4-16 §6.8).
//!
//! A place may stand for an `inout` or `out` parameter if nothing else that the callee can reach is a part of it; for
//! an `in` parameter if nothing in it is written meanwhile. Fields of headers are copied where the callee hands the
//! parameter to an extern: hashes and checksums leave fields of invalid headers out, but not variables.

use crate::places::{Place, Writes, constant_index, is_fixed, read_by};
use crate::substitute::Substitution;
use crate::{walk, zero};
use ir::build;
use ir::{
    BinaryOp, Callee, Const, Direction, ErrorId, Expr, ExprKind, Program, Stmt, StmtKind, Type, Var, VarId,
    VarKind, visit,
};
use std::collections::BTreeSet;

/// `error.StackOutOfBounds`, which core.p4 declares in this position.
const STACK_OUT_OF_BOUNDS: ErrorId = ErrorId(3);

/// Name of a variable that keeps an index: no identifier of P4. It is assigned only once.
const INDEX: &str = "index$";

/// The callee.
pub(crate) struct Target<'a> {
    pub(crate) params: &'a [VarId],
    pub(crate) vars: &'a [Var],
    /// Places of the caller that the callee's code reads and writes, other than by parameters.
    pub(crate) reads: Vec<Place>,
    pub(crate) writes: Writes,
    /// Parameters that occur in arguments of externs.
    pub(crate) shown: BTreeSet<VarId>,
}

impl<'a> Target<'a> {
    /// A callee that sees nothing of its caller.
    pub(crate) fn apart(params: &'a [VarId], vars: &'a [Var], code: &[&[Stmt]]) -> Target<'a> {
        let shown = code.iter().flat_map(|stmts| shown(stmts)).collect();
        Target { params, vars, reads: vec![], writes: Writes::default(), shown }
    }
}

/// Variables in arguments of externs.
pub(crate) fn shown(stmts: &[Stmt]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    let mut call = |call: &ir::Call| {
        if matches!(call.callee, Callee::ExternFunction(_) | Callee::Method(..) | Callee::ParamMethod(..)) {
            visit::call_exprs(call, &mut |arg| {
                visit::subexprs(arg, &mut |e| {
                    if let ExprKind::Var(var) = e.kind {
                        found.insert(var);
                    }
                });
            });
        }
    };
    walk::all_stmts(stmts, &mut |stmt| {
        if let StmtKind::Call(c) = &stmt.kind {
            call(c);
        }
        walk::own_exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |e| {
                if let ExprKind::Call(c) = &e.kind {
                    call(c);
                }
            });
        });
    });
    found
}

/// Statements before and after the callee's code.
#[derive(Default)]
pub(crate) struct Bound {
    pub(crate) before: Vec<Stmt>,
    pub(crate) after: Vec<Stmt>,
}

/// Destination of the callee's code.
pub(crate) struct Caller<'a> {
    pub(crate) program: &'a Program,
    pub(crate) vars: &'a mut Vec<Var>,
    /// Declarations of copies; `None` puts them before the code.
    pub(crate) locals: Option<&'a mut Vec<Stmt>>,
    /// Every parameter is a copy.
    pub(crate) copy_all: bool,
    /// Indices in arguments are variables that nothing else writes.
    pub(crate) settled: bool,
}

impl Caller<'_> {
    /// Adds the replacement of each parameter of `callee` to `subst`. A parameter that is replaced by an existing
    /// variable needs no new one.
    pub(crate) fn bind(&mut self, callee: &Target, args: &[Option<Expr>], subst: &mut Substitution) -> Bound {
        let mut bound = Bound::default();
        let mut zeroed = vec![];
        let written = written_args(callee, args);
        for (at, (param, arg)) in callee.params.iter().zip(args).enumerate() {
            let Some(var) = callee.vars.get(param.index()) else { continue };
            // A don't-care argument (`_`): what the callee writes there is dropped.
            let Some(arg) = arg else {
                self.copy(*param, var, None, subst, &mut bound.before);
                continue;
            };
            let direction = match var.kind {
                VarKind::Param(direction) => direction,
                VarKind::Local => Direction::In,
            };
            // An extern object is no value and cannot be copied.
            if matches!(var.ty, Type::Extern(..)) {
                subst.set(*param, arg.clone());
                continue;
            }
            let is_back = matches!(direction, Direction::Out | Direction::InOut);
            if self.may_stand(callee, *param, at, arg, is_back, &written) {
                subst.set(*param, arg.clone());
                if direction == Direction::Out {
                    zero::zero_place(self.program, self.vars, arg, &mut zeroed);
                }
            } else if is_back {
                let mut place = arg.clone();
                // Indices are evaluated once: the result is copied back to the same element (P4-16 §6.8).
                self.settle(&mut place, &mut bound.before);
                let init = (direction == Direction::InOut).then(|| place.clone());
                let kept = self.copy(*param, var, init, subst, &mut bound.before);
                bound.after.push(build::assign(place, kept).at(arg.span));
            } else {
                self.copy(*param, var, Some(arg.clone()), subst, &mut bound.before);
            }
        }
        bound.before.append(&mut zeroed);
        bound
    }

    fn may_stand(
        &self,
        callee: &Target,
        param: VarId,
        at: usize,
        arg: &Expr,
        is_back: bool,
        written: &[(usize, Place)],
    ) -> bool {
        if matches!(arg.kind, ExprKind::Const(_)) {
            return !is_back && !self.copy_all;
        }
        let Some(place) = Place::of(arg) else { return false };
        let others = written.iter().any(|(other, p)| *other != at && p.overlaps(&place));
        let reached =
            callee.writes.touches(&place) || is_back && callee.reads.iter().any(|read| read.overlaps(&place));
        let hides = callee.shown.contains(&param) && in_header(self.program, arg);
        (is_fixed(arg) || self.settled && is_settled(arg)) && !others && !reached && !hides && !self.copy_all
    }

    /// A variable for `param`, starting with `init` or zero.
    fn copy(
        &mut self,
        param: VarId,
        var: &Var,
        init: Option<Expr>,
        subst: &mut Substitution,
        before: &mut Vec<Stmt>,
    ) -> Expr {
        let span = init.as_ref().map_or(var.span, |init| init.span);
        let known = match subst.get(param) {
            Some(Expr { kind: ExprKind::Var(known), .. }) => Some(*known),
            _ => None,
        };
        let id = known.unwrap_or_else(|| {
            self.vars.push(Var { kind: VarKind::Local, ..var.clone() });
            VarId::from(self.vars.len() - 1)
        });
        let kept = build::var_of(self.vars, id).at(span);
        subst.set(param, kept.clone());
        match &mut self.locals {
            None => before.push(build::declare(id, init).at(span)),
            Some(locals) => {
                if known.is_none() {
                    locals.push(build::declare(id, None).at(span));
                }
                match init {
                    Some(init) => before.push(build::assign(kept.clone(), init).at(span)),
                    None => zero::zero_place(self.program, self.vars, &kept, before),
                }
            }
        }
        kept
    }

    /// Works out the indices of a place once.
    pub(crate) fn settle(&mut self, place: &mut Expr, before: &mut Vec<Stmt>) {
        let span = place.span;
        match &mut place.kind {
            ExprKind::Field(base, _) | ExprKind::Slice { base, .. } => self.settle(base, before),
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.settle(base, before);
                if constant_index(index).is_none() && !self.is_kept_index(index) {
                    **index = self.keep(index.as_ref().clone(), before);
                }
            }
            ExprKind::Next(stack) | ExprKind::Last(stack) => {
                self.settle(stack, before);
                let stack = stack.as_ref().clone();
                let is_next = matches!(place.kind, ExprKind::Next(_));
                let last = ExprKind::LastIndex(Box::new(stack.clone()));
                let mut index = Expr { kind: last, ty: Type::Bit(32), span };
                if is_next {
                    index = build::binary(BinaryOp::Add, index, build::bits(32, 1).at(span), Type::Bit(32));
                }
                let index = self.keep(index, before);
                // `next` and `last` outside of the stack are parser errors, raised where the argument is evaluated.
                before.push(in_bounds(&stack, &index));
                place.kind = ExprKind::Index(Box::new(stack), Box::new(index));
            }
            _ => {}
        }
    }

    /// True for a variable made by [`settle`](Caller::settle).
    fn is_kept_index(&self, index: &Expr) -> bool {
        match index.kind {
            ExprKind::Var(var) => self.vars.get(var.index()).is_some_and(|var| var.name == INDEX),
            _ => false,
        }
    }

    fn keep(&mut self, value: Expr, before: &mut Vec<Stmt>) -> Expr {
        let span = value.span;
        let kept = build::local(self.vars, INDEX, value.ty.clone(), span);
        before.push(build::declare(kept, Some(value)).at(span));
        build::var_of(self.vars, kept).at(span)
    }
}

/// True for a place whose indices are constants and variables; it may be some bits of a place.
fn is_settled(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) | ExprKind::Slice { base, .. } => is_settled(base),
        ExprKind::Index(base, index) => {
            matches!(index.kind, ExprKind::Const(_) | ExprKind::Var(_)) && is_settled(base)
        }
        _ => false,
    }
}

/// `verify(index < size, error.StackOutOfBounds);`
fn in_bounds(stack: &Expr, index: &Expr) -> Stmt {
    let span = index.span;
    let size = if let Type::Stack(_, size) = &stack.ty { *size } else { 0 };
    let good =
        build::binary(BinaryOp::Lt, index.clone(), build::bits(32, u64::from(size)).at(span), Type::Bool);
    let error = ExprKind::Const(Const::Error(STACK_OUT_OF_BOUNDS));
    Stmt { kind: StmtKind::Verify(good, Expr { kind: error, ty: Type::Error, span }), span }
}

/// The places of arguments that are copied back, with their positions.
fn written_args(callee: &Target, args: &[Option<Expr>]) -> Vec<(usize, Place)> {
    let mut found = vec![];
    for (at, (param, arg)) in callee.params.iter().zip(args).enumerate() {
        let kind = callee.vars.get(param.index()).map(|var| var.kind);
        if let (Some(VarKind::Param(Direction::Out | Direction::InOut)), Some(arg)) = (kind, arg) {
            found.extend(Place::of(arg).map(|place| (at, place)));
        }
    }
    found
}

/// True if `expr` is a part of a header.
pub(crate) fn in_header(program: &Program, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Field(base, _) => program.is_header(&base.ty) || in_header(program, base),
        ExprKind::Index(base, _) | ExprKind::Slice { base, .. } => in_header(program, base),
        _ => false,
    }
}

/// The places that code reads or mentions.
pub(crate) fn mentioned(stmts: &[Stmt]) -> Vec<Place> {
    let mut found = vec![];
    walk::all_stmts(stmts, &mut |stmt| {
        walk::own_exprs(stmt, &mut |expr| read_by(expr, &mut |place| found.push(place)));
    });
    found
}
