//! A controller that starts while devices already run its program: their entities become the desired state.
//!
//! ```text
//! every device   what runs, and what it holds
//! none runs anything                   the program and the rack's own entries, as at a first start
//! all that run anything run ours       the desired state is what they hold, together; they go on as they are
//! one runs something else              refused: its entries would be gone
//! ```
//!
//! A device that is out of use at all edges to it may lack writes ([`crate::write`]): only its counts are taken, and it is repaired.
//!
//! The controller recognises its program by the cookie, a hash of the whole program's text. Devices that run nothing,
//! or the program by another plan, get it again, with the entities of all devices.
//!
//! If the desired state was saved, it prevails over the devices' state: superfluous entries are deleted, missing ones are written, and a
//! device that runs another program gets this one. Only the counts of data planes are taken from the devices.

use crate::ask::{Answer, Ask, Holdings, Kinds};
use crate::config::exchange;
use crate::copied::entities_of;
use crate::desired::Plans;
use crate::edges::left_out;
use crate::holdings::{counts, difference, is_counted, merge, written};
use crate::merge_rows::Stored;
use crate::numbers::Numbered;
use crate::part::{Part, Rollout};
use crate::repair::{reason, wanted_of};
use crate::stale::Mark;
use crate::task::Shared;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, ForwardingPipelineConfig, Update, entity::Entity as Kind};
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_server::{Prepared, Status};
use p4runtime_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Starts with a program, or continues with the known one; `updates` are the rack's own entries, for devices that run
/// nothing yet.
pub(crate) async fn adopt(
    shared: &Shared,
    config: Option<ForwardingPipelineConfig>,
    updates: &[Update],
) -> Result<(), Status> {
    let goes_on = config.is_none();
    let mut prepared = match config {
        Some(config) => shared.state().server.prepare(config)?,
        None => shared.state().server.prepare_empty()?,
    };
    let rollout = Arc::clone(&prepared.target().rollout);
    let asked = shared.state().stale.last();
    let held = holdings(shared, &rollout).await?;
    let runs = |(_, held): &(&usize, &Holdings)| held.config.is_some();
    if !held.iter().any(|one| runs(&one)) {
        return match goes_on {
            // All devices have restarted: restore their entities.
            true => {
                let prepared = shared.state().server.prepare_again(false)?;
                exchange(shared, prepared).await
            }
            false => {
                prepared.fill(updates)?;
                exchange(shared, prepared).await
            }
        };
    }
    for (device, held) in held.iter().filter(|one| runs(one)) {
        if !runs_ours(&rollout, *device, held) {
            let why = format!(
                "device `{}` runs another program, with {} entries that would be erased; `--fresh` erases them",
                rollout.name(*device),
                written(held)
            );
            return Err(Status::new(Code::FailedPrecondition, why));
        }
    }
    let mut trusted = held.clone();
    for device in left_out(&rollout.edges, &held) {
        if let Some(held) = trusted.get_mut(&device) {
            held.entities.retain(is_counted);
        }
    }
    let entities = merge(&Store::new(Arc::clone(&rollout.plain)), &rollout, &trusted);
    if entities.iter().any(|entity| prepared.says_strings(entity)) {
        let why = format!(
            "the devices hold {} entities, some with values that stand for strings (`@p4runtime_translation`): only \
             the previous controller knew the strings; `--fresh` erases the entities",
            entities.len()
        );
        return Err(Status::new(Code::FailedPrecondition, why));
    }
    prepared.adopt(entities)?;
    // Devices that run no program have empty tables. The others have those of the rack's own entries that no controller deleted.
    let is_new = |device: &usize| held.get(device).is_none_or(|held| held.config.is_none());
    let is_missing = |update: &&Update| {
        let holders = update.entity.as_ref().map(|entity| rollout.holders(entity)).unwrap_or_default();
        !holders.is_empty() && holders.iter().all(is_new)
    };
    prepared.fill(&updates.iter().filter(is_missing).cloned().collect::<Vec<_>>())?;
    take_over(shared, prepared, (asked, &held), None).await
}

/// True if a device runs its part of the program, by this plan or another.
fn runs_ours(rollout: &Rollout, device: usize, held: &Holdings) -> bool {
    let ours = rollout.parts.get(device).and_then(Option::as_ref).and_then(|part| part.config.cookie);
    held.config.as_ref().is_some_and(|config| config.cookie == ours)
}

/// True if a device runs its part by this plan.
fn runs_part(held: &BTreeMap<usize, Holdings>, (device, part): (usize, &Part)) -> bool {
    let config = held.get(&device).and_then(|held| held.config.as_ref());
    config.is_some_and(|config| config.p4_device_config == part.config.p4_device_config)
}

/// Continues from a saved state, but for the entries of these tables, which are those that devices hold.
pub(crate) async fn resume(
    shared: &Shared,
    state: SavedState,
    of_devices: &BTreeSet<u32>,
) -> Result<(), Status> {
    let mut prepared = shared.state().server.prepare(state.config.unwrap_or_default())?;
    let rollout = Arc::clone(&prepared.target().rollout);
    let asked = shared.state().stale.last();
    let mut held = holdings(shared, &rollout).await?;
    // Counts of another program's data planes have another meaning.
    held.retain(|device, held| runs_ours(&rollout, *device, held));
    let has_counted = |entity: &Entity| {
        is_counted(entity) && rollout.holders(entity).iter().any(|device| held.contains_key(device))
    };
    let stored = Stored::of(&state.merged);
    let is_stored = |entity: &Entity| !stored.is_empty() && rollout.is_merged(entity);
    // A device that gets another part loses what it holds.
    let stays = rollout.parts().all(|part| runs_part(&held, part));
    let is_of_devices = |entity: &Entity| match &entity.entity {
        Some(Kind::TableEntry(e)) => stays && of_devices.contains(&e.table_id),
        _ => false,
    };
    let is_kept = |entity: &Entity| !has_counted(entity) && !is_stored(entity) && !is_of_devices(entity);
    let mut kept: Vec<Entity> = state.entities.into_iter().filter(is_kept).collect();
    let merged = merge(&Store::new(Arc::clone(&rollout.plain)), &rollout, &held);
    let there: Vec<&Entity> = merged.iter().filter(|entity| is_of_devices(entity)).collect();
    // Only the earlier process knew which strings its numbers stood for. A part of them would have keys without copies.
    if !there.iter().any(|entity| prepared.says_strings(entity)) {
        kept.extend(there.into_iter().cloned());
    }
    let counted = merged.into_iter().filter_map(counts).filter(|entity| !is_stored(entity));
    let totals = entities_of(&rollout, &stored.totals(&rollout)).into_iter().chain(stored.counts(&rollout));
    let desired = prepared.target_mut();
    let key = |numbered: Numbered| {
        Some((numbered.table, desired.catalog.entry_key(&numbered.entry).ok()?, numbered.number))
    };
    let known: Vec<_> = stored.entries().into_iter().filter_map(key).collect();
    desired.numbers.expect(known.into_iter());
    prepared.resume(kept, counted.chain(totals).collect())?;
    prepared.target_mut().numbers.expect_none();
    take_over(shared, prepared, (asked, &held), Some(stored)).await
}

/// Runs a program that devices may run already, with its entities. Devices with merged copies restart, unless their earlier
/// messages are `stored`: without these, their own counts cannot be distinguished from merged ones. `asked` is the last mark before the devices were asked
/// for what they hold: a device that has been marked since may have lost it.
async fn take_over(
    shared: &Shared,
    prepared: Prepared<Plans>,
    (asked, held): (Mark, &BTreeMap<usize, Holdings>),
    stored: Option<Stored>,
) -> Result<(), Status> {
    let rollout = Arc::clone(&prepared.target().rollout);
    let stored = stored.filter(|stored| !stored.is_empty() && stored.fits(&rollout)).unwrap_or_default();
    // Without the stored messages the own counts of a device cannot be distinguished from merged ones: it restarts.
    let merges_anew = stored.is_empty() && rollout.merged().next().is_some();
    if merges_anew || !rollout.parts().all(|part| runs_part(held, part)) {
        return exchange(shared, prepared).await;
    }
    {
        let mut state = shared.state();
        let entries = prepared.target().numbered();
        state.server.install(prepared);
        state.edges.adopt(&rollout.edges);
        let (span, at) = (state.timing.merge, state.merge_time());
        state.merged.resume(&rollout, (&stored, entries), span, at);
        state.all_are_right(asked);
    }
    for (device, held) in held {
        audit_one(shared, &rollout, *device, held)?;
    }
    Ok(())
}

/// Compares a device's entities with the desired ones; a device that differs is marked stale, and repaired.
pub(crate) async fn audit(shared: &Shared, device: usize) -> Result<(), Status> {
    let Some(rollout) = shared.state().rollout() else { return Ok(()) };
    if rollout.parts.get(device).is_none_or(Option::is_none) || shared.state().stale.contains(device) {
        return Ok(());
    }
    match shared.ask(device, Ask::Holdings(Kinds::Written)).await {
        Answer::Holds(held) => audit_one(shared, &rollout, device, &held),
        // The lack of an answer is handled by the caller.
        _ => Ok(()),
    }
}

fn audit_one(shared: &Shared, rollout: &Arc<Rollout>, device: usize, held: &Holdings) -> Result<(), Status> {
    let Some(part) = rollout.parts.get(device).and_then(Option::as_ref) else { return Ok(()) };
    let wanted: Vec<Entity> = wanted_of(shared, rollout, device)?;
    match difference(part, wanted, held) {
        Some(why) => {
            let why = format!("its entries differ from the desired state: {why}");
            shared.state().stale(device, &why, vec![]);
        }
        None => {
            let mut state = shared.state();
            // It may be stale for another reason than its entries.
            if !state.stale.contains(device) {
                let now = state.stale.last();
                state.is_right(device, now);
            }
        }
    }
    Ok(())
}

async fn holdings(shared: &Shared, rollout: &Rollout) -> Result<BTreeMap<usize, Holdings>, Status> {
    let asks = rollout.parts().map(|(device, _)| (device, Ask::Holdings(Kinds::All))).collect();
    let mut all = BTreeMap::new();
    for (device, answer) in shared.ask_all(asks).await {
        match answer {
            Answer::Holds(held) => drop(all.insert(device, *held)),
            other => {
                let code = match &other {
                    Answer::Refused(status) => status.code,
                    _ => Code::Unavailable,
                };
                let why = format!(
                    "the content of device `{}` cannot be read and stays unchanged: {}; `--fresh` erases it",
                    rollout.name(device),
                    reason(&other)
                );
                return Err(Status::new(code, why));
            }
        }
    }
    Ok(all)
}
