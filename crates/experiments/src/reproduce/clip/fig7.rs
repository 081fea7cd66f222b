//! Fig. 7: from one server to another while old flows stay and new ones come.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use group_trials::transition::{PACKETS_OF_ONE, Second, transition};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig7",
    about: "The group changes from server 1 to server 2 at 14 s: flow sets 1 and 2 stay at server 1, sets 3 and 4 (from 15 s) go to server 2; set 1 ends at 31 s.",
    set: "four sets of 40 flows, a million packets a second each; one packet stands for 250. Means of the seconds from ... to. Links of 10 to 60 ms, as a packet is 2.5 ms of a flow: changes take longer than in a rack.",
    leaves_out: "the second change, which moves set 2 to the switch. Paper: about 1 million packets a second for each set, total nearly flat.",
    run,
};

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let run = transition(1);
    let spans =
        [(1, 14, "2.0", "0.0"), (14, 15, "2.0", "0.0"), (16, 31, "2.0", "2.0"), (33, 40, "1.0", "2.0")];
    let mut rows: Vec<[String; 8]> = spans
        .map(|(from, to, first, second)| {
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
                mean(|second| second.at[0] + second.at[1]),
                mean(|second| second.extra_hops),
                pins.to_string(),
                first.to_string(),
                second.to_string(),
            ]
        })
        .into();
    let counts = run.counts;
    let none = String::new;
    let lost = counts.sent - counts.handled;
    let summary = format!("wrong {}, reordered {}, lost {lost}", counts.wrong, counts.reordered);
    rows.push([summary, none(), none(), none(), none(), none(), none(), none()]);
    let titles = [
        "<time",
        "server 1, Mpps",
        "server 2",
        "total",
        "extra hops",
        "pins",
        "paper: server 1",
        "paper: server 2",
    ];
    Ok(Table::new(&titles, rows).into())
}
