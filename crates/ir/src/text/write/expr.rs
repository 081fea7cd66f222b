//! Expressions. A type is written only where the parts do not give it: `(value : type)`.

use super::Writer;
use super::decl::member;
use crate::text::infer::{infer, infer_const};
use crate::text::names::{quoted, refer};
use crate::{Call, Callee, Const, Expr, ExprKind, Type, TypeId, TypeKind};

const PREFIX: u8 = 12;
const ATOM: u8 = 13;

impl Writer<'_> {
    /// The text of `expr` for a place that binds with strength `around`; see
    /// [`BinaryOp::precedence`](crate::BinaryOp::precedence).
    pub(super) fn expr(&self, expr: &Expr, around: u8) -> String {
        if let ExprKind::Const(value) = &expr.kind {
            return self.constant(value, &expr.ty);
        }
        let (text, strength) = self.kind(expr);
        let said = match &expr.kind {
            ExprKind::Cast(_) | ExprKind::Lookahead(_) => Some(expr.ty.clone()),
            kind => infer(self.program, self.scope.vars, kind),
        };
        if said.as_ref() != Some(&expr.ty) {
            format!("({text} : {})", self.ty(&expr.ty))
        } else if strength < around {
            format!("({text})")
        } else {
            text
        }
    }

    fn kind(&self, expr: &Expr) -> (String, u8) {
        let text = match &expr.kind {
            ExprKind::Const(value) => self.constant(value, &expr.ty),
            ExprKind::Var(id) => self.var(*id),
            ExprKind::Field(base, index) => {
                format!("{}.{}", self.expr(base, ATOM), self.field(&base.ty, *index))
            }
            ExprKind::Index(stack, index) => format!("{}[{}]", self.expr(stack, ATOM), self.expr(index, 0)),
            ExprKind::Next(stack) => format!("{}.$next", self.expr(stack, ATOM)),
            ExprKind::Last(stack) => format!("{}.$last", self.expr(stack, ATOM)),
            ExprKind::LastIndex(stack) => format!("{}.$lastIndex", self.expr(stack, ATOM)),
            ExprKind::Slice { base, hi, lo } => format!("{}[{hi}:{lo}]", self.expr(base, ATOM)),
            ExprKind::SlicePlus { base, start, width } => {
                format!("{}[{} +: {width}]", self.expr(base, ATOM), self.expr(start, 1))
            }
            ExprKind::Unary(op, operand) => {
                let operand = self.expr(operand, PREFIX);
                // `-5` is the number; `-(5)` is the operator on a number.
                let number = operand.starts_with(|c: char| c.is_ascii_digit());
                let operand = if number { format!("({operand})") } else { operand };
                return (format!("{}{operand}", op.symbol()), PREFIX);
            }
            ExprKind::Binary(op, left, right) => {
                let strength = op.precedence();
                let (left, right) = (self.expr(left, strength), self.expr(right, strength + 1));
                return (format!("{left} {} {right}", op.symbol()), strength);
            }
            ExprKind::Ternary(cond, yes, no) => {
                let (cond, yes, no) = (self.expr(cond, 2), self.expr(yes, 1), self.expr(no, 1));
                return (format!("{cond} ? {yes} : {no}"), 1);
            }
            ExprKind::Cast(operand) => format!("$cast<{}>({})", self.ty(&expr.ty), self.expr(operand, 0)),
            ExprKind::Aggregate(parts) => format!("{{{}}}", self.args(parts)),
            ExprKind::InvalidHeader => "{#}".to_string(),
            ExprKind::IsValid(header) => format!("{}.$isValid", self.expr(header, ATOM)),
            ExprKind::Lookahead(packet) => {
                format!("$lookahead<{}>({})", self.ty(&expr.ty), self.var(*packet))
            }
            ExprKind::PacketLength(packet) => format!("$length({})", self.var(*packet)),
            ExprKind::ApplyHit(table) => format!("$hit({})", self.table_name(*table)),
            ExprKind::ApplyMiss(table) => format!("$miss({})", self.table_name(*table)),
            ExprKind::Call(call) => self.call(call),
        };
        (text, ATOM)
    }

    pub(super) fn call(&self, call: &Call) -> String {
        let callee = match &call.callee {
            Callee::Function(id) => format!("function {}", self.functions.plain(id.index())),
            Callee::Action(id) => format!("action {}", self.scope.actions.plain(id.index())),
            Callee::Control(id) => format!("control {}", self.controls.plain(id.index())),
            Callee::Parser(id) => format!("parser {}", self.parsers.plain(id.index())),
            Callee::ExternFunction(id) => format!("extern {}", self.extern_functions.plain(id.index())),
            Callee::Method(id, method) => {
                let object = self.program.instances.get(id.index()).map(|i| i.object);
                let method = self.method_of(object, *method);
                format!("method {}.{method}", self.instances.plain(id.index()))
            }
            Callee::ParamMethod(var, method) => {
                let object = self.scope.vars.get(var.index()).and_then(|v| match &v.ty {
                    Type::Extern(id, _) => Some(*id),
                    _ => None,
                });
                let method = self.method_of(object, *method);
                format!("param {}.{method}", self.scope.var_names.plain(var.index()))
            }
        };
        let arg = |arg: &Option<Expr>| arg.as_ref().map_or("_".to_string(), |e| self.expr(e, 0));
        let args: Vec<String> = call.args.iter().map(arg).collect();
        format!("{callee}{}({})", self.type_args(&call.type_args), args.join(", "))
    }

    fn method_of(&self, object: Option<crate::ExternId>, method: u32) -> String {
        object.map_or(format!("?#{method}"), |object| self.method(object, method))
    }

    fn field(&self, base: &Type, index: u32) -> String {
        match base {
            Type::Tuple(_) => index.to_string(),
            Type::Named(id) if id.index() < self.program.types.len() => {
                let fields = self.program.fields(base);
                refer(fields.iter().map(|field| &field.name), index as usize)
            }
            _ => format!("?#{index}"),
        }
    }

    /// A constant of a type, with the type if the constant does not show it.
    pub(super) fn constant(&self, value: &Const, ty: &Type) -> String {
        let text = self.bare_constant(value, ty);
        let said = match (value, ty) {
            (Const::Bits(bits), Type::Int(width)) if bits.width() == *width => Some(ty.clone()),
            (Const::Bits(_) | Const::Enum(_), Type::Named(id)) if self.member(*id, value).is_some() => {
                Some(ty.clone())
            }
            _ => infer_const(value),
        };
        if said.as_ref() == Some(ty) { text } else { format!("({text} : {})", self.ty(ty)) }
    }

    /// A constant as a value of `ty` is usually written.
    pub(super) fn bare_constant(&self, value: &Const, ty: &Type) -> String {
        if let (Const::Bits(_) | Const::Enum(_), Type::Named(id)) = (value, ty)
            && let Some(name) = self.member(*id, value)
        {
            return member(&self.types.guarded(id.index()), &name);
        }
        match value {
            Const::Bits(bits) if matches!(ty, Type::Int(_)) => bits.to_literal_signed(),
            Const::Bits(bits) => bits.to_literal(),
            Const::Bool(value) => value.to_string(),
            Const::Error(id) => format!("error::{}", self.errors.plain(id.index())),
            Const::Enum(index) => format!("enum {index}"),
            Const::Str(text) => quoted(text),
            Const::Int(number) => number.to_string(),
            Const::Instance(id) => format!("$instance({})", self.instances.plain(id.index())),
        }
    }

    /// The name of the enum member with that value, if reading the name gives the value back.
    fn member(&self, id: TypeId, value: &Const) -> Option<String> {
        match (&self.program.types.get(id.index())?.kind, value) {
            (TypeKind::Enum(members), Const::Enum(index)) => {
                let name = members.get(*index as usize)?;
                let unique = members.iter().filter(|m| *m == name).count() == 1;
                unique.then(|| name.to_string())
            }
            (TypeKind::SerEnum { members, .. }, Const::Bits(_)) => {
                let (name, _) = members.iter().find(|(_, v)| v == value)?;
                let unique = members.iter().filter(|(m, _)| m == name).count() == 1;
                unique.then(|| name.to_string())
            }
            _ => None,
        }
    }
}
