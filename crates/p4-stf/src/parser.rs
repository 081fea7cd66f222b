//! Lines to statements.

use crate::Number;
use crate::lexer::{Token, span, tokens};
use crate::statement::{
    ActionCall, Comparison, CounterCheck, CounterIndex, File, KeyValue, MatchValue, Named, NodePorts,
    Pattern, Spanned, Statement, Unit,
};
use base_diag::codes::run::STF_SYNTAX;
use base_diag::{Diagnostic, Span};
use control_writes::Rate;

const KEYWORDS: [&str; 28] = [
    "add",
    "check_counter",
    "counter_read",
    "counter_write",
    "expect",
    "mc_mgrp_create",
    "mc_mgrp_destroy",
    "mc_node_associate",
    "mc_node_create",
    "mc_node_destroy",
    "mc_node_dissociate",
    "mc_node_update",
    "mc_set_lag_membership",
    "meter_array_set_rates",
    "meter_get_rates",
    "meter_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "mirroring_get",
    "no_packet",
    "packet",
    "register_read",
    "register_reset",
    "register_write",
    "remove",
    "setdefault",
    "wait",
];

/// Reads a test; `start` is the number of the text's first byte in its source map. A line with a mistake gives
/// a diagnostic and no statement.
pub fn parse(text: &str, start: u32) -> (File, Vec<Diagnostic>) {
    let (text, start) = base_diag::without_mark(text, start);
    let mut file = File::default();
    let mut problems = vec![];
    let mut at = start;
    for line in text.split_inclusive('\n') {
        match statement(line, at) {
            Ok(None) => {}
            Ok(Some(kind)) => {
                let indent = line.len() - line.trim_start().len();
                let span = span(at + indent as u32, line.trim().len());
                file.statements.push(Spanned { kind, span });
            }
            Err(problem) => problems.push(problem),
        }
        at += line.len() as u32;
    }
    (file, problems)
}

fn statement(line: &str, at: u32) -> Result<Option<Statement>, Diagnostic> {
    let text = line.trim_start();
    let indent = (line.len() - text.len()) as u32;
    let length = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    let here = span(at + indent, length);
    let rest_at = here.hi;
    match word.to_ascii_lowercase().as_str() {
        "" if text.is_empty() || text.starts_with('#') => Ok(None),
        "" => Err(mistake("expected a statement", first(text, at + indent), "no statement begins like this")),
        "packet" => packet(rest, rest_at).map(Some),
        "expect" => expect(rest, rest_at).map(Some),
        keyword if KEYWORDS.contains(&keyword) => {
            let tokens = tokens(rest, rest_at).map_err(|(c, span)| {
                mistake("this character is not allowed here", span, format!("`{}`", c.escape_debug()))
            })?;
            let end = span(rest_at + rest.trim_end().len() as u32, 0);
            let mut cursor = Cursor { tokens, next: 0, end };
            let statement = cursor.statement(keyword)?;
            cursor.finish()?;
            Ok(Some(statement))
        }
        _ => {
            let problem = mistake("unknown statement", here, "a line begins with one of STF's words");
            Err(problem.suggest_or(word, KEYWORDS, |d| d.help("a comment begins with `#`")))
        }
    }
}

fn mistake(title: &str, span: Span, label: impl Into<String>) -> Diagnostic {
    Diagnostic::error(STF_SYNTAX, title).at(span, label)
}

/// The port and what follows it, with its place.
fn port(rest: &str, at: u32) -> Result<(u32, &str, u32), Diagnostic> {
    let text = rest.trim_start();
    let indent = rest.len() - text.len();
    let length = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let at = at + indent as u32;
    match text[..length].parse() {
        Ok(port) => Ok((port, &text[length..], at + length as u32)),
        Err(_) if length == 0 => Err(mistake("expected a port", first(text, at), "a number such as `1`")),
        Err(_) => Err(mistake("this port is too large", span(at, length), "at most 32 bits")),
    }
}

/// The place of the first character of `text`, which starts at `at`.
fn first(text: &str, at: u32) -> Span {
    span(at, text.chars().next().map_or(1, char::len_utf8))
}

fn packet(rest: &str, at: u32) -> Result<Statement, Diagnostic> {
    let (port, rest, at) = port(rest, at)?;
    let pattern = pattern(rest, at)?;
    let closed: Option<Vec<u8>> = pattern.nibbles.iter().copied().collect();
    match closed {
        Some(nibbles) if nibbles.len() % 2 == 0 && !pattern.exact => {
            let data = nibbles.chunks(2).map(|c| c[0] << 4 | c[1]).collect();
            Ok(Statement::Packet { port, data })
        }
        Some(nibbles) if nibbles.len() % 2 == 1 => {
            Err(mistake("half a byte too much", span(at, rest.trim_end().len()), "an odd number of digits"))
        }
        _ => Err(mistake(
            "the whole packet is known",
            span(at, rest.trim_end().len()),
            "`*` and `$` are for `expect`",
        )),
    }
}

fn expect(rest: &str, at: u32) -> Result<Statement, Diagnostic> {
    let (port, rest, at) = port(rest, at)?;
    let pattern = pattern(rest, at)?;
    let open = pattern.nibbles.is_empty() && !pattern.exact;
    Ok(Statement::Expect { port, data: (!open).then_some(pattern) })
}

/// Hexadecimal digits and `*`, blanks anywhere, at the end perhaps `$`.
fn pattern(text: &str, at: u32) -> Result<Pattern, Diagnostic> {
    let mut pattern = Pattern { nibbles: vec![], exact: false };
    for (offset, c) in text.char_indices() {
        match c {
            '$' => pattern.exact = true,
            c if c.is_whitespace() => {}
            '*' if !pattern.exact => pattern.nibbles.push(None),
            c if c.is_ascii_hexdigit() && !pattern.exact => {
                pattern.nibbles.push(c.to_digit(16).map(|d| d as u8));
            }
            c => {
                let here = span(at + offset as u32, c.len_utf8());
                let why =
                    if pattern.exact { "nothing may follow `$`" } else { "neither a digit nor `*` nor `$`" };
                return Err(mistake("packets are hexadecimal digits", here, why));
            }
        }
    }
    Ok(pattern)
}

struct Cursor {
    tokens: Vec<(Token, Span)>,
    next: usize,
    /// Behind the last token.
    end: Span,
}

impl Cursor {
    fn statement(&mut self, keyword: &str) -> Result<Statement, Diagnostic> {
        Ok(match keyword {
            "add" => self.add()?,
            "setdefault" => Statement::SetDefault { table: self.name()?, action: self.action_call()? },
            "wait" => Statement::Wait,
            "no_packet" => Statement::NoPacket,
            "remove" => self.remove()?,
            "check_counter" => Statement::CheckCounter(self.counter_check()?),
            "mirroring_add" => Statement::MirroringAdd(self.small()?, self.small()?),
            "mirroring_add_mc" => Statement::MirroringAddMc(self.small()?, self.small()?),
            "mirroring_delete" => Statement::MirroringDelete(self.small()?),
            "mirroring_get" => Statement::MirroringGet(self.small()?),
            "mc_mgrp_create" => Statement::GroupCreate(self.small()?),
            "mc_mgrp_destroy" => Statement::GroupDestroy(self.small()?),
            "mc_node_create" => Statement::NodeCreate(self.small()?, self.node_ports()?),
            "mc_node_update" => self.node_update()?,
            "mc_node_associate" => Statement::NodeAssociate(self.small()?, self.small()?),
            "mc_node_dissociate" => Statement::NodeDissociate(self.small()?, self.small()?),
            "mc_node_destroy" => Statement::NodeDestroy(self.small()?),
            "mc_set_lag_membership" => Statement::LagSet(self.small()?, self.some_ports()?),
            "counter_read" => Statement::CounterRead(self.name()?, self.large()?),
            "counter_write" => {
                Statement::CounterWrite(self.name()?, self.large()?, self.large()?, self.large()?)
            }
            "register_read" => Statement::RegisterRead(self.name()?, self.large()?),
            "register_write" => Statement::RegisterWrite(self.name()?, self.large()?, self.closed()?),
            "register_reset" => Statement::RegisterReset(self.name()?),
            "meter_get_rates" => Statement::MeterGetRates(self.name()?, self.large()?),
            "meter_set_rates" => Statement::MeterSetRates(self.name()?, self.large()?, self.rates()?),
            _ => Statement::MeterArraySetRates(self.name()?, self.rates()?),
        })
    }

    fn add(&mut self) -> Result<Statement, Diagnostic> {
        let table = self.name()?;
        let priority = match self.peek() {
            Some(Token::Word(word)) if word.bytes().all(|b| b.is_ascii_digit()) => Some(self.small()?),
            _ => None,
        };
        let mut keys = vec![];
        let name = loop {
            let name = self.name()?;
            if !self.take(":") {
                break name;
            }
            keys.push(KeyValue { key: name, value: self.match_value()? });
        };
        let args = self.args()?;
        let entry = if self.take("=") { Some(self.name()?) } else { None };
        Ok(Statement::Add { table, priority, keys, action: ActionCall { name, args }, entry })
    }

    fn match_value(&mut self) -> Result<MatchValue, Diagnostic> {
        let number = self.number()?;
        if self.take("/") {
            Ok(MatchValue::Prefix(number, self.small()?))
        } else {
            Ok(MatchValue::Number(number))
        }
    }

    fn action_call(&mut self) -> Result<ActionCall, Diagnostic> {
        let name = self.name()?;
        Ok(ActionCall { name, args: self.args()? })
    }

    fn args(&mut self) -> Result<Vec<(Named, Number)>, Diagnostic> {
        self.want("(")?;
        let mut args = vec![];
        if self.take(")") {
            return Ok(args);
        }
        loop {
            let name = self.name()?;
            self.want(":")?;
            args.push((name, self.closed()?));
            if !self.take(",") {
                break;
            }
        }
        self.want(")")?;
        Ok(args)
    }

    fn remove(&mut self) -> Result<Statement, Diagnostic> {
        let what = self.name()?;
        if what.text.eq_ignore_ascii_case("all") {
            return Ok(Statement::RemoveAll);
        }
        Err(mistake("only all entries can be removed", what.span, "write `remove all`"))
    }

    fn counter_check(&mut self) -> Result<CounterCheck, Diagnostic> {
        let name = self.name()?;
        self.want("(")?;
        let index = match self.peek() {
            Some(Token::Word(word)) if word.starts_with('$') => {
                let name = self.name()?;
                CounterIndex::Entry(Named { text: name.text[1..].to_string(), ..name })
            }
            Some(Token::Word(word)) if Number::parse(word).is_none() => CounterIndex::Entry(self.name()?),
            _ => CounterIndex::Number(self.large()?),
        };
        self.want(")")?;
        if self.peek().is_none() {
            return Ok(CounterCheck { name, index, check: None });
        }
        let unit = self.name()?;
        let kind = match unit.text.to_ascii_lowercase().as_str() {
            "packets" => Unit::Packets,
            "bytes" => Unit::Bytes,
            _ => return Err(mistake("expected a unit", unit.span, "`packets` or `bytes`")),
        };
        Ok(CounterCheck { name, index, check: Some((kind, self.comparison()?, self.large()?)) })
    }

    fn comparison(&mut self) -> Result<Comparison, Diagnostic> {
        let signs = [
            ("==", Comparison::Eq),
            ("!=", Comparison::Ne),
            ("<", Comparison::Lt),
            ("<=", Comparison::Le),
            (">", Comparison::Gt),
            (">=", Comparison::Ge),
        ];
        match signs.into_iter().find(|(sign, _)| self.take(sign)) {
            Some((_, comparison)) => Ok(comparison),
            None => Err(mistake("expected a comparison", self.here(), "`==`, `!=`, `<`, `<=`, `>` or `>=`")),
        }
    }

    fn node_update(&mut self) -> Result<Statement, Diagnostic> {
        let node = self.small()?;
        if self.peek().is_none() {
            return Err(mistake("expected ports", self.here(), "or `|` alone, for a node without ports"));
        }
        Ok(Statement::NodeUpdate(node, self.node_ports()?))
    }

    /// `PORT... [| LAG...]`; there may be none at all.
    fn node_ports(&mut self) -> Result<NodePorts, Diagnostic> {
        let ports = self.set("port")?;
        let lags = if self.take("|") { self.set("LAG")? } else { vec![] };
        Ok(NodePorts { ports, lags })
    }

    fn some_ports(&mut self) -> Result<Vec<u32>, Diagnostic> {
        let here = self.here();
        let ports = self.set("port")?;
        if ports.is_empty() { Err(mistake("expected ports", here, "such as `1 2`")) } else { Ok(ports) }
    }

    /// Numbers up to the end or a sign, each once.
    fn set(&mut self, kind: &str) -> Result<Vec<u32>, Diagnostic> {
        let mut numbers = vec![];
        while let Some(Token::Word(_) | Token::Quoted(_)) = self.peek() {
            let here = self.here();
            let number = self.small()?;
            if numbers.contains(&number) {
                return Err(mistake(&format!("a {kind} occurs twice"), here, "a node has each once"));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn rates(&mut self) -> Result<Vec<Rate>, Diagnostic> {
        let mut rates = vec![];
        while self.peek().is_some() {
            let per_gigamicrosecond = self.rate()?;
            self.want(":")?;
            rates.push(Rate { per_gigamicrosecond: per_gigamicrosecond.into(), burst: self.large()? });
        }
        if rates.is_empty() {
            return Err(mistake("expected a rate", self.here(), "such as `0.5:100`"));
        }
        Ok(rates)
    }

    /// `0.000005`: a decimal number, of which nine places after the point count.
    fn rate(&mut self) -> Result<u64, Diagnostic> {
        let here = self.here();
        let whole = self.large()?;
        let mut nano = 0;
        if self.take(".") {
            let Some((Token::Word(digits), _)) = self.tokens.get(self.next) else {
                return Err(mistake("expected digits", self.here(), "after the point"));
            };
            if !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(mistake("expected digits", self.here(), "after the point"));
            }
            if digits.trim_end_matches('0').len() > 9 {
                return Err(mistake("this rate has too many places", self.here(), "nine places count"));
            }
            nano = format!("{digits:0<9}")[..9].parse().unwrap_or(0);
            self.next += 1;
        }
        let rate = whole.checked_mul(1_000_000_000).and_then(|n| n.checked_add(nano));
        rate.ok_or_else(|| mistake("this rate is too large", here, "at most 10^9 a microsecond"))
    }

    /// Words joined by dots, each perhaps with an index: `ingress.t`, `hdr[3].f`, `"a name"`.
    fn name(&mut self) -> Result<Named, Diagnostic> {
        let mut name = match self.tokens.get(self.next) {
            Some((Token::Word(text) | Token::Quoted(text), span)) => {
                Named { text: text.clone(), span: *span }
            }
            _ => {
                return Err(mistake(
                    "expected a name",
                    self.here(),
                    "names are letters, digits, `_`, `$`, `.`",
                ));
            }
        };
        self.next += 1;
        loop {
            if self.take("[") {
                let index = self.large()?;
                name.text.push_str(&format!("[{index}]"));
                name.span = name.span.to(self.here());
                self.want("]")?;
            } else if self.take(".") {
                let Some((Token::Word(text) | Token::Quoted(text), span)) = self.tokens.get(self.next) else {
                    return Err(mistake("expected a name", self.here(), "after the dot"));
                };
                name.text.push('.');
                name.text.push_str(text);
                name.span = name.span.to(*span);
                self.next += 1;
            } else {
                return Ok(name);
            }
        }
    }

    fn number(&mut self) -> Result<Number, Diagnostic> {
        let parsed = match self.peek() {
            Some(Token::Word(word)) => Number::parse(word),
            _ => None,
        };
        let here = self.here();
        self.next += 1;
        parsed.ok_or_else(|| mistake("expected a number", here, "such as `12`, `0x1f`, `0b1*0`"))
    }

    /// A number without open digits.
    fn closed(&mut self) -> Result<Number, Diagnostic> {
        let here = self.here();
        let number = self.number()?;
        if number.has_wildcards() {
            Err(mistake("this number must be closed", here, "`*` is for keys"))
        } else {
            Ok(number)
        }
    }

    fn large(&mut self) -> Result<u64, Diagnostic> {
        let here = self.here();
        let number = self.closed()?;
        number.to_u64().ok_or_else(|| mistake("this number is too large", here, "at most 64 bits"))
    }

    fn small(&mut self) -> Result<u32, Diagnostic> {
        let here = self.here();
        let number = self.large()?;
        u32::try_from(number).map_err(|_| mistake("this number is too large", here, "at most 32 bits"))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    fn here(&self) -> Span {
        self.tokens.get(self.next).map_or(self.end, |(_, span)| *span)
    }

    /// Takes a sign if it is next.
    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.next += usize::from(found);
        found
    }

    fn want(&mut self, sign: &str) -> Result<(), Diagnostic> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(mistake(&format!("expected `{sign}`"), self.here(), "here"))
        }
    }

    fn finish(&self) -> Result<(), Diagnostic> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(mistake(
                "the line should end here",
                self.here(),
                "nothing more belongs to this statement",
            )),
        }
    }
}
