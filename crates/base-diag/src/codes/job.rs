//! 16xx: jobs of MapReduce whose pairs are reduced in the network.

codes! {
    /// A text is no job.
    JOB_SYNTAX = 1601,
    /// A name that is unknown, or declared twice.
    JOB_NAME = 1602,
    /// An operator whose result depends on order or grouping.
    NOT_REDUCIBLE = 1603,
    /// A value does not fit a slot.
    VALUE_TOO_WIDE = 1604,
    /// A key does not fit a packet.
    KEY_TOO_LONG = 1605,
    /// No switch passes all packets of a mapper.
    NO_SWITCH_ON_PATH = 1606,
    /// Reducers with the same number.
    SAME_JOB_NUMBER = 1607,
    /// An argument, or its value, is not possible.
    JOB_SETTING = 1608,
    /// Data that gives no pairs.
    JOB_DATA = 1609,
    /// A job stopped while it ran.
    JOB_STOPPED = 1610,
}
