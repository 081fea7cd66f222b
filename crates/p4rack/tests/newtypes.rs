//! Newtypes of newtypes, of `bool`, of numbers with a sign and of enums, wherever values stand: in headers, metadata, keys, action
//! data, the input of a hash, digests and hand-overs. The parts of the split are compiled from what is printed, and a cast to
//! or from a newtype goes over each type that it is made of.
//!
//! Programs of earlier tests had newtypes of numbers only, one above the other nowhere.

use crate::support;

use base_diag::SourceMap;
use ir_prove::{Effort, prove};
use support::{case, compile_text, placement};

const PROGRAM: &str = include_str!("programs/newtypes.p4");

#[test]
fn newtypes_of_newtypes_are_handed_over() {
    let mut map = SourceMap::new();
    let case = case(compile_text(PROGRAM, &mut map), placement(&["R"]));
    match prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

#[test]
fn what_is_printed_is_the_same_program() {
    let mut map = SourceMap::new();
    let program = compile_text(PROGRAM, &mut map);
    let printed = target_p4::print(&program);
    let again = compile_text(&printed, &mut map);
    assert_eq!(ir::text::write(&program), ir::text::write(&again), "{printed}");
}
