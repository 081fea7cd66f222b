//! Reports of servers in other processes, as frames to the switch (docs/internals/groups.md, "Groups of processes").
//!
//! ```text
//! kind        to      other             after the header
//! REPORTED    none    the server        its start, a byte for the kind, the report
//! ```

use super::instructions::{
    number, put_blocks, put_flow, put_keys, put_row, take_blocks, take_flow, take_keys, take_row,
};
use super::{Flow, Wire, get, set};
use crate::{DROPS, Drops, Member, Report};

/// Value of [`Wire::kind`].
const REPORTED: u64 = 7;

const HERE: u8 = 0;
const MEMBERS: u8 = 1;
const SETTLED: u8 = 2;
const BUSY: u8 = 3;
const CLOSED: u8 = 4;
const ENDED: u8 = 5;
const LEASED: u8 = 6;

/// A message of a server to the switch of its group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// The server.
    pub from: Member,
    /// Another number after each start of the server, since which it knows its flows.
    pub start: u32,
    /// The message.
    pub says: Says,
}

/// A message without its sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Says {
    /// The server is alive; its counters.
    Here(Counts),
    /// For the group's controller.
    Report(Report<Flow>),
}

/// Counts of a server.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Flows whose state it has.
    pub flows: u64,
    /// Flows that began there.
    pub opened: u64,
    /// Packets that it has handled.
    pub handled: u64,
    /// Packets that took one more step from there.
    pub extra_hops: u64,
    /// Packets and frames that ended there.
    pub drops: Drops,
}

impl Wire {
    /// The frame of a server's message.
    pub fn write_said(&self, said: &Said) -> Vec<u8> {
        let mut bytes = self.header.clone();
        set(&mut bytes, self.kind, REPORTED);
        set(&mut bytes, self.to, 0);
        set(&mut bytes, self.other, super::number(said.from));
        bytes.extend(said.start.to_be_bytes());
        write(&mut bytes, &said.says, self.flow.bytes());
        bytes
    }

    /// A server's message; `Some(None)`: a damaged frame of this kind; `None`: another frame.
    #[allow(clippy::option_option)]
    pub fn read_said(&self, frame: &[u8]) -> Option<Option<Said>> {
        let is_it = self.is_own(frame) && get(frame, self.kind) == Some(REPORTED);
        is_it.then(|| {
            let from = super::member(get(frame, self.other)?)?;
            let mut rest = frame.get(self.header.len()..)?;
            let start = number::<4>(&mut rest)?;
            Some(Said { from, start, says: read(rest, self.flow.bytes())? })
        })
    }
}

fn write(out: &mut Vec<u8>, says: &Says, width: usize) {
    let report = match says {
        Says::Here(counts) => {
            out.push(HERE);
            let Counts { flows, opened, handled, extra_hops, drops } = *counts;
            let all = [flows, opened, handled, extra_hops].into_iter().chain(drops.counts());
            out.extend(all.flat_map(u64::to_be_bytes));
            return;
        }
        Says::Report(report) => report,
    };
    match report {
        Report::Members { version } => {
            out.push(MEMBERS);
            out.extend(version.to_be_bytes());
        }
        Report::Settled { row, epoch, kept } => {
            out.push(SETTLED);
            put_row(out, row, width);
            out.extend(epoch.to_be_bytes());
            put_keys(out, kept, width);
        }
        Report::Busy { row, epoch, count } => {
            out.push(BUSY);
            put_row(out, row, width);
            out.extend(epoch.to_be_bytes());
            out.extend(u32::try_from(*count).unwrap_or(u32::MAX).to_be_bytes());
        }
        Report::Closed { row, epoch } => {
            out.push(CLOSED);
            put_row(out, row, width);
            out.extend(epoch.to_be_bytes());
        }
        Report::Ended { bucket, flow } => {
            out.push(ENDED);
            out.extend(bucket.to_be_bytes());
            put_flow(out, flow, width);
        }
        Report::Leased { version, busy, usable } => {
            out.push(LEASED);
            out.extend(version.to_be_bytes());
            out.extend(usable.to_be_bytes());
            put_blocks(out, busy);
        }
    }
}

fn read(mut rest: &[u8], width: usize) -> Option<Says> {
    let rest = &mut rest;
    Some(Says::Report(match number::<1>(rest)? as u8 {
        HERE => {
            let mut count = || Some(u64::from(number::<4>(rest)?) << 32 | u64::from(number::<4>(rest)?));
            let (flows, opened, handled, extra_hops) = (count()?, count()?, count()?, count()?);
            let mut drops = [0; DROPS.len()];
            for reason in &mut drops {
                *reason = count()?;
            }
            let drops = Drops::of_counts(drops);
            return Some(Says::Here(Counts { flows, opened, handled, extra_hops, drops }));
        }
        MEMBERS => Report::Members { version: number::<4>(rest)? },
        SETTLED => {
            let row = take_row(rest, width)?;
            let epoch = number::<4>(rest)?;
            Report::Settled { row, epoch, kept: take_keys(rest, width)? }
        }
        BUSY => {
            let row = take_row(rest, width)?;
            let epoch = number::<4>(rest)?;
            Report::Busy { row, epoch, count: number::<4>(rest)? as usize }
        }
        CLOSED => {
            let row = take_row(rest, width)?;
            Report::Closed { row, epoch: number::<4>(rest)? }
        }
        ENDED => {
            let bucket = number::<4>(rest)?;
            Report::Ended { bucket, flow: take_flow(rest, width)? }
        }
        LEASED => {
            let (version, usable) = (number::<4>(rest)?, number::<4>(rest)?);
            Report::Leased { version, busy: take_blocks(rest)?, usable }
        }
        _ => return None,
    }))
}
