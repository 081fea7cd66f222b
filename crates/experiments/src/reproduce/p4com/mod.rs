//! Savings of P4COM: a whole job of AGG's machines around the model of a switch, next to the same job without one.

mod bytes;

use super::Experiment;

/// All of them.
pub const P4COM: [&Experiment; 2] = [&bytes::BYTES, &bytes::SKEWS];
