//! Annotations: structured ones are checked, unstructured ones read as values where they are values (P4-16 §20).

use base_diag::Diagnostic;
use num_bigint::BigInt;
use p4_syntax::ast::{self, AnnotationToken, AnnotationTokenKind};
use rustc_hash::FxHashMap;

use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{Annotation, AnnotationBody, Annotations, Expr, ExprKind, Type};

/// Annotations of P4Runtime's that are pairs, be they written `@pkginfo[...]` or `@pkginfo(...)`.
const PAIRS: [&str; 2] = ["pkginfo", "platform_property"];

impl Checker {
    pub(crate) fn annotations(&mut self, list: &[ast::Annotation]) -> Annotations {
        if list.is_empty() {
            return Annotations::default();
        }
        let structured = |b: &ast::AnnotationBody| {
            matches!(b, ast::AnnotationBody::List(_) | ast::AnnotationBody::Record(_))
        };
        let mut first: FxHashMap<&str, &ast::Annotation> = FxHashMap::default();
        for a in list {
            let before = *first.entry(a.name.text.as_str()).or_insert(a);
            if !std::ptr::eq(a, before) && (structured(&a.body) || structured(&before.body)) {
                self.report(
                    Diagnostic::error(codes::BAD_ANNOTATION, format!("`@{}` occurs twice", a.name.text))
                        .at(a.name.span, "a structured annotation may occur only once")
                        .at(before.name.span, "first here"),
                );
            }
        }
        let annotations: Vec<Annotation> = list.iter().map(|a| self.annotation(a)).collect();
        for a in &annotations {
            self.check_known_annotation(a);
        }
        Annotations::new(annotations)
    }

    /// Checks the annotations whose meaning the language or P4Runtime defines.
    fn check_known_annotation(&mut self, a: &Annotation) {
        let wrong = match a.name.as_str() {
            "name" | "deprecated" | "frame_extern" | "value_extern" => a.string().is_none(),
            "pkginfo" => matches!(a.body, AnnotationBody::Empty),
            "match" => match &a.body {
                AnnotationBody::Tokens(words) if words.len() == 1 => {
                    !self.program.match_kinds.iter().any(|(_, m)| m.name.text == words[0])
                }
                _ => true,
            },
            "p4runtime_translation" => match &a.body {
                AnnotationBody::Tokens(words) => {
                    let ty = words.get(2).map_or("", |w| w.as_str());
                    words.get(1).is_none_or(|w| w != ",") || !(ty == "string" || ty == "bit")
                }
                AnnotationBody::Values(values) => values.len() != 2,
                _ => true,
            },
            _ => false,
        };
        if wrong {
            let takes = match a.name.as_str() {
                "pkginfo" => "pairs `name = value`",
                "match" => "a match kind",
                "p4runtime_translation" => "a URI and `string`, `bit<W>` or a width",
                _ => "one string",
            };
            self.error(codes::BAD_ANNOTATION, a.span, format!("`@{}` takes {takes}", a.name), "");
        }
    }

    fn annotation(&mut self, a: &ast::Annotation) -> Annotation {
        let body = match &a.body {
            ast::AnnotationBody::Empty => AnnotationBody::Empty,
            ast::AnnotationBody::Tokens(_) if PAIRS.contains(&a.name.text.as_str()) => match a.pairs() {
                Ok(pairs) => self.pairs(&pairs),
                Err(problem) => {
                    self.report(problem);
                    AnnotationBody::Empty
                }
            },
            ast::AnnotationBody::Tokens(tokens) if a.pragma && !is_string(tokens) => raw(tokens),
            ast::AnnotationBody::Tokens(tokens) => match self.token_values(tokens) {
                Some(values) => AnnotationBody::Values(values),
                None => raw(tokens),
            },
            ast::AnnotationBody::List(items) => {
                AnnotationBody::List(items.iter().filter_map(|i| self.structured(i)).collect())
            }
            ast::AnnotationBody::Record(pairs) => self.pairs(pairs),
        };
        Annotation { name: a.name.text.clone(), body, span: a.span }
    }

    fn pairs(&mut self, pairs: &[ast::NamedExpr]) -> AnnotationBody {
        let mut out: Vec<(smol_str::SmolStr, Expr)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if out.iter().any(|(key, _)| *key == pair.name.text) {
                let title = format!("`{}` is given twice", pair.name.text);
                self.error(codes::BAD_ANNOTATION, pair.name.span, title, "");
                continue;
            }
            if let Some(value) = self.structured(&pair.value) {
                out.push((pair.name.text.clone(), value));
            }
        }
        AnnotationBody::Pairs(out)
    }

    /// A value of a structured annotation: a known number, string or truth value.
    fn structured(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.expr(e, None);
        if value.ty.is_error() {
            return None;
        }
        let fits = matches!(value.kind, ExprKind::Int(_) | ExprKind::String(_) | ExprKind::Bool(_));
        if !fits {
            let title = "an annotation's value is a constant number, string or `bool`";
            self.error(codes::BAD_ANNOTATION, e.span, title, "");
        }
        fits.then_some(value)
    }

    /// The values that a comma-separated list of tokens stands for; `None` if some item is no value.
    fn token_values(&mut self, tokens: &[AnnotationToken]) -> Option<Vec<Expr>> {
        let is_comma = |t: &AnnotationToken| t.kind == AnnotationTokenKind::Symbol && t.text == ",";
        tokens.split(is_comma).map(|item| self.token_value(item)).collect()
    }

    fn token_value(&mut self, item: &[AnnotationToken]) -> Option<Expr> {
        match item {
            [t] if t.kind == AnnotationTokenKind::String => {
                Some(Expr { kind: ExprKind::String(t.text.clone()), ty: Type::String, span: t.span })
            }
            [t] if t.kind == AnnotationTokenKind::Int => {
                let value = number(&t.text)?;
                Some(Expr { kind: ExprKind::Int(value), ty: Type::Int, span: t.span })
            }
            [t] if t.kind == AnnotationTokenKind::Word && (t.text == "true" || t.text == "false") => {
                Some(Expr { kind: ExprKind::Bool(t.text == "true"), ty: Type::Bool, span: t.span })
            }
            [t] if t.kind == AnnotationTokenKind::Word => {
                let Def::Const(_) = self.scopes.lookup(&t.text)?.def else { return None };
                let value = self.expr(&path(t), None);
                crate::expr::is_literal(&value.kind).then_some(value)
            }
            [t, dot, member] if dot.text == "." && t.kind == AnnotationTokenKind::Word => {
                let Def::Enum(id) = self.scopes.lookup(&t.text)?.def else { return None };
                self.program.enums[id].members.iter().find(|m| m.name.text == member.text)?;
                let name = ast::Name { text: member.text.clone(), span: member.span };
                let span = t.span.to(member.span);
                let e = ast::Expr { kind: ast::ExprKind::Member { base: Box::new(path(t)), name }, span };
                let value = self.expr(&e, None);
                crate::expr::is_literal(&value.kind).then_some(value)
            }
            [first, rest @ ..] if first.kind == AnnotationTokenKind::String => {
                let mut text = first.text.to_string();
                let mut span = first.span;
                for pair in rest.chunks(2) {
                    let [plus, next] = pair else { return None };
                    if plus.text != "++" || next.kind != AnnotationTokenKind::String {
                        return None;
                    }
                    text.push_str(&next.text);
                    span = span.to(next.span);
                }
                Some(Expr { kind: ExprKind::String(text.into()), ty: Type::String, span })
            }
            _ => None,
        }
    }
}

/// True for one string alone: the value of `@pragma name "x"`.
fn is_string(tokens: &[AnnotationToken]) -> bool {
    matches!(tokens, [t] if t.kind == AnnotationTokenKind::String)
}

fn path(t: &AnnotationToken) -> ast::Expr {
    let name = ast::Name { text: t.text.clone(), span: t.span };
    ast::Expr { kind: ast::ExprKind::Path(ast::Path { absolute: false, name, span: t.span }), span: t.span }
}

fn raw(tokens: &[AnnotationToken]) -> AnnotationBody {
    if tokens.is_empty() {
        return AnnotationBody::Empty;
    }
    AnnotationBody::Tokens(tokens.iter().map(spelled).collect())
}

fn spelled(token: &AnnotationToken) -> smol_str::SmolStr {
    if token.kind != AnnotationTokenKind::String {
        return token.text.clone();
    }
    format!("\"{}\"", token.text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")).into()
}

/// A number without width prefix.
fn number(text: &str) -> Option<BigInt> {
    let text = text.replace('_', "").to_ascii_lowercase();
    let (digits, radix) = match text.get(..2) {
        Some("0x") => (&text[2..], 16),
        Some("0b") => (&text[2..], 2),
        Some("0o") => (&text[2..], 8),
        Some("0d") => (&text[2..], 10),
        _ => (&text[..], 10),
    };
    BigInt::parse_bytes(digits.as_bytes(), radix)
}
