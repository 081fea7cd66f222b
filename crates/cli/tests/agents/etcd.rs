//! A rack's controllers with their state in etcd: when the leader ends, or is cut off, the next one takes over with every acknowledged write.
//!
//! The tests use a fake of etcd over gRPC. Those that are ignored do the same with etcd itself: `tests/etcd` installs and runs them.

use crate::controllers::{Acknowledged, Client, Written, another, goes, write_on};
use crate::fake_etcd::Server;
use crate::setup::{Rack, Starting, Switch, directory, free_tcp};
use base_time::Rng;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// A cluster of etcd, members as processes.
struct Members {
    members: Vec<(String, Child, Vec<String>)>,
    directory: PathBuf,
}

impl Members {
    fn start(name: &str, count: usize, more: &[&str]) -> Members {
        Members::serving("http", name, count, more)
    }

    /// Clients use this scheme. A port that was free may be taken before a member listens there: the member ends, and all begin anew at others.
    fn serving(scheme: &str, name: &str, count: usize, more: &[&str]) -> Members {
        (0..5)
            .map(|_| Members::begin(scheme, name, count, more))
            .find_map(|mut members| members.all_serve().then_some(members))
            .expect("five times, a member of etcd has ended")
    }

    fn begin(scheme: &str, name: &str, count: usize, more: &[&str]) -> Members {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("etcd_{name}"));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let places: Vec<(String, String)> = (0..count).map(|_| (free_tcp(), free_tcp())).collect();
        let all: Vec<String> =
            places.iter().enumerate().map(|(number, (_, peer))| format!("m{number}=http://{peer}")).collect();
        let start = |(number, (client, peer)): (usize, &(String, String))| {
            let data = directory.join(format!("m{number}")).display().to_string();
            let mut args: Vec<String> =
                vec!["--name".into(), format!("m{number}"), "--data-dir".into(), data];
            for (option, scheme, value) in [
                ("listen-client-urls", scheme, client),
                ("advertise-client-urls", scheme, client),
                ("listen-peer-urls", "http", peer),
                ("initial-advertise-peer-urls", "http", peer),
            ] {
                args.extend([format!("--{option}"), format!("{scheme}://{value}")]);
            }
            args.extend(["--initial-cluster".to_string(), all.join(",")]);
            args.extend(more.iter().map(ToString::to_string));
            (client.clone(), Members::run(&args), args)
        };
        let members = places.iter().enumerate().map(start).collect();
        Members { members, directory }
    }

    /// True as soon as clients can connect to all members; false if one has ended.
    fn all_serve(&mut self) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if self.members.iter_mut().any(|(_, process, _)| process.try_wait().unwrap().is_some()) {
                return false;
            }
            if self.members.iter().all(|(address, ..)| TcpStream::connect(address).is_ok()) {
                return true;
            }
            assert!(Instant::now() < until, "etcd does not serve");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn run(args: &[String]) -> Child {
        let program = std::env::var("P4RACK_ETCD").expect("`tests/etcd` sets P4RACK_ETCD");
        let mut command = Command::new(program);
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("etcd runs")
    }

    fn place(&self, more: &str) -> String {
        let members: Vec<&str> = self.members.iter().map(|(address, ..)| address.as_str()).collect();
        format!("etcd://{}/agents{more}", members.join(","))
    }

    /// `etcdctl` with these arguments at the first member, until it succeeds: etcd takes a moment to start.
    fn control(&self, tls: &Files, args: &[&str]) {
        let program = std::env::var("P4RACK_ETCDCTL").expect("`tests/etcd` sets P4RACK_ETCDCTL");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let mut command = Command::new(&program);
            command.env("ETCDCTL_API", "3").args(["--endpoints", &format!("https://{}", self.members[0].0)]);
            command
                .args(["--cacert", &tls.authority, "--cert", &tls.certificate, "--key", &tls.key])
                .args(args);
            let output = command.output().expect("etcdctl runs");
            if output.status.success() {
                return;
            }
            assert!(Instant::now() < until, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn kill(&mut self, number: usize) {
        self.members[number].1.kill().unwrap();
        self.members[number].1.wait().unwrap();
    }

    /// Starts a member again. It is healthy then, and the cluster survives the end of another one.
    fn restart(&mut self, number: usize) {
        let (address, process, args) = &mut self.members[number];
        *process = Members::run(args);
        let until = Instant::now() + Duration::from_secs(60);
        while !is_healthy(address).unwrap_or(false) {
            assert!(Instant::now() < until, "the member of etcd is not healthy");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The answer of a member to a request for its health.
fn is_healthy(address: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.contains("\"health\":\"true\""))
}

impl Drop for Members {
    fn drop(&mut self) {
        for (_, process, _) in &mut self.members {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Files of a client with a certificate and a password, in a directory.
struct Files {
    authority: String,
    certificate: String,
    key: String,
    password: String,
}

impl Files {
    fn new(directory: &Path) -> Files {
        std::fs::create_dir_all(directory).unwrap();
        let path = |name: &str| directory.join(name).display().to_string();
        let private = |name: &str, text: &[u8]| {
            std::fs::write(directory.join(name), text).unwrap();
            let permissions = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(directory.join(name), permissions).unwrap();
            path(name)
        };
        Files {
            authority: pem_file("authority.pem"),
            certificate: pem_file("controller.pem"),
            key: private("controller.key", &pem("controller.key")),
            password: private("password", b"a secret\n"),
        }
    }

    /// The options of an address.
    fn options(&self) -> String {
        let Files { authority, certificate, key, password } = self;
        format!("?cacert={authority}&cert={certificate}&key={key}&user=rack&password={password}")
    }
}

fn pem_file(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/certificates");
    directory.join(name).display().to_string()
}

fn pem(name: &str) -> Vec<u8> {
    std::fs::read(pem_file(name)).unwrap()
}

fn signal(process: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap().success());
}

/// A rack, and a second controller that waits.
fn two_controllers(place: &str) -> (Rack, Starting) {
    let rack = Rack::with_controller(&["--state", place]);
    let standby = standby(&rack, place);
    (rack, standby)
}

fn standby(rack: &Rack, place: &str) -> Starting {
    let args = another(rack, &directory(), &["--state", place]);
    let standby = Starting::new(&args.iter().map(String::as_str).collect::<Vec<_>>());
    standby.reports("waiting: process ");
    standby
}

/// The standby becomes the rack's controller. Returns the former one.
fn takes_over(rack: &mut Rack, standby: Starting) -> Switch {
    let former = std::mem::replace(&mut rack.controller, standby.listens());
    goes(rack, &rack.controller);
    former
}

/// The leader is killed, ended, and stopped for so long that its lease ends.
fn one_after_the_other_leads(place: &str) {
    let (mut rack, waits) = two_controllers(place);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 3).unwrap();
    client.write("DELETE", 1).unwrap();
    rack.controller.process.kill().unwrap();
    let begun = Instant::now();
    let killed = takes_over(&mut rack, waits);
    eprintln!("{place}: taken over {} ms after a kill", begun.elapsed().as_millis());
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    assert_eq!(client.ports(), [3]);
    client.write("INSERT", 1).unwrap();
    assert_eq!(rack.pass(1), (1, 1));

    // One that ends gives its place up.
    let waits = killed.starts_again();
    waits.reports("waiting: process ");
    signal(&rack.controller.process, "-TERM");
    let begun = Instant::now();
    let ended = takes_over(&mut rack, waits);
    eprintln!("{place}: taken over {} ms after SIGTERM", begun.elapsed().as_millis());
    assert_eq!(Client::new(&rack.controller.address, 1, None).unwrap().ports(), [1, 3]);

    // One that stood still ends, and does not answer.
    let waits = ended.starts_again();
    waits.reports("waiting: process ");
    let mut late = Client::new(&rack.controller.address, 1, None).unwrap();
    let ids = late.ids();
    signal(&rack.controller.process, "-STOP");
    let mut stopped = takes_over(&mut rack, waits);
    Client::new(&rack.controller.address, 1, None).unwrap().write("INSERT", 4).unwrap();
    signal(&stopped.process, "-CONT");
    assert!(late.write_by(ids, "INSERT", 5).is_err());
    assert_eq!(stopped.process.wait().unwrap().code(), Some(1));
    let why = "p4rack: this controller no longer leads: its lease in etcd has ended";
    assert_eq!(stopped.last_words(), why);
    goes(&rack, &rack.controller);
    assert_eq!(Client::new(&rack.controller.address, 1, None).unwrap().ports(), [1, 3, 4]);
    // The register has counted through all of it.
    assert_eq!(rack.pass(2), (2, 2));
}

/// The process that a round kills besides the leader.
#[derive(Clone, Copy)]
enum Victim {
    Leader,
    Agent,
    Etcd,
}

/// Processes are killed while a client writes: no acknowledged write is lost.
fn kills(place: &str, kills: u64, mut members: Option<&mut Members>) {
    let (mut rack, mut waits) = two_controllers(place);
    let mut rng = Rng::new(36);
    let mut there: BTreeSet<u8> = [1].into();
    // The longest take-overs, with a leader alone, an agent, and a member of etcd; and by a controller that may have been starting still.
    let (mut acknowledged, mut longest, mut is_ready) = (Acknowledged::default(), [0; 4], true);
    for round in 0..kills {
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (address, stop, there) = (rack.controller.address.clone(), Arc::clone(&stop), there.clone());
            let rng = rng.split_index(round);
            std::thread::spawn(move || write_on(&address, &stop, there, &rng))
        };
        std::thread::sleep(Duration::from_millis(rng.between(1, 200)));
        let victim = match (rng.below(3), &members) {
            (0, Some(_)) => Victim::Etcd,
            (1, _) => Victim::Agent,
            _ => Victim::Leader,
        };
        let etcd = rng.index(3);
        match (&victim, &mut members) {
            (Victim::Etcd, Some(members)) => members.kill(etcd),
            (Victim::Agent, _) => {
                rack.nic.process.kill().unwrap();
                rack.nic.process.wait().unwrap();
                rack.nic.restart();
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(rng.below(30)));
        // A leader that waits for etcd may end, too: the next one takes over in each round.
        rack.controller.process.kill().unwrap();
        let begun = Instant::now();
        stop.store(true, Ordering::SeqCst);
        let written = writer.join().unwrap();
        acknowledged.add(&written);
        let killed = takes_over(&mut rack, waits);
        let of = if is_ready { victim as usize } else { 3 };
        longest[of] = longest[of].max(begun.elapsed().as_millis());
        if let (Victim::Etcd, Some(members)) = (victim, &mut members) {
            members.restart(etcd);
        }
        waits = killed.starts_again();
        is_ready = round % 4 != 2;
        if is_ready {
            waits.reports("waiting: process ");
        }
        let found: BTreeSet<u8> =
            Client::new(&rack.controller.address, 1, None).unwrap().ports().into_iter().collect();
        let (lost, Written { there: known, unknown, .. }) = (written.lost(&found), &written);
        assert!(lost.is_empty(), "round {round}: {lost:?} of {known:?}, {unknown:?} not acknowledged");
        there = found;
    }
    let [alone, agent, etcd, starting] = longest;
    eprintln!(
        "{place}: {kills} leaders killed, {acknowledged}, none lost; the longest take-overs: {alone} ms, {agent} ms if an agent was killed, too, {etcd} ms if a \
         member of etcd was; {starting} ms by a controller that may have been starting still"
    );
}

fn count(usual: u64) -> u64 {
    let all = features::is_long();
    features::setting("P4RACK_KILLS", if all { 200 } else { usual })
}

#[test]
fn the_next_controller_takes_over() {
    let server = Server::start();
    // Every third transaction is done without an answer.
    server.lose(3);
    one_after_the_other_leads(&format!("etcd://{}/agents", server.address));
}

/// With certificates on both sides, and a user whose tokens end.
#[test]
fn the_next_controller_takes_over_with_tls_and_a_user() {
    let identity = Identity::from_pem(pem("switch.pem"), pem("switch.key"));
    let authority = Certificate::from_pem(pem("authority.pem"));
    let server = Server::with(Some(ServerTlsConfig::new().identity(identity).client_ca_root(authority)));
    server.wants("rack", "a secret");
    let files = Files::new(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("etcd_files"));
    let place = format!("etcd://{}/agents{}", server.address, files.options());
    let (mut rack, waits) = two_controllers(&place);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 3).unwrap();
    assert!(server.forget_tokens() >= 3, "the controller's two, and the one of that which waits");
    client.write("DELETE", 1).unwrap();
    rack.controller.process.kill().unwrap();
    takes_over(&mut rack, waits);
    assert_eq!(Client::new(&rack.controller.address, 1, None).unwrap().ports(), [3]);
}

/// `P4RACK_KILLS` says how often; `./test --all` does it 200 times.
#[test]
fn no_acknowledged_write_is_lost_with_a_leader() {
    let server = Server::start();
    kills(&format!("etcd://{}/agents", server.address), count(2), None);
}

#[test]
fn a_controller_waits_for_etcd() {
    let place = free_tcp();
    let state = format!("etcd://{place}/agents");
    let program = directory().join("count.p4").display().to_string();
    let waits = Starting::new(&[&program, "--grpc-server-addr", "127.0.0.1:0", "--state", &state]);
    let line = waits.reports("etcd cannot be reached");
    assert!(line.contains(&format!("{place}: ")) && line.ends_with("; trying again"), "{line}");
}

#[test]
#[ignore = "tests/etcd installs etcd and runs it"]
fn etcd_with_its_defaults() {
    let members = Members::start("defaults", 1, &[]);
    one_after_the_other_leads(&members.place(""));
}

#[test]
#[ignore = "tests/etcd installs etcd and runs it"]
fn etcd_with_a_short_heartbeat() {
    let members = Members::start("short", 1, &["--heartbeat-interval", "50", "--election-timeout", "500"]);
    one_after_the_other_leads(&members.place("?lease=1"));
}

/// Writes that etcd keeps while nothing is killed.
#[test]
#[ignore = "tests/etcd installs etcd and runs it"]
fn etcd_of_three_members_keeps_writes() {
    let members = Members::start("rate", 3, &[]);
    let rack = Rack::with_controller(&["--state", &members.place("")]);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (address, stop) = (rack.controller.address.clone(), Arc::clone(&stop));
        std::thread::spawn(move || write_on(&address, &stop, [1].into(), &Rng::new(36)))
    };
    std::thread::sleep(Duration::from_secs(5));
    stop.store(true, Ordering::SeqCst);
    let written = writer.join().unwrap();
    let found: BTreeSet<u8> =
        Client::new(&rack.controller.address, 1, None).unwrap().ports().into_iter().collect();
    assert_eq!((found, written.unknown.len()), (written.there.clone(), 0));
    let mut acknowledged = Acknowledged::default();
    acknowledged.add(&written);
    eprintln!("{acknowledged}");
}

/// Any member of three is killed, too, and the leader of the cluster among them.
#[test]
#[ignore = "tests/etcd installs etcd and runs it"]
fn etcd_of_three_members() {
    let mut members = Members::start("three", 3, &[]);
    let place = members.place("");
    kills(&place, count(6), Some(&mut members));
}

/// etcd with its own TLS and users, of which one may use the keys of p4rack and no others.
#[test]
#[ignore = "tests/etcd installs etcd and runs it"]
fn etcd_with_tls_and_a_user() {
    let (certificate, key, authority) =
        (pem_file("switch.pem"), pem_file("switch.key"), pem_file("authority.pem"));
    let members = Members::serving(
        "https",
        "tls",
        1,
        &[
            "--cert-file",
            &certificate,
            "--key-file",
            &key,
            "--trusted-ca-file",
            &authority,
            "--client-cert-auth",
        ],
    );
    let files = Files::new(&members.directory);
    for args in [
        &["user", "add", "root:another"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "rack"],
        &["role", "grant-permission", "--prefix", "rack", "readwrite", "p4rack/"],
        &["user", "add", "rack:a secret"],
        &["user", "grant-role", "rack", "rack"],
        &["auth", "enable"],
    ] {
        members.control(&files, args);
    }
    one_after_the_other_leads(&members.place(&files.options()));
}
