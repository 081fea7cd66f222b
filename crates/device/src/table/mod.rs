//! Tables at run time: entries, lookup, writes (P4-16 §14.2).
//!
//! How the best of several matching entries is found depends on the match kinds of the keys, as in BMv2: with a
//! ternary, range or optional key the greatest priority wins and a prefix' length does not count; else with an
//! lpm key the longest prefix; else there is only one.

mod build;
mod entry;
mod idle;
mod journal;
mod key;
mod write;

pub(crate) use build::{build, key_spec};
pub(crate) use entry::{ActionSpec, DirectCells, Entry, Run};
pub use idle::{IdleEntry, IdleTimer};
pub(crate) use journal::{Change, Journal};
pub use key::{EntryOf, KeySpec, fit};
pub(crate) use key::{entry_key, normal_of, prefix_mask};
pub(crate) use write::action_data;

use crate::objects::direct_counter::CountSlots;
use base_bits::Bits;
use control_writes::{EntryKey, Match};
use indexmap::IndexMap;
use ir::{InstanceId, MatchKind, Name, Program};
use ir_value::Value;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) control_plane_name: Name,
    /// In order, those of kind `selector` left out.
    pub(crate) keys: Vec<KeySpec>,
    /// The list of the source.
    pub(crate) actions: Vec<ActionSpec>,
    pub(crate) default: (u32, Vec<Value>),
    default_is_const: bool,
    /// Cells of the default action, if misses are counted and metered: PSA does, v1model counts only hits.
    pub(crate) of_default: Option<DirectCells>,
    /// Default action of the source, for a reset.
    first_default: (u32, Vec<Value>),
    /// Entries, unordered: their handles give the order of insertion. In boxes, so that a map that grows moves less.
    pub(crate) entries: IndexMap<EntryKey, Box<Entry>, FxBuildHasher>,
    const_entries: bool,
    size: u64,
    rank: Rank,
    pub(crate) implementation: Option<InstanceId>,
    pub(crate) counters: Option<InstanceId>,
    /// Slots in which compiled code counts hits of entries.
    pub(crate) count_slots: CountSlots,
    pub(crate) meters: Option<InstanceId>,
    /// Direct register.
    pub(crate) registers: Option<InstanceId>,
    next_handle: u64,
    /// Number of entries of the source; its constant entries come first.
    of_source: usize,
    /// `support_timeout`.
    pub(crate) idle_timeouts: bool,
    /// Not 0 once hits of entries change more than counts: compiled code reports them then.
    pub(crate) notes_hits: Arc<AtomicU64>,
    /// Idle entries to report to the control plane.
    idle: Vec<IdleEntry>,
    pub(crate) journal: Journal,
}

/// How the best entry is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rank {
    /// At most one entry fits.
    Only,
    /// The longest prefix of the key in this position.
    LongestPrefix(usize),
    /// The greatest priority; of equals the oldest.
    Priority,
}

/// The entries that a table without `size` takes at most.
pub(crate) const DEFAULT_SIZE: u64 = 1024;

impl Table {
    /// The position of the entry that `key` hits; one number for each of `keys`.
    pub(crate) fn lookup(&self, key: &[Bits]) -> Option<usize> {
        if self.keys.is_empty() {
            return None;
        }
        if self.rank == Rank::Only {
            let keys =
                self.keys.iter().zip(key).map(|(spec, v)| Match::Exact(v.resize(spec.width))).collect();
            return self.entries.get_index_of(&EntryKey { matches: keys, priority: 0 });
        }
        let mut best: Option<(i64, Reverse<u64>, usize)> = None;
        for (position, (entry, what)) in self.entries.iter().enumerate() {
            let (rank, age) = (self.rank_of(entry), Reverse(what.handle));
            if best.is_none_or(|(r, a, _)| (rank, age) > (r, a)) && self.fits(entry, key) {
                best = Some((rank, age, position));
            }
        }
        best.map(|(_, _, position)| position)
    }

    /// The direct cells of the entry in that position, with its handle; without an entry those of the default action.
    pub(crate) fn direct_mut(&mut self, found: Option<usize>) -> Option<(Option<u64>, &mut DirectCells)> {
        let Some(position) = found else { return Some((None, self.of_default.as_mut()?)) };
        let (_, entry) = self.entries.get_index_mut(position)?;
        Some((Some(entry.handle), &mut entry.direct))
    }

    /// All entries, the oldest first.
    pub(crate) fn oldest_first(&self) -> Vec<(&EntryKey, &Entry)> {
        let mut all: Vec<_> = self.entries.iter().map(|(key, entry)| (key, &**entry)).collect();
        all.sort_by_key(|(_, entry)| entry.handle);
        all
    }

    fn fits(&self, entry: &EntryKey, key: &[Bits]) -> bool {
        self.keys.iter().zip(&entry.matches).zip(key).all(|((spec, want), value)| spec.matches(want, value))
    }

    fn rank_of(&self, entry: &EntryKey) -> i64 {
        match self.rank {
            Rank::LongestPrefix(position) => match entry.matches.get(position) {
                Some(Match::Lpm { prefix_len, .. }) => i64::from(*prefix_len),
                _ => 0,
            },
            Rank::Only | Rank::Priority => entry.priority,
        }
    }

    /// Constant entries in the order in which they are tried; `None` if entries may change.
    pub(crate) fn constant_entries(&self) -> Option<Vec<(&EntryKey, &Entry)>> {
        let mut all = self.const_entries.then(|| self.oldest_first())?;
        all.sort_by_key(|(key, _)| Reverse(self.rank_of(key)));
        Some(all)
    }

    pub(crate) fn default_is_const(&self) -> bool {
        self.default_is_const
    }

    /// Maximum number of entries.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The handle of the next entry.
    pub(crate) fn next_handle(&self) -> u64 {
        self.next_handle
    }

    /// True if entries have priorities.
    pub(crate) fn has_priorities(&self) -> bool {
        self.rank == Rank::Priority
    }
}

impl Rank {
    fn of(keys: &[KeySpec]) -> Rank {
        let ranked =
            |k: &KeySpec| matches!(k.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
        if keys.iter().any(ranked) {
            return Rank::Priority;
        }
        keys.iter().position(|k| k.kind == MatchKind::Lpm).map_or(Rank::Only, Rank::LongestPrefix)
    }
}

/// All tables of a program, by control.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_control: Vec<Vec<Table>>,
    /// Number of times at which the table was open for writes.
    writes: u64,
}

impl Tables {
    /// As the source says; or why not.
    pub(crate) fn new(program: &Program) -> Result<Tables, Vec<base_diag::Diagnostic>> {
        let mut problems = vec![];
        let mut by_control = vec![];
        for control in &program.controls {
            let mut tables = vec![];
            for table in &control.tables {
                match build::build(program, control, table) {
                    Ok(table) => tables.push(table),
                    Err(problem) => problems.push(problem),
                }
            }
            by_control.push(tables);
        }
        if problems.is_empty() { Ok(Tables { by_control, writes: 0 }) } else { Err(problems) }
    }

    /// One table.
    pub(crate) fn get(&self, control: ir::ControlId, table: ir::TableId) -> Option<&Table> {
        self.by_control.get(control.index())?.get(table.index())
    }

    /// See [`get`](Tables::get).
    pub(crate) fn get_mut(&mut self, control: ir::ControlId, table: ir::TableId) -> Option<&mut Table> {
        self.by_control.get_mut(control.index())?.get_mut(table.index())
    }

    /// All, in the order of the program.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Table> + Clone {
        self.by_control.iter().flatten()
    }

    /// See [`iter`](Tables::iter).
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.writes += 1;
        self.by_control.iter_mut().flatten()
    }

    /// Number of possible writes to tables.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// The table that the user means.
    pub(crate) fn by_name(&self, name: &str) -> Result<&Table, dataplane_api::EntryError> {
        let index = self.index_of(name)?;
        self.iter().nth(index).ok_or_else(|| crate::names::refused("no such table"))
    }

    /// See [`by_name`](Tables::by_name).
    pub(crate) fn by_name_mut(&mut self, name: &str) -> Result<&mut Table, dataplane_api::EntryError> {
        let index = self.index_of(name)?;
        self.iter_mut().nth(index).ok_or_else(|| crate::names::refused("no such table"))
    }

    fn index_of(&self, name: &str) -> Result<usize, dataplane_api::EntryError> {
        crate::names::resolve("table", name, self.iter().map(|t| t.control_plane_name.as_str()))
    }
}
