//! Regions as marked in the source: `@region("Name") { ... }` in the body of ingress or egress.

use crate::arch;
use crate::section::Half;
use base_diag::codes::elaborate::ARCHITECTURE;
use base_diag::codes::split as codes;
use base_diag::{Diagnostic, Span};
use ir::{Block, ControlId, Name, Program, Stmt, StmtKind, visit};
use ir_state::uses_of_block;
use p4_arch::Duty;

/// A marked region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Unique in the program.
    pub name: Name,
    /// Half of the pipeline with the mark.
    pub half: Half,
    /// The block.
    pub span: Span,
    /// The innermost marked region around it.
    pub inside: Option<Name>,
    /// Control-plane names of the tables that it applies, inner regions included.
    pub tables: Vec<Name>,
    /// Control-plane names of the extern instances that it uses, inner regions included.
    pub state: Vec<Name>,
}

/// Finds the marks of a program, in source order; a misplaced or doubled one is refused.
pub fn marks(program: &Program) -> Result<Vec<Mark>, Vec<Diagnostic>> {
    if arch::facts(program).is_none() {
        let what = format!("programs for `{}` cannot be split", program.main.name);
        return Err(vec![
            Diagnostic::error(ARCHITECTURE, what)
                .note("only programs for v1model's `V1Switch` can be split yet"),
        ]);
    }
    let mut finder = Finder { program, marks: vec![], diagnostics: vec![] };
    let stages = [(Duty::Ingress, Half::Ingress), (Duty::Egress, Half::Egress)];
    let bodies = stages.map(|(stage, half)| (arch::control(program, stage), half));
    for (id, half) in bodies {
        if let Some(id) = id {
            finder.block(&program.control(id).body, At { half, control: id, inside: None, allowed: true });
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

struct Finder<'a> {
    program: &'a Program,
    marks: Vec<Mark>,
    diagnostics: Vec<Diagnostic>,
}

/// Position of the walk.
#[derive(Clone, Copy)]
struct At<'n> {
    half: Half,
    control: ControlId,
    inside: Option<&'n Name>,
    /// Not in a loop.
    allowed: bool,
}

impl Finder<'_> {
    fn block(&mut self, block: &Block, at: At<'_>) {
        for stmt in &block.stmts {
            self.stmt(stmt, at);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, at: At<'_>) {
        if let StmtKind::Block(block) = &stmt.kind
            && let Some(name) = block.region()
        {
            let is_identifier =
                name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
            match at.allowed && is_identifier {
                false if at.allowed => {
                    self.refuse(stmt.span, "a region's name consists of letters, digits and `_`")
                }
                true => self.add(self.mark(&name, stmt.span, block, at)),
                false => self.refuse(stmt.span, "a loop runs on one device"),
            }
            self.block(block, At { inside: Some(&name), ..at });
            return;
        }
        let in_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
        visit::blocks(stmt, &mut |inner| self.block(inner, At { allowed: at.allowed && !in_loop, ..at }));
    }

    fn mark(&self, name: &Name, span: Span, block: &Block, at: At<'_>) -> Mark {
        let uses = uses_of_block(self.program, at.control, block);
        let tables = &self.program.control(at.control).tables;
        Mark {
            name: name.clone(),
            half: at.half,
            span,
            inside: at.inside.cloned(),
            tables: uses.tables.iter().map(|t| tables[t.index()].control_plane_name.clone()).collect(),
            state: uses
                .instances
                .keys()
                .map(|i| self.program.instance(*i).control_plane_name.clone())
                .collect(),
        }
    }

    fn add(&mut self, mark: Mark) {
        if let Some(first) = self.marks.iter().find(|m| m.name == mark.name) {
            let title = format!("region `{}` is marked twice", mark.name);
            let diagnostic = Diagnostic::error(codes::DUPLICATE_REGION, title)
                .at(mark.span, "a second region of that name")
                .at(first.span, "the first")
                .help("give each region a unique name");
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
