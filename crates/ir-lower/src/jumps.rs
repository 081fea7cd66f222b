//! Jumps out of code become structure where that suffices, and a flag where not.
//!
//! ```text
//! if (c) { a; JUMP; } b;                 if (c) { a; } else { b; }
//! if (c) { if (d) { JUMP; } a; } b;      if (c) { if (d) { flag = true; } else { a; } } if (!flag) { b; }
//! for (...) { if (c) { JUMP; } a; } b;   for (...) { if (c) { flag = true; break; } a; } if (!flag) { b; }
//! ```
//!
//! `exit` and `return` are such jumps out of a body, `continue` is one out of a loop's body, `break` one out of the
//! loop. A statement may also *raise* the flag by calling an action that exits.

use ir::build;
use ir::{Block, Expr, Stmt, StmtKind, SwitchCase, Var, VarId};

/// Nesting depth from which code is guarded piece by piece instead of nested further.
const MAX_NESTING: u32 = 24;

/// Whether control comes out at the end of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaves {
    Never,
    Maybe,
    Always,
}

/// Jumps to eliminate, and the flag that replaces them.
pub(crate) struct Jumps<'a> {
    /// For a jump: the statements before it leaves. For other statements: `None`.
    pub(crate) taken: &'a dyn Fn(&Stmt) -> Option<Vec<Stmt>>,
    /// True if the statement's own calls may raise the flag; nested blocks do not count.
    pub(crate) may_raise: &'a dyn Fn(&Stmt) -> bool,
    /// True if jumps stand in inner loops and leave these too.
    pub(crate) through_loops: bool,
    /// True if somebody else reads the flag: every jump raises it.
    pub(crate) is_flag_read: bool,
    /// The flag, once it is needed.
    pub(crate) flag: Option<VarId>,
    /// Name for a new flag.
    pub(crate) name: &'static str,
    /// Variables, to which a new flag is added.
    pub(crate) vars: &'a mut Vec<Var>,
}

impl Jumps<'_> {
    /// Replaces the jumps of a whole body. Gives true if there were any.
    pub(crate) fn body(&mut self, stmts: &mut Vec<Stmt>) -> bool {
        if self.list_leaves(stmts) == Leaves::Never {
            return false;
        }
        let tail = !self.is_flag_read;
        *stmts = self.list(std::mem::take(stmts), tail, 0);
        true
    }

    fn flag(&mut self) -> VarId {
        match self.flag {
            Some(flag) => flag,
            None => {
                let flag = build::local(self.vars, self.name, ir::Type::Bool, base_diag::Span::NONE);
                self.flag = Some(flag);
                flag
            }
        }
    }

    fn raised(&mut self) -> Expr {
        let flag = self.flag();
        build::var_of(self.vars, flag).at(base_diag::Span::NONE)
    }

    fn raise(&mut self, span: base_diag::Span) -> Stmt {
        build::assign(self.raised(), build::bool(true).at(span)).at(span)
    }

    /// `if (!flag) { stmts }`
    fn guarded(&mut self, stmts: Vec<Stmt>) -> Stmt {
        let span = stmts.first().map_or(base_diag::Span::NONE, |stmt| stmt.span);
        build::if_else(build::not(self.raised()), stmts, vec![]).at(span)
    }

    /// `if (flag) { break; }`
    fn break_if(&mut self, span: base_diag::Span) -> Stmt {
        let leave = vec![Stmt { kind: StmtKind::Break, span }];
        build::if_else(self.raised(), leave, vec![]).at(span)
    }

    fn leaves(&self, stmt: &Stmt) -> Leaves {
        if (self.taken)(stmt).is_some() {
            return Leaves::Always;
        }
        let raised = (self.may_raise)(stmt);
        let inner = match &stmt.kind {
            StmtKind::If(_, yes, no) => either(self.list_leaves(&yes.stmts), self.list_leaves(&no.stmts)),
            StmtKind::Switch(_, cases) => {
                let all = cases.iter().map(|case| self.list_leaves(&case.body.stmts)).reduce(either);
                let all = all.unwrap_or(Leaves::Never);
                let complete = cases.iter().any(SwitchCase::is_default);
                if complete { all } else { either(all, Leaves::Never) }
            }
            StmtKind::Block(block) => self.list_leaves(&block.stmts),
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } if self.through_loops => {
                either(self.list_leaves(&body.stmts), Leaves::Never)
            }
            _ => Leaves::Never,
        };
        if raised && inner == Leaves::Never { Leaves::Maybe } else { inner }
    }

    fn list_leaves(&self, stmts: &[Stmt]) -> Leaves {
        let mut found = Leaves::Never;
        for stmt in stmts {
            match self.leaves(stmt) {
                Leaves::Always => return Leaves::Always,
                Leaves::Maybe => found = Leaves::Maybe,
                Leaves::Never => {}
            }
        }
        found
    }

    /// `tail`: nothing runs after these statements, so that leaving equals reaching their end.
    fn list(&mut self, stmts: Vec<Stmt>, tail: bool, depth: u32) -> Vec<Stmt> {
        let mut out = vec![];
        let mut rest = stmts.into_iter();
        while let Some(stmt) = rest.next() {
            let leaves = self.leaves(&stmt);
            if leaves == Leaves::Never {
                out.push(stmt);
                continue;
            }
            if let Some(before) = (self.taken)(&stmt) {
                out.extend(before);
                if !tail {
                    out.push(self.raise(stmt.span));
                }
                return out;
            }
            let behind: Vec<Stmt> = if leaves == Leaves::Always { vec![] } else { rest.collect() };
            self.leaving(stmt, behind, tail, depth, &mut out);
            return out;
        }
        out
    }

    /// A statement that may leave, and the statements after it.
    fn leaving(&mut self, stmt: Stmt, mut behind: Vec<Stmt>, tail: bool, depth: u32, out: &mut Vec<Stmt>) {
        let raised = (self.may_raise)(&stmt);
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::If(cond, mut yes, mut no) => {
                // If one arm always leaves, the statements after the branch go into the other arm, and no test of the flag is needed.
                if depth < MAX_NESTING && !behind.is_empty() {
                    if self.list_leaves(&yes.stmts) == Leaves::Always {
                        append(&mut no, std::mem::take(&mut behind));
                    } else if self.list_leaves(&no.stmts) == Leaves::Always {
                        append(&mut yes, std::mem::take(&mut behind));
                    }
                }
                let tail = tail && behind.is_empty();
                self.arm(&mut yes, raised, tail, depth + 1);
                self.arm(&mut no, raised, tail, depth + 1);
                StmtKind::If(cond, yes, no)
            }
            StmtKind::Switch(on, mut cases) => {
                let tail = tail && behind.is_empty();
                for case in &mut cases {
                    self.arm(&mut case.body, raised, tail, depth + 1);
                }
                StmtKind::Switch(on, cases)
            }
            StmtKind::Block(block) if block.annotations.is_empty() => {
                let mut stmts = block.stmts;
                stmts.append(&mut behind);
                out.extend(self.list(stmts, tail, depth));
                return;
            }
            StmtKind::Block(mut block) => {
                let tail = tail && behind.is_empty();
                block.stmts = self.list(std::mem::take(&mut block.stmts), tail, depth);
                StmtKind::Block(block)
            }
            StmtKind::For { init, cond, update, mut body } => {
                self.in_loop(&mut body.stmts);
                StmtKind::For { init, cond, update, body }
            }
            StmtKind::ForIn { var, range, mut body } => {
                self.in_loop(&mut body.stmts);
                StmtKind::ForIn { var, range, body }
            }
            other => other,
        };
        out.push(Stmt { kind, span });
        if !behind.is_empty() {
            self.behind(behind, tail, depth, out);
        }
    }

    fn arm(&mut self, arm: &mut Block, raised: bool, tail: bool, depth: u32) {
        let stmts = self.list(std::mem::take(&mut arm.stmts), tail, depth);
        arm.stmts = if raised && !stmts.is_empty() { vec![self.guarded(stmts)] } else { stmts };
    }

    /// Guards the statements after one that may have raised the flag.
    fn behind(&mut self, stmts: Vec<Stmt>, tail: bool, depth: u32, out: &mut Vec<Stmt>) {
        if depth < MAX_NESTING {
            let inner = self.list(stmts, tail, depth + 1);
            let guarded = self.guarded(inner);
            out.push(guarded);
            return;
        }
        let mut piece = vec![];
        let mut stmts = stmts.into_iter().peekable();
        while let Some(mut stmt) = stmts.next() {
            // A declaration stays outside of the guard, since later pieces use the variable.
            if let StmtKind::Declare(var, init) = &mut stmt.kind {
                let (var, init) = (*var, init.take());
                let span = stmt.span;
                out.push(stmt);
                piece.extend(
                    init.map(|init| build::assign(build::var_of(self.vars, var).at(span), init).at(span)),
                );
            } else {
                piece.push(stmt);
            }
            let leaves = piece.last().is_some_and(|last| self.leaves(last) != Leaves::Never);
            if (leaves || stmts.peek().is_none()) && !piece.is_empty() {
                let inner = self.list(std::mem::take(&mut piece), false, depth);
                let guarded = self.guarded(inner);
                out.push(guarded);
            }
        }
    }

    /// In a loop, a jump raises the flag and breaks, and so does a statement that may have raised it.
    fn in_loop(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            if self.leaves(&stmt) == Leaves::Never {
                stmts.push(stmt);
                continue;
            }
            let span = stmt.span;
            if let Some(before) = (self.taken)(&stmt) {
                stmts.extend(before);
                stmts.push(self.raise(span));
                stmts.push(Stmt { kind: StmtKind::Break, span });
                return;
            }
            let raised = (self.may_raise)(&stmt);
            let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
            ir::visit::blocks_mut(&mut stmt, &mut |inner| {
                self.in_loop(&mut inner.stmts);
                // The condition may apply a table whose action raises the flag.
                if raised && !inner.stmts.is_empty() {
                    inner.stmts.insert(0, self.break_if(span));
                }
            });
            stmts.push(stmt);
            if raised || is_loop {
                stmts.push(self.break_if(span));
            }
        }
    }
}

fn either(a: Leaves, b: Leaves) -> Leaves {
    if a == b { a } else { Leaves::Maybe }
}

/// Adds statements to an arm. They are not of its region, and its own variables are not theirs.
fn append(arm: &mut Block, stmts: Vec<Stmt>) {
    let declares = arm.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare(..)));
    if !arm.annotations.is_empty() || declares {
        let inner = std::mem::take(arm);
        arm.stmts.push(Stmt { kind: StmtKind::Block(inner), span: base_diag::Span::NONE });
    }
    arm.stmts.extend(stmts);
}
