//! The sending side of an edge: selects the target, requests reports, and detects failures.
//!
//! ```text
//! standby ──begin──> active ──a request is missed, a number is missing──> suspect ──too many──> failed
//!    ^                  ^  <──────────────a report──────────────────────────┘                      │
//!    └──forgiven──── recovering (at the controller: state is right, hold-down) <───────────────────┘
//! ```

use crate::{Report, Stamp, Target, Targets, Thresholds, is_after};

/// Time stamps of v1model have 48 bits.
const CLOCK_MASK: u64 = (1 << 48) - 1;

/// The registers that only the data plane writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Sender {
    /// Toggled when a target fails. A target has failed while its bit differs from that in [`Allowed::forgiven`].
    pub failed: Targets,
    /// Targets that have failed because their port went down. While no other target is usable, they are used again as soon as it is up.
    pub left: Targets,
    /// The target in use, or none.
    pub used: Targets,
    /// As in [`Stamp::generation`].
    pub generation: u32,
    /// Number of the last hand-over.
    pub sequence: u32,
    /// A request is open.
    pub waiting: bool,
    /// The number of the last request.
    pub asked: u32,
    /// Time of the last request, in microseconds of the device's clock.
    pub asked_at: u64,
    /// Requests missed since the last report.
    pub missed: u8,
    /// The highest number that the target has reported.
    pub acked: u32,
    /// [`Report::gaps`] of the last report.
    pub gaps_seen: u16,
    /// Numbers reported missing in this window.
    pub gaps: u16,
}

/// The registers that only the control plane writes, so that neither side overwrites values of the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Allowed {
    /// For each target: the value of its bit in [`Sender::failed`] with which it may be used.
    pub forgiven: Targets,
    /// Targets that may not be used: their state is not right, or an operator says so.
    pub barred: Targets,
    /// Targets whose port is down: the register of the agent.
    pub down: Targets,
}

/// A hand-over that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The receiver.
    pub target: Target,
    /// Fields of the protocol for `p4rack_t`.
    pub stamp: Stamp,
}

/// Outcome of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The report is for another generation, or for numbers that were never sent.
    Ignored,
    /// The report counts.
    Counted,
    /// The report counts, and the target has failed.
    Failed,
}

/// The state of a target, for operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetState {
    /// In use.
    Active,
    /// In use; requests are missed or numbers missing.
    Suspect,
    /// Ready.
    Standby,
    /// The sender has found that it failed.
    Failed,
    /// The control plane does not allow it.
    Barred,
}

impl Sender {
    /// A sender in its initial state. `generation` is the one before the first; it must be after all generations that an earlier sender of the edge has
    /// used: the time of the start in seconds will do.
    pub fn new(generation: u32) -> Sender {
        Sender { generation, ..Sender::default() }
    }

    /// Targets of the edge that may be used. If there is none, one that was left only because of its port: as long as it can, the one in use.
    pub fn usable(&self, all: Targets, allowed: Allowed) -> Targets {
        let ready = self.ready(all, allowed) & !allowed.down;
        if !ready.is_empty() {
            return ready;
        }
        let left = all & self.left & !allowed.barred & !allowed.down;
        let used = left & self.used;
        if used.is_empty() { left } else { used }
    }

    /// Targets that are neither barred nor failed, whatever their ports.
    fn ready(&self, all: Targets, allowed: Allowed) -> Targets {
        all & !(self.failed ^ allowed.forgiven) & !allowed.barred
    }

    /// Targets whose port is down have failed, if another target may be used: so they are used again when the controller lets them back, and not
    /// when the port comes up.
    fn judge_ports(&mut self, all: Targets, allowed: Allowed) {
        self.left = self.left & (self.failed ^ allowed.forgiven);
        if !self.usable(all, allowed).is_empty() {
            let gone = self.ready(all, allowed) & allowed.down;
            self.failed = self.failed ^ gone;
            self.left = self.left | gone;
        }
    }

    /// A hand-over is to leave; none if no target is left.
    pub fn send(&mut self, now: u64, all: Targets, allowed: Allowed, limits: &Thresholds) -> Option<Sent> {
        self.judge_ports(all, allowed);
        let is_late = self.judge(now, all, allowed, limits);
        self.leave(now, all, allowed, limits, is_late)
    }

    /// Time has passed. Gives a hand-over without a packet if a request is due.
    pub fn tick(&mut self, now: u64, all: Targets, allowed: Allowed, limits: &Thresholds) -> Option<Sent> {
        self.judge_ports(all, allowed);
        let is_late = self.judge(now, all, allowed, limits);
        let is_new = self.usable(all, allowed).preferred() != self.used;
        let is_old = !self.waiting && since(now, self.asked_at) >= limits.ask_after;
        let is_due = is_late || is_new || is_old;
        if is_due { self.leave(now, all, allowed, limits, true) } else { None }
    }

    /// A report has arrived from the target in use.
    pub fn hear(&mut self, report: Report, all: Targets, allowed: Allowed, limits: &Thresholds) -> Heard {
        self.judge_ports(all, allowed);
        let is_of_now = report.generation == self.generation && !self.used.is_empty();
        if !is_of_now || is_after(report.sequence, self.sequence) {
            return Heard::Ignored;
        }
        if is_after(report.sequence, self.acked) {
            self.acked = report.sequence;
            self.missed = 0;
        }
        if !is_after(self.asked, self.acked) {
            self.waiting = false;
        }
        let more = report.gaps.wrapping_sub(self.gaps_seen);
        // Counts of 16 bits wrap: the difference to an older report is negative.
        if (more as i16) > 0 {
            self.gaps_seen = report.gaps;
            self.gaps = self.gaps.saturating_add(more);
        }
        let has_failed = self.gaps >= limits.most_gaps && self.fail(all, allowed);
        if has_failed { Heard::Failed } else { Heard::Counted }
    }

    /// The state of a target.
    pub fn state_of(&self, target: Target, allowed: Allowed) -> TargetState {
        let set = Targets::from(target);
        let is_in = |targets: Targets| !(targets & set).is_empty();
        match () {
            () if is_in(allowed.barred | allowed.down) => TargetState::Barred,
            () if is_in(self.failed ^ allowed.forgiven) && !is_in(self.used) => TargetState::Failed,
            () if !is_in(self.used) => TargetState::Standby,
            () if self.missed > 0 || self.gaps > 0 => TargetState::Suspect,
            () => TargetState::Active,
        }
    }

    /// Counts an open request that is too old. True if there was one and the target is asked again.
    fn judge(&mut self, now: u64, all: Targets, allowed: Allowed, limits: &Thresholds) -> bool {
        if !self.waiting || since(now, self.asked_at) <= limits.patience {
            return false;
        }
        self.missed = self.missed.saturating_add(1);
        if self.missed >= limits.most_missed {
            self.fail(all, allowed);
        }
        true
    }

    /// The target in use has failed. False if it may not be used any more anyway.
    fn fail(&mut self, all: Targets, allowed: Allowed) -> bool {
        let failed = self.used & self.usable(all, allowed);
        self.failed = self.failed ^ (failed & !self.left);
        self.left = self.left & !failed;
        self.used = Targets::NONE;
        self.waiting = false;
        !failed.is_empty()
    }

    fn leave(
        &mut self,
        now: u64,
        all: Targets,
        allowed: Allowed,
        limits: &Thresholds,
        is_due: bool,
    ) -> Option<Sent> {
        let target = self.usable(all, allowed).preferred();
        let is_new = target != self.used;
        if is_new {
            let generation =
                if target.is_empty() { self.generation } else { self.generation.wrapping_add(1) };
            // 0 says that nothing has arrived.
            *self = Sender {
                failed: self.failed,
                left: self.left,
                used: target,
                generation: generation.max(1),
                ..Sender::default()
            };
        }
        let number = target.target()?;
        self.sequence = self.sequence.wrapping_add(1);
        if self.sequence & (limits.window - 1) == 0 {
            self.gaps = 0;
        }
        let many = self.sequence.wrapping_sub(self.asked) >= limits.ask_every;
        let is_old = many || since(now, self.asked_at) >= limits.ask_after;
        let ask = is_due || is_new || !self.waiting && is_old;
        if ask {
            self.waiting = true;
            self.asked = self.sequence;
            self.asked_at = now;
        }
        let stamp = Stamp { generation: self.generation, sequence: self.sequence, ask };
        Some(Sent { target: number, stamp })
    }
}

fn since(now: u64, then: u64) -> u64 {
    now.wrapping_sub(then) & CLOCK_MASK
}
