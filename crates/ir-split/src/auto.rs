//! Regions nobody marked: every border between statements, and policies that choose among them.
//!
//! Before: `apply { a = 1; t.apply(); if (c) { b = 2; d = 3; } }`
//! After:  `apply { a = 1; @region("R") { t.apply(); if (c) { b = 2; d = 3; } } }`, marked from the border before `t`
//!
//! A *border* is the place before a statement of ingress or egress, inside branches too: these are the finest possible
//! cuts. [`open`] removes the user's marks and inlines applied controls, so that borders inside of them can be cut.
//! Marking does not change the program's meaning: a mark is a block with a name.

mod near;

pub use near::{around, large, table_at, tables_of};

use crate::arch;
use crate::section::Half;
use base_diag::{Diagnostic, Span};
use device_classes::DeviceClass;
use ir::{
    Annotation, Block, Callee, Control, ControlId, Expr, ExprKind, Name, Program, Stmt, StmtKind, SwitchOn,
    visit,
};
use ir_limits::exceeds;
use p4_arch::Duty;
use std::collections::BTreeSet;

/// The place before a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Border {
    /// Before or after the traffic manager.
    pub half: Half,
    /// The statement after it.
    pub span: Span,
    /// In the body of a loop, where no cut is possible.
    pub in_loop: bool,
    /// From the body down: the statement in its block, and the block in that statement.
    path: Vec<(usize, usize)>,
    /// The statement in the innermost block.
    index: usize,
}

impl Border {
    /// True if `other` is a border of the same block that stands before this one.
    pub fn is_behind(&self, other: &Border) -> bool {
        self.half == other.half && self.path == other.path && other.index < self.index
    }
}

/// Choice of the regions to mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// From each border to the end of its block.
    Borders,
    /// Each statement that applies a table or calls a method of an extern.
    Tables,
    /// Each block with a `@name`, and each control that is applied.
    Blocks,
    /// The bodies as chains: a link begins with each outermost statement that uses a table or an extern.
    Chain,
    /// [`Policy::Chain`], and inside of the links [`Policy::Tables`].
    Nested,
    /// Each statement that a class of devices cannot execute.
    Beyond(DeviceClass),
}

/// A region that a policy chose: some statements of one block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Unique among the cuts of one call of [`cuts`].
    pub name: Name,
    /// Border at which the region begins.
    pub from: Border,
    /// Number of statements; `None`: all to the end of the block.
    pub len: Option<usize>,
}

/// The program without its marks, with the bodies of controls inlined into their callers.
///
/// Programs that the inlining passes do not accept are refused by their diagnostics.
pub fn open(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    let mut open = unmarked(program);
    if bodies(&open).any(|(_, _, body)| applies_controls(body)) {
        crate::prepare::normalize(&mut open)?;
    }
    Ok(open)
}

/// The program without its marks.
pub fn unmarked(program: &Program) -> Program {
    let mut bare = program.clone();
    for control in &mut bare.controls {
        visit::stmts_mut(&mut control.body, &mut |stmt| {
            if let StmtKind::Block(block) = &mut stmt.kind {
                block.annotations.retain(|a| a.name != "region");
            }
        });
    }
    bare
}

/// The regions that a program marks, as cuts of the same program without its marks ([`unmarked`]).
pub fn marked(program: &Program) -> Vec<Cut> {
    let mut found = vec![];
    for (half, _, body) in bodies(program) {
        walk(half, body, &mut vec![], false, &mut |from, stmt| {
            let StmtKind::Block(block) = &stmt.kind else { return };
            found.extend(block.region().map(|name| Cut { name, from, len: Some(1) }));
        });
    }
    found
}

/// All borders of ingress and egress, in source order. Statements that no source has are passed over.
pub fn borders(program: &Program) -> Vec<Border> {
    let mut found = vec![];
    for (half, _, body) in bodies(program) {
        walk(half, body, &mut vec![], false, &mut |border, _| found.push(border));
    }
    found.retain(|b| !b.span.is_none());
    found
}

/// Makes the code after a border, to the end of its block, a region. Borders of the same or an inner block that lie
/// after this one are no longer where they were.
pub fn mark_from(program: &mut Program, border: &Border, name: &str) {
    mark_some(program, border, None, name);
}

/// Makes the code between two borders of one block a region; nothing if they are of different blocks or in the wrong
/// order.
pub fn mark_between(program: &mut Program, from: &Border, to: &Border, name: &str) {
    if to.is_behind(from) {
        mark_some(program, from, Some(to.index - from.index), name);
    }
}

/// Makes all the code after a border regions: to the end of its block, and after each block around it to the end of that.
/// Gives their names, which begin with `name`.
pub fn mark_onward(program: &mut Program, border: &Border, name: &str) -> Vec<Name> {
    let mut names = vec![];
    // From the outermost block inwards: marking a block moves no statement before it.
    for (depth, (stmt, _)) in border.path.iter().enumerate() {
        let from = Border { path: border.path[..depth].to_vec(), index: stmt + 1, ..border.clone() };
        let name = format!("{name}_behind{depth}");
        if mark_some(program, &from, None, &name).is_some() {
            names.push(name.into());
        }
    }
    mark_from(program, border, name);
    names.push(name.into());
    names
}

/// The regions that a policy finds, in source order; one around another comes before it.
pub fn cuts(program: &Program, policy: Policy) -> Vec<Cut> {
    let mut found = vec![];
    for (half, id, body) in bodies(program) {
        let control = program.control(id);
        let links = match policy {
            Policy::Chain | Policy::Nested => chain(program, control, half, body),
            Policy::Borders | Policy::Tables | Policy::Blocks | Policy::Beyond(_) => vec![],
        };
        let mut links = links.into_iter().peekable();
        walk(half, body, &mut vec![], false, &mut |from, stmt| {
            let name = match policy {
                Policy::Borders => Some("Cut".to_string()),
                Policy::Tables | Policy::Nested => used(program, control, stmt),
                Policy::Blocks => named(program, stmt),
                Policy::Chain => None,
                Policy::Beyond(class) => exceeds(class, program, control, stmt)
                    .then(|| used(program, control, stmt).unwrap_or_else(|| "Beyond".to_string())),
            };
            let link = links.next_if(|link| (&link.from.path, link.from.index) == (&from.path, from.index));
            let len = (policy != Policy::Borders).then_some(1);
            let own = name.filter(|_| !from.span.is_none()).map(|name| Cut { name: name.into(), from, len });
            // A link of one statement that is a cut itself is none.
            found.extend(link.filter(|link| own.is_none() || link.len != Some(1)));
            found.extend(own);
        });
    }
    number(&mut found, policy == Policy::Borders);
    found
}

/// Marks all of `cuts`, which are of this program and in the order in which [`cuts`] gave them.
pub fn mark(program: &mut Program, cuts: &[Cut]) {
    // From the last to the first: marking a block moves no statement before or around it. It may need declarations
    // before it, which belong to the surrounding region, too.
    let mut longer: Vec<(&Border, usize)> = vec![];
    for cut in cuts.iter().rev() {
        let from = &cut.from;
        let is_inside = |other: &Border, len: usize| {
            (other.half, &other.path) == (from.half, &from.path)
                && (from.index..from.index + len).contains(&other.index)
        };
        let more =
            |len: usize| longer.iter().filter(|(at, _)| is_inside(at, len)).map(|(_, n)| n).sum::<usize>();
        let marked = mark_some(program, from, cut.len.map(|len| len + more(len)), &cut.name);
        longer.extend(marked.map(|declared| (from, declared)));
    }
}

fn bodies(program: &Program) -> impl Iterator<Item = (Half, ControlId, &Block)> {
    let halves = [(Duty::Ingress, Half::Ingress), (Duty::Egress, Half::Egress)];
    halves.into_iter().filter_map(|(stage, half)| {
        let id = arch::control(program, stage)?;
        Some((half, id, &program.control(id).body))
    })
}

fn applies_controls(body: &Block) -> bool {
    let mut found = false;
    visit::stmts(body, &mut |stmt| found |= called_control(stmt).is_some());
    found
}

fn called_control(stmt: &Stmt) -> Option<ControlId> {
    match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Control(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// Calls `f` with every statement and the border before it.
fn walk(
    half: Half,
    block: &Block,
    path: &mut Vec<(usize, usize)>,
    in_loop: bool,
    f: &mut dyn FnMut(Border, &Stmt),
) {
    for (index, stmt) in block.stmts.iter().enumerate() {
        f(Border { half, span: stmt.span, in_loop, path: path.clone(), index }, stmt);
        let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
        let mut nth = 0;
        visit::blocks(stmt, &mut |inner| {
            path.push((index, nth));
            walk(half, inner, path, in_loop || is_loop, f);
            path.pop();
            nth += 1;
        });
    }
}

/// The name of the first table or extern instance that the statement itself uses, not those nested in it.
fn used(program: &Program, control: &Control, stmt: &Stmt) -> Option<String> {
    let table = |id: ir::TableId| control.tables[id.index()].control_plane_name.to_string();
    let callee = |callee: &Callee| match callee {
        Callee::Method(id, _) => Some(program.instance(*id).control_plane_name.to_string()),
        _ => None,
    };
    let own = match &stmt.kind {
        StmtKind::Apply(id) | StmtKind::Switch(SwitchOn::ActionRun(id), _) => Some(table(*id)),
        StmtKind::Call(call) => callee(&call.callee),
        _ => None,
    };
    let mut found = own;
    let mut look = |e: &Expr| {
        let name = match &e.kind {
            ExprKind::ApplyHit(id) | ExprKind::ApplyMiss(id) => Some(table(*id)),
            ExprKind::Call(call) => callee(&call.callee),
            _ => None,
        };
        if found.is_none() {
            found = name;
        }
    };
    visit::exprs(stmt, &mut |e| visit::subexprs(e, &mut look));
    found
}

/// The name of a block with one, or of the control that a statement applies.
fn named(program: &Program, stmt: &Stmt) -> Option<String> {
    match &stmt.kind {
        StmtKind::Block(block) => {
            block.annotations.iter().find(|a| a.name == "name").and_then(|a| a.as_str()).map(String::from)
        }
        _ => called_control(stmt).map(|id| program.control(id).name.to_string()),
    }
}

fn chain(program: &Program, control: &Control, half: Half, body: &Block) -> Vec<Cut> {
    let border = |index: usize| Border {
        half,
        span: body.stmts.get(index).map_or(Span::NONE, |s| s.span),
        in_loop: false,
        path: vec![],
        index,
    };
    let uses = |stmt: &Stmt| {
        let mut found = used(program, control, stmt).is_some();
        visit::blocks(stmt, &mut |inner| {
            visit::stmts(inner, &mut |s| found |= used(program, control, s).is_some());
        });
        found
    };
    let users = body.stmts.iter().enumerate().filter(|(_, stmt)| uses(stmt)).map(|(i, _)| i);
    // Statements before the first use belong to the first link.
    let starts: Vec<usize> = users.enumerate().map(|(n, i)| if n == 0 { 0 } else { i }).collect();
    let name = if half == Half::Ingress { "Ingress" } else { "Egress" };
    let link = |(n, &start): (usize, &usize)| Cut {
        name: name.into(),
        from: border(start),
        len: Some(starts.get(n + 1).copied().unwrap_or(body.stmts.len()) - start),
    };
    starts.iter().enumerate().map(link).collect()
}

/// Names of letters, digits and `_`, all different: the last part of the original name, numbered if needed.
fn number(cuts: &mut [Cut], all: bool) {
    let mut taken = BTreeSet::new();
    for cut in cuts {
        let last = cut.name.rsplit('.').next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let base: String = last.chars().map(plain).collect();
        let mut name = if all || base.is_empty() { format!("{base}1") } else { base.clone() };
        let mut n = 1;
        while !taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}{n}");
        }
        cut.name = name.into();
    }
}

/// Returns the number of declarations that now stand before the region, or `None` if there was nothing to mark.
fn mark_some(program: &mut Program, from: &Border, len: Option<usize>, name: &str) -> Option<usize> {
    let stage = from.half.duty();
    let id = arch::control(program, stage)?;
    let mut marked = None;
    within(&mut program.controls[id.index()].body, &from.path, &mut |block| {
        let end = len.map_or(block.stmts.len(), |len| (from.index + len).min(block.stmts.len()));
        if from.index >= end {
            return;
        }
        let behind = block.stmts.split_off(end);
        let mut inside = block.stmts.split_off(from.index);
        if !behind.is_empty() {
            block.stmts.extend(inside.iter_mut().filter_map(declared_before));
        }
        marked = Some(block.stmts.len() - from.index);
        block.stmts.push(region(name, from.span, inside));
        block.stmts.extend(behind);
    });
    marked
}

/// Statements as a region.
pub(crate) fn region(name: &str, span: Span, stmts: Vec<Stmt>) -> Stmt {
    let marked = Block { annotations: vec![Annotation::string("region", name)], stmts };
    Stmt { kind: StmtKind::Block(marked), span }
}

/// Variables that code after the region may read are declared before it.
pub(crate) fn declared_before(stmt: &mut Stmt) -> Option<Stmt> {
    let StmtKind::Declare(var, init) = &mut stmt.kind else { return None };
    let declaration = Stmt { kind: StmtKind::Declare(*var, None), span: stmt.span };
    let empty = StmtKind::Block(Block::default());
    let var = *var;
    stmt.kind = match init.take() {
        Some(value) => {
            let place = Expr { kind: ExprKind::Var(var), ty: value.ty.clone(), span: stmt.span };
            StmtKind::Assign(place, value)
        }
        None => empty,
    };
    Some(declaration)
}

/// Calls `f` with the block that `path` leads to.
fn within(block: &mut Block, path: &[(usize, usize)], f: &mut dyn FnMut(&mut Block)) {
    let Some((&(stmt, wanted), rest)) = path.split_first() else { return f(block) };
    let Some(stmt) = block.stmts.get_mut(stmt) else { return };
    let mut nth = 0;
    visit::blocks_mut(stmt, &mut |inner| {
        if nth == wanted {
            within(inner, rest, f);
        }
        nth += 1;
    });
}
