//! Operations of packets on a device: lookups, registers, counters, meters, random numbers. Each access is recorded for
//! observers ([`AccessKind`]) and reported to the trace.

use crate::access::AccessKind;
use crate::embed::{ActionView, action_view};
use crate::environment::Source;
use crate::hash::Algorithm;
use crate::objects::Object;
pub use crate::objects::meter::{GREEN, RED, YELLOW};
use crate::objects::profile::Member;
use crate::stage::Stop;
use crate::state::State;
use crate::table::{DirectCells, Run, Table};
use crate::trace::{EventKind, Hit, KeyRead, Shown, shown};
use base_bits::{BitWriter, Bits};
use base_time::Time;
use control_writes::EntryKey;
use ir::{ControlId, InstanceId, MatchKind, Name, ParserId, Program, TableId, TableKey, Type, ValueSetId};
use ir_value::Value;

/// A table that was applied, and the position of the entry that was hit; `None` on a miss.
pub type Application = (ControlId, TableId, Option<usize>);

/// Result of a lookup.
#[derive(Clone, Debug)]
pub struct Found {
    /// The position of the entry; `None` on a miss.
    pub entry: Option<usize>,
    /// Action to run, by its position in the table's list.
    pub action: u32,
    /// For its parameters without direction.
    pub data: Vec<Value>,
    /// Number of entries of the table.
    pub entries: u64,
}

impl State {
    /// Looks an entry up. `key` and `chosen_by` are the values of the table's keys, those of a selector apart.
    pub fn look_up(
        &mut self,
        (control, table): (ControlId, TableId),
        declared: &[TableKey],
        key: &[Bits],
        chosen_by: &[Bits],
    ) -> Result<Found, Stop> {
        let table = self.tables.get(control, table).ok_or(Stop::Broken("an unknown table"))?;
        let entry = table.lookup(key);
        let (action, data) = choose(table, entry, chosen_by, self)?;
        self.trace.add(|| table_event(table, declared, key, chosen_by, entry, action));
        Ok(Found { entry, action, data, entries: table.entries.len() as u64 })
    }

    /// Action to run after a hit in a table with a profile; `chosen_by` are the selector's keys.
    pub(crate) fn chosen(
        &self,
        (control, table): (ControlId, TableId),
        key: &EntryKey,
        chosen_by: &[Bits],
    ) -> Option<ActionView> {
        let table = self.tables.get(control, table)?;
        let found = table.entries.get_index_of(key);
        let (action, data) = choose(table, found, chosen_by, self).ok()?;
        Some(action_view(action, &data))
    }

    /// Logs that a state object was touched.
    pub fn accessed(&mut self, program: &Program, instance: InstanceId, kind: AccessKind) {
        if let Some(instance) = program.instances.get(instance.index()) {
            self.accesses.add(&instance.control_plane_name, kind);
        }
    }

    /// A number that is uniform in `lo..=hi`, which is not empty.
    pub fn draw(&mut self, lo: u128, hi: u128) -> u128 {
        let span = hi.saturating_sub(lo);
        let offset = match u64::try_from(span) {
            Ok(span) => u128::from(self.rng.between(0, span)),
            Err(_) if span == u128::MAX => self.rng.next_u128(),
            Err(_) => self.rng.next_u128() % (span + 1),
        };
        self.accesses.add(&Name::from("random"), AccessKind::Update);
        self.environment.read(&Source::Random { lo, hi }, lo + offset)
    }

    /// Number of positions of a select case that a value set stands for.
    pub fn value_set_width(&self, parser: ParserId, set: ValueSetId) -> Result<usize, Stop> {
        Ok(self.value_sets.get(parser, set).ok_or(Stop::Broken("an unknown value set"))?.width())
    }

    /// True if the value set has a member that fits.
    pub fn value_set_has(&self, parser: ParserId, set: ValueSetId, values: &[Bits]) -> Result<bool, Stop> {
        Ok(self.value_sets.get(parser, set).ok_or(Stop::Broken("an unknown value set"))?.has(values))
    }

    /// The same for values of at most 128 bits.
    pub fn value_set_has_numbers(
        &self,
        parser: ParserId,
        set: ValueSetId,
        values: &[u128],
    ) -> Result<bool, Stop> {
        let set = self.value_sets.get(parser, set).ok_or(Stop::Broken("an unknown value set"))?;
        Ok(set.has_numbers(values))
    }

    /// The algorithm of an instance that hashes.
    pub fn algorithm(&self, id: InstanceId) -> Option<Algorithm> {
        match self.objects.get(id.index()) {
            Some(Object::Hash(algorithm)) => Some(*algorithm),
            _ => None,
        }
    }

    /// True if calls of its methods take the frame away.
    pub fn is_frame_extern(&self, id: InstanceId) -> bool {
        matches!(self.objects.get(id.index()), Some(Object::Frame(_)))
    }

    /// A cell of a register; `None` out of range.
    pub fn register_cell(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
    ) -> Result<Option<Value>, Stop> {
        self.accessed(program, id, AccessKind::Read);
        match self.objects.get(id.index()) {
            Some(Object::Register(register)) => Ok(register.read(index)),
            _ => Err(Stop::Broken("an object that is not a register")),
        }
    }

    /// Writes a cell of a register, which is of type `ty`; out of range nothing happens.
    pub fn register_write(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
        ty: &Type,
        value: Value,
    ) -> Result<(), Stop> {
        self.accessed(program, id, AccessKind::Write);
        let Some(Object::Register(register)) = self.objects.get_mut(id.index()) else {
            return Err(Stop::Broken("an object that is not a register"));
        };
        // Out of range nothing is written.
        if self.trace.on()
            && let Some(old) = register.read(index)
        {
            let place = format!("{}[{index}]", program.instance(id).control_plane_name);
            let (old, new) = (Some(shown(program, ty, &old)), shown(program, ty, &value));
            self.trace.add(|| EventKind::Write { place, old, new });
        }
        register.write(index, value);
        Ok(())
    }

    /// Counts a packet of `bytes`; out of range nothing happens.
    pub fn count(&mut self, program: &Program, id: InstanceId, index: u64, bytes: u64) -> Result<(), Stop> {
        self.accessed(program, id, AccessKind::Update);
        let Some(Object::Counter(counter)) = self.objects.get_mut(id.index()) else {
            return Err(Stop::Broken("an object that is not a counter"));
        };
        counter.count(index, bytes);
        if index < counter.size {
            self.counted(program, id, index, bytes);
        }
        Ok(())
    }

    /// Counts a packet of `bytes` in the direct counter of the entry that it hit, if the table has one.
    pub fn count_hit(&mut self, program: &Program, (control, table, entry): Application, bytes: u64) {
        if let (Some(at), Some(table)) = (entry, self.tables.get_mut(control, table))
            && let (Some(counter), Some((_, entry))) = (table.counters, table.entries.get_index_mut(at))
        {
            let handle = entry.handle;
            entry.direct.count.count(bytes);
            self.accessed(program, counter, AccessKind::Update);
            self.counted(program, counter, handle, bytes);
        }
    }

    /// Counts a packet of `bytes` in the direct counter `id`, of the entry that was hit or of the default action.
    pub fn count_direct(
        &mut self,
        program: &Program,
        id: InstanceId,
        applied: Option<Application>,
        bytes: u64,
    ) {
        self.accessed(program, id, AccessKind::Update);
        if let Some((_, direct)) = applied.and_then(|applied| self.direct_mut(applied)) {
            direct.count.count(bytes);
        }
    }

    /// Records that a packet of `bytes` bytes has hit an entry: the entry's idle timer restarts. Returns the direct meter of the table and its
    /// colour; `None` if the table has no such meter.
    pub fn note_hit(
        &mut self,
        program: &Program,
        (control, table, entry): Application,
        bytes: u64,
        now: Time,
    ) -> Option<(InstanceId, u8)> {
        let (at, found) = (entry?, self.tables.get_mut(control, table)?);
        found.hit(at, now);
        let meter = found.meters?;
        let colour = self.direct_meter(program, meter, (control, table, entry), bytes, GREEN, now)?;
        Some((meter, colour))
    }

    /// A packet has hit an entry: its idle timer restarts.
    pub fn restart_idle(&mut self, (control, table, entry): Application, now: Time) {
        if let (Some(at), Some(found)) = (entry, self.tables.get_mut(control, table)) {
            found.hit(at, now);
        }
    }

    /// The colour that a cell of a meter gives a packet of `bytes` that has the colour `before`; `None` out of range.
    pub fn meter(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
        bytes: u64,
        before: u8,
        now: Time,
    ) -> Result<Option<u8>, Stop> {
        self.accesses.add(&program.instance(id).control_plane_name, AccessKind::Update);
        let now = self.meter_now(program, id, now);
        let colour = match self.objects.get_mut(id.index()) {
            Some(Object::Meter(meters)) => meters.execute(index, bytes, before, now),
            _ => return Err(Stop::Broken("an object that is not a meter")),
        };
        if let Some(colour) = colour {
            self.metered(program, id, Some(index), colour);
        }
        Ok(colour)
    }

    /// The colour that the direct meter of an entry, or of the default action, gives a packet of `bytes` that has the colour
    /// `before`; `None` if there is no such meter.
    pub fn direct_meter(
        &mut self,
        program: &Program,
        id: InstanceId,
        applied: Application,
        bytes: u64,
        before: u8,
        now: Time,
    ) -> Option<u8> {
        self.accessed(program, id, AccessKind::Update);
        let counts_bytes = matches!(self.objects.get(id.index()), Some(Object::DirectMeter(true)));
        let now = self.meter_now(program, id, now);
        let units = if counts_bytes { bytes } else { 1 };
        let (handle, direct) = self.direct_mut(applied)?;
        let colour = direct.meter.execute(units, before, now);
        self.metered(program, id, handle, colour);
        Some(colour)
    }

    /// See [`Table::direct_mut`].
    pub(crate) fn direct_mut(
        &mut self,
        (control, table, found): Application,
    ) -> Option<(Option<u64>, &mut DirectCells)> {
        self.tables.get_mut(control, table)?.direct_mut(found)
    }

    /// Tells the trace that a cell of a counter, or the counter of an entry, has counted.
    fn counted(&mut self, program: &Program, id: InstanceId, index: u64, bytes: u64) {
        let counter = || program.instance(id).control_plane_name.clone();
        self.trace.add(|| EventKind::Count { counter: counter(), index, bytes });
    }

    /// Tells the trace which colour a cell of a meter, or the meter of an entry or of the default action, gave.
    fn metered(&mut self, program: &Program, id: InstanceId, index: Option<u64>, colour: u8) {
        let meter = || program.instance(id).control_plane_name.clone();
        self.trace.add(|| EventKind::Meter { meter: meter(), index, colour });
    }

    /// The clock as a meter sees it, in microseconds.
    fn meter_now(&mut self, program: &Program, id: InstanceId, now: Time) -> u64 {
        let name = program.instance(id).control_plane_name.to_string();
        self.read_environment(&Source::MeterNow(name), now.as_us())
    }
}

/// The action that runs and its data.
fn choose(
    table: &Table,
    found: Option<usize>,
    chosen_by: &[Bits],
    state: &State,
) -> Result<(u32, Vec<Value>), Stop> {
    let Some((_, entry)) = found.and_then(|at| table.entries.get_index(at)) else {
        return Ok(table.default.clone());
    };
    let profile = || match table.implementation.and_then(|i| state.objects.get(i.index())) {
        Some(Object::Profile(profile)) => Ok(profile),
        _ => Err(Stop::Broken("a member without a profile")),
    };
    let member = match &entry.run {
        Run::Action(action, data) => return Ok((*action, data.clone())),
        Run::Member(member) => profile()?.member(*member),
        Run::Group(group) => {
            let mut bits = BitWriter::new();
            chosen_by.iter().for_each(|b| bits.push(b));
            let profile = profile()?;
            profile.choose(*group, state.hash(profile.algorithm, &bits.finish()))
        }
    };
    let member = member.and_then(|m: &Member| {
        let action = table.actions.iter().position(|a| a.control_plane_name == m.action)?;
        Some((action as u32, m.data.clone()))
    });
    // An empty group, and a member that is gone, run the default action.
    Ok(member.unwrap_or_else(|| table.default.clone()))
}

/// The step of a table's application. `key` and `chosen_by` are the values of its keys, those of a selector
/// apart.
fn table_event(
    table: &Table,
    declared: &[TableKey],
    key: &[Bits],
    chosen_by: &[Bits],
    found: Option<usize>,
    action: u32,
) -> EventKind {
    let (mut matched, mut selecting) = (key.iter(), chosen_by.iter());
    let keys = declared
        .iter()
        .filter_map(|element| {
            let of_selector = element.match_kind == MatchKind::Selector;
            let value = if of_selector { selecting.next() } else { matched.next() }?;
            let (name, kind) = (element.name.clone(), element.match_kind.clone());
            Some(KeyRead { name, kind, value: Shown::Number(value.clone()) })
        })
        .collect();
    let hit = found.and_then(|at| table.entries.get_index(at)).map(|(key, entry)| Hit {
        handle: entry.handle,
        keys: key.matches.to_vec(),
        priority: table.has_priorities().then_some(key.priority),
        through: match &entry.run {
            Run::Action(..) => None,
            Run::Member(member) => Some(format!("member {member}")),
            Run::Group(group) => Some(format!("group {group}")),
        },
    });
    let action = table.actions.get(action as usize).map(|a| a.control_plane_name.clone());
    EventKind::Table {
        table: table.control_plane_name.clone(),
        keys,
        hit,
        action: action.unwrap_or_default(),
    }
}
