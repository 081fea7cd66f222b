//! The reference of all blocks, made from what the blocks say of themselves.

use expect_test::expect_file;
use p4_blocks::{BLOCKS, Direction, Request};
use std::fmt::Write;

#[test]
fn the_reference_lists_every_block() {
    let mut out = "# Blocks\n\nHow to use them: [blocks.md](blocks.md). This page is made by `UPDATE_EXPECT=1 cargo test -p p4-blocks --test reference`. Costs are those of the default parameters; costs on a Tofino are not computed yet.\n".to_string();
    for block in BLOCKS {
        let values = block.defaults();
        let request = Request { values: values.clone(), control: block.control.to_string() };
        let _ = write!(out, "\n## {}\n\n{}.\n\n", block.name, block.about);
        let ports = (block.ports)(&values);
        let ports = ports.iter().map(|port| {
            let direction = if port.direction == Direction::In { "in" } else { "out" };
            format!("{direction} bit<{}> {}", port.bits, port.name)
        });
        let _ = write!(
            out,
            "```p4\n#include <{}>\ncontrol {}({})\n```\n\n| parameter | default | |\n|---|---|---|\n",
            p4_blocks::path(block, &request),
            block.control,
            ports.collect::<Vec<_>>().join(", ")
        );
        for parameter in block.parameters {
            let (least, most) = parameter.range;
            let _ = writeln!(
                out,
                "| `{}` | {} | {}; {least} to {most} |",
                parameter.name, parameter.default, parameter.about
            );
        }
        let cost = (block.cost)(&values);
        let _ = write!(
            out,
            "\nError: {}\n\n| state bits | hashes | entries | stages |\n|---|---|---|---|\n| {} | {} | {} | {} |\n",
            block.error,
            cost.state_bits,
            cost.hashes,
            cost.entries(),
            cost.stages
        );
    }
    expect_file!["../../../docs/blocks-reference.md"].assert_eq(&out);
}
