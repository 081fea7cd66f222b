//! Registers, counters and direct counters with `@merge` that several devices have: at an interval, their copies become one value (`flow_control::merge`).
//!
//! ```text
//! round begins    every device   <══ pull                  what have you counted?
//!                 every device   ══> push                  what has changed since the last one that was named
//! all have, or a quarter of the interval is over
//!                 some devices   <══ merge                 what the others have counted, if it has changed
//! ```
//!
//! Messages are not answered like other requests: they may be lost, come twice or in any order, and the next round makes up for it.
//! They are left out when devices get contents: a program begins with zeros, and a round brings the value.

use crate::cells::Cells;
use crate::copied::Totals;
use crate::merge_rows::Rows;
use crate::numbers::{Numbered, OF_DEFAULT};
use crate::part::Rollout;
use crate::schedule::TaskId;
use crate::state::State;
use base_time::{Duration, Time};
use flow_control::merge::{Banked, Hub, HubMessage, Kind, Merge, Push, ToDevice, ToHub};
use p4runtime_proto::p4::v1::TableEntry;
use p4runtime_store::Catalog;
use state_modes::Merge as Operator;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A device that has not answered for so many rounds, and so long, is not waited for any more.
const ROUNDS: u64 = 50;
const LONG: Duration = Duration::from_s(10);

/// All merged objects of the running rollout.
#[derive(Default)]
pub(crate) struct Merged {
    /// Number of this hub, larger than that of any before: a time. 0 before the first rollout.
    hub: u64,
    pub(crate) objects: BTreeMap<u32, Object>,
    /// The newest round that each device with copies has answered.
    pub(crate) heard: BTreeMap<usize, u64>,
    /// Rounds so far.
    pub(crate) round: u64,
    /// The first round of this rollout.
    first: u64,
    /// When the last one began.
    begun: Time,
    /// Answers of this round are waited for.
    collects: bool,
    due: Time,
    span: Duration,
    /// The beginning of the newest round after which all devices had the value of all.
    clean: Option<Time>,
    /// Tasks that wait for answers.
    pub(crate) waiting: BTreeSet<TaskId>,
    traffic: MergeTraffic,
    /// Rows to store, if the controller has a store.
    pub(crate) rows: Rows,
}

/// A register, or a counter.
pub(crate) struct Object {
    name: String,
    /// Devices with copies, by their places in the hub.
    pub(crate) holders: Vec<usize>,
    /// Names of the devices.
    pub(crate) names: Vec<String>,
    pub(crate) cells: Cells,
    pub(crate) hub: Hub<u64>,
    /// The entries of a direct counter, by their numbers.
    pub(crate) entries: BTreeMap<u64, TableEntry>,
}

impl Object {
    /// True of a cell that exists.
    pub(crate) fn has(&self, cell: u64) -> bool {
        let number = cell / 2;
        !self.cells.are_entries() || number == OF_DEFAULT || self.entries.contains_key(&number)
    }
}

/// Messages of the merge so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MergeTraffic {
    /// Rounds.
    pub rounds: u64,
    /// Messages to devices and from them.
    pub messages: u64,
    /// Bytes in these.
    pub bytes: u64,
    /// Messages that were malformed, or about cells that do not exist.
    pub refused: u64,
}

/// An object whose copies are merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MergeState {
    /// The object's name.
    pub name: String,
    /// How copies become one value.
    pub operator: Operator,
    /// Cells with a value; a counter has two for each index.
    pub cells: u64,
    /// Copies of the object.
    pub copies: Vec<CopyState>,
}

/// A copy of a merged object, as its hub knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyState {
    /// Name of the device.
    pub device: String,
    /// Number of the device's start; 0 if it has not been heard.
    pub incarnation: u64,
    /// Messages of this incarnation that have been taken.
    pub pushes: u64,
    /// True if the device has not confirmed all values that the hub knows.
    pub is_behind: bool,
    /// Rounds since its last answer.
    pub silent_rounds: u64,
}

impl Merged {
    /// Begins with a rollout whose devices begin with zeros. `totals` are the values of the cells; `number` is larger than
    /// that of any earlier hub.
    pub(crate) fn fill(
        &mut self,
        rollout: &Rollout,
        (totals, entries): (Totals, Vec<Numbered>),
        span: Duration,
        (now, number): (Time, u64),
    ) {
        let banked = |((_, cell), value): (&(u32, u64), &u128)| {
            let value = *value;
            (*cell, Banked { epoch: 0, value })
        };
        self.begin_with(rollout, entries, span, (now, number), |id, kind, names| {
            let known = totals.range((id, 0)..=(id, u64::MAX));
            Hub::new(kind, names.len(), known.map(banked).collect())
        });
    }

    /// Begins with the merged objects of a rollout.
    pub(crate) fn begin_with(
        &mut self,
        rollout: &Rollout,
        entries: Vec<Numbered>,
        span: Duration,
        (now, number): (Time, u64),
        hub: impl Fn(u32, Kind, &[String]) -> Hub<u64>,
    ) {
        let catalog = Catalog::new(rollout.plain.clone());
        let mut objects = BTreeMap::new();
        for (id, kind, holders) in rollout.merged() {
            let Some(cells) = Cells::of(&catalog, id) else { continue };
            let names: Vec<_> = holders.iter().map(|device| rollout.name(*device).to_string()).collect();
            let (name, hub) = (rollout.object_name(id).to_string(), hub(id, kind, &names));
            let entries = BTreeMap::new();
            objects.insert(id, Object { name, holders, names, cells, hub, entries });
        }
        for Numbered { table, number, entry } in entries {
            objects.get_mut(&table).and_then(|object| object.entries.insert(number, entry));
        }
        let heard =
            objects.values().flat_map(|object| object.holders.iter().map(|device| (*device, 0))).collect();
        let (round, first, traffic) = (self.round, self.round + 1, self.traffic);
        let (due, hub) = (now + span, self.hub.max(number));
        let rows = std::mem::take(&mut self.rows);
        *self = Merged {
            hub,
            objects,
            heard,
            round,
            first,
            begun: now,
            due,
            span,
            traffic,
            rows,
            ..Merged::default()
        };
        self.note_all();
    }

    /// When [`Merged::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Time> {
        (!self.objects.is_empty()).then_some(self.due)
    }

    /// Begins the round that is due, or ends the one whose answers are due. Gives messages for devices.
    pub(crate) fn tick(&mut self, now: Time) -> Vec<(usize, Vec<u8>)> {
        match self.deadline() {
            Some(due) if due <= now && self.collects => self.end(now),
            Some(due) if due <= now => self.begin(now),
            _ => vec![],
        }
    }

    /// Begins a round.
    pub(crate) fn begin(&mut self, now: Time) -> Vec<(usize, Vec<u8>)> {
        self.round += 1;
        self.traffic.rounds += 1;
        (self.begun, self.collects) = (now, true);
        self.due = now + self.span.scaled(1, 4);
        let places = |(id, object): (&u32, &Object)| {
            let id = *id;
            (0..object.holders.len()).map(move |place| (id, place)).collect::<Vec<_>>()
        };
        let all: Vec<(u32, usize)> = self.objects.iter().flat_map(places).collect();
        self.send(all.into_iter().map(|at| (at, None)))
    }

    /// Sends what has changed. A device that is sent something says at once that it has it.
    fn end(&mut self, now: Time) -> Vec<(usize, Vec<u8>)> {
        self.collects = false;
        self.due = now.max(self.begun + self.span);
        let mut all = vec![];
        for (id, object) in &mut self.objects {
            let news = object.hub.merges().into_iter().filter(|(_, merge)| !merge.cells.is_empty());
            all.extend(news.map(|(place, merge)| ((*id, place), Some(merge))));
        }
        self.send(all.into_iter())
    }

    /// One message for each device, about all its objects: what there is to say, and a pull.
    fn send(
        &mut self,
        all: impl Iterator<Item = ((u32, usize), Option<Merge<u64>>)>,
    ) -> Vec<(usize, Vec<u8>)> {
        let mut messages: BTreeMap<usize, ToDevice> = BTreeMap::new();
        for ((id, place), merge) in all {
            let Some(Object { holders, hub, .. }) = self.objects.get(&id) else { continue };
            let Some(device) = holders.get(place) else { continue };
            let (operator, (incarnation, seen)) = (hub.kind().operator, hub.newest(place));
            let message = messages.entry(*device);
            let (hub, round) = (self.hub, self.round);
            let message = message.or_insert_with(|| ToDevice { hub, round, objects: vec![] });
            let hub_message =
                merge.map(HubMessage::Merge).into_iter().chain([HubMessage::Pull { incarnation, seen }]);
            message.objects.extend(hub_message.map(|hub_message| (id, operator, hub_message)));
        }
        let messages: Vec<_> = messages.into_iter().map(|(to, message)| (to, message.bytes())).collect();
        self.traffic.messages += messages.len() as u64;
        self.traffic.bytes += messages.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        messages
    }

    /// A device says what it has counted. Gives messages for devices, and the tasks that may go on.
    pub(crate) fn pushed(
        &mut self,
        now: Time,
        device: usize,
        frame: &[u8],
    ) -> (Vec<(usize, Vec<u8>)>, BTreeSet<TaskId>) {
        self.traffic.messages += 1;
        self.traffic.bytes += frame.len() as u64;
        let message = ToHub::of(frame);
        // The clock that numbers hubs has gone back since an earlier one.
        if let Some(newer) = message.as_ref().map(|message| message.hub).filter(|hub| *hub > self.hub)
            && self.heard.contains_key(&device)
        {
            self.hub = newer.saturating_add(1);
        }
        // An answer to an earlier hub, or from an earlier program: what it has counted is in the values that this one has begun with.
        let is_late = |of: &ToHub| of.hub < self.hub || of.hub == self.hub && of.round < self.first;
        if message.as_ref().is_some_and(is_late) {
            return (vec![], BTreeSet::new());
        }
        let Some(message) = message.filter(|message| self.is_possible(device, message)) else {
            self.traffic.refused += 1;
            return (vec![], BTreeSet::new());
        };
        let mut is_newest = true;
        for (id, push) in &message.objects {
            let Some(object) = self.objects.get_mut(id) else { continue };
            let mut push = Cow::Borrowed(push);
            // The device does not know yet that an entry is gone.
            if push.cells.iter().any(|cell| !object.has(cell.cell)) {
                push.to_mut().cells.retain(|cell| object.has(cell.cell));
            }
            if let Some(place) = object.holders.iter().position(|holder| *holder == device) {
                object.hub.push(place, &push);
                is_newest &= object.hub.newest(place).0 == push.incarnation;
                self.rows.note(*id, object.hub.changed());
            }
        }
        // A message sent before the device restarted is no answer.
        if let Some(heard) = self.heard.get_mut(&device).filter(|_| is_newest) {
            *heard = message.round.max(*heard);
        }
        let all_heard = self.heard.values().all(|round| *round == self.round);
        let messages = if self.collects && all_heard { self.end(now) } else { vec![] };
        if !self.collects && all_heard && self.behind().next().is_none() {
            self.clean = Some(self.begun);
        }
        (messages, std::mem::take(&mut self.waiting))
    }

    /// Devices that may not have all values that are known.
    pub(crate) fn behind(&self) -> impl Iterator<Item = usize> {
        self.objects.values().flat_map(|object| {
            let places = object.holders.iter().enumerate();
            places.filter(|(place, _)| !object.hub.has_all(*place)).map(|(_, device)| *device)
        })
    }

    /// The device has the objects, and the objects have the cells, that a message is about.
    fn is_possible(&self, device: usize, message: &ToHub) -> bool {
        let holds = |(id, push): &(u32, Push<u64>)| {
            let Some(object) = self.objects.get(id) else { return false };
            let mut cells = push.cells.iter().chain(push.retired.iter().map(|retired| &retired.last));
            object.holders.contains(&device) && cells.all(|cell| cell.cell < object.cells.size)
        };
        message.round <= self.round && message.hub == self.hub && message.objects.iter().all(holds)
    }

    /// A device has restarted, with zeros. Its program of before may have answered the present round already, so this round is another one from now
    /// on: whoever is asked in it, is asked after the restart.
    pub(crate) fn restarted(&mut self, device: usize) {
        if let Some(heard) = self.heard.get_mut(&device) {
            *heard = 0;
            self.round += 1;
            self.clean = None;
        }
    }

    /// A control plane writes a cell: whatever was counted before is gone.
    pub(crate) fn write(&mut self, id: u32, cell: u64, value: u128) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.hub.write(cell, value);
            self.rows.note(id, [&cell].into_iter());
            self.clean = None;
        }
    }

    /// An entry is inserted: devices count in its cells as soon as they have it.
    pub(crate) fn begin_entry(&mut self, Numbered { table, number, entry }: &Numbered) {
        if let Some(object) = self.objects.get_mut(table) {
            object.entries.insert(*number, entry.clone());
            self.rows.note_entry(*table, *number);
        }
    }

    /// An entry is gone, with its count.
    pub(crate) fn end_entry(&mut self, table: u32, number: u64) {
        if let Some(object) = self.objects.get_mut(&table) {
            object.entries.remove(&number);
            [2 * number, 2 * number + 1].iter().for_each(|cell| object.hub.forget(cell));
            self.rows.note_entry(table, number);
        }
    }

    /// An entry is back that some devices have deleted: all go on from the count that is known.
    pub(crate) fn begin_entry_again(&mut self, table: u32, number: u64) {
        for cell in [2 * number, 2 * number + 1] {
            let known = self.objects.get(&table).map(|object| object.hub.total(&cell));
            known.into_iter().for_each(|total| self.write(table, cell, total));
        }
    }

    /// The values of an object's cells that are not zero.
    pub(crate) fn totals(&self, id: u32) -> impl Iterator<Item = (u64, u128)> {
        let hub = self.objects.get(&id).map(|object| &object.hub);
        hub.into_iter().flat_map(|hub| hub.cells().into_iter().map(|cell| (*cell, hub.total(cell))))
    }

    /// False once a round that began after `time` has left all devices with the value of all, or none will.
    pub(crate) fn is_behind(&self, time: Time) -> bool {
        let is_given_up = self.begun > time + self.span.scaled(ROUNDS, 1).max(LONG);
        !self.objects.is_empty() && self.clean.is_none_or(|clean| clean < time) && !is_given_up
    }

    /// All is to be stored anew.
    pub(crate) fn note_all(&mut self) {
        for (id, object) in &self.objects {
            self.rows.note_object(*id);
            self.rows.note(*id, object.hub.cells().into_iter());
            object.entries.keys().for_each(|number| self.rows.note_entry(*id, *number));
        }
    }

    /// Every object with its copies.
    pub(crate) fn states(&self) -> Vec<MergeState> {
        let copy = |object: &Object, place: usize| {
            let (incarnation, pushes) = object.hub.newest(place);
            let heard = object.holders.get(place).and_then(|device| self.heard.get(device));
            CopyState {
                device: object.names.get(place).cloned().unwrap_or_default(),
                incarnation,
                pushes,
                is_behind: !object.hub.has_all(place),
                silent_rounds: self.round.saturating_sub((*heard.unwrap_or(&0)).max(self.first - 1)),
            }
        };
        let state = |object: &Object| MergeState {
            name: object.name.clone(),
            operator: object.hub.kind().operator,
            cells: object.hub.cells().len() as u64,
            copies: (0..object.holders.len()).map(|place| copy(object, place)).collect(),
        };
        self.objects.values().map(state).collect()
    }

    /// Messages so far.
    pub(crate) fn traffic(&self) -> MergeTraffic {
        self.traffic
    }

    /// The newest own counts that this incarnation of a device has pushed, by object and cell; none of another incarnation.
    pub(crate) fn taken(&self, device: usize, incarnation: u64) -> BTreeMap<u32, BTreeMap<u64, u128>> {
        let of = |object: &Object| {
            let place = object.holders.iter().position(|holder| *holder == device)?;
            let is_it = object.hub.newest(place).0 == incarnation;
            let cells = object.hub.cells().into_iter().filter(|_| is_it);
            Some(cells.map(|cell| (*cell, object.hub.taken(place, cell))).collect())
        };
        self.objects.iter().filter_map(|(id, object)| Some((*id, of(object)?))).collect()
    }
}

impl State {
    /// The desired state has the values of a merged object, as far as devices have said them.
    pub(crate) fn know_merged(&mut self, id: u32) {
        let Some(object) = self.merged.objects.get(&id) else { return };
        let (seen, are_entries) = (object.cells.seen(self.merged.totals(id)), object.cells.are_entries());
        match self.server.target() {
            Some(desired) if are_entries => desired.gathered.know_entries(id, seen),
            Some(desired) => desired.gathered.know(id, seen),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
