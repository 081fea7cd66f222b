//! Limits on connections: in total, per address, and in time.
//!
//! A connection is closed if it makes no call for too long, or does not read an answer. If there are too many connections, the one that has
//! been idle longest is closed, those that never made a call first; connections with open calls stay, unless they leave all answers unread.
//! The last connections, in total and beyond those of one address, are a reserve for operators: they may make calls but open no streams,
//! and are closed soon, or when another one comes.

use crate::budget::Budget;
use crate::limits::Rules;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::transport::server::Connected;

/// Interval between checks for connections that have been open too long.
const SWEEP: Duration = Duration::from_millis(500);

/// A request of which nothing comes for so long, or an answer of which nothing is read, is no reason to keep a connection if there are too
/// many, or if memory is used up.
const STOPPED: Duration = Duration::from_secs(2);

/// Connections that use less memory are not closed for it, in bytes.
const LARGE: usize = 4 << 20;

/// Bytes of answers to operators that a connection may leave unread; one answer may be larger.
pub(crate) const ANSWERS: usize = 1 << 20;

/// Calls of a connection in the device's queue.
const TURNS: usize = 16;

/// Pause after the process has run out of file descriptors.
const NO_FILES: Duration = Duration::from_millis(50);

/// The connections to one listening address. Clones share them.
#[derive(Clone)]
pub struct Admission(Arc<Inner>);

struct Inner {
    rules: Rules,
    clients: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
    swept: Mutex<Option<Instant>>,
    refused: AtomicU64,
    ended: AtomicU64,
}

/// The other end of a connection.
pub struct Client {
    id: u64,
    address: IpAddr,
    since: Instant,
    activity: Mutex<Activity>,
    ended: AtomicBool,
    /// The task that waits to read or write.
    waker: Mutex<Option<Waker>>,
    /// Memory used by its requests and answers, in bytes.
    pub(crate) used: AtomicUsize,
    /// Memory used by answers to operators.
    pub(crate) answers: Budget,
    /// Places in the device's queue that it may have, and the place in the line of those who wait for one.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) line: Semaphore,
    /// By the number of the call, for requests that are incomplete and answers that have begun: when some of it was last sent.
    moved: Mutex<BTreeMap<u64, Instant>>,
    of: Admission,
}

#[derive(Clone, Copy, Debug)]
struct Activity {
    /// True if the connection is one of the reserve.
    is_guest: bool,
    /// True if the connection has made a call.
    has_called: bool,
    /// Open calls, including streams.
    calls: usize,
    streams: usize,
    /// Calls that it has made.
    made: u64,
    /// When the last call began or ended.
    last: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Admission {
    /// Without connections.
    pub fn new(rules: Rules) -> Admission {
        Admission(Arc::new(Inner {
            rules,
            clients: Mutex::default(),
            next: AtomicU64::default(),
            swept: Mutex::default(),
            refused: AtomicU64::default(),
            ended: AtomicU64::default(),
        }))
    }

    /// The number of open connections.
    pub fn len(&self) -> usize {
        lock(&self.0.clients).len()
    }

    /// True if there are no connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of connections refused, and the number closed because they were idle or to make room.
    pub fn turned_away(&self) -> (u64, u64) {
        (self.0.refused.load(Ordering::Relaxed), self.0.ended.load(Ordering::Relaxed))
    }

    /// Waits for the next connection that is within the limits.
    pub async fn accept(&self, listener: &TcpListener) -> Guarded {
        loop {
            self.sweep(Instant::now());
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = tokio::time::sleep(SWEEP) => continue,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if let Some(client) = self.admit(peer.ip(), Instant::now()) {
                        // Answers are short: they do not wait for more to send.
                        let _ = stream.set_nodelay(true);
                        return Guarded { stream, client };
                    }
                }
                Err(error) if is_about_one(&error) => {}
                Err(_) => {
                    // The process has run out of file descriptors. Retrying at once would use a whole core.
                    self.make_room();
                    tokio::time::sleep(NO_FILES).await;
                }
            }
        }
    }

    /// Registers a connection, closing another one to make room if necessary. `None` if there is no room.
    pub(crate) fn admit(&self, address: IpAddr, now: Instant) -> Option<Arc<Client>> {
        let rules = &self.0.rules;
        let mut clients = lock(&self.0.clients);
        let alike = clients.values().filter(|client| client.address == address).count();
        let is_crowd = alike >= rules.per_address;
        let is_full = clients.len() >= rules.connections;
        let within = is_crowd.then_some(address);
        let mut is_guest = false;
        if is_crowd || is_full {
            match victim(&clients, within, now) {
                Some(victim) => self.remove(&mut clients, &victim),
                None => {
                    // One of the reserve, in place of the oldest of these if there are enough: whoever comes has some time for a call.
                    if is_full || guests(&clients).count() >= rules.reserve {
                        let alike = |client: &&Arc<Client>| within.is_none_or(|at| client.address == at);
                        let Some(oldest) = guests(&clients).find(alike).map(Arc::clone) else {
                            self.0.refused.fetch_add(1, Ordering::Relaxed);
                            return None;
                        };
                        self.remove(&mut clients, &oldest);
                    }
                    is_guest = true;
                }
            }
        }
        is_guest |= clients.len() + rules.reserve >= rules.connections;
        is_guest |= crowd(&clients, address) >= rules.per_address;
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let activity = Activity { is_guest, has_called: false, calls: 0, streams: 0, made: 0, last: now };
        let client = Arc::new(Client {
            id,
            address,
            since: now,
            activity: Mutex::new(activity),
            ended: AtomicBool::default(),
            waker: Mutex::default(),
            used: AtomicUsize::default(),
            answers: Budget::of(ANSWERS),
            turns: Arc::new(Semaphore::new(TURNS)),
            line: Semaphore::new(1),
            moved: Mutex::default(),
            of: self.clone(),
        });
        clients.insert(id, Arc::clone(&client));
        Some(client)
    }

    /// Closes an idle connection, or the oldest of the reserve, if there is one.
    fn make_room(&self) {
        let mut clients = lock(&self.0.clients);
        let oldest = || guests(&clients).next().map(Arc::clone);
        if let Some(victim) = victim(&clients, None, Instant::now()).or_else(oldest) {
            self.remove(&mut clients, &victim);
        }
    }

    /// Closes the connection that takes the most memory for requests and answers that have come to a stop.
    pub(crate) fn end_stopped(&self) {
        let (mut clients, now) = (lock(&self.0.clients), Instant::now());
        let stopped = clients.values().filter(|client| client.stopped_for(STOPPED, now) > 0);
        let largest = stopped.max_by_key(|client| client.used.load(Ordering::Relaxed)).map(Arc::clone);
        if let Some(largest) = largest.filter(|client| client.used.load(Ordering::Relaxed) > LARGE) {
            self.remove(&mut clients, &largest);
        }
    }

    fn remove(&self, clients: &mut BTreeMap<u64, Arc<Client>>, client: &Client) {
        clients.remove(&client.id);
        self.end(client);
    }

    fn end(&self, client: &Client) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
        client.end();
    }

    /// Closes connections that have been open too long; does nothing if called again within [`SWEEP`].
    fn sweep(&self, now: Instant) {
        {
            let mut swept = lock(&self.0.swept);
            if swept.is_some_and(|at| now.duration_since(at) < SWEEP) {
                return;
            }
            *swept = Some(now);
        }
        let mut clients = lock(&self.0.clients);
        clients.retain(|_, client| {
            let stays = !client.is_overdue(&self.0.rules, now);
            if !stays {
                self.end(client);
            }
            stays
        });
    }

    /// True if a connection from there that is one of the reserve may become one of the others.
    fn has_room_for_streams(&self, address: IpAddr) -> bool {
        let (clients, rules) = (lock(&self.0.clients), &self.0.rules);
        clients.len() + rules.reserve <= rules.connections && crowd(&clients, address) < rules.per_address
    }
}

/// The connections of the reserve, the oldest first.
fn guests(clients: &BTreeMap<u64, Arc<Client>>) -> impl Iterator<Item = &Arc<Client>> {
    clients.values().filter(|client| lock(&client.activity).is_guest)
}

/// The number of connections from an address, without those of the reserve.
fn crowd(clients: &BTreeMap<u64, Arc<Client>>, address: IpAddr) -> usize {
    let alike = clients.values().filter(|client| client.address == address);
    alike.filter(|client| !lock(&client.activity).is_guest).count()
}

/// True for errors that concern one connection only.
fn is_about_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// The connection to close to make room, none of the reserve: one without open calls, or whose calls have all come to a stop, of the address
/// with the most connections; one that never made a call if possible; the one that has been idle longest. With `address`, only connections
/// from there.
fn victim(
    clients: &BTreeMap<u64, Arc<Client>>,
    address: Option<IpAddr>,
    now: Instant,
) -> Option<Arc<Client>> {
    let mut alike: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for client in clients.values() {
        *alike.entry(client.address).or_default() += 1;
    }
    let idle = clients.values().filter(|client| address.is_none_or(|address| client.address == address));
    let idle = idle.map(|client| (*lock(&client.activity), client));
    let idle = idle.filter(|(activity, client)| {
        !activity.is_guest && activity.calls == client.stopped_for(STOPPED, now)
    });
    let crowd = |client: &Client| alike.get(&client.address).copied().unwrap_or_default();
    let first = idle.min_by_key(|(activity, client)| {
        (std::cmp::Reverse(crowd(client)), activity.has_called, activity.last, client.id)
    });
    first.map(|(_, client)| Arc::clone(client))
}

impl Client {
    /// Address of the client.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The number of calls whose request or answer has come to a stop for so long.
    fn stopped_for(&self, patience: Duration, now: Instant) -> usize {
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

    /// Memory is used up: closes a connection whose requests or answers have come to a stop.
    pub(crate) fn make_room(&self) {
        self.of.end_stopped();
    }

    fn is_overdue(&self, rules: &Rules, now: Instant) -> bool {
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

    fn end(&self) {
        self.ended.store(true, Ordering::Release);
        if let Some(waker) = lock(&self.waker).take() {
            waker.wake();
        }
    }

    /// Notes that an answer has been written, for connections whose calls are not counted.
    fn answered(&self) {
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

/// A connection within the limits, which [`Admission`] can close.
pub struct Guarded {
    stream: TcpStream,
    client: Arc<Client>,
}

impl Guarded {
    /// The address of the other end.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Counts everything that is written as an answer to a call.
    pub fn answering(self) -> Answering {
        Answering(self)
    }

    fn is_open(&self, context: &Context<'_>) -> io::Result<()> {
        let mut waker = lock(&self.client.waker);
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        match self.client.ended.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        lock(&self.client.of.0.clients).remove(&self.client.id);
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_open(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_open(context)?;
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_open(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Connected for Guarded {
    type ConnectInfo = Arc<Client>;

    fn connect_info(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }
}

/// A connection on which every write counts as an answer.
pub struct Answering(Guarded);

impl AsyncRead for Answering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Answering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.0).poll_write(context, buffer);
        if let Poll::Ready(Ok(_)) = written {
            self.0.client.answered();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
