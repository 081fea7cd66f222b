//! One device and a rack that looks like it, each with a primary controller.

use crate::parts::{PARTS, compiled_text};
use base_diag::SourceMap;
use base_time::{Duration, Time};
use controller::{Call, Reply, Steer, Ticket};
use device_control::{
    Channel, Controlled, Direct, Event, Maker, OneSwitch, RackSwitch, RemoteRack, Served, Splitter,
};
use ir_split::{DeviceIndex, GroupRules, GroupSetup, Placement, Policy, ScaleRules, Site, Variant};
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, WriteRequest,
    stream_message_request::Update as Asked,
};
use p4runtime_proto::p4rack::v1::{SavedState, ShowResponse};
use p4runtime_proto::{from_text, to_text};
use p4runtime_server::{Pieces, Status, StreamId};
use state_journal::Batch;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

pub const PROGRAM: &str = include_str!("all.p4");

/// A device, or a rack that has to look like it, with a clock.
pub struct Bench {
    world: World,
    pub now: Time,
}

enum World {
    One(Box<OneSwitch>),
    Rack(Box<RackSwitch<Direct>>),
}

/// Frames for and from controllers go by this port.
pub const CPU: u32 = 510;

/// A test of the rack alone.
pub fn racked() -> Bench {
    Bench { world: World::Rack(Box::new(rack(Direct))), now: Time::ZERO }.started()
}

/// A test of one device alone.
pub fn device() -> Bench {
    Bench { world: World::One(Box::new(one_device())), now: Time::ZERO }.started()
}

/// The same with the program of a file.
pub fn device_of(file: &str) -> Bench {
    bare_device_of(file).started()
}

/// The same before it has started.
pub fn bare_device_of(file: &str) -> Bench {
    bare_device(compiled(file))
}

/// A device that runs this program, before it has started.
pub fn bare_device(program: std::sync::Arc<ir::Program>) -> Bench {
    let maker = Maker { own: Some(program), shares: true, ..maker() };
    let one = OneSwitch::new(maker, 1, 1_000_000_000, Some(CPU));
    Bench { world: World::One(Box::new(one)), now: Time::ZERO }
}

/// The same test of one device and of a rack of three; expectations are refreshed from the one device.
pub fn both(test: impl Fn(Bench)) {
    both_bare(|bench| test(bench.started()));
}

/// The same, of switches that keep their program when a controller sends BMv2's JSON.
pub fn both_keeping(test: impl Fn(Bench)) {
    let maker = || Maker { keep_program: true, ..maker() };
    let one = OneSwitch::new(Maker { shares: true, ..maker() }, 1, 1_000_000_000, Some(CPU));
    test(Bench { world: World::One(Box::new(one)), now: Time::ZERO }.started());
    let rack = rack_of(maker(), Direct);
    test(Bench { world: World::Rack(Box::new(rack)), now: Time::ZERO }.started());
}

/// The same, without a program and controller.
pub fn both_bare(test: impl Fn(Bench)) {
    test(Bench { world: World::One(Box::new(one_device())), now: Time::ZERO });
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        test(Bench { world: World::Rack(Box::new(rack(Direct))), now: Time::ZERO });
    }
}

/// The same for `names.p4`, whose region `Routes` runs beside the switch.
pub fn both_named(test: impl Fn(Bench)) {
    test(device_of("names.p4"));
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        let maker = Maker { own: Some(compiled("names.p4")), ..maker() };
        let (tor, nic) = (DeviceIndex(0), DeviceIndex(1));
        let mut placement = Placement::whole("tor");
        placement.devices = vec!["tor".into(), "nic".into()];
        placement.sites = [("Routes".into(), nic.into())].into();
        placement.ports = [((tor, nic), 500), ((nic, tor), 500)].into();
        let splitter = Splitter::new(maker, placement);
        let rack = RackSwitch::new(splitter, 1, 1_000_000_000, Some(CPU), Direct);
        test(Bench { world: World::Rack(Box::new(rack)), now: Time::ZERO }.started());
    }
}

/// Region `R` on `nic`, or on `spare`.
pub fn with_spare() -> Placement {
    let [tor, nic, spare] = [0, 1, 2].map(DeviceIndex);
    let site = Site::at(vec![nic, spare], Policy::Failover);
    Placement {
        devices: ["tor", "nic", "spare"].map(Into::into).to_vec(),
        sites: [("R".into(), site)].into(),
        ports: [((tor, nic), 11), ((nic, tor), 21), ((tor, spare), 12), ((spare, tor), 22)].into(),
        ..Placement::whole("tor")
    }
}

/// A switch and three helpers that divide the flows of the region `R`, each shard with a helper and its backup.
pub fn sharded() -> Placement {
    let (tor, helpers) = (DeviceIndex(0), [1, 2, 3].map(DeviceIndex));
    let site = Site { replicas: 2, ..Site::at(helpers.to_vec(), Policy::Shard) };
    let link = |nic: DeviceIndex| [((tor, nic), u64::from(10 + nic.0)), ((nic, tor), u64::from(20 + nic.0))];
    Placement {
        devices: ["tor", "nic1", "nic2", "nic3"].map(Into::into).to_vec(),
        sites: [("R".into(), site)].into(),
        ports: helpers.into_iter().flat_map(link).collect(),
        ..Placement::whole("tor")
    }
}

/// A rack of these devices, whose requests pass a channel.
pub fn spared_over<C: Channel>(channel: C, maker: Maker, text: &str, hold_down: Duration) -> RackSwitch<C> {
    let maker = Maker { own: Some(compiled_text(text)), ..maker };
    let splitter = Splitter::new(maker, with_spare()).hold_down(hold_down);
    RackSwitch::new(splitter, 1, 1_000_000_000, Some(CPU), channel)
}

/// A rack of these devices.
pub fn spared(maker: Maker, text: &str, hold_down: Duration) -> Bench {
    let rack = spared_over(Direct, maker, text, hold_down);
    Bench { world: World::Rack(Box::new(rack)), now: Time::ZERO }.started()
}

/// A switch and three servers of a group that runs the region `Count`; the first two are members.
pub fn group_placement(scale: Option<ScaleRules>) -> Placement {
    let switch = DeviceIndex(0);
    let servers = [1, 2, 3].map(DeviceIndex);
    let rules = GroupRules {
        idle_us: 1_000_000,
        patience_us: 200,
        settle_us: 1_000,
        hold_us: 1_000,
        answer_us: 5_000,
        variant: Variant::Exact,
        max_age_us: None,
        scale,
    };
    let members = servers[..2].to_vec();
    let group = GroupSetup { name: "count".into(), servers: servers.to_vec(), members, rules };
    let links = servers
        .iter()
        .flat_map(|&server| [((switch, server), u64::from(10 + server.0)), ((server, switch), 1)]);
    Placement {
        devices: ["tor", "s1", "s2", "s3"].map(Into::into).to_vec(),
        sites: [("Count".into(), Site::at(servers.to_vec(), Policy::Group))].into(),
        ports: links.collect(),
        groups: vec![group],
        ..Placement::whole("tor")
    }
}

/// A rack with this group.
pub fn grouped(maker: Maker, text: &str) -> Bench {
    let placement = group_placement(None);
    let whole = compiled_text(text);
    let made = compiler::make_parts(&whole, &placement, &mut SourceMap::new());
    let (_, parts, texts) = made.unwrap_or_else(|found| panic!("{found:#?}"));
    let maker = Maker { own: Some(Arc::clone(&whole)), ..maker };
    let splitter = Splitter::new(maker, placement).with_parts(&whole, (parts, texts)).expect("it is split");
    let rack = RackSwitch::new(splitter, 1, 1_000_000_000, Some(CPU), Direct);
    Bench { world: World::Rack(Box::new(rack)), now: Time::ZERO }.started()
}

/// The switch of such a rack alone, with its entries.
pub fn sender(text: &str) -> Bench {
    sender_of(&compiled_text(text), &with_spare())
}

/// The switch alone of a rack with this program.
pub fn sender_of(program: &ir::Program, placement: &Placement) -> Bench {
    let made = compiler::make_parts(program, placement, &mut SourceMap::new());
    let (_, parts, texts) = made.unwrap_or_else(|found| panic!("{found:#?}"));
    let (Some(part), Some(text)) = (&parts[0], &texts[0]) else { panic!("the switch has a part") };
    let info = p4info::p4info(&part.program).expect("it has a P4Info");
    let linkage = device_control::make_part("tor", &part.program, &part.linkage, text.clone(), &info);
    let updates = linkage.expect("its entries are known").linkage;
    let maker = Maker { own: Some(Arc::clone(&part.program)), shares: true, ..maker() };
    let one = OneSwitch::new(maker, 1, 1_000_000_000, Some(CPU));
    let mut bench = Bench { world: World::One(Box::new(one)), now: Time::ZERO };
    assert_eq!(bench.call(Call::Start(Box::default(), updates)), "OK\n");
    bench
}

/// A device with so many queues behind each port, and a program.
pub fn device_with_queues(file: &str, priorities: u8) -> Bench {
    let maker = Maker { own: Some(compiled(file)), shares: true, ..maker() };
    let one = OneSwitch::new(maker, 1, 1_000_000_000, Some(CPU)).with_priorities(priorities);
    Bench { world: World::One(Box::new(one)), now: Time::ZERO }.started()
}

pub fn one_device() -> OneSwitch {
    OneSwitch::new(Maker { shares: true, ..maker() }, 1, 1_000_000_000, Some(CPU))
}

/// Devices of one test share machine code: the racks that it makes one after the other have the same parts.
pub fn maker() -> Maker {
    Maker { own: Some(program()), known: PARTS.clone(), ..Maker::new(1, netfn_registry::all()) }
}

/// `Cells` and `Filter` run beside the switch, `Known` after that.
pub fn rack<C: Channel>(channel: C) -> RackSwitch<C> {
    rack_of(maker(), channel)
}

pub fn rack_of<C: Channel>(maker: Maker, channel: C) -> RackSwitch<C> {
    RackSwitch::new(splitter(maker), 1, 1_000_000_000, Some(CPU), channel)
}

/// The front of such a rack, whose devices are other processes.
pub fn front() -> RemoteRack {
    let addresses = ["tor", "nic", "fpga"].map(str::to_string);
    RemoteRack::new(splitter(maker()), addresses.to_vec(), 1, 1_000_000_000)
}

/// The program of [`rack`], and its planner.
pub fn own_splitter() -> (Arc<ir::Program>, Splitter) {
    (program(), splitter(maker()))
}

pub fn splitter(maker: Maker) -> Splitter {
    let [tor, nic, fpga] = [DeviceIndex(0), DeviceIndex(1), DeviceIndex(2)];
    let mut placement = Placement::whole("tor");
    placement.devices = vec!["tor".into(), "nic".into(), "fpga".into()];
    placement.sites =
        [("Cells", nic), ("Known", fpga), ("Filter", nic)].map(|(r, at)| (r.into(), at.into())).into();
    for (a, b, port) in [(tor, nic, 500), (tor, fpga, 501), (nic, fpga, 502)] {
        placement.ports.extend([((a, b), port), ((b, a), port)]);
    }
    Splitter::new(maker, placement)
}

/// Names and ids of all programs.
fn preambles() -> &'static [(String, u32)] {
    static KNOWN: OnceLock<Vec<(String, u32)>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut known = vec![];
        let others = ["names.p4", "misses.p4", "limits.p4", "tofino.p4"].map(compiled);
        let others = others.into_iter().chain([generator()]);
        for info in others.map(|program| p4info::p4info(&program).unwrap()).chain([info()]) {
            let tables = info.tables.into_iter().filter_map(|t| t.preamble);
            let actions = info.actions.into_iter().filter_map(|t| t.preamble);
            let profiles = info.action_profiles.into_iter().filter_map(|t| t.preamble);
            let digests = info.digests.into_iter().filter_map(|t| t.preamble);
            let counters = info.counters.into_iter().filter_map(|t| t.preamble);
            let registers = info.registers.into_iter().filter_map(|t| t.preamble);
            let meters = info.meters.into_iter().filter_map(|t| t.preamble);
            let sets = info.value_sets.into_iter().filter_map(|t| t.preamble);
            let all = tables.chain(actions).chain(profiles).chain(digests).chain(counters);
            known.extend(all.chain(registers).chain(meters).chain(sets).map(|p| (p.name, p.id)));
        }
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        known
    })
}

/// Names of ids, so that tests can be read: `$MyIngress.route` is a table's id.
fn with_ids(text: &str) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, named)) = rest.split_once('$') {
        let known = preambles().iter().find_map(|(name, id)| Some((id, named.strip_prefix(name.as_str())?)));
        done += before;
        match known {
            Some((id, after)) => {
                done += &id.to_string();
                rest = after;
            }
            None => {
                done.push('$');
                rest = named;
            }
        }
    }
    done + rest
}

/// The other way around, and shorter.
fn with_names(text: &str) -> String {
    let known = preambles().iter();
    let named =
        known.fold(text.to_string(), |text, (name, id)| text.replace(&id.to_string(), &format!("${name}")));
    named.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn info() -> p4runtime_proto::p4::config::v1::P4Info {
    static INFO: OnceLock<p4runtime_proto::p4::config::v1::P4Info> = OnceLock::new();
    INFO.get_or_init(|| p4info::p4info(&program()).unwrap()).clone()
}

pub fn program() -> std::sync::Arc<ir::Program> {
    static PROGRAM: OnceLock<std::sync::Arc<ir::Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("all.p4")).clone()
}

fn compiled(file: &str) -> std::sync::Arc<ir::Program> {
    let path = format!("{}/tests/p4runtime/{file}", env!("CARGO_MANIFEST_DIR"));
    compiled_text(&std::fs::read_to_string(path).expect("the program is there"))
}

/// A program for TNA that reads the header of generated packets.
pub fn generator() -> std::sync::Arc<ir::Program> {
    let common = include_str!("../../../ir-interp/testdata/tna_common.p4");
    let text = include_str!("../../../ir-interp/testdata/tna_pktgen.p4");
    compiled_text(&text.replace("#include \"tna_common.p4\"", common))
}

pub fn arbitration(device_id: u64, election: Option<u64>) -> StreamMessageRequest {
    let election_id = election.map(|low| Uint128 { high: 0, low });
    let update = MasterArbitrationUpdate { device_id, election_id, ..MasterArbitrationUpdate::default() };
    StreamMessageRequest { update: Some(Asked::Arbitration(update)) }
}

impl Bench {
    fn switch(&mut self) -> &mut dyn Served {
        match &mut self.world {
            World::One(one) => &mut **one,
            World::Rack(rack) => &mut **rack,
        }
    }

    /// With a program and a controller.
    pub fn started(mut self) -> Bench {
        assert_eq!(self.call(Call::Start(Box::default(), vec![])), "OK\n");
        self.message(0, &arbitration(1, Some(1)));
        self
    }

    /// Notes the writes of controllers from now on.
    pub fn keeping(mut self) -> Bench {
        self.switch().keep_notes();
        self
    }

    /// Changes since the last call.
    pub fn noted(&mut self) -> Batch {
        self.switch().noted()
    }

    /// Updates as in [`write_with`](Bench::write_with): what is noted after each slice, and the answer.
    pub fn noted_while(&mut self, atomicity: &str, updates: &[&str]) -> (Vec<Batch>, String) {
        let (now, request) = (self.now, Box::new(write_request(atomicity, updates)));
        let mut events = self.switch().call(now, Ticket(1), Call::Write(request));
        let mut noted = vec![self.noted()];
        while self.switch().is_busy() {
            events.extend(self.switch().go_on(now));
            noted.push(self.noted());
        }
        (noted, replied(events))
    }

    /// Goes on from a state that was kept, with a controller.
    pub fn resumed(mut self, state: SavedState) -> Bench {
        assert_eq!(self.call(Call::Resume(Box::new(state), BTreeSet::new())), "OK\n");
        self.message(0, &arbitration(1, Some(1)));
        self
    }

    fn call(&mut self, call: Call) -> String {
        let now = self.now;
        let mut events = self.switch().call(now, Ticket(1), call);
        while self.switch().is_busy() {
            events.extend(self.switch().go_on(now));
        }
        replied(events)
    }

    /// Updates one after the other in one request, each `INSERT entity`; the answer.
    pub fn write(&mut self, updates: &[&str]) -> String {
        self.write_with("CONTINUE_ON_ERROR", updates)
    }

    pub fn write_with(&mut self, atomicity: &str, updates: &[&str]) -> String {
        self.call(Call::Write(Box::new(write_request(atomicity, updates))))
    }

    /// All that fits a query.
    pub fn read(&mut self, query: &str) -> String {
        self.call(Call::Read(read_request(query)))
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
        self.call(Call::SetConfig(Box::new(request)))
    }

    /// [`set_config`](Bench::set_config) by the client of election 1.
    pub fn set_config_by(&mut self, action: Action, config: Option<ForwardingPipelineConfig>) -> String {
        self.set_config(SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            action: action as i32,
            config,
            ..SetForwardingPipelineConfigRequest::default()
        })
    }

    /// Replaces the configuration by itself, and keeps what was written.
    pub fn set_config_again(&mut self) -> String {
        let config = self.get_config();
        self.set_config_by(Action::ReconcileAndCommit, Some(config))
    }

    pub fn get_config(&mut self) -> ForwardingPipelineConfig {
        let request = GetForwardingPipelineConfigRequest::default();
        self.switch().answers().get_config(&request).unwrap().config.unwrap()
    }

    /// Sends an operator's request; returns the answer.
    pub fn steer(&mut self, steer: Steer) -> String {
        self.call(Call::Steer(None, steer))
    }

    /// Description of the switch.
    pub fn show(&mut self) -> ShowResponse {
        self.switch().show()
    }

    /// The same, as events.
    pub fn steered(&mut self, steer: Steer) -> Vec<Event> {
        let now = self.now;
        self.switch().call(now, Ticket(1), Call::Steer(None, steer))
    }

    /// The switches that run.
    pub fn devices(&mut self) -> Vec<&mut Controlled> {
        match &mut self.world {
            World::One(one) => one.device().into_iter().collect(),
            World::Rack(rack) => rack.devices().collect(),
        }
    }

    /// Entities of a device of a rack.
    pub fn holds(&mut self, device: usize, query: &str) -> Vec<Entity> {
        match &mut self.world {
            World::One(_) => panic!("no rack"),
            World::Rack(rack) => rack.holds(device, read_request(query).entities[0].clone()),
        }
    }

    /// A device of a rack restarts, and is repaired.
    pub fn restart(&mut self, device: usize) {
        let World::Rack(rack) = &mut self.world else { panic!("no rack") };
        rack.restart(self.now, device);
        self.wait(Duration::from_ms(1));
    }

    /// A port goes up or down.
    pub fn link(&mut self, port: u32, is_up: bool) {
        self.switch().link(port, is_up);
    }

    /// True if workers on other threads may run frames.
    pub fn runs_in_lanes(&mut self) -> bool {
        self.switch().shared().is_some()
    }

    pub fn is_rack(&self) -> bool {
        matches!(self.world, World::Rack(_))
    }

    /// When there is something to do next, after the start.
    pub fn deadline(&mut self) -> Duration {
        self.switch().deadline().expect("something is due").since(Time::ZERO)
    }

    /// Value of the metric with this name, and with this value of its labels after a space.
    pub fn metric(&mut self, name: &str) -> u64 {
        let all = device_control::exposition(&self.switch().metrics());
        let (name, label) = name.split_once(' ').unwrap_or((name, ""));
        let is_it = |line: &&str| line.contains(name) && line.contains(label) && !line.starts_with('#');
        let line = all.lines().find(is_it).unwrap_or_else(|| panic!("{name} {label}: {all}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    }

    /// Sends a controller's message; returns messages to controllers, and frames.
    pub fn message(&mut self, stream: u64, message: &StreamMessageRequest) -> String {
        let now = self.now;
        reported(self.switch().message(now, StreamId(stream), message))
    }

    pub fn close(&mut self, stream: u64) -> String {
        let now = self.now;
        reported(self.switch().close(now, StreamId(stream)))
    }

    /// Sends a frame; returns ports and bytes of the output, and messages to controllers.
    pub fn packet(&mut self, port: u32, hex: &str) -> String {
        self.now += Duration::from_ms(1);
        let now = self.now;
        reported(self.switch().frame(now, port, &bytes(hex)))
    }

    pub fn wait(&mut self, span: Duration) -> String {
        self.now += span;
        let now = self.now;
        reported(self.switch().tick(now))
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

fn listed(found: &Pieces, ended: Result<(), Status>) -> String {
    let mut lines: String =
        found.entities().map(|entity| with_names(&to_text(&entity).unwrap()) + "\n").collect();
    if ended.is_err() {
        lines += &answer(ended);
    }
    lines
}

/// The reply to the only call.
pub fn replied(events: Vec<Event>) -> String {
    let [Event::Reply(_, reply)] = &events[..] else { panic!("{events:?}") };
    match reply.clone() {
        // A single device has no name to report.
        Reply::Done(ended) => answer(ended).replace("device `tor` could not: ", ""),
        Reply::Found(found, ended) => listed(&found, ended),
        Reply::Traced(traced) => answer(traced.map(drop)),
        Reply::Merged(said) => answer(said.map(drop)),
    }
}

pub fn reported(events: Vec<Event>) -> String {
    let one = |event| match event {
        Event::Send(stream, message) => {
            format!("to {}: {}\n", stream.0, with_names(&to_text(&message).unwrap()))
        }
        Event::End(stream, why) => format!("end {}: {why}\n", stream.0),
        Event::Frame(port, frame) => format!("{port}: {}\n", shown(&frame)),
        Event::Reply(..) | Event::Ask(..) => panic!("{event:?}"),
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
