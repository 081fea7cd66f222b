//! Reports of workers to the control plane: in order, bounded, and without waiting for each other or for writers.

use crate::common;

use base_bits::Bits;
use base_time::Time;
use control_writes::Match;
use dataplane_api::Device;
use device::{Options, Reports, Switch};
use ir_value::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use target_native::{Packet, Shared, Worker};

/// As many as a worker's queue keeps.
const KEPT: usize = 4096;

/// Packets of a batch.
const BATCH: usize = 32;

fn shared(macros: &[&str]) -> Shared {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports.p4");
    let program = common::program_with(path, macros);
    Shared::compile(&program, Options::default()).expect("it runs").expect("it compiles")
}

/// Packets with the numbers from `first` on.
fn run(worker: &mut Worker, name: u8, first: usize, packets: usize) {
    let numbers: Vec<_> = (first..first + packets).collect();
    for numbers in numbers.chunks(BATCH) {
        let frame = |number: &usize| [&[name], &(*number as u32).to_be_bytes()[..]].concat();
        let mut packets: Vec<_> =
            numbers.iter().map(|number| Packet::new(1, &frame(number)).expect("it fits")).collect();
        assert_eq!(worker.process(&mut packets, Time::ZERO), []);
    }
}

/// Worker and number of each report.
fn heard(reports: &Reports) -> Vec<(u8, usize)> {
    let number = |value: &Value| value.as_bits().and_then(Bits::to_u64).expect("a number");
    let heard = reports.digests.iter().map(|digest| match &digest.data {
        Value::Header(header) => (number(&header.fields[0]) as u8, number(&header.fields[1]) as usize),
        other => panic!("{other:?}"),
    });
    heard.collect()
}

fn add(switch: &mut Switch, key: u8) {
    let key = [Match::Exact(Bits::new(8, u128::from(key)))];
    switch.table_add("kinds", &key, "NoAction", &[], None).expect("an entry");
}

/// Two workers report each packet, one thread takes the reports, and one writes: every packet is reported or counted as lost.
fn report_while_others_write(shared: &Shared) {
    const PACKETS: usize = 40_000;
    let running = AtomicUsize::new(2);
    let (mut next, mut taken_count, mut lost) = ([0; 2], 0, 0);
    std::thread::scope(|scope| {
        for name in 0..2 {
            let (mut worker, running) = (shared.worker(), &running);
            scope.spawn(move || {
                run(&mut worker, name, 0, PACKETS);
                running.fetch_sub(1, Ordering::Release);
            });
        }
        scope.spawn(|| (10..200).for_each(|key| shared.write(|switch| add(switch, key))));
        loop {
            let is_over = running.load(Ordering::Acquire) == 0;
            let taken = shared.take_reports();
            for (worker, number) in heard(&taken) {
                assert!(number >= next[usize::from(worker)], "those of a worker are in order");
                next[usize::from(worker)] = number + 1;
            }
            taken_count += taken.digests.len() + taken.log.len();
            lost += taken.lost as usize;
            if is_over {
                break;
            }
        }
    });
    assert_eq!(taken_count + lost, 2 * 2 * PACKETS);
    shared.write(|switch| {
        assert_eq!((switch.counters().received, switch.counters().sent), (80_000, 80_000));
        assert_eq!(switch.table_entries("kinds").expect("a table").len(), 190);
    });
}

#[test]
fn what_is_reported_is_taken_in_order_or_counted_as_lost() {
    report_while_others_write(&shared(&[]));
}

#[test]
fn so_it_is_where_packets_lock_the_switch() {
    report_while_others_write(&shared(&["METER"]));
}

#[test]
fn a_queue_keeps_the_oldest_and_counts_the_rest() {
    for macros in [&[][..], &["METER"]] {
        let shared = shared(macros);
        let (mut first, mut second) = (shared.worker(), shared.worker());
        run(&mut first, 1, 0, KEPT + 100);
        run(&mut second, 2, 0, 10);
        let reports = shared.take_reports();
        let wanted: Vec<_> = (0..KEPT).map(|number| (1, number)).chain((0..10).map(|n| (2, n))).collect();
        assert_eq!(heard(&reports), wanted);
        assert_eq!((reports.log.len(), reports.lost), (KEPT + 10, 200));
        assert_eq!(shared.take_reports(), Reports::default());
        // There is room again.
        run(&mut first, 1, 7, 1);
        assert_eq!(heard(&shared.take_reports()), [(1, 7)]);
    }
}

#[test]
fn who_writes_and_who_reports_do_not_meet() {
    let shared = shared(&[]);
    let mut worker = shared.worker();
    // A batch ends while the switch is locked.
    shared.write(|switch| {
        run(&mut worker, 1, 0, 3);
        add(switch, 1);
    });
    // A write takes no reports, and sees the counts.
    assert_eq!(shared.write(|switch| (switch.take_digests(), switch.counters().sent)), (vec![], 3));
    assert_eq!(heard(&shared.take_reports()), [(1, 0), (1, 1), (1, 2)]);
}

#[test]
fn what_a_worker_reported_outlives_it_and_queues_do_not_pile_up() {
    let shared = shared(&[]);
    for number in 0..2 * KEPT {
        run(&mut shared.worker(), 1, number, 1);
    }
    let reports = shared.take_reports();
    assert_eq!(heard(&reports), (0..KEPT).map(|number| (1, number)).collect::<Vec<_>>());
    assert_eq!(reports.lost, 2 * KEPT as u64);
    assert_eq!(shared.write(|switch| switch.counters().received), 2 * KEPT as u64);
}
