//! Runs and prints.

use crate::draw::LOOKUPS;
use dataplane_tables::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const RUNS: usize = 5;

/// A batch as the engine has them.
const BATCH: usize = 64;

/// Prints what it measures.
pub struct Bench {
    filter: String,
}

/// A table of these entries, each with one word of data.
pub fn control_of(layout: &KeyLayout, keys: &[EntryKey]) -> (Control, Tables) {
    let size = keys.len() as u32;
    let spec = TableSpec { layout: layout.clone(), size, data_words: 1, profile: None, const_entries: false };
    let mut control = Control::new(vec![spec], &[], 7);
    let mut tables = Tables::new(&control);
    for (i, key) in keys.iter().enumerate() {
        // Drawn rules may be equal.
        let _ = control.insert(0, key, &Run::Action(1, vec![i as u64]));
    }
    tables.publish(&mut control);
    (control, tables)
}

impl Bench {
    pub fn new(filter: String) -> Bench {
        Bench { filter }
    }

    pub fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// One by one and in batches. Every lookup reads the action of what it found.
    pub fn lookups(&mut self, name: &str, table: &Table, traffic: &[Vec<u64>]) {
        let flat: Vec<u64> = traffic.concat();
        let words = flat.len() / traffic.len();
        println!("{name}: {}, {} KiB", table.structure(), table.bytes() / 1024);
        self.time("  lookup", || flat.chunks_exact(words).map(|key| u64::from(table.lookup(key))).sum());
        self.time("  lookup_batch", || {
            let mut found = [0; BATCH];
            let batch = |keys: &[u64]| {
                table.lookup_batch(keys, &mut found);
                found.iter().map(|entry| table.records().action(*entry)[1]).sum::<u64>()
            };
            flat.chunks_exact(BATCH * words).map(batch).sum()
        });
    }

    pub fn time(&mut self, name: &str, mut run: impl FnMut() -> u64) {
        self.time_some(name, LOOKUPS, |_| run());
    }

    /// Of a run that does `n` lookups.
    pub fn time_some(&mut self, name: &str, n: usize, mut run: impl FnMut(usize) -> u64) {
        let best = (0..RUNS).map(|_| seconds(|| run(n))).fold(f64::MAX, f64::min);
        println!("{name:<40} {:>9.1} ns", best * 1e9 / n as f64);
    }

    /// Into both copies of shared tables, published at the end or after each.
    pub fn inserts(
        &mut self,
        name: &str,
        layout: &KeyLayout,
        n: usize,
        keys: impl Fn(usize) -> Vec<EntryKey>,
        one_by_one: bool,
    ) {
        if !self.wants(name) {
            return;
        }
        let keys = keys(n);
        let size = n as u32;
        let spec =
            TableSpec { layout: layout.clone(), size, data_words: 1, profile: None, const_entries: false };
        let mut control = Control::new(vec![spec], &[], 7);
        let shared = Shared::new(&control);
        let run = Run::Action(1, vec![5]);
        let took = seconds(|| {
            for key in &keys {
                let _ = control.insert(0, key, &run);
                if one_by_one {
                    shared.publish(&mut control);
                }
            }
            shared.publish(&mut control);
            0
        });
        let memory = (control.bytes() + shared.bytes()) / 1024;
        let rate = n as f64 / took / 1e3;
        println!("{name:<40} {rate:>9.0} thousand/s, {n} in {:.3} s, {memory} KiB in all", took);
    }

    /// Pins by several threads at once.
    pub fn pins(&mut self, name: &str, shared: &Shared, workers: usize) {
        const PINS: usize = 200_000;
        let total = AtomicU64::new(0);
        let took = seconds(|| {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        for _ in 0..PINS {
                            total.fetch_add(shared.pin().bytes() as u64 & 1, Ordering::Relaxed);
                        }
                    });
                }
            });
            total.load(Ordering::Relaxed)
        });
        println!("{name:<40} {:>9.1} ns", took * 1e9 / PINS as f64);
    }
}

#[allow(clippy::disallowed_methods)]
fn seconds(run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64()
}
