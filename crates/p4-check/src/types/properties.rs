//! Properties of types: whether values are stored, compared, sized, defaulted.

use crate::cx::Checker;
use crate::typed::{StructId, StructKind, Substitution, Type};

impl Checker {
    /// The underlying type: new types are unwrapped.
    pub(crate) fn underlying(&self, ty: &Type) -> Type {
        let mut ty = self.infer.shallow(ty);
        while let Type::NewType(id) = ty {
            ty = self.program.new_types[id].of.clone();
        }
        ty
    }

    /// The type that arithmetic sees: serializable enums are their underlying type.
    pub(crate) fn numeric(&self, ty: &Type) -> Type {
        match self.infer.shallow(ty) {
            Type::Enum(id) => self.program.enums[id].underlying.clone().unwrap_or(Type::Enum(id)),
            other => other,
        }
    }

    pub(crate) fn struct_kind(&self, ty: &Type) -> Option<StructKind> {
        match self.infer.shallow(ty) {
            Type::Struct(id, _) => Some(self.program.structs[id].kind),
            _ => None,
        }
    }

    pub(crate) fn is_header(&self, ty: &Type) -> bool {
        self.struct_kind(ty) == Some(StructKind::Header)
    }

    /// A header stack, or a stack of header unions.
    pub(crate) fn is_stack(&self, ty: &Type) -> bool {
        match self.infer.shallow(ty) {
            Type::Array(element, _) => {
                matches!(self.struct_kind(&element), Some(StructKind::Header | StructKind::Union))
                    || matches!(self.infer.shallow(&element), Type::Var(_))
            }
            _ => false,
        }
    }

    /// The types of a record's fields, with the type's arguments in place.
    pub(crate) fn field_types(&self, id: StructId, args: &[Type]) -> Vec<Type> {
        let decl = &self.program.structs[id];
        let substitution = Substitution::new(&decl.type_params, args);
        decl.fields.iter().map(|f| substitution.apply(&f.ty)).collect()
    }

    /// The type of one field.
    pub(crate) fn field_type(&self, id: StructId, args: &[Type], index: usize) -> Type {
        let decl = &self.program.structs[id];
        match decl.fields.get(index) {
            Some(field) => Substitution::new(&decl.type_params, args).apply(&field.ty),
            None => Type::Error,
        }
    }

    /// True for parsers, controls, packages and externs: they are instantiated, not assigned.
    pub(crate) fn is_object(&self, ty: &Type) -> bool {
        matches!(
            self.infer.shallow(ty),
            Type::Extern(..)
                | Type::Parser(..)
                | Type::Control(..)
                | Type::ParserType(..)
                | Type::ControlType(..)
                | Type::Package(..)
        )
    }

    pub(crate) fn contains_varbit(&self, ty: &Type) -> bool {
        self.facts(ty).varbit
    }

    /// Least and greatest size in bits; `None` if the type has no size or it depends on type variables.
    pub(crate) fn size_bits(&self, ty: &Type) -> Option<(u64, u64)> {
        self.facts(ty).size
    }

    /// True if values of this type can be compared with `==`.
    pub(crate) fn is_comparable(&self, ty: &Type) -> bool {
        self.facts(ty).comparable
    }

    /// True if `...` can stand for a value of this type.
    pub(crate) fn has_default(&self, ty: &Type) -> bool {
        self.facts(ty).has_default
    }
}
