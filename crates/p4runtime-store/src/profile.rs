//! Members, groups and one-shots of action profiles (P4Runtime 1.5, section 9.2).

use crate::action::{self, For};
use crate::catalog::{Catalog, Described};
use crate::change::{Change, DefaultEntry, OneShot, OneShotAction, Run};
use crate::fault::{Result, Within, fault, not_supported};
use crate::port::{port, port_bytes};
use crate::presence::presence;
use crate::selector::{group_size, one_shot_size, unit};
use crate::store::Store;
use control_writes::{Group, GroupMember, SelectionMode, SizeSemantics, Watch};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::action_profile::SelectorSizeSemantics;
use p4runtime_proto::p4::config::v1::{ActionProfile, Table};
use p4runtime_proto::p4::v1::action_profile_action::WatchKind as ActionWatch;
use p4runtime_proto::p4::v1::action_profile_action_set as wire;
use p4runtime_proto::p4::v1::action_profile_group::member::WatchKind as MemberWatch;
use p4runtime_proto::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, update::Type,
};
use std::collections::BTreeSet;

pub(crate) fn member_must_be(store: &Store, profile: u32, member: u32) -> Result<()> {
    match store.member(profile, member) {
        Some(_) => Ok(()),
        None => {
            fault(format!("there is no member {member}"), "no update has inserted it").code(Code::NotFound)
        }
    }
}

pub(crate) fn group_must_be(store: &Store, profile: u32, group: u32) -> Result<()> {
    match store.group(profile, group) {
        Some(_) => Ok(()),
        None => fault(format!("there is no group {group}"), "no update has inserted it").code(Code::NotFound),
    }
}

/// Changes of an update of a member, and of the default entries that name it.
pub(crate) fn plan_member(store: &Store, how: Type, entry: &ActionProfileMember) -> Result<Vec<Change>> {
    let profile = store.catalog.profile(entry.action_profile_id)?;
    member(store, how, entry, profile).about(|| format!("member {} of `{}`", entry.member_id, profile.name()))
}

fn member(
    store: &Store,
    how: Type,
    entry: &ActionProfileMember,
    profile: &ActionProfile,
) -> Result<Vec<Change>> {
    let (id, number) = (entry.action_profile_id, entry.member_id);
    if number == 0 {
        return fault("there is no member 0", "member ids start at 1").within("member_id");
    }
    let known = store.members.get(&(id, number));
    presence(how, known.is_some())?;
    if how == Type::Delete {
        if known.is_some_and(|known| known.uses > 0) {
            return in_use("entries or groups refer to it");
        }
        return Ok(vec![Change::Member { profile: id, member: number, to: None }]);
    }
    if how == Type::Insert {
        not_beside_one_shots(store, id)?;
        full(store.member_count(id), profile.size, "members")?;
    }
    let Some(given) = &entry.action else {
        return fault("the action is missing", "a member must have one").within("action");
    };
    let call = action::decode(&store.catalog, &tables(&store.catalog, profile), For::Entry, given);
    let call = call.within("action")?;
    let mut changes = vec![Change::Member { profile: id, member: number, to: Some(call) }];
    for (table, default) in store.tables_with_default(id, number) {
        let known = store.catalog.table(table)?;
        let call = action::decode(&store.catalog, &[known], For::Default, given);
        let call =
            call.within("action").about(|| format!("the default entry of table `{}`", known.name()))?;
        let to = Box::new(DefaultEntry { call: Some(call), ..default.clone() });
        changes.push(Change::Default { table, to, count: None });
    }
    Ok(changes)
}

fn in_use<T>(why: &str) -> Result<T> {
    fault("the entity is in use", why).code(Code::FailedPrecondition)
}

fn full(used: usize, size: i64, what: &str) -> Result<()> {
    match usize::try_from(size) {
        Ok(size) if size > 0 && used >= size => {
            fault("the profile is full", format!("its size is {size} {what}")).code(Code::ResourceExhausted)
        }
        _ => Ok(()),
    }
}

fn not_beside_one_shots(store: &Store, profile: u32) -> Result<()> {
    match store.one_shots.get(&profile) {
        Some(1..) => fault(
            "members cannot be mixed with one-shot entries",
            "entries of this selector have action sets: either all of them or none may (section 9.2.3)",
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
        return fault("there is no group 0", "group ids start at 1").within("group_id");
    }
    let known = store.groups.get(&(id, number));
    presence(how, known.is_some())?;
    if how == Type::Delete {
        if known.is_some_and(|known| known.uses > 0) {
            return in_use("entries refer to it");
        }
        return Ok(Change::Group { profile: id, group: number, to: None });
    }
    if how == Type::Insert {
        not_beside_one_shots(store, id)?;
    }
    if known.is_some_and(|known| known.what.max_size != entry.max_size) {
        return fault("`max_size` of a group cannot change", "the group was inserted with another value")
            .within("max_size");
    }
    bound(profile, entry.max_size).within("max_size")?;
    fits(profile, 0, i64::from(entry.max_size), "`max_size`").within("max_size")?;
    let mut members = vec![];
    let mut seen = BTreeSet::new();
    for (index, member) in entry.members.iter().enumerate() {
        members.push(group_member(store, profile, entry, member, &mut seen).at("members", index)?);
    }
    let to = Group { members, max_size: entry.max_size };
    within_bound(profile, SizeSemantics::OfSelector, group_size(&to, profile), to.max_size)?;
    // The group's own members are replaced, and do not count twice.
    let others = store.selected(id) - known.map_or(0, |known| group_size(&known.what, profile));
    fits(profile, others, group_size(&to, profile), "the group")?;
    Ok(Change::Group { profile: id, group: number, to: Some(to) })
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
        return fault("the member is a duplicate", "use the weight instead").within("member_id");
    }
    weight(profile, member.weight)?;
    let port_bits = store.catalog.port_bits();
    #[allow(deprecated)]
    let watch = match &member.watch_kind {
        None => Watch::No,
        Some(MemberWatch::Watch(watch)) => Watch::Legacy(*watch),
        Some(MemberWatch::WatchPort(bytes)) => watch_port(bytes, port_bits)?,
    };
    Ok(GroupMember { member: member.member_id, weight: member.weight, watch })
}

fn watch_port(bytes: &[u8], port_bits: u32) -> Result<Watch> {
    match bytes.is_empty() {
        true => Ok(Watch::No),
        false => port(bytes, port_bits).map(Watch::Port).within("watch_port"),
    }
}

/// The port that a member watches, as a message has it.
pub(crate) fn member_watch(watch: Watch) -> Option<MemberWatch> {
    match watch {
        Watch::No => None,
        #[allow(deprecated)]
        Watch::Legacy(watch) => Some(MemberWatch::Watch(watch)),
        Watch::Port(port) => Some(MemberWatch::WatchPort(port_bytes(port))),
    }
}

/// The port that an action of a one-shot watches, as a message has it.
pub(crate) fn action_watch(watch: Watch) -> Option<ActionWatch> {
    match watch {
        Watch::No => None,
        #[allow(deprecated)]
        Watch::Legacy(watch) => Some(ActionWatch::Watch(watch)),
        Watch::Port(port) => Some(ActionWatch::WatchPort(port_bytes(port))),
    }
}

/// Limit on a group's size (section 9.2.2.1).
fn bound(profile: &ActionProfile, size: i32) -> Result<()> {
    match profile.max_group_size {
        _ if size < 0 => fault("`max_size` is negative", "it must be 0 or more"),
        most @ 1.. if size == 0 => fault(
            "`max_size` is missing",
            format!("this selector limits its groups to {most}, and each group must state a limit"),
        )
        .help(|| Some(format!("write `max_size: {most}`"))),
        most @ 1.. if size > most => {
            fault("`max_size` is too large", format!("this selector limits its groups to {most}"))
        }
        _ => Ok(()),
    }
}

/// Refuses a group that does not fit a selector with `others`, the share of its existing groups and one-shots: `size`
/// bounds the sum (section 6.4.3). A size of 0 is no bound.
fn fits(profile: &ActionProfile, others: i64, more: i64, what: &str) -> Result<()> {
    let size = profile.size;
    if size <= 0 || others.saturating_add(more) <= size {
        return Ok(());
    }
    let unit = unit(profile, SizeSemantics::OfSelector);
    let why = match others {
        0 => format!("{what} needs {more} {unit}, and the selector's size is {size}"),
        _ => format!("{what} needs {more} {unit}, others use {others}, and the selector's size is {size}"),
    };
    fault("the selector is full", why).code(Code::ResourceExhausted)
}

fn weight(profile: &ActionProfile, weight: i32) -> Result<()> {
    let most = match &profile.selector_size_semantics {
        Some(SelectorSizeSemantics::SumOfMembers(sum)) => sum.max_member_weight,
        _ => 0,
    };
    match (profile.weights_disallowed, weight) {
        (true, 0) => Ok(()),
        (true, _) => fault("the selector takes no weights", "P4Info has `weights_disallowed`"),
        (false, ..=0) => fault("the weight is missing", "it must be 1 or more"),
        (false, _) if most > 0 && weight > most => {
            fault("the weight is too large", format!("`max_member_weight` is {most}"))
        }
        (false, _) => Ok(()),
    }
    .within("weight")
}

/// No group is larger than its bound; 0: there is none.
fn within_bound(profile: &ActionProfile, semantics: SizeSemantics, size: i64, bound: i32) -> Result<()> {
    match bound > 0 && size > i64::from(bound) {
        true => {
            let unit = unit(profile, semantics);
            fault("the group is too large", format!("it has {size} {unit}, and the limit is {bound}"))
        }
        false => Ok(()),
    }
}

/// Size semantics of a set of actions, as a message has it.
pub(crate) fn size_message(semantics: SizeSemantics) -> wire::SizeSemantics {
    match semantics {
        SizeSemantics::OfSelector => wire::SizeSemantics::DefaultSizeDeterminedByActionSelector,
        SizeSemantics::Weights => wire::SizeSemantics::SumOfWeights,
        SizeSemantics::Members => wire::SizeSemantics::SumOfMembers,
    }
}

/// How a set chooses an action, as a message has it.
pub(crate) fn mode_message(mode: SelectionMode) -> wire::ActionSelectionMode {
    match mode {
        SelectionMode::OfSelector => wire::ActionSelectionMode::DefaultModeDeterminedByActionSelector,
        SelectionMode::Hash => wire::ActionSelectionMode::Hash,
    }
}

/// An entry's own group, which replaces the entry's present action.
pub(crate) fn one_shot(
    store: &Store,
    table: &Table,
    set: &ActionProfileActionSet,
    known: Option<&Run>,
) -> Result<OneShot> {
    let id = table.implementation_id;
    let profile = store.catalog.profile(id)?;
    if !profile.with_selector {
        return fault("this profile has no selector", "only selectors take action sets");
    }
    let first_of = |profile_of: u32| (profile_of, 0)..=(profile_of, u32::MAX);
    if store.members.range(first_of(id)).next().is_some() || store.groups.range(first_of(id)).next().is_some()
    {
        return fault(
            "one-shot entries cannot be mixed with members",
            "this selector has members or groups: either all of its entries have action sets or none may (section 9.2.3)",
        );
    }
    let selection_mode = match set.action_selection_mode() {
        wire::ActionSelectionMode::DefaultModeDeterminedByActionSelector => SelectionMode::OfSelector,
        wire::ActionSelectionMode::Hash => SelectionMode::Hash,
        wire::ActionSelectionMode::Random => {
            return not_supported("random selection").within("action_selection_mode");
        }
    };
    let size_semantics = match set.size_semantics() {
        wire::SizeSemantics::DefaultSizeDeterminedByActionSelector => SizeSemantics::OfSelector,
        wire::SizeSemantics::SumOfWeights => SizeSemantics::Weights,
        wire::SizeSemantics::SumOfMembers => SizeSemantics::Members,
    };
    let mut made = vec![];
    for (index, one) in set.action_profile_actions.iter().enumerate() {
        made.push(one_action(store, table, profile, one).at("action_profile_actions", index)?);
    }
    let to = OneShot { actions: made, size_semantics, selection_mode };
    let size = one_shot_size(&to, profile);
    within_bound(profile, to.size_semantics, size, profile.max_group_size)?;
    let others = store.selected(id);
    let others = match known {
        Some(Run::OneShot(known)) => others - one_shot_size(known, profile),
        _ => others,
    };
    fits(profile, others, size, "the action set")?;
    Ok(to)
}

fn one_action(
    store: &Store,
    table: &Table,
    profile: &ActionProfile,
    one: &p4runtime_proto::p4::v1::ActionProfileAction,
) -> Result<OneShotAction> {
    let Some(given) = &one.action else {
        return fault("an action of the set is empty", "a member must have one");
    };
    let call = action::decode(&store.catalog, &[table], For::Entry, given).within("action")?;
    weight(profile, one.weight)?;
    let port_bits = store.catalog.port_bits();
    #[allow(deprecated)]
    let watch = match &one.watch_kind {
        None => Watch::No,
        Some(ActionWatch::Watch(watch)) => Watch::Legacy(*watch),
        Some(ActionWatch::WatchPort(bytes)) => watch_port(bytes, port_bits)?,
    };
    Ok(OneShotAction { call, weight: one.weight, watch })
}
