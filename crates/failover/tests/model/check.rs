//! Properties of every state: what follows if no further faults happen.

use crate::world::World;
use failover::Targets;

/// All of them.
pub fn suffixes(world: &World) -> Result<(), &'static str> {
    dead_targets_are_left(world.clone())?;
    losses_are_reported(world.clone())
}

/// The target in use dies: the sender leaves it in time, though no packet comes.
fn dead_targets_are_left(mut world: World) -> Result<(), &'static str> {
    let Some(target) = world.sender.used.target() else { return Ok(()) };
    if world.helpers[usize::from(target.0)].is_up {
        world.crash(target);
    }
    let steps = world.limits.detection(1);
    for _ in 0..steps {
        while !world.frames.is_empty() {
            world.deliver(0);
        }
        world.pass_time();
        if !world.sender.used.contains(target) {
            return Ok(());
        }
    }
    Err("a dead target is still used")
}

/// Nothing goes wrong any more: the sender learns of every loss, and all packets are handed.
fn losses_are_reported(mut world: World) -> Result<(), &'static str> {
    let Some(target) = world.sender.used.target() else { return Ok(()) };
    if world.was_down || !world.helpers[usize::from(target.0)].is_right {
        return Ok(());
    }
    settle(&mut world);
    let generation = world.sender.generation;
    let first = world.handed.len();
    for _ in 0..world.limits.tolerance {
        world.send();
        settle(&mut world);
    }
    for _ in 0..world.limits.ask_after + world.limits.patience + 1 {
        world.pass_time();
        settle(&mut world);
    }
    if world.sender.generation != generation || world.sender.used == Targets::NONE {
        return world.broken.map_or(Ok(()), Err);
    }
    if world.handed[first..].iter().any(|times| *times != 1) {
        return Err("a packet is not handed");
    }
    let mut lost = world.lost.clone();
    lost.dedup();
    if usize::from(world.sender.gaps_seen) != lost.len() {
        return Err("losses are counted wrong");
    }
    world.broken.map_or(Ok(()), Err)
}

/// Everything that is under way arrives, in order.
fn settle(world: &mut World) {
    while let Some(at) = (0..world.frames.len()).find(|at| world.may_arrive(*at)) {
        world.deliver(at);
    }
}
