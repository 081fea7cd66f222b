//! `examples/firewall`, in CLIP's form, and `examples/balancer` against models of what they keep; and mistakes in CLIP's form.

use crate::support::{self, nat};

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::Device as _;
use device::{Options, Switch};
use ir_prove::Effort;
use nat::{Flow, TCP, UDP, back, flow, packet};
use p4rack::proof::{Trial, prove_app};
use p4rack::{handlers as offers, rack, up};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::text;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// A program with its handlers, on one device.
fn device(main: &Path, files: Vec<PathBuf>, native: bool) -> Result<Switch, String> {
    let name = main.display().to_string();
    let mut map = SourceMap::new();
    let program = rack::compile_program(&name, &Default::default(), &mut map, &mut vec![]);
    let options = offers::Options { files, ..offers::Options::default() };
    let made = program.and_then(|p| Ok((offers::offers(&p, &name, &options, &mut map)?.registry, p)));
    let (registry, program) = made.map_err(|found| text(&found, &map))?;
    let options = Options { registry, ..Options::default() };
    Ok(match native {
        true => target_native::Engine::compile(&program, options).expect("it compiles").into_switch(),
        false => ir_interp::switch(program, options).expect("it runs"),
    })
}

fn both(main: &Path, files: &[PathBuf]) -> [Switch; 2] {
    [false, true].map(|native| device(main, files.to_vec(), native).unwrap_or_else(|found| panic!("{found}")))
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

fn segment(flow: Flow, flags: u8) -> Vec<u8> {
    let mut frame = packet(flow, b"abc", true);
    if flow.protocol == TCP {
        frame[14 + 20 + 13] = flags;
    }
    frame
}

/// A flow that the firewall follows.
#[derive(Clone, Copy, Default)]
struct Known {
    ends: u64,
    fins: u8,
}

#[test]
fn the_firewall_lets_pass_what_began_inside() {
    let mut devices = both(&example("firewall/firewall.p4c"), &[]);
    let mut rng = Rng::new(7);
    let (mut known, mut now, mut passed, mut stopped) = (BTreeMap::<Flow, Known>::new(), 0u64, 0, 0);
    for n in 0..4_000 {
        now += rng.below(400) + if rng.below(100) == 0 { 61_000 } else { 0 };
        let protocol = [TCP, UDP][rng.below(2) as usize];
        let inside = Flow {
            protocol,
            src: (0x0a00_0001 + rng.below(3) as u32, 1000 + rng.below(3) as u16),
            dst: (0xc633_6401 + rng.below(2) as u32, 443),
        };
        let outbound = rng.next_bool();
        let flags = [SYN, SYN | ACK, ACK, ACK, ACK, FIN | ACK, RST][rng.below(7) as usize];
        let frame = segment(if outbound { inside } else { back(inside) }, flags);
        let found = known.get(&inside).copied().filter(|flow| flow.ends > now);
        let begins = outbound && (protocol == UDP || flags == SYN);
        let wanted = found.is_some() || begins;
        if wanted {
            let mut flow = found.unwrap_or_default();
            if protocol == TCP && flags & FIN != 0 {
                flow.fins |= if outbound { 1 } else { 2 };
            }
            flow.ends = now + if flow.fins == 3 { 2_000 } else { 60_000 };
            if protocol == TCP && flags & RST != 0 {
                flow.ends = 0;
            }
            known.insert(inside, flow);
        }
        let (from, to) = if outbound { (1, 2) } else { (2, 1) };
        let at = Time::ZERO + Duration::from_ms(now);
        for device in &mut devices {
            let outputs = device.process(from, &frame, at);
            let came: Vec<(u32, &[u8])> = outputs.iter().map(|o| (o.port, o.frame.as_slice())).collect();
            let expected = if wanted { vec![(to, frame.as_slice())] } else { vec![] };
            assert_eq!(came, expected, "packet {n}");
        }
        *(if wanted { &mut passed } else { &mut stopped }) += 1;
    }
    assert!(passed > 500 && stopped > 500, "{passed} passed, {stopped} were stopped");
    // A flow ends a minute after its last packet, to the millisecond.
    let sent = Flow { protocol: UDP, src: (0x0a00_0009, 9), dst: (0xc633_6401, 53) };
    for device in &mut devices {
        let mut passes = |flow, port, ms| {
            let at = Time::ZERO + Duration::from_ms(now + ms);
            device.process(port, &segment(flow, 0), at).len() == 1
        };
        assert!(passes(sent, 1, 0) && passes(back(sent), 2, 59_999));
        assert!(!passes(back(sent), 2, 119_999));
    }
    // Neither TCP nor UDP; and no IPv4.
    let mut ping = segment(Flow { protocol: UDP, src: (1, 1), dst: (2, 2) }, 0);
    ping[23] = 1;
    let arp = [&[2; 12][..], &[8, 6, 1, 2, 3]].concat();
    for device in &mut devices {
        assert_eq!(device.process(1, &ping, Time::ZERO), []);
        assert_eq!(device.process(2, &arp, Time::ZERO)[0].frame, arp);
    }
}

#[test]
fn the_balancer_keeps_connections_at_their_backend() {
    let mut devices = both(&example("balancer/balancer.p4"), &[example("balancer/balancer.c")]);
    let virtual_address = 0xcb00_7150;
    let mut rng = Rng::new(3);
    let mut known = BTreeMap::<Flow, u32>::new();
    let at = |ms: u64| Time::ZERO + Duration::from_ms(ms);
    for n in 0..1_500u64 {
        let protocol = [TCP, UDP][rng.below(2) as usize];
        let client = (0xc633_6401 + rng.below(20) as u32, 1000 + rng.below(20) as u16);
        let sent = Flow { protocol, src: client, dst: (virtual_address, 80) };
        let is_summed = protocol != UDP || rng.below(4) != 0;
        let frame = packet(sent, b"request", is_summed);
        let outputs = devices.each_mut().map(|device| device.process(1, &frame, at(n)));
        assert_eq!(outputs[0], outputs[1], "packet {n}");
        let [output] = outputs[0].as_slice() else { panic!("packet {n}: {:?}", outputs[0]) };
        // `flow` verifies the checksums.
        let seen = flow(&output.frame);
        let backend = seen.dst.0;
        assert_eq!((output.port, seen.src, seen.dst.1), (2, client, 80));
        assert!((0x0a00_0201..=0x0a00_0203).contains(&backend), "{backend:x}");
        assert_eq!(output.frame[..6], [2, 0, 0, 0, 2, backend as u8]);
        assert_eq!(*known.entry(sent).or_insert(backend), backend, "packet {n}");
        let counts = [1, 2, 3].map(|b| known.values().filter(|own| **own == 0x0a00_0200 + b).count());
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        let answer = packet(back(seen), b"answer", true);
        for device in &mut devices {
            let [output] = device.process(2, &answer, at(n)).try_into().expect("it passes");
            assert_eq!((output.port, flow(&output.frame)), (1, back(sent)));
        }
    }
    assert!(known.len() > 300, "{}", known.len());
    for device in &mut devices {
        let other = Flow { protocol: UDP, src: (9, 9), dst: (virtual_address + 1, 80) };
        assert_eq!(device.process(1, &packet(other, b"x", true), at(2_000)), []);
        assert_eq!(device.process(2, &packet(back(other), b"x", true), at(2_000)), []);
        // After a minute all have ended: the first backend is the emptiest again.
        device.tick(at(70_000));
        let new = Flow { protocol: TCP, src: (7, 7), dst: (virtual_address, 80) };
        let first = |device: &mut Switch, client: u32, ms: u64| {
            let new = Flow { src: (client, 7), ..new };
            let [output] = device.process(1, &packet(new, b"x", true), at(ms)).try_into().expect("it passes");
            assert_eq!(flow(&output.frame).dst.0, 0x0a00_0201, "at {ms} ms");
        };
        first(device, 7, 70_001);
        // The next looks find it alive, and then ended.
        for second in 72..140 {
            device.tick(at(second * 1000));
        }
        first(device, 8, 140_001);
    }
}

/// Chain of a UDP connection to port 80, as `balancer.c` computes it.
fn chain(client: (u32, u16)) -> u64 {
    let hash = u64::from(client.0) << 32 | u64::from(client.1) << 16 | 80;
    let hash = (hash ^ u64::from(UDP)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash ^ hash >> 32) % 65_536
}

/// Three connections of one chain, of which the first and the last end: the one between them stays at its backend.
#[test]
fn connections_of_one_chain_are_distinct() {
    let clients = (0xc633_6401u32..).map(|client| (client, 1000));
    let one: Vec<(u32, u16)> = clients.filter(|client| chain(*client) == 77).take(3).collect();
    let other = (0xc633_6401..).map(|client| (client, 7)).find(|client| chain(*client) != 77);
    let mut devices = both(&example("balancer/balancer.p4"), &[example("balancer/balancer.c")]);
    for device in &mut devices {
        let backend = |device: &mut Switch, src: (u32, u16), s: u64| {
            let sent = Flow { protocol: UDP, src, dst: (0xcb00_7150, 80) };
            let at = Time::ZERO + Duration::from_ms(s * 1000);
            let [output] = device.process(1, &packet(sent, b"x", true), at).try_into().expect("it passes");
            flow(&output.frame).dst.0 - 0x0a00_0200
        };
        assert_eq!([0, 1, 2].map(|n| backend(device, one[n], 0)), [1, 2, 3]);
        assert_eq!([2, 0, 1].map(|n| backend(device, one[n], if n == 1 { 30 } else { 0 })), [3, 1, 2]);
        for second in 1..=61 {
            device.tick(Time::ZERO + Duration::from_ms(second * 1000));
        }
        assert_eq!(backend(device, one[1], 62), 2);
        assert_eq!(backend(device, other.expect("one"), 62), 1);
        assert_eq!(backend(device, one[0], 62), 3);
    }
}

/// A switch and its servers do what one device does.
#[test]
fn in_racks_connections_are_followed_by_groups() {
    for (name, group) in [("firewall", "firewall"), ("balancer", "balancers")] {
        let mut map = SourceMap::new();
        let racked = rack::load(&example(name).join("RACK.toml"), &[], &mut map);
        let racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
        let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run();
        let report = report.unwrap_or_else(|found| panic!("{found:#?}"));
        let [own] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
        assert_eq!((own.group.as_str(), own.lost, own.sent), (group, 0, own.returned));
        assert!(own.sent >= 400, "{name}: {own:?}");
        for load in &report.workloads {
            // The host does not have the backends' addresses, so that it counts none of their packets.
            let wanted = if load.name == "scan" || name == "balancer" { 0 } else { load.sent };
            assert_eq!(load.received, wanted, "{name}: {}", load.name);
        }
    }
}

/// An FPGA may be a server of a group beside a processor (CLIP, section VI): here it answers in a tenth of the time.
#[test]
fn an_fpga_is_a_server_like_another() {
    let directory = directory("fpga");
    let rack = std::fs::read_to_string(example("firewall/RACK.toml")).unwrap();
    let server = "[device.s2]\nclass = \"cpu\"\nexterns = { connection = \"1us\" }";
    assert!(rack.contains(server));
    let fpga = "[device.s2]\nclass = \"fpga\"\nexterns = { connection = \"100ns\" }";
    std::fs::write(directory.join("RACK.toml"), rack.replace(server, fpga)).unwrap();
    std::fs::copy(example("firewall/firewall.p4c"), directory.join("firewall.p4c")).unwrap();
    let mut map = SourceMap::new();
    let racked = rack::load(&directory.join("RACK.toml"), &[], &mut map);
    let racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run();
    let report = report.unwrap_or_else(|found| panic!("{found:#?}"));
    let own = &report.groups[0];
    assert_eq!((own.lost, own.sent), (0, own.returned));
    assert!(own.servers.iter().all(|server| server.handled > 0), "{own:?}");
}

/// The firewall with its server as one device, packet by packet.
#[test]
fn a_program_in_clips_form_is_cut_as_any_other() {
    let directory = directory("one-server");
    let rack = std::fs::read_to_string(example("firewall/RACK.toml")).unwrap();
    let (before, after) = rack.split_once("[[group]]").expect("its group");
    let (_, after) = after.split_once("[[app]]").expect("its app");
    let rack = format!("{before}[[app]]{after}")
        .replace("[device.s1]", "[device.firewall]")
        .replace("s1:1", "firewall:1");
    std::fs::write(directory.join("RACK.toml"), rack).unwrap();
    std::fs::copy(example("firewall/firewall.p4c"), directory.join("firewall.p4c")).unwrap();
    let mut map = SourceMap::new();
    let racked = rack::load(&directory.join("RACK.toml"), &[], &mut map);
    let racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let effort = Effort { packets: 200, ..Effort::default() };
    let proved = prove_app(&racked.apps[0], &Trial { effort, lossy: false });
    match proved.unwrap_or_else(|found| panic!("{found:?}")).outcome {
        Ok(tried) => assert!(tried.outputs > 20, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("connections-{name}"));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// The firewall with a change, which is refused.
fn refused(name: &str, from: &str, to: &str) -> String {
    let source = std::fs::read_to_string(example("firewall/firewall.p4c")).unwrap();
    assert!(source.contains(from), "{from}");
    let main = directory(name).join("firewall.p4c");
    std::fs::write(&main, source.replacen(from, to, 1)).unwrap();
    let found = device(&main, vec![], false).err().expect("it is refused");
    found.replace(&format!("{}/", main.parent().unwrap().display()), "")
}

/// Mistakes in either language are at their places in the file.
#[test]
fn mistakes_in_clips_form_have_their_place() {
    let line = |of: &str| {
        let source = std::fs::read_to_string(example("firewall/firewall.p4c")).unwrap();
        source[..source.find(of).expect("it is there")].matches('\n').count() + 1
    };
    let found = refused("c", "free = &set[way];", "fre = &set[way];");
    assert!(found.contains("error[P4R1403]"), "{found}");
    assert!(found.contains(&format!("firewall.p4c:{}:", line("free = &set[way];"))), "{found}");
    let found = refused("helper", "return m->flows", "return n->flows");
    assert!(found.contains(&format!("firewall.p4c:{}:", line("return m->flows"))), "{found}");
    let found = refused("p4", "flight = hdr.ports.isValid();", "flight = hdr.port.isValid();");
    assert!(found.contains(&format!("firewall.p4c:{}:", line("flight = hdr.ports"))), "{found}");
    let found = refused("form", "bool connection(request req) {", "int connection(request req) {");
    assert!(
        found.contains("error[P4R1401]") && found.contains("a handler returns `void` or `bool`"),
        "{found}"
    );
    assert!(found.contains(&format!("firewall.p4c:{}:1", line("bool connection"))), "{found}");
    let clock = "extern long time(long *);\n    uint64_t now_ms = (uint64_t)time(0);";
    let found = refused("clock", "uint64_t now_ms = p4r_now_ns(ctx) / 1000000;", clock);
    assert!(found.contains("error[P4R1404]: a handler must not use `time`"), "{found}");
    assert!(found.contains("firewall.p4c:"), "{found}");
}
