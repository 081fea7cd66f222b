//! Mistakes on purpose: what compares machine code with the interpreter has to notice each.

/// A mistake of the code generator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mutant {
    /// A sum keeps the bits above its width.
    SumTooWide,
    /// `a - b` is `b - a`.
    DifferenceTurned,
    /// A shift by as much as the width, or more, leaves something.
    FarShiftKept,
    /// Signed numbers are ordered as unsigned ones.
    OrderUnsigned,
    /// A saturating sum wraps around.
    SumWraps,
    /// `a ++ b` is `b | a`.
    ConcatShort,
    /// A wider `int` is filled with zeros.
    SignLost,
    /// A negation is left out.
    NotLost,
    /// An index out of range reads the first element.
    FirstElement,
    /// A union keeps its other members.
    UnionKept,
    /// A header that becomes valid does not make the packet longer.
    LengthKept,
    /// `extract(stack.next)` does not count.
    NextKept,
    /// A select without a case that fits is no error.
    NoMatchFine,
    /// A select compares all bits, whatever the mask.
    MaskIgnored,
    /// `hit` is `miss`.
    HitTurned,
    /// Every parameter of an action gets the first one's data.
    DataRepeated,
    /// The `default` of a switch does not run.
    DefaultLost,
    /// What egress drops is sent.
    DropForgotten,
    /// Headers are not moved in front of the payload.
    HeadersLeft,
    /// A register read out of range gives its first cell.
    FirstCell,
    /// A checksum is not complemented.
    SumPlain,
    /// The last truncation counts, not the least.
    TruncateLast,
    /// A field that shares a byte clears its neighbours.
    NeighboursCleared,
    /// An lpm, ternary or exact key has its lowest bit always zero.
    KeyBitLost,
    /// A varbit may be longer than its type says.
    VarbitTooLong,
    /// Of constant entries the last that fits is hit.
    EntriesTurned,
    /// PSA's `subtract` adds: not in [`ALL`](Mutant::ALL).
    SubtractAdds,
}

impl Mutant {
    /// All that programs for v1model show.
    pub const ALL: [Mutant; 26] = [
        Mutant::SumTooWide,
        Mutant::DifferenceTurned,
        Mutant::FarShiftKept,
        Mutant::OrderUnsigned,
        Mutant::SumWraps,
        Mutant::ConcatShort,
        Mutant::SignLost,
        Mutant::NotLost,
        Mutant::FirstElement,
        Mutant::UnionKept,
        Mutant::LengthKept,
        Mutant::NextKept,
        Mutant::NoMatchFine,
        Mutant::MaskIgnored,
        Mutant::HitTurned,
        Mutant::DataRepeated,
        Mutant::DefaultLost,
        Mutant::DropForgotten,
        Mutant::HeadersLeft,
        Mutant::FirstCell,
        Mutant::SumPlain,
        Mutant::TruncateLast,
        Mutant::NeighboursCleared,
        Mutant::KeyBitLost,
        Mutant::VarbitTooLong,
        Mutant::EntriesTurned,
    ];
}
