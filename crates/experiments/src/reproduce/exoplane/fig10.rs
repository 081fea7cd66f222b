//! Fig. 10: throughput of the apps with one card.

use super::gateway::{BLOCKS, TRAFFIC, gateway, offloaded, solved, throughput};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig10",
    about: "Throughput of each app with one card: 81 Gbit/s would go to it, it takes about 39; UnivMon, at the switch, has all.",
    set: "98.68 Gbit/s for each app; a card takes 39.47 (40 Gbit/s less the overhead of frames). The shares at the switch are put in: their sum is fitted to 81 Gbit/s.",
    leaves_out: "queues and congestion control: the card drops the same part of each app's packets. The figure has no numbers.",
    run,
};

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let problem = gateway(4, 1, 0, 3 * BLOCKS)?;
    let found = solved(&problem)?;
    let each = throughput(&problem, &found);
    let apps = problem.apps.iter().zip(&each).map(|(app, rate)| {
        let paper = if app.name == "UnivMon" { "line rate" } else { "below line rate" };
        [
            app.name.clone(),
            format!("{rate:.1}"),
            format!("{:.1} %", 100.0 * rate / TRAFFIC),
            paper.to_string(),
        ]
    });
    let sum = each.iter().sum::<f64>();
    let mut rows: Vec<[String; 4]> = apps.collect();
    rows.push(["sum".into(), format!("{sum:.1}"), format!("{:.1} %", 25.0 * sum / TRAFFIC), String::new()]);
    let away = offloaded(&found);
    rows.push(["would go to the card".into(), format!("{away:.1}"), String::new(), "81".into()]);
    rows.push([
        "the card takes".into(),
        format!("{:.1}", away * found.throughput[0] as f64 / 1e9),
        String::new(),
        "39".into(),
    ]);
    let titles = ["<app", "Gbit/s", "of its traffic", "<paper"];
    Ok(Table::new(&titles, rows).into())
}
