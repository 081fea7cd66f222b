//! A split program: the result, as users and other crates see it.

use crate::generate::{DeviceProgram, Linkage};
use crate::layout::LayoutField;
use crate::placement::{DeviceIndex, Placement};
use crate::section::{CallEnd, Half, SectionId, SectionKind};
use base_diag::{Diagnostic, Span};
use ir::{Name, Program};

/// A program split over devices.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Split {
    /// What each device of the placement runs; `None` for one that has no part.
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
    /// What is not as the placement asks, and does not hinder.
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
    /// Where it runs.
    pub device: DeviceIndex,
    /// Its part in a call, if it has one.
    pub call: Option<CallEnd>,
    /// Control-plane names of the tables it applies.
    pub tables: Vec<Name>,
    /// Control-plane names of the state objects it uses.
    pub state: Vec<Name>,
    /// What a hand-over to it carries beside the headers. `None` if no cut leads to it.
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
    /// Its bits.
    pub bits: u32,
    /// The last statement before the section that writes it, if the program does.
    pub writer: Option<Span>,
    /// The first statement in or after the section that reads it, if the program does.
    pub reader: Option<Span>,
}
