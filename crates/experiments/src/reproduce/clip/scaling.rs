//! Section IV, scaling: flows that changes of the members break.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use group_trials::bloom::{Broken, broken, configurations};
use group_trials::churn::Churn;
use group_trials::simulation::{Counts, Setting};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "scaling",
    about: "Changes of the members under traffic: broken flows with rows and probes (`server-groups`), and with the paper's two Bloom filters.",
    set: "flows of 250 ticks on average. Rows: 256 buckets, 25 new flows a tick, 1,200 ticks, links of 1 to 6 ticks, 3 seeds. Filters: 2 hashes, 40 new flows a tick, 2,000 ticks, 2 seeds; 30 ticks from \
          report to change, 2 from switch to server.",
    leaves_out: "the paper says that no flow breaks and gives no number. The filters are this project's reading of the paper; a flow counts as broken if any of its packets reaches another server than its first one (for rows, each such packet counts). The \
                 schedules of rows and filters are not the same.",
    run,
};

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let all = |gaps: (u64, u64), pins: usize| {
        let churn = Churn { ticks: 1200, gaps, setting: Setting { pins, ..Setting::default() } };
        (0..3).map(move |seed| churn.run(seed)).collect::<Vec<_>>()
    };
    let mut rows = vec![
        of_rows("rows and probes", &all((3, 120), 0)),
        of_rows("rows and probes, 1,024 pins", &all((3, 120), 1024)),
        of_rows("rows and probes, changes without pause", &all((1, 8), 0)),
    ];
    for (what, run, _) in configurations() {
        let seeds: Vec<Broken> = (0..2).map(|seed| broken(seed, &run)).collect();
        let mean = |of: fn(&Broken) -> u64| {
            let share = seeds.iter().map(of).sum::<u64>() as f64 / seeds.len() as f64 / 1000.0;
            format!("{share:.3} %")
        };
        let changes = (run.changes.len() * seeds.len()).to_string();
        let [flows, by_false] = [mean(|broken| broken.flows), mean(|broken| broken.by_false_positive)];
        let none = String::new;
        rows.push([format!("filters: {what}"), none(), changes, flows, none(), none(), none(), by_false]);
    }
    let titles = [
        "<scheme",
        "packets",
        "changes",
        "broken flows",
        "reordered",
        "lost",
        "extra hops",
        "false positives",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn of_rows(what: &str, all: &[Counts]) -> [String; 8] {
    let sum = |of: fn(&Counts) -> u64| all.iter().map(of).sum::<u64>();
    let sent = sum(|counts| counts.sent);
    let hops = 100.0 * sum(|counts| counts.extra_hops) as f64 / sent as f64;
    [
        what.to_string(),
        sent.to_string(),
        sum(|counts| counts.changes).to_string(),
        sum(|counts| counts.wrong).to_string(),
        sum(|counts| counts.reordered).to_string(),
        (sent - sum(|counts| counts.handled)).to_string(),
        format!("{hops:.1} %"),
        String::new(),
    ]
}
