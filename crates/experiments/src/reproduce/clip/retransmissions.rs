//! Section V-B: TCP retransmission detection on an overlay, beside what the senders know and beside tshark on the same captures.

use crate::bench::{Scratch, run as run_command};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::codes::emulate as codes;
use base_diag::{Diagnostic, SourceMap};
use base_pcap::{Frame, Writer};
use base_time::{Duration, Rng, Time};
use device::Options;
use p4_arch::Texts;
use rack_emulator::Table;
use std::collections::BTreeMap;
use std::process::Command;

pub const EXPERIMENT: Experiment = Experiment {
    name: "retransmissions",
    about: "Verdicts of examples/retransmissions on TCP segments inside VXLAN, beside those that the senders know, and tshark's flags on the same captures.",
    set: "8 flows of 400 segments of up to 1,200 bytes, one each 0.5 to 1 ms; half of the flows wrap around. Retransmissions come 20 to 25 ms late, overtaken segments 1.1 to 2 ms. A capture has one direction, without acknowledgements.",
    leaves_out: "the paper counts without kinds and gives no numbers. tshark asks how long ago the flow's highest segment came, and calls a late segment out of order if that is less than 3 ms; the program asks how old the gap is that the segment fills, and whether its bytes have passed.",
    run,
};

const P4: &str = include_str!("../../../../../examples/retransmissions/trd.p4");
const C: &str = include_str!("../../../../../examples/retransmissions/trd.c");

/// Fields that tshark sets.
const FLAGS: [&str; 4] = ["retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"];

/// Fates of segments in each thousand: lost after the tap, lost before it, overtaken.
const SHARES: [(&str, [u64; 3]); 5] = [
    ("nothing is lost or overtaken", [0, 0, 0]),
    ("20 % lost after the tap", [200, 0, 0]),
    ("20 % lost before the tap", [0, 200, 0]),
    ("20 % overtaken", [0, 0, 200]),
    ("10 % each", [100, 100, 100]),
];

/// A segment at the tap.
struct Arrival {
    at_us: u64,
    flow: u16,
    seq: u32,
    length: usize,
    is_syn: bool,
    /// The kind, if it begins before the highest byte: 0 seen, 1 before the tap, 2 overtaken.
    kind: usize,
}

impl Arrival {
    /// The segment inside VXLAN.
    fn frame(&self) -> Vec<u8> {
        let ipv4 = |protocol: u8, length: usize, source: [u8; 4]| {
            let length = (length as u16).to_be_bytes();
            [&[0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, protocol, 0, 0][..], &source, &[10, 9, 0, 2]]
                .concat()
        };
        let flags = if self.is_syn { 2 } else { 16 };
        let ports = [(1000 + self.flow).to_be_bytes(), 443u16.to_be_bytes()].concat();
        let rest = [0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0];
        let tcp = [&ports[..], &self.seq.to_be_bytes(), &rest].concat();
        let ethernet = [&[2; 12][..], &[8, 0]].concat();
        let inner = ipv4(6, 40 + self.length, [10, 9, 0, 1]);
        let inner = [&ethernet[..], &inner, &tcp, &vec![7; self.length]].concat();
        let length = ((16 + inner.len()) as u16).to_be_bytes();
        let udp = [&[0x30, 0, 0x12, 0xb5][..], &length, &[0, 0]].concat();
        let outer = ipv4(17, 36 + inner.len(), [192, 0, 2, 1]);
        [&ethernet[..], &outer, &udp, &[8, 0, 0, 0, 0, 0, 1, 0], &inner].concat()
    }
}

/// The segments of all flows as they pass the tap.
fn arrivals(seed: u64, [after, before, overtaken]: [u64; 3]) -> Vec<Arrival> {
    let mut rng = Rng::new(seed).split("segments");
    let mut all = vec![];
    for flow in 0..8 {
        let wraps = 0u32.wrapping_sub(rng.below(100_000) as u32);
        let mut seq = if flow % 2 == 0 { wraps } else { rng.below(1 << 31) as u32 };
        let mut at_us = rng.below(1000);
        all.push(Arrival { at_us, flow, seq, length: 0, is_syn: true, kind: 0 });
        seq = seq.wrapping_add(1);
        for _ in 0..400 {
            at_us += 500 + rng.below(500);
            let length = 2 + rng.below(1198) as usize;
            let mut came = |at_us, kind| all.push(Arrival { at_us, flow, seq, length, is_syn: false, kind });
            let again = at_us + 20_000 + rng.below(5000);
            match rng.below(1000) {
                draw if draw < after => {
                    came(at_us, 2);
                    came(again, 0);
                }
                draw if draw < after + before => came(again, 1),
                draw if draw < after + before + overtaken => came(at_us + 1100 + rng.below(900), 2),
                _ => came(at_us, 2),
            }
            seq = seq.wrapping_add(length as u32);
        }
    }
    all.sort_by_key(|arrival| arrival.at_us);
    all
}

/// Segments of each kind that begin before the highest byte of their flow.
fn known(arrivals: &[Arrival]) -> [u64; 3] {
    let mut highest: BTreeMap<u16, u32> = BTreeMap::new();
    let mut counts = [0; 3];
    for Arrival { flow, seq, length, is_syn, kind, .. } in arrivals {
        let end = seq.wrapping_add(*length as u32 + u32::from(*is_syn));
        let next = highest.entry(*flow).or_insert(*seq);
        if (seq.wrapping_sub(*next) as i32) < 0 {
            counts[*kind] += 1;
        }
        if (end.wrapping_sub(*next) as i32) > 0 {
            *next = end;
        }
    }
    counts
}

/// The program's counts: seen, before the tap, out of order, unknown.
fn judged(scratch: &Scratch, map: &mut SourceMap, arrivals: &[Arrival]) -> Result<[u64; 4], Vec<Diagnostic>> {
    let texts = [("trd.p4", P4)];
    let until = compiler::Until::Elaborated;
    let compiled = compiler::compile("trd.p4", &Texts(&texts), &p4_syntax::Options::default(), until, map);
    let program = compiled.program.ok_or(compiled.diagnostics)?;
    let source = scratch.write("trd.c", C.as_bytes()).map_err(wrong)?;
    let options = p4rack::handlers::Options { files: vec![source], ..p4rack::handlers::Options::default() };
    let registry = p4rack::handlers::offers(&program, "trd.p4", &options, map)?.registry;
    let options = Options { registry, ..Options::default() };
    let mut device = target_native::Engine::compile(&program, options)?.into_switch();
    for arrival in arrivals {
        device.process(1, &arrival.frame(), Time::ZERO + Duration::from_us(arrival.at_us));
    }
    let cell = |at| device.counter_read("TrdIngress.verdicts", at).map(|count| count.packets);
    let counts = [1, 3, 2, 4].map(cell);
    counts
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .ok()
        .and_then(|counts| counts.try_into().ok())
        .ok_or_else(|| wrong("the program has no counter `verdicts`".to_string()))
}

/// Segments with each of tshark's flags; `None` without tshark.
fn flagged(scratch: &Scratch, arrivals: &[Arrival]) -> Result<Option<[u64; 4]>, Vec<Diagnostic>> {
    if run_command(Command::new("tshark").arg("--version")).is_err() {
        return Ok(None);
    }
    let mut writer = Writer::new(vec![]).map_err(|error| wrong(error.to_string()))?;
    for arrival in arrivals {
        let bytes = arrival.frame();
        // A segment in a capture has a time after 1970.
        let nanos = 1_000_000_000 + arrival.at_us * 1000;
        writer.frame(Frame::whole(nanos, &bytes)).map_err(|error| wrong(error.to_string()))?;
    }
    let capture = scratch.write("segments.pcap", &writer.into_inner()).map_err(wrong)?;
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-n", "-T", "fields", "-E", "separator=,"]);
    for flag in FLAGS {
        command.arg("-e").arg(format!("tcp.analysis.{flag}"));
    }
    let output = command.output().map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        return Err(wrong(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let mut counts = [0; 4];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        for (count, field) in counts.iter_mut().zip(line.split(',')) {
            *count += u64::from(!field.is_empty());
        }
    }
    Ok(Some(counts))
}

fn wrong(why: String) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::EMULATION, why)]
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let scratch = Scratch::new().map_err(wrong)?;
    let mut rows = vec![];
    for (seed, (what, shares)) in (1..).zip(SHARES) {
        let all = arrivals(seed, shares);
        let (known, judged, flagged) =
            (known(&all), judged(&scratch, lab.map, &all)?, flagged(&scratch, &all)?);
        let [after, before, overtaken] = known;
        let senders = format!("{after}, {before}, {overtaken}");
        let own = judged.map(|count| count.to_string());
        let none = || "not installed".to_string();
        let flags = flagged.map_or_else(|| [(); 4].map(|()| none()), |counts| counts.map(|n| n.to_string()));
        let cells = [what.to_string(), senders].into_iter().chain(own).chain(flags);
        rows.push(<[String; 10]>::try_from(cells.collect::<Vec<_>>()).unwrap_or_default());
    }
    let titles = [
        "<segments",
        "senders: after, before, overtaken",
        "seen",
        "before the tap",
        "out of order",
        "unknown",
        "tshark: retransmission",
        "fast",
        "spurious",
        "tshark: out of order",
    ];
    Ok(Table::new(&titles, rows).into())
}
