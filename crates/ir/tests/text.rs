//! The text form is read back unchanged, and bad texts are reported.

use ir::text::{erase_spans, read, write};

const EVERYTHING: &str = include_str!("programs/everything.ir");

#[track_caller]
fn same_text(left: &str, right: &str) {
    for (number, (l, r)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(l, r, "line {}", number + 1);
    }
    assert_eq!(left.lines().count(), right.lines().count());
}

#[test]
fn what_is_read_is_written_again() {
    let program = read(EVERYTHING).unwrap_or_else(|e| panic!("{e}"));
    same_text(&write(&program), EVERYTHING);
    let mut again = program.clone();
    erase_spans(&mut again);
    assert_eq!(program, again);
}

/// A program of one function with this body, for errors.
fn with_body(body: &str) -> String {
    format!(
        "arch v1model 0;\nerrors {{ E }}\nstruct s {{ bit<8> a; }}\nfunction f(x) -> void {{\n vars {{ inout s x; }}\n body {{\n{body}\n }}\n}}\nstages {{ }}\nmain M {{ }}\n"
    )
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = read(text).expect_err("it was read");
    assert_eq!(error.to_string(), message);
}

#[test]
fn errors_name_the_place_and_what_is_wrong() {
    assert!(read(&with_body("x.a = 8w0x1;")).is_ok());
    refused("", "1:1: expected `arch`, found the end of the text");
    refused(
        "arch tofino;",
        "1:6: expected `v1model`, `psa`, `pna`, `tna`, `t2na` or `other`, found `tofino`",
    );
    refused(&with_body("y.a = 8w1;"), "7:1: no variable is named `y`");
    refused(&with_body("X.a = 8w1;"), "7:1: no variable is named `X`; there is `x`");
    refused(&with_body("x.b = 8w1;"), "7:3: no field is named `b`");
    refused(&with_body("x.a = 8w256;"), "7:7: the value does not fit into 8 bits");
    refused(&with_body("x.a = 8w0xg;"), "7:7: `8w0xg`: `g` is no digit here");
    refused(&with_body("x.a = 99999999w1;"), "7:7: the width is too big");
    refused(&with_body("x.a = if;"), "7:7: expected an expression, found `if`");
    refused(&with_body("x.a 8w1;"), "7:5: expected `=`, an operator with `=`, or a call, found `8w1`");
    refused(&with_body("x.a = $frob(x);"), "7:7: nothing built-in is named `$frob`");
    refused(&with_body("x.$frob();"), "7:3: no built-in method is named `$frob`");
    refused(&with_body("x.a = error::F;"), "7:14: no error is named `F`");
    refused(&with_body("x.a = s::A;"), "7:10: the type has no member `A`");
    refused(&with_body("x = \"abc"), "7:5: it has no end");
    refused(&with_body("x = §;"), "7:5: unexpected `§`");
    refused(&with_body("{"), "4:11: this declaration has no end");
    refused(&with_body("apply t;"), "7:7: no table is named `t`");
    refused(&with_body("x#1.a = 8w1;"), "7:1: variable 1 is not named `x`");
    refused(&with_body("}"), "9:1: expected a declaration, found `}`");
}

#[test]
fn names_that_are_shared_need_an_index() {
    let text = with_body("x.a = 8w0x1;").replace("inout s x;", "inout s x; local s x;");
    refused(&text, "4:12: several of variable are named `x`: write `x#0` or `x#1`");
}

#[test]
fn deep_texts_are_refused_and_do_not_overflow() {
    let deep = 20_000;
    for (open, close) in [("(", ")"), ("-", ""), ("{", "}"), ("$cast<bit<8>>(", ")")] {
        let body = format!("x.a = {}x.a{};", open.repeat(deep), close.repeat(deep));
        let message = read(&with_body(&body)).unwrap_err().message;
        assert!(message.contains("nested too deeply"), "{open}: {message}");
    }
    for link in [" + x.a", "[7:0]", " ? x.a : x.a", " == x.a"] {
        let body = format!("x.a = x.a{};", link.repeat(deep));
        assert!(read(&with_body(&body)).unwrap_err().message.contains("nested too deeply"), "{link}");
    }
    for open in ["{", "if (x.a == x.a) {", "if (true) { } else "] {
        let body = format!("{}{}", open.repeat(deep), "}".repeat(deep));
        assert!(read(&with_body(&body)).is_err(), "{open}");
    }
    let ty = format!("{}bit<8>{}", "tuple<".repeat(deep), ">".repeat(deep));
    let text = with_body("").replace("bit<8>", &ty);
    assert!(read(&text).unwrap_err().message.contains("nested too deeply"));
    let text = with_body("").replace("bit<8>", &format!("bit<8>{}", "[1]".repeat(deep)));
    assert!(read(&text).unwrap_err().message.contains("nested too deeply"));
}

#[test]
fn what_is_allowed_to_nest_is_written_and_read() {
    let depth = 150;
    let body = format!("x.a = {}x.a{};", "-(x.a + ".repeat(depth / 2), ")".repeat(depth / 2));
    let program = read(&with_body(&body)).unwrap();
    assert_eq!(read(&write(&program)).unwrap(), program);
    let body = format!("{}{}", "if (true) { } else ".repeat(depth), "{ }");
    let program = read(&with_body(&body)).unwrap();
    assert_eq!(read(&write(&program)).unwrap(), program);
}

/// Texts with some bytes changed, cut out or doubled: read or refused, and what is read comes back the same.
#[test]
fn mutated_texts_do_not_panic() {
    let mut rng = base_time::Rng::new(11);
    let mut accepted = 0;
    for _ in 0..1500 {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.index(bytes.len());
            let to = (at + rng.index(12)).min(bytes.len());
            match rng.below(4) {
                0 => bytes[at] = b"{}()<>;:#?%$@'`\"\\ax09-_"[rng.index(23)],
                1 => drop(bytes.drain(at..to)),
                2 => {
                    let piece = bytes[at..to].to_vec();
                    let target = rng.index(bytes.len());
                    bytes.splice(target..target, piece);
                }
                _ => bytes.truncate(bytes.len() - rng.index(3) * rng.index(1000)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(program) = read(&text) {
            accepted += 1;
            let written = write(&program);
            let again = read(&written).unwrap_or_else(|e| panic!("{e}\n{}", line(&written, e.line)));
            assert_eq!(again, program);
        }
    }
    assert!(accepted > 100, "{accepted} were accepted: the mutations are too coarse");
}

fn line(text: &str, number: usize) -> &str {
    text.lines().nth(number - 1).unwrap_or("")
}
