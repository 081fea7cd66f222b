//! The apps of a rack as P4Runtime devices of their own, where the rack runs other programs than theirs: merged or pinned ones.

use crate::rack::Racked;
use base_diag::Diagnostic;
use device_control::{AppView, PartOf};

/// The views of the apps of a rack's program, which is the device `whole`: the first app is the next device, and so on. Apps whose programs
/// assign objects to roles have none.
pub fn views(racked: &Racked, at: usize, whole: u64) -> Result<Vec<AppView>, Vec<Diagnostic>> {
    let app = &racked.apps[at];
    if app.sharing.is_none() && app.pinned.is_empty() {
        return Ok(vec![]);
    }
    let mut views = vec![];
    for (number, (name, program)) in app.own.iter().enumerate() {
        let of_one = app.pinned.iter().find(|pinned| pinned.model.name.value == *name);
        let part = PartOf {
            name,
            program,
            text: target_p4::print(program),
            share: app.sharing.as_ref().and_then(|sharing| sharing.apps.get(number)).map(|(share, _)| share),
            copies: of_one
                .map_or(vec![], |of_one| of_one.pinned.tables.iter().chain(&of_one.pinned.objects).collect()),
        };
        let device = whole.saturating_add(1).saturating_add(number as u64);
        views.extend(AppView::new(&part, device, &app.whole)?);
    }
    Ok(views)
}
