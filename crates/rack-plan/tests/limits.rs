//! Plans keep code from devices whose class cannot run it.

use base_diag::SourceMap;
use ir::Program;
use ir_split::auto;
use p4_arch::Texts;
use rack_model::{Rack, Regions, read_rack};
use rack_plan::{RackProblem, RuleText, by_hand, check_limits};
use std::sync::Arc;

/// A switch of this class with a card of that, and an app whose region `Scale` may be moved.
fn rack(switch: &str, card: &str, map: &str) -> Rack {
    let text = format!(
        r#"
[rack]
name = "limits"
[plan]
objectives = ["Latency"]
[device.tor]
class = "{switch}"
[device.nic]
class = "{card}"
[host.h1]
mac = "02:00:00:00:01:01"
ip = "10.0.1.1/24"
[[link]]
ends = ["h1", "tor:1"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["nic:1", "tor:3"]
rate = "1Gbit/s"
delay = "500ns"
mtu = 2000
[[app]]
program = "p.p4"
origin = "tor"
devices = ["nic"]
map = {map}
"#
    );
    let (rack, found) = read_rack(&text, 0);
    rack.unwrap_or_else(|| panic!("{found:#?}"))
}

/// `region` in the region `Scale`, after `before`, which stays at the origin.
fn program(before: &str, region: &str) -> Arc<Program> {
    let text = format!(
        "#include <v1model.p4>
header h_t {{ bit<32> a; bit<32> b; }}
struct headers_t {{ h_t h; }}
struct meta_t {{ }}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    state start {{ packet.extract(hdr.h); transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    apply {{
        std.egress_spec = 1;
        {before}
        @region(\"Scale\") {{ {region} }}
    }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    );
    let mut map = SourceMap::new();
    let options = p4_syntax::Options::default();
    let program = ir_elaborate::program("p.p4", &Texts(&[("p.p4", &text)]), &options, &mut map);
    Arc::new(program.unwrap_or_else(|found| panic!("{found:#?}")))
}

const PRODUCT: &str = "hdr.h.a = hdr.h.a * hdr.h.b;";
const SUM: &str = "hdr.h.a = hdr.h.a + hdr.h.b;";

/// Titles of the reasons why there is no plan, or the devices of `Scale`.
fn planned(rack: &Rack, program: &Arc<Program>) -> Result<Vec<String>, Vec<String>> {
    let titles = |found: Vec<base_diag::Diagnostic>| found.into_iter().map(|d| d.title).collect::<Vec<_>>();
    let mut problem = RackProblem::new(rack, 0, program.clone(), &[], &[]).map_err(titles)?;
    let (placement, _, _) = problem.best().map_err(titles)?;
    let devices = placement.sites.values().flat_map(|site| &site.devices);
    Ok(devices.map(|device| placement.devices[device.0 as usize].to_string()).collect())
}

#[test]
fn a_product_goes_where_it_can_be_computed() {
    let none: Vec<String> = vec![];
    assert_eq!(planned(&rack("switch", "smartnic", "\"plan\""), &program("", PRODUCT)), Ok(none.clone()));
    assert_eq!(planned(&rack("tofino1", "smartnic", "\"plan\""), &program("", SUM)), Ok(none));
    let away = planned(&rack("tofino1", "smartnic", "\"plan\""), &program("", PRODUCT));
    assert_eq!(away, Ok(vec!["nic".to_string()]));
}

#[test]
fn where_no_device_can_there_is_no_plan() {
    let why = planned(&rack("tofino1", "flexswitch", "\"plan\""), &program("", PRODUCT)).unwrap_err();
    assert_eq!(
        why,
        [
            "no plan meets all constraints",
            "`tofino1` cannot execute a multiplication",
            "`flexswitch` cannot execute a multiplication"
        ]
    );
    // The rest of the program has to run at the origin.
    let why = planned(&rack("tofino1", "smartnic", "\"plan\""), &program(PRODUCT, SUM)).unwrap_err();
    assert_eq!(why, ["`tofino1` cannot execute a multiplication"]);
}

#[test]
fn placements_by_hand_are_refused_alike() {
    let check = |switch: &str, map: &str, program: &Arc<Program>| {
        let rack = rack(switch, "smartnic", map);
        let Regions::ByHand(regions) = &rack.apps[0].map else { panic!("no map") };
        let placement = by_hand(&rack, 0, regions, program).expect("a placement");
        let split = ir_split::split(program, &placement).expect("a split");
        check_limits(&rack, &placement, &split)
    };
    assert_eq!(check("tofino1", "{ Scale = \"nic\" }", &program("", PRODUCT)), Ok(()));
    assert_eq!(check("switch", "{ }", &program("", PRODUCT)), Ok(()));
    let found = check("tofino1", "{ }", &program("", PRODUCT)).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].notes, ["device `tor` is to run it"]);
}

/// A file of the examples.
macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../examples/", $path))
    };
}

/// Flightplan's testbed: switches that do not multiply.
#[test]
fn crosspod_keeps_to_the_limits_of_its_switches() {
    let (rack, found) = read_rack(example!("crosspod/RACK.toml"), 0);
    let rack = rack.unwrap_or_else(|| panic!("{found:#?}"));
    let texts = [
        ("crosspod.p4", example!("crosspod/crosspod.p4")),
        ("functions.p4", example!("crosspod/functions.p4")),
    ];
    let rules = [
        ("testbed.rules", example!("crosspod/testbed.rules")),
        ("testbed.csv", example!("crosspod/testbed.csv")),
    ];
    let rules = rules.map(|(name, text)| RuleText {
        text: text.to_string(),
        base: 0,
        is_table: name.ends_with(".csv"),
    });
    for (at, app) in rack.apps.iter().enumerate() {
        let defines =
            app.defines.iter().map(|(name, value)| format!("{}={}", name.value, value.value)).collect();
        let options = p4_syntax::Options { defines, ..p4_syntax::Options::default() };
        let mut map = SourceMap::new();
        let program = ir_elaborate::program("crosspod.p4", &Texts(&texts), &options, &mut map);
        let program = Arc::new(program.unwrap_or_else(|found| panic!("{found:#?}")));
        let mut problem = RackProblem::new(&rack, at, program, &rules, &[]).expect("a problem");
        let (placement, ..) = problem.best().expect("a plan");
        assert!(!placement.sites.is_empty(), "{placement:#?}");
    }
}

/// A router on two such switches, as the map says.
#[test]
fn a_router_keeps_to_the_limits_of_its_switches() {
    let (rack, found) = read_rack(example!("crosspod/hand-over.toml"), 0);
    let rack = rack.unwrap_or_else(|| panic!("{found:#?}"));
    let texts = [("router.p4", example!("fat-tree/router.p4"))];
    let options = p4_syntax::Options::default();
    let program = ir_elaborate::program("router.p4", &Texts(&texts), &options, &mut SourceMap::new());
    let mut program = program.unwrap_or_else(|found| panic!("{found:#?}"));
    let cuts = auto::cuts(&program, auto::Policy::Tables);
    auto::mark(&mut program, &cuts);
    let Regions::ByHand(regions) = &rack.apps[0].map else { panic!("no map") };
    let placement = by_hand(&rack, 0, regions, &program).expect("a placement");
    let split = ir_split::split(&program, &placement).expect("a split");
    assert_eq!(check_limits(&rack, &placement, &split), Ok(()));
}
