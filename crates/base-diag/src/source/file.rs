//! One source text and its lines.

use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;

use super::TooLarge;
use crate::Span;

/// A file of a [`SourceMap`](super::SourceMap).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// One source text.
#[derive(Clone, Debug)]
pub struct File {
    pub(super) name: SmolStr,
    pub(super) base: u32,
    /// Bytes of the numbering that belong to it; of a real file, its length.
    pub(super) capacity: usize,
    pub(super) included_from: Span,
    pub(super) markers: Vec<LineMarker>,
    text: Text,
    lines: OnceLock<Vec<u32>>,
}

#[derive(Clone, Debug)]
enum Text {
    Loaded(Arc<str>),
    Generated(String),
}

#[derive(Clone, Debug)]
pub(super) struct LineMarker {
    /// The first byte it counts for, in the global numbering.
    pub at: u32,
    pub line: u32,
    pub name: SmolStr,
}

impl File {
    pub(super) fn new(
        name: SmolStr,
        text: Arc<str>,
        base: u64,
        included_from: Span,
    ) -> Result<File, TooLarge> {
        let base = u32::try_from(base).map_err(|_| TooLarge)?;
        let capacity = text.len();
        let lines = OnceLock::new();
        Ok(File { name, base, capacity, included_from, markers: vec![], text: Text::Loaded(text), lines })
    }

    pub(super) fn generated(base: u64, capacity: usize) -> Result<File, TooLarge> {
        let mut file = File::new("<generated>".into(), "".into(), base, Span::NONE)?;
        file.capacity = capacity;
        file.text = Text::Generated(String::new());
        Ok(file)
    }

    /// Bytes that can still be appended.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.text().len()
    }

    pub(super) fn append(&mut self, more: &str) -> (u32, u32) {
        let lo = self.base + self.text().len() as u32;
        if let Text::Generated(text) = &mut self.text {
            text.push_str(more);
        }
        (lo, lo + more.len() as u32)
    }

    /// The name it was opened by.
    pub fn name(&self) -> &SmolStr {
        &self.name
    }

    /// The number of its first byte.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Text of the file.
    pub fn text(&self) -> &str {
        match &self.text {
            Text::Loaded(t) => t,
            Text::Generated(t) => t,
        }
    }

    /// Text of the file, shared.
    pub fn shared_text(&self) -> Arc<str> {
        match &self.text {
            Text::Loaded(t) => t.clone(),
            Text::Generated(t) => t.as_str().into(),
        }
    }

    /// The `#include` that brought it in.
    pub fn included_from(&self) -> Span {
        self.included_from
    }

    /// True for text that stands in no file.
    pub fn is_generated(&self) -> bool {
        matches!(self.text, Text::Generated(_))
    }

    /// The text of `lo..hi` in the global numbering; empty if it is no range of characters of this file.
    pub(super) fn slice(&self, lo: u32, hi: u32) -> &str {
        let range = (lo.saturating_sub(self.base)) as usize..(hi.saturating_sub(self.base)) as usize;
        self.text().get(range).unwrap_or("")
    }

    /// The line of byte `at`, counted from 0 as it really stands.
    pub fn line_of(&self, at: u32) -> usize {
        let at = at.saturating_sub(self.base);
        self.lines().partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The bytes of a line, without its end, in the global numbering.
    pub fn line_range(&self, line: usize) -> (u32, u32) {
        let start = self.lines().get(line).copied().unwrap_or(0);
        let rest = self.text().get(start as usize..).unwrap_or("");
        let len = rest.find('\n').unwrap_or(rest.len());
        let len = if rest[..len].ends_with('\r') { len - 1 } else { len };
        (self.base + start, self.base + start + len as u32)
    }

    /// The number of the line of `at`, from 1, as markers give it.
    pub fn presumed_line(&self, at: u32) -> u32 {
        let line = self.line_of(at) as u32;
        match self.marker(at) {
            Some(m) => (line - self.line_of(m.at) as u32).saturating_add(m.line),
            None => line + 1,
        }
    }

    /// The file's name at `at`, as markers give it.
    pub fn presumed_name(&self, at: u32) -> &SmolStr {
        self.marker(at).map_or(&self.name, |m| &m.name)
    }

    fn marker(&self, at: u32) -> Option<&LineMarker> {
        self.markers[..self.markers.partition_point(|m| m.at <= at)].last()
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| line_starts(self.text()))
    }
}

/// The offset of every line's first byte.
pub(super) fn line_starts(text: &str) -> Vec<u32> {
    let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
    std::iter::once(0).chain(ends.map(|(i, _)| i as u32 + 1)).collect()
}
