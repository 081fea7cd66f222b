//! Resources of a call. Two calls run concurrently if their resources are disjoint, or used only in compatible modes.
//!
//! | call | rack | contents | a thing | a device | the gate |
//! |---|---|---|---|---|---|
//! | configuration, steer, start, adopt | alone | | | | |
//! | write of one entry, of a table that one device has | use | use | use, the entry alone | use | |
//! | other write | use | use | alone | use, where it is held | alone, if no packet may see half of it |
//! | read of named things, until it has begun | use | | read | use, where a data plane is asked | |
//! | read of all of a kind, until it has begun; trace | use | read | | use | |
//! | read that has begun | use | | | | |
//! | repair, audit | use | | | alone | |
//! | look at edges | use | | | use | |
//! | targets may be used again | use | | | use the sender, targets alone | |
//!
//! A read begins when it has the values of data planes. It then runs in slices, and a write first makes it read the entities that the write changes
//! ([`State::make_way`](crate::state::State::make_way)).
//!
//! A *thing* has an id in the P4Info: a table with its direct resources, an action profile, a counter. A table that
//! takes its actions from a profile writes both, since the profile counts its uses by the table.
//!
//! One device executes writes in the order in which it gets them, and each at one time for its packets. So writes of different entries
//! need not wait for each other's round trip, unless counts are read from the device before one of them. If several devices have the table, packets must not see two writes in different orders.

use crate::part::Rollout;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{Entity, ReadRequest, WriteRequest, entity::Entity as Kind, update::Type};
use p4runtime_store::Catalog;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Resources that a call may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Resource {
    /// Everything: programs, devices, entities.
    Rack,
    /// All entities.
    Contents,
    /// Program and entities of one device.
    Device(usize),
    /// All entries of a table, or all cells of an object.
    Thing(u32),
    /// An entry of a table, by a hash of its key: entries with the same hash wait for each other, too.
    Entry(u32, u64),
    /// Multicast groups and clone sessions.
    Replication,
    /// Whether the origin admits frames.
    Gate,
}

/// Mode in which a resource is used. A mode is compatible only with itself; [`Mode::Alone`] with none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The resource must not change meanwhile.
    Read,
    /// Parts of the resource change; these parts are claimed, too.
    Use,
    /// No other call uses the resource.
    Alone,
}

/// All resources of a call.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Claim(BTreeMap<Resource, Mode>);

impl Claim {
    /// The whole rack.
    pub(crate) fn rack() -> Claim {
        Claim([(Resource::Rack, Mode::Alone)].into())
    }

    /// One device alone, with all its entities.
    pub(crate) fn device(device: usize) -> Claim {
        Claim([(Resource::Rack, Mode::Use), (Resource::Device(device), Mode::Alone)].into())
    }

    /// One device, for state that no other task uses.
    pub(crate) fn user(device: usize) -> Claim {
        Claim([(Resource::Rack, Mode::Use), (Resource::Device(device), Mode::Use)].into())
    }

    /// No resource other than the existence of the rack.
    pub(crate) fn nothing() -> Claim {
        Claim([(Resource::Rack, Mode::Use)].into())
    }

    /// All entities on all devices, for reading.
    pub(crate) fn look(rollout: Option<&Rollout>) -> Claim {
        let mut claim = Claim::nothing();
        claim.add(Resource::Contents, Mode::Read);
        let devices = rollout.into_iter().flat_map(|rollout| rollout.parts().map(|(device, _)| device));
        devices.for_each(|device| claim.add(Resource::Device(device), Mode::Use));
        claim
    }

    /// Resources of a write of one entry of a table that one device has; `None` for other writes.
    pub(crate) fn entry(request: &WriteRequest, catalog: &Catalog, rollout: &Rollout) -> Option<Claim> {
        let [update] = request.updates.as_slice() else { return None };
        let entity = update.entity.as_ref()?;
        let Some(Kind::TableEntry(entry)) = &entity.entity else { return None };
        let has_profile = catalog.table(entry.table_id).ok()?.implementation_id != 0;
        // A later write could be done before it.
        let is_read_first =
            update.r#type() != Type::Insert && catalog.direct_counter(entry.table_id).is_some();
        if has_profile || is_read_first {
            return None;
        }
        let [device] = rollout.holders(entity)[..] else { return None };
        let mut hash = DefaultHasher::new();
        catalog.entry_key(entry).ok()?.hash(&mut hash);
        let mut claim = Claim::user(device);
        claim.add(Resource::Contents, Mode::Use);
        claim.add(Resource::Thing(entry.table_id), Mode::Use);
        claim.add(Resource::Entry(entry.table_id, hash.finish()), Mode::Alone);
        Some(claim)
    }

    /// Resources of a write. `rollout` is the running rollout; `None` if devices are not written to.
    pub(crate) fn write(
        request: &WriteRequest,
        catalog: Option<&Catalog>,
        rollout: Option<&Rollout>,
    ) -> Claim {
        let mut claim = Claim::nothing();
        claim.add(Resource::Contents, Mode::Use);
        let mut seen = BTreeSet::new();
        for entity in request.updates.iter().filter_map(|update| update.entity.as_ref()) {
            let Some(resource) = thing(entity) else { continue };
            let is_direct =
                matches!(entity.entity, Some(Kind::DirectCounterEntry(_) | Kind::DirectMeterEntry(_)));
            // A long batch concerns few things. A device may have a table without the table's counters.
            if !seen.insert((resource, is_direct)) {
                continue;
            }
            claim.add(resource, Mode::Alone);
            if let Resource::Thing(id) = resource {
                let profile = catalog.and_then(|catalog| catalog.table(id).ok());
                let profile = profile.map(|table| table.implementation_id).filter(|id| *id != 0);
                profile.into_iter().for_each(|id| claim.add(Resource::Thing(id), Mode::Alone));
            }
            let holders = rollout.map(|rollout| rollout.holders(entity)).unwrap_or_default();
            holders.into_iter().for_each(|device| claim.add(Resource::Device(device), Mode::Use));
        }
        if request.atomicity() == Atomicity::DataplaneAtomic {
            claim.add(Resource::Gate, Mode::Alone);
            if let Some(rollout) = rollout {
                claim.add(Resource::Device(rollout.origin), Mode::Use);
            }
        }
        claim
    }

    /// Resources of a read; `live` are the entities that are read from devices.
    pub(crate) fn read(request: &ReadRequest, live: &[Entity], rollout: Option<&Rollout>) -> Claim {
        let mut claim = Claim::nothing();
        for entity in &request.entities {
            match thing(entity) {
                None => {}
                Some(Resource::Thing(0)) => claim.add(Resource::Contents, Mode::Read),
                Some(resource) => claim.add(resource, Mode::Read),
            }
        }
        let holders = live.iter().flat_map(|query| rollout.map(|r| r.holders(query)).unwrap_or_default());
        holders.for_each(|device| claim.add(Resource::Device(device), Mode::Use));
        claim
    }

    /// The claim's devices without entities, which may change.
    pub(crate) fn of_devices(&self) -> Claim {
        self.part(|resource| matches!(resource, Resource::Rack | Resource::Device(_)))
    }

    /// The claim without devices.
    pub(crate) fn of_contents(&self) -> Claim {
        self.part(|resource| !matches!(resource, Resource::Device(_)))
    }

    fn part(&self, is_in: impl Fn(&Resource) -> bool) -> Claim {
        Claim(self.0.iter().filter(|(resource, _)| is_in(resource)).map(|(r, mode)| (*r, *mode)).collect())
    }

    /// Adds a resource. A resource added in two modes is claimed alone.
    pub(crate) fn add(&mut self, resource: Resource, mode: Mode) {
        let known = self.0.entry(resource).or_insert(mode);
        if *known != mode {
            *known = Mode::Alone;
        }
    }

    /// Adds all resources of another claim.
    pub(crate) fn join(&mut self, other: &Claim) {
        other.0.iter().for_each(|(resource, mode)| self.add(*resource, *mode));
    }

    /// True if calls with these claims cannot run concurrently.
    pub(crate) fn conflicts(&self, other: &Claim) -> bool {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().any(|(resource, mode)| {
            many.0.get(resource).is_some_and(|known| known != mode || *known == Mode::Alone)
        })
    }

    /// The device of a write of one entry.
    pub(crate) fn entry_at(&self) -> Option<usize> {
        let has_entry = self.0.keys().any(|resource| matches!(resource, Resource::Entry(..)));
        let device = |resource: &Resource| match resource {
            Resource::Device(device) => Some(*device),
            _ => None,
        };
        self.0.keys().find_map(device).filter(|_| has_entry)
    }

    /// True if no other call runs concurrently.
    pub(crate) fn is_whole(&self) -> bool {
        self.claims(Resource::Rack) == Some(Mode::Alone)
    }

    /// The mode of a resource; `None` if it is not claimed.
    pub(crate) fn claims(&self, resource: Resource) -> Option<Mode> {
        self.0.get(&resource).copied()
    }
}

/// Resource of an entity. [`Resource::Thing`] 0 is all things of a kind.
fn thing(entity: &Entity) -> Option<Resource> {
    let id = match entity.entity.as_ref()? {
        Kind::ExternEntry(e) => e.extern_id,
        Kind::PacketReplicationEngineEntry(_) => return Some(Resource::Replication),
        Kind::TableEntry(e) => e.table_id,
        Kind::DirectCounterEntry(e) => e.table_entry.as_ref().map_or(0, |entry| entry.table_id),
        Kind::DirectMeterEntry(e) => e.table_entry.as_ref().map_or(0, |entry| entry.table_id),
        Kind::ActionProfileMember(e) => e.action_profile_id,
        Kind::ActionProfileGroup(e) => e.action_profile_id,
        Kind::CounterEntry(e) => e.counter_id,
        Kind::MeterEntry(e) => e.meter_id,
        Kind::RegisterEntry(e) => e.register_id,
        Kind::ValueSetEntry(e) => e.value_set_id,
        Kind::DigestEntry(e) => e.digest_id,
    };
    Some(Resource::Thing(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::from_text;

    fn write(text: &str) -> Claim {
        Claim::write(&from_text(text).unwrap(), None, None)
    }

    fn read(text: &str) -> Claim {
        Claim::read(&from_text(text).unwrap(), &[], None)
    }

    #[test]
    fn writes_conflict_where_they_write_the_same() {
        let one = write("updates { entity { table_entry { table_id: 1 } } }");
        let counts = write("updates { entity { direct_counter_entry { table_entry { table_id: 1 } } } }");
        let other = write("updates { entity { table_entry { table_id: 2 } } }");
        assert!(one.conflicts(&one) && one.conflicts(&counts) && !one.conflicts(&other));
        assert!(Claim::rack().conflicts(&one) && one.conflicts(&Claim::rack()));
    }

    #[test]
    fn reads_go_together_and_wait_for_writes() {
        let one = write("updates { entity { table_entry { table_id: 1 } } }");
        let all = read("entities { table_entry { } }");
        let of_one = read("entities { table_entry { table_id: 1 } }");
        let of_other = read("entities { table_entry { table_id: 2 } }");
        assert!(all.conflicts(&one) && of_one.conflicts(&one) && !of_other.conflicts(&one));
        assert!(!all.conflicts(&all) && !all.conflicts(&of_one));
    }

    #[test]
    fn batches_that_close_the_gate_come_one_by_one() {
        let atomic = |table: u32| {
            let update = format!("updates {{ entity {{ table_entry {{ table_id: {table} }} }} }}");
            write(&format!("{update} atomicity: DATAPLANE_ATOMIC"))
        };
        assert!(atomic(1).conflicts(&atomic(2)));
        let plain = write("updates { entity { table_entry { table_id: 2 } } }");
        assert!(!atomic(1).conflicts(&plain));
    }

    #[test]
    fn what_is_claimed_in_two_ways_is_claimed_alone() {
        let mut before = write("updates { entity { table_entry { table_id: 1 } } }");
        before.join(&read("entities { table_entry { } }"));
        // A write is in between, and a read waits: neither overtakes.
        assert!(before.conflicts(&read("entities { counter_entry { } }")));
        assert!(before.conflicts(&write("updates { entity { table_entry { table_id: 2 } } }")));
        assert!(!before.conflicts(&read("entities { table_entry { table_id: 2 } }")));
    }
}
