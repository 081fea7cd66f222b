//! Links in real time: a thread for each moves frames from either end to the other.
//!
//! ```text
//!  end a ── source ──> queue ──> Medium (rate, loss, jitter) ──> under way ──> sink ── end b
//!        <── sink  <─────────────────────────────────────────────────────── source ──
//! ```
//!
//! A [`Medium`] decides the fate of each frame, as in `p4rack up`. A link without rate, delay or losses passes whole
//! batches on.

use agent::QueueDepths;
use base_time::{Duration, Rate, Rng, Time};
use dataplane_api::Port;
use dataplane_ports::{Batch, Cable, CaptureSink, Carrier, Sink, Source, Wait};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use rack_emulator::{Harm, Medium, Sent, medium};
use rack_model::Link;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Longest sleep of a wire.
const NAP: std::time::Duration = std::time::Duration::from_millis(500);

/// Tokens of the poll; the ends have 0 and 1.
const TIMER: Token = Token(2);
const WAKER: Token = Token(3);

/// End of a link.
pub struct End {
    source: Box<dyn Source>,
    sink: Box<dyn Sink>,
    /// Frames that come from there, and frames that go there, are recorded.
    pub captures: Option<(CaptureSink, CaptureSink)>,
    /// State of the switch's port there.
    carrier: Option<Carrier>,
    /// The switch's queues, and its port there: frames that it has sent wait here for the link.
    queue: Option<(Arc<QueueDepths>, Port)>,
}

impl End {
    /// An end of two parts.
    pub fn new(source: Box<dyn Source>, sink: Box<dyn Sink>) -> End {
        End { source, sink, captures: None, carrier: None, queue: None }
    }

    /// The other end of the cable of a switch's port; `queues` receives the number of frames that wait for the link.
    pub fn of_cable(Cable { sink, source }: Cable, queues: Arc<QueueDepths>, port: Port) -> End {
        let (carrier, queue) = (Some(sink.carrier()), Some((queues, port)));
        End { carrier, queue, ..End::new(Box::new(source), Box::new(sink)) }
    }
}

/// A link that moves frames. It ends when this is dropped.
pub struct Wire {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Takes a link down or up.
pub struct Lever(Arc<Shared>);

impl Lever {
    /// See [`Wire::set_down`].
    pub fn set_down(&self, is_down: bool) {
        self.0.is_down.store(is_down, Ordering::SeqCst);
        let _ = self.0.waker.wake();
    }
}

/// Counters of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct WireCount {
    /// Frames that came.
    pub received: u64,
    /// Frames that arrived at the other end.
    pub delivered: u64,
    /// Frames that did not: no room in the queue, lost by chance, too long, or the link was down.
    pub dropped: u64,
}

struct Shared {
    is_down: AtomicBool,
    ends: AtomicBool,
    counts: [Counts; 2],
    waker: Arc<Waker>,
}

impl Shared {
    fn counts(&self) -> [WireCount; 2] {
        [0, 1].map(|at| {
            let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
            let Counts { received, delivered, dropped } = &self.counts[at];
            WireCount { received: of(received), delivered: of(delivered), dropped: of(dropped) }
        })
    }
}

#[derive(Default)]
struct Counts {
    received: AtomicU64,
    delivered: AtomicU64,
    dropped: AtomicU64,
}

impl Wire {
    /// Joins two ends. Times count from `started`; `rng` is the lab's.
    pub fn join(link: &Link, ends: [End; 2], rng: &Rng, started: Instant) -> io::Result<Wire> {
        let run = Run::new(link, ends, rng, started)?;
        let shared = Arc::clone(&run.shared);
        let thread = std::thread::Builder::new().name("link".to_string()).spawn(move || run.run())?;
        Ok(Wire { shared, thread: Some(thread) })
    }

    /// Takes the link down or up. Frames in flight on a link that goes down are lost.
    pub fn set_down(&self, is_down: bool) {
        self.lever().set_down(is_down);
    }

    /// Takes the link down or up from another thread.
    pub fn lever(&self) -> Lever {
        Lever(Arc::clone(&self.shared))
    }

    /// True while the link is down.
    pub fn is_down(&self) -> bool {
        self.shared.is_down.load(Ordering::SeqCst)
    }

    /// Counters, from the first end to the second and back.
    pub fn counts(&self) -> [WireCount; 2] {
        self.shared.counts()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        let _ = self.shared.waker.wake();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// One direction of a link, with the frames that wait for it and those in flight.
struct Direction {
    medium: Medium,
    /// With the time at which each came.
    queue: VecDeque<(Time, Vec<u8>)>,
    /// Bytes of these on the wire.
    waiting: u64,
    rate: Rate,
    overhead: u64,
    /// With the time at which each arrives, in that order.
    flying: VecDeque<(Time, Vec<u8>)>,
    capacity: usize,
    longest: usize,
}

impl Direction {
    /// Takes a frame; false if there is no room for it.
    fn come(&mut self, frame: Vec<u8>, now: Time) -> bool {
        let has_room = self.queue.len() < self.capacity;
        if has_room {
            self.waiting += self.on_wire(&frame);
            self.queue.push_back((now, frame));
        }
        has_room
    }

    fn on_wire(&self, frame: &[u8]) -> u64 {
        frame.len() as u64 + self.overhead
    }

    /// When a frame that comes now would start.
    fn free_at(&self) -> Time {
        self.medium.free_at + self.rate.time_for(self.waiting)
    }

    /// Number of frames that wait.
    fn depth(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    /// Starts frames whose turn has come; returns the number of losses. A late thread makes up for it: a frame starts
    /// when the previous one has ended, not when the thread runs.
    fn send(&mut self, now: Time) -> u64 {
        let mut lost = 0;
        while self.medium.free_at <= now {
            let Some((came, mut frame)) = self.queue.pop_front() else { break };
            self.waiting -= self.on_wire(&frame);
            let begins = self.medium.free_at.max(came);
            match self.medium.send(&mut frame, begins) {
                Sent::Arrives(at) => self.fly(at, frame),
                Sent::ArrivesTwice(at) => {
                    self.fly(at, frame.clone());
                    self.fly(at, frame);
                }
                Sent::Lost | Sent::Cut | Sent::TooLong => lost += 1,
            }
        }
        lost
    }

    fn fly(&mut self, arrival: Time, frame: Vec<u8>) {
        let later = self.flying.iter().rev().take_while(|(at, _)| *at > arrival).count();
        self.flying.insert(self.flying.len() - later, (arrival, frame));
    }

    /// When there is something to do.
    fn deadline(&self) -> Option<Time> {
        let arrival = self.flying.front().map(|(at, _)| *at);
        let sends = (!self.queue.is_empty()).then_some(self.medium.free_at);
        [arrival, sends].into_iter().flatten().min()
    }
}

struct Run {
    shared: Arc<Shared>,
    ends: [End; 2],
    directions: [Direction; 2],
    /// Nothing happens to frames.
    is_plain: bool,
    was_down: bool,
    poll: Poll,
    timer: TimerFd,
    started: Instant,
    batch: Batch,
}

impl Run {
    fn new(link: &Link, ends: [End; 2], rng: &Rng, started: Instant) -> io::Result<Run> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        poll.registry().register(&mut SourceFd(&timer.as_fd().as_raw_fd()), TIMER, Interest::READABLE)?;
        let shared = Arc::new(Shared {
            is_down: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            counts: Default::default(),
            waker,
        });
        let is_plain = link.rate == lab_model::UNLIMITED
            && link.delay == Duration::ZERO
            && link.jitter == Duration::ZERO
            && [link.loss, link.corrupt, link.duplicate, link.reorder].iter().all(|share| share.ppb() == 0);
        let direction = |number: u64| Direction {
            medium: medium(link, |label| rng.split(label).split_index(number)),
            queue: VecDeque::new(),
            waiting: 0,
            rate: link.rate,
            overhead: link.overhead.into(),
            flying: VecDeque::new(),
            capacity: link.queue as usize,
            longest: link.longest_frame() as usize,
        };
        let mut run = Run {
            shared,
            ends,
            directions: [direction(0), direction(1)],
            is_plain,
            was_down: false,
            poll,
            timer,
            started,
            batch: Batch::default(),
        };
        run.register()?;
        Ok(run)
    }

    fn register(&mut self) -> io::Result<()> {
        for (number, end) in self.ends.iter_mut().enumerate() {
            if let Wait::Readable(file) = end.source.wait(&self.shared.waker) {
                self.poll.registry().register(&mut SourceFd(&file), Token(number), Interest::READABLE)?;
            }
        }
        Ok(())
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(8);
        while !self.shared.ends.load(Ordering::SeqCst) {
            self.follow();
            let now = self.now();
            let is_busy = (0..2).fold(false, |busy, from| self.receive(from, now) | busy);
            for from in 0..2 {
                self.pass(from, now);
                if let Some((queues, port)) = &self.ends[from].queue {
                    let direction = &self.directions[from];
                    queues.set(*port, direction.depth(), direction.free_at());
                }
            }
            if is_busy {
                continue;
            }
            for end in &mut self.ends {
                // A capture that cannot be written does not stop the link.
                if let Some((from, to)) = &mut end.captures {
                    let _ = from.flush().and_then(|()| to.flush());
                }
                end.source.wait(&self.shared.waker);
            }
            self.sleep(&mut events);
        }
        for end in &mut self.ends {
            if let Some((from, to)) = &mut end.captures {
                let _ = from.flush().and_then(|()| to.flush());
            }
        }
    }

    /// Applies the lab's changes to the link.
    fn follow(&mut self) {
        let is_down = self.shared.is_down.load(Ordering::SeqCst);
        if is_down == self.was_down {
            return;
        }
        self.was_down = is_down;
        for carrier in self.ends.iter().filter_map(|end| end.carrier.as_ref()) {
            carrier.set(!is_down);
        }
        for (direction, counts) in self.directions.iter_mut().zip(&self.shared.counts) {
            let harm = Harm { is_down, ..Harm::default() };
            let flying = direction.flying.len() as u64;
            if direction.medium.suffer(harm, flying) {
                direction.flying.clear();
                counts.dropped.fetch_add(flying, Ordering::Relaxed);
            }
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + Duration::from_ns(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Receives frames from one end; true if there were any.
    fn receive(&mut self, from: usize, now: Time) -> bool {
        self.batch.clear();
        // An end that is gone gives nothing any more.
        let _ = self.ends[from].source.receive(0, &mut self.batch);
        let (came, long) = (self.batch.came(), self.batch.take_long());
        if came == 0 && long.is_none() {
            return false;
        }
        let counts = &self.shared.counts[from];
        let (mut delivered, mut dropped) = (0, 0);
        let [a, b] = &mut self.ends;
        let (near, far) = if from == 0 { (a, b) } else { (b, a) };
        let direction = &mut self.directions[from];
        if let Some((capture, _)) = &mut near.captures {
            for packet in &self.batch.packets()[..came] {
                capture.send_frame(packet.frame(), now);
            }
        }
        if self.is_plain && !self.was_down {
            let fits =
                |at: &usize, batch: &mut Batch| batch.packets()[*at].frame().len() <= direction.longest;
            let which: Vec<usize> = (0..came).filter(|at| fits(at, &mut self.batch)).collect();
            if let Some((_, capture)) = &mut far.captures {
                for at in &which {
                    capture.send_frame(self.batch.packets()[*at].frame(), now);
                }
            }
            delivered += far.sink.send(self.batch.packets(), &which, now) as u64;
            far.sink.wake();
            dropped += came as u64 - delivered;
            let _ = far.sink.flush();
        } else {
            for at in 0..came {
                let frame = self.batch.packets()[at].frame().to_vec();
                dropped += u64::from(!direction.come(frame, now));
            }
        }
        let has_long = long.is_some();
        if let Some(frame) = long {
            if let Some((capture, _)) = &mut near.captures {
                capture.send_frame(&frame, now);
            }
            dropped += u64::from(!direction.come(frame, now));
        }
        counts.received.fetch_add(came as u64 + u64::from(has_long), Ordering::Relaxed);
        counts.delivered.fetch_add(delivered, Ordering::Relaxed);
        counts.dropped.fetch_add(dropped, Ordering::Relaxed);
        true
    }

    /// Sends waiting frames and delivers arrived ones.
    fn pass(&mut self, from: usize, now: Time) {
        let direction = &mut self.directions[from];
        let lost = direction.send(now);
        let counts = &self.shared.counts[from];
        counts.dropped.fetch_add(lost, Ordering::Relaxed);
        let far = &mut self.ends[1 - from];
        let mut any = false;
        while direction.flying.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, frame)) = direction.flying.pop_front() else { break };
            if let Some((_, capture)) = &mut far.captures {
                capture.send_frame(&frame, now);
            }
            let count = if far.sink.send_frame(&frame, now) { &counts.delivered } else { &counts.dropped };
            count.fetch_add(1, Ordering::Relaxed);
            any = true;
        }
        if any {
            let _ = far.sink.flush();
        }
    }

    /// Until something comes, or a frame is due.
    fn sleep(&mut self, events: &mut Events) {
        let deadline = self.directions.iter().filter_map(Direction::deadline).min();
        if let Some(at) = deadline {
            let rest = at.since(self.now().min(at)).as_ns().max(1_000);
            let rest = TimeSpec::from(std::time::Duration::from_nanos(rest));
            let _ = self.timer.set(Expiration::OneShot(rest), TimerSetTimeFlags::empty());
        }
        if self.poll.poll(events, Some(NAP)).is_err() {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        if events.iter().any(|event| event.token() == TIMER) {
            // A timer that is set again is no longer readable.
            let _ = self.timer.unset();
        }
    }
}

#[cfg(test)]
mod tests;
