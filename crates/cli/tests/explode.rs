//! Programs of a few lines that mean very much, and long ones that mean little: each ends with a diagnostic or runs, and none takes a gigabyte.

use std::path::Path;
use std::process::Command;

/// Number of doublings.
const DOUBLINGS: usize = 40;

/// A program with these parts.
#[derive(Default)]
struct Parts {
    declarations: String,
    metadata: String,
    states: String,
    locals: String,
    body: String,
}

impl Parts {
    fn text(&self) -> String {
        let Parts { declarations, metadata, states, locals, body } = self;
        format!(
            "#include <core.p4>
            #include <v1model.p4>
            {declarations}
            header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
            struct headers_t {{ eth_t eth; }}
            struct meta_t {{ bit<32> a; {metadata} }}
            parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{
                {states}
                state start {{ transition next; }}
                state next {{ p.extract(h.eth); transition accept; }}
            }}
            control C(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
            control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
                {locals}
                apply {{ s.egress_spec = 1; {body} }}
            }}
            control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ }} }}
            control D(packet_out p, in headers_t h) {{ apply {{ p.emit(h.eth); }} }}
            V1Switch(P(), C(), I(), E(), C(), D()) main;"
        )
    }
}

/// A declaration, and one for each doubling, which uses the one before.
fn doubled(first: &str, next: impl Fn(usize) -> String) -> String {
    std::iter::once(first.to_string()).chain((1..DOUBLINGS).map(next)).collect::<Vec<_>>().join("\n")
}

fn body(body: String) -> Parts {
    Parts { body, ..Parts::default() }
}

fn declared(declarations: String, body: &str) -> Parts {
    Parts { declarations, body: body.to_string(), ..Parts::default() }
}

/// Each with the code of its error, or the start of what happens to a packet.
fn programs() -> Vec<(&'static str, Parts, &'static str)> {
    let nested =
        |open: &str, middle: &str, close: &str| open.repeat(200_000) + middle + &close.repeat(200_000);
    vec![
        (
            "macros",
            declared(
                doubled("#define A0 m.a = m.a + 1;", |n| format!("#define A{n} A{0} A{0}", n - 1)),
                "A39",
            ),
            "P4R0116",
        ),
        (
            "macros with arguments",
            declared(
                doubled("#define A0(x) x x", |n| format!("#define A{n}(x) A{0}(x x)", n - 1)),
                "A39(m.a = 1;)",
            ),
            "P4R0116",
        ),
        ("macros of themselves", declared("#define A B\n#define B A".to_string(), "m.a = A;"), "P4R0201"),
        (
            "structs",
            Parts {
                declarations: doubled("struct s0 { bit<8> a; }", |n| {
                    format!("struct s{n} {{ s{0} a; s{0} b; }}", n - 1)
                }),
                metadata: "s39 s;".to_string(),
                ..Parts::default()
            },
            "P4R0207",
        ),
        (
            "tuples",
            Parts {
                declarations: doubled("typedef tuple<bit<8>> s0;", |n| {
                    format!("typedef tuple<s{0}, s{0}> s{n};", n - 1)
                }),
                metadata: "s39 s;".to_string(),
                ..Parts::default()
            },
            "P4R0207",
        ),
        (
            "functions",
            declared(
                doubled("bit<32> f0(in bit<32> a) { return a + 1; }", |n| {
                    format!("bit<32> f{n}(in bit<32> a) {{ return f{0}(a) + f{0}(a + 1); }}", n - 1)
                }),
                "m.a = f39(m.a);",
            ),
            "dropped: step-limit",
        ),
        (
            "actions",
            Parts {
                locals: doubled("action f0() { m.a = m.a + 1; }", |n| {
                    format!("action f{n}() {{ f{0}(); f{0}(); }}", n - 1)
                }),
                body: "f39();".to_string(),
                ..Parts::default()
            },
            "dropped: step-limit",
        ),
        (
            "controls",
            Parts {
                declarations: doubled("control c0(inout bit<32> a) { apply { a = a + 1; } }", |n| {
                    format!(
                        "control c{n}(inout bit<32> a) {{ c{0}() x; c{0}() y; apply {{ x.apply(a); y.apply(a); }} }}",
                        n - 1
                    )
                }),
                locals: "c39() c;".to_string(),
                body: "c.apply(m.a);".to_string(),
                ..Parts::default()
            },
            "P4R0306",
        ),
        (
            "parsers",
            Parts {
                declarations: doubled(
                    "parser p0(inout bit<32> a) { state start { a = a + 1; transition accept; } }",
                    |n| {
                        format!(
                            "parser p{n}(inout bit<32> a) {{ p{0}() x; p{0}() y; state start {{ x.apply(a); y.apply(a); transition accept; }} }}",
                            n - 1
                        )
                    },
                ),
                states: "p39() x; state other { x.apply(m.a); transition accept; }".to_string(),
                ..Parts::default()
            },
            "P4R0306",
        ),
        (
            "squares",
            declared(
                doubled("const int X0 = 3;", |n| format!("const int X{n} = X{0} * X{0};", n - 1)),
                "m.a = (bit<32>) X39;",
            ),
            "P4R0250",
        ),
        ("shifts", declared("const int X = 1 << 2147483647;".to_string(), "m.a = (bit<32>) X;"), "P4R0250"),
        (
            "concatenations",
            declared(
                doubled("const bit<8> X0 = 3;", |n| {
                    format!("const bit<{}> X{n} = X{1} ++ X{1};", 8_u64 << n, n - 1)
                }),
                "m.a = X39[31:0];",
            ),
            "P4R0207",
        ),
        (
            "digits",
            declared(format!("const int X = {};", "9".repeat(1_000_000)), "m.a = (bit<32>) X;"),
            "P4R0104",
        ),
        ("bits", Parts { metadata: "bit<2147483647> b;".to_string(), ..Parts::default() }, "P4R0207"),
        ("elements", Parts { metadata: "eth_t[2147483647] b;".to_string(), ..Parts::default() }, "P4R0207"),
        (
            "loops",
            body("for (bit<32> i in 32w0..32w4000000000) { m.a = m.a + i; }".to_string()),
            "dropped: step-limit",
        ),
        ("brackets", body(format!("m.a = {};", nested("(", "1", ")"))), "P4R0121"),
        ("blocks", body(nested("{", "", "}")), "P4R0121"),
        ("operators", body(format!("m.a = {}m.a;", nested("~", "", ""))), "P4R0121"),
        ("sums", body(format!("m.a = {}1;", "m.a + ".repeat(100_000))), "P4R0121"),
        ("choices", body(format!("m.a = {}1;", "m.a == 1 ? m.a : ".repeat(20_000))), "P4R0121"),
        ("conditions", declared(format!("#if {}\n#endif", nested("(", "1", ")")), ""), "P4R0114"),
        ("open conditions", declared("#if 0\n".repeat(100_000), ""), "P4R0113"),
        ("comments", declared("// A comment.\n".repeat(1_300_000), ""), "P4R0116"),
        (
            "new types",
            declared(
                (1..5_000)
                    .fold("type bit<32> t0;".to_string(), |all, n| format!("{all}\ntype t{} t{n};", n - 1)),
                "t4999 x;",
            ),
            "P4R0207",
        ),
        ("annotations", declared(format!("@{}", nested("a(", "", ")")), ""), "1 packet in, 1 out"),
    ]
}

#[test]
fn programs_that_explode() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explode");
    std::fs::create_dir_all(&directory).unwrap();
    for (name, parts, wanted) in programs() {
        let path = directory.join(format!("{}.p4", name.replace(' ', "-")));
        std::fs::write(&path, parts.text()).unwrap();
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -d 1048576 && exec \"$0\" run \"$1\" --packet 1:00000000000000000000000000000000",
        ]);
        let output = command.arg(env!("CARGO_BIN_EXE_p4rack")).arg(&path).output().unwrap();
        let all =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let start: String = all.chars().take(2_000).collect();
        assert!(all.contains(wanted), "{name}: no `{wanted}` in\n{start}");
        let status = if wanted.starts_with("P4R") { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(status), "{name}: {start}");
        std::fs::remove_file(&path).unwrap();
    }
}
