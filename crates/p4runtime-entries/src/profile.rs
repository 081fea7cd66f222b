//! Members, groups and one-shots of action profiles (P4Runtime 1.5, section 9.2).

use crate::action::{For, action};
use crate::catalog::{Catalog, Described};
use crate::desired::{Desired, Phase};
use crate::fault::{Result, Within, fault, not_supported};
use base_diag::Span;
use p4_entries::{Named, Run, Statement};
use p4runtime_proto::p4::config::v1::{ActionProfile, Table};
use p4runtime_proto::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, update::Type,
};

/// What statements call a member.
pub(crate) fn member_label(id: u32) -> String {
    format!("member {id}")
}

/// What statements call a group.
pub(crate) fn group_label(id: u32) -> String {
    format!("group {id}")
}

fn key(profile: u32, id: u32) -> String {
    format!("{profile} {id}")
}

/// A member or group that something names has to be there.
pub(crate) fn must_be(desired: &Desired, phase: Phase, profile: u32, id: u32) -> Result<()> {
    let what = if phase == Phase::Member { "member" } else { "group" };
    match desired.has(phase, &key(profile, id)) {
        true => Ok(()),
        false => fault(format!("there is no {what} {id}"), "no update before it inserts this"),
    }
}

pub(crate) fn member(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &ActionProfileMember,
    span: Span,
) -> Result<()> {
    let profile = catalog.profile(entry.action_profile_id)?;
    let owner = || format!("member {} of `{}`", entry.member_id, profile.name());
    let key = key(entry.action_profile_id, entry.member_id);
    if how == Type::Delete {
        return desired.write(how, Phase::Member, key, vec![]).about(owner);
    }
    let made = match &entry.action {
        None => fault("a member without an action", "nothing says what it runs"),
        Some(given) => {
            let found = action(catalog, &tables(catalog, profile), For::Entry, given, span);
            found.within("action").map(|(action, args)| Statement::Member {
                profile: Named { text: profile.name().to_string(), span },
                label: Named { text: member_label(entry.member_id), span },
                action,
                args,
                span,
            })
        }
    };
    made.and_then(|made| desired.write(how, Phase::Member, key, vec![made])).about(owner)
}

/// The tables that use a profile: a member runs an action of theirs.
fn tables<'i>(catalog: &Catalog<'i>, profile: &ActionProfile) -> Vec<&'i Table> {
    profile.table_ids.iter().filter_map(|id| catalog.table(*id).ok()).collect()
}

pub(crate) fn group(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &ActionProfileGroup,
    span: Span,
) -> Result<()> {
    let profile = catalog.profile(entry.action_profile_id)?;
    let owner = || format!("group {} of `{}`", entry.group_id, profile.name());
    if !profile.with_selector {
        return fault("this profile has no selector", "only selectors have groups")
            .within("action_profile_id");
    }
    let mut members = vec![];
    for (index, member) in entry.members.iter().enumerate() {
        must_be(desired, Phase::Member, entry.action_profile_id, member.member_id)
            .within("member_id")
            .and_then(|()| weight(member.weight))
            .at("members", index)
            .about(owner)?;
        members.push(Named { text: member_label(member.member_id), span });
    }
    let made = Statement::Group {
        profile: Named { text: profile.name().to_string(), span },
        label: Named { text: group_label(entry.group_id), span },
        members,
        span,
    };
    let key = key(entry.action_profile_id, entry.group_id);
    desired.write(how, Phase::Group, key, vec![made]).about(owner)
}

/// Members of equal weight are all that selectors know so far.
fn weight(weight: i32) -> Result<()> {
    match weight {
        1 => Ok(()),
        2.. => not_supported("weights above 1").within("weight"),
        _ => fault("a member without weight", "a weight is 1 or more").within("weight"),
    }
}

/// A group of an entry's own: its members, the group, and the entry's run. `key` is the entry's.
pub(crate) fn one_shot(
    catalog: &Catalog<'_>,
    table: &Table,
    set: &ActionProfileActionSet,
    key: &str,
    span: Span,
) -> Result<(Vec<Statement>, Run)> {
    let profile = catalog.profile(table.implementation_id)?;
    if !profile.with_selector {
        return fault("this profile has no selector", "only selectors take sets of actions");
    }
    if set.action_selection_mode != 0 {
        return not_supported("selection other than the selector's").within("action_selection_mode");
    }
    let named = |text: String| Named { text, span };
    let mut made = vec![];
    let mut members = vec![];
    for (index, one) in set.action_profile_actions.iter().enumerate() {
        let at = "action_profile_actions";
        let Some(given) = &one.action else {
            return fault("a set with an empty action", "nothing says what it runs").at(at, index);
        };
        let found = action(catalog, &[table], For::Entry, given, span).within("action");
        let (action, args) = found.and_then(|found| weight(one.weight).map(|()| found)).at(at, index)?;
        let label = named(format!("one-shot {key} {index}"));
        let profile = named(profile.name().to_string());
        made.push(Statement::Member { profile, label: label.clone(), action, args, span });
        members.push(label);
    }
    let label = named(format!("one-shot {key}"));
    made.push(Statement::Group {
        profile: named(profile.name().to_string()),
        label: label.clone(),
        members,
        span,
    });
    Ok((made, Run::Group(label)))
}
