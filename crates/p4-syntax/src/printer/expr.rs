//! Expressions, with the parentheses that precedence needs and no others.

use num_bigint::BigUint;

use super::{Printer, WIDTH};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, IntLit, NamedExpr, Radix, UnaryOp};

/// Precedence of an expression; 1 to 10 are those of infix operators.
type Level = u8;

const ANY: Level = 0;
const RELATIONAL: Level = 4;
const PREFIX: Level = 11;
const POSTFIX: Level = 12;
const PRIMARY: Level = 13;
/// More tightly than anything does.
const PARENTHESES: Level = 14;

impl Printer {
    pub(super) fn expr(&mut self, e: &Expr) {
        self.operand(e, ANY);
    }

    /// The whole right side of a statement: a long one is broken at its outermost commas or operators.
    pub(super) fn wide_expr(&mut self, e: &Expr) {
        let before = self.out.len();
        self.expr(e);
        if self.column() <= WIDTH {
            return;
        }
        self.out.truncate(before);
        match &e.kind {
            ExprKind::Call { callee, type_args, args } => {
                self.callee(callee, type_args);
                self.fit("(", args, ")", Self::arg);
            }
            ExprKind::List(items) => self.fit("{ ", items, " }", Self::expr),
            ExprKind::Struct { fields, dots: None } => self.fit("{ ", fields, " }", Self::named_expr),
            ExprKind::Binary { op, .. } => {
                self.indent += 1;
                self.chain(e, level(*op));
                self.indent -= 1;
            }
            _ => self.expr(e),
        }
    }

    /// `a op b op c` of one level, a line for each operator.
    fn chain(&mut self, e: &Expr, of: Level) {
        let mut right_sides = vec![];
        let mut first = e;
        while let ExprKind::Binary { op, left, right, .. } = &first.kind {
            if level(*op) != of {
                break;
            }
            right_sides.push((*op, &**right));
            first = left;
            if of == RELATIONAL {
                break;
            }
        }
        self.operand(first, of + u8::from(of == RELATIONAL));
        for (op, right) in right_sides.into_iter().rev() {
            self.line();
            self.push(spelling(op));
            self.push(" ");
            self.operand(right, of + 1);
        }
    }

    /// An expression in a place where operators that bind less tightly than `min` need parentheses.
    fn operand(&mut self, e: &Expr, min: Level) {
        let is_guarded = self.guards && matches!(e.kind, ExprKind::Binary { op: BinaryOp::Lt, .. });
        let parens = binding(e) < min || is_guarded;
        if parens {
            self.push("(");
        }
        self.bare(e);
        if parens {
            self.push(")");
        }
    }

    fn bare(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Int(lit) => self.int(lit),
            ExprKind::Bool(value) => self.push(if *value { "true" } else { "false" }),
            ExprKind::String(text) => self.string(text),
            ExprKind::This => self.push("this"),
            ExprKind::Dots => self.push("..."),
            ExprKind::Invalid => self.push("{#}"),
            ExprKind::DontCare => self.push("_"),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Type(ty) => self.ty(ty),
            ExprKind::Member { base, name } => {
                self.operand(base, POSTFIX);
                self.push(".");
                self.name(name);
            }
            ExprKind::Index { base, index } => {
                self.operand(base, POSTFIX);
                self.dimension(index);
            }
            ExprKind::Slice { base, hi, lo } => self.slice(base, hi, ":", lo),
            ExprKind::PlusSlice { base, lo, width } => self.slice(base, lo, " +: ", width),
            ExprKind::List(items) => self.list(items),
            ExprKind::Struct { fields, dots } => {
                self.push("{ ");
                self.commas(fields, Self::named_expr);
                self.push(if dots.is_some() { ", ... }" } else { " }" });
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right, .. } => {
                let of = level(*op);
                // `a < b > (c)` could be read as a call with a type argument.
                self.operand(left, of + u8::from(of == RELATIONAL));
                self.push(" ");
                self.push(spelling(*op));
                self.push(" ");
                self.operand(right, of + 1);
            }
            ExprKind::Ternary { condition, then, otherwise, chained } => {
                self.operand(condition, ANY + 1);
                self.push(" ? ");
                self.expr(then);
                self.push(" : ");
                self.operand(otherwise, if *chained { ANY } else { ANY + 1 });
            }
            ExprKind::Cast { ty, operand } => {
                self.push("(");
                self.ty(ty);
                self.push(") ");
                self.operand(operand, PREFIX);
            }
            ExprKind::Call { callee, type_args, args } => {
                self.callee(callee, type_args);
                self.push("(");
                self.commas(args, Self::arg);
                self.push(")");
            }
            ExprKind::Missing => self.push("/* missing expression */"),
        }
    }

    fn callee(&mut self, callee: &Expr, type_args: &[crate::ast::Type]) {
        self.operand(callee, POSTFIX);
        if !type_args.is_empty() {
            self.type_args(type_args);
        }
    }

    fn list(&mut self, items: &[Expr]) {
        if items.is_empty() {
            return self.push("{}");
        }
        self.push("{ ");
        self.commas(items, Self::expr);
        self.push(" }");
    }

    fn slice(&mut self, base: &Expr, first: &Expr, between: &str, second: &Expr) {
        self.operand(base, POSTFIX);
        self.push("[");
        self.operand(first, ANY + 1);
        self.push(between);
        self.expr(second);
        self.push("]");
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.push(match op {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
        });
        // `++` is another operator, and `--` looks like one.
        if matches!(op, UnaryOp::Plus | UnaryOp::Minus)
            && matches!(operand.kind, ExprKind::Unary { op: next, .. } if next == op)
        {
            self.push(" ");
        }
        self.operand(operand, PREFIX);
    }

    pub(super) fn named_expr(&mut self, field: &NamedExpr) {
        self.name(&field.name);
        self.push(" = ");
        self.expr(&field.value);
    }

    pub(super) fn arg(&mut self, arg: &Arg) {
        if let Some(name) = &arg.name {
            self.name(name);
            self.push(" = ");
        }
        self.expr(&arg.value);
    }

    /// A label of a `switch` may not begin with a brace.
    pub(super) fn label(&mut self, e: &Expr) {
        let braces = matches!(e.kind, ExprKind::List(_) | ExprKind::Struct { .. } | ExprKind::Invalid);
        self.operand(e, if braces { PARENTHESES } else { ANY });
    }

    fn int(&mut self, lit: &IntLit) {
        if let Some(width) = lit.width {
            self.push(&format!("{}{}", width.bits, if width.signed { 's' } else { 'w' }));
        }
        let IntLit { value, radix, .. } = lit;
        self.push(&digits(value, *radix));
    }

    pub(super) fn string(&mut self, text: &str) {
        self.push("\"");
        self.push(&text.replace('\\', "\\\\").replace('"', "\\\""));
        self.push("\"");
    }
}

fn digits(value: &BigUint, radix: Radix) -> String {
    match radix {
        Radix::Bin => format!("0b{value:b}"),
        Radix::Oct => format!("0o{value:o}"),
        Radix::Dec => value.to_string(),
        Radix::Hex => format!("0x{value:X}"),
    }
}

fn binding(e: &Expr) -> Level {
    match &e.kind {
        ExprKind::Ternary { .. } => ANY,
        ExprKind::Binary { op, .. } => level(*op),
        ExprKind::Unary { .. } | ExprKind::Cast { .. } => PREFIX,
        _ => PRIMARY,
    }
}

fn level(op: BinaryOp) -> Level {
    use BinaryOp::*;
    match op {
        Or => 1,
        And => 2,
        Eq | Ne => 3,
        Lt | Le | Gt | Ge => RELATIONAL,
        BitOr => 5,
        BitXor => 6,
        BitAnd => 7,
        Shl | Shr => 8,
        Add | Sub | AddSat | SubSat | Concat => 9,
        Mul | Div | Mod => 10,
    }
}

pub(super) fn spelling(op: BinaryOp) -> &'static str {
    use BinaryOp::*;
    match op {
        Mul => "*",
        Div => "/",
        Mod => "%",
        Add => "+",
        Sub => "-",
        AddSat => "|+|",
        SubSat => "|-|",
        Concat => "++",
        Shl => "<<",
        Shr => ">>",
        Lt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
        Eq => "==",
        Ne => "!=",
        BitAnd => "&",
        BitXor => "^",
        BitOr => "|",
        And => "&&",
        Or => "||",
    }
}
