//! Before and after, for the tests of passes.

use crate::Changed;
use ir::Program;

const HEAD: &str = "arch v1model 20180101;
errors { NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument }

header h_t { bit<8> a; bit<8> b; }
union u_t { h_t x; h_t y; }
struct pair_t { bit<8> first; bit<8> second; }
header wide_t { pair_t pair; bit<8> c; }
struct both_t { pair_t pair; bool on; }
struct headers_t { h_t h; h_t g; h_t[2] s; u_t u; }
extern packet_in { }
extern packet_out { }
extern_function log<T>(in 'T data) -> void;
extern_function get(out bit<8> to) -> bit<8>;

";

/// Refusals of the program with declarations `before`: code, title and label of each diagnostic.
pub(crate) fn refusals(before: &str) -> String {
    let found = crate::check_inlining(&read(before)).err().unwrap_or_default();
    let line = |d: &base_diag::Diagnostic| {
        let label = d.labels.first().map(|l| l.text.as_str()).unwrap_or_default();
        format!("{} {} | {label}", d.code, d.title)
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The program of these declarations, verified; for TNA if they have its register actions.
pub(crate) fn read(declarations: &str) -> Program {
    let arch = if declarations.contains("RegisterAction") { "tna 1" } else { "v1model 20180101" };
    let head = HEAD.replacen("v1model 20180101", arch, 1);
    let text = format!("{head}{declarations}\nstages {{ }}\n\nmain Nothing {{ }}\n");
    let program = ir::text::read(&text).unwrap_or_else(|e| panic!("{e}"));
    ir::verify::verify(&program).unwrap_or_else(|e| panic!("{e:#?}"));
    program
}

/// Runs `pass` on the declarations `before`; returns the resulting declarations. Both forms are verified.
pub(crate) fn after(before: &str, pass: fn(&mut Program) -> Changed) -> String {
    let mut program = read(before);
    let old = program.clone();
    let changed = pass(&mut program);
    ir::verify::verify(&program).unwrap_or_else(|e| panic!("{e:#?}\n{}", ir::text::write(&program)));
    assert_eq!(changed.0, program != old, "a pass says whether it changed something");
    let written = ir::text::write(&program);
    let from =
        written.find("extern_function get").and_then(|at| written[at..].find("\n\n").map(|n| at + n + 2));
    let to = written.rfind("stages").unwrap_or(written.len());
    written[from.unwrap_or(0)..to].trim().replace("    ", "  ") + "\n"
}

/// A control over `hdr` and these variables with this body. More declarations may stand before the variables' end.
pub(crate) fn control(vars: &str, beside: &str, body: &str) -> String {
    format!(
        "control C(hdr, x) \"C\" {{ vars {{ inout headers_t hdr; inout bit<8> x; {vars} }} {beside} apply {{ {body} }} }}"
    )
}
