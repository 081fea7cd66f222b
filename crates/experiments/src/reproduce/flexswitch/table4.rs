//! Table 4: what a baseline switch takes of a Tofino, and what protocols take.

use super::transfers::choose_form;
use crate::reproduce::{Experiment, Lab, Shown, tofino};
use base_diag::Diagnostic;
use p4_syntax::Options;
use p4rack::rack::compile_program;
use rack_emulator::Table;
use rmt_fit::{Report, Resource};

pub const EXPERIMENT: Experiment = Experiment {
    name: "table4",
    about: "Resources of a Tofino 1 for a baseline switch and for protocols, by the model of `p4rack fit`, beside the paper's.",
    set: "examples/baseline: bridging with learning and spanning tree, routes for IPv4 and IPv6, groups of links and paths, VXLAN, NVGRE, Geneve and GRE, statistics; headers.p4 has the sizes. RCP, XCP \
          and CONGA's leaf are added to tofino.p4 (`-D RCP`), with tables and registers for 512 ports. `adds` is the difference to the baseline. The other protocols are the programs of `examples` in \
          their forms for limited switches, each alone. Crossbar in bytes, exact and ternary; ALUs are instructions and stateful ALUs; containers are those of ingress and egress, without tagalong ones.",
    leaves_out: "The paper's programs, compiler and units are unknown. The model does not check that one stateful ALU can compute a whole register action, nor that a condition may compare two fields; \
                 fields other than validity bits never share a container. No program was compiled by the vendor's compiler.",
    run,
};

/// Rows of the paper: containers, stages, crossbar, hash bits, SRAM, TCAM, ALUs.
const PAPER: [(&str, [u32; 7]); 4] = [
    ("paper: baseline", [187, 9, 462, 1050, 165, 43, 83]),
    ("paper: with RCP", [191, 10, 473, 1115, 175, 44, 88]),
    ("paper: with XCP", [195, 9, 471, 1058, 172, 45, 92]),
    ("paper: with CONGA", [199, 11, 478, 1137, 213, 44, 98]),
];

/// The macros that add protocols to the baseline, in the order of the paper's rows.
const ADDED: [&str; 3] = ["RCP", "XCP", "CONGA"];

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
    let mut placed = |file: &str, form: Option<&str>| {
        let file = lab.racks.join("baseline").join(file).to_string_lossy().into_owned();
        let options =
            Options { defines: form.map(str::to_string).into_iter().collect(), ..Options::default() };
        let program = compile_program(&file, &options, lab.map, &mut vec![])?;
        tofino::placed(&program, lab.map)
    };
    rows.push(ours("ours: baseline for v1model", &placed("baseline.p4", None)?));
    let baseline = placed("tofino.p4", None)?;
    rows.push(ours("ours: baseline", &baseline));
    let without = amounts(&baseline);
    let mut added = vec![];
    for (name, (_, paper)) in ADDED.into_iter().zip(&PAPER[1..]) {
        let with = placed("tofino.p4", Some(name))?;
        rows.push(ours(&format!("ours: with {name}"), &with));
        let adds = |with: [u32; 7], without: [u32; 7]| -> [String; 7] {
            std::array::from_fn(|at| (i64::from(with[at]) - i64::from(without[at])).to_string())
        };
        added.push(cells(&format!("paper: {name} adds"), adds(*paper, PAPER[0].1), ""));
        added.push(cells(&format!("ours: {name} adds"), adds(amounts(&with), without), ""));
    }
    rows.append(&mut added);
    for (name, file, app) in PROTOCOLS {
        let racked = lab.changed(file, &|rack| choose_form(rack, ""))?;
        let Some(app) = racked.apps.get(app) else { continue };
        rows.push(ours(&format!("ours: {name} alone"), &tofino::placed(&app.whole, lab.map)?));
    }
    let titles = ["program", "containers", "stages", "crossbar", "hash bits", "SRAM", "TCAM", "ALUs", "fits"];
    Ok(Table::new(&titles, rows).into())
}

fn row(name: &str, amounts: [u32; 7], fits: &str) -> [String; 9] {
    cells(name, amounts.map(|amount| amount.to_string()), fits)
}

fn cells(name: &str, amounts: [String; 7], fits: &str) -> [String; 9] {
    let [containers, stages, crossbar, hash, sram, tcam, alus] = amounts;
    [name.to_string(), containers, stages, crossbar, hash, sram, tcam, alus, fits.to_string()]
}

fn ours(name: &str, report: &Report) -> [String; 9] {
    row(name, amounts(report), if report.fits { "yes" } else { "no" })
}

fn amounts(report: &Report) -> [u32; 7] {
    let total = |resources: &[Resource]| -> u32 {
        let of = |resource| report.pipes.iter().filter_map(move |pipe| pipe.total.get(resource));
        resources.iter().flat_map(of).sum()
    };
    [
        report.pipes.iter().map(|pipe| pipe.ingress_phv.normal() + pipe.egress_phv.normal()).sum(),
        report.pipes.iter().map(|pipe| pipe.stages_used).max().unwrap_or(0),
        total(&[Resource::ExactCrossbar, Resource::TernaryCrossbar]),
        total(&[Resource::HashBits]),
        total(&[Resource::Sram]),
        total(&[Resource::Tcam]),
        total(&[Resource::Vliw, Resource::MeterAlu]),
    ]
}
