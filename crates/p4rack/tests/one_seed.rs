//! One seed, one result: every rack in `examples`, loaded and run twice, has the same log of events byte for byte; another seed has another.
//! Without `P4RACK_ALL`, one rack of nine: with groups, jobs, spares and pinned flows among them.

use crate::support;

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::{Racked, rack, up};
use rack_model::Rack;
use std::fs;
use std::path::{Path, PathBuf};
use support::text;

/// Time that a rack runs after the last event that begins in it: enough for some frames on each link.
const REST: Duration = Duration::from_ms(6);

/// Examples in which nothing is left to chance, so that another seed gives the same log: `(name, why)`.
const WITHOUT_CHANCE: &[(&str, &str)] = &[
    ("ananta/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("apps/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("balancer/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("crosspod/spares.toml", "links lose nothing and hosts send at fixed times"),
    ("d3/RACK.toml", "links lose nothing, and the list of transfers does not depend on the seed"),
    ("d3/rcp.toml", "the same"),
    ("firewall/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("headerless/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("monitor/RACK.toml", "links lose nothing, hosts send and ticks come at fixed times"),
    ("pfabric/RACK.toml", "links lose nothing, and the list of transfers does not depend on the seed"),
    ("pinned/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("pinned/apps.toml", "links lose nothing, and hosts send at fixed times"),
    ("pinned/moving.toml", "links lose nothing, hosts send and flows move at fixed times"),
    ("qcn/RACK.toml", "links lose nothing, and hosts send at the rates that notifications give"),
    ("rcp/RACK.toml", "links lose nothing, and the list of transfers does not depend on the seed"),
    ("retransmissions/RACK.toml", "links lose nothing, and hosts send at fixed times"),
    ("seawall/RACK.toml", "links lose nothing, and hosts send at the rates that marks give"),
    (
        "snat/RACK.toml",
        "links lose nothing, hosts send at fixed times, and the handler was made with the file's seed",
    ),
    ("snat/group.toml", "the same, and members come and go at fixed times"),
    ("spares/RACK.toml", "devices fail and hosts send at fixed times"),
    ("xcp/RACK.toml", "links lose nothing, and the list of transfers does not depend on the seed"),
];

/// All racks below a directory, by name: what has a `[rack]` and runs programs.
fn racks(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            racks(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml")
            && ["[rack]", "[[app]]"]
                .iter()
                .all(|head| fs::read_to_string(&path).unwrap().lines().any(|line| line.trim() == *head))
        {
            found.push(path);
        }
    }
}

fn load(path: &Path) -> Racked {
    let mut map = SourceMap::new();
    let mut racked = rack::load(path, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let Rack { workloads, faults, replaces, moves, .. } = &racked.rack;
    let begin =
        workloads.iter().map(|workload| workload.load.start).chain(faults.iter().map(|fault| fault.at));
    let changes = replaces.iter().map(|replace| replace.at).chain(moves.iter().map(|one| one.at));
    let last = begin.chain(changes).max();
    racked.rack.until = last.map(|last| last + REST);
    racked
}

/// The log, and the number of frames carried by links; for a rack with phases, of the last phase, which includes most changes of the others.
fn log(racked: &Racked) -> (String, u64) {
    let mut running = begun(racked);
    let report = running.run().unwrap();
    (running.emulator.take_log(), report.links.iter().map(|link| link.frames).sum())
}

fn begun(racked: &Racked) -> up::Running {
    let mut running = up::bring_up_in(racked, racked.rack.stages.len().checked_sub(1)).unwrap();
    running.emulator.keep_log(true);
    running
}

/// True if the rack has this log. It runs until the first difference.
fn has_log(racked: &Racked, mut log: &str) -> bool {
    const STEPS: u64 = 100;
    let mut running = begun(racked);
    let end = racked.rack.until.unwrap_or(Time::ZERO).since(Time::ZERO);
    for step in 1..STEPS {
        running.run_until(Time::ZERO + Duration::from_ps(end.as_ps() / STEPS * step)).unwrap();
        let Some(rest) = log.strip_prefix(running.emulator.take_log().as_str()) else { return false };
        log = rest;
    }
    running.run().unwrap();
    running.emulator.take_log() == log
}

#[test]
fn every_example_is_the_same_for_one_seed_and_another_for_another() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut paths = vec![];
    racks(&examples, &mut paths);
    assert!(paths.len() > 30);
    let name = |path: &Path| path.strip_prefix(&examples).unwrap().display().to_string();
    let paths: Vec<PathBuf> = paths.into_iter().step_by(if features::is_long() { 1 } else { 9 }).collect();
    let mut without_chance = vec![];
    for path in &paths {
        let name = name(path);
        let (once, frames) = log(&load(path));
        assert!(frames >= 50, "{name}: links carry {frames} frames only");
        let mut racked = load(path);
        let (again, _) = log(&racked);
        let line = once.lines().zip(again.lines()).position(|(one, other)| one != other);
        assert!(line.is_none() && once == again, "{name}: two runs differ, from line {line:?} on");
        racked.rack.seed += 1;
        if has_log(&racked, &once) {
            without_chance.push(name.clone());
        }
    }
    let is_tried = |known: &&str| paths.iter().any(|path| name(path) == *known);
    let reported: Vec<&str> = WITHOUT_CHANCE.iter().map(|(name, _)| *name).filter(is_tried).collect();
    assert_eq!(without_chance, reported, "on the left, what is the same for another seed");
}
