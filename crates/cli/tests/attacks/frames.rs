//! Floods of HTTP/2's frames, each of which costs its sender little.

use crate::honest::Honest;
use crate::raw::Frames;
use crate::setup::{GIGABYTE, Victim, alone, at_length};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const CALL: &str = "/p4.v1.P4Runtime/StreamChannel";

/// Frames in a portion of a flood.
const PORTION: u32 = 500;

/// Begins a connection, and makes portions of its flood, of which each has a number.
type Flood = (&'static str, fn(&mut Frames), fn(&mut Frames, u32));

const FLOODS: [Flood; 10] = [
    ("pings", |_| (), |frames, _| frames.add(6, 0, 0, &[0; 8])),
    ("settings", |_| (), |frames, _| frames.add(4, 0, 0, &[])),
    (
        "settings of the table of headers",
        |_| (),
        |frames, n| {
            frames.add(4, 0, 0, &[&[0, 1][..], &(n % 2 * 4096).to_be_bytes()].concat());
        },
    ),
    ("windows", |_| (), |frames, _| frames.add(8, 0, 0, &[0, 0, 0, 1])),
    ("priorities", |_| (), |frames, n| frames.add(2, 0, 2 * n + 1, &[0, 0, 0, 0, 16])),
    ("unknown frames", |_| (), |frames, _| frames.add(0xfe, 0, 0, &[0; 64])),
    ("empty data", |frames| frames.call(1, CALL), |frames, _| frames.add(0, 0, 1, &[])),
    (
        "padding",
        |frames| frames.call(1, CALL),
        |frames, _| frames.add(0, 8, 1, &[[255].as_slice(), &[0; 255]].concat()),
    ),
    (
        "calls that are reset",
        |_| (),
        |frames, n| {
            frames.call(2 * n + 1, CALL);
            frames.add(3, 0, 2 * n + 1, &[0, 0, 0, 8]);
        },
    ),
    (
        "headers that do not end",
        |frames| frames.add(1, 0, 1, &[0x83]),
        |frames, _| frames.add(9, 0, 1, &[0x86; 20]),
    ),
];

/// A connection of a flood, until it is closed, or `stop` is true. Answers are not read, or all of them.
fn send(address: &str, (_, begin, more): &Flood, reads: bool, stop: &AtomicBool, sent: &AtomicU64) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    // A peer that reads nothing in return stops the flood, which is well.
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
    let mut frames = Frames::begin();
    begin(&mut frames);
    let mut is_open = stream.write_all(frames.bytes()).is_ok();
    let mut next = 0;
    while is_open && !stop.load(Ordering::Relaxed) {
        let mut frames = Frames::more();
        (next..next + PORTION).for_each(|number| more(&mut frames, number));
        next += PORTION;
        is_open = stream.write_all(frames.bytes()).is_ok();
        sent.fetch_add(u64::from(is_open) * u64::from(PORTION), Ordering::Relaxed);
        if reads {
            is_open &= !matches!(stream.read(&mut [0; 1 << 16]), Ok(0));
        }
    }
}

/// Frames that carry nothing are processed in turn with those of others, take no memory, and close no connection but their own.
#[test]
fn floods_of_frames_keep_nobody_out() {
    let _alone = alone();
    let time = Duration::from_millis(if at_length() { 5_000 } else { 80 });
    for flood in &FLOODS {
        let mut victim = Victim::start(GIGABYTE, &[]);
        let before = victim.memory();
        let honest = Honest::start(&victim, 7);
        let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (address, stop, sent) = (&victim.address, &stop, &sent);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        send(address, flood, number % 2 == 0, stop, sent);
                    }
                });
            }
            std::thread::sleep(time);
            let output = victim.ctl(&["show"]);
            stop.store(true, Ordering::Relaxed);
            assert!(output.status.success(), "{}: {}", flood.0, String::from_utf8_lossy(&output.stderr));
        });
        honest.end(&format!("{} {}", sent.into_inner(), flood.0));
        let most = victim.most_memory();
        assert!(most < 256 << 20, "{}: {most}", flood.0);
        victim.is_as_before(before, flood.0);
    }
}
