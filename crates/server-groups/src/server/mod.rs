//! A server of a group: which flows it owns, and where the packets of others go.
//!
//! ```text
//!               previous = none ──────────────────────> Owned <──── not there ────┐
//! no entry ──<                                                                    │
//!               previous = p ──> Waiting (probe to p; packets are held) ──────────┤
//!                                   ^                                             └── there ──> Foreign (packets go to p)
//!                                   └── a packet came back: the flow has ended at p ─────────────────┘
//! ```
//!
//! The packets of a flow stay in order because each step waits for what went before: packets are held while a probe is out, and when
//! a flow has ended at the previous server, packets are held until all that went there have come back.

mod instructions;

use crate::flows::{Entry, Flows, Key, Wait};
use crate::{Counters, Frame, Hop, Member, Report, RowId};
use instructions::Closing;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bounds of a server's memory, and its patience.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Flows that it knows: owned, foreign, waiting.
    pub flows: usize,
    /// Flows that wait for an answer.
    pub waiting: usize,
    /// Packets held for one flow.
    pub held: usize,
    /// Packets held altogether.
    pub all_held: usize,
    /// An answer that takes longer is asked for again. In the caller's unit of time.
    pub patience: u64,
    /// Questions after which the held packets of a flow are dropped.
    pub tries: u8,
}

impl Default for Limits {
    fn default() -> Self {
        // 1 ms in nanoseconds: many round trips of a rack.
        let patience = 1_000_000;
        Limits { flows: 1 << 20, waiting: 4096, held: 64, all_held: 16_384, patience, tries: 4 }
    }
}

/// An effect of a server on its surroundings.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect<F, P> {
    /// The packet is processed here, with the state of the flow.
    Handle { flow: F, packet: P },
    /// The frame goes to another server, through the switch.
    Send { to: Member, frame: Frame<F, P> },
    /// The report goes to the controller.
    Report(Report<F>),
}

/// A server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Server<F, P> {
    me: Member,
    limits: Limits,
    alive: BTreeSet<Member>,
    version: u32,
    flows: Flows<F, P>,
    closing: BTreeMap<RowId<F>, Closing<F>>,
    /// Number of the last question.
    number: u16,
    /// Counters of the server.
    pub counters: Counters,
}

impl<F: Clone + Ord, P> Server<F, P> {
    /// A server that knows no other member and no flow.
    pub fn new(me: Member, limits: Limits) -> Self {
        Server {
            me,
            limits,
            alive: BTreeSet::from([me]),
            version: 0,
            flows: Flows::new(),
            closing: BTreeMap::new(),
            number: 0,
            counters: Counters::default(),
        }
    }

    /// Flows whose state is here.
    pub fn owned(&self) -> impl Iterator<Item = &F> {
        self.flows.iter().filter(|(_, _, entry)| entry.owns()).map(|(_, flow, _)| flow)
    }

    /// Packets that are held.
    pub fn held(&self) -> usize {
        self.flows.held
    }

    /// Flows that wait for an answer.
    pub fn waiting(&self) -> usize {
        self.flows.waiting
    }

    /// A frame has arrived.
    pub fn receive(&mut self, frame: Frame<F, P>, now: u64, out: &mut Vec<Effect<F, P>>) {
        match frame {
            Frame::Packet { flow, bucket, hop, packet } => match hop {
                Hop::First { previous } => self.first((bucket, flow), previous, packet, now, out),
                Hop::Probe { back, number } => {
                    self.passed_on((bucket, flow), back, Some(number), packet, now, out);
                }
                Hop::Forwarded { back } => self.passed_on((bucket, flow), back, None, packet, now, out),
                Hop::Returned { from } => self.returned((bucket, flow), from, packet, now, out),
            },
            Frame::Ask { flow, bucket, from, number, is_last } => {
                self.asked((bucket, flow), from, number, is_last, now, out);
            }
            Frame::Answer { flow, bucket, from, number, owns } => {
                self.answered((bucket, flow), from, number, owns, now, out);
            }
            Frame::Instruction(instruction) => self.instructed(instruction, now, out),
        }
    }

    /// A flow has ended: its state is gone. False if it is not here, or if packets of it are held.
    pub fn ended(&mut self, bucket: u32, flow: &F, out: &mut Vec<Effect<F, P>>) -> bool {
        let key = (bucket, flow.clone());
        let Some(Entry::Owned { pinned, .. }) = self.flows.get(&key) else { return false };
        if *pinned {
            out.push(Effect::Report(Report::Ended { bucket, flow: flow.clone() }));
        }
        self.flows.remove(&key);
        true
    }

    /// Ends all flows without packets since `before`.
    pub fn end_unused(&mut self, before: u64, out: &mut Vec<Effect<F, P>>) -> Vec<F> {
        let keys = self.flows.keys(|entry| matches!(entry, Entry::Owned { used, .. } if *used < before));
        keys.into_iter()
            .filter(|(bucket, flow)| self.ended(*bucket, flow, out))
            .map(|(_, flow)| flow)
            .collect()
    }

    /// Time has passed: questions without an answer are asked again. After the last try the held packets are dropped: the owner of
    /// the flow is not known, and a packet at a wrong server would be worse.
    pub fn tick(&mut self, now: u64, out: &mut Vec<Effect<F, P>>) {
        let Limits { patience, tries: most, .. } = self.limits;
        let is_late = |wait: &Wait<P>| now.saturating_sub(wait.since) > patience;
        let late = self.flows.keys(|entry| matches!(entry, Entry::Waiting(wait) if is_late(wait)));
        for key in late {
            let number = self.next_number();
            let is_last = self.is_closing(&key);
            match self.flows.get_mut(&key) {
                // A row that is being closed needs the answer.
                Some(Entry::Waiting(wait)) if wait.tries < most || is_last => {
                    (wait.tries, wait.since, wait.is_probe) = (wait.tries.saturating_add(1), now, false);
                    let to = wait.at;
                    let frame = Frame::Ask { flow: key.1, bucket: key.0, from: self.me, number, is_last };
                    out.push(Effect::Send { to, frame });
                }
                _ => self.give_up(&key),
            }
        }
        self.close_rows(now, out);
    }

    /// A packet from the switch.
    fn first(
        &mut self,
        key: Key<F>,
        previous: Option<Member>,
        packet: P,
        now: u64,
        out: &mut Vec<Effect<F, P>>,
    ) {
        let has_room = self.flows.len < self.limits.flows;
        match self.flows.get_mut(&key) {
            Some(Entry::Owned { used, .. }) => {
                *used = now;
                self.handle(key.1, packet, out);
            }
            Some(Entry::Settling { .. } | Entry::Waiting(_)) => {
                // One bound for each flow, one for all together.
                let most = if self.flows.held < self.limits.all_held { self.limits.held } else { 0 };
                if self.flows.hold(&key, packet, most).is_err() {
                    self.counters.drops.not_held += 1;
                }
            }
            Some(Entry::Foreign { at }) => {
                let to = *at;
                self.forward(key, to, packet, out);
            }
            None if !has_room => self.counters.drops.no_room += 1,
            None => match previous.filter(|p| self.is_other_member(*p)) {
                None => {
                    self.counters.opened += 1;
                    self.flows.insert(&key, Entry::Owned { pinned: false, used: now });
                    self.handle(key.1, packet, out);
                }
                Some(at) if self.flows.waiting < self.limits.waiting => {
                    let number = self.wait(&key, at, false, true, now);
                    let hop = Hop::Probe { back: self.me, number };
                    self.send(key, at, hop, packet, out);
                }
                Some(_) => self.counters.drops.not_held += 1,
            },
        }
    }

    /// A packet from the current server of the flow's row.
    fn passed_on(
        &mut self,
        key: Key<F>,
        back: Member,
        probe: Option<u16>,
        packet: P,
        now: u64,
        out: &mut Vec<Effect<F, P>>,
    ) {
        if !self.is_other_member(back) {
            self.counters.drops.refused += 1;
            return;
        }
        let Some(entry) = self.flows.get_mut(&key).filter(|entry| entry.owns()) else {
            self.send(key, back, Hop::Returned { from: self.me }, packet, out);
            return;
        };
        if let Entry::Owned { used, .. } | Entry::Settling { used, .. } = entry {
            *used = now;
        }
        self.handle(key.1.clone(), packet, out);
        if let Some(number) = probe {
            let frame = Frame::Answer { flow: key.1, bucket: key.0, from: self.me, number, owns: true };
            out.push(Effect::Send { to: back, frame });
        }
    }

    /// A packet that the previous server had no state for.
    fn returned(&mut self, key: Key<F>, from: Member, packet: P, now: u64, out: &mut Vec<Effect<F, P>>) {
        match self.flows.get_mut(&key) {
            Some(Entry::Waiting(wait)) if wait.at == from => {
                let is_answer = wait.is_probe;
                self.counters.opened += u64::from(!wait.owns);
                wait.owns = true;
                self.handle(key.1.clone(), packet, out);
                if is_answer {
                    self.resolve(&key, now, out);
                }
            }
            // The flow has ended there, and more packets may be on their way back.
            Some(Entry::Foreign { at }) if *at == from => {
                self.counters.opened += 1;
                self.handle(key.1.clone(), packet, out);
                self.ask(key, from, true, now, out);
            }
            Some(Entry::Owned { used, .. }) => {
                *used = now;
                self.handle(key.1, packet, out);
            }
            Some(_) | None => self.counters.drops.stray += 1,
        }
        self.close_rows(now, out);
    }

    /// A question of the current server.
    fn asked(
        &mut self,
        key: Key<F>,
        from: Member,
        number: u16,
        is_last: bool,
        now: u64,
        out: &mut Vec<Effect<F, P>>,
    ) {
        if !self.is_other_member(from) {
            self.counters.drops.refused += 1;
            return;
        }
        if is_last && matches!(self.flows.get(&key), Some(Entry::Settling { until, .. }) if *until == from) {
            self.resolve(&key, now, out);
        }
        let owns = self.flows.get(&key).is_some_and(Entry::owns);
        let frame = Frame::Answer { flow: key.1, bucket: key.0, from: self.me, number, owns };
        out.push(Effect::Send { to: from, frame });
    }

    /// The answer of the previous server.
    fn answered(
        &mut self,
        key: Key<F>,
        from: Member,
        number: u16,
        theirs: bool,
        now: u64,
        out: &mut Vec<Effect<F, P>>,
    ) {
        let asked = match self.flows.get(&key) {
            // Numbers wrap around (RFC 1982): an answer to an earlier wait does not count.
            Some(Entry::Waiting(wait)) if wait.at == from && number.wrapping_sub(wait.number) as i16 >= 0 => {
                Some(wait.owns)
            }
            _ => None,
        };
        match asked {
            Some(false) if theirs => {
                for packet in self.flows.remove(&key) {
                    self.forward(key.clone(), from, packet, out);
                }
                if !self.is_closing(&key) {
                    self.flows.insert(&key, Entry::Foreign { at: from });
                }
            }
            Some(_) if !theirs => self.resolve(&key, now, out),
            Some(_) | None => self.counters.drops.refused += 1,
        }
        self.close_rows(now, out);
    }

    /// Nothing is to be waited for any more: the flow is here if anything of it is. Held packets are handled in order.
    fn resolve(&mut self, key: &Key<F>, now: u64, out: &mut Vec<Effect<F, P>>) {
        let Some(entry) = self.flows.get(key) else { return };
        let (owned, pinned) = (entry.owns(), matches!(entry, Entry::Settling { .. }));
        let held = self.flows.remove(key);
        if owned || !held.is_empty() {
            self.counters.opened += u64::from(!owned);
            self.flows.insert(key, Entry::Owned { pinned, used: now });
        }
        for packet in held {
            self.handle(key.1.clone(), packet, out);
        }
    }

    /// The previous server gives no answer.
    fn give_up(&mut self, key: &Key<F>) {
        let owned = self.flows.get(key).is_some_and(Entry::owns);
        self.counters.drops.no_answer += self.flows.remove(key).len() as u64;
        if owned {
            self.flows.insert(key, Entry::Owned { pinned: false, used: 0 });
        }
    }

    /// Asks about a flow without a packet.
    fn ask(&mut self, key: Key<F>, at: Member, owns: bool, now: u64, out: &mut Vec<Effect<F, P>>) {
        let number = self.wait(&key, at, owns, false, now);
        let is_last = self.is_closing(&key);
        let frame = Frame::Ask { flow: key.1, bucket: key.0, from: self.me, number, is_last };
        out.push(Effect::Send { to: at, frame });
    }

    fn wait(&mut self, key: &Key<F>, at: Member, owns: bool, is_probe: bool, now: u64) -> u16 {
        let number = self.next_number();
        let wait = Wait { at, held: VecDeque::new(), owns, number, is_probe, since: now, tries: 0 };
        self.flows.insert(key, Entry::Waiting(wait));
        number
    }

    fn forward(&mut self, key: Key<F>, to: Member, packet: P, out: &mut Vec<Effect<F, P>>) {
        let back = self.me;
        self.send(key, to, Hop::Forwarded { back }, packet, out);
    }

    fn send(&mut self, key: Key<F>, to: Member, hop: Hop, packet: P, out: &mut Vec<Effect<F, P>>) {
        self.counters.extra_hops += 1;
        out.push(Effect::Send { to, frame: Frame::Packet { flow: key.1, bucket: key.0, hop, packet } });
    }

    fn handle(&mut self, flow: F, packet: P, out: &mut Vec<Effect<F, P>>) {
        self.counters.handled += 1;
        out.push(Effect::Handle { flow, packet });
    }

    fn is_other_member(&self, member: Member) -> bool {
        member != self.me && self.alive.contains(&member)
    }

    fn next_number(&mut self) -> u16 {
        self.number = self.number.wrapping_add(1);
        self.number
    }
}
