//! `shard`: flows are divided among several devices, which all run the region.
//!
//! The program computes the number of a packet's shard before the region and leaves it in a field of its metadata that says so,
//! `@shard("REGION", COUNT)`. `shard.p4` maps the number to a device at the sender: shard `n` of a site of `d` devices is at device `n mod d`.
//!
//! ```text
//! origin   p4rack_shard.apply(EDGE, meta.shard, served, port); if (served == 0) { drop }
//! ```
//!
//! Shards with replicas are led by [`failover`](super::failover), which notices that a device has failed.

use super::EdgePolicy;
use super::facts::{self, Fact, Kind};
use crate::analysis::Analysis;
use crate::generate::{Drop, Generator};
use crate::layout::LayoutField;
use crate::mark::Mark;
use crate::placement::{DeviceIndex, Placement, Policy, Site};
use crate::section::{SectionId, Sections};
use crate::split::LastArgs;
use base_diag::{Diagnostic, codes};
use ir::{Callee, Expr, Program, Stmt, Type, build};
use p4_arch::{Duty, Meaning};
use std::collections::BTreeMap;

pub struct Shard;

/// Metadata of a sender: a device serves the shard.
const SERVED: &str = "served";

/// Bits of `edge` and `shard` in `shard.p4`.
pub(super) const NUMBER_BITS: u32 = 16;

/// Least size of the table of ports.
const LEAST_PORTS: usize = 64;

/// Devices of one site: each is a bit.
const MOST_DEVICES: usize = 32;

/// The annotation of a region: `@shard("REGION", COUNT)`.
static KIND: Kind = Kind {
    policy: Policy::Shard,
    annotation: "shard",
    most_bits: NUMBER_BITS,
    most: 1 << NUMBER_BITS,
    powers_of_two: false,
    is: "the number of a packet's shard",
    code: codes::pin::NOT_SHARDED,
    keeps_handlers: false,
    several_fields: true,
    leaves_from_egress: false,
};

impl EdgePolicy for Shard {
    fn name(&self) -> &'static str {
        "shard"
    }

    fn most_devices(&self) -> usize {
        MOST_DEVICES
    }

    fn check_sites(&self, program: &Program, marks: &[Mark], placement: &Placement) -> Vec<Diagnostic> {
        facts::check_facts(&KIND, program, marks, placement)
    }

    fn check_cut(&self, a: &Analysis<'_>) -> Vec<Diagnostic> {
        facts::check_cut(&KIND, a)
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        let role = sections.get(target).device;
        placement.is_led_by(role, Policy::Shard) && !placement.has_spares(role)
    }

    fn keeps(&self, placement: &Placement, device: DeviceIndex) -> Vec<LayoutField> {
        let is_sole = |site: &Site| site.policy == Policy::Shard && !site.has_spares();
        let sends = placement.sites.values().any(is_sole) && placement.role(device) == placement.origin();
        if sends { vec![LayoutField { name: SERVED.into(), width: 1 }] } else { vec![] }
    }

    fn lead(&self, g: &mut Generator<'_>, own: &[SectionId]) -> Vec<Stmt> {
        let stage = Duty::Ingress;
        let edges = edges(g, own);
        let source = source(&edges);
        let (control, path) = g.bring(&source, "shard");
        fill(g, &path, &edges);
        let Some(served) = g.kept_field(stage, SERVED) else {
            return g.lacks("a field of the policy `shard`".to_string(), vec![]);
        };
        let port = g.standard(stage, Meaning::ToPort);
        let by_edge = |of: &dyn Fn(&Edge) -> Expr| {
            g.by_section(stage, edges.iter().map(|edge| (&*edge.sections, of(edge))).collect())
        };
        let number = by_edge(&|edge| build::bits(NUMBER_BITS, edge.number));
        let shard = by_edge(&|edge| build::cast(edge.fact.of(g.metadata(stage)), Type::Bit(NUMBER_BITS)));
        let args = number.into_iter().chain(shard).chain([served.clone(), port]).collect();
        let nobody = build::equals(served, build::bits(1, 0));
        vec![
            build::call(Callee::Control(control), vec![], args),
            build::if_then(nobody, g.drop(Drop::NoPort)),
        ]
    }
}

/// Hand-overs to one site, by one field.
struct Edge {
    number: u64,
    devices: Vec<DeviceIndex>,
    sections: Vec<SectionId>,
    fact: Fact,
}

/// The sites that hand-overs leave for, each with the fields that divide its regions.
fn edges(g: &Generator<'_>, own: &[SectionId]) -> Vec<Edge> {
    let mut by_role: BTreeMap<DeviceIndex, Vec<SectionId>> = BTreeMap::new();
    for &id in own {
        by_role.entry(g.cut.sections.get(id).device).or_default().push(id);
    }
    let facts =
        |(role, ids): (DeviceIndex, Vec<SectionId>)| by_fact(g, &ids).into_iter().map(move |of| (role, of));
    let edge = |(number, (role, (fact, sections)))| {
        let devices = g.cut.placement.players(role);
        Edge { number, devices, sections, fact }
    };
    (0..).zip(by_role.into_iter().flat_map(facts)).map(edge).collect()
}

/// These sections by the fields that divide their regions.
pub(super) fn by_fact(g: &Generator<'_>, ids: &[SectionId]) -> Vec<(Fact, Vec<SectionId>)> {
    let mut found: Vec<(Fact, Vec<SectionId>)> = vec![];
    for &id in ids {
        let region = &g.cut.sections.get(id).region;
        let Some(fact) = facts::of_region(&KIND, g.cut.program, region) else { continue };
        match found.iter_mut().find(|(known, _)| *known == fact) {
            Some((_, sections)) => sections.push(id),
            None => found.push((fact, vec![id])),
        }
    }
    found
}

fn source(edges: &[Edge]) -> String {
    let devices = edges.iter().map(|edge| edge.devices.len()).max().unwrap_or(1).max(1);
    let shards: u64 = edges.iter().map(|edge| edge.fact.count).sum();
    let arch = "#include <core.p4>\n#include <v1model.p4>";
    format!(
        "#define DEVICES {devices}\n#define SHARDS {shards}\n#define PORTS {}\n#define PORT_BITS {}\n{arch}\n{}",
        (edges.len() * devices).max(LEAST_PORTS),
        crate::PORT_BITS,
        include_str!("shard.p4"),
    )
}

fn fill(g: &mut Generator<'_>, path: &ir::Name, edges: &[Edge]) {
    for edge in edges {
        let count = edge.devices.len() as u64;
        for shard in 0..edge.fact.count {
            g.fill_brought(
                path,
                "map",
                vec![edge.number, shard],
                "serve",
                vec![1 << (shard % count)],
                LastArgs::Plain,
            );
        }
        for (n, device) in edge.devices.iter().enumerate() {
            if let Some(port) = g.port_to(*device) {
                g.fill_brought(
                    path,
                    "port_of",
                    vec![edge.number, 1 << n],
                    "forward",
                    vec![port],
                    LastArgs::Port,
                );
            }
        }
    }
}
