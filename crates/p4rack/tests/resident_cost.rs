//! Packets of resident flows on a switch that three apps share, as machine code: each leaves as it does from the app alone. With `P4RACK_COST=1`, the
//! test prints what such packets cost, and with `P4RACK_COST=N` it tries so many times as often.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use device::Options;
use flow_control::popularity::Costs;
use ir::Program;
use ir_fill::Write;
use p4rack::rack::{self, Racked};
use pinned_flows::{Classifier, Ended, PinnedFlows, Work};
use std::path::Path;
use std::sync::Arc;
use target_native::{Engine, Packet};

/// Name of the app, port, and what a packet of its resident flow has: IPv4 addresses, and UDP ports.
type Flow = (&'static str, u32, [u32; 2], [u16; 2]);

const FLOWS: [Flow; 3] = [
    ("firewall", 1, [0x0a01_0001, 0xc633_6401], [49152, 5060]),
    ("acl", 4, [0xc633_6401, 0x0a02_0001], [4096, 53]),
    ("nat", 3, [0x0a03_0001, 0xc633_6401], [49156, 80]),
];

fn frame([src, dst]: [u32; 2], [from, to]: [u16; 2]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0];
    ip.extend(src.to_be_bytes());
    ip.extend(dst.to_be_bytes());
    let sum: u32 = ip.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 8, 0];
    frame.extend(ip);
    frame.extend(from.to_be_bytes());
    frame.extend(to.to_be_bytes());
    frame.extend([0, 26, 0, 0]);
    frame.resize(60, 7);
    frame
}

fn engine(program: &Arc<Program>, writes: &[Write]) -> Engine {
    let mut engine =
        Engine::compile(program, Options::default()).unwrap_or_else(|found| panic!("{found:#?}"));
    writes.iter().for_each(|write| engine.switch().write(write, Time::ZERO).expect("it fits"));
    engine
}

/// Writes that make a flow resident, by the names of the switch's program.
fn promotion(racked: &Racked, (name, port, addresses, ports): Flow) -> Vec<Write> {
    let of_one =
        racked.apps[0].pinned.iter().find(|of_one| of_one.model.name.value == name).expect("it is pinned");
    let unpinned = &of_one.unpinned;
    let costs = Costs {
        window: Duration::from_ms(1),
        write: Duration::from_ms(1),
        writes: 4,
        together: 1,
        idle: Duration::from_s(1),
    };
    let options = Options::default;
    let flows = PinnedFlows::new(
        &unpinned.program,
        &unpinned.keys,
        &of_one.pinned,
        &unpinned.entries,
        costs,
        options(),
    );
    let mut flows = flows.unwrap_or_else(|found| panic!("{found:#?}"));
    let mut classifier = Classifier::new(&unpinned.program, &unpinned.keys, options()).expect("it runs");
    flows.promote(&classifier.flow(port, &frame(addresses, ports))).expect("it is a flow");
    let share = of_one.share.as_ref().expect("it shares the switch");
    let mut all = vec![];
    while let Some(step) = flows.next_step() {
        if let Work::Write(writes) = &step.work {
            all.extend(writes.iter().filter_map(|write| share.write(write).expect("it fits")));
        }
        flows.ended(step.id, Ended::Done);
    }
    all
}

/// Wall-clock time, for a figure that no test depends on.
#[allow(clippy::disallowed_methods)]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[test]
fn resident_packets_leave_a_shared_switch_as_they_leave_each_app_alone() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pinned/apps.toml");
    let racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let measured = std::env::var_os("P4RACK_COST");
    let measured = measured.map(|times| times.to_str().and_then(|times| times.parse().ok()).unwrap_or(1u32));
    for flow @ (name, port, addresses, ports) in FLOWS {
        let of_one = racked.apps[0].pinned.iter().find(|of_one| of_one.model.name.value == name);
        let unpinned = &of_one.expect("it is pinned").unpinned;
        let mut alone = engine(&unpinned.program, &unpinned.entries);
        let edge = racked.part(0, 0).expect("the switch runs a part").part;
        let mut writes: Vec<Write> = racked.fill(0, 0).into_iter().cloned().collect();
        writes.extend(promotion(&racked, flow));
        let mut merged = engine(&edge.program, &writes);
        let frame = frame(addresses, ports);
        let run = |engine: &mut Engine, packets: &mut [Packet]| {
            packets.iter_mut().for_each(|packet| assert!(packet.receive(port, &frame)));
            let outputs = engine.process(packets, Time::ZERO);
            assert!(outputs.is_empty(), "{outputs:?}");
            (packets[0].fate(), packets[0].frame().to_vec())
        };
        let mut packets: Vec<Packet> = (0..32).map(|_| Packet::default()).collect();
        let one = run(&mut alone, &mut packets[..1]);
        assert_eq!(one, run(&mut merged, &mut packets[..1]), "{name}");
        assert!(matches!(one.0, target_native::Fate::Sent(_)), "{name}: {one:?}");
        let report = merged.report();
        assert_eq!((alone.report().fallbacks, report.fallbacks), (vec![], vec![]), "{name}");
        // Packets of TCP and UDP have code of their own in each app.
        assert_eq!((report.classes, report.ends), (3, 6), "{name}");
        if let Some(times) = measured {
            // The least of many rounds in turn: others on the machine disturb most of them.
            let mut least = [u128::MAX; 2];
            for _ in 0..times.saturating_mul(100) {
                for (least, engine) in least.iter_mut().zip([&mut alone, &mut merged]) {
                    let begun = now();
                    (0..8).for_each(|_| drop(run(engine, &mut packets)));
                    *least = (*least).min(begun.elapsed().as_nanos());
                }
            }
            let [alone, merged] = least.map(|ns| ns as f64 / 256.0);
            println!(
                "{name}: alone {alone:.0} ns, shared and resident {merged:.0} ns, {:.2} times",
                merged / alone
            );
        }
    }
}
