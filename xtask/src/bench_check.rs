//! `bench-check`: how long `p4rack check` takes for a long program, and `p4rack run` until the first packet has run as machine
//! code; each as a process of its own.
//!
//! The programs are generated: many headers, a parser that knows them all, and controls full of actions, tables and
//! statements, as big programs for switches have them.

use crate::process::{build, children_us};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The median of so many runs counts.
const RUNS: usize = 11;

/// A packet of zeros, which no header but the first is taken from.
const PACKET: &str = "--packet=1:\
    000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

/// Timed commands: lines of the program, the command, its arguments after the program, and its CPU time limit in
/// microseconds.
const TIMED: [(usize, &str, &[&str], i64); 3] =
    [(7_000, "check", &[], 150_000), (300, "run", &[PACKET], 50_000), (7_000, "run", &[PACKET], 2_000_000)];

/// Generates, runs, prints the times.
pub fn run() -> ExitCode {
    let Some(binary) = build() else { return ExitCode::FAILURE };
    let path = std::env::temp_dir().join(format!("p4rack-bench-{}.p4", std::process::id()));
    let mut is_fast = true;
    for (lines, command, arguments, budget) in TIMED {
        match time(&binary, &path, lines, command, arguments) {
            Ok(median) => is_fast &= median <= budget,
            Err(what) => {
                eprintln!("bench-check: {what}");
                is_fast = false;
            }
        }
    }
    let _ = fs::remove_file(&path);
    if is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median, in microseconds of CPU time.
fn time(binary: &Path, path: &Path, lines: usize, command: &str, arguments: &[&str]) -> Result<i64, String> {
    let text = program(lines);
    fs::write(path, &text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let mut times: Vec<i64> = vec![];
    for _ in 0..RUNS {
        let before = children_us();
        let output = Command::new(binary).arg(command).arg(path).args(arguments).output();
        times.push(children_us() - before);
        if !output.is_ok_and(|o| o.status.success() && o.stderr.is_empty()) {
            return Err(format!("`p4rack {command}` does not take the generated program without a warning"));
        }
    }
    times.sort_unstable();
    let (median, worst) = (times[RUNS / 2], times[RUNS - 1]);
    let (lines, kib) = (text.lines().count(), text.len() >> 10);
    println!("{command}: {lines} lines, {kib} KiB: median {median} us, worst {worst} us of {RUNS} processes");
    Ok(median)
}

/// A v1model program of about so many lines.
fn program(lines: usize) -> String {
    // One part is a header type with a parser state, and two actions and a table with what applies them.
    let parts = lines / 45;
    let mut out = String::from("#include <core.p4>\n#include <v1model.p4>\n\n");
    for i in 0..parts {
        put(&mut out, HEADER, i);
    }
    list(&mut out, "struct headers_t {\n", parts, "    h@_t h@;\n", "}\n\n");
    list(&mut out, "struct meta_t {\n", parts, "    bit<16> m@;\n", "}\n\n");
    out +=
        "parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {\n";
    out += "    state start { transition p0; }\n";
    for i in 0..parts {
        let next = (i + 1) % parts;
        let next = if next == 0 { "accept".to_string() } else { format!("p{next}") };
        put(&mut out, &STATE.replace("NEXT", &next), i);
    }
    out += "}\n\ncontrol V(inout headers_t hdr, inout meta_t meta) { apply { } }\n\n";
    out += "control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {\n";
    for i in 0..parts {
        put(&mut out, TABLE, i);
    }
    list(&mut out, "    apply {\n", parts, APPLY, "    }\n}\n\n");
    out += "control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }\n";
    out += "control C(inout headers_t hdr, inout meta_t meta) { apply { } }\n";
    out += "control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }\n\n";
    out + "V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
}

/// Appends a template with `@` as the number.
fn put(out: &mut String, template: &str, i: usize) {
    *out += &template.replace('@', &i.to_string());
}

fn list(out: &mut String, open: &str, parts: usize, item: &str, close: &str) {
    *out += open;
    (0..parts).for_each(|i| put(out, item, i));
    let _ = write!(out, "{close}");
}

const HEADER: &str = "\
header h@_t {
    bit<48> dst;
    bit<48> src;
    bit<16> kind;
    bit<4> version;
    bit<12> length;
    bit<32> number;
}

";

const STATE: &str = "\
    state p@ {
        packet.extract(hdr.h@);
        transition select(hdr.h@.kind) {
            0x800 + @: NEXT;
            0x1000 &&& 0xf000: NEXT;
            default: accept;
        }
    }
";

const TABLE: &str = "\
    action set@(bit<9> port, bit<16> value) {
        std.egress_spec = port;
        meta.m@ = value;
        hdr.h@.src = hdr.h@.dst;
    }
    action skip@() {
        hdr.h@.number = hdr.h@.number |-| 1;
    }
    table t@ {
        key = {
            hdr.h@.dst: exact;
            hdr.h@.kind: ternary;
            meta.m@: exact;
        }
        actions = { set@; skip@; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }
";

const APPLY: &str = "\
        if (hdr.h@.isValid() && hdr.h@.version != 0) {
            t@.apply();
            meta.m@ = meta.m@ + (bit<16>)hdr.h@.length;
        } else if (std.ingress_port == 7) {
            hdr.h@.setValid();
            hdr.h@.kind = 16w0x800 ^ hdr.h@.number[15:0];
        }
";
