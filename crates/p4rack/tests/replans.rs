//! `examples/pinned/shares.toml`: two apps change their shares of the traffic, and their flows are planned again.

use crate::running_flows::Rig;
use app_trials::frames::{Flow, UDP, packet};
use base_time::{Duration, Rng, Time};
use device_control::{Direct, Served as _};
use p4rack::rack::Racked;
use p4rack::up;
use rack_emulator::{PinnedReport, RunReport};
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The example with some values replaced.
pub(crate) fn racked(changes: &[(&str, &str)]) -> Racked {
    let examples = examples();
    let mut text = include_str!("../../../examples/pinned/shares.toml").to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "the example has no {from}");
        text = text.replace(from, to);
    }
    text = text.replace("../apps", &examples.join("apps").display().to_string());
    text = text.replace("west.toml", &examples.join("pinned/west.toml").display().to_string());
    let name = changes.iter().map(|(_, to)| to.len()).sum::<usize>() + changes.len();
    crate::moves::load(&text, &format!("replans-{name}"))
}

/// A run of it.
fn run(changes: &[(&str, &str)]) -> RunReport {
    up(&racked(changes))
}

fn up(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run")
}

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).filter(|note| note.contains("plan of flows")).collect()
}

/// Packets after this time of all apps that the switch has processed, of a thousand.
fn late_share(report: &RunReport, ms: u64) -> u64 {
    let late =
        report.pinned.iter().flat_map(|app| &app.shares).filter(|share| share.until_ps > ms * 1_000_000_000);
    let (packets, at_switch) = late.fold((0, 0), |sum, one| (sum.0 + one.packets, sum.1 + one.at_switch));
    at_switch * 1000 / packets
}

#[test]
fn flows_are_planned_again_when_shares_have_changed() {
    let report = run(&[]);
    let reported = notes(&report);
    let [begun, done] = reported.as_slice() else { panic!("{:#?}", report.notes) };
    let expected = "shares of the traffic have changed (east 20.0 %, west 80.0 %): another plan of flows at the switch is taking over: east 5, west 28";
    assert_eq!(*begun, expected);
    assert_eq!(*done, "the other plan of flows has taken over");
    let totals: Vec<_> = report.pinned.iter().filter_map(|app| app.totals).collect();
    let resident: Vec<u64> = totals.iter().map(|totals| totals.resident).collect();
    assert_eq!(resident, [5, 28], "as planned: {totals:?}");
    assert!(totals.iter().all(|totals| totals.full == 0), "tables have room for what is planned: {totals:?}");
    // Nothing is lost while tables change their sizes.
    for load in &report.workloads {
        assert_eq!((load.lost, load.received), (0, load.sent), "{load:#?}");
    }
    // The new plan has more packets at the switch.
    let never = run(&[(r#"{ differs = "10%", after = "20ms" }"#, r#""never""#)]);
    assert_eq!(notes(&never), [] as [&str; 0]);
    let (again, never) = (late_share(&report, 150), late_share(&never, 150));
    assert!(again > never + 50, "{again} and {never} of 1000");
}

/// One program takes a little more memory than its apps alone: the plan of the alone did not fit 12,000 bits.
#[test]
fn plans_fit_the_memory_that_apps_take_together() {
    for memory in ["11000", "12000", "13000"] {
        let report =
            run(&[("24000", memory), ("count = 10000", "count = 10"), ("count = 2500", "count = 10")]);
        assert_eq!(report.pinned.len(), 2, "{memory}");
    }
}

/// An app without flows at the switch has its part of the program there all the same.
#[test]
fn plans_fit_the_memory_of_apps_without_flows_there() {
    let none = [("share = \"80%\"", "share = \"0%\""), ("again = {", "again = \"never\" #")];
    let report =
        run(&[&none[..], &[("count = 10000", "count = 10"), ("count = 2500", "count = 10")]].concat());
    assert_eq!(report.pinned.len(), 2);
}

#[test]
fn shares_that_differ_for_less_time_change_nothing() {
    let report = run(&[(r#"after = "20ms""#, r#"after = "500ms""#)]);
    assert_eq!(notes(&report), [] as [&str; 0]);
}

#[test]
fn a_share_that_differs_by_less_changes_nothing() {
    let report = run(&[(r#"differs = "10%""#, r#"differs = "70%""#)]);
    assert_eq!(notes(&report), [] as [&str; 0]);
}

/// The example where each app has two helpers of its own, each a spare of the other, and the second of east's is slow. Both apps have equal shares, and
/// the first helper of east may fail. Flows are planned again after this time; `more` are further changes.
pub(crate) fn racked_with_spares(after: &str, fault: &str, more: &[(&str, &str)]) -> Racked {
    let east = "[[app]]\nname = \"east\"";
    let nic =
        |name: &str| format!("[device.{name}]\nclass = \"smartnic\"\nservice = \"24us\"\nparallel = 8\n\n");
    let devices = format!("{}{}[host.east]", nic("nic3"), nic("nic4"));
    let link = |nic: &str, port: u32| {
        format!(
            "[[link]]\nends = [\"{nic}:1\", \"edge:{port}\"]\nrate = \"10Gbit/s\"\ndelay = \"500ns\"\nmtu = 2000\n\n"
        )
    };
    let spares = "replicas = 2\nlong_frames = \"drop\"\nfailover = { hold_down = \"5ms\" }\n";
    let (after, devices) = (format!("after = \"{after}\""), devices.as_str());
    let links = format!("{}{}{fault}{east}", link("nic3", 7), link("nic4", 8));
    let [most, least] = ["80%", "20%"].map(|share| format!("share = \"{share}\""));
    let spares = format!("share = \"50%\"\n{spares}");
    let mut changes = more.to_vec();
    changes.extend([
        ("after = \"20ms\"", after.as_str()),
        ("EntryBits = \"24000\"", "EntryBits = \"60000\""),
        (
            "[device.nic2]\nclass = \"smartnic\"\nservice = \"4us\"",
            "[device.nic2]\nclass = \"smartnic\"\nservice = \"30us\"",
        ),
        ("[host.east]", devices),
        (east, &links),
        (
            "entries = \"west.toml\"\norigin = \"edge\"\ndevices = [\"nic1\", \"nic2\"]",
            "entries = \"west.toml\"\norigin = \"edge\"\ndevices = [\"nic3\", \"nic4\"]",
        ),
        (&most, &spares),
        (&least, &spares),
        ("start = \"100ms\"", "start = \"0s\""),
        // Traffic of 145 ms.
        ("count = 10000", "count = 6000"),
        ("count = 2500", "count = 1500"),
        ("rate = \"160Mbit/s\"", "rate = \"80Mbit/s\""),
        ("rate = \"40Mbit/s\"", "rate = \"20Mbit/s\""),
    ]);
    racked(&changes)
}

fn with_spares(fault: &str) -> RunReport {
    up(&racked_with_spares("20ms", fault, &[]))
}

/// The first helper of east fails for good.
const NIC1_FAILS: &str = "[[fault]]\nkind = \"device-down\"\ndevice = \"nic1\"\nat = \"30ms\"\n";

/// A helper that fails for good is planned without, and one that comes back is planned with again.
#[test]
fn flows_are_planned_again_without_a_helper_that_has_failed() {
    let forever = with_spares(NIC1_FAILS);
    let reported = notes(&forever);
    let [begun, done] = reported.as_slice() else { panic!("{:#?}", forever.notes) };
    assert!(
        begun.starts_with("`nic1` out of use: another plan of flows at the switch is taking over: east "),
        "{begun}"
    );
    assert_eq!(*done, "the other plan of flows has taken over");
    let without_packets = |app: &PinnedReport| app.shares.iter().any(|share| share.packets == 0);
    assert!(
        !forever.pinned.iter().any(without_packets),
        "packets do not wait for the helper: {:#?}",
        forever.pinned
    );
    let lost = |report: &RunReport| report.workloads.iter().map(|load| load.lost).collect::<Vec<u64>>();
    let kept = up(&racked_with_spares("100s", NIC1_FAILS, &[]));
    assert_eq!(notes(&kept), [] as [&str; 0]);
    assert!(lost(&kept).iter().any(|lost| *lost > 0), "packets are lost when the helper fails");
    assert_eq!(lost(&forever), lost(&kept), "and none for the other plan");
    let back = with_spares(&format!("{NIC1_FAILS}for = \"50ms\"\n"));
    let reported = notes(&back);
    let [first, _, second, last] = reported.as_slice() else { panic!("{:#?}", back.notes) };
    assert_eq!(first, begun);
    assert!(
        second
            .starts_with("all helpers are in use: another plan of flows at the switch is taking over: east "),
        "{second}"
    );
    assert_eq!(*last, "the other plan of flows has taken over");
    let short = with_spares(&format!("{NIC1_FAILS}for = \"5ms\"\n"));
    assert_eq!(notes(&short), [] as [&str; 0], "it is back in time");
    let cable =
        with_spares("[[fault]]\nkind = \"link-down\"\nlink = [\"nic1:1\", \"edge:5\"]\nat = \"30ms\"\n\n");
    assert_eq!(notes(&cable), [] as [&str; 0], "it answers the controller");
    let resident = |report: &RunReport| {
        report.pinned.iter().filter_map(|app| app.totals).map(|totals| totals.resident).collect::<Vec<u64>>()
    };
    let (without, with) = (resident(&forever), resident(&back));
    assert!(
        without[0] > with[0] && without[1] < with[1],
        "{begun}: {without:?} {with:?}; {:#?}",
        forever.pinned
    );
    assert_eq!(with, resident(&short));
}

/// Runs what is given with the path of the access list, which has a register `seen`, declared so, and changes its cells so.
fn with_cells(register: &str, change: &str, runs: impl FnOnce(&str) -> RunReport) -> RunReport {
    let program = std::fs::read_to_string(examples().join("apps/acl.p4")).expect("it is there");
    let counter = "    ROUTES(1024)\n";
    let filter = "            filtered.count(meta.tenant);\n";
    assert!(program.contains(counter) && program.contains(filter));
    let program = program
        .replace(counter, &format!("    {register}(256) seen;\n\n{counter}"))
        .replace(filter, &format!("{filter}            {change}\n"));
    let directory =
        std::env::temp_dir().join(format!("p4rack-replans-{}-{}", change.len(), std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("acl.p4"), program).expect("a file");
    std::fs::copy(examples().join("apps/headers.p4"), directory.join("headers.p4")).expect("a copy");
    let path = directory.join("acl.p4").display().to_string();
    let report = runs(&path);
    std::fs::remove_dir_all(&directory).expect("it was there");
    report
}

/// The copies of a register with `@merge` become one value when another plan takes over: with what the failed helper has said before.
#[test]
fn another_plan_waits_for_no_cells_of_a_failed_helper() {
    let merged = |after: &str| {
        let counts = "{ bit<32> n; seen.read(n, meta.tenant); seen.write(meta.tenant, n + 1); }";
        with_cells("@merge(\"add\") register<bit<32>, bit<8>>", counts, |path| {
            up(&racked_with_spares(after, NIC1_FAILS, &[("../apps/acl.p4", path)]))
        })
    };
    let (report, kept) = (merged("20ms"), merged("100s"));
    let reported = notes(&report);
    let [begun, done] = reported.as_slice() else { panic!("{:#?}", report.notes) };
    let begins = "`nic1` out of use: another plan of flows at the switch is taking over: east ";
    assert!(begun.starts_with(begins), "{begun}");
    assert_eq!(*done, "the other plan of flows has taken over");
    let lost = |report: &RunReport| report.workloads.iter().map(|load| load.lost).collect::<Vec<u64>>();
    assert_eq!(lost(&report), lost(&kept), "no packet waits for the helper");
}

/// Each device has cells of its own of a register with `@soft`. Another plan would have one value of each: it is refused, once.
#[test]
fn the_old_plan_stays_where_devices_have_cells_of_their_own() {
    let report = with_cells("@soft register<bit<8>, bit<8>>", "seen.write(meta.tenant, 1);", |path| {
        run(&[("../apps/acl.p4", path)])
    });
    let reported = notes(&report);
    let [begun, stays] = reported.as_slice() else { panic!("{:#?}", report.notes) };
    assert!(begun.contains("another plan of flows at the switch is taking over"), "{begun}");
    let why = "each device has cells of its own of `west.AclIngress.seen`, and another plan would mix them";
    assert_eq!(*stays, format!("the plan of flows stays: {why}"));
    for load in &report.workloads {
        assert_eq!((load.lost, load.received), (0, load.sent), "{load:#?}");
    }
}

/// The example as `p4rack switch` runs it, with packets of random flows, few of them popular.
struct Running {
    rig: Rig<Direct>,
    rng: Rng,
    packets: u64,
}

impl Running {
    fn new(changes: &[(&str, &str)]) -> Running {
        Running { rig: Rig::new(&racked(changes), Direct), rng: Rng::new(1).split("replans"), packets: 0 }
    }

    /// Packets come for so long, or until there is work for a thread; `west` of five are west's.
    fn packets(&mut self, west: u64, time: Duration) {
        let end = self.rig.now + time;
        while self.rig.now < end && self.rig.works.is_empty() {
            let until = self.rig.now + Duration::from_us(20);
            while self.rig.now < until {
                self.rig.pass(until.since(self.rig.now));
            }
            let most = 1 + self.rng.below(200);
            let flow = self.rng.below(most) as u32;
            let dst = if self.rng.chance(west, 5) { 0x0a03_0001 } else { 0x0a02_0001 };
            let src = (0xc633_6401 + flow, 5000);
            let frame = packet(Flow { protocol: UDP, src, dst: (dst, 53) }, &[0; 18]);
            self.rig.frame(4, &frame);
            self.packets += 1;
        }
    }

    /// Flows for which each app has room at the switch, and flows there.
    fn rooms(&self) -> Vec<(u64, u64)> {
        self.rig.rack.show().pinned_apps.iter().map(|app| (app.room, app.resident)).collect()
    }
}

/// Two threads do what takes long: planning, and compiling. Packets pass meanwhile, and flows stay at the switch when its tables have other sizes.
#[test]
fn a_running_switch_plans_again_beside_its_packets() {
    let mut running = Running::new(&[]);
    running.packets(1, Duration::from_ms(80));
    assert!(running.rig.works.is_empty() && running.rig.reported.is_empty(), "{:?}", running.rig.reported);
    let before = running.rooms();
    assert!(before[0].0 > before[1].0, "as planned: {before:?}");
    assert!(before.iter().all(|(room, resident)| room == resident), "all places are taken: {before:?}");
    let changed = running.rig.now;
    running.packets(4, Duration::from_ms(60));
    assert_eq!(running.rig.works.len(), 1, "a plan is asked for");
    assert!(running.rig.now.since(changed) >= Duration::from_ms(20));
    let planning = std::mem::take(&mut running.rig.works);
    running.packets(4, Duration::from_ms(30));
    assert!(running.rig.works.is_empty(), "there is one plan at a time");
    assert_eq!(
        running.rooms().iter().map(|(room, _)| *room).collect::<Vec<_>>(),
        before.iter().map(|(room, _)| *room).collect::<Vec<_>>()
    );
    running.rig.works = planning;
    running.rig.work();
    let [begun] = running.rig.reported.as_slice() else { panic!("{:?}", running.rig.reported) };
    assert!(begun.contains("another plan of flows at the switch is taking over: east "), "{begun}");
    // Flows of east leave; then the programs are compiled.
    running.packets(4, Duration::from_ms(60));
    assert_eq!(running.rig.works.len(), 1, "programs are to be compiled");
    let drained = running.rooms();
    assert!(drained[0].0 < before[0].0 && drained[1].0 == before[1].0, "{before:?} {drained:?}");
    assert_eq!(running.rig.metric("flow_plans_total"), 0);
    let moves = running.rig.metric("flow_moves_total");
    running.rig.work();
    assert_eq!(running.rig.metric("flow_moves_total"), moves, "no flow leaves the switch and comes again");
    let after = running.rooms();
    assert_eq!(
        running.rig.reported.last().map(String::as_str),
        Some("the other plan of flows has taken over")
    );
    assert_eq!(running.rig.metric("flow_plans_total"), 1);
    assert!(after[0].0 < before[0].0 && after[1].0 > before[1].0, "{before:?} {after:?}");
    let residents = |rooms: &[(u64, u64)]| rooms.iter().map(|(_, resident)| *resident).collect::<Vec<_>>();
    assert_eq!(residents(&after), residents(&drained), "flows stay at the switch");
    (0..50).for_each(|_| running.rig.pass(Duration::from_us(1)));
    let later = residents(&running.rooms());
    let stay = later.iter().zip(residents(&drained)).all(|(later, drained)| *later >= drained);
    assert!(stay, "no flow is cleared away: {drained:?} {later:?}");
    running.packets(4, Duration::from_ms(100));
    let last = running.rooms();
    assert!(last.iter().all(|(room, resident)| room == resident), "the new places are taken: {last:?}");
    assert_eq!(running.rig.metric("frames_sent_total"), running.packets, "no packet is lost");
    assert_eq!(running.rig.metric("flow_moves_full_total"), 0);
}

/// A planner that breaks down costs its plan.
#[test]
fn work_that_is_lost_leaves_the_old_plan() {
    let mut running = Running::new(&[]);
    running.packets(1, Duration::from_ms(40));
    running.packets(4, Duration::from_ms(60));
    assert_eq!(running.rig.works.len(), 1);
    let before = running.rooms();
    running.rig.works.clear();
    running.rig.work();
    let expected = "the plan of flows stays: no plan: its thread has ended without a result";
    assert_eq!(running.rig.reported, [expected]);
    assert_eq!(running.rooms(), before);
    let begun: Time = running.rig.now;
    running.packets(4, Duration::from_ms(60));
    assert!(
        running.rig.works.is_empty() && running.rig.now > begun,
        "it is not asked for again for these shares"
    );
}

/// A controller that pushes the program again while another plan of flows is on its way: flows come to the switch anew.
#[test]
fn a_reset_meanwhile_begins_anew() {
    let mut running = Running::new(&[]);
    running.packets(1, Duration::from_ms(40));
    running.packets(4, Duration::from_ms(60));
    running.rig.work();
    running.packets(4, Duration::from_ms(60));
    assert_eq!(running.rig.works.len(), 1, "programs are to be compiled");
    assert_eq!(running.rig.done(controller::Call::Steer(None, controller::Steer::Reset)), Ok(()));
    running.rig.work();
    running.packets(4, Duration::from_ms(100));
    let rooms = running.rooms();
    assert!(rooms[0].0 < rooms[1].0, "{rooms:?}");
    assert!(rooms.iter().all(|(room, resident)| room == resident), "{rooms:?}");
    assert_eq!(running.rig.metric("frames_sent_total"), running.packets);
}

/// The same while the call for the other plan is under way: what is at the switch then is not relied on.
#[test]
fn a_reset_during_the_call_begins_anew() {
    let mut running = Running::new(&[]);
    running.packets(1, Duration::from_ms(40));
    running.packets(4, Duration::from_ms(60));
    running.rig.work();
    running.packets(4, Duration::from_ms(60));
    let compile = std::mem::take(&mut running.rig.works);
    assert_eq!(compile.len(), 1, "programs are to be compiled");
    let moves = running.rig.metric("flow_moves_total");
    compile.into_iter().for_each(|work| work());
    drop(running.rig.rack.tick(running.rig.now));
    assert!(running.rig.rack.is_busy(), "the call is under way");
    assert_eq!(running.rig.done(controller::Call::Steer(None, controller::Steer::Reset)), Ok(()));
    assert!(running.rig.metric("flow_moves_total") < moves, "the flows' history has begun anew");
    running.packets(4, Duration::from_ms(100));
    let rooms = running.rooms();
    assert!(rooms[0].0 < rooms[1].0, "{rooms:?}");
    assert!(rooms.iter().all(|(room, resident)| room == resident), "{rooms:?}");
}
