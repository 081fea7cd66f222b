//! Checksums of headers that change little: the sum that was verified, without the words that have been written since, and with what they are now.
//!
//! ```text
//! verify   sum = w0 + w1 + w2 + w3 + w4             w2 has the TTL
//! update   sum - w2 + (w2 as it is now)             in place of five loads
//! ```

use super::{Code, PLAIN};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;

/// A word of a header, of two or four bytes: its offset and its length.
type Word = (u32, u32);

/// Sum of the words of a header.
pub(crate) struct Summed {
    /// 1 where the packet's sum is known.
    has: Variable,
    sum: Variable,
    /// Nothing before the first sum.
    of: Option<Of>,
}

struct Of {
    header: usize,
    words: Vec<(Word, Variable)>,
    /// Words that have been written since, on some path.
    written: Vec<bool>,
    /// The header has moved since, on some path.
    has_moved: bool,
}

impl Code<'_, '_> {
    /// From here on, the first sum of a header is kept.
    pub(crate) fn keep_sum(&mut self) {
        let [has, sum] = [types::I8, types::I64].map(|ty| self.b.declare_var(ty));
        let (no, zero) = (self.number(types::I8, 0), self.number(types::I64, 0));
        self.b.def_var(has, no);
        self.b.def_var(sum, zero);
        self.summed = Some(Summed { has, sum, of: None });
    }

    /// The sum of the words of a header, of 64 bits. `header`: a variable of its own.
    pub(crate) fn sum_of_header(&mut self, header: Option<usize>, pointer: Value, words: &[Word]) -> Value {
        if let Some(sum) = self.sum_again(header, pointer, words) {
            return sum;
        }
        let values: Vec<Value> = words.iter().map(|word| self.load_word(pointer, *word)).collect();
        let zero = self.number(types::I64, 0);
        let sum = values.iter().fold(zero, |sum, value| self.b.ins().iadd(sum, *value));
        let free =
            self.summed.as_ref().filter(|summed| summed.of.is_none()).map(|summed| [summed.has, summed.sum]);
        if let (Some([has, total]), Some(header)) = (free, header) {
            let yes = self.number(types::I8, 1);
            self.b.def_var(has, yes);
            self.b.def_var(total, sum);
            let variables = values.into_iter().map(|value| {
                let variable = self.b.declare_var(types::I64);
                self.b.def_var(variable, value);
                variable
            });
            let words: Vec<_> = words.iter().copied().zip(variables).collect();
            let of = Of { header, written: vec![false; words.len()], words, has_moved: false };
            self.summed = Some(Summed { has, sum: total, of: Some(of) });
        }
        sum
    }

    /// The sum that was kept, as it is now; `None` if it is not known here or if most words have been written. In a loop it is never known, as variables
    /// have no values there before the loop's end is made; so words that a later statement of the loop writes do not matter.
    fn sum_again(&mut self, header: Option<usize>, pointer: Value, words: &[Word]) -> Option<Value> {
        let Summed { has, sum, of: Some(of) } = self.summed.as_ref()? else { return None };
        let (has, sum) = (*has, *sum);
        let is_same = header == Some(of.header) && of.words.iter().map(|(word, _)| word).eq(words);
        let written: Vec<(Word, Variable)> =
            of.words.iter().zip(&of.written).filter(|(_, is)| **is).map(|(word, _)| *word).collect();
        if !is_same || of.has_moved || 2 * written.len() >= words.len() {
            return None;
        }
        let has = self.b.use_var(has);
        if self.is_known(has) != Some(true) {
            return None;
        }
        let mut sum = self.b.use_var(sum);
        for (word, before) in written {
            let before = self.b.use_var(before);
            sum = self.b.ins().isub(sum, before);
            let now = self.load_word(pointer, word);
            sum = self.b.ins().iadd(sum, now);
        }
        Some(sum)
    }

    fn load_word(&mut self, pointer: Value, (at, bytes): Word) -> Value {
        match bytes {
            4 => {
                let word = self.b.ins().load(types::I32, PLAIN, pointer, at as i32);
                self.b.ins().uextend(types::I64, word)
            }
            _ => self.b.ins().uload16(types::I64, PLAIN, pointer, at as i32),
        }
    }

    /// Bits of a header may be written from now on.
    pub(crate) fn writes(&mut self, header: usize, at: u32, width: u32) {
        let Some(of) = self.summed.as_mut().and_then(|summed| summed.of.as_mut()) else { return };
        if of.header == header {
            let (first, end) = (at / 8, (at + width).div_ceil(8));
            for (((offset, bytes), _), written) in of.words.iter().zip(&mut of.written) {
                *written |= *offset < end && first < offset + bytes;
            }
        }
    }

    /// The bytes of a header may be elsewhere from now on, or others.
    pub(crate) fn moves(&mut self, header: usize) {
        let of = self.summed.as_mut().and_then(|summed| summed.of.as_mut());
        if let Some(of) = of.filter(|of| of.header == header) {
            of.has_moved = true;
        }
    }
}
