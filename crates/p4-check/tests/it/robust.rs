//! Programs that are broken in many places: errors are reported, once each, and nothing panics.

use base_diag::Severity;

use crate::support::{run, try_run};

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

/// The deepest program of a family that the parser takes, checked on a thread's usual stack.
fn deepest(family: impl Fn(usize) -> String) {
    let parses = |n: usize| try_run(&family(n)).is_some();
    let (mut low, mut high) = (1, 4000);
    assert!(parses(low));
    while low + 1 < high {
        let middle = (low + high) / 2;
        if parses(middle) { low = middle } else { high = middle }
    }
    assert!(low > 40, "only {low} levels");
}

#[test]
fn deep_nesting_is_walked() {
    let wrap = |before: &str, open: &str, middle: &str, close: &str, after: &str, n: usize| {
        format!("{before}{}{middle}{}{after}", open.repeat(n), close.repeat(n))
    };
    deepest(|n| wrap("const int x = ", "(1 + ", "1", ")", ";", n));
    deepest(|n| wrap("const int x = ", "1 + ", "1", "", ";", n));
    deepest(|n| wrap("action a(inout bit<8> x) { x = ", "~", "x", "", "; }", n));
    deepest(|n| wrap("action a(inout bit<8> x) { x = ", "(bit<8>)", "x", "", "; }", n));
    deepest(|n| wrap("action a(inout bit<8> x, in bool b) { x = ", "b ? x : ", "x", "", "; }", n));
    deepest(|n| wrap("action a(inout bit<8> x) { x = ", "", "x", "[7:0]", "; }", n));
    deepest(|n| wrap("action a() { ", "{", "", "}", "}", n));
    deepest(|n| wrap("action a(in bool b) { ", "if (b) ", "{}", "", "}", n));
    deepest(|n| wrap("action a(in bool b) { ", "if (b) {} else ", "{}", "", "}", n));
    deepest(|n| wrap("typedef ", "tuple<", "bit<8>", " >", " t;", n));
    deepest(|n| wrap("extern void f<T>(in T x); action a() { f(", "{", "8w1", "}", "); }", n));
    deepest(|n| {
        wrap("bit<8> f(in bit<8> x) { return x; } action a(inout bit<8> x) { x = ", "f(", "x", ")", "; }", n)
    });
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

#[test]
fn types_stay_bounded() {
    let nested = |n: usize| -> String {
        let mut text = "struct s0 { bit<8> a; bit<8> b; }\nheader h0 { bit<8> a; }\n".to_string();
        for i in 1..n {
            text += &format!("struct s{i} {{ s{} a; s{} b; }}\n", i - 1, i - 1);
        }
        text + &format!(
            "header h {{ s{} x; }} action a(inout s{} x, inout s{} y) {{ x = y; }}",
            n - 1,
            n - 1,
            n - 1
        )
    };
    assert!(errors(&nested(15)).is_empty());
    assert_eq!(errors(&nested(40))[0], "this type is too large");
    let tuples: String = (1..40).map(|i| format!("typedef tuple<t{}, t{}> t{i};\n", i - 1, i - 1)).collect();
    assert_eq!(errors(&format!("typedef bit<8> t0;\n{tuples}"))[0], "this type is too large");
    let generic: String =
        (1..40).map(|i| format!("struct g{i}<T> {{ g{}<T> a; g{}<T> b; }}\n", i - 1, i - 1)).collect();
    assert_eq!(errors(&format!("struct g0<T> {{ T x; }}\n{generic}"))[0], "this type is too large");
    assert_eq!(errors("header h { bit<8> x; } struct s { h[16000000] a; }")[0], "this type is too large");
}
