//! The text form of rules.
//!
//! ```text
//! path   Latency [s] is latency = 0s;        # a packet's; 0 where it starts
//! path   Rate [bit/s] is rate = 2Gbit/s;
//! once   Power [W];                          # charged once for each device in use
//! device LUTs [%] <= 100%;                   # adds up on each device
//!
//! rule "fast" header_compress if FPGA, Rate < 9.5Gbit/s
//!     then Latency += 6.44us, Rate *= 0.984, once Power += 30W, <LUTs> += 24.4%;
//! ```

use crate::{Bound, Change, Compare, Effect, Factor, ROLES, Rule, Scope, Signature, Unit, VarId, Variable};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Diagnostics, Span};

/// Reads declarations into `signature`, and rules. `base` is the number of the text's first byte in the
/// [`SourceMap`](base_diag::SourceMap). Where a statement is wrong it is left out; the rest is read.
pub fn read_rules(text: &str, base: u32, signature: &mut Signature) -> (Vec<Rule>, Diagnostics) {
    let (text, base) = base_diag::without_mark(text, base);
    let mut reader = Reader { tokens: scan(text, base), at: 0, signature, found: Diagnostics::new() };
    let mut rules = vec![];
    while reader.peek() != Kind::End {
        match reader.statement() {
            Ok(rule) => rules.extend(rule),
            Err(diagnostic) => {
                reader.found.push(diagnostic);
                reader.skip_statement();
            }
        }
    }
    (rules, reader.found)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind<'t> {
    Word(&'t str),
    Quoted(&'t str),
    /// A number with a possible unit.
    Number(&'t str),
    Sign(&'t str),
    End,
}

const SIGNS: [&str; 14] = ["<=", ">=", "+=", "*=", "<", ">", "=", ",", ";", "[", "]", "%", "/", ":"];

fn scan(text: &str, base: u32) -> Vec<(Kind<'_>, Span)> {
    let mut tokens = vec![];
    let mut at = 0;
    let span = |from: usize, to: usize| {
        let number = |offset: usize| base.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
        Span { lo: number(from), hi: number(to), ..Span::NONE }
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let run = |from: usize, keep: &dyn Fn(char) -> bool| {
        text[from..].find(|c| !keep(c)).map_or(text.len(), |end| from + end)
    };
    while let Some(c) = text[at..].chars().next() {
        let from = at;
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if c == '#' {
            at = run(at, &|c| c != '\n');
            continue;
        }
        let kind = if c == '"' {
            let end = run(at + 1, &|c| c != '"' && c != '\n');
            at = end + usize::from(text[end..].starts_with('"'));
            Kind::Quoted(&text[from + 1..end])
        } else if c.is_ascii_digit() || (c == '-' && text[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            at = run(at + 1, &|c| is_word(c) || c == '/' || c == '%');
            // `1e-6`: the sign belongs to the exponent.
            let is_exponent = text[..at].ends_with(['e', 'E'])
                && text[at..].starts_with(['-', '+'])
                && text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
            if is_exponent {
                at = run(at + 1, &|c| is_word(c) || c == '/' || c == '%');
            }
            let blank = run(at, &|c| c == ' ');
            let unit = run(blank, &|c| c.is_alphabetic() || c == '/' || c == '%');
            let is_unit = Unit::of_word(&text[blank..unit]).is_some_and(|unit| unit != Unit::Plain);
            if is_unit {
                at = unit;
            }
            Kind::Number(&text[from..at])
        } else if is_word(c) {
            at = run(at, &|c| is_word(c) || c == '-');
            Kind::Word(&text[from..at])
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| text[at..].starts_with(sign)) {
            at += sign.len();
            Kind::Sign(sign)
        } else {
            at += c.len_utf8();
            Kind::Sign(&text[from..at])
        };
        tokens.push((kind, span(from, at)));
    }
    tokens.push((Kind::End, span(at, at)));
    tokens
}

struct Reader<'t> {
    tokens: Vec<(Kind<'t>, Span)>,
    at: usize,
    signature: &'t mut Signature,
    found: Diagnostics,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Kind<'t> {
        self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> (Kind<'t>, Span) {
        let token = self.tokens[self.at];
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.peek() == Kind::Sign(sign) || self.peek() == Kind::Word(sign);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Diagnostic> {
        match self.accept(sign) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Diagnostic {
        let found = match self.peek() {
            Kind::Word(text) | Kind::Number(text) | Kind::Sign(text) => {
                format!("`{}`", text.escape_debug())
            }
            Kind::Quoted(_) => "a quoted name".to_string(),
            Kind::End => "the end".to_string(),
        };
        Diagnostic::error(codes::RULE_SYNTAX, format!("expected {wanted}, found {found}"))
            .at(self.span(), format!("{wanted} is expected here"))
    }

    fn skip_statement(&mut self) {
        while !matches!(self.peek(), Kind::End | Kind::Sign(";")) {
            self.next();
        }
        self.accept(";");
    }

    fn word(&mut self, what: &str) -> Result<(&'t str, Span), Diagnostic> {
        match self.peek() {
            Kind::Word(word) => Ok((word, self.next().1)),
            _ => Err(self.unexpected(what)),
        }
    }

    fn statement(&mut self) -> Result<Option<Rule>, Diagnostic> {
        let start = self.span();
        let (word, _) = self.word("`rule`, `path`, `once` or `device`")?;
        let result = match word {
            "rule" => self.rule(start).map(Some),
            "path" => self.declaration(Scope::Path).map(|()| None),
            "once" => self.declaration(Scope::Once).map(|()| None),
            "device" => self.declaration(Scope::Device { limit: None }).map(|()| None),
            _ => {
                let title = format!("`{}` does not start a statement", word.escape_debug());
                let known = ["rule", "path", "once", "device"];
                let diagnostic = Diagnostic::error(codes::RULE_SYNTAX, title).at(start, "not known");
                return Err(diagnostic.suggest_or(word, known, |d| {
                    d.help("statements start with `rule`, `path`, `once` or `device`")
                }));
            }
        }?;
        self.expect(";")?;
        Ok(result)
    }

    /// `NAME [UNIT] is ROLE = QUANTITY` or `<= QUANTITY`.
    fn declaration(&mut self, mut scope: Scope) -> Result<(), Diagnostic> {
        let (name, span) = self.word("a variable's name")?;
        let mut unit = Unit::Plain;
        if self.accept("[") {
            let from = self.span();
            let mut word = String::new();
            while let Kind::Word(part) | Kind::Sign(part @ ("%" | "/")) = self.peek() {
                word.push_str(part);
                self.next();
            }
            unit = Unit::of_word(&word).ok_or_else(|| {
                Diagnostic::error(codes::QUANTITY, format!("`{}` is not a unit", word.escape_debug()))
                    .at(from, "not known")
                    .help("units are s, bit/s, B, bit, W, % or none")
            })?;
            self.expect("]")?;
        }
        let mut variable = Variable { name: name.into(), unit, scope, role: None, initial: 0 };
        if scope == Scope::Path && self.accept("is") {
            let (word, at) = self.word("a role")?;
            let role = ROLES.iter().find(|(known, _)| *known == word);
            variable.role = Some(role.map(|(_, role)| *role).ok_or_else(|| {
                let names = ROLES.map(|(name, _)| name);
                Diagnostic::error(codes::UNKNOWN, format!("`{}` is not a role", word.escape_debug()))
                    .at(at, "not known")
                    .help(format!("roles are {}", names.join(", ")))
            })?);
        }
        if scope == Scope::Path && self.accept("=") {
            variable.initial = self.quantity(unit)?;
        }
        if matches!(scope, Scope::Device { .. }) && self.accept("<=") {
            scope = Scope::Device { limit: Some(self.quantity(unit)?) };
            variable.scope = scope;
        }
        let role = variable.role.and_then(|role| self.signature.role(role));
        if self.signature.find(name).is_some() || role.is_some() {
            let title = format!("`{name}` is declared twice");
            let diagnostic = Diagnostic::error(codes::TWICE, title).at(span, "again here");
            return Err(match role {
                Some(other) => diagnostic.note(format!("`{}` has its role", self.signature.get(other).name)),
                None => diagnostic,
            });
        }
        if self.signature.variables.len() >= MAX_VARIABLES {
            return Err(Diagnostic::error(codes::TOO_LARGE, "too many variables")
                .at(span, format!("there are {MAX_VARIABLES} already")));
        }
        self.signature.add(variable);
        Ok(())
    }

    /// `"name" HEAD if ... then ...`
    fn rule(&mut self, start: Span) -> Result<Rule, Diagnostic> {
        let name = match self.peek() {
            Kind::Quoted(name) => {
                self.next();
                Some(name)
            }
            _ => None,
        };
        let (head, _) = self.word("what the rule proves")?;
        let mut rule = Rule {
            name: name.unwrap_or(head).into(),
            head: head.into(),
            needs: vec![],
            bounds: vec![],
            effects: vec![],
            span: start,
        };
        if self.accept("if") {
            loop {
                self.condition(&mut rule)?;
                if !self.accept(",") {
                    break;
                }
            }
        }
        if self.accept("then") {
            loop {
                let effect = self.effect()?;
                rule.effects.push(effect);
                if !self.accept(",") {
                    break;
                }
            }
        }
        rule.span = start.to(self.span());
        Ok(rule)
    }

    fn condition(&mut self, rule: &mut Rule) -> Result<(), Diagnostic> {
        let (name, span) = self.word("a condition")?;
        const SIGNS: [(&str, Compare); 5] = [
            ("<=", Compare::AtMost),
            (">=", Compare::AtLeast),
            ("<", Compare::Less),
            (">", Compare::Greater),
            ("=", Compare::Equal),
        ];
        let Some((sign, compare)) = SIGNS.into_iter().find(|(sign, _)| self.peek() == Kind::Sign(sign))
        else {
            rule.needs.push(name.into());
            return Ok(());
        };
        self.accept(sign);
        let var = self.variable(name, span)?;
        if self.signature.get(var).scope != Scope::Path {
            return Err(Diagnostic::error(
                codes::RULE_SYNTAX,
                format!("`{name}` cannot be bounded in a rule"),
            )
            .at(span, "not a packet's variable")
            .help(format!("bound it where it is declared: `device {name} <= ...;`")));
        }
        let value = self.quantity(self.signature.get(var).unit)?;
        rule.bounds.push(Bound { var, compare, value });
        Ok(())
    }

    fn effect(&mut self) -> Result<Effect, Diagnostic> {
        let is_once = self.accept("once");
        let is_device = !is_once && self.accept("<");
        let (name, span) = self.word("a variable")?;
        if is_device {
            self.expect(">")?;
        }
        let var = self.variable(name, span)?;
        let scope = self.signature.get(var).scope;
        let wanted = match scope {
            Scope::Path => (false, false, name.to_string()),
            Scope::Once => (true, false, format!("once {name}")),
            Scope::Device { .. } => (false, true, format!("<{name}>")),
        };
        if (is_once, is_device) != (wanted.0, wanted.1) {
            return Err(Diagnostic::error(codes::RULE_SYNTAX, format!("`{name}` has another kind"))
                .at(span, "declared with another kind")
                .help(format!("write `{}`", wanted.2)));
        }
        let unit = self.signature.get(var).unit;
        let change = if self.accept("+=") {
            Change::Add(self.quantity(unit)?)
        } else if scope == Scope::Path && self.accept("=") {
            Change::Assign(self.quantity(unit)?)
        } else if scope == Scope::Path && self.accept("*=") {
            let span = self.span();
            let Kind::Number(text) = self.peek() else { return Err(self.unexpected("a number")) };
            self.next();
            let factor = Factor::parse(text);
            Change::Multiply(factor.map_err(|why| quantity_error(span, why))?)
        } else if scope == Scope::Path {
            return Err(self.unexpected("`=`, `+=` or `*=`"));
        } else {
            return Err(self.unexpected("`+=`"));
        };
        if let (Change::Add(value), false) = (change, scope == Scope::Path)
            && value < 0
        {
            return Err(quantity_error(span, format!("`{name}` can only grow")));
        }
        Ok(Effect { var, change })
    }

    fn variable(&self, name: &str, span: Span) -> Result<VarId, Diagnostic> {
        self.signature.find(name).ok_or_else(|| {
            let title = format!("no variable is called `{}`", name.escape_debug());
            let diagnostic = Diagnostic::error(codes::UNKNOWN, title).at(span, "not declared");
            diagnostic.suggest_or(name, self.signature.variables.iter().map(|v| v.name.as_str()), |d| {
                d.help(format!("declare it: `path {name};`"))
            })
        })
    }

    fn quantity(&mut self, unit: Unit) -> Result<i64, Diagnostic> {
        let span = self.span();
        let Kind::Number(text) = self.peek() else { return Err(self.unexpected("a number")) };
        self.next();
        unit.parse(text).map_err(|why| quantity_error(span, why))
    }
}

fn quantity_error(span: Span, why: String) -> Diagnostic {
    Diagnostic::error(codes::QUANTITY, "not a quantity of this kind").at(span, why)
}

/// Maximum number of declared variables.
pub const MAX_VARIABLES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print_rules;
    use expect_test::{Expect, expect};

    const DECLARED: &str = "path Latency [s] is latency = 0s;\npath Rate [bit/s] is rate = 2Gbit/s;\n\
        once Power [W];\ndevice LUTs [%] <= 100%;\n";

    fn titles(text: &str, expected: Expect) {
        let mut signature = Signature::default();
        let (_, found) = read_rules(&format!("{DECLARED}{text}"), 1, &mut signature);
        let line =
            |d: &Diagnostic| format!("{}: {}; {} {}\n", d.code, d.title, d.labels[0].text, d.help.join(" "));
        expected.assert_eq(&found.iter().map(line).collect::<String>());
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let text = format!(
            "{DECLARED}rule \"a b\" cache if FPGA, Rate < 9.5Gbit/s, Rate >= 1kbit/s then Latency += 6.44us, \
             Rate *= 0.984, once Power += 30W, <LUTs> += 24.4%;\nrule drop if CPU;\nrule \"x\" y then Latency = 1e-6 s;"
        );
        let mut signature = Signature::default();
        let (rules, found) = read_rules(&text, 1, &mut signature);
        assert!(found.is_empty(), "{found:?}");
        let printed = print_rules(&signature, &rules);
        expect![[r#"
            path Latency [s] is latency = 0s;
            path Rate [bit/s] is rate = 2Gbit/s;
            once Power [W];
            device LUTs [%] <= 100%;
            rule "a b" cache if FPGA, Rate < 9.5Gbit/s, Rate >= 1kbit/s then Latency += 6.44us, Rate *= 0.984, once Power += 30W, <LUTs> += 24.4%;
            rule "drop" drop if CPU;
            rule "x" y then Latency = 1us;
        "#]]
        .assert_eq(&printed);
        let mut again = Signature::default();
        let (rules, found) = read_rules(&printed, 1, &mut again);
        assert!(found.is_empty());
        assert_eq!(again, signature);
        assert_eq!(print_rules(&again, &rules), printed);
    }

    #[test]
    fn mistakes_have_a_place_and_a_help() {
        titles(
            "rule a if FPGA then once Powre += 3W;\nrule b then Latency += 3W;\nrule c then Power += 3W;\n\
             rle d;\nrule e if LUTs < 3;\npath Latency;\nonce Power2 [kg];\nrule f then <LUTs> *= 3",
            expect![[r#"
                P4R0802: no variable is called `Powre`; not declared did you mean `Power`?
                P4R0803: not a quantity of this kind; `W` is not a unit here: use s, ms, us, ns, ps 
                P4R0801: `Power` has another kind; declared with another kind write `once Power`
                P4R0801: `rle` does not start a statement; not known did you mean `rule`?
                P4R0801: `LUTs` cannot be bounded in a rule; not a packet's variable bound it where it is declared: `device LUTs <= ...;`
                P4R0805: `Latency` is declared twice; again here 
                P4R0803: `kg` is not a unit; not known units are s, bit/s, B, bit, W, % or none
                P4R0801: expected `+=`, found `*=`; `+=` is expected here 
            "#]],
        );
    }
}
