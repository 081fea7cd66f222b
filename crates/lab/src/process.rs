//! Processes of a lab beside its hosts': agents and a controller. One that ends is started again.

use crate::registry::MARK;
use crate::space::Space;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pause before a process that has ended is started again.
const PAUSE: Duration = Duration::from_millis(200);

/// Time in which a process must end, checked in a hundred steps.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a process is started.
pub struct Launch {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Network namespace; `None` for the lab's own.
    pub space: Option<Space>,
    /// Listening socket that becomes the process's standard input.
    pub listener: Option<TcpListener>,
    /// File for the process's output.
    pub log: PathBuf,
    /// The lab's id.
    pub mark: String,
    /// True if the process is started again when it ends.
    pub starts_again: bool,
}

impl Launch {
    fn start(&self, is_first: bool) -> io::Result<Child> {
        let log =
            File::options().create(true).write(true).truncate(is_first).append(!is_first).open(&self.log)?;
        let mut command = Command::new(self.words.first().map_or("true", String::as_str));
        command.args(self.words.iter().skip(1)).env(MARK, &self.mark);
        match &self.listener {
            Some(listener) => command.stdin(Stdio::from(OwnedFd::from(listener.try_clone()?))),
            None => command.stdin(Stdio::null()),
        };
        command.stdout(log.try_clone()?).stderr(log);
        match &self.space {
            Some(space) => space.within(|| command.spawn())?,
            None => command.spawn(),
        }
    }
}

/// A process. It is ended when this is dropped.
pub struct Process {
    /// Name of the device, or `controller`.
    pub name: String,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    child: Option<u32>,
    ends: bool,
}

impl Process {
    /// Starts a process, and a thread that waits for it.
    pub fn start(name: &str, launch: Launch) -> io::Result<Process> {
        let mut child = launch.start(true)?;
        let state = Arc::new(Mutex::new(State { child: Some(child.id()), ends: false }));
        let shared = Arc::clone(&state);
        let wait = move || {
            loop {
                // Only that the process has ended matters, not how.
                let _ = child.wait();
                if shared.lock().unwrap_or_else(PoisonError::into_inner).ends || !launch.starts_again {
                    return;
                }
                std::thread::sleep(PAUSE);
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                // The end may have been requested during the pause.
                if state.ends {
                    return;
                }
                // Under the lock, so that whoever ends the lab finds the new process.
                match launch.start(false) {
                    Ok(next) => {
                        state.child = Some(next.id());
                        child = next;
                    }
                    Err(_) => state.child = None,
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_string()).spawn(wait)?;
        Ok(Process { name: name.to_string(), state, thread: Some(thread) })
    }

    /// Process id of the one that runs.
    pub fn id(&self) -> Option<u32> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.ends = true;
            state.child
        };
        let process = child.and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let thread = self.thread.take();
        for step in 0..=100 {
            if thread.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            let signal = match step {
                0 => Some(Signal::SIGTERM),
                100 => Some(Signal::SIGKILL),
                _ => None,
            };
            // One that has just ended gets none.
            let _ = process.zip(signal).map(|(process, signal)| kill(process, signal));
            std::thread::sleep(PATIENCE / 100);
        }
        // One that panicked has ended, too.
        let _ = thread.map(JoinHandle::join);
    }
}

/// The words that run this program: of the Python module, its command. The module says which Python it is in: the file that runs is the one outside
/// of its environment, which does not know the module.
pub fn own_command() -> Vec<String> {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("p4rack"));
    let is_python = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let python = std::env::var_os("P4RACK_PYTHON").filter(|_| is_python).map(PathBuf::from);
    let mut words = vec![python.unwrap_or(program).to_string_lossy().into_owned()];
    if is_python {
        words.extend(["-m", "p4rack"].map(ToString::to_string));
    }
    words
}
