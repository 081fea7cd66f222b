//! The fake of etcd over gRPC, in real time.

#![allow(clippy::disallowed_methods)]

pub mod etcd;

use etcd::Etcd;
use state_etcd::api::{
    AuthenticateRequest, AuthenticateResponse, LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest,
    LeaseKeepAliveResponse, LeaseRevokeRequest, LeaseRevokeResponse, RangeRequest, RangeResponse, TxnRequest,
    TxnResponse,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::ServerTlsConfig;
use tonic::{Request, Response, Status, Streaming};

#[allow(missing_docs, unreachable_pub, clippy::all)]
mod generated {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../state-etcd/generated/server/etcdserverpb.rs"));
}

use generated::auth_server::{Auth, AuthServer};
use generated::kv_server::{Kv, KvServer};
use generated::lease_server::{Lease, LeaseServer};

#[derive(Clone)]
struct Shared {
    etcd: Arc<Mutex<Etcd>>,
    /// Each transaction of which this is the period is done, and its answer lost; 0: none.
    loses: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    users: Arc<Mutex<Users>>,
    started: Instant,
}

/// The user whose token calls need, and the tokens that are good.
#[derive(Default)]
struct Users {
    /// Name and password; nothing if calls need no token.
    user: Option<(String, String)>,
    tokens: Vec<String>,
    made: u64,
}

impl Shared {
    fn etcd(&self) -> MutexGuard<'_, Etcd> {
        let mut etcd = self.etcd.lock().unwrap();
        etcd.expire(self.started.elapsed());
        etcd
    }

    /// Refuses calls without the token of a user, in etcd's words.
    fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let users = self.users.lock().unwrap();
        if users.user.is_none() {
            return Ok(());
        }
        let token = request.metadata().get("token").map(|token| token.to_str().unwrap());
        match token {
            None => Err(Status::invalid_argument("etcdserver: user name is empty")),
            Some(token) if users.tokens.iter().any(|known| known == token) => Ok(()),
            Some(_) => Err(Status::unauthenticated("etcdserver: invalid auth token")),
        }
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
        Server::with(None)
    }

    /// With TLS, if these settings are given.
    pub fn with(tls: Option<ServerTlsConfig>) -> Server {
        let shared = Shared {
            etcd: Arc::default(),
            loses: Arc::default(),
            count: Arc::default(),
            users: Arc::default(),
            started: Instant::now(),
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel();
        let services = shared.clone();
        let serve = async move {
            let incoming = TcpListenerStream::new(tokio::net::TcpListener::from_std(listener).unwrap());
            let mut server = tonic::transport::Server::builder();
            if let Some(tls) = tls {
                server = server.tls_config(tls).unwrap();
            }
            let served = server
                .add_service(AuthServer::new(services.clone()))
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

    /// From here on, calls need a token of this user.
    pub fn wants(&self, name: &str, password: &str) {
        self.shared.users.lock().unwrap().user = Some((name.to_string(), password.to_string()));
    }

    /// All tokens become invalid, as after five minutes without calls or a restart. Returns how many had been made so far.
    pub fn forget_tokens(&self) -> u64 {
        let mut users = self.shared.users.lock().unwrap();
        users.tokens.clear();
        users.made
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().unwrap().join();
    }
}

#[tonic::async_trait]
impl Auth for Shared {
    async fn authenticate(
        &self,
        request: Request<AuthenticateRequest>,
    ) -> Result<Response<AuthenticateResponse>, Status> {
        let AuthenticateRequest { name, password } = request.into_inner();
        let mut users = self.users.lock().unwrap();
        match &users.user {
            None => return Err(Status::failed_precondition("etcdserver: authentication is not enabled")),
            Some(user) if *user != (name, password) => {
                let why = "etcdserver: authentication failed, invalid user ID or password";
                return Err(Status::invalid_argument(why));
            }
            Some(_) => {}
        }
        users.made += 1;
        let token = format!("token.{}", users.made);
        users.tokens.push(token.clone());
        Ok(Response::new(AuthenticateResponse { token }))
    }
}

#[tonic::async_trait]
impl Kv for Shared {
    async fn range(&self, request: Request<RangeRequest>) -> Result<Response<RangeResponse>, Status> {
        self.check(&request)?;
        let found = self.etcd().range(self.started.elapsed(), request.get_ref());
        found.map(Response::new).ok_or_else(|| Status::unavailable("etcdserver: request timed out"))
    }

    async fn txn(&self, request: Request<TxnRequest>) -> Result<Response<TxnResponse>, Status> {
        self.check(&request)?;
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
        self.check(&request)?;
        let (id, ttl) = self.etcd().grant(self.started.elapsed(), request.get_ref().ttl);
        Ok(Response::new(LeaseGrantResponse { id, ttl, error: String::new() }))
    }

    async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        self.check(&request)?;
        self.etcd().revoke(request.get_ref().id);
        Ok(Response::new(LeaseRevokeResponse {}))
    }

    type LeaseKeepAliveStream =
        tokio_stream::Iter<std::vec::IntoIter<Result<LeaseKeepAliveResponse, Status>>>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<LeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        self.check(&request)?;
        let asked = request.into_inner().message().await?.ok_or_else(|| Status::cancelled("nothing"))?;
        let ttl = self.etcd().keep_alive(self.started.elapsed(), asked.id);
        let answer = LeaseKeepAliveResponse { id: asked.id, ttl };
        Ok(Response::new(tokio_stream::iter(vec![Ok(answer)])))
    }
}
