//! Metrics over HTTP: `GET /metrics` as Prometheus asks.

use crate::admission::{Admission, Answering};
use crate::command::Front;
use crate::limits::Rules;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::net::TcpListener;

/// Content type of Prometheus's text form.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Binds the address that Prometheus asks.
pub async fn listen_for_metrics(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address} for metrics (`--metrics-addr`): {error}"))
}

/// A listener with limits on connections.
struct Few(TcpListener, Admission);

impl Listener for Few {
    type Io = Answering;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Answering, SocketAddr) {
        loop {
            let guarded = self.1.accept(&self.0).await;
            if let Ok(peer) = guarded.peer() {
                return (guarded.answering(), peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Answers until the process ends. The future is boxed, so that the HTTP server is compiled in this crate.
pub fn serve_metrics(listener: TcpListener, front: Front) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(serve(listener, front))
}

async fn serve(listener: TcpListener, front: Front) {
    let listener = Few(listener, Admission::new(Rules::metrics()));
    let app = Router::new().route("/metrics", get(metrics)).with_state(front);
    // The switch continues without metrics.
    if let Err(error) = axum::serve(listener, app).await {
        tracing::warn!(%error, "metrics are no longer served");
    }
}

async fn metrics(State(front): State<Front>) -> Response {
    match front.metrics().await {
        Some(text) => ([(CONTENT_TYPE, TEXT)], text).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the switch is overloaded: try again\n").into_response(),
    }
}
