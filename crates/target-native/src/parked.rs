//! A packet between compiled ingress and compiled egress: as it lies in the frame, and not as values.
//!
//! ```text
//! ingress ──> frame ──keep──> Parked, in a queue ──give_back──> frame ──> egress
//!                                 └─ hand_back ──> values, if the interpreter is to go on with it
//! ```
//!
//! **Invariant**: it goes back into the frame that it was taken from, and into no other: the addresses in it are of that frame
//! and of its own packet's buffer, both of which stay where they are.

use crate::compiled::Build;
use crate::memory::Memory;
use crate::packet::Packet;
use ir_interp::Value;
use ir_interp::embed::{Life, PacketParts};
use std::sync::Arc;

/// See the module.
pub(crate) struct Parked {
    pub(crate) packet: Packet,
    /// Stands for the frame that it was in: each engine has one.
    frame: Arc<()>,
    build: Arc<Build>,
    /// The frame's first bytes, and behind them its arrays': see [`Shared`](crate::layout::Shared).
    bytes: Vec<u8>,
    values: Vec<Value>,
    /// What it may still take, if that is no longer all.
    pub(crate) life: Option<Life>,
}

impl Parked {
    /// Room for a packet of the engine with this frame and code.
    pub(crate) fn new(frame: &Arc<()>, build: &Arc<Build>) -> Parked {
        let shared = build.layout.shared;
        Parked {
            packet: Packet::default(),
            frame: Arc::clone(frame),
            build: Arc::clone(build),
            bytes: vec![0; shared.bytes + shared.arrays],
            values: build.zeros[..shared.values].to_vec(),
            life: None,
        }
    }

    /// True if it was in this frame.
    pub(crate) fn is_of(&self, frame: &Arc<()>) -> bool {
        Arc::ptr_eq(&self.frame, frame)
    }

    /// Takes the bytes of a packet; false if they do not fit.
    pub(crate) fn receive(&mut self, parts: &PacketParts) -> bool {
        parts.frame.ends_with(&parts.payload) && self.packet.receive(parts.ingress_port, &parts.frame)
    }

    /// Takes what lies in the frame.
    pub(crate) fn keep(&mut self, memory: &Memory, values: &[Value]) {
        let layout = &self.build.layout;
        let shared = layout.shared;
        let (first, arrays) = self.bytes.split_at_mut(shared.bytes);
        first.copy_from_slice(memory.bytes(0, shared.bytes));
        arrays.copy_from_slice(memory.bytes(layout.arrays.0, shared.arrays));
        self.values.clone_from_slice(&values[..shared.values]);
    }

    /// Puts it back; what belongs to one block is zero.
    pub(crate) fn give_back(&self, memory: &mut Memory, values: &mut [Value]) {
        let Build { layout, zeros, .. } = &*self.build;
        let shared = layout.shared;
        let (from, to) = layout.arrays;
        let (first, arrays) = self.bytes.split_at(shared.bytes);
        memory.bytes_mut(0, shared.bytes).copy_from_slice(first);
        let (of_all, of_blocks) = memory.bytes_mut(from, (to - from) as usize).split_at_mut(shared.arrays);
        of_all.copy_from_slice(arrays);
        of_blocks.fill(0);
        values[..shared.values].clone_from_slice(&self.values);
        values[shared.values..].clone_from_slice(&zeros[shared.values..]);
    }
}
