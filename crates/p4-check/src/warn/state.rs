//! Facts of the flow analysis at one point of a body, by the numbers of values and headers.

/// The facts before a statement.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    /// No path leads here.
    pub(super) dead: bool,
    /// Values that some path has not set.
    pub(super) unset: Vec<bool>,
    /// Headers that may be valid.
    pub(super) valid: Vec<bool>,
    /// Headers that some path has made or found invalid.
    pub(super) invalid: Vec<bool>,
}

impl State {
    /// Several paths meet.
    pub(super) fn join(&mut self, other: &State) {
        if other.dead {
            return;
        }
        if self.dead {
            *self = other.clone();
            return;
        }
        let or = |a: &mut Vec<bool>, b: &Vec<bool>| a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
        or(&mut self.unset, &other.unset);
        or(&mut self.valid, &other.valid);
        or(&mut self.invalid, &other.invalid);
    }

    /// Makes room for places that another state has.
    pub(super) fn pad(&mut self, other: &State) {
        self.unset.resize(other.unset.len().max(self.unset.len()), false);
        self.valid.resize(other.valid.len().max(self.valid.len()), true);
        self.invalid.resize(other.invalid.len().max(self.invalid.len()), false);
    }
}
