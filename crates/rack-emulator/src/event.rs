//! The emulator's own events.

/// Events beside those of packets. Numbers are indices in the emulator's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame that was handed in from outside leaves its host.
    Inject(u32),
    /// A timer of a workload's program runs out.
    Program {
        /// Index of the workload.
        workload: u32,
        /// The program's number of the timer.
        timer: u32,
    },
    /// A fault begins or is over.
    Fault {
        /// Index of the fault.
        fault: u32,
        /// False if the fault ends.
        begins: bool,
    },
}
