//! Programs in CLIP's form.

use target_c::clip::{Mistake, parts};

const PROGRAM: &str = r#"// request { in a comment }
#define BRACE {
header h_t { bit<32> a; }
/* Parameters */
request { bit<32> addr; colour_t colour; /* a; */ int<8> delta };
response {
    bit<32> sub; // }
}
extern "C" {
#include "other.h"
static uint32_t twice(uint32_t x) { return x * 2; }
}
@remote(group = "nat", key = { req.addr })
bool translate(request req, response res) {
    char c = '}';
    if (req.addr == 0) return false;
    res.sub = twice(req.addr); other.res = res.sub;
    return c != '{';
}
control pre(inout headers_t hdr, out request req) { apply { req.addr = 1; } }
"#;

#[test]
fn both_parts_keep_their_lines() {
    let made = parts(PROGRAM, "a \"b\".p4c", "nat.h").expect("it is right");
    expect_test::expect![[r#"
        // request { in a comment }
        #define BRACE {
        header h_t { bit<32> a; }
        /* Parameters */
        struct translate_request { bit<32> addr; colour_t colour; /* a; */ int<8> delta } typedef translate_request request;
        struct translate_response {
            bit<32> sub; // }
        } typedef translate_response response;




        @remote(handler = "translate", group = "nat", key = { req.addr })
        extern bool translate(in request req, out response res);





        control pre(inout headers_t hdr, out request req) { apply { req.addr = 1; } }
    "#]]
    .assert_eq(&made.p4);
    expect_test::expect![[r##"
        #include <stdbool.h>
        #include "nat.h"
        typedef struct { __typeof__(translate_request_addr((const translate_request *)0)) addr; __typeof__(translate_request_colour((const translate_request *)0)) colour; __typeof__(translate_request_delta((const translate_request *)0)) delta; } request;
        typedef struct { __typeof__(translate_response_sub((const translate_response *)0)) sub; } response;
        #line 9 "a \"b\".p4c"

        #include "other.h"
        static uint32_t twice(uint32_t x) { return x * 2; }

        static bool p4c_translate(p4r_ctx *ctx, const request req, response *res)
        #line 14 "a \"b\".p4c"
        {
            char c = '}';
            if (req.addr == 0) return false;
            (*res).sub = twice(req.addr); other.res = (*res).sub;
            return c != '{';
        }
        #line 1 "the call of translate"
        int translate(p4r_ctx *ctx, const translate_request *from, translate_response *to) {
            const request asked = { .addr = translate_request_addr(from), .colour = translate_request_colour(from), .delta = translate_request_delta(from) };
            response answer;
            memset(&answer, 0, sizeof answer);
            if (!p4c_translate(ctx, asked, &answer)) return P4R_DROP;
            translate_response_set_sub(to, answer.sub);
            return P4R_OK;
        }
    "##]].assert_eq(&made.c);
    assert_eq!(made.p4.lines().count(), PROGRAM.lines().count());
}

#[test]
fn a_handler_may_have_no_response_and_no_annotation() {
    let made = parts("request { bit<8> a; } void f(request q) { }", "f.p4c", "f.h").expect("it is right");
    let wanted = "struct f_request { bit<8> a; } typedef f_request request; @remote(handler = \"f\") extern void f(in request q);";
    assert_eq!(made.p4, wanted);
    assert!(!made.c.contains("answer"), "{}", made.c);
}

fn refused(text: &str) -> String {
    let Mistake { at, why, .. } = parts(text, "f.p4c", "f.h").expect_err("it is refused");
    format!("{}: {why}", &text[at])
}

#[test]
fn mistakes_have_a_place() {
    let all = [
        ("control c() { apply { } }", ": there is no handler"),
        ("void f(request q, response r) { }", "f: there is no `request`"),
        ("request { bit<8> a; } void f(request q, response r) { }", "f: there is no `response`"),
        ("request { } void f(request q) { }", " : `request` has no fields"),
        ("request { flow_id } void f(request q) { }", "flow_id: a field needs a type and a name"),
        ("request { bit<72> a; } void f(request q) { }", "bit<72> a: C has no number of this size"),
        ("request { bit<8> a; } int f(request q) { }", "int: a handler returns `void` or `bool`"),
        ("request { bit<8> a; } void f(request) { }", "): the request needs a name"),
        ("request { bit<8> a; } void f(request q, int r) { }", "int: the second parameter is the response"),
        ("request { bit<8> a; } void f(request q);", "): `) {` is missing"),
        ("request { bit<8> a; } void f(request q) { } void g(request q) { }", "g: a second handler"),
        ("request { bit<8> a; } void f(request q) { \" }", "{: it is never closed"),
        ("request { bit<8> a; ", "{: it is never closed"),
        ("} request { bit<8> a; }", "}: nothing is open here"),
    ];
    for (text, wanted) in all {
        assert_eq!(refused(text), wanted, "{text}");
    }
}

/// Whatever the text, nothing panics.
#[test]
fn cut_and_changed_texts_are_read_or_refused() {
    for at in 0..PROGRAM.len() {
        let _ = parts(&PROGRAM[..at], "f.p4c", "f.h");
        let _ = parts(&PROGRAM[at..], "f.p4c", "f.h");
        for other in ["{", "}", "\"", "'", "/*", "//", "\\", "é", "request", "(", ")", "#", "\n"] {
            let _ = parts(&format!("{}{other}{}", &PROGRAM[..at], &PROGRAM[at..]), "f.p4c", "f.h");
        }
    }
}
