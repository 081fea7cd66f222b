//! Writer and reader of a value that travels.
//!
//! For people: a statement on each side of the cut. The dataflow decides which values travel; this only looks for
//! places.

use crate::flow::Flow;
use crate::place::{Covered, Leaf};
use crate::section::{Code, Half, SectionId, Sections};
use base_diag::Span;
use ir::{
    Block, Call, Callee, ControlId, Direction, Expr, ExprKind, Stmt, StmtKind, SwitchOn, TableId, visit,
};
use std::collections::BTreeSet;

/// A use of a value.
struct Use {
    leaves: Vec<Leaf>,
    span: Span,
    is_write: bool,
}

/// Finds the places where values are written and read.
pub struct Witnesses {
    /// For each section, in the order in which control meets them.
    uses: Vec<Vec<Use>>,
    successors: Vec<Vec<SectionId>>,
}

impl Witnesses {
    /// Looks at all sections once.
    pub fn new(flow: &Flow, sections: &Sections, controls: (ControlId, ControlId)) -> Witnesses {
        let uses = sections.iter().map(|(_, section)| {
            let control = if section.half == Half::Ingress { controls.0 } else { controls.1 };
            let mut walk = Walk { flow, control, open: BTreeSet::new(), found: vec![] };
            walk.code(&section.code);
            walk.found
        });
        let uses = uses.collect();
        Witnesses { uses, successors: sections.iter().map(|(id, _)| sections.successors(id)).collect() }
    }

    /// The first place at or after `from` that reads the value.
    pub fn reader(&self, from: SectionId, leaf: Leaf) -> Option<Span> {
        let mut reached = vec![false; self.uses.len()];
        reached[from.0 as usize] = true;
        for at in from.0 as usize..self.uses.len() {
            if !reached[at] {
                continue;
            }
            let mut uses = self.uses[at].iter().filter(|u| u.leaves.contains(&leaf));
            if let Some(found) = uses.find(|u| !u.is_write) {
                return Some(found.span);
            }
            self.successors[at].iter().for_each(|next| reached[next.0 as usize] = true);
        }
        None
    }

    /// The last place before `to` that writes the value; `None` if it arrives with the packet.
    pub fn writer(&self, to: SectionId, leaf: Leaf) -> Option<Span> {
        let mut leads = vec![false; self.uses.len()];
        for at in (0..to.0 as usize).rev() {
            leads[at] = self.successors[at].iter().any(|next| *next == to || leads[next.0 as usize]);
            let mut uses = self.uses[at].iter().rev().filter(|u| leads[at] && u.leaves.contains(&leaf));
            if let Some(found) = uses.find(|u| u.is_write) {
                return Some(found.span);
            }
        }
        None
    }
}

struct Walk<'a> {
    flow: &'a Flow,
    control: ControlId,
    /// Tables with actions that are being visited.
    open: BTreeSet<TableId>,
    found: Vec<Use>,
}

impl Walk<'_> {
    fn code(&mut self, code: &[Code]) {
        for piece in code {
            match piece {
                Code::Stmt(stmt) => self.stmt(stmt),
                Code::If(cond, yes, no) => {
                    self.reads(cond, cond.span);
                    self.code(yes);
                    self.code(no);
                }
                Code::Switch(on, cases) => {
                    self.switch(on);
                    cases.iter().for_each(|case| self.code(&case.code));
                }
                Code::Region(_, inner) => self.code(inner),
                Code::Goto(_) => {}
            }
        }
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.reads(value, stmt.span);
                self.writes(place, stmt.span);
            }
            StmtKind::SetValid(place, _) => self.writes(place, stmt.span),
            StmtKind::Call(call) => self.call(call, stmt.span),
            StmtKind::Apply(table) => self.table(*table),
            StmtKind::Switch(on, _) => self.switch(on),
            _ => visit::exprs(stmt, &mut |e| self.reads(e, stmt.span)),
        }
        visit::blocks(stmt, &mut |inner| self.block(inner));
    }

    fn switch(&mut self, on: &SwitchOn) {
        match on {
            SwitchOn::ActionRun(table) => self.table(*table),
            SwitchOn::Value(value) => self.reads(value, value.span),
        }
    }

    fn table(&mut self, id: TableId) {
        if !self.open.insert(id) {
            return;
        }
        let control = self.flow.program.control(self.control);
        let table = &control.tables[id.index()];
        table.keys.iter().for_each(|key| self.reads(&key.expr, key.expr.span));
        for run in &table.actions {
            run.args.iter().for_each(|arg| self.reads(arg, arg.span));
            self.block(&control.actions[run.action.index()].body);
        }
        self.open.remove(&id);
    }

    fn call(&mut self, call: &Call, span: Span) {
        for (arg, direction) in call.args.iter().zip(self.flow.directions(self.control, call)) {
            let Some(arg) = arg else { continue };
            if direction != Direction::Out {
                self.reads(arg, span);
            }
            if matches!(direction, Direction::Out | Direction::InOut) {
                self.writes(arg, span);
            }
        }
        if let Callee::Action(action) = call.callee {
            self.block(&self.flow.program.control(self.control).actions[action.index()].body);
        }
    }

    fn reads(&mut self, expr: &Expr, span: Span) {
        match &expr.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table(*table),
            // To read a field is not to read the struct around it.
            ExprKind::Var(_) | ExprKind::Field(..)
                if !matches!(self.flow.places.covered(self.control, expr), Covered::Nothing) =>
            {
                self.note(expr, span, false);
            }
            _ => {
                self.note(expr, span, false);
                visit::parts(expr, &mut |part| self.reads(part, span));
            }
        }
    }

    fn writes(&mut self, place: &Expr, span: Span) {
        self.note(place, span, true);
    }

    fn note(&mut self, place: &Expr, span: Span, is_write: bool) {
        if let (Covered::Whole(leaves) | Covered::Part(leaves), false) =
            (self.flow.places.covered(self.control, place), span.is_none())
        {
            self.found.push(Use { leaves, span, is_write });
        }
    }
}
