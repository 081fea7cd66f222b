//! Table 6: protocols that limited switches run, each by a program of ours.

use super::transfers::choose_form;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use device_classes::DeviceClass;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table6",
    about: "Protocols of the paper's Table 6: our program, whether a limited switch runs it, and its tables and register arrays.",
    set: "the programs of `examples`, in their forms for limited switches; of racks with several programs, the first. The check is that of `p4rack check --device flexswitch`.",
    leaves_out: "`docs/protocols.md` has what each program is tested with.",
    run,
};

/// Protocol, the paper's building blocks, the file of our rack, and a macro that chooses the form.
const ROWS: [(&str, &str, &str, &str); 18] = [
    ("RCP", "arithmetic, cardinality, metering", "rcp/RACK.toml", ""),
    ("XCP", "arithmetic, metering", "xcp/RACK.toml", ""),
    ("QCN", "arithmetic, metering", "qcn/RACK.toml", ""),
    ("HULL", "arithmetic, metering", "hull/RACK.toml", ""),
    ("D3", "flow statistics, metering", "d3/RACK.toml", ""),
    ("PIAS", "flow statistics, balancing", "pias/RACK.toml", ""),
    ("CONGA", "arithmetic, flow timestamps, metering", "conga/RACK.toml", ""),
    ("WCMP", "balancing", "conga/RACK.toml", "WCMP"),
    ("Ananta", "flow counters, metering, balancing", "ananta/RACK.toml", ""),
    ("Hedera", "flow counters, balancing", "hedera/RACK.toml", ""),
    ("Presto", "flow statistics, balancing", "conga/RACK.toml", "PRESTO"),
    ("Seawall", "arithmetic, cardinality, metering", "seawall/RACK.toml", ""),
    ("FairCloud", "arithmetic, flow counters", "faircloud/RACK.toml", ""),
    ("CoDel", "arithmetic, metering", "codel/RACK.toml", ""),
    ("pFabric", "arithmetic, flow counters", "pfabric/RACK.toml", ""),
    ("Snort IDS", "flow counters, cardinality", "rules/RACK.toml", ""),
    ("Snort IDS: scans", "flow counters, cardinality", "detect/RACK.toml", ""),
    ("OpenSketch", "flow counters, metering", "opensketch/RACK.toml", ""),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows: Vec<[String; 6]> = vec![];
    for (protocol, blocks, file, form) in ROWS {
        let [program, limited, tables, arrays] = described(lab, file, form)?;
        rows.push([protocol.to_string(), program, limited, tables, arrays, blocks.to_string()]);
    }
    let titles = ["protocol", "program", "limited switch", "tables", "register arrays", "paper's blocks"];
    Ok(Table::new(&titles, rows).into())
}

/// Program, whether a limited switch runs it, tables, and register arrays.
fn described(lab: &mut Lab<'_>, file: &str, form: &'static str) -> Result<[String; 4], Vec<Diagnostic>> {
    let racked = lab.changed(file, &|rack| choose_form(rack, form))?;
    let program = &racked.apps[0].whole;
    let found = ir_limits::check(program, DeviceClass::FlexSwitch);
    let limited = found.first().map_or("yes".to_string(), |first| format!("no ({})", first.code));
    let tables: usize = program.controls.iter().map(|control| control.tables.len()).sum();
    let arrays = program.instances.iter().filter(|instance| {
        let object = program.extern_object(instance.object);
        !object.user && object.name == "register"
    });
    let name = file.split('/').next().unwrap_or(file);
    let name = if form.is_empty() { format!("examples/{name}") } else { format!("examples/{name}, {form}") };
    Ok([name, limited, tables.to_string(), arrays.count().to_string()])
}
