//! Reads beside writes.

use crate::parts::compiled_text;
use crate::sessions::{DEFAULT, GROUPS, fill};
use crate::setup::{PROGRAM, arbitration, maker, rack_of, read_request, write_request};
use base_time::{Duration, Rng, Time};
use controller::{Call, Reply, Steer, Ticket};
use device_control::{Direct, Event, Maker, OneSwitch, RackSwitch, Served};
use p4runtime_proto::p4::v1::SetForwardingPipelineConfigRequest;
use p4runtime_proto::{from_text, to_text};
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
/// of Read and Write Requests"), whatever they do before its position and after it.
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

/// Writes to a rack waited while its devices reported counters, however many these were.
#[test]
fn writes_come_while_a_rack_gathers_counters() {
    let now = Time::ZERO;
    let program = PROGRAM.replacen("counters = hits;", "counters = hits;\n        size = 8192;", 1);
    let mut switch = rack_of(Maker { own: Some(compiled_text(&program)), ..maker() }, Direct);
    let settle = |switch: &mut RackSwitch<Direct>, mut events: Vec<Event>| {
        while switch.is_busy() {
            events.extend(switch.go_on(now));
        }
        events
    };
    let begun = switch.call(now, Ticket(1), Call::Start(Box::default(), vec![]));
    settle(&mut switch, begun);
    switch.message(now, StreamId(0), &arbitration(1, Some(1)));
    let inserts: Vec<String> = (0..4000).map(|n| format!("INSERT {}", route(n, "drop"))).collect();
    let inserts: Vec<&str> = inserts.iter().map(String::as_str).collect();
    let fill = Call::Write(Box::new(write_request("ROLLBACK_ON_ERROR", &inserts)));
    let begun = switch.call(now, Ticket(2), fill);
    assert!(settle(&mut switch, begun).contains(&Event::Reply(Ticket(2), Reply::Done(Ok(())))));
    let mut events = switch.call(now, Ticket(3), Call::Read(read_request("direct_counter_entry {}")));
    // Some of them have been reported.
    (0..2).for_each(|_| events.extend(switch.go_on(now)));
    let deletes = [0, 3999].map(|n| format!("DELETE {}", route(n, "drop")));
    let write = write_request("ROLLBACK_ON_ERROR", &deletes.each_ref().map(String::as_str));
    events.extend(switch.call(now, Ticket(4), Call::Write(Box::new(write))));
    while events.is_empty() {
        assert!(switch.is_busy());
        events.extend(switch.go_on(now));
    }
    assert!(matches!(events[..], [Event::Reply(Ticket(4), Reply::Done(Ok(())))]), "the read goes on");
    let _ = settle(&mut switch, vec![]);
    let later = switch.tick(now + Duration::from_ms(1));
    let Some(Event::Reply(Ticket(3), Reply::Found(found, Ok(())))) = settle(&mut switch, later).pop() else {
        panic!("the read has no answer")
    };
    assert_eq!(found.entities().count(), 3998);
}

/// Writes wait for a read that has not begun their entities or has many to read ahead; reads wait for a write that is half done.
#[test]
fn what_a_read_depends_on_waits_for_it() {
    let now = Time::ZERO;
    let mut switch = started();
    fill(&mut switch);
    let write = |updates: &[&str]| Call::Write(Box::new(write_request("CONTINUE_ON_ERROR", updates)));
    let group = |how: &str, n: u32| {
        format!(
            "{how} packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {n} }} }}"
        )
    };
    let entry = write(&[&format!("INSERT {}", route(1, "drop"))]);
    let config = || Call::SetConfig(Box::default());
    assert!(switch.makes_way(&config()) && switch.is_open());
    assert!(switch.call(now, Ticket(3), Call::Read(read_request(GROUPS))).is_empty());
    assert!(switch.is_busy() && switch.is_open());
    let wait = [config(), Call::Steer(None, Steer::Reset)];
    for call in &wait {
        assert!(!switch.makes_way(call), "{call:?}");
    }
    let one = format!("INSERT {}", route(1, "drop"));
    assert!(!switch.makes_way(&write(&vec![one.as_str(); 20_000])));
    assert!(switch.makes_way(&entry) && switch.makes_way(&Call::Steer(None, Steer::Release)));
    // Reads are bounded in number; each of them is answered in the end, as it was when it began.
    let mut readings = 1;
    while switch.makes_way(&Call::Read(read_request(GROUPS))) {
        assert!(switch.call(now, Ticket(100 + readings), Call::Read(read_request(GROUPS))).is_empty());
        readings += 1;
    }
    assert_eq!(readings, 16);
    let others = [group("DELETE", 2400), group("INSERT", 9000), DEFAULT.to_string()];
    let others = write(&others.each_ref().map(String::as_str));
    assert!(switch.makes_way(&others));
    assert_eq!(switch.call(now, Ticket(5), others), [Event::Reply(Ticket(5), Reply::Done(Ok(())))]);
    let mut answered = 0;
    while switch.is_busy() {
        for event in switch.go_on(now) {
            let Event::Reply(_, Reply::Found(found, Ok(()))) = event else { panic!("{event:?}") };
            let all = in_order(&found);
            let has = |n: u32| all.iter().any(|group| group.contains(&format!("multicast_group_id: {n}")));
            assert_eq!((all.len(), has(2400), has(9000)), (2500, true, false));
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
    let long = write(&long);
    assert!(switch.makes_way(&long));
    switch.call(now, Ticket(4), long);
    assert!(switch.is_busy());
    assert!(!switch.makes_way(&Call::Read(read_request(GROUPS))) && !switch.makes_way(&entry));
}

/// Everything that a switch holds.
fn everything(switch: &mut OneSwitch) -> Vec<String> {
    let profile = "entities { action_profile_member {} } entities { action_profile_group {} }";
    let all = format!(
        "device_id: 1 entities {{ table_entry {{ counter_data {{}} meter_config {{}} }} }} entities {{ table_entry {{ is_default_action: true }} }} \
         {profile} entities {{ {GROUPS} }} entities {{ counter_entry {{}} }} entities {{ register_entry {{}} }}"
    );
    let mut events = switch.call(Time::ZERO, Ticket(7), Call::Read(from_text(&all).unwrap()));
    while events.is_empty() {
        events = switch.go_on(Time::ZERO);
    }
    let Some(Event::Reply(_, Reply::Found(found, Ok(())))) = events.pop() else { panic!() };
    in_order(&found)
}

/// The program is built anew while controllers write: what they write is in it, and nothing else is. All requests waited until it was over.
#[test]
fn requests_come_between_the_slices_of_a_new_program() {
    let now = Time::ZERO;
    let done = |ticket: Ticket| Event::Reply(ticket, Reply::Done(Ok(())));
    for takes_along in [false, true] {
        // The same writes, to a switch that goes on as it is.
        let (mut switch, mut plain) = (started(), started());
        let write = |switch: &mut OneSwitch, updates: &[&str]| {
            let call = Call::Write(Box::new(write_request("CONTINUE_ON_ERROR", updates)));
            assert!(switch.makes_way(&call) && switch.makes_way(&call), "asked twice, it is as asked once");
            let mut events = switch.call(now, Ticket(9), call);
            // A long one is done in slices, beside the new program.
            while !events.contains(&done(Ticket(9))) {
                assert!(switch.is_busy(), "{events:?}");
                events = switch.go_on(now);
            }
        };
        let first: Vec<String> = (0..3000).map(|n| format!("INSERT {}", route(n * 2, "drop"))).collect();
        let first: Vec<&str> = first.iter().map(String::as_str).collect();
        for switch in [&mut switch, &mut plain] {
            fill(switch);
            write(switch, &first);
            let count = "counter_data { packet_count: 5 byte_count: 7 }";
            for n in [0, 2000] {
                let of = route(n, "drop").replacen("match", &format!("{count} match"), 1);
                write(switch, &[&format!("MODIFY {of}")]);
            }
        }
        let config = switch.answers().get_config(&Default::default()).unwrap().config;
        let again: SetForwardingPipelineConfigRequest =
            from_text("device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT").unwrap();
        let call = match takes_along {
            false => Call::Steer(None, Steer::Reset),
            true => Call::SetConfig(Box::new(SetForwardingPipelineConfigRequest { config, ..again })),
        };
        assert!(switch.makes_way(&call));
        assert_eq!(switch.call(now, Ticket(8), call.clone()), []);
        let mut there: BTreeSet<u32> = (0..6000).step_by(2).collect();
        let (mut rng, mut slices) = (Rng::new(29), 0);
        loop {
            assert!(switch.is_busy() && switch.is_open() && !switch.makes_way(&call));
            // While entries are copied; changes made meanwhile are repeated afterwards.
            for _ in 0..if slices < 30 { 4 } else { 0 } {
                let n = rng.below(6000) as u32;
                let how = match rng.below(3) {
                    0 if there.contains(&n) => "DELETE",
                    _ if there.contains(&n) => "MODIFY",
                    _ => "INSERT",
                };
                let mut updates = vec![format!("{how} {}", route(n, "to_cpu"))];
                if n.is_multiple_of(16) {
                    let group = format!("multicast_group_entry {{ multicast_group_id: {} }}", 1 + n % 2500);
                    updates.push(format!("DELETE packet_replication_engine_entry {{ {group} }}"));
                    updates.push(format!("INSERT packet_replication_engine_entry {{ {group} }}"));
                }
                let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
                [&mut switch, &mut plain].into_iter().for_each(|switch| write(switch, &updates));
                if how == "DELETE" {
                    there.remove(&n)
                } else {
                    there.insert(n)
                };
            }
            slices += 1;
            // Frames count on the old program until the last slice, and nothing of that is lost.
            if takes_along {
                let n = [0, 2000][slices % 2];
                let frame = [&[14, (n / 256) as u8, (n % 256) as u8, 1, 1, 1][..], &[2; 54]].concat();
                [&mut switch, &mut plain].into_iter().for_each(|switch| drop(switch.frame(now, 3, &frame)));
            }
            let rests = switch.wants_rest();
            let is_done = switch.go_on(now).contains(&done(Ticket(8)));
            assert_eq!(is_done, rests, "whoever has workers pauses them in time");
            if is_done {
                break;
            }
        }
        assert!(slices > 40, "{slices}");
        if !takes_along {
            // Counts are reset, except those that were written meanwhile.
            let reset = |all: Vec<String>| -> Vec<String> {
                all.into_iter()
                    .map(|one| one.replace("packet_count: 5", "").replace("byte_count: 7", ""))
                    .collect()
            };
            let squeezed = |all: Vec<String>| -> BTreeSet<String> {
                all.iter().map(|one| one.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
            };
            assert_eq!(squeezed(reset(everything(&mut switch))), squeezed(reset(everything(&mut plain))));
            continue;
        }
        assert_eq!(everything(&mut switch), everything(&mut plain));
    }
}

/// A controller that writes as fast as it can does not keep a new program from running.
#[test]
fn a_new_program_runs_in_the_end() {
    let now = Time::ZERO;
    let mut switch = started();
    let first: Vec<String> = (0..6000).map(|n| format!("INSERT {}", route(n, "drop"))).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let write = |updates: &[&str]| write_request("CONTINUE_ON_ERROR", updates);
    let mut events = switch.call(now, Ticket(3), Call::Write(Box::new(write(&first))));
    while switch.is_busy() {
        events.extend(switch.go_on(now));
    }
    assert_eq!(switch.call(now, Ticket(8), Call::Steer(None, Steer::Reset)), []);
    let batch: Vec<String> = (0..500).map(|n| format!("MODIFY {}", route(n, "to_cpu"))).collect();
    let batch = write(&batch.iter().map(String::as_str).collect::<Vec<_>>());
    let batch = || Call::Write(Box::new(batch.clone()));
    let (mut written, mut slices) = (0, 0);
    while switch.is_busy() {
        if switch.makes_way(&batch()) {
            switch.call(now, Ticket(9), batch());
            written += 1;
        }
        slices += 1;
        assert!(slices < 2000, "{written}");
        switch.go_on(now);
    }
    assert!(written >= 20, "{written} in {slices}");
}

/// One read that searched a table of 20,000 entries 256 times kept everybody else waiting for 4.6 s.
#[test]
fn a_read_searches_a_bounded_number_of_entities() {
    let mut switch = started();
    let queries = |count: u32| {
        let query = |n: u32| format!("table_entry {{ table_id: $MyIngress.route priority: {n} }}");
        (1..=count).map(query).collect::<Vec<_>>().join(" } entities { ")
    };
    let mut read = |queries: String| {
        let mut events = switch.call(Time::ZERO, Ticket(3), Call::Read(read_request(&queries)));
        while events.is_empty() {
            events = switch.go_on(Time::ZERO);
        }
        match events.pop() {
            Some(Event::Reply(_, Reply::Found(found, ended))) => ended.map(|()| found.entities().count()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(queries(256)), Ok(0));
    let refused = read(queries(257)).unwrap_err();
    assert!(refused.message.contains("the different queries search more than"), "{refused}");
    // Each of them counts once.
    let twice = format!("{} }} entities {{ {}", queries(200), queries(200));
    assert_eq!(read(twice), Ok(0));
}
