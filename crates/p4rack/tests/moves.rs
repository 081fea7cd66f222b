//! Flows that move while a rack runs, beside one device with the whole program: each packet has the same result, and counters have the same
//! counts. Random flows go to the switch and back at random times; messages to agents take up to 50 ms, and some are lost.

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use controller::Reply;
use dataplane_api::Device;
use device::trace::EventKind;
use device::{Options, Switch};
use device_control::{End, Side};
use ir::{MatchKind, Name, Program};
use p4rack::entries::Entries;
use p4rack::flows::FlowMove;
use p4rack::rack::Racked;
use p4rack::{pinned, rack, up};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use p4runtime_store::Store;
use rack_emulator::{DropReport, MoveReport, PinnedReport};
use rack_model::{DeviceId, HostId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

#[path = "../../ir-touch/tests/support/mod.rs"]
pub(crate) mod apps;

use apps::{APPS, compiled, flow, packet, small};

/// Hosts, at the ports of the switch with the same numbers.
pub(crate) const HOSTS: u32 = 4;

/// Tables that are copied whole: those whose entries have counters, and others, which are copied by entry in some racks.
const WHOLE: [(&str, &[&str], &[&str]); 3] = [
    ("acl", &[], &["tenants", "rules", "routes"]),
    ("firewall", &["sources"], &["sides", "routes"]),
    ("nat", &[], &["routes", "tenants"]),
];

/// Time in which packets come and flows move.
const RUN: Duration = Duration::from_ms(400);

/// Messages to agents, and answers, get lost once the rack is up.
const LOSSES: &str = "[[fault]]\nkind = \"control-loss\"\nshare = \"5%\"\nat = \"0s\"\n";

/// A switch with hosts and two helpers, and an app with pinned flows.
pub(crate) fn text(app: usize, flows: u32, rng: &mut Rng) -> String {
    devices(rng) + &app_text(app, flows, "", rng)
}

/// A switch with hosts and two helpers.
pub(crate) fn devices(rng: &mut Rng) -> String {
    let mut text = format!(
        "[rack]\nseed = {}\nuntil = \"30s\"\n[control]\ndelay = \"{}us\"\n{}",
        rng.below(1 << 30),
        1 + rng.below(50_000),
        ["", LOSSES][rng.index(2)],
    );
    text += "[device.edge]\nclass = \"switch\"\n[device.nic1]\nclass = \"smartnic\"\n[device.nic2]\nclass = \"smartnic\"\n";
    for host in 0..HOSTS {
        text += &format!(
            "[host.h{host}]\nmac = \"02:00:00:00:00:{host:02}\"\nip = \"10.0.{host}.1/24\"\n\
             [[link]]\nends = [\"h{host}\", \"edge:{host}\"]\nrate = \"1Gbit/s\"\ndelay = \"1us\"\npad = false\n"
        );
    }
    for helper in [1, 2] {
        text += &format!(
            "[[link]]\nends = [\"nic{helper}:1\", \"edge:{}\"]\nrate = \"10Gbit/s\"\ndelay = \"{}us\"\nmtu = 2000\npad = false\n",
            HOSTS + helper,
            rng.below(20)
        );
    }
    text
}

/// An app whose flows are pinned; `more` are further keys of it.
pub(crate) fn app_text(app: usize, flows: u32, more: &str, rng: &mut Rng) -> String {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    let (name, _) = APPS[app];
    let mut text = format!(
        "[[app]]\nname = \"{name}\"\nprogram = \"{}\"\norigin = \"edge\"\ndevices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = {flows}\norder = \"any\"\nshard_key = [[\"hdr.ipv4.src\", \"hdr.ipv4.dst\"]]\n{more}",
        apps.join(format!("{name}.p4")).display()
    );
    if rng.chance(1, 2) {
        text += "promote = \"auto\"\nwindow = \"20ms\"\nidle = \"100ms\"\n";
    }
    let (_, counted, others) = WHOLE.iter().find(|(known, ..)| *known == name).expect("it is listed");
    counted.iter().for_each(|table| text += &format!("[app.objects.{table}]\nresident = \"all\"\n"));
    for table in others.iter() {
        // By entry, the copy has room for some more entries than there are flows.
        let resident = if rng.chance(1, 2) { "\"all\"" } else { "12" };
        text += &format!("[app.objects.{table}]\nresident = {resident}\n");
    }
    text
}

/// The rack of this text. Programs like those of an earlier one are not compiled again.
pub(crate) fn load(text: &str, name: &str) -> Racked {
    let directory = std::env::temp_dir().join(format!("p4rack-moves-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("RACK.toml");
    std::fs::write(&path, text).expect("a file");
    let racked = rack::load(&path, &[], &mut SourceMap::new());
    std::fs::remove_dir_all(&directory).expect("it was there");
    let racked = racked.unwrap_or_else(|found| panic!("{found:#?}"));
    crate::support::sharing_codes(racked)
}

/// Random entries, each once, as P4Runtime has them.
pub(crate) fn entries(program: &Program, rng: &mut Rng) -> Vec<Write<Name>> {
    let mut found = BTreeMap::new();
    let tables: Vec<_> = program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t))).collect();
    let width = |ty: &ir::Type| program.bits(ty).expect("it has a width") as u32;
    for number in 1..=60 {
        let (control, table) = tables[rng.index(tables.len())];
        let matches = table.keys.iter().map(|key| {
            let width = width(&key.expr.ty);
            let value = small(rng, width);
            match key.match_kind {
                MatchKind::Lpm => Match::Lpm { value, prefix_len: width },
                MatchKind::Ternary if rng.chance(1, 2) => Match::Any,
                MatchKind::Ternary => Match::Ternary { mask: base_bits::Bits::ones(width), value },
                MatchKind::Range => Match::Range { lo: base_bits::Bits::new(width, 0), hi: value },
                _ => Match::Exact(value),
            }
        });
        let matches: Vec<Match> = matches.collect();
        let is_ordered = |key: &ir::TableKey| matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range);
        // No two entries are equal in rank: which of them wins is not said.
        let priority = if table.keys.iter().any(is_ordered) { number } else { 0 };
        let run = &table.actions[rng.index(table.actions.len())];
        let action = &control.actions[run.action.index()];
        let args =
            action.params.iter().map(|param| small(rng, width(&control.vars[param.index()].ty))).collect();
        let call = ActionCall { action: action.control_plane_name.clone(), args };
        let key = EntryKey { matches: matches.into(), priority };
        found.insert((table.control_plane_name.clone(), key), Entry::new(Run::Action(call)));
    }
    let made = found.into_iter().map(|((table, key), entry)| Write::Entry {
        table,
        key,
        to: Some(Box::new(entry)),
        count: None,
    });
    made.collect()
}

/// Adds entries that a packet hits.
pub(crate) fn looked_up(
    program: &Arc<Program>,
    (port, frame): (u32, &[u8]),
    alone: &mut Switch,
    writes: &mut Vec<Write<Name>>,
    rng: &mut Rng,
) {
    let mut probe = ir_interp::switch(Arc::clone(program), Options::default()).expect("it runs");
    writes.iter().for_each(|write| probe.write(write, Time::ZERO).expect("the other one could"));
    probe.set_trace(true);
    probe.process(port, frame, Time::ZERO);
    let width = |ty: &ir::Type| program.bits(ty).expect("it has a width") as u32;
    for event in probe.take_trace() {
        let EventKind::Table { table: name, keys, .. } = event.kind else { continue };
        let tables = program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t)));
        let mut named = tables.filter(|(_, table)| table.control_plane_name == name);
        let (control, table) = named.next().expect("the program has it");
        let is_exact = table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
        if !is_exact || table.keys.is_empty() || rng.chance(1, 4) {
            continue;
        }
        let matches: Vec<Match> =
            keys.into_iter().filter_map(|key| key.value.bits().cloned()).map(Match::Exact).collect();
        let key = EntryKey { matches: matches.into(), priority: 0 };
        let is_key = |write: &Write<Name>| matches!(write, Write::Entry { table, key: known, .. } if *table == name && *known == key);
        if writes.iter().any(is_key) {
            continue;
        }
        let run = &table.actions[rng.index(table.actions.len())];
        let action = &control.actions[run.action.index()];
        let args =
            action.params.iter().map(|param| small(rng, width(&control.vars[param.index()].ty))).collect();
        let call = ActionCall { action: action.control_plane_name.clone(), args };
        let to = Some(Box::new(Entry::new(Run::Action(call))));
        let write = Write::Entry { table: name, key, to, count: None };
        if alone.write(&write, Time::ZERO).is_ok() {
            writes.push(write);
        }
    }
}

struct Outcome {
    packets: usize,
    pinned: PinnedReport,
    log: String,
}

/// A rack in which flows move, beside one device. Something that differs is an error.
fn trial(app: usize, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split(APPS[app].0);
    let flows = 2 + rng.below(8) as u32;
    let mut racked = load(&text(app, flows, &mut rng), &format!("{}-{seed}", APPS[app].0));
    let unpinned = racked.apps[0].pinned[0].unpinned.clone();
    let whole = Arc::new(compiled(APPS[app].1));
    let mut alone = ir_interp::switch(Arc::clone(&whole), Options::default()).expect("it runs");
    let mut writes = entries(&whole, &mut rng);
    writes.retain(|write| alone.write(write, Time::ZERO).is_ok());
    let mut known = vec![];
    while known.len() < 20 {
        let (port, frame) = (rng.below(HOSTS.into()) as u32, packet(&mut rng));
        known.push((port, frame));
    }
    for (port, frame) in &known {
        looked_up(&whole, (*port, frame), &mut alone, &mut writes, &mut rng);
    }
    let copied = racked.apps[0].pinned[0].pinned.clone();
    racked.apps[0].entries = pinned::with_copies(Entries::of(writes.clone()), &copied);
    racked.apps[0].pinned[0].unpinned.fill(&writes, &copied);
    let flow_of = |port: u32, frame: &[u8]| {
        let mut probe = ir_interp::switch(Arc::clone(&whole), Options::default()).expect("it runs");
        probe.set_trace(true);
        probe.process(port, frame, Time::ZERO);
        flow(&unpinned.keys, port, &probe.take_trace())
    };
    let flows: Vec<_> = known.iter().map(|(port, frame)| flow_of(*port, frame)).collect();
    let moment = |rng: &mut Rng| Time::ZERO + Duration::from_us(rng.below(RUN.as_ps() / 1_000_000));
    let name = racked.rack.apps[0].name.value.clone();
    let moves = (0..60).map(|_| FlowMove {
        app: name.clone(),
        at: moment(&mut rng),
        flow: flows[rng.index(flows.len())].clone(),
        to: if rng.chance(2, 3) { Side::Switch } else { Side::Helper },
    });
    racked.moves = moves.collect();
    let mut running = up::bring_up(&racked).map_err(|found| format!("{found:#?}"))?;
    let mut wanted: BTreeMap<(u32, Vec<u8>), i64> = BTreeMap::new();
    let mut sent: Vec<(Time, u32, Vec<u8>)> = vec![];
    for number in 0..500u32 {
        let (port, mut frame) = known[rng.index(known.len())].clone();
        if frame.len() == 64 {
            frame[60..].copy_from_slice(&number.to_be_bytes());
        }
        sent.push((moment(&mut rng), port, frame));
    }
    sent.sort();
    for (at, port, frame) in &sent {
        running.emulator.send(HostId(*port), frame.clone(), *at);
        for output in alone.process(*port, frame, *at) {
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
    // Packets inside a device that is repaired are lost.
    let by_program = |drop: &&DropReport| drop.reason == "dropped in ingress";
    let lost: u64 = report.drops.iter().filter(|drop| !by_program(drop)).map(|drop| drop.packets).sum();
    let missing: i64 = wanted.values().filter(|count| **count > 0).sum();
    let wrong = wanted.iter().find(|(_, count)| **count < 0 || missing > lost as i64 && **count > 0);
    if let Some(((port, frame), count)) = wrong {
        return Err(format!("{count} frames at port {port} are missing, {lost} were lost: {frame:02x?}"));
    }
    let of = |state: &BTreeMap<String, Vec<u8>>, name: &Name| {
        state.get(name.as_str()).cloned().unwrap_or_default()
    };
    let states: Vec<_> =
        (0..3).filter_map(|device| Some(running.emulator.device(DeviceId(device))?.state())).collect();
    let counted = alone.state();
    // A device whose answer is lost is repaired, and what it counts meanwhile is lost.
    for copy in copied.objects.iter().filter(|_| racked.rack.faults.is_empty()) {
        let all = states.iter().flat_map(|state| [of(state, &copy.original), of(state, &copy.resident)]);
        let sum = all.fold(vec![], |sum, one| device::add_counts(&sum, &one));
        if sum != device::add_counts(&of(&counted, &copy.original), &[]) {
            let wanted = of(&counted, &copy.original);
            return Err(format!("`{}` has other counts: {sum:02x?}, wanted {wanted:02x?}", copy.original));
        }
    }
    let [pinned] = report.pinned.as_slice() else { return Err("no app is pinned".to_string()) };
    Ok(Outcome { packets: sent.len(), pinned: pinned.clone(), log: report.log_hash })
}

fn count(moves: &[MoveReport], result: &str) -> usize {
    moves.iter().filter(|one| one.result.starts_with(result)).count()
}

#[test]
fn packets_have_the_results_of_one_device_while_flows_move() {
    let seeds = features::seeds(1, 150);
    let count_of = seeds.end - seeds.start;
    for (app, (name, _)) in APPS.iter().enumerate() {
        let (mut packets, mut at_switch, mut done, mut undone, mut refused, mut full) = (0, 0, 0, 0, 0, 0);
        let mut at_helpers = BTreeMap::from(["nic1", "nic2"].map(|helper| (helper.to_string(), 0)));
        for seed in seeds.clone() {
            let outcome = trial(app, seed).unwrap_or_else(|why| panic!("{name}, seed {seed}: {why}"));
            let moves = &outcome.pinned.moves;
            assert_eq!(moves.len(), 60);
            packets += outcome.packets;
            at_switch += outcome.pinned.at_switch;
            outcome.pinned.helpers.iter().for_each(|(helper, packets)| {
                *at_helpers.entry(helper.clone()).or_default() += packets;
            });
            done += count(moves, "done");
            undone += count(moves, "undone");
            full += count(moves, "undone: the switch is full");
            refused += count(moves, "refused");
            let ended = count(moves, "done") + count(moves, "undone") + count(moves, "refused");
            assert_eq!(ended, 60, "{name}, seed {seed}: {moves:#?}");
        }
        println!(
            "{name}: {packets} packets, {at_switch} at the switch, {at_helpers:?}, {done} moves done, {undone} undone, {refused} refused, full {full} times"
        );
        assert!(
            at_switch > 20 * count_of && done > 5 * count_of as usize && full > 0,
            "{name} does too little"
        );
        assert!(
            at_helpers.values().all(|packets| *packets > 20 * count_of),
            "{name}: flows are at one helper: {at_helpers:?}"
        );
    }
}

#[test]
fn the_same_seed_moves_the_same() {
    let [one, other] = [(); 2].map(|()| trial(1, 7).unwrap_or_else(|why| panic!("{why}")));
    assert_eq!((one.log, one.pinned), (other.log, other.pinned));
}

/// Steps of a promotion that a device refuses: when they are tried again, in milliseconds, and how the move ends.
fn refused_again(code: Code) -> (Vec<u64>, Option<End>) {
    let racked = load(&text(1, 8, &mut Rng::new(5)), &format!("again-{}", code as i32));
    let mut flows = p4rack::flows::app_flows(&racked, 0).unwrap_or_else(|found| panic!("{found:#?}"));
    let app = &mut flows[0];
    let desired = Store::new(Arc::new(p4info::p4info(app.whole()).expect("it has a P4Info")));
    let flow: Vec<_> = app.parts().iter().map(|part| base_bits::Bits::zero(part.width)).collect();
    let mut now = Time::ZERO;
    app.moves_mut().ask(now, &flow, Side::Switch);
    let (mut waits, mut tries) = (vec![], 0);
    while tries < 20 {
        let calls = app.moves_mut().calls(now, &desired);
        for (ticket, _) in &calls {
            app.moves_mut().replied(now, *ticket, &Reply::Done(Err(Status::new(code, "no"))));
        }
        let Some(at) = app.moves().deadline() else { break };
        waits.push(at.since(now).as_ps() / 1_000_000_000);
        (now, tries) = (at, tries + 1);
    }
    (waits, app.take_ended().pop().map(|moved| moved.end))
}

#[test]
fn a_device_that_refuses_is_asked_less_and_less() {
    let (waits, end) = refused_again(Code::Unavailable);
    assert_eq!(waits[..9], [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    assert_eq!((waits.len(), end), (20, None));
    let (waits, end) = refused_again(Code::InvalidArgument);
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000]);
    assert!(matches!(end, Some(End::Undone(_))), "{end:?}");
}
