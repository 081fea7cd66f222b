//! A program in which conditions that a flow does not decide are choices.
//!
//! ```text
//! struct metadata { ...; bit<64> p4rack_choices; bit<32> p4rack_used; bit<8> p4rack_dead; bit<32> p4rack_part0; ... }
//!                                                   // their values stand in front of the packet
//!
//! before  packet.extract(hdr.ipv4);          after  if (meta.p4rack_part0 == 0) { choose c; verify(!c, error.PacketTooShort); }
//!                                                   packet.extract(hdr.ipv4); hdr.ipv4.src = meta.p4rack_part0;
//! before  if (hdr.ipv4.ttl > 1) { ... }      after  choose c; if (c == 1) { ... }
//! before  transition select(hdr.ethernet.type, hdr.ipv4.protocol)           // the protocol is in the union key
//!             { (0x800, 6): tcp; (_, _): accept; }
//! after   choose c; transition select(hdr.ipv4.protocol, c)
//!             { (6, 0): tcp; (_, 1): accept; (_, _): p4rack_dead; }
//!
//! choose c:   c = (bit<N>)meta.p4rack_choices; p4rack_choices = p4rack_choices >> N; p4rack_used = p4rack_used + N;
//! ```
//!
//! Statements after the last lookup are left out, as are those on which no lookup depends (`slice`), so that conditions there are no choices. A path
//! that only returns is no choice either, unless later stages look up entries.
//!
//! A path is dead if no packet takes it: a select has chosen a case that does not match, or a header is missing of which the flow has
//! a part other than zero.

use base_bits::Bits;
use base_diag::codes::keys::NOT_DIVIDED;
use base_diag::{Diagnostic, Span};
use ir::build::{self, assign, bits, block, cast, declare, equals, field, if_then, is_valid, local, stmt};
use ir::{
    Block, Callee, Const, Expr, ExprKind, Keyset, ParserState, Program, Role, Select, SelectCase, StageKind,
    StateId, StateRef, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, Transition, Type, TypeId, TypeKind,
    Var, VarId, VarKind,
};
use ir_keys::{Input, Inputs, Keys, Part, Source, Step, param_of};

/// Ends of the places of the counter of choices, and of the mark of dead paths.
pub const USED: &str = ".p4rack_used";
/// See [`USED`].
pub const DEAD: &str = ".p4rack_dead";

/// Fields of the metadata in front of those of the flow.
const FIRST_PART: usize = 3;

/// How to run an opened program.
pub struct Opened {
    /// Parts of the union key in front of the packet, in order.
    pub fields: Vec<Part>,
}

/// The opened program.
pub fn open(program: &Program, fixed: &Fixed<'_>) -> Result<(Program, Opened), Diagnostic> {
    let keys = fixed.keys;
    let mut opened = program.clone();
    let fields: Vec<Part> =
        keys.key.parts.iter().filter(|part| part.source != Source::Port).cloned().collect();
    let [headers, metadata] = [Role::Headers, Role::Metadata].map(|role| struct_of(program, role));
    let (headers, metadata) = (headers?, metadata?);
    let added = add_fields(&mut opened, headers, metadata, &fields)?;
    let shape = Shape { program, fixed, headers, metadata, added, fields: fields.clone() };
    for stage in &program.stages {
        match stage.kind {
            StageKind::Parse(id) => {
                let vars = &program.parser(id).vars;
                let of = |role: Role| {
                    stage
                        .roles
                        .iter()
                        .position(|known| *known == role)
                        .map(|at| program.parser(id).params[at])
                };
                let (Some(packet), Some(hdr), Some(meta)) =
                    (of(Role::Packet), of(Role::Headers), of(Role::Metadata))
                else {
                    continue;
                };
                let [hdr, meta] = [hdr, meta].map(|param| build::var_of(vars, param));
                let mut opener = Opener { shape: &shape, hdr, meta, vars: vars.clone(), may_follow: true };
                let parser = &mut opened.parsers[id.index()];
                opener.parser(parser, packet)?;
                parser.vars = opener.vars;
            }
            StageKind::Control(_) | StageKind::Deparse(_) | StageKind::TrafficManager => {}
        }
    }
    for (at, control) in program.controls.iter().enumerate() {
        let may_follow = lookups_may_follow(program, at);
        let Some(mut opener) = shape.opener(&control.vars, &control.params) else {
            shape.refuse_open(&control.body)?;
            control.actions.iter().try_for_each(|action| shape.refuse_open(&action.body))?;
            if !may_follow && !looks_up(&control.body.stmts) {
                opened.controls[at].body.stmts.clear();
            }
            continue;
        };
        opener.may_follow = may_follow;
        let mut body = opener.block(&control.body, may_follow)?;
        opener.may_follow = true;
        if program.stage_control("ingress").is_some_and(|id| id.index() == at) {
            let mut before = opener.dead_ends();
            before.append(&mut body.stmts);
            body.stmts = before;
        }
        for (action, new) in control.actions.iter().zip(&mut opened.controls[at].actions) {
            new.body = opener.block(&action.body, true)?;
        }
        opened.controls[at].body = body;
        opened.controls[at].vars = opener.vars;
    }
    program.functions.iter().try_for_each(|function| shape.refuse_open(&function.body))?;
    Ok((opened, Opened { fields }))
}

fn refusal(span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(NOT_DIVIDED, "the entries that a flow uses cannot be listed")
        .at(span, label)
        .help("keep the app at the switch: `@affinity(\"high\")`")
}

/// The struct of the parser's parameter of this role.
fn struct_of(program: &Program, role: Role) -> Result<TypeId, Diagnostic> {
    let parsers = program.stages.iter().filter(|stage| matches!(stage.kind, StageKind::Parse(_)));
    let found = parsers.filter_map(|stage| param_of(program, stage, role)).find_map(|var| match var.ty {
        Type::Named(id) => Some(id),
        _ => None,
    });
    let found = found.filter(|id| matches!(program.type_decl(*id).kind, TypeKind::Struct(_)));
    found.ok_or_else(|| refusal(Span::NONE, "headers and metadata are no structs"))
}

/// Adds the fields to the metadata. Returns their types, with the number of the first one.
fn add_fields(
    program: &mut Program,
    headers: TypeId,
    metadata: TypeId,
    parts: &[Part],
) -> Result<(usize, Vec<Type>), Diagnostic> {
    let mut types = vec![Type::Bit(64), Type::Bit(32), Type::Bit(8)];
    types.extend(parts.iter().map(|part| type_of(program, headers, part)));
    let TypeKind::Struct(fields) = &mut program.types[metadata.index()].kind else {
        return Err(refusal(Span::NONE, "the metadata is no struct"));
    };
    let first = fields.len();
    for (at, ty) in types.iter().enumerate() {
        let name = match at {
            0 => "p4rack_choices".to_string(),
            1 => "p4rack_used".to_string(),
            2 => "p4rack_dead".to_string(),
            _ => format!("p4rack_part{}", at - FIRST_PART),
        };
        fields.push(build::struct_field(&name, ty.clone()));
    }
    Ok((first, types))
}

/// The type of a part.
fn type_of(program: &Program, headers: TypeId, part: &Part) -> Type {
    let ty = place(program, build::expr(ExprKind::InvalidHeader, Type::Named(headers)), steps(part)).ty;
    // A type of the program's may be declared after the metadata.
    program.representation(&ty).clone()
}

fn steps(part: &Part) -> &[Step] {
    match &part.source {
        Source::Field(steps) => steps,
        Source::Port => &[],
    }
}

/// The place at the end of the steps.
fn place(program: &Program, from: Expr, steps: &[Step]) -> Expr {
    steps.iter().fold(from, |base, step| match (*step, &base.ty) {
        (Step::Field(at), ty) => {
            let ty = program.fields(ty).get(at as usize).map_or(Type::Void, |field| field.ty.clone());
            field(base, at as usize, ty)
        }
        (Step::Element(at), Type::Stack(elem, _)) => {
            let ty = elem.as_ref().clone();
            build::element(base, at, ty)
        }
        (Step::Element(_), _) => base,
    })
}

/// Conditions that the flow decides.
pub struct Fixed<'k> {
    /// Keys of the program.
    pub keys: &'k Keys,
    union: Inputs,
}

impl Fixed<'_> {
    pub fn new(keys: &Keys) -> Fixed<'_> {
        let union = keys.keyed.iter().flat_map(|keyed| keyed.inputs.iter().cloned()).collect();
        Fixed { keys, union }
    }

    /// The flow decides the condition.
    pub fn is_fixed(&self, condition: &Expr) -> bool {
        let is_known = |input: &Input| matches!(input, Input::Entry(_)) || self.union.contains(input);
        self.keys.tests.get(&condition.span).is_some_and(|inputs| inputs.iter().all(is_known))
    }
}

/// Parts that all blocks of the program share.
struct Shape<'p> {
    program: &'p Program,
    fixed: &'p Fixed<'p>,
    headers: TypeId,
    metadata: TypeId,
    /// Number of the first added field of the metadata, and the types of all.
    added: (usize, Vec<Type>),
    fields: Vec<Part>,
}

impl Shape<'_> {
    /// For the blocks of a control; `None` if it does not have the metadata to read and write.
    fn opener(&self, vars: &[Var], params: &[VarId]) -> Option<Opener<'_>> {
        let of = |id: TypeId| {
            let is_it = |param: &&VarId| {
                let var = vars.get(param.index());
                var.is_some_and(|var| {
                    var.ty == Type::Named(id) && var.kind == VarKind::Param(ir::Direction::InOut)
                })
            };
            params.iter().find(is_it).map(|param| build::var_of(vars, *param))
        };
        let meta = of(self.metadata)?;
        // Only ingress and the parser use the headers.
        let hdr = of(self.headers).unwrap_or_else(|| meta.clone());
        Some(Opener { shape: self, hdr, meta, vars: vars.to_vec(), may_follow: true })
    }

    /// Refuses open conditions in code that cannot choose.
    fn refuse_open(&self, block: &Block) -> Result<(), Diagnostic> {
        let mut found = None;
        ir::visit::stmts(block, &mut |stmt| {
            let condition = match &stmt.kind {
                StmtKind::If(e, ..)
                | StmtKind::Switch(SwitchOn::Value(e), _)
                | StmtKind::For { cond: e, .. } => e,
                _ => return,
            };
            if found.is_none() && !self.fixed.is_fixed(condition) {
                found = Some(refusal(
                    condition.span,
                    "it depends on more than the flow, in a block without the metadata",
                ));
            }
        });
        found.map_or(Ok(()), Err)
    }
}

/// Members of value sets come and go: a case may match or not.
fn has_value_set(select: &Select) -> bool {
    select.cases.iter().any(is_of_value_set)
}

fn is_of_value_set(case: &SelectCase) -> bool {
    case.keys.iter().any(|key| matches!(key, Keyset::ValueSet(_)))
}

/// Rewrites the code of one block.
struct Opener<'s> {
    shape: &'s Shape<'s>,
    /// The variables of the headers and of the metadata.
    hdr: Expr,
    meta: Expr,
    vars: Vec<Var>,
    /// Lookups may follow where the body returns.
    may_follow: bool,
}

impl Opener<'_> {
    /// An added field of the metadata.
    fn added(&self, at: usize) -> Expr {
        let (first, types) = &self.shape.added;
        field(self.meta.clone(), first + at, types.get(at).cloned().unwrap_or(Type::Void))
    }

    /// Takes the next choice of so many bits.
    fn choose(&mut self, width: u32) -> (Vec<Stmt>, Expr) {
        let var = local(&mut self.vars, "p4rack_choice", Type::Bit(width), Span::NONE);
        let (choices, used) = (self.added(0), self.added(1));
        let stmts = vec![
            declare(var, Some(cast(choices.clone(), Type::Bit(width)))),
            assign(choices.clone(), build::shift_right(choices, u64::from(width))),
            assign(used.clone(), build::add(used, bits(32, u64::from(width)))),
        ];
        (stmts, build::var_of(&self.vars, var))
    }

    /// Chooses yes or no.
    fn decide(&mut self) -> (Vec<Stmt>, Expr) {
        let (stmts, choice) = self.choose(1);
        (stmts, equals(choice, bits(1, 1)))
    }

    fn mark_dead(&self) -> Stmt {
        assign(self.added(2), bits(8, 1))
    }

    /// Ends paths on which a header is missing that packets of the flow have.
    fn dead_ends(&self) -> Vec<Stmt> {
        let mut stmts = vec![];
        for (at, part) in self.shape.fields.iter().enumerate() {
            let steps = steps(part);
            let Some((_, header)) = steps.split_last() else { continue };
            let header = place(self.shape.program, self.hdr.clone(), header);
            let Some(is_zero) = self.is_zero(at) else { continue };
            let is_header = matches!(&header.ty, Type::Named(id) if matches!(self.shape.program.type_decl(*id).kind, TypeKind::Header(_)));
            if is_header {
                let missing = build::and(build::not(is_valid(header)), build::not(is_zero));
                stmts.push(if_then(missing, vec![self.mark_dead(), stmt(StmtKind::Exit)]));
            }
        }
        stmts
    }

    fn parser(&mut self, parser: &mut ir::Parser, packet: VarId) -> Result<(), Diagnostic> {
        let dead = StateId::from(parser.states.len());
        for state in &mut parser.states {
            let old = block(std::mem::take(&mut state.stmts));
            state.stmts = self.block(&old, true)?.stmts;
            if let Transition::Select(select) = &state.transition
                && (has_value_set(select) || !select.exprs.iter().all(|e| self.shape.fixed.is_fixed(e)))
            {
                let (mut chosen, select) = self.select(select, StateRef::State(dead));
                state.stmts.append(&mut chosen);
                state.transition = Transition::Select(select);
            }
        }
        let mut stmts = vec![];
        let mut bits_read = 0;
        for at in 0..self.shape.added.1.len() {
            let to = self.added(at);
            let width = self.shape.program.bits(&to.ty).unwrap_or(0);
            let value = build::expr(ExprKind::Lookahead(packet), to.ty.clone());
            stmts.extend([assign(to, value), stmt(StmtKind::Advance(packet, bits(32, width)))]);
            bits_read += width;
        }
        stmts.push(stmt(StmtKind::Advance(packet, bits(32, bits_read.next_multiple_of(8) - bits_read))));
        if let Some(start) = parser.states.first_mut() {
            stmts.append(&mut start.stmts);
            start.stmts = stmts;
        }
        parser.states.push(ParserState {
            name: "p4rack_dead".into(),
            stmts: vec![self.mark_dead()],
            transition: Transition::Goto(StateRef::Reject),
            annotations: vec![],
            span: Span::NONE,
        });
        Ok(())
    }

    /// Chooses a case; those of the flow's own values have to match. Cases share a choice if only one of them can match.
    fn select(&mut self, select: &Select, dead: StateRef) -> (Vec<Stmt>, Select) {
        let fixed: Vec<bool> = select.exprs.iter().map(|e| self.shape.fixed.is_fixed(e)).collect();
        let mut numbered: Vec<(u64, Vec<Keyset>, &SelectCase)> = vec![];
        let mut is_complete = false;
        for case in &select.cases {
            let has_set = is_of_value_set(case);
            let is_any = !has_set && case.keys.iter().all(|key| *key == Keyset::DontCare);
            let keys: Vec<Keyset> = if has_set || case.keys.len() != fixed.len() {
                fixed.iter().filter(|is_fixed| **is_fixed).map(|_| Keyset::DontCare).collect()
            } else {
                let keys = case.keys.iter().zip(&fixed).filter(|(_, fixed)| **fixed);
                keys.map(|(key, _)| key.clone()).collect()
            };
            let after = numbered.iter().filter(|(_, other, _)| !exclude(&keys, other));
            let number = after.map(|(number, ..)| number + 1).max().unwrap_or(0);
            numbered.push((number, keys, case));
            if is_any {
                is_complete = true;
                break;
            }
        }
        let most = numbered.iter().map(|(number, ..)| *number).max();
        let none = most.map_or(0, |most| most + 1);
        let last = if is_complete { none - 1 } else { none };
        let width = (u64::BITS - last.leading_zeros()).max(1);
        let (stmts, choice) = self.choose(width);
        let value = |number: u64| Keyset::Value(bits(width, number));
        let mut cases: Vec<SelectCase> = vec![];
        for (number, mut keys, case) in numbered {
            keys.push(value(number));
            cases.push(SelectCase { keys, next: case.next, span: case.span });
        }
        let dont_care = || fixed.iter().filter(|is_fixed| **is_fixed).map(|_| Keyset::DontCare);
        if !is_complete {
            let keys = dont_care().chain([value(none)]).collect();
            cases.push(SelectCase { keys, next: StateRef::Reject, span: Span::NONE });
        }
        let rest: Vec<Keyset> = dont_care().chain([Keyset::DontCare]).collect();
        cases.push(SelectCase { keys: rest, next: dead, span: Span::NONE });
        let exprs = select.exprs.iter().zip(&fixed).filter(|(_, fixed)| **fixed).map(|(e, _)| e.clone());
        (stmts, Select { exprs: exprs.chain([choice]).collect(), cases })
    }

    /// Lookups may follow the block, or do not.
    fn block(&mut self, old: &Block, may_follow: bool) -> Result<Block, Diagnostic> {
        let ends = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Exit);
        let returns = old.stmts.iter().any(ends) && !leaves_a_loop(old);
        let may_follow = if returns { self.may_follow } else { may_follow };
        let mut stmts = vec![];
        for (at, stmt) in old.stmts.iter().enumerate() {
            let may_follow = may_follow || looks_up(&old.stmts[at + 1..]);
            let before = stmts.len();
            self.stmt(stmt, may_follow, &mut stmts)?;
            if !may_follow && !ends(stmt) && !looks_up(std::slice::from_ref(stmt)) {
                stmts.truncate(before);
            }
        }
        Ok(Block { annotations: old.annotations.clone(), stmts })
    }

    fn stmt(&mut self, old: &Stmt, may_follow: bool, out: &mut Vec<Stmt>) -> Result<(), Diagnostic> {
        // A lookup in a condition is handled with its branch; anywhere else it would choose a path unseen.
        let condition = match &old.kind {
            StmtKind::If(e, ..) | StmtKind::Switch(SwitchOn::Value(e), _) | StmtKind::For { cond: e, .. } => {
                Some(e)
            }
            _ => None,
        };
        let mut hidden = Ok(());
        ir::visit::exprs(old, &mut |e| {
            if hidden.is_ok() && condition != Some(e) {
                hidden = refuse_hidden_lookups(e);
            }
        });
        hidden?;
        let kind = match &old.kind {
            StmtKind::If(e, yes, no) => {
                let (yes, no) = (self.block(yes, may_follow)?, self.block(no, may_follow)?);
                if self.shape.fixed.is_fixed(e) {
                    StmtKind::If(e.clone(), yes, no)
                } else {
                    self.effects(e, out)?;
                    // A path that returns looks up nothing that the other one does not.
                    if !self.may_follow
                        && let Some(other) =
                            [(&yes, &no), (&no, &yes)].into_iter().find(|(one, _)| only_ends(one))
                    {
                        out.push(Stmt { kind: StmtKind::Block(other.1.clone()), span: old.span });
                        return Ok(());
                    }
                    let (mut chosen, decision) = self.decide();
                    out.append(&mut chosen);
                    StmtKind::If(decision, yes, no)
                }
            }
            StmtKind::Switch(on, cases) => {
                let cases: Vec<SwitchCase> = cases
                    .iter()
                    .map(|case| Ok(SwitchCase { body: self.block(&case.body, may_follow)?, ..case.clone() }))
                    .collect::<Result<_, Diagnostic>>()?;
                match on {
                    SwitchOn::Value(e) if !self.shape.fixed.is_fixed(e) => {
                        self.effects(e, out)?;
                        let width = usize::BITS - cases.len().leading_zeros();
                        let (mut chosen, choice) = self.choose(width);
                        out.append(&mut chosen);
                        let numbered = |(at, case): (usize, SwitchCase)| {
                            let label = SwitchLabel::Value(Const::Bits(Bits::new(width, at as u128)));
                            SwitchCase { labels: vec![label], ..case }
                        };
                        let cases = cases.into_iter().enumerate().map(numbered).collect();
                        StmtKind::Switch(SwitchOn::Value(choice), cases)
                    }
                    _ => StmtKind::Switch(on.clone(), cases),
                }
            }
            StmtKind::Block(inner) => StmtKind::Block(self.block(inner, may_follow)?),
            StmtKind::For { init, cond, update, body } => {
                // Another round may follow.
                let mut body = self.block(body, true)?;
                let mut cond = cond.clone();
                if !self.shape.fixed.is_fixed(&cond) {
                    refuse_hidden_lookups(&cond)?;
                    let (mut round, decision) = self.decide();
                    round.push(if_then(decision, vec![stmt(StmtKind::Break)]));
                    round.append(&mut body.stmts);
                    body.stmts = round;
                    cond = build::bool(true);
                }
                StmtKind::For { init: init.clone(), cond, update: update.clone(), body }
            }
            StmtKind::ForIn { var, range, body } => {
                let first = match range {
                    ir::ForRange::Range(a, _) => a,
                    ir::ForRange::Values(values) => values,
                };
                if !self.shape.fixed.is_fixed(first) {
                    return Err(refusal(first.span, "the rounds of this loop depend on more than the flow"));
                }
                StmtKind::ForIn { var: *var, range: range.clone(), body: self.block(body, true)? }
            }
            StmtKind::Extract { packet, header, varbit_bits } => {
                let mut chosen = vec![];
                self.may_be_too_short(&mut chosen);
                match self.may_be_missing(header) {
                    Some(may_be) => out.push(if_then(may_be, chosen)),
                    None => out.append(&mut chosen),
                }
                let varbit_bits = varbit_bits.as_ref().map(|length| match &length.ty {
                    Type::Bit(width) => bits(*width, 0),
                    _ => bits(32, 0),
                });
                out.push(
                    stmt(StmtKind::Extract { packet: *packet, header: header.clone(), varbit_bits })
                        .at(old.span),
                );
                self.fill(header, out)?;
                return Ok(());
            }
            StmtKind::Advance(packet, _) => {
                self.may_be_too_short(out);
                StmtKind::Advance(*packet, bits(32, 0))
            }
            StmtKind::Verify(e, error) if !self.shape.fixed.is_fixed(e) => {
                let (mut chosen, decision) = self.decide();
                out.append(&mut chosen);
                StmtKind::Verify(decision, error.clone())
            }
            StmtKind::Call(call) => {
                self.refuse_call(&call.callee, call.span)?;
                old.kind.clone()
            }
            other => other.clone(),
        };
        out.push(Stmt { kind, span: old.span });
        Ok(())
    }

    /// Clones and further passes have lookups of their own, and sub-parsers extract headers under other names.
    fn refuse_call(&self, callee: &Callee, span: Span) -> Result<(), Diagnostic> {
        match callee {
            Callee::Parser(_) => Err(refusal(span, "a parser that another one calls is not followed yet")),
            Callee::ExternFunction(id) => {
                let name = &self.shape.program.extern_functions[id.index()].name;
                let label = "clones and packets that come around again are not followed yet";
                if starts_again(name) { Err(refusal(span, label)) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Tables that an open condition applies are applied, or not if they are on its right side.
    fn effects(&mut self, condition: &Expr, out: &mut Vec<Stmt>) -> Result<(), Diagnostic> {
        let mut tables = vec![];
        let mut calls = false;
        ir::visit::subexprs(condition, &mut |e| match &e.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => tables.push(*table),
            ExprKind::Call(call) => calls |= !matches!(call.callee, Callee::Function(_)),
            _ => {}
        });
        if calls {
            return Err(refusal(condition.span, "a call in a condition that depends on more than the flow"));
        }
        for table in tables {
            let (mut chosen, decision) = self.decide();
            out.append(&mut chosen);
            out.push(if_then(decision, vec![stmt(StmtKind::Apply(table))]));
        }
        Ok(())
    }

    fn may_be_too_short(&mut self, out: &mut Vec<Stmt>) {
        let (mut chosen, is_short) = self.decide();
        out.append(&mut chosen);
        // `error.PacketTooShort`, which core.p4 declares in this position.
        let error = build::expr(ExprKind::Const(Const::Error(ir::ErrorId(1))), Type::Error);
        out.push(stmt(StmtKind::Verify(build::not(is_short), error)));
    }

    /// Packets of the flow may come to ingress without the header that is about to be extracted: the flow has only zeros in it, or it is there
    /// already. `None` if the flow has no part in it.
    fn may_be_missing(&self, header: &Expr) -> Option<Expr> {
        let at = path(header).filter(|_| !matches!(header.kind, ExprKind::Next(_)))?;
        let is_in = |part: &Part| {
            let inside = steps(part).split_last();
            !at.is_empty() && inside.is_some_and(|(_, header)| *header == *at)
        };
        let parts = self.shape.fields.iter().enumerate().filter(|(_, part)| is_in(part));
        let zeros = parts.filter_map(|(number, _)| self.is_zero(number)).reduce(build::and)?;
        Some(build::or(zeros, is_valid(header.clone())))
    }

    /// The flow has zero in its part of this number.
    fn is_zero(&self, number: usize) -> Option<Expr> {
        let part = self.added(FIRST_PART + number);
        let zero = match &part.ty {
            Type::Bit(width) => Const::Bits(Bits::new(*width, 0)),
            Type::Bool => Const::Bool(false),
            _ => return None,
        };
        let zero = build::expr(ExprKind::Const(zero), part.ty.clone());
        Some(equals(part, zero))
    }

    /// Gives an extracted header the flow's values.
    fn fill(&self, header: &Expr, out: &mut Vec<Stmt>) -> Result<(), Diagnostic> {
        let Some(at) = path(header) else {
            return Err(refusal(header.span, "which header is extracted is not known before it is"));
        };
        for (number, part) in self.shape.fields.iter().enumerate() {
            let steps = steps(part);
            if !steps.starts_with(&at) {
                continue;
            }
            let to = place(self.shape.program, self.hdr.clone(), steps);
            let fill = assign(to.clone(), cast(self.added(FIRST_PART + number), to.ty));
            match (&header.kind, steps.get(at.len())) {
                (ExprKind::Next(stack), Some(Step::Element(element))) => {
                    let last = build::expr(ExprKind::LastIndex(stack.clone()), Type::Bit(32));
                    out.push(if_then(equals(last, bits(32, u64::from(*element))), vec![fill]));
                }
                _ => out.push(fill),
            }
        }
        Ok(())
    }
}

/// A call of the function makes packets, or passes of packets, with lookups of their own.
pub fn starts_again(function: &str) -> bool {
    ["clone", "resubmit", "recirculate"].iter().any(|prefix| function.starts_with(prefix))
}

/// Stages that follow the control may look up entries.
fn lookups_may_follow(program: &Program, control: usize) -> bool {
    let of = |kind: &StageKind| match kind {
        StageKind::Control(id) | StageKind::Deparse(id) => Some(id.index()),
        StageKind::Parse(_) | StageKind::TrafficManager => None,
    };
    let Some(at) = program.stages.iter().position(|stage| of(&stage.kind) == Some(control)) else {
        return true;
    };
    let mut later = program.stages[at + 1..].iter().filter_map(|stage| of(&stage.kind));
    later.any(|id| looks_up(&program.controls[id].body.stmts))
}

/// The block has a `break` or `continue`: statements after the loop may follow before it returns.
fn leaves_a_loop(block: &Block) -> bool {
    let mut found = false;
    ir::visit::stmts(block, &mut |one| found |= matches!(one.kind, StmtKind::Break | StmtKind::Continue));
    found
}

/// No value matches both: somewhere they have two constants.
fn exclude(one: &[Keyset], other: &[Keyset]) -> bool {
    let differ = |pair: (&Keyset, &Keyset)| match pair {
        (Keyset::Value(one), Keyset::Value(other)) => match (&one.kind, &other.kind) {
            (ExprKind::Const(one), ExprKind::Const(other)) => one != other,
            _ => false,
        },
        _ => false,
    };
    one.iter().zip(other).any(differ)
}

/// The block ends the control, and does nothing else.
fn only_ends(block: &Block) -> bool {
    matches!(block.stmts.as_slice(), [Stmt { kind: StmtKind::Return(None) | StmtKind::Exit, .. }])
}

/// Entries are looked up, maybe by a control that is called.
pub fn looks_up(stmts: &[Stmt]) -> bool {
    let mut found = false;
    ir::visit::calls(stmts, &mut |call| found |= matches!(call.callee, Callee::Control(_)));
    let mut look = |one: &Stmt| {
        found |= matches!(one.kind, StmtKind::Apply(_) | StmtKind::Switch(SwitchOn::ActionRun(_), _));
        ir::visit::exprs(one, &mut |e| {
            ir::visit::subexprs(e, &mut |part| {
                found |= matches!(part.kind, ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_));
            });
        });
    };
    for one in stmts {
        look(one);
        ir::visit::blocks(one, &mut |inner| ir::visit::stmts(inner, &mut look));
    }
    found
}

/// Steps from the headers to a place; to the stack of a `next`.
fn path(e: &Expr) -> Option<Vec<Step>> {
    match &e.kind {
        ExprKind::Var(_) => Some(vec![]),
        ExprKind::Field(base, at) => {
            let mut steps = path(base)?;
            steps.push(Step::Field(*at));
            Some(steps)
        }
        ExprKind::Next(base) => path(base),
        ExprKind::Index(base, index) => {
            let ExprKind::Const(Const::Bits(bits)) = &index.kind else { return None };
            let mut steps = path(base)?;
            steps.push(Step::Element(u32::try_from(bits.to_u64()?).ok()?));
            Some(steps)
        }
        _ => None,
    }
}

/// Refuses tables that are applied or not by a part of a value.
fn refuse_hidden_lookups(e: &Expr) -> Result<(), Diagnostic> {
    let mut hidden = false;
    ir::visit::subexprs(e, &mut |part| {
        use ir::BinaryOp::{And, Or};
        if matches!(part.kind, ExprKind::Binary(And | Or, ..) | ExprKind::Ternary(..)) {
            ir::visit::subexprs(part, &mut |inner| {
                hidden |= matches!(inner.kind, ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_));
            });
        }
    });
    if hidden {
        Err(refusal(e.span, "whether it applies a table depends on another part of it"))
    } else {
        Ok(())
    }
}
