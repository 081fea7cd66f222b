//! Places of the fields in a text.

use super::tree::{Field, FieldName, Value, ValueKind};
use std::ops::Range;

/// A field, and which of its elements if it is repeated.
pub type Step<'a> = (&'a str, usize);

/// Places of the fields in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    fields: Vec<Field>,
}

impl Places {
    pub(super) fn new(fields: Vec<Field>) -> Places {
        Places { fields }
    }

    /// The bytes of the value that `path` leads to, from the outermost message; of the last one on the way that
    /// is written. `None` if not even the first is.
    pub fn of(&self, path: &[Step<'_>]) -> Option<Range<usize>> {
        let mut fields = &self.fields;
        let mut found = None;
        for (name, index) in path {
            let Some((place, value)) = elements(fields, name).nth(*index) else { break };
            found = Some(place);
            match &value.kind {
                ValueKind::Message(inner) => fields = inner,
                _ => break,
            }
        }
        found
    }
}

/// The elements of a field, wherever and in however many lists they stand. A place begins with the field's name
/// where the element is written with one.
fn elements<'a>(fields: &'a [Field], name: &'a str) -> impl Iterator<Item = (Range<usize>, &'a Value)> {
    let named = fields.iter().filter(move |f| matches!(&f.name, FieldName::Plain(n) if n == name));
    named.flat_map(|field| match &field.value.kind {
        ValueKind::List(list) => list.iter().map(|v| (v.at.clone(), v)).collect::<Vec<_>>(),
        _ => vec![(field.name_at.start..field.value.at.end, &field.value)],
    })
}
