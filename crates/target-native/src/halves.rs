//! Programs for PSA: each half as machine code, and the rest of the device the interpreter's.
//!
//! ```text
//! frame ──> ingress ──> replication engine, queues ──> egress ──> frame
//!           machine code       interpreter             machine code
//!               └── one port, nothing else asked for ──────^
//! ```
//!
//! A half that code cannot run completely is run by the interpreter as a whole: between halves there are only bytes,
//! and metadata from deparsers. A packet of a batch that goes from one port to another stays in its buffer.

use crate::access::Access;
use crate::arrivals::Arrivals;
use crate::batch::{BatchRunner, arrive};
use crate::code::Part;
use crate::compiled::HalfBuilds;
use crate::context::arguments;
use crate::exchange::Exchange;
use crate::layout::{Node, asked};
use crate::native::{Native, Start};
use crate::packet::{Fate, Packet};
use crate::tables::TableReplicas;
use base_time::Time;
use dataplane_api::{DropReason, Output, Port};
use dataplane_tables::Tables;
use device::psa::{Half, HalfDone, HalfStart};
use device::stage::{Amid, Block, Stage, Stop, Visit};
use device::tna;
use device::{AtWork, Blocks, Core, NotTaken, PacketBudget, StageRunner};
use ir::{Carried, Stmt};
use ir_value::Value;
use p4_arch::psa::{PORT_RECIRCULATE, packet_path};
use std::sync::Arc;

/// Runs the halves on a device.
pub(crate) struct HalvesAtWork {
    pub(crate) ingress: Native,
    pub(crate) egress: Native,
    /// Room for packets.
    free: Vec<Packet>,
    /// The frame of a packet of a batch, as received by the current half.
    came: Vec<u8>,
    /// As much as a packet may take.
    budget: PacketBudget,
    /// Number of halves that the interpreter has run.
    interpreted: u64,
}

impl StageRunner for HalvesAtWork {
    fn whole(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        port: Port,
        frame: &[u8],
        now: Time,
    ) -> Option<Vec<Output>> {
        let mut packet = self.free.pop().unwrap_or_default();
        let outputs = packet.receive(port, frame).then(|| {
            let mut access = Access::Own(core, blocks);
            let mut outputs =
                self.batch(&mut access, std::slice::from_mut(&mut packet), &mut vec![], None, now);
            if let Fate::Sent(port) = packet.fate() {
                outputs.push(Output { port, frame: packet.frame().to_vec() });
            }
            outputs
        });
        self.free.push(packet);
        outputs
    }

    fn psa_half(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        start: HalfStart<'_>,
        now: Time,
    ) -> Result<Option<HalfDone>, NotTaken> {
        if !core.is_unobserved() {
            return Err(NotTaken);
        }
        let mut packet = self.free.pop().unwrap_or_default();
        let native = match start.half {
            Half::Ingress => &mut self.ingress,
            Half::Egress => &mut self.egress,
        };
        let mut end = Err(NotTaken);
        if native.build.runs_half() && packet.receive_behind(native.emitted(), start.frame) {
            native.take_along(start.carried);
            let ran = native.half(&mut Access::Own(core, blocks), &mut packet, &start, now);
            end = Ok(ran.then(|| native.done(&packet)));
        } else {
            self.interpreted += 1;
        }
        self.free.push(packet);
        end
    }

    fn tna_half(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        start: tna::HalfStart<'_>,
        now: Time,
    ) -> Result<Option<tna::HalfDone>, NotTaken> {
        if !core.is_unwatched() {
            return Err(NotTaken);
        }
        let mut packet = self.free.pop().unwrap_or_default();
        let native = match start.half {
            Half::Ingress => &mut self.ingress,
            Half::Egress => &mut self.egress,
        };
        let mut end = Err(NotTaken);
        if native.build.runs_half() && packet.receive_behind(native.emitted(), start.input) {
            end = Ok(native.tna_half(&mut Access::Own(core, blocks), &mut packet, &start, now));
        } else {
            self.interpreted += 1;
        }
        self.free.push(packet);
        end
    }

    fn stage(&mut self, core: &mut Core, stage: &Stage, visits: &mut [Visit], now: Time) {
        self.ingress.rest.stage(core, stage, visits, now);
    }

    fn statement(
        &mut self,
        core: &mut Core,
        block: Block,
        stmt: &Stmt,
        at: &mut Amid,
        now: Time,
    ) -> Result<(), Stop> {
        self.ingress.rest.statement(core, block, stmt, at, now)
    }
}

impl BatchRunner for HalvesAtWork {
    fn batch(
        &mut self,
        access: &mut Access<'_>,
        packets: &mut [Packet],
        came_of: &mut Vec<usize>,
        mut arrivals: Option<&mut Arrivals>,
        now: Time,
    ) -> Vec<Output> {
        let (mut outputs, mut sent, mut budget) = (vec![], 0, self.budget.another());
        let runs = |native: &Native| native.build.runs_half() && !native.build.is_tna();
        let is_code = runs(&self.ingress) && runs(&self.egress);
        for at in 0..packets.len() {
            arrive(&mut arrivals, packets, at);
            let packet = &mut packets[at];
            let rest = if is_code {
                budget.renew();
                self.through(access, packet, &budget, now)
            } else {
                self.all_of(access, packet, now)
            };
            outputs.extend(rest);
            came_of.resize(outputs.len(), at);
            sent += u64::from(matches!(packet.fate(), Fate::Sent(_)));
        }
        access.count(packets.len() as u64, sent);
        access.hand_over();
        outputs
    }

    fn read(&mut self, tables: &Tables) {
        self.ingress.read(tables);
        self.egress.read(tables);
    }

    /// Number of halves that the interpreter has run, and of its calls by compiled halves.
    fn interpreted(&self) -> u64 {
        self.interpreted + self.ingress.interpreted + self.egress.interpreted
    }
}

impl HalvesAtWork {
    /// Prepares the code for a device; `budget` is the packet budget there.
    pub(crate) fn new(
        builds: &HalfBuilds,
        [of_ingress, of_egress]: [TableReplicas; 2],
        budget: PacketBudget,
    ) -> HalvesAtWork {
        HalvesAtWork {
            ingress: Native::new(Arc::clone(&builds.ingress), of_ingress, Arc::default()),
            egress: Native::new(Arc::clone(&builds.egress), of_egress, Arc::default()),
            free: vec![],
            came: vec![],
            budget,
            interpreted: 0,
        }
    }

    /// Runs a packet through both halves; the interpreter carries out all other effects that it asks for.
    fn through(
        &mut self,
        access: &mut Access,
        packet: &mut Packet,
        budget: &PacketBudget,
        now: Time,
    ) -> Vec<Output> {
        if !packet.make_room(self.ingress.emitted()) {
            return self.all_of(access, packet, now);
        }
        // The frame as received, for clones and resubmission: the half changes the packet in place.
        self.came.clear();
        self.came.extend_from_slice(packet.frame());
        let start = HalfStart {
            half: Half::Ingress,
            frame: &[],
            path: packet_path::NORMAL,
            ingress_port: packet.in_port,
            egress_port: 0,
            class_of_service: 0,
            instance: 0,
            timestamp: now.as_us(),
            carried: None,
            budget,
        };
        self.ingress.take_nothing_along();
        if !self.ingress.half(access, packet, &start, now) {
            return vec![];
        }
        let [clone, drop, resubmit, group, egress_port, class_of_service] = self.ingress.asked();
        let is_sent = drop == 0 && resubmit == 0 && group == 0 && egress_port != u64::from(PORT_RECIRCULATE);
        // A packet that is dropped may still be cloned (PSA section 6.2).
        if clone == 0 && drop != 0 {
            access.dropped(DropReason::Ingress, 1);
            packet.drop();
            return vec![];
        }
        if clone != 0 || !is_sent || !packet.make_room(self.egress.emitted()) {
            return self.behind(access, packet, start, now);
        }
        let start = HalfStart {
            half: Half::Egress,
            path: packet_path::NORMAL_UNICAST,
            egress_port: egress_port as Port,
            class_of_service,
            ..start
        };
        self.egress.take_along_from(&mut self.ingress, Carried::Normal);
        if !self.egress.half(access, packet, &start, now) {
            return vec![];
        }
        let [clone, drop, ..] = self.egress.asked();
        if clone != 0 {
            return self.behind(access, packet, start, now);
        }
        if drop != 0 {
            access.dropped(DropReason::Egress, 1);
            packet.drop();
        } else {
            packet.send(egress_port as Port);
        }
        vec![]
    }

    /// The interpreter runs a packet.
    fn all_of(&mut self, access: &mut Access, packet: &mut Packet, now: Time) -> Vec<Output> {
        packet.leave();
        let (core, blocks) = access.parts();
        AtWork { core, blocks, runner: self }.process(packet.in_port, packet.frame().to_vec(), now)
    }

    /// The interpreter continues with a packet after a half.
    fn behind(
        &mut self,
        access: &mut Access,
        packet: &mut Packet,
        start: HalfStart<'_>,
        now: Time,
    ) -> Vec<Output> {
        let done = match start.half {
            Half::Ingress => self.ingress.done(packet),
            Half::Egress => self.egress.done(packet),
        };
        packet.leave();
        let came = std::mem::take(&mut self.came);
        let (core, blocks) = access.parts();
        let start = HalfStart { frame: &came, ..start };
        let outputs = AtWork { core, blocks, runner: self }.psa_after_half(start, done, now);
        self.came = came;
        outputs
    }
}

impl Native {
    /// Bytes that its deparser may put in front of a packet.
    fn emitted(&self) -> usize {
        self.build.whole.notes.emitted
    }

    /// Runs a packet of TNA, whose input is in `packet`; `None` if it was dropped, and counted.
    fn tna_half(
        &mut self,
        access: &mut Access,
        packet: &mut Packet,
        start: &tna::HalfStart<'_>,
        now: Time,
    ) -> Option<tna::HalfDone> {
        let mut numbers = [0; arguments::COUNT];
        numbers[arguments::TIMESTAMP] = now.as_ns();
        numbers[arguments::LENGTH] = start.length;
        numbers[arguments::STEPS] = start.budget.steps();
        access.turn_to(start.half);
        let with = Start::Half(numbers, start.budget.clone());
        let ran = self.run(access, Part::Whole, std::slice::from_mut(packet), with, now);
        packet.waits()?;
        let requests = ran.tna.map(|requests| *requests).unwrap_or_default();
        let exchange = self.exchange();
        let homes = exchange.layout.half.iter();
        // Headers among the intrinsic metadata are inputs.
        let outputs = homes.flat_map(|homes| &homes.intrinsic).filter(|(_, n)| matches!(n, Node::Struct(_)));
        Some(tna::HalfDone {
            intrinsic: outputs.map(|(ty, node)| (ty.clone(), exchange.read(node))).collect(),
            mirror: requests.mirror,
            resubmission: requests.resubmission,
            frame: packet.frame().to_vec(),
        })
    }

    /// Runs a packet with its bytes in `packet` and its carried metadata in the frame; false if it was dropped, and
    /// counted.
    fn half(&mut self, access: &mut Access, packet: &mut Packet, start: &HalfStart<'_>, now: Time) -> bool {
        let mut numbers = [0; arguments::COUNT];
        numbers[arguments::INGRESS_PORT] = u64::from(start.ingress_port);
        numbers[arguments::PATH] = u64::from(start.path);
        numbers[arguments::TIMESTAMP] = start.timestamp;
        numbers[arguments::EGRESS_PORT] = u64::from(start.egress_port);
        numbers[arguments::CLASS_OF_SERVICE] = start.class_of_service;
        numbers[arguments::INSTANCE] = u64::from(start.instance);
        numbers[arguments::STEPS] = start.budget.steps();
        access.turn_to(start.half);
        let with = Start::Half(numbers, start.budget.clone());
        self.run(access, Part::Whole, std::slice::from_mut(packet), with, now);
        packet.waits().is_some()
    }

    pub(crate) fn exchange(&mut self) -> Exchange<'_> {
        Exchange { layout: &self.build.layout, memory: &mut self.memory, values: &mut self.values }
    }

    /// Result of the half, as values.
    fn done(&mut self, packet: &Packet) -> HalfDone {
        let exchange = self.exchange();
        let layout = exchange.layout;
        HalfDone {
            output: exchange.read(&layout.roles[2]),
            carried: layout.carried().map(|(way, node)| (way, exchange.read(node))).collect(),
            frame: packet.frame().to_vec(),
        }
    }

    /// Requests of the packet, indexed as in [`asked`](crate::layout::asked).
    fn asked(&mut self) -> [u64; asked::FIELDS.len()] {
        let exchange = self.exchange();
        let homes = exchange.layout.half.as_ref().map(|homes| homes.asked).unwrap_or_default();
        homes.map(|field| field.map_or(0, |index| exchange.scalar(index) as u64))
    }

    /// Writes a packet's carried metadata to the frame; metadata of other paths is zero.
    fn take_along(&mut self, carried: Option<&(Carried, Value)>) {
        self.take_nothing_along();
        let mut exchange = self.exchange();
        if let Some((by, value)) = carried
            && let Some(node) = exchange.layout.carried_by(*by)
        {
            exchange.write(node, value);
        }
    }

    /// Puts zeros there.
    fn take_nothing_along(&mut self) {
        let mut exchange = self.exchange();
        exchange.layout.carried().for_each(|(_, node)| exchange.clear(node));
    }

    /// Copies the carried metadata for this path from another half's frame; metadata of other paths is zero.
    fn take_along_from(&mut self, other: &mut Native, by: Carried) {
        self.take_nothing_along();
        let (mut exchange, other) = (self.exchange(), other.exchange());
        if let (Some(node), Some(from)) = (exchange.layout.carried_by(by), other.layout.carried_by(by)) {
            exchange.copy(node, &other, from);
        }
    }
}
