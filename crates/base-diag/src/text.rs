//! Bytes of a file as text.

use std::fmt;

/// The Unicode byte-order mark, which some editors put at the start of a UTF-8 file. It means nothing there.
const MARK: char = '\u{feff}';

/// Bytes that are not UTF-8, and their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotUtf8 {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The first byte that is wrong.
    pub byte: u8,
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotUtf8 { line, column, byte } = self;
        write!(f, "line {line}, column {column}: the byte {byte:#04x} is not UTF-8")
    }
}

/// Decodes UTF-8.
pub fn from_utf8(bytes: &[u8]) -> Result<&str, NotUtf8> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let before = String::from_utf8_lossy(good.get(start..).unwrap_or_default());
        let before = if line == 1 { before.trim_start_matches(MARK) } else { &before };
        let byte = bytes.get(good.len()).copied().unwrap_or_default();
        NotUtf8 { line, column: before.chars().count() + 1, byte }
    })
}

/// Takes a byte-order mark from the start of `text`. `start` is the number of the text's first byte in a
/// [`SourceMap`](crate::SourceMap); the number of the first byte that is left comes back with the text.
///
/// ```
/// assert_eq!(base_diag::without_mark("\u{feff}wait", 10), ("wait", 13));
/// assert_eq!(base_diag::without_mark("wait", 10), ("wait", 10));
/// ```
pub fn without_mark(text: &str, start: u32) -> (&str, u32) {
    match text.strip_prefix(MARK) {
        Some(rest) => (rest, start.saturating_add(MARK.len_utf8() as u32)),
        None => (text, start),
    }
}

#[cfg(test)]
mod tests {
    use super::from_utf8;

    #[test]
    fn the_place_of_a_wrong_byte_is_counted_in_characters() {
        let place = |bytes: &[u8]| from_utf8(bytes).unwrap_err().to_string();
        assert_eq!(from_utf8("grün".as_bytes()), Ok("grün"));
        assert_eq!(place(b"gr\xfcn"), "line 1, column 3: the byte 0xfc is not UTF-8");
        let marked = b"\xef\xbb\xbf\xff";
        assert_eq!(place(marked), "line 1, column 1: the byte 0xff is not UTF-8");
        let later = b"a\r\n\xc3\xbc \xe2\x82";
        assert_eq!(place(later), "line 2, column 3: the byte 0xe2 is not UTF-8");
    }
}
