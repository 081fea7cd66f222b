//! The entries that stand in the source, as updates (P4Runtime 1.5, section 9.1).

use crate::action::param_ids;
use crate::bytes::padded;
use crate::describe::Describer;
use crate::table::{constant, match_keys};
use crate::types;
use base_bits::Bits;
use base_diag::{Diagnostic, Span, codes::elaborate as codes};
use ir::{Control, Entry, Expr, Keyset, MatchKind, Name, Program, Table, TableKey};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Action, Entity, FieldMatch, TableAction, TableEntry, Update, WriteRequest,
    action::Param,
    entity,
    field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary},
    table_action, update,
};

/// One insertion for each entry of each table that is described, in order.
pub(crate) fn entries(program: &Program, info: &P4Info) -> Result<WriteRequest, Vec<Diagnostic>> {
    let describer = Describer::new(program);
    let mut updates = vec![];
    let mut wrong = vec![];
    for (control, table) in describer.used_tables() {
        let ids = Ids { program, info, control };
        let count = table.entries.len();
        for (index, entry) in table.entries.iter().enumerate() {
            match table_entry(&ids, table, entry, count - index) {
                Ok(entry) => updates.push(Update {
                    r#type: update::Type::Insert as i32,
                    entity: Some(Entity { entity: Some(entity::Entity::TableEntry(entry)) }),
                }),
                Err(diagnostic) => wrong.push(diagnostic),
            }
        }
    }
    if wrong.is_empty() { Ok(WriteRequest { updates, ..Default::default() }) } else { Err(wrong) }
}

struct Ids<'a> {
    program: &'a Program,
    info: &'a P4Info,
    control: &'a Control,
}

impl Ids<'_> {
    fn table(&self, name: &Name) -> u32 {
        let preambles = self.info.tables.iter().filter_map(|t| t.preamble.as_ref());
        preambles.filter(|p| p.name == *name).map(|p| p.id).next().unwrap_or(0)
    }

    fn action(&self, name: &Name) -> u32 {
        let preambles = self.info.actions.iter().filter_map(|a| a.preamble.as_ref());
        preambles.filter(|p| p.name == *name).map(|p| p.id).next().unwrap_or(0)
    }
}

/// `from_last` is 1 for the last entry of its table: the priority where the source's order decides.
fn table_entry(
    ids: &Ids<'_>,
    table: &Table,
    entry: &Entry,
    from_last: usize,
) -> Result<TableEntry, Diagnostic> {
    let ranked = table
        .keys
        .iter()
        .any(|key| matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional));
    let priority = match (ranked, table.const_entries) {
        (false, _) => 0,
        (true, true) => i32::try_from(from_last).unwrap_or(i32::MAX),
        (true, false) => entry.priority.and_then(|p| i32::try_from(p).ok()).unwrap_or(0),
    };
    Ok(TableEntry {
        table_id: ids.table(&table.control_plane_name),
        r#match: matches(ids, table, entry)?,
        action: Some(TableAction { r#type: Some(table_action::Type::Action(action(ids, table, entry)?)) }),
        priority,
        is_const: table.const_entries || entry.is_const,
        ..Default::default()
    })
}

fn action(ids: &Ids<'_>, table: &Table, entry: &Entry) -> Result<Action, Diagnostic> {
    let run = table.actions.get(entry.action as usize);
    let Some(action) = run.and_then(|run| ids.control.actions.get(run.action.index())) else {
        return Ok(Action::default());
    };
    let mut params = vec![];
    for (param_id, value) in param_ids(ids.control, action).into_iter().zip(&entry.args) {
        let value = types::value(ids.program, &value.ty, &known(value, entry.span)?);
        params.push(Param { param_id, value });
    }
    Ok(Action { action_id: ids.action(&action.control_plane_name), params })
}

fn matches(ids: &Ids<'_>, table: &Table, entry: &Entry) -> Result<Vec<FieldMatch>, Diagnostic> {
    let mut matches = vec![];
    let keys = match_keys(table);
    let is_matched: Vec<bool> = table.keys.iter().map(|k| k.match_kind != MatchKind::Selector).collect();
    let sets = entry.keys.iter().zip(is_matched).filter(|(_, matched)| *matched).map(|(set, _)| set);
    for ((field_id, key), set) in keys.into_iter().zip(sets) {
        if let Some(found) = field_match(ids, key, set, entry.span)? {
            matches.push(FieldMatch { field_id, field_match_type: Some(found) });
        }
    }
    Ok(matches)
}

/// Match of an entry on one field; `None` if the field may be anything.
fn field_match(
    ids: &Ids<'_>,
    key: &TableKey,
    set: &Keyset,
    span: Span,
) -> Result<Option<FieldMatchType>, Diagnostic> {
    let (low, high, mask) = match set {
        Keyset::DontCare => return Ok(None),
        Keyset::Value(value) => {
            let value = known(value, span)?;
            let ones = Bits::ones(value.width());
            (value.clone(), value, ones)
        }
        Keyset::Mask(value, mask) => {
            let (value, mask) = (known(value, span)?, known(mask, span)?);
            let value = value.and(&mask);
            (value.clone(), value, mask)
        }
        Keyset::Range(low, high) => {
            let (low, high) = (known(low, span)?, known(high, span)?);
            let ones = Bits::ones(low.width());
            (low, high, ones)
        }
        Keyset::ValueSet(_) => return Ok(None),
    };
    let value = types::value(ids.program, &key.expr.ty, &low);
    Ok(match &key.match_kind {
        MatchKind::Exact => Some(FieldMatchType::Exact(Exact { value })),
        MatchKind::Optional => Some(FieldMatchType::Optional(Optional { value })),
        // A match of any value is left out (P4Runtime 1.5, section 9.1.1).
        MatchKind::Ternary if mask.is_zero() => None,
        MatchKind::Ternary => Some(FieldMatchType::Ternary(Ternary { value, mask: padded(&mask) })),
        MatchKind::Lpm => match mask.prefix_len() {
            Some(0) => None,
            Some(length) => {
                let prefix_len = i32::try_from(length).unwrap_or(i32::MAX);
                Some(FieldMatchType::Lpm(Lpm { value, prefix_len }))
            }
            None => return Err(unsaid("the mask of an lpm key is no prefix", span)),
        },
        MatchKind::Range if low.is_zero() && high.is_ones() => None,
        MatchKind::Range => Some(FieldMatchType::Range(Range { low: value, high: padded(&high) })),
        MatchKind::Selector => None,
        MatchKind::Other(name) => {
            return Err(unsaid(&format!("P4Runtime has no form for matches of kind `{name}`"), span));
        }
    })
}

fn known(value: &Expr, span: Span) -> Result<Bits, Diagnostic> {
    constant(value).ok_or_else(|| unsaid("this value has no bits that P4Runtime could carry", span))
}

fn unsaid(why: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::P4RUNTIME_ENTRY, "an entry that P4Runtime cannot express").at(span, why)
}
