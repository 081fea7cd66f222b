//! The network of one job in virtual time. In one tier all hosts are at switch 0:
//!
//! ```text
//! hosts of mappers ── switch 0 ── reducer
//! ```
//!
//! In two tiers, half of the hosts are in the rack of the reducer, and switch 2 connects the racks and folds nothing:
//!
//! ```text
//! hosts ── switch 0 ── switch 2 ── switch 1 ── reducer
//!                                     └── other hosts
//! ```

use base_time::{Duration, Rng, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A sender or receiver of packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// A mapper, by channel.
    Mapper(u16),
    /// The reducer.
    Reducer,
    /// A switch.
    Switch(u16),
}

/// Hosts and switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Mappers.
    pub mappers: u16,
    /// Mappers of a host, which share its link; at least 1.
    pub per_host: u16,
    /// Racks: with two, the second half of the hosts is far from the reducer.
    pub has_two_tiers: bool,
}

impl Shape {
    /// True if a mapper is not in the rack of the reducer.
    pub fn is_far(&self, mapper: u16) -> bool {
        let hosts = self.mappers.div_ceil(self.per_host);
        self.has_two_tiers && mapper / self.per_host >= hosts / 2
    }

    /// Switches that may fold.
    pub fn switches(&self) -> u16 {
        if self.has_two_tiers { 2 } else { 1 }
    }

    fn home(&self, node: Node) -> Node {
        match node {
            Node::Mapper(mapper) if !self.has_two_tiers || self.is_far(mapper) => Node::Switch(0),
            Node::Mapper(_) | Node::Reducer => Node::Switch(self.switches() - 1),
            Node::Switch(_) => node,
        }
    }

    /// The next node on the path, and the host's first mapper as the end of a host's link.
    fn next(&self, at: Node, to: Node) -> Node {
        let end = |node| match node {
            Node::Mapper(mapper) => Node::Mapper(mapper / self.per_host * self.per_host),
            other => other,
        };
        match at {
            Node::Mapper(_) | Node::Reducer => self.home(at),
            Node::Switch(_) if self.home(to) == at => end(to),
            Node::Switch(2) => self.home(to),
            Node::Switch(_) => Node::Switch(2),
        }
    }
}

/// Properties of all links.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Links {
    /// Bits per second.
    pub rate: u64,
    /// Time from end to end.
    pub delay: Duration,
    /// Bytes that wait at a switch's port before packets are dropped.
    pub queue: u64,
    /// Bytes that wait at a port before packets are marked (ECN).
    pub marks: u64,
    /// Packets lost on a link, of a million.
    pub loss_ppm: u32,
    /// A host whose link has a tenth of the rate, by its first mapper.
    pub slow: Option<u16>,
}

impl Links {
    /// Links of a rate, with 5 us from end to end, 512 KiB of queue and marks from 64 KiB on.
    pub fn of(rate: u64) -> Links {
        let (queue, marks) = (512 << 10, 64 << 10);
        Links { rate, delay: Duration::from_us(5), queue, marks, loss_ppm: 0, slow: None }
    }
}

/// Packets of a direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Load {
    /// Bytes on the wire.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// Machines of all hosts and switches of a job.
pub trait System {
    /// A packet.
    type Packet: Clone;
    /// Bytes on a link, with everything around the payload.
    fn bytes(&self, packet: &Self::Packet) -> u64;
    /// A packet that no full queue or lossy link drops, because the system requests it until it arrives.
    fn is_kept(&self, _packet: &Self::Packet) -> bool {
        false
    }
    /// Reaction of a switch that may fold: packets with source and destination.
    fn pass(
        &mut self,
        switch: u16,
        ends: (Node, Node),
        packet: Self::Packet,
        is_marked: bool,
    ) -> Vec<(Node, Node, Self::Packet)>;
    /// A packet reaches a host.
    fn arrive(&mut self, at: Node, now: Time, packet: &Self::Packet, is_marked: bool);
    /// A packet to send now.
    fn poll(&mut self, at: Node, now: Time) -> Option<(Node, Self::Packet)>;
    /// When [`System::poll`] may next have a packet, if nothing arrives.
    fn deadline(&self, at: Node) -> Option<Time>;
    /// The reducer has all that it waits for.
    fn is_done(&self) -> bool;
    /// A switch loses its state.
    fn restart(&mut self, switch: u16);
}

/// Course of a job.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Course {
    /// Time of the end; none if the job did not end in [`LIMIT`].
    pub time: Option<Time>,
    /// The reducer's link, towards it.
    pub to: Load,
    /// The reducer's link, from it.
    pub from: Load,
    /// Time at which the hosts of mappers had sent everything that they sent.
    pub sent: Time,
    /// Packets dropped by full queues.
    pub dropped: u64,
    /// Packets lost on links.
    pub lost: u64,
}

/// Virtual time after which a job is said never to end.
pub const LIMIT: Duration = Duration::from_s(60);

enum Event<P> {
    /// A packet reaches the end of a link.
    Arrival {
        at: Node,
        ends: (Node, Node),
        packet: P,
        is_marked: bool,
    },
    /// A host, by its first mapper, may have a packet.
    Wake(Node),
    Restart(u16),
}

struct Network<'a, S: System> {
    shape: Shape,
    links: Links,
    system: &'a mut S,
    events: BTreeMap<(Time, u64), Event<S::Packet>>,
    numbers: u64,
    now: Time,
    /// When each direction of a link has sent all that waits.
    busy: BTreeMap<(Node, Node), Time>,
    wakes: BTreeMap<Node, Time>,
    /// The mapper of each host that sends next.
    turns: BTreeMap<Node, u16>,
    chance: Rng,
    course: Course,
}

/// Runs a job to its end. Switches restart at `restarts`.
pub fn run<S: System>(
    system: &mut S,
    shape: Shape,
    links: Links,
    seed: u64,
    restarts: &[(Time, u16)],
) -> Course {
    let mut network = Network {
        shape,
        links,
        system,
        events: BTreeMap::new(),
        numbers: 0,
        now: Time::ZERO,
        busy: BTreeMap::new(),
        wakes: BTreeMap::new(),
        turns: BTreeMap::new(),
        chance: Rng::new(seed),
        course: Course::default(),
    };
    for (time, switch) in restarts {
        network.schedule(*time, Event::Restart(*switch));
    }
    network.run();
    network.course
}

impl<S: System> Network<'_, S> {
    fn schedule(&mut self, time: Time, event: Event<S::Packet>) {
        self.numbers += 1;
        self.events.insert((time, self.numbers), event);
    }

    fn run(&mut self) {
        let hosts: BTreeSet<Node> = (0..self.shape.mappers)
            .map(|mapper| Node::Mapper(mapper / self.shape.per_host * self.shape.per_host))
            .chain([Node::Reducer])
            .collect();
        hosts.iter().for_each(|host| self.serve(*host));
        while let Some(((time, _), event)) = self.events.pop_first() {
            if time.since(Time::ZERO) > LIMIT {
                return;
            }
            self.now = time;
            match event {
                Event::Wake(host) if self.wakes.get(&host) == Some(&time) => {
                    self.wakes.remove(&host);
                    self.serve(host);
                }
                Event::Wake(_) => {}
                Event::Restart(switch) => self.system.restart(switch),
                Event::Arrival { at, ends, packet, is_marked } => self.arrive(at, ends, packet, is_marked),
            }
            if self.system.is_done() {
                self.course.time = Some(self.now);
                return;
            }
        }
    }

    fn arrive(&mut self, at: Node, ends: (Node, Node), packet: S::Packet, is_marked: bool) {
        match at {
            Node::Switch(switch) if switch < self.shape.switches() => {
                for (from, to, packet) in self.system.pass(switch, ends, packet, is_marked) {
                    self.send(at, (from, to), packet, is_marked);
                }
            }
            Node::Switch(_) => self.send(at, ends, packet, is_marked),
            host => {
                self.system.arrive(ends.1, self.now, &packet, is_marked);
                self.serve(host);
            }
        }
    }

    /// Lets a host send while its link is free.
    fn serve(&mut self, host: Node) {
        let free = self.busy.get(&(host, self.shape.next(host, host))).copied().unwrap_or(Time::ZERO);
        if free > self.now {
            return self.wake(host, free);
        }
        let members: Vec<Node> = match host {
            Node::Mapper(first) => {
                let end = (first + self.shape.per_host).min(self.shape.mappers);
                let turn = self.turns.get(&host).copied().unwrap_or(0);
                let count = end - first;
                (0..count).map(|at| Node::Mapper(first + (at + turn) % count)).collect()
            }
            other => vec![other],
        };
        for member in &members {
            let Some((to, packet)) = self.system.poll(*member, self.now) else { continue };
            if let (Node::Mapper(first), Node::Mapper(mapper)) = (host, *member) {
                self.turns.insert(host, mapper - first + 1);
            }
            self.send(host, (*member, to), packet, false);
            return self.serve(host);
        }
        if let Some(next) = members.iter().filter_map(|member| self.system.deadline(*member)).min() {
            self.wake(host, next.max(self.now + Duration::from_us(1)));
        }
    }

    fn wake(&mut self, host: Node, time: Time) {
        if self.wakes.get(&host).is_none_or(|known| *known > time) {
            self.wakes.insert(host, time);
            self.schedule(time, Event::Wake(host));
        }
    }

    fn send(&mut self, at: Node, ends: (Node, Node), packet: S::Packet, is_marked: bool) {
        let next = self.shape.next(at, ends.1);
        let bytes = self.system.bytes(&packet);
        let is_slow = |node: Node| matches!((node, self.links.slow), (Node::Mapper(mapper), Some(slow)) if mapper == slow);
        let rate = if is_slow(at) || is_slow(next) { self.links.rate / 10 } else { self.links.rate };
        let time = |bytes: u64| {
            Duration::from_ps((u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.max(1))) as u64)
        };
        let free = self.busy.get(&(at, next)).copied().unwrap_or(Time::ZERO).max(self.now);
        let waits = free.since(self.now);
        // Hosts wait for their own link; the queues of switches overflow.
        let is_kept = self.system.is_kept(&packet);
        if matches!(at, Node::Switch(_)) && waits > time(self.links.queue) && !is_kept {
            self.course.dropped += 1;
            return;
        }
        let done = free + time(bytes);
        self.busy.insert((at, next), done);
        if matches!(at, Node::Mapper(_)) {
            self.course.sent = self.course.sent.max(done);
        }
        let is_to = next == Node::Reducer;
        if is_to || at == Node::Reducer {
            let load = if is_to { &mut self.course.to } else { &mut self.course.from };
            load.bytes += bytes;
            load.packets += 1;
        }
        if !is_kept && self.links.loss_ppm > 0 && self.chance.chance_ppm(self.links.loss_ppm) {
            self.course.lost += 1;
            return;
        }
        let is_marked = is_marked || waits > time(self.links.marks);
        self.schedule(done + self.links.delay, Event::Arrival { at: next, ends, packet, is_marked });
    }
}
