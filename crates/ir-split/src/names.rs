//! Names of the runtime: they begin with `p4rack`, or with something like it where the program has such names.

use ir::{Name, Program, Type, TypeId};

/// Prefix of the runtime's names in a split of `program`: the first free one of `p4rack`, `p4rack2`, ...
pub fn prefix(program: &Program) -> String {
    let used = all(program);
    let numbered = (2..).map(|n| format!("p4rack{n}"));
    let free = |candidate: &String| !used.iter().any(|name| name.starts_with(candidate.as_str()));
    std::iter::once("p4rack".to_string()).chain(numbered).find(free).unwrap_or_default()
}

/// Every name that one of the runtime's could meet.
pub fn all(program: &Program) -> Vec<&Name> {
    let mut names: Vec<&Name> = program.types.iter().map(|t| &t.name).collect();
    for index in 0..program.types.len() {
        names.extend(program.fields(&Type::Named(TypeId::from(index))).iter().map(|f| &f.name));
    }
    names.extend(program.instances.iter().map(|i| &i.name));
    names.extend(program.functions.iter().map(|f| &f.name));
    for parser in &program.parsers {
        names.push(&parser.name);
        names.extend(parser.vars.iter().map(|v| &v.name));
        names.extend(parser.states.iter().map(|s| &s.name));
        names.extend(parser.value_sets.iter().map(|s| &s.name));
    }
    for control in &program.controls {
        names.push(&control.name);
        names.extend(control.vars.iter().map(|v| &v.name));
        names.extend(control.actions.iter().map(|a| &a.name));
        names.extend(control.tables.iter().map(|t| &t.name));
    }
    names
}
