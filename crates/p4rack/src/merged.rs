//! Apps that share a device become one: `ir-merge` has their programs, this their entries and their places in the rack.

use crate::entries::Entries;
use base_diag::codes::{merge as codes, rack as rack_codes};
use base_diag::{Diagnostic, SourceMap, Span};
use ir::Program;
use ir_merge::{Merged, Share, merge};
use rack_model::{App, DeviceId, Placement, Rack, Regions, Spanned};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The apps of a merged program.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Each app's names and numbers, with its class as written.
    pub apps: Vec<(Share, Option<String>)>,
    /// Rules for control planes, one sentence each.
    pub notes: Vec<String>,
}

/// An app that is to share a device.
pub struct Sharer<'a> {
    /// Name, class and priority.
    pub app: ir_merge::App<'a>,
    /// Place in the file.
    pub span: Span,
}

/// A merged program, compiled from its printed text.
pub struct Joined {
    /// The program.
    pub program: Arc<Program>,
    /// Source of the merged program.
    pub text: String,
    /// The merged apps.
    pub sharing: Sharing,
}

/// An app as one that is to share a device.
pub fn sharer<'a>(model: &App, program: &'a Program, has_regions: bool) -> Sharer<'a> {
    let app = ir_merge::App {
        name: model.name.value.as_str().into(),
        program,
        class: model.class.as_ref().map(|class| class.value.clone()),
        priority: model.priority.as_ref().map(|priority| priority.value),
        has_regions,
        shares_parser: model.shares_parser,
    };
    Sharer { app, span: model.class.as_ref().map_or(model.span, |class| class.span) }
}

/// Merges programs, prints the result and compiles it again.
pub fn join(sharers: &[Sharer<'_>], name: &str, map: &mut SourceMap) -> Result<Joined, Vec<Diagnostic>> {
    let apps: Vec<ir_merge::App<'_>> = sharers.iter().map(|sharer| sharer.app.clone()).collect();
    let Merged { program, shares, notes } = merge(&apps).map_err(|found| {
        let place = |diagnostic: Diagnostic| match diagnostic.labels.is_empty() {
            true => {
                sharers.iter().filter(|sharer| sharer.span != Span::NONE).fold(diagnostic, |d, sharer| {
                    d.at(sharer.span, format!("`{}` is one of them", sharer.app.name))
                })
            }
            false => diagnostic,
        };
        found.into_iter().map(place).collect::<Vec<_>>()
    })?;
    let wrong = target_p4::check(&program);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let text = target_p4::print(&program);
    let program = compiler::reparse(&format!("{name}.p4"), &text, map)?;
    let class = |sharer: &Sharer<'_>| sharer.app.class.as_ref().map(|class| class.text.clone());
    let sharing = Sharing { apps: shares.into_iter().zip(sharers.iter().map(class)).collect(), notes };
    Ok(Joined { program, text, sharing })
}

/// Apps in groups that share a device, in the order of their first app.
pub fn groups(rack: &Rack) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<DeviceId>, Vec<usize>)> = vec![];
    for (at, app) in rack.apps.iter().enumerate() {
        let device = shared_switch(app);
        match groups.iter_mut().find(|(known, _)| known.is_some() && *known == device) {
            Some((_, group)) => group.push(at),
            None => groups.push((device, vec![at])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The switch that an app may share with others: all of the app runs there, but for flows that are pinned elsewhere.
fn shared_switch(app: &App) -> Option<DeviceId> {
    let is_placed = matches!(app.map, Regions::ByHand(_)) && app.other_origins.is_empty();
    let origin = app.origin.value;
    let is_alone = app.devices().all(|device| device.value == origin);
    (is_placed && (is_alone || app.pinning.is_some())).then_some(origin)
}

/// Devices with parts of several apps that cannot be merged, and classes that nothing uses.
pub fn refuse(rack: &Rack) -> Vec<Diagnostic> {
    let mut found = vec![];
    let groups = groups(rack);
    for (id, device) in (0..).map(DeviceId).zip(&rack.devices) {
        let named: Vec<(usize, Spanned<DeviceId>)> = rack
            .apps_of(id)
            .filter_map(|app| Some((app, rack.apps[app].devices().find(|known| known.value == id)?)))
            .collect();
        let [(_, first), others @ ..] = named.as_slice() else { continue };
        let is_one_group = |group: &Vec<usize>| named.iter().all(|(app, _)| group.contains(app));
        if groups.iter().any(is_one_group) {
            found.extend(refuse_helpers(rack, id, &named));
            continue;
        }
        found.extend(others.iter().map(|(_, other)| {
            let title = format!("device `{}` belongs to several apps", device.name.value);
            Diagnostic::error(rack_codes::NOT_SUPPORTED, title)
                .at(other.span, "named again here")
                .at(first.span, "first named here")
                .note("apps share a switch if each of them runs there as a whole, or has an affinity; helpers are shared by apps with one switch")
                .help("give each app its own devices, or all apps the same device")
        }));
    }
    for group in groups {
        if let [alone] = group.as_slice()
            && let Some(class) = &rack.apps[*alone].class
        {
            let title =
                format!("`{}` has a class, but shares its device with no app", rack.apps[*alone].name.value);
            let diagnostic =
                Diagnostic::error(codes::BAD_CLASS, title).at(class.span, "nothing is left out by it");
            found.push(diagnostic.help("remove it, or give the device of the app to another app, too"));
        }
    }
    found
}

/// Apps with one helper in common have all their helpers in common: a device has one place in a site.
fn refuse_helpers(rack: &Rack, id: DeviceId, named: &[(usize, Spanned<DeviceId>)]) -> Vec<Diagnostic> {
    let helpers =
        |app: usize| rack.apps[app].helpers.iter().map(|device| device.value).collect::<BTreeSet<DeviceId>>();
    let mut with_helper = named.iter().filter(|(app, _)| helpers(*app).contains(&id));
    let Some((first, span)) = with_helper.next() else { return vec![] };
    let others = with_helper.filter(|(app, _)| helpers(*app) != helpers(*first));
    let report = |(app, other): &(usize, Spanned<DeviceId>)| {
        let name = |app: usize| &rack.apps[app].name.value;
        let title = format!("`{}` and `{}` share some of their helpers", name(*first), name(*app));
        Diagnostic::error(rack_codes::NOT_SUPPORTED, title)
            .at(other.span, "a helper of both")
            .at(span.span, "first named here")
            .help("name the same `devices` in both apps, or different ones")
    };
    others.map(report).collect()
}

/// The entries of all apps as entries of the merged program.
pub fn entries(sharing: &Sharing, apps: &[(Entries, Span)]) -> Result<Entries, Vec<Diagnostic>> {
    let mut writes = vec![];
    let mut found = vec![];
    for ((share, _), (entries, span)) in sharing.apps.iter().zip(apps) {
        for write in entries.writes() {
            match share.write(write) {
                Ok(write) => writes.extend(write),
                Err(large) => {
                    let title = format!("{} {} of `{}` is too large", large.what, large.number, share.app);
                    let why = format!("apps that share a device have numbers below {} each", large.limit);
                    found.push(
                        Diagnostic::error(codes::NOT_MERGED, title).at(*span, "in its entries").note(why),
                    );
                }
            }
        }
    }
    if found.is_empty() { Ok(Entries::of(writes)) } else { Err(found) }
}

/// Name of the app that represents the apps of a group.
pub fn name(rack: &Rack, group: &[usize]) -> String {
    let names: Vec<&str> = group.iter().map(|at| rack.apps[*at].name.value.as_str()).collect();
    names.join("+")
}

/// The app that represents the apps of a group.
pub fn stand_in(rack: &Rack, group: &[usize], name: String, sharing: &Sharing) -> App {
    let first = &rack.apps[group[0]];
    let mut map: Vec<Placement> = vec![];
    let mut helpers: Vec<Spanned<DeviceId>> = vec![];
    for (app, (share, _)) in group.iter().map(|at| &rack.apps[*at]).zip(&sharing.apps) {
        helpers.extend(
            app.helpers
                .iter()
                .filter(|helper| !helpers.iter().any(|known| known.value == helper.value))
                .copied()
                .collect::<Vec<_>>(),
        );
        let Regions::ByHand(own) = &app.map else { continue };
        for placement in own {
            let region =
                Spanned::new(share.region(&placement.region.value).to_string(), placement.region.span);
            // Sites with the same devices have them in one order.
            let devices = |site: &Placement| {
                std::iter::once(&site.device)
                    .chain(&site.spares)
                    .map(|device| device.value)
                    .collect::<BTreeSet<_>>()
            };
            let same = map.iter().find(|known| devices(known) == devices(placement)).unwrap_or(placement);
            let (device, spares) = (same.device, same.spares.clone());
            let (policy, replicas) = (placement.policy, placement.replicas);
            map.push(Placement { region, device, spares, policy, replicas });
        }
    }
    App {
        name: Spanned::new(name, first.name.span),
        entries: None,
        helpers,
        map: Regions::ByHand(map),
        class: None,
        pinning: None,
        priority: None,
        any_order: group.iter().all(|at| rack.apps[*at].any_order),
        drops_long_frames: group.iter().all(|at| rack.apps[*at].drops_long_frames),
        ..first.clone()
    }
}
