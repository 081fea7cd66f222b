//! Interface of controllers and ports to a switch, be it one device or a rack.

use super::Metric;
use base_time::{Duration, Time};
use controller::{Ask, AskId, Call, Controller, DeviceId, Heard, Reply, Ticket};
use device::v1model::Calculation;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, WriteRequest,
};
use p4runtime_proto::p4rack::v1::ShowResponse;
use p4runtime_server::{Ahead, Status, StreamId};
use state_journal::Batch;
use target_native::Shared;

/// Effects of a switch for its owner to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The reply to a call.
    Reply(Ticket, Reply),
    /// A message for a controller. It is lost if it cannot be delivered.
    Send(StreamId, StreamMessageResponse),
    /// The end of its stream.
    End(StreamId, Status),
    /// A frame leaves by a port.
    Frame(u32, Vec<u8>),
    /// For the agent of a device in another process; with an id if the answer is waited for.
    Ask(DeviceId, Option<AskId>, Ask),
}

/// Requests answered without a change to the switch: by a device's server, or by a rack's controller.
pub trait Answers {
    /// Checks whether the sender of a `Write` may make it. The updates are not needed.
    fn may_write(&self, head: &WriteRequest) -> Result<(), Status>;

    /// Checks whether a controller with this election id may have frames of the device.
    fn may_sample(&self, election: Option<&Uint128>) -> Result<(), Status>;

    /// Checks whether the sender of a `SetForwardingPipelineConfig` may make it. The config is not needed.
    fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status>;

    /// The expensive part of a call that does not need the switch, if there is one. It can run on another thread before the call.
    fn ahead(&self, call: &Call) -> Option<Ahead>;

    /// The RPC `GetForwardingPipelineConfig`.
    fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status>;

    /// The RPC `Capabilities`.
    fn capabilities(&self) -> CapabilitiesResponse;
}

/// One switch under P4Runtime. Time, requests and frames come in, [`Event`]s go out.
pub trait Served {
    /// Answers for it.
    fn answers(&self) -> &dyn Answers;

    /// From now on, notes what controllers write, for [`noted`](Served::noted). Before the first call.
    fn keep_notes(&mut self);

    /// Changes of the desired state since the last call. They must be stored before replies that are issued after this call may be sent.
    fn noted(&mut self) -> Batch;

    /// So many of the batches that [`noted`](Served::noted) gave and that were not empty are stored, or will never be. Writes may wait for that.
    fn kept(&mut self, _now: Time, _batches: u64) -> Vec<Event> {
        vec![]
    }

    /// A call; its reply is an event, now or later.
    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event>;

    /// A controller says something on its stream.
    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event>;

    /// A controller's stream has ended.
    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event>;

    /// Runs a frame that arrives on a port.
    fn frame(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event>;

    /// The same, of a frame that has waited for so long since it arrived: a server of a group drops calls that are too old.
    fn frame_after(&mut self, now: Time, _waited: Duration, port: u32, frame: &[u8]) -> Vec<Event> {
        self.frame(now, port, frame)
    }

    /// A frame of a worker on another thread is for controllers.
    fn packet_in(&mut self, _now: Time, _frame: &[u8]) -> Vec<Event> {
        vec![]
    }

    /// Reports a port as up or down. P4Runtime has no message for it; group members that watch the port, and replicas
    /// with backups, follow it.
    fn link(&mut self, _port: u32, _is_up: bool) {}

    /// Checks whether there may be a port with this number, which has just been added.
    fn may_have(&mut self, port: u32) -> Result<(), Status>;

    /// The state that workers on other threads may run frames with; without it every frame comes by [`frame`](Served::frame). It changes with the
    /// calls that change the program, and where frames are kept out there is none: whoever has workers asks after each call, before its events
    /// are done.
    fn shared(&mut self) -> Option<Shared> {
        None
    }

    /// From now on, digests are kept for [`take_learned`](Served::take_learned). A rack has none.
    fn learn(&mut self) {}

    /// Digests of the last [`tick`](Served::tick) as BMv2's clients see them, each with the number of its list.
    fn take_learned(&mut self) -> Vec<(i32, Vec<u8>)> {
        vec![]
    }

    /// Calculations of the running program, as BMv2 names them; none for a rack.
    fn calculations(&mut self) -> Vec<Calculation> {
        vec![]
    }

    /// Does everything due by `now`.
    fn tick(&mut self, now: Time) -> Vec<Event>;

    /// When [`tick`](Served::tick) has something to do next, beside digests and idle entries, which come at any time.
    fn deadline(&mut self) -> Option<Time>;

    /// Work of its own for a thread, if there is any since the last call. When the work is over, or there is no thread for it,
    /// [`tick`](Served::tick) goes on.
    fn take_work(&mut self) -> Option<Ahead> {
        None
    }

    /// Changes that it has made by itself since the last call, for the log.
    fn take_reported(&mut self) -> Vec<String> {
        vec![]
    }

    /// True while a call is done in slices: [`go_on`](Served::go_on) does the next one. Frames may come in between, and calls for which it
    /// [makes way](Served::makes_way).
    fn is_busy(&self) -> bool;

    /// True if commands may come between the slices; calls only if it makes way for them.
    fn is_open(&self) -> bool {
        !self.is_busy()
    }

    /// True if no frame may pass during the next slice, which replaces the program: whoever has workers pauses them until they run the new
    /// one, so that no value that a frame writes is lost.
    fn wants_rest(&self) -> bool {
        false
    }

    /// Prepares those that are done in slices for another call between these. False if it has to wait.
    fn makes_way(&mut self, _call: &Call) -> bool {
        !self.is_busy()
    }

    /// The next slice.
    fn go_on(&mut self, now: Time) -> Vec<Event>;

    /// Devices, program and state of the switch, without counters.
    fn show(&self) -> ShowResponse;

    /// Handles an answer or report of an agent in another process; only for switches that have such agents.
    fn heard(&mut self, _now: Time, _device: DeviceId, _heard: Heard) -> Vec<Event> {
        vec![]
    }

    /// Why it cannot go on, if it cannot: the process ends then.
    fn failed(&self) -> Option<Status> {
        None
    }

    /// Counters of the switch.
    fn metrics(&mut self) -> Vec<Metric>;
}

/// A rack's controller answers for its devices.
impl Answers for Controller {
    fn may_write(&self, head: &WriteRequest) -> Result<(), Status> {
        self.may_write(head)
    }

    /// Frames are the devices'.
    fn may_sample(&self, _: Option<&Uint128>) -> Result<(), Status> {
        Err(Status::new(Code::Unimplemented, "only a device's agent has its frames"))
    }

    fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.may_set_config(head)
    }

    fn ahead(&self, call: &Call) -> Option<Ahead> {
        self.ahead(call)
    }

    fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.get_config(request)
    }

    fn capabilities(&self) -> CapabilitiesResponse {
        self.capabilities()
    }
}
