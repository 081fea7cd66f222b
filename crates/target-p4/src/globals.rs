//! Names at the top level.

use crate::copies::same_action;
use crate::names::Taken;
use ir::{Action, Control, Owner, Program};
use p4_arch::{Architecture, Declared};

/// Names that core.p4 declares.
const CORE: [&str; 5] = ["packet_in", "packet_out", "verify", "NoAction", "static_assert"];

/// What everything at the top level is called in the source, by its index in the program.
pub(crate) struct Globals {
    /// What the architecture's file declares.
    pub declared: Declared,
    pub types: Vec<String>,
    pub externs: Vec<String>,
    pub extern_functions: Vec<String>,
    pub functions: Vec<String>,
    /// Empty for those that a block declares.
    pub instances: Vec<String>,
    pub parsers: Vec<String>,
    pub controls: Vec<String>,
    pub actions: Vec<TopLevelAction>,
}

/// An action that the program declares at the top level; controls have copies of it.
pub(crate) struct TopLevelAction {
    pub name: String,
    pub control_plane_name: ir::Name,
    /// The first copy: control and action.
    pub copy: (usize, usize),
}

impl Globals {
    pub(crate) fn new(program: &Program) -> Globals {
        let arch = program.arch.name().and_then(p4_arch::architecture);
        let declared = arch.map(Architecture::declared).unwrap_or_default();
        let mut taken = Taken::default();
        CORE.iter().for_each(|name| taken.take(name));
        taken.take("main");
        declared.names.iter().for_each(|name| taken.take(name));
        let is_arch_type = |name: &str| declared.types.contains(name);
        let types = program
            .types
            .iter()
            .map(|t| if is_arch_type(&t.name) { t.name.to_string() } else { taken.pick(&t.name) })
            .collect();
        let externs = program
            .externs
            .iter()
            .map(|e| if e.user { taken.pick(&e.name) } else { e.name.to_string() })
            .collect();
        let extern_functions = extern_functions(program, &mut taken);
        let functions = program.functions.iter().map(|f| taken.pick(&f.name)).collect();
        let instances = program
            .instances
            .iter()
            .map(|i| if i.owner == Owner::Program { taken.pick(&i.name) } else { String::new() })
            .collect();
        let parsers = program.parsers.iter().map(|p| taken.pick(&p.name)).collect();
        let controls = program.controls.iter().map(|c| taken.pick(&c.name)).collect();
        let actions = top_level_actions(program, &mut taken);
        Globals {
            declared,
            types,
            externs,
            extern_functions,
            functions,
            instances,
            parsers,
            controls,
            actions,
        }
    }

    /// The name of the top-level action that `action` is a copy of; none if it is no such copy.
    pub(crate) fn action(&self, program: &Program, control: &Control, action: &Action) -> Option<&str> {
        if is_no_action(action) {
            return Some("NoAction");
        }
        let found = self.actions.iter().find(|top| top.control_plane_name == action.control_plane_name)?;
        let first = program.controls.get(found.copy.0)?;
        let copy = first.actions.get(found.copy.1)?;
        let same = action.top_level && same_action((first, copy), (control, action));
        same.then_some(found.name.as_str())
    }
}

/// Overloads keep one name.
fn extern_functions(program: &Program, taken: &mut Taken) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for (index, function) in program.extern_functions.iter().enumerate() {
        let earlier =
            program.extern_functions[..index].iter().position(|f| f.name == function.name && f.user);
        names.push(match earlier {
            Some(earlier) => names[earlier].clone(),
            None if function.user => taken.pick(&function.name),
            None => function.name.to_string(),
        });
    }
    names
}

/// One for each control-plane name.
fn top_level_actions(program: &Program, taken: &mut Taken) -> Vec<TopLevelAction> {
    let mut found: Vec<TopLevelAction> = vec![];
    for (c, control) in program.controls.iter().enumerate() {
        for (a, action) in control.actions.iter().enumerate() {
            let known = found.iter().any(|top| top.control_plane_name == action.control_plane_name);
            if action.top_level && !is_no_action(action) && !known {
                let is_renamed = action.annotations.iter().any(|a| a.name == "name");
                let name = if is_renamed { &action.name } else { &action.control_plane_name };
                found.push(TopLevelAction {
                    name: taken.pick(name),
                    control_plane_name: action.control_plane_name.clone(),
                    copy: (c, a),
                });
            }
        }
    }
    found
}

/// The one that core.p4 declares.
fn is_no_action(action: &Action) -> bool {
    action.top_level
        && action.control_plane_name == "NoAction"
        && action.params.is_empty()
        && action.body.stmts.is_empty()
}
