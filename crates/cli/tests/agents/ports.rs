//! Ports that are attached and detached, and errors for impossible ones.

use crate::setup::{Switch, ctl, secret, text};
use std::process::{Command, Stdio};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bench/router/router.p4");

#[test]
fn ports_are_added_listed_and_removed() {
    let switch = Switch::start(&[PROGRAM, "--grpc-server-addr", "127.0.0.1:0", "-i", "7@pcap:,"]);
    let ports = |more: &[&str]| ctl(&switch.address, &[&["port"], more].concat());
    let rows = |told: String| {
        told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
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
    let told = |code: i32, ports: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command
            .args(["switch", PROGRAM, "--grpc-server-addr", "127.0.0.1:0"])
            .args(ports)
            .stdout(Stdio::null());
        let output = secret(&mut command).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(code), "{ports:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = told(1, &["-i", "1@no-such-link"]);
    assert!(
        missing.starts_with("p4rack: port 1: there is no interface `no-such-link`; there are `lo`"),
        "{missing}"
    );
    assert!(missing.ends_with("`\n") && missing.lines().count() == 1, "{missing}");
    assert_eq!(told(1, &["-i", "1@pcap:,", "-i", "1@pcap:,"]), "p4rack: port 1 is given twice\n");
    assert_eq!(told(1, &["-i", "511@pcap:,"]), "p4rack: port 511 means drop: no frame can leave on it\n");
    assert!(
        told(2, &["-i", "x@lo"])
            .starts_with("error: invalid value 'x@lo' for '--interface <PORT>': `x` is not a port number")
    );
    assert!(told(2, &["-i", "1@hub:a"]).contains("`hub` is not a kind of port"));
}
