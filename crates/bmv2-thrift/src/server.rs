//! The server.

use crate::local::LocalSwitch;
use crate::notifications::Notifications;
use bmv2::wire::{Message, decode, encode};
use bmv2::{About, Services};
use p4runtime_grpc::{Admission, Answering, Front, Rules};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tracing::{debug, warn};

/// Connections at a time.
pub const CONNECTIONS: usize = 64;

/// A prompt or a subscriber may be idle for long; when another client comes, the one that has been idle longest makes room.
pub(crate) const RULES: Rules = Rules {
    connections: CONNECTIONS,
    per_address: CONNECTIONS,
    reserve: 0,
    first_call: Duration::from_secs(24 * 60 * 60),
    idle: Duration::from_secs(24 * 60 * 60),
    reserved_for: Duration::from_secs(24 * 60 * 60),
    stopped: PATIENCE,
};

/// Timeout of a client for reading an answer, and for sending the rest of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pieces that a call may come in. Each is looked at from the beginning of the call: who sends single bytes makes work for the switch.
const PIECES: u32 = 4096;

/// KiB of all answers that clients have not read yet; one may have more. Memory for the next call has to be left, which may take many times its
/// answer's bytes.
const UNREAD: u32 = 128 << 10;

/// Bytes that are read at a time.
const READ: usize = 16 << 10;

/// Work for the thread that does the calls.
enum Work {
    /// A call, and the receiver of the encoded answer.
    Call(Message, oneshot::Sender<Option<Vec<u8>>>),
    /// There are answers to be freed.
    Free,
}

/// Calls, and answers that are no longer needed. These are freed by the thread that made them, since an allocator may keep what another frees, and
/// before the next call is done, however many wait.
#[derive(Clone)]
struct Worker {
    work: mpsc::UnboundedSender<Work>,
    needless: Sender<Vec<u8>>,
}

/// An answer.
struct Encoded(Vec<u8>, Worker);

impl Drop for Encoded {
    fn drop(&mut self) {
        let Encoded(answer, Worker { work, needless }) = self;
        let _ = needless.send(std::mem::take(answer));
        let _ = work.send(Work::Free);
    }
}

/// Serves on a listener until the process ends. An error says why it cannot. Clients that read digests are told where these are published.
pub fn serve(
    listener: TcpListener,
    front: &Front,
    device_id: u64,
    notifications: Option<Notifications>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot serve Thrift: {error}");
    listener.set_nonblocking(true).map_err(failed)?;
    let about = About {
        device_id,
        thrift_port: listener.local_addr().map_err(failed)?.port(),
        notifications: notifications.as_ref().map(|of| of.address().to_string()),
    };
    let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
    let mut services = Services::new(LocalSwitch::new(front.local(), notifications), about);
    // Each connection waits for the answer to its call.
    let (calls, mut called) = mpsc::unbounded_channel();
    let (sender, needless) = std::sync::mpsc::channel();
    let worker = Worker { work: calls, needless: sender };
    let work = move || {
        while let Some(work) = called.blocking_recv() {
            needless.try_iter().for_each(drop);
            if let Work::Call(message, reply) = work {
                // The client may be gone.
                let _ = reply.send(services.handle(&message).map(|answer| encode(&answer)));
            }
        }
    };
    std::thread::Builder::new().name("thrift".to_string()).spawn(work).map_err(failed)?;
    let front = front.clone();
    tokio::spawn(async move {
        let admission = Admission::new(RULES);
        let unread = Arc::new(Semaphore::new(UNREAD as usize));
        loop {
            let guarded = admission.accept(&listener).await;
            let unread = Arc::clone(&unread);
            tokio::spawn(connection(guarded.answering(), worker.clone(), front.clone(), unread));
        }
    });
    Ok(())
}

async fn connection(mut stream: Answering, worker: Worker, front: Front, unread: Arc<Semaphore>) {
    let (mut bytes, mut pieces) = (Vec::new(), 0);
    loop {
        match decode(&bytes) {
            Err(why) => {
                warn!("a Thrift connection is closed: {why}");
                return;
            }
            Ok(Some((message, length))) => {
                bytes.drain(..length);
                pieces = 0;
                debug!(call = message.name, "Thrift");
                let (reply, answer) = oneshot::channel();
                if worker.work.send(Work::Call(message, reply)).is_err() {
                    return;
                }
                let Ok(answer) = answer.await else { return };
                let Some(answer) = answer.map(|bytes| Encoded(bytes, worker.clone())) else { continue };
                let answer = &answer.0;
                // A client may ask for all entries of a table and not read them.
                let kib = u32::try_from(answer.len() >> 10).unwrap_or(UNREAD).min(UNREAD);
                let (Ok(_place), Some(_hold)) = (unread.try_acquire_many(kib), front.hold(answer.len()))
                else {
                    warn!(
                        "a Thrift connection is closed: there is not enough memory for an answer of {} bytes",
                        answer.len()
                    );
                    return;
                };
                let written = tokio::time::timeout(PATIENCE, stream.write_all(answer)).await;
                if !matches!(written, Ok(Ok(()))) {
                    return;
                }
            }
            Ok(None) => {
                pieces += 1;
                if pieces > PIECES {
                    warn!("a Thrift connection is closed: a call arrived in more than {PIECES} pieces");
                    return;
                }
                bytes.reserve(READ);
                // A client that has begun a call must go on with it.
                let patience = if bytes.is_empty() { RULES.idle } else { PATIENCE };
                match tokio::time::timeout(patience, stream.read_buf(&mut bytes)).await {
                    Ok(Ok(1..)) => {}
                    _ => return,
                }
            }
        }
    }
}
