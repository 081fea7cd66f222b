//! A run with packets that only go to files has the same output as a run that shows each packet.

use base_diag::{Diagnostic, SourceMap};
use base_time::{Rng, Time};
use dataplane_ports::Results;
use p4_syntax::Options;
use p4rack::run::feed::Feed;
use p4rack::run::pass::Watcher;
use p4rack::run::step::Step;
use p4rack::run::{Engine, Job, entries, text};
use std::path::Path;

type Sent = (Time, u64, u32, Vec<u8>);

#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    reports: String,
    packets: u64,
}

impl Watcher for Seen {
    fn packets(&mut self, number: u64, _: Time) -> Result<(), Vec<Diagnostic>> {
        self.packets = number;
        Ok(())
    }

    fn sent(&mut self, results: &Results<'_>) -> Result<(), Vec<Diagnostic>> {
        results.each(|moment, port, frame| {
            self.sent.push((moment.at, moment.epoch_nanos, port, frame.to_vec()));
            Ok(())
        })
    }

    fn messages(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>> {
        self.reports += &text::messages(step);
        Ok(())
    }
}

/// A copy for each of ports 4 and 5.
const GROUP: &str = "mc_mgrp_create 1\nmc_node_create 0 4 5\nmc_node_associate 1 0\n";

/// A program of this crate or of the engine's tests, with its macros after a space.
fn job(name: &str, map: &mut SourceMap) -> Job {
    let (name, macros) = name.split_once(' ').unwrap_or((name, ""));
    let is_own = name == "moments.p4";
    let folder = if is_own { "tests/programs" } else { "../target-native/tests" };
    let path = format!("{}/{folder}/{name}", env!("CARGO_MANIFEST_DIR"));
    let options =
        Options { defines: macros.split_whitespace().map(str::to_string).collect(), ..Options::default() };
    let program = p4rack::rack::compile_program(&path, &options, map, &mut vec![]);
    let program = program.expect("the program is right");
    let group = || entries::read(&program, Path::new("group"), GROUP, 0).expect("commands");
    let fillings = if is_own { vec![group()] } else { vec![] };
    let engine = Engine::Native;
    Job {
        program,
        fillings,
        seed: 1,
        interval: None,
        cpu_port: None,
        trace: false,
        engine,
        registry: netfn_registry::all(),
    }
}

/// Two captures with alternating packets; some are too long for a packet's buffer.
fn captures() -> [Vec<u8>; 2] {
    let mut rng = Rng::new(5);
    let mut captures = [(); 2].map(|()| base_pcap::Writer::new(vec![]).unwrap());
    for number in 0..400u64 {
        let length = if number % 50 == 7 { 3000 } else { rng.between(1, 90) };
        let frame: Vec<u8> = (0..length).map(|_| rng.between(0, 255) as u8).collect();
        let nanos = 1_000_000_000 + 700 * number;
        captures[(number % 2) as usize].frame(base_pcap::Frame::whole(nanos, &frame)).unwrap();
    }
    captures.map(base_pcap::Writer::into_inner)
}

fn feed(captures: &[Vec<u8>; 2]) -> Feed<'_> {
    let mut feed = Feed::new(None);
    feed.capture("one", 1, captures[0].as_slice()).unwrap();
    feed.capture("other", 3, captures[1].as_slice()).unwrap();
    feed
}

#[test]
fn both_give_the_same() {
    let captures = captures();
    for program in ["copies.p4", "reports.p4", "moments.p4", "moments.p4 TIME"] {
        let job = job(program, &mut SourceMap::new());
        assert!(job.passes());
        // Batches hold packets of different moments only where nothing sees that.
        let engine = target_native::Engine::compile(&job.program, device::Options::default()).unwrap();
        assert_eq!(engine.is_timeless(), program == "moments.p4", "{program}");
        let (mut want, mut got) = (Seen::default(), Seen::default());
        let ended = job.feed(&mut feed(&captures), &mut |step| {
            let sent = step.sent.iter().map(|s| (s.at, step.epoch_nanos, s.port, s.frame.clone()));
            want.sent.extend(sent);
            want.reports += &text::messages(step);
            Ok(())
        });
        let passed = job.pass(&mut feed(&captures), &mut got);
        assert_eq!(got.sent, want.sent, "{program}");
        assert_eq!(got.reports, want.reports, "{program}");
        assert_eq!((got.packets, passed.unwrap().counters), (400, ended.unwrap().counters), "{program}");
        assert!(want.sent.len() > 100, "{program}");
    }
}

#[test]
fn captures_are_merged_by_time_and_in_the_order_of_the_command_line() {
    let capture = |times: &[u64]| {
        let mut capture = base_pcap::Writer::new(vec![]).unwrap();
        times.iter().for_each(|at| capture.frame(base_pcap::Frame::whole(*at, &[*at as u8; 60])).unwrap());
        capture.into_inner()
    };
    let captures = [(4, capture(&[5, 5, 9])), (2, capture(&[])), (1, capture(&[1, 5, 7]))];
    let mut feed = Feed::new(None);
    captures.iter().for_each(|(port, bytes)| feed.capture("capture", *port, bytes.as_slice()).unwrap());
    let mut all = vec![];
    while let Some(frame) = feed.next().unwrap() {
        all.push((frame.port, frame.at.as_ns(), frame.bytes[0]));
    }
    assert_eq!(all, [(1, 0, 1), (4, 4, 5), (4, 4, 5), (1, 4, 5), (1, 6, 7), (4, 8, 9)]);
}

#[test]
fn packets_before_a_mistake_have_run() {
    let [mut capture, other] = captures();
    capture.truncate(capture.len() - 1);
    let job = job("moments.p4", &mut SourceMap::new());
    let mut got = Seen::default();
    assert!(job.pass(&mut feed(&[capture, other]), &mut got).is_err());
    assert!(got.packets > 390 && got.sent.len() > 100, "{} {}", got.packets, got.sent.len());
}

#[test]
fn programs_that_see_no_time_are_found() {
    for (name, is_timeless) in [("router", true), ("acl", true), ("l2", false), ("dcswitch", false)] {
        let path = format!("{}/../../examples/bench/{name}/{name}.p4", env!("CARGO_MANIFEST_DIR"));
        let mut map = SourceMap::new();
        let program = p4rack::rack::compile_program(&path, &Options::default(), &mut map, &mut vec![]);
        let engine = target_native::Engine::compile(&program.unwrap(), device::Options::default()).unwrap();
        assert_eq!(engine.is_timeless(), is_timeless, "{name}");
    }
}
