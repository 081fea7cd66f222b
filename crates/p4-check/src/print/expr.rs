//! Expressions, calls and keysets as text.

use super::Printer;
use crate::typed::{
    Arg, ArgValue, Builtin, Call, Callee, Direction, Expr, ExprKind, KeySet, SizeOf, Type, UnaryOp,
};

impl Printer<'_> {
    pub(super) fn expr(&self, e: &Expr) -> String {
        let p = self.p;
        match &e.kind {
            ExprKind::Error => "?".into(),
            ExprKind::Int(n) => match &e.ty {
                Type::Int => n.to_string(),
                Type::Bit(w) => format!("{w}w{n}"),
                Type::Signed(w) => format!("{w}s{n}"),
                other => format!("{}({n})", p.show_type(other)),
            },
            ExprKind::Bool(b) => b.to_string(),
            ExprKind::String(s) => format!("{s:?}"),
            ExprKind::EnumMember(id, m) => {
                let d = &p.enums[*id];
                format!(
                    "{}.{}",
                    d.name.text,
                    d.members.get(*m as usize).map_or("?", |m| m.name.text.as_str())
                )
            }
            ExprKind::ErrorMember(id) => format!("error.{}", p.errors[*id].name.text),
            ExprKind::MatchKind(id) => p.match_kinds[*id].name.text.to_string(),
            ExprKind::Var(id) => p.vars[*id].name.text.to_string(),
            ExprKind::Const(id) => p.consts[*id].name.text.to_string(),
            ExprKind::Instance(id) => p.instances[*id].name.text.to_string(),
            ExprKind::Table(id) => p.tables[*id].name.text.to_string(),
            ExprKind::ValueSet(id) => p.value_sets[*id].name.text.to_string(),
            ExprKind::This => "this".into(),
            ExprKind::Field { base, name, .. } => format!("{}.{name}", self.expr(base)),
            ExprKind::Index { base, index } => format!("{}[{}]", self.expr(base), self.expr(index)),
            ExprKind::TupleIndex { base, index } => format!("{}[{index}]", self.expr(base)),
            ExprKind::Slice { base, hi, lo } => format!("{}[{hi}:{lo}]", self.expr(base)),
            ExprKind::SliceAt { base, lo } => {
                let width = e.ty.fixed_width().unwrap_or(0);
                format!("{}[{}+:{width}]", self.expr(base), self.expr(lo))
            }
            ExprKind::StackNext(base) => format!("{}.next", self.expr(base)),
            ExprKind::StackLast(base) => format!("{}.last", self.expr(base)),
            ExprKind::StackLastIndex(base) => format!("{}.lastIndex", self.expr(base)),
            ExprKind::Unary(op, a) => {
                let sign = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Complement => "~",
                    UnaryOp::Not => "!",
                };
                format!("{sign}{}", self.expr(a))
            }
            ExprKind::Binary(op, a, b) => format!("({} {} {})", self.expr(a), op.symbol(), self.expr(b)),
            ExprKind::Ternary(c, a, b) => {
                format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b))
            }
            ExprKind::Mask(a, b) => format!("{} &&& {}", self.expr(a), self.expr(b)),
            ExprKind::Range(a, b) => format!("{} .. {}", self.expr(a), self.expr(b)),
            ExprKind::Cast { operand, implicit: true } => {
                format!("{} as {}", self.expr(operand), p.show_type(&e.ty))
            }
            ExprKind::Cast { operand, implicit: false } => {
                format!("({}) {}", p.show_type(&e.ty), self.expr(operand))
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::New(construct) => self.construct(construct),
            ExprKind::Hit(id) => format!("{}.apply().hit", p.tables[*id].name.text),
            ExprKind::Miss(id) => format!("{}.apply().miss", p.tables[*id].name.text),
            ExprKind::ActionRun(id) => format!("{}.apply().action_run", p.tables[*id].name.text),
            ExprKind::Struct(fields) => {
                let Type::Struct(id, _) = &e.ty else { return "?".into() };
                let decl = &p.structs[*id];
                let parts: Vec<String> = fields
                    .iter()
                    .map(|f| {
                        let name = decl.fields.get(f.index as usize).map_or("?", |d| d.name.text.as_str());
                        format!("{name} = {}", self.expr(&f.value))
                    })
                    .collect();
                format!("({}) {{{}}}", p.show_type(&e.ty), parts.join(", "))
            }
            ExprKind::Tuple(items) | ExprKind::Array(items) | ExprKind::List(items) => {
                let parts: Vec<String> = items.iter().map(|i| self.expr(i)).collect();
                format!("({}) {{{}}}", p.show_type(&e.ty), parts.join(", "))
            }
            ExprKind::Invalid => format!("({}) {{#}}", p.show_type(&e.ty)),
            ExprKind::Default => format!("({}) ...", p.show_type(&e.ty)),
            ExprKind::SizeOf(size, ty) => {
                let name = match size {
                    SizeOf::MinBits => "minSizeInBits",
                    SizeOf::MinBytes => "minSizeInBytes",
                    SizeOf::MaxBits => "maxSizeInBits",
                    SizeOf::MaxBytes => "maxSizeInBytes",
                };
                format!("{}.{name}()", p.show_type(ty))
            }
        }
    }

    pub(super) fn call(&self, call: &Call) -> String {
        let p = self.p;
        let name = match &call.callee {
            Callee::Function(id) => p.functions[*id].name.text.to_string(),
            Callee::Method { object, method } => {
                format!("{}.{}", self.expr(object), p.functions[*method].name.text)
            }
            Callee::Action(id) => p.actions[*id].name.text.to_string(),
            Callee::TableApply(id) => format!("{}.apply", p.tables[*id].name.text),
            Callee::Apply { object } => format!("{}.apply", self.expr(object)),
            Callee::Builtin { object, method } => {
                let method = match method {
                    Builtin::IsValid => "isValid",
                    Builtin::SetValid => "setValid",
                    Builtin::SetInvalid => "setInvalid",
                    Builtin::PushFront => "push_front",
                    Builtin::PopFront => "pop_front",
                };
                format!("{}.{method}", self.expr(object))
            }
        };
        format!("{name}{}({})", self.type_args(&call.type_args), self.args(&call.args))
    }

    pub(super) fn args(&self, args: &[Arg]) -> String {
        let shown: Vec<String> = args.iter().map(|a| self.arg(a)).collect();
        shown.join(", ")
    }

    fn arg(&self, arg: &Arg) -> String {
        let direction = match arg.direction {
            Direction::None => "",
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        };
        match &arg.value {
            ArgValue::Given(e) => format!("{direction}{}", self.expr(e)),
            ArgValue::Default(e) => format!("{direction}default {}", self.expr(e)),
            ArgValue::DontCare => format!("{direction}_"),
            ArgValue::Absent => format!("{direction}absent"),
        }
    }

    pub(super) fn sets(&self, sets: &[KeySet]) -> String {
        let shown: Vec<String> = sets.iter().map(|s| self.set(s)).collect();
        if let [one] = &shown[..] { one.clone() } else { format!("({})", shown.join(", ")) }
    }

    fn set(&self, set: &KeySet) -> String {
        match set {
            KeySet::Any(..) => "_".into(),
            KeySet::Value(e) => self.expr(e),
            KeySet::Mask(a, b) => format!("{} &&& {}", self.expr(a), self.expr(b)),
            KeySet::Range(a, b) => format!("{} .. {}", self.expr(a), self.expr(b)),
            KeySet::ValueSet(id, _) => self.p.value_sets[*id].name.text.to_string(),
            KeySet::Tuple(sets, _) => {
                let shown: Vec<String> = sets.iter().map(|s| self.set(s)).collect();
                format!("({})", shown.join(", "))
            }
        }
    }
}
