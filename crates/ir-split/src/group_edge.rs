//! The switch's program as the controller of a group sees it: tables, members, frames.

use crate::placement::DeviceIndex;
use base_bits::Bits;
use ir::Name;
use server_groups::wire::{BUCKET_BITS, Flow, MEMBER_BITS, Wire, number};
use server_groups::{Member, Row, Write};

/// Bits of a group's number in `policy/group/group.p4`.
pub(crate) const EDGE_BITS: u32 = 16;

/// Bits of a filter's mark there.
const MARK_BITS: u32 = 16;

/// A group, at the device that hands over to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEdge {
    /// Control-plane name of the control that has its tables: `CONTROL.rows`, `CONTROL.pins`, with the action `CONTROL.use`; with filters
    /// `CONTROL.roles`, with `CONTROL.turn`, and with leased blocks `CONTROL.leases`.
    pub control: Name,
    /// The first key of these tables.
    pub number: u64,
    /// The regions that it leads to.
    pub regions: Vec<Name>,
    /// The members in the order of their numbers, each with the port that leads there.
    pub members: Vec<(DeviceIndex, u64)>,
    /// Buckets.
    pub buckets: u32,
    /// Leased blocks, block 0 included, which stands for none; 0 if no handler leases any.
    pub blocks: u32,
    /// Format of the group's frames.
    pub wire: Wire,
}

/// An entry of the group's tables; without arguments, it is taken away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEntry {
    /// Control-plane name.
    pub table: String,
    /// Exact keys.
    pub keys: Vec<Bits>,
    /// Control-plane name.
    pub action: String,
    /// The current member and the previous one; marks of the current filter and of the older one.
    pub args: Option<Vec<Bits>>,
}

impl GroupEdge {
    /// A write of the group's controller as an entry.
    pub fn entry(&self, write: &Write<Flow>) -> GroupEntry {
        let small = |value: u32| Bits::new(BUCKET_BITS, value.into());
        let flow = |flow: &Flow| Bits::from_be_bytes(self.wire.flow.width, flow);
        let member = |member: Option<Member>| Bits::new(MEMBER_BITS, member.map_or(0, number).into());
        let args = |row: &Row| vec![member(Some(row.current)), member(row.previous)];
        let mark = |mark: u16| Bits::new(MARK_BITS, mark.into());
        let (table, key, action, args) = match write {
            Write::Row { bucket, row } => ("rows", Some(small(*bucket)), "use", Some(args(row))),
            Write::Pin { flow: pinned, row } => ("pins", Some(flow(pinned)), "use", Some(args(row))),
            Write::Unpin { flow: pinned } => ("pins", Some(flow(pinned)), "use", None),
            Write::Roles { current, older } => {
                ("roles", None, "turn", Some(vec![mark(*current), mark(*older)]))
            }
            Write::Lease { block, to } => {
                ("leases", Some(small(*block)), "use", Some(vec![member(Some(*to)), member(None)]))
            }
        };
        GroupEntry {
            table: format!("{}.{table}", self.control),
            keys: std::iter::once(Bits::new(EDGE_BITS, self.number.into())).chain(key).collect(),
            action: format!("{}.{action}", self.control),
            args,
        }
    }
}
