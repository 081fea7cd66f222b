//! 13xx: flows of a program pinned to the switch or to helpers.

codes! {
    /// A program or an object of it cannot be at the switch and at helpers.
    NOT_PINNED = 1301,
    /// A part of a flow's key is nothing that a packet has when it comes in.
    BAD_KEY = 1302,
    /// A region is divided among devices, and something does not allow it.
    NOT_SHARDED = 1303,
}
