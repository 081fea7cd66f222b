//! Ids inside a thing: match fields, action parameters, packet metadata.

use crate::symbol::explicit_id;
use ir::Annotations;
use std::collections::BTreeSet;

/// One id for each element: its `@id`, else the smallest free number from its place (counted from 1) on.
pub(crate) fn field_ids(annotations: &[&Annotations]) -> Vec<u32> {
    let explicit =
        |a: &&Annotations| explicit_id(a).and_then(|id| u32::try_from(id).ok()).filter(|id| *id > 0);
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
