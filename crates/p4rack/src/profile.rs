//! What a frame function costs on this machine, measured, as a table that the planner reads (Flightplan, appendix J).
//!
//! Each frame of a [workload](workload) is timed several times and counts with the least, since a busy machine only makes it longer. What
//! that means at a rate is then worked out for one core with a queue: frames come evenly, one is handled after the other, and one that finds
//! [`QUEUE`] others waiting is dropped. The rate doubles until frames are dropped.

mod workload;

use crate::bench;
use crate::functions;
use base_time::Time;
use dataplane_api::{Emitter, FrameExtern};
use std::fmt::Write;

/// Frames that may wait.
const QUEUE: usize = 64;
/// How often each frame is timed.
const ROUNDS: usize = 7;
/// The lowest rate that is tried, in bits per second.
const LEAST: u64 = 10_000_000;

/// What is measured, and what nobody can measure here.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of a frame.
    pub sizes: Vec<usize>,
    /// Frames of each workload.
    pub frames: usize,
    /// The name of this machine's class.
    pub class: String,
    /// Watts.
    pub power: u32,
    /// Relative to other machines.
    pub cost: u32,
}

/// A rate that a function bears.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its name in `@frame_extern("name")`.
    pub function: String,
    /// Bytes of a frame.
    pub size: usize,
    /// Bits per second that come.
    pub rate: u64,
    /// From coming to being done, of 99 frames in 100 at most.
    pub latency_ns: u64,
    /// Bits that leave for each million that come.
    pub leave_ppm: u64,
}

/// The names of what can be measured.
pub fn names() -> Vec<String> {
    functions::all().names().map(str::to_string).collect()
}

/// Measures a function; why it cannot be.
pub fn measure(function: &str, settings: &Settings) -> Result<Vec<Point>, String> {
    let registry = functions::all();
    let Some(factory) = registry.get(function) else {
        let known = names().join(", ");
        return Err(format!("there is no function `{function}`; there are: {known}"));
    };
    let mut points = vec![];
    for size in &settings.sizes {
        let load = workload::of(function, *size, settings.frames)?;
        let mut services = vec![u64::MAX; load.frames.len()];
        let mut left = 0;
        for _ in 0..ROUNDS {
            let mut instance = factory(&load.constructor).map_err(|error| error.0)?;
            for frame in &load.before {
                call(&mut *instance, &load, frame);
            }
            left = 0;
            for (frame, least) in load.frames.iter().zip(&mut services) {
                let (nanoseconds, bytes) = call(&mut *instance, &load, frame);
                *least = nanoseconds.min(*least);
                left += bytes;
            }
        }
        let come: u64 = load.frames.iter().map(|frame| frame.len() as u64).sum();
        let leave_ppm = left * 1_000_000 / come.max(1);
        let rates = (0..40).map(|doubled| LEAST << doubled);
        let borne = rates.map_while(|rate| Some((rate, latency(&services, &load.frames, rate)?)));
        points.extend(borne.map(|(rate, latency_ns)| Point {
            function: function.to_string(),
            size: *size,
            rate,
            latency_ns,
            leave_ppm,
        }));
    }
    Ok(points)
}

/// Nanoseconds of a call, and the bytes that it gives.
fn call(instance: &mut dyn FrameExtern, load: &workload::Workload, frame: &[u8]) -> (u64, u64) {
    let mut out = Emitter::default();
    let begun = bench::wall();
    instance.call("", &load.args, frame, Time::ZERO, &mut out);
    let took = bench::wall() - begun;
    let bytes = out.take().iter().map(|emitted| emitted.frame.len() as u64).sum();
    (took.as_nanos() as u64, bytes)
}

/// The 99th percentile of frames that come at `rate` and take `services`, one after the other; `None` if one is dropped.
fn latency(services: &[u64], frames: &[Vec<u8>], rate: u64) -> Option<u64> {
    let mut latencies = Vec::with_capacity(services.len());
    // When those that are not done will be.
    let mut ends = std::collections::VecDeque::new();
    let mut bits = 0u64;
    for (service, frame) in services.iter().zip(frames) {
        let now = (u128::from(bits) * 1_000_000_000 / u128::from(rate)) as u64;
        bits += frame.len() as u64 * 8;
        while ends.front().is_some_and(|end| *end <= now) {
            ends.pop_front();
        }
        if ends.len() > QUEUE {
            return None;
        }
        let end = ends.back().copied().unwrap_or(now).max(now) + service;
        ends.push_back(end);
        latencies.push(end - now);
    }
    latencies.sort_unstable();
    latencies.get((latencies.len() * 99).div_ceil(100).saturating_sub(1)).copied()
}

/// The table in the form of Flightplan's planner. Power and cost are as they were given.
pub fn table(points: &[Point], settings: &Settings) -> String {
    let mut text = String::from(
        "name,props (singular),bounds:ltData::Bound::InputRate,bounds:gt:Data::Bound::PacketSize,g:aP:Data::Bound::Latency,\
         g:aM:Data::Bound::InputRate,g:aO:Data::Bound::Power,g:aO:Data::Bound::Cost,conclusion\n",
    );
    let Settings { class, power, cost, .. } = settings;
    for Point { function, size, rate, latency_ns, leave_ppm } in points {
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

    #[test]
    fn frames_wait_for_one_another_and_are_dropped_when_too_many_do() {
        let frames = vec![vec![0; 125]; 1000];
        // 1,000 bits each, 1 us a frame: 1 Gbit/s is what it bears.
        let services = vec![1000; 1000];
        assert_eq!(latency(&services, &frames, 500_000_000), Some(1000));
        assert_eq!(latency(&services, &frames, 1_000_000_000), Some(1000));
        assert_eq!(latency(&services, &frames, 2_000_000_000), None);
        // A slow one is waited for.
        let mut bursty = services;
        bursty[10] = 30_000;
        assert!(latency(&bursty, &frames, 900_000_000).is_some_and(|ns| ns > 10_000));
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
        let settings = Settings { sizes: vec![200], frames: 300, class: "CPU".into(), power: 150, cost: 5 };
        for function in names() {
            let points = measure(&function, &settings).unwrap();
            assert!(!points.is_empty(), "{function}");
            assert!(points.is_sorted_by(|a, b| a.rate < b.rate));
            let rules = plan_model::flightplan::read_performance_csv(
                &table(&points, &settings),
                1,
                &config.signature,
            )
            .unwrap();
            assert_eq!(rules.len(), points.len());
            assert!(rules.iter().all(|rule| rule.head == function && rule.bounds.len() == 2));
        }
        let leave = |function: &str| measure(function, &settings).unwrap()[0].leave_ppm;
        // Six frames of tags and parity for five; headers of 54 bytes become 29; reads of 65 bytes get values.
        assert!((1_200_000..1_400_000).contains(&leave("fec-encode")));
        assert!((850_000..900_000).contains(&leave("header-compress")));
        assert!(leave("kv-cache") > 2_000_000);
        assert!(measure("fec-encode", &Settings { sizes: vec![70], ..settings.clone() }).is_err());
        assert!(measure("fec", &settings).is_err_and(|why| why.contains("fec-encode")));
    }
}
