//! Ids inside a thing: match fields, action parameters, packet metadata.

use crate::describe::Describer;
use crate::symbol::explicit_id;
use base_diag::{Diagnostic, Span, codes::elaborate as codes};
use ir::Annotations;
use std::collections::BTreeSet;

/// One id for each element: its `@id`, else the smallest free number from its place (counted from 1) on.
pub(crate) fn field_ids(annotations: &[&Annotations]) -> Vec<u32> {
    let explicit = |a: &&Annotations| explicit_id(a).and_then(|id| u32::try_from(id).ok());
    let given: Vec<Option<u32>> = annotations.iter().map(explicit).collect();
    let mut taken: BTreeSet<u32> = given.iter().flatten().copied().collect();
    let mut index = 1u32;
    let mut ids = vec![];
    for id in given {
        match id {
            Some(id) => {
                ids.push(id);
                index = index.saturating_add(1);
            }
            None => {
                while !taken.insert(index) {
                    index = index.saturating_add(1);
                }
                ids.push(index);
            }
        }
    }
    ids
}

impl Describer<'_> {
    /// Says if one of these ids is 0, or stands twice. `span` is where they belong to.
    pub(crate) fn check_field_ids(&mut self, ids: impl IntoIterator<Item = u32>, span: Span) {
        let mut seen = BTreeSet::new();
        let wrong = ids.into_iter().find(|id| *id == 0 || !seen.insert(*id));
        if let Some(id) = wrong {
            let (title, label) = match id {
                0 => ("0 is not an id".to_string(), "something in it has `@id(0)`"),
                _ => (format!("the id {id} is taken"), "two things in it have this `@id`"),
            };
            self.diagnostics.push(Diagnostic::error(codes::P4RUNTIME_ID, title).at(span, label));
        }
    }
}
