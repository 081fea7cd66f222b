//! Derivations: proofs that a proposition holds on a device, and what each costs.
//!
//! ```text
//! Compress <- egress_compression, header_compress        by "segment"
//!   egress_compression <- CPU                            by "table on CPU"
//!   header_compress <- CPU, Rate < 200Mbit/s             by "CPU header_compress 0.02"
//! ```
//!
//! A derivation is flat: the box of states in which it can be used, and its effects in the order of a post-order walk
//! (Flightplan §6.2). All bounds are on the state before the region.
//!
//! Tiers are compared rule by rule. For each rule of a proof, the boxes of those derivations are kept that prove the same
//! proposition by a tighter rule: where one of them covers a state, the derivation is not among the tightest.

use crate::Scopes;
use plan_model::{Change, Effect, Prop, Rule, Scope};
use std::collections::BTreeMap;

/// A proof with its needs and effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Derivation {
    /// The tree.
    pub proof: Proof,
    /// The states in which all its rules can be used.
    pub admits: Admits,
    /// States in which a tighter rule proves what one of its rules proves: there it is not among the tightest.
    pub beaten: Vec<Admits>,
    /// Changes of path variables, by their place among these, in order.
    pub path: Vec<(usize, Change)>,
    /// Charges, by the variable's place among those of its scope.
    pub once: Vec<(usize, i64)>,
    /// Use of the device, likewise.
    pub adds: Vec<(usize, i64)>,
}

/// A proof tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Proposition that is proved.
    pub prop: Prop,
    /// The rule, by its place; none if the device provides it.
    pub by: Option<usize>,
    /// Proofs of the rule's needs.
    pub of: Vec<Proof>,
}

/// Ranges of path variables, by their place among these, one for each that is bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Admits(pub Vec<(usize, i64, i64)>);

impl Admits {
    /// Narrows the range of a variable.
    pub fn narrow(&mut self, var: usize, (low, high): (i64, i64)) {
        match self.0.iter_mut().find(|(known, ..)| *known == var) {
            Some((_, lowest, highest)) => {
                *lowest = (*lowest).max(low);
                *highest = (*highest).min(high);
            }
            None => {
                self.0.push((var, low, high));
                self.0.sort_unstable();
            }
        }
    }

    fn range(&self, var: usize) -> (i64, i64) {
        let found = self.0.iter().find(|(known, ..)| *known == var);
        found.map_or((i64::MIN, i64::MAX), |(_, low, high)| (*low, *high))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().any(|(_, low, high)| low > high)
    }

    /// True if `other` admits everything that this admits. Without bounds, everything is admitted.
    fn is_within(&self, other: &Admits) -> bool {
        other.0.iter().all(|(var, low, high)| {
            let (lowest, highest) = self.range(*var);
            lowest >= *low && highest <= *high
        })
    }

    /// Whether this admits only a part of what `other` does.
    fn is_tighter_than(&self, other: &Admits) -> bool {
        self.is_within(other) && !other.is_within(self)
    }

    /// Whether both admit some state.
    fn meets(&self, other: &Admits) -> bool {
        self.0.iter().all(|(var, low, high)| {
            let (lowest, highest) = other.range(*var);
            *low <= highest && lowest <= *high
        })
    }
}

impl Derivation {
    /// Ranges of path variables in which the derivation may be used.
    pub fn bounds(&self) -> impl Iterator<Item = &(usize, i64, i64)> {
        self.admits.0.iter().chain(self.beaten.iter().flat_map(|states| &states.0))
    }

    /// Same price in the same states.
    fn is_same(&self, other: &Derivation) -> bool {
        (&self.admits, &self.beaten, &self.path, &self.once, &self.adds)
            == (&other.admits, &other.beaten, &other.path, &other.once, &other.adds)
    }

    /// In `states` a tighter rule proves what one of its rules proves.
    fn beat(&mut self, states: &Admits) {
        if states.meets(&self.admits) && !self.beaten.contains(states) {
            self.beaten.push(states.clone());
        }
    }

    fn axiom(prop: &Prop) -> Derivation {
        Derivation {
            proof: Proof { prop: prop.clone(), by: None, of: vec![] },
            admits: Admits::default(),
            beaten: vec![],
            path: vec![],
            once: vec![],
            adds: vec![],
        }
    }

    /// Adds the changes of `effects` to a device and to packets.
    fn apply(&mut self, effects: &[Effect], scopes: &Scopes) {
        for effect in effects.iter().filter(|e| !e.change.is_nothing()) {
            let (scope, place) = scopes.place(effect.var);
            match (scope, effect.change) {
                (Scope::Path, change) => self.path.push((place, change)),
                (Scope::Once, Change::Add(value)) => charge(&mut self.once, place, value),
                (Scope::Device { .. }, Change::Add(value)) => add(&mut self.adds, place, value),
                _ => {}
            }
        }
    }
}

/// Records a charge; the largest of several counts.
pub fn charge(charges: &mut Vec<(usize, i64)>, place: usize, value: i64) {
    match charges.iter_mut().find(|(known, _)| *known == place) {
        Some((_, charged)) => *charged = (*charged).max(value),
        None => charges.push((place, value)),
    }
}

/// Adds a use.
pub fn add(adds: &mut Vec<(usize, i64)>, place: usize, value: i64) {
    match adds.iter_mut().find(|(known, _)| *known == place) {
        Some((_, sum)) => *sum = sum.saturating_add(value),
        None => adds.push((place, value)),
    }
}

/// Maximum number of derivations of a proposition on a class of devices.
pub const MAX_DERIVATIONS: usize = 4096;
/// So deep rules may build on each other.
const MAX_DEPTH: usize = 64;

/// Finds derivations on devices on which `provides` holds.
pub struct Prover<'m> {
    rules: &'m [Rule],
    by_head: &'m BTreeMap<Prop, Vec<usize>>,
    scopes: &'m Scopes,
    provides: &'m [Prop],
    /// Propositions being proved: no proof contains itself.
    open: Vec<Prop>,
    /// A proposition that has too many derivations, or proofs too deep.
    pub excess: Option<Prop>,
}

/// The rules that prove each proposition.
pub fn by_head(rules: &[Rule]) -> BTreeMap<Prop, Vec<usize>> {
    let mut heads: BTreeMap<Prop, Vec<usize>> = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate() {
        heads.entry(rule.head.clone()).or_default().push(at);
    }
    heads
}

impl<'m> Prover<'m> {
    /// For devices on which `provides` holds.
    pub fn new(
        rules: &'m [Rule],
        by_head: &'m BTreeMap<Prop, Vec<usize>>,
        scopes: &'m Scopes,
        provides: &'m [Prop],
    ) -> Prover<'m> {
        Prover { rules, by_head, scopes, provides, open: vec![], excess: None }
    }

    /// All derivations of `prop` that differ in states or price, in the order of the rules.
    pub fn derive(&mut self, prop: &Prop) -> Vec<Derivation> {
        if self.provides.contains(prop) {
            return vec![Derivation::axiom(prop)];
        }
        if self.open.contains(prop) {
            return vec![];
        }
        if self.open.len() >= MAX_DEPTH {
            self.excess = Some(prop.clone());
            return vec![];
        }
        self.open.push(prop.clone());
        // By rule: the states of the rule itself, and its derivations.
        let mut by_rule: Vec<(Admits, Vec<Derivation>)> = vec![];
        for at in self.by_head.get(prop).into_iter().flatten() {
            let mut own = Admits::default();
            let bounds = &self.rules[*at].bounds;
            bounds.iter().for_each(|b| own.narrow(self.scopes.place(b.var).1, b.range()));
            let found = self.by_rule(prop, *at, &own);
            by_rule.push((own, found));
        }
        let covered = |found: &[Derivation]| {
            let mut states: Vec<Admits> = vec![];
            for derivation in found {
                if !states.contains(&derivation.admits) {
                    states.push(derivation.admits.clone());
                }
            }
            states
        };
        let covered: Vec<(Admits, Vec<Admits>)> =
            by_rule.iter().map(|(own, found)| (own.clone(), covered(found))).collect();
        let mut all: Vec<Derivation> = vec![];
        for (own, found) in by_rule {
            let tighter = || covered.iter().filter(|(other, _)| other.is_tighter_than(&own));
            for mut derivation in found {
                tighter().flat_map(|(_, states)| states).for_each(|states| derivation.beat(states));
                if !all.iter().any(|known| known.is_same(&derivation)) {
                    all.push(derivation);
                }
            }
        }
        self.open.pop();
        all
    }

    /// The derivations that end in one rule, whose bounds admit `states`: one for each combination of derivations of its needs.
    fn by_rule(&mut self, prop: &Prop, at: usize, states: &Admits) -> Vec<Derivation> {
        let rule = &self.rules[at];
        let mut own = Derivation::axiom(prop);
        own.proof.by = Some(at);
        own.admits = states.clone();
        if own.admits.is_empty() {
            return vec![];
        }
        let mut found = vec![own];
        for need in &rule.needs {
            let proofs = self.derive(need);
            if found.len().saturating_mul(proofs.len()) > MAX_DERIVATIONS {
                self.excess = Some(prop.clone());
                return vec![];
            }
            let join = |left: &Derivation, right: &Derivation| {
                let mut joined = left.clone();
                joined.proof.of.push(right.proof.clone());
                right.admits.0.iter().for_each(|(var, low, high)| joined.admits.narrow(*var, (*low, *high)));
                right.beaten.iter().for_each(|states| joined.beat(states));
                joined.path.extend(right.path.iter().copied());
                right.once.iter().for_each(|(place, value)| charge(&mut joined.once, *place, *value));
                right.adds.iter().for_each(|(place, value)| add(&mut joined.adds, *place, *value));
                joined
            };
            found = found.iter().flat_map(|left| proofs.iter().map(move |right| join(left, right))).collect();
            // Derivations whose bounds exclude each other cover no state.
            found.retain(|derivation| !derivation.admits.is_empty());
        }
        for derivation in &mut found {
            derivation.apply(&rule.effects, self.scopes);
        }
        found
    }
}
