//! A cluster over gRPC: its members, of which one is asked at a time.

use crate::access::{self, Access, Token};
use crate::api::kv_client::KvClient;
use crate::api::lease_client::LeaseClient;
use crate::api::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    RangeRequest, RangeResponse, TxnRequest, TxnResponse,
};
use crate::cluster::{Cluster, EtcdError};
use crate::place::EtcdPlace;
use p4runtime_grpc::{endpoint, failure};
use std::error::Error;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// Most bytes of an answer: a page of long values.
const MOST_BYTES: usize = 256 << 20;

/// Message of etcd to a client without a user, when it has users.
const NOBODY: &str = "etcdserver: user name is empty";

/// A connection whose calls have the token of a user.
type Entered = InterceptedService<Channel, Token>;

/// A connection to a cluster, for one thread.
#[derive(Debug)]
pub struct Members {
    runtime: Runtime,
    channels: Vec<Channel>,
    addresses: Vec<String>,
    /// The member to ask. After a call without an answer it is the next one's turn.
    at: usize,
    access: Access,
    patience: Duration,
    started: Instant,
}

impl Members {
    /// For the members of a place. A call that takes longer than `patience` is given up. The clock begins at `started`.
    pub fn new(place: &EtcdPlace, patience: Duration, started: Instant) -> Result<Members, EtcdError> {
        let refused = |error: &dyn std::fmt::Display| EtcdError::Refused(error.to_string());
        let tls = place.tls.as_ref().map(access::certificates).transpose().map_err(EtcdError::Unusable)?;
        let access = Access::new(place).map_err(EtcdError::Unusable)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| refused(&error))?;
        let _inside = runtime.enter();
        let channel = |address: &String| {
            let endpoint = endpoint(address, tls.as_ref());
            let endpoint = endpoint.map_err(|error| EtcdError::Unusable(error.to_string()))?;
            Ok(endpoint.connect_timeout(patience).connect_lazy())
        };
        let channels = place.members.iter().map(channel).collect::<Result<_, _>>()?;
        drop(_inside);
        let addresses = place.members.clone();
        Ok(Members { runtime, channels, addresses, at: 0, access, patience, started })
    }

    fn call<T>(
        &mut self,
        call: impl AsyncFn(Entered) -> Result<Response<T>, Status>,
    ) -> Result<T, EtcdError> {
        let channel = self.channels[self.at].clone();
        let access = &mut self.access;
        let mut executed = async || loop {
            let token = access.token(channel.clone()).await?;
            match call(InterceptedService::new(channel.clone(), token)).await {
                Err(status) if access.is_stale(&status) => {}
                answer => return answer,
            }
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(self.patience, executed()).await });
        let why = match answer {
            Ok(Ok(answer)) => return Ok(answer.into_inner()),
            Ok(Err(status)) if status.message() == NOBODY => {
                let help = "add `?user=NAME&password=FILE` to its address";
                return Err(EtcdError::Refused(format!("{NOBODY}: {help}")));
            }
            Ok(Err(status)) if is_final(&status) => {
                return Err(EtcdError::Refused(status.message().to_string()));
            }
            Ok(Err(status)) => failure(&status),
            Err(_) => "no answer in time".to_string(),
        };
        let why = format!("{}: {why}", self.addresses[self.at]);
        self.at = (self.at + 1) % self.channels.len();
        Err(EtcdError::Unreachable(why))
    }
}

/// True if etcd has answered, and would answer the same again.
fn is_final(status: &Status) -> bool {
    let passes = [Code::Unavailable, Code::DeadlineExceeded, Code::Cancelled, Code::Aborted];
    status.source().is_none() && !passes.contains(&status.code())
}

impl Cluster for Members {
    fn range(&mut self, request: RangeRequest) -> Result<RangeResponse, EtcdError> {
        self.call(async |channel| {
            let mut client = KvClient::new(channel).max_decoding_message_size(MOST_BYTES);
            client.range(request.clone()).await
        })
    }

    fn transact(&mut self, request: TxnRequest) -> Result<TxnResponse, EtcdError> {
        self.call(async |channel| {
            let mut client = KvClient::new(channel).max_decoding_message_size(MOST_BYTES);
            client.txn(request.clone()).await
        })
    }

    fn grant(&mut self, seconds: i64) -> Result<LeaseGrantResponse, EtcdError> {
        let request = LeaseGrantRequest { ttl: seconds };
        self.call(async |channel| LeaseClient::new(channel).lease_grant(request).await)
    }

    fn keep_alive(&mut self, lease: i64) -> Result<LeaseKeepAliveResponse, EtcdError> {
        self.call(async |channel| {
            let request = tokio_stream::once(LeaseKeepAliveRequest { id: lease });
            let mut answers = LeaseClient::new(channel).lease_keep_alive(request).await?.into_inner();
            let answer = answers.message().await?;
            answer.map(Response::new).ok_or_else(|| Status::unavailable("it has ended the stream"))
        })
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        let request = LeaseRevokeRequest { id: lease };
        self.call(async |channel| LeaseClient::new(channel).lease_revoke(request).await).map(drop)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }
}
