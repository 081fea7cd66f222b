//! Conditions with their types, in ascending order of binding strength: `;`, `->`, `||`, `&&`, comparisons, `!` and
//! `-`.

use super::lex::{Token, words};
use super::{Expr, Scope, Type, Wanted};
use p4runtime_proto::p4::config::v1::match_field::MatchType;
use std::cmp::Ordering;

/// Maximum nesting depth of conditions.
const DEEPEST: u32 = 64;

type Typed = (Expr, Type);

/// The conditions between semicolons, each with its text.
pub(super) fn parse(text: &str, scope: &Scope) -> Result<Vec<(String, Expr)>, String> {
    let words = words(text)?;
    let mut parser = Parser { words: &words, at: 0, depth: 0, scope };
    let mut all = vec![];
    while parser.at < words.len() {
        let begin = parser.at;
        let condition = parser.implication()?;
        let condition = wanted(condition, Type::Bool)?;
        let (from, to) = (words.get(begin), words.get(parser.at - 1));
        let shown = from.zip(to).and_then(|((_, from, _), (_, _, to))| text.get(*from..*to));
        all.push((shown.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "), condition));
        if parser.at < words.len() {
            parser.expect(";")?;
        }
    }
    Ok(all)
}

struct Parser<'w> {
    words: &'w [(Token, usize, usize)],
    at: usize,
    depth: u32,
    scope: &'w Scope,
}

impl<'w> Parser<'w> {
    fn takes(&mut self, mark: &str) -> bool {
        let is_next = matches!(self.words.get(self.at), Some((Token::Mark(next), ..)) if *next == mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(format!("expected `{mark}` {}", self.place())),
        }
    }

    fn place(&self) -> String {
        match self.words.get(self.at) {
            Some((Token::Name(name), ..)) => format!("before `{name}`"),
            Some((Token::Int(number), ..)) => format!("before `{number}`"),
            Some((Token::Mark(mark), ..)) => format!("before `{mark}`"),
            None => "at the end".to_string(),
        }
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} levels deep"));
        }
        let found = inner(self);
        self.depth -= 1;
        found
    }

    fn implication(&mut self) -> Result<Typed, String> {
        let left = self.disjunction()?;
        if !self.takes("->") {
            return Ok(left);
        }
        let left = Expr::Not(Box::new(wanted(left, Type::Bool)?));
        let right = self.deeper(Parser::implication)?;
        Ok((Expr::Or(Box::new([left, wanted(right, Type::Bool)?])), Type::Bool))
    }

    fn disjunction(&mut self) -> Result<Typed, String> {
        let mut left = self.conjunction()?;
        while self.takes("||") {
            let right = self.conjunction()?;
            let both = [wanted(left, Type::Bool)?, wanted(right, Type::Bool)?];
            left = (Expr::Or(Box::new(both)), Type::Bool);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Typed, String> {
        let mut left = self.comparison()?;
        while self.takes("&&") {
            let right = self.comparison()?;
            let both = [wanted(left, Type::Bool)?, wanted(right, Type::Bool)?];
            left = (Expr::And(Box::new(both)), Type::Bool);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Typed, String> {
        let left = self.unary()?;
        let known: [(&str, Wanted); 6] = [
            ("==", Ordering::is_eq),
            ("!=", Ordering::is_ne),
            ("<=", Ordering::is_le),
            (">=", Ordering::is_ge),
            ("<", Ordering::is_lt),
            (">", Ordering::is_gt),
        ];
        let Some((mark, how)) = known.into_iter().find(|(mark, _)| self.takes(mark)) else { return Ok(left) };
        let right = self.unary()?;
        let kind = match (left.1, right.1) {
            (Type::Int, kind) | (kind, Type::Int) => kind,
            (kind @ Type::Field(_, bits), Type::Bits(other)) if bits == other => kind,
            (Type::Bits(other), kind @ Type::Field(_, bits)) if bits == other => kind,
            (kind, other) if kind == other => kind,
            (left, right) => return Err(format!("{} is compared with {}", shown(left), shown(right))),
        };
        if matches!(kind, Type::Bool | Type::Field(..)) && !["==", "!="].contains(&mark) {
            return Err(format!("`{mark}` does not apply to {}", shown(kind)));
        }
        if kind == Type::Bool && (left.1, right.1) != (Type::Bool, Type::Bool) {
            return Err("a number is compared with a boolean".to_string());
        }
        Ok((Expr::Compare(how, Box::new([wanted(left, kind)?, wanted(right, kind)?])), Type::Bool))
    }

    fn unary(&mut self) -> Result<Typed, String> {
        if self.takes("!") {
            let inner = self.deeper(Parser::unary)?;
            return Ok((Expr::Not(Box::new(wanted(inner, Type::Bool)?)), Type::Bool));
        }
        if self.takes("-") {
            let inner = self.deeper(Parser::unary)?;
            return match inner {
                (inner, Type::Int) => Ok((Expr::Negate(Box::new(inner)), Type::Int)),
                (_, kind) => Err(format!("`-` applies to numbers without a width, not to {}", shown(kind))),
            };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Typed, String> {
        if self.takes("(") {
            let inner = self.deeper(Parser::implication)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.takes("::") {
            return match self.name() {
                Some("priority") if self.scope.has_priority => Ok((Expr::Priority, Type::Int)),
                Some(name) => Err(format!("there is no `::{name}`")),
                None => Err(format!("expected a name {}", self.place())),
            };
        }
        if let Some((Token::Int(number), ..)) = self.words.get(self.at) {
            self.at += 1;
            return Ok((Expr::Int(number.clone()), Type::Int));
        }
        match self.name() {
            Some("true") => Ok((Expr::Bool(true), Type::Bool)),
            Some("false") => Ok((Expr::Bool(false), Type::Bool)),
            Some(name) => {
                let Some(place) = self.scope.names.iter().position(|(known, _)| known == name) else {
                    return Err(format!("there is no `{name}`"));
                };
                let kind = self.scope.names.get(place).map_or(Type::Int, |(_, kind)| *kind);
                match self.takes("::") {
                    true => self.part(place, kind),
                    false => Ok((Expr::Name(place), kind)),
                }
            }
            None => Err(format!("expected a value {}", self.place())),
        }
    }

    fn name(&mut self) -> Option<&'w str> {
        let words = self.words;
        match words.get(self.at) {
            Some((Token::Name(name), ..)) => {
                self.at += 1;
                Some(name)
            }
            _ => None,
        }
    }

    /// `dst::mask`
    fn part(&mut self, place: usize, kind: Type) -> Result<Typed, String> {
        let name = self.name().unwrap_or_default();
        let (part, kind) = match (kind, name) {
            (Type::Bits(bits) | Type::Field(MatchType::Lpm, bits), "value")
            | (Type::Field(MatchType::Ternary | MatchType::Optional, bits), "value")
            | (Type::Field(MatchType::Range, bits), "low") => (0, Type::Bits(bits)),
            (Type::Field(MatchType::Lpm, _), "prefix_length") => (1, Type::Int),
            (Type::Field(MatchType::Ternary | MatchType::Optional, bits), "mask")
            | (Type::Field(MatchType::Range, bits), "high") => (1, Type::Bits(bits)),
            (kind, name) => return Err(format!("{} has no `::{name}`", shown(kind))),
        };
        Ok((Expr::Part(place, part), kind))
    }
}

fn wanted((found, kind): Typed, as_what: Type) -> Result<Expr, String> {
    match (kind, as_what) {
        (kind, as_what) if kind == as_what => Ok(found),
        (Type::Int, Type::Bits(_) | Type::Field(..)) | (Type::Bits(_), Type::Field(..)) => {
            Ok(Expr::As(as_what, Box::new(found)))
        }
        _ => Err(format!("found {}, expected {}", shown(kind), shown(as_what))),
    }
}

fn shown(kind: Type) -> String {
    match kind {
        Type::Bool => "a condition".to_string(),
        Type::Int => "a number".to_string(),
        Type::Bits(bits) => format!("bit<{bits}>"),
        Type::Field(kind, bits) => format!("{}<{bits}>", kind.as_str_name().to_ascii_lowercase()),
    }
}
