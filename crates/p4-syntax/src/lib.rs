//! P4-16 source text to a syntax tree and back: preprocess, lex, parse, print.

pub mod ast;
mod lexer;
mod load;
mod preprocess;
mod token;

pub use load::{LoadError, Loader, Options};
