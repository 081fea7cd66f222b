//! A program in as many pieces as the splitter makes of it, as a region graph.

use super::Result;
use super::limits::{Beyond, runs};
use super::offers::{call_time, calls};
use super::shares;
use base_diag::{Diagnostic, Span};
use ir::{InstanceId, Name, Program};
use ir_footprint::analysis;
use ir_split::{DeviceIndex, Half, Mark, Placement, SectionInfo, Split, marks, split};
use ir_state::Apart;
use plan_model::{App, Edge, Factor, Prop, Region};
use rack_model::Rack;

/// Needed by every section.
pub(super) const P4: &str = "p4";

/// The program in as many pieces as can be.
pub(super) struct Cut {
    pub split: Split,
    /// Regions that move together.
    groups: Vec<Vec<Name>>,
    /// Regions that stay at the origin, with why.
    pub fixed: Vec<(Name, String)>,
}

impl Cut {
    /// Finds the finest cut that the splitter accepts.
    pub fn new(program: &Program) -> Result<Cut> {
        let marks = marks(program)?;
        let all = sharing(program, &marks);
        if let Ok(split) = split(program, &apart(&all)) {
            return Ok(Cut { split, groups: all, fixed: vec![] });
        }
        // Some must stay: those that cannot leave alone, then the last ones.
        let mut fixed: Vec<(Name, String)> = vec![];
        let mut groups = vec![];
        for group in all {
            match split(program, &apart(std::slice::from_ref(&group))) {
                Ok(_) => groups.push(group),
                Err(found) => {
                    let why = reasons(&found);
                    fixed.extend(group.into_iter().map(|name| (name, why.clone())));
                }
            }
        }
        loop {
            match split(program, &apart(&groups)) {
                Ok(split) => return Ok(Cut { split, groups, fixed }),
                Err(found) => {
                    let Some(last) = groups.pop() else { return Err(found) };
                    let why = reasons(&found);
                    fixed.extend(last.into_iter().map(|name| (name, format!("with the others: {why}"))));
                }
            }
        }
    }

    fn is_away(&self, section: &SectionInfo) -> bool {
        self.groups.iter().flatten().any(|name| *name == section.region)
    }

    /// The region graph, after the origin's parser. `shares` are the rack's shares of regions.
    pub fn app(&self, rack: &Rack, at: usize, program: &Program, beyond: &[Beyond]) -> Result<App> {
        let Some(app) = rack.apps.get(at) else { return Err(vec![]) };
        let origin = app.origin.value.0 as usize;
        let stated = shares::stated(&self.split, &app.shares)?;
        let ends: Vec<(usize, usize)> =
            self.split.edges.iter().map(|(from, to)| (from.0 as usize, to.0 as usize)).collect();
        let of_edges = shares::of_edges(self.split.sections.len(), &ends, &stated)
            .map_err(|found| vec![shares::too_much(&stated, &app.shares, found)])?;
        let start = Region { name: "parser".into(), on: vec![origin], ..Region::default() };
        let sections = self.split.sections.iter().enumerate().map(|(at, section)| Region {
            name: section.name.as_str().into(),
            paths: vec![needs(rack, section, beyond.iter().any(|b| b.section == Some(at)))],
            on: if self.is_away(section) { vec![] } else { vec![origin] },
            share: stated.get(&at).map(|(share, _)| *share),
            span: Span::NONE,
        });
        let edge = |from: usize, to: usize, share: Factor| {
            // Behind the traffic manager the port is chosen: a packet that is to leave by another goes round once.
            let half = from.checked_sub(1).map(|at| self.split.sections[at].half);
            let passes = i64::from(half == Some(Half::Egress));
            let live = self.split.sections[to].live.iter().flatten().map(|value| value.bits).sum::<u32>();
            let bits = i64::from(self.split.common_bits + live);
            Edge { from, to: to + 1, bits, share, passes }
        };
        let inner = ends.iter().zip(of_edges).map(|((from, to), share)| edge(from + 1, *to, share));
        let places = |group: &Vec<Name>| -> Vec<usize> {
            let sections = (1..).zip(&self.split.sections);
            sections.filter(|(_, s)| group.contains(&s.region)).map(|(at, _)| at).collect()
        };
        Ok(App {
            name: program.main.name.as_str().into(),
            regions: std::iter::once(start).chain(sections).collect(),
            edges: std::iter::once(edge(0, 0, Factor::ONE)).chain(inner).collect(),
            together: self.groups.iter().map(places).filter(|places| places.len() > 1).collect(),
            initial: vec![],
        })
    }
}

/// Refusals in a line.
fn reasons(found: &[Diagnostic]) -> String {
    analysis::reasons(found).join("; ")
}

/// Needs of a section, which some class cannot run if it is `beyond` it.
fn needs(rack: &Rack, section: &SectionInfo, beyond: bool) -> Vec<Prop> {
    let timed = calls(rack);
    let functions = section.externs.iter().flat_map(|name| {
        let is_timed = timed.iter().any(|(known, _)| known == name);
        std::iter::once(Prop::from(name.as_str())).chain(is_timed.then(|| call_time(name)))
    });
    let limit = beyond.then(|| runs(&section.name));
    [Prop::from(P4), section.name.as_str().into()].into_iter().chain(functions).chain(limit).collect()
}

/// Regions in groups: those of one use the same table, or an object that can be in one place only.
fn sharing(program: &Program, marks: &[Mark]) -> Vec<Vec<Name>> {
    let is_at_one = |name: &&Name| {
        let at = program.instances.iter().position(|object| object.control_plane_name == **name);
        at.is_some_and(|at| ir_state::apart(program, InstanceId::from(at)) != Apart::May)
    };
    let uses = |mark: &'_ Mark| -> Vec<Name> {
        mark.tables.iter().chain(mark.state.iter().filter(is_at_one)).cloned().collect()
    };
    let outer = |name: &Name| marks.iter().find(|mark| mark.name == *name)?.inside.as_ref();
    let is_inside = |inner: &Mark, name: &Name| {
        std::iter::successors(inner.inside.as_ref(), |around| outer(around)).any(|around| around == name)
    };
    let mut groups: Vec<Vec<&Mark>> = vec![];
    for mark in marks {
        let joins = |other: &&Mark| {
            // A region around another one also uses its objects: that alone does not bind them.
            !is_inside(mark, &other.name) && uses(mark).iter().any(|name| uses(other).contains(name))
        };
        let (with, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.iter().any(joins));
        groups = rest;
        groups.push(with.into_iter().flatten().chain([mark]).collect());
    }
    groups.into_iter().map(|group| group.into_iter().map(|mark| mark.name.clone()).collect()).collect()
}

/// A placement with a separate device for each group.
fn apart(groups: &[Vec<Name>]) -> Placement {
    let leaders: Vec<Name> = groups.iter().filter_map(|group| group.first().cloned()).collect();
    let mut placement = Placement::apart(&leaders);
    for (group, device) in groups.iter().zip((1..).map(DeviceIndex)) {
        placement.sites.extend(group.iter().map(|name| (name.clone(), device.into())));
    }
    placement
}
