//! An elaborated program as P4-16 source for v1model.
//!
//! The output is a program that a person can read, that any P4 compiler accepts, and that elaborates to the program it
//! was printed from: the same types, blocks, tables and control-plane names. Constants are printed as literals,
//! generics as their instances; names are the program's own, with a number appended where two would collide. If the
//! position of a declaration does not give its control-plane name, `@name` does.
//!
//! [`check`] reports constructs that source cannot express; [`print()`] then still prints the rest.

mod annotation;
mod apart;
mod block;
mod calls;
mod check;
mod control;
mod copies;
mod declare;
mod expression;
mod externs;
mod globals;
mod literal;
mod local;
mod names;
mod parser;
mod pipeline;
mod print;
mod statement;
mod table;
mod uses;
mod wrap;

pub use apart::Apart;
pub use check::check;
pub use print::print;
