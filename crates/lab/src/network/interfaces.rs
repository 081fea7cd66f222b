//! Interfaces of switches in the machine's network namespace, as Mininet has them: `s1-eth1` is port 1 of `s1`. They carry no frames. Each shows whether
//! its link is up, and takes the link down when it is set down:
//!
//! ```text
//! ip link set s1-eth1 down ──> Monitor ──> Lever of the wire
//! link s1 s2 down          ──> the wire, and both interfaces
//! ```

use crate::stack;
use crate::wire::Lever;
use dataplane_ports::Tap;
use linux_net::{Change, Monitor};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A link, with the names of those of its ends that are ports of switches.
pub(super) type Watched = (Lever, Vec<String>);

/// See the module. They end when this is dropped.
pub(crate) struct Interfaces {
    taps: BTreeMap<String, Tap>,
    ends: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Interfaces {
    /// Makes the interfaces of all links.
    pub(super) fn create(links: Vec<Watched>) -> Result<Interfaces, String> {
        let mut taps = BTreeMap::new();
        for name in links.iter().flat_map(|(_, names)| names) {
            let wrong = |error: &dyn std::fmt::Display| format!("interface {name} of a switch: {error}");
            let tap = Tap::open(name).map_err(|error| wrong(&error))?;
            stack::without_ipv6_on(name);
            stack::running(name).map_err(|error| wrong(&error))?;
            taps.insert(name.clone(), tap);
        }
        // Afterwards: interfaces that are being made are down for a moment.
        let watch = || -> io::Result<_> {
            let (poll, monitor) = (Poll::new()?, Monitor::open()?);
            let waker = Arc::new(Waker::new(poll.registry(), Token(0))?);
            let file = monitor.as_fd().as_raw_fd();
            poll.registry().register(&mut SourceFd(&file), Token(1), Interest::READABLE)?;
            Ok((poll, monitor, waker))
        };
        let failed = |error: io::Error| format!("interfaces of switches cannot be watched: {error}");
        let (mut poll, mut monitor, waker) = watch().map_err(failed)?;
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let listen = move || {
            let (mut events, mut links) = (Events::with_capacity(4), Links::new(links));
            while !is_over.load(Ordering::Relaxed) {
                // One that fails is tried again after the next event.
                let _ = poll.poll(&mut events, None);
                monitor.changes().unwrap_or_default().iter().for_each(|change| links.follow(change));
            }
        };
        let thread = std::thread::Builder::new().name("interfaces".to_string()).spawn(listen);
        Ok(Interfaces { taps, ends, waker, thread: Some(thread.map_err(failed)?) })
    }

    /// Sets an interface up or down, if there is one with this name.
    pub(super) fn set(&self, name: &str, is_up: bool) -> Result<(), String> {
        if self.taps.contains_key(name) { stack::set_up(name, is_up) } else { Ok(()) }
    }
}

impl Drop for Interfaces {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.waker.wake();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The links, and the interfaces that are down.
struct Links {
    all: Vec<Watched>,
    down: BTreeSet<String>,
}

impl Links {
    fn new(all: Vec<Watched>) -> Links {
        Links { all, down: BTreeSet::new() }
    }

    fn follow(&mut self, change: &Change) {
        let Change::Is(link) = change else { return };
        let is_new = match link.is_up {
            true => self.down.remove(&link.name),
            false => self.down.insert(link.name.clone()),
        };
        let of_it = self.all.iter().filter(|(_, names)| is_new && names.contains(&link.name));
        for (lever, names) in of_it {
            lever.set_down(names.iter().any(|name| self.down.contains(name)));
        }
    }
}
