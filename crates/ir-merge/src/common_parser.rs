//! One parser for apps whose parse graphs agree (`parsers = "share"`).
//!
//! ```text
//! firewall: ethernet ── ipv4 ──┬── tcp   meta.firewall.src = hdr.tcp.src          hdr.firewall_nat.tcp
//! nat:      ethernet ── ipv4 ──┴── tcp   meta.nat.ports = hdr.tcp.src ++ ...  ──> tcp: both assignments
//! ```
//!
//! Two parsers agree if they extract the same headers in the same order under the same conditions: the states that are reached together from the start have equal statements and
//! transitions, but for assignments to the app's own metadata. The apps then have the same headers, so their deparsers must be equal, too. A packet runs the assignments
//! of all apps; it is of one app, whose metadata are as in the app alone, and code of the others never sees theirs.
//!
//! Where an app does not agree with an earlier one, it keeps its parser, and a note has the reason.

use crate::builder::Source;
use base_diag::Span;
use ir::{
    Expr, ExprKind, Keyset, Parser, ParserState, Role, Select, SelectCase, StateRef, Stmt, StmtKind,
    Transition, VarId, visit,
};
use std::collections::BTreeMap;

/// For each app, the first app with the same parser: itself, if there is none. Notes have the reasons.
pub fn leaders(sources: &[Source], shares: &[bool]) -> (Vec<usize>, Vec<String>) {
    let (mut leaders, mut notes) = (vec![], vec![]);
    for (at, source) in sources.iter().enumerate() {
        let mut leader = at;
        if shares[at] {
            let mut reason = None;
            for other in (0..at).filter(|other| shares[*other] && leaders[*other] == *other) {
                match differs(&sources[other], source) {
                    None => {
                        leader = other;
                        break;
                    }
                    Some(why) => {
                        let other = &sources[other].share.app;
                        reason = reason.or_else(|| {
                            Some(format!(
                                "`{}` has a parser of its own, not that of `{other}`: {why}",
                                source.share.app
                            ))
                        });
                    }
                }
            }
            notes.extend(reason.filter(|_| leader == at));
        }
        leaders.push(leader);
    }
    (leaders, notes)
}

/// Why two apps cannot have one parser; `None` if they can.
fn differs(one: &Source, other: &Source) -> Option<String> {
    if one.type_of(Role::Headers) != other.type_of(Role::Headers) {
        return Some("their headers have different types".to_string());
    }
    let (Some(a), Some(b)) = (Own::of(one), Own::of(other)) else {
        return Some("a parser has value sets or objects".to_string());
    };
    let state = match pairs(&a, &b) {
        Ok(_) => None,
        Err(state) => Some(format!("state `{state}` does something else")),
    };
    let deparsers = || {
        let is_same = match (emitted(one), emitted(other)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        };
        (!is_same).then(|| "their deparsers differ".to_string())
    };
    state.or_else(deparsers)
}

/// The states of the other parser for those of the first, by number; the name of a state that is not equal otherwise.
fn pairs(one: &Own<'_>, other: &Own<'_>) -> Result<BTreeMap<usize, usize>, String> {
    let (mut known, mut open) = (BTreeMap::from([(0, 0)]), vec![(0, 0)]);
    while let Some((a, b)) = open.pop() {
        let (Some(mine), Some(theirs)) = (one.parser.states.get(a), other.parser.states.get(b)) else {
            return Err("start".to_string());
        };
        let wrong = || theirs.name.to_string();
        let [(x, next), (y, others)] =
            [one.shape(mine).ok_or_else(wrong)?, other.shape(theirs).ok_or_else(wrong)?];
        if x != y || next.len() != others.len() {
            return Err(wrong());
        }
        for pair in next.into_iter().zip(others) {
            match pair {
                (StateRef::State(a), StateRef::State(b)) => {
                    let (a, b) = (a.index(), b.index());
                    match known.get(&a) {
                        None if !known.values().any(|known| *known == b) => {
                            known.insert(a, b);
                            open.push((a, b));
                        }
                        Some(known) if *known == b => {}
                        _ => return Err(wrong()),
                    }
                }
                (a, b) if a == b => {}
                _ => return Err(wrong()),
            }
        }
    }
    Ok(known)
}

/// The statements of each state of the first app with those of the others between them; `None` for states that are not reached. The apps agree. Variables
/// are those of each app's parser: `place` puts each app's into the merged parser.
pub fn joined(
    apps: &[&Source],
    place: &mut dyn FnMut(usize, &mut Vec<Stmt>),
) -> Option<Vec<Option<Vec<Stmt>>>> {
    let owns = apps.iter().map(|source| Own::of(source)).collect::<Option<Vec<_>>>()?;
    let (first, others) = owns.split_first()?;
    let maps = others.iter().map(|other| pairs(first, other).ok()).collect::<Option<Vec<_>>>()?;
    let mut states = vec![];
    for at in 0..first.parser.states.len() {
        let mut of_apps: Vec<Vec<Vec<Stmt>>> = vec![first.runs(&first.parser.states[at])];
        let same: Option<Vec<usize>> = maps.iter().map(|map| map.get(&at).copied()).collect();
        let Some(same) = same else {
            states.push(None);
            continue;
        };
        of_apps.extend(others.iter().zip(same).map(|(other, at)| other.runs(&other.parser.states[at])));
        let mut stmts = vec![];
        for run in 0..of_apps[0].len() {
            for (app, runs) in of_apps.iter_mut().enumerate() {
                let mut own = std::mem::take(runs.get_mut(run)?);
                // Runs of one app's own statements and common statements, in turn.
                if run % 2 == 1 && app > 0 {
                    continue;
                }
                place(app, &mut own);
                stmts.extend(own);
            }
        }
        states.push(Some(stmts));
    }
    Some(states)
}

/// Canonical form of a state: its common statements and its transition, without places in the source and targets.
type Shape = (Vec<Stmt>, Option<Select>);

/// An app's parser, and which of its variables are the app's own.
struct Own<'a> {
    parser: &'a Parser,
    /// Number of a variable in the canonical form: the position of its role; `None` for metadata and local variables.
    roles: Vec<Option<u32>>,
}

impl<'a> Own<'a> {
    fn of(source: &'a Source) -> Option<Own<'a>> {
        let parser = source.parser()?;
        if !parser.value_sets.is_empty() || !parser.instances.is_empty() {
            return None;
        }
        let stage = &source.stage("parser")?.roles;
        let number = |at: usize| {
            let param = parser.params.iter().position(|param| param.index() == at)?;
            match stage.get(param)? {
                Role::Packet => Some(0),
                Role::Headers => Some(1),
                Role::StandardMetadata => Some(2),
                _ => None,
            }
        };
        Some(Own { parser, roles: (0..parser.vars.len()).map(number).collect() })
    }

    /// Canonical form and targets; `None` if the state depends on the app's own variables.
    fn shape(&self, state: &ParserState) -> Option<(Shape, Vec<StateRef>)> {
        let mut common: Vec<Stmt> = state.stmts.iter().filter(|stmt| !self.is_own(stmt)).cloned().collect();
        for stmt in &mut common {
            self.canonical_stmt(stmt)?;
        }
        match &state.transition {
            Transition::Goto(next) => Some(((common, None), vec![*next])),
            Transition::Select(select) => {
                let mut exprs = select.exprs.clone();
                exprs.iter_mut().try_for_each(|expr| self.canonical(expr))?;
                let (mut cases, mut next) = (vec![], vec![]);
                for case in &select.cases {
                    let mut keys = case.keys.clone();
                    for key in &mut keys {
                        match key {
                            Keyset::Value(a) => self.canonical(a)?,
                            Keyset::Mask(a, b) | Keyset::Range(a, b) => {
                                self.canonical(a)?;
                                self.canonical(b)?;
                            }
                            Keyset::DontCare => {}
                            Keyset::ValueSet(_) => return None,
                        }
                    }
                    next.push(case.next);
                    cases.push(SelectCase { keys, next: StateRef::Accept, span: Span::NONE });
                }
                Some(((common, Some(Select { exprs, cases })), next))
            }
        }
    }

    /// The statements of a state in runs: the app's own, a common one, the app's own, ..., the app's own.
    fn runs(&self, state: &ParserState) -> Vec<Vec<Stmt>> {
        let mut runs = vec![vec![]];
        for stmt in &state.stmts {
            if self.is_own(stmt) {
                runs.iter_mut().next_back().into_iter().for_each(|run| run.push(stmt.clone()));
            } else {
                runs.push(vec![stmt.clone()]);
                runs.push(vec![]);
            }
        }
        runs
    }

    /// True for an assignment to the app's own variables that does nothing else, whatever packet it is.
    fn is_own(&self, stmt: &Stmt) -> bool {
        let StmtKind::Assign(place, value) = &stmt.kind else { return false };
        let mut is_quiet = true;
        for expr in [place, value] {
            visit::subexprs(expr, &mut |part| {
                is_quiet &= !matches!(
                    part.kind,
                    ExprKind::Lookahead(_)
                        | ExprKind::Call(_)
                        | ExprKind::Next(_)
                        | ExprKind::LastIndex(_)
                        | ExprKind::Index(..)
                        | ExprKind::ApplyHit(_)
                        | ExprKind::ApplyMiss(_)
                );
            });
        }
        is_quiet && root(place).is_some_and(|var| self.is_own_var(var))
    }

    fn is_own_var(&self, var: VarId) -> bool {
        self.roles.get(var.index()).is_none_or(Option::is_none)
    }

    fn canonical_stmt(&self, stmt: &mut Stmt) -> Option<()> {
        stmt.span = Span::NONE;
        match &mut stmt.kind {
            StmtKind::Extract { packet, .. } | StmtKind::Advance(packet, _) => {
                *packet = self.role(*packet)?
            }
            StmtKind::Assign(..)
            | StmtKind::SetValid(..)
            | StmtKind::PushFront(..)
            | StmtKind::PopFront(..)
            | StmtKind::Verify(..) => {}
            _ => return None,
        }
        let mut all = Some(());
        visit::exprs_mut(stmt, &mut |expr| all = all.and(self.canonical(expr)));
        all
    }

    fn canonical(&self, expr: &mut Expr) -> Option<()> {
        expr.span = Span::NONE;
        match &mut expr.kind {
            ExprKind::Var(var) | ExprKind::Lookahead(var) | ExprKind::PacketLength(var) => {
                *var = self.role(*var)?;
            }
            ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => return None,
            _ => {}
        }
        let mut all = Some(());
        visit::parts_mut(expr, &mut |part| all = all.and(self.canonical(part)));
        all
    }

    fn role(&self, var: VarId) -> Option<VarId> {
        self.roles.get(var.index()).copied().flatten().map(VarId)
    }
}

/// The variable that a place is in.
fn root(place: &Expr) -> Option<VarId> {
    match &place.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Field(base, _) | ExprKind::Slice { base, .. } => root(base),
        _ => None,
    }
}

/// The expressions that an app's deparser emits, over `hdr` as variable 0; `None` if it does anything else.
fn emitted(source: &Source) -> Option<Vec<Expr>> {
    let (_, control) = source.control("deparser")?;
    let roles = &source.stage("deparser")?.roles;
    let headers = roles.iter().position(|role| *role == Role::Headers)?;
    let headers = *control.params.get(headers)?;
    let is_plain = control.locals.is_empty() && control.instances.is_empty() && control.tables.is_empty();
    let emit = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Emit(_, value) => {
            let mut value = value.clone();
            strip(&mut value, headers).then_some(value)
        }
        _ => None,
    };
    is_plain.then(|| control.body.stmts.iter().map(emit).collect())?
}

/// Makes places of headers comparable; false if the expression has other variables.
fn strip(expr: &mut Expr, headers: VarId) -> bool {
    expr.span = Span::NONE;
    let mut all = match &mut expr.kind {
        ExprKind::Var(var) => {
            let is_it = *var == headers;
            *var = VarId(0);
            is_it
        }
        _ => true,
    };
    visit::parts_mut(expr, &mut |part| all &= strip(part, headers));
    all
}
