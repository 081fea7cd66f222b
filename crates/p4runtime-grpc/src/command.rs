//! Commands for the thread that owns the device.

use crate::admission::{Admission, Client};
use crate::budget::{Budget, Hold};
use crate::limits::{Limits, Rules};
use crate::secret::{Gate, Secret};
use crate::streams::ResponseSender;
use controller::{DeviceId, Heard, Steer};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, WriteRequest,
};
use p4runtime_proto::p4rack::v1::{SampleRequest, SampleResponse, ShowResponse, TraceRequest, TraceResponse};
use p4runtime_server::{Pieces, Status, StreamId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Pause before looking for room in the device's queue again.
const AGAIN: Duration = Duration::from_micros(200);

/// Longest wait of a call for room in the device's queue.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

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
    /// Frames that have come in since the last call, for the controller with this election id.
    Sample(SampleRequest, Reply<SampleResponse>),
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
pub struct Listener(pub(crate) ResponseSender);

/// A command in the queue, and its places there, which are free again when the owner takes it.
pub struct Queued {
    command: Command,
    _room: Option<OwnedSemaphorePermit>,
    _turn: Option<OwnedSemaphorePermit>,
}

impl Queued {
    /// The command.
    pub fn take(self) -> Command {
        self.command
    }
}

/// Sender to the thread that owns the device.
#[derive(Clone)]
pub struct Front {
    commands: Sender<Queued>,
    /// Places in the queue, which those who wait get in turn.
    room: Arc<Semaphore>,
    streams: Arc<AtomicU64>,
    pub(crate) gate: Gate,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    admission: Admission,
}

/// The two ends of a queue of `commands` commands. `limits` apply to clients; their requests and answers take memory of the budget.
pub fn queue(commands: usize, limits: Limits, budget: Budget) -> (Front, Receiver<Queued>) {
    let room = Arc::new(Semaphore::new(commands));
    let (commands, asked) = bounded(commands + OTHERS);
    let front = Front {
        commands,
        room,
        streams: Arc::default(),
        gate: Gate::default(),
        limits,
        budget,
        admission: Admission::new(Rules::calls(limits)),
    };
    (front, asked)
}

/// Places in the queue for threads of the process, beside those of clients.
const OTHERS: usize = 64;

impl Front {
    /// Serves only clients with this secret from now on. Without one, the secret of the first controller of a rack is kept, if `learns`
    /// is true.
    pub fn guard(&self, secret: Option<Secret>, learns: bool) {
        self.gate.set(secret, learns);
    }

    pub(crate) fn next_stream(&self) -> StreamId {
        StreamId(self.streams.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits for a place in the queue. Places are given in the order in which they are asked for, and each connection asks for one at a
    /// time, so a connection with many calls delays others by one call only. False if the owner of the device has ended.
    pub(crate) async fn enqueue(&self, client: Option<&Arc<Client>>, command: Command) -> bool {
        // None of these is ever closed.
        let (turn, line) = match client {
            Some(client) => {
                (Arc::clone(&client.turns).acquire_owned().await.ok(), client.line.acquire().await.ok())
            }
            None => (None, None),
        };
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        drop(line);
        let mut queued = Queued { command, _room: room, _turn: turn };
        loop {
            queued = match self.commands.try_send(queued) {
                Ok(()) => return true,
                Err(TrySendError::Disconnected(_)) => return false,
                // Threads of the process have all of their places, and some more.
                Err(TrySendError::Full(queued)) => queued,
            };
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Metrics in Prometheus's text form, for a connection; `None` if the owner is gone or overloaded.
    pub(crate) async fn metrics(&self, client: &Arc<Client>) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        let sent = tokio::time::timeout(PATIENCE, self.enqueue(Some(client), Command::Metrics(reply))).await;
        if !sent.is_ok_and(|is_sent| is_sent) {
            return None;
        }
        answer.await.ok()
    }

    /// Memory for an answer to a client of another protocol, until it is dropped; `None` if there is not enough beside others.
    pub fn hold(&self, bytes: usize) -> Option<Hold> {
        self.budget.take(bytes)
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
        self.commands.send(Queued { command, _room: None, _turn: None }).is_ok()
    }

    /// Asks the owner to end; waits for room.
    pub fn stop(&self) {
        // A client that is gone has ended.
        let _ = self.send_blocking(Command::Stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::yield_now;

    /// Before the call of a second connection comes only one of a connection with many calls, besides those that were in the queue already.
    #[tokio::test]
    async fn connections_get_places_in_turn() {
        let (front, queue) = queue(2, Limits::default(), Budget::default());
        let address = std::net::IpAddr::from([10, 0, 0, 1]);
        let [many, one] =
            [(); 2].map(|()| front.admission.admit(address, tokio::time::Instant::now()).unwrap());
        let enqueue = |client: &Arc<Client>, number: u64| {
            let (front, client) = (front.clone(), Arc::clone(client));
            tokio::spawn(async move { front.enqueue(Some(&client), Command::Close(StreamId(number))).await })
        };
        let mut calls: Vec<_> = (0..10).map(|number| enqueue(&many, number)).collect();
        yield_now().await;
        calls.push(enqueue(&one, 100));
        let mut order = vec![];
        while order.len() < 11 {
            yield_now().await;
            if let Ok(Command::Close(StreamId(number))) = queue.try_recv().map(Queued::take) {
                order.push(number);
            }
        }
        assert_eq!(order[..5], [0, 1, 2, 100, 3]);
        for call in calls {
            assert!(call.await.unwrap());
        }
    }
}
