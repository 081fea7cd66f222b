//! Figure 11: three plans of Crosspod, equal to applications and unequal to operators.

use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use p4rack::rack::Racked;
use plan_model::Unit;
use rack_emulator::{RunReport, Table, rate_words, time_words};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig11",
    about: "Three plans of Crosspod with all functions on: throughput, latency, power and cost.",
    set: "as fig10, its last stage; the first row has the loss and only compression. Power and cost are what the planner sums up: 110.5 W for a Tofino (half of it \
          for each of its two pipelines), 110 W for an Arista, 27.3 W for each board with an FPGA (Table 1); costs are relative, as in the tables of the authors' planner.",
    leaves_out: "power of real hardware, which cannot be measured in virtual time: it is computed from the paper's measurements, and does not depend on load. \
                 The paper's fixed-function switch routes; ours follows rules by port and nothing else, so that each half of it has one more board behind it, for the tables.",
    run,
};

/// The plans, their files, and the paper's throughput, latency and power.
const PLANS: [(&str, &str, &str, &str); 3] = [
    ("maximum performance", "RACK.toml", "least", "6.25Gbit/s, below 10us"),
    ("resource saver", "resource-saver.toml", "50W more", "6.25Gbit/s, below 10us"),
    ("legacy extender", "legacy-extender.toml", "50W more", "6.25Gbit/s, below 10us"),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (plan, file, power, application) in PLANS {
        let racked = lab.rack(file)?;
        if rows.is_empty() {
            let report = lab.run(&racked, Some("loss"))?.1;
            rows.push(row("no correction, no cache", &report, ["-".into(), "-".into()], ["-", "1.19Gbit/s"]));
        }
        let report = lab.run(&racked, Some("cache"))?.1;
        let costs = [total(&racked, "Power", Unit::Watts), total(&racked, "Cost", Unit::Plain)];
        rows.push(row(plan, &report, costs, [power, application]));
    }
    let titles = [
        "<plan",
        "goodput",
        "read, median",
        "read, p99",
        "reads lost",
        "power",
        "cost",
        "<paper's power",
        "<paper's application",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn row(
    plan: &str,
    report: &RunReport,
    [power, cost]: [String; 2],
    [paper, application]: [&str; 2],
) -> [String; 9] {
    let find = |name: &str| report.workloads.iter().find(|workload| workload.name == name);
    let goodput = find("iperf").and_then(|tcp| tcp.goodput_bits_per_s).map_or("-".to_string(), rate_words);
    let read = find("get");
    let latency = read.and_then(|read| read.latency);
    let words = |ps: Option<u64>| ps.map_or("-".to_string(), time_words);
    let lost = read.map_or(0, |read| read.lost * 1000 / read.sent.max(1));
    [
        plan.to_string(),
        goodput,
        words(latency.map(|l| l.median_ps)),
        words(latency.map(|l| l.p99_ps)),
        format!("{}.{}%", lost / 10, lost % 10),
        power,
        cost,
        paper.to_string(),
        application.to_string(),
    ]
}

/// Sum of an objective over the plans of all apps.
pub fn total(racked: &Racked, objective: &str, unit: Unit) -> String {
    let costs = racked.apps.iter().flat_map(|app| &app.costs);
    unit.show(costs.filter(|cost| cost.objective == objective).map(|cost| cost.value).sum())
}
