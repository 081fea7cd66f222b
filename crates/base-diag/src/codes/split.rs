//! 05xx: regions, cuts and hand-overs.

codes! {
    /// The splitter does not support something the program does.
    NOT_SPLIT_YET = 0501,
    /// A placement names a region that the program does not have.
    UNKNOWN_REGION = 0502,
    /// Two regions have one name.
    DUPLICATE_REGION = 0503,
    /// A region is marked where no cut can be made.
    MISPLACED_REGION = 0504,
    /// A state object is used on both sides of a cut.
    SEPARATED_STATE = 0505,
    /// A hand-over cannot carry a value.
    LAYOUT = 0507,
    /// Two devices that hand over to one another are not linked.
    NO_LINK = 0508,
    /// A counter or meter of bytes sees the length of a hand-over.
    COUNTS_BYTES = 0509,
    /// Packets could use two state objects in opposite orders.
    OVERTAKING = 0510,
    /// A hand-over is longer than its link carries.
    TOO_LONG = 0511,
    /// Packets of one flow may go by different devices.
    FLOW_ORDER = 0512,
    /// Packets show a value that they read from a merged register.
    STALE_READS = 0513,
}
