//! What `p4rack analyze` shows: each marked region and what a cut around it would carry.

use base_diag::Diagnostic;
use ir::{Name, Program};
use ir_split::{Half, Placement, SectionInfo, marks, split};
use serde::Serialize;

/// A marked region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// `ingress` or `egress`.
    pub half: &'static str,
    /// The marked region around it.
    pub inside: Option<String>,
    /// Control-plane names of the tables it applies.
    pub tables: Vec<String>,
    /// Control-plane names of the state objects it uses.
    pub state: Vec<String>,
    /// The hand-overs if it alone runs on another device, or why it cannot.
    pub cut: Result<Cut, Vec<String>>,
}

/// What travels around a region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cut {
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
}

/// Analyses every marked region of a program, in source order.
pub fn regions(program: &Program) -> Result<Vec<Region>, Vec<Diagnostic>> {
    let all = marks(program)?;
    let analyze = |mark: &ir_split::Mark| {
        let result = split(program, &Placement::alone(&mark.name));
        let sections = result.as_ref().map(|s| s.sections.as_slice()).unwrap_or_default();
        let names = |list: &[Name]| list.iter().map(ToString::to_string).collect();
        Region {
            name: mark.name.to_string(),
            half: if mark.half == Half::Ingress { "ingress" } else { "egress" },
            inside: mark.inside.as_ref().map(ToString::to_string),
            tables: names(&mark.tables),
            state: names(&mark.state),
            cut: match &result {
                Ok(_) => Ok(cut(sections, &mark.name)),
                Err(found) => Err(found.iter().map(reason).collect()),
            },
        }
    };
    Ok(all.iter().map(analyze).collect())
}

fn cut(sections: &[SectionInfo], region: &Name) -> Cut {
    let live = |s: &SectionInfo| -> Vec<Live> {
        let values = s.live.iter().flatten();
        values.map(|(value, bits)| Live { value: value.clone(), bits: *bits }).collect()
    };
    let entered = |s: &&SectionInfo| s.live.is_some();
    Cut {
        enter: sections.iter().filter(entered).find(|s| s.region == *region).map(live).unwrap_or_default(),
        leave: sections
            .iter()
            .filter(entered)
            .filter(|s| s.region != *region)
            .map(|s| (s.name.to_string(), live(s)))
            .collect(),
    }
}

fn reason(diagnostic: &Diagnostic) -> String {
    let label = diagnostic.labels.first().map(|l| l.text.as_str()).unwrap_or_default();
    if label.is_empty() { diagnostic.title.clone() } else { format!("{}: {label}", diagnostic.title) }
}
