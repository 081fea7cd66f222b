//! Handlers of programs: what becomes of them, and what is refused.

use base_diag::{Diagnostic, SourceMap};
use ir::{Callee, ExprKind, Program, StmtKind, visit};
use ir_handlers::{Handler, expand, handlers};
use p4_arch::Texts;
use p4_syntax::Options;

const DECLARED: &str = r#"
enum bit<8> proto_t { TCP = 6, UDP = 17 }
struct inner_t { bit<12> vlan; bool tagged; }
struct request_t { bit<32> src; int<16> delta; proto_t proto; inner_t inner; bit<72> wide; }
struct response_t { bit<32> address; bit<16> port; }
struct plain_t { bit<8> a; }
enum colour_t { RED, BLUE }
struct bad_t { colour_t colour; }
header h_t { bit<8> a; }
struct headers_t { h_t h; }
"#;

fn program(declaration: &str, calls: &str) -> Result<Program, Vec<Diagnostic>> {
    let source = format!(
        "#include <v1model.p4>\n{DECLARED}\n{declaration}
struct meta_t {{}}
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    request_t q; response_t r; plain_t p; bad_t b;
    apply {{ {calls} }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    );
    let texts = [("test.p4", source.as_str())];
    let mut map = SourceMap::new();
    let mut program = ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut map)
        .unwrap_or_else(|found| panic!("{found:#?}"));
    expand(&mut program)?;
    ir::verify::verify(&program).unwrap_or_else(|errors| panic!("{errors:#?}"));
    Ok(program)
}

const SNAT: &str = r#"@remote(handler = "snat", group = "nat", key = { q.src, q.inner.vlan }, config = "pool=1")
extern bool snat_alloc(in request_t q, out response_t r);"#;

fn only(program: &Program) -> Handler {
    let found = handlers(program);
    assert_eq!(found.len(), 1);
    found[0].1.clone()
}

#[test]
fn a_handler_becomes_a_value_extern_with_one_instance() {
    let calls = "if (snat_alloc(q, r) && hdr.h.a == 1) { bool again = snat_alloc(q, r); } snat_alloc(q, r);";
    let program = program(SNAT, calls).expect("it is right");
    assert_eq!(program.own_externs(), ["snat"]);
    let (id, _) = handlers(&program)[0];
    assert_eq!(program.instance(id).control_plane_name, "snat_alloc_handler");
    let mut seen = 0;
    let ingress = program.controls.iter().find(|control| control.name == "I").expect("ingress");
    let mut look = |callee: &Callee| {
        assert_eq!(*callee, Callee::Method(id, 0));
        seen += 1;
    };
    visit::stmts(&ingress.body, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            look(&call.callee);
        }
        visit::exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |expr| {
                if let ExprKind::Call(call) = &expr.kind {
                    look(&call.callee);
                }
            });
        });
    });
    assert_eq!(seen, 3);
}

/// Handlers that were expanded stay as they are: the parts of a split program are compiled again.
#[test]
fn a_second_expansion_changes_nothing() {
    let once = program(SNAT, "snat_alloc(q, r);").expect("it is right");
    let mut twice = once.clone();
    expand(&mut twice).expect("it is right");
    assert_eq!(once, twice);
}

#[test]
fn fields_are_laid_out_without_padding() {
    let handler = only(&program(SNAT, "snat_alloc(q, r);").expect("it is right"));
    let shown = |fields: &ir_handlers::Struct| -> Vec<String> {
        fields.fields.iter().map(|f| format!("{} {}+{} {}", f.name(), f.at, f.size, f.ty)).collect()
    };
    assert_eq!(
        shown(&handler.request),
        [
            "src 0+4 bit<32>",
            "delta 4+2 int<16>",
            "proto 6+1 proto_t, bit<8>",
            "inner_vlan 7+2 bit<12>",
            "inner_tagged 9+1 bool",
            "wide 10+9 bit<72>"
        ]
    );
    assert_eq!(handler.request.size, 19);
    assert_eq!(handler.request.fields[2].members, [("TCP".to_string(), 6), ("UDP".to_string(), 17)]);
    assert_eq!(shown(&handler.key), ["src 0+4 bit<32>", "inner_vlan 4+2 bit<12>"]);
    assert_eq!(handler.group.as_deref(), Some("nat"));
    assert_eq!(handler.config, "pool=1");
    assert!(handler.returns);
}

#[test]
fn a_handler_with_leased_blocks_gets_its_part_of_them() {
    let with = SNAT.replace("config", "block = q.inner.vlan, config");
    let program = program(&with, "snat_alloc(q, r);").expect("it is right");
    let (id, handler) = handlers(&program).remove(0);
    assert_eq!(handler.block.map(|field| (field.name(), field.width)), Some(("inner_vlan".to_string(), 12)));
    let args = &program.instance(id).args;
    assert_eq!(args.len(), 2, "the server, and how many there are");
    assert_eq!(program.constructor(program.instance(id)).map(<[_]>::len), Some(2));
}

#[test]
fn another_form_has_another_fingerprint() {
    let print = |declaration: &str| {
        only(&program(declaration, "snat_alloc(q, r);").expect("it is right")).fingerprint()
    };
    let others = [
        SNAT.replace("bool", "void"),
        SNAT.replace("q.src, ", ""),
        SNAT.replace("request_t q", "response_t q").replace("q.src, q.inner.vlan", "q.port"),
    ];
    assert_ne!(print(SNAT), print(&others[0]));
    assert_ne!(print(SNAT), print(&others[1]));
    let third = program(&others[2], "response_t other; snat_alloc(other, r);").expect("it is right");
    assert_ne!(print(SNAT), only(&third).fingerprint());
}

#[test]
fn declarations_that_are_wrong() {
    let wrong = [
        (
            "@remote(handler = \"h\", key = { q.src }, block = q.dst) extern bool h(in request_t q);",
            "h(q);",
            "`q.dst` in `block` is no field of the request, which has `q.src`, `q.delta`, `q.proto`, `q.inner.vlan`, `q.inner.tagged`, `q.wide`",
        ),
        (
            "@remote(handler = \"h\", key = { q.src }, block = q.src) extern bool h(in request_t q);",
            "h(q);",
            "`q.src` in `block` is not of `bit<1>` to `bit<12>`",
        ),
        (
            "@remote(handler = \"h\", key = { q.src }, block = q.inner.tagged) extern bool h(in request_t q);",
            "h(q);",
            "`q.inner.tagged` in `block` is not of `bit<1>` to `bit<12>`",
        ),
        (
            "@remote(handler = \"h\", block = q.inner.vlan) extern bool h(in request_t q);",
            "h(q);",
            "`block` needs a `key`, for packets that belong to no block",
        ),
        (
            "@remote(handler = \"h\", key = { q.dst }) extern bool h(in request_t q);",
            "h(q);",
            "`q.dst` in `key` is no field of the request, which has `q.src`, `q.delta`, `q.proto`, `q.inner.vlan`, `q.inner.tagged`, `q.wide`",
        ),
        (
            "@remote(handler = \"h\", key = { r.port }) extern bool h(in request_t q, out response_t r);",
            "h(q, r);",
            "`r.port` in `key` is no field of the request `q`",
        ),
        (
            "@remote(handler = \"h\", key = { q.src, q.src }) extern bool h(in request_t q);",
            "h(q);",
            "`q.src` is twice in `key`",
        ),
        (
            "@remote(handler = \"h\") extern bit<8> h(in request_t q);",
            "bit<8> x = h(q);",
            "a handler returns `bool` or `void`",
        ),
        (
            "@remote(handler = \"h\") extern void h(inout request_t q);",
            "h(q);",
            "`q` is the request, and not `in`",
        ),
        (
            "@remote(handler = \"h\") extern void h(in request_t q, in response_t r);",
            "h(q, r);",
            "`r` is the response, and not `out`",
        ),
        ("@remote(handler = \"h\") extern void h(in bit<8> q);", "h(1);", "`q` is no struct"),
        ("@remote(handler = \"h\") extern void h(in h_t q);", "h(hdr.h);", "`q` is no struct"),
        (
            "@remote(handler = \"h\") extern void h(in bad_t q);",
            "h(b);",
            "`q` has the field `colour`, which is an enum without an underlying type: write `enum bit<8>`",
        ),
        ("@remote(handler = \"h\") extern void h();", "h();", "a handler takes a request and a response"),
        (
            "@remote(\"h\") extern void h(in request_t q);",
            "h(q);",
            "`@remote` takes `handler`, `group`, `key`, `block`, `keeps`, `budget` and `config`",
        ),
        ("@remote(handler = \"h\") extern void h<T>(in T q);", "h(q);", "handlers have no type parameters"),
    ];
    for (declaration, call, why) in wrong {
        let found = program(declaration, call).expect_err(declaration);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].code, base_diag::codes::handler::REMOTE);
        assert_eq!(found[0].labels[0].text, why, "{declaration}");
    }
}

#[test]
fn one_handler_has_one_declaration() {
    let twice = "@remote(handler = \"h\") extern void f(in request_t q); @remote(handler = \"h\") extern void g(in request_t q);";
    let found = program(twice, "f(q); g(q);").expect_err("both are called");
    assert_eq!(found[0].title, "handler `h` is declared twice");
    assert!(program(twice, "f(q);").is_ok(), "only one is used");
}

#[test]
fn a_spare_may_answer_calls_of_an_idempotent_handler() {
    let of = |annotation: &str, rest: &str| {
        let declaration = format!(
            "{annotation} @remote(handler = \"h\", key = {{ q.src }}{rest}) extern bool h(in request_t q, out response_t r);"
        );
        program(&declaration, "h(q, r);")
    };
    let is_soft = |program: &Program| {
        let (id, _) = handlers(program)[0];
        program.instance(id).annotations.iter().any(|annotation| annotation.name == "soft")
    };
    assert!(is_soft(&of("@idempotent", "").expect("it is right")));
    assert!(!is_soft(&of("", "").expect("it is right")));
    let found = of("@idempotent", ", block = q.inner.vlan").expect_err("it is refused");
    assert_eq!(found[0].title, "`h` cannot be `@idempotent`");
    assert!(of("", ", block = q.inner.vlan").is_ok());
}
