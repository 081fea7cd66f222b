//! Programs and networks: the regions to place, and the devices.

use crate::{Bound, Effect, Factor, Prop, Rule, Signature, VarId};
use base_diag::Span;
use smol_str::SmolStr;

/// Everything that a plan is made from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// The variables.
    pub signature: Signature,
    /// Rules: the regions that each device can run, and their costs.
    pub rules: Vec<Rule>,
    /// The programs; they are placed together.
    pub apps: Vec<App>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Links.
    pub links: Vec<Link>,
}

/// A program as a graph of regions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct App {
    /// Name of the app.
    pub name: SmolStr,
    /// Regions; edges and groups name them by their place here.
    pub regions: Vec<Region>,
    /// Control may pass.
    pub edges: Vec<Edge>,
    /// Groups of regions that must run on one device, because they share something that cannot be in two places.
    pub together: Vec<Vec<usize>>,
    /// Values of path variables that differ from the signature's.
    pub initial: Vec<(VarId, i64)>,
}

/// A piece of a program that one device runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// Name of the region.
    pub name: SmolStr,
    /// Needs of each path through the region, in order. A device must offer the needs of all paths.
    pub paths: Vec<Vec<Prop>>,
    /// Devices on which the region may run; empty: any.
    pub on: Vec<usize>,
    /// At most this much of the stream that starts the program comes here, if that is known.
    pub share: Option<Factor>,
    /// Place in the source.
    pub span: Span,
}

/// Control may pass from one region to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The region before.
    pub from: usize,
    /// The region after.
    pub to: usize,
    /// Bits that a hand-over adds to a packet.
    pub bits: i64,
    /// Largest share of the packets leaving `from` that takes this edge. One if unknown: then both arms of a branch
    /// must bear everything.
    pub share: Factor,
    /// Passes that a hand-over costs on a device that recirculates.
    pub passes: i64,
}

/// Something that can run regions, or pass packets on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Device {
    /// Name of the device.
    pub name: SmolStr,
    /// Properties of the device: its class.
    pub provides: Vec<Prop>,
    /// True if the device forwards packets from one port to another.
    pub forwards: bool,
    /// True if the device owns a traffic manager: hand-overs may need passes through it.
    pub recirculates: bool,
    /// True if the device may run regions that do not name it.
    pub is_host: bool,
    /// Capacities that differ from the signature's limits, by device variable.
    pub limits: Vec<(VarId, i64)>,
    /// Bounds on all received packets.
    pub bounds: Vec<Bound>,
    /// Time of a packet inside the device.
    pub transit: i64,
    /// Maximum number of accepted frames, in thousandths of a frame per second; `None` if unknown.
    pub frames: Option<i64>,
    /// Once effects of using it, whatever it runs.
    pub charges: Vec<Effect>,
    /// Ports.
    pub ports: Vec<Port>,
    /// Place in the file.
    pub span: Span,
}

/// A port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Port {
    /// Name of the port.
    pub name: SmolStr,
    /// Bounds on packets through it, in each direction.
    pub bounds: Vec<Bound>,
}

/// A cable, the same in both directions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// Devices and their ports, by their places.
    pub ends: [(usize, usize); 2],
    /// Propagation delay.
    pub delay: i64,
    /// Rate of the link, in steps of bits per second; `None` if unknown.
    pub rate: Option<i64>,
    /// Bytes of the longest packet, in steps.
    pub longest: Option<i64>,
    /// Bytes that each frame takes on the wire besides its own, in steps.
    pub overhead: i64,
    /// Minimum length of a frame in bytes, in steps; shorter frames are padded.
    pub shortest: i64,
    /// Place in the file.
    pub span: Span,
}
