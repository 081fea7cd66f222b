//! Whatever is given to a run, it ends with a result or a diagnostic.

use base_diag::{SourceMap, Span};
use base_time::Rng;
use device_text::trace;
use p4_syntax::Options;
use p4rack::run::spec::{hex_packet, port_files};
use p4rack::run::{Job, entries};
use std::path::Path;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/run/l2.p4");
const TEST: &str = "add l2 hdr.ethernet.dst_addr:0x020000000002 forward(port:2)\n\
    add acl 5 hdr.ethernet.src_addr:0x02********** drop()\nsetdefault l2 flood(group:3)\n\
    mc_mgrp_create 3\nmc_node_create 1 4 5\nmc_node_associate 3 0\nregister_write seen 1 7\n\
    packet 1 020000000002 020000000001 88b5 aabb\nexpect 2 0200000000020200000000018*b5 $\n\
    packet 3 ffffffffffff 030000000001 0800\nexpect 4\nregister_read seen 3\n\
    check_counter ports(1) packets == 1\n";

fn job(map: &mut SourceMap) -> Job {
    let program = p4rack::rack::compile_program(PROGRAM, &Options::default(), map, &mut vec![]);
    Job {
        program: program.expect("the program is right"),
        fillings: vec![],
        seed: 1,
        interval: None,
        cpu_port: Some(64),
        trace: true,
        engine: p4rack::run::Engine::Interp,
        registry: netfn_registry::all(),
    }
}

/// `text` with a few places changed to `pieces`.
fn changed(rng: &mut Rng, text: &str, pieces: &[&str]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.between(1, 4) {
        let at = rng.between(0, chars.len().saturating_sub(1) as u64) as usize;
        let at = at.min(chars.len());
        let to = (at + rng.between(0, 8) as usize).min(chars.len());
        let piece = pieces[rng.between(0, pieces.len() as u64 - 1) as usize];
        chars.splice(at..to, piece.chars());
    }
    chars.into_iter().collect()
}

#[test]
fn changed_tests_end_and_are_reported() {
    let mut rng = Rng::new(3).split("stf");
    let mut map = SourceMap::new();
    let job = job(&mut map);
    let pieces = ["*", "$", "\n", "0x", "9999999999999999999999", "(", ":", "packet", "é", " ", "ff", "="];
    let mut failed = 0;
    for _ in 0..300 {
        let text = changed(&mut rng, TEST, &pieces);
        let (test, _) = p4_stf::parse(&text, 1);
        let mut reported = 0;
        let mut watch = |step: &p4rack::run::step::Step| {
            reported += trace::text::trace(&step.trace, &map).len();
            reported += trace::proto::traces(&step.trace, step.at, &map).len();
            reported += trace::json::trace(&step.trace, &map).to_string().len();
            reported += p4rack::run::text::step(step, true).len();
            Ok(())
        };
        let (report, _) = job.test(&test, &mut watch).expect("a device");
        failed += usize::from(!report.passed());
    }
    assert!(failed > 100, "{failed}");
}

#[test]
fn changed_words_of_the_command_line() {
    let mut rng = Rng::new(4).split("words");
    let pieces = [":", "@", ",", "-", "0x", "g", " ", "é", "4294967296", ""];
    for _ in 0..5000 {
        let _ = hex_packet(&changed(&mut rng, "1:0a 0b 0c", &pieces));
        let _ = port_files(&changed(&mut rng, "1@in.pcap,out.pcap", &pieces));
    }
}

#[test]
fn changed_entries_are_written_or_refused() {
    let mut rng = Rng::new(5).split("entries");
    let mut map = SourceMap::new();
    let mut job = job(&mut map);
    let directory = Path::new(PROGRAM).parent().expect("it is in a directory");
    let pieces = ["[", "]", "\"", "9", "&&&", "..", "*", "\n", "left", "acl", "=", "{}"];
    for file in ["l2.toml", "l2.commands.txt", "l2.txtpb"] {
        let source = std::fs::read_to_string(directory.join(file)).expect("it is there");
        for _ in 0..300 {
            let text = changed(&mut rng, &source, &pieces);
            let Ok(filling) = entries::read(&job.program, Path::new(file), &text, 1) else { continue };
            job.fillings = vec![filling];
            let _ = job.device();
        }
    }
}

/// A trace of packets that start again and again is no deeper than protobuf's readers allow.
#[test]
fn long_chains_stay_shallow() {
    let text = "#include <core.p4>\n#include <v1model.p4>\nstruct h_t {}\nstruct m_t {}\n\
        parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }\n\
        control V(inout h_t h, inout m_t m) { apply {} }\n\
        control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { resubmit_preserving_field_list(0); } }\n\
        control E(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply {} }\n\
        control D(packet_out p, in h_t h) { apply {} }\n\
        V1Switch(P(), V(), I(), E(), V(), D()) main;\n";
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chain.p4");
    std::fs::write(&path, text).expect("it can be written");
    let mut map = SourceMap::new();
    map.add_file("nothing", "", Span::NONE).expect("room");
    let main = path.display().to_string();
    let program = p4rack::rack::compile_program(&main, &Options::default(), &mut map, &mut vec![]);
    let job = Job { program: program.expect("it is right"), ..job(&mut SourceMap::new()) };
    let (test, _) = p4_stf::parse("packet 1 00\n", 1);
    let mut found = p4runtime_proto::p4::bm::PacketTraces::default();
    let mut watch = |step: &p4rack::run::step::Step| {
        found.traces.extend(trace::proto::traces(&step.trace, step.at, &map));
        Ok(())
    };
    let (_, ended) = job.test(&test, &mut watch).expect("a device");
    assert_eq!(ended.counters.dropped.values().sum::<u64>(), 1);
    assert_eq!(found.traces.len(), 1);
    let bytes = p4runtime_proto::to_binary(&found);
    let read: p4runtime_proto::p4::bm::PacketTraces = p4runtime_proto::from_binary(&bytes).expect("shallow");
    assert_eq!(read, found);
    assert!(p4runtime_proto::to_text(&found).expect("shallow").matches("packet_id").count() > 4000);
}
