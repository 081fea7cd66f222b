//! Placement of regions: the input of a split.

use crate::group_rules::GroupRules;
use failover::Thresholds;
use ir::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a device in [`Placement::devices`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceIndex(pub u32);

/// Required order of the packets of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Packets of a flow leave in the order in which they came; a diagnostic names places where this is not certain.
    #[default]
    Keep,
    /// Any order will do.
    Any,
}

/// Distance between two devices: links first, then latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Length {
    /// Links.
    pub links: u32,
    /// Time of a frame on these links and in the receiving device, without the transmission of its own bytes, in picoseconds.
    pub time_ps: u64,
}

/// A policy that a region is placed with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Policy {
    /// After the region, control goes on to where it is needed next.
    #[default]
    Direct,
    /// The device around the region calls it and gets control back before anything else runs.
    Call,
    /// A preferred device and spares: where one fails, hand-overs go to the next. Control goes on as with `Direct`.
    Failover,
    /// Flows are divided among the devices by a number that the program computes. Control goes on as with `Direct`.
    Shard,
    /// Flows are divided among servers that come and go; each flow stays at its server. Control goes back as with `Call`.
    Group,
}

impl Policy {
    /// Each device of a site serves a part of the flows.
    pub fn divides(self) -> bool {
        matches!(self, Policy::Shard | Policy::Group)
    }
}

/// Runtime of hand-overs: their form and contents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RuntimeName {
    /// In front of the packet: position, live values, headers.
    #[default]
    Full,
    /// Nothing: the port says the position.
    Headerless,
    /// IPv4's fragment offset is the position.
    HeaderlessIpv4,
}

/// Devices and policy of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The devices that run it; none if it runs at the origins. With several, the first represents all; under `Failover` it is preferred,
    /// and the others are its spares, in order.
    pub devices: Vec<DeviceIndex>,
    /// Policy of the edges to and from the site.
    pub policy: Policy,
    /// Devices of each shard under `Shard`: the first usable one serves it. 1 under other policies.
    pub replicas: u32,
}

/// A group of servers as the rack describes it: the programs of its switch and servers say it, for agents beside these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupSetup {
    /// Name of the group.
    pub name: Name,
    /// Devices that may be members.
    pub servers: Vec<DeviceIndex>,
    /// Members at first.
    pub members: Vec<DeviceIndex>,
    /// Rules of the group.
    pub rules: GroupRules,
}

impl Site {
    /// At these devices, under this policy, with one device for each shard.
    pub fn at(devices: Vec<DeviceIndex>, policy: Policy) -> Site {
        Site { devices, policy, replicas: 1 }
    }

    /// At one device, under this policy.
    pub fn new(device: DeviceIndex, policy: Policy) -> Site {
        Site::at(vec![device], policy)
    }

    /// True if another device takes over where one has failed.
    pub(crate) fn has_spares(&self) -> bool {
        let has_others = self.devices.len() > 1;
        has_others
            && match self.policy {
                Policy::Failover => true,
                Policy::Shard => self.replicas > 1,
                Policy::Direct | Policy::Call | Policy::Group => false,
            }
    }
}

/// At one device, from which control goes on to where it is needed next.
impl From<DeviceIndex> for Site {
    fn from(device: DeviceIndex) -> Site {
        Site::new(device, Policy::Direct)
    }
}

/// A map from regions to sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Number of the program in the rack; the hand-over header carries it.
    pub app: u64,
    /// Counts the plans of one rack: packets of another epoch are dropped.
    pub epoch: u64,
    /// Device names, by index.
    pub devices: Vec<Name>,
    /// Devices that own a traffic manager: packets enter and leave there, and code outside of placed regions runs
    /// there. Each is a separate switch; all have the same program and the same helpers.
    pub home: Vec<DeviceIndex>,
    /// Marked regions; those not named run at the origins.
    pub sites: BTreeMap<Name, Site>,
    /// The port by which a device reaches another one directly.
    pub ports: BTreeMap<(DeviceIndex, DeviceIndex), u64>,
    /// All ports by which a device reaches another one directly, link by link, with that of `ports` first; only where there are
    /// several links. The lists of both directions are in the same order.
    pub more_ports: BTreeMap<(DeviceIndex, DeviceIndex), Vec<u64>>,
    /// Distance from one device to another that it reaches directly. Pairs that are not listed have one link without delay.
    pub lengths: BTreeMap<(DeviceIndex, DeviceIndex), Length>,
    /// When edges with spares take a target for failed.
    pub thresholds: Thresholds,
    /// Microseconds between two looks at an edge with spares and without packets.
    pub tick_us: u64,
    /// Required order of the packets of one flow.
    pub order: Order,
    /// Packets may pass by the device of a region that they do not run, where only this keeps them in order.
    pub detours: bool,
    /// Runtime of hand-overs.
    pub runtime: RuntimeName,
    /// Roles to and from which hand-overs have a header although `runtime` has none.
    pub with_header: BTreeSet<DeviceIndex>,
    /// Frames shorter than 60 bytes may come to the origin from outside.
    pub short_frames: bool,
    /// Some link between two devices pads frames shorter than 60 bytes.
    pub pads: bool,
    /// The longest frame that comes to the origin from outside, in bytes without checksum; `None` if nobody knows.
    pub longest_frame: Option<u32>,
    /// The longest frame that the link from one device to another carries, where it is known.
    pub longest_on_link: BTreeMap<(DeviceIndex, DeviceIndex), u32>,
    /// Groups of servers that agents beside the devices run; none if others do.
    pub groups: Vec<GroupSetup>,
    /// Roles under the policy `group` whose calls are numbered: a call that comes twice, or is answered twice, counts once.
    pub numbered: BTreeSet<DeviceIndex>,
    /// Roles under the policy `group` whose flows two Bloom filters divide, and the cells of each of a filter's two arrays: a power of two.
    pub filtered: BTreeMap<DeviceIndex, u32>,
}

impl Placement {
    /// Everything at one device.
    pub fn whole(device: &str) -> Placement {
        Placement {
            app: 1,
            epoch: 1,
            devices: vec![device.into()],
            home: vec![DeviceIndex(0)],
            sites: BTreeMap::new(),
            ports: BTreeMap::new(),
            more_ports: BTreeMap::new(),
            lengths: BTreeMap::new(),
            thresholds: Thresholds::default(),
            tick_us: 100,
            order: Order::Keep,
            detours: true,
            runtime: RuntimeName::Full,
            with_header: BTreeSet::new(),
            short_frames: false,
            pads: true,
            longest_frame: None,
            longest_on_link: BTreeMap::new(),
            groups: vec![],
            numbered: BTreeSet::new(),
            filtered: BTreeMap::new(),
        }
    }

    /// One region at a second device, joined with the origin by one link.
    pub fn alone(region: &str) -> Placement {
        let (origin, other) = (DeviceIndex(0), DeviceIndex(1));
        Placement {
            devices: vec!["origin".into(), "other".into()],
            sites: [(region.into(), other.into())].into(),
            ports: [((origin, other), 510), ((other, origin), 510)].into(),
            ..Placement::whole("origin")
        }
    }

    /// Each region at a device of its own, all joined by links, without detours.
    pub fn apart(regions: &[Name]) -> Placement {
        let count = regions.len() as u32 + 1;
        let pairs = (0..count).flat_map(|a| (0..count).filter(move |b| *b != a).map(move |b| (a, b)));
        let device = |name: &Name| format!("at_{name}").into();
        Placement {
            devices: std::iter::once("origin".into()).chain(regions.iter().map(device)).collect(),
            sites: regions.iter().cloned().zip((1..).map(|n| DeviceIndex(n).into())).collect(),
            ports: pairs
                .map(|(a, b)| ((DeviceIndex(a), DeviceIndex(b)), u64::from(510 - b.min(510))))
                .collect(),
            detours: false,
            ..Placement::whole("origin")
        }
    }

    /// The ports by which a device reaches another one directly, link by link.
    pub fn ports_to(&self, from: DeviceIndex, to: DeviceIndex) -> &[u64] {
        match self.more_ports.get(&(from, to)) {
            Some(all) => all,
            None => self.ports.get(&(from, to)).map(std::slice::from_ref).unwrap_or_default(),
        }
    }

    /// Ports of a device that join it to other devices.
    pub fn link_ports(&self, device: DeviceIndex) -> Vec<u64> {
        let pairs = self.ports.keys().filter(|(from, _)| *from == device);
        pairs.flat_map(|&(from, to)| self.ports_to(from, to)).copied().collect()
    }

    /// The device of a region.
    pub fn device_of(&self, region: &str) -> DeviceIndex {
        let device = self.sites.get(region).and_then(|site| site.devices.first());
        device.map_or(self.origin(), |device| self.role(*device))
    }

    /// The policy of a region.
    pub fn policy_of(&self, region: &str) -> Policy {
        self.sites.get(region).map(|site| site.policy).unwrap_or_default()
    }

    /// The origin that stands for all of them.
    pub fn origin(&self) -> DeviceIndex {
        self.home.first().copied().unwrap_or(DeviceIndex(0))
    }

    /// All origins; a hand-over names one by its number here.
    pub fn origins(&self) -> impl Iterator<Item = DeviceIndex> + '_ {
        self.home.iter().copied()
    }

    /// The number of an origin.
    pub fn origin_number(&self, device: DeviceIndex) -> Option<u64> {
        self.origins().zip(0..).find(|(origin, _)| *origin == device).map(|(_, number)| number)
    }

    /// Index of the device in a map of regions: the first origin represents every origin, and the first device of a site the others.
    pub fn role(&self, device: DeviceIndex) -> DeviceIndex {
        if self.home.contains(&device) {
            return self.origin();
        }
        let has_it = |site: &&Site| site.devices.contains(&device);
        self.sites.values().find(has_it).and_then(|site| site.devices.first().copied()).unwrap_or(device)
    }

    /// The devices that play a role, in the order of their site.
    pub fn players(&self, role: DeviceIndex) -> Vec<DeviceIndex> {
        if role == self.origin() {
            return self.home.clone();
        }
        self.site_of(role).map_or_else(|| vec![role], |site| site.devices.clone())
    }

    /// True if the device that plays this role has spares: devices of its own, or replicas of shards.
    pub fn has_spares(&self, role: DeviceIndex) -> bool {
        role != self.origin() && self.site_of(role).is_some_and(Site::has_spares)
    }

    /// True if some region has spares.
    pub fn has_any_spares(&self) -> bool {
        self.sites.values().any(Site::has_spares)
    }

    /// True if shards of some region have replicas.
    pub fn has_any_replicas(&self) -> bool {
        self.sites.values().any(|site| site.policy == Policy::Shard && site.has_spares())
    }

    /// The devices of each shard of a role, the preferred one first. Shard `n` is at the devices with the number `n` modulo their count; empty if
    /// the role has no replicas.
    ///
    /// With two replicas of `count >= N (N - 1)` shards on `N` devices, each ordered pair of devices has equally many shards, so that the others share
    /// the load of a device that fails.
    pub fn replicas(&self, role: DeviceIndex, count: u64) -> Vec<Vec<DeviceIndex>> {
        let Some(site) = self.site_of(role).filter(|site| site.policy == Policy::Shard && site.has_spares())
        else {
            return vec![];
        };
        let devices = site.devices.len() as u64;
        let most = devices * (devices - 1);
        let of_list = |n: u64| {
            let (first, turn) = (n % devices, n / devices);
            let others = (0..devices - 1).map(|k| (first + 1 + (turn + k) % (devices - 1)) % devices);
            let all = std::iter::once(first).chain(others).take(site.replicas as usize);
            all.map(|at| site.devices[at as usize]).collect()
        };
        (0..most.min(count)).map(of_list).collect()
    }

    /// True if this policy leads hand-overs to the devices that play this role.
    pub fn is_led_by(&self, role: DeviceIndex, policy: Policy) -> bool {
        role != self.origin() && self.led_by(role) == Some(policy)
    }

    /// True if some region is placed under this policy.
    pub fn has_any(&self, policy: Policy) -> bool {
        self.sites.values().any(|site| site.policy == policy && !site.devices.is_empty())
    }

    /// True if the flows of some region are divided among devices.
    pub fn divides_any(&self) -> bool {
        self.sites.values().any(|site| site.policy.divides() && !site.devices.is_empty())
    }

    /// The policy by which hand-overs find the devices of a role.
    fn led_by(&self, role: DeviceIndex) -> Option<Policy> {
        self.site_of(role).map(|site| site.policy)
    }

    fn site_of(&self, role: DeviceIndex) -> Option<&Site> {
        self.sites.values().find(|site| site.devices.first() == Some(&role))
    }

    /// True if hand-overs from one device to another have a header.
    pub fn has_header(&self, from: DeviceIndex, to: DeviceIndex) -> bool {
        let named = |device| self.with_header.contains(&self.role(device));
        self.runtime == RuntimeName::Full || named(from) || named(to)
    }

    /// True if hand-overs to some region on another device have no header.
    pub fn has_bare_sites(&self) -> bool {
        let is_bare = |device: &DeviceIndex| {
            let role = self.role(*device);
            role != self.origin() && !self.has_header(self.origin(), role)
        };
        self.sites.values().filter_map(|site| site.devices.first()).any(is_bare)
    }

    /// A device's name.
    pub fn name(&self, device: DeviceIndex) -> &str {
        &self.devices[device.0 as usize]
    }
}
