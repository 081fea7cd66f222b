//! Table 2: costs of cuts of Crosspod in headers, tables, state and branches.

use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use compiler::make_parts;
use ir_footprint::overhead::of_part;
use ir_split::{DeviceIndex, Placement};
use p4_syntax::Options;
use p4rack::rack::compile_program;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table2",
    about: "Cost of the runtime for Crosspod on a switch with two and with five helpers.",
    set: "examples/crosspod/crosspod.p4 with all functions away from the switch; helpers are linked only with the switch. Counted as by `p4rack split --overhead`.",
    leaves_out: "the runtimes without a header, which refuse frame externs. The paper's `Full` has fixed tables and registers for sequence numbers, feedback and spares, which ours has not; ours counts a branch for each place at \
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

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let main = lab.racks.join("crosspod.p4").display().to_string();
    let program = compile_program(&main, &Options::default(), lab.map, &mut vec![])?;
    let mut rows = vec![];
    for (helpers, paper) in CUTS {
        let placement = star(helpers);
        let (_, parts, _) = make_parts(&program, &placement, lab.map)?;
        for ((name, part), paper) in placement.devices.iter().zip(&parts).zip(paper) {
            let Some(part) = part else { continue };
            let costs = of_part(name, part);
            let externs = part.program.frame_externs().len().to_string();
            let [entries, registers, branches, called] = paper;
            rows.push([
                (helpers.len() + 1).to_string(),
                name.to_string(),
                format!("{} / 288", costs.header_bits),
                format!("{} / 6", costs.tables),
                format!("{} / {entries}", costs.entry_bits),
                format!("{} / {registers}", costs.register_bits),
                format!("{} / {branches}", costs.branches),
                format!("{externs} / {called}"),
            ]);
        }
    }
    let titles = [
        "segments",
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
