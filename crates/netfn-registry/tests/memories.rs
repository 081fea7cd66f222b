//! Broken memories of all frame externs: what is no memory is refused and changes nothing, all else makes an instance that works.
//!
//! `P4RACK_FUZZ_MEMORIES` says how many memories of each are broken, `P4RACK_FUZZ_SEED` where to begin.
#![allow(clippy::disallowed_methods)] // Settings come from the environment.

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Emitter, Form, FrameExtern, ValueExtern};
use features::setting;

fn bits(values: &[(u32, u128)]) -> Vec<Bits> {
    values.iter().map(|(width, value)| Bits::new(*width, *value)).collect()
}

/// Functions that frames pass in series: name, constructor arguments, call arguments.
type Stage = (&'static str, &'static [(u32, u128)], &'static [(u32, u128)]);

const PORT: (u32, u128) = (16, 1);
const WAYS: [&[Stage]; 4] = [
    &[("beacon", &[(32, 3), (48, 50)], &[])],
    &[
        ("fec-encode", &[(48, 50)], &[PORT, (8, 1), (8, 5), (8, 2)]),
        ("fec-decode", &[(48, 20), (8, 4), (32, 20), (32, 1000)], &[PORT]),
    ],
    &[("header-compress", &[(16, 4), (16, 9)], &[PORT]), ("header-decompress", &[(16, 4)], &[PORT])],
    &[("kv-cache", &[(32, 3), (48, 1000)], &[])],
];

/// Frames of UDP, of memcached's requests and answers.
fn frame(n: u16) -> Vec<u8> {
    let key = n / 2 % 5;
    let is_answer = n % 2 == 1;
    let text = match (is_answer, n / 2 % 3) {
        (false, 2) => format!("set k{key} 0 0 3\r\nabc\r\n"),
        (false, _) => format!("get k{key} k0\r\n"),
        (true, 2) => "STORED\r\n".to_string(),
        (true, _) => format!("VALUE k{key} 0 3\r\nabc\r\nEND\r\n"),
    };
    let ports: [u8; 4] = if is_answer { [0x2b, 0xcb, 15, 160] } else { [15, 160, 0x2b, 0xcb] };
    let id = (n / 2).to_be_bytes();
    let length = 16 + text.len() as u16;
    let udp =
        [&ports[..], &length.to_be_bytes(), &[0, 0], &id, &[0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
    let hosts: [u8; 8] = if is_answer { [10, 0, 0, 2, 10, 0, 0, 1] } else { [10, 0, 0, 1, 10, 0, 0, 2] };
    let total = (length + 20).to_be_bytes();
    let mut ip = [&[0x45, 0], &total[..], &id, &[0x40, 0, 64, 17, 0, 0], &hosts].concat();
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0], &ip[..], &udp].concat()
}

/// Frames go through, and timers run; what comes out.
fn through(
    function: &mut dyn FrameExtern,
    args: &[Bits],
    frames: &[Vec<u8>],
    now: &mut Time,
) -> Vec<Vec<u8>> {
    let mut out = Emitter::default();
    for frame in frames {
        *now += Duration::from_us(4);
        if let Some(due) = function.deadline().filter(|due| *due <= *now) {
            function.tick(due.max(*now), &mut out);
        }
        function.call("", args, frame, *now, &mut out);
    }
    out.take().into_iter().map(|emitted| emitted.frame).collect()
}

/// A memory with something wrong, or another that begins like it.
fn broken(rng: &mut Rng, memory: &[u8]) -> Vec<u8> {
    let mut bytes = memory.to_vec();
    let at = rng.index(bytes.len());
    match rng.below(6) {
        0 => bytes.truncate(at),
        1 => (0..rng.between(1, 8)).for_each(|_| bytes.push(rng.next_u8())),
        // Of lengths and counts, as large as can be.
        2 => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = 0xff),
        3 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0),
        4 => {
            let noise = rng.bytes(rng.clone().index(300));
            bytes.splice(at.., noise);
        }
        _ => (0..rng.between(1, 3)).for_each(|_| bytes[rng.index(memory.len())] ^= 1 << rng.below(8)),
    }
    bytes
}

#[test]
fn a_broken_memory_is_refused_or_works() {
    let mut names: Vec<&str> = WAYS.iter().copied().flatten().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, netfn_registry::all().names().collect::<Vec<_>>(), "every function is tried");
    let first = setting("P4RACK_FUZZ_SEED", 0);
    for way in WAYS {
        let mut frames: Vec<Vec<u8>> = (0..150).map(frame).collect();
        for (name, constructor, args) in way {
            let (constructor, args) = (bits(constructor), bits(args));
            let make = || netfn_registry::all().get(name).unwrap()(&constructor).unwrap();
            let (mut function, mut now) = (make(), Time::ZERO);
            let came = through(&mut *function, &args, &frames, &mut now);
            let (memory, fresh) = (function.snapshot(), make().snapshot());
            let mut refused = 0;
            let count = setting("P4RACK_FUZZ_MEMORIES", 2000);
            for seed in first..first + count {
                let bytes = broken(&mut Rng::new(seed), &memory);
                let mut other = make();
                if other.restore(&bytes).is_err() {
                    refused += 1;
                    assert!(
                        other.snapshot() == fresh,
                        "{name}, seed {seed}: refused, and something has changed"
                    );
                    continue;
                }
                through(&mut *other, &args, &frames[..40], &mut now.clone());
                assert!(other.snapshot().len() < memory.len() * 3 + 10_000, "{name}, seed {seed}");
            }
            assert!(refused * 4 > count, "{name}: {refused} of {count} are refused");
            frames = came;
        }
    }
}

/// A value extern with memory: its name, the constructor's arguments, how many inputs its first method has, and how many outputs.
type Object = (&'static str, &'static [(u32, u128)], usize, usize);

const VALUES: [Object; 3] =
    [("ewma", &[(8, 3)], 1, 1), ("keyed-register", &[(32, 40)], 2, 0), ("rtt", &[(32, 100)], 1, 3)];

#[test]
fn a_broken_memory_of_a_value_extern_is_refused_or_works() {
    let all = netfn_registry::all();
    let is_object = |name: &&str| all.value(name).unwrap().form == Form::Object;
    let names: Vec<&str> = all.value_names().filter(is_object).collect();
    assert_eq!(names, VALUES.map(|(name, ..)| name), "every object is tried");
    let first = setting("P4RACK_FUZZ_SEED", 0);
    let count = setting("P4RACK_FUZZ_MEMORIES", 2000);
    for (name, args, inputs, outputs) in VALUES {
        let make = || (all.value(name).unwrap().make)(&bits(args)).unwrap();
        let run = |object: &mut dyn ValueExtern, samples: &mut Rng| {
            for _ in 0..40 {
                let given: Vec<Bits> = (0..inputs).map(|_| Bits::new(32, samples.next_u128())).collect();
                object.call(0, &given, &mut vec![Bits::zero(32); outputs], Time::ZERO);
            }
        };
        let mut object = make();
        run(&mut *object, &mut Rng::new(1));
        let (memory, fresh) = (object.snapshot(), make().snapshot());
        let mut refused = 0;
        for seed in first..first + count {
            let mut rng = Rng::new(seed);
            let mut other = make();
            if other.restore(&broken(&mut rng, &memory)).is_err() {
                refused += 1;
                assert!(other.snapshot() == fresh, "{name}, seed {seed}: refused, and something has changed");
            } else {
                run(&mut *other, &mut rng);
                assert_eq!(other.snapshot().len(), memory.len(), "{name}, seed {seed}");
            }
        }
        assert!(refused * 4 > count, "{name}: {refused} of {count} are refused");
    }
}
