//! Repair of stale devices, and values that devices report.

use crate::ask::{Answer, Ask};
use crate::copied::{Totals, note_total};
use crate::desired::Plans;
use crate::edges;
use crate::gather::Gathered;
use crate::merge_calls;
use crate::part::{Part, Rollout};
use crate::spread::{Spread, spread, to_one};
use crate::stale::{Mark, Stale};
use crate::task::Shared;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CounterEntry, DirectCounterEntry, Entity, RegisterEntry, TableEntry, Update, entity::Entity as Kind,
    update::Type,
};
use p4runtime_server::{Prepared, SLICE, Status};
use p4runtime_store::making;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most updates of one write.
const MOST_AT_ONCE: usize = 20_000;

/// Reason in an unexpected answer.
pub(crate) fn reason(answer: &Answer) -> String {
    match answer {
        Answer::Done | Answer::Found(_) | Answer::Ports(_) | Answer::Traced(_) | Answer::Holds(_) => {
            "an answer to something else".to_string()
        }
        Answer::Refused(status) => status.message.clone(),
        Answer::Lost => "it does not answer".to_string(),
    }
}

/// True if the device's state after this answer is unknown.
pub(crate) fn is_unknown(answer: &Answer) -> bool {
    match answer {
        Answer::Done | Answer::Found(_) | Answer::Ports(_) | Answer::Traced(_) | Answer::Holds(_) => false,
        // The device could not roll back.
        Answer::Refused(status) => {
            let internal = Code::Internal as i32;
            status.code == Code::Internal
                || status.details.iter().any(|error| error.canonical_code == internal)
        }
        Answer::Lost => true,
    }
}

/// Entities that each device reported.
pub(crate) type Found = BTreeMap<usize, Vec<Entity>>;

/// Reads values from all devices concerned by the queries, but for those `left_out`, into the desired state. Counts of merged
/// objects that `silent` devices have not said are lost.
pub(crate) async fn gather(
    shared: &Shared,
    rollout: &Rollout,
    queries: Vec<Entity>,
    left_out: &BTreeSet<usize>,
    silent: &BTreeSet<usize>,
) -> Result<Found, Status> {
    let merged = rollout.merged_in(&queries);
    if !merged.is_empty() {
        merge_calls::collect(shared, rollout, silent).await?;
    }
    let mut by_device: BTreeMap<usize, Vec<Entity>> = BTreeMap::new();
    for query in queries {
        // The counts of all devices are known for a merged object.
        if rollout.is_merged(&query) {
            continue;
        }
        for device in rollout.holders(&query).into_iter().filter(|device| !left_out.contains(device)) {
            by_device.entry(device).or_default().push(query.clone());
        }
    }
    let (mut found, mut gathered) = (Found::new(), BTreeMap::new());
    while !by_device.is_empty() {
        let mut asks = vec![];
        by_device.retain(|device, queries| {
            let rest = queries.split_off(queries.len().min(SLICE));
            asks.push((*device, Ask::Read(std::mem::replace(queries, rest))));
            !queries.is_empty()
        });
        for (device, answer) in shared.ask_all(asks).await {
            let Answer::Found(entities) = answer else {
                let why = format!("device `{}` cannot be read: {}", rollout.name(device), reason(&answer));
                return Err(Status::new(Code::Unavailable, why));
            };
            if let Some(desired) = shared.state().server.target() {
                let known: &mut Gathered = gathered.entry(device).or_default();
                known.prefer(Gathered::of(&desired.catalog, entities.clone()));
            }
            found.entry(device).or_default().extend(entities);
        }
    }
    if let Some(desired) = shared.state().server.target() {
        desired.gathered = Gathered::default();
        gathered.into_values().for_each(|one| desired.gathered.add(one, |id| rollout.merge_of(id)));
    }
    merged.into_iter().for_each(|id| shared.state().know_merged(id));
    Ok(found)
}

/// The queries for all that data planes write and control planes can write too, but for the memories of externs: the timers of one that has
/// moved would run before the origin knows the new plan, and frames that it emits would be lost.
pub(crate) fn everything() -> Vec<Entity> {
    let defaults = TableEntry { is_default_action: true, ..TableEntry::default() };
    let kinds = [
        Kind::CounterEntry(CounterEntry::default()),
        Kind::DirectCounterEntry(DirectCounterEntry::default()),
        Kind::DirectCounterEntry(DirectCounterEntry { table_entry: Some(defaults), data: None }),
        Kind::RegisterEntry(RegisterEntry::default()),
    ];
    kinds.into_iter().map(|kind| Entity { entity: Some(kind) }).collect()
}

/// Desired contents of every device, as its part of the prepared contents of the rack. Written cells of merged registers come to `totals`.
pub(crate) async fn contents(
    shared: &Shared,
    rollout: &Rollout,
    (prepared, totals): (&Prepared<Plans>, &mut Totals),
) -> Result<Spread, Status> {
    let mut out = beginnings(shared, rollout);
    edges::first(rollout, shared.state().seconds(), &mut out);
    let mut written = prepared.written();
    while !written.is_over() {
        prepared.read_on(&mut written, &mut |entity| {
            note_total(rollout, prepared.target(), &entity, totals);
            spread(rollout, &prepared.target().marked(&making_one(entity)), &mut out);
        })?;
        if !written.is_over() {
            shared.pause().await;
        }
    }
    Ok(out)
}

/// Desired contents of one device, with values of its own data plane.
fn contents_of(shared: &Shared, rollout: &Rollout, device: usize, own: Own) -> Result<Vec<Update>, Status> {
    if let Some(desired) = shared.state().server.target() {
        desired.gathered = Gathered::of(&desired.catalog, own.now);
        desired.gathered.prefer(Gathered::of(&desired.catalog, own.before));
    }
    let written = shared.state().server.written()?;
    let mut out = beginnings(shared, rollout).remove(&device).unwrap_or_default();
    {
        let mut state = shared.state();
        let seconds = state.seconds();
        out.extend(state.edges.begin(device, seconds));
    }
    out.extend(parts_of(shared, rollout, device, written));
    Ok(out)
}

/// Desired entities of one device, without values of data planes.
pub(crate) fn wanted_of(shared: &Shared, rollout: &Rollout, device: usize) -> Result<Vec<Entity>, Status> {
    let written = shared.state().server.written()?;
    let thresholds = shared.state().edges.thresholds();
    let part = rollout.parts.get(device).and_then(Option::as_ref);
    let linkage = part.map_or(vec![], |part| part.linkage_with(thresholds.as_ref()));
    let own = parts_of(shared, rollout, device, written);
    Ok(linkage.into_iter().chain(own).filter_map(|update| update.entity).collect())
}

/// The updates that make a device's parts of entities.
fn parts_of(shared: &Shared, rollout: &Rollout, device: usize, written: Vec<Entity>) -> Vec<Update> {
    let mut state = shared.state();
    let Some(desired) = state.server.target() else { return vec![] };
    let updates = written.into_iter().map(making_one);
    updates.filter_map(|update| to_one(rollout, device, &desired.marked(&update))).collect()
}

/// Values that a device's data plane has written.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// As it was read last.
    pub(crate) now: Vec<Entity>,
    /// Before something was tried that may have changed it: this counts more.
    pub(crate) before: Vec<Entity>,
}

/// The update that creates an entity.
fn making_one(entity: Entity) -> Update {
    Update { r#type: making(&entity) as i32, entity: Some(entity) }
}

/// The linkage, and deletions of the program's own entries that control planes may have changed: the remaining ones are
/// written again.
fn beginnings(shared: &Shared, rollout: &Rollout) -> Spread {
    let thresholds = shared.state().edges.thresholds();
    let linkage = |(device, part): (usize, &Part)| (device, part.linkage_with(thresholds.as_ref()));
    let mut out: Spread = rollout.parts().map(linkage).collect();
    for update in &rollout.initial {
        let Some(Kind::TableEntry(e)) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else {
            continue;
        };
        if !e.is_const && !e.is_default_action {
            spread(rollout, &Update { r#type: Type::Delete as i32, ..update.clone() }, &mut out);
        }
    }
    out
}

/// Saves programs on devices, with their desired entities; nothing runs yet.
pub(crate) async fn load(shared: &Shared, rollout: &Rollout, mut contents: Spread) -> Result<(), Status> {
    let config = |part: &Part| Ask::Save(Box::new(part.config.clone()));
    let parts = rollout.parts().filter(|(device, _)| contents.contains_key(device));
    let asks = parts.map(|(device, part)| (device, config(part))).collect();
    all_done(rollout, shared.ask_all(asks).await)?;
    load_some(shared, rollout, &mut contents).await?;
    let asks = contents.into_iter().map(|(device, list)| (device, Ask::Load(list))).collect();
    all_done(rollout, shared.ask_all(asks).await)
}

/// Writes to saved programs, until the rest for each device fits one write.
pub(crate) async fn load_some(
    shared: &Shared,
    rollout: &Rollout,
    contents: &mut Spread,
) -> Result<(), Status> {
    loop {
        let mut asks = vec![];
        for (device, list) in contents.iter_mut().filter(|(_, list)| list.len() > MOST_AT_ONCE) {
            let rest = list.split_off(MOST_AT_ONCE);
            asks.push((*device, Ask::Load(std::mem::replace(list, rest))));
        }
        if asks.is_empty() {
            return Ok(());
        }
        all_done(rollout, shared.ask_all(asks).await)?;
    }
}

/// Error if any device did not carry out its request.
pub(crate) fn all_done(rollout: &Rollout, answers: Vec<(usize, Answer)>) -> Result<(), Status> {
    for (device, answer) in answers {
        let code = match &answer {
            Answer::Done => continue,
            Answer::Refused(status) => status.code,
            _ => Code::Unavailable,
        };
        let why = format!("device `{}` could not: {}", rollout.name(device), reason(&answer));
        return Err(Status::new(code, why));
    }
    Ok(())
}

/// Brings a stale device to the desired state, whatever its state is. Of its counts, those known from before it became
/// stale replace those that can be read. Its data plane changes once; counts made during the repair are lost. If it
/// cannot be repaired, it stays stale and is tried again later. No other task may have a request in progress there.
pub(crate) async fn repair_stale(shared: &Shared, device: usize) -> Result<(), Status> {
    let stale = shared.state().stale.get(device).cloned();
    // Another task may have brought it back.
    let Some(Stale { before, .. }) = stale else { return Ok(()) };
    let rollout = shared.state().rollout();
    let Some(rollout) = rollout.filter(|rollout| rollout.parts.get(device).is_some_and(Option::is_some))
    else {
        // Nothing is wanted of it.
        let mut state = shared.state();
        state.stale.forget(device);
        let state = &mut *state;
        state.woken.append(&mut state.until_right);
        return Ok(());
    };
    let mut now = None;
    let attempt = async || {
        // A device that was set already has lost its counts.
        if now.is_none() {
            now = match shared.ask(device, Ask::Read(everything())).await {
                Answer::Found(entities) => {
                    merge_calls::hear_out(shared, device).await;
                    Some(entities)
                }
                // It runs nothing.
                Answer::Refused(status) if status.code == Code::FailedPrecondition => Some(vec![]),
                other => return Err(Status::new(Code::Unavailable, reason(&other))),
            };
        }
        let own = Own { now: now.clone().unwrap_or_default(), before: before.clone() };
        set(shared, &rollout, device, own).await
    };
    let ended = shared.insist(attempt).await;
    note(shared, device, ended, vec![])
}

/// Brings a device back to the desired state after it may have got another one, with its counts from before.
pub(crate) async fn restore(
    shared: &Shared,
    rollout: &Arc<Rollout>,
    device: usize,
    before: Vec<Entity>,
) -> Result<(), Status> {
    let own = Own { now: vec![], before };
    let ended = shared.insist(async || set(shared, rollout, device, own.clone()).await).await;
    note(shared, device, ended, own.before)
}

/// How an attempt to bring a device to the desired state has ended: with the last mark before its commit, or with an error.
fn note(
    shared: &Shared,
    device: usize,
    ended: Result<Mark, Status>,
    before: Vec<Entity>,
) -> Result<(), Status> {
    let mut state = shared.state();
    match &ended {
        Ok(loaded) => state.is_right(device, *loaded),
        Err(why) => state.stale(device, &why.message, before),
    }
    ended.map(drop)
}

/// Gives a device its program and desired entities, and runs it. Returns the last mark before its commit: a device that restarts before that refuses to
/// commit.
async fn set(shared: &Shared, rollout: &Arc<Rollout>, device: usize, own: Own) -> Result<Mark, Status> {
    let contents = contents_of(shared, rollout, device, own)?;
    load(shared, rollout, [(device, contents)].into()).await?;
    let loaded = shared.state().stale.last();
    let committed = shared.ask(device, Ask::Commit(vec![])).await;
    // Even if its answer is lost.
    shared.state().merged.restarted(device);
    all_done(rollout, vec![(device, committed)])?;
    if device == rollout.origin {
        let ask = if shared.state().stopped { Ask::Hold(None) } else { Ask::Release };
        all_done(rollout, vec![(device, shared.ask(device, ask).await)])?;
    }
    Ok(loaded)
}
