//! State of interfaces that ports use: one thread listens for all of them.

use crate::spec::PortError;
use linux_net::{Change, Link, Monitor};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The current state of an interface.
#[derive(Debug)]
pub struct LinkState {
    name: String,
    /// Zero while there is none.
    index: AtomicU32,
    mtu: AtomicU32,
    is_up: AtomicBool,
}

impl LinkState {
    /// The interface with a name, which nothing else may use.
    pub(crate) fn find(name: &str) -> Result<Arc<LinkState>, String> {
        let failed = |error: io::Error| format!("`{name}`: {error}");
        let Some(link) = linux_net::find(name).map_err(failed)? else {
            let names: Vec<String> =
                linux_net::all().unwrap_or_default().into_iter().map(|link| link.name).collect();
            return Err(format!("there is no interface `{name}`; there are `{}`", names.join("`, `")));
        };
        if let Some(master) = link.master {
            let all = linux_net::all().unwrap_or_default();
            let master = all
                .into_iter()
                .find(|other| other.index == master)
                .map_or_else(String::new, |link| link.name);
            return Err(format!(
                "`{name}` is in use by `{master}`, which forwards its frames too: take it out with `ip link set {name} nomaster`"
            ));
        }
        let state = LinkState {
            name: name.to_string(),
            index: AtomicU32::new(0),
            mtu: AtomicU32::new(0),
            is_up: AtomicBool::new(false),
        };
        state.set(&link);
        Ok(Arc::new(state))
    }

    /// The kernel's number; `None` while there is no such interface.
    pub(crate) fn index(&self) -> Option<u32> {
        Some(self.index.load(Ordering::Acquire)).filter(|index| *index != 0)
    }

    pub(crate) fn mtu(&self) -> u32 {
        self.mtu.load(Ordering::Relaxed)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn set(&self, link: &Link) {
        self.mtu.store(link.mtu, Ordering::Relaxed);
        self.is_up.store(link.is_up, Ordering::Relaxed);
        self.index.store(link.index, Ordering::Release);
    }

    fn follow(&self, change: &Change) {
        let is_this = |index| self.index() == Some(index);
        match change {
            Change::Is(link) if link.name == self.name => self.set(link),
            // It has another name now.
            Change::Is(link) if is_this(link.index) => self.lose(),
            Change::Gone(index, _) if is_this(*index) => self.lose(),
            Change::Only(all) if !all.iter().any(|index| is_this(*index)) => self.lose(),
            _ => {}
        }
    }

    fn lose(&self) {
        self.is_up.store(false, Ordering::Relaxed);
        self.index.store(0, Ordering::Release);
    }
}

/// Receivers of changes.
#[derive(Default)]
struct Receivers {
    links: Vec<Arc<LinkState>>,
    /// Wakers of the lanes.
    wakers: Vec<Arc<Waker>>,
}

/// The thread that listens. It ends when this is dropped.
pub(crate) struct Links {
    receivers: Arc<Mutex<Receivers>>,
    /// There from the first interface on.
    listener: Mutex<Option<Listener>>,
}

struct Listener {
    ends: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Links {
    pub(crate) fn new() -> Links {
        Links { receivers: Arc::default(), listener: Mutex::default() }
    }

    /// From now on lanes are woken by changes.
    pub(crate) fn wake(&self, waker: Arc<Waker>) {
        lock(&self.receivers).wakers.push(waker);
    }

    /// The interface with a name, and its future changes.
    pub(crate) fn follow(&self, name: &str) -> Result<Arc<LinkState>, String> {
        let mut listener = lock(&self.listener);
        if listener.is_none() {
            let failed = |error| format!("interfaces cannot be watched: {error}");
            *listener = Some(Listener::start(Arc::clone(&self.receivers)).map_err(failed)?);
        }
        // Changes wait while it is looked for: it is not missed.
        let mut receivers = lock(&self.receivers);
        let link = LinkState::find(name)?;
        receivers.links.retain(|link| Arc::strong_count(link) > 1);
        receivers.links.push(Arc::clone(&link));
        Ok(link)
    }
}

impl From<String> for PortError {
    fn from(why: String) -> PortError {
        PortError(why)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Listener {
    fn start(receivers: Arc<Mutex<Receivers>>) -> io::Result<Listener> {
        let (mut poll, mut monitor) = (Poll::new()?, Monitor::open()?);
        let waker = Arc::new(Waker::new(poll.registry(), Token(0))?);
        let file = monitor.as_fd().as_raw_fd();
        poll.registry().register(&mut SourceFd(&file), Token(1), Interest::READABLE)?;
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let listen = move || {
            let mut events = Events::with_capacity(4);
            while !is_over.load(Ordering::Relaxed) {
                // One that fails is tried again after the next event.
                let _ = poll.poll(&mut events, None);
                let changes = monitor.changes().unwrap_or_default();
                let receivers = lock(&receivers);
                for link in &receivers.links {
                    changes.iter().for_each(|change| link.follow(change));
                }
                receivers.wakers.iter().for_each(|waker| drop(waker.wake()));
            }
        };
        let thread = std::thread::Builder::new().name("links".to_string()).spawn(listen)?;
        Ok(Listener { ends, waker, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.waker.wake();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_followed_by_its_name() {
        let link = |index, name: &str, is_up| Link {
            index,
            name: name.to_string(),
            mtu: 1500,
            is_up,
            master: None,
            address: [0; 6],
        };
        let state = LinkState {
            name: "eth0".to_string(),
            index: AtomicU32::new(0),
            mtu: AtomicU32::new(0),
            is_up: AtomicBool::new(false),
        };
        let follow = |change: Change| {
            state.follow(&change);
            (state.index(), state.is_up())
        };
        assert_eq!(follow(Change::Is(link(3, "eth0", true))), (Some(3), true));
        assert_eq!(follow(Change::Is(link(4, "eth1", false))), (Some(3), true));
        assert_eq!(follow(Change::Gone(4, "eth0".to_string())), (Some(3), true));
        assert_eq!(follow(Change::Only(vec![1, 3])), (Some(3), true));
        assert_eq!(follow(Change::Only(vec![1, 4])), (None, false));
        assert_eq!(follow(Change::Is(link(5, "eth0", true))), (Some(5), true));
        // It is called otherwise now.
        assert_eq!(follow(Change::Is(link(5, "other", true))), (None, false));
        assert_eq!(follow(Change::Is(link(5, "eth0", false))), (Some(5), false));
        assert_eq!(follow(Change::Gone(5, "eth0".to_string())), (None, false));
    }
}
