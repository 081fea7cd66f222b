//! The RPC `SetForwardingPipelineConfig` over all devices: every device has the new program and all that it is to hold before
//! the first of them runs it.

use crate::ask::{Answer, Ask};
use crate::desired::Plans;
use crate::part::{Planner, Rollout};
use crate::repair::{self, Found, all_done, everything, is_unknown};
use crate::task::Shared;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, SetForwardingPipelineConfigRequest};
use p4runtime_server::{Replaced, Server, Status};
use std::sync::Arc;

pub(crate) async fn set_config<P: Planner>(
    shared: &Shared<P>,
    request: SetForwardingPipelineConfigRequest,
) -> Result<(), Status> {
    let action = request.action();
    if matches!(action, Action::Unspecified | Action::Verify | Action::VerifyAndSave) {
        return shared.state().server.set_config(request);
    }
    shared.state().server.may_set_config(&request)?;
    exchange(shared, |server| server.replace_config(request)).await
}

/// Has the rack run what `replace` makes of the desired state, with what the data planes have written by then; or, if a device
/// cannot, what it ran. Frames that come in wait.
pub(crate) async fn exchange<P: Planner>(
    shared: &Shared<P>,
    replace: impl FnOnce(&mut Server<Plans<P>>) -> Result<Option<Replaced<Plans<P>>>, Status>,
) -> Result<(), Status> {
    let old = shared.state().rollout();
    let mut found = Found::new();
    if let Some(old) = &old {
        shared.hold(old.origin).await?;
        match repair::gather(shared, old, everything()).await {
            Ok(all) => found = all,
            Err(status) => {
                shared.release(old.origin).await;
                return Err(status);
            }
        }
    }
    let replaced = replace(&mut shared.state().server);
    let ended = match replaced {
        Ok(Some(replaced)) => roll_out(shared, old.as_ref(), replaced, &found).await,
        Ok(None) => Ok(()),
        Err(status) => Err(status),
    };
    // Nothing comes in where no program runs.
    let origin = shared.state().rollout().map(|rollout| rollout.origin);
    for origin in old.iter().map(|old| old.origin).chain(origin).collect::<std::collections::BTreeSet<_>>() {
        shared.release(origin).await;
    }
    ended
}

/// Runs a program before any controller asks for one.
pub(crate) async fn start<P: Planner>(
    shared: &Shared<P>,
    config: ForwardingPipelineConfig,
) -> Result<(), Status> {
    let old = shared.state().rollout();
    let replaced = shared.state().server.start(config)?;
    let ended = roll_out(shared, old.as_ref(), replaced, &Found::new()).await;
    let origin = shared.state().rollout().map(|rollout| rollout.origin);
    if let Some(origin) = origin {
        shared.release(origin).await;
    }
    ended
}

/// Brings the devices to the new desired state, or everything back to the old one.
async fn roll_out<P: Planner>(
    shared: &Shared<P>,
    old: Option<&Arc<Rollout>>,
    replaced: Replaced<Plans<P>>,
    found: &Found,
) -> Result<(), Status> {
    let Some(new) = shared.state().rollout() else { return Ok(()) };
    let loaded = match repair::contents(shared, &new) {
        Ok(contents) => repair::load(shared, &new, contents).await,
        Err(status) => Err(status),
    };
    if let Err(status) = loaded {
        shared.state().server.put_back(replaced);
        return Err(status);
    }
    let asks = new.parts().map(|(device, _)| (device, Ask::SetConfig(Action::Commit, None))).collect();
    let answers = shared.ask_all(asks).await;
    let Err(mut cause) = all_done(&new, answers.clone()) else {
        let mut state = shared.state();
        state.stale.clear();
        state.idle.clear();
        return Ok(());
    };
    shared.state().server.put_back(replaced);
    let Some(old) = old else { return Err(cause) };
    for (device, answer) in answers {
        let is_old = matches!(answer, Answer::Refused(_)) && !is_unknown(&answer);
        if is_old || old.parts.get(device).is_none_or(Option::is_none) {
            continue;
        }
        if let Err(why) =
            repair::restore(shared, old, device, found.get(&device).cloned().unwrap_or_default()).await
        {
            cause.message += &format!("; and `{}` could not be led back: {why}", old.name(device));
        }
    }
    Err(cause)
}
