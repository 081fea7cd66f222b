//! Controllers of a rack that die, are started twice, return, or run another program; and clients that are not its controllers.

use crate::setup::{Rack, Switch, are_sound, changed, ctl, directory, is_running, secret, text};
use base_time::Rng;
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Entity, GetForwardingPipelineConfigRequest, ReadRequest, StreamMessageRequest, StreamMessageResponse,
    Uint128, Update, WriteRequest, entity::Entity as Kind, field_match::FieldMatchType,
    stream_message_response::Update as ResponseUpdate, write_request::Atomicity,
};
use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Request, Streaming};

/// A P4Runtime client with a stream.
pub struct Client {
    runtime: Runtime,
    p4runtime: P4RuntimeClient<Channel>,
    election: Uint128,
    /// Whom the switch's metadata want.
    secret: Option<String>,
    _say: mpsc::Sender<StreamMessageRequest>,
    heard: Streaming<StreamMessageResponse>,
}

fn number(id: &Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn with<T>(secret: Option<&String>, message: T) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(secret) = secret {
        request.metadata_mut().insert("authorization", format!("Bearer {secret}").parse().unwrap());
    }
    request
}

impl Client {
    pub fn new(address: &str, election: u128, secret: Option<String>) -> Result<Client, tonic::Status> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let election = Uint128 { high: (election >> 64) as u64, low: election as u64 };
        let opened: Result<_, tonic::Status> = runtime.block_on(async {
            let connected = P4RuntimeClient::connect(format!("http://{address}")).await;
            let mut p4runtime = connected.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
            let (say, said) = mpsc::channel(4);
            let Uint128 { high, low } = election;
            let hello = format!("arbitration {{ election_id {{ high: {high} low: {low} }} }}");
            say.send(from_text(&hello).unwrap()).await.unwrap();
            let said = with(secret.as_ref(), ReceiverStream::new(said));
            let heard = p4runtime.stream_channel(said).await?.into_inner();
            Ok((p4runtime, say, heard))
        });
        let (p4runtime, _say, heard) = opened?;
        Ok(Client { runtime, p4runtime, election, secret, _say, heard })
    }

    /// The code of the next arbitration update, and the highest election id in it.
    pub fn reported(&mut self) -> (i32, u128) {
        let message = self.runtime.block_on(self.heard.message()).unwrap().unwrap();
        let Some(ResponseUpdate::Arbitration(reported)) = message.update else { panic!("{message:?}") };
        (reported.status.unwrap().code, reported.election_id.as_ref().map_or(0, number))
    }

    fn info(&mut self) -> Option<P4Info> {
        let request = with(self.secret.as_ref(), GetForwardingPipelineConfigRequest::default());
        let found = self.runtime.block_on(self.p4runtime.get_forwarding_pipeline_config(request)).ok()?;
        found.into_inner().config?.p4info
    }

    /// The table of ports and the action of its entries.
    pub fn ids(&mut self) -> (u32, u32) {
        self.try_ids().unwrap()
    }

    fn try_ids(&mut self) -> Option<(u32, u32)> {
        let info = self.info()?;
        let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
        let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
        let table = tables.into_iter().find(|preamble| preamble.name == "CountIngress.ports")?.id;
        Some((table, actions.into_iter().find(|preamble| preamble.name == "CountIngress.to")?.id))
    }

    /// Entry that sends packets of a port to port 2.
    fn entry((table, action): (u32, u32), port: u8) -> String {
        format!(
            "table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"\\{port:03o}\" }} }} action {{ action {{ action_id: {action} params {{ param_id: 1 value: \"\\002\" }} }} }} }}"
        )
    }

    pub fn write(&mut self, how: &str, port: u8) -> Result<(), tonic::Status> {
        let ids = self.ids();
        self.write_by(ids, how, port)
    }

    fn update(ids: (u32, u32), how: &str, port: u8, election: Uint128) -> WriteRequest {
        let entry = Client::entry(ids, port);
        let mut request: WriteRequest =
            from_text(&format!("updates {{ type: {how} entity {{ {entry} }} }}")).unwrap();
        request.election_id = Some(election);
        request
    }

    pub fn write_by(&mut self, ids: (u32, u32), how: &str, port: u8) -> Result<(), tonic::Status> {
        let request = with(self.secret.as_ref(), Client::update(ids, how, port, self.election));
        self.runtime.block_on(self.p4runtime.write(request)).map(drop)
    }

    /// Inserts and deletes entries, `at_once` of them at a time; how long `count` writes take.
    pub fn write_many(&mut self, count: u64, at_once: u8) -> Duration {
        let ids = self.ids();
        let (election, begun) = (self.election, Instant::now());
        self.runtime.block_on(async {
            let writers = (0..at_once).map(|writer| {
                let mut p4runtime = self.p4runtime.clone();
                tokio::spawn(async move {
                    for number in 0..count / u64::from(at_once) {
                        let how = if number % 2 == 0 { "INSERT" } else { "DELETE" };
                        p4runtime.write(Client::update(ids, how, 10 + writer, election)).await.unwrap();
                    }
                })
            });
            for writer in writers.collect::<Vec<_>>() {
                writer.await.unwrap();
            }
        });
        begun.elapsed()
    }

    fn read(&mut self, query: &str) -> Vec<Entity> {
        let request: ReadRequest = from_text(&format!("entities {{ {query} }}")).unwrap();
        let request = with(self.secret.as_ref(), request);
        let (runtime, p4runtime) = (&self.runtime, &mut self.p4runtime);
        runtime.block_on(async {
            let mut answers = p4runtime.read(request).await.unwrap().into_inner();
            let mut all = vec![];
            while let Some(answer) = answers.message().await.unwrap() {
                all.extend(answer.entities);
            }
            all
        })
    }

    fn write_all(&mut self, updates: Vec<Update>) -> Result<(), tonic::Status> {
        let atomicity = Atomicity::RollbackOnError as i32;
        let election_id = Some(self.election);
        let request = WriteRequest { updates, election_id, atomicity, ..WriteRequest::default() };
        let request = with(self.secret.as_ref(), request);
        self.runtime.block_on(self.p4runtime.write(request)).map(drop)
    }

    /// The ports that have an entry.
    pub fn ports(&mut self) -> Vec<u8> {
        let (table, _) = self.ids();
        let found = self.read(&format!("table_entry {{ table_id: {table} }}"));
        let port = |entity: Entity| match entity.entity? {
            Kind::TableEntry(entry) => match entry.r#match.first()?.field_match_type.as_ref()? {
                FieldMatchType::Exact(exact) => exact.value.last().copied(),
                _ => None,
            },
            _ => None,
        };
        let mut ports: Vec<u8> = found.into_iter().filter_map(port).collect();
        ports.sort_unstable();
        ports
    }
}

/// Another controller of the same agents.
pub fn another(rack: &Rack, directory: &Path, more: &[&str]) -> Vec<String> {
    let agents = [format!("tor={}", rack.tor.address), format!("nic={}", rack.nic.address)];
    let mut args = vec![directory.display().to_string(), "--grpc-server-addr".into(), "127.0.0.1:0".into()];
    for agent in agents {
        args.extend(["--agent".to_string(), agent]);
    }
    args.extend(more.iter().map(ToString::to_string));
    args
}

fn start(args: &[String]) -> Switch {
    Switch::start(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn goes(rack: &Rack, controller: &Switch) {
    rack.wait(controller, |shown| is_running(shown) && are_sound(shown));
}

/// Nobody tried what happens after the second controller has ended.
#[test]
fn a_controller_that_was_superseded_comes_back_with_what_the_other_wrote() {
    let rack = Rack::new();
    let mut first = Client::new(&rack.controller.address, 1, None).unwrap();
    first.write("INSERT", 3).unwrap();
    assert_eq!(rack.pass(1), (1, 1));
    for round in 0..2 {
        let second = start(&another(&rack, &directory(), &[]));
        goes(&rack, &second);
        rack.wait(&rack.controller, |shown| {
            shown.to_string().contains("a controller that was started later")
        });
        let mut other = Client::new(&second.address, 1, None).unwrap();
        assert_eq!(other.ports(), if round == 0 { vec![1, 3] } else { vec![1, 4] });
        other.write(if round == 0 { "INSERT" } else { "DELETE" }, 4).unwrap();
        other.write(if round == 0 { "DELETE" } else { "INSERT" }, 3).unwrap();
        assert_eq!(first.write("INSERT", 5).unwrap_err().code(), tonic::Code::Unavailable);
        drop(second);
        goes(&rack, &rack.controller);
        assert_eq!(first.ports(), if round == 0 { vec![1, 4] } else { vec![1, 3] });
    }
    // The register has counted on through all of it.
    assert_eq!(rack.pass(2), (2, 2));
    first.write("INSERT", 5).unwrap();
    assert_eq!(first.ports(), [1, 3, 5]);
}

/// A restarted controller once overwrote the running entries with its own, 8 of 8 times.
#[test]
fn no_acknowledged_write_is_lost_with_a_controller() {
    let mut rack = Rack::new();
    for port in 3..7 {
        let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
        client.write("INSERT", port).unwrap();
        if port == 4 {
            client.write("DELETE", 1).unwrap();
        }
        drop(client);
        rack.controller.process.kill().unwrap();
        rack.controller.process.wait().unwrap();
        rack.controller = start(&another(&rack, &directory(), &[]));
        goes(&rack, &rack.controller);
        let wanted: Vec<u8> = if port == 3 { vec![1, 3] } else { (3..=port).collect() };
        assert_eq!(Client::new(&rack.controller.address, 1, None).unwrap().ports(), wanted);
    }
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 1).unwrap();
    assert_eq!(rack.pass(1), (1, 1));
}

/// A controller and an agent lost together lose only the state that `docs/ctl.md` names.
#[test]
fn a_controller_and_an_agent_that_are_lost_together_lose_what_that_agent_held() {
    let mut rack = Rack::new();
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 3).unwrap();
    client.write("DELETE", 1).unwrap();
    drop(client);
    // The table and the register are the nic's.
    let both_anew = |rack: &mut Rack, is_nic: bool| {
        let agent = if is_nic { &mut rack.nic } else { &mut rack.tor };
        for victim in [agent, &mut rack.controller] {
            victim.process.kill().unwrap();
            victim.process.wait().unwrap();
        }
        if is_nic {
            rack.nic.restart()
        } else {
            rack.tor.restart()
        }
        rack.controller = start(&another(rack, &directory(), &[]));
        goes(rack, &rack.controller);
        Client::new(&rack.controller.address, 1, None).unwrap().ports()
    };
    assert_eq!(both_anew(&mut rack, false), [3]);
    // The rack's own entry is there again.
    assert_eq!(both_anew(&mut rack, true), [1]);
    assert_eq!(rack.pass(1), (1, 1));
    assert_eq!(both_anew(&mut rack, false), [1]);
    assert_eq!(rack.pass(2), (2, 2));
}

/// Processes are killed one after the other during writes: acknowledged writes are never lost.
///
/// `P4RACK_KILLS` says how often; `./test --all` does it 200 times.
#[test]
fn no_acknowledged_write_is_lost_in_many_kills() {
    let kills = features::setting("P4RACK_KILLS", if features::is_long() { 200 } else { 4 });
    let mut rack = Rack::with_controller(&["--audit", "1"]);
    let mut rng = Rng::new(29);
    let mut there: BTreeSet<u8> = [1].into();
    let (mut acknowledged, mut killed) = (Acknowledged::default(), [0; 3]);
    for kill in 0..kills {
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (address, stop, there) = (rack.controller.address.clone(), Arc::clone(&stop), there.clone());
            let rng = rng.split_index(kill);
            std::thread::spawn(move || write_on(&address, &stop, there, &rng))
        };
        std::thread::sleep(Duration::from_millis(rng.between(1, 100)));
        let who = rng.below(3) as usize;
        killed[who] += 1;
        let victim = [&mut rack.controller, &mut rack.tor, &mut rack.nic].into_iter().nth(who).unwrap();
        victim.process.kill().unwrap();
        victim.process.wait().unwrap();
        std::thread::sleep(Duration::from_millis(rng.below(30)));
        stop.store(true, Ordering::SeqCst);
        let written = writer.join().unwrap();
        acknowledged.add(&written);
        victim.restart();
        goes(&rack, &rack.controller);
        let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
        let found: BTreeSet<u8> = client.ports().into_iter().collect();
        let (lost, Written { there: known, unknown, .. }) = (written.lost(&found), &written);
        assert!(lost.is_empty(), "kill {kill} of {who}: {lost:?} of {known:?}, {unknown:?} not acknowledged");
        there = found;
    }
    eprintln!("{kills} kills ({killed:?} of controller, tor, nic), {acknowledged}, none lost");
    // The devices have the entries that the controller reports.
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    there.iter().filter(|port| **port != 1).for_each(|port| client.write("DELETE", *port).unwrap());
    if !there.contains(&1) {
        client.write("INSERT", 1).unwrap();
    }
    let (number, _) = rack.pass(7);
    assert_eq!(number, 7);
}

/// Writes under way at one time, at most 248: one after the other, answers bound the rate to about a hundred a second.
fn at_once() -> u8 {
    u8::try_from(features::setting("P4RACK_AT_ONCE", 32)).unwrap_or(u8::MAX).clamp(1, 248)
}

/// The ports that are written.
const WRITTEN: std::ops::RangeInclusive<u8> = 3..=250;

/// Knowledge of a client after its writes.
#[derive(Default)]
pub struct Written {
    /// Ports with an entry, by the acknowledged writes.
    pub there: BTreeSet<u8>,
    /// Ports whose last write has an unknown outcome.
    pub unknown: BTreeSet<u8>,
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    /// Time until the last acknowledgement.
    pub took: Duration,
}

impl Written {
    /// Ports whose entries are not what the acknowledged writes say.
    pub fn lost(&self, found: &BTreeSet<u8>) -> Vec<u8> {
        let differ = found.symmetric_difference(&self.there);
        differ.copied().filter(|port| !self.unknown.contains(port)).collect()
    }
}

/// Acknowledged writes of several rounds.
#[derive(Default)]
pub struct Acknowledged {
    count: u64,
    took: Duration,
}

impl Acknowledged {
    pub fn add(&mut self, written: &Written) {
        self.count += written.acknowledged;
        self.took += written.took;
    }
}

impl std::fmt::Display for Acknowledged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = self.count as f64 / self.took.as_secs_f64().max(0.001);
        write!(f, "{} acknowledged writes ({rate:.0} a second)", self.count)
    }
}

/// Inserts and deletes entries of ports, [`at_once`] at a time, until it is stopped or no answer comes.
pub fn write_on(address: &str, stop: &Arc<AtomicBool>, there: BTreeSet<u8>, rng: &Rng) -> Written {
    let client = Client::new(address, 1, None).ok();
    match client.and_then(|mut client| Some((client.try_ids()?, client))) {
        Some((ids, mut client)) => client.write_on(ids, stop, there, rng),
        None => Written { there, ..Written::default() },
    }
}

impl Client {
    /// Each port belongs to one writer, which waits for the answer before it writes the port again: the outcomes of two writes of one port under
    /// way at one time would not be known.
    fn write_on(
        &mut self,
        ids: (u32, u32),
        stop: &Arc<AtomicBool>,
        mut there: BTreeSet<u8>,
        rng: &Rng,
    ) -> Written {
        let (election, begun, at_once) = (self.election, Instant::now(), at_once());
        let writer = |number: u8| {
            let ports: Vec<u8> = WRITTEN.filter(|port| port % at_once == number).collect();
            let known = there.iter().copied().filter(|port| ports.contains(port)).collect();
            let mut own = Written { there: known, ..Written::default() };
            let mut p4runtime = self.p4runtime.clone();
            let (stop, mut rng) = (Arc::clone(stop), rng.split_index(number.into()));
            async move {
                while !stop.load(Ordering::SeqCst) && own.unknown.len() < ports.len() {
                    let port = ports[rng.index(ports.len())];
                    if own.unknown.contains(&port) {
                        continue;
                    }
                    let is_there = own.there.contains(&port);
                    let how = if is_there { "DELETE" } else { "INSERT" };
                    let request = Client::update(ids, how, port, election);
                    match p4runtime.write(request).await {
                        Ok(_) => {
                            own.acknowledged += 1;
                            own.took = begun.elapsed();
                            if is_there {
                                own.there.remove(&port)
                            } else {
                                own.there.insert(port)
                            };
                        }
                        Err(status) => {
                            own.unknown.insert(port);
                            if status.source().is_some() || status.code() != tonic::Code::Unavailable {
                                break;
                            }
                            // The controller waits for a device, and other writers' ports become unknown, too.
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                }
                own
            }
        };
        let writers: Vec<_> = (0..at_once).map(writer).collect();
        let ended: Vec<Written> = self.runtime.block_on(async {
            let writers: Vec<_> = writers.into_iter().map(tokio::spawn).collect();
            let mut ended = vec![];
            for writer in writers {
                ended.push(writer.await.unwrap());
            }
            ended
        });
        there.retain(|port| !WRITTEN.contains(port));
        ended.into_iter().fold(Written { there, ..Written::default() }, |mut all, own| {
            all.there.extend(own.there);
            all.unknown.extend(own.unknown);
            all.acknowledged += own.acknowledged;
            all.took = all.took.max(own.took);
            all
        })
    }
}

/// A register with five million cells could not be read, so a restarted controller asked its agents forever.
#[test]
fn large_objects_are_adopted_and_repaired() {
    let large = changed("agents_large", "register<bit<32>>(1) seen;", "register<bit<32>>(5000000) seen;");
    let large_too = ["--audit", "1"];
    let mut rack = Rack::of(&large, &large_too);
    Client::new(&rack.controller.address, 1, None).unwrap().write("INSERT", 3).unwrap();
    assert_eq!(rack.pass(1), (1, 1));
    rack.controller.process.kill().unwrap();
    rack.controller.process.wait().unwrap();
    rack.controller = start(&another(&rack, &large, &large_too));
    goes(&rack, &rack.controller);
    assert_eq!(Client::new(&rack.controller.address, 1, None).unwrap().ports(), [1, 3]);
    assert_eq!(rack.pass(2), (2, 2));
    // Writes of another client are found and undone.
    let secret = std::fs::read_to_string(crate::setup::state().join("p4rack/secret")).unwrap();
    let highest = {
        let mut client = Client::new(&rack.nic.address, 0, Some(secret.trim().to_string())).unwrap();
        client.reported().1
    };
    let mut other = Client::new(&rack.nic.address, 0, Some(secret.trim().to_string())).unwrap();
    other.election = Uint128 { high: (highest >> 64) as u64, low: highest as u64 };
    other.write("INSERT", 9).unwrap();
    while other.ports().contains(&9) {
        std::thread::sleep(Duration::from_millis(20));
    }
    goes(&rack, &rack.controller);
    assert_eq!(rack.pass(3), (3, 3));
}

#[test]
fn another_program_is_not_erased() {
    let rack = Rack::new();
    let other = changed("agents_other_program", "number = number + 1;", "number = number + 2;");
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let output = secret(command.arg("switch").args(another(&rack, &other, &[]))).output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    let why = "runs another program, with ";
    assert!(reported.contains(why) && reported.contains("`--fresh` erases them"), "{reported}");
    // The first controller continues.
    goes(&rack, &rack.controller);
    assert_eq!(rack.pass(1), (1, 1));
    let fresh = start(&another(&rack, &other, &["--fresh"]));
    goes(&rack, &fresh);
    assert_eq!(rack.pass(2), (2, 2));
}

#[test]
fn an_agent_serves_its_controller_alone() {
    let rack = Rack::new();
    let stranger = Client::new(&rack.tor.address, u128::MAX, None).err().unwrap();
    assert_eq!(stranger.code(), tonic::Code::Unauthenticated);
    let wrong = Some("0123456789abcdef0123456789abcdef".to_string());
    let stranger = Client::new(&rack.nic.address, u128::MAX, wrong).err().unwrap();
    assert_eq!(stranger.code(), tonic::Code::Unauthenticated);
    let other = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_other_secret");
    std::fs::write(&other, "fedcba9876543210fedcba9876543210\n").unwrap();
    let output = ctl(&rack.tor.address, &["takeover", "--secret", &other.display().to_string()]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && reported.contains("give the file with `--secret`"),
        "{reported}"
    );
    assert_eq!(rack.pass(1), (1, 1));
}

/// A client with the secret writes with the election id of the primary, which every backup can read.
#[test]
fn what_somebody_else_has_written_is_found() {
    let rack = Rack::with_controller(&["--audit", "1"]);
    let key = std::fs::read_to_string(crate::setup::state().join("p4rack/secret")).unwrap();
    let key = Some(key.trim().to_string());
    let mut intruder = Client::new(&rack.nic.address, 1, key).unwrap();
    let (_, highest) = intruder.reported();
    intruder.election = Uint128 { high: (highest >> 64) as u64, low: highest as u64 };
    assert_eq!(rack.pass(1), (1, 1));
    intruder.write("DELETE", 1).unwrap();
    intruder.write("INSERT", 7).unwrap();
    while intruder.ports() != [1] {
        std::thread::sleep(Duration::from_millis(50));
    }
    goes(&rack, &rack.controller);
    assert_eq!(rack.pass(2), (2, 2));
}

#[test]
fn an_operator_ends_a_client() {
    let rack = Rack::new();
    let address = &rack.controller.address;
    let mut honest = Client::new(address, 5, None).unwrap();
    assert_eq!(honest.reported(), (0, 5));
    let mut greedy = Client::new(address, u128::MAX, None).unwrap();
    assert_eq!(greedy.reported(), (0, u128::MAX));
    assert_eq!(honest.reported(), (6, u128::MAX));
    assert!(honest.write("INSERT", 3).is_err());
    let clients = text(&ctl(address, &["clients"]));
    let line = clients.lines().find(|line| line.contains(&u128::MAX.to_string())).expect("it is listed");
    assert!(line.ends_with("primary"), "{clients}");
    let number = line.split_whitespace().next().unwrap();
    text(&ctl(address, &["end-client", number]));
    assert!(greedy.runtime.block_on(greedy.heard.message()).is_err());
    assert_eq!(honest.reported(), (0, 5));
    honest.write("INSERT", 3).unwrap();
    text(&ctl(address, &["takeover"]));
    let mut lowest = Client::new(address, 1, None).unwrap();
    assert_eq!(lowest.reported(), (0, 1));
    lowest.write("INSERT", 4).unwrap();
}

/// Rollback of 200 inserts cut an agent off: the trailers of its answer were too long for the controller's own link. Of the 101 to 3,901
/// updates the device alone refuses one of the last, for which its agent has not enough memory.
#[test]
fn a_batch_that_a_device_refuses_leaves_everything_as_it_was() {
    let rack = Rack::with_agents(&["--max-memory", "4"]);
    let mut client = Client::new(&rack.controller.address, 1, None).unwrap();
    client.write("INSERT", 3).unwrap();
    let ids = client.ids();
    let insert =
        |entity: &str| -> Update { from_text(&format!("type: INSERT entity {{ {entity} }}")).unwrap() };
    let group = |id: u32| {
        let group = format!("multicast_group_entry {{ multicast_group_id: {id} }}");
        insert(&format!("packet_replication_engine_entry {{ {group} }}"))
    };
    let large = |port: u8| {
        let mut update = insert(&Client::entry(ids, port));
        if let Some(Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut update.entity {
            entry.metadata = vec![7; 65_536];
        }
        update
    };
    let sizes: &[u32] = if features::is_long() { &[101, 201, 1001, 3901] } else { &[101, 201, 1001] };
    for (round, size) in sizes.iter().enumerate() {
        let updates: Vec<Update> = (81..=*size).map(group).chain((100..180).map(large)).collect();
        let refused = client.write_all(updates).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unknown, "{size}: {refused}");
        // Why is in a trailer, whether the detail of the one that the device refused fits or not.
        let why = refused.metadata().get_bin("p4rack-failed-bin").unwrap().to_bytes().unwrap();
        let why = String::from_utf8_lossy(&why);
        assert!(why.contains("the limit on memory is reached"), "{size}: {refused}: {why}");
        // The device was never out of step: it is asked at once.
        client.write("INSERT", 10 + round as u8).unwrap();
        assert!(are_sound(&rack.show()), "{size}");
        let groups = client.read("packet_replication_engine_entry { multicast_group_entry {} }");
        assert!(groups.is_empty(), "{size}: {} are left", groups.len());
        assert_eq!(client.ports(), [&[1, 3], &(10..=10 + round as u8).collect::<Vec<_>>()[..]].concat());
        assert_eq!(rack.pass(1 + round as u32), (1 + round as u32, 1 + round as u32));
    }
    client.write_all(vec![group(1), large(9)]).unwrap();
}
