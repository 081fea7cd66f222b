//! One access to each register array in a pass.
//!
//! ```text
//! r.read(v, i);  r.write(i, v + 1);            one access: a stage reads, computes and writes
//! r.read(v, i);  r.read(w, j);                 two
//! if (c) { r.read(v, i); } else { r.read(v, j); }    one: paths exclude each other
//! r.read(v, i);  t.apply();  r.write(i, meta.x);     none: t has v as a key, and sets x
//! ```
//!
//! One pass over the statements in the order of the stages. Paths are joined, and none is enumerated; conditions are not compared.

use crate::dependences::Node;
use crate::found::{Found, MOST_STEPS};
use crate::paths::{Held, Progress, State, join, untouched};
use crate::places::{Place, Sources};
use base_diag::Diagnostic;
use device_classes::DeviceClass;
use ir::{
    Block, Call, Callee, Control, ControlId, Direction, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind,
    SwitchOn, TableId, VarId, VarKind, visit,
};
use ir_state::access_of;
use p4_arch::Access;
use std::collections::BTreeSet;

/// Errors for register arrays that a packet uses twice, or whose accesses depend on each other.
pub(crate) fn check(program: &Program, class: DeviceClass) -> Vec<Diagnostic> {
    let mut found = Found::default();
    let mut held = Held::new();
    for stage in &program.stages {
        let (ir::StageKind::Control(id) | ir::StageKind::Deparse(id)) = stage.kind else { continue };
        let state = State { held, ..State::default() };
        let mut walk = Walk { program, control: id, found: &mut found, returned: None, exited: None };
        let state = walk.control_body(state);
        held = join(state, walk.exited).unwrap_or_default().held;
    }
    found.diagnostics(program, class)
}

struct Walk<'a> {
    program: &'a Program,
    control: ControlId,
    found: &'a mut Found,
    /// At the end of the body, on paths that returned.
    returned: Option<State>,
    /// At the end of the stage, on paths that have ended it.
    exited: Option<State>,
}

impl<'a> Walk<'a> {
    fn here(&self) -> &'a Control {
        self.program.control(self.control)
    }

    /// The whole of the control.
    fn control_body(&mut self, state: State) -> Option<State> {
        let control = self.here();
        let mut state = Some(state);
        for stmt in &control.locals {
            state = state.and_then(|state| self.stmt(stmt, state));
        }
        state.and_then(|state| self.body(&control.body, state))
    }

    /// A body that `return` ends.
    fn body(&mut self, block: &Block, state: State) -> Option<State> {
        let outer = self.returned.take();
        let guard = state.guard.clone();
        let end = self.block(block, state);
        let mut end = join(end, std::mem::replace(&mut self.returned, outer));
        if let Some(end) = &mut end {
            end.guard = guard;
        }
        end
    }

    fn block(&mut self, block: &Block, state: State) -> Option<State> {
        block.stmts.iter().try_fold(state, |state, stmt| self.stmt(stmt, state))
    }

    /// The state after a statement; `None` if no path continues.
    fn stmt(&mut self, stmt: &Stmt, mut state: State) -> Option<State> {
        if self.found.steps >= MOST_STEPS {
            return None;
        }
        self.found.steps += 1;
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                let sources = init.as_ref().map(|init| self.expr(init, &mut state)).unwrap_or_default();
                self.set(&Place::var(self.control, *var), true, sources, &mut state);
            }
            StmtKind::Assign(place, value) => {
                let sources = self.expr(value, &mut state);
                self.assign(place, sources, &mut state);
            }
            StmtKind::AssignOp(_, place, value) => {
                let sources = &self.expr(value, &mut state) | &self.expr(place, &mut state);
                self.assign(place, sources, &mut state);
            }
            StmtKind::Call(call) => {
                self.call(call, &mut state)?;
            }
            StmtKind::Apply(table) => return self.table(*table, state),
            StmtKind::SetValid(place, _) | StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => {
                let sources = self.expr(place, &mut state);
                self.assign(place, sources, &mut state);
            }
            StmtKind::If(cond, yes, no) => {
                let sources = self.expr(cond, &mut state);
                return self.branches(state, sources, [yes, no].map(Some));
            }
            StmtKind::Switch(on, cases) => {
                let missed = (!cases.iter().any(ir::SwitchCase::is_default)).then_some(None);
                let arms = cases.iter().map(|case| Some(&case.body)).chain(missed);
                let (state, sources) = match on {
                    SwitchOn::ActionRun(table) => {
                        (self.table(*table, state)?, [Node::Table(self.control, *table)].into())
                    }
                    SwitchOn::Value(value) => {
                        let sources = self.expr(value, &mut state);
                        (state, sources)
                    }
                };
                return self.branches(state, sources, arms);
            }
            StmtKind::Block(block) => return self.block(block, state),
            StmtKind::For { init, cond, update, body } => {
                for stmt in init {
                    state = self.stmt(stmt, state)?;
                }
                let sources = self.expr(cond, &mut state);
                let round = |walk: &mut Self, state| {
                    update.iter().try_fold(walk.block(body, state)?, |state, stmt| walk.stmt(stmt, state))
                };
                return self.rounds(state, sources, round);
            }
            StmtKind::ForIn { body, .. } => {
                let mut sources = Sources::new();
                visit::exprs(stmt, &mut |e| sources.extend(self.expr(e, &mut state)));
                return self.rounds(state, sources, |walk, state| walk.block(body, state));
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|value| drop(self.expr(value, &mut state)));
                self.returned = join(self.returned.take(), Some(state));
                return None;
            }
            StmtKind::Exit => {
                self.exited = join(self.exited.take(), Some(state));
                return None;
            }
            // The rest of the round is taken to run.
            StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Extract { .. } | StmtKind::Advance(..) | StmtKind::Emit(..) | StmtKind::Verify(..) => {}
        }
        Some(state)
    }

    /// No round, or one: classes with one access in a pass lack loops, which are refused as such.
    fn rounds(
        &mut self,
        mut state: State,
        sources: Sources,
        round: impl Fn(&mut Self, State) -> Option<State>,
    ) -> Option<State> {
        state.guard.extend(sources);
        let once = round(self, state.clone());
        join(Some(state), once)
    }

    /// One of several blocks; `None` is an empty one.
    fn branches<'b>(
        &mut self,
        state: State,
        sources: Sources,
        arms: impl IntoIterator<Item = Option<&'b Block>>,
    ) -> Option<State> {
        let outer = state.guard.clone();
        let mut inner = state;
        inner.guard.extend(sources);
        let (mut end, mut all_go_on) = (None, true);
        for arm in arms {
            let after = match arm {
                Some(block) => self.block(block, inner.clone()),
                None => Some(inner.clone()),
            };
            all_go_on &= after.is_some();
            end = join(end, after);
        }
        if let (Some(end), true) = (&mut end, all_go_on) {
            end.guard = outer;
        }
        end
    }

    /// Applies a table: the keys select one of its actions.
    fn table(&mut self, id: TableId, mut state: State) -> Option<State> {
        let control = self.here();
        let (table, node) = (&control.tables[id.index()], Node::Table(self.control, id));
        let mut keys = state.guard.clone();
        for key in &table.keys {
            keys.extend(self.expr(&key.expr, &mut state));
        }
        self.found.needs.add(node, &keys, table.span);
        let outer = state.guard.clone();
        state.guard.insert(node);
        let mut end = table.actions.is_empty().then(|| state.clone());
        for run in &table.actions {
            let action = &control.actions[run.action.index()];
            let mut inner = state.clone();
            let given = run.args.iter().map(Some).chain(std::iter::repeat(None));
            for (param, arg) in action.params.iter().zip(given) {
                let sources = arg.map(|arg| self.expr(arg, &mut inner)).unwrap_or_else(|| [node].into());
                self.set(&Place::var(self.control, *param), true, sources, &mut inner);
            }
            let after = self.body(&action.body, inner);
            end = join(end, after);
        }
        if let Some(end) = &mut end {
            end.guard = outer;
        }
        end
    }

    /// The sources of an expression, after its calls.
    fn expr(&mut self, expr: &Expr, state: &mut State) -> Sources {
        if let Some((place, _)) = Place::of(self.control, expr) {
            let mut sources = state.values.read(&place);
            // An index is a source, too.
            visit::parts(expr, &mut |part| sources.extend(self.expr(part, state)));
            return sources;
        }
        match &expr.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                if let Some(after) = self.table(*table, state.clone()) {
                    *state = after;
                }
                [Node::Table(self.control, *table)].into()
            }
            ExprKind::Call(call) => self.call(call, state).unwrap_or_default(),
            _ => {
                let mut sources = Sources::new();
                visit::parts(expr, &mut |part| sources.extend(self.expr(part, state)));
                sources
            }
        }
    }

    fn assign(&mut self, target: &Expr, sources: Sources, state: &mut State) {
        if let Some((place, whole)) = Place::of(self.control, target) {
            self.set(&place, whole, sources, state);
        }
    }

    /// A value depends on what decided that it was written.
    fn set(&self, place: &Place, whole: bool, mut sources: Sources, state: &mut State) {
        sources.extend(state.guard.iter().copied());
        state.values.write(place, whole, sources);
    }

    /// Handles a call; returns the sources of its result. `None` if no path continues.
    fn call(&mut self, call: &Call, state: &mut State) -> Option<Sources> {
        if let Callee::Method(instance, method) = call.callee
            && let Some(array) = self.register_of(instance)
        {
            return Some(self.register(array, instance, method, call, state));
        }
        match &call.callee {
            Callee::Control(inner) => {
                let control = self.program.control(*inner);
                self.inlined(call, *inner, &control.params, state, |walk, state| {
                    let outer = std::mem::replace(&mut walk.control, *inner);
                    let after = walk.control_body(state);
                    walk.control = outer;
                    after
                })
            }
            Callee::Action(action) => {
                let action = &self.here().actions[action.index()];
                let control = self.control;
                self.inlined(call, control, &action.params, state, |walk, state| {
                    walk.body(&action.body, state)
                })
            }
            callee => {
                let mut inputs = state.guard.clone();
                call.args.iter().flatten().for_each(|arg| inputs.extend(self.expr(arg, state)));
                // Functions of the program are arithmetic; externs of the architecture take a stage of their own.
                let sources: Sources = if matches!(callee, Callee::Function(_)) {
                    inputs
                } else {
                    let node = Node::Call(self.control, call.span.lo);
                    self.found.needs.add(node, &inputs, call.span);
                    [node].into()
                };
                for arg in call.args.iter().flatten().filter(|arg| is_place(arg)) {
                    if self.is_written(call, arg) {
                        self.assign(arg, sources.clone(), state);
                    }
                }
                Some(sources)
            }
        }
    }

    /// Walks a body with the call's arguments as its parameters.
    fn inlined(
        &mut self,
        call: &Call,
        owner: ControlId,
        params: &[VarId],
        state: &mut State,
        body: impl FnOnce(&mut Self, State) -> Option<State>,
    ) -> Option<Sources> {
        let pairs: Vec<_> = params.iter().zip(&call.args).collect();
        for (param, arg) in &pairs {
            let sources = arg.as_ref().map(|arg| self.expr(arg, state)).unwrap_or_default();
            self.set(&Place::var(owner, **param), true, sources, state);
        }
        *state = body(self, state.clone())?;
        for (param, arg) in pairs {
            let kind = self.program.control(owner).vars[param.index()].kind;
            if let (VarKind::Param(Direction::Out | Direction::InOut), Some(arg)) = (kind, arg) {
                let sources = state.values.read(&Place::var(owner, *param));
                self.assign(arg, sources, state);
            }
        }
        Some(Sources::new())
    }

    /// Whether a function or method writes this argument.
    fn is_written(&self, call: &Call, arg: &Expr) -> bool {
        let index =
            call.args.iter().position(|known| known.as_ref().is_some_and(|known| std::ptr::eq(known, arg)));
        let direction = index.and_then(|index| match &call.callee {
            Callee::Function(f) => {
                let function = self.program.functions.get(f.index())?;
                match function.vars.get(function.params.get(index)?.index())?.kind {
                    VarKind::Param(direction) => Some(direction),
                    VarKind::Local => None,
                }
            }
            Callee::ExternFunction(f) => {
                Some(self.program.extern_functions.get(f.index())?.signature.params.get(index)?.direction)
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(*instance).object);
                Some(object.methods.get(*method as usize)?.signature.params.get(index)?.direction)
            }
            _ => Some(Direction::InOut),
        });
        matches!(direction, Some(Direction::Out | Direction::InOut))
    }

    /// The register array that a method of the object uses: the object itself, or that of a `RegisterAction`.
    fn register_of(&self, instance: InstanceId) -> Option<InstanceId> {
        let is_register = |id: InstanceId| {
            let object = self.program.extern_object(self.program.instance(id).object);
            !object.user && object.name.eq_ignore_ascii_case("register")
        };
        if is_register(instance) {
            return Some(instance);
        }
        let action = self.program.instance(instance);
        let given = action.args.first().filter(|_| !action.methods.is_empty());
        match given?.kind {
            ExprKind::Const(ir::Const::Instance(array)) => Some(array).filter(|array| is_register(*array)),
            _ => None,
        }
    }

    /// A call of a method of `instance`, which uses `array`.
    fn register(
        &mut self,
        array: InstanceId,
        instance: InstanceId,
        method: u32,
        call: &Call,
        state: &mut State,
    ) -> Sources {
        let node = Node::Array(array);
        let mut inputs = state.guard.clone();
        for arg in call.args.iter().flatten() {
            if !self.is_written(call, arg) {
                inputs.extend(self.expr(arg, state));
            }
        }
        self.found.needs.add(node, &inputs, call.span);
        let object = self.program.extern_object(self.program.instance(instance).object);
        let params = object.methods.get(method as usize).map(|method| method.signature.params.as_slice());
        let at = params.unwrap_or_default().iter().position(|param| param.name == "index");
        let index = at.and_then(|at| call.args.get(at)?.as_ref()).and_then(|index| self.index(index, state));
        let writes = instance != array || access_of(self.program, array, method) != Access::Read;
        let before = state.held.remove(&array).unwrap_or_else(untouched);
        let mut after = BTreeSet::new();
        for progress in before {
            after.insert(match progress {
                Progress::Untouched if writes => Progress::Done { at: call.span },
                Progress::Untouched => Progress::Read { at: call.span, index: index.clone() },
                // A read and a write of the same cell are one access; any other second access is refused.
                Progress::Read { at, index: known } if writes && known.is_some() && known == index => {
                    Progress::Done { at }
                }
                Progress::Read { at, .. } | Progress::Done { at } => {
                    self.found.second.entry(call.span).or_insert((at, array));
                    Progress::Refused
                }
                Progress::Refused => Progress::Refused,
            });
        }
        state.held.insert(array, after);
        let result: Sources = [node].into();
        for arg in call.args.iter().flatten() {
            if self.is_written(call, arg) {
                self.assign(arg, result.clone(), state);
            }
        }
        result
    }

    /// A text that is the same for two indices only if they have the same value.
    fn index(&self, expr: &Expr, state: &State) -> Option<String> {
        if let Some((place, true)) = Place::of(self.control, expr) {
            return Some(format!("{place:?} {}", state.values.age(&place)));
        }
        match &expr.kind {
            ExprKind::Const(value) => Some(format!("{value:?}")),
            ExprKind::Cast(inner) => Some(format!("({:?}) {}", expr.ty, self.index(inner, state)?)),
            ExprKind::Slice { base, hi, lo } => Some(format!("{} [{hi}:{lo}]", self.index(base, state)?)),
            ExprKind::Binary(op, left, right) => {
                Some(format!("({} {op:?} {})", self.index(left, state)?, self.index(right, state)?))
            }
            _ => None,
        }
    }
}

fn is_place(expr: &Expr) -> bool {
    Place::of(ControlId(0), expr).is_some()
}
