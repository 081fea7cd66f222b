//! Headers of packets to and from the controller (P4Runtime 1.5, section 6.4.7).

use crate::annotation::{has, string, structured, unstructured};
use crate::describe::Describer;
use crate::numbering::field_ids;
use crate::symbol::Kind;
use crate::types::{flat_fields, type_name};
use ir::{Annotations, Name, TypeDecl, TypeKind};
use p4runtime_proto::p4::config::v1::{ControllerPacketMetadata, controller_packet_metadata::Metadata};

impl<'p> Describer<'p> {
    /// The header types with `@controller_header`.
    pub(crate) fn controller_header_types(&self) -> Vec<&'p TypeDecl> {
        let is_one = |decl: &&TypeDecl| {
            matches!(decl.kind, TypeKind::Header(_))
                && string(&decl.annotations, "controller_header").is_some()
        };
        self.program.types.iter().filter(is_one).collect()
    }

    /// Adds controller headers. Their name is that in the annotation, whatever the type's name.
    pub(crate) fn controller_headers(&mut self) {
        for decl in self.controller_header_types() {
            let TypeKind::Header(fields) = &decl.kind else { continue };
            let name = Name::from(type_name(decl));
            let preamble = self.preamble(Kind::ControllerHeader, &name, &decl.annotations, &[]);
            let Some(mut preamble) = preamble else { continue };
            preamble.name = string(&decl.annotations, "controller_header").unwrap_or_default().to_string();
            preamble.alias = preamble.name.clone();
            let fields = flat_fields(self.program, fields);
            let annotations: Vec<Annotations> = fields.iter().map(|f| f.merged()).collect();
            let ids = field_ids(&annotations.iter().collect::<Vec<_>>());
            self.check_field_ids(ids.iter().copied(), decl.span);
            let mut metadata = vec![];
            for ((field, annotations), id) in fields.iter().zip(&annotations).zip(ids) {
                if has(annotations, "hidden") {
                    continue;
                }
                metadata.push(Metadata {
                    id,
                    name: field.name.clone(),
                    bitwidth: self.types.bits(field.ty),
                    type_name: self.types.type_name(field.ty),
                    annotations: unstructured(annotations, &[]),
                    structured_annotations: structured(annotations),
                    annotation_locations: vec![],
                });
            }
            let described = ControllerPacketMetadata { preamble: Some(preamble), metadata };
            self.info.controller_packet_metadata.push(described);
        }
    }
}
