//! The file as a whole: text in, rack or diagnostics out.

use crate::check::check;
use crate::failover::{self, FailoverKeys};
use crate::names::Names;
use crate::section::{Entry, Reader, Section, listed, wrong_shape};
use crate::{
    Control, Device, DeviceId, Host, HostId, NodeId, Planning, Rack, Spanned, app, control, device, fault,
    group, host, job, legacy, link, moves, plan, stage, value, workload,
};
use base_diag::codes::rack;
use base_diag::{Diagnostic, Span};
use host_programs::Kind;
use toml::de::{DeTable, DeValue};

/// Content of a file that may have errors: the parts that could be read.
pub(crate) struct Draft {
    pub rack: Rack,
    /// In the order of the file, so that places are ids.
    pub devices: Vec<Option<Device>>,
    pub hosts: Vec<Option<Host>>,
    /// False if some link could not be read.
    pub knows_all_links: bool,
}

/// Reads a `RACK.toml`. `base` is the number of the text's first byte in the [`SourceMap`](base_diag::SourceMap).
///
/// There is a rack if and only if no diagnostic is an error. Diagnostics are in the order of the file.
pub fn read_rack(text: &str, base: u32) -> (Option<Rack>, Vec<Diagnostic>) {
    read_rack_with(text, base, host_programs::KINDS)
}

/// [`read_rack`] with workloads of these kinds.
pub fn read_rack_with(
    text: &str,
    base: u32,
    kinds: &'static [&'static Kind],
) -> (Option<Rack>, Vec<Diagnostic>) {
    let mut reader = Reader::new(base, kinds);
    let rack = read_text(&mut reader, text);
    let failed = reader.diagnostics.has_errors();
    let mut diagnostics = reader.diagnostics.into_vec();
    diagnostics.sort_by_key(Diagnostic::span);
    (rack.filter(|_| !failed), diagnostics)
}

fn read_text(r: &mut Reader, text: &str) -> Option<Rack> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        r.push(syntax_error(r, error));
    }
    if !errors.is_empty() {
        return None;
    }
    let draft = read_file(r, table.get_ref());
    link::report_unrated(r);
    check(r, &draft);
    let devices = draft.devices.into_iter().collect::<Option<_>>()?;
    let hosts = draft.hosts.into_iter().collect::<Option<_>>()?;
    let rack = Rack { devices, hosts, ..draft.rack };
    if !r.diagnostics.has_errors() {
        legacy::check(&rack).into_iter().for_each(|found| r.push(found));
    }
    Some(rack)
}

/// The toml crate's message, which has the form `mistake, expected this`.
fn syntax_error(r: &Reader, error: &toml::de::Error) -> Diagnostic {
    let (title, label) = error.message().split_once(", ").unwrap_or((error.message(), ""));
    let span = error.span().map_or(Span::NONE, |range| r.span(range));
    Diagnostic::error(rack::TOML_SYNTAX, title).at(span, label)
}

fn read_file(r: &mut Reader, table: &DeTable<'_>) -> Draft {
    let whole = r.span(0..0);
    let mut file = Section::of_file(r, table, whole);
    let head = file.entry("rack");
    let devices = named(r, file.entry("device"), "device");
    let hosts = named(r, file.entry("host"), "host");
    let links = listed(r, file.entry("link"), "link");
    let groups = listed(r, file.entry("group"), "group");
    let memberships = listed(r, file.entry("membership"), "membership");
    let apps = listed(r, file.entry("app"), "app");
    let jobs = listed(r, file.entry("job"), "job");
    let workloads = listed(r, file.entry("workload"), "workload");
    let faults = listed(r, file.entry("fault"), "fault");
    let replaces = listed(r, file.entry("replace"), "replace");
    let moves = listed(r, file.entry("move"), "move");
    let control = file.entry("control");
    let mut stages = listed(r, file.entry("phase"), "phase");
    // The earlier name of the key.
    stages.extend(listed(r, file.entry("stage"), "stage"));
    let plan = file.entry("plan");
    let failover = file.entry("failover");
    file.later(r, "generate");
    file.finish(r);

    let mut names = Names::default();
    for (id, entry) in (0..).map(DeviceId).zip(&devices) {
        names.add(r, entry, NodeId::Device(id));
    }
    for (id, entry) in (0..).map(HostId).zip(&hosts) {
        names.add(r, entry, NodeId::Host(id));
    }
    let mut rack = head.map_or_else(Rack::default, |entry| read_head(r, entry));
    rack.plan = plan.map_or_else(Planning::default, |entry| plan::read(r, entry));
    let count = links.len();
    for item in links {
        rack.links.extend(link::read(r, item, &names));
    }
    let knows_all_links = rack.links.len() == count;
    let failover = failover.map_or_else(FailoverKeys::default, |entry| {
        let keys = failover::read(r, entry.item, "`[failover]`").unwrap_or_default();
        failover::merged(r, Some(entry.key_span), &keys, &FailoverKeys::default());
        keys
    });
    let described = groups.len();
    for item in groups {
        let group = group::read(r, item, &names, &rack.groups);
        rack.groups.extend(group);
    }
    // Where a group is refused, its changes do not have to name another one.
    let has_all = rack.groups.len() == described;
    for item in memberships {
        rack.memberships.extend(group::read_membership(r, item, &names, &rack.groups, has_all));
    }
    group::check(r, &rack.groups, &rack.memberships, &names);
    for item in apps {
        let app = app::read(r, item, &names, &rack.groups, &failover);
        rack.apps.extend(app);
    }
    rack.jobs = jobs.into_iter().filter_map(|item| job::read(r, item)).collect();
    for (index, item) in workloads.into_iter().enumerate() {
        rack.workloads.extend(workload::read(r, item, &names, index));
    }
    for item in faults {
        let fault = fault::read(r, item, &names, &rack);
        rack.faults.extend(fault);
    }
    rack.control = control.map_or_else(Control::default, |entry| control::read(r, entry));
    rack.replaces = replaces.into_iter().filter_map(|item| control::read_replace(r, item, &names)).collect();
    rack.moves = moves.into_iter().filter_map(|item| moves::read(r, item, &rack.apps)).collect();
    for item in stages {
        let stage = stage::read(r, item, &names, &rack);
        rack.stages.extend(stage);
    }
    let name = |entry: &Entry<'_>| Spanned::new(entry.key.to_string(), entry.key_span);
    let devices = devices.iter().map(|e| device::read(r, name(e), e.item)).collect();
    let hosts = hosts.iter().map(|e| host::read(r, name(e), e.item)).collect();
    Draft { rack, devices, hosts, knows_all_links }
}

/// `[rack]`: name, seed, and when a run ends at the latest.
fn read_head(r: &mut Reader, entry: Entry<'_>) -> Rack {
    let default = Rack::default();
    let Some(mut s) = Section::new(r, "`[rack]`".to_string(), entry.key_span, entry.item) else {
        return default;
    };
    let name = s.optional(r, "name", value::string);
    let seed = s.optional(r, "seed", |r, i| value::integer(r, i, 0..=u64::MAX));
    let until = s.optional(r, "until", value::interval);
    s.finish(r);
    Rack {
        name: name.unwrap_or(default.name),
        seed: seed.map_or(default.seed, |s| s.value),
        until: until.map(|u| base_time::Time::ZERO + u.value),
        ..Rack::default()
    }
}

/// The entries of all `[kind.NAME]`.
fn named<'t>(r: &mut Reader, entry: Option<Entry<'t>>, kind: &str) -> Vec<Entry<'t>> {
    let Some(entry) = entry else { return vec![] };
    match entry.item.value {
        DeValue::Table(table) => r.entries(table),
        _ => {
            wrong_shape(r, entry, format!("write `[{kind}.NAME]`"));
            vec![]
        }
    }
}
