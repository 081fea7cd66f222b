//! The receiver's parser has to find what the sender's packet holds.
//!
//! It does if the parser only extracts headers, each at most once, the deparser emits them in the same order, and since the
//! packet was parsed no header has come or gone and no field has changed that the parser reads:
//!
//! ```text
//! parser      eth, ipv4 if eth.type == 0x800, tcp if ipv4.proto == 6
//! deparser    eth, ipv4, tcp                     the same order
//! before the cut: hdr.ipv4.ttl = 3;              travels in the packet itself
//! before the cut: hdr.ipv4.proto = 17;           refused: the receiver would not find tcp
//! ```

use crate::analysis::Analysis;
use crate::arch;
use crate::facts::Facts;
use crate::originals::{Extraction, extraction};
use crate::parser_places::{parser_of, shared_of, steps_to};
use crate::place::{HeaderIndex, Leaf, Places, RoleKey, Root};
use crate::section::{SectionId, first_span};
use crate::witness::Witnesses;
use base_diag::codes::headerless as codes;
use base_diag::{Diagnostic, Span};
use ir::{ControlId, Expr, ExprKind, Parser, Stmt, StmtKind, Transition, VarId, visit};
use p4_arch::{Duty, Meaning};
use std::collections::BTreeMap;

/// Refuses cuts over which a packet could be parsed differently.
pub fn check(a: &Analysis<'_>, since: &BTreeMap<SectionId, Facts>, witnesses: &Witnesses) -> Vec<Diagnostic> {
    // While the parser parses a frame that a frame extern gives back, the length is still that of the packet that made the call.
    let same: &[Meaning] =
        if arch::first_frame_extern(&a.program).is_some() { &[] } else { &[Meaning::Length] };
    let extraction = match extraction(&a.flow, same) {
        Ok(extraction) => extraction,
        Err(differs) => {
            let refuse = |(span, what): (Span, String)| different().at(span, what).help(FULL);
            return differs.into_iter().map(refuse).collect();
        }
    };
    let mut found: Vec<Diagnostic> = check_deparser(a, &extraction).into_iter().collect();
    let deciding = deciding(a);
    let (mut known, mut moved) = (vec![], vec![]);
    for (&id, here) in since {
        let section = a.sections.get(id);
        for &(leaf, reader) in &deciding {
            if !here.may_be_written(leaf) || known.contains(&leaf) {
                continue;
            }
            known.push(leaf);
            let name = &a.places().info(leaf).name;
            let mut diagnostic = different().at(reader, format!("the parser reads `{name}`"));
            if let Some(writer) = witnesses.writer(id, leaf) {
                diagnostic = diagnostic.at(writer, format!("written before the cut to `{}`", section.name));
            }
            found.push(diagnostic.help("write it after the last cut, or use `runtime = \"full\"`"));
        }
        let changed = |(index, _): &(HeaderIndex, _)| here.may_be_made(*index) || here.may_be_removed(*index);
        let new = |(index, _): &(HeaderIndex, _)| !moved.contains(index);
        if let Some((index, header)) = a.places().of_packet().filter(changed).find(new) {
            moved.push(index);
            let span = made_or_removed(a, index).unwrap_or(first_span(&section.code));
            let label = format!("`{}` is added or removed before the cut to `{}`", header.name, section.name);
            let diagnostic = different().at(span, label);
            found.push(
                diagnostic.help("add and remove headers after the last cut, or use `runtime = \"full\"`"),
            );
        }
    }
    found
}

const FULL: &str = "use `runtime = \"full\"`";

fn different() -> Diagnostic {
    Diagnostic::error(codes::PARSED_DIFFERENTLY, "the packet could be parsed differently after the cut")
        .note("without a header, the receiving device parses the packet as the program's parser does")
}

/// Fields that the parser reads, each with a place that reads it. A parser that looks ahead may read any.
pub fn deciding(a: &Analysis<'_>) -> Vec<(Leaf, Span)> {
    let Some((parser, stage)) = parser_of(&a.program) else { return vec![] };
    let mut reads = Reads { places: a.places(), by_var: shared_of(parser, stage), found: BTreeMap::new() };
    reads.parser(parser);
    reads.found.into_iter().collect()
}

struct Reads<'a> {
    places: &'a Places,
    by_var: BTreeMap<VarId, RoleKey>,
    found: BTreeMap<Leaf, Span>,
}

impl Reads<'_> {
    fn parser(&mut self, parser: &Parser) {
        parser.locals.iter().for_each(|stmt| self.stmt(stmt));
        for state in &parser.states {
            state.stmts.iter().for_each(|stmt| self.stmt(stmt));
            if let Transition::Select(select) = &state.transition {
                select.exprs.iter().for_each(|expr| self.expr(expr));
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Extract { varbit_bits, .. } => varbit_bits.iter().for_each(|bits| self.expr(bits)),
            StmtKind::Assign(_, value) => self.expr(value),
            StmtKind::Block(block) => block.stmts.iter().for_each(|inner| self.stmt(inner)),
            _ => visit::exprs(stmt, &mut |expr| self.expr(expr)),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Lookahead(_) = expr.kind {
            return self.all_under(&[], expr.span);
        }
        match steps_to(expr, &self.by_var) {
            Some((RoleKey::Headers, path, _)) => self.all_under(&path, expr.span),
            Some(_) => {}
            None => visit::parts(expr, &mut |part| self.expr(part)),
        }
    }

    fn all_under(&mut self, path: &[u32], span: Span) {
        for (number, info) in (0..).zip(&self.places.leaves) {
            if info.root == Root::Shared(RoleKey::Headers) && info.path.starts_with(path) {
                self.found.entry(Leaf(number)).or_insert(span);
            }
        }
    }
}

/// The deparser emits what the parser extracts, in the same order, and does nothing else.
fn check_deparser(a: &Analysis<'_>, extraction: &Extraction) -> Option<Diagnostic> {
    let id = arch::control(&a.program, Duty::Deparse)?;
    let refuse = |span: Span, label: String| Some(different().at(span, label).help(FULL));
    let emitted = match emitted(a, id) {
        Ok(emitted) => emitted,
        Err(span) => return refuse(span, "the deparser does more than emit headers".into()),
    };
    let control = a.program.control(id);
    let name = |index: HeaderIndex| &a.places().header(index).name;
    for &index in &extraction.headers {
        let count = emitted.iter().filter(|(other, _)| *other == index).count();
        if count != 1 {
            return refuse(
                control.span,
                format!("`{}` is extracted, but emitted {count} times", name(index)),
            );
        }
    }
    let place = |index: HeaderIndex| emitted.iter().position(|(other, _)| *other == index);
    let swapped = extraction.before.iter().find(|(first, second)| place(*first) >= place(*second));
    let &(first, second) = swapped?;
    let span = place(second).and_then(|at| emitted.get(at)).map_or(control.span, |(_, span)| *span);
    refuse(
        span,
        format!("`{}` is emitted before `{}`, which the parser extracts first", name(second), name(first)),
    )
}

/// The headers that the deparser emits, in order.
fn emitted(a: &Analysis<'_>, id: ControlId) -> Result<Vec<(HeaderIndex, Span)>, Span> {
    let control = a.program.control(id);
    let stage = arch::stage(&a.program, Duty::Deparse).ok_or(control.span)?;
    let of_headers = |(_, role): &(&VarId, &ir::Role)| **role == ir::Role::Headers;
    let var = control.params.iter().zip(&stage.roles).find(of_headers).map(|(&var, _)| var);
    let by_var: BTreeMap<VarId, RoleKey> = var.map(|var| (var, RoleKey::Headers)).into_iter().collect();
    if let Some(stmt) = control.locals.first() {
        return Err(stmt.span);
    }
    let mut emitted = vec![];
    let mut open: Vec<&Stmt> = control.body.stmts.iter().rev().collect();
    while let Some(stmt) = open.pop() {
        match &stmt.kind {
            StmtKind::Block(block) => open.extend(block.stmts.iter().rev()),
            StmtKind::Emit(_, value) => match steps_to(value, &by_var) {
                Some((RoleKey::Headers, path, true)) => {
                    let under = a.places().of_packet().filter(|(_, h)| h.path.starts_with(&path));
                    emitted.extend(under.map(|(index, _)| (index, stmt.span)));
                }
                _ => return Err(stmt.span),
            },
            _ => return Err(stmt.span),
        }
    }
    Ok(emitted)
}

/// A statement of ingress that makes the header valid or not.
fn made_or_removed(a: &Analysis<'_>, header: HeaderIndex) -> Option<Span> {
    let control = a.program.control(a.ingress);
    let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
    let mut found = None;
    for body in bodies {
        visit::stmts(body, &mut |stmt| {
            let (StmtKind::SetValid(place, _)
            | StmtKind::Assign(place, _)
            | StmtKind::PushFront(place, _)
            | StmtKind::PopFront(place, _)) = &stmt.kind
            else {
                return;
            };
            let whole = steps_to(place, &shared_headers(a))
                .is_some_and(|(_, path, there)| there && a.places().header(header).path.starts_with(&path));
            if whole && found.is_none() {
                found = Some(stmt.span);
            }
        });
    }
    found
}

/// The headers parameter of ingress.
fn shared_headers(a: &Analysis<'_>) -> BTreeMap<VarId, RoleKey> {
    let Some(stage) = arch::stage(&a.program, Duty::Ingress) else { return BTreeMap::new() };
    let params = a.program.control(a.ingress).params.iter().zip(&stage.roles);
    params.filter(|(_, role)| **role == ir::Role::Headers).map(|(&var, _)| (var, RoleKey::Headers)).collect()
}
