//! Groups under traffic. In the long form (`P4RACK_ALL`) there are 3.4 million packets for each kind of change.

use group_trials::autoscale::{RULES, autoscale};
use group_trials::bloom::{broken, configurations};
use group_trials::churn::Churn;
use group_trials::simulation::{Counts, Setting};
use group_trials::transition::{CHANGE, END_OF_SET_1, TO_SWITCH, transition};

fn all(churn: Churn) -> Counts {
    let seeds = if features::is_long() { 3 } else { 1 };
    let mut sum = Counts::default();
    for seed in 0..seeds {
        let counts = churn.run(seed);
        sum.sent += counts.sent;
        sum.handled += counts.handled;
        sum.changes += counts.changes;
        sum.moves += counts.moves;
        sum.wrong += counts.wrong;
        sum.reordered += counts.reordered;
        sum.extra_hops += counts.extra_hops;
        sum.dropped += counts.dropped;
        sum.held += counts.held;
        sum.pins = sum.pins.max(counts.pins);
    }
    println!("{sum:?}");
    sum
}

fn with(setting: Setting) -> Churn {
    let ticks = if features::is_long() { 1200 } else { 200 };
    Churn { ticks, gaps: (3, 120), setting }
}

#[track_caller]
fn is_exact(counts: &Counts) {
    assert_eq!((counts.wrong, counts.reordered, counts.dropped, counts.held), (0, 0, 0, 0), "{counts:?}");
    assert_eq!(counts.sent, counts.handled, "{counts:?}");
    assert!(counts.extra_hops > 0 && counts.moves > 0, "{counts:?}");
}

#[test]
fn few_changes_break_no_flow() {
    is_exact(&all(with(Setting::default())));
}

#[test]
fn changes_faster_than_servers_retire_break_no_flow() {
    is_exact(&all(Churn { gaps: (1, 8), ..with(Setting::default()) }));
}

#[test]
fn pins_save_hops() {
    let ticks = if features::is_long() { 1200 } else { 200 };
    let run = |pins: usize| all(Churn { ticks, ..with(Setting { pins, ..Setting::default() }) });
    let (without, with) = (run(0), run(1024));
    is_exact(&with);
    assert!(with.pins <= 1024, "{with:?}");
    // The changes differ, since draws do: compared is what a moved bucket costs.
    let cost = |counts: &Counts| counts.extra_hops / counts.moves;
    assert!(with.pins > 0 && cost(&with) < cost(&without), "{with:?} {without:?}");
}

#[test]
fn lost_frames_cost_packets_and_nothing_else() {
    let counts = all(with(Setting { lost: 5, pins: 64, ..Setting::default() }));
    let missing = counts.sent - counts.handled;
    assert_eq!(counts.wrong, 0, "{counts:?}");
    assert!(counts.pins <= 64, "{counts:?}");
    assert!(missing > 0 && missing < counts.sent / 20, "{counts:?}");
    assert_eq!(counts.held, 0, "{counts:?}");
}

#[test]
fn links_that_swap_frames_break_flows() {
    let counts = all(with(Setting { keeps_order: false, ..Setting::default() }));
    assert!(counts.reordered > counts.sent / 50, "{counts:?}");
}

#[test]
fn without_holds_packets_overtake_each_other() {
    let counts = all(with(Setting { holds: false, ..Setting::default() }));
    assert!(counts.reordered > counts.sent / 1000, "{counts:?}");
}

/// Draws differ from those of other runs, so that bounds are given.
#[test]
fn the_papers_filters_break_flows() {
    let rows = configurations();
    let seeds = if features::is_long() { 2 } else { 1 };
    // In the short form, those with pins and filters of 16 Ki bits.
    let shown = if features::is_long() { 0..rows.len() } else { 1..2 };
    for (what, run, expected) in rows.into_iter().skip(shown.start).take(shown.len()) {
        let all: Vec<_> = (0..seeds).map(|seed| broken(seed, &run)).collect();
        let flows = all.iter().map(|broken| broken.flows).sum::<u64>() / seeds;
        assert!(expected.contains(&flows), "{what}: {flows}");
    }
}

#[test]
fn old_flows_stay_at_the_old_server_and_new_ones_go_to_the_new_one() {
    let run = transition(1);
    assert_eq!(run.sets, [[40, 0], [40, 0], [0, 40], [0, 40]]);
    assert_eq!((run.counts.wrong, run.counts.reordered, run.counts.dropped, run.counts.held), (0, 0, 0, 0));
    assert_eq!(run.counts.sent, run.counts.handled);
    let before = run.seconds[CHANGE as usize - 2];
    let after = run.seconds[END_OF_SET_1 as usize - 1];
    assert_eq!((before.at[1], before.pins, after.extra_hops, after.pins), (0, 0, 0, 80), "{run:?}");
    assert!(after.at[0] > 0 && after.at[1] > 0, "{run:?}");
    // Set 2 is at the switch, and nobody needs server 1 any more. Packets that were on their way are overtaken, those of 12 ticks at most.
    let [first, last] = [TO_SWITCH as usize, run.seconds.len() - 1].map(|second| run.seconds[second]);
    assert!(first.at_switch == 4_000 && first.at[0] > 0, "{run:?}");
    assert_eq!((last.at_switch, last.at[0], last.pins), (4_000, 0, 0), "{run:?}");
    assert!((1..=40 * 12).contains(&run.counts.overtaken), "{run:?}");
}

#[test]
fn a_group_follows_its_load_and_breaks_no_flow() {
    let run = autoscale(3);
    is_exact(&run.counts);
    let part = run.servers.len() / 3;
    let most = run.servers[part..2 * part].iter().max().copied();
    assert_eq!((run.servers[part - 1], most, run.servers.last().copied()), (2, Some(6), Some(2)), "{run:?}");
    assert!(run.servers.iter().all(|count| (RULES.min..=RULES.max).contains(count)));
    let turns = run.servers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(turns, 8, "up by four, down by four, and never to and fro: {run:?}");
}
