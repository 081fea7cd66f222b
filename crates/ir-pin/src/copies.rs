//! Makes the copies: objects, actions and tables under names with [`SUFFIX`], each made of copies.

use crate::SUFFIX;
use crate::metadata::free_name;
use crate::objects::Doubled;
use crate::request::{CopyOf, Resident};
use ir::{
    ActionId, Annotations, Block, Control, ControlId, InstanceId, Name, Program, Renumber, StmtKind, TableId,
    VarId, visit,
};
use std::collections::BTreeMap;

/// Numbers of the copies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Copies {
    pub tables: BTreeMap<TableId, TableId>,
    pub actions: BTreeMap<ActionId, ActionId>,
    pub instances: BTreeMap<InstanceId, InstanceId>,
}

/// Adds the copies to the program. Tables get the sizes that `resident` says.
pub fn make(
    program: &mut Program,
    ingress: ControlId,
    doubled: &Doubled,
    resident: &dyn Fn(&ir::Table) -> Resident,
) -> Copies {
    let mut copies = Copies::default();
    for &id in &doubled.instances {
        let mut copy = program.instance(id).clone();
        let taken = |name: &str| program.instances.iter().any(|i| i.name == name);
        copy.name = free_name(&format!("{}{SUFFIX}", copy.name), &taken);
        let taken = |name: &str| is_taken(program, name);
        copy.control_plane_name = free_name(&format!("{}{SUFFIX}", copy.control_plane_name), &taken);
        drop_names(&mut copy.annotations);
        let new = InstanceId::from(program.instances.len());
        program.instances.push(copy);
        if let ir::Owner::Control(owner) = program.instances[new.index()].owner {
            program.controls[owner.index()].instances.push(new);
        }
        copies.instances.insert(id, new);
    }
    // All numbers are known before a body is copied: an action may call another one.
    let first = program.control(ingress).actions.len();
    copies.actions = doubled.actions.iter().copied().zip((first..).map(ActionId::from)).collect();
    let first = program.control(ingress).tables.len();
    copies.tables = doubled.tables.iter().copied().zip((first..).map(TableId::from)).collect();
    for &id in &doubled.actions {
        let control = &program.controls[ingress.index()];
        let mut copy = control.actions[id.index()].clone();
        let taken = |name: &str| control.actions.iter().any(|a| a.name == name);
        copy.name = free_name(&format!("{}{SUFFIX}", copy.name), &taken);
        let taken = |name: &str| is_taken(program, name);
        copy.control_plane_name = free_name(&format!("{}{SUFFIX}", copy.control_plane_name), &taken);
        copy.top_level = false;
        drop_names(&mut copy.annotations);
        let control = &mut program.controls[ingress.index()];
        let mut vars = BTreeMap::new();
        for param in &mut copy.params {
            *param = renewed(control, &mut vars, *param);
        }
        copies.block(control, &mut copy.body, vars);
        control.actions.push(copy);
    }
    for &id in &doubled.tables {
        let control = program.control(ingress);
        let mut copy = control.tables[id.index()].clone();
        let taken = |name: &str| control.tables.iter().any(|t| t.name == name);
        copy.name = free_name(&format!("{}{SUFFIX}", copy.name), &taken);
        let taken = |name: &str| is_taken(program, name);
        copy.control_plane_name = free_name(&format!("{}{SUFFIX}", copy.control_plane_name), &taken);
        drop_names(&mut copy.annotations);
        if let Resident::Most(most) = resident(&control.tables[id.index()]) {
            // A copy that is there from the start would stay after its original has gone.
            if !copy.const_entries {
                copy.entries.clear();
            }
            let least = copy.entries.len() as u64;
            copy.size = Some(copy.size.map_or(most, |size| size.min(most)).max(least));
        }
        copies.renumber(&|var| var, &mut |renumber| renumber.in_table(&mut copy));
        program.controls[ingress.index()].tables.push(copy);
    }
    copies
}

impl Copies {
    /// Makes a block use the copies; variables that it declares get others.
    pub fn block(&self, control: &mut Control, block: &mut Block, mut vars: BTreeMap<VarId, VarId>) {
        let mut declared = vec![];
        visit::stmts(block, &mut |stmt| match &stmt.kind {
            StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => declared.push(*var),
            StmtKind::For { init, .. } => declared.extend(init.iter().filter_map(|stmt| match stmt.kind {
                StmtKind::Declare(var, _) => Some(var),
                _ => None,
            })),
            _ => {}
        });
        for var in declared {
            renewed(control, &mut vars, var);
        }
        let var = |var: VarId| vars.get(&var).copied().unwrap_or(var);
        self.renumber(&var, &mut |renumber| renumber.block(block));
    }

    /// Makes a block use the copies in place of the originals, with its own variables.
    pub fn same_vars(&self, block: &mut Block) {
        self.renumber(&|var| var, &mut |renumber| renumber.block(block));
    }

    fn renumber(&self, var: &dyn Fn(VarId) -> VarId, f: &mut dyn FnMut(&Renumber<'_>)) {
        let action = |id| self.actions.get(&id).copied().unwrap_or(id);
        let table = |id| self.tables.get(&id).copied().unwrap_or(id);
        let instance = |id| self.instances.get(&id).copied().unwrap_or(id);
        f(&Renumber { var, action: &action, table: &table, instance: &instance });
    }

    /// Control-plane names of tables, actions and objects, with those of their copies.
    pub fn names(&self, program: &Program, ingress: ControlId) -> [Vec<CopyOf>; 3] {
        let control = program.control(ingress);
        let pair = |original: &Name, resident: &Name| CopyOf {
            original: original.clone(),
            resident: resident.clone(),
        };
        let tables = self.tables.iter().map(|(a, b)| {
            pair(&control.tables[a.index()].control_plane_name, &control.tables[b.index()].control_plane_name)
        });
        let actions = self.actions.iter().map(|(a, b)| {
            pair(
                &control.actions[a.index()].control_plane_name,
                &control.actions[b.index()].control_plane_name,
            )
        });
        let objects = self.instances.iter().map(|(a, b)| {
            pair(&program.instance(*a).control_plane_name, &program.instance(*b).control_plane_name)
        });
        [tables.collect(), actions.collect(), objects.collect()]
    }
}

/// The variable that stands for `var` in the copy.
fn renewed(control: &mut Control, vars: &mut BTreeMap<VarId, VarId>, var: VarId) -> VarId {
    *vars.entry(var).or_insert_with(|| {
        let copy = control.vars[var.index()].clone();
        control.vars.push(copy);
        VarId::from(control.vars.len() - 1)
    })
}

/// A copy has a name and an id of its own.
fn drop_names(annotations: &mut Annotations) {
    annotations.retain(|a| a.name != "name" && a.name != "id");
}

/// Something has this control-plane name.
pub fn is_taken(program: &Program, name: &str) -> bool {
    let in_controls = program.controls.iter().any(|control| {
        control.tables.iter().any(|t| t.control_plane_name == name)
            || control.actions.iter().any(|a| a.control_plane_name == name)
    });
    in_controls || program.instances.iter().any(|i| i.control_plane_name == name)
}
