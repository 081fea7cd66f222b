//! A change, done to a switch.

use super::{Controlled, data};
use base_time::{Duration, Time};
use dataplane_api::EntryError;
use ir_interp::{EntryOf, GroupMember, KeyMatch, MeterRate, Session};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::P4Data;
use p4runtime_server::Target;
use p4runtime_store::{
    ActionCall, Catalog, Change, CloneSession, Count, DefaultEntry, Described, Entry, EntryKey, Match,
    OneShot, Rates, Replica, Result, Run, SESSION_GROUPS, Watch, Within, backups, fault, members,
};

/// Members and groups of entries' own are numbered from here on.
const ONE_SHOTS: u32 = 1 << 31;

impl Target for Controlled {
    fn apply(&mut self, catalog: &Catalog, change: &Change) -> Result<()> {
        if self.is_broken() {
            return fault("the device refuses this", "it is broken").code(Code::Unavailable);
        }
        match change {
            Change::Entry { table, key, to, count } => {
                self.entry(catalog, *table, key, to.as_deref())?;
                count.map_or(Ok(()), |count| self.direct_count(catalog, *table, key, count))
            }
            Change::Default { table, to, count } => {
                self.default_entry(catalog, *table, to)?;
                let key = EntryKey::of_default();
                count.map_or(Ok(()), |count| self.direct_count(catalog, *table, &key, count))
            }
            Change::Member { profile, member, to } => {
                let table = user(catalog, *profile)?;
                let call = to.as_ref().map(|call| (action_name(catalog, call), call.args.as_slice()));
                self.switch.member_set(table, *member, call).or_else(refused)
            }
            Change::Group { profile, group, to } => {
                let member = |m: &p4runtime_store::GroupMember| group_member(m.member, m.weight, m.watch);
                let members = to.as_ref().map(|group| group.members.iter().map(member).collect());
                self.switch.group_set(user(catalog, *profile)?, *group, members).or_else(refused)
            }
            Change::Multicast { group, to } => {
                let replicas = to.as_ref().map_or(&[][..], |to| to.replicas.as_slice());
                self.numbers_fit(Some(*group), replicas)?;
                self.multicast(*group, replicas);
                Ok(())
            }
            Change::CloneSession { session, to } => self.session(*session, to.as_ref()),
            Change::ValueSet { set, members } => {
                let name = catalog.value_set(*set)?.name();
                self.switch.value_set_clear(name).or_else(refused)?;
                for member in members {
                    let member: Vec<KeyMatch> = member.iter().map(key_match).collect();
                    self.switch.value_set_add(name, &member).or_else(refused)?;
                }
                Ok(())
            }
            Change::Digest { .. } => Ok(()),
            Change::Meter { meter, index, to } => {
                let name = catalog.meter(*meter)?.name();
                self.switch.meter_set(name, *index, to.as_ref().map(rates).transpose()?).or_else(refused)
            }
            Change::Counter { counter, index, to } => {
                let name = catalog.counter(*counter)?.name();
                self.switch.counter_write(name, *index, counted(*to)).or_else(refused)
            }
            Change::Register { register, index, to } => {
                let described = catalog.register(*register)?;
                let old = self.switch.register_value(described.name(), *index).or_else(refused)?;
                let value = data::value(catalog.info(), described.type_spec.as_ref(), to, &old)?;
                self.switch.register_set(described.name(), *index, value).or_else(refused)
            }
            Change::DirectCounter { table, key, to } => self.direct_count(catalog, *table, key, *to),
        }
    }

    fn take_digests(&mut self, catalog: &Catalog) -> Vec<(u32, P4Data)> {
        let digests = self.switch.take_digests();
        digests.iter().filter_map(|digest| data::digest(catalog.info(), digest)).collect()
    }

    fn take_idle(&mut self, catalog: &Catalog, now: Time) -> Vec<(u32, EntryKey)> {
        self.now = now;
        let mut out = vec![];
        for idle in self.switch.take_idle(now) {
            let table = catalog.info().tables.iter().find(|table| table.name() == idle.table.as_str());
            let Some(table) = table else { continue };
            if let Some(key) = self.rearm(&idle, table) {
                out.push((table.id(), key));
            }
        }
        out
    }
}

impl Controlled {
    fn entry(&mut self, catalog: &Catalog, id: u32, key: &EntryKey, to: Option<&Entry>) -> Result<()> {
        let described = catalog.table(id)?;
        let (table, keys, priority) = place(catalog, id, key)?;
        let of = EntryOf { table, keys: &keys, priority };
        let known = self.switch.entry(of).ok();
        let Some(to) = to else {
            self.switch.table_delete(table, &keys, priority).or_else(refused)?;
            self.handles.remove(&(id, known.map_or(u64::MAX, |entry| entry.handle)));
            return self.drop_one_shot(id, key);
        };
        if !(to.is_const && known.is_some()) {
            self.drop_one_shot(id, key)?;
            self.run(catalog, of, id, key, &to.run, known.is_some())?;
        }
        let times_out = described.idle_timeout_behavior != 0 && !to.is_const;
        if times_out
            && known.is_none()
            && let Ok(entry) = self.switch.entry(of)
        {
            self.handles.insert((id, entry.handle), key.clone());
        }
        if catalog.direct_meter(id).is_some() {
            let rates = to.meter.as_ref().map(rates).transpose()?;
            self.switch.entry_set_rates(of, rates).or_else(refused)?;
        }
        if times_out {
            let timeout = match u64::try_from(to.idle_timeout_ns) {
                Ok(ns @ 1..) => Duration::from_ns(ns),
                _ => Duration::MAX,
            };
            self.switch.entry_set_timeout(of, timeout, self.now).or_else(refused)?;
        }
        Ok(())
    }

    fn default_entry(&mut self, catalog: &Catalog, id: u32, to: &DefaultEntry) -> Result<()> {
        let described = catalog.table(id)?;
        let table = described.name();
        if described.const_default_action_id == 0 {
            match &to.call {
                Some(call) => self.switch.table_set_default(table, action_name(catalog, call), &call.args),
                None => self.switch.table_reset_default(table),
            }
            .or_else(refused)?;
        }
        if catalog.counts_misses() && catalog.direct_meter(id).is_some() {
            let rates = to.meter.as_ref().map(rates).transpose()?;
            self.switch.default_set_rates(table, rates).or_else(refused)?;
        }
        Ok(())
    }

    fn direct_count(&mut self, catalog: &Catalog, table: u32, key: &EntryKey, to: Count) -> Result<()> {
        let (table, keys, priority) = place(catalog, table, key)?;
        match key.is_of_default() {
            true => self.switch.default_set_count(table, counted(to)),
            false => self.switch.entry_set_count(EntryOf { table, keys: &keys, priority }, counted(to)),
        }
        .or_else(refused)
    }

    /// Adds an entry or replaces what it runs.
    fn run(
        &mut self,
        catalog: &Catalog,
        of: EntryOf<'_>,
        id: u32,
        key: &EntryKey,
        run: &Run,
        is_there: bool,
    ) -> Result<()> {
        let EntryOf { table, keys, priority } = of;
        let group = match run {
            Run::Action(call) => {
                let action = action_name(catalog, call);
                return match is_there {
                    true => self.switch.table_modify(table, keys, action, &call.args, priority),
                    false => self.switch.table_add(table, keys, action, &call.args, priority).map(drop),
                }
                .or_else(refused);
            }
            Run::Member(member) => {
                return match is_there {
                    true => self.switch.entry_set_member(of, *member),
                    false => self.switch.table_add_member(table, keys, *member, priority).map(drop),
                }
                .or_else(refused);
            }
            Run::Group(group) => *group,
            Run::OneShot(set) => self.one_shot(catalog, table, id, key, set)?,
        };
        match is_there {
            true => self.switch.entry_set_group(of, group),
            false => self.switch.table_add_group(table, keys, group, priority).map(drop),
        }
        .or_else(refused)
    }

    /// Makes a group of an entry's own and gives its number.
    fn one_shot(
        &mut self,
        catalog: &Catalog,
        table: &str,
        id: u32,
        key: &EntryKey,
        set: &OneShot,
    ) -> Result<u32> {
        let mut made = vec![];
        let mut group = vec![];
        for one in &set.actions {
            let number = self.free_number();
            let call = (action_name(catalog, &one.call), one.call.args.as_slice());
            if let Err(error) = self.switch.member_set(table, number, Some(call)) {
                self.drop_members(table, &made)?;
                return refused(error);
            }
            made.push(number);
            group.push(group_member(number, one.weight, one.watch));
        }
        let number = self.free_number();
        if let Err(error) = self.switch.group_set(table, number, Some(group)) {
            self.drop_members(table, &made)?;
            return refused(error);
        }
        self.one_shots.insert((id, key.clone()), (table.to_string(), number, made));
        Ok(number)
    }

    fn free_number(&mut self) -> u32 {
        self.numbers = self.numbers.wrapping_add(1);
        ONE_SHOTS | self.numbers
    }

    fn drop_members(&mut self, table: &str, members: &[u32]) -> Result<()> {
        members.iter().try_for_each(|member| self.switch.member_set(table, *member, None).or_else(refused))
    }

    fn drop_one_shot(&mut self, table: u32, key: &EntryKey) -> Result<()> {
        let Some((table, group, members)) = self.one_shots.remove(&(table, key.clone())) else {
            return Ok(());
        };
        self.switch.group_set(&table, group, None).or_else(refused)?;
        self.drop_members(&table, &members)
    }

    /// Refuses numbers that the architecture's types cannot hold.
    fn numbers_fit(&self, group: Option<u32>, replicas: &[Replica]) -> Result<()> {
        let group = group.map_or(Ok(()), |group| self.switch.check_group(group));
        let ports = members(replicas).into_iter().chain(backups(replicas).into_iter().flatten());
        let all = group
            .and_then(|()| ports.map(|(port, _)| port).try_for_each(|port| self.switch.check_port(port)));
        all.or_else(|error| fault("a number does not fit", error.message).help(|| error.help))
    }

    fn session(&mut self, session: u32, to: Option<&CloneSession>) -> Result<()> {
        // The store takes none above.
        let group = SESSION_GROUPS.saturating_add(session);
        let Some(to) = to else {
            self.switch.clone_session_set(session, None);
            self.switch.multicast_group_set(group, vec![]);
            return Ok(());
        };
        let replicas = to.replicas.as_slice();
        self.numbers_fit(None, replicas)?;
        let max_length = Some(to.packet_length_bytes).filter(|length| *length > 0);
        let kind = Session { max_length, class_of_service: to.class_of_service, ..Session::default() };
        match replicas {
            [Replica { port, instance: 0, backups, .. }] if backups.is_empty() => {
                self.multicast(group, &[]);
                self.switch.clone_session_set(session, Some(Session { port: Some(*port), ..kind }));
            }
            _ => {
                self.multicast(group, replicas);
                self.switch.clone_session_set(session, Some(Session { group: Some(group), ..kind }));
            }
        }
        Ok(())
    }

    fn multicast(&mut self, group: u32, replicas: &[Replica]) {
        self.switch.multicast_group_set(group, members(replicas));
        self.switch.multicast_backups_set(group, backups(replicas));
    }

    /// Which entry was idle; it may be idle again.
    fn rearm(
        &mut self,
        idle: &ir_interp::IdleEntry,
        table: &p4runtime_proto::p4::config::v1::Table,
    ) -> Option<EntryKey> {
        let key = self.handles.get(&(table.id(), idle.handle))?.clone();
        let keys: Vec<KeyMatch> = key.matches.iter().map(key_match).collect();
        let of = EntryOf { table: table.name(), keys: &keys, priority: Some(i64::from(key.priority)) };
        self.switch.entry_restart(of, self.now).ok()?;
        Some(key)
    }
}

/// Where an entry is: its table, keys and priority.
pub(super) fn place<'c>(
    catalog: &'c Catalog,
    table: u32,
    key: &EntryKey,
) -> Result<(&'c str, Vec<KeyMatch>, Option<i64>)> {
    let keys = key.matches.iter().map(key_match).collect();
    Ok((catalog.table(table)?.name(), keys, Some(i64::from(key.priority)).filter(|priority| *priority != 0)))
}

fn key_match(wanted: &Match) -> KeyMatch {
    match wanted.clone() {
        Match::Any => KeyMatch::Any,
        Match::Exact(value) => KeyMatch::Exact(value),
        Match::Lpm { value, prefix_len } => KeyMatch::Lpm { value, prefix_len },
        Match::Ternary { value, mask } => KeyMatch::Ternary { value, mask },
        Match::Range { low, high } => KeyMatch::Range { lo: low, hi: high },
    }
}

fn action_name<'c>(catalog: &'c Catalog, call: &ActionCall) -> &'c str {
    catalog.action(call.action).map_or("", |action| action.name())
}

/// A table that uses a profile.
fn user(catalog: &Catalog, profile: u32) -> Result<&str> {
    match catalog.profile(profile)?.table_ids.first() {
        Some(table) => Ok(catalog.table(*table)?.name()),
        None => fault("no table uses this profile", "its members would run nowhere")
            .code(Code::FailedPrecondition),
    }
}

fn group_member(member: u32, weight: i32, watch: Watch) -> GroupMember {
    let watch = match watch {
        Watch::No => None,
        Watch::Port(port) => Some(port),
        Watch::Legacy(port) => u32::try_from(port).ok(),
    };
    // Where weights are not allowed all are 0, and equal.
    GroupMember { member, weight: u32::try_from(weight).unwrap_or(0).max(1), watch }
}

fn counted(count: Count) -> ir_interp::Count {
    ir_interp::Count { packets: count.packets, bytes: count.bytes }
}

fn rates(rates: &Rates) -> Result<(MeterRate, MeterRate)> {
    Ok((MeterRate::per_second(rates.cir, rates.cburst), MeterRate::per_second(rates.pir, rates.pburst)))
}

/// What the switch refuses although it was checked: it has fewer means than the P4Info says.
pub(super) fn refused<T>(error: EntryError) -> Result<T> {
    fault("the device refuses this", error.message).help(|| error.help).code(Code::ResourceExhausted)
}
