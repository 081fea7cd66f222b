//! Silent connections, streams that block others, and unused roles.

use crate::honest::Honest;
use crate::raw::announce;
use crate::setup::{Client, GIGABYTE, Victim, alone, at_length, known, runtime, stream};
use agent::ClientTls;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::stream_message_response::Update as ResponseUpdate;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// 300 connections under a limit of 256 descriptors once took most of a core, and no other client was served.
#[test]
fn silent_connections_keep_nobody_out() {
    let _alone = alone();
    let free = linux_net::free_addresses(1).unwrap()[0].to_string();
    let mut victim = Victim::start("ulimit -d 1048576 && ulimit -n 256", &["--metrics-addr", &free]);
    let honest = Honest::start(&victim, 5);
    let before = victim.memory();
    let mut silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&victim.address).unwrap()).collect();
    for stream in &mut silent[..100] {
        // Some have begun to speak HTTP/2.
        let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    }
    let asking: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(&free).unwrap();
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n");
            stream
        })
        .collect();
    let ticks = victim.ticks();
    std::thread::sleep(Duration::from_secs(1));
    eprintln!("silent connections: {} % of a core", victim.ticks() - ticks);
    for _ in 0..5 {
        let output = victim.ctl(&["show"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    runtime().block_on(async {
        let mut another = victim.connect().await;
        stream(&mut another, 2).await;
    });
    let mut stream = TcpStream::connect(&free).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: p4rack\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("\np4rack_connections_ended_total "), "{answer}");
    drop((silent, asking));
    honest.end("silent connections");
    victim.is_as_before(before, "silent connections");
}

/// Files are reserved for Thrift's clients and for subscribers to digests: P4Runtime connections, however many, take none of them.
#[test]
fn connections_take_no_files_of_others() {
    const EACH: usize = 64;
    let _alone = alone();
    let free = linux_net::free_addresses(2).unwrap();
    let (thrift, digests) = (free[0], free[1]);
    let args =
        ["--thrift-port", &thrift.port().to_string(), "--notifications-addr", &format!("tcp://{digests}")];
    let victim = Victim::start("ulimit -d 1048576 && ulimit -n 256", &args);
    // Each has a call, so none is closed to make room.
    let call = ("/p4.v1.P4Runtime/StreamChannel", 0);
    let _calls: Vec<TcpStream> = (0..300).map(|_| announce(&victim.address, 1, call)).collect();
    let name = b"simple_switch:get_time_elapsed_us";
    let asked = [&[0x80, 1, 0, 1, 0, 0, 0, name.len() as u8][..], name, &[0; 5]].concat();
    let others = [(thrift, &asked[..]), (digests, &[0, b'S', b'P', 0, 0, 0x21, 0, 0])];
    let mut open = vec![];
    for (address, greeting) in others {
        for number in 0..EACH {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(greeting).unwrap();
            stream.read_exact(&mut [0; 8]).unwrap_or_else(|error| panic!("{address}, {number}: {error}"));
            open.push(stream);
        }
    }
    assert!(victim.ctl(&["show"]).status.success());
    for (number, stream) in open.iter_mut().enumerate() {
        stream.set_nonblocking(true).unwrap();
        // The rest of the first answer, and no end.
        let ended = loop {
            match stream.read(&mut [0; 256]) {
                Ok(1..) => {}
                ended => break ended,
            }
        };
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::WouldBlock, "{number} is closed");
    }
}

/// Incomplete TLS handshakes, and data that is no handshake.
#[test]
fn hand_shakes_without_end_keep_nobody_out() {
    let _alone = alone();
    let mut victim = Victim::encrypted("ulimit -d 1048576 && ulimit -n 256", &[]);
    let before = victim.memory();
    // The beginning of a ClientHello, which has 512 bytes.
    let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let begun: Vec<TcpStream> = (0..400)
        .map(|n| {
            let mut stream = TcpStream::connect(&victim.address).unwrap();
            let _ = stream.write_all(&hello[..n % 12]);
            stream
        })
        .collect();
    for _ in 0..5 {
        let output = victim.ctl(&["show"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    drop(begun);
    victim.is_as_before(before, "hand-shakes");
}

/// A flood of handshakes by clients without certificates; each costs the switch a signature.
#[test]
fn hand_shakes_that_flood_keep_nobody_out() {
    let _alone = alone();
    let mut victim = Victim::encrypted(GIGABYTE, &[]);
    let known = known();
    let nobody = ClientTls { identity: None, ..known.clone() };
    let before = victim.memory();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                runtime().block_on(async {
                    while !stop.load(Ordering::Relaxed) {
                        let endpoint = p4runtime_grpc::endpoint(&victim.address, Some(&nobody)).unwrap();
                        drop(endpoint.connect().await);
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                });
            });
        }
        // A connected controller continues, and others can connect.
        let mut early = agent::Operator::connect(&victim.address, Some(&known), None).unwrap();
        let (mut calls, mut worst, mut slowest) = (0, Duration::ZERO, Duration::ZERO);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(if at_length() { 20 } else { 2 }) {
            let asked = Instant::now();
            early.show().unwrap();
            worst = worst.max(asked.elapsed());
            let asked = Instant::now();
            agent::Operator::connect(&victim.address, Some(&known), None).unwrap().show().unwrap();
            slowest = slowest.max(asked.elapsed());
            calls += 1;
        }
        stop.store(true, Ordering::Relaxed);
        eprintln!(
            "a flood of {} hand-shakes: {calls} calls of who is there, the longest took {worst:?}, and of who comes, {slowest:?}",
            made.load(Ordering::Relaxed)
        );
    });
    victim.is_as_before(before, "a flood of hand-shakes");
}

/// Opens a stream for the role with an election id.
async fn role(client: &mut Client, role: &str, election: u64) -> Option<(bool, impl Sized + use<>)> {
    let (say, said) = mpsc::channel(4);
    let role = if role.is_empty() { String::new() } else { format!("role {{ name: \"{role}\" }}") };
    let hello = format!("arbitration {{ device_id: 1 {role} election_id {{ low: {election} }} }}");
    say.send(from_text(&hello).unwrap()).await.unwrap();
    let said = tokio_stream::wrappers::ReceiverStream::new(said);
    let mut heard = client.stream_channel(said).await.ok()?.into_inner();
    let Ok(Some(message)) = heard.message().await else { return None };
    let Some(ResponseUpdate::Arbitration(reported)) = message.update else { return None };
    Some((reported.status?.code == 0, (say, heard)))
}

/// 256 streams shut everybody else out of their role, whatever their election ids, and 256 names of roles out of all others.
#[test]
fn streams_and_roles_shut_nobody_out() {
    let _alone = alone();
    let connections = if at_length() { 20 } else { 10 };
    let victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut held = vec![];
        for connection in 0..connections {
            let mut client = victim.connect().await;
            let mut taken = 0;
            for stream in 0..40 {
                let held_now = role(&mut client, "", 1 + connection * 40 + stream).await;
                taken += usize::from(held_now.is_some());
                held.extend(held_now.map(|(_, stream)| stream));
            }
            assert_eq!(taken, 32, "of one connection");
        }
        let mut honest = victim.connect().await;
        let (is_primary, _stream) = role(&mut honest, "", 1_000_000).await.expect("it is let in");
        assert!(is_primary);
        for name in 0..connections * 40 {
            let mut client = victim.connect().await;
            assert!(role(&mut client, &format!("r{name}"), 1).await.is_some(), "{name}");
        }
    });
}
