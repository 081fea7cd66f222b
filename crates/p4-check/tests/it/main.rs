//! Every typing rule and every diagnostic, by small programs.

mod access;
mod aggregates;
mod calls;
mod codes;
mod constants;
mod conversions;
mod damaged;
mod declarations;
mod entries;
mod instances;
mod late;
mod names;
mod operators;
mod parsers;
mod places;
mod programs;
mod robust;
mod rules;
mod statements;
mod support;
mod tables;
mod tree;
mod types;
mod warnings;
