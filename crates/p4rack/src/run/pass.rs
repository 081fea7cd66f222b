//! Packets from captures to captures where no output of single packets is asked for: machine code, with buffers that
//! are reused.
//!
//! The output equals that of [`Job::feed`]: each packet runs at its own time, and all its effects are complete before
//! the next packet.

use super::feed::Feed;
use super::step::{Gatherer, Step};
use super::{Ended, Engine, Job, check_ports};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Port;
use target_native::{Fate, Packet};

/// Observes sent frames and reports of packets; an error ends the run.
pub trait Watcher {
    /// A packet comes in.
    fn packet(&mut self, number: u64, at: Time) -> Result<(), Vec<Diagnostic>>;

    /// A frame leaves. The captures' times are `epoch_nanos` ahead of virtual time.
    fn sent(&mut self, at: Time, epoch_nanos: u64, port: Port, frame: &[u8]) -> Result<(), Vec<Diagnostic>>;

    /// Digests, lines of the log, and entries that have become idle; the step has nothing else.
    fn told(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>>;
}

impl Job {
    /// True if [`pass`](Job::pass) can run it: as machine code, and without functions on frames, whose timers send between packets.
    pub fn passes(&self) -> bool {
        self.engine == Engine::Native && !self.trace && self.program.frame_externs().is_empty()
    }

    /// Runs packets from captures and the command line; `watcher` sees no steps.
    pub fn pass(&self, feed: &mut Feed, watcher: &mut dyn Watcher) -> Result<Ended, Vec<Diagnostic>> {
        let mut engine = target_native::Engine::compile(&self.program, self.options())?;
        self.fill(engine.switch())?;
        check_ports(engine.switch().port_numbers(), feed.ports())?;
        let mut gatherer = Gatherer::new(self, engine.switch());
        let (mut packet, mut number, mut now) = (Packet::default(), 0, Time::ZERO);
        while let Some(frame) = feed.read().map_err(|problem| vec![problem])? {
            number += 1;
            now = now.max(frame.at);
            watcher.packet(number, now)?;
            let epoch = frame.epoch_nanos;
            let fits = packet.receive(frame.port, frame.bytes);
            let outputs = match fits {
                true => engine.process(std::slice::from_mut(&mut packet), now),
                false => engine.switch().process(frame.port, frame.bytes, now),
            };
            for output in outputs {
                watcher.sent(now, epoch, output.port, &output.frame)?;
            }
            if let Fate::Sent(port) = packet.fate()
                && fits
            {
                watcher.sent(now, epoch, port, packet.frame())?;
            }
            if let Some(step) = gatherer.told(engine.switch(), now) {
                watcher.told(&step)?;
            }
        }
        if let Some(step) = gatherer.told(engine.switch(), now) {
            watcher.told(&step)?;
        }
        Ok(self.ended(engine.switch()))
    }
}
