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
//! kind = "udp"              # one way, evenly spaced; "poisson": with gaps by chance
//! from = "h2"
//! to = "h1"
//! count = 1000
//! rate = "100Mbit/s"        # of payload
//! size = 1000               # bytes of payload; default 1000
//! port = 9000               # of the receiver; default 9000
//!
//! [[workload]]
//! kind = "onoff"            # evenly spaced at `rate` in bursts, with silence between them
//! on = "1ms"                # the mean length of a burst; default 1ms
//! off = "9ms"               # and of a silence; default 9ms
//!
//! [[workload]]
//! kind = "zipf"             # as "poisson", of many flows: each has a source port of its own
//! flows = 1000
//! skew = 1.1                # how popular the popular ones are; default 1
//!
//! [[workload]]
//! kind = "request"          # UDP requests with gaps by chance, whatever becomes of the answers
//! interval = "100us"        # the mean gap; default 1ms
//! size = 64                 # bytes of a request; default 64
//! answer = 1000             # bytes of an answer; default 1000
//!
//! [[workload]]
//! kind = "memcached"        # requests of memcached over UDP, in text, with gaps by chance; the receiver is a store that has every key
//! verb = "get"              # or "set"
//! keys = 1000               # how many
//! skew = 0.99               # how popular the popular ones are; default 1
//! interval = "100us"        # the mean gap; default 1ms
//! size = 1000               # bytes of a value, at most 1400: of longer ones memcached makes several datagrams; default 1000
//!
//! [[workload]]
//! kind = "tcp"              # transfers from `from` to `to`
//! count = 10                # how many
//! size = 1000000            # bytes of each; default 1000000
//! interval = "1ms"          # from the start of one to that of the next; default 1ms
//! window = 262144           # bytes of a transfer that may be under way, whatever congestion allows; default 4194304
//!
//! [[workload]]
//! kind = "pcap"             # frames of a capture, as they are, leave `from`
//! file = "trace.pcap"       # beside this file
//! speed = 10                # this many times as fast; default 1
//! ```
//!
//! `from` and `to` may also be lists of hosts, or `"*"` for all: then there is such traffic for each pair, and
//!
//! ```toml
//! stagger = "1us"           # each pair starts this much later than the one before; default 0
//! ```
//!
//! Every workload may have
//!
//! ```toml
//! expect = "lost"           # what a run has to show of it: see [`expect`](crate::expect)
//! watch = ["ipv4.ecn"]      # header fields whose values are counted where its packets arrive: see [`watch`](crate::watch)
//! ```
//!
//! Payloads begin with a stamp of [`STAMP`] bytes: whose it is, sequence number, time of sending.

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{Expect, Field, HostId, Spanned, expect, watch};
use base_diag::Span;
use base_time::{Duration, Rate, Time};
use toml::de::DeValue;

/// Bytes of the stamp at the start of each payload, and so the least payload.
pub const STAMP: u32 = 20;

/// The greatest payload: with headers of 28 bytes, what an IPv4 packet can hold.
pub const MOST_PAYLOAD: u32 = 65_507;

/// What most a workload can send: receivers remember one bit for each packet.
pub const MOST_PACKETS: u64 = 1 << 24;

/// What most transfers a workload can do.
pub const MOST_TRANSFERS: u64 = 10_000;

/// The receiver's port of the first workload of TCP transfers.
const FIRST_TCP_PORT: u16 = 5001;

/// What most a TCP transfer can carry, in bytes.
pub const MOST_TRANSFER: u32 = 1 << 30;

/// What most bytes of a TCP transfer can be under way: the default.
pub const MOST_WINDOW: u32 = 4 << 20;

/// The longest value of memcached's that one datagram carries.
pub const MOST_VALUE: u32 = 1400;

/// What most keys a workload of memcached's can use.
pub const MOST_KEYS: u32 = 1_000_000;

/// What most flows a workload of many can have: each is a source port from [`FIRST_FLOW`] on.
pub const MOST_FLOWS: u32 = 60_000;

/// The source port of the first of many flows.
pub const FIRST_FLOW: u16 = 4096;

/// Traffic from hosts to others: for each pair of a sender and a receiver the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Its name; `ping-1` if it is the first workload and has no name.
    pub name: Spanned<String>,
    /// What is sent, and when.
    pub kind: WorkloadKind,
    /// The senders.
    pub from: Spanned<Vec<HostId>>,
    /// The receivers.
    pub to: Spanned<Vec<HostId>>,
    /// When the first packet is sent.
    pub start: Time,
    /// How much later each pair starts than the one before it.
    pub stagger: Duration,
    /// How many packets each pair sends, or transfers it does; of a capture at most.
    pub count: u64,
    /// Bytes of payload in each; of memcached's, of a value.
    pub size: u32,
    /// What a run has to show of it.
    pub expect: Option<Expect>,
    /// Header fields whose values are counted where its packets arrive.
    pub watch: Vec<Field>,
    /// Where it is described.
    pub span: Span,
}

/// The kinds of traffic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkloadKind {
    /// ICMP echo requests, which the receiver answers.
    Ping {
        /// From one to the next.
        interval: Duration,
    },
    /// UDP packets, one way.
    Udp {
        /// Bits of payload per second; of a source with bursts, in a burst.
        rate: Rate,
        /// The receiver's port.
        port: u16,
        /// When they are sent.
        pace: Pace,
        /// Whose they are.
        flows: Flows,
    },
    /// UDP requests that the receiver answers, sent whatever becomes of the answers.
    Request {
        /// The mean gap.
        interval: Duration,
        /// Bytes of an answer's payload.
        answer: u32,
        /// The receiver's port.
        port: u16,
    },
    /// Requests to a store, sent whatever becomes of the answers.
    Memcached {
        /// What is asked for.
        verb: Verb,
        /// The mean gap.
        interval: Duration,
        /// How many keys there are.
        keys: u32,
        /// The exponent of Zipf's law in thousandths, by which they are drawn.
        skew: u32,
    },
    /// TCP transfers.
    Tcp {
        /// From the start of one to that of the next.
        interval: Duration,
        /// The receiver's port.
        port: u16,
        /// Bytes that the receiver takes beyond those that it has acknowledged.
        window: u32,
    },
    /// The frames of a capture.
    Pcap {
        /// The path, as written.
        file: Spanned<String>,
        /// How many times as fast as it was captured.
        speed: u32,
    },
}

/// What a client asks of a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verb {
    /// A value.
    Get,
    /// To keep a value.
    Set,
}

/// When packets are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Evenly.
    Even,
    /// Gaps are exponentially distributed.
    Poisson,
    /// Evenly in bursts, with silence between them; the lengths of both are exponentially distributed.
    OnOff {
        /// The mean length of a burst.
        on: Duration,
        /// The mean length of a silence.
        off: Duration,
    },
}

/// The flows that packets are of: how many, drawn by Zipf's law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flows {
    /// How many.
    pub count: u32,
    /// The law's exponent in thousandths.
    pub skew: u32,
}

impl Flows {
    /// One flow.
    pub const ONE: Flows = Flows { count: 1, skew: 0 };
}

impl WorkloadKind {
    /// As it is written in the file.
    pub fn word(&self) -> &'static str {
        match self {
            WorkloadKind::Ping { .. } => "ping",
            WorkloadKind::Udp { flows: Flows { count: 2.., .. }, .. } => "zipf",
            WorkloadKind::Udp { pace: Pace::Even, .. } => "udp",
            WorkloadKind::Udp { pace: Pace::Poisson, .. } => "poisson",
            WorkloadKind::Udp { pace: Pace::OnOff { .. }, .. } => "onoff",
            WorkloadKind::Request { .. } => "request",
            WorkloadKind::Memcached { .. } => "memcached",
            WorkloadKind::Tcp { .. } => "tcp",
            WorkloadKind::Pcap { .. } => "pcap",
        }
    }
}

impl Workload {
    /// Who sends to whom. No host sends to itself.
    pub fn pairs(&self) -> impl Iterator<Item = (HostId, HostId)> {
        let to_all = |from: HostId| self.to.value.iter().map(move |to| (from, *to));
        self.from.value.iter().copied().flat_map(to_all).filter(|(from, to)| from != to)
    }

    /// When packet `n` of the first pair, counted from 0, is sent; where chance decides, on average. Of a capture, the start.
    pub fn time_of(&self, n: u64) -> Time {
        let since_start = match self.kind {
            WorkloadKind::Ping { interval }
            | WorkloadKind::Request { interval, .. }
            | WorkloadKind::Memcached { interval, .. }
            | WorkloadKind::Tcp { interval, .. } => interval * n,
            WorkloadKind::Udp { rate, pace, .. } => {
                let busy = rate.time_for_bits(u128::from(n) * u128::from(self.size) * 8);
                match pace {
                    Pace::OnOff { on, off } => busy + busy.scaled(off.as_ps(), on.as_ps()),
                    Pace::Even | Pace::Poisson => busy,
                }
            }
            WorkloadKind::Pcap { .. } => Duration::ZERO,
        };
        self.start + since_start
    }

    /// The length of its longest frames: Ethernet, IPv4 and UDP or ICMP headers (14, 20 and 8 bytes) and the payload. None
    /// where a stack decides or a capture says.
    pub fn frame_bytes(&self) -> Option<u32> {
        match self.kind {
            WorkloadKind::Ping { .. } | WorkloadKind::Udp { .. } | WorkloadKind::Request { .. } => {
                Some(self.size.saturating_add(14 + 20 + 8))
            }
            // Beside the value: memcached's header, and at most as much text as that of an answer with it.
            WorkloadKind::Memcached { .. } => Some(self.size.saturating_add(14 + 20 + 8 + 8 + 38)),
            WorkloadKind::Tcp { .. } | WorkloadKind::Pcap { .. } => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Ping,
    Udp,
    Poisson,
    OnOff,
    Zipf,
    Request,
    Memcached,
    Tcp,
    Pcap,
}

const VERBS: [(&str, Option<Verb>); 2] = [("get", Some(Verb::Get)), ("set", Some(Verb::Set))];

const KINDS: [(&str, Option<Kind>); 9] = [
    ("ping", Some(Kind::Ping)),
    ("udp", Some(Kind::Udp)),
    ("pcap", Some(Kind::Pcap)),
    ("poisson", Some(Kind::Poisson)),
    ("onoff", Some(Kind::OnOff)),
    ("zipf", Some(Kind::Zipf)),
    ("request", Some(Kind::Request)),
    ("memcached", Some(Kind::Memcached)),
    ("tcp", Some(Kind::Tcp)),
];

pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, index: usize) -> Option<Workload> {
    let mut s = Section::new(r, "this workload".to_string(), item.span, item)?;
    let kind = s.required(r, "kind", "\"ping\"", |r, i| value::choice(r, i, &KINDS));
    let Some(kind) = kind.map(|kind| kind.value) else {
        s.give_up(r);
        return None;
    };
    let name = s.optional(r, "name", value::name);
    let from = s.required(r, "from", "\"h1\"", |r, i| hosts(r, i, names));
    let to = s.required(r, "to", "\"h2\"", |r, i| hosts(r, i, names));
    let start = s.optional(r, "start", value::time);
    let stagger = s.optional(r, "stagger", value::duration);
    let most = if let Kind::Tcp = kind { MOST_TRANSFERS } else { MOST_PACKETS };
    let number = |r: &mut Reader, i: Item<'_>| value::integer(r, i, 1..=most);
    let count = match kind {
        Kind::Pcap => Some(s.optional(r, "count", number).map_or(MOST_PACKETS, |c| c.value)),
        _ => s.required(r, "count", "100", number).map(|c| c.value),
    };
    let (sizes, default_size) = match kind {
        Kind::Ping => (STAMP..=MOST_PAYLOAD, 56),
        Kind::Request => (STAMP..=MOST_PAYLOAD, 64),
        Kind::Memcached => (1..=MOST_VALUE, 1000),
        Kind::Tcp => (1..=MOST_TRANSFER, 1_000_000),
        _ => (STAMP..=MOST_PAYLOAD, 1000),
    };
    let size = match kind {
        Kind::Pcap => None,
        _ => s.optional(r, "size", |r, i| value::small(r, i, sizes)),
    };
    let expect = s.optional(r, "expect", expect::read);
    let watch = s.optional(r, "watch", watch::read);
    let read = read_kind(r, &mut s, kind, index);
    s.finish(r);
    let kind = read?;
    Some(Workload {
        name: name.unwrap_or_else(|| Spanned::new(format!("{}-{}", kind.word(), index + 1), item.span)),
        kind,
        from: from?,
        to: to?,
        start: start.map_or(Time::ZERO, |s| s.value),
        stagger: stagger.map_or(Duration::ZERO, |s| s.value),
        count: count?,
        size: size.map_or(default_size, |s| s.value),
        expect: expect.map(|expect| expect.value),
        watch: watch.map_or(vec![], |watch| watch.value),
        span: item.span,
    })
}

/// A host, a list of hosts, or `*`.
fn hosts(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<Vec<HostId>> {
    let host = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.host(r, Spanned::new(name.as_str(), i.span))
    };
    match item.value {
        DeValue::Array(_) => {
            let hosts = value::list(r, item, host)?;
            Some(hosts.into_iter().map(|host| host.value).collect())
        }
        DeValue::String(text) if text.as_ref() == "*" => Some(names.hosts().collect()),
        _ => Some(vec![host(r, item)?]),
    }
}

fn read_kind(r: &mut Reader, s: &mut Section<'_>, kind: Kind, index: usize) -> Option<WorkloadKind> {
    match kind {
        Kind::Ping => Some(WorkloadKind::Ping { interval: read_time(r, s, "interval", Duration::from_s(1)) }),
        Kind::Udp => read_udp(r, s, Pace::Even, Flows::ONE),
        Kind::Poisson => read_udp(r, s, Pace::Poisson, Flows::ONE),
        Kind::OnOff => {
            let on = read_time(r, s, "on", Duration::from_ms(1));
            let off = read_time(r, s, "off", Duration::from_ms(9));
            read_udp(r, s, Pace::OnOff { on, off }, Flows::ONE)
        }
        Kind::Zipf => {
            let count = s.required(r, "flows", "1000", |r, i| value::small(r, i, 2..=MOST_FLOWS));
            let skew = s.optional(r, "skew", value::thousandths).map_or(1000, |skew| skew.value);
            let udp = read_udp(r, s, Pace::Poisson, Flows::ONE)?;
            let WorkloadKind::Udp { rate, port, pace, .. } = udp else { return None };
            Some(WorkloadKind::Udp { rate, port, pace, flows: Flows { count: count?.value, skew } })
        }
        Kind::Request => {
            let interval = read_time(r, s, "interval", Duration::from_ms(1));
            let answer = s.optional(r, "answer", |r, i| value::small(r, i, STAMP..=MOST_PAYLOAD));
            let port = read_port(r, s, 9000);
            Some(WorkloadKind::Request { interval, answer: answer.map_or(1000, |a| a.value), port })
        }
        Kind::Memcached => {
            let verb = s.required(r, "verb", "\"get\"", |r, i| value::choice(r, i, &VERBS));
            let keys = s.required(r, "keys", "1000", |r, i| value::small(r, i, 1..=MOST_KEYS));
            let skew = s.optional(r, "skew", value::thousandths).map_or(1000, |skew| skew.value);
            let interval = read_time(r, s, "interval", Duration::from_ms(1));
            Some(WorkloadKind::Memcached { verb: verb?.value, interval, keys: keys?.value, skew })
        }
        Kind::Tcp => {
            let interval = read_time(r, s, "interval", Duration::from_ms(1));
            let port = read_port(r, s, FIRST_TCP_PORT.saturating_add(index as u16));
            let window = s.optional(r, "window", |r, i| value::small(r, i, 1 << 16..=MOST_WINDOW));
            let window = window.map_or(MOST_WINDOW, |window| window.value);
            Some(WorkloadKind::Tcp { interval, port, window })
        }
        Kind::Pcap => {
            let file = s.required(r, "file", "\"trace.pcap\"", value::string);
            let speed = s.optional(r, "speed", |r, i| value::small(r, i, 1..=1_000_000));
            Some(WorkloadKind::Pcap { file: file?, speed: speed.map_or(1, |s| s.value) })
        }
    }
}

fn read_udp(r: &mut Reader, s: &mut Section<'_>, pace: Pace, flows: Flows) -> Option<WorkloadKind> {
    let rate = s.required(r, "rate", "\"100Mbit/s\"", value::rate);
    let port = read_port(r, s, 9000);
    Some(WorkloadKind::Udp { rate: rate?.value, port, pace, flows })
}

fn read_time(r: &mut Reader, s: &mut Section<'_>, key: &'static str, default: Duration) -> Duration {
    s.optional(r, key, value::interval).map_or(default, |time| time.value)
}

fn read_port(r: &mut Reader, s: &mut Section<'_>, default: u16) -> u16 {
    let port = s.optional(r, "port", |r, i| value::small(r, i, 1..=65_535));
    port.and_then(|port| u16::try_from(port.value).ok()).unwrap_or(default)
}
