//! Interface between the emulator and host programs: timers and frames in, timers and frames out.

use crate::emulator::Emulator;
use crate::event::Event;
use crate::host::{Found, HostNode, Received};
use crate::log::Entry;
use crate::place::Reason;
use crate::running::workload_of;
use crate::watch::value_of;
use device_network::{Drive, Outcome, Owner, Place};
use host_programs::{Arrival, Desk, HostProgram, Socket, Sorted, Taken, Unused};

impl Emulator {
    /// A timer of a workload's program runs out.
    pub(crate) fn tick_program(&mut self, workload: u32, timer: u32) -> Outcome {
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
        let mut desk = Desk { now: self.network.now, tally: &mut running.tally, effects: &mut self.effects };
        let result = call(&mut *running.program, &mut desk, &self.hosts);
        let is_active = running.program.is_active();
        match (std::mem::replace(&mut running.is_active, is_active), is_active) {
            (true, false) => {
                self.active -= 1;
                self.inactive_since = self.network.now;
            }
            (false, true) => self.active += 1,
            _ => {}
        }
        for (timer, at) in &self.effects.wakes {
            let (workload, timer) = (workload as u32, *timer);
            self.network.schedule(*at, Event::Program { workload, timer });
        }
        self.effects.wakes.clear();
        result
    }

    /// Sends the frames that a workload's program wants sent.
    #[inline]
    fn send_all(&mut self, workload: u32) -> Outcome {
        if self.effects.frames.is_empty() {
            return Ok(());
        }
        let mut frames = std::mem::take(&mut self.effects.frames);
        let first = self.programs[workload as usize].first;
        for (pair, side, frame) in frames.drain(..) {
            let Some(ends) = self.pairs.get((first + pair) as usize) else { continue };
            Drive::send(self, ends.at(side), frame, Owner(workload))?;
        }
        self.effects.frames = frames;
        Ok(())
    }

    /// A frame has arrived at a host.
    pub(crate) fn host_receives(&mut self, host: u32, frame: Vec<u8>, owner: Owner) -> Outcome {
        let node = &mut self.hosts[host as usize];
        if let Some(kept) = &mut node.listener {
            kept.push(Received { at: self.network.now, frame });
            self.network.ends[host as usize].counts.absorbed += 1;
            return Ok(());
        }
        let result = self.host_takes(host, &frame, owner);
        self.effects.reuse(frame);
        result
    }

    /// The programs of a host take a frame, or nobody has a use for it.
    fn host_takes(&mut self, host: u32, frame: &[u8], owner: Owner) -> Outcome {
        let node = &self.hosts[host as usize];
        let reason = match node.find(frame) {
            Found::Pair(pair, sorted) => self.hand_over(host, (pair, frame), &sorted)?.err(),
            Found::Ping { pair, answer } => {
                pair.into_iter().for_each(|pair| self.watch(pair, host, frame));
                self.network.ends[host as usize].counts.absorbed += 1;
                return Drive::send(self, host, answer, owner);
            }
            Found::Nobody(reason, pair) => {
                pair.into_iter().for_each(|pair| self.blame(pair, host, reason));
                Some(reason)
            }
        };
        let Some(reason) = reason else { return Ok(()) };
        let rest = self.hosts[host as usize].sockets.get(Socket::Rest);
        if let (Some(pair), false) = (rest, reason.is_corruption())
            && self.hand_over(host, (pair, frame), &Sorted::default())?.is_ok()
        {
            return Ok(());
        }
        self.network.ends[host as usize].counts.dropped += 1;
        self.drop_at(Place::End(host), Reason::Unused(reason), owner);
        Ok(())
    }

    /// Lets the program of a pair look at a frame that has arrived at a host; an error if it has no use for it.
    fn hand_over(
        &mut self,
        host: u32,
        (pair, frame): (u32, &[u8]),
        sorted: &Sorted<'_>,
    ) -> Outcome<Result<(), Unused>> {
        let Some(ends) = self.pairs.get(pair as usize) else { return Ok(Err(Unused::NoReceiver)) };
        let (to, side) = (ends.to, ends.side_of(host));
        let workload = workload_of(&self.programs, pair);
        let number = pair - self.programs[workload].first;
        let taken = self.with_program(workload, |program, desk, hosts| {
            let station = &hosts[host as usize].station;
            let arrival = Arrival { pair: number, side, frame, sorted, station };
            program.frame(&arrival, desk)
        });
        if let Taken::Unused(reason) = taken {
            self.send_all(workload as u32)?;
            return Ok(Err(reason));
        }
        self.watch_of(workload, to == host, frame);
        self.network.ends[host as usize].counts.absorbed += 1;
        if let Taken::Received(sequence) = taken {
            self.log(Entry::Received { host, flow: pair, sequence });
        }
        self.send_all(workload as u32)?;
        Ok(Ok(()))
    }

    /// Counts a changed frame for the pair that it seems to be of.
    fn blame(&mut self, pair: u32, host: u32, reason: Unused) {
        let ends = self.pairs.get(pair as usize);
        if ends.is_some_and(|ends| ends.side_of(host).is_some()) {
            let workload = workload_of(&self.programs, pair);
            self.programs[workload].tally.corrupt(reason);
        }
    }

    /// Counts the header fields that a workload watches, of a frame of one of its pairs that has arrived at a host.
    fn watch(&mut self, pair: u32, host: u32, frame: &[u8]) {
        let Some(ends) = self.pairs.get(pair as usize) else { return };
        self.watch_of(workload_of(&self.programs, pair), ends.to == host, frame);
    }

    /// The same of a workload's pair, at its receiver or not.
    #[inline]
    fn watch_of(&mut self, workload: usize, is_receiver: bool, frame: &[u8]) {
        for (at, field) in self.rack.workloads[workload].watch.iter().enumerate() {
            let values = self.watched[workload].entry((at, is_receiver)).or_default();
            values.add(value_of(*field, frame));
        }
    }
}
