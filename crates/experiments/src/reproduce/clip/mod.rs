//! CLIP's figures and tables: handlers on a group of servers that grows and shrinks, and hot flows at the switch.

mod fig5a;
mod fig6;
mod fig7;
mod scaling;
mod table1;

use super::Experiment;

/// All of them, in the paper's order.
pub const CLIP: [&Experiment; 5] =
    [&scaling::EXPERIMENT, &fig5a::EXPERIMENT, &fig6::EXPERIMENT, &fig7::EXPERIMENT, &table1::EXPERIMENT];
