//! Figure 21: packets lost when the cable to a device is congested, by the number of missing packets that is a failure.

use super::failing::{CABLE, no_controller, outcome, run, share_of_cable, stream};
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::Rate;
use host_programs::udp::UDP;
use rack_emulator::Table;
use rack_model::Rack;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig21",
    about: "Packets lost over a congested cable, by the threshold T: so many missing packets are a failure of the device.",
    set: "the cable to the device has 1 Gbit/s and a queue of 64 frames, those to the spares 10 Gbit/s; a stream of packets with 1,000 bytes of payload needs so much of it, for 110 ms; no controller. \
          Other thresholds are the defaults; without fail-over, none is ever reached.",
    leaves_out: "other traffic on the cable: here the stream alone congests it, in the paper a stream beside it.",
    run: table,
};

/// The threshold; without one, nothing is a failure.
const THRESHOLDS: [Option<u16>; 4] = [None, Some(8), Some(32), Some(128)];

/// In thousandths of the cable.
const LOADS: [u64; 5] = [900, 1050, 1200, 1500, 2000];

fn table(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for load in LOADS {
        for threshold in THRESHOLDS {
            let (lost, _, edge) = run(lab, &|rack| congest(rack, load, threshold))?;
            let [used, _] = outcome(&edge);
            let (name, times, paper) = match threshold {
                None => ("-".to_string(), "-".to_string(), "unbounded"),
                Some(t) => (t.to_string(), format!("{:.1}", lost as f64 / f64::from(t)), "< 10"),
            };
            rows.push([format!("{}%", load / 10), name, lost.to_string(), times, used, paper.to_string()]);
        }
    }
    Ok(Table::new(&["load", "T", "lost", "lost / T", "<in use", "<paper"], rows).into())
}

fn congest(rack: &mut Rack, load: u64, threshold: Option<u16>) {
    if let Some(cable) = rack.links.get_mut(CABLE) {
        cable.rate = Rate::from_bits_per_s(1_000_000_000);
    }
    stream(rack, &UDP, share_of_cable(rack, load));
    rack.faults = vec![no_controller()];
    for app in &mut rack.apps {
        let limits = &mut app.failover.thresholds;
        match threshold {
            Some(threshold) => limits.most_gaps = threshold,
            None => (limits.most_gaps, limits.window, limits.patience) = (u16::MAX, 1 << 16, 1_000_000),
        }
    }
}
