//! Table 4: cost of the runtime for one region on a helper, without spares and with them, and without a header.
//!
//! Bits are counted in the printed programs, as `p4rack split --overhead` does. Packets per second are of machine code on one core of this
//! machine, each pass by itself: a packet that becomes a hand-over, the helper, the hand-over that comes back.

use super::failing::FILE;
use super::{Experiment, Lab, Shown};
use crate::bench::thread;
use base_bits::Bits;
use base_diag::Diagnostic;
use base_diag::codes::emulate as codes;
use base_time::Time;
use device::Options;
use ir_footprint::overhead::of_part;
use ir_split::Part;
use p4rack::Racked;
use rack_emulator::Table;
use rack_model::{Policy, Rack, Regions, Runtime};
use std::time::Duration;
use target_native::{Engine, Fate, Packet};

pub const EXPERIMENT: Experiment = Experiment {
    name: "table4",
    about: "Cost of the runtime for one region on a helper: without spares, with one, with two; without a header.",
    set: "examples/spares/wall.p4, and examples/headerless/wall.p4 without a header. The paper's formulas with N = 1, S_N = 1 more than targets, N_F = 1 at the switch, P_F = 1 at the helper; without a header \
          I = 1 and no other. One core, frames with 1,000 bytes of payload, one pass at a time: send and receive of the switch, and the helper's.",
    leaves_out: "The paper gives no packets per second.",
    run,
};

/// Spares, and true if the region has a helper at all.
const ROWS: [(&str, Option<usize>); 4] = [
    ("whole program", None),
    ("direct", Some(0)),
    ("failover, 1 spare", Some(1)),
    ("failover, 2 spares", Some(2)),
];

/// The example without a header.
const HEADERLESS: &str = "../headerless/RACK.toml";

/// Each runtime without a header, and what the paper has for the switch and for the helper: tables, bits of entries and of registers.
const WITHOUT: [(&str, Runtime, [[u64; 3]; 2]); 2] = [
    ("headerless", Runtime::Headerless, [[5, 32, 4], [1, 22, 4]]),
    ("headerless-ipv4", Runtime::HeaderlessIpv4, [[1, 13, 11], [1, 13, 11]]),
];

/// Different frames, and processor time of a measurement.
const FRAMES: usize = 4096;
const TIME: Duration = Duration::from_millis(300);

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (name, spares) in ROWS {
        (lab.show_progress)(name);
        let racked = lab.changed(FILE, &|rack| place(rack, spares))?;
        let speeds = speeds(&racked)?;
        let rate = |at: usize| speeds.get(at).map_or("-".to_string(), |rate| format!("{rate:.2}"));
        let Some(spares) = spares else {
            let [speed, none] = [rate(0), "-".to_string()];
            let none = || none.clone();
            rows.push([
                name.to_string(),
                "switch".to_string(),
                none(),
                none(),
                none(),
                none(),
                speed,
                none(),
            ]);
            continue;
        };
        // Formulas of the paper's Table 4.
        let states = 2 + spares as u64;
        let feedback = |next: u64, previous: u64| states * 17 + 72 + 72 * next + 80 * previous;
        for (device, place, entries, speed, back) in [
            ("switch", 0, feedback(1, 0), rate(0), rate(2)),
            ("helper", 1, feedback(0, 1), rate(1), "-".to_string()),
        ] {
            let Some(placed) = racked.part(0, place) else { continue };
            let costs = of_part(device, placed.part);
            rows.push([
                name.to_string(),
                device.to_string(),
                format!("{} / 288", costs.header_bits),
                format!("{} / 6", costs.tables),
                format!("{} / {entries}", costs.entry_bits),
                format!("{} / 309", costs.register_bits),
                speed,
                back,
            ]);
        }
    }
    for (name, runtime, paper) in WITHOUT {
        (lab.show_progress)(name);
        let racked =
            lab.changed(HEADERLESS, &|rack| rack.apps.iter_mut().for_each(|app| app.runtime = runtime))?;
        let speeds = speeds(&racked)?;
        let rate = |at: usize| speeds.get(at).map_or("-".to_string(), |rate| format!("{rate:.2}"));
        for (device, place, speed, back) in
            [("switch", 0, rate(0), rate(2)), ("helper", 1, rate(1), "-".to_string())]
        {
            let Some(placed) = racked.part(0, place) else { continue };
            let costs = of_part(device, placed.part);
            let [tables, entries, registers] = paper[place];
            rows.push([
                name.to_string(),
                device.to_string(),
                format!("{} / 0", costs.header_bits),
                format!("{} / {tables}", costs.tables),
                format!("{} / {entries}", costs.entry_bits),
                format!("{} / {registers}", costs.register_bits),
                speed,
                back,
            ]);
        }
    }
    let titles = [
        "<runtime",
        "<device",
        "header bits / paper",
        "tables / paper",
        "entry bits / paper",
        "register bits / paper",
        "M packets/s",
        "coming back",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn place(rack: &mut Rack, spares: Option<usize>) {
    for app in &mut rack.apps {
        let Regions::ByHand(map) = &mut app.map else { continue };
        match spares {
            None => map.clear(),
            Some(count) => map.iter_mut().for_each(|region| {
                region.spares.truncate(count);
                region.policy = if count == 0 { Policy::Direct } else { Policy::Failover };
            }),
        }
    }
}

/// Millions of packets a second: sent by the switch, through the helper, back through the switch; of the whole program, through it.
fn speeds(racked: &Racked) -> Result<Vec<f64>, Vec<Diagnostic>> {
    let fresh = vec![(1, frame()); FRAMES];
    let Some(mut switch) = engine(racked, 0)? else { return Ok(vec![]) };
    let sent = outputs(&mut switch, &fresh);
    let mut speeds = vec![rate(&mut switch, &fresh, &mut |_| Ok(()))?];
    let Some(mut helper) = engine(racked, 1)? else { return Ok(speeds) };
    let came: Vec<_> = sent.into_iter().map(|frame| (1, frame)).collect();
    let back: Vec<_> = outputs(&mut helper, &came).into_iter().map(|frame| (3, frame)).collect();
    if back.len() != FRAMES {
        let title = format!("{} of {FRAMES} frames pass the helper", back.len());
        return Err(vec![Diagnostic::error(codes::EMULATION, title)]);
    }
    // The same numbers again are new to a receiver without memory.
    let forget = racked.part(0, 1).and_then(|placed| arrivals(placed.part));
    let mut again = |helper: &mut Engine| match &forget {
        Some(register) => helper.switch().register_write(register, 0, &Bits::new(32, 0)),
        None => Ok(()),
    };
    speeds.push(rate(&mut helper, &came, &mut again)?);
    speeds.push(rate(&mut switch, &back, &mut |_| Ok(()))?);
    Ok(speeds)
}

/// The register with the generation of a receiver, if the part has one.
fn arrivals(part: &Part) -> Option<String> {
    let mut names = part.program.instances.iter().map(|instance| instance.control_plane_name.to_string());
    names.find(|name| name.ends_with("_arrive.generations"))
}

fn engine(racked: &Racked, device: usize) -> Result<Option<Engine>, Vec<Diagnostic>> {
    let Some(placed) = racked.part(0, device) else { return Ok(None) };
    let mut engine = Engine::compile(&placed.part.program, Options::default())?;
    let wrong = |error: dataplane_api::EntryError| vec![Diagnostic::error(codes::EMULATION, error.message)];
    ir_prove::link(engine.switch(), &placed.part.linkage).map_err(wrong)?;
    for write in racked.fill(0, device) {
        engine.switch().write(write, Time::ZERO).map_err(wrong)?;
    }
    Ok(Some(engine))
}

/// A datagram of 1,000 bytes from one host to the other.
fn frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 8, 0];
    frame.extend([0x45, 0, 4, 4, 0, 0, 0, 0, 64, 17, 0x5f, 0xe8, 10, 0, 1, 1, 10, 0, 2, 1]);
    frame.extend([0x1b, 0x58, 0x1b, 0x58, 3, 0xf0, 0, 0]);
    frame.resize(14 + 20 + 8 + 1000, 7);
    frame
}

/// The frames that come out.
fn outputs(engine: &mut Engine, frames: &[(u32, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut all = vec![];
    for (port, frame) in frames {
        let mut packet = [Packet::default()];
        packet[0].receive(*port, frame);
        let others = engine.process(&mut packet, Time::ZERO);
        match packet[0].fate() {
            Fate::Sent(_) => all.push(packet[0].frame().to_vec()),
            // Beside it there may be a report, which is short.
            Fate::Elsewhere => all.extend(others.into_iter().map(|o| o.frame).filter(|f| f.len() > 100)),
            Fate::Dropped => {}
        }
    }
    all
}

/// Millions of packets a second of processor time; `again` is called before each run of all frames.
fn rate(
    engine: &mut Engine,
    frames: &[(u32, Vec<u8>)],
    again: &mut dyn FnMut(&mut Engine) -> Result<(), dataplane_api::EntryError>,
) -> Result<f64, Vec<Diagnostic>> {
    let mut packets = vec![Packet::default(); 64];
    let (mut count, mut spent) = (0_u64, Duration::ZERO);
    while spent < TIME {
        again(engine).map_err(|error| vec![Diagnostic::error(codes::EMULATION, error.message)])?;
        let begun = thread();
        for batch in frames.chunks(64) {
            for (packet, (port, frame)) in packets.iter_mut().zip(batch) {
                packet.receive(*port, frame);
            }
            engine.process(&mut packets[..batch.len()], Time::ZERO);
            count += batch.len() as u64;
        }
        spent += thread() - begun;
    }
    Ok(count as f64 / spent.as_secs_f64() / 1e6)
}
