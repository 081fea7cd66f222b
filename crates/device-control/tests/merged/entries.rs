//! Direct counters: entries come and go while devices count, and messages are lost, doubled and late.

use crate::program::entries;
use crate::rig::{CELLS, Faults, HARD, Rig, STEP};
use base_bits::Bits;
use base_time::Duration;
use control_writes::{EntryKey, Match};
use controller::{Call, Reply};
use features::setting;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    Action, CounterData, DirectCounterEntry, Entity, FieldMatch, ReadRequest, TableAction, TableEntry,
    Uint128, Update, WriteRequest, entity::Entity as Kind, field_match, table_action, update::Type,
};
use p4runtime_store::Live as _;
use std::collections::{BTreeMap, BTreeSet};

fn key(rig: &Rig, address: u8) -> TableEntry {
    let exact = field_match::FieldMatchType::Exact(field_match::Exact { value: vec![address] });
    let r#match = vec![FieldMatch { field_id: 1, field_match_type: Some(exact) }];
    TableEntry { table_id: rig.id, r#match, ..TableEntry::default() }
}

/// The entry of an address, with a count.
fn entry(rig: &Rig, address: u8, count: Option<i64>) -> Entity {
    let rollout = rig.controller.rollout().expect("there is a program");
    let action_id = rollout.info.actions[0].preamble.as_ref().expect("a name").id;
    let action = table_action::Type::Action(Action { action_id, params: vec![] });
    let counter_data = count.map(|packet_count| CounterData { packet_count, byte_count: 0 });
    let action = Some(TableAction { r#type: Some(action) });
    Entity { entity: Some(Kind::TableEntry(TableEntry { action, counter_data, ..key(rig, address) })) }
}

fn write(rig: &mut Rig, updates: Vec<(Type, Entity)>) -> bool {
    let update = |(kind, entity): (Type, Entity)| Update { r#type: kind as i32, entity: Some(entity) };
    let updates = updates.into_iter().map(update).collect();
    let election_id = Some(Uint128 { high: 0, low: 1 });
    let atomicity = Atomicity::RollbackOnError as i32;
    let request = WriteRequest { device_id: 1, election_id, updates, atomicity, ..WriteRequest::default() };
    // Only messages of the merge are lost: a request of which the outcome is unknown may have been done.
    let loss = std::mem::take(&mut rig.faults.loss);
    let reply = rig.call(Call::Operate(Box::new(request)));
    rig.faults.loss = loss;
    reply == Reply::Done(Ok(()))
}

fn insert(rig: &mut Rig, address: u8) -> bool {
    let entry = entry(rig, address, None);
    write(rig, vec![(Type::Insert, entry)])
}

fn delete(rig: &mut Rig, address: u8) -> bool {
    let entry = entry(rig, address, None);
    write(rig, vec![(Type::Delete, entry)])
}

/// The count of an entry as a controller reads it.
fn read(rig: &mut Rig, address: u8) -> u128 {
    let query = DirectCounterEntry { table_entry: Some(key(rig, address)), data: None };
    let entities = vec![Entity { entity: Some(Kind::DirectCounterEntry(query)) }];
    let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
    let Reply::Found(found, Ok(())) = rig.call(Call::Read(request)) else { panic!("it cannot be read") };
    let Some(Kind::DirectCounterEntry(e)) = found.entities().next().and_then(|found| found.entity) else {
        panic!("there is no such entry");
    };
    e.data.map_or(0, |data| data.packet_count as u128)
}

/// The counts that the helpers show.
fn shown(rig: &mut Rig, address: u8) -> BTreeSet<u64> {
    let (id, matches) = (rig.id, [Match::Exact(Bits::new(8, u128::from(address)))].into());
    let key = EntryKey { matches, priority: 0 };
    let count = |agent: &mut controller::Agent<device_control::Maker>| {
        agent.target().map(|target| target.direct_counter(id, &key))
    };
    let all = rig.agents.iter_mut().skip(1).map(count);
    all.map(|count| count.expect("it runs").expect("it has the entry").packets).collect()
}

fn rig(helpers: u32, seed: u64) -> Rig {
    let mut rig = Rig::new(&entries(), helpers, seed);
    rig.checks = false;
    rig
}

/// Entries come, count and go. The count that is read in the end is that of the packets since the insertion, less those that devices had not reported when they restarted.
fn churn(helpers: u32, seed: u64, faults: Faults) -> Result<(), String> {
    let mut rig = rig(helpers, seed);
    rig.faults = faults;
    let mut there: BTreeMap<u8, u128> = BTreeMap::new();
    // Counts of these may be lost: a device restarted while they were written.
    let mut doubtful = BTreeSet::new();
    for _ in 0..400 {
        let (address, by) = (rig.rng.below(CELLS) as u8, rig.rng.below(64) as u8);
        if rig.packet(address, by, 0) {
            there.entry(address).and_modify(|count| *count += 1);
        }
        rig.pass(STEP)?;
        if rig.rng.below(20) == 0 {
            let address = rig.rng.below(CELLS) as u8;
            match there.contains_key(&address) {
                true if delete(&mut rig, address) => drop(there.remove(&address)),
                false if insert(&mut rig, address) => {
                    doubtful.remove(&address);
                    there.insert(address, 0);
                }
                _ => drop(doubtful.insert(address)),
            }
        }
        if faults.restart > 0 && rig.rng.below(faults.restart) == 0 {
            let device = 1 + rig.rng.below(u64::from(helpers)) as usize;
            rig.restart(device);
        }
        if faults.kill > 0 && rig.rng.below(faults.kill) == 0 {
            rig.restart_controller();
        }
    }
    rig.settle()?;
    rig.faults.loss = 0;
    let lost: u128 = rig.lost.values().sum();
    for (address, truth) in there {
        let known = read(&mut rig, address);
        let least = if doubtful.contains(&address) { 0 } else { truth.saturating_sub(lost) };
        if known > truth || known < least {
            return Err(format!("entry {address} has {known} of {truth}, {lost} may be lost"));
        }
        let shown = shown(&mut rig, address);
        if shown != [known as u64].into() {
            return Err(format!("entry {address} has {known}, but helpers show {shown:?}"));
        }
    }
    Ok(())
}

fn exact(faults: Faults) {
    let only = setting("P4RACK_HELPERS", 0);
    let numbers = if features::is_long() { &[2, 3, 4, 16][..] } else { &[2, 16] };
    for helpers in numbers.iter().copied().filter(|n| only == 0 || only == u64::from(*n)) {
        for seed in features::seeds(1, 240) {
            churn(helpers, seed, faults).unwrap_or_else(|e| panic!("seed {seed}, {helpers} helpers: {e}"));
        }
    }
}

#[test]
fn counts_of_entries_that_come_and_go_are_exact() {
    exact(Faults { restart: 0, ..HARD });
}

#[test]
fn counts_of_entries_are_exact_but_for_what_restarted_devices_had_not_said() {
    exact(Faults { restart: 200, ..HARD });
}

#[test]
fn counts_of_entries_outlive_controllers() {
    exact(Faults { restart: 0, kill: 100, ..HARD });
}

#[test]
fn an_entry_that_is_inserted_again_counts_from_zero() {
    let mut rig = rig(2, 1);
    assert!(insert(&mut rig, 1) && (0..5).all(|by| rig.packet(1, 13 * by, 0)));
    assert_eq!(read(&mut rig, 1), 5);
    let again = [Type::Delete, Type::Insert].map(|kind| (kind, entry(&rig, 1, None)));
    assert!(write(&mut rig, again.into()));
    assert_eq!(read(&mut rig, 1), 0);
    assert!(rig.packet(1, 20, 0) && rig.packet(1, 40, 0));
    assert_eq!(read(&mut rig, 1), 2);
    rig.settle().unwrap();
    assert_eq!(shown(&mut rig, 1), [2].into());
}

/// The device is gone for good: what it had said is not.
#[test]
fn what_a_dead_device_has_said_stays() {
    let mut rig = rig(3, 1);
    assert!(insert(&mut rig, 1) && (0..20).all(|by| rig.packet(1, 3 * by, 0)));
    rig.pass(Duration::from_ms(10)).unwrap();
    (1..4).for_each(|device| rig.restart(device));
    rig.settle().unwrap();
    assert_eq!((read(&mut rig, 1), shown(&mut rig, 1)), (20, [20].into()));
}

#[test]
fn a_written_count_is_shown_by_all_and_counted_on() {
    let mut rig = rig(2, 1);
    assert!(insert(&mut rig, 1) && rig.packet(1, 20, 0));
    let entry = entry(&rig, 1, Some(100));
    assert!(write(&mut rig, vec![(Type::Modify, entry)]));
    assert_eq!(shown(&mut rig, 1), [100].into());
    assert!(rig.packet(1, 40, 0));
    assert_eq!(read(&mut rig, 1), 101);
}

/// The second update is refused, so the first one is undone.
#[test]
fn an_undone_deletion_keeps_the_count() {
    let mut rig = rig(2, 1);
    assert!(insert(&mut rig, 1) && (0..5).all(|by| rig.packet(1, 13 * by, 0)));
    let updates = [1, 2].map(|address| (Type::Delete, entry(&rig, address, None)));
    assert!(!write(&mut rig, updates.into()));
    assert!(rig.packet(1, 20, 0));
    assert_eq!(read(&mut rig, 1), 6);
    rig.settle().unwrap();
    assert_eq!(shown(&mut rig, 1), [6].into());
}

#[test]
fn what_is_only_tried_changes_no_count() {
    let mut rig = rig(2, 1);
    assert!(insert(&mut rig, 1) && (0..5).all(|by| rig.packet(1, 13 * by, 0)));
    let kinds = [Type::Delete, Type::Insert, Type::Delete];
    let update = |kind: Type| Update { r#type: kind as i32, entity: Some(entry(&rig, 1, None)) };
    let tried = rig.controller.tried("", &kinds.map(update)).expect("it can be undone").each;
    assert!(tried.iter().all(Result::is_ok), "{tried:?}");
    assert!(rig.packet(1, 20, 0));
    assert_eq!(read(&mut rig, 1), 6);
}
