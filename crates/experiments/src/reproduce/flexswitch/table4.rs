//! Table 4: what a baseline switch takes of a Tofino, and what protocols take.

use super::transfers::choose_form;
use crate::reproduce::{Experiment, Lab, Shown, tofino};
use base_diag::codes::emulate::UNREADABLE_FILE;
use base_diag::{Diagnostic, SourceMap};
use rack_emulator::Table;
use rmt_fit::{Report, Resource};

pub const EXPERIMENT: Experiment = Experiment {
    name: "table4",
    about: "Resources of a Tofino 1 for a baseline switch and for protocols, by the model of `p4rack fit`, beside the paper's.",
    set: "examples/baseline/baseline.p4: bridging with learning and spanning tree, routes for IPv4 and IPv6, groups of links and paths, VXLAN, NVGRE, Geneve and GRE, statistics; its head has the sizes. \
          Protocols are the programs of `examples` in their forms for limited switches, each alone. Crossbar in bytes, exact and ternary; ALUs are instructions and stateful ALUs; containers are those of ingress.",
    leaves_out: "The paper's programs, compiler and units are unknown. Its rows of protocols have the baseline in them; ours stand alone, because most take more stages than a Tofino 1 has: their steps \
                 follow one another, in the form for v1model. `docs/blocks-reference.md` has what each block adds in its form for TNA.",
    run,
};

/// Rows of the paper: containers, stages, crossbar, hash bits, SRAM, TCAM, ALUs.
const PAPER: [(&str, [u32; 7]); 4] = [
    ("paper: baseline", [187, 9, 462, 1050, 165, 43, 83]),
    ("paper: with RCP", [191, 10, 473, 1115, 175, 44, 88]),
    ("paper: with XCP", [195, 9, 471, 1058, 172, 45, 92]),
    ("paper: with CONGA", [199, 11, 478, 1137, 213, 44, 98]),
];

/// Protocol, the file of its rack, and the number of its app.
const PROTOCOLS: [(&str, &str, usize); 10] = [
    ("RCP", "rcp/RACK.toml", 0),
    ("XCP", "xcp/RACK.toml", 0),
    ("CONGA, leaf", "conga/RACK.toml", 0),
    ("CONGA, spine", "conga/RACK.toml", 2),
    ("D3", "d3/RACK.toml", 0),
    ("HULL", "hull/RACK.toml", 0),
    ("DCTCP", "dctcp/RACK.toml", 0),
    ("Seawall", "seawall/RACK.toml", 0),
    ("PIAS", "pias/RACK.toml", 0),
    ("pFabric", "pfabric/RACK.toml", 0),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows: Vec<[String; 9]> = vec![];
    for (name, amounts) in PAPER {
        rows.push(row(name, amounts, "yes"));
    }
    let file = lab.racks.join("baseline/baseline.p4");
    let unreadable = |error: std::io::Error| {
        vec![Diagnostic::error(UNREADABLE_FILE, format!("{}: {error}", file.display()))]
    };
    let text = std::fs::read_to_string(&file).map_err(unreadable)?;
    let mut map = SourceMap::new();
    let baseline = compiler::reparse("baseline.p4", &text, &mut map)?;
    rows.push(ours("ours: baseline", &tofino::placed(&baseline, &map)?));
    for (name, file, app) in PROTOCOLS {
        let racked = lab.changed(file, &|rack| choose_form(rack, ""))?;
        let Some(app) = racked.apps.get(app) else { continue };
        rows.push(ours(&format!("ours: {name} alone"), &tofino::placed(&app.whole, lab.map)?));
    }
    let titles = ["program", "containers", "stages", "crossbar", "hash bits", "SRAM", "TCAM", "ALUs", "fits"];
    Ok(Table::new(&titles, rows).into())
}

fn row(name: &str, amounts: [u32; 7], fits: &str) -> [String; 9] {
    let [containers, stages, crossbar, hash, sram, tcam, alus] = amounts.map(|amount| amount.to_string());
    [name.to_string(), containers, stages, crossbar, hash, sram, tcam, alus, fits.to_string()]
}

fn ours(name: &str, report: &Report) -> [String; 9] {
    let total = |resources: &[Resource]| -> u32 {
        let of = |resource| report.pipes.iter().filter_map(move |pipe| pipe.total.get(resource));
        resources.iter().flat_map(of).sum()
    };
    let amounts = [
        report.pipes.iter().map(|pipe| pipe.ingress_phv.normal()).sum(),
        report.pipes.iter().map(|pipe| pipe.stages_used).max().unwrap_or(0),
        total(&[Resource::ExactCrossbar, Resource::TernaryCrossbar]),
        total(&[Resource::HashBits]),
        total(&[Resource::Sram]),
        total(&[Resource::Tcam]),
        total(&[Resource::Vliw, Resource::MeterAlu]),
    ];
    row(name, amounts, if report.fits { "yes" } else { "no" })
}
