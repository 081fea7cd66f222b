//! Control-plane writes to a table.

use super::{ActionSpec, Change, Entry, EntryOf, Run, Table, entry_key, fit};
use crate::names::{refused, resolve_action};
use base_bits::Bits;
use control_writes::{EntryKey, Match};
use dataplane_api::EntryError;
use indexmap::map::Entry as Slot;
use ir::Program;
use ir_value::Value;
use std::sync::Arc;

impl Table {
    /// Adds an entry and gives its handle. `keys` has one for each key element that is not `selector`.
    /// `priority` is for tables that have priorities; the greater wins.
    pub(crate) fn add(&mut self, keys: &[Match], priority: Option<i64>, run: Run) -> Result<u64, EntryError> {
        let key = self.entry_key(keys, priority)?;
        if self.const_entries {
            return Err(refused(format!("the entries of `{}` are constant", self.control_plane_name)));
        }
        let is_full = self.entries.len() as u64 >= self.size;
        let Slot::Vacant(slot) = self.entries.entry(key) else {
            return Err(refused(format!("`{}` has this entry already", self.control_plane_name)));
        };
        if is_full {
            return Err(EntryError {
                message: format!("`{}` is full: it has {} entries", self.control_plane_name, self.size),
                help: Some("declare a larger `size` in the program".to_string()),
            });
        }
        let handle = self.next_handle;
        self.next_handle += 1;
        let idle = self.idle_timeouts.then(Arc::default);
        let entry = Box::new(Entry { handle, run, is_const: false, direct: Default::default(), idle });
        self.journal.note(|| Change::Added(slot.key().clone()));
        slot.insert(entry);
        Ok(handle)
    }

    /// Removes an entry.
    pub(crate) fn delete(&mut self, keys: &[Match], priority: Option<i64>) -> Result<(), EntryError> {
        let key = self.entry_key(keys, priority)?;
        match self.entries.get(&key) {
            None => Err(refused(format!("`{}` has no such entry", self.control_plane_name))),
            Some(entry) if entry.is_const => {
                Err(refused(format!("the entry of `{}` is constant", self.control_plane_name)))
            }
            Some(_) => {
                self.entries.swap_remove(&key);
                self.journal.note(|| Change::Removed(key));
                Ok(())
            }
        }
    }

    /// Replaces the action of an entry.
    pub(crate) fn modify(
        &mut self,
        keys: &[Match],
        priority: Option<i64>,
        run: Run,
    ) -> Result<(), EntryError> {
        let key = self.entry_key(keys, priority)?;
        match self.entries.get_mut(&key) {
            None => Err(refused(format!("`{}` has no such entry", self.control_plane_name))),
            Some(entry) if entry.is_const => {
                Err(refused(format!("the entry of `{}` is constant", self.control_plane_name)))
            }
            Some(entry) => {
                entry.run = run;
                self.journal.note(|| Change::Modified(key));
                Ok(())
            }
        }
    }

    /// Removes all entries that may be removed.
    pub(crate) fn clear(&mut self) {
        self.entries.retain(|_, entry| entry.is_const);
        self.journal.forget();
    }

    /// Replaces the default action; `None` restores the source's.
    pub(crate) fn set_default(&mut self, run: Option<(u32, Vec<Value>)>) -> Result<(), EntryError> {
        if self.default_is_const {
            return Err(refused(format!("the default action of `{}` is constant", self.control_plane_name)));
        }
        self.default = run.unwrap_or_else(|| self.first_default.clone());
        self.journal.note(|| Change::Default);
        Ok(())
    }

    /// An action of the table for an entry (or else for the default), with its data.
    pub(crate) fn action(
        &self,
        program: &Program,
        name: &str,
        args: &[Bits],
        for_entry: bool,
    ) -> Result<(u32, Vec<Value>), EntryError> {
        let index = self.action_index(name)?;
        let spec = &self.actions[index];
        let forbidden = if for_entry { spec.default_only } else { spec.table_only };
        if forbidden {
            let place = if for_entry { "default action" } else { "entry" };
            return Err(refused(format!("`{}` may only be a {place}", spec.control_plane_name)));
        }
        Ok((index as u32, action_data(program, spec, args)?))
    }

    /// The action that the user means, by its position in the table's list.
    pub(crate) fn action_index(&self, name: &str) -> Result<usize, EntryError> {
        let known = self.actions.iter().map(|a| a.control_plane_name.as_str());
        resolve_action(&self.control_plane_name, name, known)
    }

    /// True if there is an entry with exactly this key.
    pub(crate) fn has(&self, of: EntryOf<'_>) -> Result<bool, EntryError> {
        Ok(self.entries.contains_key(&self.entry_key(of.keys, of.priority)?))
    }

    /// The position of an entry.
    pub(crate) fn position(&self, of: EntryOf<'_>) -> Result<usize, EntryError> {
        let key = self.entry_key(of.keys, of.priority)?;
        let found = self.entries.get_index_of(&key);
        // The ranks of constant entries are the program's own and not those that control planes see.
        let of_source = || self.entries.iter().take(self.of_source);
        let constant = || of_source().position(|(k, entry)| entry.is_const && k.matches == key.matches);
        let missing = || refused(format!("`{}` has no such entry", self.control_plane_name));
        found.or_else(constant).ok_or_else(missing)
    }

    fn entry_key(&self, keys: &[Match], priority: Option<i64>) -> Result<EntryKey, EntryError> {
        entry_key(&self.control_plane_name, &self.keys, self.has_priorities(), keys, priority)
    }
}

/// `args` as the data of an action.
pub(crate) fn action_data(
    program: &Program,
    spec: &ActionSpec,
    args: &[Bits],
) -> Result<Vec<Value>, EntryError> {
    if args.len() != spec.data.len() {
        let names: Vec<&str> = spec.data.iter().map(|(name, _)| name.as_str()).collect();
        return Err(EntryError {
            message: format!(
                "`{}` takes {} values, not {}",
                spec.control_plane_name,
                names.len(),
                args.len()
            ),
            help: (!names.is_empty()).then(|| format!("in order: {}", names.join(", "))),
        });
    }
    let pairs = spec.data.iter().zip(args);
    pairs
        .map(|((name, ty), arg)| {
            let zero = Value::zero(program, ty).to_key();
            let fitted = zero.as_ref().and_then(|zero| fit(arg, zero.width()));
            fitted.and_then(|bits| Value::from_key(program, ty, &bits)).ok_or_else(|| {
                let width = zero.map_or(0, |zero| zero.width());
                refused(format!("{} does not fit into the {width} bits of `{name}`", arg.to_hex()))
            })
        })
        .collect()
}
