//! Ternary, range and optional match: the best of several entries that fit.
//!
//! Two structures, and the entries decide which: [`vectors`], whose cost follows the number of rules and the width of the
//! key, and [`tuples`], whose cost follows the number of different masks and the longest chain. Both are built and compared when the
//! entries have doubled or halved since the last time, so that the updates in between pay for it, or when a chain has become too long.
//!
//! Where keys are so few that an array can have the answer for [every one](array), lookups read that, and the structure answers for the
//! keys of removed entries only.

mod array;
mod rules;
mod tuples;
mod vectors;

use crate::key::EntryKey;
use crate::layout::KeyLayout;
use array::Array;
pub(crate) use rules::Rank;
use rules::Rules;
use tuples::Tuples;
use vectors::Vectors;

/// Up to this number of rules, bit vectors are always used: one or two blocks.
const FEW: usize = 512;

/// Cost of a tuple in rows of the vectors.
const ROWS_PER_TUPLE: usize = 40;

/// A rule of a chain costs as much as so many rows: a cache line from anywhere.
const ROWS_PER_RULE: usize = 10;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Ternary {
    layout: KeyLayout,
    seed: u64,
    rules: Rules,
    structure: Structure,
    /// Number of entries when the structure was chosen.
    chosen_at: usize,
    array: Option<Array>,
}

#[derive(Clone, Debug)]
enum Structure {
    Vectors(Vectors),
    /// The tuples, and the rules that a chain may have: twice as many as when they were chosen, so that few rules more or less do
    /// not choose again and again.
    Tuples(Tuples, usize),
}

impl Ternary {
    pub(crate) fn new(layout: &KeyLayout, seed: u64) -> Ternary {
        let mut rules = Rules::new(layout);
        let structure = Structure::Vectors(Vectors::build(&mut rules, vec![]));
        let array = Array::suits(layout).then(|| Array::new(layout));
        Ternary { layout: layout.clone(), seed, rules, structure, chosen_at: FEW, array }
    }

    /// True if lookups of such keys read an array.
    pub(crate) fn has_array(layout: &KeyLayout) -> bool {
        Array::suits(layout)
    }

    /// The entry number of each key, where an array has them.
    pub(crate) fn array(&self) -> Option<&[u32]> {
        self.array.as_ref().map(Array::entries)
    }

    /// The best entry that fits, or [`MISS`](crate::records::MISS).
    #[inline(always)]
    pub(crate) fn lookup(&self, key: &[u64]) -> u32 {
        match &self.array {
            Some(array) => array.find(key),
            None => self.search(key),
        }
    }

    /// [`lookup`](Ternary::lookup) without the array.
    #[inline(always)]
    fn search(&self, key: &[u64]) -> u32 {
        match &self.structure {
            Structure::Vectors(vectors) => vectors.lookup(&self.rules, key),
            Structure::Tuples(tuples, _) => tuples.lookup(&self.rules, key),
        }
    }

    /// Writes the rule of an entry, to be [added](Ternary::update) then.
    pub(crate) fn set_rule(&mut self, entry: u32, key: &EntryKey, rank: Rank) {
        self.rules.set(entry, key, rank);
    }

    /// Removes entries and adds others, whose rules must be set. `len` is the resulting number of entries.
    pub(crate) fn update(&mut self, removed: &[u32], added: &[u32], len: usize) {
        self.restructure(removed, added, len);
        if let Some(mut array) = self.array.take() {
            array.update(&self.rules, removed, added, |key| self.search(key));
            self.array = Some(array);
        }
    }

    fn restructure(&mut self, removed: &[u32], added: &[u32], len: usize) {
        match &mut self.structure {
            Structure::Vectors(vectors) => {
                removed.iter().for_each(|entry| vectors.remove(&self.rules, *entry));
                // An insert rewrites vectors: for many entries a new build is cheaper.
                let is_little = added.len() <= len / 8 + 16;
                let fits = |entry: &&u32| is_little && vectors.insert(&mut self.rules, **entry);
                let done = added.iter().take_while(fits).count();
                if done < added.len() {
                    let all = [&vectors.entries(), &added[done..]].concat();
                    *vectors = Vectors::build(&mut self.rules, all);
                } else if vectors.is_unsorted() {
                    *vectors = Vectors::build(&mut self.rules, vectors.entries());
                }
            }
            Structure::Tuples(tuples, most) => {
                removed.iter().for_each(|entry| tuples.remove(&mut self.rules, *entry));
                let fits = |entry: &&u32| tuples.insert(&mut self.rules, &self.layout, **entry, *most);
                let done = added.iter().take_while(fits).count();
                if done < added.len() {
                    let all = [&tuples.entries(&self.rules), &added[done..]].concat();
                    return self.choose(all);
                }
                tuples.settle(&self.rules);
            }
        }
        let littered = matches!(&self.structure, Structure::Tuples(tuples, _) if tuples.is_littered());
        if littered || len >= self.chosen_at * 2 || len * 2 < self.chosen_at && self.chosen_at > FEW {
            let entries = match &self.structure {
                Structure::Vectors(vectors) => vectors.entries(),
                Structure::Tuples(tuples, _) => tuples.entries(&self.rules),
            };
            self.choose(entries);
        }
    }

    /// Builds the structure that suits the entries.
    fn choose(&mut self, entries: Vec<u32>) {
        self.chosen_at = entries.len().max(FEW);
        let vectors = Vectors::build(&mut self.rules, entries.clone());
        let homes: Vec<usize> = entries.iter().map(|entry| self.rules.home(*entry)).collect();
        self.structure = match self.tuples(&entries, vectors.cost()) {
            Some(tuples) => tuples,
            None => {
                entries.iter().zip(homes).for_each(|(entry, home)| self.rules.set_home(*entry, home));
                Structure::Vectors(vectors)
            }
        };
    }

    /// The entries as tuples, if lookups cost less than `cost` rows.
    fn tuples(&mut self, entries: &[u32], cost: usize) -> Option<Structure> {
        if entries.len() <= FEW {
            return None;
        }
        let mut tuples = Tuples::new(self.seed);
        let most = cost / ROWS_PER_RULE;
        let all = entries.iter().all(|entry| tuples.insert(&mut self.rules, &self.layout, *entry, most));
        tuples.settle(&self.rules);
        (all && tuples.len() * ROWS_PER_TUPLE < cost).then_some(Structure::Tuples(tuples, 2 * most))
    }

    /// `masked`, `vectors` or `tuples`.
    pub(crate) fn structure(&self) -> &'static str {
        match &self.structure {
            _ if self.array.is_some() => "masked",
            Structure::Vectors(_) => "vectors",
            Structure::Tuples(..) => "tuples",
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let structure = match &self.structure {
            Structure::Vectors(vectors) => vectors.bytes(),
            Structure::Tuples(tuples, _) => tuples.bytes(),
        };
        structure + self.rules.bytes() + self.array.as_ref().map_or(0, Array::bytes)
    }
}
