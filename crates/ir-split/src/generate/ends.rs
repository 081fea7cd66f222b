//! The ends of the pipeline: checksums and the deparser.

use super::Generator;
use crate::arch;
use crate::arch::{Effect, function_effect};
use ir::{Block, Callee, Role, Stmt, StmtKind, build, visit};
use p4_arch::Duty;

impl Generator<'_> {
    /// Checksums are verified on packets that did not come as hand-overs, and computed on those that do not leave
    /// as such: exactly then `p4rack` is not valid.
    pub fn guard_checksums(&mut self) {
        for stage in [Duty::Verify, Duty::Compute] {
            let Some(id) = arch::control(&self.out, stage) else { continue };
            let mut ordinary = build::not(build::is_valid(self.header_field(stage, self.common)));
            if let (Some(starts), Duty::Compute) = (self.starts_again(stage), stage) {
                ordinary = build::and(ordinary, build::not(starts));
            }
            let mut body = std::mem::take(&mut self.out.controls[id.index()].body);
            if !self.only_conditional(&body) {
                let whole = build::if_then(ordinary, body.stmts);
                self.out.controls[id.index()].body = build::block(vec![whole]);
                continue;
            }
            visit::stmts_mut(&mut body, &mut |stmt| {
                let StmtKind::Call(call) = &mut stmt.kind else { return };
                let Callee::ExternFunction(f) = call.callee else { return };
                if function_effect(&self.out.extern_functions[f.index()]) != Effect::Conditional {
                    return;
                }
                if let Some(Some(condition)) = call.args.first_mut() {
                    let own = condition.clone();
                    *condition = match own.kind {
                        ir::ExprKind::Const(ir::Const::Bool(true)) => ordinary.clone(),
                        _ => build::and(own, ordinary.clone()),
                    };
                }
            });
            self.out.controls[id.index()].body = body;
        }
    }

    /// Only calls that have a condition.
    fn only_conditional(&self, body: &Block) -> bool {
        let mut only = true;
        visit::stmts(body, &mut |stmt| {
            only &= match &stmt.kind {
                StmtKind::Block(_) => true,
                StmtKind::Call(call) => match call.callee {
                    Callee::ExternFunction(f) => {
                        function_effect(&self.out.extern_functions[f.index()]) == Effect::Conditional
                    }
                    _ => false,
                },
                _ => false,
            };
        });
        only
    }

    /// Emits the hand-over in front of everything else. The program's own deparser finds no header then; one that does
    /// more than emit the packet's headers is left out.
    pub fn write_deparser(&mut self) {
        let Some(id) = arch::control(&self.out, Duty::Deparse) else { return };
        if self.entered_from_here().is_empty() && self.sent_on().is_empty() {
            return;
        }
        let packet = self.sure_role_var(Duty::Deparse, Role::Packet);
        let mut fields = vec![self.common];
        fields.extend(
            self.of_section.iter().filter(|(id, _)| self.entered_from_here().contains(id)).map(|(_, &n)| n),
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
