//! Runs an STF test on a switch (semantics of BMv2's test harness).
//!
//! Statements run in order; a packet and its effects are complete before the next statement. The output is compared at
//! the end, port by port and in order: see [`compare`].

mod compare;
mod entries;

use crate::resolver::{Placed, Resolver};
use crate::{Write, refused};
use base_diag::codes::run::{STF_FAILED, STF_REFUSED};
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};
use control_writes::{CloneSession, Count, Rate, Rates, Replica};
use dataplane_api::{EntryError, Output, Port};
use device::{Driver, Switch};
use p4_stf::{CounterCheck, CounterIndex, File, Named, NodePorts, Pattern, Spanned, Statement, Unit};
use std::collections::BTreeSet;

/// Result of a test.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StfReport {
    /// Differences; empty if the test passes.
    pub problems: Vec<Diagnostic>,
    /// All frames that came out, in order, also on ports that the test does not name.
    pub outputs: Vec<Output>,
    /// Results of the reading statements (`register_read`, ...).
    pub readings: Vec<String>,
}

impl StfReport {
    /// True if every expectation was met and every statement accepted.
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Runs `test` on a `switch` that nothing has written to. Packets are a microsecond apart, and a second after any other statement.
pub fn run_stf(switch: &mut Switch, test: &File) -> StfReport {
    let mut resolver = match Resolver::new(switch.program()) {
        Ok(resolver) => resolver,
        Err(problems) => return StfReport { problems, ..StfReport::default() },
    };
    let mut run = StfRun::new(switch, &mut resolver, Duration::from_us(1));
    for statement in &test.statements {
        run.statement(statement);
    }
    run.finish();
    run.report()
}

/// A test that is running, statement by statement.
pub struct StfRun<'s> {
    driver: Driver<'s>,
    resolver: &'s mut Resolver,
    /// Between two packets.
    interval: Duration,
    problems: Vec<Diagnostic>,
    readings: Vec<String>,
    expected: Vec<Expected>,
    sent: Vec<Received>,
    /// Ports that the test names.
    named: BTreeSet<Port>,
    /// Number of frames before the last packet.
    before: usize,
    /// The last packet.
    packet: Span,
}

/// One `expect`.
struct Expected {
    port: Port,
    data: Option<Pattern>,
    span: Span,
}

/// One frame that came out.
struct Received {
    output: Output,
    at: Time,
    /// The last packet before it.
    of: Span,
}

impl<'s> StfRun<'s> {
    /// Begins on `switch`, with `interval` between two packets. `resolver` has the earlier writes to the switch.
    pub fn new(switch: &'s mut Switch, resolver: &'s mut Resolver, interval: Duration) -> StfRun<'s> {
        StfRun {
            driver: Driver::new(switch),
            resolver,
            interval,
            problems: vec![],
            readings: vec![],
            expected: vec![],
            sent: vec![],
            named: BTreeSet::new(),
            before: 0,
            packet: Span::NONE,
        }
    }

    /// The switch and its clock.
    pub fn driver(&mut self) -> &mut Driver<'s> {
        &mut self.driver
    }

    /// Frames from number `from` on, with their times.
    pub fn sent(&self, from: usize) -> impl Iterator<Item = (Time, &Output)> {
        self.sent.iter().skip(from).map(|r| (r.at, &r.output))
    }

    /// Runs the next statement.
    pub fn statement(&mut self, statement: &Spanned) {
        if let Err(error) = self.run(&statement.kind, statement.span) {
            self.refuse(error, statement.span);
        }
        self.collect();
    }

    /// Waits for timers that still run.
    pub fn finish(&mut self) {
        self.driver.finish();
        self.collect();
    }

    /// Compares output and expectation.
    pub fn report(mut self) -> StfReport {
        self.problems.extend(compare::compare(&self.expected, &self.named, &self.sent));
        let outputs = self.sent.into_iter().map(|r| r.output).collect();
        StfReport { problems: self.problems, outputs, readings: self.readings }
    }

    fn collect(&mut self) {
        let of = self.packet;
        self.sent.extend(self.driver.take_sent().into_iter().map(|(at, output)| Received { output, at, of }));
    }

    fn run(&mut self, statement: &Statement, span: Span) -> Result<(), EntryError> {
        match statement {
            Statement::Packet { port, data } => {
                self.driver.switch().check_port(*port)?;
                self.named.insert(*port);
                self.before = self.sent.len();
                self.packet = span;
                let at = self.driver.now() + self.interval;
                self.driver.packet(*port, data, at);
                return Ok(());
            }
            Statement::Expect { port, data } => {
                self.driver.switch().check_port(*port)?;
                self.named.insert(*port);
                self.expected.push(Expected { port: *port, data: data.clone(), span });
                return Ok(());
            }
            Statement::NoPacket => {
                if self.sent.len() > self.before {
                    let problem = Diagnostic::error(STF_FAILED, "unexpected packet")
                        .at(span, "none is expected of the last packet sent");
                    self.problems.push(problem);
                }
                return Ok(());
            }
            _ => {}
        }
        self.control(statement, span)?;
        let later = self.driver.now() + Duration::from_s(1);
        self.driver.advance(later);
        Ok(())
    }

    /// A statement about the device.
    fn control(&mut self, statement: &Statement, span: Span) -> Result<(), EntryError> {
        if let Some(writes) = self.resolver.stf_writes(statement)? {
            let now = self.driver.now();
            return writes.iter().try_for_each(|write| self.driver.switch().write(write, now));
        }
        match statement {
            Statement::CheckCounter(check) => self.check_counter(check, span),
            Statement::RegisterRead(name, index) => {
                let value = self.driver.switch().register_value(&name.text, *index)?;
                self.reading(name, *index, device::trace::value_text(&value))
            }
            Statement::CounterRead(name, index) => {
                let count = self.driver.switch().counter_read(&name.text, *index)?;
                self.reading(name, *index, format!("{} packets, {} bytes", count.packets, count.bytes))
            }
            Statement::MeterGetRates(name, index) => {
                let rates = self.driver.switch().meter_rates(&name.text, *index)?;
                self.reading(name, *index, rates.map_or("no rates".to_string(), |rates| rates.to_string()))
            }
            Statement::MirroringGet(session) => {
                let to = self.resolver.sessions.get(session);
                self.readings.push(format!("session {session}: {}", to.map_or("not there".into(), to_text)));
                Ok(())
            }
            // Packets run to their end before the next statement: there is nothing to wait for.
            _ => Ok(()),
        }
    }

    fn check_counter(&mut self, check: &CounterCheck, span: Span) -> Result<(), EntryError> {
        let index = match &check.index {
            CounterIndex::Number(index) => *index,
            CounterIndex::Entry(name) => self.resolver.named_entry(&name.text)?,
        };
        let count = self.driver.switch().counter_read(&check.name.text, index)?;
        let Some((unit, comparison, want)) = check.check else { return Ok(()) };
        let has = match unit {
            Unit::Packets => count.packets,
            Unit::Bytes => count.bytes,
        };
        if !comparison.holds(has, want) {
            let problem = Diagnostic::error(STF_FAILED, "a counter differs").at(span, format!("it is {has}"));
            self.problems.push(problem);
        }
        Ok(())
    }

    fn reading(&mut self, name: &Named, index: u64, value: String) -> Result<(), EntryError> {
        self.readings.push(format!("{}[{index}] = {value}", name.text));
        Ok(())
    }

    fn refuse(&mut self, error: EntryError, span: Span) {
        self.problems.push(refusal(error, span));
    }
}

/// Destinations of clones, in words.
fn to_text(to: &CloneSession) -> String {
    let ports = to.replicas.iter().map(|replica| format!("port {}", replica.port));
    let group = to.group.map(|group| format!("group {group}"));
    ports.chain(group).collect::<Vec<_>>().join(" and ")
}

fn two_rates(rates: &[Rate]) -> Result<Rates, EntryError> {
    match rates {
        [committed, peak] => Ok(Rates { committed: *committed, peak: *peak }),
        _ => Err(refused(format!("a meter has two rates, not {}", rates.len()))),
    }
}

/// True for statements that write to the device, which files of entries may contain.
pub fn is_entry(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Packet { .. }
            | Statement::Expect { .. }
            | Statement::NoPacket
            | Statement::Wait
            | Statement::CheckCounter(_)
            | Statement::RegisterRead(..)
            | Statement::CounterRead(..)
            | Statement::MeterGetRates(..)
            | Statement::MirroringGet(_)
    )
}

impl Resolver {
    /// Writes of a statement of STF, with its place; none for packets and reads.
    pub fn stf(&mut self, statement: &Spanned) -> Result<Vec<Placed>, Vec<Diagnostic>> {
        let span = statement.span;
        match self.stf_writes(&statement.kind) {
            Ok(writes) => Ok(writes
                .unwrap_or_default()
                .into_iter()
                .map(|write| Placed { write, span, is_stf: true })
                .collect()),
            Err(error) => Err(vec![refusal(error, span)]),
        }
    }

    /// Writes of a statement; `None` for packets and reads.
    fn stf_writes(&mut self, statement: &Statement) -> Result<Option<Vec<Write>>, EntryError> {
        Ok(Some(match statement {
            Statement::Add { table, priority, keys, action, entry } => {
                self.stf_add(&table.text, *priority, keys, action, entry.as_ref())?
            }
            Statement::SetDefault { table, action } => self.stf_default(&table.text, action)?,
            Statement::RemoveAll => (0..self.tables.len()).flat_map(|at| self.clear(at)).collect(),
            Statement::MirroringAdd(session, port) => {
                let old = self.sessions.get(session).cloned().unwrap_or_default();
                let to = CloneSession { replicas: vec![Replica::new(*port, 0)], ..old };
                self.set_session(*session, Some(to))
            }
            Statement::MirroringAddMc(session, group) => {
                let old = self.sessions.get(session).cloned().unwrap_or_default();
                self.set_session(*session, Some(CloneSession { group: Some(*group), ..old }))
            }
            Statement::MirroringDelete(session) => self.set_session(*session, None),
            Statement::RegisterWrite(name, index, value) => {
                let number = value.value();
                let width = u32::try_from(number.bits()).unwrap_or(u32::MAX).max(1);
                let bits = base_bits::Bits::from_biguint(width, number);
                self.register(&name.text, *index, &bits).map_err(|(_, error)| error)?
            }
            Statement::RegisterReset(name) => self.reset_register(&name.text)?,
            Statement::CounterWrite(name, index, packets, bytes) => {
                self.counter(&name.text, *index, Count { packets: *packets, bytes: *bytes })?
            }
            Statement::MeterSetRates(name, index, rates) => {
                self.meter(&name.text, *index, two_rates(rates)?)?
            }
            Statement::MeterArraySetRates(name, rates) => self.meter_array(&name.text, two_rates(rates)?)?,
            _ => return self.stf_nodes(statement),
        }))
    }

    /// A statement about multicast groups and their nodes.
    fn stf_nodes(&mut self, statement: &Statement) -> Result<Option<Vec<Write>>, EntryError> {
        let groups: Vec<u32> = match statement {
            Statement::GroupCreate(group) => {
                self.nodes.create_group(*group);
                vec![*group]
            }
            Statement::GroupDestroy(group) => {
                self.nodes.destroy_group(*group)?;
                vec![*group]
            }
            Statement::NodeCreate(rid, NodePorts { ports, lags }) => {
                let rid = u16::try_from(*rid).map_err(|_| refused("a replica id has 16 bits"))?;
                self.ports_fit(ports)?;
                self.nodes.create(rid, ports, lags);
                vec![]
            }
            Statement::NodeUpdate(node, NodePorts { ports, lags }) => {
                self.ports_fit(ports)?;
                self.nodes.update(*node, ports, lags)?.into_iter().collect()
            }
            Statement::NodeAssociate(group, node) => {
                self.nodes.associate(*group, *node)?;
                vec![*group]
            }
            Statement::NodeDissociate(group, node) => {
                self.nodes.dissociate(*group, *node)?;
                vec![*group]
            }
            Statement::NodeDestroy(node) => self.nodes.destroy(*node)?.into_iter().collect(),
            Statement::LagSet(lag, ports) => {
                self.ports_fit(ports)?;
                self.nodes.set_lag(*lag, ports)?
            }
            _ => return Ok(None),
        };
        Ok(Some(self.groups_of_nodes(groups)))
    }

    /// Nodes may have ports before they are in a group: no device has seen these.
    fn ports_fit(&self, ports: &[Port]) -> Result<(), EntryError> {
        ports.iter().try_for_each(|port| self.ports.check_port(*port))
    }
}

pub(crate) fn refusal(error: EntryError, span: Span) -> Diagnostic {
    let problem = Diagnostic::error(STF_REFUSED, "the device refuses this statement").at(span, error.message);
    match error.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
