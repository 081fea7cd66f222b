//! Forms that a hand-over or the runtime's own code would disturb: refused.

use crate::arch;
use crate::expressions::root;
use crate::flow::Flow;
use crate::leaf_set::LeafSet;
use crate::parser_places::parser_of;
use crate::place::{HeaderIndex, Places, RoleKey, Root};
use crate::refuse::unsupported;
use base_diag::Diagnostic;
use ir::{Block, Callee, Expr, ExprKind, Program, StageKind, Stmt, StmtKind, Type, TypeId, TypeKind, visit};
use p4_arch::{Duty, Meaning};
use std::collections::BTreeSet;

/// Standard metadata that gives the runtime a packet's ingress port and length: the parser may not write it.
const RUNTIME_READS: [Meaning; 2] = [Meaning::InPort, Meaning::Length];

/// All of them.
pub fn check_shape(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    for id in [Duty::Compute, Duty::Deparse].into_iter().filter_map(|duty| arch::control(program, duty)) {
        // State here would be on every device.
        check_no_methods(&program.control(id).body, "a state object is used after egress", &mut found);
    }
    for function in &program.functions {
        check_no_methods(&function.body, "a function uses a state object", &mut found);
    }
    if let Some((parser, _)) = parser_of(program) {
        for state in &parser.states {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            visit::stmts(&block, &mut |stmt| check_write(program, stmt, &mut found));
        }
    }
    found
}

/// Headers of the packet that are not whole bytes: a hand-over would start inside of one.
pub fn check_headers(program: &Program, places: &Places) -> Vec<Diagnostic> {
    let types: BTreeSet<TypeId> = places.of_packet().filter_map(|(_, h)| declared(&h.ty)).collect();
    let odd = |id: TypeId| {
        let bits = program.bits(&Type::Named(id)).filter(|bits| !bits.is_multiple_of(8))?;
        let decl = program.type_decl(id);
        Some(unsupported(
            decl.span,
            &format!("`{}` has {bits} bits, which is not a whole number of bytes", decl.name),
        ))
    };
    types.into_iter().filter_map(odd).collect()
}

/// Refuses kept headers of the original packet whose length is known only at run time, if egress reads `packet_length`:
/// making their copies valid would count other bytes than making them invalid.
pub fn check_kept_length(program: &Program, places: &Places, kept: &[HeaderIndex]) -> Vec<Diagnostic> {
    let types: BTreeSet<TypeId> = kept.iter().filter_map(|&h| declared(&places.header(h).ty)).collect();
    let refuse = |id: TypeId| {
        let decl = program.type_decl(id);
        let varies = program.fields(&Type::Named(id)).iter().any(|f| matches!(f.ty, Type::Varbit(_)));
        let what = format!(
            "`{}` has a variable length and is kept for clones or resubmissions of ingress, and egress reads `packet_length`",
            decl.name
        );
        varies.then(|| unsupported(decl.span, &what))
    };
    types.into_iter().filter_map(refuse).collect()
}

/// Refuses statements that change headers during the verification of checksums: the original packet is copied after it.
pub fn check_verified(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let Some(stage) = arch::stage(program, Duty::Verify) else { return found };
    let StageKind::Control(id) = stage.kind else { return found };
    let position = stage.roles.iter().position(|r| *r == ir::Role::Headers);
    let control = program.control(id);
    let headers = position.and_then(|p| control.params.get(p)).copied();
    let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
    for block in blocks {
        visit::stmts(block, &mut |stmt| {
            let place = match &stmt.kind {
                StmtKind::Assign(place, _)
                | StmtKind::AssignOp(_, place, _)
                | StmtKind::SetValid(place, _)
                | StmtKind::PushFront(place, _)
                | StmtKind::PopFront(place, _) => place,
                _ => return,
            };
            if root(place).is_some() && root(place) == headers {
                let what =
                    "a header changes during checksum verification, and ingress clones or resubmits packets";
                found.push(unsupported(stmt.span, &format!("{what} after a cut")));
            }
        });
    }
    found
}

/// Refuses headers that the parser may leave invalid with values in their fields, if egress reads these: a clone of
/// ingress carries valid headers only.
pub fn check_stale(flow: &Flow, hidden: &LeafSet) -> Vec<Diagnostic> {
    let read: BTreeSet<HeaderIndex> =
        hidden.iter().filter_map(|leaf| flow.places.packet_header(leaf)).collect();
    let refuse = |header: &HeaderIndex| {
        let name = &flow.places.header(*header).name;
        let what = format!(
            "the parser may leave values in `{name}` while it is not valid, egress reads them, and ingress clones packets \
             after a cut"
        );
        unsupported(base_diag::Span::NONE, &what)
    };
    read.intersection(&flow.stale_after_parser).map(refuse).collect()
}

fn declared(ty: &Type) -> Option<TypeId> {
    match ty {
        Type::Named(id) => Some(*id),
        _ => None,
    }
}

/// Refuses changes of the packet's length that a device cannot track: `packet_length` in egress would differ.
pub fn check_length(program: &Program, places: &Places, stages: &[Duty]) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut refuse = |span, what: &str| {
        let what = format!("{what}, and egress reads `packet_length`: v1model does not count this");
        found.push(unsupported(span, &what));
    };
    for id in stages.iter().filter_map(|stage| arch::control(program, *stage)) {
        let control = program.control(id);
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        let in_packet = |place: &Expr| {
            root(place).is_some_and(|var| places.root(id, var) == Root::Shared(RoleKey::Headers))
        };
        for block in blocks {
            visit::stmts(block, &mut |stmt| match &stmt.kind {
                StmtKind::SetValid(place, true) if in_union(program, place) => {
                    refuse(
                        stmt.span,
                        "a member of a header union is made valid, which may make another invalid",
                    );
                }
                StmtKind::SetValid(place, _) if !in_packet(place) => {
                    refuse(stmt.span, "a header outside of the packet is made valid or invalid");
                }
                StmtKind::Assign(place, _) if holds_header(program, &place.ty) => {
                    refuse(stmt.span, "a header is assigned as a whole");
                }
                StmtKind::PushFront(..) | StmtKind::PopFront(..) => refuse(stmt.span, "a stack is moved"),
                _ => {}
            });
        }
    }
    for function in &program.functions {
        visit::stmts(&function.body, &mut |stmt| {
            let length = match &stmt.kind {
                StmtKind::SetValid(..) | StmtKind::PushFront(..) | StmtKind::PopFront(..) => true,
                StmtKind::Assign(place, _) => holds_header(program, &place.ty),
                _ => false,
            };
            if length {
                refuse(stmt.span, "a function changes which headers are valid");
            }
        });
    }
    let states = parser_of(program).map(|(parser, _)| parser.states.as_slice()).unwrap_or_default();
    for state in states {
        let block = Block { annotations: vec![], stmts: state.stmts.clone() };
        visit::stmts(&block, &mut |stmt| {
            let other = match &stmt.kind {
                StmtKind::Assign(place, _) => holds_header(program, &place.ty),
                StmtKind::Advance(..)
                | StmtKind::SetValid(..)
                | StmtKind::PushFront(..)
                | StmtKind::PopFront(..) => true,
                _ => false,
            };
            if other {
                refuse(stmt.span, "the parser does more than extract headers");
            }
        });
    }
    found
}

/// Whether a place is a member of a header union.
fn in_union(program: &Program, place: &Expr) -> bool {
    let ExprKind::Field(base, _) = &place.kind else { return false };
    declared(&base.ty).is_some_and(|id| matches!(program.type_decl(id).kind, TypeKind::Union(_)))
}

fn holds_header(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Stack(elem, _) => holds_header(program, elem),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Header(_) | TypeKind::Union(_) => true,
            TypeKind::Struct(fields) => fields.iter().any(|f| holds_header(program, &f.ty)),
            _ => false,
        },
        _ => false,
    }
}

fn check_write(program: &Program, stmt: &Stmt, found: &mut Vec<Diagnostic>) {
    let mut places = vec![];
    match &stmt.kind {
        StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) => places.push(place),
        StmtKind::Call(call) => places.extend(call.args.iter().flatten()),
        _ => {}
    }
    let is_standard = |ty: &Type| matches!(ty, Type::Named(id) if Some(program.type_decl(*id).name.as_str()) == p4_arch::v1model::ARCHITECTURE.standard_metadata);
    let is_call = matches!(stmt.kind, StmtKind::Call(_));
    for place in places {
        let place = match &place.kind {
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => base,
            _ => place,
        };
        if is_standard(&place.ty) && !is_call {
            found.push(unsupported(place.span, "the whole standard metadata is written"));
        }
        let ExprKind::Field(base, index) = &place.kind else { continue };
        let name = program.fields(&base.ty).get(*index as usize).map(|f| f.name.as_str()).unwrap_or_default();
        if is_standard(&base.ty)
            && RUNTIME_READS.iter().any(|meaning| arch::field(program, *meaning) == Some(name))
        {
            found.push(unsupported(place.span, &format!("`{name}` is written or passed to a call")));
        }
    }
}

fn check_no_methods(block: &Block, what: &str, found: &mut Vec<Diagnostic>) {
    visit::stmts(block, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind
            && matches!(call.callee, Callee::Method(..))
        {
            found.push(unsupported(call.span, what));
        }
    });
    visit::all_exprs(block, &mut |e| {
        if let ExprKind::Call(call) = &e.kind
            && matches!(call.callee, Callee::Method(..))
        {
            found.push(unsupported(call.span, what));
        }
    });
}
