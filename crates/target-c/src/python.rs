//! The worker process for handlers in Python: their layouts, then `worker.py`.

use ir_handlers::{Handler, Struct};
use std::fmt::Write;
use std::path::PathBuf;

const WORKER: &str = include_str!("worker.py");

/// The script for these handlers. `sources` are read when it runs; each has its name, and the file with its text.
pub fn python_worker(handlers: &[Handler], sources: &[(PathBuf, PathBuf)]) -> String {
    let mut out = String::from("HANDLERS = {\n");
    for Handler { name, request, response, key, .. } in handlers {
        let layouts = [Some(request), response.as_ref(), Some(key)].map(layout);
        let _ = writeln!(out, "    \"{name}\": ({}),", layouts.join(", "));
    }
    out.push_str("}\nSOURCES = [\n");
    for (name, file) in sources {
        let shown = |path: &PathBuf| quoted(&path.display().to_string());
        let _ = writeln!(out, "    ({}, {}),", shown(name), shown(file));
    }
    out.push_str("]\n");
    out + WORKER
}

/// The fields of a struct, and its bytes.
fn layout(of: Option<&Struct>) -> String {
    let fields = of.map_or(&[][..], |of| &of.fields);
    let field = |f: &ir_handlers::Field| {
        format!("(\"{}\", {}, {}, {}, \"{:?}\"), ", f.name(), f.at, f.size, f.width, f.kind)
    };
    format!("(({}), {})", fields.iter().map(field).collect::<String>(), of.map_or(0, |of| of.size))
}

/// A text as Python writes it.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
