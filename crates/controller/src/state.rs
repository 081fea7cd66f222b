//! State that lasts from one call to the next.

use crate::ask::{Answer, Ask, AskId, DeviceId};
use crate::call::Output;
use crate::claim::Claim;
use crate::desired::{Desired, Plans};
use crate::edges::Edges;
use crate::gather::Gathered;
use crate::idle::Idle;
use crate::merged::Merged;
use crate::part::Rollout;
use crate::patience::Patience;
use crate::schedule::{Schedule, TaskId};
use crate::stale::{Mark, Marks};
use crate::storing::Storing;
use crate::timing::Timing;
use base_time::{Duration, Time};
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_server::{self as server, Read, Reading, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of late answers that are still awaited, to measure response times.
const MOST_LATE: usize = 64;

/// Maximum number of changes that are noted for a read that gathers values; further changes wait for the read.
const MOST_NOTED: usize = 1 << 14;

/// State of the controller apart from the calls in progress.
pub(crate) struct State {
    /// Northbound server; its device is the desired state.
    pub(crate) server: Server<Plans>,
    pub(crate) now: Time,
    /// The Unix time of time 0, in seconds.
    pub(crate) epoch_s: u64,
    pub(crate) timing: Timing,
    pub(crate) out: Vec<Output>,
    pub(crate) asked: BTreeMap<AskId, Asked>,
    /// Asks whose answers are late: the device, and the time of the ask.
    pub(crate) late: BTreeMap<AskId, (usize, Time)>,
    /// Response times by device.
    pub(crate) patience: BTreeMap<usize, Patience>,
    pub(crate) asks: u64,
    /// The device that holds frames for a task, and the time at which its lease is extended.
    pub(crate) held: Option<(usize, Time)>,
    /// Devices whose state may differ from the desired state.
    pub(crate) stale: Marks,
    pub(crate) idle: Idle,
    pub(crate) edges: Edges,
    pub(crate) merged: Merged,
    /// An operator keeps frames out.
    pub(crate) stopped: bool,
    pub(crate) schedule: Schedule,
    /// The task that is being polled.
    pub(crate) current: TaskId,
    /// Tasks that may make progress.
    pub(crate) woken: BTreeSet<TaskId>,
    /// Tasks that wait until devices have the desired state, or are out of use.
    pub(crate) until_right: BTreeSet<TaskId>,
    /// Batches for the store, and writes that wait for it.
    pub(crate) storing: Storing,
    /// Times at which sleeping tasks wake up.
    pub(crate) alarms: BTreeMap<TaskId, Time>,
    /// Tasks that have yielded: they wait for nothing, but other work comes first.
    pub(crate) pausing: BTreeSet<TaskId>,
    /// Reads that are done in slices, each with the values that it has gathered from data planes.
    pub(crate) readings: BTreeMap<TaskId, (Reading, Gathered)>,
}

/// An ask whose answer is awaited.
pub(crate) struct Asked {
    device: usize,
    /// Task that waits for the answer.
    task: TaskId,
    at: Time,
    /// After this time, the answer counts as lost.
    until: Time,
    /// The answer; `None` while it is awaited.
    answer: Option<Answer>,
}

impl State {
    /// Unix time in seconds, modulo 2^32.
    pub(crate) fn seconds(&self) -> u32 {
        (self.epoch_s + self.now.since(Time::ZERO).as_ps() / Duration::from_s(1).as_ps()) as u32
    }

    /// The present time, and the number of a hub that begins now: microseconds of Unix time.
    pub(crate) fn merge_time(&self) -> (Time, u64) {
        let us = |time: Time| time.since(Time::ZERO).as_ps() / Duration::from_us(1).as_ps();
        (self.now, self.epoch_s * 1_000_000 + us(self.now))
    }

    /// Marks a device stale, and keeps it out of edges with spares. If it was stale already, its counts known from before stay.
    pub(crate) fn stale(&mut self, device: usize, why: &str, before: Vec<Entity>) {
        self.stale.mark(device, why, before, true);
        self.edges.bar(device, self.now);
    }

    /// The same without a change of edges.
    pub(crate) fn mark_stale(&mut self, device: usize, why: &str, before: Vec<Entity>) {
        self.stale.mark(device, why, before, false);
    }

    /// A device had the desired state after the mark `until`: it is stale no longer, unless it has been marked since.
    pub(crate) fn is_right(&mut self, device: usize, until: Mark) {
        if self.stale.clear(device, until) {
            self.edges.is_right(device, self.now);
            self.woken.append(&mut self.until_right);
        }
    }

    /// All devices run a new program with the desired state, and had not failed at the mark `until`.
    pub(crate) fn all_are_right(&mut self, until: Mark) {
        for (device, stale) in self.stale.clear_all(until) {
            // The edges of the new program do not know it yet.
            if stale.is_barred {
                self.edges.bar(device, self.now);
            }
        }
        self.idle.clear();
        self.woken.append(&mut self.until_right);
    }

    /// Moves the values that the current task has gathered into the desired state, or out of it: other tasks do not see
    /// them.
    pub(crate) fn swap_gathered(&mut self, gathered: &mut Gathered) {
        if let Some(desired) = self.server.target() {
            std::mem::swap(&mut desired.gathered, gathered);
        }
    }

    /// Begins to gather values from devices for the current task: other tasks may then change the entities that it reads. Returns the task's claim, for
    /// [`tighten`](Schedule::tighten).
    pub(crate) fn begin_gathering(&mut self) -> Claim {
        let task = self.current;
        if let Some(desired) = self.server.target() {
            desired.journals.insert(task, vec![]);
        }
        self.schedule.relax(task, Claim::of_devices)
    }

    /// Ends the gathering, while no other task changes the entities that the task reads. Values changed meanwhile replace those that devices may have reported
    /// before.
    pub(crate) fn end_gathering(&mut self) {
        let task = self.current;
        if let Some(desired) = self.server.target() {
            let changes = desired.journals.remove(&task).unwrap_or_default();
            changes.iter().for_each(|change| desired.note(change));
        }
    }

    /// The next slice of the current task's read; its result after the last one.
    pub(crate) fn read_on(&mut self) -> Option<Read> {
        let (mut reading, mut gathered) = self.readings.remove(&self.current)?;
        self.swap_gathered(&mut gathered);
        let read = self.server.read_on(&mut reading);
        self.swap_gathered(&mut gathered);
        if read.is_none() {
            self.readings.insert(self.current, (reading, gathered));
        }
        read
    }

    /// Before updates change entities, makes reads in slices read these entities: see [`Server::make_way`]. False if the
    /// updates must wait.
    pub(crate) fn make_way<'u>(&mut self, updates: impl Iterator<Item = &'u Update>) -> bool {
        let is_full =
            |desired: &Desired| desired.journals.values().any(|journal| journal.len() >= MOST_NOTED);
        if self.server.target().is_some_and(|desired| is_full(desired)) {
            return false;
        }
        if self.readings.is_empty() {
            return true;
        }
        let touched: Vec<_> = updates.filter_map(|update| self.server.touched(update)).collect();
        let server = &self.server;
        if !self.readings.values().all(|(reading, _)| server.can_go_before(reading, &touched)) {
            return false;
        }
        let mut readings = std::mem::take(&mut self.readings);
        for (reading, gathered) in readings.values_mut() {
            self.swap_gathered(gathered);
            self.server.go_before(reading, &touched);
            self.swap_gathered(gathered);
        }
        self.readings = readings;
        true
    }

    /// The running rollout, if there is a program.
    pub(crate) fn rollout(&mut self) -> Option<Arc<Rollout>> {
        self.server.target().map(|desired| Arc::clone(&desired.rollout))
    }

    /// Sends the server's messages to controllers.
    pub(crate) fn send(&mut self, output: server::Output) {
        self.out.extend(match output {
            server::Output::Send(stream, message) => Some(Output::Send(stream, message)),
            server::Output::End(stream, why) => Some(Output::End(stream, why)),
            // Packets go to the origin as messages.
            server::Output::Inject(_) => None,
        });
    }

    /// Asks a device; the answer is fetched with [`State::answer`].
    pub(crate) fn ask(&mut self, device: usize, ask: Ask) -> AskId {
        let id = AskId(self.asks);
        self.asks += 1;
        let until = self.now + self.patience.entry(device).or_default().span(&self.timing);
        self.asked.insert(id, Asked { device, task: self.current, at: self.now, until, answer: None });
        self.out.push(Output::Ask(DeviceId(device), Some(id), ask));
        id
    }

    /// Sends messages of the merge.
    pub(crate) fn send_merges(&mut self, messages: Vec<(usize, Vec<u8>)>) {
        let ask = |(device, frame)| Output::Ask(DeviceId(device), None, Ask::Merge(frame));
        self.out.extend(messages.into_iter().map(ask));
    }

    /// Devices that have failed and have not answered the last request: no frame comes from them.
    pub(crate) fn silent(&self) -> BTreeSet<usize> {
        let is_silent = |device: &usize| self.patience.get(device).is_some_and(Patience::is_missing);
        self.edges.failed().into_iter().filter(is_silent).collect()
    }

    /// Longest timeout for an answer, over all devices.
    pub(crate) fn longest_patience(&self) -> Duration {
        let spans = self.patience.values().map(|patience| patience.span(&self.timing));
        spans.max().unwrap_or(self.timing.patience_least)
    }

    /// An answer has come, in time or not.
    pub(crate) fn answered(&mut self, id: AskId, answer: Answer) {
        let known = match self.asked.get_mut(&id) {
            Some(asked) if asked.answer.is_none() => {
                asked.answer = Some(answer);
                self.woken.insert(asked.task);
                Some((asked.device, asked.at))
            }
            Some(_) => None,
            None => self.late.remove(&id),
        };
        if let Some((device, at)) = known {
            self.patience.entry(device).or_default().learn(self.now.since(at));
        }
    }

    /// Takes the answer to a request; an answer that is late counts as lost.
    pub(crate) fn answer(&mut self, id: AskId) -> Option<Answer> {
        let is_waited_for = |asked: &Asked| asked.answer.is_none() && self.now < asked.until;
        if self.asked.get(&id).is_some_and(is_waited_for) {
            return None;
        }
        let asked = self.asked.remove(&id)?;
        if asked.answer.is_none() {
            self.patience.entry(asked.device).or_default().miss();
            self.late.insert(id, (asked.device, asked.at));
            if self.late.len() > MOST_LATE {
                self.late.pop_first();
            }
        }
        Some(asked.answer.unwrap_or(Answer::Lost))
    }

    /// Records that a device was asked to hold frames, or to extend its lease.
    pub(crate) fn keep_held(&mut self, device: usize) {
        // A lease outlasts three lost messages in a row.
        self.held = Some((device, self.now + self.timing.lease.scaled(1, 4)));
    }

    /// Extends the lease of the device that holds frames, when that is due.
    pub(crate) fn stay(&mut self) {
        if let Some((device, due)) = self.held
            && self.now >= due
        {
            self.out.push(Output::Ask(DeviceId(device), None, Ask::ExtendHold(self.timing.lease)));
            self.keep_held(device);
        }
    }

    /// Next time at which the controller must act without input.
    pub(crate) fn deadline(&self) -> Option<Time> {
        // A lost answer is found when its task is polled, which may still wait for another answer.
        let is_waited_for = |asked: &&Asked| asked.answer.is_none() && asked.until > self.now;
        let waiting = self.asked.values().filter(is_waited_for).map(|asked| asked.until);
        let pause = (!self.pausing.is_empty()).then_some(self.now);
        let held = self.held.map(|(_, due)| due);
        waiting.chain(self.alarms.values().copied()).chain(pause).chain(held).min()
    }

    /// Wakes the tasks whose time has come: those that sleep or pause, and those that wait for answers that are lost.
    pub(crate) fn wake(&mut self) {
        let now = self.now;
        let lost = self.asked.values().filter(|asked| asked.answer.is_none() && now >= asked.until);
        self.woken.extend(lost.map(|asked| asked.task));
        self.woken.extend(self.alarms.iter().filter(|(_, at)| now >= **at).map(|(task, _)| *task));
        self.woken.extend(&self.pausing);
    }
}
