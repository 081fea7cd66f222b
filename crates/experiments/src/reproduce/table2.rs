//! Table 2: costs of cuts of Crosspod in headers, tables, state and branches.

use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use compiler::make_parts;
use ir_footprint::overhead::of_part;
use ir_split::{DeviceIndex, Part, Placement};
use p4_syntax::Options;
use p4rack::SplitApp;
use p4rack::rack::compile_program;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table2",
    about: "Cost of the runtimes for Crosspod on a switch with two and with five helpers.",
    set: "examples/crosspod/crosspod.p4 with all functions away from the switch; helpers are linked only with the switch. Without a header, core-0 and core-1 of examples/fat-tree/figure-7. Counted as by `p4rack split --overhead`.",
    leaves_out: "The paper's `Full` has fixed tables and registers for sequence numbers, feedback and spares, which ours has not; ours counts a branch for each place at \
                 which a packet may resume.",
    run,
};

/// Helpers with their regions, and of the switch and each helper the paper's bits of entries and registers, control structures and externs.
type Cut = (&'static [&'static [&'static str]], &'static [[&'static str; 4]]);

const CUTS: [Cut; 2] = [
    (
        &[&["FecDecode", "Decompress", "Cache"], &["Compress", "FecEncode"]],
        &[["179", "547", "6", "0"], ["89", "309", "+2", "3"], ["89", "309", "+2", "2"]],
    ),
    (
        &[&["FecDecode"], &["Decompress"], &["Cache"], &["Compress"], &["FecEncode"]],
        &[
            ["445", "1261", "6", "0"],
            ["89", "309", "+2", "1"],
            ["89", "309", "+2", "1"],
            ["89", "309", "+2", "1"],
            ["89", "309", "+2", "1"],
            ["89", "309", "+2", "1"],
        ],
    ),
];

/// Functions that the paper's switch and helpers call, of c0 and of c1.
const HEADERLESS: [&[&str]; 2] = [&["0", "3", "2"], &["0", "1", "1", "1", "1", "1"]];

/// A device: our number and the paper's of bits of headers, tables, bits of entries and of registers, branches, functions.
fn row(runtime: String, name: &str, part: &Part, paper: [&str; 6]) -> [String; 8] {
    let costs = of_part(name, part);
    let ours = [
        costs.header_bits,
        costs.tables as u64,
        costs.entry_bits,
        costs.register_bits,
        costs.branches as u64,
        part.program.frame_externs().len() as u64,
    ];
    let mut cells = ours.into_iter().zip(paper).map(|(ours, paper)| format!("{ours} / {paper}"));
    let first = [runtime, name.to_string()];
    std::array::from_fn(|at| match first.get(at) {
        Some(text) => text.clone(),
        None => cells.next().unwrap_or_default(),
    })
}

/// Devices that run a part.
fn called_by(app: &SplitApp) -> usize {
    app.parts.iter().flatten().count()
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let main = lab.racks.join("crosspod.p4").display().to_string();
    let program = compile_program(&main, &Options::default(), lab.map, &mut vec![])?;
    let mut rows = vec![];
    for (helpers, paper) in CUTS {
        let placement = star(helpers);
        let (_, parts, _) = make_parts(&program, &placement, lab.map)?;
        for ((name, part), paper) in placement.devices.iter().zip(&parts).zip(paper) {
            let Some(part) = part else { continue };
            let [entries, registers, branches, called] = *paper;
            let runtime = format!("{}, full", helpers.len() + 1);
            rows.push(row(runtime, name, part, ["288", "6", entries, registers, branches, called]));
        }
    }
    let racked = lab.rack(super::fig7::FILE)?;
    for (app, called) in racked.apps.iter().zip(HEADERLESS) {
        let parts = app.placement.devices.iter().zip(&app.parts);
        let parts = parts.filter_map(|(name, part)| Some((name, part.as_ref()?)));
        for ((name, part), functions) in parts.zip(called.iter().copied()) {
            let [tables, entries, branches] =
                if functions == "0" { ["5", "154", "2"] } else { ["1", "22", "+1"] };
            let runtime = format!("{}, headerless", called_by(app));
            rows.push(row(runtime, name, part, ["0", tables, entries, "4", branches, functions]));
        }
    }
    let titles = [
        "<devices, runtime",
        "<device",
        "header bits / paper",
        "tables / paper",
        "entry bits / paper",
        "register bits / paper",
        "branches / paper",
        "functions / paper",
    ];
    Ok(Table::new(&titles, rows).into())
}

/// A switch with a helper for each list of regions.
fn star(helpers: &[&[&str]]) -> Placement {
    let numbered = || (1..).map(DeviceIndex).zip(helpers);
    let regions = numbered().flat_map(|(at, regions)| regions.iter().map(move |r| ((*r).into(), at.into())));
    let origin = DeviceIndex(0);
    let ports = numbered().flat_map(|(at, _)| [((origin, at), 10 + u64::from(at.0)), ((at, origin), 1)]);
    let names = numbered().map(|(at, _)| format!("helper{}", at.0).into());
    Placement {
        devices: std::iter::once("switch".into()).chain(names).collect(),
        sites: regions.collect(),
        ports: ports.collect(),
        ..Placement::whole("switch")
    }
}
