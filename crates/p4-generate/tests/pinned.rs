//! Pinned programs, random ones and those of the examples: whichever flows are resident, nothing shows.

use base_time::Rng;
use ir::Program;
use ir_pin::{Affinity, Request, Resident, Shards};
use p4_generate::merged::program;
use p4_generate::pinned::{Trial, Tried, some_key, tamed};
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::sync::Arc;

mod support;

use support::with_stack;

fn request(program: &Program, seed: u64) -> Request {
    let mut rng = Rng::new(seed).split("key");
    let key = some_key(program, 3, &mut rng);
    let shards = Shards { count: 6, parts: (0..key.len()).collect(), pairs: vec![] };
    let mut request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key,
        shards: rng.next_bool().then_some(shards),
        flows: 64,
        resident: [].into(),
    };
    // Copies of about half of the tables have entries of resident flows alone.
    if let Ok(pinned) = ir_pin::pin(program, &request) {
        let some = pinned.tables.into_iter().filter(|_| rng.next_bool());
        request.resident = some.map(|copy| (copy.original, Resident::Most(64))).collect();
    }
    request
}

#[derive(Default, Debug)]
struct Counts {
    refused: BTreeMap<String, u32>,
    same: u32,
    packets: [usize; 2],
    frames: usize,
    entries: usize,
}

impl Counts {
    fn add(&mut self, what: &str, tried: Result<Tried, p4_generate::check::Finding>) {
        match tried {
            Ok(Tried::Refused(why)) => *self.refused.entry(why.join(", ")).or_default() += 1,
            Ok(Tried::Same { packets, frames, entries }) => {
                self.same += 1;
                self.packets[0] += packets[0];
                self.packets[1] += packets[1];
                self.frames += frames;
                self.entries += entries;
            }
            Err(finding) => panic!("{what}: {}: {}", finding.summary, finding.details),
        }
    }
}

#[test]
fn random_programs_do_the_same_when_pinned() {
    let all = if std::env::var_os("P4RACK_ALL").is_some() { 2000 } else { 40 };
    let all = features::setting("P4RACK_PINNED", all);
    with_stack(move || {
        let mut counts = Counts::default();
        for seed in 1..=all {
            let config = Config { packets: 20, plain: 50, ..Config::default() };
            let made = program(&generate(seed, &config).source).expect("a program");
            let made = Arc::new(tamed(&made));
            let trial = Trial { request: request(&made, seed), program: made, fault: None };
            counts.add(&format!("seed {seed}"), trial.run(config.packets, seed));
        }
        println!("{counts:#?}");
        assert!(u64::from(counts.same) * 2 > all, "{counts:#?}");
        assert!(counts.packets.iter().all(|n| *n > all as usize) && counts.entries > 0, "{counts:#?}");
    });
}
