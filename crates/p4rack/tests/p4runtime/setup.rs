//! One device and a rack that looks like it, each with a primary controller.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use controller::{Call, Reply, Ticket};
use ir_split::{DeviceIndex, Placement};
use p4rack::control::{Channel, Controlled, Direct, Event, Maker, RackSwitch, Splitter};
use p4rack::{Until, compile};
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate, ReadRequest,
    ReadResponse, SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, WriteRequest,
    stream_message_request::Update as Asked,
};
use p4runtime_proto::{from_text, to_text};
use p4runtime_server::{Output, Server, Status, StreamId};

pub const PROGRAM: &str = include_str!("all.p4");

/// A device, or a rack that has to look like it, with a clock.
pub struct Bench {
    world: World,
    pub now: Time,
}

enum World {
    One(Box<Server<Maker>>),
    Rack(Box<RackSwitch<Direct>>),
}

/// Frames for and from controllers go by this port.
const CPU: u32 = 510;

/// The same test of one device and of a rack of three.
pub fn both(test: impl Fn(Bench)) {
    test(Bench::one());
    // Expectations are refreshed from the one device.
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        test(Bench::rack());
    }
}

/// The same, without a program and controller.
pub fn both_bare(test: impl Fn(Bench)) {
    test(Bench { world: World::One(Box::new(server())), now: Time::ZERO });
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        test(Bench { world: World::Rack(Box::new(rack(Direct))), now: Time::ZERO });
    }
}

fn server() -> Server<Maker> {
    Server::new(maker(), 1, 1_000_000_000)
}

fn maker() -> Maker {
    Maker { seed: 1, drop_port: None, own: Some(program()) }
}

/// `Cells` and `Filter` run beside the switch, `Known` behind that.
pub fn rack<C: Channel>(channel: C) -> RackSwitch<C> {
    let [tor, nic, fpga] = [DeviceIndex(0), DeviceIndex(1), DeviceIndex(2)];
    let mut placement = Placement::whole("tor");
    placement.devices = vec!["tor".into(), "nic".into(), "fpga".into()];
    placement.regions = [("Cells".into(), nic), ("Known".into(), fpga), ("Filter".into(), nic)].into();
    for (a, b, port) in [(tor, nic, 500), (tor, fpga, 501), (nic, fpga, 502)] {
        placement.ports.extend([((a, b), port), ((b, a), port)]);
    }
    RackSwitch::new(Splitter { maker: maker(), placement }, 1, 1_000_000_000, Some(CPU), channel)
}

/// Names of ids, so that tests can be read: `$MyIngress.route` is a table's id.
fn with_ids(text: &str) -> String {
    let info = info();
    let mut known: Vec<(&str, u32)> = vec![];
    let mut add = |preamble: &Option<p4runtime_proto::p4::config::v1::Preamble>| {
        if let Some(preamble) = preamble {
            known.push((Box::leak(preamble.name.clone().into_boxed_str()), preamble.id));
        }
    };
    info.tables.iter().for_each(|t| add(&t.preamble));
    info.actions.iter().for_each(|t| add(&t.preamble));
    info.action_profiles.iter().for_each(|t| add(&t.preamble));
    info.counters.iter().for_each(|t| add(&t.preamble));
    info.meters.iter().for_each(|t| add(&t.preamble));
    info.registers.iter().for_each(|t| add(&t.preamble));
    info.digests.iter().for_each(|t| add(&t.preamble));
    info.value_sets.iter().for_each(|t| add(&t.preamble));
    known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    known.iter().fold(text.to_string(), |text, (name, id)| text.replace(&format!("${name}"), &id.to_string()))
}

/// The other way around, and shorter.
fn with_names(text: &str) -> String {
    let info = info();
    let tables = info.tables.iter().filter_map(|t| t.preamble.as_ref());
    let actions = info.actions.iter().filter_map(|t| t.preamble.as_ref());
    let profiles = info.action_profiles.iter().filter_map(|t| t.preamble.as_ref());
    let digests = info.digests.iter().filter_map(|t| t.preamble.as_ref());
    let objects = info.counters.iter().filter_map(|t| t.preamble.as_ref());
    let registers = info.registers.iter().filter_map(|t| t.preamble.as_ref());
    let meters = info.meters.iter().filter_map(|t| t.preamble.as_ref());
    let sets = info.value_sets.iter().filter_map(|t| t.preamble.as_ref());
    let all = tables.chain(actions).chain(profiles).chain(digests).chain(objects).chain(registers);
    let named = all.chain(meters).chain(sets).fold(text.to_string(), |text, preamble| {
        text.replace(&preamble.id.to_string(), &format!("${}", preamble.name))
    });
    named.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn info() -> p4runtime_proto::p4::config::v1::P4Info {
    p4info::p4info(&program()).unwrap()
}

pub fn program() -> std::sync::Arc<ir::Program> {
    let mut map = SourceMap::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/p4runtime/all.p4");
    let compiled = compile(path, &p4rack::Disk, &p4_syntax::Options::default(), Until::Elaborated, &mut map);
    assert!(compiled.program.is_some(), "{:#?}", compiled.diagnostics);
    compiled.program.unwrap()
}

pub fn arbitration(device_id: u64, election: Option<u64>) -> StreamMessageRequest {
    let election_id = election.map(|low| Uint128 { high: 0, low });
    let update = MasterArbitrationUpdate { device_id, election_id, ..MasterArbitrationUpdate::default() };
    StreamMessageRequest { update: Some(Asked::Arbitration(update)) }
}

impl Bench {
    /// One device, with a program and a controller.
    pub fn one() -> Bench {
        let mut server = server();
        server.start(ForwardingPipelineConfig::default()).unwrap();
        Bench { world: World::One(Box::new(server)), now: Time::ZERO }.controlled()
    }

    /// A rack, with the same program and a controller.
    pub fn rack() -> Bench {
        let mut rack = rack(Direct);
        let start = Call::Start(Box::default(), vec![]);
        let events = rack.call(Time::ZERO, Ticket(0), start);
        assert_eq!(events, [Event::Reply(Ticket(0), Reply::Done(Ok(())))]);
        Bench { world: World::Rack(Box::new(rack)), now: Time::ZERO }.controlled()
    }

    fn controlled(mut self) -> Bench {
        self.message(0, &arbitration(1, Some(1)));
        self
    }

    /// Updates one after the other in one request, each `INSERT entity`; the answer.
    pub fn write(&mut self, updates: &[&str]) -> String {
        self.write_with("CONTINUE_ON_ERROR", updates)
    }

    pub fn write_with(&mut self, atomicity: &str, updates: &[&str]) -> String {
        let request = write_request(atomicity, updates);
        match &mut self.world {
            World::One(server) => answer(server.write(&request)),
            World::Rack(rack) => replied(rack.call(self.now, Ticket(1), Call::Write(Box::new(request)))),
        }
    }

    /// All that fits a query.
    pub fn read(&mut self, query: &str) -> String {
        let request = read_request(query);
        match &mut self.world {
            World::One(server) => {
                let mut found = vec![];
                let ended = server.read(&request, &mut |response| found.push(response));
                listed(found, ended)
            }
            World::Rack(rack) => replied(rack.call(self.now, Ticket(1), Call::Read(request))),
        }
    }

    /// Writes, which has to work, and reads the same back.
    pub fn symmetric(&mut self, entity: &str) {
        assert_eq!(self.write(&[&format!("INSERT {entity}")]), "OK\n");
        let kind = entity.split_whitespace().next().unwrap();
        let all = self.read(&format!("{kind} {{}}"));
        let wanted = entity.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.lines().any(|line| line == wanted), "{wanted}\nis not among\n{all}");
    }

    pub fn set_config(&mut self, request: SetForwardingPipelineConfigRequest) -> String {
        match &mut self.world {
            World::One(server) => answer(server.set_config(request)),
            World::Rack(rack) => replied(rack.call(self.now, Ticket(1), Call::SetConfig(Box::new(request)))),
        }
    }

    pub fn get_config(&mut self) -> ForwardingPipelineConfig {
        let request = GetForwardingPipelineConfigRequest::default();
        let response = match &mut self.world {
            World::One(server) => server.get_config(&request),
            World::Rack(rack) => rack.get_config(&request),
        };
        response.unwrap().config.unwrap()
    }

    /// The switches that run.
    pub fn devices(&mut self) -> Vec<&mut Controlled> {
        match &mut self.world {
            World::One(server) => server.target().into_iter().collect(),
            World::Rack(rack) => rack.devices().collect(),
        }
    }

    /// A controller says something; what is told to whom, and what leaves.
    pub fn message(&mut self, stream: u64, message: &StreamMessageRequest) -> String {
        let stream = StreamId(stream);
        match &mut self.world {
            World::One(server) => {
                let outputs = server.message(stream, message);
                self.perform(outputs)
            }
            World::Rack(rack) => told(rack.message(self.now, stream, message)),
        }
    }

    pub fn close(&mut self, stream: u64) -> String {
        let stream = StreamId(stream);
        match &mut self.world {
            World::One(server) => {
                let outputs = server.close(stream);
                self.perform(outputs)
            }
            World::Rack(rack) => told(rack.close(self.now, stream)),
        }
    }

    /// A frame in; port and bytes of what comes out, and what controllers are told.
    pub fn packet(&mut self, port: u32, hex: &str) -> String {
        self.now += Duration::from_ms(1);
        self.frame(port, &bytes(hex))
    }

    fn frame(&mut self, port: u32, frame: &[u8]) -> String {
        let now = self.now;
        match &mut self.world {
            World::One(server) => {
                let target = server.target().unwrap();
                target.at(now);
                let mut lines = String::new();
                for out in target.switch().process(port, frame, now) {
                    match out.port == CPU {
                        true => {
                            let World::One(server) = &mut self.world else { unreachable!() };
                            let outputs = server.packet_in(&out.frame);
                            lines += &self.perform(outputs);
                        }
                        false => lines += &format!("{}: {}\n", out.port, shown(&out.frame)),
                    }
                }
                lines
            }
            World::Rack(rack) => told(rack.frame(now, port, frame)),
        }
    }

    pub fn wait(&mut self, span: Duration) -> String {
        self.now += span;
        match &mut self.world {
            World::One(server) => {
                let outputs = server.tick(self.now);
                self.perform(outputs)
            }
            World::Rack(rack) => told(rack.tick(self.now)),
        }
    }

    fn perform(&mut self, outputs: Vec<Output>) -> String {
        let mut lines = String::new();
        for output in outputs {
            lines += &match output {
                Output::Send(stream, message) => told(vec![Event::Send(stream, message)]),
                Output::End(stream, why) => told(vec![Event::End(stream, why)]),
                Output::Inject(frame) => self.frame(CPU, &frame),
            };
        }
        lines
    }
}

pub fn write_request(atomicity: &str, updates: &[&str]) -> WriteRequest {
    let updates: String = updates
        .iter()
        .map(|update| {
            let (how, entity) = update.split_once(' ').unwrap();
            format!("updates {{ type: {how} entity {{ {} }} }}\n", with_ids(entity))
        })
        .collect();
    from_text(&format!("device_id: 1 election_id {{ low: 1 }} atomicity: {atomicity}\n{updates}")).unwrap()
}

pub fn read_request(query: &str) -> ReadRequest {
    from_text(&format!("device_id: 1 entities {{ {} }}", with_ids(query))).unwrap()
}

fn listed(found: Vec<ReadResponse>, ended: Result<(), Status>) -> String {
    let entities = found.iter().flat_map(|response| &response.entities);
    let mut lines: String = entities.map(|entity| with_names(&to_text(entity).unwrap()) + "\n").collect();
    if ended.is_err() {
        lines += &answer(ended);
    }
    lines
}

/// The reply to the only call.
pub fn replied(events: Vec<Event>) -> String {
    let [Event::Reply(_, reply)] = &events[..] else { panic!("{events:?}") };
    match reply.clone() {
        // One device has no name to tell.
        Reply::Done(ended) => answer(ended).replace("device `tor` could not: ", ""),
        Reply::Found(found, ended) => listed(found, ended),
    }
}

pub fn told(events: Vec<Event>) -> String {
    let one = |event| match event {
        Event::Send(stream, message) => {
            format!("to {}: {}\n", stream.0, with_names(&to_text(&message).unwrap()))
        }
        Event::End(stream, why) => format!("end {}: {why}\n", stream.0),
        Event::Frame(port, frame) => format!("{port}: {}\n", shown(&frame)),
        Event::Reply(..) => panic!("{event:?}"),
    };
    events.into_iter().map(one).collect()
}

pub fn answer(done: Result<(), Status>) -> String {
    match done {
        Ok(()) => "OK\n".to_string(),
        Err(status) if status.details.is_empty() => format!("{status}\n"),
        Err(status) => {
            let one = |error: &p4runtime_proto::p4::v1::Error| {
                let code = p4runtime_proto::google::rpc::Code::try_from(error.canonical_code).unwrap();
                with_names(&format!("  {} {}", code.as_str_name(), error.message)) + "\n"
            };
            format!("{}\n{}", status.code.as_str_name(), status.details.iter().map(one).collect::<String>())
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn shown(frame: &[u8]) -> String {
    frame.iter().map(|byte| format!("{byte:02x}")).collect()
}
