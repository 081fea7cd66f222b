//! The protocol as a small model, all interleavings: a message once sent stays deliverable for ever, any number of times and in
//! any order, or never; answers are lost; the switch restarts and generations are aborted at any step.
//!
//! Properties: what is committed is the exact sum, and from every state the end stays reachable. The numbers of states of a
//! single bank and row are those of an independent model in another language. Each mutant breaks a property. With
//! `P4RACK_ALL` the large configurations run, too.

mod configuration;
mod explore;
mod part;
mod protocol;

use configuration::{Model, Mutant, Packet};
use explore::{Outcome, explore};

const A: char = 'A';
const B: char = 'B';
const C: char = 'C';

/// A packet: keys and values of two lanes, in row 0.
fn packet(first: (char, u32), second: Option<(char, u32)>) -> Packet {
    [Some((first.0, 0, first.1)), second.map(|(key, value)| (key, 0, value))]
}

/// Two mappers, one packet of two lanes each.
fn pairs() -> Model {
    let data = vec![vec![vec![packet((A, 1), Some((C, 1)))], vec![packet((B, 1), Some((C, 3)))]]];
    Model::new(data)
}

/// The same with one lane.
fn singles() -> Model {
    Model::new(vec![vec![vec![packet((A, 1), None)], vec![packet((B, 1), None)]]])
}

/// One mapper, three packets.
fn three() -> Model {
    Model::new(vec![vec![vec![packet((A, 1), None), packet((A, 3), None), packet((A, 9), None)]]])
}

/// Two mappers, two packets each.
fn two_by_two() -> Model {
    let data = vec![vec![
        vec![packet((A, 1), Some((C, 1))), packet((A, 3), None)],
        vec![packet((B, 1), Some((C, 9))), packet((A, 27), None)],
    ]];
    Model { window: 2, ..Model::new(data) }
}

/// Two rounds of one packet of two mappers each.
fn rounds() -> Model {
    let round = |first, second| vec![vec![packet(first, None)], vec![packet(second, None)]];
    Model::new(vec![round((A, 1), (B, 1)), round((A, 9), (A, 3))])
}

/// Two rounds of one mapper.
fn short_rounds() -> Model {
    Model::new(vec![vec![vec![packet((A, 1), None)]], vec![vec![packet((B, 9), None)]]])
}

/// Three rounds of one mapper, with the same key.
fn three_rounds() -> Model {
    Model::new([1, 3, 9].map(|value| vec![vec![packet((A, value), None)]]).to_vec())
}

/// Packets that push each other out of the slot.
fn evicting() -> Model {
    let data = vec![vec![
        vec![packet((A, 1), None), packet((B, 3), None), packet((A, 9), None)],
        vec![packet((B, 1), None), packet((A, 27), None)],
    ]];
    Model { evicts: true, ..Model::new(data) }
}

/// Two rows, which are read and cleared one by one.
fn rows() -> Model {
    let data = vec![vec![vec![[Some((A, 0, 1)), Some((C, 1, 1))]], vec![[Some((B, 1, 3)), Some((C, 1, 3))]]]];
    Model { rows: 2, ..Model::new(data) }
}

/// Two rounds of arrays of two rows. The second mapper has no first row in the first round.
fn arrays() -> Model {
    let round = |first: &[Packet; 2], second: &[Packet; 2]| vec![first.to_vec(), second.to_vec()];
    let row = |keys: (char, char), value| packet((keys.0, value), Some((keys.1, 2 * value)));
    let (low, high) = ((A, B), (C, 'D'));
    let data = vec![
        round(&[row(low, 1), row(high, 3)], &[[None; 2], row(high, 9)]),
        round(&[row(low, 27), [None; 2]], &[row(low, 81), [None; 2]]),
    ];
    Model { rows: 2, window: 2, dense: true, ..Model::new(data) }
}

/// One round of them.
fn array() -> Model {
    Model { data: arrays().data[..1].to_vec(), ..arrays() }
}

/// Two rounds of a mapper, each of two packets, whose keys compete for a row and have another one.
fn moving() -> Model {
    let round = |first, second| vec![vec![packet(first, None), packet(second, None)]];
    let data = vec![round((A, 1), (B, 3)), round((B, 9), (A, 27))];
    Model { rows: 2, window: 2, passes: true, answers: true, moves: true, ..Model::new(data) }
}

/// The first round alone.
fn moving_once() -> Model {
    Model { data: moving().data[..1].to_vec(), ..moving() }
}

/// Two rounds with a packet more in the first one.
fn moving_of_three() -> Model {
    let mut data = moving().data;
    data[0][0].insert(1, packet((C, 1), None));
    Model { data, window: 3, ..moving() }
}

/// The last packet of the first round may be left while the first one of the second round is.
fn moving_in_both_rounds() -> Model {
    let first = vec![packet((A, 1), None), [None, Some((C, 0, 1))], packet((B, 3), None)];
    let second = vec![packet((A, 9), None), packet((B, 27), None)];
    Model { data: vec![vec![first], vec![second]], window: 4, banks: 2, ..moving() }
}

/// A round of two mappers whose keys compete for both rows.
fn moving_of_two() -> Model {
    let mapper = |first, second| vec![packet(first, None), packet(second, None)];
    let data = vec![vec![mapper((A, 1), (B, 3)), mapper((C, 9), (A, 27))]];
    Model { data, ..moving() }
}

fn lossy(model: Model) -> Model {
    Model { loses: true, ..model }
}

/// Everything holds, in so many states.
#[track_caller]
fn holds(model: &Model, states: usize) {
    assert_eq!(explore(model), Outcome::Holds { states });
}

/// The same where the number says nothing.
#[track_caller]
fn holds_at_all(model: &Model) {
    match explore(model) {
        Outcome::Holds { states } => println!("{states} states"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn small_configurations_hold() {
    holds(&Model { restarts: 1, ..lossy(short_rounds()) }, 2_067);
    holds(&Model { restarts: 1, ..lossy(rounds()) }, 24_763);
}

#[test]
fn large_configurations_hold() {
    if !features::is_long() {
        return;
    }
    holds(&Model { restarts: 2, ..lossy(short_rounds()) }, 33_587);
    holds(&Model { restarts: 1, aborts: 1, ..pairs() }, 233_492);
    holds(&Model { restarts: 1, aborts: 1, ..lossy(singles()) }, 531_200);
    holds(&Model { restarts: 1, ..lossy(two_by_two()) }, 177_629);
    let three = [(A, 1, C, 1), (B, 1, C, 3), (B, 3, C, 9)];
    let mappers = three.map(|(a, x, c, y)| vec![packet((a, x), Some((c, y)))]).to_vec();
    holds(&Model { restarts: 1, ..lossy(Model::new(vec![mappers])) }, 91_857);
}

#[test]
fn eviction_with_a_shadow_holds() {
    holds(&Model { window: 2, ..lossy(evicting()) }, 24_639);
    if features::is_long() {
        holds(&Model { restarts: 1, aborts: 1, evicts: true, ..lossy(singles()) }, 531_200);
    }
}

#[test]
fn rows_that_are_read_at_different_times_hold() {
    holds_at_all(&lossy(rows()));
    holds_at_all(&Model { restarts: 1, ..rows() });
    if features::is_long() {
        holds_at_all(&Model { restarts: 1, aborts: 1, ..lossy(rows()) });
    }
}

#[test]
fn rows_that_are_read_by_one_request_hold() {
    let rows = || Model { passes: true, ..rows() };
    holds_at_all(&lossy(rows()));
    holds_at_all(&Model { restarts: 1, ..rows() });
    if features::is_long() {
        holds_at_all(&Model { restarts: 1, aborts: 1, answers: true, ..lossy(rows()) });
    }
}

#[test]
fn rows_that_a_copy_of_the_request_reads_hold() {
    let rows = || Model { copies: true, ..rows() };
    holds_at_all(&lossy(rows()));
    holds_at_all(&Model { restarts: 1, ..rows() });
    if features::is_long() {
        holds_at_all(&Model { restarts: 1, aborts: 1, answers: true, ..lossy(rows()) });
    }
}

#[test]
fn pairs_that_the_mapper_sends_past_the_switch_hold() {
    let answered = |model| Model { answers: true, ..model };
    holds_at_all(&answered(lossy(pairs())));
    holds_at_all(&answered(Model { restarts: 1, ..pairs() }));
    holds_at_all(&answered(lossy(Model { window: 2, ..three() })));
    holds_at_all(&answered(Model { restarts: 1, ..lossy(short_rounds()) }));
    if features::is_long() {
        holds_at_all(&answered(lossy(Model { window: 2, ..evicting() })));
        holds(&answered(Model { restarts: 1, ..lossy(singles()) }), 11_705);
        holds(&answered(Model { aborts: 1, ..lossy(singles()) }), 17_500);
        holds(&answered(Model { restarts: 1, aborts: 1, ..singles() }), 381_384);
        holds(&answered(Model { restarts: 1, ..two_by_two() }), 139_109);
        holds(&answered(lossy(two_by_two())), 2_895);
        holds(&answered(Model { banks: 2, ..lossy(rounds()) }), 53_498);
    }
}

#[test]
fn pairs_that_the_mapper_sends_to_another_row_hold() {
    holds_at_all(&Model { banks: 2, ..moving() });
    holds_at_all(&Model { restarts: 1, ..moving() });
    holds_at_all(&moving_of_two());
    holds_at_all(&lossy(moving_of_three()));
    holds(&Model { aborts: 1, ..lossy(moving_once()) }, 3_950);
    if features::is_long() {
        holds_at_all(&moving_in_both_rounds());
        holds(&Model { banks: 2, ..lossy(moving()) }, 14_074);
        holds(&Model { banks: 2, ..moving_of_three() }, 68_923);
        holds_at_all(&Model { restarts: 1, ..moving_of_two() });
        holds_at_all(&Model { restarts: 1, aborts: 1, ..moving_once() });
    }
}

#[test]
fn packets_that_come_without_their_pairs_hold() {
    let trimmed = |model| Model { trims: true, ..model };
    holds_at_all(&trimmed(lossy(pairs())));
    holds_at_all(&trimmed(Model { answers: true, ..lossy(pairs()) }));
    holds_at_all(&trimmed(Model { restarts: 1, ..lossy(short_rounds()) }));
    holds_at_all(&trimmed(lossy(rows())));
    if features::is_long() {
        holds_at_all(&trimmed(Model { restarts: 1, answers: true, ..lossy(singles()) }));
        holds_at_all(&trimmed(lossy(Model { window: 2, answers: true, ..three() })));
        holds_at_all(&trimmed(Model { banks: 2, answers: true, ..lossy(rounds()) }));
        holds(&trimmed(Model { banks: 2, restarts: 1, answers: true, ..short_rounds() }), 80_522);
    }
}

#[test]
fn arrays_hold() {
    holds_at_all(&Model { restarts: 1, ..array() });
    holds_at_all(&Model { passes: true, ..lossy(array()) });
    holds_at_all(&Model { passes: true, answers: true, ..lossy(array()) });
    if features::is_long() {
        holds_at_all(&Model { banks: 2, ..arrays() });
        holds_at_all(&Model { aborts: 1, passes: true, ..lossy(array()) });
        holds_at_all(&Model { restarts: 1, passes: true, ..lossy(array()) });
        holds_at_all(&Model { banks: 2, passes: true, ..arrays() });
    }
}

#[test]
fn two_banks_hold() {
    holds_at_all(&Model { banks: 2, ..rounds() });
    holds_at_all(&Model { banks: 2, restarts: 1, ..single(1) });
    holds_at_all(&Model { banks: 2, aborts: 1, ..single(1) });
    if features::is_long() {
        holds_at_all(&Model { banks: 2, restarts: 1, ..short_rounds() });
        holds_at_all(&Model { banks: 2, aborts: 1, ..short_rounds() });
        holds(&Model { banks: 2, aborts: 1, ..lossy(short_rounds()) }, 181_891);
        holds(&Model { banks: 2, ..lossy(rounds()) }, 21_934);
        holds(&Model { banks: 2, restarts: 1, ..lossy(short_rounds()) }, 148_750);
        holds(&Model { banks: 2, ..lossy(three_rounds()) }, 9_492);
    }
}

/// One packet of one mapper in each round.
fn single(rounds: usize) -> Model {
    let round = |value| vec![vec![packet((A, value), None)]];
    Model::new([1, 3].map(round)[..rounds].to_vec())
}

#[test]
fn runs_that_follow_others_hold() {
    let again = |model| Model { replaces: 1, ..model };
    holds_at_all(&again(lossy(single(1))));
    holds_at_all(&again(Model { banks: 2, ..lossy(single(1)) }));
    holds_at_all(&again(Model { answers: true, ..lossy(single(1)) }));
    if features::is_long() {
        holds(&again(Model { restarts: 1, again: 1, ..single(1) }), 223_092);
        holds(&again(lossy(single(2))), 45_434);
        holds(&again(lossy(rows())), 37_940);
    }
}

#[test]
fn each_mutant_is_found() {
    let two = Model { window: 2, ..three() };
    let one_bank = Model { banks: 1, ..rounds() };
    let one = Model::new(vec![vec![vec![packet((A, 1), None), packet((A, 3), None)]]]);
    let round_of_three = Model { data: moving_of_three().data[..1].to_vec(), ..moving_of_three() };
    let wrong = [
        (Mutant::Progress, lossy(two.clone()), "stuck"),
        (Mutant::ProgressAnswered, lossy(two), "wrong"),
        (Mutant::DuplicatesDropped, lossy(pairs()), "stuck"),
        (Mutant::Parity, three(), "wrong"),
        (Mutant::MapForgotten, pairs(), "wrong"),
        (Mutant::ReadClears, lossy(pairs()), "wrong"),
        (Mutant::NoBoot, Model { restarts: 1, ..pairs() }, "wrong"),
        (Mutant::ClearOfAnyGeneration, one_bank, "wrong"),
        (Mutant::AbortWithoutClose, Model { aborts: 1, ..lossy(one) }, "wrong"),
        (Mutant::ShadowForgotten, lossy(evicting()), "wrong"),
        (Mutant::OverflowsCountedTwice, lossy(pairs()), "wrong"),
        (Mutant::CommitOutOfOrder, Model { banks: 2, ..lossy(rounds()) }, "wrong"),
        (Mutant::BankNotCleared, Model { banks: 2, ..three_rounds() }, "wrong"),
        (Mutant::OneRowRead, rows(), "wrong"),
        (Mutant::MapForgotten, Model { answers: true, ..pairs() }, "wrong"),
        (Mutant::EndBeforeLeft, Model { answers: true, ..pairs() }, "wrong"),
        (Mutant::EndUncounted, Model { answers: true, ..pairs() }, "wrong"),
        (Mutant::EndUncounted, Model { trims: true, answers: true, ..pairs() }, "wrong"),
        (Mutant::OneRowRead, Model { copies: true, ..rows() }, "wrong"),
        (Mutant::ShadowForgotten, Model { answers: true, ..evicting() }, "wrong"),
        (Mutant::LeftTwice, Model { answers: true, ..pairs() }, "wrong"),
        (Mutant::PassUnchecked, Model { passes: true, restarts: 1, ..rows() }, "wrong"),
        (Mutant::StartBeforeEnd, Model { banks: 2, ..rounds() }, "stuck"),
        (Mutant::StartOutOfOrder, Model { banks: 2, ..short_rounds() }, "stuck"),
        (Mutant::CellsTaken, Model { banks: 2, ..lossy(short_rounds()) }, "stuck"),
        (Mutant::KeptCellsTaken, moving_in_both_rounds(), "stuck"),
        (Mutant::MovedTogether, round_of_three, "stuck"),
        (Mutant::EndBeforeLeft, moving_of_two(), "wrong"),
        (Mutant::EmptyLeftOut, array(), "wrong"),
        (Mutant::OneRowCleared, arrays(), "wrong"),
        (Mutant::OneRowRead, array(), "wrong"),
        (Mutant::MapForgotten, array(), "wrong"),
        (Mutant::TrimmedAcknowledged, Model { trims: true, ..pairs() }, "wrong"),
        (Mutant::TrimmedCounted, Model { trims: true, answers: true, ..pairs() }, "wrong"),
        (Mutant::TrimmedCounted, Model { trims: true, ..pairs() }, "wrong"),
        (Mutant::TrimmedRowRead, Model { trims: true, ..rows() }, "wrong"),
        (Mutant::AbortOfOne, Model { banks: 2, aborts: 1, ..short_rounds() }, "stuck"),
        (Mutant::NonceForgotten, Model { replaces: 2, ..single(1) }, "wrong"),
        (Mutant::RunAgain, Model { replaces: 1, restarts: 1, ..single(1) }, "wrong"),
        (Mutant::AttemptsAgain, Model { replaces: 1, ..single(2) }, "wrong"),
        (Mutant::PurgeForgotten, Model { replaces: 1, ..single(1) }, "wrong"),
        (Mutant::OneBankAsked, Model { replaces: 1, banks: 2, ..single(1) }, "wrong"),
        (Mutant::LateOpenIgnored, Model { replaces: 1, restarts: 1, again: 1, ..single(1) }, "stuck"),
        (Mutant::StartOfAnyRun, Model { replaces: 1, restarts: 1, ..single(1) }, "stuck"),
    ];
    // Those that take a hundred thousand states.
    let are_rare = [Mutant::KeptCellsTaken, Mutant::LateOpenIgnored, Mutant::StartOfAnyRun];
    for (mutant, model, what) in wrong {
        if !features::is_long() && are_rare.contains(&mutant) {
            continue;
        }
        let found = match explore(&Model { mutant: Some(mutant), ..model }) {
            Outcome::Holds { .. } => "nothing",
            Outcome::Wrong { .. } => "wrong",
            Outcome::Stuck { .. } => "stuck",
        };
        assert_eq!(found, what, "{mutant:?}");
    }
}
