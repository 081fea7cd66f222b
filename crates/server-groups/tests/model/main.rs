//! The protocol, explored: every order of events within a budget. Each mutant breaks a property, and is found.

mod filters;
mod leases;
mod world;

use features::fingerprint;
use std::collections::HashSet;
use world::{Budget, Change, Mutant, World};

/// Looks at all states; gives their number, or the first property that does not hold and where.
fn explore(start: World) -> Result<usize, String> {
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        world.check().map_err(|what| format!("{what} in {world:?}"))?;
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

/// One flow and a server that comes.
fn grows(packets: u8, pins: usize) -> World {
    World::new(pins, Budget { packets: vec![packets], ends: 0, changes: vec![Change::Add(2)] })
}

/// The flow ends at any time, and goes on as another.
fn ends(packets: u8, ends: u8) -> World {
    World::new(4, Budget { packets: vec![packets], ends, changes: vec![Change::Add(2)] })
}

/// The second change comes while the first is under way.
fn twice(packets: u8, pins: usize) -> World {
    let changes = vec![Change::Add(2), Change::Remove(2)];
    World::new(pins, Budget { packets: vec![packets], ends: 0, changes })
}

/// Servers are drained before the new one comes.
fn drained(packets: u8) -> World {
    let changes = vec![Change::Drain(0), Change::Add(2), Change::Remove(2)];
    World::new(4, Budget { packets: vec![packets], ends: 1, changes })
}

/// Two flows, so that one may stay while the other ends.
fn two_flows(packets: u8) -> World {
    World::new(4, Budget { packets: vec![packets, packets], ends: 0, changes: vec![Change::Add(2)] })
}

/// The new server, or the previous one, dies.
fn deaths(packets: u8, dead: u16) -> World {
    let changes = vec![Change::Add(2), Change::Die(dead)];
    World::new(4, Budget { packets: vec![packets], ends: 0, changes })
}

#[track_caller]
fn holds(start: World) {
    match explore(start) {
        Ok(states) => println!("{states} states"),
        Err(what) => panic!("{what}"),
    }
}

/// Complaint if this property does not find the mutant; `None` if it does.
fn finds(mutant: Mutant, start: World, property: &str) -> Option<String> {
    match explore(start.with(mutant)) {
        Ok(states) => Some(format!("{mutant:?} is not found in {states} states")),
        Err(what) if what.starts_with(property) => None,
        Err(what) => Some(format!("{mutant:?}: {what}")),
    }
}

#[test]
fn a_group_that_grows_breaks_no_flow() {
    holds(grows(3, 0));
    holds(grows(3, 2));
}

#[test]
fn flows_may_end_at_any_time() {
    holds(ends(4, 2));
    let changes = vec![Change::Add(2), Change::Remove(2)];
    holds(World::new(4, Budget { packets: vec![3], ends: 1, changes }));
}

#[test]
fn a_second_change_waits_for_the_first() {
    holds(twice(2, 2));
    holds(drained(if features::is_long() { 2 } else { 1 }));
}

#[test]
fn flows_do_not_disturb_each_other() {
    holds(two_flows(2));
}

#[test]
fn a_death_leaves_nothing_behind() {
    holds(deaths(2, 2));
    holds(deaths(2, 1));
    holds(deaths(2, 0));
}

#[test]
fn each_mutant_is_found() {
    let other = Budget { packets: vec![3], ends: 0, changes: vec![Change::Add(2), Change::Add(3)] };
    let not_found = [
        finds(Mutant::NotInOrder, grows(3, 4), "out of order"),
        finds(Mutant::NoHold, grows(3, 4), "out of order"),
        finds(Mutant::TwoPrevious, World::new(0, other), "a wrong server"),
        finds(Mutant::RetiredUnasked, grows(3, 4), "a wrong server"),
        finds(Mutant::SettledWithoutMarker, grows(2, 4), "a wrong server"),
        finds(Mutant::ClosedWithoutMarker, grows(3, 4), "out of order"),
        finds(Mutant::PinnedAtOnce, grows(4, 4), "out of order"),
        finds(Mutant::ClosedUnasked, grows(2, 4), "a packet is not handled"),
        finds(Mutant::TakenAtOnce, ends(5, 1), "out of order"),
        finds(Mutant::UnpinnedAtOnce, ends(3, 1), "a wrong server"),
        finds(Mutant::DeathUnreported, deaths(2, 0), "held packets stay"),
        finds(Mutant::JoinUnreported, grows(2, 4), "a wrong server"),
    ];
    let not_found: Vec<_> = not_found.into_iter().flatten().collect();
    assert!(not_found.is_empty(), "{}", not_found.join("\n"));
}
