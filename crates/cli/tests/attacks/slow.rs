//! Connections that send one byte at a time, and never come to a call.

use crate::honest::Honest;
use crate::raw::Frames;
use crate::setup::{GIGABYTE, Victim, alone, at_length};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Between two bytes of a connection. The preface of HTTP/2 takes 12 s.
const PAUSE: Duration = Duration::from_millis(500);

/// Connections of each kind.
const EACH: usize = 4;

/// Bytes that a connection sends: `at_once` together, then `once` and `again` one at a time, `again` without an end.
struct Kind {
    name: &'static str,
    at_once: Vec<u8>,
    once: Vec<u8>,
    again: Vec<u8>,
}

impl Kind {
    fn new(name: &'static str, at_once: &[u8], once: &[u8], again: &[u8]) -> Kind {
        Kind { name, at_once: at_once.to_vec(), once: once.to_vec(), again: again.to_vec() }
    }
}

/// A connection that is open.
struct Slow {
    name: &'static str,
    stream: TcpStream,
    rest: Box<dyn Iterator<Item = u8>>,
}

impl Slow {
    fn begin(address: &str, kind: &Kind) -> Slow {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&kind.at_once).unwrap();
        stream.set_nonblocking(true).unwrap();
        let rest = kind.once.clone().into_iter().chain(kind.again.clone().into_iter().cycle());
        Slow { name: kind.name, stream, rest: Box::new(rest) }
    }

    /// Sends the next byte, and reads what has come. False if the connection is closed.
    fn goes_on(&mut self) -> bool {
        let next = self.rest.next().expect("it has no end");
        let waits = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        self.stream.write(&[next]).map_or_else(waits, |_| true)
            && loop {
                match self.stream.read(&mut [0; 4096]) {
                    Ok(0) => break false,
                    Ok(_) => {}
                    Err(error) => break waits(error),
                }
            }
    }
}

/// The 9 bytes before a frame's payload.
fn header(length: u16, kind: u8, flags: u8, stream: u8) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    vec![0, high, low, kind, flags, 0, 0, 0, stream]
}

/// Connections without a call.
fn of_http2() -> Vec<Kind> {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let begun = Frames::begin();
    let mut headers = Frames::begin();
    headers.add(1, 0, 1, &[0x83]);
    vec![
        Kind::new("preface", b"", preface, &header(0, 4, 0, 0)),
        Kind::new("settings", preface, &header(16_380, 4, 0, 0), &[0]),
        Kind::new("headers", begun.bytes(), &header(16_000, 1, 4, 1), &[0x86]),
        Kind::new("continued headers", headers.bytes(), &[], &[&header(1, 9, 0, 1)[..], &[0x86]].concat()),
        Kind::new("an unknown frame", begun.bytes(), &header(16_000, 0xfe, 0, 0), &[0]),
        Kind::new("settings again and again", begun.bytes(), &[], &header(0, 4, 0, 0)),
    ]
}

fn of_tls() -> Vec<Kind> {
    let hello = [22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3];
    vec![
        Kind::new("a hand-shake", b"", &hello, &[0]),
        Kind::new("a hand-shake in records of a byte", b"", b"", &[22, 3, 1, 0, 1, 1]),
    ]
}

fn of_metrics() -> Vec<Kind> {
    vec![
        Kind::new("a path", b"GET /", b"", b"a"),
        Kind::new("fields", b"GET /metrics HTTP/1.1\r\n", b"", b"X: a\r\n"),
    ]
}

/// Connections with a call that has been answered, or a stream, and the headers of another one that do not end: the switch sees that its pings
/// are not answered. The metrics address sees that nothing was answered for a while.
fn after_a_call() -> [Vec<Kind>; 2] {
    let with = |path: &str, message: &[u8], flags: u8| {
        let mut frames = Frames::begin();
        frames.call(1, path);
        frames.add(0, flags, 1, message);
        frames
    };
    let (once, again) = (header(16_000, 1, 4, 3), [0x86]);
    let shown = with("/p4rack.v1.Rack/Show", &[0; 5], 1);
    // An arbitration update of device 1.
    let stream = with("/p4.v1.P4Runtime/StreamChannel", &[0, 0, 0, 0, 4, 10, 2, 8, 1], 0);
    let of_calls = vec![
        Kind::new("headers after a call", shown.bytes(), &once, &again),
        Kind::new("headers beside a stream", stream.bytes(), &once, &again),
    ];
    let request = b"GET /metrics HTTP/1.1\r\nHost: p4rack\r\n\r\n";
    [of_calls, vec![Kind::new("a path after an answer", request, b"GET /", b"a")]]
}

/// Whoever sends a byte now and then has no more time than whoever sends nothing: 10 s for the first call, 5 s at the metrics address, and
/// later as long as the pings of HTTP/2 allow.
#[test]
fn slow_beginnings_come_to_an_end() {
    let _alone = alone();
    let metrics = linux_net::free_addresses(1).unwrap()[0].to_string();
    let mut victim = Victim::start(GIGABYTE, &["--metrics-addr", &metrics]);
    let (encrypted, agent) = (Victim::encrypted(GIGABYTE, &[]), Victim::of(GIGABYTE, &[]));
    let (mut of_calls, of_tls, mut of_metrics) = (of_http2(), of_tls(), of_metrics());
    // Much longer than the switch waits.
    let patience = Duration::from_secs(if at_length() { 180 } else { 60 });
    if at_length() {
        let [calls, asked] = after_a_call();
        of_calls.extend(calls);
        of_metrics.extend(asked);
    }
    let before = victim.memory();
    let honest = Honest::start(&victim, 7);
    let attacked = [
        (&victim.address, &of_calls),
        (&agent.address, &of_calls),
        (&encrypted.address, &of_tls),
        (&metrics, &of_metrics),
    ];
    let begun = Instant::now();
    let mut open = vec![];
    for (address, kinds) in attacked {
        for kind in kinds {
            open.extend((0..EACH).map(|_| Slow::begin(address, kind)));
        }
    }
    for switch in [&victim, &encrypted, &agent] {
        let output = switch.ctl(&["show"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut last = "";
    while !open.is_empty() && begun.elapsed() < patience {
        std::thread::sleep(PAUSE);
        open.retain_mut(|slow| {
            let goes_on = slow.goes_on();
            if !goes_on {
                last = slow.name;
            }
            goes_on
        });
    }
    let names: Vec<&str> = open.iter().map(|slow| slow.name).collect();
    assert!(names.is_empty(), "after {:.1?}: {names:?}", begun.elapsed());
    eprintln!("slow beginnings: the last one, {last}, was closed after {:.1?}", begun.elapsed());
    honest.end("slow beginnings");
    victim.is_as_before(before, "slow beginnings");
}
