//! Architectures other than v1model: which stages there are and what their parameters mean.

use crate::support;

use expect_test::expect;
use std::collections::BTreeSet;

/// The text of the stages and of `main`.
#[track_caller]
fn stages(source: &str) -> String {
    let text = ir::text::write(&support::elaborate(source));
    let at = text.find("stages {").unwrap();
    text[at..].to_string()
}

#[test]
fn psa_has_two_parsers_and_carries_five_kinds_of_metadata() {
    expect![[r#"
        stages {
            ingress_parser: parse IP(packet, headers, metadata, input, resubmit_meta, recirculate_meta);
            ingress: control I(headers, metadata, input, output);
            ingress_deparser: deparse ID(packet, clone_i2e_meta, resubmit_meta, normal_meta, headers, metadata, output);
            traffic_manager: traffic_manager();
            egress_parser: parse EP(packet, headers, metadata, input, normal_meta, clone_i2e_meta, clone_e2e_meta);
            egress: control E(headers, metadata, input, output);
            egress_deparser: deparse ED(packet, clone_e2e_meta, recirculate_meta, headers, metadata, output, input);
        }

        main PSA_Switch {
            ingress: package IngressPipeline {
                ip: stage ingress_parser;
                ig: stage ingress;
                id: stage ingress_deparser;
            }
            pre: ($instance(pre) : extern PacketReplicationEngine);
            egress: package EgressPipeline {
                ep: stage egress_parser;
                eg: stage egress;
                ed: stage egress_deparser;
            }
            bqe: ($instance(bqe) : extern BufferingQueueingEngine);
        }
    "#]].assert_eq(&stages(include_str!("psa.p4")));
}

#[test]
fn the_pipelines_of_tofino_are_distinguished() {
    let pipe = |name: &str| format!("Pipeline(IP(), I(), ID(), EP(), E(), ED()) {name};\n");
    let source = include_str!("tna.p4");
    let one = format!("{source}{}Switch(one) main;", pipe("one"));
    expect![[r#"
        stages {
            ingress_parser: parse IP(packet, headers, metadata, input);
            ingress: control I(headers, metadata, input, input, output, output);
            ingress_deparser: deparse ID(packet, headers, metadata, output);
            traffic_manager: traffic_manager();
            egress_parser: parse EP(packet, headers, metadata, input);
            egress: control E(headers, metadata, input, input, output, output);
            egress_deparser: deparse ED(packet, headers, metadata, output);
        }

        main Switch {
            pipe0: package Pipeline {
                ingress_parser: stage ingress_parser;
                ingress: stage ingress;
                ingress_deparser: stage ingress_deparser;
                egress_parser: stage egress_parser;
                egress: stage egress;
                egress_deparser: stage egress_deparser;
            }
        }
    "#]]
    .assert_eq(&stages(&one));
    let two = format!("{source}{}{}Switch(one, two) main;", pipe("one"), pipe("two"));
    expect![[r#"
        stages {
            ingress_parser: parse IP(packet, headers, metadata, input);
            ingress: control I(headers, metadata, input, input, output, output);
            ingress_deparser: deparse ID(packet, headers, metadata, output);
            traffic_manager: traffic_manager();
            egress_parser: parse EP(packet, headers, metadata, input);
            egress: control E(headers, metadata, input, input, output, output);
            egress_deparser: deparse ED(packet, headers, metadata, output);
            `pipe1.ingress_parser`: parse IP_ingress_parser(packet, headers, metadata, input);
            `pipe1.ingress`: control I_ingress(headers, metadata, input, input, output, output);
            `pipe1.ingress_deparser`: deparse ID_ingress_deparser(packet, headers, metadata, output);
            `pipe1.traffic_manager`: traffic_manager();
            `pipe1.egress_parser`: parse EP_egress_parser(packet, headers, metadata, input);
            `pipe1.egress`: control E_egress(headers, metadata, input, input, output, output);
            `pipe1.egress_deparser`: deparse ED_egress_deparser(packet, headers, metadata, output);
        }

        main Switch {
            pipe0: package Pipeline {
                ingress_parser: stage ingress_parser;
                ingress: stage ingress;
                ingress_deparser: stage ingress_deparser;
                egress_parser: stage egress_parser;
                egress: stage egress;
                egress_deparser: stage egress_deparser;
            }
            pipe1: package Pipeline {
                ingress_parser: stage `pipe1.ingress_parser`;
                ingress: stage `pipe1.ingress`;
                ingress_deparser: stage `pipe1.ingress_deparser`;
                egress_parser: stage `pipe1.egress_parser`;
                egress: stage `pipe1.egress`;
                egress_deparser: stage `pipe1.egress_deparser`;
            }
        }
    "#]]
    .assert_eq(&stages(&two));
}

#[test]
fn the_blocks_of_an_architecture_of_the_program_are_stages_without_roles() {
    let source = "#include <core.p4>
parser P<H>(packet_in p, out H h);
control C<H>(inout H h);
control D<H>(packet_out p, in H h);
extern Engine { Engine(bit<8> n); }
package Half<H>(C<H> c, bit<8> number);
package Mine<H>(P<H> p, Half<H> first, @optional Half<H> second, Engine engine, D<H> d);
header h_t { bit<8> a; }
parser MyP(packet_in p, out h_t h) { state start { p.extract(h); transition accept; } }
control MyC(inout h_t h) { apply { h.a = 1; } }
control MyD(packet_out p, in h_t h) { apply { p.emit(h); } }
Mine(d = MyD(), p = MyP(), first = Half(MyC(), 3), engine = Engine(7)) main;
";
    expect![[r#"
        stages {
            p: parse MyP(packet, other);
            `first.c`: control MyC(other);
            d: deparse MyD(packet, other);
        }

        main Mine {
            p: stage p;
            first: package Half {
                c: stage `first.c`;
                number: 8w0x3;
            }
            engine: ($instance(engine) : extern Engine);
            d: stage d;
        }
    "#]]
    .assert_eq(&stages(source));
}

/// The facts know a declaration file by its lines: they must find what the checker finds.
#[test]
fn what_a_file_declares_is_known() {
    for arch in p4_arch::ARCHITECTURES {
        let source = format!("#include <{}>", arch.include);
        let mut map = base_diag::SourceMap::new();
        let parsed = p4_syntax::parse(
            "test.p4",
            &p4_arch::Texts(&[("test.p4", source.as_str())]),
            &Default::default(),
            &mut map,
        );
        let (typed, _) = p4_check::check(&parsed.program);
        let mut declared = BTreeSet::new();
        declared.extend(typed.structs.iter().map(|(_, d)| d.name.text.to_string()));
        declared.extend(typed.enums.iter().map(|(_, d)| d.name.text.to_string()));
        declared.extend(typed.new_types.iter().map(|(_, d)| d.name.text.to_string()));
        declared.extend(typed.externs.iter().map(|(_, d)| d.name.text.to_string()));
        declared.extend(typed.packages.iter().map(|(_, d)| d.name.text.to_string()));
        declared.extend(typed.actions.iter().map(|(_, d)| d.name.text.to_string()));
        let known: BTreeSet<String> = arch.declared().names.iter().map(|name| name.to_string()).collect();
        let missing: Vec<_> = declared.difference(&known).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", arch.name);
        for package in arch.packages {
            assert!(known.contains(package.name), "{}", package.name);
        }
    }
}

fn with_types(headers: &str, metadata: &str) -> String {
    format!(
        "#include <core.p4>
         #include <v1model.p4>
         header eth_t {{ bit<16> type; }}
         header_union either_t {{ eth_t one; eth_t other; }}
         struct headers_t {{ eth_t eth; }}
         enum kind_t {{ A, B }}
         type bit<9> port_t;
         parser P(packet_in p, out {headers} h, inout {metadata} m, inout standard_metadata_t s) {{
             state start {{ transition accept; }}
         }}
         control C(inout {headers} h, inout {metadata} m) {{ apply {{ }} }}
         control I(inout {headers} h, inout {metadata} m, inout standard_metadata_t s) {{ apply {{ }} }}
         control D(packet_out p, in {headers} h) {{ apply {{ }} }}
         V1Switch(P(), C(), I(), I(), C(), D()) main;"
    )
}

/// All tests had structs there; the splitter took that for granted and panicked.
#[test]
fn headers_and_metadata_of_v1model_are_structs() {
    support::elaborate(&with_types("headers_t", "headers_t"));
    let kinds = [
        ("eth_t", "a header"),
        ("either_t", "a header union"),
        ("eth_t[2]", "a header stack"),
        ("headers_t[2]", "an array"),
        ("kind_t", "an enum"),
        ("port_t", "a newtype"),
        ("bit<8>", "a number"),
        ("bool", "a bool"),
        ("error", "an error"),
        ("varbit<8>", "a varbit"),
        ("tuple<bit<8>>", "a tuple"),
    ];
    for (ty, noun) in kinds {
        for (headers, metadata, what, param) in [
            (ty, "headers_t", "headers `h`", format!("out {ty} h")),
            ("headers_t", ty, "metadata `m`", format!("inout {ty} m")),
        ] {
            let said = support::refusal(&with_types(headers, metadata));
            assert_eq!(said, format!("P4R0305: the {what} must be a struct\n  `{param}`: this is {noun}\n"));
        }
    }
}

#[test]
fn ticks_with_wrong_values_are_refused() {
    let program = |ticks: &str| {
        let whole = support::ingress("", "", "");
        whole.replace("V1Switch(", &format!("{ticks}\nV1Switch("))
    };
    let ticks =
        support::elaborate(&program("@tick(\"100us\", 510, \"00\" ++ \"ff\")\n@tick(\"1s\", 9, \"\")"))
            .ticks();
    assert_eq!(
        ticks.iter().map(|tick| (tick.port, tick.frame.len())).collect::<Vec<_>>(),
        [(510, 2), (9, 0)]
    );
    expect![[r#"
        P4R0312: a tick has wrong values
          `@tick("100", 510, "")`: the period `100`: a unit is missing: one of ps, ns, us, ms, s, min, h
        P4R0312: a tick has wrong values
          `@tick("1s", "510")`: `@tick` takes a period, an ingress port and a frame in hexadecimal: `@tick("100us", 510, "0001")`
        P4R0312: a tick has wrong values
          `@tick`: `@tick` takes a period, an ingress port and a frame in hexadecimal: `@tick("100us", 510, "0001")`
    "#]].assert_eq(&support::refusal(&program("@tick(\"100\", 510, \"\")\n@tick(\"1s\", \"510\")\n@tick")));
}
