//! Fig. 7: from one server to another while old flows stay and new ones come.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use group_trials::transition::{PACKETS_OF_ONE, Second, transition};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig7",
    about: "The group changes from server 1 to server 2 at 14 s: flow sets 1 and 2 stay at server 1, sets 3 and 4 (from 15 s) go to server 2; set 1 ends at 31 s. At 35 s, set 2 moves to the switch.",
    set: "four sets of 40 flows, a million packets a second each; one packet stands for 250. Means of the seconds from ... to. Links of 10 to 60 ms, as a packet is 2.5 ms of a flow: changes take longer than in a rack.",
    leaves_out: "how the switch chooses the flows: set 2 goes to the switch at once, as the entries of a table with `@hot` do. Paper: about 1 million packets a second for each set, total nearly flat; it gives no time of the second change.",
    run,
};

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let run = transition(1);
    let spans = [
        (1, 14, ["2.0", "0.0", "0.0"]),
        (14, 15, ["2.0", "0.0", "0.0"]),
        (16, 31, ["2.0", "2.0", "0.0"]),
        (33, 35, ["1.0", "2.0", "0.0"]),
        (36, 40, ["0.0", "2.0", "1.0"]),
    ];
    let mut rows: Vec<[String; 10]> = spans
        .map(|(from, to, [first, second, switch])| {
            let seconds = &run.seconds[from..to];
            let mean = |of: fn(&Second) -> u64| {
                let sum = seconds.iter().map(of).sum::<u64>() * PACKETS_OF_ONE;
                format!("{:.2}", sum as f64 / seconds.len() as f64 / 1e6)
            };
            let pins = seconds.last().map_or(0, |second| second.pins);
            [
                format!("{from} to {to} s"),
                mean(|second| second.at[0]),
                mean(|second| second.at[1]),
                mean(|second| second.at_switch),
                mean(|second| second.at[0] + second.at[1] + second.at_switch),
                mean(|second| second.extra_hops),
                pins.to_string(),
                first.to_string(),
                second.to_string(),
                switch.to_string(),
            ]
        })
        .into();
    let counts = run.counts;
    let lost = counts.sent - counts.handled;
    let summary = format!(
        "wrong {}, reordered {}, lost {lost}; {} overtaken when set 2 moves",
        counts.wrong, counts.reordered, counts.overtaken
    );
    rows.push(std::array::from_fn(|column| if column == 0 { summary.clone() } else { String::new() }));
    let titles = [
        "<time",
        "server 1, Mpps",
        "server 2",
        "switch",
        "total",
        "extra hops",
        "pins",
        "paper: server 1",
        "paper: server 2",
        "paper: switch",
    ];
    Ok(Table::new(&titles, rows).into())
}
