//! Tables that handlers look up: `@mirror("HANDLER") table t { ... }`.
//!
//! In C, a table `t` has a struct `t_key` with a field for each key and a struct `t_entry` with `hit`, `action` and the data of each action: the
//! field `port` of the action `forward` is `forward_port`. The device's own table is looked up, so a look-up means what it means in P4.

use crate::fields::{Field, FieldKind, Struct};
use crate::remote::is_c_name;
use base_diag::Diagnostic;
use base_diag::codes::handler as codes;
use ir::{Control, Program, Table};
use std::collections::BTreeSet;

/// The annotation's name.
const NAME: &str = "mirror";

/// Bits of an action's number.
const ACTION_BITS: u32 = 16;

/// A table that a handler may look up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirror {
    /// Name in C.
    pub name: String,
    /// Control-plane name.
    pub table: String,
    /// Number among the mirrored tables of the program, by which C names it.
    pub number: u32,
    /// The keys, one field for each.
    pub key: Struct,
    /// `hit`, `action`, and the data of all actions.
    pub entry: Struct,
    /// For each action of the table's list, the first field of its data and how many there are.
    pub data: Vec<(usize, usize)>,
}

/// All tables with the annotation, with the names of their handlers.
fn annotated(program: &Program) -> impl Iterator<Item = (&Control, &Table, Vec<Option<&str>>)> {
    let tables = program.controls.iter().flat_map(|c| c.tables.iter().map(move |table| (c, table)));
    tables.filter_map(|(control, table)| {
        let own = table.annotations.iter().filter(|annotation| annotation.name == NAME);
        let names: Vec<Option<&str>> = own.map(|annotation| annotation.as_str()).collect();
        (!names.is_empty()).then_some((control, table, names))
    })
}

/// Names of the handlers to which a table is mirrored.
pub(crate) fn names(table: &Table) -> impl Iterator<Item = &str> {
    let own = table.annotations.iter().filter(|annotation| annotation.name == NAME);
    own.filter_map(|annotation| annotation.as_str())
}

/// The tables that a handler looks up; the error is a reason in a few words.
pub(crate) fn of_handler(program: &Program, handler: &str) -> Result<Vec<Mirror>, String> {
    let mut found = vec![];
    let mut known = BTreeSet::new();
    for (number, (control, table, names)) in (0..).zip(annotated(program)) {
        let is_twice = !known.insert(table.name.clone());
        if names.contains(&Some(handler)) {
            let mirror = Mirror::new(program, control, table, number);
            let mirror = mirror.and_then(|mirror| match is_twice {
                true => Err("has the name of another mirrored table".to_string()),
                false if mirror.name == handler => Err("has the handler's name".to_string()),
                false => Ok(mirror),
            });
            found.push(mirror.map_err(|why| format!("its table `{}` {why}", table.control_plane_name))?);
        }
    }
    Ok(found)
}

/// Annotations that name no handler of the program.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let known = program.externs.iter().filter_map(|object| object.value_extern()?.as_str());
    let known: Vec<&str> = known.collect();
    let mut wrong = vec![];
    for (_, table, names) in annotated(program) {
        for name in names.into_iter().filter(|name| !name.is_some_and(|name| known.contains(&name))) {
            let shown = &table.control_plane_name;
            let problem = match name {
                Some(name) => {
                    let title = format!("`{shown}` is mirrored to `{name}`, which is no handler");
                    let problem = Diagnostic::error(codes::REMOTE, title).at(table.span, "this table");
                    problem.suggest_or(name, known.iter().copied(), |d| match known.as_slice() {
                        [] => d.note("the program declares no handler"),
                        _ => d.note(format!("its handlers are `{}`", known.join("`, `"))),
                    })
                }
                None => {
                    let title = format!("`@mirror` before `{shown}` names no handler");
                    Diagnostic::error(codes::REMOTE, title)
                        .at(table.span, "this table")
                        .help("write `@mirror(\"NAME\")` with the name in `@remote(handler = \"NAME\")`")
                }
            };
            wrong.push(problem);
        }
    }
    wrong
}

impl Mirror {
    fn new(program: &Program, control: &Control, table: &Table, number: u32) -> Result<Mirror, String> {
        let name = table.name.to_string();
        if !is_c_name(&name) {
            return Err("has a name that C cannot use".to_string());
        }
        if table.implementation.is_some() {
            return Err("has an action profile, which handlers cannot look up".to_string());
        }
        let mut key = Struct { name: format!("{name}_key"), fields: vec![], size: 0 };
        for element in &table.keys {
            let path = vec![in_c(&element.name)];
            key.add(program, &element.expr.ty, &mut path.clone())?;
        }
        if key.fields.len() != table.keys.len() || key.fields.is_empty() {
            return Err("has no key, or one that is no number".to_string());
        }
        let mut entry = Struct { name: format!("{name}_entry"), fields: vec![], size: 0 };
        entry.push("hit", FieldKind::Bool, 1, vec![]);
        let actions: Vec<&ir::Action> =
            table.actions.iter().map(|action| &control.actions[action.action.index()]).collect();
        let members = (0..).zip(&actions).map(|(at, action)| (action.name.to_string(), at)).collect();
        entry.push("action", FieldKind::Unsigned, ACTION_BITS, members);
        let mut data = vec![];
        for (listed, action) in table.actions.iter().zip(actions) {
            let first = entry.fields.len();
            // The first parameters have their arguments from the list.
            for param in action.params.iter().skip(listed.args.len()) {
                let var = &control.vars[param.index()];
                entry.add(program, &var.ty, &mut vec![action.name.to_string(), var.name.to_string()])?;
            }
            data.push((first, entry.fields.len() - first));
        }
        for made in [&key, &entry] {
            made.check()?;
        }
        let table = table.control_plane_name.to_string();
        Ok(Mirror { name, table, number, key, entry, data })
    }
}

impl Struct {
    fn push(&mut self, name: &str, kind: FieldKind, width: u32, members: Vec<(String, u64)>) {
        let (size, at) = (width.div_ceil(8) as usize, self.size);
        let ty = if kind == FieldKind::Bool { "bool".to_string() } else { format!("bit<{width}>") };
        self.fields.push(Field { path: vec![name.to_string()], kind, width, at, size, members, ty });
        self.size += size;
    }
}

/// `hdr.ipv4.src` as a name in C.
fn in_c(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
