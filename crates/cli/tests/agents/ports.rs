//! Ports that are attached and detached, and errors for impossible ones.

use crate::setup::{Switch, ctl, secret, text};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bench/router/router.p4");

#[test]
fn ports_are_added_listed_and_removed() {
    let switch = Switch::start(&[PROGRAM, "--grpc-server-addr", "127.0.0.1:0", "-i", "7@pcap:,"]);
    let ports = |more: &[&str]| ctl(&switch.address, &[&["port"], more].concat());
    let rows = |reported: String| {
        reported.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let first = "7 pcap:, up 0 received 0 sent";
    assert_eq!(rows(text(&ports(&[]))), [first]);
    text(&ports(&["add", "9@udp:127.0.0.1:0,127.0.0.1:1"]));
    assert_eq!(rows(text(&ports(&["list"]))), [first, "9 udp:127.0.0.1:0,127.0.0.1:1 up 0 received 0 sent"]);
    let refused = |more: &[&str]| {
        let output = ports(more);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(refused(&["add", "9@pcap:,"]), "p4rack: port 9 is given twice\n");
    assert_eq!(refused(&["add", "511@pcap:,"]), "p4rack: port 511 means drop: no frame can leave on it\n");
    assert!(
        refused(&["add", "512@pcap:,"])
            .starts_with("p4rack: port 512 does not fit into the 9 bits of a port")
    );
    assert!(
        refused(&["add", "8@no-such-link"])
            .starts_with("p4rack: port 8: there is no interface `no-such-link`; there are `lo`")
    );
    assert_eq!(refused(&["remove", "8"]), "p4rack: there is no port 8\n");
    text(&ports(&["remove", "9"]));
    assert_eq!(rows(text(&ports(&[]))), [first]);
}

#[test]
fn a_switch_with_a_port_that_cannot_be_does_not_start() {
    let reported = |code: i32, ports: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command
            .args(["switch", PROGRAM, "--grpc-server-addr", "127.0.0.1:0"])
            .args(ports)
            .stdout(Stdio::null());
        let output = secret(&mut command).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(code), "{ports:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = reported(1, &["-i", "1@no-such-link"]);
    assert!(
        missing.starts_with("p4rack: port 1: there is no interface `no-such-link`; there are `lo`"),
        "{missing}"
    );
    assert!(missing.ends_with("`\n") && missing.lines().count() == 1, "{missing}");
    assert_eq!(reported(1, &["-i", "1@pcap:,", "-i", "1@pcap:,"]), "p4rack: port 1 is given twice\n");
    assert_eq!(reported(1, &["-i", "511@pcap:,"]), "p4rack: port 511 means drop: no frame can leave on it\n");
    assert!(
        reported(2, &["-i", "x@lo"])
            .starts_with("error: invalid value 'x@lo' for '--interface <PORT>': `x` is not a port number")
    );
    assert!(reported(2, &["-i", "1@hub:a"]).contains("`hub` is not a kind of port"));
}

/// A switch called by one of BMv2's names, and its output until it listens.
fn named(name: &str, directory: &std::path::Path, args: &[&str]) -> (std::process::Child, Vec<String>) {
    let link = directory.join(name);
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_p4rack"), &link).unwrap();
    let mut command = Command::new(&link);
    command.args(args).current_dir(directory).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = secret(&mut command).spawn().expect("the binary runs");
    let mut reported = vec![];
    for line in BufReader::new(process.stderr.take().expect("it is piped")).lines() {
        reported.push(line.expect("it is text"));
        if reported.last().is_some_and(|line| line.contains(" listens on ")) {
            return (process, reported);
        }
    }
    let _ = process.wait();
    panic!("it ended early: {reported:#?}");
}

#[test]
fn every_option_of_simple_switch_grpc_is_taken() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("simple_switch");
    std::fs::create_dir_all(directory.join("pcaps")).unwrap();
    let compiled = Command::new(env!("CARGO_BIN_EXE_p4rack"))
        .args(["compile", PROGRAM, "-o", "build"])
        .current_dir(&directory)
        .output();
    assert!(compiled.expect("the binary runs").status.success());
    let without_effect = "--nanolog ipc:///tmp/a --debugger --debugger-addr ipc:///tmp/c \
         --dump-packet-data 64 --packet-in ipc:///tmp/d --max-port-count 64 --warn-on-invalid-hdr-read --ret-zero-on-invalid-hdr-read \
         --log-file-max-size 1000 --log-file-max-files 2 -- --enable-swap --disable-swap --dp-grpc-server-addr 127.0.0.1:1 \
         --max-mc-groups 8 --max-l1-entries 8 --max-l2-entries 8 --load-modules a.so";
    let with_effect = "-i 7@udp:127.0.0.1:0,127.0.0.1:1 --pcap=pcaps build/router.json --log-file s1.log -L debug --log-flush --thrift-port 0 \
         --notifications-addr tcp://127.0.0.1:0";
    let target = "--grpc-server-addr 0.0.0.0:0 --cpu-port 510 --drop-port 511 --priority-queues 2";
    let args: Vec<&str> =
        [with_effect, without_effect, target].iter().flat_map(|part| part.split_whitespace()).collect();
    let (mut process, reported) = named("simple_switch_grpc", &directory, &args);
    let _ = process.kill();
    let _ = process.wait();
    let notes = reported.iter().filter(|line| line.contains(" has no effect: ")).count();
    let options =
        without_effect.split_whitespace().filter(|word| word.len() > 2 && word.starts_with("--")).count();
    assert_eq!(notes, options, "{reported:#?}");
    let (last, rest) = reported.split_last().unwrap();
    assert!(last.starts_with("p4rack: device 0 listens on 0.0.0.0:"), "{last}");
    assert!(rest.iter().any(|line| line == "p4rack: anyone who reaches 0.0.0.0:0 can control the switch"));
    assert!(rest.iter().any(|line| line.starts_with("p4rack: Thrift on 127.0.0.1:")));
    assert_eq!(rest.len(), notes + 2, "{rest:#?}");
    assert!(directory.join("pcaps/port7_in.pcap").exists() && directory.join("s1.log").exists());
}

#[test]
fn files_stand_for_interfaces() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("use_files");
    std::fs::create_dir_all(&directory).unwrap();
    let mut capture =
        base_pcap::Writer::new(std::fs::File::create(directory.join("veth0_in.pcap")).unwrap()).unwrap();
    capture.frame(base_pcap::Frame::whole(0, &[0; 60])).unwrap();
    capture.flush().unwrap();
    let (mut process, _) = named(
        "simple_switch",
        &directory,
        &[PROGRAM, "-i", "1@veth0", "--use-files", "1", "--thrift-port", "0"],
    );
    let came = || directory.join("veth0_out.pcap").exists();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !came() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let _ = process.kill();
    let _ = process.wait();
    assert!(came());
}

#[test]
fn versions_are_printed() {
    for (option, begins) in [("--version", "p4rack "), ("-v", "p4rack "), ("--json-version", "2.")] {
        let output = Command::new(env!("CARGO_BIN_EXE_p4rack")).args(["switch", option]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.starts_with(begins) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_serialized_state_is_restored() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("restore_state");
    std::fs::create_dir_all(&directory).unwrap();
    let cli = |reported: &[String], commands: &[&str]| {
        let thrift = reported.iter().find_map(|line| line.strip_prefix("p4rack: Thrift on 127.0.0.1:"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.args(["cli", "--thrift-port", thrift.expect("it serves Thrift")]).current_dir(&directory);
        commands.iter().for_each(|line| _ = command.args(["-c", line]));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let end = |mut process: std::process::Child| {
        let _ = process.kill();
        let _ = process.wait();
    };
    let start = |more: &[&str]| {
        let args = [&[PROGRAM, "--thrift-port", "0"], more].concat();
        named("simple_switch", &directory, &args)
    };
    let (process, reported) = start(&[]);
    cli(&reported, &["table_add routes set_next_hop 10.0.0.0/8 => 7", "serialize_state s1.state"]);
    end(process);
    let (process, reported) = start(&["--restore-state", "s1.state"]);
    let entries = cli(&reported, &["table_dump routes"]);
    end(process);
    assert!(entries.contains("0a000000/8") && entries.contains("set_next_hop - 0007"), "{entries}");
    for (file, why) in [
        ("none.state", "`none.state` cannot be read"),
        (
            "veth.txt",
            "`veth.txt` is not a file that `p4rack ctl save` or `serialize_state` of p4rack has written",
        ),
    ] {
        std::fs::write(directory.join("veth.txt"), "06062016_0\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        let output =
            command.args(["switch", PROGRAM, "--restore-state", file]).current_dir(&directory).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("p4rack: --restore-state: ") && said.contains(why), "{said}");
    }
}
