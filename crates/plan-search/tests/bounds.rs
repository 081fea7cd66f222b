//! Problems too large to try all plans: what is known of plans by prices leaves nothing out that a search without them finds.

#[path = "../examples/measure/drawn.rs"]
mod drawn;

use plan_search::{Goal, Stop, Switches, search_with};

#[test]
fn prices_leave_nothing_out() {
    let mut plans = 0;
    for seed in (1..=12).chain(152..=163) {
        let problem = drawn::problem(seed, 12 + seed as usize % 5, 1, [10, 7][seed as usize % 2]);
        let front = |few: u64| {
            let switches = Switches { few, alone: 0, ..Switches::default() };
            let found = search_with(&problem, &Goal::Front, switches, &mut |_| Stop::No);
            found.plans.into_iter().map(|(cost, _)| cost).collect::<Vec<_>>()
        };
        // As many labels as it takes: no prices are made.
        let all = front(u64::MAX);
        plans += all.len();
        assert_eq!(front(0), all, "seed {seed}");
    }
    assert!(plans > 100, "{plans}");
}
