//! Calls: callees, arguments, and where calls are allowed (P4-16 §8.20, §6.7, §10).

mod args;
mod builtin;
mod construct;
mod method;
mod overload;
mod place;

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{
    ActionId, Arg, ArgValue, Call, Callee, Expr, ExprKind, FunctionId, Substitution, Type, TypeVarId, VarId,
};

pub(crate) use args::Rule;

impl Checker {
    /// A call or constructor call.
    pub(crate) fn call(
        &mut self,
        callee: &ast::Expr,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        match &callee.kind {
            ast::ExprKind::Path(path) => {
                let def = self.lookup(path, "function", |d| {
                    matches!(d, Def::Functions(_) | Def::Action(_)) || d.is_type()
                });
                match def {
                    Def::Error => self.skip_args(args, span),
                    Def::Functions(ids) => self.call_function(&ids, callee.span, type_args, args, want, span),
                    Def::Action(id) => self.call_action(id, type_args, args, span),
                    other if other.is_type() => {
                        let ty = named(callee, path, type_args);
                        self.construct(&ty, args, want, span)
                    }
                    other => self.not_callable(&other, &path.name.text, callee.span, args, span),
                }
            }
            ast::ExprKind::Type(ty) => {
                let ty = match (&ty.kind, type_args.is_empty()) {
                    (ast::TypeKind::Named(path), false) => named(callee, path, type_args),
                    _ => (**ty).clone(),
                };
                self.construct(&ty, args, want, span)
            }
            ast::ExprKind::Member { base, name } => self.call_member(base, name, type_args, args, want, span),
            _ => {
                let checked = self.expr(callee, None);
                if !checked.ty.is_error() {
                    self.error(codes::NOT_CALLABLE, callee.span, "this cannot be called", "");
                }
                self.skip_args(args, span)
            }
        }
    }

    fn not_callable(&mut self, def: &Def, name: &str, at: Span, args: &[ast::Arg], span: Span) -> Expr {
        let mut diagnostic =
            Diagnostic::error(codes::NOT_CALLABLE, format!("{} `{name}` cannot be called", def.noun()))
                .at(at, "");
        if let Def::Table(_) | Def::Instance(_) = def {
            diagnostic = diagnostic.help(format!("write `{name}.apply(...)`"));
        }
        self.report(diagnostic);
        self.skip_args(args, span)
    }

    /// Checks the arguments of a call that is wrong already, for their own errors.
    pub(crate) fn skip_args(&mut self, args: &[ast::Arg], span: Span) -> Expr {
        for arg in args {
            if !matches!(arg.value.kind, ast::ExprKind::DontCare) {
                self.expr(&arg.value, Some(&Type::Error));
            }
        }
        Expr::error(span)
    }

    fn call_function(
        &mut self,
        ids: &[FunctionId],
        at: Span,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(id) = self.pick(ids, args, at) else { return self.skip_args(args, span) };
        self.check_function_place(id, span);
        let name = self.program.functions[id].name.text.clone();
        let expr =
            self.call_with(id, Substitution::default(), type_args, args, want, span, Callee::Function(id));
        if name == "static_assert" { self.static_assert(expr) } else { expr }
    }

    /// A call of a function or method whose declaration is known.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn call_with(
        &mut self,
        id: FunctionId,
        mut substitution: Substitution,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
        callee: Callee,
    ) -> Expr {
        let function = &self.program.functions[id];
        let (type_params, params) = (function.type_params.clone(), function.params.clone());
        let name = function.name.text.clone();
        let Some(type_args) = self.type_arguments(&name, &type_params, type_args, span) else {
            return self.skip_args(args, span);
        };
        for (param, arg) in type_params.iter().zip(&type_args) {
            substitution.insert(*param, arg.clone());
        }
        let args = match self.arguments(&name, &params, args, &substitution, Rule::Function, span) {
            Some(args) => args,
            None => return Expr::error(span),
        };
        let returns = substitution.apply(&self.program.functions[id].returns);
        // Only a return type that the arguments leave open takes the hint; one that does not fit is no error here.
        if let Some(want) = want
            && self.infer.is_open(&returns)
            && !want.is_error()
        {
            let want = self.infer.resolve(want);
            let mark = self.infer.mark();
            if !self.unify(&returns, &want) {
                self.infer.undo(mark);
            }
        }
        let otherwise =
            |cx: &Checker, var: TypeVarId| cx.only_absent(var, &params, &args).then_some(Type::Void);
        let Some(type_args) = self.inferred(&name, &type_params, &type_args, &otherwise, span) else {
            return Expr::error(span);
        };
        self.check_builtin_arguments(id, &type_args, &args, span);
        let returns = self.infer.resolve(&returns);
        let args = self.resolve_args(args);
        let call = Call { callee, type_args, args, returns: returns.clone(), span };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: returns, span }
    }

    /// Explicit type arguments, or an unknown for each parameter.
    pub(crate) fn type_arguments(
        &mut self,
        name: &str,
        params: &[TypeVarId],
        args: &[ast::Type],
        span: Span,
    ) -> Option<Vec<Type>> {
        if args.is_empty() {
            return Some(params.iter().map(|_| self.infer.fresh()).collect());
        }
        if args.len() != params.len() {
            let title = if params.is_empty() {
                format!("`{name}` takes no type arguments")
            } else {
                format!("wrong number of type arguments for `{name}`")
            };
            self.error(
                codes::TYPE_ARGUMENTS,
                span,
                title,
                format!("expected {}, found {}", params.len(), args.len()),
            );
            return None;
        }
        Some(self.resolve_type_args(args))
    }

    /// The type arguments as inferred. Unknown ones come from `otherwise`, or are reported.
    pub(crate) fn inferred(
        &mut self,
        name: &str,
        params: &[TypeVarId],
        args: &[Type],
        otherwise: &dyn Fn(&Checker, TypeVarId) -> Option<Type>,
        span: Span,
    ) -> Option<Vec<Type>> {
        for (param, arg) in params.iter().zip(args) {
            if self.infer.is_open(arg)
                && let Some(ty) = otherwise(self, *param)
            {
                self.infer.close(arg, &ty);
            }
            if self.infer.is_open(arg) {
                let var = self.program.type_vars[*param].name.text.clone();
                self.report(
                    Diagnostic::error(
                        codes::CANNOT_INFER,
                        format!("type argument `{var}` of `{name}` is not known"),
                    )
                    .at(span, "no argument determines it")
                    .help(format!("write it: `{name}<...>(...)`")),
                );
                return None;
            }
        }
        Some(args.iter().map(|a| self.infer.resolve(a)).collect())
    }

    /// True if a type variable is mentioned by parameters that get no argument, and by no other.
    pub(crate) fn only_absent(&self, var: TypeVarId, params: &[VarId], args: &[Arg]) -> bool {
        let mut absent = false;
        for (&param, arg) in params.iter().zip(args) {
            if self.program.vars[param].ty.any(&mut |t| *t == Type::Var(var)) {
                if !matches!(arg.value, ArgValue::Absent) {
                    return false;
                }
                absent = true;
            }
        }
        absent
    }

    /// A direct call of an action: parameters without direction are `in`.
    fn call_action(&mut self, id: ActionId, type_args: &[ast::Type], args: &[ast::Arg], span: Span) -> Expr {
        self.check_action_place(span);
        let name = self.program.actions[id].name.text.clone();
        if !type_args.is_empty() {
            self.error(codes::TYPE_ARGUMENTS, span, format!("action `{name}` takes no type arguments"), "");
            return self.skip_args(args, span);
        }
        let params = self.program.actions[id].params.clone();
        let Some(args) = self.arguments(&name, &params, args, &Substitution::default(), Rule::Action, span)
        else {
            return Expr::error(span);
        };
        let args = self.resolve_args(args);
        let call = Call { callee: Callee::Action(id), type_args: vec![], args, returns: Type::Void, span };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::Void, span }
    }

    /// Folds a known `static_assert`, and reports one that fails (P4-16 §9.2).
    fn static_assert(&mut self, expr: Expr) -> Expr {
        let ExprKind::Call(call) = &expr.kind else { return expr };
        let Some(Expr { kind: ExprKind::Bool(holds), .. }) = call.args.first().and_then(|a| a.expr()) else {
            if let Some(condition) = call.args.first().and_then(|a| a.expr())
                && !self.is_known(condition)
            {
                let at = condition.span;
                self.error(
                    codes::NOT_CONSTANT,
                    at,
                    "`static_assert` of a run-time value",
                    "not known at compile time",
                );
            }
            return expr;
        };
        if !holds {
            let message = match call.args.get(1).and_then(|a| a.expr()) {
                Some(Expr { kind: ExprKind::String(text), .. }) => text.to_string(),
                _ => "the condition is false".to_string(),
            };
            self.report(
                Diagnostic::error(codes::BAD_VALUE, "static assertion failed").at(expr.span, message),
            );
            return Expr::error(expr.span);
        }
        Expr { kind: ExprKind::Bool(true), ty: Type::Bool, span: expr.span }
    }
}

/// The type that a constructor call names.
fn named(callee: &ast::Expr, path: &ast::Path, type_args: &[ast::Type]) -> ast::Type {
    let kind = if type_args.is_empty() {
        ast::TypeKind::Named(path.clone())
    } else {
        ast::TypeKind::Specialized { base: path.clone(), args: type_args.to_vec() }
    };
    ast::Type { kind, span: callee.span }
}
