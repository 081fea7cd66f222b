//! Indented text.

/// Lines with their indentation.
#[derive(Clone, Default, Debug)]
pub(crate) struct Text {
    out: String,
    indent: usize,
}

impl Text {
    /// A line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// A line after which the text is indented, until [`close`](Text::close).
    pub(crate) fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.indent += 1;
    }

    /// Ends what [`open`](Text::open) began.
    pub(crate) fn close(&mut self, text: impl AsRef<str>) {
        self.indent = self.indent.saturating_sub(1);
        self.line(text);
    }

    /// All of it.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}
