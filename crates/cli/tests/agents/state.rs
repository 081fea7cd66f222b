//! The state of a switch and of a rack in a file (`--state`): whoever is killed, no acknowledged write is lost.

use crate::controllers::{Acknowledged, Client, Written, goes, write_on};
use crate::setup::{Rack, Switch, directory};
use base_time::Rng;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A file of a test that is not there yet.
fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path.display().to_string()
}

fn kills(usual: u64) -> u64 {
    let all = features::is_long();
    features::setting("P4RACK_KILLS", if all { 200 } else { usual })
}

/// Writes until `kill` has killed something.
fn write_until(address: &str, there: &BTreeSet<u8>, rng: &mut Rng, kill: impl FnOnce()) -> Written {
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (address, stop, there) = (address.to_string(), Arc::clone(&stop), there.clone());
        let rng = rng.split_index(1);
        std::thread::spawn(move || write_on(&address, &stop, there, &rng))
    };
    std::thread::sleep(Duration::from_millis(rng.between(1, 150)));
    kill();
    std::thread::sleep(Duration::from_millis(rng.below(30)));
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap()
}

/// The ports in the switch's entries, after a comparison with the entries that must exist.
fn found(address: &str, written: &Written, who: &str) -> BTreeSet<u8> {
    let found: BTreeSet<u8> = Client::new(address, 1, None).unwrap().ports().into_iter().collect();
    let (lost, Written { there: known, unknown, .. }) = (written.lost(&found), written);
    assert!(lost.is_empty(), "{who}: {lost:?} of {known:?}, {unknown:?} not acknowledged");
    found
}

fn kill(victim: &mut Switch) {
    victim.process.kill().unwrap();
    victim.process.wait().unwrap();
}

/// Any of the three are killed at one time, the controller together with both agents, too: formerly, what only a dead agent had held
/// was lost.
///
/// `P4RACK_KILLS` says how often; `./test --all` does it 200 times.
#[test]
fn no_acknowledged_write_of_a_rack_is_lost_whoever_is_killed() {
    let state = file("agents_rack_state");
    let mut rack = Rack::with_controller(&["--audit", "1", "--state", &state]);
    let mut rng = Rng::new(36);
    let mut there: BTreeSet<u8> = [1].into();
    let (mut acknowledged, mut killed) = (Acknowledged::default(), [0; 3]);
    // All three first.
    let kills = kills(4);
    for round in 0..kills {
        let who = if round == 0 { 7 } else { 1 + rng.below(7) };
        let Rack { controller, tor, nic, .. } = &mut rack;
        let address = controller.address.clone();
        let mut victims: Vec<(usize, &mut Switch)> = [tor, nic, controller]
            .into_iter()
            .enumerate()
            .filter(|(index, _)| who >> index & 1 == 1)
            .collect();
        let written = write_until(&address, &there, &mut rng, || {
            victims.iter_mut().for_each(|(_, victim)| kill(victim))
        });
        acknowledged.add(&written);
        for (index, victim) in victims {
            killed[index] += 1;
            victim.restart();
        }
        goes(&rack, &rack.controller);
        there = found(&rack.controller.address, &written, &format!("round {round}, {who:03b}"));
        // The devices have what the controller reports.
        let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
        if !there.contains(&1) {
            client.write("INSERT", 1).unwrap();
            there.insert(1);
        }
        assert_eq!(rack.pass(7).0, 7);
    }
    eprintln!("{kills} rounds ({killed:?} kills of tor, nic, controller), {acknowledged}, none lost");
}

/// The same of one device, and of a rack in one process.
#[test]
fn no_acknowledged_write_of_a_switch_is_lost() {
    let program = directory().join("count.p4").display().to_string();
    for (name, what) in
        [("agents_device_state", program), ("agents_front_state", directory().display().to_string())]
    {
        let state = file(name);
        let mut switch = Switch::start(&[&what, "--grpc-server-addr", "127.0.0.1:0", "--state", &state]);
        let mut rng = Rng::new(37);
        let mut there: BTreeSet<u8> =
            Client::new(&switch.address, 1, None).unwrap().ports().into_iter().collect();
        let (kills, mut acknowledged) = (kills(3), Acknowledged::default());
        for round in 0..kills {
            let address = switch.address.clone();
            let written = write_until(&address, &there, &mut rng, || kill(&mut switch));
            acknowledged.add(&written);
            switch.restart();
            there = found(&switch.address, &written, &format!("{name}, round {round}"));
        }
        eprintln!("{name}: {kills} kills, {acknowledged}, none lost");
        // Until somebody says that nothing of it is wanted any more.
        kill(&mut switch);
        let fresh =
            Switch::start(&[&what, "--grpc-server-addr", "127.0.0.1:0", "--state", &state, "--fresh"]);
        let own = Client::new(&fresh.address, 1, None).unwrap().ports();
        assert_eq!(own, if name == "agents_front_state" { vec![1] } else { vec![] });
    }
}

/// The check of the other tests finds that a switch without a file loses acknowledged writes.
#[test]
fn a_switch_without_a_file_loses_writes() {
    let program = directory().join("count.p4").display().to_string();
    let mut switch = Switch::start(&[&program, "--grpc-server-addr", "127.0.0.1:0"]);
    let mut client = Client::new(&switch.address, 1, None).unwrap();
    let there: BTreeSet<u8> = (3..=120).collect();
    let ids = client.ids();
    there.iter().for_each(|port| client.write_by(ids, "INSERT", *port).unwrap());
    drop(client);
    let address = switch.address.clone();
    let written = write_until(&address, &there, &mut Rng::new(38), || kill(&mut switch));
    switch.restart();
    let found: BTreeSet<u8> = Client::new(&switch.address, 1, None).unwrap().ports().into_iter().collect();
    let lost = written.lost(&found);
    assert!(!lost.is_empty() && lost.len() == written.there.difference(&written.unknown).count(), "{lost:?}");
}

/// Entries of agents that are not in the file are deleted; an entry of RACK.toml that was deleted does not come back.
#[test]
fn the_file_says_what_the_devices_are_to_hold() {
    let state = file("agents_wanted_state");
    let mut rack = Rack::with_controller(&["--state", &state]);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 3).unwrap();
    client.write("DELETE", 1).unwrap();
    let copy = file("agents_wanted_copy");
    drop(client);
    kill(&mut rack.controller);
    std::fs::copy(&state, &copy).unwrap();
    rack.controller.restart();
    goes(&rack, &rack.controller);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    assert_eq!(client.ports(), [3]);
    client.write("INSERT", 1).unwrap();
    client.write("INSERT", 4).unwrap();
    assert_eq!(rack.pass(1), (1, 1));
    drop(client);
    kill(&mut rack.controller);
    std::fs::copy(&copy, &state).unwrap();
    rack.controller.restart();
    goes(&rack, &rack.controller);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    assert_eq!(client.ports(), [3]);
    client.write("INSERT", 1).unwrap();
    // Counts belong to the data planes and survive.
    assert_eq!(rack.pass(2), (2, 2));
}

#[test]
fn a_file_that_cannot_be_used_ends_the_start() {
    let state = file("agents_foreign_state");
    std::fs::write(&state, "my notes\n".repeat(1000)).unwrap();
    let program = directory().join("count.p4");
    let start = |state: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.args([
            "switch",
            &program.display().to_string(),
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--state",
            state,
        ]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        start(&state),
        format!(
            "p4rack: state file `{state}`: it is not a state file of p4rack, and stays as it is: name another file\n"
        )
    );
    let used = file("agents_used_state");
    let switch = Switch::start(&[
        &program.display().to_string(),
        "--grpc-server-addr",
        "127.0.0.1:0",
        "--state",
        &used,
    ]);
    assert!(start(&used).contains("another process uses it"));
    drop(switch);
}

/// Prints what a file costs: writes a second of one client that waits for each answer, and of one with 32 writes under way.
#[test]
fn writes_a_second_with_a_file_and_without() {
    let count = features::setting("P4RACK_WRITES", 256);
    let program = directory().join("count.p4").display().to_string();
    for (name, what) in [("device", program), ("rack", directory().display().to_string())] {
        let state = file(&format!("agents_cost_{name}"));
        for more in [&[][..], &["--state", &state]] {
            let args = [&[what.as_str(), "--grpc-server-addr", "127.0.0.1:0"], more].concat();
            let switch = Switch::start(&args);
            let mut client = Client::new(&switch.address, 1, None).unwrap();
            for at_once in [1, 32] {
                let took = client.write_many(count, at_once);
                let rate = count as f64 / took.as_secs_f64();
                let with = if more.is_empty() { "without" } else { "with" };
                eprintln!("{name}, {with} a file, {at_once} at once: {rate:.0} writes a second");
            }
        }
    }
}
