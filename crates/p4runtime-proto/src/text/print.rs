//! A message to text, as protobuf's own printers write it.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, Value};
use std::fmt::Write;

/// The message, one field a line, by the fields' numbers.
pub(crate) fn print(message: &DynamicMessage) -> String {
    let mut out = String::new();
    fields(&mut out, message, 0);
    out
}

fn fields(out: &mut String, message: &DynamicMessage, depth: usize) {
    let mut all: Vec<(FieldDescriptor, &Value)> = message.fields().collect();
    all.sort_by_key(|(field, _)| field.number());
    for (field, value) in all {
        let (name, kind) = (field.name(), field.kind());
        match value {
            Value::List(list) => list.iter().for_each(|v| line(out, name, &kind, v, depth)),
            Value::Map(map) => {
                let Kind::Message(entry) = &kind else { continue };
                let mut sorted: Vec<(&MapKey, &Value)> = map.iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(b.0));
                for (key, value) in sorted {
                    indent(out, depth);
                    let _ = writeln!(out, "{name} {{");
                    let key = Value::from(key.clone());
                    line(out, "key", &entry.map_entry_key_field().kind(), &key, depth + 1);
                    line(out, "value", &entry.map_entry_value_field().kind(), value, depth + 1);
                    indent(out, depth);
                    out.push_str("}\n");
                }
            }
            _ => line(out, name, &kind, value, depth),
        }
    }
}

fn line(out: &mut String, name: &str, kind: &Kind, value: &Value, depth: usize) {
    indent(out, depth);
    out.push_str(name);
    if let Value::Message(message) = value {
        out.push_str(" {\n");
        fields(out, message, depth + 1);
        indent(out, depth);
        out.push_str("}\n");
        return;
    }
    out.push_str(": ");
    match (value, kind) {
        (Value::String(text), _) => quoted(out, text.as_bytes()),
        (Value::Bytes(bytes), _) => quoted(out, bytes),
        (Value::EnumNumber(number), Kind::Enum(descriptor)) => match descriptor.get_value(*number) {
            Some(value) => out.push_str(value.name()),
            None => drop(write!(out, "{number}")),
        },
        (Value::EnumNumber(number), _) | (Value::I32(number), _) => drop(write!(out, "{number}")),
        (Value::Bool(value), _) => drop(write!(out, "{value}")),
        (Value::I64(value), _) => drop(write!(out, "{value}")),
        (Value::U32(value), _) => drop(write!(out, "{value}")),
        (Value::U64(value), _) => drop(write!(out, "{value}")),
        _ => {}
    }
    out.push('\n');
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn quoted(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' | b'\'' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out.push('"');
}
