//! The header of a program's handlers.

use ir_handlers::{Field, FieldKind, Handler, Mirror, Struct};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Number of the contract between p4rack and compiled handlers.
pub const ABI: u32 = 2;

/// Start of all headers.
const PRELUDE: &str = include_str!("abi.h");

/// Symbol that shows that a source was compiled with the header of this form of the program.
pub fn fingerprint_symbol(handler: &Handler) -> String {
    format!("{}{:016x}", fingerprint_prefix(&handler.name), handler.fingerprint())
}

/// Prefix of these symbols, for all forms of a handler.
pub fn fingerprint_prefix(handler: &str) -> String {
    format!("p4r_form{ABI}_{handler}_")
}

/// The header for a program's handlers. `program` is the name of its file.
pub fn header(program: &str, handlers: &[Handler]) -> String {
    let mut out = format!("/* Made by `p4rack handler header {program}`: do not edit. */\n{PRELUDE}");
    let guard: String = program
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    let _ = writeln!(out, "\n#ifndef P4R_{guard}\n#define P4R_{guard}");
    let mut known = BTreeSet::new();
    for mirror in handlers.iter().flat_map(|handler| &handler.mirrors) {
        if known.insert(mirror.key.name.clone()) {
            look_up(&mut out, mirror);
        }
    }
    for handler in handlers {
        for fields in [Some(&handler.request), handler.response.as_ref()].into_iter().flatten() {
            if known.insert(fields.name.clone()) {
                structure(&mut out, fields);
            }
        }
        prototypes(&mut out, handler);
    }
    out.push_str("\n#endif\n");
    out
}

/// Key and entry of a table, and the function that looks it up.
fn look_up(out: &mut String, mirror: &Mirror) {
    let Mirror { name, table, number, key, entry, .. } = mirror;
    structure(out, key);
    structure(out, entry);
    let _ = writeln!(
        out,
        "/* Looks up table `{table}`. True if an entry fits; otherwise `entry` has the default action. */
static inline _Bool {name}_look_up(p4r_ctx *ctx, const {name}_key *key, {name}_entry *entry) {{
    p4r_look_up(ctx, {number}, key->bytes, sizeof key->bytes, entry->bytes, sizeof entry->bytes);
    return {name}_entry_hit(entry);
}}"
    );
}

/// A struct of bytes, and functions that read and write its fields.
fn structure(out: &mut String, fields: &Struct) {
    let Struct { name, size, .. } = fields;
    let _ =
        writeln!(out, "\n/* `{name}`: {size} bytes. */\ntypedef struct {{ uint8_t bytes[{size}]; }} {name};");
    for field in &fields.fields {
        constants(out, name, field);
        accessors(out, name, field);
    }
}

/// The named values of a field's type.
fn constants(out: &mut String, owner: &str, field: &Field) {
    if !field.members.is_empty() {
        let members: Vec<String> = field
            .members
            .iter()
            .map(|(name, value)| format!("{owner}_{}_{name} = {value}", field.name()))
            .collect();
        let _ = writeln!(out, "enum {{ {} }};", members.join(", "));
    }
}

fn accessors(out: &mut String, owner: &str, field: &Field) {
    let (name, Field { at, size, width, ty, .. }) = (field.name(), field);
    let _ = writeln!(out, "/* {}: {ty} */", field.path.join("."));
    if *width > 64 {
        let _ = writeln!(
            out,
            "static inline const uint8_t *{owner}_{name}(const {owner} *from) {{ return from->bytes + {at}; }}"
        );
        let first = match width % 8 {
            0 => String::new(),
            rest => format!(" to->bytes[{at}] &= {:#x};", (1u32 << rest) - 1),
        };
        let _ = writeln!(
            out,
            "static inline void {owner}_set_{name}({owner} *to, const uint8_t *bytes) {{ memcpy(to->bytes + {at}, bytes, {size});{first} }}"
        );
        return;
    }
    let bits = match size {
        1 => 8,
        2 => 16,
        3 | 4 => 32,
        _ => 64,
    };
    let (c, get, put) = match field.kind {
        FieldKind::Bool => {
            ("_Bool".to_string(), format!("from->bytes[{at}] != 0"), format!("to->bytes[{at}] = value"))
        }
        FieldKind::Unsigned => {
            let cut = if *width == 64 { String::new() } else { format!(" & {:#x}", (1u64 << width) - 1) };
            (
                format!("uint{bits}_t"),
                format!("(uint{bits}_t)p4r_get(from->bytes + {at}, {size})"),
                format!("p4r_put(to->bytes + {at}, {size}, (uint64_t)value{cut})"),
            )
        }
        // Unused bits are copies of the sign.
        FieldKind::Signed => {
            let unused = 64 - size * 8;
            (
                format!("int{bits}_t"),
                format!(
                    "(int{bits}_t)((int64_t)(p4r_get(from->bytes + {at}, {size}) << {unused}) >> {unused})"
                ),
                format!("p4r_put(to->bytes + {at}, {size}, (uint64_t)(int64_t)value)"),
            )
        }
    };
    let _ = writeln!(out, "static inline {c} {owner}_{name}(const {owner} *from) {{ return {get}; }}");
    let _ = writeln!(out, "static inline void {owner}_set_{name}({owner} *to, {c} value) {{ {put}; }}");
}

fn prototypes(out: &mut String, handler: &Handler) {
    let Handler { name, request, response, .. } = handler;
    let _ = writeln!(out, "\n/* Handler `{name}`. */");
    if handler.key.size > 0 {
        structure(out, &handler.key);
    }
    let answer = response.as_ref().map_or(String::new(), |fields| format!(", {} *response", fields.name));
    let _ = writeln!(out, "int {name}(p4r_ctx *ctx, const {} *request{answer});", request.name);
    let _ = writeln!(
        out,
        "/* These may be left out. `init` gives P4R_OK, or P4R_DROP for a wrong configuration; it runs before all others. */
int {name}_init(p4r_ctx *ctx, const char *config);
void {name}_tick(p4r_ctx *ctx, uint64_t now_ns);
/* A copy of all memory, in the arena, and its size; and what takes one. Without both, the arena is copied. */
void *{name}_snapshot(p4r_ctx *ctx, long *size);
int {name}_restore(p4r_ctx *ctx, const void *snapshot, long size);"
    );
    if handler.key.size > 0 {
        let key = &handler.key.name;
        let _ = writeln!(
            out,
            "/* Moves the state of a flow: writes it to `to` and forgets it, and gives its size, 0 if there is none; and takes it. */
long {name}_export(p4r_ctx *ctx, const {key} *key, void *to, long size);
int {name}_import(p4r_ctx *ctx, const {key} *key, const void *from, long size);"
        );
    }
    if handler.block.is_some() {
        let _ = writeln!(
            out,
            "/* P4R_BUSY if a number of this block is in use, P4R_EMPTY if none is, P4R_FOREIGN if the handler never uses the block. Without it, a server keeps
 * its blocks until it has left its group. */
int {name}_block(p4r_ctx *ctx, uint64_t block);"
        );
    }
    let symbol = fingerprint_symbol(handler);
    let _ =
        writeln!(out, "extern const char {symbol};\n__attribute__((weak, used)) const char {symbol} = 1;");
}
