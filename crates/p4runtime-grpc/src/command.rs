//! Commands for the thread that owns the device.

use crate::admission::Admission;
use crate::budget::{Budget, Hold};
use crate::limits::{Limits, Rules};
use crate::secret::{Gate, Secret};
use crate::streams::Telling;
use controller::{DeviceId, Heard, Steer};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, WriteRequest,
};
use p4runtime_proto::p4rack::v1::{ShowResponse, TraceRequest, TraceResponse};
use p4runtime_server::{Pieces, Status, StreamId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Receiver of an answer; it may be gone.
pub type Reply<T> = oneshot::Sender<Result<T, Status>>;

/// Receiver of a read's result and status.
pub type Found = oneshot::Sender<(Pieces, Result<(), Status>)>;

/// A command for the owner of the switch.
pub enum Command {
    /// Asks whether a `Write` with this head would be allowed. The updates are not decoded yet.
    MayWrite(Box<WriteRequest>, Reply<()>),
    /// Asks whether a `SetForwardingPipelineConfig` with this head would be allowed.
    MaySetConfig(Box<SetForwardingPipelineConfigRequest>, Reply<()>),
    /// The RPC `Write`, and the memory it uses.
    Write(Box<WriteRequest>, Hold, Reply<()>),
    /// `Write` by the operator of the switch, without an election id.
    Operate(Box<WriteRequest>, Reply<()>),
    /// The RPC `Read`.
    Read(ReadRequest, Hold, Found),
    /// `Read` of the running program, even if another program is saved.
    ReadRunning(ReadRequest, Hold, Found),
    /// The RPC `SetForwardingPipelineConfig`, and the memory it uses.
    SetConfig(Box<SetForwardingPipelineConfigRequest>, Hold, Reply<()>),
    /// The slow part of a call has ended on another thread, successfully or not. The number is the owner's.
    Prepared(u64, bool),
    /// This number of batches is saved, or the reason why the last of them cannot be saved.
    Kept(u64, Result<(), String>),
    /// The RPC `GetForwardingPipelineConfig`.
    GetConfig(GetForwardingPipelineConfigRequest, Reply<GetForwardingPipelineConfigResponse>),
    /// The RPC `Capabilities`.
    Capabilities(Reply<CapabilitiesResponse>),
    /// A controller has opened a stream; messages to it go through the sender, which [`Streams`](crate::Streams) keeps.
    Open(StreamId, Listener),
    /// A message of a controller, and its place among the messages of the stream that may wait.
    Message(StreamId, Box<StreamMessageRequest>, Waiting),
    /// A stream has ended.
    Close(StreamId),
    /// Description and counters of the switch.
    Show(oneshot::Sender<ShowResponse>),
    /// Name and algorithm of each calculation of the running program, as BMv2 names them.
    Calculations(oneshot::Sender<Vec<(String, String)>>),
    /// A request of an operator, or of a controller, with its election id.
    Steer(Option<Uint128>, Steer, Reply<()>),
    /// Adds a port, written as for `-i`.
    AddPort(String, Reply<()>),
    /// Removes a port.
    RemovePort(u32, Reply<()>),
    /// Traces a frame.
    Trace(TraceRequest, Reply<TraceResponse>),
    /// A message of a rack's merge, from the controller with this election id.
    Merge(Option<Uint128>, Vec<u8>, Reply<Vec<u8>>),
    /// Message of the agent of a device in another process.
    Agent(DeviceId, Box<Heard>),
    /// Metrics in Prometheus's text form.
    Metrics(oneshot::Sender<String>),
    /// Ends the owner after the earlier commands.
    Stop,
}

/// The place of a message among those of its stream that may wait, and the memory it uses; given back on drop.
pub struct Waiting {
    pub(crate) _permit: OwnedSemaphorePermit,
    pub(crate) _hold: Hold,
}

/// Sender to a controller's stream.
pub struct Listener(pub(crate) Telling);

/// Sender to the thread that owns the device.
#[derive(Clone)]
pub struct Front {
    commands: Sender<Command>,
    streams: Arc<AtomicU64>,
    pub(crate) gate: Gate,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    admission: Admission,
}

/// The two ends of a queue of `commands` commands. `limits` apply to clients.
pub fn queue(commands: usize, limits: Limits) -> (Front, Receiver<Command>) {
    let (commands, asked) = bounded(commands);
    let front = Front {
        commands,
        streams: Arc::default(),
        gate: Gate::default(),
        limits,
        budget: Budget::default(),
        admission: Admission::new(Rules::calls(limits)),
    };
    (front, asked)
}

/// Reason why a command was not sent; if the queue is full, it contains the command.
pub(crate) enum Stuck {
    Full(Command),
    Gone,
}

impl Front {
    /// Serves only clients with this secret from now on. Without one, the secret of the first controller of a rack is kept, if `learns`
    /// is true.
    pub fn guard(&self, secret: Option<Secret>, learns: bool) {
        self.gate.set(secret, learns);
    }

    pub(crate) fn next_stream(&self) -> StreamId {
        StreamId(self.streams.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn try_send(&self, command: Command) -> Result<(), Stuck> {
        self.commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(command) => Stuck::Full(command),
            TrySendError::Disconnected(_) => Stuck::Gone,
        })
    }

    /// Metrics in Prometheus's text form; `None` if the owner is gone or overloaded.
    pub async fn metrics(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.try_send(Command::Metrics(reply)).ok()?;
        answer.await.ok()
    }

    /// The connections to the P4Runtime address.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Sends [`Command::Prepared`]; waits for room. Returns false if the device has ended.
    pub fn prepared(&self, number: u64, is_done: bool) -> bool {
        self.send_blocking(Command::Prepared(number, is_done))
    }

    /// Sends [`Command::Kept`]; waits for room. Returns false if the device has ended.
    pub fn kept(&self, count: u64, kept: Result<(), String>) -> bool {
        self.send_blocking(Command::Kept(count, kept))
    }

    /// Sends a command; waits for room. Returns false if the device has ended.
    pub(crate) fn send_blocking(&self, command: Command) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Asks the owner to end; waits for room.
    pub fn stop(&self) {
        // A client that is gone has ended.
        let _ = self.send_blocking(Command::Stop);
    }
}
