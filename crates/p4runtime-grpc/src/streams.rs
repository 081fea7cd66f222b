//! The controllers' streams, as the thread that owns the device sees them.

use crate::command::{Listener, Told};
use crate::service::status;
use p4runtime_proto::p4::v1::{StreamMessageResponse, stream_message_response::Update};
use p4runtime_server::{Status, StreamId};
use std::collections::BTreeMap;

/// Who is told.
#[derive(Default)]
pub struct Streams {
    open: BTreeMap<StreamId, Told>,
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

    /// Tells a controller something. Where it does not read, the message is lost and counted; if it was about
    /// arbitration, which it has to know, its stream ends, and true comes back.
    pub fn tell(&mut self, stream: StreamId, message: StreamMessageResponse) -> bool {
        let Some(told) = self.open.get(&stream) else { return false };
        let vital = matches!(message.update, Some(Update::Arbitration(_)));
        if told.try_send(Ok(message)).is_ok() {
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
        if let Some(told) = self.open.remove(&stream) {
            // Who does not read sees the stream end without a reason.
            let _ = told.try_send(Err(status(why)));
        }
    }

    /// Messages that were lost because a controller did not read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
