//! `examples/rcp`: the switch's program beside RCP's equations, packet by packet and as a network; and what the rack comes to without it.

use crate::support::{self, Both, on_tofino, sharing_codes};
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord};
use host_programs::flow_list::FlowList;
use host_programs::udp::POISSON;
use host_programs::{Load, Value};
use p4rack::{Racked, rack, up};
use protocol_trials::rcp::{Formula, Offer, Packet, Port};
use protocol_trials::rcp_network::{Flow, Network};
use protocol_trials::statistics::{Length, distance, mean, quantile};
use rack_emulator::{RunReport, Sample};
use rack_model::{HostId, LinkId, Rack};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rcp");
/// The port of the receiver, as `entries.stf` has it, and the least rate, as the program has it.
const PORT: Port = Port { interval_us: 256, capacity: 30_400.0, drain: 31_500.0, least: 15.0 };
/// The rate that senders wish.
const WISH: f64 = 1e6;
/// Nanoseconds that a packet takes in the switch.
const SERVICE: u64 = 1000;
/// Data in a full packet of 1,500 bytes, and bytes of its headers.
const PIECE: u32 = 1444;
const HEADERS: u32 = 70;

/// The rack of a file of the example, changed; a form is macros, with spaces between them.
fn racked(file: &str, form: &str, change: impl Fn(&mut Rack)) -> Racked {
    load(&Path::new(EXAMPLE).join(file), form, &change)
}

fn load(path: &Path, form: &str, change: &dyn Fn(&mut Rack)) -> Racked {
    let defines: Vec<String> = form.split_whitespace().map(str::to_string).collect();
    let racked = rack::load_as(path, &defines, &mut SourceMap::new(), change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// Each transfer that ended, and the report.
fn run(racked: &Racked) -> (Vec<Sample>, RunReport) {
    let mut running = up::bring_up(racked).unwrap();
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    let mut samples = running.emulator.take_samples();
    samples.sort_by_key(|sample| (sample.workload, sample.from, sample.sequence));
    (samples, report)
}

/// Milliseconds that transfers took.
fn times(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.received.since(sample.sent).as_ns() as f64 / 1e6).collect()
}

/// A frame as it came over a link.
struct Seen {
    ns: u64,
    frame: Vec<u8>,
}

impl Seen {
    fn word(&self, at: usize) -> u32 {
        self.frame[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
    }

    /// The flow of a packet of RCP to a receiver, by source and port, and the round trip in it.
    fn asks(&self) -> Option<(u64, u32)> {
        let asks = self.frame[23] == 17 && self.frame[36..38] == 9300u16.to_be_bytes();
        let flow = u64::from(self.word(26)) << 16 | u64::from(self.word(34) >> 16);
        asks.then(|| (flow, self.word(42) & 0xff_ffff))
    }

    fn rate(&self) -> u32 {
        self.word(46)
    }

    /// The bytes that no switch changes.
    fn rest(&self) -> Vec<u8> {
        [&self.frame[..46], &self.frame[50..]].concat()
    }
}

fn seen(recording: &[u8]) -> Vec<Seen> {
    let mut reader = base_pcap::Reader::new(recording).unwrap();
    let mut all = vec![];
    while let Some(seen) = reader.read(|frame| Seen { ns: frame.nanos, frame: frame.bytes.to_vec() }).unwrap()
    {
        all.push(seen);
    }
    all
}

/// The link of the receiver of a rack.
fn sink(rack: &Rack) -> LinkId {
    let to = rack_model::NodeId::Host(rack.workloads[0].to.value[0]);
    rack.links_of(to).next().unwrap().0
}

/// Runs a rack: what came for the receiver to the switch, and the same packets at the receiver, in its order. None is lost.
fn observed(racked: &Racked) -> (Vec<Seen>, Vec<Seen>) {
    let mut running = up::bring_up(racked).unwrap();
    let (sink, links) = (sink(&racked.rack), racked.rack.links.len() as u32);
    (0..links).for_each(|link| running.emulator.record(LinkId(link)));
    running.run().unwrap();
    let mut of = |link| seen(&running.emulator.take_recording(LinkId(link)).unwrap());
    let card = racked.rack.hosts[racked.rack.workloads[0].to.value[0].0 as usize].mac.value.0;
    let is_to_sink = |seen: &Seen| seen.frame[..6] == card;
    let came = (0..links).filter(|link| *link != sink.0).flat_map(&mut of).filter(is_to_sink);
    let mut came: BTreeMap<_, _> = came.map(|seen| (seen.rest(), seen)).collect();
    let left: Vec<Seen> = of(sink.0).into_iter().filter(is_to_sink).collect();
    assert_eq!(came.len(), left.len());
    let came: Vec<Seen> = left.iter().map(|seen| came.remove(&seen.rest()).unwrap()).collect();
    assert!(came.is_sorted_by_key(|seen| seen.ns));
    (came, left)
}

/// The largest and the mean relative difference of the rates in packets from those of a formula.
fn compare(racked: &Racked, formula: Formula) -> (f64, f64, usize) {
    let (came, left) = observed(racked);
    let mut offer = Offer::new(PORT, formula);
    // When the link is free, and the packets before it: when each begins to leave, and bytes.
    let (mut free, mut queued) = (0u64, vec![]);
    let mut off = vec![];
    for (came, left) in came.iter().zip(&left) {
        queued.retain(|(begins, _)| *begins > came.ns);
        let bytes = came.frame.len() as u32;
        let queue = queued.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        let wanted = offer.packet(Packet { at_us: came.ns / 1000, bytes, queue, asks: came.asks() });
        if came.asks().is_some() {
            off.push((f64::from(left.rate()) - wanted.min(WISH).floor()).abs() / WISH);
        }
        let begins = free.max(came.ns + SERVICE);
        queued.push((begins, bytes));
        free = begins + 8 * u64::from(bytes.max(60) + 24);
    }
    (off.iter().copied().fold(0.0, f64::max), mean(&off), off.len())
}

/// The form for a Tofino, which counts units of 1,024 ns, beside FlexSwitch's formula: the largest and the mean difference, and the number of packets.
#[test]
fn a_tofino_offers_the_same_rates_within_the_error_of_the_block_divide() {
    // The rates of the capacity, and what it is more than the least.
    let data = [60_800, 121_600, 31_500, 950_000, 949_531].map(|value| (32, value));
    let devices = on_tofino("RCP", &[("BaselineEgress.protocol.links", &[(9, 9)], "control_rate", &data)]);
    let mut devices = Both::new(devices, 8_000);
    // A byte is 32 kbit/s there, and 31.25 here.
    let mut offer = Offer::new(PORT, Formula::FlexSwitch).with_gain(1.024);
    let mut rng = Rng::new(11);
    let (mut now, mut phase, mut off, mut least) = (1_000u64, (0, 0, 0), vec![], WISH);
    for _ in 0..40_000 {
        // Too many packets, then few and silence: until its end, phases have so many flows, and so many microseconds between packets.
        if now > phase.0 {
            let light = phase.2 < 20;
            now += if !light && rng.chance(1, 2) { rng.between(256, 2000) } else { 0 };
            phase = (
                now + 8_000,
                rng.between(1, 40),
                if light { rng.between(20, 26) } else { rng.between(9, 15) },
            );
        }
        now += rng.below(phase.2);
        let flow = rng.below(phase.1) as u16;
        let is_answer = rng.chance(1, 10);
        let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45];
        frame.resize(42, 0);
        frame[23] = 17;
        frame[34..36].copy_from_slice(&flow.to_be_bytes());
        frame[36..38].copy_from_slice(&9300u16.to_be_bytes());
        for word in [if is_answer { 8 << 24 } else { 4 << 24 }, 1_000_000, 0] {
            frame.extend(u32::to_be_bytes(word));
        }
        frame.resize(54 + rng.index(1446), 0);
        let asks = (!is_answer).then_some((flow.into(), 0));
        let bytes = frame.len() as u32;
        let wanted = offer.packet(Packet { at_us: now, bytes, queue: 0, asks }).min(WISH);
        let at = Time::ZERO + Duration::from_ns(1024 * now + rng.below(1024));
        let found = devices.each(|device| {
            let queued = device.ingress(1, frame.clone(), at).pop().unwrap();
            device.egress(queued, QueueRecord::default(), at).output.unwrap().frame
        });
        let rate = found[46..50].iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
        if is_answer {
            assert_eq!(rate, 1_000_000);
        } else {
            off.push((f64::from(rate) - wanted).abs() / WISH);
            least = wanted.min(least);
        }
    }
    let off = (off.iter().copied().fold(0.0, f64::max), mean(&off), off.len());
    assert!(off.0 < 0.02 && off.1 < 0.002 && off.2 > 30_000 && least < 100_000.0, "{off:?}, {least}");
}

/// In every form of the program, each packet has the rate that the form's formula gives. Differences are shares of the link's rate.
fn agrees(change: fn(&mut Rack)) {
    for (form, formula, most, average) in [
        ("DUKKIPATI", Formula::Exact, 0.0005, 0.0001),
        ("EXACT", Formula::FlexSwitch, 0.00001, 0.000001),
        ("", Formula::FlexSwitch, 0.005, 0.0005),
    ] {
        let off = compare(&racked("RACK.toml", form, change), formula);
        assert!(off.0 < most && off.1 < average && off.2 > 15_000, "{form}: {off:?}");
    }
}

#[test]
fn every_packet_has_the_rate_that_the_equations_give() {
    agrees(|_| ());
}

/// One block exact, the other not: with 8,192 cells, flows are counted as exactly as one by one, and the difference comes from the divisions.
#[test]
fn each_block_has_its_part_in_the_difference() {
    let of = |form| compare(&racked("RACK.toml", form, |_| ()), Formula::FlexSwitch);
    let [bitmap, tables] = ["EXACT_SHARE", "EXACT_FLOWS"].map(of);
    assert!(bitmap.0 < 0.00001 && bitmap.1 < 0.000001, "{bitmap:?}");
    assert!(tables.0 < 0.005 && (0.00001..0.0005).contains(&tables.1), "{tables:?}");
}

/// Transfers the other way, whose acknowledgements share the link, and packets that do not know RCP.
fn with_others(rack: &mut Rack) {
    let mut back = rack.workloads[0].clone();
    back.name = "back".into();
    (back.from, back.to) = (back.to, back.from);
    let mut other = back.clone();
    other.name = "others".into();
    (other.from, other.to) = (vec![HostId(0)].into(), back.from.clone());
    other.load = Load::new(&POISSON, 5_000, 500).with("rate", Value::Rate("100Mbit/s".parse().unwrap()));
    rack.workloads.extend([back, other]);
    rack.links[8].queue = 4096;
}

#[test]
fn packets_that_do_not_ask_take_capacity_and_have_no_share() {
    agrees(with_others);
}

/// Each controlled port counts its own flows: transfers between others do not change what the port of the receiver offers, in no form.
#[test]
fn flows_of_other_ports_have_no_share() {
    let file = with_controlled_ports("rcp", "capacity:30400, drain:31500", &[(1, 5), (2, 6), (3, 7)]);
    let with_other_ports = |rack: &mut Rack| {
        rack.apps[0].entries = Some(file.display().to_string().into());
        let mut others = rack.workloads[0].clone();
        others.name = "others".into();
        others.from = (0..4).map(HostId).collect::<Vec<_>>().into();
        others.to = (4..8).map(HostId).collect::<Vec<_>>().into();
        others.load.set("list", Value::Number(2), Span::NONE);
        rack.workloads.push(others);
        rack.links[8].queue = 4096;
    };
    for (form, most, average) in [
        ("EXACT", 0.00001, 0.000001),
        ("", 0.005, 0.0005),
        ("FABRIC EXACT", 0.00001, 0.000001),
        ("FABRIC EXACT_SHARE", 0.001, 0.00001),
        ("FABRIC", 0.005, 0.0005),
    ] {
        let off = compare(&racked("RACK.toml", form, with_other_ports), Formula::FlexSwitch);
        assert!(off.0 < most && off.1 < average && off.2 > 15_000, "{form}: {off:?}");
    }
    std::fs::remove_file(file).unwrap();
}

/// A file with the entries of an example, and rate control at other ports, too: numbers of the slot and the port.
pub(crate) fn with_controlled_ports(protocol: &str, rate: &str, ports: &[(u32, u32)]) -> PathBuf {
    let file = std::env::temp_dir().join(format!("p4rack-{protocol}-{}-ports.stf", std::process::id()));
    let example = Path::new(EXAMPLE).join("..").join(protocol).join("entries.stf");
    let mut entries = std::fs::read_to_string(example).unwrap();
    for (slot, port) in ports {
        entries +=
            &format!("add links standard_metadata.egress_spec:{port} control_rate(slot:{slot}, {rate})\n");
    }
    std::fs::write(&file, entries).unwrap();
    file
}

/// The list of transfers of the first workload.
fn flows(rack: &Rack) -> Vec<Flow> {
    let load = &rack.workloads[0].load;
    let of = |host: usize| {
        let flow = move |flow: host_programs::flow_list::Flow| Flow {
            host,
            at_ns: flow.at.as_ps() / 1000,
            bytes: flow.bytes,
        };
        FlowList::new(load, host as u32).map(flow)
    };
    (0..8).flat_map(of).collect()
}

#[test]
fn a_network_of_a_few_lines_needs_the_same_times() {
    let network = Network {
        ns_per_byte: 8.0,
        delay_ns: 40_000.0,
        service_ns: SERVICE as f64,
        headers: HEADERS,
        overhead: 24,
        piece: PIECE,
        port: PORT,
        wish: WISH,
        clock_ns: 0,
    };
    let compared = |racked: &Racked| {
        let flows = flows(&racked.rack);
        let (wanted, _) = network.run(&flows, Formula::Exact);
        let (samples, _) = run(racked);
        let (times, wanted) = (times(&samples), wanted.iter().map(|ns| ns / 1e6).collect::<Vec<_>>());
        assert_eq!(times.len(), flows.len());
        (times, wanted)
    };
    let off = |times: &[f64], wanted: &[f64]| -> Vec<f64> {
        times.iter().zip(wanted).map(|(time, wanted)| (time / wanted - 1.0).abs()).collect()
    };
    // One transfer of each host, with new ones every 2 ms.
    let few = |rack: &mut Rack| {
        let load = &mut rack.workloads[0].load;
        (load.count, load.size, load.stagger) = (1, 1_000_000, Duration::from_ms(2));
        load.set("list", Value::Number(0), Span::NONE);
    };
    let (times, wanted) = compared(&racked("RACK.toml", "DUKKIPATI", few));
    let most = off(&times, &wanted).into_iter().fold(0.0, f64::max);
    assert!(times.len() == 8 && most < 0.02, "{most}: {times:?} {wanted:?}");
    // With many, some packet is the first of an interval in one of the two and the second in the other, and a transfer has another rate.
    let (times, wanted) = compared(&racked("RACK.toml", "DUKKIPATI", |_| ()));
    let (half, means) = (quantile(&off(&times, &wanted), 0.5), mean(&times) / mean(&wanted));
    assert!(half < 0.001 && (means - 1.0).abs() < 0.05, "{half} {means}");
}

/// The times in milliseconds that transfers need in ns-3, where the program (Dukkipati's form) is the switch of a node and hosts have code of their own.
fn ns_3_times(place: &str, flows: &[Flow]) -> Vec<f64> {
    let transfers: Vec<(usize, u64, u32)> =
        flows.iter().map(|flow| (flow.host, flow.at_ns, flow.bytes)).collect();
    let args = [format!("{EXAMPLE}/rcp.p4"), format!("{EXAMPLE}/entries.stf"), "DUKKIPATI=1".to_string()];
    support::ns_3_times(&Path::new(place).join("rcp"), &args, &transfers)
}

/// `ns3/test` builds the programs and runs this with their folder in `P4RACK_NS3`.
#[test]
#[allow(clippy::disallowed_methods)]
fn ns_3_needs_the_same_times() {
    let Ok(place) = std::env::var("P4RACK_NS3") else { return };
    let compared = |change: fn(&mut Rack)| {
        let racked = racked("RACK.toml", "DUKKIPATI", change);
        let flows = flows(&racked.rack);
        let (samples, report) = run(&racked);
        let (times, wanted) = (times(&samples), ns_3_times(&place, &flows));
        assert_eq!((times.len(), wanted.len(), report.links[17].refused), (flows.len(), flows.len(), 0));
        let off: Vec<f64> =
            times.iter().zip(&wanted).map(|(time, wanted)| (time / wanted - 1.0).abs()).collect();
        (off, mean(&times) / mean(&wanted))
    };
    // One transfer of each host, with new ones every 2 ms.
    let (few, _) = compared(|rack| {
        let load = &mut rack.workloads[0].load;
        (load.count, load.size, load.stagger) = (1, 1_000_000, Duration::from_ms(2));
        load.set("list", Value::Number(0), Span::NONE);
    });
    assert!(few.len() == 8 && quantile(&few, 1.0) < 0.02, "{few:?}");
    // With many, some packet is the first of an interval in one of the two and the second in the other, and a transfer has another rate.
    let (many, means) = compared(|_| ());
    let half = quantile(&many, 0.5);
    assert!(half < 0.001 && (means - 1.0).abs() < 0.05, "{half} {means}");
}

#[test]
fn the_approximation_takes_as_long_as_its_exact_twin() {
    let more = |rack: &mut Rack| rack.workloads[0].load.count = 400;
    let racks = ["EXACT", ""].map(|form| racked("RACK.toml", form, more));
    let flows = flows(&racks[0].rack);
    let [exact, approximate] = racks.map(|racked| times(&run(&racked).0));
    assert_eq!((exact.len(), approximate.len()), (flows.len(), flows.len()));
    let means = mean(&approximate) / mean(&exact);
    assert!((means - 1.0).abs() < 0.03, "{means}");
    for class in Length::ALL {
        let of = |times: &[f64]| -> Vec<f64> {
            let flows = flows.iter().zip(times);
            flows.filter(|(flow, _)| Length::of(flow.bytes, PIECE) == class).map(|(_, time)| *time).collect()
        };
        let (exact, approximate) = (of(&exact), of(&approximate));
        // Of few transfers, one is a large step of the distribution.
        let most = f64::max(0.03, 2.5 / exact.len() as f64);
        let distance = distance(&exact, &approximate);
        assert!(distance <= most, "{class:?}: {distance} of {} transfers", exact.len());
    }
}

/// The packets of a rack at the receiver, as far as they come.
fn delivered(racked: &Racked) -> Vec<Seen> {
    let mut running = up::bring_up(racked).unwrap();
    let sink = sink(&racked.rack);
    running.emulator.record(sink);
    running.run().unwrap();
    seen(&running.emulator.take_recording(sink).unwrap())
}

#[test]
fn with_plain_forwarding_headers_stay_as_they_are_and_queues_overflow() {
    let plain = |rack: &mut Rack| {
        rack.apps[0].program.value = "forward.p4".to_string();
        rack.apps[0].entries = Some("hosts.stf".to_string().into());
        rack.links[8].queue = 64;
    };
    let plain = racked("RACK.toml", "", plain);
    let rates = delivered(&plain);
    assert!(
        rates.len() > 15_000
            && rates.iter().filter(|seen| seen.asks().is_some()).all(|seen| f64::from(seen.rate()) == WISH)
    );
    let (without, lost) = run(&plain);
    let (with, kept) = run(&racked("RACK.toml", "", |rack| rack.links[8].queue = 64));
    assert_eq!((without.len(), with.len()), (800, 800));
    let refused = [lost, kept].map(|report| report.links[17].refused);
    let (without, with) = (mean(&times(&without)), mean(&times(&with)));
    assert!(refused[0] > 500 && refused[1] == 0 && without > 2.0 * with, "{refused:?} {without} {with}");
}

#[test]
fn tcp_takes_several_times_as_long() {
    let (tcp, _) = run(&racked("tcp.toml", "", |_| ()));
    let (rcp, _) = run(&racked("RACK.toml", "", |_| ()));
    let (tcp, rcp) = (times(&tcp), times(&rcp));
    assert!(mean(&tcp) > 3.0 * mean(&rcp), "{} {}", mean(&tcp), mean(&rcp));
    // Short transfers are not slower.
    let (tcp, rcp) = (quantile(&tcp, 0.5), quantile(&rcp, 0.5));
    assert!(rcp < 1.5 * tcp, "{tcp} {rcp}");
}

fn steps(form: &str, change: (&str, &str)) -> Racked {
    steps_of("rcp", (PORT.capacity, PORT.drain), "rate = \"1Gbit/s\"\n", form, change)
}

/// A transfer alone, 31 more by other hosts from 20 ms on, and alone again, by a protocol whose program is that of the example; with a change of the
/// program's text.
pub(crate) fn steps_of(
    protocol: &str,
    (capacity, drain): (f64, f64),
    keys: &str,
    form: &str,
    (from, to): (&str, &str),
) -> Racked {
    let mut text = String::from(
        "[rack]\nname = \"steps\"\nseed = 1\n[device.tor]\nclass = \"switch\"\nexterns = [\"divide\", \"keyed-register\"]\n\
         [[app]]\nprogram = \"program.p4\"\norigin = \"tor\"\nentries = \"entries.stf\"\n",
    );
    let mut entries = format!(
        "add links standard_metadata.egress_spec:1 control_rate(slot:1, capacity:{capacity}, drain:{drain})\n"
    );
    for host in 0..33 {
        text += &format!(
            "[host.h{host}]\nmac = \"02:00:00:00:00:{host:02x}\"\nip = \"10.0.0.{}/24\"\n\
             [[link]]\nends = [\"h{host}\", \"tor:{}\"]\nrate = \"1Gbit/s\"\ndelay = \"40us\"\nqueue = 1024\n",
            host + 1,
            host + 1
        );
        entries +=
            &format!("add hosts hdr.ethernet.dst_addr:0x0200000000{host:02x} forward(port:{})\n", host + 1);
    }
    for (name, from, size, start) in [("alone", 1..2, 12_000_000, 0), ("more", 2..33, 400_000, 20)] {
        let from: Vec<String> = from.map(|host| format!("h{host}")).collect();
        text += &format!(
            "[[workload]]\nkind = \"{protocol}\"\nname = \"{name}\"\nfrom = {from:?}\nto = \"h0\"\n{keys}count = 1\n\
             size = {size}\nstart = \"{start}ms\"\nstagger = \"500us\"\n"
        );
    }
    let name: String =
        to.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let directory =
        std::env::temp_dir().join(format!("p4rack-{protocol}-{}-{form}{name}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("RACK.toml"), text).unwrap();
    std::fs::write(directory.join("entries.stf"), entries).unwrap();
    let examples = Path::new(EXAMPLE).join("..").join(protocol);
    let program = std::fs::read_to_string(examples.join(format!("{protocol}.p4"))).unwrap();
    assert!(program.contains(from));
    std::fs::write(directory.join("program.p4"), program.replace(from, to)).unwrap();
    std::fs::copy(examples.join("header.p4"), directory.join("header.p4")).unwrap();
    let racked = load(&directory.join("RACK.toml"), form, &|_| ());
    std::fs::remove_dir_all(&directory).unwrap();
    racked
}

/// Rates in Mbit/s, and what the steps come to.
#[derive(Debug)]
struct Steps {
    /// Before the step, between the steps, soon after the first one, and after the second.
    before: f64,
    shared: f64,
    soon: f64,
    after: f64,
    /// Milliseconds from the last end to a rate of 900 Mbit/s.
    down_ms: f64,
    /// Packets in the longest queue, and dropped there.
    queue: u32,
    refused: u64,
}

fn measured(racked: &Racked) -> Steps {
    let packets = delivered(racked);
    let (samples, report) = run(racked);
    let ms = |ns: u64| ns as f64 / 1e6;
    let asking = || packets.iter().filter(|seen| seen.asks().is_some());
    let rate = |from: f64, to: f64| {
        let rates = asking().filter(|seen| (from..to).contains(&ms(seen.ns)));
        mean(&rates.map(|seen| f64::from(seen.rate()) / 1000.0).collect::<Vec<_>>())
    };
    let last = samples[1..].iter().map(|sample| ms(sample.received.as_ns())).fold(0.0, f64::max);
    let settled = asking().find(|seen| ms(seen.ns) > last && seen.rate() > 900_000).unwrap();
    Steps {
        before: rate(5.0, 20.0),
        shared: rate(60.0, 110.0),
        // The last of the 31 begins at 35 ms.
        soon: rate(40.0, 48.0),
        after: rate(last + 5.0, f64::MAX),
        down_ms: ms(settled.ns) - last,
        queue: report.links[1].longest_queue,
        refused: report.links[1].refused,
    }
}

#[test]
fn a_step_settles() {
    for form in ["DUKKIPATI", "EXACT", ""] {
        let steps = measured(&steps(form, ("", "")));
        let is_near = |found: f64, wanted: f64, share: f64| (found / wanted - 1.0).abs() < share;
        assert!(is_near(steps.before, 950.0, 0.01) && is_near(steps.after, 950.0, 0.01), "{form}: {steps:?}");
        // 950 / 32 Mbit/s is 29.7; requests and headers take a sixth of it.
        assert!((22.0..29.7).contains(&steps.shared), "{form}: {steps:?}");
        assert!(is_near(steps.soon, steps.shared, 0.15) && steps.down_ms < 2.5, "{form}: {steps:?}");
        assert!(steps.queue < 128 && steps.refused == 0, "{form}: {steps:?}");
    }
}

/// With a count that is too large, the program is slower, and the rates are the same.
#[test]
fn a_step_settles_with_too_large_a_count_of_flows() {
    // Twice as many flows stand for gains of 1/4 and 1/8.
    for (flows, queue) in [("flows << 1", 256), ("flows << 2", 512)] {
        let to = format!("share.apply(by, {flows}, change)");
        let steps = measured(&steps("", ("share.apply(by, flows, change)", &to)));
        let is_near = |found: f64, wanted: f64, share: f64| (found / wanted - 1.0).abs() < share;
        assert!(
            is_near(steps.before, 950.0, 0.01) && is_near(steps.after, 950.0, 0.01),
            "{flows}: {steps:?}"
        );
        assert!((22.0..29.7).contains(&steps.shared) && steps.down_ms < 6.0, "{flows}: {steps:?}");
        assert!(steps.queue < queue && steps.refused == 0, "{flows}: {steps:?}");
    }
}

/// With one that is too small, gains are too large: flows that send less than a packet in an interval make rates swing, and the queue overflows. One
/// flow alone has the link all the same, and gets it back.
#[test]
fn too_small_a_count_of_flows_makes_rates_swing() {
    for flows in ["flows >> 1", "flows >> 2"] {
        let to = format!("flows = {flows};\n        share.apply(by, flows == 0 ? 1 : flows, change)");
        let steps = measured(&steps("", ("share.apply(by, flows, change)", &to)));
        assert!((steps.after / 950.0 - 1.0).abs() < 0.02, "{flows}: {steps:?}");
        assert!(steps.queue == 1024 && steps.refused > 0, "{flows}: {steps:?}");
    }
}
