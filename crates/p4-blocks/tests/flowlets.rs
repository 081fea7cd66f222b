//! Bursts of many flows through the flowlet block.

use base_time::{Duration, Rng};
use p4_blocks::{Model, find};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Counts of a run.
#[derive(Default, Debug)]
struct Counts {
    bursts: u32,
    /// Bursts that were not noticed.
    missed: u32,
    /// Packets of a burst on another route than the one before them.
    moved: u32,
}

/// Bursts of about 10 packets 20 us apart, with gaps of about 3 ms; the timeout is 500 us.
fn run(model: &mut dyn Model, flows: usize, packets: u32) -> Counts {
    let mut rng = Rng::new(1);
    let micros = |mean: u64, rng: &mut Rng| rng.exponential(Duration::from_us(mean)).as_ps() / 1_000_000;
    let mut next: BinaryHeap<Reverse<(u64, usize)>> =
        (0..flows).map(|flow| Reverse((rng.below(3000) + 1000, flow))).collect();
    // Key, packets left in the burst, time and route of the last packet.
    let mut state: Vec<(u128, u64, u64, u128)> =
        (0..flows).map(|_| (rng.next_u128() >> 96, 0, 0, 0)).collect();
    let mut counts = Counts::default();
    for _ in 0..packets {
        let Some(Reverse((now, flow))) = next.pop() else { break };
        let (key, left, last, route) = &mut state[flow];
        let outputs = model.apply(&[*key, now.into(), rng.below(4).into()]);
        if now - *last > 500 {
            counts.bursts += 1;
            counts.missed += u32::from(outputs[1] == 0);
        } else {
            counts.moved += u32::from(outputs[0] != *route);
        }
        (*last, *route) = (now, outputs[0]);
        let gap = match left.checked_sub(1) {
            Some(rest) => {
                *left = rest;
                micros(20, &mut rng)
            }
            None => {
                *left = micros(10, &mut rng);
                micros(3000, &mut rng) + 20
            }
        };
        next.push(Reverse((now + gap, flow)));
    }
    counts
}

#[test]
fn bursts_keep_their_route_and_few_new_ones_are_missed() {
    let flowlet = find("flowlet").expect("a block");
    let mut model = (flowlet.model)(&flowlet.defaults());
    let counts = run(&mut *model, 2048, 400_000);
    assert_eq!(counts.moved, 0, "{counts:?}");
    assert!(
        counts.bursts > 10_000 && f64::from(counts.missed) < 0.012 * f64::from(counts.bursts),
        "{counts:?}"
    );
}

/// A block that gives each packet its wish.
struct Restless(Box<dyn Model>);

impl Model for Restless {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let outputs = self.0.apply(inputs);
        vec![inputs[2], outputs[1]]
    }
}

#[test]
fn a_route_that_changes_is_noticed() {
    let flowlet = find("flowlet").expect("a block");
    let mut model = Restless((flowlet.model)(&flowlet.defaults()));
    assert!(run(&mut model, 100, 20_000).moved > 1000);
}
