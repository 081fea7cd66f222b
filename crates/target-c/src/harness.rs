//! Sources with a `main`, compiled and linked together with the handlers: a worker process and fuzz targets.

use crate::header;
use ir_handlers::{FieldKind, Handler};
use std::fmt::Write;

const WORKER: &str = include_str!("worker.c");
const FUZZ: &str = include_str!("fuzz.c");

const BATCH: &str = include_str!("batch.c");

/// Source of the table `p4r_handlers`, which a library provides to p4rack with the handlers, in the order of `handlers`, and of `p4r_batch`.
pub fn calls(program: &str, handlers: &[Handler]) -> String {
    let table = table(program, handlers);
    format!(
        "{table}\nextern const struct handler *const p4r_handlers;\nconst struct handler *const p4r_handlers = handlers;\n{BATCH}"
    )
}

/// The source of a worker process: `WORKER NAME` calls the handler of this name. `arena` is the size of its memory.
pub fn worker(program: &str, handlers: &[Handler], arena: u64) -> String {
    format!("{}\n#define ARENA {arena}ul\n{WORKER}", table(program, handlers))
}

/// The source of a fuzz target for the handler of this index.
pub fn fuzz(program: &str, handlers: &[Handler], fuzzed: usize, arena: u64) -> String {
    let config = handlers.get(fuzzed).map_or("", |handler| handler.config.as_str());
    let mut quoted = String::new();
    for byte in config.bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' && byte != b'?' => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    let table = table(program, handlers);
    format!("{table}\n#define ARENA {arena}ul\n#define FUZZED {fuzzed}\n#define CONFIG \"{quoted}\"\n{FUZZ}")
}

/// The handlers as data, with calls of one form.
fn table(program: &str, handlers: &[Handler]) -> String {
    let mut out = header(program, handlers);
    out.push_str(
        "
struct handler {
    const char *name;
    size_t request, response, key;
    const uint8_t *bits;
    int (*call)(p4r_ctx *, const void *, void *);
    int (*pass)(p4r_ctx *, void *, void *, const void *, void *);
    int (*init)(p4r_ctx *, const char *);
    void (*tick)(p4r_ctx *, uint64_t);
    void *(*snapshot)(p4r_ctx *, long *);
    int (*restore)(p4r_ctx *, const void *, long);
    long (*export)(p4r_ctx *, const void *, void *, long);
    int (*import)(p4r_ctx *, const void *, const void *, long);
    int (*block)(p4r_ctx *, uint64_t);
};
",
    );
    let mut rows = String::new();
    for handler in handlers {
        let Handler { name, request, response, key, .. } = handler;
        let mut weak = vec!["init", "tick", "snapshot", "restore"];
        if key.size > 0 {
            weak.extend(["export", "import"]);
        }
        if handler.block.is_some() {
            weak.push("block");
        }
        for part in &weak {
            let _ = writeln!(out, "extern __typeof__({name}_{part}) {name}_{part} __attribute__((weak));");
        }
        let (answer, unused) = match response {
            Some(_) => (", r", ""),
            None => ("", " (void)r;"),
        };
        let _ = writeln!(
            out,
            "static int p4r_call_{name}(p4r_ctx *c, const void *q, void *r) {{{unused} return {name}(c, q{answer}); }}"
        );
        let (from, to) = (request.size, response.as_ref().map_or(0, |fields| fields.size));
        // A call with the copies before and after it: their sizes are known here.
        let _ = writeln!(
            out,
            "static int p4r_pass_{name}(p4r_ctx *c, void *q, void *r, const void *in, void *out) {{\n    memcpy(q, in, {from}), memset(r, 0, {to});\n    int status = p4r_call_{name}(c, q, r);\n    if (status == P4R_OK) memcpy(out, r, {to});\n    return status;\n}}"
        );
        let bits: Vec<String> = request
            .fields
            .iter()
            .flat_map(|field| {
                let first = match (field.width % 8, field.kind) {
                    (0, _) | (_, FieldKind::Signed) => 0xff,
                    (rest, _) => (1u32 << rest) - 1,
                };
                std::iter::once(first).chain(std::iter::repeat_n(0xff, field.size - 1))
            })
            .map(|mask| mask.to_string())
            .collect();
        let _ = writeln!(out, "static const uint8_t p4r_bits_{name}[] = {{ {} }};", bits.join(", "));
        let moves = match key.size {
            0 => "NULL, NULL".to_string(),
            _ => format!(
                "(long (*)(p4r_ctx *, const void *, void *, long)){name}_export, (int (*)(p4r_ctx *, const void *, const void *, long)){name}_import"
            ),
        };
        let block = handler.block.as_ref().map_or("NULL".to_string(), |_| format!("{name}_block"));
        let _ = writeln!(
            rows,
            "    {{ \"{name}\", {from}, {to}, {}, p4r_bits_{name}, p4r_call_{name}, p4r_pass_{name}, {name}_init, {name}_tick, {name}_snapshot, {name}_restore, {moves}, {block} }},",
            key.size
        );
    }
    let _ = writeln!(out, "static const struct handler handlers[] = {{\n{rows}}};");
    out
}
