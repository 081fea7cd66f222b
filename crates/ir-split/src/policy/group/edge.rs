//! The entries of a group, and what its controller needs to know.

use super::{BUCKET, FLAG, FLOW, OTHER, SiteOfGroup, TO, is_numbered};
use crate::generate::Generator;
use crate::group_edge::GroupEdge;
use crate::layout::{CALL, EPOCH_BITS, ETHER_TYPE, Layout, VERSION};
use crate::runtime::ADDRESS;
use crate::split::LastArgs;
use ir::Name;
use server_groups::Write;
use server_groups::wire::{Flow, Place, Wire};

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
    if site.cells > 0
        && let Write::<Flow>::Roles { current, older } = server_groups::first_roles()
    {
        let args = vec![current.into(), older.into()];
        g.fill_brought(path, "roles", vec![site.number], "turn", args, LastArgs::Plain);
    }
    // Block 0 stands for none.
    for block in 1..site.fact.blocks {
        let args = vec![block % count + 1, 0];
        g.fill_brought(path, "leases", vec![site.number, block], "use", args, LastArgs::Plain);
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
        blocks: site.fact.blocks as u32,
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
        flag: place(layout, FLAG),
        bucket: place(layout, BUCKET),
        flow: place(layout, FLOW),
        call: is_numbered(g, site).then(|| place(layout, CALL)),
    }
}

/// Where a field of the common header is.
fn place(layout: &Layout, name: &str) -> Place {
    let before = layout.common.iter().take_while(|field| field.name != name);
    Place { at: before.map(|field| field.width).sum(), width: layout.width_of(name) }
}
