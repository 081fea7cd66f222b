//! 15xx: groups of servers.

codes! {
    /// A region cannot run on a group of servers.
    NOT_GROUPED = 1501,
}
