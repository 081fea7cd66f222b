//! Groups of servers in a rack: `examples/snat/group.toml`, and the same program on one device.

use crate::support::{self, nat, sharing_codes};

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::Device as _;
use device::Options;
use nat::{Flow, UDP, back, flow, packet};
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, HostId, LinkId, MemberChange, Membership, Rack, Spanned};
use server_groups::wire::Read;
use server_groups::{Frame, Member};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::text;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/snat/group.toml")
}

pub fn load(path: &Path) -> Racked {
    let mut map = SourceMap::new();
    rack::load(path, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

pub fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked)
        .unwrap_or_else(|found| panic!("{found:#?}"))
        .run()
        .unwrap_or_else(|found| panic!("{found:#?}"))
}

#[test]
fn the_example_grows_shrinks_and_survives_a_death() {
    let report = run(&load(&example()));
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    assert_eq!((group.group.as_str(), group.changes, group.is_steady), ("nat", 4, true));
    let standings: Vec<(&str, &str)> =
        group.servers.iter().map(|server| (server.name.as_str(), server.standing.as_str())).collect();
    // Mappings live for two minutes: the first server has not ended its last one.
    assert_eq!(standings, [("s1", "leaving"), ("s2", "member"), ("s3", "member")]);
    // All losses are at the second server.
    let lost: u64 = report.workloads.iter().map(|load| load.lost).sum();
    assert!((1..50).contains(&lost) && group.lost == lost, "{lost} lost: {group:?}");
    assert!(group.servers.iter().all(|server| server.calls > 100 && server.dropped == 0), "{group:?}");
}

/// The example without changes and deaths, with other lines for its group.
pub fn variant(name: &str, group: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).expect("a directory");
    let directory = example().parent().expect("it has one").to_path_buf();
    for file in ["snat.p4", "snat.c"] {
        std::fs::copy(directory.join(file), place.join(file)).expect("a copy");
    }
    let text = std::fs::read_to_string(example()).expect("the example");
    let (before, after) = text.split_once("# A third server").expect("its changes");
    let (_, after) = after.split_once("[[app]]").expect("its app");
    let text = format!("{}[[app]]{after}", before.replace("idle = \"130s\"", group));
    std::fs::write(place.join("RACK.toml"), text).expect("a file");
    place
}

#[test]
fn a_group_grows_with_its_load_and_shrinks_again() {
    let scale =
        "{ capacity = 3000, up_for = \"5ms\", down_for = \"10ms\", cooldown = \"10ms\", weights = true }";
    let report = run(&load(&variant("scaled-group", &format!("idle = \"130s\"\nscale = {scale}"))));
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    let third = &group.servers[2];
    assert!(third.calls > 0 && third.opened > 0, "it has come, and has had flows: {group:?}");
    let leaving = group.servers.iter().filter(|server| server.standing == "leaving").count();
    assert!(leaving >= 1, "nobody gets the last flows: {group:?}");
    assert_eq!(report.workloads.iter().map(|load| load.lost).sum::<u64>(), 0);
    assert_eq!((group.lost, group.is_steady), (0, true), "{group:?}");
}

#[test]
fn a_handler_that_keeps_flows_needs_a_group_that_does() {
    let mut map = SourceMap::new();
    let found = rack::load(&variant("pinned-group", "variant = \"pin\""), &[], &mut map).err();
    let found = text(&found.expect("it is refused"), &map);
    assert!(found.contains("error[P4R1501]: group `nat` keeps no flows, but `snat` may"), "{found}");
    assert!(found.contains("write `keeps = \"0s\"` if it keeps nothing"), "{found}");
}

/// A handler that keeps nothing, called for each packet; `CALLS` is the body of ingress.
const STATELESS: &str = r#"
#include <core.p4>
#include <v1model.p4>
header packet_t { bit<272> before; bit<16> src; bit<16> dst; }
struct headers_t { packet_t packet; }
struct metadata_t { }
struct request_t { bit<16> port; }
@remote(handler = "even", group = "nat", key = { q.port }, keeps = "0s")
extern bool even(in request_t q);
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.packet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    apply { CALLS }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

const EVEN: &str = r#"#include "even.h"
int even(p4r_ctx *ctx, const request_t *q) { (void)ctx; return request_t_port(q) % 2 == 0 ? P4R_OK : P4R_DROP; }
"#;

/// A rack with this program; `group` are lines of its group, `more` is added to the file.
pub fn stateless(name: &str, calls: &str, group: &str, more: &str) -> PathBuf {
    let place = variant(name, group);
    std::fs::write(place.join("even.p4"), STATELESS.replace("CALLS", calls)).expect("a file");
    std::fs::write(place.join("even.c"), EVEN).expect("a file");
    let text = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
    let text = text.replace("snat.p4", "even.p4").replace("snat.c", "even.c").replace("{ snat =", "{ even =");
    // Nothing rewrites addresses here.
    let text = text.replace("gateway = \"02:00:00:00:00:01\"", "gateway = \"02:00:00:00:02:01\"");
    std::fs::write(place.join("RACK.toml"), text + more).expect("a file");
    place
}

/// One call for each packet: the packets of the uploads to odd ports are dropped.
pub const ONE_CALL: &str =
    "q.port = hdr.packet.dst; if (even(q)) { std.egress_spec = 2; } else { mark_to_drop(std); }";

#[test]
fn a_group_that_keeps_no_flows_changes_at_once() {
    let leaves = "\n[[membership]]\ngroup = \"nat\"\nat = \"20ms\"\nremove = \"s1\"\n";
    let place = stateless("stateless-group", ONE_CALL, "variant = \"pin\"", leaves);
    let report = run(&load(&place));
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    let first = &group.servers[0];
    assert_eq!((first.standing.as_str(), first.flows, group.lost), ("out", 0, 0), "{group:?}");
    assert!(first.calls > 100 && group.servers[1].calls > 100 && group.is_steady, "{group:?}");
    assert!(group.servers.iter().all(|server| server.extra_hops == 0 && server.opened == 0), "{group:?}");
    let uploads = report.workloads.iter().filter(|load| load.name.starts_with("upload"));
    let came: Vec<u64> = uploads.map(|load| load.received).collect();
    assert_eq!(came, [200, 0].repeat(6));
}

/// A handler that gives the same answer whatever came before may be called more than once for a packet.
#[test]
fn a_packet_may_call_a_pure_handler_again() {
    let twice = "q.port = hdr.packet.dst; if (even(q)) { q.port = 2; if (even(q)) { std.egress_spec = 2; } } else { mark_to_drop(std); }";
    let place = stateless("twice-group", twice, "variant = \"pin\"", "");
    let program = std::fs::read_to_string(place.join("even.p4")).expect("the program");
    let refused = rack::load(&place.join("RACK.toml"), &[], &mut SourceMap::new()).err();
    assert!(refused.is_some_and(|found| found[0].code.to_string() == "P4R0505"));
    std::fs::write(place.join("even.p4"), program.replace("@remote", "@pure @remote")).expect("a file");
    let report = run(&load(&place));
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    assert_eq!((group.lost, group.is_steady), (0, true), "{group:?}");
    let uploads = report.workloads.iter().filter(|load| load.name.starts_with("upload"));
    let came: Vec<u64> = uploads.map(|load| load.received).collect();
    assert_eq!(came, [200, 0].repeat(6));
}

/// The only block of ports would be that of a server that is no member: a member has it, and takes all new flows.
#[test]
fn blocks_are_leased_to_members() {
    let place = variant("one-block-group", "idle = \"130s\"");
    let program = std::fs::read_to_string(place.join("snat.p4")).expect("the program");
    // Port 1088 is in block 17, whose home is the third of three servers.
    let program = program.replace("first=1024 last=5119", "first=1088 last=1151");
    std::fs::write(place.join("snat.p4"), program).expect("a file");
    let report = run(&load(&place));
    let late = ["upload-9", "upload-10", "upload-11", "upload-12"];
    let late = report.workloads.iter().filter(|load| late.contains(&load.name.as_str()));
    let came: Vec<u64> = late.map(|load| load.received).collect();
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    assert_eq!(came, [200; 4], "{group:?}");
    assert!(group.is_steady && group.servers[2].calls == 0, "{group:?}");
}

/// CLIP's filters: no server asks another one, a new server gets new flows, and one that leaves goes when its last flow has ended.
#[test]
fn a_group_with_filters_changes_when_they_change_roles() {
    let changes = "\n[[membership]]\ngroup = \"nat\"\nat = \"5ms\"\nadd = \"s3\"\n\n[[membership]]\ngroup = \"nat\"\nat = \"20ms\"\nremove = \"s1\"\n";
    let place =
        stateless("filtered-group", ONE_CALL, "idle = \"2ms\"\nvariant = \"bloom\"\ncells = 4096", changes);
    let report = run(&load(&place));
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    assert_eq!((group.lost, group.changes), (0, 2), "{group:?}");
    assert!(group.servers.iter().all(|server| server.extra_hops == 0 && server.dropped == 0), "{group:?}");
    let standings: Vec<&str> = group.servers.iter().map(|server| server.standing.as_str()).collect();
    assert_eq!(standings, ["out", "member", "member"], "{group:?}");
    assert!(group.servers.iter().all(|server| server.calls > 100), "{group:?}");
    let uploads = report.workloads.iter().filter(|load| load.name.starts_with("upload"));
    let came: Vec<u64> = uploads.map(|load| load.received).collect();
    assert_eq!(came, [200, 0].repeat(6));
}

/// A flow is named by the fields of the key, and by nothing else of the request.
#[test]
fn a_flow_is_the_key_of_a_request() {
    let width = |racked: &Racked| {
        let part = racked.apps[0].parts[0].as_ref().expect("the switch has a part");
        part.linkage.groups[0].wire.flow.width
    };
    assert_eq!(width(&load(&stateless("one-field", ONE_CALL, "variant = \"pin\"", ""))), 16);
    // Two addresses, two ports and a protocol, or a leased block.
    assert_eq!(width(&load(&example())), 105);
}

/// A switch that restarts gets the filters' roles, too.
#[test]
fn a_switch_that_begins_gets_the_roles_of_the_filters() {
    let bloom = "idle = \"2ms\"\nvariant = \"bloom\"";
    for (group, all) in [(bloom, vec![vec![1, 65_534], vec![2, 1]]), ("idle = \"2ms\"", vec![])] {
        let racked = load(&stateless("filters-refilled", ONE_CALL, group, ""));
        let (_, mut group) = p4rack::groups::groups(&racked).remove(0);
        let roles = |group: &device_control::RackGroup| {
            let entries = group.control.refill();
            let own = entries.into_iter().filter(|entry| entry.table.ends_with(".roles"));
            let args = own.filter_map(|entry| entry.args);
            args.map(|args| args.iter().map(|arg| arg.to_u64().expect("16 bits")).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let first = roles(&group);
        group.control.poll(Time::ZERO + Duration::from_ms(3));
        assert_eq!(first.into_iter().chain(roles(&group)).collect::<Vec<_>>(), all);
    }
}

const SERVERS: usize = 3;
pub const CLIENT: HostId = HostId(0);
pub const NET: HostId = HostId(1);
pub const CLIENT_ADDRESS: u32 = 0x0a00_0001;
pub const NET_ADDRESS: u32 = 0xcb00_7102;

pub fn ms(count: u64) -> Time {
    Time::ZERO + Duration::from_ms(count)
}

/// A packet of a connection, as both sides number it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sent {
    at: Time,
    connection: u16,
    number: u32,
}

/// Connections that begin, send for a while, and end for good; three of them share a peer's port.
pub fn traffic(rng: &mut Rng) -> Vec<Sent> {
    let mut all = vec![];
    for connection in 0..60 {
        let mut at = rng.below(8_000);
        let end = at + 300 + rng.below(2_500);
        for number in 0.. {
            all.push(Sent { at: ms(at) + Duration::from_us(rng.below(1_000)), connection, number });
            at += 1 + rng.below(200);
            if at > end {
                break;
            }
        }
    }
    all.sort();
    all
}

fn peer_port(connection: u16) -> u16 {
    2000 + connection / 3
}

fn outbound(sent: Sent) -> Vec<u8> {
    let flow = Flow {
        protocol: UDP,
        src: (CLIENT_ADDRESS, 5000 + sent.connection),
        dst: (NET_ADDRESS, peer_port(sent.connection)),
    };
    let mut payload = vec![0x5a; 24];
    payload[..2].copy_from_slice(&sent.connection.to_be_bytes());
    payload[2..6].copy_from_slice(&sent.number.to_be_bytes());
    packet(flow, &payload, true)
}

/// The connection and the number that a frame carries.
fn carried(frame: &[u8]) -> (u16, u32) {
    let at = 14 + 20 + 8;
    let number = frame[at + 2..at + 6].try_into().expect("four bytes");
    (u16::from_be_bytes([frame[at], frame[at + 1]]), u32::from_be_bytes(number))
}

/// The answer of the peer, which does not answer every packet.
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let (_, number) = carried(frame);
    (number % 3 != 1).then(|| packet(back(flow(frame)), &frame[42..66], true))
}

/// An outbound packet from the same public port for all.
fn without_port(frame: &[u8]) -> Vec<u8> {
    let seen = flow(frame);
    packet(Flow { src: (seen.src.0, 0), ..seen }, &frame[42..], true)
}

#[derive(Default)]
pub struct Seen {
    /// By connection, at the peer.
    out: BTreeMap<u16, Vec<Vec<u8>>>,
    /// The same, at the client.
    back: BTreeMap<u16, Vec<Vec<u8>>>,
}

/// Outputs of one device with the handler inline.
pub fn whole(racked: &Racked, sent: &[Sent]) -> Seen {
    let app = &racked.apps[0];
    let options = Options { registry: app.offers.registry.clone(), ..Options::default() };
    let mut device = ir_interp::switch(Arc::clone(&app.whole), options).expect("it runs");
    let mut seen = Seen::default();
    for sent in sent {
        device.tick(sent.at);
        for output in device.process(1, &outbound(*sent), sent.at) {
            assert_eq!(output.port, 2);
            let answers = answer(&output.frame).map(|answer| device.process(2, &answer, sent.at));
            for output in answers.into_iter().flatten() {
                assert_eq!(output.port, 1);
                seen.back.entry(sent.connection).or_default().push(output.frame);
            }
            seen.out.entry(sent.connection).or_default().push(output.frame);
        }
    }
    seen
}

pub struct Ran {
    seen: Seen,
    pub report: RunReport,
    /// Connections that a server had to do with which died then: the server and its deaths.
    hurt: BTreeSet<u16>,
}

/// Outputs of the rack.
pub fn in_rack(racked: &Racked, sent: &[Sent]) -> Ran {
    let mut running = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}"));
    running.emulator.listen(CLIENT);
    running.emulator.listen(NET);
    let to_server = |at: usize| LinkId(2 + at as u32);
    (0..SERVERS).for_each(|at| running.emulator.record(to_server(at)));
    let mut seen = Seen::default();
    for sent in sent {
        assert!(running.emulator.send(CLIENT, outbound(*sent), sent.at));
    }
    for now in 0..14_000 {
        running.run_until(ms(now)).unwrap_or_else(|violation| panic!("{violation}"));
        for received in running.emulator.take_received(NET) {
            if let Some(answer) = answer(&received.frame) {
                let at = running.emulator.now();
                assert!(running.emulator.send(NET, answer, at));
            }
            seen.out.entry(carried(&received.frame).0).or_default().push(received.frame);
        }
        for received in running.emulator.take_received(CLIENT) {
            seen.back.entry(carried(&received.frame).0).or_default().push(received.frame);
        }
    }
    let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
    let recordings = (0..SERVERS).map(|at| running.emulator.take_recording(to_server(at)).expect("recorded"));
    let hurt = recordings.enumerate().flat_map(|(at, recording)| hurt(racked, at, &recording)).collect();
    Ran { seen, report, hurt }
}

/// Connections of the flows that a server got packets of before it died, or until its death was known.
fn hurt(racked: &Racked, server: usize, recording: &[u8]) -> BTreeSet<u16> {
    let deaths = racked.rack.faults.iter().filter_map(|fault| match fault.kind {
        FaultKind::DeviceDown(device) if device == DeviceId(1 + server as u32) => {
            Some(fault.ends().min(fault.at + Duration::from_ms(20)))
        }
        _ => None,
    });
    let Some(last) = deaths.max() else { return BTreeSet::new() };
    let edge = &racked.apps[0].parts[0].as_ref().expect("the switch").linkage.groups[0];
    let mut connections = BTreeSet::new();
    let mut rest = &recording[24..];
    while rest.len() >= 16 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        let at = Time::ZERO + Duration::from_ns(u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)));
        let end = 16 + word(8) as usize;
        let frame = rest[16..end].to_vec();
        rest = &rest[end..];
        if let Read::Frame(Frame::Packet { flow, .. }) = edge.wire.read(Member(server as u16), frame)
            && at <= last
        {
            // A bit, our address, our port, the peer's, the protocol. Packets of leased blocks go where their flow is.
            connections.insert(u16::from_be_bytes([flow[5], flow[6]]) - 5000);
        }
    }
    connections
}

/// The first difference. Servers choose public ports, and so does the one device: ports are compared by a bijection between connections that
/// live at one time.
pub fn difference(expected: &Seen, ran: &Ran, sent: &[Sent]) -> Option<String> {
    let mut ports: BTreeMap<u16, u16> = BTreeMap::new();
    let unhurt = expected.out.iter().filter(|(connection, _)| !ran.hurt.contains(connection));
    for (connection, expected_out) in unhurt {
        let none = vec![];
        let came = ran.seen.out.get(connection).unwrap_or(&none);
        if came.len() != expected_out.len() {
            return Some(format!(
                "connection {connection}: {} of {} packets came",
                came.len(),
                expected_out.len()
            ));
        }
        let mut own = BTreeSet::new();
        for (came, expected) in came.iter().zip(expected_out) {
            if without_port(came) != without_port(expected) {
                let (came, expected) = (carried(came), carried(expected));
                return Some(format!("connection {connection}: {came:?} instead of {expected:?}"));
            }
            own.insert(flow(came).src.1);
        }
        if own.len() != 1 {
            return Some(format!("connection {connection} has the ports {own:?}"));
        }
        ports.extend(own.first().map(|port| (*connection, *port)));
        let wanted = expected.back.get(connection).unwrap_or(&none);
        let came = ran.seen.back.get(connection).unwrap_or(&none);
        if came != wanted {
            return Some(format!(
                "connection {connection}: {} answers, and {} expected",
                came.len(),
                wanted.len()
            ));
        }
    }
    let life = |connection: u16| {
        let mut own = sent.iter().filter(move |sent| sent.connection == connection).map(|sent| sent.at);
        let first = own.next();
        (first, own.next_back().or(first))
    };
    for (one, port) in &ports {
        let (begins, ends) = life(*one);
        let meets = |other: u16| life(other).0 <= ends && begins <= life(other).1;
        let twin = ports.range(one + 1..).find(|(other, known)| *known == port && meets(**other));
        if let Some((other, _)) = twin {
            return Some(format!("port {port} is of the connections {one} and {other}"));
        }
    }
    None
}

/// The last of all public ports, and of a pool of three blocks, one of each server's.
const LAST_PORT: u16 = 5119;
const LAST_OF_FEW: u16 = 1215;

/// The rack of the example without its traffic and changes, and with a further change.
fn quiet(last: u16, and: &dyn Fn(&mut Rack)) -> Racked {
    let mut map = SourceMap::new();
    let defines = [
        format!("SNAT_CONFIG=\"address=203.0.113.1 first=1024 last={last} idle=2 quarantine=0\""),
        "SNAT_KEEPS=\"4s\"".to_string(),
    ];
    let change = |rack: &mut Rack| {
        rack.until = Some(ms(15_000));
        rack.workloads.clear();
        rack.faults.clear();
        rack.memberships.clear();
        rack.groups[0].idle.value = Duration::from_ms(6_000);
        and(rack);
    };
    let racked = rack::load_as(&example(), &defines, &mut map, &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{}", text(&found, &map))))
}

/// The same: members come and go at random, and, with `deaths`, servers die and return.
pub fn random_and(seed: u64, deaths: bool, and: &dyn Fn(&mut Rack)) -> Racked {
    quiet(LAST_PORT, &|rack| {
        vary(rack, seed, deaths);
        and(rack);
    })
}

/// Other changes of the members and, with `deaths`, deaths. One rack that was loaded once runs with any number of seeds.
pub fn vary(rack: &mut Rack, seed: u64, deaths: bool) {
    let mut rng = Rng::new(seed).split("changes");
    rack.seed = seed;
    rack.faults.clear();
    rack.memberships.clear();
    let mut taking = BTreeSet::from([0, 1]);
    let mut back_at = 0;
    let mut at = 200;
    while at < 9_000 {
        let server = rng.below(SERVERS as u64) as usize;
        let spanned = Spanned::new(DeviceId(1 + server as u32), Default::default());
        let change = match rng.below(if deaths { 4 } else { 3 }) {
            0 | 1 if !taking.contains(&server) => Some(MemberChange::Add { weight: 1 + rng.below(3) as u32 }),
            2 if taking.contains(&server) && taking.len() > 1 => {
                Some(if rng.next_bool() { MemberChange::Remove } else { MemberChange::Drain })
            }
            // The others take flows, and none of them is away.
            3 if taking.len() > 1 && at > back_at => {
                let lasts = 5 + rng.below(300);
                back_at = at + lasts + 100;
                rack.faults.push(Fault {
                    kind: FaultKind::DeviceDown(spanned.value),
                    at: ms(at),
                    lasts: Some(Duration::from_ms(lasts)),
                    span: Default::default(),
                });
                None
            }
            _ => None,
        };
        if let Some(change) = change {
            match change {
                MemberChange::Add { .. } => taking.insert(server),
                _ => taking.remove(&server),
            };
            rack.memberships.push(Membership { group: 0, at: ms(at), server: spanned, change });
        }
        at += 20 + rng.below(700);
    }
}

#[test]
fn a_group_that_changes_is_the_one_device() {
    let (mut extra_hops, mut changes) = (0, 0);
    let mut racked = quiet(LAST_PORT, &|_| ());
    let seeds = features::seeds(1, 100);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        vary(&mut racked.rack, seed, false);
        let sent = traffic(&mut Rng::new(seed));
        let ran = in_rack(&racked, &sent);
        assert_eq!(difference(&whole(&racked, &sent), &ran, &sent), None, "seed {seed}");
        let [group] = ran.report.groups.as_slice() else { panic!("seed {seed}: {:?}", ran.report.groups) };
        assert!(ran.hurt.is_empty(), "seed {seed}: {group:?}");
        assert_eq!((group.lost, group.sent), (0, group.returned), "seed {seed}");
        assert!(group.servers.iter().all(|server| server.dropped == 0), "seed {seed}: {group:?}");
        changes += group.changes;
        extra_hops += group.servers.iter().map(|server| server.extra_hops).sum::<u64>();
    }
    // Now and then, a seed has few changes.
    assert!(changes > count && 2 * extra_hops > count, "{changes} changes, {extra_hops}");
}

/// Three blocks of ports, one of each server's, so that a server that comes waits for its block, and one that is left alone has all.
#[test]
fn blocks_that_move_are_the_one_device() {
    let (mut calls, mut changes) = (0, 0);
    let mut racked = quiet(LAST_OF_FEW, &|_| ());
    for seed in features::seeds(1, 100) {
        vary(&mut racked.rack, seed, false);
        let sent = traffic(&mut Rng::new(seed));
        let ran = in_rack(&racked, &sent);
        assert_eq!(difference(&whole(&racked, &sent), &ran, &sent), None, "seed {seed}");
        let [group] = ran.report.groups.as_slice() else { panic!("seed {seed}: {:?}", ran.report.groups) };
        assert_eq!((group.lost, group.sent), (0, group.returned), "seed {seed}");
        changes += group.changes;
        calls += group.servers[2].calls;
    }
    assert!(changes > 4, "{changes}");
    assert!(calls > 50, "the server whose block others have at first had {calls} calls");
}

#[test]
fn the_death_of_a_server_costs_its_own_flows_alone() {
    let (mut deaths, mut compared) = (0, 0);
    let mut racked = quiet(LAST_PORT, &|_| ());
    let seeds = features::seeds(1, 100);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        vary(&mut racked.rack, seed, true);
        let sent = traffic(&mut Rng::new(seed));
        let ran = in_rack(&racked, &sent);
        assert_eq!(difference(&whole(&racked, &sent), &ran, &sent), None, "seed {seed}");
        deaths += racked.rack.faults.len();
        compared += 60 - ran.hurt.len();
    }
    assert!(deaths > 0 && compared > 25 * count as usize, "{deaths} deaths, {compared} connections");
}

/// A handler that counts the packets of each flow, called at two places: of some packets the source is the flow, of others the destination.
const TALLY: &str = r#"
#include <core.p4>
#include <v1model.p4>
header packet_t { bit<272> before; bit<16> src; bit<16> dst; bit<80> mark; bit<16> count; }
struct headers_t { packet_t packet; }
struct metadata_t { }
struct request_t { bit<16> flow; }
struct response_t { bit<16> count; }
@remote(handler = "tally", group = "nat", key = { q.flow }, keeps = "4s")
extern bool tally(in request_t q, out response_t r);
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.packet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    response_t r;
    apply { std.egress_spec = 2; INGRESS }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    response_t r;
    apply { EGRESS }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

const TALLY_C: &str = r#"#include "tally.h"
struct flow { uint64_t last; uint64_t count; };
int tally_init(p4r_ctx *ctx, const char *config) {
    (void)config;
    return p4r_alloc(ctx, 65536 * sizeof(struct flow)) ? P4R_OK : P4R_DROP;
}
int tally(p4r_ctx *ctx, const request_t *q, response_t *r) {
    struct flow *flow = (struct flow *)ctx->arena + request_t_flow(q);
    if (p4r_now_ns(ctx) > flow->last + 4000000000u) flow->count = 0;
    flow->last = p4r_now_ns(ctx);
    response_t_set_count(r, (uint16_t)++flow->count);
    return P4R_OK;
}
"#;

const TALLY_CALLS: &str = r#"
if (hdr.packet.src < 20) {
    q.flow = hdr.packet.src;
    if (tally(q, r)) { hdr.packet.count = r.count; }
} else {
    q.flow = hdr.packet.dst;
    if (tally(q, r)) { hdr.packet.count = r.count; }
}
"#;

/// Each call reaches the server of its own flow while members come and go.
#[test]
fn calls_at_several_places_are_the_one_device() {
    called_at_several_places("tally-ingress", &TALLY.replace("INGRESS", TALLY_CALLS).replace("EGRESS", ""));
    called_at_several_places("tally-egress", &TALLY.replace("INGRESS", "").replace("EGRESS", TALLY_CALLS));
}

fn called_at_several_places(name: &str, program: &str) {
    let place = variant(name, "idle = \"6s\"\ndedup = true");
    std::fs::write(place.join("tally.p4"), program).expect("a file");
    std::fs::write(place.join("tally.c"), TALLY_C).expect("a file");
    let text = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
    let text =
        text.replace("snat.p4", "tally.p4").replace("snat.c", "tally.c").replace("{ snat =", "{ tally =");
    std::fs::write(place.join("RACK.toml"), text).expect("a file");
    let mut racked = load(&place);
    racked.rack.until = Some(ms(11_000));
    racked.rack.workloads.clear();
    let (mut extra_hops, mut changes) = (0, 0);
    let seeds = features::seeds(1, 40);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        vary(&mut racked.rack, seed, false);
        let mut rng = Rng::new(seed).split("packets");
        // A packet has passed all its calls before the next one: flows that share a packet do not overtake one another.
        let sent: Vec<(Time, Vec<u8>)> = (0..2_500)
            .map(|n| {
                let (src, dst) = (rng.below(40) as u16, 100 + rng.below(40) as u16);
                let flow = Flow { protocol: UDP, src: (CLIENT_ADDRESS, src), dst: (NET_ADDRESS, dst) };
                (ms(4 * n), packet(flow, &[0x5a; 24], true))
            })
            .collect();
        let app = &racked.apps[0];
        let options = Options { registry: app.offers.registry.clone(), ..Options::default() };
        let mut device = ir_interp::switch(Arc::clone(&app.whole), options).expect("it runs");
        let whole: Vec<Vec<u8>> = sent
            .iter()
            .flat_map(|(at, frame)| device.process(1, frame, *at))
            .map(|output| output.frame)
            .collect();
        let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}"));
        running.emulator.listen(NET);
        sent.iter().for_each(|(at, frame)| assert!(running.emulator.send(CLIENT, frame.clone(), *at)));
        let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
        let came: Vec<Vec<u8>> =
            running.emulator.take_received(NET).into_iter().map(|received| received.frame).collect();
        let differ = whole.iter().zip(&came).position(|(whole, came)| whole != came);
        assert_eq!((came.len(), differ), (whole.len(), None), "seed {seed}");
        let [group] = report.groups.as_slice() else { panic!("seed {seed}: {:?}", report.groups) };
        assert_eq!((group.sent, group.returned, group.lost), (2_500, 2_500, 0), "seed {seed}: {group:?}");
        changes += group.changes;
        extra_hops += group.servers.iter().map(|server| server.extra_hops).sum::<u64>();
    }
    assert!(changes > count && 2 * extra_hops > count, "{changes} changes, {extra_hops}");
}

/// The example with a change of its files.
fn refused(name: &str, change: &dyn Fn(String) -> String) -> String {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("groups-{name}"));
    std::fs::create_dir_all(&directory).unwrap();
    for file in ["group.toml", "snat.p4", "snat.c"] {
        let text = std::fs::read_to_string(example().with_file_name(file)).unwrap();
        std::fs::write(directory.join(file), change(text)).unwrap();
    }
    let mut map = SourceMap::new();
    let found = rack::load(&directory.join("group.toml"), &[], &mut map).err().expect("it is refused");
    text(&found, &map)
}

#[test]
fn a_handler_and_its_group_fit() {
    let reported = refused("short", &|text| text.replace("idle = \"130s\"", "idle = \"122s\""));
    assert!(reported.contains("error[P4R1501]: group `nat` forgets flows that `snat` keeps"), "{reported}");
    assert!(reported.contains("= help: let `idle` be more than 122s"), "{reported}");
    let reported = refused("unknown", &|text| text.replace("keeps = SNAT_KEEPS, ", ""));
    assert!(
        reported.contains("error[P4R1501]: `snat` does not declare how long it keeps a flow"),
        "{reported}"
    );
    let reported = refused("keyless", &|text| {
        text.replace("key = { q.address, q.port, q.peer, q.peer_port, q.protocol }, block = q.block, ", "")
    });
    assert!(reported.contains("error[P4R1501]: the handler `snat` cannot run on a group"), "{reported}");
    let reported = refused("bare", &|text| text.replacen("externs = { snat = \"2us\" }", "", 1));
    assert!(reported.contains("error[P4R0703]: `s1` does not offer `snat`"), "{reported}");
    let reported = refused("nowhere", &|text| text.replace("name = \"nat\"", "name = \"gnat\""));
    assert!(
        reported.contains("there is no group and no device `nat`")
            || reported.contains("unknown group `nat`"),
        "{reported}"
    );
}
