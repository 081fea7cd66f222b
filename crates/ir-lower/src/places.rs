//! Parts of variables that code reads and writes, and whether two of them may overlap.

use crate::walk;
use ir::{
    Action, Call, Callee, Const, Direction, Expr, ExprKind, Program, Stmt, StmtKind, Var, VarId, VarKind,
    visit,
};

/// A variable, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) var: VarId,
    /// Fields and elements from the outside in; `None` for an element that is not known.
    pub(crate) path: Vec<Option<u32>>,
}

impl Place {
    /// The place that `expr` is, or a part of; slices stand for the whole.
    pub(crate) fn of(expr: &Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::Var(var) => Some(Place { var: *var, path: vec![] }),
            ExprKind::Field(base, index) => Place::of(base).map(|place| place.part(Some(*index))),
            ExprKind::Index(base, index) => Place::of(base).map(|place| place.part(constant_index(index))),
            ExprKind::Next(base) | ExprKind::Last(base) => Place::of(base).map(|place| place.part(None)),
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => Place::of(base),
            _ => None,
        }
    }

    fn part(mut self, index: Option<u32>) -> Place {
        self.path.push(index);
        self
    }

    /// True if the two may share bits.
    pub(crate) fn overlaps(&self, other: &Place) -> bool {
        let same = |(a, b): (&Option<u32>, &Option<u32>)| a.is_none() || b.is_none() || a == b;
        self.var == other.var && self.path.iter().zip(&other.path).all(same)
    }
}

/// The value of a constant index.
pub(crate) fn constant_index(index: &Expr) -> Option<u32> {
    match &index.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u32(),
        ExprKind::Const(Const::Int(n)) => u32::try_from(n).ok(),
        _ => None,
    }
}

/// True if `expr` names a place without anything that is worked out at run time.
pub(crate) fn is_fixed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) => is_fixed(base),
        ExprKind::Index(base, index) => constant_index(index).is_some() && is_fixed(base),
        _ => false,
    }
}

/// True if `expr` is made like a place.
pub(crate) fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _)
        | ExprKind::Index(base, _)
        | ExprKind::Next(base)
        | ExprKind::Last(base)
        | ExprKind::Slice { base, .. }
        | ExprKind::SlicePlus { base, .. } => is_place(base),
        _ => false,
    }
}

/// Calls `f` with every place that `expr` reads, the largest ones, and with those in their indices.
pub(crate) fn read_by(expr: &Expr, f: &mut dyn FnMut(Place)) {
    if let Some(place) = Place::of(expr) {
        f(place);
        read_by_indices(expr, f);
        return;
    }
    walk::parts(expr).into_iter().for_each(|part| read_by(part, f));
}

fn read_by_indices(place: &Expr, f: &mut dyn FnMut(Place)) {
    match &place.kind {
        ExprKind::Field(base, _)
        | ExprKind::Next(base)
        | ExprKind::Last(base)
        | ExprKind::Slice { base, .. } => {
            read_by_indices(base, f);
        }
        ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
            read_by_indices(base, f);
            read_by(index, f);
        }
        _ => {}
    }
}

/// Places that code may write.
#[derive(Clone, Default, Debug)]
pub(crate) struct Writes {
    /// Anything at all: a table's action ran, or an extern calls back.
    pub(crate) everything: bool,
    pub(crate) places: Vec<Place>,
}

impl Writes {
    /// True if the writes may change `place`.
    pub(crate) fn touches(&self, place: &Place) -> bool {
        self.everything || self.places.iter().any(|written| written.overlaps(place))
    }

    /// Adds the writes of evaluating `expr`.
    pub(crate) fn expr(&mut self, expr: &Expr, signatures: &Signatures) {
        visit::subexprs(expr, &mut |e| match &e.kind {
            ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => self.everything = true,
            ExprKind::Call(call) => self.call(call, signatures),
            _ => {}
        });
    }

    fn call(&mut self, call: &Call, signatures: &Signatures) {
        self.everything |= signatures.calls_back(call);
        for (arg, direction) in call.args.iter().zip(signatures.directions(call)) {
            if let (Some(arg), Direction::Out | Direction::InOut) = (arg, direction) {
                self.places.extend(Place::of(arg));
            }
        }
    }

    /// Adds the writes of running `stmts`.
    pub(crate) fn stmts(&mut self, stmts: &[Stmt], signatures: &Signatures) {
        walk::all_stmts(stmts, &mut |stmt| {
            match &stmt.kind {
                StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => {
                    self.places.push(Place { var: *var, path: vec![] });
                }
                StmtKind::Assign(place, _)
                | StmtKind::AssignOp(_, place, _)
                | StmtKind::SetValid(place, _)
                | StmtKind::PushFront(place, _)
                | StmtKind::PopFront(place, _) => self.written(place, signatures),
                StmtKind::Extract { header, .. } => {
                    self.written(header, signatures);
                    // `extract(stack.next)` also moves the stack's index.
                    if let ExprKind::Next(stack) = &header.kind {
                        self.places.extend(Place::of(stack));
                    }
                }
                StmtKind::Apply(_) | StmtKind::Switch(ir::SwitchOn::ActionRun(_), _) => {
                    self.everything = true
                }
                StmtKind::Call(call) => {
                    self.everything |=
                        matches!(call.callee, Callee::Action(_) | Callee::Control(_) | Callee::Parser(_));
                    self.call(call, signatures);
                }
                _ => {}
            }
            walk::own_exprs(stmt, &mut |expr| self.expr(expr, signatures));
        });
    }

    /// A place that is written; with a member of a union the whole union changes.
    fn written(&mut self, place: &Expr, signatures: &Signatures) {
        let whole = match &place.kind {
            ExprKind::Field(base, _) if signatures.program.is_union(&base.ty) => base,
            _ => place,
        };
        self.places.extend(Place::of(whole));
    }
}

/// How calls pass their arguments, in one unit of a program.
pub(crate) struct Signatures<'a> {
    program: &'a Program,
    actions: Vec<Vec<Direction>>,
    /// Implementations of methods write nothing of their block.
    pub(crate) trusts_methods: bool,
}

impl<'a> Signatures<'a> {
    /// In a parser or function.
    pub(crate) fn new(program: &'a Program) -> Signatures<'a> {
        Signatures { program, actions: vec![], trusts_methods: false }
    }

    /// In a control with these actions.
    pub(crate) fn with_actions(program: &'a Program, actions: &[Action], vars: &[Var]) -> Signatures<'a> {
        let actions = actions.iter().map(|action| declared(&action.params, vars)).collect();
        Signatures { program, actions, trusts_methods: false }
    }

    /// How each argument passes.
    pub(crate) fn directions(&self, call: &Call) -> Vec<Direction> {
        let program = self.program;
        let of = |signature: &ir::Signature| signature.params.iter().map(|param| param.direction).collect();
        let found = match &call.callee {
            Callee::Action(id) => self.actions.get(id.index()).cloned(),
            Callee::Function(id) => program.functions.get(id.index()).map(|f| declared(&f.params, &f.vars)),
            Callee::Control(id) => program.controls.get(id.index()).map(|c| declared(&c.params, &c.vars)),
            Callee::Parser(id) => program.parsers.get(id.index()).map(|p| declared(&p.params, &p.vars)),
            Callee::ExternFunction(id) => program.extern_functions.get(id.index()).map(|f| of(&f.signature)),
            Callee::Method(id, method) => {
                let object =
                    program.instances.get(id.index()).and_then(|i| program.externs.get(i.object.index()));
                object.and_then(|o| o.methods.get(*method as usize)).map(|m| of(&m.signature))
            }
            Callee::ParamMethod(..) => None,
        };
        let mut found = found.unwrap_or_else(|| vec![Direction::InOut; call.args.len()]);
        // Values that the implementations of an instance's methods capture.
        found.resize(found.len().max(call.args.len()), Direction::In);
        found
    }

    /// True for the method of an object with state, whose arguments are numbers and nothing more.
    pub(crate) fn has_state(&self, call: &Call) -> bool {
        let Callee::Method(id, _) = call.callee else { return false };
        let object = self.program.instances.get(id.index()).map(|i| self.program.extern_object(i.object));
        let state = ["Register", "Counter", "Meter", "register", "counter", "meter"];
        object.is_some_and(|object| state.iter().any(|part| object.name.contains(part)))
    }

    /// True if the callee may run functions of the program that see the caller's variables.
    fn calls_back(&self, call: &Call) -> bool {
        match &call.callee {
            Callee::Method(..) if self.trusts_methods => false,
            Callee::Method(id, _) => {
                self.program.instances.get(id.index()).is_some_and(|i| !i.methods.is_empty())
            }
            Callee::ParamMethod(..) => true,
            _ => false,
        }
    }
}

fn declared(params: &[VarId], vars: &[Var]) -> Vec<Direction> {
    let direction = |id: &VarId| match vars.get(id.index()).map(|var| var.kind) {
        Some(VarKind::Param(direction)) => direction,
        _ => Direction::InOut,
    };
    params.iter().map(direction).collect()
}
