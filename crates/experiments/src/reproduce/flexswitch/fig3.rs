//! Fig. 3: completion times by TCP, RCP and XCP, exact and approximate.

use super::transfers::{PACKET, choose_form, draw, shape, three, times};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use protocol_trials::statistics::{Length, distance, mean};
use rack_emulator::Table;
use rack_model::Rack;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig3",
    about: "Transfers of eight servers to one, by TCP (CUBIC, DCTCP), RCP and XCP, exact and on a limited switch: mean, median and 95th percentile of completion times in ms by length.",
    set: "8,000 transfers of list 1 for all: Poisson, Pareto 1.2, 25 packets on average, at most 15 MB, at 55 % of the receiver's link. Links of 1 Gbit/s with 40 us, 256 frames at the switch; DCTCP's \
          marks begin at 20. `distance` is that of Kolmogorov and Smirnov between the limited switch and its exact twin, `means` the ratio of their means. RCP's exact twin has FlexSwitch's formula; \
          the row RCP (Dukkipati) has the original one.",
    leaves_out: "2,560 servers behind 112 switches: the figure has curves without numbers; here the receiver's link is the only bottleneck. `fig3-full` has them all.",
    run,
};

/// Transfers of each of the eight servers.
const COUNT: u64 = 1000;

/// Name, rack, form, and for an approximation the place of its exact twin.
const SCHEMES: [(&str, &str, &str, Option<usize>); 7] = [
    ("TCP (CUBIC)", "rcp/tcp.toml", "", None),
    ("DCTCP", "dctcp/RACK.toml", "", None),
    ("RCP (Dukkipati)", "rcp/RACK.toml", "DUKKIPATI", None),
    ("RCP", "rcp/RACK.toml", "EXACT", None),
    ("RCP, limited", "rcp/RACK.toml", "", Some(3)),
    ("XCP", "xcp/RACK.toml", "EXACT", None),
    ("XCP, limited", "xcp/RACK.toml", "", Some(5)),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    shown(lab, COUNT)
}

fn shown(lab: &mut Lab<'_>, count: u64) -> Result<Shown, Vec<Diagnostic>> {
    // The transfers of every scheme are those of the first.
    let list = lab.changed(SCHEMES[0].1, &|rack| draw(rack, count))?.rack.workloads[0].load.clone();
    let mut all: Vec<Vec<(u32, f64)>> = vec![];
    for (_, file, form, _) in SCHEMES {
        let change = |rack: &mut Rack| {
            choose_form(rack, form);
            rack.workloads.truncate(1);
            let load = &mut rack.workloads[0].load;
            (load.size, load.stagger) = (list.size, list.stagger);
            for key in ["interval", "largest"] {
                if let Some((value, place)) = list.value(key) {
                    load.set(key, value.clone(), place);
                }
            }
            draw(rack, count);
        };
        all.push(times(&lab.changed(file, &change)?)?);
    }
    let schemes: Vec<_> =
        SCHEMES.iter().zip(&all).map(|((name, _, _, twin), times)| (*name, &times[..], *twin)).collect();
    Ok(table(&schemes).into())
}

/// A scheme's name, its transfers (bytes, milliseconds), and the place of its exact twin.
pub(super) type Scheme<'a> = (&'a str, &'a [(u32, f64)], Option<usize>);

/// A row for each scheme.
pub(super) fn table(schemes: &[Scheme<'_>]) -> Table {
    let rows = schemes.iter().map(|(name, times, twin)| {
        let of = |times: &[(u32, f64)], class: Length| -> Vec<f64> {
            times.iter().filter(|(bytes, _)| Length::of(*bytes, PACKET) == class).map(|(_, ms)| *ms).collect()
        };
        let [short, medium, long] = Length::ALL.map(|class| three(shape(&of(times, class))));
        let twin = twin.map(|twin| schemes[twin].1);
        let distances = twin.map_or(String::new(), |twin| {
            let each = Length::ALL.map(|class| distance(&of(times, class), &of(twin, class)));
            each.map(|distance| format!("{distance:.3}")).join(", ")
        });
        let whole = |times: &[(u32, f64)]| mean(&times.iter().map(|(_, ms)| *ms).collect::<Vec<_>>());
        let means = twin.map_or(String::new(), |twin| format!("{:.3}", whole(times) / whole(twin)));
        [name.to_string(), times.len().to_string(), short, medium, long, distances, means]
    });
    Table::new(&["<scheme", "transfers", "short", "medium", "long", "distance", "means"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short form has a fifth of the experiment's transfers.
    #[test]
    fn limited_switches_are_as_fast_as_exact_ones() {
        let mut lab = Lab::of_examples("");
        let count = if features::is_long() { COUNT } else { COUNT / 5 };
        let Shown { table, .. } = shown(&mut lab, count).expect("the racks run");
        let transfers = (8 * count).to_string();
        assert!(table.rows.len() == 7 && table.rows.iter().all(|row| row[1] == transfers), "{table}");
        let limited: Vec<_> = table.rows.iter().filter(|row| row[0].ends_with("limited")).collect();
        assert_eq!(limited.len(), 2, "{table}");
        let is_near = |row: &&Vec<String>| (0.97..1.03).contains(&row[6].parse().expect("a ratio"));
        assert!(limited.iter().all(is_near), "{table}");
    }
}
