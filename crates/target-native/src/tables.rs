//! Copies of the interpreter's tables in fast structures, and the cells of objects that code shares.

use crate::access::Access;
use crate::context::{Asked, MOST_ASKED, TableRef};
use crate::layout::Kind;
use crate::turns::lock;
use control_writes::EntryKey;
use dataplane_tables::{
    Buckets, Control, EntryKey as CopyKey, Field, FirstBits, KeyLayout, MatchKind, Run, TableSpec, Tables,
    WriteError,
};
use device::embed::{
    ActionView, CountSlot, CountSlots, EntryView, IdleTimer, News, SharedCells, TableAt, TableChange,
    TableFacts,
};
use device::{Blocks, Core, KeySpec};
use ir::{InstanceId, ParserId, ValueSetId};
use std::sync::atomic::{AtomicU64, Ordering::Acquire};
use std::sync::{Arc, Mutex};

/// Hashes of tables are seeded with this: packets come from whom the operator lets in.
pub const SEED: u64 = 0x7034_7261_636b;

/// The tables and cells that code speaks of by number, in the order of the numbers. It is the program's; [`TableReplicas`] are a device's.
#[derive(Clone, Default)]
pub(crate) struct Wanted {
    tables: Vec<(TableReplica, TableSpec)>,
    cells: Vec<InstanceId>,
    /// Arrays of cells among them that are far.
    pub(crate) far_cells: usize,
    value_sets: Vec<(ParserId, ValueSetId)>,
}

/// All copies.
#[derive(Default)]
pub(crate) struct TableReplicas {
    table_replicas: Vec<TableReplica>,
    /// Specs of tables that have no copies yet.
    specs: Vec<TableSpec>,
    copies: Option<(Control, Tables)>,
    /// Somebody else follows the originals, and gives the copies.
    is_reader: bool,
    /// The objects that have cells, with those that this worker uses.
    cells: Vec<(InstanceId, SharedCells)>,
    /// See [`Wanted`].
    far_cells: usize,
    /// Number of the counting worker: see [`Core::cells`].
    worker: usize,
    /// References for compiled code.
    refs: Vec<TableRef>,
    /// The copy of the tables that it is of, by its address and how often that was changed.
    refs_of: Option<(usize, u64)>,
    addresses: Vec<*const AtomicU64>,
    value_sets: ValueSetBits,
    /// Slots and timers that entries no longer have; code may write them until it sees the new tables.
    retired: Retired,
    /// Empty between batches.
    asked: Box<Asked>,
    /// Number of writes to the originals at the last look.
    writes: Option<u64>,
}

// The addresses are those of cells and tables that it owns, or of tables that are pinned while code runs.
#[allow(unsafe_code)]
// SAFETY: see above; the value is shared between threads only as a whole.
unsafe impl Send for TableReplicas {}

/// Slots and timers of former entries.
#[derive(Default)]
struct Retired {
    slots: Vec<Arc<CountSlot>>,
    timers: Vec<Arc<IdleTimer>>,
}

/// Copies of value sets, a bit for each value, as they are when a batch begins.
#[derive(Default)]
struct ValueSetBits {
    sets: Vec<(ParserId, ValueSetId, Box<[u64]>)>,
    addresses: Vec<*const u64>,
    /// The device's number of writes, and that number at the last copy.
    writes: Arc<AtomicU64>,
    copied: Option<u64>,
}

/// One table's copy.
#[derive(Clone)]
struct TableReplica {
    at: TableAt,
    layout: KeyLayout,
    data: Vec<Vec<(usize, Kind)>>,
    /// Hits are recorded, or a profile chooses the action.
    keeps_keys: bool,
    /// For a table with keys: entries by their numbers in the copy.
    numbers: Numbers,
    /// Hits are counted.
    counts_hits: bool,
    /// Not 0 if the device is told of hits.
    notes_hits: Option<Arc<AtomicU64>>,
    /// Slots on the device.
    slots: Option<CountSlots>,
    /// For a table that counts hits: slots of the records, by the entries' numbers in the copy; that of misses first.
    counts: Vec<Arc<CountSlot>>,
    /// The cells of this worker for them.
    counted: Option<SharedCells>,
    /// Records have a word for the entry's idle timer, 0 if there is none.
    has_timers: bool,
    /// The timers in the records, by the entries' numbers in the copy.
    timers: Vec<Option<Arc<IdleTimer>>>,
    /// A profile chooses the action: records of entries have only their counters and timers.
    has_profile: bool,
    /// Bits of the keys for its selector.
    chosen_by: Vec<u32>,
}

/// The layout of a key; `None` if the copy has no structure for it.
pub(crate) fn key_layout(keys: &[KeySpec]) -> Option<KeyLayout> {
    let field = |key: &KeySpec| {
        let kind = match &key.kind {
            ir::MatchKind::Exact => MatchKind::Exact,
            ir::MatchKind::Lpm => MatchKind::Lpm,
            ir::MatchKind::Ternary => MatchKind::Ternary,
            ir::MatchKind::Range => MatchKind::Range { signed: key.signed },
            ir::MatchKind::Optional => MatchKind::Optional,
            ir::MatchKind::Selector | ir::MatchKind::Other(_) => return None,
        };
        Some(Field { kind, width: key.width }).filter(|field| field.width <= 128)
    };
    Some(KeyLayout::new(&keys.iter().map(field).collect::<Option<Vec<_>>>()?))
}

/// A size, in entries of copies.
fn entries(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Entries by their numbers; the worker that follows the originals writes them, others read them.
type Numbers = Arc<Mutex<Vec<Option<EntryKey>>>>;

impl Wanted {
    /// Adds a table, and gives its number and specification.
    pub(crate) fn add(
        &mut self,
        at: TableAt,
        facts: &TableFacts,
        layout: &KeyLayout,
        data_words: usize,
        data: Vec<Vec<(usize, Kind)>>,
        chosen_by: Vec<u32>,
    ) -> (usize, &TableSpec) {
        let spec = TableSpec {
            layout: layout.clone(),
            size: entries(facts.size),
            data_words,
            profile: None,
            const_entries: false,
        };
        let table_replica = TableReplica {
            at,
            layout: layout.clone(),
            data,
            keeps_keys: facts.notes_hits || facts.has_profile,
            numbers: Numbers::default(),
            counts_hits: facts.counts,
            notes_hits: None,
            slots: None,
            counts: vec![],
            counted: None,
            has_timers: facts.only_restarts,
            timers: vec![],
            has_profile: facts.has_profile,
            chosen_by,
        };
        let index = self.tables.len();
        self.tables.push((table_replica, spec));
        (index, &self.tables[index].1)
    }

    /// True if code for these copies suits a program whose tables have other sizes: those of `blocks`.
    pub(crate) fn suits(&self, blocks: Blocks<'_>) -> bool {
        self.tables.iter().all(|(table_replica, spec)| {
            let sized = |facts: TableFacts| TableSpec { size: entries(facts.size), ..spec.clone() };
            blocks.table(table_replica.at).is_some_and(|facts| sized(facts).is_direct() == spec.is_direct())
        })
    }

    /// Adds the cells of an object, and gives their number.
    pub(crate) fn share(&mut self, object: InstanceId) -> usize {
        self.cells.push(object);
        self.cells.len() - 1
    }

    /// Adds the bits of a value set, and gives their number.
    pub(crate) fn value_set(&mut self, parser: ParserId, set: ValueSetId) -> usize {
        self.value_sets.push((parser, set));
        self.value_sets.len() - 1
    }
}

impl TableReplicas {
    /// The tables and cells of a device, for a worker; `None` if the device lacks some, because it runs another program.
    pub(crate) fn of(wanted: &Wanted, core: &mut Core, worker: usize) -> Option<TableReplicas> {
        let mut table_replicas =
            TableReplicas { worker, far_cells: wanted.far_cells, ..TableReplicas::default() };
        for (table_replica, spec) in &wanted.tables {
            let slots =
                if table_replica.counts_hits { Some(core.count_slots(table_replica.at)?) } else { None };
            // If misses are not counted, their slot is never read.
            let misses =
                slots.as_ref().map(|slots| core.misses(table_replica.at).unwrap_or_else(|| slots.take()));
            let counts = misses.into_iter().collect();
            table_replicas.table_replicas.push(TableReplica {
                notes_hits: core.notes_hits(table_replica.at),
                slots,
                counts,
                numbers: Numbers::default(),
                ..table_replica.clone()
            });
            // The code may have been made for tables of other sizes.
            let size = entries(core.table_size(table_replica.at)?);
            table_replicas.specs.push(TableSpec { size, ..spec.clone() });
        }
        for object in &wanted.cells {
            table_replicas.share(*object, core.cells(*object, worker)?);
        }
        let sets = wanted.value_sets.iter().map(|(parser, set)| {
            let bits = core.value_set_bits(*parser, *set)?;
            Some((*parser, *set, bits.into_boxed_slice()))
        });
        table_replicas.value_sets = ValueSetBits::new(sets.collect::<Option<_>>()?, core.value_set_writes());
        Some(table_replicas)
    }

    fn share(&mut self, object: InstanceId, cells: SharedCells) {
        self.addresses.push(cells.as_ptr());
        self.cells.push((object, cells));
    }

    /// Copies the writes to the originals since the last call. Call this before each batch.
    #[inline(always)]
    pub(crate) fn follow(&mut self, access: &mut Access) {
        // With each packet of a device in virtual time: nothing was written.
        if let Access::Own(core, _) = access
            && self.writes == Some(core.table_writes())
            && self.value_sets.sets.is_empty()
        {
            return;
        }
        self.catch_up(access);
    }

    fn catch_up(&mut self, access: &mut Access) {
        self.value_sets.follow(access);
        if self.is_reader {
            return;
        }
        let Some(news) = self.news_if_written(access.core()) else { return };
        let (mut control, mut tables) = self.copies.take().unwrap_or_else(|| {
            let control = self.control();
            let tables = Tables::new(&control);
            (control, tables)
        });
        self.write(&mut control, news);
        tables.publish(&mut control);
        self.read(&tables);
        self.published();
        self.copies = Some((control, tables));
    }

    /// The control plane of copies that hold nothing yet. To be called once.
    pub(crate) fn control(&mut self) -> Control {
        Control::new(std::mem::take(&mut self.specs), &[], SEED)
    }

    /// Writes to the originals since the last call; `None` if there were none.
    pub(crate) fn news_if_written(&mut self, core: &mut Core) -> Option<Vec<(usize, News)>> {
        (self.writes != Some(core.table_writes())).then(|| self.news(core))
    }

    fn news(&mut self, core: &mut Core) -> Vec<(usize, News)> {
        self.writes = Some(core.table_writes());
        let of = |(id, table_replica): (usize, &TableReplica)| Some((id, core.table_news(table_replica.at)?));
        self.table_replicas.iter().enumerate().filter_map(of).collect()
    }

    /// Writes changes to the copies; the caller must publish them.
    pub(crate) fn write(&mut self, control: &mut Control, news: Vec<(usize, News)>) {
        for (id, news) in news {
            let (table_replica, retired) = (&mut self.table_replicas[id], &mut self.retired);
            match news {
                News::All(entries, default) => {
                    control.clear(id);
                    control.reserve(id, entries.len());
                    entries.into_iter().for_each(|entry| table_replica.insert(control, id, entry, retired));
                    table_replica.set_default(control, id, &default);
                }
                News::Changes(changes) => {
                    changes.into_iter().for_each(|change| table_replica.change(control, id, change, retired));
                }
            }
        }
    }

    /// Ends a publication: no worker writes slots and timers of former entries any more.
    pub(crate) fn published(&mut self) {
        self.retired = Retired::default();
    }

    /// Lets code read these tables.
    pub(crate) fn read(&mut self, tables: &Tables) {
        let copy = Some((std::ptr::from_ref(tables).addr(), tables.publications()));
        if self.refs_of == copy {
            return;
        }
        self.refs_of = copy;
        let worker = self.worker;
        let of = |(id, table_replica): (usize, &mut TableReplica)| {
            table_replica.counted = table_replica.slots.as_ref().map(|slots| slots.cells(worker));
            let table = tables.table(id);
            let records = table.records();
            let none = FirstBits { top: std::ptr::null(), chunks: std::ptr::null() };
            let no_buckets = Buckets { first: std::ptr::null(), mask: 0, seed: [0; 4], is_partial: 0 };
            let FirstBits { top, chunks } = table.first_bits().unwrap_or(none);
            TableRef {
                table: std::ptr::from_ref(table),
                actions: records.words()[records.action_at()..].as_ptr(),
                direct: table.direct().map_or(std::ptr::null(), <[u32]>::as_ptr),
                buckets: table.buckets().unwrap_or(no_buckets),
                top,
                chunks,
                counts: table_replica.counted.as_ref().map_or(std::ptr::null(), |cells| cells.as_ptr()),
                waits: u64::from(table.is_beyond_first_cache()),
                far: u64::from(table.is_far() && table.key_words() <= MOST_ASKED),
                notes_hits: table_replica.notes_hits.as_ref().map_or(std::ptr::null(), Arc::as_ptr),
            }
        };
        self.refs.clear();
        self.refs.extend(self.table_replicas.iter_mut().enumerate().map(of));
    }

    /// TableReplicas for another worker, which reads the copies that this one follows.
    pub(crate) fn reader(&self, core: &mut Core, worker: usize) -> TableReplicas {
        // The follower keeps the slots and timers of entries.
        let reads = |table_replica: &TableReplica| {
            let counts = table_replica.counts.first().cloned().into_iter().collect();
            TableReplica { counts, timers: vec![], ..table_replica.clone() }
        };
        let table_replicas = self.table_replicas.iter().map(reads).collect();
        let (is_reader, far_cells) = (true, self.far_cells);
        let mut reader =
            TableReplicas { table_replicas, worker, is_reader, far_cells, ..TableReplicas::default() };
        for (object, cells) in &self.cells {
            reader.share(*object, core.cells(*object, worker).unwrap_or_else(|| cells.clone()));
        }
        reader.value_sets = ValueSetBits::new(self.value_sets.sets.clone(), core.value_set_writes());
        reader
    }

    /// The tables as code reads them.
    pub(crate) fn table_refs(&self) -> &[TableRef] {
        &self.refs
    }

    /// For compiled code; valid until [`follow`](TableReplicas::follow) is called again.
    pub(crate) fn refs(&self) -> *const TableRef {
        self.refs.as_ptr()
    }

    /// True if lookups wait for memory.
    pub(crate) fn are_far(&self) -> bool {
        self.far_cells > 0 || self.refs.iter().any(|table| table.far != 0)
    }

    /// Number of arrays of cells that are far.
    pub(crate) fn far_cells(&self) -> usize {
        self.far_cells
    }

    /// For compiled code.
    pub(crate) fn asked(&mut self) -> *mut Asked {
        std::ptr::from_mut(&mut *self.asked)
    }

    /// For compiled code.
    pub(crate) fn cells(&self) -> *const *const AtomicU64 {
        self.addresses.as_ptr()
    }

    /// For compiled code.
    pub(crate) fn value_sets(&self) -> *const *const u64 {
        self.value_sets.addresses.as_ptr()
    }

    /// The table with this number.
    pub(crate) fn at(&self, table: usize) -> Option<TableAt> {
        self.table_replicas.get(table).map(|replica| replica.at)
    }

    /// The original of an entry of a table in which hits are noted, or that has a profile.
    pub(crate) fn original(&self, table: usize, entry: u32) -> Option<(TableAt, EntryKey)> {
        self.with_original(table, entry, |at, key| (at, key.clone()))
    }

    /// Calls `f` with the original of such an entry.
    pub(crate) fn with_original<R>(
        &self,
        table: usize,
        entry: u32,
        f: impl FnOnce(TableAt, &EntryKey) -> R,
    ) -> Option<R> {
        let table_replica = self.table_replicas.get(table)?;
        let numbers = lock(&table_replica.numbers);
        Some(f(table_replica.at, numbers.get(entry as usize)?.as_ref()?))
    }

    /// Bits of a table's keys for its selector.
    pub(crate) fn selector_widths(&self, table: usize) -> &[u32] {
        self.table_replicas.get(table).map_or(&[], |table_replica| &table_replica.chosen_by)
    }

    /// An action of a table as the words of a record, from the action on.
    pub(crate) fn record(&self, table: usize, action: &ActionView) -> Vec<u64> {
        let Some(table_replica) = self.table_replicas.get(table) else { return vec![] };
        let count = table_replica.counts.first();
        std::iter::once(u64::from(action.action)).chain(table_replica.words(action, count, None)).collect()
    }
}

impl TableReplica {
    fn change(&mut self, control: &mut Control, id: usize, change: TableChange, retired: &mut Retired) {
        match change {
            TableChange::Added(entry) => self.insert(control, id, entry, retired),
            TableChange::Removed(entry) => {
                if let Some(key) = self.key(&entry) {
                    control.delete(id, &key).ok();
                }
            }
            TableChange::Modified(entry) => {
                if let (Some(key), Some(run)) = (self.key(&entry), self.run_of(&entry)) {
                    control.modify(id, &key, &run).ok();
                }
            }
            TableChange::Default(action) => self.set_default(control, id, &action),
        }
    }

    /// Inserts an entry. An entry that has been removed since has no action; its removal is reported later.
    fn insert(&mut self, control: &mut Control, id: usize, entry: EntryView, retired: &mut Retired) {
        let (Some(key), Some(run)) = (self.key(&entry), self.run_of(&entry)) else { return };
        let inserted: Result<u32, WriteError> = control.insert(id, &key, &run);
        let Ok(number) = inserted else { return };
        if self.keeps_keys {
            put(&mut lock(&self.numbers), number, Some(entry.key), None);
        }
        if let (Some(none), Some(count)) = (self.counts.first().cloned(), entry.count) {
            retired.slots.extend(put(&mut self.counts, number, count, none));
        }
        if self.has_timers {
            retired.timers.extend(put(&mut self.timers, number, entry.timer, None).flatten());
        }
    }

    fn set_default(&self, control: &mut Control, id: usize, action: &ActionView) {
        control.set_default(id, &self.run(action, self.counts.first(), None)).ok();
    }

    fn key(&self, entry: &EntryView) -> Option<CopyKey> {
        self.layout.entry_key(&entry.key.matches, entry.key.priority).ok()
    }

    /// Record of an entry; `None` if the entry has been removed since.
    fn run_of(&self, entry: &EntryView) -> Option<Run> {
        let (count, timer) = (entry.count.as_ref(), entry.timer.as_ref());
        if self.has_profile {
            return Some(Run::Action(0, self.first_words(count, timer).collect()));
        }
        Some(self.run(entry.run.as_ref()?, count, timer))
    }

    fn run(
        &self,
        action: &ActionView,
        count: Option<&Arc<CountSlot>>,
        timer: Option<&Arc<IdleTimer>>,
    ) -> Run {
        Run::Action(action.action, self.words(action, count, timer))
    }

    /// Words of a record in front of the data: the number of a slot, and the address of a timer.
    fn first_words(
        &self,
        count: Option<&Arc<CountSlot>>,
        timer: Option<&Arc<IdleTimer>>,
    ) -> impl Iterator<Item = u64> {
        let timer = timer.map_or(0, |timer| Arc::as_ptr(timer).expose_provenance() as u64);
        count.map(|slot| u64::from(slot.at())).into_iter().chain(self.has_timers.then_some(timer))
    }

    /// The data of an action as the words of a record, after the slot of its counter and the timer of its entry if there are any.
    fn words(
        &self,
        action: &ActionView,
        count: Option<&Arc<CountSlot>>,
        timer: Option<&Arc<IdleTimer>>,
    ) -> Vec<u64> {
        let params = self.data.get(action.action as usize);
        let mut words: Vec<u64> = self.first_words(count, timer).collect();
        for ((_, kind), bits) in params.into_iter().flatten().zip(&action.data) {
            let number = bits.low_u128();
            words.push(number as u64);
            if kind.width() > 64 {
                words.push((number >> 64) as u64);
            }
        }
        words
    }
}

impl ValueSetBits {
    fn new(sets: Vec<(ParserId, ValueSetId, Box<[u64]>)>, writes: Arc<AtomicU64>) -> ValueSetBits {
        let addresses = sets.iter().map(|(_, _, bits)| bits.as_ptr()).collect();
        ValueSetBits { sets, addresses, writes, copied: None }
    }

    /// Copies the value sets if they were written since the last call; the lock of the switch lets a batch see all of a write or nothing.
    fn follow(&mut self, access: &mut Access) {
        let writes = self.writes.load(Acquire);
        if self.sets.is_empty() || self.copied == Some(writes) {
            return;
        }
        let core = access.core();
        self.copied = Some(self.writes.load(Acquire));
        for (parser, set, bits) in &mut self.sets {
            if let Some(now) = core.value_set_bits(*parser, *set).filter(|now| now.len() == bits.len()) {
                bits.copy_from_slice(&now);
            }
        }
    }
}

/// Puts a value into a list, which grows with `none`; gives the one before.
fn put<T: Clone>(list: &mut Vec<T>, at: u32, value: T, none: T) -> Option<T> {
    let at = at as usize;
    if list.len() <= at {
        list.resize(at + 1, none);
    }
    list.get_mut(at).map(|slot| std::mem::replace(slot, value))
}
