//! Registers, counters, meters and value sets (P4Runtime 1.5, sections 9.3 to 9.8).

use crate::catalog::{Catalog, Described};
use crate::desired::Desired;
use crate::fault::{Result, Within, fault, not_supported};
use crate::matches::{matches, number};
use base_bits::num_bigint::BigUint;
use base_diag::Span;
use p4_entries::{Named, Rate, Statement, Value};
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::{Meter, Register};
use p4runtime_proto::p4::v1::{
    CounterEntry, Index, MeterConfig, MeterEntry, RegisterEntry, ValueSetEntry, p4_data::Data, update::Type,
};

fn named(thing: &impl Described, span: Span) -> Named {
    Named { text: thing.name().to_string(), span }
}

/// Which cell of how many.
fn cell(index: Option<&Index>, size: i64) -> Result<u64> {
    let Some(index) = index else { return fault("a write without an index", "it is to one cell") };
    match u64::try_from(index.index) {
        Ok(cell) if index.index < size => Ok(cell),
        _ => fault("there is no such cell", format!("there are {size}, from 0 on"))
            .within("index")
            .within("index"),
    }
}

fn unsigned(value: i64, field: &'static str) -> Result<u64> {
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => fault("a negative number", "it counts from 0").within(field),
    }
}

pub(crate) fn counter(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &CounterEntry,
    span: Span,
) -> Result<()> {
    let counter = catalog.counter(entry.counter_id)?;
    let written = || {
        let index = cell(entry.index.as_ref(), counter.size)?;
        let data = entry.data.unwrap_or_default();
        let packets = unsigned(data.packet_count, "packet_count").within("data")?;
        let bytes = unsigned(data.byte_count, "byte_count").within("data")?;
        Ok((index, Statement::Counter { name: named(counter, span), index, packets, bytes, span }))
    };
    let owner = || format!("counter `{}`", counter.name());
    let (index, made) = written().about(owner)?;
    desired.set(how, format!("counter {} {index}", entry.counter_id), vec![made]).about(owner)
}

pub(crate) fn meter(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &MeterEntry,
    span: Span,
) -> Result<()> {
    let meter = catalog.meter(entry.meter_id)?;
    let owner = || format!("meter `{}`", meter.name());
    let (index, made) = rates(meter, entry, span).about(owner)?;
    desired.set(how, format!("meter {} {index}", entry.meter_id), made).about(owner)
}

fn rates(meter: &Meter, entry: &MeterEntry, span: Span) -> Result<(u64, Vec<Statement>)> {
    let index = cell(entry.index.as_ref(), meter.size)?;
    if entry.counter_data.is_some() {
        return not_supported("counters of meters").within("counter_data");
    }
    let Some(config) = &entry.config else { return Ok((index, vec![])) };
    let (committed, peak) = two_rates(config).within("config")?;
    Ok((
        index,
        vec![Statement::Meter { name: named(meter, span), index: Some(index), committed, peak, span }],
    ))
}

fn two_rates(config: &MeterConfig) -> Result<(Rate, Rate)> {
    if config.eburst != 0 {
        return not_supported("meters with an excess burst").within("eburst");
    }
    let rate = |per_second, field, burst, burst_field| {
        // Units a second, in 10^9 microseconds.
        let scaled = unsigned(per_second, field)?.checked_mul(1000);
        let Some(per_gigamicrosecond) = scaled else {
            return fault("a rate that is too large", "it is counted in 1000 seconds").within(field);
        };
        Ok(Rate { per_gigamicrosecond, burst: unsigned(burst, burst_field)? })
    };
    let committed = rate(config.cir, "cir", config.cburst, "cburst")?;
    let peak = rate(config.pir, "pir", config.pburst, "pburst")?;
    Ok((committed, peak))
}

pub(crate) fn register(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &RegisterEntry,
    span: Span,
) -> Result<()> {
    let register = catalog.register(entry.register_id)?;
    let owner = || format!("register `{}`", register.name());
    let written = || {
        let index = cell(entry.index.as_ref(), i64::from(register.size))?;
        let data = entry.data.as_ref().and_then(|data| data.data.as_ref());
        let value = Value { value: data_value(catalog, register, data).within("data")?, span };
        Ok((index, Statement::Register { name: named(register, span), index, value }))
    };
    let (index, made) = written().about(owner)?;
    desired.set(how, format!("register {} {index}", entry.register_id), vec![made]).about(owner)
}

fn data_value(catalog: &Catalog<'_>, register: &Register, data: Option<&Data>) -> Result<BigUint> {
    let spec = register.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref());
    match (spec, data) {
        (_, None) => fault("a register without a value", "nothing says what it becomes"),
        (Some(TypeSpec::Bitstring(spec)), Some(Data::Bitstring(bytes))) => {
            let bits = match &spec.type_spec {
                Some(Bitstring::Bit(bit)) => bit.bitwidth,
                Some(Bitstring::Int(int)) => int.bitwidth,
                _ => return not_supported("registers of varbit"),
            };
            number(catalog, bytes, bits, None).within("bitstring")
        }
        (Some(TypeSpec::Bool(_)), Some(Data::Bool(value))) => Ok(BigUint::from(u8::from(*value))),
        (Some(TypeSpec::Bitstring(_)), _) => {
            fault("a value of another type", "the register has bits: `bitstring`")
        }
        (Some(TypeSpec::Bool(_)), _) => {
            fault("a value of another type", "the register has truth values: `bool`")
        }
        _ => not_supported("registers of other types than bits and truth values"),
    }
}

pub(crate) fn value_set(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &ValueSetEntry,
    span: Span,
) -> Result<()> {
    let set = catalog.value_set(entry.value_set_id)?;
    let owner = || format!("value set `{}`", set.name());
    let size = usize::try_from(set.size).unwrap_or(0);
    if entry.members.len() > size {
        return fault("too many members", format!("the set holds {size}")).at("members", size).about(owner);
    }
    let mut made = vec![];
    for (index, member) in entry.members.iter().enumerate() {
        let found = matches(catalog, &set.r#match, &member.r#match).at("members", index).about(owner)?;
        let member = found.into_iter().map(|value| Value { value, span }).collect();
        made.push(Statement::ValueSet { name: named(set, span), member, span });
    }
    desired.set(how, format!("value set {}", entry.value_set_id), made).about(owner)
}
