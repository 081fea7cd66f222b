//! The files of Flightplan's planner, as they are: devices, network, performance, programs, configuration.
//!
//! Names lose their prefixes: `Data::Prop::FPGA` is `FPGA`, `Data::Bound::InputRate` is `InputRate`. A device with
//! several ports forwards packets. Segments that the analyser lists as aliases of the start run on the focus; a device
//! of an allocatable class has 100 % of each area.

mod config;
mod json;
mod network;
mod performance;
mod program;

pub use config::{Config, read_config};
pub use network::{read_devices, read_network};
pub use performance::{read_performance_csv, read_performance_json};
pub use program::read_program;

/// A name without `Data::Prop::` or `Data::Bound::`.
fn bare(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
