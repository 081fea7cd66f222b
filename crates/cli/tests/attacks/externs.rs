//! Frame externs of a program that somebody pushes, with whatever arguments: memory as large as can be asked for, timers that never
//! rest, many of one kind.

use crate::honest::Honest;
use crate::setup::{Client, GIGABYTE, Victim, alone, at_length, entries, ids, running, runtime};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, SetForwardingPipelineConfigRequest};
use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

/// Name, type with its members, widths of the constructor's arguments, and a call.
const EXTERNS: [(&str, &str, &[u32], &str); 6] = [
    ("beacon", "Beacon { Beacon(bit<32> a, bit<48> b); void process(); }", &[32, 48], "process()"),
    ("kv-cache", "KvCache { KvCache(bit<32> a, bit<48> b); void process(); }", &[32, 48], "process()"),
    (
        "fec-encode",
        "FecEncode { FecEncode(bit<48> a); void encode(in bit<16> port, in bit<8> c, in bit<8> k, in bit<8> h); }",
        &[48],
        "encode(1, 0, 255, 255)",
    ),
    (
        "fec-decode",
        "FecDecode { FecDecode(bit<48> a, bit<8> b, bit<32> c, bit<32> d); void decode(in bit<16> port); }",
        &[48, 8, 32, 32],
        "decode(1)",
    ),
    (
        "header-compress",
        "HeaderCompress { HeaderCompress(bit<16> a, bit<16> b); void compress(in bit<16> port); }",
        &[16, 16],
        "compress(1)",
    ),
    (
        "header-decompress",
        "HeaderDecompress { HeaderDecompress(bit<16> a); void decompress(in bit<16> port); }",
        &[16],
        "decompress(1)",
    ),
];

/// A program with `count` externs; each of them gets all frames.
fn program((name, members, widths, call): (&str, &str, &[u32], &str), value: u128, count: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let text = std::fs::read_to_string(path).unwrap();
    let ty = members.split(' ').next().unwrap();
    let args = widths.iter().map(|width| format!("{width}w{}", value.min((1 << width) - 1)));
    let args = args.collect::<Vec<_>>().join(", ");
    let instances: String = (0..count).map(|n| format!("    {ty}({args}) extern{n};\n")).collect();
    let calls: String = (0..count).map(|n| format!("        extern{n}.{call};\n")).collect();
    let text = text.replacen(
        "struct headers_t {",
        &format!("@frame_extern({name:?})\nextern {members}\n\nstruct headers_t {{"),
        1,
    );
    let text = text.replacen("    action know() {", &format!("{instances}\n    action know() {{"), 1);
    text.replacen("        sources.apply();\n", &format!("        sources.apply();\n{calls}"), 1).into_bytes()
}

/// A frame of some flow of UDP, from or to a memcached.
fn frame(n: u32) -> Vec<u8> {
    let text = match n % 3 {
        0 => format!("set key{n} 0 0 900\r\n{}\r\n", "x".repeat(900)),
        1 => format!("get key{n}\r\n"),
        _ => format!("VALUE key{n} 0 900\r\n{}\r\nEND\r\n", "y".repeat(900)),
    };
    let from = (n as u16).to_be_bytes();
    let ports = if n % 3 == 2 { [0x2b, 0xcb, from[0], from[1]] } else { [from[0], from[1], 0x2b, 0xcb] };
    let length = 16 + text.len() as u16;
    let udp =
        [&ports[..], &length.to_be_bytes(), &[0, 0], &from, &[0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
    let total = (length + 20).to_be_bytes();
    let mut ip =
        [&[0x45, 0], &total[..], &from, &[0x40, 0, 64, 17, 0, 0], &n.to_be_bytes(), &[10, 0, 0, 1]].concat();
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    [&[0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0], &ip[..], &udp].concat()
}

async fn push(
    client: &mut Client,
    start: &ForwardingPipelineConfig,
    text: Vec<u8>,
) -> Result<(), tonic::Status> {
    let request = "device_id: 1 election_id { low: 2 } action: RECONCILE_AND_COMMIT";
    let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
    request.config = Some(ForwardingPipelineConfig { p4_device_config: text.into(), ..start.clone() });
    client.set_forwarding_pipeline_config(request).await.map(drop)
}

/// 200 beacons that double each frame, and set a timer for it, kept operators waiting for more than half a minute.
#[test]
fn frame_externs_of_a_pushed_program_do_no_harm() {
    let _alone = alone();
    let (counts, frames) = if at_length() { ([1, 8, 200], 20_000) } else { ([1, 8, 9], 800) };
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    outside.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let inside = linux_net::free_addresses(1).unwrap()[0];
    let port = format!("1@udp:{inside},{}", outside.local_addr().unwrap());
    let mut victim = Victim::start(GIGABYTE, &["-i", &port]);
    outside.connect(inside).unwrap();
    let honest = Honest::start(&victim, 2);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let start = running(&mut client).await;
        // Memory that stays after a push is there after a few pushes: the last is as large as the others, and without externs.
        for kind in EXTERNS {
            let _ = push(&mut client, &start, program(kind, 4096, 1)).await;
        }
        push(&mut client, &start, program(EXTERNS[0], 1, 0)).await.unwrap();
        let before = victim.memory();
        for kind in EXTERNS {
            for value in [0, 1, 4096, u128::MAX >> 1] {
                for count in counts {
                    let what = format!("{count} {} with {value:#x}", kind.0);
                    match push(&mut client, &start, program(kind, value, count)).await {
                        Ok(()) => assert!(count <= 8, "{what}"),
                        Err(status) => {
                            let is_many = status.code() == tonic::Code::ResourceExhausted;
                            assert_eq!(count > 8, is_many, "{what}: {status}");
                            continue;
                        }
                    }
                    for n in 0..frames / count as u32 {
                        let _ = outside.send(&frame(n));
                    }
                    let asked = Instant::now();
                    let output = victim.ctl(&["show"]);
                    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
                    eprintln!(
                        "{what}: {} MiB, an operator waits for {:?}",
                        victim.memory() >> 20,
                        asked.elapsed()
                    );
                }
            }
        }
        // Frames pass as ever once the program is another.
        push(&mut client, &start, program(EXTERNS[0], 1, 0)).await.unwrap();
        let ids = ids(&mut client).await;
        client.write(entries(ids, 2, "INSERT", 0..1)).await.unwrap();
        let mut buffer = [0; 4096];
        let mark = [vec![0, 0, 0, 0, 0, 1], vec![2, 0, 0, 0, 0, 9], vec![8, 0], vec![7; 46]].concat();
        loop {
            outside.send(&mark).unwrap();
            if outside.recv(&mut buffer).is_ok_and(|length| buffer[..length] == mark[..]) {
                break;
            }
        }
        honest.end("frame externs");
        victim.is_as_before(before, "frame externs");
    });
}
