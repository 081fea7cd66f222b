//! Rates that a frame function sustains on this machine, measured, as a table that the planner reads (Flightplan,
//! appendix J).
//!
//! The frames of a [workload] arrive at a constant [rate](offer), whether or not the function has finished the former
//! ones. Each rate is tried at least [`TRIES`] times; for each frame the shortest latency of all tries counts, since other load
//! on the machine only adds latency. Tries go on while one more makes the slowest frames faster: until then, other load has
//! delayed them in every try. Rates double until frames are dropped; then the highest rate without drops is
//! searched.

mod offer;
mod workload;

pub use offer::Clock;

use crate::bench;
use base_time::Time;
use dataplane_api::{Emitter, FrameExtern, FrameExternFactory};
use offer::{Handler, Load, Trial, climb};
use serde::Serialize;
use std::fmt::Write;
use workload::Workload;

/// Frames that may wait.
const QUEUE: usize = 64;
/// Minimum and maximum number of runs at each rate.
const TRIES: usize = 5;
const MOST_TRIES: usize = 60;
/// After so many tries in a row that change nothing there are no more.
const CALM: usize = 3;
/// Minimum number of runs at rates with so few frames that each counts for much in the 99th percentile.
const TRIES_OF_FEW: usize = 20;
const FEW: u64 = 500;
/// The lowest rate that is tried, and the one that none is above, in bits per second.
const LEAST: u64 = 10_000_000;
const MOST: u64 = 1_000_000_000_000;
/// So late frames may come, in nanoseconds, one of 100 later.
const LATE: u64 = 10_000;

/// Settings of a profile, and values that cannot be measured here.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of a frame.
    pub sizes: Vec<usize>,
    /// Different frames of each workload. Behind the last a new instance of the function begins with the first.
    pub frames: usize,
    /// For how long frames come at each rate, in nanoseconds.
    pub span: u64,
    /// The name of this machine's class.
    pub class: String,
    /// Watts.
    pub power: u32,
    /// Relative to other machines.
    pub cost: u32,
}

/// A rate that a function bears.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Point {
    /// The function's name in `@frame_extern("name")`.
    #[serde(skip)]
    pub function: String,
    /// Bytes of a frame.
    #[serde(skip)]
    pub size: usize,
    /// Bits per second that come.
    pub rate: u64,
    /// From when a frame is due to when it is done, of half of the frames at most.
    pub median_ns: u64,
    /// 99th percentile.
    pub latency_ns: u64,
    /// Bits that leave for each million that come, if nothing was lost before.
    pub leave_ppm: u64,
}

/// Measurements of a function at one frame size.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Measured {
    /// The function's name in `@frame_extern("name")`.
    pub function: String,
    /// Bytes of a frame.
    pub size: usize,
    /// Rates that it bears, in order.
    pub points: Vec<Point>,
    /// The lowest rate that it was seen to drop frames at, in bits per second.
    pub drops_at: Option<u64>,
    /// Reason why the measurement may be limited by something else than the function.
    pub doubt: Option<String>,
}

/// The clock of this machine, on which the time does not count in which the core ran something else than this thread.
///
/// It passes over waits: nothing else happens in them, and a thread that waits without end is moved aside again and again, and finds
/// others' data in its caches.
pub struct Core {
    /// The wall clock when it was looked at last.
    last: u64,
    /// Nanoseconds by which the wall clock is ahead of the thread's processor time, except between readings less than
    /// [`GAP`] apart.
    away: u64,
    /// Nanoseconds of waits that were passed over.
    passed_over: u64,
    now: u64,
}

/// From one look to the next a thread is not moved aside and brought back in less, in nanoseconds; asking whether it was takes a while.
const GAP: u64 = 5_000;

impl Core {
    /// The clock for the thread that asks.
    pub fn new() -> Core {
        let last = bench::wall().as_nanos() as u64;
        Core { last, away: ahead(last), passed_over: 0, now: 0 }
    }
}

impl Default for Core {
    fn default() -> Core {
        Core::new()
    }
}

/// Nanoseconds by which the wall clock is ahead of the thread's processor time.
fn ahead(wall: u64) -> u64 {
    wall.saturating_sub(bench::thread().as_nanos() as u64)
}

impl Clock for Core {
    fn now(&mut self) -> u64 {
        let wall = bench::wall().as_nanos() as u64;
        if wall - self.last > GAP {
            self.away = ahead(wall);
        }
        self.last = wall;
        self.now = self.now.max(wall.saturating_sub(self.away) + self.passed_over);
        self.now
    }

    fn wait(&mut self, time: u64) -> u64 {
        self.passed_over += time.saturating_sub(self.now());
        self.now()
    }
}

/// Names of the functions that can be measured.
pub fn names() -> Vec<String> {
    netfn_registry::all().names().map(str::to_string).collect()
}

/// Measures a function, one size after the other; why it cannot be. `watch` hears each size and rate in bits per second before it is tried.
pub fn measure(
    function: &str,
    settings: &Settings,
    clock: &mut dyn Clock,
    watch: &mut dyn FnMut(usize, u64),
) -> Result<Vec<Measured>, String> {
    let registry = netfn_registry::all();
    let Some(factory) = registry.get(function) else {
        let known = names().join(", ");
        return Err(format!("there is no function `{function}`; there are: {known}"));
    };
    let mut found = vec![];
    for size in &settings.sizes {
        let load = workload::of(function, *size, settings.frames)?;
        let mut running = Running { instance: made(factory, &load)?, factory, load: &load };
        let lengths: Vec<usize> = load.frames.iter().map(Vec::len).collect();
        let offered = Load { lengths: &lengths, queue: QUEUE, span: settings.span };
        let (borne, drops_at) = climb(LEAST, MOST, |rate| {
            watch(*size, rate);
            Some(best(&offered, rate, clock, &mut running)).filter(|trial| trial.dropped == 0)
        });
        let lossless = leaves(factory, &load)?;
        let point = |(rate, trial): (u64, Trial)| Point {
            function: function.to_string(),
            size: *size,
            rate,
            median_ns: trial.percentile(50),
            latency_ns: trial.percentile(99),
            leave_ppm: lossless.unwrap_or(trial.left * 1_000_000 / trial.came.max(1)),
        };
        let points: Vec<Point> = borne.into_iter().map(point).collect();
        let doubt = drops_at.and_then(|rate| match points.is_empty() {
            true => Some("it drops frames even at the lowest rate, and is not in the table".to_string()),
            // The drops may be the machine's.
            false => doubt(&best(&offered, rate, clock, &mut Nothing), rate),
        });
        found.push(Measured { function: function.to_string(), size: *size, points, drops_at, doubt });
    }
    Ok(found)
}

/// Combines trials: for those without drops, each frame's shortest latency; if all have drops, the trial with the
/// fewest.
fn best(load: &Load<'_>, rate: u64, clock: &mut dyn Clock, handler: &mut dyn Handler) -> Trial {
    let mut best: Option<Trial> = None;
    let bits: u64 = load.lengths.iter().map(|length| *length as u64 * 8).sum();
    let each = bits / (load.lengths.len() as u64).max(1);
    let frames = rate.saturating_mul(load.span) / each.saturating_mul(1_000_000_000).max(1);
    let least = if frames < FEW { TRIES_OF_FEW } else { TRIES };
    let (mut tries, mut calm) = (0, 0);
    while tries < least || (tries < MOST_TRIES && calm < CALM) {
        let trial = offer::offer(load, rate, clock, handler);
        tries += 1;
        best = Some(match best {
            Some(best) if best.dropped == 0 && trial.dropped == 0 => {
                calm = if is_settled(&best, &trial) { calm + 1 } else { 0 };
                best.shortest(&trial)
            }
            Some(best) if best.dropped <= trial.dropped => {
                calm += usize::from(best.dropped > 0);
                best
            }
            _ => {
                calm = 0;
                trial
            }
        });
    }
    best.unwrap_or_default().sorted()
}

/// True if one more trial makes few of the frames quicker that are the slowest hundredth by now: they are slow by themselves, and not
/// because the machine was busy.
fn is_settled(best: &Trial, more: &Trial) -> bool {
    let late = best.clone().sorted().percentile(99);
    let slowest = best.latencies.iter().zip(&more.latencies).filter(|(known, _)| **known >= late);
    let (mut all, mut quicker) = (0, 0);
    for (known, new) in slowest {
        all += 1;
        quicker += u64::from(*new < known - known / 20);
    }
    quicker * 10 <= all
}

/// Bits that leave for each million that come of frames of which none was lost, where the timed ones have losses; none elsewhere.
fn leaves(factory: &FrameExternFactory, load: &Workload) -> Result<Option<u64>, String> {
    if load.lossless.is_empty() {
        return Ok(None);
    }
    let (mut instance, mut left) = (made(factory, load)?, 0);
    for frame in &load.lossless {
        let mut out = Emitter::default();
        instance.call("", &load.args, frame, Time::ZERO, &mut out);
        left += bytes(out);
    }
    let came: usize = load.lossless.iter().map(Vec::len).sum();
    Ok(Some(left * 1_000_000 / (came as u64).max(1)))
}

/// Doubt about drops at a rate, judged by the trial of a handler that does nothing.
fn doubt(nothing: &Trial, rate: u64) -> Option<String> {
    let rate = base_time::Rate::from_bits_per_s(rate);
    let late = nothing.percentile(99);
    if nothing.dropped > 0 {
        Some(format!("at {rate} frames are dropped even without a function: the function may be faster"))
    } else if late > LATE {
        let us = late / 1000;
        Some(format!(
            "at {rate} one frame in 100 is {us} us late or more, even without a function: is the machine busy?"
        ))
    } else {
        None
    }
}

/// A handler that does nothing.
struct Nothing;

impl Handler for Nothing {
    fn begin(&mut self) {}

    fn handle(&mut self, _frame: usize, _now: u64) -> u64 {
        0
    }

    fn deadline(&self) -> Option<u64> {
        None
    }

    fn tick(&mut self, _now: u64) -> u64 {
        0
    }
}

/// A function on its workload.
struct Running<'a> {
    factory: &'a FrameExternFactory,
    instance: Box<dyn FrameExtern>,
    load: &'a Workload,
}

/// A new instance that has seen the frames before the first.
fn made(factory: &FrameExternFactory, load: &Workload) -> Result<Box<dyn FrameExtern>, String> {
    let mut instance = factory(&load.constructor).map_err(|error| error.0)?;
    let mut out = Emitter::default();
    for frame in &load.before {
        instance.call("", &load.args, frame, Time::ZERO, &mut out);
        out.take();
    }
    Ok(instance)
}

fn bytes(mut out: Emitter) -> u64 {
    out.take().iter().map(|emitted| emitted.frame.len() as u64).sum()
}

impl Handler for Running<'_> {
    fn begin(&mut self) {
        if let Ok(instance) = made(self.factory, self.load) {
            self.instance = instance;
        }
    }

    fn handle(&mut self, frame: usize, now: u64) -> u64 {
        let mut out = Emitter::default();
        self.instance.call("", &self.load.args, &self.load.frames[frame], time(now), &mut out);
        bytes(out)
    }

    fn deadline(&self) -> Option<u64> {
        // Not before its time.
        self.instance.deadline().map(|deadline| deadline.as_ps().div_ceil(1000))
    }

    fn tick(&mut self, now: u64) -> u64 {
        let mut out = Emitter::default();
        self.instance.tick(time(now), &mut out);
        bytes(out)
    }
}

fn time(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1000)
}

/// The table in the form of Flightplan's planner. Power and cost are as they were given.
pub fn table(points: &[Point], settings: &Settings) -> String {
    let mut text = String::from(
        "name,props (singular),bounds:ltData::Bound::InputRate,bounds:gt:Data::Bound::PacketSize,g:aP:Data::Bound::Latency,\
         g:aM:Data::Bound::InputRate,g:aO:Data::Bound::Power,g:aO:Data::Bound::Cost,conclusion\n",
    );
    let Settings { class, power, cost, .. } = settings;
    for Point { function, size, rate, latency_ns, leave_ppm, .. } in points {
        let (seconds, nanoseconds) = (latency_ns / 1_000_000_000, latency_ns % 1_000_000_000);
        let (whole, part) = (leave_ppm / 1_000_000, leave_ppm % 1_000_000);
        let above = size.saturating_sub(1);
        let _ = writeln!(
            text,
            "{class} {function} {size} {rate},Data::Prop::{class},{rate},{above},{seconds}.{nanoseconds:09},\
             {whole}.{part:06},{power},{cost},{function}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock on which a microsecond passes between two readings: any function takes that for a frame.
    struct Looks(u64);

    impl Clock for Looks {
        fn now(&mut self) -> u64 {
            self.0 += 1000;
            self.0
        }

        fn wait(&mut self, time: u64) -> u64 {
            self.0 = self.0.max(time);
            self.0
        }
    }

    fn settings(size: usize) -> Settings {
        let class = "CPU".to_string();
        Settings { sizes: vec![size], frames: 2500, span: 2_000_000, class, power: 150, cost: 5 }
    }

    fn measured(function: &str, size: usize) -> Result<Measured, String> {
        measure(function, &settings(size), &mut Looks(0), &mut |_, _| ()).map(|mut found| found.remove(0))
    }

    /// Every function has a workload, and the planner reads the table.
    #[test]
    fn the_planner_reads_what_is_measured() {
        let config = r#"{
            "Initial State": { "Data::Bound::InputRate": "1e9", "Data::Bound::PacketSize": "1000", "Data::Bound::Latency": "0" },
            "AllocatableFPGA": {}, "Supporting Device Classes": ["Data::Prop::CPU"], "excluded_ports": [],
            "Units": { "Data::Bound::InputRate": "bits per second", "Data::Bound::Latency": "seconds",
                       "Data::Bound::Power": "Watts", "Data::Bound::Cost": "", "Data::Bound::PacketSize": "bytes" },
            "single_allocation": true,
            "Order": [ {"Data::Bound::Latency": "min"}, {"Data::Bound::Power": "min"}, {"Data::Bound::Cost": "min"} ] }"#;
        let config = plan_model::flightplan::read_config(config, 1).unwrap();
        for function in names() {
            let Measured { points, drops_at, .. } = measured(&function, 200).unwrap();
            let highest = points.last().unwrap().rate;
            assert!(
                points.is_sorted_by(|a, b| a.rate < b.rate) && drops_at.is_some_and(|rate| rate > highest)
            );
            let table = table(&points, &settings(200));
            let rules = plan_model::flightplan::read_performance_csv(&table, 1, &config.signature).unwrap();
            assert_eq!(rules.len(), points.len());
            assert!(rules.iter().all(|rule| rule.head == function && rule.bounds.len() == 2));
        }
        let leave = |function: &str| measured(function, 200).unwrap().points[0].leave_ppm;
        // Six frames of tags and parity for five; headers of 54 bytes become 29; reads of 65 bytes get values.
        assert!((1_200_000..1_400_000).contains(&leave("fec-encode")));
        // And five of tags and parity's six are left without their tags: less than 5/6, whatever was lost while it was timed.
        assert!((750_000..833_334).contains(&leave("fec-decode")), "{}", leave("fec-decode"));
        assert!((850_000..900_000).contains(&leave("header-compress")));
        assert!(leave("kv-cache") > 2_000_000);
        assert!(measured("fec-encode", 70).is_err());
        assert!(measured("fec", 200).is_err_and(|why| why.contains("fec-encode")));
    }

    /// Each frame takes 1 us, but every second look at the clock comes 50 us late.
    #[test]
    fn a_busy_machine_takes_more_tries() {
        struct Busy(u64, base_time::Rng);
        impl Clock for Busy {
            fn now(&mut self) -> u64 {
                self.0 += if self.1.chance(1, 2) { 51_000 } else { 1000 };
                self.0
            }
            fn wait(&mut self, time: u64) -> u64 {
                self.0 = self.0.max(time);
                self.0
            }
        }
        let late = |seed| {
            let mut clock = Busy(0, base_time::Rng::new(seed));
            let load = Load { lengths: &[125; 1000], queue: QUEUE, span: 100_000_000 };
            best(&load, 10_000_000, &mut clock, &mut Nothing).percentile(99)
        };
        assert_eq!([late(1), late(2), late(3)], [1000; 3]);
    }

    /// A million frames a second of 1,600 bits; a handler that does nothing is no faster, which is reported.
    #[test]
    fn a_microsecond_a_frame_bears_a_million_a_second() {
        let found = measured("header-compress", 200).unwrap();
        let highest = found.points.last().unwrap();
        assert!((1_550_000_000..1_650_000_000).contains(&highest.rate), "{found:?}");
        assert_eq!((found.points[0].median_ns, found.points[0].latency_ns), (1000, 1000));
        assert!(found.doubt.is_some_and(|why| why.contains("without a function")));
    }

    #[test]
    fn a_generator_that_comes_late_is_reported() {
        let came = |latency, dropped| Trial { latencies: vec![latency; 100], dropped, ..Trial::default() };
        assert_eq!(doubt(&came(LATE, 0), 1_000_000_000), None);
        let late = doubt(&came(50_000, 0), 1_000_000_000).unwrap();
        assert!(late.starts_with("at 1Gbit/s one frame in 100 is 50 us late"), "{late}");
        assert!(doubt(&came(0, 1), 1_000_000_000).is_some());
    }
}
