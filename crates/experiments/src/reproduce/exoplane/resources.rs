//! Section 7.5: resources of flow managers on a Tofino, memory and traffic of the control plane.

use super::fig13::measured;
use super::gateway::FLOWS;
use crate::reproduce::{Experiment, Lab, Shown, tofino};
use base_diag::Diagnostic;
use rack_emulator::Table;
use rmt_fit::Resource;

pub const EXPERIMENT: Experiment = Experiment {
    name: "resources",
    about: "Section 7.5: Tofino resources of four flow managers with 10,240 entries each and the register of devices, memory for the map of flows, and traffic of the merge for a shared object.",
    set: "keys are 5-tuples (13 bytes); the program is placed by `p4rack fit`. The paper's object has about 127,000 entries of 12 bytes (12 bytes each way for all entries, changed or not, make its 24.4 Mbit/s).",
    leaves_out: "the paper's programs, and the rest of its switch program. The merge here sends what has changed, so its traffic depends on the traffic: every entry counts in every second here.",
    run,
};

/// Four flow managers and the register that maps logical devices to ports.
fn program() -> String {
    let key = "h.ip.src: exact; h.ip.dst: exact; h.ip.protocol: exact; h.l4.src: exact; h.l4.dst: exact;";
    let tables: String = (0..4)
        .map(|n| {
            format!(
                "    action resident_{n}() {{ m.resident = {}; }}\n    table fm_{n} {{ key = {{ {key} }} actions = {{ resident_{n}; NoAction; }} \
                 default_action = NoAction(); size = 10240; support_timeout = true; }}\n",
                n + 1
            )
        })
        .collect();
    let apply: String =
        (0..4).map(|n| format!("        if (m.app == {n}) {{ fm_{n}.apply(); }}\n")).collect();
    format!(
        "#include <core.p4>
#include <v1model.p4>
header ip_t {{ bit<64> a; bit<8> ttl; bit<8> protocol; bit<16> sum; bit<32> src; bit<32> dst; }}
header l4_t {{ bit<16> src; bit<16> dst; }}
struct headers {{ ip_t ip; l4_t l4; }}
struct metadata {{ bit<3> resident; bit<2> app; }}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.ip); p.extract(h.l4); m.app = (bit<2>)s.ingress_port; transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{
    register<bit<16>>(1024) ports;
{tables}    apply {{
{apply}        if (m.resident == 0) {{
            bit<16> port;
            ports.read(port, (bit<32>)h.l4.dst[9:0]);
            s.egress_spec = port[8:0];
        }}
    }}
}}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// The resources of the paper with its percentages, and what a Tofino 1 has of them.
const PAPER: [(Resource, f64, u32); 5] = [
    (Resource::Sram, 4.4, 960),
    (Resource::MeterAlu, 2.1, 48),
    (Resource::HashBits, 3.5, 4992),
    (Resource::MapRam, 3.8, 576),
    (Resource::ExactCrossbar, 3.6, 1536),
];

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let used = tofino::used("flow-managers.p4", &program())?;
    let mut rows: Vec<[String; 4]> = PAPER
        .iter()
        .map(|(resource, paper, all)| {
            let units = used.get(resource).copied().unwrap_or(0);
            let percent = 100.0 * f64::from(units) / f64::from(*all);
            [
                resource.name().to_string(),
                format!("{units} of {all}"),
                format!("{percent:.1} %"),
                format!("{paper} %"),
            ]
        })
        .collect();
    let keys = FLOWS as f64 * 13.0 / f64::from(1 << 20);
    rows.push([
        "memory for keys of a million flows".into(),
        format!("{keys:.1} MiB"),
        String::new(),
        "12.5 MB".into(),
    ]);
    for cells in [127_000, 1000] {
        let mbits = measured(50, cells).bits_per_s as f64 / 1e6;
        let paper = if cells == 1000 { "" } else { "24.4 Mbit/s" };
        rows.push([
            format!("merge traffic, {cells} entries"),
            format!("{mbits:.2} Mbit/s"),
            String::new(),
            paper.into(),
        ]);
    }
    let titles = ["<resource", "here", "part of a Tofino 1", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's percentages are 42 SRAM blocks, 1 ALU, 22 map RAMs, about 175 hash bits and 55 bytes. Hash bits here include those of the program's conditions.
    #[test]
    fn four_flow_managers_take_what_the_paper_says() {
        let used = tofino::used("flow-managers.p4", &program()).unwrap();
        for (resource, paper, all) in PAPER {
            let percent = 100.0 * f64::from(used.get(&resource).copied().unwrap_or(0)) / f64::from(all);
            assert!((percent - paper).abs() < 0.7, "{}: {percent} instead of {paper}", resource.name());
        }
    }

    /// T5: proportional to the entries that have changed.
    #[test]
    fn merge_traffic_follows_the_changed_entries() {
        let [few, many] = [1000, 10_000].map(|cells| measured(50, cells).bits_per_s);
        assert!(few <= 400_000, "{few} bit/s");
        assert!((8..=11).contains(&(many / few)), "{many} {few}");
    }
}
