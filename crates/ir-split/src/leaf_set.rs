//! Sets of leaves, for the dataflow.

use crate::place::Leaf;

/// A set of leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeafSet {
    words: Vec<u64>,
}

impl LeafSet {
    /// Adds a leaf; true if it was not there.
    pub fn insert(&mut self, leaf: Leaf) -> bool {
        let (word, bit) = (leaf.0 as usize / 64, 1u64 << (leaf.0 % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes a leaf.
    pub fn remove(&mut self, leaf: Leaf) {
        if let Some(word) = self.words.get_mut(leaf.0 as usize / 64) {
            *word &= !(1u64 << (leaf.0 % 64));
        }
    }

    /// True if the leaf is in it.
    pub fn contains(&self, leaf: Leaf) -> bool {
        self.words.get(leaf.0 as usize / 64).is_some_and(|w| w & (1u64 << (leaf.0 % 64)) != 0)
    }

    /// Adds a leaf, if there is one.
    pub fn extend(&mut self, leaf: Option<Leaf>) {
        if let Some(leaf) = leaf {
            self.insert(leaf);
        }
    }

    /// Adds all of `other`.
    pub fn union(&mut self, other: &LeafSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The leaves, by number.
    pub fn iter(&self) -> impl Iterator<Item = Leaf> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            (0..64).filter(move |bit| word & (1u64 << bit) != 0).map(move |bit| Leaf(i as u32 * 64 + bit))
        })
    }
}

/// Live values at a point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    /// May be read before it is written.
    pub live: LeafSet,
    /// Fields of the packet's headers that may be read before they are written *although their header may be
    /// invalid here*: a hand-over sends valid headers only, so these travel as values.
    pub hidden: LeafSet,
}

impl Live {
    /// Adds the live values of another path.
    pub fn union(&mut self, other: &Live) {
        self.live.union(&other.live);
        self.hidden.union(&other.hidden);
    }

    /// The leaf is written here.
    pub fn kill(&mut self, leaf: Leaf) {
        self.live.remove(leaf);
        self.hidden.remove(leaf);
    }
}
