//! Code that devices of a class cannot run, whatever their resources: it has to run elsewhere.

use device_classes::{DeviceClass, Lacks};
use ir::{
    BinaryOp, Block, Callee, Control, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, TableId, visit,
};

/// True if the class cannot execute a statement, because of the statement itself or of tables and functions that it
/// calls; nested statements do not count.
pub fn exceeds(class: DeviceClass, program: &Program, control: &Control, stmt: &Stmt) -> bool {
    Look { lacks: class.profile().lacks, program, control }.stmt(stmt)
}

struct Look<'p> {
    lacks: Lacks,
    program: &'p Program,
    control: &'p Control,
}

impl Look<'_> {
    fn block(&self, block: &Block) -> bool {
        let mut found = false;
        visit::stmts(block, &mut |stmt| found |= self.stmt(stmt));
        found
    }

    fn stmt(&self, stmt: &Stmt) -> bool {
        let own = match &stmt.kind {
            StmtKind::For { .. } | StmtKind::ForIn { .. } => self.lacks.loops,
            StmtKind::AssignOp(op, _, value) => self.operator(*op, value),
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => self.table(*table),
            StmtKind::Call(call) => self.callee(&call.callee),
            _ => false,
        };
        let mut found = own;
        visit::exprs(stmt, &mut |e| visit::subexprs(e, &mut |e| found |= self.expr(e)));
        found
    }

    fn expr(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Binary(op @ BinaryOp::Mul, left, right) => {
                self.operator(*op, left) && self.operator(*op, right)
            }
            ExprKind::Binary(op, _, right) => self.operator(*op, right),
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table(*table),
            ExprKind::Call(call) => self.callee(&call.callee),
            _ => false,
        }
    }

    /// Whether an operator with this operand needs more than shifts by constants.
    fn operator(&self, op: BinaryOp, operand: &Expr) -> bool {
        let constant = number(operand);
        match op {
            BinaryOp::Mul => self.lacks.products && !constant.is_some_and(u128::is_power_of_two),
            BinaryOp::Shl | BinaryOp::Shr => self.lacks.shifts_by_values && constant.is_none(),
            _ => false,
        }
    }

    fn table(&self, id: TableId) -> bool {
        let Some(table) = self.control.tables.get(id.index()) else { return false };
        let mut found = false;
        for key in &table.keys {
            visit::subexprs(&key.expr, &mut |e| found |= self.expr(e));
        }
        found || table.actions.iter().any(|run| self.action(run.action))
    }

    fn action(&self, id: ir::ActionId) -> bool {
        self.control.actions.get(id.index()).is_some_and(|action| self.block(&action.body))
    }

    fn callee(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Action(action) => self.action(*action),
            Callee::Function(function) => {
                self.program.functions.get(function.index()).is_some_and(|f| self.block(&f.body))
            }
            Callee::ExternFunction(function) => {
                let declared = self.program.extern_functions.get(function.index());
                self.lacks.functions_of_programs && declared.is_some_and(|f| f.user)
            }
            Callee::Method(instance, _) => {
                let instance = self.program.instance(*instance);
                let object = self.program.extern_object(instance.object);
                let cell = || instance.type_args.first().and_then(|ty| self.program.bits(ty)).unwrap_or(0);
                let above = |most: u64| object.name == "register" && cell() > most;
                self.lacks.functions_of_programs && object.user
                    || self.lacks.cells_above_bits.is_some_and(above)
            }
            Callee::Control(_) | Callee::Parser(_) | Callee::ParamMethod(..) => false,
        }
    }
}

fn number(expr: &Expr) -> Option<u128> {
    match &expr.kind {
        ExprKind::Const(ir::Const::Bits(bits)) => bits.to_u128(),
        ExprKind::Const(ir::Const::Int(n)) => u128::try_from(n).ok(),
        ExprKind::Cast(inner) => number(inner),
        _ => None,
    }
}
