//! Control-plane writes to a device.

use crate::names::refused;
use crate::objects::Object;
use crate::replication::Session;
use crate::switch::Switch;
use crate::table::EntryOf;
use base_time::{Duration, Time};
use control_writes::{
    ActionCall, CloneSession, DefaultEntry, Entry, EntryKey, GroupMember, MulticastGroup, OneShot, Rates,
    Replica, Run, SESSION_GROUPS, Write, backups, members,
};
use dataplane_api::EntryError;
use ir::Name;
use ir_value::Value;

impl Switch {
    /// Does a write. Objects are given by control-plane names, full or abbreviated. Idle times count from `now`.
    pub fn write(&mut self, write: &Write<Name>, now: Time) -> Result<(), EntryError> {
        match write {
            Write::Entry { table, key, to, count } => {
                self.write_entry(table, key, to.as_deref(), now)?;
                count.map_or(Ok(()), |count| self.entry_set_count(entry_of(table, key), count))
            }
            Write::Default { table, to, count } => {
                self.write_default(table, to)?;
                count.map_or(Ok(()), |count| self.default_set_count(table, count))
            }
            Write::Member { profile, member, to } => {
                let table = self.user_of(profile)?;
                let call = to.as_ref().map(|call| (call.action.as_str(), call.args.as_slice()));
                self.member_set(&table, *member, call)
            }
            Write::Group { profile, group, to } => {
                let table = self.user_of(profile)?;
                self.group_set(&table, *group, to.as_ref().map(|group| group.members.clone()))
            }
            Write::Multicast { group, to } => self.write_multicast(*group, to.as_ref()),
            Write::CloneSession { session, to } => self.write_session(*session, to.as_ref()),
            Write::ValueSet { set, members } => {
                self.value_set_clear(set)?;
                members.iter().try_for_each(|member| self.value_set_add(set, member))
            }
            // A device sends digests one by one; the northbound server groups them into lists.
            Write::Digest { .. } => Ok(()),
            Write::Meter { meter, index, to } => self.meter_set(meter, *index, *to),
            Write::MeterArray { meter, to: Some(rates) } => self.meter_array_set_rates(meter, *rates),
            Write::MeterArray { meter, to: None } => self.meter_array_reset(meter),
            Write::CounterReset { counter } => self.counter_reset(counter),
            Write::RegisterReset { register } => self.register_reset(register),
            Write::Counter { counter, index, to } => self.counter_write(counter, *index, *to),
            Write::Register { register, index, to } => {
                let value = self.register_value_of(register, to)?;
                self.register_set(register, *index, value)
            }
            Write::DirectCounter { table, key, to } => match key.is_of_default() {
                true => self.default_set_count(table, *to),
                false => self.entry_set_count(entry_of(table, key), *to),
            },
            Write::Memory { object, to } => self.set_memory(object, to),
            Write::CustomCrc { calculation, width, to } => {
                self.set_custom_crc(calculation.as_deref(), *width, *to)
            }
        }
    }

    fn write_entry(
        &mut self,
        table: &Name,
        key: &EntryKey,
        to: Option<&Entry<Name>>,
        now: Time,
    ) -> Result<(), EntryError> {
        let of = entry_of(table, key);
        let whole = self.table_name(table)?.clone();
        let Some(to) = to else {
            self.table_delete(table, &key.matches, of.priority)?;
            return self.drop_one_shot(&whole, key);
        };
        let known = match to.is_const {
            true => self.entry(of).is_ok(),
            false => self.core.state.tables.by_name(table)?.has(of)?,
        };
        if !(to.is_const && known) {
            // The group that the old entry made for itself goes with it.
            self.drop_one_shot(&whole, key)?;
            self.write_run(&whole, key, &to.run, known)?;
        }
        let found = self.core.state.tables.by_name(table)?;
        let (meters, times_out) = (found.meters.is_some(), found.idle_timeouts);
        self.write_direct_rates(meters, to.meter, table, |switch, rates| switch.entry_set_rates(of, rates))?;
        match u64::try_from(to.idle_timeout_ns) {
            Ok(1..) if !times_out => Err(EntryError {
                message: format!("entries of `{whole}` have no idle timeout"),
                help: Some("the table needs `support_timeout = true`".to_string()),
            }),
            _ if !times_out || to.is_const => Ok(()),
            Ok(ns @ 1..) => self.entry_set_timeout(of, Duration::from_ns(ns), now),
            // P4Runtime: 0 is no timeout.
            _ => self.entry_set_timeout(of, Duration::MAX, now),
        }
    }

    fn write_direct_rates(
        &mut self,
        has_meter: bool,
        rates: Option<Rates>,
        table: &str,
        set: impl FnOnce(&mut Switch, Option<Rates>) -> Result<(), EntryError>,
    ) -> Result<(), EntryError> {
        match rates {
            _ if has_meter => set(self, rates),
            Some(_) => Err(refused(format!("`{table}` has no direct meter"))),
            None => Ok(()),
        }
    }

    fn write_default(&mut self, table: &Name, to: &DefaultEntry<Name>) -> Result<(), EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        let (is_const, counts_misses) = (found.default_is_const(), found.of_default.is_some());
        let meters = counts_misses && found.meters.is_some();
        match &to.call {
            Some(call) => self.table_set_default(table, &call.action, &call.args)?,
            None if is_const => {}
            None => self.table_reset_default(table)?,
        }
        self.write_direct_rates(meters, to.meter, table, |switch, rates| {
            switch.default_set_rates(table, rates)
        })
    }

    /// Adds an entry or replaces its action.
    fn write_run(
        &mut self,
        table: &Name,
        key: &EntryKey,
        run: &Run<Name>,
        is_there: bool,
    ) -> Result<(), EntryError> {
        let of = entry_of(table, key);
        let EntryOf { keys, priority, .. } = of;
        let group = match run {
            Run::Action(ActionCall { action, args }) => {
                return match is_there {
                    true => self.table_modify(table, keys, action, args, priority),
                    false => self.table_add(table, keys, action, args, priority).map(drop),
                };
            }
            Run::Member(member) => {
                return match is_there {
                    true => self.entry_set_member(of, *member),
                    false => self.table_add_member(table, keys, *member, priority).map(drop),
                };
            }
            Run::Group(group) => *group,
            Run::OneShot(set) => self.make_one_shot(table, key, set)?,
        };
        match is_there {
            true => self.entry_set_group(of, group),
            false => self.table_add_group(table, keys, group, priority).map(drop),
        }
    }

    /// Makes a group of an entry's own and gives its number.
    fn make_one_shot(
        &mut self,
        table: &Name,
        key: &EntryKey,
        set: &OneShot<Name>,
    ) -> Result<u32, EntryError> {
        let (mut made, mut group) = (vec![], vec![]);
        for one in &set.actions {
            let number = self.core.one_shots.number();
            let call = (one.call.action.as_str(), one.call.args.as_slice());
            if let Err(error) = self.member_set(table, number, Some(call)) {
                self.drop_members(table, &made)?;
                return Err(error);
            }
            made.push(number);
            group.push(GroupMember { member: number, weight: one.weight, watch: one.watch });
        }
        let number = self.core.one_shots.number();
        if let Err(error) = self.group_set(table, number, Some(group)) {
            self.drop_members(table, &made)?;
            return Err(error);
        }
        self.core.one_shots.groups.insert((table.clone(), key.clone()), (number, made));
        Ok(number)
    }

    fn drop_members(&mut self, table: &str, members: &[u32]) -> Result<(), EntryError> {
        members.iter().try_for_each(|member| self.member_set(table, *member, None))
    }

    fn drop_one_shot(&mut self, table: &Name, key: &EntryKey) -> Result<(), EntryError> {
        let gone = self.core.one_shots.groups.remove(&(table.clone(), key.clone()));
        let Some((group, members)) = gone else { return Ok(()) };
        self.group_set(table, group, None)?;
        self.drop_members(table, &members)
    }

    /// A table that uses a profile.
    fn user_of(&self, profile: &str) -> Result<Name, EntryError> {
        let pick = |object: &Object| matches!(object, Object::Profile(_)).then_some(());
        let (id, ()) = self.core.state.object(&self.core.program, "action profile", profile, pick)?;
        let user = self.core.state.tables.iter().find(|table| table.implementation == Some(id));
        user.map(|table| table.control_plane_name.clone())
            .ok_or_else(|| refused(format!("no table uses `{profile}`: its members would never run")))
    }

    fn write_multicast(&mut self, group: u32, to: Option<&MulticastGroup>) -> Result<(), EntryError> {
        self.check_group(group)?;
        let replicas = to.map_or(&[][..], |to| to.replicas.as_slice());
        self.check_replicas(replicas)?;
        self.set_replicas(group, replicas);
        Ok(())
    }

    fn check_replicas(&self, replicas: &[Replica]) -> Result<(), EntryError> {
        let ports = members(replicas).into_iter().chain(backups(replicas).into_iter().flatten());
        ports.map(|(port, _)| port).try_for_each(|port| self.check_port(port))
    }

    fn set_replicas(&mut self, group: u32, replicas: &[Replica]) {
        self.multicast_group_set(group, members(replicas));
        self.multicast_backups_set(group, backups(replicas));
    }

    fn write_session(&mut self, session: u32, to: Option<&CloneSession>) -> Result<(), EntryError> {
        // Several replicas of a session are a multicast group, numbered above those of controllers.
        let own = SESSION_GROUPS.saturating_add(session);
        let Some(to) = to else {
            self.clone_session_set(session, None);
            self.set_replicas(own, &[]);
            return Ok(());
        };
        self.check_replicas(&to.replicas)?;
        let max_length = Some(to.packet_length_bytes).filter(|length| *length > 0);
        let kind = Session { max_length, class_of_service: to.class_of_service, ..Session::default() };
        let made = match to.replicas.as_slice() {
            [] if to.group.is_some() => Session { group: to.group, ..kind },
            [Replica { port, instance: 0, backups, .. }] if backups.is_empty() => {
                Session { port: Some(*port), group: to.group, ..kind }
            }
            _ if to.group.is_some() => {
                return Err(refused("a session has several replicas of its own, or a multicast group"));
            }
            _ if own >= 2 * SESSION_GROUPS => {
                return Err(refused(format!(
                    "ids of sessions with several replicas must be below {SESSION_GROUPS}"
                )));
            }
            _ => Session { group: Some(own), ..kind },
        };
        let replicas =
            if made.group == Some(own) && to.group.is_none() { to.replicas.as_slice() } else { &[] };
        if own < 2 * SESSION_GROUPS {
            self.set_replicas(own, replicas);
        }
        self.clone_session_set(session, Some(made));
        Ok(())
    }

    /// The value of a register's cells that data stands for.
    fn register_value_of(&self, name: &str, data: &control_writes::Data) -> Result<Value, EntryError> {
        let ty = self.register_type(name)?;
        Value::from_data(&self.core.program, ty, data)
            .ok_or_else(|| refused(format!("the value has the wrong type for a cell of `{name}`")))
    }
}

fn entry_of<'k>(table: &'k str, key: &'k EntryKey) -> EntryOf<'k> {
    EntryOf { table, keys: &key.matches, priority: Some(key.priority) }
}
