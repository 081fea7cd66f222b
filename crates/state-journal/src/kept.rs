//! Reading back what was kept.

use crate::batch::Batch;
use crate::{FORMAT, MERGE_ROWS};
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use p4runtime_proto::p4rack::v1::{MergeRow, SavedState};
use p4runtime_proto::{from_binary, to_binary};
use std::collections::BTreeMap;
use std::fmt;

/// Everything that is kept: a program, and rows by their keys.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Kept {
    /// [`FORMAT`] of whoever has kept it; empty if nothing was kept yet.
    pub format: String,
    /// The program's configuration, as a message.
    pub program: Vec<u8>,
    /// The rows.
    pub rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Why a kept state cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Another version has written it.
    Version(String),
    /// Something else has written it.
    Foreign,
    /// A row is damaged.
    Row(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Version(format) => {
                write!(
                    f,
                    "another version of p4rack has written it: its form is `{format}`, this version reads `{FORMAT}`"
                )
            }
            Unreadable::Foreign => f.write_str("it is the database of another program"),
            Unreadable::Row(why) => write!(f, "it is damaged: {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Kept {
    /// Does a batch.
    pub fn follow(&mut self, batch: &Batch) {
        if let Some(program) = &batch.program {
            *self = Kept { format: FORMAT.to_string(), program: to_binary(program), rows: BTreeMap::new() };
        }
        for (key, value) in &batch.rows {
            match value {
                Some(value) => drop(self.rows.insert(key.clone(), value.clone())),
                None => drop(self.rows.remove(key)),
            }
        }
    }

    /// The state to start from, its entities in an order in which they can be written; `None` if nothing was kept yet.
    pub fn state(&self) -> Result<Option<SavedState>, Unreadable> {
        match self.format.as_str() {
            FORMAT => {}
            "" if self.program.is_empty() && self.rows.is_empty() => return Ok(None),
            other if other.starts_with("p4rack state ") => {
                return Err(Unreadable::Version(other.to_string()));
            }
            _ => return Err(Unreadable::Foreign),
        }
        let config: ForwardingPipelineConfig =
            from_binary(&self.program).map_err(|error| Unreadable::Row(format!("the program: {error}")))?;
        let entity = |value: &Vec<u8>| {
            from_binary(value).map_err(|error| Unreadable::Row(format!("an entity: {error}")))
        };
        let (merged, entities): (Vec<_>, Vec<_>) =
            self.rows.iter().partition(|(key, _)| key.first() == Some(&MERGE_ROWS));
        let entities = entities.into_iter().map(|(_, value)| entity(value)).collect::<Result<_, _>>()?;
        let row = |(key, value): (&Vec<u8>, &Vec<u8>)| MergeRow { key: key.clone(), value: value.clone() };
        let merged = merged.into_iter().map(row).collect();
        Ok(Some(SavedState { format: FORMAT.to_string(), config: Some(config), entities, merged }))
    }
}
