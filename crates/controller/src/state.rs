//! What lasts from one call to the next.

use crate::ask::{Answer, Ask, AskId, DeviceId};
use crate::controller::Output;
use crate::desired::Plans;
use crate::idle::Idle;
use crate::part::{Planner, Rollout};
use base_time::{Duration, Time};
use p4runtime_proto::p4::v1::Entity;
use p4runtime_server::{self as server, Server};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An answer that does not come for so long is lost.
pub(crate) const PATIENCE: Duration = Duration::from_ms(5_000);

/// All there is beside the call that is being done.
pub(crate) struct State<P: Planner> {
    /// The north: the desired state.
    pub(crate) server: Server<Plans<P>>,
    pub(crate) now: Time,
    /// How long a packet is at most on its way through the rack.
    pub(crate) drain: Duration,
    pub(crate) out: Vec<Output>,
    /// What has been asked, and until when an answer counts; with the answer, once there is one.
    pub(crate) asked: BTreeMap<AskId, (Time, Option<Answer>)>,
    pub(crate) asks: u64,
    /// Devices of which nobody knows whether they are as they should be.
    pub(crate) stale: BTreeMap<usize, Stale>,
    pub(crate) idle: Idle,
    /// An operator keeps frames out.
    pub(crate) stopped: bool,
    /// A task waits for this time.
    pub(crate) alarm: Option<Time>,
}

/// A device that is to be brought to the desired state.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    pub(crate) why: String,
    /// What it had counted of what a failed write was about: it is to hold that again.
    pub(crate) before: Vec<Entity>,
}

impl<P: Planner> State<P> {
    /// From now on a device is stale. If it was already, what it had counted before stands.
    pub(crate) fn stale(&mut self, device: usize, why: &str, before: Vec<Entity>) {
        let known = self.stale.entry(device).or_insert_with(|| Stale { why: String::new(), before });
        known.why = why.to_string();
    }

    /// What runs, if there is a program.
    pub(crate) fn rollout(&mut self) -> Option<Arc<Rollout>> {
        self.server.target().map(|desired| Arc::clone(&desired.rollout))
    }

    /// What the server wants controllers to be told.
    pub(crate) fn tell(&mut self, output: server::Output) {
        self.out.extend(match output {
            server::Output::Send(stream, message) => Some(Output::Send(stream, message)),
            server::Output::End(stream, why) => Some(Output::End(stream, why)),
            // Packets go to the origin as messages.
            server::Output::Inject(_) => None,
        });
    }

    /// Asks a device; the answer is fetched with [`State::answer`].
    pub(crate) fn ask(&mut self, device: usize, ask: Ask) -> AskId {
        let id = AskId(self.asks);
        self.asks += 1;
        self.asked.insert(id, (self.now + PATIENCE, None));
        self.out.push(Output::Ask(DeviceId(device), Some(id), ask));
        id
    }

    /// The answer to an ask, once: what does not come in time is lost.
    pub(crate) fn answer(&mut self, id: AskId) -> Option<Answer> {
        match self.asked.get(&id) {
            Some((_, Some(_))) => self.asked.remove(&id).and_then(|(_, answer)| answer),
            Some((until, None)) if self.now < *until => None,
            _ => {
                self.asked.remove(&id);
                Some(Answer::Lost)
            }
        }
    }

    /// When something is to be done although nothing comes in.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let waiting = self.asked.values().filter(|(_, answer)| answer.is_none()).map(|(until, _)| *until);
        waiting.chain(self.alarm).min()
    }
}
