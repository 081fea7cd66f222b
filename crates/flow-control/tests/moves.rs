//! The real state machine of moves and writes against a switch, helpers and packets, in all interleavings: operations are carried out
//! and answered in any order, packets advance one lookup at a time.

use flow_control::moves::{Answer, FullTables, Moves, News, Operation, Version, Write, WriteId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Op = Operation<char, char>;

/// Flows A and B share the key `k`. The entry that A finds at `a` leads it to `k`, or to `z` if the entry has version 9.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Tables(BTreeMap<char, Version>);

impl FullTables<char, char> for Tables {
    fn content(&self, key: &char) -> Option<Version> {
        self.0.get(key).copied()
    }

    fn touched(&self, flow: &char, after: Option<&Write<char>>) -> Vec<char> {
        let first = flow.to_ascii_lowercase();
        let found = match after {
            Some(write) if write.key == first => write.content,
            _ => self.content(&first),
        };
        vec![first, if found == Some(Version(9)) { 'z' } else { 'k' }]
    }

    fn apply(&mut self, write: &Write<char>) {
        put(&mut self.0, write);
    }
}

fn put(table: &mut BTreeMap<char, Version>, write: &Write<char>) {
    match write.content {
        Some(version) => _ = table.insert(write.key, version),
        None => _ = table.remove(&write.key),
    }
}

/// How the world may break its contract: each has to be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum World {
    Right,
    /// A flush is answered while packets of the flow are inside.
    FlushAtOnce,
    /// Operations are answered before they are carried out.
    AnswerFirst,
    /// Copies at the switch are written after the helpers' tables.
    SwitchLast,
    /// Writes that are to be done together are done while packets are inside.
    NotTogether,
    /// A switch that starts anew lets packets in before it has its flows and copies again.
    OpensEmpty,
    /// A switch that starts anew gets its copies as the full tables have them, without writes in progress.
    ForgetsWrites,
}

fn is_at_switch(op: &Op) -> bool {
    !matches!(op, Op::Backups(..) | Op::Primaries(..) | Op::Together(..))
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Packet {
    flow: char,
    /// Whether the flow is at the switch; otherwise it is at its helper.
    here: bool,
    /// The key it looks up next.
    next: char,
    /// The newest that lookups of this flow had found when it arrived, by key.
    floor: BTreeMap<char, Option<Version>>,
    /// Whether it has found what writes that are done together have written; none before it has looked one of their keys up.
    finds_new: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    moves: Moves<char, char>,
    tables: Tables,
    /// Devices: the switch's flow table and copies, and the helpers' contents.
    flow_table: BTreeSet<char>,
    copies: BTreeMap<char, Version>,
    /// The flow table and the copies that the switch gets again: it has started anew.
    lost: Option<(BTreeSet<char>, BTreeMap<char, Version>)>,
    primary: BTreeMap<char, Version>,
    backup: BTreeMap<char, Version>,
    /// The primary has failed, and the backup serves.
    failed: bool,
    /// Operations under way, and those carried out that are not answered.
    sent: BTreeSet<Op>,
    answers: BTreeSet<(Op, Answer)>,
    packets: Vec<Packet>,
    budget: usize,
    /// The newest that lookups have found, by flow and key. (Between flows there is no order.)
    seen: BTreeMap<(char, char), Option<Version>>,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Command {
    Promote(char),
    Evict(char),
    Replace(char, char),
    Write(char, Option<u64>),
    Together([(char, Option<u64>); 2]),
    Restart,
}

struct Scene {
    /// Begun in this order, at any moment.
    commands: Vec<Command>,
    /// Entries that the switch has room for.
    room: usize,
    packets: usize,
    /// The primary fails at some moment.
    fails: bool,
    /// Writes that are to be done together are refused.
    refuses: bool,
    world: World,
}

/// An absent entry is older than any other: every scene deletes at most as its last write.
fn rank(version: Option<Version>, deleted: bool) -> u64 {
    match version {
        Some(Version(n)) => n,
        None => {
            if deleted {
                u64::MAX
            } else {
                0
            }
        }
    }
}

impl Scene {
    fn new(commands: &[Command]) -> Scene {
        // Two packets see whether a write is seen in one order; without a write, one sees all.
        let packets =
            if commands.iter().any(|command| matches!(command, W(..) | Together(..))) { 2 } else { 1 };
        Scene {
            commands: commands.to_vec(),
            room: usize::MAX,
            packets,
            fails: false,
            refuses: false,
            world: World::Right,
        }
    }

    fn first(&self) -> State {
        let full: BTreeMap<char, Version> = [('a', Version(1)), ('b', Version(1)), ('k', Version(1))].into();
        State {
            moves: Moves::new(),
            tables: Tables(full.clone()),
            flow_table: BTreeSet::new(),
            copies: BTreeMap::new(),
            lost: None,
            primary: full.clone(),
            backup: full,
            failed: !self.fails,
            sent: BTreeSet::new(),
            answers: BTreeSet::new(),
            packets: vec![],
            budget: self.packets,
            seen: BTreeMap::new(),
            at: 0,
        }
    }

    fn deletes(&self, key: char) -> bool {
        self.commands.iter().any(|command| match command {
            W(k, None) => *k == key,
            Together(writes) => writes.contains(&(key, None)),
            _ => false,
        })
    }

    /// Content that is written to the key together with others.
    fn together(&self, key: char) -> Option<Option<Version>> {
        let mut all = self.commands.iter().filter_map(|command| match command {
            Together(writes) => writes.iter().find(|(k, _)| *k == key),
            _ => None,
        });
        all.next().map(|(_, content)| content.map(Version))
    }

    fn command(&self, state: &State) -> Option<State> {
        let command = *self.commands.get(state.at)?;
        let mut next = state.clone();
        let State { moves, tables, .. } = &mut next;
        match command {
            Command::Promote(flow) => moves.promote(flow, tables),
            Command::Evict(flow) => moves.evict(&flow, tables),
            Command::Replace(old, new) => moves.replace(&old, new, tables),
            Command::Write(key, content) => {
                let write = Write { key, content: content.map(Version) };
                moves.write(WriteId(state.at as u64), write, tables);
            }
            Together(writes) => {
                let write =
                    |(key, content): (char, Option<u64>)| Write { key, content: content.map(Version) };
                moves.write_together(WriteId(state.at as u64), writes.map(write).to_vec(), tables);
            }
            Command::Restart => {
                let (flows, mut copies) =
                    (std::mem::take(&mut next.flow_table), std::mem::take(&mut next.copies));
                if self.world == World::ForgetsWrites {
                    let content =
                        |(key, version): (char, Version)| (key, next.tables.content(&key).unwrap_or(version));
                    copies = copies.into_iter().map(content).collect();
                }
                next.lost = Some((flows, copies));
                // Packets inside are lost with it.
                next.packets.retain(|packet| !packet.here);
            }
        }
        next.at += 1;
        Some(next)
    }

    /// Carries an operation out; none if it has to wait.
    fn execute(&self, state: &State, op: &Op) -> Option<State> {
        if state.lost.is_some() && is_at_switch(op) {
            return None;
        }
        let mut next = state.clone();
        next.sent.remove(op);
        let mut answer = Answer::Done;
        match op {
            Op::Put(key, version) => {
                if next.copies.len() >= self.room && !next.copies.contains_key(key) {
                    answer = Answer::Full;
                } else {
                    next.copies.insert(*key, *version);
                }
            }
            Op::Remove(key) => _ = next.copies.remove(key),
            Op::Admit(flow) => _ = next.flow_table.insert(*flow),
            Op::Expel(flow) => _ = next.flow_table.remove(flow),
            Op::Flush(flow) => {
                let inside = state.packets.iter().any(|packet| packet.here && packet.flow == *flow);
                if inside && self.world != World::FlushAtOnce {
                    return None;
                }
            }
            Op::Backups(_, write) => put(&mut next.backup, write),
            Op::Primaries(_, write) => put(&mut next.primary, write),
            Op::Together(_, writes) => {
                if !state.packets.is_empty() && self.world != World::NotTogether {
                    return None;
                }
                if self.refuses {
                    answer = Answer::Full;
                } else {
                    writes.iter().for_each(|write| put(&mut next.primary, write));
                    writes.iter().for_each(|write| put(&mut next.backup, write));
                }
            }
        }
        next.answers.insert((op.clone(), answer));
        Some(next)
    }

    fn arrive(&self, state: &State, flow: char) -> State {
        let mut next = state.clone();
        let here = state.flow_table.contains(&flow);
        let own = state.seen.iter().filter(|((of, _), _)| *of == flow);
        let floor = own.map(|((_, key), found)| (*key, *found)).collect();
        next.packets.push(Packet { flow, here, next: flow.to_ascii_lowercase(), floor, finds_new: None });
        next.budget -= 1;
        next
    }

    /// The packet's next lookup. An error if it finds less than a packet that was done before it came, or, at the switch, what
    /// neither the full tables nor a write under way have.
    fn look_up(&self, state: &State, i: usize) -> Result<State, String> {
        let mut next = state.clone();
        let mut packet = next.packets.remove(i);
        let key = packet.next;
        let helper = if self.fails && state.failed { &state.backup } else { &state.primary };
        let found = if packet.here { &state.copies } else { helper }.get(&key).copied();
        let rank = |version| rank(version, self.deletes(key));
        if packet.floor.get(&key).is_some_and(|&floor| rank(found) < rank(floor)) {
            return Err(format!("{packet:?} finds {found:?}"));
        }
        let written = self.commands.iter().any(|command| {
            matches!(command, Command::Write(k, content) if *k == key && content.map(Version) == found)
        });
        if packet.here && !written && found != state.tables.content(&key) {
            return Err(format!("{packet:?} finds {found:?} at the switch"));
        }
        if let Some(new) = self.together(key) {
            let is_new = rank(found) >= rank(new);
            if packet.finds_new.replace(is_new).is_some_and(|before| before != is_new) {
                return Err(format!("{packet:?} finds {found:?}: a part of the writes"));
            }
        }
        let flow = packet.flow;
        if key == flow.to_ascii_lowercase() {
            let after = if found == Some(Version(9)) { 'z' } else { 'k' };
            next.packets.push(Packet { next: after, ..packet });
        }
        let seen = next.seen.entry((flow, key)).or_insert(found);
        if rank(found) > rank(*seen) {
            *seen = found;
        }
        Ok(next)
    }

    /// Everything that may happen next.
    fn next(&self, state: &State) -> Result<Vec<State>, String> {
        let mut next: Vec<State> = self.command(state).into_iter().collect();
        next.extend(state.sent.iter().filter_map(|op| self.execute(state, op)));
        for (op, answer) in &state.answers {
            let mut after = state.clone();
            after.answers.remove(&(op.clone(), *answer));
            after.moves.answer(op, *answer, &mut after.tables);
            next.push(after);
        }
        if let Some((flow_table, copies)) = state.lost.clone() {
            next.push(State { flow_table, copies, lost: None, ..state.clone() });
        }
        let is_open = state.lost.is_none() || self.world == World::OpensEmpty;
        if state.budget > 0 && is_open {
            next.extend(['A', 'B'].map(|flow| self.arrive(state, flow)));
        }
        if !state.failed {
            next.push(State { failed: true, ..state.clone() });
        }
        for i in 0..state.packets.len() {
            next.push(self.look_up(state, i)?);
        }
        for state in &mut next {
            while let Some(op) = state.moves.operation() {
                self.send(state, op);
            }
            while let Some(news) = state.moves.news() {
                let (News::In(flow) | News::Out(flow) | News::Refused(flow)) = news else { continue };
                let expected = matches!(news, News::In(_));
                if state.lost.is_none()
                    && state.flow_table.contains(&flow) != expected
                    && self.world == World::Right
                {
                    return Err(format!("{news:?} with {:?}", state.flow_table));
                }
            }
        }
        Ok(next)
    }

    fn send(&self, state: &mut State, op: Op) {
        match (self.world, &op) {
            (World::AnswerFirst, Op::Expel(_) | Op::Put(..)) => {
                state.answers.insert((op.clone(), Answer::Done));
                state.sent.insert(op);
            }
            (World::SwitchLast, Op::Put(key, Version(version))) if *version > 1 && *key == 'k' => {
                state.answers.insert((op.clone(), Answer::Done));
                state.sent.insert(op);
            }
            _ => _ = state.sent.insert(op),
        }
    }

    /// All states; what must hold in those in which nothing more happens.
    fn explore(&self) -> Result<usize, String> {
        let first = self.first();
        let (mut seen, mut queue) = (BTreeSet::from([first.clone()]), VecDeque::from([first]));
        while let Some(state) = queue.pop_front() {
            let next = self.next(&state)?;
            if next.is_empty() {
                self.at_rest(&state)?;
            }
            for state in next {
                if seen.insert(state.clone()) {
                    queue.push_back(state);
                }
            }
        }
        Ok(seen.len())
    }

    /// Nothing is stuck, nothing leaks: the switch holds the touched entries of its flows and no more.
    fn at_rest(&self, state: &State) -> Result<(), String> {
        let wanted: BTreeSet<char> =
            state.flow_table.iter().flat_map(|flow| state.tables.touched(flow, None)).collect();
        let copies: BTreeMap<char, Version> =
            wanted.iter().filter_map(|key| Some((*key, state.tables.content(key)?))).collect();
        let stuck = state.at < self.commands.len() || !state.packets.is_empty() || !state.sent.is_empty();
        let same = copies == state.copies && state.tables.0 == state.primary && state.primary == state.backup;
        let flows = state.moves.len().0 == state.flow_table.len() && state.moves.len().1 == wanted.len();
        if stuck || !same || !flows || (state.flow_table.is_empty() && !state.moves.is_empty()) {
            return Err(format!("at rest: {state:#?}"));
        }
        Ok(())
    }
}

use Command::{Evict, Promote, Replace, Restart, Together, Write as W};

#[track_caller]
fn holds(commands: &[Command]) {
    Scene::new(commands).explore().unwrap();
}

#[track_caller]
fn fails(commands: &[Command], world: World) {
    let scene = Scene { world, ..Scene::new(commands) };
    assert!(scene.explore().is_err(), "{world:?} is not noticed");
}

#[test]
fn flows_that_share_a_key_move_beside_each_other() {
    holds(&[Promote('A'), Evict('A'), Promote('B')]);
    holds(&[Promote('A'), Promote('B'), Evict('A'), Evict('B')]);
    holds(&[Promote('A'), Evict('A'), Promote('A'), Evict('A')]);
    holds(&[Promote('A'), Replace('A', 'B')]);
}

#[test]
fn a_write_is_seen_in_one_order_whatever_moves() {
    holds(&[Promote('A'), W('k', Some(2)), Evict('A')]);
    holds(&[W('k', Some(2)), Promote('A'), Evict('A')]);
    holds(&[Promote('A'), W('k', None), Promote('B')]);
    holds(&[Promote('A'), W('k', Some(2)), W('k', Some(3))]);
}

#[test]
fn a_write_is_seen_in_one_order_when_the_primary_fails() {
    let scene = |commands: &[Command]| Scene { fails: true, ..Scene::new(commands) };
    scene(&[Promote('A'), W('k', Some(2))]).explore().unwrap();
    scene(&[W('k', Some(2)), Promote('A'), Evict('A')]).explore().unwrap();
}

#[test]
fn a_miss_at_the_switch_is_one_in_the_full_tables() {
    // Version 9 leads A to `z`, where there is no entry until the last write.
    holds(&[W('a', Some(9)), Promote('A'), W('z', Some(2))]);
}

#[test]
fn a_write_that_leads_lookups_elsewhere_evicts_first() {
    holds(&[Promote('A'), W('a', Some(9)), Promote('B')]);
    holds(&[Promote('A'), W('a', Some(9)), Promote('A')]);
}

/// The entry of A and the shared one; and an entry that leads A elsewhere, with the one that it leads to.
const BOTH: Command = Together([('a', Some(2)), ('k', Some(2))]);
const ELSEWHERE: Command = Together([('a', Some(9)), ('z', Some(2))]);

#[test]
fn no_packet_sees_a_part_of_writes_that_are_done_together() {
    let all = [BOTH, ELSEWHERE, Together([('a', Some(2)), ('k', None)])];
    for together in all.into_iter().take(if features::is_long() { 3 } else { 1 }) {
        holds(&[Promote('A'), together]);
        holds(&[together, Promote('A')]);
        holds(&[Promote('A'), together, Evict('A')]);
        holds(&[Promote('A'), Evict('A'), together]);
        holds(&[Promote('A'), together, Restart]);
    }
    holds(&[Promote('A'), W('k', Some(2)), Together([('a', Some(3)), ('k', Some(3))])]);
    holds(&[Promote('A'), BOTH, Promote('B')]);
    let scene = |commands: &[Command]| Scene { refuses: true, ..Scene::new(commands) };
    scene(&[Promote('A'), BOTH]).explore().unwrap();
}

#[test]
fn flows_come_back_after_writes_that_are_done_together() {
    let State { mut moves, mut tables, .. } = Scene::new(&[]).first();
    // All operations are done, up to those that are together.
    let go_on = |moves: &mut Moves<char, char>, tables: &mut Tables| {
        while let Some(op) = moves.operation() {
            if matches!(op, Op::Together(..)) {
                return Some(op);
            }
            moves.answer(&op, Answer::Done, tables);
        }
        None
    };
    moves.promote('A', &mut tables);
    go_on(&mut moves, &mut tables);
    assert!(moves.at_switch(&'A'));
    let writes = ['a', 'k'].map(|key| Write { key, content: Some(Version(2)) });
    moves.write_together(WriteId(0), writes.to_vec(), &mut tables);
    let op = go_on(&mut moves, &mut tables).expect("they are written");
    assert_eq!((moves.has(&'A'), moves.at_switch(&'A'), moves.len()), (true, false, (0, 0)));
    moves.answer(&op, Answer::Done, &mut tables);
    assert_eq!(go_on(&mut moves, &mut tables), None);
    assert!(moves.at_switch(&'A'));
}

#[test]
fn a_switch_without_room_refuses_and_gives_back() {
    for room in 0..3 {
        let scene = |commands: &[Command]| Scene { room, ..Scene::new(commands) };
        scene(&[Promote('A'), Promote('B'), Evict('A')]).explore().unwrap();
        scene(&[W('a', Some(9)), Promote('A'), W('z', Some(2))]).explore().unwrap();
    }
}

#[test]
fn a_switch_that_starts_anew_shows_no_entry_as_before_a_write_that_was_seen() {
    holds(&[Promote('A'), Restart, Promote('A')]);
    holds(&[Promote('A'), Restart, Evict('A')]);
    holds(&[Promote('A'), W('k', Some(2)), Restart]);
    holds(&[Promote('A'), W('a', Some(9)), Restart]);
    let scene = |commands: &[Command]| Scene { fails: true, ..Scene::new(commands) };
    scene(&[Promote('A'), W('k', Some(2)), Restart]).explore().unwrap();
}

#[test]
fn what_the_devices_owe_is_needed() {
    fails(&[Promote('A'), Evict('A')], World::FlushAtOnce);
    fails(&[Promote('A'), Evict('A')], World::AnswerFirst);
    fails(&[Promote('A'), W('k', Some(2)), Evict('A')], World::SwitchLast);
    fails(&[Promote('A'), BOTH], World::NotTogether);
    fails(&[Promote('A'), W('k', Some(2)), Restart], World::OpensEmpty);
    fails(&[Promote('A'), W('k', Some(2)), Restart], World::ForgetsWrites);
}
