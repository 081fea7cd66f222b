//! Whole sessions of clumsy controllers, one after the other: each connects, arbitrates, writes, reads, subscribes and leaves.
//!
//! `P4RACK_LEAK_SECONDS` says for how long: what a session leaves behind adds up.

use crate::honest::Honest;
use crate::setup::{GIGABYTE, Victim, alone, at_length, count, entries, ids, runtime, stream, stream_of};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ReadRequest, StreamMessageRequest};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Sessions after which the most memory is measured: some is kept for good, as threads and queues.
const WARM_UP: u64 = 100;

/// Election id of the honest controller. Sessions have lower ones, and stay backups in its role.
const HONEST: u64 = 1 << 32;

/// One session. Its number says how it ends.
async fn session(victim: &Victim, digests: SocketAddr, table: (u32, u32), number: u64) {
    let mut client = victim.connect().await;
    // Another role each time: the honest controller stays the primary of its own.
    let role = format!("session-{}", number % 300);
    let (say, mut heard) = stream_of(&mut client, &role, 1).await;
    let mut backup = victim.connect().await;
    let _backup = match number.is_multiple_of(4) {
        true => Some(stream(&mut backup, 2 + number % 7).await),
        false => None,
    };
    // The role may write everything: 20 entries of its own, which are gone at the end of the session unless it ends early.
    let own = || (0..20).map(|n| 1_000 + (number % 50) as u32 * 20 + n);
    let ends_early = number.is_multiple_of(3);
    let write = |how: &str| {
        let mut request = entries(table, 1, how, own());
        request.role.clone_from(&role);
        request
    };
    // An earlier session may have left them.
    if client.write(write("INSERT")).await.is_err() {
        client.write(write("MODIFY")).await.unwrap();
    }
    let all: ReadRequest = from_text("device_id: 1 entities { table_entry {} }").unwrap();
    assert!(count(&mut client, all.clone()).await.unwrap() >= 20);
    // A subscriber to digests, and packets that the program drops.
    let mut subscriber = TcpStream::connect(digests).unwrap();
    subscriber.write_all(&[0, b'S', b'P', 0, 0, 0x21, 0, 0]).unwrap();
    subscriber.read_exact(&mut [0; 8]).unwrap();
    let packet: StreamMessageRequest = from_text("packet { payload: \"too short\" }").unwrap();
    say.send(packet).await.unwrap();
    match number % 5 {
        // It leaves in the middle of an answer.
        0 => drop(client.read(all).await),
        // Its stream is half closed, and the answers are read to their end.
        1 => {
            drop(say);
            while let Ok(Some(_)) = heard.message().await {}
        }
        // It leaves with a call that has begun.
        2 => drop(tokio::time::timeout(Duration::from_micros(200), client.write(write("MODIFY"))).await),
        _ => {}
    }
    if !ends_early && number % 5 > 2 {
        client.write(write("DELETE")).await.unwrap();
    }
}

#[test]
fn sessions_leave_nothing_behind() {
    sessions(Victim::start);
}

#[test]
fn sessions_over_tls_leave_nothing_behind() {
    sessions(Victim::encrypted);
}

fn sessions(start: impl Fn(&str, &[&str]) -> Victim) {
    let _alone = alone();
    let seconds = features::setting("P4RACK_LEAK_SECONDS", if at_length() { 300 } else { 0 });
    let digests = linux_net::free_addresses(1).unwrap()[0];
    let mut victim = start(GIGABYTE, &["--notifications-addr", &format!("tcp://{digests}")]);
    let (files, threads) = (victim.files(), victim.threads());
    let honest = Honest::start(&victim, HONEST);
    let (before, number) = runtime().block_on(async {
        let table = ids(&mut victim.connect().await).await;
        let (mut before, mut number) = (0, 0);
        let mut begun = Instant::now();
        while number < WARM_UP || begun.elapsed() < Duration::from_secs(seconds) {
            session(&victim, digests, table, number).await;
            number += 1;
            if number <= WARM_UP {
                (before, begun) = (victim.memory().max(before), Instant::now());
            }
            if number.is_multiple_of(2000) {
                eprintln!(
                    "session {number}, {:?}: {} KiB, {} files, {} threads",
                    begun.elapsed(),
                    victim.memory() >> 10,
                    victim.files(),
                    victim.threads()
                );
            }
        }
        (before, number)
    });
    let what = format!("{number} sessions");
    honest.end(&what);
    victim.is_as_before(before, &what);
    victim.has_closed(files, threads, &what);
}
