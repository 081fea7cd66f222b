//! A run whose packets only go to files has the same output as a run that shows each packet.

use base_diag::{Diagnostic, SourceMap};
use base_time::{Rng, Time};
use p4_syntax::Options;
use p4rack::run::feed::Feed;
use p4rack::run::pass::Watcher;
use p4rack::run::step::Step;
use p4rack::run::{Engine, Job, text};

type Sent = (Time, u64, u32, Vec<u8>);

#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    told: String,
    packets: u64,
}

impl Watcher for Seen {
    fn packet(&mut self, number: u64, _: Time) -> Result<(), Vec<Diagnostic>> {
        self.packets = number;
        Ok(())
    }

    fn sent(&mut self, at: Time, epoch: u64, port: u32, frame: &[u8]) -> Result<(), Vec<Diagnostic>> {
        self.sent.push((at, epoch, port, frame.to_vec()));
        Ok(())
    }

    fn told(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>> {
        self.told += &text::messages(step);
        Ok(())
    }
}

fn job(program: &str, map: &mut SourceMap) -> Job {
    let path = format!("{}/../target-native/tests/{program}", env!("CARGO_MANIFEST_DIR"));
    let program = p4rack::rack::compile_program(&path, &Options::default(), map, &mut vec![]);
    let program = program.expect("the program is right");
    let engine = Engine::Native;
    Job { program, fillings: vec![], seed: 1, interval: None, cpu_port: None, trace: false, engine }
}

/// Two captures whose packets alternate; some are too long for a packet's buffer.
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
    for program in ["copies.p4", "told.p4"] {
        let job = job(program, &mut SourceMap::new());
        assert!(job.passes());
        let (mut want, mut got) = (Seen::default(), Seen::default());
        let ended = job.feed(&mut feed(&captures), &mut |step| {
            let sent = step.sent.iter().map(|s| (s.at, step.epoch_nanos, s.port, s.frame.clone()));
            want.sent.extend(sent);
            want.told += &text::messages(step);
            Ok(())
        });
        let passed = job.pass(&mut feed(&captures), &mut got);
        assert_eq!(got.sent, want.sent, "{program}");
        assert_eq!(got.told, want.told, "{program}");
        assert_eq!((got.packets, passed.unwrap().counters), (400, ended.unwrap().counters), "{program}");
        assert!(want.sent.len() > 100, "{program}");
    }
}
