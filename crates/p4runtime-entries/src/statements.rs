//! Changes as statements.

use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use base_diag::Span;
use base_time::Duration;
use p4_entries::{Args, Keys, Match, Named, Rate, Run, Statement, Value};
use p4runtime_proto::p4::config::v1::{MatchField, Table};
use p4runtime_proto::p4::v1::{P4Data, p4_data::Data};
use p4runtime_store::{
    self as store, ActionCall, Catalog, Change, CloneSession, Described, Entry, EntryKey, OneShot, Rates,
    Replica, Result, SESSION_GROUPS, Within, fault, members, not_supported,
};

/// Makes statements of changes; the names come from a catalog.
pub(crate) struct Speaker<'c> {
    catalog: &'c Catalog,
    span: Span,
}

impl<'c> Speaker<'c> {
    /// `span` is where the text says it.
    pub(crate) fn new(catalog: &'c Catalog, span: Span) -> Speaker<'c> {
        Speaker { catalog, span }
    }

    /// What makes the change on an empty device. Faults have the path from the update on.
    pub(crate) fn statements(&self, change: &Change) -> Result<Vec<Statement>> {
        let said = self.say(change);
        fields(change).iter().rev().fold(said, |said, field| said.within(field))
    }

    fn say(&self, change: &Change) -> Result<Vec<Statement>> {
        let span = self.span;
        Ok(match change {
            Change::Entry { table, key, to: Some(entry), count } => {
                if count.is_some() {
                    return not_supported("values of direct counters").within("counter_data");
                }
                self.entry(self.catalog.table(*table)?, key, entry)?
            }
            Change::Default { table, to, count } => {
                if count.is_some() {
                    return not_supported("values of direct counters").within("counter_data");
                }
                if to.meter.is_some() {
                    return not_supported("rates of default actions").within("meter_config");
                }
                let table = self.named(self.catalog.table(*table)?.name());
                let call = to.call.as_ref().map(|call| self.call(call));
                let default = |(action, args)| Statement::Default { table, action, args, span };
                call.map(default).into_iter().collect()
            }
            Change::Member { profile, member, to: Some(call) } => {
                let profile = self.named(self.catalog.profile(*profile)?.name());
                vec![self.member(profile, self.named(&member_label(*member)), call)]
            }
            Change::Group { profile, group, to: Some(to) } => {
                for (index, member) in to.members.iter().enumerate() {
                    equal(member.weight).at("members", index)?;
                }
                let profile = self.named(self.catalog.profile(*profile)?.name());
                let label = self.named(&group_label(*group));
                let members = to.members.iter().map(|m| self.named(&member_label(m.member))).collect();
                vec![Statement::Group { profile, label, members, span }]
            }
            Change::Multicast { group, to: Some(to) } => {
                without_backups(&to.replicas)?;
                vec![Statement::Multicast { group: *group, members: members(&to.replicas), span }]
            }
            Change::CloneSession { session, to: Some(to) } => self.session(*session, to)?,
            Change::ValueSet { set, members } => {
                let name = self.catalog.value_set(*set)?.name();
                let member = |member: &Vec<store::Match>| Statement::ValueSet {
                    name: self.named(name),
                    member: member.iter().map(|m| self.value(plain(m))).collect(),
                    span,
                };
                members.iter().map(member).collect()
            }
            Change::Meter { meter, index, to: Some(rates) } => {
                let (committed, peak) = two_rates(rates).within("config")?;
                let name = self.named(self.catalog.meter(*meter)?.name());
                vec![Statement::Meter { name, index: Some(*index), committed, peak, span }]
            }
            Change::Counter { counter, index, to } => {
                let name = self.named(self.catalog.counter(*counter)?.name());
                vec![Statement::Counter { name, index: *index, packets: to.packets, bytes: to.bytes, span }]
            }
            Change::Register { register, index, to } => {
                let name = self.named(self.catalog.register(*register)?.name());
                vec![Statement::Register { name, index: *index, value: self.value(cell(to)?) }]
            }
            Change::DirectCounter { .. } => return not_supported("values of direct counters"),
            Change::Digest { .. } => return not_supported("settings of digests"),
            // What is not there needs nothing.
            Change::Entry { to: None, .. }
            | Change::Member { to: None, .. }
            | Change::Group { to: None, .. }
            | Change::Multicast { to: None, .. }
            | Change::CloneSession { to: None, .. }
            | Change::Meter { to: None, .. } => vec![],
        })
    }

    fn named(&self, text: &str) -> Named {
        Named { text: text.to_string(), span: self.span }
    }

    fn value<T>(&self, value: T) -> Value<T> {
        Value { value, span: self.span }
    }

    fn call(&self, call: &ActionCall) -> (Named, Args) {
        let name = self.catalog.action(call.action).map_or("", |action| action.name());
        let args = call.args.iter().map(|arg| self.value(arg.to_biguint())).collect();
        (self.named(name), Args::InOrder(args))
    }

    fn member(&self, profile: Named, label: Named, call: &ActionCall) -> Statement {
        let (action, args) = self.call(call);
        Statement::Member { profile, label, action, args, span: self.span }
    }

    fn entry(&self, table: &Table, key: &EntryKey, entry: &Entry) -> Result<Vec<Statement>> {
        let rates = entry.meter.as_ref().map(two_rates).transpose().within("meter_config")?;
        let idle_timeout = u64::try_from(entry.idle_timeout_ns).ok().filter(|ns| *ns != 0);
        let (mut made, run) = match &entry.run {
            store::Run::Action(call) => {
                let (action, args) = self.call(call);
                (vec![], Run::Action(action, args))
            }
            store::Run::Member(member) => (vec![], Run::Member(self.named(&member_label(*member)))),
            store::Run::Group(group) => (vec![], Run::Group(self.named(&group_label(*group)))),
            store::Run::OneShot(set) => self.one_shot(table, key, set)?,
        };
        let ranked = key.priority != 0;
        made.push(Statement::Entry {
            table: self.named(table.name()),
            keys: Keys::Named(self.keys(&table.match_fields, &key.matches)),
            run,
            priority: ranked.then_some(i64::from(key.priority)),
            idle_timeout: idle_timeout.map(Duration::from_ns),
            rates,
            span: self.span,
        });
        Ok(made)
    }

    fn keys(&self, fields: &[MatchField], matches: &[store::Match]) -> Vec<(Named, Value<Match>)> {
        fields.iter().zip(matches).map(|(f, m)| (self.named(&f.name), self.value(plain(m)))).collect()
    }

    /// A group of an entry's own: its members, the group, and the entry's run.
    fn one_shot(&self, table: &Table, key: &EntryKey, set: &OneShot) -> Result<(Vec<Statement>, Run)> {
        let profile = self.named(self.catalog.profile(table.implementation_id)?.name());
        let of = format!("one-shot {} {key:?}", table.id());
        let mut made = vec![];
        let mut members = vec![];
        for (index, one) in set.actions.iter().enumerate() {
            equal(one.weight).at("action_profile_actions", index)?;
            let label = self.named(&format!("{of} {index}"));
            made.push(self.member(profile.clone(), label.clone(), &one.call));
            members.push(label);
        }
        let label = self.named(&of);
        made.push(Statement::Group { profile, label: label.clone(), members, span: self.span });
        Ok((made, Run::Group(label)))
    }

    fn session(&self, session: u32, to: &CloneSession) -> Result<Vec<Statement>> {
        let span = self.span;
        if to.packet_length_bytes != 0 {
            return not_supported("clones that are cut short").within("packet_length_bytes");
        }
        if to.class_of_service != 0 {
            return not_supported("classes of service").within("class_of_service");
        }
        without_backups(&to.replicas)?;
        let members = members(&to.replicas);
        if let [(port, 0)] = members.as_slice() {
            return Ok(vec![Statement::Clone { session, port: Some(*port), group: None, span }]);
        }
        let Some(group) = session.checked_add(SESSION_GROUPS) else {
            return fault("the session's number is too large", "it has a multicast group of its own")
                .within("session_id");
        };
        let to = Statement::Clone { session, port: None, group: Some(group), span };
        Ok(vec![Statement::Multicast { group, members, span }, to])
    }
}

fn without_backups(replicas: &[Replica]) -> Result<()> {
    match replicas.iter().position(|replica| !replica.backups.is_empty()) {
        Some(index) => not_supported("backups of replicas").within("backup_replicas").at("replicas", index),
        None => Ok(()),
    }
}

/// The fields that lead from an update to what a change is about.
fn fields(change: &Change) -> &'static [&'static str] {
    match change {
        Change::Entry { .. } | Change::Default { .. } => &["entity", "table_entry"],
        Change::Member { .. } => &["entity", "action_profile_member"],
        Change::Group { .. } => &["entity", "action_profile_group"],
        Change::Multicast { .. } => &["entity", "packet_replication_engine_entry", "multicast_group_entry"],
        Change::CloneSession { .. } => &["entity", "packet_replication_engine_entry", "clone_session_entry"],
        Change::ValueSet { .. } => &["entity", "value_set_entry"],
        Change::Digest { .. } => &["entity", "digest_entry"],
        Change::Meter { .. } => &["entity", "meter_entry"],
        Change::Counter { .. } => &["entity", "counter_entry"],
        Change::Register { .. } => &["entity", "register_entry"],
        Change::DirectCounter { .. } => &["entity", "direct_counter_entry"],
    }
}

/// What statements call a member.
fn member_label(member: u32) -> String {
    format!("member {member}")
}

/// What statements call a group.
fn group_label(group: u32) -> String {
    format!("group {group}")
}

/// Members of equal weight are all that statements say. Ports that members need are up: a watch changes nothing.
fn equal(weight: i32) -> Result<()> {
    match weight {
        0 | 1 => Ok(()),
        _ => not_supported("weights above 1").within("weight"),
    }
}

fn plain(wanted: &store::Match) -> Match {
    let number = Bits::to_biguint;
    match wanted {
        store::Match::Any => Match::Any,
        store::Match::Exact(value) => Match::Exact(number(value)),
        store::Match::Lpm { value, prefix_len } => Match::Prefix(number(value), *prefix_len),
        store::Match::Ternary { value, mask } => Match::Mask(number(value), number(mask)),
        store::Match::Range { low, high } => Match::Range(number(low), number(high)),
    }
}

fn two_rates(rates: &Rates) -> Result<(Rate, Rate)> {
    let rate = |per_second: u64, burst, field| {
        // Units a second, in 10^9 microseconds.
        let Some(per_gigamicrosecond) = per_second.checked_mul(1000) else {
            return fault("a rate that is too large", "it is counted in 1000 seconds").within(field);
        };
        Ok(Rate { per_gigamicrosecond, burst })
    };
    Ok((rate(rates.cir, rates.cburst, "cir")?, rate(rates.pir, rates.pburst, "pir")?))
}

fn cell(data: &P4Data) -> Result<BigUint> {
    match &data.data {
        Some(Data::Bitstring(bytes)) => Ok(BigUint::from_bytes_be(bytes)),
        Some(Data::Bool(value)) => Ok(BigUint::from(u8::from(*value))),
        _ => not_supported("registers of other types than bits and truth values").within("data"),
    }
}
