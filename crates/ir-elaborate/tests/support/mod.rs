//! Source text -> parse -> check -> elaborate -> verify -> IR text.

#![allow(dead_code, reason = "every test file uses its part of it")]

use base_diag::{Diagnostic, Severity, SourceMap};
use p4_arch::Texts;
use p4_syntax::Options;

/// The elaborated program or the diagnostics, with what shows their places.
pub fn compile(source: &str) -> (Option<ir::Program>, Vec<Diagnostic>, SourceMap) {
    let mut map = SourceMap::new();
    let parsed = p4_syntax::parse("test.p4", &Texts(&[("test.p4", source)]), &Options::default(), &mut map);
    let mut diagnostics = parsed.diagnostics.into_vec();
    let (typed, found) = p4_check::check(&parsed.program);
    diagnostics.extend(found);
    diagnostics.retain(|d| d.severity == Severity::Error);
    if !diagnostics.is_empty() {
        return (None, diagnostics, map);
    }
    let (program, found) = ir_elaborate::elaborate(&typed);
    (program, found, map)
}

/// The elaborated program, verified and printed and read back.
#[track_caller]
pub fn elaborate(source: &str) -> ir::Program {
    let (program, diagnostics, map) = compile(source);
    let Some(mut program) = program else { panic!("{}", shown(&diagnostics, &map)) };
    if let Err(errors) = ir::verify::verify(&program) {
        panic!("not well formed: {errors:#?}");
    }
    let text = ir::text::write(&program);
    let read = ir::text::read(&text);
    ir::text::erase_spans(&mut program);
    assert_eq!(read.as_ref(), Ok(&program), "the text form loses something:\n{text}");
    program
}

/// The blocks of the IR's text whose first line contains one of `heads`.
#[track_caller]
pub fn excerpt(source: &str, heads: &[&str]) -> String {
    let text = ir::text::write(&elaborate(source));
    let blocks = text.split("\n\n").filter(|block| {
        let head = block.lines().next().unwrap_or("");
        heads.iter().any(|h| head.contains(h))
    });
    blocks.map(|block| format!("{}\n", block.trim_end())).collect()
}

/// The lines of the IR's text that contain one of `marks`, without what is around them.
#[track_caller]
pub fn lines(source: &str, marks: &[&str]) -> String {
    let text = ir::text::write(&elaborate(source));
    let found = text.lines().filter(|line| marks.iter().any(|m| line.contains(m)));
    found.map(|line| format!("{}\n", line.trim())).collect()
}

/// Diagnostics of a refused program: code, title, and each label with the text it points at.
#[track_caller]
pub fn refusal(source: &str) -> String {
    let (program, diagnostics, map) = compile(source);
    assert!(program.is_none(), "it is not refused");
    shown(&diagnostics, &map)
}

fn shown(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    let mut out = String::new();
    for d in diagnostics {
        out.push_str(&format!("{}: {}\n", d.code, d.title));
        for label in &d.labels {
            let text = map.text(label.span).lines().next().unwrap_or("");
            out.push_str(&format!("  `{text}`: {}\n", label.text));
        }
    }
    out
}

/// A v1model program with these declarations, and an ingress control with these locals and this `apply`.
pub fn ingress(declarations: &str, locals: &str, apply: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; bit<16> c; bit<32> d; }}
struct headers_t {{ h_t h; h_t[3] s; }}
struct meta_t {{ bit<8> x; bool flag; }}
{declarations}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    state start {{ packet.extract(hdr.h); transition accept; }}
}}
control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
{locals}
    apply {{
{apply}
    }}
}}
{TAIL}"
    )
}

/// A v1model program with this parser, named `P`.
pub fn parser(declarations: &str, parser: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; bit<16> c; bit<32> d; }}
struct headers_t {{ h_t h; h_t[3] s; }}
struct meta_t {{ bit<8> x; bool flag; }}
{declarations}
{parser}
control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
{TAIL}"
    )
}

const TAIL: &str = "
control None(inout headers_t hdr, inout meta_t meta) { apply { } }
control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), None(), In(), Out(), None(), D()) main;
";
