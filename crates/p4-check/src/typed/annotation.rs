//! Annotations (P4-16 §20), kept on everything that can carry them.

use std::sync::Arc;

use base_diag::Span;
use smol_str::SmolStr;

use super::expr::Expr;

/// The annotations of one declaration, statement or field, in source order.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    list: Option<Arc<[Annotation]>>,
}

/// One annotation.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Without `@`.
    pub name: SmolStr,
    /// The part in brackets.
    pub body: AnnotationBody,
    /// The whole annotation.
    pub span: Span,
}

/// The contents of an annotation.
#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// Values of `@a(1, "x")`, where the tokens read as expressions that are literals.
    Values(Vec<Expr>),
    /// Values of `@a[1, "x"]`.
    List(Vec<Expr>),
    /// Names with values: `@a[x = 1]`.
    Pairs(Vec<(SmolStr, Expr)>),
    /// The tokens of `@a(...)` or `@pragma a ...` as spelled, strings in quotes, where they are not a list of values.
    Tokens(Vec<SmolStr>),
}

impl Annotations {
    /// These annotations.
    pub fn new(list: Vec<Annotation>) -> Annotations {
        Annotations { list: if list.is_empty() { None } else { Some(list.into()) } }
    }

    /// All in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Annotation> {
        self.list.as_deref().unwrap_or_default().iter()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_none()
    }

    /// The first with this name.
    pub fn get(&self, name: &str) -> Option<&Annotation> {
        self.iter().find(|a| a.name == name)
    }

    /// True if there is one with this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The string of `@name("...")`: the control-plane name; a leading dot makes it absolute.
    pub fn control_name(&self) -> Option<&str> {
        self.get("name").and_then(Annotation::string)
    }
}

impl Annotation {
    /// The values, if it has a list of them.
    pub fn values(&self) -> &[Expr] {
        match &self.body {
            AnnotationBody::Values(values) | AnnotationBody::List(values) => values,
            _ => &[],
        }
    }

    /// The only value, if it is a string.
    pub fn string(&self) -> Option<&str> {
        match self.values() {
            [Expr { kind: super::expr::ExprKind::String(text), .. }] => Some(text),
            _ => None,
        }
    }
}
