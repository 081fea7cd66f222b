//! All states of a model, breadth first, and whether each can still come to the end.

use crate::configuration::Model;
use crate::protocol::State;
use features::fingerprint;
use std::collections::{HashMap, VecDeque};

/// Result of an exploration.
#[derive(PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Both properties hold.
    Holds { states: usize },
    /// Something else than the exact sum is committed, after these steps.
    Wrong { steps: Vec<String> },
    /// So many states cannot come to the end; how the first one is reached.
    Stuck { states: usize, steps: Vec<String> },
}

/// The state from which another one was reached first, and the number of the step in its order.
#[derive(Clone, Copy)]
struct Parent {
    state: u32,
    step: u32,
}

/// Looks at every state.
pub fn explore(model: &Model) -> Outcome {
    let first = State::first(model);
    let mut numbers: HashMap<u128, u32> = HashMap::from([(fingerprint(&first), 0)]);
    let mut open = VecDeque::from([first]);
    let mut parents: Vec<Parent> = vec![Parent { state: 0, step: 0 }];
    let (mut from, mut to, mut ends) = (vec![], vec![], vec![]);
    let mut at = 0;
    while let Some(state) = open.pop_front() {
        if !state.is_exact(model) {
            return Outcome::Wrong { steps: steps(model, &parents, at) };
        }
        if state.is_over() {
            ends.push(at);
        }
        let mut step = 0;
        state.next(model, &mut |_, next| {
            let known = parents.len() as u32;
            let number = *numbers.entry(fingerprint(&next)).or_insert(known);
            if number == known {
                parents.push(Parent { state: at, step });
                open.push_back(next);
            }
            step += 1;
            from.push(at);
            to.push(number);
        });
        at += 1;
    }
    let lively = before(&ends, &from, &to, parents.len());
    match lively.iter().position(|lively| !lively) {
        None => Outcome::Holds { states: parents.len() },
        Some(stuck) => Outcome::Stuck {
            states: lively.iter().filter(|lively| !**lively).count(),
            steps: steps(model, &parents, stuck as u32),
        },
    }
}

/// The states from which one of `ends` can be reached.
fn before(ends: &[u32], from: &[u32], to: &[u32], states: usize) -> Vec<bool> {
    let mut first = vec![0usize; states + 1];
    to.iter().for_each(|state| first[*state as usize + 1] += 1);
    (0..states).for_each(|state| first[state + 1] += first[state]);
    let mut place = first.clone();
    let mut sources = vec![0u32; from.len()];
    for (from, to) in from.iter().zip(to) {
        sources[place[*to as usize]] = *from;
        place[*to as usize] += 1;
    }
    let mut found = vec![false; states];
    let mut open = ends.to_vec();
    ends.iter().for_each(|end| found[*end as usize] = true);
    while let Some(state) = open.pop() {
        for source in &sources[first[state as usize]..first[state as usize + 1]] {
            if !std::mem::replace(&mut found[*source as usize], true) {
                open.push(*source);
            }
        }
    }
    found
}

/// Labels of the steps from the first state, which are taken again.
fn steps(model: &Model, parents: &[Parent], mut at: u32) -> Vec<String> {
    let mut taken = vec![];
    while at != 0 {
        let Parent { state, step } = parents[at as usize];
        taken.push(step);
        at = state;
    }
    let mut state = State::first(model);
    let take = |wanted: u32| {
        let (mut step, mut found) = (0, None);
        state.next(model, &mut |label, next| {
            if step == wanted {
                found = Some((label.to_string(), next));
            }
            step += 1;
        });
        let (label, next) = found.expect("it was taken before");
        state = next;
        label
    };
    taken.into_iter().rev().map(take).collect()
}
