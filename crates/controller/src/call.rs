//! Requests of the northbound side to a controller, and its outputs.

use crate::ask::{Ask, AskId, DeviceId};
use crate::part::{RegionMap, TableSizes};
use base_time::Duration;
use control_writes::Crc;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageResponse,
    Uint128, Update, WriteRequest,
};
use p4runtime_proto::p4rack::v1::steer_request::{ChangeGroup, MoveFlow};
use p4runtime_proto::p4rack::v1::{SavedState, Thresholds, TraceRequest, TraceResponse};
use p4runtime_server::{Pieces, Status, StreamId};
use std::collections::BTreeSet;

/// Identifies the call to which a reply belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// A northbound request.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// Installs a program before a northbound controller pushes one, with updates that are applied as a whole or not at all.
    Start(Box<ForwardingPipelineConfig>, Vec<Update>),
    /// As [`Call::Start`], but devices that already run the program keep their entities. Without a program, the former
    /// one continues: another controller controlled the devices meanwhile.
    Adopt(Option<Box<ForwardingPipelineConfig>>, Vec<Update>),
    /// A state saved by an earlier process: program and entities. Devices that already run the program keep the values that their
    /// data planes have written; their other entities are replaced. Tables with these ids have the entries that devices hold, if all devices run the program by
    /// the same plan, and otherwise those of the state.
    Resume(Box<SavedState>, BTreeSet<u32>),
    /// The RPC `Write`.
    Write(Box<WriteRequest>),
    /// `Write` by the operator of the switch, without an election id.
    Operate(Box<WriteRequest>),
    /// As [`Call::Operate`], but it goes forward: where a device has done it, or may have, it is not undone, and the reply comes when all devices in use have
    /// it. A device whose answer is lost, or that refuses what others have done, gets it by its repair. So no packet finds the state before the write after
    /// the state with it. It is refused only if no device has done it, or if one refuses the desired state. A `DATAPLANE_ATOMIC` one is rolled back, while
    /// frames are kept out.
    Enforce(Box<WriteRequest>),
    /// The RPC `Read`.
    Read(ReadRequest),
    /// `Read` of the running program, even if another program is saved.
    ReadRunning(ReadRequest),
    /// The RPC `SetForwardingPipelineConfig`.
    SetConfig(Box<SetForwardingPipelineConfigRequest>),
    /// A request of an operator, or of a controller, with its election id.
    Steer(Option<Uint128>, Steer),
    /// Trace of a frame that arrives on a port.
    Trace(TraceRequest),
    /// A message of a rack's merge to one of its devices, from the controller with this election id.
    Merge(Option<Uint128>, Vec<u8>),
}

/// A limit of queues behind ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Packets that wait.
    Depth(u32),
    /// Packets per second; 0: no limit.
    Rate(u64),
}

/// A change of queues behind ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueChange {
    /// Only those of this port.
    pub port: Option<u32>,
    /// Only those of this priority; 0 is the lowest.
    pub priority: Option<u32>,
    /// The limit, of each of these queues.
    pub limit: QueueLimit,
}

/// Operators' requests to the whole rack.
#[derive(Clone, PartialEq, Debug)]
pub enum Steer {
    /// Hold frames; done when no packet is inside. A rack determines the open ports itself and needs no lease.
    Hold {
        /// Ports of a device whose frames are admitted nevertheless, because they connect other devices.
        open: Vec<u32>,
        /// Maximum duration; without it until [`Steer::Release`]. When it is over, a program saved by then is not
        /// committed any more.
        lease: Option<Duration>,
    },
    /// Extend the lease of held frames to this time from now. Refused if the frames have been admitted.
    ExtendHold(Duration),
    /// Admit frames again.
    Release,
    /// Drop a program that was saved and not committed.
    ForgetSaved,
    /// Reset registers and counters.
    Reset,
    /// Set the parameters of a calculation with a custom CRC. Only a single device can do this.
    SetCrc {
        /// Name of the calculation, as BMv2 has it.
        calculation: String,
        /// 16 or 32.
        width: u32,
        /// The parameters.
        to: Crc,
    },
    /// Set limits of queues behind ports. Only a single device can do this.
    SetQueues(QueueChange),
    /// Move regions to other devices.
    Replace(RegionMap),
    /// Give tables other sizes; all others have those of the program.
    Resize(TableSizes),
    /// Keep a device out of use on all edges with spares, or use it again.
    KeepOut {
        /// Name of the device.
        device: String,
        /// True if the device is used again.
        ends: bool,
    },
    /// Set thresholds of edges with spares; thresholds that are not given keep their values.
    SetThresholds(Thresholds),
    /// A server of a group comes or goes. A rack does that beside its controller.
    ChangeGroup(ChangeGroup),
    /// A flow of a pinned app goes to the switch or to its helper. A rack does that beside its controller.
    MoveFlow(MoveFlow),
    /// The streams of these controllers end, or of all if there are none here, and their election ids are forgotten.
    EndClients(Vec<u64>),
}

/// The answer to a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// Reply to every call other than reads and traces.
    Done(Result<(), Status>),
    /// Result and status of a read.
    Found(Pieces, Result<(), Status>),
    /// Reply to a trace.
    Traced(Result<TraceResponse, Status>),
    /// A device's answer to a message of the merge; empty if there is none.
    Merged(Result<Vec<u8>, Status>),
}

/// Effects of the controller for its owner to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// A request to a device's agent; with an id if the answer is awaited.
    Ask(DeviceId, Option<AskId>, Ask),
    /// The reply to a call.
    Reply(Ticket, Reply),
    /// A message for a northbound controller. It is lost if it cannot be delivered.
    Send(StreamId, StreamMessageResponse),
    /// Ends the stream of a northbound controller.
    End(StreamId, Status),
}
