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
use crate::parsed_again;
use crate::parser_places::{parser_of, successors};
use crate::place::{HeaderIndex, RoleKey};
use crate::prepare::again;
use crate::refuse::unsupported;
use base_diag::{Diagnostic, Span};
use ir::{Expr, ExprKind, Parser, Role, Stmt, StmtKind, visit};
use std::collections::{BTreeMap, BTreeSet};

/// Unit that the parser extracts in one step: a header, or the elements of a stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Unit {
    path: Vec<u32>,
    is_stack: bool,
}

/// Headers that the parser may extract, in order; refused if they do not determine the original packet. `bytes`: the
/// original bytes must be rebuilt from them.
pub fn originals(flow: &Flow, bytes: bool) -> Result<Vec<HeaderIndex>, Vec<Diagnostic>> {
    let Some((parser, stage)) = parser_of(&flow.program) else { return Ok(vec![]) };
    let position = stage.roles.iter().position(|r| *r == Role::Headers);
    let headers = position.and_then(|p| parser.params.get(p)).copied();
    let mut found = Finder { headers, bytes, refused: vec![] };
    let extracted: Vec<Vec<Unit>> = parser
        .states
        .iter()
        .map(|state| state.stmts.iter().filter_map(|stmt| found.stmt(stmt)).collect())
        .collect();
    found.reads(flow);
    let order = found.order(parser, &extracted);
    if !found.refused.is_empty() {
        if bytes {
            return Err(found.refused);
        }
        return parsed_again::headers(flow, parser, stage).map_err(|differs| {
            differs.into_iter().map(|(span, what)| refused(span, &what, false)).collect()
        });
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
    Ok(order.iter().flat_map(of_unit).collect())
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

struct Finder {
    headers: Option<ir::VarId>,
    bytes: bool,
    refused: Vec<Diagnostic>,
}

impl Finder {
    fn refuse(&mut self, span: Span, what: &str) {
        self.refused.push(refused(span, what, self.bytes));
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
    fn reads(&mut self, flow: &Flow) {
        let kept: BTreeSet<_> = flow.kept(None).into_iter().collect();
        let same = flow.standard(&SAME_AGAIN);
        for leaf in flow.parser_reads.iter() {
            let info = flow.places.info(leaf);
            let changes = info.root == crate::place::Root::Shared(RoleKey::Standard) && !same.contains(&leaf);
            if changes || kept.contains(&leaf) {
                self.refuse(Span::NONE, &format!("the parser reads `{}`", info.name));
            }
        }
    }

    /// The units in an order that agrees with all paths through the parser.
    fn order(&mut self, parser: &Parser, extracted: &[Vec<Unit>]) -> Vec<Unit> {
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
        let mut waits_for: BTreeMap<Unit, BTreeSet<Unit>> = BTreeMap::new();
        for (index, units) in extracted.iter().enumerate() {
            let mut so_far = before[index].clone();
            for unit in units {
                let earlier = waits_for.entry(unit.clone()).or_default();
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
                    if self.bytes {
                        self.refuse(parser.span, "the parser extracts headers in several orders");
                    }
                    let rest: Vec<_> = waits_for.keys().filter(|u| !order.contains(u)).cloned().collect();
                    order.extend(rest);
                }
            }
        }
        order
    }
}
