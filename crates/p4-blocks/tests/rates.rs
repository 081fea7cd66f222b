//! Rate meters on events at random times.

use base_time::{Duration, Rng};
use p4_blocks::{Model, find};

/// The mean of the rates that events see, relative to the truth: events of 1,500 bytes at random times, so many for each interval.
fn relative(model: &mut dyn Model, interval: u32, events: u64) -> f64 {
    let mut rng = Rng::new(events);
    let mean_gap = Duration::from_ps((1_000_000u64 << interval) / events);
    let (mut now, mut sum, mut seen) = (0u64, 0.0, 0u32);
    let warm_up = 10 * events;
    let packets = warm_up + (20 * events).max(60_000);
    for packet in 0..packets {
        // In picoseconds, of which a unit of `now` has a million.
        now += rng.exponential(mean_gap).as_ps();
        let unit = now / 1_000_000 % (1 << 32);
        let rate = model.apply(&[0, unit.into(), 1500])[0];
        if packet >= warm_up {
            sum += rate as f64;
            seen += 1;
        }
    }
    sum / f64::from(seen) / (1500 * events) as f64
}

#[test]
fn both_meters_are_right_from_1_to_10_000_events_for_each_interval() {
    for name in ["rate-interval", "rate-continuous"] {
        let meter = find(name).expect("a block");
        let values = meter.with(&[("interval", 20), ("cells", 2)]).expect("possible");
        for events in [1, 3, 31, 105, 839, 10_000] {
            let relative = relative(&mut *(meter.model)(&values), 20, events);
            assert!((relative - 1.0).abs() < 0.05, "{name}, {events} events: {relative:.3} of the truth");
        }
    }
}

/// A fault of the tables of a tenth is noticed.
#[test]
fn a_meter_that_reads_too_little_is_noticed() {
    struct Low(Box<dyn Model>);
    impl Model for Low {
        fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
            self.0.apply(inputs).into_iter().map(|rate| rate * 9 / 10).collect()
        }
    }
    let meter = find("rate-continuous").expect("a block");
    let values = meter.with(&[("interval", 20), ("cells", 2)]).expect("possible");
    assert!(relative(&mut Low((meter.model)(&values)), 20, 100) < 0.95);
}

#[test]
fn one_interval_after_a_step_most_of_it_is_seen() {
    let meter = find("rate-continuous").expect("a block");
    let values = meter.with(&[("interval", 12), ("cells", 2)]).expect("possible");
    let mut model = (meter.model)(&values);
    let mut rate = 0.0;
    for now in (0..4096u128).step_by(4) {
        rate = model.apply(&[1, 100_000 + now, 1000])[0] as f64 / 1_024_000.0;
    }
    assert!(rate > 0.92 && rate < 0.96, "{rate}");
}
