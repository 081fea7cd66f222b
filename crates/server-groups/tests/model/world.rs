//! The world around a group: a switch, servers, links that keep the order of frames, and what is remembered to judge.

use server_groups::group::Limits;
use server_groups::server::Limits as ServerLimits;
use server_groups::{
    Command, Effect, Frame, Group, Hop, Instruction, Member, Report, Row, Server, Table, Write,
};
use std::collections::{BTreeMap, VecDeque};

/// Ways to get the protocol wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mutant {
    /// Links do not keep the order of frames.
    NotInOrder,
    /// While a probe is out, further packets are probes, too.
    NoHold,
    /// A bucket that has a previous server moves on; the older one is forgotten.
    TwoPrevious,
    /// The previous server retires without being asked for its flows.
    RetiredUnasked,
    /// The previous server is asked before the last packet has reached it.
    SettledWithoutMarker,
    /// The current server closes the row before the last packet that names the previous one.
    ClosedWithoutMarker,
    /// Packets for pinned flows are not held until the forwarded ones have come.
    PinnedAtOnce,
    /// The current server closes the row without asking for what it has forwarded.
    ClosedUnasked,
    /// A flow that has ended at the previous server is taken as soon as one packet is back.
    TakenAtOnce,
    /// A pin is deleted as soon as its flow has ended.
    UnpinnedAtOnce,
    /// Nobody says who has died.
    DeathUnreported,
    /// A new member gets buckets before the others know it.
    JoinUnreported,
}

/// A change of the members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    Add(u16),
    Drain(u16),
    Remove(u16),
    Die(u16),
}

/// Numbers of events that may still happen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// For each flow.
    pub packets: Vec<u8>,
    pub ends: u8,
    /// In this order.
    pub changes: Vec<Change>,
}

/// Flow, in order of its packets.
type Flow = u8;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Message {
    /// To a server.
    Frame(Member, Frame<Flow, u8>),
    /// To the controller.
    Report(Report<Flow>),
}

/// A direction of the link between a server and the switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Link {
    Up(Member),
    Down(Member),
}

#[derive(Clone, Hash, Debug)]
pub struct World {
    pub mutant: Option<Mutant>,
    budget: Budget,
    table: Table<Flow>,
    group: Group<Flow>,
    servers: BTreeMap<Member, Server<Flow, u8>>,
    links: BTreeMap<Link, VecDeque<Message>>,
    /// Packets sent, and the last that was handled, for each flow.
    sent: Vec<u8>,
    last: Vec<u8>,
    handled: u8,
    /// Where the state of each flow is.
    owner: Vec<Option<Member>>,
    had_death: bool,
    /// The property that does not hold.
    pub broken: Option<&'static str>,
}

impl World {
    /// Servers 0 and 1, and one bucket; a new server gets the bucket because it has more weight.
    pub fn new(pins: usize, budget: Budget) -> World {
        let limits =
            Limits { pins, pins_of_bucket: 2, settle_after: 0, patience: u64::MAX, open: usize::MAX };
        let group = Group::new(&[(Member(0), 1), (Member(1), 1)], 1, limits);
        let flows = budget.packets.len();
        let mut world = World {
            mutant: None,
            budget,
            table: Table::new(group.rows()),
            group,
            servers: BTreeMap::new(),
            links: BTreeMap::new(),
            sent: vec![0; flows],
            last: vec![0; flows],
            handled: 0,
            owner: vec![None; flows],
            had_death: false,
            broken: None,
        };
        world.start(Member(0));
        world.start(Member(1));
        world.settle();
        world
    }

    pub fn with(self, mutant: Mutant) -> World {
        World { mutant: Some(mutant), ..self }
    }

    /// All worlds after one more event.
    pub fn next(&self) -> Vec<World> {
        let mut worlds = vec![];
        let mut add = |allows: bool, event: &dyn Fn(&mut World)| {
            if allows {
                let mut next = self.clone();
                event(&mut next);
                worlds.push(next);
            }
        };
        for flow in 0..self.sent.len() {
            add(self.budget.packets[flow] > 0, &|w| w.send(flow));
            let has = self.owner[flow].is_some_and(|owner| self.servers.contains_key(&owner));
            add(self.budget.ends > 0 && has, &|w| w.end(flow));
        }
        add(!self.budget.changes.is_empty(), &World::change);
        add(self.has_commands(), &World::command);
        for (link, messages) in &self.links {
            let most = if self.is(Mutant::NotInOrder) { messages.len() } else { messages.len().min(1) };
            for at in 0..most {
                add(true, &|w| w.deliver(*link, at));
            }
        }
        let mut polled = self.clone();
        polled.group.poll(0);
        if polled.group != self.group {
            worlds.push(polled);
        }
        worlds
    }

    /// Properties of a state in which nothing is under way.
    pub fn check(&self) -> Result<(), &'static str> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        if self.has_commands() || self.links.values().any(|link| !link.is_empty()) {
            return Ok(());
        }
        if !self.had_death && self.handled < self.sent.iter().sum() {
            return Err("a packet is not handled");
        }
        let mut world = self.clone();
        for _ in 0..8 {
            for flow in 0..world.owner.len() {
                if world.owner[flow].is_some_and(|owner| world.servers.contains_key(&owner)) {
                    world.end(flow);
                }
            }
            world.group.poll(0);
            world.settle();
        }
        if let Some(broken) = world.broken {
            return Err(broken);
        }
        if world.servers.values().any(|server| server.held() > 0 || server.waiting() > 0) {
            return Err("held packets stay");
        }
        if !world.group.is_steady() { Err("a change never ends") } else { Ok(()) }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn has_commands(&self) -> bool {
        self.group.clone().command().is_some()
    }

    fn start(&mut self, member: Member) {
        let limits = ServerLimits { patience: u64::MAX, ..ServerLimits::default() };
        self.servers.insert(member, Server::new(member, limits));
    }

    /// Everything that is under way arrives, and all commands are carried out.
    fn settle(&mut self) {
        loop {
            if self.has_commands() {
                self.command();
                continue;
            }
            let Some((link, _)) = self.links.iter().find(|(_, messages)| !messages.is_empty()) else {
                return;
            };
            self.deliver(*link, 0);
        }
    }

    fn push(&mut self, link: Link, message: Message) {
        self.links.entry(link).or_default().push_back(message);
    }

    fn send(&mut self, flow: usize) {
        self.budget.packets[flow] -= 1;
        self.sent[flow] += 1;
        let packet = self.sent[flow];
        let flow = flow as Flow;
        if let Some(dispatch) = self.table.dispatch(&flow, 0) {
            let hop = Hop::First { previous: dispatch.previous };
            let frame = Frame::Packet { flow, bucket: dispatch.bucket, hop, packet };
            self.push(Link::Down(dispatch.to), Message::Frame(dispatch.to, frame));
        }
    }

    fn end(&mut self, flow: usize) {
        let Some(owner) = self.owner[flow] else { return };
        let mut out = vec![];
        if let Some(server) = self.servers.get_mut(&owner)
            && server.ended(0, &(flow as Flow), &mut out)
        {
            self.budget.ends = self.budget.ends.saturating_sub(1);
            self.owner[flow] = None;
        }
        self.effects(owner, out);
    }

    fn change(&mut self) {
        match self.budget.changes.remove(0) {
            Change::Add(member) => {
                self.start(Member(member));
                let _ = self.group.add(Member(member), 9, 0);
            }
            Change::Drain(member) => {
                let _ = self.group.drain(Member(member), false, 0);
            }
            Change::Remove(member) => {
                let _ = self.group.drain(Member(member), true, 0);
            }
            Change::Die(member) => self.die(Member(member)),
        }
        let row = self.table.rows()[0];
        if self.is(Mutant::TwoPrevious) && row.previous.is_some() {
            let wish = self.servers.keys().rev().find(|member| **member != row.current);
            let row = Row { current: *wish.unwrap_or(&row.current), previous: Some(row.current), ..row };
            self.table.write(&Write::Row { bucket: 0, row });
        }
    }

    fn die(&mut self, member: Member) {
        self.had_death = true;
        self.servers.remove(&member);
        self.links.retain(|link, _| *link != Link::Up(member) && *link != Link::Down(member));
        for owner in self.owner.iter_mut().filter(|owner| **owner == Some(member)) {
            *owner = None;
        }
        let _ = self.group.died(member, 0);
    }

    fn command(&mut self) {
        match self.group.command() {
            Some(Command::Write(writes)) => writes.iter().for_each(|write| self.table.write(write)),
            Some(Command::Instruction { to, instruction }) => self.instruction(to, instruction),
            None => {}
        }
    }

    fn instruction(&mut self, to: Member, instruction: Instruction<Flow>) {
        if !self.servers.contains_key(&to) {
            return;
        }
        let at_once = match &instruction {
            Instruction::Settle { row, epoch, .. } if self.is(Mutant::RetiredUnasked) => {
                let report = Report::Settled { row: *row, epoch: *epoch, kept: vec![] };
                self.push(Link::Up(to), Message::Report(report));
                return;
            }
            Instruction::Members { version, .. }
                if self.is(Mutant::JoinUnreported) || self.had_death && self.is(Mutant::DeathUnreported) =>
            {
                self.group.report(to, Report::Members { version: *version }, 0);
                return;
            }
            Instruction::Close { row, epoch, .. } if self.is(Mutant::ClosedUnasked) => {
                let report = Report::Closed { row: *row, epoch: *epoch };
                self.push(Link::Up(to), Message::Report(report));
                return;
            }
            Instruction::Settle { .. } => self.is(Mutant::SettledWithoutMarker),
            Instruction::Close { .. } => self.is(Mutant::ClosedWithoutMarker),
            _ => false,
        };
        let link = self.links.entry(Link::Down(to)).or_default();
        let message = Message::Frame(to, Frame::Instruction(instruction));
        if at_once { link.push_front(message) } else { link.push_back(message) }
    }

    fn deliver(&mut self, link: Link, at: usize) {
        let Some(message) = self.links.get_mut(&link).and_then(|link| link.remove(at)) else { return };
        if self.links.get(&link).is_some_and(VecDeque::is_empty) {
            self.links.remove(&link);
        }
        match (link, message) {
            (Link::Down(to), Message::Frame(_, frame)) => self.arrive(to, frame),
            (Link::Up(_), Message::Frame(to, frame)) => {
                if self.servers.contains_key(&to) {
                    self.push(Link::Down(to), Message::Frame(to, frame));
                }
            }
            (Link::Up(from) | Link::Down(from), Message::Report(report)) => {
                if let Report::Ended { flow, .. } = report
                    && self.is(Mutant::UnpinnedAtOnce)
                {
                    self.table.write(&Write::Unpin { flow });
                }
                self.group.report(from, report, 0);
            }
        }
    }

    fn arrive(&mut self, at: Member, frame: Frame<Flow, u8>) {
        let mut out = vec![];
        let Some(server) = self.servers.get_mut(&at) else { return };
        if let Frame::Packet { flow, bucket, hop: Hop::First { previous: Some(to) }, packet } = frame
            && self.mutant == Some(Mutant::NoHold)
            && server.waiting() > 0
        {
            let frame = Frame::Packet { flow, bucket, hop: Hop::Probe { back: at, number: 0 }, packet };
            self.push(Link::Up(at), Message::Frame(to, frame));
            return;
        }
        let returned = match &frame {
            Frame::Packet { flow, hop: Hop::Returned { from }, .. } => Some((*flow, *from)),
            _ => None,
        };
        let settled = match &frame {
            Frame::Instruction(Instruction::Settle { current, .. }) => Some(*current),
            _ => None,
        };
        server.receive(frame, 0, &mut out);
        if let Some((flow, from)) = returned
            && self.mutant == Some(Mutant::TakenAtOnce)
        {
            let asked = out.iter().find_map(|effect| match effect {
                Effect::Send { frame: Frame::Ask { number, .. }, .. } => Some(*number),
                _ => None,
            });
            if let Some(number) = asked {
                let frame = Frame::Answer { flow, bucket: 0, from, number, owns: false };
                server.receive(frame, 0, &mut out);
            }
        }
        if let Some(from) = settled
            && self.mutant == Some(Mutant::PinnedAtOnce)
        {
            let flows: Vec<Flow> = server.owned().copied().collect();
            for flow in flows {
                let frame = Frame::Ask { flow, bucket: 0, from, number: 0, is_last: true };
                server.receive(frame, 0, &mut vec![]);
            }
        }
        server.counters = Default::default();
        self.effects(at, out);
    }

    fn effects(&mut self, at: Member, effects: Vec<Effect<Flow, u8>>) {
        for effect in effects {
            match effect {
                Effect::Handle { flow, packet } => self.handle(at, usize::from(flow), packet),
                Effect::Send { to, frame } => self.push(Link::Up(at), Message::Frame(to, frame)),
                Effect::Report(report) => self.push(Link::Up(at), Message::Report(report)),
            }
        }
    }

    fn handle(&mut self, at: Member, flow: usize, packet: u8) {
        self.handled += 1;
        if self.owner[flow].is_some_and(|owner| owner != at) {
            self.broken = Some("a wrong server");
        } else if packet <= self.last[flow] {
            self.broken = Some("out of order");
        }
        self.owner[flow] = Some(at);
        self.last[flow] = packet;
    }
}
