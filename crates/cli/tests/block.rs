//! `p4rack block`, programs that include blocks, and `p4rack check --device`.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn p4rack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_p4rack")).args(args).output().expect("the binary runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn json(args: &[&str]) -> Value {
    let output = p4rack(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {}", said(&output)))
}

/// A program with this include and this statement in ingress.
fn program(name: &str, include: &str, statement: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text = format!(
        "#include <v1model.p4>
{include}
header values_h {{ bit<32> a; bit<32> b; bit<32> result; }}
struct headers_t {{ values_h values; }}
struct metadata_t {{}}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ p.extract(hdr.values); transition accept; }}
}}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{}} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    {statement}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{}} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.values); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    );
    std::fs::write(&path, text).expect("it is written");
    path
}

const PRODUCT: &str = "Price() price; apply { price.apply(hdr.values.a, hdr.values.b, hdr.values.result); }";

#[test]
fn sizes_follow_from_a_wanted_error() {
    assert_eq!(json(&["block", "list"])["blocks"].as_array().map(Vec::len), Some(18));
    let bitmap = json(&["block", "generate", "bitmap", "--error", "5%", "--flows", "50000"]);
    assert_eq!(bitmap["parameters"]["cells"], 8192);
    assert_eq!(bitmap["include"], "p4rack/blocks/bitmap/cells=8192.p4");
    assert!(bitmap["error"]["expected"].as_f64().is_some_and(|error| error > 0.0 && error <= 0.05));
    assert_eq!(bitmap["cost"]["state_bits"], 8224);
    assert!(bitmap["cost"]["tofino"]["sram"].as_u64().is_some_and(|blocks| blocks > 0), "{bitmap}");
    let refused = json(&["block", "explain", "ewma"]);
    assert!(
        refused["cost"]["tofino"]["refused"].as_str().is_some_and(|why| why.starts_with("no form for TNA"))
    );
    let refused = p4rack(&["block", "generate", "multiply", "--error", "0.001%", "--set", "mantissa=4"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said(&refused).contains("reaches 0.001 % with 10000 flows: the nearest is "),
        "{}",
        said(&refused)
    );
    let refused = p4rack(&["block", "generate", "bitmap", "--error", "0.00012%"]);
    assert!(
        said(&refused).contains("reaches 0.00012 % with 10000 flows: the nearest is 0.055 %"),
        "{}",
        said(&refused)
    );
    let refused = p4rack(&["block", "generate", "bitmap", "--error", "1%", "--flows", "100000000"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said(&refused).contains(
            "`bitmap` is too small for 100000000 flows with every size, the largest `#include <p4rack/blocks/bitmap/cells=1048576.p4>`; `p4rack block choose number-of-keys` tries other blocks"
        ),
        "{}",
        said(&refused)
    );
    let none = p4rack(&["block", "generate", "bitmap", "--error", "1%", "--flows", "0"]);
    assert_eq!(none.status.code(), Some(2));
    let refused = p4rack(&["block", "generate", "ewma", "--error", "1%"]);
    assert!(said(&refused).contains("no size of `ewma` changes its error"), "{}", said(&refused));
    let wrong = p4rack(&["block", "explain", "count-min", "--set", "columns=1000"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("the nearest is 512 or 1024"), "{}", said(&wrong));
}

#[test]
fn a_block_is_chosen_by_error_and_device() {
    let keys = ["block", "choose", "number-of-keys", "--error", "5%", "--flows", "50000"];
    let chosen = json(&[&keys[..], &["--device", "tofino1"]].concat());
    assert_eq!(chosen["blocks"][0]["include"], "p4rack/blocks/bitmap/cells=8192,as=NumberOfKeys,for=tna.p4");
    assert!(chosen["blocks"][0]["tofino"]["stages"].as_u64().is_some_and(|stages| stages > 0));
    assert!(chosen["blocks"][1]["refused"].as_str().is_some_and(|why| why.starts_with("no form for TNA")));
    let anywhere = said(&p4rack(&keys));
    assert!(anywhere.contains("hyperloglog"), "{anywhere}");
    assert!(
        anywhere.ends_with("#include <p4rack/blocks/bitmap/cells=8192,as=NumberOfKeys.p4>\n"),
        "{anywhere}"
    );
    let out_of_reach =
        p4rack(&["block", "choose", "product", "--error", "0.001%", "--set", "mantissa=2,bits=16"]);
    assert_eq!(out_of_reach.status.code(), Some(1));
    assert!(
        said(&out_of_reach).contains("no block for product of two values reaches 0.001 %"),
        "{}",
        said(&out_of_reach)
    );
    let unknown = p4rack(&["block", "choose", "produkt", "--error", "1%"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("did you mean `product`?"), "{}", said(&unknown));
    let unknown = p4rack(&["block", "choose", "product", "--error", "1%", "--set", "mantisa=2"]);
    assert!(said(&unknown).contains("did you mean `mantissa`?"), "{}", said(&unknown));
}

#[test]
fn a_block_for_another_architecture_is_refused_where_it_has_no_form() {
    let include = "#include <p4rack/blocks/ewma/for=tna.p4>";
    let refused = program("refused.p4", include, "apply {}");
    let checked = said(&p4rack(&["check", &refused.to_string_lossy()]));
    assert!(
        checked.contains("ewma: there is no form for TNA: a stateful ALU cannot shift its cell"),
        "{checked}"
    );
    let wrong = p4rack(&["block", "explain", "bitmap", "--set", "for=psa"]);
    assert!(said(&wrong).contains("`for=psa` is no architecture: `v1model` or `tna`"), "{}", said(&wrong));
}

#[test]
fn a_program_includes_a_block_with_its_sizes() {
    let include = "#include <p4rack/blocks/multiply-normalised/mantissa=5,as=Price.p4>";
    let good = program("price.p4", include, PRODUCT);
    let checked = p4rack(&["check", &good.to_string_lossy(), "--device", "flexswitch"]);
    assert!(checked.status.success(), "{}", said(&checked));
    // 20 times 30 on a device; 3 % at most.
    let ran = p4rack(&[
        "run",
        &good.to_string_lossy(),
        "--packet",
        "1:000000140000001e00000000",
        "--format",
        "json",
    ]);
    assert!(ran.status.success(), "{}", said(&ran));
    let wrong = program("wrong.p4", &include.replace("mantissa=5", "mantissa=50"), PRODUCT);
    let checked = p4rack(&["check", &wrong.to_string_lossy()]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        said(&checked).contains("mantissa is 50, and can be 2 to 12: the nearest is 12"),
        "{}",
        said(&checked)
    );
    let unknown = program("unknown.p4", "#include <p4rack/blocks/multipli.p4>", "apply {}");
    let checked = said(&p4rack(&["check", &unknown.to_string_lossy()]));
    assert!(checked.contains("did you mean `p4rack/blocks/multiply.p4`?"), "{checked}");
}

#[test]
fn a_written_block_is_found_by_its_name_before_the_one_that_is_built_in() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("blocks");
    let out = out.to_string_lossy();
    let written = json(&["block", "generate", "multiply", "--set", "as=Price", "--exact", "-o", &out]);
    let file = written["file"].as_str().expect("a file");
    assert!(std::fs::read_to_string(file).is_ok_and(|text| text.contains("multiply, exact twin")), "{file}");
    let exact = program("exact.p4", "#include <p4rack/blocks/multiply/as=Price.p4>", PRODUCT);
    let exact = exact.to_string_lossy();
    let fits = |args: &[&str]| p4rack(&[&["check", &exact, "--device", "flexswitch"], args].concat());
    assert!(fits(&[]).status.success());
    let refused = said(&fits(&["-I", &out]));
    assert!(refused.contains("error[P4R1001]: `flexswitch` cannot execute a multiplication"), "{refused}");
}

#[test]
fn a_class_of_devices_is_known_by_its_word() {
    let product = program("product.p4", "", "apply { hdr.values.result = hdr.values.a * hdr.values.b; }");
    let product = product.to_string_lossy();
    assert!(p4rack(&["check", &product, "--device", "cpu"]).status.success());
    assert_eq!(p4rack(&["check", &product, "--device", "tofino2"]).status.code(), Some(1));
    let wrong = p4rack(&["check", &product, "--device", "flexswich"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("did you mean `flexswitch`?"), "{}", said(&wrong));
}

/// A program for TNA with the sum of the amounts for a key.
const SUMS: &str = "#include <tna.p4>
#include <p4rack/blocks/sum-of-key/error=0.5%,flows=10000,for=tna.p4>
header inputs_h { bit<32> item; bit<32> amount; }
header outputs_h { bit<32> estimate; }
struct headers_t { inputs_h inputs; outputs_h outputs; }
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.inputs);
        transition accept;
    }
}
control I(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
        inout ingress_intrinsic_metadata_for_tm_t to_manager) {
    SumOfKey() sums;
    apply {
        hdr.outputs.setValid();
        sums.apply(hdr.inputs.item, hdr.inputs.amount, hdr.outputs.estimate);
        to_manager.ucast_egress_port = 1;
        to_manager.bypass_egress = 1;
    }
}
control D(packet_out packet, inout headers_t hdr, in metadata_t meta,
        in ingress_intrinsic_metadata_for_deparser_t to_deparser) { apply { packet.emit(hdr.outputs); } }
struct no_headers_t {}
parser EP(packet_in packet, out no_headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg) {
    state start { packet.extract(eg); transition accept; }
}
control E(inout no_headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t to_deparser,
        inout egress_intrinsic_metadata_for_output_port_t to_port) { apply {} }
control ED(packet_out packet, inout no_headers_t hdr, in metadata_t meta,
        in egress_intrinsic_metadata_for_deparser_t to_deparser) { apply {} }
Pipeline(P(), I(), D(), EP(), E(), ED()) pipe;
Switch(pipe) main;
";

#[test]
fn fit_takes_the_first_block_that_fits() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("it is written");
        path.to_string_lossy().into_owned()
    };
    let program = file("sums.p4", SUMS);
    let whole = json(&["fit", &program]);
    assert_eq!(whole["blocks"]["refused"].as_array().map(Vec::len), Some(0), "{whole}");
    assert_eq!(
        whole["blocks"]["chosen"][0]["block"],
        "p4rack/blocks/count-min/columns=16384,rows=4,as=SumOfKey,for=tna.p4"
    );
    // A row of plain count-min takes five blocks with the spare; conservative updates need half as many cells.
    let device = file("small.toml", "extends = \"tofino1\"\nname = \"small\"\n[memory]\nobject_rams = 4\n");
    let small = json(&["fit", &program, "--device", &device]);
    assert_eq!(
        (&small["ok"], &small["blocks"]["chosen"][0]["block"]),
        (
            &true.into(),
            &"p4rack/blocks/count-min-conservative/columns=8192,rows=4,as=SumOfKey,for=tna.p4".into()
        ),
        "{small}"
    );
    let refused = &small["blocks"]["refused"][0];
    assert!(refused["blocks"][0].as_str().is_some_and(|block| block.contains("count-min/columns=16384")));
    let text = said(&p4rack(&["fit", &program, "--device", &device]));
    assert!(
        text.starts_with("block for <p4rack/blocks/sum-of-key/error=0.5%,flows=10000,for=tna.p4>: ")
            && text.contains("\n    not p4rack/blocks/count-min/columns=16384,rows=4"),
        "{text}"
    );
    // No block fits: the report is that of the first one, with the reasons of the others.
    let tiny = file("tiny.toml", "extends = \"tofino1\"\nname = \"tiny\"\n[memory]\nobject_rams = 1\n");
    let output = p4rack(&["fit", &program, "--device", &tiny]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("with p4rack/blocks/count-min-conservative/"), "{}", said(&output));
}

#[test]
fn weights_are_reduced() {
    let reduced = json(&["block", "weights", "13", "3", "--error", "10%"]);
    assert_eq!((&reduced["weights"], &reduced["slots"]), (&serde_json::json!([4, 1]), &5.into()));
    let text = said(&p4rack(&["block", "weights", "13", "3", "--error", "10%"]));
    assert_eq!(text, "4 1: 5 slots, no path more than 6.667 % above its share\n");
    assert_eq!(p4rack(&["block", "weights", "0", "--error", "10%"]).status.code(), Some(2));
}
