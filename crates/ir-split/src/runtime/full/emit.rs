//! The deparser's part of a hand-over.

use crate::arch;
use crate::generate::Generator;
use ir::{Role, Stmt, StmtKind, build};
use p4_arch::Duty;

impl Generator<'_> {
    /// Emits the hand-over in front of everything else. The program's own deparser finds no header then; one that does
    /// more than emit the packet's headers is left out.
    pub fn write_deparser(&mut self) {
        let Some(id) = arch::control(&self.out, Duty::Deparse) else { return };
        if self.entered_from_here_by(true).is_empty() && self.sent_on().is_empty() {
            return;
        }
        let packet = self.sure_role_var(Duty::Deparse, Role::Packet);
        let mut fields = vec![self.common];
        fields.extend(
            self.of_section
                .iter()
                .filter(|(id, _)| self.entered_from_here_by(true).contains(id))
                .map(|(_, &n)| n),
        );
        fields.extend(self.sent.values());
        fields.extend(self.cut.originals.iter().map(|index| self.originals[index]));
        fields.extend(self.pad);
        let emits = fields.into_iter().map(|n| {
            let header = self.header_field(Duty::Deparse, n);
            build::stmt(StmtKind::Emit(packet, header))
        });
        let mut stmts: Vec<Stmt> = emits.collect();
        let ours = build::is_valid(self.header_field(Duty::Deparse, self.common));
        let control = &mut self.out.controls[id.index()];
        let own = std::mem::take(&mut control.body.stmts);
        if control.locals.is_empty() && own.iter().all(only_emits) {
            stmts.extend(own);
        } else {
            stmts = vec![build::stmt(StmtKind::If(ours, build::block(stmts), build::block(own)))];
        }
        control.body.stmts = stmts;
    }
}

/// Emits something of the packet's.
fn only_emits(stmt: &Stmt) -> bool {
    fn is_part(place: &ir::Expr) -> bool {
        match &place.kind {
            ir::ExprKind::Field(base, _) => is_part(base) || matches!(base.kind, ir::ExprKind::Var(_)),
            ir::ExprKind::Index(base, _) => is_part(base),
            _ => false,
        }
    }
    matches!(&stmt.kind, StmtKind::Emit(_, value) if is_part(value))
}
