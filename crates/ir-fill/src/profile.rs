//! Members and groups of action profiles, which files call by labels.

use crate::resolver::Resolver;
use crate::values::data;
use crate::{Resolved, Write, refuse, unknown, wrong};
use base_diag::Diagnostic;
use control_writes::{ActionCall, Group, GroupMember};
use ir::Name;
use ir_interp::TableSpec;
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
        let member = smallest_free(&numbers.members);
        if numbers.member_labels.contains_key(&label.text) {
            return Err(wrong(label.span, "this name is taken already"));
        }
        numbers.member_labels.insert(label.text.clone(), member);
        numbers.members.insert(member);
        Ok(vec![Write::Member { profile, member, to: Some(call) }])
    }

    pub(crate) fn group(&mut self, profile: &Named, label: &Named, members: &[Named]) -> Resolved {
        let profile = self.profile_of(profile)?;
        let found = members.iter().map(|member| self.labelled(&profile, member, true));
        let found: BTreeSet<u32> = found.collect::<Result<_, _>>()?;
        let numbers = self.profiles.entry(profile.clone()).or_default();
        let group = smallest_free(&numbers.groups);
        if numbers.group_labels.contains_key(&label.text) {
            return Err(wrong(label.span, "this name is taken already"));
        }
        numbers.group_labels.insert(label.text.clone(), group);
        numbers.groups.insert(group);
        let members = found.into_iter().map(GroupMember::new).collect();
        Ok(vec![Write::Group { profile, group, to: Some(Group { members, max_size: 0 }) }])
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

fn smallest_free(used: &BTreeSet<u32>) -> u32 {
    (0..).zip(used).find(|(free, used)| free != *used).map_or(used.len() as u32, |(free, _)| free)
}
