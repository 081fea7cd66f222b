//! The result as data: what JSON, text and pages show.

use crate::amount::{Amounts, Resource};
use crate::fit::{Fit, Pipe};
use crate::graph::Reason;
use crate::phv::Containers;
use crate::unit::{Kind, Unit, UnitId};
use base_diag::SourceMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// A program on a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// Name of the device.
    pub device: String,
    /// The device can run the program.
    pub fits: bool,
    /// Stages that the device has.
    pub device_stages: u32,
    /// Amount of each resource in a stage.
    pub stage_limits: BTreeMap<Resource, u32>,
    /// The pipelines.
    pub pipes: Vec<PipeReport>,
}

/// A pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PipeReport {
    /// `pipe0`
    pub name: String,
    /// Stages in use.
    pub stages_used: u32,
    /// No placement takes fewer.
    pub stages_at_least: u32,
    /// The stages in use.
    pub stages: Vec<StageReport>,
    /// All stages together.
    pub total: BTreeMap<Resource, u32>,
    /// The table dependency graph.
    pub dependencies: Vec<DependencyReport>,
    /// The longest chain of dependencies, each in a stage of its own.
    pub chain: Vec<DependencyReport>,
    /// Containers of ingress.
    pub ingress_phv: Containers,
    /// Containers of egress.
    pub egress_phv: Containers,
    /// Validity bits of ingress and egress.
    pub pov_bits: [u32; 2],
    /// Rows of the parsers of ingress and egress.
    pub parser_states: [u32; 2],
    /// Share of the power budget, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_percent: Option<u64>,
}

/// A stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StageReport {
    /// Number, from 1.
    pub stage: u32,
    /// Units in use.
    pub used: BTreeMap<Resource, u32>,
    /// Tables, code and conditions in it.
    pub tables: Vec<TableReport>,
}

/// A table, a step of code or a condition in a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TableReport {
    /// Control-plane name, or the line of the code.
    pub name: String,
    /// `exact`, `ternary`, `action`, `condition`.
    pub kind: &'static str,
    /// `ingress` or `egress`.
    pub half: &'static str,
    /// Entries in this stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Entries of the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Units in use.
    pub used: BTreeMap<Resource, u32>,
}

/// `to` waits for `from`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DependencyReport {
    /// Runs first.
    pub from: String,
    /// Runs after it.
    pub to: String,
    /// Kind.
    pub reason: Reason,
    /// The field that both use.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// The units of `amounts` that are not zero.
fn used(amounts: &Amounts) -> BTreeMap<Resource, u32> {
    Resource::ALL.into_iter().filter(|r| amounts[*r] > 0).map(|r| (r, amounts[r])).collect()
}

impl Unit {
    /// Control-plane name of a table; the place of code.
    pub fn title(&self, map: &SourceMap) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let what = if self.kind == Kind::Gateway { "condition" } else { "code" };
        match map.position(map.call_site(self.span).lo) {
            Some(at) => format!("{what} at {}:{}", at.line, at.column),
            None => format!("{what} of the compiler"),
        }
    }

    fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Table(of) if of.ternary => "ternary",
            Kind::Table(_) => "exact",
            Kind::Action => "action",
            Kind::Gateway => "condition",
        }
    }
}

impl Fit {
    /// The result as data.
    pub fn report(&self, map: &SourceMap) -> Report {
        Report {
            device: self.device.name.clone(),
            fits: self.fits(),
            device_stages: self.device.stages,
            stage_limits: used(&Amounts::of(&self.device.stage)),
            pipes: self.pipes.iter().map(|pipe| pipe.report(map)).collect(),
        }
    }
}

impl Pipe {
    fn report(&self, map: &SourceMap) -> PipeReport {
        let stages = self.placement.stages.iter().zip(1..).map(|(stage, number)| {
            let table = |(id, part): &(UnitId, crate::layout::Part)| {
                let unit = &self.units[*id];
                let size = match &unit.kind {
                    Kind::Table(of) => Some(of.entries),
                    _ => None,
                };
                TableReport {
                    name: unit.title(map),
                    kind: unit.kind_name(),
                    half: unit.half.name(),
                    entries: size.map(|_| part.entries),
                    size,
                    used: used(&part.amounts),
                }
            };
            StageReport {
                stage: number,
                used: used(&stage.used),
                tables: stage.parts.iter().map(table).collect(),
            }
        });
        let [ingress_phv, egress_phv] = self.phv;
        let named = |d: &crate::graph::Dependency| DependencyReport {
            from: self.units[d.from].title(map),
            to: self.units[d.to].title(map),
            reason: d.reason,
            field: self.field_name(d).to_string(),
        };
        PipeReport {
            name: self.name.clone(),
            stages_used: self.placement.stages.len() as u32,
            stages_at_least: self.placement.at_least,
            stages: stages.collect(),
            total: used(&self.total()),
            dependencies: self.dependencies.iter().map(named).collect(),
            chain: crate::graph::chain(self.units.len(), &self.dependencies).into_iter().map(named).collect(),
            ingress_phv,
            egress_phv,
            pov_bits: self.pov_bits,
            parser_states: self.parser_states,
            power_percent: self.power.map(|share| share / 10_000),
        }
    }
}
