//! Mistakes of newcomers, with the built command in a directory of their own: each is answered with description, place
//! and advice.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory with the example's files and a few that are wrong.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mistakes-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory for the test");
        let place = Place(path);
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
        for file in ["slice.p4", "entries.stf", "RACK.toml"] {
            place.write(file, std::fs::read(example.join(file)).expect("the example is there"));
        }
        place
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("it is in the directory")).expect("a directory");
        std::fs::write(path, bytes).expect("it is written");
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).expect("it is there")
    }

    /// The example's rack with one text replaced.
    fn rack(&self, file: &str, from: &str, to: &str) {
        let text = self.read("RACK.toml");
        assert!(text.contains(from), "no `{from}` in the example");
        self.write(file, text.replacen(from, to, 1));
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null()).output().expect("the binary runs")
    }

    /// Exit status 1, each of the words on standard error, and no more errors than there are mistakes.
    fn check(&self, args: &[&str], errors: usize, words: &[&str]) {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?} {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: no `{word}` in\n{said}");
        }
        let begin = |line: &&str| line.starts_with("error[") || line.starts_with("p4rack: ");
        assert_eq!(said.lines().filter(begin).count(), errors, "{args:?}\n{said}");
    }
}

#[test]
fn a_file_that_is_no_program() {
    let place = Place::new("program");
    place.write("utf16.p4", [0xff, 0xfe, b'/', 0, b'/', 0]);
    place.write("binary.p4", [0x7f, b'E', b'L', b'F', 0, 0]);
    place.write("program.json", "{ \"program\": [] }\n");
    place.write(
        "old.p4",
        "header_type e_t {\n    fields { a : 8; }\n}\nheader e_t e;\nparser start { return ingress; }\n",
    );
    place.write("latin.p4", b"// caf\xe9\nconst bit<8> a = 1;\n");
    for (args, words) in [
        (["check", "slise.p4"], &["cannot find `slise.p4`", "did you mean `slice.p4`?"] as &[_]),
        (["analyze", "."], &["cannot read `.`: it is a directory", "did you mean `./binary.p4`?"]),
        (["check", "utf16.p4"], &["cannot read `utf16.p4`: it is UTF-16: save it as UTF-8"]),
        (["check", "binary.p4"], &["cannot read `binary.p4`: it is not text"]),
        (["check", "program.json"], &["not a P4 program", "another compiler", "give the program's source"]),
        (["check", "RACK.toml"], &["not a P4 program", "`RACK.toml`", "`p4rack up`"]),
        (["p4info", "entries.stf"], &["not a P4 program", "the name of a test", "p4rack run PROGRAM.p4"]),
        (["check", "old.p4"], &["old.p4:1:1", "belongs to P4-14", "p4test --std p4-14"]),
    ] {
        place.check(&args, 1, words);
    }
    assert!(place.run(&["check", "latin.p4"]).status.success(), "comments may be in any code");
}

#[test]
fn an_include_that_is_not_there() {
    let place = Place::new("include");
    place.write("typo.p4", "#include <v1modle.p4>\n");
    place.write("lib/headers.p4", "const bit<8> a = 1;\n");
    place.write("near.p4", "#include \"lib/header.p4\"\n");
    place.write("far.p4", "#include <headers.p4>\n");
    place.check(&["check", "typo.p4"], 1, &["typo.p4:1:10", "did you mean `v1model.p4`?"]);
    place.check(&["check", "near.p4"], 1, &["near.p4:1:10", "did you mean `lib/headers.p4`?"]);
    place.check(&["check", "far.p4"], 1, &["far.p4:1:10", "give its directory with `-I DIR`"]);
    assert!(place.run(&["check", "far.p4", "-I", "lib"]).status.success());
    let text =
        place.read("slice.p4").replace("#include <core.p4>", "#include <core.p4>\n#include <headers.p4>");
    place.write("slice.p4", text);
    place.check(&["split", "."], 1, &["slice.p4:12:10", "of a rack's program with `include`"]);
    place.rack("RACK.toml", "program = ", "include = [\"lib\"]\nprogram = ");
    assert!(place.run(&["split", "."]).status.success());
}

#[test]
fn a_file_that_is_no_rack() {
    let place = Place::new("rack");
    place.write("empty/slice.p4", "");
    place.write("other/plain.toml", "");
    place.write("nothing.toml", "");
    for (rack, words) in [
        ("slice.p4", &["a P4 program is not a rack", "`slice.p4`", "`[[app]]`", "p4rack run"] as &[_]),
        ("empty", &["the directory has no RACK.toml", "`empty/RACK.toml`", "p4rack generate-rack"]),
        ("other", &["the directory has no RACK.toml", "did you mean `other/plain.toml`?"]),
        ("RACK.tmol", &["`RACK.tmol`: there is no such file", "did you mean `RACK.toml`?"]),
        ("nothing.toml", &["the rack has no app", "`nothing.toml`", "`[[app]]`"]),
    ] {
        for command in ["up", "plan", "split", "prove-split"] {
            place.check(&[command, rack], 1, words);
        }
    }
}

#[test]
fn a_port_that_no_port_can_be() {
    let place = Place::new("ports");
    place.write("port.stf", "packet 600 aa\n");
    place.write("port.toml", "[[clone]]\nsession = 1\nport = 600\n");
    place.write("group.toml", "[[multicast]]\ngroup = 70000\nmembers = [1]\n");
    let switch = ["switch", "slice.p4", "--grpc-server-addr", "127.0.0.1:0"];
    let port = "port 600 does not fit into the 9 bits of a port";
    for (args, word) in [
        (&["run", "slice.p4", "--packet", "600:aa"] as &[_], port),
        (&["run", "slice.p4", "--packet", "1:aa", "--cpu-port", "600"], port),
        (&["run", "slice.p4", "--packet", "1:aa", "-i", "600@,out.pcap"], port),
        (&["run", "slice.p4", "port.stf"], port),
        (&["run", "slice.p4", "--packet", "1:aa", "--entries", "port.toml"], port),
        (&["run", "slice.p4", "--packet", "1:aa", "--entries", "group.toml"], "group 70000 does not fit"),
        (&[&switch[..], &["-i", "600@pcap:,out.pcap"]].concat(), port),
        (&[&switch[..], &["-i", "511@pcap:,out.pcap"]].concat(), "port 511 means drop"),
        (&[&switch[..], &["--cpu-port", "600"]].concat(), "CPU port 600"),
        (&[&switch[..], &["--drop-port", "600"]].concat(), "drop port 600"),
    ] {
        place.check(args, 1, &[word]);
    }
}

#[test]
fn a_command_of_which_something_is_missing() {
    let place = Place::new("missing");
    place.write("program.json", "{ \"Abstract program\": [] }\n");
    place.write("more.rules", "rule ?\n");
    place.check(&["run", "nothere.p4"], 1, &["cannot find `nothere.p4`"]);
    place.check(&["run", "slise.p4"], 1, &["did you mean `slice.p4`?"]);
    place.check(&["plan", ".", "--rules", "more.rules"], 1, &["more.rules:1:"]);
    for (args, word) in [
        (&["run", "slice.p4"] as &[_], "no packets: give a test"),
        (&["plan", "program.json"], "`program.json` is an abstract program: add --config"),
        (&["plan", ".", "RACK.toml"], "plan one rack at a time"),
    ] {
        let output = place.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}\n{said}");
        assert!(said.contains(word), "{args:?}: no `{word}` in\n{said}");
    }
}

#[test]
fn a_text_that_is_not_utf8() {
    let place = Place::new("utf8");
    place.write("latin.toml", b"# a\n# caf\xe9\n");
    place.write("latin.p4", b"const bit<8> a = 1;\nconst bit<8> \xfc = 1;\n");
    let args = ["run", "slice.p4", "--packet", "1:aa", "--entries", "latin.toml"];
    place.check(
        &args,
        1,
        &["`latin.toml`: line 2, column 6: the byte 0xe9 is not UTF-8; save the file as UTF-8"],
    );
    // The file is the one that was meant: none with a similar name is suggested.
    place.write("latim.toml", "");
    assert!(!String::from_utf8_lossy(&place.run(&args).stderr).contains("did you mean"));
    place.check(&["check", "latin.p4"], 1, &["latin.p4:2:14", "save the file as UTF-8"]);
}

#[test]
fn a_rack_that_names_what_is_not_there() {
    let place = Place::new("names");
    for (from, to, words) in [
        (
            "\"slice.p4\"",
            "\"slise.p4\"",
            &["wrong.toml:54:11", "named here", "did you mean `slice.p4`?"] as &[_],
        ),
        ("\"slice.p4\"", "\".\"", &["wrong.toml:54:11", "it is a directory"]),
        ("\"entries.stf\"", "\"entry.stf\"", &["wrong.toml:55:11", "there is no such file"]),
        ("Acl = ", "Acll = ", &["wrong.toml:57:25", "no region `Acll`", "did you mean `Acl`?"]),
        ("Acl = \"nic\"", "Acl = \"h1\"", &["wrong.toml:57:", "`h1` is not a device"]),
        (
            "externs = [\"beacon\"]",
            "",
            &["wrong.toml:", "`nic` does not offer `beacon`", "place the region elsewhere"],
        ),
        ("[\"h2\", \"tor:2\"]", "[\"h1\", \"tor:2\"]", &["wrong.toml:30:7", "`h2` is not linked"]),
    ] {
        place.rack("wrong.toml", from, to);
        let output = place.run(&["up", "wrong.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{to}\n{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{to}: no `{word}` in\n{said}"));
    }
    let entries = place.read("entries.stf");
    place.write("entries.stf", entries.replacen("add routes", "add routs", 1));
    place.check(&["up", "."], 1, &["entries.stf:2:1", "did you mean `routes`?"]);
    let entries = entries.replacen("set_next_hop", "set_nexthop", 1);
    place.write("entries.stf", entries);
    place.check(
        &["up", "."],
        1,
        &[
            "entries.stf:2:1",
            "no action `set_nexthop` in table `RouterIngress.routes`",
            "did you mean `set_next_hop`?",
        ],
    );
}

#[test]
fn what_was_read_is_not_written_over() {
    let place = Place::new("over");
    let (program, rack) = (place.read("slice.p4"), place.read("RACK.toml"));
    place.write("RACK.toml", rack.replace("tor", "slice"));
    place.write("made", "");
    let kept = "is an input and is not overwritten";
    for (args, words) in [
        (&["split", ".", "-o", "."] as &[_], &["`./slice.p4`", kept]),
        (&["compile", "slice.p4", "-o", "."], &["`./slice.p4`", kept]),
        (&["p4info", "slice.p4", "-o", "slice.p4", "--format", "text"], &["`slice.p4`", kept]),
        (&["up", ".", "--log", "entries.stf"], &["`entries.stf`", kept]),
        (&["up", ".", "--html", "RACK.toml"], &["`RACK.toml`", kept]),
        (
            &["generate-rack", "star", "-o", "."],
            &["`./RACK.toml`", "was not written by `p4rack generate-rack`"],
        ),
        (&["split", ".", "-o", "made"], &["`made`", "cannot be created"]),
        (&["split", ".", "-o", "made/in"], &["`made/in`", "cannot be created"]),
        (&["up", ".", "--log", "nowhere/log"], &["`nowhere/log`", "cannot be written"]),
    ] {
        let output = place.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}\n{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{args:?}: no `{word}` in\n{said}"));
    }
    assert_eq!(place.read("slice.p4"), program);
    assert_eq!(place.read("RACK.toml"), rack.replace("tor", "slice"));
    for _ in 0..2 {
        assert!(place.run(&["generate-rack", "star", "-o", "star"]).status.success(), "its own it renews");
    }
}

#[test]
fn a_workload_of_which_nothing_arrives() {
    let place = Place::new("silent");
    let entries = place.read("entries.stf");
    place.write(
        "entries.stf",
        entries
            .lines()
            .filter(|line| !line.starts_with("add ports"))
            .fold(String::new(), |text, line| text + line + "\n"),
    );
    let output = place.run(&["up", "."]);
    assert!(output.status.success(), "it has run");
    let said = String::from_utf8_lossy(&output.stderr);
    for word in [
        "warning[P4R0709]: no packet of a workload has arrived",
        "RACK.toml:61:8",
        "100 sent to h2",
        "dropped packets of `ping` were dropped at tor: dropped in egress",
        "tables without entries: `RouterEgress.ports`\n",
        "--step",
    ] {
        assert!(said.contains(word), "no `{word}` in\n{said}");
    }
    place.write("entries.stf", entries);
    let output = place.run(&["up", "."]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("P4R0709"));
}

#[test]
fn an_address_that_is_taken() {
    let place = Place::new("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let address = taken.local_addr().expect("it has one").to_string();
    for option in ["--grpc-server-addr", "--metrics-addr"] {
        let free = if option == "--metrics-addr" { "--grpc-server-addr=127.0.0.1:0" } else { "--seed=1" };
        place.check(&["switch", "slice.p4", free, option, &address], 1, &[&address, option, "in use"]);
    }
    place.check(&["ctl", "show", "--addr", "127.0.0.1:1"], 1, &["127.0.0.1:1"]);
}

#[test]
fn nobody_reads_what_is_said() {
    let place = Place::new("pipe");
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let command = command.args(["check", "entries.stf", "RACK.toml", "nowhere.p4"]).current_dir(&place.0);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary runs");
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn a_rack_of_which_a_command_wants_less() {
    let place = Place::new("apps");
    let crosspod = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crosspod");
    let rack = crosspod.to_str().expect("a path as text");
    place.check(
        &["switch", rack],
        1,
        &["P4R0704", "the rack has 2 apps, not one", "a switch needs exactly one app"],
    );
}

/// Exit status 2: the command line is wrong; 1: its input is.
#[test]
fn an_option_that_says_nothing() {
    let place = Place::new("options");
    place
        .write("p4c.json", br#"{ "program": "basic.p4", "__meta__": { "version": [2, 24] }, "tables": [] }"#);
    for (args, status, words) in [
        (
            &["plan", ".", "--objective", "Coost"] as &[_],
            1,
            &["`Coost` is not an objective", "did you mean `Cost`?"] as &[_],
        ),
        (&["plan", ".", "--objective", "Beauty"], 1, &["`Beauty` is not an objective", ", devices"]),
        (&["plan", ".", "--without", "card"], 1, &["no device is called `card`", "there are tor, nic"]),
        (&["plan", ".", "--without", "nci"], 1, &["did you mean `nic`?"]),
        (&["plan", ".", "--weigh", "Latency"], 1, &["`Latency` is not a weight", "write NAME=AMOUNT"]),
        (&["plan", ".", "--why-not", "Acl"], 1, &["`Acl` names no device", "write REGION=DEVICE"]),
        (&["prove-split", ".", "--packets", "0"], 2, &["'0'", "--packets"]),
        (&["run", "slice.p4", "-i", "1@no.pcap"], 1, &["`no.pcap`: there is no such file", "check the path"]),
        (
            &["switch", "slice.p4", "-i", "1@nosuch0"],
            1,
            &["there is no interface `nosuch0`", "there are `lo`"],
        ),
        (&["switch", "slice.p4", "-i", "foo"], 2, &["NUMBER@pcap:IN,OUT"]),
        (
            &["switch", "p4c.json"],
            1,
            &["P4R0701", "`p4c.json` was not written by p4rack", "give the source, `basic.p4`"],
        ),
        (&["switch", "slice.p4", "--pcap=nowhere"], 1, &["--pcap: `nowhere` is not a directory"]),
        (&["switch", "slice.p4", "--log-file", "no/where"], 1, &["`no/where`: No such file"]),
        (&["switch", "slice.p4", "--grpc-server-ssl"], 2, &["--grpc-server-cert"]),
        (&["switch", "slice.p4", "--grpc-server-addr", "9559"], 2, &["as in 127.0.0.1:9559"]),
        (
            &["switch", "slice.p4", "--grpc-server-addr", "0.0.0.0:0"],
            1,
            &["0.0.0.0:0 can be reached from other machines", "--grpc-server-cacert, or --insecure"],
        ),
        (&["switch", "slice.p4", "--max-updates", "0"], 2, &["expected a number of at least 1"]),
        (
            &["ctl", "show", "--addr", "127.0.0.1:1"],
            1,
            &["no switch at 127.0.0.1:1", "`p4rack switch` starts one"],
        ),
        (&["completions", "tcsh"], 2, &["bash"]),
    ] {
        let output = place.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{args:?}: no `{word}` in\n{said}"));
        assert_eq!(said.matches("tcp connect error").count(), said.matches("no switch").count(), "{said}");
    }
}

#[test]
fn what_programs_ask_for_is_json() {
    let place = Place::new("json");
    let json = |args: &[&str], status: i32| -> serde_json::Value {
        let output = place.run(&[args, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(status), "{args:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    };
    let codes = json(&["explain"], 0);
    assert!(codes["codes"].as_array().is_some_and(|all| all.len() > 50), "{codes}");
    assert_eq!(json(&["explain", "P4R0505"], 0)["title"], "State is used across a cut");
    assert_eq!(json(&["explain", "P4R9999"], 1)["ok"], false);
    assert_eq!(json(&["ctl", "show", "--addr", "127.0.0.1:1"], 1)["ok"], false);
    let made = json(&["generate-rack", "star", "-o", "star"], 0);
    assert!(made["files"].as_array().is_some_and(|all| all.iter().any(|f| f == "star/RACK.toml")), "{made}");
    assert_eq!(json(&["generate-rack", "star", "-o", "RACK.toml"], 1)["ok"], false);
}

#[test]
fn shells_complete_every_command() {
    let place = Place::new("shells");
    for shell in ["bash", "zsh", "fish"] {
        let output = place.run(&["completions", shell]);
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && script.contains("prove-split") && script.contains("full-rate"),
            "{shell}"
        );
    }
}
