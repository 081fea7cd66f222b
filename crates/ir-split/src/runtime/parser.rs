//! Parts of a parser's start that all runtimes use: the ports that join devices, and the program's own start beside ours.

use crate::arch::PORT_BITS;
use crate::generate::Generator;
use base_diag::Span;
use ir::{
    Expr, Keyset, MatchKind, ParserState, Select, SelectCase, StateId, StateRef, Stmt, Transition, Type,
    ValueSet, ValueSetId,
};

impl Generator<'_> {
    /// A value set with the ports by which hand-overs come.
    pub fn add_link_set(&mut self, name: &str, links: &[u64]) -> ValueSetId {
        let parser = &mut self.out.parsers[self.cut.parser.index()];
        let id = ValueSetId::from(parser.value_sets.len());
        let own: ir::Name = format!("{}_{name}", self.cut.prefix).into();
        let name = format!("{}.{own}", parser.control_plane_name);
        parser.value_sets.push(ValueSet {
            name: own,
            control_plane_name: name.as_str().into(),
            ty: Type::Bit(PORT_BITS),
            match_kinds: vec![MatchKind::Exact],
            size: 16.max(links.len() as u64),
            annotations: vec![],
            span: Span::NONE,
        });
        self.linkage.value_sets.push((name.into(), links.to_vec()));
        id
    }

    /// Moves `start` after the other states under another name, so that ours can be first.
    pub fn rename_start(&mut self) -> StateRef {
        let programs: ir::Name = format!("{}_program_start", self.cut.prefix).into();
        let parser = &mut self.out.parsers[self.cut.parser.index()];
        let moved = StateId::from(parser.states.len());
        for state in &mut parser.states {
            retarget(&mut state.transition, StateId(0), moved);
        }
        let mut start = parser.states[0].clone();
        let is_program = !parser.states.iter().any(|state| state.name == programs);
        start.name = if is_program { programs } else { format!("{}_other_start", self.cut.prefix).into() };
        parser.states.push(start);
        StateRef::State(moved)
    }

    /// A state of the runtime.
    pub fn state(&self, name: &str, stmts: Vec<Stmt>, transition: Transition) -> ParserState {
        ParserState { name: self.own(name), stmts, transition, annotations: vec![], span: Span::NONE }
    }
}

/// A transition by these values.
pub fn select(exprs: Vec<Expr>, cases: Vec<SelectCase>) -> Transition {
    Transition::Select(Select { exprs, cases })
}

/// A case with one key.
pub fn case(key: Keyset, next: StateRef) -> SelectCase {
    SelectCase { keys: vec![key], next, span: Span::NONE }
}

fn retarget(transition: &mut Transition, from: StateId, to: StateId) {
    let change = |next: &mut StateRef| {
        if *next == StateRef::State(from) {
            *next = StateRef::State(to);
        }
    };
    match transition {
        Transition::Goto(next) => change(next),
        Transition::Select(select) => select.cases.iter_mut().for_each(|c| change(&mut c.next)),
    }
}
