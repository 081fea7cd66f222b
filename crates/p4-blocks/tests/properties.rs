//! Properties that hold for every input of a block. The test of each property detects an injected fault.

use base_time::Rng;
use p4_blocks::{Block, Model, find};
use std::collections::HashMap;

fn block(name: &str) -> &'static Block {
    find(name).unwrap_or_else(|| panic!("no block {name}"))
}

fn model(name: &str, changes: &[(&str, u64)]) -> Box<dyn Model> {
    let values = block(name).with(changes).unwrap_or_else(|why| panic!("{why}"));
    (block(name).model)(&values)
}

/// A model with a fault: some of its outputs are changed.
struct Faulty {
    model: Box<dyn Model>,
    fault: fn(u64, u128) -> u128,
    packets: u64,
}

impl Model for Faulty {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        self.packets += 1;
        let (fault, packets) = (self.fault, self.packets);
        self.model.apply(inputs).into_iter().map(|output| fault(packets, output)).collect()
    }
}

/// The property holds for the model, and not for the model with the fault.
fn holds(
    make: impl Fn() -> Box<dyn Model>,
    property: impl Fn(&mut dyn Model) -> Result<(), String>,
    fault: fn(u64, u128) -> u128,
) {
    assert_eq!(property(&mut *make()), Ok(()));
    let mut faulty = Faulty { model: make(), fault, packets: 0 };
    assert!(property(&mut faulty).is_err(), "the fault is not noticed");
}

const PACKETS: u64 = 20_000;

#[test]
fn sketches_never_count_too_little() {
    let property = |sketch: &mut dyn Model| {
        let (mut rng, mut truth) = (Rng::new(1), HashMap::<u64, u128>::new());
        for _ in 0..PACKETS {
            let (key, amount) = (rng.below(500), u128::from(rng.below(1500)));
            let sum = truth.entry(key).or_default();
            *sum += amount;
            let estimate = sketch.apply(&[key.into(), amount])[0];
            if estimate < *sum {
                return Err(format!("key {key}: {estimate} of {sum}"));
            }
        }
        Ok(())
    };
    // Wide enough for some estimates to be exact.
    for name in ["count-min", "count-min-conservative"] {
        holds(
            || model(name, &[("columns", 1024)]),
            property,
            |packet, out| out - u128::from(packet % 1000 == 0),
        );
    }
}

#[test]
fn conservative_updates_never_count_more_than_plain_ones() {
    let property = |sketch: &mut dyn Model| {
        let (mut rng, mut plain) = (Rng::new(2), model("count-min", &[("columns", 256)]));
        for _ in 0..PACKETS {
            let inputs = [rng.below(2000).into(), rng.below(1500).into()];
            let (more, less) = (plain.apply(&inputs)[0], sketch.apply(&inputs)[0]);
            if less > more {
                return Err(format!("{inputs:?}: {less} and not {more}"));
            }
        }
        Ok(())
    };
    let conservative = || model("count-min-conservative", &[("columns", 256)]);
    holds(conservative, property, |packet, out| if packet % 100 == 0 { out * 2 } else { out });
}

#[test]
fn cardinality_never_falls() {
    let property = |counter: &mut dyn Model| {
        let (mut rng, mut last) = (Rng::new(3), 0);
        for _ in 0..PACKETS {
            let estimate = counter.apply(&[rng.next_u64().into()])[0];
            if estimate < last {
                return Err(format!("{estimate} after {last}"));
            }
            last = estimate;
        }
        Ok(())
    };
    let fault = |packet, out: u128| if packet == 9_000 { out / 2 } else { out };
    holds(|| model("bitmap", &[("cells", 8192), ("key", 64)]), property, fault);
}

#[test]
fn products_and_quotients_are_monotone() {
    for name in ["multiply", "divide", "multiply-normalised", "divide-normalised"] {
        let property = |arithmetic: &mut dyn Model| {
            let mut rng = Rng::new(4);
            for _ in 0..300 {
                let other = 1 + u128::from(rng.below(1 << 10));
                let mut last = 0;
                for a in (1..2000u128).step_by(1 + rng.below(9) as usize) {
                    let result = arithmetic.apply(&[a, other])[0];
                    if result < last {
                        return Err(format!("{a}, {other}: {result} after {last}"));
                    }
                    last = result;
                }
            }
            Ok(())
        };
        holds(|| model(name, &[]), property, |packet, out| if packet % 997 == 0 { out / 3 } else { out });
    }
}

#[test]
fn an_age_is_never_more_than_the_truth() {
    let property = |sketch: &mut dyn Model| {
        let (mut rng, mut seen, mut now) = (Rng::new(5), HashMap::<u64, u64>::new(), 0u64);
        for _ in 0..PACKETS {
            now += rng.below(50);
            let key = rng.below(300);
            let age = sketch.apply(&[key.into(), now.into()])[0];
            let truth = now - seen.insert(key, now).unwrap_or(0);
            if age > truth.into() {
                return Err(format!("key {key}: {age} of {truth}"));
            }
        }
        Ok(())
    };
    holds(
        || model("min-timestamp", &[("columns", 1024)]),
        property,
        |packet, out| out + u128::from(packet % 100 == 0),
    );
}

#[test]
fn an_average_is_within_1_of_the_exact_one() {
    let property = |average: &mut dyn Model| {
        let (mut rng, mut exact) = (Rng::new(6), 0.0);
        for _ in 0..PACKETS {
            let sample = rng.below(10_000);
            exact += (sample as f64 - exact) / 8.0;
            let given = average.apply(&[0, sample.into()])[0] as f64;
            if (given - exact).abs() > 1.0 {
                return Err(format!("{given} and not {exact}"));
            }
        }
        Ok(())
    };
    holds(|| model("ewma", &[]), property, |packet, out| out + if packet == 500 { 2 } else { 0 });
}

/// The same keys in each window give the same estimates, also when numbers of windows come again.
#[test]
fn a_window_begins_with_nothing() {
    for (name, cells) in [("bitmap", 1024), ("hyperloglog", 256)] {
        let mut counter = model(name, &[("cells", cells), ("key", 64), ("window", 3)]);
        let mut estimates = |window: u128| -> Vec<u128> {
            let mut rng = Rng::new(5);
            (0..600).map(|_| counter.apply(&[rng.next_u64().into(), window % 8])[0]).collect()
        };
        let first = estimates(0);
        assert!(first.is_sorted() && first[599] > 500, "{name}: {first:?}");
        for window in 1..12 {
            assert_eq!(estimates(window), first, "{name}, window {window}");
        }
    }
}

/// A group has the estimates of a block of its own with the same cells, whatever the other groups count.
#[test]
fn groups_are_counted_apart() {
    for (name, cells) in [("bitmap", 256), ("hyperloglog", 64)] {
        let settings = |cells, groups| [("cells", cells), ("groups", groups), ("key", 64), ("window", 3)];
        let property = |counter: &mut dyn Model| {
            let (mut rng, mut most) = (Rng::new(9), [0; 4]);
            let mut alone = [(); 4].map(|()| model(name, &settings(cells, 1)));
            for packet in 0..PACKETS as usize {
                // The groups have 8, 16, 32 and 64 keys in common.
                let group = rng.index(4);
                let key = rng.below(8 << group).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let window = (packet / 1000 % 8) as u128;
                let wanted = alone[group].apply(&[key.into(), window])[0];
                let estimate = counter.apply(&[group as u128, key.into(), window])[0];
                if estimate != wanted {
                    return Err(format!("group {group}: {estimate} and not {wanted}"));
                }
                most[group] = estimate.max(most[group]);
            }
            let is_right = most.iter().zip(0..).all(|(most, group)| most.abs_diff(8 << group) <= 2 << group);
            if is_right { Ok(()) } else { Err(format!("{most:?}")) }
        };
        let fault = |packet, out: u128| if packet == 9_000 { out + 1 } else { out };
        holds(|| model(name, &settings(4 * cells, 4)), property, fault);
    }
}

/// Windows of a packet or two, whose numbers come again at once: cells of old windows seem to be of the present one.
#[test]
fn cells_of_old_windows_do_not_make_large_counts() {
    let property = |counter: &mut dyn Model| {
        let mut rng = Rng::new(8);
        for _ in 0..PACKETS {
            let inputs = [rng.next_u64().into(), rng.below(2).into()];
            let estimate = counter.apply(&inputs)[0];
            // Two of the window, and what 16 old cells may add.
            if estimate > 200 {
                return Err(format!("{estimate}"));
            }
        }
        Ok(())
    };
    let fault = |packet, out| if packet == 100 { out + 1000 } else { out };
    for name in ["bitmap", "hyperloglog"] {
        holds(|| model(name, &[("cells", 16), ("key", 64), ("window", 1)]), property, fault);
    }
}
