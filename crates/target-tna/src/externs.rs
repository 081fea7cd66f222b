//! Registers, counters and idle timeouts under the names of TNA.

use ir::{
    Block, Call, Callee, Expr, ExprKind, ExternId, Name, Program, Stmt, StmtKind, Type, TypeKind, visit,
};

/// Width of a counter.
const COUNTER_BITS: u32 = 64;

/// Renames objects, gives instances the type arguments of TNA, and makes `r.read(place, index)` an assignment.
pub(crate) fn replace_externs(program: &mut Program) {
    let id_of = |program: &Program, name: &str| {
        program.externs.iter().position(|object| object.name == name && !object.user).map(ExternId::from)
    };
    let (register, counter) = (id_of(program, "register"), id_of(program, "counter"));
    for instance in &mut program.instances {
        if Some(instance.object) == register {
            let cell = instance.type_args.first().cloned().unwrap_or(Type::Bit(32));
            instance.type_args = vec![cell, instance.type_args.get(1).cloned().unwrap_or(Type::Bit(32))];
        } else if Some(instance.object) == counter {
            let index = instance.type_args.first().cloned().unwrap_or(Type::Bit(32));
            instance.type_args = vec![Type::Bit(COUNTER_BITS), index];
        }
    }
    for (id, name) in [(register, "Register"), (counter, "Counter")] {
        if let Some(id) = id {
            program.externs[id.index()].name = Name::from(name);
        }
    }
    for decl in program.types.iter_mut().filter(|decl| decl.name == "CounterType") {
        decl.name = Name::from("CounterType_t");
        if let TypeKind::Enum(members) = &mut decl.kind {
            members.iter_mut().for_each(|member| *member = Name::from(member.to_uppercase().as_str()));
        }
    }
    let tables = program.controls.iter_mut().flat_map(|control| &mut control.tables);
    for (name, _) in tables.flat_map(|table| &mut table.properties) {
        if *name == "support_timeout" {
            *name = Name::from("idle_timeout");
        }
    }
    if register.is_some() {
        reads(program, register);
    }
}

fn reads(program: &mut Program, register: Option<ExternId>) {
    let cells: Vec<Option<Type>> = program
        .instances
        .iter()
        .map(|i| i.type_args.first().filter(|_| Some(i.object) == register).cloned())
        .collect();
    let methods = register.map(|id| program.extern_object(id).methods.clone()).unwrap_or_default();
    let mut change = |stmt: &mut Stmt| {
        let StmtKind::Call(call) = &stmt.kind else { return };
        let Callee::Method(id, method) = call.callee else { return };
        let Some(ty) = cells.get(id.index()).cloned().flatten() else { return };
        let is_read = methods.get(method as usize).is_some_and(|m| m.name == "read");
        let [Some(place), Some(index)] = &call.args[..] else { return };
        if is_read {
            let (place, span) = (place.clone(), call.span);
            let call = Call { args: vec![Some(index.clone())], ..call.clone() };
            let value = Expr { kind: ExprKind::Call(Box::new(call)), ty, span };
            stmt.kind = StmtKind::Assign(place, value);
        }
    };
    let mut all = |block: &mut Block| visit::stmts_mut(block, &mut change);
    for control in &mut program.controls {
        all(&mut control.body);
        control.actions.iter_mut().for_each(|action| all(&mut action.body));
    }
}
