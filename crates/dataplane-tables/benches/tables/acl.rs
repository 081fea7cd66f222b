//! Access lists as ClassBench describes them: nested prefixes, few port forms, three protocols.

use crate::draw::Rng;
use dataplane_tables::*;

/// Rules over source, destination, both ports and protocol, the first the best.
pub fn rules(rng: &mut Rng, n: usize) -> (KeyLayout, Vec<EntryKey>) {
    let field = |kind, width| Field { kind, width };
    let range = MatchKind::Range { signed: false };
    let layout = KeyLayout::new(&[
        field(MatchKind::Ternary, 32),
        field(MatchKind::Ternary, 32),
        field(range, 16),
        field(range, 16),
        field(MatchKind::Ternary, 8),
    ]);
    let sites: Vec<u32> = (0..1 + n / 20).map(|_| rng.next_u64() as u32).collect();
    let mut rules: Vec<EntryKey> = vec![];
    while rules.len() < n {
        let (value, mask) = (vec![0; layout.words()], vec![0; layout.words()]);
        let mut rule = EntryKey { value, mask, priority: 0 };
        let parts = [
            address(rng, &sites, &[0, 0, 16, 24, 32]),
            address(rng, &sites, &[0, 16, 24, 28, 32, 32, 32]),
            source_port(rng),
            port(rng),
            protocol(rng),
        ];
        for ((_, place), (value, mask)) in layout.fields().iter().zip(parts) {
            place.put(&mut rule.value, &[value]);
            place.put(&mut rule.mask, &[mask]);
        }
        rules.push(rule);
    }
    // Such lists have, more or less, the special rules before the general ones.
    let special = |rule: &EntryKey| rule.mask.iter().map(|word| word.count_ones()).sum::<u32>();
    rules.sort_by_cached_key(|rule| u64::from(200 - special(rule)) + rng.below(16));
    for (i, rule) in rules.iter_mut().enumerate() {
        rule.priority = (n - i) as i64;
    }
    (layout, rules)
}

/// A packet that a rule wants.
pub fn packet(rng: &mut Rng, layout: &KeyLayout, rule: &EntryKey) -> Vec<u64> {
    let mut key = vec![0; layout.words()];
    for (field, place) in layout.fields() {
        let (value, mask) = (place.get(&rule.value), place.get(&rule.mask));
        let value = match field.kind {
            MatchKind::Range { .. } => rng.between(value, mask),
            _ => value | rng.next_u64() & !mask & ((1 << place.width) - 1),
        };
        place.put(&mut key, &[value]);
    }
    key
}

fn address(rng: &mut Rng, sites: &[u32], lengths: &[u32]) -> (u64, u64) {
    let length = lengths[rng.index(lengths.len())];
    let site = sites[rng.index(sites.len())] & 0xffff_0000 | rng.next_u64() as u32 & 0xffff;
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    (u64::from(site & mask), u64::from(mask))
}

fn source_port(rng: &mut Rng) -> (u64, u64) {
    if rng.chance(17, 20) { (0, 65535) } else { (1024, 65535) }
}

fn port(rng: &mut Rng) -> (u64, u64) {
    match rng.below(10) {
        0..5 => {
            let port = [80, 443, 22, 53, 25, 8080, 3306, 5432, 123, 161][rng.index(10)];
            (port, port)
        }
        5..8 => (0, 65535),
        8 => (1024, 65535),
        _ => {
            let least = rng.below(60000);
            (least, least + rng.below(4000))
        }
    }
}

fn protocol(rng: &mut Rng) -> (u64, u64) {
    match rng.below(10) {
        0..6 => (6, 0xff),
        6..8 => (17, 0xff),
        8 => (1, 0xff),
        _ => (0, 0),
    }
}
