//! Random sessions: connections, streams and calls, some aborted and some without any message. After each session an
//! honest controller becomes primary, its writes take effect, and frames follow them.
//!
//! `P4RACK_FUZZ_SESSIONS` says how many sessions, `P4RACK_FUZZ_SEED` where to begin.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use agent::{Cable, Setup, Switch, cable};
use base_diag::SourceMap;
use base_time::Rng;
use compiler::{Until, compile};
use features::setting;
use p4rack::Disk;
use p4runtime_grpc::{Codec, Opaque, P4RuntimeClient, RackClient};
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, WriteRequest,
    stream_message_response::Update as ResponseUpdate,
};
use p4runtime_proto::p4rack::v1::{MergeRequest, SampleRequest, SteerRequest, TraceRequest};
use p4runtime_proto::{Message, from_text, to_binary};
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tonic::transport::Channel;

/// Election ids of honest controllers are higher.
const HONEST: u64 = 1 << 40;

#[test]
fn no_session_keeps_honest_controllers_out() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/served/l2.p4");
    let options = p4_syntax::Options::default();
    let compiled = compile(path, &Disk, &options, Until::Elaborated, &mut SourceMap::new());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (bound, address) = channel();
    let (inside, mut outside) = cable(64);
    let switch = std::thread::spawn(move || {
        let one = Switch::One(Some(compiled.program.unwrap()));
        let setup = Setup { cables: vec![(1, inside)], cpu_port: Some(2), ..Setup::new(one) };
        agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap()).map(drop)
    });
    let address = address.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let start = running(address).await;
        let first = setting("P4RACK_FUZZ_SEED", 0);
        for seed in first..first + setting("P4RACK_FUZZ_SESSIONS", 40) {
            session(address, seed).await;
            assert!(!switch.is_finished(), "seed {seed}: the switch has ended");
            let served =
                tokio::time::timeout(Duration::from_secs(60), honest(address, seed, &start, &mut outside));
            assert!(served.await.is_ok(), "seed {seed}: an honest controller is not served");
        }
    });
    stop.send(()).unwrap();
    switch.join().expect("it does not panic").unwrap();
}

/// The program that runs.
async fn running(address: SocketAddr) -> ForwardingPipelineConfig {
    let mut client = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
    let request = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap()
}

/// An honest controller, which must succeed. It pushes `start`.
async fn honest(address: SocketAddr, seed: u64, start: &ForwardingPipelineConfig, outside: &mut Cable) {
    let mut client = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
    let election = HONEST + seed;
    let (say, said) = mpsc::channel(4);
    let hello = format!("arbitration {{ device_id: 1 election_id {{ low: {election} }} }}");
    say.send(from_text(&hello).unwrap()).await.unwrap();
    let said = tokio_stream::wrappers::ReceiverStream::new(said);
    let mut heard = client.stream_channel(said).await.unwrap().into_inner();
    let Some(ResponseUpdate::Arbitration(reported)) = heard.message().await.unwrap().unwrap().update else {
        panic!()
    };
    assert_eq!(reported.status.unwrap().code, 0, "seed {seed}");
    // Others may have left another program, or this one saved.
    let config = |action: &str| {
        let text = format!("device_id: 1 election_id {{ low: {election} }} action: {action}");
        let request: SetForwardingPipelineConfigRequest = from_text(&text).unwrap();
        SetForwardingPipelineConfigRequest { config: Some(start.clone()), ..request }
    };
    client.set_forwarding_pipeline_config(config("VERIFY_AND_COMMIT")).await.unwrap();
    let (table, forward) = ids(&mut client).await;
    let entry = format!(
        "table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"\\007\" }} }} action {{ action {{ \
         action_id: {forward} params {{ param_id: 1 value: \"\\001\" }} }} }} }}"
    );
    let write: WriteRequest = from_text(&format!(
        "device_id: 1 election_id {{ low: {election} }} updates {{ type: INSERT entity {{ {entry} }} }}"
    ))
    .unwrap();
    client.write(write).await.unwrap();
    let read: ReadRequest = from_text(&format!(
        "device_id: 1 entities {{ table_entry {{ table_id: {table} }} }} entities {{ table_entry {{ table_id: {table} }} }}"
    ))
    .unwrap();
    let mut found = client.read(read).await.unwrap().into_inner();
    let found = found.message().await.unwrap().unwrap();
    assert_eq!(found.entities, [from_text(&entry).unwrap()], "seed {seed}");
    // Others may hold frames.
    let mut operator = RackClient::connect(format!("http://{address}")).await.unwrap();
    operator.steer(from_text::<SteerRequest>("release {}").unwrap()).await.unwrap();
    while outside.receive().is_some() {}
    let frame = [vec![0, 0, 0, 0, 0, 7], vec![2, 0, 0, 0, 0, 1], vec![8, 0], vec![seed as u8; 46]].concat();
    assert!(outside.send(&frame));
    let since = Instant::now();
    while outside.receive().as_ref() != Some(&frame) {
        assert!(since.elapsed() < Duration::from_secs(50), "seed {seed}: the frame does not come");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Ids of a table and its action.
async fn ids(client: &mut P4RuntimeClient<Channel>) -> (u32, u32) {
    let request = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    let config = client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap();
    let info = config.p4info.unwrap();
    let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
    let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
    let table = tables.clone().find(|preamble| preamble.name.ends_with("destinations")).unwrap().id;
    (table, actions.clone().find(|preamble| preamble.name.ends_with("forward")).unwrap().id)
}

/// Both directions of a client's stream.
type Stream = (mpsc::Sender<Opaque>, tonic::Streaming<Opaque>);

/// Resources that one session holds open.
#[derive(Default)]
struct Open {
    channels: Vec<Channel>,
    streams: Vec<Stream>,
    sockets: Vec<std::net::TcpStream>,
}

async fn session(address: SocketAddr, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut open = Open::default();
    for _ in 0..rng.between(5, 40) {
        step(address, &mut rng, &mut open).await;
    }
}

async fn step(address: SocketAddr, rng: &mut Rng, open: &mut Open) {
    match rng.below(12) {
        0 => {
            let channel = Channel::from_shared(format!("http://{address}")).unwrap();
            open.channels.extend(channel.connect().await);
        }
        1 => {
            // No HTTP at all, or half of it.
            if let Ok(mut socket) = std::net::TcpStream::connect(address) {
                let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
                let length = rng.below(preface.len() as u64 + 1) as usize;
                let _ = std::io::Write::write_all(&mut socket, &preface[..length]);
                open.sockets.push(socket);
            }
        }
        2 => {
            if let Some(channel) = pick(rng, &open.channels) {
                let (say, said) = mpsc::channel(16);
                let _ = say.try_send(Opaque(spoken(rng)));
                let said = tokio_stream::wrappers::ReceiverStream::new(said);
                let mut grpc = tonic::client::Grpc::new(channel);
                if grpc.ready().await.is_ok() {
                    let path = "/p4.v1.P4Runtime/StreamChannel".parse().unwrap();
                    let answer = grpc.streaming(tonic::Request::new(said), path, Codec::default());
                    let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
                    open.streams
                        .extend(answer.ok().and_then(Result::ok).map(|heard| (say, heard.into_inner())));
                }
            }
        }
        3 => {
            let at = rng.below(open.streams.len() as u64 + 1) as usize;
            if at < open.streams.len() {
                drop(open.streams.swap_remove(at));
            }
        }
        4 => {
            let at = rng.below(open.channels.len() as u64 + 1) as usize;
            if at < open.channels.len() {
                drop(open.channels.swap_remove(at));
            }
        }
        5 | 6 => {
            let at = rng.below(open.streams.len() as u64 + 1) as usize;
            if let Some((say, heard)) = open.streams.get_mut(at) {
                for _ in 0..rng.between(1, 20) {
                    let _ = say.try_send(Opaque(spoken(rng)));
                }
                if rng.chance(1, 2) {
                    let _ = tokio::time::timeout(Duration::from_millis(20), heard.message()).await;
                }
            }
        }
        _ => {
            if let Some(channel) = pick(rng, &open.channels) {
                let (rpc, bytes) = call(rng);
                let mut grpc = tonic::client::Grpc::new(channel);
                if grpc.ready().await.is_err() {
                    return;
                }
                let path = rpc.parse().unwrap();
                let answer = grpc.server_streaming(
                    tonic::Request::new(Opaque(bytes)),
                    path,
                    Codec::<Opaque, Opaque>::default(),
                );
                // Some hang up before they are answered, some read only the beginning.
                let patience = if rng.chance(1, 4) { rng.below(3) } else { 20_000 };
                let answer = tokio::time::timeout(Duration::from_millis(patience), answer).await;
                if let Ok(Ok(answer)) = answer {
                    let mut answer = answer.into_inner();
                    for _ in 0..rng.below(3) {
                        let _ = tokio::time::timeout(Duration::from_secs(20), answer.message()).await;
                    }
                }
            }
        }
    }
}

fn pick(rng: &mut Rng, channels: &[Channel]) -> Option<Channel> {
    channels.get(rng.below(channels.len().max(1) as u64) as usize).cloned()
}

/// A message for a stream, perhaps broken.
fn spoken(rng: &mut Rng) -> Vec<u8> {
    let (id, role) = (rng.below(5), rng.below(4));
    let role = if role == 0 { String::new() } else { format!("role {{ name: \"r{role}\" }}") };
    let said = [
        format!("arbitration {{ device_id: 1 election_id {{ low: {id} }} {role} }}"),
        "arbitration { device_id: 7 }".to_string(),
        "packet { payload: \"abcdefabcdefabcdef\" }".to_string(),
        "digest_ack { digest_id: 1 list_id: 1 }".to_string(),
        "other { type_url: \"x/y\" }".to_string(),
        String::new(),
    ];
    broken::<StreamMessageRequest>(rng, rng_pick(id, &said))
}

fn rng_pick(at: u64, all: &[String]) -> &str {
    all.get(at as usize % all.len()).map_or("", String::as_str)
}

/// A call and its message, perhaps broken.
fn call(rng: &mut Rng) -> (&'static str, Vec<u8>) {
    let (id, many) = (rng.below(5), rng.below(300) as usize);
    let head = format!("device_id: {} election_id {{ low: {id} }}", rng.below(2));
    match rng.below(14) {
        0 => {
            let update = "updates { type: INSERT entity { table_entry { table_id: 1 } } } ";
            (
                "/p4.v1.P4Runtime/Write",
                broken::<WriteRequest>(rng, &format!("{head} {}", update.repeat(many))),
            )
        }
        1 => (
            "/p4.v1.P4Runtime/Write",
            [broken::<WriteRequest>(rng, &head), [0x22, 0].repeat(many * 1000)].concat(),
        ),
        2 => {
            let query = "entities { table_entry {} } entities { counter_entry {} } ";
            ("/p4.v1.P4Runtime/Read", broken::<ReadRequest>(rng, &query.repeat(many)))
        }
        3 => ("/p4rack.v1.Rack/ReadRunning", broken::<ReadRequest>(rng, "entities { table_entry {} }")),
        4 => {
            let action = ["VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "COMMIT", "RECONCILE_AND_COMMIT"];
            let action = action[rng.below(5) as usize];
            let config =
                ["", "config {}", "config { p4_device_config: \"parser p(\" }"][rng.below(3) as usize];
            let text = format!("{head} action: {action} {config}");
            let rpc = "/p4.v1.P4Runtime/SetForwardingPipelineConfig";
            (rpc, broken::<SetForwardingPipelineConfigRequest>(rng, &text))
        }
        5 => {
            let rpc = "/p4.v1.P4Runtime/GetForwardingPipelineConfig";
            (rpc, broken::<GetForwardingPipelineConfigRequest>(rng, "device_id: 1"))
        }
        6 => ("/p4.v1.P4Runtime/Capabilities", vec![]),
        7 => ("/p4rack.v1.Rack/Show", vec![]),
        8 | 9 => {
            // Frames that are held come in when their lease ends.
            let what = [
                "hold { open_ports: 1 lease_ns: 1000000 }",
                "extend_hold { lease_ns: 1000 }",
                "release {}",
                "forget_saved {}",
                "reset {}",
                "replace { regions { key: \"a\" value: \"b\" } }",
                "end_clients {}",
                "end_clients { streams: 1 streams: 2 }",
                "add_port { port: \"3@\" }",
                "remove_port { number: 77 }",
                "keep_out { device: \"nic\" }",
                "set_thresholds { thresholds { ask_every: 0 } }",
                "change_group { group: \"g\" device: \"s1\" change: REMOVE weight: 4000000000 }",
                "move_flow { app: \"a\" key { key: \"k\" value: \"1\" } to_switch: true }",
                "",
            ];
            let election =
                if rng.chance(1, 3) { format!("election_id {{ low: {id} }}") } else { String::new() };
            let what = what[rng.below(what.len() as u64) as usize];
            let text = format!("{election} {what}");
            // Port 1 is the honest controller's.
            let bytes = match what.contains("_port ") {
                true => to_binary(&from_text::<SteerRequest>(&text).unwrap()),
                false => broken::<SteerRequest>(rng, &text),
            };
            ("/p4rack.v1.Rack/Steer", bytes)
        }
        10 => {
            let port = [0, 1, 2, 511, u32::MAX][rng.below(5) as usize];
            let frame = vec![rng.below(256) as u8; rng.below(20_000) as usize];
            ("/p4rack.v1.Rack/Trace", to_binary(&TraceRequest { port, frame }))
        }
        11 => {
            let text = format!("election_id {{ low: {id} }} frame: \"abcdefgh\"");
            ("/p4rack.v1.Rack/Merge", broken::<MergeRequest>(rng, &text))
        }
        12 => {
            let every = [0, 1, 3, u64::MAX][rng.below(4) as usize];
            let text = format!("election_id {{ low: {id} }} every: {every} uncounted_ports: 1");
            ("/p4rack.v1.Rack/Sample", broken::<SampleRequest>(rng, &text))
        }
        _ => ("/p4.v1.P4Runtime/Nothing", vec![0; many]),
    }
}

/// The bytes of a message, some of them changed now and then.
fn broken<M: Message>(rng: &mut Rng, text: &str) -> Vec<u8> {
    let mut bytes = to_binary(&from_text::<M>(text).unwrap());
    if rng.chance(1, 3) {
        for _ in 0..rng.between(1, 4) {
            let at = rng.below(bytes.len() as u64 + 1) as usize;
            match rng.below(3) {
                0 => bytes.insert(at, rng.below(256) as u8),
                1 => bytes.truncate(at),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = rng.below(256) as u8;
                    }
                }
            }
        }
    }
    bytes
}
