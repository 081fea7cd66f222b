//! `examples/conga`: leaf and spine beside models of a few lines, and transfers over a fabric with a slow link.

use crate::support::{Both, Exact, engines_of, example, on_tofino, sharing_codes};
use base_bits::Bits;
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use control_writes::{Match, Run};
use dataplane_api::{Device, QueueRecord};
use device_classes::DeviceClass;
use host_programs::Value;
use ir_fill::Write;
use p4rack::{Racked, rack, up};
use protocol_trials::statistics::{mean, quantile};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, LinkId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// Bytes of Ethernet, IPv4, UDP and VXLAN.
const OUTER: usize = 50;
/// Bytes in 160 us at an eighth of 2 Gbit/s, and of 500 Mbit/s.
const FAST: u64 = 5000;
const SLOW: u64 = 1250;
/// The most bytes that the programs lose and win by rounding.
const ROUNDED: (f64, f64) = (60.0, 4.0);

/// The estimator of a link: of its bytes, a quarter goes each 40 us, and all after 1,280 us without a packet.
#[derive(Clone, Default)]
struct Rate {
    bytes: f64,
    last: u64,
}

impl Rate {
    /// A packet is sent: the congestion of the link in eighths, the least and the most that rounding makes of it.
    fn packet(&mut self, now: u64, bytes: usize, eighth: u64) -> RangeInclusive<u8> {
        let rounds = (now - self.last) / 40;
        if rounds < 32 {
            self.bytes *= 0.75f64.powi(rounds as i32);
            self.last += 40 * rounds;
        } else {
            (self.bytes, self.last) = (0.0, now);
        }
        self.bytes += bytes as f64;
        let eighths = |bytes: f64| (bytes / eighth as f64).clamp(0.0, 7.0) as u8;
        eighths(self.bytes - ROUNDED.0)..=eighths(self.bytes + ROUNDED.1)
    }
}

/// The fields of CONGA: uplink, congestion, uplink and congestion of the feedback.
fn fields(frame: &[u8]) -> [u8; 4] {
    let bits = u32::from_be_bytes(frame[42..46].try_into().unwrap());
    [(bits >> 19 & 15) as u8, (bits >> 16 & 7) as u8, (bits >> 11 & 15) as u8, (bits >> 8 & 7) as u8]
}

fn set_fields(frame: &mut [u8], [tag, ce, fb_tag, fb]: [u8; 4]) {
    let bits = 8u32 << 24
        | u32::from(tag) << 19
        | u32::from(ce) << 16
        | u32::from(fb_tag) << 11
        | u32::from(fb) << 8;
    frame[42..46].copy_from_slice(&bits.to_be_bytes());
}

/// A TCP packet of flow `flow`, from a host of one leaf to a host of another.
fn inner(from: u8, to: u8, flow: u8, bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, to, 1 + flow % 4, 2, 0, 0, 0, from, 1, 8, 0, 0x45];
    frame.resize(bytes, flow);
    frame[15..34].fill(0);
    (frame[20], frame[23], frame[26], frame[30]) = (0, 6, 10, 10);
    (frame[28], frame[32], frame[35]) = (from, to, flow);
    frame
}

/// The frame between two leaves.
fn outer(from: u8, to: u8, values: [u8; 4], inner: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0xff, 0xfe, 2, 0, 0, 0, 0xff, 0xff, 8, 0, 0x45, 0];
    let length = (36 + inner.len()) as u16;
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 255, 0, from, 10, 255, 0, to, 0xc0, 0, 0x12, 0xb5]);
    frame.extend((length - 20).to_be_bytes());
    frame.extend([0; 10]);
    frame[48] = 1;
    set_fields(&mut frame, values);
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame.extend(inner);
    frame
}

/// The port and the frame that leave; none of a dropped one.
fn pass(devices: &mut Both, port: u16, frame: &[u8], now: u64) -> Option<(u16, Vec<u8>)> {
    let at = Time::ZERO + Duration::from_us(now);
    devices.each(|device| {
        let queued = device.ingress(port.into(), frame.to_vec(), at).pop()?;
        let port = queued.replica.port as u16;
        Some((port, device.egress(queued, QueueRecord::default(), at).output?.frame))
    })
}

#[test]
fn a_leaf_sends_bursts_by_the_least_congested_path() {
    let mut devices = Both::new(engines_of(&example("conga"), 0, 0), 6_000);
    let mut rng = Rng::new(3);
    let mut now = 10_000;
    assert_eq!(pass(&mut devices, 1, &inner(1, 9, 0, 60), now), None);
    let mut links = [Rate::default(), Rate::default()];
    // To and from leaf 2, by uplink; of the former also when each came, in units of 4,096 us.
    let (mut known, mut from, mut pointer) = ([(0u8, 0u64); 2], [0u8; 2], 0usize);
    let mut forgotten = 0;
    // Uplink of a flow, and when it sent last.
    let mut bursts: BTreeMap<u8, (u8, u64)> = BTreeMap::new();
    let (mut counts, mut rounded, mut congested) = ([0u32; 4], 0, 0);
    for _ in 0..20_000 {
        let most = if rng.chance(1, 400) {
            40_000
        } else if rng.chance(1, 50) {
            2000
        } else {
            30
        };
        now += rng.below(most);
        let (flow, bytes) = (rng.below(12) as u8, 60 + rng.index(1440));
        if rng.chance(2, 5) {
            // From a spine, to a host here or to nobody.
            let mut values =
                [rng.below(2), rng.below(8), rng.below(2), rng.below(8)].map(|value| value as u8);
            // At times nothing is said about the second uplink.
            values[2] &= (now >> 15) as u8;
            let is_ours = rng.chance(9, 10);
            let packet = inner(2, if is_ours { 1 } else { 2 }, flow, bytes);
            let found = pass(&mut devices, 11, &outer(2, 1, values, &packet), now);
            assert_eq!(found, is_ours.then(|| (u16::from(1 + flow % 4), packet)));
            if is_ours {
                let [tag, ce, fb_tag, fb] = values;
                (known[usize::from(fb_tag)], from[usize::from(tag)]) = ((fb, now >> 12), ce);
            }
            continue;
        }
        if rng.chance(1, 10) {
            let packet = inner(1, 1, flow, bytes);
            assert_eq!(pass(&mut devices, 1, &packet, now), Some((u16::from(1 + flow % 4), packet)));
            continue;
        }
        let to = known.map(|(metric, came)| if (now >> 12) - came > 2 { 0 } else { metric });
        forgotten += u32::from(to != known.map(|(metric, _)| metric));
        let packet = inner(1, 2, flow, bytes);
        let (port, sent) = pass(&mut devices, 1, &packet, now).unwrap();
        let [tag, ce, ..] = fields(&sent);
        let uplink = usize::from(tag);
        assert_eq!(port, 11 + u16::from(tag));
        let known = bursts.insert(flow, (tag, now)).filter(|(_, last)| now - last <= 500);
        match known {
            Some((before, _)) => assert_eq!(tag, before, "a burst keeps its path"),
            None => {
                assert_eq!(to[uplink], *to.iter().min().unwrap(), "{to:?}");
                counts[if to[0] == to[1] { 2 + uplink } else { uplink }] += 1;
            }
        }
        let congestion = links[uplink].packet(now, bytes + OUTER, FAST);
        assert!(congestion.contains(&ce), "{ce} {congestion:?}");
        rounded += u32::from(congestion.start() != congestion.end());
        congested += u32::from(ce > 0);
        let wanted = [tag, ce, pointer as u8, from[pointer]];
        assert_eq!(sent, outer(1, 2, wanted, &packet));
        pointer = 1 - pointer;
    }
    // Either uplink was the better one, and either was chosen of equal ones.
    assert!(counts.iter().all(|count| *count > 20) && forgotten > 200, "{counts:?} {forgotten}");
    assert!(congested > 1500 && rounded < 200, "{congested} {rounded}");
}

#[test]
fn a_spine_raises_the_congestion_to_that_of_its_link() {
    let mut devices = Both::new(engines_of(&example("conga"), 3, 3), 6_000);
    let mut rng = Rng::new(5);
    let (mut links, mut now, mut raised, mut rounded) = ([Rate::default(), Rate::default()], 10_000, 0, 0);
    assert_eq!(pass(&mut devices, 1, &inner(1, 2, 0, 100), now), None, "no VXLAN");
    assert_eq!(pass(&mut devices, 1, &outer(1, 7, [0; 4], &[0; 60]), now), None, "no such leaf");
    for number in 0..20_000 {
        // At times more than the links take, and silences after which some of it is left.
        now += match number / 1000 % 2 {
            0 => rng.below(40),
            _ if rng.chance(1, 40) => 300 + rng.below(1000),
            _ => rng.below(3),
        };
        let leaf = 1 + rng.below(2) as u8;
        let values = [rng.below(2), rng.below(4), rng.below(2), rng.below(8)].map(|value| value as u8);
        let packet = outer(3 - leaf, leaf, values, &inner(3 - leaf, leaf, 0, 60 + rng.index(1440)));
        let eighth = if leaf == 1 { FAST } else { SLOW };
        let own = links[usize::from(leaf) - 1].packet(now, packet.len(), eighth);
        let [tag, ce, fb_tag, fb] = values;
        let (port, sent) = pass(&mut devices, 1, &packet, now).unwrap();
        let [_, raised_to, ..] = fields(&sent);
        assert!((ce.max(*own.start())..=ce.max(*own.end())).contains(&raised_to), "{raised_to} {ce} {own:?}");
        let mut wanted = packet.clone();
        set_fields(&mut wanted, [tag, raised_to, fb_tag, fb]);
        assert_eq!((port, sent), (leaf.into(), wanted));
        raised += u32::from(*own.start() > ce);
        rounded += u32::from(own.start() != own.end());
    }
    assert!(raised > 2000 && rounded < 1000, "{raised} {rounded}");
}

/// The fabric with a form of the programs, transfers that begin on average once in so long at each host and receiver, and other links.
fn racked(form: &str, gap_us: u64, change: impl Fn(&mut rack_model::Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/conga/RACK.toml");
    let set = |rack: &mut rack_model::Rack| {
        let load = &mut rack.workloads[0].load;
        load.set("interval", Value::Time(Duration::from_us(gap_us)), Span::NONE);
        change(rack);
    };
    let defines: Vec<String> =
        Some(form).filter(|form| !form.is_empty()).map(str::to_string).into_iter().collect();
    let racked = rack::load_as(&path, &defines, &mut SourceMap::new(), &set, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// Milliseconds that transfers took, and the report.
fn run(racked: &Racked) -> (Vec<f64>, RunReport) {
    let mut running = up::bring_up(racked).unwrap();
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    let samples = running.emulator.take_samples();
    (samples.iter().map(|sample| sample.received.since(sample.sent).as_ns() as f64 / 1e6).collect(), report)
}

/// Bytes from the left leaf to each spine.
fn uplinks(report: &RunReport) -> [f64; 2] {
    ["left:11", "left:12"]
        .map(|from| report.links.iter().find(|link| link.from == from).map_or(0.0, |link| link.bytes as f64))
}

#[test]
fn with_a_slow_link_congestion_decides_and_hashes_do_not_know() {
    let found = ["", "EXACT", "ECMP"].map(|form| {
        let (times, report) = run(&racked(form, 3_100, |_| ()));
        assert_eq!(times.len(), 1600, "{form}");
        let [upper, lower] = uplinks(&report);
        (mean(&times), quantile(&times, 0.9), lower / (lower + upper))
    });
    let [conga, exact, ecmp] = found;
    for (form, (average, high, lower)) in [("limited", conga), ("exact", exact)] {
        assert!(3.0 * average < ecmp.0 && 3.0 * high < ecmp.1, "{form}: {found:?}");
        // Of 2.5 Gbit/s, the slow path has a fifth.
        assert!((0.1..0.33).contains(&lower), "{form}: {found:?}");
    }
    assert!((0.4..0.6).contains(&ecmp.2), "{found:?}");
}

/// Each part exact alone: the rate of links, the congestion of a leaf's own uplinks, and bursts. With any of them the fabric is three times as fast as
/// by hashes.
#[test]
fn each_part_of_conga_may_be_exact_alone() {
    let found = ["EXACT_RATE", "EXACT_OWN", "EXACT_BURSTS"].map(|form| {
        let (times, report) = run(&racked(form, 3_100, |_| ()));
        assert_eq!(times.len(), 1600, "{form}");
        let [upper, lower] = uplinks(&report);
        (mean(&times), quantile(&times, 0.95), lower / (lower + upper))
    });
    // 54 ms by hashes.
    for (average, _, lower) in found {
        assert!(average < 18.0 && (0.1..0.33).contains(&lower), "{found:?}");
    }
}

#[test]
fn a_path_without_a_link_is_not_used() {
    // As the control plane writes it when a link fails: one uplink is left.
    let mut devices = Both::new(engines_of(&example("conga"), 0, 0), usize::MAX);
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/conga/left.stf"))
            .unwrap();
    assert!(text.contains("paths(usable:3,"));
    let racked = racked("", 3_100, |rack| rack.apps[0].entries = Some(one_path(&text).into()));
    let mut one = Both::new(engines_of(&racked, 0, 0), usize::MAX);
    let mut used = [0; 2];
    for flow in 0..64 {
        let now = 10_000 + 1000 * u64::from(flow);
        assert_eq!(pass(&mut one, 1, &inner(1, 2, flow, 100), now).unwrap().0, 12);
        used[usize::from(pass(&mut devices, 1, &inner(1, 2, flow, 100), now).unwrap().0) - 11] += 1;
    }
    assert!(used.iter().all(|used| *used > 10), "{used:?}");
}

/// A file of entries in which the second uplink alone leads to the other leaf.
fn one_path(text: &str) -> String {
    let path = std::env::temp_dir().join(format!("p4rack-conga-{}.stf", std::process::id()));
    std::fs::write(&path, text.replace("paths(usable:3,", "paths(usable:2,")).unwrap();
    path.to_str().unwrap().to_string()
}

/// Transfers that took longer than 100 ms after the link from the left leaf to the lower spine fails at 30 ms. If `repairs`, the control plane writes
/// 5 ms later that one uplink is left, at both leaves.
fn slow_ones(repairs: bool) -> (usize, usize) {
    let fails = |rack: &mut rack_model::Rack| {
        let kind = FaultKind::LinkDown(LinkId(9));
        let at = Time::ZERO + Duration::from_ms(30);
        rack.faults.push(Fault { kind, at, lasts: None, span: Span::NONE });
        rack.until = Some(Time::ZERO + Duration::from_ms(2000));
    };
    let racked = racked("", 6_200, fails);
    let mut running = up::bring_up(&racked).unwrap();
    running.emulator.keep_samples(true);
    running.run_until(Time::ZERO + Duration::from_ms(35)).unwrap();
    for app in (0..2).filter(|_| repairs) {
        let is_leaf =
            |write: &&Write| matches!(write, Write::Entry { table, .. } if table.ends_with("leaves"));
        let write = racked.fill(app, app).into_iter().find(is_leaf).unwrap().clone();
        let Write::Entry { table, key, to: Some(mut to), .. } = write else { panic!() };
        let Run::Action(call) = &mut to.run else { panic!() };
        call.args[0] = Bits::new(4, 1);
        let write = Write::Entry { table, key, to: Some(to), count: None };
        let done = running.with_switch(DeviceId(app as u32), |switch| switch.write(&write, Time::ZERO));
        assert_eq!(done.unwrap(), Some(Ok(())));
    }
    running.run().unwrap();
    let samples = running.emulator.take_samples();
    let slow = samples.iter().filter(|sample| sample.received.since(sample.sent) > Duration::from_ms(250));
    (slow.count() + 1600 - samples.len(), samples.len())
}

#[test]
fn after_a_link_fails_in_a_run_the_control_plane_takes_its_path_away() {
    let (repaired, done) = slow_ones(true);
    let (left, _) = slow_ones(false);
    assert_eq!(done, 1600);
    assert!(10 * repaired < left, "{repaired} {left}");
}

#[test]
fn limited_switches_run_the_programs() {
    for file in ["conga", "conga/wcmp.toml", "conga/presto.toml"] {
        for app in &example(file).apps {
            let found = ir_limits::check(&app.whole, DeviceClass::FlexSwitch);
            assert!(found.is_empty(), "{file}: {found:#?}");
        }
    }
}

/// Uplinks of the slots, as `slots-left.stf` has them.
const SLOTS: [u16; 16] = [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

#[test]
fn weighted_flows_keep_their_path_and_paths_have_their_weights() {
    let mut devices = Both::new(engines_of(&example("conga/wcmp.toml"), 0, 0), 4_000);
    let mut rng = Rng::new(8);
    let mut paths: BTreeMap<(u8, u8), u16> = BTreeMap::new();
    for number in 0..12_000 {
        let (flow, port) = (rng.below(16) as u8, rng.below(250) as u8);
        let mut packet = inner(1, 2, flow, 100);
        packet[37] = port;
        let (path, _) = pass(&mut devices, 1, &packet, 1000 + number).unwrap();
        assert_eq!(*paths.entry((flow, port)).or_insert(path), path);
    }
    let slow = paths.values().filter(|path| **path == 12).count() as f64;
    let (count, wanted) = (paths.len() as f64, 3.0 / 16.0);
    let off = (slow - wanted * count).abs();
    assert!(count > 3500.0 && off < 4.0 * (count * wanted).sqrt(), "{slow} of {count}");
}

#[test]
fn each_64_kb_of_a_flow_take_the_next_slot() {
    let mut devices = Both::new(engines_of(&example("conga/presto.toml"), 0, 0), 6_000);
    let mut rng = Rng::new(9);
    // Bytes of a flow, and the slots that it may have begun with.
    let mut flows: BTreeMap<u8, (usize, Vec<usize>)> = BTreeMap::new();
    for number in 0..20_000 {
        let (flow, bytes) = (rng.below(16) as u8, 60 + rng.index(1440));
        let (port, _) = pass(&mut devices, 1, &inner(1, 2, flow, bytes), 1000 + number).unwrap();
        let (sent, begins) = flows.entry(flow).or_insert((0, (0..16).collect()));
        begins.retain(|begin| 11 + SLOTS[(begin + (*sent >> 16)) % 16] == port);
        *sent += bytes;
        assert!(!begins.is_empty(), "flow {flow} after {sent} bytes");
    }
    // More than 16 times 64 KB leave one beginning each, not the same for all.
    assert!(flows.values().all(|(sent, begins)| *sent < 1 << 20 || begins.len() == 1), "{flows:?}");
    let different: std::collections::BTreeSet<_> = flows.values().map(|(_, begins)| begins[0]).collect();
    assert!(flows.len() == 16 && different.len() > 4, "{flows:?}");
}

#[test]
fn weights_and_flowcells_use_both_paths() {
    let [ecmp, wcmp, presto] =
        [racked("ECMP", 3_100, |_| ()), example("conga/wcmp.toml"), example("conga/presto.toml")]
            .map(|racked| mean(&run(&racked).0));
    assert!(10.0 * wcmp < ecmp && 10.0 * presto < ecmp, "{ecmp} {wcmp} {presto}");
}

/// The leaf for a Tofino beside a model of a few lines. Hosts 02..07 send to a host behind leaf 3, over four uplinks from port 11 on; packets come back.
#[test]
fn a_leaf_on_a_tofino_follows_the_rules() {
    const REMOTE: u64 = 0x0200_0000_0009;
    let mut entries: Vec<Exact<'_>> = vec![
        (
            "BaselineIngress.conga.hosts",
            &[(48, REMOTE)],
            "goes_to",
            &[(4, 3), (2, 3), (32, 0), (32, 1), (32, 2), (32, 3)],
        ),
        ("BaselineIngress.conga.sources", &[(1, 1), (32, 0xc000_0202)], "comes_from", &[(4, 3)]),
        ("BaselineIngress.destinations", &[(16, 10), (48, REMOTE)], "bridge_tunnel", &[(16, 6)]),
        ("BaselineIngress.nexthops", &[(16, 6)], "next_tunnel", &[(10, 0), (16, 20), (14, 7)]),
        ("BaselineIngress.tunnel_addresses", &[(12, 1), (32, 0xc000_0201), (8, 1)], "is_own", &[]),
        ("BaselineIngress.tunnel_sources", &[(12, 1), (32, 0xc000_0202), (8, 1)], "NoAction", &[]),
        ("BaselineIngress.tunnels", &[(8, 1), (24, 77)], "end_ethernet", &[(16, 10), (12, 1)]),
        ("BaselineIngress.ports", &[(9, 11)], "port_is", &[(10, 11)]),
        ("BaselineIngress.domains", &[(10, 11), (1, 0), (12, 0)], "domain", &[(16, 20), (12, 1)]),
        ("BaselineEgress.tunnels", &[(14, 7)], "in_vxlan", &[(24, 77)]),
        ("BaselineEgress.encapsulations", &[(8, 1)], "vxlan", &[]),
        (
            "BaselineEgress.tunnel_ends",
            &[(14, 7)],
            "addresses",
            &[(32, 0xc000_0201), (32, 0xc000_0202), (48, 0xff), (48, 0x33)],
        ),
    ];
    static TAGS: [[(u32, u64); 2]; 4] =
        [[(9, 11), (16, 20)], [(9, 12), (16, 20)], [(9, 13), (16, 20)], [(9, 14), (16, 20)]];
    static UPLINKS: [[(u32, u64); 2]; 4] =
        [[(2, 0), (9, 11)], [(2, 1), (9, 12)], [(2, 2), (9, 13)], [(2, 3), (9, 14)]];
    entries.extend(TAGS.iter().map(|keys| -> Exact<'_> { ("BaselineEgress.tags", keys, "untagged", &[]) }));
    entries.extend(
        UPLINKS.iter().map(|of| -> Exact<'_> { ("BaselineIngress.uplinks", &of[..1], "link", &of[1..]) }),
    );
    let mut devices = Both::new(on_tofino("CONGA", &entries), 8_000);
    // Eighths of 500 Mbit/s in 131 us.
    for device in devices.both() {
        for eighths in 1..8u128 {
            let hi = if eighths == 7 { 0xf_ffff } else { 1024 * eighths + 1023 };
            let keys =
                [Match::Any, Match::Range { lo: Bits::new(20, 1024 * eighths), hi: Bits::new(20, hi) }];
            let data = [Bits::new(3, eighths)];
            device
                .table_add("BaselineEgress.protocol.congestion", &keys, "congestion_is", &data, Some(1))
                .unwrap();
        }
    }
    let tcp = |host: u8, to: u64, length: usize| {
        let mut frame = to.to_be_bytes()[2..].to_vec();
        frame.extend([
            2, 0, 0, 0, 0, host, 8, 0, 0x45, 0, 5, 220, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 1, host, 10, 0, 1, 9,
        ]);
        frame.extend([4, host, 0, 80]);
        frame.resize(length, 0);
        frame
    };
    let mut rng = Rng::new(4);
    let mut now = 20_000_000u64;
    let (mut metrics, mut came, mut turn) = ([(0u8, 0u64); 4], [0u8; 4], 0usize);
    let mut flows: BTreeMap<u8, (u64, usize)> = BTreeMap::new();
    let mut links: [BTreeMap<u64, u64>; 4] = Default::default();
    let (mut chosen, mut stayed, mut congested, mut aged) = ([0u32; 4], 0, 0, 0);
    for _ in 0..30_000 {
        now += match rng.below(400) {
            0 => rng.below(12_000_000),
            1..20 => 200_000 + rng.below(400_000),
            _ => rng.below(40_000),
        };
        let at = Time::ZERO + Duration::from_ns(now);
        let mut pass = |port, frame: &[u8]| {
            devices.each(|device| {
                let queued = device.ingress(port, frame.to_vec(), at).pop().unwrap();
                device.egress(queued, QueueRecord::default(), at).output.unwrap()
            })
        };
        if rng.chance(1, 3) {
            // From a spine, with feedback: the frame of the host comes out.
            let (tag, ce, of, metric) =
                (rng.below(4) as u8, rng.below(8) as u8, rng.below(4) as u8, rng.below(8) as u8);
            let inner = tcp(9, 0x0200_0000_0002, 100);
            let mut frame = vec![
                0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0x33, 8, 0, 0x45, 0, 0, 136, 0, 0, 0, 0, 64, 17, 0, 0,
            ];
            frame.extend([192, 0, 2, 2, 192, 0, 2, 1, 192, 0, 0x12, 0xb5, 0, 116, 0, 0]);
            frame.extend([8, tag << 3 | ce, of << 3 | metric, 0, 0, 0, 77, 0]);
            frame.extend(&inner);
            let out = pass(11, &frame);
            assert_eq!((out.port, out.frame.len()), (9, inner.len()));
            metrics[usize::from(of)] = (metric, now);
            came[usize::from(tag)] = ce;
            continue;
        }
        let host = 2 + rng.below(6) as u8;
        let sent = tcp(host, REMOTE, 60 + rng.index(1400));
        let out = pass(1, &sent);
        let (fields, uplink) = (&out.frame[43..45], out.port as usize - 11);
        assert_eq!(out.frame.len(), sent.len() + OUTER);
        assert_eq!(usize::from(fields[0] >> 3), uplink);
        assert_eq!(fields[1], (turn as u8) << 3 | came[turn], "feedback");
        turn = (turn + 1) % 4;
        let known = metrics.map(|(metric, since)| if now - since > 10_000_000 { 0 } else { metric });
        match flows.get(&host) {
            Some((last, same)) if now - last <= 500_000 => {
                assert_eq!(uplink, *same, "a flowlet moved");
                stayed += u32::from(known[uplink] > *known.iter().min().unwrap());
            }
            _ => {
                assert_eq!(known[uplink], *known.iter().min().unwrap(), "{known:?}, {uplink}");
                chosen[uplink] += 1;
                aged += u32::from(metrics.iter().zip(known).any(|((metric, _), known)| *metric > known));
            }
        }
        flows.insert(host, (now, uplink));
        let (link, interval) = (&mut links[uplink], now >> 17);
        let before = link.get(&(interval - 1)).copied().unwrap_or(0);
        assert_eq!(u64::from(fields[0] & 7), (before / 1024).min(7), "congestion");
        congested += u32::from(before > 1024);
        *link.entry(interval).or_default() += out.frame.len() as u64;
    }
    assert!(chosen.iter().all(|count| *count > 50), "{chosen:?}");
    assert!(stayed > 500 && congested > 500 && aged > 20, "{stayed} {congested} {aged}");
}
