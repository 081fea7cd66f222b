//! Built-in methods of headers and stacks (P4-16 §8.17, §8.18), and the rules that core.p4's methods bring along.

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;

use crate::codes;
use crate::cx::Checker;
use crate::typed::{
    Arg, ArgValue, Builtin, Call, Callee, Direction, Expr, ExprKind, FunctionId, FunctionOwner, Name,
    StructKind, Type,
};

impl Checker {
    /// `header.isValid()`, `stack.push_front(1)`, ...
    pub(crate) fn call_builtin(
        &mut self,
        object: Expr,
        name: &ast::Name,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let kind = self.struct_kind(&object.ty);
        let stack = self.is_stack(&object.ty);
        let (method, returns) = match (name.text.as_str(), kind) {
            ("isValid", Some(StructKind::Header | StructKind::Union)) => (Builtin::IsValid, Type::Bool),
            ("setValid", Some(StructKind::Header)) => (Builtin::SetValid, Type::Void),
            ("setInvalid", Some(StructKind::Header)) => (Builtin::SetInvalid, Type::Void),
            ("push_front", None) if stack => (Builtin::PushFront, Type::Void),
            ("pop_front", None) if stack => (Builtin::PopFront, Type::Void),
            _ => {
                let what = self.program.describe_type(&object.ty);
                let members: &[&str] = match kind {
                    Some(StructKind::Header) => &["isValid", "setValid", "setInvalid"],
                    Some(StructKind::Union) => &["isValid"],
                    None if stack => &["push_front", "pop_front"],
                    _ => &[],
                };
                self.no_member(&what, name, members);
                return self.skip_args(args, span);
            }
        };
        if !type_args.is_empty() {
            self.error(codes::TYPE_ARGUMENTS, span, format!("`{}` takes no type arguments", name.text), "");
        }
        if method != Builtin::IsValid
            && let Some(why) = self.not_assignable(&object)
        {
            self.error(
                codes::NOT_ASSIGNABLE,
                object.span,
                format!("`{}` cannot change this", name.text),
                why,
            );
            return self.skip_args(args, span);
        }
        let wanted = usize::from(matches!(method, Builtin::PushFront | Builtin::PopFront));
        if args.len() != wanted {
            let label = format!("expected {wanted}, found {}", args.len());
            self.error(
                codes::BAD_ARGUMENTS,
                span,
                format!("wrong number of arguments for `{}`", name.text),
                label,
            );
            return self.skip_args(args, span);
        }
        let mut typed_args = vec![];
        if let Some(arg) = args.first() {
            let Some(count) = self.const_int(&arg.value, "the number of elements") else {
                return Expr::error(span);
            };
            if count < BigInt::ZERO {
                self.error(codes::BAD_VALUE, arg.span, "a negative number of elements", "");
                return Expr::error(span);
            }
            let value = Expr { kind: ExprKind::Int(count), ty: Type::Int, span: arg.value.span };
            typed_args.push(Arg {
                value: ArgValue::Given(value),
                direction: Direction::In,
                position: Some(0),
            });
        }
        let callee = Callee::Builtin { object, method };
        let call = Call { callee, type_args: vec![], args: typed_args, returns: returns.clone(), span };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: returns, span }
    }

    /// Rules for `packet_in` and `packet_out` beyond their types (P4-16 §13.8, §16).
    pub(crate) fn check_builtin_arguments(
        &mut self,
        id: FunctionId,
        type_args: &[Type],
        args: &[Arg],
        span: Span,
    ) {
        let function = &self.program.functions[id];
        let FunctionOwner::Method(owner) = function.owner else { return };
        let method = function.name.text.clone();
        let Some(ty) = type_args.first().map(|t| self.infer.resolve(t)) else { return };
        if ty.is_error() || matches!(ty, Type::Var(_)) {
            return;
        }
        let at = args.first().and_then(|a| a.expr()).map_or(span, |e| e.span);
        match (self.program.externs[owner].name.text.as_str(), method.as_str()) {
            ("packet_in", "extract") => self.check_extract(&ty, args.len(), at),
            ("packet_in", "lookahead") if self.size_bits(&ty).is_none() || self.contains_varbit(&ty) => {
                let what = self.program.describe_type(&ty);
                self.error(
                    codes::BAD_ARGUMENTS,
                    span,
                    format!("{what} cannot be looked ahead"),
                    "its size is not fixed",
                );
            }
            ("packet_out", "emit") if !self.facts(&ty).emitted => {
                let what = self.program.describe_type(&ty);
                self.error(codes::BAD_ARGUMENTS, at, format!("{what} cannot be emitted"), "only headers can");
            }
            _ => {}
        }
    }

    fn check_extract(&mut self, ty: &Type, arguments: usize, at: Span) {
        if !self.is_header(ty) {
            let what = self.program.describe_type(ty);
            self.error(codes::BAD_ARGUMENTS, at, format!("{what} cannot be extracted"), "only headers can");
            return;
        }
        let varbits = self.varbit_fields(ty);
        if let [first, second, ..] = &varbits[..] {
            self.report(
                Diagnostic::error(
                    codes::BAD_ARGUMENTS,
                    "a header with two `varbit` fields cannot be extracted",
                )
                .at(first.span, format!("`{}` is the first", first.text))
                .at(second.span, format!("`{}` is the second", second.text))
                .at(at, "extracted here"),
            );
            return;
        }
        let varbit = !varbits.is_empty();
        if varbit && arguments == 1 {
            self.error(
                codes::BAD_ARGUMENTS,
                at,
                "the size of this header varies",
                "give the bits of its varbit field as second argument",
            );
        } else if !varbit && arguments == 2 {
            self.error(
                codes::BAD_ARGUMENTS,
                at,
                "the size of this header is fixed",
                "it has no varbit field",
            );
        }
    }

    fn varbit_fields(&self, ty: &Type) -> Vec<Name> {
        let Type::Struct(id, args) = self.infer.shallow(ty) else { return vec![] };
        let types = self.field_types(id, &args);
        let fields = self.program.structs[id].fields.iter().zip(&types);
        fields.filter(|(_, t)| self.contains_varbit(t)).map(|(f, _)| f.name.clone()).collect()
    }
}
