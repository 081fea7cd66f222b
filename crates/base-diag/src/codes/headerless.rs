//! 17xx: runtimes without a header.

codes! {
    /// A value would have to travel.
    NOT_CARRIED = 1701,
    /// The receiver would parse the packet differently.
    PARSED_DIFFERENTLY = 1702,
    /// Links pad hand-overs that are too short.
    SHORT_FRAMES = 1703,
    /// More positions than links.
    TOO_FEW_LINKS = 1704,
    /// A construct that only hand-overs with a header support.
    NEEDS_HEADER = 1705,
    /// The fragment offset cannot hold the position.
    NO_OFFSET = 1706,
}
