#![allow(clippy::unwrap_used)]

use super::*;
use crate::backlog::MOST_BYTES;
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::{Mutex, mpsc};

const SUB: [u8; 8] = [0, b'S', b'P', 0, 0, 0x21, 0, 0];

/// Longer than any test.
const HOUR: Duration = Duration::from_secs(3600);

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
}

/// Sends the first bytes of a subscriber and reads those of the publisher.
async fn greet(stream: &mut DuplexStream) {
    stream.write_all(&SUB).await.unwrap();
    stream.read_exact(&mut [0; 8]).await.unwrap();
}

async fn read(stream: &mut DuplexStream, length: usize) -> Vec<u8> {
    let mut read = vec![0; length];
    stream.read_exact(&mut read).await.unwrap();
    read
}

#[test]
fn who_does_not_read_is_ended_and_others_go_on() {
    block_on(async {
        let backlog = Backlog::new(Budget::default());
        let start = |patience| {
            let (ours, theirs) = duplex(4096);
            (theirs, tokio::spawn(publish(ours, backlog.subscribe(), patience)))
        };
        let (mut silent, ended) = start(Duration::from_millis(1));
        // Its first bytes have to be there in time.
        silent.write_all(&SUB).await.unwrap();
        let (mut reader, running) = start(HOUR);
        greet(&mut reader).await;
        for number in 0..3 {
            assert!(backlog.push(vec![number; 8192]));
            assert_eq!(read(&mut reader, 8192).await, vec![number; 8192]);
        }
        assert_eq!(ended.await.unwrap().expect_err("it does not read").kind(), io::ErrorKind::TimedOut);
        assert!(!running.is_finished());
        // Messages that waited for it are gone.
        let all: Vec<_> = (0..96).map(|_| backlog.budget().take(MOST_BYTES)).collect();
        assert!(all.iter().all(Option::is_some));
        drop(reader);
        running.await.unwrap().unwrap();
    });
}

#[test]
fn who_says_nothing_is_ended() {
    block_on(async {
        let backlog = Backlog::new(Budget::default());
        let (ours, _theirs) = duplex(4096);
        let ended = publish(ours, backlog.subscribe(), Duration::from_millis(1)).await;
        assert_eq!(ended.expect_err("it is silent").kind(), io::ErrorKind::TimedOut);
    });
}

/// A socket with the connections and errors of a queue.
struct Scripted(Mutex<mpsc::UnboundedReceiver<io::Result<DuplexStream>>>);

impl Accepts for Scripted {
    type Stream = DuplexStream;

    async fn next(&self) -> io::Result<(DuplexStream, IpAddr)> {
        match self.0.lock().await.recv().await {
            Some(next) => next.map(|stream| (stream, IpAddr::from([127, 0, 0, 1]))),
            None => std::future::pending().await,
        }
    }
}

#[test]
fn errors_do_not_end_the_socket_and_the_oldest_subscriber_makes_room() {
    block_on(async {
        let backlog = Backlog::new(Budget::default());
        let (connect, queue) = mpsc::unbounded_channel();
        tokio::spawn(accept(Scripted(Mutex::new(queue)), backlog.clone()));
        let mut all = vec![];
        for _ in 0..=SUBSCRIBERS {
            connect.send(Err(io::ErrorKind::ConnectionAborted.into())).unwrap();
            let (ours, mut theirs) = duplex(4096);
            connect.send(Ok(ours)).unwrap();
            greet(&mut theirs).await;
            all.push(theirs);
        }
        assert_eq!(all[0].read(&mut [0]).await.unwrap(), 0, "it is closed");
        // No descriptors are left: another one makes room.
        connect.send(Err(io::Error::from_raw_os_error(24))).unwrap();
        assert_eq!(all[1].read(&mut [0]).await.unwrap(), 0, "it is closed");
        let (ours, mut last) = duplex(4096);
        connect.send(Ok(ours)).unwrap();
        greet(&mut last).await;
        assert!(backlog.push(vec![7]));
        for stream in all[2..].iter_mut().chain([&mut last]) {
            assert_eq!(read(stream, 1).await, [7]);
        }
    });
}
