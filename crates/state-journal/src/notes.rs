//! The entities that have changed, each with its present value.

use p4runtime_proto::p4::v1::{Entity, entity::Entity as Kind};
use p4runtime_proto::to_binary;
use std::collections::BTreeMap;

/// Changed entities. Of several changes of one entity the last counts.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Notes(BTreeMap<Vec<u8>, Note>);

#[derive(Clone, PartialEq, Debug)]
struct Note {
    query: Entity,
    /// `None`: there is no such entity, or it is as on a switch that has just been started.
    now: Option<Entity>,
}

impl Notes {
    /// The entity that `query` alone means is now this one.
    pub fn note(&mut self, query: Entity, now: Option<Entity>) {
        self.0.insert(to_binary(&query), Note { query, now });
    }

    /// True if nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds changes that came later.
    pub fn follow(&mut self, later: Notes) {
        self.0.extend(later.0);
    }

    /// The rows to keep. `name` puts strings in the place of the numbers that stand for them: numbers are another
    /// process's tomorrow.
    pub fn rows(self, name: impl Fn(&mut Entity)) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        let row = |Note { mut query, mut now }: Note| {
            name(&mut query);
            now.iter_mut().for_each(&name);
            let mut key = vec![rank(&query)];
            key.extend(to_binary(&query));
            (key, now.as_ref().map(to_binary))
        };
        self.0.into_values().map(row).collect()
    }
}

/// The place of an entity's kind in the order of writing: members come before groups, and these before entries, whose
/// counters and meters come last.
fn rank(entity: &Entity) -> u8 {
    match &entity.entity {
        None | Some(Kind::ActionProfileMember(_)) => 0,
        Some(Kind::ActionProfileGroup(_)) => 1,
        Some(Kind::TableEntry(_)) => 2,
        _ => 3,
    }
}
