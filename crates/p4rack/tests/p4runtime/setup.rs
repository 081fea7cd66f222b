//! A server with a program and a primary controller.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::control::Maker;
use p4rack::{Until, compile};
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, StreamMessageRequest, Uint128,
    WriteRequest, stream_message_request::Update as Asked,
};
use p4runtime_proto::{from_text, to_text};
use p4runtime_server::{Output, Server, Status, StreamId};

pub const PROGRAM: &str = include_str!("all.p4");

/// A server, and what has happened on its streams.
pub struct Bench {
    pub server: Server<Maker>,
    pub now: Time,
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
    pub fn new() -> Bench {
        let mut bench = Bench::bare();
        bench.server.start(ForwardingPipelineConfig::default()).unwrap();
        bench.server.message(StreamId(0), &arbitration(1, Some(1)));
        bench
    }

    /// Without a program and controller.
    pub fn bare() -> Bench {
        let maker = Maker { seed: 1, drop_port: None, own: Some(program()) };
        Bench { server: Server::new(maker, 1, 1_000_000_000), now: Time::ZERO }
    }

    /// Updates one after the other in one request, each `INSERT entity`; the answer.
    pub fn write(&mut self, updates: &[&str]) -> String {
        self.write_with("CONTINUE_ON_ERROR", updates)
    }

    pub fn write_with(&mut self, atomicity: &str, updates: &[&str]) -> String {
        let updates: String = updates
            .iter()
            .map(|update| {
                let (how, entity) = update.split_once(' ').unwrap();
                format!("updates {{ type: {how} entity {{ {} }} }}\n", with_ids(entity))
            })
            .collect();
        let text = format!("device_id: 1 election_id {{ low: 1 }} atomicity: {atomicity}\n{updates}");
        let request: WriteRequest = from_text(&text).unwrap();
        answer(self.server.write(&request))
    }

    /// All that fits a query.
    pub fn read(&self, query: &str) -> String {
        let request: ReadRequest =
            from_text(&format!("device_id: 1 entities {{ {} }}", with_ids(query))).unwrap();
        let mut lines = String::new();
        let ended = self.server.read(&request, &mut |response| {
            for entity in &response.entities {
                lines += &with_names(&to_text(entity).unwrap());
                lines += "\n";
            }
        });
        if ended.is_err() {
            lines += &answer(ended);
        }
        lines
    }

    /// Writes, which has to work, and reads the same back.
    pub fn symmetric(&mut self, entity: &str) {
        assert_eq!(self.write(&[&format!("INSERT {entity}")]), "OK\n");
        let kind = entity.split_whitespace().next().unwrap();
        let all = self.read(&format!("{kind} {{}}"));
        let wanted = entity.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.lines().any(|line| line == wanted), "{wanted}\nis not among\n{all}");
    }

    /// A frame in; port and bytes of what comes out.
    pub fn packet(&mut self, port: u32, hex: &str) -> String {
        self.now += Duration::from_ms(1);
        let frame = bytes(hex);
        let now = self.now;
        let target = self.server.target().unwrap();
        target.at(now);
        let outputs = target.switch().process(port, &frame, now);
        outputs.iter().map(|o| format!("{}: {}\n", o.port, shown(&o.frame))).collect()
    }

    pub fn wait(&mut self, span: Duration) -> String {
        self.now += span;
        told(&self.server.tick(self.now))
    }
}

pub fn told(outputs: &[Output]) -> String {
    outputs
        .iter()
        .map(|output| match output {
            Output::Send(stream, message) => {
                format!("to {}: {}\n", stream.0, with_names(&to_text(message).unwrap()))
            }
            Output::End(stream, why) => format!("end {}: {why}\n", stream.0),
            Output::Inject(frame) => format!("in: {}\n", shown(frame)),
        })
        .collect()
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
