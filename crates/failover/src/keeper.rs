//! The controller's part: which targets a sender may use, and when one that has failed may be used again.
//!
//! The keeper alone decides about [`Allowed`]. The bits of [`Sender::failed`](crate::Sender::failed) do not change for targets
//! that the sender may not use. A reading that was made after the last writing therefore stays right for targets that are out,
//! and no bit that either side writes is lost.

use crate::{Allowed, Target, Targets};

/// The keeper of one edge. Times are microseconds of the controller's clock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Keeper {
    allowed: Allowed,
    /// Contents of the sender's registers, as last written by the controller.
    written: Allowed,
    /// The sender's `failed`, read since `allowed` was written.
    failed: Option<Targets>,
    targets: Vec<Kept>,
    hold_down: u64,
}

/// What a keeper knows of a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kept {
    /// It may be used.
    Usable,
    /// It has failed, or its state is not known to be right.
    Out,
    /// The state of the target is right; senders may use it again at this time.
    Recovering(u64),
}

impl Keeper {
    /// The keeper of an edge with so many targets, all usable. One that was out is used again `hold_down` after its state is right.
    pub fn new(count: usize, hold_down: u64) -> Keeper {
        Keeper::adopt(count, hold_down, Allowed::default())
    }

    /// The keeper of an edge whose registers another controller has written. Targets that are out stay out until their state is right.
    pub fn adopt(count: usize, hold_down: u64, allowed: Allowed) -> Keeper {
        let state = |target: Target| if allowed.barred.contains(target) { Kept::Out } else { Kept::Usable };
        let targets = (0..count as u8).map(Target).map(state).collect();
        Keeper { allowed, written: allowed, failed: None, targets, hold_down }
    }

    /// New contents of the sender's registers, if they differ from the present ones.
    pub fn to_write(&self) -> Option<Allowed> {
        (self.allowed != self.written).then_some(self.allowed)
    }

    /// The sender holds these values now.
    pub fn wrote(&mut self, written: Allowed) {
        self.written = written;
    }

    /// State of a target; `None` for a number that is no target.
    pub fn kept(&self, target: Target) -> Option<Kept> {
        self.targets.get(usize::from(target.0)).copied()
    }

    /// The sender's `failed` has been read. The reading says nothing while a writing is open.
    pub fn read(&mut self, failed: Targets) {
        if self.to_write().is_some() {
            return;
        }
        self.failed = Some(failed);
        let out = failed ^ self.allowed.forgiven;
        for target in self.all().filter(|target| out.contains(*target)) {
            let kept = &mut self.targets[usize::from(target.0)];
            *kept = if *kept == Kept::Usable { Kept::Out } else { *kept };
        }
    }

    /// The target is not to be used: its port is down, it has restarted, its state differs, or an operator says so.
    pub fn bar(&mut self, target: Target) {
        if let Some(kept) = self.targets.get_mut(usize::from(target.0)) {
            *kept = Kept::Out;
            let barred = self.allowed.barred.with(target);
            self.change(Allowed { barred, ..self.allowed });
        }
    }

    /// The state of a target that is out has been made right and compared.
    pub fn state_is_right(&mut self, target: Target, now: u64) {
        let until = now.saturating_add(self.hold_down);
        if let Some(kept @ Kept::Out) = self.targets.get_mut(usize::from(target.0)) {
            *kept = Kept::Recovering(until);
        }
    }

    /// Lets targets back whose hold-down has passed. Waits for a reading made since the last writing.
    pub fn release(&mut self, now: u64) {
        let Some(failed) = self.failed else { return };
        let mut allowed = self.allowed;
        for target in self.all() {
            let kept = &mut self.targets[usize::from(target.0)];
            if matches!(*kept, Kept::Recovering(until) if until <= now) {
                let set = Targets::from(target);
                *kept = Kept::Usable;
                allowed.barred = allowed.barred & !set;
                allowed.forgiven = (allowed.forgiven & !set) ^ (failed & set);
            }
        }
        self.change(allowed);
    }

    /// The sender begins anew, with all registers zero. Gives what it has to hold before it sends.
    pub fn restart(&mut self) -> Allowed {
        let out = self.all().filter(|target| self.kept(*target) != Some(Kept::Usable));
        let barred = out.fold(Targets::NONE, Targets::with);
        self.change(Allowed { forgiven: Targets::NONE, barred });
        self.failed = None;
        self.wrote(self.allowed);
        self.allowed
    }

    /// When [`Keeper::release`] has something to do.
    pub fn next_release(&self) -> Option<u64> {
        let until = self.targets.iter().filter_map(|kept| match kept {
            Kept::Recovering(until) => Some(*until),
            Kept::Usable | Kept::Out => None,
        });
        until.min()
    }

    fn change(&mut self, allowed: Allowed) {
        if allowed != self.allowed {
            self.allowed = allowed;
            self.failed = None;
        }
    }

    fn all(&self) -> impl Iterator<Item = Target> + use<> {
        (0..self.targets.len() as u8).map(Target)
    }
}
