//! Regions as marked in the source: `@region("Name") { ... }` in the body of ingress or egress.

use crate::section::Half;
use base_diag::codes::split as codes;
use base_diag::{Diagnostic, Span};
use ir::{Block, Name, Program, Stmt, StmtKind, visit};

/// A marked region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Unique in the program.
    pub name: Name,
    /// Where it stands.
    pub half: Half,
    /// The block.
    pub span: Span,
    /// The innermost marked region around it.
    pub inside: Option<Name>,
}

/// Finds the marks of a program, in source order; a misplaced or doubled one is refused.
pub fn marks(program: &Program) -> Result<Vec<Mark>, Vec<Diagnostic>> {
    let mut finder = Finder { marks: vec![], diagnostics: vec![] };
    let stages = [("ingress", Half::Ingress), ("egress", Half::Egress)];
    let bodies = stages.map(|(stage, half)| (program.stage_control(stage), half));
    for (id, half) in bodies {
        if let Some(id) = id {
            finder.block(&program.control(id).body, half, None, true);
        }
    }
    for (index, control) in program.controls.iter().enumerate() {
        let is_body = bodies.iter().any(|(id, _)| id.is_some_and(|id| id.index() == index));
        if !is_body {
            finder.refuse_all(&control.body, "only the bodies of ingress and egress can be cut");
        }
        for action in &control.actions {
            finder.refuse_all(&action.body, "an action runs on one device");
        }
    }
    for function in &program.functions {
        finder.refuse_all(&function.body, "a function runs on one device");
    }
    match finder.diagnostics.is_empty() {
        true => Ok(finder.marks),
        false => Err(finder.diagnostics),
    }
}

struct Finder {
    marks: Vec<Mark>,
    diagnostics: Vec<Diagnostic>,
}

impl Finder {
    fn block(&mut self, block: &Block, half: Half, inside: Option<&Name>, allowed: bool) {
        for stmt in &block.stmts {
            self.stmt(stmt, half, inside, allowed);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, half: Half, inside: Option<&Name>, allowed: bool) {
        if let StmtKind::Block(block) = &stmt.kind
            && let Some(name) = block.region()
        {
            match allowed {
                true => self.add(Mark { name: name.clone(), half, span: stmt.span, inside: inside.cloned() }),
                false => self.refuse(stmt.span, "a loop runs on one device"),
            }
            self.block(block, half, Some(&name), allowed);
            return;
        }
        let in_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
        visit::blocks(stmt, &mut |inner| self.block(inner, half, inside, allowed && !in_loop));
    }

    fn add(&mut self, mark: Mark) {
        if let Some(first) = self.marks.iter().find(|m| m.name == mark.name) {
            let title = format!("region `{}` is marked twice", mark.name);
            let diagnostic = Diagnostic::error(codes::DUPLICATE_REGION, title)
                .at(mark.span, "a second region of that name")
                .at(first.span, "the first")
                .help("give each region a name of its own");
            self.diagnostics.push(diagnostic);
            return;
        }
        self.marks.push(mark);
    }

    fn refuse_all(&mut self, block: &Block, why: &str) {
        visit::stmts(block, &mut |stmt| {
            if matches!(&stmt.kind, StmtKind::Block(b) if b.region().is_some()) {
                self.refuse(stmt.span, why);
            }
        });
    }

    fn refuse(&mut self, span: Span, why: &str) {
        let diagnostic = Diagnostic::error(codes::MISPLACED_REGION, "a region cannot be marked here")
            .at(span, why)
            .help("mark blocks in the `apply` of ingress or egress, outside of loops");
        self.diagnostics.push(diagnostic);
    }
}
