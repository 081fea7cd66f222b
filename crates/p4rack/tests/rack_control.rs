//! Racks under their controller in virtual time: bring-up, repair, new plans under load.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, HostId, Placement, Probability, Replace, Spanned};
use std::path::Path;

const NIC: DeviceId = DeviceId(1);

/// The split router, its links without loss.
fn slice() -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
    let mut racked =
        rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.links.iter_mut().for_each(|link| link.loss = Probability::ZERO);
    racked
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn replace(ms: u64, regions: &[&str]) -> Replace {
    let place = |region: &&str| Placement {
        region: Spanned::from(*region),
        device: Spanned::new(NIC, Default::default()),
        spares: vec![],
        policy: Default::default(),
        replicas: 1,
    };
    Replace { at: at_ms(ms), map: regions.iter().map(place).collect(), span: Default::default() }
}

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).collect()
}

/// Frames that h1 and h2 receive, in order of arrival.
fn received(racked: &Racked) -> (RunReport, [Vec<Vec<u8>>; 2]) {
    let mut running = up::bring_up(racked).unwrap();
    [0, 1].iter().for_each(|host| running.emulator.listen(HostId(*host)));
    let report = running.run().unwrap();
    let frames = [0, 1].map(|host| {
        let received = running.emulator.take_received(HostId(host)).into_iter();
        received.map(|received| received.frame).collect()
    });
    (report, frames)
}

#[test]
fn a_plan_takes_the_place_of_another_under_load_and_no_packet_is_lost_or_wrong() {
    let mut racked = slice();
    let (_, mut wanted) = received(&racked);
    racked.rack.replaces = vec![
        replace(40, &["Sample", "Acl"]),
        replace(80, &["Sample"]),
        replace(120, &["Sample", "Mark", "Out"]),
    ];
    let (report, mut found) = received(&racked);
    let reported = [
        "another plan is taking over: Acl on nic, Sample on nic",
        "the other plan has taken over",
        "another plan is taking over: Sample on nic",
        "the other plan has taken over",
        "another plan is taking over: Mark on nic, Out on nic, Sample on nic",
        "the other plan has taken over",
    ];
    assert_eq!(notes(&report), reported);
    assert_eq!(report.packets.dropped, 0, "{:?}", report.drops);
    // The sampler copies to other hosts while it runs; the copies arrive in addition.
    for (wanted, found) in wanted.iter_mut().zip(&mut found) {
        wanted.sort();
        found.sort();
        wanted.dedup();
        found.dedup();
    }
    assert_eq!(found, wanted);
}

#[test]
fn a_device_that_restarts_is_restored_and_what_it_counted_is_lost() {
    let mut racked = slice();
    let kind = FaultKind::DeviceDown(NIC);
    let lasts = Some(Duration::from_ms(3));
    racked.rack.faults = vec![Fault { kind, at: at_ms(50), lasts, span: Default::default() }];
    let (calm, _) = received(&slice());
    let (report, _) = received(&racked);
    assert_eq!(notes(&report), ["`nic` has restarted", "`nic` is in sync again"]);
    let up = report.notes[1].at_ps - report.notes[0].at_ps;
    // The controller reads the contents, installs the program, installs the entries, and commits: four round trips.
    assert_eq!(up, (racked.rack.control.delay * 9).as_ps());
    let why: Vec<&str> = report.drops.iter().map(|drop| drop.reason.as_str()).collect();
    assert_eq!(why, ["device down", "no program"]);
    assert!(report.packets.delivered > calm.packets.delivered / 2, "{:?}", report.packets);
}

#[test]
fn messages_that_are_lost_or_late_only_take_time() {
    let mut racked = slice();
    let calm = up::bring_up(&racked).unwrap();
    racked.rack.control.loss = Probability::parse("5%").unwrap();
    let mut lost = 0;
    for seed in 0..20 {
        racked.rack.seed = seed;
        let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("seed {seed}: {found:?}"));
        lost += running.bring_up.lost;
        assert_eq!(running.bring_up.took_ps > calm.bring_up.took_ps, running.bring_up.lost > 0);
        assert_eq!(running.run().unwrap().packets.dropped, 0);
    }
    assert!(lost > 20, "{lost} messages lost");
    racked.rack.control.loss = Probability::parse("100%").unwrap();
    let found = up::bring_up(&racked).err().expect("nothing arrives");
    assert_eq!(found[0].title, "the rack cannot be brought up");
    assert!(found[0].notes.iter().any(|note| note.contains("does not answer")), "{found:?}");
}

/// The example as it is shipped, over a control network that loses messages: it did not come up with all seeds.
#[test]
fn the_plain_example_comes_up_whatever_control_messages_are_lost() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice/plain.toml");
    let loaded = rack::load(&path, &[], &mut SourceMap::new());
    let mut racked = loaded.unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.control.loss = Probability::parse("2%").unwrap();
    let mut lost = 0;
    for seed in 0..10 {
        racked.rack.seed = seed;
        let running = up::bring_up(&racked).unwrap_or_else(|found| panic!("seed {seed}: {found:?}"));
        lost += running.bring_up.lost;
    }
    assert!(lost > 0, "{lost} messages lost");
}

#[test]
fn answers_that_take_longer_than_anybody_expects_are_waited_for() {
    let mut racked = slice();
    racked.rack.control.delay = Duration::from_s(7);
    let slow = up::bring_up(&racked).unwrap().bring_up;
    racked.rack.control.delay = Duration::from_us(50);
    let quick = up::bring_up(&racked).unwrap().bring_up;
    assert_eq!((slow.lost, quick.lost), (0, 0));
    // Only the first request times out before its answer shows the response time; later requests are not repeated.
    assert!(slow.messages < quick.messages + 20, "{slow} {quick}");
}

#[test]
fn a_message_that_is_lost_is_missed_soon() {
    let mut racked = slice();
    let calm = up::bring_up(&racked).unwrap().bring_up;
    racked.rack.control.loss = Probability::parse("4%").unwrap();
    let (mut first, mut later) = (0, 0);
    for seed in 0..40 {
        racked.rack.seed = seed;
        let found = up::bring_up(&racked).unwrap().bring_up;
        if found.lost == 1 {
            let more = found.took_ps - calm.took_ps;
            // The response time of a device that has not answered yet is unknown: the timeout is one second.
            assert!(more < Duration::from_ms(1_100).as_ps(), "seed {seed}: {found}");
            first += u32::from(more > Duration::from_ms(900).as_ps());
            later += u32::from(more < Duration::from_ms(10).as_ps());
        }
    }
    assert!(first > 0 && later > 0, "{first} and {later}");
}

/// The split router, with a replacement of its plan at 40 ms and a fault that begins a little later. Returns the outcome and the frames that may
/// be delivered.
fn replaced_under(
    kind: FaultKind,
    after: Duration,
    lasts: Option<Duration>,
) -> (RunReport, [Vec<Vec<u8>>; 2]) {
    let mut racked = slice();
    racked.rack.control.delay = Duration::from_us(100);
    racked.rack.replaces = vec![replace(40, &["Sample", "Acl"])];
    racked.rack.faults = vec![Fault { kind, at: at_ms(40) + after, lasts, span: Default::default() }];
    received(&racked)
}

#[test]
fn who_is_cut_off_while_a_plan_is_replaced_keeps_no_frames_out() {
    let (_, mut wanted) = received(&slice());
    wanted.iter_mut().for_each(|frames| frames.sort());
    let (mut stays, mut goes_on, mut mixed) = (0, 0, 0);
    // One way takes 100 us.
    for tenths in 0..20 {
        let after = Duration::from_us(100 * tenths + 50);
        let loss = FaultKind::ControlLoss { device: None, share: Probability::parse("100%").unwrap() };
        let (report, found) = replaced_under(loss, after, None);
        // Each packet as one of the plans would have it, or counted as lost.
        for (wanted, mut found) in wanted.iter().zip(found) {
            found.sort();
            found.dedup();
            assert!(found.iter().all(|frame| wanted.binary_search(frame).is_ok()), "{after}");
        }
        let reported = notes(&report);
        let alone = "`tor` has lost its controller: frames are admitted again";
        match reported.contains(&alone) {
            true => goes_on += 1,
            false => stays += 1,
        }
        let reasons: Vec<&str> = report.drops.iter().map(|drop| drop.reason.as_str()).collect();
        println!("{after}: {reasons:?} {reported:?}");
        // The runtime drops hand-overs of another plan.
        mixed += u32::from(reasons.contains(&"dropped in ingress"));
        assert!(
            report.packets.delivered > 0 && report.packets.in_flight == 0,
            "{after}: {:?}",
            report.packets
        );
    }
    // Before frames are held and after they are let in there is nothing to be over; and for a moment plans differ.
    assert!(stays > 4 && goes_on > 4, "{stays} {goes_on}");
    assert!((1..=4).contains(&mixed), "{mixed}");
}

#[test]
fn a_commit_that_comes_when_frames_have_been_let_in_is_refused() {
    let (_, mut wanted) = received(&slice());
    let slow = FaultKind::ControlDelay { device: Some(DeviceId(0)), by: Duration::from_ms(150) };
    // Requests sent while frames are held are delayed by more than the lease of the origin.
    let (report, mut found) = replaced_under(slow, Duration::from_us(650), Some(Duration::from_ms(5)));
    let reported = notes(&report);
    assert_eq!(reported[1], "`tor` has lost its controller: frames are admitted again");
    assert!(reported[2].starts_with("the old plan stays: "), "{reported:?}");
    assert_eq!(reported.len(), 3);
    for (wanted, found) in wanted.iter_mut().zip(&mut found) {
        wanted.sort();
        found.sort();
        assert!(found.iter().all(|frame| wanted.binary_search(frame).is_ok()));
    }
}

#[test]
fn a_plan_that_cannot_be_leaves_the_old_one() {
    let mut racked = slice();
    racked.rack.replaces = vec![replace(40, &["Nowhere"]), replace(60, &["Acl"])];
    let (report, _) = received(&racked);
    let reported = notes(&report);
    assert!(reported[1].starts_with("the old plan stays: "), "{reported:?}");
    // The sampler would be on the switch.
    assert!(reported[3].ends_with("no frame extern `beacon` on this device"), "{reported:?}");
    assert_eq!(report.packets.dropped, 0);
}

#[test]
fn plans_of_racks_with_several_origins_stay() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fat-tree");
    let mut racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap();
    racked.rack.replaces = vec![replace(40, &[])];
    let found = up::bring_up(&racked).err().expect("it is refused");
    assert_eq!(found[0].title, "a plan can be replaced in racks that are one switch");
    assert_eq!(found[0].code.to_string(), "P4R0611");
}
