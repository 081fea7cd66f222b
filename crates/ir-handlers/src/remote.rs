//! The text of `@remote(handler = "h", group = "g", key = { q.a, q.b }, block = q.c, keeps = "10s", budget = "100us", config = "c")`.

use base_time::Duration;
use ir::{Annotation, AnnotationBody};

/// The annotation's name.
pub(crate) const NAME: &str = "remote";

/// Content of the annotation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remote {
    /// Name of the function in C.
    pub handler: String,
    /// Group or device that runs it, in a rack.
    pub group: Option<String>,
    /// Fields of the request that name a flow, each from the parameter on: `q.src` is `["q", "src"]`.
    pub key: Vec<Vec<String>>,
    /// The field of the request that names a leased block, from the parameter on.
    pub block: Vec<String>,
    /// After so long without packets, the handler has nothing of a flow.
    pub keeps: Option<Duration>,
    /// Processor time that a call may take; a call that takes more is counted.
    pub budget: Option<Duration>,
    /// Text that the handler gets when it is made.
    pub config: String,
}

impl Remote {
    /// Reads the annotation of a declaration, if it has one; the error is a reason in a few words.
    pub(crate) fn of(annotations: &[Annotation]) -> Option<Result<Remote, String>> {
        annotations.iter().find(|annotation| annotation.name == NAME).map(Remote::read)
    }

    fn read(annotation: &Annotation) -> Result<Remote, String> {
        let AnnotationBody::Tokens(text) = &annotation.body else {
            return Err("`@remote` takes `handler`, `group`, `key`, `block`, `keeps`, `budget` and `config`"
                .to_string());
        };
        let mut tokens = Tokens::new(text);
        let mut remote = Remote::default();
        let mut seen: Vec<String> = vec![];
        loop {
            let name = tokens.word()?;
            if seen.contains(&name) {
                return Err(format!("`{name}` is given twice"));
            }
            tokens.symbol('=')?;
            match name.as_str() {
                "handler" => remote.handler = tokens.string()?,
                "group" => remote.group = Some(tokens.string()?),
                "config" => remote.config = tokens.string()?,
                "key" => remote.key = tokens.key()?,
                "block" => remote.block = tokens.path()?,
                "keeps" => remote.keeps = Some(tokens.duration("keeps")?),
                "budget" => remote.budget = Some(tokens.duration("budget")?),
                _ => {
                    return Err(format!(
                        "`@remote` has no `{name}`, but `handler`, `group`, `key`, `block`, `keeps`, `budget`, `config`"
                    ));
                }
            }
            seen.push(name);
            if tokens.at_end() {
                break;
            }
            tokens.symbol(',')?;
        }
        match is_c_name(&remote.handler) {
            true => Ok(remote),
            false if remote.handler.is_empty() => Err("`handler` is missing".to_string()),
            false => Err(format!("`{}` cannot be the name of a function in C", remote.handler)),
        }
    }
}

/// A name that C accepts for a function, and that does not begin as the names of p4rack's own or of the compiler do.
pub(crate) fn is_c_name(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    plain && starts && !name.starts_with("p4r_") && !C_WORDS.contains(&name)
}

/// Words of C, and types of the headers that the generated one includes, that a P4 name may be.
pub(crate) const C_WORDS: [&str; 55] = [
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "main",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "typeof",
    "bool",
    "true",
    "false",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "intptr_t",
    "uintptr_t",
    "intmax_t",
    "uintmax_t",
    "ptrdiff_t",
    "size_t",
    "wchar_t",
];

/// Tokens of a text, one after the other.
pub(crate) struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str) -> Tokens<'t> {
        Tokens { rest: text }
    }

    pub(crate) fn at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    pub(crate) fn symbol(&mut self, wanted: char) -> Result<(), String> {
        match self.take(wanted) {
            true => Ok(()),
            false => Err(format!("`{wanted}` is missing {}", self.place())),
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(crate) fn word(&mut self) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(format!("a name is missing {}", self.place()));
        }
        self.rest = rest;
        Ok(word.to_string())
    }

    fn duration(&mut self, name: &str) -> Result<Duration, String> {
        let text = self.string()?;
        text.parse().map_err(|why| format!("`{name} = \"{text}\"` is no duration: {why}"))
    }

    pub(crate) fn string(&mut self) -> Result<String, String> {
        self.symbol('"')?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err("a string has no end".to_string())
    }

    /// A number from 1 to `most`.
    pub(crate) fn number(&mut self, most: u64) -> Result<u64, String> {
        let text = self.word()?;
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| format!("`{text}` is no number from 1 to {most}"))
    }

    /// `q.a.b`
    fn path(&mut self) -> Result<Vec<String>, String> {
        let mut path = vec![self.word()?];
        while self.take('.') {
            path.push(self.word()?);
        }
        Ok(path)
    }

    /// `{ q.a, q.b }`
    fn key(&mut self) -> Result<Vec<Vec<String>>, String> {
        self.symbol('{')?;
        let mut key = vec![];
        while !self.take('}') {
            key.push(self.path()?);
            if !self.take(',') {
                self.symbol('}')?;
                break;
            }
        }
        match key.is_empty() {
            true => Err("`key` has no field".to_string()),
            false => Ok(key),
        }
    }

    fn place(&self) -> String {
        let next: String = self.rest.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        if next.is_empty() { "at the end".to_string() } else { format!("before `{next}`") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Remote, String> {
        let body = AnnotationBody::Tokens(text.to_string());
        Remote::of(&[Annotation { name: NAME.into(), body }]).expect("it is there")
    }

    #[test]
    fn all_parts() {
        let remote = read(
            r#"handler = "h1" , group = "g" , key = { q . a , q . b . c } , block = q . d , keeps = "2s" , budget = "50us" , config = "a\"b""#,
        );
        let wanted = Remote {
            handler: "h1".into(),
            group: Some("g".into()),
            key: vec![vec!["q".into(), "a".into()], vec!["q".into(), "b".into(), "c".into()]],
            block: vec!["q".into(), "d".into()],
            keeps: Some(Duration::from_s(2)),
            budget: Some(Duration::from_us(50)),
            config: "a\"b".into(),
        };
        assert_eq!(remote, Ok(wanted));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = [
            ("group = \"g\"", "`handler` is missing"),
            ("handler = \"a b\"", "`a b` cannot be the name of a function in C"),
            ("handler = \"while\"", "`while` cannot be the name of a function in C"),
            ("handler = \"uint8_t\"", "`uint8_t` cannot be the name of a function in C"),
            ("handler = \"h\" , handler = \"h\"", "`handler` is given twice"),
            (
                "handler = \"h\" , size = 3",
                "`@remote` has no `size`, but `handler`, `group`, `key`, `block`, `keeps`, `budget`, `config`",
            ),
            ("handler = \"h\" , keeps = \"long\"", "`keeps = \"long\"` is no duration: a number is missing"),
            ("handler = \"h\" , budget = \"low\"", "`budget = \"low\"` is no duration: a number is missing"),
            ("handler = \"h\" , key = { }", "`key` has no field"),
            ("handler = \"h\" , block = { q . a }", "a name is missing before `{`"),
            ("handler = \"h\" , key = { q . a", "`}` is missing at the end"),
            ("handler = h", "`\"` is missing before `h`"),
            ("handler = \"h", "a string has no end"),
            ("", "a name is missing at the end"),
        ];
        for (text, why) in wrong {
            assert_eq!(read(text), Err(why.to_string()), "{text}");
        }
    }
}
