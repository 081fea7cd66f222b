//! Runs an STF test on a switch (semantics of BMv2's test harness).
//!
//! Statements run in order; a packet and all that comes of it run to the end before the next statement. What
//! comes out is compared at the end, port by port and in order: see [`compare`].

mod compare;
mod entries;

pub use entries::{ResolvedEntry, resolve_entry};

use crate::names::refused;
use crate::v1model::{Session, Switch};
use crate::{Count, MeterRate};
use base_diag::codes::run::{STF_FAILED, STF_REFUSED};
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};
use dataplane_api::{Device, EntryError, Output, Port};
use p4_stf::{CounterCheck, CounterIndex, File, Named, Pattern, Statement, Unit};
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

/// Timers that run out after the last packet are waited for, but no more than this.
const LAST_TICKS: u32 = 1000;

/// Runs `test` on `switch`. Packets are a microsecond apart, and a second after any other statement.
pub fn run_stf(switch: &mut Switch, test: &File) -> StfReport {
    let mut run = Run {
        switch,
        now: Time::ZERO,
        report: StfReport::default(),
        expected: vec![],
        named: BTreeSet::new(),
        entries: BTreeMap::new(),
        before: 0,
    };
    for statement in &test.statements {
        if let Err(error) = run.statement(&statement.kind, statement.span) {
            run.refuse(error, statement.span);
        }
    }
    run.last_ticks();
    let Run { mut report, expected, named, .. } = run;
    report.problems.extend(compare::compare(&expected, &named, &report.outputs));
    report
}

struct Run<'s> {
    switch: &'s mut Switch,
    now: Time,
    report: StfReport,
    expected: Vec<Expected>,
    /// Ports that the test names.
    named: BTreeSet<Port>,
    /// Handles of entries by the names the test gave them.
    entries: BTreeMap<String, u64>,
    /// How much had come out before the last packet.
    before: usize,
}

/// One `expect`.
struct Expected {
    port: Port,
    data: Option<Pattern>,
    span: Span,
}

impl Run<'_> {
    fn statement(&mut self, statement: &Statement, span: Span) -> Result<(), EntryError> {
        match statement {
            Statement::Packet { port, data } => {
                self.named.insert(*port);
                self.packet(*port, data);
                return Ok(());
            }
            Statement::Expect { port, data } => {
                self.named.insert(*port);
                self.expected.push(Expected { port: *port, data: data.clone(), span });
                return Ok(());
            }
            Statement::NoPacket => {
                if self.report.outputs.len() > self.before {
                    let problem = Diagnostic::error(STF_FAILED, "a packet came out")
                        .at(span, "none is expected of the last packet sent");
                    self.report.problems.push(problem);
                }
                return Ok(());
            }
            _ => {}
        }
        self.control(statement, span)?;
        self.advance(self.now + Duration::from_s(1));
        Ok(())
    }

    /// A statement about the device.
    fn control(&mut self, statement: &Statement, span: Span) -> Result<(), EntryError> {
        match statement {
            Statement::Add { table, priority, keys, action, entry } => {
                let handle = entries::add(self.switch, &table.text, *priority, keys, action)?;
                if let Some(name) = entry {
                    self.entries.insert(name.text.clone(), handle);
                }
                Ok(())
            }
            Statement::SetDefault { table, action } => entries::set_default(self.switch, &table.text, action),
            Statement::RemoveAll => {
                self.switch.clear_tables();
                Ok(())
            }
            Statement::CheckCounter(check) => self.check_counter(check, span),
            Statement::MirroringAdd(session, port) => {
                let old = self.switch.clone_session(*session).unwrap_or_default();
                self.switch.clone_session_set(*session, Some(Session { port: Some(*port), ..old }));
                Ok(())
            }
            Statement::MirroringAddMc(session, group) => {
                let old = self.switch.clone_session(*session).unwrap_or_default();
                self.switch.clone_session_set(*session, Some(Session { group: Some(*group), ..old }));
                Ok(())
            }
            Statement::MirroringDelete(session) => {
                self.switch.clone_session_set(*session, None);
                Ok(())
            }
            Statement::GroupCreate(group) => {
                self.switch.multicast_group_set(*group, vec![]);
                Ok(())
            }
            Statement::NodeCreate(rid, ports) => {
                let rid = u16::try_from(*rid).map_err(|_| refused("a replica id has 16 bits"))?;
                self.switch.multicast_node_create(rid, ports.clone());
                Ok(())
            }
            Statement::NodeUpdate(node, ports) => {
                self.switch.multicast_node_update(*node as usize, ports.clone())
            }
            Statement::NodeAssociate(group, node) => {
                self.switch.multicast_node_associate(*group, *node as usize)
            }
            Statement::Packet { .. } | Statement::Expect { .. } | Statement::NoPacket | Statement::Wait => {
                Ok(())
            }
            _ => self.objects(statement),
        }
    }

    /// A statement about a register, counter, meter or session.
    fn objects(&mut self, statement: &Statement) -> Result<(), EntryError> {
        match statement {
            Statement::RegisterRead(name, index) => {
                let value = self.switch.register_value(&name.text, *index)?;
                let value = crate::trace::value_text(value);
                self.reading(name, *index, value)
            }
            Statement::RegisterWrite(name, index, value) => {
                let bits = value.value();
                let width = u32::try_from(bits.bits()).unwrap_or(u32::MAX).max(1);
                let bits = base_bits::Bits::from_biguint(width, bits);
                self.switch.register_write(&name.text, *index, &bits)
            }
            Statement::RegisterReset(name) => self.switch.register_reset(&name.text),
            Statement::CounterRead(name, index) => {
                let count = self.switch.counter_read(&name.text, *index)?;
                self.reading(name, *index, format!("{} packets, {} bytes", count.packets, count.bytes))
            }
            Statement::CounterWrite(name, index, packets, bytes) => {
                self.switch.counter_write(&name.text, *index, Count { packets: *packets, bytes: *bytes })
            }
            Statement::MeterGetRates(name, index) => {
                let rates = self.switch.meter_rates(&name.text, *index)?;
                self.reading(name, *index, format!("{rates:?}"))
            }
            Statement::MeterSetRates(name, index, rates) => {
                let (committed, peak) = two_rates(rates)?;
                self.switch.meter_set_rates(&name.text, *index, committed, peak)
            }
            Statement::MeterArraySetRates(name, rates) => {
                let (committed, peak) = two_rates(rates)?;
                self.switch.meter_array_set_rates(&name.text, committed, peak)
            }
            Statement::MirroringGet(session) => {
                let to = self.switch.clone_session(*session);
                self.report.readings.push(format!("session {session}: {to:?}"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn packet(&mut self, port: Port, data: &[u8]) {
        self.advance(self.now + Duration::from_us(1));
        self.before = self.report.outputs.len();
        self.report.outputs.extend(self.switch.process(port, data, self.now));
    }

    /// Lets time pass; timers that run out are served at their time.
    fn advance(&mut self, to: Time) {
        for _ in 0..LAST_TICKS {
            match self.switch.deadline() {
                Some(deadline) if deadline <= to => self.tick(deadline),
                _ => break,
            }
        }
        self.now = to.max(self.now);
    }

    fn tick(&mut self, at: Time) {
        self.now = at.max(self.now);
        let queued = self.switch.tick(self.now);
        self.report.outputs.extend(self.switch.drain(queued, self.now));
    }

    fn last_ticks(&mut self) {
        for _ in 0..LAST_TICKS {
            match self.switch.deadline() {
                Some(deadline) => self.tick(deadline),
                None => break,
            }
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
        let count = self.switch.counter_read(&check.name.text, index)?;
        let Some((unit, comparison, want)) = check.check else { return Ok(()) };
        let has = match unit {
            Unit::Packets => count.packets,
            Unit::Bytes => count.bytes,
        };
        if !comparison.holds(has, want) {
            let problem = Diagnostic::error(STF_FAILED, "a counter differs").at(span, format!("it is {has}"));
            self.report.problems.push(problem);
        }
        Ok(())
    }

    fn reading(&mut self, name: &Named, index: u64, value: String) -> Result<(), EntryError> {
        self.report.readings.push(format!("{}[{index}] = {value}", name.text));
        Ok(())
    }

    fn refuse(&mut self, error: EntryError, span: Span) {
        let problem =
            Diagnostic::error(STF_REFUSED, "the device refuses this statement").at(span, error.message);
        self.report.problems.push(match error.help {
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
