//! Parsers: one for each instance, with `start` first among the states.

use ir::{
    Owner, Parser, ParserState, Select, SelectCase, StateId, StateRef, Stmt, Transition, ValueSet, ValueSetId,
};
use p4_check::typed::{self, AnnotationBody, Local, Substitution, Target, Type};

use crate::annotation::{annotations, local_name};
use crate::elaborator::Elaborator;
use crate::env::{Env, next_parser, state_order};
use crate::instance::Site;
use crate::names::qualify;
use crate::stmt::Body;
use crate::table::match_kind;
use crate::value::{Object, Value};

impl Elaborator<'_> {
    /// An instance of a parser with these closed type arguments and constructor arguments.
    pub(crate) fn parser(
        &mut self,
        id: typed::ParserId,
        type_args: Vec<Type>,
        values: Vec<(typed::VarId, Value)>,
        site: Site<'_>,
    ) -> Object {
        let decl = &self.typed.parsers[id];
        let env = Env {
            subst: Substitution::new(&decl.type_params, &type_args),
            values: values.into_iter().collect(),
            prefix: self.prefix(&decl.name.text, &site),
            ..Env::default()
        };
        let made = self.deeper(site.span, |el| el.parser_instance(decl, env, &site));
        made.map_or(Object::Broken, Object::Parser)
    }

    fn parser_instance(&mut self, decl: &typed::Parser, env: Env, site: &Site<'_>) -> ir::ParserId {
        let prefix = env.prefix.clone();
        let named = format!("{}_{}", decl.name.text, site.name);
        let name = self.block_names.pick(&[&decl.name.text, &named]);
        let mut body = Body::new(self, env);
        let params = decl.params.iter().map(|p| body.declare(*p)).collect();
        let (locals, value_sets) = body.parser_locals(&decl.locals);
        let states = body.states(&decl.states);
        let (env, vars) = body.finish();
        let made = next_parser(&self.out);
        self.set_owner(&env.instances, Owner::Parser(made));
        self.out.parsers.push(Parser {
            name,
            control_plane_name: prefix,
            params,
            vars,
            locals,
            instances: env.instances,
            value_sets,
            states,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        });
        made
    }
}

impl Body<'_, '_> {
    fn parser_locals(&mut self, locals: &[Local]) -> (Vec<Stmt>, Vec<ValueSet>) {
        let mut stmts = vec![];
        let mut value_sets = vec![];
        for local in locals {
            match local {
                Local::Var(stmt) => self.stmt(stmt, &mut stmts),
                Local::Instance(id) => self.local_instance(*id),
                Local::ValueSet(id) => {
                    self.env.value_sets.insert(*id, ValueSetId::from(value_sets.len()));
                    value_sets.push(self.value_set(*id));
                }
                Local::Const(id) => self.constant(*id),
                Local::Action(_) | Local::Table(_) => {}
            }
        }
        (stmts, value_sets)
    }

    fn value_set(&mut self, id: typed::ValueSetId) -> ValueSet {
        let decl = &self.el.typed.value_sets[id];
        let control_plane_name = qualify(&self.env.prefix, local_name(&decl.annotations, &decl.name));
        let control_plane_name = self.el.claim_control_plane_name(
            "value set",
            control_plane_name,
            &decl.annotations,
            decl.name.span,
        );
        let element = self.env.close(&decl.element);
        let is_nested = |ty: &Type| matches!(ty, Type::Struct(..) | Type::Tuple(_));
        if self.el.part_types(&element, 0).is_some_and(|parts| parts.iter().any(is_nested)) {
            self.el.refuse("a value set of nested structs", decl.span);
        }
        ValueSet {
            name: decl.name.text.clone(),
            control_plane_name,
            ty: self.el.ty(&element),
            match_kinds: self.value_set_kinds(&element),
            size: self.size(&decl.size, "the size of a value set").unwrap_or(0),
            annotations: annotations(&decl.annotations),
            span: decl.span,
        }
    }

    /// One match kind for each position: `@match(kind)` on the struct's field, exact without it.
    fn value_set_kinds(&self, element: &Type) -> Vec<ir::MatchKind> {
        match element {
            Type::Struct(id, _) => {
                let kind = |f: &typed::Field| match f.annotations.get("match").map(|a| &a.body) {
                    Some(AnnotationBody::Tokens(tokens)) => match tokens.first() {
                        Some(name) => match_kind(name),
                        None => ir::MatchKind::Exact,
                    },
                    _ => ir::MatchKind::Exact,
                };
                self.el.typed.structs[*id].fields.iter().map(kind).collect()
            }
            Type::Tuple(members) => vec![ir::MatchKind::Exact; members.len()],
            _ => vec![ir::MatchKind::Exact],
        }
    }

    fn states(&mut self, states: &[typed::State]) -> Vec<ParserState> {
        let order = state_order(states);
        let mut place = vec![0usize; states.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old] = new;
        }
        order.iter().map(|old| self.state(&states[*old], &place)).collect()
    }

    fn state(&mut self, state: &typed::State, place: &[usize]) -> ParserState {
        let mut stmts = self.stmts(&state.stmts);
        let transition = match &state.transition {
            typed::Transition::To(target, _) => Transition::Goto(state_ref(*target, place)),
            typed::Transition::Select { keys, cases, .. } => {
                let exprs = self.select_keys(keys);
                let cases = cases
                    .iter()
                    .map(|case| SelectCase {
                        keys: self.keysets(&case.sets, keys),
                        next: state_ref(case.target, place),
                        span: case.span,
                    })
                    .collect();
                Transition::Select(Select { exprs, cases })
            }
        };
        stmts.append(&mut self.take_hoisted());
        ParserState {
            name: state.name.text.clone(),
            stmts,
            transition,
            annotations: annotations(&state.annotations),
            span: state.span,
        }
    }
}

fn state_ref(target: Target, place: &[usize]) -> StateRef {
    match target {
        Target::Accept => StateRef::Accept,
        Target::Reject => StateRef::Reject,
        Target::State(old) => match place.get(old as usize) {
            Some(new) => StateRef::State(StateId::from(*new)),
            None => StateRef::Reject,
        },
    }
}
