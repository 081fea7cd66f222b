//! A packet between compiled ingress and compiled egress: as it lies in the frame, and not as values.
//!
//! ```text
//! ingress ──> frame ──keep──> Parked, in a queue ──give_back──> frame ──> egress
//!                                 └─ hand_back ──> values, if the interpreter is to go on with it
//! ```
//!
//! **Invariant**: it goes back into the frame that it was taken from, and into no other: the addresses in it are of that frame
//! and of its own packet's buffer, both of which stay where they are.

use crate::layout::Layout;
use crate::memory::Memory;
use crate::packet::Packet;
use ir_interp::Value;
use std::sync::Arc;

/// See the module.
pub(crate) struct Parked {
    pub(crate) packet: Packet,
    /// Whose frame it was in: each engine has a layout of its own.
    layout: Arc<Layout>,
    /// The frame's first bytes, and behind them its arrays': see [`Shared`](crate::layout::Shared).
    bytes: Vec<u8>,
    values: Vec<Value>,
}

impl Parked {
    /// Room for a packet of the engine with this layout.
    pub(crate) fn new(layout: &Arc<Layout>, zeros: &[Value]) -> Parked {
        let shared = layout.shared;
        Parked {
            packet: Packet::default(),
            layout: Arc::clone(layout),
            bytes: vec![0; shared.bytes + shared.arrays],
            values: zeros[..shared.values].to_vec(),
        }
    }

    /// True if it was in a frame of this layout, which is that of one engine.
    pub(crate) fn is_of(&self, layout: &Arc<Layout>) -> bool {
        Arc::ptr_eq(&self.layout, layout)
    }

    /// Takes what lies in the frame.
    pub(crate) fn keep(&mut self, memory: &Memory, values: &[Value]) {
        let shared = self.layout.shared;
        let (first, arrays) = self.bytes.split_at_mut(shared.bytes);
        first.copy_from_slice(memory.bytes(0, shared.bytes));
        arrays.copy_from_slice(memory.bytes(self.layout.arrays.0, shared.arrays));
        self.values.clone_from_slice(&values[..shared.values]);
    }

    /// Puts it back; what belongs to one block is zero.
    pub(crate) fn give_back(&self, memory: &mut Memory, values: &mut [Value], zeros: &[Value]) {
        let shared = self.layout.shared;
        let (from, to) = self.layout.arrays;
        let (first, arrays) = self.bytes.split_at(shared.bytes);
        memory.bytes_mut(0, shared.bytes).copy_from_slice(first);
        let (of_all, of_blocks) = memory.bytes_mut(from, (to - from) as usize).split_at_mut(shared.arrays);
        of_all.copy_from_slice(arrays);
        of_blocks.fill(0);
        values[..shared.values].clone_from_slice(&self.values);
        values[shared.values..].clone_from_slice(&zeros[shared.values..]);
    }
}
