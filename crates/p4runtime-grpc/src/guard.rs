//! A layer in front of the services that limits the open calls of each connection and the size of requests.
//!
//! A unary call begins once its request is complete. Otherwise tonic would allocate the size that the client announces, whether or not the
//! client sends it. A connection begins one call at a time, in turn with all other work, so that one with many calls delays others by one.

use crate::admission::{Call, Client};
use crate::budget::{Budget, Hold};
use crate::measured::Measured;
use crate::parts::Parts;
use prost::bytes::Bytes;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Body as HttpBody, Service};
use tonic::transport::server::TlsConnectInfo;
use tonic::{Code, Status};
use tower_layer::Layer;

/// Open calls per connection.
pub(crate) const CALLS: usize = 64;

/// Open streams per connection.
const STREAMS: usize = 32;

/// Size limit for messages on a stream, and for requests of operators, in bytes. Packets are much shorter.
const SMALL_BYTES: usize = 256 << 10;

/// Calls of p4rack's service that controllers make, with larger requests.
const LARGE: [&str; 2] = ["/p4rack.v1.Rack/ReadRunning", "/p4rack.v1.Rack/Merge"];

/// Makes [`Guard`]s.
#[derive(Clone)]
pub(crate) struct Guarding {
    pub(crate) budget: Budget,
    /// Size limit for unary requests, in bytes.
    pub(crate) most_bytes: usize,
}

impl<S> Layer<S> for Guarding {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { guarding: self.clone(), inner }
    }
}

/// The services, guarded.
#[derive(Clone)]
pub(crate) struct Guard<S> {
    guarding: Guarding,
    inner: S,
}

/// The client of a request.
pub(crate) fn client(extensions: &tonic::codegen::http::Extensions) -> Option<Arc<Client>> {
    let over_tls = || extensions.get::<TlsConnectInfo<Arc<Client>>>().map(TlsConnectInfo::get_ref);
    extensions.get::<Arc<Client>>().or_else(over_tls).cloned()
}

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_stream = request.uri().path().ends_with("/StreamChannel");
        let client = client(request.extensions());
        let call = match client.as_ref().map(|client| client.call(is_stream, CALLS, STREAMS)).transpose() {
            Ok(call) => call,
            Err(why) => {
                let refused = Status::new(Code::ResourceExhausted, why).into_http();
                return Box::pin(async { Ok(refused) });
            }
        };
        let path = request.uri().path();
        let is_small = is_stream || path.starts_with("/p4rack.v1.") && !LARGE.contains(&path);
        let most = if is_small { SMALL_BYTES } else { self.guarding.most_bytes };
        let hold = self.guarding.budget.hold(client.clone());
        // A stream may come to a stop.
        let of = client.clone().zip(call.as_ref().map(|call| call.number)).filter(|_| !is_stream);
        let (head, body) = request.into_parts();
        let mut measured = Measured::new(body, most, hold, of, is_stream);
        // The service that is ready is called, and the other one is made ready next.
        let other = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, other);
        Box::pin(async move {
            if !is_stream {
                measured.gather().await;
            }
            let request = Request::from_parts(head, Body::new(measured));
            let turn = match &client {
                Some(client) => client.turn_to_begin().await,
                None => None,
            };
            let mut answer = std::pin::pin!(inner.call(request));
            let first = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
            drop(turn);
            let mut answer = match first {
                Poll::Ready(answer) => answer,
                Poll::Pending => answer.await,
            }?;
            let kept = answer.extensions_mut().remove::<Kept>();
            let parts = answer.extensions_mut().remove::<Parts>();
            call.iter().for_each(Call::moved);
            Ok(answer.map(|body| {
                let body = parts.map_or(body, Body::new);
                Body::new(Open { body, call, _kept: kept })
            }))
        })
    }
}

/// The body of a response. The call is open until this is dropped.
struct Open {
    body: Body,
    call: Option<Call>,
    _kept: Option<Kept>,
}

/// An extension of responses: memory that is in use until the response has been sent.
#[derive(Clone)]
pub(crate) struct Kept(#[allow(dead_code)] Arc<Hold>);

impl Kept {
    pub(crate) fn new(hold: Hold) -> Kept {
        Kept(Arc::new(hold))
    }
}

pub(crate) type Frame = http_body::Frame<Bytes>;

impl HttpBody for Open {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame, Status>>> {
        // The client has read what came before.
        self.call.iter().for_each(Call::moved);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// The error for a request or answer that does not fit in memory.
pub(crate) fn no_memory() -> Status {
    Status::resource_exhausted(
        "not enough memory beside other requests and answers: try again later, or with a smaller request",
    )
}
