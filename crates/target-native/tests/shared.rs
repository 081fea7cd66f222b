//! Engines of one compiled program: the code is shared, nothing else is.

use crate::common;

use base_time::{Rng, Time};
use dataplane_api::{Device, QueueRecord};
use device::{Options, Switch};
use std::sync::Arc;
use target_native::Engine;

#[test]
fn each_has_tables_and_counts_of_its_own() {
    let program = common::program("router");
    let first = Engine::compile(&program, Options::default()).expect("it compiles");
    let compiled = first.compiled();
    let mut rng = Rng::new(5);
    let mut switches: Vec<(Switch, Switch)> = vec![];
    let mut destinations = vec![];
    for number in 0..3 {
        let mut native = Engine::of(&compiled, Options::default()).expect("an engine").into_switch();
        let mut interp = ir_interp::switch(Arc::new(program.clone()), Options::default()).expect("a device");
        // The second one has no routes, the third one others than the first.
        if number != 1 {
            destinations = common::fill(&mut native, 50, &mut Rng::new(number));
            common::fill(&mut interp, 50, &mut Rng::new(number));
        }
        switches.push((native, interp));
    }
    // The code outlives the engine that it was made for.
    drop((first, compiled));
    for at in 0..300 {
        let frame = common::packet(destinations[at % 50], 64, &mut rng);
        for (native, interp) in &mut switches {
            assert_eq!(native.process(2, &frame, Time::ZERO), interp.process(2, &frame, Time::ZERO));
        }
    }
    for (native, interp) in &switches {
        assert_eq!((native.counters(), native.state()), (interp.counters(), interp.state()));
    }
    let sent = switches.iter().map(|(native, _)| native.counters().sent).collect::<Vec<_>>();
    assert!(sent[0] < sent[2] && sent[1] == 0 && sent[2] > 250, "{sent:?}");
}

#[test]
fn with_another_drop_port_the_code_is_another() {
    let program = common::program("router");
    let first = Engine::compile(&program, Options::default()).expect("it compiles");
    let options = || Options { drop_port: 3, ..Options::default() };
    let mut native = Engine::of(&first.compiled(), options()).expect("an engine");
    assert!(native.report().compiled);
    let mut interp = ir_interp::switch(Arc::new(program), options()).expect("a device");
    let destinations = common::fill(native.switch(), 200, &mut Rng::new(6));
    common::fill(&mut interp, 200, &mut Rng::new(6));
    let mut native = native.into_switch();
    let mut rng = Rng::new(7);
    for destination in destinations {
        let frame = common::packet(destination, 64, &mut rng);
        assert_eq!(native.process(2, &frame, Time::ZERO), interp.process(2, &frame, Time::ZERO));
    }
    assert_eq!(native.counters(), interp.counters());
    assert!(interp.counters().dropped.values().sum::<u64>() > 3, "port 3 drops");
}

#[test]
fn a_packet_that_waits_belongs_to_one_engine() {
    let first = Engine::compile(&common::program("router"), Options::default()).expect("it compiles");
    let mut second = Engine::of(&first.compiled(), Options::default()).expect("an engine").into_switch();
    let mut first = first.into_switch();
    let destinations = common::fill(&mut first, 50, &mut Rng::new(8));
    let mut waited = 0;
    for destination in destinations {
        let frame = common::packet(destination, 64, &mut Rng::new(9));
        for queued in first.ingress(2, frame, Time::ZERO) {
            assert_eq!(second.egress(queued, QueueRecord::default(), Time::ZERO).output, None);
            waited += 1;
        }
    }
    assert!(waited > 30 && second.counters().sent == 0, "{waited}");
}
