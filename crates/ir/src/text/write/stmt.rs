//! Statements and blocks.

use super::Writer;
use super::decl::annotations;
use crate::{
    BinaryOp, Block, Expr, ExprKind, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, TableId,
    VarId,
};

impl Writer<'_> {
    /// `head @annotations { ... }`
    pub(super) fn block(&mut self, head: &str, block: &Block) {
        self.block_and(head, block, "");
    }

    fn block_and(&mut self, head: &str, block: &Block, tail: &str) {
        let head = format!("{head} {}", annotations(&block.annotations));
        if block.stmts.is_empty() {
            return self.line(format!("{} {{ }}{tail}", head.trim_end()).trim_start());
        }
        self.line(format!("{} {{", head.trim_end()).trim_start());
        self.indent += 1;
        self.stmts(&block.stmts);
        self.indent -= 1;
        self.line(&format!("}}{tail}"));
    }

    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If(cond, yes, no) => self.if_else("", cond, yes, no),
            StmtKind::Switch(on, cases) => self.switch(on, cases),
            StmtKind::Block(block) => self.block("", block),
            StmtKind::For { init, cond, update, body } => {
                let cond = self.expr(cond, 0);
                self.line("for {");
                self.nested(init);
                self.line(&format!("}} while ({cond}) step {{"));
                self.nested(update);
                self.block("} do", body);
            }
            StmtKind::ForIn { var, range, body } => {
                let range = match range {
                    ForRange::Range(low, high) => {
                        format!("{} .. {}", self.expr(low, 0), self.expr(high, 0))
                    }
                    ForRange::Values(values) => self.expr(values, 0),
                };
                self.block(&format!("for ({} in {range})", self.var(*var)), body);
            }
            simple => {
                let text = self.simple(simple);
                self.line(&format!("{text};"));
            }
        }
    }

    fn nested(&mut self, stmts: &[Stmt]) {
        self.indent += 1;
        self.stmts(stmts);
        self.indent -= 1;
    }

    fn simple(&self, stmt: &StmtKind) -> String {
        match stmt {
            StmtKind::Declare(var, None) => format!("var {}", self.var(*var)),
            StmtKind::Declare(var, Some(value)) => {
                format!("var {} = {}", self.var(*var), self.expr(value, 0))
            }
            StmtKind::Assign(place, value) => format!("{} = {}", self.place(place), self.expr(value, 0)),
            StmtKind::AssignOp(op, place, value) => {
                format!("{} {} {}", self.place(place), assign_op(*op), self.expr(value, 0))
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::Apply(table) => format!("apply {}", self.table_name(*table)),
            StmtKind::SetValid(header, true) => format!("{}.$setValid()", self.place(header)),
            StmtKind::SetValid(header, false) => format!("{}.$setInvalid()", self.place(header)),
            StmtKind::PushFront(stack, count) => format!("{}.$push_front({count})", self.place(stack)),
            StmtKind::PopFront(stack, count) => format!("{}.$pop_front({count})", self.place(stack)),
            StmtKind::Extract { packet, header, varbit_bits } => {
                let bits = varbit_bits.as_ref().map_or(String::new(), |b| format!(", {}", self.expr(b, 0)));
                format!("$extract({}, {}{bits})", self.var(*packet), self.expr(header, 0))
            }
            StmtKind::Advance(packet, bits) => {
                format!("$advance({}, {})", self.var(*packet), self.expr(bits, 0))
            }
            StmtKind::Emit(packet, value) => {
                format!("$emit({}, {})", self.var(*packet), self.expr(value, 0))
            }
            StmtKind::Verify(cond, error) => {
                format!("$verify({}, {})", self.expr(cond, 0), self.expr(error, 0))
            }
            StmtKind::Break => "break".to_string(),
            StmtKind::Continue => "continue".to_string(),
            StmtKind::Exit => "exit".to_string(),
            StmtKind::Return(None) => "return".to_string(),
            StmtKind::Return(Some(value)) => format!("return {}", self.expr(value, 0)),
            StmtKind::If(..)
            | StmtKind::Switch(..)
            | StmtKind::Block(_)
            | StmtKind::For { .. }
            | StmtKind::ForIn { .. } => String::new(),
        }
    }

    fn if_else(&mut self, before: &str, cond: &Expr, yes: &Block, no: &Block) {
        let head = format!("{before}if ({})", self.expr(cond, 0));
        self.block(&head, yes);
        if *no != Block::default() {
            // The arm's closing brace and `else` share a line.
            let closing = self.out.trim_end_matches('\n').len();
            self.out.truncate(closing);
            self.out.push(' ');
            let at = self.out.len();
            self.else_arm(no);
            let rest = self.out.split_off(at);
            self.out.push_str(rest.trim_start_matches(' '));
        }
    }

    fn else_arm(&mut self, no: &Block) {
        match no.stmts.as_slice() {
            [Stmt { kind: StmtKind::If(cond, yes, other), .. }] if no.annotations.is_empty() => {
                self.if_else("else ", cond, yes, other);
            }
            _ => self.block("else", no),
        }
    }

    fn switch(&mut self, on: &SwitchOn, cases: &[SwitchCase]) {
        let head = match on {
            SwitchOn::ActionRun(table) => format!("switch (apply {})", self.table_name(*table)),
            SwitchOn::Value(value) => format!("switch ({})", self.expr(value, 0)),
        };
        self.braces(&head, "", |w| {
            for case in cases {
                let labels: Vec<String> = case.labels.iter().map(|label| w.label(on, label)).collect();
                w.block(&format!("case {}:", labels.join(", ")), &case.body);
            }
        });
    }

    fn label(&self, on: &SwitchOn, label: &SwitchLabel) -> String {
        match (label, on) {
            (SwitchLabel::Default, _) => "default".to_string(),
            (SwitchLabel::Value(value), SwitchOn::Value(on)) => self.bare_constant(value, &on.ty),
            (SwitchLabel::Value(value), _) => self.bare_constant(value, &crate::Type::Void),
            (SwitchLabel::Action(index), SwitchOn::ActionRun(table)) => {
                let table = self.scope.tables.get(table.index());
                let names = table.map_or_else(Default::default, |t| self.action_list(t));
                format!("action {}", names.plain(*index as usize))
            }
            (SwitchLabel::Action(index), _) => format!("action ?#{index}"),
        }
    }

    /// At the start of a statement a brace would open a block.
    fn place(&self, place: &Expr) -> String {
        match place.kind {
            ExprKind::Aggregate(_) => format!("({})", self.expr(place, 0)),
            _ => self.expr(place, 13),
        }
    }

    pub(super) fn var(&self, var: VarId) -> String {
        self.scope.var_names.guarded(var.index())
    }

    pub(super) fn table_name(&self, table: TableId) -> String {
        self.scope.table_names.plain(table.index())
    }
}

/// `+=`; operators that P4 has no assignment for, and which the verifier refuses, have a `$` in front.
fn assign_op(op: BinaryOp) -> String {
    if op.has_assignment() { format!("{}=", op.symbol()) } else { format!("${}", op.symbol()) }
}
