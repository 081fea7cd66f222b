//! A peer is a program of its own. It gets entries and packets as files, and takes commands line by line: see
//! `examples/bench/c/peer.c`.

use super::clock;
use super::contestant::{Contestant, Setup, Timing};
use bench_load::wire::{self, Outcome};
use bench_load::{C_FILES, Load, Program};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A directory that is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one, below the system's directory for such.
    pub fn new() -> Result<Scratch, String> {
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("p4rack-bench-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(e) => return Err(format!("`{}`: {e}", path.display())),
            }
        }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        let dir = path.parent().unwrap_or(&self.0);
        let done = fs::create_dir_all(dir).and_then(|()| fs::write(&path, bytes));
        done.map(|()| path.clone()).map_err(|e| format!("`{}`: {e}", path.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles the C of a program; gives the executable.
pub fn compile_c(program: &Program, scratch: &Scratch) -> Result<PathBuf, String> {
    for (name, text) in C_FILES {
        scratch.write(name, text.as_bytes())?;
    }
    let job = format!("{}.c", program.name);
    scratch.write(&job, program.c.as_bytes())?;
    let binary = scratch.path().join(program.name);
    let mut cc = Command::new("cc");
    cc.current_dir(scratch.path()).args(["-O3", "-march=native", "-o"]).arg(&binary);
    cc.arg(format!("-DJOB=\"{job}\"")).arg("peer.c");
    run(&mut cc)?;
    Ok(binary)
}

/// Runs a command to its end; on failure, its standard error is the error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().to_string();
    let output = command.output().map_err(|e| format!("`{name}` cannot be run: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("`{name}` failed:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A running peer.
pub struct Peer {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    outcome: PathBuf,
    setup: Setup,
}

impl Peer {
    /// Starts `command` on a load; files go into `scratch`, with `tag` in their names.
    pub fn start(
        mut command: Command,
        load: &Load,
        compile: Duration,
        scratch: &Scratch,
        tag: &str,
    ) -> Result<Peer, String> {
        let entries = wire::entries_text(&load.entries);
        let entries = scratch.write(&format!("{tag}.entries"), entries.as_bytes())?;
        let packets = scratch.write(&format!("{tag}.packets"), &wire::packets_bytes(&load.packets))?;
        let start = clock::wall();
        let spawned = command.arg(entries).arg(packets).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| format!("the peer cannot be started: {e}"))?;
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the peer has no pipes".to_string());
        };
        let outcome = scratch.path().join(format!("{tag}.outcome"));
        let mut peer =
            Peer { child, commands, answers: BufReader::new(answers), outcome, setup: Setup::default() };
        peer.answer()?;
        peer.setup = Setup {
            compile,
            fill: clock::wall() - start,
            entries: load.entries.len(),
            memory: clock::memory(peer.child.id()),
        };
        Ok(peer)
    }

    fn ask(&mut self, command: &str) -> Result<Vec<u64>, String> {
        writeln!(self.commands, "{command}").map_err(|e| format!("the peer has ended: {e}"))?;
        self.answer()
    }

    /// `ok` and numbers.
    fn answer(&mut self) -> Result<Vec<u64>, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| format!("the peer has ended: {e}"))?;
        let Some(numbers) = line.trim().strip_prefix("ok") else {
            return Err("the peer gave up".to_string());
        };
        let numbers = numbers.split_whitespace().map(|word| word.parse::<u64>());
        numbers.collect::<Result<_, _>>().map_err(|_| format!("the peer said `{}`", line.trim()))
    }
}

impl Contestant for Peer {
    fn setup(&self) -> Setup {
        self.setup
    }

    fn process(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn check(&mut self) -> Result<Outcome, String> {
        let path = self.outcome.clone();
        self.ask(&format!("check {}", path.display()))?;
        let bytes = fs::read(&path).map_err(|e| format!("`{}`: {e}", path.display()))?;
        let _ = fs::remove_file(&path);
        wire::read_outcome(&bytes).ok_or_else(|| "the peer's output is truncated".to_string())
    }

    fn time(&mut self, milliseconds: u64) -> Result<Timing, String> {
        match self.ask(&format!("time {milliseconds}"))?[..] {
            [packets, cpu, wall] => {
                let [cpu, wall] = [cpu, wall].map(Duration::from_nanos);
                Ok(Timing { packets, cpu, wall, events: None })
            }
            _ => Err("the peer said something else".to_string()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
