//! Runs an STF test on a switch (semantics of BMv2's test harness).
//!
//! Statements run in order; a packet and all that comes of it run to the end before the next statement. What
//! comes out is compared at the end, port by port and in order: see [`compare`].

mod compare;
mod entries;

use crate::driver::Driver;
use crate::names::refused;
use crate::replication::Session;
use crate::switch::Switch;
use crate::{Count, MeterRate};
use base_diag::codes::run::{STF_FAILED, STF_REFUSED};
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};
use dataplane_api::{EntryError, Output, Port};
use p4_stf::{CounterCheck, CounterIndex, File, Named, NodePorts, Pattern, Spanned, Statement, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// How a test went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StfReport {
    /// What is wrong; empty if the test passes.
    pub problems: Vec<Diagnostic>,
    /// All frames that came out, in order, also on ports that the test does not name.
    pub outputs: Vec<Output>,
    /// What the reading statements (`register_read`, ...) found.
    pub readings: Vec<String>,
}

impl StfReport {
    /// True if every expectation was met and every statement accepted.
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Runs `test` on `switch`. Packets are a microsecond apart, and a second after any other statement.
pub fn run_stf(switch: &mut Switch, test: &File) -> StfReport {
    let mut run = StfRun::new(switch, Duration::from_us(1));
    for statement in &test.statements {
        run.statement(statement);
    }
    run.finish();
    run.report()
}

/// A test that is running, statement by statement.
pub struct StfRun<'s> {
    driver: Driver<'s>,
    /// Between two packets.
    interval: Duration,
    problems: Vec<Diagnostic>,
    readings: Vec<String>,
    expected: Vec<Expected>,
    sent: Vec<Received>,
    /// Ports that the test names.
    named: BTreeSet<Port>,
    /// Handles of entries by the names the test gave them.
    entries: BTreeMap<String, u64>,
    /// How much had come out before the last packet.
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
    /// Begins on `switch`, with `interval` between two packets.
    pub fn new(switch: &'s mut Switch, interval: Duration) -> StfRun<'s> {
        StfRun {
            driver: Driver::new(switch),
            interval,
            problems: vec![],
            readings: vec![],
            expected: vec![],
            sent: vec![],
            named: BTreeSet::new(),
            entries: BTreeMap::new(),
            before: 0,
            packet: Span::NONE,
        }
    }

    /// The switch and its clock.
    pub fn driver(&mut self) -> &mut Driver<'s> {
        &mut self.driver
    }

    /// What came out from the `from`-th frame on, with its time.
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

    /// Compares what came out with what is expected.
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
                    let problem = Diagnostic::error(STF_FAILED, "a packet came out")
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
        match statement {
            Statement::Add { table, priority, keys, action, entry } => {
                let handle = entries::add(self.driver.switch(), &table.text, *priority, keys, action)?;
                if let Some(name) = entry {
                    self.entries.insert(name.text.clone(), handle);
                }
                Ok(())
            }
            Statement::SetDefault { table, action } => {
                entries::set_default(self.driver.switch(), &table.text, action)
            }
            Statement::RemoveAll => {
                self.driver.switch().clear_tables();
                Ok(())
            }
            Statement::CheckCounter(check) => self.check_counter(check, span),
            Statement::MirroringAdd(session, port) => {
                self.driver.switch().check_port(*port)?;
                let old = self.driver.switch().clone_session(*session).unwrap_or_default();
                self.driver.switch().clone_session_set(*session, Some(Session { port: Some(*port), ..old }));
                Ok(())
            }
            Statement::MirroringAddMc(session, group) => {
                let old = self.driver.switch().clone_session(*session).unwrap_or_default();
                self.driver
                    .switch()
                    .clone_session_set(*session, Some(Session { group: Some(*group), ..old }));
                Ok(())
            }
            Statement::MirroringDelete(session) => {
                self.driver.switch().clone_session_set(*session, None);
                Ok(())
            }
            Statement::GroupCreate(group) => {
                self.driver.switch().check_group(*group)?;
                self.driver.switch().multicast_group_create(*group);
                Ok(())
            }
            Statement::GroupDestroy(group) => self.driver.switch().multicast_group_destroy(*group),
            Statement::NodeCreate(rid, NodePorts { ports, lags }) => {
                let rid = u16::try_from(*rid).map_err(|_| refused("a replica id has 16 bits"))?;
                self.ports_fit(ports)?;
                self.driver.switch().multicast_node_create(rid, ports.clone(), lags.clone());
                Ok(())
            }
            Statement::NodeUpdate(node, NodePorts { ports, lags }) => {
                self.ports_fit(ports)?;
                self.driver.switch().multicast_node_update(*node as usize, ports.clone(), lags.clone())
            }
            Statement::NodeDissociate(group, node) => {
                self.driver.switch().multicast_node_dissociate(*group, *node as usize)
            }
            Statement::NodeDestroy(node) => self.driver.switch().multicast_node_destroy(*node as usize),
            Statement::LagSet(lag, ports) => {
                self.ports_fit(ports)?;
                self.driver.switch().lag_set(*lag, ports.clone())
            }
            Statement::NodeAssociate(group, node) => {
                self.driver.switch().multicast_node_associate(*group, *node as usize)
            }
            Statement::Packet { .. } | Statement::Expect { .. } | Statement::NoPacket | Statement::Wait => {
                Ok(())
            }
            _ => self.objects(statement),
        }
    }

    fn ports_fit(&mut self, ports: &[Port]) -> Result<(), EntryError> {
        let switch = self.driver.switch();
        ports.iter().try_for_each(|port| switch.check_port(*port))
    }

    /// A statement about a register, counter, meter or session.
    fn objects(&mut self, statement: &Statement) -> Result<(), EntryError> {
        match statement {
            Statement::RegisterRead(name, index) => {
                let value = self.driver.switch().register_value(&name.text, *index)?;
                let value = crate::trace::value_text(&value);
                self.reading(name, *index, value)
            }
            Statement::RegisterWrite(name, index, value) => {
                let bits = value.value();
                let width = u32::try_from(bits.bits()).unwrap_or(u32::MAX).max(1);
                let bits = base_bits::Bits::from_biguint(width, bits);
                self.driver.switch().register_write(&name.text, *index, &bits)
            }
            Statement::RegisterReset(name) => self.driver.switch().register_reset(&name.text),
            Statement::CounterRead(name, index) => {
                let count = self.driver.switch().counter_read(&name.text, *index)?;
                self.reading(name, *index, format!("{} packets, {} bytes", count.packets, count.bytes))
            }
            Statement::CounterWrite(name, index, packets, bytes) => self.driver.switch().counter_write(
                &name.text,
                *index,
                Count { packets: *packets, bytes: *bytes },
            ),
            Statement::MeterGetRates(name, index) => {
                let rates = self.driver.switch().meter_rates(&name.text, *index)?;
                self.reading(name, *index, format!("{rates:?}"))
            }
            Statement::MeterSetRates(name, index, rates) => {
                let (committed, peak) = two_rates(rates)?;
                self.driver.switch().meter_set_rates(&name.text, *index, committed, peak)
            }
            Statement::MeterArraySetRates(name, rates) => {
                let (committed, peak) = two_rates(rates)?;
                self.driver.switch().meter_array_set_rates(&name.text, committed, peak)
            }
            Statement::MirroringGet(session) => {
                let to = self.driver.switch().clone_session(*session);
                self.readings.push(format!("session {session}: {to:?}"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_counter(&mut self, check: &CounterCheck, span: Span) -> Result<(), EntryError> {
        let index = match &check.index {
            CounterIndex::Number(index) => *index,
            CounterIndex::Entry(name) => match self.entries.get(&name.text) {
                Some(handle) => *handle,
                None => {
                    let known = self.entries.keys().map(String::as_str);
                    return Err(crate::names::unknown("named entry", &name.text, known));
                }
            },
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
        let problem =
            Diagnostic::error(STF_REFUSED, "the device refuses this statement").at(span, error.message);
        self.problems.push(match error.help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }
}

fn two_rates(rates: &[p4_stf::MeterRate]) -> Result<(MeterRate, MeterRate), EntryError> {
    let rate =
        |r: &p4_stf::MeterRate| MeterRate { per_gigamicrosecond: r.per_gigamicrosecond, burst: r.burst };
    match rates {
        [committed, peak] => Ok((rate(committed), rate(peak))),
        _ => Err(refused(format!("a meter has two rates, not {}", rates.len()))),
    }
}
