//! Statements and blocks.

use crate::annotation::inline;
use crate::print::Printer;
use ir::{BinaryOp, Block, Expr, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, Type, VarId};

impl Printer<'_> {
    /// `head @annotations { ... }`
    pub(crate) fn block(&mut self, head: &str, block: &Block) {
        let head = format!("{head} {}", inline(&block.annotations));
        if block.stmts.is_empty() {
            return self.line(format!("{} {{ }}", head.trim_end()).trim_start());
        }
        self.line(format!("{} {{", head.trim_end()).trim_start());
        self.indented(|p| p.stmts(&block.stmts));
        self.line("}");
    }

    pub(crate) fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If(cond, yes, no) => self.if_else("", cond, yes, no),
            StmtKind::Switch(on, cases) => self.switch(on, cases),
            StmtKind::Block(block) => self.block("", block),
            StmtKind::For { init, cond, update, body } => {
                let init = self.simple_list(init);
                let update = self.simple_list(update);
                let cond = self.expr(cond, Some(&Type::Bool), 0);
                self.loop_block(&format!("for ({init}; {cond}; {update})"), body);
            }
            StmtKind::ForIn { var, range, body } => {
                let range = match range {
                    ForRange::Range(low, high) => format!("{} .. {}", self.free(low), self.free(high)),
                    ForRange::Values(values) => self.free(values),
                };
                self.loop_block(&format!("for ({} in {range})", self.declared(*var)), body);
            }
            simple => {
                let text = self.simple(simple);
                self.line(&format!("{text};"));
            }
        }
    }

    /// Annotations of a loop stand before it.
    fn loop_block(&mut self, head: &str, body: &Block) {
        let notes = inline(&body.annotations);
        self.line(&format!("{notes}{head} {{"));
        self.indented(|p| p.stmts(&body.stmts));
        self.line("}");
    }

    fn simple_list(&self, stmts: &[Stmt]) -> String {
        stmts.iter().map(|stmt| self.simple(&stmt.kind)).collect::<Vec<_>>().join(", ")
    }

    /// `@annotations type name`
    pub(crate) fn declared(&self, var: VarId) -> String {
        match self.local.vars.get(var.index()) {
            Some(decl) => format!("{}{} {}", inline(&decl.annotations), self.ty(&decl.ty), self.var(var)),
            None => self.var(var),
        }
    }

    fn simple(&self, stmt: &StmtKind) -> String {
        match stmt {
            StmtKind::Declare(var, None) => self.declared(*var),
            StmtKind::Declare(var, Some(value)) => format!("{} = {}", self.declared(*var), self.value(value)),
            StmtKind::Assign(place, value) => format!("{} = {}", self.free(place), self.value(value)),
            StmtKind::AssignOp(op, place, value) => {
                let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
                let own = if is_shift { Type::Bit(32) } else { place.ty.clone() };
                let want = Some(&value.ty).filter(|ty| **ty == own);
                format!("{} {}= {}", self.free(place), op.symbol(), self.expr(value, want, 0))
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::Apply(table) => format!("{}.apply()", self.table_name(*table)),
            StmtKind::SetValid(header, true) => format!("{}.setValid()", self.free(header)),
            StmtKind::SetValid(header, false) => format!("{}.setInvalid()", self.free(header)),
            StmtKind::PushFront(stack, count) => format!("{}.push_front({count})", self.free(stack)),
            StmtKind::PopFront(stack, count) => format!("{}.pop_front({count})", self.free(stack)),
            StmtKind::Extract { packet, header, varbit_bits } => {
                let bits = varbit_bits.as_ref().map_or(String::new(), |b| format!(", {}", self.value(b)));
                format!("{}.extract({}{bits})", self.var(*packet), self.free(header))
            }
            StmtKind::Advance(packet, bits) => format!("{}.advance({})", self.var(*packet), self.value(bits)),
            StmtKind::Emit(packet, value) => format!("{}.emit({})", self.var(*packet), self.free(value)),
            StmtKind::Verify(cond, error) => format!("verify({}, {})", self.value(cond), self.value(error)),
            StmtKind::Break => "break".to_string(),
            StmtKind::Continue => "continue".to_string(),
            StmtKind::Exit => "exit".to_string(),
            StmtKind::Return(None) => "return".to_string(),
            StmtKind::Return(Some(value)) => format!("return {}", self.value(value)),
            StmtKind::If(..)
            | StmtKind::Switch(..)
            | StmtKind::Block(_)
            | StmtKind::For { .. }
            | StmtKind::ForIn { .. } => String::new(),
        }
    }

    fn if_else(&mut self, before: &str, cond: &Expr, yes: &Block, no: &Block) {
        let head =
            format!("{before}if ({}) {}", self.expr(cond, Some(&Type::Bool), 0), inline(&yes.annotations));
        self.line(&format!("{} {{", head.trim_end()));
        self.indented(|p| p.stmts(&yes.stmts));
        match no.stmts.as_slice() {
            [] if no.annotations.is_empty() => self.line("}"),
            [Stmt { kind: StmtKind::If(cond, yes, other), .. }] if no.annotations.is_empty() => {
                self.if_else("} else ", cond, yes, other);
            }
            _ => self.block("} else", no),
        }
    }

    fn switch(&mut self, on: &SwitchOn, cases: &[SwitchCase]) {
        let head = match on {
            SwitchOn::ActionRun(table) => format!("switch ({}.apply().action_run)", self.table_name(*table)),
            SwitchOn::Value(value) => format!("switch ({})", self.free(value)),
        };
        self.braces(&head, "", |p| {
            for case in cases {
                let labels: Vec<String> = case.labels.iter().map(|l| p.label(on, l)).collect();
                if let Some((last, before)) = labels.split_last() {
                    before.iter().for_each(|label| p.line(&format!("{label}:")));
                    p.block(&format!("{last}:"), &case.body);
                }
            }
        });
    }

    fn label(&self, on: &SwitchOn, label: &SwitchLabel) -> String {
        match (label, on) {
            (SwitchLabel::Default, _) => "default".to_string(),
            (SwitchLabel::Value(value), SwitchOn::Value(on)) => self.constant(value, &on.ty, true),
            (SwitchLabel::Action(index), SwitchOn::ActionRun(table)) => {
                let table = self.local.tables.get(table.index());
                let action = table.and_then(|t| t.actions.get(*index as usize)).map(|a| a.action);
                let name = action.and_then(|id| self.local.actions.get(id.index()));
                name.cloned().unwrap_or_else(|| "?".to_string())
            }
            _ => "?".to_string(),
        }
    }
}
