//! Whole commands, as processes: `p4rack run` from capture to capture, and `p4rack up` of a generated rack.
//!
//! Start, compilation and entries are not part of a rate: a run with little to do is subtracted.

use super::peer::Scratch;
use super::{Settings, clock, source};
use base_pcap::{Record, Writer};
use bench_load::{HEADERS, Load, Program};
use ir_fill::Resolver;
use p4rack::bmv2::fill_commands;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Copies of the load in the captures.
const REPEATED: usize = 32;

/// Times that each command runs: the fastest counts.
const TURNS: usize = 3;

/// Frames of the stream through the emulated rack.
const FRAMES: u64 = 200_000;

/// Switches on the path of each frame.
const HOPS: u64 = 5;

/// Millions of packets a second of processor time of `p4rack run`, with one capture in and one out for each port.
pub fn run(program: &'static Program, settings: &Settings) -> Result<(f64, String), String> {
    let (p4rack, scratch) = (p4rack()?, Scratch::new()?);
    let load = (program.load)(&settings.shape_of(program));
    let source = scratch.write(&format!("{0}/{0}.p4", program.name), program.p4.as_bytes())?;
    scratch.write("headers.p4", HEADERS.as_bytes())?;
    let ir = source::compile(program)?;
    let mut resolver = Resolver::new(&ir).map_err(source::first)?;
    let mut writes = vec![];
    for statement in &load.entries {
        let placed = resolver.statement(statement).map_err(source::first)?;
        writes.extend(placed.into_iter().map(|placed| placed.write));
    }
    let entries = scratch.write("entries.txt", fill_commands(&ir, &writes).as_bytes())?;
    let time = |repeated: usize| {
        let dir = scratch.path().join(format!("in{repeated}"));
        let said = |error: std::io::Error| format!("`{}`: {error}", dir.display());
        let ports = write_packets(&load, &dir, repeated).map_err(said)?;
        let mut command = Command::new(&p4rack);
        command.arg("run").arg(&source).arg("--entries").arg(&entries);
        command.args(["--entries-form", "commands", "--output"]).arg(scratch.path().join("out"));
        for port in ports {
            let file = dir.join(format!("{port}.pcap"));
            command.arg("--interface").arg(format!("{port}@{}", file.display()));
        }
        fastest(&mut command)
    };
    // The difference between a short and a long run leaves out start, compilation and entries.
    let (little, all) = (time(1)?, time(1 + REPEATED)?);
    let packets = (REPEATED * load.packets.len()) as f64;
    let took = all.saturating_sub(little).as_secs_f64();
    Ok((packets / 1e6 / took, format!("{packets} packets in {took:.3} s")))
}

/// A capture for each port, with the load's packets `repeated` times; times say in which order they come.
fn write_packets(load: &Load, dir: &Path, repeated: usize) -> std::io::Result<BTreeSet<u16>> {
    fs::create_dir_all(dir)?;
    let ports: BTreeSet<u16> = load.packets.iter().map(|packet| packet.port).collect();
    let mut captures = BTreeMap::new();
    for port in &ports {
        let file = File::create(dir.join(format!("{port}.pcap")))?;
        captures.insert(*port, Writer::new(BufWriter::new(file))?);
    }
    let all = (0..repeated).flat_map(|_| &load.packets);
    for (packet, at) in all.zip(1..) {
        let original = packet.bytes.len() as u32;
        let record = Record { nanos: 1000 * at, frame: packet.bytes.clone(), original };
        captures.get_mut(&packet.port).map_or(Ok(()), |capture| capture.write(&record))?;
    }
    captures.values_mut().try_for_each(Writer::flush)?;
    Ok(ports)
}

/// Millions of hops a second of processor time in an emulated fat tree of 20 switches that run the router: the rack of docs/emulator.md.
pub fn hops() -> Result<(f64, String), String> {
    let (p4rack, scratch) = (p4rack()?, Scratch::new()?);
    let rack = scratch.path().join("tree");
    fastest(Command::new(&p4rack).args(["generate-rack", "fat-tree", "--k", "4", "-o"]).arg(&rack))?;
    let file = rack.join("RACK.toml");
    let said = |error: std::io::Error| format!("`{}`: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(said)?;
    let time = |count: u64| {
        fs::write(&file, with_frames(&text, count)?).map_err(said)?;
        fastest(Command::new(&p4rack).arg("up").arg(&rack))
    };
    let took = time(1 + FRAMES)?.saturating_sub(time(1)?).as_secs_f64();
    let hops = (HOPS * FRAMES) as f64;
    Ok((hops / 1e6 / took, format!("{hops} hops in {took:.3} s")))
}

/// A generated rack with so many frames in its stream, short ones, as fast as the slowest link takes them.
fn with_frames(rack: &str, count: u64) -> Result<String, String> {
    let stream = rack.find("name = \"background\"").ok_or("the rack has no stream")?;
    let wanted = format!("count = {count}\nsize = 22\nrate = \"250Mbit/s\"\n");
    let keys = ["count", "size", "rate"];
    let is_other = |line: &&str| !keys.iter().any(|key| line.starts_with(&format!("{key} = ")));
    let others: Vec<&str> = rack[stream..].lines().filter(is_other).collect();
    Ok(format!("{}{wanted}{}\n", &rack[..stream], others.join("\n")))
}

/// The command beside this program.
fn p4rack() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = own.with_file_name("p4rack");
    if file.is_file() { Ok(file) } else { Err(format!("there is no `{}`", file.display())) }
}

/// Processor time of the fastest of some runs of a command.
fn fastest(command: &mut Command) -> Result<Duration, String> {
    let mut best = Duration::MAX;
    for _ in 0..TURNS {
        let before = clock::children();
        let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?}: {}", said.lines().next().unwrap_or_default()));
        }
        best = best.min(clock::children() - before);
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_pcap::Reader;
    use bench_load::{PROGRAMS, Shape};

    #[test]
    fn captures_have_the_load_as_often_as_wanted_in_its_order() {
        let load = (PROGRAMS[0].load)(&Shape { packets: 50, flows: 20, ..Shape::default() });
        let scratch = Scratch::new().unwrap();
        let dir = scratch.path().join("in");
        let ports = write_packets(&load, &dir, 3).unwrap();
        let mut all = vec![];
        for port in ports {
            let reader = Reader::new(File::open(dir.join(format!("{port}.pcap"))).unwrap()).unwrap();
            all.extend(reader.map(|record| record.map(|record| (record.nanos, port, record.frame)).unwrap()));
        }
        all.sort();
        let read: Vec<_> = all.into_iter().map(|(_, port, frame)| (port, frame)).collect();
        let of_load = load.packets.iter().map(|packet| (packet.port, packet.bytes.clone()));
        let wanted: Vec<_> = std::iter::repeat_n(of_load, 3).flatten().collect();
        assert_eq!(read, wanted);
    }

    #[test]
    fn the_stream_of_a_rack_gets_another_length() {
        let rack = "[[workload]]\nname = \"background\"\ncount = 5\nto = \"h2\"\nrate = \"1Gbit/s\"\n";
        let wanted =
            "[[workload]]\ncount = 7\nsize = 22\nrate = \"250Mbit/s\"\nname = \"background\"\nto = \"h2\"\n";
        assert_eq!(with_frames(rack, 7), Ok(wanted.to_string()));
        assert_eq!(with_frames("[[workload]]\n", 7), Err("the rack has no stream".to_string()));
    }

    #[test]
    fn a_command_that_fails_has_no_time() {
        assert!(fastest(&mut Command::new("true")).is_ok());
        let failed = fastest(Command::new("sh").args(["-c", "echo why >&2; exit 1"])).unwrap_err();
        assert!(failed.ends_with(": why"), "{failed}");
        assert!(fastest(&mut Command::new("/nonexistent/p4rack")).is_err());
    }
}
