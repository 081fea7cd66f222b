//! Commands about action profiles and selectors: members and groups have handles as in BMv2, the smallest that is free, and are
//! labelled with them.

use crate::commands::{Line, Read};
use crate::{Args, Named, Statement};
use base_diag::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Members and groups of one profile, as earlier lines have left them.
#[derive(Default)]
pub(crate) struct Profile {
    members: BTreeSet<u32>,
    /// The members of each group.
    groups: BTreeMap<u32, BTreeSet<u32>>,
}

/// `act_prof_create_member PROFILE ACTION ARG...`
pub(crate) fn create_member(line: &mut Line) -> Read {
    let (profile, action) = (line.take("the profile")?, line.take("the action")?);
    let args = args(line)?;
    let members = &mut line.profile(&profile).members;
    let handle = smallest_free(members.iter().copied());
    members.insert(handle);
    let label = label(handle, line.span);
    Ok(Some(Statement::Member { profile, label, action, args, span: line.span }))
}

/// `act_prof_modify_member PROFILE ACTION MEMBER [=>] ARG...`
pub(crate) fn modify_member(line: &mut Line) -> Read {
    let (profile, action) = (line.take("the profile")?, line.take("the action")?);
    let (_, label) = member(line, &profile)?;
    let args = args(line)?;
    Ok(Some(Statement::ModifyMember { profile, label, action, args, span: line.span }))
}

/// `act_prof_delete_member PROFILE MEMBER`
pub(crate) fn delete_member(line: &mut Line) -> Read {
    let profile = line.take("the profile")?;
    let (handle, label) = member(line, &profile)?;
    line.finish()?;
    let known = line.profile(&profile);
    known.members.remove(&handle);
    for group in known.groups.values_mut() {
        group.remove(&handle);
    }
    Ok(Some(Statement::DeleteMember { profile, label }))
}

/// `act_prof_create_group PROFILE`
pub(crate) fn create_group(line: &mut Line) -> Read {
    let profile = line.take("the profile")?;
    line.finish()?;
    let groups = &mut line.profile(&profile).groups;
    let handle = smallest_free(groups.keys().copied());
    groups.insert(handle, BTreeSet::new());
    let label = label(handle, line.span);
    Ok(Some(Statement::Group { profile, label, members: vec![], span: line.span }))
}

/// `act_prof_delete_group PROFILE GROUP`
pub(crate) fn delete_group(line: &mut Line) -> Read {
    let profile = line.take("the profile")?;
    let (handle, label) = group(line, &profile)?;
    line.finish()?;
    line.profile(&profile).groups.remove(&handle);
    Ok(Some(Statement::DeleteGroup { profile, label }))
}

/// `act_prof_add_member_to_group PROFILE MEMBER GROUP`
pub(crate) fn add_member_to_group(line: &mut Line) -> Read {
    membership(line, |members, member| members.insert(member), "the group has this member already")
}

/// `act_prof_remove_member_from_group PROFILE MEMBER GROUP`
pub(crate) fn remove_member_from_group(line: &mut Line) -> Read {
    membership(line, |members, member| members.remove(&member), "the group has no such member")
}

fn membership(line: &mut Line, change: fn(&mut BTreeSet<u32>, u32) -> bool, unchanged: &str) -> Read {
    let profile = line.take("the profile")?;
    let (member, named) = member(line, &profile)?;
    let (group, label) = group(line, &profile)?;
    line.finish()?;
    let members = line.profile(&profile).groups.entry(group).or_default();
    if !change(members, member) {
        return Err(line.wrong(named.span, "this changes no group", unchanged));
    }
    let members = members.iter().map(|member| self::label(*member, named.span)).collect();
    Ok(Some(Statement::GroupMembers { profile, label, members, span: line.span }))
}

/// `table_indirect_set_default TABLE MEMBER`
pub(crate) fn default_member(line: &mut Line) -> Read {
    let table = line.take("the table")?;
    let (handle, word) = line.handle("the member")?;
    line.finish()?;
    Ok(Some(Statement::DefaultMember { table, label: label(handle, word.span), span: line.span }))
}

/// `table_indirect_set_default_with_group TABLE GROUP`
pub(crate) fn default_group(line: &mut Line) -> Read {
    let problem =
        line.wrong(line.span, "a default that names a group", "the default of a table is one action");
    Err(problem.help("name a member: `table_indirect_set_default TABLE MEMBER`"))
}

fn args(line: &mut Line) -> Result<Args, Diagnostic> {
    let words = std::mem::take(&mut line.words);
    let words = match words.split_first() {
        Some((first, rest)) if first.text == "=>" => rest,
        _ => words.as_slice(),
    };
    line.args(words).map(Args::InOrder)
}

fn member(line: &mut Line, profile: &Named) -> Result<(u32, Named), Diagnostic> {
    let (handle, word) = line.handle("the member")?;
    match line.profile(profile).members.contains(&handle) {
        true => Ok((handle, label(handle, word.span))),
        false => Err(line.wrong(word.span, "there is no such member", "no line above makes it")),
    }
}

fn group(line: &mut Line, profile: &Named) -> Result<(u32, Named), Diagnostic> {
    let (handle, word) = line.handle("the group")?;
    match line.profile(profile).groups.contains_key(&handle) {
        true => Ok((handle, label(handle, word.span))),
        false => Err(line.wrong(word.span, "there is no such group", "no line above makes it")),
    }
}

/// Label of the member or group with a handle.
fn label(handle: u32, span: Span) -> Named {
    Named { text: handle.to_string(), span }
}

fn smallest_free(used: impl Iterator<Item = u32>) -> u32 {
    let mut free = 0;
    for used in used {
        if used > free {
            break;
        }
        free = used + 1;
    }
    free
}
