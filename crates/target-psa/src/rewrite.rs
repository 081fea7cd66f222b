//! Calls of PNA's functions as assignments, and its names as PSA's.
//!
//! Before: `send_to_port(p);`
//! After:  `ostd.drops = false; ostd.repeats = false; ostd.port = p;`

use crate::convert::{OUTPUT, fields};
use ir::{
    Call, Callee, Control, ControlId, Expr, ExprKind, Field, Name, Program, Role, StageKind, Stmt, StmtKind,
    Transition, Type, TypeId, TypeKind, VarId, build, visit,
};

/// Enums that both architectures have, by the end of their names.
const ENUMS: [&str; 5] = ["HashAlgorithm_t", "CounterType_t", "MeterType_t", "MeterColor_t", "IdleTimeout_t"];

/// Renames enums and table properties.
pub(crate) fn rename(program: &mut Program) {
    for decl in &mut program.types {
        if let Some(end) = decl.name.strip_prefix("PNA_").filter(|end| ENUMS.contains(end)) {
            decl.name = format!("PSA_{end}").into();
        }
    }
    for table in program.controls.iter_mut().flat_map(|control| &mut control.tables) {
        for (name, _) in &mut table.properties {
            if let Some(end) = name.strip_prefix("pna_") {
                *name = Name::from(format!("psa_{end}"));
            }
        }
    }
}

/// Adds the fields for requests to the output metadata; gives their positions.
pub(crate) fn extend(program: &mut Program) -> Option<[usize; 3]> {
    let port = port_type(program);
    let decl = program.types.iter_mut().find(|decl| decl.name == OUTPUT)?;
    let TypeKind::Struct(known) = &mut decl.kind else { return None };
    let first = known.len();
    let types = [Type::Bool, Type::Bool, port];
    let added: Vec<Field> =
        fields().iter().zip(types).map(|(name, ty)| build::struct_field(name, ty)).collect();
    known.extend(added);
    Some([first, first + 1, first + 2])
}

/// `PortId_t`
fn port_type(program: &Program) -> Type {
    let id = program.types.iter().position(|decl| decl.name == "PortId_t");
    id.map_or(Type::Bit(32), |id| Type::Named(TypeId::from(id)))
}

/// Replaces the calls in the main control and in its actions, which see its output metadata.
pub(crate) fn calls(program: &mut Program, at: [usize; 3]) {
    let Some(main) = main_control(program) else { return };
    let old = program.clone();
    let Some(output) = output(&old, main) else { return };
    for (id, control) in program.controls.iter_mut().enumerate() {
        let output = (ControlId::from(id) == main).then(|| output.clone());
        replace(&old, control, output.as_ref(), at);
    }
    for parser in &mut program.parsers {
        for state in &mut parser.states {
            state.stmts.iter_mut().for_each(|stmt| {
                visit::exprs_mut(stmt, &mut |e| select(&old, e));
            });
            if let Transition::Select(choice) = &mut state.transition {
                choice.exprs.iter_mut().for_each(|e| select(&old, e));
            }
        }
    }
}

fn main_control(program: &Program) -> Option<ControlId> {
    match program.stage("main_control")?.kind {
        StageKind::Control(id) => Some(id),
        _ => None,
    }
}

/// The parameter with the requests.
fn output(program: &Program, main: ControlId) -> Option<Expr> {
    let stage = program.stage("main_control")?;
    let at = stage.roles.iter().position(|role| *role == Role::Output)?;
    let control = program.control(main);
    let var: VarId = *control.params.get(at)?;
    Some(build::var_of(&control.vars, var))
}

fn replace(program: &Program, control: &mut Control, output: Option<&Expr>, at: [usize; 3]) {
    let mut change = |stmt: &mut Stmt| {
        visit::exprs_mut(stmt, &mut |e| select(program, e));
        let (StmtKind::Call(call), Some(output)) = (&stmt.kind, output) else { return };
        let Some(name) = function(program, call) else { return };
        let port = match &call.args[..] {
            [Some(port)] => Some(port.clone()),
            _ => None,
        };
        let set = |index: usize, value: Expr| {
            let place = build::field(output.clone(), at[index], value.ty.clone());
            build::assign(place, value).at(stmt.span)
        };
        let [drops, repeats] = match name {
            "drop_packet" => [true, false],
            "send_to_port" => [false, false],
            "recirculate" => [false, true],
            _ => return,
        };
        let mut stmts = vec![set(0, build::bool(drops)), set(1, build::bool(repeats))];
        stmts.extend(port.map(|port| set(2, port)));
        stmt.kind = StmtKind::Block(build::block(stmts));
    };
    visit::stmts_mut(&mut control.body, &mut change);
    control.actions.iter_mut().for_each(|action| visit::stmts_mut(&mut action.body, &mut change));
    for key in control.tables.iter_mut().flat_map(|table| &mut table.keys) {
        select(program, &mut key.expr);
    }
}

fn function<'p>(program: &'p Program, call: &Call) -> Option<&'p str> {
    match call.callee {
        Callee::ExternFunction(id) => Some(program.extern_functions[id.index()].name.as_str()),
        _ => None,
    }
}

/// `SelectByDirection(direction, a, b)` as `direction == PNA_Direction_t.NET_TO_HOST ? a : b`.
fn select(program: &Program, expr: &mut Expr) {
    visit::subexprs_mut(expr, &mut |e| {
        let ExprKind::Call(call) = &e.kind else { return };
        if function(program, call) != Some("SelectByDirection") {
            return;
        }
        let [Some(direction), Some(net), Some(host)] = &call.args[..] else { return };
        let to_host = Expr { kind: ExprKind::Const(ir::Const::Enum(0)), ..direction.clone() };
        let cond = build::equals(direction.clone(), to_host).at(e.span);
        let parts = [cond, net.clone(), host.clone()].map(Box::new);
        let [cond, net, host] = parts;
        e.kind = ExprKind::Ternary(cond, net, host);
    });
}
