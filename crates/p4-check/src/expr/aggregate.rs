//! Lists, structure-valued expressions, `...` and `{#}` (P4-16 §8.13, §8.14, §8.26).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use super::convert::build;
use crate::codes;
use crate::cx::{Checker, Owner, Place, count};
use crate::typed::{Expr, ExprKind, FieldValue, StructId, StructKind, Type};

impl Checker {
    /// `{a, b}`, `{a, ...}`
    pub(crate) fn list(&mut self, items: &[ast::Expr], want: Option<&Type>, span: Span) -> Expr {
        let want = want.map(|t| self.infer.shallow(t));
        let dots = items.iter().position(|i| matches!(i.kind, ast::ExprKind::Dots));
        if let Some(at) = dots
            && at + 1 != items.len()
        {
            self.error(codes::BAD_INITIALIZER, items[at].span, "`...` must be the last element", "");
            return Expr::error(span);
        }
        let wanted: Vec<Type> = match &want {
            Some(Type::Struct(id, args)) if self.program.structs[*id].kind != StructKind::Union => {
                self.field_types(*id, args)
            }
            Some(Type::Tuple(members)) => members.to_vec(),
            // Without `...`, a list of another length becomes a tuple, and the caller reports the mismatch. With `...`, the limit bounds memory.
            Some(Type::Array(element, n)) if *n as usize == items.len() => {
                vec![(**element).clone(); items.len()]
            }
            Some(Type::Array(element, n)) if dots.is_some() => {
                vec![(**element).clone(); (*n as usize).min(crate::types::resolve::MAX_ARRAY as usize)]
            }
            Some(Type::List(element)) if dots.is_none() => vec![(**element).clone(); items.len()],
            _ => return self.tuple(items, span),
        };
        let to = want.unwrap_or(Type::Error);
        let given = if dots.is_some() { items.len() - 1 } else { items.len() };
        if given > wanted.len() || (dots.is_none() && given < wanted.len()) {
            self.wrong_length(&to, given, wanted.len(), span);
            return Expr::error(span);
        }
        let mut parts = Vec::with_capacity(wanted.len());
        for (item, want) in items.iter().take(given).zip(&wanted) {
            parts.push(self.expr_as(item, want));
        }
        for want in wanted.iter().skip(given) {
            let at = dots.and_then(|d| items.get(d)).map_or(span, |d| d.span);
            parts.push(self.dots(Some(want), at));
        }
        build(parts, &to, span)
    }

    fn wrong_length(&mut self, to: &Type, given: usize, wanted: usize, span: Span) {
        let shown = self.show(to);
        self.report(
            Diagnostic::error(codes::BAD_INITIALIZER, format!("wrong number of values for `{shown}`"))
                .at(span, format!("expected {wanted}, found {given}")),
        );
    }

    /// A list whose type comes from its members. A table's property may list instances.
    fn tuple(&mut self, items: &[ast::Expr], span: Span) -> Expr {
        let parts: Vec<Expr> = items.iter().map(|i| self.expr(i, None)).collect();
        if parts.iter().any(|p| p.ty.is_error()) {
            return Expr::error(span);
        }
        // A property such as `counters = {...}` lists objects; a value cannot contain one.
        let objects = self.place == Place::TableProperty;
        if let Some(object) = parts.iter().find(|p| !objects && self.is_object(&p.ty) || p.ty == Type::Void) {
            let what = self.program.describe_type(&object.ty);
            self.error(codes::BAD_INITIALIZER, object.span, format!("{what} cannot be in a list"), "");
            return Expr::error(span);
        }
        let ty = Type::tuple(parts.iter().map(|p| p.ty.clone()).collect());
        Expr { kind: ExprKind::Tuple(parts), ty, span }
    }

    /// `{a = 1, b = 2}`, `{a = 1, ...}`
    pub(crate) fn record(
        &mut self,
        fields: &[ast::NamedExpr],
        dots: Option<Span>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let want = want.map(|t| self.infer.shallow(t));
        let (id, args) = match &want {
            Some(Type::Struct(id, args)) => (*id, args.clone()),
            // The context has a mistake that is reported already. The values are checked for their own mistakes.
            Some(Type::Error) => {
                for field in fields {
                    self.expr(&field.value, Some(&Type::Error));
                }
                return Expr::error(span);
            }
            Some(other) if !matches!(other, Type::Infer(_)) => {
                let shown = self.show(other);
                self.error(codes::MISMATCH, span, format!("expected `{shown}`, found named fields"), "");
                return Expr::error(span);
            }
            _ => {
                self.report(
                    Diagnostic::error(codes::CANNOT_INFER, "the type of `{...}` is not known")
                        .at(span, "these fields could be of any struct")
                        .help("write the type before it: `(S) {...}`"),
                );
                return Expr::error(span);
            }
        };
        let to = Type::Struct(id, args.clone());
        let types = self.field_types(id, &args);
        let mut values: Vec<Option<Expr>> = vec![None; types.len()];
        let mut sound = true;
        for field in fields {
            let Some(index) = self.field_index(id, &field.name.text) else {
                self.unknown_field(id, &to, &field.name);
                sound = false;
                continue;
            };
            let value = self.expr_as(&field.value, &types[index]);
            if values[index].is_some() {
                self.error(
                    codes::DUPLICATE,
                    field.name.span,
                    format!("field `{}` is given twice", field.name.text),
                    "",
                );
                sound = false;
            }
            values[index] = Some(value);
        }
        if !sound {
            return Expr::error(span);
        }
        if self.program.structs[id].kind == StructKind::Union {
            return self.union_value(values, to, span);
        }
        let mut parts = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let part = match (value, dots) {
                (Some(value), _) => value,
                (None, Some(at)) => self.dots(Some(&types[index]), at),
                (None, None) => {
                    let name = self.program.structs[id].fields[index].name.text.clone();
                    let shown = self.show(&to);
                    self.report(
                        Diagnostic::error(
                            codes::BAD_INITIALIZER,
                            format!("no value for field `{name}` of `{shown}`"),
                        )
                        .at(span, "")
                        .help("add `...` for default values"),
                    );
                    return Expr::error(span);
                }
            };
            parts.push(part);
        }
        build(parts, &to, span)
    }

    /// A header union has one member at most.
    fn union_value(&mut self, values: Vec<Option<Expr>>, to: Type, span: Span) -> Expr {
        let given: Vec<FieldValue> = values
            .into_iter()
            .enumerate()
            .filter_map(|(i, v)| v.map(|value| FieldValue { index: i as u32, value }))
            .collect();
        if given.len() > 1 {
            self.error(codes::BAD_INITIALIZER, span, "a header union has one valid member at most", "");
            return Expr::error(span);
        }
        Expr { kind: ExprKind::Struct(given), ty: to, span }
    }

    pub(crate) fn field_index(&self, id: StructId, name: &str) -> Option<usize> {
        self.members.get(&(Owner::Struct(id), name.into())).map(|&i| i as usize)
    }

    pub(crate) fn unknown_field(&mut self, id: StructId, ty: &Type, name: &ast::Name) {
        if name.text.is_empty() {
            return;
        }
        let what = self.program.describe_type(ty);
        let fields: Vec<&str> =
            self.program.structs[id].fields.iter().map(|f| f.name.text.as_str()).collect();
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_MEMBER, format!("{what} has no field `{}`", name.text))
                .at(name.span, "")
                .suggest_or(&name.text, fields.iter().copied(), |d| match fields.len() {
                    0..=12 => {
                        d.note(format!("it has {}: {}", count(fields.len(), "field"), fields.join(", ")))
                    }
                    _ => d,
                });
        self.report(diagnostic);
    }

    /// `...`
    pub(crate) fn dots(&mut self, want: Option<&Type>, span: Span) -> Expr {
        let want = want.map(|t| self.infer.shallow(t));
        match want {
            Some(Type::Error) => Expr::error(span),
            Some(ty) if !matches!(ty, Type::Infer(_)) && self.has_default(&ty) => {
                Expr { kind: ExprKind::Default, ty, span }
            }
            Some(ty) if !matches!(ty, Type::Infer(_)) => {
                let shown = self.show(&ty);
                self.error(codes::BAD_INITIALIZER, span, format!("`{shown}` has no default value"), "");
                Expr::error(span)
            }
            _ => {
                self.error(codes::CANNOT_INFER, span, "the type of `...` is not known", "");
                Expr::error(span)
            }
        }
    }

    /// `{#}`
    pub(crate) fn invalid_header(&mut self, want: Option<&Type>, span: Span) -> Expr {
        let want = want.map(|t| self.infer.shallow(t));
        match want {
            Some(Type::Error) => Expr::error(span),
            Some(ty @ Type::Struct(..)) if self.struct_kind(&ty) != Some(StructKind::Struct) => {
                Expr { kind: ExprKind::Invalid, ty, span }
            }
            Some(ty) if !matches!(ty, Type::Infer(_)) => {
                let shown = self.show(&ty);
                self.error(
                    codes::MISMATCH,
                    span,
                    format!("expected `{shown}`, found `{{#}}`"),
                    "an invalid header",
                );
                Expr::error(span)
            }
            _ => {
                self.error(
                    codes::CANNOT_INFER,
                    span,
                    "the type of `{#}` is not known",
                    "it could be any header",
                );
                Expr::error(span)
            }
        }
    }
}
