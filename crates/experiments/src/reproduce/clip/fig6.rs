//! Fig. 6: throughput when the flows with the most packets are processed at the switch.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::{Rng, Zipf};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig6",
    about: "Throughput after some flows have moved to the switch, as a multiple of that without: flows by a count-min sketch, at random, and the true top.",
    set: "64-byte packets of 100,000 flows by Zipf's law; servers of 8 cores, to which flows are hashed, and four times as many packets as they take. 1,024 flows move. The sketch has 2 rows of 65,536 or 1,024 cells and counts 1,000,000 packets. 3 seeds.",
    leaves_out: "time: one period of counting, and then all flows have moved. The paper gives 2.38 to 3.39 for the sketch without a load; with four times the load, the model gives this range for 65,536 cells, which are those that its Table II implies, and not for the 1,024 of its text.",
    run,
};

const FLOWS: usize = 100_000;
const CORES: usize = 8;
/// Packets for one that the servers take.
const LOAD: f64 = 4.0;
const MOVED: usize = 1024;
const PACKETS: u64 = 1_000_000;

/// One seed: the share of each flow, its core, and its packets.
pub(super) struct Drawn {
    cores: usize,
    /// Packets for one that all cores take.
    load: f64,
    share: Vec<f64>,
    core: Vec<usize>,
    packets: Vec<u64>,
    rng: Rng,
}

impl Drawn {
    /// `skew` is the exponent of Zipf's law in thousandths.
    fn new(skew: u32, seed: u64) -> Drawn {
        Drawn::of(FLOWS, skew, CORES, LOAD, seed)
    }

    /// `load` is that of all cores together.
    pub(super) fn of(flows: usize, skew: u32, cores: usize, load: f64, seed: u64) -> Drawn {
        let mut rng = Rng::new(seed).split("fig6");
        let weight = |rank: usize| (rank as f64 + 1.0).powf(-f64::from(skew) / 1000.0);
        let sum: f64 = (0..flows).map(weight).sum();
        let share = (0..flows).map(|rank| weight(rank) / sum).collect();
        let core = (0..flows).map(|_| rng.below(cores as u64) as usize).collect();
        let zipf = Zipf::new(flows as u32, skew);
        let mut packets = vec![0; flows];
        for _ in 0..PACKETS {
            if let Some(count) = packets.get_mut(zipf.draw(&mut rng)) {
                *count += 1;
            }
        }
        Drawn { cores, load, share, core, packets, rng }
    }

    /// Throughput with these flows at the switch, in what the servers take.
    pub(super) fn throughput(&self, moved: &[usize]) -> f64 {
        let mut is_moved = vec![false; self.share.len()];
        moved.iter().for_each(|flow| is_moved[*flow] = true);
        let (mut load, mut at_switch) = (vec![0.0; self.cores], 0.0);
        for flow in 0..self.share.len() {
            *(if is_moved[flow] { &mut at_switch } else { &mut load[self.core[flow]] }) +=
                self.load * self.share[flow];
        }
        at_switch + load.iter().map(|load| f64::min(*load, 1.0 / self.cores as f64)).sum::<f64>()
    }

    /// The flows with the largest estimates in a count-min sketch of two rows.
    pub(super) fn by_sketch(&mut self, columns: u64) -> Vec<usize> {
        let flows = self.share.len();
        let mut estimate = vec![u64::MAX; flows];
        for _ in 0..2 {
            let column: Vec<usize> = (0..flows).map(|_| self.rng.below(columns) as usize).collect();
            let mut cells = vec![0; columns as usize];
            (0..flows).for_each(|flow| cells[column[flow]] += self.packets[flow]);
            (0..flows).for_each(|flow| estimate[flow] = estimate[flow].min(cells[column[flow]]));
        }
        // Only flows with packets are reported.
        let mut found: Vec<usize> = (0..flows).filter(|flow| self.packets[*flow] > 0).collect();
        found.sort_by_key(|flow| (std::cmp::Reverse(estimate[*flow]), *flow));
        found.truncate(MOVED);
        found
    }

    fn at_random(&mut self) -> Vec<usize> {
        (0..MOVED).map(|_| self.rng.below(FLOWS as u64) as usize).collect()
    }
}

/// Multiples of the throughput without moved flows: large sketch, small sketch, random, true top.
fn gains(skew: u32, seeds: u64) -> [f64; 4] {
    let mut sum = [0.0; 4];
    for seed in 0..seeds {
        let mut drawn = Drawn::new(skew, seed);
        let before = drawn.throughput(&[]);
        let moved =
            [drawn.by_sketch(65_536), drawn.by_sketch(1_024), drawn.at_random(), (0..MOVED).collect()];
        for (sum, moved) in sum.iter_mut().zip(&moved) {
            *sum += drawn.throughput(moved) / before / seeds as f64;
        }
    }
    sum
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = [500, 800, 900, 950, 990].map(|skew| {
        let shown = gains(skew, 3).map(|gain| format!("{gain:.2}"));
        let paper = if skew >= 800 { "2.38 to 3.39" } else { "" };
        let [large, small, random, top] = shown;
        [format!("{:.2}", f64::from(skew) / 1000.0), large, small, random, top, paper.to_string()]
    });
    let titles =
        ["alpha", "sketch 2 x 65536", "sketch 2 x 1024", "at random", "the true top", "paper: sketch"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::gains;

    /// The sheet's simulation has 2.35 and 3.42, and 1.70 and 2.68 with the small sketch.
    #[test]
    fn a_large_sketch_gives_the_papers_range_and_a_small_one_does_not() {
        for (skew, wanted) in [(800, [2.35, 1.70]), (990, [3.42, 2.68])] {
            let [large, small, random, top] = gains(skew, 1);
            assert!((large - wanted[0]).abs() < 0.12 && (small - wanted[1]).abs() < 0.2, "{large} {small}");
            assert!(large > 0.97 * top, "{large} of {top}");
            assert!((1.0..1.1).contains(&random), "{random}");
        }
    }
}
