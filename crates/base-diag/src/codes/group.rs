//! 15xx: groups of servers.

codes! {
    /// A region cannot run on a group of servers.
    NOT_GROUPED = 1501,
    /// A group of a rack is not one that can be.
    BAD_GROUP = 1502,
}
