//! Leases of blocks, explored: every order of events within a budget. Each mutant breaks a property, and is found.

use features::fingerprint;
use server_groups::Member;
use server_groups::leases::{Blocks, Leases, Orders, has, put};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// Blocks 1 to 3: one has its home at each of three servers.
const BLOCKS: u32 = 4;

/// From the end of a server to the end of its flows.
const REST: u64 = 2;

/// Ways to get it wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mutant {
    /// Links do not keep the order of frames.
    NotInOrder,
    /// A withdrawn block is free at once.
    Unasked,
    /// A server does not say that it still uses a block.
    BusyUnreported,
    /// The blocks of a server that is gone are free at once.
    NoRest,
    /// An answer to an earlier instruction counts.
    OldAnswers,
    /// A member knows of its lease before the switch does.
    InstructedFirst,
    /// A server begins with the blocks whose home it is.
    BeginsAtHome,
    /// A server that drains keeps nothing.
    DrainsAtOnce,
}

/// A change of the members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Change {
    Join(u16),
    Drain(u16),
    /// After its last flow.
    Leave(u16),
    Die(u16),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Order {
    Write(u32, Member),
    Instruct(Member, u32, Blocks),
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Server {
    blocks: Blocks,
    /// Numbers in use, by block.
    used: BTreeMap<u32, u8>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    mutant: Option<Mutant>,
    leases: Leases,
    takers: BTreeSet<Member>,
    /// The switch's table.
    entries: BTreeMap<u32, Member>,
    servers: BTreeMap<Member, Server>,
    orders: VecDeque<Order>,
    /// Instructions under way, and answers.
    down: BTreeMap<Member, VecDeque<(u32, Blocks)>>,
    up: BTreeMap<Member, VecDeque<(u32, Blocks)>>,
    last: BTreeMap<Member, u32>,
    /// Numbers that flows of dead servers still have: block, server, end.
    left: BTreeSet<(u32, Member, u64)>,
    now: u64,
    takes: u8,
    polls: u8,
    ends_at: u64,
    changes: VecDeque<Change>,
    broken: Option<&'static str>,
}

impl World {
    /// Servers 0 and 1 are members, and know their blocks.
    fn new(mutant: Option<Mutant>, takes: u8, changes: &[Change]) -> World {
        let rest = if mutant == Some(Mutant::NoRest) { 0 } else { REST };
        let leases = Leases::new(3, BLOCKS, rest);
        let entries = leases.entries().collect();
        let mut world = World {
            mutant,
            leases,
            takers: BTreeSet::new(),
            entries,
            servers: BTreeMap::new(),
            orders: VecDeque::new(),
            down: BTreeMap::new(),
            up: BTreeMap::new(),
            last: BTreeMap::new(),
            left: BTreeSet::new(),
            now: 0,
            takes,
            polls: u8::from(changes.len() < 3),
            ends_at: 2 * REST,
            changes: changes.iter().copied().collect(),
            broken: None,
        };
        world.change(Change::Join(0));
        world.change(Change::Join(1));
        world.settle();
        world
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// All worlds after one more event.
    fn next(&self) -> Vec<World> {
        let mut worlds = vec![];
        let mut add = |event: &dyn Fn(&mut World)| {
            let mut next = self.clone();
            event(&mut next);
            worlds.push(next);
        };
        for (member, server) in &self.servers {
            for block in 1..BLOCKS {
                if self.takes > 0 && has(&server.blocks, block) {
                    add(&|w| w.take(*member, block));
                }
                if server.used.contains_key(&block) {
                    add(&|w| w.end(*member, block));
                }
            }
        }
        if !self.orders.is_empty() {
            add(&World::order);
        }
        for (member, frames) in &self.down {
            let most = if self.is(Mutant::NotInOrder) { frames.len() } else { frames.len().min(1) };
            (0..most).for_each(|at| add(&|w| w.instruct(*member, at)));
        }
        for (member, frames) in &self.up {
            if !frames.is_empty() {
                add(&|w| w.answer(*member));
            }
        }
        if let Some(change) = self.changes.front().filter(|change| self.may(**change)) {
            add(&|w| {
                w.changes.pop_front();
                w.change(*change);
            });
        }
        if self.polls > 0 {
            add(&|w| {
                w.polls -= 1;
                w.poll();
            });
        }
        if self.now < self.ends_at {
            add(&World::pass);
        }
        worlds
    }

    fn may(&self, change: Change) -> bool {
        match change {
            Change::Leave(member) => {
                self.servers.get(&Member(member)).is_some_and(|server| server.used.is_empty())
            }
            Change::Join(_) | Change::Drain(_) | Change::Die(_) => true,
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Join(number) => {
                let member = Member(number);
                let mut server = Server::default();
                if self.is(Mutant::BeginsAtHome) {
                    let own = (1..BLOCKS).filter(|block| block % 3 == u32::from(number));
                    own.for_each(|block| put(&mut server.blocks, block));
                }
                self.servers.insert(member, server);
                self.leases.joined(member, false);
                self.takers.insert(member);
            }
            Change::Drain(member) => {
                self.takers.remove(&Member(member));
                if self.is(Mutant::DrainsAtOnce) {
                    self.leases.gone(Member(member), self.now.saturating_sub(REST));
                }
            }
            Change::Leave(member) | Change::Die(member) => self.remove(Member(member)),
        }
        self.share();
    }

    fn remove(&mut self, member: Member) {
        let server = self.servers.remove(&member).unwrap_or_default();
        let until = self.now + REST;
        self.left.extend(server.used.keys().map(|block| (*block, member, until)));
        self.down.remove(&member);
        self.up.remove(&member);
        self.takers.remove(&member);
        self.leases.gone(member, self.now);
    }

    fn share(&mut self) {
        let orders = self.leases.share(&self.takers, self.now);
        self.carry_out(orders);
    }

    fn carry_out(&mut self, orders: Orders) {
        let writes = orders.writes.into_iter().map(|(block, to)| Order::Write(block, to));
        let sent: Vec<_> = orders
            .instructions
            .iter()
            .map(|(to, v, blocks)| Order::Instruct(*to, *v, blocks.clone()))
            .collect();
        if self.is(Mutant::InstructedFirst) {
            self.orders.extend(sent);
            self.orders.extend(writes);
        } else {
            self.orders.extend(writes);
            self.orders.extend(sent);
        }
        for (member, version, _) in orders.instructions {
            self.last.insert(member, version);
            if self.is(Mutant::Unasked) && self.leases.answered(member, version, &[], 1) {
                self.share();
            }
        }
    }

    fn order(&mut self) {
        match self.orders.pop_front() {
            Some(Order::Write(block, to)) => drop(self.entries.insert(block, to)),
            Some(Order::Instruct(to, version, blocks)) if self.servers.contains_key(&to) => {
                self.down.entry(to).or_default().push_back((version, blocks));
            }
            _ => {}
        }
    }

    fn instruct(&mut self, member: Member, at: usize) {
        let Some((version, blocks)) = self.down.get_mut(&member).and_then(|frames| frames.remove(at)) else {
            return;
        };
        let Some(server) = self.servers.get_mut(&member) else { return };
        server.blocks = blocks;
        let mut busy = vec![];
        server.used.keys().for_each(|block| put(&mut busy, *block));
        if self.is(Mutant::BusyUnreported) {
            busy.clear();
        }
        self.up.entry(member).or_default().push_back((version, busy));
    }

    fn answer(&mut self, member: Member) {
        let Some((version, busy)) = self.up.get_mut(&member).and_then(VecDeque::pop_front) else { return };
        let version = match self.is(Mutant::OldAnswers) {
            true => self.last.get(&member).copied().unwrap_or(version),
            false => version,
        };
        let usable = (1..BLOCKS).filter(|block| has(&self.leases.of(member), *block)).count();
        if self.leases.answered(member, version, &busy, usable as u32) {
            self.share();
        }
    }

    fn poll(&mut self) {
        let orders = self.leases.poll(0, self.now);
        self.carry_out(orders);
    }

    fn pass(&mut self) {
        self.now += 1;
        let now = self.now;
        self.left.retain(|(.., until)| *until > now);
        if self.leases.has_rested(now) {
            self.share();
        }
    }

    fn take(&mut self, member: Member, block: u32) {
        self.takes -= 1;
        let is_used =
            |(other, server): (&Member, &Server)| *other != member && server.used.contains_key(&block);
        let is_used = self.servers.iter().any(is_used);
        if is_used || self.left.iter().any(|(own, other, _)| *own == block && *other != member) {
            self.broken = Some("a number is used twice");
        } else if self.entries.get(&block) != Some(&member) {
            self.broken = Some("packets do not find the server");
        }
        if let Some(server) = self.servers.get_mut(&member) {
            *server.used.entry(block).or_default() += 1;
        }
    }

    fn end(&mut self, member: Member, block: u32) {
        let Some(server) = self.servers.get_mut(&member) else { return };
        let is_last = server.used.get_mut(&block).is_some_and(|count| {
            *count -= 1;
            *count == 0
        });
        if is_last {
            server.used.remove(&block);
        }
    }

    /// Everything that is under way arrives.
    fn settle(&mut self) {
        loop {
            let waits = |links: &BTreeMap<Member, VecDeque<_>>| {
                links.iter().find(|(_, frames)| !frames.is_empty()).map(|(member, _)| *member)
            };
            if !self.orders.is_empty() {
                self.order();
            } else if let Some(member) = waits(&self.down) {
                self.instruct(member, 0);
            } else if let Some(member) = waits(&self.up) {
                self.answer(member);
            } else {
                return;
            }
        }
    }

    /// Properties of every state, and of what comes of it when all flows end.
    fn check(&self) -> Result<(), &'static str> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        // The packets of numbers in use find their server.
        for (member, server) in &self.servers {
            if server.used.keys().any(|block| self.entries.get(block) != Some(member)) {
                return Err("packets do not find the server");
            }
        }
        let mut world = self.clone();
        world.servers.values_mut().for_each(|server| server.used.clear());
        for _ in 0..=2 * REST {
            world.settle();
            world.pass();
            world.poll();
        }
        world.settle();
        let owners = |block| world.servers.values().filter(|server| has(&server.blocks, block)).count();
        if (1..BLOCKS).any(|block| owners(block) > 1) {
            return Err("two servers have a block");
        }
        if (1..BLOCKS).any(|block| owners(block) == 0) {
            return Err("a block is nobody's");
        }
        if world.takers.iter().any(|member| !world.leases.is_able(*member)) || !world.leases.is_steady() {
            return Err("a member gets no block");
        }
        Ok(())
    }
}

/// Looks at all states; gives their number, or the first property that does not hold and where.
fn explore(start: World) -> Result<usize, String> {
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        world.check().map_err(|what| format!("{what} in {world:?}"))?;
        for next in world.next() {
            if seen.insert(fingerprint(&next)) {
                open.push(next);
            }
        }
    }
    Ok(seen.len())
}

#[track_caller]
fn holds(takes: u8, changes: &[Change]) {
    match explore(World::new(None, takes, changes)) {
        Ok(states) => println!("{states} states"),
        Err(what) => panic!("{what}"),
    }
}

#[test]
fn blocks_come_to_a_new_member() {
    holds(2, &[Change::Join(2)]);
}

#[test]
fn blocks_of_a_member_that_leaves_are_given_on() {
    holds(2, &[Change::Drain(1), Change::Leave(1)]);
    holds(1, &[Change::Join(2), Change::Drain(2), Change::Leave(2)]);
}

#[test]
fn blocks_of_the_dead_are_given_on_when_their_flows_have_ended() {
    holds(2, &[Change::Die(1)]);
    holds(1, &[Change::Die(1), Change::Join(1)]);
    holds(1, &[Change::Join(2), Change::Die(1)]);
    // Blocks of a dead server are not given on although the server is back and says that it has nothing.
    holds(if features::is_long() { 2 } else { 1 }, &[Change::Die(1), Change::Join(1), Change::Join(2)]);
}

#[test]
fn each_mutant_of_leases_is_found() {
    let wrong = [
        "a block is nobody's",
        "a number is used twice",
        "packets do not find the server",
        "two servers have a block",
    ];
    let not_found = |mutant, changes: &[Change]| match explore(World::new(Some(mutant), 2, changes)) {
        Ok(states) => Some(format!("{mutant:?} is not found in {states} states")),
        Err(what) if wrong.iter().any(|wrong| what.starts_with(wrong)) => None,
        Err(what) => Some(format!("{mutant:?}: {what}")),
    };
    let all = [
        not_found(Mutant::NotInOrder, &[Change::Join(2), Change::Die(2), Change::Join(2)]),
        not_found(Mutant::Unasked, &[Change::Join(2)]),
        not_found(Mutant::BusyUnreported, &[Change::Join(2)]),
        not_found(Mutant::NoRest, &[Change::Die(1)]),
        not_found(Mutant::OldAnswers, &[Change::Join(2), Change::Die(2), Change::Join(2)]),
        not_found(Mutant::InstructedFirst, &[Change::Join(2)]),
        not_found(Mutant::BeginsAtHome, &[Change::Die(1), Change::Join(1)]),
        not_found(Mutant::DrainsAtOnce, &[Change::Drain(1)]),
    ];
    let all: Vec<_> = all.into_iter().flatten().collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}
