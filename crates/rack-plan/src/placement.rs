//! Placements of an app's regions for the splitter: by hand, or from a plan.

use crate::Result;
use crate::lightest;
use base_diag::Diagnostic;
use ir::Program;
use ir_split::{
    DeviceIndex, GroupRules, GroupSetup, Length, Order, Placement, RuntimeName, ScaleRules, Site, Variant,
    marks, unknown_region,
};
use rack_model::{Cable, DeviceId, LinkId, NodeId, Rack};
use std::collections::{BTreeMap, BTreeSet};

/// The placement that an app writes out.
pub fn by_hand(
    rack: &Rack,
    app: usize,
    regions: &[rack_model::Placement],
    program: &Program,
) -> Result<Placement> {
    let marks = marks(program)?;
    let is_unknown =
        |p: &&rack_model::Placement| !marks.iter().any(|mark| mark.name == p.region.value.as_str());
    let wrong = regions.iter().filter(is_unknown);
    let wrong: Vec<_> =
        wrong.map(|p| unknown_region(&p.region.value, &marks).at(p.region.span, "placed here")).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let name = |p: &rack_model::Placement| ir::Name::from(p.region.value.as_str());
    let policy = |p: &rack_model::Placement| match p.policy {
        rack_model::Policy::Direct => ir_split::Policy::Direct,
        rack_model::Policy::Call => ir_split::Policy::Call,
        rack_model::Policy::Failover => ir_split::Policy::Failover,
        rack_model::Policy::Shard => ir_split::Policy::Shard,
        rack_model::Policy::Group => ir_split::Policy::Group,
    };
    let devices = |p: &rack_model::Placement| {
        let all = std::iter::once(&p.device).chain(&p.spares);
        all.map(|device| DeviceIndex(device.value.0)).collect()
    };
    let site = |p: &rack_model::Placement| {
        let site = Site { devices: devices(p), policy: policy(p), replicas: p.replicas };
        (name(p), site)
    };
    placement(rack, app, regions.iter().map(site).collect())
}

/// A placement of regions of one of the rack's apps; regions not listed run at the origin.
pub fn placement(rack: &Rack, at: usize, sites: BTreeMap<ir::Name, Site>) -> Result<Placement> {
    let Some(app) = rack.apps.get(at) else { return Err(vec![]) };
    let index = |id: rack_model::DeviceId| DeviceIndex(id.0);
    let mut placement = Placement {
        app: at as u64 + 1,
        epoch: u64::from(app.epoch),
        devices: rack.devices.iter().map(|d| d.name.value.as_str().into()).collect(),
        home: std::iter::once(&app.origin).chain(&app.other_origins).map(|d| index(d.value)).collect(),
        sites,
        ports: BTreeMap::new(),
        more_ports: BTreeMap::new(),
        lengths: BTreeMap::new(),
        thresholds: app.failover.thresholds,
        tick_us: (app.failover.tick.as_ps() / 1_000_000).max(1),
        order: if app.any_order { Order::Any } else { Order::Keep },
        detours: true,
        runtime: match app.runtime {
            rack_model::Runtime::Full | rack_model::Runtime::Auto => RuntimeName::Full,
            rack_model::Runtime::Headerless => RuntimeName::Headerless,
            rack_model::Runtime::HeaderlessIpv4 => RuntimeName::HeaderlessIpv4,
        },
        with_header: BTreeSet::new(),
        short_frames: false,
        pads: true,
        longest_frame: None,
        longest_on_link: BTreeMap::new(),
        groups: if rack.has_agents { rack.groups.iter().map(setup).collect() } else { vec![] },
        numbered: BTreeSet::new(),
        filtered: BTreeMap::new(),
    };
    placement.numbered = numbered(rack, &placement);
    placement.filtered = filtered(rack, &placement);
    let mut wrong = vec![];
    let (mut takes_short, mut pads) = (false, false);
    for cable in rack.cables() {
        let [a, b] = &cable.ends;
        let longest = cable.longest_frame(rack);
        let pads_frames = cable.pads(rack);
        for end in [a, b] {
            let is_device = matches!(end.node, NodeId::Device(_));
            if is_device && end.port >= p4_arch::v1model::DROP_PORT {
                let title = format!("port {} is not a port of a v1model device", end.port);
                wrong.push(
                    Diagnostic::error(base_diag::codes::rack::BAD_VALUE, title)
                        .at(end.span, "a link ends here")
                        .note("ports have 9 bits, and 511 means drop")
                        .help("use a port from 0 to 510"),
                );
            }
        }
        let at_origin = |node: NodeId| matches!(node, NodeId::Device(id) if placement.role(index(id)) == placement.origin());
        let is_ours = |node: NodeId| matches!(node, NodeId::Device(id) if rack.is_of(id, at));
        // Frames enter and leave the rack here: their lengths bound those of hand-overs.
        if (at_origin(a.node) && !is_ours(b.node)) || (at_origin(b.node) && !is_ours(a.node)) {
            placement.longest_frame = placement.longest_frame.max(Some(longest));
            takes_short |= !pads_frames;
        }
        if let (NodeId::Device(from), NodeId::Device(to)) = (a.node, b.node)
            && is_ours(a.node)
            && is_ours(b.node)
        {
            pads |= pads_frames;
            placement.longest_on_link.entry((index(from), index(to))).or_insert(longest);
            placement.longest_on_link.entry((index(to), index(from))).or_insert(longest);
            placement.ports.entry((index(from), index(to))).or_insert(u64::from(a.port));
            placement.ports.entry((index(to), index(from))).or_insert(u64::from(b.port));
            for (start, end) in [(from, to), (to, from)] {
                placement.lengths.entry((index(start), index(end))).or_insert(length(rack, &cable, end));
            }
        }
    }
    (placement.short_frames, placement.pads) = (takes_short, pads);
    placement.with_header = app.with_header.iter().map(|d| placement.role(index(d.value))).collect();
    if placement.runtime == RuntimeName::Headerless {
        placement.more_ports = lightest::all_ports(rack, at);
    }
    if app.drops_long_frames {
        placement.longest_frame = None;
    }
    if wrong.is_empty() { Ok(placement) } else { Err(wrong) }
}

/// Servers of the groups whose calls count once, each as the first server of its site.
fn numbered(rack: &Rack, placement: &Placement) -> BTreeSet<DeviceIndex> {
    let groups = rack.groups.iter().filter(|group| group.dedup);
    let servers = groups.flat_map(|group| &group.servers).map(|server| DeviceIndex(server.value.0));
    let all = servers.map(|server| placement.role(server));
    all.filter(|role| placement.is_led_by(*role, ir_split::Policy::Group)).collect()
}

/// Servers of the groups with filters, each as the first server of its site, with the cells of an array.
fn filtered(rack: &Rack, placement: &Placement) -> BTreeMap<DeviceIndex, u32> {
    let all = rack.groups.iter().filter_map(|group| match group.variant {
        rack_model::Variant::Bloom { cells } => Some((group, cells)),
        rack_model::Variant::Exact | rack_model::Variant::Pin => None,
    });
    let servers = all.flat_map(|(group, cells)| group.servers.iter().map(move |server| (server, cells)));
    let all = servers.map(|(server, cells)| (placement.role(DeviceIndex(server.value.0)), cells));
    all.filter(|(role, _)| placement.is_led_by(*role, ir_split::Policy::Group)).collect()
}

/// A group as the agents of its devices need it.
fn setup(group: &rack_model::Group) -> GroupSetup {
    GroupSetup {
        name: group.name.value.as_str().into(),
        servers: group.servers.iter().map(|server| DeviceIndex(server.value.0)).collect(),
        members: group.members.iter().map(|member| DeviceIndex(member.0)).collect(),
        // Reports come by the links of the data plane.
        rules: group_rules(group, group.pace.settle),
    }
}

/// The rules of a group whose controller has reports `answer` after its orders at the latest.
pub fn group_rules(group: &rack_model::Group, answer: base_time::Duration) -> GroupRules {
    let us = |time: base_time::Duration| (time.as_ps() / 1_000_000).max(1);
    let rack_model::Pace { patience, settle, hold } = group.pace;
    let scale = |scale: rack_model::Scale| ScaleRules {
        capacity: scale.capacity,
        up: scale.up,
        up_for_us: us(scale.up_for),
        down: scale.down,
        down_for_us: us(scale.down_for),
        cooldown_us: us(scale.cooldown),
        min: scale.min,
        max: scale.max,
        weighs: scale.weighs,
    };
    GroupRules {
        idle_us: us(group.idle.value),
        patience_us: us(patience),
        settle_us: us(settle),
        hold_us: us(hold),
        answer_us: us(answer),
        variant: match group.variant {
            rack_model::Variant::Exact => Variant::Exact,
            rack_model::Variant::Pin => Variant::Pin,
            rack_model::Variant::Bloom { .. } => Variant::Bloom,
        },
        max_age_us: group.max_age.map(us),
        scale: group.scale.map(scale),
    }
}

/// Distance over a cable to a device.
fn length(rack: &Rack, cable: &Cable, to: DeviceId) -> Length {
    let links = cable.links.iter().filter_map(|id| rack.links.get(id.0 as usize));
    let mut time: u64 = rack.devices.get(to.0 as usize).map_or(0, |device| device.service.as_ps());
    for link in links {
        let on_the_wire = link.rate.time_for(u64::from(link.overhead));
        time = time.saturating_add(link.delay.as_ps()).saturating_add(on_the_wire.as_ps());
    }
    for pair in cable.links.windows(2) {
        let ends = |id: &LinkId| rack.links.get(id.0 as usize).map(|link| link.ends.map(|end| end.node));
        let [Some(one), Some(other)] = [pair.first().and_then(ends), pair.last().and_then(ends)] else {
            continue;
        };
        let passed = one.into_iter().filter(|node| other.contains(node)).find_map(|node| rack.legacy(node));
        time = time.saturating_add(passed.map_or(0, |(_, switch)| switch.service.as_ps()));
    }
    Length { links: cable.links.len() as u32, time_ps: time }
}
