//! `[[stage]]`: the steps of an experiment. Each is a run of its own, with what the rack has, what the stage it follows has, and what it adds
//! itself.
//!
//! ```toml
//! [[stage]]
//! name = "drop"
//! note = "the link loses a frame in twenty"
//! after = "baseline"        # the stage that it follows; default the one before it; "rack": none
//! paper = { tcp = "1.19Gbit/s" }   # what the experiment that this one repeats has shown, by workload
//! entries = { left = "encode.stf", right = "decode.stf" }   # more entries of devices
//!
//! [[stage.fault]]           # as `[[fault]]`
//! kind = "loss"
//! link = ["left:2", "right:2"]
//! share = "5%"
//! at = "0s"
//!
//! [[stage.workload]]        # as `[[workload]]`
//! kind = "ping"
//! from = "h1"
//! to = "h2"
//! count = 10
//! ```

use crate::names::Names;
use crate::read::listed;
use crate::section::{Item, Reader, Section, unknown_name};
use crate::{DeviceId, Fault, Rack, Spanned, Workload, fault, value, workload};
use base_diag::{Span, did_you_mean};

/// A step of an experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is about, in a sentence.
    pub note: Option<String>,
    /// The stage that it follows, by its place.
    pub after: Option<usize>,
    /// What the experiment that this one repeats has shown of a workload.
    pub paper: Vec<(Spanned<String>, Spanned<String>)>,
    /// The paths of more entries, as written.
    pub entries: Vec<(DeviceId, Spanned<String>)>,
    /// What goes wrong from this stage on.
    pub faults: Vec<Fault>,
    /// What is sent from this stage on.
    pub workloads: Vec<Workload>,
    /// Where it is described.
    pub span: Span,
}

impl Rack {
    /// The place of the stage called `name`; if there is none, what to say.
    pub fn stage_named(&self, name: &str) -> Result<usize, String> {
        let names = || self.stages.iter().map(|stage| stage.name.value.as_str());
        let found = names().position(|known| known == name);
        found.ok_or_else(|| match did_you_mean(name, names()) {
            Some(near) => format!("there is no stage `{name}`: did you mean `{near}`?"),
            None if self.stages.is_empty() => "the rack has no stages".to_string(),
            None => {
                format!("there is no stage `{name}`: there are {}", names().collect::<Vec<_>>().join(", "))
            }
        })
    }

    /// A stage and those that it follows, the first first; of none nothing.
    pub fn stages_up_to(&self, stage: Option<usize>) -> Vec<usize> {
        // Each follows an earlier one, so there is an end.
        let mut all: Vec<usize> =
            std::iter::successors(stage, |at| self.stages.get(*at)?.after.filter(|before| before < at))
                .collect();
        all.reverse();
        all
    }

    /// The rack as it is in a stage.
    pub fn in_stage(&self, stage: Option<usize>) -> Rack {
        let mut rack = self.clone();
        for stage in self.stages_up_to(stage).into_iter().filter_map(|at| self.stages.get(at)) {
            rack.faults.extend(stage.faults.iter().cloned());
            rack.workloads.extend(stage.workloads.iter().cloned());
        }
        rack
    }

    /// The workloads of the rack and of all its stages.
    pub fn all_workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().chain(self.stages.iter().flat_map(|stage| &stage.workloads))
    }
}

/// Reads a stage of `rack`, whose links and workloads are known.
pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, rack: &Rack) -> Option<Stage> {
    let mut s = Section::new(r, "this stage".to_string(), item.span, item)?;
    let name = s.required(r, "name", "\"drop\"", value::name);
    let note = s.optional(r, "note", value::string);
    let after = s.optional(r, "after", |r, i| after(r, i, rack));
    let paper = s.optional(r, "paper", |r, i| value::texts(r, i, "{ ping = \"1ms\" }"));
    let texts = s.optional(r, "entries", |r, i| value::texts(r, i, "{ tor = \"more.stf\" }"));
    let faults = listed(r, s.entry("fault"), "stage.fault");
    let workloads = listed(r, s.entry("workload"), "stage.workload");
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

/// What stands for the rack without a stage.
const NO_STAGE: &str = "rack";

/// An earlier stage, or none.
fn after(r: &mut Reader, item: Item<'_>, rack: &Rack) -> Option<Option<usize>> {
    let name = value::string(r, item)?;
    let names = || rack.stages.iter().map(|stage| stage.name.value.as_str());
    let found = names().position(|known| known == name);
    if found.is_none() && name != NO_STAGE {
        let title = format!("there is no stage `{}` before this one", name.escape_debug());
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
            format!("[[stage]]\nname = \"{name}\"\n{more}[[stage.workload]]\nname = \"{name}\"\n{ping}\n")
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
