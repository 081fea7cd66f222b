//! The service's calls as commands.
//!
//! Requests that may be large are decoded late: first the device is asked whether the sender may make the request, then the memory that
//! the request will take is reserved. Large requests are decoded on another thread, so that other clients are served meanwhile.

use crate::admission::Client;
use crate::answers::answers;
use crate::budget::Hold;
use crate::codec::{Encoded, Raw};
use crate::command::{Command, Found, Front, Listener, Reply, Stuck, Waiting};
use crate::generated_server::p4_runtime_server::P4Runtime;
use crate::guard::{Kept, client, no_memory};
use crate::head::{Head, read_head};
use crate::streams::response_channel;
use crate::trailers::status;
use crate::weigh::weigh;
use p4runtime_proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse,
};
use p4runtime_server::StreamId;
use prost::{Message, Name};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio_stream::Stream;
use tonic::{Request, Response, Streaming};

/// A `Write` that is not decoded yet.
pub(crate) type RawWriteRequest = Raw<WriteRequest>;
/// A `Read` that is not decoded yet.
pub(crate) type RawReadRequest = Raw<ReadRequest>;
/// A `SetForwardingPipelineConfig` that is not decoded yet.
pub(crate) type RawSetForwardingPipelineConfigRequest = Raw<SetForwardingPipelineConfigRequest>;
/// An encoded part of the answer to a `Read`.
pub(crate) type EncodedReadResponse = Encoded<ReadResponse>;

/// Pause before looking for room in the device's queue again.
const AGAIN: Duration = Duration::from_micros(200);

/// Longest wait of a call for room in the device's queue.
const PATIENCE: Duration = Duration::from_secs(1);

/// Messages of one stream that may wait for the device.
const MESSAGES: usize = 64;

/// From this size on, in bytes, the device is asked about the sender before a request is decoded.
const ASKED_FIRST: usize = 4 << 10;

/// From this size on, in bytes, a request is decoded on another thread.
const DECODED_BESIDE: usize = 256 << 10;

/// Size of a piece of an answer, in bytes.
const PIECE: usize = p4runtime_server::Pieces::SIZE;

/// Size limit for `Read` requests, in bytes.
const MOST_QUERIES_BYTES: usize = 16 << 20;

pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, tonic::Status>> + Send>>;

fn busy() -> tonic::Status {
    tonic::Status::unavailable("the device is overloaded: try again")
}

pub(crate) fn gone() -> tonic::Status {
    tonic::Status::unavailable("the device has stopped")
}

/// Work on this many bytes of a request; if they are many, on another thread.
pub(crate) async fn beside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tonic::Status> {
    match bytes < DECODED_BESIDE {
        true => Ok(work()),
        false => tokio::task::spawn_blocking(work).await.map_err(|_| gone()),
    }
}

async fn head<M: Message + Default + 'static>(raw: &Raw<M>) -> Result<Head, tonic::Status> {
    let bytes = raw.bytes.clone();
    beside(bytes.len(), move || read_head(&bytes, 6)).await?
}

impl Front {
    pub(crate) async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, tonic::Status> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        answer.await.map_err(|_| gone())?.map_err(|error| status(&error))
    }

    /// Sends a command; waits a while for room.
    pub(crate) async fn send(&self, command: Command) -> Result<(), tonic::Status> {
        let sent = tokio::time::timeout(PATIENCE, self.send_when_possible(command)).await;
        match sent {
            Ok(true) => Ok(()),
            Ok(false) => Err(gone()),
            Err(_) => Err(busy()),
        }
    }

    /// Result of a read.
    pub(crate) async fn found(
        &self,
        client: Option<Arc<Client>>,
        command: impl FnOnce(Found) -> Command,
    ) -> Result<Response<Answers<EncodedReadResponse>>, tonic::Status> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        let (found, ended) = answer.await.map_err(|_| gone())?;
        let mut hold = self.budget.hold(client);
        // A piece is copied when it is sent.
        if !hold.grow(found.bytes() + found.bytes().min(2 * PIECE)) {
            return Err(no_memory());
        }
        Ok(Response::new(answers(found.into_bytes(), hold, ended.err().map(|error| status(&error)))))
    }

    /// Waits for room in the queue. False if the owner of the device has ended.
    pub(crate) async fn send_when_possible(&self, mut command: Command) -> bool {
        loop {
            match self.try_send(command) {
                Ok(()) => return true,
                Err(Stuck::Gone) => return false,
                Err(Stuck::Full(back)) => command = back,
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Passes on a controller's messages until its stream ends, after the `first` if that has come already.
    pub(crate) async fn listen(
        self,
        stream: StreamId,
        mut first: Option<StreamMessageRequest>,
        mut said: Streaming<StreamMessageRequest>,
        client: Option<Arc<Client>>,
    ) {
        let waiting = Arc::new(Semaphore::new(MESSAGES));
        loop {
            let message = match first.take() {
                Some(message) => Some(message),
                None => said.message().await.ok().flatten(),
            };
            let Some(message) = message else { break };
            // It is never closed.
            let Ok(permit) = Arc::clone(&waiting).acquire_owned().await else { break };
            let mut hold = self.budget.hold(client.clone());
            while !hold.grow(message.encoded_len()) {
                tokio::time::sleep(AGAIN).await;
            }
            let permit = Waiting { _permit: permit, _hold: hold };
            if !self.send_when_possible(Command::Message(stream, Box::new(message), permit)).await {
                return;
            }
        }
        self.send_when_possible(Command::Close(stream)).await;
    }

    /// Decodes a request, unless its field `field` has too many elements (called `what`), or there is not enough memory.
    pub(crate) async fn decoded<M: Message + Name + Default + 'static>(
        &self,
        raw: Raw<M>,
        client: Option<Arc<Client>>,
        field: u32,
        what: &str,
    ) -> Result<(M, Hold), tonic::Status> {
        let most = self.limits.updates;
        let bytes = raw.bytes.clone();
        let weight = beside(raw.bytes.len(), move || weigh::<M>(&bytes, field, most)).await?;
        if weight.elements > most {
            return Err(tonic::Status::resource_exhausted(format!(
                "too many {what} in one request: the limit is {most} (`--max-updates`); use several requests"
            )));
        }
        let mut hold = self.budget.hold(client);
        if !hold.grow(raw.bytes.len() + weight.bytes) {
            return Err(no_memory());
        }
        let length = raw.bytes.len();
        let message = beside(length, || raw.decode()).await??;
        hold.shrink(length);
        Ok((message, hold))
    }
}

#[tonic::async_trait]
impl P4Runtime for Front {
    type ReadStream = Answers<EncodedReadResponse>;
    type StreamChannelStream = Answers<StreamMessageResponse>;

    async fn write(
        &self,
        request: Request<RawWriteRequest>,
    ) -> Result<Response<WriteResponse>, tonic::Status> {
        let client = client(request.extensions());
        let raw = request.into_inner();
        if raw.bytes.len() >= ASKED_FIRST {
            let Head { device_id, election_id, role } = head(&raw).await?;
            let head = WriteRequest { device_id, election_id, role, ..WriteRequest::default() };
            self.ask(|reply| Command::MayWrite(Box::new(head), reply)).await?;
        }
        let (request, hold) = self.decoded(raw, client, 4, "updates").await?;
        self.ask(|reply| Command::Write(Box::new(request), hold, reply)).await?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<RawReadRequest>,
    ) -> Result<Response<Self::ReadStream>, tonic::Status> {
        let client = client(request.extensions());
        let raw = request.into_inner();
        let bytes = raw.bytes.len();
        if bytes > MOST_QUERIES_BYTES {
            let why = format!("the queries have {bytes} bytes, and the limit is {MOST_QUERIES_BYTES}");
            return Err(tonic::Status::resource_exhausted(why));
        }
        let (request, hold) = self.decoded(raw, client.clone(), 2, "queries").await?;
        self.found(client, |reply| Command::Read(request, hold, reply)).await
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<RawSetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, tonic::Status> {
        let client = client(request.extensions());
        let raw = request.into_inner();
        if raw.bytes.len() >= ASKED_FIRST {
            let Head { device_id, election_id, role } = head(&raw).await?;
            let head =
                SetForwardingPipelineConfigRequest { device_id, election_id, role, ..Default::default() };
            self.ask(|reply| Command::MaySetConfig(Box::new(head), reply)).await?;
        }
        // It has no list of its own; the estimate covers its P4Info.
        let (request, hold) = self.decoded(raw, client, 0, "parts").await?;
        self.ask(|reply| Command::SetConfig(Box::new(request), hold, reply)).await?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, tonic::Status> {
        let mut hold = self.budget.hold(client(request.extensions()));
        let request = request.into_inner();
        let config = self.ask(|reply| Command::GetConfig(request, reply)).await?;
        // A client may ask many times and read nothing.
        if !hold.grow(4 * config.encoded_len()) {
            return Err(no_memory());
        }
        let mut response = Response::new(config);
        response.extensions_mut().insert(Kept::new(hold));
        Ok(response)
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, tonic::Status> {
        let stream = self.next_stream();
        let (response_channel, hearing) = response_channel();
        self.send(Command::Open(stream, Listener(response_channel))).await?;
        let client = client(request.extensions());
        tokio::spawn(self.clone().listen(stream, None, request.into_inner(), client));
        Ok(Response::new(Box::pin(hearing)))
    }

    async fn capabilities(
        &self,
        _request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, tonic::Status> {
        self.ask(Command::Capabilities).await.map(Response::new)
    }
}
