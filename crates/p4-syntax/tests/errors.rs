//! Every complaint of the parser, at its place, and that it goes on after it.

use crate::common;

use common::check;

#[test]
fn characters_and_numbers() {
    check(
        "
    const bit<8> a = 10 – 1;
    //                  ^ invalid character `–`
    const bit<8> b = 0b12;
    //               ^^^^ malformed number `0b12`
    const bit<8> c = 0x + 8w;
    //               ^^ malformed number `0x`
    //                    ^^ malformed number `8w`
    const bit<8> d = 99999999999w1;
    //               ^^^^^^^^^^^^^ the width of this literal is too large
    const bit<8> e = 0s1;
    //               ^^^ a signed literal has at least 1 bit
    const bit<8> f = a' + $;
    //                ^ invalid character `'`
",
    );
    let digits = "9".repeat(20_000);
    let (parsed, _) = common::parse_text(&format!("const int a = {digits};"));
    let titles: Vec<_> = parsed.diagnostics.iter().map(|d| d.title.clone()).collect();
    assert_eq!(titles, [format!("malformed number `{}`", "9".repeat(40))]);
}

#[test]
fn missing_semicolons() {
    check(
        "
    const bit<8> a = 1
    const bit<8> b = 2;
  //^^^^^ expected `;`, found keyword `const`
    control c() {
        bit<8> x
        bit<8> y;
    //  ^^^ expected `;`, found keyword `bit`
        apply {
            x = 1
            y = 2;
    //      ^ expected `;`, found `y`
            x = y
            if (x == y) { exit }
    //      ^^ expected `;`, found keyword `if`
    //                         ^ expected `;`, found `}`
            y = 3;
        }
    }
"
        .replace(
            "    // ^^^ expected `;`, found keyword `const`",
            "    //^^^ expected `;`, found keyword `const`",
        )
        .as_str(),
    );
}

#[test]
fn top_level() {
    check(
        "
    bit<8> variable;
    //     ^^^^^^^^ a variable is not allowed here
    bit<8> other = 5;
    //     ^^^^^ a variable is not allowed here
    strut s { bit<8> x; }
  //^^^^^ expected a declaration
    table t { key = { } }
  //^^^^^ `table` is not allowed here
    }
  //^ expected a declaration, found `}`
    @a error { A }
  //^^ an annotation is not allowed here
    const bit<8> last = 1;
",
    );
}

#[test]
fn what_is_open_is_named() {
    check(
        "
    control c(in bit<8> x {
    //                    ^ expected `)`, found `{`
        apply {
            x = (1 + 2;
    //                ^ expected `)`, found `;`
            x = y[3;
    //             ^ expected `]`, found `;`
            x = { 1, 2;
    //                ^ expected `}`, found `;`
        }
    }
    control d() {
        apply {
            if (true) {
                exit;
        }
    }
    struct s { bit<8> f; }
  //^^^^^^ expected `}`, found keyword `struct`
",
    );
}

#[test]
fn keywords_are_no_names() {
    check(
        "
    struct s { bit<8> in; bit<8> key; bit<8> table; bit<8> list; }
    //                ^^ expected a name, found keyword `in`
    //                                       ^^^^^ expected a name, found keyword `table`
    control c() {
        apply {
            list = 1;
    //      ^^^^ expected a statement, found keyword `list`
        }
    }
",
    );
}

#[test]
fn types() {
    check(
        "
    struct s { _ a; void b; varbit c; list<bit, bit> d; bit<8 e; }
    //         ^ expected a type, found keyword `_`
    //              ^^^^ expected a type, found keyword `void`
    //                             ^ expected `<`, found `c`
    //                                ^^^^^^^^^^^^^^ `list` takes one type
    //                                                        ^ expected `>`, found `e`
    typedef + x;
    //      ^ expected a type, found `+`
    type struct t { } u;
    //   ^^^^^^ a declaration is not allowed here
",
    );
}

#[test]
fn statements() {
    check(
        "
    control c() {
        action a() { }
        apply {
            x + 1;
    //        ^ expected an assignment or a call, found `+`
            5 = x;
    //      ^ expected a statement, found `5`
            f(x).y = 3;
    //      ^^^^ not the target of an assignment or call
            x = ;
    //          ^ expected an expression, found `;`
            if x == 1 { }
    //         ^ expected `(`, found `x`
    //                ^ expected `)`, found `{`
            @name(\"x\") x = 1;
    //      ^^^^^^^^^^ an annotation is not allowed here
            table t { actions = { a; } }
    //      ^^^^^ a table is not allowed here
            action b() { }
    //      ^^^^^^ an action is not allowed here
            else { }
    //      ^^^^ expected a statement, found keyword `else`
            switch (x) { {1}: { } 2 { } 3: { } }
    //                   ^ expected a label, found `{`
    //                              ^ expected `:`, found `{`
            for (i in 1 .. 2) { }
    //           ^ a loop variable without type
            for (bit<8> i = 0; i < 8) { }
    //                              ^ expected `;`, found `)`
            f(1,);
    //          ^ expected an argument, found `)`
            f(_ + 1);
    //          ^ expected `)`, found `+`
            x = 2;
        }
    }
",
    );
}

#[test]
fn parsers() {
    check(
        "
    parser p(in bit<8> x,) {
    //                   ^ expected a parameter, found `)`
        state start {
            return;
    //      ^^^^^^ `return` is not allowed here
            for (;true;) { }
    //      ^^^ `for` is not allowed here
            transition accept;
            x = 1;
    //      ^ expected `}` after the transition
        }
        bit<8> late;
    //         ^^^^ a declaration is not allowed here
        table t { }
    //  ^^^^^ `table` is not allowed here
        state next {
            transition select(x) { 1 accept; (1, 2: accept; default: 5; _: accept; }
    //                               ^^^^^^ expected `:`, found `accept`
    //                                            ^ expected `)`, found `:`
    //                                                               ^ expected a name, found `5`
        }
    }
    parser q() { bit<8> y; }
    //     ^ a parser without states
",
    );
}

#[test]
fn controls_and_tables() {
    check(
        "
    control c() {
        table t {
            const key = { x: exact; }
    //      ^^^^^ `const` is not allowed here
            key = { x exact; y: lpm }
    //                ^^^^^ expected `:`, found `exact`
    //                              ^ expected `;`, found `}`
            actions { a; }
    //              ^ expected `=`, found `{`
            entries = { priority = p: 1: a; priority = 1: 2: a(; }
    //                             ^ expected a number or an expression in parentheses, found `p`
    //                                                         ^ expected an expression, found `;`
            list = 5;
    //      ^^^^ expected a table property, found keyword `list`
            size = 1;
        }
        table u { }
    //        ^ a table without properties
        state s { }
    //          ^ expected `;`, found `{`
        return;
    //  ^^^^^^ expected a declaration or `apply`, found keyword `return`
    }
  //^ expected `apply`, found `}`
",
    );
}

#[test]
fn externs_and_enums() {
    check(
        "
    extern E {
        E();
        F();
    //  ^ method `F` has no return type
        void g(in bit<8> x)
    }
  //^ expected `;`, found `}`
    enum Plain { A = 1, B }
    //             ^ a value in an enum without type
    enum bit<8> Valued { A, B = 2 }
    //                    ^ expected `=`, found `,`
    enum Empty { }
    //           ^ expected a name, found `}`
    extern void f(in bit<8>);
    //                     ^ expected a name, found `)`
",
    );
}

#[test]
fn annotations() {
    check(
        "
    @a[1, b = 2] const bit<8> x = 1;
    //      ^ expected `]`, found `=`
    @b[c = 1, 2] const bit<8> y = 1;
    //        ^ expected a name, found `2`
    @pragma
    const bit<8> z = 1;
  //^^^^^ expected the name of a pragma, found keyword `const`
    @ const bit<8> w = 1;
    //             ^ a variable is not allowed here
    @c(1 const bit<8> v = 1;
    //                      ^ expected `)`, found the end of the file
",
    );
}

#[test]
fn the_end_comes_too_early() {
    check(
        "
    const bit<8> x =
    control
  //^^^^^^^ expected an expression, found keyword `control`
    //     ^ expected a name, found the end of the file
",
    );
}

#[test]
fn nothing_is_said_twice() {
    let (parsed, _) = common::parse_text("control c() { apply { x = ((((1; } }");
    assert_eq!(parsed.diagnostics.error_count(), 1);
}

#[test]
fn after_an_error_in_a_directive_the_parser_is_silent() {
    let (parsed, _) = common::parse_text("#include <nowhere.p4>\nmain(\n");
    let codes: Vec<u16> = parsed.diagnostics.iter().map(|d| d.code.0).collect();
    assert_eq!(codes, [110]);
}

#[test]
fn every_explained_example_shows_its_error() {
    for entry in base_diag::codes::syntax::ENTRIES {
        let (_, rest) = entry.text.split_once("```p4\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        let (parsed, _) = common::parse_text(&example.replace("program.p4", "main.p4"));
        let codes: Vec<_> = parsed.diagnostics.iter().map(|d| d.code).collect();
        assert!(codes.contains(&entry.code), "{} gives {codes:?}", entry.code);
    }
}

#[test]
fn advice() {
    let help = |text: &str| {
        let (parsed, _) = common::parse_text(text);
        parsed
            .diagnostics
            .iter()
            .flat_map(|d| d.help.iter().chain(&d.notes))
            .cloned()
            .collect::<Vec<_>>()
            .join("; ")
    };
    let body = |body: &str| help(&format!("control c() {{ apply {{ {body} }} }}"));
    assert_eq!(body("if (x = 1) { }"), "`==` compares, `=` assigns");
    assert_eq!(body("x++;"), "write `+= 1`; `++` joins bits");
    assert_eq!(body("x--;"), "write `-= 1`");
    assert_eq!(help("strut s { }"), "did you mean `struct`?");
    assert_eq!(help("struct in { }"), "`in` is a keyword; choose another name");
    let old = help("header_type e { fields { a : 8; } }\nheader e f;\nparser start { return ingress; }");
    assert_eq!(
        old,
        "p4c translates programs: `p4test --std p4-14 --pp NEW.p4 OLD.p4`; \
         `header_type` belongs to P4-14, which is not supported; no further errors are reported"
    );
}

#[test]
fn an_error_in_a_macro_shows_the_call_and_the_body() {
    let (parsed, map) = common::parse_text(
        "#define SET(f) hdr.f = ;\ncontrol c() {\n    apply {\n        SET(ttl)\n        SET(5)\n    }\n}\n",
    );
    let text: Vec<String> =
        parsed.diagnostics.iter().map(|d| base_diag::render(d, &map, Default::default())).collect();
    expect_test::expect![[r#"
        error[P4R0120]: expected an expression, found `;`
         --> main.p4:4:9
          |
        1 | #define SET(f) hdr.f = ;
          |                        - in the expansion of macro `SET`
        ...
        4 |         SET(ttl)
          |         ^^^^^^^^ unexpected

        error[P4R0120]: expected a name, found `5`
         --> main.p4:5:13
          |
        5 |         SET(5)
          |             ^ unexpected
    "#]]
    .assert_eq(&text.join("\n"));
}
