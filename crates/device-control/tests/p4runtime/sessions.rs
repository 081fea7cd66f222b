//! Arbitration and configuration.

use crate::parts::compiled_text;
use crate::setup::{
    Bench, PROGRAM, arbitration, both, both_bare, both_keeping, info, one_device, rack, read_request,
    write_request,
};
use base_time::Time;
use controller::{Call, Reply, Steer, Ticket};
use device_control::{Controlled, Direct, Event, Served};
use expect_test::expect;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, SetForwardingPipelineConfigRequest, Uint128,
};
use p4runtime_server::StreamId;

#[test]
fn the_highest_election_id_is_primary() {
    both_bare(|mut bench| {
        let mut all = String::new();
        let mut say = |what: &str, reported: String| all += &format!("{what}\n{reported}");
        say("1 with 5", bench.message(1, &arbitration(1, Some(5))));
        say("2 with 7", bench.message(2, &arbitration(1, Some(7))));
        say("3 without", bench.message(3, &arbitration(1, None)));
        say("4 with 7", bench.message(4, &arbitration(1, Some(7))));
        say("5 for another device", bench.message(5, &arbitration(9, Some(9))));
        say("2 is gone", bench.close(2));
        say("1 with 6", bench.message(1, &arbitration(1, Some(6))));
        say("1 with 7", bench.message(1, &arbitration(1, Some(7))));
        say("1 steps down", bench.message(1, &arbitration(1, Some(2))));
        expect![[r#"
        1 with 5
        to 1: arbitration { device_id: 1 election_id { low: 5 } status { message: "this controller is the primary" } }
        2 with 7
        to 1: arbitration { device_id: 1 election_id { low: 7 } status { code: 6 message: "this controller is a backup" } }
        to 2: arbitration { device_id: 1 election_id { low: 7 } status { message: "this controller is the primary" } }
        3 without
        to 3: arbitration { device_id: 1 election_id { low: 7 } status { code: 6 message: "this controller is a backup" } }
        4 with 7
        end 4: INVALID_ARGUMENT: another controller of this role has this election id
        5 for another device
        end 5: NOT_FOUND: there is no device 9: this is 1
        2 is gone
        to 1: arbitration { device_id: 1 election_id { low: 7 } status { code: 5 message: "there is no primary" } }
        to 3: arbitration { device_id: 1 election_id { low: 7 } status { code: 5 message: "there is no primary" } }
        1 with 6
        to 1: arbitration { device_id: 1 election_id { low: 7 } status { code: 5 message: "there is no primary" } }
        1 with 7
        to 3: arbitration { device_id: 1 election_id { low: 7 } status { code: 6 message: "this controller is a backup" } }
        to 1: arbitration { device_id: 1 election_id { low: 7 } status { message: "this controller is the primary" } }
        1 steps down
        to 1: arbitration { device_id: 1 election_id { low: 7 } status { code: 5 message: "there is no primary" } }
        to 3: arbitration { device_id: 1 election_id { low: 7 } status { code: 5 message: "there is no primary" } }
    "#]].assert_eq(&all);
    });
}

fn set(bench: &mut Bench, action: Action, program: Option<&str>) -> String {
    let config = program.map(|text| ForwardingPipelineConfig {
        p4info: Some(described(text)),
        p4_device_config: text.as_bytes().to_vec().into(),
        ..ForwardingPipelineConfig::default()
    });
    bench.set_config_by(action, config)
}

/// The P4Info of a program; that of the tests' own where it is none.
fn described(text: &str) -> P4Info {
    if !text.contains("V1Switch") {
        return info();
    }
    p4info::p4info(&compiled_text(text)).unwrap()
}

const ENTRY: &str = r#"INSERT table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\001" } } action { action { action_id: $NoAction } } }"#;

#[test]
fn programs_come_and_go() {
    both_bare(|mut bench| {
        let mut all = String::new();
        bench.message(0, &arbitration(1, Some(1)));
        all += &bench.write(&[ENTRY]);
        all += &set(&mut bench, Action::Verify, Some(PROGRAM));
        all += &set(&mut bench, Action::VerifyAndCommit, Some("not P4"));
        all += &set(&mut bench, Action::Commit, None);
        all += &set(&mut bench, Action::VerifyAndSave, Some(PROGRAM));
        all += &bench.write(&[ENTRY]);
        all += &bench.read("table_entry { table_id: $MyIngress.known }");
        assert!(bench.devices().is_empty());
        all += &set(&mut bench, Action::Commit, None);
        let known =
            |device: &mut Controlled| device.switch().table_entries("MyIngress.known").map_or(0, |e| e.len());
        assert_eq!(bench.devices().into_iter().map(known).sum::<usize>(), 1);
        let counted = "MODIFY counter_entry { counter_id: $MyIngress.packets index { index: 1 } data { packet_count: 3 } }";
        all += &bench.write(&[counted]);
        all +=
            &set(&mut bench, Action::ReconcileAndCommit, Some(&PROGRAM.replace("reason = 5", "reason = 6")));
        all += &bench.read("table_entry { table_id: $MyIngress.known }");
        all += &bench.read("counter_entry { counter_id: $MyIngress.packets index { index: 1 } }");
        let smaller = PROGRAM.replace("size = 3;", "size = 0;").replace("known.apply();", "");
        all += &set(&mut bench, Action::ReconcileAndCommit, Some(&smaller));
        all += &set(&mut bench, Action::VerifyAndCommit, Some(PROGRAM));
        all += &bench.read("table_entry { table_id: $MyIngress.known }");
        let config = bench.get_config();
        assert_eq!(config.p4_device_config, PROGRAM.as_bytes());
        expect![[r#"
        FAILED_PRECONDITION: there is no program yet: set a forwarding pipeline config first
        OK
        INVALID_ARGUMENT: error[P4R0120]: expected `(`, found the end of the file
         --> p4_device_config.p4:1:7
          |
        1 | not P4
          |       ^ unexpected

        NOT_FOUND: there is no saved config: use VERIFY_AND_SAVE first
        OK
        OK
        table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\001" } } action { action { action_id: $NoAction } } }
        OK
        OK
        OK
        table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\001" } } action { action { action_id: $NoAction } } }
        counter_entry { counter_id: $MyIngress.packets index { index: 1 } data { packet_count: 3 } }
        INVALID_ARGUMENT: the existing entries do not fit the new program: entity.table_entry.table_id: there is no table 49466742: the program's P4Info does not have this id; known ids: 43142405 `MyIngress.route`, 44855257 `MyIngress.filter`, 43283160 `MyIngress.ecmp`, 37887920 `MyIngress.spread`, 46839676 `MyIngress.fixed`
        OK
    "#]].assert_eq(&all);
    });
}

/// Roles are configured in the program; some clients send a configuration that says nothing.
#[test]
fn a_role_comes_with_a_configuration_of_nothing() {
    both_bare(|mut bench| {
        let say = |bench: &mut Bench, config: &str| {
            let text = format!(
                "arbitration {{ device_id: 1 election_id {{ low: 1 }} role {{ name: \"r\" {config} }} }}"
            );
            bench.message(1, &from_text(&text).unwrap())
        };
        expect![[r#"
            to 1: arbitration { device_id: 1 role { name: "r" } election_id { low: 1 } status { message: "this controller is the primary" } }
        "#]]
        .assert_eq(&say(&mut bench, "config { type_url: \"type.googleapis.com/google.protobuf.Empty\" }"));
        expect![[r#"
            end 1: INVALID_ARGUMENT: roles are configured by `@p4runtime_role` in the program: leave `role.config` unset or empty
        "#]]
        .assert_eq(&say(&mut bench, "config { type_url: \"x/y\" value: \"\\010\\001\" }"));
    });
}

/// Section 7 of the specification: a config carries P4Info, and only the cookie is optional. Nothing looked for one that was missing,
/// since the tests' own had none.
#[test]
fn a_config_has_the_p4info_of_its_program() {
    both(|mut bench| {
        let mut push = |p4info| {
            let p4_device_config = PROGRAM.as_bytes().to_vec().into();
            let config = ForwardingPipelineConfig { p4info, p4_device_config, cookie: None };
            bench.set_config_by(Action::Verify, Some(config))
        };
        assert_eq!(push(Some(info())), "OK\n");
        expect![[r#"
            INVALID_ARGUMENT: the config has no P4Info (section 7): send the program's, as `p4rack p4info` writes it
        "#]]
        .assert_eq(&push(None));
        let empty = push(Some(P4Info::default()));
        assert!(
            empty.starts_with("INVALID_ARGUMENT: the P4Info does not match the program: the P4Info lacks "),
            "{empty}"
        );
    });
}

/// As controllers for BMv2 send a device config: `P4DeviceConfig { reassign: true, device_data: ... }`.
fn wrapped(data: &str) -> Vec<u8> {
    let mut all = vec![0x08, 1, 0x1a];
    let mut length = data.len();
    while length >= 0x80 {
        all.push(length as u8 & 0x7f | 0x80);
        length >>= 7;
    }
    all.push(length as u8);
    all.extend_from_slice(data.as_bytes());
    all
}

const JSON: &str = "{ \"header_types\": [], \"pipelines\": [] }";

#[test]
fn controllers_for_bmv2_are_reported_what_to_send() {
    let push = |bench: &mut Bench, action, p4_device_config: Vec<u8>| {
        let config = ForwardingPipelineConfig {
            p4info: Some(info()),
            p4_device_config: p4_device_config.into(),
            cookie: None,
        };
        bench.set_config_by(action, Some(config))
    };
    both(|mut bench| {
        assert_eq!(bench.write(&[ENTRY]), "OK\n");
        for json in [JSON.as_bytes().to_vec(), wrapped(JSON)] {
            expect![[r#"
                INVALID_ARGUMENT: `p4_device_config` is BMv2 JSON: give P4 source, as `p4rack compile` writes it; a switch that is started with `--keep-program` takes JSON and keeps the program that runs
            "#]]
            .assert_eq(&push(&mut bench, Action::VerifyAndCommit, json));
        }
        // The refused request has changed nothing; the wrapper around a program is taken off.
        assert_eq!(bench.read("table_entry { table_id: $MyIngress.known }").lines().count(), 1);
        assert_eq!(push(&mut bench, Action::VerifyAndCommit, wrapped(PROGRAM)), "OK\n");
        assert_eq!(bench.get_config().p4_device_config, wrapped(PROGRAM));
        assert_eq!(bench.read("table_entry { table_id: $MyIngress.known }"), "");
    });
    both_keeping(|mut bench| {
        assert_eq!(bench.write(&[ENTRY]), "OK\n");
        assert_eq!(push(&mut bench, Action::VerifyAndCommit, wrapped(JSON)), "OK\n");
        // The program is the one that ran, and new; what was pushed is what is read.
        assert_eq!(bench.read("table_entry { table_id: $MyIngress.known }"), "");
        assert_eq!(bench.write(&[ENTRY]), "OK\n");
        assert_eq!(bench.get_config().p4_device_config, wrapped(JSON));
        assert_eq!(bench.steer(controller::Steer::Reset), "OK\n");
        assert_eq!(bench.get_config().p4_device_config, wrapped(JSON));
        assert_eq!(bench.read("table_entry { table_id: $MyIngress.known }").lines().count(), 1);
        // A program is taken as ever, and then that is the one that is kept.
        let other = PROGRAM.replace("reason = 5", "reason = 6");
        assert_eq!(push(&mut bench, Action::VerifyAndCommit, other.into_bytes()), "OK\n");
        assert_eq!(push(&mut bench, Action::ReconcileAndCommit, JSON.as_bytes().to_vec()), "OK\n");
    });
}

/// A device and a rack do a large write in slices, and end alike.
#[test]
fn a_large_write_is_done_in_slices() {
    both(|mut bench| {
        let entity = |n: usize| {
            format!(
                "table_entry {{ table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: \"\\016\\{:03o}\\{:03o}\\001\\001\\001\" \
                 prefix_len: 48 }} }} action {{ action {{ action_id: $MyIngress.drop }} }} }}",
                n / 256,
                n % 256
            )
        };
        let inserts: Vec<String> = (0..900).map(|n| format!("INSERT {}", entity(n))).collect();
        let mut updates: Vec<&str> = inserts.iter().map(String::as_str).collect();
        let before = bench.read("table_entry {}");
        // The last one is there already: all are undone.
        updates.push(&inserts[0]);
        let reported = bench.write_with("ROLLBACK_ON_ERROR", &updates);
        assert_eq!(reported.matches("ABORTED rolled back").count(), 900, "{reported}");
        assert_eq!(reported.matches("ALREADY_EXISTS").count(), 1, "{reported}");
        assert_eq!(bench.read("table_entry {}"), before);
        let reported = bench.write_with("CONTINUE_ON_ERROR", &updates);
        assert_eq!(
            (
                reported.lines().filter(|line| *line == "OK").count(),
                reported.matches("ALREADY_EXISTS").count()
            ),
            (900, 1),
            "{reported}"
        );
        assert_eq!(bench.read("table_entry {}").lines().count(), before.lines().count() + 900);
        let deletes: Vec<String> = (0..900).map(|n| format!("DELETE {}", entity(n))).collect();
        let deletes: Vec<&str> = deletes.iter().map(String::as_str).collect();
        assert_eq!(bench.write_with("ROLLBACK_ON_ERROR", &deletes), "OK\n");
        assert_eq!(bench.read("table_entry {}"), before);
    });
}

/// A device, and a rack, with a primary controller.
fn served() -> [Box<dyn Served>; 2] {
    let mut both: [Box<dyn Served>; 2] = [Box::new(one_device()), Box::new(rack(Direct))];
    for switch in &mut both {
        switch.call(Time::ZERO, Ticket(1), Call::Start(Box::default(), vec![]));
        switch.message(Time::ZERO, StreamId(0), &arbitration(1, Some(1)));
    }
    both
}

/// Frames are for the controller from the first of these updates on.
pub(crate) const DEFAULT: &str = "MODIFY table_entry { table_id: $MyIngress.route is_default_action: true action { action { action_id: $MyIngress.to_cpu } } }";

/// Racks did a write at once, whatever its length.
#[test]
fn frames_pass_between_the_slices_of_a_write() {
    // A rack looks at each update, does it to what the device is to hold, and has the device do it.
    for (mut switch, wanted) in served().into_iter().zip([3, 7]) {
        let now = Time::ZERO;
        let write = Box::new(write_request("CONTINUE_ON_ERROR", &[DEFAULT; 1200]));
        assert!(switch.call(now, Ticket(2), Call::Write(write)).is_empty());
        let mut slices = 0;
        let (ended, reported) = loop {
            assert!(switch.is_busy());
            let reported = switch.frame(now, 3, &[1; 60]);
            slices += 1;
            if let Some(event) = switch.go_on(now).pop() {
                break (event, reported);
            }
        };
        assert!(matches!(reported[..], [Event::Send(..)]), "{reported:?}");
        assert_eq!((ended, slices), (Event::Reply(Ticket(2), Reply::Done(Ok(()))), wanted));
        assert!(!switch.is_busy());
    }
}

/// When a write ended, and when its first update had failed, what was left of it was dropped at once.
#[test]
fn what_a_long_write_leaves_goes_in_slices() {
    const MISSING: &str = "DELETE table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: \"\\016\" prefix_len: 48 } } }";
    // Updates are done in slices of 512, and dropped in slices of 4096.
    for (mut switch, least) in served().into_iter().zip([[44, 40], [92, 40]]) {
        let slices = [DEFAULT, MISSING].map(|first| {
            let mut write = write_request("ROLLBACK_ON_ERROR", &[first, DEFAULT]);
            let again = write.updates[1].clone();
            write.updates.resize(20_000, again);
            assert!(switch.call(Time::ZERO, Ticket(2), Call::Write(Box::new(write))).is_empty());
            let mut slices = 1;
            while switch.go_on(Time::ZERO).is_empty() {
                slices += 1;
            }
            assert!(!switch.is_busy());
            slices
        });
        assert!(slices.iter().zip(least).all(|(slices, least)| *slices >= least), "{slices:?}");
    }
}

/// A rack sent a device all updates of a batch at once, which does so many in slices: frames saw some of them.
#[test]
fn no_frame_sees_some_of_an_atomic_batch() {
    for mut switch in served() {
        let now = Time::ZERO;
        let write = Box::new(write_request("DATAPLANE_ATOMIC", &[DEFAULT; 1200]));
        let mut events = switch.call(now, Ticket(2), Call::Write(write));
        let mut sent = 0;
        while switch.is_busy() {
            let passed = switch.frame(now, 3, &[1; 60]);
            // Before it begins they go where they went, after that they wait.
            assert!(!matches!(passed[..], [Event::Send(..)]), "{passed:?}");
            sent += usize::from(passed.is_empty());
            events.extend(switch.go_on(now));
        }
        let reported = events.iter().filter(|event| matches!(event, Event::Send(..))).count();
        assert!(reported <= sent, "{reported} of {sent}");
        assert!(events.contains(&Event::Reply(Ticket(2), Reply::Done(Ok(())))), "{events:?}");
        assert!(matches!(switch.frame(now, 3, &[1; 60])[..], [Event::Send(..)]));
    }
}

/// A plan prepared ahead is the plan that runs, and its epoch is used once.
#[test]
fn programs_are_prepared_beside_frames() {
    for mut switch in served() {
        let other = PROGRAM.replace("reason = 5", "reason = 6");
        let request = |text: &str| SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            action: Action::ReconcileAndCommit as i32,
            config: Some(ForwardingPipelineConfig {
                p4_device_config: text.as_bytes().to_vec().into(),
                p4info: Some(info()),
                ..ForwardingPipelineConfig::default()
            }),
            ..SetForwardingPipelineConfigRequest::default()
        };
        let mut stranger = request(&other);
        stranger.election_id = None;
        let call = |request| Call::SetConfig(Box::new(request));
        assert!(switch.answers().ahead(&call(stranger)).is_none(), "who may not push has nothing compiled");
        for text in [other.as_str(), "parser p("] {
            let work = switch.answers().ahead(&call(request(text))).unwrap();
            work();
            let mut events = switch.call(Time::ZERO, Ticket(2), call(request(text)));
            while switch.is_busy() {
                events.extend(switch.go_on(Time::ZERO));
            }
            let is_right = text == other;
            let [Event::Reply(_, Reply::Done(ended))] = &events[..] else { panic!("{events:?}") };
            assert_eq!(ended.is_ok(), is_right, "{ended:?}");
            let running =
                switch.answers().get_config(&GetForwardingPipelineConfigRequest::default()).unwrap();
            assert_eq!(running.config.unwrap().p4_device_config, other.as_bytes());
        }
    }
}

/// Compiling for `reset` and `replace` once blocked the thread that owned the switch.
#[test]
fn what_operators_ask_is_prepared_beside_frames() {
    // The machine code of a device's own program is kept.
    for (mut switch, takes_long) in served().into_iter().zip([[true, false, false, false], [true; 4]]) {
        let replace = |device: &str| Steer::Replace([("Cells".to_string(), device.to_string())].into());
        let stranger = Some(Uint128 { high: 0, low: 9 });
        for steer in [Steer::Reset, replace("nic")] {
            assert!(switch.answers().ahead(&Call::Steer(stranger, steer)).is_none());
        }
        let nowhere = Call::Steer(None, replace("nowhere"));
        assert!(switch.answers().ahead(&nowhere).is_none(), "the call says why not");
        let all = [Steer::Reset, replace("nic"), replace("tor"), Steer::Reset];
        for (steer, takes_long) in all.into_iter().zip(takes_long) {
            let call = Call::Steer(None, steer.clone());
            let work = switch.answers().ahead(&call);
            assert_eq!(work.is_some(), takes_long, "{steer:?}");
            if let Some(work) = work {
                work();
                let mut events = switch.call(Time::ZERO, Ticket(2), call);
                while switch.is_busy() {
                    events.extend(switch.go_on(Time::ZERO));
                }
                assert_eq!(events, [Event::Reply(Ticket(2), Reply::Done(Ok(())))], "{steer:?}");
            }
        }
    }
}

pub(crate) const GROUPS: &str = "packet_replication_engine_entry { multicast_group_entry {} }";

/// Writes 2500 groups, and [`DEFAULT`].
pub(crate) fn fill(switch: &mut dyn Served) {
    let group = |n: u32| {
        format!(
            "INSERT packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {n} }} }}"
        )
    };
    let groups: Vec<String> = (1..=2500).map(group).chain([DEFAULT.to_string()]).collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let write = write_request("CONTINUE_ON_ERROR", &groups);
    switch.call(Time::ZERO, Ticket(2), Call::Write(Box::new(write)));
    while switch.is_busy() {
        switch.go_on(Time::ZERO);
    }
}

/// A reset, and a program that takes the entries over, wrote all of them at once.
#[test]
fn frames_pass_between_the_slices_of_a_replay() {
    // A rack writes what the whole is to hold, and reads that for its devices; it also goes on when a device reports a packet.
    for (mut switch, least) in served().into_iter().zip([19, 20]) {
        let now = Time::ZERO;
        fill(&mut *switch);
        let config = switch.answers().get_config(&Default::default()).unwrap().config;
        let again = "device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT";
        let again: SetForwardingPipelineConfigRequest = from_text(again).unwrap();
        let again = SetForwardingPipelineConfigRequest { config, ..again };
        for call in [Call::Steer(None, Steer::Reset), Call::SetConfig(Box::new(again))] {
            let mut events = switch.call(now, Ticket(3), call);
            let mut passed = 0;
            while switch.is_busy() {
                assert!(events.is_empty(), "{events:?}");
                passed += switch.frame(now, 3, &[1; 60]).len();
                events = switch.go_on(now);
            }
            assert!(passed >= least, "{passed}");
            let is_done = |event: &Event| *event == Event::Reply(Ticket(3), Reply::Done(Ok(())));
            assert!(events.iter().any(is_done), "{events:?}");
            let mut events = switch.call(now, Ticket(4), Call::Read(read_request(GROUPS)));
            while switch.is_busy() {
                events.extend(switch.go_on(now));
            }
            let Some(Event::Reply(Ticket(4), Reply::Found(found, Ok(())))) = events.pop() else { panic!() };
            assert_eq!(found.entities().count(), 2500);
        }
    }
}

/// All of a table was read at once, whatever its size.
#[test]
fn frames_pass_between_the_slices_of_a_read() {
    // A rack's controller goes on when a device reports a packet, too.
    for (mut switch, wanted) in served().into_iter().zip([3, 2]) {
        let now = Time::ZERO;
        fill(&mut *switch);
        let read = read_request(GROUPS);
        assert!(switch.call(now, Ticket(3), Call::Read(read)).is_empty());
        let mut slices = 1;
        let found = loop {
            assert!(switch.is_busy());
            assert!(matches!(switch.frame(now, 3, &[1; 60])[..], [Event::Send(..)]));
            slices += 1;
            if let Some(Event::Reply(Ticket(3), Reply::Found(found, Ok(())))) = switch.go_on(now).pop() {
                break found;
            }
        };
        assert_eq!((found.entities().count(), slices), (2500, wanted));
    }
}
