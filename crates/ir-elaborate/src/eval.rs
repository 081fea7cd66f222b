//! Evaluation at compile time (P4-16 §18.1): literals, constants, constructor parameters and expressions made of them.

use base_bits::num_bigint::BigInt;
use p4_check::typed::{self, ArgValue, Callee, Expr, ExprKind, Type};

use crate::arith;
use crate::elaborator::Elaborator;
use crate::env::Env;
use crate::refuse;
use crate::value::{Object, Value};

/// Longest array whose default value is written out.
const MAX_DEFAULT: u32 = 1 << 16;

impl Elaborator<'_> {
    /// The value of `expr`, or `None` if it is not known at compile time. Reports nothing.
    pub(crate) fn eval(&mut self, env: &Env, expr: &Expr) -> Option<Value> {
        let typed = self.typed;
        Some(match &expr.kind {
            ExprKind::Int(v) => Value::Int(v.clone()),
            ExprKind::Bool(v) => Value::Bool(*v),
            ExprKind::String(v) => Value::Str(v.clone()),
            ExprKind::EnumMember(id, index) => match &typed.enums[*id].members.get(*index as usize)?.value {
                Some(value) => Value::Int(value.clone()),
                None => Value::Enum(*index),
            },
            ExprKind::ErrorMember(id) => Value::Error(*id),
            ExprKind::MatchKind(id) => Value::MatchKind(*id),
            ExprKind::Var(id) => env.values.get(id)?.clone(),
            ExprKind::Const(id) => self.eval(env, &typed.consts[*id].value)?,
            ExprKind::Instance(id) => Value::Object(self.object(env, *id)),
            ExprKind::This => Value::Object(Object::Extern(env.this?)),
            ExprKind::Field { base, index, .. } | ExprKind::TupleIndex { base, index } => {
                part(self.eval(env, base)?, *index as usize)?
            }
            ExprKind::Index { base, index } => {
                let index = usize::try_from(self.eval(env, index)?.as_int()?).ok()?;
                part(self.eval(env, base)?, index)?
            }
            ExprKind::Slice { base, hi, lo } => {
                let ty = self.representation(&env.close(&base.ty));
                arith::slice(self.eval(env, base)?.as_int()?, *hi, *lo, &ty)?
            }
            ExprKind::SliceAt { base, lo } => {
                let width = env.close(&expr.ty).fixed_width()?;
                let lo = u32::try_from(self.eval(env, lo)?.as_int()?).ok()?;
                let ty = self.representation(&env.close(&base.ty));
                let hi = lo.checked_add(width)?.checked_sub(1)?;
                arith::slice(self.eval(env, base)?.as_int()?, hi, lo, &ty)?
            }
            ExprKind::Unary(op, operand) => {
                let ty = self.representation(&env.close(&operand.ty));
                arith::unary(*op, &self.eval(env, operand)?, &ty)?
            }
            ExprKind::Binary(op, left, right) => self.eval_binary(env, *op, left, right)?,
            ExprKind::Ternary(condition, then, otherwise) => {
                let arm = if self.eval(env, condition)?.as_bool()? { then } else { otherwise };
                self.eval(env, arm)?
            }
            ExprKind::Cast { operand, .. } => {
                let ty = self.representation(&env.close(&expr.ty));
                arith::cast(self.eval(env, operand)?, &ty)?
            }
            ExprKind::Struct(fields) => self.eval_struct(env, expr, fields)?,
            ExprKind::Tuple(parts) | ExprKind::Array(parts) | ExprKind::List(parts) => {
                Value::Record(parts.iter().map(|p| self.eval(env, p)).collect::<Option<_>>()?)
            }
            ExprKind::Invalid => Value::Invalid,
            ExprKind::Default => self.default_value(&env.close(&expr.ty))?,
            ExprKind::SizeOf(which, ty) => Value::Int(BigInt::from(self.size_of(*which, &env.close(ty))?)),
            ExprKind::Call(call) => self.eval_call(env, call)?,
            ExprKind::Error
            | ExprKind::Table(_)
            | ExprKind::ValueSet(_)
            | ExprKind::StackNext(_)
            | ExprKind::StackLast(_)
            | ExprKind::StackLastIndex(_)
            | ExprKind::Mask(..)
            | ExprKind::Range(..)
            | ExprKind::New(_)
            | ExprKind::Hit(_)
            | ExprKind::Miss(_)
            | ExprKind::ActionRun(_) => return None,
        })
    }

    /// The value of `expr`, which must be known; reported otherwise. `what` names it in the message.
    pub(crate) fn known(&mut self, env: &Env, expr: &Expr, what: &str) -> Option<Value> {
        let value = self.eval(env, expr);
        if value.is_none() {
            self.report(refuse::not_constant(what, expr.span));
        }
        value
    }

    /// Object that an instance's name refers to, in this block or at the top level.
    pub(crate) fn object(&mut self, env: &Env, id: typed::InstanceId) -> Object {
        match env.objects.get(&id) {
            Some(object) => object.clone(),
            None => self.global(id),
        }
    }

    fn eval_binary(&mut self, env: &Env, op: typed::BinaryOp, left: &Expr, right: &Expr) -> Option<Value> {
        let first = self.eval(env, left)?;
        match (op, first.as_bool()) {
            (typed::BinaryOp::And, Some(false)) | (typed::BinaryOp::Or, Some(true)) => return Some(first),
            _ => {}
        }
        let second = self.eval(env, right)?;
        let left_ty = self.representation(&env.close(&left.ty));
        let right_ty = self.representation(&env.close(&right.ty));
        arith::binary(op, &first, &second, &left_ty, &right_ty)
    }

    fn eval_struct(&mut self, env: &Env, expr: &Expr, fields: &[typed::FieldValue]) -> Option<Value> {
        let types = self.part_types(&env.close(&expr.ty), 0)?;
        let mut parts = types.iter().map(|t| self.default_value(t)).collect::<Option<Vec<_>>>()?;
        for field in fields {
            *parts.get_mut(field.index as usize)? = self.eval(env, &field.value)?;
        }
        Some(Value::Record(parts))
    }

    /// `static_assert` is the one function with a value at compile time. The checker has looked at its argument
    /// unless constructor parameters decide it.
    fn eval_call(&mut self, env: &Env, call: &typed::Call) -> Option<Value> {
        let Callee::Function(id) = call.callee else { return None };
        if self.typed.functions[id].name.text != "static_assert" {
            return None;
        }
        let ArgValue::Given(check) = &call.args.first()?.value else { return None };
        let holds = self.eval(env, check)?.as_bool()?;
        if !holds {
            self.report(refuse::assertion_failed(call.span));
        }
        Some(Value::Bool(holds))
    }

    /// Value of `...` (P4-16 §7.3).
    pub(crate) fn default_value(&self, ty: &Type) -> Option<Value> {
        Some(match self.representation(ty) {
            Type::Bool => Value::Bool(false),
            Type::Int | Type::Bit(_) | Type::Signed(_) => Value::Int(BigInt::ZERO),
            Type::ErrorCode => {
                Value::Error(self.typed.errors.iter().find(|(_, e)| e.name.text == "NoError")?.0)
            }
            Type::Enum(_) => Value::Enum(0),
            Type::String => Value::Str("".into()),
            Type::Struct(id, _) if self.typed.structs[id].kind != typed::StructKind::Struct => Value::Invalid,
            Type::Array(element, size) if size <= MAX_DEFAULT => {
                Value::Record(vec![self.default_value(&element)?; size as usize])
            }
            ty @ (Type::Struct(..) | Type::Tuple(_)) => {
                let parts = self.part_types(&ty, 0)?;
                Value::Record(parts.iter().map(|t| self.default_value(t)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

fn part(record: Value, index: usize) -> Option<Value> {
    match record {
        Value::Record(parts) => parts.into_iter().nth(index),
        Value::Object(Object::Array(objects)) => objects.into_iter().nth(index).map(Value::Object),
        _ => None,
    }
}
