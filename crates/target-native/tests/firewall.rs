//! A batch is run ahead where memory is far, as a firewall's filter is: nothing shows of that.

use crate::common;

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use dataplane_api::Device;
use device::{Options, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

/// Ports of this number are inside.
const INSIDE: u32 = 1;

fn fill(switch: &mut Switch) -> Vec<u32> {
    let side = [Match::Exact(Bits::new(9, u128::from(INSIDE)))];
    switch.table_add("sides", &side, "set_side", &[Bits::new(1, 1)], None).expect("a side");
    common::fill(switch, 40, &mut Rng::new(3))
}

#[test]
fn packets_that_were_run_ahead_do_the_same() {
    let program = common::program("firewall");
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    let mut switch = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
    let destinations = fill(engine.switch());
    fill(&mut switch);
    let mut rng = Rng::new(4);
    let mut frames = vec![];
    for _ in 0..1500 {
        let host = |rng: &mut Rng| destinations[rng.between(0, destinations.len() as u64 - 1) as usize];
        let (from, to) = (host(&mut rng), host(&mut rng));
        let mut frame = common::packet(to, 64, &mut rng);
        frame[26..30].copy_from_slice(&from.to_be_bytes());
        common::set_checksum(&mut frame);
        frame[34..38].copy_from_slice(&[0, rng.between(1, 2) as u8, 0, rng.between(1, 2) as u8]);
        frames.push((rng.between(1, 2) as u32, frame));
    }
    for batch in frames.chunks(50) {
        let mut packets: Vec<Packet> =
            batch.iter().map(|(port, frame)| Packet::new(*port, frame).expect("it fits")).collect();
        assert_eq!(engine.process(&mut packets, Time::ZERO), []);
        for (packet, (port, frame)) in packets.iter().zip(batch) {
            let got: Vec<_> = match packet.fate() {
                Fate::Sent(port) => vec![(port, packet.frame().to_vec())],
                _ => vec![],
            };
            let want = switch.process(*port, frame, Time::ZERO);
            assert_eq!(got, want.into_iter().map(|o| (o.port, o.frame)).collect::<Vec<_>>());
        }
    }
    assert_eq!(engine.interpreted(), 0);
    assert_eq!(engine.switch().state(), switch.state());
    assert_eq!(engine.switch().counters(), switch.counters());
    let counters = switch.counters();
    assert!(counters.sent > 300 && counters.dropped.values().sum::<u64>() > 300, "{counters:?}");
}
