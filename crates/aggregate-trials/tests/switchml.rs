//! SwitchML's packets and rules: the printed program between workers that lose and repeat packets.

use aggregate::Datagram;
use aggregate::datagram::mac;
use aggregate::switchml::{PORT, VALUES, source};
use aggregate_trials::{Compiled, Engine, compile, start};
use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use dataplane_api::Device as _;
use device::Switch;
use std::collections::VecDeque;

const SWITCH: u32 = 0x0a00_00fe;
const JOB: u8 = 7;
const GROUP: u32 = 3;

fn address(worker: u16) -> u32 {
    0x0a00_0101 + u32::from(worker)
}

/// A device whose job has `slots` slots from slot 2 on, with worker `n` at port `n + 1`.
fn device(compiled: &Compiled, engine: Engine, workers: u16, slots: u32) -> Switch {
    let mut switch = start(compiled, engine).expect("it runs");
    let exact = |width, value: u64| Match::Exact(Bits::new(width, value.into()));
    let all = u64::from(workers);
    for worker in 0..workers {
        let keys = [exact(9, u64::from(worker) + 1), exact(32, address(worker).into()), exact(8, JOB.into())];
        let args = [(32, 1 << worker), (32, all), (16, GROUP.into()), (32, 2), (32, slots.into())];
        let args = args.map(|(width, value): (u32, u64)| Bits::new(width, value.into()));
        switch.table_add("MlIngress.workers", &keys, "MlIngress.serve", &args, None).expect("it is added");
        let card = mac(address(worker)).iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte));
        let args = [Bits::new(48, card), Bits::new(32, address(worker).into())];
        let keys = [exact(16, u64::from(worker) + 1)];
        switch.table_add("MlEgress.receivers", &keys, "MlEgress.to", &args, None).expect("it is added");
    }
    switch.multicast_group_set(GROUP, (1..=workers).map(|at| (u32::from(at), at)).collect());
    switch
}

/// The payload of a packet: slot and set, number, values, exponent.
fn payload(kind: u8, (slot, set): (u16, u16), tsi: u32, values: &[u32], exponent: u16) -> Vec<u8> {
    let mut bytes = vec![kind << 4 | 1, JOB];
    bytes.extend(tsi.to_be_bytes());
    bytes.extend((set << 15 | slot).to_be_bytes());
    values.iter().for_each(|value| bytes.extend(value.to_be_bytes()));
    bytes.extend(exponent.to_be_bytes());
    bytes
}

fn datagram(worker: u16, payload: Vec<u8>) -> Datagram {
    Datagram { source: address(worker), destination: SWITCH, port: PORT + 2, ecn: 0, payload }
}

/// Worker and payload of each packet that comes out for a packet of a worker.
fn pass(switch: &mut Switch, worker: u16, datagram: &Datagram) -> Vec<(u16, Vec<u8>)> {
    let frame = datagram.frame(mac(datagram.source), mac(datagram.destination));
    let queued = switch.ingress(u32::from(worker) + 1, frame, Time::ZERO);
    let mut came = vec![];
    for output in switch.drain(queued, Time::ZERO) {
        let to = output.port as u16 - 1;
        let answer = Datagram::parse(&output.frame).expect("it is a datagram");
        assert_eq!(output.frame[..6], mac(address(to)), "the card of its receiver");
        assert_eq!((answer.source, answer.destination), (SWITCH, address(to)));
        came.push((to, answer.payload));
    }
    came.sort();
    came
}

fn engines(slots: u32, check: impl Fn(&Compiled, Engine)) {
    let compiled = compile(&source(slots).expect("there are not too many")).expect("it compiles");
    check(&compiled, Engine::Native);
    check(&compiled, Engine::Interpreter);
}

#[test]
fn packets_are_those_of_the_public_program() {
    engines(4, |compiled, engine| {
        let mut switch = device(compiled, engine, 2, 2);
        let of = |worker: u16, value: u32, set| {
            let values: Vec<u32> = (0..VALUES as u32).map(|at| at.wrapping_mul(value)).collect();
            datagram(worker, payload(0, (1, set), 9, &values, 40 + worker))
        };
        assert_eq!(pass(&mut switch, 0, &of(0, 5, 0)), []);
        // A copy is not added, and there is no result to answer with.
        assert_eq!(pass(&mut switch, 0, &of(0, 5, 0)), []);
        let sums: Vec<u32> =
            (0..VALUES as u32).map(|at| at.wrapping_mul(5).wrapping_add(at.wrapping_mul(u32::MAX))).collect();
        let result = payload(1, (1, 0), 9, &sums, 41);
        assert_eq!(result.len(), 8 + 4 * VALUES + 2);
        assert_eq!(result[..8], [0x11, 7, 0, 0, 0, 9, 0, 1]);
        let both = [(0, result.clone()), (1, result.clone())];
        assert_eq!(pass(&mut switch, 1, &of(1, u32::MAX, 0)), both);
        // Worker 0 has not received it, and asks again: alone.
        assert_eq!(pass(&mut switch, 0, &of(0, 5, 0)), both[..1]);
        // The other set, and then the first one again, with other values and a smaller exponent.
        assert_eq!(pass(&mut switch, 0, &of(0, 1, 1)), []);
        assert_eq!(pass(&mut switch, 1, &of(1, 2, 1)).len(), 2);
        let low = |worker| {
            let values = [3 + u32::from(worker); VALUES];
            datagram(worker, payload(0, (1, 0), 11, &values, 1))
        };
        assert_eq!(pass(&mut switch, 1, &low(1)), []);
        let result = payload(1, (1, 0), 11, &[7; VALUES], 1);
        assert_eq!(pass(&mut switch, 0, &low(0)), [(0, result.clone()), (1, result)]);
    });
}

#[test]
fn packets_of_nobody_are_counted_and_change_nothing() {
    engines(4, |compiled, engine| {
        let mut switch = device(compiled, engine, 1, 2);
        let right = payload(0, (1, 0), 0, &[1; VALUES], 0);
        let mut other_job = right.clone();
        other_job[1] = 8;
        let mut other_size = right.clone();
        other_size[0] = 3;
        let mut beyond = right.clone();
        beyond[7] = 2;
        let mut counted = 0;
        for wrong in [other_job, other_size, beyond] {
            assert_eq!(pass(&mut switch, 0, &datagram(0, wrong)), []);
            counted += 1;
        }
        // The right address at another port.
        assert_eq!(pass(&mut switch, 5, &datagram(0, right.clone())), []);
        assert_eq!(
            switch.counter_read("MlIngress.refused", 0).ok().map(|count| count.packets),
            Some(counted + 1)
        );
        assert_eq!(pass(&mut switch, 0, &datagram(0, right[..100].to_vec())), []);
        // Another port is no port of SwitchML, and the datagram has no route.
        let elsewhere = Datagram { port: 0xbef0, ..datagram(0, right.clone()) };
        assert_eq!(pass(&mut switch, 0, &elsewhere), []);
        assert_eq!(pass(&mut switch, 0, &datagram(0, right)).len(), 1);
    });
    assert_eq!((source(0), source((1 << 14) + 1)), (None, None));
}

/// A worker, as SwitchML's paper has it: a slot's next packet is in the other set.
struct Worker {
    values: Vec<u32>,
    /// By slot: the chunk that waits for its result.
    waits: Vec<Option<usize>>,
    sums: Vec<u32>,
}

impl Worker {
    fn packet(&self, worker: u16, slot: usize, slots: usize) -> Option<Datagram> {
        let chunk = self.waits[slot]?;
        let set = (chunk / slots % 2) as u16;
        let values = &self.values[chunk * VALUES..(chunk + 1) * VALUES];
        Some(datagram(worker, payload(0, (slot as u16, set), chunk as u32, values, 0)))
    }
}

#[test]
fn sums_are_exact_if_packets_are_lost_and_repeated() {
    const WORKERS: u16 = 3;
    const SLOTS: usize = 4;
    const CHUNKS: usize = 30;
    engines(6, |compiled, engine| {
        for seed in features::seeds(3, 100) {
            let mut chance = Rng::new(seed);
            let mut switch = device(compiled, engine, WORKERS, SLOTS as u32);
            let worker = |chance: &mut Rng| Worker {
                values: (0..CHUNKS * VALUES).map(|_| chance.below(1 << 32) as u32).collect(),
                waits: (0..SLOTS).map(Some).collect(),
                sums: vec![0; CHUNKS * VALUES],
            };
            let mut workers: Vec<Worker> = (0..WORKERS).map(|_| worker(&mut chance)).collect();
            // Links keep their order.
            let mut queue: VecDeque<(u16, Datagram)> = VecDeque::new();
            let mut passes = 0;
            while workers.iter().any(|worker| worker.waits.iter().any(Option::is_some)) {
                if queue.is_empty() {
                    for (at, worker) in (0..).zip(&workers) {
                        let packets = (0..SLOTS).filter_map(|slot| worker.packet(at, slot, SLOTS));
                        queue.extend(packets.map(|packet| (at, packet)));
                    }
                }
                passes += 1;
                assert!(passes < 20_000, "seed {seed}: nothing goes on");
                let Some((from, packet)) = queue.pop_front() else { break };
                if chance.chance(1, 5) {
                    continue;
                }
                for (to, bytes) in pass(&mut switch, from, &packet) {
                    let worker = &mut workers[usize::from(to)];
                    let slot = usize::from(bytes[7]);
                    let chunk = u32::from_be_bytes(bytes[2..6].try_into().expect("four bytes")) as usize;
                    if chance.chance(1, 5) || worker.waits[slot] != Some(chunk) {
                        continue;
                    }
                    for (sum, value) in worker.sums[chunk * VALUES..].iter_mut().zip(bytes[8..264].chunks(4))
                    {
                        *sum = value.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                    }
                    worker.waits[slot] = Some(chunk + SLOTS).filter(|next| *next < CHUNKS);
                    if let Some(next) = worker.packet(to, slot, SLOTS) {
                        // Now and then twice.
                        let copies = 1 + usize::from(chance.chance(1, 5));
                        queue.extend(std::iter::repeat_n((to, next), copies));
                    }
                }
            }
            let sum =
                |at: usize| workers.iter().fold(0u32, |sum, worker| sum.wrapping_add(worker.values[at]));
            let wanted: Vec<u32> = (0..CHUNKS * VALUES).map(sum).collect();
            assert!(workers.iter().all(|worker| worker.sums == wanted), "seed {seed}");
        }
    });
}
