//! Idle timers that compiled code restarts, and value sets that it reads as bits: the control plane sees the same as with the interpreter, to the picosecond.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::Match;
use dataplane_api::{Device as _, Output};
use device::{IdleEntry, Options, Switch};
use ir::Program;
use std::sync::Arc;
use target_native::{Engine, Fate, Packet, Shared, Worker};

/// One device: the interpreter, an engine, or a worker of a shared state.
enum Device {
    Interpreter(Box<Switch>),
    Engine(Box<Engine>),
    Shared(Shared, Box<Worker>),
}

impl Device {
    fn write<R>(&mut self, work: impl FnOnce(&mut Switch) -> R) -> R {
        match self {
            Device::Interpreter(switch) => work(switch),
            Device::Engine(engine) => work(engine.switch()),
            Device::Shared(shared, _) => shared.write(work),
        }
    }

    fn packet(&mut self, port: u32, frame: &[u8], now: Time) -> Vec<Output> {
        let mut packet = Packet::new(port, frame).expect("it fits");
        let packets = std::slice::from_mut(&mut packet);
        let mut outputs = match self {
            Device::Interpreter(switch) => return switch.process(port, frame, now),
            Device::Engine(engine) => engine.process(packets, now),
            Device::Shared(_, worker) => worker.process(packets, now),
        };
        if let Fate::Sent(port) = packet.fate() {
            outputs.push(Output { port, frame: packet.frame().to_vec() });
        }
        outputs
    }
}

fn number(width: u32, value: u64) -> Bits {
    Bits::new(width, u128::from(value))
}

/// A key of the tables: exact in one, ternary in the other.
fn key(table: &str, value: u64) -> (Vec<Match>, Option<i64>) {
    match table {
        "plain" => (vec![Match::Exact(number(8, value))], None),
        _ => (vec![Match::Ternary { value: number(8, value), mask: number(8, 0xff) }], Some(1)),
    }
}

/// A random write to a device; whether it was done.
fn write(switch: &mut Switch, rng: &mut Rng, now: Time) -> bool {
    let table = ["plain", "counted"][rng.index(2)];
    let (keys, priority) = key(table, rng.below(4));
    match rng.below(8) {
        0 | 1 => {
            let args = [number(8, rng.below(256)), number(9, rng.below(4))];
            let (action, args) = if table == "plain" { ("put", &args[..]) } else { ("add", &args[..1]) };
            let Ok(handle) = switch.table_add(table, &keys, action, args, priority) else { return false };
            let timeout = rng.chance(3, 4).then(|| Duration::from_ps(1 + rng.below(40_000)));
            switch.table_set_idle_timeout(table, handle, timeout, now).is_ok()
        }
        2 => switch.table_delete(table, &keys, priority).is_ok(),
        3 => {
            let timeout = rng.chance(1, 2).then(|| Duration::from_ps(rng.below(40_000)));
            switch.table_set_idle_timeout(table, rng.below(12), timeout, now).is_ok()
        }
        4 => switch.value_set_clear(["links", "kinds"][rng.index(2)]).is_ok(),
        5 | 6 => {
            switch.value_set_add("links", &[Match::Exact(number(9, [0, 3, 64, 511][rng.index(4)]))]).is_ok()
        }
        _ => switch.value_set_add("kinds", &[Match::Exact(number(8, rng.below(4)))]).is_ok(),
    }
}

/// All that shows: packets, entries that were reported as idle, and counts.
#[derive(PartialEq, Debug, Default)]
struct Seen {
    outputs: Vec<Vec<Output>>,
    idle: Vec<IdleEntry>,
    done: Vec<bool>,
    state: std::collections::BTreeMap<String, Vec<u8>>,
}

fn run(device: &mut Device, seed: u64) -> Seen {
    let (mut rng, mut seen, mut now) = (Rng::new(seed), Seen::default(), Time::ZERO);
    for _ in 0..400 {
        let most = [10, 10_000, 60_000][rng.index(3)];
        now += Duration::from_ps(rng.below(most));
        match rng.below(6) {
            0 => {
                let mut rng = rng.split("write");
                seen.done.push(device.write(|switch| write(switch, &mut rng, now)));
            }
            1 => seen.idle.extend(device.write(|switch| switch.take_idle(now))),
            _ => {
                let port = [0, 3, 5, 64, 511][rng.index(5)];
                seen.outputs.push(device.packet(port, &[rng.below(5) as u8, 1, 2, 3], now));
            }
        }
        rng.next_u64();
    }
    seen.state = device.write(|switch| switch.state());
    seen
}

#[test]
fn timers_and_value_sets_are_those_of_the_interpreter() {
    let path = format!("{}/tests/idle.p4", env!("CARGO_MANIFEST_DIR"));
    let program: Arc<Program> = Arc::new(common::program_at(&path));
    let (mut idle, mut done, mut links) = (0, 0, 0);
    for seed in 0..40 {
        let interpreter = ir_interp::switch(Arc::clone(&program), Options::default()).expect("a device");
        let wanted = run(&mut Device::Interpreter(Box::new(interpreter)), seed);
        let engine = Engine::compile(&program, Options::default()).expect("it compiles");
        assert_eq!(engine.report().fallbacks, vec![]);
        let seen = run(&mut Device::Engine(Box::new(engine)), seed);
        assert_eq!(seen, wanted, "seed {seed}, an engine");
        let shared = Shared::new(&program, Options::default()).expect("a device");
        let worker = Box::new(shared.worker());
        let seen = run(&mut Device::Shared(shared, worker), seed);
        assert_eq!(seen, wanted, "seed {seed}, a worker");
        idle += seen.idle.len();
        done += seen.done.iter().filter(|done| **done).count();
        links += seen.outputs.iter().flatten().filter(|output| output.frame[2] == 0x55).count();
    }
    assert!(idle > 100 && done > 250 && links > 300, "{idle} {done} {links}");
}
