//! The four apps of ExoPlane's cloud gateway on a Tofino with network cards, as an allocation problem.

use app_allocation::{
    Affinity, Allocation, App, Class, Distribution, Effort, ONE, Object, Objective, Place, Problem, Quantum,
    Row, allocate,
};
use base_diag::Diagnostic;
use base_diag::codes::plan as codes;

/// Flows of an app.
pub const FLOWS: u64 = 1_000_000;

/// Entries of a flow manager, which take [`BLOCKS`] of SRAM: 1,024 each.
pub const RESIDENT: u64 = 10_240;

/// SRAM blocks of a flow manager.
pub const BLOCKS: u64 = 10;

/// A packet and its overhead on the wire, in bits.
const WIRE: u64 = 8 * 1520;

/// An app's traffic: a link of 100 Gbit/s with packets of 1,500 bytes, without what they take on the wire besides.
pub const TRAFFIC: f64 = 98.68;

/// Bits per second that a card takes, in the same count.
const CARD: u64 = 39_470_000_000;

/// Apps with a flow manager, and the share of their traffic at the switch with [`RESIDENT`] flows, in thousandths. These three shares come from traces that the paper
/// does not give; their sum is fitted to its 81 Gbit/s.
pub const APPS: [(&str, u64); 3] = [("VPN gateway", 729), ("NAT", 750), ("ACL", 700)];

/// Latency at the switch, and at a card with the way there and back, in picoseconds: the middle of the paper's ranges.
const LATENCY: (u64, u64) = (330_000, 5_600_000);

/// Zipf's law for [`FLOWS`] flows in which the first [`RESIDENT`] have such a share, in thousandths.
pub fn with_share(share: u64) -> Result<Distribution, Vec<Diagnostic>> {
    let of = |skew| Distribution::zipf(FLOWS, skew).map_err(|why| failed(&why.to_string()));
    let (mut low, mut high) = (500, 2000);
    while low < high {
        let middle = (low + high) / 2;
        if of(middle)?.share(RESIDENT) >= ONE / 1000 * share { high = middle } else { low = middle + 1 }
    }
    of(low)
}

/// The first `apps` of VPN gateway, NAT, ACL and UnivMon, `cards` network cards of which `spare` may fail, and so many SRAM blocks for flow managers.
pub fn gateway(apps: usize, cards: u64, spare: u64, blocks: u64) -> Result<Problem, Vec<Diagnostic>> {
    let mut all = vec![];
    for (name, share) in APPS {
        let flow_manager = Object {
            name: "flow manager".into(),
            row: 0,
            per_flow: (1, 1),
            most: None,
            block: 1024,
            units: 1,
        };
        all.push(app(name, Affinity::Medium, with_share(share)?, vec![flow_manager]));
    }
    let one = Distribution::classes(&[(1, 1)]).map_err(|why| failed(&why.to_string()))?;
    all.push(app("UnivMon", Affinity::High, one, vec![]));
    all.truncate(apps);
    Ok(Problem {
        traffic: Some(all.len() as u64 * (TRAFFIC * 1e9) as u64),
        apps: all,
        switch: vec![Row { name: "SRAM blocks".into(), capacity: blocks }],
        classes: vec![Class {
            name: "cards".into(),
            count: cards,
            spare,
            memory: vec![],
            bits: Some(CARD),
            packets: None,
            imbalance: 0,
        }],
    })
}

fn app(name: &str, affinity: Affinity, flows: Distribution, objects: Vec<Object>) -> App {
    App {
        name: name.into(),
        weight: 1,
        packet_bits: WIRE,
        own_bits: WIRE,
        affinity,
        flows,
        quantum: Quantum::Auto,
        replicas: 1,
        at_switch: Ok(Place { latency: LATENCY.0, fixed: vec![0], objects, stays: false }),
        at_classes: vec![Ok(Place { latency: LATENCY.1, ..Place::default() })],
    }
}

/// The allocation with the most throughput.
pub fn solved(problem: &Problem) -> Result<Allocation, Vec<Diagnostic>> {
    let effort = Effort { states: 1 << 16, gap: 1000 };
    allocate(problem, Objective::Throughput, &effort).map_err(|why| failed(&format!("{why:?}")))
}

/// Gbit/s of each app: all at the switch, and the part that the cards take of the rest.
pub fn throughput(problem: &Problem, found: &Allocation) -> Vec<f64> {
    let apps = found.apps.iter().map(|app| {
        let share = app.share as f64 / ONE as f64;
        let taken = app.home.map_or(1.0, |home| found.throughput[home] as f64 / 1e9);
        TRAFFIC * (share + (1.0 - share) * taken)
    });
    debug_assert_eq!(problem.apps.len(), found.apps.len());
    apps.collect()
}

/// Gbit/s to the cards, if they took all.
pub fn offloaded(found: &Allocation) -> f64 {
    found.apps.iter().map(|app| TRAFFIC * (1.0 - app.share as f64 / ONE as f64)).sum()
}

pub fn failed(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::NO_PLAN, "the experiment has no allocation").note(why.to_string())]
}
