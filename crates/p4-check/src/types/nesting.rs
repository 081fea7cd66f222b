//! Types that may be inside others (P4-16 §7.2.8), also after substitution of type arguments.

use base_diag::Span;

use crate::codes;
use crate::cx::Checker;
use crate::typed::{Name, StructKind, Substitution, Type};

impl Checker {
    /// Reason why a field of such a record cannot have this type, or `None` if it can.
    fn bad_field(&self, kind: StructKind, ty: &Type) -> Option<&'static str> {
        let ty = self.infer.shallow(ty);
        match kind {
            _ if matches!(ty, Type::Error | Type::Var(_) | Type::Infer(_)) => None,
            StructKind::Struct => match self.underlying(&ty) {
                Type::Bit(_)
                | Type::Signed(_)
                | Type::Varbit(_)
                | Type::Bool
                | Type::Enum(_)
                | Type::ErrorCode
                | Type::MatchKind
                | Type::Struct(..)
                | Type::Array(..)
                | Type::Tuple(_)
                | Type::Var(_) => None,
                Type::Int | Type::String | Type::List(_) => Some("it has no size"),
                _ => Some("it cannot be stored"),
            },
            StructKind::Header => match self.underlying(&ty) {
                Type::Bit(_) | Type::Signed(_) | Type::Varbit(_) | Type::Bool => None,
                Type::Enum(id) if self.program.enums[id].underlying.is_some() => None,
                Type::Enum(_) => Some("an enum without underlying type has no bits in a packet"),
                Type::Struct(id, args) if self.program.structs[id].kind == StructKind::Struct => {
                    let whole = Type::Struct(id, args.clone());
                    let facts = self.facts(&whole);
                    let generic = whole.any(&mut |t| matches!(t, Type::Var(_)));
                    let sized = generic || facts.size.is_some() && !facts.varbit;
                    let flat = sized
                        && self.field_types(id, &args).iter().all(|t| self.bad_field(kind, t).is_none());
                    (!flat).then_some("it has fields that a header cannot have")
                }
                Type::Struct(..) => Some("headers do not nest"),
                Type::Array(element, _) => self.bad_field(kind, &element),
                _ => Some("it has no bits in a packet"),
            },
            StructKind::Union => match self.struct_kind(&ty) {
                Some(StructKind::Header) => None,
                _ => Some("a header union has headers only"),
            },
        }
    }

    /// Reports a field that cannot have its type.
    pub(crate) fn check_field(&mut self, kind: StructKind, name: &Name, ty: Type, span: Span) -> Type {
        let Some(why) = self.bad_field(kind, &ty) else { return ty };
        let record = match kind {
            StructKind::Struct => "struct",
            StructKind::Header => "header",
            StructKind::Union => "header union",
        };
        let title = format!("{record} field `{}` cannot be `{}`", name.text, self.show(&ty));
        self.error(codes::BAD_NESTING, span, title, why);
        Type::Error
    }

    /// Checks a type that has just got its arguments: they must fit where its declaration has variables.
    pub(crate) fn check_specialized(&mut self, ty: Type, span: Span) -> Type {
        let Type::Struct(id, args) = &ty else { return ty };
        if args.is_empty() {
            return ty;
        }
        let decl = &self.program.structs[*id];
        let substitution = Substitution::new(&decl.type_params, args);
        let kind = decl.kind;
        let bad = decl.fields.iter().find_map(|f| {
            let field = substitution.apply(&f.ty);
            self.bad_field(kind, &field).map(|why| (f.name.text.clone(), field, why))
        });
        let Some((field, field_type, why)) = bad else { return ty };
        let title = format!("`{}` would have a field `{}`", self.show(&ty), self.show(&field_type));
        self.error(codes::BAD_NESTING, span, title, format!("`{field}` cannot have this type: {why}"));
        Type::Error
    }

    /// Checks the element type of an array.
    pub(crate) fn check_element(&mut self, ty: Type, span: Span) -> Type {
        let fits = match self.infer.shallow(&ty) {
            Type::Error | Type::Infer(_) | Type::Var(_) | Type::Extern(..) => true,
            other => self.bad_field(StructKind::Struct, &other).is_none(),
        };
        if fits {
            return ty;
        }
        let title = format!("an array cannot have elements of type `{}`", self.show(&ty));
        self.error(codes::BAD_NESTING, span, title, "this type cannot be stored");
        Type::Error
    }

    /// Checks a member of a tuple.
    pub(crate) fn check_member_of_tuple(&mut self, ty: Type, span: Span) -> Type {
        match self.infer.shallow(&ty) {
            other if !self.is_object(&other) && !matches!(other, Type::Void | Type::Set(_)) => ty,
            _ => {
                let title = format!("a tuple cannot have a member of type `{}`", self.show(&ty));
                self.error(codes::BAD_NESTING, span, title, "this type is not a value type");
                Type::Error
            }
        }
    }

    /// Checks the element type of a list.
    pub(crate) fn check_member_of_list(&mut self, ty: Type, span: Span) -> Type {
        match self.infer.shallow(&ty) {
            other if !self.is_object(&other) && !matches!(other, Type::Void | Type::Set(_)) => ty,
            _ => {
                let title = format!("a list cannot have elements of type `{}`", self.show(&ty));
                self.error(codes::BAD_NESTING, span, title, "this type is not a value type");
                Type::Error
            }
        }
    }
}
