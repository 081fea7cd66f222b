//! Packets per second of the engine, beside others that do the same job.
//!
//! For each program a [`Load`](bench_load::Load) is made from a seed. The reference interpreter defines the output of
//! its packets; each contestant must give the same bytes before it is timed. Then they take turns, a slice of time
//! each, so that other load on the machine affects all alike. Time is processor time.

mod captures;
mod clock;
mod contestant;
mod dpdk;
mod events;
mod feed;
mod handler;
mod handler_program;
mod interp;
mod lane;
mod measure;
mod native;
mod peer;
mod report;
mod sharing;
mod simple_switch;
mod source;
mod targets;

pub(crate) use clock::{thread, wall};
pub use contestant::{Contestant, Setup, Timing, Updates};
pub use events::{Counters, Events};
pub use handler::{HandlerTimes, handler};
pub use interp::Interp;
pub use measure::{Measured, Outcome, Result as ProgramResult, Run, Speed, measure};
pub use native::Native;
pub(crate) use peer::{Scratch, run};
pub use report::{json, text};
pub use sharing::Sharing;
pub use targets::{Target, head, targets};

use bench_load::{Program, Shape};

/// Kinds of contestants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The native engine.
    Native,
    /// The reference interpreter.
    Interp,
    /// C code with the same function.
    C,
    /// A DPDK SWX pipeline with the same function.
    Swx,
    /// The same program on BMv2's switch.
    SimpleSwitch,
}

impl Kind {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Native => "native",
            Kind::Interp => "interp",
            Kind::C => "c",
            Kind::Swx => "swx",
            Kind::SimpleSwitch => "simple_switch",
        }
    }
}

/// Settings of a benchmark.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Programs to measure.
    pub programs: Vec<&'static Program>,
    /// Contestants; the others are compared with the first.
    pub kinds: Vec<Kind>,
    /// Numbers of workers; each worker processes its own packets.
    pub workers: Vec<usize>,
    /// For each contestant and number of workers, in milliseconds.
    pub time: u64,
    /// Parameters of loads; the skew is the program's own if `skew` is `None`.
    pub shape: Shape,
    /// The exponent of the flows' popularity in thousandths.
    pub skew: Option<u32>,
}

impl Settings {
    /// Parameters of a program's load.
    pub fn shape_of(&self, program: &Program) -> Shape {
        Shape { skew: self.skew.unwrap_or(program.skew), ..self.shape }
    }
}
