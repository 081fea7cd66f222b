//! The receiving side of an edge: detects missing and duplicate numbers, and sends reports.

use crate::{Report, Stamp, Thresholds, is_after};

/// The receiver's registers for one sender. All zero: nothing has arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Receiver {
    /// The newest generation that has arrived; 0 if none.
    pub generation: u32,
    /// The highest number of it that has arrived.
    pub highest: u32,
    /// Bitmap of the last numbers that have arrived: bit 0 is the highest.
    pub seen: u32,
    /// Count of missing numbers, as in [`Report::gaps`].
    pub gaps: u16,
}

/// Fate of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A new hand-over: it is processed.
    Fresh,
    /// A duplicate: it is dropped.
    Again,
    /// The hand-over is of an earlier generation, or too late to know whether it arrived before: it is dropped.
    Stale,
}

/// The result of [`Receiver::receive`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Whether the hand-over is processed.
    pub verdict: Verdict,
    /// The report that goes back.
    pub report: Option<Report>,
}

impl Received {
    fn dropped(verdict: Verdict) -> Received {
        Received { verdict, report: None }
    }
}

impl Receiver {
    /// A hand-over has arrived. A receiver without memory takes all numbers before the first that it sees as missing: a helper
    /// that restarts is reported, not silently used.
    pub fn receive(&mut self, stamp: Stamp, thresholds: &Thresholds) -> Received {
        if self.generation == 0 || is_after(stamp.generation, self.generation) {
            // Numbers begin at 1: those before count as arrived.
            *self = Receiver { generation: stamp.generation, highest: 0, seen: u32::MAX, gaps: 0 };
        } else if stamp.generation != self.generation {
            return Received::dropped(Verdict::Stale);
        }
        if !is_after(stamp.sequence, self.highest) {
            let age = self.highest.wrapping_sub(stamp.sequence);
            let Some(bit) = 1_u32.checked_shl(age) else { return Received::dropped(Verdict::Stale) };
            if self.seen & bit != 0 {
                return Received::dropped(Verdict::Again);
            }
            self.seen |= bit;
            return self.accept(stamp.ask);
        }
        let step = stamp.sequence.wrapping_sub(self.highest);
        let lost = self.missing_after(step, thresholds.tolerance.into());
        self.highest = stamp.sequence;
        self.seen = self.seen.checked_shl(step).unwrap_or(0) | 1;
        self.gaps = self.gaps.wrapping_add(lost as u16);
        self.accept(stamp.ask || lost > 0)
    }

    fn accept(&self, reports: bool) -> Received {
        let Receiver { generation, highest, gaps, .. } = *self;
        let report = reports.then_some(Report { generation, sequence: highest, gaps });
        Received { verdict: Verdict::Fresh, report }
    }

    /// Count of numbers that become missing when the highest moves on by `step`: those that have not arrived and are now `tolerance`
    /// or more behind it, but were not before.
    fn missing_after(&self, step: u32, tolerance: u32) -> u32 {
        let open = !self.seen & ((1 << tolerance) - 1);
        let passed = (u64::from(open) << step.min(tolerance)) >> tolerance;
        passed.count_ones() + step.saturating_sub(tolerance)
    }
}
