//! Requests in, steps out.

use crate::tables::{FIRST, Flow, Key, Tables};
use base_diag::Diagnostic;
use base_time::Duration;
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use dataplane_api::EntryError;
use device::Options;
use flow_control::flows::{Counters, Flows, Limits, MovedTo, Output, Place};
use flow_control::moves::{Answer, Operation, Version, WriteId};
use flow_control::pending::{Bounds, Order};
use flow_control::popularity::{Costs, Window};
use ir::{Name, Program};
use ir_keys::Keys;
use ir_pin::Pinned;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

/// Names a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepId(pub u64);

/// Names a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteNumber(pub u64);

/// Something to carry out. [`PinnedFlows::ended`] follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Name of the step.
    pub id: StepId,
    /// Work of the step.
    pub work: Work,
    /// The switch may have no room for it: it may end as [`Ended::Full`].
    pub may_be_full: bool,
}

/// The work of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Write to all devices that have the tables. Where it cannot be known whether it was done, it is to be done again, and not undone before: packets may
    /// have found it.
    Write(Vec<Write<Name>>),
    /// Wait until no packet that has been looked up in the flow manager before is between there and its last lookup at the switch.
    Flush,
    /// These writes to copies, together with those of [`PinnedFlows::write_together`] that have this number, so that no packet sees a part. The step
    /// ends as [`Ended::Full`] if nothing is written.
    Together(WriteNumber, Vec<Write<Name>>),
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The move is done.
    Done,
    /// The switch has no room for an entry, or the writes are refused, and nothing was done.
    Full,
}

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The values do not fit the parts of the flow's key.
    NotAFlow,
    /// Packets of the flow may take too many paths: the entries that they look up are not known.
    TooManyPaths,
    /// The flow is leaving the switch, or awaits a decision.
    Busy,
    /// No flow that has these values is at the switch.
    NotThere,
    /// The table has no entry for the flow, and misses are the helper's.
    NoEntry,
    /// The write cannot be done.
    Write(EntryError),
    /// Too many writes are in progress.
    TooManyWrites,
}

/// Most writes in progress.
const WRITES: usize = 256;

/// Names that a pinned program's tables and actions have.
struct Names {
    pinned: Pinned,
    /// None of a program with a hot table: the copies of entries alone make a flow resident.
    flow_manager: Option<Name>,
    resident: Name,
    /// Widths of the parts of a flow's key.
    widths: Vec<u32>,
}

/// All flows of a pinned program at one switch.
pub struct PinnedFlows {
    names: Names,
    tables: Tables,
    flows: Flows<Flow, Key, Infallible>,
    /// The version of each [`Key::Whole`] and [`Key::Default`] at the switch.
    at_switch: BTreeMap<Key, Version>,
    doing: BTreeMap<StepId, Operation<Flow, Key>>,
    /// Writes that no flow depends on.
    plain: BTreeMap<StepId, WriteNumber>,
    /// Writes in progress that flows may depend on.
    writes: BTreeMap<WriteId, WriteNumber>,
    done: VecDeque<WriteNumber>,
    steps: VecDeque<Step>,
    moved: VecDeque<(Flow, MovedTo)>,
    next: u64,
    /// Number of the next write.
    next_write: u64,
    written: u64,
}

impl PinnedFlows {
    /// No flow is at the switch. `program` is the program that was pinned, with the sizes of its tables; `keys` are its keys; `entries` are written
    /// to its tables, and to copies of those that are copied whole. `costs` are those of moves by popularity.
    ///
    /// # Errors
    ///
    /// Reasons why flows of this program cannot move.
    pub fn new(
        program: &Program,
        keys: &Keys,
        pinned: &Pinned,
        entries: &[Write<Name>],
        costs: Costs,
        options: Options,
    ) -> Result<PinnedFlows, Vec<Diagnostic>> {
        let tables = Tables::new(program, keys, pinned, entries, options)?;
        let names = Names {
            flow_manager: pinned.flow_manager.clone(),
            resident: pinned.resident_action.clone().unwrap_or_default(),
            widths: keys.key.parts.iter().map(|part| part.width).collect(),
            pinned: pinned.clone(),
        };
        let limits = Limits {
            // Packets of new flows are the helpers' and the program's own controller's.
            pending: Bounds { flows: 0, packets: 0 },
            order: Order::Any,
            patience: Duration::ZERO,
            writes: WRITES,
            headroom: 0,
            costs,
        };
        Ok(PinnedFlows {
            names,
            tables,
            flows: Flows::new(limits, usize::MAX),
            at_switch: BTreeMap::new(),
            doing: BTreeMap::new(),
            plain: BTreeMap::new(),
            writes: BTreeMap::new(),
            done: VecDeque::new(),
            steps: VecDeque::new(),
            moved: VecDeque::new(),
            next: 0,
            next_write: 0,
            written: 0,
        })
    }

    /// Moves the flow to the switch.
    pub fn promote(&mut self, flow: &Flow) -> Result<(), Refusal> {
        self.check(flow)?;
        self.tables.knows(flow).map_err(|_| Refusal::TooManyPaths)?;
        if !self.is_worth_it(flow) {
            return Err(Refusal::NoEntry);
        }
        if !self.flows.promote(flow, &mut self.tables) {
            return Err(Refusal::Busy);
        }
        self.go_on();
        Ok(())
    }

    /// Moves the flow to its helper.
    pub fn demote(&mut self, flow: &Flow) -> Result<(), Refusal> {
        self.check(flow)?;
        if !self.flows.demote(flow, &mut self.tables) {
            return Err(Refusal::NotThere);
        }
        self.go_on();
        Ok(())
    }

    /// A write to the program's tables or value sets, which all devices get in the right order. [`next_written`](PinnedFlows::next_written) gives its number when
    /// all have it. Nothing else of the program may be written meanwhile.
    pub fn write(&mut self, write: Write<Name>) -> Result<WriteNumber, Refusal> {
        let number = WriteNumber(self.next_write);
        match self.tables.begin(write.clone()).map_err(Refusal::Write)? {
            Some(begun) => {
                let id = self.flows.write(begun, &mut self.tables).ok_or(Refusal::TooManyWrites)?;
                self.writes.insert(id, number);
            }
            None => {
                let id = self.step(Work::Write(vec![write]), false);
                self.plain.insert(id, number);
            }
        }
        self.next_write += 1;
        self.go_on();
        Ok(number)
    }

    /// Writes to tables that are copied and to value sets, of which no packet is to see a part. Flows at the switch that look an entry of theirs up leave it, and come
    /// back afterwards. [`Work::Together`] follows when they have left.
    pub fn write_together(&mut self, writes: Vec<Write<Name>>) -> Result<WriteNumber, Refusal> {
        let begun = self.tables.begin_all(writes).map_err(Refusal::Write)?;
        let id = self.flows.write_together(begun, &mut self.tables).ok_or(Refusal::TooManyWrites)?;
        let number = WriteNumber(self.next_write);
        self.next_write += 1;
        self.writes.insert(id, number);
        self.go_on();
        Ok(number)
    }

    /// A write that all devices have, the first one first.
    pub fn next_written(&mut self) -> Option<WriteNumber> {
        self.done.pop_front()
    }

    /// Writes in progress.
    pub fn writing(&self) -> usize {
        self.writes.len() + self.plain.len()
    }

    /// True if packets look up a copy of the table at the switch.
    pub fn is_copied(&self, table: &str) -> bool {
        self.names.pinned.tables.iter().any(|copy| copy.original == table)
    }

    /// True if the table is one of those that only moves write: the flow manager, or a copy.
    pub fn is_own(&self, table: &str) -> bool {
        let is_copy = self.names.pinned.tables.iter().any(|copy| copy.resident == table);
        is_copy || self.is_flow_manager(table)
    }

    /// True for the table of the keys of resident flows.
    pub fn is_flow_manager(&self, table: &str) -> bool {
        self.names.flow_manager.as_ref().is_some_and(|name| name == table)
    }

    /// True of a program with a hot table: it has no flow manager, and packets that miss in the copy are the handler's.
    pub fn is_hot(&self) -> bool {
        self.names.flow_manager.is_none()
    }

    /// True if a copy of the table at the switch has all its entries.
    pub fn is_whole(&self, table: &str) -> bool {
        self.names.pinned.whole.contains(table)
    }

    /// A write to a table, as its copy gets it.
    pub fn copy_of(&self, write: &Write<Name>) -> Write<Name> {
        self.names.at_switch(write)
    }

    /// True if a lookup of the flow in one of these tables finds no entry in the full table.
    pub fn misses(&self, flow: &Flow, tables: &[Name]) -> bool {
        self.check(flow).is_ok() && self.tables.misses(flow, tables)
    }

    /// Members of the value sets, as all devices have them: [`Classifier::follow`](crate::Classifier::follow) names packets by them.
    pub fn value_sets(&self) -> &BTreeMap<Name, Vec<Vec<Match>>> {
        self.tables.value_sets()
    }

    fn wrote(&mut self, number: WriteNumber) {
        self.written += 1;
        self.done.push_back(number);
    }

    /// Time since the last packet of each resident flow: those without one for too long are demoted.
    pub fn seen(&mut self, residents: Vec<(Flow, Duration)>) {
        let residents = residents.into_iter().map(|(flow, since)| (flow, 0, since)).collect();
        let window = Window { reports: vec![], residents, room: usize::MAX, over: 0 };
        self.flows.window(window, &mut self.tables);
        self.go_on();
    }

    /// A window has ended: flows move that are worth it. `reports` are flows at helpers with their packets, `counted` gives the packets of a
    /// flow at the switch and the time since its last one, `most` flows fit there.
    pub fn window(
        &mut self,
        mut reports: Vec<(Flow, u64)>,
        counted: &dyn Fn(&Flow) -> (u64, Duration),
        most: usize,
    ) {
        reports.retain(|(flow, _)| self.is_worth_it(flow));
        let mut residents = vec![];
        let mut room = most;
        for (flow, place) in self.flows.at_switch() {
            room = room.saturating_sub(1);
            if place == Place::Resident {
                let (packets, since) = counted(flow);
                residents.push((flow.clone(), packets, since));
            }
        }
        let over = residents.len().saturating_sub(most);
        self.flows.window(Window { reports, residents, room, over }, &mut self.tables);
        self.go_on();
    }

    /// The flows at the switch, and those on their way to it or from it.
    pub fn at_switch(&self) -> impl Iterator<Item = &Flow> {
        self.flows.at_switch().map(|(flow, _)| flow)
    }

    /// The flows that are not absent, with place and packets in the last window; the most packets first, at most `count`.
    pub fn top(&self, count: usize) -> Vec<(Flow, Place, u64)> {
        self.flows.top(count)
    }

    /// Packets in a window from which helpers report a flow.
    pub fn threshold(&self) -> u64 {
        self.flows.threshold()
    }

    /// A step has ended.
    pub fn ended(&mut self, id: StepId, ended: Ended) {
        if let Some(number) = self.plain.remove(&id) {
            return self.wrote(number);
        }
        let Some(operation) = self.doing.remove(&id) else { return };
        let answer = match ended {
            Ended::Done => Answer::Done,
            Ended::Full => Answer::Full,
        };
        // From now on the copy has the write. Without room, it gets it when no flow looks it up.
        if ended == Ended::Done {
            self.at_switch.extend(copied_for_all(&operation));
        } else if let Operation::Together(id, writes) = &operation {
            self.tables.give_up(writes);
            self.writes.remove(id);
        }
        self.flows.answer(&operation, answer, &mut self.tables);
        self.go_on();
    }

    /// The next thing to do.
    pub fn next_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// A move that has ended, the first one first: by request or not.
    pub fn moved(&mut self) -> Option<(Flow, MovedTo)> {
        self.moved.pop_front()
    }

    /// Place of the flow; `None` for a flow that no device in particular has.
    pub fn place(&self, flow: &Flow) -> Option<Place> {
        self.flows.place(flow)
    }

    /// Numbers of flows at each place.
    pub fn numbers(&self) -> BTreeMap<Place, usize> {
        self.flows.numbers()
    }

    /// Totals since the start.
    pub fn counters(&self) -> Counters {
        self.flows.counters()
    }

    /// Writes that have ended.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// True if no move and no write is in progress.
    pub fn is_at_rest(&self) -> bool {
        self.doing.is_empty() && self.plain.is_empty() && self.steps.is_empty()
    }

    /// True if, at rest, the switch has no flow and no copy.
    pub fn is_empty(&self) -> bool {
        self.flows.is_at_rest()
    }

    /// True if the switch could process the flow's packets: without a flow manager, those that miss there are the helper's.
    fn is_worth_it(&self, flow: &Flow) -> bool {
        let copied = || self.names.pinned.tables.iter().map(|copy| copy.original.clone());
        !self.is_hot() || !self.tables.misses(flow, &copied().collect::<Vec<_>>())
    }

    fn check(&self, flow: &Flow) -> Result<(), Refusal> {
        let fits = flow.iter().map(|value| value.width()).eq(self.names.widths.iter().copied());
        if fits { Ok(()) } else { Err(Refusal::NotAFlow) }
    }

    fn step(&mut self, work: Work, may_be_full: bool) -> StepId {
        let id = StepId(self.next);
        self.next += 1;
        self.steps.push_back(Step { id, work, may_be_full });
        id
    }

    /// Makes steps of the operations that are due.
    fn go_on(&mut self) {
        while let Some(output) = self.flows.output() {
            match output {
                Output::Do(operation) => self.begin(operation),
                Output::Written(id) => {
                    if let Some(number) = self.writes.remove(&id) {
                        self.wrote(number);
                    }
                }
                // No packet waits here.
                Output::Decide(_, never) | Output::Send(_, never) => match never {},
                Output::Mark(_) => {}
                Output::Moved(flow, to) => self.moved.push_back((flow, to)),
            }
        }
    }

    fn begin(&mut self, operation: Operation<Flow, Key>) {
        if let Operation::Put(Key::Unknown, _) = operation {
            return self.flows.answer(&operation, Answer::Full, &mut self.tables);
        }
        let work = match &operation {
            Operation::Flush(_) => Work::Flush,
            // Until the operation ends, its write has a number.
            Operation::Together(id, _) => match self.writes.get(id) {
                Some(number) => Work::Together(*number, self.writes(&operation)),
                None => return self.flows.answer(&operation, Answer::Full, &mut self.tables),
            },
            _ => match self.writes(&operation) {
                writes if writes.is_empty() => {
                    return self.flows.answer(&operation, Answer::Done, &mut self.tables);
                }
                writes => Work::Write(writes),
            },
        };
        let may_be_full = matches!(operation, Operation::Put(..) | Operation::Admit(_));
        let id = self.step(work, may_be_full);
        self.doing.insert(id, operation);
    }

    fn writes(&self, operation: &Operation<Flow, Key>) -> Vec<Write<Name>> {
        match operation {
            Operation::Put(key @ (Key::Whole(_) | Key::Default(_)), version) => {
                self.write_for_all(key, *version).into_iter().collect()
            }
            // The flows that would see another result have left: copies stay as they are. A value set has no copy.
            Operation::Put(Key::Results(_) | Key::ValueSet(_), _) => vec![],
            Operation::Put(key, version) => {
                let made = self.tables.made(key, Some(*version));
                made.iter().map(|write| self.names.at_switch(write)).collect()
            }
            Operation::Remove(key @ (Key::Entry(..) | Key::Hit(..))) => {
                let made = self.tables.made(key, None);
                made.iter().map(|write| self.names.at_switch(write)).collect()
            }
            Operation::Remove(_) => vec![],
            Operation::Admit(flow) => self.names.of_flow(flow, true).into_iter().collect(),
            Operation::Expel(flow) => self.names.of_flow(flow, false).into_iter().collect(),
            // All helpers have all entries, whichever backs another up.
            Operation::Backups(..) | Operation::Flush(_) => vec![],
            Operation::Primaries(_, write) => {
                let copied = copied_for_all(operation);
                let copied =
                    copied.into_iter().filter_map(|(key, version)| self.write_for_all(&key, version));
                copied.chain(self.tables.made(&write.key, write.content)).collect()
            }
            Operation::Together(..) => {
                let copied = copied_for_all(operation).into_iter();
                copied.filter_map(|(key, version)| self.write_for_all(&key, version)).collect()
            }
        }
    }

    /// The write to the copy of a table that is copied whole, or to a copy's default entry; none if the copy has it.
    fn write_for_all(&self, key: &Key, version: Version) -> Option<Write<Name>> {
        let known = self.at_switch.get(key).copied().unwrap_or(FIRST);
        let made = (known < version).then(|| self.tables.made(key, Some(version))).flatten();
        made.map(|write| self.names.at_switch(&write))
    }
}

/// Tables that are copied whole, and default entries, with the versions that the copies have once the operation is done, the last one last.
fn copied_for_all(operation: &Operation<Flow, Key>) -> Vec<(Key, Version)> {
    let of = |key: &Key, version: Option<Version>| match key {
        Key::Whole(_) | Key::Default(_) => version.map(|version| (key.clone(), version)),
        _ => None,
    };
    match operation {
        Operation::Put(key, version) => of(key, Some(*version)).into_iter().collect(),
        Operation::Primaries(_, write) => of(&write.key, write.content).into_iter().collect(),
        Operation::Together(_, writes) => {
            writes.iter().filter_map(|write| of(&write.key, write.content)).collect()
        }
        _ => vec![],
    }
}

impl Names {
    /// A write to a table, as its copy gets it.
    fn at_switch(&self, write: &Write<Name>) -> Write<Name> {
        let copy: Result<Write<Name>, Infallible> =
            write.refer(|_, name| Ok(self.pinned.resident(name).into()));
        match copy {
            Ok(copy) => copy,
            Err(never) => match never {},
        }
    }

    fn of_flow(&self, flow: &Flow, is_there: bool) -> Option<Write<Name>> {
        let table = self.flow_manager.clone()?;
        let matches: Vec<Match> = flow.iter().cloned().map(Match::Exact).collect();
        let call = ActionCall { action: self.resident.clone(), args: vec![] };
        Some(Write::Entry {
            table,
            key: EntryKey { matches: matches.into(), priority: 0 },
            to: is_there.then(|| Box::new(Entry::new(Run::Action(call)))),
            count: None,
        })
    }
}
