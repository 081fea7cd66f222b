//! Registers: a read, a computation and a write of one cell become the action of a `RegisterAction`.
//!
//! ```text
//! Before: bit<32> cell; sums.read(cell, index); if (passed == 0) { cell = cell + more; } sum = cell; sums.write(index, cell);
//! After:  RegisterAction<bit<32>, bit<32>, bit<32>>(sums) sums_action = {
//!             void apply(inout bit<32> value, out bit<32> rv) { if (passed == 0) { value = value + more; } rv = value; } };
//!         sum = sums_action.execute(index);
//! ```
//!
//! Why: a stage does all three in one step. Written as `read` and `write`, a condition between them would put them into two actions, which no compiler can join.
//!
//! The statements between the two are assignments to the cell's variable, to variables of their own, and to at most one other variable, on all paths: a stateful ALU has one
//! result. Values that the action reads are those of the control's parameters and variables; others are copied to a variable of the control before. Other accesses stay.

use ir::{
    Block, Call, Callee, Const, ControlId, Direction, Expr, ExprKind, ExternId, ExternMethod, ExternObject,
    Function, FunctionId, Instance, InstanceId, Owner, Program, Signature, SignatureParam, Stmt, StmtKind,
    Type, Var, VarId, VarKind, build, visit,
};
use std::collections::{BTreeMap, BTreeSet};

const REGISTER: &str = "register";
/// Widths of a register's cells.
const CELL_BITS: [u64; 5] = [1, 8, 16, 32, 64];
/// The cell, in the action.
const VALUE: VarId = VarId(0);
/// The result of the action.
const RESULT: VarId = VarId(1);
/// Name of a value that is copied for an action.
const COPY: &str = "operand";
const EXECUTE: u32 = 0;
const APPLY: u32 = 1;

/// Registers whose cells no Tofino has, in sentences.
pub(crate) fn odd_cells(program: &Program) -> Vec<String> {
    let odd = |instance: &Instance| {
        let object = program.extern_object(instance.object);
        let bits = instance.type_args.first().and_then(|cell| program.bits(cell))?;
        let is_odd = object.name == REGISTER && !object.user && !CELL_BITS.contains(&bits);
        let name = &instance.control_plane_name;
        is_odd
            .then(|| format!("a Tofino has cells of 1, 8, 16, 32 and 64 bits: those of `{name}` have {bits}"))
    };
    program.instances.iter().filter_map(odd).collect()
}

/// Replaces the accesses of all controls.
pub(crate) fn replace(program: &mut Program) {
    let found = program.externs.iter().position(|object| object.name == REGISTER && !object.user);
    let Some(register) = found.map(ExternId::from) else { return };
    let old = program.clone();
    let (mut instances, mut functions) = (vec![], vec![]);
    for (id, control) in program.controls.iter_mut().enumerate() {
        let mut calls = false;
        visit::calls(&control.locals, &mut |_| calls = true);
        // Such variables stand after the objects, whose actions could not read them.
        if calls {
            continue;
        }
        let declared = control.locals.iter().filter_map(declared);
        let visible: BTreeSet<VarId> = control.params.iter().copied().chain(declared).collect();
        let mut accesses = Accesses {
            old: &old,
            register,
            owner: ControlId::from(id),
            names: visible.iter().map(|var| control.vars[var.index()].name.to_string()).collect(),
            visible,
            vars: std::mem::take(&mut control.vars),
            locals: vec![],
            instances: std::mem::take(&mut instances),
            functions: std::mem::take(&mut functions),
        };
        let before = accesses.instances.len();
        let actions = control.actions.iter_mut().map(|action| &mut action.body);
        actions.chain([&mut control.body]).for_each(|body| accesses.list(&mut body.stmts));
        control.vars = accesses.vars;
        control.locals.append(&mut accesses.locals);
        (instances, functions) = (accesses.instances, accesses.functions);
        let added = before..instances.len();
        control.instances.extend(added.map(|at| InstanceId::from(old.instances.len() + at)));
    }
    if instances.is_empty() {
        return;
    }
    program.instances.append(&mut instances);
    program.functions.append(&mut functions);
    program.externs.push(object());
}

fn declared(stmt: &Stmt) -> Option<VarId> {
    if let StmtKind::Declare(var, _) = stmt.kind { Some(var) } else { None }
}

/// True if the statements mention the variable.
fn reads_of(stmts: &[Stmt], var: VarId) -> bool {
    let mut found = false;
    let mut note = |stmt: &Stmt| {
        visit::exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |part| found |= matches!(part.kind, ExprKind::Var(id) if id == var));
        });
    };
    for stmt in stmts {
        note(stmt);
        visit::blocks(stmt, &mut |block| visit::stmts(block, &mut note));
    }
    found
}

struct Accesses<'p> {
    old: &'p Program,
    register: ExternId,
    owner: ControlId,
    /// Parameters and variables of the control, which its objects can read.
    visible: BTreeSet<VarId>,
    /// The names of `visible`.
    names: BTreeSet<String>,
    vars: Vec<Var>,
    /// New variables of the control.
    locals: Vec<Stmt>,
    instances: Vec<Instance>,
    functions: Vec<Function>,
}

impl Accesses<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        for stmt in stmts.iter_mut() {
            visit::blocks_mut(stmt, &mut |block| self.list(&mut block.stmts));
        }
        let mut at = 0;
        while at < stmts.len() {
            if let Some((end, new)) = self.access(stmts, at) {
                stmts.splice(at..=end, new);
            }
            at += 1;
        }
    }

    /// The register and the arguments of a call of this method.
    fn call<'s>(&self, stmt: &'s Stmt, name: &str) -> Option<(InstanceId, &'s Expr, &'s Expr)> {
        let StmtKind::Call(Call { callee: Callee::Method(id, method), args, .. }) = &stmt.kind else {
            return None;
        };
        let object = self.old.instances.get(id.index())?.object;
        let method = self.old.extern_object(object).methods.get(*method as usize)?;
        let [Some(first), Some(second)] = &args[..] else { return None };
        (object == self.register && method.name == name).then_some((*id, first, second))
    }

    /// The place of the write that belongs to the read at `at`, and what stands for all of it.
    fn access(&mut self, stmts: &[Stmt], at: usize) -> Option<(usize, Vec<Stmt>)> {
        let (register, cell, index) = self.call(&stmts[at], "read")?;
        let after = &stmts[at + 1..];
        let (length, index_of_write, written) = after.iter().enumerate().find_map(|(at, stmt)| {
            let (of, index, value) = self.call(stmt, "write")?;
            (of == register).then_some((at, index, value))
        })?;
        let rest = &after[length + 1..];
        let (between, mut new) = self.declared_before(&after[..length], rest);
        let between = &between[..];
        let (cell, index) = (plain(cell), plain(index));
        if !is_place(&cell) || index != plain(index_of_write) {
            return None;
        }
        let (mut set, mut own) = (vec![], BTreeSet::new());
        assigned(between, &mut set, &mut own)?;
        set.retain(|place| *place != cell);
        let result = match &set[..] {
            [] => None,
            [place] => Some(place.clone()),
            _ => return None,
        };
        let mut reads_changed = false;
        visit::subexprs(&index, &mut |part| {
            reads_changed |= [Some(&cell), result.as_ref()].into_iter().flatten().any(|p| overlap(p, part));
        });
        let is_needed = !self.ends(&cell, &stmts[..at], rest);
        if reads_changed || result.is_some() && is_needed {
            return None;
        }
        if let Some(place) = &result
            && (overlap(place, &cell) || !is_set(between, place, false)?)
        {
            return None;
        }
        let span = stmts[at].span;
        let target = result.clone().or_else(|| is_needed.then(|| cell.clone()));
        let param = |name: &str, direction, ty: &Type| Var {
            name: free_name(&self.names, name).into(),
            ty: ty.clone(),
            kind: VarKind::Param(direction),
            annotations: vec![],
            span,
        };
        let of_result = target.as_ref().unwrap_or(&cell).ty.clone();
        let vars = vec![param("value", Direction::InOut, &cell.ty), param("rv", Direction::Out, &of_result)];
        let mut action = Action {
            program: self.old,
            outer: &self.vars,
            names: &self.names,
            own: BTreeMap::new(),
            vars,
            captured: vec![],
            cell: cell.clone(),
            result: result.clone(),
        };
        let mut body = action.stmts(between)?;
        if result.is_none() {
            body.push(build::assign(build::var(RESULT, &of_result), build::var(VALUE, &cell.ty)).at(span));
        }
        if plain(written) != cell {
            let value = action.expr(written)?;
            body.push(build::assign(build::var(VALUE, &cell.ty), value).at(span));
        }
        let (vars, captured) = (action.vars, action.captured);
        let mut args = vec![Some(index)];
        let mut params = vec![VALUE, RESULT];
        for (place, param) in captured {
            params.push(param);
            let place = place.at(span);
            let value = if root(&place).is_some_and(|root| self.visible.contains(&root)) {
                place
            } else {
                let copy = build::local(&mut self.vars, COPY, place.ty.clone(), span);
                self.locals.push(build::declare(copy, None).at(span));
                let copy = build::var_of(&self.vars, copy);
                new.push(build::assign(copy.clone(), place).at(span));
                copy
            };
            args.push(Some(value));
        }
        let callee = Callee::Method(self.action(register, &cell.ty, &of_result, params, vars, body), EXECUTE);
        let call = Call { callee, type_args: vec![], args, span };
        new.push(match target {
            Some(place) => {
                let value = build::expr(ExprKind::Call(Box::new(call)), of_result).at(span);
                build::assign(place.at(span), value).at(span)
            }
            None => build::stmt(StmtKind::Call(call)).at(span),
        });
        Some((at + 1 + length, new))
    }

    /// The statements of an access, and before them the declarations of the variables that `rest` reads.
    fn declared_before(&self, stmts: &[Stmt], rest: &[Stmt]) -> (Vec<Stmt>, Vec<Stmt>) {
        let mut before = vec![];
        let within = stmts.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Declare(var, init) if reads_of(rest, *var) => {
                before.push(build::declare(*var, None).at(stmt.span));
                let init = init.clone()?;
                Some(build::assign(build::var_of(&self.vars, *var), init).at(stmt.span))
            }
            _ => Some(stmt.clone()),
        });
        (within.collect(), before)
    }

    /// True if nothing reads the place after the access: a variable that the same list declares, and that is not read or set anew.
    fn ends(&self, place: &Expr, before: &[Stmt], after: &[Stmt]) -> bool {
        let ExprKind::Var(var) = place.kind else { return false };
        if !before.iter().any(|stmt| declared(stmt) == Some(var)) {
            return false;
        }
        let next = after.iter().find(|stmt| reads_of(std::slice::from_ref(stmt), var));
        let Some(next) = next else { return true };
        let set_by = match &next.kind {
            StmtKind::Assign(to, value) => Some((to, value)),
            _ => self.call(next, "read").map(|(_, to, index)| (to, index)),
        };
        set_by.is_some_and(|(to, from)| {
            let mut is_read = false;
            visit::subexprs(from, &mut |part| is_read |= root(part) == Some(var));
            plain(to) == *place && !is_read
        })
    }

    /// A new `RegisterAction` of the register.
    fn action(
        &mut self,
        register: InstanceId,
        cell: &Type,
        result: &Type,
        params: Vec<VarId>,
        vars: Vec<Var>,
        body: Vec<Stmt>,
    ) -> InstanceId {
        let of = self.old.instance(register);
        let span = of.span;
        let is_taken = |name: &str| {
            let mut all = self.old.instances.iter().chain(&self.instances);
            all.any(|instance| instance.control_plane_name == name)
        };
        let mut name = format!("{}_action", of.control_plane_name);
        while is_taken(&name) {
            name.push('_');
        }
        let index = of.type_args.get(1).cloned().unwrap_or(Type::Bit(32));
        let object = Type::Extern(self.register, of.type_args.clone());
        self.functions.push(Function {
            name: format!("{}_apply", name.replace('.', "_")).into(),
            returns: Type::Void,
            params,
            vars,
            body: build::block(body),
            annotations: vec![],
            span,
        });
        let function = FunctionId::from(self.old.functions.len() + self.functions.len() - 1);
        self.instances.push(Instance {
            name: format!("{}_action", of.name).into(),
            control_plane_name: name.into(),
            object: ExternId::from(self.old.externs.len()),
            type_args: vec![cell.clone(), index, result.clone()],
            args: vec![build::expr(ExprKind::Const(Const::Instance(register)), object)],
            owner: Owner::Control(self.owner),
            methods: vec![(APPLY, function)],
            annotations: vec![],
            span,
        });
        InstanceId::from(self.old.instances.len() + self.instances.len() - 1)
    }
}

/// The body of an action.
struct Action<'p> {
    program: &'p Program,
    /// Variables of the control.
    outer: &'p [Var],
    /// Names of what objects of the control can read.
    names: &'p BTreeSet<String>,
    /// Variables that the statements declare, with those of the action.
    own: BTreeMap<VarId, VarId>,
    vars: Vec<Var>,
    /// Places of the control that it reads, with their parameters.
    captured: Vec<(Expr, VarId)>,
    cell: Expr,
    result: Option<Expr>,
}

impl Action<'_> {
    fn stmts(&mut self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let kind = match &stmt.kind {
            StmtKind::Declare(var, init) => {
                let init = init.as_ref().map(|init| self.expr(init));
                let init = if let Some(init) = init { Some(init?) } else { None };
                let known = self.outer.get(var.index())?;
                let name = free_name(self.names, known.name.as_str());
                let new = build::local(&mut self.vars, &name, known.ty.clone(), known.span);
                self.own.insert(*var, new);
                StmtKind::Declare(new, init)
            }
            StmtKind::Assign(place, value) => {
                let value = self.expr(value)?;
                StmtKind::Assign(self.expr(place)?, value)
            }
            StmtKind::If(cond, yes, no) => {
                let cond = self.expr(cond)?;
                StmtKind::If(cond, self.block(yes)?, self.block(no)?)
            }
            StmtKind::Block(block) => StmtKind::Block(self.block(block)?),
            _ => return None,
        };
        Some(Stmt { kind, span: stmt.span })
    }

    fn block(&mut self, block: &Block) -> Option<Block> {
        Some(Block { stmts: self.stmts(&block.stmts)?, ..block.clone() })
    }

    fn expr(&mut self, expr: &Expr) -> Option<Expr> {
        match &expr.kind {
            ExprKind::Const(_) => Some(expr.clone()),
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::IsValid(_) => self.place(expr),
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Ternary(..)
            | ExprKind::Cast(_)
            | ExprKind::Slice { .. } => {
                let (mut new, mut all) = (expr.clone(), true);
                visit::parts_mut(&mut new, &mut |part| match self.expr(part) {
                    Some(value) => *part = value,
                    None => all = false,
                });
                all.then_some(new)
            }
            _ => None,
        }
    }

    /// A place of the control, or whether a header is valid.
    fn place(&mut self, expr: &Expr) -> Option<Expr> {
        let place = plain(expr);
        let known = |id| Some(build::var(id, &place.ty).at(expr.span));
        if place == self.cell {
            return known(VALUE);
        }
        if Some(&place) == self.result.as_ref() {
            return known(RESULT);
        }
        if let ExprKind::Var(id) = place.kind
            && let Some(id) = self.own.get(&id)
        {
            return known(*id);
        }
        let is_own = root(&place).is_none_or(|root| self.own.contains_key(&root));
        let is_changed = [Some(&self.cell), self.result.as_ref()]
            .into_iter()
            .flatten()
            .any(|other| overlap(other, &place));
        let is_value =
            matches!(self.program.representation(&place.ty), Type::Bit(_) | Type::Int(_) | Type::Bool);
        if is_own || is_changed || !is_value {
            return None;
        }
        if let Some((_, param)) = self.captured.iter().find(|(read, _)| *read == place) {
            return known(*param);
        }
        self.vars.push(Var {
            name: COPY.into(),
            ty: place.ty.clone(),
            kind: VarKind::Param(Direction::In),
            annotations: vec![],
            span: expr.span,
        });
        let param = VarId::from(self.vars.len() - 1);
        self.captured.push((place.clone(), param));
        known(param)
    }
}

/// A name that no variable of the control has: in an action it would hide one that the action reads.
fn free_name(taken: &BTreeSet<String>, name: &str) -> String {
    let mut name = if name.starts_with(COPY) { format!("own_{name}") } else { name.to_string() };
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// The places that assignments change, and the variables that are declared between them; `None` if there are other statements.
fn assigned(stmts: &[Stmt], places: &mut Vec<Expr>, own: &mut BTreeSet<VarId>) -> Option<()> {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Declare(var, _) => {
                own.insert(*var);
            }
            StmtKind::Assign(place, _) => {
                let place = plain(place);
                if !is_place(&place) {
                    return None;
                }
                let is_own = root(&place).is_some_and(|root| own.contains(&root));
                if !is_own && !places.contains(&place) {
                    places.push(place);
                }
            }
            StmtKind::If(_, yes, no) => {
                assigned(&yes.stmts, places, own)?;
                assigned(&no.stmts, places, own)?;
            }
            StmtKind::Block(block) => assigned(&block.stmts, places, own)?,
            _ => return None,
        }
    }
    Some(())
}

/// True if the statements set the place on all paths; `None` if they may read it before. `before`: it is set already.
fn is_set(stmts: &[Stmt], place: &Expr, before: bool) -> Option<bool> {
    let mut set = before;
    let reads = |expr: &Expr| {
        let mut reads = false;
        visit::subexprs(expr, &mut |part| reads |= plain(part) == *place);
        reads
    };
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Declare(_, Some(value)) if !set && reads(value) => return None,
            StmtKind::Assign(to, value) => {
                if !set && reads(value) {
                    return None;
                }
                set |= plain(to) == *place;
            }
            StmtKind::If(cond, yes, no) => {
                if !set && reads(cond) {
                    return None;
                }
                let (yes, no) = (is_set(&yes.stmts, place, set)?, is_set(&no.stmts, place, set)?);
                set = yes && no;
            }
            StmtKind::Block(block) => set = is_set(&block.stmts, place, set)?,
            _ => {}
        }
    }
    Some(set)
}

/// A variable or a field in one.
fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) => is_place(base),
        _ => false,
    }
}

/// The variable that a place or the header of an `isValid` is in.
fn root(expr: &Expr) -> Option<VarId> {
    match &expr.kind {
        ExprKind::Var(id) => Some(*id),
        ExprKind::Field(base, _) | ExprKind::IsValid(base) => root(base),
        _ => None,
    }
}

/// True if one of the places is in the other.
fn overlap(one: &Expr, other: &Expr) -> bool {
    let contains = |whole: &Expr, part: &Expr| {
        let mut part = Some(part);
        std::iter::from_fn(|| {
            let this = part?;
            part = if let ExprKind::Field(base, _) = &this.kind { Some(&**base) } else { None };
            Some(this)
        })
        .any(|part| part == whole)
    };
    contains(one, other) || contains(other, one)
}

/// The expression without its place in the source: equal ones are equal.
fn plain(expr: &Expr) -> Expr {
    let mut plain = expr.clone();
    visit::subexprs_mut(&mut plain, &mut |part| part.span = base_diag::Span::NONE);
    plain
}

/// `RegisterAction`, as far as the new program uses it.
fn object() -> ExternObject {
    let span = base_diag::Span::NONE;
    let param = |name: &str, direction, ty: &str, optional| SignatureParam {
        name: name.into(),
        direction,
        ty: Type::Param(ty.into()),
        optional,
    };
    let method = |name: &str, params, returns, is_abstract| ExternMethod {
        name: name.into(),
        signature: Signature { type_params: vec![], params, returns },
        is_abstract,
        annotations: vec![],
        span,
    };
    ExternObject {
        name: "RegisterAction".into(),
        user: false,
        type_params: ["T", "I", "U"].map(Into::into).to_vec(),
        constructors: vec![],
        methods: vec![
            method(
                "execute",
                vec![param("index", Direction::In, "I", false)],
                Type::Param("U".into()),
                false,
            ),
            method(
                "apply",
                vec![param("value", Direction::InOut, "T", false), param("rv", Direction::Out, "U", true)],
                Type::Void,
                true,
            ),
        ],
        annotations: vec![],
        span,
    }
}
