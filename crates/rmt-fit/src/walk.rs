//! From a lowered control to units.
//!
//! Code outside of tables becomes steps: statements join the step before them as long as they read nothing that it writes
//! and it uses no other object. An expression of several operations takes as many steps, since an ALU does one in each stage.

use crate::field::{Access, Fields, Scope, meeting};
use crate::object::{self, Use};
use crate::problem::Problem;
use crate::stateful;
use crate::table;
use crate::unit::{Destination, Fixed, Hashed, Kind, Unit, UnitId};
use ir::{
    Block, Call, Callee, Control, Direction, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, TableId,
    Type, UnaryOp, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Units that are looked at.
const MOST_UNITS: usize = 2000;
/// Bits that one gateway compares.
const GATEWAY_BITS: u32 = 44;
/// Values of the packet that a stateful ALU takes.
const STATEFUL_INPUTS: usize = 2;
/// Bits of an index that the hash of a field gives to an object.
const INDEX_BITS: u32 = 23;
/// Bits that a hash distribution unit brings to an action.
const HASH_UNIT_BITS: u32 = 16;

/// The units of a control, in the order of the source.
pub struct Walk<'a> {
    pub(crate) program: &'a Program,
    pub(crate) control: &'a Control,
    pub(crate) scope: Scope<'a>,
    pub(crate) fields: &'a mut Fields,
    pub(crate) units: &'a mut Vec<Unit>,
    pub(crate) problems: &'a mut Vec<Problem>,
    /// Units on the paths so far.
    before: BTreeSet<UnitId>,
    guards: Vec<UnitId>,
    /// The step that the next statement may join, and whether it uses an object.
    open: Option<(UnitId, bool)>,
    tables: BTreeMap<TableId, UnitId>,
    /// Variables that hold whether a table was hit.
    hits: BTreeMap<VarId, UnitId>,
}

impl<'a> Walk<'a> {
    /// Adds the units of `control` to `units`.
    pub fn run(
        program: &'a Program,
        control: &'a Control,
        scope: Scope<'a>,
        fields: &'a mut Fields,
        units: &'a mut Vec<Unit>,
        problems: &'a mut Vec<Problem>,
    ) {
        let mut walk = Walk {
            program,
            control,
            scope,
            fields,
            units,
            problems,
            before: BTreeSet::new(),
            guards: vec![],
            open: None,
            tables: BTreeMap::new(),
            hits: BTreeMap::new(),
        };
        walk.block(&control.body);
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) if hit(value).is_some() => {
                let Some(unit) = hit(value).map(|table| self.table(table)) else { return };
                if let ExprKind::Var(var) = place.kind {
                    self.hits.insert(var, unit);
                }
            }
            StmtKind::Apply(table) => {
                self.table(*table);
            }
            StmtKind::If(cond, yes, no) => {
                let guard = self.condition(cond, stmt);
                self.branch(guard, &[yes, no]);
            }
            StmtKind::Switch(SwitchOn::ActionRun(table), cases) => {
                let guard = self.table(*table);
                self.branch(guard, &cases.iter().map(|case| &case.body).collect::<Vec<_>>());
            }
            StmtKind::Switch(SwitchOn::Value(value), cases) => {
                let guard = self.condition(value, stmt);
                self.branch(guard, &cases.iter().map(|case| &case.body).collect::<Vec<_>>());
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::For { .. } | StmtKind::ForIn { .. } => {
                Problem::new(stmt.span, "a loop", "stages run once: unroll the loop").add_to(self.problems);
            }
            _ => self.code(stmt),
        }
    }

    /// Walks mutually exclusive blocks.
    fn branch(&mut self, guard: UnitId, blocks: &[&Block]) {
        self.open = None;
        self.guards.push(guard);
        let start = self.before.clone();
        let mut end = start.clone();
        for block in blocks {
            self.before.clone_from(&start);
            self.block(block);
            self.open = None;
            end.extend(self.before.iter());
        }
        self.before = end;
        self.guards.pop();
    }

    fn add(&mut self, unit: Unit) -> UnitId {
        if self.units.len() == MOST_UNITS {
            // The last step represents all following ones.
            let what = "a program of more tables and steps than any device holds";
            if self.problems.iter().all(|p| p.what != what) {
                Problem::new(unit.span, what, "divide the program").add_to(self.problems);
            }
            return MOST_UNITS - 1;
        }
        let id = self.units.len();
        self.units.push(unit);
        self.before.insert(id);
        id
    }

    pub(crate) fn unit(&self, kind: Kind, stmt_span: base_diag::Span) -> Unit {
        Unit {
            name: String::new(),
            span: stmt_span,
            half: self.scope.half(),
            kind,
            matches: vec![],
            reads: vec![],
            writes: vec![],
            instructions: 0,
            fixed: Fixed::default(),
            hashes: vec![],
            side: vec![],
            before: self.before.clone(),
            guards: self.guards.clone(),
            stage: None,
        }
    }

    /// The unit of a table. One that is applied in several branches is one unit.
    fn table(&mut self, id: TableId) -> UnitId {
        self.open = None;
        if let Some(unit) = self.tables.get(&id).copied() {
            let before: Vec<UnitId> = self.before.iter().copied().filter(|b| *b != unit).collect();
            let guards = &self.guards;
            let known = &mut self.units[unit];
            known.before.extend(before);
            known.guards.retain(|g| guards.contains(g));
            self.before.insert(unit);
            return unit;
        }
        let control = self.control;
        let unit = table::unit(self, &control.tables[id.index()]);
        let unit = self.add(unit);
        self.tables.insert(id, unit);
        unit
    }

    /// The unit that decides: a table, if the condition is whether it was hit, else a gateway.
    fn condition(&mut self, cond: &Expr, stmt: &Stmt) -> UnitId {
        let bare = match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, inner) => inner,
            _ => cond,
        };
        if let ExprKind::Var(var) = bare.kind
            && let Some(unit) = self.hits.get(&var)
        {
            return *unit;
        }
        self.open = None;
        let mut unit = self.unit(Kind::Gateway, cond_span(cond, stmt));
        unit.matches = self.scope.reads(self.fields, cond);
        unit.fixed.gateways = 1;
        unit.fixed.complex = unit.matches.iter().map(Access::bits).sum::<u32>() > GATEWAY_BITS;
        self.add(unit)
    }

    /// A statement that actions can do.
    fn code(&mut self, stmt: &Stmt) {
        let mut unit = self.unit(Kind::Action, stmt.span);
        let uses = self.effect(stmt, &mut unit);
        if unit.writes.is_empty() && !uses && unit.side.is_empty() {
            return;
        }
        for _ in 1..depth_of(stmt) {
            let mut step = self.unit(Kind::Action, stmt.span);
            let bits = unit.writes.iter().map(Access::bits).max().unwrap_or(8);
            let temporary = self.fields.temporary(bits, self.scope.half());
            step.reads = std::mem::take(&mut unit.reads);
            step.matches = std::mem::take(&mut unit.matches);
            step.writes = vec![temporary];
            step.instructions = 1;
            unit.reads = vec![temporary];
            self.join(step, false);
        }
        self.join(unit, uses);
    }

    /// Adds the unit to the step before it, or makes it a step.
    fn join(&mut self, unit: Unit, uses: bool) {
        if let Some((open, used)) = self.open
            && !(used && uses)
            && meeting(&self.units[open].writes, &unit.reads).is_none()
            && meeting(&self.units[open].writes, &unit.matches).is_none()
        {
            let step = &mut self.units[open];
            step.matches.extend(unit.matches);
            step.reads.extend(unit.reads);
            step.writes.extend(unit.writes);
            step.side.extend(unit.side);
            step.fixed.gateways = step.fixed.gateways.max(unit.fixed.gateways);
            step.fixed.hash_bits += unit.fixed.hash_bits;
            unit.hashes.into_iter().for_each(|hash| step.hash(hash));
            self.open = Some((open, used || uses));
            return;
        }
        let mut unit = unit;
        unit.before = self.before.clone();
        let id = self.add(unit);
        self.open = Some((id, uses));
    }

    /// Adds the fields and objects that a statement reads, writes and uses to `unit`; true if it uses an object other than a hash.
    pub(crate) fn effect(&mut self, stmt: &Stmt, unit: &mut Unit) -> bool {
        unit.instructions = unit.instructions.max(1);
        match &stmt.kind {
            StmtKind::Assign(place, value) | StmtKind::AssignOp(_, place, value) => {
                unit.writes.extend(self.scope.place(self.fields, place));
                self.check(value, stmt);
                if let ExprKind::Call(call) = &value.kind {
                    return self.call(call, &value.ty, unit);
                }
                unit.reads.extend(self.scope.reads(self.fields, value));
                if let StmtKind::AssignOp(..) = stmt.kind {
                    unit.reads.extend(self.scope.place(self.fields, place));
                }
                false
            }
            StmtKind::Call(call) => self.call(call, &Type::Void, unit),
            StmtKind::SetValid(header, _) => {
                unit.writes.extend(self.scope.shared_valid(self.fields, header));
                false
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                let all = self.scope.place(self.fields, stack);
                unit.reads.extend(&all);
                unit.writes.extend(all);
                false
            }
            // Branches inside of actions: both sides.
            StmtKind::If(cond, yes, no) => {
                unit.reads.extend(self.scope.reads(self.fields, cond));
                let mut uses = false;
                yes.stmts.iter().chain(&no.stmts).for_each(|stmt| uses |= self.effect(stmt, unit));
                uses
            }
            StmtKind::Block(block) => {
                let mut uses = false;
                block.stmts.iter().for_each(|stmt| uses |= self.effect(stmt, unit));
                uses
            }
            _ => false,
        }
    }

    /// A call of an extern; true if it uses an object other than a hash.
    fn call(&mut self, call: &Call, ty: &Type, unit: &mut Unit) -> bool {
        let (signature, object) = match call.callee {
            Callee::Method(id, method) => {
                let object = self.program.extern_object(self.program.instance(id).object);
                (&object.methods[method as usize].signature, Some((id, object.name.as_str())))
            }
            Callee::ExternFunction(id) => (&self.program.extern_functions[id.index()].signature, None),
            _ => return false,
        };
        let mut read = vec![];
        for (param, arg) in signature.params.iter().zip(&call.args) {
            let Some(arg) = arg else { continue };
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                unit.writes.extend(self.scope.place(self.fields, arg));
            }
            if param.direction != Direction::Out {
                read.extend(self.scope.reads(self.fields, arg));
            }
        }
        let captured = call.args.get(signature.params.len()..).unwrap_or_default();
        if captured.len() > STATEFUL_INPUTS {
            let what = format!("a register action that reads {} values of the packet", captured.len());
            let help = format!("a stateful ALU takes at most {STATEFUL_INPUTS} values beside its register's");
            Problem::new(call.span, &what, &help).add_to(self.problems);
        }
        if let Some((id, _)) = object {
            let found = stateful::problems(self.program, id, call.span).into_iter();
            found.for_each(|problem| problem.add_to(self.problems));
        }
        // They reach the ALU over the crossbar of exact matches.
        for value in captured.iter().flatten() {
            unit.matches.extend(self.scope.reads(self.fields, value));
        }
        let kind = object.map_or(Use::Other, |(_, name)| object::use_of(name));
        let function = object.is_none().then(|| match call.callee {
            Callee::ExternFunction(id) => self.program.extern_functions[id.index()].name.as_str(),
            _ => "",
        });
        if kind == Use::Hash || function == Some("hash") {
            let bits = match unit.writes.last() {
                Some(to) if function.is_some() => to.bits(),
                _ => object::hash_bits(self.program, ty),
            };
            let algorithm = match object {
                Some((id, _)) => object::algorithm(self.program, id),
                None => format!("{:?}", call.args.get(1).and_then(|arg| arg.as_ref()).map(|arg| &arg.kind)),
            };
            let (inputs, units) = (read.clone(), bits.div_ceil(HASH_UNIT_BITS));
            unit.hash(Hashed { to: Destination::Action, algorithm, inputs, bits, units });
            unit.matches.extend(read);
            unit.fixed.gateways = 1;
            return false;
        }
        let Some((id, _)) = object.filter(|_| kind != Use::Other) else {
            unit.reads.extend(read);
            return object.is_some();
        };
        if let Some(side) = object::side(self.program, id)
            && !unit.side.contains(&side)
        {
            unit.side.push(side);
        }
        if kind == Use::Indexed {
            unit.fixed.gateways = 1;
            if !read.is_empty() {
                let per_word = object::side(self.program, id).map_or(1, |side| side.per_word);
                let to = match object {
                    Some((_, "Counter" | "counter")) => Destination::Counter(per_word),
                    _ => Destination::Stateful(per_word),
                };
                let (algorithm, inputs) = (String::new(), read.clone());
                unit.hash(Hashed { to, algorithm, inputs, bits: INDEX_BITS, units: 1 });
                unit.matches.extend(read);
            }
        }
        true
    }

    /// Operations that no ALU of a stage does.
    fn check(&mut self, value: &Expr, stmt: &Stmt) {
        use ir::BinaryOp::{Div, Mod, Mul, Shl, Shr};
        let mut found = None;
        ir::visit::subexprs(value, &mut |e| {
            if let ExprKind::Binary(op, _, right) = &e.kind {
                let known = object::number(right);
                let is_power = known.is_some_and(u64::is_power_of_two);
                match op {
                    Mul | Div | Mod if !is_power => found = Some("a product, quotient or remainder"),
                    Shl | Shr if known.is_none() => found = Some("a shift by a value that is not constant"),
                    _ => {}
                }
            }
        });
        if let Some(found) = found {
            let help = "ALUs of stages add, subtract, compare, shift by constants and work bit by bit";
            Problem::new(stmt.span, found, help).add_to(self.problems);
        }
    }
}

fn cond_span(cond: &Expr, stmt: &Stmt) -> base_diag::Span {
    if cond.span.is_none() { stmt.span } else { cond.span }
}

/// The table whose hit or miss the expression is.
fn hit(expr: &Expr) -> Option<TableId> {
    match expr.kind {
        ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => Some(table),
        _ => None,
    }
}

/// Steps that a statement takes.
fn depth_of(stmt: &Stmt) -> u32 {
    match &stmt.kind {
        StmtKind::Assign(_, value) => depth(value).max(1),
        StmtKind::AssignOp(_, _, value) => depth(value) + 1,
        _ => 1,
    }
}

/// Operations on the longest path of an expression. Casts, slices, concatenations and complements cost nothing.
fn depth(expr: &Expr) -> u32 {
    let mut below = 0;
    ir::visit::parts(expr, &mut |part| below = below.max(depth(part)));
    match &expr.kind {
        ExprKind::Binary(ir::BinaryOp::Concat, ..) => below,
        ExprKind::Binary(..) => below + 1,
        _ => below,
    }
}
