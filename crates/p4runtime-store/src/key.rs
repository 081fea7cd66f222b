//! Keys of table entries in messages.

use crate::catalog::Catalog;
use crate::fault::{Result, Within, fault};
use crate::matches;
use control_writes::EntryKey;
use p4runtime_proto::p4::config::v1::Table;
use p4runtime_proto::p4::config::v1::match_field::MatchType;
use p4runtime_proto::p4::v1::TableEntry;

impl Catalog {
    /// Key of the entry that a message names.
    pub fn entry_key(&self, entry: &TableEntry) -> Result<EntryKey> {
        key(self.table(entry.table_id)?, entry)
    }
}

/// Key of the entry of `table` that a message names.
pub(crate) fn key(table: &Table, entry: &TableEntry) -> Result<EntryKey> {
    if entry.is_default_action {
        return key_of_default(entry);
    }
    let found = matches::decode(&table.match_fields, &entry.r#match)?;
    let ranked = has_priorities(table);
    match (ranked, entry.priority) {
        (true, 1..) | (false, 0) => Ok(EntryKey { matches: found.into(), priority: entry.priority.into() }),
        (true, _) => fault(
            "the priority is missing",
            "tables with ternary, range or optional fields need one of at least 1",
        ),
        (false, _) => fault("the table takes no priorities", "no field is ternary, range or optional"),
    }
    .within("priority")
}

/// The key of a default entry, whose message says nothing of it.
pub(crate) fn key_of_default(entry: &TableEntry) -> Result<EntryKey> {
    if !entry.r#match.is_empty() {
        return fault("a default action has no match fields", "it runs if no entry matches").within("match");
    }
    if entry.priority != 0 {
        return fault("a default action has no priority", "it runs if no entry matches").within("priority");
    }
    Ok(EntryKey::of_default())
}

/// True if entries need priorities: some field can be matched in several ways without an order among them.
pub(crate) fn has_priorities(table: &Table) -> bool {
    let ranked = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
    table.match_fields.iter().any(|field| ranked.contains(&matches::kind(field)))
}
