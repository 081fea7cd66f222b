//! Where pairs are reduced.

use aggregate::Kind;
use base_diag::Diagnostic;
use expect_test::expect;
use reduce_jobs::plan::Placed;
use reduce_jobs::topology::{Host, Link, Node};
use reduce_jobs::{Job, Plan, Topology, check, plan};
use std::fmt::Write as _;

/// Two switches with three hosts each below a third one; the master's host is at the third. `rate` is that of links between switches.
fn two_levels(rate: u64) -> Topology {
    let host =
        |name: String, at: u8| Host { name, address: [10, 0, 0, at].into(), mac: [2, 0, 10, 0, 0, at] };
    let mut hosts: Vec<Host> = (1..=6).map(|at| host(format!("h{at}"), at)).collect();
    hosts.push(host("master".into(), 7));
    let mut links: Vec<Link> = (0..6)
        .map(|at| Link {
            ends: [(Node::Host(at), 0), (Node::Switch(at / 3), at as u32 % 3 + 1)],
            rate: 10_000,
        })
        .collect();
    for leaf in 0..2 {
        links.push(Link { ends: [(Node::Switch(leaf), 9), (Node::Switch(2), leaf as u32 + 1)], rate });
    }
    links.push(Link { ends: [(Node::Host(6), 0), (Node::Switch(2), 7)], rate: 10_000 });
    Topology { hosts, switches: vec!["left".into(), "right".into(), "spine".into()], links }
}

fn job(hosts: &[u8], more: &str) -> Job {
    let mut text = String::new();
    for host in hosts {
        let _ = writeln!(text, "dataset d{host} = \"h{host}:x\"\nmapper m{host} = words(d{host})");
    }
    let names: Vec<String> = hosts.iter().map(|host| format!("m{host}")).collect();
    let _ = writeln!(text, "reducer r = add({}, at = master{more})", names.join(", "));
    let mut problems: Vec<Diagnostic> = vec![];
    check(&text, 1, &mut problems).unwrap_or_else(|| panic!("{problems:?}"))
}

fn places(topology: &Topology, placed: &Placed) -> Vec<(String, Vec<u16>)> {
    let place = |folding: &reduce_jobs::plan::Folding| {
        (topology.switches[folding.switch].clone(), folding.channels.clone())
    };
    placed.switches.iter().map(place).collect()
}

#[test]
fn a_tree_is_used_where_the_links_between_switches_are_slow() {
    let topology = two_levels(10_000);
    let found = plan(&[job(&[1, 2, 3, 4, 5, 6], ", rounds = 8")], &topology).expect("it is possible");
    let placed = &found.reducers[0];
    let wanted = [("left", vec![0, 1, 2]), ("right", vec![3, 4, 5]), ("spine", vec![])];
    assert_eq!(places(&topology, placed), wanted.map(|(name, channels)| (name.to_string(), channels)));
    assert_eq!((placed.parents, placed.pairs), (1, (1_000_000, 6_000_000)));
    let spine = &found.switches[2];
    assert!(spine.program.is_parent && !found.switches[0].program.is_parent);
    let kinds: Vec<(Kind, u16, u32)> =
        spine.seats[0].senders.iter().map(|sender| (sender.kind, sender.channel, sender.port)).collect();
    let overflows = (0..6).map(|channel| (Kind::Overflow, channel, u32::from(channel / 3) + 1));
    let left: Vec<_> = overflows.clone().take(3).chain([(Kind::ReadReply, 0, 1)]).collect();
    let right: Vec<_> = overflows.skip(3).chain([(Kind::ReadReply, 1, 2)]).collect();
    assert_eq!(kinds, [left, right].concat());
}

#[test]
fn one_switch_is_enough_for_its_own_hosts() {
    let topology = two_levels(10_000);
    let found = plan(&[job(&[1, 2], ", rounds = 8")], &topology).expect("it is possible");
    assert_eq!(places(&topology, &found.reducers[0]), [("left".to_string(), vec![0, 1])]);
    assert_eq!((found.reducers[0].parents, found.reducers[0].switches[0].behind), (0, 0));
    assert_eq!(found.switches.len(), 3, "the others forward");
    // In one round most keys have no slot, and those of another switch help.
    let found = plan(&[job(&[1, 2], "")], &topology).expect("it is possible");
    assert_eq!(found.reducers[0].parents, 1);
}

#[test]
fn few_common_keys_save_little() {
    let topology = two_levels(1_000_000);
    let found =
        plan(&[job(&[1, 4], ", keys = 1000, distinct = 1000000")], &topology).expect("it is possible");
    let placed = &found.reducers[0];
    assert_eq!(placed.pairs.1, 2000);
    assert!(placed.pairs.0 > 1990, "{:?}", placed.pairs);
}

#[test]
fn entries_are_those_of_the_paths() {
    let topology = two_levels(10_000);
    let found =
        plan(&[job(&[1, 4], ", rows = 16, window = 4, number = 5")], &topology).expect("it is possible");
    let text: String = found
        .switches
        .iter()
        .map(|device| {
            format!("{}:\n{}\n", topology.switches[device.switch], device.entries(&topology).join("\n"))
        })
        .collect();
    expect![[r#"
        left:
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000001/32 AggIngress.forward(port:0x1, next_hop:0x2000a000001)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000002/32 AggIngress.forward(port:0x2, next_hop:0x2000a000002)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000003/32 AggIngress.forward(port:0x3, next_hop:0x2000a000003)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000004/32 AggIngress.forward(port:0x9, next_hop:0x2000a000004)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000005/32 AggIngress.forward(port:0x9, next_hop:0x2000a000005)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000006/32 AggIngress.forward(port:0x9, next_hop:0x2000a000006)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000007/32 AggIngress.forward(port:0x9, next_hop:0x2000a000007)
        right:
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000001/32 AggIngress.forward(port:0x9, next_hop:0x2000a000001)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000002/32 AggIngress.forward(port:0x9, next_hop:0x2000a000002)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000003/32 AggIngress.forward(port:0x9, next_hop:0x2000a000003)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000004/32 AggIngress.forward(port:0x1, next_hop:0x2000a000004)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000005/32 AggIngress.forward(port:0x2, next_hop:0x2000a000005)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000006/32 AggIngress.forward(port:0x3, next_hop:0x2000a000006)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000007/32 AggIngress.forward(port:0x9, next_hop:0x2000a000007)
        spine:
        add AggIngress.jobs hdr.agg.job:0x5 AggIngress.serve(boot:0x1, number:0x0, reducer_port:0x7, has_parent:0x0, first_bank:0x0, first_slot:0x0)
        add AggIngress.senders standard_metadata.ingress_port:0x1 hdr.agg.job:0x5 hdr.agg.type:0x1 hdr.agg.channel:0x0 AggIngress.accept_from(first_cell:0x0)
        add AggIngress.senders standard_metadata.ingress_port:0x2 hdr.agg.job:0x5 hdr.agg.type:0x1 hdr.agg.channel:0x1 AggIngress.accept_from(first_cell:0x4)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000001/32 AggIngress.forward(port:0x1, next_hop:0x2000a000001)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000002/32 AggIngress.forward(port:0x1, next_hop:0x2000a000002)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000003/32 AggIngress.forward(port:0x1, next_hop:0x2000a000003)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000004/32 AggIngress.forward(port:0x2, next_hop:0x2000a000004)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000005/32 AggIngress.forward(port:0x2, next_hop:0x2000a000005)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000006/32 AggIngress.forward(port:0x2, next_hop:0x2000a000006)
        add AggIngress.routes hdr.ipv4.dst_addr:0xa000007/32 AggIngress.forward(port:0x7, next_hop:0x2000a000007)
        mirroring_add 1 7
    "#]].assert_eq(&text);
}

fn refused(jobs: &[Job], topology: &Topology) -> String {
    match plan(jobs, topology) {
        Ok(Plan { .. }) => panic!("it is possible"),
        Err(found) => found.iter().map(|problem| format!("{} {}\n", problem.code, problem.title)).collect(),
    }
}

#[test]
fn what_cannot_be_placed_is_named() {
    let topology = two_levels(10_000);
    let same = job(&[1], ", number = 3");
    assert!(refused(&[same.clone(), same], &topology).contains("P4R1607"));
    assert!(refused(&[job(&[9], "")], &topology).contains("P4R1606 there is no host `h9`"));
    let mut cut = topology.clone();
    cut.links.retain(|link| link.ends[0].0 != Node::Host(0));
    assert!(refused(&[job(&[1, 2], "")], &cut).contains("P4R1606 no switch is on the path from `m1` to `r`"));
    let other = job(&[1], ", number = 4, rows = 16");
    assert!(refused(&[job(&[1], ", number = 3"), other], &topology).contains("with different sizes"));
}

#[test]
fn jobs_share_a_switch_by_ranges_of_slots() {
    let topology = two_levels(10_000);
    let jobs = [job(&[1, 2], ", number = 3"), job(&[2, 3], ", number = 4")];
    let found = plan(&jobs, &topology).expect("it is possible");
    let left = &found.switches[0];
    assert_eq!((left.program.jobs, left.program.channels, left.seats.len()), (2, 4, 2));
    assert_eq!(left.seats.iter().map(|seat| seat.place).collect::<Vec<_>>(), [0, 1]);
    let mut places: Vec<u16> =
        left.seats.iter().flat_map(|seat| &seat.senders).map(|sender| sender.place).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3]);
}
