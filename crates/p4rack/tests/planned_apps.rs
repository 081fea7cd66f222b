//! Each example app alone, with the flows at the switch that `p4rack plan` chooses: the emulator shows the share and the mean latency that the plan predicts.

use app_trials::frames::{Flow, Segment, TCP, segment};
use app_trials::vpn::{Tunnel, outer};
use base_diag::SourceMap;
use base_pcap::{Frame, Writer};
use base_time::{Rng, Zipf};
use p4rack::{allocated, rack, up};
use rack_emulator::RunReport;
use rack_plan::Wishes;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Flows of an app, by Zipf's law with 1.
const FLOWS: u32 = 500;
const PACKETS: u32 = 20_000;
/// The source port of the first flow.
const FIRST_PORT: u32 = 4096;

/// A switch of 800 ns and two helpers of 4 us.
const RACK: &str = r#"
[rack]
name = "alone"
seed = 1
[plan]
rate = "2Mbit/s"
size = 242
[device.edge]
class = "switch"
service = "800ns"
parallel = 64
resources = { EntryBits = "26500" }
[device.nic1]
class = "smartnic"
service = "4us"
parallel = 8
[device.nic2]
class = "smartnic"
service = "4us"
parallel = 8
[host.campus]
mac = "02:00:00:00:01:01"
ip = "10.1.0.1/16"
gateway = "02:00:00:00:00:01"
[host.net]
mac = "02:00:00:00:04:01"
ip = "198.51.100.1/24"
gateway = "02:00:00:00:00:04"
[[link]]
ends = ["campus", "edge:1"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["net", "edge:4"]
rate = "1Gbit/s"
delay = "10us"
[[link]]
ends = ["nic1:1", "edge:5"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[[link]]
ends = ["nic2:1", "edge:6"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[[app]]
origin = "edge"
entries = "entries.toml"
distribution = { zipf = 1, flows = 500 }
"#;

/// Traffic of an app's flows.
#[derive(Clone, Copy)]
enum Sent {
    /// UDP from the host, a port for each flow.
    Udp,
    /// Frames of flows by their rank, in a capture.
    Captured(fn(u32) -> Vec<u8>),
}

/// An app and what it needs.
struct App {
    name: &'static str,
    sent: Sent,
    /// Entries beside routes.
    entries: String,
    /// Objects that are copied whole, beside routes; none: all flows are at the switch.
    copied: Option<&'static [&'static str]>,
    /// The flow of a rank, as `[[move]]` has it.
    flow: fn(u32) -> String,
}

fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(number).to_string()
}

/// The source of a captured flow.
fn source(rank: u32) -> u32 {
    0xcb00_7100 + rank
}

const SERVER: u32 = 0xc633_6401;

fn of_tunnel(rank: u32) -> Vec<u8> {
    outer(&Tunnel { outside: (source(rank), 0xc000_0201, 7), inside: (0, 0, 0) }, &[0; 60])
}

fn of_connection(rank: u32) -> Vec<u8> {
    let flow = Flow { protocol: TCP, src: (source(rank), 5000), dst: (SERVER, 80) };
    segment(flow, &Segment { seq: 1, ack: 2, flags: 0x10, window: 512, mss: None }, &[0; 60])
}

fn udp(rank: u32) -> String {
    format!(
        "\"hdr.ipv4.src\" = \"10.1.0.1\"\n\"hdr.ipv4.dst\" = \"198.51.100.1\"\n\"hdr.ipv4.protocol\" = 17\n\
         \"hdr.udp.src\" = {}\n\"hdr.udp.dst\" = 5060\n\"hdr.tcp.src\" = 0\n\"hdr.tcp.dst\" = 0\n",
        FIRST_PORT + rank
    )
}

fn udp_and_port(rank: u32) -> String {
    udp(rank) + "\"standard_metadata.ingress_port\" = 1\n"
}

fn tunnel(rank: u32) -> String {
    let src = address(source(rank));
    format!(
        "\"hdr.ipv4.src\" = \"{src}\"\n\"hdr.ipv4.dst\" = \"192.0.2.1\"\n\"hdr.ipv4.protocol\" = 47\n\"hdr.gre.key\" = 7\n\"hdr.vxlan.vni\" = 0\n"
    )
}

fn connection(rank: u32) -> String {
    let src = address(source(rank));
    format!(
        "\"hdr.ipv4.src\" = \"{src}\"\n\"hdr.ipv4.dst\" = \"198.51.100.1\"\n\"hdr.tcp.src\" = 5000\n\"hdr.tcp.dst\" = 80\n"
    )
}

/// An entry in the form of entries' files.
fn entry(table: &str, key: &str, action: &str, args: &str) -> String {
    format!("[[table.{table}]]\nkey = [{key}]\naction = \"{action}\"\nargs = {args}\n")
}

fn of_each(entry: impl Fn(u32) -> String) -> String {
    (0..FLOWS).map(entry).collect()
}

fn apps() -> Vec<App> {
    let app = |name, entries, copied, flow| App { name, sent: Sent::Udp, entries, copied, flow };
    let side = entry("sides", "1", "is_inside", "[]");
    let tunnels = |rank| {
        let key = format!("47, \"{}\", \"192.0.2.1\", 7", address(source(rank)));
        let args = format!("[1, \"10.9.0.1\", \"198.51.100.1\", {rank}, 5000, 1500]");
        entry("tunnels", &key, "inward", &args)
    };
    let offsets = |rank| {
        let key = format!("\"{}\", \"198.51.100.1\", 5000, 80", address(source(rank)));
        entry("from_client", &key, "to_server", &format!("[{rank}]"))
    };
    let ports = |rank| {
        let port = FIRST_PORT + rank;
        let key = format!("1, \"10.1.0.1\", \"198.51.100.1\", 17, {port}, 5060");
        entry("outbound", &key, "source_is", &format!("[\"192.0.2.1\", {port}]"))
    };
    let captured = |app: App, frame| App { sent: Sent::Captured(frame), ..app };
    vec![
        app(
            "firewall",
            side.clone() + &entry("sources", "\"10.1.0.1\"", "known", "[]"),
            Some(&["sides", "sources"]),
            udp_and_port,
        ),
        app(
            "acl",
            entry("tenants", "\"198.51.100.0/24\"", "tenant_is", "{ tenant = 3, deny = 0 }"),
            Some(&["tenants"]),
            udp,
        ),
        app(
            "vm-nat",
            side + &entry("own_outbound", "\"10.1.0.1\"", "source_address", "[\"192.0.2.2\"]"),
            Some(&[]),
            udp_and_port,
        ),
        app(
            "nat",
            entry("tenants", "1", "tenant_is", "[1]") + &of_each(ports),
            Some(&["tenants"]),
            udp_and_port,
        ),
        captured(app("vpn", of_each(tunnels), Some(&[]), tunnel), of_tunnel),
        captured(
            app(
                "syn-proxy",
                entry("servers", "\"198.51.100.1\"", "is_server", "[1460, 7]") + &of_each(offsets),
                Some(&["servers", "behind"]),
                connection,
            ),
            of_connection,
        ),
        app("univmon", String::new(), None, udp),
        app("netcache", String::new(), None, udp),
    ]
}

/// The rack's file with the most popular flows at the switch, before packets come.
fn text(app: &App, programs: &Path, resident: u64) -> String {
    let mut text = RACK.to_string();
    let _ = writeln!(text, "program = \"{}\"", programs.join(format!("{}.p4", app.name)).display());
    match app.copied {
        None => text = text.replace("26500", "90000000") + "affinity = \"high\"\n",
        Some(copied) => {
            text += "affinity = \"medium\"\ndevices = [\"nic1\", \"nic2\"]\nflows = \"plan\"\n";
            if matches!(app.sent, Sent::Udp) {
                text += "shard_key = [[\"hdr.ipv4.src\", \"hdr.ipv4.dst\"], [\"hdr.udp.src\", \"hdr.udp.dst\"], [\"hdr.tcp.src\", \"hdr.tcp.dst\"]]\n";
            }
            text += "[app.objects]\n";
            for object in copied.iter().chain(&["routes"]) {
                let _ = writeln!(text, "{object} = {{ entries = 64, resident = \"all\" }}");
            }
        }
    }
    text += "[[workload]]\nname = \"many\"\nfrom = \"campus\"\nto = \"net\"\nstart = \"500ms\"\n";
    match app.sent {
        Sent::Udp => {
            let _ = writeln!(
                text,
                "kind = \"zipf\"\nflows = {FLOWS}\ncount = {PACKETS}\nrate = \"2Mbit/s\"\nsize = 200\nport = 5060"
            );
        }
        Sent::Captured(_) => text += "kind = \"pcap\"\nfile = \"trace.pcap\"\n",
    }
    for rank in 0..resident as u32 {
        let _ = write!(text, "[[move]]\nat = \"0s\"\nto = \"switch\"\n[move.flow]\n{}", (app.flow)(rank));
    }
    text
}

/// A packet each 800 us.
fn capture(frame: fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut writer = Writer::new(vec![]).expect("it is memory");
    let (zipf, mut rng) = (Zipf::new(FLOWS, 1000), Rng::new(1).split("planned-apps"));
    for number in 0..u64::from(PACKETS) {
        let frame = frame(zipf.draw(&mut rng) as u32);
        writer.frame(Frame::whole(number * 800_000, &frame)).expect("it is memory");
    }
    writer.into_inner()
}

/// Flows at the switch, their share, and the mean latency in picoseconds, as planned.
fn planned(path: &Path) -> (u64, f64, f64) {
    let found = allocated::plans(path, &[], &Wishes::default(), &mut SourceMap::new());
    let plans = found.unwrap_or_else(|why| panic!("{why:#?}")).expect("the app has flows").1;
    let allocation = &plans[0].allocation;
    let app = &allocation.apps[0];
    (app.flows, app.share as f64 / app_allocation::ONE as f64, allocation.latency as f64)
}

fn run(path: &Path) -> RunReport {
    let racked = rack::load(path, &[], &mut SourceMap::new()).unwrap_or_else(|why| panic!("{why:#?}"));
    up::bring_up(&racked).unwrap_or_else(|why| panic!("{why:#?}")).run().expect("a run")
}

#[test]
fn each_app_alone_is_as_planned() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    for app in apps() {
        let name = app.name;
        let directory = std::env::temp_dir().join(format!("p4rack-planned-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("RACK.toml");
        let routes = [(1, "10.1.0.0/16"), (4, "0.0.0.0/0")].map(|(port, prefix)| {
            let args = format!("[{port}, \"02:00:00:00:00:0{port}\", \"02:00:00:00:0{port}:01\"]");
            entry("routes", &format!("\"{prefix}\""), "forward", &args)
        });
        std::fs::write(directory.join("entries.toml"), app.entries.clone() + &routes.concat())
            .expect("a file");
        if let Sent::Captured(frame) = app.sent {
            std::fs::write(directory.join("trace.pcap"), capture(frame)).expect("a file");
        }
        std::fs::write(&path, text(&app, &programs, 0)).expect("a file");
        let (flows, share, latency) = planned(&path);
        let moved = if app.copied.is_some() { flows } else { 0 };
        std::fs::write(&path, text(&app, &programs, moved)).expect("a file");
        let report = run(&path);
        std::fs::remove_dir_all(&directory).expect("it was there");

        assert_eq!(flows == u64::from(FLOWS), app.copied.is_none(), "{name}: {flows} flows");
        let workload = &report.workloads[0];
        assert_eq!((workload.sent, workload.received), (PACKETS.into(), PACKETS.into()), "{name}");
        let pinned = &report.pinned[0];
        let measured = pinned.at_switch as f64 / pinned.packets as f64;
        println!("{name}: {flows} flows; share {measured:.4}, predicted {share:.4}");
        assert!((measured / share - 1.0).abs() < 0.01, "{name}: {measured}, predicted {share}");
        // Frames of captures have no time of sending.
        let Some(found) = workload.latency.as_ref() else {
            assert!(matches!(app.sent, Sent::Captured(_)), "{name}");
            continue;
        };
        // The shortest one is that of a packet at the switch alone, which takes 800 ns there: the rest is on the links of the hosts.
        let measured = found.mean_ps as f64 - (found.min_ps as f64 - 800e3);
        println!("{name}: {measured:.0} ps, predicted {latency:.0}");
        assert!((measured / latency - 1.0).abs() < 0.01, "{name}: {measured} ps, predicted {latency}");
    }
}
