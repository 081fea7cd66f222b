//! Flows of a running rack: operators move them, controllers write entries, and each packet has the result of one device with the whole program.

use crate::moves::apps::{APPS, bits, compiled, flow, packet, small};
use crate::moves::{HOSTS, entries, load, looked_up, text};
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, DefaultEntry, Match, Write};
use controller::{Ask, Call, DeviceId, Reply, Steer, Ticket};
use dataplane_api::{Device, Registry};
use device::{Options, Switch};
use device_control::{Channel, Direct, Event, Known, Maker, Passage, RackSwitch, Served, Splitter};
use ir::{Name, Program};
use ir_pin::Pinned;
use p4rack::entries::Entries;
use p4rack::rack::Racked;
use p4rack::{flows, pinned, replan};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, Uint128, Update, WriteRequest,
    stream_message_request::Update as Asked, update::Type,
};
use p4runtime_proto::p4rack::v1::PinnedApp;
use p4runtime_proto::p4rack::v1::steer_request::MoveFlow;
use p4runtime_server::{Ahead, Status, StreamId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Protocols of packets.
const PROTOCOLS: [u64; 3] = [6, 1, 17];

const ELECTION: Option<Uint128> = Some(Uint128 { high: 0, low: 1 });

/// A rack of one process with a controller, and a clock.
pub(crate) struct Rig<C: Channel> {
    pub(crate) rack: RackSwitch<C>,
    pub(crate) now: Time,
    tickets: u64,
    replies: BTreeMap<Ticket, Reply>,
    pub(crate) frames: Vec<(u32, Vec<u8>)>,
    /// Messages to the controller.
    pub(crate) sent: Vec<StreamMessageResponse>,
    /// Work for threads that has not been done.
    pub(crate) works: Vec<Ahead>,
    /// Changes that the switch has made by itself.
    pub(crate) reported: Vec<String>,
}

impl<C: Channel> Rig<C> {
    pub(crate) fn new(racked: &Racked, channel: C) -> Rig<C> {
        Rig::with_registry(racked, channel, netfn_registry::all())
    }

    /// The devices offer these externs.
    pub(crate) fn with_registry(racked: &Racked, channel: C, registry: Registry) -> Rig<C> {
        let app = &racked.apps[0];
        let known = Known::sharing(&racked.codes);
        for placed in racked.parts() {
            known.engine(placed.text, &placed.part.program, &registry).expect("it runs");
        }
        let maker = Maker { own: Some(Arc::clone(&app.whole)), known, ..Maker::new(1, registry) };
        let splitter = Splitter::new(maker, app.placement.clone());
        let splitter =
            splitter.with_parts(&app.whole, (app.parts.clone(), app.texts.clone())).expect("it is split");
        let flows = flows::app_flows(racked, 0).unwrap_or_else(|found| panic!("{found:#?}"));
        let resizing = replan::resizing_of(&racked.rack, app, &flows);
        let rack = RackSwitch::new(splitter, 1, 0, None, channel).with_flows(flows).planned_by(resizing);
        let (replies, frames, sent) = (BTreeMap::new(), vec![], vec![]);
        let (works, reported) = (vec![], vec![]);
        let mut rig = Rig { rack, now: Time::ZERO, tickets: 0, replies, frames, sent, works, reported };
        let updates = device_control::updates(app.entries.writes(), &app.whole).expect("P4Runtime has them");
        let started = rig.call(Call::Start(Box::default(), updates));
        assert_eq!(rig.wait_for(started), Ok(()));
        let update = MasterArbitrationUpdate { device_id: 1, election_id: ELECTION, ..Default::default() };
        rig.say(Asked::Arbitration(update));
        rig.sent.clear();
        rig
    }

    /// A message of the controller.
    pub(crate) fn say(&mut self, message: Asked) {
        let message = StreamMessageRequest { update: Some(message) };
        let events = self.rack.message(self.now, StreamId(1), &message);
        self.take(events);
    }

    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Reply(ticket, reply) => drop(self.replies.insert(ticket, reply)),
                Event::Frame(port, frame) => self.frames.push((port, frame)),
                Event::Send(_, message) => self.sent.push(message),
                _ => {}
            }
        }
        while self.rack.is_busy() {
            let events = self.rack.go_on(self.now);
            self.take(events);
        }
        self.works.extend(self.rack.take_work());
        self.reported.extend(self.rack.take_reported());
    }

    /// Threads do the work that there is.
    pub(crate) fn work(&mut self) {
        std::mem::take(&mut self.works).into_iter().for_each(|work| work());
        let events = self.rack.tick(self.now);
        self.take(events);
    }

    pub(crate) fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let events = self.rack.call(self.now, Ticket(self.tickets), call);
        self.take(events);
        Ticket(self.tickets)
    }

    /// A device starts anew.
    pub(crate) fn restart(&mut self, device: usize) {
        let events = self.rack.restart(self.now, device);
        self.take(events);
    }

    /// Time passes until something is due, at most this long.
    pub(crate) fn pass(&mut self, most: Duration) {
        let due = self.rack.deadline().unwrap_or(self.now + most);
        self.now = due.max(self.now).min(self.now + most);
        let events = self.rack.tick(self.now);
        self.take(events);
    }

    pub(crate) fn is_over(&self, ticket: Ticket) -> bool {
        self.replies.contains_key(&ticket)
    }

    pub(crate) fn wait_for(&mut self, ticket: Ticket) -> Result<(), Status> {
        for _ in 0..100_000 {
            match self.replies.remove(&ticket) {
                Some(Reply::Done(how)) => return how,
                Some(other) => panic!("{other:?}"),
                None => self.pass(Duration::from_s(60)),
            }
        }
        panic!("no reply");
    }

    pub(crate) fn done(&mut self, call: Call) -> Result<(), Status> {
        let ticket = self.call(call);
        self.wait_for(ticket)
    }

    /// Frames that leave when a frame comes.
    pub(crate) fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let events = self.rack.frame(self.now, port, frame);
        self.take(events);
        let mut left = std::mem::take(&mut self.frames);
        left.retain(|(port, _)| *port < HOSTS);
        left
    }

    pub(crate) fn app(&self) -> PinnedApp {
        let mut apps = self.rack.show().pinned_apps;
        assert_eq!(apps.len(), 1);
        apps.remove(0)
    }

    pub(crate) fn metric(&mut self, name: &str) -> u64 {
        let all = self.rack.metrics();
        all.iter().filter(|metric| metric.name == name).map(|metric| metric.value).sum()
    }
}

pub(crate) fn move_flow(app: &str, key: BTreeMap<String, String>, to_switch: bool) -> Call {
    Call::Steer(None, Steer::MoveFlow(MoveFlow { app: app.to_string(), key, to_switch }))
}

pub(crate) fn write(updates: Vec<Update>, atomicity: Atomicity) -> Call {
    let request = WriteRequest {
        device_id: 1,
        election_id: ELECTION,
        updates,
        atomicity: atomicity.into(),
        ..WriteRequest::default()
    };
    Call::Write(Box::new(request))
}

/// Loses some of the writes to agents, or their answers, once it has a source of chance.
#[derive(Default)]
struct Lossy(Option<Rng>);

impl Channel for Lossy {
    fn pass(&mut self, _: DeviceId, ask: &Ask) -> Passage {
        match (ask, self.0.as_mut().map(|rng| rng.below(20))) {
            (Ask::Write(_), Some(0)) => Passage::AskLost,
            (Ask::Write(_), Some(1)) => Passage::AnswerLost,
            _ => Passage::Through,
        }
    }
}

/// A rack with random entries, packets, and their flows.
pub(crate) struct Scene {
    pub(crate) racked: Racked,
    pub(crate) whole: Arc<Program>,
    pub(crate) there: Vec<Write<Name>>,
    pub(crate) known: Vec<(u32, Vec<u8>)>,
    pub(crate) keys: Vec<BTreeMap<String, String>>,
    pub(crate) name: String,
}

impl Scene {
    pub(crate) fn new(app: usize, seed: u64, rng: &mut Rng) -> Scene {
        let text = text(app, 4 + rng.below(8) as u32, rng);
        Scene::of(app, load(&text, &format!("running-{}-{seed}", APPS[app].0)), rng)
    }

    /// The rack has no other app.
    pub(crate) fn of(app: usize, racked: Racked, rng: &mut Rng) -> Scene {
        Scene::of_program(compiled(APPS[app].1), racked, rng)
    }

    /// The NAT with value sets of the protocols that have the ports of TCP, by which a packet is of one flow or another, and of those whose ports
    /// change places.
    fn with_value_set(seed: u64, rng: &mut Rng) -> Scene {
        let (name, source) = APPS[2];
        let states = "value_set<bit<8>>(4) streams;
            value_set<bit<8>>(4) swapped;
            state start {
                packet.extract(hdr.ethernet);
                transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
            }
            state ipv4 {
                packet.extract(hdr.ipv4);
                transition select(hdr.ipv4.protocol) { streams: tcp; swapped: back; PROTO_UDP: udp; default: accept; }
            }
            state back {
                packet.extract(hdr.udp);
                meta.l4.src = hdr.udp.dst;
                meta.l4.dst = hdr.udp.src;
                transition accept;
            }
            state tcp {
                packet.extract(hdr.tcp);
                meta.l4.src = hdr.tcp.src;
                meta.l4.dst = hdr.tcp.dst;
                transition accept;
            }
            state udp {
                packet.extract(hdr.udp);
                meta.l4.src = hdr.udp.src;
                meta.l4.dst = hdr.udp.dst;
                transition accept;
            }";
        let source = source.replace("PARSE_L4(meta.l4)", states);
        let directory = std::env::temp_dir().join(format!("p4rack-streams-{seed}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("streams.p4");
        std::fs::write(&path, &source).expect("a file");
        let headers = "../../examples/apps/headers.p4";
        std::fs::copy(headers, directory.join("headers.p4")).expect("another");
        let text = text(2, 4 + rng.below(8) as u32, rng);
        let (before, after) = text.split_once("program = \"").expect("the rack has a program");
        let (_, after) = after.split_once('"').expect("it ends");
        let text = format!("{before}program = \"{}\"{after}", path.display());
        let racked = load(&text, &format!("running-{name}-streams-{seed}"));
        std::fs::remove_dir_all(&directory).expect("it was there");
        Scene::of_program(compiled(&source), racked, rng)
    }

    fn of_program(whole: Program, mut racked: Racked, rng: &mut Rng) -> Scene {
        let whole = Arc::new(whole);
        let interpreter = || ir_interp::switch(Arc::clone(&whole), Options::default()).expect("it runs");
        let mut alone = interpreter();
        let mut there = entries(&whole, rng);
        there.retain(|write| alone.write(write, Time::ZERO).is_ok());
        let known: Vec<(u32, Vec<u8>)> =
            (0..20).map(|_| (rng.below(HOSTS.into()) as u32, packet(rng))).collect();
        for (port, frame) in &known {
            looked_up(&whole, (*port, frame), &mut alone, &mut there, rng);
        }
        let copied = racked.apps[0].pinned[0].pinned.clone();
        racked.apps[0].entries = pinned::with_copies(Entries::of(there.clone()), &copied);
        let unpinned = &mut racked.apps[0].pinned[0].unpinned;
        unpinned.fill(&there, &copied);
        let keys = unpinned.keys.clone();
        let flow_of = |(port, frame): &(u32, Vec<u8>), sets: Option<&Write<Name>>| {
            let mut probe = interpreter();
            sets.into_iter().for_each(|set| probe.write(set, Time::ZERO).expect("the program has it"));
            probe.set_trace(true);
            probe.process(*port, frame, Time::ZERO);
            let parts = keys.key.parts.iter().zip(flow(&keys, *port, &probe.take_trace()));
            parts.map(|(part, value)| (part.name.to_string(), value.to_biguint().to_string())).collect()
        };
        // A packet is of one flow while its protocol is in the value set, and of another one while it is not.
        let full = value_sets(&whole).first().map(|set| with_members(set, PROTOCOLS.to_vec()));
        let all_sets = [None].into_iter().chain(full.as_ref().map(Some));
        let keys = all_sets.flat_map(|sets| known.iter().map(move |packet| flow_of(packet, sets)));
        let keys = keys.collect();
        let name = racked.rack.apps[0].name.value.clone();
        Scene { racked, whole, there, known, keys, name }
    }

    /// One device with the program and its entries.
    pub(crate) fn alone(&self) -> Switch {
        one_device(&self.whole, &self.there)
    }
}

pub(crate) fn one_device(whole: &Arc<Program>, there: &[Write<Name>]) -> Switch {
    let mut alone = ir_interp::switch(Arc::clone(whole), Options::default()).expect("it runs");
    there.iter().for_each(|write| alone.write(write, Time::ZERO).expect("it could before"));
    alone
}

/// Frames that leave one device.
pub(crate) fn of(alone: &mut Switch, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let left = alone.process(port, frame, Time::ZERO).into_iter().map(|out| (out.port, out.frame));
    left.filter(|(port, _)| *port < HOSTS).collect()
}

/// A change of one entry of the program's tables.
pub(crate) fn change(
    program: &Program,
    there: &[Write<Name>],
    number: i64,
    rng: &mut Rng,
) -> (Write<Name>, Type) {
    let Some(Write::Entry { table, mut key, to, count }) = entries(program, rng).pop() else {
        unreachable!()
    };
    if key.priority > 0 {
        key.priority = 1000 + number;
    }
    let is_known = |write: &&Write<Name>| matches!(write, Write::Entry { table: t, key: k, .. } if *t == table && *k == key);
    let known = there.iter().find(is_known).cloned();
    let some = (!there.is_empty() && rng.chance(1, 2)).then(|| there[rng.index(there.len())].clone());
    match (known, some) {
        (None, None) => (Write::Entry { table, key, to, count }, Type::Insert),
        (Some(_), _) if rng.chance(1, 2) => (Write::Entry { table, key, to, count }, Type::Modify),
        (_, Some(other)) | (Some(other), None) => {
            let Write::Entry { table, key, .. } = other else { unreachable!() };
            (Write::Entry { table, key, to: None, count }, Type::Delete)
        }
    }
}

/// Changes of a request, each with the kind of its update.
pub(crate) type Changes = Vec<(Write<Name>, Type)>;

/// The changes of a request, which `after` does: of an entry or a default entry, or of several.
pub(crate) fn changes(
    program: &Program,
    there: &[Write<Name>],
    after: &mut Switch,
    number: i64,
    rng: &mut Rng,
) -> Changes {
    let count = if rng.chance(1, 3) { 2 + rng.below(4) as i64 } else { 1 };
    let (mut there, mut all) = (there.to_vec(), vec![]);
    for at in 0..count {
        let (write, kind) = match rng.chance(1, 4) {
            true => (default_entry(program, rng), Type::Modify),
            false => {
                let entries = there.iter().filter(|write| matches!(write, Write::Entry { .. }));
                change(program, &entries.cloned().collect::<Vec<_>>(), 10 * number + at, rng)
            }
        };
        let sets = value_sets(program);
        let (write, kind) = match sets.is_empty() || rng.chance(2, 3) {
            true => (write, kind),
            false => {
                let members = PROTOCOLS.into_iter().filter(|_| rng.chance(1, 2)).collect();
                (with_members(sets[rng.index(sets.len())], members), Type::Modify)
            }
        };
        let is_written = all.iter().any(|(known, _)| is_of_one_entry(known, &write));
        if !is_written && after.write(&write, Time::ZERO).is_ok() {
            note(&write, &mut there);
            all.push((write, kind));
        }
    }
    all
}

/// A random default entry of a table, or that of the program again.
fn default_entry(program: &Program, rng: &mut Rng) -> Write<Name> {
    let all = program.controls.iter().flat_map(|control| control.tables.iter().map(move |t| (control, t)));
    let all: Vec<_> = all.collect();
    let (control, table) = all[rng.index(all.len())];
    let action = &control.actions[table.actions[rng.index(table.actions.len())].action.index()];
    let width = |var: &ir::VarId| program.bits(&control.vars[var.index()].ty).expect("it has a width") as u32;
    let args = action.params.iter().map(|param| small(rng, width(param))).collect();
    let call = ActionCall { action: action.control_plane_name.clone(), args };
    let to = DefaultEntry { call: rng.chance(2, 3).then_some(call), ..DefaultEntry::default() };
    Write::Default { table: table.control_plane_name.clone(), to: Box::new(to), count: None }
}

fn value_sets(program: &Program) -> Vec<&ir::ValueSet> {
    program.parsers.iter().flat_map(|parser| &parser.value_sets).collect()
}

fn with_members(set: &ir::ValueSet, protocols: Vec<u64>) -> Write<Name> {
    let members = protocols.into_iter().map(|protocol| vec![Match::Exact(bits(8, protocol))]).collect();
    Write::ValueSet { set: set.control_plane_name.clone(), members }
}

fn is_of_one_entry(a: &Write<Name>, b: &Write<Name>) -> bool {
    match (a, b) {
        (Write::Entry { table, key, .. }, Write::Entry { table: other, key: known, .. }) => {
            (table, key) == (other, known)
        }
        (Write::Default { table, .. }, Write::Default { table: other, .. }) => table == other,
        (Write::ValueSet { set, .. }, Write::ValueSet { set: other, .. }) => set == other,
        _ => false,
    }
}

/// A request with these changes, of which no packet sees a part.
pub(crate) fn request(
    program: &Program,
    changes: &[(Write<Name>, Type)],
    there: &[Write<Name>],
    rng: &mut Rng,
) -> Call {
    let updates = changes.iter().map(|(write, kind)| update(program, write, *kind, there)).collect();
    let how = [Atomicity::ContinueOnError, Atomicity::RollbackOnError, Atomicity::DataplaneAtomic];
    let how = if changes.len() > 1 { Atomicity::DataplaneAtomic } else { how[rng.index(3)] };
    write(updates, how)
}

pub(crate) fn update(program: &Program, write: &Write<Name>, kind: Type, there: &[Write<Name>]) -> Update {
    let mut write = write.clone();
    if let Write::Entry { table, key, to: to @ None, .. } = &mut write {
        let same = there.iter().find_map(|known| match known {
            Write::Entry { table: t, key: k, to, .. } if t == table && k == key => to.clone(),
            _ => None,
        });
        *to = same;
    }
    let mut updates = device_control::updates(&[write], program).expect("P4Runtime has it");
    updates[0].set_type(kind);
    updates.remove(0)
}

#[derive(Default, Debug)]
struct Outcome {
    /// Packets of which it is known where they were processed, and those at the switch among them.
    looked: u64,
    at_switch: u64,
    moved: u64,
    refused: u64,
    writes: u64,
    /// Requests of several changes among these.
    at_once: u64,
    /// Requests that failed.
    failed: u64,
    packets: u64,
    /// Hand-overs to each helper.
    at_helpers: [u64; 2],
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.looked += other.looked;
        self.at_switch += other.at_switch;
        self.moved += other.moved;
        self.refused += other.refused;
        self.writes += other.writes;
        self.at_once += other.at_once;
        self.failed += other.failed;
        self.packets += other.packets;
        (0..2).for_each(|helper| self.at_helpers[helper] += other.at_helpers[helper]);
    }
}

/// A rack with moves and writes at random moments, beside one device.
fn trial<C: Channel>(
    title: &str,
    make: impl FnOnce(&mut Rng) -> Scene,
    seed: u64,
    channel: C,
    lose: impl FnOnce(&mut C),
    is_exact: bool,
) -> Outcome {
    let mut rng = Rng::new(seed).split(title);
    let scene = make(&mut rng);
    let (mut before, mut after) = (scene.alone(), scene.alone());
    let mut rig = Rig::new(&scene.racked, channel);
    lose(&mut rig.rack.channel);
    let copied = scene.racked.apps[0].pinned[0].pinned.clone();
    let Scene { racked, whole, mut there, known, keys, name } = scene;
    let mut outcome = Outcome::default();
    let mut moves = vec![];
    // The write under way: its ticket, what it does, and what there is after it.
    let mut writing: Option<(Ticket, Changes)> = None;
    // Frames that came while all frames waited.
    let mut waiting: Vec<(u32, Vec<u8>)> = vec![];
    for step in 0..600i64 {
        match rng.below(10) {
            0 | 1 => {
                let key = keys[rng.index(keys.len())].clone();
                moves.push(rig.call(move_flow(&name, key, rng.chance(2, 3))));
            }
            2 if writing.is_none() => {
                let changed = changes(&whole, &there, &mut after, step, &mut rng);
                if !changed.is_empty() {
                    let request = request(&racked.apps[0].whole, &changed, &there, &mut rng);
                    writing = Some((rig.call(request), changed));
                }
            }
            3 => rig.pass(Duration::from_ms(1 + rng.below(30))),
            _ => {
                let (port, frame) = known[rng.index(known.len())].clone();
                // Metrics take long.
                let hops = (step % 8 == 0).then(|| rig.metric("hand_overs_total"));
                let left = rig.frame(port, &frame);
                if let Some(hops) = hops {
                    outcome.at_switch += u64::from(rig.metric("hand_overs_total") == hops);
                    outcome.looked += 1;
                }
                if left.is_empty() && rig.metric("frames_held") > 0 {
                    waiting.push((port, frame));
                    continue;
                }
                outcome.packets += 1;
                let wanted = [of(&mut before, port, &frame), of(&mut after, port, &frame)];
                assert!(
                    wanted.contains(&left),
                    "{} seed {seed} step {step}: {left:02x?}\nwanted {wanted:02x?}",
                    title
                );
            }
        }
        if !waiting.is_empty() && rig.metric("frames_held") == 0 {
            let waited = std::mem::take(&mut waiting);
            let mut left = std::mem::take(&mut rig.frames);
            left.retain(|(port, _)| *port < HOSTS);
            let wanted = [&mut before, &mut after].map(|alone| {
                waited.iter().flat_map(|(port, frame)| of(alone, *port, frame)).collect::<Vec<_>>()
            });
            assert!(wanted.contains(&left), "{} seed {seed} step {step}: {left:02x?}", title);
            outcome.packets += waited.len() as u64;
        }
        let is_last = step == 599;
        if let Some((ticket, changed)) = writing.take_if(|(ticket, _)| is_last || rig.is_over(*ticket)) {
            match rig.wait_for(ticket) {
                Ok(()) => {
                    outcome.writes += 1;
                    outcome.at_once += u64::from(changed.len() > 1);
                    apply(&changed, &mut before, &mut there);
                }
                // A message was lost, or a device is being repaired: nothing is done.
                Err(status) => {
                    let codes = [Code::Unavailable, Code::Unknown, Code::Aborted];
                    assert!(!is_exact && codes.contains(&status.code), "{status:?}");
                    outcome.failed += 1;
                    after = one_device(&whole, &there);
                }
            }
        }
    }
    for ticket in moves {
        match rig.wait_for(ticket) {
            Ok(()) => outcome.moved += 1,
            Err(status) => {
                assert!([Code::Aborted, Code::FailedPrecondition].contains(&status.code), "{status:?}");
                outcome.refused += 1;
            }
        }
    }
    for (count, helper) in outcome.at_helpers.iter_mut().zip(rig.rack.devices().skip(1)) {
        *count = helper.switch().counters().received;
    }
    if is_exact {
        let states: Vec<_> = rig.rack.devices().map(|target| target.switch().state()).collect();
        let wanted = before.state();
        for copy in &copied.objects {
            let all = states
                .iter()
                .flat_map(|state| [&copy.original, &copy.resident].map(|name| state.get(name.as_str())));
            let sum = all.flatten().fold(vec![], |sum, one| device::add_counts(&sum, one));
            let wanted = device::add_counts(&wanted[copy.original.as_str()], &[]);
            assert_eq!(sum, wanted, "{} seed {seed}: counts of `{}`", title, copy.original);
        }
    }
    nothing_is_left(&mut rig, &copied, (&name, keys), &format!("{title} seed {seed}"));
    outcome
}

/// The app's flows leave the switch, and nothing of them is left there.
pub(crate) fn nothing_is_left<C: Channel>(
    rig: &mut Rig<C>,
    copied: &Pinned,
    (app, keys): (&str, Vec<BTreeMap<String, String>>),
    title: &str,
) {
    for key in keys {
        let _ = rig.done(move_flow(app, key, false));
    }
    for _ in 0..100_000 {
        let shown = rig.app();
        if shown.resident + shown.moving == 0 {
            break;
        }
        rig.pass(Duration::from_ms(1000));
    }
    let shown = rig.app();
    assert_eq!((shown.resident, shown.moving), (0, 0), "{title}: {shown:?}");
    let by_entry = copied.tables.iter().filter(|copy| !copied.whole.contains(&copy.original));
    for table in by_entry.map(|copy| &copy.resident).chain(&copied.flow_manager) {
        for device in rig.rack.devices() {
            let left = device.switch().table_entries(table).unwrap_or_default();
            assert!(left.is_empty(), "{title}: `{table}` has {left:?}");
        }
    }
}

/// The changes are done.
pub(crate) fn apply(changed: &[(Write<Name>, Type)], before: &mut Switch, there: &mut Vec<Write<Name>>) {
    for (write, _) in changed {
        before.write(write, Time::ZERO).expect("the other one could");
        note(write, there);
    }
}

fn note(write: &Write<Name>, there: &mut Vec<Write<Name>>) {
    there.retain(|known| !is_of_one_entry(known, write));
    if !matches!(write, Write::Entry { to: None, .. }) {
        there.push(write.clone());
    }
}

#[test]
fn packets_have_the_results_of_one_device_while_flows_move_and_controllers_write() {
    for (app, (name, _)) in APPS.iter().enumerate() {
        trials(name, |seed, rng| Scene::new(app, seed, rng));
    }
}

#[test]
fn packets_have_the_results_of_one_device_while_flows_move_and_value_sets_change() {
    trials("streams", Scene::with_value_set);
}

fn trials(title: &str, make: impl Fn(u64, &mut Rng) -> Scene) {
    let mut sum = Outcome::default();
    for seed in features::seeds(2, 100) {
        sum.add(trial(title, |rng| make(seed, rng), seed, Direct, |_| (), true));
        let lose = |channel: &mut Lossy| channel.0 = Some(Rng::new(seed));
        sum.add(trial(title, |rng| make(seed, rng), seed, Lossy::default(), lose, false));
    }
    println!("{title}: {sum:?}");
    assert!(sum.at_switch * 10 > sum.looked && sum.moved > 100 && sum.writes > 50, "{title}: {sum:?}");
    assert!(sum.at_once > 10, "{title}: {sum:?}");
    assert!(sum.at_helpers.iter().all(|packets| packets * 10 > sum.packets), "{title}: {sum:?}");
}

/// A rack of the firewall, one device, and a packet of a flow at a helper that leaves, with its place among the known ones.
fn firewall() -> (Rig<Direct>, Scene, Switch, usize) {
    let mut rng = Rng::new(4);
    let scene = Scene::new(1, 1000, &mut rng);
    let (mut rig, mut alone) = (Rig::new(&scene.racked, Direct), scene.alone());
    let goes = |at: &usize| {
        let (port, frame) = &scene.known[*at];
        !of(&mut alone, *port, frame).is_empty() && !rig.frame(*port, frame).is_empty() && {
            let hops = rig.metric("hand_overs_total");
            rig.frame(*port, frame);
            rig.metric("hand_overs_total") > hops
        }
    };
    let at = (0..scene.known.len()).find(goes).expect("one of them leaves");
    let alone = scene.alone();
    (rig, scene, alone, at)
}

fn is_at_switch(rig: &mut Rig<Direct>, (port, frame): &(u32, Vec<u8>)) -> bool {
    let hops = rig.metric("hand_overs_total");
    rig.frame(*port, frame);
    rig.metric("hand_overs_total") == hops
}

#[test]
fn an_operator_moves_a_flow_and_sees_it() {
    let (mut rig, scene, _, at) = firewall();
    let (packet, key) = (&scene.known[at], scene.keys[at].clone());
    assert!(!is_at_switch(&mut rig, packet));
    assert_eq!(rig.done(move_flow(&scene.name, key.clone(), true)), Ok(()));
    assert!(is_at_switch(&mut rig, packet));
    let shown = rig.app();
    assert_eq!((shown.resident, shown.promoted, shown.demoted, shown.off.as_str()), (1, 1, 0, ""));
    let flow = &shown.flows[0];
    assert_eq!(flow.place, "switch");
    let shown_key: BTreeMap<String, String> =
        flow.key.iter().map(|part| (part.name.clone(), part.value.clone())).collect();
    // The shown key can be used in requests.
    assert_eq!(rig.done(move_flow(&scene.name, shown_key, false)), Ok(()));
    assert!(!is_at_switch(&mut rig, packet));
    assert_eq!(
        (rig.app().resident, rig.metric("flow_moves_total"), rig.metric("flows_at_switch")),
        (0, 2, 0)
    );
    let shards = rig.app().shards;
    assert!(shards.len() >= 2 && shards.iter().any(|shard| shard.device == "nic2"), "{shards:?}");
}

#[test]
fn moves_that_cannot_be_say_why() {
    let (mut rig, scene, _, at) = firewall();
    let mut refused = |app: &str, key: &[(&str, &str)], to_switch: bool| {
        let key = key.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let status = rig.done(move_flow(app, key, to_switch)).expect_err("it cannot be");
        format!("{:?}: {}", status.code, status.message)
    };
    let has = |reported: String, all: &[&str]| {
        assert!(all.iter().all(|part| reported.contains(part)), "{reported}")
    };
    has(refused("other", &[], true), &["NotFound", "no app `other`", &scene.name]);
    has(
        refused(&scene.name, &[("ipv4.sorc", "1")], true),
        &["InvalidArgument", "`ipv4.sorc` is no part", "hdr.ipv4.src"],
    );
    has(refused(&scene.name, &[("ingress_port", "512")], true), &["InvalidArgument", "it has 9 bits"]);
    has(refused(&scene.name, &[("ipv4.src", "everywhere")], true), &["not a value of `hdr.ipv4.src`"]);
    has(
        refused(&scene.name, &[("ipv4.src", "1.2.3.4")], false),
        &["FailedPrecondition", "not at the switch"],
    );
    // A controller that is not the primary may not.
    let flow = MoveFlow { app: scene.name.clone(), key: scene.keys[at].clone(), to_switch: true };
    let status =
        rig.done(Call::Steer(Some(Uint128 { high: 0, low: 7 }), Steer::MoveFlow(flow))).expect_err("no");
    assert_eq!(status.code, Code::PermissionDenied, "{status:?}");
    assert_eq!(rig.app().promoted, 0);
}

/// The table with this name, and an update of it.
fn named(scene: &Scene, name: &str) -> u32 {
    let info = p4info::p4info(&scene.racked.apps[0].whole).expect("it has one");
    let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
    tables.filter(|table| table.name.ends_with(name)).map(|table| table.id).next().expect("there is one")
}

#[test]
fn writes_that_flows_cannot_follow_are_refused_whole() {
    let (mut rig, scene, mut alone, at) = firewall();
    assert_eq!(rig.done(move_flow(&scene.name, scene.keys[at].clone(), true)), Ok(()));
    let whole = &scene.racked.apps[0].whole;
    let entry = scene.there.iter().find(|write| matches!(write, Write::Entry { table, .. } if table.ends_with("outbound") || table.ends_with("inbound")));
    let entry = entry.expect("there is one").clone();
    let good = update(whole, &entry, Type::Delete, &scene.there);
    let of_table = |id: u32| {
        let mut update = good.clone();
        if let Some(p4runtime_proto::p4::v1::entity::Entity::TableEntry(entry)) =
            update.entity.as_mut().and_then(|e| e.entity.as_mut())
        {
            entry.table_id = id;
        }
        update.set_type(Type::Modify);
        update
    };
    let mut reported = |updates: Vec<Update>, how: Atomicity| {
        let status = rig.done(write(updates, how)).expect_err("it cannot be");
        let codes: Vec<i32> = status.details.iter().map(|error| error.canonical_code).collect();
        (status.message, codes)
    };
    let own = of_table(named(&scene, "flow_manager"));
    let (why, codes) = reported(vec![good.clone(), own.clone()], Atomicity::RollbackOnError);
    assert!(why.contains("is written by moves of flows alone") && why.contains("ctl promote"), "{why}");
    assert_eq!(codes, [Code::Aborted as i32, Code::PermissionDenied as i32]);
    // The second deletion fails: neither is done.
    for how in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let (why, codes) = reported(vec![good.clone(), good.clone()], how);
        assert_eq!(codes, [Code::Aborted as i32, Code::NotFound as i32], "{why}");
    }
    let (port, frame) = &scene.known[at];
    assert_eq!(rig.frame(*port, frame), of(&mut alone, *port, frame));
    // One by one, the first is done.
    let mut reported = |updates: Vec<Update>, how: Atomicity| {
        let status = rig.done(write(updates, how)).expect_err("it cannot be");
        status.details.iter().map(|error| error.canonical_code).collect::<Vec<i32>>()
    };
    let codes = reported(vec![good.clone(), own, good.clone()], Atomicity::ContinueOnError);
    assert_eq!(codes, [0, Code::PermissionDenied as i32, Code::NotFound as i32]);
    let Write::Entry { table, key, .. } = entry else { unreachable!() };
    alone.write(&Write::Entry { table, key, to: None, count: None }, Time::ZERO).expect("it is there");
    for (port, frame) in &scene.known {
        assert_eq!(rig.frame(*port, frame), of(&mut alone, *port, frame));
    }
}

fn config(program: &Program, text: &str) -> ForwardingPipelineConfig {
    ForwardingPipelineConfig {
        p4info: Some(p4info::p4info(program).expect("it has one")),
        p4_device_config: text.as_bytes().to_vec().into(),
        ..ForwardingPipelineConfig::default()
    }
}

fn set_config(action: Action, config: Option<ForwardingPipelineConfig>) -> Call {
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: ELECTION,
        action: action.into(),
        config,
        ..SetForwardingPipelineConfigRequest::default()
    };
    Call::SetConfig(Box::new(request))
}

/// A controller that begins pushes the program, saved first or not, and writes all its entries. Copies of whole tables follow.
#[test]
fn a_controller_that_pushes_the_program_finds_flows_that_move() {
    for saves in [false, true] {
        let (mut rig, scene, mut alone, at) = firewall();
        let key = || scene.keys[at].clone();
        assert_eq!(rig.done(move_flow(&scene.name, key(), true)), Ok(()));
        let first = if saves { Action::VerifyAndSave } else { Action::VerifyAndCommit };
        assert_eq!(rig.done(set_config(first, Some(config(&scene.racked.apps[0].whole, "")))), Ok(()));
        let whole = &scene.racked.apps[0].whole;
        let updates: Vec<Update> =
            scene.there.iter().map(|write| update(whole, write, Type::Insert, &scene.there)).collect();
        assert_eq!(rig.done(write(updates, Atomicity::ContinueOnError)), Ok(()));
        if saves {
            assert_eq!(rig.done(set_config(Action::Commit, None)), Ok(()));
        }
        assert_eq!(rig.app().off, "");
        assert_eq!(rig.done(move_flow(&scene.name, key(), true)), Ok(()));
        assert!(is_at_switch(&mut rig, &scene.known[at]), "saved first: {saves}");
        for (port, frame) in &scene.known {
            assert_eq!(rig.frame(*port, frame), of(&mut alone, *port, frame), "saved first: {saves}");
        }
    }
}

/// Registers and counters are reset; entries and flows at the switch stay.
#[test]
fn after_a_reset_flows_come_to_the_switch_again() {
    let (mut rig, scene, mut alone, at) = firewall();
    assert_eq!(rig.done(move_flow(&scene.name, scene.keys[at].clone(), true)), Ok(()));
    assert_eq!(rig.done(Call::Steer(None, Steer::Reset)), Ok(()));
    rig.pass(Duration::from_ms(1));
    assert!(is_at_switch(&mut rig, &scene.known[at]));
    for (port, frame) in &scene.known {
        assert_eq!(rig.frame(*port, frame), of(&mut alone, *port, frame));
    }
}

#[test]
fn another_program_has_no_flows_to_move() {
    let (mut rig, scene, _, at) = firewall();
    assert_eq!(rig.done(move_flow(&scene.name, scene.keys[at].clone(), true)), Ok(()));
    let text = include_str!("programs/nothing.p4");
    let other = compiler::reparse("nothing.p4", text, &mut SourceMap::new()).expect("it compiles");
    assert_eq!(rig.done(set_config(Action::VerifyAndCommit, Some(config(&other, text)))), Ok(()));
    let status = rig.done(move_flow(&scene.name, scene.keys[at].clone(), true)).expect_err("it has none");
    assert!(status.message.contains("the running program is not that of the rack's file"), "{status:?}");
    assert!(
        rig.app().off.contains("the running program is not that of the rack's file")
            && rig.app().resident == 0
    );
}
