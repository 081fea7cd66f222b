//! Needs of a packet on its path through a region: on every path, and on the most expensive one.
//!
//! ```text
//! if (c) { a.apply(); } else { b.apply(); }  t.apply();
//!
//! always  t
//! most    2 tables, 96 key bits, 140 bits of entries        (a or b, and t)
//! ```
//!
//! One pass over the statements: branches are joined, no path is enumerated.

use crate::footprint;
use ir::{
    Block, Call, Callee, Control, ControlId, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, TableId,
    visit,
};
use serde::Serialize;
use std::collections::BTreeSet;

/// The resources on the paths through a region.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Paths {
    /// Tables and state objects that every path uses, by control-plane name.
    pub always: BTreeSet<String>,
    /// The most of each that one path uses.
    pub most: Load,
}

/// Needs of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Load {
    /// Tables applied.
    pub tables: u64,
    /// Bits that they are looked up by.
    pub key_bits: u64,
    /// Bits of one entry of each.
    pub entry_bits: u64,
    /// Calls of state objects, those of actions included; a loop's body counts once.
    pub accesses: u64,
}

impl Load {
    fn and(self, other: Load) -> Load {
        Load {
            tables: self.tables + other.tables,
            key_bits: self.key_bits + other.key_bits,
            entry_bits: self.entry_bits + other.entry_bits,
            accesses: self.accesses + other.accesses,
        }
    }

    fn or(self, other: Load) -> Load {
        Load {
            tables: self.tables.max(other.tables),
            key_bits: self.key_bits.max(other.key_bits),
            entry_bits: self.entry_bits.max(other.entry_bits),
            accesses: self.accesses.max(other.accesses),
        }
    }
}

impl Paths {
    fn then(mut self, next: Paths) -> Paths {
        self.always.extend(next.always);
        Paths { always: self.always, most: self.most.and(next.most) }
    }

    fn or(self, other: Paths) -> Paths {
        let always = self.always.intersection(&other.always).cloned().collect();
        Paths { always, most: self.most.or(other.most) }
    }
}

/// The paths through the region of that name; none if the program has no such region.
pub fn of_region(program: &Program, name: &str) -> Option<Paths> {
    (0..program.controls.len()).map(ControlId::from).find_map(|id| {
        let mut found = None;
        let control = program.control(id);
        visit::stmts(&control.body, &mut |stmt| {
            if let StmtKind::Block(block) = &stmt.kind
                && block.region().is_some_and(|region| region == name)
                && found.is_none()
            {
                found = Some(Walk { program, control }.block(block));
            }
        });
        found
    })
}

struct Walk<'a> {
    program: &'a Program,
    control: &'a Control,
}

impl Walk<'_> {
    fn block(&self, block: &Block) -> Paths {
        block.stmts.iter().fold(Paths::default(), |sum, stmt| sum.then(self.stmt(stmt)))
    }

    fn stmt(&self, stmt: &Stmt) -> Paths {
        match &stmt.kind {
            StmtKind::Apply(table) => self.table(*table),
            StmtKind::Call(call) => self.call(call),
            StmtKind::If(cond, yes, no) => self.expr(cond).then(self.block(yes).or(self.block(no))),
            StmtKind::Switch(on, cases) => {
                let head = match on {
                    SwitchOn::ActionRun(table) => self.table(*table),
                    SwitchOn::Value(value) => self.expr(value),
                };
                let missed = (!cases.iter().any(ir::SwitchCase::is_default)).then(Paths::default);
                let arms = cases.iter().map(|case| self.block(&case.body)).chain(missed);
                head.then(arms.reduce(Paths::or).unwrap_or_default())
            }
            StmtKind::Block(block) => self.block(block),
            // A loop may not run at all.
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => {
                Paths { always: BTreeSet::new(), ..self.block(body) }
            }
            _ => {
                let mut sum = Paths::default();
                visit::exprs(stmt, &mut |e| sum = std::mem::take(&mut sum).then(self.expr(e)));
                sum
            }
        }
    }

    /// Needs of an expression's operands. The second operand of `&&`, `||` and a choice counts as if it were always
    /// evaluated.
    fn expr(&self, e: &Expr) -> Paths {
        let mut sum = Paths::default();
        visit::subexprs(e, &mut |e| {
            let here = match &e.kind {
                ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table(*table),
                ExprKind::Call(call) => self.call(call),
                _ => return,
            };
            sum = std::mem::take(&mut sum).then(here);
        });
        sum
    }

    fn call(&self, call: &Call) -> Paths {
        match &call.callee {
            Callee::Method(instance, _) => self.object(*instance),
            Callee::Action(action) => self.block(&self.control.actions[action.index()].body),
            Callee::Control(id) => {
                let control = self.program.control(*id);
                Walk { program: self.program, control }.block(&control.body)
            }
            _ => Paths::default(),
        }
    }

    fn object(&self, instance: ir::InstanceId) -> Paths {
        let name = self.program.instance(instance).control_plane_name.to_string();
        Paths { always: [name].into(), most: Load { accesses: 1, ..Load::default() } }
    }

    /// The table and one of its actions.
    fn table(&self, id: TableId) -> Paths {
        let table = &self.control.tables[id.index()];
        let name = table.control_plane_name.to_string();
        let needs = footprint::table(self.program, &name);
        let (key_bits, entry_bits) = needs.map_or((0, 0), |n| (n.key_bits, n.entry_bits));
        let own =
            Paths { always: [name].into(), most: Load { tables: 1, key_bits, entry_bits, accesses: 0 } };
        let actions =
            table.actions.iter().map(|run| self.block(&self.control.actions[run.action.index()].body));
        own.then(actions.reduce(Paths::or).unwrap_or_default())
    }
}
