//! Calls of operators, which anybody can make on a switch without certificates, and calls that keep operators out.

use crate::honest::Honest;
use crate::raw::{announce, field, raw_call_of};
use crate::setup::{Client, GIGABYTE, Victim, alone, at_length, entries, ids, runtime, stream};
use p4runtime_grpc::{Codec, Opaque};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::entity::Entity::TableEntry;
use p4runtime_proto::p4::v1::{Entity, ReadRequest, StreamMessageRequest};
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

const SHOW: &str = "/p4rack.v1.Rack/Show";
const STEER: &str = "/p4rack.v1.Rack/Steer";
const TRACE: &str = "/p4rack.v1.Rack/Trace";

/// Requests that were decoded whole, whatever they took: 4 MB of streams to end are 32 MB of numbers, and as many regions that run elsewhere
/// ten times as much.
#[test]
fn requests_of_operators_take_little() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    let letter = |n: u32, at: u32| b'a' + (n >> (4 * at) & 15) as u8;
    let map = |bytes: u32| -> Vec<u8> {
        (0..bytes / 8).flat_map(|n| field(1, &field(1, &[0, 1, 2, 3].map(|at| letter(n, at))))).collect()
    };
    let bytes = |count: usize| vec![1; count];
    let [large, most] = [4_000_000, 250_000];
    let requests = [
        (STEER, field(6, &map(large))),
        (STEER, field(30, &map(large))),
        (STEER, field(8, &field(1, &bytes(large as usize)))),
        (STEER, field(2, &field(1, &bytes(large as usize)))),
        (STEER, field(9, &field(1, &bytes(large as usize)))),
        (TRACE, field(2, &bytes(large as usize))),
        ("/p4rack.v1.Rack/Merge", field(2, &bytes(large as usize))),
        // Those that are short enough to be decoded.
        (STEER, field(6, &map(most))),
        (STEER, field(30, &map(most))),
        (STEER, field(8, &field(1, &bytes(most as usize)))),
        (STEER, field(11, &field(1, &bytes(most as usize)))),
        (TRACE, field(2, &bytes(most as usize))),
    ];
    let at_once = if at_length() { 100 } else { 8 };
    for (number, (path, request)) in requests.into_iter().enumerate() {
        let mut calls = JoinSet::new();
        let codes = runtime().block_on(async {
            for _ in 0..at_once {
                let (address, request) = (victim.address.clone(), request.clone());
                calls.spawn(async move { raw_call_of(&address, path, request).await });
            }
            let ended = calls.join_all().await;
            let code = |ended: Result<(), Status>| ended.map_or_else(|why| why.code(), |()| Code::Ok) as i32;
            ended.into_iter().map(code).collect::<BTreeSet<_>>()
        });
        eprintln!("request {number}: {codes:?}");
        if number < 6 {
            assert!(!codes.contains(&(Code::Ok as i32)), "request {number}: {codes:?}");
        }
    }
    let most = victim.most_memory();
    assert!(most < 512 << 20, "{most}");
    honest.end("requests of operators");
    victim.is_as_before(before, "requests of operators");
}

/// Answers to operators that nobody reads.
#[test]
fn descriptions_that_nobody_reads_take_little() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    let connections: Vec<TcpStream> = (0..180).map(|_| announce(&victim.address, 64, (SHOW, 0))).collect();
    std::thread::sleep(Duration::from_secs(1));
    honest.end("descriptions that nobody reads");
    drop(connections);
    victim.is_as_before(before, "descriptions that nobody reads");
}

/// From one address, 192 connections with a call each kept everybody there out, operators too, for as long as they liked.
#[test]
fn connections_with_open_calls_keep_no_operator_out() {
    let _alone = alone();
    // Streams that say nothing, and answers that nobody reads.
    for call in [("/p4.v1.P4Runtime/StreamChannel", 0), (SHOW, 0)] {
        let victim = Victim::start(GIGABYTE, &[]);
        let _connections: Vec<TcpStream> = (0..300).map(|_| announce(&victim.address, 1, call)).collect();
        for _ in 0..10 {
            let output = victim.ctl(&["show"]);
            assert!(output.status.success(), "{call:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// 192 connections with streams that have said who they are: operators come in, and can end them.
#[test]
fn operators_end_streams_that_keep_controllers_out() {
    let _alone = alone();
    let victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut held = vec![];
        for n in 0..192 {
            let mut client = victim.connect().await;
            held.push(stream(&mut client, 1 + n).await);
        }
        let listed = String::from_utf8(victim.ctl(&["clients"]).stdout).unwrap();
        assert_eq!(listed.lines().count(), 192, "{listed}");
        for client in listed.lines().take(5) {
            let number = client.split_whitespace().next().unwrap();
            let output = victim.ctl(&["end-client", number]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let mut honest = victim.connect().await;
        let _stream = stream(&mut honest, 1000).await;
        let ids = ids(&mut honest).await;
        honest.write(entries(ids, 1000, "INSERT", 0..1)).await.unwrap();
    });
}

/// Calls of a connection, one after the other without a pause, until it is told to stop.
async fn call_again(channel: Channel, path: &'static str, request: Vec<u8>) {
    loop {
        let mut client = tonic::client::Grpc::new(channel.clone());
        if client.ready().await.is_err() {
            return;
        }
        let codec = Codec::<Opaque, Opaque>::default();
        let request = Request::new(Opaque(request.clone()));
        if let Ok(answer) = client.server_streaming(request, path.parse().unwrap(), codec).await {
            let mut answer = answer.into_inner();
            while let Ok(Some(_)) = answer.message().await {}
        }
    }
}

/// 6,000 calls at a time were served in the order in which they came: an honest one waited for all of them, 3 s. Connections are served in
/// turn.
#[test]
fn floods_of_calls_keep_nobody_out() {
    let _alone = alone();
    let read: ReadRequest = from_text("device_id: 1 entities { table_entry {} }").unwrap();
    let floods = [(SHOW, vec![]), ("/p4.v1.P4Runtime/Read", p4runtime_proto::to_binary(&read))];
    let seconds = if at_length() { 10 } else { 1 };
    for (path, request) in floods {
        let mut victim = Victim::start(GIGABYTE, &[]);
        let honest = Honest::start(&victim, 7);
        let (stop, before) = (AtomicBool::new(false), victim.memory());
        std::thread::scope(|scope| {
            let flood = || {
                runtime().block_on(async {
                    let mut calls = JoinSet::new();
                    for _ in 0..100 {
                        let address = format!("http://{}", victim.address);
                        let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
                        for _ in 0..60 {
                            calls.spawn(call_again(channel.clone(), path, request.clone()));
                        }
                    }
                    while !stop.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                });
            };
            scope.spawn(flood);
            std::thread::sleep(Duration::from_secs(seconds));
            let output = victim.ctl(&["show"]);
            stop.store(true, Ordering::Relaxed);
            assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        });
        honest.end(&format!("a flood of {path}"));
        victim.is_as_before(before, "a flood of calls");
    }
}

/// 256 KiB of empty metadata are 4 MB, and 64 such packets of each of 32 streams may wait.
#[test]
fn metadata_of_packets_is_counted() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    runtime().block_on(async {
        let packet = |count: usize| -> StreamMessageRequest {
            from_text(&format!("packet {{ payload: \"x\" {} }}", "metadata {} ".repeat(count))).unwrap()
        };
        let mut client: Client = victim.connect().await;
        let (say, mut heard) = stream(&mut client, 1).await;
        say.send(packet(1024)).await.unwrap();
        say.send(packet(1025)).await.unwrap();
        let ended = loop {
            match heard.message().await {
                Ok(message) => assert!(message.is_some(), "it ends with a reason"),
                Err(why) => break why,
            }
        };
        assert_eq!(ended.code(), Code::ResourceExhausted, "{ended}");
        assert!(ended.message().contains("1025 metadata, and the limit is 1024"), "{ended}");
    });
    honest.end("metadata of packets");
    victim.is_as_before(before, "metadata of packets");
}

/// Two connections that read none of their answers took all memory for requests, and large writes of others were refused for minutes.
#[test]
fn answers_that_stop_make_room_for_requests() {
    let _alone = alone();
    let victim = Victim::start("true", &[]);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let ids = ids(&mut client).await;
        // Some ten megabytes.
        let mut large = entries(ids, 1, "INSERT", 0..5_000);
        for update in &mut large.updates {
            if let Some(Entity { entity: Some(TableEntry(entry)) }) = &mut update.entity {
                entry.metadata = vec![7; 2_000];
            }
        }
        client.write(large.clone()).await.unwrap();
        let all: ReadRequest = from_text("device_id: 1 entities { table_entry {} }").unwrap();
        let (mut readers, mut unread) = (vec![], vec![]);
        'full: for _ in 0..20 {
            let mut reader = victim.connect().await;
            for _ in 0..60 {
                match reader.read(all.clone()).await {
                    Ok(answer) => unread.push(answer),
                    Err(_) => break 'full,
                }
            }
            readers.push(reader);
        }
        assert!(!unread.is_empty());
        // The first one is refused until something has stopped for a while.
        large.updates.iter_mut().for_each(|update| update.r#type = 2);
        let mut tries = 0;
        while let Err(why) = client.write(large.clone()).await {
            assert_eq!(why.code(), Code::ResourceExhausted, "{why}");
            tries += 1;
            assert!(tries < 100, "{why}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        eprintln!("{} unread answers; refused {tries} times", unread.len());
    });
}
