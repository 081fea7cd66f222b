//! Apps that share a device become one: `ir-merge` has their programs, this their entries and their places in the rack.

use crate::entries::Entries;
use base_diag::codes::{merge as codes, rack as rack_codes};
use base_diag::{Diagnostic, SourceMap, Span};
use ir::Program;
use ir_merge::{Merged, Share, merge};
use rack_model::{App, DeviceId, Rack, Regions, Spanned};
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
        let device = only_device(app);
        match groups.iter_mut().find(|(known, _)| known.is_some() && *known == device) {
            Some((_, group)) => group.push(at),
            None => groups.push((device, vec![at])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The device that all of an app runs on.
fn only_device(app: &App) -> Option<DeviceId> {
    let is_placed = matches!(app.map, Regions::ByHand(_));
    let origin = app.origin.value;
    (is_placed && app.devices().all(|device| device.value == origin)).then_some(origin)
}

/// Devices with parts of several apps that cannot be merged, and classes that nothing uses.
pub fn refuse(rack: &Rack) -> Vec<Diagnostic> {
    let mut found = vec![];
    for (id, device) in (0..).map(DeviceId).zip(&rack.devices) {
        let named: Vec<(usize, Spanned<DeviceId>)> = rack
            .apps_of(id)
            .filter_map(|app| Some((app, rack.apps[app].devices().find(|known| known.value == id)?)))
            .collect();
        let [(_, first), others @ ..] = named.as_slice() else { continue };
        if named.iter().all(|(app, _)| only_device(&rack.apps[*app]).is_some()) {
            continue;
        }
        found.extend(others.iter().map(|(_, other)| {
            let title = format!("device `{}` belongs to several apps", device.name.value);
            Diagnostic::error(rack_codes::NOT_SUPPORTED, title)
                .at(other.span, "named again here")
                .at(first.span, "first named here")
                .note("apps can share a device only if each of them runs on it as a whole, and on no other device")
                .help("give each app its own devices, or all apps the same device")
        }));
    }
    for group in groups(rack) {
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

/// The app that represents the apps of a group.
pub fn stand_in(rack: &Rack, group: &[usize]) -> App {
    let names: Vec<&str> = group.iter().map(|at| rack.apps[*at].name.value.as_str()).collect();
    let first = &rack.apps[group[0]];
    App {
        name: Spanned::new(names.join("+"), first.name.span),
        entries: None,
        map: Regions::ByHand(vec![]),
        class: None,
        pinning: None,
        priority: None,
        any_order: group.iter().all(|at| rack.apps[*at].any_order),
        drops_long_frames: group.iter().all(|at| rack.apps[*at].drops_long_frames),
        ..first.clone()
    }
}
