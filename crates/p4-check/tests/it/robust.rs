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

/// Links of a chain that is longer than any stack is deep.
const LINKS: usize = 30_000;

/// A declaration for each number, which may use the one before it.
fn chain(first: &str, link: impl Fn(usize) -> String) -> String {
    first.to_string() + &(1..LINKS).map(link).collect::<String>()
}

#[test]
fn chains_of_types_are_refused() {
    let deep = |source: String| {
        let found = errors(&source);
        assert!(
            !found.is_empty() && found.iter().all(|e| e == "this type is nested too deeply"),
            "{:.80}",
            source
        );
    };
    deep(chain("struct s0 { bit<8> a; }\n", |i| format!("struct s{i} {{ s{} a; }}\n", i - 1)));
    deep(chain("struct s0<T> { T a; }\n", |i| format!("struct s{i}<T> {{ s{}<T> a; }}\n", i - 1)));
    deep(chain("typedef bit<8> t0;\n", |i| {
        format!("struct g{i}<T> {{ T a; }} typedef g{i}<t{}> t{i};\n", i - 1)
    }));
    deep(chain("typedef bit<8> t0;\n", |i| {
        format!("extern E{i}<T> {{ E{i}(); }} typedef E{i}<t{}> t{i};\n", i - 1)
    }));
    deep(chain("type bit<8> t0;\n", |i| format!("type t{} t{i};\n", i - 1)));
    deep(chain("typedef bit<8> t0;\n", |i| format!("typedef tuple<t{}> t{i};\n", i - 1)));
    deep(chain("typedef bit<8> t0;\n", |i| format!("typedef list<t{}> t{i};\n", i - 1)));
    deep(chain("typedef bit<8> t0;\n", |i| format!("typedef t{}[1] t{i};\n", i - 1)));
}

#[test]
fn types_nest_as_deep_as_programs_need() {
    let source = (1..64).fold("struct s0 { bit<8> a; }\n".to_string(), |text, i| {
        text + &format!("struct s{i} {{ s{} a; }}\n", i - 1)
    });
    assert!(errors(&(source + "action x(inout s63 a, in s63 b) { if (a == b) { a = b; } }")).is_empty());
}

#[test]
fn chains_of_declarations_are_walked() {
    let fine = |source: String| assert!(errors(&source).is_empty(), "{:.80}", source);
    fine(chain("typedef bit<8> t0;\n", |i| format!("typedef t{} t{i};\n", i - 1)) + "const t9999 x = 1;");
    fine(chain("const int c0 = 1;\n", |i| format!("const int c{i} = c{} + 1;\n", i - 1)));
    fine(chain("bit<8> f0(in bit<8> x) { return x; }\n", |i| {
        format!("bit<8> f{i}(in bit<8> x) {{ return f{}(x); }}\n", i - 1)
    }));
    fine(chain("action a0() {}\n", |i| format!("action a{i}() {{ a{}(); }}\n", i - 1)));
    fine(chain("control c0() { apply {} }\n", |i| {
        format!("control c{i}() {{ c{}() c; apply {{ c.apply(); }} }}\n", i - 1)
    }));
    fine(
        chain(
            "extern packet_in { packet_in(); } parser p0(packet_in b) { state start { transition s1; }",
            |i| format!("state s{i} {{ transition s{}; }}\n", i + 1),
        ) + &format!("state s{LINKS} {{ transition accept; }} }}"),
    );
    fine(chain("package p0();\n", |i| format!("package p{i}(p{} x);\n", i - 1)) + "p0() a; p1(a) b;");
}

#[test]
fn long_lists_take_time_in_proportion() {
    let fine = |source: String| assert!(errors(&source).is_empty(), "{:.80}", source);
    let list = |link: &dyn Fn(usize) -> String| (0..LINKS).map(link).collect::<String>();
    fine(format!("error {{ {} }}", list(&|i| format!("e{i}, ")) + "last"));
    fine(format!("match_kind {{ {} }}", list(&|i| format!("e{i}, ")) + "last"));
    fine(format!("enum bit<32> e {{ {} }}", list(&|i| format!("e{i} = {i}, ")) + "last = 0"));
    fine(format!("struct s {{ {} }}", list(&|i| format!("bit<8> f{i}; "))));
    fine(list(&|i| format!("@a{i} ")) + "action a() {}");
    fine(format!("action a(in bit<32> x) {{ switch (x) {{ {} }} }}", list(&|i| format!("{i}: {{}}"))));
    fine(format!("action a(in bit<32> x) {{ switch (x) {{ {} {{}} }} }}", list(&|i| format!("{i}: "))));
}

#[test]
fn loops_in_loops_do_not_double_the_time() {
    let loops = "for (bit<8> i = 0; i < 4; i = i + 1) ".repeat(100);
    assert!(errors(&format!("action a() {{ {loops} {{}} }}")).is_empty());
}

#[test]
fn instances_of_instances_do_not_double_the_time() {
    let controls: String = (1..60)
        .map(|i| {
            format!(
                "control c{i}() {{ c{}() a; c{}() b; apply {{ a.apply(); b.apply(); }} }}\n",
                i - 1,
                i - 1
            )
        })
        .collect();
    let source =
        format!("control c0() {{ apply {{}} }}\n{controls} control C(); package P(C c); P(c59()) main;");
    assert!(errors(&source).is_empty());
}

#[test]
fn few_functions_share_a_name() {
    let named = |i: usize| format!("extern void f(in bit<8> x{i});\n");
    let source = chain(&named(0), named);
    assert!(errors(&source).iter().all(|e| e == "too many functions are named `f`"));
    let methods: String = (0..1000).map(|i| format!("void f(in bit<8> x{i});\n")).collect();
    let found = errors(&format!("extern E {{ E(); {methods} }}"));
    assert_eq!((found.len(), &*found[0]), (800, "too many functions are named `f`"));
}

#[test]
fn strings_and_wide_numbers_stay_bounded() {
    let double = |i: usize| format!("const string s{} = s{i} ++ s{i};\n", i + 1);
    let strings = "const string s0 = \"abcdefgh\";\n".to_string() + &(0..60).map(double).collect::<String>();
    assert_eq!(errors(&strings), ["the string is too long"]);
    let wide =
        chain("const bit<1000000> c0 = ~(1000000w0);\n", |i| format!("const bit<1000000> c{i} = c0;\n"));
    assert!(errors(&wide).iter().all(|e| e == "too many long values") && !errors(&wide).is_empty());
}
