//! Signals to a lab: SIGTERM and SIGHUP end it, SIGINT goes to the command in the foreground.

use crate::registry::Registry;
use std::sync::mpsc::{Receiver, sync_channel};
use tokio::signal::unix::{SignalKind, signal};

/// Says when the lab is to end.
pub struct Ending(Receiver<()>);

impl Ending {
    /// Waits until a signal ends the lab.
    pub fn wait(&self) {
        // Without signals it is ended from outside.
        let _ = self.0.recv();
    }
}

/// Begins to listen to signals. `at_prompt`: the main thread reads commands, so that this one has to end the process; else [`Ending::wait`] returns, also upon SIGINT.
pub fn on_signals(id: &str, registry: Registry, at_prompt: bool) -> Ending {
    let (sender, receiver) = sync_channel(1);
    let id = id.to_string();
    let listen = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let (Ok(mut terminate), Ok(mut hang_up), Ok(mut interrupt)) = (
                signal(SignalKind::terminate()),
                signal(SignalKind::hangup()),
                signal(SignalKind::interrupt()),
            ) else {
                return;
            };
            loop {
                tokio::select! {
                    _ = terminate.recv() => break,
                    _ = hang_up.recv() => break,
                    _ = interrupt.recv() => if !at_prompt { break },
                }
            }
            if at_prompt {
                // Namespaces and what is in them go with the process.
                registry.remove(&id);
                std::process::exit(143);
            }
            let _ = sender.send(());
        });
    };
    // Without the thread, signals act as on any process: the next lab cleans up.
    let _ = std::thread::Builder::new().name("signals".to_string()).spawn(listen);
    Ending(receiver)
}
