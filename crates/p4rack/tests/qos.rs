//! `examples/qos`: classes, token buckets, code points and queues.

use base_diag::SourceMap;
use p4rack::{rack, up};
use rack_model::HostId;
use std::collections::BTreeMap;
use std::path::Path;

fn racked() -> p4rack::Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/qos");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

#[test]
fn calls_are_fast_and_bulk_gets_what_it_is_promised() {
    let report = up::bring_up(&racked()).unwrap().run().unwrap();
    let [call, bulk, rest] = report.workloads.as_slice() else { panic!("{report:?}") };
    // A packet of a call waits for at most one frame of 1,066 bytes at 100 Mbit/s, and for packets of other calls.
    assert!(call.lost == 0 && call.latency.unwrap().p99_ps < 200_000_000, "{call:?}");
    assert!(bulk.goodput_bits_per_s.unwrap() > 40_000_000, "{bulk:?}");
    assert!(rest.lost > 1000 && rest.latency.unwrap().median_ps > 5_000_000_000, "{rest:?}");
}

/// Code points of what leaves, by the port that it is for.
#[test]
fn packets_are_marked_by_class_and_profile() {
    let racked = racked();
    let mut running = up::bring_up(&racked).unwrap();
    running.emulator.listen(HostId(1));
    running.run().unwrap();
    let mut marks: BTreeMap<(u16, u8), u64> = BTreeMap::new();
    for received in running.emulator.take_received(HostId(1)) {
        let frame = received.frame;
        *marks.entry((u16::from_be_bytes([frame[36], frame[37]]), frame[15] >> 2)).or_default() += 1;
    }
    let kinds: Vec<(u16, u8)> = marks.keys().copied().collect();
    assert_eq!(kinds, [(5060, 46), (9000, 18), (9000, 22), (12000, 0)]);
    // 40 Mbit/s of frames of 1,042 bytes for 0.3 s, plus the burst; packets in profile do not meet a full queue.
    let in_profile = marks[&(9000, 18)];
    assert!((1380..1480).contains(&in_profile), "{marks:?}");
    assert_eq!(marks[&(5060, 46)], 1000);
}
