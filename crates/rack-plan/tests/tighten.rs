//! Plans of flows fit the chip: as many flows as its model takes, and no more.

use app_allocation::{Affinity, App, Class, Distribution, Object, Place, Problem, Quantum, Row};
use base_diag::SourceMap;
use ir::Program;
use p4_arch::Texts;
use rack_model::{DeviceId, Rack, read_rack};
use rack_plan::{ChipFit, FlowPlan, FlowProblem, fitting};

/// Blocks of the problem's memory, and entries of a block.
const BLOCKS: u64 = 960;
const BLOCK: u64 = 1024;

fn rack() -> Rack {
    let text = r#"
[rack]
name = "tighten"
[device.edge]
class = "tofino1"
[device.nic]
class = "smartnic"
[host.h1]
mac = "02:00:00:00:01:01"
ip = "10.0.1.1/24"
[[link]]
ends = ["h1", "edge:1"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["nic:1", "edge:3"]
rate = "1Gbit/s"
delay = "500ns"
mtu = 2000
[[app]]
program = "p.p4"
origin = "edge"
devices = ["nic"]
affinity = "medium"
flows = 1024
"#;
    let (rack, found) = read_rack(text, 0);
    rack.unwrap_or_else(|| panic!("{found:#?}"))
}

/// An app with a million flows, each of which is an entry of 1,024 in a block.
fn problem(has_chip: bool) -> FlowProblem {
    let object =
        Object { name: "flows".into(), row: 0, per_flow: (1, 1), most: None, block: BLOCK, units: 1 };
    let at_switch = Place { latency: 1000, fixed: vec![0], objects: vec![object], stays: false };
    let at_helper = Place { latency: 9000, ..Place::default() };
    let app = App {
        name: "app".into(),
        weight: 1_000_000,
        packet_bits: 8000,
        own_bits: 8000,
        affinity: Affinity::Medium,
        flows: Distribution::zipf(1_000_000, 1000).expect("a distribution"),
        quantum: Quantum::Auto,
        replicas: 0,
        at_switch: Ok(at_switch),
        at_classes: vec![Ok(at_helper)],
    };
    let class = Class {
        name: "nic".into(),
        count: 1,
        spare: 0,
        memory: vec![],
        bits: None,
        packets: None,
        imbalance: 0,
    };
    let problem = Problem {
        apps: vec![app],
        switch: vec![Row { name: "SRAM blocks".into(), capacity: BLOCKS }],
        classes: vec![class],
        traffic: None,
    };
    FlowProblem {
        problem,
        apps: vec![0],
        origin: DeviceId(0),
        tofino: rmt_fit::Device::built_in("tofino1").filter(|_| has_chip),
        helpers: vec![vec![DeviceId(1)]],
        handover_bytes: vec![[0, 0]],
    }
}

/// A program whose table for the flows is in TCAM, which the problem knows nothing of; `chain` tables before it depend on one another.
fn program(flows: u64, chain: usize) -> Program {
    let step = |n: usize| {
        format!(
            "action set{n}(bit<32> to) {{ meta.x{} = to; }} table step{n} {{ key = {{ meta.x{n}: exact; }} actions = {{ set{n}; NoAction; }} size = 16; default_action = NoAction(); }}\n",
            n + 1
        )
    };
    let steps: String = (0..chain).map(step).collect();
    let applied: String = (0..chain).map(|n| format!("step{n}.apply(); ")).collect();
    let fields: String = (0..=chain).map(|n| format!("bit<32> x{n}; ")).collect();
    let text = format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<32> a; bit<32> b; }}
struct headers_t {{ h_t h; }}
struct meta_t {{ {fields}}}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    state start {{ packet.extract(hdr.h); meta.x0 = hdr.h.b; transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    {steps}
    action to(bit<9> port) {{ std.egress_spec = port; }}
    table flows {{ key = {{ hdr.h.a: ternary; }} actions = {{ to; NoAction; }} size = {flows}; default_action = NoAction(); }}
    apply {{ {applied}flows.apply(); }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control C(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    );
    let texts = [("p.p4", text.as_str())];
    ir_elaborate::program("p.p4", &Texts(&texts), &p4_syntax::Options::default(), &mut SourceMap::new())
        .unwrap_or_else(|found| panic!("{found:#?}"))
}

fn fits(program: &Program) -> bool {
    let tofino = rmt_fit::Device::built_in("tofino1").expect("a chip");
    rmt_fit::fit(program, &tofino).expect("a placement").fits()
}

#[test]
fn as_many_flows_as_fit() {
    let mut asked = 0;
    let plan = fitting(&rack(), problem(true), &mut |plan: &FlowPlan| {
        asked += 1;
        Ok(Some(program(plan.flows(0).unwrap_or(0), 0)))
    });
    let plan = plan.unwrap_or_else(|found| panic!("{found:#?}"));
    let flows = plan.flows(0).expect("the app's");
    assert!(fits(&program(flows, 0)), "{flows}");
    assert!(!fits(&program(flows + BLOCK, 0)), "{flows}");
    // 288 TCAM blocks of 512 entries, some of which other rules of the chip leave empty.
    assert!((50_000..=147_456).contains(&flows), "{flows}");
    assert!((3..=12).contains(&asked), "{asked}");
    let ChipFit::Tightened { of, fails, why } = plan.fit.clone() else { panic!("{:?}", plan.fit) };
    assert_eq!((of, fails), (BLOCKS, flows.div_ceil(BLOCK) + 1));
    let text = plan.text(&rack());
    let line = format!(
        "fewer than the 960 SRAM blocks of edge are planned, so that its part fits; with {fails}: {why}"
    );
    assert!(text.contains(&line), "{text}");
}

/// A plan that fits, or whose part is not known, or whose memory is no chip's, stays as it is.
#[test]
fn plans_that_fit_stay() {
    let fits = (true, Some(program(100, 0)), ChipFit::Fits);
    let unknown = (true, None, ChipFit::Unknown);
    let no_chip = (false, Some(program(1 << 20, 0)), ChipFit::Unknown);
    for (has_chip, part, fit) in [fits, unknown, no_chip] {
        let plan = fitting(&rack(), problem(has_chip), &mut |_: &FlowPlan| Ok(part.clone()));
        let plan = plan.unwrap_or_else(|found| panic!("{found:#?}"));
        assert_eq!((plan.flows(0), plan.fit), (Some(BLOCKS * BLOCK), fit));
    }
}

/// Less memory does not help where the stages are too few: the plan stays, and says so.
#[test]
fn a_part_that_no_number_of_flows_makes_fit() {
    let plan = fitting(&rack(), problem(true), &mut |plan: &FlowPlan| {
        Ok(Some(program(plan.flows(0).unwrap_or(0), 14)))
    });
    let plan = plan.unwrap_or_else(|found| panic!("{found:#?}"));
    assert_eq!(plan.flows(0), Some(BLOCKS * BLOCK));
    let ChipFit::Never(why) = plan.fit.clone() else { panic!("{:?}", plan.fit) };
    let line = format!("the part of edge does not fit it with any number of flows: {why}");
    assert!(plan.text(&rack()).contains(&line), "{}", plan.text(&rack()));
}
