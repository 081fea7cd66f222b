//! `[[phase]]`: the phases of an experiment. Each phase is a separate run. A phase has the faults, workloads and entries of the rack and of the
//! phase that it follows, and adds its own. `[[stage]]`, the earlier name of the key, is still read.
//!
//! ```toml
//! [[phase]]
//! name = "drop"
//! note = "the link loses a frame in twenty"
//! after = "baseline"        # the phase that this one follows; default: the one before it; "rack": none
//! paper = { tcp = "1.19Gbit/s" }   # the published result, by workload
//! entries = { left = "encode.stf", right = "decode.stf" }   # more entries of devices
//!
//! [[phase.fault]]           # as `[[fault]]`
//! kind = "loss"
//! link = ["left:2", "right:2"]
//! share = "5%"
//! at = "0s"
//!
//! [[phase.workload]]        # as `[[workload]]`
//! kind = "ping"
//! from = "h1"
//! to = "h2"
//! count = 10
//! ```

use crate::names::Names;
use crate::section::{Item, Reader, Section, listed, unknown_name};
use crate::{DeviceId, Fault, Rack, Spanned, Workload, fault, value, workload};
use base_diag::{Span, did_you_mean};

/// A phase of an experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// Unique in the rack.
    pub name: Spanned<String>,
    /// A one-sentence description.
    pub note: Option<String>,
    /// Index of the phase that this one follows.
    pub after: Option<usize>,
    /// Published results, by workload.
    pub paper: Vec<(Spanned<String>, Spanned<String>)>,
    /// Paths of additional entries, as written.
    pub entries: Vec<(DeviceId, Spanned<String>)>,
    /// Faults added in this phase and those that follow it.
    pub faults: Vec<Fault>,
    /// Workloads added in this phase and those that follow it.
    pub workloads: Vec<Workload>,
    /// Location in RACK.toml.
    pub span: Span,
}

impl Rack {
    /// Index of the phase called `name`, or the error text.
    pub fn stage_named(&self, name: &str) -> Result<usize, String> {
        let names = || self.stages.iter().map(|stage| stage.name.value.as_str());
        let found = names().position(|known| known == name);
        found.ok_or_else(|| match did_you_mean(name, names()) {
            Some(near) => format!("there is no phase `{name}`: did you mean `{near}`?"),
            None if self.stages.is_empty() => "the rack has no phases".to_string(),
            None => {
                format!("there is no phase `{name}`: there are {}", names().collect::<Vec<_>>().join(", "))
            }
        })
    }

    /// A phase and its predecessors, earliest first; empty for `None`.
    pub fn stages_up_to(&self, stage: Option<usize>) -> Vec<usize> {
        // Each follows an earlier one, so there is an end.
        let mut all: Vec<usize> =
            std::iter::successors(stage, |at| self.stages.get(*at)?.after.filter(|before| before < at))
                .collect();
        all.reverse();
        all
    }

    /// The rack in one phase, or without any.
    pub fn in_stage(&self, stage: Option<usize>) -> Rack {
        let mut rack = self.clone();
        for stage in self.stages_up_to(stage).into_iter().filter_map(|at| self.stages.get(at)) {
            rack.faults.extend(stage.faults.iter().cloned());
            rack.workloads.extend(stage.workloads.iter().cloned());
        }
        rack
    }

    /// The workloads of the rack and of all its phases.
    pub fn all_workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().chain(self.stages.iter().flat_map(|stage| &stage.workloads))
    }
}

/// Reads a phase of `rack`; its links and workloads have been read before.
pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, rack: &Rack) -> Option<Stage> {
    let mut s = Section::new(r, "this phase".to_string(), item.span, item)?;
    let name = s.required(r, "name", "\"drop\"", value::name);
    let note = s.optional(r, "note", value::string);
    let after = s.optional(r, "after", |r, i| after(r, i, rack));
    let paper = s.optional(r, "paper", |r, i| value::texts(r, i, "{ ping = \"1ms\" }"));
    let texts = s.optional(r, "entries", |r, i| value::texts(r, i, "{ tor = \"more.stf\" }"));
    let faults = listed(r, s.entry("fault"), "phase.fault");
    let workloads = listed(r, s.entry("workload"), "phase.workload");
    s.finish(r);
    let texts = texts.map_or(vec![], |texts| texts.value);
    let entries = texts.into_iter().filter_map(|(device, path)| {
        Some((names.device(r, Spanned::new(device.value.as_str(), device.span))?, path))
    });
    let entries = entries.collect();
    let known = rack.all_workloads().count();
    let workloads = (known..).zip(workloads);
    let workloads = workloads.filter_map(|(at, item)| workload::read(r, item, names, at)).collect();
    let faults = faults.into_iter().filter_map(|item| fault::read(r, item, names, rack)).collect();
    Some(Stage {
        name: name?,
        note: note.map(|note| note.value),
        after: after.map_or(rack.stages.len().checked_sub(1), |after| after.value),
        paper: paper.map_or(vec![], |paper| paper.value),
        entries,
        faults,
        workloads,
        span: item.span,
    })
}

/// The value of `after` for the rack without a phase.
const NO_STAGE: &str = "rack";

/// An earlier phase, or none.
fn after(r: &mut Reader, item: Item<'_>, rack: &Rack) -> Option<Option<usize>> {
    let name = value::string(r, item)?;
    let names = || rack.stages.iter().map(|stage| stage.name.value.as_str());
    let found = names().position(|known| known == name);
    if found.is_none() && name != NO_STAGE {
        let title = format!("there is no phase `{}` before this one", name.escape_debug());
        r.push(unknown_name(title, Spanned::new(&name, item.span), names().chain([NO_STAGE])));
        return None;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use crate::read_rack;

    #[test]
    fn stages_follow_one_another_unless_they_say_otherwise() {
        let host = |n: u32, ip: u32| {
            format!("[host.h{n}]\nmac = \"02:00:00:00:00:0{n}\"\nip = \"10.0.0.{ip}/24\"\n")
        };
        let link = "[[link]]\nends = [\"h1\", \"h2\"]\nrate = \"1Gbit/s\"\n";
        let stage = |name: &str, more: &str| {
            let ping = "kind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1";
            format!("[[phase]]\nname = \"{name}\"\n{more}[[phase.workload]]\nname = \"{name}\"\n{ping}\n")
        };
        let text = [
            host(1, 1),
            host(2, 2),
            link.to_string(),
            stage("a", ""),
            stage("b", ""),
            stage("c", "after = \"a\"\n"),
            stage("d", ""),
            stage("e", "after = \"rack\"\n"),
        ];
        let (rack, found) = read_rack(&text.concat(), 0);
        let rack = rack.unwrap_or_else(|| panic!("{found:?}"));
        let names = |stage| {
            let workloads = rack.in_stage(stage).workloads;
            workloads.iter().map(|w| w.name.value.clone()).collect::<Vec<_>>().concat()
        };
        assert_eq!(
            [None, Some(0), Some(1), Some(2), Some(3), Some(4)].map(names),
            ["", "a", "ab", "ac", "acd", "e"]
        );
    }
}
