//! p4rack's own service, as commands: description and control of a switch.

use crate::command::{Command, Front};
use crate::generated_rack_server::rack_server::Rack;
use crate::guard::client;
use crate::service::{Answers, EncodedReadResponse, RawReadRequest, gone};
use base_time::Duration;
use controller::Steer;
use p4runtime_proto::p4rack::v1::steer_request::What;
use p4runtime_proto::p4rack::v1::{
    MergeRequest, MergeResponse, ShowRequest, ShowResponse, SteerRequest, SteerResponse, TraceRequest,
    TraceResponse,
};
use tokio::sync::oneshot;
use tonic::{Request, Response, Status};

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

    async fn show(&self, _: Request<ShowRequest>) -> Result<Response<ShowResponse>, Status> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Show(reply)).await?;
        answer.await.map(Response::new).map_err(|_| gone())
    }

    async fn steer(&self, request: Request<SteerRequest>) -> Result<Response<SteerResponse>, Status> {
        let request = request.into_inner();
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
                self.ask(|reply| Command::AddPort(add.port, reply)).await?;
                return Ok(Response::new(SteerResponse {}));
            }
            Some(What::RemovePort(remove)) => {
                self.ask(|reply| Command::RemovePort(remove.number, reply)).await?;
                return Ok(Response::new(SteerResponse {}));
            }
            None => return Err(Status::invalid_argument("the request is empty")),
        };
        self.ask(|reply| Command::Steer(request.election_id, what, reply)).await?;
        Ok(Response::new(SteerResponse {}))
    }

    async fn trace(&self, request: Request<TraceRequest>) -> Result<Response<TraceResponse>, Status> {
        let request = request.into_inner();
        self.ask(|reply| Command::Trace(request, reply)).await.map(Response::new)
    }

    async fn merge(&self, request: Request<MergeRequest>) -> Result<Response<MergeResponse>, Status> {
        let MergeRequest { election_id, frame } = request.into_inner();
        let frame = self.ask(|reply| Command::Merge(election_id, frame, reply)).await?;
        Ok(Response::new(MergeResponse { frame }))
    }
}
