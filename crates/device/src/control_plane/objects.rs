//! Operations on registers, counters, meters, extern objects and hash parameters.

use crate::core::Core;
use crate::names::{refused, unknown};
use crate::objects::counter::Counter;
use crate::objects::meter::MeterArray;
use crate::objects::register::Register;
use crate::objects::{Array, Object};
use crate::switch::Switch;
use crate::table::fit;
use crate::v1model::Calculation;
use base_bits::Bits;
use control_writes as writes;
use control_writes::{Count, Crc, Rates};
use dataplane_api::EntryError;
use ir::InstanceId;
use ir_value::Value;
use std::ops::Range;
use std::sync::Arc;

/// Kind of objects with a memory of their own, for users.
const EXTERN: &str = "extern object";

impl Switch {
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
        let (id, _) = self.core.state.array::<Register>(&self.core.program, name)?;
        self.core.generator.check(id, &value, self.core.numbers)?;
        let register: &mut Register = self.core.array_mut(name)?;
        in_range(register.write(index, value), name, index, register.size)?;
        self.core.generator.written(&self.core.state.objects, id, Some(index));
        Ok(())
    }

    /// Sets all cells of a register to zero.
    pub fn register_reset(&mut self, name: &str) -> Result<(), EntryError> {
        let (id, _) = self.core.state.array::<Register>(&self.core.program, name)?;
        self.core.array_mut::<Register>(name)?.clear();
        self.core.generator.written(&self.core.state.objects, id, None);
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

    /// Committed and peak rate of a meter, if they are set.
    pub fn meter_rates(&self, name: &str, index: u64) -> Result<Option<Rates>, EntryError> {
        let meters: &MeterArray = self.core.array(name)?;
        if index < meters.size {
            Ok(meters.rates(index))
        } else {
            Err(out_of_range(name, index, meters.size))
        }
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

    /// The whole memory of a frame extern or value extern; empty for one without memory.
    pub fn memory(&self, name: &str) -> Result<Vec<u8>, EntryError> {
        Ok(match self.object_with_memory(name)?.1 {
            Object::Frame(object) => object.get().snapshot(),
            Object::Value(value) => value.memory(),
            _ => vec![],
        })
    }

    /// The version of the memory of a frame extern or value extern: it rises with each call, timer and write, and a memory with an equal version is
    /// equal. `None` if threads may call the instance without the device's knowledge: its memory must be compared.
    pub fn memory_version(&self, name: &str) -> Result<Option<u64>, EntryError> {
        Ok(match self.object_with_memory(name)?.1 {
            Object::Frame(object) => Some(object.version()),
            Object::Value(value) => value.version(),
            _ => None,
        })
    }

    /// A frame extern or value extern.
    fn object_with_memory(&self, name: &str) -> Result<(InstanceId, &Object), EntryError> {
        // The closure runs for each object of the program: it takes no snapshots.
        self.core.state.object(&self.core.program, EXTERN, name, |object| {
            matches!(object, Object::Frame(_) | Object::Value(_)).then_some(object)
        })
    }

    /// Replaces the whole memory of a frame extern or value extern by that of another instance with the same arguments.
    pub(crate) fn set_memory(&mut self, name: &str, memory: &[u8]) -> Result<(), EntryError> {
        let (id, _) = self.object_with_memory(name)?;
        let restored = match self.core.state.objects.get_mut(id.index()) {
            Some(Object::Frame(object)) => object.restore(memory),
            Some(Object::Value(value)) if value.has_memory() => value.restore(memory),
            _ if memory.is_empty() => Ok(()),
            _ => return Err(refused(format!("`{name}` has no memory"))),
        };
        restored.map_err(|error| refused(format!("the memory does not fit `{name}`: {}", error.0)))
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
