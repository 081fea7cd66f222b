//! print(parse(x)) parses to the same tree, and prints the same again.

use crate::common;
use crate::generate;

use common::{good, shape};
use expect_test::expect_file;
use p4_syntax::print;

#[track_caller]
fn check(text: &str) {
    let first = good(text);
    let printed = print(&first);
    let second = good(&printed);
    assert_eq!(shape(&first), shape(&second), "--- printed ---\n{printed}\n--- from ---\n{text}");
    assert_eq!(print(&second), printed);
}

#[test]
fn everything() {
    let text = include_str!("../testdata/everything.p4");
    check(text);
    expect_file!["../testdata/everything.printed.p4"].assert_eq(&print(&good(text)));
}

/// Random programs: everything that the grammar allows is accepted, and printed back.
#[test]
fn random_programs() {
    let first = features::setting("P4_FUZZ_SEED", 0);
    for seed in first..first + features::setting("P4_FUZZ_CASES", 300) {
        check(&generate::program(seed));
    }
}

/// Two comparisons in a list are no name with type arguments.
#[test]
fn comparisons_beside_each_other() {
    let pair = |text: &str| check(&format!("const tuple<bool, bool> X = {text};"));
    pair("{ a < (b), c > (bit<8>) d }");
    pair("{ a < (b), { c > (d + e), f } }");
    pair("{ a < (b), c > .d }");
    pair("{ f(a < (b)), c >> (d + e) > (d + e) }");
    pair("{ ((S < T) > H), f[a](b) |+| c > (d) ? e : f }");
    pair(&format!("{{ {0} < ({0}), {0} > ({0} + {0}) }}", "a_name_that_is_long_enough_to_break_the_line"));
    assert!(print(&good("const bool X = f(a < b, c > d);")).contains("f(a < b, c > d)"));
}

#[test]
fn trees_that_no_text_has() {
    use p4_syntax::ast::{Decl, StmtKind};
    let mut program = good("control c() { apply { if (a) { if (b) f(); } else g(); } }");
    let Some(Decl::Control(c)) = program.decls.first_mut() else { panic!("no control") };
    let StmtKind::If { then, .. } = &mut c.apply.stmts[0].kind else { panic!("no if") };
    let StmtKind::Block(block) = &mut then.kind else { panic!("no block") };
    **then = block.stmts.remove(0);
    assert!(print(&program).contains("if (a) {"), "{}", print(&program));
}
