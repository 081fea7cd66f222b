//! Apps of a rack as P4Runtime devices of their own, beside each app on a switch of its own: the same requests have the same answers, and
//! the same packets the same results, whatever the other apps' controllers do.

use crate::moves::apps::{APPS, compiled, packet};
use crate::moves::{HOSTS, app_text, devices, entries, load};
use base_time::{Duration, Rng, Time};
use controller::{Call, Reply, Ticket};
use device_control::{
    AppView, Boots, Direct, Event, Known, Maker, OneSwitch, RackSwitch, Served, Splitter, Views,
};
use ir::Program;
use p4rack::rack::Racked;
use p4rack::{flows, views};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::{Counter, counter_spec::Unit};
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    CounterData, CounterEntry, DigestEntry, DirectCounterEntry, Entity, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, TableEntry, Uint128, Update, WriteRequest,
    digest_entry, stream_message_request::Update as Said, stream_message_response::Update as Message,
    update::Type,
};
use p4runtime_proto::p4rack::v1::steer_request::MoveFlow;
use p4runtime_proto::to_text;
use p4runtime_server::StreamId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ports of each app's packets.
const PORTS: [&[u32]; 3] = [&[0], &[1], &[2, 3]];

/// Id of the rack as one device; its apps have the next ones.
const WHOLE: u64 = 1;

fn election(low: u64) -> Option<Uint128> {
    Some(Uint128 { high: 0, low })
}

fn maker(program: &Arc<Program>) -> Maker {
    Maker {
        seed: 1,
        drop_port: None,
        handlers: None,
        own: Some(Arc::clone(program)),
        keep_program: false,
        retire: Arc::new(drop),
        registry: netfn_registry::all(),
        queue_depths: Arc::default(),
        known: Known::default(),
        boots: Boots::default(),
        shares: false,
        memory: u64::MAX,
    }
}

/// A switch with its controllers, and a clock.
struct Rig {
    switch: Box<dyn Served>,
    now: Time,
    tickets: u64,
    replies: BTreeMap<Ticket, Reply>,
    sent: Vec<(StreamId, Message)>,
    frames: Vec<(u32, Vec<u8>)>,
    /// Counters of the apps that count packets only.
    packets_only: Vec<u32>,
}

impl Rig {
    fn new(switch: Box<dyn Served>) -> Rig {
        let mut rig = Rig {
            switch,
            now: Time::ZERO,
            tickets: 0,
            replies: BTreeMap::new(),
            sent: vec![],
            frames: vec![],
            packets_only: vec![],
        };
        assert_eq!(rig.done(Call::Start(Box::default(), vec![])), Code::Ok);
        rig
    }

    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Reply(ticket, reply) => drop(self.replies.insert(ticket, reply)),
                Event::Frame(port, frame) => self.frames.push((port, frame)),
                Event::Send(stream, message) => {
                    self.sent.extend(message.update.map(|message| (stream, message)))
                }
                Event::End(..) | Event::Ask(..) => panic!("{event:?}"),
            }
        }
        while self.switch.is_busy() {
            let events = self.switch.go_on(self.now);
            self.take(events);
        }
    }

    fn pass(&mut self, until: Time) {
        self.now = until;
        let events = self.switch.tick(self.now);
        self.take(events);
    }

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let events = self.switch.call(self.now, ticket, call);
        self.take(events);
        ticket
    }

    fn reply(&mut self, call: Call) -> Reply {
        let ticket = self.call(call);
        for _ in 0..100 {
            if let Some(reply) = self.replies.remove(&ticket) {
                return reply;
            }
            self.pass(self.now + Duration::from_us(1));
        }
        panic!("no reply");
    }

    fn done(&mut self, call: Call) -> Code {
        match self.reply(call) {
            Reply::Done(Ok(())) => Code::Ok,
            Reply::Done(Err(status)) => status.code,
            other => panic!("{other:?}"),
        }
    }

    /// Codes of a write and of its updates.
    fn write(&mut self, request: WriteRequest) -> (Code, Vec<i32>) {
        match self.reply(Call::Write(Box::new(request))) {
            Reply::Done(Ok(())) => (Code::Ok, vec![]),
            Reply::Done(Err(status)) => {
                (status.code, status.details.iter().map(|error| error.canonical_code).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    /// Result of a read, in a fixed order and without the bytes of counters that count packets only.
    fn read(&mut self, device_id: u64, kinds: Vec<Kind>) -> (Code, Vec<String>) {
        let entities = kinds.into_iter().map(|kind| Entity { entity: Some(kind) }).collect();
        match self.reply(Call::Read(ReadRequest { device_id, entities, ..ReadRequest::default() })) {
            Reply::Found(found, status) => {
                let text = |mut entity: Entity| {
                    if let Some(Kind::CounterEntry(CounterEntry { counter_id, data: Some(data), .. })) =
                        &mut entity.entity
                        && self.packets_only.contains(counter_id)
                    {
                        data.byte_count = 0;
                    }
                    to_text(&entity).expect("it has a text")
                };
                let mut found: Vec<String> = found.entities().map(text).collect();
                // Counters that have counted nothing.
                found.retain(|text| !text.contains("data {\n  }"));
                found.sort();
                (status.map_or_else(|status| status.code, |()| Code::Ok), found)
            }
            other => panic!("{other:?}"),
        }
    }

    fn say(&mut self, stream: u64, said: Said) {
        let message = StreamMessageRequest { update: Some(said) };
        let events = self.switch.message(self.now, StreamId(stream), &message);
        self.take(events);
    }

    fn hello(&mut self, stream: u64, device_id: u64, low: u64) {
        let update = MasterArbitrationUpdate { device_id, election_id: election(low), ..Default::default() };
        self.say(stream, Said::Arbitration(update));
    }

    fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let events = self.switch.frame(self.now, port, frame);
        self.take(events);
        let mut left = std::mem::take(&mut self.frames);
        left.retain(|(port, _)| *port < HOSTS);
        left
    }

    /// Messages of a stream since the last call, without numbers that count other digests, too.
    fn messages(&mut self, stream: u64) -> Vec<Message> {
        let (own, others) = std::mem::take(&mut self.sent).into_iter().partition(|(to, _)| to.0 == stream);
        self.sent = others;
        let plain = |(_, mut message): (StreamId, Message)| {
            if let Message::Digest(list) = &mut message {
                (list.list_id, list.timestamp) = (0, 0);
            }
            message
        };
        let own: Vec<(StreamId, Message)> = own;
        own.into_iter().map(plain).collect()
    }
}

/// Three apps that share a switch and its helpers.
fn shared(seed: u64, rng: &mut Rng) -> Racked {
    let mut text = devices(rng);
    for (app, ports) in PORTS.iter().enumerate() {
        let class = format!("class = \"port in {}..{}\"\n", ports[0], ports[ports.len() - 1]);
        text += &app_text(app, 4 + rng.below(6) as u32, &class, rng);
    }
    load(&text, &format!("views-{seed}"))
}

fn rack(racked: &Racked, views: Vec<AppView>) -> Rig {
    let app = &racked.apps[0];
    let splitter = Splitter::new(maker(&app.whole), app.placement.clone());
    let splitter =
        splitter.with_parts(&app.whole, (app.parts.clone(), app.texts.clone())).expect("it is split");
    let flows = flows::app_flows(racked, 0).unwrap_or_else(|found| panic!("{found:#?}"));
    let rack = RackSwitch::new(splitter, WHOLE, 0, None, Direct).with_flows(flows);
    Rig::new(Box::new(Views::new(Box::new(rack), WHOLE, views)))
}

struct Scene {
    racked: Racked,
    rack: Rig,
    alone: Vec<Rig>,
    programs: Vec<Arc<Program>>,
    /// Entries of each app, as inserts.
    known: Vec<Vec<Update>>,
    /// Packets of each app.
    packets: Vec<Vec<(u32, Vec<u8>)>>,
}

impl Scene {
    fn new(seed: u64, rng: &mut Rng) -> Scene {
        let racked = shared(seed, rng);
        let found = views::views(&racked, 0, WHOLE).unwrap_or_else(|found| panic!("{found:#?}"));
        assert_eq!(found.iter().map(|view| view.device).collect::<Vec<_>>(), [2, 3, 4]);
        let mut rack = rack(&racked, found);
        let programs: Vec<Arc<Program>> = APPS.iter().map(|(_, source)| Arc::new(compiled(source))).collect();
        let mut alone = vec![];
        let (mut known, mut packets) = (vec![], vec![]);
        for (app, program) in programs.iter().enumerate() {
            let device = WHOLE + 1 + app as u64;
            let mut one = Rig::new(Box::new(OneSwitch::new(maker(program), device, 0, None)));
            let info = p4info::p4info(program).expect("it has a P4Info");
            let is_of_packets =
                |counter: &&Counter| counter.spec.as_ref().is_some_and(|spec| spec.unit() == Unit::Packets);
            let packets_only = info.counters.iter().filter(is_of_packets);
            let packets_only: Vec<u32> =
                packets_only.filter_map(|counter| Some(counter.preamble.as_ref()?.id)).collect();
            for rig in [&mut one, &mut rack] {
                rig.packets_only.extend(&packets_only);
                rig.hello(device, device, 5);
            }
            assert_eq!(one.messages(device), rack.messages(device));
            alone.push(one);
            known.push(device_control::updates(&entries(program, rng), program).expect("P4Runtime has them"));
            let ports = PORTS[app];
            packets.push((0..8).map(|_| (ports[rng.index(ports.len())], packet(rng))).collect());
        }
        Scene { racked, rack, alone, programs, known, packets }
    }

    /// The answers of the rack to a request for an app, which has to have those of the app alone.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        app: usize,
        what: &str,
        ask: impl Fn(&mut Rig) -> T,
    ) -> T {
        let (alone, shared) = (ask(&mut self.alone[app]), ask(&mut self.rack));
        assert_eq!(alone, shared, "{what} of {}", APPS[app].0);
        alone
    }
}

fn device(app: usize) -> u64 {
    WHOLE + 1 + app as u64
}

/// A random write: some of the app's entries come, change or go, or a counter is set.
fn request(app: usize, known: &[Update], counter: Option<u32>, rng: &mut Rng) -> WriteRequest {
    let mut updates = vec![];
    for _ in 0..1 + rng.below(4) {
        let mut update = known[rng.index(known.len())].clone();
        let kind = [Type::Insert, Type::Insert, Type::Modify, Type::Delete][rng.index(4)];
        update.set_type(kind);
        updates.push(update);
    }
    if let Some(counter_id) = counter.filter(|_| rng.chance(1, 5)) {
        let data = Some(CounterData { packet_count: rng.below(9) as i64, byte_count: 7 });
        let index = Some(p4runtime_proto::p4::v1::Index { index: 1 });
        let entity = Entity { entity: Some(Kind::CounterEntry(CounterEntry { counter_id, index, data })) };
        updates.push(Update { r#type: Type::Modify as i32, entity: Some(entity) });
    }
    let atomicity = [Atomicity::ContinueOnError, Atomicity::RollbackOnError][rng.index(2)];
    WriteRequest {
        device_id: device(app),
        election_id: election(5),
        updates,
        atomicity: atomicity as i32,
        ..WriteRequest::default()
    }
}

/// Queries for all of an app.
fn queries() -> Vec<Kind> {
    let counted = TableEntry { counter_data: Some(CounterData::default()), ..TableEntry::default() };
    vec![
        Kind::TableEntry(counted),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::DirectCounterEntry(DirectCounterEntry {
            table_entry: Some(TableEntry::default()),
            data: Some(CounterData::default()),
        }),
        Kind::DigestEntry(DigestEntry::default()),
    ]
}

fn trial(seed: u64) -> (usize, usize) {
    let rng = &mut Rng::new(seed).split("views");
    let mut scene = Scene::new(seed, rng);
    let infos: Vec<_> =
        scene.programs.iter().map(|program| p4info::p4info(program).expect("it has a P4Info")).collect();
    for (app, info) in infos.iter().enumerate() {
        for digest in &info.digests {
            let config = digest_entry::Config { max_list_size: 1, ..Default::default() };
            let digest_id = digest.preamble.as_ref().map_or(0, |preamble| preamble.id);
            let entity =
                Entity { entity: Some(Kind::DigestEntry(DigestEntry { digest_id, config: Some(config) })) };
            let update = Update { r#type: Type::Insert as i32, entity: Some(entity) };
            let request = WriteRequest {
                device_id: device(app),
                election_id: election(5),
                updates: vec![update],
                ..WriteRequest::default()
            };
            let done = scene.both(app, "a digest", |rig| rig.write(request.clone()));
            assert_eq!(done.0, Code::Ok);
        }
    }
    let (mut refused, mut digests) = (0, 0);
    for step in 0..200 {
        let app = rng.index(3);
        match rng.below(10) {
            0..4 => {
                let counter = infos[app].counters.first().and_then(|counter| counter.preamble.as_ref());
                let request = request(app, &scene.known[app], counter.map(|preamble| preamble.id), rng);
                let done = scene.both(app, "a write", |rig| rig.write(request.clone()));
                refused += usize::from(done.0 != Code::Ok);
            }
            4..8 => {
                let (port, frame) = scene.packets[app][rng.index(8)].clone();
                scene.both(app, "a packet", |rig| rig.frame(port, &frame));
            }
            8 => {
                let (port, frame) = &scene.packets[app][rng.index(8)];
                let of_one = &scene.racked.apps[0].pinned[app];
                let mut probe =
                    ir_interp::switch(Arc::clone(&scene.programs[app]), Default::default()).expect("it runs");
                probe.set_trace(true);
                probe.process(*port, frame, Time::ZERO);
                let keys = &of_one.unpinned.keys;
                let values = crate::moves::apps::flow(keys, *port, &probe.take_trace());
                let parts = keys.key.parts.iter().zip(values);
                let key = parts
                    .map(|(part, value)| (part.name.to_string(), value.to_biguint().to_string()))
                    .collect();
                let (name, to_switch) = (of_one.model.name.value.clone(), rng.chance(2, 3));
                let moved = MoveFlow { app: name, key, to_switch };
                // It ends when it ends.
                let _ = scene.rack.call(Call::Steer(None, controller::Steer::MoveFlow(moved)));
            }
            _ => {
                scene.both(app, &format!("a read in step {step}"), |rig| rig.read(device(app), queries()));
                let one = &scene.known[app][rng.index(scene.known[app].len())];
                let kinds: Vec<Kind> = one.entity.iter().filter_map(|entity| entity.entity.clone()).collect();
                scene.both(app, "a read of an entry", |rig| rig.read(device(app), kinds.clone()));
            }
        }
        let at = Time::ZERO + Duration::from_ms(step + 1);
        scene.alone.iter_mut().for_each(|rig| rig.pass(at));
        scene.rack.pass(at);
        for app in 0..3 {
            let message = scene.both(app, "messages", |rig| rig.messages(device(app)));
            digests += message.iter().filter(|message| matches!(message, Message::Digest(_))).count();
        }
    }
    for app in 0..3 {
        scene.both(app, "all", |rig| rig.read(device(app), queries()));
    }
    (refused, digests)
}

#[test]
fn controllers_of_apps_find_what_they_find_on_a_switch_of_their_own() {
    let seeds = features::seeds(1, 100);
    let (mut refused, mut digests) = (0, 0);
    for seed in seeds.clone() {
        let (more_refused, more_digests) = trial(seed);
        refused += more_refused;
        digests += more_digests;
    }
    println!("seeds {seeds:?}: {refused} writes refused, {digests} digests");
    assert!(refused > 0 && digests > 0, "{refused} {digests}");
}

fn pushed(app: usize, action: Action, program: &Program, cookie: u64) -> Call {
    use p4runtime_proto::p4::v1::forwarding_pipeline_config::Cookie;
    let config = ForwardingPipelineConfig {
        p4info: Some(p4info::p4info(program).expect("it has a P4Info")),
        p4_device_config: target_p4::print(program).into(),
        cookie: Some(Cookie { cookie }),
    };
    Call::SetConfig(Box::new(SetForwardingPipelineConfigRequest {
        device_id: device(app),
        election_id: election(5),
        action: action as i32,
        config: Some(config),
        ..SetForwardingPipelineConfigRequest::default()
    }))
}

#[test]
fn a_controller_pushes_the_program_of_its_app() {
    let rng = &mut Rng::new(3).split("pushed");
    let mut scene = Scene::new(900, rng);
    for app in 0..3 {
        let updates: Vec<Update> = scene.known[app].clone();
        let request = WriteRequest {
            device_id: device(app),
            election_id: election(5),
            updates,
            atomicity: Atomicity::ContinueOnError as i32,
            ..WriteRequest::default()
        };
        scene.both(app, "a write", |rig| rig.write(request.clone()));
    }
    let entries = |rig: &mut Rig, app: usize| {
        rig.read(device(app), vec![Kind::TableEntry(TableEntry::default())]).1.len()
    };
    let before: Vec<usize> = (0..3).map(|app| entries(&mut scene.rack, app)).collect();
    assert!(before.iter().all(|count| *count > 0), "{before:?}");
    let own = Arc::clone(&scene.programs[0]);
    assert_eq!(scene.rack.done(pushed(0, Action::ReconcileAndCommit, &own, 7)), Code::Ok);
    assert_eq!(entries(&mut scene.rack, 0), before[0]);
    assert_eq!(scene.rack.done(pushed(0, Action::VerifyAndCommit, &own, 8)), Code::Ok);
    // Its own entries are gone, those of the others are there.
    assert_eq!(
        (0..3).map(|app| entries(&mut scene.rack, app)).collect::<Vec<_>>(),
        [0, before[1], before[2]]
    );
    let ask = GetForwardingPipelineConfigRequest { device_id: device(0), ..Default::default() };
    let config = scene.rack.switch.answers().get_config(&ask).expect("it runs").config.expect("a config");
    assert_eq!(config.cookie.map(|cookie| cookie.cookie), Some(8));
    assert_eq!(config.p4info, Some(p4info::p4info(&own).expect("it has a P4Info")));
    // Another program, a saved one, and somebody who is not the primary.
    let other = Arc::clone(&scene.programs[1]);
    assert_eq!(scene.rack.done(pushed(0, Action::VerifyAndCommit, &other, 9)), Code::InvalidArgument);
    assert_eq!(scene.rack.done(pushed(0, Action::VerifyAndSave, &own, 9)), Code::Unimplemented);
    let Call::SetConfig(mut request) = pushed(0, Action::VerifyAndCommit, &own, 9) else { panic!("a call") };
    request.election_id = election(4);
    assert_eq!(scene.rack.done(Call::SetConfig(request)), Code::PermissionDenied);
}

#[test]
fn a_controller_sees_nothing_of_other_apps() {
    let rng = &mut Rng::new(4).split("others");
    let mut scene = Scene::new(901, rng);
    // Ids of the whole, and of another app.
    let whole = p4info::p4info(&scene.racked.apps[0].whole).expect("it has a P4Info");
    let ids = whole.tables.iter().filter_map(|table| table.preamble.as_ref()).map(|preamble| preamble.id);
    for table_id in ids {
        let entry = TableEntry { table_id, ..TableEntry::default() };
        let (code, found) = scene.rack.read(device(2), vec![Kind::TableEntry(entry)]);
        assert!(code != Code::Ok && found.is_empty(), "{table_id:#x}: {code:?}, {found:?}");
    }
    // A backup of one app, and the primary of another one.
    scene.rack.hello(20, device(0), 4);
    let message = scene.rack.messages(20);
    let [Message::Arbitration(update)] = message.as_slice() else { panic!("{message:?}") };
    assert_eq!((update.device_id, update.role.clone()), (device(0), None));
    assert_eq!(update.status.as_ref().map(|status| status.code), Some(Code::AlreadyExists as i32));
    let request = |app: usize, low: u64| WriteRequest {
        device_id: device(app),
        election_id: election(low),
        ..WriteRequest::default()
    };
    assert_eq!(scene.rack.write(request(0, 4)).0, Code::PermissionDenied);
    assert_eq!(scene.rack.write(request(0, 5)).0, Code::Ok);
    assert_eq!(scene.rack.write(request(1, 4)).0, Code::PermissionDenied);
    assert_eq!(scene.rack.write(WriteRequest { device_id: 9, ..request(0, 5) }).0, Code::NotFound);
}
