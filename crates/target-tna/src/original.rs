//! Questions about the original program, and its refusal.

use base_diag::codes::tna::CONVERT;
use base_diag::{Diagnostic, Span};
use ir::{
    Call, Callee, Control, Expr, ExprKind, Program, Stage, StageKind, Stmt, StmtKind, Type, TypeId, TypeKind,
    Var, VarId, build, visit,
};
use std::collections::BTreeSet;

/// The metadata of v1model, which becomes metadata of the program.
pub(crate) const METADATA: &str = "standard_metadata_t";

/// True if the control of a stage does anything.
pub(crate) fn has_code(program: &Program, stage: &Stage) -> bool {
    match stage.kind {
        StageKind::Control(id) => {
            program.control(id).body.stmts.iter().any(|stmt| does_anything(program, stmt))
        }
        _ => true,
    }
}

fn does_anything(program: &Program, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Block(block) => block.stmts.iter().any(|stmt| does_anything(program, stmt)),
        StmtKind::Call(Call { callee: Callee::Control(id), .. }) => {
            program.control(*id).body.stmts.iter().any(|stmt| does_anything(program, stmt))
        }
        _ => true,
    }
}

/// The field of v1model's metadata that an expression reads.
pub(crate) fn metadata<'p>(program: &'p Program, expr: &Expr) -> Option<&'p str> {
    let ExprKind::Field(base, index) = &expr.kind else { return None };
    let Type::Named(id) = base.ty else { return None };
    let is_metadata = program.type_decl(id).name == METADATA;
    let field = program.fields(&base.ty).get(*index as usize).filter(|_| is_metadata)?;
    Some(field.name.as_str())
}

/// The variable and the fields that lead to a place.
pub(crate) fn path(place: &Expr) -> Option<(VarId, Vec<u32>)> {
    match &place.kind {
        ExprKind::Var(id) => Some((*id, vec![])),
        ExprKind::Field(base, field) => {
            let (var, mut path) = path(base)?;
            path.push(*field);
            Some((var, path))
        }
        _ => None,
    }
}

/// Calls `f` with each variable in an expression, and the fields below it.
pub(crate) fn places(expr: &Expr, f: &mut dyn FnMut((VarId, Vec<u32>))) {
    match path(expr) {
        Some(place) => f(place),
        None => visit::parts(expr, &mut |part| places(part, f)),
    }
}

/// Word of the variables that [`crate::sums`] adds.
pub(crate) const PART: &str = "part";
/// Word of the variables that [`crate::conditions`] adds.
pub(crate) const ORDER: &str = "order";

/// A new variable of a control, named by a word and a number.
pub(crate) fn local(control: &mut Control, word: &str, ty: &Type) -> Expr {
    let all = (0..).map(|number| format!("{word}{number}"));
    let name = all.into_iter().find(|name| !has_name(control, name)).unwrap_or_default();
    build::var(declare(control, &name, ty, None), ty)
}

/// Declares a variable of a control.
pub(crate) fn declare(control: &mut Control, name: &str, ty: &Type, value: Option<Expr>) -> VarId {
    let var = build::local(&mut control.vars, name, ty.clone(), Span::NONE);
    control.locals.push(build::declare(var, value));
    var
}

/// Makes the declaration of a number among `used` in a body an assignment of its initial value, or of zero. Returns the variable, which the control
/// has to declare.
pub(crate) fn undeclare(stmt: &mut Stmt, vars: &[Var], used: &BTreeSet<VarId>) -> Option<VarId> {
    let StmtKind::Declare(var, value) = &mut stmt.kind else { return None };
    let var = *var;
    let ty = &vars[var.index()].ty;
    if !used.contains(&var) {
        return None;
    }
    let zero = match ty {
        Type::Bit(_) | Type::Int(_) => Some(build::cast(build::bits(1, 0), ty.clone())),
        Type::Bool => Some(build::bool(false)),
        _ => None,
    };
    let value = value.take().or(zero)?;
    *stmt = build::assign(build::var(var, ty), value).at(stmt.span);
    Some(var)
}

/// A name that no variable, action or table of the control has.
pub(crate) fn fresh(control: &Control, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    all.find(|name| !has_name(control, name)).unwrap_or_default()
}

fn has_name(control: &Control, name: &str) -> bool {
    control.vars.iter().any(|var| var.name == name)
        || control.actions.iter().any(|action| action.name == name)
        || control.tables.iter().any(|table| table.name == name)
}

/// The type of that metadata.
pub(crate) fn standard_type(program: &Program) -> TypeId {
    TypeId::from(program.types.iter().position(|decl| decl.name == METADATA).unwrap_or(program.types.len()))
}

/// The parameter of a block that is that metadata.
pub(crate) fn standard_of(program: &Program, vars: &[Var], params: &[VarId]) -> Option<VarId> {
    let ty = Type::Named(standard_type(program));
    params.iter().copied().find(|id| vars.get(id.index()).is_some_and(|var| var.ty == ty))
}

/// Adds a field to that metadata. Returns its index.
pub(crate) fn add_metadata(program: &mut Program, name: &str, ty: Type) -> usize {
    let id = standard_type(program);
    let TypeKind::Struct(fields) = &mut program.types[id.index()].kind else { return 0 };
    fields.push(build::struct_field(name, ty));
    fields.len() - 1
}

/// The diagnostic for a construct.
pub(crate) fn refused(what: &str, span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(CONVERT, format!("{what} cannot be converted to TNA")).at(span, label)
}
