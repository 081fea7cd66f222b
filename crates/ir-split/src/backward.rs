//! Backward dataflow: which leaves are live.

use crate::arch::{self, Effect};
use crate::expressions::constant;
use crate::facts::Facts;
use crate::flow::Flow;
use crate::leaf_set::Live;
use crate::place::{Covered, Leaf, RoleKey};
use crate::section::{Code, SectionId};
use ir::{
    ActionId, BinaryOp, Block, Call, Callee, ControlId, Direction, Expr, ExprKind, Keyset, Stmt, StmtKind,
    SwitchOn, TableId, Type, visit,
};
use p4_arch::Meaning;
use std::collections::BTreeMap;

impl Flow {
    /// Values live before `code`, given those at the start of each section.
    pub fn code_backward(
        &self,
        control: ControlId,
        code: &[Code],
        facts: Facts,
        at_section: &BTreeMap<SectionId, Live>,
    ) -> Live {
        let mut before = vec![];
        let mut now = Some(facts);
        // The effect of a statement on live values depends on the facts before it.
        for piece in code {
            // The rest is not reached.
            let Some(facts) = now else { break };
            before.push(facts.clone());
            now = self.code_forward(control, std::slice::from_ref(piece), facts, &mut BTreeMap::new());
        }
        let mut live = Live::default();
        for (piece, facts) in code.iter().zip(before).rev() {
            live = match piece {
                Code::Stmt(stmt) => self.stmt_backward(control, stmt, &facts, live),
                Code::If(cond, yes, no) => {
                    let after = self.expr_forward(control, cond, facts.clone());
                    let taken = self.assume(control, cond, true, after.clone());
                    let not_taken = self.assume(control, cond, false, after);
                    let mut arms = self.code_backward(control, yes, taken, at_section);
                    arms.union(&self.code_backward(control, no, not_taken, at_section));
                    self.read(control, cond, &facts, arms)
                }
                Code::Switch(on, cases) => {
                    let mut arms = Live::default();
                    for case in cases {
                        arms.union(&self.code_backward(control, &case.code, facts.clone(), at_section));
                    }
                    self.switch_backward(control, on, &facts, arms)
                }
                Code::Region(_, inner) => self.code_backward(control, inner, facts, at_section),
                Code::Goto(target) => at_section.get(target).cloned().unwrap_or_default(),
            };
        }
        live
    }

    /// Values live before `block`.
    pub fn block_backward(&self, control: ControlId, block: &Block, facts: &Facts, after: Live) -> Live {
        let mut before = vec![];
        let mut now = facts.clone();
        for stmt in &block.stmts {
            before.push(now.clone());
            now = self.stmt_forward(control, stmt, now);
        }
        let pairs = block.stmts.iter().zip(before).rev();
        pairs.fold(after, |live, (stmt, facts)| self.stmt_backward(control, stmt, &facts, live))
    }

    fn stmt_backward(&self, control: ControlId, stmt: &Stmt, facts: &Facts, mut live: Live) -> Live {
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                self.leaves_of_var(control, *var).into_iter().for_each(|leaf| live.kill(leaf));
                init.iter().fold(live, |live, e| self.read(control, e, facts, live))
            }
            StmtKind::Assign(place, value) => {
                let live = self.write(control, place, facts, live);
                self.read(control, value, facts, live)
            }
            StmtKind::AssignOp(_, place, value) => {
                let live = self.read(control, place, facts, live);
                self.read(control, value, facts, live)
            }
            StmtKind::Call(call) => self.call_backward(control, call, facts, live),
            StmtKind::Apply(table) => self.table_backward(control, *table, facts, live),
            // A header that becomes valid has zero in its fields, on either side of a cut; one that is valid keeps them.
            StmtKind::SetValid(place, valid) => {
                if self.places.header_of(control, place).is_some() {
                    for leaf in self.validities(control, place) {
                        live.kill(leaf);
                        if *valid {
                            live.live.insert(leaf);
                        }
                    }
                }
                self.indices(control, place, facts, live)
            }
            StmtKind::If(cond, yes, no) => {
                let after = self.expr_forward(control, cond, facts.clone());
                let taken = self.assume(control, cond, true, after.clone());
                let not_taken = self.assume(control, cond, false, after);
                let mut arms = self.block_backward(control, yes, &taken, live.clone());
                arms.union(&self.block_backward(control, no, &not_taken, live));
                self.read(control, cond, facts, arms)
            }
            StmtKind::Switch(on, cases) => {
                let mut arms = live.clone();
                for case in cases {
                    arms.union(&self.block_backward(control, &case.body, facts, live.clone()));
                }
                self.switch_backward(control, on, facts, arms)
            }
            StmtKind::Block(block) => self.block_backward(control, block, facts, live),
            StmtKind::For { .. } | StmtKind::ForIn { .. } => self.loop_backward(control, stmt, facts, live),
            StmtKind::Extract { header, varbit_bits, .. } => {
                let live = self.write(control, header, facts, live);
                varbit_bits.iter().fold(live, |live, e| self.read(control, e, facts, live))
            }
            // Only valid headers are emitted, so fields of invalid ones do not matter.
            StmtKind::Emit(_, value) => {
                if let Covered::Whole(leaves) | Covered::Part(leaves) = self.places.covered(control, value) {
                    leaves.into_iter().for_each(|leaf| {
                        live.live.insert(leaf);
                    });
                }
                live
            }
            StmtKind::PushFront(e, _)
            | StmtKind::PopFront(e, _)
            | StmtKind::Advance(_, e)
            | StmtKind::Return(Some(e)) => self.read(control, e, facts, live),
            StmtKind::Verify(a, b) => {
                let live = self.read(control, a, facts, live);
                self.read(control, b, facts, live)
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Exit | StmtKind::Return(None) => live,
        }
    }

    /// A loop: everything that is read in it is live before it; its body kills nothing.
    fn loop_backward(&self, control: ControlId, stmt: &Stmt, facts: &Facts, mut live: Live) -> Live {
        visit::exprs(stmt, &mut |e| live = self.read(control, e, facts, live.clone()));
        let facts = self.stmt_forward(control, stmt, facts.clone());
        let (StmtKind::For { body, .. } | StmtKind::ForIn { body, .. }) = &stmt.kind else { return live };
        loop {
            let before = live.clone();
            live.union(&self.block_backward(control, body, &facts, before.clone()));
            if live == before {
                break;
            }
        }
        // Its own variables are declared in its head.
        match &stmt.kind {
            StmtKind::For { init, .. } => {
                init.iter().rev().fold(live, |live, first| self.stmt_backward(control, first, &facts, live))
            }
            StmtKind::ForIn { var, .. } => {
                self.leaves_of_var(control, *var).into_iter().for_each(|leaf| live.kill(leaf));
                live
            }
            _ => live,
        }
    }

    fn switch_backward(&self, control: ControlId, on: &SwitchOn, facts: &Facts, live: Live) -> Live {
        match on {
            SwitchOn::ActionRun(table) => self.table_backward(control, *table, facts, live),
            SwitchOn::Value(value) => self.read(control, value, facts, live),
        }
    }

    fn table_backward(&self, control: ControlId, table: TableId, facts: &Facts, after: Live) -> Live {
        let table = &self.program.control(control).tables[table.index()];
        let mut live = Live::default();
        for run in &table.actions {
            let mut before = self.action_backward(control, run.action, facts, after.clone());
            for arg in &run.args {
                before = self.read(control, arg, facts, before);
            }
            live.union(&before);
        }
        for entry in &table.entries {
            for key in &entry.keys {
                if let Keyset::Value(e) = key {
                    live = self.read(control, e, facts, live);
                }
            }
        }
        for object in table.counters.into_iter().chain(table.meters) {
            self.count(object, &mut live.live);
        }
        table.keys.iter().fold(live, |live, key| self.read(control, &key.expr, facts, live))
    }

    fn action_backward(&self, control: ControlId, action: ActionId, facts: &Facts, after: Live) -> Live {
        let action = &self.program.control(control).actions[action.index()];
        let mut live = self.block_backward(control, &action.body, facts, after);
        for &param in &action.params {
            self.leaves_of_var(control, param).into_iter().for_each(|leaf| live.kill(leaf));
        }
        live
    }

    fn call_backward(&self, control: ControlId, call: &Call, facts: &Facts, mut live: Live) -> Live {
        let directions = self.directions(control, call);
        match &call.callee {
            Callee::ExternFunction(f) => {
                match arch::function_effect(&self.program.extern_functions[f.index()]) {
                    Effect::Drop => {
                        self.standard(&[Meaning::ToPort]).into_iter().for_each(|leaf| live.kill(leaf));
                        return live;
                    }
                    Effect::Conditional => return self.conditional_backward(control, call, facts, live),
                    Effect::Order => self.order_backward(call, &mut live),
                    _ => {}
                }
            }
            Callee::Method(instance, _) if self.is_frame_extern(*instance) => {
                live = self.frame_extern_backward(facts, live);
            }
            Callee::Method(instance, _) => self.count(*instance, &mut live.live),
            _ => {}
        }
        let gives = arch::surely_gives(&self.program, call);
        for (arg, direction) in call.args.iter().zip(&directions) {
            if let (Some(arg), Direction::Out) = (arg, direction) {
                live = match gives {
                    true => self.write(control, arg, facts, live),
                    false => self.indices(control, arg, facts, live),
                };
            }
        }
        // Results are copied back after the body: the variables that they overwrite are dead only there.
        if let Callee::Action(action) = &call.callee {
            live = self.action_backward(control, *action, facts, live);
        }
        for (arg, direction) in call.args.iter().zip(&directions) {
            if let (Some(arg), Direction::In | Direction::InOut | Direction::None) = (arg, direction) {
                live = self.read(control, arg, facts, live);
                if matches!(call.callee, Callee::ExternFunction(_)) {
                    self.read_validity(control, arg, &mut live);
                }
            }
        }
        live
    }

    /// A hash leaves out fields of invalid headers, so it reads their validity.
    fn read_validity(&self, control: ControlId, data: &Expr, live: &mut Live) {
        visit::subexprs(data, &mut |e| {
            if let ExprKind::Field(header, _) = &e.kind
                && self.program.is_header(&header.ty)
            {
                self.validities(control, header).into_iter().for_each(|leaf| {
                    live.live.insert(leaf);
                });
            }
        });
    }

    /// A field list is read, and the headers that a clone of egress takes along.
    fn order_backward(&self, call: &Call, live: &mut Live) {
        if let Some(Some(list)) = call.args.last()
            && list.ty == Type::Bit(8)
        {
            self.kept(constant(list)).into_iter().for_each(|leaf| {
                live.live.insert(leaf);
            });
        }
        if call.args.len() > 1 {
            live.live.union(&self.cloned_hidden());
            live.hidden.union(&self.cloned_hidden());
        }
    }

    /// `update_checksum(condition, data, checksum, ..)`: the rest matters only where the condition holds.
    fn conditional_backward(&self, control: ControlId, call: &Call, facts: &Facts, live: Live) -> Live {
        let mut args = call.args.iter().flatten();
        let Some(condition) = args.next() else { return live };
        let taken = self.assume(control, condition, true, facts.clone());
        let live = args.fold(live, |live, arg| self.read(control, arg, &taken, live));
        self.read(control, condition, facts, live)
    }

    /// The packet is deparsed and parsed again: its headers come from its bytes, metadata stays.
    fn frame_extern_backward(&self, facts: &Facts, mut live: Live) -> Live {
        for leaf in self.places.all_of(RoleKey::Headers) {
            live.kill(leaf);
        }
        live.union(&self.deparser_reads(facts));
        live.live.union(&self.parser_reads);
        live
    }

    /// A write to a place.
    fn write(&self, control: ControlId, place: &Expr, facts: &Facts, mut live: Live) -> Live {
        match self.places.covered(control, place) {
            Covered::Whole(leaves) => leaves.into_iter().for_each(|leaf| live.kill(leaf)),
            Covered::Part(_) | Covered::Nothing => {}
        }
        self.indices(control, place, facts, live)
    }

    /// The indices in a place are read, also where the place is written.
    fn indices(&self, control: ControlId, place: &Expr, facts: &Facts, live: Live) -> Live {
        match &place.kind {
            ExprKind::Field(base, _)
            | ExprKind::Slice { base, .. }
            | ExprKind::Next(base)
            | ExprKind::Last(base) => self.indices(control, base, facts, live),
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                let live = self.read(control, index, facts, live);
                self.indices(control, base, facts, live)
            }
            _ => live,
        }
    }

    /// A read of an expression, with the effects of its calls.
    fn read(&self, control: ControlId, expr: &Expr, facts: &Facts, mut live: Live) -> Live {
        match &expr.kind {
            ExprKind::Const(_)
            | ExprKind::InvalidHeader
            | ExprKind::Lookahead(_)
            | ExprKind::PacketLength(_) => live,
            ExprKind::IsValid(header) => {
                self.validities(control, header).into_iter().for_each(|leaf| {
                    live.live.insert(leaf);
                });
                self.indices(control, header, facts, live)
            }
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                match self.places.covered(control, expr) {
                    Covered::Whole(leaves) | Covered::Part(leaves) => {
                        for leaf in leaves {
                            self.read_leaf(leaf, facts, &mut live);
                        }
                        self.indices(control, expr, facts, live)
                    }
                    Covered::Nothing => match &expr.kind {
                        ExprKind::Field(base, _) => self.read(control, base, facts, live),
                        ExprKind::Index(base, index) => {
                            let live = self.read(control, base, facts, live);
                            self.read(control, index, facts, live)
                        }
                        _ => live,
                    },
                }
            }
            ExprKind::SlicePlus { base, start: index, .. } => {
                let live = self.read(control, base, facts, live);
                self.read(control, index, facts, live)
            }
            ExprKind::Next(base)
            | ExprKind::Last(base)
            | ExprKind::LastIndex(base)
            | ExprKind::Slice { base, .. }
            | ExprKind::Unary(_, base)
            | ExprKind::Cast(base) => self.read(control, base, facts, live),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let then = self.expr_forward(control, a, facts.clone());
                // The right side is read only where the left one does not decide.
                let then = self.assume(control, a, *op == BinaryOp::And, then);
                let mut through = self.read(control, b, &then, live.clone());
                through.union(&live);
                self.read(control, a, facts, through)
            }
            ExprKind::Binary(_, a, b) => {
                let live = self.read(control, b, facts, live);
                self.read(control, a, facts, live)
            }
            ExprKind::Ternary(cond, yes, no) => {
                let after = self.expr_forward(control, cond, facts.clone());
                let taken = self.assume(control, cond, true, after.clone());
                let not_taken = self.assume(control, cond, false, after);
                let mut arms = self.read(control, yes, &taken, live.clone());
                arms.union(&self.read(control, no, &not_taken, live));
                self.read(control, cond, facts, arms)
            }
            ExprKind::Aggregate(parts) => {
                parts.iter().rev().fold(live, |live, part| self.read(control, part, facts, live))
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                self.table_backward(control, *table, facts, live)
            }
            ExprKind::Call(call) => self.call_backward(control, call, facts, live),
        }
    }

    fn read_leaf(&self, leaf: Leaf, facts: &Facts, live: &mut Live) {
        live.live.insert(leaf);
        if self.places.packet_header(leaf).is_some_and(|h| !facts.is_valid(h)) {
            live.hidden.insert(leaf);
        }
    }
}
