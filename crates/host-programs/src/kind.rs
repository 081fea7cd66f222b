//! Kinds of workloads: name in rack files, keys, and program.

use crate::program::{Begun, Setup};
use base_diag::Span;
use base_time::{Duration, Rate, Time};
use std::fmt;

/// A kind of workload: one line of the [registry](crate::KINDS).
pub struct Kind {
    /// The `kind` of `[[workload]]`.
    pub word: &'static str,
    /// Bounds of the number of packets, requests or transfers.
    pub count: Count,
    /// Bytes of each; none if there is no `size`.
    pub size: Option<Size>,
    /// Keys of this kind only, in the order in which messages list them.
    pub keys: &'static [Key],
    /// Constraint between two workloads of this kind.
    pub rule: Option<Rule>,
    /// Time from the first packet of a pair to the packet with this number; the mean, if it is random.
    pub since_start: fn(&Load, u64) -> Duration,
    /// The length of its longest frames in bytes; none where a stack decides or a capture says.
    pub frame_bytes: fn(&Load) -> Option<u32>,
    /// Creates the program and sets its first timers.
    pub start: fn(Setup<'_>) -> Begun,
}

/// Bounds of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The most.
    pub most: u64,
    /// Default; `None` if the key is required.
    pub default: Option<u64>,
}

impl Count {
    /// Receivers remember one bit for each packet.
    pub const PACKETS: Count = Count { most: MOST_PACKETS, default: None };
}

/// Limit on the packets of a workload.
pub const MOST_PACKETS: u64 = 1 << 24;

/// The largest payload: with headers of 28 bytes, the largest IPv4 packet.
pub const MOST_PAYLOAD: u32 = 65_507;

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Default.
    pub default: u32,
}

impl Size {
    /// Size of a payload that holds a stamp.
    pub const fn of_payload(default: u32) -> Size {
        Size { least: crate::stamp::STAMP, most: MOST_PAYLOAD, default }
    }
}

/// A key of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The word as written in RACK.toml.
    pub word: &'static str,
    /// Values allowed for the key.
    pub wanted: Wanted,
}

impl Key {
    /// A key.
    pub const fn new(word: &'static str, wanted: Wanted) -> Key {
        Key { word, wanted }
    }

    /// A time that is not zero, with this default.
    pub const fn time(word: &'static str, default: Duration) -> Key {
        Key { word, wanted: Wanted::Time(default) }
    }
}

/// Values allowed for a key. Kinds without a default are required.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// A time that is not zero, with its default.
    Time(Duration),
    /// A rate that is not zero.
    Rate,
    /// A port. Its default follows from the workload's place in the file.
    Port(fn(usize) -> u16),
    /// A number.
    Number {
        /// The least.
        least: u32,
        /// The most.
        most: u32,
        /// Default.
        default: Option<u32>,
    },
    /// A number from 0 to 4 in thousandths, with its default.
    Thousandths(u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words; an empty text, which stands for the program's default, if the file has none.
    Choice(&'static [&'static str]),
    /// Any text, with an example.
    Text(&'static str),
}

/// Value written for a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// A port, a number, thousandths.
    Number(u32),
    /// A word or a text.
    Text(String),
}

/// Constraint between two workloads of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Workloads between the same hosts must have different ports of this transport.
    PortOfItsOwn(&'static str),
    /// Workloads to the same host have one size; with the title of the error otherwise.
    OneSize(&'static str),
}

/// A workload as a rack file says it, but for its hosts.
#[derive(Clone)]
pub struct Load {
    /// Kind of the workload.
    pub kind: &'static Kind,
    /// When the first pair sends its first packet.
    pub start: Time,
    /// Time between the starts of consecutive pairs.
    pub stagger: Duration,
    /// Number of packets or transfers of each pair; for a capture, the maximum.
    pub count: u64,
    /// Bytes of payload in each; of memcached's, of a value.
    pub size: u32,
    /// Keys of this kind only: name, value, place in the file.
    values: Vec<(&'static str, Value, Span)>,
}

impl Load {
    /// A load that starts at time 0, with `count` packets of `size` bytes.
    pub fn new(kind: &'static Kind, count: u64, size: u32) -> Load {
        Load { kind, start: Time::ZERO, stagger: Duration::ZERO, count, size, values: vec![] }
    }

    /// Adds a key.
    #[must_use]
    pub fn with(mut self, word: &'static str, value: Value) -> Load {
        self.set(word, value, Span::NONE);
        self
    }

    /// From now on a key has this value.
    pub fn set(&mut self, word: &'static str, value: Value, place: Span) {
        self.values.retain(|(known, ..)| *known != word);
        self.values.push((word, value, place));
    }

    /// Value and place of a key, if the file gives it.
    pub fn value(&self, word: &str) -> Option<(&Value, Span)> {
        self.values.iter().find(|(known, ..)| *known == word).map(|(_, value, place)| (value, *place))
    }

    fn wanted(&self, word: &str) -> Option<Wanted> {
        self.kind.keys.iter().find(|key| key.word == word).map(|key| key.wanted)
    }

    /// A time, or its default.
    pub fn time(&self, word: &str) -> Duration {
        match (self.value(word), self.wanted(word)) {
            (Some((Value::Time(time), _)), _) => *time,
            (_, Some(Wanted::Time(default))) => default,
            _ => Duration::ZERO,
        }
    }

    /// A rate.
    pub fn rate(&self, word: &str) -> Rate {
        match self.value(word) {
            Some((Value::Rate(rate), _)) => *rate,
            _ => Rate::from_bits_per_s(0),
        }
    }

    /// A port, a number or thousandths, or the default.
    pub fn number(&self, word: &str) -> u32 {
        match (self.value(word), self.wanted(word)) {
            (Some((Value::Number(number), _)), _) => *number,
            (_, Some(Wanted::Number { default: Some(default), .. } | Wanted::Thousandths(default))) => {
                default
            }
            (_, Some(Wanted::Port(default))) => default(0).into(),
            _ => 0,
        }
    }

    /// The `port`.
    pub fn port(&self) -> u16 {
        u16::try_from(self.number("port")).unwrap_or(0)
    }

    /// A word or a text.
    pub fn text(&self, word: &str) -> &str {
        match self.value(word) {
            Some((Value::Text(text), _)) => text,
            _ => "",
        }
    }

    /// When packet `n` of the first pair, counted from 0, is sent; where chance decides, on average. Of a capture, the start.
    pub fn time_of(&self, n: u64) -> Time {
        self.start + (self.kind.since_start)(self, n)
    }

    /// The length of its longest frames in bytes; none where a stack decides or a capture says.
    pub fn frame_bytes(&self) -> Option<u32> {
        (self.kind.frame_bytes)(self)
    }

    /// [`Kind::frame_bytes`] for packets with the payload and headers of Ethernet, IPv4, and UDP or ICMP.
    pub fn payload_with_headers(&self) -> Option<u32> {
        Some(self.size.saturating_add(14 + 20 + 8))
    }

    /// True if all numbers are within their bounds, as after reading a file.
    pub fn is_in_bounds(&self) -> bool {
        let fits = |key: &Key| match key.wanted {
            Wanted::Number { least, most, .. } => (least..=most).contains(&self.number(key.word)),
            _ => true,
        };
        let has_size = self.kind.size.is_none_or(|size| (size.least..=size.most).contains(&self.size));
        self.count <= self.kind.count.most && has_size && self.kind.keys.iter().all(fits)
    }
}

/// Places do not count.
impl PartialEq for Load {
    fn eq(&self, other: &Load) -> bool {
        let values = |load: &Load| {
            let mut all: Vec<(&'static str, Value)> =
                load.values.iter().map(|(word, value, _)| (*word, value.clone())).collect();
            all.sort_by_key(|(word, _)| *word);
            all
        };
        let rest = |load: &Load| (load.kind.word, load.start, load.stagger, load.count, load.size);
        rest(self) == rest(other) && values(self) == values(other)
    }
}

impl Eq for Load {}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { kind, start, stagger, count, size, values } = self;
        write!(f, "{} from {start} every {stagger}, {count} of {size} bytes, {values:?}", kind.word)
    }
}
