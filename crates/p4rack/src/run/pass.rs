//! Packets from captures to captures where no output of single packets is asked for: machine code, with buffers that
//! are reused.
//!
//! The output equals that of [`Job::feed`]: each packet runs at its own time, and all its effects are complete before
//! the next packet. Packets of programs that do not see the time run in batches.

use super::feed::{Feed, FrameRef};
use super::step::{Gatherer, Step};
use super::{Ended, Job, check_ports};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Port;
use target_native::{Engine, Fate, Packet};

/// Packets that are run together at most.
const BATCH: usize = 64;

/// Observes sent frames and reports of packets; an error ends the run.
pub trait Watcher {
    /// A packet was received.
    fn packet(&mut self, number: u64, at: Time) -> Result<(), Vec<Diagnostic>>;

    /// A frame leaves. The captures' times are `epoch_nanos` ahead of virtual time.
    fn sent(&mut self, at: Time, epoch_nanos: u64, port: Port, frame: &[u8]) -> Result<(), Vec<Diagnostic>>;

    /// Digests, lines of the log, and entries that have become idle; the step has nothing else.
    fn messages(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>>;
}

impl Job {
    /// True if [`pass`](Job::pass) can run the program: as machine code, and without frame externs, whose timers send between packets.
    pub fn passes(&self) -> bool {
        self.engine == super::Engine::Native && !self.trace && self.program.frame_externs().is_empty()
    }

    /// Runs packets from captures and the command line; `watcher` sees no steps.
    pub fn pass(&self, feed: &mut Feed, watcher: &mut dyn Watcher) -> Result<Ended, Vec<Diagnostic>> {
        let mut engine = Engine::compile(&self.program, self.options())?;
        self.fill(engine.switch())?;
        check_ports(engine.switch().port_numbers(), feed.ports())?;
        let gatherer = Gatherer::new(self, engine.switch());
        let most = if engine.is_timeless() { BATCH } else { 1 };
        let (packets, came) = (vec![Packet::default(); most], vec![]);
        let mut run = Run { engine, gatherer, packets, came, number: 0, now: Time::ZERO };
        loop {
            let frame = match feed.read() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(problem) => {
                    run.batch(watcher)?;
                    return Err(vec![problem]);
                }
            };
            if !run.takes(&frame) {
                run.batch(watcher)?;
                run.long(&frame, watcher)?;
            } else if run.came.len() == most {
                run.batch(watcher)?;
            }
        }
        run.batch(watcher)?;
        run.pass_messages(watcher)?;
        Ok(self.ended(run.engine.switch()))
    }
}

/// Packets on their way.
struct Run {
    engine: Engine,
    gatherer: Gatherer,
    /// Packets; the first ones are filled.
    packets: Vec<Packet>,
    /// When each of them came, and how far its capture's time is ahead.
    came: Vec<(Time, u64)>,
    /// Packets so far.
    number: u64,
    now: Time,
}

impl Run {
    /// Adds a frame to the batch; false if it is too long for a buffer.
    fn takes(&mut self, frame: &FrameRef<'_>) -> bool {
        let takes = self.packets[self.came.len()].receive(frame.port, frame.bytes);
        if takes {
            self.now = self.now.max(frame.at);
            self.came.push((self.now, frame.epoch_nanos));
        }
        takes
    }

    /// Runs the batch, and reports the results of each packet.
    fn batch(&mut self, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        if self.came.is_empty() {
            return Ok(());
        }
        let packets = &mut self.packets[..self.came.len()];
        let outputs = self.engine.process(packets, self.now);
        let mut outputs = outputs.into_iter().zip(self.engine.came_of()).peekable();
        for (at, (packet, (now, epoch))) in packets.iter().zip(self.came.drain(..)).enumerate() {
            self.number += 1;
            watcher.packet(self.number, now)?;
            while let Some((output, _)) = outputs.next_if(|(_, of)| **of == at) {
                watcher.sent(now, epoch, output.port, &output.frame)?;
            }
            if let Fate::Sent(port) = packet.fate() {
                watcher.sent(now, epoch, port, packet.frame())?;
            }
        }
        drop(outputs);
        self.pass_messages(watcher)
    }

    /// Runs a frame that is too long for a buffer; the batch must be empty.
    fn long(&mut self, frame: &FrameRef<'_>, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        self.number += 1;
        self.now = self.now.max(frame.at);
        watcher.packet(self.number, self.now)?;
        for output in self.engine.switch().process(frame.port, frame.bytes, self.now) {
            watcher.sent(self.now, frame.epoch_nanos, output.port, &output.frame)?;
        }
        self.pass_messages(watcher)
    }

    /// Passes digests, log lines and idle entries to the watcher.
    fn pass_messages(&mut self, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        self.gatherer
            .step_of_messages(self.engine.switch(), self.now)
            .map_or(Ok(()), |step| watcher.messages(&step))
    }
}
