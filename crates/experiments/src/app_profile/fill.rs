//! Entries for packets: each lookup of an exact or lpm table gets an entry.

use base_bits::Bits;
use base_diag::Diagnostic;
use base_time::Time;
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use device::trace::EventKind;
use ir::{MatchKind, Name, Program};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Port of the packets.
pub const PORT: u32 = 1;

/// Frames that entries are made for.
const FRAMES: usize = 512;

/// Lookups of a frame, one after the other, that get entries.
const DEPTH: usize = 8;

/// Entries, and how many lookups of the frames they are for hit one.
pub struct Filled {
    /// Inserts.
    pub writes: Vec<Write<Name>>,
    /// Percent.
    pub hits_percent: u64,
}

/// Traces frames, and adds an entry for each lookup that misses. The entry runs the table's first action that is not its default action, with ones as data.
pub fn fill(program: &Arc<Program>, frames: &[Vec<u8>]) -> Result<Filled, Vec<Diagnostic>> {
    let mut probe = ir_interp::switch(Arc::clone(program), super::options())?;
    probe.set_trace(true);
    let (mut writes, mut seen) = (vec![], BTreeSet::new());
    let (mut lookups, mut hits) = (0u64, 0u64);
    for frame in frames.iter().take(FRAMES) {
        // The action of an added entry may lead to further lookups, so the frame is traced again.
        for depth in 0..=DEPTH {
            probe.process(PORT, frame, Time::ZERO);
            let mut added = false;
            let (mut all, mut hit) = (0, 0);
            for event in probe.take_trace() {
                let EventKind::Table { table, keys, .. } = event.kind else { continue };
                all += 1;
                let values: Vec<Option<Bits>> =
                    keys.into_iter().map(|key| key.value.bits().cloned()).collect();
                if !seen.insert((table.clone(), format!("{values:?}"))) {
                    hit += 1;
                    continue;
                }
                let Some(write) = entry(program, &table, values) else { continue };
                if probe.write(&write, Time::ZERO).is_ok() {
                    writes.push(write);
                    added = true;
                }
            }
            if !added || depth == DEPTH {
                (lookups, hits) = (lookups + all, hits + hit);
                break;
            }
        }
    }
    Ok(Filled { writes, hits_percent: (100 * hits).checked_div(lookups).unwrap_or(100) })
}

/// An entry of a table that such keys hit.
fn entry(program: &Program, name: &Name, values: Vec<Option<Bits>>) -> Option<Write<Name>> {
    let tables = program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t)));
    let (control, table) = tables.into_iter().find(|(_, table)| table.control_plane_name == *name)?;
    let mut matches = vec![];
    for (key, value) in table.keys.iter().zip(values) {
        let value = value?;
        matches.push(match key.match_kind {
            MatchKind::Exact => Match::Exact(value),
            MatchKind::Lpm => Match::Lpm { prefix_len: value.width(), value },
            MatchKind::Ternary => Match::Ternary { mask: Bits::ones(value.width()), value },
            MatchKind::Range => Match::Range { lo: value.clone(), hi: value },
            _ => return None,
        });
    }
    let is_ordered = |key: &ir::TableKey| matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range);
    let priority = i64::from(table.keys.iter().any(is_ordered));
    let default = table.default_action.action as usize;
    let (_, run) = table.actions.iter().enumerate().find(|(at, _)| *at != default)?;
    let action = &control.actions[run.action.index()];
    let width = |param: &ir::VarId| program.bits(&control.vars[param.index()].ty);
    let args =
        action.params.iter().map(|param| Some(Bits::one(width(param)? as u32))).collect::<Option<_>>()?;
    let run = Run::Action(ActionCall { action: action.control_plane_name.clone(), args });
    let key = EntryKey { matches: matches.into(), priority };
    Some(Write::Entry { table: name.clone(), key, to: Some(Box::new(Entry::new(run))), count: None })
}
