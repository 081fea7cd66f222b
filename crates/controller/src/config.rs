//! The RPC `SetForwardingPipelineConfig` over all devices: every device has the new program and all that it is to hold before
//! the first of them runs it, and before frames are kept out.
//!
//! ```text
//! every device       save the new program, write what it is to hold        frames come in
//! the origin         hold, until no packet is inside                       frames wait
//! every device       read what data planes have written                         │
//! all but the origin write that to the new program, and commit                  │
//! the origin         the same: now the new plan is the one that runs            │
//! the origin         release                                               frames come in
//! ```
//!
//! The origin is the last, so that its program decides the plan. If its hold runs out before ([`crate::lease`]), it
//! does not commit any more, and the others are rolled back. Until they are, frames meet devices of both plans:
//! hand-overs of another epoch are counted drops, so that no packet is ever half done by one plan and half by another.

use crate::ask::{Answer, Ask};
use crate::copied::{Totals, note_total};
use crate::desired::Plans;
use crate::merge_calls;
use crate::part::Rollout;
use crate::repair::{self, Found, all_done, everything, is_unknown};
use crate::spread::{Spread, spread};
use crate::stale::Mark;
use crate::task::Shared;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, SetForwardingPipelineConfigRequest, Update, update::Type,
};
use p4runtime_server::{Prepared, Status};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) async fn set_config(
    shared: &Shared,
    request: SetForwardingPipelineConfigRequest,
) -> Result<(), Status> {
    let action = request.action();
    if matches!(action, Action::Unspecified | Action::Verify | Action::VerifyAndSave) {
        return shared.state().server.set_config(request);
    }
    let prepared = shared.state().server.prepare_config(request)?;
    match prepared {
        Some(prepared) => exchange(shared, prepared).await,
        None => Ok(()),
    }
}

/// Runs a program before any controller asks for one.
pub(crate) async fn start(shared: &Shared, config: ForwardingPipelineConfig) -> Result<(), Status> {
    let prepared = shared.state().server.prepare(config)?;
    exchange(shared, prepared).await
}

/// Commits the prepared programs with the values that the data planes have written by then; if a device fails, all keep
/// their old program.
pub(crate) async fn exchange(shared: &Shared, prepared: Prepared<Plans>) -> Result<(), Status> {
    exchange_without(shared, prepared, &BTreeSet::new()).await
}

/// The same without devices that have failed ([`crate::edges::Edges::failed`]): they stay out of use, and repair brings them the new program.
pub(crate) async fn exchange_without(
    shared: &Shared,
    mut prepared: Prepared<Plans>,
    out: &BTreeSet<usize>,
) -> Result<(), Status> {
    let old = shared.state().rollout();
    let new = Arc::clone(&prepared.target().rollout);
    let mut totals = Totals::new();
    let ended = try_exchange(shared, old.as_ref(), (&new, out), (&mut prepared, &mut totals)).await;
    let has_totals = !totals.is_empty();
    let releases = {
        let mut state = shared.state();
        match ended {
            Ok(loaded) => {
                let entries = prepared.target().numbered();
                state.server.install(prepared);
                state.edges.fill(&new.edges);
                let (span, at) = (state.timing.merge, state.merge_time());
                state.merged.fill(&new, (totals, entries), span, at);
                state.all_are_right(loaded);
                for device in out {
                    state.stale(*device, "it was out of use when the plan changed", vec![]);
                }
            }
            Err(_) => state.server.give_back(prepared),
        }
        ended.is_ok() || state.held.is_some()
    };
    // Merged objects have their values before frames are admitted to the new program.
    if ended.is_ok() && has_totals {
        merge_calls::settle(shared, out).await;
    }
    if releases {
        shared.release(new.origin).await;
    }
    ended.map(drop)
}

/// Returns the last mark before the commits. A device that restarts before it commits refuses to commit; one that is marked later may have lost the
/// program.
async fn try_exchange(
    shared: &Shared,
    old: Option<&Arc<Rollout>>,
    (new, out): (&Rollout, &BTreeSet<usize>),
    (prepared, totals): (&mut Prepared<Plans>, &mut Totals),
) -> Result<Mark, Status> {
    // In slices, so that other calls and messages go on between.
    while !shared.state().server.replay(prepared)? {
        shared.pause().await;
    }
    let mut contents = repair::contents(shared, new, (prepared, totals)).await?;
    contents.retain(|device, _| !out.contains(device));
    for edge in &new.edges {
        // Senders begin without memory: they would use the device until they notice that it does not answer.
        if let (Some(allowed), Some(own)) = (edge.without(out), contents.get_mut(&edge.sender)) {
            own.extend(edge.allow(allowed));
        }
    }
    repair::load(shared, new, contents).await?;
    // Nothing runs yet: no frame is inside, and no device has counted anything.
    let Some(old) = old else { return commit(shared, None, (new, out), Spread::new(), &Found::new()).await };
    shared.hold(old.origin).await?;
    let found = repair::gather(shared, old, everything(), out, out).await?;
    let mut counted = Spread::new();
    let mut along = vec![];
    shared.state().server.take_along(prepared, &mut |entity| along.push(entity))?;
    for entity in along {
        note_total(new, prepared.target(), &entity, totals);
        let update = Update { r#type: Type::Modify as i32, entity: Some(entity) };
        spread(new, &prepared.target().marked(&update), &mut counted);
    }
    counted.retain(|device, _| !out.contains(device));
    repair::load_some(shared, new, &mut counted).await?;
    commit(shared, Some(old), (new, out), counted, &found).await
}

/// Runs the programs that were loaded, with these updates, at the origin last; or has those back that ran.
async fn commit(
    shared: &Shared,
    old: Option<&Arc<Rollout>>,
    (new, out): (&Rollout, &BTreeSet<usize>),
    mut updates: Spread,
    found: &Found,
) -> Result<Mark, Status> {
    let loaded = shared.state().stale.last();
    let mut answers = vec![];
    let mut ended = Ok(());
    for last in [false, true] {
        // If no program ran, the order of commits does not matter.
        let is_now =
            |device: &usize| !out.contains(device) && last == (old.is_some() && *device == new.origin);
        let devices = new.parts().map(|(device, _)| device).filter(is_now);
        let ask = |device| (device, Ask::Commit(updates.remove(&device).unwrap_or_default()));
        let answered = shared.ask_all(devices.map(ask).collect()).await;
        ended = all_done(new, answered.clone());
        answers.extend(answered);
        if ended.is_err() {
            break;
        }
    }
    let (Err(cause), Some(old)) = (&mut ended, old) else { return ended.map(|()| loaded) };
    for (device, answer) in answers {
        let is_old = matches!(answer, Answer::Refused(_)) && !is_unknown(&answer);
        if is_old || old.parts.get(device).is_none_or(Option::is_none) {
            continue;
        }
        if let Err(why) =
            repair::restore(shared, old, device, found.get(&device).cloned().unwrap_or_default()).await
        {
            cause.message += &format!("; and `{}` could not be rolled back: {why}", old.name(device));
        }
    }
    ended.map(|()| loaded)
}
