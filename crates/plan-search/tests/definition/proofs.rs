//! Proofs that a proposition holds on a device, and which of them may be used of packets.

use plan_model::{Bound, Model, Rule};
use plan_search::Tiers;
use std::collections::BTreeMap;

/// Why a proposition holds on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof<'m> {
    /// The device provides it.
    Provided,
    /// Proved by a rule, from these proofs of its needs.
    Rule(&'m Rule, Vec<Proof<'m>>),
}

impl<'m> Proof<'m> {
    /// Rules of the proof, each after those that prove its needs.
    pub fn rules(&self) -> Vec<&'m Rule> {
        match self {
            Proof::Provided => vec![],
            Proof::Rule(rule, needs) => needs.iter().flat_map(Proof::rules).chain([*rule]).collect(),
        }
    }
}

/// A proof of the search's.
pub fn read<'m>(proof: &plan_search::Proof, model: &'m Model) -> Proof<'m> {
    let needs = proof.of.iter().map(|part| read(part, model)).collect();
    proof.by.map_or(Proof::Provided, |rule| Proof::Rule(&model.rules[rule], needs))
}

/// All proofs of `prop` on a device that may be used of packets of which the bounds hold that `holds` says. `open` has what is
/// being proved.
pub fn usable<'m>(
    model: &'m Model,
    device: usize,
    prop: &'m str,
    holds: &dyn Fn(&Bound) -> bool,
    tiers: Tiers,
    open: &mut Vec<&'m str>,
) -> Vec<Proof<'m>> {
    if model.devices[device].provides.iter().any(|provided| provided == prop) {
        return vec![Proof::Provided];
    }
    if open.contains(&prop) {
        return vec![];
    }
    open.push(prop);
    let mut covering: Vec<(&Rule, Vec<Vec<Proof>>)> = vec![];
    for rule in model.rules.iter().filter(|rule| rule.head == prop && rule.bounds.iter().all(holds)) {
        let needs: Vec<_> =
            rule.needs.iter().map(|need| usable(model, device, need, holds, tiers, open)).collect();
        if needs.iter().all(|proofs| !proofs.is_empty()) {
            covering.push((rule, needs));
        }
    }
    open.pop();
    let is_tightest = |rule: &Rule| !covering.iter().any(|(other, _)| is_tighter(other, rule));
    let used = covering.iter().filter(|(rule, _)| tiers == Tiers::Any || is_tightest(rule));
    let mut proofs = vec![];
    for (rule, needs) in used {
        let mut combinations: Vec<Vec<Proof>> = vec![vec![]];
        for need in needs {
            let with = |combination: &Vec<Proof<'m>>, proof: &Proof<'m>| {
                combination.iter().cloned().chain([proof.clone()]).collect::<Vec<_>>()
            };
            combinations = combinations
                .iter()
                .flat_map(|combination| need.iter().map(move |proof| with(combination, proof)))
                .collect();
        }
        proofs.extend(combinations.into_iter().map(|combination| Proof::Rule(rule, combination)));
    }
    proofs
}

/// Whether a rule is for a part of another's states.
fn is_tighter(rule: &Rule, than: &Rule) -> bool {
    is_within(rule, than) && !is_within(than, rule)
}

/// Whether all states in the bounds of `inner` are in those of `outer`. A rule without bounds is for all states.
fn is_within(inner: &Rule, outer: &Rule) -> bool {
    let (inner, outer) = (states(inner), states(outer));
    outer.iter().all(|(var, (low, high))| {
        let (least, most) = inner.get(var).copied().unwrap_or((i64::MIN, i64::MAX));
        *low <= least && most <= *high
    })
}

/// Lowest and highest value that the bounds of a rule allow, for each variable that it bounds.
fn states(rule: &Rule) -> BTreeMap<plan_model::VarId, (i64, i64)> {
    let mut states = BTreeMap::new();
    for bound in &rule.bounds {
        let (least, most) = bound.range();
        let all = states.entry(bound.var).or_insert((i64::MIN, i64::MAX));
        *all = (all.0.max(least), all.1.min(most));
    }
    states
}
