//! The fake of etcd over gRPC, in real time.

#![allow(clippy::disallowed_methods)]

pub mod etcd;

use etcd::Etcd;
use state_etcd::api::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    LeaseRevokeResponse, RangeRequest, RangeResponse, TxnRequest, TxnResponse,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

#[allow(missing_docs, unreachable_pub, clippy::all)]
mod generated {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../state-etcd/generated/server/etcdserverpb.rs"));
}

use generated::kv_server::{Kv, KvServer};
use generated::lease_server::{Lease, LeaseServer};

#[derive(Clone)]
struct Shared {
    etcd: Arc<Mutex<Etcd>>,
    /// Each transaction of which this is the period is done, and its answer lost; 0: none.
    loses: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    started: Instant,
}

impl Shared {
    fn etcd(&self) -> MutexGuard<'_, Etcd> {
        let mut etcd = self.etcd.lock().unwrap();
        etcd.expire(self.started.elapsed());
        etcd
    }
}

/// A server that ends with the test.
pub struct Server {
    pub address: String,
    shared: Shared,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Server {
        let shared = Shared {
            etcd: Arc::default(),
            loses: Arc::default(),
            count: Arc::default(),
            started: Instant::now(),
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel();
        let services = shared.clone();
        let serve = async move {
            let incoming = TcpListenerStream::new(tokio::net::TcpListener::from_std(listener).unwrap());
            let served = tonic::transport::Server::builder()
                .add_service(KvServer::new(services.clone()))
                .add_service(LeaseServer::new(services))
                .serve_with_incoming(incoming);
            tokio::select! {
                served = served => served.unwrap(),
                _ = stopped => {}
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let thread = Some(std::thread::spawn(move || runtime.block_on(serve)));
        Server { address, shared, stop: Some(stop), thread }
    }

    /// From here on, each `period`th transaction is done, and its answer is lost.
    pub fn lose(&self, period: u64) {
        self.shared.loses.store(period, Ordering::SeqCst);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().unwrap().join();
    }
}

#[tonic::async_trait]
impl Kv for Shared {
    async fn range(&self, request: Request<RangeRequest>) -> Result<Response<RangeResponse>, Status> {
        Ok(Response::new(self.etcd().range(request.get_ref())))
    }

    async fn txn(&self, request: Request<TxnRequest>) -> Result<Response<TxnResponse>, Status> {
        let done = self.etcd().transact(request.get_ref()).map_err(Status::invalid_argument)?;
        let (count, period) = (self.count.fetch_add(1, Ordering::SeqCst), self.loses.load(Ordering::SeqCst));
        match period > 0 && count % period == 0 {
            true => Err(Status::unavailable("etcdserver: leader changed")),
            false => Ok(Response::new(done)),
        }
    }
}

#[tonic::async_trait]
impl Lease for Shared {
    async fn lease_grant(
        &self,
        request: Request<LeaseGrantRequest>,
    ) -> Result<Response<LeaseGrantResponse>, Status> {
        let (id, ttl) = self.etcd().grant(self.started.elapsed(), request.get_ref().ttl);
        Ok(Response::new(LeaseGrantResponse { id, ttl, error: String::new() }))
    }

    async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        self.etcd().revoke(request.get_ref().id);
        Ok(Response::new(LeaseRevokeResponse {}))
    }

    type LeaseKeepAliveStream =
        tokio_stream::Iter<std::vec::IntoIter<Result<LeaseKeepAliveResponse, Status>>>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<LeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        let asked = request.into_inner().message().await?.ok_or_else(|| Status::cancelled("nothing"))?;
        let ttl = self.etcd().keep_alive(self.started.elapsed(), asked.id);
        let answer = LeaseKeepAliveResponse { id: asked.id, ttl };
        Ok(Response::new(tokio_stream::iter(vec![Ok(answer)])))
    }
}
