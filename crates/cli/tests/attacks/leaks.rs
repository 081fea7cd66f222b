//! All kinds of attacks against one process, repeatedly: leaks of each add up.
//!
//! `P4RACK_LEAK_SECONDS` says for how long; `./test --all` does it for five minutes.

use crate::raw::raw_call;
use crate::setup::{
    Client, GIGABYTE, Honest, Victim, alone, at_length, count, entries, ids, running, runtime, stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, ReadRequest, SetForwardingPipelineConfigRequest};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rounds after which the maximum of the memory is measured: it varies between some 15 and 50 MiB, as the allocator
/// keeps memory of ended threads or frees it.
const WARM_UP: u64 = 60;

/// Another text of the program that runs in each round, and in every third one a wrong one.
fn program(round: u64) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let text = std::fs::read_to_string(path).unwrap();
    let end = if round % 3 == 2 { "parser p(" } else { "" };
    let line = |n: u64| {
        format!(
            "        if (hdr.ethernet.src == 48w{n}) {{ hdr.ethernet.ether_type = 16w{}; }}\n",
            round % 65536
        )
    };
    let many: String = (0..100).map(line).collect();
    text.replacen("        sources.apply();\n", &format!("        sources.apply();\n{many}"), 1)
        .into_bytes()
        .into_iter()
        .chain(end.bytes())
        .collect()
}

async fn attack(victim: &Victim, start: &ForwardingPipelineConfig, table: (u32, u32), round: u64) {
    let address = &victim.address;
    // Connections that say nothing, half of a hand-shake, or none.
    let mut silent: Vec<TcpStream> = (0..60).filter_map(|_| TcpStream::connect(address).ok()).collect();
    for (n, socket) in silent.iter_mut().enumerate() {
        let hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\x16\x03\x01";
        let _ = socket.write_all(&hello[..n % hello.len()]);
    }
    // Messages of nothing, and messages that are none.
    let head = [8, 1, 0x1a, 2, 0x10, 2];
    let _ = raw_call(address, "Write", [&head[..], &[0x22, 0].repeat(20_000)].concat()).await;
    let _ = raw_call(address, "Write", [&head[..], &[0xff; 5000]].concat()).await;
    let _ = raw_call(address, "Read", [0x1a, 0].repeat(5_000)).await;
    // Reads of everything; most answers are not read.
    let mut reader: Client = victim.connect().await;
    let all: ReadRequest =
        from_text("device_id: 1 entities { table_entry {} } entities { table_entry { priority: 3 } }")
            .unwrap();
    count(&mut reader, all.clone()).await.unwrap();
    let mut unread = vec![];
    for _ in 0..20 {
        unread.extend(reader.read(all.clone()).await);
    }
    // Streams with unknown roles.
    let mut streams = vec![];
    for n in 0..20 {
        streams.push(stream(&mut reader, 0).await);
        let hello = format!(
            "arbitration {{ device_id: 1 role {{ name: \"r{round}-{n}\" }} election_id {{ low: 1 }} }}"
        );
        let _ = streams.last().unwrap().0.send(from_text(&hello).unwrap()).await;
    }
    // Batches that fail at their end, by the election id of the primary.
    let bad = entries(table, 2, "INSERT", (10..2000).chain([10]));
    let _ = reader.write(bad).await;
    // Programs.
    let request = "device_id: 1 election_id { low: 2 } action: RECONCILE_AND_COMMIT";
    let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
    request.config = Some(ForwardingPipelineConfig { p4_device_config: program(round), ..start.clone() });
    let pushed = reader.set_forwarding_pipeline_config(request).await;
    assert_eq!(pushed.is_ok(), round % 3 != 2, "{pushed:?}");
    if round.is_multiple_of(8) {
        assert!(victim.ctl(&["show"]).status.success());
    }
}

#[test]
fn attacks_leave_nothing_behind() {
    let _alone = alone();
    let seconds = features::setting("P4RACK_LEAK_SECONDS", if at_length() { 300 } else { 3 });
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 2);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let (start, table) = (running(&mut client).await, ids(&mut client).await);
        // Memory that is kept for good is there after some rounds: threads, queues, the programs that were pushed last.
        let mut before = 0;
        for round in 0..WARM_UP {
            attack(&victim, &start, table, round).await;
            before = victim.memory().max(before);
        }
        let (begun, mut round) = (Instant::now(), WARM_UP);
        while begun.elapsed() < Duration::from_secs(seconds) {
            attack(&victim, &start, table, round).await;
            round += 1;
            if round.is_multiple_of(500) {
                eprintln!("round {round}, {:?}: {} KiB", begun.elapsed(), victim.memory() >> 10);
            }
        }
        honest.end(&format!("{round} rounds of all attacks"));
        victim.is_as_before(before, "all attacks");
    });
}
