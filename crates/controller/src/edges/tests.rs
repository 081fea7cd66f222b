//! One edge from device 0 to devices 1 and 2, without a rack.

use super::*;
use crate::edge::EdgeRegisters;

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
        registers: EdgeRegisters { failed: 1, forgiven: 2, barred: 3, generations: 4, used: 5 },
        limits: Limits { thresholds: Thresholds::default(), hold_down: HOLD_DOWN },
    }
}

fn edges() -> Edges {
    let mut edges = Edges::default();
    edges.fill(&[edge()]);
    edges
}

/// The sender has these registers.
fn read(edges: &mut Edges, failed: u32, forgiven: u32, barred: u32, generation: u32) {
    let of = edge();
    let cells = [(1, failed), (2, forgiven), (3, barred), (4, generation), (5, 1)];
    let found: Vec<Entity> =
        cells.into_iter().filter_map(|(register, value)| of.write(register, value).entity).collect();
    edges.read(0, &found);
}

/// The updates of `forgiven` and `barred` that are written to the sender now.
fn written(edges: &mut Edges, now: Time) -> Vec<Update> {
    let (updates, written) = edges.changes(0, now);
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
