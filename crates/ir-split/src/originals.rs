//! The original packet, from which an ingress clone or a resubmission after a cut is made.
//!
//! A hand-over then carries a copy of each header that the parser has extracted. From the copies egress makes the clone
//! that `simple_switch` would have parsed anew, and for a resubmission the bytes that were received: this needs a
//! parser that takes header after header, each at most once, and in an order that is the same on all its paths.
//!
//! A clone needs no more than the headers as the parser left them: any parser will do for it that finds the same headers in
//! the clone (`parsed_again`).

use crate::analysis::Analysis;
use crate::arch::SAME_AGAIN;
use crate::expressions::{constant, root};
use crate::flow::Flow;
use crate::parsed_again::{self, Differs};
use crate::parser_places::{metadata_read, parser_of, shared_of, successors};
use crate::place::{HeaderIndex, Leaf, RoleKey};
use crate::prepare::again;
use crate::refuse::unsupported;
use base_diag::{Diagnostic, Span};
use ir::{Expr, ExprKind, Parser, Role, Stmt, StmtKind, visit};
use p4_arch::Meaning;
use std::collections::{BTreeMap, BTreeSet};

/// Unit that the parser extracts in one step: a header, or the elements of a stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Unit {
    path: Vec<u32>,
    is_stack: bool,
}

/// For each unit, those that some path extracts before it.
type Waits = BTreeMap<Unit, BTreeSet<Unit>>;

/// Headers that the parser may extract, in order; refused if they do not determine the original packet. `bytes`: the
/// original bytes must be rebuilt from them.
pub fn originals(flow: &Flow, bytes: bool) -> Result<Vec<HeaderIndex>, Vec<Diagnostic>> {
    let Some((parser, stage)) = parser_of(&flow.program) else { return Ok(vec![]) };
    let explain = |differs: Differs| {
        differs.into_iter().map(|(span, what)| refused(span, &what, bytes)).collect::<Vec<_>>()
    };
    match taken(flow, bytes, &SAME_AGAIN) {
        Ok(extraction) => Ok(extraction.headers),
        Err(differs) if bytes => Err(explain(differs)),
        Err(_) => parsed_again::headers(flow, parser, stage).map_err(explain),
    }
}

/// Headers that a parser extracts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Extraction {
    /// In an order that agrees with all paths.
    pub headers: Vec<HeaderIndex>,
    /// Pairs of which some path extracts the first before the second.
    pub before: Vec<(HeaderIndex, HeaderIndex)>,
}

/// Headers that the parser extracts, if its result depends only on the packet's bytes and on the standard metadata in `same`,
/// and if the headers in their order are the bytes that it has taken.
pub fn extraction(flow: &Flow, same: &[Meaning]) -> Result<Extraction, Differs> {
    taken(flow, true, same)
}

fn taken(flow: &Flow, bytes: bool, same: &[Meaning]) -> Result<Extraction, Differs> {
    let Some((parser, stage)) = parser_of(&flow.program) else { return Ok(Extraction::default()) };
    let position = stage.roles.iter().position(|r| *r == Role::Headers);
    let headers = position.and_then(|p| parser.params.get(p)).copied();
    let mut found = Finder { headers, bytes, refused: vec![] };
    let extracted: Vec<Vec<Unit>> = parser
        .states
        .iter()
        .map(|state| state.stmts.iter().filter_map(|stmt| found.stmt(stmt)).collect())
        .collect();
    found.reads(flow, same);
    let (order, waits_for) = found.order(parser, &extracted);
    if !found.refused.is_empty() {
        return Err(found.refused);
    }
    let of_unit = |unit: &Unit| {
        let all: Vec<_> = flow
            .places
            .of_packet()
            .filter(|(_, h)| if unit.is_stack { h.path.starts_with(&unit.path) } else { h.path == unit.path })
            .map(|(index, _)| index)
            .collect();
        all
    };
    let pairs = waits_for.iter().flat_map(|(unit, earlier)| earlier.iter().map(move |first| (first, unit)));
    let before = pairs.flat_map(|(first, second)| {
        let seconds = of_unit(second);
        of_unit(first).into_iter().flat_map(move |a| seconds.clone().into_iter().map(move |b| (a, b)))
    });
    Ok(Extraction { before: before.collect(), headers: order.iter().flat_map(of_unit).collect() })
}

/// True if sessions may truncate the clones of a split program.
///
/// A clone of ingress is then parsed from the first bytes of the packet as received: these must be rebuilt where the packet is a hand-over.
/// How much payload a clone of egress loses depends on the length that egress tracks, which may be another after a cut; and a
/// length that is tracked as a value is that of the whole packet.
pub fn truncates(a: &Analysis<'_>) -> bool {
    let rebuilt = || {
        let (parser, _) = parser_of(&a.program)?;
        Some(originals(&a.flow, true).is_ok() && !again::reads_port(&a.program, parser))
    };
    let is_received = !a.effects.clones_original || rebuilt().unwrap_or(false);
    !a.is_cut() || !a.effects.egress_clones && !a.needs.tracked && is_received
}

/// `what` prevents rebuilding the original packet.
fn refused(span: Span, what: &str, bytes: bool) -> Diagnostic {
    let requests = if bytes { "resubmits" } else { "clones" };
    let what =
        format!("{what}, and ingress {requests} packets after a cut: the original packet is not known");
    unsupported(span, &what)
}

/// A place where the parser reads a value of the metadata.
fn read_at(flow: &Flow, leaf: Leaf) -> Option<Span> {
    let (parser, stage) = parser_of(&flow.program)?;
    let by_var = shared_of(parser, stage);
    let mut found = None;
    let mut look = |expr: &Expr| {
        metadata_read(expr, &by_var, &flow.places, &mut |read| {
            found = found.or((read == leaf).then_some(expr.span));
        });
    };
    for state in &parser.states {
        state.stmts.iter().for_each(|stmt| match &stmt.kind {
            StmtKind::Assign(_, value) => look(value),
            _ => visit::exprs(stmt, &mut look),
        });
        if let ir::Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(&mut look);
        }
    }
    found
}

struct Finder {
    headers: Option<ir::VarId>,
    bytes: bool,
    refused: Differs,
}

impl Finder {
    fn refuse(&mut self, span: Span, what: &str) {
        self.refused.push((span, what.to_string()));
    }

    /// Unit that a statement of the parser extracts; the statement may not affect the packet's headers otherwise.
    fn stmt(&mut self, stmt: &Stmt) -> Option<Unit> {
        match &stmt.kind {
            StmtKind::Extract { header, .. } => {
                let unit = self.unit(header);
                if unit.is_none() {
                    self.refuse(
                        stmt.span,
                        "the parser extracts into a variable outside the packet's headers",
                    );
                }
                unit
            }
            StmtKind::Advance(..) if self.bytes => {
                self.refuse(stmt.span, "the parser skips bytes");
                None
            }
            StmtKind::If(..) | StmtKind::Switch(..) | StmtKind::For { .. } | StmtKind::ForIn { .. } => {
                self.refuse(stmt.span, "a parser state decides or loops");
                None
            }
            StmtKind::Block(block) => {
                block.stmts.iter().for_each(|inner| {
                    if self.stmt(inner).is_some() {
                        self.refuse(inner.span, "the parser extracts in a nested block");
                    }
                });
                None
            }
            _ => {
                let mut calls = matches!(stmt.kind, StmtKind::Call(_));
                visit::exprs(stmt, &mut |e| {
                    visit::subexprs(e, &mut |e| calls |= matches!(e.kind, ExprKind::Call(_)))
                });
                let place = match &stmt.kind {
                    StmtKind::Assign(place, _)
                    | StmtKind::AssignOp(_, place, _)
                    | StmtKind::SetValid(place, _) => Some(place),
                    _ => None,
                };
                if place.is_some_and(|p| root(p) == self.headers) || calls {
                    self.refuse(stmt.span, "the parser does more than extract headers");
                }
                None
            }
        }
    }

    fn unit(&self, header: &Expr) -> Option<Unit> {
        match &header.kind {
            ExprKind::Next(stack) => Some(Unit { path: self.path(stack)?, is_stack: true }),
            _ => Some(Unit { path: self.path(header)?, is_stack: false }),
        }
    }

    fn path(&self, place: &Expr) -> Option<Vec<u32>> {
        let (base, step) = match &place.kind {
            ExprKind::Var(var) if Some(*var) == self.headers => return Some(vec![]),
            ExprKind::Field(base, index) => (base, *index),
            ExprKind::Index(base, index) => (base, constant(index)?),
            _ => return None,
        };
        let mut path = self.path(base)?;
        path.push(step);
        Some(path)
    }

    /// The parser may not read values that differ when the packet is parsed again.
    fn reads(&mut self, flow: &Flow, same: &[Meaning]) {
        let kept: BTreeSet<_> = flow.kept(None).into_iter().collect();
        let same = flow.standard(same);
        for leaf in flow.parser_reads.iter() {
            let info = flow.places.info(leaf);
            let changes = info.root == crate::place::Root::Shared(RoleKey::Standard) && !same.contains(&leaf);
            if changes || kept.contains(&leaf) {
                let span = read_at(flow, leaf).unwrap_or(Span::NONE);
                self.refuse(span, &format!("the parser reads `{}`", info.name));
            }
        }
    }

    /// The units in an order that agrees with all paths through the parser.
    fn order(&mut self, parser: &Parser, extracted: &[Vec<Unit>]) -> (Vec<Unit>, Waits) {
        // Units extracted before each state, on any path; a fixed point, since states may form cycles.
        let mut before: Vec<BTreeSet<Unit>> = vec![BTreeSet::new(); parser.states.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (index, state) in parser.states.iter().enumerate() {
                let mut after = before[index].clone();
                after.extend(extracted[index].iter().cloned());
                for next in successors(&state.transition) {
                    let count = before[next].len();
                    before[next].extend(after.iter().cloned());
                    changed |= before[next].len() != count;
                }
            }
        }
        let mut waits_for = Waits::new();
        for (index, units) in extracted.iter().enumerate() {
            let mut so_far = before[index].clone();
            for unit in units {
                let earlier = waits_for.entry(unit.clone()).or_default();
                // Elements of one stack follow one another in any number.
                earlier.extend(so_far.iter().filter(|u| !(u.is_stack && *u == unit)).cloned());
                so_far.insert(unit.clone());
            }
        }
        let mut order: Vec<Unit> = vec![];
        while order.len() < waits_for.len() {
            let ready = |(unit, earlier): &(&Unit, &BTreeSet<Unit>)| {
                !order.contains(unit) && earlier.iter().all(|u| order.contains(u))
            };
            match waits_for.iter().find(ready) {
                Some((unit, _)) => order.push(unit.clone()),
                None => {
                    // A clone needs the headers alone; a resubmission needs the bytes in the order in which they were received.
                    if self.bytes {
                        self.refuse(parser.span, "the parser extracts headers in several orders");
                    }
                    let rest: Vec<_> = waits_for.keys().filter(|u| !order.contains(u)).cloned().collect();
                    order.extend(rest);
                }
            }
        }
        (order, waits_for)
    }
}
