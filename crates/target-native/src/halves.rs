//! Programs for PSA: each half as machine code, and the rest of the device the interpreter's.
//!
//! ```text
//! frame ──> ingress ──> replication engine, queues ──> egress ──> frame
//!           machine code       interpreter             machine code
//! ```
//!
//! A half with anything that code cannot do is the interpreter's as a whole: between halves there are only bytes.

use crate::access::Access;
use crate::code::half::told;
use crate::compiled::Build;
use crate::engine::{Native, Start};
use crate::exchange::Exchange;
use crate::layout::Node;
use crate::machine::Part;
use crate::mutant::Mutant;
use crate::packet::Packet;
use crate::tables::Mirrors;
use base_time::Time;
use ir::Carried;
use ir_interp::embed::{Half, HalfDone, HalfEnd, HalfStart, Halves, Host};
use ir_interp::{Switch, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The code of both halves. A clone is the same code.
#[derive(Clone)]
pub(crate) struct HalfBuilds {
    pub(crate) ingress: Arc<Build>,
    pub(crate) egress: Arc<Build>,
}

impl HalfBuilds {
    /// The code for a device, with what runs it there; `None` if its program is not for PSA.
    pub(crate) fn new(switch: &mut Switch, mutant: Option<Mutant>) -> Option<(HalfBuilds, HalvesAtWork)> {
        let mut made = |half| Build::new(&mut switch.half(half)?, Part::Half(half), mutant, false);
        let (ingress, of_ingress) = made(Half::Ingress)?;
        let (egress, of_egress) = made(Half::Egress)?;
        let builds = HalfBuilds { ingress: Arc::new(ingress), egress: Arc::new(egress) };
        let halves = builds.at_work(of_ingress, of_egress);
        Some((builds, halves))
    }

    /// What runs the code on another device with the same program.
    pub(crate) fn on(&self, switch: &mut Switch) -> Option<HalvesAtWork> {
        let of_ingress = self.ingress.mirrors(&mut switch.half(Half::Ingress)?)?;
        let of_egress = self.egress.mirrors(&mut switch.half(Half::Egress)?)?;
        Some(self.at_work(of_ingress, of_egress))
    }

    fn at_work(&self, of_ingress: Mirrors, of_egress: Mirrors) -> HalvesAtWork {
        let native = |build: &Arc<Build>, mirrors| {
            let native = Native::new(Arc::clone(build), mirrors);
            native.build.runs_half().then_some(native)
        };
        HalvesAtWork {
            ingress: native(&self.ingress, of_ingress),
            egress: native(&self.egress, of_egress),
            packet: Packet::default(),
            interpreted: Arc::default(),
        }
    }
}

impl Build {
    /// True if all of a half is in its code.
    pub(crate) fn runs_half(&self) -> bool {
        let notes = &self.whole.notes;
        let is_plain = self
            .layout
            .half
            .as_ref()
            .is_some_and(|homes| homes.carried.iter().all(|(_, node, _)| is_plain(node)));
        is_plain && notes.fallbacks.is_empty() && notes.stages.is_empty()
    }
}

/// True if the value of the node can be brought into a frame before its packet begins: arrays are cleared then.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::Scalar(_) | Node::Header(_) | Node::Nothing => true,
        Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().all(is_plain),
        Node::Stack(_) | Node::Value(_) => false,
    }
}

/// Runs the halves on a device.
pub(crate) struct HalvesAtWork {
    /// `None`: the interpreter's.
    ingress: Option<Native>,
    egress: Option<Native>,
    packet: Packet,
    /// How often the interpreter has run a half, or was called by one.
    pub(crate) interpreted: Arc<AtomicU64>,
}

impl Halves for HalvesAtWork {
    fn run(&mut self, host: Host<'_>, start: HalfStart<'_>, now: Time) -> HalfEnd {
        let native = match start.half {
            Half::Ingress => &mut self.ingress,
            Half::Egress => &mut self.egress,
        };
        let ran = native.as_mut().filter(|native| self.packet.receive_behind(native.emitted(), start.frame));
        let Some(native) = ran else {
            self.interpreted.fetch_add(1, Ordering::Relaxed);
            return HalfEnd::NotMine;
        };
        native.half(&mut Access::Own(host), &mut self.packet, start, now)
    }
}

impl Native {
    /// Bytes that its deparser may put in front of a packet.
    fn emitted(&self) -> usize {
        self.build.whole.notes.emitted
    }

    /// Runs a packet, whose bytes are in `packet`.
    fn half(&mut self, host: &mut Access, packet: &mut Packet, start: HalfStart<'_>, now: Time) -> HalfEnd {
        let mut numbers = [0; told::COUNT];
        numbers[told::INGRESS_PORT] = u64::from(start.ingress_port);
        numbers[told::PATH] = u64::from(start.path);
        numbers[told::TIMESTAMP] = start.timestamp;
        numbers[told::EGRESS_PORT] = u64::from(start.egress_port);
        numbers[told::CLASS_OF_SERVICE] = start.class_of_service;
        numbers[told::INSTANCE] = u64::from(start.instance);
        numbers[told::STEPS] = start.life.steps();
        self.take_along(start.carried);
        let start = Start::Half(Box::new(numbers), start.life.clone());
        self.run(host, Part::Whole, std::slice::from_mut(packet), start, now);
        if packet.waits().is_none() {
            return HalfEnd::Gone;
        }
        let build = Arc::clone(&self.build);
        let exchange = Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
        let carried = build.layout.half.iter().flat_map(|homes| &homes.carried);
        HalfEnd::Done(HalfDone {
            output: exchange.read(&build.layout.roles[2]),
            carried: carried.map(|(way, node, _)| (*way, exchange.read(node))).collect(),
            frame: packet.frame().to_vec(),
        })
    }

    /// Puts into the frame what a packet takes along; of other ways zeros.
    fn take_along(&mut self, carried: Option<&(Carried, Value)>) {
        let build = Arc::clone(&self.build);
        let Some(homes) = &build.layout.half else { return };
        let mut exchange =
            Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
        for ((way, node, _), zero) in homes.carried.iter().zip(&build.carried_zeros) {
            let value = carried.filter(|(by, _)| by == way).map_or(zero, |(_, value)| value);
            exchange.write(node, value);
        }
    }
}
