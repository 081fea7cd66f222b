//! Two devices, each in use at one edge and spare at the other, after a switch.

use super::*;
use crate::edge::{Edge, REGISTERS};
use crate::limits::Limits;
use base_time::Duration;
use failover::Thresholds;

/// Edge 0 uses device 1, edge 1 device 2.
fn edges() -> Edges {
    edges_in_use([1, 1])
}

/// Both edges with the targets that they use, as bits.
fn edges_in_use(used: [u32; 2]) -> Edges {
    let edge = |(number, targets): (u64, [usize; 2])| Edge {
        sender: 0,
        number,
        regions: vec![],
        targets: targets.to_vec(),
        registers: REGISTERS,
        limits: Limits { thresholds: Thresholds::default(), hold_down: Duration::ZERO },
    };
    let all = [(0, [1, 2]), (1, [2, 1])].map(edge);
    let mut edges = Edges::default();
    edges.fill(&all);
    let cells = |edge: &Edge| {
        let cells = [(1, 0), (2, 0), (3, 0), (4, 1), (5, used[edge.number as usize])];
        cells.map(|(register, value)| edge.write(register, value).entity)
    };
    edges.read(0, &all.iter().flat_map(cells).flatten().collect::<Vec<_>>());
    edges
}

/// An update for all devices, of this kind and led to by this edge, or by all.
type Given = (Type, Option<usize>);

/// For each step, the positions of the updates that each device does.
fn steps(given: &[Given]) -> Vec<Vec<(usize, Vec<usize>)>> {
    let edges = edges();
    steps_over(given.iter().map(|given| (*given, &edges)))
}

/// The same with the edges as they are at each update.
fn steps_over<'e>(given: impl Iterator<Item = (Given, &'e Edges)>) -> Vec<Vec<(usize, Vec<usize>)>> {
    let mut steps = Steps::default();
    for (index, ((kind, leading), edges)) in given.enumerate() {
        let spread = || Spread::from([0, 1, 2].map(|device| (device, vec![Update::default()])));
        let leading = leading.map(|edge| BTreeSet::from([edge]));
        steps.add((index, kind), (spread(), spread()), leading.as_ref(), edges);
    }
    let of_step = |step: &Step| {
        assert_eq!(step.forth, step.back);
        step.of.iter().map(|(device, of)| (*device, of.clone())).collect()
    };
    steps.all.iter().map(of_step).collect()
}

#[test]
fn each_entry_comes_to_its_backup_first() {
    let given = [(Type::Insert, Some(0)), (Type::Modify, Some(1)), (Type::Delete, Some(0))];
    let expected = vec![
        vec![(0, vec![0, 1, 2])],
        vec![(1, vec![1]), (2, vec![0, 2])],
        vec![(1, vec![0, 2]), (2, vec![1])],
    ];
    assert_eq!(steps(&given), expected);
}

#[test]
fn what_all_edges_lead_to_keeps_its_place() {
    let all = vec![(1, vec![0]), (2, vec![0])];
    let given = [(Type::Insert, None), (Type::Insert, Some(0))];
    let expected = vec![
        vec![(0, vec![0])],
        vec![],
        all.clone(),
        vec![(0, vec![1])],
        vec![(2, vec![1])],
        vec![(1, vec![1])],
    ];
    assert_eq!(steps(&given), expected, "the entry may refer to it");
    let given = [(Type::Delete, Some(0)), (Type::Delete, None)];
    let expected = vec![vec![(0, vec![0, 1])], vec![(2, vec![0])], vec![(1, vec![0, 1]), (2, vec![1])]];
    assert_eq!(steps(&given), expected, "it may have been referred to");
}

/// A large batch takes a while, in which a spare may come into use.
#[test]
fn what_all_edges_lead_to_keeps_its_place_when_they_change() {
    let (before, after) = (edges_in_use([1, 2]), edges_in_use([1, 1]));
    let given =
        [((Type::Insert, None), &before), ((Type::Insert, Some(1)), &after), ((Type::Insert, None), &after)];
    let expected = vec![
        vec![(0, vec![0])],
        vec![(2, vec![0])],
        vec![(1, vec![0])],
        vec![(0, vec![1])],
        vec![(1, vec![1])],
        vec![(2, vec![1])],
        vec![(0, vec![2])],
        vec![(2, vec![2])],
        vec![(1, vec![2])],
    ];
    assert_eq!(steps_over(given.into_iter()), expected);
}

/// The table may be full.
#[test]
fn insertions_wait_for_deletions() {
    let given = [(Type::Delete, Some(0)), (Type::Insert, Some(1)), (Type::Insert, Some(0))];
    let expected = vec![
        vec![(0, vec![0])],
        vec![(2, vec![0])],
        vec![(1, vec![0])],
        vec![(0, vec![1, 2])],
        vec![(1, vec![1]), (2, vec![2])],
        vec![(1, vec![2]), (2, vec![1])],
    ];
    assert_eq!(steps(&given), expected);
    let given = [(Type::Insert, Some(0)), (Type::Delete, Some(1))];
    assert_eq!(steps(&given).len(), 3, "room that comes too early harms nobody");
}

#[test]
fn updates_know_their_places_in_the_request() {
    let edges = edges();
    let mut steps = Steps::default();
    for (index, count) in [2, 1, 3].into_iter().enumerate() {
        let list = vec![Update::default(); count];
        steps.add((index, Type::Insert), ([(1, list)].into(), Spread::new()), None, &edges);
    }
    let places: Vec<_> = (0..7).map(|at| steps.place(2, 1, at)).collect();
    assert_eq!(places, [Some(0), Some(0), Some(1), Some(2), Some(2), Some(2), None]);
    assert!(!steps.is_empty() && !steps.is_longer_than(6) && steps.is_longer_than(5));
    steps.leave_out(&[1].into());
    assert!(steps.is_empty());
}
