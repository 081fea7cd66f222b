//! Interface of a network to its owner.

use crate::network::Network;
use crate::place::{Owner, Place, Reason};
use crate::violation::Outcome;
use dataplane_api::Output;

/// Owner of a network: puts frames in, takes them out, and observes events. [`Drive`](crate::Drive) runs the network.
///
/// A network knows no names, hosts or reports, only numbers; names are the world's. Unused callbacks cost nothing: the
/// path of a packet is compiled for each world.
pub trait World: Sized {
    /// Events of the world in the same calendar.
    type Event: Copy;

    /// The network.
    fn network(&self) -> &Network<Self::Event>;

    /// The network, for changes.
    fn network_mut(&mut self) -> &mut Network<Self::Event>;

    /// Handles an event of the world.
    fn happen(&mut self, event: Self::Event) -> Outcome;

    /// A frame has arrived at an end, which counts it as absorbed or dropped.
    fn receive(&mut self, end: u32, frame: Vec<u8>, owner: Owner) -> Outcome;

    /// A frame leaves a device by a port that nothing is plugged into. True if it is taken out here; else it is dropped.
    fn take_out(&mut self, _device: u32, _output: &mut Output, _owner: Owner) -> bool {
        false
    }

    /// The next call of the device is for a packet of this owner, or for its timer's packets.
    #[inline(always)]
    fn calls(&mut self, _device: u32, _owner: Owner) {}

    /// Owner of the packets that a timer of this device creates, asked just before it runs.
    #[inline(always)]
    fn owner_of_timer(&mut self, _device: u32) -> Owner {
        Owner::NOBODY
    }

    /// A frame begins to leave by a wire.
    #[inline(always)]
    fn sent(&mut self, _wire: u32, _frame: &[u8]) {}

    /// A frame has arrived at the end of a wire.
    #[inline(always)]
    fn arrived(&mut self, _wire: u32, _frame: &[u8]) {}

    /// A packet has ended.
    fn dropped(&mut self, _place: Place, _reason: Reason, _owner: Owner) {}

    /// The timers of a device have run.
    fn ticked(&mut self, _device: u32) {}

    /// An event is over.
    #[inline(always)]
    fn happened(&mut self) {}
}
