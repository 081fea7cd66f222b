//! Controllers of a rack that die, come twice, come back, or run something else; and those who are not its controllers.

use crate::setup::{Rack, Switch, are_sound, ctl, directory, is_running, secret, text};
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    GetForwardingPipelineConfigRequest, ReadRequest, StreamMessageRequest, StreamMessageResponse, Uint128,
    WriteRequest, stream_message_response::Update as Told,
};
use p4runtime_proto::{from_text, to_text};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Request, Streaming};

/// A P4Runtime client with a stream.
struct Client {
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
    fn new(address: &str, election: u128, secret: Option<String>) -> Result<Client, tonic::Status> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let election = Uint128 { high: (election >> 64) as u64, low: election as u64 };
        let opened: Result<_, tonic::Status> = runtime.block_on(async {
            let mut p4runtime = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
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

    /// The code of the next arbitration update, and the highest election id that it tells.
    fn told(&mut self) -> (i32, u128) {
        let message = self.runtime.block_on(self.heard.message()).unwrap().unwrap();
        let Some(Told::Arbitration(told)) = message.update else { panic!("{message:?}") };
        (told.status.unwrap().code, told.election_id.as_ref().map_or(0, number))
    }

    fn info(&mut self) -> P4Info {
        let request = with(self.secret.as_ref(), GetForwardingPipelineConfigRequest::default());
        let found = self.runtime.block_on(self.p4runtime.get_forwarding_pipeline_config(request)).unwrap();
        found.into_inner().config.unwrap().p4info.unwrap()
    }

    /// The table of ports and the action of its entries.
    fn ids(&mut self) -> (u32, u32) {
        let info = self.info();
        let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
        let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
        let table = tables.into_iter().find(|preamble| preamble.name == "CountIngress.ports").unwrap().id;
        (table, actions.into_iter().find(|preamble| preamble.name == "CountIngress.to").unwrap().id)
    }

    /// What packets by a port do: go to port 2.
    fn entry(&mut self, port: u8) -> String {
        let (table, action) = self.ids();
        format!(
            "table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"\\{port:03o}\" }} }} action {{ action {{ action_id: {action} params {{ param_id: 1 value: \"\\002\" }} }} }} }}"
        )
    }

    fn write(&mut self, how: &str, port: u8) -> Result<(), tonic::Status> {
        let entry = self.entry(port);
        let mut request: WriteRequest =
            from_text(&format!("updates {{ type: {how} entity {{ {entry} }} }}")).unwrap();
        request.election_id = Some(self.election);
        let request = with(self.secret.as_ref(), request);
        self.runtime.block_on(self.p4runtime.write(request)).map(drop)
    }

    /// The ports that have an entry.
    fn ports(&mut self) -> Vec<u8> {
        let (table, _) = self.ids();
        let request: ReadRequest =
            from_text(&format!("entities {{ table_entry {{ table_id: {table} }} }}")).unwrap();
        let request = with(self.secret.as_ref(), request);
        let (runtime, p4runtime) = (&self.runtime, &mut self.p4runtime);
        let found = runtime.block_on(async {
            let mut answers = p4runtime.read(request).await.unwrap().into_inner();
            let mut all = vec![];
            while let Some(answer) = answers.message().await.unwrap() {
                all.extend(answer.entities.iter().map(|entity| to_text(entity).unwrap()));
            }
            all
        });
        let port = |text: &String| {
            let octal = text.split("value: \"\\").nth(1)?.get(..3)?;
            u8::from_str_radix(octal, 8).ok()
        };
        let mut ports: Vec<u8> = found.iter().filter_map(port).collect();
        ports.sort_unstable();
        ports
    }
}

/// Another controller of the same agents.
fn another(rack: &Rack, directory: &Path, more: &[&str]) -> Vec<String> {
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

fn goes(rack: &Rack, controller: &Switch) {
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
        rack.wait(&rack.controller, |shown| shown.to_string().contains("another controller, started later"));
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

/// A controller that was started anew wrote its own entries over what ran, 8 of 8 times.
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

#[test]
fn another_program_is_not_erased() {
    let rack = Rack::new();
    let other = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_other_program");
    std::fs::create_dir_all(&other).unwrap();
    for file in ["count.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(directory().join(file)).unwrap();
        std::fs::write(other.join(file), text.replace("number = number + 1;", "number = number + 2;"))
            .unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let output = secret(command.arg("switch").args(another(&rack, &other, &[]))).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let why = "runs another program, with ";
    assert!(told.contains(why) && told.contains("`--fresh` erases them"), "{told}");
    // The first goes on.
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
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("name its file with `--secret`"), "{told}");
    assert_eq!(rack.pass(1), (1, 1));
}

/// Somebody who has the secret writes by the election id of the primary, which every backup is told.
#[test]
fn what_somebody_else_has_written_is_found() {
    let rack = Rack::with_controller(&["--audit", "1"]);
    let key = std::fs::read_to_string(crate::setup::state().join("p4rack/secret")).unwrap();
    let key = Some(key.trim().to_string());
    let mut intruder = Client::new(&rack.nic.address, 1, key).unwrap();
    let (_, highest) = intruder.told();
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
    assert_eq!(honest.told(), (0, 5));
    let mut greedy = Client::new(address, u128::MAX, None).unwrap();
    assert_eq!(greedy.told(), (0, u128::MAX));
    assert_eq!(honest.told(), (6, u128::MAX));
    assert!(honest.write("INSERT", 3).is_err());
    let clients = text(&ctl(address, &["clients"]));
    let line = clients.lines().find(|line| line.contains(&u128::MAX.to_string())).expect("it is listed");
    assert!(line.ends_with("primary"), "{clients}");
    let number = line.split_whitespace().next().unwrap();
    text(&ctl(address, &["end-client", number]));
    assert!(greedy.runtime.block_on(greedy.heard.message()).is_err());
    assert_eq!(honest.told(), (0, 5));
    honest.write("INSERT", 3).unwrap();
    text(&ctl(address, &["takeover"]));
    let mut lowest = Client::new(address, 1, None).unwrap();
    assert_eq!(lowest.told(), (0, 1));
    lowest.write("INSERT", 4).unwrap();
}
