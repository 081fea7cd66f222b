//! A lane: receive, run, send, and wait when nothing comes.

use crate::batch::{BATCH, Batch};
use crate::by_port::ByPort;
use crate::leaving::Leaving;
use crate::outlet::{Ports, Sources};
use crate::path::{Passed, Path};
use crate::port::{Source, Wait};
use crate::sampler::{Sample, Sampler};
use base_time::{Duration, Time};
use control_writes::PortCount;
use crossbeam_channel::Sender;
use dataplane_api::{Output, Port};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use target_native::{Fate, Packet, Turns, Worker};

/// Maximum number of ports with separate counts: programs may send to any number.
const MOST_PORTS: usize = 1024;

/// Most frames that run together: the more, the more leave by a port at a time.
const TOGETHER: usize = 8 * BATCH;

/// Frames of a source in the first round of a program, of which nobody knows yet how long it takes for one.
const AT_FIRST: usize = BATCH / 4;

/// Time that a round should take at most: the owner, and all who ask it, wait for its end.
const ROUND: Duration = Duration::from_ms(2);

/// Packets that are sent before receivers are woken, if a round has so many: the more, the fuller are the trays of a cable.
const UNTIL_WOKEN: usize = 8 * TOGETHER;

/// Longest sleep of a lane, so that sources that cannot wake it are served.
const NAP: std::time::Duration = std::time::Duration::from_millis(100);

/// Sleep while a source waits for room.
const SHORT_NAP: std::time::Duration = std::time::Duration::from_micros(100);

/// EtherType of hand-overs between devices of a rack (`ETHER_TYPE` in `ir-split`).
const HAND_OVER: [u8; 2] = [0x88, 0xb5];

/// State shared by a lane and the thread that owns the device.
pub(crate) struct Turn {
    /// The lane has it for a round, the owner to change it: nothing runs meanwhile.
    pub(crate) state: Turns<State>,
    pub(crate) ends: AtomicBool,
    /// See [`Lanes::lost`](crate::Lanes::lost).
    pub(crate) lost: AtomicU64,
    pub(crate) waker: Arc<Waker>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Switch that runs frames; without it they are passed to the owner.
    runs: Option<Runs>,
    pub(crate) counts: ByPort<PortCount>,
    /// See [`Lanes::hand_overs`](crate::Lanes::hand_overs).
    pub(crate) hand_overs: ByPort<u64>,
    /// Frames for the controller.
    pub(crate) sampler: Sampler,
    /// Port states as reported to the owner: a port is up until it is reported down.
    pub(crate) links: ByPort<bool>,
    /// Change for the lane's next round.
    pub(crate) change: Change,
}

/// Ports that come and go.
#[derive(Default)]
pub(crate) struct Change {
    /// All of the device.
    pub(crate) ports: Option<Ports>,
    /// Sources that are the lane's from now on.
    pub(crate) come: Sources,
    /// Ports that are removed.
    pub(crate) go: Vec<Port>,
}

impl Change {
    pub(crate) fn is_done(&self) -> bool {
        self.ports.is_none() && self.come.is_empty() && self.go.is_empty()
    }
}

struct Runs {
    worker: Worker,
    path: Path,
    /// Frames of a source that run in a round.
    together: usize,
}

/// Number of frames of a source that run in the next round: fewer after a round that was too long, more after a short one in which a source had as many.
fn next_together(together: usize, most_came: usize, took: Duration) -> usize {
    if took > ROUND {
        let fewer = together as u64 * ROUND.as_ns() / took.as_ns();
        return (fewer as usize).max(1);
    }
    let is_short = took.as_ns() < ROUND.as_ns() / 4;
    if is_short && most_came >= together { (2 * together).min(TOGETHER) } else { together }
}

/// A thread that receives, runs and sends frames.
pub(crate) struct Lane {
    turn: Arc<Turn>,
    sources: Sources,
    ports: Ports,
    pass: Sender<Passed>,
    /// Lanes that pass on to the same.
    lanes: usize,
    started: Instant,
    poll: Poll,
    /// Frames that are run together.
    batch: Batch,
    /// Ports of arrival, and the number of frames from each, in order.
    came_by: Vec<(Port, u64)>,
    /// Frames of a port that are passed on.
    passing: Batch,
    leaving: Leaving,
}

/// Result of a round.
#[derive(Default)]
struct Round {
    /// Something came.
    is_busy: bool,
    /// A source waits for room.
    is_full: bool,
    deadline: Option<Time>,
    /// Most frames that came from one source.
    most_came: usize,
}

impl Turn {
    pub(crate) fn wake(&self) {
        // An owner that cannot be woken polls again after a while.
        let _ = self.waker.wake();
    }
}

impl State {
    /// Sets the switch that runs frames.
    pub(crate) fn set(&mut self, runs: Option<(&Path, Worker)>) {
        self.runs = runs.map(|(path, mut worker)| {
            worker.request_frames(HAND_OVER);
            Runs { worker, path: path.clone(), together: AT_FIRST }
        });
    }

    fn count(&mut self, port: Port, add: impl FnOnce(&mut PortCount)) {
        if let Some(count) = self.counts.get_mut(port) {
            add(count);
        } else if self.counts.len() < MOST_PORTS {
            let mut count = PortCount::default();
            add(&mut count);
            self.counts.insert(port, count);
        }
    }

    /// Counts the frames of a port that look like hand-overs.
    fn count_hand_overs<'f>(&mut self, port: Port, frames: impl Iterator<Item = &'f [u8]>) {
        let hand_overs = frames.filter(|frame| frame.get(12..14) == Some(&HAND_OVER[..]));
        hand_overs.for_each(|_| count_hand_over(&mut self.hand_overs, port));
    }
}

impl Lane {
    pub(crate) fn new(
        sources: Sources,
        ports: Ports,
        pass: Sender<Passed>,
        lanes: usize,
        started: Instant,
    ) -> io::Result<Lane> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Token(0))?);
        let (ends, lost) = (AtomicBool::new(false), AtomicU64::new(0));
        let links = sources.iter().map(|(port, _)| (*port, true)).collect();
        let state = Turns::new(State { links, ..State::default() });
        let turn = Arc::new(Turn { state, ends, lost, waker });
        let mut leaving = Leaving::default();
        leaving.resize(ports.len());
        let mut lane = Lane {
            turn,
            sources,
            leaving,
            ports,
            pass,
            lanes,
            started,
            poll,
            batch: Batch::of(TOGETHER),
            came_by: vec![],
            passing: Batch::default(),
        };
        lane.register()?;
        Ok(lane)
    }

    pub(crate) fn turn(&self) -> Arc<Turn> {
        Arc::clone(&self.turn)
    }

    /// Sources that are files wake the lane from now on, when there is something that was not there before.
    fn register(&mut self) -> io::Result<()> {
        for (_, source) in &mut self.sources {
            register(&self.poll, &self.turn.waker, source.as_mut())?;
        }
        Ok(())
    }

    /// Ports come and go between two rounds.
    fn change(&mut self, state: &mut State) {
        let Change { ports, come, go } = std::mem::take(&mut state.change);
        if let Some(ports) = ports {
            self.leaving.resize(ports.len());
            self.ports = ports;
        }
        self.sources.retain(|(port, _)| !go.contains(port));
        go.iter().for_each(|port| state.links.remove(*port));
        for (port, mut source) in come {
            if let Err(error) = register(&self.poll, &self.turn.waker, source.as_mut()) {
                // It is looked at after each nap all the same.
                tracing::warn!(port, %error, "the port cannot be waited for");
            }
            state.links.insert(port, true);
            self.sources.push((port, source));
        }
    }

    /// Runs until it is stopped.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(BATCH);
        while !self.turn.ends.load(Ordering::Relaxed) {
            let round = self.round();
            if round.is_busy {
                continue;
            }
            // Write captures to their files before the lane sleeps, so that readers see all frames.
            let _ = self.ports.flush();
            let nap = if round.is_full { SHORT_NAP } else { self.nap(round.deadline) };
            if self.poll.poll(&mut events, Some(nap)).is_err() {
                std::thread::sleep(SHORT_NAP);
            }
        }
        let _ = self.ports.flush();
    }

    /// Longest sleep of an idle lane; an arriving frame wakes it.
    fn nap(&mut self, deadline: Option<Time>) -> std::time::Duration {
        for (port, source) in &mut self.sources {
            if let Wait::Anew(files) = source.wait(&self.turn.waker)
                && let Err(error) = files.into_iter().try_for_each(|file| registered(&self.poll, file))
            {
                tracing::warn!(port, %error, "the port cannot be waited for");
            }
        }
        let due = deadline.map(|at| std::time::Duration::from_nanos(at.since(self.now()).as_ns()));
        due.map_or(NAP, |due| due.min(NAP))
    }

    fn now(&self) -> Time {
        Time::ZERO + Duration::from_ns(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Takes a batch of each source at most, as many frames as the program runs in [`ROUND`], and runs the timers that are due. Frames of several sources share a batch: many ports with
    /// a few frames each cost as much as one port with many.
    fn round(&mut self) -> Round {
        let turn = Arc::clone(&self.turn);
        let (mut state, mut round) = (turn.state.lock(), Round::default());
        if !state.change.is_done() {
            self.change(&mut state);
        }
        let began = self.now();
        if let Some(runs) = &state.runs {
            self.batch.limit(runs.together);
        }
        // Taken out of the lane, which the closure needs as a whole.
        let mut sources = std::mem::take(&mut self.sources);
        let mut ended = vec![];
        for at in 0..sources.len() {
            if let Some((_, next)) = sources.get_mut(at + 1) {
                next.request();
            }
            let (port, source) = &mut sources[at];
            let (port, passes) = (*port, state.passes(*port));
            if passes && source.keeps() && !self.has_room() {
                round.is_full = true;
                continue;
            }
            let error = match passes {
                true => self.take_to_pass(&mut state, port, source.as_mut(), &mut round),
                false => self.take_to_run(&mut state, port, source.as_mut(), &mut round),
            }
            .err();
            if let Some(error) = &error {
                tracing::warn!(port, %error, "no more frames will be received on this port");
                ended.push(port);
            }
            let is_up = error.is_none() && source.is_up();
            // If the queue is full, a later round reports the link.
            if state.links.get(port) != Some(&is_up) && self.pass.try_send(Passed::Link(port, is_up)).is_ok()
            {
                state.links.insert(port, is_up);
            }
        }
        sources.retain(|(port, _)| !ended.contains(port));
        self.sources = sources;
        self.run_batch(&mut state);
        round.deadline = self.tick(&mut state);
        if round.is_busy {
            let took = self.now().since(began);
            if let Some(runs) = &mut state.runs {
                runs.together = next_together(runs.together, round.most_came, took);
            }
        }
        self.ports.wake(&mut self.leaving);
        round
    }

    /// Takes a batch of a source and forwards it to the owner, which runs it.
    fn take_to_pass(
        &mut self,
        state: &mut State,
        port: Port,
        source: &mut dyn Source,
        round: &mut Round,
    ) -> io::Result<()> {
        self.passing.clear();
        let received = source.receive(port, &mut self.passing);
        round.is_busy |= !self.passing.is_empty();
        let came = self.passing.came();
        state.count_hand_overs(port, self.passing.packets()[..came].iter().map(|packet| packet.frame()));
        state.count_hand_overs(port, self.passing.long().into_iter());
        let now = self.now();
        for at in 0..came {
            let frame = self.passing.packets()[at].frame().to_vec();
            self.pass_on(Passed::Frame(port, now, frame));
        }
        if let Some(frame) = self.passing.take_long() {
            self.pass_on(Passed::Frame(port, now, frame));
        }
        received
    }

    /// Adds frames of a source to the batch, which is run whenever it is full, until about as many frames of the source have come as
    /// a batch has room for.
    fn take_to_run(
        &mut self,
        state: &mut State,
        port: Port,
        source: &mut dyn Source,
        round: &mut Round,
    ) -> io::Result<()> {
        let (mut came, most) = (0, self.batch.most());
        while came < most {
            let before = self.batch.came();
            let received = source.receive(port, &mut self.batch);
            let (count, is_full) = (self.batch.came() - before, self.batch.room().is_empty());
            let long = u64::from(self.batch.has_long());
            came += count;
            round.most_came = round.most_came.max(came);
            if count > 0 || long > 0 {
                round.is_busy = true;
                // The worker looks for the others: here they have not arrived yet.
                state.count_hand_overs(port, self.batch.long().into_iter());
                self.came_by.push((port, count as u64 + long));
            }
            if is_full {
                self.run_batch(state);
            }
            // A batch with room left says that the source has no more frames for now.
            if received.is_err() || !is_full {
                return received;
            }
        }
        Ok(())
    }

    /// True if a batch can be passed on regardless of other lanes.
    fn has_room(&self) -> bool {
        let most = self.pass.capacity().unwrap_or(usize::MAX);
        self.pass.len() + self.lanes * (BATCH + 1) <= most
    }

    fn pass_on(&self, passed: Passed) {
        if self.pass.try_send(passed).is_err() {
            self.turn.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs the received frames, and sends the results.
    fn run_batch(&mut self, state: &mut State) {
        let State { runs: Some(Runs { worker, path, .. }), sampler, hand_overs, .. } = state else { return };
        if self.batch.is_empty() {
            return self.came_by.clear();
        }
        let (now, cpu, came) = (self.now(), path.cpu_port, self.batch.came());
        let samples = match sampler.is_on() {
            true => sampled(sampler, &self.batch.packets()[..came]),
            false => vec![],
        };
        let outputs = worker.process(&mut self.batch.packets()[..came], now);
        worker.noted().iter().for_each(|port| count_hand_over(hand_overs, *port));
        for (at, sample) in samples {
            let sent = match self.batch.packets()[at].fate() {
                Fate::Sent(to) => Some(to),
                Fate::Elsewhere | Fate::Dropped => None,
            };
            let made = outputs.iter().zip(worker.came_of()).filter(|(_, of)| **of == at);
            sampler.add(sample, sent.into_iter().chain(made.map(|(output, _)| output.port)));
        }
        let mut others = outputs.into_iter().zip(worker.came_of().to_vec()).peekable();
        // It ended the batch, so it came by the last port.
        let long = self.batch.take_long().zip(self.came_by.last());
        let of_long = long.map(|(frame, (port, _))| {
            let sample = sampler.comes(*port, &frame);
            let outputs = worker.frame(*port, &frame, now);
            if let Some(sample) = sample {
                sampler.add(sample, outputs.iter().map(|output| output.port));
            }
            outputs
        });
        let mut next = 0;
        while let Some((at, fate)) = self.leave_by_ports(cpu, next..came) {
            next = at + 1;
            match fate {
                Fate::Sent(to) => self.leave(state, cpu, at, to),
                Fate::Elsewhere => {
                    while let Some((output, _)) = others.next_if(|(_, of)| *of == at) {
                        self.leave_as(state, cpu, &output, now);
                    }
                }
                Fate::Dropped => {}
            }
        }
        of_long.iter().flatten().for_each(|output| self.leave_as(state, cpu, output, now));
        self.send(state, now);
        for (port, received) in self.came_by.drain(..) {
            state.count(port, |count| count.received += received);
        }
        self.batch.clear();
    }

    /// Packets leave by ports of the device, up to the first one that has another fate. Gives that one.
    #[inline]
    fn leave_by_ports(&mut self, cpu: Option<Port>, which: Range<usize>) -> Option<(usize, Fate)> {
        let Lane { ports, batch, leaving, .. } = self;
        let first = which.start;
        for (at, packet) in batch.packets()[which].iter().enumerate() {
            match packet.fate() {
                Fate::Dropped => {}
                Fate::Sent(to)
                    if Some(to) != cpu
                        && let Some(port) = ports.position(to) =>
                {
                    leaving.add(port, first + at);
                }
                fate => return Some((first + at, fate)),
            }
        }
        None
    }

    /// The packet at a position leaves by a port.
    fn leave(&mut self, state: &mut State, cpu: Option<Port>, at: usize, to: Port) {
        if Some(to) == cpu {
            let frame = self.batch.packets()[at].frame().to_vec();
            return self.pass_on(Passed::ForControllers(frame));
        }
        let Some(position) = self.ports.position(to) else {
            return state.count(to, |count| count.sent += 1);
        };
        self.leaving.add(position, at);
    }

    /// Sends a frame that was made from others.
    fn leave_as(&mut self, state: &mut State, cpu: Option<Port>, output: &Output, now: Time) {
        match self.batch.add(&output.frame) {
            Some(at) => self.leave(state, cpu, at, output.port),
            None if Some(output.port) == cpu => self.pass_on(Passed::ForControllers(output.frame.clone())),
            None => {
                // After those that leave by the same port.
                self.send(state, now);
                self.ports.send(output.port, &output.frame, now);
                state.count(output.port, |count| count.sent += 1);
            }
        }
    }

    /// Sends the results.
    fn send(&mut self, state: &mut State, now: Time) {
        let Lane { ports, batch, leaving, .. } = self;
        let count = |port, packets| state.count(port, |count| count.sent += packets);
        ports.send_packets(leaving, batch.packets(), now, count);
        if leaving.sent >= UNTIL_WOKEN {
            ports.wake(leaving);
        }
    }

    /// Runs the program's timers that are due; gives when the next one is.
    fn tick(&mut self, state: &mut State) -> Option<Time> {
        let Runs { worker, path, .. } = state.runs.as_mut()?;
        let (deadline, now, cpu) = (worker.deadline()?, self.now(), path.cpu_port);
        if deadline > now {
            return Some(deadline);
        }
        let outputs = worker.tick(now);
        let next = worker.deadline();
        outputs.iter().for_each(|output| self.leave_as(state, cpu, output, now));
        self.send(state, now);
        self.batch.clear();
        next
    }
}

/// Counts a frame that looks like a hand-over.
fn count_hand_over(hand_overs: &mut ByPort<u64>, port: Port) {
    if let Some(count) = hand_overs.get_mut(port) {
        *count += 1;
    } else if hand_overs.len() < MOST_PORTS {
        hand_overs.insert(port, 1);
    }
}

/// The frames of a batch that are kept, each with its position.
fn sampled(sampler: &mut Sampler, packets: &[Packet]) -> Vec<(usize, Sample)> {
    let sample =
        |(at, packet): (usize, &Packet)| Some((at, sampler.comes(packet.in_port(), packet.frame())?));
    packets.iter().enumerate().filter_map(sample).collect()
}

/// Registers the file of a source, so that its frames wake the lane.
fn register(poll: &Poll, waker: &Arc<Waker>, source: &mut dyn Source) -> io::Result<()> {
    match source.wait(waker) {
        Wait::Readable(file) => registered(poll, file),
        Wait::Anew(files) => files.into_iter().try_for_each(|file| registered(poll, file)),
        Wait::Woken => Ok(()),
    }
}

/// All sources have the same token: a lane checks all of its sources.
fn registered(poll: &Poll, file: RawFd) -> io::Result<()> {
    poll.registry().register(&mut SourceFd(&file), Token(1), Interest::READABLE)
}

impl State {
    /// True if frames by a port are passed on.
    fn passes(&self, port: Port) -> bool {
        self.runs.as_ref().is_none_or(|runs| runs.path.numbers.check_port(port).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a program that takes `cost` for a frame, whose source always has more.
    fn after_rounds(mut together: usize, cost: Duration, rounds: usize) -> usize {
        for _ in 0..rounds {
            let took = Duration::from_ns(cost.as_ns() * together as u64);
            together = next_together(together, together, took);
        }
        together
    }

    #[test]
    fn rounds_become_as_long_as_they_may_be() {
        assert_eq!(after_rounds(AT_FIRST, Duration::from_ns(50), 5), TOGETHER);
        assert_eq!(after_rounds(TOGETHER, Duration::from_us(100), 1), 20);
        assert_eq!(after_rounds(TOGETHER, Duration::from_ms(1), 2), 2);
        assert_eq!(after_rounds(TOGETHER, Duration::from_ms(50), 9), 1);
        let together = after_rounds(AT_FIRST, Duration::from_us(40), 9);
        assert!((13..=50).contains(&together), "{together}");
    }

    #[test]
    fn rounds_with_few_frames_say_nothing_of_long_ones() {
        assert_eq!(next_together(16, 15, Duration::from_us(1)), 16);
        assert_eq!(next_together(16, 15, Duration::from_ms(4)), 8);
    }
}
