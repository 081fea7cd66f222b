//! Sources: every loaded text, and positions in it for users.
//!
//! Each byte of each file has one number, from 1; a [`Span`] is a range of these numbers. Text that no file
//! holds (pasted tokens, `__LINE__`) gets numbers too, so a token is never more than its span.

mod file;

use smol_str::SmolStr;

use file::LineMarker;
pub use file::{File, FileId};

use crate::{ExpansionId, Span};

/// Bytes reserved for generated text at a time.
const GENERATED_CHUNK: usize = 4096;

/// All sources of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// In the order of their first bytes.
    files: Vec<File>,
    expansions: Vec<Expansion>,
    /// The file to which generated text is added.
    generated: Option<usize>,
}

/// One expansion of a macro.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expansion {
    /// The macro's name; empty for a token that is written over several lines with backslashes.
    pub name: SmolStr,
    /// Place of the name in the `#define`; [`Span::NONE`] for `__LINE__` and the like.
    pub definition: Span,
    /// The call, arguments included; it may stand in another expansion.
    pub call: Span,
}

/// A place as the user knows it. Line markers have been applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The file's name, as it was opened or as a line marker gives it.
    pub file: SmolStr,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// The sources do not fit the 32-bit numbering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl SourceMap {
    /// No sources.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a file. `included_from` is the place of the `#include`, or [`Span::NONE`].
    pub fn add_file(
        &mut self,
        name: impl Into<SmolStr>,
        text: impl Into<std::sync::Arc<str>>,
        included_from: Span,
    ) -> Result<FileId, TooLarge> {
        let text = text.into();
        let len = text.len();
        self.push(File::new(name.into(), text, self.next_base(), included_from), len)
    }

    /// Adds text that stands in no file and returns its place, to be combined with an expansion.
    pub fn add_generated(&mut self, text: &str) -> Result<Span, TooLarge> {
        let index = match self.generated {
            Some(i) if self.files[i].room() >= text.len() => i,
            _ => {
                let capacity = GENERATED_CHUNK.max(text.len());
                let file = File::generated(self.next_base(), capacity);
                let id = self.push(file, capacity)?;
                self.generated = Some(id.0 as usize);
                id.0 as usize
            }
        };
        let (lo, hi) = self.files[index].append(text);
        Ok(Span { lo, hi, expansion: ExpansionId::default() })
    }

    /// From byte `at` of `file` on, lines count from `line`, in a file called `name` if given (`# 12 "name"`).
    /// Markers of a file must come in ascending order.
    pub fn add_line_marker(&mut self, file: FileId, at: u32, line: u32, name: Option<SmolStr>) {
        if let Some(f) = self.files.get_mut(file.0 as usize) {
            let name = name.unwrap_or_else(|| f.presumed_name(at).clone());
            f.markers.push(LineMarker { at, line, name });
        }
    }

    /// Records an expansion.
    pub fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        self.expansions.push(expansion);
        ExpansionId(u32::try_from(self.expansions.len()).unwrap_or(0))
    }

    /// The expansion, unless it is "none".
    pub fn expansion(&self, id: ExpansionId) -> Option<&Expansion> {
        self.expansions.get((id.0 as usize).checked_sub(1)?)
    }

    /// The expansions that `span` stands in, innermost first.
    pub fn backtrace(&self, span: Span) -> impl Iterator<Item = &Expansion> {
        std::iter::successors(self.expansion(span.expansion), |e| self.expansion(e.call.expansion))
    }

    /// Place in the user's text: `span` itself, or the outermost macro call that it came from.
    pub fn call_site(&self, span: Span) -> Span {
        self.backtrace(span).last().map_or(span, |e| e.call)
    }

    /// The text of `span`, as spelled; empty for [`Span::NONE`].
    pub fn text(&self, span: Span) -> &str {
        self.file_of(span.lo).map_or("", |f| f.slice(span.lo, span.hi))
    }

    /// The file that byte `at` belongs to; none for 0.
    pub fn file_of(&self, at: u32) -> Option<&File> {
        let index = self.files.partition_point(|f| f.base <= at).checked_sub(1)?;
        self.files.get(index)
    }

    /// The file with this id.
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id.0 as usize)
    }

    /// All files, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| !file.is_generated())
    }

    /// Position of byte `at`, for users.
    pub fn position(&self, at: u32) -> Option<Position> {
        let file = self.file_of(at)?;
        let line = file.line_of(at);
        let (start, _) = file.line_range(line);
        let column = file.slice(start, at).chars().count() as u32 + 1;
        Some(Position { file: file.presumed_name(at).clone(), line: file.presumed_line(at), column })
    }

    /// Orders spans as a reader meets them: an included file's text comes where its `#include` stands, a
    /// macro's where it is called.
    pub fn reading_order(&self, span: Span) -> Vec<u32> {
        let mut at = self.call_site(span).lo;
        let mut key = vec![span.lo, at];
        while let Some(from) = self.file_of(at).map(|f| f.included_from).filter(|s| !s.is_none()) {
            at = self.call_site(from).lo;
            key.push(at);
        }
        key.reverse();
        key
    }

    fn next_base(&self) -> u64 {
        self.files.last().map_or(1, |f| u64::from(f.base) + f.capacity as u64 + 1)
    }

    fn push(&mut self, file: Result<File, TooLarge>, len: usize) -> Result<FileId, TooLarge> {
        let file = file?;
        u32::try_from(u64::from(file.base) + len as u64 + 1).map_err(|_| TooLarge)?;
        self.files.push(file);
        Ok(FileId(self.files.len() as u32 - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::file::line_starts;
    use super::*;

    fn span(lo: u32, hi: u32) -> Span {
        Span { lo, hi, expansion: ExpansionId::default() }
    }

    fn place(map: &SourceMap, at: u32) -> String {
        map.position(at).map_or("nowhere".into(), |p| format!("{}:{}:{}", p.file, p.line, p.column))
    }

    #[test]
    fn bytes_are_numbered_from_one_over_all_files() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "ab\nc", Span::NONE).unwrap();
        map.add_file("b.p4", "däd\n", Span::NONE).unwrap();
        assert_eq!(map.text(span(1, 3)), "ab");
        assert_eq!(place(&map, 4), "a.p4:2:1");
        assert_eq!(place(&map, 5), "a.p4:2:2", "the end of a file belongs to it");
        assert_eq!(place(&map, 6), "b.p4:1:1");
        assert_eq!(place(&map, 9), "b.p4:1:3", "columns count characters");
        assert_eq!(place(&map, 0), "nowhere");
        assert_eq!(map.text(span(7, 9)), "ä");
        assert_eq!(map.text(span(8, 9)), "", "half a character is no text");
    }

    #[test]
    fn line_markers_change_what_is_reported() {
        let mut map = SourceMap::new();
        let file = map.add_file("gen.p4", "x\n# 40 \"real.p4\"\ny\n#line 7\nz", Span::NONE).unwrap();
        map.add_line_marker(file, 18, 40, Some("real.p4".into()));
        map.add_line_marker(file, 28, 7, None);
        assert_eq!(place(&map, 1), "gen.p4:1:1");
        assert_eq!(place(&map, 18), "real.p4:40:1");
        assert_eq!(place(&map, 28), "real.p4:7:1");
    }

    #[test]
    fn generated_text_has_a_place() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "ab", Span::NONE).unwrap();
        let one = map.add_generated("x_1").unwrap();
        let two = map.add_generated("x_2").unwrap();
        map.add_file("b.p4", "cd", Span::NONE).unwrap();
        assert_eq!((map.text(one), map.text(two)), ("x_1", "x_2"));
        let long = "y".repeat(5000);
        let three = map.add_generated(&long).unwrap();
        assert_eq!(map.text(three), long);
        assert_eq!(map.text(one), "x_1");
    }

    #[test]
    fn a_span_leads_to_the_outermost_call() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "#define A B\n#define B 1\nA", Span::NONE).unwrap();
        let call = span(25, 26);
        let a = map.add_expansion(Expansion { name: "A".into(), definition: span(9, 10), call });
        let inner = Span { lo: 11, hi: 12, expansion: a };
        let b = map.add_expansion(Expansion { name: "B".into(), definition: span(21, 22), call: inner });
        let one = Span { lo: 23, hi: 24, expansion: b };
        assert_eq!(map.call_site(one), call);
        let names: Vec<&str> = map.backtrace(one).map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["B", "A"]);
    }

    #[test]
    fn included_text_is_read_where_it_is_included() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "1\n#include \"b\"\n2", Span::NONE).unwrap();
        map.add_file("b", "3", span(3, 15)).unwrap();
        let mut spans = [span(16, 17), span(18, 19), span(1, 2)];
        spans.sort_by_key(|s| map.reading_order(*s));
        assert_eq!(spans.map(|s| map.text(s).to_string()), ["1", "3", "2"]);
    }

    #[test]
    fn lines_are_found() {
        assert_eq!(line_starts("a\nb\r\nc"), [0, 2, 5]);
    }
}
