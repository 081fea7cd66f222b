//! The values that the output port may have where a packet is handed over.
//!
//! ```text
//! std.egress_spec = 3;                                  3
//! @region("R") { if (..) { mark_to_drop(std); } }       3 on the way there, 3 and 511 on the way back
//! route.apply();                                        unknown: its entries say it
//! ```
//!
//! One pass forward over the sections in topological order; loops inside a statement run to their fixed point.

use crate::analysis::Analysis;
use crate::arch::{self, Effect};
use crate::expressions::constant;
use crate::place::{Covered, Leaf};
use crate::section::{Code, Half, SectionId};
use base_diag::Span;
use ir::{
    ActionId, Block, Call, Callee, ControlId, Direction, Expr, ExprKind, Stmt, StmtKind, SwitchOn, TableId,
    visit,
};
use p4_arch::Meaning;
use p4_arch::v1model::DROP_PORT;
use std::collections::{BTreeMap, BTreeSet};

/// Possible values of the output port.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ports {
    /// These constants.
    pub known: BTreeSet<u64>,
    /// Something else, which this statement has written.
    pub unknown: Option<Span>,
}

impl Ports {
    fn only(value: u64) -> Ports {
        Ports { known: [value].into(), unknown: None }
    }

    fn join(&mut self, other: &Ports) {
        self.known.extend(&other.known);
        self.unknown = self.unknown.or(other.unknown);
    }
}

/// The values at each section that is entered over a cut without a header, on all paths over such cuts.
pub fn over_cuts(a: &Analysis<'_>) -> BTreeMap<SectionId, Ports> {
    let Some(leaf) = a.places().standard(Meaning::ToPort) else { return BTreeMap::new() };
    let (walk, is_bare) = (Walk { a, leaf, control: a.ingress }, super::is_bare(a));
    let (mut at, mut found) = (BTreeMap::new(), BTreeMap::new());
    at.insert(a.sections.first(Half::Ingress), Ports::only(0));
    for (id, section) in a.sections.iter().filter(|(_, section)| section.half == Half::Ingress) {
        let Some(here) = at.get(&id).cloned() else { continue };
        let mut left: BTreeMap<SectionId, Ports> = BTreeMap::new();
        walk.code(&section.code, here, &mut left);
        for (to, ports) in left {
            if is_bare(section.device, a.sections.get(to).device) {
                found.entry(to).or_insert_with(Ports::default).join(&ports);
            }
            at.entry(to).or_insert_with(Ports::default).join(&ports);
        }
    }
    found
}

struct Walk<'a> {
    a: &'a Analysis<'a>,
    leaf: Leaf,
    control: ControlId,
}

impl Walk<'_> {
    /// The values after `code`, and those at each `Goto`; `None` if control never comes out at the end.
    fn code(&self, code: &[Code], mut now: Ports, left: &mut BTreeMap<SectionId, Ports>) -> Option<Ports> {
        for piece in code {
            now = match piece {
                Code::Stmt(stmt) => self.stmt(stmt, now),
                Code::If(cond, yes, no) => {
                    let now = self.expr(cond, now);
                    let ends = [yes, no].map(|arm| self.code(arm, now.clone(), left));
                    joined(ends.into_iter().flatten())?
                }
                Code::Switch(on, cases) => {
                    let now = self.switch(on, now);
                    let ends: Vec<_> =
                        cases.iter().filter_map(|case| self.code(&case.code, now.clone(), left)).collect();
                    joined(ends)?
                }
                Code::Region(_, inner) => self.code(inner, now, left)?,
                Code::Goto(target) => {
                    left.entry(*target).or_default().join(&now);
                    return None;
                }
            };
        }
        Some(now)
    }

    fn block(&self, block: &Block, now: Ports) -> Ports {
        block.stmts.iter().fold(now, |now, stmt| self.stmt(stmt, now))
    }

    fn stmt(&self, stmt: &Stmt, mut now: Ports) -> Ports {
        visit::exprs(stmt, &mut |expr| now = self.expr(expr, std::mem::take(&mut now)));
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.write(place, constant(value), stmt.span, now),
            StmtKind::AssignOp(_, place, _) => self.write(place, None, stmt.span, now),
            StmtKind::Call(call) => self.call(call, stmt.span, now),
            StmtKind::Apply(table) => self.table(*table, now),
            StmtKind::If(_, yes, no) => {
                let mut end = self.block(yes, now.clone());
                end.join(&self.block(no, now));
                end
            }
            StmtKind::Switch(on, cases) => {
                let now = self.switch(on, now);
                // Some switch has no case for a value.
                let ends = cases.iter().map(|case| self.block(&case.body, now.clone()));
                let mut end = joined(ends).unwrap_or_default();
                end.join(&now);
                end
            }
            StmtKind::Block(block) => self.block(block, now),
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => loop {
                let mut after = self.block(body, now.clone());
                after.join(&now);
                if after == now {
                    return now;
                }
                now = after;
            },
            _ => now,
        }
    }

    fn switch(&self, on: &SwitchOn, now: Ports) -> Ports {
        match on {
            SwitchOn::ActionRun(table) => self.table(*table, now),
            SwitchOn::Value(_) => now,
        }
    }

    fn expr(&self, expr: &Expr, mut now: Ports) -> Ports {
        visit::subexprs(expr, &mut |e| match &e.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                now = self.table(*table, std::mem::take(&mut now));
            }
            ExprKind::Call(call) => now = self.call(call, e.span, std::mem::take(&mut now)),
            _ => {}
        });
        now
    }

    fn table(&self, table: TableId, now: Ports) -> Ports {
        let actions = &self.a.program.control(self.control).tables[table.index()].actions;
        joined(actions.iter().map(|run| self.action(run.action, now.clone()))).unwrap_or(now)
    }

    fn action(&self, action: ActionId, now: Ports) -> Ports {
        self.block(&self.a.program.control(self.control).actions[action.index()].body, now)
    }

    fn call(&self, call: &Call, span: Span, now: Ports) -> Ports {
        match &call.callee {
            Callee::Action(action) => self.action(*action, now),
            Callee::ExternFunction(f)
                if arch::function_effect(&self.a.program.extern_functions[f.index()]) == Effect::Drop =>
            {
                Ports::only(DROP_PORT.into())
            }
            // A frame that the extern has made starts here, for no port yet.
            Callee::Method(instance, _) if self.a.flow.is_frame_extern(*instance) => {
                let mut now = now;
                now.join(&Ports::only(0));
                now
            }
            _ => {
                let args = call.args.iter().zip(self.a.flow.directions(self.control, call));
                let out = args.filter(|(_, way)| matches!(way, Direction::Out | Direction::InOut));
                out.filter_map(|(arg, _)| arg.as_ref()).fold(now, |now, arg| self.write(arg, None, span, now))
            }
        }
    }

    fn write(&self, place: &Expr, value: Option<u32>, span: Span, now: Ports) -> Ports {
        match self.a.places().covered(self.control, place) {
            Covered::Whole(leaves) if leaves == [self.leaf] => match value {
                Some(value) => Ports::only(value.into()),
                None => Ports { known: BTreeSet::new(), unknown: Some(span) },
            },
            Covered::Whole(leaves) | Covered::Part(leaves) if leaves.contains(&self.leaf) => {
                Ports { known: BTreeSet::new(), unknown: Some(span) }
            }
            _ => now,
        }
    }
}

fn joined(all: impl IntoIterator<Item = Ports>) -> Option<Ports> {
    all.into_iter().reduce(|mut a, b| {
        a.join(&b);
        a
    })
}
