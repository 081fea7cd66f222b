//! The printed switch program of AGG as a device: [`Pipeline`] compiles a program, fills its tables and passes it packets of a job
//! in frames. Tests compare it with [`aggregate::Switch`] and run it between real mappers and reducers.

mod addresses;
mod pipeline;

pub use addresses::{MAPPERS, REDUCER, SWITCH};
pub use aggregate::Datagram;
pub use pipeline::{
    CHILDREN, Compiled, Engine, Pipeline, REDUCER_PORT, Reached, batches, compile, frame, start,
};
