//! The device, as code gets at it: its own, or one that threads share.

use crate::outbox::Outbox;
use crate::turns::Turns;
use dataplane_api::{DropReason, SharedCalls};
use device::psa::Half;
use device::{Blocks, Core, Digest, Switch, ValueCallee};
use std::sync::{Arc, MutexGuard};

/// Access of a batch to the state of its device.
pub(crate) enum Access<'s> {
    Own(&'s mut Core, Blocks<'s>),
    Shared {
        switch: &'s Turns<Switch>,
        /// The lock, taken when the switch is first needed and held until the batch ends.
        guard: Option<MutexGuard<'s, Switch>>,
        /// For each instance, its calls without the lock: see [`State::shared_calls`](device::State::shared_calls).
        calls: &'s [SharedCall],
        /// Outbox for reports to the control plane.
        outbox: &'s Outbox,
        /// For PSA: the half whose blocks are used.
        half: Half,
    },
}

/// Calls of an instance, and the number of its method.
pub(crate) type SharedCall = Option<(Arc<dyn SharedCalls>, usize)>;

impl<'s> Access<'s> {
    /// Calls of an instance that need no lock. A call may take long, so that the lock is free meanwhile, unless this batch has it already.
    pub(crate) fn shared_call(&self, callee: ValueCallee) -> Option<&'s (Arc<dyn SharedCalls>, usize)> {
        match (self, callee) {
            (Access::Shared { calls, .. }, ValueCallee::Method(id, 0)) => calls.get(id.index())?.as_ref(),
            _ => None,
        }
    }
}

impl Access<'_> {
    /// State of the device, and its program's blocks.
    pub(crate) fn parts(&mut self) -> (&mut Core, Blocks<'_>) {
        match self {
            Access::Own(core, blocks) => (core, *blocks),
            Access::Shared { switch, guard, half, .. } => {
                let (core, blocks) = guard.get_or_insert_with(|| switch.lock()).parts();
                (core, blocks.of(*half))
            }
        }
    }

    /// State of the device.
    pub(crate) fn core(&mut self) -> &mut Core {
        match self {
            Access::Own(core, _) => core,
            Access::Shared { switch, guard, .. } => guard.get_or_insert_with(|| switch.lock()).parts().0,
        }
    }

    /// The switch, of a device that threads share.
    pub(crate) fn shared(&mut self) -> Option<&mut Switch> {
        match self {
            Access::Own(..) => None,
            Access::Shared { switch, guard, .. } => Some(guard.get_or_insert_with(|| switch.lock())),
        }
    }

    /// Switches to the blocks of this half of PSA.
    pub(crate) fn turn_to(&mut self, to: Half) {
        match self {
            Access::Own(_, blocks) => *blocks = blocks.of(to),
            Access::Shared { half, .. } => *half = to,
        }
    }

    /// Adds a digest.
    pub(crate) fn digest(&mut self, digest: Digest) {
        self.hand_over();
        match self {
            Access::Own(core, _) => core.state.digest(digest),
            Access::Shared { outbox, .. } => outbox.report(|reports| reports.digest(digest)),
        }
    }

    /// Adds a line to the log.
    pub(crate) fn log(&mut self, line: String) {
        self.hand_over();
        match self {
            Access::Own(core, _) => core.state.log(line),
            Access::Shared { outbox, .. } => outbox.report(|reports| reports.line(line)),
        }
    }

    /// Moves reports made under the lock to this thread's outbox.
    pub(crate) fn hand_over(&mut self) {
        if let Access::Shared { guard: Some(switch), outbox, .. } = self {
            outbox.report(|reports| reports.append(switch.parts().0.take_reports()));
        }
    }

    /// Packets were received, and frames sent.
    pub(crate) fn count(&mut self, received: u64, sent: u64) {
        match self {
            Access::Own(core, _) => core.count(received, sent),
            Access::Shared { outbox, .. } => outbox.count(|counters| {
                counters.received += received;
                counters.sent += sent;
            }),
        }
    }

    /// Packets were dropped.
    pub(crate) fn dropped(&mut self, reason: DropReason, packets: u64) {
        match self {
            Access::Own(core, _) => core.count_dropped(reason, packets),
            Access::Shared { outbox, .. } => {
                outbox.count(|counters| *counters.dropped.entry(reason).or_default() += packets);
            }
        }
    }
}
