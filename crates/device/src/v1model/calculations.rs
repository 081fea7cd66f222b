//! The calculations of a program, with the names that p4c's back end for BMv2 gives them: `calc`, `calc_0`, `calc_1`, ...
//!
//! ```text
//! control Ingress(...) {
//!     action a() { hash(m.h1, HashAlgorithm.crc32_custom, ...); }                         calc
//!     apply {
//!         hash(m.h2, ...);                                                                calc_1
//!         if (...) { hash(m.h3, ...); }                                                   calc_0
//!         t.apply();
//!     }
//! }
//! control Compute(...) { apply { update_checksum(..., HashAlgorithm.csum16); } }          calc_2
//! ```
//!
//! p4c numbers the calls of ingress and egress in the order of the source: actions that are in use, then the actions that it makes of
//! statements of `apply`, nested ones before the statements around them. Checksums follow, computed before verified. A call stands
//! once for each table that uses its action, and for each instance of its control.

use base_diag::Span;
use ir::{
    ActionId, Block, Call, Callee, Const, Control, ControlId, ExprKind, Program, Stmt, StmtKind, SwitchOn,
    TableId, Type, TypeKind, visit,
};
use std::collections::BTreeSet;

/// A call that computes a hash or a checksum. All copies of a call in the source have the same parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calculation {
    /// Unique in the program.
    pub name: String,
    /// Member of `HashAlgorithm`.
    pub algorithm: String,
    /// The call in the source.
    pub call: Span,
}

impl Calculation {
    /// Width of the CRC whose parameters can be set: 16 or 32.
    pub fn custom_width(&self) -> Option<u32> {
        match self.algorithm.as_str() {
            "crc16_custom" => Some(16),
            "crc32_custom" => Some(32),
            _ => None,
        }
    }
}

/// The calculations of a program for v1model, in order of their names' numbers; empty for other architectures.
pub fn calculations(program: &Program) -> Vec<Calculation> {
    let mut found = Found { program, all: vec![], depth: 0 };
    let stage = |name| program.stage_control(name);
    if let (ir::Arch::V1Model(_), Some(ingress), Some(egress)) =
        (&program.arch, stage("ingress"), stage("egress"))
    {
        let mut pipelines = [ingress, egress];
        pipelines.sort_by_key(|id| program.control(*id).span.lo);
        for id in pipelines {
            found.actions(id);
            found.body(program.control(id));
        }
        for name in ["compute_checksum", "verify_checksum"] {
            stage(name).into_iter().for_each(|id| found.body(program.control(id)));
        }
    }
    found.all
}

/// Controls and functions do not call themselves; this bounds programs that were not checked.
const MOST_DEPTH: u32 = 64;

struct Found<'p> {
    program: &'p Program,
    all: Vec<Calculation>,
    depth: u32,
}

impl<'p> Found<'p> {
    /// Calls in actions of a control and of those that it applies.
    fn actions(&mut self, id: ControlId) {
        if self.depth > MOST_DEPTH {
            return;
        }
        let control = self.program.control(id);
        self.depth += 1;
        visit::stmts(&control.body, &mut |stmt| {
            if let StmtKind::Call(Call { callee: Callee::Control(inner), .. }) = &stmt.kind {
                self.actions(*inner);
            }
        });
        self.depth -= 1;
        for (action, uses) in control.actions.iter().zip(uses(control)) {
            (0..uses).for_each(|_| self.block(&action.body));
        }
    }

    fn body(&mut self, control: &Control) {
        self.block(&control.body);
    }

    fn block(&mut self, block: &Block) {
        let waiting = self.stmts(&block.stmts);
        self.all_of(waiting);
    }

    /// Names the calls in statements with blocks; the calls after the last of them are returned.
    fn stmts(&mut self, stmts: &[Stmt]) -> Vec<Call> {
        let mut waiting: Vec<Call> = vec![];
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Call(call) => match self.inlined(&call.callee) {
                    Some(body) => {
                        self.depth += 1;
                        waiting.extend(self.stmts(&body.stmts));
                        self.depth -= 1;
                    }
                    None if matches!(call.callee, Callee::Action(_)) => {
                        self.all_of(std::mem::take(&mut waiting))
                    }
                    None => waiting.push(call.clone()),
                },
                StmtKind::Block(block) => waiting.extend(self.stmts(&block.stmts)),
                StmtKind::Apply(_) => self.all_of(std::mem::take(&mut waiting)),
                StmtKind::If(..) | StmtKind::Switch(..) | StmtKind::For { .. } | StmtKind::ForIn { .. } => {
                    visit::blocks(stmt, &mut |inner| self.block(inner));
                    self.all_of(std::mem::take(&mut waiting));
                }
                _ => {}
            }
        }
        waiting
    }

    /// The body that p4c puts in the place of a call.
    fn inlined(&self, callee: &Callee) -> Option<&'p Block> {
        if self.depth > MOST_DEPTH {
            return None;
        }
        let program = self.program;
        match callee {
            Callee::Control(id) => Some(&program.control(*id).body),
            Callee::Function(id) => program.functions.get(id.index()).map(|function| &function.body),
            _ => None,
        }
    }

    fn all_of(&mut self, calls: Vec<Call>) {
        for call in calls {
            let Some(algorithm) = algorithm(self.program, &call) else { continue };
            let name = match self.all.len() {
                0 => "calc".to_string(),
                before => format!("calc_{}", before - 1),
            };
            self.all.push(Calculation { name, algorithm, call: call.span });
        }
    }
}

/// Tables that are applied and use an action, for each action; a direct call counts as one.
fn uses(control: &Control) -> Vec<usize> {
    let mut tables: BTreeSet<TableId> = BTreeSet::new();
    let mut uses = vec![0; control.actions.len()];
    let mut count = |action: ActionId| uses.get_mut(action.index()).into_iter().for_each(|uses| *uses += 1);
    visit::stmts(&control.body, &mut |stmt| {
        match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                tables.insert(*table);
            }
            StmtKind::Call(Call { callee: Callee::Action(called), .. }) => count(*called),
            _ => {}
        }
        visit::exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |expr| {
                if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = &expr.kind {
                    tables.insert(*table);
                }
            });
        });
    });
    for table in tables.iter().filter_map(|table| control.tables.get(table.index())) {
        let actions: BTreeSet<ActionId> = table.actions.iter().map(|of| of.action).collect();
        actions.into_iter().for_each(&mut count);
    }
    uses
}

/// The algorithm that a call names, if it is a call of a calculation.
fn algorithm(program: &Program, call: &Call) -> Option<String> {
    let Callee::ExternFunction(id) = call.callee else { return None };
    let at = match program.extern_functions.get(id.index())?.name.as_str() {
        "hash" => 1,
        "verify_checksum"
        | "verify_checksum_with_payload"
        | "update_checksum"
        | "update_checksum_with_payload" => 3,
        _ => return None,
    };
    let algorithm = call.args.get(at)?.as_ref()?;
    let (Type::Named(id), ExprKind::Const(Const::Enum(member))) = (&algorithm.ty, &algorithm.kind) else {
        return None;
    };
    match &program.type_decl(*id).kind {
        TypeKind::Enum(members) => members.get(*member as usize).map(ToString::to_string),
        _ => None,
    }
}
