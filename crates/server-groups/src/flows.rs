//! The flows that a server knows, by bucket, and the number of packets that it holds.

use crate::{Member, RowId};
use std::collections::{BTreeMap, VecDeque};

/// A flow and its bucket.
pub type Key<F> = (u32, F);

/// State of a flow at a server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Entry<P> {
    /// The flow's state is here. `pinned`: the controller wants to know when it ends.
    Owned { pinned: bool, used: u64 },
    /// The flow's state is here; packets that come directly are held until `until` forwards no more.
    Settling { until: Member, held: VecDeque<P>, used: u64 },
    /// Another server is asked.
    Waiting(Wait<P>),
    /// The flow's state is at another server.
    Foreign { at: Member },
}

/// A question about a flow that has no answer yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wait<P> {
    /// The server that is asked.
    pub at: Member,
    /// Packets that wait for the answer.
    pub held: VecDeque<P>,
    /// Packets have come back: the state is here.
    pub owns: bool,
    /// Number of the first question.
    pub number: u16,
    /// A packet was the question: if it comes back, that is the answer.
    pub is_probe: bool,
    /// Time of the last question.
    pub since: u64,
    /// Questions that were asked again.
    pub tries: u8,
}

impl<P> Entry<P> {
    pub fn owns(&self) -> bool {
        match self {
            Entry::Owned { .. } | Entry::Settling { .. } => true,
            Entry::Waiting(wait) => wait.owns,
            Entry::Foreign { .. } => false,
        }
    }

    fn held(&self) -> usize {
        match self {
            Entry::Settling { held, .. } | Entry::Waiting(Wait { held, .. }) => held.len(),
            Entry::Owned { .. } | Entry::Foreign { .. } => 0,
        }
    }
}

/// The flows that a server knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flows<F, P> {
    by_bucket: BTreeMap<u32, BTreeMap<F, Entry<P>>>,
    /// Flows altogether.
    pub len: usize,
    /// Packets that wait for an answer.
    pub waiting: usize,
    /// Packets that are held.
    pub held: usize,
}

impl<F: Clone + Ord, P> Flows<F, P> {
    pub fn new() -> Self {
        Flows { by_bucket: BTreeMap::new(), len: 0, waiting: 0, held: 0 }
    }

    pub fn get(&self, (bucket, flow): &Key<F>) -> Option<&Entry<P>> {
        self.by_bucket.get(bucket)?.get(flow)
    }

    /// Only for changes that neither hold nor release packets, and leave the kind of the entry.
    pub fn get_mut(&mut self, (bucket, flow): &Key<F>) -> Option<&mut Entry<P>> {
        self.by_bucket.get_mut(bucket)?.get_mut(flow)
    }

    /// Puts an entry in place of what was there.
    pub fn insert(&mut self, key: &Key<F>, entry: Entry<P>) {
        self.remove(key);
        self.len += 1;
        self.held += entry.held();
        self.waiting += usize::from(matches!(entry, Entry::Waiting(_)));
        self.by_bucket.entry(key.0).or_default().insert(key.1.clone(), entry);
    }

    /// Takes an entry out; gives the packets that it held.
    pub fn remove(&mut self, (bucket, flow): &Key<F>) -> VecDeque<P> {
        let Some(flows) = self.by_bucket.get_mut(bucket) else { return VecDeque::new() };
        let Some(entry) = flows.remove(flow) else { return VecDeque::new() };
        if flows.is_empty() {
            self.by_bucket.remove(bucket);
        }
        self.len -= 1;
        self.held -= entry.held();
        self.waiting -= usize::from(matches!(entry, Entry::Waiting(_)));
        match entry {
            Entry::Settling { held, .. } | Entry::Waiting(Wait { held, .. }) => held,
            Entry::Owned { .. } | Entry::Foreign { .. } => VecDeque::new(),
        }
    }

    /// Holds a packet of a flow that is settling or waiting, if it holds fewer than `most`. Gives the packet back otherwise.
    pub fn hold(&mut self, key: &Key<F>, packet: P, most: usize) -> Result<(), P> {
        match self.get_mut(key) {
            Some(Entry::Settling { held, .. } | Entry::Waiting(Wait { held, .. })) if held.len() < most => {
                held.push_back(packet);
                self.held += 1;
                Ok(())
            }
            _ => Err(packet),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &F, &Entry<P>)> {
        self.by_bucket
            .iter()
            .flat_map(|(bucket, flows)| flows.iter().map(|(flow, entry)| (*bucket, flow, entry)))
    }

    /// The flows of a row.
    pub fn of_row(&self, row: &RowId<F>) -> impl Iterator<Item = (&F, &Entry<P>)> {
        let flows = self.by_bucket.get(&row.bucket).into_iter().flatten();
        flows.filter(|(flow, _)| row.pin.as_ref().is_none_or(|pin| pin == *flow))
    }

    /// The keys of the entries with a property.
    pub fn keys(&self, has: impl Fn(&Entry<P>) -> bool) -> Vec<Key<F>> {
        let found = self.iter().filter(|(_, _, entry)| has(entry));
        found.map(|(bucket, flow, _)| (bucket, flow.clone())).collect()
    }
}
