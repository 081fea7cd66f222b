//! Operators' requests to the whole rack: hold and admit frames, reset counts, move regions.

use crate::ask::{Answer, Ask};
use crate::call::Steer;
use crate::config::{exchange, exchange_without};
use crate::repair::reason;
use crate::task::Shared;
use crate::thresholds;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::{Status, StreamId};
use std::collections::BTreeSet;

pub(crate) async fn steer(shared: &Shared, steer: Steer) -> Result<(), Status> {
    match steer {
        Steer::Hold { lease: None, .. } => {
            let origin = origin(shared)?;
            let was_stopped = std::mem::replace(&mut shared.state().stopped, true);
            let ended = shared.hold(origin).await;
            if ended.is_err() {
                shared.state().stopped = was_stopped;
                shared.release(origin).await;
            }
            ended
        }
        Steer::Hold { .. } | Steer::ExtendHold(_) => {
            let why = "a rack holds frames until it is released: leave out the lease";
            Err(Status::new(Code::InvalidArgument, why))
        }
        Steer::Release => {
            let origin = origin(shared)?;
            shared.state().stopped = false;
            shared.release(origin).await;
            Ok(())
        }
        Steer::ForgetSaved => {
            shared.state().server.forget_saved();
            Ok(())
        }
        Steer::Reset => {
            let prepared = shared.state().server.prepare_again(true)?;
            exchange(shared, prepared).await
        }
        Steer::Replace(map) => {
            let old = shared.state().server.builder().planner.replace(map)?;
            let ended = plan_again(shared, &BTreeSet::new()).await;
            if ended.is_err() {
                // The map was that of the plan that runs.
                drop(shared.state().server.builder().planner.replace(old));
            }
            ended
        }
        Steer::Resize(sizes) => {
            keeps_cells(shared)?;
            let old = shared.state().server.builder().planner.resize(sizes)?;
            let out = shared.state().edges.failed();
            let ended = plan_again(shared, &out).await;
            if ended.is_err() {
                drop(shared.state().server.builder().planner.resize(old));
            }
            ended
        }
        Steer::KeepOut { device, ends } => {
            let rollout = shared.state().rollout();
            let at = rollout.as_ref().and_then(|r| r.parts().find(|(_, part)| part.name == device));
            let Some((at, _)) = at else {
                return Err(Status::new(Code::NotFound, format!("there is no device `{device}`")));
            };
            let mut state = shared.state();
            let now = state.now;
            state.edges.keep_out(at, ends, now)
        }
        Steer::SetThresholds(to) => thresholds::set(shared, &to).await,
        Steer::ChangeGroup(change) => {
            // Groups are led to by the origin.
            let origin = origin(shared)?;
            match shared.ask(origin, Ask::ChangeGroup(change)).await {
                Answer::Done => Ok(()),
                Answer::Refused(status) => Err(status),
                other => Err(Status::new(Code::Unavailable, reason(&other))),
            }
        }
        Steer::SetCrc { .. } => {
            let why = "a rack has no parameters of hash functions: write them as annotations of `main`";
            Err(Status::new(Code::Unimplemented, why))
        }
        Steer::SetQueues(_) => {
            let why = "the links of a rack have rates and queues: `docs/emulator.md`";
            Err(Status::new(Code::Unimplemented, why))
        }
        Steer::MoveFlow(_) => {
            let why = "flows move in racks that one process runs";
            Err(Status::new(Code::Unimplemented, why))
        }
        Steer::EndClients(streams) => {
            let streams: Vec<StreamId> = streams.into_iter().map(StreamId).collect();
            let mut state = shared.state();
            let outputs = state.server.end_clients(&streams);
            outputs.into_iter().for_each(|output| state.send(output));
            Ok(())
        }
    }
}

/// A plan is replaced like a program: every device has its part of the new plan, and its desired entities, before the
/// first device runs it, and hand-overs carry a new epoch. Devices that are `out` of use get it when they are back.
async fn plan_again(shared: &Shared, out: &BTreeSet<usize>) -> Result<(), Status> {
    let prepared = shared.state().server.prepare_again(false)?;
    exchange_without(shared, prepared, out).await
}

/// A register with cells of its own on each of several devices cannot go to another plan: one value of each cell does.
fn keeps_cells(shared: &Shared) -> Result<(), Status> {
    let rollout = shared.state().rollout();
    match rollout.as_ref().and_then(|rollout| rollout.divided()) {
        None => Ok(()),
        Some(name) => {
            let why =
                format!("each device has cells of its own of `{name}`, and another plan would mix them");
            Err(Status::new(Code::FailedPrecondition, why))
        }
    }
}

fn origin(shared: &Shared) -> Result<usize, Status> {
    let rollout = shared.state().rollout();
    rollout
        .map(|rollout| rollout.origin)
        .ok_or_else(|| Status::new(Code::FailedPrecondition, "there is no program yet: no frame can enter"))
}
