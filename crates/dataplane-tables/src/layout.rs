//! Layout of a table's key in words.
//!
//! ```text
//! key = { ipv4.src : 32 exact, ipv4.dst : 32 exact, tcp.sport : 16 exact, tcp.dport : 16 exact, proto : 8 exact }
//!
//!           63            32 31             0
//! word 0   |   ipv4.dst     |   ipv4.src     |
//!           63    40 39  32 31    16 15     0
//! word 1   |   0    | proto |  dport | sport |
//! ```
//!
//! Fields follow each other from the low end in the order of the key. A field of up to 64 bits never straddles two
//! words, and a wider one begins a word, its least significant word first. So every compare is a compare of words,
//! and a range or a prefix is a shift away. All bits that belong to no field are zero.

/// How a key element matches (P4-16 §7.1.3, v1model).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// The leading bits are equal.
    Lpm,
    /// Equal where a mask has ones.
    Ternary,
    /// Between two bounds, both included; compared as `int<N>` if `signed`.
    Range {
        /// The bounds are two's complement.
        signed: bool,
    },
    /// Equal, or anything.
    Optional,
}

/// One key element. Those of kind `selector` are no part of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Match kind of the field.
    pub kind: MatchKind,
    /// In bits.
    pub width: u32,
}

/// Position of a field in the key's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The word of its least significant bit.
    pub word: usize,
    /// The position of that bit in the word; 0 for fields of more than 64 bits.
    pub shift: u32,
    /// In bits.
    pub width: u32,
}

/// Rule that selects among several matching entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// At most one fits.
    Only,
    /// The one with the longest prefix of the field in this position; of equals the oldest.
    LongestPrefix(usize),
    /// The one with the greatest priority; of equals the oldest.
    Priority,
}

/// Layout of a table's key in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyLayout {
    fields: Vec<(Field, Place)>,
    words: usize,
    order: Order,
    /// All bits that a key may have.
    all: Vec<u64>,
}

impl KeyLayout {
    /// The layout of `fields`.
    pub fn new(fields: &[Field]) -> KeyLayout {
        let (mut placed, mut end) = (vec![], 0usize);
        for field in fields {
            let free = 64 - end % 64;
            if field.width > 64 || (end % 64 != 0 && field.width > free as u32) {
                end = end.next_multiple_of(64);
            }
            let place = Place { word: end / 64, shift: (end % 64) as u32, width: field.width };
            placed.push((*field, place));
            end += field.width as usize;
        }
        let at_least = usize::from(!fields.is_empty());
        let words = end.div_ceil(64).max(at_least);
        let all = ones_of(&placed, words, |_| true);
        KeyLayout { order: order_of(&placed), fields: placed, words, all }
    }

    /// The length of a key in words; 0 for a table that always misses.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The fields in order, with their places.
    pub fn fields(&self) -> &[(Field, Place)] {
        &self.fields
    }

    /// Order of entries that match: with a ternary, range or optional field by priority, else by the
    /// length of the prefix.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The bits of the fields of some kinds, as a mask over the key.
    pub(crate) fn bits_of(&self, kind: impl Fn(MatchKind) -> bool) -> Vec<u64> {
        ones_of(&self.fields, self.words, kind)
    }

    /// All bits that a key may have.
    pub(crate) fn all_bits(&self) -> &[u64] {
        &self.all
    }
}

fn order_of(fields: &[(Field, Place)]) -> Order {
    let ranked = |(f, _): &(Field, Place)| {
        matches!(f.kind, MatchKind::Ternary | MatchKind::Range { .. } | MatchKind::Optional)
    };
    if fields.iter().any(ranked) {
        return Order::Priority;
    }
    fields.iter().position(|(f, _)| f.kind == MatchKind::Lpm).map_or(Order::Only, Order::LongestPrefix)
}

fn ones_of(fields: &[(Field, Place)], words: usize, kind: impl Fn(MatchKind) -> bool) -> Vec<u64> {
    let mut mask = vec![0; words];
    for (_, place) in fields.iter().filter(|(f, _)| kind(f.kind)) {
        place.put_ones(&mut mask, place.width);
    }
    mask
}

impl Place {
    /// The words it lies in.
    pub fn word_range(&self) -> std::ops::Range<usize> {
        self.word..self.word + (self.shift as usize + self.width as usize).div_ceil(64)
    }

    /// The value in a key, if the field has at most 64 bits.
    #[inline]
    pub fn get(&self, key: &[u64]) -> u64 {
        match self.width {
            0 => 0,
            width => key[self.word] >> self.shift & ones(width),
        }
    }

    /// Writes a value to a zero field of a key; `value` has one word for each 64 bits.
    pub fn put(&self, key: &mut [u64], value: &[u64]) {
        for (i, word) in self.word_range().zip(value) {
            key[i] |= word << self.shift;
        }
    }

    /// Sets the upper `length` bits of the field.
    pub(crate) fn put_ones(&self, key: &mut [u64], length: u32) {
        let below = (self.width - length.min(self.width)) as usize + self.shift as usize;
        let end = (self.width + self.shift) as usize;
        for (i, word) in self.word_range().enumerate() {
            let (from, to) = (below.clamp(64 * i, 64 * i + 64), end.clamp(64 * i, 64 * i + 64));
            if from < to {
                key[word] |= ones((to - from) as u32) << (from - 64 * i);
            }
        }
    }

    /// Number of leading ones of the field in `mask`.
    pub(crate) fn leading_ones(&self, mask: &[u64]) -> u32 {
        (1..=self.width).take_while(|i| self.bit(mask, self.width - i)).count() as u32
    }

    /// One bit of the field, counted from its least significant.
    pub(crate) fn bit(&self, key: &[u64], index: u32) -> bool {
        let at = (index + self.shift) as usize;
        key[self.word + at / 64] >> (at % 64) & 1 == 1
    }
}

/// `width` ones at the low end.
#[inline]
pub fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(widths: &[u32]) -> (usize, Vec<(usize, u32)>) {
        let fields: Vec<_> = widths.iter().map(|&width| Field { kind: MatchKind::Exact, width }).collect();
        let layout = KeyLayout::new(&fields);
        (layout.words(), layout.fields().iter().map(|(_, p)| (p.word, p.shift)).collect())
    }

    #[test]
    fn fields_share_words_and_never_straddle() {
        assert_eq!(places(&[32, 32, 16, 16, 8]), (2, vec![(0, 0), (0, 32), (1, 0), (1, 16), (1, 32)]));
        assert_eq!(places(&[48, 48]), (2, vec![(0, 0), (1, 0)]));
        assert_eq!(places(&[8, 128, 16]), (4, vec![(0, 0), (1, 0), (3, 0)]));
        assert_eq!(places(&[100, 20]), (2, vec![(0, 0), (1, 36)]));
        assert_eq!(places(&[64, 0, 1]), (2, vec![(0, 0), (1, 0), (1, 0)]));
        assert_eq!(places(&[]), (0, vec![]));
    }

    #[test]
    fn prefixes_are_ones_at_the_top() {
        let place = Place { word: 0, shift: 0, width: 100 };
        let mut mask = vec![0; 2];
        place.put_ones(&mut mask, 40);
        assert_eq!(mask, [0xf000_0000_0000_0000, 0xf_ffff_ffff]);
        assert_eq!(place.leading_ones(&mask), 40);
        let place = Place { word: 0, shift: 8, width: 16 };
        let mut mask = vec![0];
        place.put_ones(&mut mask, 4);
        assert_eq!(mask, [0xf0_0000]);
        assert_eq!(place.leading_ones(&mask), 4);
    }
}
