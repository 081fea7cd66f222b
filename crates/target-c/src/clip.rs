//! CLIP's own form of a program, with P4 and a handler in C in one file (CLIP, section III-C and appendix A), as P4 and C.
//!
//! Before: `request { bit<32> a; } response { bit<32> b; } void h(request req, response res) { res.b = req.a + 1; }`, and P4
//! After:  in P4 `struct h_request { bit<32> a; } typedef h_request request; ... @remote(handler = "h") extern void h(in request req, out response res);`,
//!         in C a handler `h` that reads the request into a struct, runs the body, and writes the response
//!
//! `extern "C" { ... }` holds more C: other functions of the handler, and those that it calls. Both texts keep the places of lines, so that
//! messages about them are right for the file. Everything else is P4.

mod items;

use items::{Handler, Item, Items};
use std::fmt::Write;
use std::ops::Range;

/// End of the names of such files.
pub const ENDING: &str = ".p4c";

/// A program in two languages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The P4 program.
    pub p4: String,
    /// Source of the handler.
    pub c: String,
}

/// Text that is not in CLIP's form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The place, in bytes.
    pub at: Range<usize>,
    /// Ten words.
    pub title: String,
    /// The reason, for this place.
    pub why: String,
    /// Advice.
    pub help: String,
}

impl Mistake {
    fn new(at: Range<usize>, title: &str, why: impl Into<String>, help: &str) -> Mistake {
        Mistake { at, title: title.to_string(), why: why.into(), help: help.to_string() }
    }
}

/// Divides a file. `file` is its name, for the C compiler's messages; `header` is the handler's header.
pub fn parts(text: &str, file: &str, header: &str) -> Result<Parts, Mistake> {
    let items = Items::of(text)?;
    let handler = items.handler()?;
    let name = &text[handler.name.clone()];
    let request = fields(text, &items, "request", handler)?;
    let response = match handler.response {
        Some(_) => Some(fields(text, &items, "response", handler)?),
        None => None,
    };
    Ok(Parts {
        p4: p4(text, &items, handler),
        c: c(text, &items, name, handler, (&request, response.as_deref()), (file, header)),
    })
}

/// Names of the fields of `request` or `response`.
fn fields(text: &str, items: &Items, which: &str, handler: &Handler) -> Result<Vec<String>, Mistake> {
    let found = items.all.iter().find_map(|item| match item {
        Item::Fields { word, body, .. } if &text[word.clone()] == which => Some(body.clone()),
        _ => None,
    });
    let title = "the program is not in CLIP's form";
    let Some(body) = found else {
        let (why, help) = (
            format!("there is no `{which}`"),
            "write `request { bit<32> a; }` before the handler, and `response` likewise",
        );
        return Err(Mistake::new(handler.name.clone(), title, why, help));
    };
    let mut names = vec![];
    for (at, field) in items::fields_of(text, body.clone()) {
        let name = field.rsplit(|c: char| !is_part(c)).next().unwrap_or_default();
        let ty = field[..field.len() - name.len()].trim();
        let width = ty
            .strip_suffix('>')
            .and_then(|ty| ty.rsplit_once('<'))
            .and_then(|(_, width)| width.trim().parse().ok());
        let help = "write `TYPE NAME;` for each field, with numbers of at most 64 bits; without names, the types of the fields are unknown";
        let why = match width {
            _ if name.is_empty() || ty.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) => {
                "a field needs a type and a name"
            }
            Some(65u32..) => "C has no number of this size",
            _ => {
                names.push(name.to_string());
                continue;
            }
        };
        return Err(Mistake::new(at..at + field.len(), title, why, help));
    }
    match names.is_empty() {
        true => Err(Mistake::new(
            body,
            title,
            format!("`{which}` has no fields"),
            "leave out `response` if there is none",
        )),
        false => Ok(names),
    }
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Nothing but the ends of the lines.
fn lines_of(text: &str) -> String {
    text.chars().filter(|c| *c == '\n').collect()
}

fn p4(text: &str, items: &Items, handler: &Handler) -> String {
    let name = &text[handler.name.clone()];
    let (mut out, mut at) = (String::new(), 0);
    for item in &items.all {
        match item {
            Item::Fields { word, body, end } => {
                let which = &text[word.clone()];
                out.push_str(&text[at..word.start]);
                let _ = write!(out, "struct {name}_{which}{}", &text[word.end..=body.end]);
                let _ = write!(out, " typedef {name}_{which} {which};{}", lines_of(&text[body.end..*end]));
                at = *end;
            }
            Item::Code { all, .. } => {
                out.push_str(&text[at..all.start]);
                out.push_str(&lines_of(&text[all.clone()]));
                at = all.end;
            }
            Item::Remote { inside } => {
                out.push_str(&text[at..inside.start]);
                let more = if text[inside.clone()].trim().is_empty() { "" } else { ", " };
                let _ = write!(out, "handler = \"{name}\"{more}");
                at = inside.start;
            }
            Item::Handler(handler) => {
                out.push_str(&text[at..handler.all.start]);
                if !items.has_remote() {
                    let _ = write!(out, "@remote(handler = \"{name}\") ");
                }
                let request = &text[handler.request.clone()];
                let response =
                    handler.response.clone().map(|place| format!(", out response {}", &text[place]));
                let returns = &text[handler.returns.clone()];
                let _ = write!(
                    out,
                    "extern {returns} {name}(in request {request}{});",
                    response.unwrap_or_default()
                );
                out.push_str(&lines_of(&text[handler.all.clone()]));
                at = handler.all.end;
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

/// Source of the handler.
fn c(
    text: &str,
    items: &Items,
    name: &str,
    handler: &Handler,
    (request, response): (&[String], Option<&[String]>),
    (file, header): (&str, &str),
) -> String {
    let mut out = format!("#include <stdbool.h>\n#include \"{header}\"\n");
    let structs = [("request", Some(request)), ("response", response)];
    for (which, fields) in structs.into_iter().filter_map(|(which, fields)| Some((which, fields?))) {
        // The accessor's result has the type of the field in C.
        let field = |field: &String| {
            format!("__typeof__({name}_{which}_{field}((const {name}_{which} *)0)) {field};")
        };
        let all: Vec<String> = fields.iter().map(field).collect();
        let _ = writeln!(out, "typedef struct {{ {} }} {which};", all.join(" "));
    }
    let quoted: String =
        file.chars().flat_map(|c| if c == '"' || c == '\\' { vec!['\\', c] } else { vec![c] }).collect();
    // Messages of the C compiler name the lines of the program's file.
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    for item in &items.all {
        if let Item::Code { body, .. } = item {
            let _ = writeln!(out, "#line {} \"{quoted}\"\n{}", line_of(body.start), &text[body.clone()]);
        }
    }
    let asked = &text[handler.request.clone()];
    let returns = &text[handler.returns.clone()];
    let answered = handler.response.clone().map(|place| text[place].to_string());
    let param = answered.as_ref().map_or(String::new(), |answered| format!(", response *{answered}"));
    let _ = writeln!(out, "static {returns} p4c_{name}(p4r_ctx *ctx, const request {asked}{param})");
    let body = match &answered {
        Some(answered) => items::pointed(&text[handler.body.clone()], answered),
        None => text[handler.body.clone()].to_string(),
    };
    let _ = writeln!(out, "#line {} \"{quoted}\"\n{body}", line_of(handler.body.start));
    let _ = writeln!(out, "#line 1 \"the call of {name}\"");
    let to = answered.as_ref().map_or(String::new(), |_| format!(", {name}_response *to"));
    let _ = writeln!(out, "int {name}(p4r_ctx *ctx, const {name}_request *from{to}) {{");
    let read: Vec<String> =
        request.iter().map(|field| format!(".{field} = {name}_request_{field}(from)")).collect();
    let _ = writeln!(out, "    const request asked = {{ {} }};", read.join(", "));
    let argument = match response {
        Some(_) => {
            out.push_str("    response answer;\n    memset(&answer, 0, sizeof answer);\n");
            ", &answer"
        }
        None => "",
    };
    let _ = match returns {
        "void" => writeln!(out, "    p4c_{name}(ctx, asked{argument});"),
        _ => writeln!(out, "    if (!p4c_{name}(ctx, asked{argument})) return P4R_DROP;"),
    };
    for field in response.unwrap_or_default() {
        let _ = writeln!(out, "    {name}_response_set_{field}(to, answer.{field});");
    }
    out.push_str("    return P4R_OK;\n}\n");
    out
}
