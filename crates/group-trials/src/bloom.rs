//! CLIP's two Bloom filters on the same kind of traffic: which share of flows they break.

use base_time::Rng;
use server_groups::Member;
use server_groups::filters::{Filters, Hashes, Insert};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A run.
#[derive(Clone, Debug)]
pub struct Bloom {
    /// Size of each of a filter's two arrays.
    pub bits: usize,
    /// Flows that the older filter knows get pins before a change.
    pub pins: bool,
    /// Ticks from the servers' reports to the change.
    pub report: u64,
    /// Ticks from a flow's first packet until its server has state for it.
    pub under_way: u64,
    /// Ticks of the changes.
    pub changes: Vec<u64>,
}

/// Per 100,000 flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Flows with packets at different servers.
    pub flows: u64,
    /// Flows whose first packet a false positive sent to the older members.
    pub by_false_positive: u64,
}

/// Runs it from a seed: 2,000 ticks of 40 new flows each, which live 250 ticks on average.
pub fn broken(seed: u64, run: &Bloom) -> Broken {
    let (rate, life, ticks) = (40, 200, 2000);
    let mut rng = Rng::new(seed);
    let mut members: Vec<Member> = (0..4).map(Member).collect();
    let mut filters = Filters::new(run.bits, members.clone(), Insert::Always);
    let mut next_member = 4;
    let mut flows: Vec<(u64, u64)> = vec![];
    let mut next = 0;
    let mut first: BTreeMap<u64, Member> = BTreeMap::new();
    let mut at_server: BTreeMap<u64, Member> = BTreeMap::new();
    let mut under_way: Vec<(u64, u64, Member)> = vec![];
    let mut pins: BTreeMap<u64, Member> = BTreeMap::new();
    let mut reported: BTreeMap<u64, Member> = BTreeMap::new();
    let mut change = None;
    let (mut broken, mut by_false) = (BTreeSet::new(), 0);
    for now in 0..ticks {
        // A change begins: servers report their flows now, and the report takes effect later. Flows that the filter does not know are missing from it.
        if change.is_none() && run.changes.contains(&now) {
            change = Some(now + run.report);
            let known = |(flow, _): &&(u64, Member)| filters.knows(&Hashes::of(*flow));
            let all: Vec<_> = at_server.iter().map(|(flow, server)| (*flow, *server)).collect();
            reported = all.iter().filter(known).copied().collect();
        }
        if change.is_some_and(|at| now >= at) {
            change = None;
            if run.pins {
                pins.extend(std::mem::take(&mut reported));
            }
            if members.len() > 2 && rng.next_bool() {
                members.remove(rng.below(members.len() as u64) as usize);
            } else {
                members.push(Member(next_member));
                next_member += 1;
            }
            filters.flip(members.clone());
        }
        for _ in 0..rate {
            flows.push((next, now + life / 2 + rng.below(life * 3 / 2)));
            next += 1;
        }
        for (flow, _) in flows.extract_if(.., |(_, end)| *end <= now) {
            at_server.remove(&flow);
            pins.remove(&flow);
        }
        for (_, flow, server) in under_way.extract_if(.., |(at, _, _)| *at <= now) {
            at_server.entry(flow).or_insert(server);
        }
        // Each new flow sends a packet, and a sixth of the packets come from random flows.
        let new = flows.len() - rate;
        let mut chosen: Vec<usize> =
            (0..flows.len() / 6).map(|_| rng.below(flows.len() as u64) as usize).collect();
        chosen.extend(new..flows.len());
        for i in chosen {
            let flow = flows[i].0;
            let server = match pins.get(&flow) {
                Some(server) => *server,
                None => {
                    let hashes = Hashes::of(flow);
                    let is_known = filters.knows(&hashes);
                    let Some(server) = filters.dispatch(&hashes) else { continue };
                    if !first.contains_key(&flow) {
                        by_false += u64::from(is_known);
                        under_way.push((now + run.under_way, flow, server));
                    }
                    server
                }
            };
            // A flow is broken as soon as a packet reaches another server than the first one did.
            if *first.entry(flow).or_insert(server) != server {
                broken.insert(flow);
            }
        }
    }
    Broken { flows: broken.len() as u64 * 100_000 / next, by_false_positive: by_false * 100_000 / next }
}

/// The configurations of the comparison, and bounds for the broken flows per 100,000.
pub fn configurations() -> Vec<(&'static str, Bloom, Range<u64>)> {
    let run = |bits: usize| Bloom {
        bits,
        pins: true,
        report: 30,
        under_way: 2,
        changes: (1..7).map(|i| i * 300).collect(),
    };
    vec![
        ("no pins, 2 x 16 Ki", Bloom { pins: false, ..run(1 << 14) }, 15_000..28_000),
        ("pins, 2 x 16 Ki", run(1 << 14), 1_600..3_400),
        ("pins, 2 x 128 Ki", run(1 << 17), 50..220),
        ("pins, 2 x 2 Ki", run(1 << 11), 4_000..7_500),
        ("report and change at once, 2 x 16 Ki", Bloom { report: 0, ..run(1 << 14) }, 20..200),
        (
            "changes 40 ticks apart, 2 x 16 Ki",
            Bloom { changes: vec![600, 640, 1300, 1340], ..run(1 << 14) },
            900..3_000,
        ),
        ("report to change 100 ticks, 2 x 16 Ki", Bloom { report: 100, ..run(1 << 14) }, 5_500..11_000),
    ]
}
