//! Entries of tables: sets that fit their match kind, priorities, doubles (P4-16 §14.2.1.4).
//!
//! Priorities are for tables with a `ternary`, `range` or other kind in which entries overlap. If one entry of a list
//! names its priority the first does, and the next ones go down by `priority_delta` (or up, if
//! `largest_priority_wins` is false) until one names its own again.

use base_diag::{Diagnostic, Diagnostics};
use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use crate::codes;
use crate::typed::{Entries, ExprKind, KeySet, Program, Table, Type};
use crate::warn::silenced;

pub(crate) fn check_entries(program: &mut Program, diags: &mut Diagnostics) {
    let ids: Vec<_> = program.tables.iter().filter(|(_, t)| t.entries.is_some()).map(|(id, _)| id).collect();
    for id in ids {
        let table = &program.tables[id];
        let Some(entries) = &table.entries else { continue };
        check_sets(program, table, entries, diags);
        check_doubles(program, table, entries, diags);
        let priorities = priorities(program, table, entries, diags);
        if let (Some(priorities), Some(entries)) = (priorities, program.tables[id].entries.as_mut()) {
            for (entry, priority) in entries.entries.iter_mut().zip(priorities) {
                entry.priority = Some(priority);
            }
        }
    }
}

fn kind_name<'a>(program: &'a Program, table: &Table, key: usize) -> &'a str {
    table.keys.get(key).map_or("", |k| program.match_kinds[k.match_kind].name.text.as_str())
}

/// An exact or optional match takes single values, a range match ranges, the others masks; all of them everything (`_`). A
/// mask of an `lpm` key that is no prefix, or of an `exact`, `optional` or `range` key, is a warning: the language leaves to
/// a target what it can match, and p4c's front end accepts all of them.
fn check_sets(program: &Program, table: &Table, entries: &Entries, diags: &mut Diagnostics) {
    for entry in &entries.entries {
        for (key, set) in entry.sets.iter().enumerate() {
            let kind = kind_name(program, table, key);
            let why = match (kind, set) {
                ("lpm", KeySet::Mask(value, mask)) if !is_prefix(mask.as_int(), &mask.ty) => {
                    let title = "the mask of an `lpm` key is not a prefix";
                    warn_mask(table, title, value.span.to(mask.span), "not ones followed by zeros", diags);
                    continue;
                }
                ("range", KeySet::Mask(value, mask)) => {
                    let title = "a `range` key with a mask";
                    warn_mask(table, title, value.span.to(mask.span), "not a range", diags);
                    continue;
                }
                ("exact" | "optional", KeySet::Mask(value, mask)) => {
                    let title = format!("a key of kind `{kind}` with a mask");
                    let label = "this key matches single values";
                    warn_mask(table, &title, value.span.to(mask.span), label, diags);
                    continue;
                }
                ("selector", KeySet::Mask(..)) => "this key matches single values",
                ("exact" | "optional" | "selector" | "lpm" | "ternary", KeySet::Range(..)) => {
                    "this key does not match ranges"
                }
                _ => continue,
            };
            let (KeySet::Mask(a, b) | KeySet::Range(a, b)) = set else { continue };
            diags.push(
                Diagnostic::error(codes::BAD_ENTRY, format!("this set does not fit a key of kind `{kind}`"))
                    .at(a.span.to(b.span), why),
            );
        }
    }
}

/// A mask that some target may take, and ours do not.
fn warn_mask(table: &Table, title: &str, span: base_diag::Span, label: &str, diags: &mut Diagnostics) {
    if !silenced(&table.annotations, "entry-mask") {
        diags.push(
            Diagnostic::warning(codes::BAD_ENTRY, "entry-mask", title)
                .at(span, label)
                .note("`p4rack run` and most back ends of p4c refuse the entry")
                .help("give the key the match kind `ternary`"),
        );
    }
}

/// True for a mask of leading ones; for one whose value is not known here too.
fn is_prefix(mask: Option<&BigInt>, ty: &Type) -> bool {
    let (Some(mask), Some(width)) = (mask, ty.fixed_width()) else { return true };
    let holes = crate::expr::wrap(&!mask, &Type::Bit(width));
    (&holes & (&holes + 1)) == BigInt::ZERO
}

/// Two entries of an exact table cannot match the same values.
fn check_doubles(program: &Program, table: &Table, entries: &Entries, diags: &mut Diagnostics) {
    if (0..table.keys.len()).any(|k| kind_name(program, table, k) != "exact") {
        return;
    }
    let mut seen: FxHashMap<Vec<String>, base_diag::Span> = FxHashMap::default();
    for entry in &entries.entries {
        let values: Option<Vec<String>> = entry.sets.iter().map(|s| value_text(program, s)).collect();
        let Some(values) = values else { continue };
        if let Some(before) = seen.get(&values) {
            diags.push(
                Diagnostic::error(codes::BAD_ENTRY, "two entries have the same key")
                    .at(entry.span, "this one can never match")
                    .at(*before, "first here"),
            );
        } else {
            seen.insert(values, entry.span);
        }
    }
}

fn value_text(program: &Program, set: &KeySet) -> Option<String> {
    let KeySet::Value(value) = set else { return None };
    match &value.kind {
        ExprKind::Int(n) => Some(n.to_string()),
        ExprKind::Bool(b) => Some(b.to_string()),
        ExprKind::ErrorMember(id) => Some(program.errors[*id].name.text.to_string()),
        ExprKind::EnumMember(id, m) => {
            let member = program.enums[*id].members.get(*m as usize)?;
            Some(member.value.as_ref().map_or_else(|| member.name.text.to_string(), ToString::to_string))
        }
        _ => None,
    }
}

/// The priority of each entry, if one is written.
fn priorities(
    program: &Program,
    table: &Table,
    entries: &Entries,
    diags: &mut Diagnostics,
) -> Option<Vec<BigInt>> {
    let first = entries.entries.iter().find(|e| e.priority.is_some())?;
    if (0..table.keys.len()).all(|k| matches!(kind_name(program, table, k), "exact" | "lpm")) {
        diags.push(
            Diagnostic::error(codes::BAD_ENTRY, "entries of this table have no priorities")
                .at(table.keys.first().map_or(table.name.span, |k| k.span), "its keys cannot overlap")
                .at(first.span, "a priority is given here"),
        );
        return None;
    }
    if let Some(entry) = entries.entries.first().filter(|e| e.priority.is_none()) {
        diags.push(
            Diagnostic::error(codes::BAD_ENTRY, "the first entry needs a priority")
                .at(entry.span, "")
                .at(first.span, "since this one has a priority"),
        );
        return None;
    }
    let largest_wins = !matches!(known_property(table, "largest_priority_wins"), Some(ExprKind::Bool(false)));
    let delta = match known_property(table, "priority_delta") {
        Some(ExprKind::Int(n)) => n.clone(),
        _ => BigInt::from(1),
    };
    let mut last = BigInt::ZERO;
    let mut out = Vec::with_capacity(entries.entries.len());
    for entry in &entries.entries {
        last = match &entry.priority {
            Some(priority) => priority.clone(),
            None if largest_wins => last - &delta,
            None => last + &delta,
        };
        if last < BigInt::ZERO {
            let title = format!("an entry of `{}` gets a negative priority", table.name.text);
            diags.push(
                Diagnostic::error(codes::BAD_ENTRY, title)
                    .at(table.name.span, "")
                    .at(entry.span, format!("this would have priority {last}")),
            );
            return None;
        }
        out.push(last.clone());
    }
    Some(out)
}

fn known_property<'a>(table: &'a Table, name: &str) -> Option<&'a ExprKind> {
    let property = table.properties.iter().find(|p| p.name.text == name)?;
    property.value.as_ref().map(|v| &v.kind)
}
