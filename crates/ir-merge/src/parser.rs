//! The merged parser: the class of the packet, then the app's own states over the app's own headers and metadata.

use crate::builder::{Common, Params, Source, app_number};
use crate::classify::{Classifier, add_state};
use crate::common_parser;
use crate::effects::standard_field;
use crate::substitute::Substitution;
use base_diag::Span;
use ir::{
    Direction, Expr, Keyset, Name, Parser, ParserId, Program, Role, Select, SelectCase, StateId, StateRef,
    Stmt, StmtKind, Transition, VarId, VarKind, build,
};
use traffic_classes::{Class, TooComplex};

/// The parser with number `id` of the merged program `out`, whose types are complete. `order` has the apps as their classes are asked.
/// `keeps` says that packets may come with the number of their app.
pub fn parser(
    out: &Program,
    id: ParserId,
    common: &Common,
    sources: &[Source],
    order: &[(usize, Class)],
    keeps: bool,
) -> Result<Option<Parser>, TooComplex> {
    let roles = [
        (Role::Packet, Direction::None),
        (Role::Headers, Direction::Out),
        (Role::Metadata, Direction::InOut),
        (Role::StandardMetadata, Direction::InOut),
    ];
    let params = Params::new(common, &common.packet_in, &roles);
    let mut parser = Parser {
        name: "MergedParser".into(),
        control_plane_name: "MergedParser".into(),
        params: params.ids(),
        vars: params.vars.clone(),
        locals: vec![],
        instances: vec![],
        value_sets: vec![],
        states: vec![],
        annotations: vec![],
        span: Span::NONE,
    };
    add_state(&mut parser.states, "start", vec![], Transition::Goto(StateRef::Accept));
    let mut entries = vec![StateId(0); sources.len()];
    for leader in sources.iter().filter(|source| source.leader == source.at) {
        let group: Vec<&Source> = sources.iter().filter(|source| source.leader == leader.at).collect();
        let Some(own) = append(&mut parser, &group, &params, common) else { return Ok(None) };
        group.iter().zip(own).for_each(|(source, entry)| entries[source.at] = entry);
    }
    for instance in out.instances.iter().enumerate().filter(|(_, i)| i.owner == ir::Owner::Parser(id)) {
        parser.instances.push(instance.0.into());
    }
    let field = |name: &str| {
        let (at, ty) = standard_field(out, &common.standard, name)?;
        Some(build::field(params.expr(Role::StandardMetadata)?, at as usize, ty))
    };
    let (Some(port), Some(length), Some(packet), Some(number)) =
        (field("ingress_port"), field("packet_length"), params.var(Role::Packet), app_number(&params))
    else {
        return Ok(None);
    };
    let state = |app: &usize| StateRef::State(entries[*app]);
    let classes = order.iter().map(|(app, class)| (class.clone(), state(app))).collect();
    let Parser { states, vars, locals, .. } = &mut parser;
    let first =
        Classifier::new(states, vars, locals, packet, (port, length), classes, StateRef::Accept).build()?;
    parser.states[0].transition = match (keeps, first) {
        (false, first) => Transition::Goto(first),
        // A packet that comes back has the number of its app; 0 is a packet from outside.
        (true, first) => {
            let case = |(source, entry): (&Source, &StateId)| SelectCase {
                keys: vec![Keyset::Value(build::bits(8, source.share.number.into()))],
                next: StateRef::State(*entry),
                span: Span::NONE,
            };
            let mut cases: Vec<SelectCase> = sources.iter().zip(&entries).map(case).collect();
            cases.push(SelectCase { keys: vec![Keyset::DontCare], next: first, span: Span::NONE });
            Transition::Select(Select { exprs: vec![number], cases })
        }
    };
    Ok(Some(parser))
}

/// Appends the states of apps with one parser. Gives those that the packets of each enter by.
fn append(parser: &mut Parser, group: &[&Source], params: &Params, common: &Common) -> Option<Vec<StateId>> {
    let (mut substitutions, mut entries) = (vec![], vec![]);
    for source in group {
        let (substitution, begin) = enter(parser, source, params, common)?;
        substitutions.push(substitution);
        let accept = Transition::Goto(StateRef::Accept);
        entries.push(add_state(&mut parser.states, &source.share.prefix, begin, accept));
    }
    let leader = group.first()?;
    let own = leader.parser()?;
    let mut joined = match group {
        [_] => None,
        _ => Some(common_parser::joined(group, &mut |app, stmts| substitutions[app].stmts(stmts))?),
    };
    let prefixes: Vec<&str> = group.iter().map(|source| source.share.prefix.as_str()).collect();
    let prefix = prefixes.join("_");
    let first = parser.states.len() as u32;
    let moved = |next: &mut StateRef| {
        if let StateRef::State(state) = next {
            state.0 += first;
        }
    };
    for (at, state) in own.states.iter().enumerate() {
        let stmts = match joined.as_mut().and_then(|joined| joined.get_mut(at)) {
            Some(stmts) => stmts.take().unwrap_or_default(),
            None => {
                let mut stmts = state.stmts.clone();
                substitutions[0].stmts(&mut stmts);
                stmts
            }
        };
        let mut transition = state.transition.clone();
        substitutions[0].transition(&mut transition);
        match &mut transition {
            Transition::Goto(next) => moved(next),
            Transition::Select(select) => select.cases.iter_mut().for_each(|case| moved(&mut case.next)),
        }
        let id = add_state(&mut parser.states, &format!("{prefix}_{}", state.name), stmts, transition);
        let added = &mut parser.states[id.index()];
        (added.annotations, added.span) = (state.annotations.clone(), state.span);
    }
    for entry in &entries {
        parser.states[entry.index()].transition = Transition::Goto(StateRef::State(StateId(first)));
    }
    Some(entries)
}

/// Puts the variables and value sets of an app into the parser. Gives their places there, and the statements that begin the app's parser.
fn enter(
    parser: &mut Parser,
    source: &Source,
    params: &Params,
    common: &Common,
) -> Option<(Substitution, Vec<Stmt>)> {
    let own = source.parser()?;
    let prefix = &source.share.prefix;
    let arguments = source.arguments(params, common, "parser")?;
    let mut vars: Vec<Expr> = vec![];
    for (at, var) in own.vars.iter().enumerate() {
        let param = own.params.iter().position(|param| param.index() == at);
        vars.push(match param.and_then(|param| arguments.get(param)) {
            Some(argument) => argument.clone(),
            None => {
                let name = Name::from(format!("{prefix}_{}", var.name));
                parser.vars.push(ir::Var { name, kind: VarKind::Local, ..var.clone() });
                build::var_of(&parser.vars, VarId::from(parser.vars.len() - 1))
            }
        });
    }
    let substitution = Substitution { vars, value_sets: parser.value_sets.len() as u32 };
    for set in &own.value_sets {
        let name = format!("{prefix}_{}", set.name).into();
        parser.value_sets.push(ir::ValueSet { name, ..set.clone() });
    }
    // Initial values are the app's code: they may look at the packet.
    let number = build::assign(app_number(params)?, build::bits(8, source.share.number.into()));
    let mut begin = vec![number];
    for local in &own.locals {
        let mut local = [local.clone()];
        substitution.stmts(&mut local);
        let [Stmt { kind: StmtKind::Declare(var, init), span }] = local else { return None };
        parser.locals.push(build::declare(var, None).at(span));
        begin.extend(init.map(|init| build::assign(build::var_of(&parser.vars, var), init).at(span)));
    }
    Some((substitution, begin))
}
