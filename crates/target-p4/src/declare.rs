//! Types, errors, match kinds. Declarations of core.p4 and of the architecture's file are not repeated.

use crate::annotation::{annotation, inline};
use crate::print::Printer;
use ir::{Arch, Field, MatchKind, Type, TypeDecl, TypeId, TypeKind};
use std::collections::BTreeSet;

/// Number of errors that core.p4 declares.
const CORE_ERRORS: usize = 7;

impl<'p> Printer<'p> {
    pub(crate) fn errors(&mut self) {
        let own = self.program.errors.get(CORE_ERRORS..).unwrap_or_default();
        let own = own.iter().map(|name| name.as_str());
        let own: Vec<&str> = own.filter(|name| !self.globals.declared.errors.contains(name)).collect();
        if !own.is_empty() {
            self.blank();
            self.list("error", &own);
        }
    }

    /// Match kinds that neither core.p4 nor the architecture's file declares.
    pub(crate) fn match_kinds(&mut self) {
        let keys = self.program.controls.iter().flat_map(|c| &c.tables).flat_map(|t| &t.keys);
        let sets = self.program.parsers.iter().flat_map(|p| &p.value_sets).flat_map(|v| &v.match_kinds);
        let is_own = matches!(self.program.arch, Arch::Other(_));
        let others: BTreeSet<&str> = keys
            .map(|key| &key.match_kind)
            .chain(sets)
            .filter_map(|kind| match kind {
                MatchKind::Other(name) if self.globals.declared.match_kinds.contains(name.as_str()) => None,
                MatchKind::Other(name) => Some(name.as_str()),
                MatchKind::Range if is_own => Some("range"),
                MatchKind::Optional if is_own => Some("optional"),
                MatchKind::Selector if is_own => Some("selector"),
                _ => None,
            })
            .collect();
        if !others.is_empty() {
            self.blank();
            self.list("match_kind", &others.into_iter().collect::<Vec<_>>());
        }
    }

    fn list(&mut self, head: &str, members: &[&str]) {
        self.braces(head, "", |p| {
            for (index, member) in members.iter().enumerate() {
                let comma = if index + 1 < members.len() { "," } else { "" };
                p.line(&format!("{member}{comma}"));
            }
        });
    }

    pub(crate) fn type_decl(&mut self, index: usize, decl: &TypeDecl) {
        if self.globals.declared.types.contains(decl.name.as_str()) {
            return;
        }
        let name = self.globals.types[index].clone();
        self.blank();
        decl.annotations.iter().for_each(|a| self.line(&annotation(a)));
        match &decl.kind {
            TypeKind::Header(fields) => self.fields(&format!("header {name}"), fields),
            TypeKind::Union(fields) => self.fields(&format!("header_union {name}"), fields),
            TypeKind::Struct(fields) => self.fields(&format!("struct {name}"), fields),
            TypeKind::Enum(members) => {
                let members: Vec<&str> = members.iter().map(|m| m.as_str()).collect();
                self.list(&format!("enum {name}"), &members);
            }
            TypeKind::SerEnum { underlying, members } => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(member, value)| format!("{member} = {}", self.constant(value, underlying, true)))
                    .collect();
                let members: Vec<&str> = members.iter().map(String::as_str).collect();
                self.list(&format!("enum {} {name}", self.ty(underlying)), &members);
            }
            TypeKind::New(under) => self.line(&format!("type {} {name};", self.ty(under))),
        }
    }

    fn fields(&mut self, head: &str, fields: &[Field]) {
        self.braces(head, "", |p| {
            for field in fields {
                p.line(&format!("{}{} {};", inline(&field.annotations), p.ty(&field.ty), field.name));
            }
        });
    }

    pub(crate) fn type_name(&self, id: TypeId) -> &str {
        self.globals.types.get(id.index()).map_or("?", String::as_str)
    }

    pub(crate) fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Void => "void".to_string(),
            Type::Bool => "bool".to_string(),
            Type::Bit(width) => format!("bit<{width}>"),
            Type::Int(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::Error => "error".to_string(),
            Type::MatchKind => "match_kind".to_string(),
            Type::String => "string".to_string(),
            Type::InfInt => "int".to_string(),
            Type::Named(id) => self.type_name(*id).to_string(),
            // The last size written is the outer one's.
            Type::Stack(elem, size) => format!("{}[{size}]", self.ty(elem)),
            Type::Tuple(types) => {
                format!("tuple<{}>", types.iter().map(|t| self.ty(t)).collect::<Vec<_>>().join(", "))
            }
            Type::List(elem) => format!("list<{}>", self.ty(elem)),
            Type::Extern(id, args) => {
                let name = self.globals.externs.get(id.index()).map_or("?", String::as_str);
                format!("{name}{}", self.type_args(args))
            }
            Type::Param(name) => name.to_string(),
        }
    }

    /// `<bit<8>, bool>`, or nothing.
    pub(crate) fn type_args(&self, types: &[Type]) -> String {
        match types {
            [] => String::new(),
            _ => format!("<{}>", types.iter().map(|t| self.ty(t)).collect::<Vec<_>>().join(", ")),
        }
    }
}
