//! A switch that is attacked, and clients of it.

use agent::ClientTls;
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, ReadRequest, StreamMessageRequest,
    StreamMessageResponse, WriteRequest,
};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tonic::Streaming;
use tonic::transport::Channel;

pub type Client = P4RuntimeClient<Channel>;

/// Memory that the switch may have: 1 GB of data, and never more descriptors than a common limit.
pub const GIGABYTE: &str = "ulimit -d 1048576";

/// Options that allow programs whose full tables would not fit into memory.
pub const LARGE: [&str; 2] = ["--max-memory", "4096"];

/// True for `./test --all`: attacks are as large as they were when they were found.
pub fn at_length() -> bool {
    features::is_long()
}

/// One attack at a time, since the whole machine is measured.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The command under a limit of the shell, with memory as users have it: `./test` asks for no huge pages elsewhere.
fn limited(limit: &str) -> Command {
    let mut command = Command::new("sh");
    command.env_remove("MIMALLOC_ALLOW_THP");
    command.arg("-c").arg(format!("{limit} && exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_p4rack"));
    command
}

/// The switch's certificate and key, the authority, a controller's certificate and key.
const PEMS: [&str; 5] = ["switch.pem", "switch.key", "authority.pem", "controller.pem", "controller.key"];

/// Paths of [`PEMS`].
pub fn pems() -> [String; 5] {
    let pems = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/certificates");
    PEMS.map(|name| pems.join(name).display().to_string())
}

/// The TLS settings of a controller whose certificate the switch knows.
pub fn known() -> ClientTls {
    let [authority, certificate, key] =
        [2, 3, 4].map(|pem: usize| std::fs::read(&pems()[pem]).expect("it is there"));
    ClientTls { authority, identity: Some((certificate, key)) }
}

/// Address of a switch, and the TLS settings of its clients.
#[derive(Clone)]
pub struct Reach {
    address: String,
    tls: Option<ClientTls>,
}

impl Reach {
    pub async fn channel(&self) -> Channel {
        p4runtime_grpc::endpoint(&self.address, self.tls.as_ref()).unwrap().connect().await.unwrap()
    }

    pub async fn connect(&self) -> Client {
        client(self.channel().await)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends an operator's request.
    pub fn ctl(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.args(["ctl", "--addr", &self.address]).args(args);
        if self.tls.is_some() {
            let [_, _, authority, certificate, key] = pems();
            command.args(["--cacert", &authority, "--cert", &certificate, "--key", &key]);
        }
        command.output().unwrap()
    }
}

/// The built command.
pub struct Victim {
    process: Child,
    pub address: String,
    tls: Option<ClientTls>,
}

impl Victim {
    /// A switch with two tables of 131,072 entries, under a limit of the shell. Attacks fill few of them: see [`LARGE`].
    pub fn start(limit: &str, args: &[&str]) -> Victim {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
        let program = program.display().to_string();
        Victim::of(limit, &[&[program.as_str()], &LARGE[..], args].concat())
    }

    fn command(limit: &str, args: &[&str]) -> Command {
        let mut command = limited(limit);
        command.args(["switch", "--grpc-server-addr", "127.0.0.1:0"]).args(args);
        command
    }

    /// A lab in this directory, without an address, and its lines up to the one that begins with `last`.
    pub fn lab(directory: &Path, limit: &str, args: &[&str], last: &str) -> (Victim, Vec<String>) {
        let mut command = limited(limit);
        command.arg("lab").args(args).current_dir(directory).env("XDG_RUNTIME_DIR", directory);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut lines: Vec<String> = vec![];
        while lines.last().is_none_or(|line| !line.starts_with(last)) {
            lines.push(output.next().expect("it says where it listens").unwrap());
        }
        std::thread::spawn(move || output.map_while(Result::ok).for_each(drop));
        (Victim { process, address: String::new(), tls: None }, lines)
    }

    /// Exit status and message of a switch that is not to start.
    pub fn refused(limit: &str, args: &[&str]) -> (ExitStatus, String) {
        let mut command = Victim::command(limit, args);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut reported = String::new();
        for line in BufReader::new(process.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.contains(" listens on ") {
                let _ = process.kill();
                panic!("it has started: {reported}{line}");
            }
            reported += &line;
            reported += "\n";
        }
        (process.wait().unwrap(), reported)
    }

    pub fn of(limit: &str, args: &[&str]) -> Victim {
        let mut command = Victim::command(limit, args);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut reported = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = loop {
            let line = reported.next().expect("it says where it listens").unwrap();
            if let Some((_, address)) = line.split_once(" listens on ") {
                break address.to_string();
            }
        };
        std::thread::spawn(move || {
            reported.map_while(Result::ok).for_each(|line| eprintln!("the switch: {line}"))
        });
        Victim { process, address, tls: None }
    }

    /// [`start`](Victim::start) with TLS, and certificates of clients.
    pub fn encrypted(limit: &str, args: &[&str]) -> Victim {
        let [certificate, key, authority, _, _] = pems();
        let tls = [
            "--grpc-server-cert",
            &certificate,
            "--grpc-server-key",
            &key,
            "--grpc-server-cacert",
            &authority,
        ];
        let mut victim = Victim::start(limit, &[&tls, args].concat());
        victim.tls = Some(known());
        victim
    }

    /// Number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn reach(&self) -> Reach {
        Reach { address: self.address.clone(), tls: self.tls.clone() }
    }

    pub async fn connect(&self) -> Client {
        self.reach().connect().await
    }

    /// Bytes of memory that belong to it alone.
    pub fn memory(&self) -> u64 {
        self.status("RssAnon:")
    }

    /// The most memory that it has had so far, in bytes.
    pub fn most_memory(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// Bytes of addresses for data, used or not: what `ulimit -d` limits.
    pub fn addresses(&self) -> u64 {
        self.status("VmData:")
    }

    /// From now on, [`most_memory`](Victim::most_memory) is the most since now.
    pub fn forget_most_memory(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").unwrap();
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Number of open files.
    pub fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap().count()
    }

    /// The switch has no more open files and threads than before, at the latest after 30 seconds.
    pub fn has_closed(&self, files: usize, threads: usize, attack: &str) {
        let started = Instant::now();
        let is_as_before = || self.files() <= files && self.threads() <= threads;
        while !is_as_before() && started.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let now = (self.files(), self.threads());
        eprintln!(
            "{attack}: {files} files and {threads} threads before, {now:?} after {:.1?}",
            started.elapsed()
        );
        assert!(is_as_before(), "{attack}: {files} files and {threads} threads before, {now:?} after");
    }

    /// Clock ticks of processor time that it has used, a hundred to a second.
    pub fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Sends an operator's request.
    pub fn ctl(&self, args: &[&str]) -> Output {
        self.reach().ctl(args)
    }

    /// Bytes of memory when it has no more than this, or after 20 seconds: what is free goes back to the system a little later.
    pub fn settled(&self, most: u64) -> u64 {
        let started = Instant::now();
        while self.memory() > most && started.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.memory()
    }

    /// The switch still runs, and its memory is as before, except for a tenth or 16 MiB, which an allocator may keep in
    /// fragments.
    pub fn is_as_before(&mut self, before: u64, attack: &str) {
        assert!(self.process.try_wait().unwrap().is_none(), "{attack}: it has ended");
        // Connections that were cut are noticed a little later.
        let after = self.settled(most(before));
        eprintln!("{attack}: {} MiB before, {} MiB after", before >> 20, after >> 20);
        assert!(after <= most(before), "{attack}: {before} bytes before, {after} after");
    }
}

fn most(before: u64) -> u64 {
    before + (before / 10).max(16 << 20)
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub async fn connect(address: &str) -> Client {
    Reach { address: address.to_string(), tls: None }.connect().await
}

fn client(channel: Channel) -> Client {
    const MOST: usize = 256 << 20;
    Client::new(channel).max_decoding_message_size(MOST).max_encoding_message_size(MOST)
}

/// A stream, and its first answer's status.
pub async fn stream(
    client: &mut Client,
    election: u64,
) -> (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>) {
    stream_of(client, "", election).await
}

/// The same for a role; the default role has no name.
pub async fn stream_of(
    client: &mut Client,
    role: &str,
    election: u64,
) -> (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>) {
    let (say, said) = mpsc::channel(64);
    let role = if role.is_empty() { String::new() } else { format!("role {{ name: \"{role}\" }}") };
    let hello = format!("arbitration {{ device_id: 1 {role} election_id {{ low: {election} }} }}");
    say.send(from_text(&hello).unwrap()).await.unwrap();
    let said = tokio_stream::wrappers::ReceiverStream::new(said);
    let mut heard = client.stream_channel(said).await.unwrap().into_inner();
    heard.message().await.unwrap().unwrap();
    (say, heard)
}

/// The program that runs, as controllers see it.
pub async fn running(client: &mut Client) -> ForwardingPipelineConfig {
    let request = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap()
}

/// Ids of the table of destinations and its action.
pub async fn ids(client: &mut Client) -> (u32, u32) {
    let info = running(client).await.p4info.unwrap();
    let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
    let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
    let table = tables.clone().find(|preamble| preamble.name.ends_with("destinations")).unwrap().id;
    (table, actions.clone().find(|preamble| preamble.name.ends_with("forward")).unwrap().id)
}

/// A write of entries for these destinations.
pub fn entries(
    (table, forward): (u32, u32),
    election: u64,
    how: &str,
    destinations: impl Iterator<Item = u32>,
) -> WriteRequest {
    let sample = format!(
        "type: {how} entity {{ table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"x\" }} }} \
         action {{ action {{ action_id: {forward} params {{ param_id: 1 value: \"\\001\" }} }} }} }} }}"
    );
    let sample: p4runtime_proto::p4::v1::Update = from_text(&sample).unwrap();
    let update = |destination: u32| {
        use p4runtime_proto::p4::v1::{entity::Entity, field_match::FieldMatchType};
        let mut update = sample.clone();
        if let Some(Entity::TableEntry(entry)) = update.entity.as_mut().and_then(|e| e.entity.as_mut())
            && let Some(FieldMatchType::Exact(exact)) = &mut entry.r#match[0].field_match_type
        {
            // Values have no zeros in front, and none is 0.
            let bytes = (destination + 1).to_be_bytes();
            exact.value = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
        }
        update
    };
    let head: WriteRequest = from_text(&format!("device_id: 1 election_id {{ low: {election} }}")).unwrap();
    WriteRequest { updates: destinations.map(update).collect(), ..head }
}

/// Number of entities that a read finds.
pub async fn count(client: &mut Client, request: ReadRequest) -> Result<usize, tonic::Status> {
    let mut found = client.read(request).await?.into_inner();
    let mut count = 0;
    while let Some(response) = found.message().await? {
        count += response.entities.len();
    }
    Ok(count)
}
