//! 06xx: `RACK.toml` and plans.

codes! {
    /// The file is not TOML.
    TOML_SYNTAX = 0601,
    /// A key that its section does not have.
    UNKNOWN_KEY = 0602,
    /// A value of another type than its key wants.
    WRONG_TYPE = 0603,
    /// A key that its section must have.
    MISSING_KEY = 0604,
    /// A value that means nothing or is out of range.
    BAD_VALUE = 0605,
    /// A name or word that nothing has.
    UNKNOWN_NAME = 0606,
    /// A name or address that two have.
    DUPLICATE = 0607,
    /// A link plugged in where it cannot be.
    LINK_ENDS = 0608,
    /// A host that no link leads to.
    NOT_LINKED = 0609,
    /// A workload that cannot run.
    WORKLOAD = 0610,
    /// Something that a later version will know.
    NOT_SUPPORTED = 0611,
    /// A link whose rate is not said.
    DEFAULT_RATE = 0612,
}
