//! The running labs of this user, as files: other processes find them there, and the remains of killed ones.
//!
//! Namespaces, interfaces and sockets go with the process. Its hosts' processes and its file here remain.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The variable that the processes of a lab's hosts have in their environment, with the lab's id.
pub const MARK: &str = "P4RACK_LAB";

/// Part of the name of a socket file, after the lab's id and before the switch's name.
const SOCKET: &str = ".notifications.";

/// A lab that runs, or has run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Id in commands: the process id and its start time.
    pub id: String,
    /// Process id.
    pub process: u32,
    /// Working directory at the start.
    pub directory: PathBuf,
    /// Hosts.
    pub hosts: Vec<HostRecord>,
    /// Address of P4Runtime for all switches: requests name the device.
    #[serde(default)]
    pub p4runtime: Option<std::net::SocketAddr>,
    /// Switches.
    pub switches: Vec<SwitchRecord>,
}

/// A host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostRecord {
    /// Name of the host.
    pub name: String,
    /// MAC address of the first interface, if the description has one.
    pub mac: Option<String>,
    /// IP addresses.
    pub addresses: Vec<std::net::IpAddr>,
    /// Network namespace.
    pub namespace: PathBuf,
}

/// A switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SwitchRecord {
    /// Name of the switch.
    pub name: String,
    /// P4Runtime's device id.
    pub device_id: u64,
    /// Address of the P4Runtime server.
    pub address: std::net::SocketAddr,
    /// Address of BMv2's Thrift services; `None` if they are not served.
    pub thrift: Option<std::net::SocketAddr>,
    /// File of the switch's program.
    pub program: PathBuf,
}

/// The directory of a user's labs.
#[derive(Clone, Debug)]
pub struct Registry(PathBuf);

impl Registry {
    /// The registry of this user. Call it before the process becomes root in a namespace of its own.
    pub fn of_user() -> Registry {
        let user = nix::unistd::geteuid();
        let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        Registry(base.join(format!("p4rack-labs-{user}")))
    }

    /// The id of a lab in this process.
    pub fn own_id() -> String {
        let process = std::process::id();
        format!("{process}-{}", started(process).unwrap_or(0))
    }

    fn file(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }

    /// Path of a switch's socket for subscribers of digests.
    pub fn socket(&self, id: &str, switch: &str) -> io::Result<PathBuf> {
        self.create()?;
        Ok(self.0.join(format!("{id}{SOCKET}{switch}")))
    }

    fn create(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    /// Makes a lab known.
    pub fn add(&self, record: &Record) -> io::Result<()> {
        self.create()?;
        let text = serde_json::to_string_pretty(record).map_err(io::Error::other)?;
        // Other processes never see a partial file.
        let part = self.0.join(format!("{}.part", record.id));
        std::fs::write(&part, text)?;
        std::fs::rename(part, self.file(&record.id))
    }

    /// Removes a lab's file, and ends its hosts' processes. Returns their number.
    pub fn remove(&self, id: &str) -> usize {
        let ended = end_processes(id);
        let _ = std::fs::remove_file(self.file(id));
        self.remove_sockets(|of| of == id);
        ended
    }

    /// All labs, each with whether it runs.
    pub fn all(&self) -> Vec<(Record, bool)> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let is_record = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
        let paths = entries.map(|entry| entry.path()).filter(|path| is_record(path));
        let read = |path: PathBuf| -> Option<Record> {
            serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
        };
        let mut all: Vec<(Record, bool)> = paths
            .filter_map(read)
            .map(|record| {
                let runs = is_running(&record);
                (record, runs)
            })
            .collect();
        all.sort_by(|one, other| one.0.id.cmp(&other.0.id));
        all
    }

    /// Removes the sockets of labs with such ids.
    fn remove_sockets(&self, is_gone: impl Fn(&str) -> bool) {
        for file in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = file.file_name();
            let of = name.to_str().and_then(|name| name.split_once(SOCKET));
            if of.is_some_and(|(id, _)| is_gone(id)) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }

    /// Removes the remains of killed labs; returns their ids and the numbers of ended processes.
    pub fn clean(&self) -> Vec<(String, usize)> {
        // A lab has sockets before it is known.
        self.remove_sockets(|id| !runs(id));
        let dead = self.all().into_iter().filter(|(_, runs)| !runs);
        dead.map(|(record, _)| (record.id.clone(), self.remove(&record.id))).collect()
    }

    /// The lab that is meant: of this id or process, or the one of this directory, or the only one.
    pub fn find(&self, id: Option<&str>, directory: &Path) -> Result<Record, String> {
        let mut running: Vec<Record> =
            self.all().into_iter().filter(|(_, runs)| *runs).map(|(record, _)| record).collect();
        let list = |labs: &[Record]| {
            let line = |lab: &Record| format!("{} in {}", lab.id, lab.directory.display());
            labs.iter().map(line).collect::<Vec<_>>().join(", ")
        };
        if let Some(id) = id {
            let is_it = |lab: &Record| lab.id == id || lab.process.to_string() == id;
            let known = list(&running);
            return running.into_iter().find(is_it).ok_or_else(|| match known.is_empty() {
                true => "no lab runs: start one with `p4rack lab`".to_string(),
                false => format!("no lab `{id}` runs; there are: {known}"),
            });
        }
        if running.iter().filter(|lab| lab.directory == directory).count() == 1 {
            running.retain(|lab| lab.directory == directory);
        }
        match running.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err("no lab runs: start one with `p4rack lab`".to_string()),
            several => Err(format!("several labs run: name one with --lab; there are: {}", list(several))),
        }
    }
}

fn is_running(record: &Record) -> bool {
    runs(&record.id)
}

/// True if the process of a lab with this id runs.
fn runs(id: &str) -> bool {
    let process = id.split_once('-').and_then(|(process, _)| process.parse().ok());
    let at = process.and_then(|process| Some((process, started(process)?)));
    at.is_some_and(|(process, at)| id == format!("{process}-{at}"))
}

/// When a process began, in ticks since the machine did.
fn started(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything; a process that has ended but is not waited for runs no more.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok())?
}

/// Ends the processes of a lab's hosts; how many there were.
pub fn end_processes(id: &str) -> usize {
    let mark = format!("{MARK}={id}");
    let is_marked = |process: i32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let mut ended = BTreeSet::new();
    // One may start another while they are looked for.
    for _ in 0..10 {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked: Vec<i32> = processes.filter(|process| is_marked(*process)).collect();
        if marked.is_empty() {
            break;
        }
        for process in marked {
            // A dying process exists for a while.
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
            ended.insert(process);
        }
    }
    ended.len()
}
