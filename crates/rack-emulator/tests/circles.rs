//! Frames that go round without end are found, and nothing else is taken for them.

use crate::common;

use base_time::{Duration, Time};
use common::*;
use dataplane_api::{Port, Replica};
use rack_emulator::{Emulator, RackDevice, RunReport, Spent};
use rack_model::{DeviceId, HostId, Link, NodeId, Rack};

/// Hosts `h1`, `h2`, ... at port 1 of switches `s1`, `s2`, ..., which are joined by these pairs of switch and port.
fn switches(count: u32, cables: &[[(u32, u32); 2]]) -> Rack {
    let mut rack = star(count);
    let device = rack.devices[0].clone();
    let name = |n: u32| format!("s{n}").as_str().into();
    rack.devices = (1..=count).map(|n| rack_model::Device { name: name(n), ..device.clone() }).collect();
    let rate = "1Gbit/s".parse().unwrap();
    for (link, n) in rack.links.iter_mut().zip(0..) {
        *link = Link::new([(NodeId::Host(HostId(n)), 0), (NodeId::Device(DeviceId(n)), 1)], rate);
    }
    for cable in cables {
        let ends = cable.map(|(switch, port)| (NodeId::Device(DeviceId(switch - 1)), port));
        rack.links.push(Link { delay: us(1), ..Link::new(ends, rate) });
    }
    rack
}

/// Every switch floods what comes in to all its ports but the one it came from.
fn flooded(rack: &Rack) -> RunReport {
    flooded_by(rack, hub)
}

fn flooded_by(rack: &Rack, forward: Forward) -> RunReport {
    let device = |id: usize| {
        let mut toy = Toy::new(forward);
        let id = NodeId::Device(DeviceId(id as u32));
        let ends = rack.links.iter().flat_map(|link| link.ends);
        toy.ports = ends.filter(|end| end.node == id).map(|end| end.port).collect();
        toy
    };
    let given = rack.devices.iter().enumerate().map(|(id, model)| RackDevice {
        name: model.name.value.clone(),
        engine: "toy".to_string(),
        device: Box::new(device(id)),
        spent: Spent::default(),
    });
    let mut emulator = Emulator::new(rack, given.collect()).unwrap();
    emulator.run().unwrap();
    emulator.report()
}

fn paths(report: &RunReport) -> Vec<&str> {
    report.loops.iter().map(|found| found.path.as_str()).collect()
}

#[test]
fn a_broadcast_in_a_ring_is_named_and_the_run_ends() {
    let ring = [[(1, 2), (2, 3)], [(2, 2), (3, 3)], [(3, 2), (4, 3)], [(4, 2), (1, 3)]];
    let mut rack = switches(4, &ring);
    rack.workloads = vec![ping(1, 3, 10, us(100))];
    let report = flooded(&rack);
    assert_eq!(paths(&report), ["s1 -> s2 -> s3 -> s4 -> s1"]);
    // Everything was sent after 1 ms: without the loop the run would go on for a second.
    assert!(report.duration_ps < Duration::from_ms(200).as_ps(), "{}", report.duration_ps);
    assert!(report.to_table().contains("s1 -> s2 -> s3 -> s4 -> s1"));
    // A limit of its own is respected.
    rack.until = Some(at_us(300_000));
    assert_eq!(flooded(&rack).duration_ps, us(300_000).as_ps());
}

#[test]
fn the_shortest_loop_is_named_and_a_double_link_is_one() {
    let cables = [[(1, 2), (2, 3)], [(2, 2), (3, 3)], [(3, 2), (1, 3)], [(2, 4), (3, 4)]];
    let mut rack = switches(3, &cables);
    rack.workloads = vec![ping(1, 3, 10, us(100))];
    assert_eq!(paths(&flooded(&rack)), ["s2 -> s3 -> s2"]);
}

#[test]
fn floods_in_a_tree_are_not_loops() {
    // Every ping reaches 31 switches and as many hosts: more frames on links than hosts have sent, and none of them twice.
    let cables: Vec<[(u32, u32); 2]> = (2..=31).map(|n| [(n / 2, 2 + n % 2), (n, 4)]).collect();
    let mut rack = switches(31, &cables);
    rack.workloads = vec![ping(1, 31, 2000, us(100))];
    let report = flooded(&rack);
    assert!(report.events > 300_000, "{}", report.events);
    assert_eq!((paths(&report), report.workloads[0].lost), (vec![], 0));
}

/// Decrements the 32 bits between the length and the TTL of an IPv4 header, so that no two rounds are equal.
fn count(frame: &mut [u8]) {
    let left = u32::from_be_bytes(frame[18..22].try_into().unwrap());
    frame[18..22].copy_from_slice(&left.wrapping_sub(1).to_be_bytes());
}

/// A hub that changes its frames.
fn counting_hub(toy: &mut Toy, port: Port, mut frame: Vec<u8>, now: Time) -> Vec<(Replica, Vec<u8>)> {
    count(&mut frame);
    hub(toy, port, frame, now)
}

#[test]
fn a_broadcast_that_changes_on_each_round_is_named() {
    let ring = [[(1, 2), (2, 3)], [(2, 2), (3, 3)], [(3, 2), (4, 3)], [(4, 2), (1, 3)]];
    let mut rack = switches(4, &ring);
    rack.workloads = vec![ping(1, 3, 10, us(100))];
    let report = flooded_by(&rack, counting_hub);
    assert_eq!(paths(&report), ["s1 -> s2 -> s3 -> s4 -> s1"]);
    assert!(report.loops[0].changing && !flooded(&rack).loops[0].changing);
}

#[test]
fn floods_in_a_tree_that_change_are_not_loops() {
    let cables: Vec<[(u32, u32); 2]> = (2..=31).map(|n| [(n / 2, 2 + n % 2), (n, 4)]).collect();
    let mut rack = switches(31, &cables);
    rack.workloads = vec![ping(1, 31, 2000, us(100))];
    assert_eq!(paths(&flooded_by(&rack, counting_hub)), Vec::<&str>::new());
}

/// A frame that goes round without copies, changed each time: one packet for ever is a loop only if it stays the same.
#[test]
fn one_frame_that_changes_is_not_a_multitude() {
    let ring = [[(1, 2), (2, 3)], [(2, 2), (1, 3)]];
    let mut rack = switches(2, &ring);
    rack.until = Some(at_us(50_000));
    rack.workloads = vec![ping(1, 2, 10, us(100))];
    let onward: Forward = |_, _, mut frame, _| {
        count(&mut frame);
        vec![(out(2), frame)]
    };
    let report = flooded_by(&rack, onward);
    assert!(report.events > 100_000, "{}", report.events);
    assert_eq!(paths(&report), Vec::<&str>::new());
}
