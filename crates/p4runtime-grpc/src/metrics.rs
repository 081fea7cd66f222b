//! Metrics over HTTP: `GET /metrics` as Prometheus asks.

use crate::admission::{Admission, Answering, Client};
use crate::budget::Hold;
use crate::command::Front;
use crate::limits::Rules;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::{IncomingStream, Listener};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
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

/// The connection of a request.
#[derive(Clone)]
struct Peer(Arc<Client>);

impl Connected<IncomingStream<'_, Few>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Few>) -> Peer {
        Peer(Arc::clone(stream.io().client()))
    }
}

/// An answer, and the memory that it takes until it is sent.
struct Held {
    text: String,
    _hold: Hold,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
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
    let app = app.into_make_service_with_connect_info::<Peer>();
    if let Err(error) = axum::serve(listener, app).await {
        tracing::warn!(%error, "metrics are no longer served");
    }
}

async fn metrics(State(front): State<Front>, ConnectInfo(Peer(client)): ConnectInfo<Peer>) -> Response {
    let overloaded =
        || (StatusCode::SERVICE_UNAVAILABLE, "the switch is overloaded: try again\n").into_response();
    let Some(text) = front.metrics(&client).await else { return overloaded() };
    let mut hold = front.budget.hold(Some(client));
    match hold.grow(text.len()) {
        true => ([(CONTENT_TYPE, TEXT)], Bytes::from_owner(Held { text, _hold: hold })).into_response(),
        false => overloaded(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, SMALL};
    use crate::command::{Command, queue};
    use crate::limits::Limits;
    use std::net::Ipv4Addr;
    use std::sync::atomic::Ordering;
    use tokio::time::Instant;

    #[test]
    fn an_answer_takes_memory_and_a_place_of_its_connection() {
        let (front, commands) = queue(8, Limits::default(), Budget::of(SMALL * 4));
        let client = Admission::new(Rules::metrics()).admit(Ipv4Addr::LOCALHOST.into(), Instant::now());
        let client = client.expect("it is the first");
        let free = client.turns.available_permits();
        let owner = std::thread::spawn({
            let client = Arc::clone(&client);
            move || {
                for _ in 0..2 {
                    let asked = commands.recv().expect("a command");
                    assert_eq!(client.turns.available_permits(), free - 1);
                    let Command::Metrics(reply) = asked.take() else { panic!("another command") };
                    let _ = reply.send("a".repeat(SMALL * 3));
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let ask = || runtime.block_on(metrics(State(front.clone()), ConnectInfo(Peer(Arc::clone(&client)))));
        let first = ask();
        assert_eq!((first.status(), client.used.load(Ordering::Relaxed)), (StatusCode::OK, SMALL * 3));
        assert_eq!(ask().status(), StatusCode::SERVICE_UNAVAILABLE, "there is no memory for a second one");
        drop(first);
        assert_eq!(client.used.load(Ordering::Relaxed), 0);
        owner.join().expect("two commands");
    }
}
