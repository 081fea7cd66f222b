//! `[[stage]]`: the steps of an experiment. Each is a run of its own, with what the rack has, what the stages before it added, and what it
//! adds itself.
//!
//! ```toml
//! [[stage]]
//! name = "drop"
//! note = "the link loses a frame in twenty"
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
use crate::section::{Item, Reader, Section};
use crate::{DeviceId, Fault, Rack, Spanned, Workload, fault, value, workload};
use base_diag::Span;

/// A step of an experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is about, in a sentence.
    pub note: Option<String>,
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
    /// The rack as it is with the first `count` stages.
    pub fn with_stages(&self, count: usize) -> Rack {
        let mut rack = self.clone();
        for stage in rack.stages.drain(..).take(count) {
            rack.faults.extend(stage.faults);
            rack.workloads.extend(stage.workloads);
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
        entries,
        faults,
        workloads,
        span: item.span,
    })
}
