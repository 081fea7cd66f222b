//! Runtimes: the content of hand-overs, and the code around the program's own on each device.
//!
//! ```text
//! full              hand-overs carry all live values and headers in front of the payload
//! headerless        hand-overs are the packets themselves; the port says the position
//! headerless-ipv4   likewise; IPv4's fragment offset says the position
//! mixed             one of the last two, and `full` for some devices
//! ```
//!
//! The generator of a device's program (`generate`) is the same for all runtimes: which sections run here, in which
//! order, and which table gives the port. It asks the runtime for everything that depends on how a packet travels. See
//! `docs/how-to/add-a-runtime.md`.

pub(crate) mod full;
pub(crate) mod headerless;
pub(crate) mod mixed;
mod parser;

use crate::analysis::Analysis;
use crate::generate::{Cut, Generator, Moved};
use crate::layout::{Layout, NotCarried};
use crate::placement::DeviceIndex;
use crate::policy::EdgePolicy;
use crate::section::SectionId;
use base_diag::Diagnostic;
use ir::{ControlId, Expr, Stmt};
use p4_arch::Duty;

/// A runtime. Methods that take a [`Generator`] add to the program of one device, or give statements for it.
pub(crate) trait Runtime: Sync {
    /// As users write it.
    fn name(&self) -> &'static str;

    /// Hand-overs are as long as the packets: what counts or reads their length needs nothing else.
    fn keeps_length(&self) -> bool {
        false
    }

    /// A hand-over that a link would pad is dropped and counted.
    fn drops_short(&self) -> bool {
        self.keeps_length()
    }

    /// The runtime of one device's hand-overs, if it is another one.
    fn of_device(&self, _cut: &Cut<'_>, _device: DeviceIndex) -> Option<&'static dyn Runtime> {
        None
    }

    /// The bits of each hand-over, or the values that it cannot carry.
    fn layout(&self, a: &Analysis<'_>, policies: &[&dyn EdgePolicy]) -> Result<Layout, Vec<NotCarried>>;

    /// Cost: the bits that stand in front of the packet in a hand-over to this section.
    fn header_bits(&self, layout: &Layout, section: SectionId) -> u32;

    /// Refuses placements that hand-overs of this layout cannot support.
    fn refuse(&self, a: &Analysis<'_>, layout: &Layout) -> Vec<Diagnostic>;

    /// Declares the runtime's types, headers and metadata.
    fn declare(&self, g: &mut Generator<'_>);

    /// Adds the parser's states for hand-overs.
    fn parse(&self, g: &mut Generator<'_>);

    /// True in this stage for a packet that came as a hand-over, or leaves as one.
    fn is_hand_over(&self, g: &Generator<'_>, stage: Duty) -> Expr;

    /// The start of ingress, for hand-overs: records their fields. Those of an unknown section are dropped after it.
    fn arrive(&self, g: &mut Generator<'_>) -> Vec<Stmt>;

    /// The start of ingress at an origin, for ordinary packets: records facts that later hand-overs need.
    fn begin(&self, g: &mut Generator<'_>) -> Vec<Stmt>;

    /// In front of a section's code: the values that a hand-over has brought.
    fn resume(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Option<Stmt>;

    /// The port that a hand-over to a section of egress is for.
    fn port_of(&self, g: &Generator<'_>, section: SectionId) -> Option<Expr>;

    /// Stores the values for a section on another device, for which the packet leaves.
    fn save(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Vec<Stmt>;

    /// Makes the packet a hand-over.
    fn send(&self, g: &mut Generator<'_>, stage: Duty, control: ControlId) -> Vec<Stmt>;

    /// The port of hand-overs to these sections.
    fn find_port(&self, g: &mut Generator<'_>, targets: &[SectionId]) -> Vec<Stmt> {
        g.find_port(targets)
    }

    /// Emits hand-overs.
    fn emit(&self, g: &mut Generator<'_>);
}

/// Position of generated statements.
#[derive(Clone, Copy)]
pub(crate) struct At {
    /// The stage with the parameters that the statements use.
    pub stage: Duty,
    /// The control with the actions that the statements call.
    pub control: ControlId,
    /// How members of egress are numbered there.
    pub moved: Moved,
}

/// `02:52:41:43:4b:00`: locally administered, "RACK". Hand-overs are addressed to it.
pub(crate) const ADDRESS: u64 = 0x0252_4143_4b00;

/// The source address of hand-overs that a device sends.
pub(crate) fn sender_address(device: DeviceIndex) -> u64 {
    ADDRESS + 1 + u64::from(device.0)
}
