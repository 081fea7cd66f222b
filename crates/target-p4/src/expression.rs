//! Expressions.
//!
//! A constant stands without its width where the place gives the type: after `=`, beside an operand that is no
//! constant, as an argument whose parameter has a type of its own. Elsewhere it carries it.

use crate::print::Printer;
use ir::{
    Call, Callee, Expr, ExprKind, ExternId, Name, Signature, SignatureParam, Type, TypeKind, UnaryOp, VarId,
};

const PREFIX: u8 = 12;
const ATOM: u8 = 13;

impl Printer<'_> {
    /// `expr` for a place that binds with strength `around` (see [`ir::BinaryOp::precedence`]) and gives the type
    /// `want`, if it gives one.
    pub(crate) fn expr(&self, expr: &Expr, want: Option<&Type>, around: u8) -> String {
        let (text, strength) = self.parts(expr, want);
        if strength < around { format!("({text})") } else { text }
    }

    /// `expr` where its type is known.
    pub(crate) fn value(&self, expr: &Expr) -> String {
        self.expr(expr, Some(&expr.ty), 0)
    }

    /// `expr` where nothing says its type.
    pub(crate) fn free(&self, expr: &Expr) -> String {
        self.expr(expr, None, 0)
    }

    fn parts(&self, expr: &Expr, want: Option<&Type>) -> (String, u8) {
        let known = want == Some(&expr.ty);
        let text = match &expr.kind {
            ExprKind::Const(value) => {
                let text = self.constant(value, &expr.ty, known);
                let is_prefixed = text.starts_with(['-', '(']);
                return (text, if is_prefixed { PREFIX } else { ATOM });
            }
            ExprKind::Var(id) => self.var(*id),
            ExprKind::Field(base, index) => return (self.field(base, *index), ATOM),
            ExprKind::Index(stack, index) => {
                format!("{}[{}]", self.atom(stack), self.expr(index, position_type(index), 0))
            }
            ExprKind::Next(stack) => format!("{}.next", self.atom(stack)),
            ExprKind::Last(stack) => format!("{}.last", self.atom(stack)),
            ExprKind::LastIndex(stack) => format!("{}.lastIndex", self.atom(stack)),
            ExprKind::Slice { base, hi, lo } => format!("{}[{hi}:{lo}]", self.atom(base)),
            ExprKind::SlicePlus { base, start, width } => {
                format!("{}[{} +: {width}]", self.atom(base), self.free(start))
            }
            ExprKind::Unary(op, operand) => {
                let operand = self.unary_operand(*op, operand);
                return (format!("{}{operand}", op.symbol()), PREFIX);
            }
            ExprKind::Binary(op, left, right) => return self.binary(*op, left, right),
            ExprKind::Ternary(cond, yes, no) => {
                // Of two bare numbers none has a width.
                let want = want.filter(|_| !(is_literal(yes) && is_literal(no)));
                // p4c reads `a ? b : c ? d : e` as `(a ? b : c) ? d : e`.
                let (yes, no) = (self.expr(yes, want, 2), self.expr(no, want, 2));
                return (format!("{} ? {yes} : {no}", self.expr(cond, Some(&Type::Bool), 2)), 1);
            }
            ExprKind::Cast(operand) => {
                let steps = self.cast_steps(&operand.ty, &expr.ty);
                let casts: String = steps.iter().rev().map(|ty| format!("({})", self.ty(ty))).collect();
                return (format!("{casts}{}", self.expr(operand, None, PREFIX)), PREFIX);
            }
            ExprKind::Aggregate(parts) => {
                let is_tuple = matches!(expr.ty, Type::Tuple(_));
                let is_list = matches!(expr.ty, Type::List(_));
                let text = self.aggregate(parts, &expr.ty, known || !is_tuple);
                return self.of_type(text, &expr.ty, known && !is_list || is_tuple);
            }
            // p4c takes no type of `{#}` from where it stands.
            ExprKind::InvalidHeader => return self.of_type("{#}".to_string(), &expr.ty, false),
            ExprKind::IsValid(header) => format!("{}.isValid()", self.atom(header)),
            ExprKind::Lookahead(packet) => {
                format!("{}.lookahead<{}>()", self.var(*packet), self.ty(&expr.ty))
            }
            ExprKind::PacketLength(packet) => format!("{}.length()", self.var(*packet)),
            ExprKind::ApplyHit(table) => format!("{}.apply().hit", self.table_name(*table)),
            ExprKind::ApplyMiss(table) => format!("{}.apply().miss", self.table_name(*table)),
            ExprKind::Call(call) => self.call(call),
        };
        (text, ATOM)
    }

    /// The types that a cast goes over, `to` last. A newtype is cast to and from the type it is made of only (P4-16
    /// §8.12.1): with `type bit<32> a; type a b;` a `b` becomes a number by `(bit<32>)(a)`.
    fn cast_steps(&self, from: &Type, to: &Type) -> Vec<Type> {
        let (down, mut up) = (self.made_of(from), self.made_of(to));
        up.reverse();
        let meeting =
            down.iter().enumerate().find_map(|(at, ty)| Some((at, up.iter().position(|t| t == ty)?)));
        let mut steps = match meeting {
            Some((below, above)) => [&down[..=below], &up[above + 1..]].concat(),
            None => [down, up].concat(),
        };
        if steps.len() > 1 {
            steps.remove(0);
        }
        steps
    }

    /// A type, and for a newtype its underlying types.
    fn made_of(&self, ty: &Type) -> Vec<Type> {
        let under = |ty: &Type| match ty {
            Type::Named(id) => match &self.program.types.get(id.index())?.kind {
                TypeKind::New(under) => Some(under.clone()),
                _ => None,
            },
            _ => None,
        };
        std::iter::successors(Some(ty.clone()), under).take(self.program.types.len() + 1).collect()
    }

    fn atom(&self, expr: &Expr) -> String {
        self.expr(expr, None, ATOM)
    }

    /// Two signs in a row are hard to read.
    fn unary_operand(&self, op: UnaryOp, operand: &Expr) -> String {
        let text = self.expr(operand, None, PREFIX);
        if text.starts_with(op.symbol()) { format!("({text})") } else { text }
    }

    fn binary(&self, op: ir::BinaryOp, left: &Expr, right: &Expr) -> (String, u8) {
        use ir::BinaryOp::{Concat, Shl, Shr};
        let strength = op.precedence();
        // One side gives the other its type; in shifts and concatenations none does.
        let shares = !matches!(op, Concat | Shl | Shr) && left.ty == right.ty;
        let left_want = Some(&right.ty).filter(|_| shares && is_literal(left) && !is_literal(right));
        let right_want = match op {
            Shl | Shr => position_type(right),
            _ => Some(&left.ty).filter(|_| shares && is_literal(right) && !is_literal(left)),
        };
        let left = self.expr(left, left_want, strength);
        let right = self.expr(right, right_want, strength + 1);
        (format!("{left} {} {right}", op.symbol()), strength)
    }

    /// Tuples are indexed (P4-16 §8.12).
    fn field(&self, base: &Expr, index: u32) -> String {
        let text = self.atom(base);
        match &base.ty {
            Type::Tuple(_) => format!("{text}[{index}]"),
            ty => {
                let field = self.fields_of(ty).get(index as usize);
                format!("{text}.{}", field.map_or("?", |f| f.name.as_str()))
            }
        }
    }

    fn aggregate(&self, parts: &[Expr], ty: &Type, typed: bool) -> String {
        let part_type = |index: usize| -> Option<&Type> {
            match ty {
                Type::Tuple(types) => types.get(index),
                Type::Stack(elem, _) | Type::List(elem) => Some(elem),
                ty => self.fields_of(ty).get(index).map(|f| &f.ty),
            }
        };
        let part = |(index, part): (usize, &Expr)| {
            let want = if typed { part_type(index) } else { None };
            self.expr(part, want, 0)
        };
        let parts: Vec<String> = parts.iter().enumerate().map(part).collect();
        match parts.as_slice() {
            [] => "{}".to_string(),
            parts => format!("{{ {} }}", parts.join(", ")),
        }
    }

    /// The fields of a type; none if it does not exist.
    fn fields_of(&self, ty: &Type) -> &[ir::Field] {
        match ty {
            Type::Named(id) if id.index() < self.program.types.len() => self.program.fields(ty),
            _ => &[],
        }
    }

    /// `(type){ ... }` where the type is not known.
    fn of_type(&self, text: String, ty: &Type, known: bool) -> (String, u8) {
        if known { (text, ATOM) } else { (format!("({}){text}", self.ty(ty)), PREFIX) }
    }

    pub(crate) fn var(&self, var: VarId) -> String {
        self.local.var_names.get(var.index()).cloned().unwrap_or_else(|| "?".to_string())
    }

    pub(crate) fn table_name(&self, table: ir::TableId) -> String {
        self.local.table_names.get(table.index()).cloned().unwrap_or_else(|| "?".to_string())
    }

    pub(crate) fn call(&self, call: &Call) -> String {
        let program = self.program;
        let named = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_else(|| "?".into());
        let globals = &self.globals;
        match &call.callee {
            Callee::Function(id) => self.plain_call(&named(&globals.functions, id.index()), call),
            Callee::Action(id) => self.plain_call(&named(&self.local.actions, id.index()), call),
            Callee::Control(id) => {
                let instance = self.local.controls.get(id).map_or("?", String::as_str);
                self.plain_call(&format!("{instance}.apply"), call)
            }
            Callee::Parser(id) => {
                let instance = self.local.parsers.get(id).map_or("?", String::as_str);
                self.plain_call(&format!("{instance}.apply"), call)
            }
            Callee::ExternFunction(id) => {
                let signature = program.extern_functions.get(id.index()).map(|f| &f.signature);
                self.extern_call(&named(&globals.extern_functions, id.index()), signature, false, call)
            }
            Callee::Method(id, method) => {
                let object = program.instances.get(id.index()).map(|i| i.object);
                self.method_call(&self.instance_name(*id), object, *method, call)
            }
            Callee::ParamMethod(var, method) => {
                let object = match self.local.vars.get(var.index()).map(|v| &v.ty) {
                    Some(Type::Extern(id, _)) => Some(*id),
                    _ => None,
                };
                self.method_call(&self.var(*var), object, *method, call)
            }
        }
    }

    pub(crate) fn instance_name(&self, id: ir::InstanceId) -> String {
        let global = self.globals.instances.get(id.index()).filter(|name| !name.is_empty());
        self.local.instances.get(&id).or(global).cloned().unwrap_or_else(|| "?".to_string())
    }

    fn method_call(&self, on: &str, object: Option<ExternId>, method: u32, call: &Call) -> String {
        let object = object.and_then(|id| self.program.externs.get(id.index()));
        let method = object.and_then(|object| object.methods.get(method as usize));
        let name = method.map_or("?", |m| m.name.as_str());
        let alike = object.map_or(0, |object| object.methods.iter().filter(|m| m.name == name).count());
        self.extern_call(&format!("{on}.{name}"), method.map(|m| &m.signature), alike > 1, call)
    }

    /// A call of something whose parameters have types of their own.
    fn plain_call(&self, callee: &str, call: &Call) -> String {
        let args: Vec<String> = call.args.iter().flatten().map(|arg| self.value(arg)).collect();
        format!("{callee}({})", args.join(", "))
    }

    /// `overloaded`: optional parameters of another method of this name may take the arguments, too, unless they are named.
    fn extern_call(
        &self,
        callee: &str,
        signature: Option<&Signature>,
        overloaded: bool,
        call: &Call,
    ) -> String {
        let params = signature.map_or(&[][..], |s| &s.params);
        let explicit = signature.is_some_and(|s| needs_type_args(self, s, call));
        let type_args = if explicit { self.type_args(&call.type_args) } else { String::new() };
        // Captured values come after the others, and stand in the implementation.
        let given = signature.and_then(|s| call.args.get(..s.params.len())).unwrap_or(&call.args);
        let left_out = given.iter().position(Option::is_none);
        let by_name = left_out.is_some_and(|at| {
            given[at..].iter().any(Option::is_some) || overloaded && given.iter().flatten().count() > 1
        });
        let mut args = vec![];
        for (index, arg) in given.iter().enumerate() {
            let Some(arg) = arg else { continue };
            let param = params.get(index);
            let typed = explicit || param.is_some_and(|p| !is_generic(&p.ty, signature));
            let text = if typed { self.value(arg) } else { self.free(arg) };
            args.push(match param {
                Some(param) if by_name => format!("{} = {text}", param.name),
                _ => text,
            });
        }
        format!("{callee}{type_args}({})", args.join(", "))
    }
}

/// An index or the amount of a shift has 32 bits if it is written without a width.
fn position_type(expr: &Expr) -> Option<&Type> {
    Some(&expr.ty).filter(|ty| **ty == Type::Bit(32))
}

/// True for expressions that take their type from their place.
fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(_) | ExprKind::InvalidHeader | ExprKind::Aggregate(_))
}

/// True if the arguments do not give the type arguments by themselves.
fn needs_type_args(printer: &Printer, signature: &Signature, call: &Call) -> bool {
    let given = |name: &Name| {
        let mut args = signature.params.iter().zip(&call.args);
        args.any(|(param, arg): (&SignatureParam, _)| arg.is_some() && mentions(&param.ty, name))
    };
    let is_struct_list = |arg: &Expr| {
        matches!(arg.kind, ExprKind::Aggregate(_))
            && matches!(&arg.ty, Type::Named(id) if matches!(
                printer.program.types.get(id.index()).map(|decl| &decl.kind),
                Some(TypeKind::Struct(_) | TypeKind::Header(_))
            ))
    };
    let open = |param: &SignatureParam| signature.type_params.iter().any(|name| mentions(&param.ty, name));
    let mut generic = signature.params.iter().zip(&call.args).filter(|(param, _)| open(param));
    !signature.type_params.is_empty()
        && (!signature.type_params.iter().all(given)
            || generic.any(|(_, arg)| arg.as_ref().is_some_and(is_struct_list)))
}

fn mentions(ty: &Type, name: &Name) -> bool {
    match ty {
        Type::Param(param) => param == name,
        Type::Stack(elem, _) | Type::List(elem) => mentions(elem, name),
        Type::Tuple(types) => types.iter().any(|ty| mentions(ty, name)),
        _ => false,
    }
}

/// True if a call must say the type: it is, or has in it, a type parameter of the function or method itself. Those
/// of the object are settled by its instance.
fn is_generic(ty: &Type, signature: Option<&Signature>) -> bool {
    signature.is_none_or(|s| s.type_params.iter().any(|name| mentions(ty, name)))
}
