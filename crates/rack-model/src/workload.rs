//! `[[workload]]`: traffic between hosts.
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
//! kind = "udp"              # one way, evenly spaced; "poisson": with random gaps
//! from = "h2"
//! to = "h1"
//! count = 1000
//! rate = "100Mbit/s"        # rate of the payload
//! size = 1000               # bytes of payload; default 1000
//! port = 9000               # port of the receiver; default 9000
//!
//! [[workload]]
//! kind = "onoff"            # bursts of packets, evenly spaced at `rate`, and pauses
//! on = "1ms"                # mean duration of a burst; default 1ms
//! off = "9ms"               # mean duration of a pause; default 9ms
//!
//! [[workload]]
//! kind = "zipf"             # as "poisson", with many flows; each flow has its own source port
//! flows = 1000
//! skew = 1.1                # Zipf exponent of the popularity; default 1
//!
//! [[workload]]
//! kind = "request"          # UDP requests with random gaps, sent whether or not answers arrive (open loop)
//! interval = "100us"        # mean gap; default 1ms
//! size = 64                 # bytes of a request; default 64
//! answer = 1000             # bytes of an answer; default 1000
//!
//! [[workload]]
//! kind = "memcached"        # memcached requests (UDP, text protocol) with random gaps; the receiver is a store with every key
//! verb = "get"              # or "set"
//! keys = 1000               # number of keys
//! skew = 0.99               # Zipf exponent of the popularity; default 1
//! interval = "100us"        # mean gap; default 1ms
//! size = 1000               # bytes of a value, at most 1400 (memcached sends longer values in several datagrams); default 1000
//!
//! [[workload]]
//! kind = "tcp"              # transfers from `from` to `to`
//! count = 10                # number of transfers
//! size = 1000000            # bytes of each; default 1000000
//! interval = "1ms"          # time between the starts of two transfers; default 1ms
//! window = 262144           # maximum number of bytes in flight; default 4194304
//! congestion = "cubic"      # or "reno", "dctcp": congestion control (docs/protocols.md); default "cubic"
//! ecn = "off"               # or "on": segments say that they understand ECN; default "on" for "dctcp", "off" otherwise
//! pacing = "off"            # or "on": segments are sent evenly over a round trip; default "off"
//! list = 7                  # transfers of list 7: random gaps of `interval` on average and random sizes of `size` on average (Pareto), the same
//!                           # for "rcp" with the same keys, whatever the seed; default: none
//! tail = 1.2                # Pareto exponent of the sizes of a list; default 1.2
//! largest = 15000000        # most bytes of a transfer of a list; default 1073741824
//!
//! [[workload]]
//! kind = "rcp"              # transfers at the rate that RCP's headers bring back (docs/protocols.md)
//! rate = "1Gbit/s"          # the rate that senders wish: that of their links
//! port = 9300               # port of the receiver; default 9300
//! count = 10                # `count`, `size`, `interval`, `list`, `tail`, `largest` as for "tcp"
//!
//! [[workload]]
//! kind = "xcp"              # transfers with the windows that XCP's headers bring back (docs/protocols.md)
//! port = 9301               # port of the receiver; default 9301
//! count = 10                # `count`, `size`, `interval`, `list`, `tail`, `largest` as for "tcp"
//!
//! [[workload]]
//! kind = "pfabric"          # transfers that say how much of them is left (docs/protocols.md)
//! rate = "1Gbit/s"          # the rate of the senders' links
//! port = 9302               # port of the receiver; default 9302
//! count = 10                # `count`, `size`, `interval`, `list`, `tail`, `largest` as for "tcp"
//!
//! [[workload]]
//! kind = "d3"               # transfers with deadlines, at the rates that D3's headers grant (docs/protocols.md)
//! rate = "1Gbit/s"          # the rate of the senders' links
//! deadline = "8ms"          # time for a transfer; with `list`, the mean: half of it and a random time (exponential) of half of it on average; default: none
//! port = 9304               # port of the receiver; default 9304
//! count = 10                # `count`, `size`, `interval`, `list`, `tail`, `largest` as for "tcp"
//!
//! [[workload]]
//! kind = "qcn"              # UDP packets at a rate that congestion notifications lower (docs/protocols.md)
//! rate = "1Gbit/s"          # bits of the payload per second at the beginning, and the largest rate of frames
//! port = 9000               # port of the receiver; default 9000
//! count = 1000              # number of packets of each pair
//!
//! [[workload]]
//! kind = "seawall"          # UDP packets of a tenant that shares links by its weight (docs/protocols.md)
//! rate = "900Mbit/s"        # bits of frames per second that each pair wishes
//! weight = 2                # the tenant's share of each link; default 1
//! share = "source"          # whose rates follow the weight: each sender's with all its receivers, or "pair": each pair's; default "source"
//! port = 9303               # port of the receiver; default 9303
//! count = 1000              # number of packets of each pair
//!
//! [[workload]]
//! kind = "reduce"           # a job of MapReduce: each of `from` is a mapper, `to` the reducer, a switch between them folds pairs
//! op = "add"                # or "max", "min", "or"
//! by = "switch"             # or "hosts": every pair travels to the reducer
//! profile = "pipeline"      # packets of 24 pairs and short tags; or "software": 64 pairs, whole keys, eviction
//! switch = "10.0.0.254"     # where requests to the switch are sent
//! count = 100000            # words of each mapper
//! keys = 5000               # different words; `skew` as for "zipf"
//! rows = 4096               # of each lane in each bank, a power of two; default 4096
//! rounds = 8                # slices of the words; default 1
//! window = 256              # packets of a mapper that may be under way; default 256
//! job = 1                   # its number; default 1
//! patience = "1s"           # a mapper or switch that is silent for longer ends the job; default 1s
//!
//! [[workload]]
//! kind = "pcap"             # `from` sends the frames of a capture unchanged
//! file = "trace.pcap"       # relative to this file
//! speed = 10                # speed relative to the timestamps; default 1
//! ```
//!
//! `from` and `to` may also be lists of hosts, or `"*"` for all hosts. Each pair of hosts then has this traffic, and
//!
//! ```toml
//! stagger = "1us"           # delay between the starts of two pairs; default 0
//! ```
//!
//! Every workload may have
//!
//! ```toml
//! expect = "lost"           # expected results: see [`expect`](crate::expect)
//! watch = ["ipv4.ecn"]      # header fields that are counted at the receiver: see [`watch`](crate::watch)
//! ```
//!
//! Payloads begin with a [stamp](host_programs::stamp): workload and pair, sequence number, time of sending.

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{Expect, Field, HostId, Spanned, expect, watch};
use base_diag::Span;
use base_time::Duration;
use host_programs::kind::Wanted;
use host_programs::{Kind, Load, Value};
use toml::de::DeValue;

/// Traffic from hosts to others: for each pair of a sender and a receiver the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Name; by default the kind and a number, such as `ping-1`.
    pub name: Spanned<String>,
    /// Kind and keys of the traffic.
    pub load: Load,
    /// The senders.
    pub from: Spanned<Vec<HostId>>,
    /// The receivers.
    pub to: Spanned<Vec<HostId>>,
    /// Expected results of a run.
    pub expect: Option<Expect>,
    /// Header fields with values that are counted at the receiver.
    pub watch: Vec<Field>,
    /// Place in the file.
    pub span: Span,
}

impl Workload {
    /// Pairs of sender and receiver. No host sends to itself.
    pub fn pairs(&self) -> impl Iterator<Item = (HostId, HostId)> {
        let to_all = |from: HostId| self.to.value.iter().map(move |to| (from, *to));
        self.from.value.iter().copied().flat_map(to_all).filter(|(from, to)| from != to)
    }
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, index: usize) -> Option<Workload> {
    let mut s = Section::new(r, "this workload".to_string(), item.span, item)?;
    let kinds: Vec<(&str, Option<&'static Kind>)> =
        r.kinds.iter().map(|kind| (kind.word, Some(*kind))).collect();
    let kind = s.required(r, "kind", "\"ping\"", |r, i| value::choice(r, i, &kinds));
    let Some(kind) = kind.map(|kind| kind.value) else {
        s.give_up(r);
        return None;
    };
    let name = s.optional(r, "name", value::name);
    let from = s.required(r, "from", "\"h1\"", |r, i| hosts(r, i, names));
    let to = s.required(r, "to", "\"h2\"", |r, i| hosts(r, i, names));
    let start = s.optional(r, "start", value::time);
    let stagger = s.optional(r, "stagger", value::duration);
    let number = |r: &mut Reader, i: Item<'_>| value::integer(r, i, 1..=kind.count.most);
    let count = match kind.count.default {
        Some(default) => Some(s.optional(r, "count", number).map_or(default, |c| c.value)),
        None => s.required(r, "count", "100", number).map(|c| c.value),
    };
    let size = kind.size.map_or(0, |size| {
        let given = s.optional(r, "size", |r, i| value::small(r, i, size.least..=size.most));
        given.map_or(size.default, |given| given.value)
    });
    let expect = s.optional(r, "expect", expect::read);
    let watch = s.optional(r, "watch", watch::read);
    let mut load = Load::new(kind, 0, size);
    let has_all = read_keys(r, &mut s, &mut load, index);
    s.finish(r);
    if !has_all {
        return None;
    }
    load.count = count?;
    load.start = start.map_or(load.start, |start| start.value);
    load.stagger = stagger.map_or(Duration::ZERO, |stagger| stagger.value);
    Some(Workload {
        name: name.unwrap_or_else(|| Spanned::new(format!("{}-{}", kind.word, index + 1), item.span)),
        load,
        from: from?,
        to: to?,
        expect: expect.map(|expect| expect.value),
        watch: watch.map_or(vec![], |watch| watch.value),
        span: item.span,
    })
}

/// The keys of its kind; false if one that is required is missing or wrong.
fn read_keys(r: &mut Reader, s: &mut Section<'_>, load: &mut Load, index: usize) -> bool {
    let mut has_all = true;
    for key in load.kind.keys {
        let small = |least: u32, most: u32| {
            move |r: &mut Reader, i: Item<'_>| value::small(r, i, least..=most).map(Value::Number)
        };
        let (read, is_required) = match key.wanted {
            Wanted::Time(_) => {
                (s.optional(r, key.word, |r, i| value::interval(r, i).map(Value::Time)), false)
            }
            Wanted::Rate => {
                let rate = |r: &mut Reader, i: Item<'_>| value::rate(r, i).map(Value::Rate);
                (s.required(r, key.word, "\"100Mbit/s\"", rate), true)
            }
            Wanted::Port(default) => {
                let port = s.optional(r, key.word, small(1, u16::MAX.into()));
                let default = || Spanned::from(Value::Number(default(index).into()));
                (Some(port.unwrap_or_else(default)), false)
            }
            Wanted::Number { least, most, default: Some(_) } => {
                (s.optional(r, key.word, small(least, most)), false)
            }
            Wanted::Number { least, most, default: None } => {
                (s.required(r, key.word, "1000", small(least, most)), true)
            }
            Wanted::Thousandths(_) => {
                let thousandths = |r: &mut Reader, i: Item<'_>| value::thousandths(r, i).map(Value::Number);
                (s.optional(r, key.word, thousandths), false)
            }
            Wanted::Word(words) | Wanted::Choice(words) => {
                let known: Vec<(&str, Option<&str>)> =
                    words.iter().map(|word| (*word, Some(*word))).collect();
                let example = format!("\"{}\"", words.first().unwrap_or(&""));
                let word = |r: &mut Reader, i: Item<'_>| {
                    value::choice(r, i, &known).map(|word| Value::Text(word.to_string()))
                };
                match key.wanted {
                    Wanted::Choice(_) => (s.optional(r, key.word, word), false),
                    _ => (s.required(r, key.word, &example, word), true),
                }
            }
            Wanted::Text(example) => {
                let text = |r: &mut Reader, i: Item<'_>| value::string(r, i).map(Value::Text);
                (s.required(r, key.word, &format!("\"{example}\""), text), true)
            }
        };
        has_all &= read.is_some() || !is_required;
        if let Some(read) = read {
            load.set(key.word, read.value, read.span);
        }
    }
    has_all
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
