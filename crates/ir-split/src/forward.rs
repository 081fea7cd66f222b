//! Forward dataflow: [`Facts`] through statements.

use crate::arch::{self, Effect};
use crate::facts::{Facts, meet_all};
use crate::flow::Flow;
use crate::place::{Covered, HeaderIndex, Leaf, RoleKey, Root};
use crate::section::{Code, SectionId};
use ir::{
    ActionId, BinaryOp, Block, Call, Callee, Const, ControlId, Direction, Expr, ExprKind, Stmt, StmtKind,
    SwitchOn, TableId, UnaryOp, VarKind, visit,
};
use p4_arch::Meaning;
use std::collections::BTreeMap;

impl Flow {
    /// The facts after `code`, and those at each `Goto`; `None` if control never comes out at the end.
    pub fn code_forward(
        &self,
        control: ControlId,
        code: &[Code],
        mut facts: Facts,
        at_goto: &mut BTreeMap<SectionId, Facts>,
    ) -> Option<Facts> {
        for piece in code {
            facts = match piece {
                Code::Stmt(stmt) => self.stmt_forward(control, stmt, facts),
                Code::If(cond, yes, no) => {
                    let facts = self.expr_forward(control, cond, facts);
                    let taken = self.assume(control, cond, true, facts.clone());
                    let not_taken = self.assume(control, cond, false, facts);
                    let yes = self.code_forward(control, yes, taken, at_goto);
                    let no = self.code_forward(control, no, not_taken, at_goto);
                    meet_all(yes.into_iter().chain(no))?
                }
                Code::Switch(on, cases) => {
                    let facts = self.switch_forward(control, on, facts);
                    let ends = cases
                        .iter()
                        .filter_map(|c| self.code_forward(control, &c.code, facts.clone(), at_goto));
                    let ends: Vec<_> = ends.collect();
                    meet_all(ends)?
                }
                Code::Region(_, inner) => self.code_forward(control, inner, facts, at_goto)?,
                Code::Goto(target) => {
                    match at_goto.get_mut(target) {
                        Some(there) => there.meet(&facts),
                        None => {
                            at_goto.insert(*target, facts);
                        }
                    }
                    return None;
                }
            };
        }
        Some(facts)
    }

    /// The facts after `block`.
    pub fn block_forward(&self, control: ControlId, block: &Block, facts: Facts) -> Facts {
        block.stmts.iter().fold(facts, |facts, stmt| self.stmt_forward(control, stmt, facts))
    }

    /// The facts after `stmt`.
    pub fn stmt_forward(&self, control: ControlId, stmt: &Stmt, mut facts: Facts) -> Facts {
        // The expressions of a loop run with the facts of its fixed point: see `loop_forward`.
        if !matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. }) {
            visit::exprs(stmt, &mut |e| facts = self.expr_forward(control, e, facts.clone()));
        }
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                for leaf in self.leaves_of_var(control, *var) {
                    match init {
                        Some(_) => facts.write(leaf),
                        None => facts.zero(leaf),
                    }
                }
            }
            StmtKind::Assign(place, value) => self.assign_forward(control, place, value, &mut facts),
            StmtKind::AssignOp(_, place, _) => self.write_forward(control, place, &mut facts),
            StmtKind::SetValid(place, valid) => match self.places.header_of(control, place) {
                Some(header) if *valid => self.make_valid(header, &mut facts),
                Some(header) => facts.make_invalid(header),
                None => self.write_forward(control, place, &mut facts),
            },
            StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => {
                self.write_forward(control, place, &mut facts);
            }
            StmtKind::Extract { header, .. } => self.write_forward(control, header, &mut facts),
            StmtKind::Call(call) => facts = self.call_forward(control, call, facts),
            StmtKind::Apply(table) => facts = self.table_forward(control, *table, facts),
            StmtKind::If(cond, yes, no) => {
                let taken = self.assume(control, cond, true, facts.clone());
                let not_taken = self.assume(control, cond, false, facts);
                facts = self.block_forward(control, yes, taken);
                facts.meet(&self.block_forward(control, no, not_taken));
            }
            StmtKind::Switch(on, cases) => {
                let before = self.switch_forward(control, on, facts);
                let mut ends: Vec<_> =
                    cases.iter().map(|c| self.block_forward(control, &c.body, before.clone())).collect();
                // Without a default case a value may pass all of them by.
                if !cases.iter().any(ir::SwitchCase::is_default) {
                    ends.push(before.clone());
                }
                facts = meet_all(ends).unwrap_or(before);
            }
            StmtKind::Block(block) => facts = self.block_forward(control, block, facts),
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => {
                facts = self.loop_forward(control, stmt, body, facts);
            }
            StmtKind::Advance(..)
            | StmtKind::Emit(..)
            | StmtKind::Verify(..)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Exit
            | StmtKind::Return(_) => {}
        }
        facts
    }

    /// A loop may run any number of times: places that its body writes count as written, and facts about places that it
    /// touches are forgotten.
    fn loop_forward(&self, control: ControlId, stmt: &Stmt, body: &Block, mut facts: Facts) -> Facts {
        if let StmtKind::For { init, update, .. } = &stmt.kind {
            for inner in init.iter().chain(update) {
                facts = self.stmt_forward(control, inner, facts);
            }
        }
        if let StmtKind::ForIn { var, .. } = &stmt.kind {
            self.leaves_of_var(control, *var).into_iter().for_each(|leaf| facts.write(leaf));
        }
        loop {
            let mut after = facts.clone();
            after.meet(&self.block_forward(control, body, facts.clone()));
            if after == facts {
                return facts;
            }
            facts = after;
        }
    }

    fn switch_forward(&self, control: ControlId, on: &SwitchOn, facts: Facts) -> Facts {
        match on {
            SwitchOn::ActionRun(table) => self.table_forward(control, *table, facts),
            SwitchOn::Value(_) => facts,
        }
    }

    /// The facts after the application of a table: any of its actions may have run.
    pub fn table_forward(&self, control: ControlId, table: TableId, facts: Facts) -> Facts {
        let here = self.program.control(control);
        let keys = here.tables[table.index()].keys.iter();
        let facts = keys.fold(facts, |facts, key| self.expr_forward(control, &key.expr, facts));
        let mut ends = vec![];
        for run in &here.tables[table.index()].actions {
            let args = run.args.iter();
            let begin = args.fold(facts.clone(), |facts, arg| self.expr_forward(control, arg, facts));
            let mut end = self.action_forward(control, run.action, begin);
            let params = &here.actions[run.action.index()].params;
            for (arg, param) in run.args.iter().zip(params) {
                if let VarKind::Param(Direction::Out | Direction::InOut) = here.vars[param.index()].kind {
                    self.write_forward(control, arg, &mut end);
                }
            }
            ends.push(end);
        }
        meet_all(ends).unwrap_or(facts)
    }

    fn action_forward(&self, control: ControlId, action: ActionId, mut facts: Facts) -> Facts {
        let action = &self.program.control(control).actions[action.index()];
        for &param in &action.params {
            self.leaves_of_var(control, param).into_iter().for_each(|leaf| facts.write(leaf));
        }
        self.block_forward(control, &action.body, facts)
    }

    /// The facts after the evaluation of `expr`: it may apply tables and call functions.
    pub fn expr_forward(&self, control: ControlId, expr: &Expr, mut facts: Facts) -> Facts {
        visit::subexprs(expr, &mut |e| match &e.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                facts = self.table_forward(control, *table, facts.clone());
            }
            ExprKind::Call(call) => facts = self.call_forward(control, call, facts.clone()),
            _ => {}
        });
        facts
    }

    fn call_forward(&self, control: ControlId, call: &Call, mut facts: Facts) -> Facts {
        match &call.callee {
            Callee::Action(action) => facts = self.action_forward(control, *action, facts),
            Callee::Method(instance, _) if self.is_frame_extern(*instance) => {
                facts.reparse(self.places.headers.len());
                // Ingress still shows the length of the packet that made the call, which no later device knows.
                self.standard(&[Meaning::Length]).into_iter().for_each(|leaf| facts.write(leaf));
                self.parser_writes.iter().for_each(|leaf| facts.write(leaf));
                let all = (0..self.places.leaves.len() as u32).map(Leaf);
                all.filter(|leaf| self.places.packet_header(*leaf).is_some())
                    .for_each(|leaf| facts.zero(leaf));
            }
            Callee::ExternFunction(f)
                if arch::function_effect(&self.program.extern_functions[f.index()]) == Effect::Drop =>
            {
                self.standard(&[Meaning::ToPort]).into_iter().for_each(|leaf| facts.write(leaf));
                return facts;
            }
            _ => {}
        }
        for (arg, direction) in call.args.iter().zip(self.directions(control, call)) {
            if let (Some(arg), Direction::Out | Direction::InOut) = (arg, direction) {
                self.write_forward(control, arg, &mut facts);
            }
        }
        facts
    }

    fn assign_forward(&self, control: ControlId, place: &Expr, value: &Expr, facts: &mut Facts) {
        let source_valid = match &value.kind {
            ExprKind::Aggregate(_) => true,
            _ => self.places.header_of(control, value).is_some_and(|h| facts.is_valid(h)),
        };
        self.write_forward(control, place, facts);
        if is_zero(value)
            && let Covered::Whole(leaves) = self.places.covered(control, place)
        {
            // The traffic manager may change standard metadata.
            let plain = |leaf: &Leaf| {
                let info = self.places.info(*leaf);
                info.header.is_none() && info.root != Root::Shared(RoleKey::Standard)
            };
            leaves.into_iter().filter(plain).for_each(|leaf| facts.zero(leaf));
        }
        if let (true, Some(header)) = (source_valid, self.places.header_of(control, place)) {
            self.make_valid(header, facts);
        }
    }

    /// A header becomes valid: the other members of its union do not stay so.
    fn make_valid(&self, header: HeaderIndex, facts: &mut Facts) {
        let info = self.places.header(header);
        info.validity.into_iter().for_each(|leaf| facts.write(leaf));
        info.rivals.iter().for_each(|&rival| facts.make_invalid(rival));
        facts.make_valid(header);
    }

    /// A write to a place: its leaves are written; headers inside of it may have become valid or not.
    fn write_forward(&self, control: ControlId, place: &Expr, facts: &mut Facts) {
        let (Covered::Whole(leaves) | Covered::Part(leaves)) = self.places.covered(control, place) else {
            return;
        };
        for &leaf in &leaves {
            facts.write(leaf);
            if let Some(header) = self.places.info(leaf).header {
                facts.write_into(header);
            }
        }
        for index in self.headers_written_whole(place, &leaves) {
            facts.forget(index);
            self.places.header(index).rivals.iter().for_each(|&rival| facts.forget(rival));
        }
    }

    /// Facts if `cond` is `truth`.
    pub fn assume(&self, control: ControlId, cond: &Expr, truth: bool, mut facts: Facts) -> Facts {
        match &cond.kind {
            ExprKind::IsValid(header) => {
                if let (true, Some(header)) = (truth, self.places.header_of(control, header)) {
                    facts.assume_valid(header);
                }
                facts
            }
            ExprKind::Unary(UnaryOp::Not, inner) => self.assume(control, inner, !truth, facts),
            ExprKind::Binary(op, a, b)
                if (*op == BinaryOp::Eq && truth) || (*op == BinaryOp::Ne && !truth) =>
            {
                // The only value of interest is zero: a cut under `headerless-ipv4` needs a fragment offset that is surely zero.
                for (field, value) in [(a, b), (b, a)] {
                    if let (true, Covered::Whole(leaves)) =
                        (is_zero(value), self.places.covered(control, field))
                        && let [leaf] = leaves[..]
                        && self.places.packet_header(leaf).is_some()
                    {
                        facts.assume_zero(leaf);
                    }
                }
                facts
            }
            ExprKind::Binary(op, a, b)
                if (*op == BinaryOp::And && truth) || (*op == BinaryOp::Or && !truth) =>
            {
                let facts = self.assume(control, a, truth, facts);
                self.assume(control, b, truth, facts)
            }
            _ => facts,
        }
    }
}

/// True for the initial value of variables and metadata.
fn is_zero(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.is_zero(),
        ExprKind::Const(Const::Bool(value)) => !value,
        _ => false,
    }
}
