//! Why writes to tables and profiles are refused.

use crate::key::KeyError;

/// Reason why a write was refused. A refused write changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// The table or profile is full; its maximum number of entries or members.
    Full(u32),
    /// There is such an entry.
    Duplicate,
    /// There is no such entry.
    NotFound,
    /// The entry, or all entries of the table, are constant.
    Constant,
    /// The table has no keys: only its default action can be set.
    NoKeys,
    /// The key does not suit the table.
    Key(KeyError),
    /// There are more words of action data than the table was declared with.
    Data,
    /// The table has no profile, or has one and its entries must name members or groups.
    Profile,
    /// The profile has no such member.
    NoMember(u32),
    /// The profile has no such group.
    NoGroup(u32),
    /// The profile has no groups.
    NoGroups,
    /// The weights of a group's members sum up to too much.
    Weight,
    /// Entries or groups name it.
    InUse,
}
