//! Fig. 11: throughput by the number of cards and the part of the traffic that goes to them.

use super::gateway::{failed, gateway, solved, throughput};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::{Affinity, Distribution, Quantum};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig11",
    about: "Total throughput with one to four cards, where 30, 40 or 50 % of the traffic go to them, or all of VPN gateway, NAT and ACL (100 %): more cards help, in the paper not at 100 %.",
    set: "the part that goes to the cards is put in; cards take 39.47 Gbit/s each, the load is equal.",
    leaves_out: "imbalance, which the paper names as the reason why 100 % does not scale. With a hash over Zipf's flows, the most loaded card has 15 % more than the mean and every card is full, so the model scales there, too: \
                 the flat line is not reproduced. The figure has no numbers.",
    run,
};

/// Gbit/s, where so many percent of the traffic of all four apps are those of three; all of the three if that is less.
fn total(part: u64, cards: u64) -> Result<f64, Vec<Diagnostic>> {
    let mut problem = gateway(4, cards, 0, 100)?;
    for app in problem.apps.iter_mut().filter(|app| app.affinity == Affinity::Medium) {
        let shares = Distribution::classes(&[(1, 300u64.saturating_sub(4 * part)), (1000, 4 * part)]);
        app.flows = shares.map_err(|why| failed(&why.to_string()))?;
        app.quantum = Quantum::Exactly(u64::from(4 * part < 300));
    }
    let found = solved(&problem)?;
    Ok(throughput(&problem, &found).iter().sum())
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for part in [30, 40, 50, 100] {
        let mut row =
            [format!("{part} %"), String::new(), String::new(), String::new(), String::new(), String::new()];
        for cards in 1..=4 {
            row[cards as usize] = format!("{:.0}", total(part, cards)?);
        }
        row[5] = if part == 100 { "does not grow" } else { "grows" }.to_string();
        rows.push(row);
    }
    let titles = ["to the cards", "1 card, Gbit/s", "2 cards", "3 cards", "4 cards", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::total;

    /// An open-loop simulation with hashed flows gives these.
    #[test]
    fn totals_are_those_of_a_simulation() {
        let simulated = [
            (30, [315, 354, 393, 394]),
            (40, [275, 314, 353, 392]),
            (50, [236, 275, 314, 353]),
            (100, [138, 176, 216, 254]),
        ];
        for (part, wanted) in simulated {
            for (cards, wanted) in (1..).zip(wanted) {
                let found = total(part, cards).unwrap();
                assert!((found / f64::from(wanted) - 1.0).abs() < 0.015, "{part} {cards}: {found}, {wanted}");
            }
        }
    }
}
