//! Metadata of a parser: each path assigns a field once, and an extracted value where its place in the packet is known.
//!
//! ```text
//! Before: state a { meta.n = 6; packet.extract(hdr.h); transition select(hdr.h.k) { 1: b; default: accept; } }
//!         state b { ... c or d }  state d { ... c }  state c { meta.n = hdr.h.n; }
//! After:  state a { packet.extract(hdr.h); transition select(hdr.h.k) { 1: b; default: a_n; } }  state a_n { meta.n = 6; }
//!         state b { meta.n = hdr.h.n; ... c or d }  state d { ... c }  state c { }
//! ```
//!
//! Why: the parser of a Tofino joins the bits of all values that it assigns to a field, and reads the packet only at distances from the state that are the same on all
//! paths. It drops the packets that it rejects, so nobody sees a value that a later state replaces.
//!
//! A field that the parser reads stays as it is, like one that a loop of states assigns.

use crate::original::{path, places};
use base_diag::Span;
use ir::{
    ExprKind, Name, Parser, ParserState, Program, StateId, StateRef, Stmt, StmtKind, Transition, VarId, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// A variable, and the fields below it.
type Place = (VarId, Vec<u32>);

/// Moves the assignments of all parsers.
pub(crate) fn move_assignments(program: &mut Program) {
    let old = program.clone();
    for parser in &mut program.parsers {
        let mut places = BTreeSet::new();
        let all = parser.states.iter().flat_map(|state| &state.stmts);
        places.extend(all.filter_map(|stmt| assigned(&old, stmt)));
        for place in places {
            let mut moves = Moves { program: &old, parser, place };
            if moves.is_only_assigned() {
                moves.sink();
                moves.hoist();
            }
        }
    }
}

/// The metadata that a statement assigns as a whole.
fn assigned(program: &Program, stmt: &Stmt) -> Option<Place> {
    let StmtKind::Assign(place, _) = &stmt.kind else { return None };
    let ExprKind::Field(base, _) = &place.kind else { return None };
    (!program.is_header(&base.ty)).then(|| path(place)).flatten()
}

/// The states that may follow.
fn next(transition: &Transition) -> Vec<StateRef> {
    match transition {
        Transition::Goto(next) => vec![*next],
        Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
    }
}

fn retarget(transition: &mut Transition, from: StateRef, to: StateRef) {
    let all: Vec<&mut StateRef> = match transition {
        Transition::Goto(next) => vec![next],
        Transition::Select(select) => select.cases.iter_mut().map(|case| &mut case.next).collect(),
    };
    all.into_iter().filter(|next| **next == from).for_each(|next| *next = to);
}

struct Moves<'p> {
    program: &'p Program,
    parser: &'p mut Parser,
    place: Place,
}

impl Moves<'_> {
    /// True if all that the parser does with the place is to assign it: once in a state, without a condition.
    fn is_only_assigned(&self) -> bool {
        let (root, fields) = &self.place;
        let mut mentions = 0;
        let mut look = |expr: &ir::Expr| {
            places(expr, &mut |(var, of)| {
                mentions += usize::from(var == *root && (of.starts_with(fields) || fields.starts_with(&of)));
            });
        };
        let mut assignments = 0;
        for state in &self.parser.states {
            let own = state.stmts.iter().filter(|stmt| self.assigns(stmt)).count();
            if own > 1 {
                return false;
            }
            assignments += own;
            for stmt in &state.stmts {
                visit::exprs(stmt, &mut look);
                visit::blocks(stmt, &mut |block| {
                    visit::stmts(block, &mut |stmt| visit::exprs(stmt, &mut look));
                });
            }
            if let Transition::Select(select) = &state.transition {
                select.exprs.iter().for_each(&mut look);
            }
        }
        mentions == assignments
    }

    fn assigns(&self, stmt: &Stmt) -> bool {
        assigned(self.program, stmt).as_ref() == Some(&self.place)
    }

    /// The position of the assignment in a state.
    fn assignment(&self, state: usize) -> Option<usize> {
        self.parser.states[state].stmts.iter().position(|stmt| self.assigns(stmt))
    }

    fn next(&self, state: usize) -> Vec<StateRef> {
        next(&self.parser.states[state].transition)
    }

    /// True if every packet that is accepted after `at` passes an assignment for which `counts` holds. A loop never does. `known` has the states that were seen.
    fn surely(
        &self,
        at: StateRef,
        counts: &dyn Fn(usize) -> bool,
        known: &mut BTreeMap<usize, bool>,
    ) -> bool {
        let StateRef::State(id) = at else { return at == StateRef::Reject };
        let state = id.index();
        if self.assignment(state).is_some() {
            return counts(state);
        }
        if let Some(known) = known.get(&state) {
            return *known;
        }
        known.insert(state, false);
        let all = self.next(state).into_iter().all(|next| self.surely(next, counts, known));
        known.insert(state, all);
        all
    }

    /// True if a packet may pass an assignment after `at`.
    fn perhaps(&self, at: StateRef, seen: &mut BTreeSet<usize>) -> bool {
        let StateRef::State(id) = at else { return false };
        let state = id.index();
        if !seen.insert(state) {
            return false;
        }
        self.assignment(state).is_some() || self.next(state).into_iter().any(|next| self.perhaps(next, seen))
    }

    /// Moves constants that later states may replace to the paths where none does.
    fn sink(&mut self) {
        for state in 0..self.parser.states.len() {
            let Some(at) = self.assignment(state) else { continue };
            let StmtKind::Assign(_, value) = &self.parser.states[state].stmts[at].kind else { continue };
            if !matches!(value.kind, ExprKind::Const(_)) {
                continue;
            }
            let all = self.next(state);
            let (replaced, mut kept): (Vec<_>, Vec<_>) = all
                .into_iter()
                .partition(|next| self.surely(*next, &|other| other != state, &mut BTreeMap::new()));
            let is_unclear = |next: &StateRef| self.perhaps(*next, &mut BTreeSet::new());
            if replaced.iter().all(|next| *next == StateRef::Reject) || kept.iter().any(is_unclear) {
                continue;
            }
            let stmt = self.parser.states[state].stmts.remove(at);
            while let Some(next) = kept.pop() {
                kept.retain(|other| *other != next);
                let own = StateRef::State(StateId::from(self.parser.states.len()));
                let name = self.fresh(state);
                retarget(&mut self.parser.states[state].transition, next, own);
                self.parser.states.push(ParserState {
                    name,
                    stmts: vec![stmt.clone()],
                    transition: Transition::Goto(next),
                    annotations: vec![],
                    span: Span::NONE,
                });
            }
        }
    }

    /// The name of a state after another.
    fn fresh(&self, state: usize) -> Name {
        let of = &self.parser.states[state].name;
        let is_known = |name: &String| self.parser.states.iter().any(|state| state.name == *name);
        let all = (0..).map(|n| format!("{of}_else{n}"));
        all.into_iter().find(|name| !is_known(name)).unwrap_or_default().into()
    }

    /// Moves assignments of an extracted field from a state that several paths reach to the first state from which all paths lead there.
    fn hoist(&mut self) {
        for state in 0..self.parser.states.len() {
            let Some(at) = self.assignment(state) else { continue };
            let StmtKind::Assign(_, value) = &self.parser.states[state].stmts[at].kind else { continue };
            let ExprKind::Field(header, _) = &value.kind else { continue };
            let Some(header) = path(header).filter(|_| self.program.is_header(&header.ty)) else { continue };
            let here = StateRef::State(StateId::from(state));
            let reaching = self.parser.states.iter().filter(|of| next(&of.transition).contains(&here));
            if reaching.count() < 2 {
                continue;
            }
            let leads = |at: usize| {
                let at = StateRef::State(StateId::from(at));
                self.surely(at, &|other| other == state, &mut BTreeMap::new())
            };
            let (before, others): (Vec<usize>, Vec<usize>) =
                (0..self.parser.states.len()).partition(|at| leads(*at));
            let entered = |from: &[usize]| -> BTreeSet<usize> {
                let all = from.iter().flat_map(|at| self.next(*at));
                let ids = all
                    .filter_map(|next| if let StateRef::State(id) = next { Some(id.index()) } else { None });
                ids.filter(|at| before.contains(at)).collect()
            };
            let mut entries = entered(&others);
            entries.extend(before.iter().copied().filter(|at| *at == 0));
            let again = entered(&before);
            let extracts =
                |at: &usize| self.parser.states[*at].stmts.iter().any(|stmt| extracts(stmt, &header));
            if entries.contains(&state) || !entries.is_disjoint(&again) || before.iter().any(extracts) {
                continue;
            }
            let stmt = self.parser.states[state].stmts.remove(at);
            for entry in entries {
                self.parser.states[entry].stmts.insert(0, stmt.clone());
            }
        }
    }
}

/// True if a statement, or one in it, extracts the header or gives it away.
fn extracts(stmt: &Stmt, header: &Place) -> bool {
    let mut found = false;
    let mut look = |stmt: &Stmt| {
        found |= match &stmt.kind {
            StmtKind::Extract { header: place, .. } => path(place).as_ref() == Some(header),
            StmtKind::Call(_) | StmtKind::SetValid(..) => true,
            _ => false,
        };
    };
    look(stmt);
    visit::blocks(stmt, &mut |block| visit::stmts(block, &mut look));
    found
}
