//! The body of a request, with limits on its messages and on the time that they take.
//!
//! A message is passed on when it is complete: tonic allocates the length that a message announces, whether or not the rest is sent.

use crate::admission::Client;
use crate::budget::Hold;
use crate::guard::{Frame, no_memory};
use prost::bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Body as HttpBody;

/// A request fails if no byte of a message arrives for this long, or if the message is incomplete after [`WHOLE`].
const SILENCE: Duration = Duration::from_secs(20);
const WHOLE: Duration = Duration::from_secs(120);

/// Bytes of a complete message that are passed on before other work has its turn: one frame. tonic copies them to new memory, which takes
/// longer than the copy itself: 20 messages of megabytes that are complete at a time delay others by this much 20 times, and again at each
/// step of a call.
const COPIED: usize = 16 << 10;

/// Length of the gRPC message header: a flag and the message length.
const HEADER: usize = 5;

/// The body of a request.
pub(crate) struct Measured {
    body: Body,
    /// A stream may be silent between two messages.
    is_stream: bool,
    /// Client and number of the call, until it is complete.
    of: Option<(Arc<Client>, u64)>,
    most: usize,
    hold: Hold,
    /// Received bytes of an incomplete message header.
    header: Vec<u8>,
    /// Received and missing bytes of the current message.
    received: usize,
    missing: usize,
    /// Most bytes of a message so far. tonic keeps a buffer of that size.
    longest: usize,
    /// A message has begun.
    has_begun: bool,
    /// Parts of a message that is not complete.
    waiting: VecDeque<Frame>,
    /// Complete messages.
    complete: VecDeque<Frame>,
    /// Bytes that were passed on since other work had its turn.
    copied: usize,
    /// The reason why a message is not complete, until it is passed on.
    failed: Option<Status>,
    /// When the current message must have gone on, and when it must be complete.
    silence: Pin<Box<Sleep>>,
    until: Instant,
}

impl Measured {
    /// The body of the call `of`, if it belongs to a connection. A message of more than `most` bytes is refused.
    pub(crate) fn new(
        body: Body,
        most: usize,
        hold: Hold,
        of: Option<(Arc<Client>, u64)>,
        is_stream: bool,
    ) -> Measured {
        let now = Instant::now();
        Measured {
            body,
            is_stream,
            of,
            most,
            hold,
            header: vec![],
            received: 0,
            missing: 0,
            longest: 0,
            has_begun: false,
            waiting: VecDeque::new(),
            complete: VecDeque::new(),
            copied: 0,
            failed: None,
            silence: Box::pin(tokio::time::sleep_until(now + SILENCE)),
            until: now + WHOLE,
        }
    }

    /// Waits until the message is complete, or cannot be.
    pub(crate) async fn gather(&mut self) {
        if let Some(Err(status)) = poll_fn(|context| self.receive(context)).await {
            self.failed = Some(status);
        }
    }

    /// Receives until a frame can be passed on. `None` at the end of the body.
    fn receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<(), Status>>> {
        loop {
            if !self.complete.is_empty() {
                return Poll::Ready(Some(Ok(())));
            }
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Err(status) = self.take(frame) {
                        self.waiting.clear();
                        return Poll::Ready(Some(Err(status)));
                    }
                }
                Poll::Ready(Some(Err(status))) => return Poll::Ready(Some(Err(status))),
                // An incomplete message is passed on: tonic has an error for it.
                Poll::Ready(None) if !self.waiting.is_empty() => self.pass_on(),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if self.is_stream && self.has_begun && self.is_between() => {
                    return Poll::Pending;
                }
                Poll::Pending => {
                    return self.silence.as_mut().poll(context).map(|()| {
                        self.waiting.clear();
                        Some(Err(Status::deadline_exceeded("the request was not sent in time")))
                    });
                }
            }
        }
    }

    /// Accepts a received frame.
    fn take(&mut self, frame: Frame) -> Result<(), Status> {
        let now = Instant::now();
        match frame.into_data() {
            Ok(mut bytes) => {
                let begins = self.is_between();
                let complete = self.measure(&bytes)?;
                if begins || complete > 0 {
                    self.until = now + WHOLE;
                }
                let rest = bytes.split_off(complete);
                if !bytes.is_empty() {
                    self.waiting.push_back(Frame::data(bytes));
                    self.pass_on();
                }
                if !rest.is_empty() {
                    self.waiting.push_back(Frame::data(rest));
                }
            }
            Err(trailers) => {
                self.waiting.push_back(trailers);
                self.pass_on();
            }
        }
        match &self.of {
            Some((client, call)) if self.complete.is_empty() => client.moved(*call, Some(now)),
            _ => self.ended(),
        }
        self.silence.as_mut().reset((now + SILENCE).min(self.until));
        Ok(())
    }

    /// Follows message boundaries and checks message lengths. Returns the number of bytes up to the end of the last complete message.
    fn measure(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        let (mut left, mut complete) = (bytes, 0);
        while !left.is_empty() {
            if self.missing > 0 {
                let here = self.missing.min(left.len());
                left.advance(here);
                self.missing -= here;
                self.received += here;
                // The message is copied when it is passed on, and when it is decoded.
                let more = self.received.saturating_sub(self.longest);
                if !self.hold.grow(2 * more) {
                    return Err(no_memory());
                }
                self.longest += more;
            } else {
                let here = (HEADER - self.header.len()).min(left.len());
                self.header.extend(&left[..here]);
                left.advance(here);
                if let Ok([_, length @ ..]) = <[u8; HEADER]>::try_from(self.header.as_slice()) {
                    self.header.clear();
                    self.missing = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                    (self.received, self.has_begun) = (0, true);
                    if self.missing > self.most {
                        let why =
                            format!("the message has {} bytes, and the limit is {}", self.missing, self.most);
                        return Err(Status::resource_exhausted(why));
                    }
                }
            }
            if self.is_between() {
                complete = bytes.len() - left.len();
            }
        }
        Ok(complete)
    }

    /// True between two messages.
    fn is_between(&self) -> bool {
        self.missing == 0 && self.header.is_empty()
    }

    fn pass_on(&mut self) {
        self.complete.append(&mut self.waiting);
    }

    /// The request is complete, or nobody wants it.
    fn ended(&mut self) {
        if let Some((client, call)) = self.of.take() {
            client.moved(call, None);
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.ended();
    }
}

impl HttpBody for Measured {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame, Status>>> {
        if let Some(failed) = self.failed.take() {
            return Poll::Ready(Some(Err(failed)));
        }
        if self.copied >= COPIED {
            self.copied = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let received = ready!(self.receive(context));
        Poll::Ready(received.and_then(|received| match received {
            Ok(()) => {
                let frame = self.complete.pop_front();
                self.copied += frame.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
                frame.map(Ok)
            }
            Err(status) => Some(Err(status)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use tokio_stream::StreamExt;

    /// Frame lengths that are passed on of a request sent in these pieces, and the error.
    async fn through(pieces: &[&[u8]], is_whole: bool, most: usize) -> (Vec<usize>, Option<tonic::Code>) {
        let frames: Vec<_> =
            pieces.iter().map(|piece| Ok::<_, Status>(Frame::data(Bytes::copy_from_slice(piece)))).collect();
        let body = Body::new(Pieces(frames.into()));
        let mut measured = Measured::new(body, most, Budget::default().hold(None), None, !is_whole);
        if is_whole {
            measured.gather().await;
        }
        let mut lengths = vec![];
        loop {
            let next = poll_fn(|context| Pin::new(&mut measured).poll_frame(context)).await;
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
            // The first message does not wait for the second one.
            assert_eq!(through(&[&[&message, first].concat()], false, 6).await.0[0], 11);
            assert_eq!(
                through(&[first, rest], true, 5).await.1,
                Some(tonic::Code::ResourceExhausted),
                "{cut}"
            );
        }
        // On a stream, of every message.
        let large = [0, 0, 0, 0, 7];
        assert_eq!(
            through(&[&message, &message, &large], false, 6).await.1,
            Some(tonic::Code::ResourceExhausted)
        );
        assert_eq!(through(&[&message, &message], false, 6).await, (vec![11, 11], None));
    }

    /// An announced length takes no memory; received bytes do.
    #[tokio::test]
    async fn lengths_take_no_memory() {
        for is_stream in [false, true] {
            let budget = Budget::of(1 << 20);
            let body = Body::new(Pieces(VecDeque::new()));
            let mut measured = Measured::new(body, 1 << 16, budget.hold(None), None, is_stream);
            measured.take(Frame::data(Bytes::from_static(&[0, 0, 1, 0, 0]))).expect("it may be so long");
            assert!(budget.hold(None).grow(1 << 20), "nothing has come");
            measured.take(Frame::data(Bytes::from(vec![1; 30_000]))).expect("there is enough");
            assert!(!budget.hold(None).grow((1 << 20) - 59_999));
            assert!(budget.hold(None).grow((1 << 20) - 60_000) && measured.complete.is_empty());
        }
    }

    /// Nobody waits until megabytes have been copied.
    #[tokio::test]
    async fn long_messages_are_passed_on_in_portions() {
        let length: u32 = 3 << 20;
        let header = [&[0][..], &length.to_be_bytes()].concat();
        let frames = std::iter::once(header).chain((0..length >> 14).map(|_| vec![7; 1 << 14]));
        let frames = frames.map(|bytes| Ok(Frame::data(Bytes::from(bytes))));
        let body = Body::new(Waiting(Box::pin(tokio_stream::iter(frames))));
        let mut measured = Measured::new(body, 4 << 20, Budget::default().hold(None), None, false);
        measured.gather().await;
        let (mut portions, mut at_once, mut longest) = (1, 0, 0);
        loop {
            match poll_fn(|context| Poll::Ready(Pin::new(&mut measured).poll_frame(context))).await {
                Poll::Ready(Some(frame)) => {
                    at_once += frame.expect("it is complete").data_ref().map_or(0, Bytes::len)
                }
                Poll::Ready(None) => break,
                Poll::Pending => (portions, at_once) = (portions + 1, 0),
            }
            longest = longest.max(at_once);
        }
        assert!(longest < COPIED + (1 << 14), "{longest}");
        assert_eq!(portions, 193);
    }

    #[tokio::test]
    async fn a_request_that_does_not_come_ends() {
        let silent = tokio_stream::pending::<Result<Frame, Status>>();
        let body = Body::new(Waiting(Box::pin(silent)));
        let hold = Budget::default().hold(None);
        let mut measured = Measured::new(body, 6, hold, None, false);
        measured.silence.as_mut().reset(Instant::now());
        let next = poll_fn(|context| Pin::new(&mut measured).poll_frame(context)).await;
        assert_eq!(next.unwrap().unwrap_err().code(), tonic::Code::DeadlineExceeded);
    }

    /// Each message of a stream has its time, however long the stream has been open.
    #[tokio::test]
    async fn messages_of_old_streams_may_come_in_pieces() {
        let (send, sent) = tokio::sync::mpsc::channel(4);
        let sent = tokio_stream::wrappers::ReceiverStream::new(sent);
        let body = Body::new(Waiting(Box::pin(sent)));
        let mut measured = Measured::new(body, 6, Budget::default().hold(None), None, true);
        measured.until = Instant::now();
        let message = [&[0, 0, 0, 0, 6][..], b"abcdef"].concat();
        let piece = |bytes: &[u8]| Ok(Frame::data(Bytes::copy_from_slice(bytes)));
        for cut in [11, 3, 8] {
            let (first, rest) = message.split_at(cut);
            send.send(piece(first)).await.expect("it is read");
            if cut < 11 {
                let next = poll_fn(|context| Poll::Ready(Pin::new(&mut measured).poll_frame(context))).await;
                assert!(next.is_pending(), "{cut}: {next:?}");
                send.send(piece(rest)).await.expect("it is read");
            }
            let mut length = 0;
            while length < 11 {
                let next = poll_fn(|context| Pin::new(&mut measured).poll_frame(context)).await;
                length += next.expect("a frame").expect("a frame").data_ref().map_or(0, Bytes::len);
            }
            measured.until = Instant::now();
        }
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
