//! Fig. 1: SRAM that apps need for whole tables.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig1",
    about: "SRAM for all entries of one to four apps, by flows, as a part of a Tofino's: with a million flows one app fits at most.",
    set: "an entry of 13 bytes for each flow and app, 1,024 entries in a block, 960 blocks.",
    leaves_out: "the apps' other tables and their data; the paper's four programs are not published. With keys of 13 bytes, a million entries take 977 blocks: one app alone does not fit. The figure has no numbers.",
    run,
};

/// SRAM blocks of a Tofino 1.
const ALL: u64 = 960;

fn need(flows: u64, apps: u64) -> f64 {
    (apps * flows.div_ceil(1024)) as f64 / ALL as f64
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = [50_000, 100_000, 250_000, 500_000, 750_000, 1_000_000].map(|flows| {
        let shown = |apps| format!("{:.2}", need(flows, apps));
        let fit = (1..=4).filter(|apps| need(flows, *apps) <= 1.0).count();
        let paper = if flows == 1_000_000 { "1" } else { "" };
        [flows.to_string(), shown(1), shown(2), shown(3), shown(4), fit.to_string(), paper.to_string()]
    });
    let titles = ["flows", "1 app", "2 apps", "3 apps", "4 apps", "apps that fit", "paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::need;

    #[test]
    fn a_million_entries_exceed_a_tofino() {
        assert!(need(1_000_000, 1) > 1.0 && need(950_000, 1) < 1.0 && need(500_000, 2) > 1.0);
    }
}
