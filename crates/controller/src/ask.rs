//! Messages between the controller and an agent.

use base_time::Duration;
use control_writes::PortCount;
use p4runtime_proto::p4::v1::{
    DigestListAck, Entity, ForwardingPipelineConfig, PacketOut, StreamMessageResponse, Update,
};
use p4runtime_proto::p4rack::v1::steer_request::ChangeGroup;
use p4runtime_proto::p4rack::v1::{Group, Hop, Metric, SampleResponse, TraceRequest};
use p4runtime_server::Status;
use std::collections::BTreeMap;

/// A device, by its place in [`Rollout::parts`](crate::Rollout).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub usize);

/// Number of an ask. An ask has one answer, or none if the ask or the answer is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskId(pub u64);

/// Requests to an agent. Up to [`Ask::DigestAck`] these are P4Runtime's RPCs and messages, from the only controller of
/// the device.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// `SetForwardingPipelineConfig` with `VERIFY_AND_SAVE`.
    Save(Box<ForwardingPipelineConfig>),
    /// `Write` with `ROLLBACK_ON_ERROR` to the program that was saved last, which waits for the commit.
    Load(Vec<Update>),
    /// [`Load`](Ask::Load), then `SetForwardingPipelineConfig` with `COMMIT` if the load has succeeded.
    Commit(Vec<Update>),
    /// `Write` with `ROLLBACK_ON_ERROR` to the program that runs: all or nothing. A saved program that was not
    /// committed is dropped.
    Write(Vec<Update>),
    /// `Read` of the running program, even if another program is saved.
    Read(Vec<Entity>),
    /// A packet to send. It has no answer.
    PacketOut(PacketOut),
    /// Acknowledges a list of digests. It has no answer.
    DigestAck(DigestListAck),
    /// About registers with copies on several devices, as bytes ([`flow_control::merge::ToDevice`]). It has no answer: the agent may say
    /// something by itself ([`Effect::Push`](crate::Effect::Push)). It may come late, twice or never.
    Merge(Vec<u8>),
    /// Report frames that have come in ([`Heard::Sampled`]). It has no answer that is waited for, and may be lost.
    Sample {
        /// One frame of so many is reported from now on. 0: none.
        every: u64,
        /// Frames from these ports do not count.
        uncounted: Vec<u32>,
    },
    /// Hold frames from outside, for at most this time or until [`Ask::Release`]; hand-overs continue. When the time is
    /// over, the frames are admitted, and a program saved by then is not committed any more.
    Hold(Option<Duration>),
    /// Extend the lease of held frames to this time from now. Refused if the frames have been admitted.
    ExtendHold(Duration),
    /// Admit frames again, the held ones first.
    Release,
    /// Reads the numbers of frames received and sent by each port.
    Ports,
    /// Run a frame, hold the frames that would leave, and return the trace.
    Trace(TraceRequest),
    /// The running program and its entities.
    Holdings(Kinds),
    /// A server of a group comes or goes; for the switch of the group, in another process.
    ChangeGroup(ChangeGroup),
}

/// Kinds of entities to return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
    /// All entities.
    All,
    /// Entities that only control planes write: neither registers nor counts.
    Written,
}

/// Program and entities of a device.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Holdings {
    /// The program, if one runs.
    pub config: Option<ForwardingPipelineConfig>,
    /// All entities, including values that the data plane has written.
    pub entities: Vec<Entity>,
}

/// Answers of an agent.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The ask was executed.
    Done,
    /// Result of a read.
    Found(Vec<Entity>),
    /// Numbers of frames received and sent, by port.
    Ports(BTreeMap<u32, PortCount>),
    /// Trace of a frame.
    Traced(Box<Hop>),
    /// Program and entities of the device.
    Holds(Box<Holdings>),
    /// Nothing was done.
    Refused(Status),
    /// The outcome is unknown.
    Lost,
}

/// Messages from an agent in another process.
#[derive(Clone, PartialEq, Debug)]
pub enum Heard {
    /// The agent is connected; its device's entities are unknown.
    Here,
    /// The agent cannot be reached.
    Gone(String),
    /// Another controller, which was started later, controls the device, or has controlled it.
    Superseded,
    /// Answer to a request.
    Answer(AskId, Answer),
    /// Report of the device.
    Stream(StreamMessageResponse),
    /// Message to the hub of the merge ([`Effect::Push`](crate::Effect::Push)).
    Pushed(Vec<u8>),
    /// Counters of the device.
    Counted(Vec<Metric>),
    /// Groups of servers that the device leads packets to.
    Groups(Vec<Group>),
    /// Frames that have come in at the device since the last report.
    Sampled(SampleResponse),
}
