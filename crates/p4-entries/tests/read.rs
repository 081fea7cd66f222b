//! Files of entries as users write them, and with mistakes.

use base_diag::{SourceMap, Span, Style, render};
use base_time::Rng;
use expect_test::{Expect, expect};
use p4_entries::{Keys, Match, Statement, read_commands, read_runtime, read_toml};

type Read = fn(&str, u32) -> (Vec<Statement>, Vec<base_diag::Diagnostic>);

/// Checks the diagnostics of a text.
fn check(read: Read, text: &str, expect: Expect) {
    let mut map = SourceMap::new();
    let file = map.add_file("entries", text, Span::NONE).unwrap();
    let (_, problems) = read(text, map.file(file).unwrap().base());
    let reported: Vec<String> = problems.iter().map(|d| render(d, &map, Style::Plain)).collect();
    expect.assert_eq(&reported.join("\n"));
}

const TOML: &str = r#"
[[table."ingress.routes"]]
key = { dst = "10.0.0.0/8", src = "0x10 &&& 0xf0", port = "1..5" }
action = "forward"
args = { port = 0x1f, mac = "02:00:00:00:00:01" }
priority = 7
idle_timeout = "1.5s"
meter = { committed = 100, burst = 5, peak = 200, peak_burst = 10 }

[[table.ecmp]]
key = [5]
group = "both"

[default]
routes = { action = "drop" }
acl = "NoAction"

[[member]]
profile = "ecmp"
name = "left"
action = "forward"
args = [1]

[[group]]
profile = "ecmp"
name = "both"
members = ["left"]

[[multicast]]
group = 1
members = [1, { port = 2, rid = 3 }]

[[clone]]
session = 5
port = 6

[register.seen]
0 = 5

[counter.all]
3 = { packets = 1, bytes = 64 }

[meter.m]
all = { committed = 100, burst = 5, peak = 200, peak_burst = 10 }

[value_set]
types = [0x0800, [1, "2 &&& 3"]]
"#;

const COMMANDS: &str = "
table_add routes forward 10.0.0.0/8 0x10&&&0xf0 1->5 => 0x1f 02:00:00:00:00:01 7
table_set_default acl NoAction
act_prof_create_member ecmp forward 1
act_prof_create_group ecmp
act_prof_add_member_to_group ecmp 0 0
table_indirect_add_with_group ecmp 5 => 0
mirroring_add 5 6  # to the collector
mc_mgrp_create 1
register_write seen 0 5
meter_set_rates m 0 0.1:5 0.2:10
pvs_add types 0x0800
";

#[test]
fn everything_is_read() {
    let (statements, problems) = read_toml(TOML, 1);
    assert_eq!(problems, []);
    assert_eq!(statements.len(), 13);
    let entry = statements.iter().find_map(|s| match s {
        Statement::Entry { idle_timeout: Some(timeout), rates: Some(rates), .. } => {
            Some((timeout.to_string(), rates.committed.per_gigamicrosecond, rates.peak.burst))
        }
        _ => None,
    });
    assert_eq!(entry, Some(("1.5s".to_string(), 100_000, 10)));
    let (statements, problems) = read_commands(COMMANDS, 1);
    assert_eq!(problems, []);
    assert_eq!(statements.len(), 11);
}

#[test]
fn mistakes_in_toml() {
    check(
        read_toml,
        "[[table.t]]\nkey = [1\n",
        expect![[r#"
        error[P4R0440]: unclosed array
         --> entries:2:9
          |
        2 | key = [1
          |         ^ expected `]`
    "#]],
    );
    check(
        read_toml,
        "[[table.t]]\nkey = [1.5]\naction = 3\nprioriti = 1\n",
        expect![[r#"
        error[P4R0440]: expected a match
         --> entries:2:8
          |
        2 | key = [1.5]
          |        ^^^ this is of type float
          |
          = help: for example: "10.0.0.0/8"

        error[P4R0440]: expected a name
         --> entries:3:10
          |
        3 | action = 3
          |          ^ this is of type integer
          |
          = help: for example: "drop"

        error[P4R0440]: unknown key `prioriti`
         --> entries:4:1
          |
        4 | prioriti = 1
          | ^^^^^^^^ this entry has no such key
          |
          = help: did you mean `priority`?
    "#]],
    );
    check(
        read_toml,
        "[table.t]\nkey = [1]\n",
        expect![[r#"
        error[P4R0440]: expected an array
         --> entries:1:1
          |
        1 | [table.t]
          | ^^^^^^^^^ this is of type table
          |
          = help: for example: `[[table.NAME]]` before each entry
    "#]],
    );
    check(
        read_toml,
        "[[clone]]\nsession = -1\n[[multicast]]\ngroup = 1\n",
        expect![[r#"
        error[P4R0440]: `port` is missing
         --> entries:1:1
          |
        1 | [[clone]]
          | ^^^^^^^^^ a session sends its clones to a `port` or a `group`

        error[P4R0440]: this is not a number
         --> entries:2:11
          |
        2 | session = -1
          |           ^^ `-1` is not a number or address

        error[P4R0440]: `members` is missing
         --> entries:3:1
          |
        3 | [[multicast]]
          | ^^^^^^^^^^^^^ this multicast group has no `members`
          |
          = help: for example: `members = [1, 2]`
    "#]],
    );
    check(
        read_toml,
        "[register.r]\nx = 1\n",
        expect![[r#"
        error[P4R0440]: this names no cell
         --> entries:2:1
          |
        2 | x = 1
          | ^ write a cell's number
    "#]],
    );
}

#[test]
fn mistakes_in_timeouts_and_rates() {
    let entry = "[[table.t]]\nkey = [1]\naction = \"a\"\n";
    check(
        read_toml,
        &format!("{entry}idle_timeout = 5\nmeter = {{ committed = 1, burst = 1, peak = 2 }}\n"),
        expect![[r#"
            error[P4R0440]: expected a time
             --> entries:4:16
              |
            4 | idle_timeout = 5
              |                ^ this is of type integer
              |
              = help: for example: "5ms"

            error[P4R0440]: `peak_burst` is missing
             --> entries:5:9
              |
            5 | meter = { committed = 1, burst = 1, peak = 2 }
              |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this meter has no `peak_burst`
              |
              = help: for example: `peak_burst = 10`
        "#]],
    );
    check(
        read_toml,
        &format!("{entry}idle_timeout = \"5 parsecs\"\nmeter = 7\n"),
        expect![[r#"
        error[P4R0440]: this is not a time
         --> entries:4:16
          |
        4 | idle_timeout = "5 parsecs"
          |                ^^^^^^^^^^^ unknown unit `parsecs`: known are ps, ns, us, ms, s, min, h

        error[P4R0440]: expected a table
         --> entries:5:9
          |
        5 | meter = 7
          |         ^ this is of type integer
          |
          = help: for example: { port = 1 }
    "#]],
    );
}

#[test]
fn mistakes_in_commands() {
    check(
        read_commands,
        "table_ad t a 1 => 2\n",
        expect![[r#"
        error[P4R0440]: `table_ad` is not a command that writes to a device
         --> entries:1:1
          |
        1 | table_ad t a 1 => 2
          | ^^^^^^^^ not supported here
          |
          = help: did you mean `table_add`?
    "#]],
    );
    check(
        read_commands,
        "set_queue_rate 100\n",
        expect![[r#"
            warning[P4R0445]: `set_queue_rate` is skipped
             --> entries:1:1
              |
            1 | set_queue_rate 100
              | ^^^^^^^^^^^^^^ a rack's links have rates: `docs/emulator.md`
        "#]],
    );
    check(
        read_commands,
        "table_add t\ntable_add t a 1\ntable_add t a 1/x =>\n",
        expect![[r#"
        error[P4R0440]: this command is too short
         --> entries:1:1
          |
        1 | table_add t
          | ^^^^^^^^^^^ the action is missing

        error[P4R0440]: `=>` is missing
         --> entries:2:1
          |
        2 | table_add t a 1
          | ^^^^^^^^^^^^^^^ `=>` separates keys from arguments

        error[P4R0440]: this is not a match
         --> entries:3:15
          |
        3 | table_add t a 1/x =>
          |               ^^^ `x` is not a prefix length
    "#]],
    );
    check(
        read_commands,
        "act_prof_add_member_to_group p 0 0\nmirroring_add 1\n",
        expect![[r#"
            error[P4R0440]: there is no such member
             --> entries:1:32
              |
            1 | act_prof_add_member_to_group p 0 0
              |                                ^ no line above makes it

            error[P4R0420]: expected a number
             --> entries:2:16
              |
            2 | mirroring_add 1
              |                ^ such as `12`, `0x1f`, `0b1*0`
        "#]],
    );
}

#[test]
fn no_text_makes_it_panic() {
    let mut rng = Rng::new(7).split("entries");
    let pieces = [
        "[[", "]]", "table", ".", "key", "=", "\"", "&&&", "/", "..", "->", "=>", "\n", "0x", "é", "{", "}",
        ":", "-",
    ];
    for round in 0..3_000usize {
        let (source, read): (&str, Read) =
            if round % 2 == 0 { (TOML, read_toml) } else { (COMMANDS, read_commands) };
        let mut chars: Vec<char> = source.chars().collect();
        for _ in 0..rng.between(1, 5) {
            let at = rng.between(0, chars.len() as u64 - 1) as usize;
            let to = (at + rng.between(0, 12) as usize).min(chars.len());
            let piece = pieces[rng.between(0, pieces.len() as u64 - 1) as usize];
            chars.splice(at..to, piece.chars());
        }
        read(&chars.into_iter().collect::<String>(), 1);
    }
}

#[test]
fn a_runtime_file_of_the_tutorials_is_read() {
    let text = r#"{
      "target": "bmv2", "p4info": "a", "bmv2_json": "b",
      "table_entries": [
        { "table": "t", "match": { "a": ["10.0.1.1", 32], "b": [5], "c": "08:00:00:00:01:00" }, "action_name": "f", "action_params": { "port": 1 }, "priority": 3 },
        { "table": "t", "default_action": true, "action_name": "g" } ],
      "multicast_group_entries": [ { "multicast_group_id": 1, "replicas": [ { "egress_port": 1, "instance": 2 } ] } ],
      "clone_session_entries": [ { "clone_session_id": 5, "replicas": [ { "egress_port": 6 }, { "egress_port": 7 } ], "packet_length_bytes": 128 } ]
    }"#;
    let (statements, problems) = read_runtime(text, 1);
    assert_eq!(problems, []);
    let [
        Statement::Entry { keys: Keys::Named(keys), priority: Some(3), .. },
        Statement::Default { .. },
        multicast,
        clone,
    ] = statements.as_slice()
    else {
        panic!("{statements:?}");
    };
    let number = |text: &str| p4_entries::parse_number(text).unwrap();
    let values: Vec<&Match> = keys.iter().map(|(_, value)| &value.value).collect();
    let mac = Match::Exact(number("08:00:00:00:01:00"));
    assert_eq!(values, [&Match::Pair(number("10.0.1.1"), number("32")), &Match::Exact(number("5")), &mac]);
    assert!(matches!(multicast, Statement::Multicast { group: 1, members, .. } if *members == [(1, 2)]));
    assert!(
        matches!(clone, Statement::CloneTo { session: 5, members, bytes: 128, .. } if *members == [(6, 0), (7, 0)])
    );
}

#[test]
fn mistakes_in_a_runtime_file() {
    check(
        read_runtime,
        "{ \"target\": \"tofino\", \"table_entries\": [\n  { \"table\": 1, \"action_nam\": \"f\" },\n  { \"table\": \"t\", \"action_name\": \"f\", \"match\": { \"a\": [1, 2, 3] }, \"action_params\": { \"p\": \"x\", \"q\": -1 } }\n], \"table\": [] }",
        expect![[r#"
            error[P4R0440]: these entries are for another switch
             --> entries:1:13
              |
            1 | { "target": "tofino", "table_entries": [
              |             ^^^^^^^^ only "bmv2" is known

            error[P4R0440]: expected a string
             --> entries:2:14
              |
            2 |   { "table": 1, "action_nam": "f" },
              |              ^ this is a number
              |
              = help: for example: "MyIngress.drop"

            error[P4R0440]: `action_name` is missing
             --> entries:2:3
              |
            2 |   { "table": 1, "action_nam": "f" },
              |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this entry has no `action_name`
              |
              = help: did you mean `action_name` by `action_nam`?

            warning[P4R0440]: `action_nam` has no effect
             --> entries:2:17
              |
            2 |   { "table": 1, "action_nam": "f" },
              |                 ^^^^^^^^^^^^ this entry has no such key
              |
              = help: did you mean `action_name`?

            error[P4R0440]: this is not a number
             --> entries:3:92
              |
            3 |   { "table": "t", "action_name": "f", "match": { "a": [1, 2, 3] }, "action_params": { "p": "x", "q": -1 } }
              |                                                                                            ^^^ `x` is not a number or address

            error[P4R0440]: this is not a number
             --> entries:3:102
              |
            3 |   { "table": "t", "action_name": "f", "match": { "a": [1, 2, 3] }, "action_params": { "p": "x", "q": -1 } }
              |                                                                                                      ^^ `-1` is not a number or address

            error[P4R0440]: this is not a match
             --> entries:3:55
              |
            3 |   { "table": "t", "action_name": "f", "match": { "a": [1, 2, 3] }, "action_params": { "p": "x", "q": -1 } }
              |                                                       ^^^^^^^^^ one or two numbers are expected

            warning[P4R0440]: `table` has no effect
             --> entries:4:4
              |
            4 | ], "table": [] }
              |    ^^^^^^^ the file has no such key
              |
              = note: its keys are: target, p4info, bmv2_json, table_entries, multicast_group_entries, clone_session_entries
        "#]],
    );
}
