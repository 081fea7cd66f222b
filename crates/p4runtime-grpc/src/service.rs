//! The service's calls as commands.
//!
//! Requests that may be large are decoded late: first the device is asked whether the sender may make the request, then the memory that
//! the request will take is reserved. Large requests are decoded on another thread, so that other clients are served meanwhile.

use crate::admission::Client;
use crate::answers::answers;
use crate::budget::Hold;
use crate::codec::{Encoded, Raw};
use crate::command::{Command, Found, Front, Listener, PATIENCE, Reply, Waiting};
use crate::generated_server::p4_runtime_server::P4Runtime;
use crate::guard::{Kept, client, no_memory};
use crate::head::{Head, read_head};
use crate::parts::Parts;
use crate::streams::{Refusal, response_channel};
use crate::trailers::status;
use crate::weigh::weigh;
use p4runtime_proto::p4::v1::stream_message_request::Update;
use p4runtime_proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse,
};
use p4runtime_proto::p4rack::v1::{MergeRequest, SampleRequest, SteerRequest, TraceRequest};
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
/// A `Steer`, `Trace`, `Merge` or `Sample` that is not decoded yet.
pub(crate) type RawSteerRequest = Raw<SteerRequest>;
pub(crate) type RawTraceRequest = Raw<TraceRequest>;
pub(crate) type RawMergeRequest = Raw<MergeRequest>;
pub(crate) type RawSampleRequest = Raw<SampleRequest>;
/// An encoded part of the answer to a `Read`.
pub(crate) type EncodedReadResponse = Encoded<ReadResponse>;

/// Pause before looking for memory for a message of a stream again.
const AGAIN: Duration = Duration::from_millis(5);

/// Metadata of a packet that a controller sends. An empty one has two bytes, and takes 32 when it is decoded.
const METADATA: usize = 1024;

/// Messages of one stream that may wait for the device.
const MESSAGES: usize = 64;

/// From this size on, in bytes, the device is asked about the sender before a request is decoded.
const ASKED_FIRST: usize = 4 << 10;

/// From this size on, in bytes, a request is decoded on another thread.
const DECODED_BESIDE: usize = 16 << 10;

/// Size of a piece of an answer, in bytes.
const PIECE: usize = p4runtime_server::Pieces::SIZE;

/// Size limit for `Read` requests, in bytes.
const MOST_QUERIES_BYTES: usize = 16 << 20;

/// Size limit for `SetForwardingPipelineConfig` requests, in bytes. The source text of a program is limited to the same size.
const MOST_CONFIG_BYTES: usize = 16 << 20;

pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, tonic::Status>> + Send>>;

fn busy() -> tonic::Status {
    tonic::Status::unavailable("the device is overloaded: try again")
}

/// Refuses a request of more than `most` bytes.
fn check_size(what: &str, bytes: usize, most: usize) -> Result<(), tonic::Status> {
    match bytes > most {
        false => Ok(()),
        true => Err(tonic::Status::resource_exhausted(format!(
            "the {what} {bytes} bytes, and the limit is {most}"
        ))),
    }
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
    pub(crate) async fn ask<T>(
        &self,
        client: Option<&Arc<Client>>,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, tonic::Status> {
        let (reply, answer) = oneshot::channel();
        self.send(client, command(reply)).await?;
        answer.await.map_err(|_| gone())?.map_err(|error| status(&error))
    }

    /// Sends a command; waits a while for room.
    pub(crate) async fn send(
        &self,
        client: Option<&Arc<Client>>,
        command: Command,
    ) -> Result<(), tonic::Status> {
        match tokio::time::timeout(PATIENCE, self.enqueue(client, command)).await {
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
        self.send(client.as_ref(), command(reply)).await?;
        let (found, ended) = answer.await.map_err(|_| gone())?;
        let mut hold = self.budget.hold(client);
        // A piece is copied when it is sent.
        if !hold.grow(found.bytes() + found.bytes().min(2 * PIECE)) {
            return Err(no_memory());
        }
        Ok(Response::new(answers(found.into_bytes(), hold, ended.err().map(|error| status(&error)))))
    }

    /// Passes on a controller's messages until its stream ends, after the `first` if that has come already.
    pub(crate) async fn listen(
        self,
        stream: StreamId,
        mut first: Option<StreamMessageRequest>,
        mut said: Streaming<StreamMessageRequest>,
        client: Option<Arc<Client>>,
        refusal: Refusal,
    ) {
        let waiting = Arc::new(Semaphore::new(MESSAGES));
        loop {
            let message = match first.take() {
                Some(message) => Ok(Some(message)),
                None => said.message().await,
            };
            let message = match message {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(why) => {
                    refusal.refuse(why);
                    break;
                }
            };
            if let Some(Update::Packet(packet)) = &message.update
                && packet.metadata.len() > METADATA
            {
                let why =
                    format!("the packet has {} metadata, and the limit is {METADATA}", packet.metadata.len());
                refusal.refuse(tonic::Status::resource_exhausted(why));
                break;
            }
            // It is never closed.
            let Ok(permit) = Arc::clone(&waiting).acquire_owned().await else { break };
            let mut hold = self.budget.hold(client.clone());
            while !hold.grow(message.encoded_len()) {
                tokio::time::sleep(AGAIN).await;
            }
            let permit = Waiting { _permit: permit, _hold: hold };
            if !self.enqueue(client.as_ref(), Command::Message(stream, Box::new(message), permit)).await {
                return;
            }
        }
        self.enqueue(client.as_ref(), Command::Close(stream)).await;
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
        // The bytes are freed; while the message was decoded, both needed memory.
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
            self.ask(client.as_ref(), |reply| Command::MayWrite(Box::new(head), reply)).await?;
        }
        let (request, hold) = self.decoded(raw, client.clone(), 4, "updates").await?;
        self.ask(client.as_ref(), |reply| Command::Write(Box::new(request), hold, reply)).await?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<RawReadRequest>,
    ) -> Result<Response<Self::ReadStream>, tonic::Status> {
        let client = client(request.extensions());
        let raw = request.into_inner();
        check_size("queries have", raw.bytes.len(), MOST_QUERIES_BYTES)?;
        let (request, hold) = self.decoded(raw, client.clone(), 2, "queries").await?;
        self.found(client, |reply| Command::Read(request, hold, reply)).await
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<RawSetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, tonic::Status> {
        let client = client(request.extensions());
        let raw = request.into_inner();
        check_size("configuration has", raw.bytes.len(), MOST_CONFIG_BYTES)?;
        if raw.bytes.len() >= ASKED_FIRST {
            let Head { device_id, election_id, role } = head(&raw).await?;
            let head =
                SetForwardingPipelineConfigRequest { device_id, election_id, role, ..Default::default() };
            self.ask(client.as_ref(), |reply| Command::MaySetConfig(Box::new(head), reply)).await?;
        }
        // It has no list of its own; the estimate covers its P4Info.
        let (request, hold) = self.decoded(raw, client.clone(), 0, "parts").await?;
        self.ask(client.as_ref(), |reply| Command::SetConfig(Box::new(request), hold, reply)).await?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, tonic::Status> {
        let client = client(request.extensions());
        let mut hold = self.budget.hold(client.clone());
        let request = request.into_inner();
        let found = self.ask(client.as_ref(), |reply| Command::GetConfig(request, reply)).await?;
        let info =
            found.config.as_ref().and_then(|config| config.p4info.as_ref()).map_or(0, Message::encoded_len);
        // A client may ask many times and read nothing. The text is the device's, but it stays until the answer is sent, even if the device
        // has another program by then.
        if !hold.grow(found.encoded_len() + info) {
            return Err(no_memory());
        }
        let parts = beside(info, || Parts::of_config(found)).await?;
        let mut response = Response::new(GetForwardingPipelineConfigResponse::default());
        response.extensions_mut().insert(Kept::new(hold));
        response.extensions_mut().insert(parts);
        Ok(response)
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, tonic::Status> {
        let stream = self.next_stream();
        let (response_channel, hearing) = response_channel();
        let refusal = response_channel.refusal();
        let client = client(request.extensions());
        self.send(client.as_ref(), Command::Open(stream, Listener(response_channel))).await?;
        tokio::spawn(self.clone().listen(stream, None, request.into_inner(), client, refusal));
        Ok(Response::new(Box::pin(hearing)))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, tonic::Status> {
        self.ask(client(request.extensions()).as_ref(), Command::Capabilities).await.map(Response::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::command::queue;
    use crate::limits::Limits;
    use p4runtime_proto::p4::v1::ForwardingPipelineConfig;

    /// A client that reads no answers keeps the texts of programs that the device has replaced.
    #[tokio::test]
    async fn a_text_that_is_not_sent_takes_memory() {
        let (front, commands) = queue(8, Limits::default(), Budget::of(100_000));
        let owner = std::thread::spawn(move || {
            for _ in 0..3 {
                let asked = commands.recv().expect("a command");
                let Command::GetConfig(_, reply) = asked.take() else { panic!("another command") };
                let config = ForwardingPipelineConfig {
                    p4_device_config: vec![b'a'; 60_000].into(),
                    ..Default::default()
                };
                let _ = reply.send(Ok(GetForwardingPipelineConfigResponse { config: Some(config) }));
            }
        });
        let ask = || front.get_forwarding_pipeline_config(Request::new(Default::default()));
        let first = ask().await.expect("there is memory");
        let refused = ask().await.expect_err("there is none beside it");
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        drop(first);
        assert!(ask().await.is_ok());
        owner.join().expect("three commands");
    }
}
