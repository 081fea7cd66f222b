//! `failover` of an app: when edges with spares take a device for failed, and when it is used again. Each key has a default.
//!
//! ```toml
//! [[app]]
//! failover = { ask_after = "20us", hold_down = "1s" }
//!
//! ask_every = 64            # a report is asked for after so many hand-overs
//! ask_after = "10us"        # or when the last request is so old
//! patience = "20us"         # a request without an answer is missed after this time: more than the longest round trip
//! most_missed = 3           # so many requests missed in a row are a failure
//! tolerance = 16            # a hand-over is missing when so many later ones have arrived: 1 to 31
//! most_gaps = 32            # so many missing hand-overs of one window are a failure
//! window = 1024             # hand-overs in a window: a power of two
//! tick = "100us"            # edges without packets are looked at so often
//! hold_down = "100ms"       # a device is used again when its state has been right for so long; longer if it fails again soon
//! ```

use crate::section::{Item, Reader, Section};
use crate::value;
use ::failover::Thresholds;
use base_time::Duration;

/// When a device has failed, and when it is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failover {
    /// Decided in the data plane.
    pub thresholds: Thresholds,
    /// Between two looks at an edge without packets.
    pub tick: Duration,
    /// How long a device's state has to be right.
    pub hold_down: Duration,
}

impl Default for Failover {
    fn default() -> Failover {
        Failover {
            thresholds: Thresholds::default(),
            tick: Duration::from_us(100),
            hold_down: Duration::from_ms(100),
        }
    }
}

/// Time stamps of programs have 48 bits; a threshold stays far below.
const MOST_US: u64 = 1 << 40;

pub(crate) fn read(r: &mut Reader, item: Item<'_>) -> Option<Failover> {
    let mut s = Section::new(r, "`failover`".to_string(), item.span, item)?;
    let Failover { thresholds: limits, tick, hold_down } = Failover::default();
    let ask_every = s.optional(r, "ask_every", |r, i| value::small(r, i, 1..=1 << 30));
    let ask_after = s.optional(r, "ask_after", |r, i| microseconds(r, i, 0));
    let patience = s.optional(r, "patience", |r, i| microseconds(r, i, 1));
    let most_missed = s.optional(r, "most_missed", |r, i| value::small(r, i, 1..=255));
    let tolerance = s.optional(r, "tolerance", |r, i| value::small(r, i, 1..=31));
    let most_gaps = s.optional(r, "most_gaps", |r, i| value::small(r, i, 1..=0xffff));
    let window = s.optional(r, "window", |r, i| value::small(r, i, 1..=1 << 31));
    let new_tick = s.optional(r, "tick", value::interval);
    let new_hold_down = s.optional(r, "hold_down", value::duration);
    s.finish(r);
    let thresholds = Thresholds {
        ask_every: ask_every.map_or(limits.ask_every, |n| n.value),
        ask_after: ask_after.map_or(limits.ask_after, |n| n.value),
        patience: patience.map_or(limits.patience, |n| n.value),
        most_missed: most_missed.map_or(limits.most_missed, |n| n.value as u8),
        tolerance: tolerance.map_or(limits.tolerance, |n| n.value as u8),
        most_gaps: most_gaps.map_or(limits.most_gaps, |n| n.value as u16),
        window: window.map_or(limits.window, |n| n.value),
    };
    if let Some(why) = thresholds.fault() {
        r.bad_value(item.span, "thresholds that cannot be", why);
        return None;
    }
    Some(Failover {
        thresholds,
        tick: new_tick.map_or(tick, |t| t.value),
        hold_down: new_hold_down.map_or(hold_down, |h| h.value),
    })
}

/// Whole microseconds, as programs count them.
fn microseconds(r: &mut Reader, item: Item<'_>, least: u64) -> Option<u64> {
    let duration = value::duration(r, item)?;
    let us = duration.as_ps() / Duration::from_us(1).as_ps();
    let why = match () {
        () if duration != Duration::from_us(us) => "programs count whole microseconds",
        () if us < least => "must be at least 1us",
        () if us > MOST_US => "must be at most 12 days",
        () => return Some(us),
    };
    r.bad_value(item.span, "not a threshold", why);
    None
}
