//! JSON values that know where they stand in their document, for messages.

use crate::{Signature, Unit, VarId, find_name};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use serde_json::Value;

/// A value with its path: `[3].ports[0]`.
#[derive(Clone)]
pub struct Node<'v> {
    value: &'v Value,
    path: String,
    span: Span,
}

pub type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads a document; `base` is the number of its first byte.
pub fn parse(text: &str, base: u32) -> Result<Value> {
    let (text, base) = base_diag::without_mark(text, base);
    serde_json::from_str(text).map_err(|error| {
        let line =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = u32::try_from(line + error.column().saturating_sub(1)).unwrap_or(u32::MAX);
        let lo = base.saturating_add(at);
        let span = Span { lo, hi: lo.saturating_add(1), ..Span::NONE };
        Diagnostic::error(codes::FORM, "not valid JSON").at(span, error.to_string())
    })
}

impl<'v> Node<'v> {
    /// The document itself.
    pub fn root(value: &'v Value, base: u32) -> Node<'v> {
        let span = Span { lo: base, hi: base.saturating_add(1), ..Span::NONE };
        Node { value, path: String::new(), span }
    }

    /// The place of the document.
    pub fn span(&self) -> Span {
        self.span
    }

    /// A diagnostic about this value.
    pub fn wrong(&self, title: impl Into<String>) -> Diagnostic {
        self.place(Diagnostic::error(codes::FORM, title))
    }

    /// A diagnostic about this value: it is described a second time.
    pub fn twice(&self, what: &str) -> Diagnostic {
        self.place(Diagnostic::error(codes::TWICE, format!("{what} is described twice")))
    }

    /// The place among `known` of a `kind` that this value names.
    pub fn named<'n>(
        &self,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<usize> {
        find_name(kind, name, known).map_err(|unknown| self.place(unknown))
    }

    /// The variable that this value names, with its unit.
    pub fn variable(&self, name: &str, signature: &Signature) -> Result<VarId> {
        let known = signature.variables.iter().map(|v| v.name.as_str());
        self.named("variable", name, known).map(|at| VarId(at as u16))
    }

    fn place(&self, diagnostic: Diagnostic) -> Diagnostic {
        let place = if self.path.is_empty() { "the document" } else { &self.path };
        diagnostic.at(self.span, "in this file").note(format!("at {place}"))
    }

    fn at(&self, value: &'v Value, step: String) -> Node<'v> {
        Node { value, path: format!("{}{step}", self.path), span: self.span }
    }

    /// The elements of a list.
    pub fn list(&self) -> Result<Vec<Node<'v>>> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("a list is expected here"))?;
        Ok(list.iter().enumerate().map(|(at, v)| self.at(v, format!("[{at}]"))).collect())
    }

    /// Keys and values of an object, in the order of the document.
    pub fn entries(&self) -> Result<Vec<(&'v str, Node<'v>)>> {
        let object = self.value.as_object().ok_or_else(|| self.wrong("an object is expected here"))?;
        Ok(object.iter().map(|(key, v)| (key.as_str(), self.at(v, format!(".{key}")))).collect())
    }

    /// The only key of an object, and its value.
    pub fn single(&self) -> Result<(&'v str, Node<'v>)> {
        match <[_; 1]>::try_from(self.entries()?) {
            Ok([entry]) => Ok(entry),
            Err(_) => Err(self.wrong("an object with one key is expected here")),
        }
    }

    /// The value of a key, if it is there.
    pub fn find(&self, key: &str) -> Option<Node<'v>> {
        Some(self.at(self.value.get(key)?, format!(".{key}")))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Result<Node<'v>> {
        self.find(key).ok_or_else(|| self.wrong(format!("`{key}` is missing")))
    }

    /// A string.
    pub fn text(&self) -> Result<&'v str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string is expected here"))
    }

    /// True or false.
    pub fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false is expected here"))
    }

    /// Two values.
    pub fn pair(&self) -> Result<(Node<'v>, Node<'v>)> {
        let found = <[_; 2]>::try_from(self.list()?);
        found.map(|[a, b]| (a, b)).map_err(|_| self.wrong("a list of two is expected here"))
    }

    /// A number, written as such or as a string.
    pub fn quantity(&self, unit: Unit) -> Result<i64> {
        unit.parse(&self.number()?).map_err(|why| self.wrong("not a quantity of this kind").note(why))
    }

    /// The text of a number.
    pub fn number(&self) -> Result<String> {
        match self.value {
            Value::Number(number) => Ok(number.to_string()),
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong("a number is expected here")),
        }
    }
}
