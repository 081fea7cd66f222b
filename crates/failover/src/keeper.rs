//! The controller's part: which targets a sender may use, and when one that has failed may be used again.
//!
//! The keeper alone decides about [`Allowed`]. The bits of [`Sender::failed`](crate::Sender::failed) do not change for targets
//! that have failed or are barred. A reading that was made after the last writing therefore stays right for targets that are out,
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
    /// The sender's `left`, as read last.
    left: Targets,
    targets: Vec<Entry>,
    hold_down: u64,
}

/// A target, and the hold-down that it has earned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Entry {
    kept: Kept,
    /// Number of doublings of the next hold-down.
    doubled: u32,
    /// A failure up to this time is one soon after the target was let back.
    soon: u64,
}

/// Maximum number of doublings of the hold-down.
const MOST_DOUBLED: u32 = 10;

/// A failure within this number of hold-downs after a target's return doubles the next hold-down.
const SOON: u64 = 4;

/// State of a target at the controller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kept {
    /// The target may be used.
    Usable,
    /// The target has failed, or its state is not known to be right.
    Out,
    /// The state of the target is right; senders may use it again at this time.
    Recovering(u64),
    /// An operator keeps it out.
    Held,
}

impl Keeper {
    /// The keeper of an edge with this number of targets, all usable. A failed target is used again `hold_down` after its state is correct; if it
    /// fails again soon, after twice that time, and so on.
    pub fn new(count: usize, hold_down: u64) -> Keeper {
        Keeper::adopt(count, hold_down, Allowed::default())
    }

    /// The keeper of an edge whose registers another controller has written. Targets that are out stay out until their state is right.
    pub fn adopt(count: usize, hold_down: u64, allowed: Allowed) -> Keeper {
        let state = |target: Target| if allowed.barred.contains(target) { Kept::Out } else { Kept::Usable };
        let entry = |target| Entry { kept: state(target), doubled: 0, soon: 0 };
        let targets = (0..count as u8).map(Target).map(entry).collect();
        Keeper { allowed, written: allowed, failed: None, left: Targets::NONE, targets, hold_down }
    }

    /// Sets the hold-down of targets from now on.
    pub fn set_hold_down(&mut self, hold_down: u64) {
        self.hold_down = hold_down;
    }

    /// New contents of the sender's registers, if they differ from the present ones.
    pub fn to_write(&self) -> Option<Allowed> {
        (self.allowed != self.written).then_some(self.allowed)
    }

    /// The sender holds these values now.
    pub fn wrote(&mut self, written: Allowed) {
        self.written = written;
    }

    /// State of a target; `None` if the number is not a target.
    pub fn kept(&self, target: Target) -> Option<Kept> {
        self.targets.get(usize::from(target.0)).map(|entry| entry.kept)
    }

    /// The sender's `failed` and `left` have been read. The reading says nothing while a writing is open.
    pub fn read(&mut self, failed: Targets, left: Targets) {
        if self.to_write().is_some() {
            return;
        }
        self.failed = Some(failed);
        let out = failed ^ self.allowed.forgiven;
        for target in self.all().filter(|target| out.contains(*target)) {
            let kept = &mut self.targets[usize::from(target.0)].kept;
            *kept = if *kept == Kept::Usable { Kept::Out } else { *kept };
        }
        self.left = left;
        // The sender may use them again by itself: it is to know where their state may not be right any more.
        if self.all().any(|target| self.kept(target) == Some(Kept::Usable)) {
            let gone = self.out().filter(|target| left.contains(*target));
            let barred = gone.fold(self.allowed.barred, Targets::with);
            self.change(Allowed { barred, ..self.allowed });
        }
    }

    /// True if the sender does not use the target, and will not before its state is right.
    pub fn is_unused(&self, target: Target) -> bool {
        let may_return = self.left.contains(target) && !self.allowed.barred.contains(target);
        matches!(self.kept(target), Some(Kept::Out | Kept::Held)) && self.to_write().is_none() && !may_return
    }

    /// The targets that are out, and whose state is not known to be right.
    pub fn out(&self) -> impl Iterator<Item = Target> + '_ {
        self.all().filter(|target| self.kept(*target) == Some(Kept::Out))
    }

    /// The target is not to be used: it has restarted, or its state differs.
    pub fn bar(&mut self, target: Target) {
        if self.kept(target) != Some(Kept::Held) {
            self.keep_out(target, Kept::Out);
        }
    }

    /// An operator keeps the target out.
    pub fn hold(&mut self, target: Target) {
        self.keep_out(target, Kept::Held);
    }

    /// The operator lets it back, after its state has been compared and the hold-down.
    pub fn let_go(&mut self, target: Target) {
        if let Some(Entry { kept: kept @ Kept::Held, .. }) = self.targets.get_mut(usize::from(target.0)) {
            *kept = Kept::Out;
        }
    }

    fn keep_out(&mut self, target: Target, why: Kept) {
        if let Some(entry) = self.targets.get_mut(usize::from(target.0)) {
            entry.kept = why;
            let barred = self.allowed.barred.with(target);
            self.change(Allowed { barred, ..self.allowed });
        }
    }

    /// The state of a target that is out has been made right and compared.
    pub fn state_is_right(&mut self, target: Target, now: u64) {
        let hold_down = self.hold_down;
        let Some(entry) = self.targets.get_mut(usize::from(target.0)).filter(|e| e.kept == Kept::Out) else {
            return;
        };
        entry.doubled = if now < entry.soon { (entry.doubled + 1).min(MOST_DOUBLED) } else { 0 };
        entry.kept = Kept::Recovering(now.saturating_add(hold_down << entry.doubled));
    }

    /// Lets targets back whose hold-down has passed, or all whose state is right if no other one is usable. Not those whose port is `down`: they would
    /// count as in use, and come back with their port. Waits for a reading made since the last writing.
    pub fn release(&mut self, now: u64, down: Targets) {
        let Some(failed) = self.failed else { return };
        let mut allowed = self.allowed;
        let is_last = self.is_last(down);
        for target in self.all().filter(|target| !down.contains(*target)) {
            let entry = &mut self.targets[usize::from(target.0)];
            if matches!(entry.kept, Kept::Recovering(until) if until <= now || is_last) {
                let set = Targets::from(target);
                entry.kept = Kept::Usable;
                entry.soon = now.saturating_add(SOON * (self.hold_down << entry.doubled));
                allowed.barred = allowed.barred & !set;
                allowed.forgiven = (allowed.forgiven & !set) ^ (failed & set);
            }
        }
        self.change(allowed);
    }

    /// The sender has restarted, with all registers zero. Returns the values that its registers must have before it sends.
    pub fn restart(&mut self) -> Allowed {
        let out = self.all().filter(|target| self.kept(*target) != Some(Kept::Usable));
        let barred = out.fold(Targets::NONE, Targets::with);
        self.change(Allowed { forgiven: Targets::NONE, barred, ..Allowed::default() });
        self.failed = None;
        self.wrote(self.allowed);
        self.allowed
    }

    /// When [`Keeper::release`] has something to do.
    pub fn next_release(&self, down: Targets) -> Option<u64> {
        let until = self.all().filter(|target| !down.contains(*target)).filter_map(|target| {
            match self.kept(target)? {
                Kept::Recovering(until) => Some(if self.is_last(down) { 0 } else { until }),
                Kept::Usable | Kept::Out | Kept::Held => None,
            }
        });
        until.min()
    }

    /// No target may be used.
    fn is_last(&self, down: Targets) -> bool {
        !self.all().any(|target| self.kept(target) == Some(Kept::Usable) && !down.contains(target))
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

/// The generations of a sender, as far as the controller has seen them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Generations {
    last: u32,
}

/// A sender begins fewer generations from one reading to the next.
const MOST_UNSEEN: u32 = 1 << 12;

impl Generations {
    /// The sender's register has been read.
    pub fn read(&mut self, generation: u32) {
        if crate::is_after(generation, self.last) {
            self.last = generation;
        }
    }

    /// The generation that a sender without memory is given: after all that it has used, also under an earlier controller. `seconds` is
    /// the time.
    pub fn next(&mut self, seconds: u32) -> u32 {
        let after = self.last.wrapping_add(MOST_UNSEEN);
        self.last = if crate::is_after(seconds, after) { seconds } else { after };
        self.last
    }
}
