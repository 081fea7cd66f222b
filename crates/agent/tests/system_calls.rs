//! Frames between captures cost no system call each. Linux counts a process's reads and writes in `/proc/self/io`; no
//! test counted them before, and the output is the same either way.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use agent::{PortKind, PortSpec, Setup, Switch};
use base_diag::SourceMap;
use base_pcap::{Reader, Record, Writer};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const FRAMES: u64 = 20_000;

/// Sends everything to port 2.
const PROGRAM: &str = "#include <core.p4>\n#include <v1model.p4>\nstruct h_t {}\nstruct m_t {}\n\
    parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }\n\
    control V(inout h_t h, inout m_t m) { apply {} }\n\
    control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { s.egress_spec = 2; } }\n\
    control E(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply {} }\n\
    control D(packet_out p, in h_t h) { apply {} }\n\
    V1Switch(P(), V(), I(), E(), V(), D()) main;\n";

/// Reads and writes that the process has asked the system for.
fn calls() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    of("syscr:") + of("syscw:")
}

fn capture(path: &Path) {
    let mut writer = Writer::new(std::io::BufWriter::new(File::create(path).unwrap())).unwrap();
    for nanos in 0..FRAMES {
        writer.write(&Record { nanos, frame: vec![1; 64], original: 64 }).unwrap();
    }
    writer.flush().unwrap();
}

fn frames(path: &Path) -> u64 {
    let Ok(reader) = Reader::new(File::open(path).unwrap()) else { return 0 };
    reader.filter(Result::is_ok).count() as u64
}

#[test]
fn frames_between_captures() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output): (PathBuf, PathBuf) =
        (directory.join("calls-in.pcap"), directory.join("calls-out.pcap"));
    capture(&input);
    let program = compiler::reparse("out.p4", PROGRAM, &mut SourceMap::new()).unwrap();
    let pcap = |port, input, output| PortSpec { port, kind: PortKind::Pcap { input, output }, record: None };
    let ports = vec![pcap(1, Some(input), None), pcap(2, None, Some(output.clone()))];
    let setup = Setup { ports, ..Setup::new(Switch::One(Some(program))) };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (bound, address) = channel();
    let before = calls();
    let switch = std::thread::spawn(move || {
        agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap()).map(drop)
    });
    address.recv().unwrap();
    // When nothing comes any more, what waits is written: then the file is whole.
    let whole = 24 + FRAMES * (16 + 64);
    let end = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&output).map_or(0, |data| data.len()) < whole && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    let made = calls() - before;
    stop.send(()).unwrap();
    switch.join().unwrap().unwrap();
    assert_eq!(frames(&output), FRAMES);
    assert!(made < FRAMES / 10, "{made} reads and writes for {FRAMES} frames");
}
