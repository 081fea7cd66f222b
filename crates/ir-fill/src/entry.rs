//! Entries and default actions of tables.

use crate::resolver::{Entries, Resolver};
use crate::values::{data, matches, no_priority};
use crate::{Resolved, Write, refuse, refused, wrong};
use base_diag::{Diagnostic, Span};
use base_time::Duration;
use control_writes::{ActionCall, DefaultEntry, Entry, EntryKey, Rates, Run};
use dataplane_api::EntryError;
use ir::Name;
use p4_entries::{Args, Keys, Named, Value};

/// Priority, idle timeout, and rates of the direct meter of an entry.
type More = (Option<i64>, Option<Duration>, Option<Rates>);

impl Resolver {
    /// The position of the table that the user means.
    pub(crate) fn table_at(&self, table: &Named) -> Result<usize, Box<Diagnostic>> {
        self.specs.table(&table.text).map_err(|e| refuse(table.span, e))
    }

    pub(crate) fn entry(
        &mut self,
        table: &Named,
        keys: &Keys,
        run: &p4_entries::Run,
        (priority, idle_timeout, rates): More,
        span: Span,
    ) -> Resolved {
        let at = self.table_at(table)?;
        let spec = &self.specs.tables[at];
        // simple_switch_CLI has the priority among an action's arguments, where `data` takes it; after a member or group it stands alone.
        if let (Keys::AsInBmv2(_), p4_entries::Run::Member(_) | p4_entries::Run::Group(_)) = (keys, run) {
            match (spec.has_priorities, priority) {
                (true, None) => return Err(no_priority(span)),
                (false, Some(_)) => return Err(wrong(span, "entries of this table have no priority")),
                _ => {}
            }
        }
        let matches = matches(&spec.keys, keys, span)?;
        let (run, priority) = match run {
            p4_entries::Run::Action(action, args) => {
                let known = spec.action(&action.text).map_err(|e| refuse(action.span, e))?;
                let (args, with) = data(spec, known, action, args)?;
                (Run::Action(ActionCall { action: known.name.clone(), args }), priority.or(with))
            }
            p4_entries::Run::Member(label) => {
                let profile = self.profile_of(table)?;
                (Run::Member(self.labelled(&profile, label, true)?), priority)
            }
            p4_entries::Run::Group(label) => {
                let profile = self.profile_of(table)?;
                (Run::Group(self.labelled(&profile, label, false)?), priority)
            }
        };
        let timeout = idle_timeout.map_or(0, |timeout| i64::try_from(timeout.as_ns()).unwrap_or(i64::MAX));
        let entry = Entry { meter: rates, idle_timeout_ns: timeout, ..Entry::new(run) };
        let key = self.specs.tables[at].key(&matches, priority).map_err(|e| refuse(span, e))?;
        self.add(at, key, entry).map_err(|e| refuse(span, e))
    }

    /// A table gets an entry that it has not.
    pub(crate) fn add(
        &mut self,
        at: usize,
        key: EntryKey,
        entry: Entry<Name>,
    ) -> Result<Vec<Write>, EntryError> {
        let table = self.specs.tables[at].name.clone();
        if self.tables[at].by_key.contains_key(&key) {
            return Err(refused(format!("`{table}` has this entry already")));
        }
        self.added(at, key.clone(), entry.clone());
        Ok(vec![Write::Entry { table, key, to: Some(Box::new(entry)), count: None }])
    }

    /// Takes note of an entry.
    pub(crate) fn added(&mut self, at: usize, key: EntryKey, entry: Entry<Name>) {
        let entries = &mut self.tables[at];
        entries.handles.added(key.clone());
        entries.by_key.insert(key, (entries.next_handle, entry));
        entries.next_handle += 1;
    }

    /// Takes note that an entry is gone.
    pub(crate) fn removed(&mut self, at: usize, key: &EntryKey) {
        let entries = &mut self.tables[at];
        entries.by_key.remove(key);
        entries.handles.removed(key);
    }

    pub(crate) fn default(&mut self, table: &Named, action: &Named, args: &Args) -> Resolved {
        let at = self.table_at(table)?;
        let spec = &self.specs.tables[at];
        let known = spec.action(&action.text).map_err(|e| refuse(action.span, e))?;
        let (args, _) = data(spec, known, action, args)?;
        let call = ActionCall { action: known.name.clone(), args };
        self.default_members.remove(&at);
        Ok(vec![self.set_default(self.specs.tables[at].name.clone(), call, None)])
    }

    /// A table gets another default action, maybe that of a member.
    pub(crate) fn set_default(&self, table: Name, call: ActionCall<Name>, member: Option<u32>) -> Write {
        let to = DefaultEntry { call: Some(call), member, ..DefaultEntry::default() };
        Write::Default { table, to: Box::new(to), count: None }
    }

    /// An entry, by the handle that `simple_switch` gave it, runs another action.
    pub(crate) fn modify(
        &mut self,
        table: &Named,
        handle: &Value<u64>,
        action: &Named,
        args: &Args,
        span: Span,
    ) -> Resolved {
        let (at, key) = self.with_handle(table, handle)?;
        let spec = &self.specs.tables[at];
        if spec.profile.is_some() {
            return Err(wrong(span, format!("the entries of `{}` name members or groups", spec.name)));
        }
        let known = spec.action(&action.text).map_err(|e| refuse(action.span, e))?;
        let (args, _) = data(spec, known, action, args)?;
        let run = Run::Action(ActionCall { action: known.name.clone(), args });
        self.change(at, key, |entry| entry.run = run).map_err(|e| refuse(span, e))
    }

    /// An entry, by the handle that `simple_switch` gave it, gets or loses an idle timeout.
    pub(crate) fn timeout(
        &mut self,
        table: &Named,
        handle: &Value<u64>,
        timeout: Duration,
        span: Span,
    ) -> Resolved {
        let (at, key) = self.with_handle(table, handle)?;
        let timeout = i64::try_from(timeout.as_ns()).unwrap_or(i64::MAX);
        self.change(at, key, |entry| entry.idle_timeout_ns = timeout).map_err(|e| refuse(span, e))
    }

    /// Changes an entry that is there.
    pub(crate) fn change(
        &mut self,
        at: usize,
        key: EntryKey,
        change: impl FnOnce(&mut Entry<Name>),
    ) -> Result<Vec<Write>, EntryError> {
        let table = self.specs.tables[at].name.clone();
        let Some((_, entry)) = self.tables[at].by_key.get_mut(&key) else {
            return Err(refused(format!("`{table}` has no such entry")));
        };
        if entry.is_const {
            return Err(refused(format!("this entry of `{table}` is constant")));
        }
        change(entry);
        let to = Some(Box::new(entry.clone()));
        Ok(vec![Write::Entry { table, key, to, count: None }])
    }

    /// An entry, by the handle that `simple_switch` gave it, is removed.
    pub(crate) fn delete(&mut self, table: &Named, handle: &Value<u64>) -> Resolved {
        let (at, key) = self.with_handle(table, handle)?;
        let table = self.specs.tables[at].name.clone();
        if self.tables[at].by_key.get(&key).is_some_and(|(_, entry)| entry.is_const) {
            return Err(wrong(handle.span, format!("this entry of `{table}` is constant")));
        }
        self.removed(at, &key);
        Ok(vec![Write::Entry { table, key, to: None, count: None }])
    }

    /// All entries of a table that are not constant are removed.
    pub(crate) fn clear(&mut self, at: usize) -> Vec<Write> {
        let table = &self.specs.tables[at].name;
        let Entries { by_key, handles, .. } = &mut self.tables[at];
        let gone = by_key.iter().filter(|(_, (_, entry))| !entry.is_const);
        let gone = gone.map(|(key, _)| key.clone()).collect::<Vec<_>>();
        by_key.retain(|_, (_, entry)| entry.is_const);
        let mut left: Vec<_> = by_key.iter().map(|(key, (handle, _))| (*handle, key.clone())).collect();
        left.sort_unstable_by_key(|(handle, _)| *handle);
        handles.cleared(left.into_iter().map(|(_, key)| key));
        let write = |key| Write::Entry { table: table.clone(), key, to: None, count: None };
        gone.into_iter().map(write).collect()
    }

    /// The table's position, and the key of its entry with this handle.
    fn with_handle(&self, table: &Named, handle: &Value<u64>) -> Result<(usize, EntryKey), Box<Diagnostic>> {
        let at = self.table_at(table)?;
        let name = self.specs.tables[at].name.as_str();
        let key = self.tables[at].handles.find(name, handle.value).map_err(|e| refuse(handle.span, e))?;
        Ok((at, key.clone()))
    }
}
