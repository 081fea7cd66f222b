//! Parsers and deparsers: extracted and emitted headers, and the numbers of states and validity bits that they take.

use crate::device::Device;
use crate::field::{Access, FieldId, Fields, Half, Kind, Scope};
use crate::problem::Problem;
use base_diag::Span;
use ir::{Control, Expr, ExprKind, Parser, StateRef, Stmt, StmtKind, Transition, visit};
use std::collections::{BTreeMap, BTreeSet};

/// A header of the packet, as the parser extracts it.
#[derive(Clone, Debug)]
pub struct Header {
    /// Fields in the order of the wire.
    pub fields: Vec<Access>,
    /// Whether it is valid.
    pub valid: FieldId,
    /// States that extract it.
    pub states: BTreeSet<usize>,
}

/// Headers that the parser extracts and the deparser emits in one half of the pipeline.
#[derive(Clone, Default, Debug)]
pub struct Parde {
    /// Headers of the packet, by the field of their validity.
    pub headers: BTreeMap<FieldId, Header>,
    /// Headers that the deparser emits.
    pub emitted: BTreeSet<FieldId>,
    /// Fields that the deparser reads beside those that it emits: checksums, digests, mirrors.
    pub read: BTreeSet<FieldId>,
    /// Fields that the parser writes beside those that it extracts.
    pub written: BTreeSet<FieldId>,
    /// Bytes of intrinsic metadata that the parser extracts.
    pub intrinsic_bytes: u32,
    /// Bytes of headers that it extracts from every packet that it accepts.
    pub least_bytes: u32,
    /// Rows of the parser's TCAM.
    pub states: u32,
    /// For each state, the states that can follow it, directly or not.
    reaches: Vec<BTreeSet<usize>>,
    /// For each state, the first one of its chain: states that always follow each other are one state of the device.
    chains: Vec<usize>,
}

impl Parde {
    /// Adds the headers and states of a parser.
    pub fn parser(&mut self, device: &Device, parser: &Parser, scope: &Scope<'_>, fields: &mut Fields) {
        self.reaches = reach(parser);
        self.chains = chains(parser);
        let mut extracted = vec![];
        for (at, state) in parser.states.iter().enumerate() {
            let mut bytes = 0;
            for stmt in &state.stmts {
                bytes += self.parse(at, stmt, scope, fields);
            }
            let rows = match &state.transition {
                Transition::Goto(_) => 1,
                Transition::Select(select) => {
                    let bits: u32 = select.exprs.iter().map(|e| scope.bits(&e.ty)).sum();
                    // A wide key is matched in several steps.
                    select.cases.len() as u32
                        + bits.div_ceil(8 * device.parser.match_bytes.max(1)).saturating_sub(1)
                }
            };
            self.states += rows.max(1) + bytes.div_ceil(device.parser.window_bytes.max(1)).saturating_sub(1);
            extracted.push(bytes);
        }
        self.least_bytes = least(parser, &extracted).saturating_sub(self.intrinsic_bytes);
    }

    /// Bytes that a statement extracts.
    fn parse(&mut self, at: usize, stmt: &Stmt, scope: &Scope<'_>, fields: &mut Fields) -> u32 {
        match &stmt.kind {
            StmtKind::Extract { header, .. } => {
                let all = scope.place(fields, header);
                let bits: u32 = all.iter().map(Access::bits).sum();
                self.add(at, header, all, scope, fields);
                bits / 8
            }
            StmtKind::Assign(place, _) => {
                let all = scope.place(fields, place);
                self.written.extend(all.iter().map(|a| a.field));
                0
            }
            StmtKind::If(_, yes, no) => {
                yes.stmts.iter().chain(&no.stmts).map(|s| self.parse(at, s, scope, fields)).sum()
            }
            _ => 0,
        }
    }

    fn add(
        &mut self,
        at: usize,
        header: &ir::Expr,
        all: Vec<Access>,
        scope: &Scope<'_>,
        fields: &mut Fields,
    ) {
        let Some(valid) = scope.valid(fields, header) else { return };
        let is_packet = fields.get(valid.field).kind == Kind::Valid;
        if !is_packet {
            self.intrinsic_bytes += all.iter().map(Access::bits).sum::<u32>() / 8;
            self.written.extend(all.iter().map(|a| a.field));
            return;
        }
        let all: Vec<Access> = all.into_iter().filter(|a| fields.get(a.field).kind != Kind::Valid).collect();
        let known = self.headers.entry(valid.field);
        let known = known.or_insert(Header { fields: all, valid: valid.field, states: BTreeSet::new() });
        known.states.insert(at);
    }

    /// Adds the headers that a deparser emits.
    pub fn deparser(&mut self, control: &Control, scope: &Scope<'_>, fields: &mut Fields) {
        visit::stmts(&control.body, &mut |stmt| match &stmt.kind {
            StmtKind::Emit(_, header) => {
                if let Some(valid) = scope.valid(fields, header) {
                    self.emitted.insert(valid.field);
                }
            }
            _ => visit::exprs(stmt, &mut |e| {
                let all = scope.reads(fields, e);
                self.read.extend(all.iter().map(|a| a.field));
            }),
        });
    }

    /// The device's states in which a header is extracted.
    pub fn chains_of(&self, header: &Header) -> BTreeSet<usize> {
        header.states.iter().filter_map(|at| self.chains.get(*at).copied()).collect()
    }

    /// True if one packet can have both headers from the parser.
    pub fn meet(&self, a: &Header, b: &Header) -> bool {
        let follows = |x: usize, y: usize| x == y || self.reaches.get(x).is_some_and(|r| r.contains(&y));
        a.states.iter().any(|x| b.states.iter().any(|y| follows(*x, *y) || follows(*y, *x)))
    }
}

/// Reads of bytes of the packet that are farther ahead than a state of the device sees.
pub(crate) fn far_reads(device: &Device, parser: &Parser, scope: &Scope<'_>) -> Vec<Problem> {
    let window = 8 * device.parser.window_bytes;
    let mut found = vec![];
    for state in &parser.states {
        let mut look = |span: Span, expr: &Expr| {
            let bits = bits_ahead(scope, expr);
            if bits > window {
                let place = if span == Span::NONE { state.span } else { span };
                let what = format!("a `lookahead` to bit {bits}");
                let help =
                    format!("a state of the parser sees {} bytes: extract or `advance` before", window / 8);
                found.push(Problem::new(place, &what, &help));
            }
        };
        for stmt in &state.stmts {
            visit::exprs(stmt, &mut |expr| look(stmt.span, expr));
            visit::blocks(stmt, &mut |block| {
                visit::stmts(block, &mut |stmt| visit::exprs(stmt, &mut |expr| look(stmt.span, expr)));
            });
        }
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(|expr| look(state.span, expr));
        }
    }
    found
}

/// The bits ahead of the parser up to the last one that an expression uses.
fn bits_ahead(scope: &Scope<'_>, expr: &Expr) -> u32 {
    match &expr.kind {
        ExprKind::Lookahead(_) => scope.bits(&expr.ty),
        ExprKind::Slice { base, lo, .. } if matches!(base.kind, ExprKind::Lookahead(_)) => {
            scope.bits(&base.ty) - lo
        }
        _ => {
            let mut most = 0;
            visit::parts(expr, &mut |part| most = most.max(bits_ahead(scope, part)));
            most
        }
    }
}

/// States that may follow a state, and whether the parser may accept after it.
fn next(parser: &Parser, at: usize) -> (Vec<usize>, bool) {
    let targets: Vec<StateRef> = match &parser.states[at].transition {
        Transition::Goto(to) => vec![*to],
        Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
    };
    let state = |to: &StateRef| match to {
        StateRef::State(id) => Some(id.index()),
        _ => None,
    };
    (targets.iter().filter_map(state).collect(), targets.contains(&StateRef::Accept))
}

/// For each state, those that can come after it.
fn reach(parser: &Parser) -> Vec<BTreeSet<usize>> {
    let after = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), next(parser, from).0);
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                open.extend(next(parser, at).0);
            }
        }
        seen
    };
    (0..parser.states.len()).map(after).collect()
}

/// For each state, the first one of its chain.
fn chains(parser: &Parser) -> Vec<usize> {
    let states = parser.states.len();
    let mut entries = vec![0; states];
    let follow: Vec<Vec<usize>> = (0..states).map(|at| next(parser, at).0).collect();
    follow.iter().flatten().for_each(|to| entries[*to] += 1);
    let goes_on = |at: usize| match (&parser.states[at].transition, follow[at].first()) {
        (Transition::Goto(_), Some(to)) if entries[*to] == 1 && *to != 0 => Some(*to),
        _ => None,
    };
    let mut chains: Vec<usize> = (0..states).collect();
    let continues: BTreeSet<usize> = (0..states).filter_map(goes_on).collect();
    for first in (0..states).filter(|at| !continues.contains(at)) {
        let mut at = first;
        while let Some(to) = goes_on(at) {
            chains[to] = first;
            at = to;
        }
    }
    chains
}

/// The fewest bytes that are extracted on a path to accept.
fn least(parser: &Parser, extracted: &[u32]) -> u32 {
    let mut best = vec![None; extracted.len()];
    let mut open = BTreeSet::from([(extracted.first().copied().unwrap_or(0), 0)]);
    while let Some((bytes, at)) = open.pop_first() {
        if extracted.is_empty() || best[at].is_some() {
            continue;
        }
        best[at] = Some(bytes);
        let (states, accepts) = next(parser, at);
        if accepts {
            return bytes;
        }
        open.extend(states.into_iter().map(|to| (bytes.saturating_add(extracted[to]), to)));
    }
    0
}

/// Validity bits of a half: of headers that may be emitted, and of metadata that the deparser is given only if it was written.
pub fn pov_bits(parde: &Parde, written: &BTreeSet<FieldId>, fields: &Fields, half: Half) -> (u32, u32) {
    let possible = |valid: &&FieldId| {
        let shared = fields.get(**valid).stack.unwrap_or(**valid);
        parde.headers.contains_key(valid) || written.contains(&shared)
    };
    let headers = parde.emitted.iter().filter(possible).count();
    let given = written.iter().filter(|id| {
        let field = fields.get(**id);
        field.half == half && field.kind == Kind::Intrinsic
    });
    (headers as u32, given.count() as u32)
}
