//! One edge from device 0 to devices 1 and 2, without a rack.

use super::*;
use crate::edge::REGISTERS;

const HOLD_DOWN: Duration = Duration::from_ms(10);

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn edge() -> Edge {
    Edge {
        sender: 0,
        number: 0,
        regions: vec!["R".to_string()],
        targets: vec![1, 2],
        registers: REGISTERS,
        limits: Limits { thresholds: Thresholds::default(), hold_down: HOLD_DOWN },
    }
}

fn edges() -> Edges {
    let mut edges = Edges::default();
    edges.fill(&[edge()]);
    edges
}

/// Two edges, each of which has the other's first target as spare.
fn shards() -> Edges {
    let mut edges = Edges::default();
    edges.fill(&[edge(), Edge { number: 1, targets: vec![2, 1], ..edge() }]);
    edges
}

/// The sender has these registers for each of the two edges.
fn reads(edges: &mut Edges, registers: [[u32; 5]; 2]) {
    let cells = |(number, values): (u64, [u32; 5])| {
        let of = Edge { number, ..edge() };
        let cells = (1..).zip(values).map(|(register, value)| of.write(register, value).entity);
        cells.collect::<Vec<_>>()
    };
    let found: Vec<Entity> = (0..).zip(registers).flat_map(cells).flatten().collect();
    edges.read(0, &found);
}

/// The sender has these registers.
fn read(edges: &mut Edges, failed: u32, forgiven: u32, barred: u32, generation: u32) {
    let usable = Targets(3) & !Targets(failed ^ forgiven) & !Targets(barred);
    uses(edges, [failed, forgiven, barred, generation, usable.preferred().0]);
}

/// The same with the target in use, as the last one.
fn uses(edges: &mut Edges, registers: [u32; 5]) {
    let [failed, forgiven, barred, generation, used] = registers;
    ports(edges, [failed, forgiven, barred, generation, used, 0, 0]);
}

/// The same with `down` and `left`.
fn ports(edges: &mut Edges, registers: [u32; 7]) {
    let of = edge();
    let cells = (1..).zip(registers);
    let found: Vec<Entity> = cells.filter_map(|(register, value)| of.write(register, value).entity).collect();
    edges.read(0, &found);
}

/// The updates of `forgiven` and `barred` that are written to the sender now.
fn written(edges: &mut Edges, now: Time) -> Vec<Update> {
    if edges.returning(now).contains_key(&0) {
        edges.let_back(0, now);
    }
    let (updates, written) = edges.changes(0);
    edges.wrote(written);
    updates
}

#[test]
fn a_doubtful_device_is_barred_if_another_one_is_usable() {
    let mut edges = edges();
    assert_eq!(written(&mut edges, at(0)), []);
    edges.bar(1, at(0));
    assert_eq!(edges.deadline(), Some(at(0)));
    assert_eq!(written(&mut edges, at(0)), [edge().write(2, 0), edge().write(3, 1)]);
    edges.bar(2, at(0));
    assert_eq!(written(&mut edges, at(0)), [], "the last one stays");
}

#[test]
fn a_sender_that_restarts_knows_who_is_barred() {
    let mut edges = edges();
    edges.bar(1, at(0));
    written(&mut edges, at(0));
    read(&mut edges, 0, 0, 1, 77);
    let mut generations = Generations::default();
    generations.read(77);
    let next = generations.next(5);
    assert!(next > 77);
    let updates = edges.begin(0, 5);
    let expected = [edge().write(4, next), edge().write(2, 0), edge().write(3, 1)];
    assert_eq!(updates, expected);
    assert_eq!(edges.begin(0, 1_000_000)[0], edge().write(4, 1_000_000));
    assert_eq!(edges.begin(1, 5), [], "it sends over no edge");
}

#[test]
fn a_device_that_has_failed_is_compared_and_waits() {
    let mut edges = edges();
    read(&mut edges, 1, 0, 0, 1);
    assert_eq!(edges.take_suspects(at(0)), vec![1]);
    read(&mut edges, 1, 0, 0, 1);
    assert!(edges.take_suspects(at(500_000)).is_empty(), "it was asked less than a second ago");
    edges.is_right(1, at(600_000));
    assert_eq!(written(&mut edges, at(609_999)), []);
    assert_eq!(written(&mut edges, at(610_000)), [edge().write(2, 1), edge().write(3, 0)]);
}

#[test]
fn a_device_whose_port_is_down_is_not_let_back() {
    let mut edges = edges();
    ports(&mut edges, [1, 0, 0, 1, 2, 1, 1]);
    assert_eq!(written(&mut edges, at(0)), [edge().write(2, 0), edge().write(3, 1)]);
    ports(&mut edges, [1, 0, 1, 1, 2, 1, 1]);
    edges.is_right(1, at(0));
    assert_eq!(written(&mut edges, at(20_000)), []);
    ports(&mut edges, [1, 0, 1, 1, 2, 0, 1]);
    assert_eq!(written(&mut edges, at(20_000)), [edge().write(2, 1), edge().write(3, 0)]);
}

#[test]
fn a_device_that_is_right_is_not_compared() {
    let mut edges = edges();
    read(&mut edges, 1, 0, 0, 1);
    edges.is_right(1, at(0));
    assert!(edges.take_suspects(at(0)).is_empty());
}

/// Registers of two devices have the same numbers.
#[test]
fn only_its_sender_says_who_has_failed() {
    let mut edges = edges();
    let of = edge();
    let cells = [(1, 1), (2, 0), (3, 0), (4, 1), (5, 2)];
    let found: Vec<Entity> = cells.iter().filter_map(|(id, value)| of.write(*id, *value).entity).collect();
    edges.read(1, &found);
    assert!(edges.take_suspects(at(0)).is_empty() && !edges.is_out(1));
    edges.read(0, &found);
    assert!(edges.take_suspects(at(0)) == [1] && edges.is_out(1));
}

#[test]
fn an_operator_keeps_all_devices_out_but_the_last() {
    let mut edges = edges();
    edges.keep_out(1, false, at(7)).expect("2 is usable");
    assert_eq!(edges.deadline(), Some(at(7)));
    assert_eq!(written(&mut edges, at(7)), [edge().write(2, 0), edge().write(3, 1)]);
    let refused = edges.keep_out(2, false, at(8)).expect_err("nothing is left");
    assert_eq!(refused.code, Code::FailedPrecondition);
    assert_eq!(written(&mut edges, at(8)), []);
    let refused = edges.keep_out(0, false, at(8)).expect_err("no edge leads to it");
    assert_eq!(refused.code, Code::FailedPrecondition);
}

#[test]
fn limits_of_an_operator_outlive_a_program() {
    let mut edges = edges();
    let thresholds = Thresholds { patience: 77, ..Thresholds::default() };
    edges.set_limits(Limits { thresholds, hold_down: Duration::from_ms(1) });
    edges.fill(&[edge()]);
    assert_eq!(edges.thresholds(), Some(thresholds));
    read(&mut edges, 1, 0, 0, 1);
    edges.is_right(1, at(0));
    assert_eq!(written(&mut edges, at(1_000)).len(), 2, "after the new hold-down");
}

/// Only a device that no sender uses, and none will, may lack a write.
#[test]
fn a_write_need_not_reach_a_device_that_is_out() {
    let mut edges = edges();
    assert!(!edges.is_out(1) && !edges.is_out(2) && !edges.is_out(0), "nothing has failed");
    // The sender itself has left it.
    read(&mut edges, 1, 0, 0, 1);
    assert!(edges.is_out(1) && !edges.is_out(2));
    edges.is_right(1, at(0));
    assert!(!edges.is_out(1), "it recovers, and is used after the hold-down");
    // Barred by the controller: as soon as the sender knows.
    edges.bar(1, at(0));
    assert!(!edges.is_out(1));
    written(&mut edges, at(0));
    assert!(edges.is_out(1));
    assert!(!Edges::default().is_out(1), "no edge leads to it");
}

/// The sender may use a device again that it has left only because of its port.
#[test]
fn a_write_need_not_reach_a_device_whose_port_was_down_once_it_is_barred() {
    let mut edges = edges();
    ports(&mut edges, [1, 0, 0, 1, 2, 1, 1]);
    assert!(!edges.is_out(1));
    assert_eq!(written(&mut edges, at(0)), [edge().write(2, 0), edge().write(3, 1)]);
    assert!(edges.is_out(1));
    // The other one fails: the first is not barred any more as soon as it is right, without a hold-down.
    ports(&mut edges, [3, 0, 1, 1, 0, 0, 1]);
    edges.is_right(1, at(0));
    assert_eq!(written(&mut edges, at(0)), [edge().write(2, 1), edge().write(3, 0)]);
    ports(&mut edges, [3, 1, 0, 1, 1, 0, 0]);
    assert!(!edges.is_out(1) && edges.is_out(2));
}

/// A device with two edges has to be out at both.
#[test]
fn a_device_is_out_at_all_edges_or_not() {
    let mut edges = Edges::default();
    let other = Edge { number: 1, targets: vec![2, 1], ..edge() };
    edges.fill(&[edge(), other]);
    let cell =
        |number: u64, register: u32, value: u32| Edge { number, ..edge() }.write(register, value).entity;
    let mut read = |failed: [u32; 2]| {
        let of = |number: u64| {
            let failed = failed[number as usize];
            let used = if failed == 1 { 2 } else { 1 };
            [(1, failed), (2, 0), (3, 0), (4, 1), (5, used)]
                .map(|(register, value)| cell(number, register, value))
        };
        let found: Vec<Entity> = of(0).into_iter().chain(of(1)).flatten().collect();
        edges.read(0, &found);
        edges.is_out(1)
    };
    assert!(!read([1, 0]));
    assert!(read([1, 2]));
}

#[test]
fn the_switch_comes_first_and_devices_in_use_last() {
    let mut edges = edges();
    let all = |edges: &Edges| [0, 1, 2].map(|device| edges.phase(device, None));
    assert_eq!(all(&edges), [0, 1, 1], "nothing is known");
    read(&mut edges, 0, 0, 0, 1);
    assert_eq!(all(&edges), [0, 2, 1]);
    uses(&mut edges, [1, 0, 0, 2, 2]);
    assert_eq!(all(&edges), [0, 1, 2]);
    assert_eq!(all(&Edges::default()), [0, 0, 0], "without edges all at once");
}

/// A look that was asked for before that says nothing about who is in use now.
#[test]
fn a_target_that_is_let_back_counts_as_in_use() {
    let mut edges = edges();
    uses(&mut edges, [1, 0, 0, 2, 2]);
    edges.is_right(1, at(0));
    let phases = |edges: &Edges| [1, 2].map(|device| edges.phase(device, None));
    assert!(edges.returning(at(9_999)).is_empty() && edges.changes(0).0.is_empty());
    assert_eq!(edges.returning(at(10_000)), [(0, [1, 2].into())].into());
    assert_eq!(phases(&edges), [1, 2]);
    edges.let_back(0, at(10_000));
    assert_eq!(phases(&edges), [2, 1]);
    uses(&mut edges, [1, 0, 0, 2, 2]);
    assert_eq!(phases(&edges), [2, 1]);
    let (_, written) = edges.changes(0);
    edges.wrote(written);
    uses(&mut edges, [1, 1, 0, 2, 1]);
    assert!(phases(&edges) == [2, 1] && edges.returning(at(20_000)).is_empty());
}

/// Each of the two devices is in use at one of the edges: only the edge that leads to an entry says in which order they get it.
#[test]
fn the_order_is_that_of_the_edges_which_lead_to_an_entry() {
    let mut edges = shards();
    reads(&mut edges, [[0, 0, 0, 1, 1]; 2]);
    let all = |leading: &[usize]| {
        let leading = leading.iter().copied().collect();
        [0, 1, 2, 3].map(|device| edges.phase(device, Some(&leading)))
    };
    assert_eq!(all(&[0]), [0, 2, 1, 0]);
    assert_eq!(all(&[1]), [0, 1, 2, 0]);
    assert_eq!(all(&[0, 1]), [0, 2, 2, 0]);
    assert_eq!(all(&[]), [0, 1, 1, 0], "no packet comes to it");
    assert_eq!([0, 1, 2].map(|device| edges.phase(device, None)), [0, 2, 2]);
}

/// A controller that knows nothing takes no entries from a device that may lack writes.
#[test]
fn devices_out_of_use_are_not_believed() {
    let out = |failed: u32, forgiven: u32, barred: u32| {
        let of = edge();
        let cells = [(1, failed), (2, forgiven), (3, barred)];
        let entities = cells.into_iter().filter_map(|(register, value)| of.write(register, value).entity);
        let held = Holdings { config: None, entities: entities.collect() };
        left_out(&[of], &[(0, held)].into()).into_iter().collect::<Vec<_>>()
    };
    assert!(out(0, 0, 0).is_empty());
    assert_eq!(out(1, 0, 0), [1]);
    assert!(out(1, 1, 0).is_empty(), "it has been forgiven");
    assert_eq!(out(0, 0, 2), [2]);
    assert!(out(1, 0, 2).is_empty(), "nobody else has the entries");
    assert_eq!(left_out(&[edge()], &BTreeMap::new()), BTreeSet::new());
}

/// Another plan has the same edges: an operator need not say it again. An edge to this device only is used.
#[test]
fn what_an_operator_keeps_out_stays_out_with_another_plan() {
    let mut edges = edges();
    edges.keep_out(1, false, at(0)).expect("2 is usable");
    written(&mut edges, at(0));
    edges.fill(&[edge(), Edge { number: 1, targets: vec![1], ..edge() }]);
    assert_eq!(written(&mut edges, at(1)), [edge().write(2, 0), edge().write(3, 1)]);
    edges.keep_out(1, true, at(2)).expect("it is known");
    edges.is_right(1, at(3));
    edges.fill(&[edge()]);
    assert_eq!(written(&mut edges, at(4)), [], "it is kept out no longer");
}

/// The second edge has the first one's device as spare, so its sender does not notice that it has failed.
#[test]
fn a_device_has_failed_where_an_edge_is_without_it_and_none_uses_it() {
    let mut edges = shards();
    let none = BTreeSet::new();
    reads(&mut edges, [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1]]);
    assert_eq!(edges.failed(), none);
    reads(&mut edges, [[1, 0, 0, 2, 2], [0, 0, 0, 1, 1]]);
    assert_eq!(edges.failed(), BTreeSet::from([1]));
    reads(&mut edges, [[1, 0, 0, 2, 2], [0, 0, 0, 2, 2]]);
    assert_eq!(edges.failed(), none, "the second edge uses it");
    reads(&mut edges, [[1, 0, 0, 2, 2], [0, 0, 0, 3, 1]]);
    edges.is_right(1, at(0));
    assert_eq!(edges.failed(), none, "it recovers");
    let mut edges = shards();
    edges.keep_out(1, false, at(0)).expect("the other one is usable");
    assert_eq!((edges.held(), edges.failed()), (BTreeSet::from([1]), none), "an operator has a reason");
}
