//! The expressions of `#if` and `#elif`: 64-bit integers with the operators of C.

use base_diag::{Diagnostic, Span, codes::syntax};

use super::Preprocessor;
use crate::token::{Token, TokenKind};

/// Parentheses and prefix operators that may be open at once.
const MAX_DEPTH: usize = 100;

/// A value; unsigned ones make the whole operation unsigned.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Value {
    bits: u64,
    unsigned: bool,
}

/// Reason why there is no value, with its place.
struct Trouble {
    span: Span,
    text: String,
}

impl Preprocessor<'_> {
    /// Evaluates the rest of the line; false, with a diagnostic, if it has no value.
    pub(super) fn condition(&mut self, directive: Span) -> bool {
        let line = self.rest_of_line();
        let operands = self.operands(line);
        let mut parser = Parser { tokens: &operands, pos: 0, depth: 0, end: directive };
        match parser.whole() {
            Ok(value) => value.bits != 0,
            Err(trouble) => {
                let title = format!("the condition of `{}` has no value", self.spelling(directive));
                let error = Diagnostic::error(syntax::CONDITION, title);
                self.diagnostics.push(error.at(trouble.span, trouble.text));
                false
            }
        }
    }

    /// The line with `defined` decided, macros expanded and numbers read.
    fn operands(&mut self, line: Vec<Token>) -> Vec<Operand> {
        self.push_barrier(line);
        let mut operands = vec![];
        loop {
            let token = self.expanded_token();
            let value = match token.kind {
                TokenKind::Eof => break,
                TokenKind::Ident if self.text(token) == "defined" => match self.defined() {
                    Some(defined) => Ok(Value::of(defined)),
                    None => Err("expected a name after `defined`".to_string()),
                },
                TokenKind::Ident => Ok(Value::of(false)),
                TokenKind::Int => number(self.text(token))
                    .ok_or_else(|| format!("`{}` is not a number for the preprocessor", self.text(token))),
                _ => Err(format!("unexpected `{}`", self.text(token))),
            };
            operands.push(Operand { token, value });
        }
        self.pop_context();
        operands
    }

    /// `NAME` or `(NAME)` after `defined`.
    fn defined(&mut self) -> Option<bool> {
        let first = self.raw_token();
        let parens = first.kind == TokenKind::LParen;
        let name = if parens { self.raw_token() } else { first };
        if parens && self.raw_token().kind != TokenKind::RParen {
            return None;
        }
        (name.kind == TokenKind::Ident).then(|| self.macros.find(self.text(name)).is_some())
    }
}

struct Operand {
    token: Token,
    value: Result<Value, String>,
}

struct Parser<'a> {
    tokens: &'a [Operand],
    pos: usize,
    depth: usize,
    end: Span,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Value, Trouble> {
        let value = self.ternary(true)?;
        match self.tokens.get(self.pos) {
            None => Ok(value),
            Some(_) => Err(self.trouble("expected an operator here")),
        }
    }

    /// `live`: the value counts, so a division by zero is an error.
    fn ternary(&mut self, live: bool) -> Result<Value, Trouble> {
        let condition = self.binary(0, live)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let yes = condition.bits != 0;
        let then = self.nested(|p| p.ternary(live && yes))?;
        if !self.eat(TokenKind::Colon) {
            return Err(self.trouble("expected `:` here"));
        }
        let otherwise = self.nested(|p| p.ternary(live && !yes))?;
        let unsigned = then.unsigned || otherwise.unsigned;
        Ok(Value { unsigned, ..if yes { then } else { otherwise } })
    }

    fn binary(&mut self, min: u8, live: bool) -> Result<Value, Trouble> {
        let mut left = self.unary(live)?;
        while let Some((op, len, level)) = self.operator().filter(|(_, _, level)| *level >= min) {
            let at = self.pos;
            self.pos += len;
            let decided = match op {
                Op::AndAnd => left.bits == 0,
                Op::OrOr => left.bits != 0,
                _ => false,
            };
            let right = self.nested(|p| p.binary(level + 1, live && !decided))?;
            left = match apply(op, left, right) {
                Some(value) => value,
                None if live => {
                    let span = self.tokens.get(at).map_or(self.end, |t| t.token.span);
                    return Err(Trouble { span, text: "division by zero".into() });
                }
                None => Value::of(false),
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Result<Value, Trouble> {
        let Some(operand) = self.tokens.get(self.pos) else {
            return Err(self.trouble("expected a value after it"));
        };
        self.pos += 1;
        let kind = operand.token.kind;
        match kind {
            TokenKind::LParen => {
                let value = self.nested(|p| p.ternary(live))?;
                if self.eat(TokenKind::RParen) { Ok(value) } else { Err(self.trouble("expected `)` here")) }
            }
            TokenKind::Not => Ok(Value::of(self.nested(|p| p.unary(live))?.bits == 0)),
            TokenKind::Tilde | TokenKind::Minus | TokenKind::Plus => {
                let value = self.nested(|p| p.unary(live))?;
                let bits = match kind {
                    TokenKind::Tilde => !value.bits,
                    TokenKind::Minus => value.bits.wrapping_neg(),
                    _ => value.bits,
                };
                Ok(Value { bits, ..value })
            }
            _ => operand.value.clone().map_err(|text| Trouble { span: operand.token.span, text }),
        }
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Trouble>) -> Result<T, Trouble> {
        if self.depth >= MAX_DEPTH {
            return Err(self.trouble("nested too deeply"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.tokens.get(self.pos).is_some_and(|t| t.token.kind == kind);
        self.pos += usize::from(found);
        found
    }

    /// The operator that comes next, its length in tokens and its level.
    fn operator(&self) -> Option<(Op, usize, u8)> {
        let next = self.tokens.get(self.pos)?.token;
        let (op, level) = match next.kind {
            TokenKind::OrOr => (Op::OrOr, 1),
            TokenKind::AndAnd => (Op::AndAnd, 2),
            TokenKind::Or => (Op::Or, 3),
            TokenKind::Caret => (Op::Xor, 4),
            TokenKind::And => (Op::And, 5),
            TokenKind::EqEq => (Op::Eq, 6),
            TokenKind::Ne => (Op::Ne, 6),
            TokenKind::Lt => (Op::Lt, 7),
            TokenKind::Le => (Op::Le, 7),
            TokenKind::Ge => (Op::Ge, 7),
            // `>>` is two tokens, since it may close the arguments of two types.
            TokenKind::Gt => {
                let second = self.tokens.get(self.pos + 1).map(|t| t.token);
                if second.is_some_and(|t| t.kind == TokenKind::Gt && !t.has(Token::SPACE)) {
                    return Some((Op::Shr, 2, 8));
                }
                (Op::Gt, 7)
            }
            TokenKind::Shl => (Op::Shl, 8),
            TokenKind::Plus => (Op::Add, 9),
            TokenKind::Minus => (Op::Sub, 9),
            TokenKind::Star => (Op::Mul, 10),
            TokenKind::Slash => (Op::Div, 10),
            TokenKind::Percent => (Op::Rem, 10),
            _ => return None,
        };
        Some((op, 1, level))
    }

    fn trouble(&self, text: &str) -> Trouble {
        let last = self.tokens.last().map_or(self.end, |t| t.token.span);
        let span = self.tokens.get(self.pos).map_or(last, |t| t.token.span);
        Trouble { span, text: text.into() }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    OrOr,
    AndAnd,
    Or,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Value {
    fn of(truth: bool) -> Value {
        Value { bits: u64::from(truth), unsigned: false }
    }
}

/// `None` for a division by zero.
fn apply(op: Op, a: Value, b: Value) -> Option<Value> {
    let unsigned = a.unsigned || b.unsigned;
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (x as i64, y as i64);
    let less = |x: u64, y: u64| if unsigned { x < y } else { (x as i64) < (y as i64) };
    let truth = |t| Some(Value::of(t));
    let bits = match op {
        Op::OrOr => return truth(x != 0 || y != 0),
        Op::AndAnd => return truth(x != 0 && y != 0),
        Op::Eq => return truth(x == y),
        Op::Ne => return truth(x != y),
        Op::Lt => return truth(less(x, y)),
        Op::Gt => return truth(less(y, x)),
        Op::Le => return truth(!less(y, x)),
        Op::Ge => return truth(!less(x, y)),
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::And => x & y,
        Op::Add => x.wrapping_add(y),
        Op::Sub => x.wrapping_sub(y),
        Op::Mul => x.wrapping_mul(y),
        Op::Div | Op::Rem if y == 0 => return None,
        Op::Div if unsigned => x / y,
        Op::Div => sx.wrapping_div(sy) as u64,
        Op::Rem if unsigned => x % y,
        Op::Rem => sx.wrapping_rem(sy) as u64,
        Op::Shl | Op::Shr => {
            // As in GCC, a negative amount shifts the other way.
            let left = (op == Op::Shl) == (b.unsigned || sy >= 0);
            let by = if b.unsigned { y } else { sy.unsigned_abs() };
            return Some(Value { bits: shift(a, left, by), unsigned: a.unsigned });
        }
    };
    Some(Value { bits, unsigned })
}

fn shift(a: Value, left: bool, by: u64) -> u64 {
    let by = u32::try_from(by).unwrap_or(64).min(64);
    match (left, a.unsigned) {
        (true, _) => a.bits.checked_shl(by).unwrap_or(0),
        (false, true) => a.bits.checked_shr(by).unwrap_or(0),
        (false, false) => ((a.bits as i64) >> by.min(63)) as u64,
    }
}

/// An integer of C, with its suffixes.
fn number(text: &str) -> Option<Value> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = text[digits.len()..].to_ascii_lowercase();
    if !matches!(suffix.as_str(), "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu") {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = if let Some(hex) = lower.strip_prefix("0x") {
        (hex, 16)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (binary, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (lower.as_str(), 10)
    };
    let bits = u64::from_str_radix(digits, radix).ok()?;
    Some(Value { bits, unsigned: suffix.contains('u') || bits > i64::MAX as u64 })
}
