//! The numbers that decide when a target has failed.

/// When a sender asks, and how much it bears. Times are microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Thresholds {
    /// Number of hand-overs after which a report is requested.
    pub ask_every: u32,
    /// Time after the last request at which a report is requested.
    pub ask_after: u64,
    /// A request without an answer is missed after this time: more than the longest round trip.
    pub patience: u64,
    /// Number of consecutive missed requests, without a report in between, that count as a failure of the target.
    pub most_missed: u8,
    /// A number counts as missing if this many later numbers have arrived: 1 to 31.
    pub tolerance: u8,
    /// Number of missing hand-overs in one window that counts as a failure of the target.
    pub most_gaps: u16,
    /// Hand-overs in a window: a power of two.
    pub window: u32,
}

impl Default for Thresholds {
    /// A busy edge notices silence within 90 us: at 1 Gbit/s and 1,000 bytes a packet, 12 packets at most are lost. A window bears
    /// losses of 3 %.
    fn default() -> Thresholds {
        Thresholds {
            ask_every: 64,
            ask_after: 10,
            patience: 20,
            most_missed: 3,
            tolerance: 16,
            most_gaps: 32,
            window: 1024,
        }
    }
}

/// Time stamps of programs have 48 bits; a threshold in microseconds stays far below.
pub const MOST_US: u64 = 1 << 40;

/// An end of an edge, which has thresholds of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Decides which target is in use.
    Sender,
    /// Thresholds for missing numbers.
    Receiver,
}

impl Thresholds {
    /// Between devices that are processes of their own: a busy machine delays answers by milliseconds.
    pub fn between_processes() -> Thresholds {
        Thresholds { ask_after: 1000, patience: 20_000, ..Thresholds::default() }
    }

    /// The last arguments of the table entry by which a side finds an edge, as `edge.p4` of the policy has them.
    pub fn args(&self, side: Side) -> Vec<u64> {
        let tolerance = u64::from(self.tolerance);
        match side {
            Side::Sender => vec![
                self.ask_every.into(),
                self.ask_after,
                self.patience,
                self.most_missed.into(),
                self.most_gaps.into(),
                u64::from(self.window) - 1,
            ],
            Side::Receiver => vec![tolerance, (1 << tolerance) - 1],
        }
    }

    /// The first number that is outside of its range, as a sentence.
    pub fn fault(&self) -> Option<&'static str> {
        let faults = [
            (self.ask_every == 0, "`ask_every` is at least 1"),
            (self.patience == 0, "`patience` is at least 1 us"),
            (self.most_missed == 0, "`most_missed` is at least 1"),
            (!(1..=31).contains(&self.tolerance), "`tolerance` is from 1 to 31"),
            (self.most_gaps == 0, "`most_gaps` is at least 1"),
            (!self.window.is_power_of_two(), "`window` is a power of two"),
            (u32::from(self.most_gaps) > self.window, "`most_gaps` is at most `window`"),
        ];
        faults.into_iter().find(|(is_so, _)| *is_so).map(|(_, text)| text)
    }

    /// The longest time from a failure to the first hand-over to the next target, in microseconds, if the edge is looked at
    /// (by a packet or a tick) every `step`.
    pub fn detection(&self, step: u64) -> u64 {
        self.ask_after + step + u64::from(self.most_missed) * (self.patience + step)
    }
}
