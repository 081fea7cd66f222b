//! Source text to tokens, one file at a time, for the preprocessor.
//!
//! Lexing never fails: text that is not a token becomes `Unknown`, and unterminated tokens are recorded in `errors`.
//! Numbers are taken as whole words, as in C's preprocessor, so `8w##5` can be pasted; the parser looks into them.
//!
//! A backslash at the end of a line joins it to the next one before tokens are made (ISO C 5.1.1.2, phase 2): in names,
//! numbers, strings, operators and comment marks. A token with such a splice in it has the flag `SPLICED`, and its
//! text is [`despliced`] of its span. Blanks between the backslash and the newline are allowed, as in GCC.

use std::sync::Arc;

use base_diag::Span;

use crate::token::{Token, TokenKind};

/// A text and a position in it.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    text: Arc<str>,
    cursor: Cursor,
    pub errors: Vec<LexError>,
}

/// Something that never ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LexError {
    Comment(Span),
    String(Span),
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    pos: usize,
    /// The number of the text's first byte in the source map.
    base: u32,
    /// Spaces, newlines and comments before the next token.
    pending: u8,
    in_directive: bool,
    /// The token being read has a splice in it.
    spliced: bool,
    error: Option<LexError>,
}

impl Lexer {
    pub fn new(text: Arc<str>, base: u32) -> Lexer {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let cursor = Cursor {
            pos,
            base,
            pending: Token::LINE_START,
            in_directive: false,
            spliced: false,
            error: None,
        };
        Lexer { text, cursor, errors: vec![] }
    }

    /// The next token; `Eof` again and again at the end.
    pub fn next(&mut self) -> Token {
        let token = self.cursor.next(self.text.as_bytes());
        self.errors.extend(self.cursor.error.take());
        token
    }

    /// The next token if it stands on the same line, comments that run over lines counting as one. Strings
    /// end with their line.
    pub fn next_on_line(&mut self) -> Option<Token> {
        let mut cursor = Cursor { in_directive: true, ..self.cursor };
        let token = cursor.next(self.text.as_bytes());
        if token.kind == TokenKind::Eof || token.has(Token::LINE_START) {
            return None;
        }
        self.errors.extend(cursor.error.take());
        self.cursor = Cursor { in_directive: false, ..cursor };
        Some(token)
    }

    /// Returns to the start of `token`, keeping earlier lookahead.
    pub fn unread(&mut self, token: Token) {
        self.cursor.pos = (token.span.lo - self.cursor.base) as usize;
        self.cursor.pending = token.flags & !Token::SPLICED;
    }

    /// The number of the byte that is read next.
    pub fn here(&self) -> u32 {
        self.cursor.here()
    }

    /// The rest of the text.
    pub fn rest(&self) -> &str {
        self.text.get(self.cursor.pos..).unwrap_or("")
    }

    /// Steps over `n` bytes of [`rest`](Lexer::rest).
    pub fn skip(&mut self, n: usize) {
        self.cursor.pos += n;
    }

    /// The text of a token of this file.
    pub fn text(&self, span: Span) -> Option<&str> {
        let lo = span.lo.checked_sub(self.cursor.base)? as usize;
        self.text.get(lo..(span.hi - self.cursor.base) as usize)
    }

    /// Steps over untaken lines to the next `#` that begins one, and past it: its token, unless the text ends.
    pub fn skip_to_directive(&mut self) -> Option<Token> {
        let found = self.cursor.skip_to_directive(self.text.as_bytes());
        self.errors.extend(self.cursor.error.take());
        found.then(|| Token::new(TokenKind::Hash, Token::LINE_START, self.here() - 1, self.here()))
    }
}

impl Cursor {
    fn here(&self) -> u32 {
        self.base + self.pos as u32
    }

    fn next(&mut self, bytes: &[u8]) -> Token {
        let flags = self.skip_blanks(bytes);
        let lo = self.here();
        self.spliced = false;
        let kind = match bytes.get(self.pos) {
            None => TokenKind::Eof,
            Some(b) if is_word_start(*b) => self.word(bytes, TokenKind::Ident),
            Some(b'0'..=b'9') => self.word(bytes, TokenKind::Int),
            Some(b'"') => self.string(bytes),
            Some(_) => self.symbol(bytes),
        };
        let flags = if self.spliced { flags | Token::SPLICED } else { flags };
        Token::new(kind, flags, lo, self.here())
    }

    fn skip_to_directive(&mut self, bytes: &[u8]) -> bool {
        loop {
            let flags = self.skip_blanks(bytes);
            match bytes.get(self.pos) {
                None => return false,
                Some(b'#') if flags & Token::LINE_START != 0 => {
                    self.pos += 1;
                    return true;
                }
                Some(b'"') => self.pos = string_end(bytes, self.pos, true).unwrap_or(self.pos + 1),
                Some(_) => self.pos += 1,
            }
        }
    }

    /// Steps over white space, comments and continued line ends, and says what there was. A continued line end
    /// is not white space: `F\` + newline + `(x)` is `F(x)`.
    fn skip_blanks(&mut self, bytes: &[u8]) -> u8 {
        let mut flags = std::mem::take(&mut self.pending);
        loop {
            match bytes.get(self.pos) {
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.pos += 1,
                Some(b'\n') => {
                    self.pos += 1;
                    flags |= Token::LINE_START;
                }
                Some(b'/') => {
                    let second = skip_splices(bytes, self.pos + 1);
                    match bytes.get(second) {
                        Some(b'/') => self.pos = line_end(bytes, second + 1),
                        Some(b'*') => flags |= self.block_comment(bytes, second + 1),
                        _ => return flags,
                    }
                }
                Some(b'\\') => match continuation(bytes, self.pos) {
                    Some(next) => {
                        self.pos = next;
                        continue;
                    }
                    None => return flags,
                },
                _ => return flags,
            }
            flags |= Token::SPACE;
        }
    }

    /// Steps over the comment whose contents start at `body`.
    fn block_comment(&mut self, bytes: &[u8], body: usize) -> u8 {
        let mut at = body;
        let mut lines = 0;
        loop {
            match bytes.get(at) {
                Some(b'*') => {
                    let close = skip_splices(bytes, at + 1);
                    if bytes.get(close) == Some(&b'/') {
                        self.pos = close + 1;
                        return lines;
                    }
                    at += 1;
                }
                Some(b'\\') => at = continuation(bytes, at).unwrap_or(at + 1),
                Some(b'\n') => {
                    lines = Token::COMMENT_LINES;
                    at += 1;
                }
                Some(_) => at += 1,
                None => break,
            }
        }
        let lo = self.here();
        self.error = Some(LexError::Comment(Span { lo, hi: self.base + body as u32, ..Span::NONE }));
        self.pos = bytes.len();
        lines
    }

    fn word(&mut self, bytes: &[u8], kind: TokenKind) -> TokenKind {
        loop {
            let rest = bytes.get(self.pos..).unwrap_or(&[]);
            self.pos += rest.iter().position(|b| !is_word(*b)).unwrap_or(rest.len());
            let next = skip_splices(bytes, self.pos);
            if next == self.pos || !bytes.get(next).is_some_and(|b| is_word(*b)) {
                return kind;
            }
            self.spliced = true;
            self.pos = next;
        }
    }

    fn string(&mut self, bytes: &[u8]) -> TokenKind {
        if let Some(end) = string_end(bytes, self.pos, self.in_directive) {
            self.spliced = has_splice(bytes.get(self.pos..end).unwrap_or(&[]));
            self.pos = end;
            return TokenKind::String;
        }
        if self.in_directive {
            self.pos += 1;
            return TokenKind::Unknown;
        }
        let lo = self.here();
        self.error = Some(LexError::String(Span { lo, hi: lo + 1, ..Span::NONE }));
        self.pos = line_end(bytes, self.pos);
        TokenKind::String
    }

    fn symbol(&mut self, bytes: &[u8]) -> TokenKind {
        let rest = bytes.get(self.pos..).unwrap_or(&[]);
        let kind = if rest.iter().take(MAX_SYMBOL).any(|b| *b == b'\\') {
            self.symbol_over_splices(bytes)
        } else {
            let (kind, len) = symbol(rest);
            self.pos += len;
            kind
        };
        while kind == TokenKind::Unknown && bytes.get(self.pos).is_some_and(|b| b & 0xc0 == 0x80) {
            self.pos += 1;
        }
        kind
    }
}

impl Cursor {
    /// As `symbol`, where backslashes are near.
    fn symbol_over_splices(&mut self, bytes: &[u8]) -> TokenKind {
        let mut joined = vec![];
        let mut ends = vec![];
        let mut at = self.pos;
        while joined.len() < MAX_SYMBOL {
            let Some(b) = bytes.get(at) else { break };
            joined.push(*b);
            ends.push(at + 1);
            at = skip_splices(bytes, at + 1);
        }
        let (kind, len) = symbol(&joined);
        let end = ends.get(len - 1).copied().unwrap_or(self.pos + 1);
        self.spliced = end != self.pos + len;
        self.pos = end;
        kind
    }
}

/// Bytes of the longest symbol.
const MAX_SYMBOL: usize = 4;

/// `text` without its backslash-newlines.
pub(crate) fn despliced(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        match continuation(bytes, at).filter(|_| bytes[at] == b'\\') {
            Some(next) => {
                out.push_str(&text[from..at]);
                (from, at) = (next, next);
            }
            None => at += 1,
        }
    }
    out.push_str(&text[from..]);
    out
}

/// End of the logical line at the start of `text`: a newline that is not spliced, or the end of the text.
pub(crate) fn logical_line(text: &str) -> &str {
    &text[..line_end(text.as_bytes(), 0)]
}

fn has_splice(bytes: &[u8]) -> bool {
    (0..bytes.len()).any(|at| bytes[at] == b'\\' && continuation(bytes, at).is_some())
}

/// Steps over the backslash-newlines at `pos`.
fn skip_splices(bytes: &[u8], mut pos: usize) -> usize {
    while bytes.get(pos) == Some(&b'\\') {
        let Some(next) = continuation(bytes, pos) else { break };
        pos = next;
    }
    pos
}

/// The symbol at the start of `rest`, which is not empty, and its length.
pub(crate) fn symbol(rest: &[u8]) -> (TokenKind, usize) {
    use TokenKind::*;
    let is = |i: usize, b: u8| rest.get(i) == Some(&b);
    let or_assign = |plain, assign| if is(1, b'=') { (assign, 2) } else { (plain, 1) };
    // Longer symbols stand before those that they begin with.
    match rest.first() {
        Some(b'(') => (LParen, 1),
        Some(b')') => (RParen, 1),
        Some(b'[') => (LBracket, 1),
        Some(b']') => (RBracket, 1),
        Some(b'{') if rest.starts_with(b"{#}") => (Invalid, 3),
        Some(b'{') => (LBrace, 1),
        Some(b'}') => (RBrace, 1),
        Some(b';') => (Semicolon, 1),
        Some(b',') => (Comma, 1),
        Some(b':') => (Colon, 1),
        Some(b'@') => (At, 1),
        Some(b'?') => (Question, 1),
        Some(b'~') => (Tilde, 1),
        Some(b'#') if is(1, b'#') => (HashHash, 2),
        Some(b'#') => (Hash, 1),
        Some(b'.') if is(1, b'.') && is(2, b'.') => (Dots, 3),
        Some(b'.') if is(1, b'.') => (DotDot, 2),
        Some(b'.') => (Dot, 1),
        Some(b'<') if is(1, b'<') && is(2, b'=') => (ShlAssign, 3),
        Some(b'<') if is(1, b'<') => (Shl, 2),
        Some(b'<') => or_assign(Lt, Le),
        Some(b'>') if is(1, b'>') && is(2, b'=') => (ShrAssign, 3),
        Some(b'>') => or_assign(Gt, Ge),
        Some(b'=') => or_assign(Assign, EqEq),
        Some(b'!') => or_assign(Not, Ne),
        Some(b'+') if is(1, b'+') => (PlusPlus, 2),
        Some(b'+') if is(1, b':') => (PlusColon, 2),
        Some(b'+') => or_assign(Plus, PlusAssign),
        Some(b'-') => or_assign(Minus, MinusAssign),
        Some(b'*') => or_assign(Star, StarAssign),
        Some(b'/') => or_assign(Slash, SlashAssign),
        Some(b'%') => or_assign(Percent, PercentAssign),
        Some(b'^') => or_assign(Caret, CaretAssign),
        Some(b'&') if is(1, b'&') && is(2, b'&') => (Mask, 3),
        Some(b'&') if is(1, b'&') => (AndAnd, 2),
        Some(b'&') => or_assign(And, AndAssign),
        Some(b'|') if rest.starts_with(b"|+|=") => (PlusSatAssign, 4),
        Some(b'|') if rest.starts_with(b"|-|=") => (MinusSatAssign, 4),
        Some(b'|') if rest.starts_with(b"|+|") => (PlusSat, 3),
        Some(b'|') if rest.starts_with(b"|-|") => (MinusSat, 3),
        Some(b'|') if is(1, b'|') => (OrOr, 2),
        Some(b'|') => or_assign(Or, OrAssign),
        _ => (Unknown, 1),
    }
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// End of the line of `pos`: its newline; continued lines count as one.
fn line_end(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b) = bytes.get(pos) {
        match b {
            b'\n' => return pos,
            b'\\' => pos = continuation(bytes, pos).unwrap_or(pos + 1),
            _ => pos += 1,
        }
    }
    bytes.len()
}

/// If the backslash at `pos` continues its line, where the next line begins. Blanks between are allowed. The end of
/// the text counts as a newline.
fn continuation(bytes: &[u8], pos: usize) -> Option<usize> {
    let rest = bytes.get(pos + 1..)?;
    match rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)) {
        Some(end) if rest[end] == b'\n' => Some(pos + 1 + end + 1),
        Some(_) => None,
        None => Some(bytes.len()),
    }
}

/// One past the closing quote of the string at `pos`, if it has one.
fn string_end(bytes: &[u8], pos: usize, one_line: bool) -> Option<usize> {
    let mut at = pos + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match continuation(bytes, at) {
                Some(next) => at = next,
                None => at = skip_splices(bytes, at + 1) + 1,
            },
            b'\n' if one_line => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of `text`: `kind` or `text` of words, `^` before the first of a line, `.` if no space is before.
    fn check(text: &str, expected: &str) {
        let mut lexer = Lexer::new(text.into(), 1);
        let mut seen = vec![];
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::Eof {
                break;
            }
            let mark = if token.has(Token::LINE_START) {
                "^"
            } else if token.has(Token::SPACE) {
                ""
            } else {
                "."
            };
            let spelled = &text[token.span.lo as usize - 1..token.span.hi as usize - 1];
            let kind = match token.kind {
                TokenKind::Unknown => "?",
                _ => "",
            };
            seen.push(format!("{mark}{kind}{spelled}"));
        }
        assert_eq!(seen.join(" "), expected, "{text:?}");
    }

    #[test]
    fn the_longest_symbol_wins() {
        check("a|+|=b|+|c|+d||e|=f", "^a .|+|= .b .|+| .c .| .+ .d .|| .e .|= .f");
        check("&&&= && &= &", "^&&& .= && &= &");
        check("<<= << <= < >>= >> >= >", "^<<= << <= < >>= > .> >= >");
        check("{#} {# } #", "^{#} { .# } #");
        check("1..2 ... a.b +: ++", "^1 ... .2 ... a .. .b +: ++");
    }

    #[test]
    fn numbers_are_whole_words() {
        check("8w0xFF 4s_1 0b12 8w", "^8w0xFF 4s_1 0b12 8w");
        check("x[7:0]", "^x .[ .7 .: .0 .]");
    }

    #[test]
    fn comments_and_continued_lines_are_blanks() {
        check("a/* \n */b // c \\\n d\ne", "^a b ^e");
        check("a \\\n b \\  \nc \\ d", "^a b c ?\\ d");
        check("a\\\n(b", "^a .( .b");
        check("a \\", "^a");
        check("a//\n", "^a");
    }

    /// Written as the text that is left, with `~` where a token has the flag.
    fn spliced(text: &str) -> String {
        let mut lexer = Lexer::new(text.into(), 1);
        let mut seen = vec![];
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::Eof {
                assert_eq!(lexer.errors, [], "{text:?}");
                return seen.join(" ");
            }
            let mark = if token.has(Token::SPLICED) { "~" } else { "" };
            seen.push(format!("{mark}{}", despliced(lexer.text(token.span).unwrap_or("no text"))));
        }
    }

    #[test]
    fn lines_are_joined_before_tokens_are_made() {
        for newline in ["\n", "\r\n", " \t\n", "\n\\\n"] {
            let check = |text: &str, expected: &str| {
                assert_eq!(
                    spliced(&text.replace('^', &format!("\\{newline}"))),
                    expected,
                    "{text}{newline:?}"
                );
            };
            check("na^me x", "~name x");
            check("8w^0x^Ff;", "~8w0xFf ;");
            check("a &^& b >^>^= c |^+^|^= d &&^& {^#^} :^) ;", "a ~&& b ~>>= c ~|+|= d ~&&& ~{#} : ) ;");
            check("\"a^b\" \"c\\^\"d\"", "~\"ab\" ~\"c\\\"d\"");
            check("a /^/ b ^ c", "a");
            check("a /^* b *^/ c", "a c");
            check("a^ b ^c^", "a b c");
            check("^^a^^", "a");
            check("é^é", "é é");
        }
        assert_eq!(spliced("a\\"), "a", "the end of the text ends a line");
    }

    #[test]
    fn a_spliced_comment_has_one_line() {
        let flags = |text: &str| Lexer::new(text.into(), 1).next().flags & Token::COMMENT_LINES;
        assert_eq!(flags("/* \\\n */ a"), 0);
        assert_eq!(flags("/* \n */ a"), Token::COMMENT_LINES);
    }

    #[test]
    fn strings_may_run_over_lines() {
        check("\"a\\\"b\" \"c\nd\" e", "^\"a\\\"b\" \"c\nd\" e");
    }

    #[test]
    fn other_characters_are_unknown() {
        check("don't “x”", "^don .?' .t ?“ .x .?”");
        check("\u{feff}a$", "^a .?$");
    }

    #[test]
    fn what_never_ends_is_noted() {
        let errors = |text: &str| {
            let mut lexer = Lexer::new(text.into(), 1);
            let mut count = 0;
            while lexer.next().kind != TokenKind::Eof {
                count += 1;
            }
            (count, lexer.errors)
        };
        let span = |lo, hi| Span { lo, hi, ..Span::NONE };
        assert_eq!(errors("a /* b"), (1, vec![LexError::Comment(span(3, 5))]));
        assert_eq!(errors("a \"b\nc"), (3, vec![LexError::String(span(3, 4))]));
        assert_eq!(errors("a /*/"), (1, vec![LexError::Comment(span(3, 5))]));
    }

    #[test]
    fn untaken_lines_are_skipped() {
        let text = "don't \"x\n/* \n#a */ x #b\n \"/*\"\n /* c */ # d";
        let mut lexer = Lexer::new(text.into(), 1);
        assert!(lexer.skip_to_directive().is_some());
        assert_eq!(lexer.rest(), " d");
        assert!(lexer.skip_to_directive().is_none());
    }
}
