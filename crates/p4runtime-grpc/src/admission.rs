//! Limits on connections: in total, per address, and in time.
//!
//! A connection is closed if it makes no call for too long, or does not read an answer. If there are too many connections, the one that has
//! been idle longest is closed, those that never made a call first; connections with open calls stay, unless they leave all answers unread.
//! The last connections, in total and beyond those of one address, are a reserve for operators: they may make calls but open no streams,
//! and are closed soon, or when another one comes.

mod client;
mod guarded;

use self::client::Activity;
pub(crate) use self::client::Call;
pub use self::client::Client;
pub use self::guarded::{Accepts, Answering, Guarded};
use crate::budget::Budget;
use crate::limits::Rules;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

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

/// Calls that begin, of all connections with many, before other work has its turn.
const BEGINNING: usize = 8;

/// Pause after the process has run out of file descriptors.
const NO_FILES: Duration = Duration::from_millis(50);

/// The connections to one listening address. Clones share them.
#[derive(Clone)]
pub struct Admission(Arc<Inner>);

struct Inner {
    rules: Rules,
    clients: Mutex<BTreeMap<u64, Arc<Client>>>,
    /// Calls that may begin before other work has its turn.
    beginning: Semaphore,
    next: AtomicU64,
    swept: Mutex<Option<Instant>>,
    refused: AtomicU64,
    ended: AtomicU64,
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
            beginning: Semaphore::new(BEGINNING),
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
    pub async fn accept<L: Accepts>(&self, listener: &L) -> Guarded<L::Stream> {
        loop {
            self.sweep(Instant::now());
            let accepted = tokio::select! {
                accepted = listener.next() => accepted,
                () = tokio::time::sleep(SWEEP) => continue,
            };
            match accepted {
                Ok((stream, address)) => {
                    if let Some(client) = self.admit(address, Instant::now()) {
                        return Guarded { stream, client, is_sated: false };
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
            beginning: Semaphore::new(1),
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

#[cfg(test)]
mod tests;
