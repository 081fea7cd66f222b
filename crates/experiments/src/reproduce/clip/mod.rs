//! CLIP's figures and tables about scaling: handlers on a group of servers that grows and shrinks.

mod fig5a;
mod fig7;
mod scaling;
mod table1;

use super::Experiment;

/// All of them, in the paper's order.
pub const CLIP: [&Experiment; 4] =
    [&scaling::EXPERIMENT, &fig5a::EXPERIMENT, &fig7::EXPERIMENT, &table1::EXPERIMENT];
