//! The service's calls as commands.

use crate::command::{Command, Found, Front, Listener, Reply, Stuck};
use crate::generated::p4_runtime_server::P4Runtime;
use p4runtime_proto::google::rpc;
use p4runtime_proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse,
};
use p4runtime_server::{Status, StreamId};
use prost::{Message, Name};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, iter};
use tonic::{Code, Request, Response, Streaming};

/// Messages that wait for a controller to read them.
const WAITING: usize = 1024;

/// How long a message on a stream waits before it looks for room again.
const AGAIN: Duration = Duration::from_micros(200);

pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, tonic::Status>> + Send>>;

/// A status as gRPC says it, with its details packed into a `google.rpc.Status`.
pub(crate) fn status(status: &Status) -> tonic::Status {
    let code = Code::from_i32(status.code as i32);
    if status.details.is_empty() {
        return tonic::Status::new(code, &status.message);
    }
    let any = |error: &p4runtime_proto::p4::v1::Error| prost_types::Any {
        type_url: format!("type.googleapis.com/{}", p4runtime_proto::p4::v1::Error::full_name()),
        value: error.encode_to_vec(),
    };
    let details = rpc::Status {
        code: status.code as i32,
        message: status.message.clone(),
        details: status.details.iter().map(any).collect(),
    };
    tonic::Status::with_details(code, &status.message, details.encode_to_vec().into())
}

fn busy() -> tonic::Status {
    tonic::Status::unavailable("the device has too much to do: try again")
}

pub(crate) fn gone() -> tonic::Status {
    tonic::Status::unavailable("the device has ended")
}

impl Front {
    pub(crate) async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, tonic::Status> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply))?;
        answer.await.map_err(|_| gone())?.map_err(|error| status(&error))
    }

    pub(crate) fn send(&self, command: Command) -> Result<(), tonic::Status> {
        self.try_send(command).map_err(|stuck| match stuck {
            Stuck::Full(_) => busy(),
            Stuck::Gone => gone(),
        })
    }

    /// What a read finds.
    pub(crate) async fn found(
        &self,
        command: impl FnOnce(Found) -> Command,
    ) -> Result<Response<Answers<ReadResponse>>, tonic::Status> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply))?;
        let (found, ended) = answer.await.map_err(|_| gone())?;
        let end = ended.err().map(|error| Err(status(&error)));
        Ok(Response::new(Box::pin(iter(found.into_iter().map(Ok).chain(end)))))
    }

    /// Waits for room. False if nobody is there any more.
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

    /// Passes on what a controller says until its stream ends.
    async fn listen(self, stream: StreamId, mut said: Streaming<StreamMessageRequest>) {
        while let Ok(Some(message)) = said.message().await {
            if !self.send_when_possible(Command::Message(stream, Box::new(message))).await {
                return;
            }
        }
        self.send_when_possible(Command::Close(stream)).await;
    }
}

#[tonic::async_trait]
impl P4Runtime for Front {
    type ReadStream = Answers<ReadResponse>;
    type StreamChannelStream = Answers<StreamMessageResponse>;

    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, tonic::Status> {
        let request = Box::new(request.into_inner());
        self.ask(|reply| Command::Write(request, reply)).await?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, tonic::Status> {
        self.found(|reply| Command::Read(request.into_inner(), reply)).await
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, tonic::Status> {
        let request = Box::new(request.into_inner());
        self.ask(|reply| Command::SetConfig(request, reply)).await?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, tonic::Status> {
        let request = request.into_inner();
        self.ask(|reply| Command::GetConfig(request, reply)).await.map(Response::new)
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, tonic::Status> {
        let stream = self.next_stream();
        let (told, answers) = mpsc::channel(WAITING);
        self.send(Command::Open(stream, Listener(told)))?;
        tokio::spawn(self.clone().listen(stream, request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(answers))))
    }

    async fn capabilities(
        &self,
        _request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, tonic::Status> {
        self.ask(Command::Capabilities).await.map(Response::new)
    }
}
