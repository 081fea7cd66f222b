//! A split program while links, devices and the controller's channels fail, and while another plan takes over: every
//! frame received is one that a run without faults receives, and none arrives twice.
//!
//! `P4RACK_RACK_FAULT_SEEDS` says how many seeds; the coverage is printed with `--nocapture`.

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use p4rack::{Racked, rack, up};
use rack_emulator::Emulator;
use rack_model::{
    DeviceId, Fault, FaultKind, HostId, LinkId, NodeId, Placement, Probability, Replace, Spanned,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The link that hand-overs take.
const INNER: LinkId = LinkId(2);

/// From h1 and h2 to the other, this many frames each.
const FRAMES: u64 = 60;

type Arrivals = BTreeMap<(u32, Vec<u8>), u64>;

fn slice() -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice/plain.toml");
    let mut racked =
        rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.workloads.clear();
    // Where answers are lost, a controller waits longer and longer.
    racked.rack.until = Some(Time::ZERO + Duration::from_ms(300_000));
    racked.rack.links.iter_mut().for_each(|link| link.loss = Probability::ZERO);
    racked
}

/// Frame `n` of host 1 or 2: IPv4 and UDP with a number in it, for the other host.
fn frame(host: u8, n: u64) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, host, 2, 0, 0, 0, host, 1, 8, 0];
    let mut ip = vec![0x45, 0, 0, 48, 0, n as u8, 0, 0, 64, 17, 0, 0, 10, 0, host, 1, 10, 0, 3 - host, 1];
    let words = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend([0x1b, 0x57, if n.is_multiple_of(2) { 0x1b } else { 0x23 }, 0x58, 0, 28, 0, 0]);
    frame.extend((0..20).map(|i| (n as u8).wrapping_mul(7).wrapping_add(i)));
    frame
}

/// The rack with hosts that send and listen.
fn bring_up(racked: &Racked) -> up::Running {
    let mut running = up::bring_up(racked).unwrap();
    let emulator = &mut running.emulator;
    for host in [1, 2] {
        emulator.listen(HostId(host - 1));
        for n in 0..FRAMES {
            let at = Time::ZERO + Duration::from_us(8 * n + 4 * u64::from(host));
            assert!(emulator.send(HostId(host - 1), frame(host as u8, n), at));
        }
    }
    running
}

fn arrivals(emulator: &mut Emulator) -> Arrivals {
    let mut arrivals = Arrivals::new();
    for host in [0, 1] {
        for received in emulator.take_received(HostId(host)) {
            *arrivals.entry((host, received.frame)).or_default() += 1;
        }
    }
    arrivals
}

fn draw(rng: &mut Rng) -> Fault {
    let link = LinkId(rng.below(3) as u32);
    let device = DeviceId(rng.below(2) as u32);
    let agent = rng.next_bool().then_some(device);
    let kind = match rng.below(8) {
        0 => FaultKind::LinkDown(link),
        1 => {
            let from = rng.next_bool().then_some(NodeId::Device(DeviceId(0)));
            FaultKind::Loss { link, from, share: Probability::from_ppb(rng.between(1, 900_000_000) as u32) }
        }
        2 => FaultKind::Delay { link, by: Duration::from_us(rng.between(1, 50)) },
        3 => FaultKind::DeviceDown(device),
        4 => FaultKind::Slow { device, factor: rng.between(2, 20) as u32 },
        5 => FaultKind::ControlDelay { device: agent, by: Duration::from_us(rng.between(1, 500)) },
        6 => {
            let share = Probability::from_ppb(rng.between(1, 900_000_000) as u32);
            FaultKind::ControlLoss { device: agent, share }
        }
        _ => FaultKind::Partition(vec![if rng.next_bool() {
            NodeId::Device(device)
        } else {
            NodeId::Host(HostId(rng.below(2) as u32))
        }]),
    };
    let at = Time::ZERO + Duration::from_ns(rng.between(1_000, 500_000));
    let lasts = rng.chance(3, 4).then(|| Duration::from_ns(rng.between(1_000, 80_000)));
    Fault { kind, at, lasts, span: Default::default() }
}

/// Another plan: each region on either device.
fn draw_replace(rng: &mut Rng) -> Replace {
    let at = Time::ZERO + Duration::from_ns(rng.between(1_000, 500_000));
    let on_nic = ["Acl", "Mark"].into_iter().filter(|_| rng.next_bool());
    let place = |region: &str| Placement {
        region: Spanned::from(region),
        device: Spanned::new(DeviceId(1), Default::default()),
        spares: vec![],
        policy: Default::default(),
        replicas: 1,
    };
    Replace { at, map: on_nic.map(place).collect(), span: Default::default() }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test asks for how long it may run")]
fn what_comes_is_what_would_have_come() {
    let seeds = std::env::var("P4RACK_RACK_FAULT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(130u64);
    let mut racked = slice();
    let mut calm = bring_up(&racked);
    let drops = calm.run().unwrap().drops;
    let wanted = arrivals(&mut calm.emulator);
    assert_eq!(wanted.values().sum::<u64>(), 2 * FRAMES, "without faults everything comes: {drops:?}");
    assert!(wanted.values().all(|n| *n == 1), "all frames differ");
    let mut coverage: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    let (mut lost, mut whole, mut replaced) = (0, 0, 0);
    for seed in 0..seeds {
        let mut rng = Rng::new(seed).split("faults");
        racked.rack.seed = seed;
        racked.rack.faults = (0..=rng.below(3)).map(|_| draw(&mut rng)).collect();
        racked.rack.faults.sort_by_key(|fault| fault.at);
        racked.rack.replaces = (0..rng.below(2)).map(|_| draw_replace(&mut rng)).collect();
        let mut running = bring_up(&racked);
        for fault in &racked.rack.faults {
            let before = fault.at - Duration::from_ps(1);
            running.run_until(before).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
            *coverage.entry((fault.kind.word(), running.emulator.on_link(INNER) > 0)).or_default() += 1;
        }
        let report = running.run().unwrap_or_else(|found| panic!("seed {seed}: {found:?}"));
        let notes = report.notes.iter().map(|note| note.what.as_str());
        replaced += notes.filter(|note| *note == "the other plan has taken over").count() as u64;
        let mut emulator = running.emulator;
        let found = arrivals(&mut emulator);
        for (arrival, times) in &found {
            assert!(
                *times == 1 && wanted.contains_key(arrival),
                "seed {seed}: {arrival:x?} came {times} times"
            );
        }
        let balance = emulator.balance();
        let came: u64 = found.values().sum();
        assert_eq!((balance.created, balance.in_flight), (2 * FRAMES, 0), "seed {seed}");
        let reported: u64 = emulator.report().drops.iter().map(|drop| drop.packets).sum();
        assert_eq!(
            (balance.delivered, balance.dropped, reported),
            (came, 2 * FRAMES - came, 2 * FRAMES - came)
        );
        lost += 2 * FRAMES - came;
        whole += u64::from(came == 2 * FRAMES);
    }
    for ((kind, handed_over), n) in &coverage {
        println!(
            "{kind:<13} {:<30} {n:>5}",
            if *handed_over { "hand-overs in flight" } else { "none in flight" }
        );
    }
    println!(
        "{seeds} seeds: {lost} of {} frames lost, {whole} runs without loss, {replaced} plans replaced",
        seeds * 2 * FRAMES
    );
    assert_eq!(
        coverage.len(),
        16,
        "every kind of fault, with and without hand-overs in flight: {coverage:?}"
    );
    assert!(lost > 0 && whole > 0 && replaced > seeds / 5);
}
