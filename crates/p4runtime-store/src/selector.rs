//! The size of a selector, and the shares of groups and one-shots in it (P4Runtime 1.5, section 6.4.3).

use crate::change::OneShot;
use control_writes::{Group, SizeSemantics};
use p4runtime_proto::p4::config::v1::ActionProfile;
use p4runtime_proto::p4::config::v1::action_profile::SelectorSizeSemantics;

/// True if a group's size is the number of its members, false if it is the sum of their weights.
fn counts_members(profile: &ActionProfile, semantics: SizeSemantics) -> bool {
    match semantics {
        SizeSemantics::Members => true,
        SizeSemantics::Weights => false,
        SizeSemantics::OfSelector => {
            matches!(profile.selector_size_semantics, Some(SelectorSizeSemantics::SumOfMembers(_)))
        }
    }
}

/// Unit of the size of a selector's groups, for messages.
pub(crate) fn unit(profile: &ActionProfile, semantics: SizeSemantics) -> &'static str {
    if counts_members(profile, semantics) { "members" } else { "weights" }
}

/// The size of a group. Members without a weight, where the switch chooses weights, count as 1.
pub(crate) fn size(
    profile: &ActionProfile,
    semantics: SizeSemantics,
    weights: impl Iterator<Item = i32>,
) -> i64 {
    match counts_members(profile, semantics) {
        true => weights.count() as i64,
        false => weights.map(|weight| i64::from(weight.max(1))).sum(),
    }
}

/// Share of a group in its selector's size.
pub(crate) fn group_size(group: &Group, profile: &ActionProfile) -> i64 {
    let weights = group.members.iter().map(|member| member.weight);
    size(profile, SizeSemantics::OfSelector, weights)
}

/// Share of an entry's own group in its selector's size.
pub(crate) fn one_shot_size(set: &OneShot, profile: &ActionProfile) -> i64 {
    size(profile, set.size_semantics, set.actions.iter().map(|action| action.weight))
}
