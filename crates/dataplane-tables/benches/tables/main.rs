//! Nanoseconds per lookup and entries per second, with peers in the same run.
//!
//! `cargo bench -p dataplane-tables [-- FILTER]`: rows whose name contains the filter. On a machine that
//! others use, only ratios mean something.

mod acl;
mod draw;
mod peers;
mod run;

use dataplane_tables::*;
use draw::{Popularity, Rng};
use run::{Bench, control_of};

fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_default();
    let mut bench = Bench::new(filter);
    for entries in [1_000, 100_000, 1_000_000] {
        exact(&mut bench, entries, &[32]);
        exact(&mut bench, entries, &[32, 32, 16, 16, 8]);
        exact(&mut bench, entries, &[128]);
    }
    for entries in [1_000, 100_000] {
        lpm(&mut bench, entries, 32);
        lpm(&mut bench, entries, 128);
    }
    for entries in [100, 1_000, 10_000] {
        acl(&mut bench, entries);
    }
    inserts(&mut bench);
    pins(&mut bench);
}

fn layout(kind: MatchKind, widths: &[u32]) -> KeyLayout {
    KeyLayout::new(&widths.iter().map(|&width| Field { kind, width }).collect::<Vec<_>>())
}

/// A key with random bits in all fields.
fn random_key(rng: &mut Rng, layout: &KeyLayout) -> Vec<u64> {
    let mut key = vec![0; layout.words()];
    for (_, place) in layout.fields() {
        let value: Vec<u64> = (0..2).map(|_| rng.next_u64()).collect();
        let mask = if place.width < 64 { (1 << place.width) - 1 } else { u64::MAX };
        place.put(&mut key, &value.iter().map(|v| v & mask).collect::<Vec<_>>());
    }
    key
}

fn exact_keys(layout: &KeyLayout, entries: usize) -> Vec<EntryKey> {
    let mut rng = Rng::new(1);
    let mut ones = vec![0; layout.words()];
    let all = [u64::MAX; 2];
    for (_, place) in layout.fields() {
        let mask = if place.width < 64 { (1 << place.width) - 1 } else { u64::MAX };
        place.put(&mut ones, &all.iter().map(|v| v & mask).collect::<Vec<_>>());
    }
    let mut keys: Vec<_> = (0..entries).map(|_| random_key(&mut rng, layout)).collect();
    keys.sort();
    keys.dedup();
    rng.shuffle(&mut keys);
    keys.into_iter().map(|value| EntryKey { value, mask: ones.clone(), priority: 0 }).collect()
}

fn exact(bench: &mut Bench, entries: usize, widths: &[u32]) {
    let name = format!("exact {} bits, {entries},", widths.iter().sum::<u32>());
    if !bench.wants(&name) {
        return;
    }
    let layout = layout(MatchKind::Exact, widths);
    let keys = exact_keys(&layout, entries);
    let tables = control_of(&layout, &keys).1;
    let mut rng = Rng::new(2);
    for popularity in [Popularity::Uniform, Popularity::Zipf(0.99)] {
        let traffic: Vec<Vec<u64>> =
            popularity.draw(&mut rng, keys.len()).map(|i| keys[i].value.clone()).collect();
        bench.lookups(&format!("{name} {popularity}"), tables.table(0), &traffic);
        peers::maps(bench, &keys, &traffic);
    }
    let misses: Vec<_> = (0..draw::LOOKUPS).map(|_| random_key(&mut rng, &layout)).collect();
    bench.lookups(&format!("{name} misses"), tables.table(0), &misses);
    peers::maps(bench, &keys, &misses);
}

fn lpm(bench: &mut Bench, entries: usize, width: u32) {
    let name = format!("lpm {width} bits, {entries},");
    if !bench.wants(&name) {
        return;
    }
    let layout = layout(MatchKind::Lpm, &[width]);
    let mut rng = Rng::new(3);
    let prefixes = draw::prefixes(&mut rng, width, entries);
    let tables = control_of(&layout, &prefixes).1;
    for popularity in [Popularity::Uniform, Popularity::Zipf(0.99)] {
        let drawn: Vec<usize> = popularity.draw(&mut rng, prefixes.len()).collect();
        let traffic: Vec<_> = drawn.iter().map(|i| draw::inside(&mut rng, &prefixes[*i])).collect();
        bench.lookups(&format!("{name} {popularity}"), tables.table(0), &traffic);
        peers::map_for_each_length(bench, &prefixes, &traffic);
        if width == 32 {
            peers::dir24(bench, &prefixes, &traffic);
        }
    }
}

fn acl(bench: &mut Bench, entries: usize) {
    let name = format!("acl 5-tuple, {entries},");
    if !bench.wants(&name) {
        return;
    }
    let (layout, rules) = acl::rules(&mut Rng::new(4), entries);
    let tables = control_of(&layout, &rules).1;
    let mut rng = Rng::new(5);
    for popularity in [Popularity::Uniform, Popularity::Zipf(0.99)] {
        let drawn: Vec<usize> = popularity.draw(&mut rng, rules.len()).collect();
        let traffic: Vec<_> = drawn.iter().map(|i| acl::packet(&mut rng, &layout, &rules[*i])).collect();
        bench.lookups(&format!("{name} {popularity}"), tables.table(0), &traffic);
        peers::scan(bench, &layout, &rules, &traffic);
    }
    let misses: Vec<_> = (0..draw::LOOKUPS).map(|_| random_key(&mut rng, &layout)).collect();
    bench.lookups(&format!("{name} random"), tables.table(0), &misses);
    peers::scan(bench, &layout, &rules, &misses);
}

fn inserts(bench: &mut Bench) {
    let exact = layout(MatchKind::Exact, &[32, 32, 16, 16, 8]);
    bench.inserts("insert exact 104 bits, one batch", &exact, 1_000_000, |n| exact_keys(&exact, n), false);
    bench.inserts("insert exact 104 bits, one by one", &exact, 100_000, |n| exact_keys(&exact, n), true);
    for width in [32, 128] {
        let lpm = layout(MatchKind::Lpm, &[width]);
        let prefixes = |n| draw::prefixes(&mut Rng::new(3), width, n);
        bench.inserts(&format!("insert lpm {width} bits, one batch"), &lpm, 100_000, prefixes, false);
        bench.inserts(&format!("insert lpm {width} bits, one by one"), &lpm, 100_000, prefixes, true);
    }
    let (layout, _) = acl::rules(&mut Rng::new(4), 1);
    let rules = |n| acl::rules(&mut Rng::new(4), n).1;
    bench.inserts("insert acl 5-tuple, one batch", &layout, 10_000, rules, false);
    bench.inserts("insert acl 5-tuple, one by one", &layout, 10_000, rules, true);
}

fn pins(bench: &mut Bench) {
    if bench.wants("pin") {
        let control = Control::new(vec![], &[], 1);
        let shared = Shared::new(&control);
        for workers in [1, 2] {
            bench.pins(&format!("pin, {workers} workers"), &shared, workers);
        }
    }
}
