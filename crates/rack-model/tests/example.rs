//! The slice's file, read; and files that are broken at random.

use base_time::Rng;
use expect_test::expect;
use rack_model::{App, NodeId, Placement, Policy, Rack, Regions, read_rack};
use std::fmt::Write;

const SLICE: &str = include_str!("../../../examples/slice/RACK.toml");

fn summary(rack: &Rack) -> String {
    let mut out = format!("{} seed {} until {:?}\n", rack.name.value, rack.seed, rack.until);
    for d in &rack.devices {
        let externs: Vec<&str> = d.externs.iter().map(|e| e.value.as_str()).collect();
        let class = d.class.word();
        let _ = writeln!(out, "{} {class} {} x{} {externs:?}", d.name.value, d.service, d.parallel);
    }
    for h in &rack.hosts {
        let ip: Vec<String> = h.ip.iter().map(|n| n.value.to_string()).collect();
        let _ = writeln!(out, "{} {} {}", h.name.value, h.mac.value, ip.join(" "));
    }
    for l in &rack.links {
        let [a, b] = l.ends.map(|e| rack.end_name(e));
        let _ = writeln!(out, "{a} - {b} {} {} loss {} mtu {}", l.rate, l.delay, l.loss, l.mtu);
    }
    for a in &rack.apps {
        let _ = write!(out, "{} {} origin {} ", a.name.value, a.program.value, a.origin.value.0);
        let _ = writeln!(out, "epoch {} entries {:?}", a.epoch, a.entries.as_ref().map(|e| &e.value));
        for p in by_hand(a) {
            let device = rack.node_name(NodeId::Device(p.device.value));
            let _ = writeln!(out, "  {} -> {device}", p.region.value);
        }
    }
    for w in &rack.workloads {
        let pair = w.pairs().next().unwrap();
        let [from, to] = [pair.0, pair.1].map(|h| rack.node_name(NodeId::Host(h)));
        let (first, second) = (w.load.time_of(0), w.load.time_of(1));
        let _ =
            writeln!(out, "{} {from}->{to} {}x{}B {first} {second}", w.name.value, w.load.count, w.load.size);
    }
    out
}

fn by_hand(app: &App) -> &[Placement] {
    match &app.map {
        Regions::ByHand(map) => map,
        Regions::Planned => &[],
    }
}

#[test]
fn the_slice_is_read() {
    let (rack, diagnostics) = read_rack(SLICE, 1);
    assert_eq!(diagnostics, []);
    let rack = rack.unwrap();
    expect![[r#"
        slice seed 1 until Some(1s)
        tor switch 800ns x64 []
        nic smartnic 2us x8 ["beacon"]
        h1 02:00:00:00:01:01 10.0.1.1/24
        h2 02:00:00:00:02:01 10.0.2.1/24
        h1 - tor:1 1Gbit/s 1us loss 0% mtu 1500
        h2 - tor:2 1Gbit/s 5us loss 0.5% mtu 1500
        nic:1 - tor:3 1Gbit/s 500ns loss 0% mtu 2000
        slice slice.p4 origin 0 epoch 1 entries Some("entries.stf")
          Sample -> nic
          Acl -> nic
          Mark -> nic
          Out -> nic
        ping h1->h2 100x56B 0s 2ms
        download h2->h1 500x1000B 10ms 10.2ms
        upload h1->h2 500x200B 20ms 20.2ms
    "#]]
    .assert_eq(&summary(&rack));
}

#[test]
fn a_rack_answers_what_is_linked_to_what() {
    let rack = read_rack(SLICE, 1).0.unwrap();
    let tor = NodeId::Device(rack.device("tor").unwrap());
    let nic = NodeId::Device(rack.device("nic").unwrap());
    let h2 = NodeId::Host(rack.host("h2").unwrap());
    let between: Vec<(u32, u32)> =
        rack.links_between(tor, nic).map(|(_, here, there)| (here, there)).collect();
    assert_eq!(between, [(3, 1)]);
    assert_eq!(rack.peer(tor, 2).unwrap().1.node, h2);
    assert_eq!(rack.peer(h2, 0).unwrap().1.node, tor);
    assert!(rack.peer(tor, 9).is_none());
    assert_eq!(rack.links_of(tor).count(), 3);
}

#[test]
fn places_lead_back_to_the_text() {
    let rack = read_rack(SLICE, 1).0.unwrap();
    let text = |span: base_diag::Span| &SLICE[span.lo as usize - 1..span.hi as usize - 1];
    let app = &rack.apps[0];
    let map = by_hand(app);
    assert_eq!(text(map[1].region.span), "Acl");
    assert_eq!(text(map[1].device.span), "\"nic\"");
    assert_eq!(text(app.entries.as_ref().unwrap().span), "\"entries.stf\"");
    assert_eq!(text(rack.devices[1].externs[0].span), "\"beacon\"");
    assert_eq!(text(rack.links[0].ends[1].span), "\"tor:1\"");
}

/// A region's own policy stands before the app's.
#[test]
fn regions_have_policies() {
    let policies = |text: &str| -> Vec<Policy> {
        let (rack, diagnostics) = read_rack(text, 1);
        assert_eq!(diagnostics, []);
        by_hand(&rack.unwrap().apps[0]).iter().map(|p| p.policy).collect()
    };
    let (direct, call) = (Policy::Direct, Policy::Call);
    let acl = SLICE.replace("Acl = \"nic\"", "Acl = { device = \"nic\", policy = \"call\" }");
    assert_eq!(policies(&acl), [direct, call, direct, direct]);
    let others = acl.replace("\"call\"", "\"direct\"").replace("map = {", "policy = \"call\"\nmap = {");
    assert_eq!(policies(&others), [call, direct, call, call]);
}

/// With several apps, each has the devices that it names, which others may name too; a single app has all.
#[test]
fn devices_are_of_the_apps_that_name_them() {
    let apps_of = |text: &str| {
        let (rack, diagnostics) = read_rack(text, 1);
        assert_eq!(diagnostics, []);
        let rack = rack.unwrap();
        let devices = rack.devices.iter().map(|d| rack.device(&d.name.value).unwrap());
        devices.map(|id| rack.apps_of(id).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(apps_of(SLICE), [[0], [0]]);
    let more = "\n[device.more]\nclass = \"cpu\"\n[device.idle]\nclass = \"cpu\"\n[[app]]\nname = \"other\"\nprogram = \"b.p4\"\n\
origin = \"more\"\n";
    assert_eq!(apps_of(&format!("{SLICE}{more}")), [vec![0], vec![0], vec![1], vec![]]);
    let shared = "devices = [\"tor\"]\n";
    assert_eq!(apps_of(&format!("{SLICE}{more}{shared}")), [vec![0, 1], vec![0], vec![1], vec![]]);
}

#[test]
fn calls_of_frame_externs_may_cost_time_and_rate() {
    let other = "{ time = \"5us\", rate = \"1Gbit/s\", full_rate = \"10Gbit/s\" }";
    let text = SLICE
        .replace("externs = [\"beacon\"]", &format!("externs = {{ beacon = \"2us\", other = {other} }}"));
    let (rack, diagnostics) = read_rack(&text, 1);
    assert_eq!(diagnostics, []);
    let mut rack = rack.unwrap();
    let names: Vec<&str> = rack.devices[1].externs.iter().map(|name| name.value.as_str()).collect();
    assert_eq!(names, ["beacon", "other"]);
    let costs = |rack: &Rack| {
        ["beacon", "other", "unknown"].map(|name| {
            let call = rack.devices[1].call(name);
            (call.time.as_ps(), call.rate.map_or(0, |rate| rate.bits_per_s()))
        })
    };
    assert_eq!(costs(&rack), [(2_000_000, 0), (5_000_000, 1_000_000_000), (0, 0)]);
    rack.at_full_rate();
    assert_eq!(costs(&rack)[1].1, 10_000_000_000);
}

#[test]
fn broken_files_give_diagnostics_and_never_panic() {
    let mut rng = Rng::new(7);
    let pieces =
        ["\"", "[", "]", "=", "\n", "{", "}", ":", "1e400", "-1", "é", "\u{0}", "[[link]]\n", "'''", "."];
    let mut broken = 0;
    for round in 0..1500 {
        let mut text = SLICE.to_string();
        for _ in 0..=rng.below(3) {
            let at =
                (0..=text.len()).rev().find(|i| text.is_char_boundary(*i) && *i <= rng.index(text.len() + 1));
            let at = at.unwrap_or(0);
            match rng.below(3) {
                0 => text.insert_str(at, rng.pick(&pieces).unwrap()),
                1 => text.truncate(at.max(1)),
                _ => text = text.replacen(rng.pick(&["1", "\"", "tor", "Gbit", "h2", "]"]).unwrap(), "x", 3),
            }
        }
        let (rack, diagnostics) = read_rack(&text, 1);
        assert_eq!(rack.is_none(), !diagnostics.is_empty(), "round {round}: {diagnostics:?}\n{text}");
        for d in &diagnostics {
            let span = d.span();
            assert!(!span.is_none() && span.hi as usize <= text.len() + 1, "round {round}: {d:?}");
            assert!(d.title.split_whitespace().count() <= 10, "a title of more than ten words: {}", d.title);
        }
        broken += usize::from(rack.is_none());
    }
    assert!(broken > 1000, "only {broken} files were broken");
}
