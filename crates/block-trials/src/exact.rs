//! Exact results of blocks, as their twins compute them: a value for each key, and products without tables.

use p4_blocks::{Block, Model, Values};
use std::collections::BTreeMap;

/// The model of a block's exact twin.
pub(crate) fn model(block: &Block, values: &Values) -> Box<dyn Model> {
    let small = |name| values.small(name);
    match block.name {
        "count-min" | "count-min-conservative" => {
            let mut sums = BTreeMap::new();
            Box::new(Exact(move |inputs: &[u128]| {
                let sum = sums.entry(inputs[0]).or_insert(0u32);
                *sum = sum.saturating_add(inputs[1] as u32);
                vec![(*sum).into()]
            }))
        }
        "count-min-decay" => {
            let (mut sums, epochs) = (BTreeMap::new(), (1u32 << small("epoch")) - 1);
            Box::new(Exact(move |inputs: &[u128]| {
                let (sum, known) = sums.entry(inputs[0]).or_insert((0u32, 0u32));
                let epoch = inputs[2] as u32;
                let age = epoch.wrapping_sub(*known) & epochs;
                *sum = sum.checked_shr(age).unwrap_or(0).saturating_add(inputs[1] as u32);
                *known = epoch;
                vec![(*sum).into()]
            }))
        }
        "bitmap" | "hyperloglog" => {
            let (mut keys, mut counts) = (BTreeMap::new(), BTreeMap::new());
            let (has_groups, has_windows) = (small("groups") > 1, small("window") > 0);
            Box::new(Exact(move |inputs: &[u128]| {
                let mut inputs = inputs.iter().copied();
                let group = if has_groups { inputs.next() } else { None };
                let item = inputs.next();
                let epoch = inputs.next().filter(|_| has_windows).unwrap_or(0);
                let count = counts.entry(group).or_insert((0, 0u128));
                if count.0 != epoch {
                    *count = (epoch, 0);
                }
                count.1 += u128::from(keys.insert((group, item), epoch) != Some(epoch));
                vec![count.1]
            }))
        }
        "ewma" => {
            let (mut cells, shift) = (vec![0u128; values.get("cells") as usize], small("shift"));
            Box::new(Exact(move |inputs: &[u128]| {
                let cell = &mut cells[inputs[0] as usize];
                *cell = *cell - (*cell >> shift) + (inputs[1] << 32);
                vec![*cell >> (shift + 32)]
            }))
        }
        "min-timestamp" => {
            let mut times = BTreeMap::new();
            Box::new(Exact(move |inputs: &[u128]| {
                let now = inputs[1] as u32;
                vec![now.wrapping_sub(times.insert(inputs[0], now).unwrap_or(0)).into()]
            }))
        }
        "flowlet" => {
            let (mut bursts, timeout) = (BTreeMap::new(), small("timeout"));
            Box::new(Exact(move |inputs: &[u128]| {
                let now = inputs[1] as u32;
                let (last, route) = bursts.entry(inputs[0]).or_insert((0u32, 0u128));
                let begins = now.wrapping_sub(*last) > timeout;
                (*last, *route) = (now, if begins { inputs[2] } else { *route });
                vec![*route, begins.into()]
            }))
        }
        "multiply" | "multiply-normalised" => {
            let most = u128::MAX >> (128 - small("bits"));
            Box::new(Exact(move |inputs: &[u128]| vec![(inputs[0] * inputs[1]).min(most)]))
        }
        "divide" | "divide-normalised" => {
            let (most, point) = (u128::MAX >> (128 - small("bits")), small("point"));
            Box::new(Exact(move |inputs: &[u128]| {
                vec![(inputs[0] << point).checked_div(inputs[1]).unwrap_or(most).min(most)]
            }))
        }
        // Logarithms of 12 bits.
        "rate-continuous" => {
            (block.model)(&block.changed(values, "mantissa", 12).expect("a possible mantissa"))
        }
        // Blocks that are exact themselves.
        _ => (block.model)(values),
    }
}

/// Outputs as a function of the inputs and of the packets before.
struct Exact<F>(F);

impl<F: FnMut(&[u128]) -> Vec<u128>> Model for Exact<F> {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        (self.0)(inputs)
    }
}
