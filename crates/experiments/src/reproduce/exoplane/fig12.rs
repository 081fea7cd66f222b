//! Fig. 12: throughput while the most popular flows change.

use super::gateway::{APPS, BLOCKS, FLOWS, RESIDENT, TRAFFIC, failed, gateway, solved, throughput};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::{Distribution, ONE};
use base_diag::Diagnostic;
use base_time::Duration;
use flow_control::popularity::Costs;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig12",
    about: "Throughput while the ten most popular flows of the VPN gateway change every 10 s: with one card it drops until the new ones are at the switch, with four it does not.",
    set: "98.68 Gbit/s for each app, shares at the switch as in fig10; the ten have 19 % of the gateway's packets (Zipf's law, 0.99). The new ten have been at the cards. Writes of 16 ms, windows of 100 ms.",
    leaves_out: "queues and congestion control: a card drops the same part of each app's packets. The figure has no numbers.",
    run,
};

/// Flows that change.
const CHANGED: u64 = 10;

/// Moves by popularity, as in racks: a window of 100 ms, writes of 16 ms, four of them for a flow that takes the place of another.
const COSTS: Costs = Costs {
    window: Duration::from_ms(100),
    write: Duration::from_ms(16),
    writes: 4,
    together: 16,
    idle: Duration::from_s(2),
};

/// Part of the VPN gateway's traffic that its ten most popular flows have, in thousandths: Zipf's law with 0.99.
fn changed() -> Result<u64, Vec<Diagnostic>> {
    let flows = Distribution::zipf(FLOWS, 990).map_err(|why| failed(&why.to_string()))?;
    Ok(flows.share(CHANGED) * 1000 / ONE)
}

/// Gbit/s of each app, with all flows in place and right after a change.
fn before_and_after(cards: u64) -> Result<[Vec<f64>; 2], Vec<Diagnostic>> {
    let problem = gateway(4, cards, 0, 3 * BLOCKS)?;
    let found = solved(&problem)?;
    let before = throughput(&problem, &found);
    let mut after = found;
    // The ten least popular of the resident flows would be at a card instead: almost nothing.
    after.apps[0].share -= ONE / 1000 * changed()?;
    let away: f64 = after.apps.iter().map(|app| TRAFFIC * (1.0 - app.share as f64 / ONE as f64)).sum();
    let room = cards as f64 * 39.47;
    after.throughput[0] = ((room / away).min(1.0) * 1e9) as u64;
    Ok([before, throughput(&problem, &after)])
}

/// Time until all ten are at the switch: by popularity, and if moves are asked for at one time. Moves go in groups, each of which takes the writes of one flow
/// (`p4rack/tests/pinned.rs` measures both in the emulator).
fn times() -> [Duration; 2] {
    let windows = CHANGED.div_ceil(COSTS.budget() as u64);
    let writes = |number: u64| Duration::from_ps(number * COSTS.write.as_ps());
    [Duration::from_ps(windows * COSTS.window.as_ps()) + writes(u64::from(COSTS.writes)), writes(1)]
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows: Vec<[String; 4]> = vec![];
    for cards in [1, 4] {
        let [before, after] = before_and_after(cards)?;
        let names = APPS.iter().map(|(name, _)| *name).chain(["UnivMon"]);
        for (name, (before, after)) in names.zip(before.iter().zip(&after)) {
            let paper = match (cards, name) {
                (1, "VPN gateway") => "sharp drop",
                (1, "UnivMon") => "line rate",
                (1, _) => "slightly less",
                _ => "no drop",
            };
            rows.push([
                format!("{name}, {cards} cards"),
                format!("{before:.1}"),
                format!("{after:.1}"),
                paper.into(),
            ]);
        }
    }
    let share = changed()? as f64 / 10.0;
    rows.push([
        format!("share of {CHANGED} of {FLOWS} flows ({RESIDENT} at the switch)"),
        format!("{share:.1} %"),
        String::new(),
        String::new(),
    ]);
    let [by_popularity, at_once] = times();
    let mut time =
        |what: &str, time: Duration| rows.push([what.into(), String::new(), time.to_string(), String::new()]);
    time("length of the drop, `promote = \"auto\"`", by_popularity);
    time("length of the drop, moves asked for at one time", at_once);
    let titles = ["<app", "before, Gbit/s", "after a change", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With four cards nothing is lost; with one, the VPN gateway falls most, to 71 to 77 Gbit/s.
    #[test]
    fn only_one_card_is_too_slow_for_a_change() {
        let [before, after] = before_and_after(4).unwrap();
        assert!(
            before.iter().zip(&after).all(|(before, after)| (before - after).abs() < 0.1),
            "{before:?} {after:?}"
        );
        let [before, after] = before_and_after(1).unwrap();
        assert!((70.5..77.5).contains(&after[0]), "{after:?}");
        assert!((1..3).all(|app| before[app] - after[app] < 3.0 && after[app] < before[app]), "{after:?}");
        assert_eq!(before[3], after[3]);
        assert_eq!(times(), [Duration::from_ms(164), Duration::from_ms(16)]);
    }
}
