//! Abstract states: for each path variable the range of values that packets may have at one place.
//!
//! A branch has two arms, and where they join a packet may have come through either: a state is a box, and a join is the
//! smallest box around the arms. Bounds have to hold in the whole box.

use crate::derive::Admits;
use plan_model::{Change, Factor};
use std::rc::Rc;

/// The lowest and highest value of each path variable.
pub type State = Rc<[(i64, i64)]>;

/// The box around two states.
pub fn join(a: &State, b: &State) -> State {
    if a == b {
        return a.clone();
    }
    a.iter().zip(b.iter()).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
}

/// Changes one variable.
pub fn change(state: &mut [(i64, i64)], var: usize, change: Change) {
    if let Some((low, high)) = state.get_mut(var) {
        *low = change.of(*low);
        *high = change.of(*high);
    }
}

/// Whether the whole box is admitted. Of the variable `flow` only a `share` counts.
pub fn is_admitted(state: &[(i64, i64)], admits: &Admits, flow: Option<usize>, share: Factor) -> bool {
    admits.0.iter().all(|(var, lowest, highest)| {
        let (mut low, mut high) = state[*var];
        if flow == Some(*var) {
            (low, high) = (share.of(low), share.of(high));
        }
        low >= *lowest && high <= *highest
    })
}
