//! Members, groups and one-shots of action profiles (P4Runtime 1.5, section 9.2).

use crate::action::{self, For};
use crate::catalog::{Catalog, Described};
use crate::change::{Change, Group, GroupMember, OneShot, OneShotAction, Watch};
use crate::fault::{Result, Within, fault, not_supported};
use crate::replication::{port, port_bytes};
use crate::store::Store;
use crate::update;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::action_profile::SelectorSizeSemantics;
use p4runtime_proto::p4::config::v1::{ActionProfile, Table};
use p4runtime_proto::p4::v1::action_profile_action::WatchKind as ActionWatch;
use p4runtime_proto::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};
use p4runtime_proto::p4::v1::action_profile_group::member::WatchKind as MemberWatch;
use p4runtime_proto::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, update::Type,
};
use std::collections::BTreeSet;

pub(crate) fn member_must_be(store: &Store, profile: u32, member: u32) -> Result<()> {
    match store.member(profile, member) {
        Some(_) => Ok(()),
        None => {
            fault(format!("there is no member {member}"), "nothing has inserted this").code(Code::NotFound)
        }
    }
}

pub(crate) fn group_must_be(store: &Store, profile: u32, group: u32) -> Result<()> {
    match store.group(profile, group) {
        Some(_) => Ok(()),
        None => fault(format!("there is no group {group}"), "nothing has inserted this").code(Code::NotFound),
    }
}

pub(crate) fn plan_member(store: &Store, how: Type, entry: &ActionProfileMember) -> Result<Change> {
    let profile = store.catalog.profile(entry.action_profile_id)?;
    member(store, how, entry, profile).about(|| format!("member {} of `{}`", entry.member_id, profile.name()))
}

fn member(store: &Store, how: Type, entry: &ActionProfileMember, profile: &ActionProfile) -> Result<Change> {
    let (id, number) = (entry.action_profile_id, entry.member_id);
    if number == 0 {
        return fault("there is no member 0", "members count from 1").within("member_id");
    }
    let known = store.members.get(&(id, number));
    update::presence(how, known.is_some())?;
    if how == Type::Delete {
        if known.is_some_and(|known| known.uses > 0) {
            return in_use("entries or groups name it");
        }
        return Ok(Change::Member { profile: id, member: number, to: None });
    }
    if how == Type::Insert {
        not_beside_one_shots(store, id)?;
        let used = store.members.range((id, 0)..=(id, u32::MAX)).count();
        full(used, profile.size, "members")?;
    }
    let Some(given) = &entry.action else {
        return fault("a member without an action", "nothing says what it runs").within("action");
    };
    let call = action::decode(&store.catalog, &tables(&store.catalog, profile), For::Entry, given);
    Ok(Change::Member { profile: id, member: number, to: Some(call.within("action")?) })
}

fn in_use<T>(why: &str) -> Result<T> {
    fault("this is in use", why).code(Code::FailedPrecondition)
}

fn full(used: usize, size: i64, what: &str) -> Result<()> {
    match usize::try_from(size) {
        Ok(size) if size > 0 && used >= size => {
            fault("the profile is full", format!("it has {size} {what}")).code(Code::ResourceExhausted)
        }
        _ => Ok(()),
    }
}

fn not_beside_one_shots(store: &Store, profile: u32) -> Result<()> {
    match store.one_shots.get(&profile) {
        Some(1..) => fault(
            "members beside one-shots",
            "entries of this selector have sets of actions: all or none have (section 9.2.3)",
        ),
        _ => Ok(()),
    }
}

/// The tables that use a profile: a member runs an action of theirs.
fn tables<'i>(catalog: &'i Catalog, profile: &ActionProfile) -> Vec<&'i Table> {
    profile.table_ids.iter().filter_map(|id| catalog.table(*id).ok()).collect()
}

pub(crate) fn plan_group(store: &Store, how: Type, entry: &ActionProfileGroup) -> Result<Change> {
    let profile = store.catalog.profile(entry.action_profile_id)?;
    group(store, how, entry, profile).about(|| format!("group {} of `{}`", entry.group_id, profile.name()))
}

fn group(store: &Store, how: Type, entry: &ActionProfileGroup, profile: &ActionProfile) -> Result<Change> {
    let (id, number) = (entry.action_profile_id, entry.group_id);
    if !profile.with_selector {
        return fault("this profile has no selector", "only selectors have groups")
            .within("action_profile_id");
    }
    if number == 0 {
        return fault("there is no group 0", "groups count from 1").within("group_id");
    }
    let known = store.groups.get(&(id, number));
    update::presence(how, known.is_some())?;
    if how == Type::Delete {
        if known.is_some_and(|known| known.uses > 0) {
            return in_use("entries name it");
        }
        return Ok(Change::Group { profile: id, group: number, to: None });
    }
    if how == Type::Insert {
        not_beside_one_shots(store, id)?;
    }
    if known.is_some_and(|known| known.what.max_size != entry.max_size) {
        return fault("the bound of a group does not change", "it was inserted with another")
            .within("max_size");
    }
    bound(profile, entry.max_size).within("max_size")?;
    let mut members = vec![];
    let mut seen = BTreeSet::new();
    for (index, member) in entry.members.iter().enumerate() {
        members.push(group_member(store, profile, entry, member, &mut seen).at("members", index)?);
    }
    let bound = if entry.max_size > 0 { entry.max_size } else { profile.max_group_size };
    size(
        profile,
        SizeSemantics::DefaultSizeDeterminedByActionSelector,
        bound,
        members.iter().map(|m| m.weight),
    )?;
    Ok(Change::Group { profile: id, group: number, to: Some(Group { members, max_size: entry.max_size }) })
}

fn group_member(
    store: &Store,
    profile: &ActionProfile,
    entry: &ActionProfileGroup,
    member: &p4runtime_proto::p4::v1::action_profile_group::Member,
    seen: &mut BTreeSet<u32>,
) -> Result<GroupMember> {
    member_must_be(store, entry.action_profile_id, member.member_id).within("member_id")?;
    if !seen.insert(member.member_id) {
        return fault("a member stands twice", "its weight says how often it is chosen").within("member_id");
    }
    weight(profile, member.weight)?;
    #[allow(deprecated)]
    let watch = match &member.watch_kind {
        None => Watch::No,
        Some(MemberWatch::Watch(watch)) => Watch::Legacy(*watch),
        Some(MemberWatch::WatchPort(bytes)) => watch_port(bytes)?,
    };
    Ok(GroupMember { member: member.member_id, weight: member.weight, watch })
}

fn watch_port(bytes: &[u8]) -> Result<Watch> {
    match (bytes.is_empty(), port(bytes)) {
        (true, _) => Ok(Watch::No),
        (false, Some(port)) => Ok(Watch::Port(port)),
        (false, None) => fault("this is no port", "a port has 1 to 32 bits").within("watch_port"),
    }
}

impl Watch {
    pub(crate) fn of_member(self) -> Option<MemberWatch> {
        match self {
            Watch::No => None,
            #[allow(deprecated)]
            Watch::Legacy(watch) => Some(MemberWatch::Watch(watch)),
            Watch::Port(port) => Some(MemberWatch::WatchPort(port_bytes(port))),
        }
    }

    pub(crate) fn of_action(self) -> Option<ActionWatch> {
        match self {
            Watch::No => None,
            #[allow(deprecated)]
            Watch::Legacy(watch) => Some(ActionWatch::Watch(watch)),
            Watch::Port(port) => Some(ActionWatch::WatchPort(port_bytes(port))),
        }
    }
}

/// What a group may say of its greatest size.
fn bound(profile: &ActionProfile, size: i32) -> Result<()> {
    match profile.max_group_size {
        most @ 1.. if !(0..=most).contains(&size) => {
            fault("a bound that is too large", format!("groups of this selector have at most {most}"))
        }
        _ if size < 0 => fault("a negative bound", "it counts from 0"),
        _ => Ok(()),
    }
}

fn weight(profile: &ActionProfile, weight: i32) -> Result<()> {
    let most = match &profile.selector_size_semantics {
        Some(SelectorSizeSemantics::SumOfMembers(sum)) => sum.max_member_weight,
        _ => 0,
    };
    match (profile.weights_disallowed, weight) {
        (true, 0) => Ok(()),
        (true, _) => fault("a weight where there is none", "P4Info says `weights_disallowed`"),
        (false, ..=0) => fault("a member without weight", "a weight is 1 or more"),
        (false, _) if most > 0 && weight > most => {
            fault("a weight that is too large", format!("`max_member_weight` is {most}"))
        }
        (false, _) => Ok(()),
    }
    .within("weight")
}

/// No group is larger than its bound; 0: there is none.
fn size(
    profile: &ActionProfile,
    semantics: SizeSemantics,
    bound: i32,
    weights: impl ExactSizeIterator<Item = i32>,
) -> Result<()> {
    let counts_members = match semantics {
        SizeSemantics::SumOfMembers => true,
        SizeSemantics::SumOfWeights => false,
        SizeSemantics::DefaultSizeDeterminedByActionSelector => {
            matches!(profile.selector_size_semantics, Some(SelectorSizeSemantics::SumOfMembers(_)))
        }
    };
    let members = weights.len() as i64;
    let sum: i64 = weights.map(i64::from).sum();
    let (size, what) = if counts_members { (members, "members") } else { (sum, "weights") };
    match bound > 0 && size > i64::from(bound) {
        true => fault("the group is too large", format!("{size} {what}, and at most {bound}")),
        false => Ok(()),
    }
}

/// A group of an entry's own.
pub(crate) fn one_shot(store: &Store, table: &Table, set: &ActionProfileActionSet) -> Result<OneShot> {
    let id = table.implementation_id;
    let profile = store.catalog.profile(id)?;
    if !profile.with_selector {
        return fault("this profile has no selector", "only selectors take sets of actions");
    }
    let first_of = |profile_of: u32| (profile_of, 0)..=(profile_of, u32::MAX);
    if store.members.range(first_of(id)).next().is_some() || store.groups.range(first_of(id)).next().is_some()
    {
        return fault(
            "a set of actions beside members",
            "this selector has members or groups: all or none are sets (section 9.2.3)",
        );
    }
    if set.action_selection_mode() != ActionSelectionMode::DefaultModeDeterminedByActionSelector {
        return not_supported("selection other than the selector's").within("action_selection_mode");
    }
    let mut made = vec![];
    for (index, one) in set.action_profile_actions.iter().enumerate() {
        made.push(one_action(store, table, profile, one).at("action_profile_actions", index)?);
    }
    let weights = made.iter().map(|action| action.weight);
    size(profile, set.size_semantics(), profile.max_group_size, weights)?;
    Ok(OneShot { actions: made, size_semantics: set.size_semantics() })
}

fn one_action(
    store: &Store,
    table: &Table,
    profile: &ActionProfile,
    one: &p4runtime_proto::p4::v1::ActionProfileAction,
) -> Result<OneShotAction> {
    let Some(given) = &one.action else {
        return fault("a set with an empty action", "nothing says what it runs");
    };
    let call = action::decode(&store.catalog, &[table], For::Entry, given).within("action")?;
    weight(profile, one.weight)?;
    #[allow(deprecated)]
    let watch = match &one.watch_kind {
        None => Watch::No,
        Some(ActionWatch::Watch(watch)) => Watch::Legacy(*watch),
        Some(ActionWatch::WatchPort(bytes)) => watch_port(bytes)?,
    };
    Ok(OneShotAction { call, weight: one.weight, watch })
}
