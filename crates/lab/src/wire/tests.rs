//! Links whose time is given: no thread moves their frames.

use super::*;
use dataplane_ports::cable;
use rack_model::{DeviceId, HostId, NodeId};

/// A link from a host to a switch, and the cables at its ends.
struct Bench {
    run: Run,
    host: Cable,
    switch: Cable,
}

impl Bench {
    fn new(rate: Rate, with: impl FnOnce(&mut Link)) -> Bench {
        let ends = [(NodeId::Host(HostId(0)), 0), (NodeId::Device(DeviceId(0)), 1)];
        let mut link = Link::new(ends, rate);
        with(&mut link);
        let ((host, near), (far, switch)) = (cable(64), cable(64));
        let ends = [near, far].map(|cable| End::of_cable(cable, Arc::default(), 1));
        let run = Run::new(&link, ends, &Rng::new(1), Instant::now()).unwrap();
        Bench { run, host, switch }
    }

    /// The host sends a frame of so many bytes.
    fn sends(&mut self, bytes: usize) {
        assert!(self.host.send(&vec![7; bytes]));
        self.host.sink.flush().unwrap();
    }

    /// The work of the link at a time.
    fn at(&mut self, seconds: u64) {
        let now = Time::ZERO + Duration::from_ms(1000 * seconds);
        self.run.follow();
        self.run.receive(0, now);
        self.run.pass(0, now);
    }

    /// Lengths of the frames that have come to the switch.
    fn came(&mut self) -> Vec<usize> {
        std::iter::from_fn(|| self.switch.receive()).map(|frame| frame.len()).collect()
    }

    fn counts(&self) -> (u64, u64, u64) {
        let [WireCount { received, delivered, dropped }, _] = self.run.shared.counts();
        (received, delivered, dropped)
    }
}

#[test]
fn frames_beyond_the_queue_are_dropped() {
    // A frame of 125 bytes takes a second.
    let mut bench = Bench::new(Rate::from_bits_per_s(1000), |link| (link.queue, link.overhead) = (2, 0));
    for bytes in 116..126 {
        bench.sends(bytes);
    }
    bench.at(0);
    assert_eq!(bench.counts(), (10, 0, 8));
    bench.at(1);
    bench.at(2);
    assert_eq!((bench.came(), bench.counts()), (vec![116, 117], (10, 2, 8)));
}

#[test]
fn a_link_that_goes_down_loses_what_is_in_flight() {
    let mut bench = Bench::new(lab_model::UNLIMITED, |link| link.delay = Duration::from_ms(5000));
    bench.sends(100);
    bench.sends(101);
    bench.at(0);
    bench.run.shared.is_down.store(true, Ordering::SeqCst);
    bench.at(1);
    assert_eq!(bench.counts(), (2, 0, 2));
    bench.sends(102);
    bench.at(2);
    assert!(!bench.host.source.is_up() && !bench.switch.source.is_up());
    bench.run.shared.is_down.store(false, Ordering::SeqCst);
    bench.sends(103);
    bench.at(3);
    assert!(bench.host.source.is_up() && bench.switch.source.is_up());
    bench.at(6);
    assert_eq!(bench.came(), Vec::<usize>::new());
    bench.at(9);
    assert_eq!((bench.came(), bench.counts()), (vec![103], (4, 1, 3)));
}

#[test]
fn frames_longer_than_the_mtu_are_dropped() {
    for delay in [Duration::ZERO, Duration::from_ms(1000)] {
        let mut bench = Bench::new(lab_model::UNLIMITED, |link| link.delay = delay);
        for bytes in [1514, 1515, 60] {
            bench.sends(bytes);
        }
        bench.at(0);
        bench.at(2);
        assert_eq!((bench.came(), bench.counts()), (vec![1514, 60], (3, 2, 1)));
    }
}
