//! A region with a spare: what operators see, and keep out.

use crate::parts::compiled_text;
use crate::setup::{Bench, arbitration, maker, read_request, sender, spared, spared_over, write_request};
use base_time::{Duration, Time};
use controller::{Ask, Call, DeviceId, Reply, Steer, Ticket};
use device_control::{Channel, Event, Passage, RackSwitch, Served};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{entity::Entity as Kind, table_action};
use p4runtime_proto::p4rack::v1::Thresholds;
use p4runtime_proto::p4rack::v1::target::State;
use p4runtime_server::{Status, StreamId};
use std::collections::BTreeSet;
use std::sync::OnceLock;

pub const PROGRAM: &str = include_str!("../../../ir-split/testdata/split/spares.p4");

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

#[test]
fn devices_that_restart_are_used_when_they_may_be() {
    let mut bench = bench();
    assert_eq!(bench.packet(1, FRAME), LEFT);
    // A helper waits for the hold-down.
    bench.restart(1);
    assert_eq!(bench.packet(1, FRAME), LEFT);
    assert_eq!(states(&mut bench), [State::Recovering, State::InUse]);
    // The switch begins with a generation after all that helpers have seen, and knows whom it may use.
    bench.restart(0);
    assert_eq!(bench.packet(1, FRAME), LEFT);
    assert_eq!(states(&mut bench), [State::Recovering, State::InUse]);
    // The last device that may be used is not barred for its state.
    bench.restart(2);
    assert_eq!(bench.packet(1, FRAME), LEFT);
}

/// Numbers that the entries of a device's edges end in.
fn written(bench: &mut Bench, device: usize, count: usize) -> Vec<Vec<u64>> {
    let mut found = vec![];
    for entity in bench.holds(device, "table_entry {}") {
        let Some(Kind::TableEntry(entry)) = entity.entity else { continue };
        let action = entry.action.and_then(|action| action.r#type);
        let Some(table_action::Type::Action(action)) = action else { continue };
        let number = |bytes: &Vec<u8>| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        if action.params.len() == count {
            found.push(action.params.iter().map(|param| number(&param.value)).collect());
        }
    }
    found
}

#[test]
fn an_operator_sets_thresholds_which_stay() {
    let mut bench = bench();
    let begun = bench.show().spares[0].thresholds.unwrap();
    assert_eq!(
        (begun.patience_us, begun.tolerance, begun.hold_down_us),
        (Some(20), Some(16), Some(1_000_000))
    );
    assert_eq!(written(&mut bench, 0, 8), [[0, 3, 64, 10, 20, 3, 32, 1023]]);
    assert_eq!(written(&mut bench, 1, 3), [[0, 16, 0xffff]]);
    let set = Thresholds {
        patience_us: Some(5000),
        window: Some(256),
        tolerance: Some(3),
        hold_down_us: Some(2000),
        ..Thresholds::default()
    };
    assert_eq!(bench.steer(Steer::SetThresholds(set)), "OK\n");
    let wanted = Thresholds { ask_every: Some(64), ask_after_us: Some(10), ..set };
    let wanted = Thresholds { most_missed: Some(3), most_gaps: Some(32), ..wanted };
    let check = |bench: &mut Bench| {
        assert_eq!(bench.show().spares[0].thresholds, Some(wanted));
        assert_eq!(written(bench, 0, 8), [[0, 3, 64, 10, 5000, 3, 32, 255]]);
        for target in [1, 2] {
            assert_eq!(written(bench, target, 3), [[0, 3, 7]]);
        }
    };
    check(&mut bench);
    // Devices that restart have them, and so has the next program.
    bench.restart(0);
    bench.restart(1);
    check(&mut bench);
    assert_eq!(bench.steer(Steer::Reset), "OK\n");
    check(&mut bench);
    // The hold-down is the new one.
    assert_eq!(bench.steer(keep_out("nic", false)), "OK\n");
    assert_eq!(bench.steer(keep_out("nic", true)), "OK\n");
    states(&mut bench);
    bench.wait(Duration::from_ms(150));
    bench.packet(1, FRAME);
    assert_eq!(states(&mut bench), [State::InUse, State::Ready]);
}

#[test]
fn thresholds_that_cannot_be_change_nothing() {
    let mut bench = bench();
    let none = Thresholds::default();
    let wrong = [
        (Thresholds { patience_us: Some(0), ..none }, "`patience` is at least 1 us"),
        (Thresholds { patience_us: Some(1 << 41), ..none }, "`patience` is at most 12 days"),
        (Thresholds { most_missed: Some(256), ..none }, "`most_missed` is at most 255"),
        (Thresholds { tolerance: Some(32), ..none }, "`tolerance` is at most 31"),
        (Thresholds { tolerance: Some(0), ..none }, "`tolerance` is from 1 to 31"),
        (Thresholds { window: Some(1000), ..none }, "`window` is a power of two"),
        (Thresholds { window: Some(16), ..none }, "`most_gaps` is at most `window`"),
    ];
    for (set, why) in wrong {
        let refused = bench.steer(Steer::SetThresholds(set));
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(written(&mut bench, 0, 8), [[0, 3, 64, 10, 20, 3, 32, 1023]]);
    let refused = crate::setup::racked().steer(Steer::SetThresholds(none));
    assert!(refused.contains("no region has spares"), "{refused}");
}

/// Regions with spares stay where the map says.
#[test]
fn regions_with_spares_are_not_moved() {
    let mut bench = bench();
    let refused = bench.steer(Steer::Replace([("R".to_string(), "spare".to_string())].into()));
    assert!(refused.contains("cannot be moved"), "{refused}");
    assert_eq!(bench.packet(1, FRAME), LEFT);
}

/// The agent of the switch needs no controller: it sends ticks, and bars what is behind a port that is down. A device that was left comes back only when
/// no other one can be used.
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
    bench.link(11, true);
    assert_eq!(port(&bench.packet(1, FRAME)), ["12"]);
    bench.link(11, false);
    bench.link(12, false);
    assert_eq!(bench.packet(1, FRAME), "");
    bench.link(11, true);
    assert_eq!(port(&bench.packet(1, FRAME)), ["11"]);
    bench.link(12, true);
    assert_eq!(port(&bench.packet(1, FRAME)), ["11"]);
    bench.link(12, false);
    // Nothing answers: after three probes the preferred device is left, but no other is there.
    for _ in 0..4 {
        bench.wait(Duration::from_ms(1));
    }
    assert_eq!(bench.wait(Duration::from_ms(1)), "");
    bench.link(12, true);
    assert_eq!(port(&bench.wait(Duration::from_ms(1))), ["12"]);
}

/// Requests to some devices are lost.
#[derive(Default)]
struct Silent {
    devices: BTreeSet<usize>,
    /// Writes to these are lost, and all else is refused at once: nobody reaches them any more.
    gone: BTreeSet<usize>,
    /// The same until they are asked for all that they hold.
    deaf: BTreeSet<usize>,
    /// The devices that were written to, in order.
    written: Vec<usize>,
}

impl Channel for Silent {
    fn pass(&mut self, device: DeviceId, ask: &Ask) -> Passage {
        let device = device.0;
        if matches!(ask, Ask::Write(_)) {
            self.written.push(device);
        }
        if matches!(ask, Ask::Holdings(_)) {
            self.deaf.remove(&device);
        }
        if self.gone.contains(&device) && !matches!(ask, Ask::Write(_)) {
            return Passage::Refused(Status::new(Code::Unavailable, "it is gone"));
        }
        let is_lost =
            self.gone.contains(&device) || self.devices.contains(&device) || self.deaf.contains(&device);
        if is_lost { Passage::AskLost } else { Passage::Through }
    }
}

/// Ids of the program's table and of its action.
pub fn ids() -> (u32, u32) {
    static IDS: OnceLock<(u32, u32)> = OnceLock::new();
    *IDS.get_or_init(|| ids_of(PROGRAM))
}

/// Ids of a program's only table, and of the action that sets a field.
pub fn ids_of(program: &str) -> (u32, u32) {
    let info = p4info::p4info(&compiled_text(program)).expect("it has a P4Info");
    let table = info.tables[0].preamble.as_ref().expect("a table").id;
    let mut actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
    (table, actions.find(|action| action.name == "In.set").expect("an action").id)
}

/// A rack whose requests to devices pass a channel.
pub struct Reach<C> {
    pub rack: RackSwitch<C>,
    now: Time,
}

impl<C: Channel> Reach<C> {
    /// With its program, and a primary controller.
    pub fn over(rack: RackSwitch<C>) -> Self {
        let mut reach = Reach { rack, now: Time::ZERO };
        assert_eq!(reach.call(Call::Start(Box::default(), vec![])), Ok(()));
        reach.rack.message(reach.now, StreamId(0), &arbitration(1, Some(1)));
        reach
    }

    pub fn call(&mut self, call: Call) -> Result<(), Status> {
        let mut events = self.rack.call(self.now, Ticket(1), call);
        loop {
            for event in events {
                if let Event::Reply(_, Reply::Done(ended)) = event {
                    return ended;
                }
            }
            self.now = self.rack.deadline().expect("it waits for something").max(self.now);
            events = self.rack.tick(self.now);
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.rack.deadline().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            self.rack.tick(self.now);
        }
        self.now = until;
    }

    /// The second byte of what becomes of a packet whose first one is `a`.
    pub fn packet(&mut self, a: u8) -> u8 {
        let events = self.rack.frame(self.now, 1, &[a, 2, 0xaa]);
        let frames = events.into_iter().filter_map(|event| match event {
            Event::Frame(2, frame) => Some(frame[1]),
            _ => None,
        });
        frames.last().expect("it leaves")
    }
}

/// An update after which packets whose first byte is `a` get `b`. `ids` are those of the table and of its action.
pub fn flow(ids: (u32, u32), how: &str, a: u8, b: u8) -> String {
    let (table, set) = ids;
    format!(
        r#"{how} table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: "\{a:03o}" }} }} action {{ action {{ action_id: {set} params {{ param_id: 1 value: "\{b:03o}" }} }} }} }}"#
    )
}

impl Reach<Silent> {
    /// With a spare, and devices that may be out of reach.
    fn new() -> Self {
        let hold_down = Duration::from_ms(1000);
        Reach::over(spared_over(Silent::default(), maker(), PROGRAM, hold_down))
    }

    /// All devices answer again, and are repaired. A request that was lost is waited for, for a minute, before another one is made.
    fn bring_back(&mut self) {
        self.rack.channel.devices.clear();
        self.rack.channel.gone.clear();
        let until = self.now + Duration::from_s(200);
        while !self.rack.stale().is_empty() {
            assert!(self.now < until, "devices stay out of step: {:?}", self.rack.stale());
            self.now = self.rack.deadline().expect("it tries again").max(self.now);
            self.rack.tick(self.now);
        }
    }

    /// Packets whose first byte is `a` get `b`.
    fn write(&mut self, how: &str, a: u8, b: u8) -> Result<(), Status> {
        let entry = flow(ids(), how, a, b);
        self.call(Call::Write(Box::new(write_request("ROLLBACK_ON_ERROR", &[&entry]))))
    }

    /// The entries of the program's table at a device.
    fn entries(&self, device: usize) -> usize {
        let query = read_request("table_entry {}").entities.remove(0);
        let found = self.rack.holds(device, query).into_iter();
        let (table, _) = ids();
        let is_own = |entity: &p4runtime_proto::p4::v1::Entity| matches!(&entity.entity, Some(Kind::TableEntry(entry)) if entry.table_id == table && !entry.is_default_action);
        found.filter(is_own).count()
    }
}

/// While a device is out of use and does not answer, writes go on without it. It gets them before it is used again.
#[test]
fn writes_go_on_without_a_device_that_is_out() {
    let mut reach = Reach::new();
    assert_eq!(reach.write("INSERT", 1, 9), Ok(()));
    assert_eq!(reach.packet(1), 9);
    // A device in use has to have the write.
    reach.rack.channel.devices.insert(1);
    let refused = reach.write("INSERT", 3, 8).expect_err("`nic` is in use");
    assert_eq!(refused.details[0].canonical_code, Code::Unavailable as i32, "{refused:?}");
    reach.bring_back();
    assert_eq!((reach.entries(1), reach.entries(2), reach.packet(3)), (1, 1, 7));
    // Out of use, it need not answer: the first write finds out, later ones leave it out.
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", false))), Ok(()));
    reach.wait(Duration::from_ms(300));
    reach.rack.channel.devices.insert(1);
    for (a, b) in [(3, 8), (4, 6), (5, 5)] {
        assert_eq!(reach.write("INSERT", a, b), Ok(()), "{a}");
        assert_eq!(reach.packet(a), b);
    }
    assert_eq!(reach.write("DELETE", 1, 9), Ok(()));
    assert_eq!((reach.entries(1), reach.entries(2), reach.packet(1)), (1, 3, 7));
    // A refusal of another device is one.
    assert!(reach.write("INSERT", 3, 1).is_err());
    // It answers again, and gets all of them before it is used.
    reach.bring_back();
    assert_eq!(reach.entries(1), 3);
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", true))), Ok(()));
    reach.wait(Duration::from_ms(3000));
    assert_eq!((reach.packet(1), reach.packet(3), reach.packet(4)), (7, 8, 6));
}

/// A packet at a spare sees no less than one that has been at the device before it: the device in use is written to last.
#[test]
fn a_write_reaches_the_device_in_use_last() {
    let mut reach = Reach::new();
    reach.packet(1);
    reach.wait(Duration::from_ms(300));
    let written = |reach: &mut Reach<Silent>, a| {
        reach.rack.channel.written.clear();
        assert_eq!(reach.write("INSERT", a, 9), Ok(()));
        reach.rack.channel.written.clone()
    };
    assert_eq!(written(&mut reach, 1), [2, 1]);
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", false))), Ok(()));
    reach.wait(Duration::from_ms(10));
    reach.packet(1);
    reach.wait(Duration::from_ms(300));
    assert_eq!(written(&mut reach, 3), [1, 2]);
    // A refusal of the device in use is one of all: the spare has the write no longer.
    reach.rack.channel.devices.insert(2);
    assert!(reach.write("INSERT", 4, 9).is_err());
    reach.bring_back();
    assert_eq!((reach.entries(1), reach.entries(2), reach.packet(4)), (2, 2, 7));
}

/// The device in use does not do what its spare could not.
#[test]
fn nothing_is_written_after_a_step_that_fails() {
    let mut reach = Reach::new();
    reach.packet(1);
    reach.wait(Duration::from_ms(300));
    reach.rack.channel.written.clear();
    reach.rack.channel.devices.insert(2);
    assert!(reach.write("INSERT", 1, 9).is_err());
    assert!(!reach.rack.channel.written.contains(&1), "{:?}", reach.rack.channel.written);
    reach.bring_back();
    assert_eq!((reach.entries(1), reach.entries(2), reach.packet(1)), (0, 0, 7));
}

/// A write that goes forward does not wait for a device that is out of use because it does not answer, and is not undone at the others.
#[test]
fn a_write_that_goes_forward_ends_when_the_silent_device_is_out() {
    for (silent, is_gone) in [(1, false), (2, false), (2, true)] {
        let mut reach = Reach::new();
        reach.packet(1);
        reach.wait(Duration::from_ms(300));
        let channel = &mut reach.rack.channel;
        if is_gone { &mut channel.gone } else { &mut channel.devices }.insert(silent);
        reach.rack.channel.written.clear();
        let entry = flow(ids(), "INSERT", 1, 9);
        let write = write_request("ROLLBACK_ON_ERROR", &[&entry]);
        assert_eq!(reach.call(Call::Enforce(Box::new(write))), Ok(()), "{silent}");
        let first = |device| reach.rack.channel.written.iter().position(|known| *known == device);
        // A spare that lacks the write is out at the switch before the device in use has the write: no packet that has found it comes to the spare.
        assert!(silent == 1 || first(0).is_some() && first(0) < first(1), "{:?}", reach.rack.channel.written);
        assert_eq!((reach.entries(3 - silent), reach.entries(silent)), (1, 0));
        assert_eq!(reach.packet(1), 9, "{silent} is not used");
        reach.bring_back();
        assert_eq!((reach.entries(1), reach.entries(2)), (1, 1));
        reach.wait(Duration::from_ms(3000));
        assert_eq!(reach.packet(1), 9);
    }
}

/// A device that a batch goes on without is not asked to undo it either.
#[test]
fn a_device_that_is_left_out_undoes_nothing() {
    let mut reach = Reach::new();
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", false))), Ok(()));
    reach.packet(1);
    reach.wait(Duration::from_ms(300));
    reach.rack.channel.written.clear();
    reach.rack.channel.devices.extend([1, 2]);
    assert!(reach.write("INSERT", 1, 9).is_err(), "`spare` is in use");
    let to_nic = reach.rack.channel.written.iter().filter(|device| **device == 1).count();
    assert_eq!(to_nic, 1, "{:?}", reach.rack.channel.written);
    reach.bring_back();
    assert_eq!((reach.entries(1), reach.entries(2)), (0, 0));
}

/// The sum of the counts of all devices is a value; to write it, the count of the device that is out has to be known.
#[test]
fn values_are_not_written_without_a_device_that_is_out() {
    let program = PROGRAM
        .replace("action set(", "@merge(\"add\") counter(4, CounterType.packets) seen;\n    action set(")
        .replace("{ t.apply(); }", "{ seen.count(32w0); t.apply(); }");
    let rack = spared_over(Silent::default(), maker(), &program, Duration::from_ms(1000));
    let mut reach = Reach::over(rack);
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", false))), Ok(()));
    reach.wait(Duration::from_ms(300));
    reach.rack.channel.devices.insert(1);
    let mut write =
        |update: &str| reach.call(Call::Write(Box::new(write_request("ROLLBACK_ON_ERROR", &[update]))));
    assert_eq!(write(&flow(ids_of(&program), "INSERT", 1, 9)), Ok(()));
    let info = p4info::p4info(&compiled_text(&program)).expect("it has a P4Info");
    let counter = info.counters[0].preamble.as_ref().expect("a counter").id;
    let value =
        format!("MODIFY counter_entry {{ counter_id: {counter} index {{ }} data {{ packet_count: 5 }} }}");
    let refused = write(&value).expect_err("`nic` does not answer");
    assert!(refused.message.contains("`nic` is out of sync"), "{refused:?}");
}

/// A device that is out of use lacks writes: a controller that takes over has the entries of the others, and repairs it.
#[test]
fn a_controller_that_takes_over_does_not_believe_a_device_that_is_out() {
    let mut reach = Reach::new();
    assert_eq!(reach.write("INSERT", 1, 9), Ok(()));
    assert_eq!(reach.write("INSERT", 3, 8), Ok(()));
    assert_eq!(reach.call(Call::Steer(None, keep_out("nic", false))), Ok(()));
    reach.wait(Duration::from_ms(300));
    reach.rack.channel.deaf.insert(1);
    assert_eq!(reach.write("DELETE", 1, 9), Ok(()));
    assert_eq!(reach.write("INSERT", 4, 6), Ok(()));
    assert_eq!((reach.entries(1), reach.entries(2)), (2, 2), "it has the old ones");
    assert_eq!(reach.call(Call::Adopt(None, vec![])), Ok(()));
    assert!(reach.rack.channel.deaf.is_empty());
    reach.bring_back();
    assert_eq!((reach.entries(1), reach.entries(2)), (2, 2));
    assert_eq!((reach.packet(1), reach.packet(3), reach.packet(4)), (7, 8, 6));
}
