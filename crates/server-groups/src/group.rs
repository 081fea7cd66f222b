//! The controller of a group: members come and go, buckets move one step at a time.
//!
//! ```text
//! Steady ──row := {new, old}──> Moved ──Settle──> Settling ──Settled: pins for kept flows, previous := none──> Closing ──Closed──> Steady
//!                                 ^────── Busy ──────┘
//! ```
//!
//! A wish for another server of a bucket waits until the bucket is steady; only the latest wish counts. A pinned flow that has ended is
//! moved to its bucket's server in the same steps, and then its pin is deleted; meanwhile its bucket does not move.

use crate::leases::{Leases, Orders};
use crate::roles::Roles;
use crate::row_state::{Phase, RowState};
use crate::{Instruction, Member, Report, Row, RowId, Write, spread::spread};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bounds and times of a group. Times are in the caller's unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Flows with a pin at the switch.
    pub pins: usize,
    /// A bucket's previous server retires with as many flows or fewer; they get pins.
    pub pins_of_bucket: usize,
    /// From a move to the first question whether the previous server can retire, and from one question to the next.
    pub settle_after: u64,
    /// An instruction without an answer is given again after this time.
    pub patience: u64,
    /// Rows whose servers are asked at one time, each by one instruction: a port's queue has to take them.
    pub open: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { pins: 1024, pins_of_bucket: 16, settle_after: 100_000_000, patience: 10_000_000, open: 32 }
    }
}

/// A command to the controller. Commands are carried out in order: an instruction to a server leaves after the writes before it are made.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command<F> {
    /// Written to the switch together.
    Write(Vec<Write<F>>),
    /// Sent to a server through the switch's port, after the packets that the switch has sent there.
    Instruction { to: Member, instruction: Instruction<F> },
}

/// Why a member is not added or taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The member is in the group.
    Present,
    /// The member is not in the group.
    Unknown,
    /// Nobody else would be left.
    Last,
    /// The member's weight is 0.
    NoWeight,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Standing {
    weight: u32,
    /// True if all others know the member.
    joined: bool,
    /// True if the member gets no new flows.
    draining: bool,
    /// True if the member leaves the group after its last flow.
    leaving: bool,
}

/// A pinned flow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pin<F> {
    bucket: u32,
    state: RowState<F>,
    /// The server has reported the end of the flow.
    ended: bool,
}

/// State of a member, for operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemberStatus {
    /// Buckets are shared out by weight.
    pub weight: u32,
    /// True if all members know the member.
    pub joined: bool,
    /// True if the member gets no new flows.
    pub draining: bool,
    /// True if the member leaves the group after its last flow.
    pub leaving: bool,
    /// Buckets whose new flows it gets.
    pub current: usize,
    /// Buckets of which it may still have flows.
    pub previous: usize,
    /// Flows that are pinned to it.
    pub pins: usize,
}

/// A group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group<F> {
    limits: Limits,
    members: BTreeMap<Member, Standing>,
    /// Counts the changes of the members.
    version: u32,
    /// Members that have not confirmed the list of members yet, and when it was sent to them.
    unreported: BTreeMap<Member, u64>,
    rows: Vec<RowState<F>>,
    /// Buckets whose rows are not steady: few of them, most of the time.
    moving: BTreeSet<u32>,
    /// Where each bucket is wanted.
    wishes: Vec<Member>,
    pins: BTreeMap<F, Pin<F>>,
    commands: VecDeque<Command<F>>,
    /// Servers keep nothing of a flow: buckets move at once.
    is_stateless: bool,
    /// The switch has two Bloom filters that change roles.
    roles: Option<Roles>,
    /// Blocks of numbers that members lease.
    leases: Option<Leases>,
    /// Reports that no member may make.
    pub refused: u64,
}

impl<F: Clone + Ord> Group<F> {
    /// A group whose members are there from the start; weights of 0 count as 1.
    pub fn new(members: &[(Member, u32)], buckets: usize, limits: Limits) -> Group<F> {
        let standing = |weight: u32| Standing { weight, joined: true, draining: false, leaving: false };
        let members: BTreeMap<_, _> =
            members.iter().map(|(m, weight)| (*m, standing((*weight).max(1)))).collect();
        let first = members.keys().next().copied().unwrap_or(Member(0));
        let mut group = Group {
            limits,
            members,
            version: 0,
            unreported: BTreeMap::new(),
            rows: vec![],
            moving: BTreeSet::new(),
            wishes: vec![first; buckets],
            pins: BTreeMap::new(),
            commands: VecDeque::new(),
            is_stateless: false,
            roles: None,
            leases: None,
            refused: 0,
        };
        group.spread_wishes();
        group.rows = group.wishes.iter().map(|member| RowState::new(*member)).collect();
        group.announce_members(0);
        group
    }

    /// The same for servers that keep nothing of a flow: a bucket that moves has no previous server.
    #[must_use]
    pub fn stateless(self) -> Group<F> {
        Group { is_stateless: true, ..self }
    }

    /// The same with CLIP's two [`filters`](crate::filters) at the switch. They change roles at intervals of `every`, and buckets move only then: if
    /// `every` is no less than the time after which a flow without packets has ended, the current filter has all flows.
    #[must_use]
    pub fn filtered(self, every: u64) -> Group<F> {
        Group { roles: Some(Roles::new(every)), ..self }
    }

    /// The same with leases of the blocks from 1 to `blocks` - 1 for `servers` servers. The blocks of a server that is gone are given on after `rest`: then
    /// nothing is left of its flows. A member without a block that it can use gets no new flows.
    #[must_use]
    pub fn leasing(mut self, servers: u16, blocks: u32, rest: u64) -> Group<F> {
        let mut leases = Leases::new(servers, blocks, rest);
        self.members.keys().for_each(|member| leases.joined(*member, true));
        self.leases = Some(leases);
        self.share_blocks(0);
        self
    }

    /// The server of each leased block, for a switch that begins.
    pub fn leased(&self) -> Vec<Write<F>> {
        let entries = self.leases.iter().flat_map(Leases::entries);
        entries.map(|(block, to)| Write::Lease { block, to }).collect()
    }

    /// The blocks of which a member may take numbers; none if the group leases none.
    pub fn blocks(&self, member: Member) -> Option<crate::leases::Blocks> {
        Some(self.leases.as_ref()?.of(member))
    }

    /// A member has just started: it is told its blocks, if an instruction may have been lost.
    pub fn began(&mut self, member: Member, now: u64) {
        let sent = self.leases.as_mut().and_then(|leases| leases.again(member, now));
        self.order(Orders { writes: vec![], instructions: sent.into_iter().collect() });
    }

    /// The roles of the filters, for a switch that begins.
    pub fn roles(&self) -> Option<Write<F>> {
        self.roles.as_ref().map(Roles::write)
    }

    /// The rows of all buckets, for a switch that begins.
    pub fn rows(&self) -> Vec<Row> {
        self.rows.iter().map(|state| state.row).collect()
    }

    /// The pins, for a switch that begins.
    pub fn pins(&self) -> impl Iterator<Item = (&F, Row)> {
        let is_written = |pin: &&Pin<F>| !matches!(pin.state.phase, Phase::Closing { drops: true, .. });
        self.pins.iter().filter(move |(_, pin)| is_written(pin)).map(|(flow, pin)| (flow, pin.state.row))
    }

    /// The next thing to do.
    pub fn command(&mut self) -> Option<Command<F>> {
        self.commands.pop_front()
    }

    /// Every bucket is where it is wanted, and no previous server is left.
    pub fn is_steady(&self) -> bool {
        debug_assert!(
            (0..)
                .zip(&self.rows)
                .filter(|(_, state)| !state.is_steady())
                .map(|(bucket, _)| bucket)
                .eq(self.moving.iter().copied()),
            "the moving buckets are those that do not rest"
        );
        let pins_are = self.pins.values().all(|pin| pin.state.is_steady());
        let is_there = |(state, wish): (&RowState<F>, &Member)| {
            state.is_steady() && state.row.current == *wish && state.row.previous.is_none()
        };
        let leases_are = self.leases.as_ref().is_none_or(Leases::is_steady);
        self.unreported.is_empty()
            && leases_are
            && pins_are
            && self.rows.iter().zip(&self.wishes).all(is_there)
    }

    /// A member, without its buckets and pins.
    pub fn standing(&self, member: Member) -> Option<MemberStatus> {
        let Standing { weight, joined, draining, leaving } = *self.members.get(&member)?;
        Some(MemberStatus { weight, joined, draining, leaving, ..MemberStatus::default() })
    }

    /// The members.
    pub fn status(&self) -> BTreeMap<Member, MemberStatus> {
        let count = |of: &dyn Fn(&Row) -> bool| self.rows.iter().filter(|state| of(&state.row)).count();
        let status = |&member: &Member| {
            let current = count(&|row| row.current == member);
            let previous = count(&|row| row.previous == Some(member));
            let pins = self.pins.values().filter(|pin| pin.state.row.current == member).count();
            (member, MemberStatus { current, previous, pins, ..self.standing(member).unwrap_or_default() })
        };
        self.members.keys().map(status).collect()
    }

    /// A member comes, or one that was leaving stays.
    pub fn add(&mut self, member: Member, weight: u32, now: u64) -> Result<(), Refusal> {
        if weight == 0 {
            return Err(Refusal::NoWeight);
        }
        match self.members.get_mut(&member) {
            Some(standing) if standing.draining => {
                (standing.weight, standing.draining, standing.leaving) = (weight, false, false);
            }
            Some(_) => return Err(Refusal::Present),
            None => {
                let standing = Standing { weight, joined: false, draining: false, leaving: false };
                self.members.insert(member, standing);
                if let Some(leases) = &mut self.leases {
                    leases.joined(member, false);
                }
                self.announce_members(now);
            }
        }
        self.share_blocks(now);
        self.wish(now);
        Ok(())
    }

    /// A member gets no new flows. `leaves`: it leaves the group when its last flow has ended.
    pub fn drain(&mut self, member: Member, leaves: bool, now: u64) -> Result<(), Refusal> {
        let stays = |(other, standing): (&Member, &Standing)| *other != member && !standing.draining;
        let is_last = !self.members.iter().any(stays);
        let standing = self.members.get_mut(&member).ok_or(Refusal::Unknown)?;
        if is_last {
            return Err(Refusal::Last);
        }
        (standing.draining, standing.leaving) = (true, leaves);
        self.share_blocks(now);
        self.wish(now);
        Ok(())
    }

    /// A member gets another share of the buckets.
    pub fn weigh(&mut self, member: Member, weight: u32, now: u64) -> Result<(), Refusal> {
        let standing = self.members.get_mut(&member).ok_or(Refusal::Unknown)?;
        standing.weight = if weight == 0 { return Err(Refusal::NoWeight) } else { weight };
        self.wish(now);
        Ok(())
    }

    /// A member has died, and its flows with it. The previous owners of its buckets are still known exactly.
    pub fn died(&mut self, dead: Member, now: u64) -> Result<(), Refusal> {
        self.members.remove(&dead).ok_or(Refusal::Unknown)?;
        self.unreported.remove(&dead);
        if let Some(leases) = &mut self.leases {
            leases.gone(dead, now);
        }
        let mut writes = vec![];
        let pins: Vec<F> = self.pins.keys().cloned().collect();
        for flow in pins {
            let Some(pin) = self.pins.get_mut(&flow) else { continue };
            let Some(row) = pin.state.without(dead) else { continue };
            match row {
                Some(row) => writes.push(Write::Pin { flow, row }),
                None => {
                    self.pins.remove(&flow);
                    writes.push(Write::Unpin { flow });
                }
            }
        }
        // First, since a row without an owner restarts at the server that is wished for it now.
        self.spread_wishes();
        for (bucket, state) in self.rows.iter_mut().enumerate() {
            let changed = state.without(dead);
            let row = changed.map(|row| row.unwrap_or_else(|| state.restart(self.wishes[bucket])));
            let bucket = bucket as u32;
            if state.is_steady() {
                self.moving.remove(&bucket);
            }
            writes.extend(row.map(|row| Write::Row { bucket, row }));
        }
        self.write(writes);
        self.announce_members(now);
        self.share_blocks(now);
        self.advance(now);
        Ok(())
    }

    /// Handles a report of a server. Reports about what is over are ignored.
    pub fn report(&mut self, from: Member, report: Report<F>, now: u64) {
        if !self.members.contains_key(&from) {
            self.refused += 1;
            return;
        }
        match report {
            Report::Members { version } if version == self.version => {
                self.unreported.remove(&from);
                if self.unreported.is_empty() {
                    self.members.values_mut().for_each(|standing| standing.joined = true);
                    self.wish(now);
                }
            }
            Report::Members { .. } => {}
            Report::Settled { row, epoch, kept } => self.settled(from, row, epoch, kept, now),
            Report::Busy { row, epoch, .. } => {
                if let Some(state) = self.state(&row)
                    && state.is_settling(from, epoch)
                {
                    state.phase = Phase::Moved { since: now };
                }
            }
            Report::Closed { row, epoch } => self.closed(from, &row, epoch, now),
            Report::Ended { bucket, flow } => {
                let pin = self.pins.get_mut(&flow).filter(|pin| pin.bucket == bucket);
                match pin.filter(|pin| pin.state.row.current == from) {
                    Some(pin) => pin.ended = true,
                    None => self.refused += 1,
                }
                self.advance(now);
            }
            Report::Leased { version, busy, usable } => {
                let leases = self.leases.as_mut();
                if leases.is_some_and(|leases| leases.answered(from, version, &busy, usable)) {
                    self.share_blocks(now);
                    self.wish(now);
                }
            }
        }
    }

    /// Time has passed.
    pub fn poll(&mut self, now: u64) {
        let Limits { pins, patience, settle_after, pins_of_bucket, open } = self.limits;
        let is_filtered = self.roles.is_some();
        let is_late = |at: u64| now.saturating_sub(at) >= patience;
        let unreported: Vec<_> =
            self.unreported.iter().filter(|(_, at)| is_late(**at)).map(|(member, _)| *member).collect();
        for to in unreported {
            self.announce(to, now);
        }
        if let Some(leases) = &mut self.leases {
            let has_rested = leases.has_rested(now);
            let orders = leases.poll(patience, now);
            self.order(orders);
            if has_rested {
                self.share_blocks(now);
            }
        }
        // Most rows are steady, and have nothing to do.
        let rows = self.moving.iter().map(|bucket| (*bucket, &self.rows[*bucket as usize]));
        let pinned = self.pins.iter().filter(|(_, pin)| !pin.state.is_steady());
        let pinned =
            pinned.map(|(flow, pin)| (RowId { bucket: pin.bucket, pin: Some(flow.clone()) }, &pin.state));
        let moving = rows.map(|(bucket, state)| (RowId::bucket(bucket), state)).chain(pinned);
        let (mut ids, mut reserved, mut asked) = (vec![], 0, 0);
        for (id, state) in moving {
            reserved += if id.pin.is_none() { state.reserved() } else { 0 };
            asked += usize::from(!matches!(state.phase, Phase::Moved { .. }));
            ids.push(id);
        }
        let mut free = pins.saturating_sub(self.pins.len() + reserved);
        let open = open.saturating_sub(asked);
        // Those that have waited longest come first.
        let mut due: Vec<(u64, usize)> = vec![];
        for (at, id) in ids.iter().enumerate() {
            if let Some(Phase::Moved { since }) = self.state(id).map(|state| &state.phase)
                && now.saturating_sub(*since) >= settle_after
            {
                due.push((*since, at));
            }
        }
        due.sort_unstable();
        let asked: BTreeSet<usize> = due.into_iter().take(open).map(|(_, at)| at).collect();
        for (at, id) in ids.into_iter().enumerate() {
            let Some(state) = self.state(&id) else { continue };
            match (&mut state.phase, state.row.previous) {
                (Phase::Moved { .. }, Some(_)) if asked.contains(&at) => {
                    // The one flow of a pin needs no other pin.
                    let most = if id.pin.is_some() { 1 } else { pins_of_bucket.min(free) };
                    free -= if id.pin.is_some() { 0 } else { most };
                    state.phase = Phase::Settling { since: now, most };
                }
                (Phase::Settling { since, .. } | Phase::Closing { since, .. }, _) if is_late(*since) => {
                    *since = now;
                }
                _ => continue,
            }
            if let Some((to, mut instruction)) = state.instruction(&id) {
                if is_filtered && let Instruction::Settle { current, .. } = &mut instruction {
                    // It forwards nothing to itself: no packet is held.
                    *current = to;
                }
                self.commands.push_back(Command::Instruction { to, instruction });
            }
        }
        if self.pins.len() * 4 > pins * 3 {
            self.check_pins();
        }
        // Roles change with time. Everything else has begun with the event that allowed it.
        if is_filtered {
            self.turn(now);
        }
    }

    fn settled(&mut self, from: Member, id: RowId<F>, epoch: u32, kept: Vec<(u32, F)>, now: u64) {
        let is_filtered = self.roles.is_some();
        let Some(state) = self.state(&id).filter(|state| state.is_settling(from, epoch)) else { return };
        let most = match state.phase {
            Phase::Settling { most, .. } => most,
            _ => 0,
        };
        let is_of_row =
            |(bucket, flow): &(u32, F)| *bucket == id.bucket && id.pin.as_ref().is_none_or(|pin| pin == flow);
        // A report that does not fit its question is refused: a faulty server must not pin flows of other rows.
        if kept.len() > most || !kept.iter().all(is_of_row) {
            self.refused += 1;
            return;
        }
        if is_filtered {
            state.phase = Phase::Steady;
            if id.pin.is_none() {
                self.moving.remove(&id.bucket);
            }
            let mut writes = vec![];
            self.pin(from, kept.clone(), &mut writes);
            self.write(writes);
            if !kept.is_empty() {
                // So that the server reports when they end.
                let instruction = Instruction::Check { flows: kept };
                self.commands.push_back(Command::Instruction { to: from, instruction });
            }
            self.turn(now);
            return;
        }
        let drops = id.pin.is_some() && kept.is_empty();
        let stays = id.pin.is_some() && !kept.is_empty();
        let mut writes: Vec<Write<F>> = vec![];
        let row = state.close(stays, drops, kept.clone(), now);
        let instruction = state.instruction(&id);
        match id.pin {
            Some(flow) if drops => writes.push(Write::Unpin { flow }),
            Some(flow) => {
                if let Some(pin) = self.pins.get_mut(&flow) {
                    pin.ended = false;
                }
                writes.push(Write::Pin { flow, row });
            }
            None => {
                self.pin(from, kept, &mut writes);
                writes.push(Write::Row { bucket: id.bucket, row });
            }
        }
        self.write(writes);
        if let Some((to, instruction)) = instruction {
            self.commands.push_back(Command::Instruction { to, instruction });
        }
    }

    /// Flows get pins, which lead to a server.
    fn pin(&mut self, to: Member, flows: Vec<(u32, F)>, writes: &mut Vec<Write<F>>) {
        for (bucket, flow) in flows {
            let state = RowState::new(to);
            writes.push(Write::Pin { flow: flow.clone(), row: state.row });
            self.pins.insert(flow, Pin { bucket, state, ended: false });
        }
    }

    fn closed(&mut self, from: Member, id: &RowId<F>, epoch: u32, now: u64) {
        let Some(state) = self.state(id) else { return };
        let Phase::Closing { at, drops, .. } = state.phase else { return };
        if at != from || epoch != state.row.epoch {
            return;
        }
        state.phase = Phase::Steady;
        match &id.pin {
            None => drop(self.moving.remove(&id.bucket)),
            Some(flow) if drops => drop(self.pins.remove(flow)),
            Some(_) => {}
        }
        self.advance(now);
    }

    /// Begins what can begin: moves of steady buckets to where they are wanted, the ends of pins, departures.
    fn advance(&mut self, now: u64) {
        if self.roles.is_some() {
            return self.turn(now);
        }
        let mut busy: BTreeSet<u32> =
            self.pins.values().filter(|pin| !pin.state.is_steady()).map(|pin| pin.bucket).collect();
        let mut writes = vec![];
        let ended: Vec<F> =
            self.pins.iter().filter(|(_, pin)| pin.ended).map(|(flow, _)| flow.clone()).collect();
        for flow in ended {
            let Some(pin) = self.pins.get_mut(&flow) else { continue };
            let bucket = &self.rows[pin.bucket as usize];
            if !bucket.is_steady() || !pin.state.is_steady() {
                continue;
            }
            if bucket.row.current == pin.state.row.current {
                // With the pin or without: the same server.
                self.pins.remove(&flow);
                writes.push(Write::Unpin { flow });
            } else {
                busy.insert(pin.bucket);
                let row = pin.state.go(bucket.row.current, now);
                writes.push(Write::Pin { flow, row });
            }
        }
        for (bucket, (state, wish)) in self.rows.iter_mut().zip(&self.wishes).enumerate() {
            let may_move = state.row.current != *wish && state.is_steady();
            if may_move && !busy.contains(&(bucket as u32)) && self.members.contains_key(wish) {
                let is_alive = self.members.contains_key(&state.row.current);
                let keeps = is_alive && !self.is_stateless;
                if keeps {
                    self.moving.insert(bucket as u32);
                }
                let row = if keeps { state.go(*wish, now) } else { state.restart(*wish) };
                writes.push(Write::Row { bucket: bucket as u32, row });
            }
        }
        self.write(writes);
        self.let_go(now);
    }

    /// With filters. When it is time, the flows that previous servers still have get pins; then the filters change roles, and all buckets go
    /// where they are wanted. A flow that comes between the two and looks to the older filter like one of its own breaks.
    fn turn(&mut self, now: u64) {
        let ended: Vec<F> =
            self.pins.iter().filter(|(_, pin)| pin.ended).map(|(flow, _)| flow.clone()).collect();
        let mut writes = vec![];
        for flow in ended {
            self.pins.remove(&flow);
            writes.push(Write::Unpin { flow });
        }
        if let Some(roles) = &mut self.roles {
            let rows = &mut self.rows;
            if roles.begin(now) {
                let since = now.saturating_sub(self.limits.settle_after);
                let old = (0..).zip(rows.iter_mut()).filter(|(_, state)| state.row.previous.is_some());
                for (bucket, state) in old {
                    state.phase = Phase::Moved { since };
                    self.moving.insert(bucket);
                }
            }
            if self.moving.is_empty() && roles.change(now) {
                for (bucket, (state, wish)) in (0..).zip(rows.iter_mut().zip(&self.wishes)) {
                    let is_there = self.members.contains_key(wish);
                    let row = state.turn(if is_there { *wish } else { state.row.current });
                    writes.extend(row.map(|row| Write::Row { bucket, row }));
                }
                writes.push(roles.write());
            }
        }
        self.write(writes);
        self.let_go(now);
    }

    /// Members leave of which nothing is left.
    fn let_go(&mut self, now: u64) {
        let states = || self.rows.iter().chain(self.pins.values().map(|pin| &pin.state));
        let is_used = |member: Member| states().any(|state| state.involves(member));
        let leaving = self.members.iter().filter(|(_, standing)| standing.leaving);
        let gone: Vec<Member> =
            leaving.map(|(member, _)| *member).filter(|member| !is_used(*member)).collect();
        self.members.retain(|member, _| !gone.contains(member));
        if !gone.is_empty() {
            let members = &self.members;
            self.unreported.retain(|member, _| members.contains_key(member));
            for member in gone {
                if let Some(leases) = &mut self.leases {
                    leases.gone(member, now);
                }
            }
            self.announce_members(now);
            self.share_blocks(now);
        }
    }

    /// Asks for pinned flows that have ended: reports may have been lost.
    fn check_pins(&mut self) {
        let mut flows: BTreeMap<Member, Vec<(u32, F)>> = BTreeMap::new();
        for (flow, pin) in self.pins.iter().filter(|(_, pin)| pin.state.is_steady() && !pin.ended) {
            flows.entry(pin.state.row.current).or_default().push((pin.bucket, flow.clone()));
        }
        let instructions = flows
            .into_iter()
            .map(|(to, flows)| Command::Instruction { to, instruction: Instruction::Check { flows } });
        self.commands.extend(instructions);
    }

    fn wish(&mut self, now: u64) {
        // While no other member has a block, buckets stay where they are.
        let is_able =
            |(m, standing): (&Member, &Standing)| standing.joined && !standing.draining && self.is_able(*m);
        if self.members.iter().any(is_able) {
            self.spread_wishes();
        }
        self.advance(now);
    }

    /// True if a member can take new flows: it may need numbers for them.
    fn is_able(&self, member: Member) -> bool {
        self.leases.as_ref().is_none_or(|leases| leases.is_able(member))
    }

    /// Withdraws and gives leases. Members that do not know each other yet have leases, too: flows come later.
    fn share_blocks(&mut self, now: u64) {
        let takers = self.members.iter().filter(|(_, standing)| !standing.draining);
        let takers = takers.map(|(member, _)| *member).collect();
        if let Some(leases) = &mut self.leases {
            let orders = leases.share(&takers, now);
            self.order(orders);
        }
    }

    /// The switch knows of a lease before the member does: packets of the block find the member.
    fn order(&mut self, orders: Orders) {
        self.write(orders.writes.into_iter().map(|(block, to)| Write::Lease { block, to }).collect());
        let instructions = orders.instructions.into_iter().map(|(to, version, blocks)| {
            Command::Instruction { to, instruction: Instruction::Lease { version, blocks } }
        });
        self.commands.extend(instructions);
    }

    /// Spreads the buckets over the members that take new flows and are able to. While there is none, flows go to members that drain rather than to
    /// one without a block, and to that one rather than to nobody.
    fn spread_wishes(&mut self) {
        let ways = [(true, true), (true, false), (false, true)];
        let weights = ways.iter().find_map(|(able, taking)| {
            let is_wanted = |(member, standing): &(&Member, &Standing)| {
                standing.joined && (!able || self.is_able(**member)) && !(*taking && standing.draining)
            };
            let wanted = self.members.iter().filter(is_wanted);
            let weights: BTreeMap<_, _> =
                wanted.map(|(member, standing)| (*member, standing.weight)).collect();
            (!weights.is_empty()).then_some(weights)
        });
        let weights = weights.unwrap_or_default();
        spread(&mut self.wishes, &weights);
    }

    fn announce_members(&mut self, now: u64) {
        self.version += 1;
        let all: Vec<Member> = self.members.keys().copied().collect();
        for to in all {
            self.announce(to, now);
        }
    }

    fn announce(&mut self, to: Member, now: u64) {
        self.unreported.insert(to, now);
        let alive = self.members.keys().copied().collect();
        let instruction = Instruction::Members { version: self.version, alive };
        self.commands.push_back(Command::Instruction { to, instruction });
    }

    fn write(&mut self, writes: Vec<Write<F>>) {
        if !writes.is_empty() {
            self.commands.push_back(Command::Write(writes));
        }
    }

    fn state(&mut self, id: &RowId<F>) -> Option<&mut RowState<F>> {
        match &id.pin {
            None => self.rows.get_mut(id.bucket as usize),
            Some(flow) => {
                self.pins.get_mut(flow).filter(|pin| pin.bucket == id.bucket).map(|pin| &mut pin.state)
            }
        }
    }
}
