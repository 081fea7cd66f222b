//! The syntax tree of a program without what it includes.

use crate::check::FILE;
use base_diag::SourceMap;
use p4_arch::Texts;
use p4_syntax::Options;
use p4_syntax::ast::Program;

/// A program's own declarations, and the lines that include the rest.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    head: String,
    pub(crate) program: Program,
}

impl Tree {
    /// Parses `source`.
    pub(crate) fn parse(source: &str) -> Tree {
        let mut map = SourceMap::new();
        let parsed = p4_syntax::parse(FILE, &Texts(&[(FILE, source)]), &Options::default(), &mut map);
        let mut program = parsed.program;
        program.decls.retain(|d| map.file_of(d.span().lo).is_some_and(|f| f.name() == FILE));
        let head = source.lines().filter(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect();
        Tree { head, program }
    }

    /// As text.
    pub(crate) fn print(&self) -> String {
        format!("{}{}", self.head, p4_syntax::print(&self.program))
    }
}

/// The program as the printer of trees writes it.
pub(crate) fn reprint(source: &str) -> String {
    Tree::parse(source).print()
}
