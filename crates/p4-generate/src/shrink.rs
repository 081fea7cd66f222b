//! A smaller program with the same finding.
//!
//! Before: a program of hundreds of statements that is printed wrong.
//! After:  the declarations and statements without which it is printed right.
//!
//! Every edit is tried on the syntax tree: a part is left out, a statement or expression is replaced by a part of
//! itself. A program that no longer compiles has another finding, so edits need not know types.

use crate::check::Finding;
use crate::inputs::Inputs;
use crate::tree::Tree;
use p4_syntax::ast::{
    Block, Decl, Expr, ExprKind, ForInit, KeysetElement, KeysetElementKind, Local, State, Stmt, StmtKind,
    TablePropertyKind, Transition,
};

/// A program that shows what is wrong, and little else.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The program.
    pub source: String,
    /// Inputs of the program.
    pub inputs: Inputs,
    /// The failed property.
    pub finding: Finding,
}

/// Checks a program with its inputs; `None` if all properties hold.
pub type Judge<'j> = &'j dyn Fn(&str, &Inputs) -> Option<Finding>;

/// Makes `start` smaller, trying at most so many candidates.
pub fn shrink(start: Shrunk, mut attempts: usize, judge: Judge) -> Shrunk {
    let mut best = start;
    shrink_inputs(&mut best, judge, &mut attempts);
    loop {
        let before = best.source.len();
        let mut at = 0;
        while attempts > 0 {
            let mut tree = Tree::parse(&best.source);
            let mut edit = Edit { left: at, done: false };
            tree.program.decls = edit.decls(std::mem::take(&mut tree.program.decls));
            if !edit.done {
                break;
            }
            attempts -= 1;
            if !try_source(&mut best, tree.print(), judge) {
                at += 1;
            }
        }
        if best.source.len() >= before || attempts == 0 {
            break;
        }
    }
    shrink_inputs(&mut best, judge, &mut attempts);
    best
}

/// Takes `source` if it has the same finding.
fn try_source(best: &mut Shrunk, source: String, judge: Judge) -> bool {
    if source.len() >= best.source.len() {
        return false;
    }
    match judge(&source, &best.inputs) {
        Some(finding) if same(&finding, &best.finding) => {
            best.source = source;
            best.finding = finding;
            true
        }
        _ => false,
    }
}

/// Leaves out packets and writes, one after the other.
fn shrink_inputs(best: &mut Shrunk, judge: Judge, attempts: &mut usize) {
    let mut at = 0;
    while at < best.inputs.packets.len() + best.inputs.writes.len() && *attempts > 0 {
        *attempts -= 1;
        let mut inputs = best.inputs.clone();
        let packets = inputs.packets.len();
        if at < packets {
            inputs.packets.remove(at);
        } else {
            inputs.writes.remove(at - packets);
        }
        match judge(&best.source, &inputs) {
            Some(finding) if same(&finding, &best.finding) => {
                best.inputs = inputs;
                best.finding = finding;
            }
            _ => at += 1,
        }
    }
}

fn same(one: &Finding, other: &Finding) -> bool {
    one.step == other.step && one.summary == other.summary
}

/// One edit: the one at position `left`.
struct Edit {
    left: usize,
    done: bool,
}

impl Edit {
    /// True at the place of the edit.
    fn here(&mut self) -> bool {
        if self.done {
            return false;
        }
        self.done = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.done
    }

    /// Leaves out one item, or goes into the items.
    fn list<T>(&mut self, items: Vec<T>, mut inner: impl FnMut(&mut Edit, &mut T)) -> Vec<T> {
        let mut kept = vec![];
        for mut item in items {
            if self.here() {
                continue;
            }
            if !self.done {
                inner(self, &mut item);
            }
            kept.push(item);
        }
        kept
    }

    fn in_place<T>(&mut self, items: &mut Vec<T>, inner: impl FnMut(&mut Edit, &mut T)) {
        *items = self.list(std::mem::take(items), inner);
    }

    fn decls(&mut self, decls: Vec<Decl>) -> Vec<Decl> {
        self.list(decls, |e, decl| match decl {
            Decl::Const(d) => e.expr(&mut d.value),
            Decl::Function(d) => e.block(&mut d.body),
            Decl::Action(d) => e.block(&mut d.body),
            Decl::Struct(d) => e.in_place(&mut d.fields, |e, f| e.in_place(&mut f.annotations, |_, _| {})),
            Decl::Enum(d) => e.in_place(&mut d.members, |_, _| {}),
            Decl::Parser(d) => {
                e.in_place(&mut d.locals, Edit::local);
                e.in_place(&mut d.states, Edit::state);
            }
            Decl::Control(d) => {
                e.in_place(&mut d.locals, Edit::local);
                e.block(&mut d.apply);
            }
            _ => {}
        })
    }

    fn local(&mut self, local: &mut Local) {
        match local {
            Local::Const(d) => self.expr(&mut d.value),
            Local::Var(d) => self.optional(&mut d.init),
            Local::Action(d) => self.block(&mut d.body),
            Local::Table(d) => self.in_place(&mut d.properties, |e, property| match &mut property.kind {
                TablePropertyKind::Key(keys) => e.in_place(keys, |e, k| e.expr(&mut k.value)),
                TablePropertyKind::Actions(actions) => e.in_place(actions, |e, a| {
                    if let Some(args) = &mut a.args {
                        args.iter_mut().for_each(|a| e.expr(&mut a.value));
                    }
                }),
                TablePropertyKind::Entries(entries) => e.in_place(entries, |_, _| {}),
                TablePropertyKind::Value(value) => e.expr(value),
            }),
            Local::Instance(_) | Local::ValueSet(_) => {}
        }
    }

    fn state(&mut self, state: &mut State) {
        self.stmts(&mut state.stmts);
        if let Some(Transition::Select(select)) = &mut state.transition {
            if select.keys.len() == 1 {
                select.keys.iter_mut().for_each(|k| self.expr(k));
            }
            let first = select.cases.first().map(|c| c.state.clone());
            self.in_place(&mut select.cases, |e, case| {
                case.keyset.elements.iter_mut().for_each(|k| e.keyset(k));
            });
            if let Some(first) = first
                && self.here()
            {
                state.transition = Some(Transition::Direct(first));
            }
        }
    }

    fn keyset(&mut self, element: &mut KeysetElement) {
        match &mut element.kind {
            KeysetElementKind::Value(e) => self.expr(e),
            KeysetElementKind::Mask(a, b) | KeysetElementKind::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            KeysetElementKind::Default | KeysetElementKind::DontCare => {}
        }
    }

    fn block(&mut self, block: &mut Block) {
        self.stmts(&mut block.stmts);
    }

    fn optional(&mut self, expr: &mut Option<Expr>) {
        if expr.is_some() && self.here() {
            *expr = None;
        } else if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    /// Leaves out one, or puts the inside of one in its place.
    fn stmts(&mut self, stmts: &mut Vec<Stmt>) {
        let mut kept = vec![];
        for mut stmt in std::mem::take(stmts) {
            if self.here() {
                continue;
            }
            let inside = inside(&stmt);
            if let Some(inside) = inside.into_iter().find(|_| self.here()) {
                kept.extend(inside);
                continue;
            }
            if !self.done {
                self.stmt(&mut stmt);
            }
            kept.push(stmt);
        }
        *stmts = kept;
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Block(block) => self.block(block),
            StmtKind::Assign { target, value, .. } => {
                self.expr(value);
                self.expr(target);
            }
            StmtKind::Call(call) => self.expr(call),
            StmtKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.stmt(then);
                if otherwise.is_some() && self.here() {
                    *otherwise = None;
                }
                otherwise.iter_mut().for_each(|o| self.stmt(o));
            }
            StmtKind::Return(value) => value.iter_mut().for_each(|v| self.expr(v)),
            StmtKind::Switch { subject, cases } => {
                self.expr(subject);
                self.in_place(cases, |e, case| case.body.iter_mut().for_each(|b| e.block(b)));
            }
            StmtKind::For(f) => {
                for init in &mut f.init {
                    if let ForInit::Stmt(stmt) = init {
                        self.stmt(stmt);
                    }
                }
                self.stmt(&mut f.body);
            }
            StmtKind::ForIn { body, .. } => self.stmt(body),
            StmtKind::Var(d) => self.optional(&mut d.init),
            StmtKind::Const(d) => self.expr(&mut d.value),
            _ => {}
        }
    }

    /// Puts a part of the expression in its place.
    fn expr(&mut self, expr: &mut Expr) {
        let parts = parts(expr);
        if let Some(part) = parts.into_iter().find(|_| self.here()) {
            *expr = part;
            return;
        }
        if self.done {
            return;
        }
        match &mut expr.kind {
            ExprKind::Member { base, .. } | ExprKind::Slice { base, .. } => self.expr(base),
            ExprKind::Index { base, index } => {
                self.expr(base);
                self.expr(index);
            }
            ExprKind::PlusSlice { base, lo, .. } => {
                self.expr(base);
                self.expr(lo);
            }
            ExprKind::List(items) => items.iter_mut().for_each(|i| self.expr(i)),
            ExprKind::Struct { fields, .. } => fields.iter_mut().for_each(|f| self.expr(&mut f.value)),
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => self.expr(operand),
            ExprKind::Binary { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Ternary { condition, then, otherwise, .. } => {
                self.expr(condition);
                self.expr(then);
                self.expr(otherwise);
            }
            ExprKind::Call { callee, args, .. } => {
                self.expr(callee);
                args.iter_mut().for_each(|a| self.expr(&mut a.value));
            }
            _ => {}
        }
    }
}

/// Replacements for a statement.
fn inside(stmt: &Stmt) -> Vec<Vec<Stmt>> {
    let body = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Block(block) => block.stmts.clone(),
        _ => vec![stmt.clone()],
    };
    match &stmt.kind {
        StmtKind::Block(block) => vec![block.stmts.clone()],
        StmtKind::If { then, otherwise, .. } => {
            let mut all = vec![body(then)];
            all.extend(otherwise.iter().map(|o| body(o)));
            all
        }
        StmtKind::Switch { cases, .. } => {
            cases.iter().filter_map(|c| Some(c.body.as_ref()?.stmts.clone())).collect()
        }
        StmtKind::For(f) => vec![body(&f.body)],
        StmtKind::ForIn { body: inner, .. } => vec![body(inner)],
        _ => vec![],
    }
}

/// Replacements for an expression.
fn parts(expr: &Expr) -> Vec<Expr> {
    let parts: Vec<&Expr> = match &expr.kind {
        ExprKind::Slice { base, .. } | ExprKind::PlusSlice { base, .. } => vec![base],
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => vec![operand],
        ExprKind::Binary { left, right, .. } => vec![left, right],
        ExprKind::Ternary { condition, then, otherwise, .. } => vec![then, otherwise, condition],
        ExprKind::Call { args, .. } => args.iter().map(|a| &a.value).collect(),
        ExprKind::List(items) => items.iter().collect(),
        _ => vec![],
    };
    parts.into_iter().cloned().collect()
}
