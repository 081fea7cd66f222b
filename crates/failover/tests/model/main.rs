//! The protocol, explored: a sender, its helpers, links that lose, double and swap frames, and a controller; every order of events
//! within a budget. Each mutant breaks a property, and is found.

mod check;
mod world;

use failover::Thresholds;
use features::fingerprint;
use std::collections::HashSet;
use world::{Budget, Mutant, World};

/// Small numbers, so that all thresholds are reached within few events.
const LIMITS: Thresholds = Thresholds {
    ask_every: 2,
    ask_after: 2,
    patience: 2,
    most_missed: 2,
    tolerance: 2,
    most_gaps: 2,
    window: 8,
};

/// Looks at all states; gives their number, or the first property that does not hold and the events that lead there.
fn explore(start: World) -> Result<usize, String> {
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        check::suffixes(&world).map_err(|what| format!("{what} after {world:?}"))?;
        for next in world.next() {
            if let Some(what) = next.broken {
                return Err(format!("{what} in {next:?}"));
            }
            if seen.insert(fingerprint(&next)) {
                open.push(next);
            }
        }
    }
    Ok(seen.len())
}

const NOTHING: Budget = Budget {
    packets: 0,
    time: 0,
    losses: 0,
    doubles: 0,
    crashes: 0,
    controller: 0,
    sender_crashes: 0,
    ports: 0,
};

/// One missed request is a failure.
const QUICK: Thresholds = Thresholds { most_missed: 1, ..LIMITS };

/// Lost frames between packets that come at once.
fn losses() -> World {
    World::new(2, LIMITS, Budget { packets: 4, losses: 2, ..NOTHING })
}

/// Requests and answers that are lost while time passes.
fn silence() -> World {
    World::new(2, LIMITS, Budget { packets: 1, time: 8, losses: 2, ..NOTHING })
}

/// Losses in different windows of four hand-overs.
fn windows() -> World {
    let limits = Thresholds { window: 4, ask_every: 99, ..LIMITS };
    World::new(2, limits, Budget { packets: 15, losses: 2, ..NOTHING })
}

/// Frames that come twice and swap places.
fn doubles() -> World {
    World::new(2, LIMITS, Budget { packets: 3, time: 1, doubles: 1, ..NOTHING })
}

/// A target fails by losses, and reports about it come late and twice.
fn late_reports() -> World {
    World::new(2, LIMITS, Budget { packets: 5, losses: 2, doubles: 1, ..NOTHING })
}

/// Two helpers of three fail, one after the other or at once, without a controller.
fn two_failures() -> World {
    World::new(3, QUICK, Budget { packets: 2, time: 7, crashes: 2, ..NOTHING })
}

/// A helper fails, is repaired and comes back; the controller reads and writes at any time.
fn returns() -> World {
    World::new(2, QUICK, Budget { packets: 1, time: 5, crashes: 1, controller: 5, ..NOTHING })
}

/// The sender loses its memory.
fn sender_crashes() -> World {
    World::new(2, LIMITS, Budget { packets: 3, time: 1, sender_crashes: 1, ..NOTHING })
}

/// Ports of both helpers go down and come up, again and again, without a controller.
fn flapping_ports() -> World {
    World::new(2, LIMITS, Budget { packets: 4, time: 1, ports: 5, ..NOTHING })
}

/// The same, and a helper fails; so one is left for another reason than its port.
fn ports_and_a_failure() -> World {
    World::new(3, QUICK, Budget { packets: 2, time: 3, crashes: 1, ports: 3, ..NOTHING })
}

/// The controller lets targets back while ports go down and come up.
fn ports_and_a_controller() -> World {
    World::new(2, QUICK, Budget { packets: 2, time: 1, controller: 5, ports: 3, ..NOTHING })
}

#[track_caller]
fn holds(start: World) {
    match explore(start) {
        Ok(states) => println!("{states} states"),
        Err(what) => panic!("{what}"),
    }
}

/// A complaint if a mutant is not found, or if another property finds it.
fn finds(mutant: Mutant, start: World, property: &str) -> Option<String> {
    match explore(World { mutant: Some(mutant), ..start }) {
        Ok(states) => Some(format!("{mutant:?} is not found in {states} states")),
        Err(what) if what.starts_with(property) => None,
        Err(what) => Some(format!("{mutant:?}: {what}")),
    }
}

#[test]
fn few_losses_are_borne_and_many_are_noticed() {
    holds(losses());
    holds(silence());
}

#[test]
fn losses_of_different_windows_do_not_add_up() {
    holds(windows());
}

#[test]
fn frames_that_come_twice_or_late_change_nothing() {
    holds(doubles());
    holds(late_reports());
}

#[test]
fn two_failures_are_survived_without_a_controller() {
    holds(two_failures());
}

#[test]
fn a_helper_comes_back_when_its_state_is_right_and_the_hold_down_has_passed() {
    holds(returns());
}

#[test]
fn a_target_that_was_left_because_of_its_port_comes_back_by_the_controller_or_as_the_last_one() {
    holds(flapping_ports());
    holds(ports_and_a_failure());
    holds(ports_and_a_controller());
}

#[test]
fn a_sender_that_restarts_is_heard() {
    holds(sender_crashes());
}

#[test]
fn each_mutant_is_found() {
    let one_loss = World::new(2, QUICK, Budget { packets: 4, time: 4, losses: 1, ..NOTHING });
    let not_found = [
        finds(Mutant::AnyGeneration, late_reports(), "losses are counted wrong"),
        finds(Mutant::NoTolerance, doubles(), "losses are counted wrong"),
        finds(Mutant::MissedForgotten, silence(), "a dead target"),
        finds(Mutant::SilentWhenIdle, silence(), "a dead target"),
        finds(Mutant::NakWithoutAck, one_loss, "failed without"),
        finds(Mutant::AckWithoutNak, losses(), "losses are counted wrong"),
        finds(Mutant::ProgressForgotten, silence(), "failed without"),
        finds(Mutant::NoWindow, windows(), "failed without"),
        finds(Mutant::DoublesTaken, doubles(), "handed twice"),
        finds(Mutant::SentAgain, late_reports(), "handed twice"),
        finds(Mutant::NoHoldDown, returns(), "used before"),
        finds(Mutant::StateNotMadeRight, returns(), "used before"),
        finds(Mutant::BarNotHeeded, returns(), "used before"),
        finds(Mutant::OldGeneration, sender_crashes(), "a packet is not handed"),
        finds(Mutant::BackWithPort, flapping_ports(), "used before"),
        finds(Mutant::BackWithPort, ports_and_a_controller(), "used before"),
        finds(Mutant::GoneForGood, flapping_ports(), "a packet has no way"),
        finds(Mutant::FirstOfTheLeft, flapping_ports(), "used before"),
        finds(Mutant::LeftNotBarred, ports_and_a_controller(), "used, and writes"),
        finds(Mutant::LastOneFails, flapping_ports(), "a packet has no way"),
    ];
    let not_found: Vec<_> = not_found.into_iter().flatten().collect();
    assert!(not_found.is_empty(), "{}", not_found.join("\n"));
}
