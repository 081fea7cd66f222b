//! `join-copies`: a variable that stands for a place, from a copy of it to a copy back, is that place.
//!
//! Before: `x = hdr.h.a; apply t; hdr.h.a = x;` where `t` and its actions use `x` and not `hdr.h.a`
//! After:  `apply t;` where they use `hdr.h.a`
//!
//! Also removes a store to a place that the stores right after it overwrite. Requires `propagate-values`. Values of fields of invalid headers may
//! differ afterwards. Why: arguments that overlap are copied, and copies take stages of a pipeline.

use crate::Changed;
use crate::places::{Place, is_fixed, read_by};
use crate::units::each_control;
use crate::walk;
use ir::{
    Action, Block, Control, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, Table, TableId, Var, VarId,
    VarKind, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
pub fn join_copies(program: &mut Program) -> Changed {
    let mut changed = false;
    each_control(program, &mut |_, control| {
        let Control { actions, body, tables, vars, .. } = control;
        let mut stmts = std::mem::take(&mut body.stmts);
        let mut join = Join { actions, tables, vars, totals: counts(&stmts), used: vec![], changed: false };
        join.used = (0..join.tables.len()).map(|at| join.mentions(at)).collect();
        join.list(&mut stmts);
        changed |= join.changed;
        body.stmts = stmts;
    });
    Changed(changed)
}

/// Occurrences in code.
#[derive(Default)]
struct Counts {
    vars: BTreeMap<VarId, usize>,
    applies: BTreeMap<TableId, usize>,
    places: Vec<Place>,
}

fn counts(stmts: &[Stmt]) -> Counts {
    let mut found = Counts::default();
    walk::all_stmts(stmts, &mut |stmt| {
        if let StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) = &stmt.kind {
            *found.applies.entry(*table).or_default() += 1;
        }
        walk::own_exprs(stmt, &mut |expr| {
            read_by(expr, &mut |place| found.places.push(place));
            visit::subexprs(expr, &mut |e| match e.kind {
                ExprKind::Var(var) => *found.vars.entry(var).or_default() += 1,
                ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                    *found.applies.entry(table).or_default() += 1;
                }
                _ => {}
            });
        });
    });
    found
}

struct Join<'c> {
    actions: &'c mut Vec<Action>,
    tables: &'c mut Vec<Table>,
    vars: &'c [Var],
    /// Occurrences in the whole body.
    totals: Counts,
    /// Places that the keys and actions of each table mention.
    used: Vec<Vec<Place>>,
    changed: bool,
}

impl Join<'_> {
    fn mentions(&self, table: usize) -> Vec<Place> {
        let mut found = vec![];
        let table = &self.tables[table];
        table.keys.iter().for_each(|key| read_by(&key.expr, &mut |place| found.push(place)));
        for run in &table.actions {
            found.extend(counts(&self.actions[run.action.index()].body.stmts).places);
        }
        found
    }

    fn list(&mut self, stmts: &mut [Stmt]) {
        stmts.iter_mut().for_each(|stmt| {
            visit::blocks_mut(stmt, &mut |block| self.list(&mut block.stmts));
        });
        self.overwritten(stmts);
        let mut back: BTreeMap<VarId, usize> = BTreeMap::new();
        for (at, stmt) in stmts.iter().enumerate() {
            if let Some((to, Expr { kind: ExprKind::Var(var), .. })) = copy(stmt)
                && is_fixed(to)
            {
                back.insert(*var, at);
            }
        }
        for first in 0..stmts.len() {
            let Some((Expr { kind: ExprKind::Var(var), ty, .. }, from)) = copy(&stmts[first]) else {
                continue;
            };
            let (var, from) = (*var, from.clone());
            let Some(last) = back.get(&var).copied().filter(|last| first < *last) else { continue };
            let is_local = self.vars.get(var.index()).is_some_and(|var| var.kind == VarKind::Local);
            let Some((to, _)) = copy(&stmts[last]) else { continue };
            let is_same = is_fixed(&from) && from.ty == *ty && Place::of(to) == Place::of(&from);
            if is_local && is_same && self.is_apart(var, &from, stmts, first, last) {
                self.replace(var, &from, &mut stmts[first..=last]);
                for at in [first, last] {
                    stmts[at].kind = StmtKind::Block(Block::default());
                }
            }
        }
    }

    /// True if the variable occurs between two statements alone, and the place does not occur there.
    fn is_apart(&self, var: VarId, place: &Expr, stmts: &[Stmt], first: usize, last: usize) -> bool {
        let Some(place) = Place::of(place) else { return false };
        let inside = counts(&stmts[first + 1..last]);
        // The two copies mention it once each.
        let all_inside = inside.vars.get(&var).copied().unwrap_or(0) + 2
            == self.totals.vars.get(&var).copied().unwrap_or(0);
        let is_used = |places: &[Place]| places.iter().any(|used| used.overlaps(&place));
        all_inside
            && !is_used(&inside.places)
            && self.used.iter().enumerate().all(|(at, used)| {
                let id = TableId::from(at);
                let [here, all] = [&inside, &self.totals].map(|of| of.applies.get(&id).copied().unwrap_or(0));
                let mentions = used.iter().any(|used| used.var == var);
                (!mentions || here == all) && (here == 0 || !is_used(used))
            })
    }

    /// The place instead of the variable, in statements and in the tables that use it.
    fn replace(&mut self, var: VarId, place: &Expr, stmts: &mut [Stmt]) {
        let mut change = |expr: &mut Expr| {
            walk::subexprs_up(expr, &mut |e| {
                if matches!(e.kind, ExprKind::Var(known) if known == var) {
                    e.kind = place.kind.clone();
                }
            });
        };
        walk::all_stmts_mut(stmts, &mut |stmt| walk::own_exprs_mut(stmt, &mut change));
        let users: Vec<usize> =
            (0..self.tables.len()).filter(|at| self.used[*at].iter().any(|used| used.var == var)).collect();
        let mut actions = BTreeSet::new();
        for at in &users {
            self.tables[*at].keys.iter_mut().for_each(|key| change(&mut key.expr));
            actions.extend(self.tables[*at].actions.iter().map(|run| run.action.index()));
        }
        for at in actions {
            let body = &mut self.actions[at].body.stmts;
            walk::all_stmts_mut(body, &mut |stmt| walk::own_exprs_mut(stmt, &mut change));
        }
        for at in users {
            self.used[at] = self.mentions(at);
        }
        self.totals.vars.remove(&var);
        self.changed = true;
    }

    /// Removes stores that stores right after them overwrite.
    fn overwritten(&mut self, stmts: &mut [Stmt]) {
        let mut later: Vec<Place> = vec![];
        for stmt in stmts.iter_mut().rev() {
            let Some((to, value)) = copy(stmt) else {
                later.clear();
                continue;
            };
            let place = Place::of(to).filter(|_| is_fixed(to));
            if place.as_ref().is_some_and(|place| later.contains(place)) {
                uncount(to, &mut self.totals);
                uncount(value, &mut self.totals);
                stmt.kind = StmtKind::Block(Block::default());
                self.changed = true;
                continue;
            }
            later.extend(place);
            read_by(value, &mut |read| later.retain(|place| !place.overlaps(&read)));
        }
    }
}

fn uncount(expr: &Expr, totals: &mut Counts) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::Var(var) = e.kind
            && let Some(count) = totals.vars.get_mut(&var)
        {
            *count -= 1;
        }
    });
}

/// The place and the value of an assignment that calls nothing.
fn copy(stmt: &Stmt) -> Option<(&Expr, &Expr)> {
    let StmtKind::Assign(to, value) = &stmt.kind else { return None };
    let mut is_plain = true;
    visit::subexprs(value, &mut |e| {
        is_plain &= !matches!(e.kind, ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_));
    });
    is_plain.then_some((to, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    /// Action and body after the pass, where `t` runs the action.
    fn joined(action: &str, body: &str) -> String {
        let beside = format!(
            "locals {{ var a; }} action n() \"n\" {{ {action} }} table t \"t\" {{ key {{ a: exact \"a\"; }} actions {{ n(); }} default n(); }}"
        );
        let text = after(&control("local bit<8> a;", &beside, body), join_copies);
        text[text.find("action n").unwrap_or(0)..].to_string()
    }

    #[test]
    fn a_copy_and_a_copy_back() {
        expect![[r#"
            action n() "n" {
                hdr.h.a = hdr.h.a + 8w0x1;
              }
              table t "t" {
                key {
                  hdr.h.a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                { }
                apply t;
                x = hdr.h.a;
                { }
              }
            }
        "#]]
        .assert_eq(&joined("a = a + 8w1;", "a = hdr.h.a; apply t; x = a; hdr.h.a = a;"));
    }

    #[test]
    fn a_place_that_is_used_between_stays() {
        expect![[r#"
            action n() "n" {
                a = hdr.h.a;
              }
              table t "t" {
                key {
                  a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                a = hdr.h.a;
                apply t;
                hdr.h.a = a;
              }
            }
        "#]]
        .assert_eq(&joined("a = hdr.h.a;", "a = hdr.h.a; apply t; hdr.h.a = a;"));
    }

    #[test]
    fn a_variable_that_is_used_elsewhere_stays() {
        expect![[r#"
            action n() "n" {
                a = 8w0x1;
              }
              table t "t" {
                key {
                  a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                apply t;
                a = hdr.h.a;
                apply t;
                hdr.h.a = a;
              }
            }
        "#]]
        .assert_eq(&joined("a = 8w1;", "apply t; a = hdr.h.a; apply t; hdr.h.a = a;"));
    }

    #[test]
    fn a_store_that_is_overwritten() {
        expect![[r#"
            action n() "n" {
                x = 8w0x1;
              }
              table t "t" {
                key {
                  a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                hdr.h.a = x;
                x = hdr.h.a;
                { }
                hdr.h.b = 8w0x2;
                hdr.h.a = 8w0x3;
                apply t;
              }
            }
        "#]]
        .assert_eq(&joined(
            "x = 8w1;",
            "hdr.h.a = x; x = hdr.h.a; hdr.h.b = x; hdr.h.b = 8w2; hdr.h.a = 8w3; apply t;",
        ));
    }
}
