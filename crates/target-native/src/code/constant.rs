//! Tables with constant entries: compares instead of a lookup, constants instead of records.
//!
//! ```text
//! one exact key     a search over the values   ──> entry ──> action, with the entry's data as constants
//! runs of numbers   a search over their first numbers: see `runs`
//! else              one test after the other, the best entry first
//! ```

use super::table::Applied;
use super::{Code, Made, PLAIN, type_of};
use crate::context::{Context, TableRef};
use crate::facts::{Constant, TableCode};
use crate::layout::{Kind, Node, kind_of};
use crate::runs::{Run, Runs};
use control_writes::Match;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, JumpTableData, Value, types};
use cranelift_frontend::Switch;
use device::embed::ActionView;
use ir::Expr;
use std::mem::offset_of;

impl<'a> Code<'a, '_> {
    /// Applies a table with constant entries for these keys.
    pub(crate) fn apply_constant(
        &mut self,
        table: &'a ir::Table,
        facts: &'a TableCode,
        constant: &'a Constant,
        keys: &[&'a Expr],
    ) -> Made<Applied> {
        let values = keys.iter().map(|key| self.value(key)).collect::<Made<Vec<_>>>()?;
        // A table with constant entries counts nothing; a later call must not count for the table before.
        self.set_counter(None);
        let actions: Vec<Block> = facts.data.iter().map(|data| self.action_block(data)).collect();
        let miss = self.b.create_block();
        match (&facts.runs, values.as_slice()) {
            (Some(runs), _) => self.search_runs(facts, constant, (runs, &values), &actions, miss),
            (None, [value]) if constant.is_exact() => self.search(facts, constant, *value, &actions, miss),
            _ => self.test_each(facts, constant, keys, &values, &actions, miss),
        }
        self.b.seal_block(miss);
        self.b.switch_to_block(miss);
        let no = self.number(types::I8, 0);
        match &constant.default {
            Some(run) => self.jump_to(facts, run, no, &actions),
            None => self.run_default(facts, no, &actions),
        }
        let (hit, action) = (self.b.declare_var(types::I8), self.b.declare_var(types::I32));
        let join = self.b.create_block();
        let control = self.program.control(self.facts.controls[&self.block]);
        for (at, (listed, block)) in table.actions.iter().zip(&actions).enumerate() {
            self.b.seal_block(*block);
            self.b.switch_to_block(*block);
            let params = self.b.block_params(*block).to_vec();
            let number = self.number(types::I32, at as u64);
            self.b.def_var(hit, params[0]);
            self.b.def_var(action, number);
            let action = &control.actions[listed.action.index()];
            for (param, value) in action.params.iter().zip(&params[1..]) {
                if let Some(Node::Scalar(index)) = self.nodes.get(param.index()) {
                    self.set_scalar(*index, *value);
                }
            }
            self.stmts(&action.body.stmts)?;
            self.b.ins().jump(join, &[]);
        }
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        Ok(Applied { hit: self.b.use_var(hit), action: self.b.use_var(action) })
    }

    /// A block with parameters: whether an entry matched, and the action's data.
    fn action_block(&mut self, data: &[(usize, Kind)]) -> Block {
        let block = self.b.create_block();
        self.b.append_block_param(block, types::I8);
        for (_, kind) in data {
            self.b.append_block_param(block, type_of(*kind));
        }
        block
    }

    fn search(&mut self, facts: &TableCode, constant: &Constant, key: Value, actions: &[Block], miss: Block) {
        let mut switch = Switch::new();
        let blocks: Vec<Block> = constant.entries.iter().map(|_| self.b.create_block()).collect();
        for ((keys, _), block) in constant.entries.iter().zip(&blocks) {
            if let [Match::Exact(value)] = &**keys {
                switch.set_entry(value.low_u128(), *block);
            }
        }
        switch.emit(&mut self.b, key, miss);
        for ((_, run), block) in constant.entries.iter().zip(blocks) {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            let yes = self.number(types::I8, 1);
            self.jump_to(facts, run, yes, actions);
        }
    }

    /// A binary search over the first numbers of the runs.
    fn search_runs<'r>(
        &mut self,
        facts: &TableCode,
        constant: &Constant,
        (runs, values): (&'r Runs, &[Value]),
        actions: &[Block],
        miss: Block,
    ) {
        let width: u32 = runs.keys.iter().map(|(_, width)| width).sum();
        let ty = if width > 32 { types::I64 } else { types::I32 };
        let mut number = None;
        let mut below = width;
        for (at, width) in runs.keys.iter().filter(|(_, width)| *width > 0) {
            below -= width;
            let value = self.resize(values[*at], ty);
            let value = self.shift_up(value, below);
            number = Some(match number {
                Some(before) => self.b.ins().bor(before, value),
                None => value,
            });
        }
        let number = number.unwrap_or_else(|| self.number(ty, 0));
        // The block from which a part of the runs is searched.
        let mut open = vec![(None, runs.runs.as_slice())];
        while let Some((block, part)) = open.pop() {
            if let Some(block) = block {
                self.b.seal_block(block);
                self.b.switch_to_block(block);
            }
            let (low, high) = part.split_at(part.len() / 2);
            let Some(first) = high.first() else { continue };
            let mut target = |code: &mut Self, part: &'r [Run]| match part {
                // An action at once: a block for each entry would take a compiler's time.
                [Run { entry: Some(entry), .. }] => {
                    let yes = code.number(types::I8, 1);
                    code.action_of(facts, &constant.entries[*entry].1, yes, actions)
                }
                [Run { entry: None, .. }] => (miss, vec![]),
                _ => {
                    let block = code.b.create_block();
                    open.push((Some(block), part));
                    (block, vec![])
                }
            };
            if low.is_empty() {
                let (block, args) = target(self, high);
                self.b.ins().jump(block, &args);
                continue;
            }
            let (low, high) = (target(self, low), target(self, high));
            let bound = self.number(ty, first.first);
            let is_low = self.b.ins().icmp(IntCC::UnsignedLessThan, number, bound);
            self.b.ins().brif(is_low, low.0, &low.1, high.0, &high.1);
        }
    }

    fn test_each(
        &mut self,
        facts: &TableCode,
        constant: &Constant,
        keys: &[&'a Expr],
        values: &[Value],
        actions: &[Block],
        miss: Block,
    ) {
        for (wanted, run) in &constant.entries {
            let mut fits: Option<Value> = None;
            for ((wanted, key), value) in wanted.iter().zip(keys).zip(values) {
                if let Some(test) = self.test(wanted, key, *value) {
                    fits = Some(match fits {
                        Some(fits) => self.b.ins().band(fits, test),
                        None => test,
                    });
                }
            }
            let [here, next] = [(); 2].map(|()| self.b.create_block());
            let fits = fits.unwrap_or_else(|| self.number(types::I8, 1));
            self.b.ins().brif(fits, here, &[], next, &[]);
            self.b.seal_block(here);
            self.b.seal_block(next);
            self.b.switch_to_block(here);
            let yes = self.number(types::I8, 1);
            self.jump_to(facts, run, yes, actions);
            self.b.switch_to_block(next);
        }
        self.b.ins().jump(miss, &[]);
    }

    /// Whether a key fits; `None` if anything does.
    fn test(&mut self, wanted: &Match, key: &Expr, value: Value) -> Option<Value> {
        let ty = self.b.func.dfg.value_type(value);
        let width = kind_of(self.program, &key.ty)?.width();
        let masked = |code: &mut Self, want: u128, mask: u128| {
            let mask = code.constant(ty, mask);
            let value = code.b.ins().band(value, mask);
            let want = code.constant(ty, want);
            code.b.ins().icmp(IntCC::Equal, value, want)
        };
        match wanted {
            Match::Any => None,
            Match::Exact(want) => {
                let want = self.constant(ty, want.low_u128());
                Some(self.b.ins().icmp(IntCC::Equal, value, want))
            }
            Match::Ternary { value: want, mask } => {
                (!mask.is_zero()).then(|| masked(self, want.low_u128(), mask.low_u128()))
            }
            Match::Lpm { value: want, prefix_len } => (*prefix_len > 0).then(|| {
                let mask = super::wire::ones(width) & !super::wire::ones(width - prefix_len);
                masked(self, want.low_u128(), mask)
            }),
            Match::Range { lo, hi } => {
                // Of signed numbers the first bit is turned over.
                let turn = if self.places().is_signed(&key.ty) { 1 << (width - 1) } else { 0 };
                let turned = self.constant(ty, turn);
                let value = self.b.ins().bxor(value, turned);
                let [lo, hi] = [lo, hi].map(|bound| self.constant(ty, bound.low_u128() ^ turn));
                let from = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, lo);
                let to = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, value, hi);
                Some(self.b.ins().band(from, to))
            }
        }
    }

    /// Jumps to an action with its data.
    fn jump_to(&mut self, facts: &TableCode, run: &ActionView, hit: Value, actions: &[Block]) {
        let (block, args) = self.action_of(facts, run, hit, actions);
        self.b.ins().jump(block, &args);
    }

    /// The block of an action, with its arguments.
    fn action_of(
        &mut self,
        facts: &TableCode,
        run: &ActionView,
        hit: Value,
        actions: &[Block],
    ) -> (Block, Vec<BlockArg>) {
        let at = run.action as usize;
        let mut args: Vec<BlockArg> = vec![hit.into()];
        for ((_, kind), value) in facts.data[at].iter().zip(&run.data) {
            args.push(self.constant(type_of(*kind), value.low_u128()).into());
        }
        (actions[at], args)
    }

    /// The default action is read from its record.
    fn run_default(&mut self, facts: &TableCode, hit: Value, actions: &[Block]) {
        let tables = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, tables) as i32);
        let at = (facts.index * size_of::<TableRef>() + offset_of!(TableRef, actions)) as i32;
        let record = self.b.ins().load(types::I64, PLAIN, tables, at);
        let action = self.b.ins().load(types::I32, PLAIN, record, 0);
        let loads: Vec<Block> = actions.iter().map(|_| self.b.create_block()).collect();
        let mut calls: Vec<_> = loads.iter().map(|load| self.b.func.dfg.block_call(*load, &[])).collect();
        if let Some(last) = calls.pop() {
            let jump_table = self.b.create_jump_table(JumpTableData::new(last, &calls));
            self.b.ins().br_table(action, jump_table);
        }
        for ((load, data), block) in loads.into_iter().zip(&facts.data).zip(actions) {
            self.b.seal_block(load);
            self.b.switch_to_block(load);
            let mut args: Vec<BlockArg> = vec![hit.into()];
            for (word, kind) in data {
                args.push(self.b.ins().load(type_of(*kind), PLAIN, record, 8 * *word as i32).into());
            }
            self.b.ins().jump(*block, &args);
        }
    }
}
