//! TCP over loss against what theory allows.

mod common;

use base_time::Duration;
use common::*;
use rack_model::{Probability, Rack, WorkloadKind};

/// Two hosts, a round trip of 10 ms and a link that loses frames.
fn lossy(loss: &str) -> Rack {
    let mut rack = star(2);
    rack.links.iter_mut().for_each(|link| {
        link.rate = "10Gbit/s".parse().unwrap();
        link.delay = us(2499);
        link.queue = 4096;
    });
    rack.links[1].loss = Probability::parse(loss).unwrap();
    rack
}

/// The goodput of transfers as a share of the bound of Mathis and others (Computer Communication Review, July 1997):
/// MSS / RTT * sqrt(3/2) / sqrt(loss).
fn share_of_bound(loss: &str, transfers: u64, size: u32) -> f64 {
    let mut rack = lossy(loss);
    rack.seed = 3;
    let kind = WorkloadKind::Tcp { interval: Duration::from_s(100), port: 5001, window: 1 << 22 };
    rack.workloads = vec![workload("copy", kind, 1, 2, transfers, size)];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.run().unwrap();
    let report = emulator.report();
    let copy = &report.workloads[0];
    assert_eq!((copy.received, copy.corrupted), (transfers, 0));
    let mean_seconds = copy.latency.unwrap().mean_ps as f64 / 1e12;
    let loss = f64::from(rack.links[1].loss.ppb()) / 1e9;
    let bound = 1460.0 / 0.01 * 1.5f64.sqrt() / loss.sqrt();
    f64::from(size) / mean_seconds / bound
}

#[test]
fn goodput_over_loss_is_near_what_theory_allows() {
    let mut found = vec![];
    for (loss, size) in [
        ("0.1%", 60_000_000),
        ("0.5%", 20_000_000),
        ("1%", 15_000_000),
        ("2%", 10_000_000),
        ("5%", 6_000_000),
    ] {
        found.push((loss, share_of_bound(loss, 1, size)));
    }
    assert!(found.iter().all(|(_, share)| (0.7..1.3).contains(share)), "{found:?}");
}
