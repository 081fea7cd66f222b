//! P4COM's figures and tables, with the other systems beside AGG; and the bytes that AGG saves in large jobs.

mod beyond;
mod bytes;
mod completion;
mod fig8;
mod formula;
mod shuffle;
mod systems;
mod table2;

use super::Experiment;

/// All of them.
pub const P4COM: [&Experiment; 12] = [
    &formula::EXPERIMENT,
    &shuffle::FIG6,
    &shuffle::FIG7,
    &completion::EXPERIMENT,
    &fig8::EXPERIMENT,
    &table2::EXPERIMENT,
    &bytes::BYTES,
    &bytes::SKEWS,
    &beyond::MEMORY,
    &beyond::SKEW_SYSTEMS,
    &beyond::STRAGGLERS,
    &beyond::RESTART,
];
