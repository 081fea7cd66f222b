//! The hand-over's headers and the runtime's metadata as types and fields.

use crate::arch::OWN_EXTERNS;
use crate::field_lists::unused_list;
use crate::generate::{Generator, shift_types};
use crate::place::HeaderIndex;
use crate::prepare::{field_list, mark};
use crate::section::SectionId;
use ir::build::struct_field;
use ir::{Field, Role, Type, TypeDecl, TypeId, TypeKind};
use p4_arch::{Duty, v1model};

impl Generator<'_> {
    /// Declares `p4rack_t` and the sections' headers, and adds them to the headers struct: `p4rack`, one of each
    /// section entered from or at this device, and a copy of each header to send. Adds the region to the metadata.
    pub fn add_types(&mut self) {
        let mut sections = self.entered_here_by(true);
        sections.extend(self.entered_from_here_by(true));
        sections.sort();
        sections.dedup();
        // Nothing travels to some sections but headers.
        sections.retain(|&id| self.cut.layout.section_bits(id) > 0);
        let first = self.insert_types(self.header_types(&sections));
        let carries = self.is_origin() && self.cut.truncates && self.cut.effects.clones_original;
        let carrying = |field: Field, name: &str| match carries {
            true => Field { annotations: vec![mark(name)], ..field },
            false => field,
        };
        let mut fields =
            vec![carrying(struct_field(self.cut.prefix, Type::Named(first)), v1model::HAND_OVER)];
        for (n, id) in (1..).zip(&sections) {
            let name = self.own(&self.identifier(*id));
            fields.push(struct_field(&name, Type::Named(TypeId(first.0 + n))));
        }
        let sends = !self.entered_from_here_by(true).is_empty();
        let copies: Vec<HeaderIndex> = match sends {
            true => self.cut.places.of_packet().map(|(index, _)| index).collect(),
            false => vec![],
        };
        for &index in &copies {
            let header = self.program_header(Duty::Ingress, index);
            fields.push(struct_field(
                &self.own(&format!("sent_{}", self.cut.places.header(index).name)),
                header.ty,
            ));
        }
        for &index in self.cut.originals {
            let name = self.own(&format!("orig_{}", self.cut.places.header(index).name));
            let field = struct_field(&name, self.program_header(Duty::Ingress, index).ty);
            fields.push(carrying(field, v1model::ORIGINAL));
        }
        if self.cut.layout.pad_bits > 0 {
            let ty = TypeId(first.0 + 1 + sections.len() as u32);
            fields.push(struct_field(&self.own("pad"), Type::Named(ty)));
        }
        let base = self.append_fields(&self.headers_type.clone(), fields);
        self.common = base;
        self.of_section = sections.iter().zip(base + 1..).map(|(&id, n)| (id, n)).collect();
        let mut next = base + 1 + sections.len();
        let mut number = |index: HeaderIndex| {
            next += 1;
            (index, next - 1)
        };
        self.sent = copies.into_iter().map(&mut number).collect();
        self.originals = self.cut.originals.iter().copied().map(&mut number).collect();
        self.pad = (self.cut.layout.pad_bits > 0).then_some(next);
        self.add_metadata();
    }

    fn add_metadata(&mut self) {
        let mut fields = vec![];
        let packed = (self.recirculates() && self.sends_around()).then(|| {
            // A recirculated packet keeps only the fields of a field list: this one is for the mark alone.
            let list = unused_list(&self.out, &self.metadata_type);
            let kept = field_list(vec![ir::AnnotationValue::Int(list.into())]);
            let field = struct_field(&self.own("packed"), Type::Bit(1));
            fields.push(Field { annotations: vec![kept], ..field });
            (fields.len() - 1, list)
        });
        let short = (self.cut.layout.pad_bits > 0).then(|| {
            fields.push(struct_field(&self.own("short"), Type::Bit(1)));
            fields.len() - 1
        });
        let mut kept = vec![];
        for field in self.cut.policies.iter().flat_map(|policy| policy.keeps(self.cut.placement, self.device))
        {
            kept.push((field.name.clone(), fields.len()));
            fields.push(struct_field(&self.own(&field.name), Type::Bit(field.width)));
        }
        let copied =
            self.cut.policies.iter().flat_map(|policy| policy.keeps_in_clones(self.cut, self.device));
        let copied: Vec<_> = copied.collect();
        // Clones, too, keep only the fields of a field list.
        if !copied.is_empty() {
            self.clone_list = unused_list(&self.out, &self.metadata_type);
        }
        for field in copied {
            kept.push((field.name.clone(), fields.len()));
            let list = field_list(vec![ir::AnnotationValue::Int(self.clone_list.into())]);
            let own = struct_field(&self.own(&field.name), Type::Bit(field.width));
            fields.push(Field { annotations: vec![list], ..own });
        }
        let mut lengths = vec![];
        for &index in self.cut.originals {
            if self.cut.lengths.contains_key(&self.cut.places.header(index).path) {
                let name = self.own(&format!("orig_len_{}", self.cut.places.header(index).name));
                lengths.push((index, fields.len()));
                fields.push(struct_field(&name, Type::Bit(32)));
            }
        }
        let base = self.declare_metadata(fields);
        self.packed = packed.map(|(n, list)| (base + n, list));
        self.kept = kept.into_iter().map(|(name, n)| (name, base + n)).collect();
        self.short = short.map(|n| base + n);
        self.original_lengths = lengths.into_iter().map(|(index, n)| (index, base + n)).collect();
    }

    /// A section's name as an identifier.
    pub fn identifier(&self, id: SectionId) -> String {
        let name = self.cut.sections.get(id).name.replace(['.', ' ', '-'], "_");
        match name.starts_with("sent_") || name.starts_with("orig_") || name == "pad" {
            true => format!("{name}_region"),
            false => name,
        }
    }

    /// `p4rack_t`, the headers of these sections, and the pad.
    fn header_types(&self, sections: &[SectionId]) -> Vec<TypeDecl> {
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
        if layout.pad_bits > 0 {
            let fields = vec![struct_field("zero", Type::Bit(layout.pad_bits))];
            decls.push(header(&self.own("pad_t"), fields));
        }
        decls
    }

    /// Declares types in front of the first type that will use them; gives the number of the first.
    pub fn insert_types(&mut self, mut decls: Vec<TypeDecl>) -> TypeId {
        let headers = self.shared_type(Duty::Ingress, Role::Headers);
        let metadata = self.shared_type(Duty::Ingress, Role::Metadata);
        let users = [headers, metadata];
        let at = users.iter().filter_map(|ty| if let Type::Named(id) = ty { Some(*id) } else { None }).min();
        let at = at.unwrap_or_else(|| self.lacks("a struct of headers or metadata".to_string(), TypeId(0)));
        // A program without counters has no such type yet.
        let counter = &OWN_EXTERNS.counter;
        if !self.out.types.iter().any(|t| t.name == counter.kinds) {
            let kind = TypeKind::Enum(counter.members.map(Into::into).to_vec());
            let name = counter.kinds.into();
            decls.push(TypeDecl { name, kind, annotations: vec![], span: base_diag::Span::NONE });
        }
        let clone = &OWN_EXTERNS.clone;
        if self.cut.placement.has_spares(self.role()) && !self.out.types.iter().any(|t| t.name == clone.kinds)
        {
            let kind = TypeKind::Enum(clone.members.map(Into::into).to_vec());
            let name = clone.kinds.into();
            decls.push(TypeDecl { name, kind, annotations: vec![], span: base_diag::Span::NONE });
        }
        (self.types_at, self.types_added) = (at, decls.len() as u32);
        shift_types(&mut self.out, self.types_at, self.types_added);
        self.out.types.splice(at.index()..at.index(), decls);
        self.headers_type = self.shared_type(Duty::Ingress, Role::Headers);
        self.metadata_type = self.shared_type(Duty::Ingress, Role::Metadata);
        at
    }

    /// Adds fields to a struct type; gives the number of the first.
    pub fn append_fields(&mut self, ty: &Type, fields: Vec<Field>) -> usize {
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
