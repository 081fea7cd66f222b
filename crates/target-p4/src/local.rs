//! Names in one block: its variables and what it declares beside them.

use crate::calls::note_calls;
use crate::globals::Globals;
use crate::names::Taken;
use crate::print::Printer;
use crate::uses::Uses;
use ir::{
    Action, Block, Callee, Control, ControlId, Function, InstanceId, Parser, ParserId, Program, StateId,
    StateRef, Stmt, StmtKind, Table, Transition, Var, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Names of a block's declarations in the source.
#[derive(Default)]
pub(crate) struct Local<'p> {
    pub vars: &'p [Var],
    pub var_names: Vec<String>,
    pub actions: Vec<String>,
    pub tables: &'p [Table],
    pub table_names: Vec<String>,
    pub states: Vec<String>,
    pub value_sets: Vec<String>,
    pub instances: BTreeMap<InstanceId, String>,
    /// Instances of other controls and parsers that stand in the block.
    pub controls: BTreeMap<ControlId, String>,
    pub parsers: BTreeMap<ParserId, String>,
    /// Table properties that make their own instance, and are printed so.
    pub inline: BTreeSet<InstanceId>,
    /// The prefix of control-plane names, as the place of the block gives it.
    pub prefix: String,
}

impl<'p> Printer<'p> {
    pub(crate) fn function_names(&mut self, function: &'p Function) {
        let mut names = VarNames::new(self, &function.vars);
        let mut taken = names.used(|uses| uses.function(function));
        names.params(&function.params, &mut taken);
        names.stmts(&function.body.stmts, &mut taken);
        self.local = Local { vars: &function.vars, var_names: names.finish(), ..Local::default() };
    }

    pub(crate) fn parser_names(&mut self, parser: &'p Parser, prefix: String) {
        let mut names = VarNames::new(self, &parser.vars);
        let mut taken = names.used(|uses| uses.parser(parser));
        names.params(&parser.params, &mut taken);
        let states: Vec<String> = parser.states.iter().map(|s| taken.pick(&s.name)).collect();
        let value_sets = parser.value_sets.iter().map(|v| taken.pick(&v.name)).collect();
        names.instances = self.instance_names(&parser.instances, &BTreeSet::new(), &mut taken);
        let mut applied = BTreeSet::new();
        let mut note = |callee: &Callee| {
            if let Callee::Parser(id) = callee {
                applied.insert(*id);
            }
        };
        parser.states.iter().for_each(|s| note_calls(&s.stmts, &mut note));
        let path = |id: ParserId| self.program.parsers.get(id.index()).map(|p| p.control_plane_name.as_str());
        applied
            .extend(idle_parsers(self.program).filter(|id| stands_in(path(*id), &parser.control_plane_name)));
        let parsers = sub_block_names(&applied, &prefix, path, &mut taken);
        names.stmts(&parser.locals, &mut taken);
        for state in &parser.states {
            let mut inside = names.used(|uses| uses.state(state)).and(&names.params);
            // A local must not hide a state that the transition names.
            for next in targets(&state.transition) {
                states.get(next.index()).into_iter().for_each(|name| inside.take(name));
            }
            names.stmts(&state.stmts, &mut inside);
        }
        self.local = Local {
            vars: &parser.vars,
            states,
            value_sets,
            parsers,
            prefix,
            instances: names.instances.clone(),
            var_names: names.finish(),
            ..Local::default()
        };
    }

    pub(crate) fn control_names(&mut self, control: &'p Control, prefix: String) {
        let mut names = VarNames::new(self, &control.vars);
        let mut taken = names.used(|uses| uses.control(control));
        names.params(&control.params, &mut taken);
        let own: Vec<String> =
            control.actions.iter().map(|a| self.own_action(control, a, &mut taken)).collect();
        for (action, own) in control.actions.iter().zip(own) {
            names.actions.push(match self.globals.action(self.program, control, action) {
                // The leading dot names the top level.
                Some(name) if !taken.try_take(name) => format!(".{name}"),
                Some(name) => name.to_string(),
                None => own,
            });
        }
        names.tables = control.tables.iter().map(|t| taken.pick(&t.name)).collect();
        let inline = self.inline_instances(control);
        names.instances = self.instance_names(&control.instances, &inline, &mut taken);
        let mut applied = BTreeSet::new();
        note_calls(&control.body.stmts, &mut |callee| {
            if let Callee::Control(id) = callee {
                applied.insert(*id);
            }
        });
        let path =
            |id: ControlId| self.program.controls.get(id.index()).map(|c| c.control_plane_name.as_str());
        applied.extend(
            idle_controls(self.program).filter(|id| stands_in(path(*id), &control.control_plane_name)),
        );
        let controls = sub_block_names(&applied, &prefix, path, &mut taken);
        names.stmts(&control.locals, &mut taken);
        for action in &control.actions {
            // Its parameters are control-plane names: they may hide names that the action does not use.
            let mut inside = names.used(|uses| uses.stmts(&action.body.stmts));
            let around = names.params.clone();
            names.params(&action.params, &mut inside);
            names.params = names.params.and(&around);
            names.stmts(&action.body.stmts, &mut inside.and(&around));
            names.params = around;
        }
        names.block(&control.body);
        self.local = Local {
            vars: &control.vars,
            tables: &control.tables,
            controls,
            inline,
            prefix,
            actions: names.actions.clone(),
            table_names: names.tables.clone(),
            instances: names.instances.clone(),
            var_names: names.finish(),
            ..Local::default()
        };
    }

    /// The name of an action that the control itself declares.
    fn own_action(&self, control: &Control, action: &Action, taken: &mut Taken) -> String {
        match self.globals.action(self.program, control, action) {
            Some(_) => String::new(),
            None => taken.pick(&action.name),
        }
    }

    fn instance_names(
        &self,
        instances: &[InstanceId],
        inline: &BTreeSet<InstanceId>,
        taken: &mut Taken,
    ) -> BTreeMap<InstanceId, String> {
        let mut names = BTreeMap::new();
        let is_global =
            |id: &InstanceId| self.globals.instances.get(id.index()).is_some_and(|name| !name.is_empty());
        for id in instances.iter().filter(|id| !inline.contains(id) && !is_global(id)) {
            if let Some(instance) = self.program.instances.get(id.index()) {
                names.insert(*id, taken.pick(&instance.name));
            }
        }
        names
    }

    /// Instances that only one table's property uses, and whose name is that of the property.
    fn inline_instances(&self, control: &Control) -> BTreeSet<InstanceId> {
        let mut used: BTreeMap<InstanceId, u32> = BTreeMap::new();
        let mut candidates = BTreeSet::new();
        for table in &control.tables {
            for (property, id) in self.globals.object_properties(table) {
                *used.entry(id).or_default() += 1;
                let made_here = self.program.instances.get(id.index()).is_some_and(|i| {
                    i.name == property && i.methods.is_empty() && control.instances.contains(&id)
                });
                if made_here {
                    candidates.insert(id);
                }
            }
        }
        let mut note = |callee: &Callee| {
            if let Callee::Method(id, _) = callee {
                *used.entry(*id).or_default() += 1;
            }
        };
        note_calls(&control.body.stmts, &mut note);
        control.actions.iter().for_each(|a| note_calls(&a.body.stmts, &mut note));
        candidates.retain(|id| used.get(id) == Some(&1));
        candidates
    }
}

/// The last part of the path of an applied block, if it is a path under `prefix`; else its whole path.
fn sub_block_names<'a, I: Ord + Copy>(
    applied: &BTreeSet<I>,
    prefix: &str,
    path: impl Fn(I) -> Option<&'a str>,
    taken: &mut Taken,
) -> BTreeMap<I, String> {
    let name = |id: &I| {
        let path = path(*id).unwrap_or("block");
        let below = path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
        (*id, taken.pick(below.unwrap_or(path)))
    };
    applied.iter().map(name).collect()
}

/// Instances of controls that are never applied: the control plane still sees their objects.
fn idle_controls(program: &Program) -> impl Iterator<Item = ControlId> {
    let mut applied = BTreeSet::new();
    for control in &program.controls {
        note_calls(&control.body.stmts, &mut |callee| {
            if let Callee::Control(id) = callee {
                applied.insert(*id);
            }
        });
    }
    (0..program.controls.len()).map(ControlId::from).filter(move |id| !applied.contains(id))
}

/// Like [`idle_controls`].
fn idle_parsers(program: &Program) -> impl Iterator<Item = ParserId> {
    let mut applied = BTreeSet::new();
    for state in program.parsers.iter().flat_map(|p| &p.states) {
        note_calls(&state.stmts, &mut |callee| {
            if let Callee::Parser(id) = callee {
                applied.insert(*id);
            }
        });
    }
    (0..program.parsers.len()).map(ParserId::from).filter(move |id| !applied.contains(id))
}

/// True if the path names something in the block with that path, and not deeper.
fn stands_in(path: Option<&str>, block: &str) -> bool {
    let below = path.and_then(|path| path.strip_prefix(block)?.strip_prefix('.'));
    !block.is_empty() && below.is_some_and(|name| !name.is_empty() && !name.contains('.'))
}

/// The states that a transition names.
fn targets(transition: &Transition) -> Vec<StateId> {
    let next: Vec<StateRef> = match transition {
        Transition::Goto(next) => vec![*next],
        Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
    };
    let state = |next: StateRef| match next {
        StateRef::State(id) => Some(id),
        StateRef::Accept | StateRef::Reject => None,
    };
    next.into_iter().filter_map(state).collect()
}

/// Names of variables; each hides nothing where it is visible.
struct VarNames<'a> {
    program: &'a Program,
    globals: &'a Globals,
    vars: &'a [Var],
    names: Vec<Option<String>>,
    actions: Vec<String>,
    tables: Vec<String>,
    instances: BTreeMap<InstanceId, String>,
    /// Names of the parameters around, which nothing in a body may hide.
    params: Taken,
}

impl<'a> VarNames<'a> {
    fn new(printer: &'a Printer<'_>, vars: &'a [Var]) -> VarNames<'a> {
        VarNames {
            program: printer.program,
            globals: &printer.globals,
            vars,
            names: vec![None; vars.len()],
            actions: vec![],
            tables: vec![],
            instances: BTreeMap::new(),
            params: Taken::default(),
        }
    }

    /// The names that some code refers to, as far as they are known.
    fn used(&self, collect: impl FnOnce(&mut Uses)) -> Taken {
        let mut uses = Uses {
            program: self.program,
            globals: self.globals,
            vars: self.vars,
            var_names: &self.names,
            actions: &self.actions,
            tables: &self.tables,
            instances: &self.instances,
            found: BTreeSet::new(),
        };
        collect(&mut uses);
        Taken::of(uses.found)
    }

    fn declare(&mut self, id: VarId, taken: &mut Taken) {
        if let (Some(var), Some(name)) = (self.vars.get(id.index()), self.names.get_mut(id.index())) {
            *name = Some(taken.pick(&var.name));
        }
    }

    /// A parameter may be named like its type, but not like that of a later one.
    fn params(&mut self, ids: &[VarId], taken: &mut Taken) {
        self.params = Taken::default();
        for (index, id) in ids.iter().enumerate() {
            let later = ids[index + 1..].iter().filter_map(|id| self.vars.get(id.index()));
            let types = self.used(|uses| later.for_each(|var| uses.ty(&var.ty)));
            self.declare(*id, &mut taken.and(&types));
            if let Some(Some(name)) = self.names.get(id.index()) {
                taken.take(name);
                self.params.take(name);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        let mut taken = self.used(|uses| uses.stmts(&block.stmts)).and(&self.params);
        self.stmts(&block.stmts, &mut taken);
    }

    /// `taken` has names that the statements use, and names beside them.
    fn stmts(&mut self, stmts: &[Stmt], taken: &mut Taken) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Declare(var, _) => self.declare(*var, taken),
                StmtKind::For { init, body, .. } => {
                    let mut inside =
                        self.used(|uses| uses.stmts(std::slice::from_ref(stmt))).and(&self.params);
                    self.stmts(init, &mut inside);
                    self.stmts(&body.stmts, &mut inside);
                }
                StmtKind::ForIn { var, body, .. } => {
                    let mut inside =
                        self.used(|uses| uses.stmts(std::slice::from_ref(stmt))).and(&self.params);
                    self.declare(*var, &mut inside);
                    self.stmts(&body.stmts, &mut inside);
                }
                _ => ir::visit::blocks(stmt, &mut |block| self.block(block)),
            }
        }
    }

    /// The names; undeclared objects get new ones.
    fn finish(self) -> Vec<String> {
        let vars = self.vars.iter();
        let mut rest = Taken::of(self.names.iter().flatten().cloned().collect());
        self.names.into_iter().zip(vars).map(|(n, var)| n.unwrap_or_else(|| rest.pick(&var.name))).collect()
    }
}
