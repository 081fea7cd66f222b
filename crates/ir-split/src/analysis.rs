//! Everything that is known of a program while it is split. Each step of the pipeline adds its part.

use crate::access_order::Overtaken;
use crate::attempt::{CutHalves, Needs};
use crate::flow::{AtSection, Flow};
use crate::layout::{Layout, NotCarried};
use crate::mark::Mark;
use crate::place::{HeaderIndex, Leaf, Places};
use crate::placement::Placement;
use crate::prepare::{ForeignObjects, Lengths, RequestedEffects};
use crate::routes::Routes;
use crate::section::{Half, SectionId, Sections};
use crate::split::Split;
use crate::state::Separated;
use base_diag::{Diagnostic, Span};
use ir::{Block, ControlId, InstanceId, Program};
use ir_state::Uses;
use p4_arch::Meaning;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A program while it passes the steps, with the steps' results.
pub struct Analysis<'a> {
    /// Device of each region.
    pub placement: &'a Placement,
    /// Preparations beside those that every cut needs.
    pub needs: Needs,
    /// The program without preparation, its deparser's emits one by one.
    pub source: Rc<Program>,
    /// The program as the steps have made it so far.
    pub program: Rc<Program>,
    /// The control before the traffic manager.
    pub ingress: ControlId,
    /// The control after it.
    pub egress: ControlId,
    /// The marked regions.
    pub marks: Vec<Mark>,
    /// The halves in which a region runs elsewhere.
    pub cut: CutHalves,
    /// Prefix of the runtime's names.
    pub prefix: String,
    /// Fields that hold the lengths of varbits.
    pub lengths: Lengths,
    /// Effects that the program asks of the traffic manager.
    pub effects: RequestedEffects,
    /// The metadata field with the port a packet is for, where egress may overwrite `egress_port`.
    pub port: Option<usize>,
    /// Direct meters and counters that actions of other tables call.
    pub foreign: ForeignObjects,
    /// The sections of the bodies.
    pub sections: Sections,
    /// The program prepared for dataflow; of `source` until the step `flow` has run.
    pub flow: Flow,
    /// Facts and live values at the start of each section, by its number.
    pub at: Vec<AtSection>,
    /// Tables and objects that each section uses.
    pub uses: BTreeMap<SectionId, Uses>,
    /// Objects that count bytes after a cut.
    pub counted: Vec<(InstanceId, SectionId)>,
    /// Objects that the placement pulls apart.
    pub separated: Vec<Separated>,
    /// Objects that packets may use in opposite orders.
    pub overtaken: Option<Overtaken>,
    /// Conditions that lead packets of one flow over different devices.
    pub deciding: Vec<Span>,
    /// The paths of hand-overs.
    pub routes: Routes,
    /// Headers whose copies restore the packet as received; or the reasons why it cannot be restored.
    pub originals: Result<Vec<HeaderIndex>, Vec<Diagnostic>>,
    /// Reasons why egress would see a different length.
    pub uncounted: Vec<Diagnostic>,
    /// The bits of hand-overs, or the values that have no form in one.
    pub layout: Result<Layout, Vec<NotCarried>>,
    /// Findings, each with the name of its check.
    pub found: Vec<(&'static str, Diagnostic)>,
    /// Another preparation, which may keep values that this one loses.
    pub remedy: Option<Needs>,
    /// The result.
    pub split: Split,
}

impl<'a> Analysis<'a> {
    /// Before the first step.
    pub fn new(source: &Rc<Program>, placement: &'a Placement, needs: Needs) -> Analysis<'a> {
        Analysis {
            placement,
            needs,
            source: Rc::clone(source),
            program: Rc::clone(source),
            ingress: ControlId(0),
            egress: ControlId(0),
            marks: vec![],
            cut: CutHalves::default(),
            prefix: String::new(),
            lengths: Lengths::new(),
            effects: RequestedEffects::default(),
            port: None,
            foreign: ForeignObjects::new(),
            sections: Sections { list: vec![] },
            flow: Flow::new(Rc::clone(source), None),
            at: vec![],
            uses: BTreeMap::new(),
            counted: vec![],
            separated: vec![],
            overtaken: None,
            deciding: vec![],
            routes: Routes::default(),
            originals: Ok(vec![]),
            uncounted: vec![],
            layout: Ok(Layout::default()),
            found: vec![],
            remedy: None,
            split: Split::default(),
        }
    }

    /// Some region runs elsewhere.
    pub fn is_cut(&self) -> bool {
        self.cut.ingress || self.cut.egress
    }

    /// The control of a half.
    pub fn control(&self, half: Half) -> ControlId {
        match half {
            Half::Ingress => self.ingress,
            Half::Egress => self.egress,
        }
    }

    /// The body of a half.
    pub fn body(&self, half: Half) -> &Block {
        &self.program.control(self.control(half)).body
    }

    /// The scalar values of the program.
    pub fn places(&self) -> &Places {
        &self.flow.places
    }

    /// Facts and live values where a half begins.
    pub fn at_start(&self, half: Half) -> &AtSection {
        &self.at[self.sections.first(half).0 as usize]
    }

    /// Egress may read the packet's length.
    pub fn reads_length(&self) -> bool {
        let live = &self.at_start(Half::Egress).live.live;
        self.places().standard(Meaning::Length).is_some_and(|leaf| live.contains(leaf))
    }

    /// The value that says by which port a packet leaves.
    pub fn port_leaf(&self) -> Option<Leaf> {
        self.flow.port()
    }

    /// True if the packet as received must be restored after a cut.
    pub fn keeps_originals(&self) -> bool {
        self.effects.clones_original || self.effects.restart.is_some()
    }
}
