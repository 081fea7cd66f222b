//! `remove-dead-stores`: removes stores to variables that are not read, and branches that do nothing.
//!
//! Before: `a = 8w5; if (c) { a = 8w6; } x = hit(t); hdr.h.y = 8w5;`
//! After:  `t.apply(); hdr.h.y = 8w5;`
//!
//! Requires `split-structs`. Ensures nothing. `setValid` and `setInvalid` of local headers stay: in v1model the
//! packet's length follows them. Calls stay for their effects. Why: the passes before it, `propagate-values` above all,
//! leave stores that are no longer needed.

use crate::hoist_effects::is_lookahead;
use crate::units::{Unit, each_unit, targets};
use crate::{Changed, walk};
use ir::{
    Control, Expr, ExprKind, Parser, ParserState, Program, StateRef, Stmt, StmtKind, SwitchOn, TableId, Var,
    VarId, VarKind, visit,
};
use std::collections::BTreeSet;

/// See the head of this file.
pub fn remove_dead_stores(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |_, unit| match unit {
        Unit::Control(control) => changed |= in_control(control),
        Unit::Parser(parser) => changed |= in_parser(parser),
        Unit::Function(_) => {}
    });
    Changed(changed)
}

fn in_control(control: &mut Control) -> bool {
    let mut read = BTreeSet::new();
    let mut tables = vec![];
    let by_actions: Vec<BTreeSet<VarId>> =
        control.actions.iter().map(|action| mentioned(&action.body.stmts)).collect();
    for table in &control.tables {
        let mut reads = BTreeSet::new();
        table.keys.iter().for_each(|key| add_reads(&key.expr, &mut reads));
        table.properties.iter().for_each(|(_, value)| add_reads(value, &mut reads));
        for run in &table.actions {
            reads.extend(by_actions.get(run.action.index()).into_iter().flatten());
        }
        read.extend(&reads);
        tables.push(reads);
    }
    // An action may run before anything else that the control does.
    read.extend(mentioned(&control.body.stmts));
    let Control { actions, body, vars, .. } = control;
    let mut changed = false;
    for action in actions {
        let mut pass = Remove { vars, tables: &tables, live: Live::of(&read), dry: false, changed: false };
        pass.stmts(&mut action.body.stmts);
        changed |= pass.changed;
    }
    let mut pass = Remove { vars, tables: &tables, live: Live::default(), dry: false, changed: false };
    pass.stmts(&mut body.stmts);
    changed | pass.changed
}

fn in_parser(parser: &mut Parser) -> bool {
    let Parser { states, vars, .. } = parser;
    let mut live_in: Vec<BTreeSet<VarId>> = vec![BTreeSet::new(); states.len()];
    let mut before: Vec<Vec<usize>> = vec![vec![]; states.len()];
    for (at, state) in states.iter().enumerate() {
        for target in targets(&state.transition) {
            if let StateRef::State(id) = target {
                before[id.index()].push(at);
            }
        }
    }
    // Liveness at the start of each state, to a fixed point; only then is anything removed.
    let mut open: BTreeSet<usize> = (0..states.len()).collect();
    while let Some(at) = open.pop_last() {
        let mut pass =
            Remove { vars, tables: &[], live: live_out(&states[at], &live_in), dry: true, changed: false };
        pass.stmts(&mut states[at].stmts);
        if pass.live.all != live_in[at] {
            live_in[at] = pass.live.all;
            open.extend(&before[at]);
        }
    }
    let mut changed = false;
    for state in states {
        let live = live_out(state, &live_in);
        let mut pass = Remove { vars, tables: &[], live, dry: false, changed: false };
        pass.stmts(&mut state.stmts);
        changed |= pass.changed;
    }
    changed
}

/// Variables that are read after a state's statements.
fn live_out(state: &ParserState, live_in: &[BTreeSet<VarId>]) -> Live {
    let mut live = BTreeSet::new();
    for target in targets(&state.transition) {
        if let StateRef::State(id) = target {
            live.extend(&live_in[id.index()]);
        }
    }
    let mut transition = state.transition.clone();
    walk::transition_exprs_mut(&mut transition, &mut |expr| add_reads(expr, &mut live));
    Live::of(&live)
}

/// The variables in `stmts`, but for those that are assigned as a whole.
fn mentioned(stmts: &[Stmt]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    walk::all_stmts(stmts, &mut |stmt| match &stmt.kind {
        StmtKind::Assign(Expr { kind: ExprKind::Var(_), .. }, value) => add_reads(value, &mut found),
        _ => walk::own_exprs(stmt, &mut |expr| add_reads(expr, &mut found)),
    });
    found
}

/// The tables that `stmts` apply.
fn applied_in(stmts: &[Stmt]) -> BTreeSet<TableId> {
    let mut found = BTreeSet::new();
    walk::all_stmts(stmts, &mut |stmt| {
        if let StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) = &stmt.kind {
            found.insert(*table);
        }
        walk::own_exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |e| {
                if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = e.kind {
                    found.insert(table);
                }
            });
        });
    });
    found
}

fn add_reads(expr: &Expr, reads: &mut BTreeSet<VarId>) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::Var(var) = e.kind {
            reads.insert(var);
        }
    });
}

/// The variables that are read later, with a journal as in `known`.
#[derive(Default)]
struct Live {
    all: BTreeSet<VarId>,
    journal: Vec<VarId>,
}

impl Live {
    fn of(all: &BTreeSet<VarId>) -> Live {
        Live { all: all.clone(), journal: vec![] }
    }

    fn add(&mut self, var: VarId) {
        if self.all.insert(var) {
            self.journal.push(var);
        }
    }

    fn remove(&mut self, var: VarId) {
        if self.all.remove(&var) {
            self.journal.push(var);
        }
    }

    /// Undoes the changes since `mark`; returns the variables that became live and those that did not stay live.
    fn take_back(&mut self, mark: usize) -> (BTreeSet<VarId>, BTreeSet<VarId>) {
        let changed: BTreeSet<VarId> = self.journal[mark..].iter().copied().collect();
        let (added, removed) = changed.iter().partition(|var| self.all.contains(var));
        while self.journal.len() > mark {
            if let Some(var) = self.journal.pop()
                && !self.all.remove(&var)
            {
                self.all.insert(var);
            }
        }
        (added, removed)
    }
}

struct Remove<'a> {
    vars: &'a [Var],
    /// Variables read by applying each table.
    tables: &'a [BTreeSet<VarId>],
    live: Live,
    /// Only compute live variables.
    dry: bool,
    changed: bool,
}

impl Remove<'_> {
    /// From the last to the first.
    fn stmts(&mut self, stmts: &mut Vec<Stmt>) {
        let mut kept = vec![];
        for mut stmt in std::mem::take(stmts).into_iter().rev() {
            if self.stmt(&mut stmt) || self.dry {
                kept.push(stmt);
            } else {
                self.changed = true;
            }
        }
        kept.reverse();
        *stmts = kept;
    }

    /// True if the statement is needed.
    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        match &mut stmt.kind {
            StmtKind::Assign(place, value) => {
                let Some(var) = self.local(place).filter(|var| !self.live.all.contains(var)) else {
                    self.stored(place, value);
                    return true;
                };
                match &value.kind {
                    ExprKind::ApplyHit(table) => {
                        let table = *table;
                        self.applied(table);
                        if !self.dry {
                            self.changed = true;
                            stmt.kind = StmtKind::Apply(table);
                        }
                        true
                    }
                    ExprKind::Call(_) => {
                        self.live.remove(var);
                        self.stored(place, value);
                        true
                    }
                    // The packet may be too short for it.
                    _ => is_lookahead(value),
                }
            }
            StmtKind::Apply(table) => {
                self.applied(*table);
                true
            }
            StmtKind::If(cond, yes, no) => {
                self.arms(&mut [&mut yes.stmts, &mut no.stmts], true);
                let needed = !(yes.stmts.is_empty()
                    && no.stmts.is_empty()
                    && yes.annotations.is_empty()
                    && no.annotations.is_empty());
                if needed {
                    self.reads(cond);
                }
                needed
            }
            StmtKind::Switch(on, cases) => {
                let exhaustive = cases.iter().any(ir::SwitchCase::is_default);
                let mut arms: Vec<&mut Vec<Stmt>> =
                    cases.iter_mut().map(|case| &mut case.body.stmts).collect();
                self.arms(&mut arms, exhaustive);
                let needed = cases.iter().any(|c| !c.body.stmts.is_empty() || !c.body.annotations.is_empty());
                match on {
                    SwitchOn::ActionRun(table) => {
                        let table = *table;
                        self.applied(table);
                        if !needed && !self.dry {
                            self.changed = true;
                            stmt.kind = StmtKind::Apply(table);
                        }
                        true
                    }
                    SwitchOn::Value(value) if needed => {
                        self.reads(value);
                        true
                    }
                    SwitchOn::Value(_) => false,
                }
            }
            StmtKind::For { cond, body, .. } => {
                // Variables that any round reads are live in all rounds.
                self.reads(cond);
                mentioned(&body.stmts).into_iter().for_each(|var| self.live.add(var));
                applied_in(&body.stmts).into_iter().for_each(|table| self.applied(table));
                self.arms(&mut [&mut body.stmts], false);
                true
            }
            StmtKind::Block(block) => {
                self.stmts(&mut block.stmts);
                true
            }
            _ => {
                walk::own_exprs(stmt, &mut |expr| self.reads(expr));
                true
            }
        }
    }

    /// Variables that are live before a branch; if it is not exhaustive, possibly no arm is taken.
    fn arms(&mut self, arms: &mut [&mut Vec<Stmt>], exhaustive: bool) {
        let mark = self.live.journal.len();
        let mut live = vec![];
        let mut dead: Option<BTreeSet<VarId>> = if exhaustive { None } else { Some(BTreeSet::new()) };
        for arm in arms {
            self.stmts(arm);
            let (added, removed) = self.live.take_back(mark);
            live.extend(added);
            dead = Some(match dead {
                None => removed,
                Some(dead) => dead.intersection(&removed).copied().collect(),
            });
        }
        dead.into_iter().flatten().for_each(|var| self.live.remove(var));
        live.into_iter().for_each(|var| self.live.add(var));
    }

    fn stored(&mut self, place: &Expr, value: &Expr) {
        match place.kind {
            ExprKind::Var(var) => self.live.remove(var),
            _ => self.reads(place),
        }
        match value.kind {
            ExprKind::ApplyHit(table) => self.applied(table),
            _ => self.reads(value),
        }
    }

    fn applied(&mut self, table: TableId) {
        let reads = self.tables.get(table.index()).into_iter().flatten();
        reads.for_each(|var| self.live.add(*var));
    }

    fn reads(&mut self, expr: &Expr) {
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Var(var) = e.kind {
                self.live.add(var);
            }
        });
    }

    /// The local variable that `place` is, or a part of.
    fn local(&self, place: &Expr) -> Option<VarId> {
        let mut place = place;
        while let ExprKind::Field(base, _)
        | ExprKind::Index(base, _)
        | ExprKind::Slice { base, .. }
        | ExprKind::SlicePlus { base, .. } = &place.kind
        {
            place = base;
        }
        match place.kind {
            ExprKind::Var(var) => {
                self.vars.get(var.index()).is_some_and(|var| var.kind == VarKind::Local).then_some(var)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const VARS: &str = "local bit<8> a; local bool hit; local h_t h;";

    const BESIDE: &str = "locals { var a; var hit; var h; } action n() \"n\" { x = a; }
        table t \"t\" { actions { n(); } default n(); }";

    #[test]
    fn stores_and_branches() {
        let body = "a = 8w5; if (x == 8w0) { a = 8w6; } hit = $hit(t); a = 8w7; h.$setValid(); h.a = 8w1;
            if (x == 8w0) { a = 8w1; } else { a = 8w2; } x = a; a = 8w3;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> a;
                local bool hit;
                local h_t h;
              }
              locals {
                var a;
                var hit;
                var h;
              }
              action n() "n" {
                x = a;
              }
              table t "t" {
                actions {
                  n();
                }
                default n();
              }
              apply {
                a = 8w0x5;
                if (x == 8w0x0) {
                  a = 8w0x6;
                }
                apply t;
                h.$setValid();
                if (x == 8w0x0) {
                  a = 8w0x1;
                } else {
                  a = 8w0x2;
                }
                x = a;
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, BESIDE, body), remove_dead_stores));
    }

    /// The next round applies the table to values stored in this one.
    #[test]
    fn tables_in_loops() {
        let stored = |apply: &str| {
            let body = format!("for {{ }} while (x < 8w4) step {{ x = x + 8w1; }} do {{ {apply} a = 8w7; }}");
            after(&control(VARS, BESIDE, &body), remove_dead_stores).contains("a = 8w0x7;")
        };
        assert!(stored("apply t;"));
        assert!(stored("hit = $hit(t); x = x + 8w1;"));
        assert!(!stored("x = x + 8w2;"));
    }

    #[test]
    fn loops_and_parsers() {
        let before = "parser P(p, x) \"P\" { vars { param extern packet_in p; inout bit<8> x; local bit<8> a; local bit<8> b; }
            locals { var a; var b; }
            state start { a = 8w1; b = 8w1; goto next; }
            state next { x = x + a; b = 8w2; a = 8w2; select (x) { (8w1): next; (_): accept; } } }";
        expect![[r#"
            parser P(p, x) "P" {
              vars {
                param extern packet_in p;
                inout bit<8> x;
                local bit<8> a;
                local bit<8> b;
              }
              locals {
                var a;
                var b;
              }
              state start {
                a = 8w0x1;
                goto next;
              }
              state next {
                x = x + a;
                a = 8w0x2;
                select (x) {
                  (8w0x1): next;
                  (_): accept;
                }
              }
            }
        "#]]
        .assert_eq(&after(before, remove_dead_stores));
    }
}
