//! Leases of numbered blocks, such as ranges of ports, as devices and externs answer them.

/// Use that a device or an extern makes of blocks. In a set of blocks, bit B modulo 8 of byte B / 8 is block B.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leased {
    /// Blocks with numbers that are still in use, leased or not.
    pub busy: Vec<u8>,
    /// Leased blocks whose numbers can be used; `u32::MAX` for what needs no blocks.
    pub usable: u32,
}

/// Needs no blocks.
impl Default for Leased {
    fn default() -> Leased {
        Leased { busy: vec![], usable: u32::MAX }
    }
}

impl Leased {
    /// The use that two make together, if each needs blocks of its own.
    #[must_use]
    pub fn and(mut self, other: &Leased) -> Leased {
        if self.busy.len() < other.busy.len() {
            self.busy.resize(other.busy.len(), 0);
        }
        self.busy.iter_mut().zip(&other.busy).for_each(|(byte, more)| *byte |= more);
        Leased { usable: self.usable.min(other.usable), ..self }
    }
}
