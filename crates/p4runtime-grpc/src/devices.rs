//! Several devices behind one address: each call goes to the device that it names.

use crate::command::{Command, Front, Listener};
use crate::generated_server::p4_runtime_server::P4Runtime;
use crate::guard::client;
use crate::head::read_device_id;
use crate::service::{
    Answers, EncodedReadResponse, RawReadRequest, RawSetForwardingPipelineConfigRequest, RawWriteRequest,
    beside,
};
use crate::streams::response_channel;
use crate::trailers::status;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    StreamMessageResponse, WriteResponse, stream_message_request::Update,
};
use p4runtime_server::Status;
use prost::bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Streaming};

/// Devices with a common address, by device id. Clones share the devices.
#[derive(Clone)]
pub struct Devices(Arc<BTreeMap<u64, Front>>);

impl Devices {
    /// Collects devices; if several have the same id, the last one counts.
    pub fn new(fronts: impl IntoIterator<Item = (u64, Front)>) -> Devices {
        Devices(Arc::new(fronts.into_iter().collect()))
    }

    /// The device with an id, if the caller may call it.
    fn device(&self, id: u64, caller: &MetadataMap) -> Result<&Front, tonic::Status> {
        let front = self.0.get(&id).ok_or_else(|| status(&self.unknown(id)))?;
        front.gate.check(caller)?;
        Ok(front)
    }

    /// The device that an encoded request names.
    async fn named(&self, bytes: &Bytes, caller: &MetadataMap) -> Result<&Front, tonic::Status> {
        let inner = bytes.clone();
        let id = beside(bytes.len(), move || read_device_id(&inner)).await??;
        self.device(id, caller)
    }

    fn unknown(&self, id: u64) -> Status {
        let ids: Vec<String> = self.0.keys().map(u64::to_string).collect();
        let message = format!("there is no device with id {id}: here are the devices {}", ids.join(", "));
        Status { code: Code::NotFound, message, details: vec![] }
    }
}

#[tonic::async_trait]
impl P4Runtime for Devices {
    type ReadStream = Answers<EncodedReadResponse>;
    type StreamChannelStream = Answers<StreamMessageResponse>;

    async fn write(
        &self,
        request: Request<RawWriteRequest>,
    ) -> Result<Response<WriteResponse>, tonic::Status> {
        let front = self.named(&request.get_ref().bytes, request.metadata()).await?;
        front.write(request).await
    }

    async fn read(
        &self,
        request: Request<RawReadRequest>,
    ) -> Result<Response<Self::ReadStream>, tonic::Status> {
        let front = self.named(&request.get_ref().bytes, request.metadata()).await?;
        front.read(request).await
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<RawSetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, tonic::Status> {
        let front = self.named(&request.get_ref().bytes, request.metadata()).await?;
        front.set_forwarding_pipeline_config(request).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, tonic::Status> {
        let front = self.device(request.get_ref().device_id, request.metadata())?;
        front.get_forwarding_pipeline_config(request).await
    }

    /// The first message, which must be about arbitration, names the device. The answer does not wait for it: some
    /// clients send nothing before they have the answer's head.
    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, tonic::Status> {
        let (response_channel, hearing) = response_channel();
        let refusal = response_channel.refusal();
        let (devices, client) = (self.clone(), client(request.extensions()));
        let caller = request.metadata().clone();
        let mut said = request.into_inner();
        tokio::spawn(async move {
            let Ok(Some(first)) = said.message().await else { return };
            let front = match &first.update {
                Some(Update::Arbitration(arbitration)) => devices.device(arbitration.device_id, &caller),
                _ => Err(tonic::Status::failed_precondition(
                    "the first message of a stream must be a `MasterArbitrationUpdate`: it names the device",
                )),
            };
            let front = match front {
                Ok(front) => front.clone(),
                Err(why) => {
                    response_channel.send(Err(why));
                    return;
                }
            };
            let stream = front.next_stream();
            // Without room the stream ends: the sender of the answers is dropped.
            if front.send(client.as_ref(), Command::Open(stream, Listener(response_channel))).await.is_ok() {
                front.listen(stream, Some(first), said, client, refusal).await;
            }
        });
        Ok(Response::new(Box::pin(hearing)))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, tonic::Status> {
        // Before version 1.5 of the specification, this request names no device. All are of one kind.
        let id = match (request.get_ref().device_id, self.0.keys().next()) {
            (0, Some(first)) if !self.0.contains_key(&0) => *first,
            (id, _) => id,
        };
        self.device(id, request.metadata())?.capabilities(request).await
    }
}
