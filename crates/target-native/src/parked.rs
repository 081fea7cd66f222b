//! A packet outside of the code that will return to it, between ingress and egress or while a frame extern has its bytes: in its
//! stack frame, which it keeps, and not as values.
//!
//! ```text
//! ingress ──> frame ──exchange──> Parked, in a queue ──exchange──> frame ──> egress
//!                                     └─ values, if the interpreter is to go on with it
//! ```
//!
//! **Invariant**: it goes back into the engine that it was taken from, and into no other: code knows tables and objects there. The
//! addresses in its frame are of that frame and of its own packet's buffer, both of which stay where they are.

use crate::compiled::Build;
use crate::memory::Memory;
use crate::packet::Packet;
use dataplane_api::Output;
use device::PacketBudget;
use device::v1model;
use ir_value::Value;
use std::sync::Arc;

/// A packet between ingress and egress, or at a frame extern, with its stack frame.
pub(crate) struct Parked {
    pub(crate) packet: Packet,
    /// The memory in which its frame was received, and in which it is sent.
    pub(crate) came: Vec<u8>,
    /// Stands for the engine that it was in: each has one.
    engine: Arc<()>,
    memory: Memory,
    values: Vec<Value>,
    /// Remaining budget, if some was used.
    pub(crate) budget: Option<PacketBudget>,
}

impl Parked {
    /// Room for a packet of this engine with this code.
    pub(crate) fn new(engine: &Arc<()>, build: &Build) -> Parked {
        Parked {
            packet: Packet::default(),
            came: vec![],
            engine: Arc::clone(engine),
            memory: Memory::new(build.layout.bytes),
            values: build.zeros.clone(),
            budget: None,
        }
    }

    /// True if it was in this engine.
    pub(crate) fn is_of(&self, engine: &Arc<()>) -> bool {
        Arc::ptr_eq(&self.engine, engine)
    }

    /// The output; see [`Packet::output`].
    #[inline(always)]
    pub(crate) fn output(&mut self, longer: &mut Vec<Output>) -> Option<Output> {
        self.packet.output(std::mem::take(&mut self.came), longer)
    }

    /// Takes the bytes of a packet; false if they do not fit.
    pub(crate) fn receive(&mut self, values: &v1model::Packet) -> bool {
        values.frame.ends_with(&values.payload) && self.packet.receive(values.ingress_port, &values.frame)
    }

    /// Takes the engine's frame and leaves its own there.
    pub(crate) fn exchange(&mut self, memory: &mut Memory, values: &mut Vec<Value>) {
        std::mem::swap(&mut self.memory, memory);
        std::mem::swap(&mut self.values, values);
    }
}
