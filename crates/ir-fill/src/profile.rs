//! Members and groups of action profiles, which files call by labels.

use crate::resolver::Resolver;
use crate::values::data;
use crate::{Resolved, Write, refuse, unknown, wrong};
use base_diag::Diagnostic;
use control_writes::{ActionCall, Group, GroupMember, Run};
use device::TableSpec;
use ir::Name;
use p4_entries::{Args, Named};
use std::collections::BTreeSet;

impl Resolver {
    /// The profile of which `name` is the name, or that of a table which uses it; and such a table.
    fn profile_and_table(&self, name: &Named) -> Result<(Name, &TableSpec), Box<Diagnostic>> {
        let with = || self.specs.tables.iter().filter_map(|table| Some((table.profile.as_ref()?, table)));
        let is = |known: &str| known == name.text || known.ends_with(&format!(".{}", name.text));
        let mut found = with().filter(|(profile, table)| is(profile) || is(&table.name));
        match found.next() {
            Some((profile, table)) => Ok((profile.clone(), table)),
            None => {
                let known: Vec<&str> = with().map(|(profile, _)| profile.as_str()).collect();
                Err(unknown("action profile or selector", name, &known))
            }
        }
    }

    /// The profile that `name` means.
    pub(crate) fn profile_of(&self, name: &Named) -> Result<Name, Box<Diagnostic>> {
        self.profile_and_table(name).map(|(profile, _)| profile)
    }

    pub(crate) fn member(&mut self, profile: &Named, label: &Named, action: &Named, args: &Args) -> Resolved {
        let (profile, table) = self.profile_and_table(profile)?;
        let known = table.action(&action.text).map_err(|e| refuse(action.span, e))?;
        let (args, _) = data(table, known, action, args)?;
        let call = ActionCall { action: known.name.clone(), args };
        let numbers = self.profiles.entry(profile.clone()).or_default();
        let member = smallest_free(numbers.members.iter().copied());
        if numbers.member_labels.contains_key(&label.text) {
            return Err(wrong(label.span, "this name is taken already"));
        }
        numbers.member_labels.insert(label.text.clone(), member);
        numbers.members.insert(member);
        numbers.actions.insert(member, call.clone());
        Ok(vec![Write::Member { profile, member, to: Some(call) }])
    }

    /// The default action of a table becomes that of a member, and follows it.
    pub(crate) fn default_member(&mut self, table: &Named, label: &Named) -> Resolved {
        let at = self.table_at(table)?;
        let spec = &self.specs.tables[at];
        let Some(profile) = &spec.profile else {
            let title = format!("the entries of `{}` name no members", spec.name);
            return Err(wrong(table.span, title));
        };
        let member = self.labelled(profile, label, true)?;
        let call = self.profiles.get(profile).and_then(|numbers| numbers.actions.get(&member));
        let Some(call) = call.cloned() else {
            return Err(wrong(label.span, "the action of this member is not known"));
        };
        let table = spec.name.clone();
        self.default_members.insert(at, member);
        Ok(vec![self.set_default(table, call, Some(member))])
    }

    /// Tables whose default is a member of a profile.
    fn tables_with_default<'r>(&'r self, profile: &'r Name, member: u32) -> impl Iterator<Item = &'r Name> {
        let named = self.default_members.iter().filter(move |(_, named)| **named == member);
        named
            .map(|(at, _)| &self.specs.tables[*at])
            .filter(move |table| table.profile.as_ref() == Some(profile))
            .map(|table| &table.name)
    }

    pub(crate) fn group(&mut self, profile: &Named, label: &Named, members: &[Named]) -> Resolved {
        let profile = self.profile_of(profile)?;
        let found = members.iter().map(|member| self.labelled(&profile, member, true));
        let found: BTreeSet<u32> = found.collect::<Result<_, _>>()?;
        let numbers = self.profiles.entry(profile.clone()).or_default();
        let group = smallest_free(numbers.groups.keys().copied());
        if numbers.group_labels.contains_key(&label.text) {
            return Err(wrong(label.span, "this name is taken already"));
        }
        numbers.group_labels.insert(label.text.clone(), group);
        numbers.groups.insert(group, found.clone());
        let members = found.into_iter().map(GroupMember::new).collect();
        Ok(vec![Write::Group { profile, group, to: Some(Group { members, max_size: 0 }) }])
    }

    /// A group that was made has other members.
    pub(crate) fn group_members(&mut self, profile: &Named, label: &Named, members: &[Named]) -> Resolved {
        let profile = self.profile_of(profile)?;
        let group = self.labelled(&profile, label, false)?;
        let found = members.iter().map(|member| self.labelled(&profile, member, true));
        let found: BTreeSet<u32> = found.collect::<Result<_, _>>()?;
        let members: Vec<_> = found.into_iter().map(GroupMember::new).collect();
        let numbers = self.profiles.entry(profile.clone()).or_default();
        numbers.groups.insert(group, members.iter().map(|member| member.member).collect());
        Ok(vec![Write::Group { profile, group, to: Some(Group { members, max_size: 0 }) }])
    }

    /// A group that no entry names is removed.
    pub(crate) fn delete_group(&mut self, profile: &Named, label: &Named) -> Resolved {
        let profile = self.profile_of(profile)?;
        let group = self.labelled(&profile, label, false)?;
        if self.runs(&profile, &Run::Group(group)) {
            return Err(wrong(label.span, "entries name this group"));
        }
        let numbers = self.profiles.entry(profile.clone()).or_default();
        numbers.groups.remove(&group);
        numbers.group_labels.remove(&label.text);
        Ok(vec![Write::Group { profile, group, to: None }])
    }

    /// A member runs something else.
    pub(crate) fn modify_member(
        &mut self,
        profile: &Named,
        label: &Named,
        action: &Named,
        args: &Args,
    ) -> Resolved {
        let (profile, table) = self.profile_and_table(profile)?;
        let known = table.action(&action.text).map_err(|e| refuse(action.span, e))?;
        let (args, _) = data(table, known, action, args)?;
        let call = ActionCall { action: known.name.clone(), args };
        let member = self.labelled(&profile, label, true)?;
        let numbers = self.profiles.entry(profile.clone()).or_default();
        numbers.actions.insert(member, call.clone());
        let defaults: Vec<_> = self.tables_with_default(&profile, member).cloned().collect();
        let defaults = defaults.into_iter().map(|table| self.set_default(table, call.clone(), Some(member)));
        let defaults: Vec<_> = defaults.collect();
        Ok([vec![Write::Member { profile, member, to: Some(call) }], defaults].concat())
    }

    /// A member that no entry and no group names is removed.
    pub(crate) fn delete_member(&mut self, profile: &Named, label: &Named) -> Resolved {
        let profile = self.profile_of(profile)?;
        let member = self.labelled(&profile, label, true)?;
        if self.runs(&profile, &Run::Member(member)) {
            return Err(wrong(label.span, "entries name this member"));
        }
        if let Some(table) = self.tables_with_default(&profile, member).next() {
            return Err(wrong(label.span, format!("it is the default of `{table}`")));
        }
        let numbers = self.profiles.entry(profile.clone()).or_default();
        if let Some((group, _)) = numbers.groups.iter().find(|(_, members)| members.contains(&member)) {
            return Err(wrong(label.span, format!("group {group} has this member")));
        }
        numbers.members.remove(&member);
        numbers.actions.remove(&member);
        numbers.member_labels.remove(&label.text);
        Ok(vec![Write::Member { profile, member, to: None }])
    }

    /// True if an entry of a table with this profile runs this.
    fn runs(&self, profile: &Name, run: &Run<Name>) -> bool {
        let tables = self.specs.tables.iter().zip(&self.tables);
        let with = tables.filter(|(table, _)| table.profile.as_ref() == Some(profile));
        { with }.any(|(_, entries)| entries.by_key.values().any(|(_, entry)| entry.run == *run))
    }

    /// The number of the member, or else of the group, with a label.
    pub(crate) fn labelled(
        &self,
        profile: &str,
        label: &Named,
        is_member: bool,
    ) -> Result<u32, Box<Diagnostic>> {
        let numbers = self.profiles.get(profile);
        let labels = numbers.map(|numbers| match is_member {
            true => &numbers.member_labels,
            false => &numbers.group_labels,
        });
        if let Some(number) = labels.and_then(|labels| labels.get(&label.text)) {
            return Ok(*number);
        }
        let known: Vec<&str> = labels.into_iter().flatten().map(|(label, _)| label.as_str()).collect();
        Err(unknown(if is_member { "member" } else { "group" }, label, &known))
    }
}

fn smallest_free(used: impl Iterator<Item = u32>) -> u32 {
    (0..).zip(used).take_while(|(free, used)| free == used).count() as u32
}
