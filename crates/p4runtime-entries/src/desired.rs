//! What is there after the updates so far.

use crate::fault::{Result, fault};
use p4_entries::Statement;
use p4runtime_proto::p4::v1::update::Type;
use std::collections::BTreeMap;

/// What comes first when a device is filled: entries name groups, groups name members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    Member,
    Group,
    Entry,
    Object,
}

/// Entities by their keys, each with the statements that make it.
#[derive(Default)]
pub(crate) struct Desired {
    made: BTreeMap<(Phase, String), (u64, Vec<Statement>)>,
    count: u64,
}

impl Desired {
    /// True if there is such an entity.
    pub(crate) fn has(&self, phase: Phase, key: &str) -> bool {
        self.made.contains_key(&(phase, key.to_string()))
    }

    /// An entity that is inserted, modified and deleted.
    pub(crate) fn write(&mut self, how: Type, phase: Phase, key: String, made: Vec<Statement>) -> Result<()> {
        let known = self.has(phase, &key);
        match how {
            Type::Insert if known => {
                return fault("this is there already", "an update before it inserts the same");
            }
            Type::Modify | Type::Delete if !known => {
                return fault("this is not there", "no update before it inserts this");
            }
            Type::Delete => {
                self.made.remove(&(phase, key));
                return Ok(());
            }
            _ => {}
        }
        self.put(phase, key, made);
        Ok(())
    }

    /// An entity that is always there and can be modified only. No statements: it is as it was.
    pub(crate) fn set(&mut self, how: Type, key: String, made: Vec<Statement>) -> Result<()> {
        match how {
            Type::Modify => {
                self.put(Phase::Object, key, made);
                Ok(())
            }
            _ => fault("this can be modified only", "it is there from the beginning to the end"),
        }
    }

    fn put(&mut self, phase: Phase, key: String, made: Vec<Statement>) {
        self.count += 1;
        let order = self.made.get(&(phase, key.clone())).map_or(self.count, |(order, _)| *order);
        self.made.insert((phase, key), (order, made));
    }

    /// All that is there, what others name first, else in the order of insertion.
    pub(crate) fn into_statements(self) -> Vec<Statement> {
        let mut all: Vec<((Phase, u64), Vec<Statement>)> =
            self.made.into_iter().map(|((phase, _), (order, made))| ((phase, order), made)).collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().flat_map(|(_, made)| made).collect()
    }
}
