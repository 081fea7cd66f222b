//! ExoPlane's figures and tables that its model alone gives, memory, shares and rates, and those of racks in the emulator.

mod appendix_d;
mod cards;
mod ensembles;
mod fig1;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig17;
mod fig9;
mod gateway;
mod resources;
mod table3;

use super::Experiment;

/// All of them, in the paper's order.
pub const EXOPLANE: [&Experiment; 15] = [
    &fig1::EXPERIMENT,
    &fig9::EXPERIMENT,
    &fig10::EXPERIMENT,
    &fig11::EXPERIMENT,
    &table3::EXPERIMENT,
    &cards::EXPERIMENT,
    &ensembles::EXPERIMENT,
    &fig12::EXPERIMENT,
    &fig13::EXPERIMENT,
    &fig14::EXPERIMENT,
    &fig15::EXPERIMENT,
    &resources::EXPERIMENT,
    &fig16::EXPERIMENT,
    &fig17::EXPERIMENT,
    &appendix_d::EXPERIMENT,
];
