//! A program without what no lookup depends on.
//!
//! ```text
//! table routes { key = { hdr.ipv4.dst: lpm; } ... }    hdr.ipv4.dst is relevant, and hdr.ipv4, which may be invalid
//! hdr.ipv4.dst = meta.server;                          stays: meta.server is relevant, too
//! if (hdr.tcp.flags == SYN) { meta.size = 3; }         goes, with its choice: no lookup depends on meta.size
//! state mss { packet.extract(hdr.mss); ... accept; }   is as good as accept
//! ```
//!
//! A field of a type is relevant wherever the type is used. A header is at a field or a variable, which is relevant if a part of the header is read, or
//! whether it is valid. Reads of conditions matter only if the flow decides them: the others are choices. All tables stay, so that paths have the same
//! lookups as before; paths that differ in nothing else become one.

use crate::open::{self, Fixed};
use ir::{
    Block, Call, Callee, Direction, Expr, ExprKind, ForRange, Keyset, Parser, Program, Role, StageKind,
    StateRef, Stmt, StmtKind, SwitchOn, Transition, Type, TypeId, Var, VarId, VarKind,
};
use ir_keys::{Source, Step, param_of};
use std::collections::BTreeSet;

/// Something that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Item {
    Field(TypeId, u32),
    Var(Owner, VarId),
}

/// The block whose variable it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Parser(usize),
    Control(usize),
    Function(usize),
}

/// The program without the statements on which no lookup depends.
pub fn slice(program: &Program, fixed: &Fixed<'_>) -> Program {
    let mut slicer = Slicer { program, fixed, relevant: BTreeSet::new(), drops_matter: false };
    slicer.lookups();
    loop {
        let before = slicer.relevant.len();
        let sliced = slicer.run();
        if slicer.relevant.len() == before {
            return sliced;
        }
    }
}

struct Slicer<'s> {
    program: &'s Program,
    fixed: &'s Fixed<'s>,
    /// Found so far.
    relevant: BTreeSet<Item>,
    /// Lookups come after the traffic manager.
    drops_matter: bool,
}

impl<'s> Slicer<'s> {
    /// Notes all on which the lookups themselves depend.
    fn lookups(&mut self) {
        let program = self.program;
        for (at, control) in program.controls.iter().enumerate() {
            for table in &control.tables {
                table.keys.iter().for_each(|key| self.read(Owner::Control(at), &key.expr));
                for run in &table.actions {
                    run.args.iter().for_each(|arg| self.read(Owner::Control(at), arg));
                    let params = control.actions.get(run.action.index()).map(|action| &action.params);
                    let given = params.into_iter().flatten().take(run.args.len());
                    self.relevant.extend(given.map(|param| Item::Var(Owner::Control(at), *param)));
                }
            }
        }
        for (at, function) in program.functions.iter().enumerate() {
            let exprs = &mut |e: &Expr| self.read(Owner::Function(at), e);
            ir::visit::stmts(&function.body, &mut |stmt| ir::visit::exprs(stmt, exprs));
        }
        // Paths without a header of which the flow has a part are dead.
        for part in &self.fixed.keys.key.parts {
            let Source::Field(steps) = &part.source else { continue };
            let headers = program.stages.iter().find_map(|stage| param_of(program, stage, Role::Headers));
            let mut ty = headers.map_or(&Type::Void, |var| &var.ty);
            for step in steps {
                ty = match (step, ty) {
                    (Step::Element(_), Type::Stack(elem, _)) => elem,
                    (Step::Field(at), ty) => {
                        self.relevant.extend(field(ty, *at));
                        program.fields(ty).get(*at as usize).map_or(&Type::Void, |field| &field.ty)
                    }
                    _ => ty,
                };
            }
        }
        // Ports, drops and groups decide whether later stages see the packet.
        let mut after = program.stages.iter().skip_while(|stage| stage.kind != StageKind::TrafficManager);
        self.drops_matter = after.any(|stage| match &stage.kind {
            StageKind::Control(id) | StageKind::Deparse(id) => {
                open::looks_up(&program.control(*id).body.stmts)
            }
            StageKind::Parse(_) | StageKind::TrafficManager => false,
        });
        if self.drops_matter {
            for stage in &program.stages {
                if let Some(var) = param_of(program, stage, Role::StandardMetadata) {
                    let found = self.items(&var.ty);
                    self.relevant.extend(found);
                }
            }
        }
    }

    /// One round: what is kept makes more relevant.
    fn run(&mut self) -> Program {
        let program = self.program;
        let mut sliced = program.clone();
        // Called controls come first, and actions before the body.
        for at in 0..program.controls.len() {
            let (owner, control) = (Owner::Control(at), &program.controls[at]);
            for action in 0..control.actions.len() {
                let body = self.block(owner, &control.actions[action].body, &sliced);
                sliced.controls[at].actions[action].body = body;
            }
            let body = self.block(owner, &control.body, &sliced);
            sliced.controls[at].body = body;
            let locals = self.stmts(owner, &control.locals, &sliced);
            sliced.controls[at].locals = locals;
        }
        for at in 0..program.parsers.len() {
            let parser = self.parser(at, &sliced);
            sliced.parsers[at] = parser;
        }
        sliced
    }

    fn parser(&mut self, at: usize, sliced: &Program) -> Parser {
        let owner = Owner::Parser(at);
        let mut parser = self.program.parsers[at].clone();
        let idle = self.idle(owner, &parser);
        let to = |next: StateRef| match next {
            StateRef::State(id) if idle.contains(&id.index()) => StateRef::Accept,
            next => next,
        };
        for (number, state) in parser.states.iter_mut().enumerate() {
            if idle.contains(&number) {
                (state.stmts, state.transition) = (vec![], Transition::Goto(StateRef::Accept));
                continue;
            }
            state.stmts = self.stmts(owner, &state.stmts, sliced);
            match &mut state.transition {
                Transition::Goto(next) => *next = to(*next),
                Transition::Select(select) => {
                    for case in &mut select.cases {
                        case.next = to(case.next);
                    }
                    if select.cases.iter().all(|case| ends(case.next)) {
                        state.transition = Transition::Goto(StateRef::Accept);
                        continue;
                    }
                    for e in select.exprs.iter().filter(|e| self.fixed.is_fixed(e)) {
                        self.read(owner, e);
                    }
                    for key in select.cases.iter().flat_map(|case| &case.keys) {
                        match key {
                            Keyset::DontCare | Keyset::ValueSet(_) => {}
                            Keyset::Value(e) => self.read(owner, e),
                            Keyset::Mask(a, b) | Keyset::Range(a, b) => {
                                self.read(owner, a);
                                self.read(owner, b);
                            }
                        }
                    }
                }
            }
        }
        parser.locals = self.stmts(owner, &parser.locals, sliced);
        parser
    }

    /// States from which the parser does nothing relevant: it is all the same whether they accept, and when.
    fn idle(&self, owner: Owner, parser: &Parser) -> BTreeSet<usize> {
        let is_relevant = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Extract { header, .. } => self.is_written(owner, header),
            StmtKind::Advance(..) | StmtKind::Verify(..) => false,
            StmtKind::Declare(..) | StmtKind::Assign(..) | StmtKind::AssignOp(..) => self.keeps(owner, stmt),
            _ => true,
        };
        let mut idle: BTreeSet<usize> =
            (0..parser.states.len()).filter(|at| !parser.states[*at].stmts.iter().any(is_relevant)).collect();
        loop {
            let leads_on = |next: StateRef| {
                !ends(next) && !matches!(next, StateRef::State(id) if idle.contains(&id.index()))
            };
            let stays = |at: &usize| match &parser.states[*at].transition {
                Transition::Goto(next) => !leads_on(*next),
                Transition::Select(select) => !select.cases.iter().any(|case| leads_on(case.next)),
            };
            let fewer: BTreeSet<usize> = idle.iter().copied().filter(stays).collect();
            if fewer.len() == idle.len() {
                return idle;
            }
            idle = fewer;
        }
    }

    fn block(&mut self, owner: Owner, block: &Block, sliced: &Program) -> Block {
        Block { annotations: block.annotations.clone(), stmts: self.stmts(owner, &block.stmts, sliced) }
    }

    fn stmts(&mut self, owner: Owner, stmts: &[Stmt], sliced: &Program) -> Vec<Stmt> {
        stmts.iter().filter_map(|stmt| self.stmt(owner, stmt, sliced)).collect()
    }

    /// The rest of a statement.
    fn stmt(&mut self, owner: Owner, stmt: &Stmt, sliced: &Program) -> Option<Stmt> {
        let kind = match &stmt.kind {
            StmtKind::If(condition, yes, no) => {
                let (yes, no) = (self.block(owner, yes, sliced), self.block(owner, no, sliced));
                if yes.stmts.is_empty() && no.stmts.is_empty() && !has_effects(condition) {
                    return None;
                }
                self.decides(owner, condition);
                StmtKind::If(condition.clone(), yes, no)
            }
            StmtKind::Switch(on, cases) => {
                let mut cases = cases.clone();
                for case in &mut cases {
                    case.body = self.block(owner, &case.body, sliced);
                }
                if let SwitchOn::Value(value) = on {
                    if cases.iter().all(|case| case.body.stmts.is_empty()) && !has_effects(value) {
                        return None;
                    }
                    self.decides(owner, value);
                }
                StmtKind::Switch(on.clone(), cases)
            }
            StmtKind::Block(block) => {
                let block = self.block(owner, block, sliced);
                if block.stmts.is_empty() {
                    return None;
                }
                StmtKind::Block(block)
            }
            StmtKind::For { init, cond, update, body } => {
                let body = self.block(owner, body, sliced);
                let head = init.iter().chain(update);
                if body.stmts.is_empty()
                    && !has_effects(cond)
                    && !head.clone().any(|one| self.keeps(owner, one))
                {
                    return None;
                }
                head.for_each(|one| self.reads(owner, one));
                self.decides(owner, cond);
                StmtKind::For { init: init.clone(), cond: cond.clone(), update: update.clone(), body }
            }
            StmtKind::ForIn { var, range, body } => {
                let body = self.block(owner, body, sliced);
                let ends = match range {
                    ForRange::Range(a, b) => vec![a, b],
                    ForRange::Values(values) => vec![values],
                };
                if body.stmts.is_empty() && !ends.iter().any(|e| has_effects(e)) {
                    return None;
                }
                ends.into_iter().for_each(|e| self.read(owner, e));
                StmtKind::ForIn { var: *var, range: range.clone(), body }
            }
            StmtKind::Call(call) => {
                if !self.keeps_call(owner, call, sliced) {
                    return None;
                }
                self.call(owner, call);
                return Some(stmt.clone());
            }
            _ => {
                if !self.keeps(owner, stmt) {
                    return None;
                }
                self.reads(owner, stmt);
                return Some(stmt.clone());
            }
        };
        Some(Stmt { kind, span: stmt.span })
    }

    /// A condition that stays. Reads of one that the flow does not decide have no effect.
    fn decides(&mut self, owner: Owner, condition: &Expr) {
        if self.fixed.is_fixed(condition) {
            self.read(owner, condition);
        }
    }

    /// A statement without blocks has an effect that matters.
    fn keeps(&self, owner: Owner, stmt: &Stmt) -> bool {
        let mut effects = false;
        ir::visit::exprs(stmt, &mut |e| effects |= has_effects(e));
        let written = match &stmt.kind {
            StmtKind::Declare(var, _) => self.is_relevant_var(owner, *var),
            StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) | StmtKind::SetValid(place, _) => {
                self.is_written(owner, place)
            }
            _ => true,
        };
        effects || written
    }

    /// An opened condition of a `verify` is no longer read, as the rest of the statement's expressions is.
    fn reads(&mut self, owner: Owner, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Verify(condition, _) => self.decides(owner, condition),
            // How much is taken off the packet is left open.
            StmtKind::Extract { header, .. } => self.way(owner, header),
            StmtKind::Advance(..) | StmtKind::Emit(..) => {}
            StmtKind::Assign(place, value) => {
                self.way(owner, place);
                self.read(owner, value);
            }
            _ => ir::visit::exprs(stmt, &mut |e| self.read(owner, e)),
        }
    }

    /// Objects of the architecture act on lookups by their results alone, as they are of other packets.
    fn keeps_call(&self, owner: Owner, call: &Call, sliced: &Program) -> bool {
        if call.args.iter().flatten().any(has_effects) {
            return true;
        }
        let directions = match &call.callee {
            Callee::Action(id) => {
                let Owner::Control(at) = owner else { return true };
                let control = &sliced.controls[at];
                let Some(action) = control.actions.get(id.index()) else { return true };
                if !action.body.stmts.is_empty() {
                    return true;
                }
                directions(&control.vars, &action.params)
            }
            Callee::Control(id) => {
                let control = sliced.control(*id);
                if !control.body.stmts.is_empty() {
                    return true;
                }
                directions(&control.vars, &control.params)
            }
            Callee::ExternFunction(id) => {
                let function = &self.program.extern_functions[id.index()];
                if function.user || open::starts_again(&function.name) {
                    return true;
                }
                if function.name == "mark_to_drop" {
                    return self.drops_matter;
                }
                function.signature.params.iter().map(|param| param.direction).collect()
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(*instance).object);
                let Some(called) = object.methods.get(*method as usize) else { return true };
                if object.user {
                    return true;
                }
                called.signature.params.iter().map(|param| param.direction).collect()
            }
            Callee::Function(_) | Callee::Parser(_) | Callee::ParamMethod(..) => return true,
        };
        let written = |(arg, direction): (&Option<Expr>, Direction)| {
            let is_out = matches!(direction, Direction::Out | Direction::InOut);
            arg.as_ref().is_some_and(|arg| is_out && self.is_written(owner, arg))
        };
        call.args.iter().zip(directions).any(written)
    }

    /// A call that stays: its arguments are read, and parameters that are given back are written for it.
    fn call(&mut self, owner: Owner, call: &Call) {
        call.args.iter().flatten().for_each(|arg| self.read(owner, arg));
        let program = self.program;
        let (inner, params) = match &call.callee {
            Callee::Action(id) => {
                let Owner::Control(at) = owner else { return };
                (owner, program.controls[at].actions.get(id.index()).map(|action| &action.params))
            }
            Callee::Control(id) => (Owner::Control(id.index()), Some(&program.control(*id).params)),
            Callee::Parser(id) => (Owner::Parser(id.index()), Some(&program.parser(*id).params)),
            _ => return,
        };
        self.relevant.extend(params.into_iter().flatten().map(|param| Item::Var(inner, *param)));
    }

    /// The value of an expression matters.
    fn read(&mut self, owner: Owner, e: &Expr) {
        match &e.kind {
            ExprKind::Var(_)
            | ExprKind::Field(..)
            | ExprKind::Index(..)
            | ExprKind::Next(_)
            | ExprKind::Last(_) => {
                let found = self.items(&e.ty);
                self.relevant.extend(found);
                self.way(owner, e);
            }
            ExprKind::IsValid(header) => self.way(owner, header),
            ExprKind::Call(call) => self.call(owner, call),
            // Extractions of next elements always stay.
            ExprKind::LastIndex(_) => {}
            _ => ir::visit::parts(e, &mut |part| self.read(owner, part)),
        }
    }

    /// All on the way to a place matters, with its indices; other parts of the value there do not.
    fn way(&mut self, owner: Owner, place: &Expr) {
        match &place.kind {
            ExprKind::Var(var) => drop(self.relevant.insert(Item::Var(owner, *var))),
            ExprKind::Field(base, at) => {
                self.relevant.extend(field(&base.ty, *at));
                self.way(owner, base);
            }
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.read(owner, index);
                self.way(owner, base);
            }
            ExprKind::Next(base) | ExprKind::Last(base) | ExprKind::Slice { base, .. } => {
                self.way(owner, base)
            }
            _ => self.read(owner, place),
        }
    }

    /// Other variables of its type may be the same value: the headers of the parser are those of ingress.
    fn is_relevant_var(&self, owner: Owner, var: VarId) -> bool {
        let vars = match owner {
            Owner::Parser(at) => &self.program.parsers[at].vars,
            Owner::Control(at) => &self.program.controls[at].vars,
            Owner::Function(at) => &self.program.functions[at].vars,
        };
        self.relevant.contains(&Item::Var(owner, var))
            || vars
                .get(var.index())
                .is_none_or(|var| self.items(&var.ty).iter().any(|item| self.relevant.contains(item)))
    }

    /// To write the place is to write something relevant.
    fn is_written(&self, owner: Owner, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Var(var) => self.is_relevant_var(owner, *var),
            ExprKind::Field(base, at) if !self.program.is_union(&base.ty) => {
                field(&base.ty, *at).is_none_or(|item| self.relevant.contains(&item))
            }
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.is_written(owner, base),
            ExprKind::Index(base, _) if !matches!(base.kind, ExprKind::Var(_)) => {
                self.is_written(owner, base)
            }
            // The member of a union, the next element of a stack: others change with it.
            _ => true,
        }
    }

    /// Everything in a value of the type.
    fn items(&self, ty: &Type) -> Vec<Item> {
        match ty {
            Type::Stack(elem, _) => self.items(elem),
            Type::Tuple(types) => types.iter().flat_map(|ty| self.items(ty)).collect(),
            Type::Named(id) => {
                let fields = self.program.fields(ty).iter().enumerate();
                let of = |(at, field): (usize, &ir::Field)| {
                    let mut found = self.items(&field.ty);
                    found.push(Item::Field(*id, at as u32));
                    found
                };
                fields.flat_map(of).collect()
            }
            _ => vec![],
        }
    }
}

fn field(ty: &Type, at: u32) -> Option<Item> {
    let Type::Named(id) = ty else { return None };
    Some(Item::Field(*id, at))
}

fn ends(next: StateRef) -> bool {
    matches!(next, StateRef::Accept | StateRef::Reject)
}

/// A lookup or a call is part of it.
fn has_effects(e: &Expr) -> bool {
    let mut found = false;
    ir::visit::subexprs(e, &mut |part| {
        found |= matches!(part.kind, ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) | ExprKind::Call(_));
    });
    found
}

fn directions(vars: &[Var], params: &[VarId]) -> Vec<Direction> {
    let direction = |param: &VarId| match vars.get(param.index()).map(|var| var.kind) {
        Some(VarKind::Param(direction)) => direction,
        _ => Direction::InOut,
    };
    params.iter().map(direction).collect()
}
