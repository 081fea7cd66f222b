//! Fig. 13: difference of the copies of shared counters, right after each merge. The hub and the agents are those of racks (`flow_control::merge`).

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use flow_control::merge::{Agent, Change, Hub, HubMessage, Kind, ToDevice, ToHub};
use rack_emulator::Table;
use state_modes::Merge as Operator;
use std::collections::BTreeMap;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig13",
    about: "Difference between switch and card of 1,000 shared counters after each merge: about none where both count as much (50 %), more at 40 and 30 %; after the traffic none.",
    set: "8.22 million packets per second (98.6 Gbit/s of 1,500 bytes) over 1,000 counters for 32 s, a merge each second, 10 ms from the reading of the copies to the merge (put in).",
    leaves_out: "the time between reading and merging of the paper's devices, to which the differences are in proportion. The figure's numbers are not in the text.",
    run,
};

/// Shared counters.
const CELLS: u64 = 1000;
/// Packets per second.
const RATE: u64 = 8_220_000;
/// Merges, one each second.
const EPOCHS: u64 = 32;
/// Milliseconds from the reading of the copies to the merge.
const DELAY: u64 = 10;
const KIND: Kind = Kind { operator: Operator::Add, width: 64 };

/// A device's copies.
struct Device {
    agent: Agent<u64>,
    cells: BTreeMap<u64, u128>,
    /// Packets per second of a cell, times 100, and what is left of a packet.
    rate: u64,
    left: u64,
}

impl Device {
    fn count(&mut self, ms: u64) {
        let all = self.rate * ms + self.left;
        self.left = all % 100_000;
        self.cells.values_mut().for_each(|cell| *cell += u128::from(all / 100_000));
    }
}

/// Outcome of a run.
pub struct Outcome {
    /// Median difference of switch and card after each merge.
    pub differences: Vec<u128>,
    /// Value of the copies and of all packets after the end.
    pub ends: [u128; 3],
    /// Bits per second between the hub and its devices.
    pub bits_per_s: u64,
}

/// Runs with so many percent of the packets at the card. With `active` below [`CELLS`], only so many counters count.
pub fn measured(at_card: u64, active: u64) -> Outcome {
    let all = RATE / active;
    let device = |incarnation, percent: u64| Device {
        agent: Agent::new(KIND, incarnation),
        cells: (0..active).map(|cell| (cell, 0)).collect(),
        rate: all * percent,
        left: 0,
    };
    let mut devices = [device(1, 100 - at_card), device(2, at_card)];
    let mut hub = Hub::new(KIND, 2, BTreeMap::new());
    let (mut differences, mut bytes) = (vec![], 0u64);
    // One more round after the traffic.
    for epoch in 0..=EPOCHS {
        let runs = epoch < EPOCHS;
        for (at, device) in devices.iter_mut().enumerate() {
            if runs {
                device.count(1000 - DELAY);
            }
            let push = device.agent.push(device.cells.clone());
            let sent = ToHub { hub: 1, round: epoch, objects: vec![(1, push)] };
            bytes += sent.bytes().len() as u64;
            hub.push(at, &sent.objects[0].1);
        }
        let merges = hub.merges();
        for device in devices.iter_mut().filter(|_| runs) {
            device.count(DELAY);
        }
        for (to, merge) in merges {
            let device = &mut devices[to];
            for (cell, change) in device.agent.merge(&merge) {
                let shown = device.cells.entry(cell).or_default();
                match change {
                    Change::Add(more) => *shown = shown.wrapping_add(more) & u128::from(u64::MAX),
                    Change::Combine(value) => *shown = KIND.combine(*shown, value),
                    Change::Set(value) => *shown = value,
                }
            }
            let objects = vec![(1, KIND.operator, HubMessage::Merge(merge))];
            bytes += ToDevice { hub: 1, round: epoch, objects }.bytes().len() as u64;
        }
        let [switch, card] = &devices;
        let mut all: Vec<u128> =
            switch.cells.iter().map(|(cell, one)| one.abs_diff(card.cells[cell])).collect();
        all.sort_unstable();
        differences.push(all[all.len() / 2]);
    }
    let counted = |device: &Device| device.agent.counted(&0, device.cells[&0]);
    let total = counted(&devices[0]) + counted(&devices[1]);
    Outcome {
        differences,
        ends: [devices[0].cells[&0], devices[1].cells[&0], total],
        bits_per_s: 8 * bytes / EPOCHS,
    }
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = [(50, "about none"), (40, "more"), (30, "most")].map(|(part, paper)| {
        let found = measured(part, CELLS);
        let during = &found.differences[1..EPOCHS as usize];
        let [least, most] = [during.iter().min(), during.iter().max()].map(|one| one.copied().unwrap_or(0));
        let last = found.differences[EPOCHS as usize];
        let rate = (RATE / CELLS) as f64;
        let model = (100 - 2 * part) as f64 / 100.0 * rate * DELAY as f64 / 1000.0;
        [
            format!("{part} %"),
            format!("{least} to {most}"),
            format!("{model:.0}"),
            last.to_string(),
            if found.ends.iter().all(|end| *end == found.ends[0]) { "yes" } else { "no" }.to_string(),
            paper.to_string(),
        ]
    });
    let titles = [
        "at the card",
        "difference, packets",
        "(1 - 2f) rate delay",
        "after the traffic",
        "<copies are the total",
        "<paper",
    ];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_differ_by_what_comes_during_a_merge_and_are_equal_after_the_traffic() {
        for (part, model) in [(50, 0), (40, 16), (30, 33)] {
            let found = measured(part, CELLS);
            let during = &found.differences[1..EPOCHS as usize];
            assert!(during.iter().all(|one| one.abs_diff(model) <= 2), "{part}: {during:?}");
            let [switch, card, all] = found.ends;
            assert!(switch == card && card == all, "{:?}", found.ends);
            assert!(all.abs_diff(u128::from(RATE / CELLS * EPOCHS)) <= 64, "{all}");
        }
    }
}
