//! Programs that are broken in many places: errors are reported, once each, and nothing panics.

use base_diag::Severity;

use crate::support::run;

/// Errors of a program as titles.
fn errors(source: &str) -> Vec<String> {
    let (_, diagnostics, _) = run(source);
    diagnostics.into_iter().filter(|d| d.severity == Severity::Error).map(|d| d.title).collect()
}

#[test]
fn errors_do_not_cascade() {
    let source = "
        struct s { missing a; }
        action x(inout s v, in unknown w, out bit<8> y) {
            y = v.a + w; v.a.b = w.c[3:0]; y = f(v.a)(1); bit<8> z = v.a ? w : y; y = z; v = { w };
            if (v.a == w) { y = nothing.at.all; }
        }";
    assert_eq!(
        errors(source),
        [
            "unknown type `missing`",
            "unknown type `unknown`",
            "unknown function `f`",
            "unknown name `nothing`"
        ]
    );
}

#[test]
fn a_wrong_instance_silences_its_uses() {
    let source = "
        extern E { E(bit<8> n); void f(); }
        control c() { E() e; apply { e.f(); e.g(); e.f(1, 2); } }";
    assert_eq!(errors(source).len(), 1);
}

#[test]
fn deep_nesting_is_walked() {
    let deep = format!("const int x = {}1{};", "(1 + ".repeat(60), ")".repeat(60));
    assert!(errors(&deep).is_empty());
    let blocks = format!("action a() {{ {} {} }}", "{".repeat(60), "}".repeat(60));
    assert!(errors(&blocks).is_empty());
    let tuples = format!("typedef {}bit<8>{} t;", "tuple<".repeat(40), " >".repeat(40));
    assert!(errors(&tuples).is_empty());
}

#[test]
fn many_errors_are_reported() {
    let source: String = (0..200).map(|i| format!("const bit<8> c{i} = missing{i};\n")).collect();
    assert_eq!(errors(&source).len(), 200);
}

#[test]
fn numbers_stay_bounded() {
    assert_eq!(errors("const int a = 1 << 4000; const int b = a * a * a;").len(), 0);
    let square = "const int a0 = 1 << 4000;\n".to_string()
        + &(0..30).map(|i| format!("const int a{} = a{i} * a{i};\n", i + 1)).collect::<String>();
    assert!(errors(&square).iter().all(|e| e == "the number is too large"), "{:?}", errors(&square));
}
