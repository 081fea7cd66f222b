//! One program on one device: entries, packets from STF, capture files or hex, and the results.
//!
//! [`Job`] makes the device; [`Job::test`] and [`Job::feed`] run packets and pass each [`Step`] to a callback.
//! [`loaded`] has a device for other languages. [`text`] and [`json`] write steps; `device-text` has traces and state objects.

pub mod entries;
pub mod feed;
pub mod json;
pub mod loaded;
pub mod pass;
pub mod spec;
pub mod step;
pub mod text;

use base_diag::Diagnostic;
use base_diag::codes::run::BAD_PORT;
use base_time::Duration;
use dataplane_api::{Counters, Device, Port, Registry};
use device::{Driver, Options, PortNumbers, Switch};
use device_text::state;
use entries::Filling;
use feed::Feed;
use ir::Program;
use ir_fill::{Resolver, StfReport, StfRun};
use p4_stf::File;
use state::Object;
use std::collections::BTreeSet;
use std::sync::Arc;
use step::{Gatherer, Step};

/// Everything of a run except the packets.
pub struct Job {
    /// The program.
    pub program: Arc<Program>,
    /// Entries files, in order.
    pub fillings: Vec<Filling>,
    /// Random seed of the program.
    pub seed: u64,
    /// Time between two packets without timestamps; with captures, between any two packets.
    pub interval: Option<Duration>,
    /// Port of packets for the controller.
    pub cpu_port: Option<u32>,
    /// Steps contain a trace of the packet.
    pub trace: bool,
    /// Engine of the device.
    pub engine: Engine,
    /// The externs that the device offers.
    pub registry: Registry,
}

/// Engine that runs a program. All give the same results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The reference interpreter.
    Interp,
    /// Machine code; with traces the interpreter.
    Native,
}

/// End of a run.
pub struct Ended {
    /// Counts of packets received, sent and dropped.
    pub counters: Counters,
    /// Registers, counters, meters.
    pub state: Vec<Object>,
}

/// Looks at each step; an error ends the run.
pub type Watch<'w> = dyn FnMut(&Step) -> Result<(), Vec<Diagnostic>> + 'w;

/// Default time between two packets.
const INTERVAL: Duration = Duration::from_us(1);

/// Refuses ports that no port of the device can be, each once.
pub fn check_ports(
    numbers: &PortNumbers,
    ports: impl IntoIterator<Item = Port>,
) -> Result<(), Vec<Diagnostic>> {
    let ports: BTreeSet<Port> = ports.into_iter().collect();
    let wrong = ports.into_iter().filter_map(|port| {
        let error = numbers.check_port(port).err()?;
        let problem = Diagnostic::error(BAD_PORT, format!("there is no port {port}")).note(error.message);
        Some(match error.help {
            Some(help) => problem.help(help),
            None => problem,
        })
    });
    let wrong: Vec<Diagnostic> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

impl Job {
    fn options(&self) -> Options {
        Options { registry: self.registry.clone(), seed: self.seed, ..Options::default() }
    }

    /// A device with its entries, and the resolver's state after them.
    pub fn device(&self) -> Result<(Switch, Resolver), Vec<Diagnostic>> {
        let mut switch = match self.engine {
            Engine::Native if !self.trace => {
                target_native::Engine::compile(&self.program, self.options())?.into_switch()
            }
            _ => ir_interp::switch(Arc::clone(&self.program), self.options())?,
        };
        let resolver = self.fill(&mut switch)?;
        switch.set_trace(self.trace);
        Ok((switch, resolver))
    }

    /// Writes the entries to a device; returns the resolver's state after them.
    fn fill(&self, switch: &mut Switch) -> Result<Resolver, Vec<Diagnostic>> {
        check_ports(switch.port_numbers(), self.cpu_port)?;
        let mut resolver = Resolver::new(&self.program)?;
        for filling in &self.fillings {
            filling.fill(&mut resolver, switch)?;
        }
        Ok(resolver)
    }

    /// Runs a test on a new device.
    pub fn test(&self, test: &File, watch: &mut Watch) -> Result<(StfReport, Ended), Vec<Diagnostic>> {
        let (mut switch, mut resolver) = self.device()?;
        let mut gatherer = Gatherer::new(self, &switch);
        let mut run = StfRun::new(&mut switch, &mut resolver, self.interval.unwrap_or(INTERVAL));
        let mut sent = 0;
        for statement in &test.statements {
            let packet = match &statement.kind {
                p4_stf::Statement::Packet { port, data } => Some((*port, data.as_slice())),
                _ => None,
            };
            run.statement(statement);
            let more: Vec<_> = run.sent(sent).map(|(at, output)| (at, output.clone())).collect();
            sent += more.len();
            if let Some(step) = gatherer.gather(run.driver(), packet, more) {
                watch(&step)?;
            }
        }
        run.finish();
        let more = run.sent(sent).map(|(at, output)| (at, output.clone())).collect();
        if let Some(step) = gatherer.gather(run.driver(), None, more) {
            watch(&step)?;
        }
        let report = run.report();
        Ok((report, self.ended(&switch)))
    }

    /// Runs packets from captures and the command line.
    pub fn feed(&self, feed: &mut Feed, watch: &mut Watch) -> Result<Ended, Vec<Diagnostic>> {
        let (mut switch, _) = self.device()?;
        check_ports(switch.port_numbers(), feed.ports())?;
        let mut gatherer = Gatherer::new(self, &switch);
        let mut driver = Driver::new(&mut switch);
        while let Some(frame) = feed.next().map_err(|d| vec![d])? {
            gatherer.epoch_nanos = feed.epoch_nanos();
            driver.packet(frame.port, &frame.bytes, frame.at);
            let sent = driver.take_sent();
            if let Some(step) = gatherer.gather(&mut driver, Some((frame.port, &frame.bytes)), sent) {
                watch(&step)?;
            }
        }
        driver.finish();
        let sent = driver.take_sent();
        if let Some(step) = gatherer.gather(&mut driver, None, sent) {
            watch(&step)?;
        }
        Ok(self.ended(&switch))
    }

    fn ended(&self, switch: &Switch) -> Ended {
        Ended { counters: switch.counters().clone(), state: state::objects(switch) }
    }
}
