//! Operations that devices of a class lack: products, shifts by values, loops, functions of the program's own.

use base_diag::{Diagnostic, Span, codes::limits};
use device_classes::{DeviceClass, Lacks};
use ir::{
    BinaryOp, Block, Call, Callee, Control, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, TableId, visit,
};

/// True if the class cannot execute a statement, because of the statement itself or of tables and functions that it
/// calls; nested statements do not count.
pub fn exceeds(class: DeviceClass, program: &Program, control: &Control, stmt: &Stmt) -> bool {
    Look { lacks: class.profile().lacks, program, control: Some(control) }.stmt(stmt)
}

/// An error for each operation of the program that the class lacks.
pub(crate) fn check(program: &Program, class: DeviceClass, lacks: Lacks) -> Vec<Diagnostic> {
    let look = Look { lacks, program, control: None };
    let mut found: Vec<(Beyond, Span)> = vec![];
    let mut stmt = |stmt: &Stmt| {
        found.extend(look.own(stmt).map(|beyond| (beyond, stmt.span)));
        visit::exprs(stmt, &mut |e| {
            visit::subexprs(e, &mut |e| found.extend(look.operation(e).map(|beyond| (beyond, e.span))));
        });
    };
    let mut stmts = |stmts: &[Stmt]| {
        for one in stmts {
            stmt(one);
            visit::blocks(one, &mut |block| visit::stmts(block, &mut stmt));
        }
    };
    for parser in &program.parsers {
        stmts(&parser.locals);
        parser.states.iter().for_each(|state| stmts(&state.stmts));
    }
    for control in &program.controls {
        stmts(&control.locals);
        stmts(&control.body.stmts);
        control.actions.iter().for_each(|action| stmts(&action.body.stmts));
    }
    program.functions.iter().for_each(|function| stmts(&function.body.stmts));
    let parsed = program.parsers.iter().flat_map(|p| &p.states).filter_map(|state| match &state.transition {
        ir::Transition::Select(select) => Some(&select.exprs),
        ir::Transition::Goto(_) => None,
    });
    let keys = program.controls.iter().flat_map(|c| &c.tables).flat_map(|t| &t.keys).map(|key| &key.expr);
    for expr in parsed.flatten().chain(keys) {
        visit::subexprs(expr, &mut |e| found.extend(look.operation(e).map(|beyond| (beyond, e.span))));
    }
    // Instances of one control have the same places.
    found.sort_by_key(|(_, span)| (span.lo, span.hi));
    found.dedup();
    found.into_iter().map(|(beyond, span)| beyond.diagnostic(class).at(span, beyond.reason(class))).collect()
}

/// An operation that the class lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beyond {
    Loop,
    Product,
    Shift,
    OwnFunction,
    WideCell(u64),
}

impl Beyond {
    fn diagnostic(self, class: DeviceClass) -> Diagnostic {
        let what = match self {
            Beyond::Loop => "a loop",
            Beyond::Product => "a multiplication",
            Beyond::Shift => "a shift by a variable",
            Beyond::OwnFunction => "a function of the program's own",
            Beyond::WideCell(_) => "a wide register",
        };
        let title = format!("`{}` cannot execute {what}", class.word());
        let help = match self {
            Beyond::Loop => "write the rounds one after the other",
            Beyond::Product => {
                "include a block: `multiply` or `multiply-normalised` of `p4rack block list`; a product with a constant is a sum of shifts"
            }
            Beyond::Shift => "look the distance up in a table with one action for each distance",
            Beyond::OwnFunction => {
                "`p4rack block list` names blocks of P4 that approximate products, quotients, counts and rates"
            }
            Beyond::WideCell(_) => "divide the cell among several register arrays",
        };
        Diagnostic::error(limits::LACKING_OPERATION, title).help(help)
    }

    fn reason(self, class: DeviceClass) -> String {
        match self {
            Beyond::Loop => "a stage runs once for each packet".to_string(),
            Beyond::Product => "no factor is a power of two".to_string(),
            Beyond::Shift => "the distance is not a constant".to_string(),
            Beyond::OwnFunction => "only software devices offer it".to_string(),
            Beyond::WideCell(bits) => {
                let most = class.profile().lacks.cells_above_bits.unwrap_or(0);
                format!("cells of {bits} bits, and at most {most} are possible")
            }
        }
    }
}

struct Look<'p> {
    lacks: Lacks,
    program: &'p Program,
    /// The control whose tables and actions statements may name.
    control: Option<&'p Control>,
}

impl Look<'_> {
    fn block(&self, block: &Block) -> bool {
        let mut found = false;
        visit::stmts(block, &mut |stmt| found |= self.stmt(stmt));
        found
    }

    fn stmt(&self, stmt: &Stmt) -> bool {
        let called = match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => self.table(*table),
            StmtKind::Call(call) => self.callee(&call.callee),
            _ => false,
        };
        let mut found = called || self.own(stmt).is_some();
        visit::exprs(stmt, &mut |e| visit::subexprs(e, &mut |e| found |= self.expr(e)));
        found
    }

    fn expr(&self, expr: &Expr) -> bool {
        let called = match &expr.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table(*table),
            ExprKind::Call(call) => self.callee(&call.callee),
            _ => false,
        };
        called || self.operation(expr).is_some()
    }

    /// The operation of a statement that the class lacks, without its expressions.
    fn own(&self, stmt: &Stmt) -> Option<Beyond> {
        match &stmt.kind {
            StmtKind::For { .. } | StmtKind::ForIn { .. } => self.lacks.loops.then_some(Beyond::Loop),
            StmtKind::AssignOp(op, _, value) => self.operator(*op, value),
            StmtKind::Call(call) => self.outside(call),
            _ => None,
        }
    }

    /// The operation of an expression that the class lacks, without its operands.
    fn operation(&self, expr: &Expr) -> Option<Beyond> {
        match &expr.kind {
            ExprKind::Binary(op @ BinaryOp::Mul, left, right) => {
                self.operator(*op, left).and(self.operator(*op, right))
            }
            ExprKind::Binary(op, _, right) => self.operator(*op, right),
            ExprKind::Call(call) => self.outside(call),
            _ => None,
        }
    }

    /// Whether an operator with this operand needs more than shifts by constants.
    fn operator(&self, op: BinaryOp, operand: &Expr) -> Option<Beyond> {
        let constant = number(operand);
        match op {
            BinaryOp::Mul => {
                let needs_multiplier = self.lacks.products && !constant.is_some_and(u128::is_power_of_two);
                needs_multiplier.then_some(Beyond::Product)
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                (self.lacks.shifts_by_values && constant.is_none()).then_some(Beyond::Shift)
            }
            _ => None,
        }
    }

    /// The call of an extern function or object that the class lacks.
    fn outside(&self, call: &Call) -> Option<Beyond> {
        match &call.callee {
            Callee::ExternFunction(function) => {
                let declared = self.program.extern_functions.get(function.index())?;
                (self.lacks.functions_of_programs && declared.user).then_some(Beyond::OwnFunction)
            }
            Callee::Method(instance, _) => {
                let instance = self.program.instance(*instance);
                let object = self.program.extern_object(instance.object);
                if object.user {
                    return self.lacks.functions_of_programs.then_some(Beyond::OwnFunction);
                }
                let bits = instance.type_args.first().and_then(|ty| self.program.bits(ty)).unwrap_or(0);
                let most = self.lacks.cells_above_bits?;
                (object.name == "register" && bits > most).then_some(Beyond::WideCell(bits))
            }
            _ => None,
        }
    }

    fn table(&self, id: TableId) -> bool {
        let Some(table) = self.control.and_then(|control| control.tables.get(id.index())) else {
            return false;
        };
        let mut found = false;
        for key in &table.keys {
            visit::subexprs(&key.expr, &mut |e| found |= self.expr(e));
        }
        found || table.actions.iter().any(|run| self.action(run.action))
    }

    fn action(&self, id: ir::ActionId) -> bool {
        let action = self.control.and_then(|control| control.actions.get(id.index()));
        action.is_some_and(|action| self.block(&action.body))
    }

    fn callee(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Action(action) => self.action(*action),
            Callee::Function(function) => {
                self.program.functions.get(function.index()).is_some_and(|f| self.block(&f.body))
            }
            _ => false,
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
