//! Data of `p4rack analyze`: each region, its needs, and the values that a cut around it would carry.

use crate::footprint::{self, Object, TableFootprint};
use crate::paths::{self, Paths};
use base_diag::{Diagnostic, SourceMap};
use ir::{Name, Program};
use ir_split::auto::{self, Policy};
use ir_split::{Half, Mark, Placement, SectionInfo, Split, marks, split};
use serde::Serialize;

/// A region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Region {
    /// Name of the region.
    pub name: String,
    /// `ingress` or `egress`.
    pub half: &'static str,
    /// Start of the region: `slice.p4:41`.
    pub place: String,
    /// The marked region around it.
    pub inside: Option<String>,
    /// The tables it applies.
    pub tables: Vec<TableFootprint>,
    /// The state objects it uses.
    pub state: Vec<Object>,
    /// Resources used by a packet on its path through the region.
    pub paths: Paths,
    /// The hand-overs if it alone runs on another device, or why it cannot.
    pub cut: Result<Cut, Vec<String>>,
    /// If the region cannot be cut and this was asked for: the nearest region that can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Near>,
}

/// A region around one that cannot run on another device, which can.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Near {
    /// Start of the region: `slice.p4:41`.
    pub place: String,
    /// Statements of its block, those nested in them not counted.
    pub statements: usize,
    /// Control-plane names of the tables it applies.
    pub tables: Vec<String>,
}

/// Regions around a refused one that [`nearest`] tries.
const MOST_TRIES: usize = 60;

/// Values that travel to and from a region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cut {
    /// Bits of every hand-over: position, epoch, validity of headers and what else all of them have.
    pub common_bits: u32,
    /// To it.
    pub enter: Vec<Live>,
    /// Back from it: the section that goes on, and the values.
    pub leave: Vec<(String, Vec<Live>)>,
}

/// A value that travels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Live {
    /// As the program names it.
    pub value: String,
    /// Bits.
    pub bits: u32,
    /// The last statement before the cut that writes it: `slice.p4:41`. None for what the device or the parser sets.
    pub writer: Option<String>,
    /// The first statement after the cut that reads it. None for what the device reads.
    pub reader: Option<String>,
}

/// Control passes from one region to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edge {
    /// A section of a region: `Acl`, or of a body: `ingress.2`.
    pub from: String,
    /// The section after the edge.
    pub to: String,
    /// Bits that all hand-overs have.
    pub common_bits: u32,
    /// Bits of the values that live on over this edge.
    pub live_bits: u32,
}

/// How control passes between the regions of a program, each on a device of its own; or why it cannot be cut so.
pub fn edges(program: &Program, policy: Option<Policy>) -> Result<Vec<Edge>, Vec<String>> {
    let mut marked = program.clone();
    if let Some(policy) = policy {
        marked = base(program, policy).map_err(|found| reasons(&found))?;
        let cuts = auto::cuts(&marked, policy);
        auto::mark(&mut marked, &cuts);
    }
    let names: Vec<Name> =
        marks(&marked).map_err(|found| reasons(&found))?.into_iter().map(|mark| mark.name).collect();
    let split = split(&marked, &Placement::apart(&names)).map_err(|found| reasons(&found))?;
    let section = |id: ir_split::SectionId| &split.sections[id.0 as usize];
    let edge = |(from, to): &(ir_split::SectionId, ir_split::SectionId)| Edge {
        from: section(*from).name.to_string(),
        to: section(*to).name.to_string(),
        common_bits: split.common_bits,
        live_bits: section(*to).live.iter().flatten().map(|value| value.bits).sum(),
    };
    Ok(split.cut_edges().iter().map(edge).collect())
}

/// Analyses the regions of a program, in source order: those it marks or, with a policy, those that the policy chooses,
/// each as if it alone were marked. `with_nearest` searches the nearest region for each that is refused.
pub fn regions(
    program: &Program,
    policy: Option<Policy>,
    with_nearest: bool,
    map: &SourceMap,
) -> Result<Vec<Region>, Vec<Diagnostic>> {
    let Some(policy) = policy else {
        let marked = marks(program)?;
        let (bare, cuts) = (auto::unmarked(program), auto::marked(program));
        let region = |mark: &Mark| {
            let mut region = analyze(program, mark, map);
            let cut = cuts.iter().find(|cut| cut.name == mark.name);
            if let Some(cut) = cut.filter(|_| with_nearest && region.cut.is_err()) {
                region.nearest = nearest(&bare, cut).map(|near| describe(&bare, &near, map));
            }
            region
        };
        return Ok(marked.iter().map(region).collect());
    };
    // Also says what cannot be split at all.
    marks(program)?;
    let base = base(program, policy)?;
    let mut found = vec![];
    for cut in auto::cuts(&base, policy) {
        let marked = marked(&base, &cut);
        match marks(&marked) {
            Ok(all) => found.extend(all.iter().map(|mark| {
                let mut region = analyze(&marked, mark, map);
                if with_nearest && region.cut.is_err() {
                    region.nearest = nearest(&base, &cut).map(|near| describe(&base, &near, map));
                }
                region
            })),
            Err(refused) => found.push(Region {
                name: cut.name.to_string(),
                half: half(cut.from.half),
                place: place(cut.from.span, map),
                inside: None,
                tables: vec![],
                state: vec![],
                paths: Paths::default(),
                cut: Err(reasons(&refused)),
                nearest: None,
            }),
        }
    }
    Ok(found)
}

/// The program in which a policy looks for regions: applied controls are blocks of it, or are put into their callers.
pub fn base(program: &Program, policy: Policy) -> Result<Program, Vec<Diagnostic>> {
    match policy {
        Policy::Blocks => Ok(auto::unmarked(program)),
        Policy::Borders | Policy::Tables | Policy::Chain | Policy::Nested | Policy::Beyond(_) => {
            auto::open(program)
        }
    }
}

/// The program with as many regions as there are: inside of one only those that the splitter lets go by themselves.
pub fn finest(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    // Where its controls cannot be put into their callers it is cut around them.
    let (base, policy) = match base(program, Policy::Nested) {
        Ok(open) => (open, Policy::Nested),
        Err(_) => (base(program, Policy::Blocks)?, Policy::Blocks),
    };
    let mut cuts = auto::cuts(&base, policy);
    cuts.retain(|cut| !cut.from.in_loop);
    let mut all = base.clone();
    auto::mark(&mut all, &cuts);
    let marks = marks(&all)?;
    let is_inside = |name: &Name| marks.iter().any(|mark| mark.name == *name && mark.inside.is_some());
    cuts.retain(|cut| !is_inside(&cut.name) || split(&all, &Placement::alone(&cut.name)).is_ok());
    let mut program = base;
    auto::mark(&mut program, &cuts);
    Ok(program)
}

/// The program with this region alone.
pub fn marked(base: &Program, cut: &auto::Cut) -> Program {
    let mut marked = base.clone();
    auto::mark(&mut marked, std::slice::from_ref(cut));
    marked
}

fn analyze(program: &Program, mark: &Mark, map: &SourceMap) -> Region {
    let result = split(program, &Placement::alone(&mark.name));
    Region {
        name: mark.name.to_string(),
        half: half(mark.half),
        place: place(mark.span, map),
        inside: mark.inside.as_ref().map(ToString::to_string),
        tables: mark.tables.iter().filter_map(|t| footprint::table(program, t)).collect(),
        state: mark.state.iter().filter_map(|s| footprint::object(program, s)).collect(),
        paths: paths::of_region(program, &mark.name).unwrap_or_default(),
        cut: match &result {
            Ok(split) => Ok(cut(split, &mark.name, map)),
            Err(found) => Err(reasons(found)),
        },
        nearest: None,
    }
}

/// Among legal regions around `cut`, one that moves the fewest tables.
pub fn nearest(program: &Program, cut: &auto::Cut) -> Option<auto::Cut> {
    let is_legal = |near: &auto::Cut| split(&marked(program, near), &Placement::alone(&near.name)).is_ok();
    auto::around(program, cut).into_iter().take(MOST_TRIES).find(is_legal)
}

fn describe(program: &Program, cut: &auto::Cut, map: &SourceMap) -> Near {
    Near {
        place: place(cut.from.span, map),
        statements: cut.len.unwrap_or(1),
        tables: auto::tables_of(program, cut).iter().map(ToString::to_string).collect(),
    }
}

fn half(half: Half) -> &'static str {
    if half == Half::Ingress { "ingress" } else { "egress" }
}

fn place(span: base_diag::Span, map: &SourceMap) -> String {
    map.position(span.lo).map_or_else(String::new, |p| format!("{}:{}", p.file, p.line))
}

fn cut(split: &Split, region: &Name, map: &SourceMap) -> Cut {
    let sections = &split.sections;
    let live = |s: &SectionInfo| -> Vec<Live> {
        let values = s.live.iter().flatten();
        let line =
            |span: Option<base_diag::Span>| span.map(|span| place(span, map)).filter(|p| !p.is_empty());
        let live = |v: &ir_split::LiveValue| Live {
            value: v.name.clone(),
            bits: v.bits,
            writer: line(v.writer),
            reader: line(v.reader),
        };
        values.map(live).collect()
    };
    let entered = |s: &&SectionInfo| s.live.is_some();
    Cut {
        common_bits: split.common_bits,
        enter: sections.iter().filter(entered).find(|s| s.region == *region).map(live).unwrap_or_default(),
        leave: sections
            .iter()
            .filter(entered)
            .filter(|s| s.region != *region)
            .map(|s| (s.name.to_string(), live(s)))
            .collect(),
    }
}

/// Each reason once, as a line.
pub fn reasons(found: &[Diagnostic]) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for line in found.iter().map(reason) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A refusal in a line.
pub fn reason(diagnostic: &Diagnostic) -> String {
    let label = diagnostic.labels.first().map(|l| l.text.as_str()).unwrap_or_default();
    if label.is_empty() { diagnostic.title.clone() } else { format!("{}: {label}", diagnostic.title) }
}
