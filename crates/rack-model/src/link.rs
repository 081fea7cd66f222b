//! `[[link]]`: a cable between two ports, the same in both directions.
//!
//! ```toml
//! [[link]]
//! ends = ["h1", "tor:1"]    # a host, or a device and its port
//! rate = "1Gbit/s"         # default 10Gbit/s, with a warning
//! full_rate = "10Gbit/s"    # with `p4rack up --full-rate`; default `rate`
//! delay = "1us"             # propagation; default 0
//! jitter = "200ns"          # maximum additional random delay; frames keep their order; default 0
//! loss = "0.1%"             # independent random loss of frames; default 0
//! corrupt = "0.01%"         # share of frames with a flipped bit; default 0
//! duplicate = "0.01%"       # share of frames that arrive twice; default 0
//! reorder = "1%"            # share of frames that arrive `reorder_delay` later, so that others overtake them; default 0
//! reorder_delay = "10us"
//! mtu = 1500                # longest frame, without the 14 bytes of the Ethernet header; default 9000 between two devices,
//!                           # because hand-overs are longer than received frames, otherwise 1500
//! queue = 64                # maximum number of frames that wait at each end, for each priority
//! overhead = 24             # additional bytes of each frame on the wire: preamble, FCS, gap
//! pad = true                # frames shorter than 60 bytes are padded to 60, as Ethernet does
//! ```

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{NodeId, Probability, Spanned};
use base_diag::codes::rack;
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Rate};

/// Bytes of an Ethernet header without tags, which an MTU does not count.
pub const ETHERNET_HEADER: u32 = 14;

/// Rate of a link without `rate`.
pub const DEFAULT_RATE: Rate = Rate::from_bits_per_s(10_000_000_000);

/// The shortest frame of Ethernet, without FCS: to this length links pad.
pub const SHORTEST_FRAME: u32 = 60;

/// A cable between two ports; all its settings hold in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Both ends.
    pub ends: [End; 2],
    /// Rate of the link.
    pub rate: Rate,
    /// Rate in a run at full rate.
    pub full_rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// At most this much is added to the delay, by the seed. Frames keep their order.
    pub jitter: Duration,
    /// Probability that a frame is lost.
    pub loss: Probability,
    /// Probability that a bit of a frame is flipped.
    pub corrupt: Probability,
    /// Probability that a frame arrives twice.
    pub duplicate: Probability,
    /// Probability that a frame is delayed so that others overtake it.
    pub reorder: Probability,
    /// Added delay of a reordered frame.
    pub reorder_delay: Duration,
    /// The longest frame that passes has this many bytes after its Ethernet header of 14.
    pub mtu: u32,
    /// Maximum number of frames that wait before the link at each end, for each priority.
    pub queue: u32,
    /// Bytes that each frame takes on the wire besides its own.
    pub overhead: u32,
    /// Frames shorter than [`SHORTEST_FRAME`] are padded with zeros.
    pub pad: bool,
    /// Place in the file.
    pub span: Span,
}

/// A port that a link is plugged into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The device or host.
    pub node: NodeId,
    /// Port of the device; 0 for a host.
    pub port: u32,
    /// Place in the file.
    pub span: Span,
}

impl Link {
    /// A link with defaults: no delay, jitter, loss or other harm, Ethernet's framing, 64 frames of queue; Ethernet's MTU, and jumbo
    /// frames between devices.
    pub fn new(ends: [(NodeId, u32); 2], rate: Rate) -> Link {
        let is_inner = ends.iter().all(|(node, _)| matches!(node, NodeId::Device(_)));
        Link {
            ends: ends.map(|(node, port)| End { node, port, span: Span::NONE }),
            rate,
            full_rate: rate,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: Probability::ZERO,
            corrupt: Probability::ZERO,
            duplicate: Probability::ZERO,
            reorder: Probability::ZERO,
            reorder_delay: Duration::from_us(10),
            mtu: if is_inner { 9000 } else { 1500 },
            queue: 64,
            overhead: 24,
            pad: true,
            span: Span::NONE,
        }
    }

    /// The longest frame that passes, in bytes.
    pub fn longest_frame(&self) -> u32 {
        self.mtu.saturating_add(ETHERNET_HEADER)
    }
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<Link> {
    let mut s = Section::new(r, "this link".to_string(), item.span, item)?;
    let ends = s.required(r, "ends", "[\"h1\", \"tor:1\"]", |r, i| ends(r, i, names));
    let is_unrated = s.entry("rate").is_none();
    let rate = s.optional(r, "rate", value::rate);
    let full_rate = s.optional(r, "full_rate", value::rate);
    let delay = s.optional(r, "delay", value::duration);
    let jitter = s.optional(r, "jitter", value::duration);
    let loss = s.optional(r, "loss", value::probability);
    let corrupt = s.optional(r, "corrupt", value::probability);
    let duplicate = s.optional(r, "duplicate", value::probability);
    let reorder = s.optional(r, "reorder", value::probability);
    let reorder_delay = s.optional(r, "reorder_delay", value::interval);
    let mtu = s.optional(r, "mtu", |r, i| value::small(r, i, 46..=65_535));
    let queue = s.optional(r, "queue", |r, i| value::small(r, i, 1..=1_000_000));
    let overhead = s.optional(r, "overhead", |r, i| value::small(r, i, 0..=1000));
    let pad = s.optional(r, "pad", value::boolean);
    s.finish(r);
    let [a, b] = ends?.value;
    let rate = if is_unrated { DEFAULT_RATE } else { rate?.value };
    if is_unrated {
        r.unrated.push(item.span);
    }
    let default = Link::new([(a.node, a.port), (b.node, b.port)], rate);
    Some(Link {
        ends: [a, b],
        full_rate: full_rate.map_or(default.rate, |v| v.value),
        delay: delay.map_or(default.delay, |v| v.value),
        jitter: jitter.map_or(default.jitter, |v| v.value),
        loss: loss.map_or(default.loss, |v| v.value),
        corrupt: corrupt.map_or(default.corrupt, |v| v.value),
        duplicate: duplicate.map_or(default.duplicate, |v| v.value),
        reorder: reorder.map_or(default.reorder, |v| v.value),
        reorder_delay: reorder_delay.map_or(default.reorder_delay, |v| v.value),
        mtu: mtu.map_or(default.mtu, |v| v.value),
        queue: queue.map_or(default.queue, |v| v.value),
        overhead: overhead.map_or(default.overhead, |v| v.value),
        pad: pad.map_or(default.pad, |v| v.value),
        span: item.span,
        ..default
    })
}

/// A warning about all links without a rate.
pub(crate) fn report_unrated(r: &mut Reader) {
    let links = std::mem::take(&mut r.unrated);
    if links.is_empty() {
        return;
    }
    let title = format!("links without a rate run at {DEFAULT_RATE}");
    let mut diagnostic = Diagnostic::warning(rack::DEFAULT_RATE, "default-rate", title);
    for span in links.iter().take(3) {
        diagnostic = diagnostic.at(*span, "has no `rate`");
    }
    if links.len() > 3 {
        diagnostic = diagnostic.note(format!("{} links have none", links.len()));
    }
    r.push(diagnostic.help(format!("write it: `rate = \"{DEFAULT_RATE}\"`")));
}

pub(crate) fn ends(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<[End; 2]> {
    let before = r.diagnostics.error_count();
    let found = value::list(r, item, |r, i| end(r, i, names))?;
    match <[Spanned<End>; 2]>::try_from(found) {
        Ok(ends) => Some(ends.map(|e| e.value)),
        Err(_) => {
            if r.diagnostics.error_count() == before {
                r.bad_value(item.span, "a link has two ends", "write two: [\"h1\", \"tor:1\"]");
            }
            None
        }
    }
}

/// `h1` or `tor:1`.
fn end(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<End> {
    let text = value::string(r, item)?;
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text.as_str(), None),
    };
    let node = names.node(r, Spanned::new(name, item.span))?;
    let mut refuse = |title: &str, help: String| {
        r.push(Diagnostic::error(rack::LINK_ENDS, title).at(item.span, "cannot plug in here").help(help));
        None
    };
    let port = match (node, port) {
        (NodeId::Host(_), None) => 0,
        (NodeId::Host(_), Some(_)) => {
            return refuse("a host has no port numbers", format!("write \"{name}\""));
        }
        (NodeId::Device(_), None) => {
            return refuse("the port is missing", format!("write \"{name}:1\" for port 1"));
        }
        (NodeId::Device(_), Some(port)) => {
            match port.parse::<u32>().ok().filter(|_| port.bytes().all(|c| c.is_ascii_digit())) {
                Some(port) => port,
                None => return refuse("not a port number", format!("write \"{name}:1\" for port 1")),
            }
        }
    };
    Some(End { node, port, span: item.span })
}
