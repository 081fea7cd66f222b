//! All kinds of attacks against one process, repeatedly: leaks of each add up.
//!
//! `P4RACK_LEAK_SECONDS` says for how long, with TLS and without; `./test --all` does it for five minutes each.

use crate::honest::Honest;
use crate::raw::{field, raw_call_over};
use crate::setup::{
    Client, GIGABYTE, Victim, alone, at_length, count, entries, ids, running, runtime, stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, ReadRequest, SetForwardingPipelineConfigRequest};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rounds after which the maximum of the memory is measured: it varies between some 15 and 50 MiB, as the allocator
/// keeps memory of ended threads or frees it.
const WARM_UP: u64 = 60;

/// Most bytes of addresses. Without a limit on what a thread takes over from ended ones, they came to the gigabyte that the process may have.
const MOST_ADDRESSES: u64 = 512 << 20;

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
    let many: String = (0..40).map(line).collect();
    text.replacen("        sources.apply();\n", &format!("        sources.apply();\n{many}"), 1)
        .into_bytes()
        .into_iter()
        .chain(end.bytes())
        .collect()
}

/// The switch's other addresses.
struct Others {
    metrics: SocketAddr,
    thrift: SocketAddr,
    digests: SocketAddr,
}

impl Others {
    fn new() -> Others {
        let free = linux_net::free_addresses(3).unwrap();
        Others { metrics: free[0], thrift: free[1], digests: free[2] }
    }

    fn args(&self) -> [String; 6] {
        let (metrics, digests) = (self.metrics.to_string(), format!("tcp://{}", self.digests));
        let thrift = self.thrift.port().to_string();
        ["--metrics-addr", &metrics, "--thrift-port", &thrift, "--notifications-addr", &digests]
            .map(ToString::to_string)
    }

    /// Requests and calls that are whole, halves, and none, and subscribers; nobody reads anything.
    fn attack(&self) -> Vec<TcpStream> {
        let name = b"standard:bm_get_config";
        let call = [&[0x80, 1, 0, 1, 0, 0, 0, name.len() as u8][..], name, &[0; 5]].concat();
        let greeting = [0, b'S', b'P', 0, 0, 0x21, 0, 0];
        let request = b"GET /metrics HTTP/1.1\r\nHost: p4rack\r\n\r\n";
        let whole = [(self.metrics, &request[..]), (self.thrift, &call), (self.digests, &greeting)];
        let mut open = vec![];
        for (address, bytes) in whole {
            for number in 0..20 {
                let Ok(mut stream) = TcpStream::connect(address) else { continue };
                let part = if number % 2 == 0 { bytes } else { &bytes[..number % bytes.len()] };
                let _ = stream.write_all(part);
                open.push(stream);
            }
        }
        open
    }
}

async fn attack(victim: &Victim, start: &ForwardingPipelineConfig, table: (u32, u32), round: u64) {
    // Connections that say nothing, half of a hand-shake of HTTP or TLS, or something else.
    let mut silent: Vec<TcpStream> =
        (0..60).filter_map(|_| TcpStream::connect(&victim.address).ok()).collect();
    for (n, socket) in silent.iter_mut().enumerate() {
        let http = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\x16\x03\x01";
        let tls = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
        let hello = if n % 2 == 0 { &http[..] } else { &tls };
        let _ = socket.write_all(&hello[..n / 2 % hello.len()]);
    }
    // Messages of nothing, messages that are none, and requests of operators that are refused before or after they are decoded.
    let head = [8, 1, 0x1a, 2, 0x10, 2];
    let regions = field(6, &field(1, b"\x0a\x01a\x12\x01b").repeat(4_000));
    for (path, bytes) in [
        ("/p4.v1.P4Runtime/Write", [&head[..], &[0x22, 0].repeat(20_000)].concat()),
        ("/p4.v1.P4Runtime/Write", [&head[..], &[0xff; 5000]].concat()),
        ("/p4.v1.P4Runtime/Read", [0x1a, 0].repeat(5_000)),
        ("/p4rack.v1.Rack/Steer", regions),
        ("/p4rack.v1.Rack/Steer", vec![1; 300_000]),
        ("/p4rack.v1.Rack/Trace", field(2, &[1; 10_000])),
    ] {
        let _ = raw_call_over(victim.reach().channel().await, path, bytes).await;
    }
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
    request.config =
        Some(ForwardingPipelineConfig { p4_device_config: program(round).into(), ..start.clone() });
    let pushed = reader.set_forwarding_pipeline_config(request).await;
    assert_eq!(pushed.is_ok(), round % 3 != 2, "{pushed:?}");
    if round.is_multiple_of(8) {
        assert!(victim.ctl(&["show"]).status.success());
    }
}

#[test]
fn attacks_leave_nothing_behind() {
    leave_nothing_behind(Victim::start, if at_length() { WARM_UP } else { WARM_UP / 2 });
}

/// Only connections differ, so the short form has a tenth of the rounds: files, threads and addresses are checked, and memory, which they say
/// nothing about, by the long form.
#[test]
fn attacks_over_tls_leave_nothing_behind() {
    leave_nothing_behind(Victim::encrypted, if at_length() { WARM_UP } else { WARM_UP / 10 });
}

/// Memory is checked after half of [`WARM_UP`] rounds at least.
fn leave_nothing_behind(start: impl Fn(&str, &[&str]) -> Victim, warm_up: u64) {
    let _alone = alone();
    let seconds = features::setting("P4RACK_LEAK_SECONDS", if at_length() { 300 } else { 1 });
    let others = Others::new();
    let mut victim = start(GIGABYTE, &others.args().each_ref().map(String::as_str));
    let (files, threads) = (victim.files(), victim.threads());
    let honest = Honest::start(&victim, 2);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let (start, table) = (running(&mut client).await, ids(&mut client).await);
        // Memory that is kept for good is there after some rounds: threads, queues, the programs that were pushed last.
        let mut before = 0;
        for round in 0..warm_up {
            let _open = others.attack();
            attack(&victim, &start, table, round).await;
            before = victim.memory().max(before);
        }
        let (begun, mut round) = (Instant::now(), warm_up);
        while begun.elapsed() < Duration::from_secs(seconds) {
            let _open = others.attack();
            attack(&victim, &start, table, round).await;
            round += 1;
            if round.is_multiple_of(500) {
                let (memory, addresses) = (victim.memory() >> 10, victim.addresses() >> 20);
                eprintln!("round {round}, {:?}: {memory} KiB, {addresses} MiB of addresses", begun.elapsed());
            }
        }
        let addresses = victim.addresses();
        eprintln!("{round} rounds of all attacks: {} MiB of addresses", addresses >> 20);
        assert!(addresses < MOST_ADDRESSES, "{addresses}");
        honest.end(&format!("{round} rounds of all attacks"));
        if warm_up >= WARM_UP / 2 {
            victim.is_as_before(before, "all attacks");
        }
    });
    victim.has_closed(files, threads, "all attacks");
}
