//! The highest rate that a plan allows, against the emulated rack: no frame is lost slightly below it, some are slightly above.
//!
//! Plans once ignored the overhead of frames on the wire, and counted a device's frames as bits of packets of one size.
//! Other tests compare latencies of a few packets, which lose nothing at any rate.

use crate::support;

use base_diag::SourceMap;
use p4rack::run::feed::Feed;
use p4rack::run::spec::HexPacket;
use p4rack::{rack, traffic, up};
use plan_model::Role;
use plan_search::{Goal, Problem, Settings, Stop, search};
use rack_plan::Wishes;
use std::fs;
use std::path::{Path, PathBuf};
use support::text;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct metadata_t { bit<8> a; bit<8> b; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action first(bit<8> a) { m.a = a; }
    action send(bit<9> port, bit<8> b) { s.egress_spec = port; m.b = b; }
    action second(bit<48> src) { h.ethernet.src = src; }
    table one { key = { h.ethernet.dst: exact; } actions = { first; } default_action = first(7); }
    table two { key = { m.a: exact; } actions = { send; } default_action = send(2, 3); }
    table three { key = { m.b: exact; } actions = { second; } default_action = second(5); }
    apply {
#ifdef BRANCH
        two.apply();
        if (h.ethernet.dst == 48w0x020000000003) {
            @region("First") { one.apply(); }
            s.egress_spec = 4;
        }
#else
        @region("First") { one.apply(); }
        two.apply();
        @region("Second") { three.apply(); }
#endif
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// Headers of Ethernet, IPv4 and UDP.
const HEADERS: u32 = 42;
/// Packets of a run that visit the card: 2 % of them are more than queue and backlog hold.
const COUNT: u64 = 2500;

/// Regions that the card runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every packet visits it twice.
    Twice,
    /// A fifth of the packets visit it once.
    Fifth,
}

/// A switch and a card, with packets of `size` bytes at `rate` bits per second.
fn directory(kind: Kind, size: u32, rate: u64, shares: &str) -> PathBuf {
    let name = format!("rates-{}-{size}-{rate}-{}", kind as u8, shares.len());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("visits.p4"), PROGRAM).unwrap();
    let payload = size - HEADERS;
    let of_payload = rate * u64::from(payload) / u64::from(size);
    let (defines, map) = match kind {
        Kind::Twice => ("", "First = \"nic\", Second = \"nic\""),
        Kind::Fifth => ("BRANCH = 1", "First = \"nic\""),
    };
    let stream = |name: &str, to: &str, count: u64, rate: u64| {
        format!(
            "[[workload]]\nkind = \"udp\"\nname = \"{name}\"\nfrom = \"h1\"\nto = \"{to}\"\ncount = {count}\n\
             size = {payload}\nrate = \"{rate}bit/s\"\n"
        )
    };
    let streams = match kind {
        Kind::Twice => stream("visits", "h2", COUNT, of_payload),
        Kind::Fifth => {
            let passes = stream("passes", "h2", 4 * COUNT, of_payload * 4 / 5);
            stream("visits", "h3", COUNT, of_payload / 5) + &passes
        }
    };
    let rack = format!(
        r#"
[device.tor]
class = "switch"
[device.nic]
class = "smartnic"
service = "10us"
parallel = 8
backlog = 12
[host.h1]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1/24"
[host.h2]
mac = "02:00:00:00:00:02"
ip = "10.0.0.2/24"
[host.h3]
mac = "02:00:00:00:00:03"
ip = "10.0.0.3/24"
[[link]]
ends = ["h3", "tor:4"]
rate = "10Gbit/s"
[[link]]
ends = ["h1", "tor:1"]
rate = "10Gbit/s"
[[link]]
ends = ["h2", "tor:2"]
rate = "10Gbit/s"
[[link]]
ends = ["nic:1", "tor:3"]
rate = "1Gbit/s"
queue = 12
[[app]]
program = "visits.p4"
origin = "tor"
defines = {{ {defines} }}
map = {{ {map} }}
{shares}
[plan]
size = {size}
{streams}"#
    );
    fs::write(directory.join("RACK.toml"), rack).unwrap();
    directory
}

/// The highest rate in bits per second with the regions on the card.
fn highest(kind: Kind, size: u32, shares: &str) -> u64 {
    let mut map = SourceMap::new();
    let directory = directory(kind, size, 1_000_000, shares);
    let loaded = rack::load_problems(&directory, &[], &Wishes::default(), &[], &mut map);
    let problems = loaded.unwrap_or_else(|found| panic!("{}", text(&found, &map))).problems;
    let problem = &problems[0].problem;
    let device = problem.model.devices.iter().position(|d| d.name == "nic").unwrap();
    let is_region = |node: &usize| ["First", "Second"].contains(&problem.region_name(*node).as_str());
    let wanted: Vec<_> = (0..problem.nodes.len()).filter(is_region).map(|node| (node, device)).collect();
    assert!(!wanted.is_empty());
    let bears = |rate: u64| {
        let mut model = problem.model.clone();
        let var = model.signature.role(Role::Rate).unwrap();
        model.signature.variables[var.index()].initial = rate as i64 * 1000;
        let settings = Settings { wanted: wanted.clone(), ..problem.settings.clone() };
        let problem = Problem::new(model, settings).unwrap();
        !search(&problem, &Goal::First, &mut |_| Stop::No).plans.is_empty()
    };
    let (mut low, mut high) = (0u64, 10_000_000_000);
    while high - low > 10_000 {
        let middle = (low + high) / 2;
        if bears(middle) { low = middle } else { high = middle }
    }
    low
}

/// Number of packets lost at a rate.
fn lost(kind: Kind, size: u32, rate: u64) -> u64 {
    let mut map = SourceMap::new();
    let racked = rack::load(&directory(kind, size, rate, ""), &[], &mut map);
    let racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    report.workloads.iter().map(|stream| stream.sent - stream.received).sum()
}

/// Nothing is lost at 2 % less than a rate, and something at 2 % more.
fn check(kind: Kind, size: u32, rate: u64) {
    assert!(rate > 100_000_000, "{size} bytes: {rate} bit/s");
    let (below, above) = (lost(kind, size, rate * 98 / 100), lost(kind, size, rate * 102 / 100));
    assert!(below == 0 && above > 0, "{size} bytes at {rate} bit/s: {below} lost below, {above} above");
}

#[test]
fn the_highest_rate_is_what_the_emulator_carries() {
    for size in [64, 128, 256, 512, 1000, 1500] {
        check(Kind::Twice, size, highest(Kind::Twice, size, ""));
    }
}

/// Without shares each arm of a branch bears the whole stream.
#[test]
fn shares_of_branches_count() {
    for size in [64, 1000] {
        let whole = highest(Kind::Fifth, size, "");
        let rate = highest(Kind::Fifth, size, "shares = { First = \"20%\" }");
        assert!(rate.abs_diff(5 * whole) < rate / 1000, "{size} bytes: {rate} of {whole}");
        check(Kind::Fifth, size, rate);
    }
}

/// `p4rack analyze --traffic` measures the shares that the test above states.
#[test]
fn shares_are_measured_in_traffic() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rates-branch.p4");
    fs::write(&file, format!("#define BRANCH 1\n{PROGRAM}")).unwrap();
    let (mut map, mut warnings) = (SourceMap::new(), vec![]);
    let main = file.display().to_string();
    let program = rack::compile_program(&main, &Default::default(), &mut map, &mut warnings)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let mut feed = Feed::new(None);
    for last in [3, 2, 2, 2, 2] {
        let bytes = [&[2, 0, 0, 0, 0, last, 2, 0, 0, 0, 0, 1, 8, 0][..], &[0; 46]].concat();
        feed.packet(HexPacket { port: 1, bytes });
    }
    let found = traffic::measure(&traffic::job(program, vec![]), None, &mut feed)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    assert_eq!((found.packets, found.line().as_str()), (5, "shares = { First = \"20%\" }"));
}
