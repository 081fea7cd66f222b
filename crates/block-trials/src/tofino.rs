//! Cost of a block on a Tofino: what a program needs with the block and does not need without it.
//!
//! Both are the block's example program, placed by `rmt_fit`. The resources are those of FlexSwitch's Table 4.

use crate::programs::compile_text;
use base_diag::SourceMap;
use p4_blocks::{Arch, Block, Form, Request};
use rmt_fit::{Device, Report, Resource};
use serde::Serialize;

/// Additional resources.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TofinoCost {
    /// Containers that ALUs compute with, those of the block's inputs and outputs left out.
    pub containers: i64,
    /// Stages.
    pub stages: i64,
    /// Bytes of the exact and ternary crossbars.
    pub crossbar_bytes: i64,
    /// Bits of hash functions.
    pub hash_bits: i64,
    /// SRAM blocks.
    pub sram: i64,
    /// TCAM blocks.
    pub tcam: i64,
    /// Instructions of stages, and stateful ALUs.
    pub alus: i64,
}

impl TofinoCost {
    /// Names and values, in the order of the paper's table.
    pub fn rows(&self) -> [(&'static str, i64); 7] {
        [
            ("containers", self.containers),
            ("stages", self.stages),
            ("crossbar bytes", self.crossbar_bytes),
            ("hash bits", self.hash_bits),
            ("SRAM", self.sram),
            ("TCAM", self.tcam),
            ("ALUs", self.alus),
        ]
    }
}

/// The additional resources of FlexSwitch's Table 4 for RCP, XCP and CONGA, beside a baseline switch; in the order of [`TofinoCost::rows`].
pub const TABLE_4: [(&str, [i64; 7]); 3] = [
    ("RCP", [4, 1, 11, 65, 10, 1, 5]),
    ("XCP", [8, 0, 9, 8, 7, 2, 9]),
    ("CONGA", [12, 2, 16, 87, 48, 1, 15]),
];

/// The cost of a block on a device; an error says why it cannot run there.
pub fn tofino_cost(block: &Block, request: &Request, device: &Device) -> Result<TofinoCost, String> {
    if let Some(why) = block.not_for_tna {
        return Err(format!("no form for TNA: {why}"));
    }
    let request = Request { arch: Arch::Tna, ..request.clone() };
    let whole = p4_blocks::example(block, &request);
    // The outputs are there, and nothing computes them.
    let is_use = |line: &str| {
        let line = line.trim_start();
        line.starts_with("#include <p4rack/")
            || line.starts_with("block.apply(")
            || line == format!("{}() block;", request.control)
    };
    let without: String =
        whole.lines().filter(|line| !is_use(line)).map(|line| format!("{line}\n")).collect();
    let [with, without] = [whole, without].map(|text| placed(&text, device));
    let (with, without) = (with?, without?);
    let more = |of: fn(&Report) -> u32| i64::from(of(&with)) - i64::from(of(&without));
    Ok(TofinoCost {
        containers: more(|report| sum(report, |pipe| pipe.ingress_phv.normal())),
        stages: more(|report| sum(report, |pipe| pipe.stages_used)),
        crossbar_bytes: more(|report| {
            total(report, Resource::ExactCrossbar) + total(report, Resource::TernaryCrossbar)
        }),
        hash_bits: more(|report| total(report, Resource::HashBits)),
        sram: more(|report| total(report, Resource::Sram)),
        tcam: more(|report| total(report, Resource::Tcam)),
        alus: more(|report| total(report, Resource::Vliw) + total(report, Resource::MeterAlu)),
    })
}

fn sum(report: &Report, of: impl Fn(&rmt_fit::PipeReport) -> u32) -> u32 {
    report.pipes.iter().map(of).sum()
}

fn total(report: &Report, resource: Resource) -> u32 {
    sum(report, |pipe| pipe.total.get(&resource).copied().unwrap_or(0))
}

fn placed(text: &str, device: &Device) -> Result<Report, String> {
    let mut map = SourceMap::new();
    let program = compile_text(text, Form::Approximate, device.tofino, &mut map)?;
    let titles = |found: Vec<base_diag::Diagnostic>| {
        let all = found
            .into_iter()
            .map(|diagnostic| [vec![diagnostic.title], diagnostic.notes].concat().join(": "));
        all.collect::<Vec<_>>().join("; ")
    };
    let fit = rmt_fit::fit(&program, device).map_err(titles)?;
    if !fit.fits() {
        return Err(titles(fit.diagnostics(&map)));
    }
    Ok(fit.report(&map))
}
