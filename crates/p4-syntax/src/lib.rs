//! P4-16 source text to a syntax tree and back: preprocess, lex, parse, print.

pub mod ast;
