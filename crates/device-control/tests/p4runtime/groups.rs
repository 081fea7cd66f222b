//! A group of servers of a rack in one process: what operators see and change while packets pass.

use crate::setup::{Bench, grouped, maker};
use base_time::Duration;
use controller::Steer;
use p4runtime_proto::p4rack::v1::Group;
use p4runtime_proto::p4rack::v1::steer_request::{ChangeGroup, change_group::Change};
use std::collections::BTreeMap;

/// Servers count the packets of each flow.
const PROGRAM: &str = include_str!("../../../group-trials/src/counted.p4");

fn bench() -> Bench {
    grouped(maker(), &PROGRAM.replace("BUCKETS", "16"))
}

fn change(bench: &mut Bench, device: &str, change: Change) -> String {
    let change = ChangeGroup {
        group: "count".to_string(),
        device: device.to_string(),
        change: change.into(),
        weight: 1,
    };
    bench.steer(Steer::ChangeGroup(change))
}

/// Sends a packet of a flow; its number, as its server has counted it.
fn count(bench: &mut Bench, flow: u16) -> u32 {
    let out = bench.packet(1, &format!("{flow:04x} 00000000 00000000 0000"));
    let hex = out.trim_end().strip_prefix("2: ").unwrap_or_else(|| panic!("flow {flow}: {out}"));
    u32::from_str_radix(&hex[12..20], 16).expect("a number")
}

fn group(bench: &mut Bench) -> Group {
    let mut shown = bench.show().groups;
    assert_eq!(shown.len(), 1);
    shown.remove(0)
}

/// Each server with its state and buckets.
fn standings(bench: &mut Bench) -> Vec<(String, u64)> {
    group(bench).servers.into_iter().map(|server| (server.standing, server.buckets)).collect()
}

fn are(wanted: [(&str, u64); 3]) -> Vec<(String, u64)> {
    wanted.map(|(standing, buckets)| (standing.to_string(), buckets)).to_vec()
}

#[test]
fn a_group_grows_and_shrinks_and_no_flow_notices() {
    let mut bench = bench();
    let counts = |bench: &mut Bench| (0..40).map(|flow| count(bench, flow)).collect::<Vec<_>>();
    assert_eq!(counts(&mut bench), [1; 40]);
    assert_eq!(standings(&mut bench), are([("member", 8), ("member", 8), ("out", 0)]));
    assert_eq!(change(&mut bench, "s3", Change::Add), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(standings(&mut bench), are([("member", 6), ("member", 5), ("member", 5)]));
    assert_eq!(counts(&mut bench), [2; 40]);
    (40..80).for_each(|flow| assert_eq!(count(&mut bench, flow), 1));
    assert_eq!(change(&mut bench, "s1", Change::Remove), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(counts(&mut bench), [3; 40]);
    assert_eq!(standings(&mut bench), are([("leaving", 0), ("member", 8), ("member", 8)]));
    let shown = group(&mut bench);
    assert_eq!((shown.sent, shown.returned, shown.changes), (160, 160, 2));
    assert!(shown.servers.iter().all(|server| server.opened > 4 && server.dropped == 0), "{shown:?}");
    assert_eq!(shown.servers.iter().map(|server| server.flows).sum::<u64>(), 80);
    // Its last flow ends.
    for _ in 0..40 {
        bench.wait(Duration::from_ms(100));
    }
    assert_eq!(standings(&mut bench), are([("out", 0), ("member", 8), ("member", 8)]));
    assert!(group(&mut bench).is_steady);
}

#[test]
fn a_drained_server_stays_and_comes_back() {
    let mut bench = bench();
    assert_eq!(change(&mut bench, "s1", Change::Drain), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(standings(&mut bench), are([("draining", 0), ("member", 16), ("out", 0)]));
    assert_eq!(change(&mut bench, "s1", Change::Add), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(standings(&mut bench), are([("member", 8), ("member", 8), ("out", 0)]));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut bench = bench();
    let refused = |bench: &mut Bench, device: &str, what| change(bench, device, what).trim_end().to_string();
    let is = |answer: String, why: &str| assert!(answer.contains(why), "{answer}");
    is(refused(&mut bench, "s2", Change::Add), "`s2` in group `count`: it is a member already");
    is(refused(&mut bench, "s3", Change::Remove), "`s3` in group `count`: it is no member");
    is(
        refused(&mut bench, "s9", Change::Add),
        "`s9` is no server of group `count`; its servers are `s1`, `s2`, `s3`",
    );
    assert_eq!(change(&mut bench, "s1", Change::Remove), "OK\n");
    is(refused(&mut bench, "s2", Change::Drain), "no other server would take new flows");
    let other = ChangeGroup { group: "nat".to_string(), device: "s1".to_string(), change: 0, weight: 0 };
    is(bench.steer(Steer::ChangeGroup(other)), "there is no group `nat`; there is `count`");
    assert_eq!(count(&mut bench, 7), 1);
}

#[test]
fn a_server_that_restarts_has_lost_its_flows_alone() {
    let mut bench = bench();
    let counts =
        |bench: &mut Bench| (0..40).map(|flow| (flow, count(bench, flow))).collect::<BTreeMap<_, _>>();
    counts(&mut bench);
    // Servers report their numbers of flows at intervals.
    bench.wait(Duration::from_ms(1));
    let before = group(&mut bench);
    bench.restart(2);
    bench.wait(Duration::from_ms(50));
    let after = counts(&mut bench);
    let lost = after.values().filter(|count| **count == 1).count() as u64;
    assert_eq!(lost, before.servers[1].flows);
    assert!(lost > 4 && after.values().all(|count| *count <= 2));
    assert_eq!(standings(&mut bench), are([("member", 8), ("member", 8), ("out", 0)]));
}

/// The switch restarts: it has the rows that the group has now, not those of its program.
#[test]
fn a_switch_that_restarts_leads_flows_to_where_they_are() {
    let mut bench = bench();
    assert_eq!(change(&mut bench, "s3", Change::Add), "OK\n");
    bench.wait(Duration::from_ms(50));
    (0..40).for_each(|flow| assert_eq!(count(&mut bench, flow), 1));
    bench.restart(0);
    bench.wait(Duration::from_ms(50));
    (0..40).for_each(|flow| assert_eq!(count(&mut bench, flow), 2));
}

/// A program that is reset has another plan: the group starts again, and can change as before.
#[test]
fn a_group_can_change_after_a_reset() {
    let mut bench = bench();
    assert_eq!(change(&mut bench, "s3", Change::Add), "OK\n");
    bench.wait(Duration::from_ms(50));
    (0..40).for_each(|flow| assert_eq!(count(&mut bench, flow), 1));
    assert_eq!(bench.steer(Steer::Reset), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(standings(&mut bench), are([("member", 8), ("member", 8), ("out", 0)]));
    (0..40).for_each(|flow| assert_eq!(count(&mut bench, flow), 1));
    assert_eq!(change(&mut bench, "s3", Change::Add), "OK\n");
    bench.wait(Duration::from_ms(50));
    assert_eq!(standings(&mut bench), are([("member", 6), ("member", 5), ("member", 5)]));
    (0..40).for_each(|flow| assert_eq!(count(&mut bench, flow), 2));
}
