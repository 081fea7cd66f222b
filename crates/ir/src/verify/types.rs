//! Declared types, and types anywhere.

use super::Verifier;
use crate::{Arch, Const, Field, Name, Type, TypeDecl, TypeKind};
use base_diag::Span;

/// The errors that core.p4 declares, in its order.
const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

impl Verifier<'_> {
    pub(super) fn errors(&mut self) {
        let program = self.program;
        self.unique("members", &program.errors);
        let core_first = CORE_ERRORS.iter().eq(program.errors.iter().take(CORE_ERRORS.len()));
        let needed = !matches!(program.arch, Arch::Other(_));
        self.require(core_first || !needed, Span::NONE, |_| {
            format!("the first members are not core.p4's: {}", CORE_ERRORS.join(", "))
        });
    }

    pub(super) fn type_decls(&mut self) {
        let program = self.program;
        self.at("types".to_string(), |v| v.unique("members", program.types.iter().map(|t| &t.name)));
        for (index, decl) in program.types.iter().enumerate() {
            self.at(format!("type {}", decl.name), |v| v.type_decl(index, decl));
        }
    }

    fn type_decl(&mut self, index: usize, decl: &TypeDecl) {
        let before = self.errors.len();
        let declared = |ty: &Type| self.program.types_before(index, ty);
        let all_declared = match &decl.kind {
            TypeKind::Header(fields) | TypeKind::Union(fields) | TypeKind::Struct(fields) => {
                fields.iter().all(|field| declared(&field.ty))
            }
            TypeKind::Enum(_) => true,
            TypeKind::SerEnum { underlying, .. } => declared(underlying),
            TypeKind::New(under) => declared(under),
        };
        self.require(all_declared, decl.span, |_| "it uses a type that is declared after it".to_string());
        // The rules below look the types up, which may not exist.
        if self.errors.len() > before {
            return;
        }
        match &decl.kind {
            TypeKind::Header(fields) => self.fields(decl, fields, Self::is_header_field),
            TypeKind::Union(fields) => self.fields(decl, fields, |v, ty| v.program.is_header(ty)),
            TypeKind::Struct(fields) => self.fields(decl, fields, Self::is_value),
            TypeKind::Enum(members) => self.unique("members", members),
            TypeKind::SerEnum { underlying, members } => self.members(decl, underlying, members),
            TypeKind::New(under) => {
                let plain = matches!(self.program.representation(under), Type::Bool)
                    || self.is_integer(under)
                    || matches!(under, Type::Error | Type::Varbit(_));
                self.require(plain, decl.span, |v| format!("no newtype is made of `{}`", v.show(under)));
            }
        }
    }

    fn fields(&mut self, decl: &TypeDecl, fields: &[Field], allowed: fn(&Self, &Type) -> bool) {
        self.unique("fields", fields.iter().map(|field| &field.name));
        for field in fields {
            let good = allowed(self, &field.ty);
            self.require(good, decl.span, |v| {
                format!("field `{}` may not have type `{}`", field.name, v.show(&field.ty))
            });
        }
    }

    fn members(&mut self, decl: &TypeDecl, underlying: &Type, members: &[(Name, Const)]) {
        self.unique("members", members.iter().map(|(name, _)| name));
        let integer = matches!(underlying, Type::Bit(_) | Type::Int(_));
        self.require(integer, decl.span, |v| format!("its values may not be of `{}`", v.show(underlying)));
        for (name, value) in members {
            let good = self.is_const_of(value, underlying);
            self.require(good, decl.span, |v| {
                format!("member `{name}` is not of type `{}`", v.show(underlying))
            });
        }
    }

    /// Types a header's field may have (P4-16 §7.2.2).
    fn is_header_field(&self, ty: &Type) -> bool {
        let struct_of_these = |ty: &Type| match ty {
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Struct(fields) => fields.iter().all(|field| self.is_header_field(&field.ty)),
                _ => false,
            },
            _ => false,
        };
        match self.program.representation(ty) {
            Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Varbit(_) => true,
            Type::Stack(elem, _) => self.is_header_field(elem) && !self.is_header_or_union(elem),
            other => struct_of_these(other),
        }
    }

    /// True for types that a variable may have: all but `void` and type parameters.
    pub(super) fn is_value(&self, ty: &Type) -> bool {
        match ty {
            Type::Void | Type::Param(_) | Type::MatchKind => false,
            Type::Stack(elem, _) | Type::List(elem) => self.is_value(elem),
            Type::Tuple(types) => types.iter().all(|ty| self.is_value(ty)),
            _ => true,
        }
    }

    /// `bit<N>`, `int<N>`, or represented by one.
    pub(super) fn is_integer(&self, ty: &Type) -> bool {
        matches!(self.program.representation(ty), Type::Bit(_) | Type::Int(_))
    }

    pub(super) fn is_header_or_union(&self, ty: &Type) -> bool {
        let union = matches!(ty, Type::Named(id)
            if matches!(self.program.type_decl(*id).kind, TypeKind::Union(_)));
        union || self.program.is_header(ty)
    }

    pub(super) fn is_header_stack(&self, ty: &Type) -> bool {
        matches!(ty, Type::Stack(elem, _) if self.is_header_or_union(elem))
    }

    /// True if every declaration that `ty` names exists.
    pub(super) fn exists(&self, ty: &Type) -> bool {
        self.program.types_before(self.program.types.len(), ty)
    }

    /// True if `value` is a constant of type `ty`.
    pub(super) fn is_const_of(&self, value: &Const, ty: &Type) -> bool {
        match (value, self.program.representation(ty)) {
            (Const::Bits(bits), Type::Bit(width) | Type::Int(width)) => bits.width() == *width,
            (Const::Bool(_), Type::Bool) | (Const::Str(_), Type::String) | (Const::Int(_), Type::InfInt) => {
                true
            }
            (Const::Instance(id), Type::Extern(object, args)) => {
                let instance = self.program.instances.get(id.index());
                instance.is_some_and(|i| i.object == *object && i.type_args == *args)
            }
            (Const::Error(id), Type::Error) => id.index() < self.program.errors.len(),
            (Const::Enum(index), Type::Named(id)) => match &self.program.type_decl(*id).kind {
                TypeKind::Enum(members) => (*index as usize) < members.len(),
                _ => false,
            },
            _ => false,
        }
    }
}

impl crate::Program {
    /// True if every declared type in `ty` stands before `limit`, and every extern exists.
    fn types_before(&self, limit: usize, ty: &Type) -> bool {
        match ty {
            Type::Named(id) => id.index() < limit,
            Type::Extern(id, args) => {
                id.index() < self.externs.len() && args.iter().all(|ty| self.types_before(limit, ty))
            }
            Type::Stack(elem, _) | Type::List(elem) => self.types_before(limit, elem),
            Type::Tuple(types) => types.iter().all(|ty| self.types_before(limit, ty)),
            _ => true,
        }
    }
}
