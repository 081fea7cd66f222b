//! Forms that a hand-over or the runtime's own code would disturb: refused.

use crate::check::unsupported;
use crate::flow::parser_of;
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Callee, Control, ControlId, Expr, ExprKind, Program, Role, Stage, StageKind, Stmt, StmtKind, Type,
    TypeKind, VarId, visit,
};

/// Standard metadata that tells the runtime where a packet goes and how long it came in.
const RUNTIME_READS: [&str; 2] = ["egress_port", "packet_length"];

/// All of them.
pub fn check_shape(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    for stage in &program.stages {
        if let StageKind::Control(id) = stage.kind {
            check_stage(program, stage, id, &mut found);
        }
        if let StageKind::Deparse(id) = stage.kind {
            check_deparser(program, program.control(id), &mut found);
        }
    }
    for function in &program.functions {
        check_no_methods(&function.body, "a function uses a state object", &mut found);
    }
    if let Some((parser, _)) = parser_of(program) {
        for state in &parser.states {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            check_no_methods(&block, "the parser uses a state object", &mut found);
            visit::stmts(&block, &mut |stmt| check_write(program, stmt, &mut found));
            check_name(&state.name, state.span, &mut found);
        }
    }
    check_names(program, &mut found);
    found
}

fn check_stage(program: &Program, stage: &Stage, id: ControlId, found: &mut Vec<Diagnostic>) {
    let control = program.control(id);
    for (index, var) in control.vars.iter().enumerate() {
        let is_param = control.params.contains(&VarId::from(index));
        let role = control.params.iter().position(|p| p.index() == index).map(|i| stage.roles[i]);
        let holds = (!is_param || role == Some(Role::Metadata)) && holds_header(program, &var.ty);
        if holds {
            let what = format!("`{}` holds a header outside of the packet", var.name);
            found.push(unsupported(var.span, &what));
        }
    }
    let mut blocks = vec![&control.body];
    blocks.extend(control.actions.iter().map(|a| &a.body));
    for block in blocks {
        visit::stmts(block, &mut |stmt| {
            check_write(program, stmt, found);
            visit::exprs(stmt, &mut |e| check_whole(control, stage, e, found));
        });
    }
    for key in control.tables.iter().flat_map(|t| &t.keys) {
        check_whole(control, stage, &key.expr, found);
    }
}

/// A use of the whole headers or metadata struct would see the runtime's fields in it.
fn check_whole(control: &Control, stage: &Stage, expr: &Expr, found: &mut Vec<Diagnostic>) {
    let is_shared = |e: &Expr| match e.kind {
        ExprKind::Var(var) => control
            .params
            .iter()
            .position(|p| *p == var)
            .is_some_and(|i| matches!(stage.roles.get(i), Some(Role::Headers | Role::Metadata))),
        _ => false,
    };
    let (mut all, mut fields) = (0, 0);
    visit::subexprs(expr, &mut |e| {
        all += usize::from(is_shared(e));
        fields += usize::from(matches!(&e.kind, ExprKind::Field(base, _) if is_shared(base)));
    });
    if all > fields {
        found.push(unsupported(expr.span, "the whole headers or metadata struct is used as one value"));
    }
}

fn check_write(program: &Program, stmt: &Stmt, found: &mut Vec<Diagnostic>) {
    let mut places = vec![];
    match &stmt.kind {
        StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) => places.push(place),
        StmtKind::Call(call) => places.extend(call.args.iter().flatten()),
        _ => {}
    }
    let is_standard = |ty: &Type| matches!(ty, Type::Named(id) if Some(program.type_decl(*id).name.as_str()) == p4_arch::v1model::ARCHITECTURE.standard_metadata);
    let is_call = matches!(stmt.kind, StmtKind::Call(_));
    for place in places {
        let place = match &place.kind {
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => base,
            _ => place,
        };
        if is_standard(&place.ty) && !is_call {
            found.push(unsupported(place.span, "the whole standard metadata is written"));
        }
        let ExprKind::Field(base, index) = &place.kind else { continue };
        let name = program.fields(&base.ty).get(*index as usize).map(|f| f.name.as_str()).unwrap_or_default();
        if is_standard(&base.ty) && RUNTIME_READS.contains(&name) {
            found.push(unsupported(place.span, &format!("`{name}` is written, or given to a call")));
        }
    }
}

fn check_deparser(program: &Program, control: &Control, found: &mut Vec<Diagnostic>) {
    for stmt in control.locals.iter().chain(&control.body.stmts) {
        let plain = match &stmt.kind {
            StmtKind::Emit(_, value) => program.is_header(&value.ty) && is_field(value),
            _ => false,
        };
        if !plain {
            found.push(unsupported(stmt.span, "the deparser does more than emit the packet's headers"));
        }
    }
}

fn is_field(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) => is_field(base),
        _ => false,
    }
}

fn check_no_methods(block: &Block, what: &str, found: &mut Vec<Diagnostic>) {
    visit::stmts(block, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind
            && matches!(call.callee, Callee::Method(..))
        {
            found.push(unsupported(call.span, what));
        }
    });
    visit::all_exprs(block, &mut |e| {
        if let ExprKind::Call(call) = &e.kind
            && matches!(call.callee, Callee::Method(..))
        {
            found.push(unsupported(call.span, what));
        }
    });
}

fn holds_header(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Stack(elem, _) => holds_header(program, elem),
        Type::Tuple(parts) => parts.iter().any(|t| holds_header(program, t)),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Header(_) | TypeKind::Union(_) => true,
            TypeKind::Struct(fields) => fields.iter().any(|f| holds_header(program, &f.ty)),
            _ => false,
        },
        _ => false,
    }
}

/// The runtime's own names begin with `p4rack`.
fn check_names(program: &Program, found: &mut Vec<Diagnostic>) {
    for decl in &program.types {
        check_name(&decl.name, decl.span, found);
        for field in program.fields(&Type::Named(type_id(program, decl))) {
            check_name(&field.name, decl.span, found);
        }
    }
    for instance in &program.instances {
        check_name(&instance.name, instance.span, found);
    }
    for control in &program.controls {
        control.actions.iter().for_each(|a| check_name(&a.name, a.span, found));
        control.tables.iter().for_each(|t| check_name(&t.name, t.span, found));
    }
    for set in program.parsers.iter().flat_map(|p| &p.value_sets) {
        check_name(&set.name, set.span, found);
    }
}

fn type_id(program: &Program, decl: &ir::TypeDecl) -> ir::TypeId {
    ir::TypeId::from(program.types.iter().position(|d| d.name == decl.name).unwrap_or(0))
}

fn check_name(name: &str, span: Span, found: &mut Vec<Diagnostic>) {
    if name.starts_with("p4rack") {
        found.push(unsupported(span, &format!("the name `{name}` begins like the runtime's own")));
    }
}
