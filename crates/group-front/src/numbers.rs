//! Numbers of calls, by their lowest bits: as `group.p4` remembers those that are out.

/// Numbers that are remembered: one for each value of the lowest 16 bits.
const SLOTS: usize = 1 << 16;

/// Remembers each number until one with the same lowest bits comes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Numbers(Vec<u64>);

impl Numbers {
    fn slot(&mut self, number: u64) -> &mut u64 {
        // Most groups do not number their calls.
        if self.0.is_empty() {
            self.0 = vec![0; SLOTS];
        }
        &mut self.0[number as usize % SLOTS]
    }

    /// Remembers a number; false if it was remembered before.
    pub fn put(&mut self, number: u64) -> bool {
        std::mem::replace(self.slot(number), number) != number
    }

    /// Forgets a number; false if it was not remembered.
    pub fn take(&mut self, number: u64) -> bool {
        let slot = self.slot(number);
        let is_it = *slot == number;
        if is_it {
            *slot = 0;
        }
        is_it
    }
}
