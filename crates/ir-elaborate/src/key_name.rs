//! Control-plane names of table keys (P4-16 §18.3.1).

use p4_check::typed::{Builtin, Callee, Expr, ExprKind, TableKey, Type};
use smol_str::{SmolStr, format_smolstr};

use crate::elaborator::Elaborator;
use crate::names::qualify;
use crate::stmt::Body;

impl Body<'_, '_> {
    /// The name of a key element: `@name`, else its expression, in which a field's own `@name` counts; an expression
    /// without a name gets its place, counted from 1.
    pub(crate) fn key_name(&self, key: &TableKey, place: u32) -> SmolStr {
        if let Some(name) = key.annotations.control_name() {
            return name.into();
        }
        let renamed = if self.el.has_renamed_field(&key.expr) { self.el.path_name(&key.expr) } else { None };
        renamed.or_else(|| key.source_name.clone()).unwrap_or_else(|| format_smolstr!("key{place}"))
    }
}

impl Elaborator<'_> {
    /// `hdr.ipv4.dst`, `s[0].f`, `h.$valid$`, by the control-plane names of the fields.
    fn path_name(&self, expr: &Expr) -> Option<SmolStr> {
        match &expr.kind {
            ExprKind::Var(id) => Some(self.typed.vars[*id].name.text.clone()),
            ExprKind::Field { base, index, name } => {
                let field = self.field_name(base, *index).unwrap_or(name);
                Some(if field.starts_with('.') {
                    qualify("", field)
                } else {
                    qualify(&self.path_name(base)?, field)
                })
            }
            ExprKind::Index { base, index } => {
                Some(format_smolstr!("{}[{}]", self.path_name(base)?, index.as_int()?))
            }
            ExprKind::Slice { base, hi, lo } => Some(format_smolstr!("{}[{hi}:{lo}]", self.path_name(base)?)),
            ExprKind::Cast { operand, implicit: true } => self.path_name(operand),
            ExprKind::Call(call) => match &call.callee {
                Callee::Builtin { object, method: Builtin::IsValid } => {
                    Some(format_smolstr!("{}.$valid$", self.path_name(object)?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Argument of a field's `@name`.
    fn field_name(&self, base: &Expr, index: u32) -> Option<&str> {
        let Type::Struct(id, _) = &base.ty else { return None };
        self.typed.structs[*id].fields.get(index as usize)?.annotations.control_name()
    }

    fn has_renamed_field(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Field { base, index, .. } => {
                self.field_name(base, *index).is_some() || self.has_renamed_field(base)
            }
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => self.has_renamed_field(base),
            ExprKind::Cast { operand, .. } => self.has_renamed_field(operand),
            ExprKind::Call(call) => match &call.callee {
                Callee::Builtin { object, .. } => self.has_renamed_field(object),
                _ => false,
            },
            _ => false,
        }
    }
}
