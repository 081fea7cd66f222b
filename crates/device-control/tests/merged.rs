//! Merged registers on a switch and its helpers: controller, agents and devices as they are, over a control network that loses
//! messages of all kinds, and doubles and reorders those of the merge. Every packet that a device has counted is counted beside it.

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use compiler::reparse;
use controller::{
    Agent, Answer, Ask, AskId, Call, Controller, DeviceId, Effect, Output, Reply, Ticket, Timing, Wires,
};
use dataplane_api::Device as _;
use device_control::{Boots, Controlled, Known, Maker, Splitter, wires};
use features::setting;
use ir_split::{DeviceIndex, Placement, Policy, Site};
use p4runtime_proto::p4::v1::{
    Entity, Index, P4Data, ReadRequest, RegisterEntry, Uint128, Update, WriteRequest, entity::Entity as Kind,
    p4_data::Data, update::Type,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const CELLS: u64 = 4;
const REGISTER: &str = "I.seen";
const STEP: Duration = Duration::from_us(20);

const TIMING: Timing = Timing {
    drain: Duration::from_ms(5),
    quiet: Duration::from_ms(1),
    patience_least: Duration::from_ms(1),
    patience_most: Duration::from_s(60),
    look: Duration::from_ms(10),
    merge: Duration::from_ms(2),
    lease: Duration::from_ms(100),
};

/// Packets with `b` = 255 are counted by the switch, all others by a helper; `a` is the cell.
fn source(operator: &str, width: u32, step: &str) -> String {
    format!(
        "#include <core.p4>
        #include <v1model.p4>
        header h_t {{ bit<8> a; bit<8> b; bit<32> v; }}
        struct headers {{ h_t h; }}
        struct metadata {{ @shard(\"R\", 64) bit<8> shard; }}
        parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            state start {{ pkt.extract(hdr.h); transition accept; }}
        }}
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            @merge({operator}) register<bit<{width}>>({CELLS}) seen;
            apply {{
                std.egress_spec = 2;
                meta.shard = hdr.h.b & 63;
                bit<{width}> n;
                bit<{width}> v = (bit<{width}>)hdr.h.v;
                if (hdr.h.b == 255) {{
                    seen.read(n, (bit<32>)hdr.h.a);
                    {step}
                    seen.write((bit<32>)hdr.h.a, n);
                }} else {{
                    @region(\"R\") {{
                        seen.read(n, (bit<32>)hdr.h.a);
                        {step}
                        seen.write((bit<32>)hdr.h.a, n);
                    }}
                }}
            }}
        }}
        control O(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        control D(packet_out pkt, in headers hdr) {{ apply {{ pkt.emit(hdr.h); }} }}
        V1Switch(P(), C(), I(), O(), C(), D()) main;"
    )
}

fn sums() -> String {
    source("\"add\"", 32, "n = n + v;")
}

#[derive(Clone)]
enum Message {
    Ask(DeviceId, Option<AskId>, Ask),
    Answer(AskId, Answer),
    Push(DeviceId, Vec<u8>),
    BeganAnew(DeviceId),
}

/// Percents of messages that are lost, and of those of the merge that come twice; the most that these take longer.
#[derive(Clone, Copy)]
struct Faults {
    loss: u64,
    double: u64,
    jitter: Duration,
    /// A restart in so many steps.
    restart: u64,
}

const CALM: Faults = Faults { loss: 0, double: 0, jitter: Duration::ZERO, restart: 0 };
const HARD: Faults = Faults { loss: 20, double: 20, jitter: Duration::from_ms(3), restart: 700 };

struct Rig {
    controller: Controller<Splitter>,
    agents: Vec<Agent<Maker>>,
    wires: Wires,
    now: Time,
    under_way: BTreeMap<(Time, u64), Message>,
    sent: u64,
    /// Calls to and from a device stay in order.
    last: BTreeMap<(usize, bool), Time>,
    rng: Rng,
    faults: Faults,
    replies: Vec<Reply>,
    /// What packets have added to each cell.
    truth: BTreeMap<u64, u128>,
    /// What may be lost of it, at most.
    lost: BTreeMap<u64, u128>,
    /// What each device showed before.
    shown: Vec<[u128; CELLS as usize]>,
    /// Shown values grow, and there is a truth.
    checks: bool,
    restarts: u64,
}

/// A device shows what it must not.
type Check = Result<(), String>;

impl Rig {
    /// A switch with this many helpers, each with its program.
    fn new(text: &str, helpers: u32, seed: u64) -> Rig {
        let program =
            reparse("merged.p4", text, &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
        let maker = Maker {
            seed,
            drop_port: None,
            own: Some(program),
            keep_program: false,
            retire: Arc::new(drop),
            registry: netfn_registry::all(),
            handlers: None,
            queue_depths: Arc::default(),
            known: Known::default(),
            boots: Boots::default(),
            shares: false,
            memory: u64::MAX,
        };
        let all: Vec<DeviceIndex> = (1..=helpers).map(DeviceIndex).collect();
        let policy = if helpers > 1 { Policy::Shard } else { Policy::Direct };
        let mut placement = Placement::whole("tor");
        placement.devices.extend(all.iter().map(|at| format!("nic{}", at.0).as_str().into()));
        placement.sites = [("R".into(), Site { devices: all.clone(), policy })].into();
        for at in &all {
            let tor = DeviceIndex(0);
            placement
                .ports
                .extend([((tor, *at), 100 + u64::from(at.0)), ((*at, tor), 1)].map(|(k, v)| (k, v as _)));
        }
        let wires = wires(&placement);
        let agents = placement.devices.iter().map(|_| Agent::new(Maker { own: None, ..maker.clone() }));
        let agents: Vec<_> = agents.collect();
        let shown = vec![[0; CELLS as usize]; agents.len()];
        let mut rig = Rig {
            controller: Controller::new(Splitter::new(maker, placement), 1, 0, TIMING),
            agents,
            wires,
            now: Time::ZERO,
            under_way: BTreeMap::new(),
            sent: 0,
            last: BTreeMap::new(),
            rng: Rng::new(seed),
            faults: CALM,
            replies: vec![],
            truth: BTreeMap::new(),
            lost: BTreeMap::new(),
            shown,
            checks: true,
            restarts: 0,
        };
        assert_eq!(rig.call(Call::Start(Box::default(), vec![])), Reply::Done(Ok(())));
        rig
    }

    /// Makes a call, and waits for its reply.
    fn call(&mut self, call: Call) -> Reply {
        let outputs = self.controller.call(self.now, Ticket(0), call);
        self.perform(outputs);
        for _ in 0..1_000_000 {
            if let Some(reply) = self.replies.pop() {
                return reply;
            }
            self.pass(STEP).unwrap();
        }
        panic!("there is no reply");
    }

    fn perform(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Ask(device, id, ask) => self.send(device.0, true, Message::Ask(device, id, ask)),
                Output::Reply(_, reply) => self.replies.push(reply),
                Output::Send(..) | Output::End(..) => {}
            }
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn send(&mut self, device: usize, is_down: bool, message: Message) {
        const DELAY: Duration = Duration::from_us(100);
        if self.chance(self.faults.loss) {
            return;
        }
        if !matches!(message, Message::Push(..) | Message::Ask(.., Ask::Merge(_))) {
            let last = self.last.entry((device, is_down)).or_default();
            *last = (*last).max(self.now + DELAY);
            self.under_way.insert((*last, self.sent), message);
            self.sent += 1;
            return;
        }
        for _ in 0..1 + u64::from(self.chance(self.faults.double)) {
            let longer = Duration::from_ps(self.rng.below(self.faults.jitter.as_ps() + 1));
            self.under_way.insert((self.now + DELAY + longer, self.sent), message.clone());
            self.sent += 1;
        }
    }

    /// Time passes, and messages come.
    fn pass(&mut self, time: Duration) -> Check {
        let until = self.now + time;
        loop {
            let message = self.under_way.first_key_value().map(|((at, _), _)| *at);
            let due = message.into_iter().chain(self.controller.deadline()).min();
            let Some(due) = due.filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= self.now) {
                let message = first.remove();
                self.arrive(message)?;
            }
            if self.controller.deadline().is_some_and(|due| due <= self.now) {
                let outputs = self.controller.tick(self.now);
                self.perform(outputs);
            }
        }
        self.now = until;
        Ok(())
    }

    fn arrive(&mut self, message: Message) -> Check {
        let outputs = match message {
            Message::Answer(id, answer) => self.controller.answer(self.now, id, answer),
            Message::Push(device, frame) => self.controller.pushed(self.now, device, &frame),
            Message::BeganAnew(device) => self.controller.restarted(self.now, device),
            Message::Ask(device, id, ask) => {
                let is_merge = matches!(ask, Ask::Merge(_));
                // A program that takes the place of another one begins with zeros, as after a restart.
                let before = matches!(ask, Ask::Commit(_)).then(|| self.unheard(device.0));
                let program = self.program(device.0);
                let agent = &mut self.agents[device.0];
                agent.targets().for_each(|target| target.at(self.now));
                let (answer, effects) = match ask {
                    // No packet is ever inside.
                    Ask::Ports => (Some(Answer::Ports(BTreeMap::new())), vec![]),
                    ask => agent.ask(self.now, ask),
                };
                if let Some(before) = before.filter(|_| self.program(device.0) != program) {
                    self.lose(device.0, before);
                }
                for effect in effects {
                    if let Effect::Push(frame) = effect {
                        self.send(device.0, false, Message::Push(device, frame));
                    }
                }
                if let (Some(id), Some(answer)) = (id, answer) {
                    self.send(device.0, false, Message::Answer(id, answer));
                }
                return if is_merge && self.checks { self.check(device.0) } else { Ok(()) };
            }
        };
        self.perform(outputs);
        Ok(())
    }

    fn cell(&mut self, device: usize, cell: u64) -> Option<u128> {
        let target: &mut Controlled = self.agents[device].target()?;
        target.switch().register_read(REGISTER, cell).ok()?.to_u128()
    }

    /// A copy never shows more than there is, and never less than before.
    fn check(&mut self, device: usize) -> Check {
        for cell in 0..CELLS {
            let Some(shown) = self.cell(device, cell) else { return Ok(()) };
            let truth = self.truth.get(&cell).copied().unwrap_or(0);
            let before = std::mem::replace(&mut self.shown[device][cell as usize], shown);
            if shown > truth {
                return Err(format!("device {device} shows {shown} of {truth}"));
            }
            if shown < before {
                return Err(format!("device {device} goes back from {before} to {shown}"));
            }
        }
        Ok(())
    }

    /// A packet comes in. True if a device has counted it.
    fn packet(&mut self, cell: u8, by: u8, value: u32) -> bool {
        let frame = [vec![cell, by], value.to_be_bytes().to_vec(), vec![0; 60]].concat();
        let mut at = vec![(0, 3, frame)];
        let mut is_counted = false;
        while let Some((device, port, frame)) = at.pop() {
            let Some(target) = self.agents[device].target() else { continue };
            for out in target.process(port, &frame, self.now) {
                is_counted |= if by == 255 { device == 0 } else { device != 0 };
                if let Some((next, entry)) = self.wires.get(&(device, out.port)) {
                    at.push((*next, *entry, out.frame));
                }
            }
        }
        if is_counted {
            *self.truth.entry(cell.into()).or_default() += u128::from(value);
        }
        is_counted
    }

    fn any_packet(&mut self) -> bool {
        let cell = self.rng.below(CELLS) as u8;
        let by = if self.rng.below(3) == 0 { 255 } else { self.rng.below(64) as u8 };
        let value = 1 + self.rng.below(3) as u32;
        self.packet(cell, by, value)
    }

    fn id(&self) -> u32 {
        let rollout = self.controller.rollout().expect("there is a program");
        let registers = &rollout.info.registers;
        registers[0].preamble.as_ref().map(|preamble| preamble.id).expect("it has an id")
    }

    /// Stands for the program that a device runs.
    fn program(&mut self, device: usize) -> Option<*const ()> {
        self.agents[device].target().map(|target| Arc::as_ptr(target.token()))
    }

    /// What a device has counted and the controller does not know.
    fn unheard(&mut self, device: usize) -> BTreeMap<u64, u128> {
        let Some(id) = self.controller.rollout().is_some().then(|| self.id()) else { return BTreeMap::new() };
        let taken = self.controller.merge_taken(DeviceId(device)).remove(&id).unwrap_or_default();
        let counted = self.agents[device].counted(id).into_iter();
        counted.map(|(cell, own)| (cell, own - taken.get(&cell).copied().unwrap_or(0).min(own))).collect()
    }

    fn lose(&mut self, device: usize, unheard: BTreeMap<u64, u128>) {
        unheard.into_iter().for_each(|(cell, count)| *self.lost.entry(cell).or_default() += count);
        self.shown[device] = [0; CELLS as usize];
    }

    fn restart(&mut self, device: usize) {
        let unheard = self.unheard(device);
        self.lose(device, unheard);
        self.agents[device].restart();
        self.restarts += 1;
        // It says so until it is heard.
        let at = (self.now + Duration::from_us(100), self.sent);
        self.under_way.insert(at, Message::BeganAnew(DeviceId(device)));
        self.sent += 1;
    }

    /// No more packets come; devices are repaired and merged.
    fn settle(&mut self) -> Check {
        let stop = self.now;
        while self.controller.merges_since(stop) || !self.controller.stale().is_empty() {
            self.pass(Duration::from_ms(1))?;
            if self.now > stop + Duration::from_s(120) {
                return Err("it does not end".to_string());
            }
        }
        Ok(())
    }

    /// All copies are equal, and lack nothing but what is known to be lost.
    fn after(&mut self) -> Check {
        for cell in 0..CELLS {
            let all: Vec<_> = (0..self.agents.len()).map(|device| self.cell(device, cell)).collect();
            let [Some(first), rest @ ..] = all.as_slice() else {
                return Err("the switch runs nothing".into());
            };
            if rest.iter().any(|other| other != &Some(*first)) {
                return Err(format!("copies differ: {all:?}"));
            }
            let [truth, lost] = [&self.truth, &self.lost].map(|all| all.get(&cell).copied().unwrap_or(0));
            if *first > truth || first + lost < truth {
                return Err(format!("{first} of {truth}, of which {lost} may be lost"));
            }
        }
        Ok(())
    }

    fn run(&mut self, faults: Faults, steps: u64) -> Check {
        self.faults = faults;
        for _ in 0..steps {
            self.any_packet();
            self.pass(STEP)?;
            if faults.restart > 0 && self.rng.below(faults.restart) == 0 {
                let device = self.rng.below(self.agents.len() as u64) as usize;
                self.restart(device);
            }
        }
        self.settle()?;
        self.after()
    }

    fn query(&self, cell: u64, value: Option<u32>) -> Entity {
        let data = value.map(|value| {
            let bytes = value.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(3);
            P4Data { data: Some(Data::Bitstring(bytes[zeros..].to_vec())) }
        });
        let index = Some(Index { index: cell as i64 });
        Entity { entity: Some(Kind::RegisterEntry(RegisterEntry { register_id: self.id(), index, data })) }
    }

    /// As a controller reads it.
    fn read(&mut self, cell: u64) -> u128 {
        let entities = vec![self.query(cell, None)];
        let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
        let Reply::Found(found, Ok(())) = self.call(Call::Read(request)) else { panic!("it cannot be read") };
        let Some(Entity { entity: Some(Kind::RegisterEntry(e)) }) = found.entities().next() else {
            panic!("there is no cell");
        };
        let Some(Data::Bitstring(bytes)) = e.data.and_then(|data| data.data) else { panic!("no number") };
        bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    fn write(&mut self, cell: u64, value: u32) {
        let entity = Some(self.query(cell, Some(value)));
        let updates = vec![Update { r#type: Type::Modify as i32, entity }];
        let election_id = Some(Uint128 { high: 0, low: 1 });
        let request = WriteRequest { device_id: 1, election_id, updates, ..WriteRequest::default() };
        self.truth.insert(cell, value.into());
        self.lost.remove(&cell);
        self.shown.iter_mut().for_each(|shown| shown[cell as usize] = 0);
        assert_eq!(self.call(Call::Operate(Box::new(request))), Reply::Done(Ok(())));
    }
}

#[test]
fn copies_are_exact_once_traffic_stops_whatever_is_lost_doubled_reordered_or_restarted() {
    let text = sums();
    let all = std::env::var_os("P4RACK_ALL").is_some();
    let seeds = setting("P4RACK_SEEDS", if all { 240 } else { 3 });
    let mut restarts = 0;
    for helpers in [1, 2, 3, 4, 16] {
        for seed in 0..seeds {
            let mut rig = Rig::new(&text, helpers, seed);
            let ended = rig.run(HARD, 1_000);
            ended.unwrap_or_else(|error| panic!("seed {seed}, {helpers} helpers: {error}"));
            restarts += rig.restarts;
        }
    }
    assert!(restarts > 5, "{restarts} restarts");
}

#[test]
fn nothing_is_lost_without_restarts() {
    let mut rig = Rig::new(&sums(), 3, 1);
    rig.run(Faults { restart: 0, ..HARD }, 1_000).unwrap();
    let cells: Vec<_> = (0..CELLS).map(|cell| rig.cell(2, cell).unwrap()).collect();
    assert_eq!(cells, rig.truth.values().copied().collect::<Vec<_>>());
    assert!(rig.truth.values().sum::<u128>() > 1_000);
}

#[test]
fn a_controller_reads_what_all_devices_have_counted_and_writes_what_all_show() {
    let mut rig = Rig::new(&sums(), 3, 1);
    rig.faults = Faults { restart: 0, ..HARD };
    for by in [255, 0, 20, 40, 63] {
        assert!(rig.packet(1, by, 7));
    }
    assert_eq!(rig.read(1), 35);
    rig.write(1, 1000);
    assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(1000); 4]);
    assert!(rig.packet(1, 3, 5));
    assert!(rig.packet(1, 255, 6));
    assert_eq!(rig.read(1), 1011);
    rig.truth.insert(1, 1011);
    rig.settle().unwrap();
    rig.after().unwrap();
    // A device that begins anew gets it, too.
    rig.restart(2);
    rig.settle().unwrap();
    rig.after().unwrap();
}

#[test]
fn values_outlive_another_plan() {
    let mut rig = Rig::new(&sums(), 1, 1);
    rig.checks = false;
    (0..10).for_each(|_| assert!(rig.packet(2, 255, 1) && rig.packet(2, 5, 1)));
    // Nothing was merged yet; then both regions are at the switch, and apart again.
    let at = |device: &str| Call::Steer(None, controller_replace(device));
    assert_eq!(rig.call(at("tor")), Reply::Done(Ok(())));
    assert_eq!(rig.cell(0, 2), Some(20));
    rig.packet(2, 5, 1);
    assert_eq!(rig.cell(0, 2), Some(21));
    assert_eq!(rig.call(at("nic1")), Reply::Done(Ok(())));
    assert_eq!([rig.cell(0, 2), rig.cell(1, 2)], [Some(21); 2]);
    assert!(rig.packet(2, 5, 1));
    assert_eq!(rig.read(2), 22);
}

fn controller_replace(device: &str) -> controller::Steer {
    controller::Steer::Replace([("R".to_string(), device.to_string())].into())
}

#[test]
fn the_largest_the_smallest_and_all_bits() {
    let of = |operator: &str, step: &str| {
        let operator = format!("\"{operator}\", reads = \"stale\"");
        let mut rig = Rig::new(&source(&operator, 16, step), 2, 1);
        rig.checks = false;
        rig.faults = Faults { restart: 0, ..HARD };
        // The shown values need not grow.
        for (by, value) in [(255, 12), (0, 9), (40, 34)] {
            rig.packet(0, by, value);
        }
        let read = rig.read(0);
        rig.settle().unwrap();
        (read, [0, 1, 2].map(|device| rig.cell(device, 0).unwrap_or(0)))
    };
    assert_eq!(of("max", "if (v > n) { n = v; }"), (34, [34; 3]));
    assert_eq!(of("min", "if (n == 0 || v < n) { n = v; }"), (9, [9; 3]));
    assert_eq!(of("or", "n = n | v;"), (12 | 9 | 34, [12 | 9 | 34; 3]));
}

#[test]
fn traffic_is_proportional_to_what_changed() {
    const MANY: u64 = 127_000;
    let text = sums().replace(&format!("({CELLS}) seen"), &format!("({MANY}) seen"));
    let text = text.replace("bit<8> a;", "bit<32> a;").replace("(bit<32>)hdr.h.a", "hdr.h.a");
    let mut rig = Rig::new(&text, 1, 1);
    rig.checks = false;
    let count = |rig: &mut Rig, cell: u64| {
        let frame = [&(cell as u32).to_be_bytes()[..], &[7, 0, 0, 0, 1], &[0; 60]].concat();
        let target = rig.agents[0].target().unwrap();
        for out in target.process(3, &frame, rig.now) {
            let (next, entry) = rig.wires[&(0, out.port)];
            rig.agents[next].target().unwrap().process(entry, &out.frame, rig.now);
        }
    };
    let per_round = |rig: &mut Rig, changed: u64| {
        (0..changed).for_each(|n| count(rig, n * 127));
        let before = rig.controller.merge_traffic();
        rig.pass(TIMING.merge).unwrap();
        let after = rig.controller.merge_traffic();
        assert_eq!(after.rounds - before.rounds, 1);
        8 * (after.bytes - before.bytes)
    };
    (0..MANY).for_each(|cell| count(&mut rig, cell));
    rig.pass(Duration::from_ms(20)).unwrap();
    let idle = per_round(&mut rig, 0);
    let busy = per_round(&mut rig, 1_000);
    // By default a round is begun every second.
    eprintln!("bits in a round: {idle} idle, {busy} with 1,000 changed");
    assert!(idle < 10_000, "{idle} bits");
    assert!(busy < 400_000, "{busy} bits");
    rig.pass(Duration::from_ms(1)).unwrap();
    assert_eq!([0, 1].map(|device| rig.cell(device, 126_873)), [Some(2); 2]);
}
