//! TCP over loss against what theory allows.

use crate::common;

use base_time::Duration;
use common::*;
use host_programs::{Value, tcp::TCP};
use rack_model::{Probability, Rack};

/// Two hosts, a round trip of so many milliseconds and a link that loses frames.
fn lossy(loss: &str, round_trip: u64) -> Rack {
    let mut rack = star(2);
    rack.links.iter_mut().for_each(|link| {
        link.rate = "10Gbit/s".parse().unwrap();
        link.delay = us(round_trip * 250 - 1);
        link.queue = 4096;
    });
    rack.links[1].loss = Probability::parse(loss).unwrap();
    rack
}

/// Segments that a connection carries in a second.
fn segments(loss: &str, round_trip: u64, size: u32) -> f64 {
    let mut rack = lossy(loss, round_trip);
    rack.seed = 3;
    let kind = load(&TCP, &[("interval", Value::Time(Duration::from_s(100)))]);
    rack.workloads = vec![workload("copy", kind, 1, 2, 1, size)];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.run().unwrap();
    let report = emulator.report();
    let copy = &report.workloads[0];
    assert_eq!((copy.received, copy.corrupted), (1, 0));
    f64::from(size) / 1460.0 / (copy.latency.unwrap().mean_ps as f64 / 1e12)
}

/// The bound of Mathis and others (Computer Communication Review, July 1997), which knows no time-outs:
/// sqrt(3/2) / (RTT sqrt(p)).
fn mathis(loss: f64, round_trip: f64) -> f64 {
    1.5f64.sqrt() / (round_trip * loss.sqrt())
}

/// The model of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998, equation 30), which has the time-outs of Reno without
/// selective acknowledgements: 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)). `per_ack` segments are
/// acknowledged at once (b), and a time-out takes `timeout` seconds (T0).
fn padhye(loss: f64, round_trip: f64, per_ack: f64, timeout: f64) -> f64 {
    let recovered = round_trip * (2.0 * per_ack * loss / 3.0).sqrt();
    let share = (3.0 * (3.0 * per_ack * loss / 8.0).sqrt()).min(1.0);
    1.0 / (recovered + timeout * share * loss * (1.0 + 32.0 * loss * loss))
}

#[test]
fn goodput_over_loss_is_near_what_theory_allows() {
    let mut found = vec![];
    for (loss, share, size) in [
        ("0.1%", 0.001, 60_000_000),
        ("0.5%", 0.005, 20_000_000),
        ("1%", 0.01, 15_000_000),
        ("2%", 0.02, 10_000_000),
        ("5%", 0.05, 6_000_000),
    ] {
        found.push((loss, segments(loss, 10, size) / mathis(share, 0.01)));
    }
    assert!(found.iter().all(|(_, share)| (0.7..1.3).contains(share)), "{found:?}");
}

/// Over short round trips a time-out, 200 ms at least, costs as much as a hundred round trips. Reno without selective
/// acknowledgements has many; a stack that finds lost retransmissions by time and probes its end has few.
#[test]
fn goodput_over_short_round_trips_is_far_from_that_of_a_stack_with_time_outs() {
    let mut found = vec![];
    for (loss, share, size) in [
        ("0.5%", 0.005, 40_000_000),
        ("1%", 0.01, 30_000_000),
        ("2%", 0.02, 20_000_000),
        ("5%", 0.05, 20_000_000),
    ] {
        let carried = segments(loss, 2, size);
        found.push((loss, carried / mathis(share, 0.002), carried / padhye(share, 0.002, 2.0, 0.2)));
    }
    assert!(found.iter().all(|(_, of_bound, _)| (0.6..1.3).contains(of_bound)), "{found:?}");
    assert!(found.iter().all(|(_, _, of_reno)| *of_reno > 2.5), "{found:?}");
}
