//! CLIP's figures and tables: handlers on a group of servers that grows and shrinks, and hot flows at the switch.

mod fig5a;
mod fig5b;
mod fig6;
mod fig7;
mod fig8;
mod retransmissions;
mod scaling;
mod table1;
mod table2;

use super::Experiment;

/// All of them, in the paper's order.
pub const CLIP: [&Experiment; 9] = [
    &scaling::EXPERIMENT,
    &fig5a::EXPERIMENT,
    &fig5b::EXPERIMENT,
    &fig6::EXPERIMENT,
    &fig7::EXPERIMENT,
    &fig8::EXPERIMENT,
    &retransmissions::EXPERIMENT,
    &table1::EXPERIMENT,
    &table2::EXPERIMENT,
];
