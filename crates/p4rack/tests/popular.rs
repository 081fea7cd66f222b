//! Counts of flows' packets beside a switch.

use crate::moves::load;
use base_time::{Duration, Rng, Time};
use device::Options;
use device_control::{Popular, Promotion, Resident};
use flow_control::sketch::Shape;
use pinned_flows::{Classifier, Flow};
use std::collections::BTreeMap;

/// Ports of the switch to its helpers.
const HELPERS: [u32; 2] = [5, 6];

struct Rig {
    popular: Popular,
    classifier: Classifier,
    frames: Vec<Vec<u8>>,
}

impl Rig {
    fn new() -> Rig {
        let mut rng = Rng::new(1);
        let racked = load(&crate::moves::text(1, 8, &mut rng), "popular");
        let unpinned = &racked.apps[0].pinned[0].unpinned;
        let promotion = Promotion {
            window: Duration::from_ms(1),
            helpers: HELPERS.map(|port| vec![port]).to_vec(),
            inside: HELPERS.to_vec(),
            sketch: Shape::default(),
        };
        let (program, keys) = (&unpinned.program, &unpinned.keys);
        let popular = Popular::new(program, keys, Options::default(), &promotion, None);
        let popular = popular.expect("it is counted");
        let mut classifier = Classifier::new(program, keys, Options::default()).expect("it runs");
        let mut frames: BTreeMap<Flow, Vec<u8>> = BTreeMap::new();
        while frames.len() < 3 {
            let frame = crate::moves::apps::packet(&mut rng);
            frames.insert(classifier.flow(0, &frame), frame);
        }
        Rig { popular, classifier, frames: frames.into_values().collect() }
    }

    fn flow(&mut self, which: usize) -> Flow {
        self.classifier.flow(0, &self.frames[which])
    }

    /// So many packets of a flow, which leave by this port.
    fn pass(&self, which: usize, packets: u64, left: u32, now: Time) {
        for _ in 0..packets {
            self.popular.count(0, &self.frames[which], [left].into_iter(), now);
        }
    }

    /// Ends the window: reports of helpers, and the counts at the switch.
    fn end(&self, now: Time, at_switch: &[Flow]) -> (Vec<(Flow, u64)>, BTreeMap<Flow, Resident>) {
        let window = self.popular.end_window(now, 1, at_switch.iter());
        (window.reports, window.residents)
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

#[test]
fn each_packet_of_a_resident_counts_and_what_its_helper_counted_goes_on() {
    let mut rig = Rig::new();
    let flow = rig.flow(0);
    rig.pass(0, 10, HELPERS[1], at(1));
    assert_eq!(rig.end(at(10), &[]), (vec![(flow.clone(), 10)], BTreeMap::new()));
    // Half of ten is left; it comes to the switch.
    rig.pass(0, 7, 1, at(11));
    let counted = |packets, last| BTreeMap::from([(flow.clone(), Resident { packets, last })]);
    assert_eq!(rig.end(at(20), std::slice::from_ref(&flow)), (vec![], counted(5 + 7, at(11))));
    rig.pass(0, 3, 1, at(21));
    rig.pass(0, 2, 2, at(22));
    assert_eq!(rig.end(at(30), std::slice::from_ref(&flow)).1, counted(12 / 2 + 5, at(22)));
    // A window without packets.
    assert_eq!(rig.end(at(40), std::slice::from_ref(&flow)).1, counted(11 / 2, at(22)));
}

#[test]
fn flows_are_counted_one_by_one_and_helper_by_helper() {
    let mut rig = Rig::new();
    let [one, two, three] = [0, 1, 2].map(|which| rig.flow(which));
    rig.pass(0, 4, HELPERS[0], at(1));
    rig.pass(1, 6, HELPERS[1], at(2));
    rig.pass(2, 9, 3, at(3));
    let (mut reports, residents) = rig.end(at(10), std::slice::from_ref(&three));
    reports.sort();
    let mut wanted = vec![(one, 4), (two, 6)];
    wanted.sort();
    assert_eq!(reports, wanted);
    assert_eq!(residents, BTreeMap::from([(three, Resident { packets: 9, last: at(3) })]));
    assert!(rig.popular.counts_from(0) && !rig.popular.counts_from(HELPERS[0]));
}
