//! Number of cards that the gateway needs, and effect of a failure.

use super::gateway::{APPS, BLOCKS, gateway, offloaded, solved, throughput};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "cards",
    about: "Cards for line rate: the paper uses four. Without a flow manager for UnivMon, whose packets never leave the switch, two are enough.",
    set: "shares at the switch by Zipf's law with the exponent that gives each app's share at 10,240 flows (put in); what a larger flow manager adds follows from it. One card may fail where it says so; the survivors share its flows equally.",
    leaves_out: "imbalance between cards, queues. The paper's own replica takes over alone: 40.5 Gbit/s after a failure.",
    run,
};

fn row(what: &str, cards: u64, spare: u64, blocks: u64, paper: &str) -> Result<[String; 6], Vec<Diagnostic>> {
    let problem = gateway(4, cards, spare, blocks)?;
    let found = solved(&problem)?;
    let away = offloaded(&found);
    let sum = throughput(&problem, &found).iter().sum::<f64>();
    Ok([
        what.to_string(),
        cards.to_string(),
        format!("{away:.1}"),
        format!("{:.1}", away / (cards - spare) as f64),
        format!("{sum:.1}"),
        paper.to_string(),
    ])
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let own = BLOCKS * APPS.len() as u64;
    let rows = vec![
        row("flow managers of 10,240", 4, 0, own, "394.1, 20.3 for a card")?,
        row("flow managers of 10,240", 2, 0, own, "")?,
        row("the memory of UnivMon's for the others", 2, 0, own + BLOCKS, "")?,
        row("flow managers of 10,240, one card failed", 4, 1, own, "40.5 for the replica")?,
        row("the memory of UnivMon's, one of three failed", 3, 1, own + BLOCKS, "")?,
    ];
    let titles = ["<", "cards", "to cards, Gbit/s", "for a card", "total, Gbit/s", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use app_allocation::WHOLE;

    #[test]
    fn two_cards_are_enough_with_the_memory_of_the_useless_flow_manager() {
        let served =
            |cards, spare, blocks| solved(&gateway(4, cards, spare, blocks).unwrap()).unwrap().throughput[0];
        assert!(served(2, 0, 3 * BLOCKS) < WHOLE);
        assert_eq!(served(2, 0, 4 * BLOCKS), WHOLE);
        assert_eq!(served(4, 1, 3 * BLOCKS), WHOLE);
        let away = offloaded(&solved(&gateway(4, 4, 0, 3 * BLOCKS).unwrap()).unwrap());
        assert!((away - 81.0).abs() < 0.5, "{away}");
    }
}
