//! Packets from captures to captures where no output of single packets is asked for: machine code, with buffers that
//! are reused.
//!
//! The output equals that of [`Job::feed`]: each packet runs at its own time, and all its effects are complete before
//! the next packet. Packets of programs that do not see the time run in batches.

use super::feed::Feed;
use super::step::{Gatherer, Step};
use super::{Ended, Job, check_ports};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_ports::{Filled, Moment, Results};
use target_native::{Engine, Packet};

/// Packets that are run together at most.
const BATCH: usize = 64;

/// Observes sent frames and reports of packets; an error ends the run.
pub trait Watcher {
    /// Packets were received: `number` so far, the last of them at this time.
    fn packets(&mut self, number: u64, at: Time) -> Result<(), Vec<Diagnostic>>;

    /// Frames of these packets leave.
    fn sent(&mut self, results: &Results<'_>) -> Result<(), Vec<Diagnostic>>;

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
            let filled = feed.fill(&mut run.packets, &mut run.came);
            run.batch(watcher)?;
            match filled.map_err(|problem| vec![problem])? {
                Filled::Full => {}
                Filled::Long => run.long(feed, watcher)?,
                Filled::End => break,
            }
        }
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
    /// When each of them came.
    came: Vec<Moment>,
    /// Packets so far.
    number: u64,
    now: Time,
}

impl Run {
    /// Runs the batch, and reports its results.
    fn batch(&mut self, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        let Some(last) = self.came.last() else { return Ok(()) };
        self.now = last.at;
        let packets = &mut self.packets[..self.came.len()];
        let outputs = self.engine.process(packets, self.now);
        self.number += packets.len() as u64;
        watcher.packets(self.number, self.now)?;
        let (came_of, came) = (self.engine.came_of(), &self.came);
        watcher.sent(&Results { packets, outputs: &outputs, came_of, came })?;
        self.came.clear();
        self.pass_messages(watcher)
    }

    /// Runs the frame of a feed that is too long for a buffer; the batch must be empty.
    fn long(&mut self, feed: &mut Feed, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        let moment = feed.moment();
        (self.number, self.now) = (self.number + 1, moment.at);
        watcher.packets(self.number, self.now)?;
        let frame = feed.frame();
        let outputs = self.engine.switch().process(frame.port, frame.bytes, self.now);
        let came_of = vec![0; outputs.len()];
        watcher.sent(&Results { packets: &[], outputs: &outputs, came_of: &came_of, came: &[moment] })?;
        self.pass_messages(watcher)
    }

    /// Passes digests, log lines and idle entries to the watcher.
    fn pass_messages(&mut self, watcher: &mut dyn Watcher) -> Result<(), Vec<Diagnostic>> {
        self.gatherer
            .step_of_messages(self.engine.switch(), self.now)
            .map_or(Ok(()), |step| watcher.messages(&step))
    }
}
