//! Reads beside writes.

use crate::sessions::{DEFAULT, GROUPS, fill};
use crate::setup::{PROGRAM, arbitration, compiled_text, maker, read_request, write_request};
use base_time::{Rng, Time};
use controller::{Call, Reply, Steer, Ticket};
use device_control::{Event, Maker, OneSwitch, Served};
use p4runtime_proto::to_text;
use p4runtime_server::{Pieces, StreamId};
use std::collections::BTreeSet;

/// An entry of `route`, by number.
fn route(n: u32, action: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: "\016\{:03o}\{:03o}\001\001\001" prefix_len: 48 }} }}
           action {{ action {{ action_id: $MyIngress.{action} }} }} }}"#,
        n / 256,
        n % 256
    )
}

/// A device with a primary, whose table `route` takes 8192 entries.
fn started() -> OneSwitch {
    let program = PROGRAM.replacen("counters = hits;", "counters = hits;\n        size = 8192;", 1);
    let maker = Maker { own: Some(compiled_text(&program)), shares: true, ..maker() };
    let mut switch = OneSwitch::new(maker, 1, 1_000_000_000, None);
    switch.call(Time::ZERO, Ticket(1), Call::Start(Box::default(), vec![]));
    switch.message(Time::ZERO, StreamId(0), &arbitration(1, Some(1)));
    switch
}

/// All that a read finds, in order.
fn in_order(found: &Pieces) -> Vec<String> {
    let mut all: Vec<String> = found.entities().map(|entity| to_text(&entity).unwrap()).collect();
    all.sort_unstable();
    all
}

/// A read excluded everybody else, for as long as it took. Writes that come between its slices do not show in it (P4Runtime 1.5, "Parallelism
/// of Read and Write Requests"), whatever they do before its position and behind it.
#[test]
fn writes_come_between_the_slices_of_a_read() {
    const QUERIES: [&str; 3] =
        ["table_entry { table_id: $MyIngress.route }", "direct_counter_entry {}", "table_entry {}"];
    let now = Time::ZERO;
    let mut switch = started();
    let mut tickets = 10;
    let mut call = |switch: &mut OneSwitch, call: Call| {
        assert!(switch.makes_way(&call), "{call:?}");
        tickets += 1;
        (Ticket(tickets), switch.call(now, Ticket(tickets), call))
    };
    let write = |update: String| Call::Write(Box::new(write_request("CONTINUE_ON_ERROR", &[&update])));
    let mut there: BTreeSet<u32> = (0..6000).step_by(2).collect();
    for n in &there {
        call(&mut switch, write(format!("INSERT {}", route(*n, "drop"))));
    }
    let mut rng = Rng::new(29);
    for round in 0..6 {
        let query = QUERIES[round % 3];
        let (whole, mut events) = call(&mut switch, Call::Read(read_request(query)));
        let before = loop {
            if let Some(Event::Reply(ticket, Reply::Found(found, Ok(())))) = events.pop() {
                assert_eq!(ticket, whole);
                break in_order(&found);
            }
            events = switch.go_on(now);
        };
        assert!(before.len() > 2500);
        let (again, mut events) = call(&mut switch, Call::Read(read_request(query)));
        let (mut slices, mut written) = (0, 0);
        let found = loop {
            if let Some(Event::Reply(ticket, Reply::Found(found, Ok(())))) = events.pop() {
                assert_eq!(ticket, again);
                break found;
            }
            assert!(switch.is_busy() && switch.is_open());
            for _ in 0..20 {
                let n = rng.below(6000) as u32;
                let is_there = there.contains(&n);
                let how = match rng.below(3) {
                    0 if is_there => "DELETE",
                    _ if is_there => "MODIFY",
                    _ => "INSERT",
                };
                let action = if how == "MODIFY" { "to_cpu" } else { "drop" };
                let (ticket, done) = call(&mut switch, write(format!("{how} {}", route(n, action))));
                assert_eq!(done, [Event::Reply(ticket, Reply::Done(Ok(())))]);
                written += 1;
                if how == "DELETE" {
                    there.remove(&n)
                } else {
                    there.insert(n)
                };
            }
            // Others are answered meanwhile, too, and see what is written.
            let n = *there.first().unwrap();
            let one = route(n, "drop").replace("action { action { action_id: $MyIngress.drop } }", "");
            let (ticket, mut one) = call(&mut switch, Call::Read(read_request(&one)));
            let Some(Event::Reply(answered, Reply::Found(found, Ok(())))) = one.pop() else { panic!("{n}") };
            assert_eq!((answered, found.entities().count()), (ticket, 1));
            slices += 1;
            events = switch.go_on(now);
        };
        assert_eq!(in_order(&found), before, "{query}");
        assert!(slices >= 2 && written >= 40, "{slices} {written}");
    }
}

/// Requests that a read cannot go before wait until it is over, and so do reads of what is half written.
#[test]
fn what_a_read_depends_on_waits_for_it() {
    let now = Time::ZERO;
    let mut switch = started();
    fill(&mut switch);
    let write = |update: &str| Call::Write(Box::new(write_request("CONTINUE_ON_ERROR", &[update])));
    let group = write(
        "INSERT packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 9000 } }",
    );
    let entry = write(&format!("INSERT {}", route(1, "drop")));
    let config = || Call::SetConfig(Box::default());
    assert!(switch.makes_way(&group) && switch.makes_way(&config()) && switch.is_open());
    assert!(switch.call(now, Ticket(3), Call::Read(read_request(GROUPS))).is_empty());
    assert!(switch.is_busy() && switch.is_open());
    let wait = [group, write(DEFAULT), config(), Call::Steer(None, Steer::Reset)];
    for call in &wait {
        assert!(!switch.makes_way(call), "{call:?}");
    }
    let one = format!("INSERT {}", route(1, "drop"));
    let many = write_request("CONTINUE_ON_ERROR", &vec![one.as_str(); 20_000]);
    assert!(!switch.makes_way(&Call::Write(Box::new(many))));
    assert!(switch.makes_way(&entry) && switch.makes_way(&Call::Steer(None, Steer::Release)));
    // Reads are bounded in number; each of them is answered in the end.
    let mut readings = 1;
    while switch.makes_way(&Call::Read(read_request(GROUPS))) {
        assert!(switch.call(now, Ticket(100 + readings), Call::Read(read_request(GROUPS))).is_empty());
        readings += 1;
    }
    assert_eq!(readings, 16);
    let mut answered = 0;
    while switch.is_busy() {
        for event in switch.go_on(now) {
            let Event::Reply(_, Reply::Found(found, Ok(()))) = event else { panic!("{event:?}") };
            assert_eq!(found.entities().count(), 2500);
            answered += 1;
        }
    }
    assert_eq!(answered, 16);
    for call in &wait {
        assert!(switch.makes_way(call), "{call:?}");
    }
    // A write in slices is seen whole, or not at all.
    let long: Vec<String> = (0..900).map(|n| format!("INSERT {}", route(n, "drop"))).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let long = Call::Write(Box::new(write_request("CONTINUE_ON_ERROR", &long)));
    assert!(switch.makes_way(&long));
    switch.call(now, Ticket(4), long);
    assert!(switch.is_busy() && !switch.is_open());
    assert!(!switch.makes_way(&Call::Read(read_request(GROUPS))) && !switch.makes_way(&entry));
}
