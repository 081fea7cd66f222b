//! Sets of values in `select` cases and table entries (P4-16 §8.15).

use base_diag::Span;
use ir::{Expr, ExprKind, Keyset};
use p4_check::typed::{self, KeySet, StructKind, Type};

use crate::stmt::Body;

impl Body<'_, '_> {
    /// The keys of a `select` as flat positions: a struct or tuple is one position for each of its parts.
    pub(crate) fn select_keys(&mut self, keys: &[typed::Expr]) -> Vec<Expr> {
        let mut flat = vec![];
        for key in keys {
            let lowered = self.expr(key);
            let ty = self.env.close(&key.ty);
            self.flatten(lowered, &ty, &mut flat);
        }
        flat
    }

    /// The sets of one case, in the same positions. `keys` are the keys that they are for.
    pub(crate) fn keysets(&mut self, sets: &[KeySet], keys: &[typed::Expr]) -> Vec<Keyset> {
        let mut flat = vec![];
        if let [KeySet::Any(..)] = sets {
            return vec![Keyset::DontCare];
        }
        for (set, key) in sets.iter().zip(keys.iter().map(Some).chain(std::iter::repeat(None))) {
            let ty = key.map(|k| self.env.close(&k.ty));
            self.keyset(set, ty.as_ref(), &mut flat);
        }
        flat
    }

    /// One set, added to `out` in as many positions as its key has.
    pub(crate) fn keyset(&mut self, set: &KeySet, key: Option<&Type>, out: &mut Vec<Keyset>) {
        match set {
            KeySet::Any(ty, _) => {
                let ty = self.env.close(ty);
                let positions = self.positions(key.unwrap_or(&ty));
                out.extend(std::iter::repeat_n(Keyset::DontCare, positions));
            }
            KeySet::Value(value) => {
                let lowered = self.settled(value);
                let ty = self.env.close(&value.ty);
                let mut flat = vec![];
                self.flatten(lowered, &ty, &mut flat);
                out.extend(flat.into_iter().map(Keyset::Value));
            }
            KeySet::Mask(value, mask) => {
                let value = self.bound(value, key);
                out.push(Keyset::Mask(value, self.bound(mask, key)));
            }
            KeySet::Range(lo, hi) => {
                let lo = self.bound(lo, key);
                out.push(Keyset::Range(lo, self.bound(hi, key)));
            }
            KeySet::ValueSet(id, span) => match self.env.value_sets.get(id) {
                Some(known) => out.push(Keyset::ValueSet(*known)),
                None => self.el.refuse("a value set of another block", *span),
            },
            KeySet::Tuple(sets, _) => {
                let types = key.and_then(|ty| self.el.part_types(ty, sets.len())).unwrap_or_default();
                for (index, set) in sets.iter().enumerate() {
                    self.keyset(set, types.get(index), out);
                }
            }
        }
    }

    /// A part of a mask or range, of the key's type: computed in the type that represents the key's.
    fn bound(&mut self, expr: &typed::Expr, key: Option<&Type>) -> Expr {
        let lowered = self.settled(expr);
        let Some(ty) = key.map(|ty| self.el.ty(ty)) else { return lowered };
        let span = lowered.span;
        match lowered.kind {
            _ if lowered.ty == ty => lowered,
            ExprKind::Const(_) => Expr { ty, ..lowered },
            _ => Expr { kind: ExprKind::Cast(Box::new(lowered)), ty, span },
        }
    }

    /// Number of positions of a key of this type.
    fn positions(&self, ty: &Type) -> usize {
        match self.record_parts(ty) {
            Some(parts) => parts.iter().map(|p| self.positions(p)).sum(),
            None => 1,
        }
    }

    /// The parts of a struct or tuple; headers are compared whole.
    fn record_parts(&self, ty: &Type) -> Option<Vec<Type>> {
        match ty {
            Type::Struct(id, _) if self.el.typed.structs[*id].kind != StructKind::Struct => None,
            Type::Struct(..) | Type::Tuple(_) => self.el.part_types(ty, 0),
            _ => None,
        }
    }

    fn flatten(&mut self, expr: Expr, ty: &Type, out: &mut Vec<Expr>) {
        let Some(types) = self.record_parts(ty) else {
            out.push(expr);
            return;
        };
        let span: Span = expr.span;
        match expr.kind {
            ExprKind::Aggregate(parts) => {
                for (part, ty) in parts.into_iter().zip(&types) {
                    self.flatten(part, ty, out);
                }
            }
            _ => {
                for (ty, index) in types.iter().zip(0u32..) {
                    let kind = ExprKind::Field(Box::new(expr.clone()), index);
                    let part = Expr { kind, ty: self.el.ty(ty), span };
                    self.flatten(part, ty, out);
                }
            }
        }
    }
}
