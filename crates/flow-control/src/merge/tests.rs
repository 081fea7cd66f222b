use super::{Agent, Banked, Cell, Change, Hub, Kind, Merge, Push};
use state_modes::Merge as Operator;
use std::collections::BTreeMap;

const ADD: Kind = Kind { operator: Operator::Add, width: 8 };

fn hub(kind: Kind) -> Hub<char> {
    Hub::new(kind, 2, BTreeMap::new())
}

/// The merge for device `to`, after the pushes of both.
fn exchange(hub: &mut Hub<char>, pushes: [&Push<char>; 2], to: usize) -> Merge<char> {
    hub.push(0, pushes[0]);
    hub.push(1, pushes[1]);
    hub.merges().into_iter().find(|(device, _)| *device == to).unwrap().1
}

#[test]
fn sums_wrap_at_the_width_of_a_cell() {
    let (mut a, mut b) = (Agent::new(ADD, 1), Agent::new(ADD, 1));
    let merge = exchange(&mut hub(ADD), [&a.push([('x', 200)]), &b.push([('x', 100)])], 0);
    assert_eq!(a.merge(&merge), [('x', Change::Add(100))]);
    assert_eq!(ADD.combine(200, 100), 44);
}

#[test]
fn max_min_and_or_are_taken_in() {
    for (operator, to, total) in [(Operator::Max, 1, 9), (Operator::Min, 0, 5), (Operator::Or, 1, 13)] {
        let kind = Kind { operator, width: 8 };
        let mut agents = [Agent::new(kind, 1), Agent::new(kind, 1)];
        let mut hub = hub(kind);
        let pushes = [agents[0].push([('x', 9)]), agents[1].push([('x', 5)])];
        let merge = exchange(&mut hub, [&pushes[0], &pushes[1]], to);
        assert_eq!(agents[to].merge(&merge), [('x', Change::Combine(total))]);
        assert_eq!(hub.total(&'x'), total);
        // It does not repeat values that it got from the hub.
        hub.push(to, &agents[to].push([('x', total)]));
        assert_eq!(hub.taken(to, &'x'), [9, 5][to]);
        assert_eq!(kind.after(total, Change::Combine(total)), total);
    }
}

#[test]
fn zero_is_no_smallest_value() {
    let kind = Kind { operator: Operator::Min, width: 8 };
    assert_eq!([kind.combine(0, 7), kind.combine(7, 0), kind.combine(7, 3)], [7, 7, 3]);
}

#[test]
fn a_device_that_shows_the_value_of_all_is_not_sent_it() {
    let kind = Kind { operator: Operator::Max, width: 8 };
    let (mut a, mut b, mut hub) = (Agent::new(kind, 1), Agent::new(kind, 1), hub(kind));
    let merge = exchange(&mut hub, [&a.push([('x', 9)]), &b.push([('x', 9)])], 0);
    assert_eq!(merge.cells, []);
    assert!(hub.has_all(0) && hub.has_all(1));
}

#[test]
fn a_cell_that_is_zero_again_is_pushed() {
    let (mut a, mut hub) = (Agent::new(ADD, 1), hub(ADD));
    hub.push(0, &a.push_all(&BTreeMap::from([('x', 255)])));
    assert_eq!(hub.total(&'x'), 255);
    hub.push(0, &a.push_all(&BTreeMap::new()));
    assert_eq!(hub.total(&'x'), 0, "it has wrapped");
}

#[test]
fn an_epoch_that_cannot_be_is_passed_over() {
    let (mut a, mut hub) = (Agent::new(ADD, 1), hub(ADD));
    hub.write('x', 3);
    let mut push = a.push([('x', 1)]);
    push.cells[0].epoch = u32::MAX;
    hub.push(0, &push);
    assert_eq!(hub.total(&'x'), 3);
}

#[test]
fn a_message_holds_what_has_changed_and_is_not_known_to_have_come() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let lost = a.push([('x', 1)]);
    assert_eq!(lost.cells.len(), 1);
    let push = a.push([('y', 1)]);
    assert_eq!(push.cells.len(), 2, "the first has not been named");
    let merge = exchange(&mut hub, [&push, &b.push([])], 0);
    a.merge(&merge);
    assert_eq!(a.push([('x', 1), ('y', 1)]).cells, [], "all has come");
    assert_eq!(merge.cells, [], "nobody else has counted");
}

#[test]
fn a_write_begins_an_epoch_in_which_nothing_is_counted_twice() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let merge = exchange(&mut hub, [&a.push([('x', 7)]), &b.push([('x', 2)])], 0);
    a.merge(&merge);
    assert_eq!(hub.write('x', 50), Banked { epoch: 1, value: 50 });
    // A push from before the write does not count any more.
    let old = b.push([('x', 3)]);
    let merge = exchange(&mut hub, [&a.push([]), &old], 1);
    assert_eq!(hub.total(&'x'), 50);
    assert_eq!(b.merge(&merge), [('x', Change::Set(50))]);
    hub.push(1, &b.push([('x', 51)]));
    assert_eq!(hub.total(&'x'), 51);
}

#[test]
fn what_a_device_counts_after_a_start_is_in_the_epoch_of_its_start() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    hub.write('x', 50);
    let merge = exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
    assert_eq!(hub.total(&'x'), 54);
    assert_eq!(a.merge(&merge), [('x', Change::Add(50))]);
}

#[test]
fn what_an_ended_incarnation_has_counted_is_kept() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
    let mut again = Agent::new(ADD, 2);
    assert_eq!(hub.push(0, &again.push([('x', 1)])), [('x', Banked { epoch: 0, value: 4 })]);
    assert_eq!(hub.push(0, &a.push([('x', 9)])), [], "the old incarnation is not heard");
    assert_eq!(hub.total(&'x'), 5);
    let merges = hub.merges();
    assert_eq!(again.merge(&merges[0].1), [('x', Change::Add(4))]);
    let kept = BTreeMap::from([('x', Banked { epoch: 0, value: 4 })]);
    assert_eq!(Hub::new(ADD, 2, kept).total(&'x'), 4);
}

/// A file that was put back is older than what the hub before had named.
#[test]
fn another_hub_is_reported_all_that_the_one_before_has_named() {
    let (mut a, mut b, mut other) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let merge = exchange(&mut hub(ADD), [&a.push([('x', 5)]), &b.push([])], 0);
    a.merge(&merge);
    assert_eq!(a.push([('x', 5)]).cells, [], "it is known");
    a.begin_with_another_hub();
    other.push(0, &a.push([('x', 5)]));
    assert_eq!(other.total(&'x'), 5);
}

#[test]
fn a_retired_cell_is_banked_once_and_starts_again() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    exchange(&mut hub, [&a.push([('x', 4)]), &b.push([('x', 1)])], 0);
    a.retire('x', 6);
    assert!(a.is_retiring(&'x'));
    let (one, two) = (a.push([]), a.push([]));
    assert_eq!(hub.push(0, &one), [('x', Banked { epoch: 0, value: 6 })]);
    assert_eq!(hub.push(0, &two), [], "it has come already");
    assert_eq!(hub.total(&'x'), 7);
    let merges = hub.merges();
    assert_eq!(a.merge(&merges[0].1), [], "it is not shown there");
    assert!(!a.is_retiring(&'x'));
    assert_eq!(b.merge(&merges[1].1), [('x', Change::Add(6))]);
    // It is used again, and counts from zero.
    hub.push(0, &a.push([('x', 0)]));
    let merges = hub.merges();
    assert_eq!(a.merge(&merges[0].1), [('x', Change::Add(7))]);
    hub.push(0, &a.push([('x', 9)]));
    assert_eq!(hub.total(&'x'), 9);
}

/// Nothing was counted there, so the total is still what the device had been sent.
#[test]
fn a_device_that_uses_a_retired_cell_again_is_sent_the_total() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let merge = exchange(&mut hub, [&a.push([]), &b.push([('x', 5)])], 0);
    assert_eq!(a.merge(&merge), [('x', Change::Add(5))]);
    a.retire('x', 5);
    hub.push(0, &a.push([]));
    a.merge(&hub.merges()[0].1);
    hub.push(0, &a.push([('x', 0)]));
    assert_eq!(a.merge(&hub.merges()[0].1), [('x', Change::Add(5))]);
}

#[test]
fn a_write_to_a_retired_cell_begins_an_epoch_too() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
    a.retire('x', 4);
    hub.push(0, &a.push([]));
    a.merge(&hub.merges()[0].1);
    hub.write('x', 50);
    hub.push(0, &a.push([('x', 1)]));
    assert_eq!(hub.total(&'x'), 51);
    assert_eq!(a.merge(&hub.merges()[0].1), [('x', Change::Add(50))]);
}

#[test]
fn a_device_may_claim_to_have_seen_what_was_never_sent() {
    let (mut a, mut hub) = (Agent::new(ADD, 1), hub(ADD));
    let push = Push { seen: u64::MAX, ..a.push([('x', 1)]) };
    hub.push(0, &push);
    hub.push(7, &push);
    hub.push(1, &Push { incarnation: 1, sequence: 1, seen: 0, cells: vec![], retired: vec![] });
    assert_eq!(hub.merges()[1].1.cells.len(), 1);
    // Cells that are sent to it later are not taken for known.
    hub.push(
        1,
        &Push {
            incarnation: 1,
            sequence: 2,
            seen: 0,
            cells: vec![Cell { cell: 'y', epoch: 0, value: 2 }],
            retired: vec![],
        },
    );
    assert_eq!(a.merge(&hub.merges()[0].1), [('y', Change::Add(2))]);
}

/// As of a device with a wrong program.
#[test]
fn a_count_is_no_wider_than_its_cell() {
    let kind = Kind { operator: Operator::Max, width: 8 };
    let mut hub = hub(kind);
    let cells = vec![Cell { cell: 'x', epoch: 0, value: 0x1_07 }];
    hub.push(0, &Push { incarnation: 1, sequence: 1, seen: 0, cells, retired: vec![] });
    assert_eq!((hub.taken(0, &'x'), hub.state(&'x').own[0].value), (7, Some(7)));
}

#[test]
fn a_hub_may_claim_to_have_what_was_never_pushed() {
    let mut a = Agent::new(ADD, 1);
    assert!(a.named(1, u64::MAX));
    assert_eq!(a.push([('x', 1)]).cells.len(), 1);
}

#[test]
fn a_merge_that_comes_twice_changes_nothing() {
    let (mut a, mut b) = (Agent::new(ADD, 1), Agent::new(ADD, 1));
    let merge = exchange(&mut hub(ADD), [&a.push([]), &b.push([('x', 3)])], 0);
    assert_eq!(a.merge(&merge), [('x', Change::Add(3))]);
    assert_eq!(a.merge(&merge), []);
}

/// A hub that goes on from an older state does not know of the newest write.
#[test]
fn an_epoch_that_is_over_is_passed_over() {
    let mut a = Agent::new(ADD, 1);
    let merge = |epoch, value| {
        let cells = vec![Cell { cell: 'x', epoch, value }];
        Merge { incarnation: 1, sequence: 1, seen: 0, cells }
    };
    assert_eq!(a.merge(&merge(1, 50)), [('x', Change::Set(50))]);
    a.begin_with_another_hub();
    assert_eq!(a.merge(&merge(0, 7)), []);
}

/// The messages are counted anew, and so is what it has not named.
#[test]
fn a_new_incarnation_names_all_that_it_was_sent() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    for count in 1..5 {
        exchange(&mut hub, [&a.push([]), &b.push([('x', count)])], 0);
    }
    let mut again = Agent::new(ADD, 2);
    hub.push(0, &again.push([]));
    assert_eq!(again.merge(&hub.merges()[0].1), [('x', Change::Add(4))]);
    hub.push(0, &again.push([]));
    assert!(hub.has_all(0));
}

#[test]
fn a_new_incarnation_has_retired_nothing() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
    a.retire('x', 4);
    hub.push(0, &a.push([]));
    hub.merges();
    let mut again = Agent::new(ADD, 2);
    hub.push(0, &again.push([]));
    assert_eq!(again.merge(&hub.merges()[0].1), [('x', Change::Add(4))]);
}

/// An entry of a table may not be at all devices yet.
#[test]
fn a_cell_that_a_device_lacks_is_said_again() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let lacks = |cell: &char| *cell != 'x';
    let first = exchange(&mut hub, [&a.push([('x', 5), ('y', 3)]), &b.push([])], 1);
    assert_eq!(b.merge_some(&first, lacks), [('y', Change::Add(3))]);
    hub.push(1, &b.push([('y', 3)]));
    assert!(!hub.has_all(1));
    let second = hub.merges().into_iter().find(|(device, _)| *device == 1).unwrap().1;
    assert_eq!(b.merge(&second), [('x', Change::Add(5)), ('y', Change::Add(0))]);
    hub.push(1, &b.push([('x', 5), ('y', 3)]));
    assert!(hub.has_all(1));
    // An older one changes nothing.
    assert_eq!(b.merge(&first), []);
}

#[test]
fn a_cell_that_has_ended_is_forgotten() {
    let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
    let merge = exchange(&mut hub, [&a.push([('x', 5), ('y', 1)]), &b.push([])], 1);
    hub.write('x', 9);
    hub.forget(&'x');
    assert_eq!((hub.total(&'x'), hub.cells().into_iter().copied().collect()), (0, vec!['y']));
    let later = hub.merges().into_iter().find(|(device, _)| *device == 1).unwrap().1;
    assert_eq!(later.cells.iter().map(|cell| cell.cell).collect::<Vec<_>>(), ['y']);
    // A device without the cell takes the others, and says nothing of it.
    b.merge(&merge);
    b.keep(|cell| *cell != 'x');
    assert_eq!(b.push_all(&[('y', 1)].into()).cells, []);
    assert_eq!(b.counted(&'x', 7), 7);
}
