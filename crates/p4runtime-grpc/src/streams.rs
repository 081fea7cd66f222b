//! The controllers' streams, as the thread that owns the device sees them.

use crate::command::Listener;
use crate::trailers::status;
use p4runtime_proto::p4::v1::{StreamMessageResponse, stream_message_response::Update};
use p4runtime_server::{Status, StreamId};
use prost::Message;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio_stream::Stream;

/// Maximum number of messages that wait for a controller.
const WAITING: usize = 1024;

/// Maximum size of these messages, in bytes.
const WAITING_BYTES: usize = 4 << 20;

type Response = Result<StreamMessageResponse, tonic::Status>;

/// The sending end of a controller's stream.
pub(crate) struct ResponseSender {
    to: mpsc::Sender<(Response, usize)>,
    waiting: Arc<AtomicUsize>,
}

/// The receiving end, from which the controller reads.
pub(crate) struct ResponseReceiver {
    from: mpsc::Receiver<(Response, usize)>,
    waiting: Arc<AtomicUsize>,
}

/// The two ends of a controller's stream.
pub(crate) fn response_channel() -> (ResponseSender, ResponseReceiver) {
    let (to, from) = mpsc::channel(WAITING);
    let waiting = Arc::default();
    (ResponseSender { to, waiting: Arc::clone(&waiting) }, ResponseReceiver { from, waiting })
}

/// Ends a stream with an error, unless its owner has ended it.
pub(crate) struct Refusal(mpsc::WeakSender<(Response, usize)>);

impl Refusal {
    pub(crate) fn refuse(self, why: tonic::Status) {
        if let Some(to) = self.0.upgrade() {
            // A client that does not read sees the stream end without a reason.
            let _ = to.try_send((Err(why), 0));
        }
    }
}

impl ResponseSender {
    pub(crate) fn refusal(&self) -> Refusal {
        Refusal(self.to.downgrade())
    }

    /// Returns false if there is no room, or the stream has ended.
    pub(crate) fn send(&self, message: Response) -> bool {
        let bytes = message.as_ref().map_or(0, StreamMessageResponse::encoded_len);
        let fits = |waiting: usize| waiting.checked_add(bytes).filter(|sum| *sum <= WAITING_BYTES);
        if self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return false;
        }
        let is_sent = self.to.try_send((message, bytes)).is_ok();
        if !is_sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        is_sent
    }
}

impl Stream for ResponseReceiver {
    type Item = Response;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Response>> {
        self.from.poll_recv(context).map(|message| {
            let (message, bytes) = message?;
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            Some(message)
        })
    }
}

/// Controllers with open streams.
#[derive(Default)]
pub struct Streams {
    open: BTreeMap<StreamId, ResponseSender>,
    lost: u64,
}

impl Streams {
    /// A controller has opened a stream.
    pub fn open(&mut self, stream: StreamId, listener: Listener) {
        self.open.insert(stream, listener.0);
    }

    /// A controller has closed a stream.
    pub fn close(&mut self, stream: StreamId) {
        self.open.remove(&stream);
    }

    /// Sends a message to a controller. If the controller does not read, the message is lost and counted; if the message was about
    /// arbitration, which must not be lost, the controller's stream ends, and the result is true.
    pub fn send(&mut self, stream: StreamId, message: StreamMessageResponse) -> bool {
        let Some(response_channel) = self.open.get(&stream) else { return false };
        let vital = matches!(message.update, Some(Update::Arbitration(_)));
        if response_channel.send(Ok(message)) {
            return false;
        }
        self.lost += 1;
        if vital {
            self.open.remove(&stream);
        }
        vital
    }

    /// Ends a stream with an error.
    pub fn end(&mut self, stream: StreamId, why: &Status) {
        if let Some(response_channel) = self.open.remove(&stream) {
            // A client that does not read sees the stream end without a reason.
            response_channel.send(Err(status(why)));
        }
    }

    /// Messages that were lost because a controller did not read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of open streams.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// True if no stream is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4::v1::PacketIn;
    use tokio_stream::StreamExt;

    /// A thousand packets of 64 KiB would be 64 MiB.
    #[tokio::test]
    async fn what_nobody_reads_is_bounded_in_bytes() {
        let (response_channel, mut hearing) = response_channel();
        let packet = || {
            let packet = PacketIn { payload: vec![0; 1 << 16], ..Default::default() };
            StreamMessageResponse { update: Some(Update::Packet(packet)) }
        };
        let taken = (0..1000).filter(|_| response_channel.send(Ok(packet()))).count();
        assert_eq!(taken, (4 << 20) / packet().encoded_len());
        assert!(hearing.next().await.is_some());
        assert!(response_channel.send(Ok(packet())));
        assert!(!response_channel.send(Ok(packet())));
    }
}
