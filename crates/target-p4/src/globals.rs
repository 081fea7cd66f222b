//! Names at the top level.

use crate::copies::{same_action, stands_alone};
use crate::names::Taken;
use ir::{Action, Const, Control, ExprKind, InstanceId, Owner, Program, Table};
use p4_arch::{Architecture, Declared, TableObject};
use std::collections::BTreeSet;

/// Names that core.p4 declares.
const CORE: [&str; 5] = ["packet_in", "packet_out", "verify", "NoAction", "static_assert"];

/// Names of top-level declarations in the source, by index in the program.
pub(crate) struct Globals {
    arch: Option<&'static Architecture>,
    /// Names that the architecture's file declares.
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
        let shared = shared_instances(program);
        let instances = program
            .instances
            .iter()
            .zip(0..)
            .map(|(i, at)| {
                let is_global = i.owner == Owner::Program || shared.contains(&InstanceId(at));
                // Registers that only the switch reads are not of the source.
                if is_global && !i.name.starts_with('$') { taken.pick(&i.name) } else { String::new() }
            })
            .collect();
        let parsers = program.parsers.iter().map(|p| taken.pick(&p.name)).collect();
        let controls = program.controls.iter().map(|c| taken.pick(&c.name)).collect();
        let actions = top_level_actions(program, &declared, &mut taken);
        Globals {
            arch,
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

    /// The objects that a table's properties name, with the properties' names.
    pub(crate) fn object_properties(&self, table: &Table) -> Vec<(&'static str, InstanceId)> {
        let objects = [
            (TableObject::Implementation, table.implementation),
            (TableObject::Counters, table.counters),
            (TableObject::Meters, table.meters),
        ];
        let property =
            |(object, id): (TableObject, Option<InstanceId>)| Some((self.arch?.property_for(object)?, id?));
        objects.into_iter().filter_map(property).collect()
    }

    /// The name of the top-level action that `action` is a copy of; none if it is no such copy.
    pub(crate) fn action<'a>(
        &'a self,
        program: &Program,
        control: &Control,
        action: &'a Action,
    ) -> Option<&'a str> {
        if self.is_declared(action) {
            return Some(&action.control_plane_name);
        }
        let found = self.actions.iter().find(|top| top.control_plane_name == action.control_plane_name)?;
        let first = program.controls.get(found.copy.0)?;
        let copy = first.actions.get(found.copy.1)?;
        let same = action.top_level
            && stands_alone(control, action)
            && same_action((first, copy), (control, action));
        same.then_some(found.name.as_str())
    }
}

impl Globals {
    /// All names at the top level.
    pub(crate) fn taken(&self) -> Taken {
        let mut taken = Taken::default();
        CORE.iter().chain(&["main"]).for_each(|name| taken.take(name));
        let own = [&self.types, &self.externs, &self.extern_functions, &self.functions, &self.instances];
        let blocks = [&self.parsers, &self.controls];
        own.into_iter().chain(blocks).flatten().for_each(|name| taken.take(name));
        self.actions.iter().for_each(|action| taken.take(&action.name));
        taken
    }

    /// The parameters of a package type of the architecture.
    pub(crate) fn package_params(&self, package: &str) -> Option<&'static [&'static str]> {
        Some(self.arch?.package(package)?.params)
    }

    /// True for an action that core.p4 or the architecture's file declares.
    fn is_declared(&self, action: &Action) -> bool {
        is_no_action(action)
            || action.top_level && self.declared.names.contains(action.control_plane_name.as_str())
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
fn top_level_actions(program: &Program, declared: &Declared, taken: &mut Taken) -> Vec<TopLevelAction> {
    let mut found: Vec<TopLevelAction> = vec![];
    for (c, control) in program.controls.iter().enumerate() {
        for (a, action) in control.actions.iter().enumerate() {
            let known = found.iter().any(|top| top.control_plane_name == action.control_plane_name);
            let is_declared =
                is_no_action(action) || declared.names.contains(action.control_plane_name.as_str());
            if action.top_level && !is_declared && !known && stands_alone(control, action) {
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

/// Instances that other blocks use than the one that declares them: they came as constructor arguments, and are
/// printed at the top level.
fn shared_instances(program: &Program) -> BTreeSet<InstanceId> {
    let mut shared = BTreeSet::new();
    let mut note = |owner: Owner, id: InstanceId| {
        if program.instances.get(id.index()).is_some_and(|i| i.owner != owner) {
            shared.insert(id);
        }
    };
    for (index, control) in program.controls.iter().enumerate() {
        let owner = Owner::Control(index.into());
        let bodies = control.actions.iter().map(|a| &a.body).chain([&control.body]);
        bodies.for_each(|body| note_instances(&body.stmts, &mut |id| note(owner, id)));
        for table in &control.tables {
            let objects = [table.implementation, table.counters, table.meters];
            objects.into_iter().flatten().for_each(|id| note(owner, id));
        }
    }
    for (index, parser) in program.parsers.iter().enumerate() {
        let owner = Owner::Parser(index.into());
        parser.states.iter().for_each(|s| note_instances(&s.stmts, &mut |id| note(owner, id)));
    }
    // Arguments of a global instance are global too.
    for (at, instance) in program.instances.iter().enumerate().rev() {
        let is_global = instance.owner == Owner::Program || shared.contains(&InstanceId::from(at));
        for arg in instance.args.iter().filter(|_| is_global) {
            if let ExprKind::Const(Const::Instance(id)) = &arg.kind {
                shared.insert(*id);
            }
        }
    }
    shared
}

fn note_instances(stmts: &[ir::Stmt], f: &mut dyn FnMut(InstanceId)) {
    crate::calls::note_calls(stmts, &mut |callee| {
        if let ir::Callee::Method(id, _) = callee {
            f(*id);
        }
    });
    crate::calls::note_exprs(stmts, &mut |expr| {
        if let ExprKind::Const(Const::Instance(id)) = expr.kind {
            f(id);
        }
    });
}
