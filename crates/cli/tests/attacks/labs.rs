//! A lab: several switches in one process, each with an address, a port for Thrift, and one for all of them.

use crate::raw::announce;
use crate::setup::{GIGABYTE, Victim, alone, at_length, connect, entries, ids, running, runtime, stream};
use bmv2::wire::{Kind, Message, Value, encode};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::SetForwardingPipelineConfigRequest;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// Two switches without hosts, with device ids 0 and 1. The victim's address is that of the second one; the others are Thrift's of that switch,
/// the first switch's, and the one of all.
fn lab(name: &str, limit: &str) -> (Victim, [String; 3]) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("attacked_lab_{name}"));
    std::fs::create_dir_all(&place).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    std::fs::copy(program, place.join("l2.p4")).unwrap();
    let topology = r#"{ "hosts": {}, "switches": { "s1": { "program": "l2.p4" }, "s2": { "program": "l2.p4" } }, "links": [] }"#;
    std::fs::write(place.join("topology.json"), topology).unwrap();
    let args = ["--no-prompt", "--grpc-port", "0", "--max-memory", "4096", "topology.json"];
    let (mut victim, lines) = Victim::lab(&place, limit, &args, "all switches");
    let word = |line: &str, before: &str| {
        let rest = line.split_once(before).unwrap().1;
        rest.split([' ', ',']).next().unwrap().to_string()
    };
    let [first, second, all] = ["s1: ", "s2: ", "all switches"]
        .map(|of| lines.iter().find(|line| line.starts_with(of)).unwrap().as_str());
    victim.address = word(second, "P4Runtime ");
    (victim, [word(second, "Thrift "), word(first, "P4Runtime "), word(all, "P4Runtime ")])
}

/// The memory of a program that another one has replaced stayed in labs: nobody told their switches how to return it.
#[test]
fn a_lab_gives_memory_back() {
    let _alone = alone();
    let count = if at_length() { 75_000 } else { 20_000 };
    let (mut victim, _) = lab("memory", GIGABYTE);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let table = ids(&mut client).await;
        let before = victim.memory();
        for first in (0..count).step_by(5_000) {
            client.write(entries(table, 1, "INSERT", first..first + 5_000)).await.unwrap();
        }
        assert!(victim.memory() > before + (20 << 20));
        let request = "device_id: 1 election_id { low: 1 } action: VERIFY_AND_COMMIT";
        let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
        let mut config = running(&mut client).await;
        config.p4_device_config =
            std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4"))
                .unwrap()
                .into();
        request.config = Some(config);
        client.set_forwarding_pipeline_config(request).await.unwrap();
        victim.is_as_before(before, "entries of a lab");
    });
}

fn thrift(name: &str, fields: Vec<(i16, Value)>) -> Vec<u8> {
    encode(&Message { kind: Kind::Call, name: format!("standard:{name}"), sequence: 1, fields })
}

/// Every connection to Thrift may ask for all entries of a table and not read them.
#[test]
fn answers_by_thrift_that_nobody_reads_take_little() {
    let _alone = alone();
    let count = if at_length() { 100_000 } else { 1_000 };
    let (mut victim, [address, ..]) = lab("thrift", GIGABYTE);
    let before = victim.memory();
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let table = ids(&mut client).await;
        for first in (0..count).step_by(5_000) {
            client.write(entries(table, 1, "INSERT", first..(first + 5_000).min(count))).await.unwrap();
        }
        let filled = victim.memory();
        let name = running(&mut client).await.p4info.unwrap().tables;
        let name = name.iter().filter_map(|table| table.preamble.as_ref()).find(|p| p.id == table.0).unwrap();
        let fields = vec![(1, Value::I32(0)), (2, Value::String(name.name.clone().into_bytes()))];
        let asks = thrift("bm_mt_get_entries", fields);
        let mut unread: Vec<TcpStream> = (0..60)
            .map(|_| {
                let mut stream = TcpStream::connect(&address).unwrap();
                stream.write_all(&asks).unwrap();
                stream
            })
            .collect();
        // Calls are executed one after the other: when the last has an answer or an end, all have.
        let mut first = [0; 1];
        let last = unread.last_mut().unwrap();
        last.set_nonblocking(true).unwrap();
        // The controller answers the switch's pings meanwhile.
        let ends = loop {
            match last.read(&mut first) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                ended => break ended.unwrap(),
            }
        };
        eprintln!(
            "{} MiB before, {} MiB with entries, {} MiB at most, {} MiB of addresses; the last answer has begun: {}",
            before >> 20,
            filled >> 20,
            victim.most_memory() >> 20,
            victim.addresses() >> 20,
            ends == 1
        );
        // Of the gigabyte that the process may have, some has to be left for the next call.
        assert!(victim.addresses() < 768 << 20, "{}", victim.addresses());
        client.write(entries(table, 1, "MODIFY", 0..count.min(5_000))).await.unwrap();
        drop(unread);
        victim.is_as_before(filled, "answers by Thrift");
    });
}

/// The addresses of a lab together took more files than the process may open.
#[test]
fn silent_connections_to_a_lab_keep_nobody_out() {
    let _alone = alone();
    let (mut victim, others) = lab("files", "ulimit -d 1048576 && ulimit -n 256");
    let before = victim.memory();
    let addresses: Vec<&String> = others.iter().chain([&victim.address]).collect();
    let silent: Vec<TcpStream> = addresses
        .iter()
        .flat_map(|address| {
            (0..150).map(|_| TcpStream::connect(address.as_str()).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let message = ("/p4.v1.P4Runtime/StreamChannel", 256 << 10);
    let speaking: Vec<TcpStream> =
        addresses[1..].iter().flat_map(|address| (0..40).map(|_| announce(address, 32, message))).collect();
    let output = victim.ctl(&["show"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    runtime().block_on(async { drop(running(&mut connect(&others[2]).await).await) });
    drop((silent, speaking));
    victim.is_as_before(before, "connections to a lab");
}
