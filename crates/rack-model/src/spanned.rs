//! A value and its place in the file.

use base_diag::Span;

/// A value with its place, for messages that later stages have about it.
///
/// Equality looks at the value alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Place in the file; [`Span::NONE`] without a file.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// `value` at `span`.
    pub fn new(value: T, span: Span) -> Spanned<T> {
        Spanned { value, span }
    }

    /// Replaces the value, and keeps the place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span }
    }
}

/// From no file.
impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Spanned<T> {
        Spanned { value, span: Span::NONE }
    }
}

/// From no file.
impl From<&str> for Spanned<String> {
    fn from(value: &str) -> Spanned<String> {
        Spanned { value: value.to_string(), span: Span::NONE }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Spanned<T>) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}
