//! Messages that take far more memory than they have bytes.

use crate::honest::Honest;
use crate::raw::{announce, field, raw_call};
use crate::setup::{GIGABYTE, Victim, alone, at_length, connect, entries, ids, runtime, stream};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::WriteRequest;
use prost::Message;
use std::net::TcpStream;
use tonic::Code;

fn head(election: u64) -> Vec<u8> {
    let head: WriteRequest = from_text(&format!("device_id: 1 election_id {{ low: {election} }}")).unwrap();
    head.encode_to_vec()
}

/// 4 MB of empty updates of somebody who was nobody's primary took 800 MB, 60 MB ended the process: all was decoded before anybody
/// was asked.
#[test]
fn empty_updates_are_counted_before_they_are_decoded() {
    let _alone = alone();
    let bytes = if at_length() { 60_000_000 } else { 4_000_000 };
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    runtime().block_on(async {
        let updates = [0x22, 0].repeat(bytes / 2);
        let stranger = raw_call(&victim.address, "Write", [head(6), updates.clone()].concat()).await;
        assert_eq!(stranger.unwrap_err().code(), Code::PermissionDenied);
        let primary = raw_call(&victim.address, "Write", [head(7), updates].concat()).await.unwrap_err();
        assert_eq!(primary.code(), Code::ResourceExhausted, "{primary}");
        assert!(primary.message().contains("the limit is 131072 (`--max-updates`)"), "{primary}");
        // One update with as many empty matches.
        let entry = [0x12, 0].repeat(bytes / 2);
        let update = field(4, &field(2, &field(2, &entry)));
        let matches = raw_call(&victim.address, "Write", [head(7), update].concat()).await.unwrap_err();
        assert!([Code::ResourceExhausted, Code::Unknown].contains(&matches.code()), "{matches}");
        // Queries are not counted for anybody.
        let queries = [0x12, 0].repeat(bytes.min(16_000_000) / 2);
        let read = raw_call(&victim.address, "Read", queries).await.unwrap_err();
        assert_eq!(read.code(), Code::ResourceExhausted, "{read}");
    });
    honest.end("messages of nothing");
    victim.is_as_before(before, "messages of nothing");
}

#[test]
fn the_limit_is_an_option() {
    let _alone = alone();
    let victim = Victim::start(GIGABYTE, &["--max-updates", "10"]);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let ids = ids(&mut client).await;
        client.write(entries(ids, 1, "INSERT", 0..10)).await.unwrap();
        let refused = client.write(entries(ids, 1, "INSERT", 10..21)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(
            refused.message().starts_with("too many updates in one request: the limit is 10"),
            "{refused}"
        );
    });
}

/// gRPC makes room for a message when its length has come. Nobody gets room for lengths alone.
#[test]
fn announced_messages_take_no_memory() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    let write = ("/p4.v1.P4Runtime/Write", 64 << 20);
    let connections: Vec<TcpStream> = (0..16).map(|_| announce(&victim.address, 32, write)).collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    honest.end("announced messages");
    drop(connections);
    victim.is_as_before(before, "announced messages");
}

/// gRPC makes room for messages of streams, too: 192 connections with 32 streams, each with the length of one message of
/// 256 KiB, took 1.5 GB.
#[test]
fn announced_messages_of_streams_take_no_memory() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 7);
    let before = victim.memory();
    let message = ("/p4.v1.P4Runtime/StreamChannel", 256 << 10);
    let connections: Vec<TcpStream> = (0..180).map(|_| announce(&victim.address, 32, message)).collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    honest.end("announced messages of streams");
    drop(connections);
    victim.is_as_before(before, "announced messages of streams");
}

/// From 150 updates on, details for all of them were more than clients read: they saw a broken stream, with 99,999 updates done.
#[test]
fn one_bad_update_of_many_is_reported_to_clients_as_they_are() {
    let _alone = alone();
    let sizes: &[u32] = if at_length() { &[75, 150, 220, 5_000, 100_000] } else { &[75, 150, 220, 5_000] };
    let victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut client = connect(&victim.address).await;
        let _stream = stream(&mut client, 1).await;
        let ids = ids(&mut client).await;
        for size in sizes {
            let mut write = entries(ids, 1, "INSERT", 0..*size);
            write.updates[*size as usize / 2].r#type = 3;
            let reported = client.write(write).await.unwrap_err();
            assert_eq!(reported.code(), Code::Unknown, "{reported}");
            let cause = format!("1 of {size} updates failed; the first: updates[{}]: entity", size / 2);
            assert!(reported.message().starts_with(&cause), "{reported}");
            let trailers: usize = reported
                .metadata()
                .clone()
                .into_headers()
                .iter()
                .map(|(name, value)| name.as_str().len() + value.len() + 32)
                .sum();
            let escaped = 3 * reported.message().len();
            assert!(trailers + reported.details().len() * 4 / 3 + escaped < 8192, "{size}: {trailers}");
            client.write(entries(ids, 1, "DELETE", (0..*size).filter(|n| *n != size / 2))).await.unwrap();
        }
    });
}
