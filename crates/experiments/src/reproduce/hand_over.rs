//! Times of hand-overs in the emulated rack: from the moment a switch queues a packet for its helper until it is there.
//!
//! One stream crosses the cable, there and back; hosts' cables are ten times as fast. Packets are of one length, so that whoever waits, waits in front of the
//! cable to the helper: what a packet takes more than the quickest one is that wait. The quickest one's hand-over is its length at the cable's rate and the cable's delay.

use super::Lab;
use base_diag::Diagnostic;
use base_time::{Duration, Rate};
use host_programs::udp::{ON_OFF, POISSON};
use host_programs::{Load, Value};
use rack_emulator::{Emulator, RunReport, percentile, time_words};
use rack_model::{NodeId, Rack, Regions, Workload};

/// The rack of these experiments.
pub const FILE: &str = "hand-over.toml";
/// Bytes of payload.
pub const PAYLOAD: u64 = 500;
/// Packets of a run.
const PACKETS: u64 = 20_000;
/// Number of sources that send bursts.
const SOURCES: u64 = 4;
/// Approximate bytes of a handed-over packet on the cable beside the payload: Ethernet, IPv4, UDP, overhead, the
/// hand-over header.
const BESIDES: u64 = 14 + 20 + 8 + 24 + 21;

/// Everything on one switch.
pub fn whole(rack: &mut Rack) {
    rack.apps.iter_mut().for_each(|app| app.map = Regions::ByHand(vec![]));
}

/// Streams that use `percent` of the cable between the switches: one, with gaps by chance, or if `burst` is more than one, some that send so many
/// packets at the cable's rate, on average, and then nothing.
pub fn streamed(rack: &mut Rack, percent: u64, burst: u64) {
    let is_cable =
        |link: &rack_model::Link| link.ends.iter().all(|end| matches!(end.node, NodeId::Device(_)));
    let cable = rack.links.iter().find(|link| is_cable(link)).map_or(0, |link| link.rate.bits_per_s());
    let full = cable * PAYLOAD / (PAYLOAD + BESIDES);
    let load = |kind, count, bits_per_s| {
        let rate = Rate::from_bits_per_s(bits_per_s);
        Load::new(kind, count, PAYLOAD as u32).with("rate", Value::Rate(rate))
    };
    let (streams, load) = match burst {
        0 | 1 => (1, load(&POISSON, PACKETS, full * percent / 100)),
        _ => {
            let on = Rate::from_bits_per_s(full).time_for(PAYLOAD * burst);
            let off = on.scaled(100 * SOURCES - percent, percent.max(1));
            let load = load(&ON_OFF, PACKETS / SOURCES, full);
            (SOURCES, load.with("on", Value::Time(on)).with("off", Value::Time(off)))
        }
    };
    let Some(ping) = rack.workloads.first().cloned() else { return };
    let stream = |number: u64| Workload {
        name: format!("stream-{number}").into(),
        load: load.clone(),
        ..ping.clone()
    };
    rack.workloads = (1..=streams).map(stream).collect();
    for link in rack.links.iter_mut().filter(|link| !is_cable(link)) {
        link.rate = Rate::from_bits_per_s(link.rate.bits_per_s() * 10);
    }
}

/// A row: how many hand-overs of 100 take less than a microsecond, and their median, 99 of 100, and most.
pub fn row(lab: &mut Lab<'_>, percent: u64, burst: u64) -> Result<[String; 4], Vec<Diagnostic>> {
    let racked = lab.changed(FILE, &|rack| streamed(rack, percent, burst))?;
    let (emulator, report) = lab.run(&racked, None)?;
    let times = times(&emulator, &report);
    let all: u64 = times.iter().map(|(_, count)| count).sum();
    let quick: u64 =
        times.iter().filter(|(time, _)| *time < Duration::from_us(1)).map(|(_, count)| count).sum();
    let words = |percent: u64| {
        percentile(times.iter().copied(), all, percent * 10)
            .map_or("-".to_string(), |time| time_words(time.as_ps()))
    };
    Ok([format!("{}%", quick * 100 / all.max(1)), words(50), words(99), words(100)])
}

/// Times of hand-overs, and the number with each.
fn times(emulator: &Emulator, report: &RunReport) -> Vec<(Duration, u64)> {
    let racks = emulator.rack();
    let cable = report.links.iter().find(|link| link.from == "s1:3");
    let model = racks.links.iter().find(|link| racks.end_name(link.ends[0]) == "s1:3");
    let (Some(cable), Some(model)) = (cable, model) else { return vec![] };
    let bytes = cable.bytes.checked_div(cable.frames).unwrap_or(0) + u64::from(model.overhead);
    let quickest = model.rate.time_for(bytes) + model.delay;
    let counts = emulator.latencies(0);
    let Some((least, _)) = counts.first().copied() else { return vec![] };
    let least =
        report.workloads.first().and_then(|w| w.latency).map_or(least, |l| Duration::from_ps(l.min_ps));
    let over = |time: Duration| Duration::from_ps(time.as_ps().saturating_sub(least.as_ps()));
    counts.into_iter().map(|(time, count)| (over(time) + quickest, count)).collect()
}
