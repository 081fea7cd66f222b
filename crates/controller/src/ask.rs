//! What passes between the controller and an agent.

use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{DigestListAck, Entity, ForwardingPipelineConfig, PacketOut, Update};
use p4runtime_server::Status;

/// A device, by its place in [`Rollout::parts`](crate::Rollout).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub usize);

/// Which ask an answer is for. An ask has one answer, or none if it or the answer is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskId(pub u64);

/// What an agent is asked. But for the last two these are P4Runtime's RPCs and messages, by the only controller of the device.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// `SetForwardingPipelineConfig`.
    SetConfig(Action, Option<Box<ForwardingPipelineConfig>>),
    /// `Write` with `ROLLBACK_ON_ERROR` to the program that was saved last, which waits for the commit.
    Load(Vec<Update>),
    /// `Write` with `ROLLBACK_ON_ERROR` to the program that runs: all or nothing. What was saved and not committed is dropped.
    Write(Vec<Update>),
    /// `Read` of the program that runs. What was saved and not committed is dropped.
    Read(Vec<Entity>),
    /// A packet to send. It has no answer.
    PacketOut(PacketOut),
    /// A list of digests has come. It has no answer.
    DigestAck(DigestListAck),
    /// Keep frames that come in from outside until [`Ask::Release`]; hand-overs go on.
    Hold,
    /// Take frames in again, those that were kept first.
    Release,
}

/// What an agent answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// What a read found.
    Found(Vec<Entity>),
    /// Nothing was done.
    Refused(Status),
    /// Nobody knows whether it was done.
    Lost,
}
