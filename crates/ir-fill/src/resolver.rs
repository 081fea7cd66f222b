//! Earlier writes, and the resolution of each language's statements to writes.

use crate::handles::Handles;
use crate::nodes::Nodes;
use crate::{Resolved, Write, refuse, refused};
use base_bits::Bits;
use base_diag::{Diagnostic, Span};
use base_time::Time;
use control_writes::{ActionCall, CloneSession, Entry, EntryKey, Match, MulticastGroup, Replica};
use dataplane_api::EntryError;
use device::{Options, PortNumbers, Specs, Switch, TableSpec};
use ir::{Name, Program};
use p4_entries::Statement;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A write, with where a text says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The write.
    pub write: Write,
    /// The statement.
    pub span: Span,
    /// The statement is one of STF.
    pub(crate) is_stf: bool,
}

impl Placed {
    /// A write that no statement was resolved to.
    pub fn new(write: Write, span: Span) -> Placed {
        Placed { write, span, is_stf: false }
    }

    /// Writes to a device before time goes on.
    pub fn write_to(&self, switch: &mut Switch) -> Result<(), Diagnostic> {
        switch.write(&self.write, Time::ZERO).map_err(|error| self.refused(error))
    }

    /// The diagnostic for a write that a device refuses.
    pub fn refused(&self, error: EntryError) -> Diagnostic {
        match self.is_stf {
            true => crate::stf::refusal(error, self.span),
            false => *refuse(self.span, error),
        }
    }
}

/// Resolves statements, one after the other. Later statements may refer to earlier ones.
#[derive(Clone, Debug)]
pub struct Resolver {
    pub(crate) program: Arc<Program>,
    pub(crate) specs: Specs,
    /// Entries of tables, indexed as in `specs`.
    pub(crate) tables: Vec<Entries>,
    pub(crate) value_sets: BTreeMap<Name, Vec<Vec<Match>>>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
    pub(crate) nodes: Nodes,
    pub(crate) ports: PortNumbers,
    /// Numbers by profile name.
    pub(crate) profiles: BTreeMap<Name, Numbers>,
    /// Members that are defaults of tables, by the table's index.
    pub(crate) default_members: BTreeMap<usize, u32>,
    /// Handles of entries by the names that an STF test gave them.
    pub(crate) named: BTreeMap<String, u64>,
}

/// The entries of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Entries {
    /// With the device's handles.
    pub(crate) by_key: BTreeMap<EntryKey, (u64, Entry<Name>)>,
    /// The handle of the next entry.
    pub(crate) next_handle: u64,
    pub(crate) handles: Handles,
}

/// Members and groups of a profile.
#[derive(Clone, Default, Debug)]
pub(crate) struct Numbers {
    pub(crate) members: BTreeSet<u32>,
    /// Actions of members that files made.
    pub(crate) actions: BTreeMap<u32, ActionCall<Name>>,
    /// The members of each group.
    pub(crate) groups: BTreeMap<u32, BTreeSet<u32>>,
    /// The numbers of members by their labels.
    pub(crate) member_labels: BTreeMap<String, u32>,
    /// The numbers of groups by their labels.
    pub(crate) group_labels: BTreeMap<String, u32>,
}

impl Entries {
    fn new(spec: &TableSpec) -> Entries {
        let mut entries = Entries { next_handle: spec.next_handle, ..Entries::default() };
        for entry in &spec.entries {
            let of = Entry { is_const: entry.is_const, ..Entry::new(entry.run.clone()) };
            entries.handles.added(entry.key.clone());
            entries.by_key.insert(entry.key.clone(), (entry.handle, of));
        }
        entries
    }

    /// The entry that a write names; the ranks of constant entries are the program's own, and do not count.
    pub(crate) fn find(&self, key: &EntryKey) -> Option<EntryKey> {
        if self.by_key.contains_key(key) {
            return Some(key.clone());
        }
        let constant = self.by_key.iter().filter(|(_, (_, entry))| entry.is_const);
        { constant }.map(|(known, _)| known).find(|known| known.matches == key.matches).cloned()
    }

    /// The key of the entry with a device's handle.
    pub(crate) fn with_handle(&self, handle: u64) -> Option<&EntryKey> {
        self.by_key.iter().find(|(_, (known, _))| *known == handle).map(|(key, _)| key)
    }
}

impl Resolver {
    /// Resolver for a program without writes. Errors: reasons why the program cannot be run.
    pub fn new(program: &Arc<Program>) -> Result<Resolver, Vec<Diagnostic>> {
        let specs = Specs::new(program)?;
        Ok(Resolver {
            program: Arc::clone(program),
            tables: specs.tables.iter().map(Entries::new).collect(),
            specs,
            value_sets: BTreeMap::new(),
            sessions: BTreeMap::new(),
            nodes: Nodes::default(),
            ports: PortNumbers::of(program, Options::default().drop_port),
            profiles: BTreeMap::new(),
            default_members: BTreeMap::new(),
            named: BTreeMap::new(),
        })
    }

    /// Another text begins: labels of members and groups, and names of entries, are each text's own.
    pub fn begin(&mut self) {
        self.named.clear();
        for numbers in self.profiles.values_mut() {
            numbers.member_labels.clear();
            numbers.group_labels.clear();
        }
    }

    /// True for an entry of the source.
    pub fn is_own(&self, table: &Name, key: &EntryKey) -> bool {
        let known = self.specs.tables.iter().find(|known| known.name == *table);
        known.is_some_and(|known| known.entries.iter().any(|entry| entry.key == *key))
    }

    /// Writes of a statement of TOML or `simple_switch_CLI`, with its place.
    pub fn statement(&mut self, statement: &Statement) -> Result<Vec<Placed>, Vec<Diagnostic>> {
        let span = span_of(statement);
        if let Statement::Stf(statement) = statement {
            return self.stf(statement);
        }
        match self.resolve(statement) {
            Ok(writes) => Ok(writes.into_iter().map(|write| Placed::new(write, span)).collect()),
            Err(problem) => Err(vec![*problem]),
        }
    }

    /// Resolves statements and writes them to a device before time goes on. All that is refused is reported.
    pub fn fill(&mut self, statements: &[Statement], switch: &mut Switch) -> Result<(), Vec<Diagnostic>> {
        let mut problems = vec![];
        for statement in statements {
            match self.statement(statement) {
                Ok(all) => {
                    let mut refused = all.iter().map(|placed| placed.write_to(switch));
                    problems.extend(refused.find_map(Result::err));
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn resolve(&mut self, statement: &Statement) -> Resolved {
        match statement {
            Statement::Entry { table, keys, run, priority, idle_timeout, rates, span } => {
                self.entry(table, keys, run, (*priority, *idle_timeout, *rates), *span)
            }
            Statement::Default { table, action, args, .. } => self.default(table, action, args),
            Statement::DefaultMember { table, label, .. } => self.default_member(table, label),
            Statement::Member { profile, label, action, args, .. } => {
                self.member(profile, label, action, args)
            }
            Statement::Group { profile, label, members, .. } => self.group(profile, label, members),
            Statement::GroupMembers { profile, label, members, .. } => {
                self.group_members(profile, label, members)
            }
            Statement::DeleteGroup { profile, label } => self.delete_group(profile, label),
            Statement::ModifyMember { profile, label, action, args, .. } => {
                self.modify_member(profile, label, action, args)
            }
            Statement::DeleteMember { profile, label } => self.delete_member(profile, label),
            Statement::Multicast { group, members, .. } => {
                let replicas = members.iter().map(|(port, rid)| Replica::new(*port, *rid)).collect();
                let to = MulticastGroup { replicas, metadata: vec![] };
                self.nodes.set_group(*group, Some(to.clone()));
                Ok(vec![Write::Multicast { group: *group, to: Some(to) }])
            }
            Statement::Clone { session, port, group, .. } => {
                let replicas = port.iter().map(|port| Replica::new(*port, 0)).collect();
                let to = CloneSession { replicas, group: *group, ..CloneSession::default() };
                Ok(self.set_session(*session, Some(to)))
            }
            Statement::CloneTo { session, members, bytes, .. } => {
                let replicas = members.iter().map(|(port, rid)| Replica::new(*port, *rid)).collect();
                let to = CloneSession { replicas, packet_length_bytes: *bytes, ..CloneSession::default() };
                Ok(self.set_session(*session, Some(to)))
            }
            Statement::Modify { table, handle, action, args, span } => {
                self.modify(table, handle, action, args, *span)
            }
            Statement::Delete { table, handle } => self.delete(table, handle),
            Statement::Timeout { table, handle, timeout, span } => {
                self.timeout(table, handle, *timeout, *span)
            }
            Statement::Clear(table) => {
                let at = self.table_at(table)?;
                Ok(self.clear(at))
            }
            Statement::ResetDefault(table) => {
                let at = self.table_at(table)?;
                let table = self.specs.tables[at].name.clone();
                self.default_members.remove(&at);
                Ok(vec![Write::Default { table, to: Box::default(), count: None }])
            }
            Statement::ResetCounter(name) => self.reset_counter(name),
            Statement::ClearValueSet(name) => {
                let set = self.specs.value_set(&name.text).map_err(|e| refuse(name.span, e))?.name.clone();
                self.value_sets.remove(&set);
                Ok(vec![Write::ValueSet { set, members: vec![] }])
            }
            Statement::CustomCrc { calculation, width, crc, .. } => {
                self.custom_crc(calculation, *width, *crc)
            }
            Statement::Register { name, index, value } => {
                let width = u32::try_from(value.value.bits()).unwrap_or(u32::MAX).max(1);
                let bits = Bits::from_biguint(width, value.value.clone());
                let written = self.register(&name.text, *index, &bits);
                written.map_err(|(of_name, e)| refuse(if of_name { name.span } else { value.span }, e))
            }
            Statement::Counter { name, index, packets, bytes, .. } => {
                let count = control_writes::Count { packets: *packets, bytes: *bytes };
                self.counter(&name.text, *index, count).map_err(|e| refuse(name.span, e))
            }
            Statement::Meter { name, index, rates, span } => match index {
                Some(index) => self.meter(&name.text, *index, *rates),
                None => self.meter_array(&name.text, *rates),
            }
            .map_err(|e| refuse(*span, e)),
            Statement::ValueSet { name, member, span } => {
                let member: Vec<_> = member.iter().map(|m| crate::values::plain(&m.value)).collect();
                self.value_set(&name.text, &member).map_err(|e| refuse(*span, e))
            }
            Statement::RemoveFromValueSet { name, member, span } => {
                let member: Vec<_> = member.iter().map(|m| crate::values::plain(&m.value)).collect();
                self.remove_from_value_set(&name.text, &member).map_err(|e| refuse(*span, e))
            }
            // Handled above.
            Statement::Stf(_) => Ok(vec![]),
        }
    }

    /// Takes note of a write that no statement was resolved to, one of P4Runtime's, and gives it with its keys in their tables'
    /// normal form.
    pub fn note(&mut self, write: &Write) -> Result<Write, EntryError> {
        let mut write = write.clone();
        match &mut write {
            Write::DirectCounter { table, key, .. } if !key.is_of_default() => {
                let spec = &self.specs.tables[self.specs.table(table)?];
                *key = spec.key(&key.matches, Some(key.priority))?;
            }
            Write::Entry { table, key, to, .. } => {
                let at = self.specs.table(table)?;
                let spec = &self.specs.tables[at];
                *key = spec.key(&key.matches, Some(key.priority))?;
                let key = key.clone();
                let known = self.tables[at].find(&key);
                match (to, known) {
                    (Some(_), Some(_)) => {
                        return Err(refused(format!("`{}` has this entry already", spec.name)));
                    }
                    (Some(entry), None) => self.added(at, key, (**entry).clone()),
                    (None, Some(known)) => self.removed(at, &known),
                    (None, None) => {}
                }
            }
            Write::Member { profile, member, to } => {
                let numbers = self.profiles.entry(profile.clone()).or_default();
                match to {
                    Some(_) => drop(numbers.members.insert(*member)),
                    None => drop(numbers.members.remove(member)),
                }
            }
            Write::Group { profile, group, to } => {
                let numbers = self.profiles.entry(profile.clone()).or_default();
                match to {
                    Some(to) => {
                        let members = to.members.iter().map(|member| member.member);
                        numbers.groups.insert(*group, members.collect());
                    }
                    None => drop(numbers.groups.remove(group)),
                }
            }
            Write::Multicast { group, to } => self.nodes.set_group(*group, to.clone()),
            Write::CloneSession { session, to } => drop(self.set_session(*session, to.clone())),
            Write::ValueSet { set, members } => {
                let spec = self.specs.value_set(set)?;
                for member in members.iter_mut() {
                    *member = spec.member(member)?;
                }
                self.value_sets.insert(set.clone(), members.clone());
            }
            _ => {}
        }
        Ok(write)
    }

    /// A clone session becomes this.
    pub(crate) fn set_session(&mut self, session: u32, to: Option<CloneSession>) -> Vec<Write> {
        match &to {
            Some(to) => drop(self.sessions.insert(session, to.clone())),
            None => drop(self.sessions.remove(&session)),
        }
        vec![Write::CloneSession { session, to }]
    }

    /// Multicast groups as their nodes make them.
    pub(crate) fn groups_of_nodes(&self, groups: impl IntoIterator<Item = u32>) -> Vec<Write> {
        let write = |group| Write::Multicast { group, to: self.nodes.group(group) };
        groups.into_iter().map(write).collect()
    }

    /// Removes a member of a value set, if it is there.
    fn remove_from_value_set(&mut self, name: &str, member: &[Match]) -> Result<Vec<Write>, EntryError> {
        let spec = self.specs.value_set(name)?;
        let (set, member) = (spec.name.clone(), spec.member(member)?);
        let members = self.value_sets.entry(set.clone()).or_default();
        members.retain(|known| *known != member);
        Ok(vec![Write::ValueSet { set, members: members.clone() }])
    }

    /// Adds a member to a value set.
    pub(crate) fn value_set(&mut self, name: &str, member: &[Match]) -> Result<Vec<Write>, EntryError> {
        let spec = self.specs.value_set(name)?;
        let (set, member) = (spec.name.clone(), spec.member(member)?);
        let members = self.value_sets.entry(set.clone()).or_default();
        if members.contains(&member) {
            return Err(refused(format!("`{set}` has this member already")));
        }
        members.push(member);
        Ok(vec![Write::ValueSet { set, members: members.clone() }])
    }
}

/// Place of a statement.
fn span_of(statement: &Statement) -> Span {
    match statement {
        Statement::Entry { span, .. }
        | Statement::Default { span, .. }
        | Statement::DefaultMember { span, .. }
        | Statement::Member { span, .. }
        | Statement::Group { span, .. }
        | Statement::GroupMembers { span, .. }
        | Statement::ModifyMember { span, .. }
        | Statement::RemoveFromValueSet { span, .. }
        | Statement::Multicast { span, .. }
        | Statement::Clone { span, .. }
        | Statement::CloneTo { span, .. }
        | Statement::Counter { span, .. }
        | Statement::Meter { span, .. }
        | Statement::ValueSet { span, .. }
        | Statement::Modify { span, .. }
        | Statement::Timeout { span, .. }
        | Statement::CustomCrc { span, .. } => *span,
        Statement::Register { value, .. } => value.span,
        Statement::Delete { handle, .. } => handle.span,
        Statement::DeleteGroup { label, .. } | Statement::DeleteMember { label, .. } => label.span,
        Statement::Clear(name)
        | Statement::ResetDefault(name)
        | Statement::ResetCounter(name)
        | Statement::ClearValueSet(name) => name.span,
        Statement::Stf(statement) => statement.span,
    }
}
