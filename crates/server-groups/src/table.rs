//! The switch: which server a packet is handed to.

use crate::Member;
use std::collections::BTreeMap;

/// Names a row: that of a bucket, or the pin of one flow. A pin is a row for one flow, and changes as rows do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId<F> {
    /// The bucket, also of a pinned flow.
    pub bucket: u32,
    /// The flow, if it is a pin.
    pub pin: Option<F>,
}

impl<F> RowId<F> {
    /// The row of a bucket.
    pub fn bucket(bucket: u32) -> RowId<F> {
        RowId { bucket, pin: None }
    }
}

/// The servers of a bucket or of a pinned flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Row {
    /// Gets the packets.
    pub current: Member,
    /// Got them before, and may own flows. One at most: with two, nobody would know whom to ask first.
    pub previous: Option<Member>,
    /// Counts the changes of the row.
    pub epoch: u32,
}

/// A write to the switch.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Write<F> {
    Row {
        bucket: u32,
        row: Row,
    },
    Pin {
        flow: F,
        row: Row,
    },
    Unpin {
        flow: F,
    },
    /// The marks of the current and of the older filter, where the switch has [`filters`](crate::filters).
    Roles {
        current: u16,
        older: u16,
    },
    /// Packets of a [leased](crate::leases) block go to this member.
    Lease {
        block: u32,
        to: Member,
    },
}

/// Fate of a packet at the switch.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dispatch {
    pub to: Member,
    pub bucket: u32,
    pub previous: Option<Member>,
}

/// The tables of the switch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Table<F> {
    rows: Vec<Row>,
    pins: BTreeMap<F, Row>,
}

impl<F: Clone + Ord> Table<F> {
    /// One row for each bucket; there is at least one.
    pub fn new(rows: Vec<Row>) -> Table<F> {
        Table { rows, pins: BTreeMap::new() }
    }

    /// The server for a packet of the flow; none if the table has no rows.
    pub fn dispatch(&self, flow: &F, hash: u32) -> Option<Dispatch> {
        let bucket = hash.checked_rem(self.rows.len() as u32)?;
        let row = self.pins.get(flow).unwrap_or(&self.rows[bucket as usize]);
        Some(Dispatch { to: row.current, bucket, previous: row.previous })
    }

    /// Carries a write out. One for a bucket that does not exist changes nothing.
    pub fn write(&mut self, write: &Write<F>) {
        match write {
            Write::Row { bucket, row } => {
                if let Some(place) = self.rows.get_mut(*bucket as usize) {
                    *place = *row;
                }
            }
            Write::Pin { flow, row } => {
                self.pins.insert(flow.clone(), *row);
            }
            Write::Unpin { flow } => {
                self.pins.remove(flow);
            }
            // These tables have no filters and no blocks.
            Write::Roles { .. } | Write::Lease { .. } => {}
        }
    }

    /// The rows of the buckets, in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The pinned flows.
    pub fn pins(&self) -> impl Iterator<Item = (&F, &Row)> {
        self.pins.iter()
    }
}
