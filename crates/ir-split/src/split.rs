//! A split program: the result, as users and other crates see it.

use crate::group_edge::GroupEdge;
use crate::layout::{APP_BITS, EPOCH_BITS, ETHER_TYPE, ETHERNET_BITS, LayoutField, VERSION_BITS};
use crate::placement::{DeviceIndex, Placement};
use crate::section::{CallEnd, Half, SectionId, SectionKind};
use base_diag::{Diagnostic, Span};
use failover::Side;
use ir::{Name, Program};
use std::sync::Arc;

/// A program split over devices.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Split {
    /// A program for each device of the placement; `None` for one that has no part.
    pub devices: Vec<Option<DeviceProgram>>,
    /// The sections, in topological order.
    pub sections: Vec<SectionInfo>,
    /// Control may pass from one section to another; from the end of ingress to egress, too.
    pub edges: Vec<(SectionId, SectionId)>,
    /// Bits of the part that all hand-overs have.
    pub common_bits: u32,
    /// The fields of that part.
    pub common: Vec<LayoutField>,
    /// Control-plane names of the counters and meters that count bytes after a cut: their devices have to know
    /// `@counted_length`.
    pub counted_behind_a_cut: Vec<Name>,
    /// Warnings: the split is not all that the placement asks.
    pub warnings: Vec<Diagnostic>,
}

impl Split {
    /// The whole program at the origins.
    pub fn whole(program: &Program, placement: &Placement) -> Split {
        let part = DeviceProgram { program: program.clone(), linkage: Linkage::default() };
        let mut devices = vec![None; placement.devices.len()];
        for origin in placement.origins() {
            if let Some(device) = devices.get_mut(origin.0 as usize) {
                *device = Some(part.clone());
            }
        }
        Split { devices, ..Split::default() }
    }

    /// Edges whose ends are on different devices.
    pub fn cut_edges(&self) -> Vec<(SectionId, SectionId)> {
        let device = |id: SectionId| self.sections[id.0 as usize].device;
        self.edges.iter().copied().filter(|(from, to)| device(*from) != device(*to)).collect()
    }
}

/// A section as users see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionInfo {
    /// `Acl`, `ingress.2`
    pub name: Name,
    /// The region it belongs to.
    pub region: Name,
    /// Before or after the traffic manager.
    pub half: Half,
    /// Code, or the end of its half.
    pub kind: SectionKind,
    /// Device of the section.
    pub device: DeviceIndex,
    /// The section's part in a call, if it has one.
    pub call: Option<CallEnd>,
    /// Control-plane names of the tables it applies.
    pub tables: Vec<Name>,
    /// Control-plane names of the state objects it uses.
    pub state: Vec<Name>,
    /// The externs of the user's own that it calls, by the names that devices offer, sorted.
    pub externs: Vec<Name>,
    /// The values that a hand-over to it carries beside the headers. `None` if no cut leads to it.
    pub live: Option<Vec<LiveValue>>,
}

impl SectionInfo {
    /// The end of a half to which no cut leads: it is where the half is.
    pub fn is_plain_end(&self) -> bool {
        self.kind == SectionKind::End && self.live.is_none()
    }
}

/// A value that travels, as users see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveValue {
    /// As the program names it.
    pub name: String,
    /// Bits in a hand-over.
    pub bits: u32,
    /// The last statement before the section that writes it, if the program does.
    pub writer: Option<Span>,
    /// The first statement in or after the section that reads it, if the program does.
    pub reader: Option<Span>,
}

/// The program of one device and its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceProgram {
    /// The program.
    pub program: Program,
    /// Entries that the control plane writes into the runtime's own tables and value sets.
    pub linkage: Linkage,
}

/// Program of one device: a [`DeviceProgram`] that was printed and compiled.
#[derive(Clone, Debug)]
pub struct Part {
    /// The compiled program.
    pub program: Arc<Program>,
    /// The entries of the runtime's own tables.
    pub linkage: Linkage,
}

/// Entries of the runtime's own tables and value sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Linkage {
    /// Control-plane name and members.
    pub value_sets: Vec<(Name, Vec<u64>)>,
    /// Table entries with exact keys.
    pub entries: Vec<LinkEntry>,
    /// Clone sessions with their ports.
    pub sessions: Vec<(u32, u64)>,
    /// Edges with spares that leave the device.
    pub edges: Vec<Edge>,
    /// Groups that hand-overs of the device are for.
    pub groups: Vec<GroupEdge>,
    /// Prefix of the names of the runtime's own tables, actions, objects and fields; empty where there are none.
    pub prefix: String,
    /// Bits of the number by which a hand-over names the section to go on at.
    pub region_bits: u32,
    /// Packets of one flow take the same path and stay in order.
    pub keeps_order: bool,
    /// The number of egress' first section; those after it are entered in the middle of egress.
    pub egress: u64,
    /// A clone session may truncate clones at this device: no clone is a hand-over whose carried frame is not known.
    pub truncates_clones: bool,
}

impl Linkage {
    /// True for a hand-over that goes on in the middle of egress.
    pub fn is_amid_egress(&self, frame: &[u8]) -> bool {
        let type_at = ETHERNET_BITS as usize / 8;
        let has_type = frame.get(type_at - 2..type_at) == Some(&ETHER_TYPE.to_be_bytes()[..]);
        let start = ETHERNET_BITS + VERSION_BITS + APP_BITS + EPOCH_BITS;
        let bit = |at: u32| frame.get(at as usize / 8).map(|byte| u64::from(byte >> (7 - at % 8) & 1));
        let region = (start..start + self.region_bits).try_fold(0, |sum, at| Some(sum * 2 + bit(at)?));
        has_type && self.region_bits > 0 && region.is_some_and(|region| region > self.egress)
    }
}

/// An edge with spares, at the device that sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Control-plane name of the control that has the edge's registers: `failed` is `CONTROL.failed`.
    pub control: Name,
    /// The index in these registers.
    pub number: u64,
    /// The regions that it leads to.
    pub regions: Vec<Name>,
    /// The shards that it leads; none if it leads all packets.
    pub shards: Option<Vec<u64>>,
    /// The preferred device and its spares, each with the port that leads there.
    pub targets: Vec<(DeviceIndex, u64)>,
}

/// An entry `keys -> action(args)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkEntry {
    /// Control-plane name.
    pub table: Name,
    /// The region or the origin; for others what their policy looks up.
    pub keys: Vec<u64>,
    /// The action's control-plane name.
    pub action: Name,
    /// The action's arguments.
    pub args: Vec<u64>,
    /// Meaning of the last arguments.
    pub last: LastArgs,
}

/// The last arguments of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastArgs {
    /// Nothing that others have to know.
    Plain,
    /// A port that joins devices.
    Port,
    /// Thresholds of an edge with spares ([`failover::Thresholds::args`]).
    Thresholds(Side),
}

impl LinkEntry {
    /// The port that joins devices, if the entry gives one.
    pub fn port(&self) -> Option<u64> {
        self.args.last().copied().filter(|_| self.last == LastArgs::Port)
    }
}
