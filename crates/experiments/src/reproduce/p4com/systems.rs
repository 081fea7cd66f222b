//! Jobs of all systems: the settings that experiments share.

use base_time::Duration;
use reduce_compared::daiet::Collision;
use reduce_compared::{Data, Links, Mode, Outcome, Shape, Trial};

/// Link rate of the paper's simulation, in bits per second.
pub const GBIT: u64 = 1_000_000_000;

/// Words of the vocabulary.
pub const VOCABULARY: u32 = 1 << 22;

/// Slots of DAIET, and of AGG in both banks together.
pub const SLOTS: u64 = 16_384;

/// P4COM's bound on keys in the switch.
pub const BOUND: u64 = 100_000;

/// All systems that count words, by name.
pub const SYSTEMS: [(&str, Mode); 8] = [
    ("Hadoop-like", Mode::Hadoop),
    ("plain", Mode::Plain),
    ("DAIET, as published", Mode::Daiet { collision: Collision::Overwrites, is_paced: false }),
    ("DAIET, overflowing", Mode::Daiet { collision: Collision::Overflows, is_paced: false }),
    ("the same, paced", Mode::Daiet { collision: Collision::Overflows, is_paced: true }),
    ("P4COM, as printed", Mode::Printed { is_repaired: false }),
    ("AGG, pipeline", Mode::Pipeline),
    ("AGG, software", Mode::Software),
];

/// Slots of a system in experiments that give each its own.
pub fn slots(mode: Mode) -> u64 {
    match mode {
        Mode::Printed { .. } => BOUND,
        Mode::Pipeline | Mode::Software => SLOTS / 2,
        _ => SLOTS,
    }
}

/// A job at 1 Gbit/s with one mapper on each host.
pub fn trial(data: &Data, has_two_tiers: bool) -> Trial<'_> {
    let mappers = data.pairs.len() as u16;
    let shape = Shape { mappers, per_host: 1, has_two_tiers };
    Trial { data, shape, links: Links::of(GBIT), slots: SLOTS, restarts: vec![] }
}

/// Runs a job; experiments have jobs that fit.
pub fn run(trial: &Trial<'_>, mode: Mode) -> Outcome {
    trial.run(mode).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Right, wrong, or without an end.
pub fn verdict(outcome: &Outcome) -> String {
    match (outcome.time, outcome.wrong) {
        (None, _) => "never ends".to_string(),
        (Some(_), 0) => "exact".to_string(),
        (Some(_), wrong) => format!("{wrong} keys wrong"),
    }
}

/// A time in milliseconds.
pub fn ms(time: Option<Duration>) -> String {
    time.map_or("-".to_string(), |time| format!("{:.1}", time.as_ns() as f64 / 1e6))
}

/// A share in percent.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A time as a multiple of another.
pub fn times(one: Option<Duration>, other: Option<Duration>) -> String {
    match (one, other) {
        (Some(one), Some(other)) => format!("{:.2}", one.as_ps() as f64 / other.as_ps().max(1) as f64),
        _ => "-".to_string(),
    }
}
