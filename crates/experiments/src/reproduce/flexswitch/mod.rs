//! FlexSwitch's (NSDI'17) tables and figures: of its building blocks, by the models that the blocks' P4 is bit-equal to, and of its protocols, in the
//! emulator.

mod fig2;
mod fig3;
mod fig3_full;
mod fig6;
mod table1;
mod table2;
mod table3;
mod table4;
mod table6;
mod transfers;

use super::Experiment;

/// All of them, in the paper's order.
pub const FLEXSWITCH: [&Experiment; 9] = [
    &fig2::EXPERIMENT,
    &table1::EXPERIMENT,
    &table2::EXPERIMENT,
    &fig3::EXPERIMENT,
    &fig3_full::EXPERIMENT,
    &table3::EXPERIMENT,
    &fig6::EXPERIMENT,
    &table4::EXPERIMENT,
    &table6::EXPERIMENT,
];

/// `3.14 %`
fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn block(name: &str) -> &'static p4_blocks::Block {
    p4_blocks::find(name).unwrap_or_else(|| panic!("there is no block {name}"))
}
