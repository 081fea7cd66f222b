//! Names in one block: its variables and what it declares beside them.

use crate::globals::Globals;
use crate::names::Taken;
use crate::print::Printer;
use crate::uses::Uses;
use ir::{
    Action, Block, Callee, Control, ControlId, Function, InstanceId, Parser, ParserId, Program, Stmt,
    StmtKind, Table, Var, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// What everything in a block is called in the source.
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
    /// Instances of other controls and parsers that the block applies.
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
        names.declare_all(&function.params, &mut taken);
        names.stmts(&function.body.stmts, &mut taken);
        self.local = Local { vars: &function.vars, var_names: names.finish(), ..Local::default() };
    }

    pub(crate) fn parser_names(&mut self, parser: &'p Parser, prefix: String) {
        let mut names = VarNames::new(self, &parser.vars);
        let mut taken = names.used(|uses| uses.parser(parser));
        names.declare_all(&parser.params, &mut taken);
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
        let parsers = sub_block_names(&applied, &prefix, path, &mut taken);
        names.stmts(&parser.locals, &mut taken);
        for state in &parser.states {
            names.stmts(&state.stmts, &mut taken.clone());
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
        let top_level = |action: &Action| self.globals.action(self.program, control, action);
        control.actions.iter().filter_map(top_level).for_each(|name| taken.take(name));
        names.declare_all(&control.params, &mut taken);
        for action in &control.actions {
            let name = top_level(action).map(str::to_string).unwrap_or_else(|| taken.pick(&action.name));
            names.actions.push(name);
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
        let controls = sub_block_names(&applied, &prefix, path, &mut taken);
        names.stmts(&control.locals, &mut taken);
        for action in &control.actions {
            // Its parameters are control-plane names: they may hide what the action does not use.
            let mut inside = names.used(|uses| uses.stmts(&action.body.stmts));
            names.declare_all(&action.params, &mut inside);
            names.stmts(&action.body.stmts, &mut inside);
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

    fn instance_names(
        &self,
        instances: &[InstanceId],
        inline: &BTreeSet<InstanceId>,
        taken: &mut Taken,
    ) -> BTreeMap<InstanceId, String> {
        let mut names = BTreeMap::new();
        for id in instances.iter().filter(|id| !inline.contains(id)) {
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
            let properties = [
                ("implementation", table.implementation),
                ("counters", table.counters),
                ("meters", table.meters),
            ];
            for (property, id) in properties {
                let Some(id) = id else { continue };
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

/// The last part of the path of what is applied, if it is a path under `prefix`; else the block's whole path.
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

/// Calls `f` with everything that `stmts` call.
pub(crate) fn note_calls(stmts: &[Stmt], f: &mut dyn FnMut(&Callee)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Call(call) => f(&call.callee),
            StmtKind::For { init, update, .. } => {
                note_calls(init, f);
                note_calls(update, f);
            }
            _ => {}
        }
        ir::visit::exprs(stmt, &mut |expr| {
            ir::visit::subexprs(expr, &mut |e| {
                if let ir::ExprKind::Call(call) = &e.kind {
                    f(&call.callee);
                }
            });
        });
        ir::visit::blocks(stmt, &mut |block| note_calls(&block.stmts, f));
    }
}

/// Gives each variable a name that hides nothing where it is visible.
struct VarNames<'a> {
    program: &'a Program,
    globals: &'a Globals,
    vars: &'a [Var],
    names: Vec<Option<String>>,
    actions: Vec<String>,
    tables: Vec<String>,
    instances: BTreeMap<InstanceId, String>,
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

    fn declare_all(&mut self, ids: &[VarId], taken: &mut Taken) {
        ids.iter().for_each(|id| self.declare(*id, taken));
    }

    fn block(&mut self, block: &Block) {
        let mut taken = self.used(|uses| uses.stmts(&block.stmts));
        self.stmts(&block.stmts, &mut taken);
    }

    /// `taken` has what the statements refer to, and what stands beside them.
    fn stmts(&mut self, stmts: &[Stmt], taken: &mut Taken) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Declare(var, _) => self.declare(*var, taken),
                StmtKind::For { init, body, .. } => {
                    let mut inside = self.used(|uses| uses.stmts(std::slice::from_ref(stmt)));
                    self.stmts(init, &mut inside);
                    self.stmts(&body.stmts, &mut inside);
                }
                StmtKind::ForIn { var, body, .. } => {
                    let mut inside = self.used(|uses| uses.stmts(std::slice::from_ref(stmt)));
                    self.declare(*var, &mut inside);
                    self.stmts(&body.stmts, &mut inside);
                }
                _ => ir::visit::blocks(stmt, &mut |block| self.block(block)),
            }
        }
    }

    /// The names; what is declared nowhere gets one of its own.
    fn finish(self) -> Vec<String> {
        let vars = self.vars.iter();
        let mut rest = Taken::of(self.names.iter().flatten().cloned().collect());
        self.names.into_iter().zip(vars).map(|(n, var)| n.unwrap_or_else(|| rest.pick(&var.name))).collect()
    }
}
