//! Actions of registers that no stateful ALU can do.
//!
//! ```text
//! void apply(inout bit<32> value, out bit<32> rv) { if (value[31:24] == epoch) { value = value + (step << 1); } }
//!                                                       ^^^^^^^^^^^^ bits of the cell      ^^^^ two operations for one value
//! ```

use crate::object;
use crate::problem::Problem;
use base_diag::Span;
use ir::{BinaryOp, Block, Expr, ExprKind, InstanceId, Program, StmtKind, Type, VarId, visit};

/// Bits of cells that are plain numbers.
const CELLS: [u32; 5] = [1, 8, 16, 32, 64];
/// The cell, in an action.
const VALUE: VarId = VarId(0);

/// Reasons why no ALU can run the action `id`, which is called at `span`.
pub(crate) fn problems(program: &Program, id: InstanceId, span: Span) -> Vec<Problem> {
    let action = program.instance(id);
    let name = program.extern_object(action.object).name.as_str();
    if !matches!(name, "RegisterAction" | "DirectRegisterAction") {
        return vec![];
    }
    let mut found = vec![];
    let register = program.instance(object::register_of(program, id));
    let cell = register.type_args.first().map(|cell| program.representation(cell));
    if let Some(Type::Bit(bits) | Type::Int(bits)) = cell
        && !CELLS.contains(bits)
    {
        let what = format!("a register with cells of {bits} bits");
        found.push(Problem::new(register.span, &what, "take cells of 1, 8, 16, 32 or 64 bits"));
    }
    for (_, function) in &action.methods {
        let body = &program.functions[function.index()].body;
        found.extend(in_body(body, span));
    }
    found
}

fn in_body(body: &Block, span: Span) -> Vec<Problem> {
    let mut found = vec![];
    visit::stmts(body, &mut |stmt| {
        let place = if stmt.span == Span::NONE { span } else { stmt.span };
        match &stmt.kind {
            StmtKind::If(condition, ..) if has_slice(condition) => found.push(Problem::new(
                place,
                "a condition on some bits of a register's cell",
                "compare the whole cell, or keep the bits in a register of their own",
            )),
            StmtKind::Assign(_, value) if has_sum_inside(value) => found.push(Problem::new(
                place,
                "a sum within another operation in a register action",
                "a stateful ALU computes a value by one operation: compute operands of the packet before",
            )),
            _ => {}
        }
    });
    found
}

/// True if the expression contains bits of the cell.
fn has_slice(expr: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(expr, &mut |part| {
        if let ExprKind::Slice { base, .. } = &part.kind {
            found |= is_cell(base);
        }
    });
    found
}

fn is_cell(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(var) => *var == VALUE,
        ExprKind::Field(base, _) => is_cell(base),
        _ => false,
    }
}

/// True if a sum or difference is an operand, or has an operand that is computed.
fn has_sum_inside(value: &Expr) -> bool {
    let mut operations = 0;
    let mut sums = 0;
    visit::subexprs(value, &mut |part| {
        if let ExprKind::Binary(op, ..) = &part.kind {
            let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::AddSat | BinaryOp::SubSat);
            operations += usize::from(!is_comparison(*op));
            sums += usize::from(is_sum);
        }
    });
    sums > 0 && operations > 1
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or)
}
