//! Counters, meters, registers, value sets and digests (P4Runtime 1.5, sections 9.3 to 9.8).

use crate::catalog::Described;
use crate::change::{Change, DefaultEntry, Entry};
use crate::fault::{Result, Within, fault, not_supported};
use crate::key::key;
use crate::presence::{only_modified, presence};
use crate::store::Store;
use crate::{data, matches};
use control_writes::{Count, DigestConfig, EntryKey, Match, Rate, Rates};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::{MeterSpec, meter_spec};
use p4runtime_proto::p4::v1::{
    self, CounterData, CounterEntry, DigestEntry, DirectCounterEntry, DirectMeterEntry, Index, MeterConfig,
    MeterEntry, RegisterEntry, TableEntry, ValueSetEntry, update::Type,
};
use std::ops::Range;

/// The most cells that one message reads or writes: more are refused rather than held in memory.
const MOST_CELLS: u64 = 1 << 22;

/// Range of cells that an index names among `size` cells; without an index, all.
pub(crate) fn cells(index: Option<&Index>, size: i64) -> Result<Range<u64>> {
    let size = u64::try_from(size).unwrap_or(0);
    match index {
        None if size > MOST_CELLS => fault(
            "too many cells in one update",
            format!("the object has {size} cells, and the limit is {MOST_CELLS}"),
        )
        .code(Code::ResourceExhausted),
        None => Ok(0..size),
        Some(index) => match u64::try_from(index.index) {
            Ok(cell) if cell < size => Ok(cell..cell + 1),
            Ok(_) => {
                fault("the index is out of range", format!("the object has {size} cells, numbered from 0"))
                    .code(Code::OutOfRange)
            }
            Err(_) => fault("the index is negative", "cells are numbered from 0"),
        }
        // The message `Index` has a field `index`.
        .within("index")
        .within("index"),
    }
}

fn unsigned(value: i64, field: &'static str) -> Result<u64> {
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => fault("the number is negative", "it must be 0 or more").within(field),
    }
}

/// A counter's value.
pub(crate) fn count(data: &CounterData) -> Result<Count> {
    Ok(Count {
        packets: unsigned(data.packet_count, "packet_count")?,
        bytes: unsigned(data.byte_count, "byte_count")?,
    })
}

pub(crate) fn plan_counter(store: &Store, how: Type, entry: &CounterEntry) -> Result<Vec<Change>> {
    let counter = store.catalog.counter(entry.counter_id)?;
    let changes = || {
        only_modified(how)?;
        let cells = cells(entry.index.as_ref(), counter.size)?;
        let Some(data) = &entry.data else { return Ok(vec![]) };
        let to = count(data).within("data")?;
        Ok(cells.map(|index| Change::Counter { counter: entry.counter_id, index, to }).collect())
    };
    changes().about(|| format!("counter `{}`", counter.name()))
}

/// The entry that a message about something direct names, which is there: an entry, or the default entry where it has such.
pub(crate) fn direct_entry(store: &Store, given: Option<&TableEntry>) -> Result<(u32, EntryKey)> {
    let Some(given) = given else {
        return fault("the table entry is missing", "it selects the direct object").within("table_entry");
    };
    let found = || {
        let table = store.catalog.table(given.table_id)?;
        let key = key(table, given)?;
        if given.is_default_action {
            store.catalog.may_count_misses()?;
        } else if store.entry(given.table_id, &key).is_none() {
            return fault("the entry does not exist", "no update has inserted it").code(Code::NotFound);
        }
        Ok((given.table_id, key))
    };
    found().within("table_entry")
}

pub(crate) fn plan_direct_counter(
    store: &Store,
    how: Type,
    entry: &DirectCounterEntry,
) -> Result<Vec<Change>> {
    only_modified(how)?;
    let (table, key) = direct_entry(store, entry.table_entry.as_ref())?;
    if store.catalog.direct_counter(table).is_none() {
        return fault("the table has no direct counter", "P4Info lists none for this table")
            .within("table_entry");
    }
    let Some(data) = &entry.data else { return Ok(vec![]) };
    let to = count(data).within("data")?;
    Ok(vec![Change::DirectCounter { table, key, to }])
}

pub(crate) fn plan_meter(store: &Store, how: Type, entry: &MeterEntry) -> Result<Vec<Change>> {
    let meter = store.catalog.meter(entry.meter_id)?;
    let changes = || {
        only_modified(how)?;
        if entry.counter_data.is_some() {
            return not_supported("meter counters").within("counter_data");
        }
        let cells = cells(entry.index.as_ref(), meter.size)?;
        let to = entry.config.as_ref().map(|config| rates(meter.spec.as_ref(), config).within("config"));
        let to = to.transpose()?;
        Ok(cells.map(|index| Change::Meter { meter: entry.meter_id, index, to }).collect())
    };
    changes().about(|| format!("meter `{}`", meter.name()))
}

pub(crate) fn plan_direct_meter(store: &Store, how: Type, entry: &DirectMeterEntry) -> Result<Change> {
    only_modified(how)?;
    if entry.counter_data.is_some() {
        return not_supported("meter counters").within("counter_data");
    }
    let (table, key) = direct_entry(store, entry.table_entry.as_ref())?;
    let Some(meter) = store.catalog.direct_meter(table) else {
        return fault("the table has no direct meter", "P4Info lists none for this table")
            .within("table_entry");
    };
    let config = entry.config.as_ref();
    let meter = config.map(|config| rates(meter.spec.as_ref(), config).within("config")).transpose()?;
    Ok(match store.entry(table, &key) {
        Some(known) => {
            let to = Some(Box::new(Entry { meter, ..known.clone() }));
            Change::Entry { table, key, to, count: None }
        }
        None => {
            let to = DefaultEntry { meter, ..store.default_entry(table).clone() };
            Change::Default { table, to: Box::new(to), count: None }
        }
    })
}

/// A meter's rates, as its kind wants them.
pub(crate) fn rates(spec: Option<&MeterSpec>, config: &MeterConfig) -> Result<Rates> {
    let kind = spec.map_or(meter_spec::Type::TwoRateThreeColor, MeterSpec::r#type);
    if config.eburst != 0 {
        return match kind {
            meter_spec::Type::SingleRateThreeColor => not_supported("meters with an excess burst"),
            _ => fault("the meter takes no excess burst", "only single-rate three-colour meters have one"),
        }
        .within("eburst");
    }
    let two = kind == meter_spec::Type::TwoRateThreeColor;
    if !two && (config.pir != config.cir || config.pburst != config.cburst) {
        return fault(
            "the meter has only one rate",
            "set `pir` and `pburst` to the values of `cir` and `cburst`",
        )
        .within("pir");
    }
    let rate = |rate, burst, fields: (&'static str, &'static str)| {
        Result::Ok(Rate::per_second(unsigned(rate, fields.0)?, unsigned(burst, fields.1)?))
    };
    let committed = rate(config.cir, config.cburst, ("cir", "cburst"))?;
    let peak = rate(config.pir, config.pburst, ("pir", "pburst"))?;
    if committed.per_gigamicrosecond > peak.per_gigamicrosecond {
        return fault("the committed rate is above the peak rate", "`cir` must not exceed `pir`")
            .within("cir");
    }
    Ok(Rates { committed, peak })
}

/// The rates as a message.
pub(crate) fn config(rates: &Rates) -> MeterConfig {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    MeterConfig {
        cir: number(rates.committed.in_seconds()),
        cburst: number(rates.committed.burst),
        pir: number(rates.peak.in_seconds()),
        pburst: number(rates.peak.burst),
        eburst: 0,
    }
}

pub(crate) fn plan_register(store: &Store, how: Type, entry: &RegisterEntry) -> Result<Vec<Change>> {
    let register = store.catalog.register(entry.register_id)?;
    let changes = || {
        only_modified(how)?;
        let cells = cells(entry.index.as_ref(), i64::from(register.size))?;
        let Some(given) = &entry.data else {
            return fault("the value is missing", "the update must give one").within("data");
        };
        let to = data::decode(&store.catalog, register.type_spec.as_ref(), given).within("data")?;
        let change = |index| Change::Register { register: entry.register_id, index, to: to.clone() };
        Ok(cells.map(change).collect())
    };
    changes().about(|| format!("register `{}`", register.name()))
}

pub(crate) fn plan_value_set(store: &Store, how: Type, entry: &ValueSetEntry) -> Result<Change> {
    let set = store.catalog.value_set(entry.value_set_id)?;
    let change = || {
        only_modified(how)?;
        let size = usize::try_from(set.size).unwrap_or(0);
        if entry.members.len() > size {
            return fault("too many members", format!("the value set holds {size}"))
                .code(Code::ResourceExhausted)
                .at("members", size);
        }
        let mut members = vec![];
        for (index, member) in entry.members.iter().enumerate() {
            members.push(member_of(set, &member.r#match, &members).at("members", index)?);
        }
        Ok(Change::ValueSet { set: entry.value_set_id, members })
    };
    change().about(|| format!("value set `{}`", set.name()))
}

fn member_of(
    set: &p4runtime_proto::p4::config::v1::ValueSet,
    given: &[p4runtime_proto::p4::v1::FieldMatch],
    before: &[Vec<Match>],
) -> Result<Vec<Match>> {
    let member = matches::decode(&set.r#match, given)?;
    if before.contains(&member) {
        return fault("the member is a duplicate", "an earlier member has the same match")
            .code(Code::AlreadyExists);
    }
    Ok(member)
}

/// The settings of a digest as a message.
pub(crate) fn digest_config(config: &DigestConfig) -> v1::digest_entry::Config {
    let DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns } = *config;
    v1::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns }
}

pub(crate) fn plan_digest(store: &Store, how: Type, entry: &DigestEntry) -> Result<Change> {
    let digest = store.catalog.digest(entry.digest_id)?;
    let change = || {
        presence(how, store.digest(entry.digest_id).is_some())?;
        if how == Type::Delete {
            return Ok(Change::Digest { digest: entry.digest_id, to: None });
        }
        let config = entry.config.unwrap_or_default();
        if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
            return fault("the number is negative", "times and sizes must be 0 or more").within("config");
        }
        let v1::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns } = config;
        let to = Some(DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns });
        Ok(Change::Digest { digest: entry.digest_id, to })
    };
    change().about(|| format!("digest `{}`", digest.name()))
}
