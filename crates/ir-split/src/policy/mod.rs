//! Edge policies: how hand-overs find their device, and where control goes after a region. One file each.
//!
//! ```text
//! direct   a region's number -> the port towards the one device that runs it
//! return   an origin's number -> the port back to it
//! call     no table of its own: control is led to the handler and back by the two above
//! failover an edge and its target in use -> the port towards that device; which one is in use is decided by code of its own
//! group    a flow's server -> the port towards it; servers come and go
//! shard    a flow's shard -> the device that serves it -> the port towards that device
//! ```

#[path = "return.rs"]
pub(crate) mod back;
pub(crate) mod call;
pub(crate) mod direct;
mod facts;
pub(crate) mod failover;
pub(crate) mod group;
pub(crate) mod shard;

use crate::analysis::Analysis;
use crate::generate::{Cut, Generator};
use crate::layout::LayoutField;
use crate::mark::Mark;
use crate::placement::{DeviceIndex, Placement};
use crate::section::{SectionId, Sections};
use base_diag::Diagnostic;
use ir::{Program, Stmt};
use p4_arch::Duty;

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

    /// Mistakes in sites under this policy, given the regions that the program marks.
    fn check_sites(&self, _program: &Program, _marks: &[Mark], _placement: &Placement) -> Vec<Diagnostic> {
        vec![]
    }

    /// Refuses a cut that the policy cannot make exactly.
    fn check_cut(&self, _a: &Analysis<'_>) -> Vec<Diagnostic> {
        vec![]
    }

    /// True if the policy leads hand-overs to this section.
    fn leads(&self, _target: SectionId, _sections: &Sections, _placement: &Placement) -> bool {
        false
    }

    /// The table by which hand-overs to these sections find their port.
    fn table(&self, _targets: &[SectionId], _sections: &Sections, _placement: &Placement) -> PortTable {
        PortTable::default()
    }

    /// Finds the port of hand-overs to these sections; none of them is led by another policy. By default a look-up in [`EdgePolicy::table`].
    fn lead(&self, g: &mut Generator<'_>, own: &[SectionId]) -> Vec<Stmt> {
        let table = self.table(own, g.cut.sections, g.cut.placement);
        g.look_up(self.name(), &table)
    }

    /// The sender of hand-overs to this section gets frames back that name it.
    fn hears(&self, _target: SectionId, _sections: &Sections, _placement: &Placement) -> bool {
        false
    }

    /// The policy's own frames that this device receives beside hand-overs: the parser extracts only the common header, and no section runs.
    fn own_frame(&self, _placement: &Placement, _device: DeviceIndex) -> Option<OwnFrame> {
        None
    }

    /// The fields that are its own in every hand-over: a number of a sequence, a wish for an acknowledgement.
    fn fields(&self, _program: &Program, _placement: &Placement) -> Vec<LayoutField> {
        vec![]
    }

    /// The fields that a device keeps in its metadata from the hand-over that came to the one that leaves.
    fn keeps(&self, _placement: &Placement, _device: DeviceIndex) -> Vec<LayoutField> {
        vec![]
    }

    /// Fields that clones made by [`Generator::clone_to_port`] keep, and packets that pass ingress again.
    fn keeps_in_clones(&self, _cut: &Cut<'_>, _device: DeviceIndex) -> Vec<LayoutField> {
        vec![]
    }

    /// Packets may pass ingress of this device again: to the parser they are the hand-overs that they were.
    fn passes_again(&self, _cut: &Cut<'_>, _device: DeviceIndex) -> bool {
        false
    }

    /// Fills its fields in a hand-over that leaves.
    fn send(&self, _g: &mut Generator<'_>, _stage: Duty) -> Vec<Stmt> {
        vec![]
    }

    /// Reads its fields in a hand-over that has come, at the start of ingress.
    fn receive(&self, _g: &mut Generator<'_>) -> Vec<Stmt> {
        vec![]
    }

    /// Egress of a helper: copies that it has made.
    fn in_egress(&self, _g: &mut Generator<'_>) -> Vec<Stmt> {
        vec![]
    }
}

/// Distinguishes a policy's own frames from hand-overs of packets.
#[derive(Clone, Copy)]
pub(crate) struct OwnFrame {
    /// A field of hand-overs.
    pub field: &'static str,
    /// Value of the field in hand-overs of packets.
    pub packet: u64,
    /// Value of the field in the policy's own frames.
    pub own: u64,
}

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
