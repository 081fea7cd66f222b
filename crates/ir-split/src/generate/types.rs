//! The hand-over's headers and the runtime's metadata as types and fields.

use super::Generator;
use super::build::struct_field;
use super::rename::shift_types;
use crate::place::HeaderIndex;
use crate::section::SectionId;
use ir::{Field, Role, Type, TypeDecl, TypeId, TypeKind};

impl Generator<'_> {
    /// Declares `p4rack_t` and the sections' headers, and adds them to the headers struct: `p4rack`, one of each
    /// section entered from or at this device, and a copy of each header to send. Adds the region to the metadata.
    pub fn add_types(&mut self) {
        let mut sections = self.entered_here();
        sections.extend(self.entered_from_here());
        sections.sort();
        sections.dedup();
        // Nothing travels to some sections but headers.
        sections.retain(|&id| self.cut.layout.section_bits(id) > 0);
        let first = self.insert_types(&sections);
        self.headers_type = self.shared_type("ingress", Role::Headers);
        self.metadata_type = self.shared_type("ingress", Role::Metadata);
        let mut fields = vec![struct_field(self.cut.prefix, Type::Named(first))];
        for (n, id) in (1..).zip(&sections) {
            let name = self.own(&self.identifier(*id));
            fields.push(struct_field(&name, Type::Named(TypeId(first.0 + n))));
        }
        let sends = !self.entered_from_here().is_empty();
        let copies: Vec<HeaderIndex> = match sends {
            true => self.cut.places.of_packet().map(|(index, _)| index).collect(),
            false => vec![],
        };
        for &index in &copies {
            let header = self.program_header("ingress", index);
            fields.push(struct_field(
                &self.own(&format!("sent_{}", self.cut.places.header(index).name)),
                header.ty,
            ));
        }
        let base = self.append_fields(&self.headers_type.clone(), fields);
        self.common = base;
        self.of_section = sections.iter().zip(base + 1..).map(|(&id, n)| (id, n)).collect();
        self.sent = copies.into_iter().zip(base + 1 + sections.len()..).collect();
        let region = Type::Bit(self.cut.layout.width_of("region"));
        let fields =
            vec![struct_field(&self.own("region"), region), struct_field(&self.own("leaving"), Type::Bit(1))];
        self.region = self.append_fields(&self.metadata_type.clone(), fields);
        self.leaving = self.region + 1;
    }

    /// A section's name as an identifier.
    pub fn identifier(&self, id: SectionId) -> String {
        self.cut.sections.get(id).name.replace(['.', ' ', '-'], "_")
    }

    /// Declares the headers in front of the first type that will use them; gives the number of `p4rack_t`.
    fn insert_types(&mut self, sections: &[SectionId]) -> TypeId {
        let headers = self.shared_type("ingress", Role::Headers);
        let metadata = self.shared_type("ingress", Role::Metadata);
        let users = [headers, metadata];
        let at = users.iter().filter_map(|ty| if let Type::Named(id) = ty { Some(*id) } else { None }).min();
        let at = at.unwrap_or(TypeId(0));
        let layout = self.cut.layout;
        let common = layout.common.iter().map(|f| struct_field(&f.name, Type::Bit(f.width))).collect();
        let mut decls = vec![header(&self.own("t"), common)];
        for &id in sections {
            let live = layout.sections.get(&id).into_iter().flatten();
            let mut fields: Vec<Field> = live.map(|f| struct_field(&f.name, Type::Bit(f.width))).collect();
            let used: u32 = layout.sections.get(&id).into_iter().flatten().map(|f| f.width).sum();
            if !used.is_multiple_of(8) {
                fields.push(struct_field("padding", Type::Bit(8 - used % 8)));
            }
            decls.push(header(&self.own(&format!("{}_t", self.identifier(id))), fields));
        }
        // A program without counters has no such type yet.
        if !self.out.types.iter().any(|t| t.name == "CounterType") {
            let members = ["packets", "bytes", "packets_and_bytes"].map(Into::into).to_vec();
            let kind = TypeKind::Enum(members);
            let name = "CounterType".into();
            decls.push(TypeDecl { name, kind, annotations: vec![], span: base_diag::Span::NONE });
        }
        (self.types_at, self.types_added) = (at, decls.len() as u32);
        shift_types(&mut self.out, self.types_at, self.types_added);
        self.out.types.splice(at.index()..at.index(), decls);
        at
    }

    /// Adds fields to a struct type; gives the number of the first.
    fn append_fields(&mut self, ty: &Type, fields: Vec<Field>) -> usize {
        let Type::Named(id) = ty else { return 0 };
        match &mut self.out.types[id.index()].kind {
            TypeKind::Struct(own) => {
                let base = own.len();
                own.extend(fields);
                base
            }
            _ => 0,
        }
    }
}

fn header(name: &str, fields: Vec<Field>) -> TypeDecl {
    let kind = TypeKind::Header(fields);
    TypeDecl { name: name.into(), kind, annotations: vec![], span: base_diag::Span::NONE }
}
