//! `[failover]`: when a device of a region with spares counts as failed, and when it is used again. An app may have a table `failover` with keys
//! of its own. Some defaults are longer if each device is a process (`p4rack switch`, `p4rack up --real`).
//!
//! ```toml
//! [failover]                # default: emulated, processes
//! ask_every = 64            # a report is requested after this many hand-overs
//! ask_after = "10us"        # 10us, 1ms: a report is also requested when the last request is this old
//! patience = "20us"         # 20us, 20ms: a request without an answer counts as missed after this time; must exceed the longest round trip
//! most_missed = 3           # missed requests in a row after which the device is replaced
//! tolerance = 16            # a hand-over counts as missing when this many later ones have arrived: 1 to 31
//! most_gaps = 32            # missing hand-overs in one window after which the device is replaced
//! window = 1024             # hand-overs in a window: a power of two
//! tick = "100us"            # 100us, 1ms: interval at which edges without packets are checked
//! hold_down = "100ms"       # a device is used again when its state has been correct for this time; longer if it fails again soon
//! processes = { patience = "50ms" }   # other values if each device is a process
//!
//! [[app]]
//! failover = { ask_after = "20us", hold_down = "1s" }
//! ```

use crate::section::{Item, Reader, Section};
use crate::value;
use ::failover::Thresholds;
use ::failover::thresholds::MOST_US;
use base_diag::Span;
use base_time::Duration;

/// When a device has failed, and when it is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failover {
    /// Decided in the data plane.
    pub thresholds: Thresholds,
    /// Between two looks at an edge without packets.
    pub tick: Duration,
    /// Time for which a device's state must be correct before it is used again.
    pub hold_down: Duration,
}

impl Default for Failover {
    /// For emulated devices, and for hardware.
    fn default() -> Failover {
        Failover {
            thresholds: Thresholds::default(),
            tick: Duration::from_us(100),
            hold_down: Duration::from_ms(100),
        }
    }
}

impl Failover {
    /// Values for racks in which each device is a process.
    fn of_processes() -> Failover {
        let thresholds = Thresholds::between_processes();
        Failover { thresholds, tick: Duration::from_ms(1), ..Failover::default() }
    }
}

/// The keys that a table has.
#[derive(Clone, Default)]
pub(crate) struct FailoverKeys {
    ask_every: Option<u32>,
    ask_after: Option<u64>,
    patience: Option<u64>,
    most_missed: Option<u32>,
    tolerance: Option<u32>,
    most_gaps: Option<u32>,
    window: Option<u32>,
    tick: Option<Duration>,
    hold_down: Option<Duration>,
    /// Values for racks in which each device is a process.
    processes: Option<Box<FailoverKeys>>,
}

impl FailoverKeys {
    fn over(&self, base: Failover) -> Failover {
        let Failover { thresholds: limits, tick, hold_down } = base;
        let thresholds = Thresholds {
            ask_every: self.ask_every.unwrap_or(limits.ask_every),
            ask_after: self.ask_after.unwrap_or(limits.ask_after),
            patience: self.patience.unwrap_or(limits.patience),
            most_missed: self.most_missed.map_or(limits.most_missed, |n| n as u8),
            tolerance: self.tolerance.map_or(limits.tolerance, |n| n as u8),
            most_gaps: self.most_gaps.map_or(limits.most_gaps, |n| n as u16),
            window: self.window.unwrap_or(limits.window),
        };
        Failover {
            thresholds,
            tick: self.tick.unwrap_or(tick),
            hold_down: self.hold_down.unwrap_or(hold_down),
        }
    }
}

/// The values for emulated devices and for processes: an app's own keys come before those of the rack, and those of `processes` before
/// both. Impossible values are reported at
/// `place`, if there is one.
pub(crate) fn merged(
    r: &mut Reader,
    place: Option<Span>,
    rack: &FailoverKeys,
    own: &FailoverKeys,
) -> [Failover; 2] {
    let emulated = own.over(rack.over(Failover::default()));
    let layers = [Some(rack), Some(own), rack.processes.as_deref(), own.processes.as_deref()];
    let processes = layers.into_iter().flatten().fold(Failover::of_processes(), |base, keys| keys.over(base));
    let faults = [emulated, processes].map(|failover| failover.thresholds.fault());
    if let (Some(place), Some(why)) = (place, faults.into_iter().flatten().next()) {
        r.bad_value(place, "impossible thresholds", why);
    }
    [emulated, processes]
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>, what: &str) -> Option<FailoverKeys> {
    let mut s = Section::new(r, what.to_string(), item.span, item)?;
    let keys = keys(r, &mut s);
    let inner = |r: &mut Reader, item: Item<'_>| {
        let mut s = Section::new(r, "`processes`".to_string(), item.span, item)?;
        let keys = self::keys(r, &mut s);
        s.finish(r);
        Some(Box::new(keys))
    };
    let processes = s.optional(r, "processes", inner).map(|keys| keys.value);
    s.finish(r);
    Some(FailoverKeys { processes, ..keys })
}

fn keys(r: &mut Reader, s: &mut Section<'_>) -> FailoverKeys {
    let ask_every = s.optional(r, "ask_every", |r, i| value::small(r, i, 1..=1 << 30));
    let ask_after = s.optional(r, "ask_after", |r, i| microseconds(r, i, 0));
    let patience = s.optional(r, "patience", |r, i| microseconds(r, i, 1));
    let most_missed = s.optional(r, "most_missed", |r, i| value::small(r, i, 1..=255));
    let tolerance = s.optional(r, "tolerance", |r, i| value::small(r, i, 1..=31));
    let most_gaps = s.optional(r, "most_gaps", |r, i| value::small(r, i, 1..=0xffff));
    let window = s.optional(r, "window", |r, i| value::small(r, i, 1..=1 << 31));
    let tick = s.optional(r, "tick", |r, i| Some(Duration::from_us(microseconds(r, i, 1)?)));
    let hold_down = s.optional(r, "hold_down", value::duration);
    FailoverKeys {
        ask_every: ask_every.map(|n| n.value),
        ask_after: ask_after.map(|n| n.value),
        patience: patience.map(|n| n.value),
        most_missed: most_missed.map(|n| n.value),
        tolerance: tolerance.map(|n| n.value),
        most_gaps: most_gaps.map(|n| n.value),
        window: window.map(|n| n.value),
        tick: tick.map(|t| t.value),
        hold_down: hold_down.map(|h| h.value),
        processes: None,
    }
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
