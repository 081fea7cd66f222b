//! A split rack as processes on this machine, with real hosts. It needs permission to create network namespaces; without it, the error message is tested.

#![allow(clippy::disallowed_methods)]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Time for a rack to repair itself, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A rack that is up, and the answers to its commands.
struct Rack {
    child: Child,
    answers: BufReader<ChildStdout>,
    /// First answer of the lab.
    record: Value,
}

fn command(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(args).current_dir(place).env("XDG_RUNTIME_DIR", place).env("XDG_STATE_HOME", place);
    command
}

/// A copy of the example.
fn place(name: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
    for file in ["slice.p4", "hosts.toml", "hosts.stf"] {
        std::fs::copy(example.join(file), place.join(file)).unwrap();
    }
    place
}

impl Rack {
    /// `None` where no rack may run, which the error says.
    fn start(place: &Path) -> Option<Rack> {
        Rack::with(place, &[])
    }

    /// With more arguments.
    fn with(place: &Path, more: &[&str]) -> Option<Rack> {
        let args = ["up", "hosts.toml", "--real", "--grpc-server-addr", "127.0.0.1:0", "--format", "json"];
        let mut child = command(place, &[&args, more].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        answers.read_line(&mut first).unwrap();
        if first.starts_with("{\"lab\"") || first.contains("\"ok\":true") {
            let record = serde_json::from_str(&first).unwrap();
            return Some(Rack { child, answers, record });
        }
        answers.read_to_string(&mut first).unwrap();
        assert!(first.contains("sudo p4rack up --real"), "{first}");
        assert!(!child.wait().unwrap().success());
        None
    }

    fn ask(&mut self, line: &str) -> (bool, String) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        (answer["ok"].as_bool().unwrap(), answer["output"].as_str().unwrap().to_string())
    }

    fn asked_until(&mut self, line: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let (ok, output) = self.ask(line);
            if ok {
                return;
            }
            assert!(Instant::now() < until, "{line}: {output}");
        }
    }

    /// Process ids by name.
    fn processes(&mut self) -> Vec<(String, u32)> {
        let (_, dump) = self.ask("dump");
        let lines = dump.lines().filter_map(|line| line.strip_prefix("process "));
        lines
            .map(|line| {
                let (name, id) = line.split_once("  ").unwrap();
                (name.to_string(), id.parse().unwrap_or(0))
            })
            .collect()
    }

    fn process(&mut self, name: &str) -> u32 {
        self.processes().into_iter().find(|(known, _)| known == name).unwrap().1
    }
}

fn is_there(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim().starts_with('Z'))
}

fn killed(process: u32) {
    assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}

#[test]
fn a_split_rack_forwards_for_real_hosts_and_survives_the_death_of_its_processes() {
    let place = place("real");
    let Some(mut rack) = Rack::start(&place) else { return };
    assert_eq!(rack.record["lab"]["switches"][2]["program"], "slice.p4");
    assert!(rack.ask("pingall").0, "every part is in place when the rack is up");
    assert!(rack.ask("iperf h1 h2 0.3").1.contains("Mbit/s"));
    assert_eq!(rack.ask("iperf h1 h2 0"), (false, "usage: iperf HOST HOST [SECONDS]\n".to_string()));
    let (ok, dump) = rack.ask("rack table_dump routes");
    assert!(ok && dump.lines().count() == 2, "{dump}");
    // A helper: packets that need it are lost until it has its program and entries again.
    for name in ["nic", "tor", "controller"] {
        let before = rack.process(name);
        killed(before);
        rack.asked_until("pingall 0.5");
        let until = Instant::now() + PATIENCE;
        while [0, before].contains(&rack.process(name)) {
            assert!(Instant::now() < until, "{name} does not start again");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    rack.asked_until("pingall 0.5");
    assert!(rack.ask("link h1 tor down").0);
    assert!(!rack.ask("pingall 0.3").0);
    assert!(rack.ask("links").1.contains("h1:eth0 <-> tor-eth1  down"));
    assert!(rack.ask("link h1 tor up").0);
    rack.asked_until("pingall 0.5");
    let processes = rack.processes();
    assert_eq!(processes.len(), 3);
    drop(rack.child.stdin.take());
    // Commands have failed in between.
    assert_eq!(rack.child.wait().unwrap().code(), Some(1));
    for (name, process) in processes {
        assert!(!is_there(process), "{name} is left behind");
    }
}

/// The state replaces the entries in RACK.toml from the second start on, although all processes have ended.
fn continues_with(place: &Path, state: &str) {
    let routes = |more: &[&str]| -> Option<usize> {
        let mut rack = Rack::with(place, more)?;
        let (ok, dump) = rack.ask("rack table_dump routes");
        assert!(ok, "{dump}");
        drop(rack.child.stdin.take());
        assert!(rack.child.wait().unwrap().success());
        Some(dump.lines().count())
    };
    let state = ["--state", state];
    let Some(first) = routes(&state) else { return };
    assert_eq!(first, 2);
    let entries = std::fs::read_to_string(place.join("hosts.stf")).unwrap();
    let fewer: Vec<&str> = entries.lines().filter(|line| !line.contains("0x0a000200/24")).collect();
    std::fs::write(place.join("hosts.stf"), fewer.join("\n")).unwrap();
    assert_eq!(routes(&state), Some(2));
    assert_eq!(routes(&[]), Some(1));
}

#[test]
fn a_rack_with_a_state_file_continues_with_it() {
    continues_with(&place("real-state"), "rack.state");
}

#[test]
fn a_rack_with_a_state_in_etcd_continues_with_it() {
    let server = crate::fake_etcd::Server::start();
    // Some answers are lost.
    server.lose(3);
    server.wants("rack", "a secret");
    let place = place("real-etcd");
    let password = place.join("password");
    std::fs::write(&password, "a secret\n").unwrap();
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
    continues_with(&place, &format!("etcd://{}/real?user=rack&password=password", server.address));
    assert!(server.forget_tokens() > 0);
}

#[test]
fn a_state_is_kept_in_a_file_or_in_etcd_and_nowhere_else() {
    let place = place("real-state-mistakes");
    for (args, part) in [
        (&["up", "hosts.toml", "--state", "rack.state"][..], "--real"),
        (
            &["up", "hosts.toml", "--real", "--state", "etcd://127.0.0.1:2379"],
            "the name of the state is missing",
        ),
        (
            &["switch", "hosts.toml", "--state", "etcd://user@127.0.0.1:2379/lab"],
            "write a user behind the name of the state",
        ),
        (&["switch", "hosts.toml", "--state", "http://h/lab"], "write FILE or etcd://HOST:PORT/NAME"),
    ] {
        let done = command(&place, args).stdin(Stdio::null()).output().unwrap();
        let reported = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && reported.contains(part), "{reported}");
    }
    assert!(!place.join("etcd:").exists() && !place.join("http:").exists());
}

#[test]
fn a_killed_rack_is_cleaned_up_by_the_next_one() {
    let place = place("real-killed");
    let Some(mut rack) = Rack::start(&place) else { return };
    let processes = rack.processes();
    rack.child.kill().unwrap();
    rack.child.wait().unwrap();
    let cleaned = command(&place, &["lab", "clean"]).output().unwrap();
    let said = String::from_utf8_lossy(&cleaned.stdout).into_owned();
    assert!(said.contains("was killed: 3 processes"), "{said}");
    let until = Instant::now() + PATIENCE;
    while processes.iter().any(|(_, process)| is_there(*process)) {
        assert!(Instant::now() < until, "a process is left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn agents_come_from_a_file_and_sockets_from_standard_input() {
    let place = place("real-mistakes");
    let fails = |args: &[&str], part: &str| {
        let done = command(&place, args).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(1) && said.contains(part), "{said}");
    };
    fails(&["switch", "hosts.toml", "--agents", "none.txt"], "--agents `none.txt`: No such file");
    std::fs::write(place.join("agents.txt"), "# The rack.\ntor=127.0.0.1:9601  # the switch\n\nnic\n")
        .unwrap();
    fails(&["switch", "hosts.toml", "--agents", "agents.txt"], "line 4: an agent is written NAME=HOST:PORT");
    std::fs::write(place.join("agents.txt"), "tor=127.0.0.1:9601\n").unwrap();
    fails(&["switch", "hosts.toml", "--agents", "agents.txt"], "device `nic` has no agent");
    fails(&["switch", "--grpc-server-stdin"], "standard input is not a listening socket");
    fails(&["up", "nowhere.toml", "--real"], "nowhere.toml");
    let bridge = ["switch", "slice.p4", "--grpc-server-addr", "127.0.0.1:0"];
    fails(&[&bridge[..], &["-i", "1@nope0"]].concat(), "there is no interface `nope0`");
    fails(&[&bridge[..], &["-i", "1@lo", "-i", "1@lo"]].concat(), "port 1 is given twice");
    fails(&[&bridge[..], &["-i", "1@lo", "-i", "2@lo"]].concat(), "`lo` is port 1 already");
}

/// TCP connections through a network address translation, each to a port of its own.
const FLOWS: u16 = 16;

/// Not a test: the far end of these connections (`server`), or the near end, under any other name. Each near end writes to a file of its name how many bytes
/// have come back.
#[test]
#[ignore = "run by other tests, in a host's namespace"]
fn tcp_flows() {
    let Ok(role) = std::env::var("P4RACK_FLOWS") else { return };
    let each = (7000..7000 + FLOWS).map(|port| {
        let role = role.clone();
        std::thread::spawn(move || match role.as_str() {
            "server" => {
                let listener = TcpListener::bind(("0.0.0.0", port)).unwrap();
                for mut stream in listener.incoming().flatten() {
                    std::thread::spawn(move || {
                        let mut copy = stream.try_clone().unwrap();
                        std::io::copy(&mut copy, &mut stream)
                    });
                }
            }
            name => {
                let file = |count: &str| std::fs::write(format!("{name}-{port}"), count).unwrap();
                let mut stream = (0..).find_map(|_| TcpStream::connect(("203.0.113.2", port)).ok()).unwrap();
                for count in 1.. {
                    let mut byte = [count as u8];
                    let back = stream.write_all(&byte).and_then(|()| stream.read_exact(&mut byte));
                    if back.is_err() || byte != [count as u8] {
                        return file("broken");
                    }
                    file(&count.to_string());
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        })
    });
    each.collect::<Vec<_>>().into_iter().for_each(|thread| drop(thread.join()));
}

/// Bytes that have come back on each connection; `None`: it is broken.
fn flows(place: &Path, name: &str) -> Vec<Option<u64>> {
    let count = |port: u16| {
        let text = std::fs::read_to_string(place.join(format!("{name}-{port}"))).unwrap_or_default();
        // A file that is just being written is empty.
        if text == "broken" { None } else { Some(text.parse().unwrap_or(0)) }
    };
    (7000..7000 + FLOWS).map(count).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The state of a server in `ctl group nat`, and its number of flows: `s2  member  weight 1  512 buckets  3 flows ...`. The rack may not have heard of the group yet.
fn server(place: &Path, address: &str, name: &str) -> (String, u64) {
    let shown = command(place, &["ctl", "--addr", address, "group", "nat"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let Some(line) = text.lines().find_map(|line| line.trim().strip_prefix(name)) else {
        return (String::new(), 0);
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let flows = words.iter().position(|word| *word == "flows").unwrap();
    (words[0].to_string(), words[flows - 1].parse().unwrap())
}

/// The handler in C of a source NAT on a group of agents, with real TCP: one server comes, one dies, and only its connections break.
#[test]
fn connections_through_a_group_of_agents_outlive_the_death_of_another_server() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("real-group");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/snat");
    for file in ["snat.p4", "snat.c"] {
        std::fs::copy(example.join(file), place.join(file)).unwrap();
    }
    std::fs::copy(example.join("group.toml"), place.join("hosts.toml")).unwrap();
    let Some(mut rack) = Rack::start(&place) else { return };
    let switches = rack.record["lab"]["switches"].as_array().unwrap();
    let whole = switches.iter().find(|switch| switch["name"] == "rack").unwrap();
    let address = whole["address"].as_str().unwrap().to_string();
    for role in ["server", "client", "later"] {
        let test = std::env::current_exe().unwrap();
        let test = test.display();
        let run = format!(
            "cd {}; P4RACK_FLOWS={role} {test} --ignored --exact real::tcp_flows >{role}.log 2>&1 &\n",
            place.display()
        );
        std::fs::write(place.join(format!("{role}.sh")), run).unwrap();
    }
    assert!(rack.ask(&format!("net sh {}/server.sh", place.display())).0);
    assert!(rack.ask(&format!("client sh {}/client.sh", place.display())).0);
    let all = usize::from(FLOWS);
    let all_grow = |before: &[Option<u64>]| {
        let pairs = flows(&place, "client").into_iter().zip(before.to_vec());
        pairs.filter(|(now, before)| now.zip(*before).is_some_and(|(now, before)| now >= before + 20)).count()
    };
    wait_until("all connections carry data", || all_grow(&[Some(0); FLOWS as usize]) == all);
    // A server comes: no connection notices.
    assert!(
        command(&place, &["ctl", "--addr", &address, "group", "nat", "add", "s3"])
            .status()
            .unwrap()
            .success()
    );
    wait_until("s3 is a member", || server(&place, &address, "s3").0 == "member");
    let before = flows(&place, "client");
    wait_until("all connections go on", || all_grow(&before) == all);
    // A server dies: the connections of the others go on.
    let at_s2 = server(&place, &address, "s2").1 as usize;
    assert!((1..all).contains(&at_s2), "{at_s2} flows at s2");
    killed(rack.process("s2"));
    // New connections find a server.
    assert!(rack.ask(&format!("client sh {}/later.sh", place.display())).0);
    let before = flows(&place, "client");
    wait_until("the others' connections go on", || all_grow(&before) >= all - at_s2);
    let later =
        || flows(&place, "later").into_iter().filter(|flow| flow.is_some_and(|flow| flow >= 20)).count();
    wait_until("all new connections carry data", || later() == all);
    // It starts again, and is a member; connections can be made.
    wait_until("s2 is a member again", || server(&place, &address, "s2").0 == "member");
    let broken = flows(&place, "client").iter().filter(|flow| flow.is_none()).count();
    assert!(broken <= at_s2, "{broken} connections are broken, of {at_s2}");
    rack.asked_until("iperf client net 0.3");
    drop(rack.child.stdin.take());
    rack.child.wait().unwrap();
}
