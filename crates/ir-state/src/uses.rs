//! Objects used by a piece of code: tables, actions, and the objects that these call.

use crate::facts::access_of;
use ir::{
    ActionId, Block, Call, Callee, ControlId, Expr, ExprKind, ExternFunctionId, InstanceId, Program, Stmt,
    StmtKind, SwitchOn, TableId, visit,
};
use p4_arch::Access;
use std::collections::{BTreeMap, BTreeSet};

/// Objects used by a piece of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// Tables applied.
    pub tables: BTreeSet<TableId>,
    /// Extern instances called, also from the actions of tables, and those that belong to the tables.
    pub instances: BTreeMap<InstanceId, Touch>,
    /// Extern functions called, also from the actions of tables.
    pub functions: BTreeSet<ExternFunctionId>,
    /// Actions called or listed by a table.
    pub actions: BTreeSet<ActionId>,
}

/// Reads and writes of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touch {
    /// The object's content influences packets.
    pub reads: bool,
    /// True if the use may change the object.
    pub writes: bool,
}

impl Touch {
    fn of(access: Access) -> Touch {
        Touch {
            reads: matches!(access, Access::Read | Access::Update),
            writes: matches!(access, Access::Write | Access::Update),
        }
    }
}

/// Objects used by a block of a control.
pub fn uses_of_block(program: &Program, control: ControlId, block: &Block) -> Uses {
    let mut uses = Uses::default();
    uses.add_block(program, control, block);
    uses
}

/// Objects called by a block outside of controls: parsers and functions have no tables.
pub fn calls_of_block(program: &Program, block: &Block) -> BTreeMap<InstanceId, Touch> {
    let mut uses = Uses::default();
    visit::stmts(block, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            uses.add_method(program, call);
        }
    });
    visit::all_exprs(block, &mut |e| {
        if let ExprKind::Call(call) = &e.kind {
            uses.add_method(program, call);
        }
    });
    uses.instances
}

impl Uses {
    /// Adds what a block uses.
    pub fn add_block(&mut self, program: &Program, control: ControlId, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.add_stmt(program, control, stmt));
    }

    /// Adds what a statement uses.
    pub fn add_stmt(&mut self, program: &Program, control: ControlId, stmt: &Stmt) {
        let block = Block { annotations: vec![], stmts: vec![stmt.clone()] };
        visit::stmts(&block, &mut |stmt| match &stmt.kind {
            StmtKind::Call(call) => self.add_call(program, control, call),
            StmtKind::Apply(table) => self.add_table(program, control, *table),
            StmtKind::Switch(on, _) => self.add_switch(program, control, on),
            _ => {}
        });
        visit::all_exprs(&block, &mut |e| self.add_one_expr(program, control, e));
    }

    /// Adds what a `switch` decides on.
    pub fn add_switch(&mut self, program: &Program, control: ControlId, on: &SwitchOn) {
        match on {
            SwitchOn::ActionRun(table) => self.add_table(program, control, *table),
            SwitchOn::Value(e) => self.add_expr(program, control, e),
        }
    }

    /// Adds what an expression uses.
    pub fn add_expr(&mut self, program: &Program, control: ControlId, expr: &Expr) {
        visit::subexprs(expr, &mut |e| self.add_one_expr(program, control, e));
    }

    /// Adds a table with its actions, keys and objects.
    pub fn add_table(&mut self, program: &Program, control: ControlId, table: TableId) {
        if !self.tables.insert(table) {
            return;
        }
        let table = &program.control(control).tables[table.index()];
        let objects = [table.implementation, table.counters, table.meters];
        for (object, access) in objects.into_iter().zip([Access::Read, Access::Write, Access::Update]) {
            object.into_iter().for_each(|object| self.touch(object, Touch::of(access)));
        }
        for run in &table.actions {
            self.add_action(program, control, run.action);
        }
        for key in &table.keys {
            self.add_expr(program, control, &key.expr);
        }
    }

    /// Notes that an object is used.
    pub fn touch(&mut self, object: InstanceId, touch: Touch) {
        let known = self.instances.entry(object).or_default();
        known.reads |= touch.reads;
        known.writes |= touch.writes;
    }

    fn add_one_expr(&mut self, program: &Program, control: ControlId, expr: &Expr) {
        match &expr.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                self.add_table(program, control, *table)
            }
            ExprKind::Call(call) => self.add_call(program, control, call),
            _ => {}
        }
    }

    fn add_call(&mut self, program: &Program, control: ControlId, call: &Call) {
        match &call.callee {
            Callee::Method(..) => self.add_method(program, call),
            Callee::Action(action) => self.add_action(program, control, *action),
            Callee::Control(inner) => {
                let below = uses_of_block(program, *inner, &program.control(*inner).body);
                below.instances.into_iter().for_each(|(object, touch)| self.touch(object, touch));
                self.functions.extend(below.functions);
            }
            Callee::ExternFunction(function) => {
                self.functions.insert(*function);
            }
            Callee::Function(_) | Callee::Parser(_) | Callee::ParamMethod(..) => {}
        }
    }

    fn add_method(&mut self, program: &Program, call: &Call) {
        if let Callee::Method(object, method) = call.callee {
            self.touch(object, Touch::of(access_of(program, object, method)));
        }
    }

    fn add_action(&mut self, program: &Program, control: ControlId, action: ActionId) {
        if self.actions.insert(action) {
            self.add_block(program, control, &program.control(control).actions[action.index()].body);
        }
    }
}
