//! Calls that wait for the merge: reads of what all devices have counted, and writes that all devices show.

use crate::copied::Totals;
use crate::merged::Merged;
use crate::part::Rollout;
use crate::task::Shared;
use base_time::Duration;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

/// Rounds that a call waits for, each longer than the one before.
const TRIES: u32 = 8;

/// Most that the first of them takes: a message that is lost is said again.
const LONGEST: Duration = Duration::from_s(1);

/// Waits until every device that is not `silent` has said what it had counted when this began. An error names one that has not.
pub(crate) async fn collect(
    shared: &Shared,
    rollout: &Rollout,
    silent: &BTreeSet<usize>,
) -> Result<(), Status> {
    let missing = wait(shared, TRIES, |merged, since| {
        let mut heard = merged.heard.iter().filter(|(device, _)| !silent.contains(device));
        heard.find(|(_, round)| **round < since).map(|(device, _)| *device)
    });
    match missing.await {
        None => Ok(()),
        Some(device) => {
            let why = format!("device `{}` cannot be read: it does not answer", rollout.name(device));
            Err(Status::new(Code::Unavailable, why))
        }
    }
}

/// Writes cells, and waits until all devices show it. An error names one that has not: it gets the value when it answers.
pub(crate) async fn write(shared: &Shared, rollout: &Rollout, cells: Totals) -> Result<(), Status> {
    for ((id, cell), value) in cells {
        shared.state().merged.write(id, cell, value);
    }
    match settle(shared, &BTreeSet::new()).await {
        None => Ok(()),
        Some(device) => {
            let why = format!(
                "the value is written, but device `{}` does not answer and has not shown it yet: it will when it answers",
                rollout.name(device)
            );
            Err(Status::new(Code::DeadlineExceeded, why))
        }
    }
}

/// Waits until all devices that are not `silent` have the values of all that were known before; gives one that has not, and gets them later.
pub(crate) async fn settle(shared: &Shared, silent: &BTreeSet<usize>) -> Option<usize> {
    wait(shared, TRIES, |merged, _| merged.behind().find(|device| !silent.contains(device))).await
}

/// Waits a while until a device has said what it had counted when this began: it is to restart.
pub(crate) async fn hear_out(shared: &Shared, device: usize) {
    let missing = |merged: &Merged, since: u64| {
        merged.heard.get(&device).filter(|round| **round < since).map(|_| device)
    };
    wait(shared, 3, missing).await;
}

/// Begins rounds until there is nothing any more that is `missing` since the first of them.
async fn wait(shared: &Shared, tries: u32, missing: impl Fn(&Merged, u64) -> Option<usize>) -> Option<usize> {
    let since = shared.state().merged.round + 1;
    let mut left = None;
    for attempt in 0..tries {
        {
            let mut state = shared.state();
            if state.merged.objects.is_empty() {
                return None;
            }
            let now = state.now;
            let messages = state.merged.begin(now);
            state.send_merges(messages);
        }
        let until = {
            let state = shared.state();
            // Exponential back-off: each round waits twice as long as the one before.
            state.now + state.longest_patience().min(LONGEST).scaled(1 << attempt, 1)
        };
        left = poll_fn(|_| {
            let mut state = shared.state();
            let (task, now) = (state.current, state.now);
            let left = missing(&state.merged, since);
            if left.is_none() || now >= until {
                state.alarms.remove(&task);
                return Poll::Ready(left);
            }
            // Polled again by a message of the merge or at `until`, whichever is first.
            state.alarms.insert(task, until);
            state.merged.waiting.insert(task);
            Poll::Pending
        })
        .await;
        if left.is_none() {
            break;
        }
    }
    left
}
