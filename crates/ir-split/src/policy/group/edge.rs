//! What the controller of a group needs to know of the switch's program: tables, members, frames.

use super::{BUCKET, EDGE_BITS, FLOW, OTHER, SiteOfGroup, TO};
use crate::generate::Generator;
use crate::layout::{EPOCH_BITS, ETHER_TYPE, Layout, VERSION};
use crate::placement::DeviceIndex;
use crate::runtime::ADDRESS;
use crate::split::LastArgs;
use base_bits::Bits;
use ir::Name;
use server_groups::wire::{BUCKET_BITS, Flow, MEMBER_BITS, Place, Wire, number};
use server_groups::{Member, Row, Write};

/// A group, at the device that hands over to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEdge {
    /// Control-plane name of the control that has its tables: `CONTROL.rows`, `CONTROL.pins`, with the actions `CONTROL.use`.
    pub control: Name,
    /// The first key of these tables.
    pub number: u64,
    /// The regions that it leads to.
    pub regions: Vec<Name>,
    /// The members in the order of their numbers, each with the port that leads there.
    pub members: Vec<(DeviceIndex, u64)>,
    /// Buckets.
    pub buckets: u32,
    /// Its frames.
    pub wire: Wire,
}

/// An entry of the group's tables, with the action `use`; without arguments, it is taken away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEntry {
    /// Control-plane name.
    pub table: String,
    /// Exact keys.
    pub keys: Vec<Bits>,
    /// Control-plane name.
    pub action: String,
    /// The current member and the previous one.
    pub args: Option<Vec<Bits>>,
}

impl GroupEdge {
    /// A write of the group's controller as an entry.
    pub fn entry(&self, write: &Write<Flow>) -> GroupEntry {
        let small = |value: u32| Bits::new(BUCKET_BITS, value.into());
        let flow = |flow: &Flow| Bits::from_be_bytes(self.wire.flow.width, flow);
        let member = |member: Option<Member>| Bits::new(MEMBER_BITS, member.map_or(0, number).into());
        let args = |row: &Row| vec![member(Some(row.current)), member(row.previous)];
        let (table, key, args) = match write {
            Write::Row { bucket, row } => ("rows", small(*bucket), Some(args(row))),
            Write::Pin { flow: pinned, row } => ("pins", flow(pinned), Some(args(row))),
            Write::Unpin { flow: pinned } => ("pins", flow(pinned), None),
        };
        GroupEntry {
            table: format!("{}.{table}", self.control),
            keys: vec![Bits::new(EDGE_BITS, self.number.into()), key],
            action: format!("{}.use", self.control),
            args,
        }
    }
}

/// Adds the entries of the group, and the group itself, to the linkage.
pub fn fill(g: &mut Generator<'_>, path: &Name, site: &SiteOfGroup) {
    let count = site.devices.len() as u64;
    for bucket in 0..site.fact.count {
        g.fill_brought(
            path,
            "rows",
            vec![site.number, bucket],
            "use",
            vec![bucket % count + 1, 0],
            LastArgs::Plain,
        );
    }
    let mut members = vec![];
    for (n, device) in (1..).zip(&site.devices) {
        if let Some(port) = g.port_to(*device) {
            g.fill_brought(path, "port_of", vec![site.number, n], "forward", vec![port], LastArgs::Port);
            members.push((*device, port));
        }
    }
    let mut regions: Vec<Name> =
        site.sections.iter().map(|id| g.cut.sections.get(*id).region.clone()).collect();
    regions.sort();
    regions.dedup();
    let edge = GroupEdge {
        control: path.clone(),
        number: site.number,
        regions,
        members,
        buckets: site.fact.count as u32,
        wire: wire(g, site),
    };
    g.linkage.groups.push(edge);
}

fn wire(g: &Generator<'_>, site: &SiteOfGroup) -> Wire {
    let layout = g.cut.layout;
    let placement = g.cut.placement;
    let sections: Vec<u64> = site.sections.iter().map(|id| id.0.into()).collect();
    let header = layout.frame(&[
        ("dst_addr", ADDRESS),
        ("ether_type", ETHER_TYPE.into()),
        ("version", VERSION),
        ("app", placement.app),
        ("epoch", placement.epoch % (1 << EPOCH_BITS)),
        ("region", sections.first().copied().unwrap_or_default()),
    ]);
    let (first, section) = (place(layout, "ether_type"), place(layout, "region"));
    Wire {
        header,
        alike: Place { at: first.at, width: section.at - first.at },
        section,
        sections,
        kind: place(layout, "group_kind"),
        to: place(layout, TO),
        other: place(layout, OTHER),
        number: place(layout, "group_number"),
        flag: place(layout, "group_flag"),
        bucket: place(layout, BUCKET),
        flow: place(layout, FLOW),
    }
}

/// Where a field of the common header is.
fn place(layout: &Layout, name: &str) -> Place {
    let before = layout.common.iter().take_while(|field| field.name != name);
    Place { at: before.map(|field| field.width).sum(), width: layout.width_of(name) }
}
