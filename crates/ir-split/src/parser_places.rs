//! Places in the parser: the part of the shared objects that an expression is, and the metadata that it reads.

use crate::expressions::constant;
use crate::place::{Leaf, Places, RoleKey, Root};
use ir::{Expr, ExprKind, Parser, Program, Stage, StageKind, StateRef, Transition, VarId, visit};
use std::collections::BTreeMap;

/// The shared object of each parameter of the parser.
pub fn shared_of(parser: &Parser, stage: &Stage) -> BTreeMap<VarId, RoleKey> {
    let keys = parser.params.iter().zip(&stage.roles).filter_map(|(&var, role)| match role {
        ir::Role::Headers => Some((var, RoleKey::Headers)),
        ir::Role::Metadata => Some((var, RoleKey::Metadata)),
        ir::Role::StandardMetadata => Some((var, RoleKey::Standard)),
        _ => None,
    });
    keys.collect()
}

/// Shared object and path of a place, as in [`Places`]; for a slice or an element with a computed index, those of the
/// surrounding place.
pub fn path_of(place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) -> Option<(RoleKey, Vec<u32>)> {
    steps_to(place, by_var).map(|(key, path, _)| (key, path))
}

/// The shared object and the path of a place, and whether the path leads to the place itself.
pub fn steps_to(place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) -> Option<(RoleKey, Vec<u32>, bool)> {
    let step = |base: &Expr, step: Option<u32>| {
        let (key, mut path, mut there) = steps_to(base, by_var)?;
        there &= step.is_some();
        path.extend(step.filter(|_| there));
        Some((key, path, there))
    };
    match &place.kind {
        ExprKind::Var(var) => Some((*by_var.get(var)?, vec![], true)),
        ExprKind::Field(base, index) => step(base, Some(*index)),
        ExprKind::Index(base, index) => step(base, constant(index)),
        ExprKind::Slice { base, .. }
        | ExprKind::SlicePlus { base, .. }
        | ExprKind::Next(base)
        | ExprKind::Last(base) => step(base, None),
        _ => None,
    }
}

/// The metadata leaves at or below a place of the parser; none for anything else.
pub fn metadata_under(place: &Expr, by_var: &BTreeMap<VarId, RoleKey>, places: &Places) -> Vec<Leaf> {
    let Some((key, path)) = path_of(place, by_var) else { return vec![] };
    if key == RoleKey::Headers || path.is_empty() && !matches!(place.kind, ExprKind::Var(_)) {
        return vec![];
    }
    let root = Root::Shared(key);
    let under = places.leaves.iter().enumerate().filter(|(_, l)| l.root == root && l.path.starts_with(&path));
    under.map(|(i, _)| Leaf(i as u32)).collect()
}

/// Calls `f` with each metadata leaf that an expression of the parser may read. Reading a field does not read the struct
/// around it.
pub fn metadata_read(
    expr: &Expr,
    by_var: &BTreeMap<VarId, RoleKey>,
    places: &Places,
    f: &mut dyn FnMut(Leaf),
) {
    if path_of(expr, by_var).is_none() {
        return visit::parts(expr, &mut |part| metadata_read(part, by_var, places, f));
    }
    metadata_under(expr, by_var, places).into_iter().for_each(&mut *f);
    indices_of(expr, &mut |index| metadata_read(index, by_var, places, f));
}

/// Calls `f` with the expressions that choose an element or bits of a place.
fn indices_of(place: &Expr, f: &mut dyn FnMut(&Expr)) {
    match &place.kind {
        ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
            f(index);
            indices_of(base, f);
        }
        ExprKind::Field(base, _)
        | ExprKind::Slice { base, .. }
        | ExprKind::Next(base)
        | ExprKind::Last(base) => indices_of(base, f),
        _ => {}
    }
}

/// The program's parser and its stage.
pub fn parser_of(program: &Program) -> Option<(&Parser, &Stage)> {
    program.stages.iter().find_map(|stage| match stage.kind {
        StageKind::Parse(id) => Some((program.parser(id), stage)),
        _ => None,
    })
}

/// The states a transition may go to.
pub fn successors(transition: &Transition) -> Vec<usize> {
    let index = |next: &StateRef| match next {
        StateRef::State(id) => Some(id.index()),
        StateRef::Accept | StateRef::Reject => None,
    };
    match transition {
        Transition::Goto(next) => index(next).into_iter().collect(),
        Transition::Select(select) => select.cases.iter().filter_map(|c| index(&c.next)).collect(),
    }
}
