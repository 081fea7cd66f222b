//! Tasks: the calls of the northbound side, and the controller's own work.

use crate::call::{Call, Output, Reply, Ticket};
use crate::claim::{Claim, Mode, Resource};
use crate::desired::Plans;
use crate::part::Rollout;
use crate::state::State;
use crate::task::{Shared, Task};
use crate::{adopt, config, repair, steer, trace, watch, write};
use base_time::Duration;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, ReadRequest};
use p4runtime_server::{LiveQueries, Pieces, Read, Reading, SLICE, Server, Status};
use p4runtime_store::Store;
use std::collections::BTreeSet;

/// A piece of work.
pub(crate) enum Work {
    /// A call.
    Call(Call),
    /// Brings a stale device back.
    Repair(usize),
    /// Compares a device's entities with the desired ones.
    Audit(usize),
    /// Reads the edges with spares of a device.
    Watch(usize),
    /// Lets a device use targets of its edges again.
    LetBack(usize),
}

impl Work {
    /// True for the same work of the controller's own at the same device.
    pub(crate) fn is_same(&self, other: &Work) -> bool {
        match (self, other) {
            (Work::Repair(one), Work::Repair(other))
            | (Work::Audit(one), Work::Audit(other))
            | (Work::Watch(one), Work::Watch(other))
            | (Work::LetBack(one), Work::LetBack(other)) => one == other,
            _ => false,
        }
    }

    /// Everything that it touches. Before it can be asked, no task that touches the whole rack may be left.
    pub(crate) fn claim(&self, state: &mut State) -> Claim {
        let call = match self {
            Work::Repair(device) | Work::Audit(device) => return Claim::device(*device),
            Work::Watch(device) => return Claim::user(*device),
            Work::LetBack(device) => {
                let targets = state.edges.returning(state.now).remove(device).unwrap_or_default();
                let mut claim = Claim::user(*device);
                targets.into_iter().for_each(|target| claim.add(Resource::Device(target), Mode::Alone));
                return claim;
            }
            Work::Call(call) => call,
        };
        let is_saved = state.server.is_saved();
        let rollout = state.rollout();
        // Writes to a saved program go to no device yet.
        let asked = rollout.as_deref().filter(|_| !is_saved);
        match call {
            Call::Write(request) => {
                let catalog = state.server.store().map(Store::catalog);
                let entry = catalog.zip(asked).and_then(|(of, rollout)| Claim::entry(request, of, rollout));
                entry.unwrap_or_else(|| Claim::write(request, catalog, asked))
            }
            // Flows that move write several entries of a table in an order of their own.
            Call::Operate(request) | Call::Enforce(request) => {
                Claim::write(request, state.server.store().map(Store::catalog), asked)
            }
            // It takes long to find the entities of many queries.
            Call::Read(request) if request.entities.len() > SLICE => Claim::look(asked),
            Call::Read(request) => Claim::read(request, &state.server.live_queries(request), asked),
            Call::ReadRunning(request) if request.entities.len() > SLICE => Claim::look(rollout.as_deref()),
            Call::ReadRunning(request) => {
                Claim::read(request, &state.server.live_queries(request), rollout.as_deref())
            }
            Call::Trace(_) | Call::Merge(..) => Claim::look(rollout.as_deref()),
            Call::Start(..) | Call::Adopt(..) | Call::Resume(..) | Call::SetConfig(_) | Call::Steer(..) => {
                Claim::rack()
            }
        }
    }

    /// The task that does it.
    pub(crate) fn begin(self, shared: Shared, ticket: Option<Ticket>) -> Task {
        Box::pin(async move {
            let reply = match self {
                Work::Call(Call::Start(config, updates)) => {
                    let ended = config::start(&shared, *config).await;
                    Reply::Done(match ended {
                        Ok(()) => write::fill(&shared, &updates).await,
                        Err(status) => Err(status),
                    })
                }
                Work::Call(Call::Adopt(config, updates)) => {
                    Reply::Done(adopt::adopt(&shared, config.map(|config| *config), &updates).await)
                }
                Work::Call(Call::Resume(state, held)) => {
                    Reply::Done(adopt::resume(&shared, *state, &held).await)
                }
                Work::Call(Call::Write(request)) => Reply::Done(write::write(&shared, *request).await),
                Work::Call(Call::Operate(request)) => Reply::Done(write::operate(&shared, *request).await),
                Work::Call(Call::Enforce(request)) => Reply::Done(write::enforce(&shared, *request).await),
                Work::Call(Call::SetConfig(request)) => {
                    Reply::Done(config::set_config(&shared, *request).await)
                }
                Work::Call(Call::Steer(election, what)) => {
                    let may = match &election {
                        Some(_) => shared.state().server.may_steer(election.as_ref()),
                        None => Ok(()),
                    };
                    Reply::Done(match may {
                        Ok(()) => steer::steer(&shared, what).await,
                        Err(status) => Err(status),
                    })
                }
                Work::Call(Call::Merge(..)) => {
                    let why = "this is a rack: its controller merges the copies of its devices";
                    Reply::Merged(Err(Status::new(Code::Unimplemented, why)))
                }
                Work::Call(Call::Trace(request)) => Reply::Traced(trace::trace(&shared, request).await),
                Work::Call(Call::Read(request)) => {
                    let is_saved = shared.state().server.is_saved();
                    let (found, ended) = read(&shared, request, is_saved, Server::reading).await;
                    Reply::Found(found, ended)
                }
                Work::Call(Call::ReadRunning(request)) => {
                    let (found, ended) = read(&shared, request, false, Server::reading_running).await;
                    Reply::Found(found, ended)
                }
                Work::Audit(device) => {
                    // A failed comparison is repeated at the next interval.
                    let _ = adopt::audit(&shared, device).await;
                    Reply::Done(Ok(()))
                }
                Work::Watch(device) => {
                    watch::watch(&shared, device).await;
                    Reply::Done(Ok(()))
                }
                Work::LetBack(device) => {
                    watch::let_back(&shared, device).await;
                    Reply::Done(Ok(()))
                }
                Work::Repair(device) => {
                    // It stays stale, and is tried again.
                    let _ = repair::repair_stale(&shared, device).await;
                    Reply::Done(Ok(()))
                }
            };
            shared.state().out.extend(ticket.map(|ticket| Output::Reply(ticket, reply)));
        })
    }
}

/// The RPC `Read`, of a program that is saved and not yet on devices, or of the one that runs.
async fn read(
    shared: &Shared,
    request: ReadRequest,
    is_saved: bool,
    begin: impl Fn(&Server<Plans>, ReadRequest) -> Result<Reading, Status>,
) -> Read {
    let rollout = if is_saved { None } else { shared.state().rollout() };
    let mut live = LiveQueries::default();
    while !shared.state().server.find_live(&request, &mut live, SLICE) {
        shared.pause().await;
    }
    if let Some(rollout) = rollout
        && !live.found.is_empty()
        && let Err(status) = gather(shared, &rollout, live.found).await
    {
        return (Pieces::new(), Err(status));
    }
    {
        let mut state = shared.state();
        let state = &mut *state;
        let reading = match begin(&state.server, request) {
            Ok(reading) => reading,
            Err(status) => return (Pieces::new(), Err(status)),
        };
        let gathered = state.server.target().map(|desired| std::mem::take(&mut desired.gathered));
        state.readings.insert(state.current, (reading, gathered.unwrap_or_default()));
        // From now on writes run between slices: each first makes the read read the entities that the write changes.
        state.schedule.relax(state.current, |_| Claim::nothing());
    }
    loop {
        if let Some(found) = shared.state().read_on() {
            return found;
        }
        shared.pause().await;
    }
}

/// Gathers the values of a read from devices, which may take long. Writes come between: the read is of the moment at which it has all values,
/// and at which no write of these entities is in progress.
async fn gather(shared: &Shared, rollout: &Rollout, live: Vec<Entity>) -> Result<(), Status> {
    /// Between two looks whether it is free.
    const LOOK: Duration = Duration::from_ms(1);
    let claim = shared.state().begin_gathering();
    let gathered = repair::gather(shared, rollout, live, &BTreeSet::new(), &BTreeSet::new()).await;
    {
        let mut state = shared.state();
        let task = state.current;
        state.schedule.tighten(task, claim.of_contents());
    }
    loop {
        let is_free = {
            let state = shared.state();
            state.schedule.is_free(state.current)
        };
        if is_free {
            break;
        }
        shared.sleep(LOOK).await;
    }
    shared.state().end_gathering();
    gathered.map(drop)
}
