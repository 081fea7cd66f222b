//! Egress as a pipeline of its own, for programs whose copies have to pass egress: a header takes the metadata through the traffic manager.
//!
//! ```text
//! ingress: ... valid0.apply();       a table of all validities: bridge.valid0 = 1 if ethernet is valid, plus 2 if ipv4 is valid
//!          bridge.user0 = meta.user.port;   deparser: bridge, ethernet, ipv4
//! egress:  parser: bridge, then each header whose bit is set;   meta.user.port = bridge.user0; egress; deparser: ethernet, ipv4
//! ```
//!
//! The deparser has to emit each header once, in one order. Headers that it never emits end in ingress: egress may not use them. The bridge is part of the packet that egress counts: counters of egress count its bytes less.

use crate::original::{has_code, metadata, refused};
use crate::times;
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Callee, ControlId, Direction, Expr, ExprKind, Program, Role, SignatureParam, Stmt, StmtKind, Type,
    build, visit,
};
use std::collections::BTreeSet;

const BYTE_BITS: u64 = 8;
/// Headers whose validities share a byte: the parser of egress keeps three of them at most.
const PARSED_BITS: usize = 8;
const EGRESS: &str = "egress";
const LENGTH: &str = "packet_length";

/// Text for the blocks of TNA.
#[derive(Debug)]
pub(crate) struct Bridge {
    /// Fields of the header.
    pub fields: String,
    /// Tables of ingress that write the validities.
    pub tables: String,
    /// Assignments to the header, in ingress.
    pub keep: String,
    /// Assignments from the header, in egress.
    pub restore: String,
    /// Paths of the headers below the program's struct, in order.
    pub headers: Vec<String>,
    /// Bytes of the header.
    pub bytes: u64,
}

/// True if an egress that does anything sees copies, for `group`, or lengths. `group` is true if the program sets a multicast group.
pub(crate) fn is_needed(program: &Program, group: bool) -> bool {
    let has_egress = program.stage("egress").is_some_and(|stage| has_code(program, stage));
    has_egress && (group || reads_length(program))
}

/// True if egress reads the length of the packet.
pub(crate) fn reads_length(program: &Program) -> bool {
    reads(program) > 0
}

/// Reads of the length in a statement, without those in its blocks.
fn reads_in(program: &Program, stmt: &Stmt) -> usize {
    let mut found = 0;
    visit::exprs(stmt, &mut |expr| {
        visit::subexprs(expr, &mut |expr| {
            found += usize::from(metadata(program, expr) == Some(LENGTH));
        });
    });
    found
}

/// Reads of the length in egress.
fn reads(program: &Program) -> usize {
    let mut found = 0;
    in_egress(program, &mut |stmt| found += reads_in(program, stmt));
    found
}

/// Reads of the length in assignments with which egress begins.
fn reads_at_start(program: &Program) -> usize {
    let Some(id) = program.stage_control(EGRESS) else { return 0 };
    let is_plain = |stmt: &&Stmt| match &stmt.kind {
        StmtKind::Assign(place, _) => matches!(program.representation(&place.ty), Type::Bit(_)),
        _ => false,
    };
    let first = program.control(id).body.stmts.iter().take_while(is_plain);
    first.map(|stmt| reads_in(program, stmt)).sum()
}

/// True if egress may read the length after it added or removed headers, which changes the length that v1model gives.
pub(crate) fn resizes(program: &Program) -> bool {
    if reads(program) == reads_at_start(program) {
        return false;
    }
    let mut found = false;
    in_egress(program, &mut |stmt| {
        found |= match &stmt.kind {
            StmtKind::SetValid(..) | StmtKind::PushFront(..) | StmtKind::PopFront(..) => true,
            StmtKind::Assign(place, _) => !matches!(
                program.representation(&place.ty),
                Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Error
            ),
            _ => false,
        };
    });
    found
}

/// Calls `f` with each statement of egress.
fn in_egress(program: &Program, f: &mut dyn FnMut(&Stmt)) {
    for id in of_egress(program) {
        let control = program.control(id);
        visit::stmts(&control.body, f);
        control.actions.iter().for_each(|action| visit::stmts(&action.body, f));
    }
}

/// The controls that egress runs.
pub(crate) fn of_egress(program: &Program) -> BTreeSet<ControlId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<ControlId> = program.stage_control(EGRESS).into_iter().collect();
    while let Some(id) = todo.pop() {
        if found.insert(id) {
            visit::calls(&program.control(id).body.stmts, &mut |call| {
                if let Callee::Control(inner) = call.callee {
                    todo.push(inner);
                }
            });
        }
    }
    found
}

/// The type of a stage's parameter with this role.
fn type_of(program: &Program, stage: &str, role: Role) -> Option<Type> {
    let at = program.stage(stage)?.roles.iter().position(|known| *known == role)?;
    let control = program.control(program.stage_control(stage)?);
    Some(control.vars.get(control.params.get(at)?.index())?.ty.clone())
}

impl Bridge {
    /// The bridge of a program, or why it has none.
    pub(crate) fn of(program: &Program) -> Result<Bridge, Diagnostic> {
        let place = |span: Span, why: &str| refused("egress after multicast", span, why);
        let nowhere = |why: &str| place(Span::NONE, why);
        let headers_type =
            type_of(program, "deparser", Role::Headers).ok_or(nowhere("there is no deparser"))?;
        let user_type = type_of(program, "egress", Role::Metadata).ok_or(nowhere("there is no egress"))?;
        let id = program.stage_control("deparser").ok_or(nowhere("there is no deparser"))?;
        let deparser = program.control(id);
        let mut headers = vec![];
        emitted(program, &deparser.body, &mut headers).map_err(|span| {
            place(span, "the deparser has to emit headers without conditions, and nothing else")
        })?;
        let mut all = vec![];
        if !flatten_headers(program, &headers_type, String::new(), &mut all) {
            return Err(place(
                deparser.span,
                "stacks, unions and headers of variable length do not pass the traffic manager",
            ));
        }
        let once: BTreeSet<&String> = headers.iter().collect();
        if once.len() != headers.len() {
            return Err(place(deparser.span, "the deparser has to emit each header once"));
        }
        let unsent: Vec<&String> = all.iter().filter(|path| !once.contains(path)).collect();
        if let Some(span) = use_of(program, &unsent) {
            return Err(place(span, "the deparser does not emit this header"));
        }
        let mut values = vec![];
        if !flatten_values(program, &user_type, String::new(), &mut values) {
            return Err(place(deparser.span, "only numbers in the metadata pass the traffic manager"));
        }
        Ok(Bridge::text(headers, &values, times::are_read(program)))
    }

    fn text(headers: Vec<String>, values: &[(String, Type)], has_time: bool) -> Bridge {
        let (mut fields, mut keep, mut restore, mut bits) = (String::new(), String::new(), String::new(), 0);
        // Each field ends with a byte of its own, after zeros: an action writes a container from two others at most.
        let mut field = |name: &str, ty: &str, width: u32| {
            let end = (bits + u64::from(width)).next_multiple_of(BYTE_BITS);
            let zeros = end - bits - u64::from(width);
            if zeros > 0 {
                fields += &format!("    @padding bit<{zeros}> {name}_zeros;\n");
            }
            fields += &format!("    {ty} {name};\n");
            bits = end;
        };
        let mut tables = String::new();
        // A byte for each, and a table: an assignment for each bit would write a byte from many others.
        for (at, paths) in headers.chunks(PARSED_BITS).enumerate() {
            field(&format!("valid{at}"), "bit<8>", 8);
            keep += &format!("        valid{at}.apply();\n");
            tables += &validities(at, paths);
        }
        let standard = [("ingress_port", 9), ("mcast_grp", 16), ("checksum_error", 1)];
        let time = has_time.then_some((times::ARRIVAL, 48));
        let standard = standard
            .into_iter()
            .chain(time)
            .map(|(name, bits)| (format!("standard.{name}"), Type::Bit(bits)));
        let user = values.iter().map(|(path, ty)| (format!("user.{path}"), ty.clone()));
        for (at, (path, ty)) in standard.chain(user).enumerate() {
            let (ty, width, out, back) = match ty {
                Type::Bool => ("bit<1>".to_string(), 1, "(bit<1>)", " == 1"),
                Type::Int(width) => (format!("int<{width}>"), width, "", ""),
                Type::Bit(width) => (format!("bit<{width}>"), width, "", ""),
                _ => continue,
            };
            field(&format!("value{at}"), &ty, width);
            keep += &format!("        hdr.bridge.value{at} = {out}meta.{path};\n");
            restore += &format!("        meta.{path} = hdr.bridge.value{at}{back};\n");
        }
        Bridge { fields, tables, keep, restore, headers, bytes: bits / BYTE_BITS }
    }
}

/// The byte with the bit of a header, and the bit.
pub(crate) fn bit_of(header: usize) -> (usize, u32) {
    (header / PARSED_BITS, 1 << (header % PARSED_BITS))
}

/// The table that writes a byte of validities.
fn validities(at: usize, headers: &[String]) -> String {
    let keys: String =
        headers.iter().map(|path| format!("            hdr.inner.{path}.isValid(): exact;\n")).collect();
    let entry = |bits: u32| {
        let key: Vec<&str> =
            (0..headers.len()).map(|n| if bits >> n & 1 == 1 { "true" } else { "false" }).collect();
        let key = if let [one] = key[..] { one.to_string() } else { format!("({})", key.join(", ")) };
        format!("            {key}: valid{at}_is({bits});\n")
    };
    let entries: String = (1..1 << headers.len()).map(entry).collect();
    let size = 1 << headers.len();
    format!(
        "
    action valid{at}_is(bit<8> bits) {{
        hdr.bridge.valid{at} = bits;
    }}

    @hidden
    table valid{at} {{
        key = {{
{keys}        }}
        actions = {{
            valid{at}_is;
        }}
        const default_action = valid{at}_is(0);
        const entries = {{
{entries}        }}
        size = {size};
    }}
"
    )
}

/// Adds the paths of emitted headers; the place of anything else is an error.
fn emitted(program: &Program, block: &Block, headers: &mut Vec<String>) -> Result<(), Span> {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Block(inner) => emitted(program, inner, headers)?,
            StmtKind::Emit(_, value) => {
                let path = path(program, value).ok_or(stmt.span)?;
                if !flatten_headers(program, &value.ty, path, headers) {
                    return Err(stmt.span);
                }
            }
            _ => return Err(stmt.span),
        }
    }
    Ok(())
}

/// The first place where egress, or the code of checksums after it, uses one of the headers.
fn use_of(program: &Program, headers: &[&String]) -> Option<Span> {
    let mut found = None;
    let mut look = |expr: &Expr| {
        let is_one =
            program.is_header(&expr.ty) && path(program, expr).is_some_and(|p| headers.contains(&&p));
        if is_one && found.is_none() {
            found = Some(expr.span);
        }
    };
    for id in of_egress(program).into_iter().chain(program.stage_control("compute_checksum")) {
        let control = program.control(id);
        let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
        bodies.for_each(|body| visit::all_exprs(body, &mut look));
        let keys = control.tables.iter().flat_map(|table| &table.keys);
        keys.for_each(|key| visit::subexprs(&key.expr, &mut look));
    }
    found
}

/// Names of the fields that lead to a place, from a variable on.
fn path(program: &Program, place: &Expr) -> Option<String> {
    match &place.kind {
        ExprKind::Var(_) => Some(String::new()),
        ExprKind::Field(base, field) => {
            let name = &program.fields(&base.ty).get(*field as usize)?.name;
            Some(below(&path(program, base)?, name))
        }
        _ => None,
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// Adds the headers in a type, of fixed length. False if there is anything else.
fn flatten_headers(program: &Program, ty: &Type, path: String, found: &mut Vec<String>) -> bool {
    let fields = program.fields(ty);
    if program.is_header(ty) {
        found.push(path);
        return !fields.iter().any(|field| matches!(field.ty, Type::Varbit(_)));
    }
    program.is_struct(ty)
        && fields.iter().all(|field| flatten_headers(program, &field.ty, below(&path, &field.name), found))
}

/// Adds the numbers in a type. False if there is anything else.
fn flatten_values(program: &Program, ty: &Type, path: String, found: &mut Vec<(String, Type)>) -> bool {
    if matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Bool) {
        found.push((path, ty.clone()));
        return true;
    }
    let fields = program.fields(ty);
    program.is_struct(ty)
        && fields.iter().all(|field| flatten_values(program, &field.ty, below(&path, &field.name), found))
}

fn is_counter(object: &str) -> bool {
    object == "Counter" || object == "DirectCounter"
}

/// Makes counters of egress, under their names of TNA, count the bridge less.
pub(crate) fn adjust_counters(program: &mut Program, bytes: u64) {
    let old = program.clone();
    let counts = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Method(id, _) => {
                let object = &old.extern_object(old.instance(id).object);
                !object.user && is_counter(&object.name)
            }
            _ => false,
        },
        _ => false,
    };
    let mut adjust = |stmt: &mut Stmt| {
        let is_count = counts(stmt);
        if let StmtKind::Call(call) = &mut stmt.kind
            && is_count
        {
            call.args.push(Some(build::bits(32, bytes)));
        }
    };
    for id in of_egress(&old) {
        let control = &mut program.controls[id.index()];
        visit::stmts_mut(&mut control.body, &mut adjust);
        control.actions.iter_mut().for_each(|action| visit::stmts_mut(&mut action.body, &mut adjust));
    }
    for object in program.externs.iter_mut().filter(|object| !object.user && is_counter(&object.name)) {
        for method in object.methods.iter_mut().filter(|method| method.name == "count") {
            method.signature.params.push(SignatureParam {
                name: "adjust_byte_count".into(),
                direction: Direction::In,
                ty: Type::Bit(32),
                optional: true,
            });
        }
    }
}
