//! Entries of tables as BMv2's clients write and read them.
//!
//! BMv2 prefers the entry with the lowest priority, P4Runtime the one with the highest: one is 2^31 - 1 minus the other.

use crate::call::{Answer, Args, declared};
use crate::catalog::{KeyKind, Named, actions, by_id, find, has_priorities, is_optional, key_kind};
use crate::profiles::handle_of;
use crate::value::{number, ones, padded, prefix, shortest};
use crate::wire::{Fields, Type, Value};
use p4runtime_proto::p4::config::v1::{self as config, MatchField, P4Info, Table};
use p4runtime_proto::p4::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
use p4runtime_proto::p4::v1::{Action, FieldMatch, TableAction, TableEntry, action, table_action};

/// Codes of `TableOperationErrorCode`.
pub mod error {
    #![allow(missing_docs)]
    pub const TABLE_FULL: i32 = 1;
    pub const INVALID_HANDLE: i32 = 2;
    pub const COUNTERS_DISABLED: i32 = 4;
    pub const METERS_DISABLED: i32 = 5;
    pub const AGEING_DISABLED: i32 = 6;
    pub const INVALID_TABLE_NAME: i32 = 7;
    pub const INVALID_ACTION_NAME: i32 = 8;
    pub const WRONG_TABLE_TYPE: i32 = 9;
    pub const INVALID_MBR_HANDLE: i32 = 10;
    pub const MBR_STILL_USED: i32 = 11;
    pub const MBR_ALREADY_IN_GRP: i32 = 12;
    pub const MBR_NOT_IN_GRP: i32 = 13;
    pub const INVALID_GRP_HANDLE: i32 = 14;
    pub const GRP_STILL_USED: i32 = 15;
    pub const DUPLICATE_ENTRY: i32 = 17;
    pub const BAD_MATCH_KEY: i32 = 18;
    pub const DEFAULT_ACTION_IS_CONST: i32 = 20;
    pub const DEFAULT_ENTRY_IS_CONST: i32 = 21;
    pub const INVALID_ACTION_PROFILE_NAME: i32 = 23;
    pub const NO_ACTION_PROFILE_SELECTION: i32 = 24;
    pub const IMMUTABLE_TABLE_ENTRIES: i32 = 25;
    pub const BAD_ACTION_DATA: i32 = 26;
    pub const ERROR: i32 = 100;
}

/// The action with this name and data; `allowed` says which there are.
pub fn action<'i>(
    mut allowed: impl Iterator<Item = &'i config::Action>,
    info: &'i P4Info,
    name: &str,
    data: &[&[u8]],
) -> Answer<Action> {
    let named = find(&info.actions, name);
    let Some(action) = named.filter(|named| allowed.any(|action| action.id() == named.id())) else {
        return declared(error::INVALID_ACTION_NAME, format!("the table has no action `{name}`"));
    };
    if action.params.len() != data.len() {
        let why = format!("`{name}` takes {} values, not {}", action.params.len(), data.len());
        return declared(error::BAD_ACTION_DATA, why);
    }
    let param = |(param, value): (&config::action::Param, &&[u8])| action::Param {
        param_id: param.id,
        value: shortest(value),
    };
    let params = action.params.iter().zip(data).map(param).collect();
    Ok(Action { action_id: action.id(), params })
}

/// Name and data of an action.
pub fn action_value(info: &P4Info, action: &Action) -> (Value, Value) {
    let Some(known) = by_id(&info.actions, action.action_id) else {
        return (Value::text(""), Value::List(Type::String, vec![]));
    };
    let data = known.params.iter().map(|param| {
        let given = action.params.iter().find(|given| given.param_id == param.id);
        Value::String(padded(given.map_or(&[][..], |given| &given.value), param.bitwidth))
    });
    (Value::text(known.name()), Value::List(Type::String, data.collect()))
}

/// The key of an entry: a `TableEntry` with nothing but its table, matches and priority.
pub fn key(table: &Table, given: &[Args<'_>], priority: i64) -> Answer<TableEntry> {
    if given.len() != table.match_fields.len() {
        let why = format!("`{}` has {} keys, not {}", table.name(), table.match_fields.len(), given.len());
        return declared(error::BAD_MATCH_KEY, why);
    }
    let matches = table.match_fields.iter().zip(given).map(|(field, given)| field_match(field, given));
    let matches: Answer<Vec<Option<FieldMatch>>> = matches.collect();
    let priority = match has_priorities(table) {
        true => match i32::try_from(i64::from(i32::MAX) - priority) {
            Ok(priority) if priority > 0 => priority,
            _ => return declared(error::BAD_MATCH_KEY, format!("priority {priority} is out of range")),
        },
        false => 0,
    };
    Ok(TableEntry {
        table_id: table.id(),
        r#match: matches?.into_iter().flatten().collect(),
        priority,
        ..TableEntry::default()
    })
}

/// One key; `None` if it matches anything.
fn field_match(field: &MatchField, given: &Args<'_>) -> Answer<Option<FieldMatch>> {
    let wrong = |why: &str| declared(error::BAD_MATCH_KEY, format!("key `{}`: {why}", field.name));
    let kind = key_kind(field);
    let given_kind = given.number(1)?;
    // A key of one bit that says whether a header is there has a kind of its own in BMv2.
    if given_kind == 3 && kind == KeyKind::Exact {
        let value = vec![given.fields(5)?.bool(1)?.into()];
        return Ok(Some(FieldMatch {
            field_id: field.id,
            field_match_type: Some(FieldMatchType::Exact(Exact { value })),
        }));
    }
    if given_kind != kind as i64 {
        return wrong(&format!("it is of kind {}", kind.name()));
    }
    let bits = field.bitwidth;
    let bytes = |n: base_bits::num_bigint::BigUint| shortest(&n.to_bytes_be());
    let fits = |value: &[u8]| number(value) <= ones(bits);
    let one = match kind {
        KeyKind::Exact => {
            let value = given.fields(2)?.bytes(1)?;
            Some(FieldMatchType::Exact(Exact { value: shortest(value) })).filter(|_| fits(value)).map(Some)
        }
        KeyKind::Lpm => {
            let lpm = given.fields(3)?;
            let (value, length) = (lpm.bytes(1)?, lpm.number(2)?);
            let length = i32::try_from(length).ok().filter(|length| (0..=bits).contains(length));
            let Some(length) = length else { return wrong(&format!("prefixes have 0 to {bits} bits")) };
            let value_of = || Lpm { value: bytes(number(value) & prefix(length, bits)), prefix_len: length };
            fits(value).then(|| (length > 0).then(|| FieldMatchType::Lpm(value_of())))
        }
        KeyKind::Ternary => {
            let ternary = given.fields(4)?;
            let (value, mask) = (ternary.bytes(1)?, ternary.bytes(2)?);
            let mask_of = number(mask);
            if is_optional(field) && mask_of != ones(bits) && mask_of != number(&[]) {
                return wrong("it matches all bits or none");
            }
            let one = || match is_optional(field) {
                true => FieldMatchType::Optional(Optional { value: shortest(value) }),
                false => FieldMatchType::Ternary(Ternary {
                    value: bytes(number(value) & &mask_of),
                    mask: shortest(mask),
                }),
            };
            (fits(value) && fits(mask)).then(|| (mask_of != number(&[])).then(one))
        }
        KeyKind::Range => {
            let range = given.fields(6)?;
            let (low, high) = (range.bytes(1)?, range.bytes(2)?);
            let is_all = number(low) == number(&[]) && number(high) == ones(bits);
            let one = || FieldMatchType::Range(Range { low: shortest(low), high: shortest(high) });
            (fits(low) && fits(high)).then(|| (!is_all).then(one))
        }
    };
    match one {
        Some(one) => Ok(one.map(|one| FieldMatch { field_id: field.id, field_match_type: Some(one) })),
        None => wrong(&format!("a value has more than {bits} bits")),
    }
}

/// `BmMatchParams` of an entry.
pub fn match_values(table: &Table, entry: &TableEntry) -> Value {
    let one = |field: &MatchField| {
        let found = entry.r#match.iter().find(|found| found.field_id == field.id);
        let bits = field.bitwidth;
        let all = |bytes: &[u8]| Value::String(padded(bytes, bits));
        let every = ones(bits).to_bytes_be();
        let kind = key_kind(field);
        let (id, fields) = match found.and_then(|found| found.field_match_type.as_ref()) {
            Some(FieldMatchType::Exact(exact)) => (2, vec![(1, all(&exact.value))]),
            Some(FieldMatchType::Lpm(lpm)) => {
                (3, vec![(1, all(&lpm.value)), (2, Value::I32(lpm.prefix_len))])
            }
            Some(FieldMatchType::Ternary(ternary)) => {
                (4, vec![(1, all(&ternary.value)), (2, all(&ternary.mask))])
            }
            // BMv2 has no optional match: a ternary one on all bits.
            Some(FieldMatchType::Optional(optional)) => {
                (4, vec![(1, all(&optional.value)), (2, all(&every))])
            }
            Some(FieldMatchType::Range(range)) => (6, vec![(1, all(&range.low)), (2, all(&range.high))]),
            // A field that P4Runtime leaves out matches any value.
            _ => match kind {
                KeyKind::Exact => (2, vec![(1, all(&[]))]),
                KeyKind::Lpm => (3, vec![(1, all(&[])), (2, Value::I32(0))]),
                KeyKind::Ternary => (4, vec![(1, all(&[])), (2, all(&[]))]),
                KeyKind::Range => (6, vec![(1, all(&[])), (2, all(&every))]),
            },
        };
        Value::Struct(vec![(1, Value::I32(kind as i32)), (id, Value::Struct(fields))])
    };
    Value::List(Type::Struct, table.match_fields.iter().map(one).collect())
}

/// `BmActionEntry` of an entry's action.
pub fn run_value(info: &P4Info, run: Option<&TableAction>) -> Value {
    use table_action::Type as Run;
    Value::Struct(match run.and_then(|run| run.r#type.as_ref()) {
        Some(Run::Action(action)) => {
            let (name, data) = action_value(info, action);
            vec![(1, Value::I32(1)), (2, name), (3, data)]
        }
        Some(Run::ActionProfileMemberId(member)) => {
            vec![(1, Value::I32(2)), (4, Value::I32(handle_of(*member) as i32))]
        }
        Some(Run::ActionProfileGroupId(group)) => {
            vec![(1, Value::I32(3)), (5, Value::I32(handle_of(*group) as i32))]
        }
        Some(Run::ActionProfileActionSet(_)) | None => vec![(1, Value::I32(0))],
    })
}

/// `BmMtEntry`.
pub fn entry_value(info: &P4Info, table: &Table, handle: u32, entry: &TableEntry) -> Value {
    let priority = if has_priorities(table) { i32::MAX - entry.priority } else { -1 };
    let mut fields: Fields = vec![
        (1, match_values(table, entry)),
        (2, Value::Struct(vec![(1, Value::I32(priority))])),
        (3, Value::I32(handle as i32)),
        (4, run_value(info, entry.action.as_ref())),
    ];
    if table.idle_timeout_behavior != 0 {
        let ms = |ns: i64| Value::I32(i32::try_from(ns / 1_000_000).unwrap_or(i32::MAX));
        let since = entry.time_since_last_hit.as_ref().map_or(0, |since| since.elapsed_ns);
        fields.push((5, Value::Struct(vec![(1, ms(entry.idle_timeout_ns)), (2, ms(since))])));
    }
    Value::Struct(fields)
}

/// The actions that entries of a table may run.
pub fn action_of(info: &P4Info, table: &Table, name: &str, data: &[&[u8]]) -> Answer<TableAction> {
    let action = action(actions(info, table), info, name, data)?;
    Ok(TableAction { r#type: Some(table_action::Type::Action(action)) })
}

/// The default entry of a table.
pub fn default_entry(table: &Table, action: Option<TableAction>) -> TableEntry {
    TableEntry { table_id: table.id(), action, is_default_action: true, ..TableEntry::default() }
}
