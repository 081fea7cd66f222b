//! Connections.

use crate::admission::Admission;
use crate::budget::Budget;
use crate::command::Front;
use crate::devices::Devices;
use crate::generated_rack_server::rack_server::RackServer;
use crate::generated_server::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use crate::guard::{CALLS, Guarding};
use crate::limits::{Limits, Rules};
use crate::tls::Tls;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tower_layer::{Identity, Stack};

/// The largest request, in bytes: 100,000 entries and programs of many thousand lines fit.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Flow-control windows of a connection and of one call: bytes that a client may send before they are processed.
const WINDOW: u32 = 512 << 10;
const CALL_WINDOW: u32 = 128 << 10;

/// Interval between pings to clients, and how long an answer may take.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(20);

/// Why nothing is served, or called.
#[derive(Debug)]
pub struct ServeError(pub(crate) String);

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}

/// The future of [`serve`].
pub type Serving<'a> = Pin<Box<dyn Future<Output = Result<(), ServeError>> + 'a>>;

/// Serves on an address, or on a socket that listens already, until `stop` is done; then waits for calls in progress. `bound` gets the listening address.
///
/// All is boxed, so that the server is compiled here and not in each crate that calls this.
pub fn serve<'a>(
    address: SocketAddr,
    listener: Option<std::net::TcpListener>,
    tls: Option<Tls>,
    front: Front,
    bound: Box<dyn FnOnce(SocketAddr) + 'a>,
    stop: Pin<Box<dyn Future<Output = ()> + 'a>>,
) -> Serving<'a> {
    Box::pin(listen(address, listener, tls, front, bound, stop))
}

/// Serves P4Runtime for several devices on one socket, without encryption, until `stop` is done. Each device keeps its
/// secret; connections have limits of their own.
pub fn serve_devices<'a>(
    listener: std::net::TcpListener,
    devices: Devices,
    (limits, budget): (Limits, Budget),
    stop: Pin<Box<dyn Future<Output = ()> + 'a>>,
) -> Serving<'a> {
    Box::pin(async move {
        let listener = listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
        let listener = listener.map_err(|error| ServeError(error.to_string()))?;
        let served = builder(budget)
            .add_service(p4runtime(devices))
            .serve_with_incoming_shutdown(incoming(listener, &Admission::new(Rules::calls(limits))), stop);
        served.await.map_err(|error| ServeError(chain(&error)))
    })
}

fn builder(budget: Budget) -> Server<Stack<Guarding, Identity>> {
    Server::builder()
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(CALL_WINDOW)
        .max_concurrent_streams(CALLS as u32)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PONG))
        .layer(Guarding { budget, most_bytes: MOST_BYTES })
}

fn p4runtime<S: P4Runtime>(service: S) -> P4RuntimeServer<S> {
    P4RuntimeServer::new(service).max_decoding_message_size(MOST_BYTES).max_encoding_message_size(MOST_BYTES)
}

async fn listen(
    address: SocketAddr,
    listener: Option<std::net::TcpListener>,
    tls: Option<Tls>,
    front: Front,
    bound: Box<dyn FnOnce(SocketAddr) + '_>,
    stop: Pin<Box<dyn Future<Output = ()> + '_>>,
) -> Result<(), ServeError> {
    let listener = match listener {
        Some(listener) => listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener)),
        None => TcpListener::bind(address).await,
    };
    let taken = |error| format!("cannot listen on {address} for P4Runtime (`--grpc-server-addr`): {error}");
    let listener = listener.map_err(|error| ServeError(taken(error)))?;
    let mut server = builder(front.budget.clone());
    if let Some(tls) = tls {
        server =
            server.tls_config(tls.config()).map_err(|error| ServeError(format!("TLS: {}", chain(&error))))?;
    }
    if let Ok(address) = listener.local_addr() {
        bound(address);
    }
    let gate = front.gate.clone();
    let rack = RackServer::new(front.clone()).max_encoding_message_size(MOST_BYTES);
    let rack = InterceptedService::new(rack, gate.clone());
    let incoming = incoming(listener, front.admission());
    let service = InterceptedService::new(p4runtime(front), gate);
    let served = server.add_service(service).add_service(rack).serve_with_incoming_shutdown(incoming, stop);
    served.await.map_err(|error| ServeError(chain(&error)))
}

/// The connections within the limits, until the stream is dropped.
fn incoming(
    listener: TcpListener,
    admission: &Admission,
) -> ReceiverStream<std::io::Result<crate::admission::Guarded>> {
    let (come, incoming) = mpsc::channel(1);
    let admission = admission.clone();
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = admission.accept(&listener) => accepted,
                () = come.closed() => return,
            };
            if come.send(Ok(accepted)).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(incoming)
}

/// An error with its causes; one that says the same as the one above it is left out.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text += &format!(": {said}");
        }
        cause = error.source();
    }
    text
}
