//! `failover`: a preferred device and its spares; the sender goes over to the next one when the one in use has failed.
//!
//! `edge.p4` has the machines of the crate `failover` as two controls. `Leave` stands where a hand-over finds its port, and takes reports
//! and ticks, too; `Arrive` stands at the start of ingress of a target. `docs/internals/failover.md` describes frames and registers.
//!
//! ```text
//! sender    p4rack_leave.apply(kind, ask, generation, sequence, gaps, region, now, leaves, port); if (leaves == 0) { drop }
//! target    p4rack_arrive.apply(ask, generation, sequence, gaps, region, sender, verdict, reports);
//!           if (reports == 1) { clone }   if (verdict != 0) { drop }
//!           if (reports == 1) { passed = 1; resubmit }      where a frame extern could keep the packet, and its clone with it
//! egress    if (the clone) { p4rack := the report; truncate to p4rack_t }
//! ```
//!
//! The policy `shard` with replicas is an edge for each list of replicas: `map` leads the packets of a shard to their edge, whose number
//! `p4rack_t` carries as `edge`.
//!
//! ```text
//! shards 0, 6, ..   nic1, nic2      edge 1
//! shards 1, 7, ..   nic2, nic3      edge 2
//! ```

use super::facts::Fact;
use super::shard;
use super::{EdgePolicy, OwnFrame, PortTable};
use crate::arch;
use crate::generate::{Cut, Drop, Generator};
use crate::layout::{EPOCH_BITS, ETHER_TYPE, KIND, LayoutField, VERSION};
use crate::placement::{DeviceIndex, Placement, Policy};
use crate::runtime::{ADDRESS, sender_address};
use crate::section::{SectionId, Sections};
use crate::sent_edge::SentEdge;
use crate::split::{Edge, LastArgs};
use failover::{GAPS_BITS, GENERATION_BITS, SEQUENCE_BITS, Side};
use ir::{Callee, Expr, Name, Program, Stmt, Type, build};
use p4_arch::v1model::instance_type::INGRESS_CLONE;
use p4_arch::{Duty, Meaning};
use std::collections::{BTreeMap, BTreeSet};

pub struct Failover;

/// Values of the field `kind`, as in `edge.p4`.
const PACKET: u64 = 0;
const PROBE: u64 = 1;
const REPORT: u64 = 2;
const TICK: u64 = 3;
const KIND_BITS: u32 = 2;

/// Bits of `region` and of addresses in `edge.p4`.
const ADDRESS_BITS: u32 = 48;

/// The number of an edge of the policy `shard`, plus 1; 0 in hand-overs over other edges.
const EDGE: &str = "edge";
const EDGE_BITS: u32 = 16;

/// Least size of a table of `edge.p4`.
const LEAST_SIZE: usize = 64;

/// Metadata of a sender: the hand-over leaves.
const LEAVES: &str = "leaves";

/// Metadata of a target.
const VERDICT: &str = "verdict";
const REPORTS: &str = "reports";

/// Metadata of a target with frame externs: the packet has passed `p4rack_arrive`, and comes again.
const PASSED: &str = "passed";
const STAMP: [(&str, u32); 3] =
    [("generation", GENERATION_BITS), ("sequence", SEQUENCE_BITS), ("gaps", GAPS_BITS)];

fn field(name: &str, width: u32) -> LayoutField {
    LayoutField { name: name.into(), width }
}

impl EdgePolicy for Failover {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn most_devices(&self) -> usize {
        failover::targets::MOST_TARGETS
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        placement.has_spares(sections.get(target).device)
    }

    fn table(&self, _: &[SectionId], _: &Sections, _: &Placement) -> PortTable {
        PortTable::default()
    }

    fn fields(&self, _: &Program, placement: &Placement) -> Vec<LayoutField> {
        if !placement.has_any_spares() {
            return vec![];
        }
        let kinds = [field(KIND, KIND_BITS), field("ask", 1)];
        let edge = placement.has_any_replicas().then(|| field(EDGE, EDGE_BITS));
        kinds.into_iter().chain(edge).chain(STAMP.map(|(name, width)| field(name, width))).collect()
    }

    fn keeps(&self, placement: &Placement, device: DeviceIndex) -> Vec<LayoutField> {
        if !placement.has_any_spares() {
            return vec![];
        }
        let mut all = vec![field(LEAVES, 1)];
        if placement.has_spares(placement.role(device)) {
            all.extend([field(VERDICT, 2), field(REPORTS, 1)]);
        }
        all
    }

    fn keeps_in_clones(&self, cut: &Cut<'_>, device: DeviceIndex) -> Vec<LayoutField> {
        if !cut.placement.has_spares(cut.placement.role(device)) {
            return vec![];
        }
        let passed = self.passes_again(cut, device).then(|| field(PASSED, 1));
        STAMP.map(|(name, width)| field(name, width)).into_iter().chain(passed).collect()
    }

    fn passes_again(&self, cut: &Cut<'_>, device: DeviceIndex) -> bool {
        let is_target = cut.placement.has_spares(cut.placement.role(device));
        is_target && arch::first_frame_extern(cut.program).is_some()
    }

    fn own_frame(&self, placement: &Placement, device: DeviceIndex) -> Option<OwnFrame> {
        let is_target = placement.has_spares(placement.role(device));
        is_target.then_some(OwnFrame { field: KIND, packet: PACKET, own: PROBE })
    }

    fn hears(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        self.leads(target, sections, placement)
    }

    fn send(&self, g: &mut Generator<'_>, stage: Duty) -> Vec<Stmt> {
        let zero = |f: LayoutField| build::assign(g.common_field(stage, &f.name), build::bits(f.width, 0));
        self.fields(g.cut.program, g.cut.placement).into_iter().map(zero).collect()
    }

    fn lead(&self, g: &mut Generator<'_>, own: &[SectionId]) -> Vec<Stmt> {
        let stage = Duty::Ingress;
        let groups = groups(g, own);
        let (control, path) = g.bring(&source(g), "leave");
        fill_leave(g, &path, &groups);
        fill_map(g, &path, &groups);
        let sent_groups: Vec<_> = groups.iter().map(|group| sent(g, &path, group).annotation()).collect();
        g.out.controls[control.index()].annotations.extend(sent_groups);
        let Some(leaves) = g.kept_field(stage, LEAVES) else {
            return g.lacks("a field of fail-over".to_string(), vec![]);
        };
        let common = |name| g.common_field(stage, name);
        let now = g.standard_field(stage, "ingress_global_timestamp", ADDRESS_BITS);
        let port = g.standard(stage, Meaning::ToPort);
        let mut args = vec![
            common(KIND),
            common("ask"),
            common("generation"),
            common("sequence"),
            common("gaps"),
            common("region"),
            now,
            leaves.clone(),
            port,
        ];
        if g.cut.placement.has_any_replicas() {
            let Some(shard) = shard_of(g, &groups) else {
                return g.lacks("the number of a shard".to_string(), vec![]);
            };
            args.extend([common(EDGE), shard]);
        }
        let is_packet = build::equals(common(KIND), build::bits(KIND_BITS, PACKET));
        let stays = build::equals(leaves, build::bits(1, 0));
        // A tick comes from elsewhere, and leaves as a probe from here.
        let sender = build::assign(common("src_addr"), build::bits(ADDRESS_BITS, sender_address(g.device)));
        let counted = g.drop(Drop::NoPort);
        let silent = g.drop_silently(stage);
        vec![
            build::call(Callee::Control(control), vec![], args),
            sender,
            build::if_then(stays, vec![build::if_else(is_packet, counted, silent)]),
        ]
    }

    fn receive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let stage = Duty::Ingress;
        if !g.cut.placement.has_spares(g.role()) {
            return vec![];
        }
        let senders = senders(g);
        let edges = senders.iter().map(|arriving| arriving.edge()).collect::<BTreeSet<_>>();
        let (control, path) = g.bring(&source(g), "arrive");
        fill_arrive(g, &path, &senders, &edges);
        let kept: Option<Vec<Expr>> = [VERDICT, REPORTS]
            .iter()
            .chain(STAMP.map(|(name, _)| name).iter())
            .map(|name| g.kept_field(stage, name))
            .collect();
        let Some(kept) = kept else { return g.lacks("a field of fail-over".to_string(), vec![]) };
        let [verdict, reports, stamp @ ..] = kept.as_slice() else { return vec![] };
        let mut stmts: Vec<Stmt> = stamp
            .iter()
            .zip(STAMP)
            .map(|(to, (name, _))| build::assign(to.clone(), g.common_field(stage, name)))
            .collect();
        let mut args = vec![g.common_field(stage, "ask")];
        args.extend(stamp.iter().cloned());
        args.extend([
            g.common_field(stage, "region"),
            g.common_field(stage, "src_addr"),
            verdict.clone(),
            reports.clone(),
        ]);
        if g.cut.placement.has_any_replicas() {
            args.push(g.common_field(stage, EDGE));
        }
        stmts.push(build::call(Callee::Control(control), vec![], args));
        let clone = g.clone_to_port();
        stmts.push(build::if_then(build::equals(reports.clone(), build::bits(1, 1)), clone));
        let ended = build::assign(g.region_of(stage), g.region_value(g.cut.layout.ended_region));
        let is_probe = build::equals(g.common_field(stage, KIND), build::bits(KIND_BITS, PROBE));
        let mut silent = g.drop_silently(stage);
        silent.push(ended.clone());
        let mut counted = g.drop(Drop::Again);
        counted.push(ended);
        let refused = build::differs(verdict.clone(), build::bits(2, 0));
        let passed = g.kept_field(stage, PASSED);
        let dropped = match &passed {
            None => build::if_then(refused, counted),
            Some(passed) => {
                let ended = build::assign(g.region_of(stage), g.region_value(g.cut.layout.ended_region));
                let list = build::bits(8, u64::from(g.clone_list));
                let resubmit = Callee::ExternFunction(g.resubmit_function());
                let again = vec![
                    build::assign(passed.clone(), build::bits(1, 1)),
                    ended,
                    build::call(resubmit, vec![], vec![list]),
                ];
                let reported = build::if_then(build::equals(reports.clone(), build::bits(1, 1)), again);
                build::if_else(refused, counted, vec![reported])
            }
        };
        stmts.push(build::stmt(ir::StmtKind::If(
            is_probe,
            build::block(silent),
            build::block(vec![dropped]),
        )));
        // Frames of another plan are dropped as unknown.
        let is_known = build::differs(g.region_of(stage), g.region_value(g.cut.layout.unknown_region));
        let came = g.came_with_header(stage);
        let is_new = passed.map(|passed| build::equals(passed, build::bits(1, 0)));
        let known = build::and(came, is_known);
        vec![build::if_then(is_new.into_iter().fold(known, build::and), stmts)]
    }

    fn in_egress(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let stage = Duty::Egress;
        if !g.cut.placement.has_spares(g.role()) {
            return vec![];
        }
        let set = |name: &str, width: u32, value: u64| {
            build::assign(g.common_field(stage, name), build::bits(width, value))
        };
        let mut stmts = vec![
            set(KIND, KIND_BITS, REPORT),
            set("ask", 1, 0),
            set("src_addr", ADDRESS_BITS, sender_address(g.device)),
        ];
        for (name, _) in STAMP {
            if let Some(kept) = g.kept_field(stage, name) {
                stmts.push(build::assign(g.common_field(stage, name), kept));
            }
        }
        let bytes = g.cut.layout.common_bits() / 8;
        stmts.push(g.truncate_to(bytes));
        let kind = g.standard(stage, Meaning::Kind);
        let is_clone = build::equals(kind, build::bits(32, u64::from(INGRESS_CLONE)));
        vec![build::if_then(is_clone, stmts)]
    }
}

/// An edge that leaves a device.
struct Group {
    number: u64,
    targets: Vec<DeviceIndex>,
    /// The sections that it leads to.
    sections: Vec<SectionId>,
    /// The shards that it leads, with the field of metadata that has their number; none without shards.
    shards: Option<(Fact, Vec<u64>)>,
}

impl Group {
    /// The value of [`EDGE`] in its hand-overs.
    fn in_hand_overs(&self) -> u64 {
        self.shards.as_ref().map_or(0, |_| self.number + 1)
    }
}

/// The edges that leave a device: one for each site, or for each list of replicas.
fn groups(g: &Generator<'_>, own: &[SectionId]) -> Vec<Group> {
    let placement = g.cut.placement;
    let mut by_role: BTreeMap<DeviceIndex, Vec<SectionId>> = BTreeMap::new();
    for &id in own {
        by_role.entry(g.cut.sections.get(id).device).or_default().push(id);
    }
    let mut groups: Vec<Group> = vec![];
    for (role, ids) in by_role {
        if !placement.is_led_by(role, Policy::Shard) {
            let number = groups.len() as u64;
            groups.push(Group { number, targets: placement.players(role), sections: ids, shards: None });
            continue;
        }
        for (fact, sections) in shard::by_fact(g, &ids) {
            let lists = placement.replicas(role, fact.count);
            let (first, count) = (groups.len() as u64, lists.len());
            for (at, targets) in (0..).zip(lists) {
                let shards = (at..fact.count).step_by(count).collect();
                let shards = Some((fact.clone(), shards));
                groups.push(Group { number: first + at, targets, sections: sections.clone(), shards });
            }
        }
    }
    groups
}

/// Sections that a device hands over to over edges, in order.
fn leaving(g: &Generator<'_>, from: DeviceIndex) -> Vec<SectionId> {
    let legs = g.cut.routes.legs.iter().filter(|leg| leg.from == from && !leg.is_sent_on);
    let led = legs.map(|leg| leg.section);
    let led = led.filter(|id| g.cut.placement.has_spares(g.cut.sections.get(*id).device));
    led.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Hand-overs that come here: the section, the device that sends them, and their value of [`EDGE`].
struct Arriving {
    section: SectionId,
    from: DeviceIndex,
    of_edge: u64,
}

impl Arriving {
    /// Distinguishes the edge from others that arrive here.
    fn edge(&self) -> (DeviceIndex, u64) {
        (self.from, self.of_edge)
    }
}

/// All hand-overs that come here.
fn senders(g: &Generator<'_>) -> Vec<Arriving> {
    let legs = g.cut.routes.legs.iter().filter(|leg| leg.to == g.device && leg.target == g.device);
    let mut all: Vec<_> = legs.map(|leg| (leg.section, leg.from)).collect();
    all.sort();
    all.dedup();
    let from_all: BTreeSet<DeviceIndex> = all.iter().map(|(_, from)| *from).collect();
    let groups: BTreeMap<_, _> =
        from_all.into_iter().map(|from| (from, groups(g, &leaving(g, from)))).collect();
    let arriving = all.into_iter().flat_map(|(section, from)| {
        let edges = groups.get(&from).into_iter().flatten();
        let edges = edges.filter(move |edge| edge.sections.contains(&section));
        let here = edges.filter(|edge| edge.targets.contains(&g.device));
        here.map(move |edge| Arriving { section, from, of_edge: edge.in_hand_overs() })
    });
    arriving.collect()
}

/// The number of a packet's shard; 0 if the packet leaves over an edge without shards.
fn shard_of(g: &Generator<'_>, groups: &[Group]) -> Option<Expr> {
    let mut values: Vec<(&[SectionId], Expr)> = vec![];
    for group in groups {
        if values.iter().any(|(known, _)| *known == group.sections.as_slice()) {
            continue;
        }
        let shard = match &group.shards {
            Some((fact, _)) => build::cast(fact.of(g.metadata(Duty::Ingress)), Type::Bit(shard::NUMBER_BITS)),
            None => build::bits(shard::NUMBER_BITS, 0),
        };
        values.push((&group.sections, shard));
    }
    g.by_section(Duty::Ingress, values)
}

/// Both controls with room for all edges of the device, so that they are compiled once.
fn source(g: &Generator<'_>) -> String {
    let placement = g.cut.placement;
    let groups = groups(g, &leaving(g, g.device));
    let most = |count: &dyn Fn(&Group) -> usize| groups.iter().map(count).max().unwrap_or(1);
    let all = |count: &dyn Fn(&Group) -> usize| groups.iter().map(count).sum::<usize>();
    let targets = most(&|group| group.targets.len());
    let senders = if placement.has_spares(g.role()) { senders(g) } else { vec![] };
    let arriving = senders.iter().map(Arriving::edge).collect::<BTreeSet<_>>().len().max(1);
    let leaving = groups.len().max(1);
    let region = g.cut.layout.width_of("region");
    let port = crate::PORT_BITS;
    let shards = |group: &Group| group.shards.as_ref().map_or(0, |(_, shards)| shards.len());
    let sharded = if placement.has_any_replicas() {
        format!("#define SHARDS {}\n", all(&|group| group.sections.len() * shards(group)).max(1))
    } else {
        String::new()
    };
    let [edges_of, ports, edges_from] =
        [all(&|group| group.sections.len()), all(&|group| group.targets.len()), senders.len()]
            .map(|size| size.max(LEAST_SIZE));
    format!(
        "#define TARGETS {targets}\n#define LEAVING {leaving}\n#define ARRIVING {arriving}\n#define REGION_BITS {region}\n#define ADDRESS_BITS {ADDRESS_BITS}\n\
         #define PORT_BITS {port}\n#define EDGES_OF {edges_of}\n#define PORTS {ports}\n#define EDGES_FROM {edges_from}\n{sharded}\
         #include <core.p4>\n#include <v1model.p4>\n{}{}",
        include_str!("edge.p4"),
        include_str!("pipeline.p4"),
    )
}

fn fill_leave(g: &mut Generator<'_>, path: &Name, groups: &[Group]) {
    let limits = g.cut.placement.thresholds;
    let has_replicas = g.cut.placement.has_any_replicas();
    for group in groups {
        let Group { number, targets, sections, .. } = group;
        for id in sections {
            let mut args = vec![*number, (1 << targets.len()) - 1];
            args.extend(limits.args(Side::Sender));
            let edge = has_replicas.then(|| group.in_hand_overs());
            let keys = std::iter::once(id.0.into()).chain(edge).collect();
            g.fill_brought(path, "edge_of", keys, "use", args, LastArgs::Thresholds(Side::Sender));
        }
        for (n, target) in targets.iter().enumerate() {
            if let Some(port) = g.port_to(*target) {
                g.fill_brought(path, "port_of", vec![*number, 1 << n], "forward", vec![port], LastArgs::Port);
            }
        }
        let ported = |target: &DeviceIndex| Some((*target, g.port_to(*target)?));
        let regions: BTreeSet<Name> =
            sections.iter().map(|id| g.cut.sections.get(*id).region.clone()).collect();
        let edge = Edge {
            control: path.clone(),
            number: *number,
            regions: regions.into_iter().collect(),
            shards: group.shards.as_ref().map(|(_, shards)| shards.clone()),
            targets: targets.iter().filter_map(ported).collect(),
        };
        g.linkage.edges.push(edge);
    }
}

/// The edges of shards.
fn fill_map(g: &mut Generator<'_>, path: &Name, groups: &[Group]) {
    for group in groups {
        let Some((_, shards)) = &group.shards else { continue };
        for id in &group.sections {
            for shard in shards {
                let keys = vec![id.0.into(), *shard];
                let args = vec![group.in_hand_overs()];
                g.fill_brought(path, "map", keys, "lead", args, LastArgs::Plain);
            }
        }
    }
}

/// The edge as the device's agent reads it.
fn sent(g: &Generator<'_>, control: &Name, group: &Group) -> SentEdge {
    SentEdge {
        control: control.clone(),
        number: group.number,
        tick_us: g.cut.placement.tick_us,
        tick: group.sections.first().map_or(vec![], |id| tick(g, *id, group.in_hand_overs())),
        ports: group.targets.iter().filter_map(|target| Some(g.port_to(*target)? as u32)).collect(),
    }
}

/// A frame of the kind `TICK` for the edge that leads to this section.
fn tick(g: &Generator<'_>, section: SectionId, edge: u64) -> Vec<u8> {
    let mut fields = vec![
        ("dst_addr", ADDRESS),
        ("src_addr", sender_address(g.device)),
        ("ether_type", ETHER_TYPE.into()),
        ("version", VERSION),
        ("app", g.cut.placement.app),
        ("epoch", g.cut.placement.epoch % (1 << EPOCH_BITS)),
        ("region", section.0.into()),
        (KIND, TICK),
    ];
    if g.cut.placement.has_any_replicas() {
        fields.push((EDGE, edge));
    }
    g.cut.layout.frame(&fields)
}

fn fill_arrive(
    g: &mut Generator<'_>,
    path: &Name,
    senders: &[Arriving],
    edges: &BTreeSet<(DeviceIndex, u64)>,
) {
    let limits = g.cut.placement.thresholds;
    let has_replicas = g.cut.placement.has_any_replicas();
    for arriving in senders {
        let number = edges.range(..arriving.edge()).count() as u64;
        let keys = [arriving.section.0.into(), sender_address(arriving.from)];
        let keys = keys.into_iter().chain(has_replicas.then_some(arriving.of_edge)).collect();
        let args = std::iter::once(number).chain(limits.args(Side::Receiver)).collect();
        g.fill_brought(path, "edge_of", keys, "from", args, LastArgs::Thresholds(Side::Receiver));
    }
    let from_all: BTreeSet<DeviceIndex> = edges.iter().map(|(from, _)| *from).collect();
    for from in from_all {
        if let Some(&port) = g.cut.placement.ports.get(&(g.device, from)) {
            g.linkage.sessions.push((port as u32 + 1, port));
        }
    }
}
