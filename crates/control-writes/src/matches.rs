//! Key fields of an entry.

use base_bits::Bits;

/// Match of an entry on one key field.
///
/// Readers may give any form that suits the match kind: `Exact` for a ternary field means a mask of ones. A table keeps
/// one form for each match kind, with the width of its field and zeros where bits do not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Match {
    /// Anything.
    Any,
    /// This value.
    Exact(Bits),
    /// The leading bits are equal.
    Lpm {
        /// Bits after the prefix do not count.
        value: Bits,
        /// Length of the prefix in bits.
        prefix_len: u32,
    },
    /// Equal where `mask` has ones.
    Ternary {
        /// Bits outside of the mask do not count.
        value: Bits,
        /// The bits that count.
        mask: Bits,
    },
    /// From `lo` to `hi`, both included.
    Range {
        /// The least.
        lo: Bits,
        /// The greatest.
        hi: Bits,
    },
}
