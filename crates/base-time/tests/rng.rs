//! The numbers of a seed never change, and the helpers are fair.

use base_time::{Duration, Rng};

/// If this test fails, every recorded seed means another run: do not refresh it, mend the generator.
#[test]
fn the_numbers_of_a_seed_are_fixed() {
    let mut rng = Rng::new(42);
    let drawn: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
    let mut stream = Rng::new(42).split("links").split_index(3);
    assert_eq!(drawn, [18173170079778857525, 792243816134977861, 3162653795936665556]);
    assert_eq!((stream.next_u64(), stream.below(1000)), (3977549737911253636, 358));
}

#[test]
fn a_split_stream_does_not_depend_on_what_was_drawn() {
    let fresh = Rng::new(7);
    let mut used = Rng::new(7);
    used.bytes(100);
    assert_eq!(fresh.split("loss"), used.split("loss"));
    assert_ne!(fresh, used);
}

#[test]
fn streams_differ_by_seed_label_index_and_path() {
    let root = Rng::new(7);
    let mut streams = vec![
        Rng::new(8),
        root.clone(),
        root.split(""),
        root.split("a"),
        root.split("b"),
        root.split("a\0"),
        root.split("a").split("b"),
        root.split("ab"),
        root.split("b").split("a"),
        root.split_index(0),
        root.split_index(1),
        root.split("\0\0\0\0\0\0\0\0"),
    ];
    let mut first: Vec<u64> = streams.iter_mut().map(Rng::next_u64).collect();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), streams.len());
}

#[test]
fn below_is_uniform_within_four_sigma() {
    for bound in [1, 2, 3, 10, 17] {
        let mut rng = Rng::new(bound);
        let draws = 20_000;
        let mut counts = vec![0i64; bound as usize];
        (0..draws).for_each(|_| counts[rng.below(bound) as usize] += 1);
        let mean = draws / bound as i64;
        for count in counts {
            assert!((count - mean).pow(2) <= 16 * mean, "{count} of {mean} below {bound}");
        }
    }
}

/// With the bound 3 * 2^62 a plain remainder would draw the lowest third twice as often.
#[test]
fn below_has_no_bias_at_large_bounds() {
    let mut rng = Rng::new(9);
    let low = (0..9_000).filter(|_| rng.below(3 << 62) < 1 << 62).count();
    assert!((2_800..3_200).contains(&low), "{low}");
}

#[test]
fn borders_of_the_helpers() {
    let mut rng = Rng::new(3);
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.between(5, 4), 5);
    assert!((0..200).map(|_| rng.between(5, 7)).all(|n| (5..=7).contains(&n)));
    rng.between(0, u64::MAX);
    assert!((0..50).all(|_| rng.chance(1, 1) && !rng.chance(0, 9)));
    assert!(!rng.chance(0, 0) && rng.chance(1, 0));
    assert_eq!(rng.pick::<u8>(&[]), None);
    let losses = (0..20_000).filter(|_| rng.chance_ppm(250_000)).count();
    assert!((4_700..5_300).contains(&losses), "{losses}");
}

#[test]
fn shuffles_reach_all_orders_alike() {
    let mut rng = Rng::new(4);
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let mut items = [1, 2, 3];
        rng.shuffle(&mut items);
        *seen.entry(items).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 6);
    assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
}

#[test]
fn gaps_of_a_poisson_process_have_their_mean_and_spread() {
    let mut rng = Rng::new(5);
    let mean = Duration::from_us(10);
    let gaps: Vec<u64> = (0..200_000).map(|_| rng.exponential(mean).as_ps()).collect();
    let average = gaps.iter().sum::<u64>() / gaps.len() as u64;
    // The deviation of the average is 0.22 % of the mean.
    assert!(average.abs_diff(mean.as_ps()) < mean.as_ps() / 100, "{average}");
    // Of an exponential distribution 1/e are above the mean, and 1/e^3 above three times the mean.
    let above = |times: u64| gaps.iter().filter(|gap| **gap > mean.as_ps() * times).count();
    assert!(above(1).abs_diff(73_576) < 1_000, "{}", above(1));
    assert!(above(3).abs_diff(9_957) < 500, "{}", above(3));
    assert_eq!(rng.exponential(Duration::ZERO), Duration::ZERO);
}
