//! Tables: keys, action lists, entries, properties.

use super::Verifier;
use crate::{ActionRef, Const, Direction, Entry, Expr, ExprKind, Keyset, MatchKind, Table, Type, VarKind};
use base_diag::Span;

impl<'p> Verifier<'p> {
    pub(super) fn table(&mut self, table: &'p Table) {
        for key in &table.keys {
            self.expr(&key.expr);
            let good = self.is_key(&key.expr.ty);
            self.require(good, key.expr.span, |v| {
                format!("a key may not have type `{}`", v.show(&key.expr.ty))
            });
        }
        table.actions.iter().for_each(|action| self.action_ref(action, table.span));
        let default = &table.default_action;
        self.chosen(table, default.action, &default.args, table.span);
        for entry in &table.entries {
            self.entry(table, entry);
        }
        for (name, value) in &table.properties {
            self.at(format!("property {name}"), |v| v.expr(value));
        }
        let instances = [table.implementation, table.counters, table.meters];
        let exist = instances.iter().flatten().all(|id| id.index() < self.program.instances.len());
        self.require(exist, table.span, |_| "an instance in its properties does not exist".to_string());
    }

    fn is_key(&self, ty: &Type) -> bool {
        self.is_integer(ty)
            || matches!(self.program.representation(ty), Type::Bool | Type::Error)
            || matches!(ty, Type::Named(id)
                if matches!(self.program.type_decl(*id).kind, crate::TypeKind::Enum(_)))
    }

    /// The types of an action's parameters with a direction, or of those without.
    fn param_types(&self, action: usize, directed: bool) -> Option<Vec<&'p Type>> {
        let action = self.scope.actions.get(action)?;
        let vars = action.params.iter().filter_map(|id| self.scope.vars.get(id.index()));
        let chosen = vars.filter(|var| (var.kind != VarKind::Param(Direction::None)) == directed);
        Some(chosen.map(|var| &var.ty).collect())
    }

    fn action_ref(&mut self, action: &ActionRef, span: Span) {
        let Some(types) = self.param_types(action.action.index(), true) else {
            return self.error(span, "an action in its list does not exist");
        };
        self.args(&action.args, &types, span);
        let Some(action_decl) = self.scope.actions.get(action.action.index()) else { return };
        for (arg, id) in action.args.iter().zip(&action_decl.params) {
            let kind = self.scope.vars.get(id.index()).map(|var| var.kind);
            if let Some(VarKind::Param(Direction::Out | Direction::InOut)) = kind {
                self.place(arg);
            }
        }
    }

    /// The action that an entry or the default names, and its data.
    fn chosen(&mut self, table: &'p Table, action: u32, args: &[Expr], span: Span) {
        let listed = table.actions.get(action as usize);
        let Some(types) = listed.and_then(|listed| self.param_types(listed.action.index(), false)) else {
            return self.error(span, format!("action {action} is not in its list"));
        };
        self.args(args, &types, span);
        for arg in args {
            self.constant(arg);
        }
    }

    fn args(&mut self, args: &[Expr], types: &[&Type], span: Span) {
        let (found, wanted) = (args.len(), types.len());
        self.require(found == wanted, span, |_| {
            format!("an action has {found} arguments and takes {wanted} here")
        });
        for (arg, ty) in args.iter().zip(types) {
            self.expr(arg);
            self.same_type(&arg.ty, ty, arg.span);
        }
    }

    fn entry(&mut self, table: &'p Table, entry: &Entry) {
        let (found, wanted) = (entry.keys.len(), table.keys.len());
        self.require(found == wanted, entry.span, |_| {
            format!("an entry has {found} keys, the table {wanted}")
        });
        for (keyset, key) in entry.keys.iter().zip(&table.keys) {
            self.keyset(keyset, &key.expr.ty, entry.span);
            self.entry_keyset(keyset, &key.match_kind, entry.span);
        }
        self.chosen(table, entry.action, &entry.args, entry.span);
    }

    fn entry_keyset(&mut self, keyset: &Keyset, kind: &MatchKind, span: Span) {
        let exprs = match keyset {
            Keyset::DontCare | Keyset::ValueSet(_) => vec![],
            Keyset::Value(value) => vec![value],
            Keyset::Mask(a, b) | Keyset::Range(a, b) => vec![a, b],
        };
        exprs.into_iter().for_each(|expr| self.constant(expr));
        let fits = match (keyset, kind) {
            (_, MatchKind::Other(_)) | (Keyset::DontCare | Keyset::Value(_) | Keyset::ValueSet(_), _) => true,
            (Keyset::Mask(..), kind) => matches!(kind, MatchKind::Ternary | MatchKind::Lpm),
            (Keyset::Range(..), kind) => *kind == MatchKind::Range,
        };
        self.require(fits, span, |_| "a mask or range does not suit the match kind".to_string());
        if let (Keyset::Mask(_, mask), MatchKind::Lpm) = (keyset, kind)
            && let ExprKind::Const(Const::Bits(bits)) = &mask.kind
        {
            self.require(bits.prefix_len().is_some(), span, |_| format!("the mask {bits} is no prefix"));
        }
    }

    /// Entries and defaults are known at compile time.
    fn constant(&mut self, expr: &Expr) {
        let mut known = true;
        crate::visit::subexprs(expr, &mut |e| {
            known &= matches!(e.kind, ExprKind::Const(_) | ExprKind::Aggregate(_) | ExprKind::InvalidHeader);
        });
        self.require(known, expr.span, |v| format!("`{}` is no constant", v.show_expr(expr)));
    }
}
