//! Field lists: metadata that a clone, a resubmitted or a recirculated packet keeps (`@field_list(n)`).

use crate::place::{Leaf, Places, RoleKey, Root};
use ir::{AnnotationBody, AnnotationValue, Field, Program, Type};

/// The leaves of the metadata that are in field list `list`, or in any.
pub fn kept_by(program: &Program, places: &Places, metadata: &Type, list: Option<u32>) -> Vec<Leaf> {
    let mut paths = vec![];
    marked(program, metadata, list, &mut vec![], &mut paths);
    let in_list = |leaf: &Leaf| {
        let info = places.info(*leaf);
        info.root == Root::Shared(RoleKey::Metadata) && paths.iter().any(|p| info.path.starts_with(p))
    };
    (0..places.leaves.len() as u32).map(Leaf).filter(in_list).collect()
}

/// The paths of marked fields, in nested structs too; a marked struct is kept as a whole.
fn marked(program: &Program, ty: &Type, list: Option<u32>, path: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
    for (step, field) in (0..).zip(program.fields(ty)) {
        path.push(step);
        let lists = lists_of(field);
        match lists.is_empty() {
            true => marked(program, &field.ty, list, path, found),
            false if list.is_none_or(|wanted| lists.contains(&wanted)) => found.push(path.clone()),
            false => {}
        }
        path.pop();
    }
}

fn lists_of(field: &Field) -> Vec<u32> {
    let marks = field.annotations.iter().filter(|a| a.name == "field_list");
    let numbers = marks.flat_map(|a| match &a.body {
        AnnotationBody::Values(values) => values
            .iter()
            .filter_map(|v| if let AnnotationValue::Int(n) = v { u32::try_from(n).ok() } else { None })
            .collect(),
        AnnotationBody::Tokens(text) => {
            text.split([',', ' ']).filter_map(|t| t.trim().parse().ok()).collect::<Vec<u32>>()
        }
        _ => vec![],
    });
    numbers.collect()
}

/// A number that no field list of the metadata has.
pub fn unused_list(program: &Program, metadata: &Type) -> u32 {
    fn all(program: &Program, ty: &Type, found: &mut Vec<u32>) {
        for field in program.fields(ty) {
            found.extend(lists_of(field));
            all(program, &field.ty, found);
        }
    }
    let mut used = vec![0];
    all(program, metadata, &mut used);
    (1..=255).find(|n| !used.contains(n)).unwrap_or(255)
}
