//! Figure 12: the cache alone, at growing rates of requests.

use super::lab::{alone, only};
use super::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Rate};
use host_programs::Value;
use rack_emulator::{Emulator, RunReport, Table, percentile, time_words};
use rack_model::{NodeId, Rack};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig12",
    about: "Reads and writes of memcached at growing rates, without and with the cache.",
    set: "nine reads for each write; 10,000 keys by Zipf's law (1), values of 512 bytes, 1,000 entries, all cold at the start. The store's link, a tenth as fast as the others, stands for what \
          the paper's server can do. Latencies from 5 to 95 of 100.",
    leaves_out: "the server's own time and threads: it answers at once, and only its link is slow. In the paper the median of reads is below 10 us at any rate with the cache, \
                 and about half as many packets are lost, as half of the reads hit; ours admits by frequency and hits about three quarters.",
    run,
};

/// Reads a second.
const RATES: [u64; 4] = [5_000, 15_000, 25_000, 35_000];
/// Reads of each run.
const READS: u64 = 4_500;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for rate in RATES {
        let racked = lab.changed("RACK.toml", &|rack| load(rack, rate))?;
        let without = lab.run(&racked, None)?;
        let with = lab.run(&racked, Some("cache"))?;
        for (name, paper) in [("get", "median below 10us, half the loss"), ("set", "as without")] {
            let [a, b] = [&without, &with].map(|run| cells(run, name));
            let [a0, a1] = a;
            let [b0, b1] = b;
            rows.push([name.to_string(), rate.to_string(), a0, a1, b0, b1, paper.to_string()]);
        }
    }
    let titles = [
        "<requests",
        "reads/s",
        "p5, median, p95",
        "answered",
        "with cache",
        "answered with cache",
        "<paper",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn load(rack: &mut Rack, rate: u64) {
    only(rack, &["get", "set"]);
    alone(rack, "cache");
    for workload in &mut rack.workloads {
        let each = if workload.name.value == "get" { 1 } else { 9 };
        let interval = Duration::from_ps(1_000_000_000_000 * each / rate);
        workload.load.set("interval", Value::Time(interval), Span::NONE);
        workload.load.set("skew", Value::Number(1000), Span::NONE);
        workload.load.count = READS / each;
        workload.load.size = 512;
    }
    let store = rack.host("store");
    for link in &mut rack.links {
        if link.ends.iter().any(|end| store.is_some_and(|id| end.node == NodeId::Host(id))) {
            link.rate = Rate::from_bits_per_s(link.rate.bits_per_s() / 10);
        }
    }
}

fn cells((emulator, report): &(Emulator, RunReport), name: &str) -> [String; 2] {
    let Some(at) = report.workloads.iter().position(|workload| workload.name == name) else {
        return ["-".to_string(), "-".to_string()];
    };
    let counts = emulator.latencies(at);
    let all = counts.iter().map(|(_, count)| count).sum();
    let words = |percent: u64| {
        percentile(counts.iter().copied(), all, percent * 10)
            .map_or("-".to_string(), |l| time_words(l.as_ps()))
    };
    let workload = &report.workloads[at];
    let permille = workload.received * 1000 / workload.sent.max(1);
    [[5, 50, 95].map(words).join(", "), format!("{}.{}%", permille / 10, permille % 10)]
}
