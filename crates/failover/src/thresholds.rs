//! The numbers that decide when a target has failed.

/// When a sender asks, and how much it bears. Times are microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Thresholds {
    /// A report is asked for after so many hand-overs.
    pub ask_every: u32,
    /// A report is asked for when the last request is so old.
    pub ask_after: u64,
    /// A request without an answer is missed after this time: more than the longest round trip.
    pub patience: u64,
    /// The target has failed when so many requests in a row are missed and no report arrived meanwhile.
    pub most_missed: u8,
    /// A number that has not arrived is missing when so many later ones have: at least 1, at most 31.
    pub tolerance: u8,
    /// The target has failed when so many hand-overs of one window are missing.
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

impl Thresholds {
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
