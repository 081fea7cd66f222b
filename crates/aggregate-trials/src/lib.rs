//! The printed switch program of AGG as a device: [`Pipeline`] compiles a program, fills its tables and passes it packets of a job
//! in frames. Tests compare it with [`aggregate::Switch`] and run it between real mappers and reducers.

mod frame;
mod pipeline;

pub use frame::{Datagram, MAPPERS, REDUCER, SWITCH};
pub use pipeline::{Compiled, Engine, Pipeline, Reached, compile};
