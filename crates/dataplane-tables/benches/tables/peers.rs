//! Other ways to do the same.

use crate::run::Bench;
use dataplane_tables::{EntryKey, KeyLayout, MatchKind};
use std::collections::HashMap;
use std::hash::BuildHasher;

/// The standard library's hash map (a Swiss table), with its own hash and with a fast unseeded one.
pub fn maps(bench: &mut Bench, keys: &[EntryKey], traffic: &[Vec<u64>]) {
    match keys[0].value.len() {
        1 => each_map::<1>(bench, keys, traffic),
        _ => each_map::<2>(bench, keys, traffic),
    }
}

fn each_map<const W: usize>(bench: &mut Bench, keys: &[EntryKey], traffic: &[Vec<u64>]) {
    let traffic: Vec<[u64; W]> = traffic.iter().map(|key| array(key)).collect();
    let map = filled(std::hash::RandomState::new(), keys);
    bench.time("  std HashMap, SipHash", |range| {
        traffic[range].iter().map(|key| u64::from(map.get(key).copied().unwrap_or(0))).sum()
    });
    let map = filled(rustc_hash::FxBuildHasher, keys);
    bench.time("  std HashMap, FxHash", |range| {
        traffic[range].iter().map(|key| u64::from(map.get(key).copied().unwrap_or(0))).sum()
    });
    if keys.len() <= 1000 {
        let list: Vec<[u64; W]> = keys.iter().map(|key| array(&key.value)).collect();
        bench.time_some("  linear scan", traffic.len() / 64, |range| {
            traffic[range].iter().map(|key| list.iter().position(|k| k == key).unwrap_or(0) as u64).sum()
        });
    }
}

fn array<const W: usize>(key: &[u64]) -> [u64; W] {
    std::array::from_fn(|i| key[i])
}

fn filled<const W: usize, S: BuildHasher>(hasher: S, keys: &[EntryKey]) -> HashMap<[u64; W], u32, S> {
    let mut map = HashMap::with_hasher(hasher);
    map.extend(keys.iter().enumerate().map(|(i, key)| (array(&key.value), i as u32)));
    map
}

/// A hash map for each length of prefix, the longest first.
pub fn map_for_each_length(bench: &mut Bench, prefixes: &[EntryKey], traffic: &[Vec<u64>]) {
    match prefixes[0].value.len() {
        1 => each_length::<1>(bench, prefixes, traffic),
        _ => each_length::<2>(bench, prefixes, traffic),
    }
}

type Fast<const W: usize> = HashMap<[u64; W], u32, rustc_hash::FxBuildHasher>;

fn each_length<const W: usize>(bench: &mut Bench, prefixes: &[EntryKey], traffic: &[Vec<u64>]) {
    let mut maps: Vec<([u64; W], Fast<W>)> = vec![];
    for (i, prefix) in prefixes.iter().enumerate() {
        let mask = array(&prefix.mask);
        let at = maps.iter().position(|(m, _)| *m == mask).unwrap_or_else(|| {
            maps.push((mask, HashMap::default()));
            maps.len() - 1
        });
        maps[at].1.insert(array(&prefix.value), i as u32);
    }
    maps.sort_by_key(|(mask, _)| std::cmp::Reverse(mask.iter().map(|w| w.count_ones()).sum::<u32>()));
    bench.time("  an FxHash map for each length", |range| {
        let lookup = |key: &Vec<u64>| {
            maps.iter().find_map(|(mask, map)| {
                map.get(&std::array::from_fn::<u64, W, _>(|i| key[i] & mask[i])).copied()
            })
        };
        traffic[range].iter().map(|key| u64::from(lookup(key).unwrap_or(0))).sum()
    });
}

/// An array for the first 24 bits, and one of 256 for each of them that has longer prefixes: 64 MiB and more.
pub fn dir24(bench: &mut Bench, prefixes: &[EntryKey], traffic: &[Vec<u64>]) {
    let mut sorted: Vec<_> = prefixes.iter().enumerate().collect();
    sorted.sort_by_key(|(_, prefix)| prefix.mask[0].count_ones());
    let (mut first, mut second) = (vec![0u32; 1 << 24], vec![]);
    const LONGER: u32 = 1 << 31;
    for (i, prefix) in sorted {
        let (value, length) = (prefix.value[0] as usize, prefix.mask[0].count_ones());
        if length <= 24 {
            first[value >> 8..][..1 << (24 - length)].fill(i as u32);
            continue;
        }
        let slot = &mut first[value >> 8];
        if *slot & LONGER == 0 {
            let chunk = second.len() as u32;
            second.resize(second.len() + 256, *slot);
            *slot = LONGER | chunk;
        }
        second[(*slot & !LONGER) as usize..][value & 0xff..][..1 << (32 - length)].fill(i as u32);
    }
    bench.time("  DIR-24-8", |range| {
        let lookup = |key: &Vec<u64>| match first[key[0] as usize >> 8] {
            chunk if chunk & LONGER != 0 => second[(chunk & !LONGER) as usize + (key[0] as usize & 0xff)],
            entry => entry,
        };
        traffic[range].iter().map(|key| u64::from(lookup(key))).sum()
    });
}

/// All rules in order until one fits.
pub fn scan(bench: &mut Bench, layout: &KeyLayout, rules: &[EntryKey], traffic: &[Vec<u64>]) {
    let fits = |rule: &EntryKey, key: &[u64]| {
        layout.fields().iter().all(|(field, place)| {
            let (value, mask, key) = (place.get(&rule.value), place.get(&rule.mask), place.get(key));
            if let MatchKind::Range { .. } = field.kind {
                value <= key && key <= mask
            } else {
                key & mask == value
            }
        })
    };
    bench.time_some("  linear scan", traffic.len() / 256, |range| {
        traffic[range]
            .iter()
            .map(|key| rules.iter().position(|rule| fits(rule, key)).unwrap_or(0) as u64)
            .sum()
    });
}
