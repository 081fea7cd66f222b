//! The connection from the controller to the agents, and what becomes of requests on it.

use controller::{Ask, DeviceId};
use p4runtime_server::Status;

/// Fate of a request to a device.
#[derive(Clone, PartialEq, Debug)]
pub enum Passage {
    /// The device does it and answers.
    Through,
    /// The agent refuses it.
    Refused(Status),
    /// The request is lost.
    AskLost,
    /// The device does it, and the answer is lost.
    AnswerLost,
    /// The device breaks in the middle: see [`crate::Controlled::break_after`].
    Breaks(Vec<u32>),
}

/// The connection from the controller to the agents.
pub trait Channel {
    /// Decides the fate of a request.
    fn pass(&mut self, device: DeviceId, ask: &Ask) -> Passage;
}

/// A channel without losses.
pub struct Direct;

impl Channel for Direct {
    fn pass(&mut self, _: DeviceId, _: &Ask) -> Passage {
        Passage::Through
    }
}
