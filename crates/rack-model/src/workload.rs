//! `[[workload]]`: what hosts send to each other.
//!
//! ```toml
//! [[workload]]
//! kind = "ping"             # ICMP echo; the receiver answers
//! from = "h1"
//! to = "h2"
//! count = 100
//! interval = "1ms"          # default 1s
//! size = 56                 # bytes of payload; default 56
//! start = "0"               # default 0
//!
//! [[workload]]
//! kind = "udp"              # one way, evenly spaced
//! from = "h2"
//! to = "h1"
//! count = 1000
//! rate = "100Mbit/s"        # of payload
//! size = 1000               # bytes of payload; default 1000
//! port = 9000               # of the receiver; default 9000
//! ```
//!
//! Payloads begin with a stamp of [`STAMP`] bytes: workload, sequence number, time of sending.

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{HostId, Spanned};
use base_diag::Span;
use base_time::{Duration, Rate, Time};

/// Bytes of the stamp at the start of each payload, and so the least payload.
pub const STAMP: u32 = 20;

/// The greatest payload: with headers of 28 bytes, what an IPv4 packet can hold.
pub const MOST_PAYLOAD: u32 = 65_507;

/// What most a workload can send: receivers remember one bit for each packet.
pub const MOST_PACKETS: u64 = 1 << 24;

/// Traffic from one host to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Its name; `ping-1` if it is the first workload and has no name.
    pub name: Spanned<String>,
    /// What is sent, and when.
    pub kind: WorkloadKind,
    /// The sender.
    pub from: Spanned<HostId>,
    /// The receiver.
    pub to: Spanned<HostId>,
    /// When the first packet is sent.
    pub start: Time,
    /// How many packets are sent.
    pub count: u64,
    /// Bytes of payload in each.
    pub size: u32,
    /// Where it is described.
    pub span: Span,
}

/// The kinds of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadKind {
    /// ICMP echo requests, which the receiver answers.
    Ping {
        /// From one to the next.
        interval: Duration,
    },
    /// UDP packets at a constant rate.
    Udp {
        /// Bits of payload per second.
        rate: Rate,
        /// The receiver's port.
        port: u16,
    },
}

impl WorkloadKind {
    /// As it is written in the file.
    pub fn word(self) -> &'static str {
        match self {
            WorkloadKind::Ping { .. } => "ping",
            WorkloadKind::Udp { .. } => "udp",
        }
    }
}

impl Workload {
    /// When packet `n`, counted from 0, is sent.
    pub fn time_of(&self, n: u64) -> Time {
        self.start
            + match self.kind {
                WorkloadKind::Ping { interval } => interval * n,
                WorkloadKind::Udp { rate, .. } => {
                    rate.time_for_bits(u128::from(n) * u128::from(self.size) * 8)
                }
            }
    }

    /// The length of its frames: Ethernet, IPv4 and UDP or ICMP headers (14, 20 and 8 bytes) and the payload.
    pub fn frame_bytes(&self) -> u32 {
        self.size.saturating_add(14 + 20 + 8)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Ping,
    Udp,
}

const KINDS: [(&str, Option<Kind>); 8] = [
    ("ping", Some(Kind::Ping)),
    ("udp", Some(Kind::Udp)),
    ("pcap", None),
    ("poisson", None),
    ("onoff", None),
    ("zipf", None),
    ("request", None),
    ("tcp", None),
];

pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, index: usize) -> Option<Workload> {
    let mut s = Section::new(r, "this workload".to_string(), item.span, item)?;
    let host = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.host(r, Spanned::new(name.as_str(), i.span))
    };
    let kind = s.required(r, "kind", "\"ping\"", |r, i| value::choice(r, i, &KINDS));
    let Some(kind) = kind else {
        s.give_up(r);
        return None;
    };
    let name = s.optional(r, "name", value::name);
    let from = s.required(r, "from", "\"h1\"", host);
    let to = s.required(r, "to", "\"h2\"", host);
    let count = s.required(r, "count", "100", |r, i| value::integer(r, i, 1..=MOST_PACKETS));
    let start = s.optional(r, "start", value::time);
    let size = s.optional(r, "size", |r, i| value::small(r, i, STAMP..=MOST_PAYLOAD));
    let (word, default_size, kind) = match kind.value {
        Kind::Ping => ("ping", 56, read_ping(r, &mut s)),
        Kind::Udp => ("udp", 1000, read_udp(r, &mut s)),
    };
    s.finish(r);
    Some(Workload {
        name: name.unwrap_or_else(|| Spanned::new(format!("{word}-{}", index + 1), item.span)),
        kind: kind?,
        from: from?,
        to: to?,
        start: start.map_or(Time::ZERO, |s| s.value),
        count: count?.value,
        size: size.map_or(default_size, |s| s.value),
        span: item.span,
    })
}

fn read_ping(r: &mut Reader, s: &mut Section<'_>) -> Option<WorkloadKind> {
    let interval = s.optional(r, "interval", value::interval);
    Some(WorkloadKind::Ping { interval: interval.map_or(Duration::from_s(1), |i| i.value) })
}

fn read_udp(r: &mut Reader, s: &mut Section<'_>) -> Option<WorkloadKind> {
    let rate = s.required(r, "rate", "\"100Mbit/s\"", value::rate);
    let port = s.optional(r, "port", |r, i| value::small(r, i, 1..=65_535));
    let port = port.and_then(|p| u16::try_from(p.value).ok()).unwrap_or(9000);
    Some(WorkloadKind::Udp { rate: rate?.value, port })
}
