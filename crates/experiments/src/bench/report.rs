//! Measurements as text and as JSON.

use super::measure::{Measured, Outcome, Result, Run};
use bench_load::Size;
use serde_json::{Value, json};
use std::fmt::Write;

/// A table; the last column says how many times faster the first contestant is.
pub fn text(result: &Result) -> String {
    let mut text = format!("{}: {}\n", result.program.name, result.program.title);
    let shape = &result.shape;
    let size = match shape.size {
        Size::Fixed(bytes) => format!("{bytes} bytes"),
        Size::Imix => "IMIX".to_string(),
    };
    let _ = writeln!(
        text,
        "  {} entries; {} packets of {} flows, skew {}.{:03}, {size}, seed {}; {} dropped",
        result.entries,
        shape.packets,
        shape.flows,
        shape.skew / 1000,
        shape.skew % 1000,
        shape.seed,
        result.dropped
    );
    let _ = writeln!(
        text,
        "  {:<8} {:>3} {:>10} {:>10} {:>21}{} {:>10} {:>9} {:>9} {:>8}",
        "who",
        "n",
        "Mpps",
        "ns/packet",
        "(best .. worst)",
        if result.uncounted.is_none() { format!(" {:>8} {:>8}", "cycles", "instr") } else { String::new() },
        "compile",
        "fill",
        "memory",
        "ratio"
    );
    for (kind, outcome) in &result.outcomes {
        match outcome {
            Outcome::Measured(measured) => lines(result, kind.name(), measured, &mut text),
            Outcome::Skipped(why) => text.push_str(&format!("  {:<8} skipped: {why}\n", kind.name())),
            Outcome::Failed(what) => text.push_str(&format!("  {:<8} FAILED: {what}\n", kind.name())),
        }
    }
    if let Some(why) = &result.uncounted {
        let _ = writeln!(text, "  no cycles and instructions: {why}");
    }
    text
}

fn lines(result: &Result, name: &str, measured: &Measured, text: &mut String) {
    if let Some((statements @ 1.., calls)) = measured.left {
        let _ = writeln!(
            text,
            "  {name:<8} leaves {statements} statements to the interpreter: {calls:.3} calls per packet"
        );
    }
    if let Some(updates) = &measured.updates {
        let _ = writeln!(
            text,
            "  {name:<8} takes {:.0} writes of an entry a second ({:.1} us of processor time each) beside a thread \
             whose packets take {:.1} ns meanwhile",
            updates.rate(),
            updates.nanoseconds() / 1e3,
            updates.forwarded.nanoseconds()
        );
    }
    for Run { workers, setup, speed } in &measured.runs {
        let ratio = first(result, *workers)
            .map_or(String::new(), |first| format!("{:.3}", first / speed.packets_per_second));
        let events = match (&result.uncounted, speed.events) {
            (Some(_), _) => String::new(),
            (None, Some((cycles, instructions))) => format!(" {cycles:>8.1} {instructions:>8.1}"),
            (None, None) => format!(" {:>8} {:>8}", "-", "-"),
        };
        let _ = writeln!(
            text,
            "  {name:<8} {workers:>3} {:>10.3} {:>10.1} {:>21}{events} {:>7.0} ms {:>6.0} ms {:>6} MB {ratio:>8}",
            speed.packets_per_second / 1e6,
            speed.nanoseconds,
            format!("({:.1} .. {:.1})", speed.best, speed.worst),
            setup.compile.as_secs_f64() * 1e3,
            setup.fill.as_secs_f64() * 1e3,
            setup.memory >> 20,
        );
    }
}

/// Packets a second of the first contestant.
fn first(result: &Result, workers: usize) -> Option<f64> {
    let (_, Outcome::Measured(measured)) = result.outcomes.first()? else { return None };
    measured.runs.iter().find(|run| run.workers == workers).map(|run| run.speed.packets_per_second)
}

/// The result as JSON.
pub fn json(result: &Result) -> Value {
    let shape = &result.shape;
    let contestants = result.outcomes.iter().map(|(kind, outcome)| {
        let mut value = json!({ "name": kind.name() });
        match outcome {
            Outcome::Measured(measured) => {
                if let Some((statements, calls)) = measured.left {
                    value["left_to_interpreter"] =
                        json!({ "statements": statements, "calls_per_packet": calls });
                }
                if let Some(updates) = &measured.updates {
                    value["updates_per_second"] = updates.rate().into();
                    value["processor_ns_per_update"] = updates.nanoseconds().into();
                    value["ns_per_packet_with_updates"] = updates.forwarded.nanoseconds().into();
                }
                value["speeds"] = measured
                    .runs
                    .iter()
                    .map(|Run { workers, setup, speed }| {
                        json!({
                            "workers": workers,
                            "compile_ms": setup.compile.as_secs_f64() * 1e3,
                            "fill_ms": setup.fill.as_secs_f64() * 1e3,
                            "memory_bytes": setup.memory,
                            "packets_per_second": speed.packets_per_second,
                            "ns_per_packet": speed.nanoseconds,
                            "best_ns_per_packet": speed.best,
                            "worst_ns_per_packet": speed.worst,
                            "cycles_per_packet": speed.events.map(|(cycles, _)| cycles),
                            "instructions_per_packet": speed.events.map(|(_, instructions)| instructions),
                        })
                    })
                    .collect();
            }
            Outcome::Skipped(why) => value["skipped"] = why.as_str().into(),
            Outcome::Failed(what) => value["failed"] = what.as_str().into(),
        }
        value
    });
    json!({
        "program": result.program.name,
        "entries": result.entries,
        "packets": shape.packets,
        "flows": shape.flows,
        "skew": f64::from(shape.skew) / 1000.0,
        "size": match shape.size { Size::Fixed(bytes) => json!(bytes), Size::Imix => json!("imix") },
        "seed": shape.seed,
        "dropped": result.dropped,
        "contestants": contestants.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Kind, Setup, Speed};
    use bench_load::{PROGRAMS, Shape};

    fn result(events: Option<(f64, f64)>, uncounted: Option<&str>) -> Result {
        let speed = Speed { nanoseconds: 40.0, best: 39.0, worst: 41.0, packets_per_second: 25e6, events };
        let runs = vec![Run { workers: 1, setup: Setup::default(), speed }];
        Result {
            program: &PROGRAMS[0],
            shape: Shape::default(),
            entries: 0,
            dropped: 0,
            outcomes: vec![(Kind::Native, Outcome::Measured(Measured { left: None, updates: None, runs }))],
            uncounted: uncounted.map(str::to_string),
        }
    }

    #[test]
    fn events_have_columns_where_they_are_counted() {
        let counted = result(Some((120.5, 300.0)), None);
        let text = text(&counted);
        assert!(text.contains("(best .. worst)   cycles    instr "), "{text}");
        assert!(text.contains("(39.0 .. 41.0)    120.5    300.0 "), "{text}");
        assert_eq!(json(&counted)["contestants"][0]["speeds"][0]["cycles_per_packet"], 120.5);
    }

    #[test]
    fn where_they_are_not_a_line_says_why() {
        let uncounted = result(None, Some("perf_event_open: there is none"));
        let text = text(&uncounted);
        assert!(text.ends_with("  no cycles and instructions: perf_event_open: there is none\n"), "{text}");
        assert!(!text.contains("instr "), "{text}");
        assert!(json(&uncounted)["contestants"][0]["speeds"][0]["cycles_per_packet"].is_null());
    }
}
