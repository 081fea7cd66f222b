//! Controls that a policy brings as P4 source. Each becomes a block that ingress applies; its parameters are all that it shares
//! with the program.

use super::{Cut, Generator};
use crate::split::{LastArgs, LinkEntry};
use base_diag::SourceMap;
use ir::{Call, Callee, ControlId, InstanceId, Name, Owner, Program, Renumber, StageKind, StmtKind};
use p4_arch::{Duty, Texts};
use p4_syntax::Options;
use std::collections::BTreeMap;
use std::rc::Rc;

impl Generator<'_> {
    /// Adds the control that ingress of the program in `source` has as the instance `name`; its control-plane name is `p4rack_NAME` in the
    /// device's ingress. Gives the number and that name. The control may use numbers of bits and the architecture's externs only.
    pub fn bring(&mut self, source: &str, name: &str) -> (ControlId, Name) {
        let ingress = &self.out.control(self.cut.ingress).control_plane_name;
        let path: Name = format!("{ingress}.{}", self.own(name)).into();
        if let Some(found) = self.out.controls.iter().position(|c| c.control_plane_name == path) {
            return (ControlId::from(found), path);
        }
        let arch = &self.out.arch;
        let compiled = || compile(source, arch).map(Rc::new);
        // A policy brings several controls of one source, to several devices: it is compiled once.
        let brought = self.brought.entry(source.to_string()).or_insert_with(compiled).clone();
        let found = brought.as_ref().and_then(|program| {
            let main = crate::arch::control(program, Duty::Ingress)?;
            let wanted = format!("{}.{name}", program.control(main).control_plane_name);
            let control = program.controls.iter().find(|c| c.control_plane_name == wanted)?;
            Some((program, control.clone(), wanted))
        });
        let Some((program, mut control, old)) = found else {
            return (self.lacks(format!("the control `{name}` of a policy"), self.cut.ingress), path);
        };
        let id = ControlId::from(self.out.controls.len());
        let moved = |inner: &Name| Name::from(inner.replacen(&old, &path, 1));
        let mut instances = BTreeMap::new();
        for &number in &control.instances {
            let mut instance = program.instance(number).clone();
            instance.control_plane_name = moved(&instance.control_plane_name);
            instance.owner = Owner::Control(id);
            let object = program.extern_object(instance.object);
            // A user's extern of the same name may be another one.
            instance.object = match self.out.externs.iter().position(|e| e.name == object.name && !e.user) {
                Some(known) => ir::ExternId::from(known),
                None => {
                    self.out.externs.push(object.clone());
                    ir::ExternId::from(self.out.externs.len() - 1)
                }
            };
            instances.insert(number, InstanceId::from(self.out.instances.len()));
            self.out.instances.push(instance);
        }
        let instance = |old: InstanceId| instances.get(&old).copied().unwrap_or(old);
        let renumber = Renumber { var: &|v| v, action: &|a| a, table: &|t| t, instance: &instance };
        for action in &mut control.actions {
            renumber.block(&mut action.body);
            action.control_plane_name = moved(&action.control_plane_name);
        }
        for table in &mut control.tables {
            renumber.in_table(table);
            table.control_plane_name = moved(&table.control_plane_name);
        }
        control.locals.iter_mut().for_each(|local| renumber.stmt(local));
        renumber.block(&mut control.body);
        control.instances = instances.values().copied().collect();
        control.name = self.own(&control.name);
        control.control_plane_name = path.clone();
        self.out.controls.push(control);
        (id, path)
    }

    /// An entry of a table of the control that was brought under the name `path`. `last` says what its last arguments are.
    pub fn fill_brought(
        &mut self,
        path: &Name,
        table: &str,
        keys: Vec<u64>,
        action: &str,
        args: Vec<u64>,
        last: LastArgs,
    ) {
        let table = format!("{path}.{table}").into();
        let action = format!("{path}.{action}").into();
        self.linkage.entries.push(LinkEntry { table, keys, action, args, last });
    }
}

/// A control stands before those that apply it: what was brought moves before ingress.
pub fn put_in_order(program: &mut Program, cut: &Cut<'_>) {
    let (at, first) = (cut.ingress.index(), cut.program.controls.len());
    let brought = program.controls.split_off(first);
    let count = brought.len();
    program.controls.splice(at..at, brought);
    let moved = |id: &mut ControlId| {
        *id = match id.index() {
            n if n >= first => ControlId::from(at + n - first),
            n if n >= at => ControlId::from(n + count),
            _ => *id,
        };
    };
    for stage in &mut program.stages {
        if let StageKind::Control(id) | StageKind::Deparse(id) = &mut stage.kind {
            moved(id);
        }
    }
    for instance in &mut program.instances {
        if let Owner::Control(id) = &mut instance.owner {
            moved(id);
        }
    }
    for control in &mut program.controls {
        ir::visit::stmts_mut(&mut control.body, &mut |stmt| {
            if let StmtKind::Call(Call { callee: Callee::Control(id), .. }) = &mut stmt.kind {
                moved(id);
            }
        });
    }
}

/// A program of the runtime's own; `None` if it is wrong.
fn compile(source: &str, arch: &ir::Arch) -> Option<Program> {
    let version = if let ir::Arch::V1Model(version) = arch { *version } else { 0 };
    let source = format!("#define V1MODEL_VERSION {version}\n{source}");
    let texts = [("policy.p4", source.as_str())];
    let program =
        ir_elaborate::program("policy.p4", &Texts(&texts), &Options::default(), &mut SourceMap::default());
    let mut program = program.ok()?;
    ir::text::erase_spans(&mut program);
    Some(program)
}
