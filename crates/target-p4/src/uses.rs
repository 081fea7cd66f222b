//! Names that a piece of code refers to: a declaration in the code may not hide them.

use crate::globals::Globals;
use ir::{
    Call, Callee, Const, Control, Expr, ExprKind, Function, InstanceId, Keyset, Parser, ParserState, Program,
    Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, Table, Transition, Type, Var, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Collects names as the source has them.
pub(crate) struct Uses<'a> {
    pub program: &'a Program,
    pub globals: &'a Globals,
    pub vars: &'a [Var],
    /// Names of variables, as far as they have one.
    pub var_names: &'a [Option<String>],
    /// Names of the control's actions and tables.
    pub actions: &'a [String],
    pub tables: &'a [String],
    pub instances: &'a BTreeMap<InstanceId, String>,
    pub found: BTreeSet<String>,
}

impl Uses<'_> {
    /// Adds all names that a function's body refers to.
    pub(crate) fn function(&mut self, function: &Function) {
        self.stmts(&function.body.stmts);
    }

    /// Adds all names that a parser refers to after its parameters.
    pub(crate) fn parser(&mut self, parser: &Parser) {
        parser.instances.iter().for_each(|id| self.construction(*id));
        parser.value_sets.iter().for_each(|set| self.ty(&set.ty));
        self.stmts(&parser.locals);
        parser.states.iter().for_each(|state| self.state(state));
    }

    pub(crate) fn state(&mut self, state: &ParserState) {
        self.stmts(&state.stmts);
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(|expr| self.expr(expr));
            select.cases.iter().flat_map(|case| &case.keys).for_each(|key| self.keyset(key));
        }
    }

    /// Adds all names that a control refers to after its parameters.
    pub(crate) fn control(&mut self, control: &Control) {
        control.instances.iter().for_each(|id| self.construction(*id));
        self.stmts(&control.locals);
        control.actions.iter().for_each(|action| self.stmts(&action.body.stmts));
        control.tables.iter().for_each(|table| self.table(table));
        self.stmts(&control.body.stmts);
    }

    fn table(&mut self, table: &Table) {
        table.keys.iter().for_each(|key| self.expr(&key.expr));
        for action in &table.actions {
            self.found.extend(self.actions.get(action.action.index()).cloned());
            action.args.iter().for_each(|arg| self.expr(arg));
        }
        table.default_action.args.iter().for_each(|arg| self.expr(arg));
        for entry in &table.entries {
            entry.keys.iter().for_each(|key| self.keyset(key));
            entry.args.iter().for_each(|arg| self.expr(arg));
        }
        table.properties.iter().for_each(|(_, value)| self.expr(value));
        for id in [table.implementation, table.counters, table.meters].into_iter().flatten() {
            self.instance(id);
        }
    }

    fn keyset(&mut self, keyset: &Keyset) {
        match keyset {
            Keyset::Value(value) => self.expr(value),
            Keyset::Mask(a, b) | Keyset::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Keyset::DontCare | Keyset::ValueSet(_) => {}
        }
    }

    pub(crate) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.head(stmt);
            ir::visit::exprs(stmt, &mut |expr| self.expr(expr));
            ir::visit::blocks(stmt, &mut |block| self.stmts(&block.stmts));
        }
    }

    /// Names that a statement uses outside of its expressions.
    fn head(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => {
                if let Some(var) = self.vars.get(var.index()) {
                    self.ty(&var.ty);
                }
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::Apply(table) => self.table_name(table.index()),
            StmtKind::Switch(on, cases) => self.switch(on, cases),
            StmtKind::Extract { packet, .. } | StmtKind::Advance(packet, _) | StmtKind::Emit(packet, _) => {
                self.var(*packet);
            }
            StmtKind::Verify(..) => drop(self.found.insert("verify".to_string())),
            StmtKind::For { init, update, .. } => init.iter().chain(update).for_each(|stmt| self.head(stmt)),
            _ => {}
        }
    }

    fn switch(&mut self, on: &SwitchOn, cases: &[SwitchCase]) {
        match on {
            SwitchOn::ActionRun(table) => {
                self.table_name(table.index());
                self.found.extend(self.actions.iter().cloned());
            }
            SwitchOn::Value(on) => {
                let mut labels = cases.iter().flat_map(|case| &case.labels);
                if labels.any(|label| matches!(label, SwitchLabel::Value(_))) {
                    self.ty(&on.ty);
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        ir::visit::subexprs(expr, &mut |e| match &e.kind {
            ExprKind::Var(id) => self.var(*id),
            ExprKind::Const(Const::Bits(_) | Const::Bool(_) | Const::Enum(_))
            | ExprKind::Cast(_)
            | ExprKind::Aggregate(_)
            | ExprKind::InvalidHeader => self.ty(&e.ty),
            ExprKind::Lookahead(packet) => {
                self.ty(&e.ty);
                self.var(*packet);
            }
            ExprKind::PacketLength(packet) => self.var(*packet),
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table_name(table.index()),
            ExprKind::Call(call) => self.call(call),
            _ => {}
        });
    }

    fn call(&mut self, call: &Call) {
        let globals = self.globals;
        call.type_args.iter().for_each(|ty| self.ty(ty));
        match &call.callee {
            Callee::Function(id) => self.found.extend(globals.functions.get(id.index()).cloned()),
            Callee::ExternFunction(id) => {
                self.found.extend(globals.extern_functions.get(id.index()).cloned());
            }
            Callee::Action(id) => self.found.extend(self.actions.get(id.index()).cloned()),
            Callee::Control(id) => self.found.extend(globals.controls.get(id.index()).cloned()),
            Callee::Parser(id) => self.found.extend(globals.parsers.get(id.index()).cloned()),
            Callee::Method(id, _) => self.instance(*id),
            Callee::ParamMethod(var, _) => self.var(*var),
        }
    }

    fn var(&mut self, var: VarId) {
        self.found.extend(self.var_names.get(var.index()).cloned().flatten());
    }

    fn table_name(&mut self, index: usize) {
        self.found.extend(self.tables.get(index).cloned());
    }

    fn instance(&mut self, id: InstanceId) {
        let name = self.instances.get(&id).or(self.globals.instances.get(id.index()));
        self.found.extend(name.cloned());
    }

    fn construction(&mut self, id: InstanceId) {
        let Some(instance) = self.program.instances.get(id.index()) else { return };
        self.found.extend(self.globals.externs.get(instance.object.index()).cloned());
        instance.type_args.iter().for_each(|ty| self.ty(ty));
        instance.args.iter().for_each(|arg| self.expr(arg));
        for (_, function) in &instance.methods {
            if let Some(function) = self.program.functions.get(function.index()) {
                let mut inside =
                    Uses { vars: &function.vars, var_names: &[], found: BTreeSet::new(), ..*self };
                function.vars.iter().for_each(|var| inside.ty(&var.ty));
                inside.ty(&function.returns);
                inside.function(function);
                let found = inside.found;
                self.found.extend(found);
            }
        }
    }

    pub(crate) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Named(id) => self.found.extend(self.globals.types.get(id.index()).cloned()),
            Type::Extern(id, args) => {
                self.found.extend(self.globals.externs.get(id.index()).cloned());
                args.iter().for_each(|ty| self.ty(ty));
            }
            Type::Stack(elem, _) | Type::List(elem) => self.ty(elem),
            Type::Tuple(types) => types.iter().for_each(|ty| self.ty(ty)),
            _ => {}
        }
    }
}
