//! Edge policies: how hand-overs find their device, and where control goes after a region. One file each.
//!
//! ```text
//! direct   a region's number -> the port towards the one device that runs it
//! return   an origin's number -> the port back to it
//! call     no table of its own: control is led to the handler and back by the two above
//! ```

#[path = "return.rs"]
mod back;
mod call;
mod direct;

use crate::generate::Generator;
use crate::layout::LayoutField;
use crate::placement::{DeviceIndex, Placement, Policy};
use crate::section::{SectionId, Sections};
use back::Return;
use call::Call;
use direct::Direct;
use ir::Stmt;
use p4_arch::Duty;

impl Policy {
    /// The implementation.
    pub(crate) fn rules(self) -> &'static dyn EdgePolicy {
        match self {
            Policy::Direct => &Direct,
            Policy::Call => &Call,
        }
    }
}

/// An edge policy.
pub(crate) trait EdgePolicy: Sync {
    /// As users write it; its table is `p4rack_NAME`.
    fn name(&self) -> &'static str;

    /// Devices that a region may be placed at under this policy.
    fn most_devices(&self) -> usize {
        1
    }

    /// A region under this policy gives control back to the device around it before anything else runs.
    fn gives_back(&self) -> bool {
        false
    }

    /// It leads hand-overs to this section.
    fn leads(&self, _target: SectionId, _sections: &Sections, _placement: &Placement) -> bool {
        false
    }

    /// The table by which hand-overs to these sections find their port.
    fn table(&self, _targets: &[SectionId], _sections: &Sections, _placement: &Placement) -> PortTable {
        PortTable::default()
    }

    /// The fields that are its own in every hand-over: a number of a sequence, a wish for an acknowledgement.
    fn fields(&self, _placement: &Placement) -> Vec<LayoutField> {
        vec![]
    }

    /// The fields that a device keeps in its metadata from the hand-over that came to the one that leaves.
    fn keeps(&self, _placement: &Placement, _device: DeviceIndex) -> Vec<LayoutField> {
        vec![]
    }

    /// Fills its fields in a hand-over that leaves.
    fn send(&self, _g: &mut Generator<'_>, _stage: Duty) -> Vec<Stmt> {
        vec![]
    }

    /// Reads its fields in a hand-over that has come, at the start of ingress.
    fn receive(&self, _g: &mut Generator<'_>) -> Vec<Stmt> {
        vec![]
    }
}

/// All policies that lead hand-overs, in the order in which a device asks them.
pub(crate) const LEADING: [&dyn EdgePolicy; 2] = [&Return, &Direct];

/// A table from a number in a hand-over to the device that it is for.
#[derive(Default)]
pub(crate) struct PortTable {
    /// The value that is looked up.
    pub key: PortKey,
    /// Number and device.
    pub entries: Vec<(u64, DeviceIndex)>,
}

/// The key of a [`PortTable`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum PortKey {
    /// The number of the section to run next.
    #[default]
    Region,
    /// A field of the policy's own.
    Field(&'static str),
}
