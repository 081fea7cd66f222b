//! Registers with `@merge` that several devices have: at an interval, their copies become one value (`flow_control::merge`).
//!
//! ```text
//! round begins    every device   <══ pull                  what have you counted?
//!                 every device   ══> push                  what has changed since the last one that was named
//! all have, or a quarter of the interval is over
//!                 some devices   <══ merge                 what the others have counted, if it has changed
//! ```
//!
//! Messages are not answered like other requests: they may be lost, come twice or in any order, and the next round makes up for it.
//! Registers are left out when devices get contents: a program begins with zeros, and a round brings the value.

use crate::copied::Totals;
use crate::copies::cells_of;
use crate::part::{Planner, Rollout};
use crate::schedule::TaskId;
use crate::state::State;
use crate::task::Shared;
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::Data;
use flow_control::merge::{Banked, Hub, Merge, Push, ToDevice, ToHub, Told};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use p4runtime_store::Catalog;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;

/// Rounds that a call waits for, each longer than the one before.
const TRIES: u32 = 8;
/// A device that has not answered for so many rounds, and so long, is not waited for any more.
const ROUNDS: u64 = 50;
const LONG: Duration = Duration::from_s(10);

/// All merged registers of the running rollout.
#[derive(Default)]
pub(crate) struct Merged {
    objects: BTreeMap<u32, Object>,
    /// The newest round that each device with copies has answered.
    heard: BTreeMap<usize, u64>,
    /// Rounds so far.
    round: u64,
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
    waiting: BTreeSet<TaskId>,
    traffic: MergeTraffic,
}

/// One register.
struct Object {
    /// Devices with copies, by their places in the hub.
    holders: Vec<usize>,
    size: u64,
    hub: Hub<u64>,
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
    /// Messages that were none, or about cells that there are not.
    pub refused: u64,
}

impl Merged {
    /// Those of a rollout that begins with zeros on all devices. `totals` are the values that the cells have.
    pub(crate) fn fill(&mut self, rollout: &Rollout, totals: Totals, (now, span): (Time, Duration)) {
        let catalog = Catalog::new(rollout.plain.clone());
        let mut objects = BTreeMap::new();
        for (id, kind, holders) in rollout.merged() {
            let Some((_, size)) = cells_of(&catalog, id) else { continue };
            let cells = totals.range((id, 0)..=(id, u64::MAX));
            let banked = |((_, cell), value): (&(u32, u64), &u128)| {
                let value = *value;
                (*cell, Banked { epoch: 0, value })
            };
            let hub = Hub::new(kind, holders.len(), cells.map(banked).collect());
            objects.insert(id, Object { holders, size, hub });
        }
        let heard =
            objects.values().flat_map(|object| object.holders.iter().map(|device| (*device, 0))).collect();
        let (round, first, traffic) = (self.round, self.round + 1, self.traffic);
        let due = now + span;
        *self = Merged { objects, heard, round, first, begun: now, due, span, traffic, ..Merged::default() };
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
    fn begin(&mut self, now: Time) -> Vec<(usize, Vec<u8>)> {
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
            let message = message.or_insert_with(|| ToDevice { round: self.round, objects: vec![] });
            let told = merge.map(Told::Merge).into_iter().chain([Told::Pull { incarnation, seen }]);
            message.objects.extend(told.map(|told| (id, operator, told)));
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
        let Some(message) = ToHub::of(frame).filter(|message| self.is_possible(device, message)) else {
            self.traffic.refused += 1;
            return (vec![], BTreeSet::new());
        };
        let mut is_newest = true;
        for (id, push) in &message.objects {
            let Some(object) = self.objects.get_mut(id) else { continue };
            if let Some(place) = object.holders.iter().position(|holder| *holder == device) {
                object.hub.push(place, push);
                is_newest &= object.hub.newest(place).0 == push.incarnation;
            }
        }
        // What it has said before it has begun anew is no answer.
        if let Some(heard) = self.heard.get_mut(&device).filter(|_| is_newest) {
            *heard = message.round.max(*heard);
        }
        let all_heard = self.heard.values().all(|round| *round == self.round);
        let messages = if self.collects && all_heard { self.end(now) } else { vec![] };
        if !self.collects && all_heard && self.behind().is_none() {
            self.clean = Some(self.begun);
        }
        (messages, std::mem::take(&mut self.waiting))
    }

    /// A device that may not have all values that are known.
    fn behind(&self) -> Option<usize> {
        let lacks = |object: &Object| {
            let mut places = object.holders.iter().enumerate();
            places.find(|(place, _)| !object.hub.has_all(*place)).map(|(_, device)| *device)
        };
        self.objects.values().find_map(lacks)
    }

    /// The device has the objects, and the objects have the cells, that a message is about.
    fn is_possible(&self, device: usize, message: &ToHub) -> bool {
        let holds = |(id, push): &(u32, Push<u64>)| {
            let Some(object) = self.objects.get(id) else { return false };
            let mut cells = push.cells.iter().chain(push.retired.iter().map(|retired| &retired.last));
            object.holders.contains(&device) && cells.all(|cell| cell.cell < object.size)
        };
        // What an earlier program has counted is in the values that this one has begun with.
        let is_new = (self.first..=self.round).contains(&message.round);
        is_new && message.objects.iter().all(holds)
    }

    /// A device begins anew, with zeros.
    pub(crate) fn begins_anew(&mut self, device: usize) {
        if let Some(heard) = self.heard.get_mut(&device) {
            *heard = 0;
            self.clean = None;
        }
    }

    /// A control plane writes a cell: whatever was counted before is gone.
    pub(crate) fn write(&mut self, id: u32, cell: u64, value: u128) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.hub.write(cell, value);
            self.clean = None;
        }
    }

    /// The values of a register's cells that are not zero.
    pub(crate) fn totals(&self, id: u32) -> impl Iterator<Item = (u64, u128)> {
        let hub = self.objects.get(&id).map(|object| &object.hub);
        hub.into_iter().flat_map(|hub| hub.cells().into_iter().map(|cell| (*cell, hub.total(cell))))
    }

    /// False once a round that began after `time` has left all devices with the value of all, or none will.
    pub(crate) fn is_behind(&self, time: Time) -> bool {
        let is_given_up = self.begun > time + self.span.scaled(ROUNDS, 1).max(LONG);
        !self.objects.is_empty() && self.clean.is_none_or(|clean| clean < time) && !is_given_up
    }

    /// Messages so far.
    pub(crate) fn traffic(&self) -> MergeTraffic {
        self.traffic
    }

    /// The newest own counts that a device has pushed, by register and cell.
    pub(crate) fn taken(&self, device: usize) -> BTreeMap<u32, BTreeMap<u64, u128>> {
        let of = |object: &Object| {
            let place = object.holders.iter().position(|holder| *holder == device);
            let cells = object.hub.cells();
            place.map(|place| cells.into_iter().map(|cell| (*cell, object.hub.taken(place, cell))).collect())
        };
        self.objects.iter().filter_map(|(id, object)| Some((*id, of(object)?))).collect()
    }
}

impl<P: Planner> State<P> {
    /// The desired state has the values of a merged register, as far as devices have said them.
    pub(crate) fn know_merged(&mut self, id: u32) {
        let totals: Vec<(u64, u128)> = self.merged.totals(id).collect();
        let Some(desired) = self.server.target() else { return };
        let Some((width, _)) = cells_of(&desired.catalog, id) else { return };
        let cell = |(cell, value): (u64, u128)| ((id, cell), Data::Bits(Bits::new(width, value)));
        desired.gathered.set_registers(totals.into_iter().map(cell));
    }
}

/// Waits until every device has said what it had counted when this began. An error names one that has not.
pub(crate) async fn collect<P: Planner>(shared: &Shared<P>, rollout: &Rollout) -> Result<(), Status> {
    let missing = wait(shared, |merged, since| {
        merged.heard.iter().find(|(_, round)| **round < since).map(|(device, _)| *device)
    });
    match missing.await {
        None => Ok(()),
        Some(device) => {
            let why = format!("device `{}` cannot be read: it does not answer", rollout.name(device));
            Err(Status::new(Code::Unavailable, why))
        }
    }
}

/// Writes cells, and waits until devices show it.
pub(crate) async fn write<P: Planner>(shared: &Shared<P>, cells: Totals) {
    for ((id, cell), value) in cells {
        shared.state().merged.write(id, cell, value);
    }
    settle(shared).await;
}

/// Waits until all devices have the values of all that were known before; those that do not answer get them later.
pub(crate) async fn settle<P: Planner>(shared: &Shared<P>) {
    wait(shared, |merged, _| merged.behind()).await;
}

/// Begins rounds until there is nothing any more that is `missing` since the first of them.
async fn wait<P: Planner>(
    shared: &Shared<P>,
    missing: impl Fn(&Merged, u64) -> Option<usize>,
) -> Option<usize> {
    let since = shared.state().merged.round + 1;
    let mut left = None;
    for attempt in 0..TRIES {
        {
            let mut state = shared.state();
            if state.merged.objects.is_empty() {
                return None;
            }
            let now = state.now;
            let messages = state.merged.begin(now);
            state.send_merges(messages);
        }
        let until = {
            let state = shared.state();
            state.now + state.longest_patience().scaled(1 << attempt, 1)
        };
        left = poll_fn(|_| {
            let mut state = shared.state();
            let (task, now) = (state.current, state.now);
            let left = missing(&state.merged, since);
            if left.is_none() || now >= until {
                state.alarms.remove(&task);
                return Poll::Ready(left);
            }
            state.alarms.insert(task, until);
            state.merged.waiting.insert(task);
            Poll::Pending
        })
        .await;
        if left.is_none() {
            break;
        }
    }
    left
}
