//! Proofs in a network that loses frames between devices, and in which plans take one another's place.

use crate::support;

use base_diag::SourceMap;
use compiler::make_parts;
use ir_prove::{Case, Difference, Effort, mutants, prove, prove_disturbed};
use ir_split::{Part, Placement};
use support::{case, compile_text, placement, slice, small_program};

/// A value stays at the origin until the packet returns from `nic`, or travels with the packet.
const THERE_AND_BACK: &str = "meta.x = hdr.h.a; @region(\"R\") { hdr.h.b = hdr.h.b + 1; } hdr.h.a = meta.x + hdr.h.b; std.egress_spec = 2;";

fn effort() -> Effort {
    Effort { packets: 300, ..Effort::default() }
}

/// The case of a small program, and the same in the next epoch.
fn there_and_back() -> (Case, Case) {
    let whole = || compile_text(&small_program("", THERE_AND_BACK, ""), &mut SourceMap::new());
    let next = Placement { epoch: 2, ..placement(&["R"]) };
    (case(whole(), placement(&["R"])), case(whole(), next))
}

#[test]
fn splits_bear_losses_and_other_plans() {
    for (on_nic, then_on_nic) in [(&["Acl", "Out"][..], &["Acl", "Out"][..]), (&["Sample", "Mark"], &["Acl"])]
    {
        let next = Placement { epoch: 2, ..placement(then_on_nic) };
        match prove_disturbed(&case(slice(), placement(on_nic)), &case(slice(), next), &effort()) {
            Ok(tried) => {
                assert!(tried.lost > 20 && tried.renewed > 20 && tried.outputs > 20, "{tried:?}");
            }
            Err(failure) => panic!("{on_nic:?}: {}", failure.describe()),
        }
    }
    let (one, next) = there_and_back();
    let tried = prove_disturbed(&one, &next, &effort()).unwrap_or_else(|f| panic!("{}", f.describe()));
    assert!(tried.lost > 50 && tried.renewed > 20 && tried.outputs > 50, "{tried:?}");
}

#[test]
fn a_device_that_takes_hand_overs_of_any_epoch_is_noticed_by_them_alone() {
    let (one, next) = there_and_back();
    let all = mutants::of_epochs(&one.parts);
    assert_eq!(all.len(), 2, "each device takes hand-overs");
    for mutant in all {
        let broken = Case { parts: mutant.parts, ..one.clone() };
        assert!(prove(&broken, &effort()).is_ok(), "{}", mutant.name);
        let failure = prove_disturbed(&broken, &next, &effort()).expect_err(&mutant.name);
        assert_eq!(failure.proof, "renewed", "{}", failure.describe());
        assert!(matches!(failure.difference, Difference::Stale { .. }), "{}", failure.describe());
    }
}

/// The origin keeps the value in a ring of registers until the packet returns, and assumes that all packets return in order.
#[test]
fn a_split_that_counts_on_every_frame_is_noticed_by_a_loss_alone() {
    let (one, next) = there_and_back();
    let printed = make_parts(&one.whole, &one.placement, &mut SourceMap::new());
    let (_, _, texts) = printed.unwrap_or_else(|found| panic!("{found:?}"));
    let edits = [
        (
            "    action p4rack_restore_ingress_2() {",
            "    register<bit<8>, bit<32>>(256) p4rack_ring; register<bit<32>, bit<32>>(2) p4rack_ends;
             action p4rack_restore_ingress_2() {",
        ),
        (
            "hdr.p4rack_R.x = meta.x;",
            "bit<32> last; p4rack_ends.read(last, 0); p4rack_ring.write(last, meta.x); p4rack_ends.write(0, (last + 1) & 255);",
        ),
        (
            "meta.x = hdr.p4rack_ingress_2.x;",
            "bit<32> first; p4rack_ends.read(first, 1); p4rack_ring.read(meta.x, first); p4rack_ends.write(1, (first + 1) & 255);",
        ),
    ];
    let edited = edits.iter().fold(texts[0].clone().expect("the origin has a part"), |text, (from, to)| {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text.replace(from, to)
    });
    let mut parts = one.parts.clone();
    let linkage = parts[0].as_ref().expect("the origin has a part").linkage.clone();
    parts[0] = Some(Part { program: compile_text(&edited, &mut SourceMap::new()), linkage });
    let broken = Case { parts, ..one };
    assert!(prove(&broken, &effort()).is_ok());
    let failure = prove_disturbed(&broken, &next, &effort()).expect_err("a value is another packet's");
    assert_eq!(failure.proof, "lossy", "{}", failure.describe());
}
