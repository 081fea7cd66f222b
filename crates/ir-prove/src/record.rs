//! Transactions of the split run.
//!
//! Everything caused by one input frame, or by one timer, is one *transaction*, on all devices.

use base_time::Time;
use dataplane_api::{Output, Port};
use device::{Access, Digest, Observation};
use ir::Name;
use ir_split::Linkage;
use state_modes::Merge;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a transaction, in the order in which they start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transaction(pub usize);

/// Cause of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A frame received at the origin.
    Frame {
        /// Port of arrival.
        port: Port,
        /// The frame.
        frame: Vec<u8>,
    },
    /// A timer ran out.
    Timer,
}

/// A transaction as it ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Cause of the transaction.
    pub cause: Cause,
    /// The origin whose packet it is, by its number.
    pub origin: usize,
    /// Time of the cause.
    pub at: Time,
    /// Seed of the reads in egress, if they are steady.
    pub steady: Option<u64>,
    /// Frames that left the network.
    pub outputs: Vec<Output>,
    /// For each of them, how many had left before.
    pub left: Vec<usize>,
    /// Messages to the control plane because of it, in order, as text.
    pub digests: Vec<String>,
    /// Reads of clocks, queues and randomness on all devices.
    pub observations: Vec<Observation>,
}

impl Record {
    pub(crate) fn new(cause: Cause, origin: usize, at: Time, steady: Option<u64>) -> Record {
        let (outputs, left, digests, observations) = (vec![], vec![], vec![], vec![]);
        Record { cause, origin, at, steady, outputs, left, digests, observations }
    }
}

/// Links of the split's devices, and names that belong to the splitter.
#[derive(Default)]
pub(crate) struct Map {
    /// The ports of devices that lead to others.
    pub links: BTreeSet<(usize, Port)>,
    pub origins: Vec<usize>,
    /// Devices that stand in for others, or share their flows, except for the first of each site.
    pub spares: BTreeSet<usize>,
    /// The origins'.
    pub linkage: Linkage,
    /// Objects whose order of use does not show, and how the states of several devices become one.
    pub joined: BTreeMap<Name, Join>,
}

impl Map {
    /// The number of the origin that owns a device's objects and timers: an origin its own, the first one those of all other devices.
    pub(crate) fn origin_at(&self, device: usize) -> usize {
        self.origins.iter().position(|origin| *origin == device).unwrap_or(0)
    }
}

/// How the states of an object on several devices become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// Counts, by cell or entry, are added.
    Counts,
    /// Cells of so many bits are merged.
    Cells(Merge, u32),
}

impl Join {
    /// One state of two.
    pub fn join(self, one: &[u8], other: &[u8]) -> Vec<u8> {
        match self {
            Join::Counts => device::add_counts(one, other),
            Join::Cells(merge, width) => device::merge_cells(one, other, merge, width),
        }
    }
}

impl Map {
    /// True for the objects that the splitter adds, by themselves or in a control that a policy brings.
    pub fn is_runtime(&self, name: &str) -> bool {
        let is_ours =
            |part: &str| part.strip_prefix(&self.linkage.prefix).is_some_and(|rest| rest.starts_with('_'));
        !self.linkage.prefix.is_empty() && name.split('.').any(is_ours)
    }
}

/// Record of a run of the network.
#[derive(Default)]
pub(crate) struct Journal {
    /// The transaction that runs.
    pub current: usize,
    pub records: Vec<Record>,
    /// For each state object whose order of use shows, the transactions that touched it, in order.
    pub accesses: BTreeMap<Name, Vec<Transaction>>,
}

impl Journal {
    /// Seed of the current transaction's reads in egress, if they are steady.
    pub fn steady(&self) -> Option<u64> {
        self.records.get(self.current).and_then(|record| record.steady)
    }

    /// The current transaction has read this.
    pub fn observe(&mut self, seen: impl IntoIterator<Item = Observation>) {
        if let Some(record) = self.records.get_mut(self.current) {
            record.observations.extend(seen);
        }
    }

    /// Adds accesses and digests of a device to the current transaction.
    pub fn note(&mut self, map: &Map, device: usize, accesses: Vec<Access>, digests: &[Digest]) {
        if let Some(record) = self.records.get_mut(self.current) {
            record.digests.extend(digests.iter().map(|digest| format!("{digest:?}")));
        }
        for access in accesses {
            if map.joined.contains_key(&access.object) || map.is_runtime(&access.object) {
                continue;
            }
            // Each origin has its own.
            let object = match map.origin_at(device) > 0 {
                true => format!("{}@{device}", access.object).into(),
                false => access.object,
            };
            let users = self.accesses.entry(object).or_default();
            if users.last() != Some(&Transaction(self.current)) {
                users.push(Transaction(self.current));
            }
        }
    }
}
