//! Tables of which the switch has the busy entries: `@hot` on tables that are mirrored to a handler.

use crate::groups::{CLIENT, NET, load, run, variant};
use crate::running_flows::{Rig, move_flow, write};
use crate::support::text;
use base_bits::Bits;
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use controller::{Ask, DeviceId, Ticket};
use device::{Options, Switch};
use device_control::{Channel, Direct, Passage, Side};
use flow_control::sketch::Shape;
use ir::Name;
use ir_prove::{Effort, prove};
use p4rack::flows::FlowMove;
use p4rack::{Racked, proof, rack, up};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use rack_model::{Fault, FaultKind, MemberChange, Membership, Rack, Spanned};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The word after the addresses, a destination port, finds an entry, whose mark takes the place of the source port.
const PROGRAM: &str = include_str!("support/look.p4");

const SOURCE: &str = include_str!("support/look.c");

/// A rack of three servers; `entries` are those of its table.
fn place(name: &str, program: &str, entries: &str) -> PathBuf {
    let place = variant(&format!("hot-{name}"), "variant = \"pin\"");
    std::fs::write(place.join("look.p4"), program).expect("a file");
    std::fs::write(place.join("look.c"), SOURCE).expect("a file");
    std::fs::write(place.join("entries.toml"), entries).expect("a file");
    let text = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
    let text = text
        .replace("\"snat.p4\"", "\"look.p4\"\nentries = \"entries.toml\"")
        .replace("snat.c", "look.c")
        .replace("{ snat =", "{ look =")
        .replace("gateway = \"02:00:00:00:00:01\"", "gateway = \"02:00:00:00:02:01\"")
        // The first two are busier.
        .replacen("count = 200\nrate = \"4Mbit/s\"", "count = 800\nrate = \"16Mbit/s\"", 2);
    std::fs::write(place.join("RACK.toml"), text).expect("a file");
    place
}

/// The program without marks, for workloads that compare what comes.
fn unmarked() -> String {
    PROGRAM.replace("hdr.packet.src = mark;", "").replace("hdr.packet.src = r.mark;", "")
}

/// Entries for these ports.
fn entries(ports: impl Iterator<Item = u16>) -> String {
    ports.map(|port| format!("[[table.t]]\nkey = [{port}]\naction = \"mark\"\nargs = [{port}]\n")).collect()
}

#[test]
fn the_busy_entries_come_to_the_switch() {
    let allowed = (0..12).filter(|number| number % 3 != 2).map(|number| 7000 + number);
    let racked = load(&place("busy", &unmarked(), &entries(allowed)));
    let part = |device: usize| {
        let part = racked.apps[0].parts[device].as_ref().expect("it has a part");
        let tables = part.program.controls.iter().flat_map(|control| &control.tables);
        let own = tables.filter(|table| table.control_plane_name.starts_with("I.t"));
        own.map(|table| (table.control_plane_name.to_string(), table.size)).collect::<Vec<_>>()
    };
    assert_eq!(part(0), [("I.t_resident".to_string(), Some(4))]);
    assert!((1..4).all(|device| part(device) == [("I.t".to_string(), Some(64))]), "{:?}", part(1));
    let report = run(&racked);
    // The table decides about each packet, wherever its entries are.
    for (number, load) in (0..).zip(report.workloads.iter().filter(|load| load.name.starts_with("upload"))) {
        let wanted = if number % 3 == 2 { 0 } else { load.sent };
        assert_eq!((load.received, load.reordered), (wanted, 0), "{}", load.name);
    }
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    let totals = pinned.totals.expect("entries move");
    assert!(totals.promoted >= 4 && totals.resident <= 4, "{totals:?}");
    assert!(pinned.at_switch * 3 > pinned.packets, "{} of {}", pinned.at_switch, pinned.packets);
    let calls: u64 = report.groups[0].servers.iter().map(|server| server.calls).sum();
    assert!(calls > 500 && report.groups[0].lost == 0, "{:?}", report.groups);
    // Without entries there is nothing that is worth a place.
    let report = run(&load(&place("none", &unmarked(), "")));
    let totals = report.pinned[0].totals.expect("none move");
    assert_eq!((totals.promoted, totals.resident, totals.full), (0, 0, 0));
}

#[test]
fn entries_move_by_what_the_annotation_says() {
    let racked = load(&place("said", PROGRAM, ""));
    let [app] = racked.apps[0].pinned.as_slice() else { panic!("one app has such a table") };
    assert_eq!(app.unpinned.sketch, Shape { rows: 2, columns: 256 });
    let pinning = app.model.pinning.as_ref().expect("its entries move");
    let promote = pinning.promote.expect("by popularity");
    assert_eq!(
        (pinning.flows, promote.window, promote.idle),
        (4, Duration::from_ms(2), Duration::from_ms(4))
    );
}

/// Other changes of the members and, with `deaths`, deaths; moves of entries at random moments beside those that the packets cause. One rack that was
/// loaded once runs with any number of seeds.
fn vary(racked: &mut Racked, seed: u64, deaths: bool) {
    let mut rng = Rng::new(seed).split("changes");
    let Racked { rack, moves, .. } = racked;
    rack.seed = seed;
    rack.faults.clear();
    rack.memberships.clear();
    moves.clear();
    let mut taking = BTreeSet::from([0, 1]);
    let mut at = 2_000;
    while at < 80_000 {
        let server = rng.below(3);
        let spanned = Spanned::new(rack_model::DeviceId(1 + server as u32), Default::default());
        if deaths && rng.chance(1, 4) {
            let lasts = Some(Duration::from_us(1_000 + rng.below(4_000)));
            let kind = FaultKind::DeviceDown(spanned.value);
            rack.faults.push(Fault { kind, at: us(at), lasts, span: Default::default() });
            at += 8_000;
        } else if taking.insert(server) {
            let change = MemberChange::Add { weight: 1 + rng.below(3) as u32 };
            rack.memberships.push(Membership { group: 0, at: us(at), server: spanned, change });
        } else if taking.len() > 1 {
            taking.remove(&server);
            let change = MemberChange::Remove;
            rack.memberships.push(Membership { group: 0, at: us(at), server: spanned, change });
        }
        at += 200 + rng.below(8_000);
    }
    let mut rng = Rng::new(seed).split("moves");
    let mut at = 1_000;
    while at < 80_000 {
        let flow = vec![Bits::new(16, u128::from(u64::from(FIRST_PORT) + rng.below(PORTS.into())))];
        let to = if rng.next_bool() { Side::Switch } else { Side::Helper };
        moves.push(FlowMove { app: rack.apps[0].name.value.clone(), at: us(at), flow, to });
        at += rng.below(3_000);
    }
}

const FIRST_PORT: u16 = 7000;
const PORTS: u16 = 48;

/// Two of three ports have an entry, and their packets get a mark.
fn mark_of(port: u16) -> Option<u16> {
    (port % 3 != 2).then_some(port ^ 0x5555)
}

fn us(count: u64) -> Time {
    Time::ZERO + Duration::from_us(count)
}

/// Numbered packets to all ports; in each fifth of the time other ports are busier.
fn numbered(rng: &mut Rng) -> Vec<(Time, Vec<u8>)> {
    let mut last = vec![0; usize::from(PORTS)];
    let mut all = vec![];
    for number in 0..4_000u32 {
        let at = 500 + u64::from(number) * 20 + rng.below(20);
        let busy = rng.below(PORTS.into()).min(rng.below(PORTS.into())).min(rng.below(PORTS.into()));
        let port = (busy + at / 16_000 * 7) % u64::from(PORTS);
        // A packet at the switch does not overtake one at a server.
        let last = &mut last[port as usize];
        if at >= *last + 60 {
            *last = at;
            let mut frame = packet(FIRST_PORT + port as u16);
            frame.extend(number.to_be_bytes());
            // The least that a link carries without padding.
            frame.resize(60, 0);
            all.push((us(at), frame));
        }
    }
    all
}

/// Frames by port.
fn by_port(frames: impl Iterator<Item = Vec<u8>>) -> BTreeMap<u16, Vec<Vec<u8>>> {
    let mut ports = BTreeMap::<u16, Vec<Vec<u8>>>::new();
    frames.for_each(|frame| ports.entry(u16::from_be_bytes([frame[36], frame[37]])).or_default().push(frame));
    ports
}

#[test]
fn entries_move_while_servers_come_and_go() {
    let ports = FIRST_PORT..FIRST_PORT + PORTS;
    let entry = |(port, mark): (u16, u16)| {
        format!("[[table.t]]\nkey = [{port}]\naction = \"mark\"\nargs = [{mark}]\n")
    };
    let entries: String = ports.clone().filter_map(|port| Some((port, mark_of(port)?))).map(entry).collect();
    let mut map = SourceMap::new();
    let quiet = |rack: &mut Rack| {
        rack.workloads.clear();
        rack.until = Some(us(120_000));
    };
    let racked = rack::load_as(&place("changes", PROGRAM, &entries), &[], &mut map, &quiet, &mut |_| ());
    let mut racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let mut whole = alone(&racked);
    for port in ports {
        if let Some(mark) = mark_of(port) {
            whole.write(&change(port, Some(mark)), Time::ZERO).expect("it fits");
        }
    }
    for (seed, deaths) in features::seeds(2, 100).flat_map(|seed| [(seed, false), (seed, true)]) {
        vary(&mut racked, seed, deaths);
        let sent = numbered(&mut Rng::new(seed));
        let expected = by_port(sent.iter().flat_map(|(_, frame)| {
            whole.process(1, frame, Time::ZERO).into_iter().map(|out| out.frame).collect::<Vec<_>>()
        }));
        let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}"));
        running.emulator.listen(NET);
        sent.into_iter().for_each(|(at, frame)| assert!(running.emulator.send(CLIENT, frame, at)));
        let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
        let came = by_port(running.emulator.take_received(NET).into_iter().map(|received| received.frame));
        let group = &report.groups[0];
        let mut missing = 0;
        for (port, frames) in &expected {
            let none = vec![];
            let came = came.get(port).unwrap_or(&none);
            let mut rest = frames.iter();
            assert!(
                came.iter().all(|frame| rest.any(|other| other == frame)),
                "seed {seed}: packets to {port} are others, or in another order"
            );
            missing += (frames.len() - came.len()) as u64;
        }
        assert!(came.keys().all(|port| expected.contains_key(port)), "seed {seed}: packets without an entry");
        assert!(missing <= group.lost, "seed {seed}: {missing} are missing: {group:?}");
        assert!(deaths || group.lost == 0 && group.changes > 4, "seed {seed}: {group:?}");
        let totals = report.pinned[0].totals.expect("entries move");
        assert!(totals.promoted > 10 && totals.demoted > 4, "seed {seed}: {totals:?}");
        assert!(totals.resident <= 4, "seed {seed}: {totals:?}");
    }
}

#[test]
fn the_parts_do_what_the_changed_program_does() {
    let racked = load(&place("proof", PROGRAM, ""));
    let proved = prove(&proof::case(&racked.apps[0]), &Effort { packets: 600, ..Effort::default() });
    let proved = proved.unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(proved.accesses > 100, "{proved:?}");
}

/// Loses some of the writes to agents, or their answers.
struct Lossy(Rng);

impl Channel for Lossy {
    fn pass(&mut self, _: DeviceId, ask: &Ask) -> Passage {
        match (ask, self.0.below(20)) {
            (Ask::Write(_), 0) => Passage::AskLost,
            (Ask::Write(_), 1) => Passage::AnswerLost,
            _ => Passage::Through,
        }
    }
}

fn packet(port: u16) -> Vec<u8> {
    let mut frame = vec![0xff; 34];
    frame.extend([7, 7]);
    frame.extend(port.to_be_bytes());
    frame
}

fn change(port: u16, action: Option<u16>) -> Write<Name> {
    let run = |mark: u16| match mark {
        0 => ActionCall { action: "I.none".into(), args: vec![] },
        mark => ActionCall { action: "I.mark".into(), args: vec![Bits::new(16, mark.into())] },
    };
    Write::Entry {
        table: "I.t".into(),
        key: EntryKey { matches: vec![Match::Exact(Bits::new(16, port.into()))].into(), priority: 0 },
        to: action.map(|mark| Box::new(Entry::new(Run::Action(run(mark))))),
        count: None,
    }
}

/// One device with the program of the file, and the handler beside it.
fn alone(racked: &Racked) -> Switch {
    let app = &racked.apps[0];
    let options = Options { registry: app.offers.registry.clone(), ..Options::default() };
    ir_interp::switch(Arc::clone(&app.own[0].1), options).expect("it runs")
}

/// Counts of a trial.
#[derive(Default, Debug)]
struct Did {
    writes: u64,
    /// Packets of which it is known whether they were handed over, and those that were not.
    looked: u64,
    at_switch: u64,
    promoted: u64,
    demoted: u64,
}

/// Packets with frequencies that change, entries that change: each packet has the result of one device, before or after the write that is under way.
fn trial<C: Channel>(racked: &Racked, seed: u64, channel: C) -> Did {
    let mut rng = Rng::new(seed);
    let (mut before, mut after) = (alone(racked), alone(racked));
    let mut rig = Rig::with_registry(racked, channel, racked.apps[0].offers.registry.clone());
    let app = racked.rack.apps[0].name.value.clone();
    let mut known: BTreeMap<u16, u16> = BTreeMap::new();
    let mut writing: Option<(Ticket, u16, Option<u16>)> = None;
    let (mut did, mut asked) = (Did::default(), vec![]);
    for step in 0..2000u64 {
        // Some ports are busier, and others after a while.
        let port = (rng.below(12).min(rng.below(12)) + step / 500) as u16;
        match rng.below(40) {
            0..4 if writing.is_none() => {
                let to = match known.contains_key(&port) && rng.chance(1, 3) {
                    true => None,
                    false => Some(rng.below(5) as u16),
                };
                let kind = match (known.contains_key(&port), to) {
                    (true, None) => Type::Delete,
                    (true, Some(_)) => Type::Modify,
                    (false, _) => Type::Insert,
                };
                let changed = change(port, to);
                after.write(&changed, Time::ZERO).expect("it fits");
                let shown = change(port, to.or(Some(0)));
                let mut updates =
                    device_control::updates(&[shown], &racked.apps[0].whole).expect("it is known");
                updates[0].set_type(kind);
                writing = Some((rig.call(write(updates, Atomicity::ContinueOnError)), port, to));
            }
            4 => {
                let key = BTreeMap::from([("dst".to_string(), port.to_string())]);
                asked.push(rig.call(move_flow(&app, key, rng.next_bool())));
            }
            5..8 => rig.pass(Duration::from_us(1 + rng.below(10_000))),
            _ => {
                let hops = (step % 16 == 0).then(|| rig.metric("hand_overs_total"));
                let left = rig.frame(1, &packet(port));
                if let Some(hops) = hops {
                    did.looked += 1;
                    did.at_switch += u64::from(rig.metric("hand_overs_total") == hops);
                }
                let of = |switch: &mut Switch| {
                    let out = switch.process(1, &packet(port), Time::ZERO).into_iter();
                    out.map(|out| (out.port, out.frame)).collect::<Vec<_>>()
                };
                let wanted = [of(&mut before), of(&mut after)];
                assert!(wanted.contains(&left), "seed {seed} step {step}: {left:02x?}\nwanted {wanted:02x?}");
            }
        }
        // A lost message is noticed after a minute.
        if let Some((ticket, ..)) = writing.filter(|_| step % 200 == 199) {
            (0..100_000).for_each(|_| {
                if !rig.is_over(ticket) {
                    rig.pass(Duration::from_s(60))
                }
            });
        }
        if let Some((ticket, port, to)) = writing.take_if(|(ticket, ..)| rig.is_over(*ticket)) {
            assert_eq!(rig.wait_for(ticket), Ok(()));
            before.write(&change(port, to), Time::ZERO).expect("the other one could");
            match to {
                Some(mark) => drop(known.insert(port, mark)),
                None => drop(known.remove(&port)),
            }
            did.writes += 1;
        }
    }
    if let Some((ticket, port, to)) = writing {
        assert_eq!(rig.wait_for(ticket), Ok(()));
        before.write(&change(port, to), Time::ZERO).expect("the other one could");
        known.extend(to.map(|mark| (port, mark)));
        if to.is_none() {
            known.remove(&port);
        }
    }
    for ticket in asked {
        if let Err(status) = rig.wait_for(ticket) {
            assert!([Code::Aborted, Code::FailedPrecondition].contains(&status.code), "{status:?}");
        }
    }
    // The switch has entries of the table, as they are.
    let shown = rig.app();
    let mut tables = |table: &str| -> Vec<(u16, u16)> {
        let tables = rig.rack.devices().flat_map(|device| device.switch().table_entries(table)).flatten();
        let entry = |entry: device::TableEntry| {
            let [Match::Exact(port)] = &*entry.key.matches else { panic!("{:?}", entry.key) };
            let Run::Action(call) = &entry.run else { panic!("{:?}", entry.run) };
            (port.low_u128() as u16, call.args.first().map_or(0, |mark| mark.low_u128() as u16))
        };
        tables.map(entry).collect()
    };
    let (full, copies) = (tables("I.t"), tables("I.t_resident"));
    let wanted: BTreeSet<(u16, u16)> = known.into_iter().collect();
    assert_eq!(full.iter().copied().collect::<BTreeSet<_>>(), wanted, "each server has all");
    assert_eq!(full.len(), 3 * wanted.len());
    assert!(
        copies.len() <= 4 && copies.iter().all(|entry| wanted.contains(entry)),
        "{copies:?} of {wanted:?}"
    );
    Did { promoted: shown.promoted, demoted: shown.demoted, ..did }
}

#[test]
fn packets_have_the_results_of_one_device_while_entries_come_and_go() {
    let racked = load(&place("trials", &PROGRAM.replace("\"2ms\"", "\"20ms\""), ""));
    let mut lossy = Did::default();
    for seed in features::seeds(2, 100) {
        let Did { writes, looked, at_switch, promoted, demoted } = trial(&racked, seed, Direct);
        println!(
            "seed {seed}: {writes} writes, {at_switch} of {looked} packets at the switch, {promoted} entries came, {demoted} left"
        );
        assert!(writes > 100 && promoted > 20 && demoted > 10, "seed {seed}: {writes} {promoted} {demoted}");
        assert!(at_switch * 10 > looked && at_switch < looked, "seed {seed}: {at_switch} of {looked}");
        let did = trial(&racked, seed, Lossy(Rng::new(seed)));
        lossy.writes += did.writes;
        lossy.promoted += did.promoted;
    }
    println!("with losses: {lossy:?}");
    assert!(lossy.writes > 20 && lossy.promoted > 4, "{lossy:?}");
}

/// Three periods with so many packets to these ports in each; then the ports of the entries at the switch.
fn periods(rig: &mut Rig<Direct>, packets: &[(u16, usize)]) -> Vec<u16> {
    for _ in 0..3 {
        for (port, count) in packets {
            (0..*count).for_each(|_| drop(rig.frame(1, &packet(*port))));
        }
        let end = rig.now + Duration::from_ms(20);
        while rig.now < end {
            rig.pass(end.since(rig.now));
        }
    }
    let devices = rig.rack.devices();
    let entries = devices.flat_map(|device| device.switch().table_entries("I.t_resident")).flatten();
    let port = |entry: device::TableEntry| match &*entry.key.matches {
        [Match::Exact(port)] => port.low_u128() as u16,
        other => panic!("{other:?}"),
    };
    let mut ports: Vec<u16> = entries.map(port).collect();
    ports.sort_unstable();
    ports
}

/// The entries at the switch follow the packets of each period. A port without an entry has none there.
#[test]
fn entries_come_and_go_with_their_packets() {
    let program = PROGRAM.replace("\"2ms\"", "\"20ms\"");
    let racked = load(&place("periods", &program, &entries(1..=6)));
    let unpinned = &racked.apps[0].pinned[0].unpinned;
    assert_eq!(unpinned.sketch, Shape { rows: 2, columns: 256 });
    let mut rig = Rig::with_registry(&racked, Direct, racked.apps[0].offers.registry.clone());
    let four = [(1, 50), (2, 50), (3, 50), (4, 50)];
    assert_eq!(periods(&mut rig, &four), [1, 2, 3, 4]);
    // A fifth with fewer packets does not take a place, nor does one with hardly more.
    assert_eq!(periods(&mut rig, &[&four[..], &[(5, 10)]].concat()), [1, 2, 3, 4]);
    assert_eq!(periods(&mut rig, &[&four[..], &[(5, 55)]].concat()), [1, 2, 3, 4]);
    // The one with the fewest packets makes room for it.
    assert_eq!(periods(&mut rig, &[(1, 50), (2, 50), (3, 5), (4, 50), (5, 100)]), [1, 2, 4, 5]);
    // Without packets, entries leave. Without an entry, a port has nothing to come.
    assert_eq!(periods(&mut rig, &[(2, 20), (9, 100)]), [2]);
    assert_eq!(periods(&mut rig, &[]), [0u16; 0]);
    let app = racked.rack.apps[0].name.value.clone();
    let key = |port: u16| BTreeMap::from([("dst".to_string(), port.to_string())]);
    let refused = rig.done(move_flow(&app, key(9), true)).expect_err("it has no entry");
    assert!(refused.message.contains("the table has no entry for it"), "{refused:?}");
    assert_eq!(rig.done(move_flow(&app, key(6), true)), Ok(()));
    assert_eq!(rig.app().resident, 1);
}

#[test]
fn what_cannot_be_hot_is_refused() {
    let hot = "@hot(top = 4, period = \"2ms\", sketch = \"count_min(2, 256)\")";
    let refused = |name: &str, from: &str, to: &str| {
        assert!(PROGRAM.contains(from), "{from}");
        let mut map = SourceMap::new();
        let found = rack::load(&place(name, &PROGRAM.replace(from, to), ""), &[], &mut map).err();
        text(&found.expect("it is refused"), &map)
    };
    for (name, from, to, why) in [
        ("no-mirror", "@mirror(\"look\") @hot", "@hot", "a miss leads to one handler, which looks it up"),
        ("no-top", "top = 4, ", "", "`top` is missing"),
        ("zero", "top = 4", "top = 0", "`0` is no number from 1 to 1048576"),
        ("period", "\"2ms\"", "\"0s\"", "`period` is zero"),
        ("sketch", "count_min(2, 256)", "bloom(2, 256)", "the sketch is no `count_min`"),
        ("unknown", "top = 4", "top = 4, more = 1", "`@hot` has no `more`"),
        ("empty", hot, "@hot", "`@hot` takes `top`, `period` and `sketch`"),
        ("lpm", "dst : exact", "dst : lpm", "a key is not `exact`"),
        ("const", "size = 64;", "const entries = { 1: mark(2); }", "its entries are `const`"),
        (
            "unasked",
            "if (!t.apply().hit) {",
            "t.apply(); {",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "hits",
            "if (!t.apply().hit) {",
            "if (t.apply().hit) {",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "sometimes",
            "if (look(q, r)) {",
            "if (q.port != 7 && look(q, r)) {",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "nested",
            "if (look(q, r)) {",
            "if (q.port != 7) if (look(q, r)) {",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "returns",
            "q.port = hdr.packet.dst;",
            "q.port = hdr.packet.dst; if (q.port == 7) { return; }",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "exits",
            "action none() { mark_to_drop(std); }",
            "action none() { exit; }",
            "a miss at the switch does not always lead to `look`",
        ),
        (
            "computed",
            "std.egress_spec = 2;\n",
            "hdr.packet.dst = hdr.packet.dst + 1;\n",
            "its keys are not fields as the parser leaves them",
        ),
        (
            "copied",
            "if (!t.apply().hit) {",
            "hdr.packet.dst = hdr.packet.src; if (!t.apply().hit) {",
            "its keys are not fields as the parser leaves them",
        ),
    ] {
        let found = refused(name, from, to);
        assert!(
            found.contains("error[P4R1401]: `I.t` cannot be `@hot`") && found.contains(why),
            "{name}: {found}"
        );
    }
}
