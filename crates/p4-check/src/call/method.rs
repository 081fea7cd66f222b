//! Calls with a receiver: methods of externs, `apply`, built-in methods, sizes of types (P4-16 §8.17 to §8.20, §9.1,
//! §10.3, §15.1).

use base_diag::Span;
use p4_syntax::ast;

use crate::call::Rule;
use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{
    Annotation, AnnotationBody, Annotations, Arg, ArgValue, Call, Callee, Construct, Constructed, Direction,
    Expr, ExprKind, ExternId, Instance, Name, SizeOf, Substitution, TableId, Type,
};

impl Checker {
    /// `base.name<...>(...)`
    pub(crate) fn call_member(
        &mut self,
        base: &ast::Expr,
        name: &ast::Name,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        // Names of types and tables are no values: they come before `expr`, which would refuse them.
        if let Some(ty) = self.as_type(base) {
            return self.call_on_type(ty, base, name, type_args, args, span);
        }
        if let Some(Def::Table(table)) = self.def_of(base) {
            return self.apply_table(table, name, args, span);
        }
        let object = self.expr(base, None);
        if let Some(size) = size_method(&name.text)
            && args.is_empty()
            && type_args.is_empty()
            && !self.is_object(&object.ty)
        {
            return self.size_of(size, &object.ty.clone(), span);
        }
        let ty = self.infer.shallow(&object.ty);
        match &ty {
            Type::Error => self.skip_args(args, span),
            Type::Extern(id, extern_args) => {
                let extern_args = extern_args.clone();
                self.call_method(object, *id, &extern_args, name, type_args, args, want, span)
            }
            Type::Parser(..) | Type::ParserType(..) | Type::Control(..) | Type::ControlType(..) => {
                self.apply_object(object, name, type_args, args, span)
            }
            Type::Struct(..) | Type::Array(..) => self.call_builtin(object, name, type_args, args, span),
            _ => {
                let what = self.program.describe_type(&ty);
                self.no_member(&what, name, &[]);
                self.skip_args(args, span)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn call_method(
        &mut self,
        object: Expr,
        id: ExternId,
        extern_args: &[Type],
        name: &ast::Name,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let methods = self.methods_named(id, &name.text);
        if methods.is_empty() {
            let what = format!("extern `{}`", self.program.externs[id].name.text);
            let all = self.program.externs[id].methods.clone();
            let names: Vec<_> = all.iter().map(|&m| self.program.functions[m].name.text.clone()).collect();
            let names: Vec<&str> = names.iter().map(|n| n.as_str()).collect();
            self.no_member(&what, name, &names);
            return self.skip_args(args, span);
        }
        let Some(method) = self.pick(&methods, args, name.span) else { return self.skip_args(args, span) };
        let substitution = Substitution::new(&self.program.externs[id].type_params, extern_args);
        self.call_with(method, substitution, type_args, args, want, span, Callee::Method { object, method })
    }

    /// `instance.apply(...)` of a parser or control.
    fn apply_object(
        &mut self,
        object: Expr,
        name: &ast::Name,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let Some(signature) = self.apply_signature(&object.ty) else { return self.skip_args(args, span) };
        if name.text != "apply" {
            let what = self.program.describe_type(&object.ty);
            self.no_member(&what, name, &["apply"]);
            return self.skip_args(args, span);
        }
        self.check_apply_place(signature.is_parser, span);
        if !type_args.is_empty() {
            self.error(codes::TYPE_ARGUMENTS, span, "`apply` takes no type arguments", "");
            return self.skip_args(args, span);
        }
        let args =
            self.arguments("apply", &signature.params, args, &signature.substitution, Rule::Apply, span);
        let Some(args) = args else { return Expr::error(span) };
        let args = self.resolve_args(args);
        let call =
            Call { callee: Callee::Apply { object }, type_args: vec![], args, returns: Type::Void, span };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::Void, span }
    }

    fn apply_table(&mut self, table: TableId, name: &ast::Name, args: &[ast::Arg], span: Span) -> Expr {
        if name.text != "apply" {
            let what = format!("table `{}`", self.program.tables[table].name.text);
            self.no_member(&what, name, &["apply"]);
            return self.skip_args(args, span);
        }
        self.check_table_place(table, span);
        if !args.is_empty() {
            self.error(codes::BAD_ARGUMENTS, span, "a table's `apply` takes no arguments", "");
            return self.skip_args(args, span);
        }
        let returns = Type::ApplyResult(table);
        let call = Call {
            callee: Callee::TableApply(table),
            type_args: vec![],
            args: vec![],
            returns: returns.clone(),
            span,
        };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: returns, span }
    }

    /// `Type.apply(...)` or `Type.minSizeInBits()`
    fn call_on_type(
        &mut self,
        ty: Type,
        base: &ast::Expr,
        name: &ast::Name,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        if ty.is_error() {
            return self.skip_args(args, span);
        }
        let of = match &ty {
            Type::Parser(id, _) => Some((Constructed::Parser(*id), self.program.parsers[*id].name.clone())),
            Type::Control(id, _) => {
                Some((Constructed::Control(*id), self.program.controls[*id].name.clone()))
            }
            _ => None,
        };
        if let (Some((of, type_name)), "apply") = (of, name.text.as_str()) {
            let Some(object) = self.direct_instance(of, type_name, &ty, base.span) else {
                return self.skip_args(args, span);
            };
            return self.apply_object(object, name, type_args, args, span);
        }
        if let Some(size) = size_method(&name.text)
            && args.is_empty()
            && type_args.is_empty()
        {
            return self.size_of(size, &ty, span);
        }
        let what = self.program.describe_type(&ty);
        self.no_member(
            &what,
            name,
            &["apply", "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"],
        );
        self.skip_args(args, span)
    }

    /// The instance behind a direct invocation `C.apply(...)`, of the type's name (P4-16 §15.1).
    fn direct_instance(&mut self, of: Constructed, type_name: Name, ty: &Type, span: Span) -> Option<Expr> {
        let params = match of {
            Constructed::Parser(id) => &self.program.parsers[id].constructor_params,
            Constructed::Control(id) => &self.program.controls[id].constructor_params,
            _ => return None,
        };
        if let Some(missing) = params.iter().find(|&&p| !self.may_omit(p)) {
            let missing = self.program.vars[*missing].name.text.clone();
            let title = format!("`{}` has constructor parameters", type_name.text);
            self.error(
                codes::BAD_CONSTRUCTION,
                span,
                title,
                format!("make an instance that gives `{missing}`"),
            );
            return None;
        }
        let args = params.iter().map(|&p| Arg {
            value: match &self.program.vars[p].default {
                Some(default) => ArgValue::Default(default.clone()),
                None => ArgValue::Absent,
            },
            direction: Direction::None,
            position: None,
        });
        let args = args.collect();
        let type_args = match ty {
            Type::Parser(_, args) | Type::Control(_, args) => args.to_vec(),
            _ => vec![],
        };
        let control_name = Expr { kind: ExprKind::String(type_name.text.clone()), ty: Type::String, span };
        let annotation =
            Annotation { name: "name".into(), body: AnnotationBody::Values(vec![control_name]), span };
        let instance = Instance {
            name: Name { text: type_name.text.clone(), span },
            ty: ty.clone(),
            construct: Construct { of, type_args, args, span },
            direct: true,
            implementations: vec![],
            inner: vec![],
            annotations: Annotations::new(vec![annotation]),
            span,
        };
        let id = self.program.instances.push(instance);
        self.direct.push(id);
        Some(Expr { kind: ExprKind::Instance(id), ty: ty.clone(), span })
    }

    /// The size of a type, a number unless the type mentions type variables.
    fn size_of(&mut self, size: SizeOf, ty: &Type, span: Span) -> Expr {
        if ty.is_error() {
            return Expr::error(span);
        }
        let ty = self.infer.resolve(ty);
        let generic = ty.any(&mut |t| matches!(t, Type::Var(_)));
        let kind = match self.size_bits(&ty) {
            _ if generic => ExprKind::SizeOf(size, ty),
            Some((least, most)) => {
                let bits = if matches!(size, SizeOf::MinBits | SizeOf::MinBytes) { least } else { most };
                let in_bytes = matches!(size, SizeOf::MinBytes | SizeOf::MaxBytes);
                ExprKind::Int((if in_bytes { bits.div_ceil(8) } else { bits }).into())
            }
            None => {
                let what = self.program.describe_type(&ty);
                self.error(codes::UNKNOWN_MEMBER, span, format!("{what} has no size"), "");
                return Expr::error(span);
            }
        };
        Expr { kind, ty: Type::Int, span }
    }
}

fn size_method(name: &str) -> Option<SizeOf> {
    Some(match name {
        "minSizeInBits" => SizeOf::MinBits,
        "minSizeInBytes" => SizeOf::MinBytes,
        "maxSizeInBits" => SizeOf::MaxBits,
        "maxSizeInBytes" => SizeOf::MaxBytes,
        _ => return None,
    })
}
