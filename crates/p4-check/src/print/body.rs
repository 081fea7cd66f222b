//! Statements as text.

use super::Printer;
use crate::typed::{Block, Stmt, StmtKind, SwitchLabel, VarKind};

impl Printer<'_> {
    pub(super) fn stmts(&mut self, block: &Block) {
        block.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn annotations(&self, block: &Block) -> String {
        block.annotations.iter().map(|a| format!("@{} ", a.name)).collect()
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let p = self.p;
        match &stmt.kind {
            StmtKind::Empty => self.line(";"),
            StmtKind::Block(block) => {
                let head = self.annotations(block);
                self.line(&format!("{head}{{"));
                self.indent += 1;
                self.stmts(block);
                self.close();
            }
            StmtKind::Var { var, init } => {
                let var = &p.vars[*var];
                let init = init.as_ref().map(|e| format!(" = {}", self.expr(e))).unwrap_or_default();
                self.line(&format!("{} {}{init};", p.show_type(&var.ty), var.name.text));
            }
            StmtKind::Const(id) => self.constant(*id),
            StmtKind::Assign { target, op, value } => {
                let op = op.map_or("", |o| o.symbol());
                self.line(&format!("{} {op}= {};", self.expr(target), self.expr(value)));
            }
            StmtKind::Call(call) => self.line(&format!("{};", self.call(call))),
            StmtKind::If { condition, then, otherwise } => {
                self.open(format!("if {} {}", self.expr(condition), self.annotations(then)).trim_end());
                self.stmts(then);
                self.close();
                if let Some(otherwise) = otherwise {
                    self.open("else");
                    self.stmts(otherwise);
                    self.close();
                }
            }
            StmtKind::Switch(switch) => {
                self.open(&format!("switch {}", self.expr(&switch.subject)));
                for case in &switch.cases {
                    let labels: Vec<String> = case.labels.iter().map(|l| self.label(l)).collect();
                    self.open(&labels.join(", "));
                    self.stmts(&case.body);
                    self.close();
                }
                self.close();
            }
            StmtKind::Return(None) => self.line("return;"),
            StmtKind::Return(Some(e)) => self.line(&format!("return {};", self.expr(e))),
            StmtKind::Exit => self.line("exit;"),
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => self.line("continue;"),
            StmtKind::For { init, condition, update, body, .. } => {
                self.line("for (");
                self.indent += 1;
                init.iter().for_each(|s| self.stmt(s));
                self.line(&format!("{};", self.expr(condition)));
                update.iter().for_each(|s| self.stmt(s));
                self.indent -= 1;
                self.open(")");
                self.stmts(body);
                self.close();
            }
            StmtKind::ForIn { var, over, body, .. } => {
                let var = &p.vars[*var];
                let ty = if var.kind == VarKind::Loop {
                    format!("{} ", p.show_type(&var.ty))
                } else {
                    String::new()
                };
                self.open(&format!("for ({ty}{} in {})", var.name.text, self.expr(over)));
                self.stmts(body);
                self.close();
            }
        }
    }

    fn label(&self, label: &SwitchLabel) -> String {
        match label {
            SwitchLabel::Default => "default".into(),
            SwitchLabel::Action(table, i) => {
                let listed = self.p.tables[*table].actions.get(*i as usize);
                listed.map_or_else(|| "?".to_string(), |a| self.p.actions[a.action].name.text.to_string())
            }
            SwitchLabel::Value(e) => self.expr(e),
        }
    }
}
