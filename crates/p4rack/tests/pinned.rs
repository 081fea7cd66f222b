//! `examples/pinned`: a firewall whose busy connections the switch processes, and two helpers for all others.

use base_diag::SourceMap;
use base_time::Duration;
use ir_prove::{Effort, prove};
use p4rack::rack::Racked;
use p4rack::{proof, rack, up};
use std::path::Path;

fn example() -> Racked {
    load("")
}

fn load(file: &str) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pinned").join(file);
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

#[test]
fn the_report_of_the_example_shows_the_share_of_the_switch() {
    let racked = example();
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<(&str, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.received)).collect();
    assert_eq!(received, [("call", 800), ("query", 150), ("time", 50), ("scan", 0)]);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    assert_eq!((pinned.packets, pinned.at_switch), (1100, 800));
    assert!(pinned.helpers.iter().all(|(_, frames)| *frames > 0), "{pinned:?}");
}

#[test]
fn a_call_comes_to_the_switch_and_goes_back() {
    let racked = load("moving.toml");
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<u64> = report.workloads.iter().map(|load| load.received).collect();
    assert_eq!(received, [800, 150, 50, 0]);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    let results: Vec<&str> = pinned.moves.iter().map(|one| one.result.as_str()).collect();
    assert_eq!(results, ["done"; 3], "{:#?}", pinned.moves);
    assert_eq!(
        pinned.moves[0].flow,
        "ipv4.dst=198.51.100.1 ipv4.protocol=17 ipv4.src=10.1.0.1 udp.dst=5060 udp.src=49152 ingress_port=1"
    );
    // From 20 ms and three writes on until 100 ms, the switch has a packet each 200 us.
    assert!((395..=400).contains(&pinned.at_switch), "{pinned:#?}");
    let shares = |at_most: u64| {
        let early = pinned.shares.iter().filter(move |share| share.until_ps <= at_most);
        early.map(|share| (share.packets, share.at_switch)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    assert_eq!(shares(20_000_000_000).1, 0);
    assert_eq!(shares(u64::MAX), (pinned.packets, pinned.at_switch));
    let text = report.to_table();
    assert!(text.contains("asked at") && text.contains("20ms") && text.contains("until"), "{text}");
}

#[test]
fn popular_connections_come_to_the_switch() {
    let racked = load("popular.toml");
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    assert_eq!(report.workloads[0].received, 20_000);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    let totals = pinned.totals.expect("flows move");
    // The budget of a window is three groups of 16 moves: 5 ms, and four writes of 200 us each.
    let windows = report.duration_ps / 5_000_000_000;
    assert!(totals.promoted <= 48 * windows && totals.resident == 32, "{totals:?} in {windows} windows");
    // Some that came first give way to more popular ones. In windows of 5 ms counts are small, and groups of moves are cheap: some go in and out.
    assert!((33..=150).contains(&totals.promoted), "{totals:?}");
    let half = report.pinned[0].shares.len() / 2;
    let late = pinned.shares[half..]
        .iter()
        .fold((0, 0), |sum, share| (sum.0 + share.packets, sum.1 + share.at_switch));
    // The 32 most popular ones of 500 have 60 %.
    let per_mille = late.1 * 1000 / late.0;
    assert!((500..=650).contains(&per_mille), "{per_mille} of 1000: {pinned:#?}");
    let early = &pinned.shares[0];
    assert!(early.at_switch * 1000 < early.packets * per_mille, "the share grows: {early:?}");
}

/// A helper fails and comes back, and then the cable of another is pulled, while connections come to the switch and go back.
#[test]
fn connections_survive_the_failure_of_their_helper() {
    let racked = load("replicas.toml");
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let notes: Vec<&str> = report.notes.iter().map(|note| note.what.as_str()).collect();
    let lost = report.workloads[0].lost;
    println!("{lost} lost: {notes:#?}");
    // Of 20,000; 125 packets a millisecond, of which the switch has the most.
    assert!((1..=60).contains(&lost), "{lost}: {notes:#?}");
    for expected in [
        "`edge` hands over to `nic2` instead of `nic1`: `external`",
        "`edge` hands over to `nic3` instead of `nic1`: `external`",
        "`nic1` is in sync again",
        "`edge` hands over to `nic1` instead of `nic3`: `external`",
        "`edge` hands over to `nic1` instead of `nic2`: `external`",
        "`edge` hands over to `nic3` instead of `nic2`: `external`",
    ] {
        assert!(notes.contains(&expected), "{expected}: {notes:#?}");
    }
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    assert!(pinned.helpers.iter().all(|(_, frames)| *frames > 100), "{pinned:?}");
    let totals = pinned.totals.expect("flows move");
    assert!(totals.promoted >= 32 && totals.resident > 0, "{totals:?}");
}

#[test]
fn three_apps_share_a_switch_and_its_helpers() {
    let racked = load("apps.toml");
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<(&str, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.received)).collect();
    assert_eq!(received, [("call", 500), ("scan", 0), ("query", 500), ("other", 0), ("web", 500)]);
    let packets: Vec<(&str, u64)> = report.pinned.iter().map(|app| (app.app.as_str(), app.packets)).collect();
    assert_eq!(packets, [("firewall", 600), ("acl", 600), ("nat", 500)]);
    for app in &report.pinned {
        let totals = app.totals.expect("its flows move");
        assert!(totals.promoted > 0 && app.at_switch > 200, "{app:#?}");
        let handed: u64 = app.helpers.iter().map(|(_, frames)| frames).sum();
        assert!(handed > 0 && handed == app.packets - app.at_switch, "{app:#?}");
    }
}

#[test]
fn the_parts_do_what_the_pinned_program_does() {
    let racked = example();
    let case = proof::case(&racked.apps[0]);
    let effort = Effort { packets: 300, ..Effort::default() };
    let tried = prove(&case, &effort).unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(tried.outputs > 50 && tried.hops > 50, "{tried:?}");
}

/// Ten flows that are asked for at one time, while packets pass: how long the slowest move takes, by the time of a message.
fn slowest_of_ten(delay: &str) -> Duration {
    let (rack, _) =
        include_str!("../../../examples/pinned/popular.toml").split_once("promote =").expect("it has that");
    let (_, many) = include_str!("../../../examples/pinned/popular.toml")
        .split_once("# Copied whole")
        .expect("it has that");
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut text = rack.replace("../apps", &apps.join("apps").display().to_string());
    text = text.replace("connections.toml", &apps.join("pinned/connections.toml").display().to_string());
    text += &format!("# Copied whole{many}\n[control]\ndelay = \"{delay}\"\n");
    for flow in 0..10 {
        text += &format!(
            "[[move]]\nat = \"5ms\"\nto = \"switch\"\n[move.flow]\n\"hdr.ipv4.src\" = \"10.1.0.1\"\n\"hdr.ipv4.dst\" = \"198.51.100.1\"\n\
             \"hdr.ipv4.protocol\" = 17\n\"hdr.udp.src\" = {}\n\"hdr.udp.dst\" = 5060\n\"hdr.tcp.src\" = 0\n\"hdr.tcp.dst\" = 0\n\
             \"standard_metadata.ingress_port\" = 1\n",
            4096 + flow
        );
    }
    let racked = crate::moves::load(&text, &format!("ten-{delay}"));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let moves = &report.pinned[0].moves;
    assert!(moves.len() == 10 && moves.iter().all(|one| one.result == "done"), "{moves:#?}");
    assert!(report.pinned[0].at_switch > 1000, "{:?}", report.pinned[0]);
    Duration::from_ps(moves.iter().filter_map(|one| one.took_ps).max().unwrap_or(0))
}

/// In virtual time: a write of 16 ms is a message of 8 ms and its answer.
#[test]
fn ten_flows_come_to_the_switch_together() {
    assert_eq!(slowest_of_ten("8ms"), Duration::from_ms(16));
    assert_eq!(slowest_of_ten("100us"), Duration::from_us(200));
}

/// The most popular flows change: how long until the new ones are at the switch, with `promote = "auto"`, writes of 16 ms and windows of 100 ms.
#[test]
fn the_new_ten_come_to_the_switch_by_themselves() {
    let example = include_str!("../../../examples/pinned/popular.toml");
    let (rack, _) = example.split_once("# 500 connections").expect("it has that");
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut text = rack.replace("../apps", &apps.join("apps").display().to_string());
    text = text.replace("connections.toml", &apps.join("pinned/connections.toml").display().to_string());
    text = text.replace("flows = 32", "flows = 10").replace("window = \"5ms\"", "window = \"100ms\"");
    text += "[control]\ndelay = \"8ms\"\n";
    // Ten flows with 1,000 packets/s each, and ten other ones from 1 s on.
    for (name, start, port) in [("old", "0s", 6000), ("new", "1s", 7000)] {
        for flow in 0..10 {
            text += &format!(
                "[[workload]]\nkind = \"udp\"\nname = \"{name}{flow}\"\nfrom = \"campus\"\nto = \"net\"\nstart = \"{start}\"\n\
                 count = 1000\nrate = \"1600kbit/s\"\nsize = 200\nport = {}\n",
                port + flow
            );
        }
    }
    let racked = crate::moves::load(&text, "new-ten");
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let pinned = &report.pinned[0];
    let second = 1_000_000_000_000;
    let away = |until_ps: u64| {
        let later = pinned.shares.iter().filter(|share| share.until_ps > until_ps);
        later.map(|share| share.packets - share.at_switch).sum::<u64>()
    };
    // All of the new ones are away at first, and none is from 300 ms on. A sample is 40 ms at most.
    assert!(away(second) > 1000, "{:#?}", pinned.shares);
    assert_eq!(away(second * 13 / 10 + second / 25), 0, "{:#?}", pinned.shares);
    println!("{} packets of the new ten were processed by helpers", away(second));
}
