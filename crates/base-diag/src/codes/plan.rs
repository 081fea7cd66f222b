//! 08xx: planning.

codes! {
    /// The text of rules is not understood.
    RULE_SYNTAX = 0801,
    /// A name that nothing has: a variable, a device, a port, a region.
    UNKNOWN = 0802,
    /// A number with a unit that does not fit, or no number.
    QUANTITY = 0803,
    /// A JSON or CSV file does not have the form it is to have.
    FORM = 0804,
    /// Two statements about the same thing.
    TWICE = 0805,
    /// The region graph has a cycle.
    CYCLE = 0806,
    /// More than the planner takes.
    TOO_LARGE = 0807,
    /// No plan exists.
    NO_PLAN = 0808,
    /// The file of a device for `p4rack fit` is not understood.
    DEVICE_FILE = 0809,
    /// The program does not fit the device.
    NO_FIT = 0810,
}
