//! Arguments of calls: in the order of the parameters, as the IR evaluates them.
//!
//! The source may name its arguments and so write them in another order, which is the order of evaluation. Where
//! that can be seen (an argument that calls something) and the call is a statement of its own, the arguments are
//! evaluated before it, in the source's order; inside an expression such a call is refused.

use base_diag::Span;
use ir::{Expr, ExprKind};
use p4_check::typed::{self, Arg, ArgValue, Direction, Substitution};

use crate::stmt::Body;

impl Body<'_, '_> {
    /// The arguments of a call, one for each parameter. `subst` closes the callee's own type parameters.
    pub(crate) fn arguments(
        &mut self,
        args: &[Arg],
        params: &[typed::VarId],
        subst: &Substitution,
        is_statement: bool,
        span: Span,
    ) -> Vec<Option<Expr>> {
        if !is_out_of_order(args) || !args.iter().filter_map(Arg::expr).any(calls_something) {
            return args
                .iter()
                .zip(params)
                .map(|(arg, param)| self.argument(arg, *param, subst, span))
                .collect();
        }
        if !is_statement || args.iter().any(|a| is_place(a) && a.expr().is_some_and(calls_something)) {
            self.el.refuse("named arguments in another order whose values call something", span);
        }
        let mut order: Vec<usize> = (0..args.len().min(params.len())).collect();
        order.sort_by_key(|i| args[*i].position);
        let mut out = vec![None; order.len()];
        for index in order {
            let value = self.argument(&args[index], params[index], subst, span);
            out[index] = if is_place(&args[index]) { value } else { value.map(|v| self.kept(v)) };
        }
        out
    }

    /// The program's own blocks have no optional parameters: an omitted argument is an uninitialised variable.
    pub(crate) fn filled(
        &mut self,
        args: Vec<Option<Expr>>,
        params: &[typed::VarId],
        subst: &Substitution,
        span: Span,
    ) -> Vec<Option<Expr>> {
        let given = args.into_iter().zip(params);
        given.map(|(arg, param)| Some(arg.unwrap_or_else(|| self.unset(*param, subst, span)))).collect()
    }

    fn unset(&mut self, param: typed::VarId, subst: &Substitution, span: Span) -> Expr {
        let ty = subst.apply(&self.el.typed.vars[param].ty);
        let ty = self.el.ty(&ty);
        let var = self.temporary("unused", ty.clone(), None, span);
        Expr { kind: ExprKind::Var(var), ty, span }
    }

    /// The value of `expr` now, as a variable of our own.
    fn kept(&mut self, expr: Expr) -> Expr {
        let (ty, span) = (expr.ty.clone(), expr.span);
        if matches!(ty, ir::Type::Extern(..)) {
            return expr;
        }
        let var = self.temporary("argument", ty.clone(), Some(expr), span);
        Expr { kind: ExprKind::Var(var), ty, span }
    }

    /// One argument; `None` for an optional one left out. `_` for an `out` parameter becomes a variable that
    /// nobody reads.
    fn argument(&mut self, arg: &Arg, param: typed::VarId, subst: &Substitution, span: Span) -> Option<Expr> {
        match &arg.value {
            ArgValue::Given(expr) | ArgValue::Default(expr) if is_place(arg) => Some(self.place(expr)),
            ArgValue::Given(expr) | ArgValue::Default(expr) => Some(self.expr(expr)),
            ArgValue::Absent => None,
            ArgValue::DontCare => Some(self.unset(param, subst, span)),
        }
    }
}

fn is_place(arg: &Arg) -> bool {
    matches!(arg.direction, Direction::Out | Direction::InOut)
}

fn is_out_of_order(args: &[Arg]) -> bool {
    let positions: Vec<u32> = args.iter().filter_map(|a| a.position).collect();
    positions.windows(2).any(|w| w[0] > w[1])
}

/// True if evaluating `expr` can change something or be changed by such an evaluation beside it.
pub(crate) fn calls_something(expr: &typed::Expr) -> bool {
    use typed::ExprKind as T;
    match &expr.kind {
        T::Call(call) => {
            !matches!(call.callee, typed::Callee::Builtin { method: typed::Builtin::IsValid, .. })
                || call.args.iter().filter_map(Arg::expr).any(calls_something)
        }
        T::Hit(_) | T::Miss(_) | T::ActionRun(_) | T::New(_) => true,
        T::Field { base, .. } | T::TupleIndex { base, .. } | T::Slice { base, .. } => calls_something(base),
        T::StackNext(base) | T::StackLast(base) | T::StackLastIndex(base) => calls_something(base),
        T::Index { base, index: other } | T::SliceAt { base, lo: other } => {
            calls_something(base) || calls_something(other)
        }
        T::Unary(_, operand) | T::Cast { operand, .. } => calls_something(operand),
        T::Binary(_, a, b) | T::Mask(a, b) | T::Range(a, b) => calls_something(a) || calls_something(b),
        T::Ternary(a, b, c) => [a, b, c].into_iter().any(|e| calls_something(e)),
        T::Struct(fields) => fields.iter().any(|f| calls_something(&f.value)),
        T::Tuple(parts) | T::Array(parts) | T::List(parts) => parts.iter().any(calls_something),
        _ => false,
    }
}
