//! Headers found when a packet is parsed a second time, for a clone of ingress.
//!
//! The clone has the bytes of the packet, its length and its port. The rest of the standard metadata differs, and the
//! program's metadata is not kept while the clone is parsed. So the headers are the same as at the first time unless a
//! value that differs decides on them:
//!
//! ```text
//! if (std.instance_type == 4) { meta.port = meta.loopback; }     harmless: a clone starts egress without this
//! transition select(std.instance_type) { 4: ..; default: ..; }   refused
//! ```

use crate::arch::SAME_AGAIN;
use crate::expressions::root;
use crate::flow::Flow;
use crate::leaf_set::LeafSet;
use crate::parser_places::{metadata_read, metadata_under, path_of, shared_of};
use crate::place::{HeaderIndex, Leaf, RoleKey, Root};
use base_diag::Span;
use ir::{
    Block, Callee, Expr, ExprKind, ForRange, Parser, Stage, Stmt, StmtKind, SwitchOn, Transition, VarId,
    visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Places at which a value that differs decides on a header, with the reasons.
pub type Differs = Vec<(Span, String)>;

/// The headers of the packet that the parser may change, in declaration order.
pub fn headers(flow: &Flow, parser: &Parser, stage: &Stage) -> Result<Vec<HeaderIndex>, Differs> {
    let mut taint = Taint::new(flow, shared_of(parser, stage));
    loop {
        let before = (taint.leaves.clone(), taint.vars.clone());
        taint.differs.clear();
        taint.touched.clear();
        parser.locals.iter().for_each(|stmt| taint.stmt(stmt, false));
        for state in &parser.states {
            state.stmts.iter().for_each(|stmt| taint.stmt(stmt, false));
            if let Transition::Select(select) = &state.transition {
                select.exprs.iter().for_each(|expr| taint.decides(expr));
            }
        }
        if before == (taint.leaves.clone(), taint.vars.clone()) {
            break;
        }
    }
    if !taint.differs.is_empty() {
        return Err(taint.differs);
    }
    let touched = |path: &Vec<u32>| taint.touched.iter().any(|t| path.starts_with(t) || t.starts_with(path));
    Ok(flow.places.of_packet().filter(|(_, h)| touched(&h.path)).map(|(index, _)| index).collect())
}

/// Values that may differ at the second time.
struct Taint<'a> {
    flow: &'a Flow,
    by_var: BTreeMap<VarId, RoleKey>,
    leaves: LeafSet,
    /// Variables of the parser.
    vars: BTreeSet<VarId>,
    /// Paths of header fields that are written.
    touched: BTreeSet<Vec<u32>>,
    differs: Differs,
}

impl<'a> Taint<'a> {
    fn new(flow: &'a Flow, by_var: BTreeMap<VarId, RoleKey>) -> Taint<'a> {
        let same = flow.standard(&SAME_AGAIN);
        let mut leaves = LeafSet::default();
        for (number, info) in (0..).zip(&flow.places.leaves) {
            if info.root == Root::Shared(RoleKey::Standard) && !same.contains(&Leaf(number)) {
                leaves.insert(Leaf(number));
            }
        }
        flow.kept(None).into_iter().for_each(|leaf| {
            leaves.insert(leaf);
        });
        Taint { flow, by_var, leaves, vars: BTreeSet::new(), touched: BTreeSet::new(), differs: vec![] }
    }

    /// The first thing in an expression that may differ.
    fn differs_in(&self, expr: &Expr) -> Option<String> {
        let mut found = None;
        metadata_read(expr, &self.by_var, &self.flow.places, &mut |leaf| {
            if found.is_none() && self.leaves.contains(leaf) {
                found = Some(self.flow.places.info(leaf).name.clone());
            }
        });
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Var(var) = &e.kind
                && self.vars.contains(var)
                && found.is_none()
            {
                found = Some("a variable that depends on it".to_string());
            }
        });
        found
    }

    /// The expression decides on headers.
    fn decides(&mut self, expr: &Expr) {
        if let Some(name) = self.differs_in(expr) {
            self.refuse(expr.span, Some(name));
        }
    }

    fn refuse(&mut self, span: Span, name: Option<String>) {
        let what = match name {
            Some(name) if !name.contains(' ') => format!("the parser reads `{name}`"),
            _ => "the parser depends on values that differ for a clone".to_string(),
        };
        self.differs.push((span, what));
    }

    /// `under` says that the statement runs or not by something that may differ.
    fn stmt(&mut self, stmt: &Stmt, under: bool) {
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                if under || init.as_ref().is_some_and(|e| self.differs_in(e).is_some()) {
                    self.vars.insert(*var);
                }
            }
            StmtKind::Assign(place, value) | StmtKind::AssignOp(_, place, value) => {
                self.write(place, self.differs_in(value), under);
            }
            StmtKind::Extract { header, varbit_bits, .. } => {
                let length = varbit_bits.as_ref().and_then(|bits| self.differs_in(bits));
                match under || length.is_some() {
                    true => self.refuse(stmt.span, length),
                    false => self.write(header, None, false),
                }
            }
            StmtKind::SetValid(place, _) | StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => {
                self.write(place, None, under);
            }
            StmtKind::Advance(_, bits) => self.only_same(stmt.span, &[bits], under),
            StmtKind::Verify(cond, error) => self.only_same(stmt.span, &[cond, error], under),
            StmtKind::Emit(..) | StmtKind::Apply(_) => {}
            StmtKind::If(cond, yes, no) => {
                let under = under || self.differs_in(cond).is_some();
                self.calls_of(cond, under);
                [yes, no].into_iter().for_each(|block| self.block(block, under));
            }
            StmtKind::Switch(on, cases) => {
                let value = if let SwitchOn::Value(value) = on { Some(value) } else { None };
                let under = under || value.is_some_and(|value| self.differs_in(value).is_some());
                cases.iter().for_each(|case| self.block(&case.body, under));
            }
            StmtKind::Block(block) => self.block(block, under),
            StmtKind::For { init, cond, update, body } => {
                init.iter().for_each(|inner| self.stmt(inner, under));
                let under = under || self.differs_in(cond).is_some();
                update.iter().for_each(|inner| self.stmt(inner, under));
                self.block(body, under);
            }
            StmtKind::ForIn { var, range, body, .. } => {
                let differs = match range {
                    ForRange::Range(a, b) => self.differs_in(a).or_else(|| self.differs_in(b)),
                    ForRange::Values(values) => self.differs_in(values),
                };
                let under = under || differs.is_some();
                if under {
                    self.vars.insert(*var);
                }
                self.block(body, under);
            }
            StmtKind::Call(call) => {
                let args: Vec<&Expr> = call.args.iter().flatten().collect();
                // An extern object has state: the same call may give another value the second time.
                self.only_same(stmt.span, &args, under || matches!(call.callee, Callee::Method(..)));
                args.iter().for_each(|arg| self.touch(arg));
            }
            // Statements after it would run or not by something that differs.
            StmtKind::Break | StmtKind::Continue | StmtKind::Exit | StmtKind::Return(_) => {
                if under {
                    self.refuse(stmt.span, None);
                }
            }
        }
        if !matches!(stmt.kind, StmtKind::If(..)) {
            visit::exprs(stmt, &mut |e| self.calls_of(e, under));
        }
    }

    fn block(&mut self, block: &Block, under: bool) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt, under));
    }

    /// Functions that are called in an expression may write their arguments.
    fn calls_of(&mut self, expr: &Expr, under: bool) {
        let mut calls = vec![];
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                calls.push((e.span, call.clone()));
            }
        });
        for (span, call) in calls {
            let args: Vec<&Expr> = call.args.iter().flatten().collect();
            self.only_same(span, &args, under || matches!(call.callee, Callee::Method(..)));
            args.iter().for_each(|arg| self.touch(arg));
        }
    }

    /// None of these may differ.
    fn only_same(&mut self, span: Span, exprs: &[&Expr], under: bool) {
        let name = exprs.iter().find_map(|expr| self.differs_in(expr));
        if under || name.is_some() {
            self.refuse(span, name);
        }
    }

    /// A write to a place of a value in which `value` differs.
    fn write(&mut self, place: &Expr, value: Option<String>, under: bool) {
        self.touch(place);
        let whole = root(place);
        let is_header = whole.is_some_and(|var| self.by_var.get(&var) == Some(&RoleKey::Headers));
        if !is_header && self.differs_in_index(place).is_some() {
            return self.refuse(place.span, None);
        }
        if is_header && self.differs_in(place).is_some() {
            return self.refuse(place.span, None);
        }
        if !under && value.is_none() {
            return;
        }
        match whole {
            Some(_) if is_header => self.refuse(place.span, value),
            Some(var) if !self.by_var.contains_key(&var) => {
                self.vars.insert(var);
            }
            _ => metadata_under(place, &self.by_var, &self.flow.places).into_iter().for_each(|leaf| {
                self.leaves.insert(leaf);
            }),
        }
    }

    /// An index of a place of metadata or a variable that may differ.
    fn differs_in_index(&self, place: &Expr) -> Option<String> {
        match &place.kind {
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.differs_in(index).or_else(|| self.differs_in_index(base))
            }
            ExprKind::Field(base, _)
            | ExprKind::Slice { base, .. }
            | ExprKind::Next(base)
            | ExprKind::Last(base) => self.differs_in_index(base),
            _ => None,
        }
    }

    fn touch(&mut self, place: &Expr) {
        if let Some((RoleKey::Headers, path)) = path_of(place, &self.by_var) {
            self.touched.insert(path);
        }
    }
}
