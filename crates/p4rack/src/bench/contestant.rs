//! What takes part.

use bench_load::wire::Outcome;
use std::time::Duration;

/// Does a program's job on a load.
pub trait Contestant: Send {
    /// What it took to get ready.
    fn setup(&self) -> Setup;

    /// Each packet of the load once, in order. To be called first: the state is still empty.
    fn check(&mut self) -> Result<Outcome, String>;

    /// What is left to the interpreter: statements of the program, and how often it was called for a packet.
    fn left(&self) -> Option<(usize, f64)> {
        None
    }

    /// Entries written while packets run, for about so many milliseconds of processor time; none if it cannot say. It starts with empty
    /// tables of its own.
    fn updates(&mut self, _milliseconds: u64) -> Result<Option<Updates>, String> {
        Ok(None)
    }

    /// Packets of the load, again and again, for so many milliseconds of processor time.
    fn time(&mut self, milliseconds: u64) -> Result<Timing, String>;
}

/// What it took to get ready.
#[derive(Clone, Copy, Default, Debug)]
pub struct Setup {
    /// From source to something that runs.
    pub compile: Duration,
    /// To write all entries.
    pub fill: Duration,
    /// How many there were.
    pub entries: usize,
    /// Bytes of memory that it holds, with the load.
    pub memory: u64,
}

/// Writes to tables.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Updates {
    /// How many, each of one entry.
    pub entries: u64,
    /// Processor time of them and of a batch of packets behind each.
    pub cpu: Duration,
    /// Processor time of as many batches without them.
    pub without: Duration,
}

impl Updates {
    /// How many a second; none if they took less than a tenth of the packets' time, which may be noise of that.
    pub fn rate(&self) -> Option<f64> {
        let cpu = self.cpu.saturating_sub(self.without);
        (cpu * 10 > self.without).then(|| self.entries as f64 / cpu.as_secs_f64())
    }
}

/// A slice of time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timing {
    /// How many.
    pub packets: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Time on the wall.
    pub wall: Duration,
}
