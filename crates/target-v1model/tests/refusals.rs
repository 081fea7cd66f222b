//! Constructs without a counterpart are refused with their place; forms of the traffic manager that need less code have less.

use crate::sources::{changed, program, rendered, text};
use target_v1model::convert;

const PARAMS: &str = "inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm";
const PIPE: &str = "Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), \
     PlainEgress(), PlainEgressDeparser()) pipe; Switch(pipe) main;";

fn ingress(declarations: &str, body: &str) -> String {
    format!(
        "#include \"tna_common.p4\"\ncontrol Ingress({PARAMS}) {{\n{declarations}\napply {{\n{body}\n}} }}\n{PIPE}\n"
    )
}

/// The first diagnostic: title, and the text under the place.
fn refusal(text: &str) -> String {
    let (program, map) = program(text);
    let found = convert(&program).expect_err("it is refused");
    let all = rendered(&found, &map);
    let title = all.lines().next().unwrap_or_default();
    let label = all.lines().find(|line| line.contains('^')).unwrap_or_default();
    format!("{title}: {}", label.split('^').next_back().unwrap_or_default().trim())
}

#[test]
fn what_v1model_does_not_have() {
    let cases = [
        ("DirectRegister<bit<8>>() cells; action a() { hdr.data.op = cells.read(); }
          table t { key = { hdr.data.op : exact; } actions = { a; } registers = cells; default_action = a(); }", "t.apply();",
         "this call has no counterpart in v1model: `read` of `DirectRegister`"),
        ("Hash<bit<8>>(HashAlgorithm_t.CRC8) hash;", "hdr.data.op = hash.get(hdr.data.b);",
         "this hash has no counterpart in v1model: v1model has `IDENTITY`, `XOR16`, `CRC16` and `CRC32`"),
        ("Counter<bit<32>, bit<8>>(4, CounterType_t.BYTES) bytes;", "bytes.count(1, 4);",
         "`adjust_byte_count` of `Counter.count` has no counterpart in v1model: v1model counts the bytes of the frame"),
        ("Meter<bit<8>>(4, MeterType_t.BYTES) limit;", "hdr.data.op = limit.execute(index = 1, color = MeterColor_t.RED);",
         "`color` of `Meter.execute` has no counterpart in v1model: meters of v1model do not take the color of a packet"),
        ("Lpf<bit<32>, bit<8>>(4) filter;", "hdr.data.b = filter.execute(hdr.data.b, 1);",
         "this call has no counterpart in v1model: `execute` of `Lpf`"),
        ("MathUnit<bit<32>>(MathOp_t.SQR, 1) square; Register<bit<32>, bit<8>>(4) cells;
          RegisterAction<bit<32>, bit<8>, bit<32>>(cells) add = { void apply(inout bit<32> value) { value = square.execute(value); } };",
         "add.execute(1);", "this call has no counterpart in v1model: `execute` of `MathUnit`"),
    ];
    for (declarations, body, wanted) in cases {
        assert_eq!(refusal(&ingress(declarations, body)), format!("error[P4R1803]: {wanted}"));
    }
}

#[test]
fn parsers_and_deparsers() {
    let paths = changed(&text("tna_paths"), &[("7w0 ++ eg.egress_rid_first", "8w0")]);
    assert_eq!(
        refusal(&text("tna_paths")),
        "error[P4R1803]: `egress_rid_first` has no counterpart in v1model: no copy of a multicast group is the first"
    );
    let late = changed(
        &paths,
        &[("        packet.emit(hdr.seen);\n", "        packet.emit(hdr.seen);\n        hdr.data.a = 1;\n")],
    );
    assert_eq!(
        refusal(&late),
        "error[P4R1803]: code between emits cannot be converted: this runs after an `emit`"
    );
    let under = changed(
        &paths,
        &[("        packet.emit(hdr.seen);\n", "        if (meta.op == 1) { packet.emit(hdr.seen); }\n")],
    );
    assert_eq!(
        refusal(&under),
        "error[P4R1803]: an `emit` under a condition cannot be converted: v1model's deparser has no conditions"
    );
    let turned = changed(
        &paths,
        &[(
            "        packet.emit(hdr);\n",
            "        packet.emit(hdr.data);\n        packet.emit(hdr.seen);\n        packet.emit(hdr.trail);\n",
        )],
    );
    assert_eq!(
        refusal(&turned),
        "error[P4R1803]: mirrored packets cannot be converted: the deparser emits this before headers that are extracted before it"
    );
    let lost = changed(
        &paths,
        &[(
            "        packet.extract(hdr.trail);\n        transition only;",
            "        packet.advance(16);\n        transition only;",
        )],
    );
    assert_eq!(refusal(&lost), "error[P4R1803]: mirrored packets cannot be converted: these bytes are lost");
    let straddles = changed(
        &paths,
        &[
            ("packet.advance(PORT_METADATA_SIZE - 64);", "packet.extract(hdr.seen);"),
            ("bit<48> rest;", "bit<40> rest;"),
            ("{hdr.data.a + 1, 0}", "{hdr.data.a + 1, 0}"),
        ],
    );
    assert_eq!(
        refusal(&straddles),
        "error[P4R1803]: the metadata before the frame cannot be converted: it ends inside of this"
    );
    assert_eq!(
        refusal(&text("tna_parser")),
        "error[P4R1803]: this header cannot be converted: give `@flexible` fields that are no whole bytes fields of padding instead"
    );
}

/// Title, note and help of a program whose `main` is another one.
fn of_pipes(target: &str, declarations: &str, main: &str) -> String {
    let one = PIPE.replace(" Switch(pipe) main;", "");
    let text = ingress("", "").replace(PIPE, &format!("{declarations} {one} {main}"));
    let (program, map) = program(&format!("{target}{text}"));
    rendered(&convert(&program).expect_err("it is refused"), &map)
}

/// The second pipeline is not left out.
#[test]
fn several_pipes_and_ghost_threads() {
    let second = "Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), \
         PlainEgress(), PlainEgressDeparser()) other;";
    assert_eq!(
        of_pipes("", second, "Switch(pipe, other) main;"),
        "error[P4R1801]: programs for several pipes cannot be converted
  |
  = note: `pipe1` has a pipeline of its own, and v1model has one for all ports
  = help: convert a program for each pipe: give `Switch` one pipeline
"
    );
    let ghost = "control Ghost(in ghost_intrinsic_metadata_t g) { apply {} } \
         Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), \
         PlainEgress(), PlainEgressDeparser(), Ghost()) haunted;";
    assert_eq!(
        of_pipes("#define TOFINO2\n", ghost, "Switch(haunted) main;"),
        "error[P4R1801]: a ghost thread cannot be converted
  |
  = note: v1model has no thread that sees the depths of all queues
  = help: leave the last argument of `Pipeline` out
"
    );
}

/// Parts of the parser's externs that variables cannot replace.
#[test]
fn externs_of_parsers() {
    let parsed = crate::packets::parsers();
    let refused = |changes: &[(&str, &str)]| refusal(&changed(&parsed, changes));
    assert_eq!(
        refused(&[(
            "packet.extract(hdr.mode);\n",
            "packet.extract(hdr.mode); meta.residual = meta.port.first[15:0];\n"
        )]),
        "error[P4R1803]: the metadata of ports cannot be converted: the parser uses it itself"
    );
    assert_eq!(
        refused(&[(
            "counter.set(hdr.mode.port, 0x7f, 4, 3, 0xff);",
            "counter.set(hdr.mode.port, hdr.mode.mode, 4, 3, 0xff);"
        )]),
        "error[P4R1803]: this call has no counterpart in v1model: an argument is no constant"
    );
    assert_eq!(
        refused(&[("verified.add(hdr.sum);", "verified.add({hdr.sum, hdr.mode.port});")]),
        "error[P4R1803]: this call has no counterpart in v1model: its data are no whole words of 16 bits"
    );
    assert_eq!(
        refused(&[("        packet.extract(hdr.later);\n", "        packet.advance(16);\n")]),
        "error[P4R1803]: a residual checksum cannot be converted: these bytes may be part of it"
    );
    assert_eq!(
        refused(&[("        packet.extract(hdr.later);\n", "        packet.extract(hdr.items.next);\n")]),
        "error[P4R1803]: a residual checksum cannot be converted: this header is no whole words of 16 bits"
    );
}

#[test]
fn other_architectures() {
    let (program, map) = program(&text("asserts").replace("#include \"common.p4\"", &text("common")));
    let found = convert(&program).expect_err("it is for v1model");
    assert!(rendered(&found, &map).contains("only programs for TNA and T2NA can be converted"));
}

/// A program whose packets all bypass egress passes once, and has no code of egress.
#[test]
fn egress_that_does_nothing_is_left_out() {
    let passing = ingress("", "tm.ucast_egress_port = 3; tm.bypass_egress = 1;");
    let (program, _) = program(&passing);
    let text = convert(&program).expect("it is converted").text;
    assert!(!text.contains("state egress"), "{text}");
    assert!(!text.contains("egress_metadata"), "{text}");
}
