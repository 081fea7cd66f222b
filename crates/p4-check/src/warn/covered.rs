//! `keys`: an entry that an earlier one covers, in tables whose entries rank in program order, never matches.

use base_diag::{Diagnostic, Diagnostics};
use num_bigint::BigInt;

use crate::codes;
use crate::typed::{Entry, KeySet, Program};

/// Longer lists are not compared entry by entry.
const MAX_ENTRIES: usize = 512;

pub(crate) fn warn_covered(program: &Program, diags: &mut Diagnostics) {
    for (_, table) in program.tables.iter() {
        let Some(entries) = &table.entries else { continue };
        let kind = |m| program.match_kinds[m].name.text.as_str();
        let ranked =
            table.keys.iter().any(|k| matches!(kind(k.match_kind), "ternary" | "range" | "optional"));
        let written = entries.entries.iter().any(|e| e.priority.is_some());
        if !ranked || written || entries.entries.len() > MAX_ENTRIES {
            continue;
        }
        for (i, entry) in entries.entries.iter().enumerate() {
            if let Some(first) = entries.entries[..i].iter().find(|earlier| covers(earlier, entry)) {
                diags.push(
                    Diagnostic::warning(codes::COVERED_ENTRY, "keys", "this entry never matches")
                        .at(entry.span, "")
                        .at(first.span, "this earlier entry matches all of it"),
                );
            }
        }
    }
}

fn covers(a: &Entry, b: &Entry) -> bool {
    a.sets.len() == b.sets.len() && a.sets.iter().zip(&b.sets).all(|(a, b)| set_covers(a, b))
}

fn set_covers(a: &KeySet, b: &KeySet) -> bool {
    if matches!(a, KeySet::Any(..)) {
        return true;
    }
    if let (Some((v, m)), Some((w, n))) = (masked(a), masked(b)) {
        return (&m & &n) == m && (&v & &m) == (&w & &m);
    }
    match (bounds(a), bounds(b)) {
        (Some((l, h)), Some((x, y))) => l <= x && y <= h,
        _ => false,
    }
}

/// Value and mask; all ones for a single value.
fn masked(set: &KeySet) -> Option<(BigInt, BigInt)> {
    match set {
        KeySet::Value(e) => Some((e.as_int()?.clone(), (BigInt::from(1) << e.ty.fixed_width()?) - 1)),
        KeySet::Mask(e, m) => Some((e.as_int()?.clone(), m.as_int()?.clone())),
        _ => None,
    }
}

fn bounds(set: &KeySet) -> Option<(&BigInt, &BigInt)> {
    match set {
        KeySet::Value(e) => Some((e.as_int()?, e.as_int()?)),
        KeySet::Range(a, b) => Some((a.as_int()?, b.as_int()?)),
        _ => None,
    }
}
