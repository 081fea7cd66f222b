//! The interpreter's switch, as code gets at it: its own, or one that threads share.

use crate::outbox::Outbox;
use crate::turns::Turns;
use dataplane_api::DropReason;
use device::Host;
use device::embed::Half;
use device::{Digest, Switch};
use std::sync::MutexGuard;

/// See the module.
pub(crate) enum Access<'s> {
    Own(Host<'s>),
    Shared {
        switch: &'s Turns<Switch>,
        /// It is locked when it is first wanted, and then until the batch ends.
        guard: Option<MutexGuard<'s, Switch>>,
        /// For what only the control plane asks for.
        outbox: &'s Outbox,
        /// Of PSA: whose blocks it is asked about.
        half: Half,
    },
}

impl Access<'_> {
    /// The switch.
    pub(crate) fn host(&mut self) -> Host<'_> {
        match self {
            Access::Own(host) => host.again(),
            Access::Shared { switch, guard, half, .. } => {
                let mut host = guard.get_or_insert_with(|| switch.lock()).host();
                host.turn_to(*half);
                host
            }
        }
    }

    /// What is asked from now on is about the blocks of this half of PSA.
    pub(crate) fn turn_to(&mut self, to: Half) {
        match self {
            Access::Own(host) => host.turn_to(to),
            Access::Shared { half, .. } => *half = to,
        }
    }

    /// Adds a digest.
    pub(crate) fn digest(&mut self, digest: Digest) {
        self.hand_over();
        match self {
            Access::Own(host) => host.digest(digest),
            Access::Shared { outbox, .. } => outbox.tell(|told| told.digest(digest)),
        }
    }

    /// Adds a line to the log.
    pub(crate) fn log(&mut self, line: String) {
        self.hand_over();
        match self {
            Access::Own(host) => host.log(line),
            Access::Shared { outbox, .. } => outbox.tell(|told| told.line(line)),
        }
    }

    /// What the interpreter told in this thread's place is this thread's.
    pub(crate) fn hand_over(&mut self) {
        if let Access::Shared { guard: Some(switch), outbox, .. } = self {
            outbox.tell(|told| told.append(switch.host().take_told()));
        }
    }

    /// Packets were received, and frames sent.
    pub(crate) fn count(&mut self, received: u64, sent: u64) {
        match self {
            Access::Own(host) => {
                host.received(received);
                host.sent(sent);
            }
            Access::Shared { outbox, .. } => outbox.count(|counters| {
                counters.received += received;
                counters.sent += sent;
            }),
        }
    }

    /// Packets were dropped.
    pub(crate) fn dropped(&mut self, reason: DropReason, packets: u64) {
        match self {
            Access::Own(host) => host.dropped(reason, packets),
            Access::Shared { outbox, .. } => {
                outbox.count(|counters| *counters.dropped.entry(reason).or_default() += packets);
            }
        }
    }
}
