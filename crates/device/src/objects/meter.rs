//! Meters: two rates, three colours (RFC 2698), in whole numbers.
//!
//! As BMv2: the tokens that came in are worked out from the time since the start, so that no rounding adds up;
//! the peak bucket is asked first, and a packet it refuses takes nothing from the other.

use control_writes::{Rate, Rates};
use std::collections::BTreeMap;

/// A meter's answer, as v1model numbers it.
pub const GREEN: u8 = 0;
/// See [`GREEN`].
pub const YELLOW: u8 = 1;
/// See [`GREEN`].
pub const RED: u8 = 2;

/// A bucket of a meter, to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketView {
    /// Fill rate and size of the bucket.
    pub rate: Rate,
    /// Tokens left by the last packet.
    pub tokens: u64,
}

/// One meter. Unconfigured, everything is green.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Meter {
    /// Peak, then committed; in a box, since few of a million entries have any.
    buckets: Option<Box<[Bucket; 2]>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bucket {
    rate: Rate,
    tokens: u64,
    /// Tokens received since time 0.
    seen: u64,
}

impl Bucket {
    fn new(rate: Rate) -> Bucket {
        Bucket { rate, tokens: rate.burst, seen: 0 }
    }

    /// True if there were enough tokens, which are then taken.
    fn take(&mut self, want: u64, now_us: u64) -> bool {
        let since_start = self.rate.per_gigamicrosecond.saturating_mul(now_us.into()) / 1_000_000_000;
        let since_start = u64::try_from(since_start).unwrap_or(u64::MAX);
        let more = since_start.saturating_sub(self.seen);
        self.seen = self.seen.max(since_start);
        self.tokens = self.tokens.saturating_add(more).min(self.rate.burst);
        let enough = self.tokens >= want;
        if enough {
            self.tokens -= want;
        }
        enough
    }
}

impl Meter {
    /// Sets both rates; the buckets are full.
    pub(crate) fn configure(&mut self, rates: Rates) {
        self.buckets = Some(Box::new([Bucket::new(rates.peak), Bucket::new(rates.committed)]));
    }

    /// Committed and peak rate, if set.
    pub(crate) fn rates(&self) -> Option<Rates> {
        self.buckets.as_ref().map(|both| Rates { committed: both[1].rate, peak: both[0].rate })
    }

    /// The colour of a packet that takes `units`. `before` is the colour it has: green where the meter is
    /// colour-blind. It never becomes better than that.
    pub(crate) fn execute(&mut self, units: u64, before: u8, now_us: u64) -> u8 {
        let Some([peak, committed]) = self.buckets.as_deref_mut() else { return before };
        if before == RED || !peak.take(units, now_us) {
            RED
        } else if before == YELLOW || !committed.take(units, now_us) {
            YELLOW
        } else {
            GREEN
        }
    }

    /// The peak bucket and the committed one, if the rates are set.
    pub(crate) fn buckets(&self) -> Option<[BucketView; 2]> {
        self.buckets.as_ref().map(|both| both.map(|b| BucketView { rate: b.rate, tokens: b.tokens }))
    }

    /// Tokens and their origin, for comparing states; empty if not configured.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let buckets = self.buckets.iter().flat_map(|both| both.iter());
        buckets.flat_map(|b| [b.tokens.to_be_bytes(), b.seen.to_be_bytes()]).flatten().collect()
    }
}

/// An array of meters.
#[derive(Clone, Debug)]
pub(crate) struct MeterArray {
    pub(crate) size: u64,
    /// A packet takes its length, else 1.
    pub(crate) bytes: bool,
    /// Cells that are configured.
    cells: BTreeMap<u64, Meter>,
    /// State of every other cell.
    others: Meter,
}

impl MeterArray {
    /// `size` meters, none configured.
    pub(crate) fn new(size: u64, bytes: bool) -> MeterArray {
        MeterArray { size, bytes, cells: BTreeMap::new(), others: Meter::default() }
    }

    /// The colour of a packet; `None` out of range.
    pub(crate) fn execute(&mut self, index: u64, length: u64, before: u8, now_us: u64) -> Option<u8> {
        if index >= self.size {
            return None;
        }
        let units = if self.bytes { length } else { 1 };
        if self.others.buckets.is_none() && !self.cells.contains_key(&index) {
            return Some(before);
        }
        let others = &self.others;
        Some(self.cells.entry(index).or_insert_with(|| others.clone()).execute(units, before, now_us))
    }

    /// Sets the rates of one meter; false out of range.
    pub(crate) fn configure(&mut self, index: u64, rates: Rates) -> bool {
        if index < self.size {
            self.cells.entry(index).or_default().configure(rates);
        }
        index < self.size
    }

    /// One meter makes all packets green again.
    pub(crate) fn reset(&mut self, index: u64) {
        if self.others.buckets.is_none() {
            self.cells.remove(&index);
        } else if index < self.size {
            self.cells.insert(index, Meter::default());
        }
    }

    /// Sets the rates of all meters.
    pub(crate) fn configure_all(&mut self, rates: Rates) {
        self.cells.clear();
        self.others.configure(rates);
    }

    /// All meters make all packets green again.
    pub(crate) fn reset_all(&mut self) {
        self.cells.clear();
        self.others = Meter::default();
    }

    /// The rates of one meter, if set.
    pub(crate) fn rates(&self, index: u64) -> Option<Rates> {
        self.cells.get(&index).unwrap_or(&self.others).rates()
    }

    /// State of all meters that are not in `cells`.
    pub(crate) fn others(&self) -> &Meter {
        &self.others
    }

    /// Configured meters, in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, &Meter)> {
        self.cells.iter().map(|(index, meter)| (*index, meter))
    }
}
