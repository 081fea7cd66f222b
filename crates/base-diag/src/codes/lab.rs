//! 09xx: labs.

codes! {
    /// The file that describes a lab has a mistake.
    DESCRIPTION = 0901,
    /// A lab cannot be brought up.
    BRING_UP = 0902,
}
