//! Proofs in a network that disturbs the split: frames are lost between devices, and another plan takes the place of the one that
//! runs.
//!
//! *Lossy*: one packet at a time; each link loses a quarter of its frames. A transaction without a loss has the whole
//! program's output. A lost packet has no later effect: if the whole program touches no state for it, later packets
//! find the same state. If it does, the state after the loss is unknown, and both start anew.
//!
//! *Renewed*: all devices are given the parts of another epoch while a hand-over is on a link. It has no effect any more: no
//! frame leaves because of it, and no state of the program changes.

use crate::case::{Case, SetupError};
use crate::environment::Answers;
use crate::generate::Setup;
use crate::prove::{
    DELAY, Difference, EVENT_LIMIT, Effort, Failure, Input, Tried, compare, compare_states, rounds,
};
use crate::split_run::{Conditions, SplitRun};
use crate::whole::Whole;
use base_time::{Probability, Rng, Time};
use dataplane_api::Output;

/// Probability that a link loses a frame.
const LOSS: Probability = Probability::from_ppb(250_000_000);

/// The most plans that take another's place in a round: each makes all devices anew.
const MOST_RENEWALS: usize = 20;

/// Searches differences under losses or a change of plan. `next` is the same program with parts of another epoch; its
/// placement may differ.
pub fn prove_disturbed(case: &Case, next: &Case, effort: &Effort) -> Result<Tried, Box<Failure>> {
    let lossy = |setup: &Setup, inputs: &[Input], rng: &Rng| lossy(case, setup, inputs, rng.split("losses"));
    let renewed = |setup: &Setup, inputs: &[Input], rng: &Rng| {
        renewed([case, next], setup, inputs, rng.split("renewals"))
    };
    rounds(case, effort, &[("lossy", &lossy), ("renewed", &renewed)])
}

/// The split and the whole program, with the same past.
struct Both {
    split: SplitRun,
    wholes: Vec<Whole>,
    answers: Answers,
}

impl Both {
    fn new(case: &Case, setup: &Setup, chance: Rng) -> Result<Both, SetupError> {
        let answers = Answers::default();
        let mut wholes = case.wholes(setup, &answers)?;
        wholes.iter_mut().for_each(|whole| whole.switch.set_access_log(true));
        let conditions = Conditions { loss: LOSS, chance, ..Conditions::ideal() };
        Ok(Both { split: case.split_run(setup, &conditions)?, wholes, answers })
    }
}

fn lossy(case: &Case, setup: &Setup, inputs: &[Input], chance: Rng) -> Result<Tried, Difference> {
    let mut tried = Tried::default();
    let anew =
        |number: usize| Both::new(case, setup, chance.split_index(number as u64)).map_err(Difference::Setup);
    let mut both = anew(0)?;
    let mut now = Time::ZERO;
    for (number, input) in inputs.iter().enumerate() {
        now += input.gap;
        let (hops, lost) = (both.split.hops(), both.split.lost());
        both.split.inject(input.origin, input.port, &input.frame, now, input.is_copied);
        both.split.rest(now, EVENT_LIMIT)?;
        let Some(record) = both.split.take_records().pop() else { continue };
        let lost = both.split.lost() - lost;
        tried.packets += 1;
        tried.lost += lost;
        tried.hops += both.split.hops() - hops;
        both.answers.load(&record.observations, record.steady);
        let whole = &mut both.wholes[input.origin];
        let expected = whole.frame(input.port, &input.frame, now);
        // Its reads depend on whether it is copied, which was known for another past.
        let is_as_drawn = whole.has_copied == input.is_copied;
        let touched = whole.switch.take_accesses().iter().any(|access| access.object != "random");
        both.answers.load(&[], None);
        let (Some(expected), true) = (expected, is_as_drawn) else {
            both = anew(number + 1)?;
            continue;
        };
        if lost == 0 {
            compare(record, expected, whole, &mut tried)?;
        } else {
            whole.switch.take_digests();
            if !input.is_copied && !record.outputs.is_empty() {
                let (cause, at, found) = (record.cause, record.at, record.outputs);
                return Err(Difference::Outputs { cause, at, expected: vec![], found });
            }
        }
        if (lost > 0 && touched) || both.split.has_timers() {
            both = anew(number + 1)?;
        }
    }
    compare_states(&case.state(&both.wholes), &both.split.state())?;
    Ok(tried)
}

fn renewed(cases: [&Case; 2], setup: &Setup, inputs: &[Input], mut chance: Rng) -> Result<Tried, Difference> {
    let conditions = Conditions { delay: DELAY, loss: Probability::ZERO, chance: chance.split("delays") };
    let [first, second] = cases;
    let mut split = first.split_run(setup, &conditions).map_err(Difference::Setup)?;
    let mut tried = Tried::default();
    let mut plans = [second, first].into_iter().cycle();
    for input in inputs {
        if tried.renewed == MOST_RENEWALS {
            break;
        }
        let now = split.now() + input.gap;
        split.inject(input.origin, input.port, &input.frame, now, input.is_copied);
        // From one of the first hand-overs on, if there are several.
        let hops = chance.between(1, 2);
        let is_under_way = (0..hops).try_fold(true, |_, _| split.run_to_hop(EVENT_LIMIT))?;
        tried.packets += 1;
        let Some(next) = is_under_way.then(|| plans.next()).flatten() else {
            split.rest(now, EVENT_LIMIT)?;
            split.take_records();
            continue;
        };
        let switches = next.switches(setup, split.watch()).map_err(Difference::Setup)?;
        split.renew(switches, next.map())?;
        let (before, state) = (split.last_record(), split.state());
        split.rest(split.now(), EVENT_LIMIT)?;
        let (before, after) = (before.map_or(0, |record| record.outputs.len()), split.last_record());
        split.take_records();
        tried.renewed += 1;
        if let Some(record) = after.filter(|record| record.outputs.len() > before) {
            let found: Vec<Output> = record.outputs[before..].to_vec();
            return Err(Difference::Stale { cause: record.cause, found });
        }
        compare_states(&state, &split.state())?;
    }
    Ok(tried)
}
