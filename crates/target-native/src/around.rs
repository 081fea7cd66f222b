//! What comes of packets that wait, are copied or start again.
//!
//! ```text
//! ingress ─┬─ waits ──────────────────────────────────────────> queue ──> egress ──> out, sent
//!          └─ leaves: manage ─┬─ clones, members of a group ──>  │          │ leaves: end_egress
//!    again ^                  └─ resubmitted ──> again           └<─ clone ─┴─ out, recirculated ──> again
//! ```
//!
//! Copies are made by the interpreter's traffic manager, of packets as values; the program runs on them as machine code. Each
//! function has the interpreter's way beside its own, for packets that are too long for a buffer.

use crate::access::Access;
use crate::engine::{Native, Ran, Start};
use crate::frames::Work;
use crate::machine::Part;
use crate::parked::Parked;
use crate::runtime::{Leaving, To};
use base_time::Time;
use dataplane_api::{EgressResult, Output, QueueRecord, Queued, QueuedPacket};
use device::embed::{Left, PacketParts, Stay};
use device::stage::BlockName;
use std::collections::VecDeque;

impl Native {
    /// All that comes of a packet that left the code, queues empty.
    pub(crate) fn finish(
        &mut self,
        host: &mut Access,
        parts: PacketParts,
        at: Left,
        now: Time,
        outputs: &mut Vec<Output>,
    ) {
        let mut waiting = VecDeque::new();
        match at {
            Left::Ingress => waiting.extend(self.manage(host, parts, now)),
            Left::Egress => {
                let result = self.end_egress(host, parts, now);
                self.gather(host, result, &mut waiting, outputs, now);
            }
        }
        self.drain(host, waiting, outputs, now);
    }

    /// All that comes of packets that wait, queues empty.
    pub(crate) fn drain(
        &mut self,
        host: &mut Access,
        mut waiting: VecDeque<Queued>,
        outputs: &mut Vec<Output>,
        now: Time,
    ) {
        while let Some(queued) = waiting.pop_front() {
            let queue = QueueRecord { enqueued: now, ..QueueRecord::default() };
            let result = self.leave_queue(host, queued, queue, now);
            self.gather(host, result, &mut waiting, outputs, now);
        }
    }

    fn gather(
        &mut self,
        host: &mut Access,
        result: EgressResult,
        waiting: &mut VecDeque<Queued>,
        outputs: &mut Vec<Output>,
        now: Time,
    ) {
        outputs.extend(result.output);
        waiting.extend(result.requeued);
        for packet in result.again {
            waiting.extend(self.start_again(host, packet, now));
        }
    }

    /// The traffic manager, and what is resubmitted: what waits for egress then.
    pub(crate) fn manage(&mut self, host: &mut Access, parts: PacketParts, now: Time) -> Vec<Queued> {
        let (mut queued, again) = host.host().manage(parts, now);
        let again = again.into_iter().map(|parts| Work::Again(Box::new(parts))).collect();
        queued.extend(self.run_works(host, again, now));
        queued
    }

    /// A packet that was recirculated: what waits for egress then.
    pub(crate) fn start_again(&mut self, host: &mut Access, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        let parts = host.host().dequeue(packet);
        let again = parts.into_iter().map(|parts| Work::Again(Box::new(parts))).collect();
        self.run_works(host, again, now)
    }

    /// Adds the packet in the frame, if it is to wait for egress.
    #[inline(always)]
    pub(crate) fn wait(&mut self, mut room: Box<Parked>, queued: &mut Vec<Queued>) {
        let Some(replica) = room.packet.waits() else {
            return self.free.push(room);
        };
        // What `packet_length` will be in egress.
        let length = self.build.layout.registers.length;
        let length = self.exchange().scalar(length) as i64;
        room.exchange(&mut self.memory, &mut self.values);
        let bytes = u32::try_from(length.max(0)).unwrap_or(u32::MAX);
        queued.push(Queued { replica, bytes, packet: room });
    }

    /// Egress, and all that follows.
    pub(crate) fn leave_queue(
        &mut self,
        host: &mut Access,
        queued: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> EgressResult {
        let stay = host.host().stay(queue, now);
        let (mut room, ran);
        match self.fetch(queued.packet) {
            Ok(parked) => {
                room = parked;
                room.packet.drop();
                let start = Start::Frame(stay, room.life.take());
                ran = self.run(host, Part::Egress, std::slice::from_mut(&mut room.packet), start, now);
            }
            Err(packet) => {
                let Some(parts) = host.host().dequeue(packet) else { return EgressResult::default() };
                room = self.room();
                if !self.build.has_all([Part::Egress], host.host().program()) || !room.receive(&parts) {
                    self.free.push(room);
                    return host.host().interpret_egress(parts, stay, now);
                }
                ran = self.run_values(host, Part::Egress, &mut room, parts, stay, now);
            }
        }
        host.count(0, ran.sent);
        if let Some(left) = ran.left
            && let Leaving { to: To::Copies(parts, _), .. } = *left
        {
            self.free.push(room);
            return self.end_egress(host, parts, now);
        }
        let output = room.output(&mut self.outputs);
        self.free.push(room);
        EgressResult { output, ..EgressResult::default() }
    }

    /// What follows egress for a packet that asked for a clone or to be recirculated.
    fn end_egress(&mut self, host: &mut Access, mut parts: PacketParts, now: Time) -> EgressResult {
        let mut room = self.room();
        if !self.build.has_all([Part::Out], host.host().program()) || !room.receive(&parts) {
            self.free.push(room);
            return host.host().end_egress(parts, now);
        }
        let life = parts.life.get_or_insert_with(|| host.host().new_life()).clone();
        let mut result =
            EgressResult { requeued: host.host().clone_egress(&mut parts), ..EgressResult::default() };
        let list = parts.effects.recirculate.take();
        if list.is_some() {
            parts.effects.truncate = None;
        }
        let Ran { sent, .. } = self.run_values(host, Part::Out, &mut room, parts, Stay::default(), now);
        match (room.output(&mut self.outputs), list) {
            (Some(output), Some(list)) => {
                let parts = self.job(host, Part::Whole, now).1.parts(BlockName::Compute);
                let parts = PacketParts { life: Some(life), ..parts };
                result.again.extend(host.host().recirculate(parts, output.frame, list));
            }
            (output, _) => {
                host.count(0, sent);
                result.output = output;
            }
        }
        self.free.push(room);
        result
    }

    /// Runs a packet that is values, and whose bytes are in `room`.
    fn run_values(
        &mut self,
        host: &mut Access,
        part: Part,
        room: &mut Parked,
        parts: PacketParts,
        stay: Stay,
        now: Time,
    ) -> Ran {
        let start = Start::Values(Box::new(parts), stay);
        self.run(host, part, std::slice::from_mut(&mut room.packet), start, now)
    }
}
