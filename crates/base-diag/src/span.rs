//! Positions in source text: every byte of every loaded file has one number.

/// A range of source text, `lo..hi`, in the global numbering of a [`SourceMap`](crate::SourceMap).
///
/// `expansion` says through which macro expansion the text came, if any: `lo..hi` is then where the
/// token is *spelled* (in the macro's body or in its arguments), and the expansion knows the call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte. 0 in [`Span::NONE`] only: files are numbered from 1.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
    /// The macro expansion it stands in.
    pub expansion: ExpansionId,
}

/// A macro expansion; 0 is "none".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct ExpansionId(pub u32);

impl Span {
    /// No place in any source: generated code.
    pub const NONE: Span = Span { lo: 0, hi: 0, expansion: ExpansionId(0) };

    /// True for generated code.
    pub fn is_none(self) -> bool {
        self.lo == 0
    }

    /// From the start of `self` to the end of `end`; `self` alone if they stand in different expansions.
    pub fn to(self, end: Span) -> Span {
        if self.is_none() {
            return end;
        }
        if end.is_none() || end.expansion != self.expansion || end.hi < self.lo {
            return self;
        }
        Span { lo: self.lo, hi: end.hi, expansion: self.expansion }
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.lo, self.hi)
    }
}
