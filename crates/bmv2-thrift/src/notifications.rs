//! Digests for subscribers: BMv2's notification socket, nanomsg's publisher (RFC "SP", protocol PUB) over `ipc` or TCP.
//!
//! ```text
//! both ends first send        00 'S' 'P' 00, protocol (2 bytes), 0 (2 bytes)
//! a message over TCP          length (8 bytes), message
//! a message over ipc          01, length (8 bytes), message
//! ```

use crate::backlog::{Backlog, Subscriber};
use crate::server::{CONNECTIONS, RULES};
use base_time::{Duration, Time};
use bmv2::Learning;
use p4runtime_grpc::{Accepts, Admission, Budget};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::{debug, warn};

/// Protocols PUB and SUB.
const PUBLISHER: u16 = 0x20;
const SUBSCRIBER: u16 = 0x21;

/// Subscribers at a time. When another one comes, the one makes room to which nothing was sent for longest.
pub const SUBSCRIBERS: usize = CONNECTIONS;

/// Time for a subscriber's first bytes, and for reading a message.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// A nanomsg address: `ipc://PATH` or `tcp://IP:PORT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotificationsAddress {
    /// A socket in the file system.
    Ipc(PathBuf),
    /// A TCP address.
    Tcp(SocketAddr),
}

impl NotificationsAddress {
    /// BMv2's address for a device.
    pub fn of_device(device_id: u64) -> NotificationsAddress {
        NotificationsAddress::Ipc(format!("/tmp/bmv2-{device_id}-notifications.ipc").into())
    }

    /// True if only this machine reaches it.
    pub fn is_local(&self) -> bool {
        match self {
            NotificationsAddress::Ipc(_) => true,
            NotificationsAddress::Tcp(address) => address.ip().is_loopback(),
        }
    }
}

impl FromStr for NotificationsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<NotificationsAddress, String> {
        let wrong = || format!("`{text}` is no address for notifications: write ipc://PATH or tcp://IP:PORT");
        if let Some(path) = text.strip_prefix("ipc://").filter(|path| !path.is_empty()) {
            return Ok(NotificationsAddress::Ipc(path.into()));
        }
        let address = text.strip_prefix("tcp://").ok_or_else(wrong)?;
        match (address.parse(), address.strip_prefix("*:").map(str::parse)) {
            (Ok(address), _) => Ok(NotificationsAddress::Tcp(address)),
            (_, Some(Ok(port))) => Ok(NotificationsAddress::Tcp((IpAddr::from([0, 0, 0, 0]), port).into())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for NotificationsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotificationsAddress::Ipc(path) => write!(f, "ipc://{}", path.display()),
            NotificationsAddress::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

/// A listening notification socket; a socket file goes with it.
#[derive(Debug)]
pub struct NotificationsListener {
    address: NotificationsAddress,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Ipc(std::os::unix::net::UnixListener),
    Tcp(std::net::TcpListener),
}

impl NotificationsListener {
    /// Listens. A socket file that nobody listens on is replaced; only this user can connect to a new one.
    pub fn bind(address: &NotificationsAddress) -> io::Result<NotificationsListener> {
        let (address, socket) = match address {
            NotificationsAddress::Ipc(path) => {
                remove_dead(path)?;
                let listener = std::os::unix::net::UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                listener.set_nonblocking(true)?;
                (address.clone(), Socket::Ipc(listener))
            }
            NotificationsAddress::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                (NotificationsAddress::Tcp(listener.local_addr()?), Socket::Tcp(listener))
            }
        };
        Ok(NotificationsListener { address, socket })
    }

    /// Address for subscribers.
    pub fn address(&self) -> &NotificationsAddress {
        &self.address
    }
}

fn remove_dead(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(found) if !found.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"))
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on it"))
        }
        Ok(_) => std::fs::remove_file(path),
    }
}

/// Publisher of a switch's digests.
#[derive(Clone)]
pub struct Notifications {
    learning: Arc<Mutex<Learning>>,
    backlog: Backlog,
    /// Bytes before the length of a message.
    prefix: &'static [u8],
    started: Instant,
    address: String,
    _file: Arc<SocketFile>,
}

/// Removed with the last publisher.
struct SocketFile(Option<PathBuf>);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Notifications {
    /// Publisher of a device for a socket that it does not serve yet. Messages that wait take memory of the budget.
    pub fn new(listener: &NotificationsListener, device_id: u64, budget: Budget) -> Notifications {
        let (file, prefix): (_, &[u8]) = match &listener.address {
            NotificationsAddress::Ipc(path) => (Some(path.clone()), &[1]),
            NotificationsAddress::Tcp(_) => (None, &[]),
        };
        Notifications {
            learning: Arc::new(Mutex::new(Learning::new(device_id))),
            backlog: Backlog::new(budget),
            prefix,
            started: Instant::now(),
            address: listener.address.to_string(),
            _file: Arc::new(SocketFile(file)),
        }
    }

    /// Accepts subscribers, in a tokio runtime.
    pub fn serve(&self, listener: NotificationsListener) -> io::Result<()> {
        let backlog = self.backlog.clone();
        match listener.socket {
            Socket::Ipc(socket) => {
                tokio::spawn(accept(tokio::net::UnixListener::from_std(socket)?, backlog));
            }
            Socket::Tcp(socket) => {
                tokio::spawn(accept(tokio::net::TcpListener::from_std(socket)?, backlog));
            }
        }
        Ok(())
    }

    /// Address for subscribers.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Publishes samples, each with the number of its list, and buffers that have waited long enough.
    pub fn learn(&self, samples: Vec<(i32, Vec<u8>)>) {
        let now = Time::ZERO
            + Duration::from_ns(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let mut learning = self.lock();
        let complete: Vec<Vec<u8>> =
            samples.into_iter().filter_map(|(list, sample)| learning.learn(list, sample, now)).collect();
        let due = learning.due(now);
        drop(learning);
        complete.into_iter().chain(due).for_each(|message| self.send(message));
    }

    /// The state of the lists, for acknowledgements and settings.
    pub fn lock(&self) -> MutexGuard<'_, Learning> {
        self.learning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message.
    pub fn send(&self, message: Vec<u8>) {
        let length = (message.len() as u64).to_be_bytes();
        if !self.backlog.push([self.prefix, &length, &message].concat()) {
            warn!("a notification is lost: there is not enough memory for {} bytes", message.len());
        }
    }
}

async fn accept<L: Accepts + Send>(socket: L, backlog: Backlog)
where
    L::Stream: Send + 'static,
{
    let admission = Admission::new(RULES);
    loop {
        let stream = admission.accept(&socket).await.answering();
        let messages = backlog.subscribe();
        tokio::spawn(async move {
            if let Err(error) = publish(stream, messages, PATIENCE).await {
                debug!("a subscriber has gone: {error}");
            }
        });
    }
}

async fn publish(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    messages: Subscriber,
    patience: std::time::Duration,
) -> io::Result<()> {
    let [high, low] = PUBLISHER.to_be_bytes();
    stream.write_all(&[0, b'S', b'P', 0, high, low, 0, 0]).await?;
    let mut theirs = [0; 8];
    tokio::time::timeout(patience, stream.read_exact(&mut theirs)).await??;
    let [high, low] = SUBSCRIBER.to_be_bytes();
    if theirs != [0, b'S', b'P', 0, high, low, 0, 0] {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak nanomsg's SUB"));
    }
    let mut ignored = [0; 256];
    loop {
        let (message, lost) = tokio::select! {
            message = messages.next() => message,
            read = stream.read(&mut ignored) => match read? {
                0 => return Ok(()),
                _ => continue,
            },
        };
        if lost > 0 {
            warn!(lost, "a subscriber is too slow for notifications");
        }
        tokio::time::timeout(patience, stream.write_all(&message.bytes)).await??;
    }
}

#[cfg(test)]
mod tests;
