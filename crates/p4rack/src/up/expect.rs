//! Expectations of a run, and whether they are met.

use base_diag::{Diagnostic, codes::emulate as codes};
use rack_emulator::{LatencyReport, RunReport, WorkloadReport, rate_words, time_words};
use rack_model::{Amount, Bound, Measure, Rack, Relation};
use std::cmp::Ordering;

/// An error for each workload with an expectation that the run does not meet.
pub fn unmet(rack: &Rack, report: &RunReport) -> Vec<Diagnostic> {
    let mut found = vec![];
    for (workload, sent_and_received) in rack.workloads.iter().zip(&report.workloads) {
        let bounds = workload.expect.iter().flat_map(|expect| &expect.bounds);
        let unmet: Vec<_> = bounds.filter(|bound| !holds(&bound.value, sent_and_received)).collect();
        if unmet.is_empty() {
            continue;
        }
        let title = format!("workload `{}` is not as expected", workload.name.value);
        let mut diagnostic = Diagnostic::error(codes::NOT_AS_EXPECTED, title);
        for bound in unmet {
            let label =
                format!("{} is expected, {}", bound.value, shown(bound.value.measure, sent_and_received));
            diagnostic = diagnostic.at(bound.span, label);
        }
        found.push(where_most_ended(sent_and_received).into_iter().fold(diagnostic, Diagnostic::note));
    }
    found
}

/// Place where most dropped packets of a workload were dropped, as a sentence; `None` if none was.
pub(super) fn where_most_ended(sent_and_received: &WorkloadReport) -> Option<String> {
    let most = sent_and_received.drops.iter().max_by_key(|drop| drop.packets)?;
    let all: u64 = sent_and_received.drops.iter().map(|drop| drop.packets).sum();
    let (name, place, reason, packets) = (&sent_and_received.name, &most.place, &most.reason, most.packets);
    Some(format!("{packets} of the {all} dropped packets of `{name}` were dropped at {place}: {reason}"))
}

fn holds(bound: &Bound, sent_and_received: &WorkloadReport) -> bool {
    let Some(found) = value(bound.measure, sent_and_received) else { return false };
    let order = match bound.amount {
        Amount::Count(count) => found.cmp(&count),
        Amount::Share(share) => {
            let parts = u128::from(found) * 1_000_000_000;
            parts.cmp(&(u128::from(share.ppb()) * u128::from(sent_and_received.sent)))
        }
        Amount::Rate(rate) => found.cmp(&rate.bits_per_s()),
        Amount::Time(time) => found.cmp(&time.as_ps()),
    };
    match bound.relation {
        Relation::AtMost => order != Ordering::Greater,
        Relation::AtLeast => order != Ordering::Less,
        Relation::Exactly => order == Ordering::Equal,
    }
}

/// A measure: packets, bits a second or picoseconds; none of latencies if nothing came.
fn value(measure: Measure, sent_and_received: &WorkloadReport) -> Option<u64> {
    let latency = |pick: fn(&LatencyReport) -> u64| sent_and_received.latency.as_ref().map(pick);
    match measure {
        Measure::Received => Some(sent_and_received.received),
        Measure::Lost => Some(sent_and_received.lost),
        Measure::Doubled => Some(sent_and_received.duplicated),
        Measure::Late => Some(sent_and_received.reordered),
        Measure::Corrupt => Some(sent_and_received.corrupted),
        Measure::Goodput => Some(sent_and_received.goodput_bits_per_s.unwrap_or(0)),
        Measure::Min => latency(|l| l.min_ps),
        Measure::Mean => latency(|l| l.mean_ps),
        Measure::Deviation => latency(|l| l.deviation_ps),
        Measure::P50 => latency(|l| l.median_ps),
        Measure::P90 => latency(|l| l.p90_ps),
        Measure::P95 => latency(|l| l.p95_ps),
        Measure::P99 => latency(|l| l.p99_ps),
        Measure::P999 => latency(|l| l.p999_ps),
        Measure::Max => latency(|l| l.max_ps),
    }
}

/// The measured value, in words.
fn shown(measure: Measure, sent_and_received: &WorkloadReport) -> String {
    let (word, found) = (measure.word(), value(measure, sent_and_received));
    match (measure, found) {
        (_, None) => "nothing has arrived to measure".to_string(),
        (Measure::Goodput, Some(rate)) => format!("{word} is {}", rate_words(rate)),
        (_, Some(packets)) if measure <= Measure::Corrupt => {
            format!("{packets} were, of {} sent", sent_and_received.sent)
        }
        (_, Some(time)) => format!("{word} is {}", time_words(time)),
    }
}
