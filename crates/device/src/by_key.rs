//! Control-plane operations on single things by their identity, as in P4Runtime: entries by key, members and groups by
//! number.

use crate::control_plane::TableEntry;
use crate::names::refused;
use crate::objects::Object;
use crate::objects::meter::{Meter, MeterArray};
use crate::objects::profile::{Member, Profile};
use crate::switch::Switch;
use crate::table::{self, DirectCells, EntryOf, Run, action_data};
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::{Count, GroupMember, Rates};
use dataplane_api::{EntryError, Port};
use std::sync::atomic::Ordering;

impl Switch {
    /// An entry.
    pub fn entry(&self, of: EntryOf<'_>) -> Result<TableEntry, EntryError> {
        let table = self.core.state.tables.by_name(of.table)?;
        let (key, entry) = table.entries.get_index(table.position(of)?).ok_or_else(|| no_entry(of))?;
        Ok(TableEntry::new(table, key, entry))
    }

    /// Sets the direct counter of an entry.
    pub fn entry_set_count(&mut self, of: EntryOf<'_>, count: Count) -> Result<(), EntryError> {
        self.entry_mut(of)?.direct.count.write(count);
        Ok(())
    }

    /// Sets committed and peak rate of an entry's direct meter; `None` makes all packets green.
    pub fn entry_set_rates(&mut self, of: EntryOf<'_>, rates: Option<Rates>) -> Result<(), EntryError> {
        self.entry_mut(of)?.direct.set_rates(rates);
        Ok(())
    }

    /// Count of the direct counter for a table's default action.
    pub fn default_count(&self, table: &str) -> Result<Count, EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        Ok(table.of_default.as_ref().ok_or_else(only_hits)?.count.read())
    }

    /// Sets the direct counter of a table's default action.
    pub fn default_set_count(&mut self, table: &str, count: Count) -> Result<(), EntryError> {
        self.of_default(table)?.count.write(count);
        Ok(())
    }

    /// Sets committed and peak rate of the direct meter of a table's default action; `None` makes all packets green.
    pub fn default_set_rates(&mut self, table: &str, rates: Option<Rates>) -> Result<(), EntryError> {
        self.of_default(table)?.set_rates(rates);
        Ok(())
    }

    fn of_default(&mut self, table: &str) -> Result<&mut DirectCells, EntryError> {
        self.core.state.tables.by_name_mut(table)?.of_default.as_mut().ok_or_else(only_hits)
    }

    /// Sets how long an entry may stay without a hit before [`take_idle`](Switch::take_idle) gives it, from `now` on.
    pub fn entry_set_timeout(
        &mut self,
        of: EntryOf<'_>,
        timeout: Duration,
        now: Time,
    ) -> Result<(), EntryError> {
        if let Some(timer) = &self.entry_mut(of)?.idle {
            timer.set(Some(timeout), now);
        }
        self.core.state.tables.by_name(of.table)?.notes_hits.store(1, Ordering::Relaxed);
        Ok(())
    }

    /// Restarts the idle timer of an entry.
    pub fn entry_restart(&mut self, of: EntryOf<'_>, now: Time) -> Result<(), EntryError> {
        if let Some(timer) = &self.entry_mut(of)?.idle {
            timer.restart(now);
        }
        Ok(())
    }

    /// Sets the profile member that an entry runs.
    pub fn entry_set_member(&mut self, of: EntryOf<'_>, member: u32) -> Result<(), EntryError> {
        let table = self.core.state.tables.by_name_mut(of.table)?;
        table.modify(of.keys, of.priority, Run::Member(member))
    }

    /// Sets the selector group that an entry runs.
    pub fn entry_set_group(&mut self, of: EntryOf<'_>, group: u32) -> Result<(), EntryError> {
        let table = self.core.state.tables.by_name_mut(of.table)?;
        table.modify(of.keys, of.priority, Run::Group(group))
    }

    /// Time since the last hit of an entry with a timeout.
    pub fn entry_idle(&self, of: EntryOf<'_>, now: Time) -> Result<Duration, EntryError> {
        let table = self.core.state.tables.by_name(of.table)?;
        let (_, entry) = table.entries.get_index(table.position(of)?).ok_or_else(|| no_entry(of))?;
        Ok(entry.idle.as_ref().map_or(Duration::ZERO, |timer| timer.idle(now)))
    }

    fn entry_mut(&mut self, of: EntryOf<'_>) -> Result<&mut table::Entry, EntryError> {
        let table = self.core.state.tables.by_name_mut(of.table)?;
        let position = table.position(of)?;
        table.entries.get_index_mut(position).map(|(_, entry)| &mut **entry).ok_or_else(|| no_entry(of))
    }

    /// Makes, replaces or removes a member of an action profile or selector. `table` is one that uses it.
    pub fn member_set(
        &mut self,
        table: &str,
        member: u32,
        to: Option<(&str, &[Bits])>,
    ) -> Result<(), EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        let made = to.map(|(action, args)| {
            let spec = &found.actions[found.action_index(action)?];
            let data = action_data(&self.core.program, spec, args)?;
            Ok(Member { action: spec.control_plane_name.clone(), data })
        });
        let made = made.transpose()?;
        self.profile_mut(table)?.set_member(member, made)
    }

    /// Makes, replaces or removes a group of an action selector. `table` is one that uses it.
    pub fn group_set(
        &mut self,
        table: &str,
        group: u32,
        to: Option<Vec<GroupMember>>,
    ) -> Result<(), EntryError> {
        self.profile_mut(table)?.set_group(group, to)
    }

    fn profile_mut(&mut self, table: &str) -> Result<&mut Profile, EntryError> {
        let found = self.core.state.tables.by_name(table)?.implementation;
        match found.and_then(|id| self.core.state.objects.get_mut(id.index())) {
            Some(Object::Profile(profile)) => Ok(profile),
            _ => Err(refused(format!("`{table}` has no profile"))),
        }
    }

    /// Sets committed and peak rate of a meter; `None` makes all packets green.
    pub fn meter_set(&mut self, name: &str, index: u64, rates: Option<Rates>) -> Result<(), EntryError> {
        if let Some(rates) = rates {
            return self.meter_set_rates(name, index, rates);
        }
        self.core.array_mut::<MeterArray>(name)?.reset(index);
        Ok(())
    }

    /// A port goes up or down: members of selectors' groups that watch it come and go, members of multicast groups that go to it
    /// have their backups instead, and applications of a packet generator begin.
    pub fn port_set(&mut self, port: Port, up: bool) {
        let down = &mut self.core.replication.down;
        let is_news = if up { down.remove(&port) } else { down.insert(port) };
        if is_news && !up {
            self.core.generator.port_down(&self.core.state.objects, port);
        }
        for object in &mut self.core.state.objects {
            if let Object::Profile(profile) = object {
                profile.set_port(port, up);
            }
        }
    }
}

impl DirectCells {
    fn set_rates(&mut self, rates: Option<Rates>) {
        self.meter = Meter::default();
        if let Some(rates) = rates {
            self.meter.configure(rates);
        }
    }
}

fn only_hits() -> EntryError {
    refused("in v1model, direct counters and meters see only hits")
}

fn no_entry(of: EntryOf<'_>) -> EntryError {
    refused(format!("`{}` has no such entry", of.table))
}
