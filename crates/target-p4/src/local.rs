//! Names in one block: its variables and what it declares beside them.

use crate::names::Taken;
use crate::print::Printer;
use ir::{
    Block, Callee, Control, ControlId, Function, InstanceId, Parser, ParserId, Stmt, StmtKind, Table, Var,
    VarId,
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
        let mut names = VarNames::new(&function.vars);
        let mut taken = self.globals.taken.clone();
        names.declare_all(&function.params, &mut taken);
        names.block(&function.body, &taken);
        self.local = Local { vars: &function.vars, var_names: names.finish(&taken), ..Local::default() };
    }

    pub(crate) fn parser_names(&mut self, parser: &'p Parser, prefix: String) {
        let mut names = VarNames::new(&parser.vars);
        let mut taken = self.globals.taken.clone();
        names.declare_all(&parser.params, &mut taken);
        // States are a namespace of their own for transitions, but an instance may not meet one.
        let states: Vec<String> = parser.states.iter().map(|s| taken.pick(&s.name)).collect();
        let value_sets = parser.value_sets.iter().map(|v| taken.pick(&v.name)).collect();
        let instances = self.instance_names(&parser.instances, &BTreeSet::new(), &mut taken);
        let mut applied = BTreeSet::new();
        parser.states.iter().for_each(|s| {
            note_calls(&s.stmts, &mut |callee| {
                if let Callee::Parser(id) = callee {
                    applied.insert(*id);
                }
            })
        });
        let path = |id: ParserId| self.program.parsers.get(id.index()).map(|p| p.control_plane_name.as_str());
        let parsers = sub_block_names(&applied, &prefix, path, &mut taken);
        names.stmts(&parser.locals, &mut taken);
        for state in &parser.states {
            names.stmts(&state.stmts, &mut taken.clone());
        }
        self.local = Local {
            vars: &parser.vars,
            var_names: names.finish(&taken),
            states,
            value_sets,
            instances,
            parsers,
            prefix,
            ..Local::default()
        };
    }

    pub(crate) fn control_names(&mut self, control: &'p Control, prefix: String) {
        let mut names = VarNames::new(&control.vars);
        let mut taken = self.globals.taken.clone();
        names.declare_all(&control.params, &mut taken);
        let mut actions = vec![];
        for action in &control.actions {
            actions.push(match self.globals.action(self.program, control, action) {
                Some(top) => top.to_string(),
                None => taken.pick(&action.name),
            });
        }
        let table_names = control.tables.iter().map(|t| taken.pick(&t.name)).collect();
        let inline = self.inline_instances(control);
        let instances = self.instance_names(&control.instances, &inline, &mut taken);
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
            let mut inside = taken.clone();
            names.declare_all(&action.params, &mut inside);
            names.block(&action.body, &inside);
        }
        names.block(&control.body, &taken);
        self.local = Local {
            vars: &control.vars,
            var_names: names.finish(&taken),
            actions,
            tables: &control.tables,
            table_names,
            instances,
            controls,
            inline,
            prefix,
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

/// Gives each variable a name that no other has where it is visible.
struct VarNames<'p> {
    vars: &'p [Var],
    names: Vec<Option<String>>,
}

impl<'p> VarNames<'p> {
    fn new(vars: &'p [Var]) -> VarNames<'p> {
        VarNames { vars, names: vec![None; vars.len()] }
    }

    fn declare(&mut self, id: VarId, taken: &mut Taken) {
        if let (Some(var), Some(name)) = (self.vars.get(id.index()), self.names.get_mut(id.index())) {
            *name = Some(taken.pick(&var.name));
        }
    }

    fn declare_all(&mut self, ids: &[VarId], taken: &mut Taken) {
        ids.iter().for_each(|id| self.declare(*id, taken));
    }

    fn block(&mut self, block: &Block, taken: &Taken) {
        self.stmts(&block.stmts, &mut taken.clone());
    }

    fn stmts(&mut self, stmts: &[Stmt], taken: &mut Taken) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Declare(var, _) => self.declare(*var, taken),
                StmtKind::For { init, body, .. } => {
                    let mut inside = taken.clone();
                    self.stmts(init, &mut inside);
                    self.block(body, &inside);
                }
                StmtKind::ForIn { var, body, .. } => {
                    let mut inside = taken.clone();
                    self.declare(*var, &mut inside);
                    self.block(body, &inside);
                }
                _ => ir::visit::blocks(stmt, &mut |block| self.block(block, taken)),
            }
        }
    }

    /// The names; what is declared nowhere gets one of its own.
    fn finish(self, taken: &Taken) -> Vec<String> {
        let mut rest = taken.clone();
        let vars = self.vars.iter();
        self.names.into_iter().zip(vars).map(|(n, var)| n.unwrap_or_else(|| rest.pick(&var.name))).collect()
    }
}
