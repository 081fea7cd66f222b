//! Syntax trees of texts.

use crate::common;

use common::{good, parse_text, shape};
use expect_test::{Expect, expect};
use p4_syntax::ast::{Decl, Expr, ExprKind, TypeKind};
use p4_syntax::print;

/// The expression with a pair of parentheses around every operation.
fn grouped(e: &Expr) -> String {
    let alone = |e: &Expr| {
        let mut program = good("const bool x = 1;");
        if let Some(Decl::Const(d)) = program.decls.first_mut() {
            d.value = e.clone();
        }
        print(&program).trim_start_matches("const bool x = ").trim_end_matches(";\n").to_string()
    };
    match &e.kind {
        ExprKind::Binary { op, left, right, .. } => format!("({} {op:?} {})", grouped(left), grouped(right)),
        ExprKind::Unary { op, operand } => format!("({op:?} {})", grouped(operand)),
        ExprKind::Ternary { condition, then, otherwise, .. } => {
            format!("({} ? {} : {})", grouped(condition), grouped(then), grouped(otherwise))
        }
        ExprKind::Cast { operand, .. } => format!("(cast {})", grouped(operand)),
        ExprKind::Member { base, name } => format!("{}.{}", grouped(base), name.text),
        ExprKind::Call { callee, type_args, args } => {
            let args: Vec<String> = args.iter().map(|a| grouped(&a.value)).collect();
            format!("call {}<{}>({})", grouped(callee), type_args.len(), args.join(", "))
        }
        _ => alone(e),
    }
}

/// `T` is a type and `v` a value in the expression.
#[track_caller]
fn check(text: &str, expected: &str) {
    let program = good(&format!("typedef bit<8> T; const T v = 1; const T x = {text};"));
    let Some(Decl::Const(d)) = program.decls.last() else { panic!("no constant") };
    assert_eq!(grouped(&d.value), expected, "{text}");
}

#[test]
fn operators_bind_as_the_specification_says() {
    check("a + b * c - d", "((a Add (b Mul c)) Sub d)");
    check("a ++ b + c |+| d", "(((a Concat b) Add c) AddSat d)");
    check("a | b ^ c & d", "(a BitOr (b BitXor (c BitAnd d)))");
    check("a & b == c", "((a BitAnd b) Eq c)");
    check("a < b | c", "(a Lt (b BitOr c))");
    check("a == b < c", "(a Eq (b Lt c))");
    check("a || b && c == d", "(a Or (b And (c Eq d)))");
    check("a << b + c >> d", "((a Shl (b Add c)) Shr d)");
}

#[test]
fn prefixes_bind_tighter_and_postfixes_tightest() {
    check("-a * ~b.c", "((Minus a) Mul (Complement b.c))");
    check("!a.b(c).d", "(Not call a.b<0>(c).d)");
    check("(T) a + b", "((cast a) Add b)");
    check("(bit<8>) a.b[3:0]", "(cast a.b[3:0])");
    check("- - + a", "(Minus (Minus (Plus a)))");
}

#[test]
fn choices_lean_right() {
    check("a ? b : c ? d : e", "(a ? b : (c ? d : e))");
    check("a ? b ? c : d : e", "(a ? (b ? c : d) : e)");
    check("a || b ? c : d + e", "((a Or b) ? c : (d Add e))");
}

#[test]
fn types_distinguish_casts_from_parentheses() {
    check("(T) - a", "(cast (Minus a))");
    check("(v) - a", "(v Sub a)");
    check("(T)(a)", "(cast a)");
    check("(v)(a)", "call v<0>(a)");
    check("(unknown) a", "(cast a)");
    check("(unknown) - a", "(unknown Sub a)");
    check("(unknown) { a }", "(cast { a })");
    check("(.T) + a", "(cast (Plus a))");
    check("(tuple<T, T>) { a, b }", "(cast { a, b })");
    check("(T.member) - a", "(T.member Sub a)");
    check("(T[3]) { a }", "(cast { a })");
}

#[test]
fn types_distinguish_type_arguments_from_comparisons() {
    check("f<T>(a)", "call f<1>(a)");
    check("f<T, bit<8>>(a)", "call f<2>(a)");
    check("f<tuple<tuple<T>, T>>(a)", "call f<1>(a)");
    check("f<_>(a)", "call f<1>(a)");
    check("f<bit<(1 > 0 ? 8 : 9)>>(a)", "call f<1>(a)");
    check("a < v > (b)", "((a Lt v) Gt b)");
    check("a < v", "(a Lt v)");
    check("a < T.size", "(a Lt T.size)");
    check("f<bit<(T[4])>>(a)", "call f<1>(a)");
    // Only what ends in a name is generic.
    check("a[3:0] < b > (T) c", "((a[3:0] Lt b) Gt (cast c))");
    check("(a) < b > (T) c", "((a Lt b) Gt (cast c))");
    check("a.b<unknown>(c)", "call a.b<1>(c)");
    check("a < b >> (c)", "(a Lt (b Shr c))");
}

#[test]
fn a_type_before_a_dot_keeps_its_arguments() {
    let program = good("struct S<A> { A a; } const int x = S<bit<8>>.minSizeInBits();");
    let Some(Decl::Const(d)) = program.decls.last() else { panic!("no constant") };
    let ExprKind::Call { callee, .. } = &d.value.kind else { panic!("no call") };
    let ExprKind::Member { base, .. } = &callee.kind else { panic!("no member") };
    let ExprKind::Type(ty) = &base.kind else { panic!("no type") };
    assert!(matches!(ty.kind, TypeKind::Specialized { .. }));
}

#[test]
fn a_shadowed_type_is_a_value() {
    let program = good(
        "typedef bit<8> T; control c(in bit<8> T) { apply { bit<8> x = (T) - 1; } } const int y = (T) - 1;",
    );
    let text = print(&program);
    assert!(text.contains("x = T - 1;") && text.contains("y = (T) -1;"), "{text}");
}

/// Prints the body of a control.
#[track_caller]
fn check_body(body: &str, expect: Expect) {
    let program = good(&format!("typedef bit<8> T; control c() {{ apply {{ {body} }} }}"));
    let text = print(&program);
    let inner = text.split_once("    apply {\n").unwrap().1.trim_end_matches("    }\n}\n");
    expect.assert_eq(&inner.lines().map(|l| format!("{}\n", &l[8..])).collect::<String>());
}

#[test]
fn declarations_and_calls_are_distinguished() {
    check_body(
        "T a; T(1) b; T[3] c; f(1); f<T>(1); Unknown d; Unknown<T>(1) e; Unknown[2] g; x[1] = 2; .T h; T.apply();
         key = 1; state type; error i; list<T> j = { }; list<T>[2] k; tuple<> l[2];",
        expect![[r#"
            T a;
            T(1) b;
            T[3] c;
            f(1);
            f<T>(1);
            Unknown d;
            Unknown<T>(1) e;
            Unknown[2] g;
            x[1] = 2;
            .T h;
            T.apply();
            key = 1;
            state type;
            error i;
            list<T> j = {};
            list<T>[2] k;
            tuple<>[2] l;
        "#]],
    );
}

#[test]
fn else_belongs_to_the_nearest_if() {
    check_body(
        "if (a) if (b) f(); else g(); if (a) { if (b) f(); } else g();",
        expect![[r#"
            if (a)
                if (b)
                    f();
                else
                    g();
            if (a) {
                if (b)
                    f();
            } else
                g();
        "#]],
    );
}

#[test]
fn keysets() {
    let text = |keyset: &str| {
        let program =
            good(&format!("parser p() {{ state start {{ transition select(a) {{ {keyset}: accept; }} }} }}"));
        let text = print(&program);
        let case = text.lines().find(|l| l.contains(": accept")).unwrap().trim().to_string();
        let tuple = shape(&program).contains("tuple: true");
        format!("{} {}", case.trim_end_matches(": accept;"), if tuple { "tuple" } else { "single" })
    };
    assert_eq!(text("(1)"), "1 single");
    assert_eq!(text("(1, 2)"), "(1, 2) tuple");
    assert_eq!(text("(1 &&& 2)"), "(1 &&& 2) tuple");
    assert_eq!(text("(_)"), "(_) tuple");
    assert_eq!(text("(1) &&& (2)"), "1 &&& 2 single");
    assert_eq!(text("(1) + (2)"), "1 + 2 single");
    assert_eq!(text("(bit<8>) (2)"), "(bit<8>) 2 single");
    assert_eq!(text("a ? b : c"), "a ? b : c single");
    assert_eq!(text("1 .. 2"), "1 .. 2 single");
}

#[test]
fn arrays_count_from_the_declared_name_outwards() {
    let first = good("struct s { bit<8>[2][3] a; }");
    let second = good("struct s { bit<8> a[2][3]; }");
    assert_eq!(shape(&first), shape(&second));
}

#[test]
fn annotation_bodies_are_read_on_demand() {
    let program = good(
        "@a(1, \"x\" ++ \"y\", {2}) @b(k = 1, l = F >> 2) @c(\"only\") @d @e[3] @f(1 2) @g(don't ;) const int x = 1;",
    );
    let Some(Decl::Const(d)) = program.decls.first() else { panic!("no constant") };
    let [a, b, c, d, e, f, g] = d.annotations.as_slice() else { panic!("not seven") };
    assert_eq!(a.expressions().unwrap().len(), 3);
    let pairs = b.pairs().unwrap();
    assert_eq!(grouped(&pairs[1].value), "(F Shr 2)");
    assert_eq!((c.string(), a.string()), (Some("only"), None));
    assert_eq!(d.expressions(), Ok(vec![]));
    assert_eq!(e.expressions().unwrap().len(), 1);
    let title = |r: Result<Vec<Expr>, base_diag::Diagnostic>| r.unwrap_err().title;
    assert_eq!(title(f.expressions()), "expected `,` or `)`, found `2`");
    assert_eq!(title(g.expressions()), "invalid character `'`");
    assert!(a.pairs().is_err() && e.pairs().is_err());
}

#[test]
fn pragmas_end_with_their_line() {
    let program = good("@pragma one a b /* \n */ const int x = 1; @pragma two // c\nconst int y = 2;");
    assert_eq!(
        print(&program),
        "@pragma one a b\nconst int x = 1;\n@pragma two \nconst int y = 2;\n".replace("two \n", "two\n")
    );
}

#[test]
fn spans_cover_what_was_written() {
    let text = "control c() { apply { x = (a + b) * f<T>(c) ; } }";
    let (parsed, map) = parse_text(text);
    let Some(Decl::Control(c)) = parsed.program.decls.first() else { panic!("no control") };
    assert_eq!(map.text(c.span), text);
    let stmt = &c.apply.stmts[0];
    assert_eq!(map.text(stmt.span), "x = (a + b) * f<T>(c) ;");
    let p4_syntax::ast::StmtKind::Assign { value, .. } = &stmt.kind else { panic!("no assignment") };
    assert_eq!(map.text(value.span), "(a + b) * f<T>(c)");
    let ExprKind::Binary { left, .. } = &value.kind else { panic!("no product") };
    assert_eq!(map.text(left.span), "(a + b)");
}
