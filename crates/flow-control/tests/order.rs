//! The order in which a control-plane write reaches the copies of an entry, as a small model, all interleavings: which
//! orders keep each flow linearizable, and which do not (the numbers of states and violations are those of an independent
//! model in another language).
//!
//! One write, one promotion or demotion of the flow, a failure of the primary, three packets. The entry has a copy at the
//! switch while the flow is there, at the primary and at its backup. A packet must not see less than a packet that had
//! been processed before it arrived, nor less than a write that had been acknowledged by then.

use std::collections::{BTreeSet, VecDeque};

const PACKETS: u8 = 3;

/// A copy that the write goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Switch,
    Primary,
    Backup,
}

use Place::{Backup, Primary, Switch};

/// Events that may happen to the flow meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    /// To the switch: with the value of the copy that serves, or of the desired state.
    Promote(Source),
    Demote,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Device,
    Desired,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MoveStep {
    Read,
    Install,
    Admit,
    /// Packets on their way to helpers are waited for.
    Drain,
    Expel,
    Remove,
}

/// How writes and moves are done.
#[derive(Clone, Copy, Debug)]
struct Protocol {
    order: [Place; 3],
    /// A write and a move of the same entry exclude each other.
    locks: bool,
    /// A promotion ends when no packet is on its way to a helper.
    drains: bool,
    /// The switch may start anew, without copies and flows.
    restarts: Option<Refill>,
    /// A step of the write whose answer is lost is undone and done again. Otherwise it stays.
    undoes: bool,
}

/// Contents of a switch that has started anew when packets come in again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refill {
    /// Flows and copies as all steps have left them that were done.
    Whole,
    /// The same, but a write that is not acknowledged is not in the copies.
    Acknowledged,
    /// Nothing: its flows go to helpers.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Nobody,
    Write,
    Move,
}

/// 0 is the value before the write, 1 the one after it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// `None` while the switch has no copy.
    switch: Option<u8>,
    primary: u8,
    backup: u8,
    is_resident: bool,
    /// The switch has started anew and is not filled yet: no packet comes in, and no step is done there.
    is_empty: bool,
    has_failed: bool,
    /// Steps of the write and of the move that are done.
    written: usize,
    moved: usize,
    /// Value that the promotion has read.
    read: Option<u8>,
    lock: Holder,
    /// Packets on their way to the backup, or to the primary: the least that each has to see.
    flying: Vec<(bool, u8)>,
    left: u8,
    /// The newest value that a packet has seen.
    seen: u8,
    acknowledged: u8,
}

fn steps(of: Move, drains: bool) -> Vec<MoveStep> {
    match of {
        Move::Promote(_) => {
            let drain = drains.then_some(MoveStep::Drain);
            [MoveStep::Read, MoveStep::Install, MoveStep::Admit].into_iter().chain(drain).collect()
        }
        Move::Demote => vec![MoveStep::Expel, MoveStep::Remove],
    }
}

/// States that can be reached, and packets that see less than they must.
fn explore(protocol: Protocol, of: Move) -> (usize, usize) {
    let moves = steps(of, protocol.drains);
    let is_resident = of == Move::Demote;
    let first = State {
        switch: is_resident.then_some(0),
        primary: 0,
        backup: 0,
        is_resident,
        is_empty: false,
        has_failed: false,
        written: 0,
        moved: 0,
        read: None,
        lock: Holder::Nobody,
        flying: vec![],
        left: PACKETS,
        seen: 0,
        acknowledged: 0,
    };
    let (mut known, mut queue, mut violations) =
        (BTreeSet::from([first.clone()]), VecDeque::from([first]), 0);
    while let Some(state) = queue.pop_front() {
        let mut next = vec![];
        violations += packets(&state, &mut next);
        if !state.has_failed {
            next.push(State { has_failed: true, ..state.clone() });
        }
        next.extend(protocol.restarts.and_then(|refill| restart(&state, refill, moves.len())));
        next.extend(write_on(&state, protocol));
        next.extend(protocol.undoes.then(|| undo(&state, protocol)).flatten());
        next.extend(move_on(&state, protocol, of, &moves));
        for state in next {
            if known.insert(state.clone()) {
                queue.push_back(state);
            }
        }
    }
    (known.len(), violations)
}

/// The switch starts anew, or is filled. Those who fill it remember its contents.
fn restart(state: &State, refill: Refill, moves: usize) -> Option<State> {
    if state.is_empty {
        return Some(State { is_empty: false, ..state.clone() });
    }
    if !state.is_resident && state.switch.is_none() {
        return None;
    }
    let lock = if state.lock == Holder::Move { Holder::Nobody } else { state.lock };
    Some(match refill {
        Refill::Whole => State { is_empty: true, ..state.clone() },
        Refill::Acknowledged => {
            let switch = state.switch.map(|_| state.acknowledged);
            State { is_empty: true, switch, ..state.clone() }
        }
        Refill::Nothing => State { switch: None, is_resident: false, moved: moves, lock, ..state.clone() },
    })
}

/// A packet arrives at the switch, or at a helper.
fn packets(state: &State, next: &mut Vec<State>) -> usize {
    let mut violations = 0;
    if state.left > 0 {
        let least = state.seen.max(state.acknowledged);
        let mut after = State { left: state.left - 1, ..state.clone() };
        match state.switch {
            // It is lost.
            _ if state.is_empty => next.push(after),
            _ if !state.is_resident => {
                after.flying.push((state.has_failed, least));
                after.flying.sort_unstable();
                next.push(after);
            }
            Some(value) if value >= least => {
                after.seen = state.seen.max(value);
                next.push(after);
            }
            _ => violations += 1,
        }
    }
    for (at, (to_backup, least)) in state.flying.iter().enumerate() {
        let mut after = state.clone();
        after.flying.remove(at);
        let value = if *to_backup { state.backup } else { state.primary };
        if !to_backup && state.has_failed {
            // It is lost.
            next.push(after);
        } else if value < *least {
            violations += 1;
        } else {
            after.seen = state.seen.max(value);
            next.push(after);
        }
    }
    violations
}

fn write_on(state: &State, protocol: Protocol) -> Option<State> {
    if state.written > protocol.order.len() || (protocol.locks && state.lock == Holder::Move) {
        return None;
    }
    if state.is_empty && protocol.order.get(state.written) == Some(&Switch) {
        return None;
    }
    let lock = if protocol.locks { Holder::Write } else { Holder::Nobody };
    let mut after = State { written: state.written + 1, lock, ..state.clone() };
    match protocol.order.get(state.written) {
        Some(Switch) => after.switch = state.switch.map(|_| 1),
        Some(Primary) => after.primary = 1,
        Some(Backup) => after.backup = 1,
        None => (after.acknowledged, after.lock) = (1, Holder::Nobody),
    }
    Some(after)
}

/// The answer to the last step of the write is lost.
fn undo(state: &State, protocol: Protocol) -> Option<State> {
    let last = state.written.checked_sub(1)?;
    let mut before = State { written: last, ..state.clone() };
    match protocol.order.get(last)? {
        Switch => before.switch = state.switch.map(|_| 0),
        Primary => before.primary = 0,
        Backup => before.backup = 0,
    }
    Some(before)
}

fn move_on(state: &State, protocol: Protocol, of: Move, moves: &[MoveStep]) -> Option<State> {
    let step = moves.get(state.moved)?;
    let has_to_wait = protocol.locks && state.lock == Holder::Write || state.is_empty;
    if has_to_wait || *step == MoveStep::Drain && !state.flying.is_empty() {
        return None;
    }
    let is_last = state.moved + 1 == moves.len();
    let lock = if protocol.locks && !is_last { Holder::Move } else { Holder::Nobody };
    let lock = if protocol.locks { lock } else { state.lock };
    let mut after = State { moved: state.moved + 1, lock, ..state.clone() };
    match step {
        MoveStep::Read => {
            let served = if state.has_failed { state.backup } else { state.primary };
            let desired = u8::from(state.written > 0);
            after.read = Some(if of == Move::Promote(Source::Device) { served } else { desired });
        }
        MoveStep::Install => after.switch = state.read,
        MoveStep::Admit => after.is_resident = true,
        MoveStep::Drain => {}
        MoveStep::Expel => after.is_resident = false,
        MoveStep::Remove => after.switch = None,
    }
    Some(after)
}

/// A promotion from a device, one from the desired state, and a demotion.
fn all(order: [Place; 3], locks: bool, drains: bool) -> [(usize, usize); 3] {
    let moves = [Move::Promote(Source::Device), Move::Promote(Source::Desired), Move::Demote];
    moves.map(|of| explore(Protocol { order, locks, drains, restarts: None, undoes: false }, of))
}

/// The same in the order that is right, where the switch may start anew.
fn with_restarts(order: [Place; 3], drains: bool, refill: Refill) -> [(usize, usize); 3] {
    let moves = [Move::Promote(Source::Device), Move::Promote(Source::Desired), Move::Demote];
    let protocol = Protocol { order, locks: true, drains, restarts: Some(refill), undoes: false };
    moves.map(|of| explore(protocol, of))
}

#[test]
fn a_write_reaches_switch_backup_primary_under_a_lock_against_moves() {
    assert_eq!(all([Switch, Backup, Primary], true, false), [(839, 0), (839, 0), (405, 0)]);
    assert_eq!(all([Switch, Backup, Primary], true, true), [(733, 0), (733, 0), (405, 0)]);
}

#[test]
fn helpers_first_needs_promotions_that_wait_for_packets_to_helpers() {
    assert_eq!(all([Backup, Primary, Switch], true, false), [(863, 11), (863, 11), (423, 0)]);
    assert_eq!(all([Backup, Primary, Switch], true, true), [(751, 0), (751, 0), (423, 0)]);
}

/// Packets come in once the switch has its flows and copies again, with the write as far as it was done. A copy as before the write shows what earlier packets no longer
/// saw; so does a primary to which flows go that were at the switch.
#[test]
fn a_switch_that_starts_anew_is_filled_before_packets_come_in() {
    let right = [Switch, Backup, Primary];
    assert_eq!(with_restarts(right, false, Refill::Whole), [(1283, 0), (1283, 0), (545, 0)]);
    assert_eq!(with_restarts(right, true, Refill::Whole), [(1071, 0), (1071, 0), (545, 0)]);
    assert_eq!(with_restarts(right, false, Refill::Acknowledged), [(1513, 44), (1513, 44), (661, 22)]);
    assert_eq!(with_restarts(right, false, Refill::Nothing), [(1249, 17), (1249, 17), (431, 13)]);
    // With helpers first, and promotions that wait for packets on their way there, an empty switch would do.
    assert_eq!(
        with_restarts([Backup, Primary, Switch], true, Refill::Nothing),
        [(1146, 0), (1146, 0), (423, 0)]
    );
}

/// Packets have found it.
#[test]
fn a_step_whose_answer_is_lost_must_not_be_undone() {
    let moves = [Move::Promote(Source::Device), Move::Promote(Source::Desired), Move::Demote];
    let order = [Switch, Backup, Primary];
    let protocol = Protocol { order, locks: true, drains: true, restarts: None, undoes: true };
    assert_eq!(moves.map(|of| explore(protocol, of)), [(852, 33), (852, 33), (524, 33)]);
}

#[test]
fn a_primary_before_its_backup_is_wrong() {
    assert_eq!(all([Switch, Primary, Backup], true, false), [(849, 6), (849, 6), (415, 6)]);
    assert_eq!(all([Switch, Primary, Backup], true, true), [(743, 6), (743, 6), (415, 6)]);
    assert_eq!(all([Primary, Backup, Switch], true, false), [(875, 19), (875, 19), (433, 6)]);
    assert_eq!(all([Primary, Backup, Switch], true, true), [(761, 6), (761, 6), (433, 6)]);
}

#[test]
fn without_the_lock_every_order_is_wrong_in_some_move() {
    let expected = [
        (
            [Switch, Primary, Backup],
            [(2259, 113), (2365, 113), (646, 30)],
            [(2415, 131), (2535, 131), (646, 30)],
        ),
        (
            [Primary, Backup, Switch],
            [(2369, 111), (2369, 111), (662, 12)],
            [(2517, 133), (2517, 133), (662, 12)],
        ),
        ([Backup, Primary, Switch], [(2265, 65), (2301, 65), (642, 0)], [(2403, 85), (2446, 85), (642, 0)]),
        ([Switch, Backup, Primary], [(2137, 55), (2279, 55), (646, 26)], [(2283, 71), (2446, 71), (646, 26)]),
    ];
    for (order, promptly, drained) in expected {
        assert_eq!((all(order, false, false), all(order, false, true)), (promptly, drained), "{order:?}");
    }
}
