//! One address with P4Runtime for all switches of a lab: requests name the device.

use p4runtime_grpc::{Budget, Devices, Front, Limits, serve_devices};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// P4Runtime's own port.
const PORT: u16 = 9559;

/// Time for open calls to finish when the lab ends.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);

/// A thread that serves P4Runtime for several devices. It ends when this is dropped.
pub(crate) struct SharedAddress {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SharedAddress {
    /// Serves on P4Runtime's port, or on a free one if that is in use or `any` may do.
    pub(crate) fn serve(
        fronts: impl IntoIterator<Item = (u64, Front)>,
        any: bool,
        limits: (Limits, Budget),
    ) -> io::Result<SharedAddress> {
        let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = bind(if any { 0 } else { PORT }).or_else(|_| bind(0))?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let devices = Devices::new(fronts);
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            let (ends, ending) = oneshot::channel();
            let stop = Box::pin(async {
                drop(stopped.await);
                let _ = ends.send(());
            });
            let served = runtime.block_on(async {
                tokio::select! {
                    served = serve_devices(listener, devices, limits, stop) => served,
                    // Connections that stay open are abandoned.
                    () = async { drop(ending.await); tokio::time::sleep(PATIENCE).await } => Ok(()),
                }
            });
            if let Err(error) = served {
                tracing::error!("P4Runtime for all switches has ended: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("p4runtime".to_string()).spawn(serve)?;
        Ok(SharedAddress { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for SharedAddress {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
