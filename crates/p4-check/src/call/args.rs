//! Arguments: each checked against its parameter, types of unknown parameters inferred from them (P4-16 §6.7,
//! §8.27).
//!
//! Arguments whose type depends on the parameter (numbers without width, lists, `...`) come after the others, so `f(1,
//! 8w2)` with `f<T>(in T a, in T b)` finds that `T` is `bit<8>`.

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use super::overload::Slot;
use crate::codes;
use crate::cx::Checker;
use crate::expr::needs_hint;
use crate::typed::{Arg, ArgValue, Direction, Expr, ExprKind, Substitution, Type, VarId};

/// The callee, as far as arguments are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// Functions and methods: arguments without a direction are known at compile time or are objects.
    Function,
    /// Constructors and packages: everything is known at compile time.
    Constructor,
    /// Actions called directly: parameters without a direction are `in`.
    Action,
    /// `apply` of parsers and controls.
    Apply,
    /// Arguments that a table gives to an action: of the parameters with a direction in the list of actions.
    ActionData,
}

/// An argument whose check is not finished.
enum Pending {
    Done(ArgValue),
    /// Not looked at yet.
    Hint(usize),
    /// An `int` whose width may follow from another argument.
    Number(Expr),
}

impl Checker {
    /// The arguments in the order of the parameters; `None` if they do not fit, which is reported.
    pub(crate) fn arguments(
        &mut self,
        name: &str,
        params: &[VarId],
        args: &[ast::Arg],
        substitution: &Substitution,
        rule: Rule,
        span: Span,
    ) -> Option<Vec<Arg>> {
        let slots = match self.fit_args(params, args) {
            Ok(slots) => slots,
            Err(misfit) => {
                self.report_misfit(misfit, name, params, span);
                self.skip_args(args, span);
                return None;
            }
        };
        let wanted: Vec<(Type, Direction)> = params
            .iter()
            .map(|&p| {
                let ty = substitution.apply(&self.program.vars[p].ty);
                (self.infer.open_any(ty), self.direction(p))
            })
            .collect();
        let mut pending: Vec<Pending> = Vec::with_capacity(params.len());
        for ((slot, &param), (want, direction)) in slots.iter().zip(params).zip(&wanted) {
            pending.push(match slot {
                Slot::Absent => Pending::Done(ArgValue::Absent),
                Slot::Default => Pending::Done(match self.program.vars[param].default.clone() {
                    Some(default) => ArgValue::Default(self.default_argument(default, want, substitution)),
                    None => ArgValue::Absent,
                }),
                Slot::Given(i) => self.first_look(&args[*i], *i, want, *direction, rule),
            });
        }
        // Arguments that need a type from their context come second: the others may have fixed type variables.
        for (p, (want, _)) in pending.iter_mut().zip(&wanted) {
            if let Pending::Hint(i) = p {
                let e = self.expr_as(&args[*i].value, want);
                *p = Pending::Done(ArgValue::Given(e));
            }
        }
        let mut out = Vec::with_capacity(params.len());
        let mut sound = true;
        for (((p, slot), (want, direction)), &param) in
            pending.into_iter().zip(&slots).zip(&wanted).zip(params)
        {
            let value = match p {
                Pending::Done(value) => value,
                Pending::Number(e) => ArgValue::Given(self.number_argument(e, want)),
                Pending::Hint(_) => ArgValue::Absent,
            };
            let position = match slot {
                Slot::Given(i) => Some(*i as u32),
                _ => None,
            };
            let arg = Arg { value, direction: *direction, position };
            sound &= self.check_argument(&arg, param, rule) && self.check_inferred(&arg, want, rule);
            out.push(arg);
        }
        sound.then_some(out)
    }

    fn default_argument(&mut self, default: Expr, want: &Type, substitution: &Substitution) -> Expr {
        let default = Expr { ty: substitution.apply(&default.ty), ..default };
        self.convert(default, want)
    }

    fn first_look(
        &mut self,
        arg: &ast::Arg,
        index: usize,
        want: &Type,
        direction: Direction,
        rule: Rule,
    ) -> Pending {
        let value = &arg.value;
        if matches!(value.kind, ast::ExprKind::DontCare) {
            if direction != Direction::Out && rule != Rule::Constructor {
                self.error(
                    codes::BAD_ARGUMENTS,
                    value.span,
                    "`_` for a parameter that needs a value",
                    "only `out` parameters take `_`",
                );
                return Pending::Done(ArgValue::Given(Expr::error(value.span)));
            }
            return Pending::Done(ArgValue::DontCare);
        }
        match direction {
            Direction::Out | Direction::InOut => {
                Pending::Done(ArgValue::Given(self.out_argument(value, want)))
            }
            _ if needs_hint(value) && self.infer.is_open(want) => Pending::Hint(index),
            _ => {
                let checked = self.expr(value, Some(want));
                if checked.ty == Type::Int && matches!(self.infer.shallow(want), Type::Infer(_)) {
                    // An `int` for an open type waits: another argument may give the width.
                    return Pending::Number(checked);
                }
                Pending::Done(ArgValue::Given(self.convert(checked, want)))
            }
        }
    }

    /// A number for a parameter whose type other arguments may have determined.
    fn number_argument(&mut self, e: Expr, want: &Type) -> Expr {
        if matches!(self.infer.shallow(want), Type::Infer(_)) {
            self.unsized_number(e.span);
            return Expr::error(e.span);
        }
        self.convert(e, want)
    }

    fn unsized_number(&mut self, span: Span) {
        self.report(
            Diagnostic::error(codes::CANNOT_INFER, "the width of this number is not known")
                .at(span, "the parameter's type does not determine it")
                .help("give it a width: `32w5`"),
        );
    }

    /// The argument of an `out` or `inout` parameter: an l-value of exactly the parameter's type.
    fn out_argument(&mut self, value: &ast::Expr, want: &Type) -> Expr {
        let e = self.lvalue(value);
        if e.ty.is_error() {
            return e;
        }
        if self.unify(&e.ty, want) {
            return e;
        }
        self.mismatch(&e, want);
        Expr::error(e.span)
    }

    /// True if the argument is correct; mistakes are reported.
    fn check_argument(&mut self, arg: &Arg, param: VarId, rule: Rule) -> bool {
        let ArgValue::Given(e) = &arg.value else { return true };
        if e.ty.is_error() {
            return false;
        }
        let known_wanted = match rule {
            Rule::Function | Rule::Apply => arg.direction == Direction::None,
            Rule::Constructor => true,
            Rule::Action | Rule::ActionData => false,
        };
        if known_wanted && !self.is_object(&e.ty) && !self.is_known(e) {
            let name = self.program.vars[param].name.text.clone();
            self.report(
                Diagnostic::error(
                    codes::NOT_CONSTANT,
                    format!("argument for `{name}` must be known at compile time"),
                )
                .at(e.span, "its value depends on the packet"),
            );
            return false;
        }
        let run_time = matches!(arg.direction, Direction::In) || rule == Rule::Action;
        if run_time && let Some(at) = self.unsized_part(e) {
            self.unsized_number(at);
            return false;
        }
        true
    }

    /// Checks the type inferred for a type variable: parameters with a direction are values with a size, and functions
    /// take no parsers and controls.
    fn check_inferred(&mut self, arg: &Arg, want: &Type, rule: Rule) -> bool {
        let Some(e) = arg.expr() else { return true };
        let ty = self.infer.shallow(want);
        let bad = match ty {
            Type::String | Type::Extern(..) => arg.direction != Direction::None,
            Type::Parser(..) | Type::Control(..) | Type::Package(..) => rule != Rule::Constructor,
            Type::ParserType(..) | Type::ControlType(..) => rule != Rule::Constructor,
            _ => false,
        };
        if bad {
            let what = self.program.describe_type(&ty);
            self.error(codes::BAD_ARGUMENTS, e.span, format!("an argument here cannot be {what}"), "");
        }
        !bad
    }

    /// The part of a value that is an `int` and should have a width.
    fn unsized_part(&self, e: &Expr) -> Option<Span> {
        if !self.infer.resolve(&e.ty).any(&mut |t| *t == Type::Int) {
            return None;
        }
        match &e.kind {
            ExprKind::Tuple(items) => items.iter().find_map(|i| self.unsized_part(i)),
            _ => Some(e.span),
        }
    }

    /// Arguments with everything inferred put in place.
    pub(crate) fn resolve_args(&self, mut args: Vec<Arg>) -> Vec<Arg> {
        for arg in &mut args {
            if let ArgValue::Given(e) | ArgValue::Default(e) = &mut arg.value {
                self.resolve_expr(e);
            }
        }
        args
    }

    /// Replaces inferred types in an argument and its parts.
    pub(crate) fn resolve_expr(&self, e: &mut Expr) {
        if !self.infer.has_any() {
            return;
        }
        e.ty = self.infer.resolve(&e.ty);
        match &mut e.kind {
            ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Array(items) => {
                items.iter_mut().for_each(|i| self.resolve_expr(i));
            }
            ExprKind::Struct(fields) => fields.iter_mut().for_each(|f| self.resolve_expr(&mut f.value)),
            ExprKind::Cast { operand, .. } => self.resolve_expr(operand),
            ExprKind::Ternary(_, a, b) => {
                self.resolve_expr(a);
                self.resolve_expr(b);
            }
            _ => {}
        }
    }
}
