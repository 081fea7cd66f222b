//! Several workers, each with the packets of some flows: those of a flow are never overtaken.

use crate::common;

use base_time::Time;
use device::Options;
use std::sync::mpsc;
use target_native::{Packet, Shared, Worker, flow};

const WORKERS: usize = 3;
const FLOWS: u8 = 50;
const PACKETS: u32 = 400;
const BATCH: usize = 16;

fn shared() -> Shared {
    let program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flows.p4"));
    Shared::compile(&program, Options::default()).expect("it runs").expect("it compiles")
}

fn frame(flow: u8, number: u32) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[11] = flow;
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn packet(frame: &[u8]) -> Packet {
    Packet::new(1, frame).expect("it fits")
}

/// Packets that did not follow the one before them.
fn overtaken(shared: &Shared) -> u64 {
    shared.write(|switch| switch.counter_read("I.overtaken", 0).expect("a counter").packets)
}

/// Runs what comes; gives how many packets that was.
fn work(mut worker: Worker, batches: mpsc::Receiver<Vec<Packet>>) -> usize {
    let run = |mut batch: Vec<Packet>| {
        worker.process(&mut batch, Time::ZERO);
        batch.len()
    };
    batches.into_iter().map(run).sum()
}

#[test]
fn flows_stay_in_order() {
    let shared = shared();
    let had = std::thread::scope(|scope| {
        let (queues, working): (Vec<_>, Vec<_>) = (0..WORKERS)
            .map(|_| {
                let (queue, batches) = mpsc::channel();
                let worker = shared.worker();
                (queue, scope.spawn(move || work(worker, batches)))
            })
            .unzip();
        let mut batches = vec![vec![]; WORKERS];
        for frame in (1..=PACKETS).flat_map(|number| (0..FLOWS).map(move |flow| frame(flow, number))) {
            let worker = flow(&frame) as usize % WORKERS;
            batches[worker].push(packet(&frame));
            if batches[worker].len() == BATCH {
                queues[worker].send(std::mem::take(&mut batches[worker])).expect("it works");
            }
        }
        queues.iter().zip(batches).for_each(|(queue, rest)| queue.send(rest).expect("it works"));
        drop(queues);
        working.into_iter().map(|thread| thread.join().expect("it ends")).collect::<Vec<usize>>()
    });
    assert_eq!(overtaken(&shared), 0);
    assert_eq!(had.iter().sum::<usize>(), PACKETS as usize * usize::from(FLOWS));
    assert!(had.iter().all(|packets| *packets > 0), "{had:?}");
}

#[test]
fn the_program_notices_what_is_overtaken() {
    let shared = shared();
    let [mut first, mut second] = [shared.worker(), shared.worker()];
    second.process(&mut [packet(&frame(7, 2))], Time::ZERO);
    first.process(&mut [packet(&frame(7, 1))], Time::ZERO);
    // The second one does not follow the first, nor the first the second.
    assert_eq!(overtaken(&shared), 2);
}
