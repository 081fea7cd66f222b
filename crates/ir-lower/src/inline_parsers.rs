//! `inline-parsers`: the states of an applied parser become states of the one that applies it.
//!
//! Before: `state start { inner.apply(packet, hdr.h); transition accept; }`
//! After:  `state start { transition inner_start; } state inner_start { packet.extract(hdr.h); transition start_behind; }
//!          state start_behind { transition accept; }`
//!
//! Requires `hoist-locals`, `expand-loops`. Ensures: no call of a parser; the applied ones are gone. Value sets and
//! instances move and keep their control-plane names. A statement with a call inside becomes states itself.
//! Why: a parser is one state graph.

use crate::bind::{Caller, Target};
use crate::substitute::Substitution;
use crate::units::{each_target_mut, free_name, hollow_parser};
use crate::{Changed, walk, zero};
use base_diag::Span;
use ir::build;
use ir::{
    Call, Callee, Const, Expr, ExprKind, Keyset, Owner, Parser, ParserId, ParserState, Program, Select,
    SelectCase, StageKind, StateId, StateRef, Stmt, StmtKind, SwitchLabel, SwitchOn, Transition, Type,
    ValueSetId,
};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
pub fn inline_parsers(program: &mut Program) -> Changed {
    let mut applied = BTreeSet::new();
    for parser in &program.parsers {
        for state in &parser.states {
            walk::all_stmts(&state.stmts, &mut |stmt| applied.extend(called(stmt)));
        }
    }
    if applied.is_empty() {
        return Changed(false);
    }
    for at in 0..program.parsers.len() {
        if !applied.contains(&ParserId::from(at)) {
            let mut parser = std::mem::replace(&mut program.parsers[at], hollow_parser());
            let mut inliner = Inliner { root: ParserId::from(at), sets: BTreeMap::new() };
            inliner.flatten(program, &mut parser);
            program.parsers[at] = parser;
        }
    }
    remove(program, &applied);
    Changed(true)
}

fn called(stmt: &Stmt) -> Option<ParserId> {
    match &stmt.kind {
        StmtKind::Call(Call { callee: Callee::Parser(id), .. }) => Some(*id),
        _ => None,
    }
}

fn has_call(stmt: &Stmt) -> bool {
    let mut found = false;
    walk::all_stmts(std::slice::from_ref(stmt), &mut |stmt| found |= called(stmt).is_some());
    found
}

struct Inliner {
    root: ParserId,
    /// Index of the first value set of each applied parser in the caller.
    sets: BTreeMap<ParserId, u32>,
}

impl Inliner {
    fn flatten(&mut self, program: &mut Program, parser: &mut Parser) {
        let mut at = 0;
        while at < parser.states.len() {
            match parser.states[at].stmts.iter().position(has_call) {
                Some(position) => self.cut(program, parser, at, position),
                None => at += 1,
            }
        }
    }

    /// Cuts a state at a statement with a call: the statements after it become a state.
    fn cut(&mut self, program: &mut Program, parser: &mut Parser, at: usize, position: usize) {
        let state = &mut parser.states[at];
        let behind = state.stmts.split_off(position + 1);
        let Some(stmt) = state.stmts.pop() else { return };
        let transition = std::mem::replace(&mut state.transition, Transition::Goto(StateRef::Accept));
        let (name, span) = (state.name.clone(), state.span);
        let next = if let (true, Transition::Goto(next)) = (behind.is_empty(), &transition) {
            *next
        } else {
            add_state(parser, &format!("{name}_behind"), behind, transition, span)
        };
        let transition = self.enter(program, parser, at, stmt, next);
        parser.states[at].transition = transition;
    }

    /// Makes states of `stmt`, which go on to `next`. Gives how they are entered.
    fn enter(
        &mut self,
        program: &mut Program,
        parser: &mut Parser,
        at: usize,
        stmt: Stmt,
        next: StateRef,
    ) -> Transition {
        let span = stmt.span;
        let name = parser.states[at].name.clone();
        let arm = |parser: &mut Parser, name: String, stmts: Vec<Stmt>, to: StateRef| {
            add_state(parser, &name, stmts, Transition::Goto(to), span)
        };
        match stmt.kind {
            StmtKind::Call(call) => self.call(program, parser, at, &call, next),
            StmtKind::Block(block) => {
                Transition::Goto(arm(parser, format!("{name}_block"), block.stmts, next))
            }
            StmtKind::If(cond, yes, no) => {
                let yes = arm(parser, format!("{name}_then"), yes.stmts, next);
                let no = arm(parser, format!("{name}_else"), no.stmts, next);
                branch(cond, yes, no, span)
            }
            StmtKind::For { cond, body, .. } => {
                // Its transition is set below: it leads to the body, which leads back.
                let test = arm(parser, format!("{name}_loop"), vec![], next);
                let body = arm(parser, format!("{name}_round"), body.stmts, test);
                if let StateRef::State(id) = test {
                    parser.states[id.index()].transition = branch(cond, body, next, span);
                }
                Transition::Goto(test)
            }
            StmtKind::Switch(SwitchOn::Value(on), cases) => {
                let mut select = Select { exprs: vec![on.clone()], cases: vec![] };
                let mut default = next;
                for case in cases {
                    let to = arm(parser, format!("{name}_case"), case.body.stmts, next);
                    for label in case.labels {
                        match label {
                            SwitchLabel::Value(value) => {
                                let kind = ExprKind::Const(value);
                                let key = Keyset::Value(Expr { kind, ty: on.ty.clone(), span });
                                select.cases.push(SelectCase { keys: vec![key], next: to, span });
                            }
                            SwitchLabel::Default => default = to,
                            SwitchLabel::Action(_) => {}
                        }
                    }
                }
                // Last: `select` takes the first case that fits, and a `switch` has its default anywhere.
                select.cases.push(SelectCase { keys: vec![Keyset::DontCare], next: default, span });
                Transition::Select(select)
            }
            _ => Transition::Goto(next),
        }
    }

    fn call(
        &mut self,
        program: &mut Program,
        parser: &mut Parser,
        at: usize,
        call: &Call,
        next: StateRef,
    ) -> Transition {
        let Callee::Parser(id) = call.callee else { return Transition::Goto(next) };
        let Some(inner) = program.parsers.get(id.index()).cloned() else { return Transition::Goto(next) };
        let sets = self.take_over(program, parser, id, &inner);
        let mut subst = Substitution::default();
        let mut before = vec![];
        let code: Vec<&[Stmt]> = inner.states.iter().map(|state| state.stmts.as_slice()).collect();
        let target = Target::apart(&inner.params, &inner.vars, &code);
        let locals = Some(&mut parser.locals);
        let mut caller = Caller { program, vars: &mut parser.vars, locals, copy_all: false, settled: true };
        let mut args = call.args.clone();
        args.iter_mut().flatten().for_each(|arg| caller.settle(arg, &mut before));
        let bound = caller.bind(&target, &args, &mut subst);
        before.extend(bound.before);
        for local in &inner.locals {
            let StmtKind::Declare(var, init) = &local.kind else { continue };
            subst.renew(*var, &inner.vars, &mut parser.vars);
            let Some(place) = subst.get(*var).cloned() else { continue };
            if let ExprKind::Var(new) = place.kind {
                parser.locals.push(build::declare(new, None).at(local.span));
            }
            match init {
                Some(init) => before.push(build::assign(place, init.clone()).at(local.span)),
                None => zero::zero_place(program, &mut parser.vars, &place, &mut before),
            }
        }
        // States have no declarations (`hoist-locals`): these move to the parser.
        for stmt in std::mem::take(&mut before) {
            match stmt.kind {
                StmtKind::Declare(var, init) => {
                    parser.locals.push(build::declare(var, None).at(stmt.span));
                    let place = build::var_of(&parser.vars, var).at(stmt.span);
                    before.extend(init.map(|init| build::assign(place, init).at(stmt.span)));
                }
                _ => before.push(stmt),
            }
        }
        parser.states[at].stmts.append(&mut before);
        let accept = match bound.after.is_empty() {
            true => next,
            false => {
                let name = format!("{}_results", parser.states[at].name);
                add_state(parser, &name, bound.after, Transition::Goto(next), call.span)
            }
        };
        add_states(parser, &inner, &subst, sets, accept)
    }

    /// Moves value sets and instances, once. Gives the number of the first value set.
    fn take_over(&mut self, program: &mut Program, parser: &mut Parser, id: ParserId, inner: &Parser) -> u32 {
        if let Some(sets) = self.sets.get(&id) {
            return *sets;
        }
        let first = parser.value_sets.len() as u32;
        self.sets.insert(id, first);
        let prefix = prefix(parser, inner);
        for set in &inner.value_sets {
            let taken = |name: &str| parser.value_sets.iter().any(|other| other.name == name);
            let name = free_name(&format!("{prefix}_{}", set.name), &taken);
            parser.value_sets.push(ir::ValueSet { name, ..set.clone() });
        }
        for instance in &inner.instances {
            if let Some(moved) = program.instances.get_mut(instance.index()) {
                moved.owner = Owner::Parser(self.root);
                parser.instances.push(*instance);
            }
        }
        first
    }
}

/// The path of an instance in the block that has it, as a part of a name.
fn prefix(outer: &Parser, inner: &Parser) -> String {
    let path = inner.control_plane_name.strip_prefix(outer.control_plane_name.as_str());
    path.and_then(|rest| rest.strip_prefix('.')).unwrap_or(&inner.control_plane_name).replace('.', "_")
}

fn branch(cond: Expr, yes: StateRef, no: StateRef, span: Span) -> Transition {
    let holds = Keyset::Value(Expr { kind: ExprKind::Const(Const::Bool(true)), ty: Type::Bool, span });
    let cases = vec![
        SelectCase { keys: vec![holds], next: yes, span },
        SelectCase { keys: vec![Keyset::DontCare], next: no, span },
    ];
    Transition::Select(Select { exprs: vec![cond], cases })
}

fn add_state(
    parser: &mut Parser,
    name: &str,
    stmts: Vec<Stmt>,
    transition: Transition,
    span: Span,
) -> StateRef {
    let name = free_name(name, &|name| parser.states.iter().any(|state| state.name == name));
    parser.states.push(ParserState { name, stmts, transition, annotations: vec![], span });
    StateRef::State(StateId::from(parser.states.len() - 1))
}

/// Adds the states of an applied parser; its `accept` is `accept`. Gives how they are entered.
fn add_states(
    parser: &mut Parser,
    inner: &Parser,
    subst: &Substitution,
    sets: u32,
    accept: StateRef,
) -> Transition {
    let first = parser.states.len();
    let prefix = prefix(parser, inner);
    for state in &inner.states {
        let mut state = state.clone();
        subst.stmts(&mut state.stmts);
        walk::transition_exprs_mut(&mut state.transition, &mut |expr| subst.expr(expr));
        if let Transition::Select(select) = &mut state.transition {
            for key in select.cases.iter_mut().flat_map(|case| &mut case.keys) {
                if let Keyset::ValueSet(ValueSetId(set)) = key {
                    *set += sets;
                }
            }
        }
        each_target_mut(&mut state.transition, &mut |target| match target {
            StateRef::Accept => *target = accept,
            // An error in the applied parser ends the caller, too.
            StateRef::Reject => {}
            StateRef::State(id) => *id = StateId::from(first + id.index()),
        });
        let taken = |name: &str| parser.states.iter().any(|other| other.name == name);
        state.name = free_name(&format!("{prefix}_{}", state.name), &taken);
        parser.states.push(state);
    }
    match inner.states.is_empty() {
        true => Transition::Goto(accept),
        false => Transition::Goto(StateRef::State(StateId::from(first))),
    }
}

/// Removes parsers that are parts of others now.
fn remove(program: &mut Program, gone: &BTreeSet<ParserId>) {
    let renumber = |id: ParserId| ParserId::from(id.index() - gone.range(..id).count());
    for stage in &mut program.stages {
        if let StageKind::Parse(id) = &mut stage.kind {
            *id = renumber(*id);
        }
    }
    for instance in &mut program.instances {
        if let Owner::Parser(id) = &mut instance.owner {
            *id = renumber(*id);
        }
    }
    let mut at = 0;
    program.parsers.retain(|_| {
        at += 1;
        !gone.contains(&ParserId(at - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::after;
    use expect_test::expect;

    const INNER: &str = "parser I(p, h, n) \"P.i\" { vars { param extern packet_in p; out h_t h; in bit<8> n; local bit<8> m; }
        locals { var m; }
        value_set v: bit<8> \"P.i.v\" match(exact) size 4;
        state start { $extract(p, h); m = m + n; select (h.a) { (set v): start; (8w1): reject; (_): accept; } } } ";

    #[test]
    fn states_and_value_sets() {
        let before = "parser P(p, hdr) \"P\" { vars { param extern packet_in p; inout headers_t hdr; }
            state start { parser I(p, hdr.h, 8w3); select (hdr.h.b) { (8w7): start; (_): accept; } } }";
        expect![[r#"
            parser P(p, hdr) "P" {
              vars {
                param extern packet_in p;
                inout headers_t hdr;
                local bit<8> m;
              }
              locals {
                var m;
              }
              value_set i_v: bit<8> "P.i.v" match(exact) size 4;
              state start {
                hdr.h = ({#} : h_t);
                m = 8w0x0;
                goto i_start;
              }
              state start_behind {
                select (hdr.h.b) {
                  (8w0x7): start;
                  (_): accept;
                }
              }
              state i_start {
                $extract(p, hdr.h);
                m = m + 8w0x3;
                select (hdr.h.a) {
                  (set i_v): i_start;
                  (8w0x1): reject;
                  (_): start_behind;
                }
              }
            }
        "#]]
        .assert_eq(&after(&(INNER.to_string() + before), inline_parsers));
    }

    #[test]
    fn under_a_condition() {
        let before = "parser P(p, hdr) \"P\" { vars { param extern packet_in p; inout headers_t hdr; }
            state start { if (hdr.h.a == 8w0) { parser I(p, hdr.s.$next, hdr.h.a); } goto accept; } }";
        expect![[r#"
            parser P(p, hdr) "P" {
              vars {
                param extern packet_in p;
                inout headers_t hdr;
                local bit<32> `index$`;
                local bit<8> m;
              }
              locals {
                var m;
                var `index$`;
              }
              value_set i_v: bit<8> "P.i.v" match(exact) size 4;
              state start {
                select (hdr.h.a == 8w0x0) {
                  (true): start_then;
                  (_): start_else;
                }
              }
              state start_then {
                `index$` = hdr.s.$lastIndex + 32w0x1;
                $verify(`index$` < 32w0x2, error::StackOutOfBounds);
                hdr.s[`index$`] = ({#} : h_t);
                m = 8w0x0;
                goto i_start;
              }
              state start_else {
                goto accept;
              }
              state i_start {
                $extract(p, hdr.s[`index$`]);
                m = m + hdr.h.a;
                select (hdr.s[`index$`].a) {
                  (set i_v): i_start;
                  (8w0x1): reject;
                  (_): accept;
                }
              }
            }
        "#]]
        .assert_eq(&after(&(INNER.to_string() + before), inline_parsers));
    }

    /// A parser that ends with an error has its results where they belong.
    #[test]
    fn results_in_slices() {
        let inner = "parser I(p, n) \"P.i\" { vars { param extern packet_in p; out bit<4> n; }
            state start { n[1:0] = 2w3; n = n + 4w1; goto reject; } } ";
        let before = "parser P(p, hdr) \"P\" { vars { param extern packet_in p; inout headers_t hdr; }
            state start { parser I(p, hdr.h.a[5:2]); goto accept; } }";
        expect![[r#"
            parser P(p, hdr) "P" {
              vars {
                param extern packet_in p;
                inout headers_t hdr;
              }
              state start {
                hdr.h.a[5:2] = 4w0x0;
                goto i_start;
              }
              state i_start {
                hdr.h.a[5:2][1:0] = 2w0x3;
                hdr.h.a[5:2] = hdr.h.a[5:2] + 4w0x1;
                goto reject;
              }
            }
        "#]]
        .assert_eq(&after(&(inner.to_string() + before), inline_parsers));
    }
}
