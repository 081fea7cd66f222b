//! Keysets of `select` cases and table entries (P4-16 §8.15).

use std::borrow::Cow;

use base_diag::{Diagnostic, Span};
use p4_syntax::ast::{self, KeysetElement, KeysetElementKind};

use crate::codes;
use crate::cx::Checker;
use crate::typed::walk::Visitor;
use crate::typed::{Call, Expr, ExprKind, KeySet, Type};

/// The sets of a keyset for `n` keys: a list `{a, b}` that stands alone is one for each key.
pub(crate) fn listed(elements: &[KeysetElement], n: usize) -> Cow<'_, [KeysetElement]> {
    if let [KeysetElement { kind: KeysetElementKind::Value(e), .. }] = elements
        && let ast::ExprKind::List(items) = &e.kind
        && items.len() == n
    {
        let sets =
            items.iter().map(|i| KeysetElement { kind: KeysetElementKind::Value(i.clone()), span: i.span });
        return Cow::Owned(sets.collect());
    }
    Cow::Borrowed(elements)
}

impl Checker {
    /// The set for a key of this type; `None` if something is wrong.
    ///
    /// `against` is where the key stands, if a mismatch should show it.
    pub(crate) fn keyset(
        &mut self,
        element: &KeysetElement,
        key: &Type,
        against: Option<Span>,
    ) -> Option<KeySet> {
        match &element.kind {
            KeysetElementKind::Default | KeysetElementKind::DontCare => {
                Some(KeySet::Any(key.clone(), element.span))
            }
            KeysetElementKind::Value(e) => {
                let value = self.expr(e, Some(key));
                if let ExprKind::ValueSet(id) = value.kind {
                    return self.value_set_for(&value, key).then_some(KeySet::ValueSet(id, element.span));
                }
                let value = self.convert_for_key(value, key, key, against)?;
                if has_call(&value) {
                    self.error(
                        codes::CALL_PLACE,
                        value.span,
                        "a call in a keyset",
                        "no calls are allowed here",
                    );
                    return None;
                }
                (!value.ty.is_error()).then_some(KeySet::Value(value))
            }
            KeysetElementKind::Mask(a, b) => {
                let number = self.key_number(key, element.span, "&&&")?;
                let (a, b) = self.keyset_pair(a, b, &number, key, against)?;
                Some(KeySet::Mask(a, b))
            }
            KeysetElementKind::Range(a, b) => {
                let number = self.key_number(key, element.span, "..")?;
                let (a, b) = self.keyset_pair(a, b, &number, key, against)?;
                Some(KeySet::Range(a, b))
            }
        }
    }

    fn keyset_pair(
        &mut self,
        a: &ast::Expr,
        b: &ast::Expr,
        number: &Type,
        key: &Type,
        against: Option<Span>,
    ) -> Option<(Expr, Expr)> {
        let (a, b) = (self.expr(a, Some(number)), self.expr(b, Some(number)));
        let (a, b) = match self.balance(a, b) {
            Ok(pair) => pair,
            Err(pair) => {
                let (a, b) = *pair;
                let (x, y) = (self.show(&a.ty), self.show(&b.ty));
                self.report(
                    Diagnostic::error(codes::OPERANDS, "the ends of this set have different types")
                        .at(a.span, format!("this is `{x}`"))
                        .at(b.span, format!("this is `{y}`")),
                );
                return None;
            }
        };
        let a = self.convert_for_key(a, number, key, against)?;
        let b = self.convert_for_key(b, number, key, against)?;
        if let Some(bad) = [&a, &b].into_iter().find(|e| !self.is_known(e)) {
            let title = "masks and ranges must be known at compile time";
            self.error(codes::NOT_CONSTANT, bad.span, title, "its value depends on the packet");
            return None;
        }
        Some((a, b))
    }

    /// `value` made `want`; a mismatch shows the key.
    fn convert_for_key(
        &mut self,
        value: Expr,
        want: &Type,
        key: &Type,
        against: Option<Span>,
    ) -> Option<Expr> {
        match self.coerce(value, want) {
            Ok(value) => (!value.ty.is_error()).then_some(value),
            Err(value) => {
                let (wanted, found) = (self.show(key), self.show(&value.ty));
                let title = format!("`{found}` cannot match a key of `{wanted}`");
                let mut diagnostic = Diagnostic::error(codes::MISMATCH, title);
                if let Some(at) = against {
                    diagnostic = diagnostic.at(at, format!("this is `{wanted}`"));
                }
                self.report(diagnostic.at(value.span, format!("this is `{found}`")));
                None
            }
        }
    }

    /// The type of the operands of `&&&` and `..` for a key.
    fn key_number(&mut self, key: &Type, span: Span, operator: &str) -> Option<Type> {
        match self.numeric(key) {
            Type::Error => None,
            number @ (Type::Bit(_) | Type::Signed(_)) => Some(number),
            Type::NewType(id) if matches!(self.underlying(key), Type::Bit(_) | Type::Signed(_)) => {
                Some(Type::NewType(id))
            }
            other => {
                let shown = self.show(&other);
                self.error(
                    codes::MISMATCH,
                    span,
                    format!("`{operator}` cannot match a `{shown}`"),
                    "only numbers have masks and ranges",
                );
                None
            }
        }
    }

    fn value_set_for(&mut self, value: &Expr, key: &Type) -> bool {
        let Type::Set(element) = self.infer.shallow(&value.ty) else { return false };
        if self.unify(&element, key) {
            return true;
        }
        let (found, wanted) = (self.show(&element), self.show(key));
        self.report(
            Diagnostic::error(codes::MISMATCH, format!("expected values of `{wanted}`, found `{found}`"))
                .at(value.span, format!("a value set of `{found}`")),
        );
        false
    }
}

/// True if evaluating the expression calls something.
fn has_call(e: &Expr) -> bool {
    struct Finder(bool);
    impl Visitor for Finder {
        fn call(&mut self, _: &Call) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    finder.expr(e);
    finder.0
}
