//! A rack's own entries as P4Runtime updates of the whole program.

use crate::entries::Entries;
use base_bits::Bits;
use base_diag::{Diagnostic, codes::emulate as codes};
use ir::{MatchKind, Program};
use ir_interp::{KeyMatch, ResolvedEntry};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Action, Entity, FieldMatch, TableAction, TableEntry, Update, action::Param, entity::Entity as Kind,
    field_match, field_match::FieldMatchType, table_action, update::Type,
};
use p4runtime_store::Described;

/// The updates that write a rack's entries.
pub fn updates(entries: &Entries, whole: &Program) -> Result<Vec<Update>, Vec<Diagnostic>> {
    if entries.replication().next().is_some() {
        return Err(vec![
            Diagnostic::error(codes::NOT_AN_ENTRY, "groups and sessions are not written here")
                .note("the rack's entries make multicast groups or clone sessions")
                .help("take them out of the file, and let a controller write them"),
        ]);
    }
    let info = p4info::p4info(whole)?;
    entries.resolved().iter().map(|entry| update(entry, &info)).collect::<Result<_, _>>().map_err(|d| vec![d])
}

fn update(entry: &ResolvedEntry, info: &P4Info) -> Result<Update, Diagnostic> {
    let unknown = |what: &str, name: &str| {
        Diagnostic::error(codes::NOT_AN_ENTRY, format!("control planes do not know {what} `{name}`"))
            .note("what can never run is not in the P4Info")
            .help("take its entries out of the file")
    };
    let table = info.tables.iter().find(|table| table.name() == entry.table);
    let table = table.ok_or_else(|| unknown("table", &entry.table))?;
    let action = info.actions.iter().find(|action| action.name() == entry.action);
    let action = action.ok_or_else(|| unknown("action", &entry.action))?;
    let params = action.params.iter().zip(&entry.args);
    let params = params.map(|(param, arg)| Param { param_id: param.id, value: bytes(arg) }).collect();
    let action = Action { action_id: action.id(), params };
    let keys = entry.keys.as_deref().unwrap_or_default();
    let matched = keys.iter().filter(|(kind, ..)| *kind != MatchKind::Selector);
    let fields = table.match_fields.iter().zip(matched);
    let fields = fields.filter_map(|(field, (kind, width, key))| {
        let found = field_match(kind, *width, key)?;
        Some(FieldMatch { field_id: field.id, field_match_type: Some(found) })
    });
    let ranked = keys
        .iter()
        .any(|(kind, ..)| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional));
    // Ranks begin at 0 in files and at 1 in P4Runtime; there too the larger wins.
    let rank = i32::try_from(entry.priority.unwrap_or(0).saturating_add(1)).unwrap_or(i32::MAX);
    let entry = TableEntry {
        table_id: table.id(),
        r#match: fields.collect(),
        action: Some(TableAction { r#type: Some(table_action::Type::Action(action)) }),
        priority: if ranked { rank } else { 0 },
        is_default_action: entry.keys.is_none(),
        ..TableEntry::default()
    };
    let how = if entry.is_default_action { Type::Modify } else { Type::Insert };
    Ok(Update { r#type: how as i32, entity: Some(Entity { entity: Some(Kind::TableEntry(entry)) }) })
}

/// `None` where anything matches.
fn field_match(kind: &MatchKind, width: u32, key: &KeyMatch) -> Option<FieldMatchType> {
    Some(match (kind, key) {
        (_, KeyMatch::Any) => return None,
        (MatchKind::Ternary, KeyMatch::Exact(value)) => FieldMatchType::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(&Bits::ones(width)),
        }),
        (MatchKind::Lpm, KeyMatch::Exact(value)) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(width).unwrap_or(i32::MAX),
        }),
        (MatchKind::Range, KeyMatch::Exact(value)) => {
            FieldMatchType::Range(field_match::Range { low: bytes(value), high: bytes(value) })
        }
        (MatchKind::Optional, KeyMatch::Exact(value)) => {
            FieldMatchType::Optional(field_match::Optional { value: bytes(value) })
        }
        (_, KeyMatch::Exact(value)) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        (_, KeyMatch::Ternary { mask, .. }) if mask.is_zero() => return None,
        (_, KeyMatch::Ternary { value, mask }) => {
            let value = bytes(&value.and(mask));
            FieldMatchType::Ternary(field_match::Ternary { value, mask: bytes(mask) })
        }
        (_, KeyMatch::Lpm { prefix_len: 0, .. }) => return None,
        (_, KeyMatch::Lpm { value, prefix_len }) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
        }),
        (_, KeyMatch::Range { lo, hi }) => {
            FieldMatchType::Range(field_match::Range { low: bytes(lo), high: bytes(hi) })
        }
    })
}

fn bytes(value: &Bits) -> Vec<u8> {
    value.to_biguint().to_bytes_be()
}
