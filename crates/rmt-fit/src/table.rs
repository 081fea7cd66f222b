//! From a table of the program to a unit: its key, its entries, the data of its actions, the memory beside them.

use crate::field::Access;
use crate::object::{self, Use};
use crate::problem::Problem;
use crate::unit::{Kind, Match, Side, SideKind, Unit, bits_of, data_per_word};
use crate::walk::Walk;
use ir::{
    Action, AnnotationValue, Annotations, Block, Call, Callee, Const, Expr, ExprKind, InstanceId, MatchKind,
    Stmt, StmtKind, Table, visit,
};

/// Entries of a table that does not say its size.
const DEFAULT_SIZE: u64 = 512;
/// The share of entries with a range that is not a prefix, in percent (`@entries_with_ranges` of the open compiler).
const RANGES_PERCENT: u32 = 25;
/// Bits of one nibble of a range.
const NIBBLE: u32 = 4;

/// The unit of `table`.
pub(crate) fn unit(walk: &mut Walk<'_>, table: &Table) -> Unit {
    let mut unit = walk.unit(Kind::Action, table.span);
    unit.name = table.control_plane_name.to_string();
    unit.stage = stage(&table.annotations);
    let mut selector = vec![];
    let mut found = Match {
        ternary: false,
        key_bits: 0,
        entries: table.size.unwrap_or(DEFAULT_SIZE).max(table.entries.len() as u64),
        rows_per_100: 100,
        actions: 0,
        data_bits: 0,
        pointer_bits: 0,
        indirect: false,
    };
    if table.const_entries && table.size.is_none() {
        found.entries = table.entries.len() as u64;
    }
    for key in &table.keys {
        let read = walk.scope.reads(walk.fields, &key.expr);
        let bits = walk.scope.bits(&key.expr.ty);
        match key.match_kind {
            MatchKind::Selector => selector.extend(read),
            MatchKind::Exact => {
                found.key_bits += bits;
                unit.matches.extend(read);
            }
            MatchKind::Range => {
                found.ternary = true;
                // Each nibble of a range is stored as the set of its values, which takes twice the bits.
                found.key_bits += 2 * bits.next_multiple_of(NIBBLE);
                found.rows_per_100 = found.rows_per_100.max(range_rows(bits));
                unit.matches.extend(read);
            }
            _ => {
                found.ternary = true;
                found.key_bits += bits;
                unit.matches.extend(read);
            }
        }
    }
    found.ternary |= table.annotations.iter().any(|a| a.name == "ternary");
    actions(walk, table, &mut unit, &mut found);
    attached(walk, table, &selector, &mut unit, &mut found);
    unit.matches.extend(selector);
    if !table.keys.is_empty() {
        unit.kind = Kind::Table(found);
    }
    unit
}

/// Entries of TCAM for 100 with a range of this width: one without a range, up to 2n - 1 for n nibbles with one.
fn range_rows(bits: u32) -> u32 {
    let nibbles = bits.div_ceil(NIBBLE);
    let most = (2 * nibbles).saturating_sub(1).clamp(1, 8);
    RANGES_PERCENT * most + (100 - RANGES_PERCENT)
}

/// `@stage(3)`
fn stage(annotations: &Annotations) -> Option<u32> {
    let found = annotations.iter().find(|a| a.name == "stage")?;
    match found.body.values().first()? {
        AnnotationValue::Int(stage) => u32::try_from(stage).ok(),
        _ => None,
    }
}

fn actions(walk: &mut Walk<'_>, table: &Table, unit: &mut Unit, found: &mut Match) {
    let control = walk.control;
    let mut instructions = 0;
    for (run, at) in table.actions.iter().zip(0..) {
        let action = &control.actions[run.action.index()];
        if !run.annotations.iter().any(|a| a.name == "defaultonly") {
            found.actions += 1;
            found.data_bits = found.data_bits.max(data_bits(walk, action));
        }
        if action.body.stmts.is_empty() {
            continue;
        }
        instructions += 1;
        let others = std::mem::take(&mut unit.hashes);
        action.body.stmts.iter().for_each(|stmt| {
            walk.effect(stmt, unit);
        });
        let own = std::mem::replace(&mut unit.hashes, others);
        if at == table.default_action.action && !table.keys.is_empty() && !own.is_empty() {
            let what = "a default action that needs a hash";
            let help = "hashes and indices of registers come with entries alone: make the key ternary and the action that of an entry `_`";
            Problem::new(table.span, what, help).add_to(walk.problems);
        }
        own.into_iter().for_each(|hash| unit.hash(hash));
    }
    unit.instructions = instructions;
}

/// Bits of the data that an entry gives an action.
fn data_bits(walk: &Walk<'_>, action: &Action) -> u32 {
    let of = |param: &ir::VarId| walk.scope.bits(&walk.control.vars[param.index()].ty);
    let indices = index_bits(walk, action);
    action.params.iter().map(of).sum::<u32>().saturating_sub(indices)
}

/// Bits of parameters that are an object's index: these are pointers beside the entry.
fn index_bits(walk: &Walk<'_>, action: &Action) -> u32 {
    let mut bits = 0;
    calls(&action.body, &mut |call| {
        let Callee::Method(id, _) = call.callee else { return };
        let object = walk.program.extern_object(walk.program.instance(id).object).name.as_str();
        if object::use_of(object) == Use::Indexed
            && let Some(Some(index)) = call.args.first()
            && walk.scope.is_data(index)
        {
            bits += walk.scope.bits(&index.ty);
        }
    });
    bits
}

/// Pointers and memory beside the entries.
fn attached(walk: &mut Walk<'_>, table: &Table, selector: &[Access], unit: &mut Unit, found: &mut Match) {
    for id in [table.counters, table.meters].into_iter().flatten() {
        add(walk, id, unit);
    }
    for side in &unit.side {
        if let Some(cells) = side.cells {
            let meter = if side.kind == SideKind::Meter { 3 } else { 0 };
            // The row in a block of 1,024, or in several blocks; a bit that enables the access; the type of a meter.
            found.pointer_bits += 10.max(bits_of(cells)) + 1 + meter;
        }
    }
    if let Some(id) = table.implementation {
        let (groups, members) = object::implementation(walk.program, id);
        found.indirect = true;
        found.pointer_bits += 10.max(bits_of(members)) + 1;
        let per_word = data_per_word(found.data_bits);
        if found.data_bits > 0 {
            let name = walk.program.instance(id).control_plane_name.to_string();
            unit.side.push(Side { name, kind: SideKind::ActionData, cells: Some(members), ..per_word });
        }
        if let Some(groups) = groups {
            found.pointer_bits += 10.max(bits_of(groups.cells.unwrap_or(0))) + 1;
            unit.side.push(groups);
            let bits: u32 = selector.iter().map(Access::bits).sum();
            unit.fixed.hash_bits += bits.min(14);
        }
    }
    let idle = |name: &str| ["idle_timeout", "support_timeout", "psa_idle_timeout"].contains(&name);
    let is_on = |value: &Expr| !matches!(value.kind, ExprKind::Const(Const::Bool(false)));
    if table.properties.iter().any(|(name, value)| idle(name) && is_on(value)) {
        let per_word = match precision(&table.annotations) {
            1 => 8,
            2 => 4,
            6 => 1,
            _ => 2,
        };
        let name = table.control_plane_name.to_string();
        unit.side.push(Side { name, kind: SideKind::Idle, cells: None, per_word, words_per_cell: 1 });
    }
}

/// `@idletime_precision(3)`
fn precision(annotations: &Annotations) -> u32 {
    let found = annotations.iter().find(|a| a.name == "idletime_precision");
    let value = found.and_then(|a| a.body.values().first().cloned());
    match value {
        Some(AnnotationValue::Int(bits)) => u32::try_from(bits).unwrap_or(3),
        _ => 3,
    }
}

fn add(walk: &Walk<'_>, id: InstanceId, unit: &mut Unit) {
    if let Some(side) = object::side(walk.program, id)
        && !unit.side.contains(&side)
    {
        unit.side.push(side);
    }
}

fn calls(block: &Block, f: &mut dyn FnMut(&Call)) {
    visit::stmts(block, &mut |stmt: &Stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            f(call);
        }
    });
    visit::all_exprs(block, &mut |e| {
        if let ExprKind::Call(call) = &e.kind {
            f(call);
        }
    });
}
