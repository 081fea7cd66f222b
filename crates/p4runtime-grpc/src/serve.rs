//! Connections.

use crate::command::Front;
use crate::generated::p4_runtime_server::P4RuntimeServer;
use crate::generated_rack::rack_server::RackServer;
use crate::tls::Tls;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The largest request, in bytes: 100,000 entries and programs of many thousand lines fit.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Why nothing is served, or called.
#[derive(Debug)]
pub struct ServeError(pub(crate) String);

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}

/// Serves on an address until `stop` is done; then calls that are under way end. `bound` is told where it listens.
pub async fn serve(
    address: SocketAddr,
    tls: Option<Tls>,
    front: Front,
    bound: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let listener = TcpListener::bind(address).await;
    let taken = |error| format!("cannot listen on {address} for P4Runtime (`--grpc-server-addr`): {error}");
    let listener = listener.map_err(|error| ServeError(taken(error)))?;
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server =
            server.tls_config(tls.config()).map_err(|error| ServeError(format!("TLS: {}", chain(&error))))?;
    }
    if let Ok(address) = listener.local_addr() {
        bound(address);
    }
    let gate = front.gate.clone();
    let rack = InterceptedService::new(RackServer::new(front.clone()), gate.clone());
    let service = P4RuntimeServer::new(front)
        .max_decoding_message_size(MOST_BYTES)
        .max_encoding_message_size(MOST_BYTES);
    let service = InterceptedService::new(service, gate);
    // Answers are short: they do not wait for more to send.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = server.add_service(service).add_service(rack).serve_with_incoming_shutdown(incoming, stop);
    served.await.map_err(|error| ServeError(chain(&error)))
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
