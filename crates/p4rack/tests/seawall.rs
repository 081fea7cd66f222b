//! `examples/seawall`: each mark beside the rule, and tenants that share a link by their weights.

use crate::support::{engines_of, example, sharing_codes};
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord};
use device_classes::DeviceClass;
use host_programs::Value;
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::Rack;
use std::path::Path;

/// The threshold of all ports, in packets.
const MARK_FROM: u32 = 20;

#[test]
fn a_packet_names_the_first_link_on_which_it_found_a_long_queue() {
    // The shared link, and one to a receiver.
    for (app, to, link) in [(0, 4, 1), (1, 6, 4)] {
        let mut devices = engines_of(&example("seawall"), app, app);
        let (mut rng, mut marked) = (Rng::new(4), [0; 2]);
        for _ in 0..10_000 {
            let (words, class) = (5 + rng.below(2) as u8, rng.below(256) as u8);
            let depth = rng.below(40) as u32;
            let mut sent = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 1, 8, 0, 0x40 | words, class];
            sent.extend((0..60).map(|_| rng.below(256) as u8));
            let is_marked = words == 5 && matches!(class & 3, 1 | 2) && depth >= MARK_FROM;
            marked[usize::from(is_marked)] += 1;
            for device in &mut devices {
                let queued = device.ingress(2, sent.clone(), Time::ZERO).pop().unwrap();
                let record =
                    QueueRecord { enqueued: Time::ZERO, depth_at_enqueue: depth, depth_at_dequeue: 7 };
                let mut found = device.egress(queued, record, Time::ZERO).output.unwrap().frame;
                assert_eq!(found[15], if is_marked { link << 2 | 3 } else { class });
                // The checksum is right, whatever it was.
                if words == 5 {
                    let halves = found[14..34].chunks(2);
                    let sum: u32 = halves.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
                    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
                    found[24..26].copy_from_slice(&sent[24..26]);
                }
                found[15] = class;
                assert_eq!(found, sent);
            }
        }
        assert!(marked.iter().all(|count| *count > 1000), "{marked:?}");
    }
}

/// The rack, changed.
fn changed(change: impl Fn(&mut Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/seawall/RACK.toml");
    let racked = rack::load_as(&path, &[], &mut SourceMap::new(), &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// Packets of each tenant that come between two times, as shares of the total of these, and the report at the second.
fn shares(racked: &Racked, from: Duration, until: Duration) -> (Vec<f64>, u64, RunReport) {
    let mut running = up::bring_up(racked).unwrap();
    let mut counts = |at: Duration| {
        running.emulator.run_until(Time::ZERO + at).unwrap();
        let report = running.emulator.report();
        (report.workloads.iter().map(|load| load.received).collect::<Vec<u64>>(), report)
    };
    let (before, _) = counts(from);
    let (after, report) = counts(until);
    let came: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let total: u64 = came.iter().sum();
    (came.iter().map(|came| *came as f64 / total as f64).collect(), total, report)
}

#[test]
fn tenants_share_a_link_by_their_weights_whatever_they_send_to() {
    let (from, until) = (Duration::from_ms(400), Duration::from_ms(1000));
    let (found, total, report) = shares(&changed(|_| ()), from, until);
    for (found, wanted) in found.iter().zip([0.25, 0.5, 0.25]) {
        assert!((found / wanted - 1.0).abs() < 0.1, "{found:?}");
    }
    // 1,466 bytes and 24 on the wire; the queue overflows neither at the beginning nor later.
    let used = total as f64 * 1490.0 * 8.0 / 0.6e9;
    assert!(used > 0.8, "{used}");
    let refused: u64 = report.links.iter().map(|link| link.refused).sum();
    assert!(refused == 0 && report.workloads[2].measures["marks"] > 0, "{refused}");

    // Each pair of hosts for itself: the tenant with four receivers has four shares.
    let pairs = changed(|rack| {
        for workload in &mut rack.workloads {
            workload.load.set("share", Value::Text("pair".into()), Span::NONE);
        }
    });
    let (found, ..) = shares(&pairs, from, until);
    for (found, wanted) in found.iter().zip([1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]) {
        assert!((found / wanted - 1.0).abs() < 0.1, "{found:?}");
    }
}

/// A tenant that begins late gets its share, and a link to a receiver is shared likewise.
#[test]
fn a_tenant_that_begins_late_gets_its_share() {
    let late = changed(|rack| {
        rack.workloads[0].load.start = Time::ZERO + Duration::from_ms(300);
        // Both send to the same receiver, over a link with a fifth of the rate.
        rack.workloads[1].to = rack.workloads[0].to.clone();
        rack.workloads.truncate(2);
        rack.links[3].rate = "200Mbit/s".parse().unwrap();
    });
    let (found, ..) = shares(&late, Duration::from_ms(700), Duration::from_ms(1000));
    assert!((found[1] / found[0] / 2.0 - 1.0).abs() < 0.15, "{found:?}");
}

#[test]
fn without_marks_the_queue_overflows_and_weights_mean_nothing() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/seawall");
    let places = ["left.stf", "right.stf"].map(|name| {
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        let hosts: Vec<&str> = text.lines().filter(|line| line.starts_with("add hosts")).collect();
        let place = std::env::temp_dir().join(format!("p4rack-seawall-{}-{name}", std::process::id()));
        std::fs::write(&place, hosts.join("\n")).unwrap();
        place
    });
    let plain = changed(|rack| {
        for (app, place) in rack.apps.iter_mut().zip(&places) {
            app.entries = Some(place.to_str().unwrap().to_string().into());
        }
    });
    let (found, _, report) = shares(&plain, Duration::from_ms(400), Duration::from_ms(1000));
    places.iter().for_each(|place| std::fs::remove_file(place).unwrap());
    let refused: u64 = report.links.iter().map(|link| link.refused).sum();
    let marks: u64 = report.workloads.iter().map(|load| load.measures["marks"]).sum();
    assert!(refused > 1000 && marks == 0, "{refused} {marks}");
    assert!((found[1] / found[0] - 2.0).abs() > 0.3, "{found:?}");
}

#[test]
fn a_limited_switch_marks() {
    let found = ir_limits::check(&example("seawall").apps[0].whole, DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}
