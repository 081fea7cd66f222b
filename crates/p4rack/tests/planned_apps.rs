//! Each example app alone, and ExoPlane's ensembles of up to four at one switch, with the flows there that `p4rack plan` chooses: the emulator shows the shares and the mean latency that the plan predicts.

use app_allocation::{AppPlan, ONE};
use app_trials::frames::{Flow, L4, Segment, TCP, segment};
use app_trials::vpn::{Tunnel, outer};
use base_diag::SourceMap;
use base_pcap::{Frame, Reader, Writer};
use base_time::{Rng, Zipf};
use p4rack::{allocated, rack, up};
use rack_emulator::RunReport;
use rack_model::LinkId;
use rack_plan::Wishes;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Flows of an app, by Zipf's law with 1.
const FLOWS: u32 = 500;
const PACKETS: u32 = 20_000;
/// Bytes of a packet as it comes in.
const SIZE: usize = 242;
/// The source port of the first flow.
const FIRST_PORT: u32 = 4096;

/// Time between two packets of an app, in nanoseconds: the one before has left long ago.
const APART: u64 = 800_000;
/// The same for 400,000 packets per second: up to four apps take a sixth of the helpers' rate.
const CLOSE: u64 = 2_500;

/// A switch of 800 ns and two helpers of 4 us.
const DEVICES: &str = r#"
[device.nic1]
class = "smartnic"
service = "4us"
parallel = 8
[device.nic2]
class = "smartnic"
service = "4us"
parallel = 8
[[link]]
ends = ["nic1:1", "edge:21"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[[link]]
ends = ["nic2:1", "edge:22"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[device.edge]
class = "switch"
service = "800ns"
parallel = 64
"#;

/// Traffic of an app's flows.
#[derive(Clone, Copy)]
enum Sent {
    /// UDP from the host, a port for each flow.
    Udp,
    /// Frames of flows by their rank, in a capture. The number is the app's.
    Captured(fn(u32, u32) -> Vec<u8>),
}

/// An app and what it needs.
struct App {
    name: &'static str,
    /// From 1 on: its hosts are at this port and at this one and 10.
    number: u32,
    sent: Sent,
    /// Entries beside routes.
    entries: String,
    /// Objects that are copied whole, beside routes; none: all flows are at the switch.
    copied: Option<&'static [&'static str]>,
    /// The flow of a rank, as `[[move]]` has it.
    flow: fn(u32, u32) -> String,
}

fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(number).to_string()
}

/// The source of a captured flow.
fn source(rank: u32) -> u32 {
    0xcb00_7100 + rank
}

/// The host that packets of an app go to.
fn server(number: u32) -> u32 {
    0xc633_0001 | number << 8
}

/// Where the payload of a tunnel begins: GRE has a key.
const GRE: usize = L4 + 8;

fn of_tunnel(_: u32, rank: u32) -> Vec<u8> {
    let tunnel = Tunnel { outside: (source(rank), 0xc000_0201, 7), inside: (0, 0, 0) };
    outer(&tunnel, &[0; SIZE - GRE])
}

fn of_connection(number: u32, rank: u32) -> Vec<u8> {
    let flow = Flow { protocol: TCP, src: (source(rank), 5000), dst: (server(number), 80) };
    segment(flow, &Segment { seq: 1, ack: 2, flags: 0x10, window: 512, mss: None }, &[0; SIZE - L4 - 20])
}

fn udp(number: u32, rank: u32) -> String {
    let (server, port) = (address(server(number)), FIRST_PORT + rank);
    format!(
        "\"hdr.ipv4.src\" = \"10.{number}.0.1\"\n\"hdr.ipv4.dst\" = \"{server}\"\n\"hdr.ipv4.protocol\" = 17\n\
         \"hdr.udp.src\" = {port}\n\"hdr.udp.dst\" = 5060\n\"hdr.tcp.src\" = 0\n\"hdr.tcp.dst\" = 0\n"
    )
}

fn udp_and_port(number: u32, rank: u32) -> String {
    udp(number, rank) + &format!("\"standard_metadata.ingress_port\" = {number}\n")
}

fn tunnel(_: u32, rank: u32) -> String {
    let src = address(source(rank));
    format!(
        "\"hdr.ipv4.src\" = \"{src}\"\n\"hdr.ipv4.dst\" = \"192.0.2.1\"\n\"hdr.ipv4.protocol\" = 47\n\"hdr.gre.key\" = 7\n\"hdr.vxlan.vni\" = 0\n"
    )
}

fn connection(number: u32, rank: u32) -> String {
    let (src, server) = (address(source(rank)), address(server(number)));
    format!(
        "\"hdr.ipv4.src\" = \"{src}\"\n\"hdr.ipv4.dst\" = \"{server}\"\n\"hdr.tcp.src\" = 5000\n\"hdr.tcp.dst\" = 80\n"
    )
}

/// An entry in the form of entries' files.
fn entry(table: &str, key: &str, action: &str, args: &str) -> String {
    format!("[[table.{table}]]\nkey = [{key}]\naction = \"{action}\"\nargs = {args}\n")
}

fn of_each(entry: impl Fn(u32) -> String) -> String {
    (0..FLOWS).map(entry).collect()
}

const ALL: [&str; 8] = ["firewall", "acl", "vm-nat", "nat", "vpn", "syn-proxy", "univmon", "netcache"];

fn app(name: &'static str, number: u32) -> App {
    let server = address(server(number));
    let side = entry("sides", &number.to_string(), "is_inside", "[]");
    let tunnels = |rank| {
        let key = format!("47, \"{}\", \"192.0.2.1\", 7", address(source(rank)));
        entry("tunnels", &key, "inward", &format!("[1, \"10.9.0.1\", \"{server}\", {rank}, 5000, 1500]"))
    };
    let offsets = |rank| {
        let key = format!("\"{}\", \"{server}\", 5000, 80", address(source(rank)));
        entry("from_client", &key, "to_server", &format!("[{rank}]"))
    };
    let ports = |rank| {
        let port = FIRST_PORT + rank;
        let key = format!("1, \"10.{number}.0.1\", \"{server}\", 17, {port}, 5060");
        entry("outbound", &key, "source_is", &format!("[\"192.0.2.1\", {port}]"))
    };
    let tenant = || entry("tenants", &format!("\"{server}/32\""), "tenant_is", "{ tenant = 3, deny = 0 }");
    let inside = format!("\"10.{number}.0.1\"");
    type Flow = fn(u32, u32) -> String;
    let (entries, copied, flow): (String, Option<&'static [&'static str]>, Flow) = match name {
        "firewall" => {
            (side + &entry("sources", &inside, "known", "[]"), Some(&["sides", "sources"]), udp_and_port)
        }
        "acl" => (tenant(), Some(&["tenants"]), udp),
        "vm-nat" => (
            side + &entry("own_outbound", &inside, "source_address", "[\"192.0.2.2\"]"),
            Some(&[]),
            udp_and_port,
        ),
        "nat" => {
            let tenant = entry("tenants", &number.to_string(), "tenant_is", "[1]");
            (tenant + &of_each(ports), Some(&["tenants"]), udp_and_port)
        }
        "vpn" => (of_each(tunnels), Some(&[]), tunnel),
        "syn-proxy" => {
            let server = entry("servers", &format!("\"{server}\""), "is_server", "[1460, 7]");
            (server + &of_each(offsets), Some(&["servers", "behind"]), connection)
        }
        _ => (String::new(), None, udp),
    };
    let sent = match name {
        "vpn" => Sent::Captured(of_tunnel),
        "syn-proxy" => Sent::Captured(of_connection),
        _ => Sent::Udp,
    };
    App { name, number, sent, entries, copied, flow }
}

/// The rack's file with the most popular flows of each app at the switch, before packets come.
fn text(apps: &[App], memory: u64, programs: &Path, interval: u64, resident: &[u64]) -> String {
    let rate = apps.len() as u64 * SIZE as u64 * 8 * 1_000_000 / interval;
    let mut text =
        format!("[rack]\nname = \"planned\"\nseed = 1\n[plan]\nrate = \"{rate}kbit/s\"\nsize = {SIZE}\n");
    for app in apps {
        let (number, server) = (app.number, address(server(app.number)));
        let ends = [(1, format!("10.{number}.0.1"), number, "1us"), (2, server, 10 + number, "10us")];
        for (kind, ip, port, delay) in ends {
            let _ = write!(
                text,
                "[host.h{kind}{number}]\nmac = \"02:00:00:00:0{kind}:0{number}\"\nip = \"{ip}/24\"\ngateway = \"02:00:00:00:00:0{number}\"\n\
                 [[link]]\nends = [\"h{kind}{number}\", \"edge:{port}\"]\nrate = \"10Gbit/s\"\ndelay = \"{delay}\"\n"
            );
        }
    }
    text += DEVICES;
    let _ = writeln!(text, "resources = {{ EntryBits = \"{memory}\" }}");
    for (app, resident) in apps.iter().zip(resident) {
        let App { name, number, .. } = app;
        let _ = writeln!(
            text,
            "[[app]]\nprogram = \"{}\"\norigin = \"edge\"\nentries = \"{name}.toml\"\ndistribution = {{ zipf = 1, flows = {FLOWS} }}",
            programs.join(format!("{name}.p4")).display()
        );
        if apps.len() > 1 {
            let _ = writeln!(text, "class = \"port == {number}\"");
        }
        match app.copied {
            None => text += "affinity = \"high\"\n",
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
        // Packets of several apps do not come at one time.
        let start = 500_000_000 + u64::from(*number) * interval / 8;
        let _ = write!(
            text,
            "[[workload]]\nname = \"{name}\"\nfrom = \"h1{number}\"\nto = \"h2{number}\"\nstart = \"{start}ns\"\n"
        );
        let _ = match app.sent {
            Sent::Udp => writeln!(
                text,
                "kind = \"zipf\"\nflows = {FLOWS}\ncount = {PACKETS}\nrate = \"{}kbit/s\"\nsize = {}\nport = 5060",
                (SIZE - L4 - 8) as u64 * 8 * 1_000_000 / interval,
                SIZE - L4 - 8
            ),
            Sent::Captured(_) => writeln!(text, "kind = \"pcap\"\nfile = \"{name}.pcap\""),
        };
        for rank in 0..*resident as u32 {
            let flow = (app.flow)(*number, rank);
            let _ =
                write!(text, "[[move]]\napp = \"{name}\"\nat = \"0s\"\nto = \"switch\"\n[move.flow]\n{flow}");
        }
    }
    text
}

fn capture(app: &App, frame: fn(u32, u32) -> Vec<u8>, interval: u64) -> Vec<u8> {
    let mut writer = Writer::new(vec![]).expect("it is memory");
    let (zipf, mut rng) = (Zipf::new(FLOWS, 1000), Rng::new(1).split("planned-apps"));
    for number in 0..u64::from(PACKETS) {
        let frame = frame(app.number, zipf.draw(&mut rng) as u32);
        writer.frame(Frame::whole(number * interval, &frame)).expect("it is memory");
    }
    writer.into_inner()
}

fn planned(path: &Path) -> Vec<AppPlan> {
    let found = allocated::plans(path, &[], &Wishes::default(), &mut SourceMap::new());
    let plans = found.unwrap_or_else(|why| panic!("{why:#?}")).expect("the apps have flows").1;
    plans[0].allocation.apps.clone()
}

/// A run, and the mean latency of each app's packets without the links of the hosts, in picoseconds.
fn run(path: &Path, apps: usize) -> (RunReport, Vec<f64>) {
    let racked = rack::load(path, &[], &mut SourceMap::new()).unwrap_or_else(|why| panic!("{why:#?}"));
    let mut running = up::bring_up(&racked).unwrap_or_else(|why| panic!("{why:#?}"));
    let of_hosts: Vec<LinkId> = (0..2 * apps as u32).map(LinkId).collect();
    of_hosts.iter().for_each(|link| running.emulator.record(*link));
    let report = running.run().expect("a run");
    let mut times = |link: &LinkId| {
        let recording = running.emulator.take_recording(*link).expect("it is recorded");
        let mut reader = Reader::new(recording.as_slice()).expect("it is a capture");
        let next = || reader.read(|frame| frame.nanos).expect("it is whole");
        std::iter::from_fn(next).collect::<Vec<u64>>()
    };
    let of_app = |links: &[LinkId]| {
        let (entered, left) = (times(&links[0]), times(&links[1]));
        assert_eq!((entered.len(), left.len()), (PACKETS as usize, PACKETS as usize));
        let latencies: Vec<u64> = entered.iter().zip(&left).map(|(entered, left)| left - entered).collect();
        let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
        // The least one is that of a packet at the switch alone, which takes 800 ns there: the rest is on the link.
        let least = *latencies.iter().min().expect("there are some") as f64;
        1e3 * (mean - (least - 800.0))
    };
    let latencies = of_hosts.chunks(2).map(of_app).collect();
    (report, latencies)
}

/// The emulated share and mean latency of each app are within 1 % of the planned ones.
fn are_as_planned(apps: &[App], memory: u64, interval: u64) {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    let names = apps.iter().map(|app| app.name).collect::<Vec<_>>().join("+");
    let directory = std::env::temp_dir().join(format!("p4rack-planned-{names}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    for app in apps {
        let number = app.number;
        let args = format!("[{}, \"02:00:00:00:00:0{number}\", \"02:00:00:00:02:0{number}\"]", 10 + number);
        let route = entry("routes", "\"0.0.0.0/0\"", "forward", &args);
        std::fs::write(directory.join(format!("{}.toml", app.name)), app.entries.clone() + &route)
            .expect("a file");
        if let Sent::Captured(frame) = app.sent {
            std::fs::write(directory.join(format!("{}.pcap", app.name)), capture(app, frame, interval))
                .expect("a file");
        }
    }
    let path = directory.join("RACK.toml");
    std::fs::write(&path, text(apps, memory, &programs, interval, &vec![0; apps.len()])).expect("a file");
    let plans = planned(&path);
    let resident = |(app, plan): (&App, &AppPlan)| if app.copied.is_some() { plan.flows } else { 0 };
    let moved: Vec<u64> = apps.iter().zip(&plans).map(resident).collect();
    std::fs::write(&path, text(apps, memory, &programs, interval, &moved)).expect("a file");
    let (report, latencies) = run(&path, apps.len());
    std::fs::remove_dir_all(&directory).expect("it was there");

    for (at, (app, plan)) in apps.iter().zip(&plans).enumerate() {
        let (name, workload, pinned) = (app.name, &report.workloads[at], &report.pinned[at]);
        assert_eq!(plan.flows == u64::from(FLOWS), app.copied.is_none(), "{name}: {} flows", plan.flows);
        assert_eq!((workload.sent, workload.received), (PACKETS.into(), PACKETS.into()), "{name}");
        let (share, planned) =
            (pinned.at_switch as f64 / pinned.packets as f64, plan.share as f64 / ONE as f64);
        println!("{names}: {name}: {} flows; share {share:.4}, predicted {planned:.4}", plan.flows);
        assert!((share / planned - 1.0).abs() < 0.01, "{name}: {share}, predicted {planned}");
        let (latency, planned) = (latencies[at], plan.latency as f64);
        println!("{names}: {name}: {latency:.0} ps, predicted {planned:.0}");
        assert!((latency / planned - 1.0).abs() < 0.01, "{name}: {latency} ps, predicted {planned}");
    }
}

#[test]
fn each_app_alone_is_as_planned() {
    for name in ALL {
        let app = app(name, 1);
        let memory = if app.copied.is_some() { 26_500 } else { 90_000_000 };
        are_as_planned(&[app], memory, APART);
    }
}

/// ExoPlane's: VPN gateway, NAT of virtual machines, access list and UnivMon.
#[test]
fn ensembles_are_as_planned() {
    let programs = ["vpn", "vm-nat", "acl", "univmon"];
    for (count, interval) in [(2, APART), (3, APART), (4, APART), (4, CLOSE)] {
        let apps: Vec<App> = (1..).zip(&programs[..count]).map(|(at, name)| app(name, at)).collect();
        // UnivMon's tables take what is left.
        let memory = if count == programs.len() { 3 * 26_500 + 216_000 } else { 26_500 * count as u64 };
        are_as_planned(&apps, memory, interval);
    }
}
