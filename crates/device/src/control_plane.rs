//! Control-plane operations on a switch, by control-plane names: tables, value sets, objects, replication.

use crate::core::Core;
use crate::names::{refused, unknown};
use crate::objects::counter::Counter;
use crate::objects::meter::MeterArray;
use crate::objects::profile::Member;
use crate::objects::register::Register;
use crate::objects::{Array, Object};
use crate::ports::PortNumbers;
use crate::replication::Session;
use crate::reports::Digest;
use crate::switch::Switch;
use crate::table::{IdleEntry, KeySpec, Run, action_data, fit};
use crate::trace::Event;
use crate::v1model::Calculation;
use crate::{Access, table};
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes as writes;
use control_writes::{ActionCall, Count, Crc, EntryKey, Match, Rates};
use dataplane_api::{EntryError, Port};
use ir::{Name, Program};
use ir_value::Value;
use std::ops::Range;
use std::sync::Arc;

/// Kind of objects with a memory of their own, for users.
const EXTERN: &str = "extern object";

impl Switch {
    /// Adds an entry and gives its handle. `keys` has one for each key element that is not `selector`, in
    /// order; `args` one for each parameter without direction. A greater `priority` wins.
    pub fn table_add(
        &mut self,
        table: &str,
        keys: &[Match],
        action: &str,
        args: &[Bits],
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        if table.implementation.is_some() {
            return Err(refused(format!(
                "the entries of `{}` name members or groups",
                table.control_plane_name
            )));
        }
        let (action, data) = table.action(&program, action, args, true)?;
        table.add(keys, priority, Run::Action(action, data))
    }

    /// Adds an entry that names a member of the table's profile.
    pub fn table_add_member(
        &mut self,
        table: &str,
        keys: &[Match],
        member: u32,
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        let found = self.core.state.tables.by_name(table)?.implementation;
        match found.and_then(|id| self.core.state.objects.get(id.index())) {
            Some(Object::Profile(profile)) if profile.member(member).is_some() => {}
            Some(Object::Profile(_)) => return Err(refused(format!("there is no member {member}"))),
            _ => return Err(refused(format!("`{table}` has no profile"))),
        }
        self.core.state.tables.by_name_mut(table)?.add(keys, priority, Run::Member(member))
    }

    /// Adds an entry that names a group of the table's selector.
    pub fn table_add_group(
        &mut self,
        table: &str,
        keys: &[Match],
        group: u32,
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        let found = self.core.state.tables.by_name(table)?.implementation;
        match found.and_then(|id| self.core.state.objects.get(id.index())) {
            Some(Object::Profile(profile)) if profile.has_group(group) => {}
            Some(Object::Profile(_)) => return Err(refused(format!("there is no group {group}"))),
            _ => return Err(refused(format!("`{table}` has no selector"))),
        }
        self.core.state.tables.by_name_mut(table)?.add(keys, priority, Run::Group(group))
    }

    /// Replaces the action of an entry.
    pub fn table_modify(
        &mut self,
        table: &str,
        keys: &[Match],
        action: &str,
        args: &[Bits],
        priority: Option<i64>,
    ) -> Result<(), EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        let (action, data) = table.action(&program, action, args, true)?;
        table.modify(keys, priority, Run::Action(action, data))
    }

    /// Removes an entry.
    pub fn table_delete(
        &mut self,
        table: &str,
        keys: &[Match],
        priority: Option<i64>,
    ) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.delete(keys, priority)
    }

    /// Removes all entries of all tables that are not constant.
    pub fn clear_tables(&mut self) {
        self.core.state.tables.iter_mut().for_each(table::Table::clear);
    }

    /// Replaces the default action.
    pub fn table_set_default(&mut self, table: &str, action: &str, args: &[Bits]) -> Result<(), EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        let run = table.action(&program, action, args, false)?;
        table.set_default(Some(run))
    }

    /// Takes back the default action that the source says.
    pub fn table_reset_default(&mut self, table: &str) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.set_default(None)
    }

    /// The control-plane names of all tables, in the order of the program.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.core.state.tables.iter().map(|t| t.control_plane_name.as_str())
    }

    /// The whole control-plane name of a table.
    pub fn table_name(&self, table: &str) -> Result<&Name, EntryError> {
        Ok(&self.core.state.tables.by_name(table)?.control_plane_name)
    }

    /// The keys of a table, those of kind `selector` left out.
    pub fn table_keys(&self, table: &str) -> Result<&[KeySpec], EntryError> {
        Ok(&self.core.state.tables.by_name(table)?.keys)
    }

    /// The entries of a table, in the order they were added.
    pub fn table_entries(&self, table: &str) -> Result<Vec<TableEntry>, EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        Ok(table.oldest_first().into_iter().map(|(key, entry)| TableEntry::new(table, key, entry)).collect())
    }

    /// Default action of a table: control-plane name and data.
    pub fn table_default(&self, table: &str) -> Result<(Name, Vec<Bits>), EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        Ok(action_view(table, table.default.0, &table.default.1))
    }

    /// The parameters without direction of a table's action, by name and width, in order.
    pub fn action_params(&self, table: &str, action: &str) -> Result<Vec<(String, u32)>, EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        let spec = &table.actions[table.action_index(action)?];
        let width = |ty| Value::zero(&self.core.program, ty).to_key().map_or(0, |bits| bits.width());
        Ok(spec.data.iter().map(|(name, ty)| (name.to_string(), width(ty))).collect())
    }

    /// Adds a member to an action profile or selector and gives its number. `table` is one that uses it.
    pub fn member_add(&mut self, table: &str, action: &str, args: &[Bits]) -> Result<u32, EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        let spec = &found.actions[found.action_index(action)?];
        let member = Member {
            action: spec.control_plane_name.clone(),
            data: action_data(&self.core.program, spec, args)?,
        };
        match found.implementation.and_then(|id| self.core.state.objects.get_mut(id.index())) {
            Some(Object::Profile(profile)) => profile.add_member(member),
            _ => Err(refused(format!("`{table}` has no profile"))),
        }
    }

    /// Adds a group to an action selector and gives its number. `table` is one that uses it.
    pub fn group_add(&mut self, table: &str, members: &[u32]) -> Result<u32, EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        match found.implementation.and_then(|id| self.core.state.objects.get_mut(id.index())) {
            Some(Object::Profile(profile)) => profile.add_group(members),
            _ => Err(refused(format!("`{table}` has no selector"))),
        }
    }

    /// Adds a member to a value set: one match for each field of its type.
    pub fn value_set_add(&mut self, set: &str, member: &[Match]) -> Result<(), EntryError> {
        self.core.state.value_sets.by_name_mut(set)?.add(member)
    }

    /// Empties a value set.
    pub fn value_set_clear(&mut self, set: &str) -> Result<(), EntryError> {
        self.core.state.value_sets.by_name_mut(set)?.clear();
        Ok(())
    }

    /// Sets the members of a multicast group: port and replica id, in the order of replication.
    pub fn multicast_group_set(&mut self, group: u32, members: Vec<(Port, u16)>) {
        self.core.replication.set_group(group, members);
    }

    /// Sets where the members of a multicast group go while their ports are down: port and replica id, the best first, by the
    /// members' places.
    pub fn multicast_backups_set(&mut self, group: u32, backups: Vec<Vec<(Port, u16)>>) {
        self.core.replication.set_backups(group, backups);
    }

    /// Sets where the clones of a session go; `None` removes it.
    pub fn clone_session_set(&mut self, session: u32, to: Option<Session>) {
        match to {
            Some(to) => {
                self.core.replication.sessions.insert(session, to);
            }
            None => {
                self.core.replication.sessions.remove(&session);
            }
        }
    }

    /// Writes one cell of a register.
    pub fn register_write(&mut self, name: &str, index: u64, value: &Bits) -> Result<(), EntryError> {
        let register: &Register = self.core.array(name)?;
        let value = match register.zero() {
            Value::Bits(bits) => fit(value, bits.width()).map(Value::Bits),
            Value::Bool(_) => Some(Value::Bool(!value.is_zero())),
            _ => None,
        };
        let value =
            value.ok_or_else(|| refused(format!("the value does not fit into a cell of `{name}`")))?;
        self.register_set(name, index, value)
    }

    /// Writes one cell of a register, whatever its type; the value has that type.
    pub fn register_set(&mut self, name: &str, index: u64, value: Value) -> Result<(), EntryError> {
        let register: &mut Register = self.core.array_mut(name)?;
        in_range(register.write(index, value), name, index, register.size)
    }

    /// Sets all cells of a register to zero.
    pub fn register_reset(&mut self, name: &str) -> Result<(), EntryError> {
        self.core.array_mut::<Register>(name)?.clear();
        Ok(())
    }

    /// The type of a register's cells.
    pub(crate) fn register_type(&self, name: &str) -> Result<&ir::Type, EntryError> {
        let (id, _) = self.core.state.array::<Register>(&self.core.program, name)?;
        let ty = self.core.program.instances.get(id.index()).and_then(|i| i.type_args.first());
        ty.ok_or_else(|| refused("no such register"))
    }

    /// One cell of a register as data; `None` for a type that data has no form for.
    pub fn register_data(&self, name: &str, index: u64) -> Result<Option<writes::Data>, EntryError> {
        let value = self.core.register_cell(name, index)?;
        Ok(value.to_data(&self.core.program, self.register_type(name)?))
    }

    /// The cells of a register that are not zero, in order, of those wanted; `None` for a type that data has no form for.
    pub fn register_cells(
        &self,
        name: &str,
        wanted: Range<u64>,
    ) -> Result<Option<Vec<(u64, writes::Data)>>, EntryError> {
        let register: &Register = self.core.array(name)?;
        in_range(wanted.end <= register.size, name, wanted.end, register.size)?;
        let ty = self.register_type(name)?;
        let cells = register.cells_of(wanted).into_iter();
        Ok(cells.map(|(index, value)| Some((index, value.to_data(&self.core.program, ty)?))).collect())
    }

    /// The cells of a counter array that are not zero, in order, of those wanted.
    pub fn counter_cells(&self, name: &str, wanted: Range<u64>) -> Result<Vec<(u64, Count)>, EntryError> {
        let counter: &Counter = self.core.array(name)?;
        in_range(wanted.end <= counter.size, name, wanted.end, counter.size)?;
        Ok(counter.cells_of(wanted))
    }

    /// The whole memory of a frame extern or value extern; empty for one without memory.
    pub fn memory(&self, name: &str) -> Result<Vec<u8>, EntryError> {
        let snapshot = |object: &Object| match object {
            Object::Frame(object) => Some(object.snapshot()),
            Object::Value(value) => Some(value.memory()),
            _ => None,
        };
        Ok(self.core.state.object(&self.core.program, EXTERN, name, snapshot)?.1)
    }

    /// Replaces the whole memory of a frame extern or value extern by that of another instance with the same arguments.
    pub(crate) fn set_memory(&mut self, name: &str, memory: &[u8]) -> Result<(), EntryError> {
        let own = |object: &Object| matches!(object, Object::Frame(_) | Object::Value(_)).then_some(());
        let (id, ()) = self.core.state.object(&self.core.program, EXTERN, name, own)?;
        let restored = match self.core.state.objects.get_mut(id.index()) {
            Some(Object::Frame(object)) => object.restore(memory),
            Some(Object::Value(value)) if value.has_memory() => value.object.restore(memory),
            _ if memory.is_empty() => Ok(()),
            _ => return Err(refused(format!("`{name}` has no memory"))),
        };
        restored.map_err(|error| refused(format!("the memory does not fit `{name}`: {}", error.0)))
    }

    /// Reads one counter; of a direct counter the one of the entry with that handle.
    pub fn counter_read(&self, name: &str, index: u64) -> Result<Count, EntryError> {
        let pick = |o| matches!(o, &Object::Counter(_) | &Object::DirectCounter).then_some(o);
        let (id, object) = self.core.state.object(&self.core.program, "counter", name, pick)?;
        if let Object::Counter(counter) = object {
            return counter.read(index).ok_or_else(|| out_of_range(name, index, counter.size));
        }
        let mut entries =
            self.core.state.tables.iter().filter(|t| t.counters == Some(id)).flat_map(|t| t.entries.values());
        let entry = entries.find(|e| e.handle == index);
        entry
            .map(|e| e.direct.count.read())
            .ok_or_else(|| refused(format!("`{name}` has no counter for handle {index}")))
    }

    /// Sets one counter.
    pub fn counter_write(&mut self, name: &str, index: u64, count: Count) -> Result<(), EntryError> {
        let counter: &mut Counter = self.core.array_mut(name)?;
        in_range(counter.write(index, count), name, index, counter.size)
    }

    /// Sets all cells of a counter to zero.
    pub fn counter_reset(&mut self, name: &str) -> Result<(), EntryError> {
        let counter: &mut Counter = self.core.array_mut(name)?;
        for index in 0..counter.size {
            counter.write(index, Count::default());
        }
        Ok(())
    }

    /// Sets committed and peak rate of one meter; of a direct meter that of the entry with that handle.
    pub fn meter_set_rates(&mut self, name: &str, index: u64, rates: Rates) -> Result<(), EntryError> {
        check_rates(rates)?;
        let is_meter = |o: &Object| matches!(o, Object::Meter(_) | Object::DirectMeter(_)).then_some(());
        let (id, ()) = self.core.state.object(&self.core.program, "meter", name, is_meter)?;
        if let Some(Object::Meter(meters)) = self.core.state.objects.get_mut(id.index()) {
            return in_range(meters.configure(index, rates), name, index, meters.size);
        }
        let of = self.core.state.tables.iter().find(|t| t.meters == Some(id));
        let of = of.map(|table| table.control_plane_name.clone());
        let none = || refused(format!("`{name}` has no meter for handle {index}"));
        self.direct_meter_set_rates(&of.ok_or_else(none)?, index, rates).map_err(|_| none())
    }

    /// Sets committed and peak rate of all meters of an array.
    pub fn meter_array_set_rates(&mut self, name: &str, rates: Rates) -> Result<(), EntryError> {
        check_rates(rates)?;
        self.core.array_mut::<MeterArray>(name)?.configure_all(rates);
        Ok(())
    }

    /// Makes all packets green again at all meters of an array.
    pub fn meter_array_reset(&mut self, name: &str) -> Result<(), EntryError> {
        self.core.array_mut::<MeterArray>(name)?.reset_all();
        Ok(())
    }

    /// Sets committed and peak rate of the direct meter of an entry, by the table and the entry's handle.
    pub fn direct_meter_set_rates(
        &mut self,
        table: &str,
        handle: u64,
        rates: Rates,
    ) -> Result<(), EntryError> {
        check_rates(rates)?;
        let found = self.core.state.tables.by_name_mut(table)?;
        if found.meters.is_none() {
            return Err(refused(format!("`{table}` has no direct meter")));
        }
        match found.entries.values_mut().rfind(|e| e.handle == handle) {
            Some(entry) => entry.direct.meter.configure(rates),
            None => return Err(refused(format!("`{table}` has no entry with handle {handle}"))),
        }
        Ok(())
    }

    /// Sets how long an entry may stay without a hit before [`take_idle`](Switch::take_idle) gives it, counted from
    /// `now`; none, or no time at all, takes that away. `handle` is the entry's; the table has `support_timeout`.
    pub fn table_set_idle_timeout(
        &mut self,
        table: &str,
        handle: u64,
        timeout: Option<Duration>,
        now: Time,
    ) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.set_idle_timeout(handle, timeout, now)
    }

    /// Takes the entries that have been idle for their time by `now`, by tables and the earliest first. Each is
    /// given once, and again after another hit; it stays in its table. Of a table 4096 are kept.
    pub fn take_idle(&mut self, now: Time) -> Vec<IdleEntry> {
        self.core.state.tables.iter_mut().flat_map(|table| table.take_idle(now)).collect()
    }

    /// Committed and peak rate of a meter, if they are set.
    pub fn meter_rates(&self, name: &str, index: u64) -> Result<Option<Rates>, EntryError> {
        let meters: &MeterArray = self.core.array(name)?;
        if index < meters.size {
            Ok(meters.rates(index))
        } else {
            Err(out_of_range(name, index, meters.size))
        }
    }

    /// Calls of the program that compute hashes and checksums.
    pub fn calculations(&self) -> &[Calculation] {
        &self.core.state.crcs.calculations
    }

    /// Takes the names of calls from the program that this one was made from.
    pub fn set_calculations(&mut self, calculations: Arc<[Calculation]>) {
        self.core.state.crcs.calculations = calculations;
    }

    /// Sets the parameters of `crc16_custom` or `crc32_custom` (`width` is 16 or 32), for a calculation, or for every call and object.
    pub fn set_custom_crc(
        &mut self,
        calculation: Option<&str>,
        width: u32,
        crc: Crc,
    ) -> Result<(), EntryError> {
        let Some(name) = calculation else {
            self.core.state.crcs.set(width, crc);
            return Ok(());
        };
        let all = Arc::clone(&self.core.state.crcs.calculations);
        let known = all.iter().filter(|of| of.custom_width() == Some(width));
        match known.clone().find(|of| of.name == name) {
            Some(of) => self.core.state.crcs.set_for(of.call, width, crc),
            None => {
                let kind = format!("calculation with `crc{width}_custom`");
                return Err(unknown(&kind, name, known.map(|of| of.name.as_str())));
            }
        }
        Ok(())
    }

    /// Switches the trace on or off.
    pub fn set_trace(&mut self, on: bool) {
        self.core.state.trace.switch(on);
    }

    /// Takes the trace since the last call, at most the last 2^20 events.
    pub fn take_trace(&mut self) -> Vec<Event> {
        self.core.state.trace.take()
    }

    /// Switches the log of accesses on or off. It has no bound: take it from time to time.
    pub fn set_access_log(&mut self, on: bool) {
        self.core.state.accesses.on = on;
    }

    /// Takes which state objects were touched since the last time, in order.
    pub fn take_accesses(&mut self) -> Vec<Access> {
        self.core.state.accesses.take()
    }

    /// Takes the digests sent since the last time; of more than 4096 the oldest are kept.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.core.state.take_digests()
    }

    /// Takes the lines of `log_msg` since the last call, at most the last 4096.
    pub fn take_log(&mut self) -> Vec<String> {
        self.core.state.take_log()
    }

    /// The numbers that ports and multicast groups can have.
    pub fn port_numbers(&self) -> &PortNumbers {
        &self.core.numbers
    }

    /// Refuses a port that the architecture's type cannot hold.
    pub fn check_port(&self, port: Port) -> Result<(), EntryError> {
        self.core.numbers.check_port(port)
    }

    /// Refuses a multicast group that the architecture's type cannot hold.
    pub fn check_group(&self, group: u32) -> Result<(), EntryError> {
        self.core.numbers.check_group(group)
    }

    /// The program that runs.
    pub fn program(&self) -> &std::sync::Arc<Program> {
        &self.core.program
    }
}

/// An entry as the control plane sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Counts up from 0 in each table.
    pub handle: u64,
    /// Key and priority, unique in the table.
    pub key: EntryKey,
    /// Action, member or group; an entry's own group shows as a group.
    pub run: writes::Run<Name>,
    /// From the source, and not to be changed.
    pub is_const: bool,
    /// Count of the table's direct counter.
    pub count: Count,
}

impl TableEntry {
    pub(crate) fn new(table: &table::Table, key: &EntryKey, entry: &table::Entry) -> TableEntry {
        let run = match &entry.run {
            Run::Action(action, data) => {
                let (action, args) = action_view(table, *action, data);
                writes::Run::Action(ActionCall { action, args })
            }
            Run::Member(member) => writes::Run::Member(*member),
            Run::Group(group) => writes::Run::Group(*group),
        };
        let count = entry.direct.count.read();
        TableEntry { handle: entry.handle, key: key.clone(), run, is_const: entry.is_const, count }
    }
}

fn action_view(table: &table::Table, action: u32, data: &[Value]) -> (Name, Vec<Bits>) {
    let name = table.actions.get(action as usize).map(|a| a.control_plane_name.clone());
    (name.unwrap_or_default(), data.iter().filter_map(Value::to_key).collect())
}

fn check_rates(rates: Rates) -> Result<(), EntryError> {
    if rates.committed.per_gigamicrosecond > rates.peak.per_gigamicrosecond {
        return Err(refused("the committed rate is above the peak rate"));
    }
    Ok(())
}

fn in_range(done: bool, name: &str, index: u64, size: u64) -> Result<(), EntryError> {
    if done { Ok(()) } else { Err(out_of_range(name, index, size)) }
}

fn out_of_range(name: &str, index: u64, size: u64) -> EntryError {
    refused(format!("`{name}` has {size} cells: index {index} is out of range"))
}

impl Core {
    /// One cell of a register.
    pub(crate) fn register_cell(&self, name: &str, index: u64) -> Result<Value, EntryError> {
        let register: &Register = self.array(name)?;
        register.read(index).ok_or_else(|| out_of_range(name, index, register.size))
    }

    /// An array by its control-plane name.
    fn array<T: Array>(&self, name: &str) -> Result<&T, EntryError> {
        Ok(self.state.array(&self.program, name)?.1)
    }

    /// The array, for changes.
    pub(crate) fn array_mut<T: Array>(&mut self, name: &str) -> Result<&mut T, EntryError> {
        self.state.array_mut(&self.program, name)
    }
}
