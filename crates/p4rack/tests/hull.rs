//! `examples/hull`: each mark beside the phantom queue, and the queue of long transfers.

use crate::support::{Both, both_engines, engines_of, example, sharing_codes};
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord};
use device::Switch;
use host_programs::Value;
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::Rack;
use std::path::Path;

/// The rack, changed.
fn changed(change: impl Fn(&mut Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hull/RACK.toml");
    let racked = rack::load_as(&path, &[], &mut SourceMap::new(), &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// Sends packets through the receiver's port and compares each mark with the phantom queue that loses `drained` bytes in so many microseconds.
fn compare(devices: [Switch; 2], threshold: u64, bytes_per_us: u64, drained: impl Fn(u64) -> u64) {
    let mut devices = Both::new(devices, 8_000);
    let mut rng = Rng::new(6);
    let (mut now, mut last, mut phantom) = (1_000_000u64, 0, 0u64);
    let mut counts = [0; 2];
    for _ in 0..20_000 {
        let (bytes, ecn) = (60 + rng.below(1440), rng.below(4) as u8);
        // Between nothing and twice the rate, and silence.
        let load = 1 + (now >> 14) % 8;
        now += if rng.chance(1, 500) {
            rng.below(200_000)
        } else {
            rng.below(8 * bytes / bytes_per_us / load + 2)
        };
        let mut frame = vec![0; bytes as usize];
        frame[..16].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, ecn]);
        phantom = phantom.saturating_sub(drained((now - last).min(65_535))) + bytes;
        last = now;
        let marked = if ecn != 0 && phantom > threshold { 3 } else { ecn };
        counts[usize::from(marked != ecn)] += 1;
        devices.each(|device| {
            let at = Time::ZERO + Duration::from_us(now);
            let queued = device.ingress(1, frame.clone(), at).pop().unwrap();
            let found = device.egress(queued, QueueRecord::default(), at).output.unwrap().frame;
            assert_eq!(found[15], marked, "at {now} us, {phantom} bytes");
        });
    }
    assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
}

#[test]
fn packets_are_marked_above_the_threshold_of_the_phantom_queue() {
    compare(both_engines(&example("hull")), 6_000, 125, |us| (475 * us).div_ceil(4));
    // A link of 10 Gbit/s.
    let entries = std::env::temp_dir().join(format!("p4rack-hull-{}.stf", std::process::id()));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hull/entries.stf");
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(&entries, text.replace("phantom_1g(bytes:6000)", "phantom_10g(bytes:15000)")).unwrap();
    let fast = changed(|rack| rack.apps[0].entries = Some(entries.to_str().unwrap().to_string().into()));
    compare(engines_of(&fast, 0, 0), 15_000, 1250, |us| 2375 * us / 2);
    std::fs::remove_file(&entries).unwrap();
}

fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap().run().unwrap()
}

#[test]
fn the_queue_stays_empty_for_a_part_of_the_bandwidth() {
    let [hull, unpaced, dctcp] = [
        run(&example("hull")),
        run(&changed(|rack| rack.workloads[0].load.set("pacing", Value::Text("off".into()), Span::NONE))),
        run(&example("dctcp")),
    ];
    let of = |report: &RunReport| {
        let queue = &report.links[17];
        assert_eq!(queue.refused, 0);
        let delay = report.workloads[1].latency.unwrap();
        (
            report.workloads[0].goodput_bits_per_s.unwrap(),
            delay.median_ps / 1_000_000,
            delay.p99_ps / 1_000_000,
            queue.mean_queue_milli,
        )
    };
    let found = [hull, unpaced, dctcp].map(|report| of(&report));
    let [hull, unpaced, dctcp] = found;
    assert!(hull.0 > 800_000_000 && hull.0 < dctcp.0, "{found:?}");
    // Pings wait less, most of all the slowest; without pacing, bursts make them wait.
    assert!(hull.1 + 100 < dctcp.1 && 4 * hull.2 < dctcp.2 && hull.2 < unpaced.2, "{found:?}");
}
