//! Places of fields in a JSON text.
//!
//! The text has been read as JSON before: parts that this scanner does not understand have no places.

use super::tree::{Field, FieldName, Value, ValueKind};

/// The fields of a text of one object, with their places.
pub(super) fn fields(input: &str) -> Vec<Field> {
    let mut scanner = Scanner { bytes: input.as_bytes(), input, at: 0 };
    match scanner.value() {
        Some(Value { kind: ValueKind::Message(fields), .. }) => fields,
        _ => vec![],
    }
}

struct Scanner<'i> {
    bytes: &'i [u8],
    input: &'i str,
    at: usize,
}

impl Scanner<'_> {
    fn value(&mut self) -> Option<Value> {
        self.space();
        let start = self.at;
        let kind = match self.bytes.get(self.at)? {
            b'{' => ValueKind::Message(self.object()?),
            b'[' => ValueKind::List(self.list()?),
            b'"' => ValueKind::Str(self.string()?.as_bytes().to_vec()),
            _ => {
                let word = |byte: &u8| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                self.at += self.bytes.get(self.at..)?.iter().take_while(|byte| word(byte)).count();
                let text = self.input.get(start..self.at)?.to_string();
                ValueKind::Word { negative: false, text }
            }
        };
        Some(Value { kind, at: start..self.at })
    }

    fn object(&mut self) -> Option<Vec<Field>> {
        self.at += 1;
        let mut fields = vec![];
        loop {
            self.space();
            match self.bytes.get(self.at)? {
                b'}' => {
                    self.at += 1;
                    return Some(fields);
                }
                b',' => self.at += 1,
                _ => {
                    let start = self.at;
                    let name = FieldName::Plain(snake_case(self.string()?));
                    let name_at = start..self.at;
                    self.space();
                    self.at += 1;
                    fields.push(Field { name, name_at, value: self.value()? });
                }
            }
        }
    }

    fn list(&mut self) -> Option<Vec<Value>> {
        self.at += 1;
        let mut values = vec![];
        loop {
            self.space();
            match self.bytes.get(self.at)? {
                b']' => {
                    self.at += 1;
                    return Some(values);
                }
                b',' => self.at += 1,
                _ => values.push(self.value()?),
            }
        }
    }

    /// Text between quotes, with its escapes: names of fields have none.
    fn string(&mut self) -> Option<&str> {
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.input.get(start..self.at - 1)
    }

    fn space(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }
}

/// `tableEntry` to `table_entry`: JSON may use either.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
