//! Known values as expressions of the IR.

use base_bits::Bits;
use base_diag::Span;
use ir::{Const, Expr, ExprKind};
use p4_check::typed::{StructKind, Type};

use crate::elaborator::Elaborator;
use crate::value::{Object, Value};

impl Elaborator<'_> {
    /// True for header unions.
    pub(crate) fn is_union(&self, ty: &Type) -> bool {
        matches!(ty, Type::Struct(id, _) if self.typed.structs[*id].kind == StructKind::Union)
    }

    /// `value` of the closed type `ty` as a constant; `None` if it is no scalar.
    pub(crate) fn scalar(&self, value: &Value, ty: &Type) -> Option<Const> {
        Some(match value {
            Value::Int(v) => match self.representation(ty) {
                Type::Bit(width) | Type::Signed(width) => Const::Bits(Bits::from_bigint(width, v)),
                _ => Const::Int(v.clone()),
            },
            Value::Bool(v) => Const::Bool(*v),
            Value::Str(v) => Const::Str(v.to_string()),
            Value::Error(id) => Const::Error(*self.error_ids.get(id)?),
            Value::Enum(place) => Const::Enum(*place),
            Value::Object(Object::Extern(id)) => Const::Instance(*id),
            Value::MatchKind(_) | Value::Record(_) | Value::Invalid | Value::Object(_) => return None,
        })
    }

    /// An instance as an argument, with its type.
    pub(crate) fn instance_value(&self, id: ir::InstanceId) -> (ExprKind, ir::Type) {
        let instance = self.out.instance(id);
        let ty = ir::Type::Extern(instance.object, instance.type_args.clone());
        (ExprKind::Const(Const::Instance(id)), ty)
    }

    /// `value` of the closed type `ty` as an expression; `None` where the IR has none for it (blocks).
    pub(crate) fn constant(&mut self, value: &Value, ty: &Type, span: Span) -> Option<Expr> {
        if let Value::Object(Object::Extern(id)) = value {
            let (kind, ty) = self.instance_value(*id);
            return Some(Expr { kind, ty, span });
        }
        if let Some(scalar) = self.scalar(value, ty) {
            return Some(Expr { kind: ExprKind::Const(scalar), ty: self.ty(ty), span });
        }
        match value {
            Value::Invalid => Some(Expr { kind: ExprKind::InvalidHeader, ty: self.ty(ty), span }),
            Value::Record(parts) if !self.is_union(ty) => {
                let types = self.part_types(ty, parts.len())?;
                let exprs = parts
                    .iter()
                    .zip(&types)
                    .map(|(part, ty)| self.constant(part, ty, span))
                    .collect::<Option<Vec<_>>>()?;
                Some(Expr { kind: ExprKind::Aggregate(exprs), ty: self.ty(ty), span })
            }
            _ => None,
        }
    }
}
