//! Commands of the controller to a server: report the flows of a row whose previous server it is, and end what is between it and
//! the previous server of a row whose current server it is.

use super::{Effect, Server};
use crate::flows::{Entry, Key, Wait};
use crate::{Instruction, Member, Report, RowId};
use std::collections::{BTreeSet, VecDeque};
use std::mem::take;

/// A row that is being closed: the server waits until no flow of it waits for an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Closing<F> {
    epoch: u32,
    previous: Member,
    /// Flows about which the last question is still to be asked.
    kept: Vec<Key<F>>,
    /// The last questions are asked.
    is_asked: bool,
}

impl<F: Clone + Ord, P> Server<F, P> {
    pub(super) fn instructed(&mut self, instruction: Instruction<F>, now: u64, out: &mut Vec<Effect<F, P>>) {
        match instruction {
            Instruction::Members { version, alive } => {
                if version >= self.version {
                    self.version = version;
                    self.alive = alive;
                    self.alive.insert(self.me);
                    self.forget_the_dead(now, out);
                }
                out.push(Effect::Report(Report::Members { version: self.version }));
            }
            Instruction::Settle { row, epoch, current, most } => self.settle(row, epoch, current, most, out),
            Instruction::Close { row, epoch, previous, kept } => {
                // Frames may overtake one another: an older instruction can come later.
                let is_old = self.closing.get(&row).is_some_and(|closing| epoch < closing.epoch);
                let has_room = self.closing.len() < self.limits.waiting || self.closing.contains_key(&row);
                if !is_old && has_room && kept.len() <= self.limits.waiting {
                    self.closing.insert(row, Closing { epoch, previous, kept, is_asked: false });
                    self.close_rows(now, out);
                } else {
                    self.counters.drops.refused += 1;
                }
            }
            // The front has done it.
            Instruction::Lease { .. } => {}
            Instruction::Check { flows } => {
                for key in flows {
                    match self.flows.get_mut(&key) {
                        Some(Entry::Owned { pinned, .. }) => *pinned = true,
                        Some(entry) if entry.owns() => {}
                        // The flow of the pin has ended, so that the controller may delete the pin.
                        _ => out.push(Effect::Report(Report::Ended { bucket: key.0, flow: key.1 })),
                    }
                }
            }
        }
    }

    fn settle(
        &mut self,
        row: RowId<F>,
        epoch: u32,
        current: Member,
        most: usize,
        out: &mut Vec<Effect<F, P>>,
    ) {
        // Pinned flows have rows of their own.
        let is_of_row = |entry: &Entry<P>| match entry {
            Entry::Owned { pinned, .. } => row.pin.is_some() || !pinned,
            entry => entry.owns(),
        };
        let found = self.flows.of_row(&row).filter(|(_, entry)| is_of_row(entry));
        let kept: Vec<Key<F>> = found.map(|(flow, _)| (row.bucket, flow.clone())).collect();
        if kept.len() > most {
            out.push(Effect::Report(Report::Busy { row, epoch, count: kept.len() }));
            return;
        }
        for key in &kept {
            if let Some(Entry::Owned { used, .. }) = self.flows.get(key)
                && self.is_other_member(current)
            {
                let used = *used;
                self.flows.insert(key, Entry::Settling { until: current, held: VecDeque::new(), used });
            }
        }
        out.push(Effect::Report(Report::Settled { row, epoch, kept }));
    }

    /// Asks the last questions of rows that are being closed, and reports those about which nothing is open.
    pub(super) fn close_rows(&mut self, now: u64, out: &mut Vec<Effect<F, P>>) {
        let rows: Vec<_> = self.closing.keys().cloned().collect();
        for row in rows {
            if self.waits(&row) {
                continue;
            }
            let Some(closing) = self.closing.get_mut(&row) else { continue };
            let Closing { epoch, previous, is_asked, .. } = *closing;
            let kept = take(&mut closing.kept);
            closing.is_asked = true;
            if !is_asked {
                self.ask_last(&row, previous, kept, now, out);
            }
            if !self.waits(&row) {
                self.closing.remove(&row);
                out.push(Effect::Report(Report::Closed { row, epoch }));
            }
        }
    }

    /// Nothing of the row went to the previous server after the packets that these questions follow.
    fn ask_last(
        &mut self,
        row: &RowId<F>,
        previous: Member,
        kept: Vec<Key<F>>,
        now: u64,
        out: &mut Vec<Effect<F, P>>,
    ) {
        let is_foreign = |entry: &Entry<P>| matches!(entry, Entry::Foreign { at } if *at == previous);
        let foreign = self.flows.of_row(row).filter(|(_, entry)| is_foreign(entry));
        let mut keys: BTreeSet<Key<F>> = foreign.map(|(flow, _)| (row.bucket, flow.clone())).collect();
        keys.extend(kept.into_iter().filter(|key| !self.flows.get(key).is_some_and(Entry::owns)));
        for key in keys {
            if self.is_other_member(previous) {
                self.ask(key, previous, false, now, out);
            } else {
                self.flows.remove(&key);
            }
        }
    }

    /// Servers that died answer no more; what waits for one is decided here.
    fn forget_the_dead(&mut self, now: u64, out: &mut Vec<Effect<F, P>>) {
        let is_of_dead = |entry: &Entry<P>| match entry {
            Entry::Foreign { at } | Entry::Waiting(Wait { at, .. }) | Entry::Settling { until: at, .. } => {
                !self.alive.contains(at)
            }
            Entry::Owned { .. } => false,
        };
        let keys = self.flows.keys(is_of_dead);
        for key in keys {
            self.resolve(&key, now, out);
        }
        self.close_rows(now, out);
    }

    /// The last question about this flow has been or is being asked.
    pub(super) fn is_closing(&self, (bucket, flow): &Key<F>) -> bool {
        let asked = |pin| {
            let row = RowId { bucket: *bucket, pin };
            self.closing.get(&row).is_some_and(|closing| closing.is_asked)
        };
        asked(None) || asked(Some(flow.clone()))
    }

    fn waits(&self, row: &RowId<F>) -> bool {
        self.flows.of_row(row).any(|(_, entry)| matches!(entry, Entry::Waiting(_)))
    }
}
