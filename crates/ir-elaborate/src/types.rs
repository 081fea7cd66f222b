//! Types: generics by their arguments, typedefs already gone, declarations on first use.

use ir::{Field, TypeDecl, TypeId, TypeKind};
use p4_check::typed::{self, Decl, StructKind, Substitution, Type};
use smol_str::SmolStr;

use crate::annotation::annotations;
use crate::elaborator::{Elaborator, TypeKey};

impl Elaborator<'_> {
    /// The program's own types that are not generic, used or not: control planes see their annotations.
    pub(crate) fn declared_types(&mut self) {
        let typed = self.typed;
        for decl in &typed.decls {
            let (ty, name) = match *decl {
                Decl::Struct(id) if typed.structs[id].type_params.is_empty() => {
                    (Type::Struct(id, [].into()), &typed.structs[id].name)
                }
                Decl::Enum(id) => (Type::Enum(id), &typed.enums[id].name),
                Decl::NewType(id) => (Type::NewType(id), &typed.new_types[id].name),
                _ => continue,
            };
            if !self.declared.names.contains(name.text.as_str()) {
                self.ty(&ty);
            }
        }
    }

    /// `ty`, which is closed but for the type parameters of an extern's signature.
    pub(crate) fn ty(&mut self, ty: &Type) -> ir::Type {
        match ty {
            Type::Void | Type::Error | Type::Infer(_) => ir::Type::Void,
            Type::Any => ir::Type::Param("_".into()),
            Type::Bool => ir::Type::Bool,
            Type::Int => ir::Type::InfInt,
            Type::Bit(width) => ir::Type::Bit(*width),
            Type::Signed(width) => ir::Type::Int(*width),
            Type::Varbit(width) => ir::Type::Varbit(*width),
            Type::String => ir::Type::String,
            Type::ErrorCode => ir::Type::Error,
            Type::MatchKind => ir::Type::MatchKind,
            Type::Enum(id) => ir::Type::Named(self.enum_type(*id)),
            Type::NewType(id) => ir::Type::Named(self.new_type(*id)),
            Type::Struct(id, args) => ir::Type::Named(self.struct_type(*id, args)),
            Type::Array(element, size) => ir::Type::Stack(Box::new(self.ty(element)), *size),
            Type::Tuple(members) => ir::Type::Tuple(members.iter().map(|t| self.ty(t)).collect()),
            Type::List(element) => ir::Type::List(Box::new(self.ty(element))),
            Type::Set(element) => self.ty(element),
            Type::Extern(id, args) => {
                let object = self.extern_object(*id);
                ir::Type::Extern(object, args.iter().map(|t| self.ty(t)).collect())
            }
            Type::Var(id) => ir::Type::Param(self.typed.type_vars[*id].name.text.clone()),
            Type::ParserType(..)
            | Type::ControlType(..)
            | Type::Parser(..)
            | Type::Control(..)
            | Type::Package(..)
            | Type::ApplyResult(_)
            | Type::ActionRun(_) => ir::Type::Void,
        }
    }

    fn enum_type(&mut self, id: typed::EnumId) -> TypeId {
        let key = TypeKey::Enum(id);
        if let Some(known) = self.type_ids.get(&key) {
            return *known;
        }
        let decl = &self.typed.enums[id];
        let kind = match &decl.underlying {
            None => TypeKind::Enum(decl.members.iter().map(|m| m.name.text.clone()).collect()),
            Some(underlying) => {
                let width = underlying.fixed_width().unwrap_or(0);
                let member = |m: &typed::EnumMember| {
                    let value = m.value.clone().unwrap_or_default();
                    (m.name.text.clone(), ir::Const::Bits(base_bits::Bits::from_bigint(width, &value)))
                };
                TypeKind::SerEnum {
                    underlying: self.ty(underlying),
                    members: decl.members.iter().map(member).collect(),
                }
            }
        };
        let name = self.type_names.pick(&[&decl.name.text]);
        self.declare_type(
            key,
            TypeDecl { name, kind, annotations: annotations(&decl.annotations), span: decl.span },
        )
    }

    fn new_type(&mut self, id: typed::NewTypeId) -> TypeId {
        let key = TypeKey::New(id);
        if let Some(known) = self.type_ids.get(&key) {
            return *known;
        }
        let decl = &self.typed.new_types[id];
        let kind = TypeKind::New(self.ty(&decl.of));
        let name = self.type_names.pick(&[&decl.name.text]);
        self.declare_type(
            key,
            TypeDecl { name, kind, annotations: annotations(&decl.annotations), span: decl.span },
        )
    }

    fn struct_type(&mut self, id: typed::StructId, args: &[Type]) -> TypeId {
        let arg_types: Vec<ir::Type> = args.iter().map(|t| self.ty(t)).collect();
        let key = TypeKey::Struct(id, arg_types.clone());
        if let Some(known) = self.type_ids.get(&key) {
            return *known;
        }
        let decl = &self.typed.structs[id];
        if args.iter().any(|arg| arg.any(&mut |ty| matches!(ty, Type::Var(_)))) {
            self.refuse("a generic type with a type parameter of an extern as its argument", decl.span);
        }
        let subst = Substitution::new(&decl.type_params, args);
        let fields = decl
            .fields
            .iter()
            .map(|f| Field {
                name: f.name.text.clone(),
                ty: self.ty(&subst.apply(&f.ty)),
                annotations: annotations(&f.annotations),
            })
            .collect();
        let kind = match decl.kind {
            StructKind::Struct => TypeKind::Struct(fields),
            StructKind::Header => TypeKind::Header(fields),
            StructKind::Union => TypeKind::Union(fields),
        };
        let mut name = decl.name.text.to_string();
        for arg in &arg_types {
            name.push('_');
            name.push_str(&self.mangled(arg));
        }
        let name = self.type_names.pick(&[&name]);
        self.declare_type(
            key,
            TypeDecl { name, kind, annotations: annotations(&decl.annotations), span: decl.span },
        )
    }

    fn declare_type(&mut self, key: TypeKey, decl: TypeDecl) -> TypeId {
        let id = TypeId::from(self.out.types.len());
        self.out.types.push(decl);
        self.type_ids.insert(key, id);
        id
    }

    /// A type as part of a name: `bit8`, `headers_t`, `tuple_bit8_bool`.
    pub(crate) fn mangled(&self, ty: &ir::Type) -> SmolStr {
        let list = |name: &str, parts: &[ir::Type]| {
            parts.iter().fold(name.to_string(), |text, part| format!("{text}_{}", self.mangled(part)))
        };
        match ty {
            ir::Type::Void => "void".into(),
            ir::Type::Bool => "bool".into(),
            ir::Type::Bit(width) => format!("bit{width}").into(),
            ir::Type::Int(width) => format!("int{width}").into(),
            ir::Type::Varbit(width) => format!("varbit{width}").into(),
            ir::Type::Error => "error".into(),
            ir::Type::MatchKind => "match_kind".into(),
            ir::Type::String => "string".into(),
            ir::Type::InfInt => "int".into(),
            ir::Type::Named(id) => self.out.type_decl(*id).name.clone(),
            ir::Type::Stack(element, size) => format!("{}_{size}", self.mangled(element)).into(),
            ir::Type::Tuple(members) => list("tuple", members).into(),
            ir::Type::List(element) => format!("list_{}", self.mangled(element)).into(),
            ir::Type::Extern(id, args) => list(&self.out.extern_object(*id).name, args).into(),
            ir::Type::Param(name) => name.clone(),
        }
    }

    /// The type whose values `ty` has: through newtypes and serializable enums.
    pub(crate) fn representation(&self, ty: &Type) -> Type {
        let mut ty = ty;
        loop {
            match ty {
                Type::NewType(id) => ty = &self.typed.new_types[*id].of,
                Type::Enum(id) => match &self.typed.enums[*id].underlying {
                    Some(underlying) => ty = underlying,
                    None => return ty.clone(),
                },
                _ => return ty.clone(),
            }
        }
    }

    /// The types of the parts of an aggregate: fields, members, or `count` elements. `None` for other types.
    pub(crate) fn part_types(&self, ty: &Type, count: usize) -> Option<Vec<Type>> {
        Some(match ty {
            Type::Struct(id, args) => {
                let decl = &self.typed.structs[*id];
                let subst = Substitution::new(&decl.type_params, args);
                decl.fields.iter().map(|f| subst.apply(&f.ty)).collect()
            }
            Type::Tuple(members) => members.to_vec(),
            Type::Array(element, _) | Type::List(element) => vec![(**element).clone(); count],
            _ => return None,
        })
    }
}
