//! Batches: a runner processes many packets at one time; the interpreter and machine code implement it.

use crate::access::Access;
use crate::arrivals::Arrivals;
use crate::packet::Packet;
use base_time::Time;
use dataplane_api::Output;
use dataplane_tables::Tables;
use device::{AtWork, StageRunner};
use ir_interp::Interpreter;

/// Runs batches of packets, and their results in smaller pieces.
pub(crate) trait BatchRunner: StageRunner {
    /// Runs packets to their ends, one after the other. Returns the frames of packets that were copied, resubmitted or recirculated, or became too
    /// long for their buffers, in order; `came_of` gets the position of the packet from which each frame was made. If another core wrote the frames, `arrivals`
    /// has begun, and the runner calls [`Arrivals::arrive`] before each packet that is [next](Arrivals::next).
    fn batch(
        &mut self,
        access: &mut Access<'_>,
        packets: &mut [Packet],
        came_of: &mut Vec<usize>,
        arrivals: Option<&mut Arrivals>,
        now: Time,
    ) -> Vec<Output>;

    /// Reads these tables from now on.
    fn read(&mut self, tables: &Tables);

    /// Number of calls of the interpreter by code.
    fn interpreted(&self) -> u64;
}

/// Before the packet at a position runs: the frames arrive whose turn it is.
pub(crate) fn arrive(arrivals: &mut Option<&mut Arrivals>, packets: &[Packet], at: usize) {
    if let Some(arrivals) = arrivals
        && arrivals.next() == at
    {
        arrivals.arrive(packets);
    }
}

impl BatchRunner for Interpreter {
    fn batch(
        &mut self,
        access: &mut Access<'_>,
        packets: &mut [Packet],
        came_of: &mut Vec<usize>,
        mut arrivals: Option<&mut Arrivals>,
        now: Time,
    ) -> Vec<Output> {
        let mut outputs = vec![];
        access.count(packets.len() as u64, 0);
        for at in 0..packets.len() {
            arrive(&mut arrivals, packets, at);
            let packet = &mut packets[at];
            let (core, blocks) = access.parts();
            let device = AtWork { core, blocks, runner: &mut *self };
            outputs.extend(device.process(packet.in_port, packet.frame().to_vec(), now));
            came_of.resize(outputs.len(), at);
            packet.leave();
        }
        access.hand_over();
        outputs
    }

    /// The interpreter reads the tables of the device itself.
    fn read(&mut self, _: &Tables) {}

    /// There is no code.
    fn interpreted(&self) -> u64 {
        0
    }
}
