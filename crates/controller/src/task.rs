//! A call that is being done: a future that waits for answers, for time, and to be a device's only user, and for nothing else.
//!
//! Whoever polls it brings answers and time before, and polls in the order in which tasks came; so the same inputs give the same
//! outputs.

use crate::ask::{Answer, Ask};
use crate::claim::Claim;
use crate::part::Rollout;
use crate::state::State;
use crate::timing::Timing;
use base_time::{Duration, Time};
use control_writes::PortCount;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::{SLICE, Status};
use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Attempts at a device before the call that needs it ends.
const TRIES: u32 = 4;
/// Between tries; twice as long each time.
const PAUSE: Duration = Duration::from_ms(1);

/// Something that is being done.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The state, as tasks see it. It is never borrowed while a task waits.
pub(crate) struct Shared(pub(crate) Rc<RefCell<State>>);

impl Clone for Shared {
    fn clone(&self) -> Shared {
        Shared(Rc::clone(&self.0))
    }
}

impl Shared {
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    /// Asks several devices at once and waits for all answers, in the order of the asks.
    pub(crate) async fn ask_all(&self, asks: Vec<(usize, Ask)>) -> Vec<(usize, Answer)> {
        let waiting: Vec<_> =
            asks.into_iter().map(|(device, ask)| (device, self.state().ask(device, ask))).collect();
        let mut answers = vec![];
        for (device, id) in waiting {
            let answer = poll_fn(|_| match self.state().answer(id) {
                Some(answer) => Poll::Ready(answer),
                None => Poll::Pending,
            });
            answers.push((device, answer.await));
        }
        answers
    }

    /// Asks one device.
    pub(crate) async fn ask(&self, device: usize, ask: Ask) -> Answer {
        let answers = self.ask_all(vec![(device, ask)]).await;
        answers.into_iter().next().map_or(Answer::Lost, |(_, answer)| answer)
    }

    /// Retries an idempotent request, with increasing pauses, until it succeeds or the attempts are used up.
    pub(crate) async fn insist<T, E>(&self, mut attempt: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            if let Ok(done) = attempt().await {
                return Ok(done);
            }
            self.sleep(pause).await;
            pause = pause + pause;
        }
        attempt().await
    }

    /// Asks one device again and again. False if it does not do it.
    pub(crate) async fn done(&self, device: usize, ask: Ask) -> bool {
        let attempt = async || match self.ask(device, ask.clone()).await {
            Answer::Done => Ok(()),
            other => Err(other),
        };
        self.insist(attempt).await.is_ok()
    }

    /// Keeps frames out of the rack, and waits until none is inside. Whether it works or not, [`release`](Shared::release) ends it;
    /// where an operator keeps them out already, they stay out.
    pub(crate) async fn hold(&self, origin: usize) -> Result<(), Status> {
        let lease = {
            let mut state = self.state();
            let is_ours = !state.stopped;
            if is_ours {
                state.keep_held(origin);
            }
            // A hold of an operator has no lease: frames stay out until the operator ends it.
            is_ours.then_some(state.timing.lease)
        };
        if !self.done(origin, Ask::Hold(lease)).await {
            return Err(Status::new(Code::Unavailable, "the switch cannot be made to wait"));
        }
        let (now, Timing { drain, quiet, .. }) = {
            let state = self.state();
            (state.now, state.timing)
        };
        let until = now + drain;
        let mut last: Option<(Counts, Time)> = None;
        while self.state().now < until {
            let Some(rollout) = self.state().rollout() else { break };
            let counts = self.counts(&rollout).await;
            let now = self.state().now;
            match (counts, last) {
                (Some(counts), _) if is_empty(&rollout, &counts) => break,
                // Counts that stand still for `quiet` say that nothing moves: what is missing was lost and will not leave.
                (Some(counts), Some((known, since))) if counts == known => {
                    if now.since(since) >= quiet {
                        break;
                    }
                    last = Some((known, since));
                }
                (counts, _) => last = counts.map(|counts| (counts, now)),
            }
            self.sleep(PAUSE).await;
        }
        Ok(())
    }

    /// True if the origin has kept frames out since it was asked to.
    pub(crate) async fn is_held(&self, origin: usize) -> bool {
        let (stopped, lease) = {
            let state = self.state();
            (state.stopped, state.timing.lease)
        };
        let attempt = async || match self.ask(origin, Ask::ExtendHold(lease)).await {
            Answer::Done => Ok(true),
            Answer::Refused(_) => Ok(false),
            other => Err(other),
        };
        stopped || self.insist(attempt).await == Ok(true)
    }

    /// Port counters of all devices but those that have failed and do not answer; `None` if another one does not answer.
    async fn counts(&self, rollout: &Rollout) -> Option<Counts> {
        let silent = self.state().silent();
        let devices = rollout.parts().map(|(device, _)| device).filter(|device| !silent.contains(device));
        let answers = self.ask_all(devices.map(|device| (device, Ask::Ports)).collect()).await;
        let count = |(device, answer)| match answer {
            Answer::Ports(ports) => Some((device, ports)),
            _ => None,
        };
        answers.into_iter().map(count).collect()
    }

    /// Admits frames again, unless an operator holds them. A switch that does not answer is marked stale, and admits
    /// them when it is repaired.
    pub(crate) async fn release(&self, origin: usize) {
        let stopped = {
            let mut state = self.state();
            state.held = None;
            state.stopped
        };
        if !stopped && !self.done(origin, Ask::Release).await {
            self.state().stale(origin, "it cannot be released", vec![]);
        }
    }

    /// Lets other work run first: frames, if the devices are in this process.
    pub(crate) async fn pause(&self) {
        let mut has_paused = false;
        poll_fn(|_| {
            let mut state = self.state();
            let task = state.current;
            match std::mem::replace(&mut has_paused, true) {
                false => {
                    state.pausing.insert(task);
                    Poll::Pending
                }
                true => {
                    state.pausing.remove(&task);
                    Poll::Ready(())
                }
            }
        })
        .await;
    }

    /// Drops the values that a long call has gathered, piece by piece.
    pub(crate) async fn discard<T>(&self, mut all: Vec<T>) {
        // To drop an update is quicker than to do it.
        const PIECE: usize = 8 * SLICE;
        while all.len() > PIECE {
            all.truncate(all.len() - PIECE);
            self.pause().await;
        }
    }

    /// Waits.
    pub(crate) async fn sleep(&self, time: Duration) {
        let until = self.state().now + time;
        poll_fn(|_| {
            let mut state = self.state();
            let task = state.current;
            if state.now >= until {
                state.alarms.remove(&task);
                return Poll::Ready(());
            }
            state.alarms.insert(task, until);
            Poll::Pending
        })
        .await;
    }

    /// Waits until no other task has requests in progress at the devices; until it ends, this task is their only user.
    /// The task must have no request in progress itself.
    pub(crate) async fn alone(&self, devices: &[usize]) {
        poll_fn(|_| {
            let mut state = self.state();
            let task = state.current;
            match state.schedule.alone(task, devices) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Waits until everything that is noted is stored, if it is to be.
    pub(crate) async fn until_stored(&self) {
        let batch = {
            let state = self.state();
            state.storing.number(state.server.has_notes())
        };
        poll_fn(|_| {
            let mut state = self.state();
            if state.storing.has(batch) {
                return Poll::Ready(());
            }
            let task = state.current;
            state.storing.waiting.insert(task);
            Poll::Pending
        })
        .await;
    }

    /// Waits until each of these devices has the desired state or is out of use. The task needs nothing any more: writes that concern the devices are
    /// refused meanwhile, and other calls go on.
    pub(crate) async fn until_right(&self, devices: &BTreeSet<usize>) {
        {
            let mut state = self.state();
            let task = state.current;
            state.schedule.relax(task, |_| Claim::default());
        }
        poll_fn(|_| {
            let mut state = self.state();
            let is_over = |device: &usize| !state.stale.contains(*device) || state.edges.is_out(*device);
            if devices.iter().all(is_over) {
                return Poll::Ready(());
            }
            let task = state.current;
            state.until_right.insert(task);
            Poll::Pending
        })
        .await;
    }
}

/// Port counters of devices.
type Counts = BTreeMap<usize, BTreeMap<u32, PortCount>>;

/// True if every frame sent over a link between devices has been received, and its results sent.
fn is_empty(rollout: &Rollout, counts: &Counts) -> bool {
    let count = |(device, port): &(usize, u32)| {
        counts.get(device).map(|ports| ports.get(port).copied().unwrap_or_default())
    };
    rollout.wires.iter().all(|(from, to)| match (count(from), count(to)) {
        (Some(from), Some(to)) => from.sent == to.received,
        // Nothing runs at one of the ends.
        _ => true,
    })
}

/// Runs a task until it must wait. Returns true if it has ended.
pub(crate) fn go_on(task: &mut Task) -> bool {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}
