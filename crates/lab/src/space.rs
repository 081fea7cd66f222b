//! Network namespaces, held open by files of this process: they disappear with the process, with everything in them.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// A network namespace. A clone is the same.
#[derive(Clone)]
pub struct Space(Arc<File>);

impl Space {
    /// A new one, with a loopback that is down.
    pub fn new() -> io::Result<Space> {
        apart(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })?
        .map(|file| Space(Arc::new(file)))
    }

    /// Runs a closure on a thread inside. Sockets that it opens and processes that it starts stay inside.
    pub fn within<T: Send>(&self, run: impl FnOnce() -> T + Send) -> io::Result<T> {
        apart(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            Ok(run())
        })?
    }

    /// The number of its open file in this process.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Path for other processes, valid while this one lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }

    /// The number by which the kernel knows it.
    pub fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.0.metadata()?.ino())
    }
}

/// Gives this thread and its processes a `/sys` that shows the interfaces of its network namespace. Where that is not allowed, they see those of the machine.
pub fn own_sys() {
    let none = None::<&str>;
    // Mounts of the machine still appear, and none of these leaves.
    let _ = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none))
        .and_then(|()| mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none));
}

/// Runs a closure on a thread that ends afterwards, and with it the namespaces that it entered.
fn apart<T: Send>(run: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".to_string()).spawn_scoped(scope, run)?;
        thread.join().map_err(|_| io::Error::other("the thread has ended early"))
    })
}

/// Lets a process without rights create namespaces: it is root in a user namespace of its own from then on. To be called while the process has one thread.
pub fn become_root() -> Result<(), String> {
    use nix::unistd::{getegid, geteuid};
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(());
    }
    let failure = |error: &dyn std::fmt::Display| format!("a user namespace cannot be created: {error}");
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| failure(&error))?;
    let write = |file: &str, text: String| {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(|error| failure(&error))
    };
    write("uid_map", format!("0 {user} 1"))?;
    write("setgroups", "deny".to_string())?;
    write("gid_map", format!("0 {group} 1"))
}

/// Enters the namespaces of another process. To be called while this process has one thread.
pub fn enter(process: u32, network: &std::path::Path) -> io::Result<()> {
    let own = std::fs::read_link("/proc/self/ns/user")?;
    let user = format!("/proc/{process}/ns/user");
    if std::fs::read_link(&user)? != own {
        setns(File::open(user)?, CloneFlags::CLONE_NEWUSER)?;
    }
    setns(File::open(network)?, CloneFlags::CLONE_NEWNET)?;
    Ok(())
}
