//! Several threads run packets on one state while another writes to it.

use crate::common;

use base_bits::Bits;
use base_time::Time;
use control_writes::Match;
use device::{Options, Switch};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use target_native::{Fate, Packet, Shared, Worker};

const WORKERS: usize = 2;

/// Packets of a batch.
const BATCH: usize = 32;

fn shared(macros: &[&str]) -> Shared {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workers.p4");
    let program = common::program_with(path, macros);
    Shared::compile(&program, Options::default()).expect("it runs").expect("it compiles")
}

fn batch(keys: impl Fn(usize) -> u8) -> Vec<Packet> {
    let frame = |at| [&[keys(at)], &[0; 20][..]].concat();
    (0..BATCH).map(|at| Packet::new(1, &frame(at)).expect("it fits")).collect()
}

fn number(packet: &Packet, from: usize, to: usize) -> u64 {
    assert_eq!(packet.fate(), Fate::Sent(1));
    packet.frame()[from..to].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The entry with this key is of this version, in both tables.
fn write(switch: &mut Switch, key: u8, version: u64, is_new: bool) {
    let bits = |width, value| Bits::new(width, u128::from(value));
    let exact = [Match::Exact(bits(8, u64::from(key)))];
    let ternary = [Match::Ternary { value: bits(8, u64::from(key)), mask: bits(8, 0xff) }];
    let pair = [bits(32, version), bits(32, version)];
    let more = [bits(64, version)];
    if is_new {
        switch.table_add("firsts", &exact, "pair", &pair, None).expect("an entry");
        switch.table_add("seconds", &ternary, "more", &more, Some(1)).expect("an entry");
    } else {
        switch.table_modify("firsts", &exact, "pair", &pair, None).expect("an entry");
        switch.table_modify("seconds", &ternary, "more", &more, Some(1)).expect("an entry");
    }
}

/// Runs batches until a stop is requested. Returns their number and the number of versions seen.
fn look(worker: &mut Worker, batches: &AtomicU64, stop: &AtomicBool) -> usize {
    let mut seen = vec![];
    while !stop.load(Ordering::Relaxed) {
        let mut packets = batch(|_| 7);
        assert_eq!(worker.process(&mut packets, Time::ZERO), []);
        let version = number(&packets[0], 5, 9);
        for packet in &packets {
            let all = [number(packet, 5, 9), number(packet, 9, 13), number(packet, 13, 21)];
            assert_eq!(all, [version; 3], "a batch sees one version of both tables");
        }
        assert!(seen.last().is_none_or(|last| *last <= version), "versions go up");
        seen.push(version);
        seen.dedup();
        batches.fetch_add(1, Ordering::Relaxed);
    }
    seen.len()
}

#[test]
fn a_batch_sees_all_of_a_write_or_nothing() {
    let shared = shared(&[]);
    shared.write(|switch| write(switch, 7, 1, true));
    let (stop, batches) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; WORKERS]);
    std::thread::scope(|scope| {
        let looking: Vec<_> = batches
            .iter()
            .map(|batches| {
                let (mut worker, stop) = (shared.worker(), &stop);
                scope.spawn(move || look(&mut worker, batches, stop))
            })
            .collect();
        for version in 2..=3000u64 {
            shared.write(|switch| write(switch, 7, version, false));
            // Others come and go, so that numbers of entries are used again.
            let other = 10 + (version % 50) as u8;
            shared.write(|switch| {
                let key = [Match::Exact(Bits::new(8, u128::from(other)))];
                switch.table_delete("firsts", &key, None).ok();
                switch.table_add("firsts", &key, "NoAction", &[], None).expect("an entry");
            });
            let before = batches.each_ref().map(|batches| batches.load(Ordering::Relaxed));
            // Now and then everybody is to have seen the last one.
            while version % 100 == 0
                && batches.iter().zip(before).any(|(now, before)| now.load(Ordering::Relaxed) < before + 2)
                && looking.iter().all(|thread| !thread.is_finished())
            {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
        for thread in looking {
            assert!(thread.join().expect("no version is torn") >= 30);
        }
    });
}

/// Batches of each worker.
const BATCHES: usize = 20_000;

/// Runs the same packets again and again in each worker, with keys that all of them use. Gives how many have each key.
fn run(shared: &Shared) -> u64 {
    let start = Barrier::new(WORKERS);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            let (mut worker, start) = (shared.worker(), &start);
            scope.spawn(move || {
                let mut packets = batch(|at| at as u8 % 4);
                start.wait();
                for _ in 0..BATCHES {
                    worker.process(&mut packets, Time::ZERO);
                }
                assert_eq!(worker.interpreted(), 0);
            });
        }
    });
    (WORKERS * BATCH * BATCHES) as u64 / 4
}

#[test]
fn no_count_is_lost() {
    let shared = shared(&[]);
    shared.write(|switch| write(switch, 3, 1, true));
    let packets = run(&shared);
    shared.write(|switch| {
        for key in 0..4 {
            let count = switch.counter_read("I.kinds", key).expect("a counter");
            assert_eq!((count.packets, count.bytes), (packets, packets * 21));
        }
        let entries = switch.table_entries("firsts").expect("a table");
        assert_eq!(entries[0].count.packets, packets);
        assert_eq!(dataplane_api::Device::counters(switch).sent, 4 * packets);
    });
}

/// Number of packets that a cell of the counter has counted.
fn read(switch: &Switch, index: u64) -> u64 {
    switch.counter_read("I.kinds", index).expect("a counter").packets
}

#[test]
fn workers_that_count_do_not_wait_for_each_other() {
    let shared = shared(&[]);
    let mut worker = shared.worker();
    // As if another worker had it: one that runs a batch of a program with atomic blocks, or makes copies.
    let taken = shared.lock();
    let (done, is_done) = std::sync::mpsc::channel();
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || {
            worker.process(&mut batch(|at| at as u8 % 4), Time::ZERO);
            done.send(()).expect("somebody waits");
        });
        let ended = is_done.recv_timeout(std::time::Duration::from_secs(30));
        drop(taken);
        ended
    });
    assert!(ended.is_ok(), "the worker waits for the switch");
    assert_eq!(read(&shared.lock(), 1), BATCH as u64 / 4);
}

#[test]
fn a_counter_that_is_set_while_packets_run_loses_none() {
    let shared = shared(&[]);
    shared.write(|switch| write(switch, 3, 1, true));
    let (is_over, mut set) = (AtomicBool::new(false), 0u64);
    // Packets of a batch have the keys in turn: a worker has counted one packet less for a key than for another at most.
    let slack = WORKERS as u64;
    let packets = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let packets = run(&shared);
            is_over.store(true, Ordering::Relaxed);
            packets
        });
        let (mut least, mut most) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            set += 1;
            let before = read(&shared.lock(), 1);
            shared.write(|switch| {
                let count = control_writes::Count { packets: set, bytes: 0 };
                switch.counter_write("I.kinds", 0, count).expect("a counter");
                assert!(read(switch, 0) >= set);
                // An entry in the place of another begins at zero, whatever runs with the other still.
                let key = [Match::Exact(Bits::new(8, 3))];
                switch.table_delete("firsts", &key, None).expect("an entry");
                switch.table_add("firsts", &key, "NoAction", &[], None).expect("an entry");
                assert_eq!(switch.table_entries("firsts").expect("a table")[0].count.packets, 0);
            });
            let switch = shared.lock();
            let (counted, hits) =
                (read(&switch, 0), switch.table_entries("firsts").expect("a table")[0].count);
            let after = read(&switch, 1);
            assert!(
                counted >= set && counted - set <= after - before + slack,
                "{counted} {set} {before} {after}"
            );
            assert!(hits.packets <= after - before + slack, "{hits:?} {before} {after}");
            (least, most) = (before, after);
        }
        let packets = running.join().expect("workers end");
        let counted = read(&shared.lock(), 0) - set;
        assert!(
            (packets.saturating_sub(most + slack)..=packets - least + slack).contains(&counted),
            "{counted} of {packets}"
        );
        packets
    });
    assert!(set > 1);
    // New workers continue the counts of workers that have ended.
    assert_eq!(run(&shared), packets);
    assert_eq!(read(&shared.lock(), 1), 2 * packets);
}

#[test]
fn what_is_atomic_is_never_interrupted() {
    let shared = shared(&["ATOMIC"]);
    let packets = run(&shared);
    shared.write(|switch| {
        for key in 0..4 {
            let cell = dataplane_api::Device::register_read(switch, "I.cells", key).expect("a cell");
            assert_eq!(cell.to_u64(), Some(packets));
        }
    });
}
