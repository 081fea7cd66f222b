//! The other end of a connection, and its open calls.

use super::{Admission, lock};
use crate::budget::Budget;
use crate::limits::Rules;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::yield_now;
use tokio::time::Instant;

/// Open calls of a connection that does not wait for connections with more.
const FEW: usize = 4;

/// The other end of a connection.
pub struct Client {
    pub(super) id: u64,
    pub(super) address: IpAddr,
    pub(super) since: Instant,
    pub(super) activity: Mutex<Activity>,
    pub(super) ended: AtomicBool,
    /// The task that waits to read or write.
    pub(super) waker: Mutex<Option<Waker>>,
    /// Memory used by its requests and answers, in bytes.
    pub(crate) used: AtomicUsize,
    /// Memory used by answers to operators.
    pub(crate) answers: Budget,
    /// Places in the device's queue that it may have, and the place in the line of those who wait for one.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) line: Semaphore,
    /// Held by the call that begins.
    pub(super) beginning: Semaphore,
    /// By the number of the call, for requests that are incomplete and answers that have begun: when some of it was last sent.
    pub(super) moved: Mutex<BTreeMap<u64, Instant>>,
    pub(super) of: Admission,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    /// True if the connection is one of the reserve.
    pub(super) is_guest: bool,
    /// True if the connection has made a call.
    pub(super) has_called: bool,
    /// Open calls, including streams.
    pub(super) calls: usize,
    pub(super) streams: usize,
    /// Calls that it has made.
    pub(super) made: u64,
    /// When the last call began or ended.
    pub(super) last: Instant,
}

impl Client {
    /// Address of the client.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The number of calls whose request or answer has come to a stop for so long.
    pub(super) fn stopped_for(&self, patience: Duration, now: Instant) -> usize {
        lock(&self.moved).values().filter(|moved| now.duration_since(**moved) >= patience).count()
    }

    /// Some of the request or answer of a call has been sent; `None`: the request is complete, or the call has ended.
    pub(crate) fn moved(&self, call: u64, now: Option<Instant>) {
        let mut moved = lock(&self.moved);
        match now {
            Some(now) => moved.insert(call, now),
            None => moved.remove(&call),
        };
    }

    /// Waits until a call of this connection may begin; the next one may when the result is dropped. Other work has its turn first. Connections
    /// with many open calls also wait for each other.
    pub(crate) async fn turn_to_begin(&self) -> Option<(SemaphorePermit<'_>, Option<SemaphorePermit<'_>>)> {
        let has_few = lock(&self.activity).calls <= FEW;
        // None of these is ever closed.
        let own = self.beginning.acquire().await.ok()?;
        let all = match has_few {
            true => None,
            false => self.of.0.beginning.acquire().await.ok(),
        };
        yield_now().await;
        Some((own, all))
    }

    /// Memory is used up: closes a connection whose requests or answers have come to a stop.
    pub(crate) fn make_room(&self) {
        self.of.end_stopped();
    }

    pub(super) fn is_overdue(&self, rules: &Rules, now: Instant) -> bool {
        let activity = *lock(&self.activity);
        if self.stopped_for(rules.stopped, now) > 0 {
            return true;
        }
        let open_for = now.duration_since(self.since);
        if activity.is_guest && open_for >= rules.reserved_for {
            return true;
        }
        if activity.calls > 0 {
            return false;
        }
        match activity.has_called {
            false => open_for >= rules.first_call,
            true => now.duration_since(activity.last) >= rules.idle,
        }
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        if let Some(waker) = lock(&self.waker).take() {
            waker.wake();
        }
    }

    /// Notes that an answer has been written, for connections whose calls are not counted.
    pub(super) fn answered(&self) {
        let mut activity = lock(&self.activity);
        activity.has_called = true;
        activity.last = Instant::now();
    }

    /// Begins a call, which ends when the result is dropped; an error if there are too many.
    pub(crate) fn call(
        self: &Arc<Client>,
        is_stream: bool,
        most: usize,
        streams: usize,
    ) -> Result<Call, &'static str> {
        let mut activity = lock(&self.activity);
        if activity.calls >= most {
            return Err("too many calls are open on this connection");
        }
        if is_stream && activity.streams >= streams {
            return Err("too many streams are open on this connection");
        }
        if is_stream && activity.is_guest {
            // Lock order: the list of clients before the activity of one.
            drop(activity);
            if !self.of.has_room_for_streams(self.address) {
                return Err(
                    "too many controllers are connected: the remaining connections are reserved for operators",
                );
            }
            activity = lock(&self.activity);
            activity.is_guest = false;
        }
        activity.has_called = true;
        activity.calls += 1;
        activity.streams += usize::from(is_stream);
        activity.last = Instant::now();
        activity.made += 1;
        Ok(Call { client: Arc::clone(self), is_stream, number: activity.made })
    }
}

/// An open call.
pub(crate) struct Call {
    client: Arc<Client>,
    is_stream: bool,
    pub(crate) number: u64,
}

impl Call {
    /// Notes that the answer has begun, or that the client has read some of it. Streams may be silent.
    pub(crate) fn moved(&self) {
        if !self.is_stream {
            self.client.moved(self.number, Some(Instant::now()));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.client.moved(self.number, None);
        let mut activity = lock(&self.client.activity);
        activity.calls = activity.calls.saturating_sub(1);
        activity.streams = activity.streams.saturating_sub(usize::from(self.is_stream));
        activity.last = Instant::now();
    }
}
