//! The RPC `Write` over all devices: desired state first, then the devices, and back if one of them refuses.
//!
//! A device that is out at all edges to it ([`crate::edges`]) processes no packet, so a write need not reach it: it is left out if it is stale, and marked stale if it does
//! not answer. It gets the write when it is repaired, before it is used again.
//!
//! A write may also go forward ([`Call::Enforce`](crate::Call::Enforce)): once a device has done it, or may have, the desired state stays as it is, and the
//! devices that lack the write get it by their repair.

use crate::ask::{Answer, Ask};
use crate::copied::{Totals, cells_of};
use crate::desired::{self, Plans};
use crate::edges::Edges;
use crate::merge_calls;
use crate::numbers::Numbered;
use crate::order::Steps;
use crate::part::Rollout;
use crate::repair::{self, Found, is_unknown, reason};
use crate::spread::{Spread, spread};
use crate::task::Shared;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    Entity, TableEntry, Update, WriteRequest, entity::Entity as Kind, update::Type,
};
use p4runtime_server::{Outcomes, SLICE, Server, Status};
use p4runtime_store::{Change, Fault};
use state_journal::Notes;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) async fn write(shared: &Shared, request: WriteRequest) -> Result<(), Status> {
    shared.state().server.may_write(&request)?;
    operate(shared, request).await
}

/// [`write`] by an operator, who needs no election id.
pub(crate) async fn operate(shared: &Shared, request: WriteRequest) -> Result<(), Status> {
    shared.state().server.may_operate(&request)?;
    write_all(shared, request, false).await
}

/// [`operate`], but no packet finds the state before the write after the state with it: see [`Call::Enforce`](crate::Call::Enforce).
pub(crate) async fn enforce(shared: &Shared, request: WriteRequest) -> Result<(), Status> {
    shared.state().server.may_operate(&request)?;
    write_all(shared, request, true).await
}

async fn write_all(shared: &Shared, request: WriteRequest, goes_forward: bool) -> Result<(), Status> {
    let updates = shared.state().server.lower(&request.updates);
    let mut late = BTreeSet::new();
    let ended = try_all(shared, &request, &updates, (goes_forward, &mut late)).await;
    shared.discard(updates).await;
    shared.discard(request.updates).await;
    if !late.is_empty() {
        shared.until_right(&late).await;
    }
    ended
}

/// Devices that have the write only once they are repaired come to `late`.
async fn try_all(
    shared: &Shared,
    request: &WriteRequest,
    updates: &[Lowered<'_>],
    (goes_forward, late): (bool, &mut BTreeSet<usize>),
) -> Result<(), Status> {
    let atomicity = request.atomicity();
    let at_once = atomicity == Atomicity::DataplaneAtomic;
    let terms = Terms {
        role: &request.role,
        all_or_nothing: atomicity != Atomicity::ContinueOnError,
        at_once,
        // Frames that are kept out see nothing of what is rolled back.
        goes_forward: goes_forward && !at_once,
    };
    match transact(shared, updates, terms, late).await? {
        Ended::Done(outcomes) => outcomes.status(),
        Ended::Refused { outcomes } if terms.all_or_nothing || request.updates.len() == 1 => {
            outcomes.status()
        }
        // Some updates may succeed; only trying each one shows which.
        Ended::Refused { .. } => {
            let mut all = Outcomes::default();
            for update in updates {
                match transact(shared, std::slice::from_ref(update), terms, late).await {
                    Ok(Ended::Done(outcomes) | Ended::Refused { outcomes }) => all.append(outcomes),
                    // Earlier updates stay done.
                    Err(status) => all.note::<()>(Err(Box::new(unable(status)))),
                }
            }
            all.status()
        }
    }
}

/// Applies updates without a client, with numbers instead of strings, all or none.
pub(crate) async fn fill(shared: &Shared, updates: &[Update]) -> Result<(), Status> {
    let terms = Terms { role: "", all_or_nothing: true, at_once: false, goes_forward: false };
    shared.state().server.note(updates);
    let updates: Vec<_> = updates.iter().map(|update| Ok(Cow::Borrowed(update))).collect();
    match transact(shared, &updates, terms, &mut BTreeSet::new()).await? {
        Ended::Done(outcomes) | Ended::Refused { outcomes } => outcomes.status(),
    }
}

/// Sender and atomicity of a batch.
#[derive(Clone, Copy)]
struct Terms<'r> {
    role: &'r str,
    all_or_nothing: bool,
    /// No packet sees a part of the batch.
    at_once: bool,
    /// Nothing that a packet may have seen is undone.
    goes_forward: bool,
}

enum Ended {
    /// As far as the desired state allows it.
    Done(Outcomes),
    /// A device could not: nothing is done.
    Refused { outcomes: Outcomes },
}

/// An update in numbers, or why it has none.
type Lowered<'u> = p4runtime_store::Result<Cow<'u, Update>>;

fn known<'l>(updates: &'l [Lowered<'_>]) -> impl Iterator<Item = &'l Update> {
    updates.iter().filter_map(|update| update.as_deref().ok())
}

/// Updates to do, and their inverses.
#[derive(Default)]
struct Batch {
    outcomes: Outcomes,
    /// Changes of the desired state.
    undo: Vec<Change>,
    steps: Steps,
    /// Values for merged objects: no device refuses them, so they come last.
    merged: Totals,
    /// Inserted entries that have numbers.
    begun: Vec<Numbered>,
    /// Tables and numbers of deleted entries.
    ended: Vec<(u32, u64)>,
}

/// A step of a batch, a device, and what it has answered.
type Answered = (usize, usize, Answer);

/// Does updates, in numbers; those that have none are refused.
async fn transact(
    shared: &Shared,
    updates: &[Lowered<'_>],
    terms: Terms<'_>,
    late: &mut BTreeSet<usize>,
) -> Result<Ended, Status> {
    // Written to a saved program, which no device has yet.
    let running = if shared.state().server.is_saved() { None } else { shared.state().rollout() };
    let (mut before, mut absent) = (Found::new(), BTreeSet::new());
    if let Some(rollout) = &running {
        absent = within_reach(shared, rollout, updates)?;
        let queries = needed(shared, updates).await;
        before = repair::gather(shared, rollout, queries, &absent, &BTreeSet::new()).await?;
    }
    let mut batch = desire(shared, running.as_ref(), updates, terms).await?;
    batch.steps.leave_out(&absent);
    let merged = std::mem::take(&mut batch.merged);
    let (inserted, deleted) = (std::mem::take(&mut batch.begun), batch.ended.clone());
    let ended = transfer(shared, running.as_ref(), (batch, before), terms, (updates.len(), late)).await;
    {
        let mut state = shared.state();
        // Whatever has not been done is undone.
        let gone: BTreeSet<(u32, u64)> = match &ended {
            Ok(Ended::Done(_)) => deleted.into_iter().collect(),
            _ => inserted.iter().map(|one| (one.table, one.number)).collect(),
        };
        gone.iter().for_each(|(table, number)| state.merged.end_entry(*table, *number));
        if let Some(desired) = state.server.target().filter(|_| !gone.is_empty()) {
            desired.numbers.are_gone(&gone);
        }
    }
    let ended = ended?;
    if let (Ended::Done(_), false, Some(rollout)) = (&ended, merged.is_empty(), &running) {
        merge_calls::write(shared, rollout, merged).await?;
    }
    Ok(ended)
}

/// Has devices do what a batch says, or none of it.
async fn transfer(
    shared: &Shared,
    running: Option<&Arc<Rollout>>,
    (mut batch, before): (Batch, Found),
    terms: Terms<'_>,
    (updates, late): (usize, &mut BTreeSet<usize>),
) -> Result<Ended, Status> {
    if batch.steps.is_empty() {
        return Ok(Ended::Done(batch.outcomes));
    }
    let origin = running.map(|rollout| rollout.origin);
    // One device does few updates at once.
    let holds = terms.at_once && batch.steps.is_longer_than(SLICE);
    if let (true, Some(origin)) = (holds, origin)
        && let Err(status) = shared.hold(origin).await
    {
        shared.release(origin).await;
        undo(shared, batch.undo).await?;
        return Err(status);
    }
    if terms.at_once {
        // No device has a part that the next controller would undo.
        shared.until_stored().await;
    }
    let (mut answers, mut before): (Vec<Answered>, _) = (vec![], before);
    let mut behind =
        terms.goes_forward.then(|| Behind { devices: BTreeSet::new(), values: batch.steps.values() });
    for step in 0..batch.steps.len() {
        let asks = batch.steps.take_forth(step).into_iter();
        let asks = asks.map(|(device, updates)| (device, Ask::Write(updates)));
        let mut answered = shared.ask_all(asks.collect()).await;
        for (device, answer) in answered.iter_mut().filter(|(_, answer)| *answer == Answer::Lost) {
            let mut state = shared.state();
            if state.edges.is_out(*device) {
                state.stale(*device, "it does not answer", before.remove(device).unwrap_or_default());
                *answer = Answer::Done;
                batch.steps.leave_out(&[*device].into());
            }
        }
        let mut is_possible = true;
        if let Some(behind) = &mut behind {
            is_possible = catch_up(shared, (&mut batch.steps, step), (&answers, &mut answered), behind).await;
        }
        let goes_on = answered.iter().all(|(_, answer)| *answer == Answer::Done);
        answers.extend(answered.into_iter().map(|(device, answer)| (step, device, answer)));
        if let (false, Some(behind)) = (is_possible, &behind) {
            // Whichever of them has the write loses it.
            for device in &behind.devices {
                answers.push((step, *device, Answer::Lost));
                let mut state = shared.state();
                state.stale.forget(*device);
                state.stale(*device, "a write is rolled back", before.remove(device).unwrap_or_default());
            }
        }
        if !goes_on {
            break;
        }
    }
    let mut all_done = answers.iter().all(|(.., answer)| *answer == Answer::Done);
    if let (true, true, Some(origin)) = (all_done, holds, origin)
        && !shared.is_held(origin).await
    {
        // Packets may have seen some of it.
        all_done = false;
        let why = "the device lost its controller: frames were admitted before all devices were done";
        answers.push((usize::MAX, origin, Answer::Refused(Status::new(Code::Aborted, why))));
    }
    let mut spent = (vec![], Steps::default());
    let ended = match all_done {
        true => {
            let behind = behind.into_iter().flat_map(|behind| behind.devices);
            late.extend(behind.filter(|device| shared.state().stale.contains(*device)));
            spent = (batch.undo, batch.steps);
            Ok(Ended::Done(batch.outcomes))
        }
        false => roll_back(shared, running, batch, before, answers, updates).await,
    };
    if let (true, Some(origin)) = (holds, origin) {
        // A write that was rolled back does not come again.
        shared.until_stored().await;
        shared.release(origin).await;
    }
    shared.discard(spent.0).await;
    for list in spent.1.into_back() {
        shared.discard(list).await;
    }
    ended
}

/// Refuses writes that concern a stale device, unless it is out of use: it gets the desired state when it is repaired. Returns the devices that the write leaves out.
pub(crate) fn within_reach(
    shared: &Shared,
    rollout: &Rollout,
    updates: &[Lowered<'_>],
) -> Result<BTreeSet<usize>, Status> {
    let state = shared.state();
    let entities = || known(updates).filter_map(|update| update.entity.as_ref());
    let touched = |device: usize| entities().any(|entity| rollout.holders(entity).contains(&device));
    // A value that is a sum of all devices' may have to be written to the device that is out of use.
    let may_wait = !entities().any(is_value);
    let stale: Vec<_> = state.stale.iter().filter(|(device, _)| touched(*device)).collect();
    match stale.iter().find(|(device, _)| !may_wait || !state.edges.is_out(*device)) {
        None => Ok(stale.iter().map(|(device, _)| *device).collect()),
        Some((device, stale)) => {
            let device = *device;
            let name = rollout.name(device);
            let why = format!("device `{name}` is out of sync and is being repaired: {}", stale.why);
            Err(Status::new(Code::Unavailable, why))
        }
    }
}

/// True for values that data planes write.
fn is_value(entity: &Entity) -> bool {
    let kind = entity.entity.as_ref();
    kind.is_some_and(|kind| {
        matches!(kind, Kind::CounterEntry(_) | Kind::DirectCounterEntry(_) | Kind::RegisterEntry(_))
    })
}

/// Entities to read before a write so that it can be rolled back.
async fn needed(shared: &Shared, updates: &[Lowered<'_>]) -> Vec<Entity> {
    let mut queries = vec![];
    for (slice, is_first) in slices(updates) {
        if !is_first {
            shared.pause().await;
        }
        let state = shared.state();
        let Some(store) = state.server.store() else { return vec![] };
        let changes = known(slice).filter(|update| update.r#type() != Type::Insert);
        let live = changes.filter_map(|update| Some((update, store.query(update)?)));
        let live = live.filter(|(update, query)| store.reads_live(query) && store.plan(update).is_ok());
        queries.extend(live.map(|(_, query)| query));
    }
    queries
}

/// Pieces that are done at a time, and whether each is the first.
fn slices<T>(all: &[T]) -> impl Iterator<Item = (&[T], bool)> {
    all.chunks(SLICE).zip(std::iter::once(true).chain(std::iter::repeat(false)))
}

/// Undoes changes of the desired state, the last first.
async fn undo(shared: &Shared, mut changes: Vec<Change>) -> Result<(), Status> {
    let mut aside = Notes::default();
    loop {
        let last = changes.split_off(changes.len().saturating_sub(SLICE));
        let undone = desired::undo(&mut shared.state().server, last);
        if undone.is_err() || changes.is_empty() {
            shared.state().server.give_back_notes(aside);
            return undone;
        }
        aside.follow(shared.state().server.take_notes());
        shared.pause().await;
    }
}

/// Does the updates to the desired state.
async fn desire(
    shared: &Shared,
    running: Option<&Arc<Rollout>>,
    updates: &[Lowered<'_>],
    terms: Terms<'_>,
) -> Result<Batch, Status> {
    let mut batch = Batch::default();
    let mut index = 0;
    // A part of a batch is not kept.
    let mut aside = Notes::default();
    for (slice, is_first) in slices(updates) {
        if !is_first {
            aside.follow(shared.state().server.take_notes());
            shared.pause().await;
        }
        // Reads of the former state go first.
        while !shared.state().make_way(known(slice)) {
            shared.pause().await;
        }
        let mut state = shared.state();
        let state = &mut *state;
        let (_, now) = state.merge_time();
        // Larger than the numbers that an earlier controller has used.
        state.server.builder().last_number.fetch_max(now, Ordering::Relaxed);
        for update in slice {
            if batch.outcomes.failed() && terms.all_or_nothing {
                batch.outcomes.not_tried();
                continue;
            }
            let begun = batch.begun.len();
            desire_one((&mut state.server, &state.edges), running, (update, index), terms, &mut batch);
            batch.begun.iter().skip(begun).for_each(|entry| state.merged.begin_entry(entry));
            index += 1;
        }
    }
    shared.state().server.give_back_notes(aside);
    if batch.outcomes.failed() && terms.all_or_nothing {
        undo(shared, std::mem::take(&mut batch.undo)).await?;
        batch.outcomes.rolled_back();
        batch.steps = Steps::default();
        batch.merged.clear();
        batch.ended.clear();
        let mut state = shared.state();
        std::mem::take(&mut batch.begun).iter().for_each(|one| state.merged.end_entry(one.table, one.number));
    }
    Ok(batch)
}

/// Does one update, in the order of the request, to the desired state.
fn desire_one(
    (server, edges): (&mut Server<Plans>, &Edges),
    running: Option<&Arc<Rollout>>,
    (update, index): (&Lowered<'_>, usize),
    terms: Terms<'_>,
    batch: &mut Batch,
) {
    let update = match update {
        Ok(update) => update,
        Err(fault) => return batch.outcomes.note::<()>(Err(fault.clone())),
    };
    let entry = running.and(update.entity.as_ref()).and_then(|entity| match &entity.entity {
        Some(Kind::TableEntry(entry)) => Some(entry),
        _ => None,
    });
    let number = |server: &mut Server<Plans>| server.target()?.number(entry?);
    let had = number(server);
    // Before the update, which replaces the old value.
    let back = server.undoing(update);
    let inverse = match server.update(terms.role, update) {
        Ok(inverse) => inverse,
        Err(fault) => return batch.outcomes.note::<()>(Err(fault)),
    };
    batch.undo.extend(inverse);
    batch.outcomes.note(Ok(()));
    let Some(rollout) = running else { return };
    match (update.r#type(), entry, number(server)) {
        (Type::Delete, Some(entry), _) => batch.ended.extend(had.map(|number| (entry.table_id, number))),
        (Type::Insert, Some(entry), Some(number)) => {
            let key = TableEntry {
                table_id: entry.table_id,
                r#match: entry.r#match.clone(),
                priority: entry.priority,
                ..TableEntry::default()
            };
            batch.begun.push(Numbered { table: entry.table_id, number, entry: key });
        }
        _ => {}
    }
    let (mut forth, mut undone) = (Spread::new(), Spread::new());
    let Some(desired) = server.target() else { return };
    let written = update.entity.iter().flat_map(|entity| cells_of(rollout, desired, entity));
    // An entry begins with zeros.
    batch.merged.extend(written.filter(|(_, value)| update.r#type() != Type::Insert || *value != 0));
    spread(rollout, &desired.marked(update), &mut forth);
    for update in back.unwrap_or_default() {
        spread(rollout, &desired.marked(&update), &mut undone);
    }
    // While packets are kept out, they see no order.
    let leading = if terms.at_once { None } else { rollout.edges_to(update) };
    batch.steps.add((index, update.r#type()), (forth, undone), leading.as_ref(), edges);
}

/// Devices that a write which goes forward brings to the desired state.
struct Behind {
    devices: BTreeSet<usize>,
    /// Values of the write, which the desired state lacks, for each device that is not behind.
    values: Found,
}

/// After a step of a write that goes forward: brings devices to the desired state that may lack what others have done, or may have. A device that does not
/// answer stays stale: it is repaired later. False if one refuses the desired state: it cannot have done the write, and never will.
async fn catch_up(
    shared: &Shared,
    (steps, step): (&mut Steps, usize),
    (answers, answered): (&[Answered], &mut [(usize, Answer)]),
    behind: &mut Behind,
) -> bool {
    let mut all = answers.iter().map(|(.., answer)| answer).chain(answered.iter().map(|(_, answer)| answer));
    let has_begun = all.any(|answer| *answer == Answer::Done || is_unknown(answer));
    let lacking: Vec<&(usize, Answer)> =
        answered.iter().filter(|(_, answer)| *answer != Answer::Done).collect();
    if !has_begun || lacking.is_empty() {
        return true;
    }
    for (device, answer) in &lacking {
        let why = format!("it may not have executed a write: {}", reason(answer));
        let values = behind.values.remove(device).unwrap_or_default();
        shared.state().stale(*device, &why, values);
    }
    let lacking: Vec<usize> = lacking.into_iter().map(|(device, _)| *device).collect();
    behind.devices.extend(&lacking);
    // Their repair brings later steps, too.
    steps.leave_out(&behind.devices);
    // Other tasks must not use these devices until they are repaired.
    shared.alone(&lacking).await;
    let mut is_possible = true;
    for device in &lacking {
        let repaired = repair::repair_stale(shared, *device).await;
        is_possible &= repaired.map_or_else(|status| status.is_unavailable(), |()| true);
    }
    if is_possible && step + 1 < steps.len() {
        until_out(shared, &lacking).await;
    }
    if is_possible {
        answered.iter_mut().for_each(|(_, answer)| *answer = Answer::Done);
    }
    is_possible
}

/// Waits until no sender uses devices that are still stale: packets that find the next step of the write must not come to one of them afterwards. A device
/// that remains in use, since no other one is there, is not waited for.
async fn until_out(shared: &Shared, devices: &[usize]) {
    /// Looks at senders until they know.
    const LOOKS: u32 = 10;
    let look = shared.state().timing.look;
    for _ in 0..LOOKS {
        let is_over = {
            let state = shared.state();
            devices.iter().all(|device| !state.stale.contains(*device) || state.edges.is_out(*device))
        };
        if is_over {
            return;
        }
        shared.sleep(look).await;
    }
}

/// Rolls back: a device failed, so undoes the writes of the others and of the desired state.
async fn roll_back(
    shared: &Shared,
    running: Option<&Arc<Rollout>>,
    mut batch: Batch,
    mut before: Found,
    answers: Vec<Answered>,
    updates: usize,
) -> Result<Ended, Status> {
    let Some(rollout) = running else { return Ok(Ended::Done(batch.outcomes)) };
    let mut outcomes = Outcomes::default();
    let (mut guilty, mut cause) = (0, None);
    let mut asks = Spread::new();
    // The step in which each device was asked.
    let mut unknown: Vec<(usize, usize)> = vec![];
    let mut steps = BTreeMap::new();
    for (step, device, answer) in answers.iter().filter(|(.., answer)| *answer != Answer::Done) {
        // A refusal has changed nothing on its device; without an answer, the device may or may not have executed the write.
        if is_unknown(answer) {
            unknown.push((*step, *device));
        }
        if cause.is_none() {
            guilty = batch.steps.place(*step, *device, first_error(answer)).unwrap_or(0);
            cause = Some(refusal(rollout.name(*device), answer));
        }
    }
    // Devices have executed all writes of these steps: undo them, the last one first.
    for (step, device, _) in answers.iter().rev().filter(|(.., answer)| *answer == Answer::Done) {
        let back = batch.steps.take_back(*step, *device);
        // A device that was left out has nothing to undo, and is not to be asked: it does not answer.
        if !back.is_empty() && !unknown.iter().any(|(_, known)| known == device) {
            steps.entry(*device).or_insert(*step);
            asks.entry(*device).or_default().extend(back.into_iter().rev());
        }
    }
    // The desired state comes first: a device that is repaired meanwhile then gets the state without the write.
    undo(shared, std::mem::take(&mut batch.undo)).await?;
    for (table, number) in std::mem::take(&mut batch.ended) {
        shared.state().merged.begin_entry_again(table, number);
    }
    let asks = asks.into_iter().map(|(device, updates)| (device, Ask::Write(updates)));
    let undone = shared.ask_all(asks.collect()).await;
    let failed = undone.into_iter().filter(|(_, answer)| *answer != Answer::Done);
    unknown.extend(failed.map(|(device, _)| (steps[&device], device)));
    // In the order of the write: a device in use after those that packets come to if it is left, as it is when it is repaired.
    unknown.sort();
    let unknown: Vec<usize> = unknown.into_iter().map(|(_, device)| device).collect();
    let mut cause = cause.unwrap_or_else(|| refusal("?", &Answer::Lost));
    for device in &unknown {
        let why = "it is not known whether the device has executed the write";
        shared.state().stale(*device, why, before.remove(device).unwrap_or_default());
    }
    // Other tasks must not use these devices until they are repaired.
    if !unknown.is_empty() {
        shared.alone(&unknown).await;
    }
    for device in unknown {
        if let Err(why) = repair::repair_stale(shared, device).await {
            cause.why += &format!("; and `{}` could not be rolled back: {why}", rollout.name(device));
        }
    }
    for index in 0..updates {
        // Only the update that the device refused fails by itself; all others are rolled back.
        match index == guilty {
            true => outcomes.note::<()>(Err(Box::new(cause.clone()))),
            false => outcomes.note(Ok(())),
        }
    }
    outcomes.rolled_back();
    Ok(Ended::Refused { outcomes })
}

/// The place of the update that a device has refused, among those it was asked for.
fn first_error(answer: &Answer) -> usize {
    let Answer::Refused(status) = answer else { return 0 };
    status.cause().map_or(0, |(at, _)| at)
}

fn unable(status: Status) -> Fault {
    let title = "this cannot be done now".to_string();
    Fault { code: status.code, title, why: status.message, help: None, owner: None, path: vec![] }
}

fn refusal(device: &str, answer: &Answer) -> Fault {
    let (code, why) = match answer {
        Answer::Refused(status) => {
            let detail = status.details.get(first_error(answer));
            match detail.and_then(|error| Code::try_from(error.canonical_code).ok()) {
                Some(code) if code != Code::Ok => {
                    (code, detail.map_or("", |e| e.message.as_str()).to_string())
                }
                _ => (status.code, status.message.clone()),
            }
        }
        other => (Code::Unavailable, reason(other)),
    };
    Fault { code, title: format!("device `{device}` could not"), why, help: None, owner: None, path: vec![] }
}
