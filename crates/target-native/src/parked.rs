//! A packet outside of the code that comes back to it, between ingress and egress or while a frame extern has its bytes: in its
//! frame, which it takes along, and not as values.
//!
//! ```text
//! ingress ──> frame ──exchange──> Parked, in a queue ──exchange──> frame ──> egress
//!                                     └─ values, if the interpreter is to go on with it
//! ```
//!
//! **Invariant**: it goes back into the engine that it was taken from, and into no other: code knows tables and objects there. The
//! addresses in its frame are of that frame and of its own packet's buffer, both of which stay where they are.
//!
//! Once a packet has left, another engine with the same code may use its memory ([`Rooms`]): a rack of many switches then works on
//! memory that the processor has at hand, and not on that of the switch that was not used for the longest time.

use crate::compiled::Build;
use crate::memory::Memory;
use crate::packet::Packet;
use dataplane_api::Output;
use device::Life;
use device::v1model;
use ir_value::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An engine; no other has the same. It says no more than that: no result depends on the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EngineId(u64);

impl EngineId {
    pub(crate) fn new() -> EngineId {
        static ENGINES: AtomicU64 = AtomicU64::new(0);
        EngineId(ENGINES.fetch_add(1, Ordering::Relaxed))
    }
}

/// Room for packets that are yet to come, in boxes, as queues take them.
#[derive(Default)]
pub(crate) struct Rooms {
    #[allow(clippy::vec_box)]
    free: Mutex<Vec<Box<Parked>>>,
}

impl Rooms {
    /// Room for a packet of this engine: that of the packet which left last. Nobody waits for another thread.
    #[inline(always)]
    pub(crate) fn take(&self, engine: EngineId, build: &Build) -> Box<Parked> {
        match self.free.try_lock().ok().and_then(|mut free| free.pop()) {
            Some(mut room) => {
                room.engine = engine;
                room
            }
            None => Box::new(Parked::new(engine, build)),
        }
    }

    /// The packet has left.
    #[inline(always)]
    pub(crate) fn give(&self, mut room: Box<Parked>) {
        room.life = None;
        if let Ok(mut free) = self.free.try_lock() {
            free.push(room);
        }
    }
}

/// See the module.
pub(crate) struct Parked {
    pub(crate) packet: Packet,
    /// The memory that its frame came in: it leaves in the same.
    pub(crate) came: Vec<u8>,
    engine: EngineId,
    memory: Memory,
    values: Vec<Value>,
    /// What it may still take, if that is no longer all.
    pub(crate) life: Option<Life>,
}

impl Parked {
    /// Room for a packet of this engine with this code.
    fn new(engine: EngineId, build: &Build) -> Parked {
        Parked {
            packet: Packet::default(),
            came: vec![],
            engine,
            memory: Memory::new(build.layout.bytes),
            values: build.zeros.clone(),
            life: None,
        }
    }

    /// True if it was in this engine.
    pub(crate) fn is_of(&self, engine: EngineId) -> bool {
        self.engine == engine
    }

    /// What it came to; see [`Packet::output`].
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
