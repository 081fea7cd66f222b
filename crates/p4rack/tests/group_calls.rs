//! Calls of handlers on groups and spares: repeated, late, and answered by a spare.

use crate::groups::{ONE_CALL, difference, in_rack, load, random_and, run, stateless, traffic, whole};
use crate::support::text;
use base_diag::SourceMap;
use base_time::Rng;
use ir_prove::{Effort, prove};
use p4rack::{ctl, proof, rack};
use p4runtime_proto::p4rack::v1::{Group, ShowResponse};
use rack_emulator::RunReport;
use rack_model::{Probability, Rack};
use std::path::PathBuf;

/// The links of the servers carry a tenth of all frames twice: calls, answers, frames between servers, instructions.
fn doubles(rack: &mut Rack) {
    rack.groups[0].dedup = true;
    rack.links[2..].iter_mut().for_each(|link| link.duplicate = Probability::from_ppb(100_000_000));
}

#[test]
fn calls_that_links_double_count_once() {
    let (mut calls, mut answers) = (0, 0);
    for seed in features::seeds(1, 100) {
        let racked = random_and(seed, false, &doubles);
        let sent = traffic(&mut Rng::new(seed));
        let ran = in_rack(&racked, &sent);
        assert_eq!(difference(&whole(&racked, &sent), &ran, &sent), None, "seed {seed}");
        let [group] = ran.report.groups.as_slice() else { panic!("seed {seed}: {:?}", ran.report.groups) };
        assert_eq!((group.lost, group.sent), (0, group.returned), "seed {seed}: {group:?}");
        calls += group.servers.iter().filter_map(|server| server.reasons.get("repeated")).sum::<u64>();
        answers += group.repeated;
    }
    assert!(calls > 100 && answers > 100, "{calls} calls, {answers} answers");
}

#[test]
fn without_numbers_doubled_calls_are_noticed() {
    let racked = random_and(1, false, &|rack| {
        doubles(rack);
        rack.groups[0].dedup = false;
    });
    let sent = traffic(&mut Rng::new(1));
    let ran = in_rack(&racked, &sent);
    assert!(difference(&whole(&racked, &sent), &ran, &sent).is_some());
}

/// The group without state, with changes of its rack; `more` are lines of the group.
fn changed(name: &str, more: &str, changes: &[(&str, &str)]) -> RunReport {
    let place = stateless(name, ONE_CALL, &format!("variant = \"pin\"\n{more}"), "");
    let file = place.join("RACK.toml");
    let mut rack = std::fs::read_to_string(&file).expect("the rack");
    for (from, to) in changes {
        assert!(rack.contains(from), "{from}");
        rack = rack.replace(from, to);
    }
    std::fs::write(file, rack).expect("a file");
    run(&load(&place))
}

/// Two servers that do 2,500 calls a second get about 15,000. `more` are lines of the group.
fn overloaded(name: &str, more: &str) -> RunReport {
    changed(name, more, &[("{ even = \"2us\" }", "{ even = \"400us\" }\nparallel = 1")])
}

#[test]
fn frames_that_find_no_room_on_their_path_to_a_server_are_counted() {
    let slow = ("{ even = \"2us\" }", "{ even = \"400us\" }\nparallel = 1\nbacklog = 4");
    let narrow = ("rate = \"10Gbit/s\"", "rate = \"2Mbit/s\"\nqueue = 3");
    for (name, change) in [("full-backlogs", slow), ("full-queues", narrow)] {
        let report = changed(name, "", &[change]);
        let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
        assert!(group.queue_full > 100 && group.returned > 100, "{name}: {group:?}");
        if name == "full-backlogs" {
            assert_eq!(group.lost, group.queue_full, "{name}: {group:?}");
        } else {
            // Calls that do not fit the queue of the switch's port have not left it.
            assert!(group.lost < group.queue_full / 4, "{name}: {group:?}");
        }
        let shown: String = report.tables().iter().map(ToString::to_string).collect();
        assert!(shown.contains("queue full") && shown.contains(&group.queue_full.to_string()), "{shown}");
    }
    assert_eq!(changed("roomy-group", "", &[]).groups[0].queue_full, 0);
}

#[test]
fn operators_see_full_queues() {
    let group = Group { name: "nat".into(), switch: "tor".into(), sent: 9, returned: 7, ..Group::default() };
    let shown = |queue_full| {
        let groups = vec![Group { queue_full, ..group.clone() }];
        ctl::groups(&ShowResponse { groups, ..ShowResponse::default() }, Some("nat"))
    };
    let first = "nat at tor: changing, 0 changes, 9 calls, 7 returned, 2 lost";
    assert_eq!(shown(0), format!("{first}\n"));
    assert_eq!(shown(5), format!("{first}, 5 found the send queue full\n"));
}

/// The longest latency of a packet, in microseconds.
fn longest(report: &RunReport) -> u64 {
    let latencies = report.workloads.iter().filter_map(|load| load.latency.as_ref());
    latencies.map(|latency| latency.max_ps / 1_000_000).max().expect("packets have come")
}

#[test]
fn old_calls_are_dropped_and_counted() {
    let report = overloaded("late-group", "max_age = \"1ms\"");
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    let late: u64 = group.servers.iter().filter_map(|server| server.reasons.get("late")).sum();
    let dropped: u64 = group.servers.iter().map(|server| server.dropped).sum();
    assert!(late > 100 && late == dropped && group.returned > 200, "{group:?}");
    assert_eq!((group.lost, group.sent), (late, group.returned + late), "{group:?}");
    // Up to 1 ms before the handler, 0.4 ms in it, 0.1 ms elsewhere.
    let longest = longest(&report);
    assert!((1_000..1_500).contains(&longest), "{longest} us");
    let shown: String = report.tables().iter().map(ToString::to_string).collect();
    let mut late = group.servers.iter().filter(|server| server.dropped > 0);
    assert!(late.all(|server| shown.contains(&format!("{} late", server.dropped))), "{shown}");
}

#[test]
fn without_an_age_calls_wait() {
    let report = overloaded("patient-group", "");
    let [group] = report.groups.as_slice() else { panic!("{:?}", report.groups) };
    assert!(group.servers.iter().all(|server| server.dropped == 0 && server.reasons.is_empty()), "{group:?}");
    assert!(longest(&report) > 20_000);
}

/// The handler with a spare, of which the first device dies at 20 ms.
fn spared(name: &str, annotation: &str) -> PathBuf {
    let place = stateless(name, ONE_CALL, "variant = \"pin\"", "");
    let program = std::fs::read_to_string(place.join("even.p4")).expect("the program");
    std::fs::write(place.join("even.p4"), program.replace("@remote(", &format!("{annotation}@remote(")))
        .expect("a file");
    let rack = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
    let (before, after) = rack.split_once("[[group]]").expect("its group");
    let (_, app) = after.split_once("[[app]]").expect("its app");
    let map = "origin = \"tor\"\nmap = { even = { device = \"s1\", spares = [\"s2\"] } }";
    let fault = "\n[[fault]]\nkind = \"device-down\"\ndevice = \"s1\"\nat = \"20ms\"\n";
    let rack = format!("{before}[[app]]{}{fault}", app.replace("origin = \"tor\"", map));
    std::fs::write(place.join("RACK.toml"), rack).expect("a file");
    place
}

#[test]
fn a_spare_answers_calls_of_an_idempotent_handler() {
    let racked = load(&spared("spared-handler", "@idempotent "));
    let effort = Effort { packets: 300, ..Effort::default() };
    let proved = prove(&proof::case(&racked.apps[0]), &effort);
    assert!(proved.unwrap_or_else(|failure| panic!("{}", failure.describe())).accesses > 100);
    let report = run(&racked);
    let [edge] = report.edges.as_slice() else { panic!("{:?}", report.edges) };
    assert_eq!((edge.used.as_deref(), edge.changes), (Some("s2"), 1), "{:?}", report.notes);
    let uploads = || report.workloads.iter().filter(|load| load.name.starts_with("upload"));
    // The handler drops the packets of every second upload.
    assert!(uploads().skip(1).step_by(2).all(|load| load.received == 0));
    let lost: u64 = uploads().step_by(2).map(|load| load.lost).sum();
    assert!((1..40).contains(&lost) && uploads().all(|load| load.duplicated == 0), "{lost} lost");
    let notes: Vec<&str> = report.notes.iter().map(|note| note.what.as_str()).collect();
    assert!(notes.contains(&"`s2` lacks what `s1` held in `even_handler` (`@soft`)"), "{notes:#?}");
}

#[test]
fn a_handler_with_a_spare_is_idempotent() {
    let mut map = SourceMap::new();
    let found = rack::load(&spared("unspared-handler", ""), &[], &mut map).err();
    let found = text(&found.expect("it is refused"), &map);
    assert!(found.contains("error[P4R0505]: a spare would lack what `even_handler` holds"), "{found}");
    assert!(found.contains("write `@idempotent` before the handler's declaration"), "{found}");
}
