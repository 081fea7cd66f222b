//! Statements, parser states and their keysets.

use super::Printer;
use super::expr::spelling;
use crate::ast::{
    Block, ForInit, ForStmt, Keyset, KeysetElement, KeysetElementKind, SelectExpr, State, Stmt, StmtKind,
    SwitchCase, SwitchLabel, Transition, VarDecl,
};

impl Printer {
    pub(super) fn block(&mut self, block: &Block) {
        self.annotations_before(&block.annotations);
        self.lines(&block.stmts, Self::stmt);
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty => self.push(";"),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Assign { .. } | StmtKind::Call(_) => {
                self.short_stmt(stmt);
                self.push(";");
            }
            StmtKind::If { .. } => self.if_stmt(stmt),
            StmtKind::Return(None) => self.push("return;"),
            StmtKind::Return(Some(value)) => {
                self.push("return ");
                self.wide_expr(value);
                self.push(";");
            }
            StmtKind::Exit => self.push("exit;"),
            StmtKind::Break => self.push("break;"),
            StmtKind::Continue => self.push("continue;"),
            StmtKind::Switch { subject, cases } => {
                self.push("switch (");
                self.expr(subject);
                self.push(") ");
                self.lines(cases, Self::case);
            }
            StmtKind::For(for_stmt) => self.for_stmt(for_stmt),
            StmtKind::ForIn { annotations, variable, collection, body } => {
                self.annotations_before(annotations);
                self.push("for (");
                self.variable(variable);
                self.push(" in ");
                self.keyset_element(collection);
                self.push(")");
                self.branch(body);
            }
            StmtKind::Var(variable) => {
                self.variable(variable);
                self.push(";");
            }
            StmtKind::Const(constant) => self.constant(constant),
            StmtKind::Instance(instance) => self.instance(instance),
        }
    }

    /// An assignment or a call without `;`.
    fn short_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { target, op, value, .. } => {
                self.expr(target);
                self.push(" ");
                self.push(op.map_or("", spelling));
                self.push("= ");
                self.wide_expr(value);
            }
            StmtKind::Call(call) => self.wide_expr(call),
            _ => self.stmt(stmt),
        }
    }

    pub(super) fn variable(&mut self, variable: &VarDecl) {
        self.annotations_before(&variable.annotations);
        self.ty(&variable.ty);
        self.push(" ");
        self.name(&variable.name);
        if let Some(init) = &variable.init {
            self.push(" = ");
            self.wide_expr(init);
        }
    }

    /// `if` and its `else if`s, without recursion over them.
    fn if_stmt(&mut self, stmt: &Stmt) {
        let mut next = stmt;
        while let StmtKind::If { condition, then, otherwise } = &next.kind {
            self.push("if (");
            self.expr(condition);
            self.push(")");
            // Without braces the `else` would belong to an `if` at the end of this branch.
            if otherwise.is_some() && takes_else(then) {
                self.push(" {");
                self.branch(then);
                self.line();
                self.push("}");
            } else {
                self.branch(then);
            }
            let Some(otherwise) = otherwise else { return };
            if self.out.ends_with('}') {
                self.push(" else");
            } else {
                self.line();
                self.push("else");
            }
            if !matches!(otherwise.kind, StmtKind::If { .. }) {
                return self.branch(otherwise);
            }
            self.push(" ");
            next = otherwise;
        }
    }

    /// A statement after a closing parenthesis or `else`: blocks on the same line, others on the next.
    fn branch(&mut self, stmt: &Stmt) {
        if let StmtKind::Block(block) = &stmt.kind {
            self.push(" ");
            return self.block(block);
        }
        self.indent += 1;
        self.line();
        self.stmt(stmt);
        self.indent -= 1;
    }

    fn case(&mut self, case: &SwitchCase) {
        match &case.label {
            SwitchLabel::Default(_) => self.push("default"),
            SwitchLabel::Value(e) => self.label(e),
        }
        self.push(":");
        if let Some(body) = &case.body {
            self.push(" ");
            self.block(body);
        }
    }

    fn for_stmt(&mut self, stmt: &ForStmt) {
        self.annotations_before(&stmt.annotations);
        self.push("for (");
        self.commas(&stmt.init, |p, init| match init {
            ForInit::Var(variable) => p.variable(variable),
            ForInit::Stmt(stmt) => p.short_stmt(stmt),
        });
        self.push("; ");
        self.expr(&stmt.condition);
        self.push("; ");
        self.commas(&stmt.update, Self::short_stmt);
        self.push(")");
        self.branch(&stmt.body);
    }

    pub(super) fn keyset(&mut self, keyset: &Keyset) {
        if keyset.tuple {
            self.push("(");
        }
        self.commas(&keyset.elements, Self::keyset_element);
        if keyset.tuple {
            self.push(")");
        }
    }

    fn keyset_element(&mut self, element: &KeysetElement) {
        match &element.kind {
            KeysetElementKind::Value(e) => self.expr(e),
            KeysetElementKind::Mask(value, mask) => {
                self.expr(value);
                self.push(" &&& ");
                self.expr(mask);
            }
            KeysetElementKind::Range(lo, hi) => {
                self.expr(lo);
                self.push(" .. ");
                self.expr(hi);
            }
            KeysetElementKind::Default => self.push("default"),
            KeysetElementKind::DontCare => self.push("_"),
        }
    }

    pub(super) fn state(&mut self, state: &State) {
        self.annotations_above(&state.annotations);
        self.push("state ");
        self.name(&state.name);
        if state.stmts.is_empty() && state.transition.is_none() {
            return self.push(" {}");
        }
        self.push(" {");
        self.indent += 1;
        for stmt in &state.stmts {
            self.line();
            self.stmt(stmt);
        }
        if let Some(transition) = &state.transition {
            self.line();
            self.push("transition ");
            match transition {
                Transition::Direct(name) => {
                    self.name(name);
                    self.push(";");
                }
                Transition::Select(select) => self.select(select),
            }
        }
        self.indent -= 1;
        self.line();
        self.push("}");
    }

    fn select(&mut self, select: &SelectExpr) {
        self.push("select");
        self.fit("(", &select.keys, ") ", Self::expr);
        self.lines(&select.cases, |p, case| {
            p.keyset(&case.keyset);
            p.push(": ");
            p.name(&case.state);
            p.push(";");
        });
    }
}

/// True if an `else` after `stmt` would belong to an `if` in it.
fn takes_else(mut stmt: &Stmt) -> bool {
    loop {
        stmt = match &stmt.kind {
            StmtKind::If { otherwise: None, .. } => return true,
            StmtKind::If { otherwise: Some(last), .. } => last,
            StmtKind::For(stmt) => &stmt.body,
            StmtKind::ForIn { body, .. } => body,
            _ => return false,
        };
    }
}
