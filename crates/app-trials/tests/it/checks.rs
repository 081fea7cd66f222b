//! The checks of the trials: histories that are not linearizable are found, and traffic has the shares that it should have.

use app_trials::linear::{Step, is_linearizable};
use app_trials::traffic::{SKEWS, Sizes, Traffic};
use base_time::Rng;
use std::collections::BTreeMap;

#[test]
fn histories_that_no_order_explains_are_found() {
    use Step::{End, Read, Write};
    let fine: [&[Step]; 5] = [
        &[Write(0, 5), End(0), Read(1, Some(5)), End(1)],
        // A read during a write may have either value.
        &[Write(0, 5), Read(1, Some(0)), End(1), End(0)],
        &[Write(0, 5), Read(1, Some(5)), End(1), End(0)],
        // A write that never ends may have happened.
        &[Write(0, 5), Read(1, Some(5)), End(1), Read(1, Some(5)), End(1)],
        &[Write(0, 5), Write(1, 6), End(0), End(1), Read(2, Some(5)), End(2)],
    ];
    let wrong: [&[Step]; 4] = [
        &[Write(0, 5), End(0), Read(1, Some(0)), End(1)],
        // New, then old.
        &[Write(0, 5), Read(1, Some(5)), End(1), Read(2, Some(0)), End(2), End(0)],
        &[Read(1, Some(7)), End(1), Write(0, 7), End(0)],
        &[Write(0, 5), End(0), Write(1, 6), End(1), Read(2, Some(5)), End(2)],
    ];
    assert!(fine.iter().all(|history| is_linearizable(history)));
    assert!(wrong.iter().all(|history| !is_linearizable(history)));
}

/// A million flows: 10,240 of them have 51.8, 60.1 and 66.6 % of the packets.
#[test]
fn popular_flows_have_their_share() {
    let flows = if features::is_long() { 1_000_000 } else { 100_000 };
    for (skew, wanted) in SKEWS.into_iter().zip([518, 601, 666]) {
        let mut traffic = Traffic::new(flows, skew, Sizes::Fixed(60), 1);
        let popular = (0..20_000).filter(|_| traffic.draw().0 < 10_240).count() / 20;
        let wanted = if flows == 1_000_000 { wanted - 15..wanted + 15 } else { 650..950 };
        assert!(wanted.contains(&popular), "{skew}: {popular} of 1000");
    }
    let all: std::collections::BTreeSet<_> =
        Traffic::new(5000, 900, Sizes::Backbone, 2).flows().iter().copied().collect();
    assert_eq!(all.len(), 5000);
}

#[test]
fn sizes_are_as_the_mix_says() {
    let mut rng = Rng::new(1);
    for (sizes, shortest, longest) in [(Sizes::Backbone, 400, 1514), (Sizes::DataCentre, 150, 1400)] {
        let mut seen: BTreeMap<u16, u32> = BTreeMap::new();
        (0..10_000).for_each(|_| *seen.entry(sizes.draw(&mut rng)).or_default() += 1);
        assert!(seen[&60].abs_diff(shortest * 10) < 300 && seen.keys().max() == Some(&longest), "{seen:?}");
    }
}
