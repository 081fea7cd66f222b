//! What operators do to the whole: frames are kept out and let in, what is counted begins anew, regions move.

use crate::config::exchange;
use crate::part::{Planner, RegionMap};
use crate::task::Shared;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;

/// What an operator asks.
#[derive(Clone, PartialEq, Debug)]
pub enum Steer {
    /// Keep frames out until [`Steer::Release`]; done when no packet is inside. Frames from these ports of a device come in
    /// all the same: other devices are behind them. A rack knows its own.
    Hold(Vec<u32>),
    /// Take frames in again.
    Release,
    /// Drop a program that was saved and not committed.
    ForgetSaved,
    /// Registers and counters begin anew.
    Reset,
    /// Regions run elsewhere.
    Replace(RegionMap),
}

pub(crate) async fn steer<P: Planner>(shared: &Shared<P>, steer: Steer) -> Result<(), Status> {
    match steer {
        Steer::Hold(_) => {
            let origin = origin(shared)?;
            shared.hold(origin).await?;
            shared.state().stopped = true;
            Ok(())
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
        Steer::Reset => exchange(shared, |server| server.renew(true).map(Some)).await,
        Steer::Replace(map) => replace(shared, map).await,
    }
}

/// A plan is replaced as a program is: every device has its part of the new one, and what it is to hold, before the first of
/// them runs it, and hand-overs carry a new epoch.
async fn replace<P: Planner>(shared: &Shared<P>, map: RegionMap) -> Result<(), Status> {
    let old = shared.state().server.builder().planner.replace(map)?;
    let ended = exchange(shared, |server| server.renew(false).map(Some)).await;
    if ended.is_err() {
        // The map was that of the plan that runs.
        drop(shared.state().server.builder().planner.replace(old));
    }
    ended
}

fn origin<P: Planner>(shared: &Shared<P>) -> Result<usize, Status> {
    let rollout = shared.state().rollout();
    rollout.map(|rollout| rollout.origin).ok_or_else(|| {
        Status::new(Code::FailedPrecondition, "there is no program yet: nothing comes in anyway")
    })
}
