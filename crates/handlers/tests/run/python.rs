//! Handlers in Python do as handlers in C.

use super::{COUNT, ask, at, built, built_from, instance};
use base_bits::Bits;
use base_diag::{Style, render};
use handlers::{Built, Isolation};
use std::sync::Arc;

/// The handler in C, in Python.
const COUNT_PY: &str = r#"import struct

def count_init(ctx, config):
    words = dict(word.split("=") for word in config.split())
    ctx.memory.update(start=int(words["start"]), sums=[0] * 16)
    ctx.tick_at(1000)

def count(ctx, request):
    if request.op == 2:
        return None
    at = request.flow % 16
    ctx.memory["sums"][at] += ctx.memory["start"] + ctx.random_below(100)
    return {
        "delta": request.delta - 1 if request.delta < 0 else 5,
        "flag": not request.flag,
        "wide": request.wide,
        "mac": request.mac + 1,
        "sum": ctx.memory["sums"][at],
    }

def count_tick(ctx, now_ns):
    ctx.memory["start"] += 1
    ctx.tick_at(now_ns + 1000)

def count_export(ctx, key):
    total = ctx.memory["sums"][key.flow % 16]
    ctx.memory["sums"][key.flow % 16] = 0
    return struct.pack("<Q", total) if total else None

def count_import(ctx, key, state):
    if len(state) != 8:
        return False
    ctx.memory["sums"][key.flow % 16] = struct.unpack("<Q", state)[0]
    return True
"#;

fn python(file: &str, source: &str) -> Arc<Built> {
    built_from(file, source).unwrap_or_else(|(found, map, _)| {
        panic!("{}", found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>())
    })
}

#[test]
fn python_does_as_c() {
    let (python, c) = (python("same.py", COUNT_PY), built("same-c", COUNT));
    assert_eq!((python.warnings().len(), c.warnings().len()), (1, 0));
    // Inline is for C alone.
    let mut one = instance(&python, Isolation::Inline);
    let mut other = instance(&c, Isolation::Inline);
    let mut kept = vec![];
    for n in 0..200 {
        let (flow, op) = (u128::from(n * 7 % 11), if n % 9 == 0 { 2 } else { 1 });
        assert_eq!(ask(&mut *one, flow, op, n * 50), ask(&mut *other, flow, op, n * 50), "call {n}");
        assert_eq!(one.deadline(), other.deadline());
        if one.deadline().is_some_and(|due| due <= at(n * 50)) {
            one.tick(at(n * 50));
            other.tick(at(n * 50));
        }
        if n == 100 {
            kept = one.snapshot();
            assert_eq!(kept, one.snapshot());
        }
    }
    let before = ask(&mut *one, 3, 1, 20_000);
    let mut fresh = instance(&python, Isolation::Process);
    fresh.restore(&kept).unwrap_or_else(|error| panic!("{}", error.0));
    assert_eq!(fresh.snapshot(), kept);
    assert_ne!(ask(&mut *fresh, 3, 1, 20_000), before);
    one.restore(&kept).unwrap_or_else(|error| panic!("{}", error.0));
    fresh.restore(&kept).unwrap_or_else(|error| panic!("{}", error.0));
    assert_eq!(ask(&mut *one, 3, 1, 0), ask(&mut *fresh, 3, 1, 0));
    // Snapshots of one language are not for the other, and nothing happens.
    assert!(other.restore(&kept).is_ok(), "an arena takes any bytes");
    let arena = instance(&c, Isolation::Inline).snapshot();
    let before = one.snapshot();
    assert!(one.restore(&arena).is_err());
    assert_eq!(one.snapshot(), before);
}

#[test]
fn an_exception_costs_what_is_after_the_last_snapshot() {
    let source = COUNT_PY.replace("        return None\n    at", "        raise ValueError\n    at");
    let built = python("raises.py", &source);
    let mut object = instance(&built, Isolation::Process);
    assert!(!ask(&mut *object, 3, 1, 0)[5].is_zero());
    assert_eq!(ask(&mut *object, 3, 2, 0)[5], Bits::from_bool(false));
    assert!(!ask(&mut *object, 3, 1, 0)[5].is_zero(), "it goes on");
    let (failures, count) = built.failures().all();
    assert_eq!((count, failures[0].why.as_str()), (1, "it ended with status 1"));
    let unknown = COUNT_PY.replace("\"delta\": ", "\"gamma\": ");
    let built = python("field.py", &unknown);
    assert!(ask(&mut *instance(&built, Isolation::Process), 3, 1, 0)[5].is_zero(), "no such field");
}

fn refused(file: &str, source: &str) -> String {
    let (found, map, directory) = built_from(file, source).err().expect("it is refused");
    found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>().replace(&directory, "")
}

#[test]
fn what_python_must_not_use_is_named_at_its_place() {
    let source =
        COUNT_PY.replace("import struct", "import time").replace("return None", "return open(\"x\")");
    let found = refused("uses.py", &source);
    assert!(
        found.contains("a handler must not import `time`: the same packets must give the same results"),
        "{found}"
    );
    assert!(found.contains("uses.py:1:1") && found.contains("a handler must not use `open`"), "{found}");
    let found = refused("syntax.py", "def count(ctx, request:\n");
    assert!(found.contains("error[P4R1403]") && found.contains("syntax.py:1:10"), "{found}");
    let found = refused("other.py", "def counts(ctx, request):\n    return None\n");
    assert!(found.contains("no source defines handler `count`"), "{found}");
    assert!(found.contains("write `def count(ctx, request): ...`"), "{found}");
    let found = refused("global.py", &COUNT_PY.replace("    at = ", "    global at\n    at = "));
    assert!(found.contains("a handler keeps everything in `ctx.memory`"), "{found}");
}
