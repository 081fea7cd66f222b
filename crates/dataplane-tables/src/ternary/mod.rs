//! Ternary, range and optional match: the best of several entries that fit.
//!
//! Two structures, and the entries decide which: [`linear`] and [`tuples`]. A scan costs about a cycle for each rule
//! and word, a tuple about as much as `RULES_PER_TUPLE` rules; both are counted when the entries have doubled or halved since
//! the last time, so that the work of looking is paid by the updates in between.

mod linear;
mod rules;
mod tuples;

use crate::key::EntryKey;
use crate::layout::KeyLayout;
use linear::Linear;
pub(crate) use rules::Rank;
use rules::Rules;
use tuples::Tuples;

/// Up to so many rules are always scanned.
const FEW: usize = 32;

/// A tuple costs as much as a scan of so many rules.
const RULES_PER_TUPLE: usize = 16;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Ternary {
    layout: KeyLayout,
    seed: u64,
    rules: Rules,
    structure: Structure,
    /// How many entries there were when the structure was chosen.
    chosen_at: usize,
}

#[derive(Clone, Debug)]
enum Structure {
    Linear(Linear),
    Tuples(Tuples),
}

impl Ternary {
    pub(crate) fn new(layout: &KeyLayout, seed: u64) -> Ternary {
        Ternary {
            layout: layout.clone(),
            seed,
            rules: Rules::new(layout),
            structure: Structure::Linear(Linear::default()),
            chosen_at: FEW,
        }
    }

    /// The best entry that fits, or [`MISS`](crate::MISS).
    #[inline(always)]
    pub(crate) fn lookup(&self, key: &[u64]) -> u32 {
        match &self.structure {
            Structure::Linear(linear) => linear.lookup(&self.rules, key),
            Structure::Tuples(tuples) => tuples.lookup(&self.rules, key),
        }
    }

    /// Writes the rule of an entry, to be [added](Ternary::update) then.
    pub(crate) fn set_rule(&mut self, entry: u32, key: &EntryKey, rank: Rank) {
        self.rules.set(entry, key, rank);
    }

    /// Takes entries out and others, whose rules are set, in. `len` is how many there are then.
    pub(crate) fn update(&mut self, removed: &[u32], added: &[u32], len: usize) {
        match &mut self.structure {
            Structure::Linear(linear) => {
                let mut gone = removed.to_vec();
                gone.sort_unstable();
                let kept = |entry: u32| gone.binary_search(&entry).is_err();
                linear.update(&self.rules, self.layout.words(), added, kept);
            }
            Structure::Tuples(tuples) => {
                removed.iter().for_each(|entry| tuples.remove(&mut self.rules, *entry));
                added.iter().for_each(|entry| tuples.insert(&mut self.rules, &self.layout, *entry));
                tuples.settle(&self.rules);
            }
        }
        let littered = matches!(&self.structure, Structure::Tuples(tuples) if tuples.is_littered());
        if littered || len >= self.chosen_at * 2 || len * 2 < self.chosen_at && self.chosen_at > FEW {
            self.choose(len);
        }
    }

    /// Builds the structure that suits the entries.
    fn choose(&mut self, len: usize) {
        self.chosen_at = len.max(FEW);
        let entries = match &self.structure {
            Structure::Linear(linear) => linear.entries().to_vec(),
            Structure::Tuples(tuples) => tuples.entries(&self.rules),
        };
        if len > FEW {
            let mut tuples = Tuples::new(self.seed);
            entries.iter().for_each(|entry| tuples.insert(&mut self.rules, &self.layout, *entry));
            tuples.settle(&self.rules);
            if tuples.len() * RULES_PER_TUPLE <= len {
                self.structure = Structure::Tuples(tuples);
                return;
            }
        }
        let mut linear = Linear::default();
        linear.update(&self.rules, self.layout.words(), &entries, |_| true);
        self.structure = Structure::Linear(linear);
    }

    /// `linear` or `tuples`.
    pub(crate) fn structure(&self) -> &'static str {
        match &self.structure {
            Structure::Linear(_) => "linear",
            Structure::Tuples(_) => "tuples",
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let structure = match &self.structure {
            Structure::Linear(linear) => linear.bytes(),
            Structure::Tuples(tuples) => tuples.bytes(),
        };
        structure + self.rules.bytes()
    }
}
