//! Requests of the northbound side to a controller, and its outputs.

use crate::ask::{Ask, AskId, DeviceId};
use crate::part::RegionMap;
use base_time::Duration;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageResponse,
    Uint128, Update, WriteRequest,
};
use p4runtime_proto::p4rack::v1::steer_request::ChangeGroup;
use p4runtime_proto::p4rack::v1::{SavedState, Thresholds, TraceRequest, TraceResponse};
use p4runtime_server::{Pieces, Status, StreamId};

/// Which call a reply is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// A northbound request.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// A program before any controller of the north asks for one, and updates to it, all or none.
    Start(Box<ForwardingPipelineConfig>, Vec<Update>),
    /// As [`Call::Start`], but devices that already run the program keep their entities. Without a program, the former
    /// one continues: another controller controlled the devices meanwhile.
    Adopt(Option<Box<ForwardingPipelineConfig>>, Vec<Update>),
    /// A state that was kept when the process ended: its program, and its entities. Devices that run the program already keep what their
    /// data planes have written; what they have besides goes.
    Resume(Box<SavedState>),
    /// The RPC `Write`.
    Write(Box<WriteRequest>),
    /// The same by whoever runs the switch, who needs no election id.
    Operate(Box<WriteRequest>),
    /// The RPC `Read`.
    Read(ReadRequest),
    /// The same, of the program that runs, whatever is saved.
    ReadRunning(ReadRequest),
    /// The RPC `SetForwardingPipelineConfig`.
    SetConfig(Box<SetForwardingPipelineConfigRequest>),
    /// An operator's, or a controller's, which says its election id.
    Steer(Option<Uint128>, Steer),
    /// Trace of a frame that arrives on a port.
    Trace(TraceRequest),
}

/// Operators' requests to the whole rack.
#[derive(Clone, PartialEq, Debug)]
pub enum Steer {
    /// Keep frames out; done when no packet is inside. A rack knows for itself which ports are open and asks for no lease.
    Hold {
        /// Frames from these ports of a device come in all the same: other devices are behind them.
        open: Vec<u32>,
        /// Maximum duration; without it until [`Steer::Release`]. When it is over, a program saved by then is not
        /// committed any more.
        lease: Option<Duration>,
    },
    /// Keep out frames that are kept out for so long from now. Refused if they have been let in already.
    Stay(Duration),
    /// Take frames in again.
    Release,
    /// Drop a program that was saved and not committed.
    ForgetSaved,
    /// Registers and counters begin anew.
    Reset,
    /// Regions run elsewhere.
    Replace(RegionMap),
    /// No edge with spares uses this device, or edges may use it again.
    KeepOut {
        /// Its name.
        device: String,
        /// It is let back.
        ends: bool,
    },
    /// Edges with spares decide by other thresholds; those that are not set stay.
    SetThresholds(Thresholds),
    /// A server of a group comes or goes. A rack does that beside its controller.
    ChangeGroup(ChangeGroup),
    /// The streams of these controllers end, or of all if there are none here, and their election ids are forgotten.
    EndClients(Vec<u64>),
}

/// The answer to a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// To all but reads.
    Done(Result<(), Status>),
    /// Result and status of a read.
    Found(Pieces, Result<(), Status>),
    /// To a trace.
    Traced(Result<TraceResponse, Status>),
}

/// Effects of the controller for its owner to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// For a device's agent; with an id if the answer is waited for.
    Ask(DeviceId, Option<AskId>, Ask),
    /// The reply to a call.
    Reply(Ticket, Reply),
    /// A message for a controller of the north. Where it cannot be delivered it is lost.
    Send(StreamId, StreamMessageResponse),
    /// The end of its stream.
    End(StreamId, Status),
}
