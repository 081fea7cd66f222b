//! `p4rack run` as a user meets it.

use expect_test::{Expect, expect};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TO_2: &str = "1:020000000002 020000000001 88b5 aabb";

/// Runs in the directory of the test's programs.
fn p4rack(args: &[&str]) -> Output {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run");
    Command::new(env!("CARGO_BIN_EXE_p4rack"))
        .arg("run")
        .args(args)
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit status, standard output, then standard error.
fn check(args: &[&str], expect: Expect) {
    let output = p4rack(args);
    let status = output.status.code().map_or("none".to_string(), |code| code.to_string());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let bar = if out.is_empty() || err.is_empty() { "" } else { "---\n" };
    expect.assert_eq(&format!("status {status}\n{out}{bar}{err}"));
}

/// A directory of its own for a test, emptied first.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory for the test");
    path
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = p4rack(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stdout)))
}

/// An action for the default alone in an entry was refused in a file of entries and taken in a test: 14 programs of p4c's suite.
#[test]
fn tests_and_entries_have_one_rule_for_actions_of_the_default() {
    let at = directory("default_only");
    let program =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/l2.p4")).unwrap();
    let (program, file) = (program.replacen("drop;", "@defaultonly drop;", 1), at.join("l2.p4"));
    assert!(program.contains("@defaultonly"));
    std::fs::write(&file, program).unwrap();
    let stf = at.join("e.stf");
    std::fs::write(&stf, "add l2 hdr.ethernet.dst_addr:0x020000000002 drop()\n").unwrap();
    let (file, stf) = (file.display().to_string(), stf.display().to_string());
    for args in [&[&*file, &*stf][..], &[&file, "--entries", &stf, "--packet", TO_2]] {
        let output = p4rack(args);
        let reported = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {reported}");
        let refused = "the device refuses this statement";
        assert!(
            reported.contains(refused) && reported.contains("`I.drop` may only be a default action"),
            "{args:?}: {reported}"
        );
    }
}

#[test]
fn a_test_that_passes() {
    check(
        &["l2.p4", "pass.stf"],
        expect![[r#"
        status 0
        pass.stf: passed (1 packet in, 1 out, 0 dropped)
    "#]],
    );
    check(
        &["l2.p4", "pass.stf", "--packets"],
        expect![[r#"
        status 0
        1    in    1: 02000000000202000000000188b5aabb
             out   2: 02000000000202000000000188b5aabb
        pass.stf: passed (1 packet in, 1 out, 0 dropped)
    "#]],
    );
}

#[test]
fn machine_code_does_the_same() {
    for options in
        [&["pass.stf", "fail.stf", "--packets"][..], &["--entries", "l2.toml", "--packet", TO_2, "--state"]]
    {
        let run = |engine: &str| {
            let args: Vec<&str> =
                ["l2.p4", "--engine", engine].into_iter().chain(options.iter().copied()).collect();
            let reported = p4rack(&args);
            (reported.stdout, reported.status)
        };
        assert_eq!(run("native"), run("interp"));
    }
}

#[test]
fn a_test_that_fails_shows_what_differs() {
    check(
        &["l2.p4", "fail.stf"],
        expect![[r#"
        status 1
        fail.stf: FAILED (2 packets in, 2 out, 0 dropped)
        ---
        error[P4R0422]: packet differs on port 2
         --> fail.stf:3:1
          |
        2 | packet 1 020000000002 020000000001 88b5 aabb 00112233445566778899
          | ----------------------------------------------------------------- sent for this packet, or by a later timer
        3 | expect 2 020000000002 020000000001 88b6 aa** 00112233445566778899 $
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ first in byte 13
          |
          = note: expected  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b6 aa **
          = note: received  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b5 aa bb
          = note:                                                         ^

        error[P4R0422]: unexpected packet on port 2
         --> fail.stf:4:1
          |
        4 | packet 1 020000000002 020000000001 88b5 01
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ sent for this packet, or by a later timer
          |
          = note: received  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b5 01

        error[P4R0422]: packet missing on port 3
         --> fail.stf:5:1
          |
        5 | expect 3 0a**
          | ^^^^^^^^^^^^^ no packet is left for this expectation
          |
          = note: expected  0000  0a **

    "#]],
    );
}

#[test]
fn several_tests() {
    check(
        &["l2.p4", "pass.stf", "fail.stf", "--format", "json"],
        expect![[r#"
            status 1
            {"runs": [
            {"engine": "native", "program": "l2.p4", "steps": [
            {"digests":[],"dropped":{},"frame":"02000000000202000000000188b5aabb","idle":[],"log":[],"packet":1,"picoseconds":1000001000000,"port":1,"sent":[{"frame":"02000000000202000000000188b5aabb","picoseconds":1000001000000,"port":2}]}
            ], "counts": {"created":0,"dropped":{},"received":1,"sent":1}, "diagnostics": [], "passed": true, "readings": [], "test": "pass.stf"},
            {"engine": "native", "program": "l2.p4", "steps": [
            {"digests":[],"dropped":{},"frame":"02000000000202000000000188b5aabb00112233445566778899","idle":[],"log":[],"packet":1,"picoseconds":1000001000000,"port":1,"sent":[{"frame":"02000000000202000000000188b5aabb00112233445566778899","picoseconds":1000001000000,"port":2}]},
            {"digests":[],"dropped":{},"frame":"02000000000202000000000188b501","idle":[],"log":[],"packet":2,"picoseconds":1000002000000,"port":1,"sent":[{"frame":"02000000000202000000000188b501","picoseconds":1000002000000,"port":2}]}
            ], "counts": {"created":0,"dropped":{},"received":2,"sent":2}, "diagnostics": [{"code":"P4R0422","help":[],"labels":[{"column":1,"end_column":68,"end_line":3,"file":"fail.stf","line":3,"text":"first in byte 13"},{"column":1,"end_column":66,"end_line":2,"file":"fail.stf","line":2,"text":"sent for this packet, or by a later timer"}],"notes":["expected  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b6 aa **","received  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b5 aa bb","                                                        ^"],"severity":"error","title":"packet differs on port 2","warning":null},{"code":"P4R0422","help":[],"labels":[{"column":1,"end_column":43,"end_line":4,"file":"fail.stf","line":4,"text":"sent for this packet, or by a later timer"}],"notes":["received  0000  02 00 00 00 00 02 02 00 00 00 00 01 88 b5 01"],"severity":"error","title":"unexpected packet on port 2","warning":null},{"code":"P4R0422","help":[],"labels":[{"column":1,"end_column":14,"end_line":5,"file":"fail.stf","line":5,"text":"no packet is left for this expectation"}],"notes":["expected  0000  0a **"],"severity":"error","title":"packet missing on port 3","warning":null}], "passed": false, "readings": [], "test": "fail.stf"}
            ], "ok": false}
        "#]],
    );
    let output = p4rack(&["l2.p4", "fail.stf", "pass.stf"]);
    assert!(text(&output.stdout).ends_with("2 runs: 1 passed, 1 failed\n"), "{}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_directory_of_programs() {
    let at = directory("programs");
    let source = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/l2.p4")).unwrap();
    for (name, test) in [("a", "packet 1 00\n"), ("b", "packet 1 00\nexpect 1\n")] {
        std::fs::write(at.join(format!("{name}.p4")), &source).unwrap();
        std::fs::write(at.join(format!("{name}.stf")), test).unwrap();
    }
    std::fs::write(at.join("untested.p4"), "not a program").unwrap();
    let output = p4rack(&[&at.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("2 runs: 1 passed, 1 failed\n"), "{}", text(&output.stdout));
}

#[test]
fn packets_in_hexadecimal() {
    check(
        &[
            "l2.p4",
            "--entries",
            "l2.toml",
            "--packet",
            TO_2,
            "--packet",
            "1:ffffffffffff 020000000001 0800",
            "--packet",
            "5:020000000002 020000000001 88b5",
            "--packet",
            "4:020000000064 030000000001 88b5",
            "--packet",
            "4:020000000065 030000000001 88b5",
            "--cpu-port",
            "64",
            "--decode",
            "--state",
        ],
        expect![[r#"
            status 0
            1    in    1: 02000000000202000000000188b5aabb
                 out   2: 02000000000202000000000188b5aabb
                          hdr.ethernet: dst_addr = 0x020000000002, src_addr = 0x020000000001, ether_type = 0x88b5
                          payload: 2 bytes
            2    in    1: ffffffffffff0200000000010800
                 out   1: ffffffffffff0200000000010800
                          hdr.ethernet: dst_addr = 0xffffffffffff, src_addr = 0x020000000001, ether_type = 0x0800
                 out   2: ffffffffffff0200000000010800
                          hdr.ethernet: dst_addr = 0xffffffffffff, src_addr = 0x020000000001, ether_type = 0x0800
            3    in    5: 02000000000202000000000188b5
                 dropped: ingress
            4    in    4: 02000000006403000000000188b5
                 out  64: 000402000000006403000000000188b5  (packet-in)
                          hdr.packet_in: port = 0x0004
                          hdr.ethernet: dst_addr = 0x020000000064, src_addr = 0x030000000001, ether_type = 0x88b5
            5    in    4: 02000000006503000000000188b5
                 dropped: ingress
                 digest learn_t: {addr = 0x030000000001, port = 0x004}
                 log: no address on port 4
            register I.seen, 8 cells
              1: 0x0000002a
              4: 0x00000002
              5: 0x00000001
            counter I.ports, 8 cells
              1: 2 packets, 30 bytes
              4: 2 packets, 28 bytes
              5: 1 packets, 14 bytes
            direct counter I.hits of I.l2, 3 entries
              0: 2 packets, 30 bytes
              1: 1 packets, 14 bytes
              2: 1 packets, 14 bytes
            5 packets in, 4 out, 2 dropped (ingress 2); 1 created inside
        "#]],
    );
}

#[test]
fn entries_in_every_language() {
    let args = |entries| {
        [
            "l2.p4",
            "--entries",
            entries,
            "--packet",
            TO_2,
            "--packet",
            "1:ffffffffffff 020000000001 0800",
            "--state",
        ]
    };
    let (toml, commands) = (p4rack(&args("l2.toml")), p4rack(&args("l2.commands.txt")));
    assert!(toml.status.success(), "{}", text(&toml.stderr));
    assert_eq!(text(&toml.stdout), text(&commands.stdout), "{}", text(&commands.stderr));
    let updates = p4rack(&args("l2.txtpb"));
    assert_eq!(text(&toml.stdout), text(&updates.stdout), "{}", text(&updates.stderr));
    let stf = directory("languages").join("e.stf");
    std::fs::write(&stf, "add l2 hdr.ethernet.dst_addr:0x020000000002 forward(port:2)\n").unwrap();
    let output = p4rack(&["l2.p4", "--entries", &stf.display().to_string(), "--packet", TO_2]);
    assert!(text(&output.stdout).contains("out   2: 0200000000020200"), "{}", text(&output.stdout));
}

#[test]
fn entries_with_timeouts_and_meters() {
    let args = |entries, engine| {
        let mut args =
            vec!["limits.p4", "--entries", entries, "--interval", "10ms", "--state", "--engine", engine];
        for packet in
            ["1:01ff", "1:02ff", "1:03ff", "1:01ff", "2:02ff", "2:01ff", "2:02ff", "2:02ff", "2:02ff"]
        {
            args.extend(["--packet", packet]);
        }
        args
    };
    check(
        &args("limits.toml", "interp"),
        expect![[r#"
        status 0
        1    in    1: 01ff
             out   2: 0100
        2    in    1: 02ff
             out   3: 0200
        3    in    1: 03ff
             out   0: 03ff
        4    in    1: 01ff
             dropped: ingress
             idle: I.flows 0x01 at 30ms
        5    in    2: 02ff
             out   3: 0200
        6    in    2: 01ff
             out   2: 0100
        7    in    2: 02ff
             out   3: 0200
        8    in    2: 02ff
             out   3: 0200
        9    in    2: 02ff
             out   3: 0200
             idle: I.flows 0x01 at 80ms
        meter I.ports, 4 cells
          1: committed 1/s, 0 of 3 left; peak 1/s, 0 of 3 left
        direct counter I.hits of I.flows, 2 entries
          0: 2 packets, 4 bytes
          1: 5 packets, 10 bytes
        direct meter I.rate of I.flows, 2 entries
          0: committed 1000/s, 0 of 2 left; peak 2000/s, 2 of 4 left
        9 packets in, 8 out, 1 dropped (ingress 1)
    "#]],
    );
    let [toml, native, updates] =
        [("limits.toml", "interp"), ("limits.toml", "native"), ("limits.txtpb", "interp")]
            .map(|(entries, engine)| p4rack(&args(entries, engine)));
    assert_eq!(text(&toml.stdout), text(&native.stdout), "{}", text(&native.stderr));
    assert_eq!(text(&toml.stdout), text(&updates.stdout), "{}", text(&updates.stderr));
}

#[test]
fn meters_and_counters_in_traces() {
    let value = json(&[
        "limits.p4",
        "--entries",
        "limits.toml",
        "--packet",
        "1:01ff",
        "--packet",
        "1:01ff 00",
        "--trace",
        "--format",
        "json",
        "--state",
    ]);
    let steps = value["runs"][0]["steps"].as_array().expect("steps").iter();
    let events = steps.flat_map(|s| s["trace"][0]["steps"].as_array().expect("a trace").clone());
    let events = events.filter(|e| e["step"] == "meter" || e["step"] == "count").map(|mut e| {
        let fields = e.as_object_mut().expect("an object");
        fields.retain(|name, _| name != "at" && name != "source");
        e.to_string()
    });
    expect![[r#"
        {"colour":"green","index":1,"meter":"I.ports","step":"meter"}
        {"bytes":2,"counter":"I.hits","index":0,"step":"count"}
        {"colour":"green","index":0,"meter":"I.rate","step":"meter"}
        {"colour":"green","index":1,"meter":"I.ports","step":"meter"}
        {"bytes":3,"counter":"I.hits","index":0,"step":"count"}
        {"colour":"red","index":0,"meter":"I.rate","step":"meter"}"#]]
    .assert_eq(&events.collect::<Vec<_>>().join("\n"));
    expect![[r#"
        [
          {
            "cells": {
              "1": {
                "committed": {
                  "burst": 3,
                  "per_gigamicrosecond": 1000,
                  "tokens": 1
                },
                "peak": {
                  "burst": 3,
                  "per_gigamicrosecond": 1000,
                  "tokens": 1
                }
              }
            },
            "kind": "meter",
            "name": "I.ports",
            "size": 4,
            "table": null
          },
          {
            "cells": {
              "0": {
                "bytes": 5,
                "packets": 2
              }
            },
            "kind": "direct counter",
            "name": "I.hits",
            "size": 2,
            "table": "I.flows"
          },
          {
            "cells": {
              "0": {
                "committed": {
                  "burst": 2,
                  "per_gigamicrosecond": 1000000,
                  "tokens": 0
                },
                "peak": {
                  "burst": 4,
                  "per_gigamicrosecond": 2000000,
                  "tokens": 2
                }
              }
            },
            "kind": "direct meter",
            "name": "I.rate",
            "size": 2,
            "table": "I.flows"
          }
        ]"#]]
    .assert_eq(&format!("{:#}", value["runs"][0]["state"]));
}

/// JSON is printed as it grows: it is one value all the same, with a failing run and one that cannot be run in it.
#[test]
fn json_of_several_runs() {
    let output = p4rack(&["l2.p4", "pass.stf", "fail.stf", "no-such.stf", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = value["runs"].as_array().expect("runs");
    let said: Vec<_> = runs
        .iter()
        .map(|run| {
            format!("{} {} {}", run["test"], run["passed"], run["steps"].as_array().expect("steps").len())
        })
        .collect();
    expect![[r#"
        "pass.stf" true 1
        "fail.stf" false 2
        "no-such.stf" false 0"#]]
    .assert_eq(&said.join("\n"));
    assert_eq!((value["ok"].clone(), output.status.code()), (false.into(), Some(1)));
    let nothing = p4rack(&["no-such.p4", "--packet", TO_2, "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&nothing.stdout).expect("JSON");
    assert_eq!((value["runs"].as_array().map(Vec::len), &value["ok"]), (Some(1), &false.into()));
}

#[test]
fn the_way_of_a_packet() {
    check(
        &["l2.p4", "--entries", "l2.toml", "--packet", "5:020000000002 020000000001 0800", "--trace"],
        expect![[r#"
            status 0
            1    in    5: 0200000000020200000000010800
                 out   3: 0200000000020200000000010800
            packet 1: received, port 5, 14 bytes
              parser
                state P.start                                                         l2.p4:31
                  extract hdr.ethernet (112 bits): dst_addr = 0x020000000002, src_addr = 0x020000000001, ether_type = 0x0800  l2.p4:32
                  select hdr.ethernet.ether_type = 0x0800: case 0x0800: ipv4 -> ipv4  l2.p4:34
                state P.ipv4                                                          l2.p4:38
                  meta.class: 0x0000 -> 0x0001                                        l2.p4:39
                  -> accept
              verify_checksum
              ingress
                call I.seen.read: seen.read(n, (bit<32>)sm.ingress_port)              l2.p4:79
                n = 0x00000000 (as before)                                            l2.p4:79
                call I.seen.write: seen.write((bit<32>)sm.ingress_port, n + 1)        l2.p4:80
                I.seen[5]: 0x00000000 -> 0x00000001                                   l2.p4:80
                call I.ports.count: ports.count((bit<32>)sm.ingress_port)             l2.p4:81
                I.ports[5] counts 14 bytes                                            l2.p4:81
                table I.l2: hit, I.forward                                            l2.p4:82
                  key hdr.ethernet.dst_addr = 0x020000000002 (exact)
                  entry 0: 0x020000000002
                I.hits[0] counts 14 bytes                                             l2.p4:82
                action I.forward(port = 0x002)
                  sm.egress_spec: 0x000 -> 0x002                                      l2.p4:53
                if (l2.apply().hit): true                                             l2.p4:82
                table I.acl: hit, I.drop                                              l2.p4:83
                  key hdr.ethernet.src_addr = 0x020000000001 (ternary)
                  key sm.ingress_port = 0x005 (range)
                  entry 0: 0x020000000000&&&0xff0000000000, 0x005..0x006, priority 10
                action I.drop()
                  call mark_to_drop: mark_to_drop(sm)                                 l2.p4:52
                  sm.egress_spec: 0x002 -> 0x1ff                                      l2.p4:52
                table I.choice: hit, I.forward                                        l2.p4:88
                  key meta.class = 0x0001 (exact)
                  entry 0: 0x0001, member 0
                action I.forward(port = 0x003)
                  sm.egress_spec: 0x1ff -> 0x003                                      l2.p4:53
              unicast 3
              egress
              compute_checksum
              deparser
                emit hdr.ethernet (112 bits)                                          l2.p4:98
              sent by port 3, 14 bytes
            1 packet in, 1 out, 0 dropped
        "#]],
    );
}

#[test]
fn the_way_of_copies() {
    check(
        &["l2.p4", "--entries", "l2.toml", "--packet", "1:ffffffffffff 030000000001 88b5", "--trace"],
        expect![[r#"
            status 0
            1    in    1: ffffffffffff03000000000188b5
                 out   1: ffffffffffff03000000000188b5
                 out   2: ffffffffffff03000000000188b5
            packet 1: received, port 1, 14 bytes
              parser
                state P.start                                                         l2.p4:31
                  extract hdr.ethernet (112 bits): dst_addr = 0xffffffffffff, src_addr = 0x030000000001, ether_type = 0x88b5  l2.p4:32
                  select hdr.ethernet.ether_type = 0x88b5: case default: accept -> accept  l2.p4:35
              verify_checksum
              ingress
                call I.seen.read: seen.read(n, (bit<32>)sm.ingress_port)              l2.p4:79
                n: 0x00000000 -> 0x00000028                                           l2.p4:79
                call I.seen.write: seen.write((bit<32>)sm.ingress_port, n + 1)        l2.p4:80
                I.seen[1]: 0x00000028 -> 0x00000029                                   l2.p4:80
                call I.ports.count: ports.count((bit<32>)sm.ingress_port)             l2.p4:81
                I.ports[1] counts 14 bytes                                            l2.p4:81
                table I.l2: hit, I.flood                                              l2.p4:82
                  key hdr.ethernet.dst_addr = 0xffffffffffff (exact)
                  entry 1: 0xffffffffffff
                I.hits[1] counts 14 bytes                                             l2.p4:82
                action I.flood(group = 0x0007)
                  sm.mcast_grp: 0x0000 -> 0x0007                                      l2.p4:54
                if (l2.apply().hit): true                                             l2.p4:82
                table I.acl: miss, NoAction                                           l2.p4:83
                  key hdr.ethernet.src_addr = 0x030000000001 (ternary)
                  key sm.ingress_port = 0x001 (range)
                action NoAction()
                table I.choice: miss, NoAction                                        l2.p4:88
                  key meta.class = 0x0000 (exact)
                action NoAction()
              multicast 7
            packet 2: replica of packet 1, rid 0, port 1, 14 bytes
            packet 3: replica of packet 1, rid 5, port 2, 14 bytes
            packet 2 continues
              egress
              compute_checksum
              deparser
                emit hdr.ethernet (112 bits)                                          l2.p4:98
              sent by port 1, 14 bytes
            packet 3 continues
              egress
              compute_checksum
              deparser
                emit hdr.ethernet (112 bits)                                          l2.p4:98
              sent by port 2, 14 bytes
            1 packet in, 2 out, 0 dropped; 1 created inside
        "#]],
    );
}

#[test]
fn the_way_as_json() {
    let value =
        json(&["l2.p4", "--entries", "l2.toml", "--packet", TO_2, "--trace", "--decode", "--format", "json"]);
    let step = &value["runs"][0]["steps"][0];
    assert_eq!(step["sent"][0]["port"], 2);
    assert_eq!(step["sent"][0]["headers"][0]["fields"]["dst_addr"], "0x020000000002");
    let packet = &step["trace"][0];
    assert_eq!((&packet["cause"], &packet["bytes"]), (&"received".into(), &16.into()));
    let steps = packet["steps"].as_array().expect("steps");
    let table = steps.iter().find(|s| s["step"] == "table").expect("a table");
    expect![[r#"
        {
          "action": "I.forward",
          "at": {
            "column": 9,
            "file": "l2.p4",
            "line": 82
          },
          "entry": {
            "handle": 0,
            "keys": [
              "0x020000000002"
            ],
            "priority": null,
            "through": null
          },
          "hit": true,
          "keys": [
            {
              "match": "exact",
              "name": "hdr.ethernet.dst_addr",
              "value": "0x020000000002"
            }
          ],
          "source": "if (l2.apply().hit) { acl.apply(); } else { digest<learn_t>(1, { hdr.ethernet.src_addr, sm.ingress_port }); log_msg(\"no address on port {}\", { sm.ingress_port }); }",
          "step": "table",
          "table": "I.l2"
        }"#]].assert_eq(&format!("{table:#}"));
}

#[test]
fn the_way_as_protobuf() {
    let at = directory("protobuf");
    let (text_file, binary) = (at.join("t.txtpb"), at.join("t.pb"));
    for file in [&text_file, &binary] {
        let packet = "1:ffffffffffff 030000000001 0800";
        let args = [
            "l2.p4",
            "--entries",
            "l2.toml",
            "--packet",
            packet,
            "--trace-file",
            &file.display().to_string(),
        ];
        assert!(p4rack(&args).status.success());
    }
    let text = std::fs::read_to_string(&text_file).unwrap();
    let read: p4runtime_proto::p4::bm::PacketTraces = p4runtime_proto::from_text(&text).unwrap();
    let same = p4runtime_proto::from_binary(&std::fs::read(&binary).unwrap()).unwrap();
    assert_eq!(read, same);
    let root = read.traces[0].root.as_ref().unwrap();
    assert_eq!(root.branches.len(), 2);
    assert_eq!(root.outcome, None, "a packet that is replicated ends in its copies");
    let ports: Vec<_> = root.branches.iter().map(|b| b.subtree.as_ref().unwrap().outcome.clone()).collect();
    use p4runtime_proto::p4::bm::trace_tree::Outcome::Transmit;
    let port = |o: &Option<_>| if let Some(Transmit(t)) = o { Some(t.egress_port) } else { None };
    assert_eq!(ports.iter().map(port).collect::<Vec<_>>(), [Some(1), Some(2)]);
    let lookups = text.lines().filter(|l| l.trim() == "table_lookup {").count();
    assert_eq!(lookups, 3);
    // As BMv2's readers expect: field 1 of an event is a stage that begins or ends.
    assert!(text.contains("stage_name: \"ingress\""));
}

fn capture(path: &Path, frames: &[(u64, &[u8])]) {
    let mut writer = base_pcap::Writer::new(std::fs::File::create(path).unwrap()).unwrap();
    for (nanos, frame) in frames {
        let record = base_pcap::Record { nanos: *nanos, frame: frame.to_vec(), original: frame.len() as u32 };
        writer.write(&record).unwrap();
    }
}

fn captured(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let reader = base_pcap::Reader::new(std::fs::File::open(path).unwrap()).unwrap();
    reader.map(Result::unwrap).map(|r| (r.nanos, r.frame)).collect()
}

#[test]
fn captures_in_and_out() {
    let at = directory("captures");
    let to_2 = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    let flood = [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    capture(&at.join("a.pcap"), &[(5_000_000_000, &to_2), (5_000_003_000, &to_2)]);
    capture(&at.join("b.pcap"), &[(5_000_001_000, &flood)]);
    let (a, b) = (at.join("a.pcap").display().to_string(), at.join("b.pcap").display().to_string());
    let named = at.join("named.pcap");
    let output = p4rack(&[
        "l2.p4",
        "--entries",
        "l2.toml",
        "-i",
        &format!("1@{a}"),
        "-i",
        &format!("4@{b}"),
        "-i",
        &format!("2@,{}", named.display()),
        "-o",
        &at.join("out").display().to_string(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "3 packets in, 4 out, 0 dropped; 1 created inside\n");
    let times = |path: &Path| captured(path).iter().map(|(nanos, _)| *nanos).collect::<Vec<_>>();
    assert_eq!(times(&named), [5_000_000_000, 5_000_001_000, 5_000_003_000]);
    assert_eq!(captured(&at.join("out/1.pcap")), [(5_000_001_000, flood.to_vec())]);
    assert!(!at.join("out/2.pcap").exists());
}

#[test]
fn a_capture_on_standard_input() {
    let at = directory("stdin");
    let file = at.join("a.pcap");
    capture(&file, &[(0, &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5])]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_p4rack"))
        .args(["run", "l2.p4", "--entries", "l2.toml", "-i", "1@-"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(&file).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("out   2: 02"), "{}", text(&output.stdout));
}

#[test]
fn wrong_files_are_named_with_the_place() {
    let at = directory("wrong");
    let write = |name: &str, content: &[u8]| {
        std::fs::write(at.join(name), content).unwrap();
        at.join(name).display().to_string()
    };
    let check = |args: &[&str], status: i32, words: &[&str]| {
        let output = p4rack(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "no `{word}` in\n{said}"));
    };
    capture(&at.join("cut.pcap"), &[(0, &[0; 60]), (0, &[0; 60])]);
    let mut cut = std::fs::read(at.join("cut.pcap")).unwrap();
    cut.truncate(130);
    let cut = write("cut.pcap", &cut);
    check(
        &["l2.p4", "-i", &format!("1@{cut}")],
        1,
        &["P4R0442", "cut.pcap", "ends within a block (at byte 100)"],
    );
    let none = write("none.pcap", b"hello");
    check(&["l2.p4", "-i", &format!("1@{none}")], 1, &["neither a pcap nor a pcapng file"]);
    check(&["l2.p4", "-i", "1@nowhere.pcap"], 1, &["P4R0701", "nowhere.pcap"]);
    check(&["nowhere.p4", "pass.stf"], 1, &["nowhere.p4"]);
    check(&["l2.p4", "nowhere.stf"], 1, &["nowhere.stf"]);
    let stf = write("bad.stf", b"packet 1 0g\nadd choise x:1 y()\n");
    check(&["l2.p4", &stf], 1, &["P4R0420", "bad.stf:1"]);
    let stf = write("bad.stf", b"packet 1 00\nadd choise x:1 y()\n");
    check(&["l2.p4", &stf], 1, &["P4R0421", "bad.stf:2", "did you mean"]);
    let target = at.join("no/such/out.pcap").display().to_string();
    check(&["l2.p4", "--packet", TO_2, "-i", &format!("2@,{target}")], 1, &["P4R0443", "out.pcap"]);
}

#[test]
fn wrong_entries_are_underlined() {
    let at = directory("wrong_entries");
    let file = at.join("e.toml");
    let check = |toml: &str, words: &[&str]| {
        std::fs::write(&file, toml).unwrap();
        let output = p4rack(&["l2.p4", "--entries", &file.display().to_string(), "--packet", TO_2]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "no `{word}` in\n{said}"));
    };
    let entry = |key: &str, action: &str| format!("[[table.l2]]\nkey = {key}\n{action}\n");
    check("[[table.choise]]\nkey = [1]\naction = \"drop\"\n", &["e.toml:1", "did you mean `choice`?"]);
    check(&entry("{ dst = 1 }", "action = \"drop\""), &["e.toml:2", "there is no key `dst`"]);
    check(&entry("[1, 2]", "action = \"drop\""), &["the table has 1 keys, not 2"]);
    check(&entry("[1]", "action = \"dorp\""), &["e.toml:3", "did you mean", "drop"]);
    check(&entry("[1]", "action = \"forward\""), &["`forward` takes 1 values, not 0"]);
    check(&entry("[1]", "action = \"forward\"\nargs = { prot = 1 }"), &["e.toml:4", "did you mean `port`?"]);
    check(&entry("[1]", "action = \"forward\"\nargs = [512]"), &["`port` has 9 bits: this does not fit"]);
    check(&entry("[\"1/8\"]", "action = \"drop\""), &["is an exact key: it cannot match a prefix"]);
    check(&entry("[\"x\"]", "action = \"drop\""), &["P4R0440", "`x` is not a number or address"]);
    check(&entry("[1]", "acton = \"drop\""), &["unknown key `acton`", "did you mean `action`?"]);
    check("[register.sen]\n0 = 1\n", &["e.toml:1", "did you mean"]);
    check("[register.seen]\n8 = 1\n", &["has 8 cells: index 8 is out of range"]);
    check("[[table.choice]]\nkey = [1]\nmember = \"left\"\n", &["there is no member `left`"]);
    check("[[tabel.l2]]\n", &["unknown key `tabel`", "did you mean `table`?"]);
}

#[test]
fn usage_mistakes() {
    check(
        &["l2.p4"],
        expect![[r#"
            status 2
            p4rack: no packets: give a test, --interface or --packet
        "#]],
    );
    check(
        &["l2.p4", "pass.stf", "--packet", "1:00"],
        expect![[r#"
        status 2
        p4rack: packets come from tests, or from --interface and --packet, not from both
    "#]],
    );
    check(
        &["l2.p4", "--packet", "1:0a0g"],
        expect![[r#"
        status 2
        error: invalid value '1:0a0g' for '--packet <PORT:HEX>': `g` in column 6 is not a hexadecimal digit

        For more information, try '--help'.
    "#]],
    );
    check(
        &["l2.p4", "-i", "in.pcap"],
        expect![[r#"
        status 2
        error: invalid value 'in.pcap' for '--interface <PORT@IN[,OUT]>': `in.pcap` has no `@`: write PORT@IN.pcap or PORT@IN.pcap,OUT.pcap

        For more information, try '--help'.
    "#]],
    );
    check(
        &["l2.p4", "-", "--entries", "-"],
        expect![[r#"
            status 2
            p4rack: standard input (`-`) can be read only once
        "#]],
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let args =
        ["l2.p4", "--entries", "l2.toml", "--packet", TO_2, "--trace", "--format", "json", "--seed", "3"];
    assert_eq!(p4rack(&args).stdout, p4rack(&args).stdout);
}
