//! Runs and prints.

use crate::draw::LOOKUPS;
use dataplane_tables::*;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

const RUNS: usize = 7;

/// Lookups that are timed together.
const PIECE: usize = 2048;

/// A batch as the engine has them.
const BATCH: usize = 64;

/// Prints the results of measurements.
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

    /// Lookups one by one and in batches. Every lookup reads the action of the entry that it finds.
    pub fn lookups(&mut self, name: &str, table: &Table, traffic: &[Vec<u64>]) {
        let flat: Vec<u64> = traffic.concat();
        let words = flat.len() / traffic.len();
        println!("{name}: {}, {} KiB", table.structure(), table.bytes() / 1024);
        let part = |range: Range<usize>| &flat[range.start * words..range.end * words];
        self.time("  lookup", |range| {
            part(range).chunks_exact(words).map(|key| table.records().action(table.lookup(key))[1]).sum()
        });
        self.time("  lookup_batch", |range| {
            let mut found = [0; BATCH];
            let batch = |keys: &[u64]| {
                table.lookup_batch(keys, &mut found);
                found.iter().map(|entry| table.records().action(*entry)[1]).sum::<u64>()
            };
            part(range).chunks_exact(BATCH * words).map(batch).sum()
        });
    }

    /// Times runs over the whole traffic.
    pub fn time(&mut self, name: &str, run: impl FnMut(Range<usize>) -> u64) {
        self.time_some(name, LOOKUPS, run);
    }

    /// Times the first `n` lookups, in pieces; of each piece the fastest run counts. A piece is short enough that some
    /// run of it is undisturbed.
    pub fn time_some(&mut self, name: &str, n: usize, mut run: impl FnMut(Range<usize>) -> u64) {
        let piece = PIECE.min(n);
        let mut best = vec![f64::MAX; n / piece];
        for _ in 0..RUNS {
            for (i, best) in best.iter_mut().enumerate() {
                *best = best.min(seconds(|| run(i * piece..(i + 1) * piece)));
            }
        }
        let nanoseconds = best.iter().sum::<f64>() * 1e9 / (best.len() * piece) as f64;
        println!("{name:<40} {nanoseconds:>9.1} ns");
    }

    /// Into both copies of shared tables, published at the end or after each; in CPU time.
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
        let started = cpu_seconds();
        for key in &keys {
            let _ = control.insert(0, key, &run);
            if one_by_one {
                shared.publish(&mut control);
            }
        }
        shared.publish(&mut control);
        let took = cpu_seconds() - started;
        let memory = (control.bytes() + shared.bytes()) / 1024;
        let rate = n as f64 / took / 1e3;
        println!("{name:<40} {rate:>9.0} thousand/s, {n} in {took:.3} s, {memory} KiB in all");
    }

    /// Pins by several threads at once; in CPU time.
    pub fn pins(&mut self, name: &str, shared: &Shared, workers: usize) {
        const PINS: usize = 1_000_000;
        let worker = || {
            let started = cpu_seconds();
            (0..PINS).for_each(|_| drop(black_box(shared.pin())));
            cpu_seconds() - started
        };
        let took: f64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).sum()
        });
        println!("{name:<40} {:>9.1} ns", took * 1e9 / (PINS * workers) as f64);
    }
}

#[allow(clippy::disallowed_methods)]
fn seconds(run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64()
}

/// CPU time of this thread, by Linux's scheduler; 0 elsewhere.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
