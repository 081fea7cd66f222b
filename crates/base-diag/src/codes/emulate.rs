//! 07xx: bringing a rack up and running it.

codes! {
    /// A file that a command needs cannot be read.
    UNREADABLE_FILE = 0701,
    /// A device is to run a frame extern that it does not offer.
    EXTERN_NOT_OFFERED = 0703,
    /// A rack runs no app, or more than one.
    ONE_APP = 0704,
    /// The emulator found a fault in itself or in a device.
    EMULATION = 0706,
    /// A statement that is no entry stands among the entries.
    NOT_AN_ENTRY = 0707,
    /// A part needs something that `simple_switch` lacks.
    NOT_IN_BMV2 = 0708,
    /// No packet of a workload has arrived.
    NOTHING_ARRIVED = 0709,
    /// A run does not meet a workload's `expect`.
    NOT_AS_EXPECTED = 0710,
    /// Frames go round in a loop of devices.
    LOOP = 0711,
}
