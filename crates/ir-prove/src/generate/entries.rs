//! Table entries with keys and data from the pool.

use super::pool::{Pool, random};
use base_bits::Bits;
use base_time::Rng;
use control_writes::Match;
use ir::{ActionRef, Control, MatchKind, Name, Program, Table, Type};

/// An entry to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntrySpec {
    /// The table's control-plane name.
    pub table: Name,
    /// One for each key element that is not `selector`.
    pub keys: Vec<Match>,
    /// The action's control-plane name.
    pub action: Name,
    /// Action data.
    pub args: Vec<Bits>,
    /// Priority, if the table has priorities; all are different.
    pub priority: Option<i64>,
}

/// Up to `most` entries for each key of each table that may be written.
pub fn entries(program: &Program, pool: &mut Pool, most: usize, rng: &mut Rng) -> Vec<EntrySpec> {
    let mut out: Vec<EntrySpec> = vec![];
    for control in &program.controls {
        for table in control.tables.iter().filter(|t| !t.const_entries && !t.keys.is_empty()) {
            let most = most as u64 * table.keys.len() as u64;
            let size = table.size.unwrap_or(u64::MAX).min(most) as usize;
            let wanted = rng.between(size as u64 / 2, size as u64) as usize;
            for priority in 1..=wanted {
                let Some(entry) = one_entry(program, control, table, priority as i64, pool, rng) else {
                    continue;
                };
                if !out.iter().any(|e| e.table == entry.table && e.keys == entry.keys) {
                    out.push(entry);
                }
            }
        }
    }
    out
}

fn one_entry(
    program: &Program,
    control: &Control,
    table: &Table,
    priority: i64,
    pool: &mut Pool,
    rng: &mut Rng,
) -> Option<EntrySpec> {
    let allowed: Vec<_> =
        table.actions.iter().filter(|a| !a.annotations.iter().any(|n| n.name == "defaultonly")).collect();
    // Actions with data say more than those without: they are drawn more often.
    let weight = |run: &&&ActionRef| 1 + 2 * control.actions[run.action.index()].params.len().min(1);
    let weighted: Vec<_> = allowed.iter().flat_map(|run| std::iter::repeat_n(*run, weight(&run))).collect();
    let run = rng.pick(&weighted)?;
    let action = &control.actions[run.action.index()];
    let data = &action.params[run.args.len().min(action.params.len())..];
    let mut args = vec![];
    for &param in data {
        args.push(pool.draw(width(program, &control.vars[param.index()].ty)?, rng));
    }
    let mut keys = vec![];
    for key in table.keys.iter().filter(|k| k.match_kind != MatchKind::Selector) {
        keys.push(one_key(&key.match_kind, width(program, &key.expr.ty)?, pool, rng));
    }
    let ranked =
        |kind: &MatchKind| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
    let priority = table.keys.iter().any(|k| ranked(&k.match_kind)).then_some(priority);
    let (table, action) = (table.control_plane_name.clone(), action.control_plane_name.clone());
    Some(EntrySpec { table, keys, action, args, priority })
}

/// Another default action with data.
pub fn default_action(
    program: &Program,
    control: &Control,
    table: &Table,
    pool: &mut Pool,
    rng: &mut Rng,
) -> Option<(Name, Name, Vec<Bits>)> {
    let allowed: Vec<_> =
        table.actions.iter().filter(|a| !a.annotations.iter().any(|n| n.name == "tableonly")).collect();
    let run = rng.pick(&allowed)?;
    let action = &control.actions[run.action.index()];
    let data = &action.params[run.args.len().min(action.params.len())..];
    let mut args = vec![];
    for &param in data {
        args.push(pool.draw(width(program, &control.vars[param.index()].ty)?, rng));
    }
    Some((table.control_plane_name.clone(), action.control_plane_name.clone(), args))
}

fn one_key(kind: &MatchKind, width: u32, pool: &mut Pool, rng: &mut Rng) -> Match {
    let value = pool.draw(width, rng);
    match kind {
        MatchKind::Lpm => {
            let prefix_len = if rng.next_bool() { width } else { rng.below(u64::from(width) + 1) as u32 };
            let mask = Bits::ones(width).shl_by(u64::from(width - prefix_len));
            Match::Lpm { value: value.and(&mask), prefix_len }
        }
        MatchKind::Ternary => match rng.below(3) {
            0 => Match::Any,
            1 => Match::Exact(value),
            _ => {
                let mask = random(width, rng);
                Match::Ternary { value: value.and(&mask), mask }
            }
        },
        MatchKind::Range => {
            let other = pool.draw(width, rng);
            let (lo, hi) = if value.cmp_unsigned(&other).is_lt() { (value, other) } else { (other, value) };
            Match::Range { lo, hi }
        }
        MatchKind::Optional if rng.next_bool() => Match::Any,
        _ => Match::Exact(value),
    }
}

/// The bits of a value that the control plane writes.
pub fn width(program: &Program, ty: &Type) -> Option<u32> {
    match program.representation(ty) {
        Type::Bit(n) | Type::Int(n) => Some(*n),
        Type::Bool => Some(1),
        _ => None,
    }
}
