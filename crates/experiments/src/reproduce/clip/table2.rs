//! Table II: what CLIP's three modules take of a Tofino.

use crate::reproduce::{Experiment, Lab, Shown, tofino};
use base_diag::Diagnostic;
use rack_emulator::Table;
use rmt_fit::Resource;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table2",
    about: "Resources of a Tofino 1 for CLIP's three modules, by the model of `p4rack fit`: selection of flows, Bloom filters, forwarding.",
    set: "Programs written for this table. Selection: a count-min sketch of two rows of 65,536 cells of 32 bits. Scalability: four filters of 131,072 bits, two for the flows of each of two times. Forwarding: 1,024 buckets, 1,024 servers, 512 routes by longest prefix, a counter for each port.",
    leaves_out: "the paper's programs, which are not published. Its text has 1,024 cells for the sketch, its SRAM that of 131,072 cells of 32 bits. Hashes do not share bits between filters here, so ours take more.",
    run,
};

/// Resources with the paper's percentages for the three modules, and how many a Tofino 1 has.
const PAPER: [(Resource, [f64; 3], u32); 5] = [
    (Resource::ExactCrossbar, [0.33, 0.59, 1.88], 1536),
    (Resource::Sram, [3.75, 0.83, 2.08], 960),
    (Resource::Tcam, [0.0, 0.0, 0.35], 288),
    (Resource::Vliw, [0.52, 2.08, 1.82], 384),
    (Resource::HashBits, [0.68, 1.37, 4.06], 4992),
];

/// The sketch is for TNA, where one access of a register reads and writes its cell.
const SELECTION: &str = include_str!("selection.p4");

/// Declarations and ingress of the other modules, for v1model.
const MODULES: [(&str, &str, &str); 2] = [
    (
        "scalability",
        "register<bit<1>, bit<32>>(131072) old1; register<bit<1>, bit<32>>(131072) old2; register<bit<1>, bit<32>>(131072) new1; register<bit<1>, bit<32>>(131072) new2;",
        "hash(m.c, HashAlgorithm.crc16, 17w0, { h.h.flow }, 18w131072); hash(m.d, HashAlgorithm.crc32, 17w0, { h.h.flow }, 18w131072);
         old1.read(m.o1, (bit<32>)m.c); old2.read(m.o2, (bit<32>)m.d);
         new1.write((bit<32>)m.c, 1); new2.write((bit<32>)m.d, 1);",
    ),
    (
        "forwarding",
        "counter<bit<32>>(512, CounterType.packets_and_bytes) ports;
         action bucket(bit<16> server) { m.server = server; }
         action to(bit<9> port, bit<48> next) { s.egress_spec = port; h.h.dst = next; }
         action drop() { mark_to_drop(s); }
         table buckets { key = { m.a: exact; } actions = { bucket; NoAction; } size = 1024; default_action = NoAction(); }
         table servers { key = { m.server: exact; } actions = { to; NoAction; } size = 1024; default_action = NoAction(); }
         table routes { key = { h.h.address: lpm; } actions = { to; drop; } size = 512; default_action = drop(); }",
        "hash(m.a, HashAlgorithm.crc16, 16w0, { h.h.flow }, 17w1024); buckets.apply();
         if (m.server != 0) { servers.apply(); } else { routes.apply(); }
         ports.count((bit<32>)s.egress_spec);",
    ),
];

fn program(objects: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header packet_t {{ bit<48> dst; bit<48> src; bit<16> type; bit<32> address; bit<40> flow; }}
struct headers {{ packet_t h; }}
struct metadata {{ bit<16> a; bit<16> b; bit<17> c; bit<17> d; bit<32> x; bit<32> y; bit<1> o1; bit<1> o2; bit<16> server; }}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.h); transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{ {objects} apply {{ s.egress_spec = 1; {ingress} }} }}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// The modules with their programs, in the table's order.
fn programs() -> Vec<(&'static str, String)> {
    let others = MODULES.iter().map(|(name, objects, ingress)| (*name, program(objects, ingress)));
    std::iter::once(("selection", SELECTION.to_string())).chain(others).collect()
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows: Vec<[String; 5]> = vec![];
    for (at, (name, program)) in programs().into_iter().enumerate() {
        // The program around a module takes none of the table's resources but VLIW instructions and a gateway.
        let used = tofino::used(name, &program)?;
        for (resource, paper, all) in &PAPER {
            let units = used.get(resource).copied().unwrap_or(0);
            let percent = 100.0 * f64::from(units) / f64::from(*all);
            let theirs = (paper[at] / 100.0 * f64::from(*all)).round();
            rows.push([
                name.to_string(),
                resource.name().to_string(),
                units.to_string(),
                format!("{percent:.2} %"),
                format!("{theirs} ({} %)", paper[at]),
            ]);
        }
    }
    let titles = ["<module", "<resource", "here", "part of a Tofino 1", "paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::{Resource, programs, tofino};

    /// The memory of the filters is the paper's to the block, that of the sketch two blocks less.
    #[test]
    fn the_memory_is_the_papers() {
        let sram = programs()
            .into_iter()
            .map(|(_, program)| tofino::used("module", &program).unwrap()[&Resource::Sram]);
        assert_eq!(sram.collect::<Vec<_>>(), [34, 8, 14]);
    }
}
