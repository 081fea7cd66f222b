//! Errors of blocks, measured with their models on the workloads of FlexSwitch's tables and figures; everything is drawn from a seed.

use crate::fixed::{FRACTION, exp2_floor};
use crate::{Block, Values};
use base_time::Rng;

/// Errors relative to the truth.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Errors {
    /// Mean of the absolute values.
    pub mean: f64,
    /// Mean with signs.
    pub bias: f64,
    /// Greatest absolute value.
    pub most: f64,
}

impl Errors {
    fn of(all: impl IntoIterator<Item = f64>) -> Errors {
        let (mut sum, mut count) = (Errors::default(), 0.0);
        for error in all {
            sum.mean += error.abs();
            sum.bias += error;
            sum.most = sum.most.max(error.abs());
            count += 1.0;
        }
        Errors { mean: sum.mean / count, bias: sum.bias / count, most: sum.most }
    }
}

/// Products of two operands that are log-uniform and whose product fits (the workload of Table 2), or quotients of such operands that are at least 1.
pub fn arithmetic(block: &Block, values: &Values, samples: u32, seed: u64) -> Errors {
    Operands::new(block, values, samples, seed).errors(block, values, samples)
}

/// The operands of [`arithmetic`], which all blocks and sizes with the same bits and point share.
pub(crate) struct Operands {
    point: u64,
    /// Operands and the true result.
    all: Vec<([u128; 2], f64)>,
}

impl Operands {
    pub(crate) fn new(block: &Block, values: &Values, samples: u32, seed: u64) -> Operands {
        let (bits, point) = (values.get("bits"), values.get("point"));
        let mut rng = Rng::new(seed);
        let divides = (block.ports)(values).iter().any(|port| port.name == "quotient");
        let mut all = Vec::with_capacity(samples as usize);
        let mut left = u64::from(samples) * 50;
        while all.len() < samples as usize && left > 0 {
            left -= 1;
            let logs = [0; 2].map(|_| u128::from(rng.below(bits << FRACTION)));
            let [a, b] = logs.map(|log| exp2_floor(log).max(1));
            let truth = if divides {
                if a < b {
                    continue;
                }
                a as f64 / b as f64
            } else {
                if a * b >= 1 << bits {
                    continue;
                }
                a as f64 * b as f64
            };
            if divides && truth * (1u64 << point) as f64 >= (1u128 << bits) as f64 {
                continue;
            }
            all.push(([a, b], truth));
        }
        Operands { point, all }
    }

    /// Errors of a block for the first `samples` of them.
    pub(crate) fn errors(&self, block: &Block, values: &Values, samples: u32) -> Errors {
        let (mut model, one) = ((block.model)(values), (1u64 << self.point) as f64);
        let first = self.all.iter().take(samples as usize);
        Errors::of(first.map(|(operands, truth)| {
            let given = model.apply(operands).first().copied().unwrap_or(0) as f64 / one;
            (given - truth) / truth
        }))
    }
}

/// The workload of Table 1: flows, a fifth of which send four fifths of ten million packets.
pub struct Flows {
    /// Key and packets of each flow.
    pub flows: Vec<(u128, u32)>,
    /// Packets from which a flow is a heavy hitter: those expected of one.
    pub threshold: u32,
}

const PACKETS: f64 = 10_000_000.0;

impl Flows {
    /// `count` flows.
    pub fn new(count: u32, seed: u64) -> Flows {
        let mut rng = Rng::new(seed);
        let heavy = count / 5;
        let [large, small] =
            [(0.8, heavy), (0.2, count - heavy)].map(|(share, of)| share * PACKETS / f64::from(of.max(1)));
        let flow = |number: u32| {
            let mean = if number < heavy { large } else { small };
            (u128::from(rng.next_u64()), around(mean, &mut rng))
        };
        Flows { flows: (0..count).map(flow).collect(), threshold: large as u32 }
    }
}

/// A number of events, of which `mean` are expected: the normal law that a Poisson law is close to, by the sum of twelve uniform numbers.
fn around(mean: f64, rng: &mut Rng) -> u32 {
    let sum: f64 = (0..12).map(|_| rng.below(1 << 32) as f64 / (1u64 << 32) as f64).sum();
    (mean + mean.sqrt() * (sum - 6.0) + 0.5).max(0.0) as u32
}

/// Share of the flows below the threshold that the sketch estimates at or above it.
pub fn false_positives(block: &Block, values: &Values, flows: &Flows, seed: u64) -> f64 {
    let (mut sketch, mut rng) = ((block.model)(values), Rng::new(seed));
    // The contents of conservative rows depend on the order: each flow sends in parts, in an order that is shuffled.
    let parts = if block.name == "count-min-conservative" { 20 } else { 1 };
    let mut order: Vec<usize> = (0..flows.flows.len()).collect();
    for part in 1..=parts {
        rng.shuffle(&mut order);
        for flow in &order {
            let (key, packets) = flows.flows[*flow];
            let upto = |part: u32| (u64::from(packets) * u64::from(part) / u64::from(parts)) as u32;
            sketch.apply(&[key, (upto(part) - upto(part - 1)).into()]);
        }
    }
    let below: Vec<u128> =
        flows.flows.iter().filter(|(_, packets)| *packets < flows.threshold).map(|(key, _)| *key).collect();
    // Nothing is added to ask for an estimate.
    let is_reported =
        |key: &&u128| sketch.apply(&[**key, 0]).iter().any(|sum| *sum >= flows.threshold.into());
    let reported = below.iter().filter(is_reported).count();
    reported as f64 / below.len().max(1) as f64
}

/// Errors of the number of different keys, after each of `counts` keys, of `runs` runs.
pub fn cardinality(block: &Block, values: &Values, counts: &[u64], runs: u32, seed: u64) -> Vec<Errors> {
    let mut rng = Rng::new(seed);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut errors = vec![vec![]; counts.len()];
    for _ in 0..runs {
        let mut model = (block.model)(values);
        for count in 1..=most {
            let estimate = model.apply(&[rng.next_u64().into()]);
            for (at, _) in counts.iter().enumerate().filter(|(_, wanted)| **wanted == count) {
                let estimate = estimate.first().copied().unwrap_or(0) as f64;
                errors[at].push((estimate - count as f64) / count as f64);
            }
        }
    }
    errors.into_iter().map(Errors::of).collect()
}
