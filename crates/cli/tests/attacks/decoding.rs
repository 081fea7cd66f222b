//! Messages that take far more memory than they have bytes.

use crate::setup::{
    GIGABYTE, Honest, Victim, alone, at_length, connect, entries, ids, raw_call, runtime, stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::WriteRequest;
use prost::Message;
use std::io::Write;
use std::net::TcpStream;
use tonic::Code;

/// A field with its bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend(bytes);
    out
}

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
    let connections: Vec<TcpStream> = (0..16).map(|_| announce(&victim.address, 32)).collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    honest.end("announced messages");
    drop(connections);
    victim.is_as_before(before, "announced messages");
}

/// A connection with calls of `Write` that announce 64 MB each, and send nothing of them.
fn announce(address: &str, calls: u32) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, id: u32, payload: &[u8]| {
        bytes.extend(&(payload.len() as u32).to_be_bytes()[1..]);
        bytes.extend([kind, flags]);
        bytes.extend(id.to_be_bytes());
        bytes.extend(payload);
    };
    frame(4, 0, 0, &[]);
    for call in 0..calls {
        // POST, http, and literals without a table: the path and what gRPC wants.
        let mut headers = vec![0x83, 0x86];
        let fields = [
            (":path", "/p4.v1.P4Runtime/Write"),
            (":authority", "a"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        for (name, value) in fields {
            headers.extend([0, name.len() as u8]);
            headers.extend(name.as_bytes());
            headers.push(value.len() as u8);
            headers.extend(value.as_bytes());
        }
        frame(1, 4, 2 * call + 1, &headers);
        frame(0, 0, 2 * call + 1, &[&[0][..], &(64u32 << 20).to_be_bytes()].concat());
    }
    stream.write_all(&bytes).unwrap();
    stream
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
