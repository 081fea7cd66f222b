//! Every structure against the list of entries, under random writes.

use crate::common::{Oracle, field_match, near};
use base_bits::Bits;
use base_time::Rng;
use control_writes::Match;
use dataplane_tables::*;
use std::collections::BTreeSet;

struct Pair {
    oracle: Oracle,
    control: Control,
    shared: Shared,
    layout: KeyLayout,
    rng: Rng,
    structures: BTreeSet<&'static str>,
    /// Number of writes, to distinguish actions.
    written: u32,
}

impl Pair {
    fn new(fields: &[Field], size: u32, seed: u64) -> Pair {
        let layout = KeyLayout::new(fields);
        let spec =
            TableSpec { layout: layout.clone(), size, data_words: 1, profile: None, const_entries: false };
        let mut control = Control::new(vec![spec], &[], seed);
        let shared = Shared::new(&control);
        control.set_default(0, &Run::Action(9, vec![99])).unwrap();
        shared.publish(&mut control);
        Pair {
            oracle: Oracle { fields: fields.to_vec(), size: size as usize, entries: vec![] },
            control,
            shared,
            layout,
            rng: Rng::new(seed),
            structures: BTreeSet::new(),
            written: 0,
        }
    }

    fn run(&mut self) -> Run {
        self.written += 1;
        Run::Action(self.written % 7, vec![u64::from(self.written)])
    }

    fn insert(&mut self) {
        let matches: Vec<_> =
            self.oracle.fields.clone().iter().map(|f| field_match(&mut self.rng, f)).collect();
        let priority = if self.oracle.has_priorities() { self.rng.below(5) as i64 - 2 } else { 0 };
        let key = self.layout.entry_key(&matches, priority).unwrap();
        assert_eq!(self.layout.field_matches(&key), matches);
        let run = self.run();
        let result = self.control.insert(0, &key, &run);
        if self.oracle.position(&matches, priority).is_some() {
            assert_eq!(result, Err(WriteError::Duplicate));
        } else if self.oracle.entries.len() >= self.oracle.size {
            assert_eq!(result, Err(WriteError::Full(self.oracle.size as u32)));
        } else {
            let number = result.unwrap();
            assert!(number != MISS && number <= self.control.greatest_number(0));
            assert!(self.oracle.entries.iter().all(|(_, _, other)| *other != number));
            self.oracle.entries.push((matches, priority, number));
        }
    }

    /// Adds an entry that is not there.
    fn add(&mut self, matches: Vec<Match>, priority: i64) {
        let key = self.layout.entry_key(&matches, priority).unwrap();
        let run = self.run();
        let number = self.control.insert(0, &key, &run).unwrap();
        self.oracle.entries.push((matches, priority, number));
    }

    fn delete(&mut self, at: usize) {
        let (matches, priority, _) = self.oracle.entries.remove(at);
        let key = self.layout.entry_key(&matches, priority).unwrap();
        assert_eq!(self.control.delete(0, &key), Ok(()));
        assert_eq!(self.control.delete(0, &key), Err(WriteError::NotFound));
    }

    fn modify(&mut self, at: usize) {
        let run = self.run();
        let (matches, priority, number) = &self.oracle.entries[at];
        let key = self.layout.entry_key(matches, *priority).unwrap();
        assert_eq!(self.control.modify(0, &key, &run), Ok(()));
        assert_eq!(self.control.entry(0, *number).unwrap().run, run);
    }

    /// Writes, with as many entries as `target` in the end if they fit.
    fn write(&mut self, count: usize, target: usize) {
        for _ in 0..count {
            let len = self.oracle.entries.len();
            let at = self.rng.index(len);
            match self.rng.below(10) {
                0 if len > 0 => self.modify(at),
                1..3 if len > 0 => self.delete(at),
                3..5 if len > target => self.delete(at),
                _ if len <= target || self.rng.chance(1, 4) => self.insert(),
                _ => self.delete(at),
            }
        }
    }

    fn check(&mut self, packets: usize) {
        self.shared.publish(&mut self.control);
        let tables = self.shared.pin();
        let table = tables.table(0);
        self.structures.insert(table.structure());
        let (mut keys, mut wanted) = (vec![], vec![]);
        for _ in 0..packets {
            let entry = self.rng.pick(&self.oracle.entries).cloned();
            let values: Vec<Bits> = self
                .oracle
                .fields
                .iter()
                .enumerate()
                .map(|(i, field)| near(&mut self.rng, field, entry.as_ref().map(|e| &e.0[i])))
                .collect();
            let key = self.layout.packet_key(&values);
            let number = self.oracle.lookup(&values);
            assert_eq!(table.lookup(&key), number, "{values:?} among {:?}", self.oracle.entries);
            table.prefetch(&key);
            keys.extend(key);
            wanted.push(number);
        }
        let mut found = vec![77; packets];
        table.lookup_batch(&keys, &mut found);
        assert_eq!(found, wanted);
        let entries: Vec<_> = self.control.entries(0).collect();
        let numbers: Vec<u32> = self.oracle.entries.iter().map(|e| e.2).collect();
        assert_eq!(entries.iter().map(|e| e.number).collect::<Vec<_>>(), numbers);
        for entry in entries {
            let Run::Action(action, data) = &entry.run else { panic!("{entry:?}") };
            assert_eq!(table.records().action(entry.number)[..2], [u64::from(*action), data[0]]);
        }
        assert_eq!(table.records().action(MISS)[..2], [9, 99]);
    }
}

fn field(kind: MatchKind, width: u32) -> Field {
    Field { kind, width }
}

const RANGE: MatchKind = MatchKind::Range { signed: false };
const SIGNED: MatchKind = MatchKind::Range { signed: true };

fn churn(fields: &[Field], size: u32, seed: u64) -> BTreeSet<&'static str> {
    let mut pair = Pair::new(fields, size, seed);
    for round in 0..12 {
        let target = [size / 2, size, size, 0, 3, size][round % 6] as usize;
        let count = 1 + pair.rng.index(if round % 3 == 0 { 4 } else { 2 * size as usize });
        pair.write(count, target);
        pair.check(30);
    }
    pair.control.clear(0);
    pair.oracle.entries.clear();
    pair.check(20);
    pair.structures
}

#[test]
fn all_widths() {
    let kinds = [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, RANGE, SIGNED, MatchKind::Optional];
    for (width, kind) in
        (1..=130).chain([191, 192, 193, 255, 256, 257, 320, 511, 512]).zip(kinds.iter().cycle())
    {
        for kind in [*kind, kinds[(width as usize / 6) % 6], kinds[(width as usize * 7 / 5) % 6]] {
            churn(&[field(kind, width)], 24, u64::from(width));
        }
    }
}

#[test]
fn several_fields() {
    let kinds = [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, RANGE, SIGNED, MatchKind::Optional];
    let mut rng = Rng::new(5);
    for seed in 0..120 {
        let fields: Vec<Field> = (0..1 + rng.index(5))
            .map(|_| {
                field(
                    kinds[rng.index(if seed % 3 == 0 { 2 } else { 6 })],
                    [1, 3, 8, 9, 16, 32, 48, 64, 100, 128, 200][rng.index(11)],
                )
            })
            .collect();
        churn(&fields, [1, 2, 9, 40, 150][seed as usize % 5], seed);
    }
}

#[test]
fn sizes_pass_through_all_structures() {
    let tuple = [
        field(MatchKind::Ternary, 32),
        field(MatchKind::Ternary, 32),
        field(RANGE, 16),
        field(RANGE, 16),
        field(MatchKind::Optional, 8),
    ];
    let mut used = churn(&tuple, 1400, 1);
    used.extend(churn(&[field(MatchKind::Exact, 8), field(MatchKind::Exact, 4)], 600, 2));
    used.extend(churn(&[field(MatchKind::Exact, 48)], 900, 3));
    used.extend(churn(&[field(MatchKind::Lpm, 32)], 900, 4));
    used.extend(churn(&[field(MatchKind::Lpm, 128)], 900, 8));
    used.extend(churn(&[field(MatchKind::Lpm, 200)], 300, 9));
    used.extend(churn(&[field(MatchKind::Exact, 12), field(MatchKind::Lpm, 128)], 900, 5));
    used.extend(churn(&[field(MatchKind::Lpm, 20), field(MatchKind::Lpm, 20)], 200, 6));
    used.extend(churn(&[field(RANGE, 8), field(MatchKind::Ternary, 4)], 900, 10));
    used.extend(churn(&[field(MatchKind::Optional, 32), field(MatchKind::Optional, 32)], 5000, 7));
    assert_eq!(
        used.into_iter().collect::<Vec<_>>(),
        ["direct", "hash", "lpm", "masked", "tuples", "vectors"]
    );
}

/// Every key of an array of best entries, after each of many writes: several fields of all kinds, up to as many entries as there are keys.
#[test]
fn arrays_of_best_entries_have_every_key() {
    let layouts: [&[Field]; 7] = [
        &[field(MatchKind::Ternary, 8)],
        &[field(MatchKind::Ternary, 1)],
        &[field(RANGE, 4), field(MatchKind::Ternary, 3)],
        &[field(SIGNED, 5), field(MatchKind::Optional, 2), field(MatchKind::Exact, 1)],
        &[field(MatchKind::Exact, 2), field(MatchKind::Lpm, 4), field(MatchKind::Optional, 1)],
        &[field(MatchKind::Lpm, 4), field(MatchKind::Lpm, 3)],
        &[field(MatchKind::Ternary, 0), field(SIGNED, 1), field(MatchKind::Ternary, 6)],
    ];
    for (fields, seed) in layouts.into_iter().zip(20..) {
        let bits: u32 = fields.iter().map(|field| field.width).sum();
        let mut pair = Pair::new(fields, 1 << bits, seed);
        for round in 0..60 {
            let count = 1 + pair.rng.index([1, 3, 40][round % 3]);
            pair.write(count, [1 << bits, 8, 2, 20][round / 4 % 4]);
            pair.shared.publish(&mut pair.control);
            let tables = pair.shared.pin();
            let table = tables.table(0);
            assert_eq!(table.structure(), "masked");
            let array = table.direct().unwrap();
            assert_eq!(array.len(), 1 << bits);
            for number in 0..1u64 << bits {
                let key = [number];
                let mut rest = Bits::new(64, number.into());
                let values = pair.layout.fields().iter().map(|(field, _)| {
                    let value = rest.resize(field.width);
                    rest = rest.shr_by(field.width.into());
                    value
                });
                let wanted = pair.oracle.lookup(&values.collect::<Vec<_>>());
                assert_eq!((table.lookup(&key), array[number as usize]), (wanted, wanted), "{number:#b}");
            }
        }
    }
}

/// Many rules fit each packet, they come one by one and in any order of priority, so that blocks are unsorted and a late
/// rule may be better than all before it.
#[test]
fn overlapping_rules_one_by_one() {
    let fields = [field(MatchKind::Ternary, 12), field(RANGE, 8)];
    let mut pair = Pair::new(&fields, 700, 11);
    for round in 0..700i64 {
        let mask = Bits::new(12, 1 << pair.rng.below(12));
        let value = Bits::new(12, pair.rng.next_u128()).and(&mask);
        let lo = pair.rng.below(200);
        let bounds = [lo, lo + pair.rng.below(50)].map(|bound| Bits::new(8, u128::from(bound)));
        let [lo, hi] = bounds;
        let matches = vec![Match::Ternary { value, mask }, Match::Range { lo, hi }];
        // Mostly better than before, and now and then worse.
        let priority = if round % 5 == 0 { -round } else { round };
        pair.add(matches, priority);
        if round % 50 == 49 {
            (0..20).for_each(|i| pair.delete(i));
        }
        if round % 5 == 0 { pair.check(20) } else { pair.shared.publish(&mut pair.control) }
    }
    assert_eq!(pair.structures.into_iter().collect::<Vec<_>>(), ["vectors"]);
}

/// Rules that no mask distinguishes: ranges up to the greatest number, and one key at many priorities. As tuples, all would be in one
/// chain: a lookup looked at each rule, and 100,000 inserts took seven minutes.
#[test]
fn rules_of_one_chain_are_no_chain() {
    const MANY: u32 = 3000;
    let range = |n: u32| Match::Range { lo: Bits::new(32, u128::from(n + 1)), hi: Bits::ones(32) };
    let same = |_| Match::Ternary { value: Bits::one(32), mask: Bits::ones(32) };
    let crowds: [(MatchKind, &dyn Fn(u32) -> Match); 2] = [(RANGE, &range), (MatchKind::Ternary, &same)];
    for (kind, of) in crowds {
        for is_ascending in [true, false] {
            for batch in [1, 700] {
                let mut pair = Pair::new(&[field(kind, 32)], 2 * MANY, 3);
                for n in 0..MANY {
                    let priority = i64::from(if is_ascending { n } else { MANY - n });
                    pair.add(vec![of(n)], priority);
                    if n % batch == 0 {
                        pair.shared.publish(&mut pair.control);
                    }
                }
                pair.check(5);
                assert_eq!(pair.structures.iter().collect::<Vec<_>>(), [&"vectors"], "{kind:?} {batch}");
            }
        }
    }
}

/// A crowd that comes to rules that suit tuples, and goes.
#[test]
fn tuples_are_left_for_a_crowd() {
    let exact =
        |n: u32| Match::Ternary { value: Bits::new(32, u128::from(n) << 8 | 1), mask: Bits::ones(32) };
    let mut pair = Pair::new(&[field(MatchKind::Ternary, 32)], 20_000, 4);
    (0..4000).for_each(|n| pair.add(vec![exact(n)], 0));
    pair.check(5);
    assert_eq!(pair.structures, BTreeSet::from(["tuples"]));
    pair.structures.clear();
    (1..2000).for_each(|n| pair.add(vec![exact(0)], n));
    pair.check(5);
    assert_eq!(pair.structures, BTreeSet::from(["vectors"]));
    pair.structures.clear();
    (0..4390).for_each(|_| pair.delete(1600));
    pair.check(5);
    pair.structures.clear();
    (4000..7000).for_each(|n| pair.add(vec![exact(n)], 0));
    pair.check(5);
    assert_eq!(pair.structures, BTreeSet::from(["tuples"]));
}
