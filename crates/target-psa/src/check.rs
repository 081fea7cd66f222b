//! Constructs that cannot be run.

use base_diag::codes::run::NOT_SUPPORTED;
use base_diag::{Diagnostic, Span};
use ir::{
    Arch, Call, Callee, Const, Expr, ExprKind, Program, Role, Stage, StageKind, Stmt, Type, TypeKind, visit,
};

/// Functions without a counterpart, with the reason.
const FUNCTIONS: [(&str, &str); 5] = [
    ("add_entry", "packets cannot add entries"),
    ("allocate_flow_id", "it serves `add_entry`, which cannot be run"),
    ("set_entry_expire_time", "entries that packets let expire cannot be run"),
    ("restart_expire_timer", "entries that packets let expire cannot be run"),
    ("mirror_packet", "PNA's architecture file does not say which bytes a mirror has"),
];
/// Functions of the main control.
const DESTINATIONS: [&str; 3] = ["send_to_port", "drop_packet", "recirculate"];
/// Metadata that asks an engine between the blocks to decrypt the packet.
const DECRYPT: &str = "pna_pre_output_metadata_t";

/// Refuses a program that cannot be converted.
pub(crate) fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let Arch::Pna { dpdk } = program.arch else {
        return Err(vec![Diagnostic::error(NOT_SUPPORTED, "only programs for PNA can be converted to PSA")]);
    };
    let mut found = vec![];
    for instance in &program.instances {
        if program.extern_object(instance.object).name == "ipsec_accelerator" {
            let why = "PNA's architecture file does not describe the engine";
            found.push(refused("`ipsec_accelerator`", instance.span, why));
        }
        if instance.args.iter().any(|arg| is_toeplitz(program, arg)) {
            let why = "PNA's architecture file does not give its key";
            found.push(refused("`TOEPLITZ`", instance.span, why));
        }
    }
    let mut call = |call: &Call| found.extend(call_problem(program, call, dpdk));
    for parser in &program.parsers {
        parser.states.iter().for_each(|state| visit::calls(&state.stmts, &mut call));
    }
    for control in &program.controls {
        visit::calls(&control.locals, &mut call);
        visit::calls(&control.body.stmts, &mut call);
        control.actions.iter().for_each(|action| visit::calls(&action.body.stmts, &mut call));
    }
    program.functions.iter().for_each(|function| visit::calls(&function.body.stmts, &mut call));
    found.extend(pre_control(program));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// True for the hash that PSA does not have.
fn is_toeplitz(program: &Program, arg: &Expr) -> bool {
    let (ExprKind::Const(Const::Enum(member)), Type::Named(ty)) = (&arg.kind, &arg.ty) else { return false };
    let TypeKind::Enum(members) = &program.type_decl(*ty).kind else { return false };
    members.get(*member as usize).is_some_and(|name| name == "TOEPLITZ")
}

/// Refuses calls in other blocks that ask for a destination. Those of the main control are no calls any more.
pub(crate) fn elsewhere(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut call = |call: &Call| {
        let Callee::ExternFunction(id) = call.callee else { return };
        let name = program.extern_functions[id.index()].name.as_str();
        if DESTINATIONS.contains(&name) {
            found.push(refused(
                &format!("`{name}`"),
                call.span,
                "only the main control gives packets a destination",
            ));
        }
    };
    for stage in &program.stages {
        match stage.kind {
            StageKind::Parse(id) => {
                program.parser(id).states.iter().for_each(|state| visit::calls(&state.stmts, &mut call));
            }
            StageKind::Control(id) | StageKind::Deparse(id) => {
                let control = program.control(id);
                let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
                bodies.for_each(|body| visit::calls(&body.stmts, &mut call));
            }
            StageKind::TrafficManager => {}
        }
    }
    found
}

fn refused(what: &str, span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(NOT_SUPPORTED, format!("{what} cannot be run")).at(span, why)
}

fn call_problem(program: &Program, call: &Call, dpdk: bool) -> Option<Diagnostic> {
    match call.callee {
        Callee::ExternFunction(id) => {
            let name = program.extern_functions[id.index()].name.as_str();
            let (name, why) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
            Some(refused(&format!("`{name}`"), call.span, why))
        }
        Callee::Method(id, method) => {
            let object = program.extern_object(program.instance(id).object);
            let method = object.methods.get(method as usize)?;
            let is_own = |at: usize| call.args.get(at).is_some_and(Option::is_some);
            let increments = match object.name.as_str() {
                "Counter" => is_own(1),
                "DirectCounter" => is_own(0),
                _ => false,
            };
            let why = "PNA's architecture file does not say what is added for packets";
            (increments && !dpdk && method.name == "count")
                .then(|| refused("an increment of a counter", call.span, why))
        }
        _ => None,
    }
}

/// A pre control that does something has to see the headers and metadata of the main blocks, and cannot ask for decryption.
fn pre_control(program: &Program) -> Vec<Diagnostic> {
    let Some(stage) = program.stage("pre_control").filter(|stage| has_code(program, stage)) else {
        return vec![];
    };
    let (StageKind::Control(id), Some(main)) = (stage.kind, program.stage("main_control")) else {
        return vec![];
    };
    let control = program.control(id);
    let mut found = vec![];
    let types = |stage: &Stage| [Role::Headers, Role::Metadata].map(|role| ty(program, stage, role));
    if types(stage) != types(main) {
        let why = "its headers and metadata are not those of the main control: PNA's architecture file does not say where they come from";
        found.push(refused("this pre control", control.span, why));
    }
    let mut expr = |e: &Expr| {
        visit::subexprs(e, &mut |e| {
            if let ExprKind::Field(base, _) = &e.kind
                && let Type::Named(id) = base.ty
                && program.type_decl(id).name == DECRYPT
            {
                found.push(refused(
                    "decryption",
                    e.span,
                    "PNA's architecture file does not describe the engine",
                ));
            }
        });
    };
    let mut stmt = |stmt: &Stmt| visit::exprs(stmt, &mut expr);
    for control in &program.controls {
        visit::stmts(&control.body, &mut stmt);
        control.actions.iter().for_each(|action| visit::stmts(&action.body, &mut stmt));
    }
    found
}

/// Type of a stage's parameter.
pub(crate) fn ty(program: &Program, stage: &Stage, role: Role) -> Option<Type> {
    let at = stage.roles.iter().position(|known| *known == role)?;
    let (params, vars) = match stage.kind {
        StageKind::Parse(id) => (&program.parser(id).params, &program.parser(id).vars),
        StageKind::Control(id) | StageKind::Deparse(id) => {
            (&program.control(id).params, &program.control(id).vars)
        }
        StageKind::TrafficManager => return None,
    };
    Some(vars[params.get(at)?.index()].ty.clone())
}

/// True if the control of a stage does anything.
pub(crate) fn has_code(program: &Program, stage: &Stage) -> bool {
    match stage.kind {
        StageKind::Control(id) => !program.control(id).body.stmts.is_empty(),
        _ => true,
    }
}
