//! One parser for both halves: the step of the packet selects the states of ingress or of egress.
//!
//! Bits that a parser of TNA extracts before the frame become assignments, so that no state depends on them being there:
//!
//! Before: `packet.extract(ig); packet.advance(PORT_METADATA_SIZE);`
//! After:  `ig.setValid(); ig.resubmit_flag = meta.again; ig.ingress_port = meta.port; ...`

use crate::calls::Calls;
use crate::context::{Block, Context};
use crate::pieces::{Pieces, refused};
use crate::ports::{check_unread, is_part, is_same, is_unpack};
use crate::sums::Sums;
use crate::values::{fill, member};
use base_diag::{Diagnostic, Span};
use device::tna::Half;
use ir::{
    Const, Expr, ExprKind, Keyset, Parser, ParserState, Select, SelectCase, StateId, StateRef, Stmt,
    StmtKind, Transition, Type, Var, VarId, VarKind, build, visit,
};
use ir_merge::Substitution;
use std::collections::BTreeMap;

/// Adds the states of both halves to the parser of the skeleton. Returns it with the first state of ingress.
pub(crate) fn parser(context: &mut Context<'_>) -> (Parser, StateId) {
    let mut parser = context.skeleton.parser.clone();
    let block = Block::of(&parser.params, &parser.vars);
    let flag = |name: &str, value: u64| {
        let field = member(context.program, &block.meta, name);
        field.map(|field| build::assign(field, build::bits(1, value)))
    };
    let refuses = add(
        &mut parser,
        "refused",
        flag("refused", 1).into_iter().collect(),
        Transition::Goto(StateRef::Accept),
    );
    let received = ["port", "arrived"].into_iter().zip(["ingress_port", "ingress_global_timestamp"]);
    let received = received.filter_map(|(to, from)| {
        Some(build::assign(
            member(context.program, &block.meta, to)?,
            member(context.program, &block.standard, from)?,
        ))
    });
    let received = add(&mut parser, "received", received.collect(), Transition::Goto(StateRef::Accept));
    let mut entries = vec![];
    for half in [Half::Ingress, Half::Egress].into_iter().take(context.usage.halves()) {
        entries.push(half_states(context, &mut parser, half, refuses));
    }
    parser.states[received.index()].transition = Transition::Goto(StateRef::State(entries[0]));
    let key = |step: Option<u64>, again: Option<u64>, next: StateRef| SelectCase {
        keys: [step.map(|step| build::bits(8, step)), again.map(|again| build::bits(1, again))]
            .map(|key| key.map_or(Keyset::DontCare, Keyset::Value))
            .to_vec(),
        next,
        span: Span::NONE,
    };
    let first = StateRef::State(entries[0]);
    let mut cases =
        vec![key(Some(0), Some(0), StateRef::State(received)), key(Some(3), None, StateRef::Accept)];
    cases.extend(entries.get(1).map(|egress| key(Some(1), None, StateRef::State(*egress))));
    cases.push(SelectCase { keys: vec![Keyset::DontCare], next: first, span: Span::NONE });
    let exprs =
        ["step", "again"].iter().filter_map(|name| member(context.program, &block.meta, name)).collect();
    parser.states[0].transition = Transition::Select(Select { exprs, cases });
    (parser, entries[0])
}

fn add(parser: &mut Parser, name: &str, stmts: Vec<Stmt>, transition: Transition) -> StateId {
    let is_free = |name: &String| !parser.states.iter().any(|state| state.name == *name);
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let name = std::iter::once(name.to_string()).chain(numbered).find(is_free).unwrap_or_default();
    parser.states.push(ParserState {
        name: name.into(),
        stmts,
        transition,
        annotations: vec![],
        span: Span::NONE,
    });
    StateId::from(parser.states.len() - 1)
}

/// Adds the states of a half. Returns the first.
fn half_states(context: &mut Context<'_>, parser: &mut Parser, half: Half, refuses: StateId) -> StateId {
    let program = context.program;
    let own = program.parser(context.usage.parsers[half as usize]);
    let block = Block::of(&parser.params, &parser.vars);
    let port_bits = p4_arch::tna::port_metadata_bits(context.usage.generation);
    let Some(pieces) = Pieces::before(program, half, &block.meta, &block.standard, port_bits) else {
        // Without the type of the metadata nothing of it is extracted.
        context.found.push(refused(
            "the parser cannot be converted",
            own.span,
            "it has no intrinsic metadata",
        ));
        return StateId(0);
    };
    let arguments = context.arguments(&block, half, &own.params, &own.vars);
    let mut vars = vec![];
    for (at, var) in own.vars.iter().enumerate() {
        let param = own.params.iter().position(|param| param.index() == at);
        vars.push(match param.and_then(|param| arguments.get(param)) {
            Some(argument) => argument.clone(),
            None => {
                parser.vars.push(Var { kind: VarKind::Local, ..var.clone() });
                build::var_of(&parser.vars, VarId::from(parser.vars.len() - 1))
            }
        });
    }
    let substitution = Substitution { vars, value_sets: parser.value_sets.len() as u32 };
    parser.value_sets.extend(own.value_sets.iter().cloned());
    let mut locals = own.locals.clone();
    substitution.stmts(&mut locals);
    parser.locals.extend(locals);
    let name = ["ingress", "egress"][half as usize];
    let mut begin = vec![];
    if half == Half::Ingress
        && let Some(port) = context
            .metadata_of(&block, device::tna::TO_MANAGER)
            .and_then(|manager| member(program, &manager, "ucast_egress_port"))
    {
        begin.push(build::assign(port, build::bits(9, p4_arch::tna::NO_PORT.into())));
    }
    let entry = add(parser, name, begin, Transition::Goto(StateRef::Accept));
    let mut states = States {
        area: pieces.bits(),
        pieces,
        own,
        block: &block,
        half,
        name,
        refuses,
        substitution,
        known: BTreeMap::new(),
        waiting: vec![],
        rests: BTreeMap::new(),
        sums: Sums::default(),
        port_metadata: None,
    };
    let first = states.state(context, parser, StateId(0), 0);
    parser.states[entry.index()].transition = Transition::Goto(StateRef::State(first));
    while let Some((old, offset, new)) = states.waiting.pop() {
        states.convert(context, parser, old, offset, new);
    }
    if let Some(place) = states.port_metadata.take() {
        check_unread(parser, &place, &mut context.found);
        context.port_metadata = Some(place);
    }
    states.sums.finish(program, parser, entry.index(), &mut context.found);
    parser.locals.append(&mut states.sums.locals);
    entry
}

/// Copies of a half's states, one for each number of metadata bits that are read before.
struct States<'a> {
    pieces: Pieces,
    /// Bits of the metadata.
    area: u32,
    own: &'a Parser,
    block: &'a Block,
    half: Half,
    name: &'static str,
    refuses: StateId,
    substitution: Substitution,
    known: BTreeMap<(StateId, u32), StateId>,
    waiting: Vec<(StateId, u32, StateId)>,
    /// States that keep unread metadata, by the bits that were read.
    rests: BTreeMap<u32, StateId>,
    sums: Sums,
    port_metadata: Option<Expr>,
}

impl States<'_> {
    fn state(&mut self, _: &Context<'_>, parser: &mut Parser, old: StateId, offset: u32) -> StateId {
        if let Some(known) = self.known.get(&(old, offset)) {
            return *known;
        }
        let name = format!("{}_{}", self.name, self.own.states[old.index()].name);
        let new = add(parser, &name, vec![], Transition::Goto(StateRef::Accept));
        self.known.insert((old, offset), new);
        self.waiting.push((old, offset, new));
        new
    }

    fn convert(
        &mut self,
        context: &mut Context<'_>,
        parser: &mut Parser,
        old: StateId,
        mut offset: u32,
        new: StateId,
    ) {
        let state = &self.own.states[old.index()];
        let mut stmts = vec![];
        for stmt in &state.stmts {
            let mut stmt = stmt.clone();
            self.substitution.stmts(std::slice::from_mut(&mut stmt));
            match self.stmt(context, stmt, &mut offset, &mut stmts) {
                Ok(()) => {}
                Err(problem) => context.found.push(problem),
            }
        }
        let mut transition = state.transition.clone();
        self.substitution.transition(&mut transition);
        if let Transition::Select(select) = &mut transition {
            for expr in &mut select.exprs {
                self.look_ahead(context, expr, offset);
            }
            let catches_all =
                select.cases.iter().any(|case| case.keys.iter().all(|key| *key == Keyset::DontCare));
            if !catches_all {
                let keys = vec![Keyset::DontCare];
                select.cases.push(SelectCase { keys, next: StateRef::Reject, span: state.span });
            }
        }
        let mut calls = Calls {
            program: context.program,
            skeleton: context.skeleton,
            usage: context.usage,
            vars: &mut parser.vars,
            meta: self.block.meta.clone(),
            found: &mut context.found,
            sums: Some(&mut self.sums),
            in_action: false,
        };
        calls.list(&mut stmts);
        if let Transition::Select(select) = &mut transition {
            select.exprs.iter_mut().for_each(|expr| calls.expr(expr, &mut stmts));
        }
        match &mut transition {
            Transition::Goto(next) => *next = self.next(context, parser, *next, offset),
            Transition::Select(select) => {
                for case in &mut select.cases {
                    case.next = self.next(context, parser, case.next, offset);
                }
            }
        }
        let converted = &mut parser.states[new.index()];
        (converted.stmts, converted.transition) = (stmts, transition);
        (converted.annotations, converted.span) = (state.annotations.clone(), state.span);
    }

    fn next(
        &mut self,
        context: &mut Context<'_>,
        parser: &mut Parser,
        next: StateRef,
        offset: u32,
    ) -> StateRef {
        match next {
            StateRef::State(old) => StateRef::State(self.state(context, parser, old, offset)),
            StateRef::Reject => StateRef::State(self.refuses),
            StateRef::Accept if offset >= self.area => StateRef::Accept,
            StateRef::Accept => StateRef::State(self.rest(context, parser, offset)),
        }
    }

    /// Metadata that the parser leaves stays before the payload.
    fn rest(&mut self, context: &mut Context<'_>, parser: &mut Parser, offset: u32) -> StateId {
        if let Some(known) = self.rests.get(&offset) {
            return *known;
        }
        let bits = self.area - offset;
        let mut stmts = vec![];
        if let Some(header) = context.rest(&self.block.headers, self.half, bits) {
            let value = build::field(header.clone(), 0, Type::Bit(bits));
            stmts =
                vec![build::set_valid(header, true), build::assign(value, self.pieces.slice(offset, bits))];
        }
        let state = add(parser, &format!("{}_rest", self.name), stmts, Transition::Goto(StateRef::Accept));
        self.rests.insert(offset, state);
        state
    }

    fn stmt(
        &mut self,
        context: &mut Context<'_>,
        mut stmt: Stmt,
        offset: &mut u32,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let program = context.program;
        let is_zero =
            |bits: &Expr| matches!(&bits.kind, ExprKind::Const(Const::Bits(bits)) if bits.is_zero());
        if matches!(&stmt.kind, StmtKind::Advance(_, bits) if is_zero(bits)) {
            return Ok(());
        }
        if *offset >= self.area {
            out.push(stmt);
            return Ok(());
        }
        let straddles = |span: Span| {
            refused("the metadata before the frame cannot be converted", span, "it ends inside of this")
        };
        let area = self.area;
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits: None, .. } => {
                let bits = program.bits(&header.ty).unwrap_or(0) as u32;
                if *offset + bits > area {
                    return Err(straddles(stmt.span));
                }
                let slice = |at: u32, wide: u32| self.pieces.slice(at, wide);
                fill(program, header, *offset, &slice, out).ok_or_else(|| straddles(stmt.span))?;
                *offset += bits;
            }
            StmtKind::Advance(packet, bits) => {
                let ExprKind::Const(Const::Bits(known)) = &bits.kind else {
                    return Err(refused(
                        "this call cannot be converted",
                        stmt.span,
                        "the number of bits is no constant",
                    ));
                };
                let count = known.low_u64();
                let left = u64::from(area - *offset);
                *offset = u64::from(*offset).saturating_add(count).min(u64::from(area)) as u32;
                if count > left {
                    let kind = StmtKind::Advance(*packet, build::bits(32, count - left));
                    out.push(build::stmt(kind).at(stmt.span));
                }
            }
            StmtKind::Extract { .. } => return Err(straddles(stmt.span)),
            StmtKind::Assign(place, value) if is_unpack(program, value) => {
                let data = p4_arch::tna::port_metadata_bits(context.usage.generation);
                let is_other = self.port_metadata.as_ref().is_some_and(|known| !is_same(known, place));
                if *offset + data != area || is_other || !is_part(place, &self.block.meta) {
                    let label = "its value is no field of the metadata, or it is read elsewhere";
                    return Err(refused("the metadata of ports cannot be converted", stmt.span, label));
                }
                self.port_metadata = Some(place.clone());
                if let Some(flag) = member(program, &self.block.meta, "unpacked") {
                    out.push(build::assign(flag, build::bits(1, 1)));
                }
                *offset = area;
            }
            _ => {
                let mut moves = false;
                visit::blocks(&stmt, &mut |block| {
                    visit::stmts(block, &mut |inner| {
                        moves |= matches!(inner.kind, StmtKind::Extract { .. } | StmtKind::Advance(..));
                    });
                });
                if moves {
                    return Err(refused(
                        "this statement cannot be converted",
                        stmt.span,
                        "it may read the metadata before the frame",
                    ));
                }
                visit::exprs_mut(&mut stmt, &mut |expr| self.look_ahead(context, expr, *offset));
                out.push(stmt);
            }
        }
        Ok(())
    }

    fn look_ahead(&self, context: &mut Context<'_>, expr: &mut Expr, offset: u32) {
        if offset >= self.area {
            return;
        }
        visit::subexprs_mut(expr, &mut |expr| {
            if !matches!(expr.kind, ExprKind::Lookahead(_)) {
                return;
            }
            match expr.ty {
                Type::Bit(wide) if offset + wide <= self.area => {
                    *expr = self.pieces.slice(offset, wide).at(expr.span);
                }
                _ => context.found.push(refused(
                    "this lookahead cannot be converted",
                    expr.span,
                    "it reads the metadata before the frame",
                )),
            }
        });
    }
}
