//! A device of the split that records what each call reads, touches and reports.
//!
//! It behaves as its switch does, except that queue depths are random, since real queues are nearly always empty, and
//! that all packets have one priority.

use crate::environment::Watch;
use crate::record::{Journal, Map};
use base_time::{Rng, Time};
use dataplane_api::{Counters, Device, DropReason, EgressResult, Port, QueueRecord, Queued, QueuedPacket};
use device::{Source, Switch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Journal of all devices of a network.
pub(crate) type Shared = Arc<Mutex<Journal>>;

/// Nobody else holds it: a network runs in one thread.
pub(crate) fn open(journal: &Shared) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Watched {
    /// The switch of the device's part; without one, all frames are dropped.
    pub switch: Option<Switch>,
    /// Index of the device in the placement.
    index: usize,
    map: Arc<Map>,
    watch: Watch,
    journal: Shared,
    depths: Rng,
    /// Counters of a device without a part.
    idle: Counters,
}

/// A packet between ingress and egress.
struct Packet {
    inner: QueuedPacket,
    /// The packet has been in the program's queue before: it was handed over in the middle of egress.
    amid_egress: bool,
}

impl Watched {
    pub fn new(
        switch: Option<Switch>,
        index: usize,
        map: Arc<Map>,
        watch: Watch,
        journal: Shared,
    ) -> Watched {
        let depths = Rng::new(0).split("depths").split_index(index as u64);
        let idle = Counters::default();
        let mut watched =
            Watched { switch: None, index, map: Arc::clone(&map), watch, journal, depths, idle };
        watched.renew(switch, map);
        watched
    }

    /// Replaces the part that the device runs.
    pub fn renew(&mut self, mut switch: Option<Switch>, map: Arc<Map>) {
        if let Some(switch) = &mut switch {
            switch.set_access_log(true);
        }
        (self.switch, self.map, self.idle) = (switch, map, Counters::default());
    }

    /// Calls the switch, then records its reads, as far as `is_of_program`, its accesses and reports.
    fn call<R: Default>(
        &mut self,
        call: impl FnOnce(&mut Switch) -> R,
        is_of_program: impl Fn(&R, &Source) -> bool,
    ) -> R {
        let Some(switch) = &mut self.switch else { return R::default() };
        let mut journal = open(&self.journal);
        self.watch.set_steady(journal.steady());
        let result = call(switch);
        let seen = self.watch.take().into_iter();
        journal.observe(seen.filter(|observation| is_of_program(&result, &observation.source)));
        journal.note(&self.map, self.index, switch.take_accesses(), &switch.take_digests());
        result
    }

    /// Begins a call that results in packets for egress.
    fn begin(&mut self, amid_egress: bool, call: impl FnOnce(&mut Switch) -> Vec<Queued>) -> Vec<Queued> {
        let queued = self.call(call, |_, _| true);
        queued.into_iter().map(|packet| wrapped(packet, amid_egress)).collect()
    }

    fn is_link(&self, port: Port) -> bool {
        self.map.links.contains(&(self.index, port))
    }
}

fn wrapped(mut queued: Queued, amid_egress: bool) -> Queued {
    queued.replica.priority = 0;
    queued.packet = Box::new(Packet { inner: queued.packet, amid_egress });
    queued
}

/// True for values read at the start of egress. On a pass that only hands a packet over, the program does not read
/// them.
fn is_read_at_egress(source: &Source) -> bool {
    use Source::{DequeueDepth, DequeueTimedelta, EgressTimestamp, EnqueueDepth, EnqueueTimestamp};
    matches!(source, EgressTimestamp | EnqueueTimestamp | EnqueueDepth | DequeueTimedelta | DequeueDepth)
}

impl Device for Watched {
    fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        if self.switch.is_none() {
            self.idle.received += 1;
            *self.idle.dropped.entry(DropReason::NoProgram).or_default() += 1;
        }
        let amid_egress = self.is_link(port) && self.map.linkage.is_amid_egress(&frame);
        self.begin(amid_egress, |switch| switch.ingress(port, frame, now))
    }

    fn egress(&mut self, mut queued: Queued, record: QueueRecord, now: Time) -> EgressResult {
        let Ok(packet) = queued.packet.downcast::<Packet>() else { return EgressResult::default() };
        let Packet { inner, amid_egress } = *packet;
        queued.packet = inner;
        let record = QueueRecord {
            depth_at_enqueue: self.depths.index(64) as u32,
            depth_at_dequeue: self.depths.index(64) as u32,
            ..record
        };
        self.watch.queued_for(queued.replica.port);
        let (map, index) = (Arc::clone(&self.map), self.index);
        let mut result = self.call(
            |switch| switch.egress(queued, record, now),
            |result: &EgressResult, source| {
                let leaves = |port| map.links.contains(&(index, port));
                let is_handed_over = result.output.as_ref().is_some_and(|output| leaves(output.port));
                !(is_handed_over || amid_egress) || !is_read_at_egress(source)
            },
        );
        result.requeued = result.requeued.into_iter().map(|packet| wrapped(packet, false)).collect();
        result
    }

    fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        self.begin(false, |switch| switch.resume(packet, now))
    }

    fn deadline(&self) -> Option<Time> {
        self.switch.as_ref()?.deadline()
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        self.begin(false, |switch| switch.tick(now))
    }

    fn counters(&self) -> &Counters {
        self.switch.as_ref().map_or(&self.idle, Switch::counters)
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        self.switch.as_ref().map(Switch::state).unwrap_or_default()
    }
}
