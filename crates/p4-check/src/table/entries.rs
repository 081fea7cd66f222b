//! `entries` (P4-16 §14.2.1.4).

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, count};
use crate::expr::listed;
use crate::typed::{Entries, Entry, ExprKind, KeySet, TableId, Type};

impl Checker {
    pub(crate) fn table_entries(
        &mut self,
        table: TableId,
        d: &ast::TableDecl,
        p: &ast::TableProperty,
        entries: &[ast::Entry],
    ) {
        let keys = d.properties.iter().position(|q| matches!(q.kind, ast::TablePropertyKind::Key(_)));
        let here = d.properties.iter().position(|q| std::ptr::eq(q, p));
        match keys {
            None if entries.is_empty() => {}
            None => {
                let title = format!("table `{}` has entries and no key", d.name.text);
                self.report(
                    Diagnostic::error(codes::BAD_ENTRY, title)
                        .at(d.name.span, "without a key nothing can be looked up")
                        .at(p.name.span, "these can never match"),
                );
                return;
            }
            Some(at) if here.is_some_and(|h| h < at) => {
                self.error(codes::BAD_ENTRY, p.name.span, "`entries` precedes `key`", "it must come after");
                return;
            }
            Some(at) => {
                let written = match &d.properties[at].kind {
                    ast::TablePropertyKind::Key(keys) => keys.len(),
                    _ => 0,
                };
                // A key with a mistake was reported: entries cannot be compared with it.
                if written != self.program.tables[table].keys.len() {
                    return;
                }
                if written == 0 && !entries.is_empty() {
                    let title = format!("table `{}` has entries and no key", d.name.text);
                    self.error(codes::BAD_ENTRY, d.name.span, title, "");
                    return;
                }
            }
        }
        let list: Vec<Entry> = entries.iter().filter_map(|e| self.entry(table, p.is_const, e)).collect();
        self.program.tables[table].entries =
            Some(Entries { is_const: p.is_const, entries: list, span: p.span });
    }

    fn entry(&mut self, table: TableId, is_const: bool, e: &ast::Entry) -> Option<Entry> {
        self.infer.clear();
        let annotations = self.annotations(&e.annotations);
        let types: Vec<Type> = self.program.tables[table].keys.iter().map(|k| k.expr.ty.clone()).collect();
        let sets = self.entry_sets(&e.keyset, &types);
        let priority = match &e.priority {
            None => None,
            Some(p) => Some(self.const_int(p, "a priority")?),
        };
        if let (true, Some(p)) = (is_const, &e.priority) {
            self.report(
                Diagnostic::error(codes::BAD_ENTRY, "a priority in `const entries`")
                    .at(p.span, "their order decides which of them wins")
                    .help("leave it out, or write `entries` without `const`"),
            );
        }
        if priority.as_ref().is_some_and(|p| *p < BigInt::ZERO) {
            self.error(codes::BAD_ENTRY, e.span, "a priority cannot be negative", "");
        }
        let call = self.action_call(table, &e.action.path, e.action.args.as_deref(), e.action.span)?;
        let listed = &self.program.tables[table].actions[call.action as usize];
        if listed.annotations.has("defaultonly") {
            let at = listed.span;
            self.report(
                Diagnostic::error(codes::BAD_ENTRY, "a `@defaultonly` action cannot be used in an entry")
                    .at(e.action.span, "")
                    .at(at, "marked here"),
            );
        }
        let sets = sets?;
        let is_const = is_const || e.is_const;
        Some(Entry { sets, call, priority, is_const, annotations, span: e.span })
    }

    fn entry_sets(&mut self, keyset: &ast::Keyset, types: &[Type]) -> Option<Vec<KeySet>> {
        if let ([only], false) = (&keyset.elements[..], keyset.tuple)
            && matches!(only.kind, ast::KeysetElementKind::Default | ast::KeysetElementKind::DontCare)
        {
            return Some(types.iter().map(|t| KeySet::Any(t.clone(), only.span)).collect());
        }
        let elements = listed(&keyset.elements, types.len());
        if elements.len() != types.len() {
            let label = format!("expected {}, found {}", count(types.len(), "set"), elements.len());
            self.error(codes::BAD_ENTRY, keyset.span, "wrong number of sets in an entry", label);
            return None;
        }
        let mut out = Vec::with_capacity(types.len());
        let mut sound = true;
        for (element, ty) in elements.iter().zip(types) {
            let set = self.keyset(element, ty, None);
            sound &= set.as_ref().is_some_and(|s| self.check_entry_set(s, element.span));
            out.extend(set);
        }
        sound.then_some(out)
    }

    /// Entries hold known values.
    fn check_entry_set(&mut self, set: &KeySet, span: Span) -> bool {
        let known = match set {
            KeySet::Any(..) => true,
            KeySet::Value(e) => self.is_known(e) && !matches!(e.kind, ExprKind::Default),
            KeySet::Mask(a, b) | KeySet::Range(a, b) => self.is_known(a) && self.is_known(b),
            KeySet::ValueSet(..) => false,
            KeySet::Tuple(sets, at) => return sets.iter().all(|s| self.check_entry_set(s, *at)),
        };
        if !known {
            let title = "a key of an entry must be known at compile time";
            self.error(codes::NOT_CONSTANT, span, title, "");
        }
        known
    }
}
