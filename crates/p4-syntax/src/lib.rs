//! P4-16 source text to a syntax tree and back: preprocess, lex, parse, print.
//!
//! `parse` never fails: it yields a tree and diagnostics. Files come from a [`Loader`]; this crate opens none.
//!
//! ```text
//! main.p4 --preprocess--> tokens --parse--> ast::Program --print--> text
//! ```
//!
//! After an error in a directive or a macro the parser's own complaints are dropped: they follow from it.

pub mod ast;
mod lexer;
mod load;
mod parser;
mod preprocess;
mod printer;
mod token;

use base_diag::{Diagnostics, SourceMap};

pub use load::{LoadError, Loader, Options};
pub use printer::print;

/// A parsed program.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The tree; where diagnostics hold errors, parts of it are missing.
    pub program: ast::Program,
    /// False after an error in a directive or a macro: then anything may be missing from the tree.
    pub preprocessed: bool,
    /// Diagnostics, in source order.
    pub diagnostics: Diagnostics,
}

/// Reads `main_file` and all it includes, and parses it.
pub fn parse(main_file: &str, loader: &dyn Loader, options: &Options, map: &mut SourceMap) -> Parsed {
    let mut diagnostics = Diagnostics::new();
    let tokens = preprocess::preprocess(main_file, loader, options, map, &mut diagnostics);
    if diagnostics.has_errors() {
        let program = parser::parse_program(&tokens, map, &mut Diagnostics::new());
        return Parsed { program, preprocessed: false, diagnostics };
    }
    let program = parser::parse_program(&tokens, map, &mut diagnostics);
    Parsed { program, preprocessed: true, diagnostics }
}
