//! Who has no certificate, or one that somebody else has signed, neither steers a rack nor is taken for one of its devices.

use crate::setup::{Rack, Switch, are_sound, ctl, directory, text};
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

/// A file of `certificates`, which its script `make` has made.
fn file(name: &str) -> String {
    directory().join("certificates").join(name).display().to_string()
}

/// Arguments of who listens.
fn server() -> Vec<String> {
    let [certificate, key, authority] = ["switch.pem", "switch.key", "authority.pem"].map(file);
    let args =
        ["--grpc-server-cert", &certificate, "--grpc-server-key", &key, "--grpc-server-cacert", &authority];
    args.map(ToString::to_string).to_vec()
}

/// Arguments of who calls, and trusts those whom `authority` has signed.
fn client(authority: &str, name: Option<&str>) -> Vec<String> {
    let mut args = vec!["--cacert".to_string(), file(authority)];
    if let Some(name) = name {
        let (certificate, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
        args.extend(["--cert".to_string(), certificate, "--key".to_string(), key]);
    }
    args
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Callers whom nobody answers, and a part of why.
fn strangers() -> Vec<(Vec<String>, &'static [&'static str])> {
    vec![
        (client("authority.pem", None), &["CertificateRequired", "closed", "broken pipe", "reset"]),
        (
            client("authority.pem", Some("impostor")),
            &["UnknownCA", "DecryptError", "closed", "broken pipe", "reset"],
        ),
        (client("stranger.pem", Some("controller")), &["invalid peer certificate"]),
    ]
}

fn refused(output: &Output, why: &[&str]) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(why.iter().any(|why| told.contains(why)), "{told}");
}

#[test]
fn a_rack_whose_connections_are_encrypted_both_ways() {
    let known = client("authority.pem", Some("controller"));
    let rack = Rack::with(&words(&server()), &words(&known));
    assert_eq!([rack.pass(7), rack.pass(8)], [(7, 1), (8, 2)]);
    text(&rack.ctl(&["replace", &directory().display().to_string()]));
    for switch in [&rack.controller, &rack.tor] {
        for (stranger, why) in strangers() {
            refused(&ctl(&switch.address, &[&["stop"], &words(&stranger)[..]].concat()), why);
        }
        refused(&ctl(&switch.address, &["stop"]), &["no answer from "]);
    }
    assert_eq!(rack.pass(9), (9, 3));
}

#[test]
fn agents_do_not_answer_strangers() {
    let known = client("authority.pem", Some("controller"));
    let rack = Rack::with(&words(&server()), &words(&known));
    let agents = [format!("tor={}", rack.tor.address), format!("nic={}", rack.nic.address)];
    let directory = directory().display().to_string();
    let args =
        [&directory, "--grpc-server-addr", "127.0.0.1:0", "--agent", &agents[0], "--agent", &agents[1]];
    for (stranger, why) in strangers() {
        let mut other = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        other.arg("switch").args(args).args(words(&stranger)).stderr(Stdio::piped());
        let mut other = other.spawn().expect("the binary runs");
        let mut told = BufReader::new(other.stderr.take().expect("it is piped")).lines().map(Result::unwrap);
        let is_why = |line: &str| why.iter().any(|why| line.contains(why));
        let found = told.any(|line| line.contains("its agent cannot be reached") && is_why(&line));
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(found, "it ended without a word of {why:?}");
    }
    rack.wait(&rack.controller, are_sound);
    assert_eq!(rack.pass(1), (1, 1));
}

#[test]
fn a_server_alone_has_a_certificate() {
    let server = server();
    let switch = Switch::start(&[&["--grpc-server-addr", "127.0.0.1:0"], &words(&server)[..4]].concat());
    text(&ctl(&switch.address, &[&["devices"], &words(&client("authority.pem", None))[..]].concat()));
    let stranger = client("stranger.pem", None);
    refused(
        &ctl(&switch.address, &[&["devices"], &words(&stranger)[..]].concat()),
        &["invalid peer certificate"],
    );
}

#[test]
fn files_without_certificates_are_refused() {
    let [certificate, key] = ["controller.pem", "controller.key"].map(file);
    let cases: [(&[&str], &str); 5] = [
        (&["--cacert", &key], "has not a certificate as PEM in it"),
        (&["--cacert", "nowhere.pem"], "`nowhere.pem` cannot be read"),
        (
            &["--cacert", &certificate, "--cert", &certificate, "--key", &certificate],
            "has not a private key as PEM",
        ),
        (&["--cacert", &certificate, "--cert", &certificate], "--cert and --key belong together"),
        (&["--cert", &certificate, "--key", &key], "name who signs switches' certificates with --cacert"),
    ];
    for (args, why) in cases {
        refused(&ctl("127.0.0.1:1", &[&["show"], args].concat()), &[why]);
    }
}
