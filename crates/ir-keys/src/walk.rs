//! A walk over the stages of a program that notes the inputs of each key.

use crate::again::{Again, again};
use crate::formula::Hash;
use crate::input::{Input, Inputs};
use crate::keys::{Key, Place};
use crate::known::{Known, Origin, Path, Root, leaves};
use crate::roots::Roots;
use base_diag::Span;
use ir::{
    Block, Control, ControlId, Expr, ForRange, ParserId, Program, Role, StageKind, Stmt, StmtKind, SwitchOn,
    TableId, Transition, Type, Var, VarId,
};
use std::collections::BTreeMap;

/// Most statements that are walked over, those of called blocks once for each call and loops once for each round.
const STATEMENTS: u32 = 50_000;

/// The walk, and all that it has found.
pub struct Walk<'p> {
    pub(crate) program: &'p Program,
    pub(crate) roots: Roots,
    pub(crate) known: Known,
    /// Inputs of each variable of the running call.
    pub(crate) frame: Frame,
    pub(crate) calls: u32,
    /// Inputs that decide which action of a table runs, while one does.
    pub(crate) under: Inputs,
    /// Paths that ended in the running stage, by `exit` or by an error of the parser.
    ended: Option<Known>,
    again: Again,
    /// Inputs of values that packets keep from one pass to the next.
    carried: Known,
    left: u32,
    /// Keys, by use and position; a key that is passed twice has the inputs of both.
    pub found: BTreeMap<(Place, u32), Key>,
    /// Inputs of all conditions, by place.
    pub conditions: BTreeMap<Span, Inputs>,
    /// Fields with the number of a packet's shard, by their places in the metadata: the hash that is written there, if all writes are of the same one.
    pub numbers: BTreeMap<Vec<u32>, Option<Hash>>,
}

/// The running call.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    pub(crate) call: u32,
    /// Parameters that are places of the caller.
    pub(crate) places: BTreeMap<VarId, Path>,
    pub(crate) control: Option<ControlId>,
    /// Paths that have returned.
    pub(crate) returned: Option<Known>,
    /// Paths that have left a round of a loop early.
    pub(crate) jumped: Option<Known>,
}

impl<'p> Walk<'p> {
    /// Walks all stages, until passes of packets that come again find nothing new.
    pub fn new(program: &'p Program) -> Walk<'p> {
        let mut walk = Walk {
            program,
            roots: Roots::new(program),
            known: Known::default(),
            frame: Frame::default(),
            calls: 0,
            under: Inputs::new(),
            ended: None,
            again: again(program),
            carried: Known::default(),
            left: STATEMENTS,
            found: BTreeMap::new(),
            conditions: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        let mut is_again = false;
        loop {
            walk.known = Known::default();
            walk.pass(is_again);
            let mut carried = walk.known.clone().without_locals();
            carried.join(&walk.carried, &|leaf| walk.at_start(leaf));
            let is_new = carried != walk.carried;
            walk.carried = carried;
            if !walk.again.any || !is_new || walk.is_exhausted() {
                return walk;
            }
            is_again = true;
        }
    }

    /// The walk was given up.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    fn pass(&mut self, is_again: bool) {
        for stage in &self.program.stages {
            match stage.kind {
                StageKind::Parse(id) => self.parser(id, &stage.roles),
                StageKind::Control(id) | StageKind::Deparse(id) => self.stage(id, &stage.roles),
                StageKind::TrafficManager => self.traffic_manager(is_again),
            }
            if let Some(ended) = self.ended.take() {
                self.join(&ended);
            }
        }
    }

    /// The destination of a packet depends on the port and the group that ingress has chosen. A clone has the values that its original had at the
    /// start, or those kept from an earlier pass.
    fn traffic_manager(&mut self, is_again: bool) {
        let leaf = |walk: &Self, name: &str| walk.roots.standard_field(walk.program, name);
        let chosen = ["egress_spec", "mcast_grp"].into_iter().filter_map(|name| leaf(self, name));
        let chosen: Inputs = chosen.flat_map(|leaf| self.leaf(&leaf).inputs).collect();
        for name in ["egress_port", "egress_rid"] {
            if let Some(leaf) = leaf(self, name) {
                self.set(leaf, Origin::of(chosen.clone()));
            }
        }
        if is_again {
            self.join(&Known::default());
        }
    }

    fn enter(&mut self, params: &[VarId], roles: &[Role], control: Option<ControlId>) {
        self.calls += 1;
        let root = |role: &Role| match role {
            Role::Headers => Some(Root::Headers),
            Role::Metadata => Some(Root::Metadata),
            Role::StandardMetadata => Some(Root::Standard),
            _ => None,
        };
        let places = params.iter().zip(roles);
        let places =
            places.filter_map(|(param, role)| Some((*param, Path { root: root(role)?, fields: vec![] })));
        self.frame = Frame { call: self.calls, places: places.collect(), control, ..Frame::default() };
    }

    fn stage(&mut self, id: ControlId, roles: &[Role]) {
        let control = self.program.control(id);
        self.enter(&control.params, roles, Some(id));
        self.control(control);
        self.after_returns();
    }

    pub(crate) fn control(&mut self, control: &Control) {
        self.stmts(&control.locals, &control.vars);
        self.stmts(&control.body.stmts, &control.vars);
    }

    fn parser(&mut self, id: ParserId, roles: &[Role]) {
        let parser = self.program.parser(id);
        self.enter(&parser.params, roles, None);
        self.states(parser);
        self.after_returns();
    }

    /// The states, in any order: what one may have left holds in all.
    pub(crate) fn states(&mut self, parser: &ir::Parser) {
        self.stmts(&parser.locals, &parser.vars);
        loop {
            let before = self.known.clone();
            for state in &parser.states {
                let entered = self.known.clone();
                self.stmts(&state.stmts, &parser.vars);
                if let Transition::Select(select) = &state.transition {
                    select.exprs.iter().for_each(|e| self.condition(e, &parser.vars));
                }
                self.join(&entered);
            }
            if self.known == before || self.is_exhausted() {
                break;
            }
        }
    }

    /// Joins the paths that have returned from the running call.
    pub(crate) fn after_returns(&mut self) {
        if let Some(returned) = self.frame.returned.take() {
            self.join(&returned);
        }
    }

    pub(crate) fn join(&mut self, other: &Known) {
        let mut known = std::mem::take(&mut self.known);
        known.join(other, &|leaf| self.at_start(leaf));
        self.known = known;
    }

    /// The present and those that have left before, if any.
    fn joined(&self, before: Option<Known>) -> Option<Known> {
        let mut known = self.known.clone();
        if let Some(before) = before {
            known.join(&before, &|leaf| self.at_start(leaf));
        }
        Some(known)
    }

    /// The path may end here, for the whole stage.
    fn ends(&mut self) {
        let before = self.ended.take();
        self.ended = self.joined(before);
    }

    pub(crate) fn at_start(&self, leaf: &Path) -> Origin {
        let mut origin = self.roots.at_start(self.program, leaf);
        if let Some(before) = self.carried.get(leaf)
            && leaf.root != Root::Standard
        {
            origin.join(before);
        }
        if leaf.root == Root::Headers && self.again.other_headers && !self.carried.is_empty() {
            origin.join(&Origin::of([Input::AnotherPass].into()));
        }
        origin
    }

    pub(crate) fn leaf(&self, leaf: &Path) -> Origin {
        self.known.get(leaf).cloned().unwrap_or_else(|| self.at_start(leaf))
    }

    /// The leaf depends on these inputs from here on.
    pub(crate) fn set(&mut self, leaf: Path, mut origin: Origin) {
        if !self.under.is_empty() {
            origin.inputs.extend(self.under.iter().cloned());
            origin = Origin::of(origin.inputs);
        }
        self.note_number(&leaf, &origin);
        self.known.set(leaf, origin);
    }

    pub(crate) fn block(&mut self, block: &Block, vars: &[Var]) {
        self.stmts(&block.stmts, vars);
    }

    fn stmts(&mut self, stmts: &[Stmt], vars: &[Var]) {
        for stmt in stmts {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.stmt(stmt, vars);
        }
    }

    fn condition(&mut self, e: &Expr, vars: &[Var]) {
        let inputs = self.inputs(e, vars);
        self.conditions.entry(e.span).or_default().extend(inputs);
    }

    fn stmt(&mut self, stmt: &Stmt, vars: &[Var]) {
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                let place = self.var(*var);
                self.known.forget(&place);
                if let (Some(init), Some(var)) = (init, vars.get(var.index())) {
                    self.assign(&place, &var.ty, init, vars);
                }
            }
            StmtKind::Assign(place, value) => match self.place(place) {
                Some(path) => self.assign(&path, &place.ty, value, vars),
                None => {
                    let mut inputs = self.inputs(value, vars);
                    inputs.extend(self.indices(place, vars));
                    self.add(place, &inputs);
                }
            },
            StmtKind::AssignOp(_, place, value) => {
                let mut inputs = self.inputs(value, vars);
                inputs.extend(self.indices(place, vars));
                self.add(place, &inputs);
            }
            StmtKind::Call(call) => drop(self.call(call, vars)),
            StmtKind::Apply(table) => self.table(*table),
            StmtKind::Switch(on, cases) => {
                match on {
                    SwitchOn::ActionRun(table) => self.table(*table),
                    SwitchOn::Value(value) => self.condition(value, vars),
                }
                let is_total = cases.iter().any(ir::SwitchCase::is_default);
                self.one_of(cases.iter().map(|case| &case.body), is_total, vars);
            }
            StmtKind::Extract { header, varbit_bits, .. } => {
                self.ends();
                // It decides where the following fields are.
                varbit_bits.iter().for_each(|length| self.condition(length, vars));
                self.extracted(header);
            }
            StmtKind::If(condition, yes, no) => {
                let test = self.test(condition);
                self.condition(condition, vars);
                match test {
                    Some(test) => self.choose(&test, (yes, no), vars),
                    None => self.one_of([yes, no].into_iter(), true, vars),
                }
            }
            StmtKind::Block(block) => self.block(block, vars),
            StmtKind::For { init, cond, update, body } => {
                self.stmts(init, vars);
                self.rounds(&mut |walk| {
                    walk.condition(cond, vars);
                    walk.block(body, vars);
                    walk.after_jumps();
                    walk.stmts(update, vars);
                });
            }
            StmtKind::ForIn { var, range, body } => {
                let (first, inputs) = match range {
                    ForRange::Range(a, b) => (a, &self.inputs(a, vars) | &self.inputs(b, vars)),
                    ForRange::Values(values) => (values, self.inputs(values, vars)),
                };
                self.conditions.entry(first.span).or_default().extend(inputs.iter().cloned());
                let place = self.var(*var);
                self.set(place, Origin::of(inputs));
                self.rounds(&mut |walk| {
                    walk.block(body, vars);
                    walk.after_jumps();
                });
            }
            StmtKind::Verify(condition, _) => {
                self.condition(condition, vars);
                self.ends();
            }
            StmtKind::Advance(_, bits) => {
                self.condition(bits, vars);
                self.ends();
            }
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    let result = self.result();
                    let mut origin = self.known.get(&result).cloned().unwrap_or_default();
                    origin.inputs.extend(self.inputs(value, vars));
                    self.set(result, Origin::of(origin.inputs));
                }
                let before = self.frame.returned.take();
                self.frame.returned = self.joined(before);
            }
            StmtKind::Exit => self.ends(),
            StmtKind::Break | StmtKind::Continue => {
                let before = self.frame.jumped.take();
                self.frame.jumped = self.joined(before);
            }
            StmtKind::SetValid(..)
            | StmtKind::PushFront(..)
            | StmtKind::PopFront(..)
            | StmtKind::Emit(..) => {}
        }
    }

    /// A header has the packet's own fields from here on.
    fn extracted(&mut self, header: &Expr) {
        if let Some(place) = self.place(header) {
            return self.known.forget(&place);
        }
        // One element of a stack.
        let Some((path, ty)) = self.around(header) else { return };
        for (leaf, _) in leaves(self.program, &path, &ty) {
            let mut inputs = self.leaf(&leaf).inputs;
            inputs.extend(self.at_start(&leaf).inputs);
            self.set(leaf, Origin::of(inputs));
        }
    }

    fn after_jumps(&mut self) {
        if let Some(jumped) = self.frame.jumped.take() {
            self.join(&jumped);
        }
    }

    fn rounds(&mut self, round: &mut dyn FnMut(&mut Self)) {
        let outer = self.frame.jumped.take();
        loop {
            let before = self.known.clone();
            round(self);
            self.join(&before);
            if self.known == before || self.is_exhausted() {
                break;
            }
        }
        self.frame.jumped = outer;
    }

    /// One of the blocks runs; or none, unless they are all there are.
    fn one_of<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>, is_total: bool, vars: &[Var]) {
        let before = self.known.clone();
        let mut after: Option<Known> = (!is_total).then(|| before.clone());
        for block in blocks {
            self.known = before.clone();
            self.block(block, vars);
            after = self.joined(after);
        }
        self.known = after.unwrap_or(before);
    }

    /// The control-plane name of a table of the running control.
    pub(crate) fn table_of(&self, id: TableId) -> Option<(&'p Control, &'p ir::Table)> {
        let control = self.program.control(self.frame.control?);
        Some((control, control.tables.get(id.index())?))
    }

    pub(crate) fn note(&mut self, place: Place, at: u32, text: &str, ty: &Type, origin: Origin, span: Span) {
        let width = self.program.bits(ty).unwrap_or(0) as u32;
        let copy_of = origin.copied().cloned();
        let new = Key { text: text.into(), width, inputs: Inputs::new(), copy_of: copy_of.clone(), span };
        let key = self.found.entry((place, at)).or_insert(new);
        key.inputs.extend(origin.inputs);
        if key.copy_of != copy_of {
            key.copy_of = None;
        }
    }
}
