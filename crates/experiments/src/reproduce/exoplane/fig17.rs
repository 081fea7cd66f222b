//! Fig. 17: how the time to allocate grows with apps and with flows.

use super::appendix_d::measured;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig17",
    about: "Growth of the time to find the best allocation with 16 cards: over the apps (a), in the paper linear up to 712 ms, and over the flows of four apps (b), in the paper up to 4.1 s for 10 million flows each.",
    set: "the problems of `appendixD`. (a): a million flows for each app; (b): four apps.",
    leaves_out: "the paper's machine, its largest number of apps, and the numbers between the ends of its curves, which are only drawn.",
    run,
};

/// The numbers of apps of (a), with a million flows each.
const APPS: [u64; 5] = [4, 8, 16, 32, 64];
/// Millions of flows of each of four apps, of (b).
const MILLIONS: [u64; 5] = [1, 2, 4, 7, 10];

/// Letters of the longest bar.
const WIDTH: f64 = 40.0;

/// A part of the figure: apps and flows of each, and the paper's time where it has one.
type Point = (&'static str, u64, u64, &'static str);

fn points() -> Vec<Point> {
    let last = |is_last: bool, paper: &'static str| if is_last { paper } else { "" };
    let apps = APPS.map(|apps| ("a", apps, 1_000_000, last(apps == 64, "712 for the most apps")));
    let flows = MILLIONS.map(|millions| {
        let paper = if millions == 1 { "54.5 for its own apps" } else { last(millions == 10, "4100") };
        ("b", 4, millions * 1_000_000, paper)
    });
    apps.into_iter().chain(flows).collect()
}

/// A bar for `ms`, of the longest in its part.
fn bar(ms: f64, longest: f64) -> String {
    "#".repeat((ms / longest * WIDTH).round().max(1.0) as usize)
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut times = vec![];
    for (part, apps, flows, paper) in points() {
        times.push((part, apps, flows, measured(apps, flows)?.0, paper));
    }
    let longest = |part: &str| {
        times.iter().filter(|(of, ..)| *of == part).map(|(.., ms, _)| *ms).fold(f64::MIN_POSITIVE, f64::max)
    };
    let row = |(part, apps, flows, ms, paper): &(&str, u64, u64, f64, &str)| {
        [
            (*part).to_string(),
            apps.to_string(),
            flows.to_string(),
            format!("{ms:.1}"),
            bar(*ms, longest(part)),
            (*paper).to_string(),
        ]
    };
    let rows: Vec<[String; 6]> = times.iter().map(row).collect();
    let titles = ["<part", "apps", "flows each", "ms", "<growth", "<paper, ms"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_the_papers_do() {
        let points = points();
        let of = |part: &str| points.iter().filter(|(of, ..)| *of == part).copied().collect::<Vec<Point>>();
        let (apps, flows) = (of("a"), of("b"));
        assert!(apps.iter().all(|(_, _, flows, _)| *flows == 1_000_000), "{apps:?}");
        assert!(flows.iter().all(|(_, apps, ..)| *apps == 4), "{flows:?}");
        assert_eq!((flows[0].2, flows[0].3), (1_000_000, "54.5 for its own apps"));
        assert_eq!(flows.last().map(|(.., flows, paper)| (*flows, *paper)), Some((10_000_000, "4100")));
        assert!(apps.windows(2).chain(flows.windows(2)).all(|two| two[0].1 * two[0].2 < two[1].1 * two[1].2));
    }

    #[test]
    fn bars_are_as_long_as_their_times() {
        assert_eq!([bar(8.0, 8.0).len(), bar(4.0, 8.0).len(), bar(0.001, 8.0).len()], [40, 20, 1]);
    }

    /// The smallest point of both parts; times are not tested.
    #[test]
    fn the_best_allocation_is_proven() {
        assert!(measured(4, 1_000_000).unwrap().1);
    }
}
