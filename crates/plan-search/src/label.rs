//! Partial plans.

use crate::route::Route;
use crate::state::State;
use smallvec::SmallVec;
use std::rc::Rc;

/// Cost, by objective.
pub type Cost = SmallVec<[i64; 4]>;

/// The first regions of the order, placed.
#[derive(Clone, Default, Debug)]
pub struct Label {
    /// Choices so far, latest first.
    pub trail: Option<Rc<Trail>>,
    /// Placed regions that what follows looks at.
    pub live: SmallVec<[Live; 2]>,
    /// Devices in use, in order.
    pub uses: Vec<Use>,
    /// Loads of capacities that belong to no device.
    pub loads: SmallVec<[i64; 2]>,
    /// Cost so far, by objective; `i64::MIN` while no program has ended.
    pub cost: Cost,
}

/// One choice.
#[derive(Debug)]
pub struct Trail {
    /// The choices before.
    pub before: Option<Rc<Trail>>,
    /// The region.
    pub node: usize,
    /// Device of the region.
    pub device: usize,
    /// Derivations of the region's needs.
    pub picks: Rc<[u16]>,
    /// The paths to it.
    pub routes: Vec<(usize, Route)>,
}

impl Trail {
    /// Whether all that was chosen is as in a placement: the device of each region.
    pub fn follows(trail: Option<&Trail>, placement: &[usize]) -> bool {
        let mut steps = std::iter::successors(trail, |step| step.before.as_deref());
        steps.all(|step| placement.get(step.node) == Some(&step.device))
    }
}

/// A placed region that others follow.
#[derive(Clone, Debug)]
pub struct Live {
    /// The region.
    pub node: usize,
    /// Device of the region.
    pub device: usize,
    /// Packets after it.
    pub after: State,
}

/// A device that runs at least one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The device.
    pub device: usize,
    /// Number of regions on the device.
    pub runs: u32,
    /// True if some region on the device is charged under every choice.
    pub is_paid: bool,
    /// Charges, use, and loads of the device.
    pub values: SmallVec<[i64; 8]>,
}
