//! A layer in front of the services that limits the open calls of each connection and the size of requests.
//!
//! The body of a unary request is passed on once it is complete. Otherwise tonic would allocate the size that the client announces,
//! whether or not the client sends it.

use crate::admission::{Call, Client};
use crate::budget::{Budget, Hold};
use prost::bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
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

/// A request fails if no byte arrives for this long, or if it is incomplete after [`WHOLE`].
const SILENCE: Duration = Duration::from_secs(20);
const WHOLE: Duration = Duration::from_secs(120);

/// Length of the gRPC message header: a flag and the message length.
const HEADER: usize = 5;

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
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: 'static,
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
        let of = client.zip(call.as_ref().map(|call| call.number)).filter(|_| !is_stream);
        let request = request.map(|body| {
            let mut measured = Measured::new(body, !is_stream, most, hold);
            measured.of = of;
            Body::new(measured)
        });
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            let kept = answer.extensions_mut().remove::<Kept>();
            call.iter().for_each(Call::moved);
            Ok(answer.map(|body| Body::new(Open { body, call, _kept: kept })))
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

type Frame = http_body::Frame<Bytes>;

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

/// The body of a request, with limits on its messages.
struct Measured {
    body: Body,
    /// The request is unary: its message is passed on when it is complete.
    is_whole: bool,
    /// Client and number of the call, until it is complete.
    of: Option<(Arc<Client>, u64)>,
    /// Size of a stream's longest message so far. tonic keeps a buffer of that size.
    longest: usize,
    /// A message has begun.
    has_begun: bool,
    most: usize,
    hold: Hold,
    /// Received bytes of an incomplete message header.
    header: Vec<u8>,
    /// Missing bytes of the current message.
    missing: usize,
    /// Frames that wait for the rest of the message.
    waiting: VecDeque<Frame>,
    /// The waiting frames can be passed on.
    is_ready: bool,
    /// Time limit between two frames, and when it ends.
    patience: Duration,
    silence: Pin<Box<Sleep>>,
    until: Instant,
}

impl Measured {
    fn new(body: Body, is_whole: bool, most: usize, hold: Hold) -> Measured {
        Measured::with_patience(body, is_whole, most, hold, SILENCE)
    }

    fn with_patience(body: Body, is_whole: bool, most: usize, hold: Hold, patience: Duration) -> Measured {
        let now = Instant::now();
        Measured {
            body,
            is_whole,
            of: None,
            longest: 0,
            has_begun: false,
            most,
            hold,
            header: vec![],
            missing: 0,
            waiting: VecDeque::new(),
            is_ready: false,
            patience,
            silence: Box::pin(tokio::time::sleep_until(now + patience)),
            until: now + WHOLE,
        }
    }

    /// Follows message boundaries and checks message lengths.
    fn measure(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while !bytes.is_empty() {
            if self.missing > 0 {
                let here = self.missing.min(bytes.len());
                bytes.advance(here);
                self.missing -= here;
                continue;
            }
            let here = (HEADER - self.header.len()).min(bytes.len());
            self.header.extend(&bytes[..here]);
            bytes.advance(here);
            if let Ok([_, length @ ..]) = <[u8; HEADER]>::try_from(self.header.as_slice()) {
                self.header.clear();
                self.missing = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.has_begun = true;
                if self.missing > self.most {
                    let why =
                        format!("the message has {} bytes, and the limit is {}", self.missing, self.most);
                    return Err(Status::resource_exhausted(why));
                }
                // The length alone makes tonic allocate that much for a message of a stream, and a copy is decoded.
                let more = self.missing.saturating_sub(self.longest);
                if !self.is_whole && !self.hold.grow(2 * more) {
                    return Err(no_memory());
                }
                self.longest += more;
            }
        }
        Ok(())
    }

    /// The request is complete, or nobody wants it.
    fn ended(&mut self) {
        if let Some((client, call)) = self.of.take() {
            client.moved(call, None);
        }
    }

    fn is_complete(&self) -> bool {
        self.missing == 0 && self.header.is_empty()
    }

    /// Accepts a received frame.
    fn take(&mut self, frame: Frame) -> Result<(), Status> {
        if let Some(bytes) = frame.data_ref() {
            // tonic copies the bytes when they are passed on.
            if self.is_whole && !self.hold.grow(2 * bytes.len()) {
                return Err(no_memory());
            }
            let bytes = bytes.clone();
            self.measure(&bytes)?;
        }
        self.waiting.push_back(frame);
        self.is_ready = !self.is_whole || self.is_complete();
        match &self.of {
            Some((client, call)) if !self.is_ready => client.moved(*call, Some(Instant::now())),
            _ => self.ended(),
        }
        let end = Instant::now() + self.patience;
        self.silence.as_mut().reset(end.min(self.until));
        Ok(())
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.ended();
    }
}

/// The error for a request or answer that does not fit in memory.
pub(crate) fn no_memory() -> Status {
    Status::resource_exhausted(
        "not enough memory beside other requests and answers: try again later, or with a smaller request",
    )
}

impl HttpBody for Measured {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame, Status>>> {
        let this = &mut *self;
        loop {
            if this.is_ready
                && let Some(frame) = this.waiting.pop_front()
            {
                return Poll::Ready(Some(Ok(frame)));
            }
            match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Err(status) = this.take(frame) {
                        this.waiting.clear();
                        return Poll::Ready(Some(Err(status)));
                    }
                }
                Poll::Ready(None) if !this.waiting.is_empty() => this.is_ready = true,
                Poll::Ready(end) => return Poll::Ready(end),
                // A stream may be silent after its first message.
                Poll::Pending if !this.is_whole && this.has_begun && this.is_complete() => {
                    return Poll::Pending;
                }
                Poll::Pending => {
                    return this.silence.as_mut().poll(context).map(|()| {
                        this.waiting.clear();
                        Some(Err(Status::deadline_exceeded("the request was not sent in time")))
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_stream::StreamExt;

    /// Frame lengths that are passed on of a request sent in these pieces, and the error.
    async fn through(pieces: &[&[u8]], is_whole: bool, most: usize) -> (Vec<usize>, Option<Code>) {
        let frames: Vec<_> =
            pieces.iter().map(|piece| Ok::<_, Status>(Frame::data(Bytes::copy_from_slice(piece)))).collect();
        let body = Body::new(Pieces(frames.into()));
        let mut measured = Measured::new(body, is_whole, most, Budget::default().hold(None));
        let mut lengths = vec![];
        loop {
            let next = std::future::poll_fn(|context| Pin::new(&mut measured).poll_frame(context)).await;
            match next {
                Some(Ok(frame)) => lengths.push(frame.data_ref().map_or(0, Bytes::len)),
                Some(Err(status)) => return (lengths, Some(status.code())),
                None => return (lengths, None),
            }
        }
    }

    struct Pieces(VecDeque<Result<Frame, Status>>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame, Status>>> {
            Poll::Ready(self.0.pop_front())
        }
    }

    #[tokio::test]
    async fn lengths_are_read_wherever_a_message_is_cut() {
        let message = [&[0, 0, 0, 0, 6][..], b"abcdef"].concat();
        for cut in 0..message.len() {
            let (first, rest) = message.split_at(cut);
            let (lengths, error) = through(&[first, rest], true, 6).await;
            assert_eq!((lengths.iter().sum::<usize>(), error), (11, None), "{cut}");
            assert_eq!(through(&[first, rest], true, 5).await.1, Some(Code::ResourceExhausted), "{cut}");
        }
        // On a stream, of every message.
        let large = [0, 0, 0, 0, 7];
        assert_eq!(through(&[&message, &message, &large], false, 6).await.1, Some(Code::ResourceExhausted));
        assert_eq!(through(&[&message, &message], false, 6).await, (vec![11, 11], None));
    }

    #[tokio::test]
    async fn a_request_that_does_not_come_ends() {
        let silent = tokio_stream::pending::<Result<Frame, Status>>();
        let body = Body::new(Waiting(Box::pin(silent)));
        let hold = Budget::default().hold(None);
        let mut measured = Measured::with_patience(body, true, 6, hold, Duration::from_millis(1));
        let next = std::future::poll_fn(|context| Pin::new(&mut measured).poll_frame(context)).await;
        assert_eq!(next.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    }

    struct Waiting(Pin<Box<dyn tokio_stream::Stream<Item = Result<Frame, Status>> + Send>>);

    impl HttpBody for Waiting {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame, Status>>> {
            std::pin::pin!(self.0.next()).poll(context)
        }
    }
}
