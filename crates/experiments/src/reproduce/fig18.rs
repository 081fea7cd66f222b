//! Figure 18: round trips with forwarding on the switch and on another one.

use super::hand_over::{FILE, whole};
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::Duration;
use rack_emulator::{Emulator, RunReport, Table, time_words};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig18",
    about: "Round-trip times of pings beside ten TCP streams, with the forwarding table on the switch and on another switch.",
    set: "10 Gbit/s everywhere; the streams take the path of the pings; a ping each 100 us from 5 ms to 40 ms; a Tofino takes 500 ns for each pass, cables 50 ns between switches and \
          500 ns to hosts.",
    leaves_out: "time in hosts. What the paper's queues hold, which it does not say: here 8,000 frames at each port, so that nothing is lost and the streams always have 2.6 MB under way (`window`), \
                 wherever that waits.",
    run,
};

/// A measure of round trips: name, function, and the paper's excess.
type Measure = (&'static str, fn(&(Emulator, RunReport)) -> Option<u64>, &'static str);

const MEASURES: [Measure; 4] =
    [("least", least, ""), ("mean", mean, "+18.7%"), ("99 of 100", p99, ""), ("most", most, "+22.3%")];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let here = lab.changed(FILE, &whole)?;
    let here = lab.run(&here, None)?;
    let away = lab.rack(FILE)?;
    let away = lab.run(&away, None)?;
    let mut rows = vec![];
    for (name, measure, paper) in MEASURES {
        let (Some(a), Some(b)) = (measure(&here), measure(&away)) else { continue };
        let more = (b as f64 / a.max(1) as f64 - 1.0) * 100.0;
        rows.push([
            name.to_string(),
            time_words(a),
            time_words(b),
            format!("{more:+.1}%"),
            paper.to_string(),
        ]);
    }
    Ok(Table::new(&["<round trip", "on the switch", "on another one", "more", "<paper"], rows).into())
}

fn least((_, report): &(Emulator, RunReport)) -> Option<u64> {
    Some(report.workloads.first()?.latency?.min_ps)
}

fn p99((_, report): &(Emulator, RunReport)) -> Option<u64> {
    Some(report.workloads.first()?.latency?.p99_ps)
}

fn most((_, report): &(Emulator, RunReport)) -> Option<u64> {
    Some(report.workloads.first()?.latency?.max_ps)
}

fn mean((emulator, _): &(Emulator, RunReport)) -> Option<u64> {
    let counts = emulator.latencies(0);
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let sum: u128 =
        counts.iter().map(|(l, count): &(Duration, u64)| u128::from(l.as_ps()) * u128::from(*count)).sum();
    u64::try_from(sum.checked_div(u128::from(all))?).ok()
}
