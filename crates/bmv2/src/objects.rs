//! Methods about counters, meters, registers and parser value sets.

use crate::call::{Answer, Args, VOID, declared, why};
use crate::catalog::{Named, find, register_bits};
use crate::services::{Services, updated};
use crate::switch::Switch;
use crate::value::{number, ones, padded, shortest};
use crate::wire::{Type, Value};
use base_bits::num_bigint::BigUint;
use p4runtime_proto::p4::config::v1::{Counter, Meter, Register, ValueSet};
use p4runtime_proto::p4::v1::field_match::{Exact, FieldMatchType, Ternary};
use p4runtime_proto::p4::v1::{
    CounterData, CounterEntry, FieldMatch, Index, MeterConfig, MeterEntry, P4Data, RegisterEntry,
    ValueSetEntry, ValueSetMember, entity::Entity as Of, p4_data, update,
};

/// Codes of `CounterOperationErrorCode`, `MeterOperationErrorCode` and `RegisterOperationErrorCode`, which begin alike.
const INVALID_NAME: i32 = 1;
const INVALID_INDEX: i32 = 2;
const COUNTER_ERROR: i32 = 3;
const REGISTER_ERROR: i32 = 3;
const BAD_RATES_LIST: i32 = 3;
const METER_ERROR: i32 = 6;
/// Code of `ParseVSetOperationErrorCode`.
const VALUE_SET_ERROR: i32 = 2;

/// Updates that are written at a time.
const AT_ONCE: i64 = 4096;

/// `BmCounterValue`.
pub fn count_value(data: Option<&CounterData>) -> Value {
    let (bytes, packets) = data.map_or((0, 0), |data| (data.byte_count, data.packet_count));
    Value::Struct(vec![(1, Value::I64(bytes)), (2, Value::I64(packets))])
}

/// The same from a client.
pub fn count_of(value: &Args<'_>) -> Answer<CounterData> {
    Ok(CounterData { byte_count: value.number(1)?, packet_count: value.number(2)? })
}

/// Units per microsecond as units per second, and bursts: committed and peak. `None` if these are no two rates.
pub fn rates(given: &[Args<'_>]) -> Answer<Option<MeterConfig>> {
    let [committed, peak] = given else { return Ok(None) };
    let rate =
        |rate: &Args<'_>| Ok::<_, crate::call::Refusal>(((rate.double(1)? * 1e6) as i64, rate.number(2)?));
    let ((cir, cburst), (pir, pburst)) = (rate(committed)?, rate(peak)?);
    Ok((cir >= 0 && pir >= cir).then_some(MeterConfig { cir, cburst, pir, pburst, ..MeterConfig::default() }))
}

/// `list<BmMeterRateConfig>`; empty where none are set.
pub fn rates_value(config: Option<&MeterConfig>) -> Value {
    let rate = |(rate, burst): (i64, i64)| {
        let burst = i32::try_from(burst).unwrap_or(i32::MAX);
        Value::Struct(vec![(1, Value::Double(rate as f64 / 1e6)), (2, Value::I32(burst))])
    };
    let all = config.map_or(vec![], |config| vec![(config.cir, config.cburst), (config.pir, config.pburst)]);
    Value::List(Type::Struct, all.into_iter().map(rate).collect())
}

fn at(index: i64) -> Option<Index> {
    Some(Index { index })
}

impl<S: Switch> Services<S> {
    pub(crate) fn objects(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        Some(match method {
            "bm_counter_read" => self.counter_read(args),
            "bm_counter_write" => self.counter_write(args),
            "bm_counter_reset_all" => self.counter_reset(args),
            "bm_meter_set_rates" => self.meter_set(args),
            "bm_meter_array_set_rates" => self.meter_set_all(args),
            "bm_meter_get_rates" => self.meter_get(args),
            "bm_register_read" => self.register_read(args),
            "bm_register_read_all" => self.register_read_all(args),
            "bm_register_write" => self.register_write(args),
            "bm_register_write_range" => self.register_write_range(args),
            "bm_register_reset" => self.register_reset(args),
            "bm_parse_vset_add" => self.value_set(args, Some(true)),
            "bm_parse_vset_remove" => self.value_set(args, Some(false)),
            "bm_parse_vset_clear" => self.value_set(args, None),
            "bm_parse_vset_get" => self.value_set_get(args),
            _ => return None,
        })
    }

    fn counter(&self, args: &Args<'_>) -> Answer<Counter> {
        named(find(&self.info.counters, args.text(2)?), "counter", args)
    }

    fn counter_read(&mut self, args: &Args<'_>) -> Answer {
        let counter = self.counter(args)?;
        let index = within(args.number(3)?, counter.size)?;
        let query = CounterEntry { counter_id: counter.id(), index: at(index), data: None };
        let found =
            self.read(Of::CounterEntry(query)).or_else(|status| declared(COUNTER_ERROR, why(&status)))?;
        match found.into_iter().next() {
            Some(Of::CounterEntry(entry)) => Ok(count_value(entry.data.as_ref())),
            _ => declared(COUNTER_ERROR, "the counter has no value"),
        }
    }

    fn counter_write(&mut self, args: &Args<'_>) -> Answer {
        let counter = self.counter(args)?;
        let index = within(args.number(3)?, counter.size)?;
        let entry = CounterEntry {
            counter_id: counter.id(),
            index: at(index),
            data: Some(count_of(&args.fields(4)?)?),
        };
        self.write(update::Type::Modify, Of::CounterEntry(entry))
            .or_else(|status| declared(COUNTER_ERROR, why(&status)))?;
        VOID
    }

    fn counter_reset(&mut self, args: &Args<'_>) -> Answer {
        let counter = self.counter(args)?;
        let zero = |index| {
            let data = Some(CounterData::default());
            Of::CounterEntry(CounterEntry { counter_id: counter.id(), index: at(index), data })
        };
        self.write_cells(0..counter.size, COUNTER_ERROR, zero)
    }

    /// Writes cells of an object, a number of them at a time.
    fn write_cells(&mut self, range: std::ops::Range<i64>, error: i32, cell: impl Fn(i64) -> Of) -> Answer {
        let mut first = range.start;
        while first < range.end {
            let last = range.end.min(first.saturating_add(AT_ONCE));
            let updates = (first..last).map(|index| updated(update::Type::Modify, cell(index))).collect();
            self.switch.write(updates).or_else(|status| declared(error, why(&status)))?;
            first = last;
        }
        VOID
    }

    fn meter(&self, args: &Args<'_>) -> Answer<Meter> {
        named(find(&self.info.meters, args.text(2)?), "meter", args)
    }

    fn meter_set(&mut self, args: &Args<'_>) -> Answer {
        let meter = self.meter(args)?;
        let index = within(args.number(3)?, meter.size)?;
        let Some(config) = rates(&args.structs(4)?)? else { return bad_rates() };
        let entry =
            MeterEntry { meter_id: meter.id(), index: at(index), config: Some(config), counter_data: None };
        self.write(update::Type::Modify, Of::MeterEntry(entry))
            .or_else(|status| declared(METER_ERROR, why(&status)))?;
        VOID
    }

    fn meter_set_all(&mut self, args: &Args<'_>) -> Answer {
        let meter = self.meter(args)?;
        let Some(config) = rates(&args.structs(3)?)? else { return bad_rates() };
        let entry =
            MeterEntry { meter_id: meter.id(), index: None, config: Some(config), counter_data: None };
        self.write(update::Type::Modify, Of::MeterEntry(entry))
            .or_else(|status| declared(METER_ERROR, why(&status)))?;
        VOID
    }

    fn meter_get(&mut self, args: &Args<'_>) -> Answer {
        let meter = self.meter(args)?;
        let index = within(args.number(3)?, meter.size)?;
        let query = MeterEntry { meter_id: meter.id(), index: at(index), config: None, counter_data: None };
        let found = self.read(Of::MeterEntry(query)).or_else(|status| declared(METER_ERROR, why(&status)))?;
        match found.into_iter().next() {
            Some(Of::MeterEntry(entry)) => Ok(rates_value(entry.config.as_ref())),
            _ => declared(METER_ERROR, "the meter has no value"),
        }
    }

    /// The register, whose cells are numbers, and their width.
    fn register(&self, args: &Args<'_>) -> Answer<(Register, i32)> {
        let register = named(find(&self.info.registers, args.text(2)?), "register", args)?;
        match register_bits(&register) {
            Some(bits) => Ok((register, bits)),
            None => declared(
                REGISTER_ERROR,
                format!("the cells of `{}` are structs: use P4Runtime", register.name()),
            ),
        }
    }

    fn cells(&mut self, register: &Register, index: Option<i64>) -> Answer<Vec<Value>> {
        let index = index.map(|index| Index { index });
        let query = RegisterEntry { register_id: register.id(), index, data: None };
        let found =
            self.read(Of::RegisterEntry(query)).or_else(|status| declared(REGISTER_ERROR, why(&status)))?;
        let value = |of| match of {
            Of::RegisterEntry(entry) => Some(Value::I64(cell_value(entry.data.as_ref()))),
            _ => None,
        };
        Ok(found.into_iter().filter_map(value).collect())
    }

    fn register_read(&mut self, args: &Args<'_>) -> Answer {
        let (register, _) = self.register(args)?;
        let index = within(args.number(3)?, register.size.into())?;
        let cells = self.cells(&register, Some(index))?;
        cells.into_iter().next().map_or_else(|| declared(REGISTER_ERROR, "the register has no value"), Ok)
    }

    fn register_read_all(&mut self, args: &Args<'_>) -> Answer {
        let (register, _) = self.register(args)?;
        Ok(Value::List(Type::I64, self.cells(&register, None)?))
    }

    fn register_write(&mut self, args: &Args<'_>) -> Answer {
        let (register, bits) = self.register(args)?;
        let index = within(args.number(3)?, register.size.into())?;
        self.write_registers(&register, index..index + 1, args.number(4)?, bits)
    }

    /// The end is not part of the range.
    fn register_write_range(&mut self, args: &Args<'_>) -> Answer {
        let (register, bits) = self.register(args)?;
        let (start, end) = (args.number(3)?, args.number(4)?);
        if start < 0 || end < start || end > register.size.into() {
            return declared(INVALID_INDEX, format!("there are {} cells", register.size));
        }
        self.write_registers(&register, start..end, args.number(5)?, bits)
    }

    fn register_reset(&mut self, args: &Args<'_>) -> Answer {
        let (register, bits) = self.register(args)?;
        self.write_registers(&register, 0..register.size.into(), 0, bits)
    }

    fn write_registers(
        &mut self,
        register: &Register,
        range: std::ops::Range<i64>,
        value: i64,
        bits: i32,
    ) -> Answer {
        // Numbers wrap, as in BMv2; those below zero fill all bits.
        let all = match value < 0 {
            true => ones(bits.max(64)) ^ BigUint::from((!value) as u64),
            false => BigUint::from(value as u64),
        };
        let bytes = shortest(&(all & ones(bits)).to_bytes_be());
        let cell = |index| {
            let data = match is_bool(register) {
                true => p4_data::Data::Bool(value & 1 == 1),
                false => p4_data::Data::Bitstring(bytes.clone()),
            };
            let data = Some(P4Data { data: Some(data) });
            Of::RegisterEntry(RegisterEntry { register_id: register.id(), index: at(index), data })
        };
        self.write_cells(range, REGISTER_ERROR, cell)
    }

    fn set_members(&mut self, args: &Args<'_>) -> Answer<(ValueSet, Vec<ValueSetMember>)> {
        let set = named(find(&self.info.value_sets, args.text(2)?), "value set", args)?;
        let query = ValueSetEntry { value_set_id: set.id(), members: vec![] };
        let found =
            self.read(Of::ValueSetEntry(query)).or_else(|status| declared(VALUE_SET_ERROR, why(&status)))?;
        let members = found.into_iter().filter_map(|of| match of {
            Of::ValueSetEntry(entry) => Some(entry.members),
            _ => None,
        });
        Ok((set, members.flatten().collect()))
    }

    /// Adds a value, removes one, or removes all.
    fn value_set(&mut self, args: &Args<'_>, how: Option<bool>) -> Answer {
        let (set, mut members) = self.set_members(args)?;
        match how {
            None => members.clear(),
            Some(is_added) => {
                let value = number(args.bytes(3)?);
                members.retain(|member| member_number(&set, member) != value);
                if is_added {
                    members.push(member_of(&set, value));
                }
            }
        }
        let entry = ValueSetEntry { value_set_id: set.id(), members };
        self.write(update::Type::Modify, Of::ValueSetEntry(entry))
            .or_else(|status| declared(VALUE_SET_ERROR, why(&status)))?;
        VOID
    }

    fn value_set_get(&mut self, args: &Args<'_>) -> Answer {
        let (set, members) = self.set_members(args)?;
        let bits = set.r#match.iter().map(|field| field.bitwidth).sum();
        let value =
            |member| Value::String(padded(&shortest(&member_number(&set, member).to_bytes_be()), bits));
        Ok(Value::List(Type::String, members.iter().map(value).collect()))
    }
}

fn named<T: Clone>(found: Option<&T>, kind: &str, args: &Args<'_>) -> Answer<T> {
    match found {
        Some(found) => Ok(found.clone()),
        None => declared(INVALID_NAME, format!("there is no {kind} `{}`", args.text(2)?)),
    }
}

fn within(index: i64, size: i64) -> Answer<i64> {
    match (0..size).contains(&index) {
        true => Ok(index),
        false => declared(INVALID_INDEX, format!("there are {size} cells, and no cell {index}")),
    }
}

fn bad_rates() -> Answer {
    declared(BAD_RATES_LIST, "a meter has two rates, the first not above the second")
}

fn is_bool(register: &Register) -> bool {
    use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
    let spec = register.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref());
    matches!(spec, Some(TypeSpec::Bool(_)))
}

/// The last 64 bits.
fn cell_value(data: Option<&P4Data>) -> i64 {
    match data.and_then(|data| data.data.as_ref()) {
        Some(p4_data::Data::Bitstring(bytes)) => {
            bytes.iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
        }
        Some(p4_data::Data::Bool(value)) => (*value).into(),
        _ => 0,
    }
}

/// The fields of a member as one number, the first in the highest bits.
fn member_number(set: &ValueSet, member: &ValueSetMember) -> BigUint {
    set.r#match.iter().fold(BigUint::ZERO, |all, field| {
        let found = member.r#match.iter().find(|found| found.field_id == field.id);
        let value = match found.and_then(|found| found.field_match_type.as_ref()) {
            Some(FieldMatchType::Exact(Exact { value }) | FieldMatchType::Ternary(Ternary { value, .. })) => {
                number(value)
            }
            _ => BigUint::ZERO,
        };
        (all << u32::try_from(field.bitwidth).unwrap_or(0)) | value
    })
}

fn member_of(set: &ValueSet, mut value: BigUint) -> ValueSetMember {
    let mut fields = vec![];
    for field in set.r#match.iter().rev() {
        let one = shortest(&(&value & ones(field.bitwidth)).to_bytes_be());
        value >>= u32::try_from(field.bitwidth).unwrap_or(0);
        let of = match crate::catalog::key_kind(field) {
            crate::catalog::KeyKind::Ternary => {
                FieldMatchType::Ternary(Ternary { value: one, mask: ones(field.bitwidth).to_bytes_be() })
            }
            _ => FieldMatchType::Exact(Exact { value: one }),
        };
        fields.push(FieldMatch { field_id: field.id, field_match_type: Some(of) });
    }
    fields.reverse();
    ValueSetMember { r#match: fields }
}
