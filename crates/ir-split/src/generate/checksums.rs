//! Checksums are the program's own business: hand-overs have none verified or computed.

use super::Generator;
use crate::arch;
use crate::arch::{Effect, function_effect};
use ir::{Block, Callee, StmtKind, build, visit};
use p4_arch::Duty;

impl Generator<'_> {
    /// Checksums are verified on packets that did not come as hand-overs, and computed on those that do not leave as such.
    pub fn guard_checksums(&mut self) {
        for stage in [Duty::Verify, Duty::Compute] {
            let Some(id) = arch::control(&self.out, stage) else { continue };
            let mut ordinary = build::not(self.runtime.is_hand_over(self, stage));
            if let (Some(starts), Duty::Compute) = (self.starts_again(stage), stage) {
                ordinary = build::and(ordinary, build::not(starts));
            }
            let mut body = std::mem::take(&mut self.out.controls[id.index()].body);
            // Other statements have no argument for a condition: then the whole body is guarded.
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
}
