//! Questions about the original program, and its refusal.

use base_diag::codes::tna::CONVERT;
use base_diag::{Diagnostic, Span};
use ir::{
    Call, Callee, Expr, ExprKind, Program, Stage, StageKind, Stmt, StmtKind, Type, TypeId, TypeKind, Var,
    VarId, build,
};

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
