//! The full tables: all entries of the program, as they are desired.
//!
//! The switch has a copy of a table whole, or of the entries that resident flows look up. In a table with lpm, ternary or range keys, a lookup
//! has the entry of highest rank that fits. The copy of that entry is enough: all other copies are entries of the full table too, so those that
//! fit rank lower, and where the full table has no entry that fits, the copy has none. A write that gives a resident flow another entry evicts
//! the flow first.

use base_bits::Bits;
use base_diag::{Diagnostic, codes::pin as codes};
use base_time::Time;
use control_writes::{DefaultEntry, Entry, EntryKey, Match, Write};
use dataplane_api::EntryError;
use device::trace::Hit;
use device::{Options, Specs, TableSpec};
use flow_control::moves::{self, FullTables, Version};
use ir::{MatchKind, Name, Program};
use ir_keys::Keys;
use ir_pin::Pinned;
use ir_touch::{FlowTables, TooMany};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Values of the union key's parts, in order.
pub type Flow = Vec<Bits>;

/// Members of the program's value sets, by the sets' names.
pub(crate) type ValueSets = BTreeMap<Name, Vec<Vec<Match>>>;

/// A lookup on which a flow depends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    /// The entry of a table with exact keys, or that there is none.
    Entry(Name, EntryKey),
    /// The results of lookups in a table where one key has several entries. They change together.
    Results(Name),
    /// An entry that a lookup in such a table hits, as it is.
    Hit(Name, EntryKey, Version),
    /// All entries of a table that is copied whole.
    Whole(Name),
    /// The default entry of a table. A lookup that hits another entry depends on it, too: so a flow stays where it is when that entry goes.
    Default(Name),
    /// The members of a value set. Touch sets are those of all members, so a flow stays where it is when they change; but it does not move
    /// meanwhile.
    ValueSet(Name),
    /// The flow has too many paths: it cannot be at the switch.
    Unknown,
}

/// The version of [`Key::Unknown`], and of whole tables, default entries and value sets as they are at first.
pub(crate) const FIRST: Version = Version(0);

/// Flows whose keys are remembered.
const REMEMBERED: usize = 256;

pub(crate) struct Tables {
    full: RefCell<FlowTables>,
    /// Keys of some flows, as of now: to find them means to run the program on each path. A write changes those of the flows that have its key.
    remembered: RefCell<BTreeMap<Flow, Vec<Key>>>,
    /// Tables with a copy, and those among them that are copied whole.
    copied: BTreeSet<Name>,
    whole: BTreeSet<Name>,
    /// All value sets, with their members: every packet may come to them.
    sets: ValueSets,
    /// Tables of which entries are copied, where one key has several.
    ranked: BTreeMap<Name, TableSpec>,
    /// Contents of their entries.
    hits: BTreeMap<(Name, EntryKey), Version>,
    /// Entries of tables that are copied whole.
    entries: BTreeMap<(Name, EntryKey), Box<Entry<Name>>>,
    /// Default entries that were written.
    defaults: BTreeMap<Name, Box<DefaultEntry<Name>>>,
    /// Contents of the keys.
    current: BTreeMap<Key, Version>,
    /// The write that made each content, and of each write in progress.
    writes: BTreeMap<Version, Write<Name>>,
    last: Version,
}

impl Tables {
    /// `program` is the one that was pinned, `entries` are written to its tables.
    pub(crate) fn new(
        program: &Program,
        keys: &Keys,
        pinned: &Pinned,
        entries: &[Write<Name>],
        options: Options,
    ) -> Result<Tables, Vec<Diagnostic>> {
        let wrong: Vec<Diagnostic> = copied_by_entry(program, pinned).filter_map(check_table).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let is_exact = |table: &&ir::Table| table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
        let ranked: BTreeSet<&Name> = copied_by_entry(program, pinned)
            .filter(|table| !is_exact(table))
            .map(|table| &table.control_plane_name)
            .collect();
        let ranked: BTreeMap<Name, TableSpec> = Specs::new(program)?
            .tables
            .into_iter()
            .filter(|spec| ranked.contains(&spec.name))
            .map(|spec| (spec.name.clone(), spec))
            .collect();
        let whole = pinned.whole.iter().map(|table| (Key::Whole(table.clone()), FIRST));
        let results = ranked.keys().map(|table| (Key::Results(table.clone()), FIRST));
        let copied: BTreeSet<Name> = pinned.tables.iter().map(|copy| copy.original.clone()).collect();
        let defaults = copied.iter().map(|table| (Key::Default(table.clone()), FIRST));
        let sets = program.parsers.iter().flat_map(|parser| &parser.value_sets);
        let sets: ValueSets = sets.map(|set| (set.control_plane_name.clone(), vec![])).collect();
        let members = sets.keys().map(|set| (Key::ValueSet(set.clone()), FIRST));
        let current = whole.chain(results).chain(defaults).chain(members).collect();
        let full = FlowTables::new(program, keys, options)?;
        let mut tables = Tables {
            full: RefCell::new(full),
            remembered: RefCell::default(),
            copied,
            sets,
            whole: pinned.whole.clone(),
            ranked,
            hits: BTreeMap::new(),
            entries: BTreeMap::new(),
            defaults: BTreeMap::new(),
            current,
            writes: BTreeMap::new(),
            last: FIRST,
        };
        for write in tables.in_source() {
            tables.note(&write);
        }
        for write in entries {
            let refused = |error: EntryError| {
                let title = "an entry does not fit the program's tables";
                vec![Diagnostic::error(codes::NOT_PINNED, title).note(error.message)]
            };
            tables.full.get_mut().tables().write(write, Time::ZERO).map_err(refused)?;
            tables.note(write);
        }
        Ok(tables)
    }

    /// Entries that the program's source gives.
    fn in_source(&mut self) -> Vec<Write<Name>> {
        let mut found = vec![];
        for table in &self.copied {
            for entry in self.full.get_mut().tables().table_entries(table).unwrap_or_default() {
                let to = Some(Box::new(Entry::new(entry.run)));
                found.push(Write::Entry { table: table.clone(), key: entry.key, to, count: None });
            }
        }
        found
    }

    /// Takes note of an entry that is in the full tables.
    fn note(&mut self, write: &Write<Name>) {
        let (table, key, to) = match write {
            Write::Entry { table, key, to, .. } => (table, key, to),
            Write::Default { table, to, .. } => return drop(self.defaults.insert(table.clone(), to.clone())),
            Write::ValueSet { set, members } => return drop(self.sets.insert(set.clone(), members.clone())),
            _ => return,
        };
        if self.whole.contains(table) {
            let at = (table.clone(), key.clone());
            match to {
                Some(entry) => drop(self.entries.insert(at, entry.clone())),
                None => drop(self.entries.remove(&at)),
            }
            return;
        }
        if !self.copied.contains(table) {
            return;
        }
        if self.ranked.contains_key(table) {
            let version = to.is_some().then(|| self.number(write.clone()));
            return self.set_hit(table, key, version);
        }
        let key = Key::Entry(table.clone(), key.clone());
        let old = match to {
            Some(_) => {
                let version = self.number(write.clone());
                self.current.insert(key, version)
            }
            None => self.current.remove(&key),
        };
        if let Some(old) = old {
            self.writes.remove(&old);
        }
    }

    /// An entry of a table where one key has several has this content.
    fn set_hit(&mut self, table: &Name, key: &EntryKey, version: Option<Version>) {
        let Some(key) = self.normal(table, key) else { return };
        let at = (table.clone(), key);
        let old = match version {
            Some(version) => self.hits.insert(at, version),
            None => self.hits.remove(&at),
        };
        if let Some(old) = old {
            self.writes.remove(&old);
        }
    }

    /// The key as lookups say it.
    fn normal(&self, table: &Name, key: &EntryKey) -> Option<EntryKey> {
        self.ranked.get(table)?.key(&key.matches, Some(key.priority)).ok()
    }

    fn number(&mut self, write: Write<Name>) -> Version {
        self.last = Version(self.last.0 + 1);
        self.writes.insert(self.last, write);
        self.last
    }

    /// Members of the value sets.
    pub(crate) fn value_sets(&self) -> &ValueSets {
        &self.sets
    }

    /// A write of the user's, if flows may depend on it.
    pub(crate) fn begin(&mut self, write: Write<Name>) -> Result<Option<moves::Write<Key>>, EntryError> {
        Ok(self.begin_all(vec![write])?.pop())
    }

    /// The user's writes on which flows may depend. They can all be done, one after the other.
    pub(crate) fn begin_all(
        &mut self,
        mut writes: Vec<Write<Name>>,
    ) -> Result<Vec<moves::Write<Key>>, EntryError> {
        writes.retain(|write| match write {
            Write::Entry { table, .. } | Write::Default { table, .. } => self.copied.contains(table),
            Write::ValueSet { .. } => true,
            _ => false,
        });
        let mut undo: Vec<Write<Name>> = writes.iter().map(|write| self.inverse(write)).collect();
        let full = self.full.get_mut().tables();
        let done = writes.iter().map_while(|write| full.write(write, Time::ZERO).ok()).count();
        let failed = writes.get(done).map(|write| full.write(write, Time::ZERO));
        undo.truncate(done);
        for write in undo.iter().rev() {
            // Each is what was there before all of them, so a key that was written twice may be deleted twice.
            let _ = full.write(write, Time::ZERO);
        }
        failed.unwrap_or(Ok(()))?;
        Ok(writes.into_iter().filter_map(|write| self.begun(write)).collect())
    }

    fn begun(&mut self, write: Write<Name>) -> Option<moves::Write<Key>> {
        let (key, deletes) = match &write {
            Write::Default { table, .. } => (Key::Default(table.clone()), false),
            Write::ValueSet { set, .. } => (Key::ValueSet(set.clone()), false),
            Write::Entry { table, .. } if self.whole.contains(table) => (Key::Whole(table.clone()), false),
            Write::Entry { table, .. } if self.ranked.contains_key(table) => {
                (Key::Results(table.clone()), false)
            }
            Write::Entry { table, key, to, .. } => (Key::Entry(table.clone(), key.clone()), to.is_none()),
            _ => return None,
        };
        let content = (!deletes).then(|| self.number(write));
        Some(moves::Write { key, content })
    }

    /// Writes that were begun are not done.
    pub(crate) fn give_up(&mut self, writes: &[moves::Write<Key>]) {
        for version in writes.iter().filter_map(|write| write.content) {
            self.writes.remove(&version);
        }
    }

    /// The write that a move or a write in progress stands for; none of what has been there from the start.
    pub(crate) fn made(&self, key: &Key, content: Option<Version>) -> Option<Write<Name>> {
        match (key, content) {
            (_, Some(version)) => self.writes.get(&version).cloned(),
            (Key::Entry(table, key) | Key::Hit(table, key, _), None) => {
                Some(Write::Entry { table: table.clone(), key: key.clone(), to: None, count: None })
            }
            (Key::Whole(_) | Key::Default(_) | Key::ValueSet(_) | Key::Results(_) | Key::Unknown, None) => {
                None
            }
        }
    }

    /// The write that undoes `write`; of a value set, which no touch set depends on, the same write.
    fn inverse(&self, write: &Write<Name>) -> Write<Name> {
        let (table, key) = match write {
            Write::Entry { table, key, .. } => (table, key),
            Write::Default { table, .. } => {
                let to = self.defaults.get(table).cloned().unwrap_or_default();
                return Write::Default { table: table.clone(), to, count: None };
            }
            _ => return write.clone(),
        };
        let made = |version: Option<&Version>| match self.writes.get(version?) {
            Some(Write::Entry { to, .. }) => to.clone(),
            _ => None,
        };
        let before = match self.normal(table, key) {
            Some(normal) => made(self.hits.get(&(table.clone(), normal))),
            None if self.whole.contains(table) => self.entries.get(&(table.clone(), key.clone())).cloned(),
            None => made(self.current.get(&Key::Entry(table.clone(), key.clone()))),
        };
        Write::Entry { table: table.clone(), key: key.clone(), to: before, count: None }
    }

    /// True if a lookup of the flow in one of these tables finds no entry. Of a flow with too many paths it is not known.
    pub(crate) fn misses(&self, flow: &Flow, tables: &[Name]) -> bool {
        let touched = self.full.borrow_mut().touched(flow).unwrap_or_default();
        touched.iter().any(|(touched, hit)| hit.is_none() && tables.contains(&touched.table))
    }

    /// True if all paths of the flow are known.
    pub(crate) fn knows(&self, flow: &Flow) -> Result<(), TooMany> {
        self.full.borrow_mut().touched(flow).map(drop)
    }

    /// The keys of a lookup and the entry that it hits, now or after a write.
    fn keys(
        &self,
        (touched, hit): (ir_touch::Touched, Option<Hit>),
        after: Option<(&moves::Write<Key>, &Write<Name>)>,
    ) -> Vec<Key> {
        let ir_touch::Touched { table, key } = touched;
        let default = Key::Default(table.clone());
        if self.whole.contains(&table) {
            return vec![Key::Whole(table), default];
        }
        if self.ranked.contains_key(&table) {
            let hit = hit.map(|hit| {
                let key = EntryKey { matches: hit.keys.into(), priority: hit.priority.unwrap_or(0) };
                let version = self.version_after(&table, &key, after);
                version.map_or(Key::Unknown, |version| Key::Hit(table.clone(), key, version))
            });
            return [Key::Results(table), default].into_iter().chain(hit).collect();
        }
        if !self.copied.contains(&table) {
            return vec![];
        }
        let matches: Vec<Match> = key.into_iter().map(Match::Exact).collect();
        let key = EntryKey { matches: matches.into(), priority: 0 };
        vec![Key::Entry(table, key), default]
    }

    fn version_after(
        &self,
        table: &Name,
        key: &EntryKey,
        after: Option<(&moves::Write<Key>, &Write<Name>)>,
    ) -> Option<Version> {
        let written = after.and_then(|(write, made)| match made {
            Write::Entry { table: other, key: written, .. } if other == table => {
                write.content.filter(|_| self.normal(table, written).as_ref() == Some(key))
            }
            _ => None,
        });
        written.or_else(|| self.hits.get(&(table.clone(), key.clone())).copied())
    }
}

impl FullTables<Flow, Key> for Tables {
    fn content(&self, key: &Key) -> Option<Version> {
        match key {
            Key::Unknown => Some(FIRST),
            Key::Hit(_, _, version) => Some(*version),
            _ => self.current.get(key).copied(),
        }
    }

    fn touched(&self, flow: &Flow, after: Option<&moves::Write<Key>>) -> Vec<Key> {
        let mut remembered = self.remembered.borrow_mut();
        if let (None, Some(keys)) = (after, remembered.get(flow)) {
            return keys.clone();
        }
        let mut full = self.full.borrow_mut();
        let after = after.and_then(|write| {
            let made = self.made(&write.key, write.content)?;
            full.tables().write(&made, Time::ZERO).ok()?;
            Some((write, made))
        });
        let found = full.touched(flow);
        if let Some((_, made)) = &after {
            // It was there before.
            let _ = full.tables().write(&self.inverse(made), Time::ZERO);
        }
        let Ok(found) = found else { return vec![Key::Unknown] };
        let after = after.as_ref().map(|(write, made)| (*write, made));
        let keys = found
            .into_iter()
            .flat_map(|found| self.keys(found, after))
            .chain(self.sets.keys().cloned().map(Key::ValueSet));
        let keys: Vec<Key> = keys.collect::<BTreeSet<Key>>().into_iter().collect();
        if after.is_none() {
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
            remembered.insert(flow.clone(), keys.clone());
        }
        keys
    }

    fn apply(&mut self, write: &moves::Write<Key>) {
        let Some(made) = self.made(&write.key, write.content) else { return };
        self.remembered.get_mut().retain(|_, keys| !keys.contains(&write.key));
        // It could be written when it was begun.
        let _ = self.full.get_mut().tables().write(&made, Time::ZERO);
        if let (Key::Entry(..), Some(version)) = (&write.key, write.content) {
            if let Some(old) = self.current.insert(write.key.clone(), version) {
                self.writes.remove(&old);
            }
            return;
        }
        if let (Key::Results(_), Some(version), Write::Entry { table, key, to, .. }) =
            (&write.key, write.content, &made)
        {
            // The write is kept as long as it says what the entry is.
            let kept = to.is_some().then_some(version);
            self.set_hit(table, key, kept);
            if kept.is_none() {
                self.writes.remove(&version);
            }
            self.current.insert(write.key.clone(), version);
            return;
        }
        self.note(&made);
        if let (Key::Whole(_) | Key::Default(_) | Key::ValueSet(_), Some(version)) =
            (&write.key, write.content)
        {
            self.writes.remove(&version);
            self.current.insert(write.key.clone(), version);
        }
    }
}

fn copied_by_entry<'p>(program: &'p Program, pinned: &'p Pinned) -> impl Iterator<Item = &'p ir::Table> {
    let is_copied = |table: &&ir::Table| {
        let name = &table.control_plane_name;
        !pinned.whole.contains(name) && pinned.tables.iter().any(|copy| copy.original == *name)
    };
    program.controls.iter().flat_map(|control| &control.tables).filter(is_copied)
}

/// Copies by entry are of tables that lose nothing when an entry goes.
fn check_table(table: &ir::Table) -> Option<Diagnostic> {
    table.counters?;
    let title = format!("flows that look up `{}` cannot move", table.control_plane_name);
    let help = "copy the whole table: `resident = \"all\"` under `[app.objects]`";
    let why = "counts of a copy would be lost with it";
    Some(Diagnostic::error(codes::NOT_PINNED, title).at(table.span, why.to_string()).help(help))
}
