//! The slice's program, cut in every way.

use crate::support;

use ir_prove::{Case, Difference, Effort, prove};
use support::{case, placement, slice};

const REGIONS: [&str; 4] = ["Sample", "Acl", "Mark", "Out"];

#[test]
fn every_combination_of_cuts_is_equal() {
    for mask in 0..1 << REGIONS.len() {
        let on_nic: Vec<&str> = (0..4).filter(|i| mask & (1 << i) != 0).map(|i| REGIONS[i]).collect();
        let effort = Effort { packets: if features::is_long() { 1000 } else { 100 }, ..Effort::default() };
        match prove(&case(slice(), placement(&on_nic)), &effort) {
            // So many packets in each of the two proofs, and enough of them come through to say something.
            Ok(tried) => {
                let all = 2 * effort.packets;
                assert_eq!(tried.packets, all);
                assert!(tried.outputs > all / 10 && tried.timers > all / 100, "{tried:?}")
            }
            Err(failure) => panic!("{on_nic:?}: {}", failure.describe()),
        }
    }
}

#[test]
fn every_mutant_is_caught() {
    let mut lived = vec![];
    let mut count = 0;
    for on_nic in [&["Acl", "Out"][..], &["Sample", "Mark"]] {
        let case = case(slice(), placement(on_nic));
        for mutant in ir_prove::mutants::mutants(&case.parts) {
            count += 1;
            let broken = Case { parts: mutant.parts, ..case.clone() };
            match prove(&broken, &Effort::default()) {
                Err(failure) if matches!(failure.difference, Difference::Setup(_)) => {
                    panic!("{}: {}", mutant.name, failure.describe())
                }
                Err(_) => {}
                Ok(tried) => lived.push(format!("{on_nic:?} {}: {tried:?}", mutant.name)),
            }
        }
    }
    assert!(count > 60, "only {count} mutants");
    assert!(lived.is_empty(), "{} of {count} lived: {lived:#?}", lived.len());
}
