//! Where the emulator and host programs meet: timers and frames in, timers and frames out.

use crate::calendar::Event;
use crate::emulator::Emulator;
use crate::host::{Found, HostNode, Received};
use crate::log::Entry;
use crate::place::{Owner, Place, Reason};
use crate::running::workload_of;
use crate::violation::Violation;
use crate::watch::value_of;
use host_programs::packet::Ipv4;
use host_programs::stamp::Stamp;
use host_programs::{Arrival, Desk, HostProgram, Mac, Socket, Taken, Unused};
use rack_model::HostId;

impl Emulator {
    /// A timer of a workload's program runs out.
    pub(crate) fn tick_program(&mut self, workload: u32, timer: u32) -> Result<(), Box<Violation>> {
        self.with_program(workload as usize, |program, desk, _| program.tick(timer, desk));
        self.send_all(workload)
    }

    /// Calls a workload's program, which may look at the hosts' cards, and sets the timers that it wants. Its frames are sent by
    /// [`send_all`](Emulator::send_all).
    #[inline]
    fn with_program<R>(
        &mut self,
        workload: usize,
        call: impl FnOnce(&mut dyn HostProgram, &mut Desk<'_>, &[HostNode]) -> R,
    ) -> R {
        let running = &mut self.programs[workload];
        let mut desk = Desk { now: self.now, tally: &mut running.tally, effects: &mut self.effects };
        let result = call(&mut *running.program, &mut desk, &self.hosts);
        let is_active = running.program.is_active();
        match (std::mem::replace(&mut running.is_active, is_active), is_active) {
            (true, false) => {
                self.active -= 1;
                self.inactive_since = self.now;
            }
            (false, true) => self.active += 1,
            _ => {}
        }
        for (timer, at) in self.effects.wakes.drain(..) {
            let workload = workload as u32;
            self.calendar.schedule(at.max(self.now), Event::Program { workload, timer });
        }
        result
    }

    /// Sends the frames that a workload's program wants sent.
    fn send_all(&mut self, workload: u32) -> Result<(), Box<Violation>> {
        let mut frames = std::mem::take(&mut self.effects.frames);
        let first = self.programs[workload as usize].first;
        for (pair, side, frame) in frames.drain(..) {
            let Some(ends) = self.pairs.get((first + pair) as usize) else { continue };
            self.host_sends(ends.at(side) as usize, frame, Owner(workload))?;
        }
        self.effects.frames = frames;
        Ok(())
    }

    /// A frame has arrived at a host.
    pub(crate) fn host_receives(
        &mut self,
        id: HostId,
        frame: Vec<u8>,
        owner: Owner,
    ) -> Result<(), Box<Violation>> {
        let node = &mut self.hosts[id.0 as usize];
        node.counts.received += 1;
        if let Some(kept) = &mut node.listener {
            kept.push(Received { at: self.now, frame });
            node.counts.absorbed += 1;
            return self.check_host(id);
        }
        let reason = match node.find(&frame) {
            Found::Pair { pair, from, packet, stamp } => {
                self.hand_over(id, (pair, &frame), (from, packet, stamp))?.err()
            }
            Found::Ping { pair, answer } => {
                pair.into_iter().for_each(|pair| self.watch(pair, id, &frame));
                self.hosts[id.0 as usize].counts.absorbed += 1;
                return self.host_sends(id.0 as usize, answer, owner);
            }
            Found::Nobody(reason, pair) => {
                pair.into_iter().for_each(|pair| self.blame(pair, id, reason));
                Some(reason)
            }
        };
        let Some(reason) = reason else { return self.check_host(id) };
        let rest = self.hosts[id.0 as usize].sockets.get(&Socket::Rest).copied();
        if let (Some(pair), false) = (rest, reason.is_corruption())
            && self.hand_over(id, (pair, &frame), (Mac::default(), None, None))?.is_ok()
        {
            return self.check_host(id);
        }
        self.hosts[id.0 as usize].counts.dropped += 1;
        self.drop_at(Place::Host(id.0), Reason::Unused(reason), owner);
        self.check_host(id)
    }

    /// Lets the program of a pair look at a frame that has arrived at a host; an error if it has no use for it.
    fn hand_over(
        &mut self,
        id: HostId,
        (pair, frame): (u32, &[u8]),
        (from, packet, stamp): (Mac, Option<Ipv4<'_>>, Option<Stamp>),
    ) -> Result<Result<(), Unused>, Box<Violation>> {
        let Some(ends) = self.pairs.get(pair as usize) else { return Ok(Err(Unused::NoReceiver)) };
        let side = ends.side_of(id.0);
        let workload = workload_of(&self.programs, pair);
        let number = pair - self.programs[workload].first;
        let taken = self.with_program(workload, |program, desk, hosts| {
            let station = &hosts[id.0 as usize].station;
            let transport = packet.and_then(|packet| packet.transport());
            let arrival = Arrival { pair: number, side, frame, from, packet, transport, stamp, station };
            program.frame(&arrival, desk)
        });
        if let Taken::Unused(reason) = taken {
            self.send_all(workload as u32)?;
            return Ok(Err(reason));
        }
        self.watch(pair, id, frame);
        self.hosts[id.0 as usize].counts.absorbed += 1;
        if let Taken::Received(sequence) = taken {
            self.log(Entry::Received { host: id.0, flow: pair, sequence });
        }
        self.send_all(workload as u32)?;
        Ok(Ok(()))
    }

    /// Counts a changed frame for the pair that it seems to be of.
    fn blame(&mut self, pair: u32, host: HostId, reason: Unused) {
        let ends = self.pairs.get(pair as usize);
        if ends.is_some_and(|ends| ends.side_of(host.0).is_some()) {
            let workload = workload_of(&self.programs, pair);
            self.programs[workload].tally.corrupt(reason);
        }
    }

    /// Counts the header fields that a workload watches, of a frame of one of its pairs that has arrived at a host.
    #[inline]
    fn watch(&mut self, pair: u32, host: HostId, frame: &[u8]) {
        let Some(ends) = self.pairs.get(pair as usize) else { return };
        let workload = workload_of(&self.programs, pair);
        for (at, field) in self.rack.workloads[workload].watch.iter().enumerate() {
            let values = self.watched[workload].entry((at, ends.to == host.0)).or_default();
            values.add(value_of(*field, frame));
        }
    }
}
