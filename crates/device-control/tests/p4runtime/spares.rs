//! A region with a spare: what operators see, and keep out.

use crate::setup::{Bench, maker, sender, spared};
use base_time::Duration;
use controller::Steer;
use p4runtime_proto::p4rack::v1::target::State;

const PROGRAM: &str = include_str!("../../../ir-split/testdata/split/spares.p4");

/// Sets `b` to 7 and leaves by port 2.
const FRAME: &str = "0102 aa";
const LEFT: &str = "2: 0107aa\n";

fn bench() -> Bench {
    spared(maker(), PROGRAM, Duration::from_ms(1000))
}

/// The state of each target, after a look.
fn states(bench: &mut Bench) -> Vec<State> {
    bench.wait(Duration::from_ms(150));
    let shown = bench.show();
    let [edge] = shown.spares.as_slice() else { panic!("{shown:?}") };
    assert_eq!((edge.from.as_str(), edge.regions.as_slice()), ("tor", &["R".to_string()][..]));
    let names: Vec<&str> = edge.targets.iter().map(|target| target.device.as_str()).collect();
    assert_eq!(names, ["nic", "spare"]);
    edge.targets.iter().map(|target| target.state()).collect()
}

fn keep_out(device: &str, ends: bool) -> Steer {
    Steer::KeepOut { device: device.to_string(), ends }
}

#[test]
fn an_operator_keeps_a_device_out_and_lets_it_back() {
    let mut bench = bench();
    assert_eq!(bench.packet(1, FRAME), LEFT);
    assert_eq!(states(&mut bench), [State::InUse, State::Ready]);
    assert_eq!(bench.steer(keep_out("nic", false)), "OK\n");
    bench.wait(Duration::from_ms(1));
    assert_eq!(bench.packet(1, FRAME), LEFT);
    assert_eq!(states(&mut bench), [State::KeptOut, State::InUse]);
    // It stays out, whatever its state is.
    bench.wait(Duration::from_ms(1000));
    assert_eq!(states(&mut bench), [State::KeptOut, State::InUse]);
    let refused = bench.steer(keep_out("spare", false));
    assert!(refused.contains("no other device is ready"), "{refused}");
    assert_eq!(bench.steer(keep_out("nic", true)), "OK\n");
    assert_eq!(states(&mut bench), [State::Recovering, State::InUse]);
    bench.packet(1, FRAME);
    assert_eq!(states(&mut bench), [State::Recovering, State::InUse]);
    bench.wait(Duration::from_ms(1000));
    assert_eq!(bench.packet(1, FRAME), LEFT);
    assert_eq!(states(&mut bench), [State::InUse, State::Ready]);
}

#[test]
fn devices_without_edges_are_not_kept_out() {
    let mut bench = bench();
    for (device, why) in
        [("tor", "no edge with spares leads to this device"), ("nix", "there is no device `nix`")]
    {
        let refused = bench.steer(keep_out(device, false));
        assert!(refused.contains(why), "{refused}");
    }
}

/// Regions with spares stay where the map says.
#[test]
fn regions_with_spares_are_not_moved() {
    let mut bench = bench();
    let refused = bench.steer(Steer::Replace([("R".to_string(), "spare".to_string())].into()));
    assert!(refused.contains("cannot be moved"), "{refused}");
    assert_eq!(bench.packet(1, FRAME), LEFT);
}

/// The agent of the switch needs no controller: it sends ticks, and bars what is behind a port that is down.
#[test]
fn an_agent_probes_its_edges_and_leaves_ports_that_go_down() {
    let mut bench = sender(PROGRAM);
    let port = |events: &str| {
        events.lines().map(|line| line.split(':').next().unwrap_or("").to_string()).collect::<Vec<_>>()
    };
    let probe = bench.wait(Duration::from_ms(1));
    assert_eq!(port(&probe), ["11"], "{probe}");
    assert_eq!(port(&bench.packet(1, FRAME)), ["11"]);
    bench.link(11, false);
    assert_eq!(port(&bench.packet(1, FRAME)), ["12"]);
    bench.link(12, false);
    assert_eq!(bench.packet(1, FRAME), "");
    bench.link(11, true);
    assert_eq!(port(&bench.packet(1, FRAME)), ["11"]);
    // Nothing answers: after three probes the preferred device is left, but no other is there.
    for _ in 0..4 {
        bench.wait(Duration::from_ms(1));
    }
    assert_eq!(bench.wait(Duration::from_ms(1)), "");
    bench.link(12, true);
    assert_eq!(port(&bench.wait(Duration::from_ms(1))), ["12"]);
}
