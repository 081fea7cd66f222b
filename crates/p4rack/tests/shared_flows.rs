//! Three apps with pinned flows on one switch and the same helpers: each does what it does alone on one device, while random flows of all of them
//! move at random times, with messages of up to 50 ms of which some are lost.
//!
//! Packets are on their way together. A seed is a trace of 200 packets for each app; `P4RACK_SEEDS=0..10000` takes about an hour of one core (0.4 s a seed).

use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device::{Options, Switch};
use device_control::Side;
use ir::Program;
use p4rack::entries::Entries;
use p4rack::flows::FlowMove;
use p4rack::rack::Racked;
use p4rack::{merged, pinned, up};
use rack_emulator::{DropReport, PinnedReport};
use rack_model::{DeviceId, HostId};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::moves::apps::{APPS, compiled, flow, packet};
use crate::moves::{HOSTS, app_text, devices, entries, load, looked_up};

/// The ports of each app's packets.
const PORTS: [&[u32]; 3] = [&[0], &[1], &[2, 3]];

/// Time in which packets come and flows move.
const RUN: Duration = Duration::from_ms(400);

/// Packets of each app.
const PACKETS: u32 = 200;

/// Moves that each app's flows are asked for.
const MOVES: usize = 25;

struct Alone {
    whole: Arc<Program>,
    switch: Switch,
    known: Vec<(u32, Vec<u8>)>,
}

/// An app on one device, with random entries, which its part of the rack gets too.
fn alone(racked: &mut Racked, app: usize, rng: &mut Rng, all: &mut Vec<Entries>) -> Alone {
    let whole = Arc::new(compiled(APPS[app].1));
    let mut switch = ir_interp::switch(Arc::clone(&whole), Options::default()).expect("it runs");
    let mut writes = entries(&whole, rng);
    writes.retain(|write| switch.write(write, Time::ZERO).is_ok());
    let ports = PORTS[app];
    let known: Vec<(u32, Vec<u8>)> = (0..12).map(|_| (ports[rng.index(ports.len())], packet(rng))).collect();
    for (port, frame) in &known {
        looked_up(&whole, (*port, frame), &mut switch, &mut writes, rng);
    }
    let of_one = &mut racked.apps[0].pinned[app];
    all.push(pinned::with_copies(Entries::of(writes.clone()), &of_one.pinned));
    of_one.unpinned.fill(&writes, &of_one.pinned);
    Alone { whole, switch, known }
}

/// A rack beside three devices. Something that differs is an error.
fn trial(seed: u64) -> Result<(Vec<PinnedReport>, String), String> {
    let mut rng = Rng::new(seed).split("shared");
    let mut text = devices(&mut rng);
    for (app, ports) in PORTS.iter().enumerate() {
        let (first, last) = (ports[0], ports[ports.len() - 1]);
        let flows = 2 + rng.below(6) as u32;
        text += &app_text(app, flows, &format!("class = \"port in {first}..{last}\"\n"), &mut rng);
    }
    let mut racked = load(&text, &format!("shared-{seed}"));
    assert_eq!(racked.apps.len(), 1, "the apps are one program");
    let mut all = vec![];
    let mut apps: Vec<Alone> = (0..3).map(|app| alone(&mut racked, app, &mut rng, &mut all)).collect();
    let sharing = racked.apps[0].sharing.clone().expect("they share the switch");
    let all: Vec<_> = all.into_iter().map(|entries| (entries, base_diag::Span::NONE)).collect();
    racked.apps[0].entries = merged::entries(&sharing, &all).map_err(|found| format!("{found:#?}"))?;
    let moment = |rng: &mut Rng| Time::ZERO + Duration::from_us(rng.below(RUN.as_ps() / 1_000_000));
    let mut sent: Vec<(Time, u32, Vec<u8>, usize)> = vec![];
    for (app, Alone { whole, known, .. }) in apps.iter().enumerate() {
        let of_one = &racked.apps[0].pinned[app];
        for _ in 0..MOVES {
            let (port, frame) = &known[rng.index(known.len())];
            let mut probe = ir_interp::switch(Arc::clone(whole), Options::default()).expect("it runs");
            probe.set_trace(true);
            probe.process(*port, frame, Time::ZERO);
            racked.moves.push(FlowMove {
                app: of_one.model.name.value.clone(),
                at: moment(&mut rng),
                flow: flow(&of_one.unpinned.keys, *port, &probe.take_trace()),
                to: if rng.chance(2, 3) { Side::Switch } else { Side::Helper },
            });
        }
        for number in 0..PACKETS {
            let (port, mut frame) = known[rng.index(known.len())].clone();
            if frame.len() == 64 {
                frame[60..].copy_from_slice(&number.to_be_bytes());
            }
            sent.push((moment(&mut rng), port, frame, app));
        }
    }
    sent.sort();
    let mut running = up::bring_up(&racked).map_err(|found| format!("{found:#?}"))?;
    let mut wanted: BTreeMap<(u32, Vec<u8>), i64> = BTreeMap::new();
    for (at, port, frame, app) in &sent {
        running.emulator.send(HostId(*port), frame.clone(), *at);
        for output in apps[*app].switch.process(*port, frame, *at) {
            if output.port < HOSTS {
                *wanted.entry((output.port, output.frame)).or_default() += 1;
            }
        }
    }
    (0..HOSTS).for_each(|host| running.emulator.listen(HostId(host)));
    let report = running.run().map_err(|found| format!("{found:#?}"))?;
    for host in 0..HOSTS {
        for received in running.emulator.take_received(HostId(host)) {
            *wanted.entry((host, received.frame)).or_default() -= 1;
        }
    }
    // Packets that a device holds while it is repaired are lost.
    let by_program = |drop: &&DropReport| drop.reason == "dropped in ingress";
    let lost: u64 = report.drops.iter().filter(|drop| !by_program(drop)).map(|drop| drop.packets).sum();
    let missing: i64 = wanted.values().filter(|count| **count > 0).sum();
    let wrong = wanted.iter().find(|(_, count)| **count < 0 || missing > lost as i64 && **count > 0);
    if let Some(((port, frame), count)) = wrong {
        return Err(format!("{count} frames at port {port} are missing, {lost} were lost: {frame:02x?}"));
    }
    let states: Vec<_> =
        (0..3).filter_map(|device| Some(running.emulator.device(DeviceId(device))?.state())).collect();
    for (app, Alone { switch, .. }) in apps.iter().enumerate() {
        let of_one = &racked.apps[0].pinned[app];
        let share = of_one.share.as_ref().expect("they share the switch");
        let counted = switch.state();
        for copy in of_one.pinned.objects.iter().filter(|_| racked.rack.faults.is_empty()) {
            let (original, resident) = (share.name(&copy.original), share.name(&copy.resident));
            let both =
                states.iter().flat_map(|state| [state.get(original.as_str()), state.get(resident.as_str())]);
            let sum = both.flatten().fold(vec![], |sum, one| device::add_counts(&sum, one));
            let wanted = counted.get(copy.original.as_str()).cloned().unwrap_or_default();
            if sum != device::add_counts(&wanted, &[]) {
                return Err(format!("`{original}` has other counts: {sum:02x?}, wanted {wanted:02x?}"));
            }
        }
    }
    Ok((report.pinned, report.log_hash))
}

#[test]
fn apps_that_share_a_switch_do_what_each_does_alone_while_flows_move() {
    let range = features::seeds(1, 150);
    let seeds = range.end - range.start;
    let (mut at_switch, mut done) = ([0; 3], [0; 3]);
    for seed in range {
        let (reports, _) = trial(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(reports.len(), 3, "{reports:#?}");
        for (app, report) in reports.iter().enumerate() {
            assert_eq!(report.packets, u64::from(PACKETS), "seed {seed}: {report:#?}");
            at_switch[app] += report.at_switch;
            done[app] += report.moves.iter().filter(|one| one.result == "done").count();
        }
    }
    println!("{seeds} racks, {} packets, at the switch {at_switch:?}, moves done {done:?}", seeds * 3 * 200);
    assert!(at_switch.iter().all(|count| *count > 5 * seeds), "{at_switch:?}");
    assert!(done.iter().all(|count| *count > 2 * seeds as usize), "{done:?}");
}

#[test]
fn the_same_seed_of_a_shared_switch_moves_the_same() {
    let [one, other] = [(); 2].map(|()| trial(7).unwrap_or_else(|why| panic!("{why}")));
    assert_eq!(one, other);
}
