//! Tables: keys, actions, entries.

use base_diag::Span;
use ir::{ActionRef, Const, DefaultAction, Entry, Expr, ExprKind, Keyset, MatchKind, Table, TableKey};
use p4_check::typed::{self, Arg};
use smol_str::SmolStr;

use crate::annotation::{annotations, local_name};
use crate::names::qualify;
use crate::priorities::{Counting, needs_priority, priorities};
use crate::properties::Properties;
use crate::refuse;
use crate::stmt::Body;

/// A match kind by its name.
pub(crate) fn match_kind(name: &SmolStr) -> MatchKind {
    match name.as_str() {
        "exact" => MatchKind::Exact,
        "ternary" => MatchKind::Ternary,
        "lpm" => MatchKind::Lpm,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        "selector" => MatchKind::Selector,
        _ => MatchKind::Other(name.clone()),
    }
}

impl Body<'_, '_> {
    /// A table of this control.
    pub(crate) fn table(&mut self, id: typed::TableId) -> Table {
        let decl = &self.el.typed.tables[id];
        let control_plane_name = qualify(&self.env.prefix, local_name(&decl.annotations, &decl.name));
        let control_plane_name =
            self.el.claim_control_plane_name("table", control_plane_name, &decl.annotations, decl.name.span);
        let keys: Vec<TableKey> =
            decl.keys.iter().zip(1..).map(|(k, place)| self.table_key(k, place)).collect();
        let actions = decl.actions.iter().filter_map(|a| self.action_ref(a)).collect();
        let default_action = DefaultAction {
            action: decl.default_action.call.action,
            args: self.action_args(&decl.default_action.call.args, decl.span),
            is_const: decl.default_action.is_const,
        };
        let properties = self.properties(decl, &control_plane_name);
        let entries = self.entries(decl, &keys, &properties);
        Table {
            name: decl.name.text.clone(),
            control_plane_name,
            actions,
            default_action,
            entries,
            const_entries: decl.entries.as_ref().is_some_and(|e| e.is_const),
            largest_priority_wins: properties.counting.largest_wins,
            size: decl.size.as_ref().and_then(|e| self.size(e, "the size of a table")),
            implementation: properties.implementation,
            counters: properties.counters,
            meters: properties.meters,
            properties: properties.others,
            keys,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        }
    }

    /// A number of elements.
    pub(crate) fn size(&mut self, expr: &typed::Expr, what: &str) -> Option<u64> {
        let value = self.el.known(&self.env, expr, what)?;
        let size = value.as_int().and_then(|v| u64::try_from(v).ok());
        if size.is_none() {
            self.el.report(crate::refuse::not_constant(what, expr.span));
        }
        size
    }

    fn table_key(&mut self, key: &typed::TableKey, place: u32) -> TableKey {
        let kind = &self.el.typed.match_kinds[key.match_kind].name.text;
        let ty = self.env.close(&key.expr.ty);
        if matches!(self.el.representation(&ty), typed::Type::Varbit(_) | typed::Type::MatchKind) {
            self.el.refuse("a key of this type", key.expr.span);
        }
        TableKey {
            expr: self.expr(&key.expr),
            match_kind: match_kind(kind),
            name: self.key_name(key, place),
            annotations: annotations(&key.annotations),
        }
    }

    fn action_ref(&mut self, from: &typed::TableAction) -> Option<ActionRef> {
        let action = self.action_id(from.action, from.span)?;
        let args = self.action_args(&from.args, from.span);
        Some(ActionRef { action, args, annotations: annotations(&from.annotations) })
    }

    fn action_args(&mut self, args: &[Arg], span: Span) -> Vec<Expr> {
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            match arg.expr() {
                Some(expr) => out.push(self.settled(expr)),
                None => self.el.refuse("an action's argument left out", span),
            }
        }
        out
    }

    fn entries(&mut self, decl: &typed::Table, keys: &[TableKey], properties: &Properties) -> Vec<Entry> {
        let Some(entries) = &decl.entries else { return vec![] };
        let ranked = needs_priority(keys.iter().map(|k| &k.match_kind));
        // No entry can come between constant ones: their priorities need no gaps.
        let counting = if entries.is_const {
            Counting { largest_wins: properties.counting.largest_wins, delta: 1 }
        } else {
            properties.counting
        };
        let ranks = match priorities(entries, counting) {
            Ok(ranks) => ranks,
            Err(problem) => {
                if ranked {
                    self.el.report(problem);
                }
                vec![]
            }
        };
        let typed_keys: Vec<typed::Type> = decl.keys.iter().map(|k| self.env.close(&k.expr.ty)).collect();
        let mut out = Vec::with_capacity(entries.entries.len());
        for (index, entry) in entries.entries.iter().enumerate() {
            let mut sets = vec![];
            for (set, ty) in entry.sets.iter().zip(typed_keys.iter().map(Some).chain(std::iter::repeat(None)))
            {
                self.keyset(set, ty, &mut sets);
            }
            self.refuse_masks(&sets, keys);
            out.push(Entry {
                keys: sets,
                action: entry.call.action,
                args: self.action_args(&entry.call.args, entry.span),
                priority: if ranked { ranks.get(index).copied() } else { None },
                is_const: entry.is_const,
                annotations: annotations(&entry.annotations),
                span: entry.span,
            });
        }
        out
    }

    /// An `lpm` key matches prefixes; a `range`, `exact` or `optional` key no masks.
    fn refuse_masks(&mut self, sets: &[Keyset], keys: &[TableKey]) {
        for (set, key) in sets.iter().zip(keys) {
            let Keyset::Mask(_, mask) = set else { continue };
            match (&key.match_kind, &mask.kind) {
                (MatchKind::Lpm, ExprKind::Const(Const::Bits(bits))) if bits.prefix_len().is_none() => {
                    let why = format!("the mask of `{}` is not a prefix: {}", key.name, bits.to_hex());
                    self.el.report(refuse::mask(
                        &why,
                        "an `lpm` key matches masks of ones followed by zeros",
                        mask.span,
                    ));
                }
                (MatchKind::Range, _) => {
                    let why = format!("`{}` matches ranges", key.name);
                    self.el.report(refuse::mask(
                        &why,
                        "a `range` key matches values from one to another",
                        mask.span,
                    ));
                }
                (MatchKind::Exact | MatchKind::Optional, _) => {
                    let why = format!("`{}` matches single values", key.name);
                    let rule =
                        "an `exact` or `optional` key matches one value, and `optional` every value (`_`)";
                    self.el.report(refuse::mask(&why, rule, mask.span));
                }
                _ => {}
            }
        }
    }
}
