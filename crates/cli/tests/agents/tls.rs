//! A client without a certificate of the rack's authority can neither control a rack nor pass for one of its devices.

use crate::setup::{Rack, Switch, are_sound, ctl, directory, state, text};
use agent::{ClientTls, Operator};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file of `certificates`, which its script `make` has made.
fn file(name: &str) -> String {
    directory().join("certificates").join(name).display().to_string()
}

/// Arguments of a server.
fn server() -> Vec<String> {
    let [certificate, key, authority] = ["switch.pem", "switch.key", "authority.pem"].map(file);
    let args =
        ["--grpc-server-cert", &certificate, "--grpc-server-key", &key, "--grpc-server-cacert", &authority];
    args.map(ToString::to_string).to_vec()
}

/// Arguments of a client that trusts certificates signed by `authority`.
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

/// Clients that are refused, with parts of the reasons.
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
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    assert!(why.iter().any(|why| reported.contains(why)), "{reported}");
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
        let mut reported =
            BufReader::new(other.stderr.take().expect("it is piped")).lines().map(Result::unwrap);
        let is_why = |line: &str| why.iter().any(|why| line.contains(why));
        let found = reported.any(|line| line.contains("its agent cannot be reached") && is_why(&line));
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
        (&["--cacert", &key], "does not contain a certificate in PEM form"),
        (&["--cacert", "nowhere.pem"], "`nowhere.pem` cannot be read"),
        (
            &["--cacert", &certificate, "--cert", &certificate, "--key", &certificate],
            "does not contain a private key in PEM form",
        ),
        (&["--cacert", &certificate, "--cert", &certificate], "--cert and --key are used together"),
        (&["--cert", &certificate, "--key", &key], "name the CA of the switches' certificates with --cacert"),
    ];
    for (args, why) in cases {
        refused(&ctl("127.0.0.1:1", &[&["show"], args].concat()), &[why]);
    }
}

/// An empty directory.
fn empty(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The secret once went to agents in plaintext unless the user had made certificates.
#[test]
fn certificates_are_made_at_bring_up() {
    let certificates = empty("agents_certified");
    let rack = Rack::certified(&certificates);
    assert_eq!(rack.pass(1), (1, 1));
    let own = certificates.join("agents").join(&rack.tor.address);
    for (path, wanted) in [
        (certificates.clone(), 0o700),
        (certificates.join("authority.key"), 0o600),
        (certificates.join("controller.key"), 0o600),
        (own.clone(), 0o700),
        (own.join("switch.key"), 0o600),
    ] {
        assert_eq!(mode(&path), wanted, "{}", path.display());
    }
    // An agent has nothing by which others could be made.
    assert!(!own.join("authority.key").exists());
    let named = |directory: &Path| ["--certificates".to_string(), directory.display().to_string()];
    let shown = |more: &[String]| ctl(&rack.tor.address, &[&["show"], &words(more)[..]].concat());
    text(&shown(&named(&certificates)));
    let reset = &["closed", "broken pipe", "reset", "CertificateRequired"];
    refused(&shown(&[]), &["no answer from ", "no switch at "]);
    let no_certificate = ["--cacert".to_string(), certificates.join("authority.pem").display().to_string()];
    refused(&shown(&no_certificate), reset);
    // Another rack's controller is none of this one's, and an agent's own certificate is not a controller's.
    let others = empty("agents_certified_others");
    drop(Rack::certified(&others));
    refused(&shown(&named(&others)), &["invalid peer certificate"]);
    let as_agent = [
        no_certificate.to_vec(),
        vec!["--cert".to_string(), own.join("switch.pem").display().to_string()],
        vec!["--key".to_string(), own.join("switch.key").display().to_string()],
    ]
    .concat();
    refused(
        &shown(&as_agent),
        &[
            "closed",
            "broken pipe",
            "reset",
            "InvalidCert",
            "UnsupportedCertificate",
            "BadCertificate",
            "CertificateUnknown",
        ],
    );
    assert_eq!(rack.pass(2), (2, 2));
    // Existing certificates are used again.
    let before = fs::read(certificates.join("controller.pem")).unwrap();
    drop(rack);
    let rack = Rack::certified(&certificates);
    assert_eq!(rack.pass(3), (3, 1));
    assert_eq!(fs::read(certificates.join("controller.pem")).unwrap(), before);
    drop(rack);
    fs::set_permissions(certificates.join("controller.key"), Permissions::from_mode(0o644)).unwrap();
    let reported = ctl("192.0.2.1:9559", &[&["show"], &words(&named(&certificates))[..]].concat());
    refused(&reported, &["(mode 644): run `chmod 600` on it"]);
}

/// Agents beyond the loopback are spoken to by TLS, unless that is not wanted.
#[test]
fn the_way_beyond_the_loopback_is_encrypted() {
    let state = empty("agents_beyond");
    let rack = directory().display().to_string();
    let far = ["--agent", "tor=192.0.2.1:9601", "--agent", "nic=127.0.0.1:1"];
    let args = [&[rack.as_str(), "--grpc-server-addr", "127.0.0.1:0"], &far[..]].concat();
    let reported = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.arg("switch").args(&args).args(more).env("XDG_STATE_HOME", &state);
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut reported = vec![];
        for line in lines {
            reported.push(line);
            if reported.last().unwrap().contains(" listens on ") {
                break;
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        reported.join("\n")
    };
    let made = state.join("p4rack/certificates/agents");
    assert!(!reported(&["--insecure"]).contains("certificates are in"));
    assert!(!made.exists());
    assert!(reported(&[]).contains("the agents' certificates are in"));
    assert!(made.join("192.0.2.1:9601/switch.pem").exists() && !made.join("127.0.0.1:1").exists());
    let mut agent = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let output = agent.args(["switch", "--grpc-server-addr", "0.0.0.0:0"]).output().unwrap();
    refused(
        &output,
        &["add --certificates with the directory that the rack's controller created for this agent"],
    );
    // The secret is not sent to a server in between.
    let file = state.join("p4rack/secret").display().to_string();
    let output = ctl("192.0.2.1:9559", &["show", "--secret", &file]);
    refused(&output, &["the connection to 192.0.2.1:9559 is plaintext and would reveal the secret"]);
}

/// A certificate that is good for a few seconds, and its key.
fn short(directory: &Path, name: &str, seconds: i64) {
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
    let authority = rcgen::KeyPair::from_pem(&read("authority.key")).unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "p4rack");
    let issuer = rcgen::Issuer::new(params.clone(), authority);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let begin = rcgen::date_time_ymd(1970, 1, 1) + now;
    let life = Duration::from_secs(seconds.unsigned_abs());
    params.not_after = if seconds < 0 { begin - life } else { begin + life };
    params.distinguished_name.push(rcgen::DnType::OrganizationName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(directory.join(format!("{name}.pem")), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

/// Certificates expire, and files change, while a switch runs: open connections continue, new ones are checked against
/// the present files.
#[test]
fn certificates_that_expire_or_are_replaced() {
    let directory = empty("agents_expiring");
    let rack = Rack::certified(&directory);
    let read = |file: &str| fs::read(directory.join(file)).unwrap();
    let secret = agent::Secret::new(fs::read_to_string(state().join("p4rack/secret")).unwrap().trim());
    let connect = || {
        let identity = Some((read("brief.pem"), read("brief.key")));
        let brief = ClientTls { authority: read("authority.pem"), identity };
        let mut client = Operator::connect(&rack.tor.address, Some(&brief), secret.clone())?;
        client.show().map(|_| client)
    };
    // On a slow machine a certificate may have expired before it is used: the next one lives longer.
    let mut early = (1..=8)
        .find_map(|power| {
            short(&directory, "brief", 1 << power);
            connect().ok()
        })
        .expect("a certificate is good until it expires");
    // An expired certificate opens nothing.
    while connect().is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Once inside, it stays.
    early.show().unwrap();
    // A switch reads its files when it starts. It ignores files written later, valid or not.
    let own = directory.join("agents").join(&rack.tor.address);
    fs::write(own.join("switch.pem"), "nothing").unwrap();
    fs::remove_file(own.join("switch.key")).unwrap();
    let good = ["--certificates".to_string(), directory.display().to_string()];
    text(&ctl(&rack.tor.address, &[&["show"], &words(&good)[..]].concat()));
    assert_eq!(rack.pass(1), (1, 1));
    early.show().unwrap();
    // A switch that starts with these certificates reports the error.
    let mut agent = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    agent.args(["switch", "--grpc-server-addr", "127.0.0.1:0", "--certificates"]).arg(&own);
    refused(&agent.output().unwrap(), &["cannot be read"]);
    // A switch with an expired certificate is refused.
    short(&directory, "past", -60);
    let [certificate, key, authority] =
        ["past.pem", "past.key", "authority.pem"].map(|file| directory.join(file).display().to_string());
    let stale = Switch::start(&[
        "--grpc-server-addr",
        "127.0.0.1:0",
        "--grpc-server-cert",
        &certificate,
        "--grpc-server-key",
        &key,
        "--grpc-server-cacert",
        &authority,
    ]);
    refused(
        &ctl(&stale.address, &[&["show"], &words(&good)[..]].concat()),
        &["invalid peer certificate: certificate expired"],
    );
}
