//! `examples/crosspod`: what Flightplan measured on its testbed, on emulated racks, and its splits.

use crate::support;

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use compiler::{Until, compile};
use dataplane_api::{Device, Output};
use device::{Options, Switch};
use ir_prove::{Effort, prove};
use ir_split::{DeviceIndex, Placement};
use p4rack::{Disk, Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{HostId, Probability};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::text;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crosspod")
}

fn load(path: &Path) -> Racked {
    let mut map = SourceMap::new();
    rack::load(path, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap().run().unwrap()
}

/// A copy of the example with changes of files: `(file, old text, new text)`.
fn copied(name: &str, changes: &[(&str, &str, &str)]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crosspod-{name}"));
    fs::create_dir_all(&directory).unwrap();
    let files =
        ["marks.toml", "split.toml", "crosspod.p4", "functions.p4", "left.stf", "right.stf", "split.stf"];
    for file in files {
        let mut text = fs::read_to_string(example().join(file)).unwrap();
        for (_, old, new) in changes.iter().filter(|(of, ..)| *of == file) {
            assert!(text.contains(old), "{file} does not say {old}");
            text = text.replace(old, new);
        }
        fs::write(directory.join(file), text).unwrap();
    }
    directory
}

fn changed(name: &str, changes: &[(&str, &str, &str)]) -> Racked {
    load(&copied(name, changes).join("marks.toml"))
}

/// Without marks, parity from the first frame on.
const ALWAYS: (&str, &str, &str) = ("left.stf", "protect(k:5, h:0)", "protect(k:5, h:1)");
const ONLY_STREAM: (&str, &str, &str) = ("marks.toml", "kind = \"ping\"", "kind = \"ping\"\nstart = \"10s\"");

#[test]
fn residual_loss_is_what_the_code_leaves() {
    for (loss, count, wanted) in [("5%", 20_000, 11_311u64), ("10%", 10_000, 40_951)] {
        let (frames, share) = (format!("count = {count}"), format!("loss = \"{loss}\""));
        let changes = [
            ALWAYS,
            ONLY_STREAM,
            ("marks.toml", "count = 5000", frames.as_str()),
            ("marks.toml", "loss = \"5%\"", share.as_str()),
        ];
        let report = run(&changed("residual", &changes));
        let stream = &report.workloads[0];
        assert_eq!((stream.sent, stream.duplicated, stream.reordered, stream.corrupted), (count, 0, 0, 0));
        let residual = stream.lost * 1_000_000 / count;
        // Of so few frames within a tenth and two standard deviations.
        assert!(residual.abs_diff(wanted) < wanted / 10 + wanted / 7, "{loss}: {residual} of {wanted}");
    }
}

#[test]
fn a_link_that_loses_frames_is_found_and_protected() {
    let mut racked = load(&example().join("marks.toml"));
    let report = run(&racked);
    let [stream, ping] = report.workloads.as_slice() else { panic!("{report:?}") };
    // Until the first mark one in twenty is lost, then one in ninety.
    assert!((20..120).contains(&stream.lost), "{stream:?}");
    assert!(stream.reordered == 0 && stream.duplicated == 0 && ping.received > 180, "{ping:?}");
    racked.rack.links[1].loss = Probability::ZERO;
    let report = run(&racked);
    assert!(report.workloads.iter().all(|workload| workload.lost == 0), "{report:?}");
}

/// A link that is offered a little more than it carries, with and without compression.
#[test]
fn short_headers_keep_a_full_link_fast() {
    let latency = |compress: &str| {
        let changes = [
            ("marks.toml", "loss = \"5%\"", "queue = 100000"),
            (
                "marks.toml",
                "ends = [\"left:2\", \"right:2\"]\nrate = \"10Gbit/s\"",
                "ends = [\"left:2\", \"right:2\"]\nrate = \"100Mbit/s\"",
            ),
            ONLY_STREAM,
            // 142 bytes and 24 of the wire for 100 of payload: 100.5 % of 100 Mbit/s.
            (
                "marks.toml",
                "count = 5000\nrate = \"200Mbit/s\"\nsize = 1000",
                "count = 30000\nrate = \"60542kbit/s\"\nsize = 100",
            ),
            ("left.stf", "protect(k:5, h:0)", "NoAction()"),
            ("left.stf", "egress_link(compress:1)", compress),
        ];
        run(&changed("compression", &changes)).workloads[0].latency.unwrap().median_ps
    };
    let (without, with) = (latency("egress_link(compress:0)"), latency("egress_link(compress:1)"));
    assert!(with * 100 <= without * 3, "{with} ps of {without} ps");
}

/// Switches in a row, without hosts: `left` and `right` of the example, and others between them.
struct Row {
    switches: Vec<Switch>,
    now: Time,
}

const LEFT: usize = 0;
/// The port to the neighbour on the right; that to the left one is 2.
const ONWARD: u32 = 3;

impl Row {
    fn new(racked: &Racked, count: usize) -> Row {
        let last = count - 1;
        let switches = (0..count).map(|at| {
            let device = usize::from(at > 0 && at == last);
            let part = racked.part(0, device).unwrap().part;
            let options = Options { registry: netfn_registry::all(), ..Options::default() };
            let mut switch = ir_interp::switch(Arc::clone(&part.program), options).unwrap();
            racked.fill(0, device).into_iter().for_each(|write| switch.write(write, Time::ZERO).unwrap());
            switch
        });
        Row { switches: switches.collect(), now: Time::ZERO }
    }

    /// Sends a frame to a switch. Returns the frames that leave the row. `lossy` has the losses of each link to the right.
    fn send(&mut self, at: usize, port: u32, frame: Vec<u8>, lossy: &mut [Dropper]) -> Vec<(usize, Output)> {
        let mut arriving = VecDeque::from([(at, port, frame)]);
        let mut left = vec![];
        while let Some((at, port, frame)) = arriving.pop_front() {
            let queued = self.switches[at].ingress(port, frame, self.now);
            let outputs = self.switches[at].drain(queued, self.now);
            self.deliver(at, outputs, lossy, &mut arriving, &mut left);
        }
        left
    }

    /// Time passes, with all timers on the way.
    fn wait(&mut self, span: Duration, lossy: &mut [Dropper]) -> Vec<(usize, Output)> {
        let end = self.now + span;
        let mut left = vec![];
        loop {
            let due =
                (0..self.switches.len()).filter_map(|at| Some((self.switches[at].deadline()?, at))).min();
            let Some((due, at)) = due.filter(|(due, _)| *due <= end) else { break };
            self.now = self.now.max(due);
            let queued = self.switches[at].tick(self.now);
            let outputs = self.switches[at].drain(queued, self.now);
            let mut arriving = VecDeque::new();
            self.deliver(at, outputs, lossy, &mut arriving, &mut left);
            while let Some((at, port, frame)) = arriving.pop_front() {
                left.extend(self.send(at, port, frame, lossy));
            }
        }
        self.now = end;
        left
    }

    fn deliver(
        &mut self,
        at: usize,
        outputs: Vec<Output>,
        lossy: &mut [Dropper],
        arriving: &mut VecDeque<(usize, u32, Vec<u8>)>,
        left: &mut Vec<(usize, Output)>,
    ) {
        for Output { port, mut frame } in outputs {
            frame.resize(frame.len().max(60), 0);
            match port {
                // Port 2 of the first switch leads to port 2 of the next one.
                2 if at == LEFT && self.switches.len() > 1 => {
                    if lossy.get_mut(0).is_none_or(|dropper| !dropper.drops()) {
                        arriving.push_back((1, 2, frame));
                    }
                }
                ONWARD if self.switches.len() > 1 => {
                    if lossy.get_mut(at).is_none_or(|dropper| !dropper.drops()) {
                        arriving.push_back((at + 1, 2, frame));
                    }
                }
                2 if self.switches.len() > 1 => {
                    let back = if at == 1 { 2 } else { ONWARD };
                    arriving.push_back((at - 1, back, frame));
                }
                port => left.push((at, Output { port, frame })),
            }
        }
    }
}

/// Drops one frame of every eight, at least six apart, as Flightplan's tests do.
struct Dropper {
    rng: Rng,
    at: u64,
    next: u64,
}

impl Dropper {
    fn new(seed: u64) -> Dropper {
        let mut rng = Rng::new(seed);
        let next = 5 + rng.below(3);
        Dropper { rng, at: 0, next }
    }

    fn drops(&mut self) -> bool {
        let drops = self.at == self.next;
        if drops {
            self.next = (self.at / 8 + 1) * 8 + 5 + self.rng.below(3);
        }
        self.at += 1;
        drops
    }
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    (!((once & 0xffff) + (once >> 16)) as u16).to_be_bytes()
}

/// A frame from h1 to h2, or back.
fn frame(from: u8, to: u8, protocol: u8, id: u16, rest: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend((rest.len() as u16 + 20).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend([0x40, 0, 64, protocol, 0, 0, 10, 0, from, 1, 10, 0, to, 1]);
    let check = checksum(&ip);
    ip[10..12].copy_from_slice(&check);
    [&[2, 0, 0, 0, 0, from], &[2, 0, 0, 0, from, 1][..], &[8, 0], &ip, rest].concat()
}

/// The frame after `hops` routers, the last of which sends it to `right` or `left`.
fn routed(mut frame: Vec<u8>, hops: u8) -> Vec<u8> {
    let to = frame[32];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, to, 1]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    frame[22] -= hops;
    frame[24..26].copy_from_slice(&[0, 0]);
    let check = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&check);
    frame
}

/// 100 frames of TCP, 102 to 822 bytes, over two links that each lose one of eight.
#[test]
fn a_hundred_frames_over_two_bad_links_all_arrive() {
    let always = [ALWAYS, ("left.stf", "protect(k:2, h:1)", "protect(k:5, h:1)")];
    let racked = changed("two-links", &always);
    let mut row = Row::new(&racked, 3);
    // The switch in the middle forwards on port 3: its entries are the left one's with that port.
    let middle =
        fs::read_to_string(Path::new(env!("CARGO_TARGET_TMPDIR")).join("crosspod-two-links/left.stf"))
            .unwrap();
    let middle = middle.replace("port:2)", "port:3)").replace("egress_spec:2", "egress_spec:3");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crosspod-two-links/middle.stf");
    fs::write(&path, middle).unwrap();
    let entries = p4rack::entries::read(&path, &racked.apps[0].whole, &mut SourceMap::new()).unwrap();
    let options = Options { registry: netfn_registry::all(), ..Options::default() };
    let part = &racked.part(0, 0).unwrap().part.program;
    let mut switch = ir_interp::switch(Arc::clone(part), options).unwrap();
    entries.for_part(part, true).for_each(|write| switch.write(write, Time::ZERO).unwrap());
    row.switches[1] = switch;
    for seed in 0..5 {
        let mut rng = Rng::new(seed);
        let mut lossy = [Dropper::new(seed), Dropper::new(seed + 100)];
        let sent: Vec<Vec<u8>> = (0..100u16)
            .map(|n| {
                let mut tcp =
                    [&[0, 20, 0, 80][..], &[0, 0, n as u8, 0], &[0; 4], &[0x50, 0x18, 1, 0, 0, 0, 0, 0]]
                        .concat();
                let length = rng.between(48, 768) as usize;
                tcp.extend(rng.bytes(length));
                frame(1, 2, 6, n, &tcp)
            })
            .collect();
        let mut got = vec![];
        for one in &sent {
            got.extend(row.send(LEFT, 1, one.clone(), &mut lossy));
            got.extend(row.wait(Duration::from_us(100), &mut lossy));
        }
        got.extend(row.wait(Duration::from_ms(100), &mut lossy));
        let dropped: u64 = lossy.iter().map(|dropper| dropper.at / 8).sum();
        assert!(dropped >= 28, "{dropped}");
        let got: Vec<Vec<u8>> = got
            .into_iter()
            .map(|(at, output)| {
                assert_eq!((at, output.port), (2, 1));
                output.frame
            })
            .collect();
        let wanted: Vec<Vec<u8>> = sent.into_iter().map(|frame| routed(frame, 3)).collect();
        assert!(got == wanted, "seed {seed}: {} of 100", got.len());
    }
}

/// 250 values of 1,024 bytes under keys of 64 are set and read by h1; the server is h2.
#[test]
fn reads_of_the_store_are_answered_on_the_way() {
    let calm =
        [("left.stf", "protect(k:5, h:0)", "NoAction()"), ("right.stf", "protect(k:5, h:0)", "NoAction()")];
    let mut row = Row::new(&changed("cache", &calm), 2);
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let (mut sets, mut gets) = (0, 0);
    let udp = |from: u16, to: u16, id: u16, text: &str| {
        let length = (16 + text.len()) as u16;
        [
            &from.to_be_bytes()[..],
            &to.to_be_bytes(),
            &length.to_be_bytes(),
            &[0, 0],
            &id.to_be_bytes(),
            &[0, 0, 0, 1, 0, 0],
            text.as_bytes(),
        ]
        .concat()
    };
    let mut ask = |row: &mut Row, id: u16, request: &str| {
        let mut left = row.send(LEFT, 1, frame(1, 2, 17, id, &udp(4000, 11211, id, request)), &mut []);
        assert_eq!(left.len(), 1);
        let (mut at, mut output) = left.remove(0);
        if at == 1 {
            let length = usize::from(u16::from_be_bytes([output.frame[16], output.frame[17]])) + 14;
            let text = String::from_utf8(output.frame[50..length].to_vec()).unwrap();
            let mut words = text.split_whitespace();
            let answer = match (words.next().unwrap(), words.next().unwrap().to_string()) {
                ("set", key) => {
                    sets += 1;
                    values.insert(key, words.nth(3).unwrap().to_string());
                    "STORED\r\n".to_string()
                }
                (_, key) => {
                    gets += 1;
                    format!("VALUE {key} 0 {}\r\n{}\r\nEND\r\n", values[&key].len(), values[&key])
                }
            };
            let mut left = row.send(1, 1, frame(2, 1, 17, id, &udp(11211, 4000, id, &answer)), &mut []);
            (at, output) = left.remove(0);
        }
        assert_eq!((at, output.port), (LEFT, 1));
        let length = usize::from(u16::from_be_bytes([output.frame[16], output.frame[17]])) + 14;
        String::from_utf8(output.frame[50..length].to_vec()).unwrap()
    };
    for n in 0..250 {
        assert_eq!(ask(&mut row, n, &format!("set {n:064} 0 0 1024\r\n{n:01024}\r\n")), "STORED\r\n");
    }
    for n in 0..250 {
        let reported = ask(&mut row, 1000 + n, &format!("get {n:064}\r\n"));
        assert_eq!(reported, format!("VALUE {n:064} 0 1024\r\n{n:01024}\r\nEND\r\n"));
    }
    assert_eq!(sets, 250);
    assert!(gets <= 13, "{gets}");
    // The cache must not answer with values that another client has changed over TCP.
    let answered_at = |row: &mut Row, id: u16| {
        let request = udp(4000, 11211, id, &format!("get {:064}\r\n", 7));
        row.send(LEFT, 1, frame(1, 2, 17, id, &request), &mut [])[0].0
    };
    assert_eq!(answered_at(&mut row, 3000), LEFT);
    let tcp =
        [&[15, 160, 43, 203, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0][..], b"delete x\r\n"];
    assert_eq!(row.send(LEFT, 1, frame(1, 2, 6, 3001, &tcp.concat()), &mut [])[0].0, 1);
    assert_eq!(answered_at(&mut row, 3002), 1);
}

/// The phases of Flightplan's Figure 10, shortened: each function has the same effect on the applications as on the
/// testbed.
#[test]
fn each_stage_does_what_it_did_on_the_testbed() {
    let mut racked = load(&example());
    racked.rack.until = Some(Time::ZERO + Duration::from_ms(400));
    let stages = up::run_stages(&racked, u64::MAX, &|_| (), &mut |_, _| Ok(())).unwrap();
    let goodput = |stage: usize| stages[stage].1.workloads[0].goodput_bits_per_s.unwrap();
    let read = |stage: usize| &stages[stage].1.workloads[1];
    let median = |stage: usize| read(stage).latency.unwrap().median_ps;
    let table = rack_emulator::stage_table(&racked.rack.stages, &stages);
    let [baseline, compression, loss, correction, cache] = [0, 1, 2, 3, 4];
    assert!(median(compression) * 10 < median(baseline), "{table}");
    assert!(goodput(compression) >= goodput(baseline), "{table}");
    assert!(goodput(loss) * 2 < goodput(compression), "{table}");
    assert!(goodput(correction) > goodput(loss) * 2, "{table}");
    assert_eq!(read(compression).lost, 0, "{table}");
    assert!(read(loss).lost > 0 && read(cache).lost < read(correction).lost, "{table}");
    let least = |stage: usize| read(stage).latency.unwrap().min_ps;
    assert!(least(cache) * 3 < least(correction) * 2, "{table}");
    assert!(stages.iter().flat_map(|(_, report)| &report.workloads).all(|w| w.corrupted == 0), "{table}");
}

/// Flightplan's three plans, all functions on, a link that loses nothing: the receiver gets the same frames in the same order, the client the same
/// answers.
#[test]
fn three_plans_are_the_same_to_applications() {
    let mut seen = vec![];
    for file in ["RACK.toml", "resource-saver.toml", "legacy-extender.toml"] {
        let mut racked = load(&example().join(file));
        let all_on = racked.rack.stages.len() - 1;
        racked.rack.stages.iter_mut().for_each(|stage| stage.faults.clear());
        racked.rack.workloads.retain(|workload| workload.name.value != "iperf");
        racked.rack.workloads.iter_mut().for_each(|workload| {
            workload.load.count = 200;
            workload.load.start = Time::ZERO;
        });
        let host = |name: &str| racked.rack.host(name).unwrap();
        let (sender, receiver, client) = (host("sender"), host("receiver"), host("client"));
        let mut running = up::bring_up_in(&racked, Some(all_on)).unwrap();
        [receiver, client].into_iter().for_each(|host| running.emulator.listen(host));
        let mut rng = Rng::new(11);
        let sent: Vec<Vec<u8>> = (0..200u16)
            .map(|n| {
                let tcp =
                    [&[0, 20, 0, 80][..], &[0, 0, n as u8, 0], &[0; 4], &[0x50, 0x18, 1, 0, 0, 0, 0, 0]];
                let length = rng.between(48, 1400) as usize;
                frame(1, 2, 6, n, &[&tcp.concat()[..], &rng.bytes(length)].concat())
            })
            .collect();
        for (n, frame) in (0..).zip(&sent) {
            assert!(running.emulator.send(sender, frame.clone(), Time::ZERO + Duration::from_us(20 * n)));
        }
        running.run().unwrap();
        let came: Vec<Vec<u8>> =
            running.emulator.take_received(receiver).into_iter().map(|r| r.frame).collect();
        let wanted: Vec<Vec<u8>> = sent.into_iter().map(|frame| routed(frame, 2)).collect();
        assert!(came == wanted, "{file}: {} of {}", came.len(), wanted.len());
        // Behind Ethernet, IPv4 and UDP; whether the cache or the store has made a frame may be seen in those.
        let mut answers: Vec<Vec<u8>> =
            running.emulator.take_received(client).into_iter().map(|r| r.frame[42..].to_vec()).collect();
        answers.sort();
        let sites = racked.apps.iter().flat_map(|app| app.placement.sites.values());
        let devices = sites.flat_map(|site| &site.devices);
        let boards = devices.collect::<std::collections::BTreeSet<_>>().len();
        seen.push((boards, answers));
    }
    let boards: Vec<usize> = seen.iter().map(|(boards, _)| *boards).collect();
    assert_eq!(boards, [3, 5, 5]);
    assert!(seen.iter().all(|(_, answers)| answers.len() == 400 && *answers == seen[0].1));
}

/// The switches of the plan "legacy extender" follow rules by port and have nothing else; they forward frames
/// unchanged.
#[test]
fn a_legacy_switch_follows_flow_rules() {
    let mut racked = load(&example().join("legacy-extender.toml"));
    let at = |racked: &Racked, name: &str| racked.rack.device(name).unwrap().0 as usize;
    let left = at(&racked, "left");
    assert!(racked.part(0, left).is_none() && racked.part(0, at(&racked, "left-core")).is_some());
    let rules = racked.flow_rules(left).unwrap();
    let lines: Vec<&str> = rules.lines().collect();
    assert_eq!(lines.len(), 2 * 6 + 1);
    assert_eq!(
        lines[..2],
        ["priority=1,in_port=1,actions=output:11", "priority=1,in_port=11,actions=output:1"]
    );
    assert_eq!(lines.last(), Some(&"priority=0,actions=drop"));
    assert_eq!(racked.flow_rules(at(&racked, "left-core")), None);
    racked.rack.workloads.retain(|workload| workload.name.value == "get");
    racked.rack.workloads.iter_mut().for_each(|workload| workload.load.count = 100);
    let mut running = up::bring_up_in(&racked, Some(1)).unwrap();
    let report = running.run().unwrap();
    assert_eq!(report.workloads[0].received, 100, "{report:?}");
    let (switch, core) = (&report.devices[left], &report.devices[at(&racked, "left-core")]);
    assert_eq!((switch.class.as_str(), switch.engine.as_str()), ("legacy", "flow rules"));
    assert_eq!((switch.received, switch.created), (switch.sent, 0));
    // Whatever the board receives or sends has come by the switch.
    assert!(switch.sent >= core.received + core.sent && core.received >= 200, "{report:?}");
}

/// With all functions on an FPGA and a server: nothing is lost on the detours.
#[test]
fn the_split_rack_carries_all_traffic() {
    let report = run(&load(&example().join("split.toml")));
    assert!(
        report.workloads.iter().all(|workload| workload.lost == 0 && workload.reordered == 0),
        "{report:?}"
    );
    assert!(report.devices.iter().all(|device| device.received >= 900), "{report:?}");
}

/// Frames of another switch, tagged and compressed, some of them lost: the split rack, with the functions on other
/// devices, has the same output as one switch with all functions.
#[test]
fn frames_of_a_bad_link_come_out_of_the_split_as_out_of_one_switch() {
    let racked = changed("link", &[ALWAYS]);
    let mut left = Row::new(&racked, 1);
    let mut rng = Rng::new(5);
    let mut link = vec![];
    for n in 0..600u16 {
        let length = rng.between(8, 600) as usize;
        let port = 7000 + n % 5;
        let udp =
            [&port.to_be_bytes()[..], &[0, 80], &(length as u16 + 8).to_be_bytes(), &rng.bytes(length + 2)]
                .concat();
        for (_, output) in left.send(LEFT, 1, frame(1, 2, 17, n, &udp), &mut []) {
            assert_eq!(output.port, 2);
            link.push(output.frame);
        }
        left.now += Duration::from_us(1);
    }
    let link: Vec<Vec<u8>> = link.into_iter().filter(|_| !rng.chance(1, 20)).collect();
    // Frames from the switch at port 2, where h2 is, to a host at port 1.
    let to_link = [
        ("split.stf", "0x0a000200/24 direct(port:2)", "0x0a000200/24 direct(port:1)"),
        (
            "split.stf",
            "# Hosts on two ports, and a memcached server at h2.",
            "add ingress_links meta.in_port:2 link(decompress:1)",
        ),
    ];
    let came = |name: &str, changes: &[(&str, &str, &str)]| {
        let mut racked = load(&copied(name, &[&to_link[..], changes].concat()).join("split.toml"));
        racked.rack.workloads.clear();
        let mut running = up::bring_up(&racked).unwrap();
        let emulator = &mut running.emulator;
        emulator.listen(HostId(0));
        for (n, frame) in (0..).zip(&link) {
            assert!(emulator.send(HostId(1), frame.clone(), Time::ZERO + Duration::from_us(20 * n)));
        }
        running.run().unwrap();
        running
            .emulator
            .take_received(HostId(0))
            .into_iter()
            .map(|received| received.frame)
            .collect::<Vec<_>>()
    };
    let one_switch = [
        (
            "split.toml",
            "[device.tor]\nclass = \"switch\"",
            "[device.tor]\nclass = \"switch\"\nexterns = [\"fec-encode\", \"fec-decode\", \"header-compress\", \"header-decompress\", \"kv-cache\"]",
        ),
        (
            "split.toml",
            "map = { FecDecode = \"fpga\", Decompress = \"server\", Cache = \"server\", Compress = \"server\", FecEncode = \"fpga\" }",
            "",
        ),
    ];
    let (split, whole) = (came("link-split", &[]), came("link-whole", &one_switch));
    assert!(split == whole, "{} frames and {}", split.len(), whole.len());
    assert!(split.len() > 560 && split.len() < 600, "{} of 600: some came back, some did not", split.len());
}

const REGIONS: [&str; 5] = ["FecDecode", "Decompress", "Cache", "Compress", "FecEncode"];

/// Regions placed at random on up to four fully connected helpers: equal to the whole program, with frames of frame
/// externs.
#[test]
fn random_maps_are_equal() {
    let maps = features::setting("P4RACK_CROSSPOD_MAPS", if features::is_long() { 6 } else { 2 });
    let mut map = SourceMap::new();
    let main = example().join("crosspod.p4").display().to_string();
    let compiled = compile(&main, &Disk, &Default::default(), Until::Elaborated, &mut map);
    let whole = compiled.program.unwrap_or_else(|| panic!("{}", text(&compiled.diagnostics, &map)));
    let mut refused = 0;
    for seed in 0..maps {
        let mut rng = Rng::new(seed);
        let helpers = rng.between(1, 4) as u32;
        let regions: Vec<(&str, u32)> =
            REGIONS.iter().map(|region| (*region, rng.below(u64::from(helpers) + 1) as u32)).collect();
        let all = 0..=helpers;
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b))).filter(|(a, b)| a != b);
        let placement = Placement {
            devices: (0..=helpers).map(|n| format!("device{n}").into()).collect(),
            sites: regions
                .iter()
                .filter(|r| r.1 > 0)
                .map(|(r, d)| ((*r).into(), DeviceIndex(*d).into()))
                .collect(),
            ports: pairs.map(|(a, b)| ((DeviceIndex(a), DeviceIndex(b)), 500 + u64::from(b))).collect(),
            ..Placement::whole("device0")
        };
        if compiler::make_parts(&whole, &placement, &mut map).is_err() {
            refused += 1;
            continue;
        }
        let case = support::case(Arc::clone(&whole), placement);
        match prove(&case, &Effort { packets: 150, seed, ..Effort::default() }) {
            Ok(tried) => assert!(tried.outputs > 10, "{regions:?}: {tried:?}"),
            Err(failure) => panic!("{regions:?}: {}", failure.describe()),
        }
    }
    assert!(refused * 2 < maps, "{refused} of {maps} refused");
}

/// Steps that `load_as` reports: each once, app by app.
#[test]
fn a_rack_is_made_ready_step_by_step() {
    let mut steps = vec![];
    let mut record = |step: rack::Step<'_>| steps.push(step.to_string());
    let racked = rack::load_as(&example(), &[], &mut SourceMap::new(), &|_| (), &mut record);
    assert!(racked.is_ok_and(|racked| racked.apps.iter().all(|app| app.costs.len() == 3)));
    let of = |app: &str| {
        [format!("analyze {app}"), format!("plan and split {app}"), format!("compile the parts of {app}")]
    };
    assert_eq!(steps, [vec!["check".to_string()], of("left").to_vec(), of("right").to_vec()].concat());
}

/// The racks of the plans and of Figure 13 are the testbed, but for what their first lines say.
#[test]
fn there_is_one_testbed() {
    let read = |file: &str| fs::read_to_string(example().join(file)).unwrap();
    let body = |file: &str| {
        let text = read(file);
        text[text.find("[rack]").unwrap()..].to_string()
    };
    let testbed = body("RACK.toml");
    let named = |name: &str| testbed.replacen("name = \"crosspod\"", &format!("name = \"{name}\""), 1);
    assert_eq!(body("resource-saver.toml"), named("resource-saver").replace("Stages = 8", "Stages = 0"));
    let switch = |text: String, function: &str| {
        let externs = format!("externs = [\"{function}\"]\nresources = {{ Stages = 8 }}\n");
        assert!(text.contains(&externs));
        text.replace(&externs, "")
    };
    let mut legacy = switch(switch(named("legacy-extender"), "header-compress"), "header-decompress");
    for side in ["left", "right"] {
        let is = format!("[device.{side}]\nclass = \"tofino1\"\n");
        let behind = format!("[device.{side}-core]\nclass = \"fpga\"\n");
        let becomes = format!("[device.{side}]\nclass = \"legacy\"\nextends = \"{side}-core\"\n\n{behind}");
        legacy = legacy.replace(&is, &becomes);
        legacy = legacy.replace(&format!("origin = \"{side}\""), &format!("origin = \"{side}-core\""));
        legacy = legacy.replace(&format!("{side} = \"stages/"), &format!("{side}-core = \"stages/"));
    }
    let with_cables = body("legacy-extender.toml");
    let (before, cables) = with_cables.split_once("# Cables from the switches to their boards").unwrap();
    let apps = cables.find("[[app]]").unwrap();
    assert_eq!(cables.matches("[[link]]").count(), 6 + 5);
    assert_eq!(format!("{before}{}", &cables[apps..]), legacy);
    let before = |text: &str| text[..text.find("[[workload]]").unwrap()].to_string();
    assert_eq!(before(&body("figure-13.toml")), before(&named("figure-13")));
}
