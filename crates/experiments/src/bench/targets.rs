//! The rates that the project wants, beside the measured ones: all in one run.
//!
//! Each ratio is of two rates that were measured in turn. Rates are packets a second of processor time, so that other work on the machine
//! is not counted; it shares caches and slows all of them.

use super::captures;
use super::lane;
use super::measure::{Outcome, Result as Measurement, measure};
use super::{Kind, Settings};
use serde_json::{Value, json};
use std::sync::Arc;

/// A wanted rate, and the measured one.
#[derive(Clone, Debug)]
pub struct Target {
    /// The measured thing.
    pub what: String,
    /// Lower limit.
    pub wanted: f64,
    /// The measured value and details, or the reason why there is none.
    pub measured: Result<(f64, String), String>,
}

/// Frames that are forwarded between in-process ports, as a part of those that the engine alone makes.
const SERVED: f64 = 0.7;

/// Two workers, divided by one.
const SCALED: f64 = 1.7;

/// Millions of packets a second of `dcswitch`.
const DCSWITCH: f64 = 3.0;

/// The router, divided by its C.
const ROUTER: f64 = 0.4;

/// Millions of packets a second from capture to capture.
const CAPTURES: f64 = 5.0;

/// Millions of hops a second in the emulator: docs/emulator.md.
const HOPS: f64 = 2.0;

impl Target {
    /// True if the measured value is at least the wanted one.
    pub fn is_met(&self) -> bool {
        matches!(&self.measured, Ok((value, _)) if *value >= self.wanted)
    }

    /// A row of the table.
    pub fn text(&self) -> String {
        let Target { what, wanted, measured } = self;
        match measured {
            Ok((value, details)) => {
                let met = if self.is_met() { "met" } else { "MISSED" };
                format!("{what:<44} {wanted:>6.2} {value:>8.2}  {met:<6}  {details}\n")
            }
            Err(why) => format!("{what:<44} {wanted:>6.2} {:>8}  {why}\n", "-"),
        }
    }

    /// As a value.
    pub fn json(&self) -> Value {
        let (value, details) = match &self.measured {
            Ok((value, details)) => (Some(*value), details),
            Err(why) => (None, why),
        };
        json!({ "what": self.what, "wanted": self.wanted, "measured": value, "met": self.is_met(), "details": details })
    }
}

/// Head of the table.
pub fn head() -> String {
    format!("{:<44} {:>6} {:>8}\n", "", "wanted", "measured")
}

/// Measures everything; `each` gets the results one by one.
pub fn targets(settings: &Settings, mut each: impl FnMut(&Target)) {
    let settings = &Settings { kinds: vec![Kind::Native, Kind::C], workers: vec![1, 2], ..settings.clone() };
    let mut give = |what: String, wanted, measured: Result<(f64, String), String>| {
        each(&Target { what, wanted, measured });
    };
    for program in &settings.programs {
        let name = program.name;
        let measured = measure(settings, program);
        let of = |kind, workers| match &measured {
            Ok(result) => rate(result, kind, workers),
            Err(why) => Err(why.clone()),
        };
        let ratio = |above: Result<f64, String>, below: Result<f64, String>| {
            let (above, below) = (above? / 1e6, below? / 1e6);
            Ok((above / below, format!("{above:.2} / {below:.2} Mpps")))
        };
        give(format!("{name}, two workers / one"), SCALED, ratio(of(Kind::Native, 2), of(Kind::Native, 1)));
        match name {
            "router" => {
                give("router / C".to_string(), ROUTER, ratio(of(Kind::Native, 1), of(Kind::C, 1)));
            }
            "dcswitch" => {
                let rate = of(Kind::Native, 1).map(|rate| (rate / 1e6, String::new()));
                give("dcswitch, Mpps".to_string(), DCSWITCH, rate);
            }
            _ => {}
        }
        let load = Arc::new((program.load)(&settings.shape_of(program)));
        let rates = lane::rates(program, &load, settings.time).map(|rates| {
            let (lane, engine) = (rates.lane / 1e6, rates.engine / 1e6);
            let passing = rates.passing;
            (rates.ratio, format!("{lane:.2} / {engine:.2} Mpps; a cache line passes in {passing:.0} ns"))
        });
        give(format!("{name}, between ports / engine"), SERVED, rates);
    }
    if let Some(router) = settings.programs.iter().find(|program| program.name == "router") {
        give("p4rack run, capture to capture, Mpps".to_string(), CAPTURES, captures::run(router, settings));
        give("emulator, million hops a second".to_string(), HOPS, captures::hops());
    }
}

/// Packets a second of a contestant.
fn rate(result: &Measurement, kind: Kind, workers: usize) -> Result<f64, String> {
    let found = result.outcomes.iter().find(|(of, _)| *of == kind);
    match found.map(|(_, outcome)| outcome) {
        Some(Outcome::Measured(measured)) => {
            let run = measured.runs.iter().find(|run| run.workers == workers);
            run.map(|run| run.speed.packets_per_second).ok_or_else(|| "not measured".to_string())
        }
        Some(Outcome::Skipped(why) | Outcome::Failed(why)) => Err(format!("{}: {why}", kind.name())),
        None => Err("not measured".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_line_with_a_rate_or_a_reason() {
        let program = |name| bench_load::PROGRAMS.iter().find(|program| program.name == name).unwrap();
        let shape = bench_load::Shape { packets: 256, flows: 64, ..bench_load::Shape::default() };
        let programs = vec![program("router"), program("l2")];
        let settings = Settings { programs, kinds: vec![], workers: vec![], time: 5, shape, skew: None };
        let mut all = vec![];
        targets(&settings, |target| all.push(target.clone()));
        let what: Vec<&str> = all.iter().map(|target| target.what.as_str()).collect();
        let wanted = [
            "router, two workers / one",
            "router / C",
            "router, between ports / engine",
            "l2, two workers / one",
            "l2, between ports / engine",
            "p4rack run, capture to capture, Mpps",
            "emulator, million hops a second",
        ];
        assert_eq!(what, wanted);
        for Target { what, measured, .. } in all {
            match measured {
                Ok((rate, _)) => assert!(rate.is_finite() && rate > 0.0, "{what}: {rate}"),
                // Commands stand beside the built program, not beside a test, and not every machine has a C compiler.
                Err(why) => assert!(
                    why.starts_with("there is no `") && what.contains("second")
                        || why.starts_with("there is no `") && what.starts_with("p4rack run")
                        || what == "router / C" && why.starts_with("c: "),
                    "{what}: {why}"
                ),
            }
        }
    }

    #[test]
    fn a_row_says_whether_the_wanted_value_is_reached() {
        let target = |measured| Target { what: "router / C".to_string(), wanted: 0.4, measured };
        let near = target(Ok((0.39, "a / b".to_string())));
        assert!(!near.is_met() && near.text().contains("0.40     0.39  MISSED  a / b"), "{}", near.text());
        let met = target(Ok((0.4, String::new())));
        assert!(met.is_met() && met.text().contains("met"), "{}", met.text());
        let none = target(Err("c: no `cc`".to_string()));
        assert!(!none.is_met() && none.text().contains("-  c: no `cc`"), "{}", none.text());
        assert_eq!(none.json()["measured"], Value::Null);
    }
}
