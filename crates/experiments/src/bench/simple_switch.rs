//! BMv2's `simple_switch` as a peer, where it is installed: from capture files to capture files.
//!
//! ```text
//! p4c ──> JSON ──┐
//! packets ──> pN_in.pcap ──> simple_switch --use-files ──> pN_out.pcap
//!                simple_switch_CLI ──^ entries, in the seconds before it reads
//! ```
//!
//! Each turn is a process of its own, which takes the whole load once. The measure is the processor time of all its
//! threads, from the last entry until the output ends. Its messages to controllers are ignored.

use super::clock;
use super::contestant::{Contestant, Setup, Timing};
use super::peer::run;
use base_pcap::{Reader, Record, Writer};
use bench_load::wire::Outcome;
use bench_load::{HEADERS, Load, Program};
use ir_fill::Resolver;
use p4rack::bmv2::fill_commands;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Limit on the entries of a load for this switch: its command line writes at most some thousand entries a second.
const MOST_ENTRIES: usize = 20_000;

/// Idle time after which the process counts as done.
const QUIET: Duration = Duration::from_millis(1000);

/// Time after which the run is given up.
const PATIENCE: Duration = Duration::from_secs(600);

/// Programs that must be installed.
#[derive(Clone, Debug)]
pub struct Tools {
    compiler: PathBuf,
    switch: PathBuf,
    cli: PathBuf,
}

impl Tools {
    /// Finds the programs on a search path; error: the missing ones.
    pub fn find(path: &OsStr) -> Result<Tools, String> {
        let find =
            |name: &str| std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file());
        let get = |name: &str| {
            find(name).ok_or_else(|| {
                format!("`{name}` is not on the PATH: install BMv2 and p4c (https://github.com/p4lang)")
            })
        };
        Ok(Tools {
            switch: get("simple_switch")?,
            cli: get("simple_switch_CLI")?,
            compiler: find("p4c-bm2-ss").map_or_else(|| get("p4c"), Ok)?,
        })
    }

    /// Compiles a program below `dir`; returns the file for the switch.
    pub fn compile(&self, program: &Program, dir: &Path) -> Result<PathBuf, String> {
        let source = dir.join(program.name).join(format!("{}.p4", program.name));
        write(&dir.join("headers.p4"), HEADERS.as_bytes())?;
        write(&source, program.p4.as_bytes())?;
        let json = dir.join(format!("{}.json", program.name));
        let mut command = Command::new(&self.compiler);
        if self.compiler.ends_with("p4c") {
            command.args(["--target", "bmv2", "--arch", "v1model", "-o"]).arg(dir);
        } else {
            command.arg("-o").arg(&json);
        }
        run(command.arg(&source))?;
        Ok(json)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let done = fs::create_dir_all(parent).and_then(|()| fs::write(path, bytes));
    done.map_err(|error| format!("`{}`: {error}", path.display()))
}

/// A switch for a load.
pub struct SimpleSwitch {
    tools: Tools,
    json: PathBuf,
    dir: PathBuf,
    commands: String,
    load: Arc<Load>,
    /// Expected output, and the ports in it.
    wanted: Arc<Outcome>,
    ports: BTreeSet<u16>,
    /// Until it reads: in these it is filled.
    seconds: u64,
    setup: Setup,
}

impl SimpleSwitch {
    /// Puts commands and packets together in `dir`.
    pub fn new(
        tools: &Tools,
        (program, json, compile): (&'static Program, &Path, Duration),
        load: &Arc<Load>,
        wanted: &Arc<Outcome>,
        dir: PathBuf,
    ) -> Result<SimpleSwitch, String> {
        let ir = super::source::compile(program)?;
        let mut resolver = Resolver::new(&ir).map_err(super::source::first)?;
        let mut writes = vec![];
        for statement in &load.entries {
            let placed = resolver.statement(statement).map_err(super::source::first)?;
            writes.extend(placed.into_iter().map(|placed| placed.write));
        }
        // Queues as long as the load, so that no packet is lost when it is read at once.
        let mut commands = format!("set_queue_depth {}\n", load.packets.len().max(1));
        commands.push_str(&fill_commands(&ir, &writes));
        let received = load.packets.iter().map(|packet| packet.port);
        let sent = wanted.sent.iter().flatten().map(|(port, _)| *port);
        let setup = Setup { compile, entries: load.entries.len(), ..Setup::default() };
        let switch = SimpleSwitch {
            tools: tools.clone(),
            json: json.to_path_buf(),
            commands,
            load: Arc::clone(load),
            wanted: Arc::clone(wanted),
            ports: received.chain(sent).collect(),
            seconds: 5 + load.entries.len() as u64 / 200,
            dir,
            setup,
        };
        switch.write_packets().map_err(|error| format!("`{}`: {error}", switch.dir.display()))?;
        Ok(switch)
    }

    /// Reason why simple_switch cannot run a load.
    pub fn refuses(load: &Load) -> Option<String> {
        let entries = load.entries.len();
        (entries > MOST_ENTRIES).then(|| format!("{entries} entries are too many for its command line"))
    }

    /// A capture for each port; times say in which order packets come.
    fn write_packets(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let mut captures = BTreeMap::new();
        for port in &self.ports {
            let file = File::create(self.dir.join(format!("p{port}_in.pcap")))?;
            captures.insert(port, Writer::new(BufWriter::new(file))?);
        }
        for (packet, at) in self.load.packets.iter().zip(1..) {
            let original = packet.bytes.len() as u32;
            let record = Record { nanos: 1000 * at, frame: packet.bytes.clone(), original };
            captures.get_mut(&packet.port).map_or(Ok(()), |capture| capture.write(&record))?;
        }
        captures.values_mut().try_for_each(Writer::flush)
    }

    fn out(&self, port: u16) -> PathBuf {
        self.dir.join(format!("p{port}_out.pcap"))
    }

    /// One process, and the whole load.
    fn run(&mut self) -> Result<Timing, String> {
        for port in &self.ports {
            let _ = fs::remove_file(self.out(*port));
        }
        let seconds = self.seconds;
        let thrift = free_port().map_err(|error| format!("no free port: {error}"))?.to_string();
        let log_path = self.dir.join("simple_switch.log");
        let log = File::create(&log_path).map_err(|error| format!("`{}`: {error}", log_path.display()))?;
        let mut command = Command::new(&self.tools.switch);
        command.current_dir(&self.dir).args(["--use-files", &seconds.to_string(), "--thrift-port", &thrift]);
        for port in &self.ports {
            command.arg("-i").arg(format!("{port}@p{port}"));
        }
        command.arg(&self.json).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let begin = clock::wall();
        let started =
            command.spawn().map_err(|error| format!("`simple_switch` cannot be started: {error}"))?;
        let mut process = Process(started);
        let ends = begin + Duration::from_secs(seconds);
        self.fill(&mut process, &thrift, ends, &log_path)?;
        self.setup.fill = clock::wall() - begin;
        let (filled, wall) = (process.cpu(), clock::wall());
        // The process does not end by itself: it is done when neither its output nor its processor time grows any more.
        let (mut last, mut since) = ((0, filled), clock::wall());
        loop {
            std::thread::sleep(Duration::from_millis(50));
            process.must_live(&log_path)?;
            let bytes = self.ports.iter().filter_map(|port| fs::metadata(self.out(*port)).ok());
            let now = (bytes.map(|file| file.len()).sum::<u64>(), process.cpu());
            let works = now.0 != last.0 || now.1 > last.1 + Duration::from_millis(5);
            if works || clock::wall() < ends {
                (last, since) = (now, clock::wall());
            } else if clock::wall() - since > QUIET {
                self.setup.memory = clock::memory(process.0.id());
                let cpu = now.1 - filled;
                return Ok(Timing {
                    packets: self.load.packets.len() as u64,
                    cpu,
                    wall: since - wall,
                    events: None,
                });
            }
            if clock::wall() - begin > PATIENCE {
                return Err("`simple_switch` does not end".to_string());
            }
        }
    }

    /// Writes all entries, as soon as somebody listens.
    fn fill(
        &self,
        process: &mut Process,
        thrift: &str,
        ends: Duration,
        log_path: &Path,
    ) -> Result<(), String> {
        loop {
            process.must_live(log_path)?;
            let mut command = Command::new(&self.tools.cli);
            command.current_dir(&self.dir).args(["--thrift-port", thrift]);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let cannot = |error: std::io::Error| format!("`simple_switch_CLI` cannot be run: {error}");
            let mut cli = command.spawn().map_err(cannot)?;
            // It may have ended without reading: then it says so by its status.
            let _ = cli.stdin.take().map(|mut input| input.write_all(self.commands.as_bytes()));
            let done = cli.wait().map_err(cannot)?.success();
            match (done, clock::wall() < ends) {
                (true, true) => return Ok(()),
                (_, false) => return Err("`simple_switch_CLI` did not write the entries in time".to_string()),
                (false, true) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Output of each packet: the next frames of the ports on which output is expected.
    fn outcome(&self) -> Result<Outcome, String> {
        let mut frames: BTreeMap<u16, VecDeque<Vec<u8>>> = BTreeMap::new();
        for port in &self.ports {
            let path = self.out(*port);
            let Ok(file) = File::open(&path) else { continue };
            let said = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
            let reader = Reader::new(file).map_err(|error| said(&error))?;
            for record in reader {
                frames.entry(*port).or_default().push_back(record.map_err(|error| said(&error))?.frame);
            }
        }
        let mut next = |port: &u16| Some((*port, frames.get_mut(port)?.pop_front()?));
        let mut sent: Vec<Vec<_>> = self
            .wanted
            .sent
            .iter()
            .map(|wanted| wanted.iter().filter_map(|(port, _)| next(port)).collect())
            .collect();
        // Unexpected packets count as the last packet's.
        if let Some(last) = sent.last_mut() {
            for (port, frames) in frames {
                last.extend(frames.into_iter().map(|frame| (port, frame)));
            }
        }
        Ok(Outcome { sent, reports: self.wanted.reports.clone() })
    }
}

impl Contestant for SimpleSwitch {
    fn setup(&self) -> Setup {
        self.setup
    }

    fn check(&mut self) -> Result<Outcome, String> {
        self.run()?;
        self.outcome()
    }

    fn time(&mut self, _: u64) -> Result<Timing, String> {
        self.run()
    }
}

/// A process that ends with this.
struct Process(Child);

impl Process {
    /// Processor time of all its threads.
    fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).into_iter().flatten().flatten();
        let spent = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
        };
        Duration::from_nanos(tasks.map(spent).sum())
    }

    fn must_live(&mut self, log_path: &Path) -> Result<(), String> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(format!(
                "`simple_switch` has ended: {}",
                fs::read_to_string(log_path).unwrap_or_default().trim()
            )),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One that nobody listens at for now.
fn free_port() -> std::io::Result<u16> {
    Ok(linux_net::free_addresses(1)?[0].port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Interp;
    use crate::bench::peer::Scratch;
    use bench_load::Shape;
    use bench_load::wire::difference;
    use std::os::unix::fs::PermissionsExt;

    /// A stand-in for the real switch: outputs the frames stored beside it.
    const SWITCH: &str = r#"#!/usr/bin/env python3
import os, re, shutil, sys, time
here = os.path.dirname(os.path.abspath(sys.argv[0]))
if os.path.exists(here + "/broken"):
    sys.exit("no such interface")
ports = [arg.split("@") for arg in sys.argv if re.match(r"\d+@", arg)]
assert sys.argv[-1].endswith(".json") and os.path.exists(sys.argv[-1])
while not os.path.exists("filled"):
    time.sleep(0.05)
time.sleep(float(sys.argv[sys.argv.index("--use-files") + 1]))
for port, name in ports:
    assert os.path.exists(name + "_in.pcap")
    if os.path.exists(f"{here}/{port}.pcap"):
        shutil.copy(f"{here}/{port}.pcap", name + "_out.pcap")
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
time.sleep(60)
"#;

    /// Nobody listens at first.
    const CLI: &str = r#"#!/bin/sh
if [ -e tried ]; then cat > filled; else touch tried; exit 1; fi
"#;

    const COMPILER: &str = "#!/bin/sh\ntest -e \"$3\" && grep -q include \"$3\" && echo {} > \"$2\"\n";

    fn tools(scratch: &Scratch) -> Tools {
        for (name, text) in [("simple_switch", SWITCH), ("simple_switch_CLI", CLI), ("p4c-bm2-ss", COMPILER)]
        {
            let path = scratch.write(&format!("bin/{name}"), text.as_bytes()).expect("a file");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        Tools::find(scratch.path().join("bin").as_os_str()).expect("all are there")
    }

    #[test]
    fn what_comes_out_of_captures_is_compared_packet_by_packet() {
        let scratch = Scratch::new().expect("a directory");
        let tools = tools(&scratch);
        let program = bench_load::program("router").expect("a program");
        let load = Arc::new((program.load)(&Shape { packets: 200, flows: 50, ..Shape::default() }));
        let wanted = Arc::new(Interp::new(program, &load).and_then(|mut i| i.check()).expect("an outcome"));
        let mut captures: BTreeMap<u16, Writer<File>> = BTreeMap::new();
        for (port, frame) in wanted.sent.iter().flatten() {
            let file = || File::create(scratch.path().join(format!("bin/{port}.pcap"))).expect("a file");
            let capture = captures.entry(*port).or_insert_with(|| Writer::new(file()).expect("a capture"));
            let record = Record { nanos: 0, frame: frame.clone(), original: frame.len() as u32 };
            capture.write(&record).expect("a frame");
        }
        let json = tools.compile(program, &scratch.path().join("p4")).expect("it compiles");
        let make = |wanted: &Arc<Outcome>| {
            let dir = scratch.path().join("run");
            let made = SimpleSwitch::new(&tools, (program, &json, Duration::ZERO), &load, wanted, dir);
            SimpleSwitch { seconds: 2, ..made.expect("a switch") }
        };
        let mut switch = make(&wanted);
        let got = switch.check().expect("it runs");
        assert_eq!(difference(&wanted, &got), None);
        let filled = fs::read_to_string(scratch.path().join("run/filled")).expect("commands");
        assert!(filled.starts_with("set_queue_depth 200\n"), "{filled}");
        assert_eq!(filled.matches("table_add ").count(), load.entries.len());
        let timing = switch.time(0).expect("it runs");
        assert_eq!(timing.packets, 200);
        assert!(timing.cpu > Duration::from_millis(100), "{timing:?}");
        // A frame too few.
        let mut more = Outcome::clone(&wanted);
        let port = wanted.sent.iter().flatten().map(|(port, _)| *port).next().expect("a port");
        more.sent.push(vec![(port, vec![1])]);
        let got = make(&Arc::new(more.clone())).check().expect("it runs");
        assert!(difference(&more, &got).is_some());
        fs::write(scratch.path().join("bin/broken"), "").expect("a file");
        assert_eq!(switch.check().expect_err("it died"), "`simple_switch` has ended: no such interface");
    }

    #[test]
    fn what_is_missing_is_said() {
        let missing = Tools::find(OsStr::new("/nowhere")).expect_err("nothing is there");
        assert!(missing.starts_with("`simple_switch` is not on the PATH"), "{missing}");
        let load = Load { entries: vec![], packets: vec![] };
        assert_eq!(SimpleSwitch::refuses(&load), None);
    }
}
