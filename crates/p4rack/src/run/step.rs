//! One packet, or one wait, with all results.

use super::Job;
use base_time::{Duration, Time};
use dataplane_api::{Counters, Device, DropReason, Output, Port};
use device::{Driver, Event, EventKind, Shown, Switch};
use device_text::trace::keys_text;
use ir::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Effects of one packet, or of the device's timers.
#[derive(Clone, Debug)]
pub struct Step {
    /// Packets in so far, this one included.
    pub number: u64,
    /// Time of the step.
    pub at: Time,
    /// Nanoseconds that the captures' time is ahead of virtual time.
    pub epoch_nanos: u64,
    /// The input packet; `None` for timers.
    pub input: Option<(Port, Vec<u8>)>,
    /// In the order in which they went out.
    pub sent: Vec<Sent>,
    /// Number of packets that ended, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// Digests: name and data.
    pub digests: Vec<(String, Shown)>,
    /// Lines written by `log_msg`.
    pub log: Vec<String>,
    /// Entries that were not hit for as long as they may be.
    pub idle: Vec<Idle>,
    /// Trace of the packet; empty unless asked for.
    pub trace: Vec<Event>,
}

/// An entry that was not hit for as long as it may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    /// When its time had run out.
    pub at: Time,
    /// The table.
    pub table: String,
    /// Key of the entry, as in files of entries; empty if the entry has been deleted.
    pub key: String,
}

/// A packet that went out.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Time of transmission.
    pub at: Time,
    /// Port of transmission.
    pub port: Port,
    /// The frame.
    pub frame: Vec<u8>,
    /// For the controller.
    pub packet_in: bool,
    /// Headers emitted by the deparser; empty without a trace.
    pub headers: Vec<Decoded>,
}

/// A header of a packet that went out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// `hdr.ipv4`
    pub name: String,
    /// In bits.
    pub bits: u64,
    /// In order.
    pub fields: Vec<(String, Shown)>,
}

/// Reports of packets to the control plane; see [`Step`].
struct Messages {
    digests: Vec<(String, Shown)>,
    log: Vec<String>,
    idle: Vec<Idle>,
}

/// Between two looks at the entries with timeouts: all of them are looked at.
const IDLE_PACE: Duration = Duration::from_ms(10);

/// Makes steps of a device's reports.
pub(super) struct Gatherer {
    program: Arc<Program>,
    cpu_port: Option<u32>,
    number: u64,
    counters: Counters,
    /// When entries were last asked whether they are idle.
    asked: Time,
    /// See [`Step::epoch_nanos`].
    pub(super) epoch_nanos: u64,
}

impl Gatherer {
    pub(super) fn new(job: &Job, switch: &Switch) -> Gatherer {
        Gatherer {
            program: Arc::clone(&job.program),
            cpu_port: job.cpu_port,
            number: 0,
            counters: switch.counters().clone(),
            asked: Time::ZERO,
            epoch_nanos: 0,
        }
    }

    /// Collects everything since the last call; `None` if nothing happened.
    pub(super) fn gather(
        &mut self,
        driver: &mut Driver,
        packet: Option<(Port, &[u8])>,
        sent: Vec<(Time, Output)>,
    ) -> Option<Step> {
        self.number += u64::from(packet.is_some());
        let at = driver.now();
        let switch = driver.switch();
        let trace = switch.take_trace();
        let dropped = self.dropped(switch.counters());
        let Messages { digests, log, idle } = self.messages(switch, at);
        let nothing = packet.is_none()
            && sent.is_empty()
            && dropped.is_empty()
            && digests.is_empty()
            && log.is_empty()
            && idle.is_empty()
            && trace.is_empty();
        if nothing {
            return None;
        }
        let mut headers = emitted(&trace).into_iter();
        let sent = sent.into_iter().map(|(at, output)| Sent {
            at,
            port: output.port,
            frame: output.frame,
            packet_in: self.cpu_port == Some(output.port),
            headers: headers.next().unwrap_or_default(),
        });
        Some(Step {
            number: self.number,
            at,
            epoch_nanos: self.epoch_nanos,
            input: packet.map(|(port, frame)| (port, frame.to_vec())),
            sent: sent.collect(),
            dropped,
            digests,
            log,
            idle,
            trace,
        })
    }

    /// Collects digests, log lines and idle entries since the last call, but not packets sent or dropped; `None` if
    /// there are none.
    pub(super) fn step_of_messages(&mut self, switch: &mut Switch, at: Time) -> Option<Step> {
        let Messages { digests, log, idle } = self.messages(switch, at);
        if digests.is_empty() && log.is_empty() && idle.is_empty() {
            return None;
        }
        Some(Step {
            number: self.number,
            at,
            epoch_nanos: self.epoch_nanos,
            input: None,
            sent: vec![],
            dropped: vec![],
            digests,
            log,
            idle,
            trace: vec![],
        })
    }

    fn messages(&mut self, switch: &mut Switch, at: Time) -> Messages {
        Messages {
            digests: switch.take_digests().into_iter().map(|d| self.digest(d)).collect(),
            log: switch.take_log(),
            idle: self.idle(switch, at),
        }
    }

    /// Entries that have become idle, reported at most [`IDLE_PACE`] late.
    fn idle(&mut self, switch: &mut Switch, now: Time) -> Vec<Idle> {
        if now.since(self.asked) < IDLE_PACE {
            return vec![];
        }
        self.asked = now;
        let mut tables: BTreeMap<String, BTreeMap<u64, String>> = BTreeMap::new();
        let found = switch.take_idle(now).into_iter().map(|idle| {
            let table = idle.table.to_string();
            let keys = tables.entry(table.clone()).or_insert_with(|| {
                let entries = switch.table_entries(&table).unwrap_or_default();
                entries.iter().map(|e| (e.handle, keys_text(&e.key.matches))).collect()
            });
            let key = keys.get(&idle.handle).cloned().unwrap_or_default();
            Idle { at: idle.at, table, key }
        });
        found.collect()
    }

    fn dropped(&mut self, now: &Counters) -> Vec<(DropReason, u64)> {
        let before = |reason| self.counters.dropped.get(reason).copied().unwrap_or(0);
        let more = now.dropped.iter().map(|(reason, count)| (*reason, count - before(reason)));
        let more = more.filter(|(_, count)| *count > 0).collect();
        self.counters.dropped.clone_from(&now.dropped);
        more
    }

    fn digest(&self, digest: device::Digest) -> (String, Shown) {
        let ty = digest.ty(&self.program);
        (digest.name.to_string(), device::trace::shown(&self.program, &ty, &digest.data))
    }
}

/// For each packet sent, in order, the headers that were emitted for it.
fn emitted(trace: &[Event]) -> Vec<Vec<Decoded>> {
    let mut all = vec![];
    let mut open: Vec<(device::PacketId, Vec<Decoded>)> = vec![];
    for event in trace {
        let at = open.iter().position(|(packet, _)| *packet == event.packet);
        match &event.kind {
            EventKind::Stage { stage, enter: true } if stage.contains("deparser") => {
                // A packet that comes back is deparsed again: the last time counts.
                open.retain(|(packet, _)| *packet != event.packet);
                open.push((event.packet, vec![]));
            }
            EventKind::Emit { header, bits, fields, .. } => {
                let fields = fields.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
                let decoded = Decoded { name: header.clone(), bits: *bits, fields };
                if let Some((_, headers)) = at.and_then(|at| open.get_mut(at)) {
                    headers.push(decoded);
                }
            }
            EventKind::Transmit { .. } => all.push(at.map(|at| open.remove(at).1).unwrap_or_default()),
            _ => {}
        }
    }
    all
}
