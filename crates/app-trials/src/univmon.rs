//! UnivMon: its controller, and the exact counts that its sketch and its estimates are compared with.

use crate::frames::Flow;
use crate::network::{Network, bits, entry, route};
use crate::traffic::Traffic;
use control_writes::Write;
use std::collections::BTreeMap;

/// Levels of the sketch.
pub const LEVELS: usize = 16;
/// Rows of a level.
pub const ROWS: usize = 5;
/// Columns of a row.
pub const COLUMNS: usize = 2048;
/// Flows that a level keeps.
pub const KEPT: usize = 1000;

/// CRC-32 as in IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !reflected(bytes, !0, 0xedb8_8320)
}

/// CRC-16 (ARC).
fn crc16(bytes: &[u8]) -> u16 {
    reflected(bytes, 0, 0xa001) as u16
}

fn reflected(bytes: &[u8], first: u32, polynomial: u32) -> u32 {
    bytes.iter().fold(first, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { polynomial } else { 0 })
    })
}

/// The place of a flow in the sketch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The highest level that samples it.
    pub level: usize,
    /// For each row its column, and whether it counts up.
    pub cells: [(usize, bool); ROWS],
}

/// The place of a flow, as the program computes it.
pub fn place(flow: &Flow) -> Place {
    let (src, dst) = (&flow.src.0.to_be_bytes()[..], &flow.dst.0.to_be_bytes()[..]);
    let ports = &[flow.src.1.to_be_bytes(), flow.dst.1.to_be_bytes()].concat()[..];
    let protocol = &[flow.protocol][..];
    let sample = crc16(&[ports, protocol, dst, src].concat());
    let orders = [
        [src, dst, protocol, ports],
        [dst, src, ports, protocol],
        [ports, src, dst, protocol],
        [src, ports, protocol, dst],
        [dst, protocol, ports, src],
    ];
    let cells = orders.map(|order| {
        let hashed = crc32(&order.concat());
        (hashed as usize % COLUMNS, hashed >> 31 == 1)
    });
    Place { level: (sample.leading_ones() as usize).min(LEVELS - 1), cells }
}

/// The counts of all parts: by level, row and column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sketch {
    cells: Vec<i64>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch { cells: vec![0; LEVELS * ROWS * COLUMNS] }
    }
}

impl Sketch {
    fn at(level: usize, row: usize, column: usize) -> usize {
        (level * ROWS + row) * COLUMNS + column
    }

    /// Counts packets of a flow, as the switch does.
    pub fn add(&mut self, flow: &Flow, packets: i64) {
        let place = place(flow);
        for (row, (column, up)) in place.cells.into_iter().enumerate() {
            self.cells[Sketch::at(place.level, row, column)] += if up { packets } else { -packets };
        }
    }

    /// The sketch of the packets of this one that are not in `earlier`.
    pub fn since(&self, earlier: &Sketch) -> Sketch {
        Sketch { cells: self.cells.iter().zip(&earlier.cells).map(|(now, before)| now - before).collect() }
    }

    /// Level j samples all flows of parts j and above.
    fn levels(&self) -> Sketch {
        let mut sums = self.clone();
        let part = ROWS * COLUMNS;
        for at in (0..(LEVELS - 1) * part).rev() {
            sums.cells[at] += sums.cells[at + part];
        }
        sums
    }

    /// A flow's packets by a level of [`levels`](Self::levels): the median of the rows.
    fn estimate(&self, level: usize, place: &Place) -> i64 {
        let mut rows = [0; ROWS];
        for (row, (column, up)) in place.cells.into_iter().enumerate() {
            let count = self.cells[Sketch::at(level, row, column)];
            rows[row] = if up { count } else { -count };
        }
        rows.sort_unstable();
        rows[ROWS / 2]
    }
}

/// The monitor's controller.
pub struct Monitor {
    thresholds: [u32; LEVELS],
    /// Flows that were reported, by level.
    reported: Vec<BTreeMap<Flow, Place>>,
    /// Reports of flows.
    pub reports: u64,
}

/// Estimates of a window.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimates {
    /// The flows with most packets, with their estimated number.
    pub heavy: Vec<(Flow, i64)>,
    /// Number of flows.
    pub flows: f64,
    /// Entropy of the flows' shares, in bits.
    pub entropy: f64,
    /// The sketch.
    pub sketch: Sketch,
}

impl Monitor {
    /// A controller; the thresholds of a level begin at one packet, that of level 0 at `least`.
    pub fn start(on: &mut impl Network, least: u32) -> Result<Monitor, String> {
        let mut monitor =
            Monitor { thresholds: [1; LEVELS], reported: vec![BTreeMap::new(); LEVELS], reports: 0 };
        for level in 0..LEVELS {
            // A level has half the flows of the one before: half the threshold gives as many reports.
            monitor.thresholds[level] = (least >> level).max(1);
            monitor.set(on, level)?;
        }
        Ok(monitor)
    }

    fn set(&self, on: &mut impl Network, level: usize) -> Result<(), String> {
        let args = vec![bits(32, self.thresholds[level])];
        on.write(entry(
            "MonIngress.thresholds",
            &[bits(8, level as u8)],
            Some(("MonIngress.threshold_is", args)),
        ))
    }

    /// Takes reports. The threshold of a level with too many doubles.
    pub fn take(&mut self, on: &mut impl Network) -> Result<(), String> {
        for (_, fields) in on.reports() {
            let [src, dst, protocol, src_port, dst_port, level] = fields[..] else {
                return Err(format!("a report of {} fields", fields.len()));
            };
            let (src, dst) = ((src as u32, src_port as u16), (dst as u32, dst_port as u16));
            let flow = Flow { protocol: protocol as u8, src, dst };
            let (level, place) = (level as usize, place(&flow));
            if place.level != level {
                return Err(format!("{flow:x?} has level {}, and not {level}", place.level));
            }
            self.reports += 1;
            self.reported[level].insert(flow, place);
            if self.reported[level].len() > 2 * KEPT && level < LEVELS - 1 {
                self.thresholds[level] = self.thresholds[level].saturating_mul(2);
                self.set(on, level)?;
                self.reported[level].retain(|flow, _| flow.src.1 % 2 == 0);
            }
        }
        Ok(())
    }

    /// Ends a window: reads the sketch, and begins anew.
    pub fn window(&mut self, on: &mut impl Network) -> Result<Estimates, String> {
        let mut sketch = Sketch::default();
        for (row, level) in (0..ROWS).flat_map(|row| (0..LEVELS).map(move |level| (row, level))) {
            let name = format!("MonIngress.row_{row}.cells");
            for column in 0..COLUMNS {
                let cell = on.cell(&name, (level * COLUMNS + column) as u64);
                sketch.cells[Sketch::at(level, row, column)] = cell as u32 as i32 as i64;
            }
        }
        let resets = (0..ROWS).map(|row| format!("MonIngress.row_{row}.cells"));
        let known = ["MonIngress.known", "MonIngress.known_too"].map(str::to_string);
        for register in resets.chain(known) {
            on.write(Write::RegisterReset { register: register.as_str().into() })?;
        }
        let reported = std::mem::replace(&mut self.reported, vec![BTreeMap::new(); LEVELS]);
        Ok(estimates(sketch, &reported))
    }
}

/// Estimates by a sketch and the flows that were reported at each level.
fn estimates(sketch: Sketch, reported: &[BTreeMap<Flow, Place>]) -> Estimates {
    let levels = sketch.levels();
    let all: f64 = {
        // Every packet counts once in each row.
        let of = |level: usize| kept(&levels, level, reported);
        recursive(&of, &|packets| packets)
    };
    let of = |level: usize| kept(&levels, level, reported);
    let flows = recursive(&of, &|_| 1.0);
    let sum = recursive(&of, &|packets| packets * packets.log2());
    let entropy = if all > 0.0 { all.log2() - sum / all } else { 0.0 };
    let heavy = of(0).into_iter().map(|(flow, _, packets)| (flow, packets)).collect();
    Estimates { heavy, flows, entropy, sketch }
}

/// The flows with most packets at a level, with the highest level that samples them.
fn kept(levels: &Sketch, level: usize, reported: &[BTreeMap<Flow, Place>]) -> Vec<(Flow, usize, i64)> {
    let above = reported[level..].iter().flatten();
    let estimated = above.map(|(flow, place)| (*flow, place.level, levels.estimate(level, place)));
    let mut all: Vec<_> = estimated.filter(|(_, _, packets)| *packets > 0).collect();
    all.sort_by_key(|(flow, _, packets)| (std::cmp::Reverse(*packets), *flow));
    all.truncate(KEPT);
    all
}

/// The sum of a function over all flows: Y(j) = 2 Y(j + 1) + sum of (1 - 2 [sampled by j + 1]) g over the flows kept at j.
fn recursive(kept: &dyn Fn(usize) -> Vec<(Flow, usize, i64)>, g: &dyn Fn(f64) -> f64) -> f64 {
    let mut above: f64 = kept(LEVELS - 1).iter().map(|(_, _, packets)| g(*packets as f64)).sum();
    for level in (0..LEVELS - 1).rev() {
        let sign = |of: usize| if of > level { -1.0 } else { 1.0 };
        let here: f64 = kept(level).iter().map(|(_, of, packets)| sign(*of) * g(*packets as f64)).sum();
        above = 2.0 * above + here;
    }
    above
}

/// How a trial went: estimates of the window, and the truth.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Flows among them, and their estimated number.
    pub flows: (u64, f64),
    /// Entropy in bits, and the estimate.
    pub entropy: (f64, f64),
    /// Flows with at least a thousandth of the packets, and how many of them are among the heavy ones.
    pub heavy: (usize, usize),
    /// The largest relative error of these, in thousandths.
    pub worst: i64,
    /// Reports of flows.
    pub reports: u64,
    /// The sketch.
    pub sketch: Sketch,
}

/// Sets up the monitor's routes: everything leaves by port 2.
pub fn configure(on: &mut impl Network) -> Result<(), String> {
    on.write(route("MonIngress", 0, 0, 2))
}

/// A window of traffic. An error if a cell of the sketch is not the sum of its flows' packets.
pub fn trial(on: &mut impl Network, traffic: &mut Traffic, packets: u64) -> Result<Outcome, String> {
    let mut monitor = Monitor::start(on, (packets / 4000) as u32)?;
    let mut counts: BTreeMap<usize, i64> = BTreeMap::new();
    for number in 0..packets {
        let (rank, frame) = traffic.draw();
        let left = on.frame(1, &frame);
        if left.len() != 1 || left[0].0 != 2 {
            return Err(format!("{left:02x?}"));
        }
        *counts.entry(rank).or_default() += 1;
        if number % 64 == 0 {
            monitor.take(on)?;
        }
    }
    monitor.take(on)?;
    let found = monitor.window(on)?;
    let mut exact = Sketch::default();
    counts.iter().for_each(|(rank, packets)| exact.add(&traffic.flows()[*rank], *packets));
    if let Some(at) = (0..exact.cells.len()).find(|at| exact.cells[*at] != found.sketch.cells[*at]) {
        return Err(format!("cell {at} is {}, and not {}", found.sketch.cells[at], exact.cells[at]));
    }
    let estimated: BTreeMap<Flow, i64> = found.heavy.iter().copied().collect();
    let heavy: Vec<_> = counts.iter().filter(|(_, count)| **count as u64 * 1000 >= packets).collect();
    let errors = heavy.iter().filter_map(|(rank, count)| {
        let estimate = estimated.get(&traffic.flows()[**rank])?;
        Some((estimate - **count).abs() * 1000 / **count)
    });
    let errors: Vec<i64> = errors.collect();
    let all = packets as f64;
    let share = |count: &i64| *count as f64 / all;
    let entropy: f64 = counts.values().map(|count| -share(count) * share(count).log2()).sum();
    Ok(Outcome {
        packets,
        flows: (counts.len() as u64, found.flows),
        entropy: (entropy, found.entropy),
        heavy: (heavy.len(), errors.len()),
        worst: errors.into_iter().max().unwrap_or(0),
        reports: monitor.reports,
        sketch: found.sketch,
    })
}
