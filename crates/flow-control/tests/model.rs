//! The two-phase move as a small model, all interleavings: the protocol's requirements and their reasons (the numbers
//! of states and violations are those of an independent model in another language).
//!
//! Flows A and B share the object `k`. A packet looks into the flow table, then looks up its own object, then `k`; a lookup that
//! does not find the object is a violation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

const BUDGET: usize = 2;

/// The protocol, and five ways to get it wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Right,
    FlowTableFirst,
    ObjectsFirst,
    NoFlush,
    NoCounts,
    /// The objects to delete are determined before the flush.
    DecidedEarly,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Admit(char),
    Expel(char),
    Flush(char),
    Insert(char),
    Delete(char),
    Decide(char),
    DeleteDecided(char),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    flow_table: BTreeSet<char>,
    objects: BTreeSet<char>,
    counts: BTreeMap<char, i32>,
    decided: BTreeSet<char>,
    at: Vec<usize>,
    /// Flow and stage of each packet.
    packets: Vec<(char, usize)>,
    budget: usize,
}

fn keys(flow: char) -> [char; 2] {
    if flow == 'A' { ['a', 'k'] } else { ['b', 'k'] }
}

fn promote(flow: char, variant: Variant) -> Vec<Step> {
    let mut steps: Vec<Step> = keys(flow).map(Step::Insert).into();
    let place = if variant == Variant::FlowTableFirst { 0 } else { steps.len() };
    steps.insert(place, Step::Admit(flow));
    steps
}

fn evict(flow: char, variant: Variant) -> Vec<Step> {
    let deletes = keys(flow).map(Step::Delete);
    let [expel, flush] = [Step::Expel(flow), Step::Flush(flow)];
    match variant {
        Variant::ObjectsFirst => [deletes.as_slice(), &[expel]].concat(),
        Variant::NoFlush => [&[expel], deletes.as_slice()].concat(),
        Variant::DecidedEarly => {
            [&[Step::Decide(flow), expel, flush], keys(flow).map(Step::DeleteDecided).as_slice()].concat()
        }
        _ => [&[expel, flush], deletes.as_slice()].concat(),
    }
}

impl State {
    /// The state after a step of a move; none if the step has to wait.
    fn after(&self, step: Step, variant: Variant) -> Option<State> {
        let mut next = self.clone();
        let counted = variant != Variant::NoCounts;
        match step {
            Step::Admit(flow) => _ = next.flow_table.insert(flow),
            Step::Expel(flow) => _ = next.flow_table.remove(&flow),
            Step::Flush(flow) => {
                if self.packets.iter().any(|&(of, stage)| of == flow && stage > 0) {
                    return None;
                }
            }
            Step::Insert(key) => {
                next.objects.insert(key);
                if counted {
                    *next.counts.entry(key).or_default() += 1;
                }
            }
            Step::Delete(key) => {
                let count = next.counts.entry(key).or_default();
                *count -= i32::from(counted);
                if !counted || *count == 0 {
                    next.objects.remove(&key);
                }
            }
            Step::Decide(flow) => {
                for key in keys(flow) {
                    let count = next.counts.entry(key).or_default();
                    *count -= 1;
                    if *count == 0 {
                        next.decided.insert(key);
                    }
                }
            }
            Step::DeleteDecided(key) => {
                if next.decided.remove(&key) {
                    next.objects.remove(&key);
                }
            }
        }
        Some(next)
    }
}

/// States that can be reached, and lookups that find no object.
fn explore(variant: Variant, moves: &[Vec<Step>]) -> (usize, usize) {
    let first = State {
        flow_table: ['A'].into(),
        objects: ['a', 'k'].into(),
        counts: [('a', 1), ('k', 1)].into(),
        decided: BTreeSet::new(),
        at: vec![0; moves.len()],
        packets: vec![],
        budget: BUDGET,
    };
    let (mut seen, mut queue, mut violations) = (BTreeSet::from([first.clone()]), VecDeque::from([first]), 0);
    while let Some(state) = queue.pop_front() {
        let mut next = vec![];
        if state.budget > 0 {
            next.extend(['A', 'B'].map(|flow| {
                let mut state = state.clone();
                state.packets.push((flow, 0));
                state.budget -= 1;
                state
            }));
        }
        for (i, &(flow, stage)) in state.packets.iter().enumerate() {
            let mut after = state.clone();
            after.packets.remove(i);
            if stage == 0 {
                if state.flow_table.contains(&flow) {
                    after.packets.push((flow, 1));
                }
            } else if !state.objects.contains(&keys(flow)[stage - 1]) {
                violations += 1;
                continue;
            } else if stage < 2 {
                after.packets.push((flow, stage + 1));
            }
            next.push(after);
        }
        for (i, steps) in moves.iter().enumerate() {
            if let Some(mut after) = steps.get(state.at[i]).and_then(|&step| state.after(step, variant)) {
                after.at[i] += 1;
                next.push(after);
            }
        }
        for state in next {
            if seen.insert(state.clone()) {
                queue.push_back(state);
            }
        }
    }
    (seen.len(), violations)
}

/// A moves out beside B that moves in; A out and in again beside B in and out.
fn both(variant: Variant) -> [(usize, usize); 2] {
    let (out, into) = (|flow| evict(flow, variant), |flow| promote(flow, variant));
    [
        explore(variant, &[out('A'), into('B')]),
        explore(variant, &[[out('A'), into('A')].concat(), [into('B'), out('B')].concat()]),
    ]
}

#[test]
fn the_protocol_has_no_violation() {
    assert_eq!(both(Variant::Right), [(444, 0), (1392, 0)]);
}

#[test]
fn every_part_of_the_protocol_is_needed() {
    let violations = |variant| both(variant).map(|(_, violations)| violations);
    assert_eq!(violations(Variant::FlowTableFirst), [58, 242]);
    assert_eq!(violations(Variant::ObjectsFirst), [172, 780]);
    assert_eq!(violations(Variant::NoFlush), [108, 464]);
    assert_eq!(violations(Variant::NoCounts), [10, 70]);
    assert_eq!(violations(Variant::DecidedEarly), [10, 130]);
}
