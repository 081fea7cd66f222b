//! Contestants of the benchmark.

use super::events::Events;
use bench_load::wire::Outcome;
use std::time::Duration;

/// Does a program's job on a load.
pub trait Contestant: Send {
    /// Cost of getting ready.
    fn setup(&self) -> Setup;

    /// Each packet of the load once, in order. To be called first: the state is still empty.
    fn check(&mut self) -> Result<Outcome, String>;

    /// The process that does the job, if that is another one.
    fn process(&self) -> Option<u32> {
        None
    }

    /// Statements that the interpreter runs for the engine, and its calls per packet.
    fn left(&self) -> Option<(usize, f64)> {
        None
    }

    /// Entries written while another thread runs packets, for about so many milliseconds; none if it cannot say. It starts with
    /// empty tables of its own.
    fn updates(&mut self, _milliseconds: u64) -> Result<Option<Updates>, String> {
        Ok(None)
    }

    /// Packets of the load, again and again, for so many milliseconds of processor time.
    fn time(&mut self, milliseconds: u64) -> Result<Timing, String>;
}

/// Cost of getting ready.
#[derive(Clone, Copy, Default, Debug)]
pub struct Setup {
    /// From source to something that runs.
    pub compile: Duration,
    /// To write all entries.
    pub fill: Duration,
    /// Number of entries.
    pub entries: usize,
    /// Bytes of memory that it holds, with the load.
    pub memory: u64,
}

/// Writes to tables, while another thread runs packets.
#[derive(Clone, Copy, Default, Debug)]
pub struct Updates {
    /// Number of writes of one entry each.
    pub entries: u64,
    /// Processor time of the thread that writes.
    pub cpu: Duration,
    /// Wall-clock time of the writes, including all waiting.
    pub wall: Duration,
    /// Packets that the other thread forwarded meanwhile.
    pub forwarded: Timing,
}

impl Updates {
    /// Writes per second of wall-clock time.
    pub fn rate(&self) -> f64 {
        self.entries as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    /// Nanoseconds of processor time for a write.
    pub fn nanoseconds(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.entries.max(1) as f64
    }
}

impl Timing {
    /// Nanoseconds of processor time for a packet.
    pub fn nanoseconds(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.packets.max(1) as f64
    }
}

/// A slice of time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timing {
    /// Number of packets.
    pub packets: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Time on the wall.
    pub wall: Duration,
    /// If they can be counted.
    pub events: Option<Events>,
}
