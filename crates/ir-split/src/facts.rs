//! Facts at a point of control flow: headers that are certainly valid, leaves that may differ from zero.

use crate::leaf_set::LeafSet;
use crate::place::{HeaderIndex, Leaf};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Facts that hold on every path to a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Surely valid.
    valid: BTreeSet<HeaderIndex>,
    /// Not made valid since the parser: if it is valid, so is all that the parser extracts before it.
    unmade: BTreeSet<HeaderIndex>,
    /// Not made invalid since the parser.
    unremoved: BTreeSet<HeaderIndex>,
    /// Written on some path: all others still have their initial zero.
    written: LeafSet,
    /// Fields of the packet's headers that are surely zero where the header is valid: the program has looked.
    surely_zero: BTreeSet<Leaf>,
    /// May be invalid with something in its fields: a hand-over would lose that.
    stale: BTreeSet<HeaderIndex>,
    stale_after_parser: Rc<BTreeSet<HeaderIndex>>,
    parsed_before: Rc<BTreeMap<HeaderIndex, BTreeSet<HeaderIndex>>>,
}

impl Facts {
    /// Behind the parser: `parsed_before` are the headers it surely extracts before each, `written` the leaves
    /// that it or the device may have written, `stale` the headers it may leave invalid with something in them.
    pub fn after_parser(
        parsed_before: Rc<BTreeMap<HeaderIndex, BTreeSet<HeaderIndex>>>,
        headers: usize,
        written: LeafSet,
        stale: BTreeSet<HeaderIndex>,
    ) -> Facts {
        // The order of extraction is known for headers that the parser only extracts.
        let all = (0..headers as u32).map(HeaderIndex);
        let all: BTreeSet<_> = all.filter(|h| !stale.contains(h)).collect();
        let stale_after_parser = Rc::new(stale.clone());
        Facts {
            valid: BTreeSet::new(),
            unmade: all.clone(),
            unremoved: all,
            written,
            surely_zero: BTreeSet::new(),
            stale,
            stale_after_parser,
            parsed_before,
        }
    }

    /// The packet was parsed again: nothing is known of its headers.
    pub fn reparse(&mut self, headers: usize) {
        let stale = BTreeSet::clone(&self.stale_after_parser);
        *self = Facts::after_parser(self.parsed_before.clone(), headers, self.written.clone(), stale);
    }

    /// The header is surely valid.
    pub fn is_valid(&self, header: HeaderIndex) -> bool {
        self.valid.contains(&header)
    }

    /// True if the program may have made the header valid, so that it need not be in the received packet.
    pub fn may_be_made(&self, header: HeaderIndex) -> bool {
        !self.unmade.contains(&header)
    }

    /// True if the program may have made the header invalid since the parser.
    pub fn may_be_removed(&self, header: HeaderIndex) -> bool {
        !self.unremoved.contains(&header)
    }

    /// Control comes here only if the field is zero.
    pub fn assume_zero(&mut self, field: Leaf) {
        self.surely_zero.insert(field);
    }

    /// The program has seen that the field is zero, and nothing has written it since.
    pub fn is_surely_zero(&self, field: Leaf) -> bool {
        self.surely_zero.contains(&field)
    }

    /// Control comes here only if the header is valid.
    pub fn assume_valid(&mut self, header: HeaderIndex) {
        self.valid.insert(header);
        if !self.unmade.contains(&header) {
            return;
        }
        for &before in self.parsed_before.get(&header).into_iter().flatten() {
            if self.unremoved.contains(&before) {
                self.valid.insert(before);
            }
        }
    }

    /// The header is made valid here.
    pub fn make_valid(&mut self, header: HeaderIndex) {
        self.valid.insert(header);
        self.unmade.remove(&header);
        self.stale.remove(&header);
    }

    /// The header may be valid or not from here on.
    pub fn forget(&mut self, header: HeaderIndex) {
        self.valid.remove(&header);
        self.unmade.remove(&header);
        self.unremoved.remove(&header);
        self.stale.insert(header);
    }

    /// The header is made invalid here.
    pub fn make_invalid(&mut self, header: HeaderIndex) {
        self.valid.remove(&header);
        self.unremoved.remove(&header);
        self.stale.insert(header);
    }

    /// A field of the header is written here.
    pub fn write_into(&mut self, header: HeaderIndex) {
        if !self.is_valid(header) {
            self.stale.insert(header);
        }
    }

    /// The header may be invalid with something in its fields.
    pub fn may_be_stale(&self, header: HeaderIndex) -> bool {
        self.stale.contains(&header)
    }

    /// The leaf is written here.
    pub fn write(&mut self, leaf: Leaf) {
        self.surely_zero.remove(&leaf);
        self.written.insert(leaf);
    }

    /// The leaf is zero again.
    pub fn zero(&mut self, leaf: Leaf) {
        self.written.remove(leaf);
    }

    /// Some path has written the leaf.
    pub fn may_be_written(&self, leaf: Leaf) -> bool {
        self.written.contains(leaf)
    }

    /// Facts where two paths meet.
    pub fn meet(&mut self, other: &Facts) {
        self.valid.retain(|h| other.valid.contains(h));
        self.unmade.retain(|h| other.unmade.contains(h));
        self.unremoved.retain(|h| other.unremoved.contains(h));
        self.written.union(&other.written);
        self.surely_zero.retain(|leaf| other.surely_zero.contains(leaf));
        self.stale.extend(&other.stale);
    }
}

/// Facts where any number of paths meet; `None` if there is no path.
pub fn meet_all(paths: impl IntoIterator<Item = Facts>) -> Option<Facts> {
    paths.into_iter().reduce(|mut a, b| {
        a.meet(&b);
        a
    })
}
