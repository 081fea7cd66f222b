//! `[[fault]]`: faults and their times.
//!
//! ```toml
//! [[fault]]
//! kind = "link-down"        # frames on the link, and frames sent to it, are lost, in both directions
//! link = ["tor:3", "nic:1"] # ends of the link
//! at = "5ms"
//! for = "2ms"               # duration; default: until the end of the run
//!
//! [[fault]]
//! kind = "loss"             # gray failure: random frames are lost, without a link-down event
//! link = ["tor:3", "nic:1"]
//! from = "nic"              # the sending end; default: both directions
//! share = "5%"
//! at = "1ms"
//!
//! [[fault]]
//! kind = "delay"            # every frame is delayed by this time
//! link = ["tor:3", "nic:1"]
//! by = "100us"
//! at = "1ms"
//!
//! [[fault]]
//! kind = "device-down"      # packets inside, and arriving packets, are lost; the device restarts without program and state
//! device = "nic"
//! at = "5ms"
//!
//! [[fault]]
//! kind = "slow"             # the service time is multiplied by this factor
//! device = "nic"
//! factor = 10
//! at = "5ms"
//!
//! [[fault]]
//! kind = "control-delay"    # messages between the controller and the device are delayed by this time
//! device = "nic"            # default: all devices
//! by = "10ms"
//! at = "5ms"
//!
//! [[fault]]
//! kind = "control-loss"     # share of these messages that is lost, in addition to `[control]`
//! device = "nic"
//! share = "20%"
//! at = "5ms"
//!
//! [[fault]]
//! kind = "partition"        # all links between these nodes and all others are down
//! nodes = ["nic", "h2"]
//! at = "5ms"
//! ```

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{DeviceId, LinkId, NodeId, Probability, Rack, Spanned, link};
use base_diag::codes::rack as codes;
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};

/// Something that goes wrong for a while.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// When it begins.
    pub at: Time,
    /// Duration; `None`: until the end of the run.
    pub lasts: Option<Duration>,
    /// Place in the file.
    pub span: Span,
}

/// The kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A link carries nothing; frames on it are lost.
    LinkDown(LinkId),
    /// A link loses frames at random, in addition to its own losses.
    Loss {
        /// The link.
        link: LinkId,
        /// The sending end that is concerned; none: both.
        from: Option<NodeId>,
        /// Share of lost frames.
        share: Probability,
    },
    /// Frames on a link take longer.
    Delay {
        /// The link.
        link: LinkId,
        /// Added delay.
        by: Duration,
    },
    /// A device neither receives nor sends; packets inside and its state are lost.
    DeviceDown(DeviceId),
    /// A device takes this many times as long for each packet.
    Slow {
        /// The device.
        device: DeviceId,
        /// Factor of the service time.
        factor: u32,
    },
    /// All links between some nodes and all others are down.
    Partition(Vec<NodeId>),
    /// Messages between the controller and a device, or all devices, take longer.
    ControlDelay {
        /// The device.
        device: Option<DeviceId>,
        /// Added delay.
        by: Duration,
    },
    /// Messages between the controller and a device, or all devices, are lost at random, in addition to the usual
    /// losses.
    ControlLoss {
        /// The device.
        device: Option<DeviceId>,
        /// Share of lost messages.
        share: Probability,
    },
}

impl FaultKind {
    /// As it is written in the file.
    pub fn word(&self) -> &'static str {
        match self {
            FaultKind::LinkDown(_) => "link-down",
            FaultKind::Loss { .. } => "loss",
            FaultKind::Delay { .. } => "delay",
            FaultKind::DeviceDown(_) => "device-down",
            FaultKind::Slow { .. } => "slow",
            FaultKind::Partition(_) => "partition",
            FaultKind::ControlDelay { .. } => "control-delay",
            FaultKind::ControlLoss { .. } => "control-loss",
        }
    }
}

impl Fault {
    /// When it is over; [`Time::MAX`] if it never is.
    pub fn ends(&self) -> Time {
        self.lasts.map_or(Time::MAX, |lasts| self.at + lasts)
    }

    /// For people: `link-down h1 - tor:1`.
    pub fn describe(&self, rack: &Rack) -> String {
        let link = |id: LinkId| {
            let ends = rack.links.get(id.0 as usize).map(|l| l.ends.map(|end| rack.end_name(end)));
            ends.map_or(String::new(), |[a, b]| format!("{a} - {b}"))
        };
        let device = |id: DeviceId| rack.node_name(NodeId::Device(id)).to_string();
        let agent = |id: &Option<DeviceId>| id.map_or("all devices".to_string(), device);
        let what = match &self.kind {
            FaultKind::LinkDown(id) => link(*id),
            FaultKind::Loss { link: id, from: None, share } => format!("{share} on {}", link(*id)),
            FaultKind::Loss { link: id, from: Some(from), share } => {
                format!("{share} on {} from {}", link(*id), rack.node_name(*from))
            }
            FaultKind::Delay { link: id, by } => format!("{by} on {}", link(*id)),
            FaultKind::DeviceDown(id) => device(*id),
            FaultKind::Slow { device: id, factor } => format!("{} {factor} times", device(*id)),
            FaultKind::Partition(nodes) => {
                let names: Vec<&str> = nodes.iter().map(|node| rack.node_name(*node)).collect();
                names.join(", ")
            }
            FaultKind::ControlDelay { device, by } => format!("{by} to {}", agent(device)),
            FaultKind::ControlLoss { device, share } => format!("{share} to {}", agent(device)),
        };
        format!("{} {what}", self.kind.word())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    LinkDown,
    Loss,
    Delay,
    DeviceDown,
    Slow,
    Partition,
    ControlDelay,
    ControlLoss,
}

const KINDS: [(&str, Option<Kind>); 8] = [
    ("link-down", Some(Kind::LinkDown)),
    ("loss", Some(Kind::Loss)),
    ("delay", Some(Kind::Delay)),
    ("device-down", Some(Kind::DeviceDown)),
    ("slow", Some(Kind::Slow)),
    ("partition", Some(Kind::Partition)),
    ("control-delay", Some(Kind::ControlDelay)),
    ("control-loss", Some(Kind::ControlLoss)),
];

/// `rack` has its links already.
pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, rack: &Rack) -> Option<Fault> {
    let mut s = Section::new(r, "this fault".to_string(), item.span, item)?;
    let kind = s.required(r, "kind", "\"link-down\"", |r, i| value::choice(r, i, &KINDS));
    let Some(kind) = kind else {
        s.give_up(r);
        return None;
    };
    let at = s.required(r, "at", "\"5ms\"", value::time);
    let lasts = s.optional(r, "for", value::interval);
    let kind = match kind.value {
        Kind::LinkDown => read_link(r, &mut s, names, rack).map(FaultKind::LinkDown),
        Kind::Loss => read_loss(r, &mut s, names, rack),
        Kind::Delay => {
            let link = read_link(r, &mut s, names, rack);
            let by = s.required(r, "by", "\"100us\"", value::interval);
            link.zip(by).map(|(link, by)| FaultKind::Delay { link, by: by.value })
        }
        Kind::DeviceDown => read_device(r, &mut s, names).map(FaultKind::DeviceDown),
        Kind::Slow => {
            let device = read_device(r, &mut s, names);
            let factor = s.required(r, "factor", "10", |r, i| value::small(r, i, 2..=1_000_000));
            device.zip(factor).map(|(device, factor)| FaultKind::Slow { device, factor: factor.value })
        }
        Kind::Partition => read_nodes(r, &mut s, names).map(FaultKind::Partition),
        Kind::ControlDelay => {
            let device = s.optional(r, "device", |r, i| device_at(r, i, names));
            let by = s.required(r, "by", "\"10ms\"", value::interval);
            let device = device.map(|device| device.value);
            by.map(|by| FaultKind::ControlDelay { device, by: by.value })
        }
        Kind::ControlLoss => {
            let device = s.optional(r, "device", |r, i| device_at(r, i, names));
            let share = s.required(r, "share", "\"20%\"", value::probability);
            let device = device.map(|device| device.value);
            share.map(|share| FaultKind::ControlLoss { device, share: share.value })
        }
    };
    s.finish(r);
    Some(Fault { kind: kind?, at: at?.value, lasts: lasts.map(|l| l.value), span: item.span })
}

fn read_loss(r: &mut Reader, s: &mut Section<'_>, names: &Names, rack: &Rack) -> Option<FaultKind> {
    let id = read_link(r, s, names, rack);
    let share = s.required(r, "share", "\"5%\"", value::probability);
    let from = s.optional(r, "from", |r, i| {
        let name = value::string(r, i)?;
        names.node(r, Spanned::new(name.as_str(), i.span))
    });
    let link = rack.links.get(id?.0 as usize)?;
    if let Some(from) = from.filter(|from| link.ends.iter().all(|end| end.node != from.value)) {
        let title = format!("`{}` is at no end of this link", names.name(from.value));
        let ends = link.ends.map(|end| names.name(end.node));
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, title).at(from.span, "not an end");
        r.push(diagnostic.help(format!("write `{}` or `{}`", ends[0], ends[1])));
    }
    Some(FaultKind::Loss { link: id?, from: from.map(|f| f.value), share: share?.value })
}

fn read_link(r: &mut Reader, s: &mut Section<'_>, names: &Names, rack: &Rack) -> Option<LinkId> {
    let ends = s.required(r, "link", "[\"tor:3\", \"nic:1\"]", |r, i| link::ends(r, i, names))?;
    let wanted = ends.value.map(|end| (end.node, end.port));
    let at = rack.links.iter().position(|link| {
        let [a, b] = link.ends.map(|end| (end.node, end.port));
        [a, b] == wanted || [b, a] == wanted
    });
    if at.is_none() {
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, "there is no such link");
        let plugged = rack.links.iter().flat_map(|l| [(l.ends[0], l.ends[1]), (l.ends[1], l.ends[0])]);
        let [a, b] = ends.value;
        let near =
            plugged.filter(|(here, _)| [a, b].iter().any(|e| (e.node, e.port) == (here.node, here.port)));
        let notes =
            near.map(|(here, there)| format!("{} is linked to {}", names.end(here), names.end(there)));
        r.push(notes.fold(diagnostic.at(ends.span, "no link joins these"), Diagnostic::note));
    }
    at.map(|at| LinkId(at as u32))
}

fn read_device(r: &mut Reader, s: &mut Section<'_>, names: &Names) -> Option<DeviceId> {
    s.required(r, "device", "\"nic\"", |r, i| device_at(r, i, names)).map(|d| d.value)
}

fn device_at(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<DeviceId> {
    let name = value::string(r, item)?;
    names.device(r, Spanned::new(name.as_str(), item.span))
}

fn read_nodes(r: &mut Reader, s: &mut Section<'_>, names: &Names) -> Option<Vec<NodeId>> {
    let nodes = s.required(r, "nodes", "[\"nic\", \"h2\"]", |r, i| {
        value::list(r, i, |r, i| {
            let name = value::string(r, i)?;
            names.node(r, Spanned::new(name.as_str(), i.span))
        })
    })?;
    Some(nodes.value.into_iter().map(|node| node.value).collect())
}
