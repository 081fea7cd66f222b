//! A network on one machine: a process for each switch, cables of UDP sockets on the loopback.

use crate::control::Attachment;
use reduce_jobs::topology::{Link, Node};
use reduce_jobs::{Plan, Topology};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks at the processes.
const LOOKS: Duration = Duration::from_millis(50);

/// A process that ends earlier than this after its start, so often in a row, does not start.
const LEAST_LIFE: Duration = Duration::from_secs(2);
const MOST_STARTS: u32 = 4;

/// Switches as processes.
pub struct Local {
    attachments: BTreeMap<usize, Attachment>,
    children: Arc<Mutex<Vec<Process>>>,
    stop: Arc<AtomicBool>,
}

/// Events of switch processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwitchEvent {
    /// The process with this number runs the switch.
    Started(String, u32),
    /// The switch has ended; it is started again.
    Ended(String),
    /// The switch does not start. This file has the output of its process.
    Fails(String, PathBuf),
}

struct Process {
    name: String,
    /// Program and arguments.
    words: Vec<String>,
    log: PathBuf,
    started: Instant,
    /// Starts that were soon over.
    failed: u32,
    child: Option<Child>,
}

impl Process {
    fn start(&mut self) -> io::Result<u32> {
        let log = std::fs::File::create(&self.log)?;
        let (program, args) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn()?;
        let number = child.id();
        (self.child, self.started) = (Some(child), Instant::now());
        Ok(number)
    }
}

impl Local {
    /// Starts the switches of a plan, whose files are in `directory`, by `own switch FILE`.
    pub fn start(
        own: &[String],
        directory: &Path,
        plan: &Plan,
        topology: &Topology,
        on_event: impl Fn(SwitchEvent) + Send + 'static,
    ) -> io::Result<Local> {
        let ends = cables(topology)?;
        let mut attachments = BTreeMap::new();
        let mut args: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (Link { ends: nodes, .. }, sockets) in topology.links.iter().zip(ends) {
            for at in 0..2 {
                let (local, remote) = (sockets[at], sockets[1 - at]);
                match nodes[at] {
                    (Node::Host(host), _) => {
                        let known = &topology.hosts[host];
                        let (address, card) = (known.address, known.mac);
                        attachments.insert(host, Attachment::Cable { address, card, local, remote });
                    }
                    (Node::Switch(switch), port) => {
                        let ports = args.entry(switch).or_default();
                        ports.extend(["-i".into(), format!("{port}@udp:{local},{remote}")]);
                    }
                }
            }
        }
        let mut children = vec![];
        for device in &plan.switches {
            let name = topology.switches[device.switch].clone();
            let file = directory.join(format!("{name}.toml")).display().to_string();
            let mut all = own.to_vec();
            all.extend(["switch".into(), file, "--grpc-server-addr".into(), "127.0.0.1:0".into()]);
            all.extend(args.remove(&device.switch).unwrap_or_default());
            let log = directory.join(format!("{name}.log"));
            let mut process =
                Process { name, words: all, log, started: Instant::now(), failed: 0, child: None };
            let number = process.start()?;
            on_event(SwitchEvent::Started(process.name.clone(), number));
            children.push(process);
        }
        let local = Local {
            attachments,
            children: Arc::new(Mutex::new(children)),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let (children, stop) = (Arc::clone(&local.children), Arc::clone(&local.stop));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOKS);
                let mut children = children.lock().unwrap_or_else(PoisonError::into_inner);
                // Under the lock: a switch that was ended must not start again.
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                children.iter_mut().for_each(|process| look(process, &on_event));
            }
        });
        Ok(local)
    }

    /// A switch that does not start, and the file with the output of its process.
    pub fn failed(&self) -> Option<(String, PathBuf)> {
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = children.iter().find(|process| process.failed >= MOST_STARTS);
        failed.map(|process| (process.name.clone(), process.log.clone()))
    }

    /// Attachment of a host.
    pub fn attachment(&self, host: usize) -> Option<&Attachment> {
        self.attachments.get(&host)
    }
}

/// Starts a process again that has ended.
fn look(process: &mut Process, on_event: &impl Fn(SwitchEvent)) {
    let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
    if !process.child.as_mut().is_some_and(has_ended) {
        return;
    }
    process.child = None;
    process.failed = if process.started.elapsed() < LEAST_LIFE { process.failed + 1 } else { 0 };
    if process.failed >= MOST_STARTS {
        on_event(SwitchEvent::Fails(process.name.clone(), process.log.clone()));
        return;
    }
    on_event(SwitchEvent::Ended(process.name.clone()));
    if let Ok(number) = process.start() {
        on_event(SwitchEvent::Started(process.name.clone(), number));
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        for child in children.iter_mut().filter_map(|process| process.child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Two free sockets on the loopback for each link.
fn cables(topology: &Topology) -> io::Result<Vec<[SocketAddr; 2]>> {
    let free = linux_net::free_addresses(2 * topology.links.len())?;
    Ok(free.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
}
