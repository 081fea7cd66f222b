//! Parser value sets (P4Runtime 1.5, section 6.4.8).

use crate::annotation::{control_name, documentation, structured, unstructured};
use crate::describe::Describer;
use crate::numbering::field_ids;
use crate::symbol::Kind;
use crate::table::match_type;
use ir::{MatchKind, Type, ValueSet};
use p4runtime_proto::p4::config::v1::{self, MatchField};

impl Describer<'_> {
    pub(crate) fn value_sets(&mut self) {
        for set in self.used_value_sets() {
            let name = &set.control_plane_name;
            let Some(preamble) = self.preamble(Kind::ValueSet, name, &set.annotations, &[]) else { continue };
            let size = i32::try_from(set.size).unwrap_or(i32::MAX);
            let r#match = self.positions(set);
            self.info.value_sets.push(v1::ValueSet { preamble: Some(preamble), r#match, size });
        }
    }

    /// One field for each position: those of a struct have names, any other is alone or counted.
    fn positions(&mut self, set: &ValueSet) -> Vec<MatchField> {
        // A field without `@match` is exact.
        let kinds = set.match_kinds.iter().cloned().chain(std::iter::repeat(MatchKind::Exact));
        let fields = self.program.fields(&set.ty);
        let unnamed = |this: &mut Self, (index, (ty, kind)): (usize, (&Type, MatchKind))| MatchField {
            id: u32::try_from(index + 1).unwrap_or(u32::MAX),
            bitwidth: this.types.bits(ty),
            r#match: Some(match_type(&kind)),
            type_name: this.types.type_name(ty),
            ..Default::default()
        };
        if fields.is_empty() {
            let types = match &set.ty {
                Type::Tuple(types) => types.as_slice(),
                ty => std::slice::from_ref(ty),
            };
            return types.iter().zip(kinds).enumerate().map(|p| unnamed(self, p)).collect();
        }
        let ids = field_ids(&fields.iter().map(|f| &f.annotations).collect::<Vec<_>>());
        self.check_field_ids(ids.iter().copied(), set.span);
        let mut out = vec![];
        for ((field, kind), id) in fields.iter().zip(kinds).zip(ids) {
            out.push(MatchField {
                id,
                name: control_name(&field.annotations, &field.name).to_string(),
                bitwidth: self.types.bits(&field.ty),
                r#match: Some(match_type(&kind)),
                type_name: self.types.type_name(&field.ty),
                doc: documentation(&field.annotations),
                annotations: unstructured(&field.annotations, &["match"]),
                structured_annotations: structured(&field.annotations),
                annotation_locations: vec![],
            });
        }
        out
    }
}
