//! Text in, text out; compared with what `cpp` gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use base_diag::{Diagnostics, SourceMap, Style, render};
use expect_test::{Expect, expect};

use crate::token::{Token, TokenKind};
use crate::{LoadError, Loader, Options};

/// Files by path; `<name>` is built in.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl Loader for Files {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        self.0.get(path).map(|t| t.as_str().into()).ok_or(LoadError::NotFound)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        self.0.get(&format!("<{name}>")).map(|t| t.as_str().into())
    }
}

fn run(files: &[(&str, &str)], options: &Options) -> (String, String) {
    let loader = Files(files.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect());
    let mut map = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let main = files.first().map_or("", |f| f.0);
    let tokens = super::preprocess(main, &loader, options, &mut map, &mut diagnostics);
    let mut text = String::new();
    for token in tokens.iter().filter(|t| t.kind != TokenKind::Eof) {
        if token.has(Token::LINE_START) && !text.is_empty() {
            text.push('\n');
        } else if token.has(Token::SPACE) && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(map.text(token.span));
    }
    let messages = diagnostics.into_sorted(&map);
    (text, messages.iter().map(|d| render(d, &map, Style::Plain)).collect::<Vec<_>>().join("\n"))
}

/// The tokens of `text`, one line for each of its lines that holds any; no diagnostics.
#[track_caller]
fn check(text: &str, expected: &str) {
    let (out, messages) = run(&[("main.p4", text)], &Options::default());
    assert_eq!(messages, "");
    assert_eq!(out, expected);
}

#[track_caller]
fn check_error(text: &str, expect: Expect) {
    let (_, messages) = run(&[("main.p4", text)], &Options::default());
    expect.assert_eq(&messages);
}

#[test]
fn objects_are_replaced() {
    check("#define A 1 + B\n#define B 2\nA; B;\n#undef B\nA;", "1 + 2; 2;\n1 + B;");
    check("#define EMPTY\na EMPTY b\nEMPTY\nc", "a b\nc");
    check("#define bit int\nbit<8> x;", "int<8> x;");
    check("#define A /* c */ x // d\nA", "x");
}

#[test]
fn calls_are_replaced() {
    check("#define F(a, b) a-b\nF(1, (2, 3)) F (x,y) F", "1-(2, 3) x-y F");
    check("#define F(a) [a]\nF(\n 1\n)\nF(F(2)) F() x", "[1]\n[[2]] [] x");
    check("#define Z() z\nZ() Z( )", "z z");
    check("#define F (x)\nF", "(x)");
    check("#define F(x) x\n#define G F\nG(1) G\n(2)", "1 2");
    check("#define V(a, ...) a: __VA_ARGS__;\nV(1, 2, 3) V(1)", "1: 2, 3; 1:;");
    check("#define V(a, r...) f(a , ## r)\nV(1) V(1, 2, 3)", "f(1) f(1 , 2, 3)");
    check("#define LONG(s, n) \\\n  state s { \\\n   x = n; }\nLONG(a, 1)\nb", "state a { x = 1; }\nb");
}

/// The corpus of earlier tests had backslashes only where white space may stand, in the bodies of macros.
#[test]
fn lines_are_joined_before_tokens_are_made() {
    for newline in ["\n", "\r\n", "  \n"] {
        let check = |text: &str, expected: &str| check(&text.replace('^', &format!("\\{newline}")), expected);
        check("#define A_VERY_LONG_^NAME \"1.0\"\nA_VERY_LONG_NAME A_VERY_^LONG_NAME", "\"1.0\" \"1.0\"");
        check("#def^ine A 1^2\n#if^def A\nA\n#el^se\nno\n#end^if", "12");
        check("#define F^(x) <x ^x> #^x x#^#x\nF^(a^b)", "<ab ab> \"ab\" abab");
        check("#define F(x)^\n#define E^\na F(1) E b", "a b");
        check("#if 0\nx\n#el^if 1 ^ && 1\ny\n#endif // ^ z\nw", "y\nw");
        check("#define P(a, b) a##b\nP(n^1, ^2) n^o", "n12 no");
        check("a /^/ b ^ c\nd /^* ^ *^/ e", "a\nd e");
        check("x^", "x");
    }
}

#[test]
fn a_spliced_token_stands_where_it_is_written() {
    check_error(
        "#er\\\nror it \\\n is\n",
        expect![[r#"
        error[P4R0111]: #error: it  is
         --> main.p4:1:1
          |
        1 | / #er\
        2 | | ror it \
        3 | |  is
          | |___^ raised by the program
    "#]],
    );
    check_error(
        "a\n#inc\\\nlude <no\\\nthing.p4>\n#unde\\\nf\n",
        expect![[r#"
        error[P4R0110]: cannot find `nothing.p4`
         --> main.p4:3:6
          |
        3 |   lude <no\
          |  ______^
        4 | | thing.p4>
          | |_________^ no such file
          |
          = note: looked at the built-in architectures
          = help: give its directory with `-I DIR`, of a rack's program with `include`

        error[P4R0112]: `#undef` without a name
         --> main.p4:5:1
          |
        5 | / #unde\
        6 | | f
          | |_^ expected a name after it
    "#]],
    );
}

#[test]
fn a_macro_is_not_expanded_in_itself() {
    check("#define A A b\nA", "A b");
    check("#define A B\n#define B A\nA B", "A B");
    check("#define f(x) x f\nf(1)(2)", "1 f(2)");
    check("#define F(x) F2(x)\n#define F2(x) F(x)\nF(1)", "F(1)");
    check("#define x x.y\n#define G(a) a a\nG(x)", "x.y x.y");
}

#[test]
fn text_and_paste() {
    check("#define S(x) #x\nS(a  \"b\\n\"\n c) S()", "\"a \\\"b\\\\n\\\" c\" \"\"");
    check("#define P(a, b) a##b\nP(x,1) P(8w,5) P(,z) P(z,) P(,) P(+,+)", "x1 8w5 z z ++");
    check("#define SL(n) x[##n-1:0] state s_##n\nSL(8)", "x[8-1:0] state s_8");
    check("#define A 1\n#define P(a) a##_t S(a)\n#define S(a) #a\nP(A)", "A_t \"1\"");
    check("#define P(a, b, c) a ## b ## c\nP(1,2,3) P(1,,3) P(,,3) P(,,)", "123 13 3");
    check("#define H {#} a # b\nH", "{#} a # b");
    check("#define P(a) ##a##\nP(x)", "##x##");
    check("#define C(a, b) a ## b\n#define XY ok\nC(X, Y)", "ok");
}

#[test]
fn conditions_choose_lines() {
    let taken = |condition: &str| {
        let text = format!("#define V 20200408\n#if {condition}\nyes\n#else\nno\n#endif\n");
        let (out, messages) = run(&[("main.p4", &text)], &Options::default());
        assert_eq!(messages, "", "{condition}");
        out
    };
    for yes in [
        "V >= 20200408",
        "defined V && !defined(W)",
        "1 ? 2 : 0",
        "0 ? 1/0 : 5",
        "0 && 1/0 || 1",
        "(1 << 3) == 8u",
        "-1 > 0u",
        "-1 < 0",
        "0x10 == 16 && 010 == 8 && 0b11 == 3",
        "W == 0",
        "-5 / 2 == -2 && -5 % 2 == -1",
        "-8 >> 1 == -4",
        "~0 == -1",
        "1 + 2 * 3 == 7 && 7 - 2 - 1 == 4",
        "1 | 2 ^ 3 & 4 == 4",
        "1 \\\n && 1",
    ] {
        assert_eq!(taken(yes), "yes", "{yes}");
    }
    for no in ["V < 20200408", "W", "0 ? 1 : 0", "!1", "1 == 2 || 0", "5 > 5"] {
        assert_eq!(taken(no), "no", "{no}");
    }
}

#[test]
fn conditions_nest_and_have_alternatives() {
    let text = "#ifdef A\n#if 1\na\n#endif\n#elif B == 2\n#ifndef A\nb\n#else\nc\n#endif\n#elif 1/0\nd\n#else\ne\n#endif\nf";
    check(&format!("#define B 2\n{text}"), "b\nf");
    check(&format!("#define A\n{text}"), "a\nf");
    check("#if 0\ndon't /* \n#endif */ \"\n#else garbage\nx\n#endif // y\n", "x");
    check("#if 1 /* a\n b */\nx\n#endif", "x");
    check("#define HAS defined(X)\n#define X 5\n#if HAS\nyes\n#endif", "yes");
}

#[test]
fn what_is_no_directive_is_dropped() {
    check("#\n#foo bar\n# this isn't one\n#pragma x\na", "a");
    check("don't a # b", "don't a # b");
    check("#error2 x\n#if 0\n#error no\n#endif\na", "a");
}

#[test]
fn places() {
    check("__LINE__ \\\n __LINE__\n__FILE__", "1 2\n\"main.p4\"");
    check("#define L __LINE__\n#define F(x) L x\n\nF(\n1)", "4 1");
    check("# 40 \"a b.p4\" 1 3\n__LINE__ __FILE__\n#line 7\n__LINE__", "40 \"a b.p4\"\n7");
    check("__COUNTER__ __COUNTER__", "0 1");
}

#[test]
fn includes_are_searched_in_order() {
    let files = [
        (
            "d/main.p4",
            "#include \"a.p4\"\n#include <a.p4>\n#include <b.p4>\n#define C <c/d.p4>\n#include C\nend",
        ),
        ("d/a.p4", "beside"),
        ("inc/a.p4", "by -I"),
        ("inc/sub/x.p4", "#include \"y.p4\""),
        ("inc/sub/y.p4", "nested"),
        ("<b.p4>", "built in"),
        ("<c/d.p4>", "#include \"sub/x.p4\""),
    ];
    let options = Options { include_dirs: vec!["inc".into()], ..Options::default() };
    let (out, messages) = run(&files, &options);
    assert_eq!(messages, "");
    assert_eq!(out, "beside\nby -I\nbuilt in\nnested\nend");
}

#[test]
fn guards_and_once() {
    let files = [
        ("main.p4", "#include \"a\"\n#include \"a\"\n#include \"b\"\n#include \"b\""),
        ("a", "#ifndef A\n#define A\na\n#endif"),
        ("b", "#pragma once\nb"),
    ];
    assert_eq!(run(&files, &Options::default()), ("a\nb".into(), "".into()));
}

#[test]
fn defines_from_outside() {
    let options = Options {
        defines: vec!["A".into(), "B=2 + 3".into(), "F(x)=x;".into(), "C=1".into()],
        undefines: vec!["C".into()],
        ..Options::default()
    };
    assert_eq!(run(&[("m", "A B F(y) C")], &options), ("1 2 + 3 y; C".into(), "".into()));
}

#[test]
fn an_include_that_is_not_there() {
    check_error(
        "a\n#include <v1modle.p4>\nb",
        expect![[r#"
            error[P4R0110]: cannot find `v1modle.p4`
             --> main.p4:2:10
              |
            2 | #include <v1modle.p4>
              |          ^^^^^^^^^^^^ no such file
              |
              = note: looked at the built-in architectures
              = help: give its directory with `-I DIR`, of a rack's program with `include`
        "#]],
    );
}

#[test]
fn error_and_warning() {
    check_error(
        "#if 1\n# warning it's \"old\"\n#error define TARGET // please\n#endif",
        expect![[r#"
        warning[P4R0118]: #warning: it's "old"
         --> main.p4:2:1
          |
        2 | # warning it's "old"
          | ^^^^^^^^^^^^^^^^^^^^ raised by the program

        error[P4R0111]: #error: define TARGET
         --> main.p4:3:1
          |
        3 | #error define TARGET // please
          | ^^^^^^^^^^^^^^^^^^^^ raised by the program
    "#]],
    );
}

#[test]
fn malformed_directives() {
    check_error(
        "#include\n#include foo\n#include <a\n#define 2x\n#ifdef\n#endif\n#undef +\n#define F(a b\n",
        expect![[r#"
            error[P4R0112]: `#include` without a file
             --> main.p4:1:1
              |
            1 | #include
              | ^^^^^^^^ expected `"file"` or `<file>`

            error[P4R0112]: `#include` without a file
             --> main.p4:2:1
              |
            2 | #include foo
              | ^^^^^^^^ expected `"file"` or `<file>`

            error[P4R0112]: `#include` without a file
             --> main.p4:3:1
              |
            3 | #include <a
              | ^^^^^^^^ expected `"file"` or `<file>`

            error[P4R0112]: `#define` without a name
             --> main.p4:4:9
              |
            4 | #define 2x
              |         ^^ `2x` is not a name

            error[P4R0112]: `#ifdef` without a name
             --> main.p4:5:1
              |
            5 | #ifdef
              | ^^^^^^ expected a name after it

            error[P4R0112]: `#undef` without a name
             --> main.p4:7:8
              |
            7 | #undef +
              |        ^ `+` is not a name

            error[P4R0112]: malformed parameters of macro `F`
             --> main.p4:8:10
              |
            8 | #define F(a b
              |          ^ expected names separated by commas and `)`
        "#]],
    );
}

#[test]
fn unbalanced_conditions() {
    check_error(
        "#endif\n#else\n#if 1\n#else\n#elif 1\n#endif\n#ifdef X\n",
        expect![[r#"
            error[P4R0113]: `#endif` without `#if`
             --> main.p4:1:1
              |
            1 | #endif
              | ^^^^^^ no `#if` is open in this file

            error[P4R0113]: `#else` without `#if`
             --> main.p4:2:1
              |
            2 | #else
              | ^^^^^ no `#if` is open in this file

            error[P4R0113]: `#elif` after `#else`
             --> main.p4:5:1
              |
            3 | #if 1
              | --- of this condition
            4 | #else
            5 | #elif 1
              | ^^^^^ only `#endif` may follow

            error[P4R0113]: this condition is not closed
             --> main.p4:7:1
              |
            7 | #ifdef X
              | ^^^^^^ no `#endif` follows in this file
        "#]],
    );
}

#[test]
fn conditions_without_value() {
    check_error(
        "#if\n#endif\n#if 1 +\n#endif\n#if 1/0\n#endif\n#if 8w1\n#endif\n#if (1\n#endif\n#if 1 2\n#endif\n#if \"a\"\n#endif\n#if defined\n#endif",
        expect![[r#"
            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:1:1
              |
            1 | #if
              | ^^^ expected a value after it

            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:3:7
              |
            3 | #if 1 +
              |       ^ expected a value after it

            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:5:6
              |
            5 | #if 1/0
              |      ^ division by zero

            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:7:5
              |
            7 | #if 8w1
              |     ^^^ `8w1` is not a number for the preprocessor

            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:9:6
              |
            9 | #if (1
              |      ^ expected `)` here

            error[P4R0114]: the condition of `#if` has no value
              --> main.p4:11:7
               |
            11 | #if 1 2
               |       ^ expected an operator here

            error[P4R0114]: the condition of `#if` has no value
              --> main.p4:13:5
               |
            13 | #if "a"
               |     ^^^ unexpected `"a"`

            error[P4R0114]: the condition of `#if` has no value
              --> main.p4:15:5
               |
            15 | #if defined
               |     ^^^^^^^ expected a name after `defined`
        "#]],
    );
}

#[test]
fn wrong_calls() {
    check_error(
        "#define F(a, b) a b\n#define V(a, ...) a\nF(1) F(1, 2, 3)\nV()\nF(",
        expect![[r#"
            error[P4R0115]: macro `F` called with 1 argument
             --> main.p4:3:1
              |
            1 | #define F(a, b) a b
              |         - defined here
            2 | #define V(a, ...) a
            3 | F(1) F(1, 2, 3)
              | ^^^^ wants 2

            error[P4R0115]: macro `F` called with 3 arguments
             --> main.p4:3:6
              |
            1 | #define F(a, b) a b
              |         - defined here
            2 | #define V(a, ...) a
            3 | F(1) F(1, 2, 3)
              |      ^^^^^^^^^^ wants 2

            error[P4R0115]: the call of macro `F` is not closed
             --> main.p4:5:1
              |
            5 | F(
              | ^ no `)` follows
        "#]],
    );
}

#[test]
fn redefinition() {
    check_error(
        "#define A 1\n#define A  1\n#define A 2\n",
        expect![[r#"
        warning[P4R0117]: macro `A` is redefined
         --> main.p4:3:9
          |
        2 | #define A  1
          |         - defined differently here
        3 | #define A 2
          |         ^ this definition counts from here on
          |
          = help: write `#undef A` before it
    "#]],
    );
}

#[test]
fn what_never_ends() {
    check_error(
        "a \"b\n/* c",
        expect![[r#"
        error[P4R0103]: this string does not end
         --> main.p4:1:3
          |
        1 | a "b
          |   ^ no closing `"` follows in this file

        error[P4R0102]: this comment does not end
         --> main.p4:2:1
          |
        2 | /* c
          | ^^ no `*/` follows in this file
    "#]],
    );
}

#[test]
fn a_diagnostic_in_a_macro_leads_to_the_user() {
    check_error(
        "#define C 1 +\n#define D C\n\n\n\n#if D\n#endif",
        expect![[r#"
        error[P4R0114]: the condition of `#if` has no value
         --> main.p4:6:5
          |
        1 | #define C 1 +
          |             - in the expansion of macro `C`
        2 | #define D C
          |           - in the expansion of macro `D`
        ...
        6 | #if D
          |     ^ expected a value after it
    "#]],
    );
}

#[test]
fn endless_includes_and_expansions_are_stopped() {
    check_error(
        "#include \"main.p4\"",
        expect![[r#"
            error[P4R0116]: too many or too large includes
             --> main.p4:1:10
              |
            1 | #include "main.p4"
              |          ^^^^^^^^^ 200 files are open already
              |
              = note: included from main.p4:1
              = note: nothing is included from here on
              = help: a file that includes itself needs a guard: `#ifndef F_P4`, `#define F_P4`, ..., `#endif`
        "#]],
    );
    let (_, messages) = run(
        &[("main.p4", "#include \"main.p4\"\n#include \"main.p4\"\n#include \"main.p4\"\n")],
        &Options::default(),
    );
    assert_eq!(messages.matches("error[").count(), 1, "{messages}");
    let pairs: Vec<(String, String)> = (1..60)
        .map(|i| (format!("f{i}"), format!("#include \"f{0}\"\n#include \"f{0}\"\n", i + 1)))
        .collect();
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(n, t)| (n.as_str(), t.as_str())).chain([("f60", "")]).collect();
    let (_, messages) = run(&pairs, &Options::default());
    assert_eq!(messages.matches("error[").count(), 1, "{messages}");
    let bomb: String = (1..40).map(|i| format!("#define A{i} A{} A{}\n", i - 1, i - 1)).collect();
    check_error(
        &format!("{bomb}A39"),
        expect![[r#"
            error[P4R0116]: macros expand to too many tokens
              --> main.p4:40:1
               |
             2 | #define A2 A1 A1
               |               -- in the expansion of macro `A2`
             3 | #define A3 A2 A2
               |               -- in the expansion of macro `A3`
             4 | #define A4 A3 A3
               |               -- in the expansion of macro `A4`
             5 | #define A5 A4 A4
               |            -- in the expansion of macro `A5`
            ...
            40 | A39
               | ^^^ macros are not expanded from here on
               |
               = note: the limits are 2097152 tokens in all and 60 calls in arguments of calls
        "#]],
    );
    let deep = format!("#define F(x) x\n{}1{}", "F(".repeat(1000), ")".repeat(1000));
    check_error(
        &deep,
        expect![[r#"
            error[P4R0116]: calls are nested too deeply
             --> main.p4:2:123
              |
            2 | ...F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(F(...
              |                                                  ^ macros are not expanded from here on
              |
              = note: the limits are 2097152 tokens in all and 60 calls in arguments of calls
        "#]],
    );
    check_error(
        &format!("#if {}1\n#endif", "(".repeat(100_000)),
        expect![[r#"
            error[P4R0114]: the condition of `#if` has no value
             --> main.p4:1:106
        "#]],
    );
}
