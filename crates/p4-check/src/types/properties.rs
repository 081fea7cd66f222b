//! What a type allows: to be stored, compared, sized, defaulted.

use crate::cx::Checker;
use crate::typed::{Id, Struct, StructKind, Substitution, Type};

impl Checker {
    /// What the type is underneath: new types are unwrapped.
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
    pub(crate) fn field_types(&self, id: Id<Struct>, args: &[Type]) -> Vec<Type> {
        let decl = &self.program.structs[id];
        let substitution = Substitution::new(&decl.type_params, args);
        decl.fields.iter().map(|f| substitution.apply(&f.ty)).collect()
    }

    /// The type of one field.
    pub(crate) fn field_type(&self, id: Id<Struct>, args: &[Type], index: usize) -> Type {
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

    /// True if the type or a part of it is such that `test` holds. Fields are visited.
    pub(crate) fn contains(&self, ty: &Type, test: &dyn Fn(&Checker, &Type) -> bool) -> bool {
        let ty = self.infer.shallow(ty);
        if test(self, &ty) {
            return true;
        }
        match &ty {
            Type::Struct(id, args) => self.field_types(*id, args).iter().any(|t| self.contains(t, test)),
            Type::Tuple(members) => members.iter().any(|t| self.contains(t, test)),
            Type::Array(element, _) | Type::List(element) | Type::Set(element) => {
                self.contains(element, test)
            }
            Type::NewType(id) => self.contains(&self.program.new_types[*id].of, test),
            _ => false,
        }
    }

    pub(crate) fn contains_varbit(&self, ty: &Type) -> bool {
        self.contains(ty, &|_, t| matches!(t, Type::Varbit(_)))
    }

    /// Least and greatest size in bits (P4-16 §9.1); `None` if the type has no size or it depends on type
    /// variables.
    pub(crate) fn size_bits(&self, ty: &Type) -> Option<(u64, u64)> {
        match self.infer.shallow(ty) {
            Type::Bool => Some((1, 1)),
            Type::Bit(w) | Type::Signed(w) => Some((w.into(), w.into())),
            Type::Varbit(w) => Some((0, w.into())),
            Type::NewType(id) => self.size_bits(&self.program.new_types[id].of),
            Type::Enum(id) => self.size_bits(self.program.enums[id].underlying.as_ref()?),
            Type::Struct(id, args) => {
                let sizes: Option<Vec<(u64, u64)>> =
                    self.field_types(id, &args).iter().map(|t| self.size_bits(t)).collect();
                let sizes = sizes?;
                if self.program.structs[id].kind == StructKind::Union {
                    let least = sizes.iter().map(|s| s.0).min().unwrap_or(0);
                    return Some((least, sizes.iter().map(|s| s.1).max().unwrap_or(0)));
                }
                sum(sizes)
            }
            Type::Tuple(members) => {
                let sizes: Option<Vec<(u64, u64)>> = members.iter().map(|t| self.size_bits(t)).collect();
                sum(sizes?)
            }
            Type::Array(element, n) => {
                let (least, most) = self.size_bits(&element)?;
                Some((least.checked_mul(n.into())?, most.checked_mul(n.into())?))
            }
            _ => None,
        }
    }

    /// True if values of this type can be compared with `==`.
    pub(crate) fn is_comparable(&self, ty: &Type) -> bool {
        match self.infer.shallow(ty) {
            Type::Error
            | Type::Bool
            | Type::Int
            | Type::Bit(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::String
            | Type::ErrorCode
            | Type::MatchKind
            | Type::Enum(_)
            | Type::NewType(_) => true,
            Type::Struct(id, args) => self.field_types(id, &args).iter().all(|t| self.is_comparable(t)),
            Type::Tuple(members) => members.iter().all(|t| self.is_comparable(t)),
            Type::Array(element, _) | Type::List(element) => self.is_comparable(&element),
            _ => false,
        }
    }

    /// True if `...` can stand for a value of this type (P4-16 §7.3).
    pub(crate) fn has_default(&self, ty: &Type) -> bool {
        match self.infer.shallow(ty) {
            Type::Error
            | Type::Bool
            | Type::Int
            | Type::Bit(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::String
            | Type::ErrorCode
            | Type::Enum(_)
            | Type::Var(_) => true,
            Type::NewType(id) => self.has_default(&self.program.new_types[id].of),
            Type::Struct(id, args) => {
                self.program.structs[id].kind != StructKind::Struct
                    || self.field_types(id, &args).iter().all(|t| self.has_default(t))
            }
            Type::Tuple(members) => members.iter().all(|t| self.has_default(t)),
            Type::Array(element, _) => self.has_default(&element),
            _ => false,
        }
    }
}

fn sum(sizes: Vec<(u64, u64)>) -> Option<(u64, u64)> {
    sizes.into_iter().try_fold((0u64, 0u64), |(a, b), (c, d)| Some((a.checked_add(c)?, b.checked_add(d)?)))
}
