//! Readers see whole batches, and numbers keep their meaning while anyone reads.

use base_time::Rng;
use dataplane_tables::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn spec(fields: &[Field], size: u32) -> TableSpec {
    TableSpec { layout: KeyLayout::new(fields), size, data_words: 1, profile: None, const_entries: false }
}

fn key(value: u64, mask: u64, priority: i64) -> EntryKey {
    EntryKey { value: vec![value & mask], mask: vec![mask], priority }
}

/// Three tables of three structures, and each batch of writes gives the same generation to all their entries and default
/// actions. Readers never see two generations, and never an older one than before.
#[test]
fn batches_are_whole() {
    let (exact, lpm, ternary) = (MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary);
    let tables = [exact, lpm, ternary].map(|kind| spec(&[Field { kind, width: 32 }], 600));
    let mut control = Control::new(tables.to_vec(), &[], 1);
    let shared = Shared::new(&control);
    let done = AtomicBool::new(false);
    let published = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (shared, done, published) = (&shared, &done, &published);
            scope.spawn(move || {
                let mut rng = Rng::new(reader);
                let (mut last, mut pins) = (0, 0u64);
                while !done.load(Ordering::Relaxed) || pins == 0 {
                    let at_least = published.load(Ordering::Acquire);
                    let tables = shared.pin();
                    let generation = tables.table(0).records().action(MISS)[1];
                    assert!(generation >= last && generation >= at_least);
                    for id in 0..3 {
                        let keys: Vec<u64> = (0..20).map(|_| rng.below(400)).collect();
                        let mut found = [0; 20];
                        tables.table(id).lookup_batch(&keys, &mut found);
                        for (key, entry) in keys.iter().zip(found) {
                            let action = tables.table(id).records().action(entry);
                            assert_eq!(action[1], generation, "table {id}, key {key}, entry {entry}");
                            // A hit is an entry of this key: its number is not another's meanwhile.
                            assert!(entry == MISS || action[0] == *key, "table {id}, key {key}: {action:?}");
                        }
                    }
                    (last, pins) = (generation, pins + 1);
                }
            });
        }
        let mut rng = Rng::new(9);
        let mut live = vec![];
        for generation in 1..80 {
            for table in 0..3 {
                let run = |value| Run::Action(value as u32, vec![generation]);
                control.set_default(table, &run(0)).unwrap();
                if table == 0 {
                    live.retain(|_| rng.chance(3, 4));
                    let more: Vec<u64> = (0..rng.below(100)).map(|_| 1 + rng.below(400)).collect();
                    live.extend(more);
                    live.sort_unstable();
                    live.dedup();
                }
                if generation % 3 == 0 {
                    control.clear(table);
                }
                let old: Vec<_> = control.entries(table).map(|e| e.key).collect();
                for key in old.iter().filter(|k| !live.contains(&k.value[0])) {
                    control.delete(table, key).unwrap();
                }
                for value in &live {
                    let key = key(*value, u64::from(u32::MAX), 0);
                    match control.insert(table, &key, &run(*value)) {
                        Err(WriteError::Duplicate) => control.modify(table, &key, &run(*value)).unwrap(),
                        other => assert!(other.is_ok(), "{other:?}"),
                    }
                }
            }
            shared.publish(&mut control);
            published.store(generation, Ordering::Release);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// A full table whose entries are all replaced in one batch, again and again: numbers stay in bounds, and no number of
/// the last batch is given out again before it is published.
#[test]
fn numbers_come_back_after_a_publication() {
    let size = 50;
    let mut control = Control::new(vec![spec(&[Field { kind: MatchKind::Exact, width: 32 }], size)], &[], 1);
    let mut tables = Tables::new(&control);
    let ones = u64::from(u32::MAX);
    let mut before: Vec<u32> = vec![];
    for round in 0..40 {
        control.clear(0);
        let mut now = vec![];
        for i in 0..u64::from(size) {
            let key = key(round * 1000 + i, ones, 0);
            let number = control.insert(0, &key, &Run::Action(1, vec![i])).unwrap();
            assert!(!before.contains(&number) && number <= control.greatest_number(0));
            if i % 3 == 0 {
                control.delete(0, &key).unwrap();
                let again = control.insert(0, &key, &Run::Action(1, vec![i])).unwrap();
                assert_eq!(again, number, "nobody has seen it");
            }
            now.push(number);
        }
        let full = control.insert(0, &key(999_999, ones, 0), &Run::Action(0, vec![]));
        assert_eq!(full, Err(WriteError::Full(size)));
        assert!(control.fresh().map(|(_, number)| number).all(|number| now.contains(&number)));
        assert_eq!(control.fresh().collect::<std::collections::BTreeSet<_>>().len(), size as usize);
        tables.publish(&mut control);
        assert_eq!(control.fresh().count(), 0);
        for (i, number) in now.iter().enumerate() {
            assert_eq!(tables.table(0).lookup(&[round * 1000 + i as u64]), *number);
        }
        assert_eq!(tables.table(0).lookup(&[(round * 1000).wrapping_sub(1000)]), MISS);
        before = now;
    }
}

/// Writes are invisible until they are published.
#[test]
fn writes_wait_for_publication() {
    let mut control = Control::new(vec![spec(&[Field { kind: MatchKind::Exact, width: 32 }], 10)], &[], 1);
    let shared = Shared::new(&control);
    let key = key(7, u64::from(u32::MAX), 0);
    let number = control.insert(0, &key, &Run::Action(1, vec![1])).unwrap();
    assert_eq!(shared.pin().table(0).lookup(&[7]), MISS);
    shared.publish(&mut control);
    assert_eq!(shared.pin().table(0).lookup(&[7]), number);
    control.modify(0, &key, &Run::Action(2, vec![2])).unwrap();
    assert_eq!(shared.pin().table(0).records().action(number)[..2], [1, 1]);
    control.delete(0, &key).unwrap();
    assert_eq!(shared.pin().table(0).lookup(&[7]), number);
    shared.publish(&mut control);
    assert_eq!(shared.pin().table(0).lookup(&[7]), MISS);
}
