//! Lookups of exact keys as instructions find what the interpreter finds: while tables grow and shrink, in both buckets of a key, and where
//! two keys have one tag.

use crate::common;

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use dataplane_tables::{Control, Field, KeyLayout, MatchKind, TableSpec, Tables};
use device::{Options, Switch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use target_native::{Engine, Fate, Packet, SEED};

const TABLES: [&str; 3] = ["one", "two", "three"];

type Key = [u64; 3];

struct Pair {
    engine: Engine,
    switch: Switch,
    found: u32,
    missed: u32,
}

fn matches(table: usize, key: Key) -> Vec<Match> {
    key[..=table].iter().map(|word| Match::Exact(Bits::new(64, u128::from(*word)))).collect()
}

impl Pair {
    fn new() -> Pair {
        let program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exact.p4"));
        let engine = Engine::compile(&program, Options::default()).expect("it compiles");
        assert_eq!(engine.report().fallbacks, []);
        let switch = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
        Pair { engine, switch, found: 0, missed: 0 }
    }

    fn insert(&mut self, table: usize, key: Key, number: u32) {
        let mut args = vec![Bits::new(32, u128::from(number))];
        args.extend((0..if table == 2 { 7 } else { 0 }).map(|i| Bits::new(128, (number as u128) << 90 | i)));
        let action = ["first", "second", "third"][table];
        for switch in [self.engine.switch(), &mut self.switch] {
            switch.table_add(TABLES[table], &matches(table, key), action, &args, None).expect("it fits");
        }
    }

    fn remove(&mut self, table: usize, key: Key) {
        for switch in [self.engine.switch(), &mut self.switch] {
            switch.table_delete(TABLES[table], &matches(table, key), None).expect("it is there");
        }
    }

    fn look(&mut self, keys: &[Key]) {
        let frame = |key: &Key| {
            let words = key.iter().flat_map(|word| word.to_be_bytes());
            words.chain([0x55; 12]).collect::<Vec<u8>>()
        };
        let frames: Vec<Vec<u8>> = keys.iter().map(frame).collect();
        let mut packets: Vec<Packet> = frames.iter().map(|f| Packet::new(1, f).expect("it fits")).collect();
        assert!(self.engine.process(&mut packets, Time::ZERO).is_empty());
        for ((packet, frame), key) in packets.iter().zip(&frames).zip(keys) {
            let want = self.switch.process(1, frame, Time::ZERO);
            assert_eq!(packet.fate(), Fate::Sent(1));
            assert_eq!(packet.frame(), want[0].frame, "{key:x?}");
            let missed = want[0].frame[28] & 0x80 != 0;
            *(if missed { &mut self.missed } else { &mut self.found }) += 1;
        }
    }
}

/// Writes of a few entries, between which packets are looked up.
#[test]
fn while_entries_come_and_go() {
    let mut rng = Rng::new(1);
    let mut pair = Pair::new();
    let mut there: [Vec<Key>; 3] = Default::default();
    let mut number = 0;
    for step in 0..500 {
        let grows = step % 250 < 150;
        for _ in 0..rng.between(1, 12) {
            let table = rng.index(3);
            let keys = &mut there[table];
            if keys.is_empty() || rng.chance(if grows { 9 } else { 1 }, 10) {
                // Few different words, so that keys differ in one of them.
                let mut key = [0; 3];
                (0..=table).for_each(|i| key[i] = rng.between(0, [40_000, 60, 12][table]) << (20 * i));
                let is_there = keys.contains(&key);
                if !is_there {
                    keys.push(key);
                    number += 1;
                    pair.insert(table, key, number);
                }
            } else {
                let at = rng.index(keys.len());
                let key = keys.swap_remove(at);
                pair.remove(table, key);
            }
        }
        let mut looked: Vec<Key> = vec![];
        for keys in there.iter().filter(|keys| !keys.is_empty()) {
            looked.extend((0..8).map(|_| keys[rng.index(keys.len())]));
        }
        looked.extend((0..8).map(|_| [0, 1, 2].map(|i| rng.between(0, 60) << (20 * i))));
        pair.look(&looked);
    }
    assert!(pair.found > 2000 && pair.missed > 2000, "{} {}", pair.found, pair.missed);
}

/// Keys that have one tag. A new table has one bucket.
fn of_one_tag(table: usize) -> Vec<[Key; 2]> {
    let spec = |words: usize| TableSpec {
        layout: KeyLayout::new(&vec![Field { kind: MatchKind::Exact, width: 64 }; words]),
        size: 4096,
        data_words: 1,
        profile: None,
        const_entries: false,
    };
    let tables = Tables::new(&Control::new((1..=3).map(spec).collect(), &[], SEED));
    let buckets = tables.table(table).buckets().expect("it has buckets");
    let mut seen: BTreeMap<u32, Key> = BTreeMap::new();
    let keys = (0..200_000u64).map(|i| [i, i.wrapping_mul(0x1234_5678_9abc), i << 40]);
    keys.filter_map(|mut key| {
        key[table + 1..].fill(0);
        Some([seen.insert((buckets.hash(&key[..=table]) >> 32) as u32 | 1, key)?, key])
    })
    .collect()
}

#[test]
fn keys_of_one_tag_differ() {
    for table in 0..3 {
        let pairs = of_one_tag(table);
        assert!(!pairs.is_empty());
        for [one, other] in pairs.into_iter().take(3) {
            let mut pair = Pair::new();
            pair.insert(table, one, 1);
            pair.look(&[one, other]);
            pair.insert(table, other, 2);
            pair.look(&[one, other]);
            pair.remove(table, one);
            pair.look(&[one, other]);
        }
    }
}

/// Fields that one load gives, in the order of the header and the other way round, in headers that packets have and lack.
#[test]
fn neighbours_in_a_header_keep_their_order() {
    let widths = [("st", 16), ("ts", 16), ("xy", 32), ("yx", 32), ("parts", 16), ("su", 16), ("to", 16)];
    let mut rng = Rng::new(2);
    let mut pair = Pair::new();
    let mut number = 0;
    for (table, width) in widths {
        for low in 0..4 {
            for high in (0..4).filter(|_| rng.chance(1, 2)) {
                number += 1;
                let keys =
                    [low, high].map(|value| Match::Exact(Bits::new(width, value << (width - 3) | value)));
                let args = [Bits::new(32, number)];
                for switch in [pair.engine.switch(), &mut pair.switch] {
                    switch.table_add(table, &keys, "pair", &args, None).expect("it fits");
                }
            }
        }
    }
    let mut results = BTreeSet::new();
    for _ in 0..400 {
        let mut frame = vec![0; 37];
        let mut field = |width: u32| {
            let value = rng.below(4) as u32;
            let field = value << (width - 3) | value;
            field.to_be_bytes()[4 - width as usize / 8..].to_vec()
        };
        frame.extend([16, 16, 32, 32, 16].into_iter().flat_map(&mut field));
        frame.extend([0; 5]);
        frame.extend(field(16));
        for port in [1, 2] {
            let mut packets = [Packet::new(port, &frame).expect("it fits")];
            assert!(pair.engine.process(&mut packets, Time::ZERO).is_empty());
            let want = pair.switch.process(port, &frame, Time::ZERO);
            assert_eq!(packets[0].frame(), want[0].frame, "{frame:02x?}");
            results.insert(want[0].frame[24..36].to_vec());
        }
    }
    assert!(results.len() > 30, "{}", results.len());
}
