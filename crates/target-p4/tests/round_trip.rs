//! What is printed elaborates to what it was printed from.

mod support;

use support::compile;

#[test]
fn the_slice_comes_back() {
    let source = include_str!("../../../examples/slice/slice.p4");
    let program = compile(source).unwrap_or_else(|e| panic!("{e}"));
    let printed = target_p4::print(&program);
    println!("{printed}");
    let again = compile(&printed).unwrap_or_else(|e| panic!("{printed}\n{e}"));
    println!("{}", ir::text::write(&again));
    assert_eq!(ir::text::write(&again), ir::text::write(&program));
}
