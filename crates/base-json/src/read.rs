//! An object's keys, taken one by one; those nobody takes are reported.

use crate::{Json, Kind};
use base_diag::{Code, Diagnostic, Span, did_you_mean};

/// Collects problems, all with one code.
pub struct Reader {
    code: Code,
    /// Errors, and warnings about what has no effect.
    pub problems: Vec<Diagnostic>,
}

/// The keys of an object that were not taken yet, in the order of the file.
pub struct Fields<'j> {
    /// The object in words: `host h1`.
    what: String,
    /// The object's place.
    pub span: Span,
    rest: Vec<(&'j str, Span, &'j Json)>,
}

impl Reader {
    /// A reader whose problems have this code.
    pub fn new(code: Code) -> Reader {
        Reader { code, problems: vec![] }
    }

    /// True if there is an error among the problems.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == base_diag::Severity::Error)
    }

    /// Reports an error, and gives it for more notes.
    pub fn wrong(&mut self, span: Span, title: impl Into<String>, label: impl Into<String>) {
        self.problems.push(Diagnostic::error(self.code, title).at(span, label));
    }

    /// Like [`wrong`](Self::wrong), with a help text.
    pub fn wrong_but(
        &mut self,
        span: Span,
        title: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.push(Diagnostic::error(self.code, title).at(span, label).help(help));
    }

    fn expected(&mut self, json: &Json, what: &str, example: &str) {
        let label = format!("this is {}", json.type_in_words());
        self.wrong_but(json.span, format!("expected {what}"), label, format!("for example: {example}"));
    }

    /// The keys of an object. A key that is there twice is an error.
    pub fn fields<'j>(
        &mut self,
        what: impl Into<String>,
        json: &'j Json,
        example: &str,
    ) -> Option<Fields<'j>> {
        let Kind::Object(members) = &json.kind else {
            self.expected(json, "an object", example);
            return None;
        };
        let mut fields = Fields { what: what.into(), span: json.span, rest: vec![] };
        for member in members {
            if fields.rest.iter().any(|(name, ..)| *name == member.name) {
                let title = format!("`{}` occurs twice", member.name.escape_debug());
                self.wrong(member.name_span, title, format!("{} has one of each key", fields.what));
            }
            fields.rest.push((&member.name, member.name_span, &member.value));
        }
        Some(fields)
    }

    /// The elements of an array.
    pub fn list<'j>(&mut self, json: &'j Json, example: &str) -> Option<&'j [Json]> {
        match &json.kind {
            Kind::Array(values) => Some(values),
            _ => {
                self.expected(json, "an array", example);
                None
            }
        }
    }

    /// A string.
    pub fn string<'j>(&mut self, json: &'j Json, example: &str) -> Option<&'j str> {
        match &json.kind {
            Kind::String(text) => Some(text),
            _ => {
                self.expected(json, "a string", example);
                None
            }
        }
    }

    /// The text of a string or number.
    pub fn scalar<'j>(&mut self, json: &'j Json, what: &str, example: &str) -> Option<&'j str> {
        match &json.kind {
            Kind::String(text) | Kind::Number(text) => Some(text.trim()),
            _ => {
                self.expected(json, what, example);
                None
            }
        }
    }

    /// A whole number, also in quotes, of at most `most`.
    pub fn whole<T: TryFrom<u64> + std::fmt::Display>(&mut self, json: &Json, most: T) -> Option<T> {
        let text = self.scalar(json, "a whole number", "1")?;
        let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            self.wrong(
                json.span,
                "number out of range",
                format!("a whole number of at most {most} is expected"),
            );
        }
        number
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, json: &Json) -> Option<bool> {
        match json.kind {
            Kind::Bool(value) => Some(value),
            _ => {
                self.expected(json, "true or false", "true");
                None
            }
        }
    }
}

impl<'j> Fields<'j> {
    /// The value of `key`, if it is there and not `null`.
    pub fn take(&mut self, key: &str) -> Option<&'j Json> {
        let at = self.rest.iter().position(|(name, ..)| *name == key)?;
        Some(self.rest.remove(at).2).filter(|json| json.kind != Kind::Null)
    }

    /// The value of `key`, which must be there.
    pub fn need(&mut self, reader: &mut Reader, key: &str, example: &str) -> Option<&'j Json> {
        let taken = self.take(key);
        if taken.is_none() {
            let label = format!("{} has no `{key}`", self.what);
            let mut problem =
                Diagnostic::error(reader.code, format!("`{key}` is missing")).at(self.span, label);
            problem = match did_you_mean(key, self.rest.iter().map(|(name, ..)| *name)) {
                Some(near) => problem.help(format!("did you mean `{key}` by `{near}`?")),
                None => problem.help(format!("for example: \"{key}\": {example}")),
            };
            reader.problems.push(problem);
        }
        taken
    }

    /// Everything that is left: names, their places, values.
    pub fn rest(&mut self) -> Vec<(&'j str, Span, &'j Json)> {
        std::mem::take(&mut self.rest)
    }

    /// Warns about keys that nobody took: the tools that these files are written for pass over them, too. `known` are all there may be.
    pub fn finish(self, reader: &mut Reader, known: &[&str]) {
        for (name, span, _) in self.rest {
            let title = format!("`{}` has no effect", name.escape_debug());
            let label = format!("{} has no such key", self.what);
            let problem = Diagnostic::warning(reader.code, "passed-over", title).at(span, label);
            reader.problems.push(problem.suggest_or(name, known.iter().copied(), |problem| {
                problem.note(format!("its keys are: {}", known.join(", ")))
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use base_diag::{SourceMap, Style, render};
    use expect_test::expect;

    #[test]
    fn every_mistake_is_reported_once() {
        let text = "{ \"nme\": 1, \"port\": \"7\", \"ports\": 1, \"wide\": -1, \"port\": 2 }";
        let mut map = SourceMap::new();
        let file = map.add_file("a.json", text, Span::NONE).unwrap();
        let json = parse(text, map.file(file).unwrap().base()).unwrap();
        let mut reader = Reader::new(Code(804));
        let mut fields = reader.fields("this", &json, "{}").unwrap();
        assert_eq!(fields.need(&mut reader, "name", "\"s1\""), None);
        let port = fields.take("port").and_then(|json| reader.whole(json, 9u8));
        let wide = fields.take("wide").and_then(|json| reader.whole(json, 9u8));
        assert_eq!((port, wide), (Some(7), None));
        let _ = fields.take("port");
        fields.finish(&mut reader, &["name", "port"]);
        assert!(reader.has_errors());
        let rendered: Vec<_> = reader.problems.iter().map(|d| render(d, &map, Style::Plain)).collect();
        expect![[r#"
            error[P4R0804]: `port` occurs twice
             --> a.json:1:50
              |
            1 | { "nme": 1, "port": "7", "ports": 1, "wide": -1, "port": 2 }
              |                                                  ^^^^^^ this has one of each key

            error[P4R0804]: `name` is missing
             --> a.json:1:1
              |
            1 | { "nme": 1, "port": "7", "ports": 1, "wide": -1, "port": 2 }
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this has no `name`
              |
              = help: did you mean `name` by `nme`?

            error[P4R0804]: number out of range
             --> a.json:1:46
              |
            1 | { "nme": 1, "port": "7", "ports": 1, "wide": -1, "port": 2 }
              |                                              ^^ a whole number of at most 9 is expected

            warning[P4R0804]: `nme` has no effect
             --> a.json:1:3
              |
            1 | { "nme": 1, "port": "7", "ports": 1, "wide": -1, "port": 2 }
              |   ^^^^^ this has no such key
              |
              = help: did you mean `name`?

            warning[P4R0804]: `ports` has no effect
             --> a.json:1:26
              |
            1 | { "nme": 1, "port": "7", "ports": 1, "wide": -1, "port": 2 }
              |                          ^^^^^^^ this has no such key
              |
              = help: did you mean `port`?
        "#]]
        .assert_eq(&rendered.join("\n"));
    }
}
