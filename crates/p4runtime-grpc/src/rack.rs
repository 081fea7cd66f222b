//! p4rack's own service, as commands: description and control of a switch.

use crate::admission::{ANSWERS, Client};
use crate::command::{Command, Front};
use crate::generated_rack_server::rack_server::Rack;
use crate::guard::{Kept, client, no_memory};
use crate::service::{
    Answers, EncodedReadResponse, RawMergeRequest, RawReadRequest, RawSampleRequest, RawSteerRequest,
    RawTraceRequest, gone,
};
use base_time::Duration;
use controller::Steer;
use p4runtime_proto::p4rack::v1::steer_request::What;
use p4runtime_proto::p4rack::v1::{
    MergeRequest, MergeResponse, SampleResponse, ShowRequest, ShowResponse, SteerResponse, TraceResponse,
};
use prost::Message;
use std::sync::Arc;
use tokio::sync::oneshot;
use tonic::{Request, Response, Status};

/// The longest frame that is traced, in bytes.
const FRAME: usize = 16 << 10;

#[tonic::async_trait]
impl Rack for Front {
    type ReadRunningStream = Answers<EncodedReadResponse>;

    async fn read_running(
        &self,
        request: Request<RawReadRequest>,
    ) -> Result<Response<Self::ReadRunningStream>, Status> {
        let client = client(request.extensions());
        let (request, hold) = self.decoded(request.into_inner(), client.clone(), 2, "queries").await?;
        self.found(client, |reply| Command::ReadRunning(request, hold, reply)).await
    }

    async fn show(&self, request: Request<ShowRequest>) -> Result<Response<ShowResponse>, Status> {
        let client = client(request.extensions());
        let (reply, answer) = oneshot::channel();
        self.send(client.as_ref(), Command::Show(reply)).await?;
        answered(client, answer.await.map_err(|_| gone())?)
    }

    async fn steer(&self, request: Request<RawSteerRequest>) -> Result<Response<SteerResponse>, Status> {
        let client = client(request.extensions());
        let (request, _hold) = self.decoded(request.into_inner(), client.clone(), 0, "parts").await?;
        let client = client.as_ref();
        let what = match request.what {
            Some(What::Hold(hold)) => {
                let lease = (hold.lease_ns > 0).then(|| Duration::from_ns(hold.lease_ns));
                Steer::Hold { open: hold.open_ports, lease }
            }
            Some(What::ExtendHold(hold)) => Steer::ExtendHold(Duration::from_ns(hold.lease_ns)),
            Some(What::Release(_)) => Steer::Release,
            Some(What::ForgetSaved(_)) => Steer::ForgetSaved,
            Some(What::Reset(_)) => Steer::Reset,
            Some(What::EndClients(end)) => Steer::EndClients(end.streams),
            Some(What::KeepOut(keep)) => Steer::KeepOut { device: keep.device, ends: keep.ends },
            Some(What::SetThresholds(set)) => Steer::SetThresholds(set.thresholds.unwrap_or_default()),
            Some(What::ChangeGroup(change)) => Steer::ChangeGroup(change),
            Some(What::MoveFlow(flow)) => Steer::MoveFlow(flow),
            Some(What::Replace(replace)) => Steer::Replace(replace.regions),
            Some(What::AddPort(add)) => {
                self.ask(client, |reply| Command::AddPort(add.port, reply)).await?;
                return Ok(Response::new(SteerResponse {}));
            }
            Some(What::RemovePort(remove)) => {
                self.ask(client, |reply| Command::RemovePort(remove.number, reply)).await?;
                return Ok(Response::new(SteerResponse {}));
            }
            None => return Err(Status::invalid_argument("the request is empty")),
        };
        self.ask(client, |reply| Command::Steer(request.election_id, what, reply)).await?;
        Ok(Response::new(SteerResponse {}))
    }

    async fn trace(&self, request: Request<RawTraceRequest>) -> Result<Response<TraceResponse>, Status> {
        let client = client(request.extensions());
        let (request, _hold) = self.decoded(request.into_inner(), client.clone(), 0, "parts").await?;
        if request.frame.len() > FRAME {
            let why = format!("the frame has {} bytes, and the limit is {FRAME}", request.frame.len());
            return Err(Status::invalid_argument(why));
        }
        let traced = self.ask(client.as_ref(), |reply| Command::Trace(request, reply)).await?;
        let length = traced.encoded_len();
        if length > ANSWERS {
            let why = format!("the trace has {length} bytes, and the limit is {ANSWERS}");
            return Err(Status::resource_exhausted(why));
        }
        answered(client, traced)
    }

    async fn merge(&self, request: Request<RawMergeRequest>) -> Result<Response<MergeResponse>, Status> {
        let client = client(request.extensions());
        let (request, _hold) = self.decoded(request.into_inner(), client.clone(), 0, "parts").await?;
        let MergeRequest { election_id, frame } = request;
        let frame = self.ask(client.as_ref(), |reply| Command::Merge(election_id, frame, reply)).await?;
        answered(client, MergeResponse { frame })
    }

    async fn sample(&self, request: Request<RawSampleRequest>) -> Result<Response<SampleResponse>, Status> {
        let client = client(request.extensions());
        let (request, _hold) = self.decoded(request.into_inner(), client.clone(), 0, "parts").await?;
        let sampled = self.ask(client.as_ref(), |reply| Command::Sample(request, reply)).await?;
        answered(client, sampled)
    }
}

/// An answer that counts for its connection until it has been sent. It does not count towards the memory of all, so that what others do
/// not read keeps no operator from getting answers.
fn answered<M: Message>(client: Option<Arc<Client>>, answer: M) -> Result<Response<M>, Status> {
    let mut hold = client.map(|client| client.answers.hold(None));
    if let Some(hold) = &mut hold
        && !hold.grow(answer.encoded_len().min(ANSWERS))
    {
        return Err(no_memory());
    }
    let mut response = Response::new(answer);
    if let Some(hold) = hold {
        response.extensions_mut().insert(Kept::new(hold));
    }
    Ok(response)
}
