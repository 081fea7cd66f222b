//! The printed program of four lanes, to be read, and what is refused.

use aggregate::program::Program;
use aggregate::{Layout, Op};
use expect_test::expect_file;

#[test]
fn the_program_of_four_lanes() {
    let layout = Layout { lanes: 4, tag_bits: 32, index_bits: 10, window: 64, evict: false };
    let program = Program::new(layout, Op::Add, 8);
    expect_file!["four-lanes.p4"].assert_eq(&program.source().expect("it prints"));
}

#[test]
fn sizes_that_no_program_has_are_refused() {
    let layout = Layout::PIPELINE;
    let wrong = [
        (Program::new(Layout { lanes: 6, ..layout }, Op::Add, 8), "a multiple of four lanes"),
        (Program::new(Layout { window: 100, ..layout }, Op::Add, 8), "a power of two"),
        (Program::new(Layout { index_bits: 17, ..layout }, Op::Add, 8), "at most 16 bits"),
        (Program::new(Layout { tag_bits: 48, ..layout }, Op::Add, 8), "32 or 128 bits"),
        (Program::new(layout, Op::Add, 0), "at least one"),
        (Program { operators: Op::ALL.to_vec(), ..Program::new(layout, Op::Add, 8) }, "1 to 3 operators"),
    ];
    for (program, what) in wrong {
        let problem = program.source().expect_err(what).to_string();
        assert!(problem.contains(what), "{problem}");
    }
}
