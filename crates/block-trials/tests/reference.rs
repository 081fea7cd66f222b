//! The reference of all blocks, made from what the blocks say of themselves.

use block_trials::{TABLE_4, TofinoCost, tofino_cost};
use expect_test::expect_file;
use p4_blocks::{Arch, BLOCKS, Direction, Request};
use rmt_fit::Device;
use std::fmt::Write;

/// Cost of every block on a Tofino 1, beside the paper's protocols.
fn costs() -> String {
    let device = Device::built_in("tofino1").expect("a device");
    let titles = TofinoCost::default().rows().map(|(name, _)| name).join(" | ");
    let mut out = format!(
        "
## Cost on a Tofino

Additional resources of the block's example program on a Tofino 1, by the model of `p4rack fit`, and those that FlexSwitch's Table 4 has for whole protocols (its units are not given).

| | {titles} |
|---|---|---|---|---|---|---|---|
"
    );
    for block in BLOCKS {
        let request = block.read("").expect("possible");
        let _ = match tofino_cost(block, &request, &device) {
            Ok(cost) => {
                writeln!(
                    out,
                    "| `{}` | {} |",
                    block.name,
                    cost.rows().map(|(_, n)| n.to_string()).join(" | ")
                )
            }
            Err(why) => writeln!(out, "| `{}` | {why} | | | | | | |", block.name),
        };
    }
    for (protocol, row) in TABLE_4 {
        let _ = writeln!(out, "| paper's {protocol} | {} |", row.map(|n| n.to_string()).join(" | "));
    }
    out
}

#[test]
fn the_reference_lists_every_block() {
    let mut out = "# Blocks\n\nHow to use them: [blocks.md](blocks.md). This page is made by `UPDATE_EXPECT=1 cargo test -p block-trials --test it reference::`. Costs are those of the default parameters.\n".to_string();
    out += &costs();
    for block in BLOCKS {
        let values = block.defaults();
        let request =
            Request { values: values.clone(), control: block.control.to_string(), arch: Arch::V1Model };
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
