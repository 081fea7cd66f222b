//! Expressions, by precedence climbing.

use super::{MAX_DEPTH, Reader, Result, Token};
use crate::text::infer::{field_type, infer};
use crate::text::ops::BINARY_OPS;
use crate::{BinaryOp, Call, Callee, Const, Expr, ExprKind, Name, Type, TypeId, TypeKind, UnaryOp};
use base_bits::{Bits, Literal};
use base_diag::Span;

/// Constants of more bits are refused: the text may be anything.
const MAX_CONST_WIDTH: u32 = 1 << 20;

/// An expression and how many are nested in it.
struct Tree {
    expr: Expr,
    height: u32,
}

impl Reader<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.tree().map(|tree| tree.expr)
    }

    fn tree(&mut self) -> Result<Tree> {
        self.enter()?;
        let mut tree = self.binary(2);
        if tree.is_ok() && self.sees("?") {
            tree = self.ternary(tree);
        }
        self.leave();
        tree
    }

    fn ternary(&mut self, cond: Result<Tree>) -> Result<Tree> {
        let cond = cond?;
        self.expect("?")?;
        let yes = self.tree()?;
        self.expect(":")?;
        let no = self.tree()?;
        let height = cond.height.max(yes.height).max(no.height);
        let kind = ExprKind::Ternary(Box::new(cond.expr), Box::new(yes.expr), Box::new(no.expr));
        self.node(kind, height)
    }

    /// An expression whose type its parts give.
    fn node(&self, kind: ExprKind, height: u32) -> Result<Tree> {
        match infer(&self.program, &self.scope.vars, &kind) {
            Some(ty) => self.typed(kind, ty, height),
            // Only an ascription can say it; it stands after the expression and replaces this.
            None => self.typed(kind, Type::Void, height),
        }
    }

    fn typed(&self, kind: ExprKind, ty: Type, height: u32) -> Result<Tree> {
        if height >= MAX_DEPTH {
            return self.error("nested too deeply");
        }
        Ok(Tree { expr: Expr { kind, ty, span: Span::NONE }, height: height + 1 })
    }

    fn binary(&mut self, weakest: u8) -> Result<Tree> {
        let mut left = self.prefix();
        while let Some(op) = self.binary_op().filter(|op| left.is_ok() && op.precedence() >= weakest) {
            self.eat_binary_op(op);
            // Each round binds tighter: this recursion is bounded by the number of precedences.
            let right = self.binary(op.precedence() + 1);
            left = self.binary_node(op, left, right);
        }
        left
    }

    fn binary_node(&self, op: BinaryOp, left: Result<Tree>, right: Result<Tree>) -> Result<Tree> {
        let (left, right) = (left?, right?);
        let height = left.height.max(right.height);
        self.node(ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr)), height)
    }

    /// The operator that stands here. `>>` is two signs, so that types may end in it.
    pub(super) fn binary_op(&self) -> Option<BinaryOp> {
        let Token::Sign(sign) = self.peek() else {
            return None;
        };
        let adjacent = |sign: &str| {
            matches!(self.ahead(1), Token::Sign(s) if *s == sign)
                && self.tokens.get(self.at + 1).is_some_and(|next| next.at == self.here() + 1)
        };
        match *sign {
            ">" if adjacent(">") => Some(BinaryOp::Shr),
            ">" if adjacent(">=") => None,
            sign => BINARY_OPS.iter().copied().find(|op| op.symbol() == sign),
        }
    }

    pub(super) fn eat_binary_op(&mut self, op: BinaryOp) {
        self.advance();
        if op == BinaryOp::Shr {
            self.advance();
        }
    }

    fn prefix(&mut self) -> Result<Tree> {
        let op = match self.peek() {
            Token::Sign("-") if !self.is_negative_number() => UnaryOp::Neg,
            Token::Sign("~") => UnaryOp::BitNot,
            Token::Sign("!") => UnaryOp::Not,
            _ => return self.postfix(),
        };
        self.enter()?;
        self.advance();
        let operand = self.prefix();
        self.leave();
        self.unary_node(op, operand)
    }

    fn unary_node(&self, op: UnaryOp, operand: Result<Tree>) -> Result<Tree> {
        let operand = operand?;
        self.node(ExprKind::Unary(op, Box::new(operand.expr)), operand.height)
    }

    /// `-5`: the sign belongs to a number without a width.
    fn is_negative_number(&self) -> bool {
        matches!(self.ahead(1), Token::Number(text) if text.bytes().all(|c| c.is_ascii_digit()))
    }

    fn postfix(&mut self) -> Result<Tree> {
        let mut tree = match self.peek() {
            Token::Sign("(") => self.parenthesised(),
            Token::Sign("{") => self.aggregate(),
            _ => self.primary(),
        };
        while tree.is_ok() {
            if self.eat("[") {
                tree = self.bracket(tree);
            } else if self.sees(".") && self.is_member_ahead() {
                self.advance();
                tree = self.dotted(tree);
            } else {
                break;
            }
        }
        tree
    }

    /// Built-in methods that are statements are left to the statement.
    fn is_member_ahead(&self) -> bool {
        match self.ahead(1) {
            Token::Builtin(word) => matches!(word.as_str(), "next" | "last" | "lastIndex" | "isValid"),
            _ => true,
        }
    }

    fn bracket(&mut self, base: Result<Tree>) -> Result<Tree> {
        let base = base?;
        let (expr, height) = (Box::new(base.expr), base.height);
        if let (Token::Number(_), Token::Sign(":")) = (self.peek(), self.ahead(1)) {
            let hi = self.number()?;
            self.expect(":")?;
            let lo = self.number()?;
            self.expect("]")?;
            return self.node(ExprKind::Slice { base: expr, hi, lo }, height);
        }
        let index = self.tree()?;
        let height = height.max(index.height);
        let index_expr = Box::new(index.expr);
        let kind = if self.eat("+:") {
            ExprKind::SlicePlus { base: expr, start: index_expr, width: self.number()? }
        } else {
            ExprKind::Index(expr, index_expr)
        };
        self.expect("]")?;
        self.node(kind, height)
    }

    fn dotted(&mut self, base: Result<Tree>) -> Result<Tree> {
        let base = base?;
        let (expr, height) = (Box::new(base.expr), base.height);
        let kind = match self.peek() {
            Token::Builtin(word) => {
                let kind = match word.as_str() {
                    "next" => ExprKind::Next(expr),
                    "last" => ExprKind::Last(expr),
                    "lastIndex" => ExprKind::LastIndex(expr),
                    _ => ExprKind::IsValid(expr),
                };
                self.advance();
                kind
            }
            Token::Number(_) => ExprKind::Field(expr, self.number()?),
            _ => {
                let field = self.field(&expr.ty)?;
                ExprKind::Field(expr, field)
            }
        };
        if let ExprKind::Field(base, index) = &kind
            && field_type(&self.program, &base.ty, *index).is_none()
        {
            return self.typed(kind, Type::Void, height);
        }
        self.node(kind, height)
    }

    fn field(&mut self, base: &Type) -> Result<u32> {
        let reference = self.reference()?;
        let known = matches!(base, Type::Named(id) if id.index() < self.program.types.len());
        let fields = if known { self.program.fields(base) } else { &[] };
        let names = super::Names::new(fields.iter().map(|field| &field.name));
        let index: TypeId = self.resolve(&names, "field", &reference)?;
        Ok(index.0)
    }

    fn primary(&mut self) -> Result<Tree> {
        match self.peek() {
            Token::Sign("{#}") => {
                self.advance();
                self.node(ExprKind::InvalidHeader, 0)
            }
            Token::Sign("?") | Token::Quoted(_) if !matches!(self.ahead(1), Token::Sign("::")) => self.var(),
            Token::Builtin(word) if word == "instance" => self.const_tree(),
            Token::Builtin(_) => self.builtin(),
            Token::Word(word) => match word.as_str() {
                "function" | "action" | "control" | "parser" | "extern" | "method" | "param" => {
                    self.call_tree()
                }
                "true" | "false" | "error" | "enum" => self.const_tree(),
                _ if matches!(self.ahead(1), Token::Sign("::")) => self.const_tree(),
                _ if super::names::is_keyword(word) => self.expected("an expression"),
                _ => self.var(),
            },
            Token::Number(_) | Token::Str(_) | Token::Quoted(_) | Token::Sign("-") => self.const_tree(),
            _ => self.expected("an expression"),
        }
    }

    fn aggregate(&mut self) -> Result<Tree> {
        self.expect("{")?;
        let parts = self.list("}", Reader::tree)?;
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0);
        let parts = parts.into_iter().map(|part| part.expr).collect();
        self.node(ExprKind::Aggregate(parts), height)
    }

    fn call_tree(&mut self) -> Result<Tree> {
        let (call, height) = self.call()?;
        self.node(ExprKind::Call(Box::new(call)), height)
    }

    fn var(&mut self) -> Result<Tree> {
        let var = self.var_ref()?;
        self.node(ExprKind::Var(var), 0)
    }

    fn const_tree(&mut self) -> Result<Tree> {
        let (value, ty) = self.constant()?;
        self.typed(ExprKind::Const(value), ty.unwrap_or(Type::Void), 0)
    }

    /// `(value)` or `(value : type)`
    fn parenthesised(&mut self) -> Result<Tree> {
        self.expect("(")?;
        let mut tree = self.tree()?;
        if self.eat(":") {
            tree.expr.ty = self.ty()?;
        }
        self.expect(")")?;
        Ok(tree)
    }

    fn builtin(&mut self) -> Result<Tree> {
        let word = match self.peek() {
            Token::Builtin(word) => word.clone(),
            _ => return self.expected("an expression"),
        };
        let at = self.here();
        self.advance();
        let ty = match word.as_str() {
            "cast" | "lookahead" => {
                self.expect("<")?;
                let ty = self.ty()?;
                self.expect(">")?;
                Some(ty)
            }
            _ => None,
        };
        self.expect("(")?;
        let mut height = 0;
        let kind = match word.as_str() {
            "cast" => {
                let operand = self.tree()?;
                height = operand.height;
                ExprKind::Cast(Box::new(operand.expr))
            }
            "lookahead" => ExprKind::Lookahead(self.var_ref()?),
            "length" => ExprKind::PacketLength(self.var_ref()?),
            "hit" => ExprKind::ApplyHit(self.table_ref()?),
            "miss" => ExprKind::ApplyMiss(self.table_ref()?),
            _ => return self.error_at(at, format!("nothing built-in is named `${word}`")),
        };
        self.expect(")")?;
        match ty {
            Some(ty) => self.typed(kind, ty, height),
            None => self.node(kind, height),
        }
    }

    /// A call, and how many expressions are nested in its arguments.
    pub(super) fn call(&mut self) -> Result<(Call, u32)> {
        let word = self.name()?;
        let reference = self.reference()?;
        let callee = match word.as_str() {
            "function" => Callee::Function(self.resolve(&self.functions, "function", &reference)?),
            "action" => Callee::Action(self.resolve(&self.scope.actions, "action", &reference)?),
            "control" => Callee::Control(self.resolve(&self.controls, "control", &reference)?),
            "parser" => Callee::Parser(self.resolve(&self.parsers, "parser", &reference)?),
            "extern" => {
                Callee::ExternFunction(self.resolve(&self.extern_functions, "extern function", &reference)?)
            }
            "method" => {
                let instance: crate::InstanceId = self.resolve(&self.instances, "instance", &reference)?;
                let object = self.program.instances.get(instance.index()).map(|i| i.object);
                self.expect(".")?;
                Callee::Method(instance, self.method(object)?)
            }
            _ => {
                let var: crate::VarId = self.resolve(&self.scope.var_names, "variable", &reference)?;
                let object = self.scope.vars.get(var.index()).and_then(|v| match &v.ty {
                    Type::Extern(id, _) => Some(*id),
                    _ => None,
                });
                self.expect(".")?;
                Callee::ParamMethod(var, self.method(object)?)
            }
        };
        let type_args = self.type_args()?;
        self.expect("(")?;
        let args = self.list(")", |r| if r.eat_word("_") { Ok(None) } else { r.tree().map(Some) })?;
        let height = args.iter().flatten().map(|tree| tree.height).max().unwrap_or(0);
        let args = args.into_iter().map(|tree| tree.map(|t| t.expr)).collect();
        Ok((Call { callee, type_args, args, span: Span::NONE }, height))
    }

    /// A constant, and its type where it shows one.
    pub(super) fn constant(&mut self) -> Result<(Const, Option<Type>)> {
        let (value, ty) = match self.peek() {
            Token::Str(text) => (Const::Str(text.clone()), Some(Type::String)),
            Token::Word(word) if word == "true" => (Const::Bool(true), Some(Type::Bool)),
            Token::Word(word) if word == "false" => (Const::Bool(false), Some(Type::Bool)),
            Token::Word(word) if word == "enum" => {
                self.advance();
                return Ok((Const::Enum(self.number()?), None));
            }
            Token::Word(word) if word == "error" => {
                self.advance();
                self.expect("::")?;
                let name = self.reference()?;
                let error = self.resolve(&self.errors, "error", &name)?;
                return Ok((Const::Error(error), Some(Type::Error)));
            }
            Token::Builtin(word) if word == "instance" => {
                self.advance();
                self.expect("(")?;
                let instance = self.reference()?;
                let instance = self.resolve(&self.instances, "instance", &instance)?;
                self.expect(")")?;
                return Ok((Const::Instance(instance), None));
            }
            Token::Word(_) | Token::Quoted(_) => return self.member(),
            Token::Sign("-") => {
                self.advance();
                let (value, ty) = self.numeral()?;
                match value {
                    Const::Int(number) => (Const::Int(-number), ty),
                    _ => return self.expected("a plain number"),
                }
            }
            _ => self.numeral()?,
        };
        self.advance();
        Ok((value, ty))
    }

    /// The number that stands here; it is not passed.
    fn numeral(&self) -> Result<(Const, Option<Type>)> {
        let Token::Number(text) = self.peek() else {
            return self.expected("a constant");
        };
        let literal = match Literal::parse(text) {
            Ok(literal) => literal,
            Err(error) => return self.error(format!("`{text}`: {error}")),
        };
        match literal.width {
            None => Ok((Const::Int(literal.value), Some(Type::InfInt))),
            Some(width) if width > MAX_CONST_WIDTH => self.error("the width is too big"),
            Some(width) if !Bits::fits(width, literal.signed, &literal.value) => {
                self.error(format!("the value does not fit into {width} bits"))
            }
            Some(width) => {
                let ty = if literal.signed { Type::Int(width) } else { Type::Bit(width) };
                Ok((Const::Bits(Bits::from_bigint(width, &literal.value)), Some(ty)))
            }
        }
    }

    /// `E::A`
    fn member(&mut self) -> Result<(Const, Option<Type>)> {
        let reference = self.reference()?;
        let ty: TypeId = self.resolve(&self.types, "type", &reference)?;
        self.expect("::")?;
        let at = self.here();
        let name: Name = self.name()?;
        let value = match self.program.types.get(ty.index()).map(|decl| &decl.kind) {
            Some(TypeKind::Enum(members)) => {
                members.iter().position(|m| *m == name).and_then(|i| u32::try_from(i).ok()).map(Const::Enum)
            }
            Some(TypeKind::SerEnum { members, .. }) => {
                members.iter().find(|(m, _)| *m == name).map(|(_, value)| value.clone())
            }
            _ => None,
        };
        match value {
            Some(value) => Ok((value, Some(Type::Named(ty)))),
            None => self.error_at(at, format!("the type has no member `{name}`")),
        }
    }
}
