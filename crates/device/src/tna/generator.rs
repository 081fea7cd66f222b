//! The packet generator: packets that a device makes itself, by the settings of its applications.
//!
//! ```text
//! $PKTGEN_APP     trigger: a timer or a port that goes down ─┐
//! $PKTGEN_BATCH   batches, packets, gaps ────────────────────┴─> header of 6 bytes, bytes of the buffer ──> ingress
//! $PKTGEN_BUFFER  16 KiB in lines of 16 bytes ──────────────────────────────────────┘
//! ```
//!
//! Writing the settings of an application starts it anew; its timer begins at the next tick, which is due at once. A
//! trigger that comes while the packets of the one before are not yet made is lost. Sources: the packet generator's
//! tables, its driver, and the example `tna_pktgen` of open-p4studio. docs/tna.md lists what is left out.

use crate::core::Core;
use crate::names::refused;
use crate::objects::Object;
use crate::objects::register::Register;
use crate::ports::PortNumbers;
use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{EntryError, Port};
use ir::{InstanceId, Program};
use ir_value::Value;
use p4_arch::tna;

/// Packets made and timers expired in one tick at most: the others come in the next, which is due at once.
const MOST: usize = 256;

/// The applications of a program whose parser reads the header of generated packets.
#[derive(Default)]
pub(crate) struct Generator(Option<Box<Apps>>);

struct Apps {
    generation: u32,
    apps: Vec<App>,
    settings: InstanceId,
    batches: InstanceId,
    buffer: InstanceId,
    counts: InstanceId,
}

/// An application at work.
#[derive(Default)]
struct App {
    settings: Settings,
    /// The timer begins with the next tick.
    is_new: bool,
    /// When the timer expires.
    timer: Option<Time>,
    burst: Option<Burst>,
}

/// A cell of `$PKTGEN_APP`.
#[derive(Clone, Copy, Default)]
struct Settings {
    trigger: Trigger,
    port: Port,
    /// First byte in the buffer.
    offset: u64,
    /// Bytes after the header.
    length: u64,
    timer: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Trigger {
    #[default]
    Off,
    OneShot,
    Periodic,
    PortDown,
}

/// The packets of one trigger that are still to be made.
struct Burst {
    /// When the next packet is due, and when its batch began; `None`: at once.
    next: Option<(Time, Time)>,
    batch: u64,
    packet: u64,
    /// A cell of `$PKTGEN_BATCH`.
    last_batch: u64,
    last_packet: u64,
    batch_gap: Duration,
    packet_gap: Duration,
    /// The port that went down.
    down: Option<Port>,
}

impl Trigger {
    fn of(number: u64) -> Option<Trigger> {
        [Trigger::Off, Trigger::OneShot, Trigger::Periodic, Trigger::PortDown].get(number as usize).copied()
    }
}

impl Settings {
    /// `None` for a trigger that does not exist.
    fn of(cell: &Value) -> Option<Settings> {
        let [trigger, port, offset, length, timer] = numbers(cell);
        let trigger = Trigger::of(trigger)?;
        let timer = Duration::from_ns(timer.max(1));
        Some(Settings { trigger, port: port as Port, offset, length, timer })
    }

    fn has_timer(&self) -> bool {
        matches!(self.trigger, Trigger::OneShot | Trigger::Periodic)
    }
}

impl Generator {
    /// The generator of a program; none for one without its registers.
    pub(crate) fn of(program: &Program) -> Generator {
        let named = |name: &str| {
            let at = program.instances.iter().position(|instance| instance.name == name)?;
            Some(InstanceId::from(at))
        };
        let ids = tna::GENERATOR.map(|register| named(register.name));
        let [Some(settings), Some(batches), Some(buffer), Some(counts)] = ids else {
            return Generator::default();
        };
        let generation = super::generation(program);
        let count = tna::GENERATOR[0].cells[generation as usize - 1];
        let apps = (0..count).map(|_| App::default()).collect();
        Generator(Some(Box::new(Apps { generation, apps, settings, batches, buffer, counts })))
    }

    /// The program may have a generator at work.
    pub(crate) fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// When the next packet is made, or a timer begins or expires.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.0.iter().flat_map(|all| &all.apps).filter_map(App::deadline).min()
    }

    /// The [`deadline`](Generator::deadline) of applications that come to an end by themselves.
    pub(crate) fn last_deadline(&self) -> Option<Time> {
        let ends = |app: &&App| app.settings.trigger != Trigger::Periodic;
        self.0.iter().flat_map(|all| &all.apps).filter(ends).filter_map(App::deadline).min()
    }

    /// Refuses settings that no application can have, if the register `id` has the settings.
    pub(crate) fn check(&self, id: InstanceId, cell: &Value, numbers: PortNumbers) -> Result<(), EntryError> {
        if self.0.as_ref().is_none_or(|all| all.settings != id) {
            return Ok(());
        }
        let settings = Settings::of(cell).ok_or_else(|| EntryError {
            help: Some("0 is off, 1 a one-shot timer, 2 a periodic timer, 3 a port that goes down".into()),
            ..refused("the packet generator has no such trigger")
        })?;
        numbers.check_port(settings.port)
    }

    /// A cell of the register `id` was written, or all cells.
    pub(crate) fn written(&mut self, objects: &[Object], id: InstanceId, index: Option<u64>) {
        let Some(all) = self.0.as_mut().filter(|all| all.settings == id) else { return };
        let Some(register) = register(objects, id) else { return };
        for (at, app) in all.apps.iter_mut().enumerate() {
            if index.is_none_or(|index| index == at as u64) {
                let settings = register.read(at as u64).and_then(|cell| Settings::of(&cell));
                let settings = settings.unwrap_or_default();
                *app = App { settings, is_new: settings.has_timer(), ..App::default() };
            }
        }
    }

    /// A port went down: applications that wait for this begin, in the next tick.
    pub(crate) fn port_down(&mut self, objects: &[Object], port: Port) {
        let Some(Apps { apps, batches, .. }) = self.0.as_deref_mut() else { return };
        for (at, app) in apps.iter_mut().enumerate() {
            if app.settings.trigger == Trigger::PortDown && app.burst.is_none() {
                app.burst = Some(Burst::new(objects, *batches, at, None, Some(port)));
            }
        }
    }

    /// Takes the frames that are due, with their ports, the earliest first.
    pub(crate) fn take_due(&mut self, objects: &mut [Object], now: Time) -> Vec<(Port, Vec<u8>)> {
        let Some(all) = self.0.as_deref_mut() else { return vec![] };
        for app in all.apps.iter_mut().filter(|app| app.is_new) {
            (app.is_new, app.timer) = (false, Some(now + app.settings.timer));
        }
        let mut frames = vec![];
        for _ in 0..MOST {
            let due = all.apps.iter().enumerate().filter_map(|(at, app)| Some((app.deadline()?, at)));
            let Some((_, at)) = due.filter(|(time, _)| *time <= now).min() else { break };
            frames.extend(all.step(objects, at, now));
        }
        frames
    }
}

impl Apps {
    /// Makes the next packet of an application, or begins its next burst.
    fn step(&mut self, objects: &mut [Object], at: usize, now: Time) -> Option<(Port, Vec<u8>)> {
        let generation = self.generation;
        let app = self.apps.get_mut(at)?;
        let is_timer =
            app.timer.is_some_and(|timer| app.burst.as_ref().is_none_or(|burst| burst.is_after(timer)));
        if let (true, Some(timer)) = (is_timer, app.timer) {
            app.timer = (app.settings.trigger == Trigger::Periodic).then(|| {
                // Periods that have passed meanwhile are lost.
                let (late, period) = (now.since(timer).as_ps(), app.settings.timer.as_ps());
                timer + Duration::from_ps(late - late % period) + app.settings.timer
            });
            if app.burst.is_none() {
                app.burst = Some(Burst::new(objects, self.batches, at, Some(timer), None));
            }
            return None;
        }
        let burst = app.burst.as_mut()?;
        let (due, begun) = *burst.next.get_or_insert((now, now));
        let mut frame = burst.header(at);
        let settings = app.settings;
        frame.extend(buffer(objects, self.buffer, settings.offset, settings.length));
        let is_first = burst.batch == 0 && burst.packet == 0;
        let ends_batch = burst.packet == burst.last_packet;
        count(objects, self.counts, at, [is_first, ends_batch, true]);
        if !ends_batch {
            burst.packet += 1;
            burst.next = Some((due + burst.packet_gap, begun));
        } else if burst.batch < burst.last_batch {
            (burst.batch, burst.packet) = (burst.batch + 1, 0);
            // The gap is from beginning to beginning on Tofino 1, from end to beginning on Tofino 2.
            let next = if generation == 1 { due.max(begun + burst.batch_gap) } else { due + burst.batch_gap };
            burst.next = Some((next, next));
        } else {
            app.burst = None;
        }
        Some((settings.port, frame))
    }
}

impl App {
    fn deadline(&self) -> Option<Time> {
        let begins = self.is_new.then_some(Time::ZERO);
        let packet = self.burst.as_ref().map(|burst| burst.next.map_or(Time::ZERO, |(due, _)| due));
        begins.into_iter().chain(self.timer).chain(packet).min()
    }
}

impl Burst {
    fn new(
        objects: &[Object],
        batches: InstanceId,
        at: usize,
        now: Option<Time>,
        down: Option<Port>,
    ) -> Burst {
        let cell = register(objects, batches).and_then(|register| register.read(at as u64));
        let [last_batch, last_packet, batch_gap, packet_gap] = numbers(&cell.unwrap_or(Value::Void));
        Burst {
            next: now.map(|now| (now, now)),
            batch: 0,
            packet: 0,
            last_batch,
            last_packet,
            batch_gap: Duration::from_ns(batch_gap),
            packet_gap: Duration::from_ns(packet_gap),
            down,
        }
    }

    /// The next packet is due later than this.
    fn is_after(&self, time: Time) -> bool {
        self.next.is_some_and(|(due, _)| due > time)
    }

    /// `pktgen_timer_header_t` or `pktgen_port_down_header_t` of pipe 0.
    fn header(&self, at: usize) -> Vec<u8> {
        let middle = match self.down {
            Some(port) => [0, (port >> 8) as u8, port as u8],
            None => [0, (self.batch >> 8) as u8, self.batch as u8],
        };
        let [first, second] = (self.packet as u16).to_be_bytes();
        [&[at as u8], &middle[..], &[first, second]].concat()
    }
}

/// Bytes of the buffer; those beyond its end are left out.
fn buffer(objects: &[Object], id: InstanceId, offset: u64, length: u64) -> Vec<u8> {
    let Some(lines) = register(objects, id) else { return vec![] };
    let line = u64::from(tna::GENERATOR_LINE);
    let end = (offset + length).min(lines.size * line);
    let (first, skipped) = (offset / line, (offset % line) as usize);
    let bytes = (first..end.div_ceil(line)).flat_map(|at| match lines.read(at) {
        Some(Value::Bits(bits)) => bits.low_u128().to_be_bytes(),
        _ => [0; tna::GENERATOR_LINE as usize],
    });
    bytes.skip(skipped).take(end.saturating_sub(offset) as usize).collect()
}

/// Adds one to those of the counts of an application that are wanted.
fn count(objects: &mut [Object], id: InstanceId, at: usize, wanted: [bool; 3]) {
    let Some(Object::Register(register)) = objects.get_mut(id.index()) else { return };
    let known: [u64; 3] = numbers(&register.read(at as u64).unwrap_or(Value::Void));
    let add = |at: usize| Value::Bits(Bits::new(32, u128::from(known[at] + u64::from(wanted[at]))));
    register.write(at as u64, Value::Struct([0, 1, 2].map(add).into()));
}

fn register(objects: &[Object], id: InstanceId) -> Option<&Register> {
    match objects.get(id.index()) {
        Some(Object::Register(register)) => Some(register),
        _ => None,
    }
}

/// The numbers of a tuple.
fn numbers<const N: usize>(cell: &Value) -> [u64; N] {
    let Value::Struct(fields) = cell else { return [0; N] };
    std::array::from_fn(|at| match fields.get(at) {
        Some(Value::Bits(bits)) => bits.low_u64(),
        _ => 0,
    })
}

impl Core {
    /// Takes the frames that the packet generator makes now.
    pub(crate) fn generated(&mut self, now: Time) -> Vec<(Port, Vec<u8>)> {
        self.generator.take_due(&mut self.state.objects, now)
    }
}
