//! Network namespaces with veth pairs, which go when the test ends.

use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

type Work = Box<dyn FnOnce() + Send>;

/// A network namespace, and a thread inside it.
pub struct Host {
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    id: i32,
    outside: String,
}

/// Moves the test's thread, and everything it starts, to a network namespace. False, with a message, if that is not
/// allowed.
pub fn enter() -> bool {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {
            ip("link set lo up");
            true
        }
        Err(error) => {
            eprintln!("SKIPPED: network namespaces are not allowed here ({error}): run the tests as root");
            false
        }
    }
}

/// `ip ARGUMENTS` in the namespace of the thread.
pub fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split_whitespace()).output().expect("iproute2 is installed");
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Host {
    /// A namespace with an interface `eth0` and these addresses; its other end is `outside` in the test's namespace.
    pub fn new(outside: &str, addresses: &[&str]) -> Host {
        let (work, waiting) = channel::<Work>();
        let (sender, id) = channel();
        let thread = std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            sender.send(nix::unistd::gettid().as_raw()).unwrap();
            waiting.iter().for_each(|work| work());
        });
        let host = Host {
            work: Some(work),
            thread: Some(thread),
            id: id.recv().unwrap(),
            outside: outside.to_string(),
        };
        host.attach(outside, addresses);
        host
    }

    /// Makes the interface.
    pub fn attach(&self, outside: &str, addresses: &[&str]) {
        self.attach_as("eth0", outside, addresses);
    }

    /// Makes an interface with a name.
    pub fn attach_as(&self, name: &str, outside: &str, addresses: &[&str]) {
        ip(&format!("link add {outside} type veth peer name {name} netns {}", self.id));
        ip(&format!("link set {outside} up"));
        let name = name.to_string();
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        self.run(move || {
            ip("link set lo up");
            for address in addresses {
                let nodad = if address.contains(':') { "nodad" } else { "" };
                ip(&format!("address add {address} dev {name} {nodad}"));
            }
            ip(&format!("link set {name} up"));
        });
    }

    /// Runs something in the namespace.
    pub fn run<R: Send + 'static>(&self, what: impl FnOnce() -> R + Send + 'static) -> R {
        self.spawn_with(what, false).recv().expect("it has not panicked")
    }

    /// Runs something in the namespace, on a separate thread.
    #[allow(dead_code)]
    pub fn spawn<R: Send + 'static>(&self, what: impl FnOnce() -> R + Send + 'static) -> Receiver<R> {
        self.spawn_with(what, true)
    }

    fn spawn_with<R: Send + 'static>(
        &self,
        what: impl FnOnce() -> R + Send + 'static,
        apart: bool,
    ) -> Receiver<R> {
        let (sender, result) = channel();
        let run = move || drop(sender.send(what()));
        // Threads are in the namespace of the one that makes them.
        let work: Work = match apart {
            true => Box::new(move || drop(std::thread::spawn(run))),
            false => Box::new(run),
        };
        self.work.as_ref().unwrap().send(work).unwrap();
        result
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The interface would be deleted with its namespace, a little later. It may already be deleted.
        let _ = Command::new("ip").args(["link", "delete", &self.outside]).output();
        self.work = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
